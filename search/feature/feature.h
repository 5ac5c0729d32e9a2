/*
 * Features of a nest: numbers that a cost model learns from, made without lowering and without isl.
 *
 * A row is the concatenation of the groups asked for, in the order of the table; names and their
 * order belong to CTUNE_FEATURE_VERSION: whoever changes either raises it. All widths are fixed:
 * nests of any number of loops, buffers and statements give rows of the same length.
 */
#ifndef CTUNE_SEARCH_FEATURE_FEATURE_H
#define CTUNE_SEARCH_FEATURE_FEATURE_H

#include "search/estimate/estimate.h"

enum { CTUNE_FEATURE_VERSION = 2 };

/* id, name, what it holds */
#define CTUNE_FEATURE_GROUP_TABLE(X)                                                               \
    X(ESTIMATE, "estimate", "the analytic estimate and its parts")                                 \
    X(CONTEXT, "context",                                                                          \
      "per-loop context of the hottest statement: inner, middle and outer loops")                  \
    X(RELATION, "relation", "context relations over thresholds, pooled over buffers")              \
    X(KNOB, "knob",                                                                                \
      "what was decided: tiles per level, vector, unroll, packs, registers, threads")              \
    X(STORE, "store",                                                                              \
      "per store: operations, bytes, lines and reuse of its buffers, intensity curve")             \
    X(TARGET, "target", "facts about machine and compiler")

typedef enum ctune_feature_group {
#define X(id, name, help) CTUNE_FEATURE_##id,
    CTUNE_FEATURE_GROUP_TABLE(X)
#undef X
        CTUNE_N_FEATURE_GROUPS
} ctune_feature_group;

enum { CTUNE_FEATURE_ALL = (1 << CTUNE_N_FEATURE_GROUPS) - 1 };

const char *ctune_feature_group_name(ctune_feature_group group);
/* Width of a row with these groups (bits 1 << group). */
int ctune_feature_count(unsigned groups);
/* Name of column i of a row with these groups, "store.a0.bytes": unique, no spaces. Static text. */
const char *ctune_feature_name(unsigned groups, int i);
/* Group of column i. */
ctune_feature_group ctune_feature_group_of(unsigned groups, int i);
/* row [ctune_feature_count(groups)], all finite. Never fails: what does not fit is pooled. */
void ctune_feature_get(const ctune_nest *nest, const ctune_target *target, unsigned groups,
                       float *row);

#endif
