/*
 * Diagnostics of a build, see build_sink.h.
 *
 * A build goes on with the original code whatever ctune finds wrong, so nothing is an error here;
 * a refusal is a warning, because the user asked for tuned code and does not get it. A file that
 * libclang cannot parse is reported once: the compiler has its own words for each error.
 */
#include "plugin/transform/build_sink.h"

#include <string.h>

/* pragma-in-header is no refusal here: a plugin sees such pragmas itself, and another file may be
 * the one that tunes them. */
static bool is_refusal(const ctune_diag *d) {
    static const char *const codes[] = {
#define X(id, code, hint) code,
#include "plugin/extract/extract_refusals.def"
#undef X
    };
    if (d->severity != CTUNE_REMARK || d->code == NULL ||
        strcmp(d->code, "pragma-in-header") == 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (strcmp(d->code, codes[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void keep(ctune_build_sink *s, const ctune_diag *d) {
    if (s->n_kept < CTUNE_MAX_KEPT_DIAGS) {
        s->kept[s->n_kept++] =
            (ctune_kept_diag){d->line, d->code != NULL ? ctune_arena_strdup(s->arena, d->code) : "",
                              ctune_arena_strdup(s->arena, d->text)};
    }
}

static void forward(void *user, const ctune_diag *diag) {
    ctune_build_sink *s = user;
    ctune_diag d = *diag;
    bool is_kept = is_refusal(&d) || d.severity >= CTUNE_WARNING;
    if (s->is_build) {
        if (d.code != NULL && strcmp(d.code, "does-not-parse") == 0) {
            if (s->has_parse_error) {
                return;
            }
            s->has_parse_error = true;
        }
        d.severity = is_kept ? CTUNE_WARNING : d.severity;
    }
    if (is_kept) {
        keep(s, &d);
    }
    s->is_sent |= d.severity >= CTUNE_WARNING;
    if (s->sink != NULL) {
        s->sink(s->sink_user, &d);
    }
}

void ctune_build_sink_init(ctune_build_sink *sink, ctune_ctx *ctx, ctune_arena *arena,
                           bool is_build) {
    memset(sink, 0, sizeof *sink);
    sink->ctx = ctx;
    sink->arena = arena;
    sink->is_build = is_build;
    sink->sink = ctx->sink;
    sink->sink_user = ctx->sink_user;
    ctx->sink = forward;
    ctx->sink_user = sink;
}

void ctune_build_sink_clear(ctune_build_sink *sink) {
    if (sink->ctx != NULL) {
        sink->ctx->sink = sink->sink;
        sink->ctx->sink_user = sink->sink_user;
    }
}

const ctune_kept_diag *ctune_build_sink_find(const ctune_build_sink *sink, int begin, int end) {
    for (int i = 0; i < sink->n_kept; i++) {
        const ctune_kept_diag *d = &sink->kept[i];
        if (d->line >= begin && d->line < end && d->text != NULL) {
            return d;
        }
    }
    return NULL;
}
