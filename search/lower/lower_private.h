/*
 * State shared by the files of the lowering: lower.c (walk), range.c (bounds of loops), guards.c
 * and fixed.c (conditions), import.c (stages as values), placed.c (placed statements), tile.c and
 * partial.c (register tiles), pack.c and turn.c, temps.c, threads.c.
 */
#ifndef CTUNE_SEARCH_LOWER_PRIVATE_H
#define CTUNE_SEARCH_LOWER_PRIVATE_H

#include "search/lower/bounds.h"
#include "search/lower/lower.h"
#include "search/schedule/nest_ops.h"

enum {
    LOWER_MAX_TILE = 4,
    LOWER_MAX_EXTRA = 8,
    LOWER_MAX_CONS = 64,
    LOWER_MAX_THREAD_BUFFERS = 64
};

/* An open loop or helper variable, outermost first. */
typedef struct lower_open {
    int var;
    int dim; /* of the tree; -1: a loop over a sum (node >= 0), or a helper variable of `extra`
                constraints */
    int64_t step;
    int node;      /* nest node, -1 for loops that the nest does not have */
    int start_var; /* variable from whose value the loop starts, exactly; -1 */
} lower_open;

/* Another restriction of a dim: lo <= y (is_lower) or y <= hi, by the value of a variable plus c.
 */
typedef struct lower_extra {
    int dim, var;
    int64_t c;
    bool is_lower;
} lower_extra;

/* Bounds of one loop as rows, before they become an index: max of ceil(aff / den) or min of
 * floor(aff / den), inclusive. */
typedef struct lower_limit {
    bool is_max;
    int n;
    ctune_bound_row *bound; /* rows over variables, params and the region's divs of params */
    /* n_groups > 1: hull of several statements' limits: bound[i] belongs to group[i]; the least
     * (is_max) or greatest of the groups' values */
    int n_groups;
    const int *group;
    bool is_inexact;   /* see ctune_bounds */
    const bool *moves; /* core limits: row i differs between points of the tile, and stands at its
                          worst corner; else NULL */
} lower_limit;

/* One instance of a statement: the value of each of its dims; NULL where no loop is open. */
typedef struct lower_env {
    int stmt;
    const ctune_aff *val[CTUNE_MAX_DEPTH]; /* [stmt->n_dims] */
} lower_env;

/* What bounds of loops are found over: a statement, or a placed statement joined with one that
 * reads it: both their dims and constraints, and that the element read is the element written. */
typedef struct lower_scope {
    const ctune_stmt *stmt;
    int n;                       /* statements joined, the placed one first */
    int member[CTUNE_MAX_DEPTH]; /* [n] */
} lower_scope;

/* How a read (or the subexpression widened from it) is found in a packed buffer:
 * [panel of the tiled dim][other dims, outermost first][element of the panel]. */
typedef struct lower_packed {
    const ctune_expr *expr; /* the subexpression that the buffer holds */
    int stmt, buffer;
    int tile_pos;               /* dim position in the statement, -1: no tiled dim */
    int64_t tile;               /* elements a panel */
    const ctune_aff *tile_base; /* first panel's first element */
    int tile_var;               /* variable of the panel at hand, -1 = not open */
    bool is_one_panel;          /* its loop was open when the copy was made */
    int n_seq;                  /* other dims, outermost first */
    int seq_pos[CTUNE_MAX_DEPTH];
    const ctune_aff *seq_base[CTUNE_MAX_DEPTH];  /* first value */
    const ctune_aff *seq_count[CTUNE_MAX_DEPTH]; /* number of values */
} lower_packed;

/* A copy in a GPU block's shared memory: element [idx - base] of the buffer is that of the tensor.
 */
typedef struct lower_shared {
    const ctune_expr *read;
    int stmt, buffer;
    const ctune_aff *base[CTUNE_MAX_RANK];
} lower_shared;

enum { LOWER_HW_AXES = 6 }; /* block.x, ..., thread.z: by annotation - CTUNE_ANN_BLOCK_X */

