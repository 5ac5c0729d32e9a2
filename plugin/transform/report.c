/*
 * The report of a build: one JSON object a region and line, appended to a file that all compiles of
 * the build share.
 *
 * A line is written by one write() to a file opened for appending, so that compiles that run at the
 * same time do not mix their lines.
 */
#include "plugin/transform/transform_private.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *fate_word(ctune_fate fate) {
    static const char *const words[] = {
#define X(id, word, text) word,
        CTUNE_FATE_TABLE(X)
#undef X
    };
    return words[fate];
}

static const char *fate_text(ctune_fate fate) {
    static const char *const texts[] = {
#define X(id, word, text) text,
        CTUNE_FATE_TABLE(X)
#undef X
    };
    return texts[fate];
}

/* Owner: caller. NULL when memory is out. */
static char *print_region(const ctune_transform *t, int i_region) {
    const ctune_unit *unit = t->source.unit;
    const ctune_unit_region *r = &unit->regions[i_region];
    const ctune_transform_region *done = &t->regions[i_region];
    int end = i_region + 1 < unit->n_regions ? r[1].pragma.line : INT_MAX;
    const ctune_kept_diag *why = ctune_build_sink_find(&t->sink, r->pragma.line, end);
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "file", t->source.file);
    cJSON_AddNumberToObject(row, "line", r->pragma.line);
    cJSON_AddStringToObject(row, "region", r->name != NULL ? r->name : "");
    cJSON_AddStringToObject(row, "status", fate_word(done->fate));
    if (done->is_predicted) {
        cJSON_AddTrueToObject(row, "predicted");
    }
    if (done->n_variants > 0) {
        cJSON_AddNumberToObject(row, "variants", done->n_variants);
    }
    if (t->source.key[0] != '\0') {
        cJSON_AddStringToObject(row, "target", t->source.key);
    }
    cJSON_AddStringToObject(row, "code", why != NULL ? why->code : fate_word(done->fate));
    cJSON_AddStringToObject(row, "text", why != NULL ? why->text : fate_text(done->fate));
    char *line = cJSON_PrintUnformatted(row);
    cJSON_Delete(row);
    return line;
}

static bool write_line(int fd, const char *line) {
    ctune_text text;
    ctune_text_init(&text);
    ctune_text_append(&text, line);
    ctune_text_append(&text, "\n");
    ssize_t n = text.failed ? -1 : write(fd, ctune_text_get(&text), text.len);
    bool ok = n >= 0 && (size_t)n == text.len;
    ctune_text_clear(&text);
    return ok;
}

ctune_status ctune_transform_report(ctune_ctx *ctx, const ctune_transform *t) {
    const char *path = t->options->report_path;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    bool ok = fd >= 0;
    for (int i = 0; i < t->n_regions && ok; i++) {
        char *line = print_region(t, i);
        ok = line != NULL && write_line(fd, line);
        free(line);
    }
    ctune_status status =
        ok ? CTUNE_OK
           : ctune_fail(ctx, CTUNE_EENV, "cannot write the report '%s': %s", path, strerror(errno));
    if (fd >= 0) {
        close(fd);
    }
    return status;
}
