/*
 * Blocked structures: forms for nests whose reduction is ordered by what the nest itself computes
 * (factorisations, triangular solves).
 *
 * In: a program. Out: the structural primitives of one form, with @ where the block size belongs,
 * found by trial on exact dependences, nothing else:
 *
 *   1. block loops over what the indices of the heaviest statement's target run over;
 *   2. its reductions, and those of the statements beside it, split where what they read begins to
 *      lie in the block, so that the part whose operands are final leaves the rest of its tile by
 *      distribution. Where two operands become final at two ends (a reduction whose order is free:
 *      the best split of an interval), it is split at both, in blocks of a register tile's rows;
 *   3. loops split where a tile meets the diagonal, so that the rest are full tiles;
 *   4. loops of what is left that carry nothing moved inside all others: rows in lanes.
 *
 * A variant is worth having when most of the work leaves its tiles.
 * Where none is, strips: a step that updates all later columns (k in k < j) is turned round, so
 * that a block of columns, which fits a cache, gets all steps before its own at once.
 */
#include "search/space/space_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANE_ROWS = 8, MAX_TRIES = 24, TRIAL_FACTOR = 16, MAX_SUM = 6 };

typedef char loop_name[CTUNE_NAME_BYTES];

/* A structure in the making. */
typedef struct draft {
    ctune_ctx *ctx;
    ctune_program *program;
    ctune_tree *tree; /* owned */
    ctune_text *text; /* its primitives, with @ for the block size */
    int n_blocks;
    loop_name block[2];
    ctune_depvecs vecs;  /* of the tree as distributed; in its arena */
    bool is_careful;     /* each step is checked; else only what steps make together */
    bool is_illegal;     /* what they make together is not legal */
    int index[2];        /* of the target: what the block is over */
    const char *size[2]; /* "@", or a number */
    loop_name step;      /* the loop inside the outermost block */
    bool is_cut_twice;   /* a reduction is split for both blocks */
    ctune_status status; /* memory */
} draft;

/* ---- steps ----------------------------------------------------------------------------------- */

void blocks_fill(const char *text, int factor, ctune_text *out) {
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '@') {
            ctune_text_printf(out, "%d", factor);
        } else {
            ctune_text_append_n(out, c, 1);
        }
    }
}

static ctune_tree *try_step(draft *d, const ctune_tree *tree, const char *line) {
    ctune_schedule s;
    ctune_tree *next = NULL;
    ctune_text text;
    ctune_text_init(&text);
    blocks_fill(line, TRIAL_FACTOR, &text);
    ctune_schedule_init(&s);
    ctune_schedule_append_text(&s, ctune_text_get(&text));
    ctune_text_clear(&text);
    ctune_status status =
        s.failed ? CTUNE_EREFUSED : ctune_program_step(d->ctx, d->program, tree, &s.prim[0], &next);
    ctune_schedule_clear(&s);
    d->status = status == CTUNE_ENOMEM ? status : d->status;
    return status == CTUNE_OK ? next : NULL;
}

/* The primitive, when it is legal. */
static bool step(draft *d, const char *format, ...) CTUNE_PRINTF(2, 3);

static bool step(draft *d, const char *format, ...) {
    char line[256];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    ctune_tree *next = try_step(d, d->tree, line);
    if (next == NULL) {
        return false;
    }
    ctune_tree_destroy(d->tree);
    d->tree = next;
    ctune_text_printf(d->text, "%s\n", line);
    return true;
}

/* ---- looking at trees ------------------------------------------------------------------------ */

static int n_stmts_in(const ctune_tnode *node) {
    if (node->kind == CTUNE_TNODE_STMT) {
        return 1;
    }
    int n = 0;
    for (int k = 0; k < node->n_kids; k++) {
        n += n_stmts_in(node->kids[k]);
    }
    return n;
}

