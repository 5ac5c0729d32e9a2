/*
 * Calls of functions that the file defines: their bodies in the place of the call.
 *
 * In: a call of a static or inline function made of declarations, assignments to its own scalars,
 * ifs and returns. Out: the value of the call as an expression, an affine form or a pointer. The
 * parameters stand for the arguments (call by name: nothing here has effects), each name for its
 * latest assignment; a frame keeps them, and arguments are read in the frame of the caller.
 */
#include "plugin/extract/inline.h"

bool ctune_inline_refuse(ctune_build *b, CXCursor at, const char *name, const char *what) {
    return ctune_build_refuse(b, CTUNE_REFUSE_CALL, at, "call of '%s': %s", name, what);
}

/* ---- names ----------------------------------------------------------------------------------- */

static const ctune_inline_entry *find_entry(const ctune_build *b, CXCursor decl, int *index) {
    const ctune_frame *f = b->frame;
    CXCursor canonical = clang_getCanonicalCursor(decl);
    for (int i = f == NULL ? -1 : f->limit - 1; i >= 0; i--) {
        if (clang_equalCursors(f->at[i].decl, canonical)) {
            *index = i;
            return &f->at[i];
        }
    }
    return NULL;
}

bool ctune_inline_is_bound(const ctune_build *b, CXCursor decl) {
    int index;
    return find_entry(b, decl, &index) != NULL;
}

/* Read the entry's cursors where they belong. */
typedef struct place {
    ctune_frame *frame;
    int limit;
} place;

static place go_to(ctune_build *b, const ctune_inline_entry *e, int index) {
    place kept = {b->frame, b->frame->limit};
    if (e->is_argument) {
        b->frame = b->frame->parent;
    } else {
        b->frame->limit = index;
    }
    return kept;
}

static void go_back(ctune_build *b, place kept) {
    b->frame = kept.frame;
    b->frame->limit = kept.limit;
}

/* A product keeps its own rounding when it crosses the border of a function or statement. */
static ctune_expr *rounded(ctune_build *b, ctune_expr *e) {
    const ctune_expr *core = e;
    while (core != NULL && core->op == CTUNE_OP_NEG) {
        core = core->kids[0];
    }
    bool is_product = core != NULL && core->op == CTUNE_OP_MUL && ctune_type_is_float(e->type);
    return is_product ? ctune_expr_new(b, CTUNE_OP_CAST, e->type, 1, e) : e;
}

ctune_expr *ctune_inline_value(ctune_build *b, CXCursor decl) {
    int index = 0;
    const ctune_inline_entry *e = find_entry(b, decl, &index);
    ctune_type type = ctune_cx_type(clang_getCursorType(decl));
    if (e == NULL) {
        return NULL;
    }
    place kept = go_to(b, e, index);
    b->n_lazy += e->kind == CTUNE_ENTRY_SET_IF;
    ctune_expr *value = ctune_expr_get(b, e->value), *old = NULL;
    b->n_lazy -= e->kind == CTUNE_ENTRY_SET_IF;
    if (value != NULL && e->kind == CTUNE_ENTRY_SET_IF) {
        ctune_expr *cond = ctune_expr_condition(b, e->cond);
        old = cond == NULL ? NULL : ctune_inline_value(b, decl);
        value = ctune_expr_new(b, CTUNE_OP_SELECT, type, 3, cond, ctune_expr_cast(b, value, type),
                               ctune_expr_cast(b, old, type));
    } else if (value != NULL && e->kind != CTUNE_ENTRY_SET) {
        static const ctune_op ops[] = {[CTUNE_ENTRY_ADD] = CTUNE_OP_ADD,
                                       [CTUNE_ENTRY_SUB] = CTUNE_OP_SUB,
                                       [CTUNE_ENTRY_MUL] = CTUNE_OP_MUL};
        ctune_type calc = value->type < CTUNE_I32 ? CTUNE_I32 : value->type;
        old = ctune_expr_cast(b, ctune_inline_value(b, decl), calc);
        value = ctune_expr_new(b, ops[e->kind], calc, 2, old, ctune_expr_cast(b, value, calc));
    }
    go_back(b, kept);
    return rounded(b, ctune_expr_cast(b, value, type));
}

