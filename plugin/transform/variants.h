/*
 * The code that takes a region's place: one variant per lock entry, the original innermost.
 */
#ifndef CTUNE_PLUGIN_TRANSFORM_VARIANTS_H
#define CTUNE_PLUGIN_TRANSFORM_VARIANTS_H

#include "plugin/transform/entries.h"
#include "search/lock/lock.h"

enum { CTUNE_MAX_VARIANTS = 64 };

/*
 * entries  n >= 1 of one region: of one schedule each, "" = the original
 * body     set to text (owner: the caller, free), or NULL: the original stays
 * Fails    EREFUSED, EUSAGE: a schedule does not apply; ENOMEM. *body is NULL then
 */
CTUNE_MUST_USE ctune_status ctune_variants_emit(ctune_ctx *ctx, const ctune_source *source,
                                                int i_region, ctune_program *program,
                                                const ctune_lock_entry *const *entries, int n,
                                                char **body);

#endif
