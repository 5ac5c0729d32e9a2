/*
 * Register tiles in C: accumulators in vector variables, reduction loops inside, loads and scalar
 * factors named once per iteration.
 *
 * Element-wise vector arithmetic does what the scalar statement does, in the same order, lane by
 * lane, so the result is bit-identical. A product that the source adds in one expression stays in
 * that expression, so that the compiler fuses multiply and add exactly where it does in the source.
 */
#include "search/emit/emit_private.h"

#include <stdio.h>
#include <string.h>

enum { MAX_DEFS = 512, MAX_ACCS = 96 };

typedef struct tile_emit {
    ctune_emitter *e;
    const ctune_micro *micro;
    const ctune_stage *stage;
    ctune_type type; /* of the target */
    int lanes;       /* 1: scalar accumulators */
    int vec_pos;     /* dim position in lanes, -1 */
    int n_defs;
    const char *def_text[MAX_DEFS];
    const char *def_name[MAX_DEFS];
    const char *def_type[MAX_DEFS];
    int n_named[3];
    bool unsupported;
} tile_emit;

/* "ctune_f32x16" or, unaligned and aliasing anything, "ctune_f32x16u" */
static const char *vector_name(tile_emit *t, ctune_type type, bool memory) {
    ctune_emitter *e = t->e;
    int i = 0;
    while (i < e->n_vectors && (e->vector[i].type != type || e->vector[i].lanes != t->lanes)) {
        i++;
    }
    if (i == e->n_vectors) {
        if (i == CTUNE_MAX_VECTOR_TYPES) {
            t->unsupported = true;
            return "";
        }
        e->vector[i].type = type;
        e->vector[i].lanes = t->lanes;
        e->n_vectors++;
    }
    return ctune_arena_printf(e->arena, "ctune_%sx%d%s", ctune_type_get(type)->name, t->lanes,
                              memory ? "u" : "");
}

static ctune_type signed_of_size(int bytes) {
    return bytes == 1 ? CTUNE_I8 : bytes == 2 ? CTUNE_I16 : bytes == 4 ? CTUNE_I32 : CTUNE_I64;
}

static bool is_vector_type(ctune_type type) {
    return type != CTUNE_BOOL && type != CTUNE_F16 && type != CTUNE_F80;
}

/* Does expr differ between lanes? */
static bool varies(const tile_emit *t, const ctune_expr *expr) {
    if (t->vec_pos < 0) {
        return false;
    }
    int stmt = t->micro->stmt;
    if (expr->op == CTUNE_OP_AFF) {
        return emit_dim_coef(t->e, stmt, expr->aff, t->vec_pos) != 0 ||
               ctune_aff_has_kind(expr->aff, CTUNE_TERM_DIV);
    }
    if (expr->op == CTUNE_OP_READ) {
        for (int i = 0; i < expr->access.n_idx; i++) {
            if (emit_dim_coef(t->e, stmt, expr->access.idx[i], t->vec_pos) != 0 ||
                !ctune_bounds_is_plain(t->e->region, expr->access.idx[i])) {
                return true;
            }
        }
    }
    for (int i = 0; i < expr->n_kids; i++) {
        if (varies(t, expr->kids[i])) {
            return true;
        }
    }
    return false;
}

/* Name for a value used in the body; the same text gets the same name. prefix: 'v' vector, 's'
 * scalar. */
static const char *define(tile_emit *t, const char *text, const char *type, char prefix) {
    for (int i = 0; i < t->n_defs; i++) {
        if (strcmp(t->def_text[i], text) == 0) {
            return t->def_name[i];
        }
    }
    if (t->n_defs >= MAX_DEFS) {
        return text;
    }
    int kind = prefix == 'v' ? 0 : 1;
    int i = t->n_defs++;
    t->def_text[i] = text;
    t->def_type[i] = type;
    t->def_name[i] = ctune_arena_printf(t->e->arena, "%c%d", prefix, t->n_named[kind]++);
    return t->def_name[i];
}