ctune_int ctune_inline_affine(ctune_build *b, CXCursor decl) {
    int index = 0;
    const ctune_inline_entry *e = find_entry(b, decl, &index);
    ctune_int none = {NULL, CTUNE_I32, false};
    ctune_type type = ctune_cx_type(clang_getCursorType(decl));
    if (e == NULL || e->kind != CTUNE_ENTRY_SET || type >= CTUNE_F16) {
        return none;
    }
    place kept = go_to(b, e, index);
    ctune_int value = ctune_affine_cast(b, ctune_affine_get(b, e->value), type, e->value);
    go_back(b, kept);
    return value;
}

bool ctune_inline_pointer(ctune_build *b, CXCursor decl, ctune_lval *out) {
    int index = 0;
    const ctune_inline_entry *e = find_entry(b, decl, &index);
    if (e == NULL || e->kind != CTUNE_ENTRY_SET) {
        return false;
    }
    place kept = go_to(b, e, index);
    bool ok = ctune_lval_pointer(b, e->value, out);
    go_back(b, kept);
    out->is_restrict = false; /* what is promised to the function is not to the region */
    return ok;
}

/* ---- frames ---------------------------------------------------------------------------------- */

bool ctune_inline_add(ctune_build *b, CXCursor decl, ctune_inline_entry e) {
    ctune_frame *f = b->frame;
    if (f->n == CTUNE_MAX_ENTRIES) {
        return ctune_build_refuse(b, CTUNE_REFUSE_TOO_COMPLEX, decl, "the function is too long");
    }
    e.decl = clang_getCanonicalCursor(decl);
    f->at[f->n++] = e;
    f->limit = f->n;
    return true;
}

static bool is_ours_alone(CXCursor definition) {
    return clang_Cursor_getStorageClass(definition) == CX_SC_Static ||
           clang_Cursor_isFunctionInlined(definition);
}

static enum CXChildVisitResult note_attribute(CXCursor cursor, CXCursor parent, CXClientData data) {
    (void)parent;
    if (!clang_isAttribute(clang_getCursorKind(cursor)) ||
        clang_getCursorKind(cursor) == CXCursor_ConstAttr ||
        clang_getCursorKind(cursor) == CXCursor_PureAttr) {
        return CXChildVisit_Continue;
    }
    *(bool *)data = true;
    return CXChildVisit_Break;
}

/* weak, ifunc, alias: another function may be called. libclang does not say which. */
static bool has_attribute(CXCursor declaration, CXCursor definition) {
    bool found = false;
    clang_visitChildren(declaration, note_attribute, &found);
    clang_visitChildren(definition, note_attribute, &found);
    return found;
}

CXCursor ctune_inline_definition(CXCursor call) {
    CXCursor callee = clang_getCursorReferenced(call);
    CXCursor definition = clang_Cursor_isNull(callee) ? callee : clang_getCursorDefinition(callee);
    bool is_ours = !clang_Cursor_isNull(definition) &&
                   ctune_cx_kind(definition) == CXCursor_FunctionDecl &&
                   !clang_Cursor_isVariadic(definition) &&
                   (is_ours_alone(definition) || !has_attribute(callee, definition));
    return is_ours ? definition : clang_getNullCursor();
}

