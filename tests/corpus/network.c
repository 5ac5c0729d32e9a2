/* Inference and training of networks: gemm variants, im2col, pooling, batch and layer
 * normalisation, softmax, attention, activations, optimisers, over flattened arrays. */
#include <float.h>
#include <math.h>
#include <string.h>

void gemm_nn(int M, int N, int K, float ALPHA, float *A, int lda, float *B, int ldb, float *C,
             int ldc) {
    int i, j, k;
#pragma tune name(gemm_nn)
    for (i = 0; i < M; ++i) {
        for (k = 0; k < K; ++k) {
            register float A_PART = ALPHA * A[i * lda + k];
            for (j = 0; j < N; ++j) {
                C[i * ldc + j] += A_PART * B[k * ldb + j];
            }
        }
    }
}

void gemm_nt(int M, int N, int K, float ALPHA, float *A, int lda, float *B, int ldb, float *C,
             int ldc) {
    int i, j, k;
#pragma tune name(gemm_nt)
    for (i = 0; i < M; ++i) {
        for (j = 0; j < N; ++j) {
            register float sum = 0;
            for (k = 0; k < K; ++k)
                sum += ALPHA * A[i * lda + k] * B[j * ldb + k];
            C[i * ldc + j] += sum;
        }
    }
}

static float im2col_get_pixel(float *im, int height, int width, int channels, int row, int col,
                              int channel, int pad) {
    row -= pad;
    col -= pad;
    if (row < 0 || col < 0 || row >= height || col >= width)
        return 0;
    return im[col + width * (row + height * channel)];
}

void im2col(float *data_im, int channels, int height, int width, int ksize, int stride, int pad,
            float *data_col) {
    int c, h, w;
    int height_col = (height + 2 * pad - ksize) / stride + 1;
    int width_col = (width + 2 * pad - ksize) / stride + 1;
    int channels_col = channels * ksize * ksize;
#pragma tune name(im2col) sizes(channels = 16, height = 64, width = 64, ksize = 3, stride = 1,     \
                                pad = 1, height_col = 64, width_col = 64, channels_col = 144)
    for (c = 0; c < channels_col; ++c) {
        int w_offset = c % ksize;
        int h_offset = (c / ksize) % ksize;
        int c_im = c / ksize / ksize;
        for (h = 0; h < height_col; ++h) {
            for (w = 0; w < width_col; ++w) {
                int im_row = h_offset + h * stride;
                int im_col = w_offset + w * stride;
                int col_index = (c * height_col + h) * width_col + w;
                data_col[col_index] =
                    im2col_get_pixel(data_im, height, width, channels, im_row, im_col, c_im, pad);
            }
        }
    }
}

void im2col3(const float *im, int height, int width, float *col) {
#pragma tune name(im2col_const)
    for (int c = 0; c < 3 * 3 * 3; ++c) {
        int w_offset = c % 3;
        int h_offset = (c / 3) % 3;
        int c_im = c / 3 / 3;
        for (int h = 0; h < height - 2; ++h)
            for (int w = 0; w < width - 2; ++w)
                col[(c * (height - 2) + h) * (width - 2) + w] =
                    im[(c_im * height + h + h_offset) * width + w + w_offset];
    }
}

void bias_add(float *output, const float *biases, int batch, int n, int size) {
    int i, j, b;
#pragma tune name(bias_add)
    for (b = 0; b < batch; ++b) {
        for (i = 0; i < n; ++i) {
            for (j = 0; j < size; ++j)
                output[(b * n + i) * size + j] += biases[i];
        }
    }
}

void mean_cpu(const float *x, int batch, int filters, int spatial, float *mean) {
    float scale = 1. / (batch * spatial);
    int i, j, k;
#pragma tune name(bn_mean)
    for (i = 0; i < filters; ++i) {
        mean[i] = 0;
        for (j = 0; j < batch; ++j) {
            for (k = 0; k < spatial; ++k) {
                int index = j * filters * spatial + i * spatial + k;
                mean[i] += x[index];
            }
        }
        mean[i] *= scale;
    }
}

