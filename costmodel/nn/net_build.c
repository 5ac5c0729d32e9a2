/*
 * Networks: the layers of each kind, and how they are applied to a batch.
 */
#include "costmodel/nn/net_private.h"

#include <stdio.h>
#include <string.h>

/* ---- layers ---------------------------------------------------------------------------------- */
static void chain_init(ctune_nn_maker *m, const int *width, int n, const char *name,
                       ctune_nn_linear *out) {
    for (int i = 0; i < n; i++) {
        char full[CTUNE_NN_NAME_BYTES];
        bool is_score = width[i + 1] == 1;
        snprintf(full, sizeof full, "%.16s%d", name, i);
        ctune_nn_linear_init(m, is_score ? CTUNE_NN_LINEAR : CTUNE_NN_RELU, width[i], width[i + 1],
                             full, &out[i]);
    }
}

static void residuals_init(ctune_nn_maker *m, ctune_net *net, int width) {
    for (int i = 0; i < net->config.layers; i++) {
        char full[CTUNE_NN_NAME_BYTES];
        snprintf(full, sizeof full, "residual%d", i);
        ctune_nn_linear_init(m, CTUNE_NN_RELU, width, width, full, &net->residual[i]);
    }
}

/* Widths of the head's layers; returns how many layers. */
static int head_widths(const ctune_net *net, int *width) {
    int h = net->config.hidden;
    switch (net->config.kind) {
    case CTUNE_NET_LINEAR:
        width[0] = net_columns(&net->config);
        width[1] = 1;
        return 1;
    case CTUNE_NET_MLP:
        width[0] = h;
        width[1] = 1;
        return 1;
    case CTUNE_NET_TREEGRU:
        width[0] = h * net->config.slots;
        width[1] = h;
        width[2] = 1;
        return 2;
    default:
        width[0] = width[1] = h;
        width[2] = h / 2;
        width[3] = h / 4;
        width[4] = 1;
        return 4;
    }
}

static void heads_init(ctune_nn_maker *m, ctune_net *net) {
    int width[NET_HEAD_LAYERS + 1], n = head_widths(net, width);
    for (int i = 0; i < net->n_heads; i++) {
        char name[CTUNE_NN_NAME_BYTES];
        snprintf(name, sizeof name, "head%d.", i);
        chain_init(m, width, n, name, net->heads[i].layer);
    }
}

static void steps_init(ctune_nn_maker *m, ctune_net *net, int from) {
    int h = net->config.hidden;
    const int tlp[] = {from, h / 4, h / 2, h, h}, mlp[] = {from, h, h};
    bool is_mlp = net->config.kind == CTUNE_NET_MLP;
    net->n_step = is_mlp ? 2 : 4;
    chain_init(m, is_mlp ? mlp : tlp, net->n_step, "step", net->step);
}

static void tlp_init(ctune_nn_maker *m, ctune_net *net, int from) {
    const ctune_net_config *c = &net->config;
    steps_init(m, net, from);
    if (c->position) {
        net->position = ctune_nn_params_add(m->ctx, m->params, &m->rng, CTUNE_NN_ZERO,
                                            c->input.n_items, c->hidden, "position");
        m->has_failed = m->has_failed || net->position == NULL;
    }
    if (c->lstm) {
        ctune_nn_lstm_init(m, c->hidden, c->hidden, "lstm", &net->cell);
    } else {
        ctune_nn_self_attention_init(m, c->hidden, c->heads, "attention", &net->attention);
    }
    residuals_init(m, net, c->hidden);
}

static void treegru_init(ctune_nn_maker *m, ctune_net *net, int from) {
    const ctune_net_config *c = &net->config;
    net->kinds = ctune_nn_params_add(m->ctx, m->params, &m->rng, CTUNE_NN_LINEAR, NET_TREE_KINDS,
                                     NET_KIND_WIDTH, "kinds");
    m->has_failed = m->has_failed || net->kinds == NULL;
    ctune_nn_gru_init(m, from + NET_KIND_WIDTH, c->hidden, "gru", &net->cell);
    ctune_nn_linear_init(m, CTUNE_NN_LINEAR, c->hidden, c->slots, "slot", &net->slot);
}

