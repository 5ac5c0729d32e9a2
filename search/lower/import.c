/*
 * Statements as values: a stage's expressions over the values of its axes become loads, arithmetic
 * and stores.
 *
 * Here, and only here, it is decided which products are fused with their sums: by the region's
 * expressions, as te_eval does (ctune_fma_operand), before anything is reordered, so that full
 * tiles, remainders and scalars cannot differ.
 */
#include "search/lower/lower_private.h"

#include <string.h>

/* ---- indices --------------------------------------------------------------------------------- */

void lower_env_get(lowerer *w, int stmt, lower_env *env) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    memset(env, 0, sizeof *env);
    env->stmt = stmt;
    for (int i = 0; i < w->n_open; i++) {
        int pos = w->open[i].dim >= 0 && w->open[i].step == 1 ? lower_pos(s, w->open[i].dim) : -1;
        if (pos >= 0) {
            env->val[pos] = ctune_loops_var_aff(w->loops, w->open[i].var, 1, 0);
        }
    }
}

/* Form over the dims of the statement; axis: values of the region's axes, for its divs. */
static const ctune_aff *dims_aff(lowerer *w, const lower_env *env, const ctune_aff *aff,
                                 const ctune_aff *const *axis) {
    const ctune_stmt *s = &w->tree->stmts[env->stmt];
    const ctune_aff *sum = ctune_aff_const(w->arena, aff->c0);
    for (int t = 0; t < aff->n_terms; t++) {
        const ctune_term *term = &aff->terms[t];
        const ctune_aff *part = NULL;
        if (term->kind == CTUNE_TERM_AXIS) {
            int pos = lower_pos(s, term->id);
            part = pos < 0 ? NULL : env->val[pos];
        } else if (term->kind == CTUNE_TERM_PARAM) {
            part = ctune_aff_term(w->arena, CTUNE_TERM_PARAM, term->id, 1);
        } else {
            part = ctune_loops_import_div(w->loops, term->id, axis);
        }
        if (part == NULL) {
            ctune_loops_fail(w->loops, CTUNE_EBUG, "lower: a statement stands outside its loops");
        }
        sum = ctune_aff_add(w->arena, sum, ctune_aff_scale(w->arena, part, term->coef));
    }
    return sum;
}

static bool is_open(const lowerer *w, const lower_env *env, const ctune_aff *iter) {
    for (int t = 0; t < iter->n_terms; t++) {
        if (iter->terms[t].kind == CTUNE_TERM_AXIS) {
            int pos = lower_pos(&w->tree->stmts[env->stmt], iter->terms[t].id);
            if (pos < 0 || env->val[pos] == NULL) {
                return false;
            }
        }
    }
    return true;
}

/* Values of the region's axes at env: [n_axes], NULL for those of other stages and where no loop is
 * open (a copy scans only what its read depends on). */
static const ctune_aff *const *env_axes(lowerer *w, const lower_env *env) {
    const ctune_stmt *s = &w->tree->stmts[env->stmt];
    const ctune_stage *stage = &w->region->stages[s->stage];
    const ctune_aff **axis = CTUNE_NEW_ARRAY(w->arena, const ctune_aff *, w->region->n_axes + 1);
    for (int d = 0; axis != NULL && d < stage->n_axes; d++) {
        if (is_open(w, env, s->iter[d])) {
            axis[stage->axes[d]] = dims_aff(w, env, s->iter[d], NULL);
        }
    }
    return axis;
}

const ctune_aff *lower_env_aff(lowerer *w, const lower_env *env, const ctune_aff *aff) {
    return dims_aff(w, env, aff, env_axes(w, env));
}

/* ---- accesses -------------------------------------------------------------------------------- */

typedef struct importer {
    lowerer *w;
    const lower_env *env;
    const ctune_aff *const *axis;
    bool with_packed;
} importer;

static importer importer_new(lowerer *w, const lower_env *env, bool with_packed) {
    return (importer){w, env, env_axes(w, env), with_packed};
}