static const ctune_tnode *find_loop(const ctune_tnode *node, const ctune_tree *tree,
                                    const char *name) {
    if (node->kind == CTUNE_TNODE_LOOP && strcmp(tree->dims[node->dim].name, name) == 0) {
        return node;
    }
    for (int k = 0; k < node->n_kids; k++) {
        const ctune_tnode *found = find_loop(node->kids[k], tree, name);
        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}

static bool is_reduce_dim(const ctune_region *region, const ctune_stmt *stmt, int dim) {
    const ctune_access *target = &region->stages[stmt->stage].target;
    bool moves = ctune_stmt_is_block(region, stmt, dim);
    for (int i = 0; i < target->n_idx; i++) {
        moves = moves || ctune_stmt_moves(region, stmt, target->idx[i], dim);
    }
    return !moves;
}

static double work_of(const ctune_tree *tree, int s) {
    double work = 1;
    for (int d = 0; d < tree->stmts[s].n_dims; d++) {
        work *= tree->dims[tree->stmts[s].dims[d]].extent;
    }
    return work;
}

static int heaviest(const ctune_tree *tree) {
    int best = -1;
    for (int s = 0; s < tree->n_stmts; s++) {
        best = best < 0 || work_of(tree, s) > work_of(tree, best) ? s : best;
    }
    return best;
}

static const ctune_tnode *nest_of(const ctune_tree *tree, int stmt) {
    for (int k = 0; k < tree->root->n_kids; k++) {
        if (ctune_tnode_has_stmt(tree->root->kids[k], stmt)) {
            return tree->root->kids[k];
        }
    }
    return NULL;
}

/* Do its own dependences, inside one iteration of the blocks, run along the reduction alone? */
static bool is_permutable(const ctune_region *region, const ctune_tree *tree,
                          const ctune_depvecs *vecs, int s) {
    const ctune_stmt *stmt = &tree->stmts[s];
    for (int v = 0; v < vecs->n; v++) {
        const ctune_depvec *vec = &vecs->vec[v];
        bool is_alive = vec->src == s && vec->dst == s, moves = false;
        for (int c = 0; c < vec->n_common && is_alive; c++) {
            bool is_zero = vec->sign[c] == CTUNE_SIGN_ZERO;
            bool is_block = ctune_stmt_is_block(region, stmt, stmt->dims[c]);
            is_alive = is_zero || !is_block;
            moves = moves || (!is_zero && !is_reduce_dim(region, stmt, stmt->dims[c]));
        }
        if (is_alive && moves) {
            return false;
        }
    }
    return true;
}

/* Below the innermost block loop around it the statement is alone, with a reduction and loops that
 * may change places. */
static bool is_isolated(const ctune_region *region, const ctune_tree *tree,
                        const ctune_depvecs *vecs, int s) {
    const ctune_stmt *stmt = &tree->stmts[s];
    const ctune_tnode *node = nest_of(tree, s);
    int n_space = 0, n_reduce = 0;
    for (int d = 0; d < stmt->n_dims; d++) {
        bool is_block = ctune_stmt_is_block(region, stmt, stmt->dims[d]);
        if (!is_block && n_stmts_in(node) != 1) {
            return false;
        }
        n_reduce += is_reduce_dim(region, stmt, stmt->dims[d]);
        n_space += !is_block && !is_reduce_dim(region, stmt, stmt->dims[d]);
        const ctune_tnode *next = NULL;
        for (int k = 0; k < node->n_kids; k++) {
            next = ctune_tnode_has_stmt(node->kids[k], s) ? node->kids[k] : next;
        }
        node = next;
    }
    return n_reduce > 0 && n_space > 0 && is_permutable(region, tree, vecs, s);
}

static bool find_vecs(draft *d, ctune_tree *tree, ctune_depvecs *vecs) {
    bool legal = false;
    ctune_status status = ctune_deps_check_signs(d->ctx, d->program->deps, tree, &legal, vecs);
    d->status = status == CTUNE_ENOMEM ? status : d->status;
    d->is_illegal = d->is_illegal || !legal;
    return status == CTUNE_OK && legal;
}

static double isolated_part(const draft *d) {
    double all = 0, isolated = 0;
    for (int s = 0; s < d->tree->n_stmts; s++) {
        double work = work_of(d->tree, s);
        all += work;
        isolated += is_isolated(d->program->region, d->tree, &d->vecs, s) ? work : 0;
    }
    return all > 0 ? isolated / all : 0;
}

/* ---- 1: block loops -------------------------------------------------------------------------- */

/* The loop of the statement that index i of its target is, -1. */
static int dim_of_index(const ctune_region *region, const ctune_stmt *stmt, int i) {
    const ctune_access *target = &region->stages[stmt->stage].target;
    int found = -1, n = 0;
    for (int d = 0; d < stmt->n_dims && i < target->n_idx; d++) {
        int64_t coef = ctune_stmt_coef(region, stmt, target->idx[i], stmt->dims[d]);
        found = coef == 1 || coef == -1 ? stmt->dims[d] : found;
        n += coef != 0;
    }
    return n == 1 ? found : -1;
}

static bool is_around(const ctune_stmt *stmt, int dim) {
    for (int d = 0; d < stmt->n_dims; d++) {
        if (stmt->dims[d] == dim) {
            return true;
        }
    }
    return false;
}

/* Has a statement of the nest a loop of the sum already around it? */
static bool would_add_twice(const ctune_tree *tree, const int *sum, int n, int dim) {
    for (int s = 0; s < tree->n_stmts; s++) {
        for (int k = 0; k < n && is_around(&tree->stmts[s], dim); k++) {
            if (is_around(&tree->stmts[s], sum[k])) {
                return true;
            }
        }
    }
    return false;
}

static void add_dim(const ctune_tree *tree, int *sum, int *n, int dim) {
    bool is_wanted = dim >= 0 && *n < MAX_SUM && !would_add_twice(tree, sum, *n, dim);
    for (int t = 0; t < *n; t++) {
        is_wanted = is_wanted && sum[t] != dim;
    }
    sum[*n] = dim;
    *n += is_wanted;
}

/* Tiles of what index i of the targets runs over in the nest of statement `main`. */
static bool add_block(draft *d, const char *main, int i, const char *size) {
    const ctune_region *region = d->program->region;
    const ctune_tree *tree = d->tree;
    int sum[MAX_SUM + 1], n = 0, m = ctune_stmt_find(region, tree, main);
    const ctune_tnode *nest = nest_of(tree, m);
    int tensor = region->stages[tree->stmts[m].stage].target.tensor, top = -1;
    while (nest != NULL && nest->kind == CTUNE_TNODE_LOOP && top < 0) { /* inside older blocks */
        if (ctune_stmt_is_block(region, &tree->stmts[m], nest->dim)) {
            nest = nest->kids[0];
        } else {
            top = nest->dim;
        }
    }
    if (top < 0) {
        return false;
    }
    add_dim(tree, sum, &n, dim_of_index(region, &tree->stmts[m], i));
    for (int k = 0; k < 2 * tree->n_stmts; k++) { /* who writes the same tensor, then the others */
        const ctune_stmt *stmt = &tree->stmts[k % tree->n_stmts];
        bool is_same = region->stages[stmt->stage].target.tensor == tensor;
        if (ctune_tnode_has_stmt(nest, k % tree->n_stmts) && is_same == (k < tree->n_stmts)) {
            add_dim(tree, sum, &n, dim_of_index(region, stmt, i));
        }
    }
    if (n == 0) {
        return false;
    }
    char text[200];
    int at = 0;
    for (int t = 0; t < n; t++) {
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%s", t > 0 ? " + " : "",
                       tree->dims[sum[t]].name);
    }
    char *name = d->block[d->n_blocks];
    snprintf(name, CTUNE_NAME_BYTES, "%.16s_b", tree->dims[sum[0]].name);
    loop_name around;
    snprintf(around, sizeof around, "%s", tree->dims[top].name);
    if (!step(d, "block %s by %s -> %s at %s", text, size, name, around)) {
        return false;
    }
    if (d->n_blocks == 0) {
        memcpy(d->step, around, sizeof around);
    }
    d->index[d->n_blocks] = i;
    d->size[d->n_blocks++] = size;
    return true;
}

