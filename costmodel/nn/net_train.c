/*
 * Training of a network: Adam over mini-batches of whole tasks (large ones in chunks), early
 * stopping on kernels that are held out, a state file to go on from.
 *
 * What an epoch does depends on seed and epoch alone, and the state holds all the rest, digit by
 * digit: a training that was stopped and resumed ends with the same bits.
 */
#include "costmodel/memory.h"
#include "costmodel/metrics.h"
#include "costmodel/nn/net_private.h"
#include "costmodel/rank_loss.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { CHUNK_ROWS = 64, PART_ROWS = 128, STATE_PERIOD_S = 20, N_CALIBRATE = 64 };

/* Rows of one task that are compared with each other. */
typedef struct chunk {
    int task;
    size_t first, n; /* in order[] */
} chunk;

typedef struct training {
    ctune_ctx *ctx;
    ctune_net *net;
    const ctune_dataset *data;
    bool *is_training, *is_held_out; /* [n_tasks] */
    int *head;                       /* [n_tasks] */
    bool has_held_out;
    size_t n_rows; /* to train on */
    size_t *order; /* [n_rows] rows of the data set, chunk by chunk */
    int n_chunks;
    chunk *chunks; /* room for all */
    float *scores; /* [data->n_rows] */
    int64_t saved_ns;
} training;

double net_loss(const ctune_net_config *config, size_t n, const float *labels, const float *scores,
                float *gradient) {
    return config->regression ? ctune_loss_mse(n, labels, scores, gradient)
                              : ctune_loss_lambda_rank(n, labels, scores, gradient);
}

/* ---- what is trained on ---------------------------------------------------------------------- */
static bool is_usable(const ctune_dataset *data, const bool *select, int task) {
    return (select == NULL || select[task]) && data->task[task].n_rows >= 2 &&
           isfinite(data->task[task].best_ns);
}

static double share_of(const char *kernel, uint64_t seed) {
    ctune_rng rng;
    ctune_rng_init(&rng, ctune_hash(CTUNE_HASH_INIT, kernel, strlen(kernel)) ^ seed);
    return ctune_rng_unit(&rng);
}

/* Held out: a share of the kernels, by a hash of their names; none when nothing would be left. */
static void tasks_part(training *t, const bool *select) {
    int n_in = 0, n_out = 0;
    for (int i = 0; i < t->data->n_tasks; i++) {
        bool is_used = is_usable(t->data, select, i);
        double share = share_of(t->data->task[i].kernel, t->net->config.seed);
        t->is_held_out[i] = is_used && share < t->net->config.held_out;
        t->is_training[i] = is_used && !t->is_held_out[i];
        n_in += t->is_training[i];
        n_out += t->is_held_out[i];
    }
    t->has_held_out = n_in > 0 && n_out > 0;
    t->n_rows = 0;
    for (int i = 0; i < t->data->n_tasks; i++) {
        t->is_training[i] = t->is_training[i] || (t->is_held_out[i] && !t->has_held_out);
        t->n_rows += t->is_training[i] ? t->data->task[i].n_rows : 0;
    }
}

static bool is_target_of(const char *key, const char *wanted) {
    return wanted[0] != '\0' && strncmp(key, wanted, strlen(wanted)) == 0;
}

static int head_find(const ctune_net *net, const char *key) {
    for (int i = 0; i < net->n_heads; i++) {
        if (strcmp(net->heads[i].target, key) == 0) {
            return i;
        }
    }
    return -1;
}

static ctune_status head_add(ctune_ctx *ctx, ctune_net *net, const char *key) {
    if (head_find(net, key) >= 0) {
        return CTUNE_OK;
    }
    if (net->n_heads == NET_MAX_HEADS) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "mtl-tlp: more than %d targets", NET_MAX_HEADS);
    }
    snprintf(net->heads[net->n_heads++].target, sizeof net->heads[0].target, "%s", key);
    return CTUNE_OK;
}

/* One head for each target; the wanted one is head 0. */
static ctune_status heads_choose(training *t) {
    ctune_net *net = t->net;
    ctune_status status = CTUNE_OK;
    if (net->config.kind != CTUNE_NET_MTL_TLP) {
        net->n_heads = 1;
        net->heads[0].target[0] = '\0';
        return CTUNE_OK;
    }
    net->n_heads = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < t->data->n_tasks && status == CTUNE_OK; i++) {
            const char *key = t->data->task[i].target != NULL ? t->data->task[i].target : "";
            bool is_used = t->is_training[i] || t->is_held_out[i];
            if (is_used && (pass == 1 || is_target_of(key, net->config.target))) {
                status = head_add(t->ctx, net, key);
            }
        }
        if (pass == 0 && net->config.target[0] != '\0' && net->n_heads == 0) {
            return ctune_fail(t->ctx, CTUNE_EUSAGE, "mtl-tlp: no task has the target '%s'",
                              net->config.target);
        }
    }
    return status;
}

