/*
 * Random schedules for a GPU. Half of them are what the generator makes with knobs by chance; the
 * others are splits, orders, bound loops, shared copies and register tiles by chance, each kept
 * when the nest stays legal: bound loops inside serial ones, axes that some statements lack, copies
 * at any loop.
 */
#include "tests/property/random_gpu.h"

#include <stdio.h>
#include <string.h>

#include "search/space/gpu.h"

enum { N_TRIES = 40 };

static int below(ctune_rng *rng, int n) {
    return (int)ctune_rng_below(rng, (uint64_t)n);
}

/* A loop of the nest; NULL: there is none. */
static const char *any_loop(ctune_rng *rng, const ctune_nest *nest) {
    int nodes[CTUNE_NEST_NODES], n = 0;
    for (int i = 1; i < nest->n_nodes; i++) {
        if (nest->node[i].kind == CTUNE_NN_LOOP) {
            nodes[n++] = i;
        }
    }
    return n == 0 ? NULL : nest->node[nodes[below(rng, n)]].name;
}

static void propose(ctune_rng *rng, const ctune_nest *nest, int i_try, char *line, size_t size) {
    static const char *const axes[] = {"block.x",  "block.y",  "block.z",
                                       "thread.x", "thread.y", "thread.z"};
    static const int factors[] = {2, 3, 4, 5, 8, 16};
    const char *loop = any_loop(rng, nest), *other = any_loop(rng, nest);
    int stmt = below(rng, nest->form->tree->n_stmts);
    const char *name = ctune_stmt_name(nest->region, nest->form->tree, stmt);
    switch (below(rng, 8)) {
    case 0:
    case 1:
        snprintf(line, size, "split %s %d -> %.14s_%dx %.14s_%dy", loop, factors[below(rng, 6)],
                 loop, i_try, loop, i_try);
        return;
    case 2:
        snprintf(line, size, "reorder %s %s", loop, other);
        return;
    case 3:
    case 4:
    case 5:
        snprintf(line, size, "bind %s %s", loop, axes[below(rng, 6)]);
        return;
    case 6:
        snprintf(line, size, "cache_read %s.%d at %s shared", name, below(rng, 3), loop);
        return;
    default:
        if (below(rng, 2) == 0) {
            snprintf(line, size, "unroll %s", loop);
        } else {
            snprintf(line, size, "cache_write %s at %s register", name, loop);
        }
        return;
    }
}

static bool make_wild(ctune_ctx *ctx, ctune_rng *rng, ctune_program *program, ctune_nest *out,
                      ctune_schedule *schedule) {
    static const char *const structures[] = {"", "", "distribute", "polyhedral max",
                                             "polyhedral min"};
    ctune_schedule_append_text(schedule, structures[below(rng, 5)]);
    if (ctune_schedule_apply(ctx, program, schedule, out) != CTUNE_OK) {
        schedule->n = 0;
        if (ctune_schedule_apply(ctx, program, schedule, out) != CTUNE_OK) {
            return false;
        }
    }
    for (int i = 0; i < N_TRIES && any_loop(rng, out) != NULL; i++) {
        char line[200];
        ctune_nest before = *out;
        propose(rng, out, i, line, sizeof line);
        ctune_schedule_append_text(schedule, line);
        if (schedule->failed) {
            return false;
        }
        if (ctune_nest_apply(ctx, out, &schedule->prim[schedule->n - 1]) != CTUNE_OK ||
            !ctune_nest_check(out, NULL, 0)) {
            *out = before;
            schedule->n--;
        }
    }
    return ctune_nest_is_gpu(out) && ctune_nest_check(out, NULL, 0);
}

bool random_gpu_make(ctune_ctx *ctx, ctune_rng *rng, ctune_program *program, ctune_nest *out,
                     ctune_text *text) {
    ctune_schedule schedule;
    ctune_schedule_init(&schedule);
    bool is_made = below(rng, 2) == 0
                       ? make_wild(ctx, rng, program, out, &schedule)
                       : ctune_gpu_sample(ctx, program, rng, &schedule) == CTUNE_OK &&
                             ctune_schedule_apply(ctx, program, &schedule, out) == CTUNE_OK;
    ctune_schedule_print(&schedule, text);
    ctune_schedule_clear(&schedule);
    return is_made;
}
