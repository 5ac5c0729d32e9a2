/*
 * One file through all steps, see transform.h: flags, extraction, lock, target, regions, splicing,
 * report.
 *
 * The target is asked for only when something may be put in: with GCC that costs a run of the
 * compiler.
 */
#include "plugin/transform/quiet.h"
#include "plugin/transform/transform_private.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool ctune_transform_mode_find(const char *name, ctune_transform_mode *out) {
    static const char *const names[] = {
#define X(id, word, help) word,
        CTUNE_TRANSFORM_MODE_TABLE(X)
#undef X
    };
    for (int i = 0; i < CTUNE_N_TRANSFORM_MODES; i++) {
        if (strcmp(name, names[i]) == 0) {
            *out = (ctune_transform_mode)i;
            return true;
        }
    }
    return false;
}

/* ---- steps ---------------------------------------------------------------------------------- */
static ctune_status open_source(ctune_ctx *ctx, ctune_transform *t) {
    const ctune_transform_options *o = t->options;
    ctune_source *s = &t->source;
    ctune_status status = ctune_source_set_paths(ctx, o->file, o->lock_path, NULL, s);
    if (status == CTUNE_OK) {
        s->emit.lines = o->is_build; /* plugin/shim/lines.h makes #line of them */
        s->flags.compiler = o->command;
        status = ctune_flags_sort(ctx, o->n_words, o->words, o->directory, o->is_clang, &s->flags);
    }
    if (status == CTUNE_OK) {
        status = ctune_source_set_unit(ctx, o->text, s);
    }
    if (status == CTUNE_EUSAGE && s->unit != NULL && o->is_build) {
        status = CTUNE_OK; /* each malformed pragma has been reported: go on with the others */
    }
    if (status == CTUNE_OK && s->unit->has_parse_errors) {
        status = ctune_fail(ctx, CTUNE_EENV, "%s: does not compile: nothing done", o->file);
    }
    if (status == CTUNE_OK && o->name != NULL) {
        snprintf(s->base, sizeof s->base, "%s", o->name);
    }
    return status;
}

static bool needs_target(const ctune_transform *t) {
    const ctune_unit *unit = t->source.unit;
    bool has_region = false, has_clause = false;
    for (int i = 0; i < unit->n_regions; i++) {
        has_region |= unit->regions[i].region != NULL;
        has_clause |= unit->regions[i].region != NULL && unit->regions[i].region->schedule != NULL;
    }
    const ctune_transform_options *o = t->options;
    return has_region && !o->undo && o->mode != CTUNE_TRANSFORM_RECORD &&
           (has_clause || o->mode == CTUNE_TRANSFORM_PREDICT ||
            ctune_entries_has(&t->lock, &t->source));
}

/* gcov counts lines and arcs of the source: those of tuned code would be noise. The last word
 * counts. */
static bool has_coverage(const ctune_transform_options *o) {
    bool has = false;
    for (int i = 0; i < o->n_words && o->is_build; i++) {
        const char *word = o->words[i];
        bool is_on = strcmp(word, "--coverage") == 0 || strcmp(word, "-coverage") == 0 ||
                     strcmp(word, "-fprofile-arcs") == 0 || strcmp(word, "-ftest-coverage") == 0;
        bool is_off =
            strcmp(word, "-fno-profile-arcs") == 0 || strcmp(word, "-fno-test-coverage") == 0;
        has = is_on || (has && !is_off);
    }
    return has;
}

