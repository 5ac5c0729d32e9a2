/*
 * Loads that stay the same in the region: gp[0], *dimX, grid[lev].n, p != NULL, const variables.
 *
 * In: lvalues and expressions met in bounds, strides and conditions. Out: constants, or parameters
 * whose C text is the load, read once before the region. alias.c refuses them when the region
 * stores there by name, and guards against pointers that might point there.
 */
#include "plugin/extract/build.h"

/* The index in C, when only parameters are in it. */
static const char *index_text(ctune_build *b, const ctune_poly *poly) {
    const char *text = NULL;
    for (int i = 0; i < poly->n; i++) {
        const ctune_mono *m = &poly->mono[i];
        if (!ctune_mono_is_params(m)) {
            return NULL;
        }
        bool is_plain = m->coef == 1 && m->degree > 0;
        const char *term = is_plain ? "" : ctune_arena_printf(b->arena, "%lld", (long long)m->coef);
        for (int d = 0; d < m->degree && term != NULL; d++) {
            const char *name = b->params.at[m->atom[d].id].c_text;
            bool is_first = d == 0 && is_plain;
            term = poly->n == 1 && is_plain && m->degree == 1
                       ? name
                       : ctune_arena_printf(b->arena, "%s%s(long)%s", term, is_first ? "" : " * ",
                                            name);
        }
        text = text == NULL ? term : ctune_arena_printf(b->arena, "%s + %s", text, term);
    }
    return poly->n == 0 ? "0" : text;
}

const char *ctune_hoist_text(ctune_build *b, const ctune_lval *lval) {
    const char *text = lval->root->name;
    for (int i = 0; i < lval->n_steps && text != NULL; i++) {
        const ctune_step *step = &lval->steps[i];
        const char *index = step->text == NULL ? index_text(b, lval->idx[step->dim]) : NULL;
        if (step->text == NULL && index == NULL) {
            return NULL;
        }
        text = step->text != NULL ? ctune_arena_printf(b->arena, "%s%s", text, step->text)
                                  : ctune_arena_printf(b->arena, "%s[%s]", text, index);
    }
    return text;
}

/* Below a condition the source may not read it at all. */
bool ctune_hoist_is_conditional(const ctune_build *b) {
    for (const ctune_mnode *at = b->at; at != NULL; at = at->parent) {
        if (at->kind == CTUNE_M_IF || at->kind == CTUNE_M_GUARD) {
            return true;
        }
    }
    return false;
}

int ctune_hoist_load(ctune_build *b, const ctune_lval *lval, ctune_type type) {
    const char *text = ctune_hoist_text(b, lval);
    bool is_element = lval->n_steps > 0 && lval->steps[lval->n_steps - 1].text == NULL;
    if (text == NULL || ctune_hoist_is_conditional(b) || lval->root->is_inside ||
        (is_element && lval->root->is_stored_through)) {
        return -1;
    }
    int n = b->params.n;
    int param = ctune_param_of_text(b, text, type, 0, true);
    if (param == n) {
        ctune_hoisted *h = CTUNE_PUSH(b, b->hoisted);
        if (h == NULL) {
            return -1;
        }
        h->param = param;
        h->key = ctune_lval_key(b, lval);
    }
    return param;
}

bool ctune_hoist_is_hoisted(const ctune_build *b, int param) {
    for (int i = 0; i < b->hoisted.n; i++) {
        if (b->hoisted.at[i].param == param) {
            return true;
        }
    }
    return false;
}

/* Does the region store to the array that a parameter is read from? */
bool ctune_hoist_check(ctune_build *b) {
    for (int i = 0; i < b->hoisted.n; i++) {
        const ctune_hoisted *h = &b->hoisted.at[i];
        for (int s = 0; s < b->stages.n && h->key != NULL; s++) {
            const ctune_acc *acc = &b->accs.at[b->stages.at[s].target_acc];
            if (acc->tensor >= 0 && strcmp(b->tensors.at[acc->tensor].key, h->key) == 0) {
                return ctune_build_refuse_at(
                    b, CTUNE_REFUSE_BOUND_CHANGES, acc->offset,
                    "'%s' is a bound or subscript and may be assigned in the region",
                    b->params.at[h->param].c_text);
            }
        }
    }
    return true;
}

