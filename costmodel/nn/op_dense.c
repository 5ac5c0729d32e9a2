/* Operators of the tape: products, sums, activations. Forward and backward of each side by side. */
#include "costmodel/nn/tape_private.h"

#include <math.h>

/* ---- products -------------------------------------------------------------------------------- */
ctune_nn_var ctune_nn_matmul(ctune_nn_tape *tape, ctune_nn_var a, ctune_nn_var b) {
    float *out;
    if (!nn_check(tape, a, b)) {
        return -1;
    }
    nn_node x = *nn_get(tape, a), y = *nn_get(tape, b);
    if (x.cols != y.rows) {
        nn_fail(tape, CTUNE_EBUG, "a product of matrices that do not fit");
        return -1;
    }
    ctune_nn_var z = nn_add(tape, NN_OP_matmul, x.rows, y.cols, a, b, &out);
    if (z >= 0 && nn_size(&x) > 0) {
        nn_blas(tape)->sgemm(CTUNE_BLAS_ROW_MAJOR, CTUNE_BLAS_PLAIN, CTUNE_BLAS_PLAIN, x.rows,
                             y.cols, x.cols, 1, x.value, x.cols, y.value, y.cols, 0, out, y.cols);
    }
    return z;
}

void nn_back_matmul(ctune_nn_tape *tape, const nn_node *z) {
    float *da = nn_grad(tape, z->from[0]), *db = nn_grad(tape, z->from[1]);
    nn_node a = *nn_get(tape, z->from[0]), b = *nn_get(tape, z->from[1]);
    if (nn_size(&a) == 0) {
        return;
    }
    if (da != NULL) {
        nn_blas(tape)->sgemm(CTUNE_BLAS_ROW_MAJOR, CTUNE_BLAS_PLAIN, CTUNE_BLAS_TRANSPOSED, a.rows,
                             a.cols, z->cols, 1, z->grad, z->cols, b.value, b.cols, 1, da, a.cols);
    }
    if (db != NULL) {
        nn_blas(tape)->sgemm(CTUNE_BLAS_ROW_MAJOR, CTUNE_BLAS_TRANSPOSED, CTUNE_BLAS_PLAIN, b.rows,
                             b.cols, z->rows, 1, a.value, a.cols, z->grad, z->cols, 1, db, b.cols);
    }
}

/* ---- element by element, or with one row or column of b -------------------------------------- */
typedef enum spread { EACH, ROW, COL } spread;

static bool fits(ctune_nn_tape *tape, const nn_node *a, const nn_node *b, spread how) {
    int rows = how == ROW ? 1 : a->rows, cols = how == COL ? 1 : a->cols;
    if (b->rows != rows || b->cols != cols) {
        nn_fail(tape, CTUNE_EBUG, "matrices of different shapes");
        return false;
    }
    return true;
}

/* Element of b beside element (r, c) of a. */
static size_t beside(spread how, const nn_node *a, int r, int c) {
    return how == ROW   ? (size_t)c
           : how == COL ? (size_t)r
                        : (size_t)r * (size_t)a->cols + (size_t)c;
}

static ctune_nn_var sum(ctune_nn_tape *tape, nn_op op, spread how, ctune_nn_var a, float factor,
                        ctune_nn_var b) {
    float *out;
    if (!nn_check(tape, a, b) || !fits(tape, nn_get(tape, a), nn_get(tape, b), how)) {
        return -1;
    }
    ctune_nn_var z = nn_add(tape, op, nn_get(tape, a)->rows, nn_get(tape, a)->cols, a, b, &out);
    if (z < 0) {
        return -1;
    }
    nn_node x = *nn_get(tape, a), y = *nn_get(tape, b);
    nn_get(tape, z)->factor = factor;
    for (int r = 0, i = 0; r < x.rows; r++) {
        for (int c = 0; c < x.cols; c++, i++) {
            out[i] = x.value[i] + factor * y.value[beside(how, &x, r, c)];
        }
    }
    return z;
}

