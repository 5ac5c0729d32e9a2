/*
 * ctune check: are the lock's entries for these files fresh, and do they give the original's
 * results?
 *
 * Each fresh entry with a schedule is timed once against the original and verified (verify.h): at
 * many sizes, in the user's own file. One line an entry.
 */
#include "plugin/record/profile.h"
#include "plugin/session/verify.h"
#include "plugin/tool/tool.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ENTRIES = 64 };

typedef struct check_job {
    const ctune_options *options;
    ctune_source source;
    ctune_lock lock;
    int code;
} check_job;

/* One verdict line. speedup 0 = not measured. */
static void print_verdict(const check_job *j, int line, const char *region, const char *sizes,
                          const char *verdict, double speedup) {
    if (j->options->json) {
        printf("{\"file\":\"%s\",\"line\":%d,\"region\":\"%s\",\"sizes\":\"%s\",\"verdict\":\"%s\","
               "\"speedup\":%.3f}\n",
               j->source.base, line, region, sizes, verdict, speedup);
        return;
    }
    printf("%s:%d: %s%s%s%s: %s", j->source.file, line, region, sizes[0] != '\0' ? " [" : "", sizes,
           sizes[0] != '\0' ? "]" : "", verdict);
    if (speedup > 0) {
        printf(", %.2fx now", speedup);
    }
    putchar('\n');
}

/* The sizes that the entry was tuned for, whether the clause lists them or not; the clause's first
 * when they are not the region's. */
static ctune_status sized_of(ctune_ctx *ctx, const ctune_region *region,
                             const ctune_lock_entry *entry, ctune_sized *out) {
    int64_t params[CTUNE_RUN_MAX_PARAMS];
    if (region->n_params <= CTUNE_RUN_MAX_PARAMS &&
        ctune_sizes_read(entry->sizes, region, params)) {
        region = ctune_region_at(region, params);
    }
    return region != NULL ? ctune_sized_get(ctx, region, 0, out)
                          : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
}

static ctune_status time_entry(ctune_ctx *ctx, const ctune_bench *bench,
                               const ctune_lock_entry *entry, ctune_run_result *result) {
    ctune_text unit;
    ctune_text_init(&unit);
    ctune_status status = ctune_bench_emit(ctx, bench, entry->schedule, "ctune_entry", &unit);
    if (status == CTUNE_OK) {
        const char *units[] = {ctune_text_get(&unit)}, *names[] = {"ctune_entry"};
        status = ctune_runner_submit(ctx, bench->runner, ctune_text_get(&bench->prelude), units,
                                     names, 1);
    }
    if (status == CTUNE_OK) {
        status = ctune_runner_collect(ctx, bench->runner, 0, result, 1);
    }
    ctune_text_clear(&unit);
    return status;
}

static ctune_status verify_entry(ctune_ctx *ctx, const ctune_bench *bench,
                                 const ctune_lock_entry *entry, ctune_verdict *verdict) {
    ctune_verifier verifier;
    ctune_status status = ctune_verifier_open(ctx, bench, &verifier);
    if (status == CTUNE_OK) {
        status = ctune_verify_run(ctx, &verifier, entry->schedule, verdict);
    }
    ctune_verifier_close(&verifier);
    return status;
}

static void print_result(check_job *j, const ctune_region *region, const ctune_lock_entry *entry,
                         const ctune_bench *bench, const ctune_run_result *timed,
                         const ctune_verdict *verdict) {
    bool is_run = timed->outcome == CTUNE_RUN_OK;
    int i_region = ctune_source_find(&j->source, region);
    bool is_strict = i_region >= 0 && j->source.unit->regions[i_region].pragma.strict;
    bool is_unlike = is_strict && verdict->agreement == CTUNE_AGREES_CONTRACTED;
    bool is_good = is_run && verdict->agreement != CTUNE_AGREES_WRONG && !is_unlike;
    char words[1024];
    if (is_good) {
        snprintf(words, sizeof words, "fresh, %s; compared with %s%s%s",
                 ctune_agreement_words(verdict->agreement), verdict->against,
                 verdict->sizes[0] != '\0' ? " at " : "", verdict->sizes);
    } else if (is_run && is_unlike) {
        snprintf(words, sizeof words, "fresh, strict, but %s",
                 ctune_agreement_words(verdict->agreement));
    } else if (is_run) {
        snprintf(words, sizeof words, "fresh, %s", verdict->detail);
    } else {
        snprintf(words, sizeof words, "fresh, %s%s%s", ctune_run_outcome_name(timed->outcome),
                 timed->detail[0] == '\0' ? "" : ": ", timed->detail);
    }
    print_verdict(j, region->line, region->name, entry->sizes, words,
                  is_good ? bench->original_ns / timed->median_ns : 0);
    j->code = ctune_exit_worse(j->code, is_good ? CTUNE_EXIT_OK : CTUNE_EXIT_REFUSED);
}

