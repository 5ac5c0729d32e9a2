/* C text of affine forms, accesses and scalar expressions. Every function returns text in the
 * emitter's arena. */
#include "search/emit/emit_private.h"

#include <stdio.h>
#include <string.h>

const char *emit_param(ctune_emitter *e, int param) {
    const char *name = e->region->params[param].name;
    return e->standalone ? name : ctune_arena_printf(e->arena, "ctune_v_%s", name);
}

bool emit_is_copied_scalar(const ctune_tensor *tensor) {
    return tensor->rank == 0 && !tensor->is_written && !tensor->is_temp;
}

const char *emit_tensor_name(ctune_emitter *e, int tensor) {
    return ctune_arena_printf(e->arena, "ctune_v_%s", e->region->tensors[tensor].name);
}

/* Substitute axes (through the tree's maps) by lvars; divs stay. */
static const ctune_aff *compose(ctune_emitter *e, const ctune_env *env, const ctune_aff *aff) {
    const ctune_stmt *s = &e->tree->stmts[env->stmt];
    const ctune_stage *stage = &e->region->stages[s->stage];
    const ctune_aff *out = ctune_aff_const(e->arena, aff->c0);
    for (int t = 0; t < aff->n_terms; t++) {
        const ctune_term *term = &aff->terms[t];
        if (term->kind != CTUNE_TERM_AXIS) {
            out = ctune_aff_add(e->arena, out,
                                ctune_aff_term(e->arena, term->kind, term->id, term->coef));
            continue;
        }
        const ctune_aff *axis = NULL;
        for (int d = 0; d < stage->n_axes; d++) {
            if (stage->axes[d] == term->id) {
                axis = s->iter[d];
            }
        }
        const ctune_aff *value = axis == NULL ? NULL : ctune_aff_const(e->arena, axis->c0);
        for (int k = 0; axis != NULL && k < axis->n_terms; k++) {
            const ctune_aff *part = ctune_aff_term(e->arena, axis->terms[k].kind, axis->terms[k].id,
                                                   axis->terms[k].coef);
            if (axis->terms[k].kind == CTUNE_TERM_AXIS) {
                part = NULL;
                for (int p = 0; p < s->n_dims; p++) {
                    if (s->dims[p] == axis->terms[k].id) {
                        part = ctune_aff_scale(e->arena, env->val[p], axis->terms[k].coef);
                    }
                }
            }
            value = ctune_aff_add(e->arena, value, part);
        }
        out = ctune_aff_add(e->arena, out, ctune_aff_scale(e->arena, value, term->coef));
    }
    return out;
}

static const char *term_text(ctune_emitter *e, const ctune_env *env, const ctune_term *term) {
    if (term->kind == CTUNE_TERM_AXIS) {
        return e->loops->var[term->id].name;
    }
    if (term->kind == CTUNE_TERM_PARAM) {
        return emit_param(e, term->id);
    }
    const ctune_div *div = &e->region->divs[term->id];
    return ctune_arena_printf(e->arena, "ctune_floordiv(%s, %lld)", emit_aff(e, env, div->num),
                              (long long)div->den);
}

const char *emit_aff(ctune_emitter *e, const ctune_env *env, const ctune_aff *aff) {
    if (env != NULL && aff != NULL) {
        aff = compose(e, env, aff);
    }
    if (aff == NULL) {
        return "0 /* lost */";
    }
    ctune_text text;
    ctune_text_init(&text);
    for (int pass = 0; pass < 2; pass++) { /* positive terms first */
        for (int t = 0; t < aff->n_terms; t++) {
            const ctune_term *term = &aff->terms[t];
            if ((term->coef > 0) != (pass == 0)) {
                continue;
            }
            int64_t coef = term->coef < 0 ? -term->coef : term->coef;
            ctune_text_append(&text, term->coef < 0 ? (text.len > 0 ? " - " : "-")
                                                    : (text.len > 0 ? " + " : ""));
            if (coef != 1) {
                ctune_text_printf(&text, "%lld * ", (long long)coef);
            }
            ctune_text_append(&text, term_text(e, env, term));
        }
    }
    if (aff->c0 != 0 || text.len == 0) {
        if (text.len == 0) {
            ctune_text_printf(&text, "%lld", (long long)aff->c0);
        } else {
            ctune_text_printf(&text, " %c %lld", aff->c0 < 0 ? '-' : '+',
                              (long long)(aff->c0 < 0 ? -aff->c0 : aff->c0));
        }
    }
    const char *copy = ctune_arena_strdup(e->arena, ctune_text_get(&text));
    ctune_text_clear(&text);
    return copy;
}