static void heads_assign(training *t) {
    for (int i = 0; i < t->data->n_tasks; i++) {
        const char *key = t->data->task[i].target != NULL ? t->data->task[i].target : "";
        int head = t->net->config.kind == CTUNE_NET_MTL_TLP ? head_find(t->net, key) : 0;
        t->head[i] = head >= 0 ? head : 0;
    }
}

static ctune_status training_init(training *t, const bool *select) {
    size_t n = (size_t)t->data->n_tasks + 1;
    t->is_training = ctune_memory_grow(t->ctx, NULL, n, sizeof *t->is_training);
    t->is_held_out = ctune_memory_grow(t->ctx, NULL, n, sizeof *t->is_held_out);
    t->head = ctune_memory_grow(t->ctx, NULL, n, sizeof *t->head);
    t->scores = ctune_memory_grow(t->ctx, NULL, t->data->n_rows + 1, sizeof *t->scores);
    if (t->is_training == NULL || t->is_held_out == NULL || t->head == NULL || t->scores == NULL) {
        return ctune_fail(t->ctx, CTUNE_ENOMEM, "out of memory for a training");
    }
    tasks_part(t, select);
    if (t->n_rows == 0) {
        return ctune_fail(t->ctx, CTUNE_EUSAGE, "no rows to train on");
    }
    t->order = ctune_memory_grow(t->ctx, NULL, t->n_rows, sizeof *t->order);
    t->chunks = ctune_memory_grow(t->ctx, NULL, t->n_rows, sizeof *t->chunks);
    if (t->order == NULL || t->chunks == NULL) {
        return ctune_fail(t->ctx, CTUNE_ENOMEM, "out of memory for a training");
    }
    memset(t->scores, 0, t->data->n_rows * sizeof *t->scores);
    ctune_status status = heads_choose(t);
    heads_assign(t);
    return status;
}

static void training_clear(training *t) {
    free(t->is_training);
    free(t->is_held_out);
    free(t->head);
    free(t->scores);
    free(t->order);
    free(t->chunks);
}

/* ---- normalisation --------------------------------------------------------------------------- */
static const float *row_of(const training *t, size_t row) {
    return t->data->features + row * (size_t)t->data->n_features;
}

/* Mean and spread of each number over all items of the training. What does not vary is ignored. */
static ctune_status normalise(training *t) {
    const ctune_net_config *c = &t->net->config;
    int columns = net_columns(c), skipped = c->input.width - columns;
    double *sum = ctune_memory_grow(t->ctx, NULL, 2 * (size_t)columns, sizeof *sum), n = 0;
    if (sum == NULL) {
        return ctune_fail(t->ctx, CTUNE_ENOMEM, "out of memory for a training");
    }
    memset(sum, 0, 2 * (size_t)columns * sizeof *sum);
    for (int i = 0; i < t->data->n_tasks; i++) {
        const ctune_dataset_task *task = &t->data->task[i];
        for (size_t r = 0; r < task->n_rows && t->is_training[i]; r++) {
            int k;
            const float *item = net_items(c, row_of(t, task->first + r), &k);
            for (n += k; k > 0; k--, item += c->input.width) {
                for (int j = 0; j < columns; j++) {
                    double x = isfinite(item[skipped + j]) ? item[skipped + j] : 0;
                    sum[j] += x;
                    sum[columns + j] += x * x;
                }
            }
        }
    }
    for (int j = 0; j < columns; j++) {
        double mean = n > 0 ? sum[j] / n : 0;
        double square = n > 0 ? sum[columns + j] / n - mean * mean : 0;
        double spread = square > 0 ? sqrt(square) : 0;
        bool varies = spread > 1e-5 * (fabs(mean) + 1);
        t->net->mean->value[j] = (float)mean;
        t->net->scale->value[j] = varies ? (float)(1 / fmax(spread, 0.1)) : 0;
    }
    free(sum);
    return CTUNE_OK;
}

/* ---- one epoch ------------------------------------------------------------------------------- */
static void shuffle(ctune_rng *rng, size_t *list, size_t n) {
    for (size_t i = n; i > 1; i--) {
        size_t k = (size_t)ctune_rng_below(rng, i), x = list[k];
        list[k] = list[i - 1];
        list[i - 1] = x;
    }
}

