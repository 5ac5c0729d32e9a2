/*
 * ctune apply: write C with the lock's schedules put in. plugin/transform does it; this is about
 * where the text goes.
 */
#include "plugin/record/hook.h"
#include "plugin/tool/tool.h"
#include "plugin/transform/transform.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static bool is_same_file(const char *a, const char *b) {
    char real_a[PATH_MAX], real_b[PATH_MAX];
    return realpath(a, real_a) != NULL && realpath(b, real_b) != NULL &&
           strcmp(real_a, real_b) == 0;
}

/* text: what to write; is_same: it is the file's own. */
static ctune_status write_out(ctune_ctx *ctx, const ctune_options *options, const char *file,
                              const char *text, size_t n_text, bool is_same) {
    const char *path = options->in_place ? file : options->output;
    if (path == NULL || strcmp(path, "-") == 0) {
        bool ok = fwrite(text, 1, n_text, stdout) == n_text;
        return ok ? CTUNE_OK : ctune_fail(ctx, CTUNE_EENV, "cannot write standard output");
    }
    if (is_same && is_same_file(path, file)) {
        return CTUNE_OK; /* nothing changed: no new time stamp */
    }
    return ctune_file_write(ctx, path, text, n_text);
}

static ctune_status apply(ctune_ctx *ctx, const ctune_options *options, const char *file,
                          const ctune_flags *flags, ctune_transform_result *result) {
    ctune_text text;
    ctune_text_init(&text);
    ctune_status status = ctune_file_read(ctx, file, &text);
    ctune_transform_options transform = {
        .file = file,
        .text = ctune_text_get(&text),
        .is_clang = ctune_flags_is_clang(flags->compiler),
        .command = flags->compiler,
        .n_words = flags->n_words,
        .words = flags->words,
        .directory = flags->directory,
        .lock_path = options->lock,
        .any_target = options->any_target,
        .nearest_target = options->nearest,
        .undo = options->undo,
        .no_line = options->no_line || options->in_place ||
                   (options->output != NULL && is_same_file(options->output, file)),
        .region = options->region,
        .mode = options->record ? CTUNE_TRANSFORM_RECORD : CTUNE_TRANSFORM_LOCK,
        .record = ctune_record_hook,
    };
    if (status == CTUNE_OK && strlen(transform.text) != text.len) {
        status = ctune_fail(ctx, CTUNE_EENV, "%s: has a zero byte: no C text", file);
    }
    if (status == CTUNE_OK) {
        status = ctune_transform_run(ctx, &transform, result);
    }
    if (status == CTUNE_OK) {
        status =
            write_out(ctx, options, file, result->is_changed ? result->text : ctune_text_get(&text),
                      result->is_changed ? result->n_text : text.len, !result->is_changed);
    }
    ctune_text_clear(&text);
    return status;
}

int ctune_cmd_apply(ctune_ctx *ctx, const ctune_options *options) {
    if (options->n_words != 1) {
        ctune_fail(ctx, CTUNE_EUSAGE, "one file, please; try `ctune apply --help`");
        return ctune_report(ctx, CTUNE_EUSAGE);
    }
    ctune_flags flags;
    ctune_transform_result result = {0};
    ctune_status status = ctune_flags_get(ctx, options, options->words[0], &flags);
    if (status == CTUNE_OK && flags.note != NULL && !options->quiet) {
        ctune_diag_send(ctx, &(ctune_diag){.severity = CTUNE_NOTE, .text = flags.note});
    }
    if (status == CTUNE_OK && !ctune_program_exists(flags.compiler)) {
        status = ctune_fail(ctx, CTUNE_EENV, "no compiler '%s' on PATH", flags.compiler);
    }
    if (status == CTUNE_OK) {
        status = apply(ctx, options, options->words[0], &flags, &result);
    }
    int code = ctune_exit_worse(ctune_report(ctx, status), ctune_exit_code(result.worst));
    ctune_transform_clear(&result);
    ctune_flags_clear(&flags);
    return code;
}
