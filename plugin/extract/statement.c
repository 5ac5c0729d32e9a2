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

/* ---- if -------------------------------------------------------------------------------------- */

static bool build_branch(ctune_build *b, ctune_mnode *node, CXCursor body, bool is_else, int n_cons,
                         const ctune_aff *const *cons) {
    ctune_mnode *parent = b->at;
    int n_domain = b->domain.n;
    node->in_otherwise = is_else;
    b->at = node;
    bool ok = ctune_domain_push(b, n_cons, cons) && ctune_statement_build(b, body);
    b->at = parent;
    b->domain.n = n_domain;
    node->in_otherwise = false;
    return ok;
}

static int count_stages(const ctune_mnode *node, bool *has_loop) {
    int n = node->kind == CTUNE_M_STAGE;
    *has_loop |= node->kind == CTUNE_M_LOOP;
    for (int i = 0; i < node->kids.n; i++) {
        n += count_stages(node->kids.at[i], has_loop);
    }
    for (int i = 0; i < node->otherwise.n; i++) {
        n += count_stages(node->otherwise.at[i], has_loop);
    }
    return n;
}

static bool writes_guard(ctune_build *b, const ctune_mnode *node, const ctune_expr *guard) {
    if (node->kind == CTUNE_M_STAGE) {
        return ctune_expr_reads(guard, b->stages.at[node->stage].target->tensor);
    }
    bool found = false;
    for (int i = 0; i < node->kids.n && !found; i++) {
        found = writes_guard(b, node->kids.at[i], guard);
    }
    for (int i = 0; i < node->otherwise.n && !found; i++) {
        found = writes_guard(b, node->otherwise.at[i], guard);
    }
    return found;
}

/* The guard's value in a temporary, computed before the node. */
static bool remember_guard(ctune_build *b, ctune_mnode *node, CXCursor at) {
    const char *key = ctune_arena_printf(b->arena, "guard %d", b->tensors.n);
    int tensor = ctune_tensor_new(b, key, "cond", CTUNE_I32);
    ctune_acc *acc[2] = {NULL, NULL};
    ctune_expr *read = ctune_expr_new(b, CTUNE_OP_READ, CTUNE_I32, 0);
    ctune_access *target = CTUNE_NEW(b->arena, ctune_access);
    if (tensor < 0 || read == NULL || target == NULL) {
        return false;
    }
    ctune_mtensor *m = &b->tensors.at[tensor];
    m->t.is_temp = true;
    m->t.rank = 0;
    m->n_scope = b->n_open;
    memcpy(m->scope, b->open, sizeof m->scope);
    m->offset = ctune_cx_begin(at);
    for (int i = 0; i < 2; i++) {
        acc[i] = CTUNE_PUSH(b, b->accs);
        if (acc[i] == NULL) {
            return false;
        }
        acc[i]->tensor = tensor;
        acc[i]->slot = i == 0 ? target : &read->access;
        acc[i]->slot->tensor = tensor;
        acc[i]->offset = ctune_cx_begin(at);
    }
    read->read_id = b->accs.n - 1;
    ctune_mnode *stage =
        ctune_stage_new(b, at, target, b->accs.n - 2, CTUNE_UPDATE_SET, CTUNE_I32, node->guard);
    node->guard =
        ctune_expr_new(b, CTUNE_OP_NE, CTUNE_I32, 2, read, ctune_expr_int(b, CTUNE_I32, 0));
    return stage != NULL && node->guard != NULL && ctune_mnode_add(b, b->at, stage);
}

/* The guard was read before the branches were built; the node goes in after them, so that a
 * temporary can come first. */
static bool finish_guard(ctune_build *b, ctune_mnode *node, CXCursor at) {
    bool has_loop = false;
    int n = count_stages(node, &has_loop);
    bool may_change = (n > 1 || has_loop) && writes_guard(b, node, node->guard);
    if (n == 0) {
        return true;
    }
    if (may_change && !remember_guard(b, node, at)) {
        return false;
    }
    if (!may_change && n == 1) {
        ctune_stage_fold_guard(b, node);
    }
    return ctune_mnode_add(b, b->at, node);
}

static bool build_guard(ctune_build *b, CXCursor cursor, CXCursor cond, const CXCursor *then,
                        const CXCursor *otherwise) {
    ctune_mnode *node = ctune_mnode_new(b, CTUNE_M_GUARD);
    if (node == NULL) {
        return false;
    }
    node->parent = b->at;
    node->guard = ctune_expr_condition(b, cond);
    return node->guard != NULL && build_branch(b, node, *then, false, 0, NULL) &&
           (otherwise == NULL || build_branch(b, node, *otherwise, true, 0, NULL)) &&
           finish_guard(b, node, cursor);
}

/* Is the condition affine without new run-time facts? Leaves no refusal behind. */
static bool try_affine(ctune_build *b, CXCursor cond, ctune_conds *out) {
    ctune_why kept = b->why;
    bool kept_assume = b->no_assume;
    b->no_assume = true;
    out->n = 0;
    bool ok = ctune_affine_condition(b, cond, false, out);
    b->no_assume = kept_assume;
    b->why = kept;
    return ok;
}

