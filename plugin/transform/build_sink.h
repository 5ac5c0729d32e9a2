/*
 * Private to plugin/transform: diagnostics on their way to the caller, as a compiler wants them,
 * and kept for the report.
 */
#ifndef CTUNE_PLUGIN_TRANSFORM_BUILD_SINK_H
#define CTUNE_PLUGIN_TRANSFORM_BUILD_SINK_H

#include "runtime/arena.h"
#include "runtime/base.h"

/* A refusal or clause error, kept: strings in the arena. */
typedef struct ctune_kept_diag {
    int line;
    const char *code, *text;
} ctune_kept_diag;

enum { CTUNE_MAX_KEPT_DIAGS = 256 }; /* more are sent, not kept */

/* Stands between ctx and its sink from init to clear. */
typedef struct ctune_build_sink {
    ctune_ctx *ctx;
    ctune_arena *arena;
    void (*sink)(void *user, const ctune_diag *diag); /* the caller's */
    void *sink_user;
    bool is_build;
    bool has_parse_error; /* one was sent: the others of the file are dropped */
    bool is_sent;         /* a warning or error was sent since the last reset by the owner */
    int n_kept;
    ctune_kept_diag kept[CTUNE_MAX_KEPT_DIAGS];
} ctune_build_sink;

/* is_build: errors and refusals become warnings, of parse errors only the first is sent. */
void ctune_build_sink_init(ctune_build_sink *sink, ctune_ctx *ctx, ctune_arena *arena,
                           bool is_build);
void ctune_build_sink_clear(ctune_build_sink *sink);
/* The first kept one in lines begin <= line < end, NULL when there is none. */
const ctune_kept_diag *ctune_build_sink_find(const ctune_build_sink *sink, int begin, int end);

#endif
