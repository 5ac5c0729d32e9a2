/*
 * Lowering: nest -> loops, the whole program (search/loops/loops.h).
 *
 * The nest's legality was decided when its schedule was applied; lowering places it exactly: bounds
 * by elimination over each statement's domain, full and partial tiles, copies, temporaries. It
 * makes a scalar program; the passes finish it.
 */
#ifndef CTUNE_SEARCH_LOWER_LOWER_H
#define CTUNE_SEARCH_LOWER_LOWER_H

#include "search/passes/passes.h"
#include "search/schedule/program.h"

typedef struct ctune_lower_options {
    const ctune_target *target; /* with openmp, PARALLEL is honoured; else such loops are serial */
    ctune_products products;    /* how a product that is added is rounded */
    const char *const
        *reserved; /* identifiers that must not be used besides the region's: [n_reserved] */
    int n_reserved;
    const int64_t
        *sizes; /* the program will only run at these values of the parameters; NULL: any */
    ctune_pass_observer
        observer; /* called after lowering ("lower") and after each pass; may be NULL */
    void *observer_data;
} ctune_lower_options;

/* The finished program of a nest. Owner of *out: caller; borrows nest->region. Fails EREFUSED with
 * words when the schedule cannot be lowered, ENOMEM. */
CTUNE_MUST_USE ctune_status ctune_lower(ctune_ctx *ctx, const ctune_nest *nest,
                                        const ctune_lower_options *options, ctune_loops **out);

/* The largest subexpression around read `read` that a packed copy may hold: same dims only, and no
 * product that a fused multiply-add would have absorbed. */
const ctune_expr *ctune_pack_widen(const ctune_region *region, const ctune_stage *stage, int read);

#endif
