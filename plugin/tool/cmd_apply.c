/*
 * ctune apply: write C with the lock's schedules put in.
 *
 * Several entries of one region (one a combination of sizes) become a chain: specialised variants,
 * each with the next one in the else branch of its guard, the generic variant of the first sizes
 * last, the original in the innermost else. Only the innermost original keeps its markers, so that
 * undoing finds the user's bytes.
 */
#include "plugin/rewrite/rewrite.h"
#include "plugin/tool/tool.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VARIANTS = 64 };

typedef struct apply_job {
    const ctune_options *options;
    ctune_source source;
    ctune_lock lock;
    int n_splices;
    ctune_splice *splices; /* bodies owned */
    int code;
} apply_job;

/* The markers of `text` name what is no original but another variant. Same length, so that it is
 * done in place. */
static void rename_markers(char *text) {
    static const char *const from[] = {"/* ctune:original begin */", "/* ctune:original end */"};
    static const char *const to[] = {"/* ctune:fallback begin */", "/* ctune:fallback end */"};
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(from[i]);
        for (char *p = text; (p = strstr(p, from[i])) != NULL; p += n) {
            memcpy(p, to[i], n);
        }
    }
}

static ctune_status emit_variant(ctune_ctx *ctx, const apply_job *j, ctune_program *program,
                                 const char *schedule, const char *otherwise, ctune_text *out) {
    ctune_nest nest;
    ctune_schedule parsed;
    ctune_schedule_init(&parsed);
    ctune_emit_options options = j->source.emit;
    options.comments = true;
    ctune_status status = ctune_schedule_parse(ctx, schedule, &parsed);
    if (status == CTUNE_OK) {
        status = ctune_schedule_apply(ctx, program, &parsed, &nest);
    }
    if (status == CTUNE_OK) {
        status = ctune_emit_region(ctx, &nest, &options, otherwise, out);
    }
    ctune_schedule_clear(&parsed);
    return status == CTUNE_OK && out->failed ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory")
                                             : status;
}

/* "n=512 m=64" in front of a schedule as primitives. */
static void put_specialize(const char *sizes, const char *schedule, ctune_text *out) {
    while (*sizes != '\0') {
        size_t n = strcspn(sizes, " ");
        ctune_text_printf(out, "specialize %.*s\n", (int)n, sizes);
        sizes += n + strspn(sizes + n, " ");
    }
    ctune_text_append(out, schedule);
}

/* Wraps *body (owned, NULL = only the original so far) in one more variant. */
static ctune_status add_variant(ctune_ctx *ctx, const apply_job *j, ctune_program *program,
                                const char *schedule, const char *original, char **body) {
    ctune_text text;
    ctune_text_init(&text);
    static const char mark[] =
        "\x01"; /* stands for the inner text while the outer markers are renamed */
    ctune_status status =
        emit_variant(ctx, j, program, schedule, *body != NULL ? mark : original, &text);
    if (status == CTUNE_OK && *body != NULL) {
        rename_markers(text.data);
        char *at = strstr(text.data, mark);
        ctune_text joined;
        ctune_text_init(&joined);
        ctune_text_append_n(&joined, text.data, at != NULL ? (size_t)(at - text.data) : text.len);
        ctune_text_append(&joined, *body);
        ctune_text_append(&joined, at != NULL ? at + 1 : "");
        ctune_text_clear(&text);
        text = joined;
    }
    if (status == CTUNE_OK) {
        free(*body);
        *body = strdup(ctune_text_get(&text));
    }
    ctune_text_clear(&text);
    return status;
}

static ctune_status emit_entries(ctune_ctx *ctx, const apply_job *j, ctune_program *program,
                                 const char *original, const ctune_lock_entry **entries, int n,
                                 const char *first_sizes, char **body) {
    ctune_status status = CTUNE_OK;
    int generic = 0;
    for (int i = 0; i < n; i++) {
        generic = strcmp(entries[i]->sizes, first_sizes) == 0 ? i : generic;
    }
    if (entries[generic]->schedule[0] != '\0') {
        status = add_variant(ctx, j, program, entries[generic]->schedule, original, body);
    }
    for (int i = 0; i < n && status == CTUNE_OK; i++) {
        bool is_same = strcmp(entries[i]->schedule, entries[generic]->schedule) == 0;
        if (i != generic && !is_same) {
            ctune_text schedule;
            ctune_text_init(&schedule);
            put_specialize(entries[i]->sizes, entries[i]->schedule, &schedule);
            status = add_variant(ctx, j, program, ctune_text_get(&schedule), original, body);
            ctune_text_clear(&schedule);
        }
    }
    return status;
}

/* *body NULL: the original stays. */
static ctune_status make_body(ctune_ctx *ctx, apply_job *j, int i_region, char **body) {
    const ctune_region *region = j->source.unit->regions[i_region].region;
    const ctune_lock_entry *entries[MAX_VARIANTS];
    ctune_lock_entry fixed = {.schedule = (char *)region->schedule, .sizes = ""};
    ctune_entry_state state;
    int n = 1;
    if (region->schedule != NULL) {
        entries[0] = &fixed; /* a schedule("...") clause needs no lock */
    } else {
        n = ctune_entries_find(&j->lock, &j->source, region, j->options->any_target, entries,
                               MAX_VARIANTS, &state);
        if (n == 0) {
            ctune_entries_report(ctx, &j->source, region, state);
            j->code = ctune_exit_worse(j->code, state == CTUNE_ENTRY_STALE ? CTUNE_EXIT_REFUSED
                                                                           : CTUNE_EXIT_OK);
            return CTUNE_OK;
        }
    }
    const char *original = ctune_source_original(&j->source, i_region);
    ctune_program *program = NULL;
    ctune_sized sized;
    ctune_status status = original != NULL ? ctune_sized_get(ctx, region, 0, &sized)
                                           : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    if (status == CTUNE_OK) {
        status = ctune_program_create(ctx, region, &program);
    }
    if (status == CTUNE_OK) {
        status = emit_entries(ctx, j, program, original, entries, n, sized.text, body);
    }
    if (program != NULL) {
        ctune_program_destroy(program);
    }
    return status;
}