bool ctune_inline_open(ctune_build *b, CXCursor call, CXCursor definition, ctune_frame **out) {
    ctune_frame *f = CTUNE_NEW(b->arena, ctune_frame);
    const char *name = ctune_cx_name(b->arena, call);
    int depth = 0;
    for (const ctune_frame *at = b->frame; at != NULL; at = at->parent) {
        depth++;
        if (clang_equalCursors(at->function, definition)) {
            return ctune_inline_refuse(b, call, name, "it calls itself");
        }
    }
    if (b->is_replaceable && !is_ours_alone(definition)) {
        return ctune_inline_refuse(b, call, name, "others may replace it (-fPIC); make it static");
    }
    int n = clang_Cursor_getNumArguments(call);
    if (f == NULL || depth > CTUNE_MAX_CALLS || n != clang_Cursor_getNumArguments(definition)) {
        return ctune_inline_refuse(b, call, name, "too deep, or other arguments than parameters");
    }
    f->parent = b->frame;
    f->function = definition;
    f->n_open = f->result = -1;
    *out = f;
    for (int i = 0; i < n; i++) {
        CXCursor argument = clang_Cursor_getArgument(call, (unsigned)i);
        if (f->n == CTUNE_MAX_ENTRIES) {
            return ctune_inline_refuse(b, call, name, "too many arguments");
        }
        f->at[f->n++] = (ctune_inline_entry){
            .decl = clang_getCanonicalCursor(clang_Cursor_getArgument(definition, (unsigned)i)),
            .kind = CTUNE_ENTRY_SET,
            .is_argument = true,
            .value = argument};
    }
    f->limit = f->n;
    return true;
}

ctune_kids ctune_inline_body(ctune_build *b, CXCursor definition) {
    ctune_kids kids = ctune_cx_kids(b->arena, definition);
    for (int i = 0; i < kids.n; i++) {
        if (ctune_cx_kind(kids.at[i]) == CXCursor_CompoundStmt) {
            return ctune_cx_kids(b->arena, kids.at[i]);
        }
    }
    return (ctune_kids){0, NULL};
}

/* ---- statements of the function -------------------------------------------------------------- */

static bool declare(ctune_build *b, CXCursor statement) {
    ctune_kids kids = ctune_cx_kids(b->arena, statement);
    for (int i = 0; i < kids.n; i++) {
        ctune_kids exprs = ctune_cx_exprs(b->arena, kids.at[i]);
        bool is_plain = ctune_cx_kind(kids.at[i]) == CXCursor_VarDecl &&
                        clang_Cursor_getStorageClass(kids.at[i]) != CX_SC_Static &&
                        !ctune_cx_is_array(clang_getCursorType(kids.at[i]));
        if (!is_plain) {
            return ctune_build_refuse(
                b, CTUNE_REFUSE_CALL, b->call, "call of '%s': it declares '%s'",
                ctune_cx_name(b->arena, b->call), ctune_cx_name(b->arena, kids.at[i]));
        }
        if (exprs.n > 0 &&
            !ctune_inline_add(
                b, kids.at[i],
                (ctune_inline_entry){.kind = CTUNE_ENTRY_SET, .value = exprs.at[exprs.n - 1]})) {
            return false;
        }
    }
    return true;
}

/* x = e, x += e on a scalar of the function's own. */
static bool assign(ctune_build *b, CXCursor statement, bool is_conditional, CXCursor cond) {
    CXCursor at = ctune_cx_strip(b->arena, statement);
    enum CXBinaryOperatorKind op = clang_getCursorBinaryOperatorKind(at);
    ctune_kids kids = ctune_cx_exprs(b->arena, at);
    CXCursor left = kids.n == 2 ? ctune_cx_strip(b->arena, kids.at[0]) : at;
    bool is_own = kids.n == 2 && ctune_cx_kind(left) == CXCursor_DeclRefExpr &&
                  clang_equalCursors(clang_getCursorSemanticParent(ctune_cx_decl(left)),
                                     b->frame->function) &&
                  !ctune_cx_is_pointer(clang_getCursorType(left));
    ctune_inline_entry e = {
        .kind = CTUNE_ENTRY_SET, .cond = cond, .value = kids.n == 2 ? kids.at[1] : at};
    switch (op) {
    case CXBinaryOperator_Assign:
        e.kind = is_conditional ? CTUNE_ENTRY_SET_IF : CTUNE_ENTRY_SET;
        break;
    case CXBinaryOperator_AddAssign:
        e.kind = CTUNE_ENTRY_ADD;
        break;
    case CXBinaryOperator_SubAssign:
        e.kind = CTUNE_ENTRY_SUB;
        break;
    case CXBinaryOperator_MulAssign:
        e.kind = CTUNE_ENTRY_MUL;
        break;
    default:
        is_own = false;
    }
    if (!is_own || (is_conditional && e.kind != CTUNE_ENTRY_SET_IF)) {
        return ctune_inline_refuse(b, b->call, ctune_cx_name(b->arena, b->call),
                                   "it does more than compute a value");
    }
    return ctune_inline_add(b, ctune_cx_decl(left), e);
}

