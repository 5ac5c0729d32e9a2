/*
 * TE: what one `#pragma tune` covers, as data.
 *
 * A region = parameters, tensors, axes, stages, and a tree of loops, affine conditions and stages
 * in the order in which the source runs them. Everything lives in one arena and is const once
 * built. No compiler type, no isl type here. Siblings: te_print.c, te_parse.c (round-trips),
 * te_verify.c, te_eval.c (the oracle of the tests).
 *
 * Conventions
 *   - Axes are normalised: a source loop with step s != 1 becomes axis t = 0, 1, 2, ... and every
 * use of the source counter i in the region is rewritten to lo + s*t. With step 1 the axis is the
 * counter itself.
 *   - Affine forms are mathematical integers (int64, checked when built); C values are ctune_expr
 * with C types.
 *   - C's truncating / and % become floor divisions (ctune_div) only where the operand is provably
 * >= 0.
 *   - A scalar temporary that is written before it is read in each iteration of the loops around
 * its scope is a tensor with `temp` set whose indices are those enclosing axes (fully expanded);
 * emission contracts what it can.
 */
#ifndef CTUNE_SEARCH_TE_TE_H
#define CTUNE_SEARCH_TE_TE_H

#include "runtime/arena.h"
#include "runtime/base.h"
#include "runtime/text.h"

/* ---- element types: id, IR name, C spelling, bytes, flags
 * ---------------------------------------------------- */
enum { CTUNE_TF_FLOAT = 1, CTUNE_TF_SIGNED = 2 };
#define CTUNE_TYPE_TABLE(X)                                                                        \
    X(BOOL, "bool", "_Bool", 1, 0)                                                                 \
    X(I8, "i8", "signed char", 1, CTUNE_TF_SIGNED)                                                 \
    X(U8, "u8", "unsigned char", 1, 0)                                                             \
    X(I16, "i16", "short", 2, CTUNE_TF_SIGNED)                                                     \
    X(U16, "u16", "unsigned short", 2, 0)                                                          \
    X(I32, "i32", "int", 4, CTUNE_TF_SIGNED)                                                       \
    X(U32, "u32", "unsigned", 4, 0)                                                                \
    X(I64, "i64", "long", 8, CTUNE_TF_SIGNED)                                                      \
    X(U64, "u64", "unsigned long", 8, 0)                                                           \
    X(F16, "f16", "_Float16", 2, CTUNE_TF_FLOAT | CTUNE_TF_SIGNED)                                 \
    X(F32, "f32", "float", 4, CTUNE_TF_FLOAT | CTUNE_TF_SIGNED)                                    \
    X(F64, "f64", "double", 8, CTUNE_TF_FLOAT | CTUNE_TF_SIGNED)                                   \
    X(F80, "f80", "long double", 16, CTUNE_TF_FLOAT | CTUNE_TF_SIGNED)

typedef enum ctune_type {
#define X(id, name, c, bytes, flags) CTUNE_##id,
    CTUNE_TYPE_TABLE(X)
#undef X
        CTUNE_N_TYPES
} ctune_type;

typedef struct ctune_type_info {
    const char *name;   /* in the IR: "f32" */
    const char *c_name; /* "float" */
    int bytes;          /* x86-64 System V */
    int flags;          /* CTUNE_TF_* */
} ctune_type_info;

const ctune_type_info *ctune_type_get(ctune_type type);
static inline bool ctune_type_is_float(ctune_type t) {
    return t >= CTUNE_F16;
}

/* ---- affine forms
 * -------------------------------------------------------------------------------------------- */
typedef enum ctune_term_kind {
    CTUNE_TERM_AXIS,  /* id: index into region->axes (in a tree's statement maps: a dim of the tree)
                       */
    CTUNE_TERM_PARAM, /* id: index into region->params */
    CTUNE_TERM_DIV    /* id: index into region->divs */
} ctune_term_kind;

typedef struct ctune_term {
    ctune_term_kind kind;
    int id;
    int64_t coef; /* never 0 */
} ctune_term;

