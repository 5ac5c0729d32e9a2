/*
 * Indices, places and values of a program's text. See loops_parse.h; the grammar is in
 * docs/loops.md.
 *
 * Types are what operators make of their operands (loops_text.h) unless the text says another:
 * whether they fit is loops_verify's question.
 */
#include "search/loops/loops_parse.h"
#include "search/loops/loops_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TERMS = 1024, MAX_OPENED = 1 << 14, MAX_HEIGHT = 2000, MAX_TEXT_LANES = 4096 };

static bool is_ok(const loops_parser *p) {
    return p->te.status == CTUNE_OK;
}

/* ---- indices --------------------------------------------------------------------------------- */

static const ctune_aff *checked(loops_parser *p, const ctune_aff *aff) {
    if (aff == NULL) {
        loops_fail_build(p);
    } else if (aff->n_terms > MAX_TERMS) {
        te_fail(&p->te, "a form of too many terms", NULL);
        return NULL;
    }
    return is_ok(p) ? aff : NULL;
}

/* floor(a / 4), min(a, b), max(a, b) */
static const ctune_aff *parse_atom(loops_parser *p, ctune_atom_kind kind) {
    te_parser *te = &p->te;
    te_advance(te);
    te_expect(te, "(");
    const ctune_aff *a = loops_parse_aff(p), *out = NULL;
    if (kind == CTUNE_ATOM_FLOOR) {
        te_expect(te, "/");
        te_token token = te->token;
        int64_t den = te_expect_int(te);
        if (is_ok(p) && den < 1) {
            te_fail_at(te, token.line, token.col, "not a positive number:", token.text);
        }
        out = is_ok(p) ? ctune_loops_floor(p->l, a, den) : NULL;
    } else {
        te_expect(te, ",");
        const ctune_aff *b = loops_parse_aff(p);
        out = kind == CTUNE_ATOM_MIN ? ctune_loops_min(p->l, a, b) : ctune_loops_max(p->l, a, b);
    }
    te_expect(te, ")");
    return checked(p, out);
}

/* ix[i]: an element of a tensor as an index. */
static const ctune_aff *parse_load(loops_parser *p) {
    te_parser *te = &p->te;
    ctune_place place = {.id = te_find_tensor(te, te->token.text)};
    te_advance(te);
    while (is_ok(p) && te_accept(te, "[")) {
        if (place.n_idx == CTUNE_MAX_RANK) {
            te_fail(te, "too many dimensions", NULL);
            return NULL;
        }
        place.idx[place.n_idx++] = loops_parse_aff(p);
        te_expect(te, "]");
    }
    return is_ok(p) ? ctune_loops_load(p->l, &place) : NULL;
}

static const ctune_aff *parse_aff_name(loops_parser *p) {
    te_token token = p->te.token;
    if (te_is_punct(&p->te.ahead, "[") && loops_find(p, token.text) == NULL &&
        token.kind == TE_IDENT && te_find_tensor(&p->te, token.text) >= 0) {
        return parse_load(p);
    }
    const char *word = te_expect_ident(&p->te);
    const loops_symbol *symbol = loops_find(p, word);
    if (symbol != NULL && !symbol->is_buffer) {
        return ctune_aff_term(p->l->arena, CTUNE_TERM_AXIS, symbol->id, 1);
    }
    int id = te_find_param(&p->te, word);
    if (id < 0) {
        te_fail_at(&p->te, token.line, token.col, "no such index variable or parameter:", word);
        return NULL;
    }
    return ctune_aff_term(p->l->arena, CTUNE_TERM_PARAM, id, 1);
}

static const ctune_aff *parse_factor(loops_parser *p) {
    te_parser *te = &p->te;
    const ctune_aff *aff = NULL;
    if (!te_enter(te)) {
        return NULL;
    }
    bool is_minus = te_is_punct(&te->token, "-"), is_call = te_is_punct(&te->ahead, "(");
    if (te->token.kind == TE_NUMBER || (is_minus && te->ahead.kind == TE_NUMBER)) {
        aff = ctune_loops_const(p->l, te_expect_int(te));
    } else if (is_minus) {
        te_advance(te);
        aff = parse_factor(p);
        aff = ctune_aff_scale(p->l->arena, aff, -1);
    } else if (te_accept(te, "(")) {
        aff = loops_parse_aff(p);
        te_expect(te, ")");
    } else if (is_call && te_is_word(&te->token, "floor")) {
        aff = parse_atom(p, CTUNE_ATOM_FLOOR);
    } else if (is_call && te_is_word(&te->token, "min")) {
        aff = parse_atom(p, CTUNE_ATOM_MIN);
    } else if (is_call && te_is_word(&te->token, "max")) {
        aff = parse_atom(p, CTUNE_ATOM_MAX);
    } else {
        aff = parse_aff_name(p);
    }
    te->depth--;
    return is_ok(p) ? checked(p, aff) : NULL;
}