static bool returns(ctune_kids list) {
    return list.n > 0 && ctune_cx_kind(list.at[list.n - 1]) == CXCursor_ReturnStmt;
}

static ctune_kids tail_of(ctune_kids list, int from) {
    return (ctune_kids){list.n - from, list.at + from};
}

/* One of them is asked for. */
typedef struct result {
    ctune_expr *value;
    ctune_int affine;
    ctune_lval *pointer;
    enum { VALUE, AFFINE, POINTER } wanted;
} result;

static bool run(ctune_build *b, ctune_kids list, result *out);

static bool give(ctune_build *b, CXCursor statement, result *out) {
    ctune_kids kids = ctune_cx_exprs(b->arena, statement);
    if (kids.n != 1) {
        return false;
    }
    switch (out->wanted) {
    case VALUE:
        out->value = ctune_expr_get(b, kids.at[0]);
        return out->value != NULL;
    case AFFINE:
        out->affine = ctune_affine_get(b, kids.at[0]);
        return out->affine.poly != NULL;
    default:
        return ctune_lval_pointer(b, kids.at[0], out->pointer);
    }
}

static bool run_if(ctune_build *b, CXCursor statement, ctune_kids rest, result *out) {
    ctune_kids kids = ctune_cx_exprs(b->arena, statement);
    ctune_kids then = ctune_cx_statements(b->arena, kids.at[1]);
    ctune_kids other = kids.n == 3 ? ctune_cx_statements(b->arena, kids.at[2]) : rest;
    if (!returns(then)) { /* if (c) x = e; */
        if (kids.n != 2 || then.n != 1) {
            return ctune_inline_refuse(b, b->call, ctune_cx_name(b->arena, b->call),
                                       "it branches without returning a value");
        }
        return assign(b, then.at[0], true, kids.at[0]) && run(b, rest, out);
    }
    if (!returns(other) && kids.n == 3) {
        return ctune_inline_refuse(b, b->call, ctune_cx_name(b->arena, b->call),
                                   "one of its branches returns no value");
    }
    const ctune_aff *kept = b->split;
    ctune_answer answer = ctune_split_decide(b, kids.at[0]);
    if (answer == CTUNE_YES || answer == CTUNE_NO) {
        return run(b, answer == CTUNE_YES ? then : other, out);
    }
    if (out->wanted != VALUE) {
        return false; /* the request to split stays */
    }
    b->split = kept;
    ctune_expr *cond = ctune_expr_condition(b, kids.at[0]);
    ctune_frame before = *b->frame;
    result x = *out, y = *out;
    b->n_lazy++;
    bool ok = cond != NULL && run(b, then, &x);
    *b->frame = before;
    ok = ok && run(b, other, &y);
    b->n_lazy--;
    if (!ok) {
        return false;
    }
    ctune_type type = ctune_cx_type(clang_getCursorResultType(b->frame->function));
    out->value =
        ctune_expr_new(b, CTUNE_OP_SELECT, type, 3, cond, ctune_expr_cast(b, x.value, type),
                       ctune_expr_cast(b, y.value, type));
    return out->value != NULL;
}

