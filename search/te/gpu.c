/*
 * What a GPU computes with the host's bits: types and functions.
 *
 * In: a region. Out: NULL, or why none of its code can run there. Functions count when the result
 * on a device is the correctly rounded one, in CUDA's and OpenCL's documents; others are a few ulp
 * apart from the host's library, whose own are not rounded correctly either.
 */
#include "search/te/te.h"

#include <string.h>

bool ctune_math_is_exact(const char *name) {
    static const char *const roots[] = {"sqrt", "fabs",      "floor", "ceil",     "trunc", "round",
                                        "rint", "nearbyint", "fmod",  "copysign", "fma"};
    ctune_type type;
    if (ctune_math_find(name, &type) > 0 && !ctune_type_is_float(type)) {
        return true; /* abs */
    }
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        if (strcmp(ctune_math_root(name), roots[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_type(ctune_type type) {
    return type != CTUNE_BOOL && type != CTUNE_F16 && type != CTUNE_F80;
}

static const char *check_expr(const ctune_expr *expr) {
    if (expr == NULL) {
        return NULL;
    }
    if (!has_type(expr->type)) {
        return "a GPU has no values of this type";
    }
    if (expr->op == CTUNE_OP_CALL && !ctune_math_is_exact(expr->text)) {
        return "a function of the math library has other bits on a GPU";
    }
    const char *wrong = NULL;
    for (int i = 0; i < expr->n_kids && wrong == NULL; i++) {
        wrong = check_expr(expr->kids[i]);
    }
    return wrong;
}

const char *ctune_region_check_gpu(const ctune_region *region) {
    const char *wrong = NULL;
    for (int i = 0; i < region->n_tensors && wrong == NULL; i++) {
        const ctune_tensor *t = &region->tensors[i];
        if (!has_type(t->type)) {
            wrong = "a GPU has no values of this type";
        } else if (!t->is_temp && t->elem_stride_bytes != ctune_type_get(t->type)->bytes) {
            wrong = "members of structures are not copied to a GPU";
        } else if (t->live_out_text != NULL) {
            wrong = "the last value of a variable is read after the loops";
        }
    }
    for (int s = 0; s < region->n_stages && wrong == NULL; s++) {
        wrong = check_expr(region->stages[s].rhs);
        wrong = wrong == NULL ? check_expr(region->stages[s].guard) : wrong;
    }
    return wrong;
}
