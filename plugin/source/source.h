/*
 * A source file, opened: flags, target, extracted unit, where its lock and history are.
 */
#ifndef CTUNE_PLUGIN_SOURCE_SOURCE_H
#define CTUNE_PLUGIN_SOURCE_SOURCE_H

#include "plugin/extract/extract.h"
#include "plugin/source/flags.h"
#include "runtime/runner.h"
#include "search/emit/emit.h"
#include "search/space/space.h"
#include "search/target/target.h"

/* What the user's compile makes of the file, asked for at most once (plugin/predict/contract.c).
 * Assembly with its regions marked (unit_text.h), owned; NULL: not asked for yet, or it failed. */
typedef struct ctune_unit_code {
    char *as_is;
    char *kept; /* with functions kept that nothing calls */
    char failure[256];
} ctune_unit_code;

/* Zero-initialise; owner of what is in it: ctune_source_close. */
typedef struct ctune_source {
    const char *file; /* as given, borrowed */
    char base[256];   /* the name that the lock knows: without folder */
    ctune_flags flags;
    ctune_run_compiler compiler; /* into flags */
    ctune_target target;         /* the tool puts this machine's calibration here */
    char key[256];               /* target key; "" = not asked for yet */
    ctune_unit *unit;
    ctune_unit_code *code; /* owned; made with unit, filled later */
    char *lock_path, *history_path;
    ctune_emit_options emit; /* of candidates; borrows target; apply sets comments */
} ctune_source;

/* file, lock_path and history_path: lock and history, or, when NULL, those beside the file. */
CTUNE_MUST_USE ctune_status ctune_source_set_paths(ctune_ctx *ctx, const char *file,
                                                   const char *lock, const char *history,
                                                   ctune_source *source);
/* target and key from flags. macros: what holds before the first line, as -dM -E prints it; NULL:
 * the compiler is asked. Fails EENV. */
CTUNE_MUST_USE ctune_status ctune_source_set_target(ctune_ctx *ctx, const char *macros,
                                                    ctune_source *source);
/* unit and base. text: contents, NULL: the file's. The unit may be there after EUSAGE, too (some of
 * its pragmas are malformed). */
CTUNE_MUST_USE ctune_status ctune_source_set_unit(ctune_ctx *ctx, const char *text,
                                                  ctune_source *source);
void ctune_source_close(ctune_source *source);

/* Index of the unit's region that `region` is or is a sized copy of; -1: none. */
int ctune_source_find(const ctune_source *source, const ctune_region *region);
/* The user's bytes of the statement (the original of a rewritten one), in the unit's arena. */
const char *ctune_source_original(const ctune_source *source, int i_region);

/* The region with one combination of representative values first; shares everything else with
 * `region`: not to be destroyed. */
typedef struct ctune_sized {
    ctune_region region;
    int64_t params[CTUNE_RUN_MAX_PARAMS];
    char text[256]; /* "n=1024 m=512" */
} ctune_sized;
int ctune_sized_count(const ctune_region *region); /* combinations of sizes(...) */
CTUNE_MUST_USE ctune_status ctune_sized_get(ctune_ctx *ctx, const ctune_region *region, int which,
                                            ctune_sized *out);

#endif