static bool run(ctune_build *b, ctune_kids list, result *out) {
    for (int i = 0; i < list.n; i++) {
        switch (ctune_cx_kind(list.at[i])) {
        case CXCursor_NullStmt:
            break;
        case CXCursor_DeclStmt:
            if (!declare(b, list.at[i])) {
                return false;
            }
            break;
        case CXCursor_ReturnStmt:
            return give(b, list.at[i], out);
        case CXCursor_IfStmt:
            return run_if(b, list.at[i], tail_of(list, i + 1), out);
        default:
            if (!ctune_cx_is_expr(list.at[i])) {
                return ctune_inline_refuse(b, b->call, ctune_cx_name(b->arena, b->call),
                                           "it does more than compute a value");
            }
            if (ctune_cx_has_effect(b->arena, list.at[i]) &&
                !assign(b, list.at[i], false, list.at[i])) {
                return false;
            }
        }
    }
    return ctune_inline_refuse(b, b->call, ctune_cx_name(b->arena, b->call), "it returns no value");
}

static bool run_call(ctune_build *b, CXCursor call, CXCursor definition, result *out) {
    ctune_frame *frame = NULL, *kept = b->frame;
    CXCursor kept_call = b->call;
    if (!ctune_inline_open(b, call, definition, &frame)) {
        return false;
    }
    b->frame = frame;
    b->call = kept == NULL ? call : kept_call; /* messages speak of the call in the region */
    bool ok = run(b, ctune_inline_body(b, definition), out);
    b->frame = kept;
    b->call = kept_call;
    return ok;
}

/* A value where the body is one; else its statements are built before the one at hand. */
ctune_expr *ctune_inline_call(ctune_build *b, CXCursor call, CXCursor definition) {
    result out = {.wanted = VALUE};
    ctune_snapshot before;
    ctune_type type = ctune_cx_type(clang_getCursorResultType(definition));
    bool may_store = b->may_store;
    b->may_store = false;
    if (type == CTUNE_N_TYPES || !ctune_snapshot_get(b, &before)) {
        return NULL;
    }
    if (run_call(b, call, definition, &out)) {
        return rounded(b, ctune_expr_cast(b, out.value, type));
    }
    bool is_body = b->why.refusal == CTUNE_REFUSE_CALL && b->split == NULL;
    if (!is_body || !ctune_callee_can(b, definition)) {
        return NULL;
    }
    ctune_snapshot_restore(b, &before, true);
    return ctune_callee_value(b, call, definition, may_store);
}

ctune_int ctune_inline_call_affine(ctune_build *b, CXCursor call, CXCursor definition) {
    result out = {.wanted = AFFINE};
    ctune_int none = {NULL, CTUNE_I32, false};
    ctune_type type = ctune_cx_type(clang_getCursorResultType(definition));
    return type < CTUNE_F16 && run_call(b, call, definition, &out)
               ? ctune_affine_cast(b, out.affine, type, call)
               : none;
}

bool ctune_inline_call_pointer(ctune_build *b, CXCursor call, CXCursor definition,
                               ctune_lval *pointer) {
    result out = {.wanted = POINTER, .pointer = pointer};
    return run_call(b, call, definition, &out);
}

/* ---- variables of the file ------------------------------------------------------------------- */

static bool declares(ctune_build *b, CXCursor cursor, const char *name) {
    enum CXCursorKind kind = ctune_cx_kind(cursor);
    if ((kind == CXCursor_VarDecl || kind == CXCursor_ParmDecl) &&
        strcmp(ctune_cx_name(b->arena, cursor), name) == 0) {
        return true;
    }
    ctune_kids kids = ctune_cx_kids(b->arena, cursor);
    for (int i = 0; i < kids.n; i++) {
        if (declares(b, kids.at[i], name)) {
            return true;
        }
    }
    return false;
}

bool ctune_inline_declares(ctune_build *b, const char *name) {
    return name != NULL && declares(b, b->function, name);
}

bool ctune_inline_sees(ctune_build *b, const ctune_var *var, CXCursor at) {
    if (b->frame == NULL || var->is_callee) {
        return true;
    }
    bool is_hidden = declares(b, b->function, var->name) &&
                     !clang_equalCursors(clang_getCursorSemanticParent(var->decl), b->function);
    return !is_hidden || ctune_build_refuse(b, CTUNE_REFUSE_CALL, at,
                                            "call of '%s': its '%s' is hidden by another here",
                                            ctune_cx_name(b->arena, b->call), var->name);
}
