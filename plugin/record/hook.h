/*
 * The hook that gives ctune_transform_run its mode=record: `ctune apply --record` and the compiler
 * plugins.
 */
#ifndef CTUNE_PLUGIN_RECORD_HOOK_H
#define CTUNE_PLUGIN_RECORD_HOOK_H

#include "runtime/base.h"

struct ctune_source;
struct ctune_text;

/* For ctune_transform_options.record; user is not used. */
ctune_status ctune_record_hook(ctune_ctx *ctx, void *user, const struct ctune_source *source,
                               int i_region, const char *original, struct ctune_text *body);

#endif
