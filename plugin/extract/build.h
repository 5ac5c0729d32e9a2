/*
 * A region under construction: what the files of this folder share.
 *
 * The annotated statement is walked once (loop.c, statement.c), which makes tensors, axes, stages
 * and a tree of `ctune_mnode`. Indices stay polynomials (`ctune_acc`) and scalars stay plain until
 * the whole region is known; then delinearise.c finds dimensions, scalar.c makes scalars private,
 * and assemble.c writes the TE region. "No" is said once: the first ctune_build_refuse wins, every
 * function returns false or NULL from there on.
 */
#ifndef CTUNE_PLUGIN_EXTRACT_BUILD_H
#define CTUNE_PLUGIN_EXTRACT_BUILD_H

#include "plugin/extract/cx.h"
#include "plugin/extract/extract.h"
#include "plugin/extract/poly.h"
#include "plugin/extract/source.h"

#include <string.h>

typedef enum ctune_refusal {
    CTUNE_REFUSE_NONE,
#define X(id, code, hint) CTUNE_REFUSE_##id,
#include "plugin/extract/extract_refusals.def"
#undef X
    CTUNE_N_REFUSALS
} ctune_refusal;

typedef struct ctune_why {
    ctune_refusal refusal; /* NONE: nothing refused yet */
    size_t offset;         /* in source->clean */
    char text[320];
    char cure[256];   /* what would help here; empty: what the table says */
    bool is_error;    /* the user's clause is wrong: an error, not a remark */
    const char *code; /* is_error: the code in brackets */
} ctune_why;

/* A growing array in the arena. Use: CTUNE_PUSH(b, b->params) gives a zeroed slot, or NULL when
 * memory is out. */
#define CTUNE_LIST(type)                                                                           \
    struct {                                                                                       \
        int n, size;                                                                               \
        type *at;                                                                                  \
    }
#define CTUNE_PUSH(b, list)                                                                        \
    (ctune_list_grow((b)->arena, (void **)&(list).at, (list).n, &(list).size, sizeof *(list).at)   \
         ? memset(&(list).at[(list).n++], 0, sizeof *(list).at)                                    \
         : NULL)
bool ctune_list_grow(ctune_arena *arena, void **at, int n, int *size, size_t elem_bytes);

/* ---- variables ------------------------------------------------------------------------------- */

struct ctune_lval;

/* One of several values of an integer: `poly` where all cons hold. */
typedef struct ctune_choice {
    int n_cons;
    const ctune_aff *const *cons;
    const ctune_poly *poly;
} ctune_choice;

/* A variable that the annotated statement mentions. */
typedef struct ctune_var {
    CXCursor decl;
    const char *name;
    CXType type;           /* canonical */
    bool is_automatic;     /* local or parameter, neither static nor extern */
    bool is_parameter;     /* of the function */
    bool is_inside;        /* declared in the region, or in a function that it calls */
    bool is_callee;        /* the latter; parameters, too */
    bool is_argument;      /* a parameter of such a function, with a value of its own */
    bool is_address_taken; /* anywhere in the function */
    bool is_scanned;
    bool is_stored_through; /* the region stores to an element that is reached from it */
    bool is_changed;        /* written in the function outside its initialiser */
    bool is_used_affinely;  /* in a bound, subscript or condition */
    bool is_live_after;     /* may be read after the region (conservative) */
    bool is_outer_counter;  /* of a loop around the region */
    bool is_private;        /* OpenMP: the variable outside keeps its value */
    int n_writes;           /* in the region, without its initialiser */
    /* while walking: */
    const ctune_poly *value; /* what it stands for here; NULL: not known, or several choices */
    int n_choices;
    const ctune_choice *choices; /* disjoint, together everything */
    const ctune_poly *after;     /* value behind the last loop, where after_need >= 0 holds */
    const ctune_aff *after_need;
    bool is_written;                  /* while walking: somewhere before this place */
    bool has_entry;                   /* its value before the region is a parameter */
    const ctune_poly *final;          /* value behind the region, restored by the epilogue */
    const struct ctune_lval *pointer; /* local pointer: what it points to */
    CXCursor init;                    /* value or pointer of a local: its initialiser */
    bool is_counter;                  /* value belongs to a loop counter */
    bool was_counter;                 /* its loop has ended */
    int n_scope;                      /* is_inside: loops around the declaration */
    int scope[CTUNE_MAX_DEPTH];
    struct ctune_mnode *scope_node;
    int generation; /* is_inside: counts declarations below other loops */
    int param;      /* id or -1 */
    int tensor;     /* id or -1 */
} ctune_var;

