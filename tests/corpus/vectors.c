/* Loops of vectoriser test suites: induction, wrap-around scalars, conditions, reductions with
 * maximum and place, recurrences, packing, rerolling, jumps. */
#include <math.h>
#include <stdlib.h>

#define LEN 32000
#define LEN2 256
static float a[LEN], b[LEN], c[LEN], d[LEN], e[LEN];
static float aa[LEN2][LEN2], bb[LEN2][LEN2], cc[LEN2][LEN2];
static float flat[LEN2 * LEN2];
static int indx[LEN];
int dummy(float *x);

void s_step(void) {
#pragma tune name(v_step2)
    for (int i = 1; i < LEN - 1; i += 2)
        a[i] = a[i - 1] + b[i];
}
void s_triangle(void) {
#pragma tune name(v_triangle)
    for (int j = 0; j < LEN2; j++)
        for (int i = j + 1; i < LEN2; i++)
            aa[i][j] = aa[i - 1][j] + bb[i][j];
}
void s_repeat(int ntimes) {
#pragma tune name(v_repeat_dummy)
    for (int nl = 0; nl < ntimes; nl++) {
        for (int i = 0; i < LEN; i++)
            a[i] = b[i] + c[i] * d[i];
        dummy(a);
    }
}
void s_repeat_only(int ntimes) {
#pragma tune name(v_repeat) sizes(ntimes = 4)
    for (int nl = 0; nl < 2 * ntimes; nl++)
        for (int i = 0; i < LEN - 1; i++)
            a[i] = a[i + 1] + b[i];
}
void s_induction(int n) {
    int j = -1, k;
#pragma tune name(v_induction)
    for (int i = 0; i < LEN / 2; i++) {
        k = j + 1;
        a[i] = b[k] - d[i];
        j = k + 1;
        b[k] = a[i] + c[k];
    }
}
void s_goto(void) {
#pragma tune name(v_goto)
    for (int i = 0; i < LEN; i++) {
        if (b[i] > 0.f)
            goto positive;
        a[i] = -c[i];
        goto done;
    positive:
        a[i] = c[i] * d[i];
    done:
        b[i] = a[i] + d[i];
    }
}
void s_skip(void) {
#pragma tune name(v_goto_skip)
    for (int i = 0; i < LEN; i++) {
        if (a[i] < 0.f)
            goto L20;
        b[i] = a[i] + c[i] * d[i];
    L20:;
    }
}
void s_pack(void) {
    int j = -1;
#pragma tune name(v_packing)
    for (int i = 0; i < LEN / 2; i++) {
        j++;
        if (b[i] > 0.f)
            a[j] = b[i] + d[i] * e[i];
        else
            a[j] = c[i] + d[i] * e[i];
    }
}
void s_pack_data(void) {
    int j = -1;
#pragma tune name(v_pack_positive)
    for (int i = 0; i < LEN; i++) {
        if (b[i] > 0.f) {
            j++;
            a[j] = b[i];
        }
    }
}
void s_wrap(void) {
    float x = b[LEN - 1];
#pragma tune name(v_wrap_around)
    for (int i = 0; i < LEN; i++) {
        a[i] = (b[i] + x) * .5f;
        x = b[i];
    }
}
void s_wrap2(void) {
    int im1 = LEN - 1, im2 = LEN - 2;
#pragma tune name(v_wrap_index)
    for (int i = 0; i < LEN; i++) {
        a[i] = (b[i] + b[im1] + b[im2]) * .333f;
        im2 = im1;
        im1 = i;
    }
}
void s_node_split(void) {
#pragma tune name(v_node_split)
    for (int i = 0; i < LEN - 1; i++) {
        a[i] *= c[i];
        b[i] += a[i + 1] * d[i];
    }
}
void s_scalar_expand(void) {
    float s = 0;
#pragma tune name(v_scalar_expand)
    for (int i = 0; i < LEN; ++i) {
        if (d[i] > 0)
            s = d[i] * d[i];
        a[i] = b[i] + s;
    }
}
float s_sum(void) {
    float sum = 0;
#pragma tune name(v_sum)
    for (int i = 0; i < LEN; i++)
        sum += a[i];
    return sum;
}
float s_max_index(int *index) {
    float x = a[0];
    int ix = 0;
#pragma tune name(v_max_index)
    for (int i = 0; i < LEN; ++i) {
        if (a[i] > x) {
            x = a[i];
            ix = i;
        }
    }
    *index = ix;
    return x + (float)ix;
}
float s_max_index2(int *xi, int *yi) {
    float max = aa[0][0];
    int xindex = 0, yindex = 0;
#pragma tune name(v_max_place)
    for (int i = 0; i < LEN2; i++)
        for (int j = 0; j < LEN2; j++)
            if (aa[i][j] > max) {
                max = aa[i][j];
                xindex = i;
                yindex = j;
            }
    *xi = xindex;
    *yi = yindex;
    return max;
}
float s_max_abs(int inc) {
    int k = 0;
    float max = fabsf(a[0]);
    k += inc;
#pragma tune name(v_max_abs) sizes(inc = 1)
    for (int i = 1; i < LEN; i++) {
        if (fabsf(a[k]) > max)
            max = fabsf(a[k]);
        k += inc;
    }
    return max;
}
float s_dot_unrolled(void) {
    float dot = 0.;
#pragma tune name(v_dot_unrolled)
    for (int i = 0; i < LEN; i += 5)
        dot = dot + a[i] * b[i] + a[i + 1] * b[i + 1] + a[i + 2] * b[i + 2] + a[i + 3] * b[i + 3] +
              a[i + 4] * b[i + 4];
    return dot;
}
void s_reroll(void) {
    float alpha = c[0];
#pragma tune name(v_reroll)
    for (int i = 0; i < LEN; i += 5) {
        a[i] += alpha * b[i];
        a[i + 1] += alpha * b[i + 1];
        a[i + 2] += alpha * b[i + 2];
        a[i + 3] += alpha * b[i + 3];
        a[i + 4] += alpha * b[i + 4];
    }
}
void s_reroll_gather(void) {
#pragma tune name(v_gather)
    for (int i = 0; i < LEN; i++)
        a[i] += c[0] * b[indx[i]];
}
void s_scatter(void) {
#pragma tune name(v_scatter)
    for (int i = 0; i < LEN; i++)
        a[indx[i]] = b[i];
}
float s_exit(void) {
    int index = -2;
    float value = -1.;
#pragma tune name(v_exit)
    for (int i = 0; i < LEN; i++) {
        if (a[i] > 2.f) {
            index = i;
            value = a[i];
            break;
        }
    }
    return value + (float)index;
}
void s_exit_call(void) {
#pragma tune name(v_exit_call)
    for (int i = 0; i < LEN; i++) {
        if (d[i] < 0.f)
            exit(0);
        a[i] += b[i] * c[i];
    }
}
void s_early(int k) {
#pragma tune name(v_invariant_cond)
    for (int i = 0; i < LEN2; i++)
        for (int j = 0; j < LEN2; j++) {
            if (k > 0)
                aa[i][j] = aa[i][j] + bb[i][j] * cc[i][j];
            else
                aa[i][j] = aa[i][j] - bb[i][j];
        }
}
void s_flat(void) {
    int k = -1;
#pragma tune name(v_flatten)
    for (int i = 0; i < LEN2; i++)
        for (int j = 0; j < LEN2; j++) {
            ++k;
            flat[k] = aa[j][i];
        }
}
void s_mod(void) {
#pragma tune name(v_index_half)
    for (int i = 0; i < LEN; i++) {
        int ip = i * 1 + (i & 1 ? 0 : 1);
        a[i] = ip < LEN ? b[i] + 1.0f : 0.0f;
    }
}
void s_reverse(void) {
#pragma tune name(v_reverse)
    for (int i = LEN - 2; i >= 0; i--)
        a[i + 1] = a[i] + b[i];
}
void s_recurrence2(void) {
#pragma tune name(v_recurrence)
    for (int i = 2; i < LEN; i++)
        a[i] = a[i - 1] * b[i] + a[i - 2] * c[i];
}
void s_switch(int k) {
#pragma tune name(v_switch)
    for (int i = 0; i < LEN; i++) {
        switch (k) {
        case 1:
            a[i] += b[i];
            break;
        case 2:
            a[i] *= b[i];
            break;
        default:
            a[i] = 0;
        }
    }
}
void s_while(int n) {
    int i = 0;
#pragma tune name(v_while)
    while (i < n) {
        a[i] = b[i] + c[i];
        i++;
    }
}
void s_walk(float *p, const float *q, int n) {
#pragma tune name(v_pointer_walk)
    for (int i = 0; i < n; i++)
        *p++ = *q++ * 2.0f;
}
void s_walk_end(float *p, const float *end) {
#pragma tune name(v_pointer_end)
    for (; p < end; p++)
        *p = 0.0f;
}
void s_struct(int n, struct pt { float x, y; } * p, float s) {
#pragma tune name(v_struct)
    for (int i = 0; i < n; i++) {
        p[i].x *= s;
        p[i].y *= s;
    }
}
float s_sum_inner(void) {
    float total = 0;
#pragma tune name(v_sum_rows)
    for (int i = 0; i < LEN2; i++) {
        a[i] = 0;
        for (int j = 0; j < LEN2; j++)
            a[i] += aa[i][j];
        total += a[i];
    }
    return total;
}
int s_count(float t) {
    int n = 0;
#pragma tune name(v_count)
    for (int i = 0; i < LEN; i++)
        if (a[i] > t)
            n++;
    return n;
}
void s_conv(int n, int m) {
#pragma tune name(v_conv) sizes(n = 30000, m = 16)
    for (int i = 0; i < n; i++) {
        float s = 0;
        for (int k = 0; k < m; k++)
            s += b[i + m - 1 - k] * c[k];
        a[i] = s;
    }
}
