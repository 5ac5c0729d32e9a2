/*
 * What libctune-transform.so exports to the compiler plugins: the transform with this ctune's
 * hooks.
 *
 * The cost model is read when a region without an entry is met in mode=predict, and not before; an
 * installation without a model predicts by the analytic estimate alone.
 */
#include "plugin/predict/predict.h"
#include "plugin/record/hook.h"
#include "plugin/transform/transform.h"

static ctune_status predict(ctune_ctx *ctx, void *user, const ctune_source *source,
                            ctune_program *program, ctune_text *schedule) {
    (void)user;
    ctune_forest *forest = NULL;
    ctune_model model;
    ctune_status status = ctune_cost_model_open(ctx, NULL, &forest);
    if (status == CTUNE_OK || status == CTUNE_EENV) {
        if (forest != NULL) {
            ctune_forest_model(forest, &model);
        }
        status =
            ctune_predict_schedule(ctx, forest != NULL ? &model : NULL, source, program, schedule);
    }
    ctune_forest_destroy(forest);
    return status;
}

static ctune_status run(ctune_ctx *ctx, const ctune_transform_options *options,
                        ctune_transform_result *out) {
    ctune_transform_options hooked = *options;
    hooked.predict = hooked.predict != NULL ? hooked.predict : predict;
    hooked.record = hooked.record != NULL ? hooked.record : ctune_record_hook;
    return ctune_transform_run(ctx, &hooked, out);
}

__attribute__((visibility("default"))) const ctune_transform_api *ctune_transform_api_get(void) {
    static const ctune_transform_api api = {CTUNE_TRANSFORM_ABI, CTUNE_VERSION, run,
                                            ctune_transform_clear};
    return &api;
}