/* ---- memory ---------------------------------------------------------------------------------- */

enum { CTUNE_MAX_STEPS = 24 };

typedef struct ctune_step {
    const char *text; /* ".x", "->data", "[3]"; NULL: a dimension */
    int dim;
} ctune_step;

/* An lvalue, or (with is_pending) a pointer with an offset that no [] has consumed yet. */
typedef struct ctune_lval {
    ctune_var *root;
    int n_steps;
    ctune_step steps[CTUNE_MAX_STEPS];
    int n_dims;
    const ctune_poly *idx[CTUNE_MAX_RANK];
    const ctune_aff *extent[CTUNE_MAX_RANK]; /* NULL: unknown */
    bool is_pointer_dim[CTUNE_MAX_RANK]; /* through a pointer: the extent is a promise at best */
    CXType type;                         /* of the lvalue, or of the element pointed to */
    bool is_pending;
    bool is_address; /* pending: the address of a whole object that is no array element */
    const ctune_poly *pending;
    const ctune_aff *pending_extent;
    bool pending_is_pointer;
    int layer; /* array dimensions of root's declaration consumed so far; -1 after a member */
    bool is_indirect; /* memory reached through a pointer */
    bool is_restrict;
    bool is_const; /* an enclosing array or struct is const */
    long long elem_stride_bytes;
} ctune_lval;

typedef struct ctune_mtensor {
    ctune_tensor t;
    const char *key;
    ctune_var *root;      /* variable that the access starts from; NULL: remembered condition */
    ctune_var *scalar;    /* root when the tensor is that variable itself */
    bool is_array_object; /* a named array, not a pointer */
    bool is_global;
    bool is_local_array;  /* declared in the region */
    bool is_memory_param; /* stands for a parameter in memory, for the overlap guard only */
    size_t offset;        /* of the first use, for diagnostics */
    CXCursor access;      /* the first use; null: none in the source */
    struct ctune_mnode *scope_node; /* root is declared in the region: where */
    int n_scope;                    /* temporary: loops that index it, before its own dimensions */
    int scope[CTUNE_MAX_DEPTH];
} ctune_mtensor;

/* One use of memory. */
typedef struct ctune_acc {
    int tensor;
    int n_idx;
    const ctune_poly *idx[CTUNE_MAX_RANK];
    int n_cons; /* conditions under which it happens */
    const ctune_aff *const *cons;
    bool is_maybe;      /* and others, which depend on data or stand inside an expression */
    ctune_access *slot; /* where the finished access goes */
    size_t offset;
} ctune_acc;

/* A subscript of a declared dimension: idx < extent must hold. */
typedef struct ctune_limit {
    int acc; /* id in b->accs: where and when */
    int dim;
    const ctune_poly *idx;   /* as written, before dimensions are found */
    const ctune_aff *extent; /* over parameters */
    bool is_object;          /* of a named array; else the extent is what a parameter promises */
    const char *name;        /* of the tensor */
} ctune_limit;

/* Where a parameter's representative sizes come from. */
typedef enum ctune_size_origin {
    CTUNE_SIZE_NOMINAL, /* nowhere: 1024, or what sizes.c finds */
    CTUNE_SIZE_GIVEN,   /* the clause */
    CTUNE_SIZE_DERIVED, /* made from other parameters' */
    CTUNE_SIZE_SMALL,   /* nowhere; the region says that it is small */
    CTUNE_SIZE_FITTED   /* an earlier build */
} ctune_size_origin;

enum { CTUNE_SIZE_MOST = 1 << 20 };

/* What the build knows of a parameter beyond ctune_param. */
typedef struct ctune_param_info {
    bool is_memory; /* read from memory through a pointer or a global */
    bool is_factor; /* the size of another parameter is made from this one's */
    ctune_size_origin origin;
    int64_t most; /* facts do not raise the size beyond it */
} ctune_param_info;

/* ---- OpenMP (openmp.c) ----------------------------------------------------------------------- */