/* Chunks of equal size of each task's rows, in random order. */
static void chunks_make(training *t, ctune_rng *rng) {
    size_t at = 0;
    t->n_chunks = 0;
    for (int i = 0; i < t->data->n_tasks; i++) {
        const ctune_dataset_task *task = &t->data->task[i];
        size_t first = at;
        for (size_t r = 0; r < task->n_rows && t->is_training[i]; r++) {
            t->order[at++] = task->first + r;
        }
        shuffle(rng, t->order + first, at - first);
        size_t n_parts = (at - first + CHUNK_ROWS - 1) / CHUNK_ROWS;
        for (size_t k = 0; k < n_parts; k++) {
            size_t begin = first + (at - first) * k / n_parts;
            size_t end = first + (at - first) * (k + 1) / n_parts;
            t->chunks[t->n_chunks++] = (chunk){i, begin, end - begin};
        }
    }
    for (int i = t->n_chunks; i > 1; i--) {
        int k = (int)ctune_rng_below(rng, (uint64_t)i);
        chunk c = t->chunks[k];
        t->chunks[k] = t->chunks[i - 1];
        t->chunks[i - 1] = c;
    }
}

/* Loss of some of n_all chunks side by side, and its gradient [rows]. */
static double chunks_loss(const training *t, const chunk *list, int n, int n_all,
                          const float *scores, float *gradient) {
    double loss = 0;
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        float labels[CHUNK_ROWS];
        for (size_t r = 0; r < list[i].n; r++) {
            labels[r] = ctune_dataset_label(t->data, list[i].task, t->order[list[i].first + r]);
            gradient[at + r] = 0;
        }
        loss += net_loss(&t->net->config, list[i].n, labels, scores + at, gradient + at);
        for (size_t r = 0; r < list[i].n; r++) {
            gradient[at + r] /= (float)n_all;
        }
        at += list[i].n;
    }
    return loss;
}

/* What one pass over some rows needs. */
typedef struct room {
    const float **rows;
    int *heads;
    float *gradient;
} room;

/* Adds the gradients of some chunks. */
static ctune_status chunks_back(training *t, const chunk *list, int n, int n_all, room *r,
                                double *loss) {
    ctune_net *net = t->net;
    net_batch batch = {0};
    int at = 0;
    for (int i = 0; i < n; i++) {
        for (size_t k = 0; k < list[i].n; k++, at++) {
            r->rows[at] = row_of(t, t->order[list[i].first + k]);
            r->heads[at] = t->head[list[i].task];
        }
    }
    ctune_status status = net_batch_fill(t->ctx, net, at, r->rows, r->heads, &batch);
    if (status == CTUNE_OK) {
        ctune_nn_tape_reset(t->ctx, net->tape);
        ctune_nn_var y = net_forward(net, net->tape, &batch);
        status = ctune_nn_status(net->tape);
        if (status == CTUNE_OK) {
            *loss += chunks_loss(t, list, n, n_all, ctune_nn_value(net->tape, y), r->gradient);
            status = ctune_nn_backward(net->tape, y, r->gradient);
        }
    }
    net_batch_clear(&batch);
    return status;
}

/* One step of Adam. The batch goes over the tape in parts, which keeps that small. */
static ctune_status step_take(training *t, const chunk *list, int n, room *r, double *loss) {
    ctune_net *net = t->net;
    ctune_status status = CTUNE_OK;
    ctune_nn_params_reset_grads(&net->params);
    for (int i = 0, k; i < n && status == CTUNE_OK; i += k) {
        size_t rows = 0;
        for (k = 0; i + k < n && rows + list[i + k].n <= PART_ROWS; k++) {
            rows += list[i + k].n;
        }
        status = chunks_back(t, list + i, k, n, r, loss);
    }
    if (status == CTUNE_OK) {
        ctune_nn_adam_step(&net->config.adam, ++net->state.step, &net->params);
    }
    return status;
}

static ctune_status epoch_run(training *t, double *loss) {
    room r = {.rows = ctune_memory_grow(t->ctx, NULL, PART_ROWS, sizeof *r.rows),
              .heads = ctune_memory_grow(t->ctx, NULL, PART_ROWS, sizeof *r.heads),
              .gradient = ctune_memory_grow(t->ctx, NULL, PART_ROWS, sizeof *r.gradient)};
    ctune_status status = r.rows != NULL && r.heads != NULL && r.gradient != NULL
                              ? CTUNE_OK
                              : ctune_fail(t->ctx, CTUNE_ENOMEM, "out of memory for a training");
    ctune_rng rng;
    ctune_rng_init(&rng, t->net->config.seed ^ ((uint64_t)(t->net->state.epoch + 1) << 32));
    chunks_make(t, &rng);
    *loss = 0;
    for (int i = 0, n = 0; i < t->n_chunks && status == CTUNE_OK; i += n) {
        size_t n_rows = 0;
        for (n = 0; i + n < t->n_chunks && n_rows < (size_t)t->net->config.batch; n++) {
            n_rows += t->chunks[i + n].n;
        }
        status = step_take(t, t->chunks + i, n, &r, loss);
    }
    *loss /= t->n_chunks;
    free(r.rows);
    free(r.heads);
    free(r.gradient);
    return status;
}