static bool place_of(const importer *m, const ctune_access *access, ctune_place *place, int *var) {
    lowerer *w = m->w;
    memset(place, 0, sizeof *place);
    if (w->scalar_var[access->tensor] >= 0) {
        *var = w->scalar_var[access->tensor];
        return false;
    }
    int buffer = w->temp_buffer[access->tensor];
    place->is_buffer = buffer >= 0;
    place->id = buffer >= 0 ? buffer : access->tensor;
    place->n_idx = buffer >= 0 ? w->loops->buffer[buffer].rank : access->n_idx;
    for (int k = 0; k < place->n_idx; k++) {
        int idx = buffer >= 0 ? w->temp_index[access->tensor][k] : k;
        place->idx[k] = ctune_loops_import(w->loops, access->idx[idx], m->axis);
        if (buffer >= 0) {
            place->idx[k] =
                ctune_aff_sub(w->arena, place->idx[k], lower_temp_base(w, access->tensor, k));
        }
    }
    return true;
}

bool lower_place(lowerer *w, const lower_env *env, const ctune_access *access, ctune_place *place,
                 int *var) {
    importer m = importer_new(w, env, false);
    return place_of(&m, access, place, var);
}

static const ctune_value *read_value(const importer *m, const ctune_access *access) {
    ctune_place place;
    int var;
    return place_of(m, access, &place, &var) ? ctune_value_load(m->w->loops, &place, 1)
                                             : ctune_value_var(m->w->loops, var);
}

/* ---- expressions ----------------------------------------------------------------------------- */

static const ctune_value *value_of(const importer *m, const ctune_expr *expr);

/* product + addend in one rounding; is_minus: addend - product. */
static const ctune_value *fused(const importer *m, const ctune_expr *product, bool is_minus,
                                const ctune_value *addend) {
    while (product->op == CTUNE_OP_NEG) {
        is_minus = !is_minus;
        product = product->kids[0];
    }
    ctune_loops *l = m->w->loops;
    const ctune_value *a = value_of(m, product->kids[0]);
    if (is_minus) {
        a = ctune_value_unary(l, CTUNE_V_NEG, a);
    }
    return ctune_value_fma(l, a, value_of(m, product->kids[1]), addend);
}

/* a + b or a - b of floats. */
static const ctune_value *sum_of(const importer *m, const ctune_expr *expr) {
    ctune_loops *l = m->w->loops;
    const ctune_expr *a = expr->kids[0], *b = expr->kids[1];
    bool is_sub = expr->op == CTUNE_OP_SUB;
    int which = m->w->options->products == CTUNE_PRODUCTS_FUSED ? ctune_fma_operand(a, b) : -1;
    if (which == 0) {
        const ctune_value *addend = value_of(m, b);
        return fused(m, a, false, is_sub ? ctune_value_unary(l, CTUNE_V_NEG, addend) : addend);
    }
    if (which == 1) {
        return fused(m, b, is_sub, value_of(m, a));
    }
    return ctune_value_binary(l, is_sub ? CTUNE_V_SUB : CTUNE_V_ADD, value_of(m, a),
                              value_of(m, b));
}

static const struct {
    ctune_op from;
    ctune_value_op to;
} same_ops[] = {
#define SAME(id) {CTUNE_OP_##id, CTUNE_V_##id}
    SAME(ADD),
    SAME(SUB),
    SAME(MUL),
    SAME(DIV),
    SAME(MOD),
    SAME(NEG),
    SAME(BAND),
    SAME(BOR),
    SAME(BXOR),
    SAME(BNOT),
    SAME(SHL),
    SAME(SHR),
    SAME(LT),
    SAME(LE),
    SAME(GT),
    SAME(GE),
    SAME(EQ),
    SAME(NE),
    SAME(LAND),
    SAME(LOR),
    SAME(LNOT),
    SAME(SELECT),
    SAME(MIN),
    SAME(MAX),
    SAME(CALL),
    SAME(CONST),
    {CTUNE_OP_AFF, CTUNE_V_INDEX},
    {CTUNE_OP_READ, CTUNE_V_LOAD},
    {CTUNE_OP_CAST, CTUNE_V_CONVERT},
#undef SAME
};

