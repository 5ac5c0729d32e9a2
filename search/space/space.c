/*
 * The space: its forms, and the public operations on points.
 *
 * In: a program (region with dependences). The forms are the source's structure, its distribution,
 * what isl's scheduler proposes, and blocks of nests with ordered reductions (blocks.c); structures
 * that are not legal or that equal an earlier one are dropped. Everything after creation is plain
 * array work without isl.
 */
#include "search/space/space_private.h"

#include "search/bound/bound.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static void form_space_destroy(form_space *fs) {
    if (fs == NULL) {
        return;
    }
    for (int k = 0; k < fs->n_chains; k++) {
        free(fs->chain[k]);
    }
    ctune_schedule_clear(&fs->prefix);
    free(fs);
}

/* The form of the space with that tree and no parts in tiles; -1. */
static int find_form(const ctune_space *space, const ctune_form *form) {
    for (int f = 0; f < space->n_forms; f++) {
        if (space->form[f]->parts.n_loops == 0 &&
            ctune_tree_is_equal(space->form[f]->form->tree, form->tree)) {
            return f;
        }
    }
    return -1;
}

/* Entries (search/bound) that structures may cost, 20 to 200 ns each: all but the source's own
 * together, and each step of a blocked one. Of tests/kernels adi needs 24 million, all others less
 * than 10; blocks are worth 4 where they are found. What is dearer the space goes without. */
enum { FORMS_ENTRIES = 30 * 1000 * 1000, BLOCKS_ENTRIES = 6 * 1000 * 1000 };

/* What follows costs at most so many entries, and no more than the space has left. */
static long bound_begin(ctune_space *space, long most) {
    long entries = space->entries_left < most ? space->entries_left : most;
    ctune_bound_share(entries > 0 ? entries : 0);
    return entries > 0 ? entries : 0;
}

static void bound_end(ctune_space *space, long begun) {
    space->entries_left -= begun - ctune_bound_share(-1);
}

