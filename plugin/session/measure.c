/*
 * The measurer: see measure.h.
 *
 * submit: point -> nest and schedule text; known text is answered from the history; the rest is
 * emitted and goes to the runner as one batch. collect: results in order, each recorded (durably)
 * before the engine asks for more. A candidate that cannot be emitted is a failed trial, not an
 * error of the search.
 */
#include "plugin/session/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *schedule_text(ctune_ctx *ctx, const ctune_space *space, const ctune_point *point) {
    ctune_text text;
    ctune_text_init(&text);
    bool is_made = ctune_space_schedule_print(ctx, space, point, &text) != CTUNE_ENOMEM;
    char *copy = is_made ? strdup(ctune_text_get(&text)) : NULL;
    ctune_text_clear(&text);
    return copy;
}

static bool answer_known(const ctune_measure *m, const char *schedule, ctune_run_result *out) {
    const ctune_known_row *row = m->known != NULL ? ctune_known_find(m->known, schedule) : NULL;
    if (row == NULL) {
        return false;
    }
    *out = (ctune_run_result){.outcome = row->outcome,
                              .best_ns = row->best_ratio * m->bench->original_ns,
                              .median_ns = row->median_ratio * m->bench->original_ns,
                              .original_ns = m->bench->original_ns,
                              .n_samples = 1};
    return true;
}

/* C text of one candidate; NULL with the reason in result. Owned by the caller. */
static char *emit(ctune_ctx *ctx, const ctune_measure *m, const ctune_trial *trial,
                  const char *name, ctune_run_result *result) {
    ctune_nest nest;
    ctune_text text;
    ctune_text_init(&text);
    ctune_status status = CTUNE_EREFUSED;
    if (ctune_space_nest(m->space, &trial->point, &nest)) {
        ctune_emit_options options = m->bench->emit;
        options.sizes = m->bench->workload.params; /* finalists are emitted as they ship */
        status = ctune_emit_candidate(ctx, &nest, &options, name, &text);
    } else {
        ctune_fail(ctx, CTUNE_EREFUSED, "not legal");
    }
    char *copy = NULL;
    if (status == CTUNE_OK && !text.failed) {
        copy = strdup(ctune_text_get(&text));
    } else {
        *result = (ctune_run_result){.outcome = CTUNE_RUN_COMPILE};
        snprintf(result->detail, sizeof result->detail, "not emitted: %.140s", ctx->error);
    }
    ctune_text_clear(&text);
    return copy;
}

static void clear_batch(ctune_measure_batch *batch) {
    for (int i = 0; i < batch->n; i++) {
        free(batch->schedule[i]);
    }
    memset(batch, 0, sizeof *batch);
}

ctune_status ctune_measure_submit(ctune_ctx *ctx, void *user, ctune_trial *trials, int n) {
    ctune_measure *m = user;
    if (n > CTUNE_MEASURE_BATCH || m->n_in_flight == CTUNE_MEASURE_IN_FLIGHT) {
        return ctune_fail(ctx, CTUNE_EBUG, "batch of %d with %d in flight", n, m->n_in_flight);
    }
    ctune_measure_batch *batch = &m->batch[(m->head + m->n_in_flight) % CTUNE_MEASURE_IN_FLIGHT];
    memset(batch, 0, sizeof *batch);
    batch->n = n;
    int64_t start_ns = ctune_now_ns();
    char *units[CTUNE_MEASURE_BATCH], names[CTUNE_MEASURE_BATCH][32];
    const char *name_of[CTUNE_MEASURE_BATCH];
    ctune_status status = CTUNE_OK;
    for (int i = 0; i < n; i++) {
        batch->slot[i] = -1;
        batch->schedule[i] = schedule_text(ctx, m->space, &trials[i].point);
        if (batch->schedule[i] == NULL) {
            status = ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
            break;
        }
        batch->is_known[i] = answer_known(m, batch->schedule[i], &batch->result[i]);
        if (batch->is_known[i]) {
            m->n_known++;
            continue;
        }
        int slot = batch->n_run;
        snprintf(names[slot], sizeof names[slot], "ctune_c%d", trials[i].ordinal);
        units[slot] = emit(ctx, m, &trials[i], names[slot], &batch->result[i]);
        if (units[slot] != NULL) {
            name_of[slot] = names[slot];
            batch->slot[i] = batch->n_run++;
        } else {
            m->n_emit_failed++;
        }
    }
    m->code_ns += ctune_now_ns() - start_ns;
    if (status == CTUNE_OK && batch->n_run > 0) {
        status = ctune_runner_submit(ctx, m->bench->runner, ctune_text_get(&m->bench->prelude),
                                     (const char *const *)units, name_of, batch->n_run);
    }
    for (int i = 0; i < batch->n_run; i++) {
        free(units[i]);
    }
    if (status == CTUNE_OK) {
        m->n_in_flight++;
    } else {
        clear_batch(batch);
    }
    return status;
}

