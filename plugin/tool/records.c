/*
 * Records from a file: see records.h.
 */
#include "plugin/tool/records.h"

#include "plugin/tool/tool.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has_end(const char *path, const char *end) {
    size_t n = strlen(path), k = strlen(end);
    return n >= k && strcmp(path + n - k, end) == 0;
}

static ctune_status import(ctune_ctx *ctx, const char *path, ctune_history **out) {
    char place[PATH_MAX];
    ctune_status status = ctune_workdir_create(ctx);
    if (status == CTUNE_OK) {
        static const char name[] = "records-XXXXXX";
        snprintf(place, sizeof place, "%s/%s", ctune_workdir_path(), name);
        status = mkdtemp(place) != NULL
                     ? CTUNE_OK
                     : ctune_fail(ctx, CTUNE_EENV, "%s: %s", place, strerror(errno));
    }
    if (status == CTUNE_OK) {
        strncat(place, "/history.db", sizeof place - strlen(place) - 1);
        status = ctune_history_open(ctx, place, out);
    }
    return status == CTUNE_OK ? ctune_history_import_file(ctx, *out, path, NULL) : status;
}

ctune_status ctune_records_open(ctune_ctx *ctx, const char *path, ctune_history **out) {
    *out = NULL;
    if (access(path, R_OK) != 0) {
        return ctune_fail(ctx, CTUNE_EENV, "%s: %s", path, strerror(errno));
    }
    return has_end(path, ".jsonl") || has_end(path, ".json") || has_end(path, ".gz")
               ? import(ctx, path, out)
               : ctune_history_open_readonly(ctx, path, out);
}
