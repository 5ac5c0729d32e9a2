/* C text of the lowered program: loops, conditions, statements, packed stores. Register tiles are
 * in c_vector.c. */
#include "search/emit/emit_private.h"

#include <string.h>

void emit_for_head(ctune_emitter *e, const ctune_lfor *loop) {
    const char *v = e->loops->var[loop->var].name;
    if (loop->step == 1) {
        ctune_text_line(e->out, "for (long %s = %s; %s < %s; %s++) {", v,
                        emit_limit(e, &loop->lo, 0), v, emit_limit(e, &loop->hi, 1), v);
    } else {
        ctune_text_line(e->out, "for (long %s = %s; %s < %s; %s += %lld) {", v,
                        emit_limit(e, &loop->lo, 0), v, emit_limit(e, &loop->hi, 1), v,
                        (long long)loop->step);
    }
}

/* The update without a register tile: C's own conversions, except that signed sums wrap. */
void emit_statement(ctune_emitter *e, const ctune_env *env) {
    const ctune_stage *stage = &e->region->stages[e->tree->stmts[env->stmt].stage];
    const char *target = emit_access(e, env, &stage->target);
    const char *rhs = emit_expr(e, env, stage->rhs);
    if (stage->update == CTUNE_UPDATE_ADD || stage->update == CTUNE_UPDATE_SUB) {
        rhs = emit_rounded(e, stage->rhs, rhs);
    }
    ctune_type type = e->region->tensors[stage->target.tensor].type;
    const char *c_type = ctune_type_get(type)->c_name;
    const char *token = ctune_update_get(stage->update)->token;
    if (stage->guard != NULL) {
        ctune_text_line(e->out, "if (%s) {", emit_expr(e, env, stage->guard));
        e->out->indent++;
    }
    const char *wide = emit_unsigned_name(type);
    bool wraps = stage->update == CTUNE_UPDATE_ADD || stage->update == CTUNE_UPDATE_SUB ||
                 stage->update == CTUNE_UPDATE_MUL;
    if (stage->update == CTUNE_UPDATE_SET) {
        if (stage->rhs->type == type) {
            ctune_text_line(e->out, "%s = %s;", target, rhs);
        } else {
            ctune_text_line(e->out, "%s = (%s)(%s);", target, c_type, rhs);
        }
    } else if (stage->update == CTUNE_UPDATE_MIN || stage->update == CTUNE_UPDATE_MAX) {
        ctune_text_line(e->out, "%s = %s %s (%s) ? %s : (%s)(%s);", target, target,
                        stage->update == CTUNE_UPDATE_MIN ? "<" : ">", rhs, target, c_type, rhs);
    } else if (stage->calc == type && wraps && wide != NULL && stage->reduce_mask != 0) {
        ctune_text_line(e->out, "%s = (%s)((%s)%s %.1s (%s)(%s));", target, c_type, wide, target,
                        token, wide, rhs);
    } else if (stage->calc == type && stage->rhs->type == type) {
        ctune_text_line(e->out, "%s %s %s;", target, token, rhs);
    } else {
        ctune_text_line(e->out, "%s = (%s)((%s)%s %.*s (%s)(%s));", target, c_type,
                        ctune_type_get(stage->calc)->c_name, target, (int)strlen(token) - 1, token,
                        ctune_type_get(stage->calc)->c_name, rhs);
    }
    if (stage->guard != NULL) {
        e->out->indent--;
        ctune_text_line(e->out, "}");
    }
}

static bool is_innermost(const ctune_lnode *node) {
    for (int i = 0; i < node->n_kids; i++) {
        const ctune_lnode *kid = node->kids[i];
        if (kid->kind == CTUNE_LN_FOR || kid->kind == CTUNE_LN_MICRO || !is_innermost(kid)) {
            return false;
        }
    }
    return node->else_kid == NULL || is_innermost(node->else_kid);
}

static bool uses_var(const ctune_limit *limit, int var) {
    for (int i = 0; i < limit->n; i++) {
        if (ctune_aff_coef(limit->bound[i].aff, CTUNE_TERM_AXIS, var) != 0) {
            return true;
        }
    }
    return limit->align_step > 0 && limit->align_var == var;
}

/* Loops that `collapse` may really merge: perfectly nested and rectangular. */
static int collapse_depth(const ctune_lnode *node) {
    int depth = 1;
    const ctune_lnode *at = node;
    while (depth < node->loop.n_collapse && at->n_kids == 1 && at->kids[0]->kind == CTUNE_LN_FOR) {
        const ctune_lnode *kid = at->kids[0];
        bool rectangular = true;
        for (const ctune_lnode *outer = node; outer != kid; outer = outer->kids[0]) {
            rectangular &= !uses_var(&kid->loop.lo, outer->loop.var) &&
                           !uses_var(&kid->loop.hi, outer->loop.var);
        }
        if (!rectangular) {
            break;
        }
        at = kid;
        depth++;
    }
    return depth;
}

