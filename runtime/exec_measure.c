/*
 * Timing: how many samples a function gets, and when it is given up.
 *
 * A run = restore the written tensors (not timed), call, check (only the first time). A sample =
 * the mean of as many runs as last min_sample_ns, each timed by itself, so that every run sees the
 * same inputs: kernels that update in place would otherwise drift to infinities or denormals. Runs
 * that a context switch hit are left out of their sample; a sample with none left is marked as
 * disturbed.
 *
 * The original is measured again between candidates, but only as long as that takes less than
 * ORIGINAL_SHARE of the time: it may be a hundred times slower than a candidate. Its last few
 * samples live in the shared file and survive a crash.
 */
#include "runtime/exec_private.h"

#include "runtime/counters.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MIN_SAMPLES = 3, MAX_SAMPLES = 7, MAX_REPEATS = 1000, FINAL_SAMPLE_FACTOR = 10 };

static const double TIGHT_SPREAD = 0.015; /* enough samples when (median - best) / best is below */
static const double HOPELESS_SLOWER = 1.10; /* than the incumbent after two samples: no third one */
static const double LIMIT_FACTOR = 3; /* time limit of a run, times the incumbent or the original */
static const double LONG_LIMIT_FACTOR =
    1.5; /* the same of runs that take a good part of a budget */
static const double LIMIT_FLOOR_NS = 0.2e9;
static const double LONG_RUN_NS = 0.3e9;     /* one sample is enough, two from a sixth of it on */
static const double ORIGINAL_LIMIT = 10;     /* the original may take so many time limits */
static const double RESTORE_SHARE_NS = 20e6; /* of a sample, for restoring */
static const double ORIGINAL_SHARE = 0.12;
static const double ORIGINAL_ENOUGH_NS = 1e9; /* in a final: an original that is very slow */
static const double ORIGINAL_ONCE = 2;        /* no second run beyond as many times original_s */

/* After the first run: clearly out when slower than the incumbent by `factor` and at least this
 * long. Short runs get more doubt, their first one pays for page faults and cold caches. */
static const struct {
    double at_least_ns, factor;
} abandon_rows[] = {{50e6, 1.3}, {1e6, 1.6}, {50e3, 3.0}};

typedef struct run_time {
    double ns;
    bool is_disturbed;
} run_time;

static int64_t forced_switches(void) {
    ctune_counter_values values;
    ctune_counters_read_software(&values);
    return values.value[CTUNE_COUNTER_FORCED_SWITCHES];
}

/* Until the deadline; a run that begins after it gets next to nothing. */
static double time_left(const ctune_exec *exec) {
    return exec->deadline_ns > 0 ? (double)(exec->deadline_ns - ctune_now_ns()) : INFINITY;
}

static int run_once(ctune_exec *exec, ctune_candidate_fn *fn, double limit_ns, run_time *time) {
    int64_t begin = ctune_now_ns();
    ctune_exec_tensors_restore(exec);
    exec->restore_ns = (double)(ctune_now_ns() - begin);
    int64_t switches = forced_switches();
    double left_ns = time_left(exec);
    ctune_exec_timer_arm(left_ns < limit_ns ? left_ns : limit_ns, left_ns < limit_ns);
    errno = 0;
    int64_t start = ctune_now_ns();
    int rc = fn(&exec->args);
    int64_t end = ctune_now_ns();
    ctune_exec_timer_disarm();
    time->is_disturbed = forced_switches() != switches;
    double ns = (double)(end - start) - exec->clock_cost_ns;
    time->ns = ns > 0.5 ? ns : 0.5;
    return rc;
}

/* Restoring the inputs may take far longer than a run: it bounds the number, too. */
static int count_repeats(const ctune_exec *exec, double run_ns, double sample_ns) {
    double n = sample_ns / run_ns, most = RESTORE_SHARE_NS / (exec->restore_ns + 1);
    n = n < most ? n : most;
    return n < 1 ? 1 : n > MAX_REPEATS ? MAX_REPEATS : (int)n + 1;
}