void normalize_cpu(float *x, const float *mean, const float *variance, int batch, int filters,
                   int spatial) {
    int b, f, i;
#pragma tune name(bn_normalize)
    for (b = 0; b < batch; ++b) {
        for (f = 0; f < filters; ++f) {
            for (i = 0; i < spatial; ++i) {
                int index = b * filters * spatial + f * spatial + i;
                x[index] = (x[index] - mean[f]) / (sqrt(variance[f]) + .000001f);
            }
        }
    }
}

void maxpool(const float *input, float *output, int *indexes, int batch, int c_, int h_, int w_,
             int out_h, int out_w, int size, int stride, int pad) {
    int b, i, j, k, m, n;
    int w_offset = -pad / 2;
    int h_offset = -pad / 2;
#pragma tune name(maxpool) sizes(batch = 1, c_ = 16, h_ = 64, w_ = 64, out_h = 32, out_w = 32,     \
                                 size = 2, stride = 2, w_offset = 0, h_offset = 0)
    for (b = 0; b < batch; ++b) {
        for (k = 0; k < c_; ++k) {
            for (i = 0; i < out_h; ++i) {
                for (j = 0; j < out_w; ++j) {
                    int out_index = j + out_w * (i + out_h * (k + c_ * b));
                    float max = -FLT_MAX;
                    int max_i = -1;
                    for (n = 0; n < size; ++n) {
                        for (m = 0; m < size; ++m) {
                            int cur_h = h_offset + i * stride + n;
                            int cur_w = w_offset + j * stride + m;
                            int index = cur_w + w_ * (cur_h + h_ * (k + b * c_));
                            int valid = (cur_h >= 0 && cur_h < h_ && cur_w >= 0 && cur_w < w_);
                            float val = (valid != 0) ? input[index] : -FLT_MAX;
                            max_i = (val > max) ? index : max_i;
                            max = (val > max) ? val : max;
                        }
                    }
                    output[out_index] = max;
                    indexes[out_index] = max_i;
                }
            }
        }
    }
}

void avgpool(const float *input, float *output, int batch, int c, int h, int w) {
    int b, i, k;
#pragma tune name(avgpool)
    for (b = 0; b < batch; ++b) {
        for (k = 0; k < c; ++k) {
            int out_index = k + b * c;
            output[out_index] = 0;
            for (i = 0; i < h * w; ++i) {
                int in_index = i + h * w * (k + b * c);
                output[out_index] += input[in_index];
            }
            output[out_index] /= h * w;
        }
    }
}

void upsample(float *in, int w, int h, int c, int batch, int stride, float scale, float *out) {
    int i, j, k, b;
#pragma tune name(upsample) sizes(stride = 2, batch = 1)
    for (b = 0; b < batch; ++b) {
        for (k = 0; k < c; ++k) {
            for (j = 0; j < h * stride; ++j) {
                for (i = 0; i < w * stride; ++i) {
                    int in_index = b * w * h * c + k * w * h + (j / stride) * w + i / stride;
                    int out_index = b * w * h * c * stride * stride + k * w * h * stride * stride +
                                    j * w * stride + i;
                    out[out_index] = scale * in[in_index];
                }
            }
        }
    }
}

void shortcut(int batch, int w1, int h1, int c1, const float *add, int c2, float *out) {
    int i, j, k, b;
#pragma tune name(shortcut)
    for (b = 0; b < batch; ++b)
        for (k = 0; k < c1; ++k)
            for (j = 0; j < h1; ++j)
                for (i = 0; i < w1; ++i) {
                    int out_index = i + w1 * (j + h1 * (k + c2 * b));
                    int add_index = i + w1 * (j + h1 * (k + c1 * b));
                    out[out_index] = 0.5f * out[out_index] + 0.5f * add[add_index];
                }
}

