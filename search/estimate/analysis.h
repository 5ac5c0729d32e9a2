/*
 * What an estimate finds out about a nest on its way: paths of loops, references, footprints, the
 * kernel of each statement. ctune_estimate sums it up to one number; the features (search/feature)
 * look at the parts.
 *
 * A *level* k of a path is one iteration of the loops path[0..k-1]: level 0 is the whole nest,
 * level n the innermost body. Everything is plain arithmetic on small arrays: an analysis costs a
 * few microseconds and allocates nothing. An est_analysis is large (most of it is never touched):
 * it lives on the stack of a thread with an ordinary stack.
 */
#ifndef CTUNE_SEARCH_ESTIMATE_ANALYSIS_H
#define CTUNE_SEARCH_ESTIMATE_ANALYSIS_H

#include "search/estimate/estimate.h"
#include "search/schedule/program.h"

enum {
    EST_MAX_PATH = 48,
    EST_MAX_GROUPS = 192,
    EST_MAX_REFS = 384,
    EST_MAX_KERNEL_READS = 24, /* of a statement: those that the kernel counts */
    EST_MAX_PARAMS = 64,
    EST_MAX_TENSORS = 64
};

/* The loops around one statement. */
typedef struct est_path {
    const ctune_nest *nest;
    const ctune_stmt *stmt;
    const ctune_stage *stage;
    int i_stmt;
    int top;                                         /* node at which it is placed, else 0 */
    int n;                                           /* loops */
    int16_t node[EST_MAX_PATH];                      /* outermost first; lanes around others last */
    bool has_rows;                                   /* there are such lanes */
    int8_t pos[EST_MAX_PATH];                        /* of the loop's dim in stmt->dims */
    double extent[EST_MAX_PATH];                     /* mean trips */
    double entries[EST_MAX_PATH + 1];                /* executions of level k */
    double cover[EST_MAX_PATH + 1][CTUNE_MAX_DEPTH]; /* [level][pos] iterations of the dim inside */
    double threads;                                  /* that share the statement's work */
    double imbalance;                                /* >= 1: largest share over mean share */
    double forks;                                    /* entries of parallel loops */
    int first_ref, n_refs;                           /* in est_state.ref: target, then reads */
    int8_t wave_pos, fixed_pos; /* dims of a loop that slides and of the one that a wave fixes for
                                   each of its iterations; -1: there is none */
    double fixed_by;            /* what an iteration of the first changes the second by */
    int8_t axis_pos[CTUNE_MAX_DEPTH]; /* [axis of the stage] its dim when that is all, else -1 */
} est_path;

/* Is the loop over tiles along the wave whose points slide? *shrink: iterations of the dim that the
 * wave fixes for each of its steps. */
bool est_is_diagonal(const est_path *path, const ctune_nnode *loop, double *shrink);

/* One reference, mapped to the dims of its statement. */
typedef struct est_ref {
    int tensor, rank;
    double coef[CTUNE_MAX_RANK][CTUNE_MAX_DEPTH]; /* [index][pos] */
    double spread[CTUNE_MAX_RANK];                /* of constants, when references are merged */
    const ctune_access *access;
    uint32_t mask;  /* bit pos: moves with that dim */
    int16_t group;  /* that counts it (of a pack: the buffer), -1 = lives in registers, no room */
    int16_t source; /* of a pack: group that counts the reads of its copying, else -1 */
} est_ref;

/* References to one tensor with equal coefficients: what the memory part counts. */
typedef struct est_group {
    int tensor;   /* ids from n_tensors up are packed buffers */
    int16_t next; /* group of the same tensor, -1 = none */
    bool is_head; /* the first of its tensor */
    bool is_written;
    bool is_streamed; /* written past the caches */
    int elem_bytes;
    int first, last; /* levels at which it counts; below last it is not touched */
    int resident;    /* levels up to this one are served by one buffer (packs), -1 = none */
    const est_path *path;
    double bytes[EST_MAX_PATH + 1]; /* [level] touched by one execution, in whole lines */
    double
        conflicting[EST_MAX_PATH + 1]; /* [level] what L1 needs to hold it when rows share sets */
    double traffic[3];                 /* bytes it brings into L1, L2, L3, shared with nobody */
} est_group;

typedef struct est_state {
    const ctune_nest *nest;
    const ctune_target *target;
    ctune_rates rates; /* the target's, or those of the estimate */
    int64_t params[EST_MAX_PARAMS];
    double extent[EST_MAX_TENSORS][CTUNE_MAX_RANK]; /* INFINITY = not known */
    int n_refs;
    est_ref ref[EST_MAX_REFS];
    int n_groups;
    est_group group[EST_MAX_GROUPS];
    /* [tensor] of a temporary: the innermost node around all its accesses, else -1 */
    int16_t scope[EST_MAX_TENSORS];
    bool is_register[EST_MAX_TENSORS];  /* a temporary of one element in each iteration there */
    double footprint[CTUNE_NEST_NODES]; /* [node] bytes one iteration touches, tensors once */
} est_state;

/* The innermost unrolled and vector loops of a statement are one block; the loop around them is the
 * kernel loop. Operations, loads, stores and cycles are those of one kernel iteration. */