static ctune_nn_param *fixed_add(ctune_nn_maker *m, ctune_nn_init init, int cols,
                                 const char *name) {
    ctune_nn_param *p = ctune_nn_params_add(m->ctx, m->params, &m->rng, init, 1, cols, name);
    m->has_failed = m->has_failed || p == NULL;
    if (p != NULL) {
        p->is_fixed = true;
    }
    return p;
}

ctune_status net_build(ctune_ctx *ctx, ctune_net *net, int64_t max_values) {
    ctune_nn_maker m = {.ctx = ctx, .params = &net->params};
    ctune_rng_init(&m.rng, net->config.seed);
    int from = net_columns(&net->config);
    ctune_nn_params_clear(&net->params);
    net->params.max_values = max_values;
    net->is_built = false;
    net->mean = fixed_add(&m, CTUNE_NN_ZERO, from, "mean");
    net->scale = fixed_add(&m, CTUNE_NN_ONE, from, "scale");
    switch (net->config.kind) {
    case CTUNE_NET_MLP:
        steps_init(&m, net, from);
        residuals_init(&m, net, net->config.hidden);
        break;
    case CTUNE_NET_TREEGRU:
        treegru_init(&m, net, from);
        break;
    case CTUNE_NET_TLP:
    case CTUNE_NET_MTL_TLP:
        tlp_init(&m, net, from);
        break;
    default:
        break;
    }
    heads_init(&m, net);
    ctune_status status = net->params.status;
    net->is_built = !m.has_failed;
    if (m.has_failed) {
        ctune_nn_params_clear(&net->params);
    }
    return status;
}

/* ---- application ----------------------------------------------------------------------------- */
static ctune_nn_var residuals_apply(const ctune_net *net, ctune_nn_tape *tape, ctune_nn_var x) {
    for (int i = 0; i < net->config.layers; i++) {
        ctune_nn_var y = ctune_nn_relu(tape, ctune_nn_linear_apply(tape, &net->residual[i], x));
        x = ctune_nn_add(tape, x, 1, y);
    }
    return x;
}

static ctune_nn_var steps_apply(const ctune_net *net, ctune_nn_tape *tape, ctune_nn_var x) {
    for (int i = 0; i < net->n_step; i++) {
        x = ctune_nn_relu(tape, ctune_nn_linear_apply(tape, &net->step[i], x));
    }
    return x;
}

static ctune_nn_var head_apply(const ctune_net *net, ctune_nn_tape *tape, int head,
                               ctune_nn_var x) {
    int width[NET_HEAD_LAYERS + 1], n = head_widths(net, width);
    for (int i = 0; i < n; i++) {
        x = ctune_nn_linear_apply(tape, &net->heads[head].layer[i], x);
        x = i + 1 < n ? ctune_nn_relu(tape, x) : x;
    }
    return x;
}

/* Each row by the head of its sample, summed over the samples' rows. sample [rows of x]. */
static ctune_nn_var heads_apply(const ctune_net *net, ctune_nn_tape *tape, const net_batch *b,
                                const int *sample, ctune_nn_var x) {
    ctune_nn_var all = -1;
    int n = ctune_nn_status(tape) == CTUNE_OK ? ctune_nn_rows(tape, x) : 0;
    int *rows = ctune_nn_ints(tape, n), *of = ctune_nn_ints(tape, n);
    for (int h = 0; h < net->n_heads && rows != NULL && of != NULL; h++) {
        int k = 0;
        for (int i = 0; i < n; i++) {
            if (b->head[sample[i]] == h) {
                of[k] = sample[i];
                rows[k++] = i;
            }
        }
        if (k > 0) {
            ctune_nn_var part = head_apply(net, tape, h, ctune_nn_gather(tape, x, k, rows));
            part = ctune_nn_segment_sum(tape, part, b->n, of);
            all = all < 0 ? part : ctune_nn_add(tape, all, 1, part);
        }
    }
    return all;
}

static ctune_nn_var stack_all(ctune_nn_tape *tape, const ctune_nn_var *list, int n) {
    return n == 1 ? list[0]
                  : ctune_nn_stack(tape, stack_all(tape, list, n / 2),
                                   stack_all(tape, list + n / 2, n - n / 2));
}

/* ---- LSTM over sequences: step by step, longest sequences first ------------------------------ */
typedef struct lstm_order {
    int *by_length; /* [n] samples, longest first */
    int *ids;       /* [n] scratch */
    int *sample;    /* [n_items] of the rows of the result */
    ctune_nn_var *step;
} lstm_order;