/* c0 + sum of terms; terms sorted by (kind, id), no duplicates. */
typedef struct ctune_aff {
    int64_t c0;
    int n_terms;
    const ctune_term *terms;
} ctune_aff;

struct ctune_access;

/* An integer that is no affine form: floor(num / den) with den > 0, or (load not NULL; num NULL,
 * den 0) an element of an integer tensor that the region does not write, which makes it a function
 * of the axes as much as a division is. num and the load's indices use lower-numbered divs only. */
typedef struct ctune_div {
    const ctune_aff *num;
    int64_t den;
    const struct ctune_access *load;
} ctune_div;

/* The forms that a div is made of; returns their number, *affs [n]. */
int ctune_div_forms(const ctune_div *div, const ctune_aff *const **affs);

/* Builders: NULL in, NULL out; NULL on memory or int64 overflow. Results are canonical (see
 * ctune_aff). */
const ctune_aff *ctune_aff_const(ctune_arena *a, int64_t c);
const ctune_aff *ctune_aff_term(ctune_arena *a, ctune_term_kind kind, int id, int64_t coef);
const ctune_aff *ctune_aff_add(ctune_arena *a, const ctune_aff *x, const ctune_aff *y);
const ctune_aff *ctune_aff_sub(ctune_arena *a, const ctune_aff *x, const ctune_aff *y);
const ctune_aff *ctune_aff_scale(ctune_arena *a, const ctune_aff *x, int64_t k);
const ctune_aff *ctune_aff_add_const(ctune_arena *a, const ctune_aff *x, int64_t c);
/* Replace term (kind, id) by `by`. */
const ctune_aff *ctune_aff_subst(ctune_arena *a, const ctune_aff *x, ctune_term_kind kind, int id,
                                 const ctune_aff *by);
int64_t ctune_aff_coef(const ctune_aff *x, ctune_term_kind kind, int id); /* 0 when absent */
bool ctune_aff_is_const(const ctune_aff *x);
bool ctune_aff_is_equal(const ctune_aff *x, const ctune_aff *y);
bool ctune_aff_has_kind(const ctune_aff *x, ctune_term_kind kind);

/* ---- expressions: C values
 * ----------------------------------------------------------------------------------- */
/* id, IR token, C token (NULL: printed specially), arity (-1 = varies). C semantics: promotions are
 * explicit CAST nodes, DIV and MOD truncate, shifts and comparisons as in C, comparisons yield i32.
 * MIN/MAX: (a<b?a:b), (a>b?a:b). SELECT evaluates only the chosen arm; LAND/LOR short-circuit. */
#define CTUNE_OP_TABLE(X)                                                                          \
    X(CONST, "const", NULL, 0) /* payload: bits + text as the user wrote it */                     \
    X(AFF, "aff", NULL, 0)     /* payload: aff, as a value of `type` (iterators, parameters) */    \
    X(READ, "read", NULL, 0)   /* payload: access */                                               \
    X(ADD, "+", "+", 2)                                                                            \
    X(SUB, "-", "-", 2)                                                                            \
    X(MUL, "*", "*", 2)                                                                            \
    X(DIV, "/", "/", 2)                                                                            \
    X(MOD, "%", "%", 2)                                                                            \
    X(NEG, "neg", "-", 1)                                                                          \
    X(BAND, "&", "&", 2)                                                                           \
    X(BOR, "|", "|", 2)                                                                            \
    X(BXOR, "^", "^", 2)                                                                           \
    X(BNOT, "~", "~", 1)                                                                           \
    X(SHL, "<<", "<<", 2)                                                                          \
    X(SHR, ">>", ">>", 2)                                                                          \
    X(LT, "<", "<", 2)                                                                             \
    X(LE, "<=", "<=", 2)                                                                           \
    X(GT, ">", ">", 2)                                                                             \
    X(GE, ">=", ">=", 2)                                                                           \
    X(EQ, "==", "==", 2)                                                                           \
    X(NE, "!=", "!=", 2)                                                                           \
    X(LAND, "&&", "&&", 2)                                                                         \
    X(LOR, "||", "||", 2)                                                                          \
    X(LNOT, "!", "!", 1)                                                                           \
    X(SELECT, "select", NULL, 3) /* kid0 ? kid1 : kid2 */                                          \
    X(CAST, "cast", NULL, 1)     /* to `type` */                                                   \
    X(MIN, "min", NULL, 2)                                                                         \
    X(MAX, "max", NULL, 2)                                                                         \
    X(CALL, "call", NULL, -1) /* payload: name of a pure math function, "sqrtf" */

