/*
 * What the parts of `ctune tune` share: cmd_tune.c collects files and nests, tune_search.c gives
 * them time, tune_predict.c asks the model alone.
 */
#ifndef CTUNE_PLUGIN_TOOL_TUNE_H
#define CTUNE_PLUGIN_TOOL_TUNE_H

#include "plugin/session/search.h"
#include "plugin/tool/tool.h"

typedef struct ctune_tune_file {
    ctune_source source;
    ctune_history *history; /* NULL: nothing is recorded */
} ctune_tune_file;

/* One region at one combination of sizes. */
typedef struct ctune_tune_nest {
    int i_file, i_region, which;
    const ctune_region *region; /* the unit's, or a copy of it with a recorded size (which is 0) */
    double weight;              /* of its time in the total */
} ctune_tune_nest;

typedef struct ctune_tune {
    const ctune_options *options;
    ctune_session session;
    int n_files;
    ctune_tune_file *files;
    int n_nests, size_nests;
    ctune_tune_nest *nests;
    int code; /* exit code so far */
} ctune_tune;

/* Entry to the lock, result to standard output. */
CTUNE_MUST_USE ctune_status ctune_tune_report(ctune_ctx *ctx, const ctune_tune *tune,
                                              const ctune_tune_nest *nest,
                                              const ctune_outcome *outcome);
/* Entry to the lock, nothing said: the search goes on. */
CTUNE_MUST_USE ctune_status ctune_tune_keep(ctune_ctx *ctx, const ctune_tune *tune,
                                            const ctune_tune_nest *nest,
                                            const ctune_outcome *outcome);
/* A nest that failed: said, counted in the exit code. */
void ctune_tune_fail(ctune_ctx *ctx, ctune_tune *tune, const ctune_tune_nest *nest,
                     ctune_status status);

/* Fails only with what ends the whole run. */
CTUNE_MUST_USE ctune_status ctune_tune_search(ctune_ctx *ctx, ctune_tune *tune);
/* Of nests for a GPU, which are not measured; with --predict of all. They are done with then. */
CTUNE_MUST_USE ctune_status ctune_tune_predict(ctune_ctx *ctx, ctune_tune *tune);

#endif
