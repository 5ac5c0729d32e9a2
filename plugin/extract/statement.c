/*
 * Statements: blocks, declarations, if, and the dispatch to loops and assignments.
 *
 * In: a statement cursor. Out: nodes below b->at. An affine `if` restricts domains; any other
 * becomes a guard on the stages inside, remembered in a temporary of its own when those stages
 * could change what it reads.
 */
#include "plugin/extract/build.h"

#include "plugin/extract/assign.h"

ctune_mnode *ctune_mnode_new(ctune_build *b, ctune_mkind kind) {
    ctune_mnode *node = CTUNE_NEW(b->arena, ctune_mnode);
    if (node != NULL) {
        node->kind = kind;
        node->axis = node->stage = -1;
    }
    return node;
}

bool ctune_mnode_add(ctune_build *b, ctune_mnode *parent, ctune_mnode *kid) {
    ctune_mnode **slot =
        parent->in_otherwise ? CTUNE_PUSH(b, parent->otherwise) : CTUNE_PUSH(b, parent->kids);
    if (slot == NULL) {
        return false;
    }
    *slot = kid;
    kid->parent = parent;
    return true;
}

bool ctune_domain_push(ctune_build *b, int n, const ctune_aff *const *cons) {
    for (int i = 0; i < n; i++) {
        const ctune_aff **slot = CTUNE_PUSH(b, b->domain);
        if (slot == NULL) {
            return false;
        }
        *slot = cons[i];
    }
    return true;
}

/* ---- declarations ---------------------------------------------------------------------------- */

/* `int k = 2 * i + 1;` that never changes: k stands for the form. */
static bool bind_integer(ctune_build *b, ctune_var *var, CXCursor init) {
    ctune_why kept = b->why;
    bool kept_subscript = b->in_subscript;
    ctune_type type = ctune_cx_type(var->type);
    b->in_subscript = true;
    int n_assumes = b->assumes.n;
    ctune_int value = ctune_affine_get(b, init);
    value = ctune_affine_settle(b, ctune_affine_cast(b, value, type, init), init);
    b->in_subscript = kept_subscript;
    b->why = kept;
    if (value.poly == NULL) {
        b->assumes.n = n_assumes;
        return false;
    }
    var->value = value.poly;
    var->init = init;
    return true;
}

static bool bind_pointer(ctune_build *b, ctune_var *var, CXCursor decl, ctune_kids exprs) {
    ctune_lval *lval = CTUNE_NEW(b->arena, ctune_lval);
    if (lval == NULL) {
        return false;
    }
    if (exprs.n == 0 || var->n_writes > 0) {
        return ctune_build_refuse(b, CTUNE_REFUSE_MOVING_POINTER, decl,
                                  "the pointer '%s' is assigned in the region", var->name);
    }
    if (!ctune_lval_pointer(b, exprs.at[exprs.n - 1], lval)) {
        return false;
    }
    CXType to = ctune_cx_pointee(var->type);
    if (!ctune_cx_is_same_type(to, lval->type) ||
        clang_getCanonicalType(to).kind == CXType_VariableArray) {
        return ctune_build_refuse(b, CTUNE_REFUSE_POINTER_CAST, decl,
                                  "'%s' points to another type than its initialiser", var->name);
    }
    lval->is_restrict = false; /* what is promised for a block is not for the region */
    var->pointer = lval;
    return true;
}

static bool build_scalar(ctune_build *b, ctune_var *var, CXCursor decl, ctune_kids exprs) {
    ctune_type type = ctune_cx_type(var->type);
    if (exprs.n == 0) {
        return true;
    }
    CXCursor init = exprs.at[exprs.n - 1];
    if (type < CTUNE_F16 && var->n_writes == 0 && var->is_used_affinely &&
        bind_integer(b, var, init)) {
        return true;
    }
    b->split = NULL; /* several values are taken as such */
    return ctune_assign_initialiser(b, decl, var, init);
}

