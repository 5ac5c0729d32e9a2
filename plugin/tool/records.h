/*
 * Records from a file: a history, or its export as JSON lines.
 */
#ifndef CTUNE_PLUGIN_TOOL_RECORDS_H
#define CTUNE_PLUGIN_TOOL_RECORDS_H

#include "search/history/history.h"

/* An export (.jsonl, .jsonl.gz) is read into a history in the working folder. EENV when there is no
 * such file: a history that does not exist is not made. Owner of *out: caller. */
CTUNE_MUST_USE ctune_status ctune_records_open(ctune_ctx *ctx, const char *path,
                                               ctune_history **out);

#endif
