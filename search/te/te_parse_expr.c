/*
 * Affine forms, constraints and expressions of the TE text. See te_parse.h.
 */
#include "search/te/te_parse.h"
#include "search/te/te_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- affine forms ---------------------------------------------------------------------------- */

static const ctune_aff *checked(te_parser *p, const ctune_aff *aff) {
    if (aff == NULL) {
        te_fail(p, "affine form overflows", NULL);
    }
    return aff;
}

static const ctune_aff *parse_aff_name(te_parser *p) {
    te_token token = p->token;
    const char *name = te_expect_ident(p);
    int id = te_find_axis(p, name);
    if (id >= 0) {
        return ctune_aff_term(p->arena, CTUNE_TERM_AXIS, id, 1);
    }
    id = te_find_param(p, name);
    if (id < 0) {
        te_fail_at(p, token.line, token.col, "no such axis or parameter:", name);
        return NULL;
    }
    return ctune_aff_term(p->arena, CTUNE_TERM_PARAM, id, 1);
}

static const ctune_aff *parse_aff_factor(te_parser *p) {
    const ctune_aff *aff = NULL;
    if (!te_enter(p)) {
        return NULL;
    }
    if (te_accept(p, "-")) {
        aff = parse_aff_factor(p);
        aff = p->status == CTUNE_OK ? checked(p, ctune_aff_scale(p->arena, aff, -1)) : NULL;
    } else if (te_accept(p, "(")) {
        aff = te_parse_aff(p);
        te_expect(p, ")");
    } else if (te_accept(p, "@")) {
        int id = te_expect_small(p, 0, p->region->n_divs - 1);
        aff = ctune_aff_term(p->arena, CTUNE_TERM_DIV, id, 1);
    } else if (p->token.kind == TE_NUMBER) {
        aff = ctune_aff_const(p->arena, te_expect_int(p));
    } else {
        aff = parse_aff_name(p);
    }
    p->depth--;
    return p->status == CTUNE_OK ? checked(p, aff) : NULL;
}

static const ctune_aff *parse_aff_product(te_parser *p) {
    const ctune_aff *aff = parse_aff_factor(p);
    while (aff != NULL && te_accept(p, "*")) {
        const ctune_aff *by = parse_aff_factor(p);
        if (by == NULL) {
            return NULL;
        }
        if (!ctune_aff_is_const(by) && !ctune_aff_is_const(aff)) {
            te_fail(p, "product of two variables is not affine", NULL);
            return NULL;
        }
        bool by_const = ctune_aff_is_const(by);
        aff =
            checked(p, ctune_aff_scale(p->arena, by_const ? aff : by, by_const ? by->c0 : aff->c0));
    }
    return aff;
}

const ctune_aff *te_parse_aff(te_parser *p) {
    const ctune_aff *aff = parse_aff_product(p);
    while (aff != NULL && (te_is_punct(&p->token, "+") || te_is_punct(&p->token, "-"))) {
        bool is_sub = te_is_punct(&p->token, "-");
        te_advance(p);
        const ctune_aff *by = parse_aff_product(p);
        if (by == NULL) {
            return NULL;
        }
        aff = checked(p,
                      is_sub ? ctune_aff_sub(p->arena, aff, by) : ctune_aff_add(p->arena, aff, by));
    }
    return aff;
}

static void append_con(te_parser *p, const void **list, int *n, const ctune_aff *aff) {
    const ctune_aff **slot = NULL;
    if (checked(p, aff) != NULL) {
        slot = te_list_append(p, list, n, sizeof *slot);
    }
    if (slot != NULL) {
        *slot = aff;
    }
}

static bool is_comparison(const te_token *token) {
    return te_is_punct(token, "<") || te_is_punct(token, "<=") || te_is_punct(token, ">") ||
           te_is_punct(token, ">=") || te_is_punct(token, "==");
}