typedef enum ctune_op {
#define X(id, token, c, arity) CTUNE_OP_##id,
    CTUNE_OP_TABLE(X)
#undef X
        CTUNE_N_OPS
} ctune_op;

/* Pure math functions that CALL may name (math.c has the table: <math.h> without errno and int*
 * arguments, abs, labs). Returns the number of arguments, 0 when the name is not known; *type: of
 * all arguments and of the result. */
int ctune_math_find(const char *name, ctune_type *type);
/* How a function comes in vectors. EXACT: an instruction gives the same bits, and sets no errno.
 * APPROX: a library does, with other bits, within 4 ulp (glibc's libmvec). */
typedef enum ctune_math_lanes {
    CTUNE_MATH_SCALAR,
    CTUNE_MATH_EXACT,
    CTUNE_MATH_APPROX
} ctune_math_lanes;
ctune_math_lanes ctune_math_lanes_of(const char *name);
/* The C name that a function of f32 or f64 is derived from: "sqrt" of "sqrtf"; "" when unknown. */
const char *ctune_math_root(const char *name);

/* Is its result the correctly rounded one, on the host and on GPUs? */
bool ctune_math_is_exact(const char *name);

typedef struct ctune_op_info {
    const char *token, *c_token;
    int arity;
} ctune_op_info;
const ctune_op_info *ctune_op_get(ctune_op op);

/* One element of a tensor. idx has tensor->rank entries (0 for a scalar). */
typedef struct ctune_access {
    int tensor;
    int n_idx;
    const ctune_aff *const *idx;
} ctune_access;

typedef struct ctune_expr {
    ctune_op op;
    ctune_type type; /* type of the value, after C's usual conversions */
    int n_kids;
    const struct ctune_expr *const *kids;
    int64_t i_value;      /* CONST of an integer type */
    double f_value;       /* CONST of a float type */
    const char *text;     /* CONST: the C literal to print, e.g. "0.2f"; CALL: function name */
    const ctune_aff *aff; /* AFF */
    ctune_access access;  /* READ */
    int read_id; /* READ: ordinal of this read in its stage's rhs then guard, left to right (set by
                    ctune_region_finish) */
} ctune_expr;

/* ---- region
 * --------------------------------------------------------------------------------------------------
 */
enum { CTUNE_MAX_SIZES = 8, CTUNE_MAX_RANK = 8, CTUNE_MAX_DEPTH = 12 };

/* An integer that the region reads and never writes. */
typedef struct ctune_param {
    const char *name;   /* identifier, unique in the region */
    const char *c_text; /* how the source writes it: "n", "s->n" */
    ctune_type type;
    int n_sizes; /* representative values; at least one after ctune_region_finish (default 1024) */
    int64_t sizes[CTUNE_MAX_SIZES];
} ctune_param;

typedef struct ctune_tensor {
    const char *name; /* identifier, unique in the region */
    ctune_type type;
    int rank;
    const ctune_aff *extent[CTUNE_MAX_RANK]; /* params only; [0] may be NULL (pointer: unknown), for
                                                temps too: the emitter bounds it by the axes */
    const char
        *pattern; /* how the source addresses an element: "A[$0][$1]", "s->data[$0].x", "x"; "A[$L]"
                     when linearised: $L = sum of idx[d] * product of extent[d+1..] */
    const char *base;      /* C expression of type pointer to element for guards and packing: "A",
                              "&A[0][0]" style is      made by the emitter; for scalars "&x" */
    int elem_stride_bytes; /* distance of neighbours in the last dimension; sizeof type unless array
                              of structs */
    bool is_read, is_written; /* by some stage */
    bool is_temp;    /* dead after the region and written before read: memory is the emitter's */
    bool is_pointer; /* may overlap other is_pointer tensors unless listed otherwise (restrict,
                        noalias) */
    bool is_restrict;
    bool is_const;             /* const-qualified elements in the source */
    bool is_scalar_var;        /* rank 0 in the source */
    const char *live_out_text; /* temp whose last value the source reads later: C lvalue to store it
                                  to; else NULL */
} ctune_tensor;