/* Is the access's last index contiguous along the lanes and every other index constant? */
static bool is_contiguous(const tile_emit *t, const ctune_access *access) {
    const ctune_tensor *tensor = &t->e->region->tensors[access->tensor];
    int last = access->n_idx - 1;
    if (tensor->elem_stride_bytes != ctune_type_get(tensor->type)->bytes && !tensor->is_temp) {
        return false;
    }
    if (tensor->is_temp) {
        int b = t->e->loops->temp_buffer[access->tensor];
        if (b < 0) {
            return false;
        }
        const ctune_lbuffer *buffer = &t->e->loops->buffer[b];
        last = buffer->index_of[buffer->n_dims - 1];
    }
    for (int i = 0; i < access->n_idx; i++) {
        int64_t coef = emit_dim_coef(t->e, t->micro->stmt, access->idx[i], t->vec_pos);
        if (!ctune_bounds_is_plain(t->e->region, access->idx[i]) || coef != (i == last ? 1 : 0)) {
            return false;
        }
    }
    return true;
}

static ctune_env lane_env(tile_emit *t, const ctune_env *env, int lane) {
    ctune_env at = *env;
    at.val[t->vec_pos] = ctune_aff_add_const(t->e->arena, env->val[t->vec_pos], lane);
    return at;
}

static const char *vector_read(tile_emit *t, const ctune_env *env, const ctune_expr *expr) {
    const ctune_packed *packed = emit_find_packed(t->e, env->stmt, expr);
    ctune_type type = expr->type;
    const char *name = vector_name(t, type, false);
    const char *text;
    if (packed != NULL ? packed->tile_pos == t->vec_pos : is_contiguous(t, &expr->access)) {
        const char *element =
            packed != NULL ? emit_packed(t->e, env, packed) : emit_access(t->e, env, &expr->access);
        text = ctune_arena_printf(t->e->arena, "*(const %s *)&%s", vector_name(t, type, true),
                                  element);
    } else {
        ctune_text list;
        ctune_text_init(&list);
        for (int l = 0; l < t->lanes; l++) {
            ctune_env at = lane_env(t, env, l);
            ctune_text_printf(&list, "%s%s", l > 0 ? ", " : "",
                              packed != NULL ? emit_packed(t->e, &at, packed)
                                             : emit_access(t->e, &at, &expr->access));
        }
        text = ctune_arena_printf(t->e->arena, "(%s){%s}", name, ctune_text_get(&list));
        ctune_text_clear(&list);
    }
    return define(t, text, name, 'v');
}

static bool is_product(const ctune_expr *expr) {
    return ctune_type_is_float(expr->type) &&
           (expr->op == CTUNE_OP_MUL || (expr->op == CTUNE_OP_NEG && is_product(expr->kids[0])));
}

static const char *vector_expr(tile_emit *t, const ctune_env *env, const ctune_expr *expr,
                               bool sums);

static const char *paren(tile_emit *t, const char *text) {
    return text == NULL || strpbrk(text, " ") == NULL
               ? text
               : ctune_arena_printf(t->e->arena, "(%s)", text);
}

/* A lane-invariant operand where a whole vector is needed: s - 0 is s, for -0.0 too. */
static const char *splat(tile_emit *t, const ctune_expr *expr, const char *text) {
    return varies(t, expr) ? paren(t, text)
                           : ctune_arena_printf(t->e->arena, "(%s - (%s){0})", paren(t, text),
                                                vector_name(t, expr->type, false));
}

static const char *blend(tile_emit *t, ctune_type type, const char *mask, const char *a,
                         const char *b) {
    const char *ints = vector_name(t, signed_of_size(ctune_type_get(type)->bytes), false);
    return ctune_arena_printf(t->e->arena, "(%s)(((%s)%s & (%s)(%s)) | ((%s)%s & ~(%s)(%s)))",
                              vector_name(t, type, false), ints, a, ints, mask, ints, b, ints,
                              mask);
}

static bool is_comparison(ctune_op op) {
    return op >= CTUNE_OP_LT && op <= CTUNE_OP_NE;
}