typedef enum ctune_omp_kind {
    CTUNE_OMP_PRIVATE,
    CTUNE_OMP_FIRSTPRIVATE,
    CTUNE_OMP_REDUCTION
} ctune_omp_kind;

typedef struct ctune_omp_name {
    ctune_omp_kind kind;
    const char *name;
    size_t begin, end; /* the statement that the directive governs */
} ctune_omp_name;

typedef struct ctune_omp {
    bool is_serial; /* one thread of a team runs the region */
    CTUNE_LIST(ctune_omp_name) names;
    CTUNE_LIST(size_t) loops; /* begin of loops whose counter is private to the construct */
} ctune_omp;

/* ---- order ----------------------------------------------------------------------------------- */

typedef enum ctune_mkind { CTUNE_M_LOOP, CTUNE_M_IF, CTUNE_M_GUARD, CTUNE_M_STAGE } ctune_mkind;

typedef struct ctune_mnode {
    ctune_mkind kind;
    int axis, stage; /* axis -1: the root */
    int n_cons;
    const ctune_aff *const *cons; /* LOOP, IF */
    const ctune_expr *guard; /* GUARD; IF: the condition as an expression when there is an else */
    struct ctune_mnode *parent;
    CTUNE_LIST(struct ctune_mnode *) kids;
    CTUNE_LIST(struct ctune_mnode *) otherwise; /* the else branch of IF and GUARD */
    bool in_otherwise;                          /* while walking: new kids go there */
} ctune_mnode;

typedef struct ctune_mstage {
    ctune_stage s; /* target empty until assembled */
    size_t offset; /* of the statement */
    ctune_access *target;
    int target_acc; /* id in b->accs */
    bool is_dead;   /* the start of a counter that its loop knows */
} ctune_mstage;

/* A counter that keeps a value after its loop. */
typedef struct ctune_final {
    ctune_var *var;
    int axis;
    const ctune_aff *lo; /* NULL: several lower bounds */
    ctune_mnode *loop;
} ctune_final;

/* `if (..) continue;` and the statements that it skips. */
typedef struct ctune_rest {
    CXCursor statement;
    ctune_kids list;
} ctune_rest;

typedef struct ctune_frame ctune_frame; /* of a call whose body stands for it: inline.c */

/* A parameter that is an element of an array. */
typedef struct ctune_hoisted {
    int param;
    const char *key; /* of the array, as tensors have it */
} ctune_hoisted;

typedef struct ctune_build {
    ctune_ctx *ctx;
    ctune_arena *arena; /* the region's */
    const ctune_source *source;
    const ctune_pragma *pragma;
    const ctune_omp *omp;
    CXTranslationUnit unit;
    CXCursor function, statement;
    size_t begin, end;      /* the statement in source->clean */
    bool wrapv;             /* -fwrapv: signed overflow wraps */
    bool has_conditions;    /* #if in the statement */
    bool is_replaceable;    /* -fPIC: functions that are not static may be others at run time */
    bool in_subscript;      /* an index is being read: for the words of a refusal */
    bool is_condition;      /* a condition is being read: loads in it are data */
    int n_maybe;            /* conditions around the current place that are not in `domain` */
    int n_lazy;             /* expressions around it that are evaluated under a condition only */
    bool may_step;          /* what steps inside the expression at hand is done behind it */
    bool may_store;         /* a call at hand is all of the statement's right side */
    int n_choices;          /* of an index, behind which the rest was tried */
    int n_copies;           /* statements that were built again in other branches */
    bool no_assume;         /* while trying: new run-time facts are not allowed */
    bool is_trial;          /* what is built is thrown away: every fact is granted */
    const ctune_aff *split; /* a form whose sign must be known to go on; see split.c */
    int n_splits;
    ctune_frame *frame; /* NULL: in the region's own text */
    CXCursor call;      /* in the region, when there is a frame */
    CTUNE_LIST(ctune_hoisted) hoisted;
    CTUNE_LIST(CXCursor) steps; /* k++ in a subscript of the statement at hand */
    CTUNE_LIST(ctune_rest) rests;
    bool in_tail; /* the statement at hand is the last of the loop's body */
    ctune_why why;
    struct isl_ctx *isl;
    CTUNE_LIST(ctune_var) vars;
    CTUNE_LIST(ctune_param) params;
    CTUNE_LIST(ctune_param_info) param_infos; /* [params] */
    CTUNE_LIST(ctune_limit) limits;
    int n_fitted; /* parameters of an earlier build of the region, whose sizes hold for this one */
    const ctune_param *fitted;
    const ctune_param_info *fitted_infos;
    CTUNE_LIST(ctune_mtensor) tensors;
    CTUNE_LIST(ctune_axis) axes;
    CTUNE_LIST(ctune_div) divs;
    CTUNE_LIST(ctune_mstage) stages;
    CTUNE_LIST(ctune_assume) assumes;
    CTUNE_LIST(ctune_acc) accs;
    CTUNE_LIST(const ctune_aff *) domain; /* conditions around the current place */
    CTUNE_LIST(ctune_final) finals;
    ctune_mnode *root, *at; /* the tree and where new nodes go */
    int n_open;             /* loops around the current place */
    int open[CTUNE_MAX_DEPTH];
    bool has_fast_math;
} ctune_build;

