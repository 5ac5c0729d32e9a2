/*
 * Values in C: one row for each operation says what is printed.
 *
 * A value is printed as an expression of exactly its type: C's own conversions never act, but for
 * those that the value tree spells out as CONVERT. A product that a sum could absorb stands in
 * CTUNE_ROUND; sums of signed integers that may wrap go through unsigned types.
 */
#include "search/emit/emit_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct value_row value_row;
struct value_row {
    void (*print)(ctune_emitter *e, const ctune_value *v, const value_row *row);
    const char *token;
    emit_level level;       /* of the text, for scalars of types that C does not promote */
    emit_level left, right; /* least levels of the operands */
};

static void text(ctune_emitter *e, const char *bytes) {
    ctune_text_append(e->out, bytes);
}

/* ---- leaves ---------------------------------------------------------------------------------- */

static void print_float(ctune_emitter *e, ctune_type type, double f) {
    const char *suffix = type == CTUNE_F32 || type == CTUNE_F16 ? "f" : "";
    if (e->api != NULL && (isnan(f) || isinf(f))) {
        const char *zero = type == CTUNE_F32 ? "0.0f" : "0.0", *one = type == CTUNE_F32 ? "f" : "";
        ctune_text_printf(e->out, isnan(f) ? "(%s / %s)" : "(%s1.0%s / %s)",
                          isnan(f)     ? zero
                          : signbit(f) ? "-"
                                       : "",
                          isnan(f) ? zero : one, zero);
        return;
    }
    if (isnan(f) || isinf(f)) {
        ctune_text_printf(e->out, "%s__builtin_%s%s(%s)", signbit(f) ? "-" : "",
                          isnan(f) ? "nan" : "inf", suffix, isnan(f) ? "\"\"" : "");
        return;
    }
    char digits[40];
    for (int n = 6; n <= 17; n++) {
        snprintf(digits, sizeof digits, "%.*g", n, f);
        double back = strtod(digits, NULL);
        if (type == CTUNE_F32 ? (float)back == (float)f : back == f) {
            break;
        }
    }
    bool has_point = strpbrk(digits, ".e") != NULL;
    ctune_text_printf(e->out, "%s%s%s", digits, has_point ? "" : ".0", suffix);
}

static void print_int(ctune_emitter *e, ctune_type type, int64_t i) {
    const char *cast = emit_type(e, type, 1);
    if (type == CTUNE_I32 && i == INT32_MIN) {
        text(e, "-2147483647 - 1");
    } else if (type == CTUNE_I32) {
        ctune_text_printf(e->out, "%lld", (long long)i);
    } else if (type == CTUNE_U32) {
        ctune_text_printf(e->out, "%lluu", (unsigned long long)(uint32_t)i);
    } else if (type == CTUNE_U64) {
        ctune_text_printf(e->out, "(%s)%lluu", cast, (unsigned long long)i);
    } else if (i == INT64_MIN) {
        ctune_text_printf(e->out, "(%s)(-9223372036854775807 - 1)", cast);
    } else {
        ctune_text_printf(e->out, i < 0 ? "(%s)(%lld)" : "(%s)%lld", cast, (long long)i);
    }
}

/* Does the literal that the user wrote have the value's type? Others than numbers do. A kernel
 * stands outside of the file: what the words mean there is not known. */
static bool has_text(const ctune_emitter *e, const ctune_value *v) {
    const char *t = e->api != NULL ? NULL : v->text;
    if (t == NULL || (strchr("0123456789.", t[0]) == NULL)) {
        return t != NULL;
    }
    bool is_hex = t[0] == '0' && (t[1] == 'x' || t[1] == 'X');
    bool is_float = strpbrk(t, is_hex ? "pP" : ".eE") != NULL;
    size_t n = strlen(t), n_suffix = 0;
    const char *letters = is_float ? "fFlL" : "uUlL";
    bool has_u = false, has_l = false, has_f = false;
    while (n_suffix < n && strchr(letters, t[n - 1 - n_suffix]) != NULL) {
        char c = t[n - 1 - n_suffix++];
        has_u |= c == 'u' || c == 'U';
        has_l |= c == 'l' || c == 'L';
        has_f |= c == 'f' || c == 'F';
    }
    bool is_wide = v->type == CTUNE_I64 || v->type == CTUNE_U64;
    bool is_unsigned = v->type == CTUNE_U32 || v->type == CTUNE_U64;
    return ctune_type_is_float(v->type)
               ? is_float && has_f == (v->type == CTUNE_F32) && has_l == (v->type == CTUNE_F80)
               : !is_float && has_u == is_unsigned && has_l == is_wide &&
                     ctune_type_get(v->type)->bytes >= 4;
}

