/* Statistics of timing samples: see stats.h. Sets are tiny (<= 64), so insertion sort. */
#include "runtime/stats.h"

#include <string.h>

void ctune_samples_init(ctune_samples *samples) {
    memset(samples, 0, sizeof *samples);
}

void ctune_samples_append(ctune_samples *samples, double ns, bool is_disturbed) {
    int i = samples->next;
    samples->ns[i] = ns;
    samples->is_disturbed[i] = is_disturbed;
    samples->next = (i + 1) % CTUNE_SAMPLES_MAX;
    if (samples->n < CTUNE_SAMPLES_MAX) {
        samples->n++;
    }
}

int ctune_samples_count_clean(const ctune_samples *samples) {
    int n = 0;
    for (int i = 0; i < samples->n; i++) {
        n += !samples->is_disturbed[i];
    }
    return n;
}

/* The samples that count: clean ones, or all when none is clean. */
static int select_values(const ctune_samples *samples, double *values) {
    bool use_all = ctune_samples_count_clean(samples) == 0;
    int n = 0;
    for (int i = 0; i < samples->n; i++) {
        if (use_all || !samples->is_disturbed[i]) {
            values[n++] = samples->ns[i];
        }
    }
    return n;
}

double ctune_samples_best(const ctune_samples *samples) {
    double values[CTUNE_SAMPLES_MAX];
    int n = select_values(samples, values);
    double best = n > 0 ? values[0] : 0;
    for (int i = 1; i < n; i++) {
        best = values[i] < best ? values[i] : best;
    }
    return best;
}

double ctune_samples_median(const ctune_samples *samples) {
    double values[CTUNE_SAMPLES_MAX];
    int n = select_values(samples, values);
    return ctune_median(values, n);
}

double ctune_samples_spread(const ctune_samples *samples) {
    double best = ctune_samples_best(samples);
    return best > 0 ? (ctune_samples_median(samples) - best) / best : 0;
}

double ctune_median(double *values, int n) {
    if (n <= 0) {
        return 0;
    }
    for (int i = 1; i < n; i++) {
        double v = values[i];
        int j = i;
        for (; j > 0 && values[j - 1] > v; j--) {
            values[j] = values[j - 1];
        }
        values[j] = v;
    }
    return n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

double ctune_time_steady(double ns, double own_ns, double original_ns) {
    static const double most = 1.4;
    if (!(own_ns > 0) || !(original_ns > 0)) {
        return ns;
    }
    double drift = original_ns / own_ns;
    return ns * (drift > most ? most : drift < 1 / most ? 1 / most : drift);
}