/* ---- refuse.c -------------------------------------------------------------------------------- */
/* Both return false. The first one counts. */
bool ctune_build_refuse(ctune_build *b, ctune_refusal refusal, CXCursor at, const char *format, ...)
    CTUNE_PRINTF(4, 5);
bool ctune_build_refuse_at(ctune_build *b, ctune_refusal refusal, size_t offset, const char *format,
                           ...) CTUNE_PRINTF(4, 5);
/* What would help with the refusal that was just made; false. The first one counts. */
bool ctune_build_cure(ctune_build *b, const char *format, ...) CTUNE_PRINTF(2, 3);
/* It would be the clause that makes the claim true, when it is short. */
bool ctune_build_cure_needs(ctune_build *b, int n_cons, const ctune_aff *const *cons,
                            const ctune_aff *aff);
/* A clause of the pragma is wrong. */
bool ctune_build_error(ctune_build *b, const char *code, const char *format, ...)
    CTUNE_PRINTF(3, 4);
const char *ctune_refusal_code(ctune_refusal refusal);
const char *ctune_refusal_hint(ctune_refusal refusal);
/* Source text of a cursor, for messages: one line, cut to a readable length. */
const char *ctune_build_text(ctune_build *b, CXCursor cursor);

/* ---- vars.c ---------------------------------------------------------------------------------- */
/* Fill b->vars from the function and the statement. */
bool ctune_vars_scan(ctune_build *b);
ctune_var *ctune_vars_find(ctune_build *b,
                           CXCursor decl); /* NULL when not mentioned in the region */
/* Writes to var below cursor. */
int ctune_vars_count_writes(ctune_build *b, CXCursor cursor, const ctune_var *var);
/* Identifier that no parameter, tensor or axis has yet, made from any text. NULL when memory is
 * out. */
const char *ctune_build_name(ctune_build *b, const char *wish);

/* ---- facts.c --------------------------------------------------------------------------------- */
/* Does aff >= 0 hold wherever `cons` do? Without it being known, a run-time fact over the
 * parameters that makes it true is added to b->assumes when b->no_assume is not set and the
 * representative sizes satisfy it. */
bool ctune_facts_require(ctune_build *b, int n_cons, const ctune_aff *const *cons,
                         const ctune_aff *aff);
/* The same without making facts. */
bool ctune_facts_has(ctune_build *b, int n_cons, const ctune_aff *const *cons,
                     const ctune_aff *aff);
/* In the current domain. */
bool ctune_facts_require_here(ctune_build *b, const ctune_aff *aff);
/* Change sizes that the user did not give until the facts and all assumed ones hold at the
 * representative sizes. false: they cannot; the sizes stay. */
bool ctune_facts_suit(ctune_build *b, int n, const ctune_aff *const *facts);
/* The condition on parameters that makes the claim true, in C. NULL: none short enough. */
const char *ctune_facts_text(ctune_build *b, int n_cons, const ctune_aff *const *cons,
                             const ctune_aff *aff);
/* A guard that the representative sizes break is a refusal. */
bool ctune_facts_check(ctune_build *b);
int64_t ctune_build_size(ctune_build *b, int param); /* first representative value */
/* The largest value of form (axes, divs) over cons when the parameters have the given values. 1:
 * *max is set; 0: there is no point; -1: not known. */
int ctune_facts_reach(ctune_build *b, int n_cons, const ctune_aff *const *cons,
                      const ctune_aff *form, const int64_t *sizes, int64_t *max);

