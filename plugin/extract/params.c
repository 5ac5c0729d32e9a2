/*
 * Parameters: integers that the region reads and never writes, and the clauses that speak of them.
 *
 * In: variables, members, invariant expressions; sizes(...) and assume(...). Out: rows of b->params
 * and b->assumes. An invariant expression that is no affine form (k*k, n%4, max(n, m)) becomes a
 * parameter of its own.
 */
#include "plugin/extract/build.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum { OUTER = 1 }; /* size of a counter outside of the region that nobody gave */

static const char *last_component(const char *text) {
    const char *last = text;
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '.' || (p > text && p[-1] == '-' && *p == '>')) {
            last = p + 1;
        }
    }
    return last;
}

/* *p is p[0]. */
static bool is_first_element(const char *text, const char *name) {
    size_t n = name[0] == '*' ? strlen(name) - 1 : 0;
    return n > 0 && strncmp(text, name + 1, n) == 0 && strcmp(text + n, "[0]") == 0;
}

static bool is_named(const ctune_param *param, const char *name) {
    return is_first_element(param->c_text, name) || strcmp(name, param->name) == 0 ||
           strcmp(name, param->c_text) == 0 || strcmp(name, last_component(param->c_text)) == 0;
}

/* Of an earlier build. */
static void take_fitted(const ctune_build *b, ctune_param *param, ctune_param_info *info) {
    for (int i = 0; i < b->n_fitted; i++) {
        if (strcmp(b->fitted[i].c_text, param->c_text) == 0) {
            param->n_sizes = 1;
            param->sizes[0] = b->fitted[i].sizes[0];
            info->most = b->fitted_infos[i].most;
            info->origin = CTUNE_SIZE_FITTED;
        }
    }
}

static void take_sizes(ctune_build *b, ctune_param *param) {
    for (int i = 0; i < b->pragma->n_sizes; i++) {
        const ctune_pragma_size *size = &b->pragma->sizes[i];
        if (is_named(param, size->name)) {
            param->n_sizes = size->n_values < CTUNE_MAX_SIZES ? size->n_values : CTUNE_MAX_SIZES;
            memcpy(param->sizes, size->values, (size_t)param->n_sizes * sizeof *size->values);
        }
    }
}

int ctune_param_of_text(ctune_build *b, const char *text, ctune_type type, int64_t size,
                        bool is_memory) {
    for (int i = 0; i < b->params.n; i++) {
        if (text != NULL && strcmp(b->params.at[i].c_text, text) == 0) {
            return i;
        }
    }
    ctune_param param = {.c_text = text, .type = type};
    param.name = text != NULL ? ctune_build_name(b, text) : NULL;
    if (param.name == NULL) {
        return -1;
    }
    ctune_param_info info = {.is_memory = is_memory, .most = CTUNE_SIZE_MOST};
    take_sizes(b, &param);
    if (param.n_sizes > 0) {
        info.origin = CTUNE_SIZE_GIVEN;
    } else if (size != 0) {
        info.origin = CTUNE_SIZE_DERIVED;
        param.n_sizes = 1;
        param.sizes[0] = size;
    } else {
        take_fitted(b, &param, &info);
    }
    ctune_param *slot = CTUNE_PUSH(b, b->params);
    ctune_param_info *info_slot = CTUNE_PUSH(b, b->param_infos);
    if (slot == NULL || info_slot == NULL) {
        return -1;
    }
    *slot = param;
    *info_slot = info;
    return b->params.n - 1;
}

int ctune_param_of_var(ctune_build *b, ctune_var *var, CXCursor at) {
    if (var->param >= 0) {
        return var->param;
    }
    if (var->n_writes > 0 || var->is_inside) {
        ctune_build_refuse(
            b, b->in_subscript ? CTUNE_REFUSE_SUBSCRIPT_ASSIGNED : CTUNE_REFUSE_BOUND_CHANGES, at,
            "'%s' is assigned in the region", var->name);
        return -1;
    }
    if (!ctune_type_check(b, var->type, at)) {
        return -1;
    }
    bool is_memory = !var->is_automatic || var->is_address_taken;
    var->param = ctune_param_of_text(b, var->name, ctune_cx_type(var->type), 0, is_memory);
    if (var->param >= 0 && var->is_outer_counter) {
        ctune_param_prefer(b, ctune_poly_atom(b->arena, CTUNE_TERM_PARAM, var->param), OUTER);
    }
    return var->param;
}

/* The parameter that the form is. -1: it is another form. */
static int single_param(const ctune_poly *poly) {
    bool is_param = poly != NULL && poly->n == 1 && poly->mono[0].degree == 1 &&
                    poly->mono[0].coef == 1 && ctune_mono_is_params(&poly->mono[0]);
    return is_param ? poly->mono[0].atom[0].id : -1;
}

