/*
 * Which lock entries apply to a region, and what is said when none does.
 */
#include "plugin/transform/entries.h"

#include <stdio.h>
#include <string.h>

static bool is_of(const ctune_lock_entry *e, const ctune_source *source,
                  const ctune_region *region) {
    return strcmp(e->source, source->base) == 0 && strcmp(e->region, region->name) == 0;
}

/* A nest that must give the original's bits takes no entry that was compared with another machine's
 * fused products. */
static bool is_for_here(const ctune_source *source, const ctune_region *region, const char *key,
                        int *nearness) {
    int i_region = ctune_source_find(source, region);
    bool is_strict = i_region >= 0 && source->unit->regions[i_region].pragma.strict;
    *nearness = ctune_target_nearness(&source->target, key);
    return *nearness >= 0 &&
           !(is_strict && source->target.is_gcc && ctune_target_fuses(&source->target));
}

/* The target whose entries count; NULL: none. */
static const char *pick_target(const ctune_lock *lock, const ctune_source *source,
                               const ctune_region *region, ctune_entry_policy policy,
                               ctune_entry_state *state) {
    const char *other = NULL, *nearest = NULL;
    int best = -1, nearness;
    for (int i = 0; i < lock->n; i++) {
        const ctune_lock_entry *e = &lock->entry[i];
        if (!is_of(e, source, region)) {
            continue;
        }
        if (strcmp(e->target, source->key) == 0) {
            return source->key;
        }
        other = other != NULL ? other : e->target;
        if (policy == CTUNE_ENTRIES_NEAREST && is_for_here(source, region, e->target, &nearness) &&
            nearness > best) {
            best = nearness;
            nearest = e->target;
        }
    }
    *state = other != NULL ? CTUNE_ENTRY_OTHER : CTUNE_ENTRY_NONE;
    return policy == CTUNE_ENTRIES_ANY ? other : nearest;
}

int ctune_entries_find(const ctune_lock *lock, const ctune_source *source,
                       const ctune_region *region, ctune_entry_policy policy,
                       const ctune_lock_entry **out, int max, ctune_entry_state *state) {
    const char *target = pick_target(lock, source, region, policy, state);
    uint64_t workload = ctune_workload_key(region, NULL);
    int n = 0;
    for (int i = 0; target != NULL && i < lock->n && n < max; i++) {
        const ctune_lock_entry *e = &lock->entry[i];
        if (!is_of(e, source, region) || strcmp(e->target, target) != 0) {
            continue;
        }
        if (e->workload == workload) {
            out[n++] = e;
        } else {
            *state = CTUNE_ENTRY_STALE;
        }
    }
    if (n > 0) {
        *state = CTUNE_ENTRY_FRESH;
    }
    return n;
}

bool ctune_entries_has(const ctune_lock *lock, const ctune_source *source) {
    for (int i = 0; i < lock->n; i++) {
        if (strcmp(lock->entry[i].source, source->base) == 0) {
            return true;
        }
    }
    return false;
}

void ctune_entries_report(ctune_ctx *ctx, const ctune_source *source, const ctune_region *region,
                          ctune_entry_state state, bool is_tool) {
    static const struct {
        ctune_severity severity;
        const char *code, *text, *hint, *tool_hint;
    } rows[] = {
        [CTUNE_ENTRY_FRESH] = {CTUNE_REMARK, NULL, NULL, NULL},
        [CTUNE_ENTRY_STALE] = {CTUNE_WARNING, "lock-stale",
                               "changed since it was tuned: the lock's entry is ignored",
                               "run `ctune tune` again"},
        [CTUNE_ENTRY_OTHER] =
            {CTUNE_REMARK, "lock-other-target", "the lock has entries for another target only",
             "run `ctune tune` for this machine, compiler and flags",
             "run `ctune tune` for this machine, compiler and flags, or use --any-target"},
        [CTUNE_ENTRY_NONE] = {CTUNE_REMARK, "lock-no-entry", "not tuned yet: the lock has no entry",
                              "run `ctune tune` first"},
    };
    if (rows[state].text == NULL) {
        return;
    }
    const char *hint =
        is_tool && rows[state].tool_hint != NULL ? rows[state].tool_hint : rows[state].hint;
    char text[512];
    snprintf(text, sizeof text, "%s: %s (%s)", region->name, rows[state].text, source->lock_path);
    ctune_diag_send(ctx, &(ctune_diag){.severity = rows[state].severity,
                                       .file = source->file,
                                       .line = region->line,
                                       .code = rows[state].code,
                                       .text = text,
                                       .hint = hint});
}