static const char *vector_expr(tile_emit *t, const ctune_env *env, const ctune_expr *expr,
                               bool sums) {
    ctune_emitter *e = t->e;
    if (!varies(t, expr)) {
        const char *text = emit_expr(e, env, expr);
        if (expr->op == CTUNE_OP_CONST || text == NULL) {
            return text;
        }
        if (sums && is_product(expr) &&
            !e->rounds) { /* must stay where it can be fused: name its factors only */
            const char *a = vector_expr(t, env, expr->kids[0], false);
            const char *b = expr->n_kids > 1 ? vector_expr(t, env, expr->kids[1], false) : NULL;
            return b == NULL ? ctune_arena_printf(e->arena, "-%s", paren(t, a))
                             : ctune_arena_printf(e->arena, "%s * %s", paren(t, a), paren(t, b));
        }
        return define(t, sums ? emit_rounded(e, expr, text) : text,
                      ctune_type_get(expr->type)->c_name, 's');
    }
    if (!is_vector_type(expr->type)) {
        t->unsupported = true;
        return "0";
    }
    if (expr->op == CTUNE_OP_READ || emit_find_packed(e, env->stmt, expr) != NULL) {
        return vector_read(t, env, expr);
    }
    bool sum_here =
        expr->op == CTUNE_OP_ADD || expr->op == CTUNE_OP_SUB || expr->op == CTUNE_OP_NEG;
    const char *a = NULL, *b = NULL;
    if (expr->n_kids > 0 && expr->n_kids <= 2) {
        a = vector_expr(t, env, expr->kids[0], sum_here);
        b = expr->n_kids > 1 ? vector_expr(t, env, expr->kids[1], sum_here) : NULL;
    }
    switch (expr->op) {
    case CTUNE_OP_ADD:
    case CTUNE_OP_SUB:
    case CTUNE_OP_MUL:
    case CTUNE_OP_DIV:
    case CTUNE_OP_BAND:
    case CTUNE_OP_BOR:
    case CTUNE_OP_BXOR:
        if (expr->kids[0]->type != expr->type || expr->kids[1]->type != expr->type) {
            break;
        }
        a = ctune_arena_printf(e->arena, "%s %s %s", paren(t, a), ctune_op_get(expr->op)->c_token,
                               paren(t, b));
        return sums ? emit_rounded(e, expr, a) : a;
    case CTUNE_OP_NEG:
    case CTUNE_OP_BNOT:
        return ctune_arena_printf(e->arena, "%s%s", ctune_op_get(expr->op)->c_token, paren(t, a));
    case CTUNE_OP_CAST:
        if (!is_vector_type(expr->kids[0]->type)) {
            break;
        }
        return expr->kids[0]->type == expr->type
                   ? a
                   : ctune_arena_printf(e->arena, "__builtin_convertvector(%s, %s)", a,
                                        vector_name(t, expr->type, false));
    case CTUNE_OP_MIN:
    case CTUNE_OP_MAX: {
        const char *x = splat(t, expr->kids[0], a), *y = splat(t, expr->kids[1], b);
        const char *mask =
            ctune_arena_printf(e->arena, "%s %s %s", x, expr->op == CTUNE_OP_MIN ? "<" : ">", y);
        return blend(t, expr->type, mask, x, y);
    }
    case CTUNE_OP_SELECT: {
        const ctune_expr *c = expr->kids[0];
        if (!is_comparison(c->op) || !varies(t, c) ||
            ctune_type_get(c->kids[0]->type)->bytes != ctune_type_get(expr->type)->bytes) {
            break;
        }
        const char *x = splat(t, c->kids[0], vector_expr(t, env, c->kids[0], false));
        const char *y = splat(t, c->kids[1], vector_expr(t, env, c->kids[1], false));
        const char *yes = splat(t, expr->kids[1], vector_expr(t, env, expr->kids[1], false));
        const char *no = splat(t, expr->kids[2], vector_expr(t, env, expr->kids[2], false));
        for (int i = 1; i < 3; i++) { /* an arm that reads memory may be guarded by the condition */
            const char *arm = i == 1 ? yes : no;
            if (expr->kids[i]->op != CTUNE_OP_CONST && strcmp(arm, x) != 0 && strcmp(arm, y) != 0) {
                t->unsupported = true;
            }
        }
        return blend(t, expr->type,
                     ctune_arena_printf(e->arena, "%s %s %s", x, ctune_op_get(c->op)->c_token, y),
                     yes, no);
    }
    default:
        break;
    }
    t->unsupported = true;
    return "0";
}