static ctune_value_op op_of(ctune_op op) {
    size_t i = 0;
    while (same_ops[i].from != op) {
        i++;
    }
    return same_ops[i].to;
}

static const ctune_value *value_of(const importer *m, const ctune_expr *expr) {
    lowerer *w = m->w;
    ctune_loops *l = w->loops;
    const lower_packed *packed = m->with_packed ? lower_find_packed(w, m->env->stmt, expr) : NULL;
    if (packed != NULL) {
        ctune_place place;
        lower_packed_place(w, packed, m->env, &place);
        return ctune_value_load(l, &place, 1);
    }
    if (expr->op == CTUNE_OP_READ) {
        ctune_place at, place;
        int var;
        if (w->is_gpu && m->with_packed && place_of(m, &expr->access, &at, &var) &&
            lower_shared_place(w, m->env->stmt, expr, &at, &place)) {
            return ctune_value_load(l, &place, 1);
        }
        return read_value(m, &expr->access);
    }
    if ((expr->op == CTUNE_OP_ADD || expr->op == CTUNE_OP_SUB) && ctune_type_is_float(expr->type)) {
        return sum_of(m, expr);
    }
    if (expr->op == CTUNE_OP_CAST) {
        return ctune_value_convert(l, expr->type, value_of(m, expr->kids[0]));
    }
    ctune_value proto = {.op = op_of(expr->op), .type = expr->type, .lanes = 1};
    if (expr->op == CTUNE_OP_CONST) {
        proto.i_value = expr->i_value;
        proto.f_value = expr->f_value;
        proto.text = expr->text;
    } else if (expr->op == CTUNE_OP_AFF) {
        proto.index = ctune_loops_import(l, expr->aff, m->axis);
        if (proto.index == NULL) {
            return NULL;
        }
    } else if (expr->op == CTUNE_OP_CALL) {
        proto.text = expr->text;
    }
    const ctune_value **kids = CTUNE_NEW_ARRAY(w->arena, const ctune_value *, expr->n_kids + 1);
    if (kids == NULL) {
        return NULL;
    }
    for (int i = 0; i < expr->n_kids; i++) {
        kids[i] = value_of(m, expr->kids[i]);
    }
    proto.n_kids = expr->n_kids;
    proto.kids = kids;
    return ctune_loops_value(l, &proto);
}

const ctune_value *lower_value(lowerer *w, const lower_env *env, const ctune_expr *expr) {
    importer m = importer_new(w, env, true);
    return value_of(&m, expr);
}

const ctune_value *lower_plain_value(lowerer *w, const lower_env *env, const ctune_expr *expr) {
    importer m = importer_new(w, env, false);
    return value_of(&m, expr);
}

/* ---- updates --------------------------------------------------------------------------------- */

static ctune_value_op update_op(ctune_update update) {
    switch (update) {
    case CTUNE_UPDATE_ADD:
        return CTUNE_V_ADD;
    case CTUNE_UPDATE_SUB:
        return CTUNE_V_SUB;
    case CTUNE_UPDATE_MUL:
        return CTUNE_V_MUL;
    case CTUNE_UPDATE_DIV:
        return CTUNE_V_DIV;
    case CTUNE_UPDATE_BAND:
        return CTUNE_V_BAND;
    case CTUNE_UPDATE_BOR:
        return CTUNE_V_BOR;
    case CTUNE_UPDATE_BXOR:
        return CTUNE_V_BXOR;
    case CTUNE_UPDATE_MIN:
    case CTUNE_UPDATE_BELOW:
        return CTUNE_V_MIN;
    default:
        return CTUNE_V_MAX;
    }
}