/* A long double or half is made of a literal that is exact. */
static bool needs_cast(const ctune_emitter *e, const ctune_value *v) {
    return !has_text(e, v) && (v->type == CTUNE_F80 || v->type == CTUNE_F16);
}

static void print_const(ctune_emitter *e, const ctune_value *v, const value_row *row) {
    (void)row;
    if (has_text(e, v)) {
        text(e, v->text);
    } else if (!ctune_type_is_float(v->type)) {
        print_int(e, v->type, v->i_value);
    } else if (needs_cast(e, v)) {
        ctune_text_printf(e->out, "(%s)(", emit_type(e, v->type, 1));
        print_float(e, v->type, v->f_value);
        text(e, ")");
    } else {
        print_float(e, v->type, v->f_value);
    }
}

/* Only a literal's text needs no parentheses for sure. */
static emit_level const_level(const ctune_emitter *e, const ctune_value *v) {
    if (has_text(e, v)) {
        bool is_number = strchr("0123456789.", v->text[0]) != NULL && strchr(v->text, ' ') == NULL;
        return is_number ? CTUNE_LEVEL_PRIMARY : CTUNE_LEVEL_ANY;
    }
    if (ctune_type_is_float(v->type)) {
        return needs_cast(e, v) || signbit(v->f_value) ? CTUNE_LEVEL_UNARY : CTUNE_LEVEL_PRIMARY;
    }
    return v->type == CTUNE_I32 && v->i_value == INT32_MIN ? CTUNE_LEVEL_SUM
           : v->type == CTUNE_U32                          ? CTUNE_LEVEL_PRIMARY
           : v->type == CTUNE_I32 && v->i_value >= 0       ? CTUNE_LEVEL_PRIMARY
                                                           : CTUNE_LEVEL_UNARY;
}

static void print_index(ctune_emitter *e, const ctune_value *v, const value_row *row) {
    (void)row;
    ctune_text_printf(e->out, "(%s)", emit_type(e, v->type, 1));
    emit_index(e, v->index, CTUNE_LEVEL_PRIMARY);
}

static void print_var(ctune_emitter *e, const ctune_value *v, const value_row *row) {
    (void)row;
    text(e, emit_var(e, v->var));
}

