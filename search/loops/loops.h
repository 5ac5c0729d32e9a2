/*
 * Loops: the whole program that will be printed. The dear of the two representations (the other:
 * schedule/nest.h).
 *
 * Made from a nest for candidates that are measured or emitted. Nothing is decided after it:
 * bounds, conditions, copies, declarations, types, lanes, fused or rounded products and names all
 * stand here; an emitter only prints. It is made by lower/ as a scalar program and finished by
 * passes (passes/passes.h), each loops -> loops. Siblings, as for te: loops_print.c, loops_parse.c
 * (round trip), loops_verify.c (after each pass), loops_eval.c (interprets it: equal to te_eval at
 * every pass).
 *
 * Conventions
 *   - An index is a ctune_aff: TERM_AXIS ids are index variables of the program, TERM_PARAM ids
 * parameters of the region, TERM_DIV ids *atoms* of the program (floor, min, max, products).
 * Indices are mathematical integers, printed as C `long`.
 *   - Values are typed, pure and hash-consed: equal values of one program are one pointer. Loads
 * are values: they are evaluated where the statement that holds them runs.
 *   - A floating-point MUL is always rounded; a fused product is FMA. Nothing is left to the
 * compiler.
 *   - Integer arithmetic wraps. `wraps` says that C's signed overflow must not be assumed away
 * (reordered sums).
 *   - Everything lives in the program's arena. Builders let NULL through and record the first
 * failure (ctune_loops_fail): one check at the end (ctune_loops_status).
 */
#ifndef CTUNE_SEARCH_LOOPS_LOOPS_H
#define CTUNE_SEARCH_LOOPS_LOOPS_H

#include "search/te/te.h"

/* ---- atoms: integer values that are not affine
 * ---------------------------------------------------------------- */
/* id, IR name */
#define CTUNE_ATOM_TABLE(X)                                                                        \
    X(FLOOR, "floor") /* floor(a / den), den > 0 */                                                \
    X(MIN, "min")     /* min(a, b) */                                                              \
    X(MAX, "max")     /* max(a, b) */                                                              \
    X(PROD, "prod")   /* a * b, both bare: one term with coefficient 1 and no constant; b is no    \
                         product, factors stand in the order of their kinds and ids */             \
    X(LOAD, "load")   /* element of an integer tensor that the region does not write; read where   \
                         the index is used */

/* Factors of one product, terms of one form made by multiplying: more is a failure. */
enum { CTUNE_MAX_FACTORS = 32, CTUNE_MAX_PRODUCT_TERMS = 512 };

typedef enum ctune_atom_kind {
#define X(id, name) CTUNE_ATOM_##id,
    CTUNE_ATOM_TABLE(X)
#undef X
        CTUNE_N_ATOM_KINDS
} ctune_atom_kind;

struct ctune_place;

/* Uses only atoms with lower ids. */
typedef struct ctune_atom {
    ctune_atom_kind kind;
    const ctune_aff *a, *b;          /* b: NULL for FLOOR; LOAD: both NULL */
    int64_t den;                     /* FLOOR */
    const struct ctune_place *place; /* LOAD */
} ctune_atom;

/* ---- variables and buffers
 * ------------------------------------------------------------------------------------- */
typedef struct ctune_lvar {
    const char *hint; /* what a reader would call it: "i", "k_last", "acc"; need not be unique */
    const char *name; /* set by the naming pass: unique, no word of the source; NULL before */
    bool is_index;    /* an integer index (FOR, LET); else a typed value (DEF, SET) */
    bool is_mutable;  /* value variables: SET may change it */
    ctune_type type;  /* value variables */
    int lanes;        /* value variables; 1 = scalar */
} ctune_lvar;

/* Where a buffer lives: id, IR name. */
#define CTUNE_SCOPE_TABLE(X)                                                                       \
    X(PROGRAM, "program")   /* heap, one for the program; DECL in the setup part of the root */    \
    X(THREAD, "thread")     /* heap, one for each thread; DECL in the body of a PARALLEL loop */   \
    X(BLOCK, "block")       /* an array of the block that DECL stands in; constant extents */      \
    X(SHARED, "shared")     /* of a block of a GPU; DECL right inside the loops over blocks of a   \
                               LAUNCH; constant extents */                                         \
    X(REGISTER, "register") /* to become value variables (passes/scalars.c); constant extents */

