/*
 * What becomes of one region.
 *
 * In: an extracted region, the lock, the mode. Out: the code in its place, or nothing, and a
 * diagnostic that says which and why. A region that cannot be emitted stays as the user wrote it:
 * not an error of the whole file.
 */
#include "plugin/transform/transform_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say(ctune_ctx *ctx, const ctune_transform *t, const ctune_region *region,
                ctune_severity severity, const char *code, const char *text, const char *hint) {
    ctune_diag_send(ctx, &(ctune_diag){.severity = severity,
                                       .file = t->source.file,
                                       .line = region->line,
                                       .code = code,
                                       .text = text,
                                       .hint = hint});
}

/* Remarks about what was done are for builds; the tool's user sees the text. */
static void say_done(ctune_ctx *ctx, const ctune_transform *t, const ctune_region *region,
                     const char *code, const char *format, double number) {
    char words[128], text[512];
    if (t->options->is_build && !t->is_done_muted) {
        snprintf(words, sizeof words, format, number);
        snprintf(text, sizeof text, "%s: %s", region->name, words);
        say(ctx, t, region, CTUNE_REMARK, code, text, NULL);
    }
}

/* Code of another target's entry was put in. */
static void say_foreign(ctune_ctx *ctx, const ctune_transform *t, const ctune_region *region,
                        const char *text) {
    if (t->options->is_build && !t->is_done_muted) {
        say(ctx, t, region, CTUNE_REMARK, "applied", text,
            "`ctune check --nearest` verifies and times it here");
    }
}

static void refuse(ctune_ctx *ctx, ctune_transform *t, ctune_transform_region *out,
                   const ctune_region *region, ctune_status status) {
    out->fate = CTUNE_FATE_REFUSED;
    say(ctx, t, region, CTUNE_WARNING, "not-applied", ctx->error,
        "the original loop stays; run `ctune tune` again");
    status = status == CTUNE_EUSAGE ? CTUNE_EREFUSED : status;
    t->worst = status > t->worst ? status : t->worst;
}

static ctune_status emit(ctune_ctx *ctx, ctune_transform *t, int i_region,
                         const ctune_lock_entry *const *entries, int n,
                         ctune_transform_region *out) {
    const ctune_region *region = t->source.unit->regions[i_region].region;
    ctune_program *program = NULL;
    ctune_status status = ctune_program_create(ctx, region, &program);
    if (status == CTUNE_OK) {
        status = ctune_variants_emit(ctx, &t->source, i_region, program, entries, n, &out->body);
    }
    if (program != NULL) {
        ctune_program_destroy(program);
    }
    return status;
}

/* `strict` was written after the entries were made: their results are not the original's bits. */
static bool breaks_strict(const ctune_transform *t, int i_region,
                          const ctune_lock_entry *const *entries, int n) {
    bool is_broken = false;
    for (int i = 0; i < n && t->source.unit->regions[i_region].pragma.strict; i++) {
        is_broken |= entries[i]->verified != NULL &&
                     strstr(entries[i]->verified, "but for contraction") != NULL;
    }
    return is_broken;
}

/* ---- the lock, or a clause ------------------------------------------------------------------ */
static bool is_all_original(const ctune_lock_entry *const *entries, int n) {
    for (int i = 0; i < n; i++) {
        if (entries[i]->schedule[0] != '\0') {
            return false;
        }
    }
    return true;
}

static double best_speedup(const ctune_lock_entry *const *entries, int n) {
    double best = 0;
    for (int i = 0; i < n; i++) {
        best = entries[i]->speedup > best ? entries[i]->speedup : best;
    }
    return best;
}