static void take_sample(ctune_exec *exec, ctune_candidate_fn *fn, int repeats, double limit_ns,
                        ctune_samples *samples) {
    double all = 0, clean = 0;
    int n_clean = 0;
    for (int i = 0; i < repeats; i++) {
        run_time time;
        run_once(exec, fn, limit_ns, &time);
        all += time.ns;
        if (!time.is_disturbed) {
            clean += time.ns;
            n_clean++;
        }
    }
    ctune_samples_append(samples, n_clean > 0 ? clean / n_clean : all / repeats, n_clean == 0);
}

static void set_figures(ctune_exec *exec, const ctune_samples *samples, ctune_run_result *result) {
    result->best_ns = ctune_samples_best(samples);
    result->median_ns = ctune_samples_median(samples);
    result->n_samples = samples->n;
    result->original_ns = ctune_exec_original_ns(exec);
}

/* ---- the original ---- */

double ctune_exec_original_ns(const ctune_exec *exec) {
    double values[CTUNE_RUN_STATE_SAMPLES];
    uint32_t n = exec->state->n_samples;
    n = n < CTUNE_RUN_STATE_SAMPLES ? n : CTUNE_RUN_STATE_SAMPLES;
    memcpy(values, exec->state->sample_ns, sizeof values);
    return ctune_median(values, (int)n);
}

static void append_original(ctune_exec *exec, double ns) {
    exec->state->sample_ns[exec->state->n_samples++ % CTUNE_RUN_STATE_SAMPLES] = ns;
}

static double original_limit(const ctune_exec *exec) {
    return ORIGINAL_LIMIT * exec->load.time_limit_s * 1e9;
}

/* One more sample of the original when its share allows. */
static void refresh_original(ctune_exec *exec) {
    ctune_run_state *state = exec->state;
    double run_ns = ctune_exec_original_ns(exec);
    if (exec->lib[0].handle == NULL || run_ns <= 0) {
        return;
    }
    int repeats = count_repeats(exec, run_ns, exec->load.min_sample_ns);
    double cost = run_ns * repeats;
    if (state->original_spent_ns + cost > ORIGINAL_SHARE * (state->total_spent_ns + cost) ||
        1.5 * cost > time_left(exec)) {
        return;
    }
    int64_t start = ctune_now_ns();
    ctune_samples one;
    ctune_samples_init(&one);
    take_sample(exec, exec->lib[0].fn[0], repeats, original_limit(exec), &one);
    if (ctune_samples_count_clean(&one) > 0) {
        append_original(exec, one.ns[0]);
    }
    double spent = (double)(ctune_now_ns() - start);
    state->original_spent_ns += spent;
    state->total_spent_ns += spent;
}

void ctune_exec_measure_original(ctune_exec *exec, ctune_candidate_fn *fn,
                                 ctune_run_result *result) {
    run_time first;
    int rc = run_once(exec, fn, original_limit(exec), &first);
    if (rc != 0) {
        result->outcome = CTUNE_RUN_DECLINED;
        snprintf(result->detail, sizeof result->detail, "the original returned %d", rc);
        return;
    }
    if (!ctune_exec_canaries_check(exec, result->detail, sizeof result->detail)) {
        result->outcome = CTUNE_RUN_WRONG;
        return;
    }
    ctune_exec_reference_store(exec);
    exec->is_foreign = false;
    ctune_samples samples;
    ctune_samples_init(&samples);
    double spent = first.ns;
    const double enough_ns = exec->load.original_s * 1e9;
    if (first.ns > ORIGINAL_ONCE * enough_ns || 2 * first.ns > time_left(exec)) {
        ctune_samples_append(&samples, first.ns, first.is_disturbed);
    } else {
        run_time second;
        run_once(exec, fn, original_limit(exec), &second);
        spent += second.ns;
        if (!ctune_exec_outputs_check(exec, result->detail, sizeof result->detail)) {
            result->outcome = CTUNE_RUN_WRONG; /* it gives different results by itself */
            return;
        }
        int repeats = count_repeats(exec, second.ns, exec->load.min_sample_ns);
        if (repeats == 1) {
            ctune_samples_append(&samples, second.ns, second.is_disturbed);
        }
        while (samples.n == 0 || (samples.n < CTUNE_RUN_STATE_SAMPLES && spent < enough_ns)) {
            take_sample(exec, fn, repeats, original_limit(exec), &samples);
            spent += samples.ns[samples.n - 1] * repeats;
        }
    }
    bool use_all = ctune_samples_count_clean(&samples) == 0;
    for (int i = 0; i < samples.n; i++) {
        if (use_all || !samples.is_disturbed[i]) {
            append_original(exec, samples.ns[i]);
        }
    }
    result->outcome = CTUNE_RUN_OK;
    set_figures(exec, &samples, result);
}

