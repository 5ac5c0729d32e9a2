/*
 * ctune tune: search each annotated region of each file; winners to the lock as soon as they are
 * known.
 *
 * A region that is refused or cannot be measured does not stop the others; a broken environment
 * does.
 */
#include "plugin/tool/tool.h"

#include <stdlib.h>
#include <string.h>

static void print_refused_json(const ctune_source *source, int i_region) {
    const ctune_unit_region *r = &source->unit->regions[i_region];
    if (!r->pragma.off) { /* the diagnostic has the reason; this names the place for machines */
        printf("{\"file\":\"%s\",\"line\":%d,\"status\":\"refused\"}\n", source->base,
               r->pragma.line);
    }
}

static ctune_status write_entry(ctune_ctx *ctx, const ctune_source *source,
                                const ctune_region *region, const ctune_outcome *o) {
    ctune_lock_entry entry = {.region = (char *)region->name,
                              .source = (char *)source->base,
                              .target = (char *)source->key,
                              .workload = ctune_workload_key(region, NULL),
                              .sizes = (char *)o->sizes,
                              .schedule = o->schedule,
                              .speedup = o->tuned_ns > 0 ? o->original_ns / o->tuned_ns : 1,
                              .tuned_ns = o->tuned_ns};
    return ctune_lock_update(ctx, source->lock_path, &entry, 1);
}

static ctune_status tune_sized(ctune_ctx *ctx, const ctune_options *options,
                               const ctune_source *source, const ctune_region *region, int which,
                               ctune_history *history) {
    ctune_outcome outcome;
    ctune_lock lock;
    ctune_lock_init(&lock);
    ctune_status status = ctune_lock_read(ctx, source->lock_path, &lock);
    if (status == CTUNE_OK) {
        status = ctune_search_run(ctx, options, source, region, which, history, &lock, &outcome);
        if (status == CTUNE_OK && !outcome.is_stopped) {
            status = write_entry(ctx, source, region, &outcome);
        }
        if (status == CTUNE_OK && !outcome.is_stopped) {
            if (options->json) {
                ctune_outcome_print_json(&outcome, source, stdout);
            } else {
                ctune_outcome_print(&outcome, source->lock_path, stdout);
                fflush(stdout);
            }
        }
        if (outcome.is_stopped) {
            fprintf(stderr, "ctune: stopped; what was measured is in %s\n", source->history_path);
        }
        free(outcome.schedule);
    }
    ctune_lock_clear(&lock);
    return status;
}

static int tune_region(ctune_ctx *ctx, const ctune_options *options, const ctune_source *source,
                       int i_region, ctune_history *history) {
    const ctune_region *region = source->unit->regions[i_region].region;
    int code = CTUNE_EXIT_OK, n_sizes = ctune_sized_count(region);
    for (int which = 0; which < n_sizes && ctune_signal_get() == 0; which++) {
        ctune_status status = tune_sized(ctx, options, source, region, which, history);
        if (status == CTUNE_EREFUSED) {
            ctune_diag_send(ctx, &(ctune_diag){.severity = CTUNE_REMARK,
                                               .file = source->file,
                                               .line = region->line,
                                               .code = "not-tuned",
                                               .text = ctx->error});
        } else if (ctune_signal_get() == 0) {
            ctune_report(ctx, status);
        }
        code = ctune_exit_worse(code, ctune_exit_code(status));
    }
    return code;
}

static ctune_history *open_history(ctune_ctx *ctx, const ctune_source *source) {
    ctune_history *history = NULL;
    if (ctune_history_open(ctx, source->history_path, &history) != CTUNE_OK) {
        ctune_diag_send(
            ctx, &(ctune_diag){.severity = CTUNE_WARNING,
                               .file = source->history_path,
                               .code = "no-history",
                               .text = ctx->error,
                               .hint = "tuning goes on without it; --history names another place"});
        return NULL;
    }
    return history;
}

static int tune_file(ctune_ctx *ctx, const ctune_options *options, const char *file) {
    ctune_source source;
    ctune_status status = ctune_source_open(ctx, options, file, &source);
    int code = ctune_report(ctx, status), n_wanted = 0;
    ctune_history *history = status == CTUNE_OK ? open_history(ctx, &source) : NULL;
    for (int i = 0; status == CTUNE_OK && i < source.unit->n_regions && ctune_signal_get() == 0;
         i++) {
        const ctune_unit_region *r = &source.unit->regions[i];
        if (r->region == NULL) {
            code = ctune_exit_worse(code, r->pragma.off ? CTUNE_EXIT_OK : CTUNE_EXIT_REFUSED);
            if (options->json) {
                print_refused_json(&source, i);
            }
        } else if (ctune_region_is_wanted(options, r->region)) {
            n_wanted++;
            code = ctune_exit_worse(code, tune_region(ctx, options, &source, i, history));
        }
    }
    if (status == CTUNE_OK && source.unit->n_regions == 0) {
        fprintf(stderr, "ctune: note: no `#pragma tune` in %s\n", file);
    } else if (status == CTUNE_OK && n_wanted == 0 && options->region != NULL) {
        fprintf(stderr, "ctune: error: no region '%s' in %s\n", options->region, file);
        code = ctune_exit_worse(code, CTUNE_EXIT_USAGE);
    }
    if (history != NULL) {
        ctune_history_close(history);
    }
    ctune_source_close(&source);
    return code;
}

int ctune_cmd_tune(ctune_ctx *ctx, const ctune_options *options) {
    if (options->n_words == 0) {
        ctune_fail(ctx, CTUNE_EUSAGE, "no file given; try `ctune tune --help`");
        return ctune_report(ctx, CTUNE_EUSAGE);
    }
    int code = CTUNE_EXIT_OK;
    for (int i = 0; i < options->n_words && ctune_signal_get() == 0; i++) {
        code = ctune_exit_worse(code, tune_file(ctx, options, options->words[i]));
    }
    return code;
}