static ctune_status use_entries(ctune_ctx *ctx, ctune_transform *t, int i_region,
                                const ctune_lock_entry *const *entries, int n,
                                ctune_transform_region *out) {
    const ctune_region *region = t->source.unit->regions[i_region].region;
    ctune_status status = CTUNE_OK;
    if (!is_all_original(entries, n)) {
        status = emit(ctx, t, i_region, entries, n, out);
    }
    if (status == CTUNE_ENOMEM) {
        return status;
    }
    if (status != CTUNE_OK) {
        refuse(ctx, t, out, region, status);
        return CTUNE_OK;
    }
    out->fate = out->body != NULL ? CTUNE_FATE_APPLIED : CTUNE_FATE_ORIGINAL;
    out->n_variants = out->body != NULL ? n : 0;
    double speedup = best_speedup(entries, n);
    if (out->body == NULL) {
        say_done(ctx, t, region, "original-best", "the original loop is the fastest", 0);
    } else if (speedup > 0 && strcmp(entries[0]->target, t->source.key) != 0) {
        char text[400];
        snprintf(text, sizeof text,
                 "%s: tuned code applied, %.2fx when it was tuned for another target (%s)",
                 region->name, speedup, entries[0]->target);
        say_foreign(ctx, t, region, text);
    } else if (speedup > 0) {
        say_done(ctx, t, region, "applied", "tuned code applied, %.2fx when it was tuned", speedup);
    } else {
        const char *text = region->schedule != NULL ? "the clause's schedule applied"
                                                    : "the schedule applied that a model predicted";
        say_done(ctx, t, region, "applied", text, 0);
    }
    return CTUNE_OK;
}

/* ---- the model ------------------------------------------------------------------------------ */
static ctune_status ask_model(ctune_ctx *ctx, const ctune_transform *t, const ctune_region *region,
                              ctune_text *schedule) {
    ctune_sized sized;
    ctune_program *program = NULL;
    ctune_status status = ctune_sized_get(ctx, region, 0, &sized);
    if (status == CTUNE_OK) {
        status = ctune_program_create(ctx, &sized.region, &program);
    }
    if (status == CTUNE_OK) {
        status = t->options->predict(ctx, t->options->predict_user, &t->source, program, schedule);
    }
    if (program != NULL) {
        ctune_program_destroy(program);
    }
    return status == CTUNE_OK && schedule->failed ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory")
                                                  : status;
}

/* The last -O decides; none means -O0. */
static bool is_optimised(const ctune_flags *flags) {
    const char *level = "0";
    for (int i = 0; i < flags->n_run; i++) {
        level = strncmp(flags->run[i], "-O", 2) == 0 ? flags->run[i] + 2 : level;
    }
    return strcmp(level, "0") != 0 && strcmp(level, "g") != 0;
}

static ctune_status predict(ctune_ctx *ctx, ctune_transform *t, int i_region,
                            ctune_transform_region *out) {
    const ctune_region *region = t->source.unit->regions[i_region].region;
    if (!is_optimised(&t->source.flags)) {
        say(ctx, t, region, CTUNE_REMARK, "no-prediction",
            "the compile does not optimise: the original loop stays", "compile with -O2");
        return CTUNE_OK;
    }
    ctune_text schedule;
    ctune_text_init(&schedule);
    ctune_status status = ask_model(ctx, t, region, &schedule);
    ctune_lock_entry entry = {.schedule = (char *)ctune_text_get(&schedule), .sizes = ""};
    const ctune_lock_entry *entries[] = {&entry};
    if (status == CTUNE_OK && entry.schedule[0] != '\0') {
        status = emit(ctx, t, i_region, entries, 1, out);
    }
    ctune_text_clear(&schedule);
    out->is_predicted = status == CTUNE_OK;
    if (status == CTUNE_OK) {
        out->fate = out->body != NULL ? CTUNE_FATE_APPLIED : CTUNE_FATE_ORIGINAL;
        out->n_variants = out->body != NULL;
        say_done(ctx, t, region, "predicted",
                 out->body != NULL ? "the cost model's schedule applied, not measured"
                                   : "the cost model leaves the original loop",
                 0);
    } else if (status == CTUNE_EREFUSED) {
        out->fate = CTUNE_FATE_UNTUNED;
        say(ctx, t, region, CTUNE_REMARK, "no-prediction", ctx->error, "run `ctune tune`");
    } else if (status != CTUNE_ENOMEM) {
        refuse(ctx, t, out, region, status);
    }
    return status == CTUNE_ENOMEM ? status : CTUNE_OK;
}