void ctune_variable_declare(ctune_build *b, ctune_var *var) {
    bool is_here = var->n_scope == b->n_open &&
                   memcmp(var->scope, b->open, (size_t)b->n_open * sizeof *b->open) == 0;
    var->generation += var->scope_node != NULL && !is_here;
    var->n_scope = b->n_open;
    memcpy(var->scope, b->open, sizeof var->scope);
    var->scope_node = b->at;
    var->value = NULL;
    var->n_choices = 0;
    var->after = NULL;
    var->is_written = true;
    var->pointer = NULL;
}

static bool build_variable(ctune_build *b, CXCursor decl) {
    ctune_var *var = ctune_vars_find(b, decl);
    ctune_kids exprs = ctune_cx_exprs(b->arena, decl);
    enum CX_StorageClass storage = clang_Cursor_getStorageClass(decl);
    if (var == NULL) {
        return ctune_build_refuse(b, CTUNE_REFUSE_LOCAL_DECL, decl,
                                  "'%s' is declared in the region", ctune_build_text(b, decl));
    }
    if (storage == CX_SC_Static || storage == CX_SC_Extern) {
        return ctune_build_refuse(b, CTUNE_REFUSE_LOCAL_STATIC, decl,
                                  "'%s' is no automatic variable", var->name);
    }
    ctune_variable_declare(b, var);
    CXType type = var->type;
    if (type.kind == CXType_Pointer) {
        return bind_pointer(b, var, decl, exprs);
    }
    int n_layers = 0;
    for (; ctune_cx_is_array(type); n_layers++) {
        type = clang_getCanonicalType(clang_getArrayElementType(clang_getCanonicalType(type)));
    }
    if (!ctune_type_check(b, type, decl)) {
        return false;
    }
    if (n_layers == 0) {
        return build_scalar(b, var, decl, exprs);
    }
    bool has_init =
        exprs.n > 0 &&
        (ctune_cx_kind(exprs.at[exprs.n - 1]) == CXCursor_InitListExpr ||
         ctune_cx_kind(exprs.at[exprs.n - 1]) == CXCursor_StringLiteral || exprs.n > n_layers);
    return !has_init || ctune_build_refuse(b, CTUNE_REFUSE_LOCAL_INIT, decl,
                                           "the array '%s' has an initialiser", var->name);
}

static bool build_declarations(ctune_build *b, CXCursor cursor) {
    ctune_kids kids = ctune_cx_kids(b->arena, cursor);
    for (int i = 0; i < kids.n; i++) {
        switch (ctune_cx_kind(kids.at[i])) {
        case CXCursor_TypedefDecl:
        case CXCursor_StructDecl:
        case CXCursor_EnumDecl:
        case CXCursor_UnionDecl:
        case CXCursor_StaticAssert:
            break;
        case CXCursor_VarDecl:
            if (!build_variable(b, kids.at[i])) {
                return false;
            }
            break;
        default:
            return ctune_build_refuse(b, CTUNE_REFUSE_LOCAL_DECL, kids.at[i],
                                      "'%s' is declared in the region",
                                      ctune_build_text(b, kids.at[i]));
        }
    }
    return true;
}

/* ---- dispatch -------------------------------------------------------------------------------- */

/* Statements with attributes or loop hints; everything else that libclang does not name is refused.
 */
static bool build_wrapped(ctune_build *b, CXCursor cursor) {
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    if (kids.n == 1) {
        return ctune_statement_build(b, kids.at[0]);
    }
    return ctune_build_refuse(b, CTUNE_REFUSE_STATEMENT, cursor, "'%s' is no plain statement",
                              ctune_build_text(b, cursor));
}

