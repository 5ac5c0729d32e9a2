/* Operators of the tape: within rows, and what moves rows and columns. */
#include "costmodel/nn/tape_private.h"

#include <math.h>
#include <string.h>

/* ---- within rows ----------------------------------------------------------------------------- */
ctune_nn_var ctune_nn_softmax(ctune_nn_tape *tape, ctune_nn_var a) {
    float *out;
    if (!nn_check(tape, a, a)) {
        return -1;
    }
    int rows = nn_get(tape, a)->rows, cols = nn_get(tape, a)->cols;
    ctune_nn_var z = nn_add(tape, NN_OP_softmax, rows, cols, a, -1, &out);
    if (z >= 0) {
        memcpy(out, nn_get(tape, a)->value, (size_t)rows * (size_t)cols * sizeof *out);
    }
    for (int r = 0; z >= 0 && r < rows; r++) {
        nn_softmax_row(out + (size_t)r * (size_t)cols, cols);
    }
    return z;
}

void nn_back_softmax(ctune_nn_tape *tape, const nn_node *z) {
    float *da = nn_grad(tape, z->from[0]);
    const float *y = z->value, *dy = z->grad;
    for (int r = 0; r < z->rows && da != NULL; r++, y += z->cols, dy += z->cols, da += z->cols) {
        float dot = 0;
        for (int c = 0; c < z->cols; c++) {
            dot += y[c] * dy[c];
        }
        for (int c = 0; c < z->cols; c++) {
            da[c] += y[c] * (dy[c] - dot);
        }
    }
}

ctune_nn_var ctune_nn_norm(ctune_nn_tape *tape, ctune_nn_var a) {
    float *out;
    if (!nn_check(tape, a, a)) {
        return -1;
    }
    int rows = nn_get(tape, a)->rows, cols = nn_get(tape, a)->cols;
    ctune_nn_var z = nn_add(tape, NN_OP_norm, rows, cols, a, -1, &out);
    float *scale = z >= 0 ? nn_floats(tape, (size_t)rows) : NULL;
    if (scale == NULL) {
        return -1;
    }
    nn_get(tape, z)->aux = scale;
    const float *in = nn_get(tape, a)->value;
    for (int r = 0; r < rows; r++, in += cols, out += cols) {
        float mean = 0, square = 0;
        for (int c = 0; c < cols; c++) {
            mean += in[c];
        }
        mean /= (float)cols;
        for (int c = 0; c < cols; c++) {
            square += (in[c] - mean) * (in[c] - mean);
        }
        scale[r] = 1 / sqrtf(square / (float)cols + 1e-5f);
        for (int c = 0; c < cols; c++) {
            out[c] = (in[c] - mean) * scale[r];
        }
    }
    return z;
}

