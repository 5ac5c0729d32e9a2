/*
 * Loops: the exact program to print. The dear of the two representations (the other:
 * schedule/nest.h).
 *
 * Made from a nest for candidates that are measured or emitted: loop bounds, guards, packing,
 * register tiles. It is independent of the target language: emit/ prints it as C. Affine forms are
 * over lvars (TERM_AXIS ids), parameters and divs; region->divs inside accesses are over the
 * stage's axes and printed through the statement's environment.
 */
#ifndef CTUNE_SEARCH_LOWER_LOOPS_H
#define CTUNE_SEARCH_LOWER_LOOPS_H

#include "search/lower/bounds.h"
#include "search/schedule/nest.h"

enum { CTUNE_MAX_LVARS = 512, CTUNE_MAX_TILE = 4, CTUNE_MAX_BUFFERS = 32, CTUNE_MAX_TENSORS = 64 };

/* Max (lower) or min (upper) of bounds. Integer value. */
typedef struct ctune_limit {
    bool is_max;
    int n;
    const ctune_bound *bound;
    /* n_groups > 1: hull of several statements' limits: bound[i] belongs to group[i]; the least
     * (is_max) or greatest of the groups' values */
    int n_groups;
    const int *group;
    bool is_inexact; /* see ctune_bounds */
    /* when align_step > 0: base + floor((value - base) / align_step) * align_step, with base the
     * value of variable align_var */
    int align_var;
    int64_t align_step;
} ctune_limit;

typedef struct ctune_lvar {
    char name[CTUNE_NAME_BYTES + 8];
} ctune_lvar;

typedef enum ctune_lnode_kind {
    CTUNE_LN_SEQ,
    CTUNE_LN_FOR,
    CTUNE_LN_IF,    /* conjunction of conds >= 0; else_kid may be NULL */
    CTUNE_LN_LET,   /* const long var = limit (and max with `floor_var` when set) */
    CTUNE_LN_STMT,  /* one instance of a statement */
    CTUNE_LN_MICRO, /* a full register tile */
    CTUNE_LN_PACK,  /* store one packed value, or zero */
    CTUNE_LN_DECL   /* a scalar temporary, contracted from `tensor`, begins here */
} ctune_lnode_kind;

/* One instance of a statement: the value of each of its dims, over lvars. Axes follow through
 * stmt->iter. */
typedef struct ctune_env {
    int stmt;
    const ctune_aff *val[CTUNE_MAX_DEPTH]; /* [stmt->n_dims] */
} ctune_env;

/* How a read (or the subexpression widened from it) is found in a packed buffer. */
typedef struct ctune_packed {
    const ctune_expr *expr; /* the subexpression that the buffer holds */
    int buffer;
    int tile_var;  /* variable of the panel's first element, -1: no tiled dim */
    int tile_base; /* variable of the first panel's first element */
    int tile_pos;  /* dim position in the statement, -1 */
    int64_t tile;  /* elements a panel */
    int n_seq;     /* other dims, outermost first */
    int seq_pos[CTUNE_MAX_DEPTH];
    int seq_base[CTUNE_MAX_DEPTH];  /* variables: first value */
    int seq_count[CTUNE_MAX_DEPTH]; /* variables: number of values */
    ctune_limit seq_hi[CTUNE_MAX_DEPTH];
} ctune_packed;

typedef struct ctune_lbuffer {
    char name[CTUNE_NAME_BYTES + 8];
    ctune_type type;
    bool is_per_thread;
    /* elements = product over dims of (round up of min(cap, hi - lo + 1) to multiple) ; lo/hi
     * depend on params only */
    int n_dims;
    ctune_limit lo[CTUNE_MAX_DEPTH], hi[CTUNE_MAX_DEPTH];
    int64_t cap[CTUNE_MAX_DEPTH];      /* 0 = no cap */
    int64_t multiple[CTUNE_MAX_DEPTH]; /* >= 1 */
    int tensor;                        /* temporary that lives in it, -1 = packed buffer */
    int base_var[CTUNE_MAX_DEPTH]; /* temporaries: variables that hold lo and the count of each dim
                                    */
    int count_var[CTUNE_MAX_DEPTH];
    int index_of[CTUNE_MAX_DEPTH]; /* temporaries: which index of the tensor this dim is */
} ctune_lbuffer;