static const ctune_aff *parse_product(loops_parser *p) {
    const ctune_aff *aff = parse_factor(p);
    while (aff != NULL && te_accept(&p->te, "*")) {
        const ctune_aff *by = parse_factor(p);
        if (by == NULL) {
            return NULL;
        }
        p->n_opened += (int64_t)aff->n_terms * by->n_terms > 1 ? aff->n_terms * by->n_terms : 0;
        if (p->n_opened > MAX_OPENED) {
            te_fail(&p->te, "too many products of sums", NULL);
            return NULL;
        }
        aff = checked(p, ctune_loops_mul(p->l, aff, by));
    }
    return aff;
}

const ctune_aff *loops_parse_aff(loops_parser *p) {
    const ctune_aff *aff = parse_product(p);
    while (aff != NULL && (te_is_punct(&p->te.token, "-") ||
                           te_accept(&p->te, "+"))) { /* a minus is the factor's */
        const ctune_aff *by = parse_product(p);
        aff = by == NULL ? NULL : checked(p, ctune_aff_add(p->l->arena, aff, by));
    }
    return aff;
}

/* ---- types, places --------------------------------------------------------------------------- */

ctune_type loops_parse_type(loops_parser *p, int *lanes) {
    te_token token = p->te.token;
    const char *text = te_expect_ident(&p->te);
    const char *x = strrchr(text, 'x');
    const char *name =
        x != NULL ? ctune_arena_strndup(p->l->arena, text, (size_t)(x - text)) : text;
    int type = name != NULL ? te_find_type(name) : -1;
    char *end;
    long n = x != NULL ? strtol(x + 1, &end, 10) : 1;
    bool is_number = x == NULL || (x[1] >= '0' && x[1] <= '9' && *end == '\0');
    if (is_ok(p) && (type < 0 || !is_number || n < 1 || n > MAX_TEXT_LANES)) {
        te_fail_at(&p->te, token.line, token.col, "unknown type", text);
    }
    *lanes = is_ok(p) ? (int)n : 1;
    return type < 0 ? CTUNE_I32 : (ctune_type)type;
}

bool loops_parse_place(loops_parser *p, ctune_place *place, int *lanes) {
    te_parser *te = &p->te;
    te_token token = te->token;
    const char *word = te_expect_ident(te);
    const loops_symbol *symbol = loops_find(p, word);
    *place = (ctune_place){.is_buffer = symbol != NULL && symbol->is_buffer};
    place->id = place->is_buffer ? symbol->id : te_find_tensor(te, word);
    *lanes = 1;
    if (is_ok(p) && place->id < 0) {
        te_fail_at(te, token.line, token.col, "no such variable, buffer or tensor:", word);
    }
    bool has_lanes = false;
    while (is_ok(p) && !has_lanes && te_accept(te, "[")) {
        if (place->n_idx == CTUNE_MAX_RANK) {
            te_fail(te, "too many indices of", word);
            break;
        }
        place->idx[place->n_idx++] = loops_parse_aff(p);
        has_lanes = te_accept(te, ":");
        *lanes = has_lanes ? te_expect_small(te, 1, MAX_TEXT_LANES) : 1;
        te_expect(te, "]");
    }
    return is_ok(p);
}

/* ---- values ---------------------------------------------------------------------------------- */

static const ctune_value *built(loops_parser *p, const ctune_value *v) {
    if (v == NULL) {
        loops_fail_build(p);
    }
    return is_ok(p) ? v : NULL;
}

/* The node with the type and lanes that its operator gives it. height: of its tallest kid. */
static const ctune_value *make(loops_parser *p, ctune_value *proto, int height) {
    for (int i = 0; i < proto->n_kids; i++) {
        if (proto->kids[i] == NULL) {
            return NULL;
        }
    }
    if (!is_ok(p)) {
        return NULL;
    }
    if (height >= MAX_HEIGHT) {
        te_fail(&p->te, "nested too deeply", NULL);
        return NULL;
    }
    p->height = height + 1;
    proto->type = ctune_value_derived_type(p->l, proto);
    proto->lanes = ctune_value_derived_lanes(p->l, proto);
    return built(p, ctune_loops_value(p->l, proto));
}