static const char *bound_text(ctune_emitter *e, const ctune_bound *b, bool is_max, int64_t add) {
    if (b->den == 1) {
        return emit_aff(e, NULL, ctune_aff_add_const(e->arena, b->aff, add));
    }
    /* ceil(a/d) = floor((a + d - 1)/d); adding to the value adds d to the numerator */
    int64_t shift = add * b->den + (is_max ? b->den - 1 : 0);
    return ctune_arena_printf(e->arena, "ctune_floordiv(%s, %lld)",
                              emit_aff(e, NULL, ctune_aff_add_const(e->arena, b->aff, shift)),
                              (long long)b->den);
}

/* Hull of several limits: the outer function is the opposite of the one inside a group. */
static const char *grouped_limit(ctune_emitter *e, const ctune_limit *limit, int64_t add) {
    const char *all = NULL;
    for (int g = 0; g < limit->n_groups; g++) {
        const char *one = NULL;
        for (int i = 0; i < limit->n; i++) {
            if (limit->group[i] == g) {
                const char *b = bound_text(e, &limit->bound[i], limit->is_max, add);
                one = one == NULL
                          ? b
                          : ctune_arena_printf(e->arena, "%s(%s, %s)",
                                               limit->is_max ? "ctune_max" : "ctune_min", one, b);
            }
        }
        all = all == NULL ? one
                          : ctune_arena_printf(e->arena, "%s(%s, %s)",
                                               limit->is_max ? "ctune_min" : "ctune_max", all, one);
    }
    return all;
}

const char *emit_limit(ctune_emitter *e, const ctune_limit *limit, int64_t add) {
    if (limit->n_groups > 1 && limit->align_step == 0) {
        return grouped_limit(e, limit, add);
    }
    int64_t inner_add = limit->align_step > 0 ? 0 : add;
    const char *value = bound_text(e, &limit->bound[0], limit->is_max, inner_add);
    for (int i = 1; i < limit->n; i++) {
        value =
            ctune_arena_printf(e->arena, "%s(%s, %s)", limit->is_max ? "ctune_max" : "ctune_min",
                               value, bound_text(e, &limit->bound[i], limit->is_max, inner_add));
    }
    if (limit->align_step > 0) {
        const char *base = e->loops->var[limit->align_var].name;
        value =
            ctune_arena_printf(e->arena, "%s + ctune_floordiv(%s - %s, %lld) * %lld", base,
                               limit->n > 1 ? value : ctune_arena_printf(e->arena, "(%s)", value),
                               base, (long long)limit->align_step, (long long)limit->align_step);
        if (add != 0) {
            value = ctune_arena_printf(e->arena, "%s + %lld", value, (long long)add);
        }
    }
    return value;
}

/* ---- accesses
 * ------------------------------------------------------------------------------------------------
 */

static const char *paren(ctune_emitter *e, const char *text) {
    bool simple = strpbrk(text, " ") == NULL;
    return simple ? text : ctune_arena_printf(e->arena, "(%s)", text);
}

/* idx[0] * ext[1] * ext[2] + idx[1] * ext[2] + ... by Horner's rule. */
static const char *linear_index(ctune_emitter *e, const ctune_env *env,
                                const ctune_access *access) {
    const ctune_tensor *tensor = &e->region->tensors[access->tensor];
    const char *text = emit_aff(e, env, access->idx[0]);
    for (int d = 1; d < access->n_idx; d++) {
        text = ctune_arena_printf(e->arena, "%s * %s + %s", paren(e, text),
                                  paren(e, emit_aff(e, NULL, tensor->extent[d])),
                                  emit_aff(e, env, access->idx[d]));
    }
    return text;
}

static const char *from_pattern(ctune_emitter *e, const char *pattern, const ctune_env *env,
                                const ctune_access *access) {
    ctune_text text;
    ctune_text_init(&text);
    for (const char *p = pattern; *p != '\0'; p++) {
        if (*p == '$' && p[1] == 'L') {
            ctune_text_append(&text, linear_index(e, env, access));
            p++;
        } else if (*p == '$' && p[1] >= '0' && p[1] < '0' + access->n_idx) {
            ctune_text_append(&text, emit_aff(e, env, access->idx[p[1] - '0']));
            p++;
        } else {
            ctune_text_append_n(&text, p, 1);
        }
    }
    const char *copy = ctune_arena_strdup(e->arena, ctune_text_get(&text));
    ctune_text_clear(&text);
    return copy;
}

static const char *temp_access(ctune_emitter *e, const ctune_env *env, const ctune_access *access) {
    int i_buffer = e->loops->temp_buffer[access->tensor];
    if (i_buffer < 0) {
        return emit_tensor_name(e, access->tensor);
    }
    const ctune_lbuffer *buffer = &e->loops->buffer[i_buffer];
    const char *text = NULL;
    for (int k = 0; k < buffer->n_dims; k++) {
        const char *base = e->loops->var[buffer->base_var[k]].name;
        const char *idx = ctune_arena_printf(
            e->arena, "(%s - %s)", emit_aff(e, env, access->idx[buffer->index_of[k]]), base);
        text = text == NULL ? idx
                            : ctune_arena_printf(e->arena, "(%s * %s + %s)", text,
                                                 e->loops->var[buffer->count_var[k]].name, idx);
    }
    return ctune_arena_printf(e->arena, "%s[%s]", buffer->name, text);
}