static ctune_status use_lock(ctune_ctx *ctx, ctune_transform *t, int i_region,
                             ctune_transform_region *out) {
    const ctune_region *region = t->source.unit->regions[i_region].region;
    const ctune_lock_entry *entries[CTUNE_MAX_VARIANTS];
    ctune_lock_entry fixed = {.schedule = (char *)region->schedule, .sizes = ""};
    ctune_entry_state state = CTUNE_ENTRY_NONE;
    ctune_entry_policy policy = t->options->any_target       ? CTUNE_ENTRIES_ANY
                                : t->options->nearest_target ? CTUNE_ENTRIES_NEAREST
                                                             : CTUNE_ENTRIES_EXACT;
    if (region->schedule != NULL) {
        entries[0] = &fixed; /* a schedule("...") clause needs no lock */
        return use_entries(ctx, t, i_region, entries, 1, out);
    }
    int n = 0;
    if (t->source.key[0] != '\0') { /* else there is nothing to look for */
        n = ctune_entries_find(&t->lock, &t->source, region, policy, entries, CTUNE_MAX_VARIANTS,
                               &state);
    }
    if (n > 0 && breaks_strict(t, i_region, entries, n)) {
        ctune_fail(ctx, CTUNE_EREFUSED,
                   "%s: strict, but the entry's results are identical but for contraction only",
                   region->name);
        refuse(ctx, t, out, region, CTUNE_EREFUSED);
        return CTUNE_OK;
    }
    if (n > 0) {
        return use_entries(ctx, t, i_region, entries, n, out);
    }
    t->n_other += state == CTUNE_ENTRY_OTHER;
    if (state == CTUNE_ENTRY_STALE) {
        out->fate = CTUNE_FATE_STALE;
        t->worst = t->worst > CTUNE_EREFUSED ? t->worst : CTUNE_EREFUSED;
    }
    bool wants_model = t->options->mode == CTUNE_TRANSFORM_PREDICT;
    if (state == CTUNE_ENTRY_STALE || !wants_model) {
        ctune_entries_report(ctx, &t->source, region, state, !t->options->is_build);
    }
    if (wants_model && t->options->predict == NULL) {
        say(ctx, t, region, CTUNE_REMARK, "no-predictor",
            "no cost model here: mode=predict is mode=lock", "run `ctune tune`");
    } else if (wants_model) {
        return predict(ctx, t, i_region, out);
    }
    return CTUNE_OK;
}