static int length_of(const net_batch *b, int sample) {
    return b->start[sample + 1] - b->start[sample];
}

static void lengths_sort(const net_batch *b, int *by_length, int longest) {
    int at = 0;
    for (int n = longest; n >= 0; n--) {
        for (int s = 0; s < b->n; s++) {
            if (length_of(b, s) == n) {
                by_length[at++] = s;
            }
        }
    }
}

static ctune_nn_var lstm_steps(const ctune_net *net, ctune_nn_tape *tape, const net_batch *b,
                               lstm_order *o, ctune_nn_var gates, int longest) {
    ctune_nn_var h = ctune_nn_zeros(tape, b->n, net->config.hidden), c = h;
    int at = 0;
    for (int t = 0; t < longest; t++) {
        int n = 0;
        while (n < b->n && length_of(b, o->by_length[n]) > t) {
            o->ids[n] = n;
            n++;
        }
        h = ctune_nn_gather(tape, h, n, o->ids);
        c = ctune_nn_gather(tape, c, n, o->ids);
        for (int i = 0; i < n; i++) {
            o->sample[at++] = o->by_length[i];
            o->ids[i] = b->start[o->by_length[i]] + t;
        }
        ctune_nn_lstm_step(tape, &net->cell, ctune_nn_gather(tape, gates, n, o->ids), &h, &c);
        o->step[t] = h;
    }
    return stack_all(tape, o->step, longest);
}

/* *sample: those of the rows of the result. */
static ctune_nn_var lstm_apply(const ctune_net *net, ctune_nn_tape *tape, const net_batch *b,
                               ctune_nn_var x, const int **sample) {
    int longest = 0;
    for (int s = 0; s < b->n; s++) {
        longest = length_of(b, s) > longest ? length_of(b, s) : longest;
    }
    lstm_order o = {.by_length = ctune_nn_ints(tape, b->n),
                    .ids = ctune_nn_ints(tape, b->n),
                    .sample = ctune_nn_ints(tape, b->n_items),
                    .step = ctune_nn_ints(tape, longest)};
    *sample = o.sample;
    if (ctune_nn_status(tape) != CTUNE_OK) {
        return -1;
    }
    lengths_sort(b, o.by_length, longest);
    return lstm_steps(net, tape, b, &o, ctune_nn_linear_apply(tape, &net->cell.input, x), longest);
}

static ctune_nn_var positions_add(const ctune_net *net, ctune_nn_tape *tape, const net_batch *b,
                                  ctune_nn_var x) {
    int *place = ctune_nn_ints(tape, b->n_items);
    for (int i = 0; i < b->n_items && place != NULL; i++) {
        place[i] = i - b->start[b->sample[i]];
    }
    ctune_nn_var table = ctune_nn_use(tape, net->position);
    return place == NULL
               ? -1
               : ctune_nn_add(tape, x, 1, ctune_nn_gather(tape, table, b->n_items, place));
}

static ctune_nn_var tlp_apply(const ctune_net *net, ctune_nn_tape *tape, const net_batch *b,
                              ctune_nn_var x) {
    const int *sample = b->sample;
    x = steps_apply(net, tape, x);
    if (net->position != NULL) {
        x = positions_add(net, tape, b, x);
    }
    if (net->config.lstm) {
        x = lstm_apply(net, tape, b, x, &sample);
    } else {
        x = ctune_nn_add(tape, x, 1,
                         ctune_nn_self_attention_apply(tape, &net->attention, x, b->n, b->start));
    }
    return heads_apply(net, tape, b, sample, residuals_apply(net, tape, x));
}

/* ---- child-sum GRU: from the leaves up, all nodes of one height at once ---------------------- */
typedef struct heights {
    int *height; /* [n_items] */
    int *place;  /* [n_items] row in the result */
    int *sample; /* [n_items] of the result's rows */
    int *ids, *children, *parent;
    int highest;
} heights;