/* `0 <= i < n`: a chain; each link gives constraints "aff >= 0". */
void te_parse_chain(te_parser *p, const void **list, int *n) {
    const ctune_aff *left = te_parse_aff(p);
    int n_links = 0;
    while (left != NULL && is_comparison(&p->token)) {
        const char *op = p->token.text;
        te_advance(p);
        const ctune_aff *right = te_parse_aff(p);
        if (right == NULL) {
            return;
        }
        bool is_less = op[0] == '<', is_equal = op[0] == '=';
        int64_t strict = op[1] == '\0' ? -1 : 0;
        const ctune_aff *up = ctune_aff_sub(p->arena, right, left);
        const ctune_aff *down = ctune_aff_sub(p->arena, left, right);
        if (is_less || is_equal) {
            append_con(p, list, n, ctune_aff_add_const(p->arena, up, is_equal ? 0 : strict));
        }
        if (!is_less) {
            append_con(p, list, n, ctune_aff_add_const(p->arena, down, is_equal ? 0 : strict));
        }
        left = right;
        n_links++;
    }
    if (n_links == 0) {
        te_fail(p, "expected a comparison, found", te_token_words(&p->token));
    }
}

/* ---- expressions ----------------------------------------------------------------------------- */

static const ctune_expr *parse_binary(te_parser *p, int min_strength);

static ctune_expr *expr_new(te_parser *p, ctune_op op, int n_kids, const ctune_expr *const *kids) {
    ctune_expr *e = CTUNE_NEW(p->arena, ctune_expr);
    const ctune_expr **copy = CTUNE_NEW_ARRAY(p->arena, const ctune_expr *, n_kids);
    if (e == NULL || copy == NULL) {
        te_fail(p, "out of memory", NULL);
        return NULL;
    }
    for (int i = 0; i < n_kids; i++) {
        if (kids[i] == NULL) {
            return NULL;
        }
        copy[i] = kids[i];
    }
    e->op = op;
    e->n_kids = n_kids;
    e->kids = copy;
    return e;
}

static const ctune_expr *with_derived_type(te_parser *p, ctune_expr *e) {
    if (e != NULL) {
        e->type = ctune_expr_derived_type(p->region, e);
    }
    return e;
}

/* 2, 7u, 0.5, 0.2f, 1e3L */
const ctune_expr *te_parse_literal(te_parser *p) {
    te_token token = p->token;
    const char *text = token.text;
    te_advance(p);
    ctune_expr *e = expr_new(p, CTUNE_OP_CONST, 0, NULL);
    if (e == NULL) {
        return NULL;
    }
    e->text = text;
    bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    bool is_float = strpbrk(text, is_hex ? "pP" : ".eE") != NULL;
    char *end;
    errno = 0;
    if (is_float) {
        e->f_value = strtod(text, &end);
        e->type = strcasecmp(end, "f") == 0   ? CTUNE_F32
                  : strcasecmp(end, "l") == 0 ? CTUNE_F80
                                              : CTUNE_F64;
        if (e->type == CTUNE_F32) {
            e->f_value = (double)strtof(text, NULL);
        }
        end += e->type != CTUNE_F64;
    } else {
        e->i_value = (int64_t)strtoull(text, &end, 0);
        e->type = strcasecmp(end, "u") == 0                                  ? CTUNE_U32
                  : strcasecmp(end, "l") == 0                                ? CTUNE_I64
                  : strcasecmp(end, "ul") == 0 || strcasecmp(end, "lu") == 0 ? CTUNE_U64
                                                                             : CTUNE_I32;
        if (e->type != CTUNE_I32) {
            end += strlen(end);
        } else if (e->i_value < 0 || e->i_value > INT32_MAX) {
            errno = ERANGE;
        }
    }
    if (*end != '\0' || (errno != 0 && !is_float)) {
        te_fail_at(p, token.line, token.col, "not a literal:", text);
        return NULL;
    }
    return e;
}

