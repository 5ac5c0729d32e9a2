/*
 * Domain splitting: statements whose subscripts or conditions differ between parts of the domain.
 *
 * In: a condition or a form that is not decided where it is met (x > 0 ? x - 1 : 0 at a border).
 * Out: the statement twice, below `if: form >= 0` and below its opposite, where it is decided. The
 * smallest statement is split, and only where the answer matters. A trial that fails leaves
 * nothing behind: the build is put back to its snapshot.
 */
#include "plugin/extract/build.h"

enum { MAX_SPLITS = 96 };

/* ---- snapshots ------------------------------------------------------------------------------- */

bool ctune_snapshot_get(ctune_build *b, ctune_snapshot *s) {
    *s = (ctune_snapshot){.n_params = b->params.n,
                          .n_tensors = b->tensors.n,
                          .n_axes = b->axes.n,
                          .n_divs = b->divs.n,
                          .n_stages = b->stages.n,
                          .n_assumes = b->assumes.n,
                          .n_accs = b->accs.n,
                          .n_domain = b->domain.n,
                          .n_finals = b->finals.n,
                          .n_open = b->n_open,
                          .n_kids = b->at->kids.n,
                          .n_otherwise = b->at->otherwise.n,
                          .at = b->at,
                          .why = b->why,
                          .split = b->split};
    s->vars = ctune_index_save(b);
    return s->vars != NULL;
}

void ctune_snapshot_restore(ctune_build *b, const ctune_snapshot *s, bool keeps_params) {
    for (int i = 0; i < b->vars.n; i++) {
        int param = b->vars.at[i].param;
        b->vars.at[i] = s->vars[i];
        if (keeps_params) {
            b->vars.at[i].param = param;
        }
    }
    if (!keeps_params) {
        b->params.n = s->n_params;
        b->param_infos.n = s->n_params;
    }
    b->tensors.n = s->n_tensors;
    b->axes.n = s->n_axes;
    b->stages.n = s->n_stages;
    b->assumes.n = s->n_assumes;
    b->accs.n = s->n_accs;
    b->domain.n = s->n_domain;
    b->finals.n = s->n_finals;
    b->n_open = s->n_open;
    b->at = s->at;
    b->at->kids.n = s->n_kids;
    b->at->otherwise.n = s->n_otherwise;
    b->why = s->why;
    b->split = s->split;
}

/* ---- deciding -------------------------------------------------------------------------------- */

ctune_answer ctune_split_answer(ctune_build *b, const ctune_aff *aff) {
    const ctune_aff *opposite =
        ctune_aff_add_const(b->arena, ctune_aff_scale(b->arena, aff, -1), -1);
    if (aff == NULL || opposite == NULL || ctune_load_in(b, aff)) {
        return CTUNE_OPAQUE;
    }
    if (ctune_facts_has(b, b->domain.n, b->domain.at, aff)) {
        return CTUNE_YES;
    }
    if (ctune_facts_has(b, b->domain.n, b->domain.at, opposite)) {
        return CTUNE_NO;
    }
    b->split = aff;
    return CTUNE_OPEN;
}

static ctune_answer negated(ctune_answer answer) {
    return answer == CTUNE_YES ? CTUNE_NO : answer == CTUNE_NO ? CTUNE_YES : answer;
}

/* poly >= 0 */
static ctune_answer answer_poly(ctune_build *b, const ctune_poly *poly, CXCursor at) {
    const ctune_aff *aff = ctune_affine_form(b, poly, CTUNE_REFUSE_BOUND_NOT_AFFINE, at);
    return aff == NULL ? CTUNE_OPAQUE : ctune_split_answer(b, aff);
}

static ctune_answer both(ctune_answer x, ctune_answer y) {
    return x == CTUNE_NO || y == CTUNE_NO ? CTUNE_NO : x == CTUNE_YES ? y : x;
}

/* diff is left - right. */
static ctune_answer decide_relation(ctune_build *b, enum CXBinaryOperatorKind op,
                                    const ctune_poly *diff, CXCursor at) {
    ctune_arena *a = b->arena;
    const ctune_poly *less = ctune_poly_scale(a, diff, -1); /* right - left */
    const ctune_poly *one = ctune_poly_const(a, -1);
    switch (op) {
    case CXBinaryOperator_LT:
        return answer_poly(b, ctune_poly_add(a, less, one), at);
    case CXBinaryOperator_LE:
        return answer_poly(b, less, at);
    case CXBinaryOperator_GT:
        return answer_poly(b, ctune_poly_add(a, diff, one), at);
    case CXBinaryOperator_GE:
        return answer_poly(b, diff, at);
    default: {
        ctune_answer x = answer_poly(b, diff, at);
        ctune_answer y = x == CTUNE_YES ? answer_poly(b, less, at) : x;
        if (x == CTUNE_OPEN) { /* a border at which the other side decides is found, too */
            const ctune_aff *kept = b->split;
            y = answer_poly(b, less, at);
            b->split = y == CTUNE_YES ? kept : b->split;
        }
        ctune_answer equal = both(x, y);
        return op == CXBinaryOperator_EQ ? equal : negated(equal);
    }
    }
}