typedef enum ctune_scope {
#define X(id, name) CTUNE_SCOPE_##id,
    CTUNE_SCOPE_TABLE(X)
#undef X
        CTUNE_N_SCOPES
} ctune_scope;

/* Row-major, elements of `type`, start aligned to 64 bytes. */
typedef struct ctune_lbuffer {
    const char *hint, *name; /* as for variables */
    ctune_type type;
    ctune_scope scope;
    int rank;                                /* 0: one element */
    const ctune_aff *extent[CTUNE_MAX_RANK]; /* over params and variables of the setup; constants
                                                for BLOCK, REGISTER */
} ctune_lbuffer;

/* The most lanes that a value has; lanes are a power of two. */
enum { CTUNE_MAX_LANES = 64 };

/* One element of a tensor of the region or of a buffer; a vector access covers lanes consecutive
 * elements along the last index. A temporary of the region has no memory here: its only places are
 * stores of one whose last value lives on (live_out_text), to which any index is the same. */
typedef struct ctune_place {
    bool is_buffer;
    int id;    /* tensor or buffer */
    int n_idx; /* the tensor's or buffer's rank */
    const ctune_aff *idx[CTUNE_MAX_RANK];
} ctune_place;

/* ---- values
 * ----------------------------------------------------------------------------------------------------
 */
/* id, IR token, kids (-1 = varies). Types: unless said otherwise kids and value have one type and
 * one number of lanes. */
#define CTUNE_VALUE_TABLE(X)                                                                       \
    X(CONST, "const", 0) /* scalar; i_value, f_value, text as in ctune_expr */                     \
    X(INDEX, "index", 0) /* scalar; `index` converted to type */                                   \
    X(VAR, "var", 0)     /* value variable `var` */                                                \
    X(LOAD, "load", 0)   /* `place`; lanes consecutive elements */                                 \
    X(ADD, "+", 2)                                                                                 \
    X(SUB, "-", 2)                                                                                 \
    X(MUL, "*", 2)   /* floats: rounded, never fused */                                            \
    X(FMA, "fma", 3) /* floats: kid0 * kid1 + kid2 with one rounding */                            \
    X(DIV, "/", 2)   /* integers: truncates; as C */                                               \
    X(MOD, "%", 2)                                                                                 \
    X(NEG, "neg", 1)                                                                               \
    X(BAND, "&", 2)                                                                                \
    X(BOR, "|", 2)                                                                                 \
    X(BXOR, "^", 2)                                                                                \
    X(BNOT, "~", 1)                                                                                \
    X(SHL, "<<", 2) /* scalar: kid1 may have another integer type */                               \
    X(SHR, ">>", 2)                                                                                \
    X(LT, "<", 2) /* scalar: i32 0 or 1. Vector: signed integers as wide as the kids, 0 or -1 */   \
    X(LE, "<=", 2)                                                                                 \
    X(GT, ">", 2)                                                                                  \
    X(GE, ">=", 2)                                                                                 \
    X(EQ, "==", 2)                                                                                 \
    X(NE, "!=", 2)                                                                                 \
    X(LAND, "&&", 2) /* scalar only; kid1 only when kid0 holds */                                  \
    X(LOR, "||", 2)  /* scalar only */                                                             \
    X(LNOT, "!", 1)  /* scalar only */                                                             \
    X(SELECT, "select",                                                                            \
      3) /* scalar: kid0 ? kid1 : kid2, one arm evaluated. Vector: kid0 a mask, both evaluated */  \
    X(CONVERT, "convert", 1) /* from the kid's type, lane by lane; as a C cast */                  \
    X(MIN, "min", 2)         /* kid0 < kid1 ? kid0 : kid1 */                                       \
    X(MAX, "max", 2)         /* kid0 > kid1 ? kid0 : kid1 */                                       \
    X(CALL, "call", -1)      /* text = pure math function, ctune_math_find; lanes: ..._lanes_of */ \
    X(SPLAT, "splat", 1)     /* scalar kid in all lanes */                                         \
    X(GATHER, "gather", -1)  /* lanes scalar kids */                                               \
    X(EXTRACT, "extract", 1) /* scalar: lane `lane` of a vector kid */                             \
    X(SLIDE, "slide", 2) /* vectors: lanes from `lane` on of kid0 and kid1 side by side, as many   \
                            as each has; 0 < lane < lanes */                                       \
    X(DOT, "dot", 3)     /* i32: lane i of kid0 plus the products of n lanes from n*i on of        \
                            kid1 and kid2: u8 and i8, n = 4, or i16, n = 2; sums wrap */

