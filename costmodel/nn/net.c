/*
 * Networks: configuration, batches, scores, and the functions of a model. See net.h.
 */
#include "costmodel/memory.h"
#include "costmodel/nn/net_private.h"

#include <math.h>
#include <stdio.h>

enum { PREDICT_ROWS = 128, UPDATE_STEPS = 12, UPDATE_ROWS = 256 };
static const float most_normal = 8; /* what a number is cut to once it is normalised */

/* ---- configuration --------------------------------------------------------------------------- */
const char *ctune_net_name(ctune_net_kind kind) {
    static const char *const names[] = {
#define X(id, name, input, help) name,
        CTUNE_NET_TABLE(X)
#undef X
    };
    return names[kind];
}

ctune_input_kind ctune_net_input(ctune_net_kind kind) {
    static const ctune_input_kind inputs[] = {
#define X(id, name, input, help) CTUNE_INPUT_##input,
        CTUNE_NET_TABLE(X)
#undef X
    };
    return inputs[kind];
}

void ctune_net_config_default(ctune_net_config *config, ctune_net_kind kind,
                              const ctune_model_input *input) {
    *config = (ctune_net_config){.kind = kind,
                                 .input = *input,
                                 .hidden = 128,
                                 .heads = 8,
                                 .layers = 2,
                                 .slots = 4,
                                 .position = 1,
                                 .epochs = 50,
                                 .batch = 128,
                                 .patience = 8,
                                 .held_out = 0.1,
                                 .seed = 1};
    ctune_nn_adam_default(&config->adam);
    if (kind == CTUNE_NET_TLP || kind == CTUNE_NET_MTL_TLP) {
        config->hidden = 64; /* published: 256, for a GPU; this ranks 512 candidates in 50 ms */
    }
    if (kind == CTUNE_NET_TREEGRU) {
        config->adam.decay = 1e-4;
        config->adam.clip = 5;
    }
}

ctune_status net_config_check(ctune_ctx *ctx, const ctune_net_config *c) {
    const ctune_model_input *in = &c->input;
    if (in->kind != ctune_net_input(c->kind) || in->n_items < 1 ||
        in->n_items > CTUNE_INPUT_MAX_ITEMS || in->width > CTUNE_INPUT_MAX_WIDTH ||
        in->width <= (in->kind == CTUNE_INPUT_TREE ? NET_TREE_COLUMNS : 0)) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "%s: rows that it cannot have",
                          ctune_net_name(c->kind));
    }
#define X(field, word, least, most)                                                                \
    if (c->field < (least) || c->field > (most)) {                                                 \
        return ctune_fail(ctx, CTUNE_EUSAGE, "%s: %s %d is not in %d..%d",                         \
                          ctune_net_name(c->kind), word, c->field, least, most);                   \
    }
    CTUNE_NET_COUNT_TABLE(X)
#undef X
    bool is_fine = c->hidden % c->heads == 0 && c->hidden % 4 == 0 && c->adam.rate > 0 &&
                   c->adam.rate <= 1 && c->adam.decay >= 0 && c->adam.decay <= 1 &&
                   c->adam.clip >= 0 && c->held_out >= 0 && c->held_out < 1;
    return is_fine ? CTUNE_OK
                   : ctune_fail(ctx, CTUNE_EUSAGE,
                                "%s: hidden must be a multiple of 4 and of attention-heads, rates "
                                "in range",
                                ctune_net_name(c->kind));
}

int net_columns(const ctune_net_config *config) {
    return config->input.width - (config->input.kind == CTUNE_INPUT_TREE ? NET_TREE_COLUMNS : 0);
}

