/*
 * Final: see final.h.
 */
#include "plugin/session/final.h"

#include "plugin/session/measure.h"
#include "plugin/session/scale.h"
#include "plugin/session/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A winner's median must be this much below the original's of the same rounds. */
#define MIN_GAIN 1.02
#define FINAL_S 4.0

bool ctune_finalists_add(ctune_ctx *ctx, const ctune_bench *bench, const char *schedule, double ns,
                         ctune_finalists *f) {
    if (f->n == CTUNE_MAX_FINALISTS) {
        return true;
    }
    for (int i = 0; i < f->n; i++) {
        if (strcmp(f->entry[i].schedule, schedule) == 0) {
            return true;
        }
    }
    ctune_finalist *out = &f->entry[f->n];
    ctune_text text;
    ctune_text_init(&text);
    snprintf(out->name, sizeof out->name, "ctune_final_%d", f->n);
    bool ok = ctune_bench_emit(ctx, bench, schedule, out->name, &text) == CTUNE_OK && !text.failed;
    if (ok) {
        out->schedule = strdup(schedule);
        out->unit = strdup(ctune_text_get(&text));
        out->estimate_ns = ns;
        ok = out->schedule != NULL && out->unit != NULL;
        f->n++; /* owned by f from here, whole or not */
    }
    ctune_text_clear(&text);
    return ok;
}

static double seconds_since(int64_t start_ns) {
    return (double)(ctune_now_ns() - start_ns) * 1e-9;
}

static int final_rounds(const ctune_bench *bench, const ctune_finalists *f, double final_s) {
    if (bench->session->rounds > 0) {
        return (int)bench->session->rounds;
    }
    double round_ns = bench->original_ns;
    for (int i = 0; i < f->n; i++) {
        round_ns += f->entry[i].estimate_ns;
    }
    double rounds = final_s * 1e9 / (round_ns + 1e6);
    return rounds < 3 ? 3 : rounds > 25 ? 25 : (int)rounds;
}

/* A schedule("...") clause has no search before the final. */
static void note_failure(const ctune_run_result *result, ctune_outcome *out) {
    if (out->n_new == 0) {
        out->n_new = out->n_bad = 1;
        ctune_failure_print(result, out->failure, sizeof out->failure);
    }
}

static bool is_strict(const ctune_bench *bench) {
    int i = ctune_source_find(bench->source, bench->region);
    return i >= 0 && bench->source->unit->regions[i].pragma.strict;
}

static void report_rejected(ctune_ctx *ctx, const ctune_bench *bench, const ctune_verdict *v) {
    bool is_idle = strncmp(v->detail, CTUNE_GUARD_FAILS, strlen(CTUNE_GUARD_FAILS)) == 0;
    bool is_wrong = v->agreement == CTUNE_AGREES_WRONG && !is_idle;
    char text[500];
    if (strncmp(v->detail, "slower ", 7) == 0) {
        return; /* no fault */
    }
    snprintf(text, sizeof text, "%s: a finalist is rejected: %s%s", bench->region->name,
             is_wrong || is_idle
                 ? ""
                 : "strict, but the compiler decides about contraction copy by copy: ",
             v->detail);
    ctune_diag_send(ctx,
                    &(ctune_diag){.severity = is_wrong ? CTUNE_WARNING : CTUNE_REMARK,
                                  .file = bench->region->file,
                                  .line = bench->region->line,
                                  .code = is_wrong  ? "wrong-elsewhere"
                                          : is_idle ? "guard-fails"
                                                    : "not-strict",
                                  .text = text,
                                  .hint = is_wrong  ? "please report"
                                          : is_idle ? "the front end and the compiler read a "
                                                      "constant or a macro differently"
                                                    : "-ffp-contract=off makes results equal"});
}

/* The fastest that beats the original and is not taken yet; -1: none. */
static int find_next(const ctune_finalists *f, const ctune_run_result *results, const bool *taken) {
    int best = -1;
    for (int i = 0; i < f->n; i++) {
        const ctune_run_result *r = &results[i];
        bool is_other = f->entry[i].schedule[0] != '\0'; /* else it is the original, printed anew */
        if (is_other && r->outcome == CTUNE_RUN_OK && !taken[i] &&
            r->median_ns * MIN_GAIN < r->original_ns &&
            (best < 0 || r->median_ns < results[best].median_ns)) {
            best = i;
        }
    }
    return best;
}