/* ---- 2: reductions split at the start of a block --------------------------------------------- */

static void print_terms(const ctune_region *region, const ctune_aff *aff, int sign,
                        ctune_text *out) {
    for (int t = 0; t < aff->n_terms; t++) {
        if (aff->terms[t].kind == CTUNE_TERM_PARAM) {
            int64_t coef = sign * aff->terms[t].coef;
            ctune_text_printf(out, " %c %lld*%s", coef < 0 ? '-' : '+',
                              (long long)(coef < 0 ? -coef : coef),
                              region->params[aff->terms[t].id].name);
        }
    }
}

/* Of a form: the coefficient of the only dim in it, which must be `dim` when that is >= 0; 0 when
 * it is another form. */
static int64_t only_coef(const ctune_aff *aff, int dim) {
    int64_t coef = 0;
    int n = 0;
    for (int t = 0; aff != NULL && t < aff->n_terms; t++) {
        const ctune_term *term = &aff->terms[t];
        if (term->kind == CTUNE_TERM_DIV) {
            return 0;
        }
        if (term->kind == CTUNE_TERM_AXIS) {
            n++;
            coef = dim < 0 || term->id == dim ? term->coef : 0;
        }
    }
    return n == 1 ? coef : 0;
}

/* The condition under which iterations of the reduction come before the block, or, when the loop
 * runs the other way in the target's terms, those which do not; false: no read says. */