typedef struct ctune_axis {
    const char *name;   /* unique in the region: "i", "i_2" for a second loop over i */
    ctune_type type;    /* the source counter's */
    const char *c_name; /* the source counter's name, for comments */
    int64_t step;       /* the source's step (may be negative); the axis itself counts by 1 */
} ctune_axis;

typedef enum ctune_node_kind {
    CTUNE_NODE_SEQ,
    CTUNE_NODE_LOOP,
    CTUNE_NODE_IF,
    CTUNE_NODE_STAGE
} ctune_node_kind;

/* The source's order. The root is a SEQ. LOOP: `cons` bound `axis` in terms of enclosing axes and
 * params; IF: a conjunction of affine conditions. cons: each aff >= 0. */
typedef struct ctune_node {
    ctune_node_kind kind;
    int axis;   /* LOOP */
    int stage;  /* STAGE */
    int n_cons; /* LOOP, IF */
    const ctune_aff *const *cons;
    int n_kids; /* SEQ, LOOP, IF */
    const struct ctune_node *const *kids;
} ctune_node;

/* Update operators: id, IR token, associative and commutative for integers. "x = x - a" is SUB
 * (associative as an addition of -a); "x = a - x" is no update: it is SET with a read of x. */
#define CTUNE_UPDATE_TABLE(X)                                                                      \
    X(SET, "=", 0)                                                                                 \
    X(ADD, "+=", 1)                                                                                \
    X(SUB, "-=", 1)                                                                                \
    X(MUL, "*=", 1)                                                                                \
    X(DIV, "/=", 0)                                                                                \
    X(BAND, "&=", 1)                                                                               \
    X(BOR, "|=", 1)                                                                                \
    X(BXOR, "^=", 1)                                                                               \
    X(MIN, "min=", 1)     /* x = x < e ? x : e */                                                  \
    X(MAX, "max=", 1)     /* x = x > e ? x : e */                                                  \
    X(BELOW, "below=", 1) /* x = e < x ? e : x: of floats another NaN, another zero than min= */   \
    X(ABOVE, "above=", 1) /* x = e > x ? e : x */

typedef enum ctune_update {
#define X(id, token, assoc) CTUNE_UPDATE_##id,
    CTUNE_UPDATE_TABLE(X)
#undef X
        CTUNE_N_UPDATES
} ctune_update;

typedef struct ctune_update_info {
    const char *token;
    int is_assoc;
} ctune_update_info;
const ctune_update_info *ctune_update_get(ctune_update update);

/* One assignment: target update rhs, for each point of its domain, when guard (if any) holds.
 * Value stored: (T)((calc)old op (calc)rhs); for SET: (T)rhs. */
typedef struct ctune_stage {
    const char *name; /* "S0" */
    ctune_access target;
    ctune_update update;
    ctune_type calc; /* type in which the update is computed; the target's for SET */
    const ctune_expr *rhs;
    const ctune_expr *guard; /* data-dependent or non-affine condition; NULL = always */
    bool reassoc;            /* the source permits this update in any order (an OpenMP reduction) */
    int line, col;           /* of the statement */
    const char *text; /* source text of the statement on one line, for comments; may be NULL */
    /* Filled by ctune_region_finish from the tree: */
    int n_axes; /* enclosing loops, outermost first */
    int axes[CTUNE_MAX_DEPTH];
    int n_cons; /* domain: all constraints of enclosing LOOPs and IFs */
    const ctune_aff *const *cons;
    uint32_t reduce_mask;           /* bit d: axes[d] is absent from the target's indices */
    int n_reads;                    /* READ nodes in rhs and guard */
    const ctune_expr *const *reads; /* [n_reads], by read_id */
} ctune_stage;