/* `static const int N = 64;`, `const int U = 8;` */
bool ctune_hoist_constant(ctune_build *b, const ctune_var *var, int64_t *out) {
    for (int i = 0; i < b->pragma->n_sizes; i++) {
        if (strcmp(b->pragma->sizes[i].name, var->name) == 0) {
            return false; /* a parameter by the user's word */
        }
    }
    bool is_const = clang_isConstQualifiedType(clang_getCursorType(var->decl)) != 0 &&
                    !var->is_parameter && !clang_isVolatileQualifiedType(var->type);
    ctune_kids exprs = ctune_cx_exprs(b->arena, var->decl);
    return is_const && exprs.n > 0 && ctune_cx_type(var->type) < CTUNE_F16 &&
           ctune_cx_int(exprs.at[exprs.n - 1], out);
}

/* ---- pointers compared with NULL ------------------------------------------------------------- */

static bool is_null(ctune_build *b, CXCursor cursor) {
    for (int i = 0; i < 8; i++) {
        enum CXCursorKind kind = ctune_cx_kind(cursor);
        int64_t value;
        if (kind == CXCursor_IntegerLiteral || kind == CXCursor_GNUNullExpr) {
            return kind == CXCursor_GNUNullExpr || (ctune_cx_int(cursor, &value) && value == 0);
        }
        ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
        if (kids.n != 1) {
            return false;
        }
        cursor = kids.at[0];
    }
    return false;
}

/* 1 when the pointer is not NULL, as a parameter. */
static int param_of_pointer(ctune_build *b, CXCursor cursor) {
    ctune_lval lval;
    ctune_why kept = b->why;
    for (int i = 0; i < 8 && ctune_cx_kind(cursor) == CXCursor_UnexposedExpr; i++) {
        ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
        cursor = kids.n == 1 ? ctune_cx_strip(b->arena, kids.at[0]) : cursor;
    }
    enum CXCursorKind kind = ctune_cx_kind(cursor);
    bool is_lvalue = kind == CXCursor_DeclRefExpr || kind == CXCursor_MemberRefExpr;
    bool ok = is_lvalue && ctune_lval_get(b, cursor, &lval);
    b->why = kept;
    if (!ok || lval.n_dims > 0 || clang_getCanonicalType(lval.type).kind != CXType_Pointer ||
        lval.root->is_inside || lval.root->n_writes > 0 ||
        clang_isVolatileQualifiedType(lval.type)) {
        return -1;
    }
    const char *text = ctune_arena_printf(b->arena, "(%s != 0)", ctune_lval_text(b, &lval, true));
    return text == NULL ? -1 : ctune_param_of_text(b, text, CTUNE_BOOL, 1, false);
}

int ctune_hoist_null(ctune_build *b, CXCursor cond, bool *is_negated) {
    cond = ctune_cx_strip(b->arena, cond);
    enum CXBinaryOperatorKind op = clang_getCursorBinaryOperatorKind(cond);
    ctune_kids kids = ctune_cx_exprs(b->arena, cond);
    *is_negated = op == CXBinaryOperator_EQ;
    if (ctune_cx_is_pointer(clang_getCursorType(cond))) {
        return param_of_pointer(b, cond);
    }
    bool is_relation = op == CXBinaryOperator_EQ || op == CXBinaryOperator_NE;
    if (!is_relation || kids.n != 2 || !ctune_cx_is_pointer(clang_getCursorType(kids.at[0]))) {
        return -1;
    }
    return is_null(b, kids.at[1])   ? param_of_pointer(b, ctune_cx_strip(b->arena, kids.at[0]))
           : is_null(b, kids.at[0]) ? param_of_pointer(b, ctune_cx_strip(b->arena, kids.at[1]))
                                    : -1;
}
