/*
 * ctune tune --predict: the model's choice for each nest, nothing measured.
 *
 * The entry in the lock has no times: `ctune check` still compares its results with the original's,
 * and a later search starts from the same model and replaces it. An entry that was measured stays.
 */
#include "plugin/tool/tune.h"

#include <stdlib.h>
#include <string.h>

static ctune_status predict(ctune_ctx *ctx, const ctune_tune *t, const ctune_tune_nest *nest,
                            ctune_text *schedule, char *sizes, size_t size) {
    const ctune_source *source = &t->files[nest->i_file].source;
    ctune_sized sized;
    ctune_program *program = NULL;
    ctune_status status = ctune_sized_get(ctx, nest->region, nest->which, &sized);
    if (status == CTUNE_OK) {
        snprintf(sizes, size, "%s", sized.text);
        status = ctune_program_create(ctx, &sized.region, &program);
    }
    if (status == CTUNE_OK) {
        status = ctune_predict_schedule(ctx, (void *)(uintptr_t)t->session.global, source, program,
                                        schedule);
    }
    if (program != NULL) {
        ctune_program_destroy(program);
    }
    return status;
}

static void print(const ctune_tune *t, const ctune_source *source, const ctune_region *region,
                  const char *sizes, const char *schedule, double seconds) {
    if (t->options->json) {
        ctune_outcome outcome = {.file = source->file,
                                 .line = region->line,
                                 .region = region->name,
                                 .is_original = schedule[0] == '\0',
                                 .is_predicted = true,
                                 .seconds = seconds,
                                 .schedule = (char *)(uintptr_t)schedule};
        snprintf(outcome.sizes, sizeof outcome.sizes, "%s", sizes);
        ctune_outcome_print_json(&outcome, source, stdout);
        return;
    }
    printf("%s:%d: %s%s%s%s\n", source->file, region->line, region->name,
           sizes[0] != '\0' ? " [" : "", sizes, sizes[0] != '\0' ? "]" : "");
    printf("  predicted  %s in %.0f ms, not measured\n",
           schedule[0] != '\0' ? "a schedule" : "the original is best", 1e3 * seconds);
    printf("  %-9s %s\n", "lock", source->lock_path);
}

/* Does the lock have a measured entry for the nest as it is? */
static ctune_status find_measured(ctune_ctx *ctx, const ctune_source *source,
                                  const ctune_region *region, const char *sizes, bool *found) {
    ctune_lock lock;
    ctune_lock_init(&lock);
    ctune_status status = ctune_lock_read(ctx, source->lock_path, &lock);
    const ctune_lock_entry *entry =
        ctune_lock_find(&lock, source->base, region->name, source->key, sizes);
    *found =
        entry != NULL && entry->tuned_ns > 0 && entry->workload == ctune_workload_key(region, NULL);
    ctune_lock_clear(&lock);
    return status;
}

static ctune_status run_nest(ctune_ctx *ctx, const ctune_tune *t, const ctune_tune_nest *nest) {
    const ctune_source *source = &t->files[nest->i_file].source;
    const ctune_region *region = source->unit->regions[nest->i_region].region;
    char sizes[256] = "";
    int64_t start_ns = ctune_now_ns();
    ctune_text schedule;
    ctune_text_init(&schedule);
    ctune_status status = predict(ctx, t, nest, &schedule, sizes, sizeof sizes);
    if (status == CTUNE_OK) {
        const char *text = ctune_text_get(&schedule);
        ctune_lock_entry entry = {.region = (char *)region->name,
                                  .source = (char *)(uintptr_t)source->base,
                                  .target = (char *)(uintptr_t)source->key,
                                  .workload = ctune_workload_key(region, NULL),
                                  .sizes = sizes,
                                  .schedule = (char *)(uintptr_t)text};
        double seconds = (double)(ctune_now_ns() - start_ns) * 1e-9;
        bool is_measured = false;
        status = find_measured(ctx, source, region, sizes, &is_measured);
        if (status == CTUNE_OK && !is_measured) {
            status = ctune_lock_update(ctx, source->lock_path, &entry, 1);
        }
        if (status == CTUNE_OK) {
            print(t, source, region, sizes, text, seconds);
        }
        if (status == CTUNE_OK && is_measured) {
            ctune_diag_send(ctx, &(ctune_diag){.severity = CTUNE_REMARK,
                                               .file = source->file,
                                               .line = region->line,
                                               .code = "measured-stays",
                                               .text = "the lock has a measured entry: it stays"});
        }
    }
    ctune_text_clear(&schedule);
    return status;
}

ctune_status ctune_tune_predict(ctune_ctx *ctx, ctune_tune *t) {
    int n_left = 0;
    for (int i = 0; i < t->n_nests && ctune_signal_get() == 0; i++) {
        if (!t->options->predict && t->nests[i].region->gpu == 0) {
            t->nests[n_left++] = t->nests[i];
            continue;
        }
        ctune_status status = run_nest(ctx, t, &t->nests[i]);
        if (status != CTUNE_OK) {
            ctune_tune_fail(ctx, t, &t->nests[i], status);
        }
    }
    t->n_nests = n_left;
    return CTUNE_OK;
}