/* ---- creation -------------------------------------------------------------------------------- */
ctune_status ctune_net_create(ctune_ctx *ctx, const ctune_net_config *config, ctune_net **out) {
    const ctune_blas *blas;
    ctune_status status = net_config_check(ctx, config);
    *out = NULL;
    if (status == CTUNE_OK) {
        status = ctune_blas_get(ctx, &blas);
    }
    if (status != CTUNE_OK) {
        return status;
    }
    ctune_net *net = ctune_memory_grow(ctx, NULL, 1, sizeof *net);
    if (net == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for a network");
    }
    memset(net, 0, sizeof *net);
    net->config = *config;
    net->blas = blas;
    net->n_heads = 1;
    net->score_scale = 1;
    status = ctune_nn_tape_create(ctx, blas, &net->tape);
    if (status != CTUNE_OK) {
        ctune_net_destroy(net);
        return status;
    }
    *out = net;
    return CTUNE_OK;
}

void ctune_net_destroy(ctune_net *net) {
    if (net == NULL) {
        return;
    }
    ctune_nn_params_clear(&net->params);
    ctune_nn_tape_destroy(net->tape);
    free(net->state.best_values);
    free(net->trained);
    free(net->summary);
    free(net);
}

const ctune_net_config *ctune_net_get_config(const ctune_net *net) {
    return &net->config;
}

ctune_status ctune_net_set_summary(ctune_ctx *ctx, ctune_net *net, const char *summary) {
    char *copy = ctune_memory_strdup(ctx, summary);
    if (copy == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for a summary");
    }
    free(net->summary);
    net->summary = copy;
    return CTUNE_OK;
}

void net_values_get(const ctune_net *net, float *out) {
    for (int i = 0; i < net->params.n; i++) {
        size_t n = net_size(net->params.param[i]);
        memcpy(out, net->params.param[i]->value, n * sizeof *out);
        out += n;
    }
}

void net_values_set(ctune_net *net, const float *in) {
    for (int i = 0; i < net->params.n; i++) {
        size_t n = net_size(net->params.param[i]);
        memcpy(net->params.param[i]->value, in, n * sizeof *in);
        in += n;
    }
}

/* ---- batches --------------------------------------------------------------------------------- */
void net_batch_clear(net_batch *batch) {
    free(batch->start);
    free(batch->x);
    memset(batch, 0, sizeof *batch);
}

const float *net_items(const ctune_net_config *config, const float *row, int *n) {
    if (config->input.kind == CTUNE_INPUT_ROW) {
        *n = 1;
        return row;
    }
    float count = row[0];
    *n = count >= 1 ? (count < (float)config->input.n_items ? (int)count : config->input.n_items)
                    : 0;
    return row + 1;
}

static ctune_status batch_reserve(ctune_ctx *ctx, const ctune_net *net, net_batch *b) {
    size_t n = (size_t)b->n, m = (size_t)b->n_items, n_floats;
    int *ints = ctune_memory_grow(ctx, NULL, 2 * n + 3 * m + 1, sizeof *ints);
    if (ints == NULL || !ctune_size_mul(m, (size_t)net_columns(&net->config), &n_floats)) {
        free(ints);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for a batch");
    }
    b->start = ints;
    b->head = b->start + n + 1;
    b->sample = b->head + n;
    b->parent = b->sample + m;
    b->kind = b->parent + m;
    b->x = ctune_memory_grow(ctx, NULL, n_floats, sizeof *b->x);
    return b->x != NULL ? CTUNE_OK : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for a batch");
}

static void item_fill(const ctune_net *net, const float *item, float *x) {
    const float *mean = net->mean->value, *scale = net->scale->value;
    for (int c = 0; c < net_columns(&net->config); c++) {
        float y = (item[c] - mean[c]) * scale[c];
        x[c] = y > most_normal ? most_normal : y >= -most_normal ? y : y < 0 ? -most_normal : 0;
    }
}

static void tree_fill(const float *item, int first, int at, net_batch *b) {
    float parent = item[0], kind = item[1];
    bool has_parent = parent >= 1 && parent <= (float)(at - first);
    b->parent[at] = has_parent ? first + (int)parent - 1 : -1;
    b->kind[at] = kind >= 0 && kind < NET_TREE_KINDS ? (int)kind : 0;
}