/* ---- update of one accumulator
 * ------------------------------------------------------------------------------- */

static void print_update(tile_emit *t, const char *acc, const char *rhs, const ctune_expr *expr,
                         ctune_text *body) {
    ctune_emitter *e = t->e;
    const ctune_stage *stage = t->stage;
    bool vector = t->lanes > 1;
    const char *token = ctune_update_get(stage->update)->token;
    if (stage->update == CTUNE_UPDATE_MIN || stage->update == CTUNE_UPDATE_MAX) {
        const char *less = stage->update == CTUNE_UPDATE_MIN ? "<" : ">";
        if (vector) {
            t->unsupported |= expr->type != t->type;
            const char *value = splat(t, expr, rhs);
            ctune_text_line(body, "%s = %s;", acc,
                            blend(t, t->type,
                                  ctune_arena_printf(e->arena, "%s %s %s", acc, less, value), acc,
                                  value));
        } else {
            ctune_text_line(body, "%s = %s %s (%s) ? %s : (%s);", acc, acc, less, rhs, acc, rhs);
        }
        return;
    }
    if (stage->update == CTUNE_UPDATE_SET) {
        t->unsupported |= vector && expr->type != t->type;
        ctune_text_line(body, "%s = %s;", acc, vector ? splat(t, expr, rhs) : rhs);
        return;
    }
    bool wraps = stage->update == CTUNE_UPDATE_ADD || stage->update == CTUNE_UPDATE_SUB ||
                 stage->update == CTUNE_UPDATE_MUL;
    const char *op = ctune_arena_strndup(e->arena, token, strlen(token) - 1);
    if (stage->calc != t->type) {
        if (vector) {
            ctune_text_line(
                body, "%s = __builtin_convertvector(__builtin_convertvector(%s, %s) %s %s, %s);",
                acc, acc, vector_name(t, stage->calc, false), op, paren(t, rhs),
                vector_name(t, t->type, false));
        } else {
            ctune_text_line(body, "%s = (%s)((%s)%s %s (%s));", acc,
                            ctune_type_get(t->type)->c_name, ctune_type_get(stage->calc)->c_name,
                            acc, op, rhs);
        }
        return;
    }
    const char *wide = emit_unsigned_name(t->type);
    if (wraps &&
        wide != NULL) { /* two's complement, so that a new order of the sum adds no overflow */
        if (vector) {
            ctune_type u = t->type == CTUNE_I32 ? CTUNE_U32 : CTUNE_U64;
            ctune_text_line(body, "%s = (%s)((%s)%s %s (%s)%s);", acc,
                            vector_name(t, t->type, false), vector_name(t, u, false), acc, op,
                            varies(t, expr) ? vector_name(t, u, false) : wide, paren(t, rhs));
        } else {
            ctune_text_line(body, "%s = (%s)((%s)%s %s (%s)(%s));", acc,
                            ctune_type_get(t->type)->c_name, wide, acc, op, wide, rhs);
        }
        return;
    }
    ctune_text_line(body, "%s %s %s;", acc, token, rhs);
}

/* ---- the tile
 * ------------------------------------------------------------------------------------------------
 */

typedef struct acc_slot {
    const char *name;
    ctune_env env;
    int64_t offset[CTUNE_MAX_TILE]; /* from the tile's origin, per tile dim */
} acc_slot;

static int enumerate_accs(tile_emit *t, acc_slot *slots) {
    const ctune_micro *m = t->micro;
    int64_t steps[CTUNE_MAX_TILE], total = 1;
    for (int d = 0; d < m->n_tile; d++) {
        steps[d] = m->tile[d].is_vector ? m->tile[d].extent / t->lanes : m->tile[d].extent;
        total *= steps[d];
        if (total > MAX_ACCS) {
            return -1;
        }
    }
    for (int i = 0; i < total; i++) {
        acc_slot *s = &slots[i];
        s->env = m->env;
        int64_t rest = i;
        char suffix[64] = "";
        int64_t digit[CTUNE_MAX_TILE];
        for (int d = m->n_tile - 1; d >= 0; d--) {
            digit[d] = rest % steps[d];
            rest /= steps[d];
            s->offset[d] = digit[d] * (m->tile[d].is_vector ? t->lanes : 1);
            s->env.val[m->tile[d].pos] =
                ctune_aff_add_const(t->e->arena, m->env.val[m->tile[d].pos], s->offset[d]);
        }
        for (int d = 0; d < m->n_tile; d++) {
            size_t len = strlen(suffix);
            snprintf(suffix + len, sizeof suffix - len, "_%lld", (long long)digit[d]);
        }
        s->name = ctune_arena_printf(t->e->arena, "acc%s", suffix);
    }
    return (int)total;
}