static bool has_time_for_whole(const ctune_bench *bench, const ctune_finalists *f,
                               const ctune_run_result *result) {
    if (f->whole_ns == 0 || bench->scale == NULL) {
        return false;
    }
    double tuned = result->median_ns / result->original_ns;
    double wanted_s = bench->compile_s + bench->scale->original_s * (1 + tuned);
    return wanted_s < (double)(f->whole_ns - ctune_now_ns()) * 1e-9;
}

/* Once at the sizes that were asked for. *is_good: same results, and still a gain. */
static ctune_status run_whole(ctune_ctx *ctx, const ctune_bench *bench, const char *schedule,
                              ctune_verdict *verdict, ctune_outcome *out, bool *is_good) {
    const ctune_scale *scale = bench->scale;
    ctune_run_result original = {0}, result = {0};
    ctune_run_workload load;
    ctune_text text;
    ctune_text_init(&text);
    ctune_status status = ctune_workload_make(ctx, bench->region, scale->wanted, &load);
    if (status == CTUNE_OK) {
        load.seed = bench->workload.seed;
        load.time_limit_s = 0.15 * scale->original_s; /* the original gets ten times that */
        status = ctune_bench_emit(ctx, bench, schedule, "ctune_whole", &text);
    }
    if (status == CTUNE_OK) {
        const char *unit = ctune_text_get(&text), *name = "ctune_whole";
        status = ctune_runner_verify(ctx, bench->runner, ctune_text_get(&bench->prelude), &unit,
                                     &name, 1, &load, 1, &original, &result);
    }
    if (status == CTUNE_OK && original.outcome == CTUNE_RUN_OK) {
        bool is_same = result.outcome == CTUNE_RUN_OK;
        *is_good = is_same && result.best_ns < original.best_ns;
        out->is_whole = true;
        out->original_ns = original.best_ns;
        out->tuned_ns = *is_good ? result.best_ns : original.best_ns;
        verdict->agreement = is_same ? verdict->agreement : CTUNE_AGREES_WRONG;
        if (!*is_good) {
            snprintf(verdict->detail, sizeof verdict->detail, "%.20s at %.100s: %.120s",
                     is_same ? "slower" : ctune_run_outcome_name(result.outcome), scale->text,
                     result.detail);
        }
    }
    ctune_text_clear(&text);
    return status;
}

/* The fastest whose results are right elsewhere, too: *best, -1: none. */
static ctune_status pick(ctune_ctx *ctx, const ctune_bench *bench, const ctune_finalists *f,
                         const ctune_run_result *results, double verify_s, ctune_outcome *out,
                         int *best) {
    bool taken[CTUNE_MAX_FINALISTS] = {false};
    ctune_verifier verifier;
    ctune_verdict verdict;
    *best = find_next(f, results, taken);
    if (*best < 0) {
        return CTUNE_OK;
    }
    int64_t start_ns = ctune_now_ns();
    ctune_status status = ctune_verifier_open(ctx, bench, &verifier);
    verify_s = verify_s < 0 ? verifier.budget_s : verify_s - seconds_since(start_ns);
    verifier.is_bounded = verify_s < verifier.budget_s;
    verifier.budget_s = !verifier.is_bounded ? verifier.budget_s : verify_s > 0 ? verify_s : 0;
    verifier.has_met_copy = true; /* in the final, as text that fits all sizes */
    for (bool is_good = false; status == CTUNE_OK && *best >= 0 && !is_good;) {
        status = ctune_verify_run(ctx, &verifier, f->entry[*best].schedule, &verdict);
        is_good = verdict.agreement != CTUNE_AGREES_WRONG &&
                  !(verdict.agreement == CTUNE_AGREES_CONTRACTED && is_strict(bench));
        if (status == CTUNE_OK && is_good && has_time_for_whole(bench, f, &results[*best])) {
            status = run_whole(ctx, bench, f->entry[*best].schedule, &verdict, out, &is_good);
        }
        if (status == CTUNE_OK && !is_good) {
            report_rejected(ctx, bench, &verdict);
            taken[*best] = true;
            *best = find_next(f, results, taken);
        } else if (status == CTUNE_OK) {
            out->agreement = verdict.agreement;
            snprintf(out->evidence, sizeof out->evidence, "%.150s", verdict.detail);
            ctune_verdict_print(&verdict, out->verified, sizeof out->verified);
        }
    }
    ctune_verifier_close(&verifier);
    return status;
}