const char *emit_access(ctune_emitter *e, const ctune_env *env, const ctune_access *access) {
    const ctune_tensor *tensor = &e->region->tensors[access->tensor];
    if (tensor->is_temp) {
        return temp_access(e, env, access);
    }
    if (emit_is_copied_scalar(tensor)) {
        return emit_tensor_name(e, access->tensor);
    }
    if (!e->standalone) {
        return from_pattern(e, tensor->pattern, env, access);
    }
    if (tensor->rank == 0) {
        return ctune_arena_printf(e->arena, "(*%s)", tensor->name);
    }
    ctune_text pattern;
    ctune_text_init(&pattern);
    ctune_text_append(&pattern, tensor->name);
    if (strstr(tensor->pattern, "$L") != NULL) {
        ctune_text_append(&pattern, "[$L]");
    } else {
        for (int d = 0; d < tensor->rank; d++) {
            ctune_text_printf(&pattern, "[$%d]", d);
        }
    }
    if (tensor->elem_stride_bytes != ctune_type_get(tensor->type)->bytes) {
        ctune_text_append(&pattern, ".v");
    }
    const char *text = from_pattern(e, ctune_text_get(&pattern), env, access);
    ctune_text_clear(&pattern);
    return text;
}

const ctune_packed *emit_find_packed(const ctune_emitter *e, int stmt, const ctune_expr *expr) {
    for (int c = 0; c < e->nest->n_caches; c++) {
        const ctune_packed *p = e->loops->packed[c];
        if (p != NULL && p->expr == expr && e->nest->cache[c].stmt == stmt) {
            return p;
        }
    }
    return NULL;
}

/* Element of a packed buffer: ((panel * counts...) + seq index) * tile + element of the panel. */
const char *emit_packed(ctune_emitter *e, const ctune_env *env, const ctune_packed *p) {
    const ctune_loops *l = e->loops;
    ctune_text text;
    ctune_text_init(&text);
    bool first = true;
    if (p->tile_pos >= 0) {
        /* (tile_var - tile_base) is a multiple of tile: times the counts gives panel offset in
         * elements */
        if (p->tile_var != p->tile_base) {
            ctune_text_printf(&text, "(%s - %s)", l->var[p->tile_var].name,
                              l->var[p->tile_base].name);
            for (int i = 0; i < p->n_seq; i++) {
                ctune_text_printf(&text, " * %s", l->var[p->seq_count[i]].name);
            }
            first = false;
        }
    }
    if (p->n_seq > 0) {
        const char *seq = NULL;
        for (int i = 0; i < p->n_seq; i++) {
            const ctune_aff *value =
                ctune_aff_sub(e->arena, env->val[p->seq_pos[i]],
                              ctune_aff_term(e->arena, CTUNE_TERM_AXIS, p->seq_base[i], 1));
            const char *idx = paren(e, emit_aff(e, NULL, value));
            seq = seq == NULL ? idx
                              : ctune_arena_printf(e->arena, "(%s * %s + %s)", seq,
                                                   l->var[p->seq_count[i]].name, idx);
        }
        ctune_text_printf(&text, "%s%s", first ? "" : " + ", seq);
        if (p->tile > 1) {
            ctune_text_printf(&text, " * %lld", (long long)p->tile);
        }
        first = false;
    }
    if (p->tile_pos >= 0) {
        const ctune_aff *lane =
            ctune_aff_sub(e->arena, env->val[p->tile_pos],
                          ctune_aff_term(e->arena, CTUNE_TERM_AXIS, p->tile_var, 1));
        if (lane != NULL && !(lane->n_terms == 0 && lane->c0 == 0)) {
            ctune_text_printf(&text, "%s%s", first ? "" : " + ", emit_aff(e, NULL, lane));
            first = false;
        }
    }
    const char *copy = ctune_arena_printf(e->arena, "%s[%s]", l->buffer[p->buffer].name,
                                          first ? "0" : ctune_text_get(&text));
    ctune_text_clear(&text);
    return copy;
}

int64_t emit_dim_coef(const ctune_emitter *e, int stmt, const ctune_aff *aff, int pos) {
    const ctune_stmt *s = &e->tree->stmts[stmt];
    const ctune_stage *stage = &e->region->stages[s->stage];
    int64_t sum = 0;
    for (int d = 0; d < stage->n_axes; d++) {
        sum += ctune_aff_coef(aff, CTUNE_TERM_AXIS, stage->axes[d]) *
               ctune_aff_coef(s->iter[d], CTUNE_TERM_AXIS, s->dims[pos]);
    }
    return sum;
}