static bool print_cut(const draft *d, int s, int dim, int b, ctune_text *out) {
    const ctune_region *region = d->program->region;
    const ctune_stmt *stmt = &d->tree->stmts[s];
    const ctune_stage *stage = &region->stages[stmt->stage];
    int i = d->index[b];
    if (i >= stage->target.n_idx) {
        return false;
    }
    ctune_arena *arena = d->tree->arena;
    const ctune_aff *to = ctune_stmt_over_dims(arena, region, stmt, stage->target.idx[i]);
    int64_t turn = only_coef(to, -1);
    for (int r = 0; r < stage->n_reads && (turn == 1 || turn == -1); r++) {
        const ctune_access *read = &stage->reads[r]->access;
        if (read->tensor != stage->target.tensor) {
            continue;
        }
        const ctune_aff *from = ctune_stmt_over_dims(arena, region, stmt, read->idx[i]);
        const ctune_aff *rest = ctune_aff_scale(arena, ctune_aff_sub(arena, from, to), turn);
        int64_t sign = turn * only_coef(from, dim);
        if (rest == NULL || (sign != 1 && sign != -1)) {
            continue;
        }
        ctune_text_printf(out, "%s %c %s*%s", d->tree->dims[dim].name, sign > 0 ? '-' : '+',
                          d->size[b], d->block[b]);
        print_terms(region, rest, (int)sign, out);
        ctune_text_printf(out, " < %lld", (long long)(sign > 0 ? -rest->c0 : rest->c0 + 1));
        return true;
    }
    return false;
}

/* The tree with the innermost reduction of statement s split for block b; NULL: not legal. */
static ctune_tree *cut(draft *d, int s, int b, ctune_text *line) {
    const ctune_stmt *stmt = &d->tree->stmts[s];
    int dim = stmt->dims[stmt->n_dims - 1];
    const char *name = d->tree->dims[dim].name;
    ctune_text_printf(line, "split_domain %s at ", name);
    if (!print_cut(d, s, dim, b, line)) {
        ctune_text_printf(line, "%s - %s*%s < 0", name, d->size[b], d->block[b]);
    }
    return line->failed ? NULL : try_step(d, d->tree, ctune_text_get(line));
}

/* Does a piece of the stage leave its tile? */
static bool has_isolated(draft *d, const ctune_tree *tree, int stage) {
    ctune_tree *parts = try_step(d, tree, "distribute");
    ctune_depvecs vecs;
    bool is_good = false;
    if (parts != NULL && find_vecs(d, parts, &vecs)) {
        for (int s = 0; s < parts->n_stmts; s++) {
            is_good = is_good || (parts->stmts[s].stage == stage &&
                                  is_isolated(d->program->region, parts, &vecs, s));
        }
    }
    if (parts != NULL) {
        ctune_tree_destroy(parts);
    }
    return is_good;
}