/* A register tile that the threads of a block share out: see gpu_tile.c. */
typedef struct lower_gpu_tile {
    int at, stmt, acc;
    bool has_old;                /* the target's old value counts */
    bool is_full;                /* all its points lie in the domain, as far as space goes */
    int n_open;                  /* loops that are open outside of it */
    int pseudo[CTUNE_MAX_DEPTH]; /* by position in the statement: a variable that stands for the
                                    tile's dim in rows; -1: no dim of the tile */
    int n_rows;                  /* what space asks of a point that has some instance: each >= 0 */
    const ctune_aff **rows;
    int n_unrolled;               /* of space dims: the accumulators' indices */
    int unrolled[LOWER_MAX_TILE]; /* nodes */
    int point[LOWER_MAX_TILE];    /* their variables, -1 while not open */
} lower_gpu_tile;

typedef struct lowerer {
    ctune_ctx *ctx;
    ctune_loops *loops;
    const ctune_nest *nest;
    const ctune_region *region;
    const ctune_tree *tree;
    ctune_arena *arena; /* the program's */
    const ctune_lower_options *options;
    bool openmp;        /* the target has it, and the region may use it */
    ctune_lnode *setup; /* becomes the head of the root */
    int n_open;
    lower_open open[CTUNE_MAX_OPEN];
    int n_extra;
    lower_extra extra[LOWER_MAX_EXTRA];
    int node_var[CTUNE_NEST_NODES];        /* variable of an open nest loop, -1 */
    lower_limit node_lo[CTUNE_NEST_NODES]; /* all that its lower limit implies; n = 0 when it starts
                                              lower */
    lower_limit node_hi[CTUNE_NEST_NODES]; /* and its upper one */
    bool pending[CTUNE_MAX_STMTS][LOWER_MAX_CONS]; /* to be checked by an IF before the statement */
    bool pending_tile[CTUNE_MAX_STMTS][CTUNE_NEST_NODES]; /* the same for loops over sums */
    int n_joined[CTUNE_MAX_STMTS];             /* placed statements: ways to be read; others: 0 */
    lower_scope *joined[CTUNE_MAX_STMTS];      /* [n_joined] */
    int n_isolated, isolated[CTUNE_MAX_DEPTH]; /* loops over tiles that are whole (isolate.c) */
    int n_refuted; /* conditions of which one does not hold: the tiles around are not whole */
    const ctune_aff *const *refuted;
    bool no_register;     /* lower register tiles as plain loops (prologues) */
    int parallel_node;    /* nest node of the open outermost PARALLEL loop, -1 */
    int n_thread_buffers; /* THREAD buffers of that loop, to be declared in its body */
    int thread_buffer[LOWER_MAX_THREAD_BUFFERS];
    lower_packed *packed[CTUNE_NEST_CACHES]; /* by cache of the nest; NULL: a register cache or
                                                shared with another */
    bool is_gpu;
    int launch;                     /* nest node of the open launch, -1 */
    int launch_n_open;              /* loops that are open outside of it */
    int hw_var[LOWER_HW_AXES];      /* variables of the launch's loops, -1 */
    int64_t hw_trip[LOWER_HW_AXES]; /* of threads: how many; of blocks: 0 */
    int hw_users[LOWER_HW_AXES];    /* nest loops in the launch that are bound to it */
    const ctune_aff *node_value[CTUNE_NEST_NODES]; /* of open bound loops and points of a tile */
    const ctune_aff *node_least[CTUNE_NEST_NODES]; /* constant from which an open loop counts */
    const ctune_aff *hw_base[CTUNE_NEST_NODES];    /* where a bound outermost level begins */
    ctune_lnode *block_body;                       /* of the innermost loop over blocks */
    lower_shared *shared[CTUNE_NEST_CACHES];       /* by cache; NULL: not made yet, or none */
    lower_gpu_tile *gpu_tile;                      /* that is open, or NULL */
    int *scalar_var; /* [n_tensors] value variable that holds the tensor: copied scalars, contracted
                        temporaries; -1 */
    int *temp_buffer; /* [n_tensors] buffer of a temporary, -1 */
    int *temp_scope;  /* [n_tensors] nest node around all uses of a temporary */
    const ctune_aff *(
        *temp_base)[CTUNE_MAX_RANK];   /* [n_tensors] first value of each of its buffer's indices */
    int (*temp_index)[CTUNE_MAX_RANK]; /* [n_tensors] which index of the tensor each of them is */
    int (*temp_tile)[CTUNE_MAX_RANK];  /* [n_tensors] loop over tiles whose iteration the buffer
                                          serves: it begins at its variable; -1: at temp_base */
} lowerer;

