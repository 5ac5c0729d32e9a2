/* Kinds of models: see kind.h. */
#include "costmodel/kind/kind.h"

#include "costmodel/memory.h"

#include <stdio.h>

/* ---- the list -------------------------------------------------------------------------------- */
const char *ctune_kind_name(int kind) {
    return kind == CTUNE_KIND_GBT ? "gbt" : ctune_net_name((ctune_net_kind)(kind - 1));
}

const char *ctune_kind_help(int kind) {
    static const char *const help[] = {"gradient-boosted trees over features of the nest",
#define X(id, name, input, text) text,
                                       CTUNE_NET_TABLE(X)
#undef X
    };
    return help[kind];
}

ctune_input_kind ctune_kind_input(int kind) {
    return kind == CTUNE_KIND_GBT ? CTUNE_INPUT_ROW : ctune_net_input((ctune_net_kind)(kind - 1));
}

int ctune_kind_find(const char *name) {
    for (int i = 0; i < CTUNE_N_KINDS; i++) {
        if (strcmp(name, ctune_kind_name(i)) == 0) {
            return i;
        }
    }
    return -1;
}

/* ---- a forest as a model that learns --------------------------------------------------------- */
typedef struct forest_model {
    ctune_forest *forest; /* NULL: not trained */
    ctune_gbt_options options;
    ctune_model_input input;
} forest_model;

static ctune_status forest_predict(ctune_ctx *ctx, void *self, const float *features, size_t n_rows,
                                   float *scores) {
    const forest_model *m = self;
    (void)ctx;
    memset(scores, 0, n_rows * sizeof *scores);
    if (m->forest != NULL) {
        ctune_forest_predict(m->forest, features, n_rows, scores);
    }
    return CTUNE_OK;
}

static ctune_status forest_predict_members(ctune_ctx *ctx, void *self, const float *features,
                                           size_t n_rows, float *scores) {
    const forest_model *m = self;
    (void)ctx;
    if (m->forest != NULL) {
        ctune_forest_predict_members(m->forest, features, n_rows, scores);
    } else {
        memset(scores, 0, n_rows * (size_t)m->options.n_members * sizeof *scores);
    }
    return CTUNE_OK;
}

static ctune_status forest_learn(ctune_ctx *ctx, void *self, const struct ctune_dataset *data,
                                 const bool *select, const ctune_learn_watch *watch) {
    forest_model *m = self;
    ctune_forest *forest = NULL;
    (void)watch; /* some seconds: nothing to stop */
    ctune_status status = ctune_gbt_train(ctx, data, select, NULL, &m->options, &forest);
    if (status == CTUNE_OK) {
        forest->feature_version = m->input.version;
        forest->feature_groups = m->input.groups;
        ctune_forest_destroy(m->forest);
        m->forest = forest;
    }
    return status;
}

static ctune_status forest_save(ctune_ctx *ctx, const void *self, ctune_text *out) {
    const forest_model *m = self;
    if (m->forest == NULL) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "the forest is not trained");
    }
    ctune_forest_print(m->forest, out);
    return out->failed ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory") : CTUNE_OK;
}

static ctune_status forest_note(ctune_ctx *ctx, void *self, const char *summary) {
    forest_model *m = self;
    return m->forest != NULL ? ctune_forest_set_summary(ctx, m->forest, summary) : CTUNE_OK;
}

static void forest_describe(const void *self, ctune_text *out) {
    const ctune_forest *f = ((const forest_model *)self)->forest;
    if (f != NULL) {
        ctune_text_printf(out, "%s, %d trees, %d nodes\n", f->objective, f->n_trees, f->n_nodes);
        ctune_text_append(out, f->summary != NULL ? f->summary : "");
    }
}

static void forest_destroy(void *self) {
    forest_model *m = self;
    ctune_forest_destroy(m->forest);
    free(m);
}

/* Takes forest over, also when it fails. */
static ctune_status forest_create(ctune_ctx *ctx, ctune_forest *forest,
                                  const ctune_gbt_options *options, const ctune_model_input *input,
                                  ctune_model *out) {
    forest_model *m = ctune_memory_grow(ctx, NULL, 1, sizeof *m);
    if (m == NULL) {
        ctune_forest_destroy(forest);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for a model");
    }
    *m = (forest_model){forest, *options, *input};
    *out = (ctune_model){.name = "gbt",
                         .n_features = ctune_model_input_count(input),
                         .self = m,
                         .predict = forest_predict,
                         .n_members = forest != NULL ? forest->n_members : options->n_members,
                         .predict_members = forest_predict_members,
                         .destroy = forest_destroy,
                         .input = *input,
                         .learn = forest_learn,
                         .save = forest_save,
                         .note = forest_note,
                         .describe = forest_describe};
    return CTUNE_OK;
}

const ctune_forest *ctune_kind_forest(const ctune_model *model) {
    return model->destroy == forest_destroy ? ((const forest_model *)model->self)->forest : NULL;
}

/* ---- making and loading ---------------------------------------------------------------------- */
void ctune_kind_options_default(int kind, const ctune_model_input *input,
                                ctune_kind_options *options) {
    ctune_gbt_options *gbt = &options->gbt;
    ctune_gbt_options_default(gbt);
    gbt->n_trees = 400; /* trained once, for all tasks */
    gbt->n_members = 4; /* of 100: no worse at ranking than one of 300, and they say how sure */
    gbt->max_depth = 6;
    gbt->eta = 0.08;
    gbt->subsample = 0.8;
    gbt->colsample = 0.5;
    ctune_net_config_default(&options->net,
                             kind == CTUNE_KIND_GBT ? CTUNE_NET_LINEAR : (ctune_net_kind)(kind - 1),
                             input);
}

ctune_status ctune_kind_create(ctune_ctx *ctx, int kind, const ctune_model_input *input,
                               const ctune_kind_options *options, ctune_model *out) {
    if (kind == CTUNE_KIND_GBT) {
        return forest_create(ctx, NULL, &options->gbt, input, out);
    }
    ctune_net_config config = options->net;
    ctune_net *net = NULL;
    config.kind = (ctune_net_kind)(kind - 1);
    config.input = *input;
    ctune_status status = ctune_net_create(ctx, &config, &net);
    if (status == CTUNE_OK) {
        ctune_net_model(net, out);
    }
    return status;
}

static ctune_status load_text(ctune_ctx *ctx, const char *path, const char *text,
                              ctune_model *out) {
    if (strncmp(text, CTUNE_NET_MAGIC, sizeof CTUNE_NET_MAGIC - 1) == 0) {
        ctune_net *net = NULL;
        ctune_status status = ctune_net_parse(ctx, path, text, &net);
        if (status == CTUNE_OK) {
            ctune_net_model(net, out);
        }
        return status;
    }
    ctune_forest *forest = NULL;
    ctune_gbt_options options;
    ctune_gbt_options_default(&options);
    ctune_status status = ctune_forest_parse(ctx, path, text, &forest);
    if (status == CTUNE_OK) {
        ctune_model_input input = ctune_forest_input(forest);
        status = forest_create(ctx, forest, &options, &input, out);
    }
    return status;
}

ctune_status ctune_kind_load(ctune_ctx *ctx, const char *path, ctune_model *out) {
    ctune_text text;
    ctune_text_init(&text);
    ctune_status status = ctune_file_read(ctx, path, &text);
    if (status == CTUNE_OK) {
        status = load_text(ctx, path, ctune_text_get(&text), out);
    }
    ctune_text_clear(&text);
    return status;
}