/* A region that cannot be emitted stays as the user wrote it, with a warning: not an error of the
 * whole file. */
static ctune_status add_splice(ctune_ctx *ctx, apply_job *j, int i_region) {
    const ctune_unit_region *r = &j->source.unit->regions[i_region];
    char *body = NULL;
    if (r->region != NULL && !ctune_region_is_wanted(j->options, r->region)) {
        return CTUNE_OK;
    }
    if (r->region != NULL && !j->options->undo) {
        ctune_status status = make_body(ctx, j, i_region, &body);
        if (status == CTUNE_ENOMEM) {
            free(body);
            return status;
        }
        if (status != CTUNE_OK) {
            free(body);
            body = NULL;
            ctune_diag_send(
                ctx, &(ctune_diag){.severity = CTUNE_WARNING,
                                   .file = j->source.file,
                                   .line = r->region->line,
                                   .code = "not-applied",
                                   .text = ctx->error,
                                   .hint = "the original loop stays; run `ctune tune` again"});
            j->code = ctune_exit_worse(
                j->code, ctune_exit_code(status == CTUNE_EUSAGE ? CTUNE_EREFUSED : status));
        }
    } else if (r->region == NULL && !r->pragma.off) {
        j->code = ctune_exit_worse(j->code, CTUNE_EXIT_REFUSED);
    }
    j->splices[j->n_splices++] = (ctune_splice){i_region, body};
    return CTUNE_OK;
}

static bool is_same_file(const char *a, const char *b) {
    char real_a[PATH_MAX], real_b[PATH_MAX];
    return realpath(a, real_a) != NULL && realpath(b, real_b) != NULL &&
           strcmp(real_a, real_b) == 0;
}

static ctune_status write_out(ctune_ctx *ctx, const apply_job *j, const ctune_text *text) {
    const ctune_unit *unit = j->source.unit;
    const char *path = j->options->in_place ? j->source.file : j->options->output;
    if (path == NULL || strcmp(path, "-") == 0) {
        bool ok = fwrite(ctune_text_get(text), 1, text->len, stdout) == text->len;
        return ok ? CTUNE_OK : ctune_fail(ctx, CTUNE_EENV, "cannot write standard output");
    }
    if (is_same_file(path, j->source.file) && text->len == unit->n_text &&
        memcmp(ctune_text_get(text), unit->text, text->len) == 0) {
        return CTUNE_OK; /* nothing changed: no new time stamp */
    }
    return ctune_file_write(ctx, path, ctune_text_get(text), text->len);
}

static ctune_status rewrite(ctune_ctx *ctx, const apply_job *j) {
    const ctune_options *o = j->options;
    bool in_place = o->in_place || (o->output != NULL && is_same_file(o->output, j->source.file));
    char origin[PATH_MAX];
    ctune_rewrite_origin(j->source.unit->text, j->source.unit->n_text, origin, sizeof origin);
    const char *line_file = in_place || o->no_line ? NULL
                            : origin[0] != '\0'    ? origin
                                                   : j->source.file;
    ctune_text prelude, text;
    ctune_text_init(&prelude);
    ctune_text_init(&text);
    ctune_emit_options emit = j->source.emit;
    emit.comments = true;
    emit.is_source = true;
    ctune_emit_prelude(&emit, &prelude);
    ctune_status status = ctune_rewrite_lines(ctx, j->source.unit, ctune_text_get(&prelude),
                                              j->splices, j->n_splices, line_file, &text);
    if (status == CTUNE_OK) {
        status = write_out(ctx, j, &text);
    }
    ctune_text_clear(&prelude);
    ctune_text_clear(&text);
    return status;
}

static ctune_status apply_all(ctune_ctx *ctx, apply_job *j, const char *file) {
    ctune_status status = ctune_source_open(ctx, j->options, file, &j->source);
    if (status == CTUNE_OK) {
        status = ctune_lock_read(ctx, j->source.lock_path, &j->lock);
    }
    if (status != CTUNE_OK) {
        return status;
    }
    j->splices = calloc((size_t)j->source.unit->n_regions + 1, sizeof *j->splices);
    if (j->splices == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    for (int i = 0; i < j->source.unit->n_regions && status == CTUNE_OK; i++) {
        status = add_splice(ctx, j, i);
    }
    return status == CTUNE_OK ? rewrite(ctx, j) : status;
}

int ctune_cmd_apply(ctune_ctx *ctx, const ctune_options *options) {
    if (options->n_words != 1) {
        ctune_fail(ctx, CTUNE_EUSAGE, "one file, please; try `ctune apply --help`");
        return ctune_report(ctx, CTUNE_EUSAGE);
    }
    apply_job job = {.options = options};
    ctune_lock_init(&job.lock);
    int code = ctune_report(ctx, apply_all(ctx, &job, options->words[0]));
    for (int i = 0; i < job.n_splices; i++) {
        free((char *)job.splices[i].body);
    }
    free(job.splices);
    ctune_lock_clear(&job.lock);
    ctune_source_close(&job.source);
    return ctune_exit_worse(code, job.code);
}
