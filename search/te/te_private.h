/* What the files of search/te share among themselves. */
#ifndef CTUNE_SEARCH_TE_TE_PRIVATE_H
#define CTUNE_SEARCH_TE_TE_PRIVATE_H

#include "search/te/te.h"

/* "A[$0][$1]", "x": in the arena. */
const char *ctune_tensor_default_pattern(ctune_arena *arena, const char *name, int rank);

/* Does the axis occur inside one of aff's divs? */
bool ctune_aff_div_uses_axis(const ctune_region *region, const ctune_aff *aff, int axis);

/* The dump with names replaced by their ordinals and without what only people or the source need:
 * the text whose hash is the workload key. */
void ctune_te_print_normal(const ctune_region *region, ctune_text *out);

/* The type that an expression has by its operator and operands; what prints without ":type". */
ctune_type ctune_expr_derived_type(const ctune_region *region, const ctune_expr *expr);

/* Text pieces that loops/ prints, too: "text" with escapes; a constant as its literal when that
 * says all, else f32(0x1.8p+0 "1.5f"). */
void te_print_quoted(ctune_text *out, const char *text);
void te_print_const(ctune_text *out, ctune_type type, int64_t i_value, double f_value,
                    const char *text);

typedef union ctune_math_arg {
    float f32;
    double f64;
    long double f80;
    int32_t i32;
    int64_t i64;
} ctune_math_arg;

/* Call a function that ctune_math_find knows; args and result in the arm of its type. */
ctune_math_arg ctune_math_call(const char *name, const ctune_math_arg *args);

#endif