/* ---- what came of it ------------------------------------------------------------------------- */
static ctune_status tasks_score(training *t, const bool *which) {
    ctune_status status = CTUNE_OK;
    for (int i = 0; i < t->data->n_tasks && status == CTUNE_OK; i++) {
        const ctune_dataset_task *task = &t->data->task[i];
        if (which[i]) {
            t->net->head = t->head[i];
            status = ctune_net_predict(t->ctx, t->net, row_of(t, task->first), task->n_rows,
                                       t->scores + task->first);
        }
    }
    t->net->head = 0;
    return status;
}

/* Of the held-out tasks: mean of top-1 (geometric) and of the pairs in the right order. */
static ctune_status held_out_score(training *t, double *out) {
    ctune_metrics m;
    ctune_status status = tasks_score(t, t->is_held_out);
    if (status == CTUNE_OK) {
        status = ctune_metrics_get(t->ctx, t->data, t->scores, t->is_held_out, &m);
    }
    if (status == CTUNE_OK) {
        *out = (m.geo1 + m.pair_accuracy) / 2;
    }
    return status;
}

typedef struct slope {
    double both, square;
} slope;

static void slope_add(const training *t, int task, slope *s) {
    const ctune_dataset_task *x = &t->data->task[task];
    double weight = 0, mean_score = 0, mean_target = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t r = x->first; r < x->first + x->n_rows; r++) {
            float label = ctune_dataset_label(t->data, task, r);
            double target = label > 0 ? fmax(log2(label), -6) : -6, w = 0.05 + label;
            if (pass == 0) {
                weight += w;
                mean_score += w * t->scores[r];
                mean_target += w * target;
            } else {
                double step = t->scores[r] - mean_score / weight;
                s->both += w * step * (target - mean_target / weight);
                s->square += w * step * step;
            }
        }
    }
}

/* Scores are in units of log2 of time: their scale is fitted to some tasks of the training. */
static ctune_status calibrate(training *t) {
    slope s = {0};
    int n = 0, stride;
    for (int i = 0; i < t->data->n_tasks; i++) {
        n += t->is_training[i];
    }
    stride = n / N_CALIBRATE + 1;
    n = 0;
    for (int i = 0; i < t->data->n_tasks; i++) {
        t->is_held_out[i] = t->is_training[i] && n++ % stride == 0;
    }
    t->net->score_scale = 1;
    t->net->score_shift = 0;
    ctune_status status = tasks_score(t, t->is_held_out);
    for (int i = 0; i < t->data->n_tasks && status == CTUNE_OK; i++) {
        if (t->is_held_out[i]) {
            slope_add(t, i, &s);
        }
    }
    double scale = s.square > 0 ? s.both / s.square : 1;
    t->net->score_scale = isfinite(scale) && scale > 1e-3 && scale < 1e3 ? (float)scale : 1;
    return status;
}

/* ---- state ----------------------------------------------------------------------------------- */
static ctune_status state_write(training *t, const char *path) {
    ctune_text text;
    ctune_text_init(&text);
    ctune_status status = net_print(t->ctx, t->net, true, &text);
    if (status == CTUNE_OK) {
        status = ctune_file_write(t->ctx, path, ctune_text_get(&text), text.len);
    }
    ctune_text_clear(&text);
    t->saved_ns = ctune_now_ns();
    return status;
}

static bool is_same_config(const ctune_net *a, const ctune_net *b) {
    const ctune_net_config *x = &a->config, *y = &b->config;
    bool same = x->kind == y->kind && x->seed == y->seed && a->n_heads == b->n_heads &&
                a->params.n_values == b->params.n_values && x->input.options == y->input.options &&
                x->input.groups == y->input.groups;
#define X(field, word, least, most) same = same && x->field == y->field;
    CTUNE_NET_COUNT_TABLE(X)
#undef X
    return same;
}