/* ---- affine.c -------------------------------------------------------------------------------- */
typedef struct ctune_int {  /* an integer expression as mathematics */
    const ctune_poly *poly; /* NULL: refused */
    ctune_type type;
    bool is_exact; /* the C value is poly; else only modulo 2^bits */
} ctune_int;
ctune_int ctune_affine_get(ctune_build *b, CXCursor cursor);
/* ++ or -- inside the statement at hand: to be done behind it, once. */
bool ctune_step_note(ctune_build *b, CXCursor cursor);
ctune_int ctune_affine_cast(ctune_build *b, ctune_int value, ctune_type to, CXCursor at);
/* Make exact, with facts where needed. */
/* Is aff a value of `type` wherever cons hold? Makes facts. */
bool ctune_affine_fits(ctune_build *b, int n_cons, const ctune_aff *const *cons,
                       const ctune_aff *aff, ctune_type type);
/* After a refusal: what would make it fit; false. */
bool ctune_affine_cure(ctune_build *b, int n_cons, const ctune_aff *const *cons,
                       const ctune_aff *aff, ctune_type type);
ctune_int ctune_affine_settle(ctune_build *b, ctune_int value, CXCursor at);
/* Affine form, products of parameters becoming parameters of their own. NULL: refused with
 * `refusal`. */
const ctune_aff *ctune_affine_form(ctune_build *b, const ctune_poly *poly, ctune_refusal refusal,
                                   CXCursor at);
/* Alternatives of a minimum or maximum. */
enum { CTUNE_MAX_ALTERNATIVES = 8 };
typedef struct ctune_bound {
    int n;        /* 0: refused */
    int extremum; /* 0 single, -1 minimum, +1 maximum */
    ctune_type type;
    bool is_exact; /* all */
    ctune_int value[CTUNE_MAX_ALTERNATIVES];
} ctune_bound;
ctune_bound ctune_affine_bound(ctune_build *b, CXCursor cursor, int wanted);
/* Conjunction of conditions, each aff >= 0, appended to out. false: not of that form (refused). */
typedef struct ctune_conds {
    int n;
    const ctune_aff *at[16];
} ctune_conds;
bool ctune_affine_condition(ctune_build *b, CXCursor cursor, bool negate, ctune_conds *out);
/* The same without new run-time facts; leaves no refusal and no request behind. */
bool ctune_affine_try(ctune_build *b, CXCursor cursor, ctune_conds *out);
/* Split L op R. false when the cursor is no comparison of integers. */
bool ctune_affine_relation(ctune_build *b, CXCursor cursor, enum CXBinaryOperatorKind *op,
                           CXCursor *left, CXCursor *right);
/* Parameter for a variable or an invariant expression. -1: refused. */
int ctune_param_of_var(ctune_build *b, ctune_var *var, CXCursor at);
/* What the region says of a size that nobody gave, where the form is a parameter; the first word
 * counts. */
void ctune_param_prefer(ctune_build *b, const ctune_poly *form, int64_t size);
/* A counter outside of the region at which a loop ends is large. */
void ctune_param_end_high(ctune_build *b, const ctune_poly *end);
int ctune_param_of_text(ctune_build *b, const char *text, ctune_type type, int64_t size,
                        bool is_memory);
/* The clauses sizes(...) and assume(...). */
bool ctune_clauses_apply(ctune_build *b);
bool ctune_clauses_check(ctune_build *b);

/* ---- sizes.c --------------------------------------------------------------------------------- */
/* Fill b->limits; before ctune_delinearise, which forgets what was declared. */
bool ctune_limits_note(ctune_build *b);
/* Give parameters without a clause sizes at which no declared extent is left: into b->params, which
 * are the region's. is_other: some differ from what the build went by, so that it is to be made
 * again. false: refused, or the user's own sizes are too large. */
bool ctune_sizes_fit(ctune_build *b, ctune_region *region, bool *is_other);
/* In a later build: do the sizes, which facts may have moved, keep what was fitted? */
bool ctune_sizes_check(ctune_build *b, ctune_region *region);