static bool depends_on_lvars(const ctune_lnode *node, int var) {
    for (int i = 0; i < node->n_kids; i++) {
        const ctune_lnode *kid = node->kids[i];
        if (kid->kind == CTUNE_LN_FOR &&
            (uses_var(&kid->loop.lo, var) || uses_var(&kid->loop.hi, var))) {
            return true;
        }
        if (depends_on_lvars(kid, var)) {
            return true;
        }
    }
    return false;
}

static ctune_status emit_kids(ctune_emitter *e, const ctune_lnode *node) {
    for (int i = 0; i < node->n_kids; i++) {
        ctune_status status = emit_node(e, node->kids[i]);
        if (status != CTUNE_OK) {
            return status;
        }
    }
    return CTUNE_OK;
}

static ctune_status emit_for(ctune_emitter *e, const ctune_lnode *node) {
    const ctune_lfor *loop = &node->loop;
    if (loop->ann == CTUNE_ANN_PARALLEL) {
        int depth = collapse_depth(node);
        const char *schedule =
            loop->step > 1 && depends_on_lvars(node, loop->var) ? " schedule(dynamic)" : "";
        if (depth > 1) {
            ctune_text_line(e->out, "#pragma omp parallel for collapse(%d)%s", depth, schedule);
        } else {
            ctune_text_line(e->out, "#pragma omp parallel for%s", schedule);
        }
    } else if (loop->ann == CTUNE_ANN_VECTOR && is_innermost(node)) {
        ctune_text_line(e->out, "CTUNE_SIMD");
    } else if (loop->ann == CTUNE_ANN_UNROLL && loop->unroll > 1) {
        ctune_text_line(e->out, "CTUNE_UNROLL(%lld)", (long long)loop->unroll);
    }
    emit_for_head(e, loop);
    e->out->indent++;
    ctune_status status = emit_kids(e, node);
    e->out->indent--;
    ctune_text_line(e->out, "}");
    return status;
}

static const char *conditions(ctune_emitter *e, const ctune_env *env, const ctune_aff *const *conds,
                              int n) {
    const char *text = NULL;
    for (int i = 0; i < n; i++) {
        /* a - b >= 0 reads better as what is >= what: negative terms to the right */
        const ctune_aff *left = ctune_aff_const(e->arena, 0), *right = left;
        for (int t = 0; t < conds[i]->n_terms; t++) {
            const ctune_term *term = &conds[i]->terms[t];
            const ctune_aff *part = ctune_aff_term(e->arena, term->kind, term->id,
                                                   term->coef < 0 ? -term->coef : term->coef);
            if (term->coef > 0) {
                left = ctune_aff_add(e->arena, left, part);
            } else {
                right = ctune_aff_add(e->arena, right, part);
            }
        }
        int64_t c = conds[i]->c0;
        if (c > 0) {
            left = ctune_aff_add_const(e->arena, left, c);
        } else {
            right = ctune_aff_add_const(e->arena, right, -c);
        }
        const char *one = ctune_arena_printf(e->arena, "%s <= %s", emit_aff(e, env, right),
                                             emit_aff(e, env, left));
        text = text == NULL ? one : ctune_arena_printf(e->arena, "%s && %s", text, one);
    }
    return text == NULL ? "1" : text;
}

static ctune_status emit_if(ctune_emitter *e, const ctune_lnode *node) {
    if (node->n_conds == 0) {
        return emit_kids(e, node);
    }
    ctune_text_line(e->out, "if (%s) {", conditions(e, NULL, node->conds, node->n_conds));
    e->out->indent++;
    ctune_status status = emit_kids(e, node);
    e->out->indent--;
    if (status == CTUNE_OK && node->else_kid != NULL) {
        ctune_text_line(e->out, "} else {");
        e->out->indent++;
        status = emit_node(e, node->else_kid);
        e->out->indent--;
    }
    ctune_text_line(e->out, "}");
    return status;
}

static void emit_let(ctune_emitter *e, const ctune_lnode *node) {
    const char *value = emit_limit(e, &node->limit, 0);
    if (node->count_from >= 0) {
        value =
            ctune_arena_printf(e->arena, "ctune_max(0, %s - %s)", emit_limit(e, &node->limit, 1),
                               e->loops->var[node->count_from].name);
    }
    if (node->floor_var >= 0) {
        value = node->floor_add == 0
                    ? ctune_arena_printf(e->arena, "ctune_max(%s, %s)", value,
                                         e->loops->var[node->floor_var].name)
                    : ctune_arena_printf(e->arena, "ctune_max(%s, %s + %lld)", value,
                                         e->loops->var[node->floor_var].name,
                                         (long long)node->floor_add);
    }
    ctune_text_line(e->out, "const long %s = %s;", e->loops->var[node->var].name, value);
}