const ctune_value *lower_update(lowerer *w, const lower_env *env, const ctune_value *old) {
    ctune_loops *l = w->loops;
    const ctune_stage *stage = &w->region->stages[w->tree->stmts[env->stmt].stage];
    ctune_type type = w->region->tensors[stage->target.tensor].type;
    importer m = importer_new(w, env, true);
    if (stage->update == CTUNE_UPDATE_SET) {
        return ctune_value_convert(l, type, value_of(&m, stage->rhs));
    }
    bool is_sum = stage->update == CTUNE_UPDATE_ADD || stage->update == CTUNE_UPDATE_SUB;
    const ctune_value *was = ctune_value_convert(l, stage->calc, old);
    if (is_sum && w->options->products == CTUNE_PRODUCTS_FUSED && stage->calc == stage->rhs->type &&
        ctune_expr_is_product(stage->rhs)) {
        return ctune_value_convert(l, type,
                                   fused(&m, stage->rhs, stage->update == CTUNE_UPDATE_SUB, was));
    }
    const ctune_value *rhs = ctune_value_convert(l, stage->calc, value_of(&m, stage->rhs));
    bool is_turned = stage->update == CTUNE_UPDATE_BELOW || stage->update == CTUNE_UPDATE_ABOVE;
    const ctune_value *sum = ctune_value_binary(l, update_op(stage->update), is_turned ? rhs : was,
                                                is_turned ? was : rhs);
    bool is_wide = stage->calc == CTUNE_I32 || stage->calc == CTUNE_I64;
    if (sum != NULL && is_wide && stage->reduce_mask != 0 &&
        (is_sum || stage->update == CTUNE_UPDATE_MUL)) {
        ctune_value proto = *sum;
        proto.wraps = true; /* a new order of the sum must add no overflow */
        sum = ctune_loops_value(l, &proto);
    }
    return ctune_value_convert(l, type, sum);
}

/* Conditions of the domain that no loop bound holds: with divisions, over parameters alone, or
 * false. */
static int remaining_conds(lowerer *w, const lower_env *env, const ctune_aff **conds) {
    const ctune_stmt *s = &w->tree->stmts[env->stmt];
    int n = 0;
    for (int i = 0; i < s->n_cons; i++) {
        bool is_constant = s->cons[i]->n_terms == 0;
        bool params_only = !ctune_aff_has_kind(s->cons[i], CTUNE_TERM_AXIS);
        bool is_bound = ctune_bounds_is_plain(w->region, s->cons[i]) ||
                        ctune_bounds_is_opaque(w->region, s->cons[i]);
        if (!is_bound || (params_only && !is_constant) || (is_constant && s->cons[i]->c0 < 0)) {
            conds[n++] = lower_env_aff(w, env, s->cons[i]);
        }
    }
    return n;
}

void lower_instance(lowerer *w, const lower_env *env, bool with_preds, ctune_lnode *into) {
    ctune_loops *l = w->loops;
    const ctune_stmt *s = &w->tree->stmts[env->stmt];
    const ctune_stage *stage = &w->region->stages[s->stage];
    const ctune_aff **conds = CTUNE_NEW_ARRAY(w->arena, const ctune_aff *, s->n_cons + 1);
    int n_conds = with_preds && conds != NULL ? remaining_conds(w, env, conds) : 0;
    const ctune_value *test = stage->guard != NULL ? lower_value(w, env, stage->guard) : NULL;
    if (n_conds > 0 || stage->guard != NULL) {
        ctune_lnode *guard = ctune_lnode_if(l, conds, n_conds, test);
        ctune_lnode_append(into, guard);
        into = guard;
    }
    ctune_place place;
    int var;
    l->line = stage->line;
    if (lower_place(w, env, &stage->target, &place, &var)) {
        const ctune_value *old = ctune_value_load(l, &place, 1);
        ctune_lnode *store = ctune_lnode_store(l, &place, lower_update(w, env, old));
        if (store != NULL) {
            int node = ctune_nest_find_stmt(w->nest, env->stmt);
            store->is_streamed = node >= 0 && w->nest->node[node].is_streamed;
        }
        ctune_lnode_append(into, store);
    } else {
        ctune_lnode_append(into,
                           ctune_lnode_set(l, var, lower_update(w, env, ctune_value_var(l, var))));
    }
    l->line = 0;
}