/* ---- access.c -------------------------------------------------------------------------------- */
bool ctune_lval_get(ctune_build *b, CXCursor cursor, ctune_lval *out);
bool ctune_lval_pointer(ctune_build *b, CXCursor cursor, ctune_lval *out);
/* A pending pointer becomes the element at which it points. */
bool ctune_lval_consume(ctune_build *b, ctune_lval *lval, CXCursor at);
/* Source text with `dim` for each dimension ("[$0]" or "[0]"). */
const char *ctune_lval_text(ctune_build *b, const ctune_lval *lval, bool is_zero);
/* Record a use; slot is filled at the end. -1: refused; else the id in b->accs. */
int ctune_access_add(ctune_build *b, const ctune_lval *lval, CXCursor at, ctune_access *slot);
int ctune_tensor_of_lval(ctune_build *b, const ctune_lval *lval, CXCursor at);
const char *ctune_lval_key(ctune_build *b, const ctune_lval *lval); /* of its tensor */
int ctune_tensor_new(ctune_build *b, const char *key, const char *name, ctune_type type);
/* A scalar of the loops around the current place, and one use of it (an id in b->accs, -1). */
int ctune_temporary_new(ctune_build *b, const char *name, ctune_type type, CXCursor at);
int ctune_temporary_use(ctune_build *b, int tensor, ctune_access *slot, CXCursor at);
/* Is this element expression read through the same access? Ids in b->accs. */
bool ctune_access_is_equal(const ctune_build *b, int x, int y);
/* Refuse volatile, atomic, complex, and other types that no stage can hold. */
bool ctune_type_check(ctune_build *b, CXType type, CXCursor at);

/* ---- expr.c ---------------------------------------------------------------------------------- */
/* Value of an expression; NULL: refused. READ nodes carry the id of their access in read_id until
 * the end. */
ctune_expr *ctune_expr_get(ctune_build *b, CXCursor cursor);
ctune_expr *ctune_expr_condition(ctune_build *b, CXCursor cursor); /* as a truth value */
ctune_expr *ctune_expr_cast(ctune_build *b, ctune_expr *value, ctune_type to);
ctune_expr *ctune_expr_new(ctune_build *b, ctune_op op, ctune_type type, int n_kids, ...);
ctune_expr *ctune_expr_int(ctune_build *b, ctune_type type, int64_t value);
bool ctune_expr_reads(const ctune_expr *expr, int tensor);

/* ---- branch.c -------------------------------------------------------------------------------- */
bool ctune_branch_build(ctune_build *b, CXCursor cursor);
/* Statements of a block. is_tail: nothing else of the loop's or function's body follows them. */
bool ctune_branch_list(ctune_build *b, ctune_kids list, bool is_tail);

/* What is behind a statement that some ways skip goes behind one of its branches. */
bool ctune_branch_follow(ctune_build *b, CXCursor statement, ctune_kids *list);
bool ctune_switch_build(ctune_build *b, CXCursor cursor);

/* ---- loop.c, statement.c --------------------------------------------------------------------- */
bool ctune_loop_build(ctune_build *b, CXCursor cursor);
bool ctune_statement_build(ctune_build *b, CXCursor cursor);
/* The variable begins to live at b->at. */
void ctune_variable_declare(ctune_build *b, ctune_var *var);
ctune_mnode *ctune_mnode_new(ctune_build *b, ctune_mkind kind);
bool ctune_mnode_add(ctune_build *b, ctune_mnode *parent, ctune_mnode *kid);
bool ctune_domain_push(ctune_build *b, int n, const ctune_aff *const *cons);

/* ---- entry.c --------------------------------------------------------------------------------- */
/* Does the variable hold a known constant when the region begins? */
bool ctune_entry_constant(ctune_build *b, const ctune_var *var, int64_t *value);

/* ---- hoist.c --------------------------------------------------------------------------------- */
/* The lvalue in C with its indices; NULL: a counter is in one. */
const char *ctune_hoist_text(ctune_build *b, const ctune_lval *lval);
/* Parameter for an element that the region only reads. -1: its index changes. */
int ctune_hoist_load(ctune_build *b, const ctune_lval *lval, ctune_type type);
/* Does the source reach the current place on a condition only? */
bool ctune_hoist_is_conditional(const ctune_build *b);
bool ctune_hoist_is_hoisted(const ctune_build *b, int param);
bool ctune_hoist_check(ctune_build *b);
bool ctune_hoist_constant(ctune_build *b, const ctune_var *var, int64_t *out);
/* Parameter that is 1 where a pointer is not NULL, for `p`, `p != NULL`, `p == NULL`. -1: none. */
int ctune_hoist_null(ctune_build *b, CXCursor cond, bool *is_negated);