typedef enum { LINEAR, RELU, LEAKY } activation;
static inline float linear_act(float x) {
    return x;
}
static inline float relu_act(float x) {
    return x * (x > 0);
}
static inline float leaky_act(float x) {
    return (x > 0) ? x : .1f * x;
}
static float activate(float x, activation a) {
    switch (a) {
    case LINEAR:
        return linear_act(x);
    case RELU:
        return relu_act(x);
    case LEAKY:
        return leaky_act(x);
    }
    return 0;
}

void activate_array(float *x, const int n, const activation a) {
    int i;
#pragma tune name(activate)
    for (i = 0; i < n; ++i)
        x[i] = activate(x[i], a);
}

void axpy(int N, float ALPHA, const float *X, int INCX, float *Y, int INCY) {
    int i;
#pragma tune name(axpy) sizes(INCX = 1, INCY = 1)
    for (i = 0; i < N; ++i)
        Y[i * INCY] += ALPHA * X[i * INCX];
}

void softmax_array(const float *input, int n, float temp, int stride, float *output) {
    int i;
    float sum = 0;
    float largest = -FLT_MAX;
#pragma tune name(softmax_strided) sizes(stride = 1)
    {
        for (i = 0; i < n; ++i) {
            if (input[i * stride] > largest)
                largest = input[i * stride];
        }
        for (i = 0; i < n; ++i) {
            float e = exp(input[i * stride] / temp - largest / temp);
            sum += e;
            output[i * stride] = e;
        }
        for (i = 0; i < n; ++i)
            output[i * stride] /= sum;
    }
}

void encoder(float *out, const int *inp, const float *wte, const float *wpe, int B, int T, int C) {
#pragma tune name(encoder)
    for (int b = 0; b < B; b++) {
        for (int t = 0; t < T; t++) {
            float *out_bt = out + b * T * C + t * C;
            int ix = inp[b * T + t];
            const float *wte_ix = wte + ix * C;
            const float *wpe_t = wpe + t * C;
            for (int i = 0; i < C; i++)
                out_bt[i] = wte_ix[i] + wpe_t[i];
        }
    }
}

void layernorm(float *out, float *mean, float *rstd, const float *inp, const float *weight,
               const float *bias, int B, int T, int C) {
    float eps = 1e-5f;
#pragma tune name(layernorm)
    for (int b = 0; b < B; b++) {
        for (int t = 0; t < T; t++) {
            const float *x = inp + b * T * C + t * C;
            float m = 0.0f;
            for (int i = 0; i < C; i++)
                m += x[i];
            m = m / C;
            float v = 0.0f;
            for (int i = 0; i < C; i++) {
                float xshift = x[i] - m;
                v += xshift * xshift;
            }
            v = v / C;
            float s = 1.0f / sqrtf(v + eps);
            float *out_bt = out + b * T * C + t * C;
            for (int i = 0; i < C; i++) {
                float n = (s * (x[i] - m));
                float o = n * weight[i] + bias[i];
                out_bt[i] = o;
            }
            mean[b * T + t] = m;
            rstd[b * T + t] = s;
        }
    }
}

void layernorm_back(float *dinp, float *dweight, float *dbias, const float *dout, const float *inp,
                    const float *weight, const float *mean, const float *rstd, int B, int T,
                    int C) {
#pragma tune name(layernorm_back)
    for (int b = 0; b < B; b++) {
        for (int t = 0; t < T; t++) {
            const float *dout_bt = dout + b * T * C + t * C;
            const float *inp_bt = inp + b * T * C + t * C;
            float *dinp_bt = dinp + b * T * C + t * C;
            float mean_bt = mean[b * T + t];
            float rstd_bt = rstd[b * T + t];
            float dnorm_mean = 0.0f;
            for (int i = 0; i < C; i++) {
                float dnorm_i = weight[i] * dout_bt[i];
                dnorm_mean += dnorm_i;
            }
            dnorm_mean = dnorm_mean / C;
            for (int i = 0; i < C; i++) {
                float norm_bti = (inp_bt[i] - mean_bt) * rstd_bt;
                dbias[i] += dout_bt[i];
                dweight[i] += norm_bti * dout_bt[i];
                float dval = 0.0f;
                dval += weight[i] * dout_bt[i];
                dval -= dnorm_mean;
                dval *= rstd_bt;
                dinp_bt[i] += dval;
            }
        }
    }
}