typedef struct est_kernel {
    const est_state *state;
    const est_path *path;
    const est_ref *target; /* of the path's references */
    const est_ref *read;   /* [n_reads] */
    int n_reads;
    uint32_t packed;    /* bit r: read r comes from a packed buffer */
    int level;          /* loops [level..n-1] are unrolled or vector lanes */
    int kernel;         /* pos of the kernel loop's dim, -1 = there is none */
    double trips;       /* of the kernel loop */
    int vector;         /* pos of the vector dim, -1 = scalar */
    double lanes;       /* along it */
    double width;       /* lanes of one register */
    double n_vectors;   /* registers along it */
    bool is_sum;        /* its lanes hold partial sums, joined behind the loop */
    bool is_sum_pair;   /* behind the loop over its tiles: nothing stands between the two */
    bool is_register;   /* accumulators live in registers, loads and stores outside reductions */
    int register_level; /* level at which they are loaded, -1 = not */
    bool is_auto;       /* the kernel loop's vectors are the compiler's, not the schedule's */
    bool is_slide;      /* or the schedule's: they keep what the next one needs; is_auto, too */
    bool is_slp;        /* the unrolled body's are */
    double elem_bytes;  /* of the widest type in the statement */
    double steps;       /* of a reduction inside the block */
    double accumulators, spills;      /* vector registers */
    double ops, loads, stores;        /* instructions */
    double front, ports, chain, page; /* cycles of each resource */
    double cycles;                    /* of one kernel iteration */
    double tail;                      /* >= 1: what work in partial tiles costs more */
    /* All executions of the statement, before tail, imbalance and threads: */
    double kernel_cycles, move_cycles, loop_cycles;
    double total_cycles; /* of one core, all of it */
} est_kernel;

typedef struct est_analysis {
    est_state state;
    int n_paths;
    est_path path[CTUNE_MAX_STMTS];
    est_kernel kernel[CTUNE_MAX_STMTS];  /* [path] */
    double copy_cycles[CTUNE_MAX_STMTS]; /* [path] of copying packs */
    double core_cycles;                  /* sum of both */
    double traffic[3];                   /* bytes into L1, L2, L3 */
    double memory_cycles[3];
    double fork_cycles;
    double cycles; /* the estimate */
} est_analysis;

/* fmax and fmin without their care for NaN, which costs a call. */
static inline double est_max(double a, double b) {
    return a > b ? a : b;
}

static inline double est_min(double a, double b) {
    return a < b ? a : b;
}

void est_analyse(est_analysis *analysis, const ctune_nest *nest, const ctune_target *target,
                 const ctune_rates *rates);

/* estimate_path.c */
bool est_path_init(est_path *path, const ctune_nest *nest, int i_node, const ctune_target *target);
void est_ref_init(est_ref *ref, const est_path *path, const ctune_access *access);
/* Target and reads of the path's statement into state->ref, as far as there is room. */
void est_refs_add(est_state *state, est_path *path);
/* Stride of the last index along a dim when the dim occurs there alone: 0 = does not move, 1 =
 * next element; else -1. */
int est_ref_stride(const est_ref *ref, int pos);
/* Level at which a statement's register tile is loaded and stored; -1 = it has none. */
int est_register_level(const est_path *path);
/* Loop node at which a read is packed, 0 for the whole nest, -1 when it is not packed. */
int est_pack_node(const est_path *path, int read);

/* estimate_compute.c: cycles of one core for all executions of the statement, memory beyond L1
 * left out. */
double est_compute_cycles(const est_state *state, const est_path *path, est_kernel *kernel);

/* estimate_recurrence.c */
/* Cycles from a read of what the region writes to the value of e; -1 = there is no such read. */
double est_chain_latency(const ctune_region *region, const ctune_expr *e, double latency);
/* Dims of a path in the order of their innermost loops, and those loops. */
typedef struct est_order {
    int n;
    int8_t pos[CTUNE_MAX_DEPTH], loop[CTUNE_MAX_DEPTH];
} est_order;
void est_order_find(const est_path *path, est_order *out);
/* Instances that lie between the ends of a dependence, at least; 0 = it is within one iteration. */
double est_distance(const est_path *path, const est_order *order, const ctune_depvec *vec);
/* Cycles that the statement's instances wait for each other's values, in all. */
double est_recurrence_cycles(const est_state *state, const est_path *path);

/* estimate_temps.c: where temporaries live, once all paths have their references. */
void est_temps_find(est_state *state, const est_path *paths, int n_paths);
/* Iterations of its dim pos that one iteration of its place needs of a placed statement. */
double est_box(const ctune_nest *nest, int i_node, int pos);
/* Level of the path at which one iteration of the temporary's scope runs. */
int est_scope_level(const est_state *state, const est_path *path, int tensor);
bool est_is_register(const est_state *state, int tensor);

/* estimate_memory.c: adds the statement's references to the state, and the copies of its packs;
 * returns the cycles that the copying itself takes. */
double est_memory_add(est_state *state, const est_path *path);
/* Bytes between neighbours in the last dimension but one; 0 = not known or not there. */
int64_t est_row_bytes(const est_state *state, int tensor);
/* Elements that the reference spans along one index at a level. */
double est_index_range(const est_state *state, const est_path *path, const est_ref *ref, int d,
                       int level);
/* Elements of a dimension; INFINITY = not known. */
double est_extent(const est_state *state, int tensor, int d);
/* Once all references are added: state->footprint. */
void est_memory_sum(est_state *state);
/* Bytes that come into cache c (0: L1) during the nest, divided by the threads that have such a
 * cache each. */
double est_memory_traffic(est_state *state, int c);

#endif