/* A structure that cannot be had is no error: the space goes without it. */
static ctune_status add_form(ctune_ctx *ctx, ctune_space *space, const char *prefix, long most) {
    const ctune_form *form = NULL;
    form_space *fs = calloc(1, sizeof *fs);
    ctune_status status;
    if (fs == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    status = ctune_schedule_parse(ctx, prefix, &fs->prefix);
    if (status == CTUNE_OK) {
        long begun = bound_begin(space, most);
        status = ctune_program_form(ctx, space->program, &fs->prefix, &form);
        bound_end(space, begun);
    }
    bool is_wanted =
        status == CTUNE_OK && space->n_forms < MAX_SPACE_FORMS && find_form(space, form) < 0;
    if (!is_wanted) {
        form_space_destroy(fs);
        return status == CTUNE_ENOMEM ? status : CTUNE_OK;
    }
    fs->form = form;
    ctune_nest_init(&fs->base, space->program->region, form);
    if (!ctune_nest_check_loads(&fs->base, NULL, 0)) { /* a structure that reads bounds too early */
        form_space_destroy(fs);
        return CTUNE_OK;
    }
    space->form[space->n_forms++] = fs;
    status = chains_find(ctx, space, space->n_forms - 1);
    if (status == CTUNE_OK) {
        rows_find(space, fs);
        bands_find(fs, space->target->openmp && !space->program->region->serial);
    }
    return status;
}

/* The parts of a form's heaviest body, tile by tile, or stages placed in tiles of what reads them:
 * up to three forms. */
static ctune_status add_parts(ctune_ctx *ctx, ctune_space *space, int form, bool is_placed) {
    ctune_status status = CTUNE_OK;
    for (int which = 0; which < 3 && status == CTUNE_OK && space->n_forms < MAX_SPACE_FORMS;
         which++) {
        const form_space *from = space->form[form];
        form_space *fs = calloc(1, sizeof *fs);
        if (fs == NULL) {
            return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
        }
        fs->form = from->form;
        for (int k = 0; k < from->prefix.n; k++) {
            ctune_schedule_append(&fs->prefix, &from->prefix.prim[k]);
        }
        int n = is_placed ? placed_propose(&from->base, which, &fs->base, &fs->parts)
                          : parts_propose(&from->base, which, &fs->base, &fs->parts);
        if (n == 0 || fs->prefix.failed) {
            form_space_destroy(fs);
            continue;
        }
        space->form[space->n_forms++] = fs;
        status = chains_find(ctx, space, space->n_forms - 1);
    }
    return status;
}

/* Nests fused as far as it goes, and what has parts: the source's order, or the fused one. */
static ctune_status add_fused(ctune_ctx *ctx, ctune_space *space) {
    ctune_text prefix;
    ctune_text_init(&prefix);
    ctune_schedule schedule;
    const ctune_form *fused = NULL;
    ctune_schedule_init(&schedule);
    ctune_status status = fused_prefix(ctx, space, &prefix);
    bool is_fused = status == CTUNE_OK && ctune_text_get(&prefix)[0] != '\0';
    if (is_fused) {
        status = add_form(ctx, space, ctune_text_get(&prefix), FORMS_ENTRIES);
    }
    if (is_fused && status == CTUNE_OK) {
        status = ctune_schedule_parse(ctx, ctune_text_get(&prefix), &schedule);
    }
    if (is_fused && status == CTUNE_OK) {
        status = ctune_program_form(ctx, space->program, &schedule, &fused);
    }
    ctune_text_clear(&prefix);
    ctune_schedule_clear(&schedule);
    if (status != CTUNE_OK) {
        return status == CTUNE_EREFUSED ? CTUNE_OK : status;
    }
    int form = fused == NULL ? 0 : find_form(space, fused);
    if (form >= 0 && space->n_forms > 0) {
        status = add_parts(ctx, space, form, false);
    }
    return status == CTUNE_OK && space->n_forms > 0 ? add_parts(ctx, space, 0, true) : status;
}

static ctune_status add_pieces(ctune_ctx *ctx, ctune_space *space) {
    ctune_schedule prefix;
    ctune_text text;
    ctune_schedule_init(&prefix);
    ctune_text_init(&text);
    ctune_status status = space->n_forms == 0
                              ? CTUNE_OK
                              : pieces_propose(ctx, space->program, space->form[0]->form, &prefix);
    ctune_schedule_print(&prefix, &text);
    if (status == CTUNE_OK && prefix.n > 0) {
        status = text.failed ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory")
                             : add_form(ctx, space, ctune_text_get(&text), FORMS_ENTRIES);
    }
    ctune_text_clear(&text);
    ctune_schedule_clear(&prefix);
    return status;
}

/* Blocks of one and two register tiles' width, and deeper. */
static ctune_status add_blocked_forms(ctune_ctx *ctx, ctune_space *space) {
    static const int factors[] = {16, 32, 64};
    ctune_text blocked;
    ctune_text_init(&blocked);
    long begun = bound_begin(space, BLOCKS_ENTRIES);
    ctune_status status = blocks_propose(ctx, space, &blocked);
    bound_end(space, begun);
    for (size_t k = 0; k < sizeof factors / sizeof *factors && blocked.len > 0; k++) {
        ctune_text prefix;
        ctune_text_init(&prefix);
        blocks_fill(ctune_text_get(&blocked), factors[k], &prefix);
        if (status == CTUNE_OK) {
            status = add_form(ctx, space, ctune_text_get(&prefix), BLOCKS_ENTRIES);
        }
        ctune_text_clear(&prefix);
    }
    ctune_text_clear(&blocked);
    return status;
}

static ctune_status add_borders(ctune_ctx *ctx, ctune_space *space) {
    ctune_text prefix;
    ctune_text_init(&prefix);
    ctune_status status = borders_prefix(ctx, space, &prefix);
    if (status == CTUNE_OK && ctune_text_get(&prefix)[0] != '\0') {
        status = add_form(ctx, space, ctune_text_get(&prefix), FORMS_ENTRIES);
    }
    ctune_text_clear(&prefix);
    return status;
}

ctune_status ctune_space_create(ctune_ctx *ctx, ctune_program *program, const ctune_target *target,
                                ctune_space **out) {
    static const char *const prefixes[] = {"", "distribute", "polyhedral smart", "polyhedral max",
                                           "polyhedral min"};
    ctune_space *space = calloc(1, sizeof *space);
    ctune_status status = CTUNE_OK;
    if (space == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    space->program = program;
    space->target = target;
    space->entries_left = FORMS_ENTRIES;
    space->vector_bytes = target->vector_bytes < 16 ? 16 : target->vector_bytes;
    for (size_t k = 0; k < sizeof prefixes / sizeof *prefixes && status == CTUNE_OK; k++) {
        status = add_form(ctx, space, prefixes[k], FORMS_ENTRIES);
    }
    if (status == CTUNE_OK) {
        status = add_fused(ctx, space);
    }
    if (status == CTUNE_OK) {
        status = add_pieces(ctx, space);
    }
    if (status == CTUNE_OK) {
        status = add_blocked_forms(ctx, space);
    }
    if (status == CTUNE_OK) {
        status = add_borders(ctx, space);
    }
    if (status == CTUNE_OK && space->n_forms == 0) {
        status = ctune_fail(ctx, CTUNE_EBUG, "the source's own structure is not in the space");
    }
    if (status != CTUNE_OK) {
        ctune_space_destroy(space);
        return status;
    }
    slots_assign(space);
    *out = space;
    return CTUNE_OK;
}

void ctune_space_destroy(ctune_space *space) {
    if (space == NULL) {
        return;
    }
    for (int f = 0; f < space->n_forms; f++) {
        form_space_destroy(space->form[f]);
    }
    free(space);
}

int ctune_space_n_decisions(const ctune_space *space) {
    return space->n_decisions;
}

int ctune_space_n_choices(const ctune_space *space, int i_decision) {
    return space->decision[i_decision].n_choices;
}

const char *ctune_space_name(const ctune_space *space, int i_decision) {
    return space->decision[i_decision].name;
}

static double n_at(int slot, int n) {
    return slot < 0 ? 1 : n;
}

static double band_size(const band *b) {
    double size = n_at(b->slot, b->n_sizes);
    for (int k = 0; k < b->n; k++) {
        size *= n_at(b->tile[k].slot, b->tile[k].n_sizes);
    }
    return 1 + size * (b->may_wave ? 2 : 1);
}

static double chain_size(const chain *c) {
    double par = n_at(c->slots.par, N_PAR_CHOICES) * n_at(c->slots.rows, c->n_rows);
    if (c->m == 0 || c->slots.shape < 0) {
        return par;
    }
    double tiles =
        n_at(c->slots.torder, c->perms.n_perms) * n_at(c->slots.porder, c->perms.n_perms);
    for (int d = 0; d < c->m; d++) {
        tiles *= n_at(c->slots.cache[d], c->n_cache[d]);
    }
    double lanes = 1 + (n_at(c->slots.v, c->n_v) - 1) * n_at(c->slots.lanes, c->n_lanes);
    double unroll = 1 + (n_at(c->slots.u[0], c->n_u) - 1) * N_UNROLL;
    double unroll2 = 1 + (n_at(c->slots.u[1], c->n_u) - 1) * N_UNROLL2;
    double plain = tiles * lanes * unroll * unroll2, slide = n_at(c->slots.slide, 2);
    double wave =
        c->wave.skew > 0 ? n_at(c->slots.wave, c->wave.n_sizes) * n_at(c->slots.skew, 2) : 0;
    return par *
           (slide + plain + tiles * (slide - 1) + wave +
            (chain_find_shape(c, SHAPE_REGISTER) > 0
                 ? plain * pow(N_PACK_CHOICES, c->n_packs) * n_at(c->slots.reduce, N_UNROLL_REDUCE)
                 : 0));
}

double ctune_space_size(const ctune_space *space) {
    double size = 0;
    for (int f = 0; f < space->n_forms; f++) {
        double points = 1;
        for (int k = 0; k < space->form[f]->n_chains; k++) {
            points *= chain_size(space->form[f]->chain[k]);
        }
        for (int k = 0; k < space->form[f]->n_bands; k++) {
            points *= band_size(&space->form[f]->band[k]);
        }
        const form_parts *p = &space->form[f]->parts;
        for (int t = 0; t < p->n; t++) {
            points *= n_at(p->tile[t].slot, p->tile[t].n_sizes);
        }
        points *= p->n_loops > 0 ? n_at(p->order_slot, p->perms.n_perms) : 1;
        size += points;
    }
    return size;
}

int point_form(const ctune_space *space, const ctune_point *point) {
    int form = point->n > 0 ? point->decision[0] % space->n_forms : 0;
    return form < 0 ? form + space->n_forms : form;
}

/* ---- points ---- */

static void find_active(const ctune_space *space, const ctune_point *point, active_list *list) {
    int form = point_form(space, point);
    plan p;
    plan_band pb;
    list->n = 0;
    list->item[list->n++] = (active){0, (int16_t)space->n_forms, (int16_t)form};
    plan_parts pp;
    plan_decode_parts(&space->form[form]->parts, point, &pp, list);
    int16_t rows[MAX_CHAINS];
    int n_rows = 0;
    for (int k = 0; k < space->form[form]->n_chains; k++) {
        const chain *c = space->form[form]->chain[k];
        if (rows_hold(space->form[form], c, n_rows, rows)) {
            continue;
        }
        plan_decode(c, point, &p, list);
        if (p.rows > 0) {
            rows[n_rows++] = c->outer[c->n_outer - 1];
        }
    }
    for (int k = 0; k < space->form[form]->n_bands; k++) {
        plan_decode_band(&space->form[form]->band[k], point, &pb, list);
    }
}

static void from_active(const ctune_space *space, const active_list *list, ctune_point *out) {
    memset(out, 0, sizeof *out);
    out->n = space->n_decisions;
    for (int k = 0; k < list->n; k++) {
        out->decision[list->item[k].slot] = list->item[k].value;
    }
}

void ctune_space_normalise(const ctune_space *space, ctune_point *point) {
    active_list list;
    find_active(space, point, &list);
    from_active(space, &list, point);
}

void ctune_space_sample(const ctune_space *space, ctune_rng *rng, ctune_point *out) {
    memset(out, 0, sizeof *out);
    out->n = space->n_decisions;
    for (int k = 0; k < space->n_decisions; k++) {
        out->decision[k] = (int16_t)ctune_rng_below(rng, (uint64_t)space->decision[k].n_choices);
    }
    ctune_space_normalise(space, out);
}

/* Sizes mostly go to a neighbour; everything else to any other choice. */
static int other_choice(const ctune_space *space, ctune_rng *rng, const active *a) {
    if (space->decision[a->slot].is_ordered && ctune_rng_below(rng, 3) != 0) {
        int step = ctune_rng_below(rng, 2) == 0 ? 1 : -1;
        int value = a->value + step;
        return value < 0 ? 1 : value >= a->n ? a->n - 2 : value;
    }
    int value = (int)ctune_rng_below(rng, (uint64_t)a->n - 1);
    return value + (value >= a->value);
}

/* Decisions that a chain's shape or an unrolled dim has just switched on start at random values. */
static void randomise_inactive(const ctune_space *space, ctune_rng *rng, const active_list *list,
                               ctune_point *point) {
    bool is_active[CTUNE_SPACE_DECISIONS] = {false};
    for (int k = 0; k < list->n; k++) {
        is_active[list->item[k].slot] = true;
    }
    for (int k = 0; k < space->n_decisions; k++) {
        if (!is_active[k]) {
            point->decision[k] =
                (int16_t)ctune_rng_below(rng, (uint64_t)space->decision[k].n_choices);
        }
    }
}

void ctune_space_mutate(const ctune_space *space, ctune_rng *rng, const ctune_point *in,
                        ctune_point *out) {
    active_list list;
    ctune_point start = *in;
    find_active(space, in, &list);
    from_active(space, &list, &start);
    *out = start;
    for (int attempt = 0; attempt < 16; attempt++) {
        const active *a = &list.item[ctune_rng_below(rng, (uint64_t)list.n)];
        if (a->n <= 1) {
            continue;
        }
        *out = start;
        randomise_inactive(space, rng, &list, out);
        out->decision[a->slot] = (int16_t)other_choice(space, rng, a);
        ctune_space_normalise(space, out);
        if (ctune_point_hash(out) != ctune_point_hash(&start)) {
            return;
        }
    }
}

uint64_t ctune_point_hash(const ctune_point *point) {
    size_t n = point->n > 0 ? (size_t)point->n : 0;
    return ctune_hash(CTUNE_HASH_INIT, point->decision, n * sizeof point->decision[0]);
}

/* ---- from points to nests and schedules ---- */

static bool build(const ctune_space *space, const ctune_point *point, ctune_nest *nest,
                  ctune_schedule *schedule) {
    const form_space *fs = space->form[point_form(space, point)];
    memcpy(nest, &fs->base,
           offsetof(ctune_nest, node) + (size_t)fs->base.n_nodes * sizeof fs->base.node[0]);
    if (fs->parts.n_loops > 0) {
        plan_parts p;
        plan_decode_parts(&fs->parts, point, &p, NULL);
        if (!parts_build(&fs->parts, &p, nest, schedule)) {
            return false;
        }
    }
    for (int k = 0; k < fs->n_bands; k++) {
        plan_band p;
        plan_decode_band(&fs->band[k], point, &p, NULL);
        if (!band_build(&fs->band[k], &p, nest, schedule)) {
            return false;
        }
    }
    int16_t rows[MAX_CHAINS];
    int n_rows = 0;
    for (int k = 0; k < fs->n_chains; k++) {
        const chain *c = fs->chain[k];
        plan p;
        if (rows_hold(fs, c, n_rows, rows)) {
            continue; /* its loops run in lanes as they are */
        }
        plan_decode(c, point, &p, NULL);
        if (!plan_is_sane(c, &p) || !plan_build(c, &p, nest, schedule)) {
            return false;
        }
        if (p.rows > 0) {
            rows[n_rows++] = c->outer[c->n_outer - 1];
        }
    }
    return true;
}

bool ctune_space_nest(const ctune_space *space, const ctune_point *point, ctune_nest *out) {
    return build(space, point, out, NULL) && ctune_nest_check(out, NULL, 0);
}

ctune_status ctune_space_schedule(ctune_ctx *ctx, const ctune_space *space,
                                  const ctune_point *point, ctune_schedule *out) {
    const form_space *fs = space->form[point_form(space, point)];
    ctune_nest nest;
    for (int k = 0; k < fs->prefix.n; k++) {
        ctune_schedule_append(out, &fs->prefix.prim[k]);
    }
    bool is_built = build(space, point, &nest, out);
    if (out->failed) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory, or too many primitives");
    }
    if (!is_built) {
        return ctune_fail(ctx, CTUNE_EREFUSED, "the point is not legal");
    }
    return CTUNE_OK;
}

bool ctune_space_rounds(const ctune_space *space) {
    return space->program->round_products;
}

ctune_status ctune_space_schedule_print(ctune_ctx *ctx, const ctune_space *space,
                                        const ctune_point *point, ctune_text *out) {
    ctune_schedule schedule;
    ctune_schedule_init(&schedule);
    ctune_status status = ctune_space_schedule(ctx, space, point, &schedule);
    if (status == CTUNE_OK) {
        ctune_text_append(out, space->program->round_products ? "round_products\n" : "");
        ctune_schedule_print(&schedule, out);
        status = out->failed ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory") : CTUNE_OK;
    }
    ctune_schedule_clear(&schedule);
    return status;
}

/* ---- dump ---- */

static void print_chain(const form_space *fs, const chain *c, ctune_text *out) {
    const ctune_tree *tree = fs->form->tree;
    ctune_text_printf(
        out, "    chain %s work %.3g:", ctune_stmt_name(fs->base.region, tree, c->stmt), c->work);
    for (int k = 0; k < c->n_outer; k++) {
        ctune_text_printf(out, " %s", fs->base.node[c->outer[k]].name);
    }
    ctune_text_append(out, c->n_rows > 1 ? " | rows" : "");
    if (c->m > 0) {
        ctune_text_append(out, " | band");
    }
    for (int d = 0; d < c->m; d++) {
        ctune_text_printf(out, " %s%s", fs->base.node[c->node[d]].name,
                          c->reduce >> d & 1 ? "(reduce)" : "");
    }
    if (c->n_v > 1) {
        ctune_text_append(out, " | vector");
    }
    for (int k = 0; k + 1 < c->n_v; k++) {
        ctune_text_printf(out, " %s", fs->base.node[c->node[c->v[k]]].name);
    }
    if (c->wave.skew > 0) {
        ctune_text_printf(out, " | wave %d*%s + %s", c->wave.skew,
                          fs->base.node[c->wave.node[0]].name, fs->base.node[c->wave.node[1]].name);
        ctune_text_append(out, c->wave.n_skewed > 0 ? ", or in vectors of skewed arrays" : "");
    }
    ctune_text_append(out, "\n");
}

static void print_band(const form_space *fs, const band *b, ctune_text *out) {
    const ctune_tree *tree = fs->form->tree;
    ctune_text_printf(out, "    tiles around %s:", fs->base.node[b->time].name);
    for (int k = 0; k < b->n; k++) {
        ctune_text_append(out, k > 0 ? "," : "");
        for (int t = 0; t < b->tile[k].sum.n; t++) {
            const ctune_sum_term *term = &b->tile[k].sum.term[t];
            ctune_text_append(out, t > 0 ? " + " : " ");
            if (term->coef != 1) {
                ctune_text_printf(out, "%d*", term->coef);
            }
            ctune_text_append(out, term->kind == CTUNE_SUM_DIM
                                       ? tree->dims[term->of].name
                                       : ctune_stmt_name(fs->base.region, tree, term->of));
        }
    }
    ctune_text_append(out, b->may_wave ? " | threads\n" : "\n");
}

static void print_parts(const form_space *fs, ctune_text *out) {
    const form_parts *p = &fs->parts;
    ctune_text_append(out, p->n_placed > 0 ? "    placed" : "    parts");
    for (int k = 0; k < p->n_placed; k++) {
        ctune_text_printf(out, " %s",
                          ctune_stmt_name(fs->base.region, fs->form->tree, p->placed[k]));
    }
    ctune_text_append(out, p->n > 0 ? " in tiles of" : " in iterations of");
    for (int t = 0; t < p->n; t++) {
        ctune_text_printf(out, " %s", p->tile[t].inner_name);
    }
    if (p->n == 0) {
        ctune_text_printf(out, " %s", fs->base.node[p->loop[p->n_loops - 1]].name);
    }
    ctune_text_append(out, "\n");
}

/* Its primitives on one line. */
static void print_prefix(int form, const char *prefix, ctune_text *out) {
    ctune_text_printf(out, "form %d: %s", form, *prefix == '\0' ? "source" : "");
    while (*prefix != '\0') {
        size_t n = strcspn(prefix, "\n");
        ctune_text_printf(out, "%.*s%s", (int)n, prefix,
                          prefix[n] != '\0' && prefix[n + 1] != '\0' ? "; " : "");
        prefix += n + (prefix[n] != '\0');
    }
    ctune_text_append(out, "\n");
}

void ctune_space_print(const ctune_space *space, ctune_text *out) {
    ctune_text_printf(out, "space of %.3g points, %d forms, %d decisions\n",
                      ctune_space_size(space), space->n_forms, space->n_decisions);
    for (int f = 0; f < space->n_forms; f++) {
        const form_space *fs = space->form[f];
        print_prefix(f, fs->form->prefix, out);
        if (fs->parts.n_loops > 0) {
            print_parts(fs, out);
        }
        for (int k = 0; k < fs->n_chains; k++) {
            print_chain(fs, fs->chain[k], out);
        }
        for (int k = 0; k < fs->n_bands; k++) {
            print_band(fs, &fs->band[k], out);
        }
    }
    for (int k = 0; k < space->n_decisions; k++) {
        ctune_text_printf(out, "decision %d: %s, %d choices\n", k, space->decision[k].name,
                          space->decision[k].n_choices);
    }
}
