/*
 * Session: what the parts of a tuning run share. search.h is the whole of one search; below it,
 * bench and measure time candidates, final and verify decide what is kept.
 *
 * No part prints, exits or knows of options and signals: the program around gives a ctune_session
 * and reads outcomes.
 */
#ifndef CTUNE_PLUGIN_SESSION_SESSION_H
#define CTUNE_PLUGIN_SESSION_SESSION_H

#include "costmodel/model.h"
#include "plugin/predict/predict.h"
#include "search/engine/engine.h"

#define CTUNE_DEFAULT_MEMORY_BYTES ((double)(16ull << 30)) /* of one region's data and copies */
#define CTUNE_DEFAULT_BUDGET_S 60.0 /* of one nest, without a budget and a number of trials */

/* What is known of a search under way, for whoever shows it. */
typedef struct ctune_progress {
    bool is_on; /* a terminal and not --quiet */
    const char *label;
    int64_t start_ns, last_ns;
    double budget_s;
    int max_trials;
} ctune_progress;

typedef struct ctune_session {
    int64_t seed;
    double budget_s;           /* of one search; 0 = not given */
    int64_t trials;            /* most of one search; 0 = not given */
    int64_t batch, rounds;     /* of the search, of the final; 0 = not given */
    double time_limit_s;       /* of one run; 0 = not given */
    double memory_bytes;       /* of one region's data and its copies; 0 = not given */
    const char *strategy;      /* CTUNE_STRATEGY_TABLE's word; NULL = the default */
    const char *ablate;        /* "draft,descent": parts of the engine that are off; NULL = none */
    bool is_quiet;             /* nothing shows progress */
    bool is_timed;             /* each search ends by itself after budget_s */
    const ctune_model *global; /* trained model to start from; NULL = none */
    /* The program around. Path of the runner, and a private folder, made at the first call. */
    CTUNE_MUST_USE ctune_status (*find_runner)(ctune_ctx *ctx, char *out, size_t size);
    CTUNE_MUST_USE ctune_status (*make_folder)(ctune_ctx *ctx);
    const char *(*folder)(void);
    int (*stopped)(void); /* not 0: somebody asked to stop */
    /* user is a ctune_progress; false: stop. */
    bool (*show)(void *user, int n_trials, double best_ns, double original_ns);
    void (*end_show)(ctune_progress *progress);
} ctune_session;

/* id, word, what the time of a search goes into. */
#define CTUNE_PART_TABLE(X)                                                                        \
    X(ORIGINAL, "original", "the original: compiled and measured")                                 \
    X(SPACE, "space", "dependences, search space, what the history knows")                         \
    X(MODEL, "model", "choosing candidates")                                                       \
    X(CODE, "code", "making the candidates' C")                                                    \
    X(COMPILE, "compile", "waiting for the compiler")                                              \
    X(RUN, "run", "running candidates")                                                            \
    X(FINAL, "final", "finalists against the original")                                            \
    X(VERIFY, "verify", "the winner at other sizes and in the user's file")

typedef enum ctune_part {
#define X(id, word, help) CTUNE_PART_##id,
    CTUNE_PART_TABLE(X)
#undef X
        CTUNE_N_PARTS
} ctune_part;
const char *ctune_part_word(ctune_part part);

/* Is the word, n bytes, in a list "a,b,c"? NULL: an empty list. */
bool ctune_list_has(const char *list, const char *word, size_t n);

/* ---- bench: a runner with the original of one sized region measured ------------------------- */
struct ctune_scale;

typedef struct ctune_bench {
    const ctune_session *session;
    const ctune_source *source;
    const ctune_region *region; /* sized */
    ctune_program *program;
    ctune_runner *runner;
    ctune_rounding rounding; /* of the original's products in the user's compile */
    ctune_emit_options emit; /* of candidates and the original */
    ctune_text prelude;
    ctune_run_workload workload;
    double original_ns;
    const struct ctune_scale *scale; /* NULL: measured at the sizes asked for; borrowed */
    double compile_s;                /* the compiler took for the original */
    int64_t deadline_ns; /* of measuring candidates, on the clock of ctune_now_ns; 0 = none */
} ctune_bench;

CTUNE_MUST_USE ctune_status ctune_bench_create(ctune_ctx *ctx, const ctune_session *session,
                                               const ctune_source *source, const ctune_sized *sized,
                                               ctune_bench *out);
void ctune_bench_destroy(ctune_bench *bench);
/* Text of one candidate from a schedule's text. */
CTUNE_MUST_USE ctune_status ctune_bench_emit(ctune_ctx *ctx, const ctune_bench *bench,
                                             const char *schedule, const char *name,
                                             ctune_text *out);
/* The workload file's view of a region: shapes, sizes. EREFUSED when the data would be too large
 * (of shape: for 64 bits). */
CTUNE_MUST_USE ctune_status ctune_workload_shape(ctune_ctx *ctx, const ctune_region *region,
                                                 const int64_t *params, ctune_run_workload *out);
CTUNE_MUST_USE ctune_status ctune_workload_make(ctune_ctx *ctx, const ctune_region *region,
                                                const int64_t *params, ctune_run_workload *out);
/* Floating-point operations of one run, 0 when not countable; *terms receives the longest
 * reduction. */
double ctune_flops_count(ctune_ctx *ctx, const ctune_region *region, double *terms);

/* ---- outcome: what came of one search -------------------------------------------------------- */
typedef struct ctune_outcome {
    const char *file;
    int line;
    const char *region;
    char sizes[256];
    char measured[256];           /* sizes of the search where these are others; "" = the same */
    const char *scaled_by;        /* why they are others, static text */
    bool is_whole;                /* the winner has run at `sizes`, too: the times are from there */
    double original_ns, tuned_ns; /* medians of the final, equal when the original stays */
    double flops;                 /* per run, 0 = not countable */
    int n_trials, n_failed, n_known;
    int n_slow;        /* of n_failed: stopped, being slower than was worth the time */
    int n_new;         /* candidates that were run or compiled in this search */
    int n_bad;         /* of n_new: did not compile, crashed, wrong; slow ones are none of these */
    char failure[224]; /* of the first bad one: "compile-error: ..."; "" = none */
    double seconds;
    double budget_s;              /* that was given; 0 = none */
    double part_s[CTUNE_N_PARTS]; /* of seconds */
    int agreement;                /* a ctune_agreement (verify.h), of the tuned code */
    char evidence[160];  /* what is known about contraction where results are not identical */
    char verified[320];  /* the lock's line about it; "" = not verified */
    bool is_original;    /* the original stays */
    bool is_predicted;   /* by the model, nothing was measured */
    bool is_stopped;     /* by a signal: nothing was decided */
    char *schedule;      /* owned; "" = original */
    double incumbent_ns; /* median of the lock's entry in the final, 0 = there was none */
    double model_share;  /* of the search's time that went into the model, 0 to 1 */
    double model_accuracy, estimate_accuracy; /* see ctune_engine_result; NaN: no evidence */
    const char *end;                          /* why the search ended, static text */
} ctune_outcome;

#endif
