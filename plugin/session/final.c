/*
 * Final: see final.h.
 */
#include "plugin/session/final.h"

#include "plugin/session/measure.h"
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

static int final_rounds(const ctune_bench *bench, const ctune_finalists *f) {
    if (bench->session->rounds > 0) {
        return (int)bench->session->rounds;
    }
    double round_ns = bench->original_ns;
    for (int i = 0; i < f->n; i++) {
        round_ns += f->entry[i].estimate_ns;
    }
    double rounds = FINAL_S * 1e9 / (round_ns + 1e6);
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
    bool is_wrong = v->agreement == CTUNE_AGREES_WRONG;
    char text[500];
    snprintf(text, sizeof text, "%s: a finalist is rejected: %s%s", bench->region->name,
             is_wrong ? "" : "strict, but the compiler decides about contraction copy by copy: ",
             v->detail);
    ctune_diag_send(ctx, &(ctune_diag){.severity = is_wrong ? CTUNE_WARNING : CTUNE_REMARK,
                                       .file = bench->region->file,
                                       .line = bench->region->line,
                                       .code = is_wrong ? "wrong-elsewhere" : "not-strict",
                                       .text = text,
                                       .hint = is_wrong ? "please report"
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

/* The fastest whose results are right elsewhere, too: *best, -1: none. */
static ctune_status pick(ctune_ctx *ctx, const ctune_bench *bench, const ctune_finalists *f,
                         const ctune_run_result *results, ctune_outcome *out, int *best) {
    bool taken[CTUNE_MAX_FINALISTS] = {false};
    ctune_verifier verifier;
    ctune_verdict verdict;
    *best = find_next(f, results, taken);
    if (*best < 0) {
        return CTUNE_OK;
    }
    ctune_status status = ctune_verifier_open(ctx, bench, &verifier);
    for (bool is_good = false; status == CTUNE_OK && *best >= 0 && !is_good;) {
        status = ctune_verify_run(ctx, &verifier, f->entry[*best].schedule, &verdict);
        is_good = verdict.agreement != CTUNE_AGREES_WRONG &&
                  !(verdict.agreement == CTUNE_AGREES_CONTRACTED && is_strict(bench));
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

static ctune_status run(ctune_ctx *ctx, const ctune_bench *bench, ctune_finalists *f,
                        ctune_outcome *out) {
    const char *units[CTUNE_MAX_FINALISTS], *names[CTUNE_MAX_FINALISTS];
    ctune_run_result results[CTUNE_MAX_FINALISTS];
    for (int i = 0; i < f->n; i++) {
        units[i] = f->entry[i].unit;
        names[i] = f->entry[i].name;
    }
    ctune_status status = ctune_runner_final(ctx, bench->runner, ctune_text_get(&bench->prelude),
                                             units, names, f->n, final_rounds(bench, f), results);
    if (status != CTUNE_OK) {
        return status;
    }
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
    int best = -1;
    status = bench->session->stopped() == 0 ? pick(ctx, bench, f, results, out, &best) : CTUNE_OK;
    if (status == CTUNE_OK && best >= 0) {
        out->original_ns = results[best].original_ns;
        out->tuned_ns = results[best].median_ns;
        out->is_original = false;
        free(out->schedule);
        out->schedule = f->entry[best].schedule;
        f->entry[best].schedule = NULL;
    }
    return status;
}

ctune_status ctune_finalists_run(ctune_ctx *ctx, const ctune_bench *bench, ctune_finalists *f,
                                 ctune_outcome *out) {
    out->schedule = strdup("");
    out->is_original = true;
    out->tuned_ns = out->original_ns;
    if (out->schedule == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    return f->n > 0 ? run(ctx, bench, f, out) : CTUNE_OK;
}

void ctune_finalists_clear(ctune_finalists *f) {
    for (int i = 0; i < f->n; i++) {
        free(f->entry[i].schedule);
        free(f->entry[i].unit);
    }
}
