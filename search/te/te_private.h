/* What the files of search/te share among themselves. */
#ifndef CTUNE_SEARCH_TE_TE_PRIVATE_H
#define CTUNE_SEARCH_TE_TE_PRIVATE_H

#include "search/te/te.h"

/* "A[$0][$1]", "x": in the arena. */
const char *ctune_tensor_default_pattern(ctune_arena *arena, const char *name, int rank);

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

/* Bounding boxes (shape.c). te_stage_box: of the stage's axes [n_axes]; false: it does not run at
 * all, as far as intervals can tell. te_aff_range: of a form over them. */
typedef __int128 te_wide;
typedef struct te_interval {
    te_wide lo, hi;
} te_interval;
bool te_stage_box(const ctune_region *region, const ctune_stage *stage, const int64_t *params,
                  te_interval *axes);
te_interval te_aff_range(const ctune_region *region, const ctune_aff *aff, const te_interval *axes,
                         const int64_t *params);

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