/* ---- load.c ---------------------------------------------------------------------------------- */
/* The div that is this element of an array that the region does not write; -1: none (no refusal).
 */
int ctune_load_div(ctune_build *b, const ctune_lval *lval, CXCursor at);
bool ctune_load_in(const ctune_build *b, const ctune_aff *aff); /* does a load stand in the form? */
bool ctune_load_is_slot(const ctune_build *b, const ctune_access *slot);
ctune_expr *ctune_load_read(ctune_build *b, int div); /* its value; NULL: no memory */
/* Does everything that loads lead to lie apart from what is written? */
bool ctune_loads_check(ctune_build *b, const ctune_region *region);

/* ---- rows.c ---------------------------------------------------------------------------------- */
/* The element of an array of pointers is read: as an offset in one array of all rows, where that is
 * possible (no refusal). element: what the pointers point to. */
bool ctune_rows_enter(ctune_build *b, ctune_lval *lval, CXType element);
bool ctune_rows_finish(ctune_build *b); /* after ctune_delinearise: the distance of rows in C */

/* ---- inline.c -------------------------------------------------------------------------------- */
/* The file's own static or inline function that the call names; null cursor: another. */
CXCursor ctune_inline_definition(CXCursor call);
/* The value of a call. NULL, NULL poly, false: refused. */
ctune_expr *ctune_inline_call(ctune_build *b, CXCursor call, CXCursor definition);
ctune_int ctune_inline_call_affine(ctune_build *b, CXCursor call, CXCursor definition);
bool ctune_inline_call_pointer(ctune_build *b, CXCursor call, CXCursor definition,
                               ctune_lval *pointer);
/* Parameters and locals of the function that is being read. */
bool ctune_inline_is_bound(const ctune_build *b, CXCursor decl);
ctune_expr *ctune_inline_value(ctune_build *b, CXCursor decl);
ctune_int ctune_inline_affine(ctune_build *b, CXCursor decl);
bool ctune_inline_pointer(ctune_build *b, CXCursor decl, ctune_lval *out);
bool ctune_inline_declares(ctune_build *b, const char *name); /* a variable of the function */
/* Does the variable's name mean the same at the region? */
bool ctune_inline_sees(ctune_build *b, const ctune_var *var, CXCursor at);

/* ---- callee.c -------------------------------------------------------------------------------- */
bool ctune_inline_statement(ctune_build *b, CXCursor call, CXCursor definition);
/* May statements of the function be built before the expression at hand? */
bool ctune_callee_can(ctune_build *b, CXCursor definition);
bool ctune_callee_is_value(ctune_build *b, CXCursor cursor); /* is it a call, maybe converted? */
ctune_expr *ctune_callee_value(ctune_build *b, CXCursor call, CXCursor definition, bool may_store);
bool ctune_callee_returns(const ctune_build *b); /* does a return here end a called body? */
bool ctune_callee_return(ctune_build *b, CXCursor statement);

/* ---- copy.c ---------------------------------------------------------------------------------- */
bool ctune_copy_is_row(ctune_build *b, CXCursor call); /* memcpy or memset? */
bool ctune_copy_row(ctune_build *b, CXCursor call);
bool ctune_copy_struct(ctune_build *b, CXCursor at, CXCursor to, CXCursor from);

/* ---- openmp.c -------------------------------------------------------------------------------- */
bool ctune_openmp_apply(ctune_build *b); /* private variables; after the scan */
/* Does a reduction clause cover the variable at this place? */
bool ctune_openmp_is_reduction(const ctune_build *b, const char *name, size_t offset);
/* Does the loop leave the counter that is declared outside alone? */
bool ctune_openmp_owns_counter(const ctune_build *b, size_t loop);

/* ---- split.c --------------------------------------------------------------------------------- */
/* State of the build that a statement can change. */
typedef struct ctune_snapshot {
    int n_params, n_tensors, n_axes, n_divs, n_stages, n_assumes, n_accs, n_domain, n_finals;
    int n_open, n_kids, n_otherwise;
    ctune_mnode *at;
    ctune_why why;
    const ctune_aff *split;
    const ctune_var *vars;
} ctune_snapshot;
bool ctune_snapshot_get(ctune_build *b, ctune_snapshot *out);
void ctune_snapshot_restore(ctune_build *b, const ctune_snapshot *snapshot, bool keeps_params);