/* ---- candidates ---- */

static double candidate_limit(const ctune_exec *exec, double best_ns) {
    double original = ctune_exec_original_ns(exec);
    double yardstick = best_ns > 0 && (best_ns < original || original <= 0) ? best_ns : original;
    double limit = exec->load.time_limit_s * 1e9;
    limit = limit > 1.5 * original ? limit : 1.5 * original;
    double factor = yardstick < LONG_RUN_NS ? LIMIT_FACTOR : LONG_LIMIT_FACTOR;
    if (yardstick > 0 && limit > factor * yardstick) {
        limit = factor * yardstick;
    }
    return limit > LIMIT_FLOOR_NS ? limit : LIMIT_FLOOR_NS;
}

/* First run: checks guards, canaries and outputs. false: result has the outcome. */
static bool is_correct(ctune_exec *exec, ctune_candidate_fn *fn, double limit_ns, run_time *first,
                       ctune_run_result *result) {
    exec->is_foreign = true;
    int rc = run_once(exec, fn, limit_ns, first);
    bool is_inside = ctune_exec_canaries_check(exec, result->detail, sizeof result->detail);
    if (!is_inside) {
        result->outcome = CTUNE_RUN_WRONG;
    } else if (rc != 0 && !ctune_exec_outputs_are_pristine(exec)) {
        result->outcome = CTUNE_RUN_WRONG;
        snprintf(result->detail, sizeof result->detail, "returned %d after it had written", rc);
    } else if (rc != 0) {
        result->outcome = CTUNE_RUN_DECLINED;
        snprintf(result->detail, sizeof result->detail, "returned %d", rc);
    } else if (!ctune_exec_outputs_check(exec, result->detail, sizeof result->detail)) {
        result->outcome = CTUNE_RUN_WRONG;
    } else {
        result->outcome = CTUNE_RUN_OK;
        exec->is_foreign = false;
    }
    return result->outcome == CTUNE_RUN_OK;
}

void ctune_exec_refer(ctune_exec *exec, ctune_candidate_fn *fn, ctune_run_result *result) {
    run_time first;
    result->n_samples = run_once(exec, fn, original_limit(exec), &first);
    result->best_ns = result->median_ns = first.ns;
    if (ctune_exec_canaries_check(exec, result->detail, sizeof result->detail)) {
        ctune_exec_reference_store(exec);
        append_original(exec, first.ns);
        result->outcome = CTUNE_RUN_OK;
    } else {
        result->outcome = CTUNE_RUN_WRONG;
    }
}

/* A candidate that returns something but 0 has either done nothing or fallen back on code that
 * gives the same outputs. */
void ctune_exec_verify(ctune_exec *exec, ctune_candidate_fn *fn, ctune_run_result *result) {
    run_time first;
    int rc = run_once(exec, fn, original_limit(exec), &first);
    result->n_samples = rc;
    result->best_ns = result->median_ns = first.ns;
    bool is_same = ctune_exec_canaries_check(exec, result->detail, sizeof result->detail) &&
                   ctune_exec_outputs_check(exec, result->detail, sizeof result->detail);
    bool is_untouched = !is_same && rc != 0 && ctune_exec_outputs_are_pristine(exec);
    result->outcome = is_same        ? (rc == 0 ? CTUNE_RUN_OK : CTUNE_RUN_DECLINED)
                      : is_untouched ? CTUNE_RUN_DECLINED
                                     : CTUNE_RUN_WRONG;
}

