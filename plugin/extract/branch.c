/*
 * Branches: if, and what jumps skip.
 *
 * In: an IfStmt. Out: nodes below b->at. A condition that the domain decides picks its branch; an
 * affine one restricts domains, in a tree of single forms where it is no conjunction; any other
 * becomes a guard on the stages inside, remembered in a temporary of its own when those stages
 * could change what it reads. `if (c) continue; rest` is `if (c) {} else rest`; return and a goto
 * to a label further down in the same block are the same.
 */
#include "plugin/extract/build.h"

#include "plugin/extract/assign.h"

enum { MAX_LEAVES = 6, MAX_COPIES = 400 };

/* ---- guards ---------------------------------------------------------------------------------- */

/* n_cons: 0 where the domain does not know the condition. */
static bool build_branch(ctune_build *b, ctune_mnode *node, ctune_kids body, bool is_else,
                         int n_cons, const ctune_aff *const *cons) {
    ctune_mnode *parent = b->at;
    int n_domain = b->domain.n;
    node->in_otherwise = is_else;
    b->at = node;
    b->n_maybe += n_cons == 0;
    bool ok = ctune_domain_push(b, n_cons, cons) && ctune_branch_list(b, body, b->in_tail);
    b->n_maybe -= n_cons == 0;
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
    int tensor = ctune_temporary_new(b, "cond", CTUNE_I32, at);
    ctune_expr *read = ctune_expr_new(b, CTUNE_OP_READ, CTUNE_I32, 0);
    ctune_access *target = CTUNE_NEW(b->arena, ctune_access);
    if (tensor < 0 || read == NULL || target == NULL) {
        return false;
    }
    int written = ctune_temporary_use(b, tensor, target, at);
    read->read_id = ctune_temporary_use(b, tensor, &read->access, at);
    if (written < 0 || read->read_id < 0) {
        return false;
    }
    ctune_mnode *stage =
        ctune_stage_new(b, at, target, written, CTUNE_UPDATE_SET, CTUNE_I32, node->guard);
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

typedef struct branches {
    CXCursor at, cond;
    ctune_kids then, otherwise;
} branches;

/* Build the first branch with `cons`, the other with `not`, and join what they know of scalars. */
static bool build_both(ctune_build *b, ctune_mnode *node, const branches *p, int n_cons,
                       const ctune_aff *const *cons, int n_not, const ctune_aff *const * not) {
    const ctune_var *before = ctune_index_save(b);
    if (before == NULL || !build_branch(b, node, p->then, false, n_cons, cons)) {
        return false;
    }
    const ctune_var *then = ctune_index_save(b);
    if (then == NULL) {
        return false;
    }
    ctune_index_rewind(b, before);
    if (p->otherwise.n > 0 && !build_branch(b, node, p->otherwise, true, n_not, not)) {
        return false;
    }
    ctune_index_merge(b, then, n_cons, cons);
    return true;
}

static bool build_guard(ctune_build *b, const branches *p) {
    ctune_mnode *node = ctune_mnode_new(b, CTUNE_M_GUARD);
    if (node == NULL) {
        return false;
    }
    node->parent = b->at;
    node->guard = ctune_expr_condition(b, p->cond);
    return node->guard != NULL && build_both(b, node, p, 0, NULL, 0, NULL) &&
           finish_guard(b, node, p->at);
}

static bool build_affine(ctune_build *b, const ctune_conds *conds, const branches *p) {
    ctune_mnode *node = ctune_mnode_new(b, CTUNE_M_IF);
    const ctune_aff **cons = CTUNE_NEW_ARRAY(b->arena, const ctune_aff *, conds->n + 1);
    if (node == NULL || cons == NULL || !ctune_mnode_add(b, b->at, node)) {
        return false;
    }
    memcpy(cons, conds->at, (size_t)conds->n * sizeof *cons);
    node->cons = cons;
    node->n_cons = conds->n;
    if (conds->n == 1) {
        const ctune_aff *negated =
            ctune_aff_add_const(b->arena, ctune_aff_scale(b->arena, cons[0], -1), -1);
        return negated != NULL && build_both(b, node, p, 1, cons, 1, &negated);
    }
    if (p->otherwise.n > 0) {
        node->guard = ctune_expr_condition(b, p->cond);
        if (node->guard == NULL) {
            return false;
        }
    }
    return build_both(b, node, p, conds->n, cons, 0, NULL);
}

/* affine && data: the data is only read where the affine part holds. */
static bool build_mixed(ctune_build *b, const branches *p, const ctune_conds *conds,
                        CXCursor data) {
    ctune_mnode *node = ctune_mnode_new(b, CTUNE_M_IF), *parent = b->at;
    const ctune_aff **cons = CTUNE_NEW_ARRAY(b->arena, const ctune_aff *, conds->n + 1);
    if (node == NULL || cons == NULL || !ctune_mnode_add(b, b->at, node)) {
        return false;
    }
    memcpy(cons, conds->at, (size_t)conds->n * sizeof *cons);
    node->cons = cons;
    node->n_cons = conds->n;
    int n_domain = b->domain.n;
    branches inner = {.at = p->at, .cond = data, .then = p->then};
    const ctune_var *before = ctune_index_save(b);
    b->at = node;
    bool ok = before != NULL && ctune_domain_push(b, conds->n, cons) && build_guard(b, &inner);
    b->at = parent;
    b->domain.n = n_domain;
    if (ok) {
        ctune_index_merge(b, before, 0, NULL);
    }
    return ok;
}

/* ---- continue -------------------------------------------------------------------------------- */

static ctune_kids join(ctune_build *b, ctune_kids x, ctune_kids y) {
    CXCursor *all = CTUNE_NEW_ARRAY(b->arena, CXCursor, x.n + y.n + 1);
    if (all == NULL) {
        return (ctune_kids){0, NULL};
    }
    if (x.n > 0) {
        memcpy(all, x.at, (size_t)x.n * sizeof *all);
    }
    if (y.n > 0) {
        memcpy(all + x.n, y.at, (size_t)y.n * sizeof *all);
    }
    return (ctune_kids){x.n + y.n, all};
}

/* What stands behind an if that ends in continue, noted when its block was met. */
static const ctune_rest *find_rest(const ctune_build *b, CXCursor statement) {
    for (int i = b->rests.n - 1; i >= 0; i--) {
        if (clang_equalCursors(b->rests.at[i].statement, statement)) {
            return &b->rests.at[i];
        }
    }
    return NULL;
}

/* Does a way through the statement end with a jump to behind it? Loops keep theirs. */
static bool jumps(ctune_build *b, CXCursor at, bool is_tail) {
    switch (ctune_cx_kind(at)) {
    case CXCursor_ContinueStmt:
        return is_tail;
    case CXCursor_ReturnStmt:
        return is_tail && ctune_callee_returns(b);
    case CXCursor_GotoStmt:
        return true;
    case CXCursor_IfStmt:
    case CXCursor_SwitchStmt:
    case CXCursor_CaseStmt:
    case CXCursor_DefaultStmt:
    case CXCursor_CompoundStmt: {
        ctune_kids kids = ctune_cx_exprs(b->arena, at);
        for (int i = 0; i < kids.n; i++) {
            if (jumps(b, kids.at[i], is_tail)) {
                return true;
            }
        }
        return false;
    }
    default:
        return false;
    }
}

/* Where a goto goes in the list; -1: elsewhere. */
static int find_label(ctune_build *b, ctune_kids list, CXCursor jump) {
    ctune_kids refs = ctune_cx_kids(b->arena, jump);
    size_t at = refs.n == 1 ? ctune_cx_begin(clang_getCursorReferenced(refs.at[0])) : 0;
    for (int i = 0; i < list.n && refs.n == 1; i++) {
        if (ctune_cx_kind(list.at[i]) == CXCursor_LabelStmt && ctune_cx_begin(list.at[i]) == at) {
            return i;
        }
    }
    return -1;
}

static bool refuse_goto(ctune_build *b, CXCursor at) {
    return ctune_build_refuse(b, CTUNE_REFUSE_GOTO, at, "'%s' goes back, or out of its block",
                              ctune_build_text(b, at));
}

bool ctune_branch_list(ctune_build *b, ctune_kids list, bool is_tail) {
    bool kept = b->in_tail, ok = true;
    for (int i = 0; i < list.n && ok; i++) {
        bool is_last = i + 1 == list.n;
        enum CXCursorKind kind = ctune_cx_kind(list.at[i]);
        if (is_tail && kind == CXCursor_ContinueStmt) {
            break;
        }
        if (kind == CXCursor_GotoStmt) {
            int to = find_label(b, list, list.at[i]);
            if (to <= i) {
                ok = refuse_goto(b, list.at[i]);
                break;
            }
            i = to - 1;
            continue;
        }
        bool returns = kind == CXCursor_ReturnStmt && ctune_callee_returns(b);
        bool is_choice = kind == CXCursor_IfStmt || kind == CXCursor_SwitchStmt;
        bool skips = is_choice && jumps(b, list.at[i], is_tail);
        if (skips && find_rest(b, list.at[i]) == NULL) {
            ctune_rest *rest = CTUNE_PUSH(b, b->rests);
            if (rest == NULL) {
                return false;
            }
            *rest = (ctune_rest){list.at[i], {list.n - i - 1, list.at + i + 1}};
        }
        b->in_tail = is_tail && (is_last || skips || returns);
        ok = ctune_statement_build(b, list.at[i]);
        if (skips || returns) {
            break; /* the rest went into a branch */
        }
    }
    b->in_tail = kept;
    return ok;
}

/* ---- if -------------------------------------------------------------------------------------- */

/* A branch and what comes behind it: the rest, the rest from a label on, or nothing. */
static bool follow(ctune_build *b, ctune_kids *list, const ctune_rest *rest) {
    CXCursor last = list->n > 0 ? list->at[list->n - 1] : rest->statement;
    enum CXCursorKind kind = list->n > 0 ? ctune_cx_kind(last) : CXCursor_NullStmt;
    ctune_kids behind = rest->list;
    if (kind == CXCursor_ContinueStmt) {
        list->n--;
        return true;
    }
    if (kind == CXCursor_ReturnStmt) {
        return true;
    }
    if (kind == CXCursor_GotoStmt) {
        int to = find_label(b, behind, last);
        if (to < 0) {
            return refuse_goto(b, last);
        }
        list->n--;
        behind = (ctune_kids){behind.n - to, behind.at + to};
    }
    if (b->n_copies++ > MAX_COPIES) {
        return ctune_build_refuse(b, CTUNE_REFUSE_TOO_COMPLEX, rest->statement,
                                  "too many ways through the statements");
    }
    *list = join(b, *list, behind);
    return list->n == 0 || list->at != NULL;
}

bool ctune_branch_follow(ctune_build *b, CXCursor statement, ctune_kids *list) {
    const ctune_rest *rest = find_rest(b, statement);
    return rest == NULL || follow(b, list, rest);
}

static bool read_branches(ctune_build *b, CXCursor cursor, branches *p) {
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    if (kids.n != 2 && kids.n != 3) {
        return ctune_build_refuse(b, CTUNE_REFUSE_STATEMENT, cursor, "an unusual if statement");
    }
    *p = (branches){
        .at = cursor, .cond = kids.at[0], .then = ctune_cx_statements(b->arena, kids.at[1])};
    if (kids.n == 3) {
        p->otherwise = ctune_cx_statements(b->arena, kids.at[2]);
    }
    const ctune_rest *rest = find_rest(b, cursor);
    return rest == NULL || (follow(b, &p->then, rest) && follow(b, &p->otherwise, rest));
}

/* Decided for no whole domain: restrict it, or ask for a split. */
static bool build_open(ctune_build *b, const branches *p) {
    const ctune_aff *split = b->split;
    ctune_conds conds;
    bool is_affine = ctune_affine_try(b, p->cond, &conds);
    if (is_affine && p->otherwise.n > 0) {
        ctune_split_simplify(b, &conds);
    }
    if (is_affine && (p->otherwise.n == 0 || conds.n == 1)) {
        b->split = NULL;
        return build_affine(b, &conds, p);
    }
    if (ctune_split_count(b, p->cond) > MAX_LEAVES) {
        b->split = NULL;
        return is_affine ? build_affine(b, &conds, p) : build_guard(b, p);
    }
    b->split = split;
    return false;
}

bool ctune_branch_build(ctune_build *b, CXCursor cursor) {
    branches p;
    if (!read_branches(b, cursor, &p)) {
        return false;
    }
    if (ctune_cx_has_effect(b->arena, p.cond) && ctune_expr_condition(b, p.cond) == NULL) {
        return false; /* the expression says what is wrong; calls of pure functions pass */
    }
    ctune_answer answer = ctune_split_decide(b, p.cond);
    if (answer == CTUNE_YES || answer == CTUNE_NO) {
        return ctune_branch_list(b, answer == CTUNE_YES ? p.then : p.otherwise, b->in_tail);
    }
    CXCursor cond = ctune_cx_strip(b->arena, p.cond);
    ctune_kids both = ctune_cx_exprs(b->arena, cond);
    bool is_and = clang_getCursorBinaryOperatorKind(cond) == CXBinaryOperator_LAnd && both.n == 2;
    ctune_conds conds;
    if (answer == CTUNE_OPEN && is_and && p.otherwise.n == 0 &&
        !ctune_affine_try(b, cond, &conds) && ctune_affine_try(b, both.at[0], &conds)) {
        b->split = NULL;
        return build_mixed(b, &p, &conds, both.at[1]);
    }
    if (answer == CTUNE_OPEN) {
        return build_open(b, &p);
    }
    return ctune_affine_try(b, p.cond, &conds) ? build_affine(b, &conds, &p) : build_guard(b, &p);
}
