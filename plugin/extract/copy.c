/*
 * Whole objects: memcpy and memset of rows, assignments of structs.
 *
 * In: the call or assignment. Out: a loop over the row's elements with a stage, or one stage per
 * member. memcpy's ranges may not overlap, so that the order of its elements does not matter.
 */
#include "plugin/extract/build.h"

#include "plugin/extract/assign.h"

/* ---- rows ------------------------------------------------------------------------------------ */

static CXCursor without_casts(ctune_build *b, CXCursor cursor) {
    for (int i = 0; i < 8; i++) {
        enum CXCursorKind kind = ctune_cx_kind(cursor);
        ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
        CXType type = clang_getCanonicalType(clang_getCursorType(cursor));
        bool is_void = type.kind == CXType_Pointer &&
                       clang_getCanonicalType(clang_getPointeeType(type)).kind == CXType_Void;
        bool is_wrapper = kind == CXCursor_UnexposedExpr || kind == CXCursor_CStyleCastExpr ||
                          kind == CXCursor_ParenExpr;
        if (!is_wrapper || kids.n != 1 || (!is_void && kind != CXCursor_ParenExpr)) {
            return cursor;
        }
        cursor = kids.at[0];
    }
    return cursor;
}

/* Element `axis` of the row at which the pointer stands. */
static bool element(ctune_build *b, CXCursor pointer, int axis, ctune_lval *out) {
    if (!ctune_lval_pointer(b, pointer, out)) {
        return false;
    }
    const ctune_poly *at = ctune_poly_atom(b->arena, CTUNE_TERM_AXIS, axis);
    out->pending = out->is_address ? NULL : ctune_poly_add(b->arena, out->pending, at);
    return (out->pending != NULL && ctune_lval_consume(b, out, pointer)) ||
           ctune_build_refuse(b, CTUNE_REFUSE_CALL, pointer, "'%s' is no row of an array",
                              ctune_build_text(b, pointer));
}

static bool is_one_of(const char *name, const char *plain) {
    const char *tail = strncmp(name, "__builtin_", 10) == 0 ? name + 10 : name;
    return strcmp(tail, plain) == 0;
}

/* bytes / size of an element, as the number of iterations. */
static const ctune_aff *count_of(ctune_build *b, CXCursor bytes, ctune_type type) {
    ctune_int n = ctune_affine_get(b, bytes);
    n = n.poly != NULL ? ctune_affine_settle(b, n, bytes) : n;
    const ctune_poly *rest = NULL;
    const ctune_poly *size = ctune_poly_const(b->arena, ctune_type_get(type)->bytes);
    const ctune_poly *count = ctune_poly_divide(b->arena, n.poly, size, &rest);
    if (count == NULL || rest->n > 0) {
        ctune_build_refuse(b, CTUNE_REFUSE_CALL, bytes, "'%s' is no number of elements",
                           ctune_build_text(b, bytes));
        return NULL;
    }
    return ctune_affine_form(b, count, CTUNE_REFUSE_BOUND_NOT_AFFINE, bytes);
}

static ctune_mnode *open_loop(ctune_build *b, const ctune_aff *count) {
    ctune_mnode *loop = ctune_mnode_new(b, CTUNE_M_LOOP);
    const ctune_aff **cons = CTUNE_NEW_ARRAY(b->arena, const ctune_aff *, 2);
    const char *name = ctune_build_name(b, "row");
    ctune_axis *axis = CTUNE_PUSH(b, b->axes);
    if (loop == NULL || cons == NULL || name == NULL || axis == NULL) {
        return NULL;
    }
    *axis = (ctune_axis){.name = name, .type = CTUNE_I64, .c_name = name, .step = 1};
    loop->axis = b->axes.n - 1;
    cons[0] = ctune_aff_term(b->arena, CTUNE_TERM_AXIS, loop->axis, 1);
    cons[1] = ctune_aff_add_const(b->arena, ctune_aff_sub(b->arena, count, cons[0]), -1);
    loop->cons = cons;
    loop->n_cons = 2;
    return cons[1] != NULL && ctune_mnode_add(b, b->at, loop) ? loop : NULL;
}

static ctune_expr *read_of(ctune_build *b, const ctune_lval *lval, ctune_type type, CXCursor at) {
    ctune_expr *e = ctune_expr_new(b, CTUNE_OP_READ, type, 0);
    if (e != NULL) {
        e->read_id = ctune_access_add(b, lval, at, &e->access);
    }
    return e != NULL && e->read_id >= 0 ? e : NULL;
}

static bool store(ctune_build *b, CXCursor at, const ctune_lval *target, ctune_type type,
                  const ctune_expr *value) {
    ctune_access *slot = CTUNE_NEW(b->arena, ctune_access);
    int acc = slot == NULL ? -1 : ctune_access_add(b, target, at, slot);
    ctune_mnode *stage =
        acc < 0 ? NULL : ctune_stage_new(b, at, slot, acc, CTUNE_UPDATE_SET, type, value);
    return stage != NULL && ctune_mnode_add(b, b->at, stage);
}

/* The bytes of an element that memset leaves: 0, or all ones of an integer. */
static ctune_expr *fill_value(ctune_build *b, CXCursor byte, ctune_type type) {
    int64_t value;
    bool is_known = ctune_cx_int(byte, &value);
    bool fits = is_known && (value == 0 || (ctune_type_get(type)->bytes == 1 && value >= 0 &&
                                            value < 128 && type != CTUNE_BOOL));
    if (!fits) {
        ctune_build_refuse(b, CTUNE_REFUSE_CALL, byte,
                           "memset with another value than 0 is no plain store");
        return NULL;
    }
    return ctune_expr_int(b, type, value);
}