/* Languages of kernels: bits of ctune_region.gpu. */
enum { CTUNE_GPU_CUDA = 1, CTUNE_GPU_OPENCL = 2 };

/* A fact over parameters that must hold for the tuned code: one run-time guard. */
typedef struct ctune_assume {
    const ctune_aff *aff; /* aff >= 0 */
    const char *c_text;   /* the condition in C; NULL: print aff */
} ctune_assume;

typedef struct ctune_region {
    ctune_arena *arena;   /* owner of everything below; destroyed by ctune_region_destroy */
    const char *name;     /* function name, or name(...) clause; unique in the file: "f", "f.2" */
    const char *file;     /* as the user named it */
    int line;             /* of the pragma */
    bool reassoc;         /* floating-point reductions may be reordered */
    unsigned gpu;         /* target(...): languages that its kernels may be in; 0: for the CPU */
    bool serial;          /* no OpenMP */
    int n_threads;        /* parallel(n); 0 = not given */
    double weight;        /* importance, default 1 */
    const char *schedule; /* schedule("...") clause or NULL */
    int n_params;
    const ctune_param *params;
    int n_tensors;
    const ctune_tensor *tensors;
    int n_axes;
    const ctune_axis *axes;
    int n_divs;
    const ctune_div *divs;
    int n_stages;
    const ctune_stage *stages;
    int n_assumes;
    const ctune_assume *assumes;
    const ctune_node *root;
    bool noalias;         /* noalias clause: no overlap guard needed */
    const char *epilogue; /* C statements that give counters declared outside their final values;
                             NULL = none */
    /* Identifiers that code in the region's place must not declare: those of the file and its own
     * headers, macros and typedefs in scope, keywords. Sorted by strcmp, no duplicates, borrowed
     * (all regions of a file share them). Not printed, parsed or in the workload key. */
    int n_reserved;
    const char *const *reserved;
} ctune_region;

void ctune_region_destroy(ctune_region *region);

/* Does the run-time guard have to tell the two tensors apart? (Clauses of the region aside.) */
bool ctune_tensors_may_overlap(const ctune_region *region, int a, int b);

/* May the floating-point updates of this stage run in another order? Of any stage? */
static inline bool ctune_stage_may_reassoc(const ctune_region *region, const ctune_stage *stage) {
    return region->reassoc || stage->reassoc;
}
bool ctune_region_may_reassoc(const ctune_region *region);

/* Fill the derived fields (stages' axes, cons, reads; default sizes). The builder calls it once;
 * parse does too. Fails ENOMEM, EUSAGE (deeper than CTUNE_MAX_DEPTH). */
CTUNE_MUST_USE ctune_status ctune_region_finish(ctune_ctx *ctx, ctune_region *region);

/* Canonical text (docs/te.md), free of addresses and times; parse(print(r)) prints the same. */
void ctune_te_print(const ctune_region *region, ctune_text *out);
void ctune_aff_print(const ctune_region *region, const ctune_aff *aff, ctune_text *out);
void ctune_expr_print(const ctune_region *region, const ctune_expr *expr, ctune_text *out);
/* Owner of *out: caller. Fails EUSAGE with line and column in ctx->error. */
CTUNE_MUST_USE ctune_status ctune_te_parse(ctune_ctx *ctx, const char *text, ctune_region **out);
/* Are all invariants of this header whole? EBUG with what is wrong. Parsed text is verified with it
 * too. */
CTUNE_MUST_USE ctune_status ctune_te_verify(ctune_ctx *ctx, const ctune_region *region);

/* How a floating-point product that is added or subtracted is rounded: on its own, or in one
 * rounding with the sum. Fused: of `a + b` and `a - b` the left operand when it is a product (a MUL
 * of the sum's type, or the negation of one), else the right one; an update `x += a*b` or `x -=
 * a*b` likewise when it is computed in the product's type. This is what clang does within
 * expressions and GCC everywhere when contraction is on. */