void nn_back_norm(ctune_nn_tape *tape, const nn_node *z) {
    float *da = nn_grad(tape, z->from[0]);
    const float *y = z->value, *dy = z->grad;
    for (int r = 0; r < z->rows && da != NULL; r++, y += z->cols, dy += z->cols, da += z->cols) {
        float mean = 0, along = 0;
        for (int c = 0; c < z->cols; c++) {
            mean += dy[c];
            along += dy[c] * y[c];
        }
        mean /= (float)z->cols;
        along /= (float)z->cols;
        for (int c = 0; c < z->cols; c++) {
            da[c] += z->aux[r] * (dy[c] - mean - y[c] * along);
        }
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */
static void row_add(float *to, const float *from, float factor, int cols) {
    for (int c = 0; c < cols; c++) {
        to[c] += factor * from[c];
    }
}

ctune_nn_var ctune_nn_gather(ctune_nn_tape *tape, ctune_nn_var a, int n, const int *ids) {
    float *out;
    if (!nn_check(tape, a, a)) {
        return -1;
    }
    int rows = nn_get(tape, a)->rows, cols = nn_get(tape, a)->cols;
    ctune_nn_var z = nn_add(tape, NN_OP_gather, n, cols, a, -1, &out);
    if (z < 0 || !nn_set_ids(tape, z, n, ids, 0, rows)) {
        return -1;
    }
    const float *in = nn_get(tape, a)->value;
    for (int r = 0; r < n; r++) {
        memcpy(out + (size_t)r * (size_t)cols, in + (size_t)ids[r] * (size_t)cols,
               (size_t)cols * sizeof *out);
    }
    return z;
}

void nn_back_gather(ctune_nn_tape *tape, const nn_node *z) {
    float *da = nn_grad(tape, z->from[0]);
    for (int r = 0; r < z->rows && da != NULL; r++) {
        row_add(da + (size_t)z->ids[r] * (size_t)z->cols, z->grad + (size_t)r * (size_t)z->cols, 1,
                z->cols);
    }
}

/* aux [n_segments]: what the rows of a segment are multiplied with. */
static ctune_nn_var segment(ctune_nn_tape *tape, nn_op op, ctune_nn_var a, int n_segments,
                            const int *ids) {
    float *out;
    if (!nn_check(tape, a, a)) {
        return -1;
    }
    int rows = nn_get(tape, a)->rows, cols = nn_get(tape, a)->cols;
    ctune_nn_var z = nn_add(tape, op, n_segments, cols, a, -1, &out);
    float *factor = z >= 0 ? nn_floats(tape, (size_t)n_segments) : NULL;
    if (factor == NULL || !nn_set_ids(tape, z, rows, ids, -1, n_segments)) {
        return -1;
    }
    nn_get(tape, z)->aux = factor;
    memset(out, 0, (size_t)n_segments * (size_t)cols * sizeof *out);
    memset(factor, 0, (size_t)n_segments * sizeof *factor);
    for (int r = 0; r < rows; r++) {
        if (ids[r] >= 0) {
            factor[ids[r]] += 1;
        }
    }
    for (int s = 0; s < n_segments; s++) {
        factor[s] = op == NN_OP_segment_mean && factor[s] > 0 ? 1 / factor[s] : 1;
    }
    const float *in = nn_get(tape, a)->value;
    for (int r = 0; r < rows; r++, in += cols) {
        if (ids[r] >= 0) {
            row_add(out + (size_t)ids[r] * (size_t)cols, in, factor[ids[r]], cols);
        }
    }
    return z;
}

static void segment_back(ctune_nn_tape *tape, const nn_node *z) {
    float *da = nn_grad(tape, z->from[0]);
    for (int r = 0; r < z->n_ids && da != NULL; r++, da += z->cols) {
        if (z->ids[r] >= 0) {
            row_add(da, z->grad + (size_t)z->ids[r] * (size_t)z->cols, z->aux[z->ids[r]], z->cols);
        }
    }
}

ctune_nn_var ctune_nn_segment_sum(ctune_nn_tape *tape, ctune_nn_var a, int n_segments,
                                  const int *ids) {
    return segment(tape, NN_OP_segment_sum, a, n_segments, ids);
}

void nn_back_segment_sum(ctune_nn_tape *tape, const nn_node *z) {
    segment_back(tape, z);
}

ctune_nn_var ctune_nn_segment_mean(ctune_nn_tape *tape, ctune_nn_var a, int n_segments,
                                   const int *ids) {
    return segment(tape, NN_OP_segment_mean, a, n_segments, ids);
}

void nn_back_segment_mean(ctune_nn_tape *tape, const nn_node *z) {
    segment_back(tape, z);
}

ctune_nn_var ctune_nn_stack(ctune_nn_tape *tape, ctune_nn_var a, ctune_nn_var b) {
    float *out;
    if (!nn_check(tape, a, b)) {
        return -1;
    }
    nn_node x = *nn_get(tape, a), y = *nn_get(tape, b);
    if (x.cols != y.cols) {
        nn_fail(tape, CTUNE_EBUG, "stacked matrices of different widths");
        return -1;
    }
    ctune_nn_var z = nn_add(tape, NN_OP_stack, x.rows + y.rows, x.cols, a, b, &out);
    if (z >= 0) {
        memcpy(out, x.value, nn_size(&x) * sizeof *out);
        memcpy(out + nn_size(&x), y.value, nn_size(&y) * sizeof *out);
    }
    return z;
}

void nn_back_stack(ctune_nn_tape *tape, const nn_node *z) {
    const float *grad = z->grad;
    for (int k = 0; k < 2; k++) {
        float *d = nn_grad(tape, z->from[k]);
        size_t n = nn_size(nn_get(tape, z->from[k]));
        for (size_t i = 0; i < n && d != NULL; i++) {
            d[i] += grad[i];
        }
        grad += n;
    }
}

/* ---- columns --------------------------------------------------------------------------------- */
/* Adds (or copies) n columns of each row. */
static void columns_move(float *to, int to_cols, const float *from, int from_cols, int n, int rows,
                         bool adds) {
    for (int r = 0; r < rows; r++, to += to_cols, from += from_cols) {
        for (int c = 0; c < n; c++) {
            to[c] = adds ? to[c] + from[c] : from[c];
        }
    }
}

ctune_nn_var ctune_nn_concat(ctune_nn_tape *tape, ctune_nn_var a, ctune_nn_var b) {
    float *out;
    if (!nn_check(tape, a, b)) {
        return -1;
    }
    nn_node x = *nn_get(tape, a), y = *nn_get(tape, b);
    if (x.rows != y.rows) {
        nn_fail(tape, CTUNE_EBUG, "matrices of different heights side by side");
        return -1;
    }
    int cols = x.cols + y.cols;
    ctune_nn_var z = nn_add(tape, NN_OP_concat, x.rows, cols, a, b, &out);
    if (z >= 0) {
        columns_move(out, cols, x.value, x.cols, x.cols, x.rows, false);
        columns_move(out + x.cols, cols, y.value, y.cols, y.cols, y.rows, false);
    }
    return z;
}

void nn_back_concat(ctune_nn_tape *tape, const nn_node *z) {
    int first = 0;
    for (int k = 0; k < 2; k++) {
        float *d = nn_grad(tape, z->from[k]);
        int n = nn_get(tape, z->from[k])->cols;
        if (d != NULL) {
            columns_move(d, n, z->grad + first, z->cols, n, z->rows, true);
        }
        first += n;
    }
}

ctune_nn_var ctune_nn_slice(ctune_nn_tape *tape, ctune_nn_var a, int first, int n) {
    float *out;
    if (!nn_check(tape, a, a)) {
        return -1;
    }
    int rows = nn_get(tape, a)->rows, cols = nn_get(tape, a)->cols;
    if (first < 0 || n < 1 || n > cols - first) {
        nn_fail(tape, CTUNE_EBUG, "columns that are none");
        return -1;
    }
    ctune_nn_var z = nn_add(tape, NN_OP_slice, rows, n, a, -1, &out);
    if (z >= 0) {
        nn_get(tape, z)->number = first;
        columns_move(out, n, nn_get(tape, a)->value + first, cols, n, rows, false);
    }
    return z;
}

void nn_back_slice(ctune_nn_tape *tape, const nn_node *z) {
    float *da = nn_grad(tape, z->from[0]);
    if (da != NULL) {
        columns_move(da + z->number, nn_get(tape, z->from[0])->cols, z->grad, z->cols, z->cols,
                     z->rows, true);
    }
}