static bool refuse_statement(ctune_build *b, CXCursor cursor) {
    static const struct {
        enum CXCursorKind kind;
        ctune_refusal refusal;
        const char *words;
    } table[] = {
        {CXCursor_BreakStmt, CTUNE_REFUSE_BREAK, "break leaves the loop early"},
        {CXCursor_ContinueStmt, CTUNE_REFUSE_CONTINUE, "continue skips the rest of the body"},
        {CXCursor_GotoStmt, CTUNE_REFUSE_GOTO, "goto in the region"},
        {CXCursor_IndirectGotoStmt, CTUNE_REFUSE_GOTO, "goto in the region"},
        {CXCursor_LabelStmt, CTUNE_REFUSE_LABEL, "a label in the region"},
        {CXCursor_ReturnStmt, CTUNE_REFUSE_RETURN, "return leaves the region"},
        {CXCursor_GCCAsmStmt, CTUNE_REFUSE_ASM, "assembly in the region"},
        {CXCursor_MSAsmStmt, CTUNE_REFUSE_ASM, "assembly in the region"},
        {CXCursor_StmtExpr, CTUNE_REFUSE_STATEMENT_EXPRESSION,
         "a statement expression in the region"}};
    enum CXCursorKind kind = ctune_cx_kind(cursor);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (table[i].kind == kind) {
            return ctune_build_refuse(b, table[i].refusal, cursor, "%s", table[i].words);
        }
    }
    return ctune_build_refuse(b, CTUNE_REFUSE_STATEMENT, cursor,
                              "a statement that ctune does not know");
}

/* A jump to the label from elsewhere, or to a label that is computed. */
static bool is_reached(ctune_build *b, CXCursor at, CXCursor label) {
    size_t begin = ctune_cx_begin(at);
    ctune_kids kids = ctune_cx_kids(b->arena, at);
    bool is_outside = begin < b->begin || begin >= b->end;
    if (ctune_cx_kind(at) == CXCursor_IndirectGotoStmt) {
        return true;
    }
    if (ctune_cx_kind(at) == CXCursor_GotoStmt) {
        return is_outside && kids.n == 1 &&
               ctune_cx_begin(clang_getCursorReferenced(kids.at[0])) == ctune_cx_begin(label);
    }
    for (int i = 0; i < kids.n; i++) {
        if (is_reached(b, kids.at[i], label)) {
            return true;
        }
    }
    return false;
}

/* Jumps to it from above in its block are known (branch.c), others refused where they stand. */
static bool build_label(ctune_build *b, CXCursor cursor) {
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    if (kids.n != 1 || (b->frame == NULL && is_reached(b, b->function, cursor))) {
        return refuse_statement(b, cursor);
    }
    return ctune_statement_build(b, kids.at[0]);
}

static bool build(ctune_build *b, CXCursor cursor) {
    switch (ctune_cx_kind(cursor)) {
    case CXCursor_CompoundStmt:
        return ctune_branch_list(b, ctune_cx_kids(b->arena, cursor), b->in_tail);
    case CXCursor_ForStmt:
    case CXCursor_WhileStmt:
    case CXCursor_DoStmt:
        return ctune_loop_build(b, cursor);
    case CXCursor_IfStmt:
        return ctune_branch_build(b, cursor);
    case CXCursor_DeclStmt:
        return build_declarations(b, cursor);
    case CXCursor_NullStmt:
        return true;
    case CXCursor_UnexposedStmt:
        return build_wrapped(b, cursor);
    case CXCursor_LabelStmt:
        return build_label(b, cursor);
    case CXCursor_SwitchStmt:
        return ctune_switch_build(b, cursor);
    case CXCursor_ReturnStmt:
        return b->in_tail && ctune_callee_returns(b) ? ctune_callee_return(b, cursor)
                                                     : refuse_statement(b, cursor);
    default:
        return ctune_cx_is_expr(cursor) && ctune_cx_kind(cursor) != CXCursor_StmtExpr
                   ? ctune_assign_build(b, cursor)
                   : refuse_statement(b, cursor);
    }
}

/* A statement that cannot be built for the whole domain is built for parts of it. */
bool ctune_statement_build(ctune_build *b, CXCursor cursor) {
    ctune_snapshot before;
    enum CXCursorKind kind = ctune_cx_kind(cursor);
    if (ctune_arena_has_failed(b->arena)) {
        return false;
    }
    b->split = NULL;
    if (kind == CXCursor_CompoundStmt || kind == CXCursor_NullStmt) {
        return build(b, cursor);
    }
    if (!ctune_snapshot_get(b, &before)) {
        return false;
    }
    bool ok = build(b, cursor);
    if (ok || b->split == NULL || b->why.is_error) {
        b->split = NULL;
        return ok;
    }
    const ctune_aff *split = b->split;
    ctune_snapshot_restore(b, &before, true);
    b->split = split;
    return ctune_split_build(b, cursor);
}