static bool heights_init(ctune_nn_tape *tape, const net_batch *b, heights *o) {
    int **const list[] = {&o->height, &o->place, &o->sample, &o->ids, &o->children, &o->parent};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        *list[i] = ctune_nn_ints(tape, b->n_items);
    }
    if (ctune_nn_status(tape) != CTUNE_OK) {
        return false;
    }
    memset(o->height, 0, (size_t)b->n_items * sizeof *o->height);
    o->highest = 0;
    for (int i = b->n_items - 1; i >= 0; i--) { /* parents come before their children */
        int p = b->parent[i];
        if (p >= 0 && o->height[p] < o->height[i] + 1) {
            o->height[p] = o->height[i] + 1;
        }
        o->highest = o->height[i] > o->highest ? o->height[i] : o->highest;
    }
    return true;
}

/* State of all items, in the order of o->sample. */
static ctune_nn_var gru_apply(const ctune_net *net, ctune_nn_tape *tape, const net_batch *b,
                              heights *o, ctune_nn_var gates) {
    ctune_nn_var all = -1;
    int at = 0;
    for (int height = 0; height <= o->highest; height++) {
        int n = 0, k = 0;
        for (int i = 0; i < b->n_items; i++) {
            if (o->height[i] == height) {
                o->place[i] = at + n;
                o->sample[at + n] = b->sample[i];
                o->ids[n++] = i;
            }
        }
        for (int i = 0; i < b->n_items; i++) {
            int p = b->parent[i];
            if (p >= 0 && o->height[p] == height) {
                o->children[k] = o->place[i];
                o->parent[k++] = o->place[p] - at;
            }
        }
        ctune_nn_var h =
            height == 0 ? ctune_nn_zeros(tape, n, net->config.hidden)
                        : ctune_nn_segment_sum(tape, ctune_nn_gather(tape, all, k, o->children), n,
                                               o->parent);
        h = ctune_nn_gru_step(tape, &net->cell, ctune_nn_gather(tape, gates, n, o->ids), h);
        all = height == 0 ? h : ctune_nn_stack(tape, all, h);
        at += n;
    }
    return all;
}

static ctune_nn_var treegru_apply(const ctune_net *net, ctune_nn_tape *tape, const net_batch *b,
                                  ctune_nn_var x) {
    heights o;
    if (!heights_init(tape, b, &o)) {
        return -1;
    }
    ctune_nn_var kinds = ctune_nn_gather(tape, ctune_nn_use(tape, net->kinds), b->n_items, b->kind);
    x = ctune_nn_linear_apply(tape, &net->cell.input, ctune_nn_concat(tape, kinds, x));
    ctune_nn_var h = gru_apply(net, tape, b, &o, x), out = -1;
    ctune_nn_var share = ctune_nn_softmax(tape, ctune_nn_linear_apply(tape, &net->slot, h));
    for (int i = 0; i < net->config.slots; i++) {
        ctune_nn_var part = ctune_nn_segment_sum(
            tape, ctune_nn_mul_col(tape, h, ctune_nn_slice(tape, share, i, 1)), b->n, o.sample);
        out = i == 0 ? part : ctune_nn_concat(tape, out, part);
    }
    return out;
}

/* ---- all ------------------------------------------------------------------------------------- */
static ctune_nn_var by_sample(const ctune_net *net, ctune_nn_tape *tape, const net_batch *b,
                              ctune_nn_var x) {
    int *self = ctune_nn_ints(tape, b->n);
    for (int i = 0; i < b->n && self != NULL; i++) {
        self[i] = i;
    }
    return self == NULL ? -1 : heads_apply(net, tape, b, self, x);
}

ctune_nn_var net_forward(const ctune_net *net, ctune_nn_tape *tape, const net_batch *batch) {
    if (batch->n_items == 0) {
        return ctune_nn_zeros(tape, batch->n, 1);
    }
    ctune_nn_var x = ctune_nn_input(tape, batch->n_items, net_columns(&net->config), batch->x);
    switch (net->config.kind) {
    case CTUNE_NET_TLP:
    case CTUNE_NET_MTL_TLP:
        return tlp_apply(net, tape, batch, x);
    case CTUNE_NET_TREEGRU:
        return by_sample(net, tape, batch, treegru_apply(net, tape, batch, x));
    case CTUNE_NET_MLP:
        x = ctune_nn_segment_sum(tape, steps_apply(net, tape, x), batch->n, batch->sample);
        return by_sample(net, tape, batch, residuals_apply(net, tape, x));
    default:
        return by_sample(net, tape, batch, ctune_nn_segment_sum(tape, x, batch->n, batch->sample));
    }
}
