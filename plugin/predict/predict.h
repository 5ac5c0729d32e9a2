/*
 * Predict: the installed cost model, and the schedule that it thinks best for a region, unmeasured.
 *
 * What `ctune tune --predict` and the plugins' mode=predict call. A compiler calls it: nothing is
 * measured or run; for GCC the original is compiled to assembly once where its roundings matter
 * (contract.c).
 */
#ifndef CTUNE_PLUGIN_PREDICT_PREDICT_H
#define CTUNE_PLUGIN_PREDICT_PREDICT_H

#include "costmodel/forest.h"
#include "plugin/source/source.h"
#include "search/feature/feature.h"
#include "search/schedule/program.h"

/* ---- the model file -------------------------------------------------------------------------- */

/* given, or $CTUNE_MODEL, or the one that lies with this program or library (share/ctune/models/
 * cpu.model, or models/cpu.model in a build tree). EENV when there is none; `given` is not checked.
 */
CTUNE_MUST_USE ctune_status ctune_cost_model_find(ctune_ctx *ctx, const char *given, char *out,
                                                  size_t size);
/* Found, read and checked against this ctune's features. Owner of *out: caller. */
CTUNE_MUST_USE ctune_status ctune_cost_model_open(ctune_ctx *ctx, const char *given,
                                                  ctune_forest **out);

/* ---- features of a nest for a source's target ------------------------------------------------ */

/* What the engine's feature callback needs. */
typedef struct ctune_nest_features {
    ctune_feature_target target;
    unsigned groups;
} ctune_nest_features;
void ctune_nest_features_init(ctune_nest_features *features, const ctune_source *source,
                              unsigned groups);
/* A ctune_features_fn; user: ctune_nest_features. */
void ctune_nest_features_get(void *user, const ctune_nest *nest, float *row);

/* ---- choice ---------------------------------------------------------------------------------- */

/*
 * A ctune_transform_predict (plugin/transform/transform.h): the schedule for a region's first
 * sizes.
 *
 * user      const ctune_forest *, NULL: by the analytic estimate alone
 * schedule  appended to; stays empty when nothing is expected to beat the original
 * Fails     EREFUSED when the compiler's rounding of the original cannot be told
 */
CTUNE_MUST_USE ctune_status ctune_predict_schedule(ctune_ctx *ctx, void *user,
                                                   const ctune_source *source,
                                                   ctune_program *program, ctune_text *schedule);

/* ---- rounding of the original ---------------------------------------------------------------- */
typedef enum ctune_contraction {
    CTUNE_CONTRACTS_NEVER,  /* no product is fused with a sum: tuned code must round them, too */
    CTUNE_CONTRACTS_ALWAYS, /* each is, or none occurs, or it is the source's own business (clang)
                             */
    CTUNE_CONTRACTS_SOME
} ctune_contraction;

/* Looks at the assembly that the source's compiler makes of the original. clang, no FMA on the
 * target, reassoc and regions without floating-point products cost no run of the compiler. */
CTUNE_MUST_USE ctune_status ctune_contraction_get(ctune_ctx *ctx, const ctune_source *source,
                                                  const ctune_region *region,
                                                  ctune_contraction *out);
/* Has the region a product and a sum in floating point? */
bool ctune_region_may_fuse(const ctune_region *region);
/* The same for a text of assembly. */
ctune_contraction ctune_contraction_scan(const char *assembly);

#endif