static bool build_affine(ctune_build *b, CXCursor cond, const ctune_conds *conds,
                         const CXCursor *then, const CXCursor *otherwise) {
    ctune_mnode *node = ctune_mnode_new(b, CTUNE_M_IF);
    const ctune_aff **cons = CTUNE_NEW_ARRAY(b->arena, const ctune_aff *, conds->n + 1);
    if (node == NULL || cons == NULL) {
        return false;
    }
    memcpy(cons, conds->at, (size_t)conds->n * sizeof *cons);
    node->cons = cons;
    node->n_cons = conds->n;
    if (!ctune_mnode_add(b, b->at, node) || !build_branch(b, node, *then, false, conds->n, cons)) {
        return false;
    }
    if (otherwise == NULL) {
        return true;
    }
    if (conds->n == 1) {
        const ctune_aff *negated =
            ctune_aff_add_const(b->arena, ctune_aff_scale(b->arena, cons[0], -1), -1);
        return negated != NULL && build_branch(b, node, *otherwise, true, 1, &negated);
    }
    node->guard = ctune_expr_condition(b, cond);
    return node->guard != NULL && build_branch(b, node, *otherwise, true, 0, NULL);
}

static bool build_if(ctune_build *b, CXCursor cursor) {
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    if (kids.n != 2 && kids.n != 3) {
        return ctune_build_refuse(b, CTUNE_REFUSE_STATEMENT, cursor, "an unusual if statement");
    }
    const CXCursor *otherwise = kids.n == 3 ? &kids.at[2] : NULL;
    if (ctune_cx_has_effect(b->arena, kids.at[0]) && ctune_expr_condition(b, kids.at[0]) == NULL) {
        return false; /* the expression says what is wrong; calls of pure functions pass */
    }
    ctune_conds conds;
    if (try_affine(b, kids.at[0], &conds)) {
        return build_affine(b, kids.at[0], &conds, &kids.at[1], otherwise);
    }
    CXCursor cond = ctune_cx_strip(b->arena, kids.at[0]);
    ctune_kids both = ctune_cx_exprs(b->arena, cond);
    bool is_and = clang_getCursorBinaryOperatorKind(cond) == CXBinaryOperator_LAnd && both.n == 2;
    if (!is_and || otherwise != NULL || !try_affine(b, both.at[0], &conds)) {
        return build_guard(b, cursor, kids.at[0], &kids.at[1], otherwise);
    }
    /* affine && data: the data is only read where the affine part holds */
    ctune_mnode *node = ctune_mnode_new(b, CTUNE_M_IF), *parent = b->at;
    const ctune_aff **cons = CTUNE_NEW_ARRAY(b->arena, const ctune_aff *, conds.n + 1);
    if (node == NULL || cons == NULL || !ctune_mnode_add(b, b->at, node)) {
        return false;
    }
    memcpy(cons, conds.at, (size_t)conds.n * sizeof *cons);
    node->cons = cons;
    node->n_cons = conds.n;
    int n_domain = b->domain.n;
    b->at = node;
    bool ok = ctune_domain_push(b, conds.n, cons) &&
              build_guard(b, cursor, both.at[1], &kids.at[1], NULL);
    b->at = parent;
    b->domain.n = n_domain;
    return ok;
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
    return ctune_assign_initialiser(b, decl, var, init);
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
    var->n_scope = b->n_open;
    memcpy(var->scope, b->open, sizeof var->scope);
    var->scope_node = b->at;
    var->value = NULL;
    var->pointer = NULL;
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

static bool build_block(ctune_build *b, CXCursor cursor) {
    ctune_kids kids = ctune_cx_kids(b->arena, cursor);
    for (int i = 0; i < kids.n; i++) {
        if (!ctune_statement_build(b, kids.at[i])) {
            return false;
        }
    }
    return true;
}

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
        {CXCursor_WhileStmt, CTUNE_REFUSE_WHILE, "a while loop in the region"},
        {CXCursor_DoStmt, CTUNE_REFUSE_WHILE, "a do loop in the region"},
        {CXCursor_BreakStmt, CTUNE_REFUSE_BREAK, "break leaves the loop early"},
        {CXCursor_ContinueStmt, CTUNE_REFUSE_CONTINUE, "continue skips the rest of the body"},
        {CXCursor_GotoStmt, CTUNE_REFUSE_GOTO, "goto in the region"},
        {CXCursor_IndirectGotoStmt, CTUNE_REFUSE_GOTO, "goto in the region"},
        {CXCursor_LabelStmt, CTUNE_REFUSE_LABEL, "a label in the region"},
        {CXCursor_ReturnStmt, CTUNE_REFUSE_RETURN, "return leaves the region"},
        {CXCursor_SwitchStmt, CTUNE_REFUSE_SWITCH, "switch in the region"},
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

bool ctune_statement_build(ctune_build *b, CXCursor cursor) {
    if (ctune_arena_has_failed(b->arena)) {
        return false;
    }
    switch (ctune_cx_kind(cursor)) {
    case CXCursor_CompoundStmt:
        return build_block(b, cursor);
    case CXCursor_ForStmt:
        return ctune_loop_build(b, cursor);
    case CXCursor_IfStmt:
        return build_if(b, cursor);
    case CXCursor_DeclStmt:
        return build_declarations(b, cursor);
    case CXCursor_NullStmt:
        return true;
    case CXCursor_UnexposedStmt:
        return build_wrapped(b, cursor);
    default:
        return ctune_cx_is_expr(cursor) && ctune_cx_kind(cursor) != CXCursor_StmtExpr
                   ? ctune_assign_build(b, cursor)
                   : refuse_statement(b, cursor);
    }
}