static bool build_row(ctune_build *b, CXCursor call, bool is_set) {
    CXCursor to = without_casts(b, clang_Cursor_getArgument(call, 0));
    CXCursor from = clang_Cursor_getArgument(call, 1);
    CXType element_type = ctune_cx_pointee(clang_getCursorType(to));
    ctune_type type = ctune_cx_type(element_type);
    if (!ctune_cx_is_pointer(clang_getCursorType(to)) || type == CTUNE_N_TYPES) {
        return ctune_build_refuse(b, CTUNE_REFUSE_CALL, call, "'%s' does not fill a row of numbers",
                                  ctune_build_text(b, call));
    }
    if (!is_set) {
        from = without_casts(b, from);
        if (!ctune_cx_is_pointer(clang_getCursorType(from)) ||
            !ctune_cx_is_same_type(ctune_cx_pointee(clang_getCursorType(from)), element_type)) {
            return ctune_build_refuse(b, CTUNE_REFUSE_CALL, call,
                                      "'%s' copies between different types",
                                      ctune_build_text(b, call));
        }
    }
    const ctune_aff *count = count_of(b, clang_Cursor_getArgument(call, 2), type);
    ctune_mnode *loop = count == NULL ? NULL : open_loop(b, count), *parent = b->at;
    if (loop == NULL || b->n_open == CTUNE_MAX_DEPTH) {
        return false;
    }
    int n_domain = b->domain.n;
    ctune_lval target, source;
    b->open[b->n_open++] = loop->axis;
    b->at = loop;
    bool ok = ctune_domain_push(b, loop->n_cons, loop->cons) && element(b, to, loop->axis, &target);
    ctune_expr *value = NULL;
    if (ok && is_set) {
        value = fill_value(b, from, type);
    } else if (ok && element(b, from, loop->axis, &source)) {
        value = read_of(b, &source, type, from);
    }
    ok = value != NULL && store(b, call, &target, type, value);
    b->at = parent;
    b->n_open--;
    b->domain.n = n_domain;
    return ok;
}

bool ctune_copy_is_row(ctune_build *b, CXCursor call) {
    const char *name = ctune_cx_name(b->arena, call);
    return clang_Cursor_getNumArguments(call) == 3 &&
           clang_Cursor_isNull(ctune_inline_definition(call)) &&
           (is_one_of(name, "memcpy") || is_one_of(name, "memset"));
}

bool ctune_copy_row(ctune_build *b, CXCursor call) {
    return build_row(b, call, is_one_of(ctune_cx_name(b->arena, call), "memset"));
}

/* ---- structs --------------------------------------------------------------------------------- */

typedef struct members {
    ctune_build *b;
    CXCursor at;
    const ctune_lval *to, *from;
    bool ok;
} members;

static enum CXVisitorResult copy_member(CXCursor field, CXClientData data) {
    members *m = data;
    ctune_build *b = m->b;
    ctune_lval to = *m->to, from = *m->from;
    CXType type = clang_getCanonicalType(clang_getCursorType(field));
    const char *name = ctune_cx_name(b->arena, field);
    m->ok = m->ok && name[0] != '\0' && !clang_Cursor_isBitField(field) &&
            ctune_cx_type(type) != CTUNE_N_TYPES && to.n_steps < CTUNE_MAX_STEPS &&
            from.n_steps < CTUNE_MAX_STEPS;
    const char *step = m->ok ? ctune_arena_printf(b->arena, ".%s", name) : NULL;
    if (step == NULL) {
        m->ok = false;
        return CXVisit_Break;
    }
    to.steps[to.n_steps++] = from.steps[from.n_steps++] = (ctune_step){step, -1};
    to.type = from.type = type;
    to.layer = from.layer = -1;
    ctune_expr *value = read_of(b, &from, ctune_cx_type(type), m->at);
    m->ok = value != NULL && store(b, m->at, &to, ctune_cx_type(type), value);
    return m->ok ? CXVisit_Continue : CXVisit_Break;
}

/* to = from, member by member: plain numbers only. */
bool ctune_copy_struct(ctune_build *b, CXCursor at, CXCursor to, CXCursor from) {
    ctune_lval target, source;
    CXType type = clang_getCanonicalType(clang_getCursorType(to));
    from = ctune_cx_strip(b->arena, from);
    for (int i = 0; i < 4 && ctune_cx_kind(from) == CXCursor_UnexposedExpr; i++) {
        ctune_kids kids = ctune_cx_exprs(b->arena, from);
        from = kids.n == 1 ? ctune_cx_strip(b->arena, kids.at[0]) : from;
    }
    bool is_union = ctune_cx_kind(clang_getTypeDeclaration(type)) == CXCursor_UnionDecl;
    if (is_union || !ctune_lval_get(b, to, &target) || !ctune_lval_get(b, from, &source)) {
        return ctune_build_refuse(b, CTUNE_REFUSE_AGGREGATE, at, "'%s' assigns a whole object",
                                  ctune_build_text(b, at));
    }
    members m = {b, at, &target, &source, true};
    clang_Type_visitFields(type, copy_member, &m);
    return m.ok || ctune_build_refuse(b, CTUNE_REFUSE_AGGREGATE, at,
                                      "'%s' assigns members that are no plain numbers",
                                      ctune_build_text(b, at));
}