/* The register tile of stmt: nodes below loop `at`, in the part of its body that starts with
 * `branch`. */
typedef struct lower_tile {
    int at, branch;
    int n_tile, tile_node[LOWER_MAX_TILE]; /* unrolled and vector loops, vector last */
    int n_inner, inner_node[CTUNE_MAX_DEPTH];
    int64_t unroll; /* iterations that the innermost of these loops runs in one; 1 = no such */
} lower_tile;

/* One unrolled or vector dim of a register tile: y in [origin, origin + extent). */
typedef struct lower_tile_dim {
    int pos;    /* dim position in the statement */
    int origin; /* variable */
    int64_t extent;
    bool is_vector;
} lower_tile_dim;

/* What a tile of these dims needs while it is built. */
typedef struct lower_block {
    int stmt;
    int n_tile;
    lower_tile_dim tile[LOWER_MAX_TILE];
    int pseudo[LOWER_MAX_TILE]; /* variable that stands for "the point of this dim" in bounds */
    int n_inner, inner_dim[CTUNE_MAX_DEPTH];
    const char *inner_name[CTUNE_MAX_DEPTH];
    int64_t unroll;   /* of the innermost inner loop, as in lower_tile */
    bool is_interior; /* full tiles only where no bound of an inner loop differs between points */
} lower_block;

/* A reduction loop inside a tile. */
typedef struct lower_inner {
    int var;
    lower_limit lo, hi;
    bool depends[2]; /* lower, upper: some row differs between points */
} lower_inner;

/* ---- lower.c
 * --------------------------------------------------------------------------------------------
 */
void lower_push(lowerer *w, int var, int dim, int64_t step, int node);
void lower_pop(lowerer *w);
void lower_pop_n(lowerer *w, int n);
int lower_pos(const ctune_stmt *stmt, int dim);
int lower_stmts_under(const lowerer *w, int node, int *out); /* out [CTUNE_MAX_STMTS] */
bool lower_is_ancestor(const lowerer *w, int ancestor, int node);
/* The value as a simple index: itself when it is a constant or one variable or parameter, else a
 * LET of the setup (is over parameters only) or in `into`. */
const ctune_aff *lower_let(lowerer *w, const char *hint, const ctune_aff *value, ctune_lnode *into);
int lower_let_var(lowerer *w, const char *hint, const ctune_aff *value, ctune_lnode *into);
/* Do threads run the nest's loop? After the temporaries are placed. */
bool lower_is_parallel(const lowerer *w, int node);
ctune_status lower_node(lowerer *w, int node, ctune_lnode *into);
ctune_status lower_children(lowerer *w, int node, ctune_lnode *into);
/* One part of a loop's body without its register tile. */
ctune_status lower_kid(lowerer *w, int node, int kid, ctune_lnode *into);
ctune_status lower_fail(lowerer *w); /* the program's first failure, ENOMEM when it has none */

/* A buffer on the heap: of the program, or of each thread when the loop that is open runs in
 * parallel. */
int lower_heap_buffer(lowerer *w, const char *hint, ctune_type type, bool per_thread, int rank,
                      const ctune_aff *const *extent);

/* ---- range.c
 * --------------------------------------------------------------------------------------------
 */
/* Bounds for dim of stmt under the open loops, pruned of dominated rows; rows that the open levels
 * of the same dim imply are dropped. */
ctune_status lower_bounds(lowerer *w, int stmt, int dim, lower_limit *lo, lower_limit *hi);
/* The same, nothing dropped, over several statements: classes of parallel rows that all share,
 * loosest constant. */