static void keep(draft *d, ctune_tree *tree, const char *line) {
    ctune_tree_destroy(d->tree);
    d->tree = tree;
    ctune_text_printf(d->text, "%s\n", line);
}

/* Split the reduction of the statement at the start of its block; keep that when a part leaves the
 * tile. */
static bool cut_once(draft *d, int s, int b) {
    ctune_text line;
    ctune_text_init(&line);
    ctune_tree *split = cut(d, s, b, &line);
    bool is_good = split != NULL && has_isolated(d, split, d->tree->stmts[s].stage);
    if (is_good) {
        keep(d, split, ctune_text_get(&line));
    } else if (split != NULL) {
        ctune_tree_destroy(split);
    }
    ctune_text_clear(&line);
    return is_good;
}

/* Split it for block b, then one of the parts for the other block. */
static bool cut_twice(draft *d, int s, int b) {
    ctune_text line;
    ctune_tree *whole = d->tree, *split;
    int stage = whole->stmts[s].stage;
    bool is_good = false;
    ctune_text_init(&line);
    split = cut(d, s, b, &line);
    for (int k = split == NULL ? 0 : split->n_stmts - 1; k >= 0 && split != NULL && !is_good; k--) {
        if (split->stmts[k].stage != stage) {
            continue;
        }
        ctune_text second;
        ctune_text_init(&second);
        d->tree = split;
        ctune_tree *both = cut(d, k, 1 - b, &second);
        is_good = both != NULL && has_isolated(d, both, stage);
        d->tree = whole;
        if (is_good) {
            keep(d, both, ctune_text_get(&line));
            ctune_text_printf(d->text, "%s\n", ctune_text_get(&second));
        } else if (both != NULL) {
            ctune_tree_destroy(both);
        }
        ctune_text_clear(&second);
    }
    if (split != NULL) {
        ctune_tree_destroy(split);
    }
    ctune_text_clear(&line);
    return is_good;
}

static void split_reductions(draft *d, bool may_cut_twice) {
    const ctune_region *region = d->program->region;
    int n = d->tree->n_stmts;
    for (int s = 0; s < n; s++) {
        const ctune_stmt *of = &d->tree->stmts[s];
        int inner = of->n_dims > 0 ? of->dims[of->n_dims - 1] : -1;
        if (inner < 0 || !is_reduce_dim(region, of, inner) || of->n_dims <= d->n_blocks + 1) {
            continue;
        }
        bool is_done = false;
        for (int b = 0; b < d->n_blocks && !is_done; b++) {
            is_done = cut_once(d, s, b);
        }
        for (int b = 0; may_cut_twice && b < 2 && !is_done; b++) {
            is_done = cut_twice(d, s, b);
            d->is_cut_twice = d->is_cut_twice || is_done;
        }
    }
}

/* ---- 3: the diagonal ------------------------------------------------------------------------- */

/* Name of the loop right after loop `name` in the same body. */
static bool next_loop(const ctune_tnode *node, const ctune_tree *tree, const char *name,
                      loop_name out) {
    for (int k = 0; k < node->n_kids; k++) {
        const ctune_tnode *kid = node->kids[k];
        if (kid->kind != CTUNE_TNODE_LOOP) {
            continue;
        }
        if (strcmp(tree->dims[kid->dim].name, name) == 0 && k + 1 < node->n_kids &&
            node->kids[k + 1]->kind == CTUNE_TNODE_LOOP) {
            snprintf(out, CTUNE_NAME_BYTES, "%s", tree->dims[node->kids[k + 1]->dim].name);
            return true;
        }
        if (next_loop(kid, tree, name, out)) {
            return true;
        }
    }
    return false;
}