static const char *tile_element(tile_emit *t, const acc_slot *s, int lane) {
    ctune_text text;
    ctune_text_init(&text);
    ctune_text_append(&text, "tile");
    for (int d = 0; d < t->micro->n_tile; d++) {
        ctune_text_printf(&text, "[%lld]",
                          (long long)(s->offset[d] + (t->micro->tile[d].is_vector ? lane : 0)));
    }
    const char *copy = ctune_arena_strdup(t->e->arena, ctune_text_get(&text));
    ctune_text_clear(&text);
    return copy;
}

static void print_transfer(tile_emit *t, const acc_slot *s, bool is_load) {
    ctune_emitter *e = t->e;
    const ctune_access *target = &t->stage->target;
    const char *c_type =
        t->lanes > 1 ? vector_name(t, t->type, false) : ctune_type_get(t->type)->c_name;
    bool padded = t->micro->is_padded;
    if (t->lanes == 1 || padded || is_contiguous(t, target)) {
        const char *element = padded ? tile_element(t, s, 0) : emit_access(e, &s->env, target);
        const char *place =
            t->lanes == 1 ? element
                          : ctune_arena_printf(e->arena, "*(%s%s *)&%s", is_load ? "const " : "",
                                               vector_name(t, t->type, true), element);
        if (is_load) {
            ctune_text_line(e->out, "%s %s = %s;", c_type, s->name, place);
        } else {
            ctune_text_line(e->out, "%s = %s;", place, s->name);
        }
        return;
    }
    ctune_text list;
    ctune_text_init(&list);
    for (int l = 0; l < t->lanes; l++) {
        ctune_env at = lane_env(t, &s->env, l);
        const char *element = emit_access(e, &at, target);
        if (is_load) {
            ctune_text_printf(&list, "%s%s", l > 0 ? ", " : "", element);
        } else {
            ctune_text_line(e->out, "%s = %s[%d];", element, s->name, l);
        }
    }
    if (is_load) {
        ctune_text_line(e->out, "%s %s = {%s};", c_type, s->name, ctune_text_get(&list));
    }
    ctune_text_clear(&list);
}

/* Copy the valid points between the target and the padded tile: `copy` loops with the transfer as
 * leaf. */
static void print_copy(tile_emit *t, const ctune_lnode *node, bool is_in) {
    ctune_emitter *e = t->e;
    if (node->kind == CTUNE_LN_STMT) {
        ctune_text element;
        ctune_text_init(&element);
        ctune_text_append(&element, "tile");
        for (int d = 0; d < t->micro->n_tile; d++) {
            const ctune_aff *offset = ctune_aff_sub(
                e->arena, node->env.val[t->micro->tile[d].pos],
                ctune_aff_term(e->arena, CTUNE_TERM_AXIS, t->micro->tile[d].origin, 1));
            ctune_text_printf(&element, "[%s]", emit_aff(e, NULL, offset));
        }
        const char *target = emit_access(e, &node->env, &t->stage->target);
        if (is_in) {
            ctune_text_line(e->out, "%s = %s;", ctune_text_get(&element), target);
        } else {
            ctune_text_line(e->out, "%s = %s;", target, ctune_text_get(&element));
        }
        ctune_text_clear(&element);
        return;
    }
    if (node->kind == CTUNE_LN_FOR) {
        emit_for_head(e, &node->loop);
        e->out->indent++;
    }
    for (int i = 0; i < node->n_kids; i++) {
        print_copy(t, node->kids[i], is_in);
    }
    if (node->kind == CTUNE_LN_FOR) {
        e->out->indent--;
        ctune_text_line(e->out, "}");
    }
}