void ctune_param_prefer(ctune_build *b, const ctune_poly *form, int64_t size) {
    int id = single_param(form);
    ctune_param_info *info = id >= 0 ? &b->param_infos.at[id] : NULL;
    if (info != NULL && info->origin == CTUNE_SIZE_NOMINAL && !info->is_factor) {
        info->origin = CTUNE_SIZE_SMALL;
        b->params.at[id].n_sizes = 1;
        b->params.at[id].sizes[0] = size;
    }
}

void ctune_param_end_high(ctune_build *b, const ctune_poly *end) {
    int id = single_param(end);
    bool is_outer = false;
    for (int v = 0; v < b->vars.n && id >= 0; v++) {
        is_outer |= b->vars.at[v].is_outer_counter && b->vars.at[v].param == id;
    }
    if (is_outer && b->param_infos.at[id].origin == CTUNE_SIZE_SMALL) {
        b->param_infos.at[id].origin = CTUNE_SIZE_NOMINAL;
        b->params.at[id].n_sizes = 0;
    }
}

/* ---- assume(...) ----------------------------------------------------------------------------- */

typedef struct assume_parser {
    ctune_build *b;
    const char *start, *p;
    bool has_div;
    bool is_foreign; /* the comparison names a variable that the region does not read */
    bool ok;
} assume_parser;

static void skip(assume_parser *q) {
    while (isspace((unsigned char)*q->p)) {
        q->p++;
    }
}

static bool accept(assume_parser *q, const char *token) {
    skip(q);
    size_t n = strlen(token);
    if (strncmp(q->p, token, n) != 0) {
        return false;
    }
    q->p += n;
    return true;
}

static const ctune_poly *fail(assume_parser *q, const char *words) {
    if (q->ok) {
        ctune_build_error(q->b, "bad-assume", "assume(%s): %s", q->start, words);
    }
    q->ok = false;
    return NULL;
}

static const ctune_poly *parse_sum(assume_parser *q);

static const ctune_poly *parse_name(assume_parser *q) {
    const char *begin = q->p;
    while (isalnum((unsigned char)*q->p) || *q->p == '_') {
        q->p++;
    }
    size_t n = (size_t)(q->p - begin);
    for (int i = 0; i < q->b->vars.n; i++) {
        ctune_var *var = &q->b->vars.at[i];
        ctune_type type = ctune_cx_type(var->type);
        if (strlen(var->name) == n && strncmp(var->name, begin, n) == 0 && type < CTUNE_F16 &&
            var->n_writes == 0 && !var->is_inside) {
            int param = ctune_param_of_var(q->b, var, var->decl);
            return param < 0 ? fail(q, "not a parameter")
                             : ctune_poly_atom(q->b->arena, CTUNE_TERM_PARAM, param);
        }
    }
    if (ctune_inline_declares(q->b, ctune_arena_strndup(q->b->arena, begin, n))) {
        q->is_foreign = true; /* a variable that does not matter here */
        return ctune_poly_const(q->b->arena, 0);
    }
    return fail(q, "only integer variables that the region reads and does not write may be named");
}

/* The clause speaks of a variable that the region does not read: said (by the first build), and
 * left out. */
static void warn_foreign(assume_parser *q, const char *text) {
    char words[200];
    if (q->b->n_fitted > 0) {
        return;
    }
    snprintf(words, sizeof words, "assume(%.100s) names a variable that the loop does not read",
             text);
    ctune_diag d = {.severity = CTUNE_WARNING,
                    .file = q->b->source->file,
                    .line = q->b->pragma->line,
                    .col = q->b->pragma->col,
                    .code = "unused-assume",
                    .text = words,
                    .hint = "remove the condition"};
    ctune_diag_send(q->b->ctx, &d);
}

static const ctune_poly *parse_primary(assume_parser *q) {
    skip(q);
    if (accept(q, "(")) {
        const ctune_poly *inner = parse_sum(q);
        return accept(q, ")") ? inner : fail(q, "expected )");
    }
    if (accept(q, "-")) {
        return ctune_poly_scale(q->b->arena, parse_primary(q), -1);
    }
    if (isdigit((unsigned char)*q->p)) {
        char *end;
        long long value = strtoll(q->p, &end, 0);
        q->p = end;
        while (*q->p == 'u' || *q->p == 'U' || *q->p == 'l' || *q->p == 'L') {
            q->p++;
        }
        return ctune_poly_const(q->b->arena, value);
    }
    return isalpha((unsigned char)*q->p) || *q->p == '_' ? parse_name(q)
                                                         : fail(q, "expected a name or number");
}