/* Inner blocks before, at and after the outer one's number. */
static void split_blocks(draft *d) {
    loop_name second;
    if (step(d, "split_domain %s at %s - %s < 0", d->block[1], d->block[1], d->block[0]) &&
        next_loop(d->tree->root, d->tree, d->block[1], second)) {
        (void)step(d, "split_domain %s at %s - %s < 1", second, second, d->block[0]);
    } else {
        (void)step(d, "split_domain %s at %s - %s < 1", d->block[1], d->block[1], d->block[0]);
    }
}

/* Loops directly inside the block that reach beyond its tile: first inside, then beyond. */
static void split_tiles(draft *d) {
    loop_name names[MAX_TRIES];
    int n = 0;
    const ctune_tnode *block = find_loop(d->tree->root, d->tree, d->block[0]);
    for (int k = 0; block != NULL && k < block->n_kids && n < MAX_TRIES; k++) {
        const ctune_tnode *kid = block->kids[k];
        if (kid->kind == CTUNE_TNODE_LOOP && d->tree->dims[kid->dim].extent > 2 * TRIAL_FACTOR) {
            snprintf(names[n++], sizeof *names, "%s", d->tree->dims[kid->dim].name);
        }
    }
    for (int k = 0; k < n; k++) {
        (void)step(d, "split_domain %s at %s - @*%s < @", names[k], names[k], d->block[0]);
    }
}

/* ---- 4: rows in lanes ------------------------------------------------------------------------ */

/* Does no dependence between the statements of the loop, with equal outer iterations, differ
 * there? */
static bool carries_nothing(const ctune_depvecs *vecs, const ctune_tree *tree,
                            const ctune_tnode *loop) {
    for (int v = 0; v < vecs->n; v++) {
        const ctune_depvec *vec = &vecs->vec[v];
        if (!ctune_tnode_has_stmt(loop, vec->src) || !ctune_tnode_has_stmt(loop, vec->dst)) {
            continue;
        }
        bool is_alive = true;
        for (int c = 0; c < vec->n_common && is_alive; c++) {
            if (tree->stmts[vec->src].dims[c] == loop->dim) {
                if (vec->sign[c] != CTUNE_SIGN_ZERO) {
                    return false;
                }
                break;
            }
            is_alive = vec->sign[c] == CTUNE_SIGN_ZERO;
        }
    }
    return true;
}

/* Outermost loops that are no blocks, hold several statements in loops of their own, and carry
 * nothing. */
static void find_rows(const draft *d, const ctune_depvecs *vecs, const ctune_tnode *node,
                      loop_name *names, int *n) {
    for (int k = 0; k < node->n_kids; k++) {
        const ctune_tnode *kid = node->kids[k];
        if (kid->kind != CTUNE_TNODE_LOOP || n_stmts_in(kid) < 2) {
            continue;
        }
        bool is_block = true;
        for (int s = 0; s < d->tree->n_stmts; s++) {
            is_block =
                is_block && (!ctune_tnode_has_stmt(kid, s) ||
                             ctune_stmt_is_block(d->program->region, &d->tree->stmts[s], kid->dim));
        }
        if (!is_block && *n < MAX_TRIES && kid->n_kids > 0 &&
            kid->kids[0]->kind == CTUNE_TNODE_LOOP && carries_nothing(vecs, d->tree, kid)) {
            snprintf(names[(*n)++], CTUNE_NAME_BYTES, "%s", d->tree->dims[kid->dim].name);
        } else if (is_block) {
            find_rows(d, vecs, kid, names, n);
        }
    }
}

static void sink_rows(draft *d) {
    loop_name names[MAX_TRIES];
    int n = 0;
    find_rows(d, &d->vecs, d->tree->root, names, &n);
    for (int k = 0; k < n; k++) {
        const ctune_tnode *loop = find_loop(d->tree->root, d->tree, names[k]);
        if (loop != NULL && d->tree->dims[loop->dim].extent > LANE_ROWS) {
            (void)step(d, "block %s by %d -> %.16s_r at %s", names[k], LANE_ROWS, names[k],
                       names[k]);
        }
        (void)step(d, "sink %s", names[k]);
    }
}

/* ---- variants -------------------------------------------------------------------------------- */