static void print_load(ctune_emitter *e, const ctune_value *v, const value_row *row) {
    (void)row;
    if (v->lanes > 1) {
        ctune_text_printf(e->out, "*(const %s *)&", emit_memory_type(e, v->type, v->lanes));
    }
    emit_place(e, &v->place);
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static void print_operands(ctune_emitter *e, const ctune_value *v, const value_row *row,
                           const char *cast) {
    emit_level left = cast[0] != '\0' ? CTUNE_LEVEL_UNARY : row->left;
    emit_level right = cast[0] != '\0' ? CTUNE_LEVEL_UNARY : row->right;
    if (v->n_kids == 1) {
        text(e, row->token);
        text(e, cast);
        emit_value(e, v->kids[0], left);
        return;
    }
    text(e, cast);
    emit_value(e, v->kids[0], left);
    ctune_text_printf(e->out, " %s ", row->token);
    text(e, cast);
    emit_value(e, v->kids[1], right);
}

/* Is the result of C's operator of another type than the value's (a half is promoted), or does it
 * pass through an unsigned type? Then it stands behind a cast. */
static bool is_cast(const ctune_value *v) {
    return v->wraps || (v->lanes == 1 && v->type == CTUNE_F16 && v->n_kids == 2);
}

static void print_list(ctune_emitter *e, const ctune_value *v, emit_level level);

/* A function of the device instead of an operator. */
static bool print_device(ctune_emitter *e, const ctune_value *v) {
    const char *name = emit_gpu_arith(e, v);
    if (name != NULL) {
        ctune_text_printf(e->out, "%s(", name);
        print_list(e, v, CTUNE_LEVEL_ANY);
        text(e, ")");
    }
    return name != NULL;
}

static void print_operator(ctune_emitter *e, const ctune_value *v, const value_row *row) {
    const char *cast = "";
    if (print_device(e, v)) {
        return;
    }
    if (is_cast(v)) {
        ctune_text_printf(e->out, "(%s)(", emit_type(e, v->type, v->lanes));
    }
    if (v->wraps) {
        cast =
            ctune_arena_printf(e->arena, "(%s)", emit_type(e, emit_unsigned_of(v->type), v->lanes));
    }
    print_operands(e, v, row, cast == NULL ? "" : cast);
    text(e, is_cast(v) ? ")" : "");
}

/* Masks of a vector are signed integers; the compilers disagree about which. */
static void print_compare(ctune_emitter *e, const ctune_value *v, const value_row *row) {
    if (v->lanes > 1) {
        ctune_text_printf(e->out, "(%s)(", emit_type(e, v->type, v->lanes));
    }
    print_operands(e, v, row, "");
    text(e, v->lanes > 1 ? ")" : "");
}

void emit_test(ctune_emitter *e, const ctune_value *v, emit_level level) {
    bool is_truth = (v->op >= CTUNE_V_LT && v->op <= CTUNE_V_LNOT);
    if (is_truth) {
        emit_value(e, v, level);
        return;
    }
    text(e, level > CTUNE_LEVEL_TEST ? "(" : "");
    emit_value(e, v, CTUNE_LEVEL_UNARY);
    text(e, " != 0");
    text(e, level > CTUNE_LEVEL_TEST ? ")" : "");
}

static void print_logical(ctune_emitter *e, const ctune_value *v, const value_row *row) {
    if (v->n_kids == 1) {
        text(e, row->token);
        emit_test(e, v->kids[0], CTUNE_LEVEL_UNARY);
        return;
    }
    emit_test(e, v->kids[0], CTUNE_LEVEL_TEST);
    ctune_text_printf(e->out, " %s ", row->token);
    emit_test(e, v->kids[1], CTUNE_LEVEL_TEST);
}

/* ---- choices --------------------------------------------------------------------------------- */

/* (T)(((I)yes & mask) | ((I)no & ~mask)); mask prints itself at UNARY level. */
static void print_blend(ctune_emitter *e, const ctune_value *v, const ctune_value *yes,
                        const ctune_value *no, const char *mask) {
    const char *ints = emit_type(e, emit_signed_of(v->type), v->lanes);
    ctune_text_printf(e->out, "(%s)(((%s)", emit_type(e, v->type, v->lanes), ints);
    emit_value(e, yes, CTUNE_LEVEL_UNARY);
    ctune_text_printf(e->out, " & %s) | ((%s)", mask, ints);
    emit_value(e, no, CTUNE_LEVEL_UNARY);
    ctune_text_printf(e->out, " & ~%s))", mask);
}

/* What `print` writes, as text of its own. */
static const char *captured(ctune_emitter *e, const ctune_value *v, const char *compare) {
    ctune_text *out = e->out, own;
    ctune_text_init(&own);
    e->out = &own;
    if (compare == NULL) {
        emit_value(e, v->kids[0], CTUNE_LEVEL_UNARY);
    } else {
        ctune_text_printf(&own, "(%s)(", emit_type(e, emit_signed_of(v->type), v->lanes));
        emit_value(e, v->kids[0], CTUNE_LEVEL_SUM);
        ctune_text_printf(&own, " %s ", compare);
        emit_value(e, v->kids[1], CTUNE_LEVEL_SUM);
        text(e, ")");
    }
    const char *copy = ctune_arena_strdup(e->arena, ctune_text_get(&own));
    ctune_text_clear(&own);
    e->out = out;
    return copy == NULL ? "" : copy;
}

static void print_select(ctune_emitter *e, const ctune_value *v, const value_row *row) {
    (void)row;
    if (v->lanes > 1) {
        print_blend(e, v, v->kids[1], v->kids[2], captured(e, v, NULL));
        return;
    }
    emit_test(e, v->kids[0], CTUNE_LEVEL_TEST);
    text(e, " ? ");
    emit_value(e, v->kids[1], CTUNE_LEVEL_SUM);
    text(e, " : ");
    emit_value(e, v->kids[2], CTUNE_LEVEL_SUM);
}

static void print_extreme(ctune_emitter *e, const ctune_value *v, const value_row *row) {
    if (v->lanes > 1) {
        print_blend(e, v, v->kids[0], v->kids[1], captured(e, v, row->token));
        return;
    }
    print_operands(e, v, row, "");
    text(e, " ? ");
    emit_value(e, v->kids[0], CTUNE_LEVEL_SUM);
    text(e, " : ");
    emit_value(e, v->kids[1], CTUNE_LEVEL_SUM);
}

/* ---- calls, vectors -------------------------------------------------------------------------- */

static void print_list(ctune_emitter *e, const ctune_value *v, emit_level level) {
    for (int i = 0; i < v->n_kids; i++) {
        text(e, i > 0 ? ", " : "");
        emit_value(e, v->kids[i], level);
    }
}

static void print_call(ctune_emitter *e, const ctune_value *v, const value_row *row) {
    (void)row;
    if (e->api != NULL) {
        emit_gpu_call(e, v);
        return;
    }
    emit_call(e, v);
}

/* The vectors' are macros: a comma between braces must not stand in their arguments. */
static void print_fma(ctune_emitter *e, const ctune_value *v, const value_row *row) {
    (void)row;
    if (print_device(e, v)) {
        return;
    }
    if (v->lanes > 1) {
        emit_type(e, v->type, v->lanes); /* the macro needs it */
        ctune_text_printf(e->out, "ctune_fma_%sx%d(", ctune_type_get(v->type)->name, v->lanes);
    } else {
        text(e, v->type == CTUNE_F32   ? "__builtin_fmaf("
                : v->type == CTUNE_F80 ? "__builtin_fmal("
                : v->type == CTUNE_F16 ? "(_Float16)__builtin_fma("
                                       : "__builtin_fma(");
    }
    print_list(e, v, v->lanes > 1 ? CTUNE_LEVEL_TEST : CTUNE_LEVEL_ANY);
    text(e, ")");
}

static void print_convert(ctune_emitter *e, const ctune_value *v, const value_row *row) {
    (void)row;
    const char *type = emit_type(e, v->type, v->lanes);
    ctune_text_printf(e->out, v->lanes > 1 ? "__builtin_convertvector(" : "(%s)", type);
    emit_value(e, v->kids[0], v->lanes > 1 ? CTUNE_LEVEL_ANY : CTUNE_LEVEL_UNARY);
    if (v->lanes > 1) {
        ctune_text_printf(e->out, ", %s)", type);
    }
}

static void print_splat(ctune_emitter *e, const ctune_value *v, const value_row *row) {
    (void)row;
    ctune_text_printf(e->out, "CTUNE_SPLAT%d(%s, ", v->lanes, emit_type(e, v->type, v->lanes));
    emit_value(e, v->kids[0], CTUNE_LEVEL_ANY);
    text(e, ")");
}

/* Lanes of one or two variables of as many lanes: pick[] counts through both. Returns the number of
 * variables, 0 when the gather is something else. */
static int find_shuffle(const ctune_value *v, const ctune_value **from, int *pick) {
    int n = 0;
    for (int i = 0; i < v->n_kids; i++) {
        const ctune_value *kid = v->kids[i];
        if (v->lanes > 16 || kid->op != CTUNE_V_EXTRACT || kid->kids[0]->op != CTUNE_V_VAR ||
            kid->kids[0]->lanes != v->lanes) {
            return 0;
        }
        int at = 0;
        while (at < n && from[at] != kid->kids[0]) {
            at++;
        }
        if (at == 2) {
            return 0;
        }
        from[at] = kid->kids[0];
        n = at == n ? n + 1 : n;
        pick[i] = at * v->lanes + kid->lane;
    }
    return n;
}

static void print_shuffle(ctune_emitter *e, const ctune_value *v, const ctune_value **from,
                          const int *pick) {
    ctune_text_printf(e->out, "CTUNE_SHUFFLE%d(", v->lanes);
    for (int i = 0; i < 2; i++) {
        emit_value(e, from[i], CTUNE_LEVEL_ANY);
        text(e, ", ");
    }
    for (int i = 0; i < v->lanes; i++) {
        ctune_text_printf(e->out, "%s%d", i > 0 ? ", " : "", pick[i]);
    }
    text(e, ")");
}

/* In parentheses but where it is the whole expression: see print_fma. */
static void print_gather(ctune_emitter *e, const ctune_value *v, const value_row *row) {
    (void)row;
    const ctune_value *from[2];
    int pick[16], n = find_shuffle(v, from, pick);
    if (n > 0) {
        from[1] = n == 1 ? from[0] : from[1];
        print_shuffle(e, v, from, pick);
        return;
    }
    ctune_text_printf(e->out, "%s(%s){", e->options->target->is_c90 ? "__extension__ " : "",
                      emit_type(e, v->type, v->lanes));
    print_list(e, v, CTUNE_LEVEL_ANY);
    text(e, "}");
}

static void print_dot(ctune_emitter *e, const ctune_value *v, const value_row *row) {
    (void)row;
    emit_dot(e, v);
}

static void print_extract(ctune_emitter *e, const ctune_value *v, const value_row *row) {
    (void)row;
    emit_value(e, v->kids[0], CTUNE_LEVEL_PRIMARY);
    ctune_text_printf(e->out, "[%d]", v->lane);
}

static void print_slide(ctune_emitter *e, const ctune_value *v, const value_row *row) {
    (void)row;
    /* its operands in parentheses: a comma between braces must not stand in a macro's argument */
    ctune_text_printf(e->out, "CTUNE_SLIDE(%s, (",
                      emit_type(e, ctune_mask_type(v->type), v->lanes));
    emit_value(e, v->kids[0], CTUNE_LEVEL_ANY);
    text(e, "), (");
    emit_value(e, v->kids[1], CTUNE_LEVEL_ANY);
    ctune_text_printf(e->out, "), CTUNE_FROM%d(%d))", v->lanes, v->lane);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define L(level) CTUNE_LEVEL_##level
static const value_row rows[CTUNE_N_VALUE_OPS] = {
    [CTUNE_V_CONST] = {print_const, NULL, L(PRIMARY), 0, 0},
    [CTUNE_V_INDEX] = {print_index, NULL, L(UNARY), 0, 0},
    [CTUNE_V_VAR] = {print_var, NULL, L(PRIMARY), 0, 0},
    [CTUNE_V_LOAD] = {print_load, NULL, L(PRIMARY), 0, 0},
    [CTUNE_V_ADD] = {print_operator, "+", L(SUM), L(SUM), L(PROD)},
    [CTUNE_V_SUB] = {print_operator, "-", L(SUM), L(SUM), L(PROD)},
    [CTUNE_V_MUL] = {print_operator, "*", L(PROD), L(PROD), L(UNARY)},
    [CTUNE_V_FMA] = {print_fma, NULL, L(PRIMARY), 0, 0},
    [CTUNE_V_DIV] = {print_operator, "/", L(PROD), L(PROD), L(UNARY)},
    [CTUNE_V_MOD] = {print_operator, "%", L(PROD), L(UNARY), L(UNARY)},
    [CTUNE_V_NEG] = {print_operator, "-", L(UNARY), L(PRIMARY), 0},
    [CTUNE_V_BAND] = {print_operator, "&", L(OTHER), L(UNARY), L(UNARY)},
    [CTUNE_V_BOR] = {print_operator, "|", L(OTHER), L(UNARY), L(UNARY)},
    [CTUNE_V_BXOR] = {print_operator, "^", L(OTHER), L(UNARY), L(UNARY)},
    [CTUNE_V_BNOT] = {print_operator, "~", L(UNARY), L(UNARY), 0},
    [CTUNE_V_SHL] = {print_operator, "<<", L(OTHER), L(UNARY), L(UNARY)},
    [CTUNE_V_SHR] = {print_operator, ">>", L(OTHER), L(UNARY), L(UNARY)},
    [CTUNE_V_LT] = {print_compare, "<", L(TEST), L(SUM), L(SUM)},
    [CTUNE_V_LE] = {print_compare, "<=", L(TEST), L(SUM), L(SUM)},
    [CTUNE_V_GT] = {print_compare, ">", L(TEST), L(SUM), L(SUM)},
    [CTUNE_V_GE] = {print_compare, ">=", L(TEST), L(SUM), L(SUM)},
    [CTUNE_V_EQ] = {print_compare, "==", L(TEST), L(SUM), L(SUM)},
    [CTUNE_V_NE] = {print_compare, "!=", L(TEST), L(SUM), L(SUM)},
    [CTUNE_V_LAND] = {print_logical, "&&", L(OTHER), 0, 0},
    [CTUNE_V_LOR] = {print_logical, "||", L(OTHER), 0, 0},
    [CTUNE_V_LNOT] = {print_logical, "!", L(UNARY), 0, 0},
    [CTUNE_V_SELECT] = {print_select, NULL, L(OTHER), 0, 0},
    [CTUNE_V_CONVERT] = {print_convert, NULL, L(UNARY), 0, 0},
    [CTUNE_V_MIN] = {print_extreme, "<", L(OTHER), L(SUM), L(SUM)},
    [CTUNE_V_MAX] = {print_extreme, ">", L(OTHER), L(SUM), L(SUM)},
    [CTUNE_V_CALL] = {print_call, NULL, L(PRIMARY), 0, 0},
    [CTUNE_V_SPLAT] = {print_splat, NULL, L(PRIMARY), 0, 0},
    [CTUNE_V_GATHER] = {print_gather, NULL, L(OTHER), 0, 0},
    [CTUNE_V_SLIDE] = {print_slide, NULL, L(PRIMARY), 0, 0},
    [CTUNE_V_DOT] = {print_dot, NULL, L(PRIMARY), 0, 0},
    [CTUNE_V_EXTRACT] = {print_extract, NULL, L(PRIMARY), 0, 0},
};
#undef L

static emit_level level_of(const ctune_emitter *e, const ctune_value *v) {
    bool is_blend =
        v->lanes > 1 && (v->op == CTUNE_V_SELECT || v->op == CTUNE_V_MIN || v->op == CTUNE_V_MAX);
    bool is_mask = v->lanes > 1 && v->op >= CTUNE_V_LT && v->op <= CTUNE_V_NE;
    bool is_vector_load = v->lanes > 1 && v->op == CTUNE_V_LOAD;
    bool is_fabs = v->lanes > 1 && v->op == CTUNE_V_CALL; /* may be a cast */
    bool is_half_fma = v->op == CTUNE_V_FMA && v->type == CTUNE_F16;
    if (e->api != NULL && emit_gpu_arith(e, v) != NULL) {
        return CTUNE_LEVEL_PRIMARY; /* a call */
    }
    return v->op == CTUNE_V_CONST ? const_level(e, v)
           : is_blend || is_mask || is_vector_load || is_half_fma || is_fabs || is_cast(v)
               ? CTUNE_LEVEL_UNARY
               : rows[v->op].level;
}

/* ---- rounded products ------------------------------------------------------------------------ */

/* How many CTUNE_ROUND stand inside each other in the text of v: their temporaries need different
 * names, or -Wshadow warns. */
static int rounds_within(const ctune_emitter *e, const ctune_value *v) {
    int most = 0;
    for (int i = 0; i < v->n_kids; i++) {
        int n = rounds_within(e, v->kids[i]);
        most = n > most ? n : most;
    }
    return most + emit_is_rounded(e, v);
}

static void print_rounded(ctune_emitter *e, const ctune_value *v, const value_row *row) {
    const char *type = emit_type(e, v->type, v->lanes);
    int bytes = ctune_type_get(v->type)->bytes * v->lanes;
    int depth = rounds_within(e, v) - 1;
    const char *reg = bytes >= 64                                 ? "CTUNE_REG_64"
                      : bytes < 4 || (v->lanes > 1 && bytes < 16) ? "CTUNE_REG_SMALL"
                                                                  : "CTUNE_REG";
    if (depth == 0 && strcmp(reg, "CTUNE_REG") == 0) {
        ctune_text_printf(e->out, "CTUNE_ROUND(%s, ", type);
    } else {
        ctune_text_printf(e->out, "CTUNE_ROUND_AS(ctune_r%d, %s, %s, ", depth, reg, type);
    }
    row->print(e, v, row);
    text(e, ")");
}

void emit_value(ctune_emitter *e, const ctune_value *v, emit_level level) {
    if (v == NULL) {
        ctune_loops_fail(e->loops, CTUNE_EBUG, "emit: a value is missing");
        return;
    }
    const value_row *row = &rows[v->op];
    if (e->api == NULL && emit_is_rounded(e, v)) {
        print_rounded(e, v, row);
        return;
    }
    bool parens = level_of(e, v) < level;
    text(e, parens ? "(" : "");
    row->print(e, v, row);
    text(e, parens ? ")" : "");
}