static const ctune_poly *parse_product(assume_parser *q) {
    const ctune_poly *value = parse_primary(q);
    for (;;) {
        if (accept(q, "*")) {
            value = ctune_poly_mul(q->b->arena, value, parse_primary(q));
        } else if (accept(q, "%")) {
            int64_t den;
            const ctune_aff *num = ctune_poly_to_aff(q->b->arena, value);
            if (!ctune_poly_is_const(parse_primary(q), &den) || den <= 0 || num == NULL) {
                return fail(q, "% needs a positive constant");
            }
            ctune_div *div = CTUNE_PUSH(q->b, q->b->divs);
            if (div == NULL) {
                return NULL;
            }
            *div = (ctune_div){.num = num, .den = den};
            q->has_div = true;
            const ctune_poly *floor =
                ctune_poly_atom(q->b->arena, CTUNE_TERM_DIV, q->b->divs.n - 1);
            value = ctune_poly_sub(q->b->arena, value, ctune_poly_scale(q->b->arena, floor, den));
        } else {
            return value;
        }
    }
}

static const ctune_poly *parse_sum(assume_parser *q) {
    const ctune_poly *value = parse_product(q);
    for (;;) {
        skip(q);
        if (*q->p == '+' && accept(q, "+")) {
            value = ctune_poly_add(q->b->arena, value, parse_product(q));
        } else if (*q->p == '-' && accept(q, "-")) {
            value = ctune_poly_sub(q->b->arena, value, parse_product(q));
        } else {
            return value;
        }
    }
}

static bool add_assume(assume_parser *q, const ctune_poly *poly, const char *text) {
    const ctune_aff *aff = ctune_poly_to_aff(q->b->arena, poly);
    if (aff == NULL) {
        fail(q, "not affine");
        return false;
    }
    ctune_assume *assume = CTUNE_PUSH(q->b, q->b->assumes);
    if (assume == NULL) {
        return false;
    }
    *assume = (ctune_assume){aff, text};
    return true;
}

static bool parse_comparison(assume_parser *q) {
    ctune_arena *a = q->b->arena;
    skip(q);
    const char *begin = q->p;
    q->has_div = q->is_foreign = false;
    const ctune_poly *left = parse_sum(q);
    static const char *const ops[] = {"<=", ">=", "==", "<", ">"};
    int op = 0;
    while (op < 5 && !accept(q, ops[op])) {
        op++;
    }
    if (op == 5) {
        return fail(q, "expected a comparison with <, <=, >, >= or ==") != NULL;
    }
    bool has_div = q->has_div;
    const ctune_poly *right = parse_sum(q), *diff = ctune_poly_sub(a, right, left); /* >= 0 */
    int64_t zero;
    if (has_div && (op != 2 || !ctune_poly_is_const(right, &zero) || zero != 0)) {
        return fail(q, "% may only be compared with == 0") != NULL;
    }
    if (!q->ok || diff == NULL) {
        return false;
    }
    if (q->is_foreign) {
        warn_foreign(q, ctune_arena_strndup(a, begin, (size_t)(q->p - begin)));
        return true;
    }
    const char *text = has_div ? ctune_arena_strndup(a, begin, (size_t)(q->p - begin)) : NULL;
    switch (op) {
    case 0:
        return add_assume(q, diff, text);
    case 1:
        return add_assume(q, ctune_poly_scale(a, diff, -1), text);
    case 2:
        return add_assume(q, diff, text) &&
               add_assume(q, ctune_poly_scale(a, diff, -1), has_div ? text : NULL);
    case 3:
        return add_assume(q, ctune_poly_add(a, diff, ctune_poly_const(a, -1)), text);
    default:
        return add_assume(
            q, ctune_poly_add(a, ctune_poly_scale(a, diff, -1), ctune_poly_const(a, -1)), text);
    }
}

bool ctune_clauses_apply(ctune_build *b) {
    for (int i = 0; i < b->pragma->n_assumes; i++) {
        assume_parser q = {
            .b = b, .start = b->pragma->assumes[i], .p = b->pragma->assumes[i], .ok = true};
        do {
            if (!parse_comparison(&q)) {
                return false;
            }
        } while (accept(&q, "&&"));
        skip(&q);
        if (*q.p != '\0') {
            return fail(&q, "unexpected text at the end") != NULL;
        }
    }
    return true;
}

bool ctune_clauses_check(ctune_build *b) {
    for (int i = 0; i < b->pragma->n_sizes; i++) {
        bool found = false;
        for (int p = 0; p < b->params.n; p++) {
            found |= is_named(&b->params.at[p], b->pragma->sizes[i].name);
        }
        if (!found) {
            return ctune_build_error(b, "unknown-size",
                                     "sizes(%s): the region has no integer parameter of that name",
                                     b->pragma->sizes[i].name);
        }
    }
    return true;
}