/* What most of the work does: leaves its tiles; lies between two ends; waits in strips. */
typedef enum variant_kind { LEAVE, MIDDLE, STRIPS } variant_kind;

/* Block loops, outermost first: over which index of the target, how large. */
typedef struct variant {
    int n;
    int index[2];
    const char *size[2];
    variant_kind kind;
} variant;

static ctune_status begin(draft *d, ctune_ctx *ctx, ctune_program *program, ctune_text *text) {
    *d = (draft){.ctx = ctx, .program = program, .text = text};
    return ctune_tree_from_source(ctx, program->region, &d->tree);
}

static void end(draft *d) {
    if (d->tree != NULL) {
        ctune_tree_destroy(d->tree);
    }
    d->tree = NULL;
}

/* Distributes the draft, and finds the vectors of what that gives. */
static bool distribute(draft *d) {
    return step(d, "distribute") && find_vecs(d, d->tree, &d->vecs);
}

/* The part of the work that leaves its tiles; the draft is filled as far as it goes. */
static double build(draft *d, const variant *v) {
    const ctune_region *region = d->program->region;
    loop_name main;
    snprintf(main, sizeof main, "%s", ctune_stmt_name(region, d->tree, heaviest(d->tree)));
    for (int b = 0; b < v->n; b++) {
        if (!add_block(d, main, v->index[b], v->size[b])) {
            return 0;
        }
    }
    split_reductions(d, v->kind == MIDDLE);
    if (v->kind == MIDDLE && !d->is_cut_twice) {
        return 0;
    }
    if (v->n == 2 && v->kind == LEAVE) {
        split_blocks(d);
    }
    if (!distribute(d)) {
        d->is_illegal = true;
        return 0;
    }
    double part = isolated_part(d);
    if (v->n == 1) {
        split_tiles(d);
        if (!distribute(d)) {
            d->is_illegal = true;
            return part;
        }
    }
    size_t n_before = d->text->len;
    sink_rows(d);
    if (!d->is_careful && d->text->len > n_before) {
        ctune_depvecs unused;
        (void)find_vecs(d, d->tree, &unused);
    }
    return part;
}

/* Work of the statements in the loop of that name. */
static double work_in(const draft *d, const char *name) {
    const ctune_tnode *loop = find_loop(d->tree->root, d->tree, name);
    double work = 0;
    for (int s = 0; s < d->tree->n_stmts && loop != NULL; s++) {
        work += ctune_tnode_has_stmt(loop, s) ? work_of(d->tree, s) : 0;
    }
    return work;
}

/* Strips over index i of the target: the part of the work in steps before the strip's own. */
static double build_strips(draft *d, int i) {
    loop_name main;
    snprintf(main, sizeof main, "%s",
             ctune_stmt_name(d->program->region, d->tree, heaviest(d->tree)));
    if (!add_block(d, main, i, "@") ||
        !step(d, "split_domain %s at %s - @*%s < 0", d->step, d->step, d->block[0])) {
        return 0;
    }
    double before = work_in(d, d->step), all = 0;
    for (int s = 0; s < d->tree->n_stmts; s++) {
        all += work_of(d->tree, s);
    }
    if (!distribute(d)) {
        d->is_illegal = true;
        return 0;
    }
    return before / (all > 0 ? all : 1);
}

static double build_variant(draft *d, const variant *v) {
    return v->kind == STRIPS ? build_strips(d, v->index[0]) : build(d, v);
}

/* The same, into an empty text. Steps are checked together; where that fails, one by one. */
static ctune_status try_build(ctune_ctx *ctx, ctune_program *program, const variant *v,
                              ctune_text *text, double *part) {
    draft d;
    ctune_status status = begin(&d, ctx, program, text);
    bool was_deferred = ctune_deps_defer(program->deps, true);
    *part = status == CTUNE_OK ? build_variant(&d, v) : 0;
    ctune_deps_defer(program->deps, was_deferred);
    if (status == CTUNE_OK && d.status == CTUNE_OK && d.is_illegal) {
        end(&d);
        ctune_text_clear(text);
        ctune_text_init(text);
        status = begin(&d, ctx, program, text);
        d.is_careful = true;
        *part = status == CTUNE_OK ? build_variant(&d, v) : 0;
    }
    status = status == CTUNE_OK ? d.status : status;
    end(&d);
    return status;
}