ctune_status lower_bounds_hull(lowerer *w, const int *stmts, int n, int dim, lower_limit *lo,
                               lower_limit *hi);
ctune_status lower_bounds_raw(lowerer *w, int stmt, int dim, ctune_bounds *out);
/* The same for what loop `node` scans, its dim or its sum; tile_node [CTUNE_MAX_OPEN]: the loop
 * over a sum that each i_open of the rows is. */
ctune_status lower_bounds_rows(lowerer *w, int stmt, int node, ctune_bounds *out, int *tile_node);
/* Hull of the values of a loop over a sum, or of one whose tiles lie on the multiples of its step.
 */
ctune_status lower_bounds_node(lowerer *w, const int *stmts, int n, int node, lower_limit *lo,
                               lower_limit *hi);
lower_scope lower_scope_of(const lowerer *w, int stmt);
/* The statement of the scope that runs inside loop `node` on its own account; -1. */
int lower_scope_owner(const lowerer *w, const lower_scope *scope, int node);
void lower_simplify(lowerer *w, int dim, lower_limit *lo, lower_limit *hi);
bool lower_is_parallel_row(const ctune_bound_row *a, const ctune_bound_row *b);
/* Value of a limit plus add, as an index. */
const ctune_aff *lower_limit_aff(lowerer *w, const lower_limit *limit, int64_t add);
/* A row's form as an index (its divs become atoms). */
const ctune_aff *lower_row_aff(lowerer *w, const ctune_aff *row);
bool lower_limit_is_var(const lower_limit *limit, int var);
/* IF over what the parameters alone must satisfy for stmt to run at all; `into` itself when there
 * is nothing. */
ctune_lnode *lower_param_guard(lowerer *w, int stmt, int dim, ctune_lnode *into);
/* Do several statements stand in a loop around the node, itself included? Then the loops' bounds,
 * which fit all of them, do not say that one of them has an instance inside, without which nothing
 * of it may be touched. */
bool lower_shares_loops(const lowerer *w, int node);
/* IF over what the open loops must satisfy for stmt to run at all, its loop over dim included. */
ctune_lnode *lower_exists_guard(lowerer *w, int stmt, int dim, ctune_lnode *into);
/* FOR over [lo, hi] (inclusive), appended to into. */
ctune_lnode *lower_for(lowerer *w, int var, const lower_limit *lo, const lower_limit *hi,
                       int64_t step, ctune_lann ann, ctune_lnode *into);

/* ---- import.c
 * --------------------------------------------------------------------------------------------
 */
void lower_env_get(lowerer *w, int stmt, lower_env *env); /* values of the open point loops */
/* A form over the dims of env's statement (divs over its stage's axes). */
const ctune_aff *lower_env_aff(lowerer *w, const lower_env *env, const ctune_aff *aff);
/* Where an access of env's stage lies. false: the tensor lives in a variable, *var. */
bool lower_place(lowerer *w, const lower_env *env, const ctune_access *access, ctune_place *place,
                 int *var);
const ctune_value *lower_value(lowerer *w, const lower_env *env,
                               const ctune_expr *expr); /* packed reads from buffers */
const ctune_value *lower_plain_value(lowerer *w, const lower_env *env,
                                     const ctune_expr *expr); /* nothing packed */
/* New value of the stage's target, whose value is old (NULL for SET). */
const ctune_value *lower_update(lowerer *w, const lower_env *env, const ctune_value *old);
/* One instance of the statement, with its guard and remaining conditions, appended to into. */
void lower_instance(lowerer *w, const lower_env *env, bool with_preds, ctune_lnode *into);

/* ---- isolate.c
 * --------------------------------------------------------------------------------------------
 */
/* The body of loop `node`, whole tiles of its parts apart where it has some. */
ctune_status lower_isolated(lowerer *w, int node, ctune_lnode *into);
/* Is the dim all that a constraint is about, parameters aside? */
bool lower_is_alone_in(const ctune_aff *con, int dim);
/* Can the conditions of the guard not all hold, because the tiles around are not whole? */
bool lower_is_refuted(const lowerer *w, const ctune_lnode *guard);
/* Bounds of a dim lose what whole tiles imply. */
void lower_drop_isolated(const lowerer *w, const ctune_stmt *s, int dim, ctune_bounds *bounds);