static void sum_back(ctune_nn_tape *tape, const nn_node *z, spread how) {
    float *da = nn_grad(tape, z->from[0]), *db = nn_grad(tape, z->from[1]);
    for (int r = 0, i = 0; r < z->rows; r++) {
        for (int c = 0; c < z->cols; c++, i++) {
            if (da != NULL) {
                da[i] += z->grad[i];
            }
            if (db != NULL) {
                db[beside(how, z, r, c)] += z->factor * z->grad[i];
            }
        }
    }
}

static ctune_nn_var product(ctune_nn_tape *tape, nn_op op, spread how, ctune_nn_var a,
                            ctune_nn_var b) {
    float *out;
    if (!nn_check(tape, a, b) || !fits(tape, nn_get(tape, a), nn_get(tape, b), how)) {
        return -1;
    }
    ctune_nn_var z = nn_add(tape, op, nn_get(tape, a)->rows, nn_get(tape, a)->cols, a, b, &out);
    if (z < 0) {
        return -1;
    }
    nn_node x = *nn_get(tape, a), y = *nn_get(tape, b);
    for (int r = 0, i = 0; r < x.rows; r++) {
        for (int c = 0; c < x.cols; c++, i++) {
            out[i] = x.value[i] * y.value[beside(how, &x, r, c)];
        }
    }
    return z;
}

static void product_back(ctune_nn_tape *tape, const nn_node *z, spread how) {
    float *da = nn_grad(tape, z->from[0]), *db = nn_grad(tape, z->from[1]);
    const float *a = nn_get(tape, z->from[0])->value, *b = nn_get(tape, z->from[1])->value;
    for (int r = 0, i = 0; r < z->rows; r++) {
        for (int c = 0; c < z->cols; c++, i++) {
            size_t k = beside(how, z, r, c);
            if (da != NULL) {
                da[i] += z->grad[i] * b[k];
            }
            if (db != NULL) {
                db[k] += z->grad[i] * a[i];
            }
        }
    }
}

ctune_nn_var ctune_nn_add_row(ctune_nn_tape *tape, ctune_nn_var a, ctune_nn_var b) {
    return sum(tape, NN_OP_add_row, ROW, a, 1, b);
}

void nn_back_add_row(ctune_nn_tape *tape, const nn_node *z) {
    sum_back(tape, z, ROW);
}

ctune_nn_var ctune_nn_add(ctune_nn_tape *tape, ctune_nn_var a, float factor, ctune_nn_var b) {
    return sum(tape, NN_OP_add, EACH, a, factor, b);
}

void nn_back_add(ctune_nn_tape *tape, const nn_node *z) {
    sum_back(tape, z, EACH);
}

ctune_nn_var ctune_nn_mul_row(ctune_nn_tape *tape, ctune_nn_var a, ctune_nn_var b) {
    return product(tape, NN_OP_mul_row, ROW, a, b);
}

void nn_back_mul_row(ctune_nn_tape *tape, const nn_node *z) {
    product_back(tape, z, ROW);
}

ctune_nn_var ctune_nn_mul_col(ctune_nn_tape *tape, ctune_nn_var a, ctune_nn_var b) {
    return product(tape, NN_OP_mul_col, COL, a, b);
}

void nn_back_mul_col(ctune_nn_tape *tape, const nn_node *z) {
    product_back(tape, z, COL);
}

ctune_nn_var ctune_nn_mul(ctune_nn_tape *tape, ctune_nn_var a, ctune_nn_var b) {
    return product(tape, NN_OP_mul, EACH, a, b);
}

void nn_back_mul(ctune_nn_tape *tape, const nn_node *z) {
    product_back(tape, z, EACH);
}

