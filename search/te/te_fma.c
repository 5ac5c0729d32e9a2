/*
 * Which products a sum absorbs: the rule of ctune_products (te.h), asked by the interpreter and by
 * lowering.
 */
#include "search/te/te.h"

bool ctune_expr_is_product(const ctune_expr *expr) {
    const ctune_expr *e = expr->op == CTUNE_OP_NEG ? expr->kids[0] : expr;
    bool has_fma = e->type == CTUNE_F32 || e->type == CTUNE_F64;
    return e->op == CTUNE_OP_MUL && has_fma && e->type == expr->type;
}

int ctune_fma_operand(const ctune_expr *a, const ctune_expr *b) {
    return ctune_expr_is_product(a) ? 0 : ctune_expr_is_product(b) ? 1 : -1;
}
