/* The verifier of a program: what its two files share (loops_verify.c: forms, places, nodes, names;
 * loops_verify_value.c: values). */
#ifndef CTUNE_SEARCH_LOOPS_LOOPS_VERIFY_H
#define CTUNE_SEARCH_LOOPS_LOOPS_VERIFY_H

#include "search/loops/loops.h"

enum { LOOPS_MAX_COLLAPSE = 32, LOOPS_MAX_DEPTH = 2500 };

typedef enum loops_state { LOOPS_UNBOUND, LOOPS_OPEN, LOOPS_CLOSED } loops_state;

/* Where in a launch the walk is: the loops over blocks, those over threads, the code of one. */
typedef enum loops_gpu {
    LOOPS_GPU_HOST,
    LOOPS_GPU_LAUNCH,
    LOOPS_GPU_BLOCK,
    LOOPS_GPU_THREAD,
    LOOPS_GPU_CODE
} loops_gpu;

typedef struct loops_var_state {
    loops_state state;
    bool varies;       /* index variables: between the threads of a block of a GPU */
    bool is_setup;     /* bound by the setup */
    int n_independent; /* loops with independent iterations around the binding */
} loops_var_state;

typedef struct loops_verifier {
    ctune_ctx *ctx;
    const ctune_loops *l;
    loops_var_state *var; /* [n_vars] */
    loops_state *buffer;  /* [n_buffers] */
    int n_open, *open;    /* what is open: variables, then n_vars + buffer; innermost last */
    bool is_setup;        /* the walk is in the setup of the root */
    int n_collapsed;      /* loops that still belong to the parallel loop around */
    int n_independent;    /* loops with independent iterations around */
    bool has_launch;      /* somewhere in the program */
    loops_gpu gpu;
    unsigned gpu_axes; /* bit: annotations of this launch's loops so far */
    int launch_open;   /* n_open when the launch began */
    int n_divergent;   /* loops and conditions around that differ between threads */
    int depth, value_depth;
} loops_verifier;

/* For functions with a loops_verifier *v that return ctune_status. */
#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            return ctune_fail(v->ctx, CTUNE_EBUG, "loops: " __VA_ARGS__);                          \
        }                                                                                          \
    } while (0)
#define TRY(call)                                                                                  \
    do {                                                                                           \
        ctune_status status_ = (call);                                                             \
        if (status_ != CTUNE_OK) {                                                                 \
            return status_;                                                                        \
        }                                                                                          \
    } while (0)

/* where: for the words, "a store". */
ctune_status loops_verify_aff(loops_verifier *v, const ctune_aff *aff, const char *where);
ctune_status loops_verify_place(loops_verifier *v, const ctune_place *place, int lanes,
                                const char *where);
ctune_status loops_verify_lanes(loops_verifier *v, ctune_type type, int lanes, const char *where);
ctune_status loops_verify_value(loops_verifier *v, const ctune_value *value);

#endif