typedef enum ctune_answer {
    CTUNE_NO,
    CTUNE_YES,
    CTUNE_OPEN,  /* holds for some points of the domain: b->split says which form decides */
    CTUNE_OPAQUE /* no condition on counters and parameters */
} ctune_answer;
ctune_answer ctune_split_answer(ctune_build *b, const ctune_aff *aff); /* aff >= 0 here? */
ctune_answer ctune_split_decide(ctune_build *b, CXCursor cond);
ctune_answer ctune_split_equal(ctune_build *b, const ctune_poly *poly, CXCursor at); /* poly == 0 */
bool ctune_split_is_truth(ctune_build *b, CXCursor cursor); /* a comparison or logic: 0 or 1 */
/* Drop what the domain already says. */
void ctune_split_simplify(ctune_build *b, ctune_conds *conds);
int ctune_split_count(ctune_build *b, CXCursor cond); /* comparisons in it */
/* The statement once where b->split >= 0, once where it is not. */
bool ctune_split_build(ctune_build *b, CXCursor statement);

/* ---- index.c --------------------------------------------------------------------------------- */
/* Integer variables that take part in subscripts: what they are worth, symbolically. */
bool ctune_index_is(const ctune_var *var);
bool ctune_index_is_pointer(const ctune_var *var); /* one that moves: p++, p += n */
bool ctune_index_divides(const ctune_build *b, int div, int axis);
void ctune_index_reset(ctune_var *var);                                 /* written: not known */
const ctune_poly *ctune_index_current(ctune_build *b, ctune_var *var);  /* NULL: not known */
ctune_int ctune_index_get(ctune_build *b, ctune_var *var, CXCursor at); /* NULL poly: not known */
typedef struct ctune_index_value {
    const ctune_poly *value;
    int n_choices;
    const ctune_choice *choices;
} ctune_index_value;
/* Value of `rhs` as var's type, or of var op rhs. op: Assign, AddAssign, SubAssign. */
ctune_index_value ctune_index_eval(ctune_build *b, const ctune_var *var,
                                   enum CXBinaryOperatorKind op, CXCursor rhs);
ctune_index_value ctune_index_step(ctune_build *b, const ctune_var *var, int by);
void ctune_index_set(ctune_build *b, ctune_var *var, ctune_index_value value);
/* Around branches: state before, merged states after. */
const ctune_var *ctune_index_save(ctune_build *b);
void ctune_index_rewind(ctune_build *b, const ctune_var *before);
/* then: behind the first branch; b->vars: behind the other. cons: of the first branch; n_cons = 0
 * when the condition is not affine. */
void ctune_index_merge(ctune_build *b, const ctune_var *then, int n_cons,
                       const ctune_aff *const *cons);
void ctune_index_forget(ctune_build *b, CXCursor statement); /* all that it writes */
typedef struct ctune_index_loop {
    CXCursor cursor, body;
    int n_drop; /* statements at the body's end that are the loop's step */
    ctune_var *counter;
    int axis;
    const ctune_aff *first; /* first value of the axis; NULL: several */
    const ctune_aff *last;  /* last one; NULL: not affine */
} ctune_index_loop;
bool ctune_index_body(ctune_build *b, const ctune_index_loop *loop, ctune_mnode *node);
/* Final values; stages that nothing needs any more are dropped. */
bool ctune_index_finish(ctune_build *b);
ctune_expr *ctune_index_expr(ctune_build *b, const ctune_poly *poly, ctune_type type);

/* ---- finishing, in this order ---------------------------------------------------------------- */
bool ctune_delinearise(ctune_build *b);   /* indices: polynomials -> dimensions */
bool ctune_scalars_place(ctune_build *b); /* temporaries and private scalars */
bool ctune_forward(ctune_build *b);       /* scalars that only lead to the next statement */
bool ctune_aliases_mark(
    ctune_build *b); /* is_pointer of named objects; bounds that stores may change */
const char *ctune_epilogue_print(ctune_build *b); /* NULL: none; check b->why */
/* Owner of *out: caller. */
ctune_status ctune_assemble(ctune_build *b, const char *name, int line, ctune_region **out);

#endif
