/* Random tiles of sums, waves, placed stages, fissions, caches and structures: see random_prims.h.
 */
#include "tests/property/random_prims.h"

#include <stdio.h>
#include <string.h>

static int below(ctune_rng *rng, int n) {
    return (int)ctune_rng_below(rng, (uint64_t)n);
}

static int between(ctune_rng *rng, int lo, int hi) {
    return lo + below(rng, hi - lo + 1);
}

static const char *pick_loop(ctune_rng *rng, const ctune_nest *nest) {
    int nodes[CTUNE_NEST_NODES], n = 0;
    for (int i = 1; i < nest->n_nodes; i++) {
        if (nest->node[i].kind == CTUNE_NN_LOOP) {
            nodes[n++] = i;
        }
    }
    return n == 0 ? "none" : nest->node[nodes[below(rng, n)]].name;
}

/* A loop around or inside `name` in the same nest, where sums make sense. */
static const char *pick_near(ctune_rng *rng, const ctune_nest *nest, const char *name) {
    int at = ctune_nest_find(nest, name);
    for (int tries = 0; tries < 20 && at >= 0; tries++) {
        const char *other = pick_loop(rng, nest);
        int node = ctune_nest_find(nest, other), up = node, down = at;
        while (up > 0 && up != at) {
            up = nest->node[up].parent;
        }
        while (down > 0 && down != node) {
            down = nest->node[down].parent;
        }
        if (node != at && (up == at || down == node)) {
            return other;
        }
    }
    return name;
}

static const char *pick_stage(ctune_rng *rng, const ctune_nest *nest) {
    const ctune_tree *tree = nest->form->tree;
    return ctune_stmt_name(nest->region, tree, below(rng, tree->n_stmts));
}

static void add_sum(ctune_rng *rng, const ctune_nest *nest, const char *name, ctune_text *out) {
    const char *other = pick_near(rng, nest, name);
    int n = strcmp(other, name) == 0 ? 1 : between(rng, 1, 2);
    ctune_text_printf(out, "%d*%s", between(rng, 1, 2), name);
    if (n == 2) {
        ctune_text_printf(out, " %s %d*%s", below(rng, 4) == 0 ? "-" : "+", between(rng, 1, 3),
                          other);
    }
}

static void random_prim(ctune_rng *rng, const ctune_nest *nest, ctune_text *out) {
    const char *name = pick_loop(rng, nest);
    char fresh[16];
    snprintf(fresh, sizeof fresh, "x_%d", nest->n_nodes);
    switch (below(rng, 18)) {
    case 0:
    case 1:
        ctune_text_append(out, "tile ");
        add_sum(rng, nest, name, out);
        if (below(rng, 4) == 0) {
            ctune_text_printf(out, " + 2*%s", pick_stage(rng, nest));
        }
        ctune_text_printf(out, " by %d -> %s at %s", between(rng, 1, 9), fresh,
                          below(rng, 3) ? name : pick_near(rng, nest, name));
        break;
    case 2:
        ctune_text_append(out, "wave ");
        add_sum(rng, nest, name, out);
        ctune_text_printf(out, " -> %s", fresh);
        break;
    case 3:
        ctune_text_printf(out, "parallel %s", name);
        break;
    case 4:
        ctune_text_printf(out, "split %s %d -> %s %sy", name, between(rng, 2, 5), fresh, fresh);
        break;
    case 5:
    case 6:
        ctune_text_printf(out, "%s %s",
                          below(rng, 3) == 0 ? "slide"
                          : below(rng, 2)    ? "unroll"
                                             : "vectorize",
                          name);
        break;
    case 7:
        ctune_text_printf(out, "reorder %s %s", name, pick_near(rng, nest, name));
        break;
    case 8:
    case 9:
        ctune_text_printf(out, "cache_write %s at %s register", pick_stage(rng, nest), name);
        break;
    case 10:
    case 11:
        ctune_text_printf(out, "cache_read %s.%d at %s pack", pick_stage(rng, nest), below(rng, 3),
                          below(rng, 4) ? name : "root");
        break;
    case 12: {
        const ctune_region *region = nest->region;
        ctune_text_printf(out, "skew %s %d", region->tensors[below(rng, region->n_tensors)].name,
                          below(rng, 4));
        break;
    }
    case 13:
        ctune_text_printf(out, "stream %s", pick_stage(rng, nest));
        break;
    case 14:
    case 15:
    case 16:
        ctune_text_printf(out, "fission %s", name);
        break;
    default:
        ctune_text_printf(out, "compute %s at %s", pick_stage(rng, nest), name);
        break;
    }
    ctune_text_append(out, "\n");
}

static bool is_legal(ctune_ctx *ctx, ctune_program *program, const ctune_nest *nest) {
    bool legal = ctune_nest_check(nest, NULL, 0);
    if (!legal && nest->n_sums > 0 &&
        ctune_nest_check_exact(ctx, program->deps, nest, &legal) != CTUNE_OK) {
        legal = false;
    }
    return legal;
}

