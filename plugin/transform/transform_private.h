/*
 * Private to plugin/transform: the state of one ctune_transform_run.
 */
#ifndef CTUNE_PLUGIN_TRANSFORM_TRANSFORM_PRIVATE_H
#define CTUNE_PLUGIN_TRANSFORM_TRANSFORM_PRIVATE_H

#include "plugin/rewrite/rewrite.h"
#include "plugin/transform/build_sink.h"
#include "plugin/transform/transform.h"
#include "plugin/transform/variants.h"
#include "search/lock/lock.h"

/* id, word in reports, what it means. What became of a region. */
#define CTUNE_FATE_TABLE(X)                                                                        \
    X(UNTUNED, "untuned", "no entry in the lock is for this target")                               \
    X(APPLIED, "applied", "tuned code was put in")                                                 \
    X(ORIGINAL, "original", "nothing faster is known; the original stays")                         \
    X(STALE, "stale", "the loop changed since it was tuned")                                       \
    X(REFUSED, "refused", "the loop is not tuned")                                                 \
    X(OFF, "off", "the pragma says so")                                                            \
    X(RECORDED, "recorded", "the loop records its sizes")

typedef enum ctune_fate {
#define X(id, word, text) CTUNE_FATE_##id,
    CTUNE_FATE_TABLE(X)
#undef X
} ctune_fate;

/* id, severity, code, words, what would help. Why no region of the file can be put in. */
#define CTUNE_OBSTACLE_TABLE(X)                                                                    \
    X(NONE, CTUNE_NOTE, NULL, NULL, NULL)                                                          \
    X(COVERAGE, CTUNE_REMARK, "coverage",                                                          \
      "not tuned: --coverage counts how often the lines of the file as it is are run",             \
      "nothing is to be done; builds without it are tuned")                                        \
    X(SELF_INCLUDE, CTUNE_WARNING, "self-include",                                                 \
      "not tuned: the file includes itself, so that its loops may be compiled several times",      \
      "move the loop into a file of its own")

typedef enum ctune_obstacle {
#define X(id, severity, code, words, hint) CTUNE_OBSTACLE_##id,
    CTUNE_OBSTACLE_TABLE(X)
#undef X
} ctune_obstacle;

typedef struct ctune_transform_region {
    ctune_fate fate;
    bool is_predicted;
    bool is_spliced; /* body goes into the text, or, when it is NULL, an earlier one is taken out */
    int n_variants;
    char *body; /* owned, free */
} ctune_transform_region;

typedef struct ctune_transform {
    const ctune_transform_options *options;
    ctune_source source;
    ctune_lock lock;
    ctune_build_sink sink;
    ctune_arena *arena;
    const char *text; /* the file's, borrowed or in the arena */
    size_t n_text;
    int n_regions;
    ctune_transform_region *regions; /* arena */
    ctune_obstacle obstacle;
    int n_other;        /* regions with entries for another target only */
    bool is_done_muted; /* the region's code is about to be dropped: no word that it is applied */
    bool has_said_failure; /* the warning for all regions is out (does-not-compile) */
    ctune_status worst;    /* of what kept a region from being applied */
} ctune_transform;

/* What becomes of region i_region: fills t->regions[i_region], says it. Fails ENOMEM only. */
CTUNE_MUST_USE ctune_status ctune_transform_choose(ctune_ctx *ctx, ctune_transform *t,
                                                   int i_region);

/* Appends a JSON line for each region to the report. */
CTUNE_MUST_USE ctune_status ctune_transform_report(ctune_ctx *ctx, const ctune_transform *t);

#endif