static ctune_status choose_all(ctune_ctx *ctx, ctune_transform *t) {
    int n = t->source.unit->n_regions;
    t->regions = CTUNE_NEW_ARRAY(t->arena, ctune_transform_region, n + 1);
    if (t->regions == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    t->obstacle = t->source.unit->includes_itself ? CTUNE_OBSTACLE_SELF_INCLUDE
                  : has_coverage(t->options)      ? CTUNE_OBSTACLE_COVERAGE
                                                  : CTUNE_OBSTACLE_NONE;
    ctune_status status = CTUNE_OK;
    for (int i = 0; i < n && status == CTUNE_OK; i++) {
        status = ctune_transform_choose(ctx, t, i);
        t->n_regions = i + 1;
    }
    return status;
}

/* The name in #line: what the compiler calls the file, or what a rewritten copy was made from. */
static const char *line_file(const ctune_transform *t, char *origin, size_t size) {
    ctune_rewrite_origin(t->source.unit->text, t->source.unit->n_text, origin, size);
    return t->options->no_line                  ? NULL
           : origin[0] != '\0'                  ? origin
           : strcmp(t->options->file, "-") == 0 ? "<stdin>"
                                                : t->options->file;
}

static ctune_status make_prelude(ctune_ctx *ctx, const ctune_transform *t, ctune_text *out) {
    const ctune_transform_options *o = t->options;
    if (o->mode == CTUNE_TRANSFORM_RECORD) {
        return o->record != NULL ? o->record(ctx, o->record_user, &t->source, -1, NULL, out)
                                 : CTUNE_OK;
    }
    ctune_emit_options emit = t->source.emit;
    emit.comments = true;
    emit.is_source = true;
    ctune_emit_prelude(&emit, out);
    for (int i = 0; i < t->n_regions; i++) {
        const char *body = t->regions[i].body;
        if (body != NULL && strstr(body, "ctune_gpu_begin") != NULL) {
            ctune_emit_gpu_prelude(out);
            break;
        }
    }
    return CTUNE_OK;
}

static ctune_status splice(ctune_ctx *ctx, const ctune_transform *t, ctune_text *text) {
    ctune_splice *splices = CTUNE_NEW_ARRAY(t->arena, ctune_splice, t->n_regions + 1);
    if (splices == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    int n = 0;
    for (int i = 0; i < t->n_regions; i++) {
        if (t->regions[i].is_spliced) {
            splices[n++] = (ctune_splice){i, t->regions[i].body};
        }
    }
    if (n == 0) {
        return CTUNE_OK;
    }
    char origin[PATH_MAX];
    ctune_text prelude;
    ctune_text_init(&prelude);
    ctune_status status = make_prelude(ctx, t, &prelude);
    if (status == CTUNE_OK) {
        status = ctune_rewrite_lines(ctx, t->source.unit, ctune_text_get(&prelude), splices, n,
                                     line_file(t, origin, sizeof origin), text);
    }
    if (status == CTUNE_OK && (prelude.failed || text->failed)) {
        status = ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    ctune_text_clear(&prelude);
    return status;
}

/* Warnings of clang in what was put in; not when the file had some of it before. */
static ctune_status hush(ctune_ctx *ctx, const ctune_transform *t, ctune_text *text) {
    if (text->len == 0 || !t->options->is_build || !t->options->is_clang ||
        strstr(t->source.unit->text, "/* ctune:begin ") != NULL) {
        return CTUNE_OK;
    }
    ctune_text out;
    ctune_text_init(&out);
    ctune_quiet_add(ctune_text_get(text), &out);
    ctune_text_clear(text);
    *text = out;
    return out.failed ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory") : CTUNE_OK;
}

static ctune_status run(ctune_ctx *ctx, ctune_transform *t, ctune_text *text) {
    ctune_status status = open_source(ctx, t);
    if (status == CTUNE_OK && t->source.unit->n_regions > 0) {
        status = ctune_lock_read(ctx, t->source.lock_path, &t->lock);
    }
    if (status == CTUNE_OK && needs_target(t)) {
        status = ctune_source_set_target(ctx, t->options->macros, &t->source);
    }
    if (status == CTUNE_OK) {
        status = choose_all(ctx, t);
    }
    if (status == CTUNE_OK) {
        status = splice(ctx, t, text);
    }
    return status == CTUNE_OK ? hush(ctx, t, text) : status;
}

/* ---- results -------------------------------------------------------------------------------- */
static void count(const ctune_transform *t, ctune_transform_counts *out) {
    int *const fields[] = {
        [CTUNE_FATE_UNTUNED] = &out->n_untuned,   [CTUNE_FATE_APPLIED] = &out->n_applied,
        [CTUNE_FATE_ORIGINAL] = &out->n_original, [CTUNE_FATE_STALE] = &out->n_stale,
        [CTUNE_FATE_REFUSED] = &out->n_refused,   [CTUNE_FATE_OFF] = &out->n_off,
        [CTUNE_FATE_RECORDED] = &out->n_recorded,
    };
    out->n_regions = t->n_regions;
    for (int i = 0; i < t->n_regions; i++) {
        ++*fields[t->regions[i].fate];
        out->n_predicted += t->regions[i].is_predicted;
    }
}

static ctune_status fill(ctune_ctx *ctx, const ctune_transform *t, ctune_text *text,
                         ctune_transform_result *out) {
    const ctune_unit *unit = t->source.unit;
    count(t, &out->counts);
    out->worst = t->worst;
    out->lock_path = strdup(t->source.lock_path);
    out->has_lock = access(t->source.lock_path, F_OK) == 0;
    if (text->len > 0 &&
        (text->len != unit->n_text || memcmp(ctune_text_get(text), unit->text, text->len) != 0)) {
        out->text = strdup(ctune_text_get(text));
        out->n_text = text->len;
        out->is_changed = out->text != NULL;
    }
    return out->lock_path != NULL && (out->text != NULL || !out->is_changed)
               ? CTUNE_OK
               : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
}

/* A lock was made with care, and nothing of it is used: a build says so without being asked. */
static void report_none(ctune_ctx *ctx, const ctune_transform *t,
                        const ctune_transform_counts *counts) {
    char text[400];
    if (!t->options->is_build || t->n_other == 0 || counts->n_applied + counts->n_original > 0) {
        return;
    }
    snprintf(text, sizeof text, "has no entry for this target (%s): nothing is tuned",
             t->source.key);
    ctune_diag_send(ctx,
                    &(ctune_diag){.severity = CTUNE_REMARK,
                                  .file = t->source.lock_path,
                                  .code = "lock-none-applies",
                                  .text = text,
                                  .hint = "run `ctune tune` for this machine, compiler and flags"});
}

/* The one warning of a build whose file is left alone as a whole. */
static void warn(ctune_ctx *ctx, const ctune_transform *t, ctune_status status) {
    char text[600];
    snprintf(text, sizeof text, "ctune leaves the file alone: %s",
             ctx->error[0] != '\0' ? ctx->error : ctune_status_name(status));
    ctune_diag_send(ctx, &(ctune_diag){.severity = CTUNE_WARNING,
                                       .file = t->options->file,
                                       .code = "no-transform",
                                       .text = text});
}

ctune_status ctune_transform_run(ctune_ctx *ctx, const ctune_transform_options *options,
                                 ctune_transform_result *out) {
    memset(out, 0, sizeof *out);
    if (options->mode == CTUNE_TRANSFORM_OFF && !options->undo) {
        return CTUNE_OK;
    }
    ctune_transform *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    ctune_text text;
    ctune_text_init(&text);
    ctune_lock_init(&t->lock);
    t->options = options;
    t->arena = ctune_arena_create(ctx);
    ctune_build_sink_init(&t->sink, ctx, t->arena, options->is_build);
    ctune_status status =
        t->arena != NULL ? run(ctx, t, &text) : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    if (status == CTUNE_OK) {
        status = fill(ctx, t, &text, out);
        report_none(ctx, t, &out->counts);
    }
    if (status != CTUNE_OK && options->is_build && !t->sink.is_sent) {
        warn(ctx, t, status);
    }
    if (status == CTUNE_OK && options->report_path != NULL &&
        ctune_transform_report(ctx, t) != CTUNE_OK) {
        warn(ctx, t, CTUNE_EENV);
    }
    if (status != CTUNE_OK) {
        ctune_transform_clear(out);
        ctx->error[options->is_build ? 0 : sizeof ctx->error - 1] = '\0'; /* a warning has it */
    }
    for (int i = 0; i < t->n_regions; i++) {
        free(t->regions[i].body);
    }
    ctune_build_sink_clear(&t->sink);
    ctune_text_clear(&text);
    ctune_lock_clear(&t->lock);
    ctune_source_close(&t->source);
    ctune_arena_destroy(t->arena);
    free(t);
    return status;
}

void ctune_transform_clear(ctune_transform_result *result) {
    free(result->text);
    free(result->lock_path);
    memset(result, 0, sizeof *result);
}