typedef enum ctune_value_op {
#define X(id, token, arity) CTUNE_V_##id,
    CTUNE_VALUE_TABLE(X)
#undef X
        CTUNE_N_VALUE_OPS
} ctune_value_op;

typedef struct ctune_value_info {
    const char *token;
    int arity;
} ctune_value_info;
const ctune_value_info *ctune_value_get(ctune_value_op op);

typedef struct ctune_value {
    ctune_value_op op;
    ctune_type type; /* of each lane */
    int lanes;       /* >= 1 */
    bool wraps;      /* ADD SUB MUL NEG of i32, i64: overflow wraps (C must go through unsigned) */
    int n_kids;
    const struct ctune_value *const *kids;
    int64_t i_value;        /* CONST of an integer type */
    double f_value;         /* CONST of a float type */
    const char *text;       /* CONST: C literal or NULL; CALL: name */
    const ctune_aff *index; /* INDEX */
    int var;                /* VAR */
    int lane;               /* EXTRACT, SLIDE */
    ctune_place place;      /* LOAD */
    uint64_t hash;          /* set by the builder */
} ctune_value;

/* ---- nodes
 * -----------------------------------------------------------------------------------------------------
 */
/* id, IR name */
#define CTUNE_LNODE_TABLE(X)                                                                       \
    X(SEQ, "seq")       /* kids in order; a block of its own: DECL, DEF and LET end with it */     \
    X(FOR, "for")       /* index variable var = lo, lo + step, ... while var < hi: kids */         \
    X(IF, "if")         /* all conds >= 0 and test != 0: kids; else `other` */                     \
    X(LET, "let")       /* index variable var = lo */                                              \
    X(DECL, "decl")     /* buffer begins here, contents undefined */                               \
    X(DEF, "def")       /* value variable var begins here with value (NULL: undefined) */          \
    X(SET, "set")       /* mutable value variable var = value */                                   \
    X(STORE, "store")   /* place = value (value->lanes consecutive elements) */                    \
    X(LAUNCH, "launch") /* a GPU runs the one kid: loops over blocks, one inside the other; in the \
                           innermost SHARED buffers' DECLs and loops over threads, one inside the  \
                           other; in these the code of one thread, which sets no variable and uses \
                           no buffer from outside but PROGRAM's. Loops over threads have constant  \
                           bounds, begin at 0 and have step 1, as those over blocks do. Iterations \
                           of all these loops are independent but for barriers */                  \
    X(BARRIER, "barrier") /* the threads of a block wait for each other: where all of them come by \
                             as often; in the code of one thread */

typedef enum ctune_lnode_kind {
#define X(id, name) CTUNE_L_##id,
    CTUNE_LNODE_TABLE(X)
#undef X
        CTUNE_N_LNODE_KINDS
} ctune_lnode_kind;

/* A streamed STORE says nothing about values: threads see it when their loop ends, the program when
 * it ends; the emitter puts the fences there.
 *
 * What is said of a FOR: id, IR name. */
#define CTUNE_LANN_TABLE(X)                                                                        \
    X(SERIAL, "serial")                                                                            \
    X(UNROLL, "unroll") /* ask the compiler to unroll `factor` times; 1: not at all */             \
    X(SIMD, "simd")     /* iterations are independent: ask the compiler for vectors */             \
    X(SUM, "sum")       /* as SIMD, but for sums whose order may change: `factor` in lanes */      \
    X(PARALLEL,                                                                                    \
      "parallel")     /* iterations are independent: threads; with its `collapse` - 1 only kids */ \
    X(SLIDE, "slide") /* iterations are independent: whole vectors that keep what the next one     \
                         reads beside its own elements, too (passes/slide.c, carry.c) */           \
    X(FULL, "full")   /* constant bounds: the unroll pass repeats the body */                      \
    X(VECTOR, "vector")   /* constant bounds, independent: the vectorise pass makes lanes */       \
    X(BLOCK_X, "block.x") /* of a LAUNCH: its blocks, ... */                                       \
    X(BLOCK_Y, "block.y")                                                                          \
    X(BLOCK_Z, "block.z")                                                                          \
    X(THREAD_X, "thread.x") /* ... their threads */                                                \
    X(THREAD_Y, "thread.y")                                                                        \
    X(THREAD_Z, "thread.z")

typedef enum ctune_lann {
#define X(id, name) CTUNE_LANN_##id,
    CTUNE_LANN_TABLE(X)
#undef X
        CTUNE_N_LANNS
} ctune_lann;

