/*
 * Verify: see verify.h.
 */
#include "plugin/session/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUDGET_S 4.0
#define OVERLAPPING ", overlapping, too"

static const struct {
    const char *word, *words;
} agreements[] = {
#define X(id, word, words) {word, words},
    CTUNE_AGREEMENT_TABLE(X)
#undef X
};

const char *ctune_agreement_word(ctune_agreement agreement) {
    return agreements[agreement].word;
}

const char *ctune_agreement_words(ctune_agreement agreement) {
    return agreements[agreement].words;
}

ctune_status ctune_verifier_open(ctune_ctx *ctx, const ctune_bench *bench, ctune_verifier *out) {
    memset(out, 0, sizeof *out);
    out->bench = bench;
    out->budget_s = BUDGET_S;
    return ctune_oracle_open(ctx, bench, &out->oracle);
}

void ctune_verifier_close(ctune_verifier *verifier) {
    ctune_oracle_close(&verifier->oracle);
}

typedef struct session {
    const ctune_verifier *verifier;
    const ctune_bench *bench;
    ctune_cases cases;
    bool agrees[CTUNE_MAX_CASES];           /* with the copy */
    bool agrees_with_user[CTUNE_MAX_CASES]; /* bit for bit, or contracted */
    ctune_run_result *originals, *results;  /* [CTUNE_MAX_CASES] */
    ctune_verdict *verdict;
    int n_reached, n_contracted;
    bool has_fallen_back; /* at the bench's own sizes the original ran, in the else branch */
} session;

/* The bench's own sizes and data come first, and the final has compared them with the copy. */
static bool is_met(const session *s, int i) {
    const ctune_run_workload *own = &s->bench->workload, *load = &s->cases.load[i];
    return s->verifier->has_met_copy && i == 0 && load->data == own->data && !load->is_odd &&
           load->has_extreme_ints == own->has_extreme_ints && load->seed == own->seed &&
           memcmp(load->params, own->params, sizeof own->params) == 0;
}

static void set_deadline(const session *s, double budget_s) {
    int64_t end_ns = ctune_now_ns() + (int64_t)(1e9 * budget_s);
    int64_t deadline_ns = s->verifier->is_bounded ? end_ns : 0;
    ctune_runner_set_deadline(s->bench->runner, deadline_ns);
    if (s->verifier->oracle.runner != NULL) {
        ctune_runner_set_deadline(s->verifier->oracle.runner, deadline_ns);
    }
}

/* What the case is, for people: sizes, data, places. */
static void describe_case(const session *s, int i, char *out, size_t size) {
    static const char *const data[] = {
#define X(id, word, help) word,
        CTUNE_RUN_DATA_TABLE(X)
#undef X
    };
    bool only[CTUNE_MAX_CASES] = {false};
    char sizes[120];
    only[i] = true;
    ctune_cases_print(&s->cases, s->bench->region, only, sizes, sizeof sizes);
    const ctune_run_workload *load = &s->cases.load[i];
    snprintf(out, size, "%s%s%s data%s%s", sizes, sizes[0] != '\0' ? ", " : "", data[load->data],
             load->is_odd ? ", odd addresses" : "",
             s->cases.is_overlapping[i] ? ", overlapping pointers" : "");
}

static void set_wrong(session *s, int i, const char *against, const ctune_run_result *result) {
    char where[240];
    describe_case(s, i, where, sizeof where);
    s->verdict->agreement = CTUNE_AGREES_WRONG;
    snprintf(s->verdict->detail, sizeof s->verdict->detail, "%.20s %.40s: %.120s (%.120s)",
             ctune_run_outcome_name(result->outcome), against, result->detail, where);
}

static bool is_alike(const ctune_run_result *result) {
    return result->outcome == CTUNE_RUN_OK || result->outcome == CTUNE_RUN_DECLINED;
}

/* ---- against the copy ------------------------------------------------------------------------ */
/* Cases without overlapping pointers come first: a candidate has no guard against them. */
static int count_apart(const ctune_cases *cases) {
    int n = 0;
    while (n < cases->n && !cases->is_overlapping[n]) {
        n++;
    }
    return n;
}