/* May the chain be a register tile of two dims, or are its loops all there are? */
static bool is_free_chain(const form_space *fs, const chain *c) {
    int n_space = 0;
    for (int d = 0; d < c->m; d++) {
        n_space += !(c->reduce >> d & 1);
    }
    bool is_whole = c->n_outer == 0 && fs->base.node[c->node[0]].parent == 0;
    return c->rigid == 0 && chain_find_shape(c, SHAPE_REGISTER) >= 0 && (n_space >= 2 || is_whole);
}

/* Has a form most of its work in nests that need no blocks? */
static bool is_free(const ctune_space *space) {
    for (int f = 0; f < space->n_forms; f++) {
        const form_space *fs = space->form[f];
        double all = 0, free = 0;
        for (int k = 0; k < fs->n_chains; k++) {
            const chain *c = fs->chain[k];
            all += c->m > 0 ? c->work : 0;
            free += c->m > 0 && is_free_chain(fs, c) ? c->work : 0;
        }
        if (free > 0.5 * all) {
            return true;
        }
    }
    return false;
}

/* May the statement's reduction run in any order? */
static bool has_free_order(const ctune_region *region, const ctune_stage *stage) {
    return ctune_update_get(stage->update)->is_assoc &&
           (!ctune_type_is_float(stage->calc) || ctune_stage_may_reassoc(region, stage));
}

/* Variants of one kind; *best is the part of the work of the one in out. */
static ctune_status try_kind(ctune_ctx *ctx, ctune_program *program, variant_kind kind, int n_idx,
                             double *best, ctune_text *out) {
    static const variant variants[] = {
        {1, {1, 0}, {"@", NULL}, LEAVE},  {1, {0, 0}, {"@", NULL}, LEAVE},
        {2, {1, 0}, {"@", "@"}, LEAVE},   {2, {0, 1}, {"@", "@"}, LEAVE},
        {2, {1, 0}, {"@", "8"}, MIDDLE},  {2, {0, 1}, {"8", "@"}, MIDDLE},
        {1, {1, 0}, {"@", NULL}, STRIPS}, {1, {0, 0}, {"@", NULL}, STRIPS},
    };
    ctune_status status = CTUNE_OK;
    for (size_t k = 0; k < sizeof variants / sizeof *variants && status == CTUNE_OK; k++) {
        const variant *v = &variants[k];
        if (v->kind != kind || *best > (kind == STRIPS ? 0.5 : 0.8) || v->index[0] >= n_idx ||
            v->index[v->n - 1] >= n_idx) {
            continue;
        }
        ctune_text text;
        double part;
        ctune_text_init(&text);
        status = try_build(ctx, program, v, &text, &part);
        if (status == CTUNE_OK && part > *best) {
            *best = part;
            ctune_text_clear(out);
            *out = text;
        } else {
            ctune_text_clear(&text);
        }
    }
    return status;
}

ctune_status blocks_propose(ctune_ctx *ctx, const ctune_space *space, ctune_text *out) {
    ctune_program *program = space->program;
    const ctune_tree *source = program->form[0]->tree;
    int main = heaviest(source);
    if (main < 0 || is_free(space)) {
        return CTUNE_OK;
    }
    const ctune_stage *stage = &program->region->stages[source->stmts[main].stage];
    bool is_reorderable = has_free_order(program->region, stage);
    double best = 0.5;
    ctune_status status = CTUNE_OK;
    for (int kind = is_reorderable ? MIDDLE : LEAVE; kind >= 0 && status == CTUNE_OK; kind--) {
        status = try_kind(ctx, program, (variant_kind)kind, stage->target.n_idx, &best, out);
    }
    return status == CTUNE_OK ? try_kind(ctx, program, STRIPS, stage->target.n_idx, &best, out)
                              : status;
}