void matmul_naive(float *out, const float *inp, const float *weight, const float *bias, int B,
                  int T, int C, int OC) {
#pragma tune name(matmul_bias)
    for (int b = 0; b < B; b++) {
        for (int t = 0; t < T; t++) {
            int bt = b * T + t;
            for (int o = 0; o < OC; o++) {
                float val = (bias != NULL) ? bias[o] : 0.0f;
                for (int i = 0; i < C; i++)
                    val += inp[bt * C + i] * weight[o * C + i];
                out[bt * OC + o] = val;
            }
        }
    }
}

void attention(float *out, float *preatt, float *att, const float *inp, int B, int T, int C,
               int NH) {
    int C3 = C * 3;
    int hs = C / NH;
    float scale = 1.0 / sqrtf(hs);
#pragma tune name(attention) sizes(B = 4, T = 64, C = 768, NH = 12, C3 = 2304, hs = 64)
    for (int b = 0; b < B; b++) {
        for (int t = 0; t < T; t++) {
            for (int h = 0; h < NH; h++) {
                const float *query_t = inp + b * T * C3 + t * C3 + h * hs;
                float *preatt_bth = preatt + b * NH * T * T + h * T * T + t * T;
                float *att_bth = att + b * NH * T * T + h * T * T + t * T;
                float maxval = -10000.0f;
                for (int t2 = 0; t2 <= t; t2++) {
                    const float *key_t2 = inp + b * T * C3 + t2 * C3 + h * hs + C;
                    float val = 0.0f;
                    for (int i = 0; i < hs; i++)
                        val += query_t[i] * key_t2[i];
                    val *= scale;
                    if (val > maxval)
                        maxval = val;
                    preatt_bth[t2] = val;
                }
                float expsum = 0.0f;
                for (int t2 = 0; t2 <= t; t2++) {
                    float expv = expf(preatt_bth[t2] - maxval);
                    expsum += expv;
                    att_bth[t2] = expv;
                }
                float expsum_inv = expsum == 0.0f ? 0.0f : 1.0f / expsum;
                for (int t2 = 0; t2 < T; t2++) {
                    if (t2 <= t) {
                        att_bth[t2] *= expsum_inv;
                    } else {
                        att_bth[t2] = 0.0f;
                    }
                }
                float *out_bth = out + b * T * C + t * C + h * hs;
                for (int i = 0; i < hs; i++)
                    out_bth[i] = 0.0f;
                for (int t2 = 0; t2 <= t; t2++) {
                    const float *value_t2 = inp + b * T * C3 + t2 * C3 + h * hs + C * 2;
                    float att_btht2 = att_bth[t2];
                    for (int i = 0; i < hs; i++)
                        out_bth[i] += att_btht2 * value_t2[i];
                }
            }
        }
    }
}

void gelu(float *out, const float *inp, int N) {
#pragma tune name(gelu)
    for (int i = 0; i < N; i++) {
        float x = inp[i];
        float cube = 0.044715f * x * x * x;
        out[i] = 0.5f * x * (1.0f + tanhf(sqrtf(2.0f / 3.14159265358979323846f) * (x + cube)));
    }
}

void residual_back(float *dinp1, float *dinp2, const float *dout, int N) {
#pragma tune name(residual_back)
    for (int i = 0; i < N; i++) {
        dinp1[i] += dout[i];
        dinp2[i] += dout[i];
    }
}