/* f32(0x1.8p+0 "1.5f"), i32(-5), f64(-inf): the type name is consumed, the token is "(" */
const ctune_expr *te_parse_typed_const(te_parser *p, ctune_type type) {
    ctune_expr *e = expr_new(p, CTUNE_OP_CONST, 0, NULL);
    te_expect(p, "(");
    if (e == NULL || p->status != CTUNE_OK) {
        return NULL;
    }
    e->type = type;
    if (!ctune_type_is_float(type)) {
        e->i_value = te_expect_int(p);
    } else {
        bool negative = te_accept(p, "-");
        char *end = NULL;
        if (p->token.kind == TE_NUMBER || te_is_word(&p->token, "inf") ||
            te_is_word(&p->token, "nan")) {
            e->f_value = strtod(p->token.text, &end);
        }
        if (end == NULL || *end != '\0') {
            te_fail(p, "expected a number, found", te_token_words(&p->token));
            return NULL;
        }
        te_advance(p);
        e->f_value = negative ? -e->f_value : e->f_value;
    }
    if (p->token.kind == TE_STRING) {
        e->text = te_expect_string(p);
    }
    te_expect(p, ")");
    return e;
}

bool te_parse_access(te_parser *p, ctune_access *access) {
    te_token token = p->token;
    const char *name = te_expect_ident(p);
    access->tensor = te_find_tensor(p, name);
    if (p->status == CTUNE_OK && access->tensor < 0) {
        te_fail_at(p, token.line, token.col, "no such tensor:", name);
    }
    const void *idx = NULL;
    while (p->status == CTUNE_OK && te_accept(p, "[")) {
        const ctune_aff **slot = te_list_append(p, &idx, &access->n_idx, sizeof *slot);
        const ctune_aff *aff = te_parse_aff(p);
        te_expect(p, "]");
        if (slot != NULL) {
            *slot = aff;
        }
    }
    access->idx = idx;
    if (p->status == CTUNE_OK && access->n_idx != p->region->tensors[access->tensor].rank) {
        te_fail_at(p, token.line, token.col, "wrong number of indices for", name);
    }
    return p->status == CTUNE_OK;
}

/* name(a, b): select, min, max or a math function; the name is consumed */
static const ctune_expr *parse_call(te_parser *p, const char *name) {
    enum { MAX_ARGS = 8 };
    const ctune_expr *kids[MAX_ARGS] = {NULL};
    int n = 0;
    te_token token = p->token;
    te_expect(p, "(");
    do {
        if (n == MAX_ARGS) {
            te_fail(p, "too many arguments of", name);
            return NULL;
        }
        kids[n++] = te_parse_expr(p);
    } while (te_accept(p, ","));
    te_expect(p, ")");
    if (p->status != CTUNE_OK) {
        return NULL;
    }
    ctune_op op = strcmp(name, "select") == 0 ? CTUNE_OP_SELECT
                  : strcmp(name, "min") == 0  ? CTUNE_OP_MIN
                  : strcmp(name, "max") == 0  ? CTUNE_OP_MAX
                                              : CTUNE_OP_CALL;
    if (op != CTUNE_OP_CALL && n != ctune_op_get(op)->arity) {
        te_fail_at(p, token.line, token.col, "wrong number of arguments of", name);
        return NULL;
    }
    ctune_expr *e = expr_new(p, op, n, kids);
    if (e != NULL) {
        e->text = op == CTUNE_OP_CALL ? name : NULL;
    }
    return with_derived_type(p, e);
}

static const ctune_expr *parse_name(te_parser *p) {
    bool is_call = te_is_punct(&p->ahead, "("), is_aff = te_is_punct(&p->ahead, "{");
    int type = te_find_type(p->token.text);
    if (is_aff && type >= 0) {
        ctune_expr *e = expr_new(p, CTUNE_OP_AFF, 0, NULL);
        te_advance(p);
        te_expect(p, "{");
        const ctune_aff *aff = te_parse_aff(p);
        te_expect(p, "}");
        if (e == NULL || p->status != CTUNE_OK) {
            return NULL;
        }
        e->aff = aff;
        e->type = (ctune_type)type;
        return e;
    }
    if (is_call) {
        const char *name = p->token.text;
        te_advance(p);
        return type >= 0 ? te_parse_typed_const(p, (ctune_type)type) : parse_call(p, name);
    }
    ctune_expr *e = expr_new(p, CTUNE_OP_READ, 0, NULL);
    if (e == NULL || !te_parse_access(p, &e->access)) {
        return NULL;
    }
    return with_derived_type(p, e);
}