/* ---- sums.c
 * --------------------------------------------------------------------------------------------
 */
/* Does some statement in the loop add up, over its iterations, in one element? */
bool lower_adds_up(const lowerer *w, int node);
/* Is the loop's body nothing but the vector loop inside its tiles, along which something is added
 * up? Then the two are one loop: partial sums live as long as it runs. */
bool lower_is_sum_pair(const lowerer *w, int node);

/* ---- calls.c
 * --------------------------------------------------------------------------------------------
 */
/* A finished vector loop, the last of `into`: where its statements call functions or loops stand
 * inside, which compilers do not vectorise, whole tiles of it become a VECTOR loop. */
void lower_lanes_of_calls(lowerer *w, int node, ctune_lnode *loop, ctune_lnode *into);

/* ---- tile.c, partial.c
 * -------------------------------------------------------------------------------------------- */
/* Do bounds alone say which instances of the statement there are? */
bool lower_has_plain_domain(const lowerer *w, int stmt);
/* false: the nodes are no tile. */
bool lower_tile_find(const lowerer *w, int stmt, int at, lower_tile *out);
bool lower_tile_has(const lowerer *w, int stmt,
                    lower_tile *out); /* the register cache of stmt, if it has one */
ctune_status lower_register(lowerer *w, int node, int stmt, ctune_lnode *into);
/* A full tile: prologue, core, epilogue. tile: the nest's own loops, NULL for a narrower tile. */
ctune_status lower_full_tile(lowerer *w, const lower_block *b, const lower_tile *tile,
                             ctune_lnode *into);
/* Sets guard's conditions of a full tile, and b->is_interior. *is_possible false: bounds with
 * divisions. */
ctune_status lower_full_conditions(lowerer *w, lower_block *b, ctune_lnode *guard,
                                   bool *is_possible);
/* Has each point of the tile an element of the target for itself? */
bool lower_has_own_elements(const lowerer *w, int stmt, const lower_tile *tile);
/* Does nothing else touch the tile during its reduction? */
bool lower_is_alone(lowerer *w, int stmt, const lower_tile *tile);
/* Or does what it reads of its own target lie outside of the tile? */
bool lower_is_core_safe(lowerer *w, int stmt, const lower_tile *tile);
ctune_status lower_partial_tile(lowerer *w, const lower_block *b, ctune_lnode *into);
/* Limits of the reduction loops that every point of the tile shares. *depends: some limit differs
 * between points. */
ctune_status lower_core_limits(lowerer *w, const lower_block *b, lower_inner *inner, bool *depends);
/* Accumulators, reduction loops, write-back. scratch: buffer [extents of the tile] that stands for
 * the target, -1 = none. */
void lower_core(lowerer *w, const lower_block *b, const lower_inner *inner, int scratch,
                ctune_lnode *into);
/* Loops over all points of the tile, [0, extent) each: the innermost body is returned, point[t] its
 * variables. */
ctune_lnode *lower_points(lowerer *w, const lower_block *b, ctune_lann ann, int *point,
                          ctune_lnode *into);
bool lower_reads_dim(const lowerer *w, const ctune_stmt *s, const ctune_access *access, int dim);

/* ---- guards.c, fixed.c
 * --------------------------------------------------------------------------------------------
 */
/* After loop `node` was opened with limits lo, hi: which constraints of stmt hold by them, which
 * wait.
 */
ctune_status lower_note_constraints(lowerer *w, int stmt, int node, const lower_limit *lo,
                                    const lower_limit *hi);
/* Wrap into an IF what stmt still waits for and can be checked now; returns where to put its code.
 */
ctune_lnode *lower_open_guard(lowerer *w, int stmt, ctune_lnode *into);
/* Wrap a loop over several statements into what all of them ask for and can be checked now: its
 * bounds are read from tensors, which may not be read where the source does not. */
