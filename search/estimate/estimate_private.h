/*
 * What the parts of the estimate share: the path of loops around one statement and what an access
 * does along it.
 *
 * A *level* k of a path is one iteration of the loops path[0..k-1]: level 0 is the whole nest,
 * level n the innermost body. Everything is plain arithmetic on small arrays: an estimate costs a
 * few microseconds and allocates nothing.
 */
#ifndef CTUNE_SEARCH_ENGINE_ESTIMATE_PRIVATE_H
#define CTUNE_SEARCH_ENGINE_ESTIMATE_PRIVATE_H

#include "search/estimate/estimate.h"
#include "search/schedule/program.h"

enum { EST_MAX_PATH = 48, EST_MAX_GROUPS = 192, EST_MAX_PARAMS = 64 };

typedef struct est_path {
    const ctune_nest *nest;
    const ctune_stmt *stmt;
    const ctune_stage *stage;
    int i_stmt;
    int n;                                           /* loops */
    int16_t node[EST_MAX_PATH];                      /* outermost first */
    int8_t pos[EST_MAX_PATH];                        /* of the loop's dim in stmt->dims */
    double extent[EST_MAX_PATH];                     /* mean trips */
    double entries[EST_MAX_PATH + 1];                /* executions of level k */
    double cover[EST_MAX_PATH + 1][CTUNE_MAX_DEPTH]; /* [level][pos] iterations of the dim inside */
    double threads;                                  /* that share the statement's work */
    double imbalance;                                /* >= 1: largest share over mean share */
    double forks;                                    /* entries of parallel loops */
} est_path;

/* One reference, mapped to the dims of its statement. */
typedef struct est_ref {
    int tensor, rank;
    double coef[CTUNE_MAX_RANK][CTUNE_MAX_DEPTH]; /* [index][pos] */
    double spread[CTUNE_MAX_RANK];                /* of constants, when references are merged */
    const ctune_access *access;
    uint32_t mask; /* bit pos: moves with that dim */
} est_ref;

/* References to one tensor with equal coefficients: what the memory part counts. */
typedef struct est_group {
    int tensor;
    bool is_written;
    int first, last; /* levels at which it counts; below last it is not touched */
    int resident;    /* levels up to this one are served by one buffer (packs), -1 = none */
    const est_path *path;
    double bytes[EST_MAX_PATH + 1]; /* [level] touched by one execution, in whole lines */
    double
        conflicting[EST_MAX_PATH + 1]; /* [level] what L1 needs to hold it when rows share sets */
} est_group;

typedef struct est_state {
    const ctune_nest *nest;
    const ctune_machine *machine;
    int64_t params[EST_MAX_PARAMS];
    int n_groups;
    est_group group[EST_MAX_GROUPS];
} est_state;

/* estimate_path.c */
bool est_path_init(est_path *path, const ctune_nest *nest, int i_node,
                   const ctune_machine *machine);
void est_ref_init(est_ref *ref, const est_path *path, const ctune_access *access);
/* Stride of the last index along a dim when the dim occurs there alone: 0 = does not move, 1 =
 * next element; else -1. */
int est_ref_stride(const est_ref *ref, int pos);

/* estimate_compute.c: cycles of one core for all executions of the statement, memory beyond L1
 * left out. */
double est_compute_cycles(const est_state *state, const est_path *path);

/* estimate_memory.c: adds the statement's references to the state, and the copies of its packs;
 * returns the cycles that the copying itself takes. */
double est_memory_add(est_state *state, const est_path *path);
/* Bytes between neighbours in the last dimension but one; 0 = not known or not there. */
int64_t est_row_bytes(const est_state *state, int tensor);
/* Level at which a statement's register tile is loaded and stored; -1 = it has none. */
int est_register_level(const est_path *path);
/* Bytes that come into cache c (0: L1) during the nest, divided by the threads that have such a
 * cache each. */
double est_memory_traffic(const est_state *state, int c);

#endif