/* ---- expressions
 * --------------------------------------------------------------------------------------------- */

const char *emit_unsigned_name(ctune_type type) {
    return type == CTUNE_I32 ? "unsigned" : type == CTUNE_I64 ? "unsigned long" : NULL;
}

const char *emit_rounded(ctune_emitter *e, const ctune_expr *expr, const char *text) {
    bool is_product = expr->op == CTUNE_OP_MUL && ctune_type_is_float(expr->type);
    return e->rounds && is_product && text != NULL
               ? ctune_arena_printf(e->arena, "CTUNE_ROUND(%s)", text)
               : text;
}

static const char *operand(ctune_emitter *e, const ctune_env *env, const ctune_expr *expr) {
    const char *text = emit_expr(e, env, expr);
    if (text == NULL) {
        return NULL;
    }
    bool is_leaf = expr->op == CTUNE_OP_READ || expr->op == CTUNE_OP_CALL ||
                   (expr->op == CTUNE_OP_CONST && text[0] != '-') ||
                   emit_find_packed(e, env->stmt, expr) != NULL;
    return is_leaf ? text : ctune_arena_printf(e->arena, "(%s)", text);
}

static const char *const_text(ctune_emitter *e, const ctune_expr *expr) {
    if (expr->text != NULL) {
        return expr->text;
    }
    if (ctune_type_is_float(expr->type)) {
        return ctune_arena_printf(e->arena, "%a%s", expr->f_value,
                                  expr->type == CTUNE_F32   ? "f"
                                  : expr->type == CTUNE_F80 ? "L"
                                                            : "");
    }
    return ctune_arena_printf(e->arena, "%lld%s", (long long)expr->i_value,
                              expr->type == CTUNE_I64   ? "L"
                              : expr->type == CTUNE_U64 ? "UL"
                              : expr->type == CTUNE_U32 ? "U"
                                                        : "");
}

const char *emit_expr(ctune_emitter *e, const ctune_env *env, const ctune_expr *expr) {
    const ctune_packed *packed = emit_find_packed(e, env->stmt, expr);
    if (packed != NULL) {
        return emit_packed(e, env, packed);
    }
    const ctune_op_info *info = ctune_op_get(expr->op);
    const char *k[3] = {NULL, NULL, NULL};
    for (int i = 0; i < expr->n_kids && i < 3 && expr->op != CTUNE_OP_CALL; i++) {
        k[i] = operand(e, env, expr->kids[i]);
        if (expr->op == CTUNE_OP_ADD || expr->op == CTUNE_OP_SUB || expr->op == CTUNE_OP_NEG) {
            k[i] = emit_rounded(e, expr->kids[i], k[i]);
        }
    }
    switch (expr->op) {
    case CTUNE_OP_CONST:
        return const_text(e, expr);
    case CTUNE_OP_AFF:
        return ctune_arena_printf(e->arena, "(%s)(%s)", ctune_type_get(expr->type)->c_name,
                                  emit_aff(e, env, expr->aff));
    case CTUNE_OP_READ:
        return emit_access(e, env, &expr->access);
    case CTUNE_OP_SELECT:
        return ctune_arena_printf(e->arena, "%s ? %s : %s", k[0], k[1], k[2]);
    case CTUNE_OP_CAST:
        return ctune_arena_printf(e->arena, "(%s)%s", ctune_type_get(expr->type)->c_name, k[0]);
    case CTUNE_OP_MIN:
        return ctune_arena_printf(e->arena, "%s < %s ? %s : %s", k[0], k[1], k[0], k[1]);
    case CTUNE_OP_MAX:
        return ctune_arena_printf(e->arena, "%s > %s ? %s : %s", k[0], k[1], k[0], k[1]);
    case CTUNE_OP_CALL: {
        ctune_text text;
        ctune_text_init(&text);
        /* a candidate includes no header */
        ctune_text_printf(&text, "%s%s(", e->standalone ? "__builtin_" : "", expr->text);
        for (int i = 0; i < expr->n_kids; i++) {
            ctune_text_printf(&text, "%s%s", i > 0 ? ", " : "", emit_expr(e, env, expr->kids[i]));
        }
        ctune_text_append(&text, ")");
        const char *copy = ctune_arena_strdup(e->arena, ctune_text_get(&text));
        ctune_text_clear(&text);
        return copy;
    }
    default:
        if (info->arity == 1) {
            return ctune_arena_printf(e->arena, "%s%s", info->c_token, k[0]);
        }
        return ctune_arena_printf(e->arena, "%s %s %s", k[0], info->c_token, k[1]);
    }
}