ctune_status emit_node(ctune_emitter *e, const ctune_lnode *node) {
    if (node->comment != NULL && e->options->comments) {
        ctune_text_line(e->out, "/* %s */", node->comment);
    }
    switch (node->kind) {
    case CTUNE_LN_SEQ:
        return emit_kids(e, node);
    case CTUNE_LN_FOR:
        return emit_for(e, node);
    case CTUNE_LN_IF:
        return emit_if(e, node);
    case CTUNE_LN_LET:
        emit_let(e, node);
        return CTUNE_OK;
    case CTUNE_LN_STMT:
        if (node->n_preds > 0) {
            /* constraints of a statement are over the dims of the tree */
            const ctune_stmt *s = &e->tree->stmts[node->env.stmt];
            const ctune_aff **conds = CTUNE_NEW_ARRAY(e->arena, const ctune_aff *, node->n_preds);
            for (int i = 0; conds != NULL && i < node->n_preds; i++) {
                const ctune_aff *out = ctune_aff_const(e->arena, node->preds[i]->c0);
                for (int t = 0; t < node->preds[i]->n_terms; t++) {
                    const ctune_term *term = &node->preds[i]->terms[t];
                    const ctune_aff *part =
                        ctune_aff_term(e->arena, term->kind, term->id, term->coef);
                    if (term->kind == CTUNE_TERM_AXIS) {
                        part = NULL;
                        for (int p = 0; p < s->n_dims; p++) {
                            if (s->dims[p] == term->id) {
                                part = ctune_aff_scale(e->arena, node->env.val[p], term->coef);
                            }
                        }
                    }
                    out = ctune_aff_add(e->arena, out, part);
                }
                conds[i] = out;
            }
            /* affine part is over variables now; divs inside still need the environment */
            ctune_text list;
            ctune_text_init(&list);
            for (int i = 0; conds != NULL && i < node->n_preds; i++) {
                ctune_text all;
                ctune_text_init(&all);
                const ctune_aff *plain = ctune_aff_const(e->arena, conds[i]->c0);
                for (int t = 0; t < conds[i]->n_terms; t++) {
                    const ctune_term *term = &conds[i]->terms[t];
                    if (term->kind == CTUNE_TERM_DIV) {
                        const ctune_div *div = &e->region->divs[term->id];
                        ctune_text_printf(&all, " + %lld * ctune_floordiv(%s, %lld)",
                                          (long long)term->coef, emit_aff(e, &node->env, div->num),
                                          (long long)div->den);
                    } else {
                        plain = ctune_aff_add(
                            e->arena, plain,
                            ctune_aff_term(e->arena, term->kind, term->id, term->coef));
                    }
                }
                ctune_text_printf(&list, "%s%s%s >= 0", i > 0 ? " && " : "",
                                  emit_aff(e, NULL, plain), ctune_text_get(&all));
                ctune_text_clear(&all);
            }
            ctune_text_line(e->out, "if (%s) {", ctune_text_get(&list));
            ctune_text_clear(&list);
            e->out->indent++;
            emit_statement(e, &node->env);
            e->out->indent--;
            ctune_text_line(e->out, "}");
            return CTUNE_OK;
        }
        emit_statement(e, &node->env);
        return CTUNE_OK;
    case CTUNE_LN_MICRO:
        return emit_micro(e, node->micro);
    case CTUNE_LN_PACK: {
        const char *place = emit_packed(e, &node->env, node->packed);
        ctune_emitter plain =
            *e; /* the value itself is not read from the buffer that is being filled */
        ctune_loops *view = CTUNE_NEW(e->arena, ctune_loops);
        if (view == NULL) {
            return ctune_fail(e->ctx, CTUNE_ENOMEM, "out of memory");
        }
        *view = *e->loops;
        memset(view->packed, 0, sizeof view->packed);
        plain.loops = view;
        ctune_text_line(e->out, "%s = %s;", place,
                        node->is_zero ? "0" : emit_expr(&plain, &node->env, node->packed->expr));
        return CTUNE_OK;
    }
    case CTUNE_LN_DECL: {
        const ctune_tensor *tensor = &e->region->tensors[node->tensor];
        ctune_text_line(e->out, "%s %s = 0;", ctune_type_get(tensor->type)->c_name,
                        emit_tensor_name(e, node->tensor));
        return CTUNE_OK;
    }
    }
    return CTUNE_OK;
}