/* Of the time left, compiling comes first, then rounds; two thirds are for verification. */
static double rounds_time(const ctune_bench *bench, const ctune_finalists *f) {
    double most_s = f->is_early ? 0.5 : FINAL_S;
    double left_s = (f->left_s - 2 * bench->compile_s) / 3;
    left_s = left_s > 0 ? left_s : 0;
    return f->left_s < 0 || left_s > most_s ? most_s : left_s;
}

static ctune_status measure(ctune_ctx *ctx, const ctune_bench *bench, ctune_finalists *f,
                            ctune_run_result *results) {
    const char *units[CTUNE_MAX_FINALISTS], *names[CTUNE_MAX_FINALISTS];
    for (int i = 0; i < f->n; i++) {
        units[i] = f->entry[i].unit;
        names[i] = f->entry[i].name;
    }
    double final_s = rounds_time(bench, f);
    bool has_limit = f->left_s >= 0 && bench->session->rounds == 0;
    int64_t end_ns = ctune_now_ns() + (int64_t)(1e9 * (final_s + 2 * bench->compile_s));
    ctune_runner_set_deadline(bench->runner, has_limit ? end_ns : 0);
    ctune_status status =
        ctune_runner_final(ctx, bench->runner, ctune_text_get(&bench->prelude), units, names, f->n,
                           final_rounds(bench, f, final_s), results);
    ctune_runner_set_deadline(bench->runner, 0);
    return status;
}

static void note_times(const ctune_finalists *f, const ctune_run_result *results,
                       ctune_outcome *out) {
    for (int i = 0; i < f->n; i++) {
        const ctune_run_result *r = &results[i];
        if (r->outcome != CTUNE_RUN_OK) {
            note_failure(r, out);
            continue;
        }
        if (f->incumbent != NULL && strcmp(f->entry[i].schedule, f->incumbent) == 0) {
            out->incumbent_ns = r->median_ns;
        }
        out->original_ns = r->original_ns > 0 ? r->original_ns : out->original_ns;
    }
    out->tuned_ns = out->original_ns;
}

static ctune_status run(ctune_ctx *ctx, const ctune_bench *bench, ctune_finalists *f,
                        double *part_s, ctune_outcome *out) {
    ctune_run_result results[CTUNE_MAX_FINALISTS];
    int64_t start_ns = ctune_now_ns(), final_ns;
    ctune_status status = measure(ctx, bench, f, results);
    final_ns = ctune_now_ns();
    part_s[CTUNE_PART_FINAL] += seconds_since(start_ns);
    if (status != CTUNE_OK) {
        return status;
    }
    note_times(f, results, out);
    int best = -1;
    double left_s = f->left_s < 0 ? -1 : f->left_s - seconds_since(start_ns);
    if (bench->session->stopped() == 0) {
        status = pick(ctx, bench, f, results, left_s > 0 || f->left_s < 0 ? left_s : 0, out, &best);
    }
    part_s[CTUNE_PART_VERIFY] += seconds_since(final_ns);
    if (status == CTUNE_OK && best >= 0) {
        if (!out->is_whole) {
            out->original_ns = results[best].original_ns;
            out->tuned_ns = results[best].median_ns;
        }
        out->is_original = false;
        free(out->schedule);
        out->schedule = f->entry[best].schedule;
        f->entry[best].schedule = NULL;
    }
    return status;
}

ctune_status ctune_finalists_run(ctune_ctx *ctx, const ctune_bench *bench, ctune_finalists *f,
                                 double *part_s, ctune_outcome *out) {
    out->schedule = strdup("");
    out->is_original = true;
    out->tuned_ns = out->original_ns;
    if (out->schedule == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    return f->n > 0 ? run(ctx, bench, f, part_s, out) : CTUNE_OK;
}

void ctune_finalists_clear(ctune_finalists *f) {
    for (int i = 0; i < f->n; i++) {
        free(f->entry[i].schedule);
        free(f->entry[i].unit);
    }
}
