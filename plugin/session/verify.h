/*
 * Verify: does a schedule give the original's results, at which sizes, and compared with what?
 */
#ifndef CTUNE_PLUGIN_SESSION_VERIFY_H
#define CTUNE_PLUGIN_SESSION_VERIFY_H

#include "plugin/session/cases.h"
#include "plugin/session/oracle.h"

/* id, word in locks and JSON, words for people. What was found, from best to worst. */
#define CTUNE_AGREEMENT_TABLE(X)                                                                   \
    X(IDENTICAL, "identical", "results identical")                                                 \
    X(CONTRACTED, "contracted",                                                                    \
      "results identical but for contraction, which the compiler decides copy by copy")            \
    X(COPY, "copy", "results identical to those of a copy of the loop")                            \
    X(BOUNDED, "bounded", "results within bound")                                                  \
    X(WRONG, "wrong", "wrong-result")

typedef enum ctune_agreement {
#define X(id, word, words) CTUNE_AGREES_##id,
    CTUNE_AGREEMENT_TABLE(X)
#undef X
        CTUNE_N_AGREEMENTS
} ctune_agreement;
const char *ctune_agreement_word(ctune_agreement agreement);
const char *ctune_agreement_words(ctune_agreement agreement);

/* How the detail begins when results are right because the guard of the tuned code never holds. */
#define CTUNE_GUARD_FAILS "the guard does not hold"

typedef struct ctune_verdict {
    ctune_agreement agreement;
    char detail[320];  /* WRONG: where, what. CONTRACTED: what the compiler did */
    char against[240]; /* "the user's compile of mul()", "a copy of the loop (it is main())" */
    char sizes[200];   /* of the cases that agree, as ctune_cases_print says */
} ctune_verdict;

/* Of one session: opened once for a bench, asked for several schedules. */
typedef struct ctune_verifier {
    const ctune_bench *bench;
    ctune_oracle oracle;
    double budget_s;   /* for one schedule, an estimate of all its runs */
    bool is_bounded;   /* dear cases that have not begun after budget_s are left out */
    bool has_met_copy; /* the schedules have given the copy's results at the bench's own sizes */
} ctune_verifier;

/* Fails as ctune_oracle_open; close in any case. */
CTUNE_MUST_USE ctune_status ctune_verifier_open(ctune_ctx *ctx, const ctune_bench *bench,
                                                ctune_verifier *out);
void ctune_verifier_close(ctune_verifier *verifier);

/*
 * Runs the schedule in all cases (cases.h): by itself against ctune's copy of the loop, whose
 * operations are exactly the program's, and in the user's file against the user's own compile.
 * Results differ from the latter's only where the compiler decides about contraction itself: then
 * within the error bound, and only in bits that contraction changes; all else is WRONG.
 */
CTUNE_MUST_USE ctune_status ctune_verify_run(ctune_ctx *ctx, const ctune_verifier *verifier,
                                             const char *schedule, ctune_verdict *out);
/* "identical to the user's compile of mul() at n=100 99": the lock's line. */
void ctune_verdict_print(const ctune_verdict *verdict, char *out, size_t size);

#endif