typedef enum ctune_products { CTUNE_PRODUCTS_ROUNDED, CTUNE_PRODUCTS_FUSED } ctune_products;
/* Is expr a product that a sum could absorb? */
bool ctune_expr_is_product(const ctune_expr *expr);
/* Of a sum or difference of two operands: which one is absorbed (0, 1), -1 = none. */
int ctune_fma_operand(const ctune_expr *a, const ctune_expr *b);

/* Run the region as the source would. params [n_params]; tensors [n_tensors], row-major with the
 * evaluated extents (temps: NULL, the interpreter allocates them); checked: an index outside [0,
 * bytes) fails with EUSAGE. tensor_bytes [n_tensors]: size of each buffer. */
CTUNE_MUST_USE ctune_status ctune_te_eval(ctune_ctx *ctx, const ctune_region *region,
                                          ctune_products products, const int64_t *params,
                                          void *const *tensors, const size_t *tensor_bytes);

/* Does the axis occur inside one of aff's divs? */
bool ctune_aff_div_uses_axis(const ctune_region *region, const ctune_aff *aff, int axis);
/* Are all axes in the div loops around the stage? */
bool ctune_stage_is_inside(const ctune_region *region, const ctune_stage *stage, int div);
/* Does the form, a div of it included, hold an element of a tensor? */
bool ctune_aff_has_load(const ctune_region *region, const ctune_aff *aff);
/* Does some div of the region read the tensor? Its elements then are subscripts or bounds. */
bool ctune_tensor_is_index(const ctune_region *region, int tensor);

/* What elements of index tensors look like where inputs are made up and trip counts are guessed
 * (load.c): value = slope * (ordinal of the element) + lo + something in [0, width). */
typedef struct ctune_load_model {
    int64_t slope, lo, width;
} ctune_load_model;
/* Trips of a loop whose bounds are loads, where nothing says more. */
enum { CTUNE_LOAD_TRIPS = 16 };
/* params [n_params]. */
ctune_load_model ctune_load_model_get(const ctune_region *region, int tensor,
                                      const int64_t *params);

/* Value of aff at a point. axes [n_axes] (may be NULL when unused). Loads count as 0:
 * see ctune_aff_eval_with. */
int64_t ctune_aff_eval(const ctune_region *region, const ctune_aff *aff, const int64_t *axes,
                       const int64_t *params);
/* The same with the elements that `read` gives. */
typedef int64_t (*ctune_element_read)(void *data, const struct ctune_access *access);
int64_t ctune_aff_eval_with(const ctune_region *region, const ctune_aff *aff, const int64_t *axes,
                            const int64_t *params, ctune_element_read read, void *data);

/* Numeric shape of a tensor at params: extents [rank]; where extent[0] is unknown, 1 + the largest
 * index that any access reaches over its domain (bounding box). Temps likewise. Returns the number
 * of elements, or -1 on overflow or > 2^40. */
int64_t ctune_tensor_shape(const ctune_region *region, int tensor, const int64_t *params,
                           int64_t *extents);

/* Bounding box of all accesses to a tensor: lo[d] <= index <= hi[d]. false (and zeros) when nothing
 * runs. */
bool ctune_tensor_box(const ctune_region *region, int tensor, const int64_t *params, int64_t *lo,
                      int64_t *hi);

/* Representative parameter values, set `which`: the which-th of each, the last of a shorter list.
 * out [n_params]. */
void ctune_region_sizes(const ctune_region *region, int which, int64_t *out);

/* Workload key: hash of the canonical dump with names normalised (params, tensors, axes by order;
 * no file, line, region name, sizes), plus the given sizes when not NULL. */
uint64_t ctune_workload_key(const ctune_region *region, const int64_t *sizes);

/* Why no code of the region can run on a GPU with the host's bits; NULL: it can. */
const char *ctune_region_check_gpu(const ctune_region *region);

#endif