static ctune_status record(ctune_ctx *ctx, ctune_measure *m, const ctune_trial *trial,
                           const char *schedule) {
    if (m->history == NULL) {
        return CTUNE_OK;
    }
    ctune_record r = m->record;
    r.schedule = schedule;
    r.trial = trial->ordinal;
    r.outcome = trial->result.outcome;
    r.best_ns = trial->result.best_ns;
    r.median_ns = trial->result.median_ns;
    r.original_ns =
        trial->result.original_ns > 0 ? trial->result.original_ns : m->bench->original_ns;
    return ctune_history_append(ctx, m->history, &r);
}

void ctune_failure_print(const ctune_run_result *result, char *out, size_t size) {
    snprintf(out, size, "%s%s%s", ctune_run_outcome_name(result->outcome),
             result->detail[0] != '\0' ? ": " : "", result->detail);
}

static void count(ctune_measure *m, const ctune_run_result *result) {
    bool is_bad = result->outcome != CTUNE_RUN_OK && result->outcome != CTUNE_RUN_TIMEOUT;
    m->n_new++;
    m->n_ok += result->outcome == CTUNE_RUN_OK;
    m->n_bad += is_bad;
    if (is_bad && m->failure[0] == '\0') {
        ctune_failure_print(result, m->failure, sizeof m->failure);
    }
}

/* A search that has nothing yet goes beyond its time, once for its first batch, and for one of a
 * candidate or two (what the engine proposes then) far beyond: a busy machine compiles slowly. */
static int64_t deadline_of(ctune_measure *m, int n_run) {
    const ctune_bench *bench = m->bench;
    if (bench->deadline_ns == 0 || m->n_ok > 0) {
        return bench->deadline_ns;
    }
    double thin_s = 1 + 4 * bench->compile_s + 4e-9 * bench->original_ns;
    if (n_run <= 2) {
        int64_t end_ns = ctune_now_ns() + (int64_t)(1e9 * (2 + 20 * bench->compile_s + thin_s));
        return end_ns > bench->deadline_ns ? end_ns : bench->deadline_ns;
    }
    if (m->thin_ns == 0) {
        m->thin_ns = ctune_now_ns() + (int64_t)(1e9 * thin_s);
    }
    return m->thin_ns > bench->deadline_ns ? m->thin_ns : bench->deadline_ns;
}

ctune_status ctune_measure_collect(ctune_ctx *ctx, void *user, double best_ns, ctune_trial *trials,
                                   int n) {
    ctune_measure *m = user;
    ctune_measure_batch *batch = &m->batch[m->head];
    if (m->n_in_flight == 0 || batch->n != n) {
        return ctune_fail(ctx, CTUNE_EBUG, "collect of %d: the oldest batch has %d", n, batch->n);
    }
    ctune_run_result results[CTUNE_MEASURE_BATCH];
    ctune_status status = CTUNE_OK;
    if (batch->n_run > 0) {
        ctune_runner_set_deadline(m->bench->runner, deadline_of(m, batch->n_run));
        status = ctune_runner_collect(ctx, m->bench->runner, best_ns, results, batch->n_run);
    }
    if (m->bench->session->stopped() != 0) {
        status =
            ctune_fail(ctx, CTUNE_EENV,
                       "stopped"); /* children got the signal, too: their failures say nothing */
    }
    for (int i = 0; i < n && status == CTUNE_OK; i++) {
        trials[i].result = batch->slot[i] >= 0 ? results[batch->slot[i]] : batch->result[i];
        if (!batch->is_known[i] && trials[i].result.outcome != CTUNE_RUN_SKIPPED) {
            count(m, &trials[i].result);
            status = record(ctx, m, &trials[i], batch->schedule[i]);
        }
    }
    clear_batch(batch);
    m->head = (m->head + 1) % CTUNE_MEASURE_IN_FLIGHT;
    m->n_in_flight--;
    return status;
}

void ctune_measure_clear(ctune_measure *measure) {
    for (int i = 0; i < CTUNE_MEASURE_IN_FLIGHT; i++) {
        clear_batch(&measure->batch[i]);
    }
}
