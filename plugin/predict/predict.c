/*
 * Predict: see predict.h.
 */
#include "plugin/predict/predict.h"

#include "costmodel/choice.h"
#include "search/engine/engine.h"
#include "search/space/gpu.h"

#include <stdio.h>
#include <string.h>

void ctune_nest_features_init(ctune_nest_features *features, const ctune_source *source,
                              const ctune_space *space, const ctune_model_input *input,
                              unsigned groups) {
    *features = (ctune_nest_features){
        .target = &source->target, .space = space, .input = *input, .groups = groups};
}

/* The schedule as records keep it; without memory as far as it came: a worse guess, no error. */
static void schedule_get(const ctune_space *space, const ctune_point *point, ctune_schedule *out) {
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    ctune_schedule_init(out);
    if (ctune_space_rounds(space)) {
        ctune_schedule_append(out, &(ctune_prim){.kind = CTUNE_PRIM_ROUND});
    }
    ctune_status status = ctune_space_schedule(&ctx, space, point, out);
    (void)status;
}

void ctune_nest_features_get(void *user, const ctune_point *point, const ctune_nest *nest,
                             float *row) {
    const ctune_nest_features *f = user;
    ctune_schedule schedule;
    ctune_schedule_init(&schedule);
    if (f->input.width > 0) {
        if (f->input.kind == CTUNE_INPUT_SEQUENCE) {
            schedule_get(f->space, point, &schedule);
        }
        ctune_encoding_get(&f->input, &schedule, nest, f->target, row);
        row += ctune_model_input_count(&f->input);
    }
    if (f->groups != 0) {
        ctune_feature_get(nest, f->target, f->groups, row);
    }
    ctune_schedule_clear(&schedule);
}

void ctune_cost_model_set_target(const ctune_model *model, const ctune_source *source) {
    char key[384];
    if (model != NULL && model->set_target != NULL) {
        ctune_target_machine_key(&source->target, source->key, key, sizeof key);
        model->set_target(model->self, key);
    }
}

static ctune_status choose(ctune_ctx *ctx, const ctune_model *model, const ctune_source *source,
                           const ctune_space *space, ctune_point *point, double *gain) {
    ctune_nest_features features;
    ctune_predict_options options = {.seed = 1};
    if (model != NULL) {
        ctune_cost_model_set_target(model, source);
        ctune_nest_features_init(&features, source, space, &model->input, 0);
        options.model = model;
        options.features = ctune_nest_features_get;
        options.features_user = &features;
    }
    return ctune_engine_predict(ctx, space, &source->target, &options, point, gain);
}

static void report_contraction(ctune_ctx *ctx, const ctune_region *region,
                               const ctune_rounding *rounding) {
    char text[400];
    snprintf(text, sizeof text,
             "%s: results are identical but for contraction, which the compiler decides copy by "
             "copy (%s)",
             region->name, rounding->evidence);
    ctune_diag_send(ctx,
                    &(ctune_diag){.severity = CTUNE_REMARK,
                                  .file = region->file,
                                  .line = region->line,
                                  .code = "contraction",
                                  .text = text,
                                  .hint = "-ffp-contract=off makes them equal; `strict` in the "
                                          "pragma keeps the original"});
}

/* For a GPU: without a device an estimate decides. */
static ctune_status choose_gpu(ctune_ctx *ctx, ctune_program *program, ctune_text *out) {
    ctune_gpu_device device;
    ctune_gpu_device_default(&device);
    ctune_schedule schedule;
    ctune_schedule_init(&schedule);
    ctune_status status = ctune_gpu_choose(ctx, program, &device, &schedule, NULL);
    if (status == CTUNE_OK) {
        ctune_schedule_print(&schedule, out);
    }
    ctune_schedule_clear(&schedule);
    return status;
}

ctune_status ctune_predict_schedule(ctune_ctx *ctx, void *user, const ctune_source *source,
                                    ctune_program *program, ctune_text *schedule) {
    ctune_space *space = NULL;
    ctune_point point;
    double gain = 0;
    ctune_rounding rounding;
    ctune_status status = ctune_rounding_choose(ctx, source, program, &rounding);
    if (status == CTUNE_OK && program->region->gpu != 0) {
        status = choose_gpu(ctx, program, schedule);
        if (status == CTUNE_OK && rounding.contraction == CTUNE_CONTRACTS_SOME) {
            report_contraction(ctx, program->region, &rounding);
        }
        return status;
    }
    if (status == CTUNE_OK) {
        status = ctune_space_create(ctx, program, &source->target, &space);
    }
    if (status == CTUNE_OK) {
        status = choose(ctx, user, source, space, &point, &gain);
    }
    if (status == CTUNE_OK && gain >= CTUNE_CHOICE_LEAST) {
        status = ctune_space_schedule_print(ctx, space, &point, schedule);
        if (rounding.contraction == CTUNE_CONTRACTS_SOME) {
            report_contraction(ctx, program->region, &rounding);
        }
    }
    if (space != NULL) {
        ctune_space_destroy(space);
    }
    return status;
}
