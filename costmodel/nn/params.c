/* Parameters and Adam (Kingma, Ba 2015): see params.h. */
#include "costmodel/nn/params.h"

#include "costmodel/memory.h"

#include <math.h>
#include <stdio.h>

void ctune_nn_params_init(ctune_nn_params *params) {
    memset(params, 0, sizeof *params);
}

static void param_destroy(ctune_nn_param *param) {
    if (param != NULL) {
        free(param->value);
        free(param);
    }
}

void ctune_nn_params_clear(ctune_nn_params *params) {
    for (int i = 0; i < params->n; i++) {
        param_destroy(params->param[i]);
    }
    ctune_nn_params_init(params);
}

static void values_fill(ctune_nn_param *param, ctune_rng *rng, ctune_nn_init init, size_t n) {
    double spread = init == CTUNE_NN_RELU     ? sqrt(6.0 / param->rows)
                    : init == CTUNE_NN_LINEAR ? sqrt(6.0 / (param->rows + param->cols))
                                              : 0;
    for (size_t i = 0; i < n; i++) {
        param->value[i] = init == CTUNE_NN_ONE ? 1
                          : spread > 0         ? (float)(spread * (2 * ctune_rng_unit(rng) - 1))
                                               : 0;
    }
}

ctune_nn_param *ctune_nn_params_add(ctune_ctx *ctx, ctune_nn_params *params, ctune_rng *rng,
                                    ctune_nn_init init, int rows, int cols, const char *name) {
    size_t n;
    if (rows < 1 || cols < 1 || params->n == CTUNE_NN_MAX_PARAMS ||
        !ctune_size_mul((size_t)rows, (size_t)cols, &n) ||
        (params->max_values > 0 && n > (uint64_t)(params->max_values - params->n_values))) {
        params->status =
            ctune_fail(ctx, CTUNE_EUSAGE, "network: no room for %s of %d x %d", name, rows, cols);
        return NULL;
    }
    ctune_nn_param *param = ctune_memory_grow(ctx, NULL, 1, sizeof *param);
    float *values = param != NULL ? ctune_memory_grow(ctx, NULL, n, 4 * sizeof *values) : NULL;
    if (values == NULL) {
        free(param);
        params->status =
            ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for %s of %d x %d", name, rows, cols);
        return NULL;
    }
    *param = (ctune_nn_param){.rows = rows,
                              .cols = cols,
                              .value = values,
                              .grad = values + n,
                              .moment1 = values + 2 * n,
                              .moment2 = values + 3 * n};
    snprintf(param->name, sizeof param->name, "%s", name);
    values_fill(param, rng, init, n);
    memset(param->grad, 0, 3 * n * sizeof *values);
    params->param[params->n++] = param;
    params->n_values += (int64_t)n;
    params->status = CTUNE_OK;
    return param;
}

ctune_nn_param *ctune_nn_params_find(const ctune_nn_params *params, const char *name) {
    for (int i = 0; i < params->n; i++) {
        if (strcmp(params->param[i]->name, name) == 0) {
            return params->param[i];
        }
    }
    return NULL;
}

static size_t size_of(const ctune_nn_param *param) {
    return (size_t)param->rows * (size_t)param->cols;
}

void ctune_nn_params_reset_grads(ctune_nn_params *params) {
    for (int i = 0; i < params->n; i++) {
        memset(params->param[i]->grad, 0, size_of(params->param[i]) * sizeof(float));
    }
}

/* ---- Adam ------------------------------------------------------------------------------------ */
void ctune_nn_adam_default(ctune_nn_adam *adam) {
    *adam = (ctune_nn_adam){
        .rate = 7e-4, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .decay = 1e-6, .clip = 0.5};
}

static double norm_of(const ctune_nn_params *params) {
    double sum = 0;
    for (int i = 0; i < params->n; i++) {
        const ctune_nn_param *p = params->param[i];
        for (size_t k = 0; k < size_of(p) && !p->is_fixed; k++) {
            sum += (double)p->grad[k] * p->grad[k];
        }
    }
    return sqrt(sum);
}

static void param_step(const ctune_nn_adam *adam, float factor, float rate1, float rate2,
                       ctune_nn_param *p) {
    float beta1 = (float)adam->beta1, beta2 = (float)adam->beta2;
    float decay = (float)adam->decay, epsilon = (float)adam->epsilon;
    for (size_t k = 0; k < size_of(p); k++) {
        float g = factor * p->grad[k] + decay * p->value[k];
        p->moment1[k] = beta1 * p->moment1[k] + (1 - beta1) * g;
        p->moment2[k] = beta2 * p->moment2[k] + (1 - beta2) * g * g;
        p->value[k] -= rate1 * p->moment1[k] / (sqrtf(p->moment2[k] * rate2) + epsilon);
    }
}

bool ctune_nn_adam_step(const ctune_nn_adam *adam, int64_t step, ctune_nn_params *params) {
    double norm = norm_of(params);
    if (!isfinite(norm)) {
        return false;
    }
    double factor = adam->clip > 0 && norm > adam->clip ? adam->clip / norm : 1;
    double rate1 = adam->rate / (1 - pow(adam->beta1, (double)step));
    double rate2 = 1 / (1 - pow(adam->beta2, (double)step));
    for (int i = 0; i < params->n; i++) {
        if (!params->param[i]->is_fixed) {
            param_step(adam, (float)factor, (float)rate1, (float)rate2, params->param[i]);
        }
    }
    return true;
}