ctune_status net_batch_fill(ctune_ctx *ctx, const ctune_net *net, int n, const float *const *rows,
                            const int *heads, net_batch *out) {
    const ctune_net_config *c = &net->config;
    bool is_tree = c->input.kind == CTUNE_INPUT_TREE;
    int columns = net_columns(c);
    *out = (net_batch){.n = n};
    for (int i = 0; i < n; i++) {
        int k;
        net_items(c, rows[i], &k);
        out->n_items += k;
    }
    ctune_status status = batch_reserve(ctx, net, out);
    int at = 0;
    for (int i = 0; i < n && status == CTUNE_OK; i++) {
        int k;
        const float *item = net_items(c, rows[i], &k);
        int first = out->start[i] = at;
        out->head[i] = heads != NULL ? heads[i] : net->head;
        for (; at < first + k; at++, item += c->input.width) {
            out->sample[at] = i;
            if (is_tree) {
                tree_fill(item, first, at, out);
            }
            item_fill(net, item + (is_tree ? NET_TREE_COLUMNS : 0),
                      out->x + (size_t)at * (size_t)columns);
        }
    }
    if (status == CTUNE_OK) {
        out->start[n] = at;
    }
    return status;
}

/* ---- scores ---------------------------------------------------------------------------------- */
static ctune_status predict_some(ctune_ctx *ctx, ctune_net *net, int n, const float *rows,
                                 float *scores) {
    const float *list[PREDICT_ROWS];
    size_t width = (size_t)ctune_model_input_count(&net->config.input);
    net_batch batch = {0};
    for (int i = 0; i < n; i++) {
        list[i] = rows + (size_t)i * width;
    }
    ctune_status status = net_batch_fill(ctx, net, n, list, NULL, &batch);
    if (status == CTUNE_OK) {
        ctune_nn_tape_reset(ctx, net->tape);
        ctune_nn_var y = net_forward(net, net->tape, &batch);
        status = ctune_nn_status(net->tape);
        for (int i = 0; i < n && status == CTUNE_OK; i++) {
            scores[i] = net->score_scale * ctune_nn_value(net->tape, y)[i] + net->score_shift;
        }
    }
    net_batch_clear(&batch);
    return status;
}

ctune_status ctune_net_predict(ctune_ctx *ctx, ctune_net *net, const float *rows, size_t n_rows,
                               float *scores) {
    size_t width = (size_t)ctune_model_input_count(&net->config.input);
    ctune_status status = CTUNE_OK;
    for (size_t i = 0; i < n_rows && status == CTUNE_OK; i += PREDICT_ROWS) {
        int n = (int)(n_rows - i < PREDICT_ROWS ? n_rows - i : PREDICT_ROWS);
        if (net->is_built) {
            status = predict_some(ctx, net, n, rows + i * width, scores + i);
        } else {
            memset(scores + i, 0, (size_t)n * sizeof *scores);
        }
    }
    return status;
}

void ctune_net_set_target(ctune_net *net, const char *key) {
    net->head = 0;
    for (int i = 0; i < net->n_heads; i++) {
        if (strcmp(net->heads[i].target, key) == 0) {
            net->head = i;
            return;
        }
    }
}

/* ---- update ---------------------------------------------------------------------------------- */
static ctune_status update_step(ctune_ctx *ctx, ctune_net *net, const net_batch *batch,
                                const float *labels, float *gradient, int step) {
    ctune_nn_tape_reset(ctx, net->tape);
    ctune_nn_var y = net_forward(net, net->tape, batch);
    ctune_status status = ctune_nn_status(net->tape);
    if (status == CTUNE_OK) {
        memset(gradient, 0, (size_t)batch->n * sizeof *gradient);
        net_loss(&net->config, (size_t)batch->n, labels, ctune_nn_value(net->tape, y), gradient);
        ctune_nn_params_reset_grads(&net->params);
        status = ctune_nn_backward(net->tape, y, gradient);
    }
    if (status == CTUNE_OK) {
        ctune_nn_adam_step(&net->config.adam, step, &net->params);
    }
    return status;
}

static void moments_reset(ctune_net *net) {
    for (int i = 0; i < net->params.n; i++) {
        size_t bytes = net_size(net->params.param[i]) * sizeof(float);
        memset(net->params.param[i]->moment1, 0, bytes);
        memset(net->params.param[i]->moment2, 0, bytes);
    }
}