ctune_lnode *lower_shared_guard(lowerer *w, int node, ctune_lnode *into);
ctune_lnode *lower_peek_guard(lowerer *w, int stmt, ctune_lnode *into);
/* The value of a loop that has one iteration at most because a sum around it fixes it; NULL. */
const ctune_aff *lower_fixed_value(lowerer *w, const lower_limit *lo, const lower_limit *hi);
/* Instead of such a loop: its variable, where the value is in range. Returns where its body goes,
 * NULL when memory is out. */
ctune_lnode *lower_fixed(lowerer *w, int var, const ctune_aff *value, const lower_limit *lo,
                         const lower_limit *hi, ctune_lnode *into);

/* ---- gpu.c, gpu_tile.c, gpu_shared.c
 * -------------------------------------------------------------------------------------------- */
/* The launch that a node of the nest is. */
ctune_status lower_launch(lowerer *w, int node, ctune_lnode *into);
/* Is the loop one over tiles whose iterations inside are bound? Then these tiles lie where they lie
 * for all iterations of the loops around: an element has one thread. */
bool lower_is_grid(const lowerer *w, int node);
const ctune_aff *lower_grid_start(lowerer *w, int node);
/* What a bound loop is on a block or thread: the value of its iteration. */
const ctune_aff *lower_bound_value(lowerer *w, int node);
/* Instead of a loop of that value: its variable, where it is in range; lo, hi: the loop's limits.
 * Where the body goes. */
ctune_lnode *lower_bound_loop(lowerer *w, int node, int var, const ctune_aff *value,
                              const lower_limit *lo, const lower_limit *hi, ctune_lnode *into);
/* Is the form over open variables >= 0 for certain, by the ranges of blocks, threads and points? */
bool lower_is_certain(lowerer *w, const ctune_aff *form);
/* Drops the conditions that are certain, or said before; returns how many stay. */
int lower_drop_certain(lowerer *w, const ctune_aff **conds, int n);
/* IF over the launch's axes that the statement's loops are not bound to: one of their iterations
 * runs it. */
ctune_lnode *lower_axes_guard(lowerer *w, int node, ctune_lnode *into);
/* Do threads share out the register tile at the loop? */
bool lower_is_gpu_tile(const lowerer *w, int node);
ctune_status lower_gpu_register(lowerer *w, int node, int stmt, ctune_lnode *into);
/* Is the node an unrolled loop of the open tile? */
bool lower_gpu_is_point(const lowerer *w, int node);
/* Loop over such points; *value: that of the nest's loop. */
ctune_lnode *lower_gpu_points(lowerer *w, int node, const ctune_aff **value, ctune_lnode *into);
void lower_gpu_instance(lowerer *w, const lower_env *env, ctune_lnode *into);
/* Copies of what the statements under kid read, at the head of loop node's body. */
ctune_status lower_shared_at(lowerer *w, int node, int kid, ctune_lnode *into);
/* Is the read copied? Then where its element is; idx: the tensor's indices. */
bool lower_shared_place(lowerer *w, int stmt, const ctune_expr *read, const ctune_place *tensor,
                        ctune_place *place);

/* The open panel of a copy: its elements [lo, end), the value or zero. */
void lower_copy_lanes(lowerer *w, const lower_packed *p, int dim, const ctune_aff *lo,
                      const ctune_aff *end, bool is_zero, ctune_lnode *into);
/* Conditions for a whole panel to be valid, beyond what its own loop says: their number; conds
 * [lo->n + hi->n]. */
int lower_panel_conds(lowerer *w, const lower_packed *p, const lower_limit *lo,
                      const lower_limit *hi, const ctune_aff **conds);
/* One step of the open panel, whole or not. */
ctune_status lower_fill_panel(lowerer *w, const lower_packed *p, int dim, ctune_lnode *into);

/* ---- turn.c
 * --------------------------------------------------------------------------------------------
 */
/* The open panel (over dim) for all values lo .. hi of q_dim, by blocks that are turned; *is_done
 * false: it cannot be so, and nothing has been done. */
