/*
 * ctune tune: search each annotated region of each file; winners to the lock as soon as they are
 * known.
 *
 * One nest: it gets the budget. Several: all searches are open at once (in groups), and slices of
 * time go to the nest whose weighted time promises to fall fastest (search/engine/tasks.h); the
 * whole takes as long as one after another would. A region that is refused or cannot be measured
 * does not stop the others; a broken environment does.
 */
#include "plugin/tool/profile.h"
#include "plugin/tool/tune.h"

#include <stdlib.h>
#include <string.h>

static void print_refused_json(const ctune_source *source, int i_region) {
    const ctune_unit_region *r = &source->unit->regions[i_region];
    if (!r->pragma.off) { /* the diagnostic has the reason; this names the place for machines */
        printf("{\"file\":\"%s\",\"line\":%d,\"status\":\"refused\"}\n", source->base,
               r->pragma.line);
    }
}

/* ---- sources and nests ----------------------------------------------------------------------- */
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
    if (ctune_history_facts_set(ctx, history, source->key, &source->target) != CTUNE_OK) {
        ctune_diag_send(ctx, &(ctune_diag){.severity = CTUNE_WARNING,
                                           .file = source->history_path,
                                           .code = "no-facts",
                                           .text = ctx->error});
    }
    return history;
}

static ctune_status add_nest(ctune_ctx *ctx, ctune_tune *t, const ctune_tune_nest *nest) {
    if (t->n_nests == t->size_nests) {
        int size = t->size_nests > 0 ? 2 * t->size_nests : 16;
        ctune_tune_nest *grown = realloc(t->nests, (size_t)size * sizeof *grown);
        if (grown == NULL) {
            return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
        }
        t->nests = grown;
        t->size_nests = size;
    }
    t->nests[t->n_nests++] = *nest;
    return CTUNE_OK;
}

