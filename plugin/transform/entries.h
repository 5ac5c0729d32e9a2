/*
 * Which lock entries apply to a region.
 */
#ifndef CTUNE_PLUGIN_TRANSFORM_ENTRIES_H
#define CTUNE_PLUGIN_TRANSFORM_ENTRIES_H

#include "plugin/source/source.h"
#include "search/lock/lock.h"

typedef enum ctune_entry_state {
    CTUNE_ENTRY_FRESH,
    CTUNE_ENTRY_STALE, /* the loop changed since */
    CTUNE_ENTRY_OTHER, /* there is one for another target only */
    CTUNE_ENTRY_NONE
} ctune_entry_state;

/* Whose entries count when there are none for the source's own target. */
typedef enum ctune_entry_policy {
    CTUNE_ENTRIES_EXACT,   /* nobody's */
    CTUNE_ENTRIES_NEAREST, /* those of the nearest target whose code is for here, too (target.h) */
    CTUNE_ENTRIES_ANY      /* those of the first target that has some */
} ctune_entry_policy;

/* Entries of a region for one target, the source's or the one that the policy picks, in the lock's
 * order. Returns their number, at most max; state tells what they are when the number is 0. */
int ctune_entries_find(const ctune_lock *lock, const ctune_source *source,
                       const ctune_region *region, ctune_entry_policy policy,
                       const ctune_lock_entry **out, int max, ctune_entry_state *state);
/* Has the lock an entry of this file's, fresh or not, for any target? Needs no target. */
bool ctune_entries_has(const ctune_lock *lock, const ctune_source *source);

/* The remark or warning about a region without a usable entry. is_tool: hints may name the tool's
 * options.
 */
void ctune_entries_report(ctune_ctx *ctx, const ctune_source *source, const ctune_region *region,
                          ctune_entry_state state, bool is_tool);

#endif
