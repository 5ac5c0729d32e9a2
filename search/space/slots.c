/*
 * Numbers the decisions of all chains.
 *
 * A decision is known by its name ("S1.tile.k"), so the same nest in two forms shares its
 * decisions: a good tile found in one structure is a good start in another, and the vector stays
 * short. When the vector is full, the chains with the least work go without decisions (they stay as
 * in the source).
 */
#include "search/space/space_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Slot of that name with at least n choices; -1: one choice only, or no room. */
static int16_t slot_of(ctune_space *space, int n, bool is_ordered, const char *format, ...)
    CTUNE_PRINTF(4, 5);

static int16_t slot_of(ctune_space *space, int n, bool is_ordered, const char *format, ...) {
    char name[64];
    va_list args;
    if (n <= 1) {
        return -1;
    }
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    int k = 0;
    while (k < space->n_decisions && strcmp(space->decision[k].name, name) != 0) {
        k++;
    }
    if (k == CTUNE_SPACE_DECISIONS) {
        return -1;
    }
    decision *d = &space->decision[k];
    if (k == space->n_decisions) {
        space->n_decisions++;
        memcpy(d->name, name, sizeof name);
        d->is_ordered = is_ordered;
    }
    d->n_choices = n > d->n_choices ? n : d->n_choices;
    return (int16_t)k;
}

static bool may_be_parallel(const chain *c) {
    bool may = c->par != 0;
    for (int k = 0; k < c->n_outer; k++) {
        may = may || c->outer_par[k];
    }
    return may;
}

static const char *dim_name(const form_space *fs, const chain *c, int d) {
    return fs->base.node[c->node[d]].name;
}

static void init_slots(chain_slots *slots) {
    int16_t *all = (int16_t *)slots;
    for (size_t k = 0; k < sizeof *slots / sizeof *all; k++) {
        all[k] = -1;
    }
}

/* is_minor: little work; only the decisions that cost no thought. */
static void assign(ctune_space *space, chain *c, bool is_minor) {
    const form_space *fs = space->form[c->form];
    const ctune_tree *tree = fs->form->tree;
    const char *s = ctune_stmt_name(space->program->region, tree, c->stmt);
    if (space->target->openmp && !space->program->region->serial && may_be_parallel(c)) {
        c->slots.par = slot_of(space, N_PAR_CHOICES, false,
                               c->m > 0 ? "%s.parallel" : "%s.around.parallel", s);
    }
    c->slots.rows = slot_of(space, c->n_rows, true, "%s.rows", s);
    if (c->m == 0) {
        return;
    }
    c->slots.shape = slot_of(space, c->n_shapes, false, "%s.shape", s);
    c->slots.v = slot_of(space, c->n_v, false, "%s.vector", s);
    c->slots.lanes = slot_of(space, c->n_v > 1 ? c->n_lanes : 1, true, "%s.lanes", s);
    c->slots.slide = slot_of(space, c->slide_ok != 0 ? 2 : 1, false, "%s.slide", s);
    if (is_minor) {
        return;
    }
    c->slots.wave = slot_of(space, c->wave.n_sizes, true, "%s.wave", s);
    c->slots.skew = slot_of(space, c->wave.n_skewed > 0 ? 2 : 1, false, "%s.skew", s);
    c->slots.u[0] = slot_of(space, c->n_u, false, "%s.unroll", s);
    c->slots.unroll[0] = slot_of(space, c->n_u > 1 ? N_UNROLL : 1, true, "%s.unroll.by", s);
    if (c->m > 2) {
        c->slots.u[1] = slot_of(space, c->n_u, false, "%s.unroll2", s);
        c->slots.unroll[1] = slot_of(space, c->n_u > 1 ? N_UNROLL2 : 1, true, "%s.unroll2.by", s);
    }
    c->slots.reduce = slot_of(space, chain_find_shape(c, SHAPE_REGISTER) > 0 ? N_UNROLL_REDUCE : 1,
                              true, "%s.unroll.reduce", s);
    for (int d = 0; d < c->m; d++) {
        c->slots.cache[d] =
            slot_of(space, c->n_cache[d], true, "%s.tile.%s", s, dim_name(fs, c, d));
    }
    c->slots.torder = slot_of(space, c->perms.n_perms, false, "%s.order.tiles", s);
    c->slots.porder = slot_of(space, c->perms.n_perms, false, "%s.order.points", s);
    for (int k = 0; k < c->n_packs; k++) {
        c->slots.pack[k] = slot_of(space, N_PACK_CHOICES, false, "%s.pack.%d", s, c->pack[k].read);
    }
    c->slots.stream = slot_of(space, c->may_stream ? 2 : 1, false, "%s.stream", s);
}

static void assign_band(ctune_space *space, const form_space *fs, band *b) {
    const ctune_tree *tree = fs->form->tree;
    const char *s = space->program->region->stages[tree->stmts[b->stmt].stage].name;
    b->on_slot = slot_of(space, b->may_wave ? 3 : 2, false, "%s.around", s);
    b->slot = b->on_slot < 0 ? -1 : slot_of(space, b->n_sizes, true, "%s.around.%s", s, b->name[1]);
    for (int k = 0; k < b->n; k++) {
        const band_tile *t = &b->tile[k];
        const char *name = t->is_diagonal ? t->name : tree->dims[t->dim].name;
        b->tile[k].slot =
            b->on_slot < 0 ? -1 : slot_of(space, t->n_sizes, true, "%s.around.%s", s, name);
    }
}

static void assign_parts(ctune_space *space, const form_space *fs, form_parts *p) {
    const char *s = ctune_stmt_name(space->program->region, fs->form->tree, p->stmt);
    for (int t = 0; t < p->n; t++) {
        p->tile[t].slot =
            slot_of(space, p->tile[t].n_sizes, true, "%s.parts.%s", s, p->tile[t].inner_name);
    }
    p->order_slot =
        p->n_loops == 0 ? -1 : slot_of(space, p->perms.n_perms, false, "%s.parts.order", s);
}

static int by_work(const void *a, const void *b) {
    const chain *x = *(chain *const *)a, *y = *(chain *const *)b;
    return x->work != y->work ? (x->work < y->work) - (x->work > y->work) : x->form - y->form;
}

void slots_assign(ctune_space *space) {
    chain *all[MAX_SPACE_FORMS * MAX_CHAINS];
    double form_work[MAX_SPACE_FORMS] = {0};
    int n = 0;
    slot_of(space, space->n_forms > 1 ? space->n_forms : 2, false, "form");
    space->decision[0].n_choices = space->n_forms;
    for (int f = 0; f < space->n_forms; f++) {
        for (int k = 0; k < space->form[f]->n_chains; k++) {
            chain *c = space->form[f]->chain[k];
            init_slots(&c->slots);
            form_work[f] += c->m > 0 ? c->work : 0;
            all[n++] = c;
        }
    }
    for (int f = 0; f < space->n_forms; f++) {
        assign_parts(space, space->form[f], &space->form[f]->parts);
        for (int k = 0; k < space->form[f]->n_bands; k++) {
            assign_band(space, space->form[f], &space->form[f]->band[k]);
        }
    }
    qsort(all, (size_t)n, sizeof *all, by_work);
    for (int k = 0; k < n; k++) {
        assign(space, all[k], all[k]->work < 0.005 * form_work[all[k]->form]);
    }
}