static const ctune_value *make_const(loops_parser *p, const ctune_expr *e) {
    p->height = 1;
    return e == NULL ? NULL
                     : built(p, ctune_loops_value(p->l, &(ctune_value){.op = CTUNE_V_CONST,
                                                                       .type = e->type,
                                                                       .lanes = 1,
                                                                       .i_value = e->i_value,
                                                                       .f_value = e->f_value,
                                                                       .text = e->text}));
}

/* i64{i.3 + 1}: the type is the current token */
static const ctune_value *parse_index(loops_parser *p, ctune_type type) {
    te_advance(&p->te);
    te_expect(&p->te, "{");
    const ctune_aff *aff = loops_parse_aff(p);
    te_expect(&p->te, "}");
    return aff == NULL
               ? NULL
               : make(p, &(ctune_value){.op = CTUNE_V_INDEX, .type = type, .index = aff}, 0);
}

/* (a, b) of `op`; the last argument of splat, extract and slide is a number */
static const ctune_value *parse_call(loops_parser *p, ctune_value_op op, const char *text) {
    te_parser *te = &p->te;
    te_token token = te->token;
    int number_at = op == CTUNE_V_SPLAT || op == CTUNE_V_EXTRACT ? 1 : op == CTUNE_V_SLIDE ? 2 : -1;
    bool has_number = number_at >= 0;
    const void *kids = NULL;
    ctune_value proto = {.op = op, .text = text, .lanes = 1};
    int height = 0;
    te_expect(te, "(");
    do {
        if (has_number && proto.n_kids == number_at) {
            int number = te_expect_small(te, 0, MAX_TEXT_LANES);
            proto.lanes = op == CTUNE_V_SPLAT ? number : 1;
            proto.lane = op != CTUNE_V_SPLAT ? number : 0;
            has_number = false;
            break;
        }
        const ctune_value **slot = te_list_append(te, &kids, &proto.n_kids, sizeof *slot);
        const ctune_value *kid = slot == NULL ? NULL : loops_parse_value(p);
        if (kid == NULL) {
            return NULL;
        }
        *slot = kid;
        height = p->height > height ? p->height : height;
    } while (te_accept(te, ","));
    te_expect(te, ")");
    int arity = ctune_value_get(op)->arity;
    if (is_ok(p) && (has_number || (arity >= 0 && proto.n_kids != arity))) {
        te_fail_at(te, token.line, token.col, "wrong number of arguments", NULL);
    }
    proto.kids = kids;
    return make(p, &proto, height);
}

static int function_op(const char *word) {
    static const ctune_value_op ops[] = {CTUNE_V_FMA,     CTUNE_V_SELECT, CTUNE_V_MIN,
                                         CTUNE_V_MAX,     CTUNE_V_SPLAT,  CTUNE_V_GATHER,
                                         CTUNE_V_EXTRACT, CTUNE_V_SLIDE,  CTUNE_V_DOT};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (strcmp(ctune_value_get(ops[i])->token, word) == 0) {
            return (int)ops[i];
        }
    }
    return -1;
}

/* A variable, or an element of a tensor or buffer. */
static const ctune_value *parse_reference(loops_parser *p) {
    const loops_symbol *symbol = loops_find(p, p->te.token.text);
    if (symbol != NULL && !symbol->is_buffer) {
        te_advance(&p->te);
        return make(p, &(ctune_value){.op = CTUNE_V_VAR, .var = symbol->id, .lanes = 1}, 0);
    }
    ctune_value proto = {.op = CTUNE_V_LOAD};
    return loops_parse_place(p, &proto.place, &proto.lanes) ? make(p, &proto, 0) : NULL;
}

static const ctune_value *parse_word(loops_parser *p) {
    te_parser *te = &p->te;
    const char *word = te->token.text;
    int type = te_find_type(word), op = function_op(word);
    if (type >= 0 && te_is_punct(&te->ahead, "{")) {
        return parse_index(p, (ctune_type)type);
    }
    if (type >= 0 && te_is_punct(&te->ahead, "(")) {
        te_advance(te);
        return make_const(p, te_parse_typed_const(te, (ctune_type)type));
    }
    if (op >= 0 && te_is_punct(&te->ahead, "(")) {
        te_advance(te);
        return parse_call(p, (ctune_value_op)op, NULL);
    }
    if (strcmp(word, "call") == 0 && te->ahead.kind == TE_IDENT) {
        te_advance(te);
        const char *name = te_expect_ident(te);
        return parse_call(p, CTUNE_V_CALL, name);
    }
    return parse_reference(p);
}