static ctune_status compare_with_copy(ctune_ctx *ctx, session *s, const char *schedule) {
    ctune_text text;
    ctune_text_init(&text);
    int n = count_apart(&s->cases), first = n > 0 && is_met(s, 0);
    ctune_status status = ctune_bench_emit(ctx, s->bench, schedule, "ctune_verified", &text);
    s->results[0].outcome = s->originals[0].outcome = CTUNE_RUN_OK;
    if (status == CTUNE_OK && first < n) {
        const char *units[] = {ctune_text_get(&text)}, *names[] = {"ctune_verified"};
        status = ctune_runner_verify(ctx, s->bench->runner, ctune_text_get(&s->bench->prelude),
                                     units, names, 1, s->cases.load + first, n - first,
                                     s->originals + first, s->results + first);
    }
    for (int i = 0; i < n && status == CTUNE_OK; i++) {
        s->agrees[i] = s->results[i].outcome == CTUNE_RUN_OK;
        if (!is_alike(&s->results[i]) && s->results[i].outcome != CTUNE_RUN_SKIPPED) {
            set_wrong(s, i, "against a copy of the loop", &s->results[i]);
            break;
        }
    }
    ctune_text_clear(&text);
    return status;
}

/* ---- against the user's file ----------------------------------------------------------------- */
/* A difference that contraction explains: the compiler decides about it, and it is within the error
 * bound of that many terms. */
static ctune_status forgive(ctune_ctx *ctx, session *s, const char *unit, int i, bool *is_small) {
    ctune_run_workload load = s->cases.load[i];
    ctune_run_result original, result;
    const char *names[] = {"ctune_driver"};
    double terms;
    ctune_flops_count(ctx, s->bench->region, &terms);
    load.bound_terms = terms + 1;
    ctune_status status = ctune_runner_verify(ctx, s->verifier->oracle.runner, "", &unit, names, 1,
                                              &load, 1, &original, &result);
    *is_small = status == CTUNE_OK && is_alike(&result);
    return status;
}

static ctune_status judge_case(ctune_ctx *ctx, session *s, const char *unit, int i) {
    const ctune_run_result *r = &s->results[i];
    bool is_small = false;
    ctune_status status = CTUNE_OK;
    if (s->originals[i].outcome != CTUNE_RUN_OK) {
        return CTUNE_OK; /* the user's code cannot be run there: nothing is compared */
    }
    if (is_alike(r)) {
        bool is_reached = r->n_samples != CTUNE_ORACLE_NOT_REACHED;
        s->n_reached += is_reached && r->outcome == CTUNE_RUN_OK;
        bool is_own = memcmp(s->cases.load[i].params, s->bench->workload.params,
                             sizeof s->bench->workload.params) == 0;
        s->has_fallen_back |=
            is_own && !s->cases.is_overlapping[i] && is_reached && r->outcome != CTUNE_RUN_OK;
        s->agrees_with_user[i] = is_reached;
        return CTUNE_OK;
    }
    if (r->outcome == CTUNE_RUN_WRONG && !s->bench->rounding.is_decided) {
        status = forgive(ctx, s, unit, i, &is_small);
    }
    if (is_small) {
        s->agrees_with_user[i] = true;
        s->n_reached++;
        s->n_contracted++;
    } else if (status == CTUNE_OK) {
        set_wrong(s, i, "against the user's compile", r);
    }
    return status;
}

static ctune_status compare_with_user(ctune_ctx *ctx, session *s, const char *schedule) {
    const ctune_oracle *oracle = &s->verifier->oracle;
    const char *names[] = {"ctune_driver"};
    ctune_text text;
    ctune_text_init(&text);
    ctune_status status = ctune_oracle_print(ctx, oracle, schedule, &text);
    const char *unit = ctune_text_get(&text);
    if (status == CTUNE_OK) {
        status = ctune_runner_verify(ctx, oracle->runner, "", &unit, names, 1, s->cases.load,
                                     s->cases.n, s->originals, s->results);
    }
    for (int i = 0;
         i < s->cases.n && status == CTUNE_OK && s->verdict->agreement != CTUNE_AGREES_WRONG; i++) {
        status = judge_case(ctx, s, unit, i);
    }
    ctune_text_clear(&text);
    return status;
}

