/*
 * Predict: the installed cost model, and the schedule that it thinks best for a region, unmeasured.
 *
 * What `ctune tune --predict` and the plugins' mode=predict call. A compiler calls it: nothing is
 * measured or run; where the compiler decides by itself what it fuses, the user's file is compiled
 * to assembly once (contract.c).
 */
#ifndef CTUNE_PLUGIN_PREDICT_PREDICT_H
#define CTUNE_PLUGIN_PREDICT_PREDICT_H

#include "costmodel/forest.h"
#include "plugin/source/source.h"
#include "search/feature/encoding.h"
#include "search/schedule/program.h"
#include "search/space/space.h"

/* ---- the model file -------------------------------------------------------------------------- */

/* given, or $CTUNE_MODEL, or the one that lies with this program or library (share/ctune/models/
 * cpu.model, or models/cpu.model in a build tree). EENV when there is none; `given` is not checked.
 */
CTUNE_MUST_USE ctune_status ctune_cost_model_find(ctune_ctx *ctx, const char *given, char *out,
                                                  size_t size);
/* Found, read and checked against this ctune's features. Owner of *out: caller. */
CTUNE_MUST_USE ctune_status ctune_cost_model_open(ctune_ctx *ctx, const char *given,
                                                  ctune_forest **out);

/* ---- features of a nest for a source's target ------------------------------------------------ */

/* What the engine's feature callback needs. */
typedef struct ctune_nest_features {
    const ctune_target *target;
    const ctune_space *space; /* of the points */
    ctune_model_input input;  /* rows as the model has them; width 0: none */
    unsigned groups;          /* of features behind them; 0 = none */
} ctune_nest_features;
/* The rows of a model: its input's, and behind them groups of features (0: none) for another. */
void ctune_nest_features_init(ctune_nest_features *features, const ctune_source *source,
                              const ctune_space *space, const ctune_model_input *input,
                              unsigned groups);
/* A ctune_features_fn; user: ctune_nest_features. */
void ctune_nest_features_get(void *user, const ctune_point *point, const ctune_nest *nest,
                             float *row);

/* Tells a model that tells targets apart which one comes. model may be NULL. */
void ctune_cost_model_set_target(const ctune_model *model, const ctune_source *source);

/* ---- choice ---------------------------------------------------------------------------------- */

/*
 * A ctune_transform_predict (plugin/transform/transform.h): the schedule for a region's first
 * sizes.
 *
 * user      ctune_model * whose input is known, NULL: by the analytic estimate alone
 * schedule  appended to; stays empty when nothing is expected to beat the original
 * Fails     EREFUSED when the compiler's rounding of the original cannot be told, see
 * ctune_rounding_choose
 */
CTUNE_MUST_USE ctune_status ctune_predict_schedule(ctune_ctx *ctx, void *user,
                                                   const ctune_source *source,
                                                   ctune_program *program, ctune_text *schedule);

/* ---- rounding of the original ---------------------------------------------------------------- */
typedef enum ctune_contraction {
    CTUNE_CONTRACTS_NEVER,  /* no product is fused with a sum: tuned code must round them, too */
    CTUNE_CONTRACTS_ALWAYS, /* each is, by expression, as the emitter's program does it; or none
                               occurs */
    CTUNE_CONTRACTS_SOME /* some are, or across statements: no program has these bits at all sizes
                          */
} ctune_contraction;

/* What is known about one region, and from what. */
typedef struct ctune_rounding {
    ctune_contraction contraction;
    bool is_decided;    /* by flags, instruction set or language: bits are equal, always. Else the
                           compiler decides copy by copy, and this is what it did */
    char evidence[160]; /* "8 fused, 2 rounded in the user's compile": for reports */
} ctune_rounding;

/*
 * What the user's compile does with the products of a region: by the flags; where those leave it to
 * the compiler, by the assembly that it makes of the user's own file, of which only the region's
 * lines count, inlined copies included. One run of the compiler a file (two when no code of a
 * region is in it), kept in source->code. Regions without a product that may meet a sum cost none,
 * nor does reassoc.
 *
 * region  of source->unit, or a sized copy
 * Fails   EREFUSED the compiler does not compile the file's copy; EENV, ENOMEM
 */
CTUNE_MUST_USE ctune_status ctune_rounding_get(ctune_ctx *ctx, const ctune_source *source,
                                               const ctune_region *region, ctune_rounding *out);
/* What code follows from it: NEVER rounds its products (program->round_products), ALWAYS and SOME
 * fuse all. Fails EREFUSED, too, when SOME meets a region whose pragma says `strict`. */
CTUNE_MUST_USE ctune_status ctune_rounding_choose(ctune_ctx *ctx, const ctune_source *source,
                                                  ctune_program *program, ctune_rounding *out);

/* Has the region a product and a sum in floating point? */
bool ctune_region_may_fuse(const ctune_region *region);
/* Does a product reach a sum through a scalar of the region? Compilers that look across statements
 * fuse it, programs of the emitter do not. */
bool ctune_region_may_fuse_across(const ctune_region *region);

/* ---- assembly ---- */
typedef struct ctune_fusing_counts {
    int n_fused;    /* fused instructions */
    int n_rounded;  /* sums of a separately rounded product */
    int n_products; /* all, and all sums: whether they meet or not */
    int n_sums;
} ctune_fusing_counts;

/* Counts instructions whose line entries name `file`; NULL: all. x86-64 (AT&T) and AArch64.
 * *is_there: some instruction was. */
void ctune_fusing_count(const char *assembly, const char *file, ctune_fusing_counts *out,
                        bool *is_there);
/* false: the counts say nothing (no product meets a sum). */
bool ctune_fusing_judge(const ctune_fusing_counts *counts, ctune_contraction *out);

#endif
