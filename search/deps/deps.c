/*
 * The dependences of a region, exact: see deps.h.
 *
 * In: a region. Out: for each pair of accesses to one tensor, one of them a write, the pairs of
 * instances that touch the same element, source first. Memory-based: a pair counts even when
 * another write lies between, so that any order that respects all pairs is legal whatever it keeps
 * live. One basic map per level at which the source order decides (equal outer loops, then
 * smaller), because each is convex and emptiness tests on it are cheap.
 */
#include "search/deps/deps_private.h"

#include "search/bound/bound.h"

#include <isl/options.h>
#include <stdlib.h>
#include <string.h>

/* ---- accesses -------------------------------------------------------------------------------- */

typedef struct touch {
    const ctune_access *access;
    isl_basic_map *map; /* instance -> element; owned */
    bool reads, writes;
    bool is_update; /* old value of a reduction that may be reordered, and its new value */
} touch;

typedef struct touches {
    int n;
    touch *touch; /* in the arena */
} touches;

/* Does e hold values of `type`, at most widened to calc? Then min and max return one operand
 * unchanged. */
static bool has_values_of(const ctune_expr *e, ctune_type type, ctune_type calc) {
    bool is_cast = e->op == CTUNE_OP_CAST && e->n_kids == 1 && e->type == calc;
    return e->type == type || (is_cast && e->kids[0]->type == type);
}

/* May the iterations of stage's update run in any order with the same result (strict: the same
 * bits)? Integers: the operation must stay associative through the conversion to the target's type
 * after each step. */
static bool is_reorderable(const ctune_region *region, const ctune_stage *stage) {
    ctune_type type = region->tensors[stage->target.tensor].type;
    if (!ctune_update_get(stage->update)->is_assoc) {
        return false;
    }
    if (ctune_type_is_float(type) || ctune_type_is_float(stage->calc)) {
        return ctune_stage_may_reassoc(region, stage) && ctune_type_is_float(type);
    }
    switch (stage->update) {
    case CTUNE_UPDATE_MIN:
    case CTUNE_UPDATE_MAX:
    case CTUNE_UPDATE_BELOW:
    case CTUNE_UPDATE_ABOVE:
        return stage->calc == type || has_values_of(stage->rhs, type, stage->calc);
    case CTUNE_UPDATE_ADD:
    case CTUNE_UPDATE_SUB:
    case CTUNE_UPDATE_BXOR:
        return type != CTUNE_BOOL;
    default:
        return true;
    }
}

/* Updates of one class commute with one another, too, whichever statements make them. Of integers
 * the two ways to write a maximum are one. */
static ctune_update class_of(const ctune_region *region, const ctune_stage *stage) {
    bool is_float = ctune_type_is_float(region->tensors[stage->target.tensor].type);
    switch (stage->update) {
    case CTUNE_UPDATE_SUB:
        return CTUNE_UPDATE_ADD;
    case CTUNE_UPDATE_BELOW:
        return is_float ? CTUNE_UPDATE_BELOW : CTUNE_UPDATE_MIN;
    case CTUNE_UPDATE_ABOVE:
        return is_float ? CTUNE_UPDATE_ABOVE : CTUNE_UPDATE_MAX;
    default:
        return stage->update;
    }
}

static bool may_commute(const ctune_region *region, int src, const touch *a, int dst,
                        const touch *b) {
    return a->is_update && b->is_update &&
           class_of(region, &region->stages[src]) == class_of(region, &region->stages[dst]);
}

static bool is_access_equal(const ctune_access *a, const ctune_access *b) {
    bool same = a->tensor == b->tensor && a->n_idx == b->n_idx;
    for (int i = 0; same && i < a->n_idx; i++) {
        same = ctune_aff_is_equal(a->idx[i], b->idx[i]);
    }
    return same;
}

static void add_read(touches *list, const ctune_access *access) {
    for (int i = 0; i < list->n; i++) {
        if (!list->touch[i].is_update && is_access_equal(list->touch[i].access, access)) {
            list->touch[i].reads = true;
            return;
        }
    }
    list->touch[list->n++] = (touch){access, NULL, true, false, false};
}