static ctune_answer decide(ctune_build *b, CXCursor cond);

static ctune_answer decide_logic(ctune_build *b, ctune_kids kids, bool is_and) {
    ctune_answer stop = is_and ? CTUNE_NO : CTUNE_YES;
    ctune_answer x = decide(b, kids.at[0]);
    return x == stop || x == CTUNE_OPEN || x == CTUNE_OPAQUE ? x : decide(b, kids.at[1]);
}

bool ctune_split_is_truth(ctune_build *b, CXCursor cursor) {
    cursor = ctune_cx_strip(b->arena, cursor);
    enum CXBinaryOperatorKind op = clang_getCursorBinaryOperatorKind(cursor);
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    bool is_bits = op == CXBinaryOperator_And || op == CXBinaryOperator_Or;
    return (op >= CXBinaryOperator_LT && op <= CXBinaryOperator_NE) ||
           op == CXBinaryOperator_LAnd || op == CXBinaryOperator_LOr ||
           clang_getCursorUnaryOperatorKind(cursor) == CXUnaryOperator_LNot ||
           (is_bits && kids.n == 2 && ctune_split_is_truth(b, kids.at[0]) &&
            ctune_split_is_truth(b, kids.at[1]));
}

static ctune_answer decide(ctune_build *b, CXCursor cond) {
    cond = ctune_cx_strip(b->arena, cond);
    enum CXBinaryOperatorKind op = clang_getCursorBinaryOperatorKind(cond);
    ctune_kids kids = ctune_cx_exprs(b->arena, cond);
    if (clang_getCursorUnaryOperatorKind(cond) == CXUnaryOperator_LNot && kids.n == 1) {
        return negated(decide(b, kids.at[0]));
    }
    bool is_logic = op == CXBinaryOperator_LAnd || op == CXBinaryOperator_LOr;
    bool is_bits =
        (op == CXBinaryOperator_And || op == CXBinaryOperator_Or) && ctune_split_is_truth(b, cond);
    if ((is_logic || is_bits) && kids.n == 2) {
        return decide_logic(b, kids, op == CXBinaryOperator_LAnd || op == CXBinaryOperator_And);
    }
    CXCursor left, right;
    bool is_negated;
    int pointer = ctune_hoist_null(b, cond, &is_negated);
    if (pointer >= 0) {
        const ctune_aff *is_set = ctune_aff_add_const(
            b->arena, ctune_aff_term(b->arena, CTUNE_TERM_PARAM, pointer, 1), -1);
        ctune_answer answer = is_set == NULL ? CTUNE_OPAQUE : ctune_split_answer(b, is_set);
        return is_negated ? negated(answer) : answer;
    }
    bool is_relation = ctune_affine_relation(b, cond, &op, &left, &right);
    if (!is_relation && ctune_cx_type(clang_getCursorType(cond)) >= CTUNE_F16) {
        return CTUNE_OPAQUE;
    }
    ctune_int x = ctune_affine_settle(b, ctune_affine_get(b, is_relation ? left : cond), cond);
    ctune_int y = {ctune_poly_const(b->arena, 0), x.type, true};
    if (is_relation && x.poly != NULL) {
        y = ctune_affine_settle(b, ctune_affine_get(b, right), right);
    }
    if (x.poly == NULL || y.poly == NULL) {
        return b->split != NULL ? CTUNE_OPEN : CTUNE_OPAQUE;
    }
    return decide_relation(b, is_relation ? op : CXBinaryOperator_NE,
                           ctune_poly_sub(b->arena, x.poly, y.poly), cond);
}

ctune_answer ctune_split_decide(ctune_build *b, CXCursor cond) {
    ctune_why kept = b->why;
    bool kept_assume = b->no_assume;
    bool kept_condition = b->is_condition;
    b->no_assume = b->is_condition = true;
    b->split = NULL;
    ctune_answer answer = decide(b, cond);
    b->is_condition = kept_condition;
    b->no_assume = kept_assume;
    b->why = kept;
    if (answer != CTUNE_OPEN) {
        b->split = NULL;
    }
    return answer;
}

