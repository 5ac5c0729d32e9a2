/*
 * Operators of the tape: attention within each sample.
 *
 * One operator, not a composition: the matrices of a sample are 25 x 32, and of a batch there are
 * thousands; on the tape each would be seven nodes. What is kept is the matrix of weights.
 */
#include "costmodel/nn/tape_private.h"

#include <math.h>
#include <string.h>

/* One head of one sample. */
typedef struct head {
    const ctune_blas *blas;
    int n, width, cols; /* rows of the sample, columns of the head, of the matrix */
    float scale;
} head;

static void weights_get(const head *h, const float *q, const float *k, float *weights) {
    h->blas->sgemm(CTUNE_BLAS_ROW_MAJOR, CTUNE_BLAS_PLAIN, CTUNE_BLAS_TRANSPOSED, h->n, h->n,
                   h->width, h->scale, q, h->cols, k, h->cols, 0, weights, h->n);
    for (int r = 0; r < h->n; r++) {
        nn_softmax_row(weights + (size_t)r * (size_t)h->n, h->n);
    }
}

/* In place: gradient of the weights to that of their logarithms. */
static void weights_back(const head *h, const float *weights, float *grad) {
    for (int r = 0; r < h->n; r++) {
        const float *w = weights + (size_t)r * (size_t)h->n;
        float *g = grad + (size_t)r * (size_t)h->n, dot = 0;
        for (int c = 0; c < h->n; c++) {
            dot += w[c] * g[c];
        }
        for (int c = 0; c < h->n; c++) {
            g[c] = w[c] * (g[c] - dot);
        }
    }
}

static void product_add(const head *h, int trans, const float *weights, float scale, const float *x,
                        float beta, float *out) {
    h->blas->sgemm(CTUNE_BLAS_ROW_MAJOR, trans, CTUNE_BLAS_PLAIN, h->n, h->width, h->n, scale,
                   weights, h->n, x, h->cols, beta, out, h->cols);
}

static bool is_fit(ctune_nn_tape *tape, const nn_node *q, const nn_node *k, const nn_node *v,
                   int heads, int n_samples, const int *start) {
    bool is_good = heads > 0 && q->cols % heads == 0 && k->rows == q->rows && k->cols == q->cols &&
                   v->rows == q->rows && v->cols == q->cols && n_samples >= 0 && start[0] == 0 &&
                   start[n_samples] == q->rows;
    for (int i = 0; i < n_samples && is_good; i++) {
        is_good = start[i] <= start[i + 1];
    }
    if (!is_good) {
        nn_fail(tape, CTUNE_EBUG, "attention over matrices that do not fit");
    }
    return is_good;
}

static size_t weights_count(int heads, int n_samples, const int *start) {
    size_t n = 0;
    for (int i = 0; i < n_samples; i++) {
        n += (size_t)(start[i + 1] - start[i]) * (size_t)(start[i + 1] - start[i]);
    }
    return n * (size_t)heads;
}

ctune_nn_var ctune_nn_attention(ctune_nn_tape *tape, ctune_nn_var q, ctune_nn_var k, ctune_nn_var v,
                                int heads, int n_samples, const int *start) {
    float *out;
    if (!nn_check(tape, q, k) || !nn_check(tape, v, v)) {
        return -1;
    }
    nn_node nq = *nn_get(tape, q), nk = *nn_get(tape, k), nv = *nn_get(tape, v);
    if (!is_fit(tape, &nq, &nk, &nv, heads, n_samples, start)) {
        return -1;
    }
    ctune_nn_var z = nn_add(tape, NN_OP_attention, nq.rows, nq.cols, q, k, &out);
    float *weights = z >= 0 ? nn_floats(tape, weights_count(heads, n_samples, start)) : NULL;
    if (weights == NULL || !nn_set_ids(tape, z, n_samples + 1, start, 0, nq.rows + 1)) {
        return -1;
    }
    nn_node *node = nn_get(tape, z);
    node->from[2] = v;
    node->wants_grad = node->wants_grad || nv.wants_grad;
    node->number = heads;
    node->aux = weights;
    int width = nq.cols / heads;
    for (int i = 0; i < n_samples; i++) {
        head h = {nn_blas(tape), start[i + 1] - start[i], width, nq.cols, 1 / sqrtf((float)width)};
        for (int j = 0; j < heads && h.n > 0; j++) {
            size_t at = (size_t)start[i] * (size_t)nq.cols + (size_t)(j * width);
            weights_get(&h, nq.value + at, nk.value + at, weights);
            product_add(&h, CTUNE_BLAS_PLAIN, weights, 1, nv.value + at, 0, out + at);
            weights += (size_t)h.n * (size_t)h.n;
        }
    }
    return z;
}

void nn_back_attention(ctune_nn_tape *tape, const nn_node *z) {
    float *dq = nn_grad(tape, z->from[0]), *dk = nn_grad(tape, z->from[1]),
          *dv = nn_grad(tape, z->from[2]);
    const float *q = nn_get(tape, z->from[0])->value, *k = nn_get(tape, z->from[1])->value,
                *v = nn_get(tape, z->from[2])->value, *weights = z->aux;
    int heads = z->number, width = z->cols / heads, longest = 0;
    for (int i = 0; i + 1 < z->n_ids; i++) {
        int n = z->ids[i + 1] - z->ids[i];
        longest = n > longest ? n : longest;
    }
    float *grad = nn_floats(tape, (size_t)longest * (size_t)longest);
    for (int i = 0; i + 1 < z->n_ids && grad != NULL; i++) {
        head h = {nn_blas(tape), z->ids[i + 1] - z->ids[i], width, z->cols,
                  1 / sqrtf((float)width)};
        for (int j = 0; j < heads && h.n > 0; j++) {
            size_t at = (size_t)z->ids[i] * (size_t)z->cols + (size_t)(j * width);
            if (dv != NULL) {
                product_add(&h, CTUNE_BLAS_TRANSPOSED, weights, 1, z->grad + at, 1, dv + at);
            }
            h.blas->sgemm(CTUNE_BLAS_ROW_MAJOR, CTUNE_BLAS_PLAIN, CTUNE_BLAS_TRANSPOSED, h.n, h.n,
                          width, 1, z->grad + at, z->cols, v + at, z->cols, 0, grad, h.n);
            weights_back(&h, weights, grad);
            if (dq != NULL) {
                product_add(&h, CTUNE_BLAS_PLAIN, grad, h.scale, k + at, 1, dq + at);
            }
            if (dk != NULL) {
                product_add(&h, CTUNE_BLAS_TRANSPOSED, grad, h.scale, q + at, 1, dk + at);
            }
            weights += (size_t)h.n * (size_t)h.n;
        }
    }
}