/* A guarded stage is taken to touch what it would touch if the guard held. */
static ctune_status collect(ctune_ctx *ctx, const ctune_deps *deps, touches *lists) {
    const ctune_region *region = deps->region;
    for (int s = 0; s < region->n_stages; s++) {
        const ctune_stage *stage = &region->stages[s];
        lists[s].touch = CTUNE_NEW_ARRAY(deps->arena, touch, stage->n_reads + 1);
        if (lists[s].touch == NULL) {
            return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for accesses");
        }
        bool is_update = stage->update != CTUNE_UPDATE_SET;
        lists[s].touch[lists[s].n++] = (touch){&stage->target, NULL, is_update, true,
                                               is_update && is_reorderable(region, stage)};
        for (int r = 0; r < stage->n_reads; r++) {
            add_read(&lists[s], &stage->reads[r]->access);
        }
        for (int t = 0; t < lists[s].n; t++) {
            lists[s].touch[t].map = ctune_isl_access(deps, s, lists[s].touch[t].access);
        }
    }
    return CTUNE_OK;
}

static void free_touches(const ctune_region *region, touches *lists) {
    for (int s = 0; lists != NULL && s < region->n_stages; s++) {
        for (int t = 0; t < lists[s].n; t++) {
            isl_basic_map_free(lists[s].touch[t].map);
        }
    }
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static int count_common(const ctune_stmt *a, const ctune_stmt *b) {
    int n = 0;
    while (n < a->n_dims && n < b->n_dims && a->dims[n] == b->dims[n]) {
        n++;
    }
    return n;
}

static void keep_piece(ctune_dep *dep, isl_basic_map *piece) {
    piece = isl_basic_map_detect_equalities(piece);
    dep->pieces[dep->n_pieces++] = isl_basic_map_remove_redundancies(piece);
}

/* Split the pairs that touch the same element by the level that puts src before dst. `same` is
 * consumed. */
static void split_levels(ctune_dep *dep, isl_basic_map *same, int n_common, bool is_textual) {
    for (int level = 0; level < n_common; level++) {
        isl_basic_map *piece =
            ctune_isl_compare(isl_basic_map_copy(same), level, level, CTUNE_SIGN_POS);
        if (isl_basic_map_is_empty(piece) == isl_bool_false) {
            keep_piece(dep, piece);
        } else {
            isl_basic_map_free(piece);
        }
        same = ctune_isl_compare(same, level, level, CTUNE_SIGN_ZERO);
        if (isl_basic_map_is_empty(same) != isl_bool_false) {
            is_textual = false;
            break;
        }
    }
    if (is_textual && isl_basic_map_is_empty(same) == isl_bool_false) {
        keep_piece(dep, isl_basic_map_copy(same));
    }
    isl_basic_map_free(same);
}

static ctune_dep *deps_append(ctune_deps *deps) {
    if (deps->n_deps == deps->size_deps) {
        int size = deps->size_deps == 0 ? 32 : deps->size_deps * 2;
        ctune_dep *grown = realloc(deps->deps, (size_t)size * sizeof *grown);
        if (grown == NULL) {
            return NULL;
        }
        deps->deps = grown;
        deps->size_deps = size;
    }
    ctune_dep *dep = &deps->deps[deps->n_deps];
    memset(dep, 0, sizeof *dep);
    return dep;
}

/* The dependences from access a of stage src to access b of stage dst. */
static ctune_status add_pair(ctune_ctx *ctx, ctune_deps *deps, int src, const touch *a, int dst,
                             const touch *b, const int *position) {
    ctune_dep *dep = deps_append(deps);
    const ctune_stmt *from = &deps->source->stmts[src], *to = &deps->source->stmts[dst];
    int n_common = count_common(from, to);
    isl_basic_map **pieces = CTUNE_NEW_ARRAY(deps->arena, isl_basic_map *, n_common + 1);
    if (dep == NULL || pieces == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for dependences");
    }
    dep->src = src;
    dep->dst = dst;
    dep->tensor = a->access->tensor;
    dep->kinds = (a->writes && b->reads ? CTUNE_DEP_FLOW : 0) |
                 (a->reads && b->writes ? CTUNE_DEP_ANTI : 0) |
                 (a->writes && b->writes ? CTUNE_DEP_OUTPUT : 0);
    dep->can_drop = may_commute(deps->region, src, a, dst, b);
    dep->pieces = pieces;
    isl_basic_map *same = isl_basic_map_apply_range(
        isl_basic_map_copy(a->map), isl_basic_map_reverse(isl_basic_map_copy(b->map)));
    same = isl_basic_map_intersect_domain(same, isl_basic_set_copy(deps->domains[src]));
    same = isl_basic_map_intersect_range(same, isl_basic_set_copy(deps->domains[dst]));
    split_levels(dep, same, n_common, position[src] < position[dst]);
    deps->n_deps += dep->n_pieces > 0;
    return CTUNE_OK;
}

static ctune_status add_pairs(ctune_ctx *ctx, ctune_deps *deps, const touches *lists,
                              const int *position) {
    int n_stages = deps->region->n_stages;
    for (int s = 0; s < n_stages; s++) {
        for (int d = 0; d < n_stages; d++) {
            for (int i = 0; i < lists[s].n * lists[d].n; i++) {
                const touch *a = &lists[s].touch[i / lists[d].n];
                const touch *b = &lists[d].touch[i % lists[d].n];
                if (a->access->tensor != b->access->tensor || !(a->writes || b->writes)) {
                    continue;
                }
                ctune_status status = add_pair(ctx, deps, s, a, d, b, position);
                if (status != CTUNE_OK || isl_ctx_last_error(deps->isl) != isl_error_none) {
                    return status;
                }
            }
        }
    }
    return CTUNE_OK;
}

/* ---- handle ---------------------------------------------------------------------------------- */

static ctune_status compute(ctune_ctx *ctx, ctune_deps *deps) {
    const ctune_region *region = deps->region;
    touches *lists = CTUNE_NEW_ARRAY(deps->arena, touches, region->n_stages + 1);
    int *position = CTUNE_NEW_ARRAY(deps->arena, int, region->n_stages + 1);
    deps->domains = CTUNE_NEW_ARRAY(deps->arena, isl_basic_set *, region->n_stages + 1);
    if (lists == NULL || position == NULL || deps->domains == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for dependences");
    }
    ctune_tree_positions(deps->source, position);
    ctune_isl_begin(deps->isl, CTUNE_BUDGET_CREATE);
    for (int s = 0; s < region->n_stages; s++) {
        deps->domains[s] = ctune_isl_stage_domain(deps, s);
    }
    ctune_status status = collect(ctx, deps, lists);
    if (status == CTUNE_OK) {
        status = add_pairs(ctx, deps, lists, position);
    }
    free_touches(region, lists);
    ctune_status isl_status = ctune_isl_end(ctx, deps->isl, "dependences");
    return status != CTUNE_OK ? status : isl_status;
}

static void send_refusal(ctune_ctx *ctx, const ctune_region *region) {
    char text[600] = "loop not tuned: ";
    strncat(text, ctx->error, sizeof text - strlen(text) - 1);
    ctune_diag diag = {.severity = CTUNE_REMARK,
                       .file = region->file,
                       .line = region->line,
                       .col = 1,
                       .code = "too-complex",
                       .text = text,
                       .hint = "put the pragma over fewer or simpler loops"};
    ctune_diag_send(ctx, &diag);
}

ctune_status ctune_deps_create(ctune_ctx *ctx, const ctune_region *region, ctune_deps **out) {
    *out = NULL;
    ctune_deps *deps = calloc(1, sizeof *deps);
    if (deps == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for dependences");
    }
    deps->region = region;
    deps->arena = ctune_arena_create(ctx);
    deps->isl = isl_ctx_alloc();
    if (deps->arena == NULL || deps->isl == NULL) {
        ctune_deps_destroy(deps);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for dependences");
    }
    isl_options_set_on_error(deps->isl, ISL_ON_ERROR_CONTINUE);
    ctune_status status = ctune_tree_from_source(ctx, region, &deps->source);
    if (status == CTUNE_OK) {
        status = compute(ctx, deps);
    }
    if (status != CTUNE_OK) {
        ctune_deps_destroy(deps);
        if (status == CTUNE_EREFUSED) {
            send_refusal(ctx, region);
        }
        return status;
    }
    *out = deps;
    return CTUNE_OK;
}

void ctune_deps_destroy(ctune_deps *deps) {
    if (deps == NULL) {
        return;
    }
    for (int i = 0; i < deps->n_deps; i++) {
        for (int p = 0; p < deps->deps[i].n_pieces; p++) {
            isl_basic_map_free(deps->deps[i].pieces[p]);
        }
    }
    for (int s = 0; deps->domains != NULL && s < deps->region->n_stages; s++) {
        isl_basic_set_free(deps->domains[s]);
    }
    free(deps->deps);
    ctune_tree_destroy(deps->source);
    isl_ctx_free(deps->isl);
    ctune_arena_destroy(deps->arena);
    free(deps);
}

/* ---- dump ------------------------------------------------------------------------------------ */

/* The difference at a level: its value when it has only one, else the signs that occur. */
static void print_level(const isl_basic_map *pairs, int level, ctune_text *out) {
    static const char *const names[8] = {"none", "+", "0", "0+", "-", "+-", "0-", "*"};
    static const int signs[] = {CTUNE_SIGN_POS, CTUNE_SIGN_ZERO, CTUNE_SIGN_NEG};
    isl_map *map = isl_map_from_basic_map(isl_basic_map_copy((isl_basic_map *)pairs));
    map = isl_map_project_out(map, isl_dim_in, (unsigned)level + 1,
                              (unsigned)(isl_map_dim(map, isl_dim_in) - level - 1));
    map = isl_map_project_out(map, isl_dim_out, (unsigned)level + 1,
                              (unsigned)(isl_map_dim(map, isl_dim_out) - level - 1));
    isl_set *deltas = isl_map_deltas(
        isl_map_set_tuple_name(isl_map_set_tuple_name(map, isl_dim_in, "L"), isl_dim_out, "L"));
    deltas = isl_set_detect_equalities(deltas);
    isl_val *value = isl_set_plain_get_val_if_fixed(deltas, isl_dim_set, (unsigned)level);
    if (value != NULL && isl_val_is_int(value) == isl_bool_true) {
        ctune_text_printf(out, "%ld", isl_val_get_num_si(value));
    } else {
        int mask = 0;
        for (int s = 0; s < 3; s++) {
            isl_basic_map *part = isl_basic_map_copy((isl_basic_map *)pairs);
            part = ctune_isl_compare(part, level, level, signs[s]);
            mask |= isl_basic_map_is_empty(part) == isl_bool_false ? signs[s] : 0;
            isl_basic_map_free(part);
        }
        ctune_text_append(out, names[mask]);
    }
    isl_val_free(value);
    isl_set_free(deltas);
}

static void print_kinds(int kinds, ctune_text *out) {
    static const char *const names[] = {"flow", "anti", "output"};
    const char *comma = "";
    for (int k = 0; k < 3; k++) {
        if (kinds & (1 << k)) {
            ctune_text_printf(out, "%s%s", comma, names[k]);
            comma = ",";
        }
    }
}

static void print_dep(const ctune_deps *deps, const ctune_dep *dep, ctune_text *out) {
    const ctune_region *region = deps->region;
    const ctune_stmt *stmts = deps->source->stmts;
    int n_common = count_common(&stmts[dep->src], &stmts[dep->dst]);
    for (int p = 0; p < dep->n_pieces; p++) {
        print_kinds(dep->kinds, out);
        ctune_text_printf(out, " %s %s -> %s (", region->tensors[dep->tensor].name,
                          region->stages[dep->src].name, region->stages[dep->dst].name);
        for (int level = 0; level < n_common; level++) {
            ctune_text_append(out, level > 0 ? ", " : "");
            print_level(dep->pieces[p], level, out);
        }
        ctune_text_append(out, dep->can_drop ? ") reduction\n" : ")\n");
    }
}

void ctune_deps_print(const ctune_deps *deps, ctune_text *out) {
    ctune_isl_begin(deps->isl, CTUNE_BUDGET_CREATE);
    for (int i = 0; i < deps->n_deps; i++) {
        print_dep(deps, &deps->deps[i], out);
    }
    ctune_bound_end(deps->isl);
}