static ctune_status check_entry(ctune_ctx *ctx, check_job *j, const ctune_region *region,
                                const ctune_lock_entry *entry) {
    if (entry->schedule[0] == '\0' || j->options->no_run) {
        print_verdict(j, region->line, region->name, entry->sizes,
                      entry->schedule[0] == '\0' ? "fresh, the original is best" : "fresh", 0);
        return CTUNE_OK;
    }
    const ctune_session session = ctune_session_make(j->options);
    ctune_sized sized;
    ctune_bench bench = {0};
    ctune_run_result timed = {0};
    ctune_verdict verdict = {0};
    ctune_status status = sized_of(ctx, region, entry, &sized);
    if (status == CTUNE_OK) {
        status = ctune_bench_create(ctx, &session, &j->source, &sized, &bench);
    }
    if (status == CTUNE_OK) {
        status = time_entry(ctx, &bench, entry, &timed);
    }
    if (status == CTUNE_OK) {
        status = verify_entry(ctx, &bench, entry, &verdict);
    }
    if (status == CTUNE_OK) {
        print_result(j, region, entry, &bench, &timed, &verdict);
    }
    ctune_bench_destroy(&bench);
    return status;
}

static ctune_status check_region(ctune_ctx *ctx, check_job *j, const ctune_region *region) {
    const ctune_lock_entry *entries[MAX_ENTRIES];
    ctune_entry_state state;
    int n = ctune_entries_find(&j->lock, &j->source, region, ctune_options_policy(j->options),
                               entries, MAX_ENTRIES, &state);
    if (n == 0) {
        static const char *const verdicts[] = {
            [CTUNE_ENTRY_STALE] = "stale: the loop changed since it was tuned",
            [CTUNE_ENTRY_OTHER] = "tuned for another target only",
            [CTUNE_ENTRY_NONE] = "not tuned",
        };
        print_verdict(j, region->line, region->name, "", verdicts[state], 0);
        j->code = ctune_exit_worse(j->code,
                                   state == CTUNE_ENTRY_STALE ? CTUNE_EXIT_REFUSED : CTUNE_EXIT_OK);
    }
    ctune_status status = CTUNE_OK;
    for (int i = 0;
         i < n && (status == CTUNE_OK || status == CTUNE_EREFUSED) && ctune_signal_get() == 0;
         i++) {
        status = check_entry(ctx, j, region, entries[i]);
        if (status == CTUNE_EREFUSED || status == CTUNE_EUSAGE) {
            print_verdict(j, region->line, region->name, entries[i]->sizes, ctx->error, 0);
            j->code = ctune_exit_worse(j->code, CTUNE_EXIT_REFUSED);
        }
    }
    return status == CTUNE_EREFUSED || status == CTUNE_EUSAGE ? CTUNE_OK : status;
}

/* Entries whose region is gone from the file. */
static void check_orphans(check_job *j) {
    const ctune_unit *unit = j->source.unit;
    for (int i = 0; i < j->lock.n; i++) {
        const ctune_lock_entry *e = &j->lock.entry[i];
        bool is_there = strcmp(e->source, j->source.base) != 0;
        for (int k = 0; k < unit->n_regions && !is_there; k++) {
            is_there = unit->regions[k].region != NULL &&
                       strcmp(unit->regions[k].region->name, e->region) == 0;
        }
        if (!is_there) {
            print_verdict(j, 1, e->region, e->sizes, "stale: no such region in the file", 0);
            j->code = ctune_exit_worse(j->code, CTUNE_EXIT_REFUSED);
        }
    }
}

static int check_file(ctune_ctx *ctx, const ctune_options *options, const char *file) {
    check_job job = {.options = options};
    ctune_lock_init(&job.lock);
    ctune_status status = ctune_source_open(ctx, options, file, &job.source);
    if (status == CTUNE_OK) {
        status = ctune_lock_read(ctx, job.source.lock_path, &job.lock);
    }
    for (int i = 0; status == CTUNE_OK && i < job.source.unit->n_regions && ctune_signal_get() == 0;
         i++) {
        const ctune_region *region = job.source.unit->regions[i].region;
        if (region != NULL && ctune_region_is_wanted(options, region)) {
            status = check_region(ctx, &job, region);
        }
    }
    if (status == CTUNE_OK && options->region == NULL) {
        check_orphans(&job);
    }
    job.code = ctune_exit_worse(job.code, ctune_report(ctx, status));
    ctune_lock_clear(&job.lock);
    ctune_source_close(&job.source);
    return job.code;
}

int ctune_cmd_check(ctune_ctx *ctx, const ctune_options *options) {
    if (options->n_words == 0) {
        ctune_fail(ctx, CTUNE_EUSAGE, "no file given; try `ctune check --help`");
        return ctune_report(ctx, CTUNE_EUSAGE);
    }
    int code = CTUNE_EXIT_OK;
    for (int i = 0; i < options->n_words && ctune_signal_get() == 0; i++) {
        code = ctune_exit_worse(code, check_file(ctx, options, options->words[i]));
    }
    return code;
}