/* ---- verdict --------------------------------------------------------------------------------- */
static void conclude(session *s) {
    const ctune_unit_region *r = &s->bench->source->unit->regions[s->verifier->oracle.i_region];
    ctune_verdict *v = s->verdict;
    bool has_user = s->n_reached > 0;
    const char *obstacle = s->verifier->oracle.obstacle;
    if (has_user) {
        snprintf(v->against, sizeof v->against, "the user's compile of %.120s()", r->function);
    } else if (obstacle[0] != '\0') {
        snprintf(v->against, sizeof v->against,
                 "a copy of the loop (%.50s() is not called: %.120s)", r->function, obstacle);
    } else {
        snprintf(v->against, sizeof v->against,
                 "a copy of the loop (no call of %.60s() reached its tuned code)", r->function);
    }
    ctune_cases_print(&s->cases, s->bench->region, has_user ? s->agrees_with_user : s->agrees,
                      v->sizes, sizeof v->sizes - sizeof OVERLAPPING);
    bool has_overlap = false;
    for (int i = 0; i < s->cases.n && has_user; i++) {
        has_overlap |= s->cases.is_overlapping[i] && s->agrees_with_user[i];
    }
    strcat(v->sizes, has_overlap ? OVERLAPPING : "");
    if (v->agreement == CTUNE_AGREES_WRONG) {
        return;
    }
    if (!has_user && s->has_fallen_back) {
        v->agreement = CTUNE_AGREES_WRONG;
        snprintf(v->detail, sizeof v->detail,
                 CTUNE_GUARD_FAILS " in the user's compile of %.120s(): it never runs",
                 r->function);
        return;
    }
    /* one copy in the file may round where the called one fuses: it has to be said */
    bool is_contracted =
        s->n_contracted > 0 || s->bench->rounding.contraction == CTUNE_CONTRACTS_SOME;
    v->agreement = ctune_region_may_reassoc(s->bench->region) ? CTUNE_AGREES_BOUNDED
                   : is_contracted                            ? CTUNE_AGREES_CONTRACTED
                   : has_user                                 ? CTUNE_AGREES_IDENTICAL
                                                              : CTUNE_AGREES_COPY;
    if (v->agreement != CTUNE_AGREES_IDENTICAL && v->agreement != CTUNE_AGREES_BOUNDED) {
        snprintf(v->detail, sizeof v->detail, "%s", s->bench->rounding.evidence);
    }
}

ctune_status ctune_verify_run(ctune_ctx *ctx, const ctune_verifier *verifier, const char *schedule,
                              ctune_verdict *out) {
    session s = {.verifier = verifier, .bench = verifier->bench, .verdict = out};
    memset(out, 0, sizeof *out);
    s.originals = calloc(CTUNE_MAX_CASES, sizeof *s.originals);
    s.results = calloc(CTUNE_MAX_CASES, sizeof *s.results);
    ctune_status status =
        s.originals != NULL && s.results != NULL
            ? ctune_cases_make(ctx, verifier->bench, schedule, verifier->budget_s, &s.cases)
            : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    set_deadline(&s, verifier->budget_s / 2);
    if (status == CTUNE_OK) {
        status = compare_with_copy(ctx, &s, schedule);
    }
    set_deadline(&s, verifier->budget_s / 2);
    if (status == CTUNE_OK && out->agreement != CTUNE_AGREES_WRONG &&
        verifier->oracle.runner != NULL) {
        status = compare_with_user(ctx, &s, schedule);
    }
    if (status == CTUNE_OK) {
        conclude(&s);
    }
    ctune_cases_clear(&s.cases);
    free(s.originals);
    free(s.results);
    return status;
}

void ctune_verdict_print(const ctune_verdict *v, char *out, size_t size) {
    static const char *const relations[] = {[CTUNE_AGREES_IDENTICAL] = "identical to",
                                            [CTUNE_AGREES_CONTRACTED] =
                                                "identical but for contraction to",
                                            [CTUNE_AGREES_COPY] = "identical to",
                                            [CTUNE_AGREES_BOUNDED] = "within bound of",
                                            [CTUNE_AGREES_WRONG] = "unlike"};
    snprintf(out, size, "%s %s%s%s", relations[v->agreement], v->against,
             v->sizes[0] != '\0' ? " at " : "", v->sizes);
}
