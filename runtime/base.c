/* Status, error record, diagnostics and clock: see base.h. */
#include "runtime/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void ctune_ctx_init(ctune_ctx *ctx) {
    memset(ctx, 0, sizeof *ctx);
}

ctune_status ctune_fail(ctune_ctx *ctx, ctune_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(ctx->error, sizeof ctx->error, format, args);
    va_end(args);
    return status;
}

void ctune_diag_send(ctune_ctx *ctx, const ctune_diag *diag) {
    if (diag->severity == CTUNE_ERROR) {
        ctx->n_errors++;
    } else if (diag->severity == CTUNE_WARNING) {
        ctx->n_warnings++;
    } else if (diag->severity == CTUNE_REMARK && diag->code != NULL) {
        ctx->n_refusals++;
    }
    if (ctx->sink != NULL) {
        ctx->sink(ctx->sink_user, diag);
    }
}

size_t ctune_diag_format(const ctune_diag *diag, char *out, size_t size) {
    char place[256] = "";
    if (diag->file != NULL && diag->line > 0) {
        snprintf(place, sizeof place, "%s:%d:%d: ", diag->file, diag->line, diag->col);
    } else if (diag->file != NULL) {
        snprintf(place, sizeof place, "%s: ", diag->file);
    }
    bool has_code = diag->code != NULL;
    int n =
        snprintf(out, size, "%s%s: %s%s%s%s\n", place, ctune_severity_name(diag->severity),
                 diag->text, has_code ? " [" : "", has_code ? diag->code : "", has_code ? "]" : "");
    if (diag->hint != NULL && n > 0 && (size_t)n < size) {
        n += snprintf(out + n, size - (size_t)n, "%snote: %s\n", place, diag->hint);
    }
    return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

const char *ctune_status_name(ctune_status status) {
    static const char *const names[] = {
#define X(id, text) text,
        CTUNE_STATUS_TABLE(X)
#undef X
    };
    return (size_t)status < sizeof names / sizeof *names ? names[status] : "unknown status";
}

const char *ctune_severity_name(ctune_severity severity) {
    static const char *const names[] = {"remark", "note", "warning", "error"};
    return names[severity];
}

int64_t ctune_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