/* ---- recording ------------------------------------------------------------------------------ */
static ctune_status record(ctune_ctx *ctx, ctune_transform *t, int i_region,
                           ctune_transform_region *out) {
    const ctune_region *region = t->source.unit->regions[i_region].region;
    const char *original = ctune_source_original(&t->source, i_region);
    ctune_text body;
    ctune_text_init(&body);
    ctune_status status = original == NULL ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory")
                          : t->options->record == NULL
                              ? CTUNE_OK
                              : t->options->record(ctx, t->options->record_user, &t->source,
                                                   i_region, original, &body);
    if (status == CTUNE_OK && body.len > 0) {
        out->body = strdup(ctune_text_get(&body));
        status = out->body != NULL && !body.failed ? CTUNE_OK
                                                   : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    ctune_text_clear(&body);
    if (status == CTUNE_OK && out->body != NULL) {
        out->fate = CTUNE_FATE_RECORDED;
        say_done(ctx, t, region, "recorded", "its sizes are recorded when it runs", 0);
    } else if (status != CTUNE_OK && status != CTUNE_ENOMEM) {
        refuse(ctx, t, out, region, status);
    }
    return status == CTUNE_ENOMEM ? status : CTUNE_OK;
}

static void report_obstacle(ctune_ctx *ctx, ctune_transform *t, const ctune_region *region,
                            ctune_transform_region *out) {
    static const struct {
        ctune_severity severity;
        const char *code, *words, *hint;
    } rows[] = {
#define X(id, severity, code, words, hint) {severity, code, words, hint},
        CTUNE_OBSTACLE_TABLE(X)
#undef X
    };
    out->fate = CTUNE_FATE_REFUSED;
    t->worst = t->worst > CTUNE_EREFUSED ? t->worst : CTUNE_EREFUSED;
    say(ctx, t, region, rows[t->obstacle].severity, rows[t->obstacle].code, rows[t->obstacle].words,
        rows[t->obstacle].hint);
}

/* ---- what the compiler did not take --------------------------------------------------------- */
static bool is_region_line(const ctune_unit *unit, int line) {
    for (int i = 0; i < unit->n_regions; i++) {
        if (unit->regions[i].pragma.line == line) {
            return true;
        }
    }
    return false;
}

/* NULL: nothing is known against the region's tuned code. */
static const ctune_transform_failure *find_failure(const ctune_transform *t, int i_region) {
    const ctune_unit *unit = t->source.unit;
    for (int i = 0; i < t->options->n_failures; i++) {
        const ctune_transform_failure *f = &t->options->failures[i];
        if (f->line == unit->regions[i_region].pragma.line || !is_region_line(unit, f->line)) {
            return f;
        }
    }
    return NULL;
}

static void report_failure(ctune_ctx *ctx, ctune_transform *t, const ctune_region *region,
                           const ctune_transform_failure *failure, ctune_transform_region *out) {
    bool is_for_all = !is_region_line(t->source.unit, failure->line);
    char text[400];
    snprintf(text, sizeof text, "not tuned: the compiler does not take the tuned code%s%s",
             failure->text[0] != '\0' ? ": " : "", failure->text);
    out->fate = CTUNE_FATE_REFUSED;
    t->worst = t->worst > CTUNE_EREFUSED ? t->worst : CTUNE_EREFUSED;
    if (!is_for_all || !t->has_said_failure) {
        say(ctx, t, region, CTUNE_WARNING, "does-not-compile", text, "the original loop stays");
    }
    t->has_said_failure |= is_for_all;
}

ctune_status ctune_transform_choose(ctune_ctx *ctx, ctune_transform *t, int i_region) {
    const ctune_unit_region *r = &t->source.unit->regions[i_region];
    ctune_transform_region *out = &t->regions[i_region];
    const ctune_transform_options *o = t->options;
    ctune_status status = CTUNE_OK;
    const ctune_transform_failure *failure = find_failure(t, i_region);
    out->is_spliced = true;
    if (r->region == NULL) {
        out->fate = r->pragma.off ? CTUNE_FATE_OFF : CTUNE_FATE_REFUSED;
        if (!r->pragma.off && t->worst < CTUNE_EREFUSED) {
            t->worst = CTUNE_EREFUSED;
        }
    } else if (o->region != NULL && strcmp(o->region, r->region->name) != 0) {
        out->fate = CTUNE_FATE_OFF;
        out->is_spliced = false;
    } else if (o->undo) {
        out->fate = CTUNE_FATE_ORIGINAL;
    } else if (t->obstacle != CTUNE_OBSTACLE_NONE) {
        report_obstacle(ctx, t, r->region, out);
    } else if (failure != NULL && o->mode == CTUNE_TRANSFORM_RECORD) {
        report_failure(ctx, t, r->region, failure, out);
    } else if (o->mode == CTUNE_TRANSFORM_RECORD) {
        status = record(ctx, t, i_region, out);
    } else {
        t->is_done_muted = failure != NULL;
        status = use_lock(ctx, t, i_region, out);
        t->is_done_muted = false;
        if (status == CTUNE_OK && failure != NULL && out->body != NULL) {
            free(out->body);
            *out = (ctune_transform_region){.is_spliced = true};
            report_failure(ctx, t, r->region, failure, out);
        }
    }
    /* a build leaves alone what it has no code for, rewritten earlier or not */
    out->is_spliced = out->is_spliced && (!o->is_build || out->body != NULL);
    return status;
}
