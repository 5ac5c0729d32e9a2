/* What the files of the region generator share: random_expr.c makes accesses and expressions,
 * random_region.c stages, loops and whole programs. */
#ifndef CTUNE_TESTS_PROPERTY_RANDOM_PRIVATE_H
#define CTUNE_TESTS_PROPERTY_RANDOM_PRIVATE_H

#include "tests/property/random_region.h"

enum {
    MAX_PARAMS = 2,
    MAX_AXES = 16,
    MAX_TENSORS = 16,
    MAX_DIVS = 10,
    MAX_LOADS = 3, /* index tensors */
    MAX_STAGES = 6,
    MAX_KIDS = 6,
    SMALL_REP = 100 /* representative values up to this are also run */
};

/* c + sum p[i] * parameter i */
typedef struct linear {
    int64_t c, p[MAX_PARAMS];
} linear;

typedef struct axis_info {
    const ctune_aff *value; /* the source counter: lo + step * axis */
    int64_t lo;             /* of value */
    linear hi;              /* of value */
} axis_info;

typedef struct gen {
    ctune_ctx *ctx;
    ctune_rng *rng;
    ctune_arena *a;
    ctune_region *region;
    ctune_param params[MAX_PARAMS];
    ctune_tensor tensors[MAX_TENSORS];
    linear extent[MAX_TENSORS][CTUNE_MAX_RANK]; /* largest index + 1 so far */
    ctune_axis axes[MAX_AXES];
    axis_info info[MAX_AXES];
    ctune_div divs[MAX_DIVS];
    linear div_hi[MAX_DIVS]; /* all are >= 0 */
    ctune_stage stages[MAX_STAGES];
    int n_params, n_tensors, n_axes, n_divs, n_stages;
    int n_open, open[CTUNE_MAX_DEPTH], max_depth;
    ctune_type type; /* of most tensors */
    ctune_type calc; /* in which expressions are computed */
    bool is_simple;  /* sums may be reordered and stay exact: nobody else reads a result */
    bool has_loads;  /* subscripts and bounds may be elements of index tensors */
    int n_loads;     /* index tensors so far */
    int load_tensor; /* the last one */
    int n_inputs, n_results;
    int inputs[MAX_TENSORS]; /* only read; made at the first use, -1 before */
    int results[MAX_TENSORS];
    bool is_param_used[MAX_PARAMS];
} gen;

static inline int below(gen *g, int n) {
    return (int)ctune_rng_below(g->rng, (uint64_t)n);
}
static inline bool chance(gen *g, int percent) {
    return below(g, 100) < percent;
}
static inline int between(gen *g, int lo, int hi) {
    return lo + below(g, hi - lo + 1);
}

/* Affine forms: NULL when memory is out, as in te.h. */
const ctune_aff *gen_constant(gen *g, int64_t c);
const ctune_aff *gen_axis_aff(gen *g, int axis, int64_t coef);
const ctune_aff *gen_param_aff(gen *g, int param, int64_t coef);
/* An index of a tensor's dimension d: moved to start at 0 or above; the extent grows. */
const ctune_aff *gen_place_index(gen *g, int tensor, int d, const ctune_aff *aff);
/* An element of a new index tensor at the value of an open axis plus shift; NULL: enough of them.
 * again: of the tensor that the last call made. hi: its largest value. */
const ctune_aff *gen_load(gen *g, int axis, int64_t shift, bool again, linear hi);
/* Letter R: a result, which later stages may read and update, too. */
int gen_new_tensor(gen *g, char letter, ctune_type type, int rank);
/* A tensor that is only read. */
int gen_pick_input(gen *g);
/* order: which open axis (position) subscripts dimension d; NULL = at random. */
ctune_access gen_make_access(gen *g, int tensor, const int *order, bool is_plain);
/* Expressions, computed in g->calc. */
const ctune_expr *gen_node(gen *g, ctune_op op, ctune_type type, int n_kids, const ctune_expr *k0,
                           const ctune_expr *k1, const ctune_expr *k2);
const ctune_expr *gen_number(gen *g, int64_t value);
const ctune_expr *gen_read_access(gen *g, ctune_access access);
const ctune_expr *gen_leaf(gen *g);
const ctune_expr *gen_comparison(gen *g, const ctune_expr *a, const ctune_expr *b);
const ctune_expr *gen_expression(gen *g, int depth);

#endif
