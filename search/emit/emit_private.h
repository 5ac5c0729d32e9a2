/* State shared by the files of the C emitter: c_expr.c, c_vector.c, c_loops.c, c_region.c,
 * c_guard.c. */
#ifndef CTUNE_SEARCH_EMIT_PRIVATE_H
#define CTUNE_SEARCH_EMIT_PRIVATE_H

#include "search/emit/emit.h"
#include "search/lower/loops.h"

enum { CTUNE_MAX_VECTOR_TYPES = 48 };

typedef struct ctune_emitter {
    ctune_ctx *ctx;
    ctune_arena *arena; /* scratch texts */
    const ctune_region *region;
    const ctune_tree *tree;
    const ctune_nest *nest;
    const ctune_loops *loops;
    const ctune_emit_options *options;
    bool standalone;
    bool rounds; /* products are rounded before sums */
    ctune_text *out;
    /* vector types used so far, for the typedefs at the head of the block */
    int n_vectors;
    struct {
        ctune_type type;
        int lanes;
    } vector[CTUNE_MAX_VECTOR_TYPES];
} ctune_emitter;

/* ---- c_expr.c: all return text in e->arena, NULL when memory is out
 * ------------------------------------------------- */
/* Affine form over lvars (env NULL), or over the axes of env's stage. */
const char *emit_aff(ctune_emitter *e, const ctune_env *env, const ctune_aff *aff);
const char *emit_limit(ctune_emitter *e, const ctune_limit *limit, int64_t add); /* value + add */
const char *emit_access(ctune_emitter *e, const ctune_env *env, const ctune_access *access);
const char *emit_expr(ctune_emitter *e, const ctune_env *env, const ctune_expr *expr);
const char *emit_packed(ctune_emitter *e, const ctune_env *env, const ctune_packed *packed);
const ctune_packed *emit_find_packed(const ctune_emitter *e, int stmt, const ctune_expr *expr);
const char *emit_param(ctune_emitter *e, int param);
const char *emit_tensor_name(ctune_emitter *e,
                             int tensor); /* read-only scalars: their local copy */
bool emit_is_copied_scalar(const ctune_tensor *tensor);
/* Coefficient of dim position pos in index form aff over the stage's axes. */
int64_t emit_dim_coef(const ctune_emitter *e, int stmt, const ctune_aff *aff, int pos);
/* text of expr as an operand of a sum: CTUNE_ROUND(text) when products must be rounded. */
const char *emit_rounded(ctune_emitter *e, const ctune_expr *expr, const char *text);
const char *emit_unsigned_name(
    ctune_type type); /* "unsigned" for i32, NULL when not a signed int of rank >= int */

/* ---- c_vector.c
 * --------------------------------------------------------------------------------------------------
 */
CTUNE_MUST_USE ctune_status emit_micro(ctune_emitter *e, const ctune_micro *micro);

/* ---- c_loops.c
 * ---------------------------------------------------------------------------------------------------
 */
CTUNE_MUST_USE ctune_status emit_node(ctune_emitter *e, const ctune_lnode *node);
void emit_for_head(ctune_emitter *e, const ctune_lfor *loop);
void emit_statement(ctune_emitter *e, const ctune_env *env);

/* ---- c_guard.c
 * ---------------------------------------------------------------------------------------------------
 */
/* Condition in C under which the tuned code is valid; "" when there is none. */
const char *emit_guard(ctune_emitter *e);

#endif