/* Recorded sizes, each with the weight of its calls; else those of the pragma. */
static ctune_status add_region(ctune_ctx *ctx, ctune_tune *t, const ctune_profile *profile,
                               int i_file, int i_region) {
    const ctune_source *source = &t->files[i_file].source;
    const ctune_region *region = source->unit->regions[i_region].region;
    const double weight = region->weight > 0 ? region->weight : 1;
    ctune_profile_sizes recorded;
    ctune_profile_use(ctx, profile, source, region, &recorded);
    int n = recorded.n > 0 ? recorded.n : ctune_sized_count(region);
    ctune_status status = CTUNE_OK;
    for (int i = 0; i < n && status == CTUNE_OK; i++) {
        ctune_tune_nest nest = {
            .i_file = i_file, .i_region = i_region, .which = i, .region = region, .weight = weight};
        if (recorded.n > 0) {
            nest.which = 0;
            nest.region = ctune_region_at(region, recorded.size[i].params);
            nest.weight = weight * recorded.size[i].calls;
        }
        status = nest.region != NULL ? add_nest(ctx, t, &nest)
                                     : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    return status;
}

static ctune_status add_file(ctune_ctx *ctx, ctune_tune *t, const char *name) {
    const ctune_options *options = t->options;
    int i_file = t->n_files++, n_wanted = 0;
    ctune_tune_file *file = &t->files[i_file];
    const ctune_source *source = &file->source;
    ctune_profile profile;
    ctune_status status = ctune_source_open(ctx, options, name, &file->source);
    if (status == CTUNE_OK && source->unit->n_regions > 0) { /* not after the search */
        status = ctune_lock_check(ctx, source->lock_path, source->base);
    }
    if (status == CTUNE_OK) {
        status = ctune_profile_open(ctx, options, name, &profile);
        if (status != CTUNE_OK) {
            ctune_profile_clear(&profile);
        }
    }
    t->code = ctune_exit_worse(t->code, ctune_report(ctx, status));
    if (status != CTUNE_OK) {
        return status == CTUNE_ENOMEM ? status : CTUNE_OK;
    }
    for (int i = 0; i < source->unit->n_regions && status == CTUNE_OK; i++) {
        const ctune_unit_region *r = &source->unit->regions[i];
        if (r->region == NULL) {
            t->code = ctune_exit_worse(t->code, r->pragma.off ? CTUNE_EXIT_OK : CTUNE_EXIT_REFUSED);
            if (options->json) {
                print_refused_json(source, i);
            }
        } else if (ctune_region_is_wanted(options, r->region)) {
            n_wanted++;
            status = options->sizes != NULL ? ctune_region_set_sizes(ctx, options->sizes, r->region)
                                            : CTUNE_OK;
            if (status == CTUNE_OK) {
                status = add_region(ctx, t, &profile, i_file, i);
            }
        }
    }
    ctune_profile_clear(&profile);
    if (source->unit->n_regions == 0) {
        fprintf(stderr, "ctune: note: no `#pragma tune` in %s\n", name);
    } else if (n_wanted == 0 && options->region != NULL) {
        fprintf(stderr, "ctune: error: no region '%s' in %s\n", options->region, name);
        t->code = ctune_exit_worse(t->code, CTUNE_EXIT_USAGE);
    } else if (n_wanted > 0 && !options->predict) {
        file->history = open_history(ctx, source);
    }
    return status;
}

/* ---- results --------------------------------------------------------------------------------- */
/* The lock was writable when the search began; now it is not, and hours may be in the entry. */
static void print_entry(const ctune_source *source, const ctune_lock_entry *entry) {
    ctune_ctx ctx;
    ctune_lock lock;
    ctune_text text;
    ctune_ctx_init(&ctx);
    ctune_lock_init(&lock);
    ctune_text_init(&text);
    if (ctune_lock_set(&ctx, &lock, entry) == CTUNE_OK) {
        ctune_lock_print(&lock, &text);
        fprintf(stderr, "ctune: note: this belongs into %s:\n%s", source->lock_path,
                ctune_text_get(&text));
    }
    ctune_text_clear(&text);
    ctune_lock_clear(&lock);
}

/* is_last: the search is over, what cannot be written is printed. */
static ctune_status write_entry(ctune_ctx *ctx, const ctune_source *source,
                                const ctune_region *region, const ctune_outcome *o, bool is_last) {
    ctune_lock_entry entry = {.region = (char *)region->name,
                              .source = (char *)source->base,
                              .target = (char *)source->key,
                              .workload = ctune_workload_key(region, NULL),
                              .sizes = (char *)o->sizes,
                              .schedule = o->schedule,
                              .speedup = o->tuned_ns > 0 ? o->original_ns / o->tuned_ns : 1,
                              .tuned_ns = o->tuned_ns,
                              .verified = (char *)(uintptr_t)o->verified};
    ctune_status status = ctune_lock_update(ctx, source->lock_path, &entry, 1);
    if (status != CTUNE_OK && is_last) {
        print_entry(source, &entry);
    }
    return status;
}

/* All candidates failed: an error. More than half: a warning. */
static ctune_status check_failures(ctune_ctx *ctx, const ctune_source *source,
                                   const ctune_region *region, const ctune_outcome *o) {
    char text[512];
    if (o->n_new > 0 && o->n_bad == o->n_new && o->n_known == 0 && o->is_original) {
        return ctune_fail(ctx, CTUNE_EENV, "region %s: all %d candidates failed; the first: %s",
                          region->name, o->n_new, o->failure);
    }
    if (2 * o->n_bad > o->n_new) {
        snprintf(text, sizeof text, "%s: %d of %d candidates failed; the first: %s", region->name,
                 o->n_bad, o->n_new, o->failure);
        ctune_diag_send(ctx, &(ctune_diag){.severity = CTUNE_WARNING,
                                           .file = source->file,
                                           .line = region->line,
                                           .col = 1,
                                           .code = "candidates-failed",
                                           .text = text});
    }
    return CTUNE_OK;
}

ctune_status ctune_tune_report(ctune_ctx *ctx, const ctune_tune *t, const ctune_tune_nest *nest,
                               const ctune_outcome *outcome) {
    const ctune_source *source = &t->files[nest->i_file].source;
    const ctune_region *region = source->unit->regions[nest->i_region].region;
    if (outcome->is_stopped) {
        fprintf(stderr, "ctune: stopped; what was measured is in %s\n", source->history_path);
        return CTUNE_OK;
    }
    if (outcome->n_trials + outcome->n_known == 0) { /* nothing was learned: nothing is decided */
        return ctune_fail(ctx, CTUNE_EREFUSED,
                          "region %s: no candidate was measured: there was no time; give a larger "
                          "--budget",
                          region->name);
    }
    ctune_status status = check_failures(ctx, source, region, outcome);
    if (status != CTUNE_OK) {
        return status;
    }
    status = write_entry(ctx, source, region, outcome, true);
    if (t->options->json) {
        ctune_outcome_print_json(outcome, source, stdout);
    } else {
        ctune_outcome_print(outcome, status == CTUNE_OK ? source->lock_path : "not written",
                            stdout);
        fflush(stdout);
    }
    return status;
}

ctune_status ctune_tune_keep(ctune_ctx *ctx, const ctune_tune *t, const ctune_tune_nest *nest,
                             const ctune_outcome *outcome) {
    const ctune_source *source = &t->files[nest->i_file].source;
    const ctune_region *region = source->unit->regions[nest->i_region].region;
    ctune_status status = write_entry(ctx, source, region, outcome, false);
    if (status == CTUNE_EENV) { /* no reason to end the search; at its end the lock may be back */
        ctx->error[0] = '\0';
        status = CTUNE_OK;
    }
    return status;
}

void ctune_tune_fail(ctune_ctx *ctx, ctune_tune *t, const ctune_tune_nest *nest,
                     ctune_status status) {
    const ctune_source *source = &t->files[nest->i_file].source;
    if (status == CTUNE_EREFUSED) {
        ctune_diag_send(ctx,
                        &(ctune_diag){.severity = CTUNE_WARNING, /* --quiet, too, says why */
                                      .file = source->file,
                                      .line = source->unit->regions[nest->i_region].region->line,
                                      .col = 1,
                                      .code = "not-tuned",
                                      .text = ctx->error,
                                      .hint = t->options->sizes != NULL
                                                  ? "do the arrays have room for these --sizes?"
                                                  : NULL});
    } else if (ctune_signal_get() == 0) {
        ctune_report(ctx, status);
    }
    t->code = ctune_exit_worse(t->code, ctune_exit_code(status));
}

/* ---- the model ------------------------------------------------------------------------------- */
/* Without one the search learns from itself alone: a note, no error, unless one was asked for. */
static ctune_status open_model(ctune_ctx *ctx, const ctune_options *options, ctune_model *out) {
    bool is_wanted =
        !options->no_transfer && ctune_strategy_learns(ctune_strategy_of(options->strategy));
    if (!is_wanted) {
        return CTUNE_OK;
    }
    ctune_status status = ctune_model_open(ctx, options->model, out);
    if (status == CTUNE_OK || status == CTUNE_ENOMEM || options->model != NULL) {
        return status;
    }
    ctune_diag_send(ctx, &(ctune_diag){.severity = CTUNE_NOTE,
                                       .code = "no-model",
                                       .text = ctx->error,
                                       .hint = "the search starts without a trained model"});
    return CTUNE_OK;
}

static void clear(ctune_tune *t) {
    for (int i = 0; i < t->n_files; i++) {
        if (t->files[i].history != NULL) {
            ctune_history_close(t->files[i].history);
        }
        ctune_source_close(&t->files[i].source);
    }
    free(t->files);
    free(t->nests);
}

int ctune_cmd_tune(ctune_ctx *ctx, const ctune_options *options) {
    if (options->n_words == 0) {
        ctune_fail(ctx, CTUNE_EUSAGE, "no file given; try `ctune tune --help`");
        return ctune_report(ctx, CTUNE_EUSAGE);
    }
    ctune_tune t = {.options = options, .session = ctune_session_make(options)};
    ctune_model global = {0}; /* destroy NULL: there is none */
    t.files = calloc((size_t)options->n_words, sizeof *t.files);
    ctune_status status =
        t.files != NULL ? CTUNE_OK : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    if (status == CTUNE_OK) {
        status = open_model(ctx, options, &global);
        t.session.global = global.destroy != NULL ? &global : NULL;
    }
    for (int i = 0; i < options->n_words && status == CTUNE_OK && ctune_signal_get() == 0; i++) {
        status = add_file(ctx, &t, options->words[i]);
    }
    if (status == CTUNE_OK) {
        status = ctune_tune_predict(ctx, &t);
    }
    if (status == CTUNE_OK && t.n_nests > 0) {
        status = ctune_tune_search(ctx, &t);
    }
    t.code = ctune_exit_worse(t.code, ctune_report(ctx, status));
    clear(&t);
    if (global.destroy != NULL) {
        global.destroy(global.self);
    }
    return t.code;
}