static inline bool ctune_lann_is_block(ctune_lann ann) {
    return ann >= CTUNE_LANN_BLOCK_X && ann <= CTUNE_LANN_BLOCK_Z;
}
static inline bool ctune_lann_is_thread(ctune_lann ann) {
    return ann >= CTUNE_LANN_THREAD_X && ann <= CTUNE_LANN_THREAD_Z;
}

typedef struct ctune_lnode {
    ctune_lnode_kind kind;
    struct ctune_lnode *next;         /* sibling; NULL = last */
    struct ctune_lnode *first, *last; /* kids of SEQ, FOR, IF, LAUNCH */
    struct ctune_lnode *other;        /* IF: a SEQ, or NULL */
    const char *comment;              /* printed before the node; NULL = none */
    int line; /* of the source's statement that it is a part of, 0 = of none; says nothing about
                 the program, is not printed */
    int var;  /* FOR, LET, DEF, SET */
    const ctune_aff *lo, *hi;      /* FOR: [lo, hi); LET: value in lo */
    int64_t step;                  /* FOR: >= 1 */
    ctune_lann ann;                /* FOR */
    int64_t factor;                /* FOR: UNROLL, SUM */
    int64_t before, behind;        /* FOR: SLIDE: so many iterations of its loop stand in front of
                                      its first one and behind its last `step` in any case */
    int collapse;                  /* FOR: PARALLEL: >= 1 loops, perfectly nested and rectangular */
    bool is_dynamic;               /* FOR: PARALLEL: iterations differ in length */
    int n_conds;                   /* IF, FOR: PARALLEL */
    const ctune_aff *const *conds; /* IF: each >= 0; PARALLEL: else one thread runs the loop */
    const ctune_value *test;       /* IF: scalar, NULL = true */
    int buffer;                    /* DECL */
    ctune_place place;             /* STORE */
    bool is_streamed;              /* STORE: past the caches, where it is a vector */
    const ctune_value *value;      /* DEF, SET, STORE */
} ctune_lnode;

/* The root is a SEQ: first its setup (LET over parameters, DECL of PROGRAM buffers), then the
 * program. What the setup needs is known before anything is written, so that a failed allocation
 * leaves the tensors untouched. */
typedef struct ctune_loops {
    ctune_ctx *ctx;             /* borrowed; errors */
    ctune_arena *arena;         /* owner */
    const ctune_region *region; /* borrowed */
    ctune_status status;        /* first failure, CTUNE_OK = none; words in ctx->error */
    int n_vars, cap_vars;
    ctune_lvar *var;
    int n_buffers, cap_buffers;
    ctune_lbuffer *buffer;
    int n_atoms, cap_atoms;
    ctune_atom *atom;
    int cap_atom_slots; /* hash table of atoms: open addressing; 1 + id, 0 = free */
    int *atom_slot;
    int n_values, cap_values; /* hash table of values: open addressing, cap_values slots */
    const ctune_value **value;
    ctune_lnode *root;
    int line; /* nodes made from now on are parts of the statement there; 0 = of none */
} ctune_loops;

/* ---- loops.c: the program, variables, indices
 * -------------------------------------------------------------------- */

/* Owner of *out: caller. An empty program (root: an empty SEQ). Fails ENOMEM. */
CTUNE_MUST_USE ctune_status ctune_loops_create(ctune_ctx *ctx, const ctune_region *region,
                                               ctune_loops **out);