/* What the training left, kept before the first update, brought back before the next ones. */
static ctune_status trained_restore(ctune_ctx *ctx, ctune_net *net) {
    if (net->trained != NULL) {
        net_values_set(net, net->trained);
    } else {
        net->trained =
            ctune_memory_grow(ctx, NULL, (size_t)net->params.n_values, sizeof *net->trained);
        if (net->trained == NULL) {
            return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for an update");
        }
        net_values_get(net, net->trained);
    }
    moments_reset(net);
    return CTUNE_OK;
}

ctune_status ctune_net_update(ctune_ctx *ctx, ctune_net *net, const float *rows,
                              const float *labels, size_t n_rows) {
    const float *list[UPDATE_ROWS];
    float gradient[UPDATE_ROWS];
    size_t width = (size_t)ctune_model_input_count(&net->config.input);
    if (!net->is_built || n_rows < 2) {
        return CTUNE_OK;
    }
    size_t first = n_rows > UPDATE_ROWS ? n_rows - UPDATE_ROWS : 0; /* the newest */
    int n = (int)(n_rows - first);
    net_batch batch = {0};
    for (int i = 0; i < n; i++) {
        list[i] = rows + (first + (size_t)i) * width;
    }
    ctune_status status = trained_restore(ctx, net);
    if (status == CTUNE_OK) {
        status = net_batch_fill(ctx, net, n, list, NULL, &batch);
    }
    for (int step = 1; step <= UPDATE_STEPS && status == CTUNE_OK; step++) {
        status = update_step(ctx, net, &batch, labels + first, gradient, step);
    }
    net_batch_clear(&batch);
    return status;
}

/* ---- as a model ------------------------------------------------------------------------------ */
static ctune_status model_predict(ctune_ctx *ctx, void *self, const float *features, size_t n_rows,
                                  float *scores) {
    return ctune_net_predict(ctx, self, features, n_rows, scores);
}

static ctune_status model_fit(ctune_ctx *ctx, void *self, const float *features,
                              const float *labels, size_t n_rows) {
    return ctune_net_update(ctx, self, features, labels, n_rows);
}

static ctune_status model_learn(ctune_ctx *ctx, void *self, const struct ctune_dataset *data,
                                const bool *select, const ctune_learn_watch *watch) {
    return ctune_net_learn(ctx, self, data, select, watch);
}

static ctune_status model_save(ctune_ctx *ctx, const void *self, ctune_text *out) {
    return ctune_net_print(ctx, self, out);
}

static ctune_status model_note(ctune_ctx *ctx, void *self, const char *summary) {
    return ctune_net_set_summary(ctx, self, summary);
}

static void model_set_target(void *self, const char *key) {
    ctune_net_set_target(self, key);
}

static void model_describe(const void *self, ctune_text *out) {
    const ctune_net *net = self;
    const ctune_net_config *c = &net->config;
    ctune_text_printf(out, "%s, %s, %lld parameters, width %d, at most %d items of %d numbers\n",
                      ctune_net_name(c->kind), c->regression ? "regression" : "rank",
                      (long long)net->params.n_values, c->hidden, c->input.n_items, c->input.width);
    for (int i = 0; i < net->n_heads && c->kind == CTUNE_NET_MTL_TLP; i++) {
        ctune_text_printf(out, "head %d for %s\n", i, net->heads[i].target);
    }
    ctune_text_append(out, net->summary != NULL ? net->summary : "");
}

static void model_destroy(void *self) {
    ctune_net_destroy(self);
}

void ctune_net_model(ctune_net *net, ctune_model *out) {
    *out = (ctune_model){.name = ctune_net_name(net->config.kind),
                         .n_features = ctune_model_input_count(&net->config.input),
                         .self = net,
                         .predict = model_predict,
                         .fit = model_fit,
                         .destroy = model_destroy,
                         .input = net->config.input,
                         .learn = model_learn,
                         .save = model_save,
                         .note = model_note,
                         .set_target = model_set_target,
                         .describe = model_describe};
}
