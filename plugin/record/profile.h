/*
 * Profiles: which shapes the nests of a program ran with, how often and how long.
 *
 * Text, one line a shape, sorted, made to be merged: adding the numbers of equal shapes is all
 * there is to it. What a program captures (runtime/record) is the same format, unsorted, with
 * repeated shapes and whole paths; the profile beside the sources names files without folder, as
 * the lock does. docs/record.md has the grammar.
 */
#ifndef CTUNE_PLUGIN_RECORD_PROFILE_H
#define CTUNE_PLUGIN_RECORD_PROFILE_H

#include "search/te/te.h"

/* One shape of one nest. */
typedef struct ctune_shape {
    const char *source; /* file name or path */
    const char *region; /* its name */
    const char *sizes;  /* "n=1024 m=512"; "" without parameters; "other": not told apart */
    uint64_t workload;  /* ctune_shape_key(region) */
    int line;           /* of the pragma */
    uint64_t calls;     /* all of them */
    uint64_t timed, ns; /* those that were timed, and their time; saturating */
} ctune_shape;

typedef struct ctune_profile {
    ctune_arena *arena; /* of the strings */
    int n, size;
    ctune_shape *shape; /* sorted by source, region, workload, sizes */
    int n_skipped;      /* malformed lines of captures */
} ctune_profile;

CTUNE_MUST_USE ctune_status ctune_profile_init(ctune_ctx *ctx, ctune_profile *profile); /* ENOMEM */
void ctune_profile_clear(ctune_profile *profile);

/* Adds to an equal shape or inserts; strings copied. ENOMEM. */
CTUNE_MUST_USE ctune_status ctune_profile_add(ctune_ctx *ctx, ctune_profile *profile,
                                              const ctune_shape *shape);
/* Adds what the text says. A malformed line is EUSAGE with name, line and column; in a capture,
 * whose writer may have been killed, it is counted and skipped. A newer version is EUSAGE in both.
 */
CTUNE_MUST_USE ctune_status ctune_profile_parse(ctune_ctx *ctx, const char *name, const char *text,
                                                bool is_capture, ctune_profile *profile);
/* The same from a file; one that is not there is empty. */
CTUNE_MUST_USE ctune_status ctune_profile_read(ctune_ctx *ctx, const char *path, bool is_capture,
                                               ctune_profile *profile);
void ctune_profile_print(const ctune_profile *profile, ctune_text *out);

/* Merge shapes [n] into the file (read, add, write) while other processes are kept out; the folder
 * is made when it is missing. Shapes of a loop that has changed since (same source and region,
 * another workload) are dropped from the file. Fails EENV, EUSAGE (the file is malformed), ENOMEM.
 */
CTUNE_MUST_USE ctune_status ctune_profile_update(ctune_ctx *ctx, const char *path,
                                                 const ctune_shape *shapes, int n);

/* Time of all calls, estimated from the timed ones. */
double ctune_shape_total_ns(const ctune_shape *shape);

/* The loop as far as its sizes have a meaning: what compiler flags permit (reassociation, threads,
 * wrapping of integers) and what the pragma promises is left out, so that a profile serves builds
 * with other flags, too. */
uint64_t ctune_shape_key(const ctune_region *region);

/* ---- what is worth tuning -------------------------------------------------------------------- */
enum { CTUNE_PROFILE_MAX_SIZES = 8, CTUNE_PROFILE_MAX_PARAMS = 64 };

typedef struct ctune_profile_size {
    int64_t params[CTUNE_PROFILE_MAX_PARAMS]; /* in the region's order */
    double calls; /* weight of the shape's time in the whole: ns per call times this is the total */
    double ns;    /* of all calls */
    double share; /* of the region's recorded time */
} ctune_profile_size;

typedef struct ctune_profile_sizes {
    int n; /* heaviest first; 0: the profile knows nothing of the region */
    ctune_profile_size size[CTUNE_PROFILE_MAX_SIZES];
    int n_shapes;   /* recorded, "other" not counted */
    double ns;      /* of all shapes, "other" included */
    double covered; /* share of the time that the chosen sizes have */
    bool is_stale;  /* only shapes of an earlier form of the loop are there */
} ctune_profile_sizes;

/* "n=1024 m=512" into params [region->n_params]. By position: parameters may have been renamed
 * since, which leaves the workload what it was. false: the text is not one value for each
 * parameter. */
bool ctune_sizes_read(const char *text, const ctune_region *region, int64_t *params);

/*
 * The shapes of a region that matter: the heaviest, until they cover `coverage` (0.95) of the
 * region's time, at most CTUNE_PROFILE_MAX_SIZES. Shapes with a size that no time was spent in, and
 * "other", are never chosen.
 *
 * source  as in the profile: file name without folder
 */
void ctune_profile_choose(const ctune_profile *profile, const char *source,
                          const ctune_region *region, double coverage, ctune_profile_sizes *out);

/* A copy of the region, in its arena, with params [n_params] as its only sizes; it shares the rest:
 * not to be destroyed. NULL: out of memory. */
const ctune_region *ctune_region_at(const ctune_region *region, const int64_t *params);

#endif