void ctune_loops_destroy(ctune_loops *loops);
/* Record a failure; the first one stays. Returns the recorded status. */
ctune_status ctune_loops_fail(ctune_loops *l, ctune_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* CTUNE_OK, or the first failure (ENOMEM when the arena ran out), with words in ctx->error. */
ctune_status ctune_loops_status(ctune_loops *l);

/* New variables and buffers; -1 after a failure. hint is copied. */
int ctune_loops_index_var(ctune_loops *l, const char *hint);
int ctune_loops_value_var(ctune_loops *l, const char *hint, ctune_type type, int lanes,
                          bool is_mutable);
int ctune_loops_buffer(ctune_loops *l, const char *hint, ctune_type type, ctune_scope scope,
                       int rank, const ctune_aff *const *extent);

/* Indices, simplified: constants folded, multiples taken out of floor, min and max of forms whose
 * difference is constant decided, products distributed. NULL in, NULL out. */
const ctune_aff *ctune_loops_const(ctune_loops *l, int64_t c);
const ctune_aff *ctune_loops_var_aff(ctune_loops *l, int var, int64_t coef, int64_t c);
const ctune_aff *ctune_loops_floor(ctune_loops *l, const ctune_aff *a, int64_t den);
const ctune_aff *ctune_loops_ceil(ctune_loops *l, const ctune_aff *a, int64_t den);
const ctune_aff *ctune_loops_min(ctune_loops *l, const ctune_aff *a, const ctune_aff *b);
const ctune_aff *ctune_loops_max(ctune_loops *l, const ctune_aff *a, const ctune_aff *b);
const ctune_aff *ctune_loops_mul(ctune_loops *l, const ctune_aff *a, const ctune_aff *b);
const ctune_aff *ctune_loops_load(ctune_loops *l, const ctune_place *place);
/* aff with index variable `var` replaced by `by`, inside atoms too. */
const ctune_aff *ctune_loops_subst(ctune_loops *l, const ctune_aff *aff, int var,
                                   const ctune_aff *by);
/* Does aff use the index variable, directly or inside an atom? */
bool ctune_loops_uses(const ctune_loops *l, const ctune_aff *aff, int var);
/* A form over the region (axes, params, region->divs) as an index of the program. axis[a]: value of
 * the region's axis a, NULL where it must not occur. */
const ctune_aff *ctune_loops_import(ctune_loops *l, const ctune_aff *aff,
                                    const ctune_aff *const *axis);
/* The same for one of the region's divs. */
const ctune_aff *ctune_loops_import_div(ctune_loops *l, int div, const ctune_aff *const *axis);
/* Does aff hold an element of a tensor? */
bool ctune_loops_has_load(const ctune_loops *l, const ctune_aff *aff);

/* Row-major position of a place in elements: polynomial in the indices. Tensors: by their extents.
 */
const ctune_aff *ctune_loops_linear(ctune_loops *l, const ctune_place *place);

/* ---- loops_value.c: values
 * --------------------------------------------------------------------------------------- */

/* The one node equal to *proto (kids borrowed until copied). Folds nothing. Checks no types:
 * loops_verify does. */
const ctune_value *ctune_loops_value(ctune_loops *l, const ctune_value *proto);
/* Shorthands. Type and lanes are kid 0's. */
const ctune_value *ctune_value_unary(ctune_loops *l, ctune_value_op op, const ctune_value *a);
const ctune_value *ctune_value_binary(ctune_loops *l, ctune_value_op op, const ctune_value *a,
                                      const ctune_value *b);
const ctune_value *ctune_value_fma(ctune_loops *l, const ctune_value *a, const ctune_value *b,
                                   const ctune_value *c);
const ctune_value *ctune_value_convert(ctune_loops *l, ctune_type type,
                                       const ctune_value *a); /* a itself when of type */
const ctune_value *ctune_value_var(ctune_loops *l, int var);
const ctune_value *ctune_value_load(ctune_loops *l, const ctune_place *place, int lanes);
const ctune_value *ctune_value_int(ctune_loops *l, ctune_type type, int64_t i);
const ctune_value *ctune_value_zero(ctune_loops *l, ctune_type type);
const ctune_value *ctune_value_splat(ctune_loops *l, const ctune_value *a,
                                     int lanes); /* a itself when lanes is 1 */
const ctune_value *ctune_value_extract(ctune_loops *l, const ctune_value *a,
                                       int lane); /* folds splat and gather */
/* Lanes `lane` .. of a and b side by side; a, b: vectors of one kind. */
const ctune_value *ctune_value_slide(ctune_loops *l, const ctune_value *a, const ctune_value *b,
                                     int lane);
/* What a vector comparison of this type yields: the signed integers of its width. */
ctune_type ctune_mask_type(ctune_type type);
/* The element type of a place. */
ctune_type ctune_place_type(const ctune_loops *l, const ctune_place *place);
bool ctune_place_is_equal(const ctune_place *a, const ctune_place *b);

/* Rebuild value bottom-up: each node goes through `map` after its kids were rebuilt (NULL map
 * result = failure). */
typedef const ctune_value *(*ctune_value_map)(ctune_loops *l, const ctune_value *value, void *data);
const ctune_value *ctune_value_rebuild(ctune_loops *l, const ctune_value *value,
                                       ctune_value_map map, void *data);
/* value with index variable `var` replaced in all its indices and places. */
const ctune_value *ctune_value_subst(ctune_loops *l, const ctune_value *value, int var,
                                     const ctune_aff *by);
ctune_place ctune_place_subst(ctune_loops *l, const ctune_place *place, int var,
                              const ctune_aff *by);

/* ---- loops_node.c: nodes
 * ------------------------------------------------------------------------------------------ */

ctune_lnode *ctune_lnode_new(ctune_loops *l, ctune_lnode_kind kind);
void ctune_lnode_append(ctune_lnode *parent, ctune_lnode *kid); /* NULLs pass */
void ctune_lnode_prepend(ctune_lnode *parent, ctune_lnode *kid);
ctune_lnode *ctune_lnode_for(ctune_loops *l, int var, const ctune_aff *lo, const ctune_aff *hi,
                             int64_t step, ctune_lann ann);
ctune_lnode *ctune_lnode_let(ctune_loops *l, int var, const ctune_aff *value);
ctune_lnode *ctune_lnode_if(ctune_loops *l, const ctune_aff *const *conds, int n_conds,
                            const ctune_value *test);
ctune_lnode *ctune_lnode_decl(ctune_loops *l, int buffer);
ctune_lnode *ctune_lnode_def(ctune_loops *l, int var, const ctune_value *value);
ctune_lnode *ctune_lnode_set(ctune_loops *l, int var, const ctune_value *value);
ctune_lnode *ctune_lnode_store(ctune_loops *l, const ctune_place *place, const ctune_value *value);
/* Deep copy with index variable `var` replaced by `by` (var -1: none). Variables bound inside (FOR,
 * LET, DEF) and buffers declared inside get new ids, so that both copies may stand in one program.
 */
ctune_lnode *ctune_lnode_copy(ctune_loops *l, const ctune_lnode *node, int var,
                              const ctune_aff *by);
/* Does a GPU run some of it? */
bool ctune_loops_has_launch(const ctune_loops *l);
/* Is there a node of that kind in node or in what is below it? */
bool ctune_lnode_has(const ctune_lnode *node, ctune_lnode_kind kind);
/* Does a loop stand inside of node? */
bool ctune_lnode_has_loop(const ctune_lnode *node);
/* Append copies of the kids of loop `from` to `into`, its variable replaced by `by`: as one body,
 * in which what one kid declares the next ones use. */
void ctune_lnode_copy_body(ctune_loops *l, const ctune_lnode *from, const ctune_aff *by,
                           ctune_lnode *into);

/* ---- siblings
 * -----------------------------------------------------------------------------------------------------
 */

/* Complete indented text (docs/loops.md); parse(print(p)) prints the same. Variables print as hint
 * + "." + id before they are named. */
void ctune_loops_print(const ctune_loops *loops, ctune_text *out);
void ctune_loops_print_aff(const ctune_loops *loops, const ctune_aff *aff, ctune_text *out);
/* Program text over a region. Owner of *out: caller. Not verified: types and scopes may be wrong.
 * Fails EUSAGE with line and column in ctx->error. */
CTUNE_MUST_USE ctune_status ctune_loops_parse(ctune_ctx *ctx, const ctune_region *region,
                                              const char *text, ctune_loops **out);
/* Are all invariants whole? Every variable is bound once around its uses, types and lanes agree,
 * places have their rank, anns fit, the setup is one, a vector access is contiguous by
 * construction, names (when set) are unique. EBUG with what is wrong. */
CTUNE_MUST_USE ctune_status ctune_loops_verify(ctune_ctx *ctx, const ctune_loops *loops);
/* Run the program, which loops_verify accepts. params [n_params]; tensors [n_tensors] row-major as
 * for ctune_te_eval (temps: NULL); each access is checked against its tensor or buffer, each read
 * of a buffer or variable against what has been written. Fails EUSAGE with words. */
CTUNE_MUST_USE ctune_status ctune_loops_eval(ctune_ctx *ctx, const ctune_loops *loops,
                                             const int64_t *params, void *const *tensors,
                                             const size_t *tensor_bytes);
/* The same with the iterations of PARALLEL, SIMD, SLIDE and VECTOR loops in an order that seed
 * chooses (0: the program's), and with a check that iterations of the outermost of them do not
 * meet: one writes what another reads or writes. */
CTUNE_MUST_USE ctune_status ctune_loops_eval_order(ctune_ctx *ctx, const ctune_loops *loops,
                                                   const int64_t *params, void *const *tensors,
                                                   const size_t *tensor_bytes, uint64_t seed);

#endif