static const ctune_expr *parse_atom(te_parser *p) {
    const ctune_expr *e = NULL;
    if (p->token.kind == TE_NUMBER) {
        e = te_parse_literal(p);
    } else if (p->token.kind == TE_IDENT) {
        e = parse_name(p);
    } else if (te_accept(p, "(")) {
        e = te_parse_expr(p);
        te_expect(p, ")");
    } else {
        te_fail(p, "expected an expression, found", te_token_words(&p->token));
    }
    if (e != NULL && p->status == CTUNE_OK && te_accept(p, ":")) {
        ctune_expr *typed = expr_new(p, e->op, e->n_kids, e->kids);
        if (typed != NULL) {
            *typed = *e;
            typed->type = te_expect_type(p);
        }
        e = typed;
    }
    return p->status == CTUNE_OK ? e : NULL;
}

static const ctune_expr *parse_unary(te_parser *p) {
    const ctune_expr *e = NULL;
    if (!te_enter(p)) {
        return NULL;
    }
    bool is_paren = te_is_punct(&p->token, "(") && p->ahead.kind == TE_IDENT;
    if (te_accept(p, "-")) {
        e = parse_unary(p);
        e = with_derived_type(p, expr_new(p, CTUNE_OP_NEG, 1, &e));
    } else if (te_accept(p, "~")) {
        e = parse_unary(p);
        e = with_derived_type(p, expr_new(p, CTUNE_OP_BNOT, 1, &e));
    } else if (te_accept(p, "!")) {
        e = parse_unary(p);
        e = with_derived_type(p, expr_new(p, CTUNE_OP_LNOT, 1, &e));
    } else if (is_paren && te_find_type(p->ahead.text) >= 0 && *p->lexer.at == ')') {
        /* the lexer stands behind the type name: a cast, no typed constant follows */
        te_advance(p);
        ctune_type type = te_expect_type(p);
        te_expect(p, ")");
        e = parse_unary(p);
        ctune_expr *cast = expr_new(p, CTUNE_OP_CAST, 1, &e);
        if (cast != NULL) {
            cast->type = type;
        }
        e = cast;
    } else {
        e = parse_atom(p);
    }
    p->depth--;
    return p->status == CTUNE_OK ? e : NULL;
}

static int binary_strength(const te_token *token, ctune_op *op) {
    static const struct {
        ctune_op op;
        int strength;
    } rows[] = {{CTUNE_OP_LOR, 1},  {CTUNE_OP_LAND, 2}, {CTUNE_OP_BOR, 3}, {CTUNE_OP_BXOR, 4},
                {CTUNE_OP_BAND, 5}, {CTUNE_OP_EQ, 6},   {CTUNE_OP_NE, 6},  {CTUNE_OP_LT, 7},
                {CTUNE_OP_LE, 7},   {CTUNE_OP_GT, 7},   {CTUNE_OP_GE, 7},  {CTUNE_OP_SHL, 8},
                {CTUNE_OP_SHR, 8},  {CTUNE_OP_ADD, 9},  {CTUNE_OP_SUB, 9}, {CTUNE_OP_MUL, 10},
                {CTUNE_OP_DIV, 10}, {CTUNE_OP_MOD, 10}};
    for (size_t i = 0; token->kind == TE_PUNCT && i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(ctune_op_get(rows[i].op)->token, token->text) == 0) {
            *op = rows[i].op;
            return rows[i].strength;
        }
    }
    return 0;
}

static const ctune_expr *parse_binary(te_parser *p, int min_strength) {
    if (!te_enter(p)) {
        return NULL;
    }
    const ctune_expr *left = parse_unary(p);
    ctune_op op = CTUNE_OP_ADD;
    int strength = binary_strength(&p->token, &op);
    while (left != NULL && strength >= min_strength) {
        te_advance(p);
        const ctune_expr *kids[2] = {left, parse_binary(p, strength + 1)};
        left = kids[1] == NULL ? NULL : with_derived_type(p, expr_new(p, op, 2, kids));
        strength = binary_strength(&p->token, &op);
    }
    p->depth--;
    return p->status == CTUNE_OK ? left : NULL;
}

const ctune_expr *te_parse_expr(te_parser *p) {
    return parse_binary(p, 1);
}
