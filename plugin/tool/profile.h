/*
 * Recorded shapes in the tool: where profiles lie, and how `ctune tune` uses them.
 */
#ifndef CTUNE_PLUGIN_TOOL_PROFILE_H
#define CTUNE_PLUGIN_TOOL_PROFILE_H

#include "plugin/record/profile.h"
#include "plugin/tool/tool.h"

/* ".ctune/profile" in the folder of `file`. Owner: the caller, free. NULL: out of memory. */
char *ctune_profile_path(const char *file);

/* The profile that counts for a file: --profile's, else the one beside it; empty with --no-profile
 * or when there is none. Fails EENV (--profile's is not there), EUSAGE, ENOMEM; to be cleared in
 * any case. */
CTUNE_MUST_USE ctune_status ctune_profile_open(ctune_ctx *ctx, const ctune_options *options,
                                               const char *file, ctune_profile *out);

/* What a profile knows of a region, chosen as `ctune tune` does it, and said. sizes->n 0: nothing.
 */
void ctune_profile_use(ctune_ctx *ctx, const ctune_profile *profile, const ctune_source *source,
                       const ctune_region *region, ctune_profile_sizes *sizes);

#endif
