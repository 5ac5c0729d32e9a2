/*
 * The part of a row that all groups need: which statement is the hottest, where its tiles are, what
 * its buffers cost, how many operations each statement has.
 */
#include "search/feature/feature_private.h"

ctune_ann feat_ann(const est_path *path, int k) {
    return feat_ann_of(&path->nest->node[path->node[k]]);
}

double feat_footprint(const feat_state *s, int level) {
    return s->a->state.footprint[level == 0 ? 0 : s->path->node[level - 1]];
}

double feat_stride(const est_state *state, const est_path *path, const est_ref *ref, int k) {
    int pos = path->pos[k];
    double row = 1, stride = 0;
    if (!(ref->mask >> pos & 1)) {
        return 0;
    }
    for (int d = ref->rank - 1; d >= 0; d--) {
        stride += ref->coef[d][pos] * row;
        row *= d > 0 ? est_extent(state, ref->tensor, d) : 1;
    }
    return stride * (double)path->nest->node[path->node[k]].step;
}

/* ---- operations ------------------------------------------------------------------------------ */

static void count_float(const ctune_expr *e, feat_ops *ops) {
    switch (e->op) {
    case CTUNE_OP_ADD:
    case CTUNE_OP_SUB:
    case CTUNE_OP_NEG:
        ops->add++;
        break;
    case CTUNE_OP_MUL:
        ops->mul++;
        break;
    case CTUNE_OP_DIV:
    case CTUNE_OP_MOD:
        ops->div++;
        break;
    case CTUNE_OP_CALL:
        ops->call++;
        break;
    case CTUNE_OP_CAST:
        ops->cast += e->kids[0]->type != e->type;
        break;
    default:
        ops->compare++;
        break;
    }
}

static void count_expr(const ctune_expr *e, feat_ops *ops) {
    if (e->op == CTUNE_OP_CONST || e->op == CTUNE_OP_READ || e->op == CTUNE_OP_AFF) {
        return;
    }
    if (ctune_type_is_float(e->type)) {
        count_float(e, ops);
    } else {
        ops->integer++;
    }
    for (int i = 0; i < e->n_kids; i++) {
        count_expr(e->kids[i], ops);
    }
}

void feat_ops_count(const ctune_stage *stage, feat_ops *ops) {
    memset(ops, 0, sizeof *ops);
    count_expr(stage->rhs, ops);
    if (stage->guard != NULL) {
        count_expr(stage->guard, ops);
    }
    bool is_float = ctune_type_is_float(stage->calc);
    switch (stage->update) {
    case CTUNE_UPDATE_SET:
        break;
    case CTUNE_UPDATE_ADD:
    case CTUNE_UPDATE_SUB:
        *(is_float ? &ops->add : &ops->integer) += 1;
        break;
    case CTUNE_UPDATE_MUL:
        *(is_float ? &ops->mul : &ops->integer) += 1;
        break;
    case CTUNE_UPDATE_DIV:
        *(is_float ? &ops->div : &ops->integer) += 1;
        break;
    default:
        *(is_float ? &ops->compare : &ops->integer) += 1;
        break;
    }
    ops->slots = est_max(ops->add, ops->mul) + ops->compare + ops->cast + ops->integer +
                 12 * ops->div + 30 * ops->call;
    ops->slots = est_max(ops->slots, 0.5); /* a copy: half a slot for its store */
}

/* ---- hottest statement ----------------------------------------------------------------------- */

static double group_cycles(const feat_state *s, const est_group *g) {
    double cycles = 0;
    for (int c = 0; c < 3; c++) {
        cycles += g->traffic[c] / s->a->state.rates.bytes_per_cycle[c + 1];
    }
    return cycles;
}

static void find_hottest(feat_state *s) {
    const est_analysis *a = s->a;
    for (int p = 0; p < a->n_paths; p++) {
        s->cost[p] = 0;
    }
    for (int g = 0; g < a->state.n_groups; g++) {
        s->cost[a->state.group[g].path - a->path] += group_cycles(s, &a->state.group[g]);
    }
    s->hot = 0;
    for (int p = 0; p < a->n_paths; p++) {
        s->cost[p] = est_max(s->cost[p], a->kernel[p].total_cycles + a->copy_cycles[p]);
        s->hot = s->cost[p] > s->cost[s->hot] ? p : s->hot;
    }
}