static const ctune_value *parse_primary(loops_parser *p) {
    te_parser *te = &p->te;
    const ctune_value *v = NULL;
    if (te->token.kind == TE_NUMBER) {
        v = make_const(p, te_parse_literal(te));
    } else if (te->token.kind == TE_IDENT) {
        v = parse_word(p);
    } else if (te_accept(te, "(")) {
        v = loops_parse_value(p);
        te_expect(te, ")");
    } else {
        te_fail(te, "expected a value, found", te_token_words(&te->token));
    }
    if (v != NULL && is_ok(p) && te_accept(te, ":")) {
        ctune_value typed = *v;
        typed.type = loops_parse_type(p, &typed.lanes);
        v = is_ok(p) ? built(p, ctune_loops_value(p->l, &typed)) : NULL;
    }
    return is_ok(p) ? v : NULL;
}

static const ctune_value *parse_unary(loops_parser *p);

static const ctune_value *parse_operand_of(loops_parser *p, ctune_value proto) {
    proto.wraps = proto.op == CTUNE_V_NEG && te_accept(&p->te, "%");
    const ctune_value *kid = parse_unary(p);
    proto.n_kids = 1;
    proto.kids = &kid;
    return make(p, &proto, p->height);
}

static const ctune_value *parse_unary(loops_parser *p) {
    te_parser *te = &p->te;
    const ctune_value *v = NULL;
    if (!te_enter(te)) {
        return NULL;
    }
    bool is_paren = te_is_punct(&te->token, "(") && te->ahead.kind == TE_IDENT;
    if (te_accept(te, "-")) {
        v = parse_operand_of(p, (ctune_value){.op = CTUNE_V_NEG});
    } else if (te_accept(te, "~")) {
        v = parse_operand_of(p, (ctune_value){.op = CTUNE_V_BNOT});
    } else if (te_accept(te, "!")) {
        v = parse_operand_of(p, (ctune_value){.op = CTUNE_V_LNOT});
    } else if (is_paren && te_find_type(te->ahead.text) >= 0 && *te->lexer.at == ')') {
        /* the lexer stands behind the type name: a conversion, no typed constant follows */
        te_advance(te);
        ctune_type type = te_expect_type(te);
        te_expect(te, ")");
        v = parse_operand_of(p, (ctune_value){.op = CTUNE_V_CONVERT, .type = type});
    } else {
        v = parse_primary(p);
    }
    te->depth--;
    return is_ok(p) ? v : NULL;
}

/* -1: no operator of two operands */
static int binary_op(const te_token *token) {
    for (int op = 0; token->kind == TE_PUNCT && op < CTUNE_N_VALUE_OPS; op++) {
        if (ctune_value_get((ctune_value_op)op)->arity == 2 &&
            strcmp(ctune_value_get((ctune_value_op)op)->token, token->text) == 0) {
            return op;
        }
    }
    return -1;
}

static const ctune_value *parse_binary(loops_parser *p, int min_strength) {
    if (!te_enter(&p->te)) {
        return NULL;
    }
    const ctune_value *left = parse_unary(p);
    int op = binary_op(&p->te.token);
    while (left != NULL && op >= 0 && ctune_value_strength((ctune_value_op)op) >= min_strength) {
        int height = p->height;
        te_advance(&p->te);
        bool can_wrap = op == CTUNE_V_ADD || op == CTUNE_V_SUB || op == CTUNE_V_MUL;
        ctune_value proto = {.op = (ctune_value_op)op, .n_kids = 2};
        proto.wraps = can_wrap && te_accept(&p->te, "%");
        const ctune_value *kids[2] = {
            left, parse_binary(p, ctune_value_strength((ctune_value_op)op) + 1)};
        proto.kids = kids;
        left = make(p, &proto, p->height > height ? p->height : height);
        op = binary_op(&p->te.token);
    }
    p->te.depth--;
    return is_ok(p) ? left : NULL;
}

const ctune_value *loops_parse_value(loops_parser *p) {
    return parse_binary(p, 1);
}