/* One unrolled or vector dim of a register tile: y in [origin, origin + extent). */
typedef struct ctune_tile_dim {
    int pos;    /* dim position in the statement */
    int origin; /* lvar */
    int64_t extent;
    bool is_vector;
} ctune_tile_dim;

typedef struct ctune_lfor {
    int var;
    ctune_limit lo, hi; /* inclusive hi */
    int64_t step;
    ctune_ann ann;
    int64_t unroll; /* UNROLL: trip count when constant */
    int n_collapse; /* PARALLEL: number of loops of the collapse, 0 = 1 */
} ctune_lfor;

typedef struct ctune_micro {
    int stmt;
    int n_tile;
    ctune_tile_dim tile[CTUNE_MAX_TILE]; /* vector dim (if any) last */
    int n_inner;                         /* loops inside the tile: reductions, outermost first */
    ctune_lfor inner[CTUNE_MAX_DEPTH];
    ctune_env env;  /* iter over lvars; tile dims stand as their origin variable */
    bool is_padded; /* partial tile computed in full on padded panels: */
    struct ctune_lnode
        *copy; /* padded: loops over the valid points; STMT leaves stand for "this point" */
} ctune_micro;

typedef struct ctune_lnode {
    ctune_lnode_kind kind;
    int n_kids;
    struct ctune_lnode **kids;    /* SEQ, FOR, IF */
    struct ctune_lnode *else_kid; /* IF */
    ctune_lfor loop;              /* FOR */
    int n_conds;                  /* IF: affs over lvars, each >= 0 */
    const ctune_aff *const *conds;
    int var;           /* LET */
    ctune_limit limit; /* LET */
    int floor_var;     /* LET: value = max(limit, floor_var + floor_add), -1 = none */
    int64_t floor_add;
    int count_from; /* LET: value = limit - count_from + 1 (a count), -1 = none */
    ctune_env env;  /* STMT, PACK */
    int n_preds;    /* STMT: conditions over stage axes with divs, each >= 0 */
    const ctune_aff *const *preds;
    ctune_micro *micro;   /* MICRO */
    ctune_packed *packed; /* PACK: destination; expr is the value */
    bool is_zero;         /* PACK: store 0 */
    const char *comment;  /* printed before the node, NULL = none */
    int tensor;           /* DECL */
} ctune_lnode;

typedef struct ctune_loops {
    ctune_arena *arena;     /* owner */
    const ctune_nest *nest; /* borrowed */
    const ctune_region *region;
    const ctune_tree *tree;
    int n_vars;
    ctune_lvar var[CTUNE_MAX_LVARS];
    int n_buffers;
    ctune_lbuffer buffer[CTUNE_MAX_BUFFERS];
    ctune_packed *packed[CTUNE_NEST_CACHES]; /* by cache of the nest, NULL for registers */
    int temp_buffer[CTUNE_MAX_TENSORS]; /* by tensor: its buffer, -1 = contracted to a scalar or no
                                           temporary */
    bool is_parallel;                   /* some loop is PARALLEL */
    ctune_lnode *setup;                 /* LETs for buffer sizes; params only */
    ctune_lnode *root;                  /* SEQ */
} ctune_loops;

typedef struct ctune_lower_options {
    int vector_bytes;
    bool openmp; /* PARALLEL is honoured; else such loops are serial */
} ctune_lower_options;

/* Lower a nest. Owner of *out: caller. Fails EREFUSED with words when the schedule cannot be
 * lowered (a register tile whose dims are no constant tiles, ...), ENOMEM. */
CTUNE_MUST_USE ctune_status ctune_loops_create(ctune_ctx *ctx, const ctune_nest *nest,
                                               const ctune_lower_options *options,
                                               ctune_loops **out);
void ctune_loops_destroy(ctune_loops *loops);
/* Indented text for dumps and golden tests. */
void ctune_loops_print(const ctune_loops *loops, ctune_text *out);

/* Lanes of one vector along a tile dim of this extent: the most that fit into vector_bytes and
 * divide it, at least 1. */
int ctune_tile_lanes(int vector_bytes, ctune_type type, int64_t extent);

/* The largest subexpression around read `read` that a packed buffer may hold: same dims only, and
 * no product that a fused multiply-add would have absorbed. */
const ctune_expr *ctune_pack_widen(const ctune_region *region, const ctune_stage *stage, int read);

#endif
