/*
 * The floor of ctune: status codes, the context that carries errors and diagnostics, the clock.
 *
 * Every action returns ctune_status; what went wrong in words is in ctx->error. Diagnostics about
 * the user's source (remarks, refusals, warnings) go to ctx->sink. Libraries never print or exit.
 */
#ifndef CTUNE_RUNTIME_BASE_H
#define CTUNE_RUNTIME_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CTUNE_MUST_USE __attribute__((warn_unused_result))
#define CTUNE_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define CTUNE_VERSION "0.1.0"

/* One row a status: enum suffix, text. The four classes of house style §5 plus memory. */
#define CTUNE_STATUS_TABLE(X)                                                                      \
    X(OK, "ok")                                                                                    \
    X(EREFUSED, "refused")       /* the user's loop cannot be handled; a diagnostic was sent */    \
    X(EUSAGE, "usage error")     /* bad arguments or malformed input text */                       \
    X(EENV, "environment error") /* I/O, missing tool, missing counters, killed child */           \
    X(EBUG, "internal error")    /* a verify failed: ours */                                       \
    X(ENOMEM, "out of memory")

typedef enum ctune_status {
#define X(id, text) CTUNE_##id,
    CTUNE_STATUS_TABLE(X)
#undef X
} ctune_status;

typedef enum ctune_severity { CTUNE_REMARK, CTUNE_NOTE, CTUNE_WARNING, CTUNE_ERROR } ctune_severity;

/* A message about the user's text. Strings are borrowed for the duration of the sink call. */
typedef struct ctune_diag {
    ctune_severity severity;
    const char *file; /* as the user named it, NULL when there is no place */
    int line, col;    /* 1-based, 0 = unknown */
    const char *code; /* stable id in brackets, "bound-not-affine"; NULL for none */
    const char *text; /* one line without trailing newline */
    const char *hint; /* what would help, NULL for none */
} ctune_diag;

/* One per thread of work. Zero-initialise, or ctune_ctx_init. */
typedef struct ctune_ctx {
    char error[512];                                  /* words for the last status != OK */
    void (*sink)(void *user, const ctune_diag *diag); /* NULL drops diagnostics */
    void *sink_user;
    int n_errors, n_warnings, n_refusals; /* counted by ctune_diag_send */
    uint64_t alloc_fail_at;               /* fault injection: n-th arena chunk fails; 0 = off */
    uint64_t n_allocs;
} ctune_ctx;

void ctune_ctx_init(ctune_ctx *ctx);

/* Record an error in ctx and return `status`, so that `return ctune_fail(ctx, CTUNE_EENV, ...)`
 * reads well. */
ctune_status ctune_fail(ctune_ctx *ctx, ctune_status status, const char *format, ...)
    CTUNE_PRINTF(3, 4);

void ctune_diag_send(ctune_ctx *ctx, const ctune_diag *diag);

/* "file:line:col: severity: text [code]\n" and, when there is a hint, a note line. Writes at most
 * size bytes. */
size_t ctune_diag_format(const ctune_diag *diag, char *out, size_t size);

const char *ctune_status_name(ctune_status status);
const char *ctune_severity_name(ctune_severity severity);

/* Monotonic clock. */
int64_t ctune_now_ns(void);

/* Checked size arithmetic: false on overflow (the result is then undefined). */
static inline bool ctune_size_mul(size_t a, size_t b, size_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}

#endif
