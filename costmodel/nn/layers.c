/* Layers: see layers.h. */
#include "costmodel/nn/layers.h"

#include <stdio.h>

static ctune_nn_param *make(ctune_nn_maker *maker, ctune_nn_init init, int rows, int cols,
                            const char *name, const char *part) {
    char full[CTUNE_NN_NAME_BYTES];
    if (maker->has_failed) {
        return NULL;
    }
    snprintf(full, sizeof full, "%s.%s", name, part);
    ctune_nn_param *param =
        ctune_nn_params_add(maker->ctx, maker->params, &maker->rng, init, rows, cols, full);
    maker->has_failed = param == NULL;
    return param;
}

void ctune_nn_linear_init(ctune_nn_maker *maker, ctune_nn_init init, int from, int to,
                          const char *name, ctune_nn_linear *out) {
    out->weight = make(maker, init, from, to, name, "weight");
    out->bias = make(maker, CTUNE_NN_ZERO, 1, to, name, "bias");
}

ctune_nn_var ctune_nn_linear_apply(ctune_nn_tape *tape, const ctune_nn_linear *layer,
                                   ctune_nn_var x) {
    return ctune_nn_add_row(tape, ctune_nn_matmul(tape, x, ctune_nn_use(tape, layer->weight)),
                            ctune_nn_use(tape, layer->bias));
}

void ctune_nn_layer_norm_init(ctune_nn_maker *maker, int width, const char *name,
                              ctune_nn_layer_norm *out) {
    out->gain = make(maker, CTUNE_NN_ONE, 1, width, name, "gain");
    out->shift = make(maker, CTUNE_NN_ZERO, 1, width, name, "shift");
}

ctune_nn_var ctune_nn_layer_norm_apply(ctune_nn_tape *tape, const ctune_nn_layer_norm *layer,
                                       ctune_nn_var x) {
    ctune_nn_var y =
        ctune_nn_mul_row(tape, ctune_nn_norm(tape, x), ctune_nn_use(tape, layer->gain));
    return ctune_nn_add_row(tape, y, ctune_nn_use(tape, layer->shift));
}

/* ---- cells ----------------------------------------------------------------------------------- */
static void cell_init(ctune_nn_maker *maker, int n_gates, int from, int width, const char *name,
                      ctune_nn_cell *out) {
    char part[CTUNE_NN_NAME_BYTES];
    snprintf(part, sizeof part, "%.16s.in", name);
    ctune_nn_linear_init(maker, CTUNE_NN_LINEAR, from, n_gates * width, part, &out->input);
    snprintf(part, sizeof part, "%.16s.state", name);
    ctune_nn_linear_init(maker, CTUNE_NN_LINEAR, width, n_gates * width, part, &out->state);
    out->width = width;
}

void ctune_nn_gru_init(ctune_nn_maker *maker, int from, int width, const char *name,
                       ctune_nn_cell *out) {
    cell_init(maker, 3, from, width, name, out);
}

ctune_nn_var ctune_nn_gru_step(ctune_nn_tape *tape, const ctune_nn_cell *cell, ctune_nn_var input,
                               ctune_nn_var h) {
    int w = cell->width;
    ctune_nn_var state = ctune_nn_linear_apply(tape, &cell->state, h);
    ctune_nn_var gates =
        ctune_nn_sigmoid(tape, ctune_nn_add(tape, ctune_nn_slice(tape, input, 0, 2 * w), 1,
                                            ctune_nn_slice(tape, state, 0, 2 * w)));
    ctune_nn_var r = ctune_nn_slice(tape, gates, 0, w), z = ctune_nn_slice(tape, gates, w, w);
    ctune_nn_var inner = ctune_nn_mul(tape, r, ctune_nn_slice(tape, state, 2 * w, w));
    ctune_nn_var n =
        ctune_nn_tanh(tape, ctune_nn_add(tape, ctune_nn_slice(tape, input, 2 * w, w), 1, inner));
    /* n + z (h - n) */
    return ctune_nn_add(tape, n, 1, ctune_nn_mul(tape, z, ctune_nn_add(tape, h, -1, n)));
}

void ctune_nn_lstm_init(ctune_nn_maker *maker, int from, int width, const char *name,
                        ctune_nn_cell *out) {
    cell_init(maker, 4, from, width, name, out);
}

void ctune_nn_lstm_step(ctune_nn_tape *tape, const ctune_nn_cell *cell, ctune_nn_var input,
                        ctune_nn_var *h, ctune_nn_var *c) {
    int w = cell->width;
    ctune_nn_var all = ctune_nn_add(tape, input, 1, ctune_nn_linear_apply(tape, &cell->state, *h));
    ctune_nn_var gates = ctune_nn_sigmoid(tape, ctune_nn_slice(tape, all, 0, 3 * w));
    ctune_nn_var g = ctune_nn_tanh(tape, ctune_nn_slice(tape, all, 3 * w, w));
    ctune_nn_var kept = ctune_nn_mul(tape, ctune_nn_slice(tape, gates, w, w), *c);
    ctune_nn_var added = ctune_nn_mul(tape, ctune_nn_slice(tape, gates, 0, w), g);
    *c = ctune_nn_add(tape, kept, 1, added);
    *h = ctune_nn_mul(tape, ctune_nn_slice(tape, gates, 2 * w, w), ctune_nn_tanh(tape, *c));
}

/* ---- attention ------------------------------------------------------------------------------- */
void ctune_nn_self_attention_init(ctune_nn_maker *maker, int width, int heads, const char *name,
                                  ctune_nn_self_attention *out) {
    ctune_nn_linear *const part[] = {&out->q, &out->k, &out->v, &out->out};
    static const char *const names[] = {"q", "k", "v", "out"};
    for (int i = 0; i < 4; i++) {
        char full[CTUNE_NN_NAME_BYTES];
        snprintf(full, sizeof full, "%.16s.%s", name, names[i]);
        ctune_nn_linear_init(maker, CTUNE_NN_LINEAR, width, width, full, part[i]);
    }
    out->heads = heads;
}

ctune_nn_var ctune_nn_self_attention_apply(ctune_nn_tape *tape,
                                           const ctune_nn_self_attention *layer, ctune_nn_var x,
                                           int n_samples, const int *start) {
    ctune_nn_var y = ctune_nn_attention(
        tape, ctune_nn_linear_apply(tape, &layer->q, x), ctune_nn_linear_apply(tape, &layer->k, x),
        ctune_nn_linear_apply(tape, &layer->v, x), layer->heads, n_samples, start);
    return ctune_nn_linear_apply(tape, &layer->out, y);
}