int random_prims_apply(ctune_ctx *ctx, ctune_rng *rng, ctune_program *program, ctune_nest *nest,
                       int n, ctune_text *out) {
    int n_done = 0;
    for (int tries = 0; tries < 6 * n && n_done < n; tries++) {
        ctune_nest work = *nest;
        ctune_schedule s;
        ctune_text line;
        ctune_schedule_init(&s);
        ctune_text_init(&line);
        random_prim(rng, nest, &line);
        ctune_schedule_append_text(&s, ctune_text_get(&line));
        if (!s.failed && ctune_nest_apply(ctx, &work, &s.prim[0]) == CTUNE_OK &&
            is_legal(ctx, program, &work)) {
            *nest = work;
            ctune_text_append(out, ctune_text_get(&line));
            n_done++;
        }
        ctune_schedule_clear(&s);
        ctune_text_clear(&line);
    }
    return n_done;
}

static const char *pick_dim(ctune_rng *rng, const ctune_tree *tree, const ctune_stmt *stmt) {
    return tree->dims[stmt->dims[below(rng, stmt->n_dims)]].name;
}

/* One structural primitive that may fit the tree. */
static void random_structure(ctune_rng *rng, const ctune_tree *tree, int number, ctune_text *out) {
    const ctune_stmt *stmt = &tree->stmts[below(rng, tree->n_stmts)];
    if (stmt->n_dims == 0) {
        ctune_text_append(out, "distribute\n");
        return;
    }
    const char *at = pick_dim(rng, tree, stmt), *a = pick_dim(rng, tree, stmt);
    const char *b = pick_dim(rng, tree, stmt);
    switch (below(rng, 6)) {
    case 0:
    case 1:
        ctune_text_printf(out, "block %s", a);
        if (below(rng, 4) == 0) {
            ctune_text_printf(out, " %s %d*%s", below(rng, 3) ? "+" : "-", between(rng, 1, 2), b);
        }
        ctune_text_printf(out, " by %d -> b_%d at %s\n", between(rng, 2, 6), number, at);
        break;
    case 2:
        ctune_text_printf(out, "sink %s\n", at);
        break;
    case 3:
        ctune_text_append(out, "distribute\n");
        break;
    default:
        ctune_text_printf(out, "split_domain %s at %d*%s", at, between(rng, 1, 3), a);
        if (below(rng, 2) == 0) {
            ctune_text_printf(out, " - %d*%s", between(rng, 1, 4), b);
        }
        ctune_text_printf(out, " %s %d\n", below(rng, 2) ? "<" : ">=", between(rng, 0, 9));
        break;
    }
}

static ctune_tree *step(ctune_ctx *ctx, ctune_program *program, const ctune_tree *tree,
                        const char *line) {
    ctune_schedule s;
    ctune_tree *next = NULL;
    ctune_schedule_init(&s);
    ctune_schedule_append_text(&s, line);
    bool is_done = !s.failed &&
                   ctune_program_step(ctx, program, tree, &s.prim[0], &next) == CTUNE_OK &&
                   next->n_stmts < 12;
    ctune_schedule_clear(&s);
    if (!is_done && next != NULL) {
        ctune_tree_destroy(next);
    }
    return is_done ? next : NULL;
}

bool random_prims_split(ctune_ctx *ctx, ctune_rng *rng, ctune_program *program, ctune_nest *nest,
                        ctune_text *out) {
    const ctune_form *form;
    ctune_tree *tree = NULL;
    ctune_text all;
    int n = between(rng, 1, 4);
    ctune_text_init(&all);
    if (ctune_tree_from_source(ctx, program->region, &tree) != CTUNE_OK) {
        return false;
    }
    for (int tries = 0; tries < 3 * n; tries++) {
        ctune_text line;
        ctune_text_init(&line);
        random_structure(rng, tree, tries, &line);
        ctune_tree *next = step(ctx, program, tree, ctune_text_get(&line));
        if (next != NULL) {
            ctune_tree_destroy(tree);
            tree = next;
            ctune_text_append(&all, ctune_text_get(&line));
        }
        ctune_text_clear(&line);
    }
    ctune_tree_destroy(tree);
    ctune_schedule s;
    ctune_schedule_init(&s);
    bool is_there = all.len > 0 &&
                    ctune_schedule_parse(ctx, ctune_text_get(&all), &s) == CTUNE_OK &&
                    ctune_program_form(ctx, program, &s, &form) == CTUNE_OK;
    ctune_schedule_clear(&s);
    if (is_there) {
        ctune_text_append(out, ctune_text_get(&all));
        ctune_nest_init(nest, program->region, form);
    }
    ctune_text_clear(&all);
    return is_there;
}