static bool is_hopeless_at_once(double run_ns, double best_ns) {
    for (size_t i = 0; best_ns > 0 && i < sizeof abandon_rows / sizeof *abandon_rows; i++) {
        if (run_ns >= abandon_rows[i].at_least_ns) {
            return run_ns > abandon_rows[i].factor * best_ns;
        }
    }
    return false;
}

static bool is_enough(const ctune_samples *samples, double best_ns, bool *abandoned) {
    int n_clean = ctune_samples_count_clean(samples);
    if (best_ns > 0 && n_clean >= 2 && ctune_samples_best(samples) > HOPELESS_SLOWER * best_ns) {
        *abandoned = true;
        return true;
    }
    /* long runs average over much already, and each one costs a good part of the budget */
    double ns = ctune_samples_best(samples);
    int fewer = ns >= LONG_RUN_NS ? 2 : ns >= LONG_RUN_NS / 6 ? 1 : 0;
    if (samples->n >= (fewer > 0 ? MIN_SAMPLES : MAX_SAMPLES)) {
        return true;
    }
    return n_clean >= MIN_SAMPLES - fewer && ctune_samples_spread(samples) < TIGHT_SPREAD;
}

static void measure_correct(ctune_exec *exec, ctune_candidate_fn *fn, double best_ns,
                            double limit_ns, run_time first, ctune_run_result *result) {
    ctune_samples samples;
    ctune_samples_init(&samples);
    if (!first.is_disturbed && is_hopeless_at_once(first.ns, best_ns)) {
        ctune_samples_append(&samples, first.ns, false);
        result->abandoned = true;
    } else if (first.ns >= LONG_RUN_NS / 6) { /* cold caches matter little: it counts */
        ctune_samples_append(&samples, first.ns, first.is_disturbed);
    }
    int repeats = count_repeats(exec, first.ns, exec->load.min_sample_ns);
    if (!result->abandoned && repeats > 1) { /* the first run was cold: count again */
        run_time warm;
        run_once(exec, fn, limit_ns, &warm);
        repeats = count_repeats(exec, warm.ns, exec->load.min_sample_ns);
    }
    while (!result->abandoned && !is_enough(&samples, best_ns, &result->abandoned)) {
        take_sample(exec, fn, repeats, limit_ns, &samples);
    }
    set_figures(exec, &samples, result);
}

void ctune_exec_measure(ctune_exec *exec, ctune_candidate_fn *fn, double best_ns,
                        ctune_run_result *result) {
    if (time_left(exec) <= 0) {
        result->outcome = CTUNE_RUN_SKIPPED;
        snprintf(result->detail, sizeof result->detail, "no time left");
        return;
    }
    refresh_original(exec);
    int64_t start = ctune_now_ns();
    double limit_ns = candidate_limit(exec, best_ns);
    run_time first;
    if (is_correct(exec, fn, limit_ns, &first, result)) {
        measure_correct(exec, fn, best_ns, limit_ns, first, result);
    }
    result->original_ns = ctune_exec_original_ns(exec);
    exec->state->total_spent_ns += (double)(ctune_now_ns() - start);
}

/* ---- finals ---- */

/* A slow original that is far behind gets three rounds (first, middle, last), or one, not all. */
static bool is_original_round(int round, int rounds, double original_ns, double slowest_ns) {
    if (original_ns < 5 * slowest_ns || original_ns * rounds < ORIGINAL_ENOUGH_NS) {
        return true;
    }
    bool is_very_slow = original_ns > ORIGINAL_ENOUGH_NS;
    return round == rounds / 2 || (!is_very_slow && (round == 0 || round == rounds - 1));
}