ctune_answer ctune_split_equal(ctune_build *b, const ctune_poly *poly, CXCursor at) {
    ctune_why kept = b->why;
    bool kept_assume = b->no_assume;
    b->no_assume = true;
    b->split = NULL;
    ctune_answer answer =
        poly == NULL ? CTUNE_OPAQUE : decide_relation(b, CXBinaryOperator_EQ, poly, at);
    b->no_assume = kept_assume;
    b->why = kept;
    if (answer != CTUNE_OPEN) {
        b->split = NULL;
    }
    return answer;
}

void ctune_split_simplify(ctune_build *b, ctune_conds *conds) {
    int n = 0;
    for (int i = 0; i < conds->n; i++) {
        if (!ctune_facts_has(b, b->domain.n, b->domain.at, conds->at[i])) {
            conds->at[n++] = conds->at[i];
        }
    }
    conds->n = n > 0 || conds->n == 0 ? n : 1;
}

int ctune_split_count(ctune_build *b, CXCursor cond) {
    cond = ctune_cx_strip(b->arena, cond);
    enum CXBinaryOperatorKind op = clang_getCursorBinaryOperatorKind(cond);
    ctune_kids kids = ctune_cx_exprs(b->arena, cond);
    if (!ctune_split_is_truth(b, cond) ||
        (op >= CXBinaryOperator_LT && op <= CXBinaryOperator_NE)) {
        return op == CXBinaryOperator_NE || op == CXBinaryOperator_EQ ? 2 : 1;
    }
    int n = 0;
    for (int i = 0; i < kids.n; i++) {
        n += ctune_split_count(b, kids.at[i]);
    }
    return n;
}

/* ---- splitting ------------------------------------------------------------------------------- */

static bool build_side(ctune_build *b, ctune_mnode *node, const ctune_aff *aff, bool is_else,
                       CXCursor statement) {
    ctune_mnode *parent = b->at;
    int n_domain = b->domain.n;
    node->in_otherwise = is_else;
    b->at = node;
    bool ok = ctune_domain_push(b, 1, &aff) && ctune_statement_build(b, statement);
    b->at = parent;
    b->domain.n = n_domain;
    node->in_otherwise = false;
    return ok;
}

/* A condition that sizes alone decide here (has the row one element, so that both borders are the
 * same?) is made a fact where there are many parts already. */
static bool is_made_fact(ctune_build *b, const ctune_aff *aff) {
    enum { MANY = 3 };
    if (b->n_splits < MANY || b->is_trial) {
        return false;
    }
    ctune_why kept = b->why;
    int n_assumes = b->assumes.n;
    bool is_fact = ctune_facts_require_here(b, aff);
    b->assumes.n = is_fact ? b->assumes.n : n_assumes;
    b->why = kept;
    return is_fact;
}

bool ctune_split_build(ctune_build *b, CXCursor statement) {
    const ctune_aff *aff = b->split;
    b->split = NULL;
    const ctune_aff *opposite =
        ctune_aff_add_const(b->arena, ctune_aff_scale(b->arena, aff, -1), -1);
    if (is_made_fact(b, opposite) || is_made_fact(b, aff)) {
        b->n_splits++;
        return b->n_splits < MAX_SPLITS && ctune_statement_build(b, statement);
    }
    if (b->n_splits++ >= MAX_SPLITS) {
        return ctune_build_refuse(b, CTUNE_REFUSE_TOO_COMPLEX, statement,
                                  "the conditions split the region into too many parts");
    }
    ctune_mnode *node = ctune_mnode_new(b, CTUNE_M_IF);
    const ctune_aff **cons = CTUNE_NEW_ARRAY(b->arena, const ctune_aff *, 1);
    const ctune_aff *rest = ctune_aff_add_const(b->arena, ctune_aff_scale(b->arena, aff, -1), -1);
    const ctune_var *before = ctune_index_save(b);
    if (node == NULL || cons == NULL || rest == NULL || before == NULL) {
        return false;
    }
    cons[0] = aff;
    node->cons = cons;
    node->n_cons = 1;
    if (!ctune_mnode_add(b, b->at, node) || !build_side(b, node, aff, false, statement)) {
        return false;
    }
    const ctune_var *then = ctune_index_save(b);
    ctune_index_rewind(b, before); /* the other side starts from the same values */
    if (then == NULL || !build_side(b, node, rest, true, statement)) {
        return false;
    }
    ctune_index_merge(b, then, 1, cons);
    return true;
}