/* ---- of one matrix --------------------------------------------------------------------------- */
static ctune_nn_var one_add(ctune_nn_tape *tape, nn_op op, ctune_nn_var a, float **out,
                            const float **in, size_t *n) {
    if (!nn_check(tape, a, a)) {
        return -1;
    }
    ctune_nn_var z = nn_add(tape, op, nn_get(tape, a)->rows, nn_get(tape, a)->cols, a, -1, out);
    if (z >= 0) {
        *in = nn_get(tape, a)->value;
        *n = nn_size(nn_get(tape, a));
    }
    return z;
}

ctune_nn_var ctune_nn_affine(ctune_nn_tape *tape, ctune_nn_var a, float factor, float shift) {
    float *out;
    const float *in;
    size_t n;
    ctune_nn_var z = one_add(tape, NN_OP_affine, a, &out, &in, &n);
    if (z < 0) {
        return -1;
    }
    nn_get(tape, z)->factor = factor;
    for (size_t i = 0; i < n; i++) {
        out[i] = factor * in[i] + shift;
    }
    return z;
}

void nn_back_affine(ctune_nn_tape *tape, const nn_node *z) {
    float *da = nn_grad(tape, z->from[0]);
    for (size_t i = 0; i < nn_size(z) && da != NULL; i++) {
        da[i] += z->factor * z->grad[i];
    }
}

static float gelu_inner(float x) {
    return 0.79788456f * (x + 0.044715f * x * x * x);
}

/* y: value of the operator at x. */
#define ACTIVATION_TABLE(X)                                                                        \
    X(relu, (x > 0 ? x : 0), (x > 0 ? 1.0f : 0.0f))                                                \
    X(tanh, (1 - 2 / (1 + nn_exp(2 * x))), (1 - y * y))                                            \
    X(sigmoid, (1 / (1 + nn_exp(-x))), (y * (1 - y)))

#define X(name, forward, slope)                                                                    \
    ctune_nn_var ctune_nn_##name(ctune_nn_tape *tape, ctune_nn_var a) {                            \
        float *out;                                                                                \
        const float *in;                                                                           \
        size_t n;                                                                                  \
        ctune_nn_var z = one_add(tape, NN_OP_##name, a, &out, &in, &n);                            \
        for (size_t i = 0; z >= 0 && i < n; i++) {                                                 \
            float x = in[i];                                                                       \
            out[i] = forward;                                                                      \
        }                                                                                          \
        return z;                                                                                  \
    }                                                                                              \
    void nn_back_##name(ctune_nn_tape *tape, const nn_node *z) {                                   \
        float *da = nn_grad(tape, z->from[0]);                                                     \
        const float *in = nn_get(tape, z->from[0])->value;                                         \
        for (size_t i = 0; i < nn_size(z) && da != NULL; i++) {                                    \
            float x = in[i], y = z->value[i];                                                      \
            (void)x;                                                                               \
            (void)y;                                                                               \
            da[i] += z->grad[i] * slope;                                                           \
        }                                                                                          \
    }
ACTIVATION_TABLE(X)
#undef X

ctune_nn_var ctune_nn_gelu(ctune_nn_tape *tape, ctune_nn_var a) {
    float *out;
    const float *in;
    size_t n;
    ctune_nn_var z = one_add(tape, NN_OP_gelu, a, &out, &in, &n);
    for (size_t i = 0; z >= 0 && i < n; i++) {
        out[i] = 0.5f * in[i] * (1 + tanhf(gelu_inner(in[i])));
    }
    return z;
}

void nn_back_gelu(ctune_nn_tape *tape, const nn_node *z) {
    float *da = nn_grad(tape, z->from[0]);
    const float *in = nn_get(tape, z->from[0])->value;
    for (size_t i = 0; i < nn_size(z) && da != NULL; i++) {
        float x = in[i], t = tanhf(gelu_inner(x));
        float inner = 0.79788456f * (1 + 3 * 0.044715f * x * x);
        da[i] += z->grad[i] * (0.5f * (1 + t) + 0.5f * x * (1 - t * t) * inner);
    }
}
