/*
 * ctune export: the history as JSON lines, compressed when the output's name ends in .gz.
 */
#include "plugin/tool/tool.h"
#include "search/history/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

typedef struct sink {
    ctune_text text;
    bool is_file; /* written at once in the end; standard output is written in pieces */
} sink;

static bool write_line(void *user, const char *line) {
    sink *out = user;
    ctune_text_append(&out->text, line);
    ctune_text_append(&out->text, "\n");
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

/* gzip in memory, without name and time: the same history gives the same bytes. */
static ctune_status compress_text(ctune_ctx *ctx, const ctune_text *in, ctune_text *out) {
    enum { GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 9 };
    z_stream z = {0};
    if (in->len > UINT32_MAX || deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP_WINDOW,
                                             MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory compressing");
    }
    unsigned char buffer[65536];
    z.next_in = (unsigned char *)in->data;
    z.avail_in = (uInt)in->len;
    int code = Z_OK;
    while (code == Z_OK) {
        z.next_out = buffer;
        z.avail_out = sizeof buffer;
        code = deflate(&z, Z_FINISH);
        ctune_text_append_n(out, (const char *)buffer, sizeof buffer - z.avail_out);
    }
    deflateEnd(&z);
    return code == Z_STREAM_END && !out->failed
               ? CTUNE_OK
               : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory compressing");
}

static ctune_status write_file(ctune_ctx *ctx, const char *path, const ctune_text *text) {
    size_t n = strlen(path);
    if (n < 3 || strcmp(path + n - 3, ".gz") != 0) {
        return ctune_file_write(ctx, path, ctune_text_get(text), text->len);
    }
    ctune_text small;
    ctune_text_init(&small);
    ctune_status status = compress_text(ctx, text, &small);
    if (status == CTUNE_OK) {
        status = ctune_file_write(ctx, path, ctune_text_get(&small), small.len);
    }
    ctune_text_clear(&small);
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
        status = write_file(ctx, options->output, &out.text);
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
    ctune_status status = access(path, F_OK) == 0
                              ? ctune_history_open_readonly(ctx, path, &history)
                              : ctune_fail(ctx, CTUNE_EENV, "no history at %s", path);
    if (status == CTUNE_OK) {
        status = export_all(ctx, options, history);
    }
    ctune_history_close(history);
    return ctune_report(ctx, status);
}