void softmax_rows(float *probs, const float *logits, int B, int T, int V, int Vp) {
#pragma tune name(softmax_rows) sizes(B = 4, T = 64, V = 1000, Vp = 1024)
    for (int b = 0; b < B; b++) {
        for (int t = 0; t < T; t++) {
            const float *logits_bt = logits + b * T * Vp + t * Vp;
            float *probs_bt = probs + b * T * Vp + t * Vp;
            float maxval = -10000.0f;
            for (int i = 0; i < V; i++) {
                if (logits_bt[i] > maxval)
                    maxval = logits_bt[i];
            }
            float sum = 0.0f;
            for (int i = 0; i < V; i++) {
                probs_bt[i] = expf(logits_bt[i] - maxval);
                sum += probs_bt[i];
            }
            for (int i = 0; i < V; i++)
                probs_bt[i] /= sum;
            for (int i = V; i < Vp; i++)
                probs_bt[i] = 0.0f;
        }
    }
}

void crossentropy(float *losses, const float *probs, const int *targets, int B, int T, int Vp) {
#pragma tune name(crossentropy)
    for (int b = 0; b < B; b++) {
        for (int t = 0; t < T; t++) {
            const float *probs_bt = probs + b * T * Vp + t * Vp;
            int ix = targets[b * T + t];
            losses[b * T + t] = -logf(probs_bt[ix]);
        }
    }
}

void crossentropy_back(float *dlogits, const float *dlosses, const float *probs, const int *targets,
                       int B, int T, int V, int Vp) {
#pragma tune name(crossentropy_back) sizes(B = 4, T = 64, V = 1000, Vp = 1024)
    for (int b = 0; b < B; b++) {
        for (int t = 0; t < T; t++) {
            float *dlogits_bt = dlogits + b * T * Vp + t * Vp;
            const float *probs_bt = probs + b * T * Vp + t * Vp;
            float dloss = dlosses[b * T + t];
            int ix = targets[b * T + t];
            for (int i = 0; i < V; i++) {
                float p = probs_bt[i];
                float indicator = i == ix ? 1.0f : 0.0f;
                dlogits_bt[i] += (p - indicator) * dloss;
            }
        }
    }
}

typedef struct {
    float *params_memory, *grads_memory, *m_memory, *v_memory;
    size_t num_parameters;
} model;

void adamw(model *model, float lr, float beta1, float beta2, float eps, float wd, float b1c,
           float b2c) {
#pragma tune name(adamw)
    for (size_t i = 0; i < model->num_parameters; i++) {
        float param = model->params_memory[i];
        float grad = model->grads_memory[i];
        float m = beta1 * model->m_memory[i] + (1.0f - beta1) * grad;
        float v = beta2 * model->v_memory[i] + (1.0f - beta2) * grad * grad;
        float m_hat = m / b1c;
        float v_hat = v / b2c;
        model->m_memory[i] = m;
        model->v_memory[i] = v;
        model->params_memory[i] -= lr * (m_hat / (sqrtf(v_hat) + eps) + wd * param);
    }
}

void matmul_back(float *dinp, float *dweight, float *dbias, const float *dout, const float *inp,
                 const float *weight, int B, int T, int C, int OC) {
#pragma tune name(matmul_back)
    for (int o = 0; o < OC; o++) {
        for (int b = 0; b < B; b++) {
            for (int t = 0; t < T; t++) {
                const float *dout_bt = dout + b * T * OC + t * OC;
                const float *inp_bt = inp + b * T * C + t * C;
                float *dwrow = dweight + o * C;
                float d = dout_bt[o];
                if (dbias != NULL)
                    dbias[o] += d;
                for (int i = 0; i < C; i++)
                    dwrow[i] += inp_bt[i] * d;
            }
        }
    }
}