typedef struct contest {
    ctune_candidate_fn *const *fn; /* [n] */
    int n;
    void (*start)(ctune_exec *exec, int index);
    ctune_run_result *results;
    double sample_ns, limit_ns;
    ctune_samples samples[CTUNE_RUN_MAX_FINALISTS], original;
    int repeats[CTUNE_RUN_MAX_FINALISTS];
    double slowest_ns, round_ns; /* one run of the slowest, one round without the original */
} contest;

/* Two runs: results are checked, caches are warm. A long run is not repeated: cold caches matter
 * little, and it counts as a sample. */
static void enter_contest(ctune_exec *exec, contest *c, int i) {
    run_time first, warm = {0, false};
    ctune_samples_init(&c->samples[i]);
    c->start(exec, i);
    if (!is_correct(exec, c->fn[i], c->limit_ns, &first, &c->results[i])) {
        return;
    }
    if (first.ns >= LONG_RUN_NS) {
        ctune_samples_append(&c->samples[i], first.ns, first.is_disturbed);
        warm = first;
    } else {
        run_once(exec, c->fn[i], c->limit_ns, &warm);
    }
    c->repeats[i] = count_repeats(exec, warm.ns, c->sample_ns);
    c->round_ns += warm.ns * c->repeats[i];
    c->slowest_ns = warm.ns > c->slowest_ns ? warm.ns : c->slowest_ns;
}

static bool has_all(const contest *c) {
    bool all = true;
    for (int i = 0; i < c->n; i++) {
        all &= c->results[i].outcome != CTUNE_RUN_OK || c->samples[i].n > 0;
    }
    return all;
}

/* The deadline ends the rounds when each finalist has a sample; it does not end a run. */
static void run_rounds(ctune_exec *exec, contest *c, int rounds, int64_t deadline_ns) {
    double original_ns = ctune_exec_original_ns(exec);
    int repeats = count_repeats(exec, original_ns, c->sample_ns);
    for (int round = 0; round < rounds; round++) {
        double left_ns = deadline_ns > 0 ? (double)(deadline_ns - ctune_now_ns()) : INFINITY;
        if (c->round_ns > left_ns && has_all(c)) {
            return;
        }
        if (c->round_ns + original_ns * repeats < left_ns &&
            is_original_round(round, rounds, original_ns, c->slowest_ns)) {
            c->start(exec, -1);
            take_sample(exec, exec->lib[0].fn[0], repeats, original_limit(exec), &c->original);
        }
        for (int k = 0; k < c->n; k++) {
            int i = (round + k) % c->n; /* another one goes first in each round */
            if (c->results[i].outcome == CTUNE_RUN_OK) {
                c->start(exec, i);
                take_sample(exec, c->fn[i], c->repeats[i], c->limit_ns, &c->samples[i]);
            }
        }
    }
}

void ctune_exec_measure_final(ctune_exec *exec, ctune_candidate_fn *const *fn, int n, int rounds,
                              void (*start)(ctune_exec *exec, int index),
                              ctune_run_result *results) {
    const int64_t deadline_ns = exec->deadline_ns;
    exec->deadline_ns = 0;
    contest c = {.fn = fn,
                 .n = n,
                 .start = start,
                 .results = results,
                 .sample_ns = exec->load.min_sample_ns * FINAL_SAMPLE_FACTOR,
                 .limit_ns = candidate_limit(exec, 0)};
    ctune_samples_init(&c.original);
    for (int i = 0; i < n; i++) {
        enter_contest(exec, &c, i);
    }
    run_rounds(exec, &c, rounds, deadline_ns);
    for (int i = 0; i < n; i++) {
        if (results[i].outcome == CTUNE_RUN_OK) {
            set_figures(exec, &c.samples[i], &results[i]);
        }
        results[i].original_ns =
            c.original.n > 0 ? ctune_samples_median(&c.original) : ctune_exec_original_ns(exec);
    }
}