static int tile_lanes(const tile_emit *t) {
    for (int d = 0; d < t->micro->n_tile; d++) {
        if (t->micro->tile[d].is_vector) {
            return ctune_tile_lanes(t->e->options->vector_bytes, t->type, t->micro->tile[d].extent);
        }
    }
    return 1;
}

ctune_status emit_micro(ctune_emitter *e, const ctune_micro *micro) {
    tile_emit *t = CTUNE_NEW(e->arena, tile_emit);
    acc_slot *slots = CTUNE_NEW_ARRAY(e->arena, acc_slot, MAX_ACCS);
    if (t == NULL || slots == NULL) {
        return ctune_fail(e->ctx, CTUNE_ENOMEM, "out of memory");
    }
    t->e = e;
    t->micro = micro;
    t->stage = &e->region->stages[e->tree->stmts[micro->stmt].stage];
    t->type = e->region->tensors[t->stage->target.tensor].type;
    t->lanes = tile_lanes(t);
    t->vec_pos = -1;
    if (t->lanes > 1) {
        t->vec_pos = micro->tile[micro->n_tile - 1].pos;
        if (!is_vector_type(t->type)) {
            return ctune_fail(e->ctx, CTUNE_EREFUSED, "register tile: type has no vectors");
        }
    }
    int n = enumerate_accs(t, slots);
    if (n < 0) {
        return ctune_fail(e->ctx, CTUNE_EREFUSED, "register tile: over %d accumulators", MAX_ACCS);
    }
    ctune_text_line(e->out, "{");
    e->out->indent++;
    if (micro->is_padded) {
        ctune_text dims;
        ctune_text_init(&dims);
        for (int d = 0; d < micro->n_tile; d++) {
            ctune_text_printf(&dims, "[%lld]", (long long)micro->tile[d].extent);
        }
        ctune_text_line(e->out, "%s tile%s __attribute__((aligned(64))) = {0};",
                        ctune_type_get(t->type)->c_name, ctune_text_get(&dims));
        ctune_text_clear(&dims);
        print_copy(t, micro->copy, true);
    }
    bool loads = t->stage->update != CTUNE_UPDATE_SET || micro->n_inner > 0;
    for (int i = 0; i < n; i++) {
        if (loads) {
            print_transfer(t, &slots[i], true);
        } else {
            ctune_text_line(e->out, "%s %s;",
                            t->lanes > 1 ? vector_name(t, t->type, false)
                                         : ctune_type_get(t->type)->c_name,
                            slots[i].name);
        }
    }
    for (int i = 0; i < micro->n_inner; i++) {
        emit_for_head(e, &micro->inner[i]);
        e->out->indent++;
    }
    ctune_text body;
    ctune_text_init(&body);
    body.indent = e->out->indent;
    bool root_sums = t->stage->update == CTUNE_UPDATE_ADD || t->stage->update == CTUNE_UPDATE_SUB;
    for (int i = 0; i < n; i++) {
        const char *rhs = vector_expr(t, &slots[i].env, t->stage->rhs, root_sums);
        if (rhs == NULL) {
            break;
        }
        print_update(t, slots[i].name, rhs, t->stage->rhs, &body);
    }
    for (int i = 0; i < t->n_defs; i++) {
        ctune_text_line(e->out, "const %s %s = %s;", t->def_type[i], t->def_name[i],
                        t->def_text[i]);
    }
    ctune_text_append(e->out, ctune_text_get(&body));
    ctune_text_clear(&body);
    for (int i = 0; i < micro->n_inner; i++) {
        e->out->indent--;
        ctune_text_line(e->out, "}");
    }
    for (int i = 0; i < n; i++) {
        print_transfer(t, &slots[i], false);
    }
    if (micro->is_padded) {
        print_copy(t, micro->copy, false);
    }
    e->out->indent--;
    ctune_text_line(e->out, "}");
    return t->unsupported ? ctune_fail(e->ctx, CTUNE_EREFUSED,
                                       "register tile: the expression has no vector form")
                          : CTUNE_OK;
}