static void find_levels(feat_state *s) {
    const est_path *path = s->path;
    for (int p = 0; p < path->stmt->n_dims; p++) {
        s->block[p] = 1;
    }
    for (int k = 0; k < path->n; k++) {
        s->log_extent[k] = feat_log(path->extent[k]);
        if (k >= s->kernel->level) {
            s->block[path->pos[k]] *= path->extent[k];
        }
    }
    s->tile_level = s->outer_level = 0;
    for (int k = 0; k < s->kernel->level; k++) {
        if ((double)path->nest->node[path->node[k]].step > s->block[path->pos[k]]) {
            s->tile_level = k + 1;
            s->outer_level = s->outer_level == 0 ? k + 1 : s->outer_level;
        }
    }
}

/* ---- buffers --------------------------------------------------------------------------------- */

static feat_buffer *buffer_of(feat_state *s, const est_group *group) {
    for (int b = 0; b < s->n_buffers; b++) {
        if (s->buffer[b].group == group) {
            return &s->buffer[b];
        }
    }
    return NULL;
}

static void add_buffer(feat_state *s, const est_ref *ref, bool is_read, bool is_written) {
    const est_state *state = &s->a->state;
    if (ref->group < 0) {
        return;
    }
    feat_buffer *b = buffer_of(s, &state->group[ref->group]);
    if (b == NULL && s->n_buffers == FEAT_MAX_BUFFERS) {
        return;
    }
    if (b == NULL) {
        b = &s->buffer[s->n_buffers++];
        *b = (feat_buffer){.ref = ref, .group = &state->group[ref->group]};
        b->source = ref->source >= 0 ? &state->group[ref->source] : NULL;
        b->elem_bytes = ctune_type_get(s->nest->region->tensors[ref->tensor].type)->bytes;
        b->cost = group_cycles(s, b->group) + (b->source ? group_cycles(s, b->source) : 0);
    }
    b->is_read = b->is_read || is_read;
    b->is_written = b->is_written || is_written;
    b->n_refs++;
}

static bool is_before(const feat_buffer *a, const feat_buffer *b) {
    if (a->cost != b->cost) {
        return a->cost > b->cost;
    }
    return a->group->bytes[0] > b->group->bytes[0];
}

static void find_buffers(feat_state *s) {
    const est_ref *refs = &s->a->state.ref[s->path->first_ref];
    s->n_buffers = 0;
    add_buffer(s, &refs[0], s->path->stage->update != CTUNE_UPDATE_SET, true);
    for (int r = 1; r < s->path->n_refs; r++) {
        add_buffer(s, &refs[r], true, false);
    }
    for (int i = 1; i < s->n_buffers; i++) { /* few, and mostly sorted: by insertion */
        feat_buffer b = s->buffer[i];
        int at = i;
        for (; at > 0 && is_before(&b, &s->buffer[at - 1]); at--) {
            s->buffer[at] = s->buffer[at - 1];
        }
        s->buffer[at] = b;
    }
}

void feat_state_focus(feat_state *s, int path) {
    s->hot = path;
    s->path = &s->a->path[path];
    s->kernel = &s->a->kernel[path];
    s->space = s->kernel->target->mask;
    find_levels(s);
    find_buffers(s);
}

bool feat_state_init(feat_state *s, const est_analysis *a, const ctune_nest *nest,
                     const ctune_target *target) {
    s->nest = nest;
    s->target = target;
    s->a = a;
    if (a->n_paths == 0) {
        return false;
    }
    for (int p = 0; p < a->n_paths; p++) {
        feat_ops_count(a->path[p].stage, &s->ops[p]);
    }
    find_hottest(s);
    feat_state_focus(s, s->hot);
    return true;
}
