/*
 * ctune export: the history as JSON lines; with --import, lines of another machine are merged in
 * instead.
 */
#include "plugin/tool/tool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct sink {
    ctune_text text;
    bool is_file; /* written at once in the end; standard output is written in pieces */
} sink;

static bool write_line(void *user, const char *line) {
    sink *out = user;
    ctune_text_append(&out->text, line);
    size_t n = strlen(line);
    if (n == 0 || line[n - 1] != '\n') {
        ctune_text_append(&out->text, "\n");
    }
    if (!out->is_file && out->text.len > (1u << 20)) {
        fwrite(out->text.data, 1, out->text.len, stdout);
        ctune_text_clear(&out->text);
    }
    return !out->text.failed;
}

/* --history, or a history named as the operand, or the one beside the operand. */
static void history_path(const ctune_options *options, char *out, size_t size) {
    const char *word = options->n_words > 0 ? options->words[0] : "";
    size_t n = strlen(word);
    const char *slash = strrchr(word, '/');
    if (options->history != NULL) {
        snprintf(out, size, "%s", options->history);
    } else if (n > 3 && strcmp(word + n - 3, ".db") == 0) {
        snprintf(out, size, "%s", word);
    } else {
        snprintf(out, size, "%.*s.ctune/history.db", slash != NULL ? (int)(slash - word) + 1 : 0,
                 word);
    }
}

static ctune_status merge(ctune_ctx *ctx, ctune_history *history, const char *path) {
    ctune_text text;
    ctune_text_init(&text);
    int n = 0;
    ctune_status status = ctune_file_read(ctx, path, &text);
    if (status == CTUNE_OK) {
        status = ctune_history_import(ctx, history, ctune_text_get(&text), &n);
    }
    if (status == CTUNE_OK) {
        fprintf(stderr, "ctune: %d records imported\n", n);
    }
    ctune_text_clear(&text);
    return status;
}

static ctune_status export_all(ctune_ctx *ctx, const ctune_options *options,
                               ctune_history *history) {
    sink out = {.is_file = options->output != NULL && strcmp(options->output, "-") != 0};
    ctune_text_init(&out.text);
    ctune_status status = ctune_history_export(ctx, history, write_line, &out);
    if (status == CTUNE_OK && out.text.failed) {
        status = ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    if (status == CTUNE_OK && out.is_file) {
        status = ctune_file_write(ctx, options->output, ctune_text_get(&out.text), out.text.len);
    } else if (status == CTUNE_OK) {
        fwrite(ctune_text_get(&out.text), 1, out.text.len, stdout);
    }
    ctune_text_clear(&out.text);
    return status;
}

int ctune_cmd_export(ctune_ctx *ctx, const ctune_options *options) {
    char path[4096];
    if (options->n_words > 1) {
        ctune_fail(ctx, CTUNE_EUSAGE, "one file at most; try `ctune export --help`");
        return ctune_report(ctx, CTUNE_EUSAGE);
    }
    history_path(options, path, sizeof path);
    ctune_history *history = NULL;
    ctune_status status = CTUNE_OK;
    if (options->import == NULL && access(path, F_OK) != 0) {
        status = ctune_fail(ctx, CTUNE_EENV, "no history at %s", path);
    } else {
        status = ctune_history_open(ctx, path, &history);
    }
    if (status == CTUNE_OK && options->import != NULL) {
        status = merge(ctx, history, options->import);
    } else if (status == CTUNE_OK) {
        status = export_all(ctx, options, history);
    }
    if (history != NULL) {
        ctune_history_close(history);
    }
    return ctune_report(ctx, status);
}
