/*
 * The progress line: trials, best speed-up, rate, remaining time; rewritten in place on a terminal,
 * at most ten times a second.
 */
#include "plugin/tool/tool.h"

#include <unistd.h>

static void print_left(const ctune_progress *p, int n_trials, double seconds, char *out,
                       size_t size) {
    double left = p->budget_s > 0 ? p->budget_s - seconds : -1;
    if (p->max_trials > 0 && n_trials > 0) {
        double by_trials = (p->max_trials - n_trials) * seconds / n_trials;
        left = left < 0 || by_trials < left ? by_trials : left;
    }
    if (left >= 60) {
        snprintf(out, size, "%d:%02d min left", (int)left / 60, (int)left % 60);
    } else {
        snprintf(out, size, "%.0f s left", left > 0 ? left : 0);
    }
}

bool ctune_progress_update(void *user, int n_trials, double best_ns, double original_ns) {
    ctune_progress *p = user;
    int64_t now_ns = ctune_now_ns();
    if (p->is_on && isatty(STDERR_FILENO) && (p->last_ns == 0 || now_ns - p->last_ns > 100000000)) {
        double seconds = (double)(now_ns - p->start_ns) * 1e-9;
        char left[64];
        print_left(p, n_trials, seconds, left, sizeof left);
        fprintf(stderr, "\r\033[K%s: %d trials, best %.2fx, %.1f/s, %s", p->label, n_trials,
                best_ns > 0 ? original_ns / best_ns : 0, seconds > 0 ? n_trials / seconds : 0,
                left);
        fflush(stderr);
        p->last_ns = now_ns;
    }
    return ctune_signal_get() == 0;
}

void ctune_progress_clear(ctune_progress *progress) {
    if (progress->is_on && isatty(STDERR_FILENO)) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
}