static void params_copy(ctune_net *to, const ctune_net *from) {
    for (int i = 0; i < to->params.n; i++) {
        size_t bytes = net_size(to->params.param[i]) * sizeof(float);
        memcpy(to->params.param[i]->value, from->params.param[i]->value, bytes);
        memcpy(to->params.param[i]->moment1, from->params.param[i]->moment1, bytes);
        memcpy(to->params.param[i]->moment2, from->params.param[i]->moment2, bytes);
    }
}

static ctune_status state_read(training *t, const char *path) {
    ctune_text text;
    ctune_net *other = NULL;
    ctune_text_init(&text);
    ctune_status status = ctune_file_read(t->ctx, path, &text);
    if (status == CTUNE_OK) {
        status = net_parse(t->ctx, path, ctune_text_get(&text), true, &other);
    }
    ctune_text_clear(&text);
    if (status == CTUNE_OK && !is_same_config(t->net, other)) {
        status = ctune_fail(t->ctx, CTUNE_EUSAGE,
                            "%s is the state of another training; remove it to begin anew", path);
    }
    if (status == CTUNE_OK) {
        params_copy(t->net, other);
        float *best = t->net->state.best_values;
        memcpy(best, other->state.best_values, (size_t)t->net->params.n_values * sizeof *best);
        t->net->state = other->state;
        t->net->state.best_values = best;
    }
    ctune_net_destroy(other);
    return status;
}

/* ---- training -------------------------------------------------------------------------------- */
static ctune_status begin(training *t, const ctune_learn_watch *watch) {
    ctune_net *net = t->net;
    ctune_status status = net_build(t->ctx, net, 0);
    free(net->state.best_values);
    free(net->trained);
    net->trained = NULL;
    net->state = (net_state){.best = -INFINITY};
    net->score_scale = 1;
    net->score_shift = 0;
    if (status == CTUNE_OK) {
        float *best = ctune_memory_grow(t->ctx, NULL, (size_t)net->params.n_values, sizeof *best);
        net->state.best_values = best;
        status = best != NULL ? normalise(t)
                              : ctune_fail(t->ctx, CTUNE_ENOMEM, "out of memory for a training");
    }
    if (status == CTUNE_OK && watch->state_path != NULL && access(watch->state_path, F_OK) == 0) {
        status = state_read(t, watch->state_path);
    }
    return status;
}

static bool is_over(const ctune_net *net, bool has_held_out) {
    const net_state *s = &net->state;
    return s->epoch >= net->config.epochs || (has_held_out && net->config.patience > 0 &&
                                              s->epoch - s->best_epoch >= net->config.patience);
}

/* *stopped: progress said so. */
static ctune_status epochs_run(training *t, const ctune_learn_watch *watch, bool *stopped) {
    net_state *s = &t->net->state;
    ctune_status status = CTUNE_OK;
    while (!is_over(t->net, t->has_held_out) && !*stopped && status == CTUNE_OK) {
        double loss = 0, score = 0;
        status = epoch_run(t, &loss);
        if (status == CTUNE_OK && t->has_held_out) {
            status = held_out_score(t, &score);
        }
        if (status != CTUNE_OK) {
            break;
        }
        s->epoch++;
        if (!t->has_held_out || score > s->best) {
            s->best = score;
            s->best_epoch = s->epoch;
            net_values_get(t->net, s->best_values);
        }
        *stopped = watch->progress != NULL && !watch->progress(watch->user, s->epoch, loss, score);
        bool is_due = ctune_now_ns() - t->saved_ns > (int64_t)STATE_PERIOD_S * 1000000000;
        if (watch->state_path != NULL && (is_due || *stopped)) {
            status = state_write(t, watch->state_path);
        }
    }
    return status;
}

ctune_status ctune_net_learn(ctune_ctx *ctx, ctune_net *net, const ctune_dataset *data,
                             const bool *select, const ctune_learn_watch *watch) {
    static const ctune_learn_watch none;
    training t = {.ctx = ctx, .net = net, .data = data, .saved_ns = ctune_now_ns()};
    bool stopped = false;
    watch = watch != NULL ? watch : &none;
    if (data->n_features != ctune_model_input_count(&net->config.input)) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "%s: rows of %d numbers, not of %d",
                          ctune_net_name(net->config.kind), data->n_features,
                          ctune_model_input_count(&net->config.input));
    }
    ctune_status status = training_init(&t, select);
    if (status == CTUNE_OK) {
        status = begin(&t, watch);
    }
    if (status == CTUNE_OK) {
        status = epochs_run(&t, watch, &stopped);
    }
    if (status == CTUNE_OK) {
        net_values_set(net, net->state.best_values);
        status = calibrate(&t);
    }
    if (status == CTUNE_OK && watch->state_path != NULL && !stopped) {
        unlink(watch->state_path);
    }
    training_clear(&t);
    return status;
}
