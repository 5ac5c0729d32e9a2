/*
 * Predict: see predict.h.
 */
#include "plugin/predict/predict.h"

#include "search/engine/engine.h"

#include <string.h>

/* Expected gains below this (log2) are not worth other code: the model's errors are larger. */
#define MIN_GAIN_LOG2 0.1

void ctune_nest_features_init(ctune_nest_features *features, const ctune_source *source,
                              unsigned groups) {
    ctune_target_facts_machine(&source->facts, &features->target.machine);
    features->target.is_gcc = source->facts.is_gcc;
    features->groups = groups;
}

void ctune_nest_features_get(void *user, const ctune_nest *nest, float *row) {
    const ctune_nest_features *f = user;
    ctune_feature_get(nest, &f->target, f->groups, row);
}

/* Forms made so far and those to come. */
static void set_rounding(ctune_program *program, bool rounds) {
    program->round_products = rounds;
    for (int i = 0; i < program->n_forms; i++) {
        program->form[i]->round_products = rounds;
    }
}

static ctune_status choose_rounding(ctune_ctx *ctx, const ctune_source *source,
                                    ctune_program *program) {
    ctune_contraction contraction;
    ctune_status status = ctune_contraction_get(ctx, source, program->region, &contraction);
    if (status == CTUNE_OK && contraction == CTUNE_CONTRACTS_SOME) {
        status = ctune_fail(ctx, CTUNE_EREFUSED,
                            "region %s: the compiler fuses some products with sums and rounds "
                            "others: only measuring (`ctune tune`) can tell which",
                            program->region->name);
    }
    if (status == CTUNE_OK) {
        set_rounding(program, contraction == CTUNE_CONTRACTS_NEVER);
    }
    return status;
}

static ctune_status choose(ctune_ctx *ctx, const ctune_forest *forest, const ctune_source *source,
                           const ctune_space *space, ctune_point *point, double *gain) {
    ctune_model model;
    ctune_nest_features features;
    ctune_predict_options options = {.seed = 1};
    if (forest != NULL) {
        ctune_forest_model(forest, &model);
        ctune_nest_features_init(&features, source, forest->feature_groups);
        options.model = &model;
        options.features = ctune_nest_features_get;
        options.features_user = &features;
    }
    return ctune_engine_predict(ctx, space, &source->machine, &options, point, gain);
}

static ctune_status put_schedule(ctune_ctx *ctx, const ctune_program *program,
                                 const ctune_space *space, const ctune_point *point,
                                 ctune_text *out) {
    ctune_schedule schedule;
    ctune_schedule_init(&schedule);
    ctune_status status = ctune_space_schedule(ctx, space, point, &schedule);
    if (status == CTUNE_OK) {
        ctune_text_append(out, program->round_products ? "round_products\n" : "");
        ctune_schedule_print(&schedule, out);
    }
    if (status == CTUNE_OK && (schedule.failed || out->failed)) {
        status = ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    ctune_schedule_clear(&schedule);
    return status;
}

ctune_status ctune_predict_schedule(ctune_ctx *ctx, void *user, const ctune_source *source,
                                    ctune_program *program, ctune_text *schedule) {
    ctune_space *space = NULL;
    ctune_point point;
    double gain = 0;
    ctune_space_options options = source->space;
    options.openmp = options.openmp && !program->region->serial;
    ctune_status status = choose_rounding(ctx, source, program);
    if (status == CTUNE_OK) {
        status = ctune_space_create(ctx, program, &options, &space);
    }
    if (status == CTUNE_OK) {
        status = choose(ctx, user, source, space, &point, &gain);
    }
    if (status == CTUNE_OK && gain >= MIN_GAIN_LOG2) {
        status = put_schedule(ctx, program, space, &point, schedule);
    }
    if (space != NULL) {
        ctune_space_destroy(space);
    }
    return status;
}
