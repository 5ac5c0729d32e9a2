/*
 * Does the compiler round the original's products where it would fuse the tuned code's?
 *
 * GCC contracts a*b+c by cost rules of its own: a scalar reduction may keep two roundings while
 * vectors are fused. In strict mode tuned code must round as the original does, so a few seeds are
 * run both ways against it; when only rounded products agree, the program's forms all round
 * (round_products in its schedules). clang contracts by the source's expressions, always in the
 * same way: nothing is tried.
 */
#include "plugin/tool/tool.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_SEEDS = 6 };

/* How many of the seeds give the original's bits. */
static ctune_status count_agreeing(ctune_ctx *ctx, const ctune_bench *bench,
                                   const ctune_space *space, const ctune_point *seeds, int n_seeds,
                                   int *n_ok) {
    char *units[MAX_SEEDS], names[MAX_SEEDS][32];
    const char *name_of[MAX_SEEDS];
    ctune_run_result results[MAX_SEEDS];
    int n = 0;
    *n_ok = 0;
    for (int i = 0; i < n_seeds; i++) {
        ctune_nest nest;
        ctune_text text;
        ctune_text_init(&text);
        snprintf(names[n], sizeof names[n], "ctune_seed%d", i);
        if (ctune_space_nest(space, &seeds[i], &nest) &&
            ctune_emit_candidate(ctx, &nest, &bench->source->emit, names[n], &text) == CTUNE_OK) {
            units[n] = strdup(ctune_text_get(&text));
            name_of[n] = names[n];
            n += units[n] != NULL;
        }
        ctune_text_clear(&text);
    }
    ctune_status status = CTUNE_OK;
    if (n > 0) {
        status = ctune_runner_submit(ctx, bench->runner, ctune_text_get(&bench->prelude),
                                     (const char *const *)units, name_of, n);
        if (status == CTUNE_OK) {
            status = ctune_runner_collect(ctx, bench->runner, 0, results, n);
        }
    }
    for (int i = 0; i < n; i++) {
        *n_ok += status == CTUNE_OK && results[i].outcome == CTUNE_RUN_OK;
        free(units[i]);
    }
    return status;
}

ctune_status ctune_rounding_choose(ctune_ctx *ctx, const ctune_bench *bench,
                                   const ctune_space *space) {
    if (ctune_region_may_reassoc(bench->region) ||
        strncmp(bench->source->target.compiler, "gcc", 3) != 0) {
        return CTUNE_OK;
    }
    ctune_point *seeds = calloc(MAX_SEEDS, sizeof *seeds);
    if (seeds == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    int n = ctune_space_seeds(space, seeds, MAX_SEEDS), n_fused = 0, n_rounded = 0;
    ctune_program_set_rounding(bench->program, false);
    ctune_status status = count_agreeing(ctx, bench, space, seeds, n, &n_fused);
    if (status == CTUNE_OK && n_fused < n) {
        ctune_program_set_rounding(bench->program, true);
        status = count_agreeing(ctx, bench, space, seeds, n, &n_rounded);
    }
    ctune_program_set_rounding(bench->program, status == CTUNE_OK && n_rounded > n_fused);
    free(seeds);
    return status;
}