ctune_status lower_turn(lowerer *w, const lower_packed *p, int dim, int q_dim,
                        const lower_limit *lo, const lower_limit *hi, ctune_lnode *into,
                        bool *is_done);

/* ---- threads.c
 * --------------------------------------------------------------------------------------------
 */
/* The condition of a finished PARALLEL loop: enough work for threads, where that can be told. */
void lower_threads_when(lowerer *w, ctune_lnode *loop);
/* A finished loop over the panels of a copy of what stmt reads, in loop `at`: threads, too, where
 * the loops inside have them. Each then has touched a part of the copy first. */
void lower_threads_copy(lowerer *w, int at, int stmt, ctune_lnode *loop);

/* ---- placed.c
 * --------------------------------------------------------------------------------------------
 */
/* Fills joined for all placed statements. */
ctune_status lower_join_placed(lowerer *w);

/* ---- pack.c, temps.c, windows.c
 * ---------------------------------------------------------------------------------------------- */
ctune_status lower_packs_at(lowerer *w, int node, int kid, ctune_lnode *into);
const lower_packed *lower_find_packed(const lowerer *w, int stmt, const ctune_expr *expr);
void lower_packed_place(lowerer *w, const lower_packed *p, const lower_env *env,
                        ctune_place *place);
/* All accesses to one temporary. */
typedef struct lower_uses {
    int n;
    int node[2 * CTUNE_MAX_STMTS]; /* statement nodes that access the tensor */
    const ctune_access *access[2 * CTUNE_MAX_STMTS];
    int stmt[2 * CTUNE_MAX_STMTS];
} lower_uses;
void lower_temp_uses(const lowerer *w, int tensor, lower_uses *use);
/* The tree dim that index `idx` of use i stands for, -1 when it is no single dim. */
int lower_temp_dim(const lowerer *w, const lower_uses *use, int i, int idx);
/* Does the point loop of the index enclose all accesses? alone: the other indices are not
 * contracted, so that one element serves all iterations of the loop: not where they run at the same
 * time. */
bool lower_temp_is_contracted(const lowerer *w, const lower_uses *use, int idx, int scope,
                              bool alone);
/* First value of index idx and the one after its last, over all writers: nothing else is read. */
ctune_status lower_temp_range(lowerer *w, const lower_uses *use, int idx, const ctune_aff *extent,
                              const ctune_aff **base, const ctune_aff **end);
/* The k-th index of a temporary's buffer is the tensor's idx, over its whole range. */
ctune_status lower_temp_index(lowerer *w, int t, const lower_uses *use, int idx, int k,
                              const ctune_aff **extent);
bool lower_is_in_parallel(const lowerer *w, int scope);
/* Does one iteration of the loops around its scope touch a part of the temporary whose place and
 * extent are known (windows.c)? Then its buffer is made at the scope. */
bool lower_window_is_known(const lowerer *w, int t, const lower_uses *use);
/* That buffer; its declaration is appended to into unless it lies on the heap. */
ctune_status lower_window(lowerer *w, int t, ctune_lnode *into);
ctune_status lower_temps(lowerer *w);
/* [*base, *end) around the values of a form over the stage's axes: of the box of its domain.
 * extent: of the tensor's dimension, for forms that divide; may be NULL, then these give NULL. */
ctune_status lower_form_range(lowerer *w, const ctune_stage *stage, const ctune_aff *aff,
                              const ctune_aff *extent, const ctune_aff **base,
                              const ctune_aff **end);
/* skew.c: the finished program on skewed copies of arrays. */
ctune_status lower_skews(lowerer *w);
/* Buffers of the temporaries whose scope lies in the PARALLEL loop `node`. */
ctune_status lower_thread_temps(lowerer *w, int node);
/* First value of the k-th index of a temporary's buffer, where the loops around its scope are open.
 */
const ctune_aff *lower_temp_base(lowerer *w, int tensor, int k);
/* Declarations of temporaries whose scope is the body of node. */
ctune_status lower_decls_at(lowerer *w, int node, ctune_lnode *into);
/* Head of the program: read-only scalars are read once. */
void lower_scalars(lowerer *w, ctune_lnode *into);

#endif
