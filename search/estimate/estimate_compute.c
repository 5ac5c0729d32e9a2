/*
 * The core's part of the estimate: cycles of arithmetic, loads and stores of one statement.
 *
 * The innermost unrolled and vector loops are one block, the loop around them is the kernel loop.
 * One kernel iteration costs the largest of: operations over vector ports, loads and stores over
 * theirs, instructions over the front end, and the latency of the chain through the accumulators.
 * What does not move with the kernel loop is hoisted; accumulators in registers cost nothing per
 * iteration but spill when there are too many.
 */
#include "search/estimate/analysis.h"

#include <math.h>
#include <string.h>

static bool is_packed(const est_kernel *b, int read) {
    return b->packed >> read & 1;
}

static ctune_ann ann_of(const est_path *path, int k) {
    return path->nest->node[path->node[k]].ann;
}

/* Distinct instances in the block of something that moves with the dims in mask; vectors count
 * as one each. */
static double n_copies(const est_kernel *b, uint32_t mask) {
    double n = 1;
    for (int k = b->level; k < b->path->n; k++) {
        int pos = b->path->pos[k];
        if (pos != b->vector && (mask >> pos & 1)) {
            n *= b->path->extent[k];
        }
    }
    return b->vector >= 0 && (mask >> b->vector & 1) ? n * b->n_vectors : n;
}

/* Steps of a reduction inside the block: they run one after the other through the same
 * accumulator. Lanes of a sum have one each. */
static double n_steps(const est_kernel *b) {
    double n = 1;
    for (int k = b->level; k < b->path->n; k++) {
        bool is_lanes = b->is_sum && b->path->pos[k] == b->vector;
        n *= is_lanes || b->target->mask >> b->path->pos[k] & 1 ? 1 : b->path->extent[k];
    }
    return n;
}

static bool is_hoisted(const est_kernel *b, uint32_t mask) {
    return b->kernel >= 0 && !(mask >> b->kernel & 1);
}

/* ---- vectors --------------------------------------------------------------------------------- */

static double largest_elem(const est_path *path) {
    const ctune_region *region = path->nest->region;
    int bytes = ctune_type_get(region->tensors[path->stage->target.tensor].type)->bytes;
    for (int r = 0; r < path->stage->n_reads; r++) {
        int b = ctune_type_get(path->stage->reads[r]->type)->bytes;
        bytes = b > bytes ? b : bytes;
    }
    return bytes;
}

/* Does a dependence of this statement's body run along the dim in the innermost loop? */
static bool is_carried(const est_path *path, int pos) {
    const ctune_depvecs *vecs = &path->nest->form->vecs;
    for (int v = 0; v < vecs->n; v++) {
        const ctune_depvec *vec = &vecs->vec[v];
        bool is_here = vec->src == path->i_stmt || vec->dst == path->i_stmt;
        bool is_inner = is_here && vec->n_common > pos && vec->sign[pos] != CTUNE_SIGN_ZERO;
        for (int p = 0; p < vec->n_common && is_inner; p++) {
            is_inner = p == pos || vec->sign[p] == CTUNE_SIGN_ZERO;
        }
        if (is_inner) {
            return true;
        }
    }
    return false;
}

/* What -O3 vectorises by itself: neighbours along loop k, nothing carried; a long loop, or an
 * unrolled one. */
static bool is_auto_vector(const est_kernel *b, int k, double min_extent) {
    const est_path *path = b->path;
    if (k < 0 || path->nest->node[path->node[k]].step != 1 || path->extent[k] < min_extent ||
        est_ref_stride(b->target, path->pos[k]) != 1 || path->stage->guard != NULL ||
        is_carried(path, path->pos[k])) {
        return false;
    }
    for (int r = 0; r < b->n_reads; r++) {
        if (est_ref_stride(&b->read[r], path->pos[k]) < 0) {
            return false;
        }
    }
    return true;
}

static void find_vectors(est_kernel *b) {
    const est_path *path = b->path;
    b->vector = -1;
    b->lanes = b->n_vectors = 1;
    b->is_auto = b->is_slp = b->is_slide = false;
    b->width = est_max(b->state->target->vector_bytes / b->elem_bytes, 1);
    for (int k = b->level; k < path->n; k++) {
        if (ann_of(path, k) == CTUNE_ANN_VECTOR) {
            b->vector = path->pos[k];
            b->lanes = path->extent[k];
            b->n_vectors = ceil(b->lanes / b->width);
        }
    }
    b->is_sum = b->vector >= 0 && path->stage->update != CTUNE_UPDATE_SET &&
                !(b->target->mask >> b->vector & 1);
    b->is_sum_pair = b->is_sum && b->level == path->n - 1 && b->kernel == b->vector;
    if (b->vector >= 0) {
        return;
    }
    int kernel = b->level - 1, inner = path->n - 1;
    if (b->level < path->n && is_auto_vector(b, inner, 4)) {
        b->is_slp = true;
        b->vector = path->pos[inner];
        b->lanes = path->extent[inner];
        b->n_vectors = ceil(b->lanes / b->width);
    } else if ((kernel >= 0 && ann_of(path, kernel) == CTUNE_ANN_SLIDE &&
                est_ref_stride(b->target, path->pos[kernel]) == 1) ||
               is_auto_vector(b, kernel, 2 * b->width)) {
        b->is_auto = true;
        b->is_slide = ann_of(path, kernel) == CTUNE_ANN_SLIDE;
        b->vector = path->pos[kernel];
        b->lanes = b->width;
    }
}

static void kernel_init(est_kernel *b, const est_state *state, const est_path *path) {
    const ctune_nest *nest = path->nest;
    b->state = state;
    b->path = path;
    b->level = path->n;
    while (b->level > 0 && (ann_of(path, b->level - 1) == CTUNE_ANN_UNROLL ||
                            ann_of(path, b->level - 1) == CTUNE_ANN_VECTOR)) {
        b->level--;
    }
    b->kernel = b->level > 0 ? path->pos[b->level - 1] : -1;
    b->trips = b->level > 0 ? path->extent[b->level - 1] : 1;
    b->elem_bytes = largest_elem(path);
    b->register_level = est_register_level(path);
    b->is_register = b->register_level >= 0;
    b->target = &state->ref[path->first_ref];
    b->read = b->target + 1;
    b->n_reads = path->n_refs - 1 < EST_MAX_KERNEL_READS ? path->n_refs - 1 : EST_MAX_KERNEL_READS;
    b->packed = 0;
    for (int c = 0; c < nest->n_caches; c++) {
        const ctune_cache *cache = &nest->cache[c];
        if (cache->kind == CTUNE_CACHE_PACK && cache->stmt == path->i_stmt && cache->read >= 0 &&
            cache->read < b->n_reads) {
            b->packed |= 1u << cache->read;
        }
    }
    find_vectors(b);
}

/* ---- operations ------------------------------------------------------------------------------ */

/* Slots of a vector port that one operation on one register takes. */
static double op_slots(const est_kernel *b, const ctune_expr *e) {
    bool is_float = ctune_type_is_float(e->type), is_vector = b->vector >= 0;
    switch (e->op) {
    case CTUNE_OP_CONST:
    case CTUNE_OP_READ:
        return 0;
    case CTUNE_OP_AFF:
        return is_vector ? 2 : 0.5;
    case CTUNE_OP_DIV:
    case CTUNE_OP_MOD:
        return is_float ? (is_vector ? 16 * b->elem_bytes / 8 : 8)
                        : 12 * (is_vector ? b->width : 1);
    case CTUNE_OP_CAST:
        return e->kids[0]->type == e->type ? 0 : 1;
    case CTUNE_OP_MUL:
        return !is_float && is_vector && e->type >= CTUNE_I64 ? 4 : 1;
    case CTUNE_OP_CALL:
        if (strncmp(e->text, "sqrt", 4) == 0) {
            return is_vector ? 20 * b->elem_bytes / 8 : 12;
        }
        if (strncmp(e->text, "fabs", 4) == 0 || strncmp(e->text, "fm", 2) == 0 ||
            strncmp(e->text, "floor", 5) == 0 || strncmp(e->text, "ceil", 4) == 0) {
            return 2;
        }
        return 60 * (is_vector ? est_min(b->width, b->lanes) : 1);
    default:
        return 1;
    }
}

/* Adds up e; returns the dims it moves with. *packed: set to the same when a packed read inside
 * moves with all of them: then the whole subexpression is computed when copying. */
static uint32_t add_ops(const est_kernel *b, const ctune_expr *e, double *slots, uint32_t *packed) {
    uint32_t mask = 0, inner_packed[3] = {0};
    *packed = 0;
    if (e->op == CTUNE_OP_READ) {
        int r = e->read_id;
        mask = r < b->n_reads ? b->read[r].mask : 0;
        *packed = r < b->n_reads && is_packed(b, r) ? mask : 0;
        return mask;
    }
    if (e->op == CTUNE_OP_AFF) {
        return ~0u; /* mostly an iterator */
    }
    for (int i = 0; i < e->n_kids; i++) {
        uint32_t inner;
        mask |= add_ops(b, e->kids[i], slots, &inner);
        inner_packed[i < 3 ? i : 2] = inner;
    }
    for (int i = 0; i < e->n_kids && i < 3; i++) {
        *packed = inner_packed[i] != 0 && inner_packed[i] == mask ? mask : *packed;
    }
    bool is_free = is_hoisted(b, mask) || *packed != 0;
    bool is_fused = (e->op == CTUNE_OP_ADD || e->op == CTUNE_OP_SUB) &&
                    ctune_type_is_float(e->type) &&
                    (e->kids[0]->op == CTUNE_OP_MUL || e->kids[1]->op == CTUNE_OP_MUL);
    *slots += is_free || is_fused ? 0 : op_slots(b, e) * n_copies(b, mask);
    return mask;
}

/* Is it beside an earlier read of the same row, in vectors that slide: made of lanes at hand? */
static bool is_beside(const est_kernel *b, int r) {
    const est_ref *ref = &b->read[r];
    for (int k = 0; k < r && b->is_slide && ref->rank > 0; k++) {
        const est_ref *other = &b->read[k];
        bool is_row = other->tensor == ref->tensor && other->mask == ref->mask &&
                      (ref->mask >> b->vector & 1);
        for (int d = 0; d + 1 < ref->rank && is_row; d++) {
            is_row = ctune_aff_is_equal(other->access->idx[d], ref->access->idx[d]);
        }
        if (is_row) {
            return true;
        }
    }
    return false;
}

static double count_ops(const est_kernel *b) {
    const ctune_stage *stage = b->path->stage;
    uint32_t packed;
    double slots = 0;
    (void)add_ops(b, stage->rhs, &slots, &packed);
    if (stage->guard != NULL) {
        (void)add_ops(b, stage->guard, &slots, &packed);
        slots += n_copies(b, ~0u);
    }
    bool is_fused = (stage->update == CTUNE_UPDATE_ADD || stage->update == CTUNE_UPDATE_SUB) &&
                    stage->rhs->op == CTUNE_OP_MUL && ctune_type_is_float(stage->calc);
    for (int r = 0; r < b->n_reads; r++) {
        slots += is_beside(b, r) ? 1 : 0; /* lanes are moved */
    }
    if (stage->update != CTUNE_UPDATE_SET && !is_fused) {
        slots += (stage->update == CTUNE_UPDATE_DIV ? 16 : 1) * n_copies(b, ~0u);
    }
    return slots;
}

/* ---- loads and stores ------------------------------------------------------------------------ */

/* Does the reference walk along the rows of the lanes? Then it moves whole vectors and transposes
 * them: instructions for each vector. */
static bool is_transposed(const est_kernel *b, const est_ref *ref) {
    int last = ref->rank - 1;
    return (b->path->has_rows || b->is_register) && b->kernel >= 0 && last > 0 &&
           fabs(ref->coef[last][b->kernel]) == 1 && ref->coef[last][b->vector] == 0;
}

/* Of several vectors the squares do not fit the registers together. */
static double transpose_cost(const est_kernel *b) {
    return b->n_vectors <= 1 ? 4 : b->n_vectors <= 2 ? 6 : 10;
}

/* Times an access costs where the lanes are read or written one by one, for each lane: in rows a
 * page and more apart they are misses of the first caches, too. */
static double lane_cost(const est_kernel *b, const est_ref *ref, double near) {
    bool is_far = ref->rank >= 2 && ref->coef[ref->rank - 2][b->vector] != 0 &&
                  est_row_bytes(b->state, ref->tensor) >= 4096;
    return is_far ? 3 * near : near;
}

/* Load instructions for one reference per kernel iteration. */
static double count_loads(const est_kernel *b, const est_ref *ref, bool is_packed) {
    double n = n_copies(b, ref->mask);
    bool moves = b->vector >= 0 && (ref->mask >> b->vector & 1);
    if (moves && !is_packed && est_ref_stride(ref, b->vector) != 1) {
        return is_transposed(b, ref) ? n * transpose_cost(b)
                                     : n / b->n_vectors * b->lanes * lane_cost(b, ref, 1.5);
    }
    double line = CTUNE_LINE_BYTES;
    bool may_cross = moves && !is_packed && !b->is_slide && b->width * b->elem_bytes >= line;
    return n * (may_cross ? 1.5 : 1); /* full-width loads mostly cross a line unless aligned */
}

static bool is_same_element(const est_ref *x, const est_ref *y) {
    bool is_same = x->tensor == y->tensor && x->mask == y->mask;
    for (int d = 0; d < x->rank && is_same; d++) {
        is_same = ctune_aff_is_equal(x->access->idx[d], y->access->idx[d]);
    }
    return is_same;
}

static double sum_loads(const est_kernel *b) {
    double loads = 0;
    for (int r = 0; r < b->n_reads; r++) {
        const est_ref *ref = &b->read[r];
        if (est_is_register(b->state, ref->tensor)) {
            continue;
        }
        bool is_known = false;
        for (int k = 0; k < r && !is_known; k++) {
            is_known = is_same_element(&b->read[k], ref);
        }
        is_known = is_known || is_beside(b, r);
        double n = is_known ? 0 : count_loads(b, ref, is_packed(b, r));
        loads += is_hoisted(b, ref->mask) ? n / b->trips : n;
    }
    return loads;
}

/* Loads, or stores, of the target when all of the block's steps go through memory. */
static double count_target(const est_kernel *b, double steps) {
    bool moves = b->vector >= 0 && (b->target->mask >> b->vector & 1);
    double n = n_copies(b, b->target->mask) * steps;
    bool is_scattered = moves && est_ref_stride(b->target, b->vector) != 1;
    return is_scattered && is_transposed(b, b->target) ? n * transpose_cost(b)
           : is_scattered ? n / b->n_vectors * b->lanes * lane_cost(b, b->target, 2)
                          : n;
}

/* ---- kernel ---------------------------------------------------------------------------------- */

/* Vector registers that the block wants beyond those there are. */
static double count_spills(const est_kernel *b, double accumulators) {
    double streams = 0;
    for (int r = 0; r < b->n_reads; r++) {
        bool moves = b->vector >= 0 && (b->read[r].mask >> b->vector & 1);
        streams = est_max(streams, moves ? b->n_vectors : 0);
    }
    return est_max(accumulators + streams + 1 - b->state->target->n_vector_regs, 0);
}

/* Loop control: a compare and branch each iteration, a mispredicted exit each entry. */
static double loop_cycles(const est_path *path, int n_loops) {
    double cycles = 0;
    for (int k = 0; k < n_loops; k++) {
        double exits = path->entries[k] * est_min(path->extent[k] / 4, 8);
        cycles += path->entries[k + 1] * 0.7 + exits + path->entries[k] * 2;
    }
    return cycles;
}

/* Do all operands that move with the dim come from packs, whose panels are filled up? Then a
 * partial tile runs as a whole one (partial.c of the lowering). */
static bool is_padded(const est_kernel *b, int pos) {
    for (int r = 0; r < b->n_reads; r++) {
        if ((b->read[r].mask >> pos & 1) && !is_packed(b, r)) {
            return false;
        }
    }
    return true;
}

/* What the rest of a register tile costs, in full tiles: a ladder of smaller ones, each as many
 * instructions as it has points, but never shorter than the chain of its sums. */
static double ladder_cost(const est_kernel *b, int pos, double tile, double rest) {
    double rung = pos == b->vector ? b->width : floor((tile + 2) / 4), cost = 0;
    double busy = est_max(b->ports, b->front), least = b->chain + b->page;
    if (is_padded(b, pos)) {
        return 1;
    }
    rung = rung < tile ? rung : floor(tile / 4);
    while (rest >= 1) {
        rung = est_max(rung, 1);
        double n = floor(rest / rung);
        cost += n * est_max(busy * rung / tile, least) / est_max(b->cycles, 1e-9);
        rest -= n * rung;
        rung = pos == b->vector ? (rung > b->width / 4 ? b->width / 4 : 1) : floor((rung + 2) / 4);
    }
    return cost;
}

/* Work in partial tiles is slower: the part of a register tile that its range leaves over, times
 * what it costs more. */
static double tail_factor(const est_kernel *b) {
    const est_path *path = b->path;
    double factor = 1;
    for (int k = b->level; k < path->n; k++) {
        if (b->is_register && !(b->target->mask >> path->pos[k] & 1)) {
            continue; /* steps of the reduction: the rest of them runs one by one, as fast */
        }
        double tile = path->extent[k], range = path->cover[0][path->pos[k]];
        for (int up = 0; up < k; up++) {
            const ctune_nnode *loop = &path->nest->node[path->node[up]];
            if (path->pos[up] == path->pos[k] && (double)loop->step > tile) {
                range = est_min(range, (double)loop->step);
            }
        }
        double rest = range - floor(range / tile) * tile;
        bool is_exact = fabs(rest) < 1e-6 || fabs(rest - tile) < 1e-6;
        if (!is_exact && b->is_register && tile > 1) {
            double whole = floor(range / tile);
            factor *= (whole + ladder_cost(b, path->pos[k], tile, rest)) / (range / tile);
        } else {
            factor *= is_exact ? 1 : 1 + 2 * rest / est_max(range, 1);
        }
    }
    return est_max(factor, 1);
}

static bool is_jumping(const est_kernel *b, const est_ref *ref) {
    double steps = b->is_register ? b->steps : 1;
    return b->kernel >= 0 && b->trips * steps > 48 && ref->rank >= 2 &&
           ref->coef[ref->rank - 2][b->kernel] != 0 && est_row_bytes(b->state, ref->tensor) >= 4096;
}

/* References that step to another page with each kernel iteration: more pages than the first TLB
 * holds. */
static double page_cycles(const est_kernel *b) {
    static const double miss_cycles = 2.5;
    double cycles = !b->is_register && is_jumping(b, b->target) ? miss_cycles : 0;
    for (int r = 0; r < b->n_reads; r++) {
        cycles += !is_packed(b, r) && is_jumping(b, &b->read[r]) ? miss_cycles : 0;
    }
    return cycles;
}

/* The chain through an accumulator. In memory each step stores and loads again; rows at a power
 * of two of bytes alias (the low 12 bits of their addresses are equal), and then their chains
 * wait for each other, too. */
static double chain_cycles(const est_kernel *b, bool is_in_register) {
    static const double forward_cycles = 9, alias_cycles = 7;
    const ctune_stage *stage = b->path->stage;
    double steps = n_steps(b), latency = b->state->rates.fma_latency;
    bool is_reduction = steps > 1 || is_hoisted(b, b->target->mask);
    if (stage->update == CTUNE_UPDATE_SET || !is_reduction) {
        return 0;
    }
    latency *= stage->update == CTUNE_UPDATE_DIV ? 4 : 1;
    latency = ctune_type_is_float(stage->calc) ? latency : 1;
    if (is_in_register) {
        return steps * latency;
    }
    double rows = n_copies(b, b->target->mask) / b->n_vectors;
    bool is_aliased =
        rows > 1 && b->target->rank >= 2 && est_row_bytes(b->state, b->target->tensor) % 1024 == 0;
    return steps * (latency + forward_cycles) + (is_aliased ? rows * alias_cycles : 0);
}

/* Partial sums become one: halves onto halves, each waiting for the one before. */
static double join_cycles(const est_kernel *b) {
    double lanes = est_min(b->lanes, b->width);
    return (b->state->rates.fma_latency + 2) * (log2(est_max(b->n_vectors, 1)) + log2(lanes)) + 8;
}

/* Cycles of one kernel iteration, in *b with what they are made of. */
static void kernel_fill(est_kernel *b) {
    const ctune_rates *m = &b->state->rates;
    const ctune_stage *stage = b->path->stage;
    bool is_in_register =
        b->is_register || b->is_sum_pair || est_is_register(b->state, stage->target.tensor);
    b->steps = n_steps(b);
    b->ops = count_ops(b);
    b->loads = sum_loads(b);
    b->stores = 0;
    if (!is_in_register) {
        double target = count_target(b, b->steps);
        b->loads += stage->update != CTUNE_UPDATE_SET ? target : 0;
        b->stores += target;
    }
    b->accumulators = b->is_register ? n_copies(b, b->target->mask) : 0;
    b->spills = count_spills(b, b->accumulators);
    b->loads += b->spills * 1.5;
    b->stores += b->spills * 1.5;
    double n_instructions = b->ops + 0.5 * b->loads + b->stores + 2;
    b->front = n_instructions / 5;
    b->ports = est_max(b->ops / m->fma_per_cycle,
                       est_max(b->loads / m->loads_per_cycle, b->stores / m->stores_per_cycle));
    /* a short reduction overlaps with the next one: how many fit into the window of instructions
     * in flight */
    double n_in_flight = 400 / (n_instructions * b->trips);
    b->chain = chain_cycles(b, is_in_register) / est_min(est_max(n_in_flight, 1), 6);
    b->page = page_cycles(b) * (b->is_register ? b->steps : 1);
    b->cycles = est_max(est_max(b->ports, b->front), b->chain) + b->page;
    b->cycles *= (b->is_slide  ? 1
                  : b->is_auto ? 1.1
                  : b->is_slp  ? 1.4
                               : 1) *
                 (1 + 0.06 * b->spills);
    b->cycles += b->is_sum && !b->is_sum_pair ? join_cycles(b) : 0;
    if (b->is_register && b->steps > 1) { /* long bodies: fetch, and what compilers move about */
        b->cycles *= 1 + 0.0003 * est_min(n_instructions, 1000);
    }
}

double est_compute_cycles(const est_state *state, const est_path *path, est_kernel *b) {
    const ctune_rates *rates = &state->rates;
    kernel_init(b, state, path);
    kernel_fill(b);
    double kernels = path->entries[b->level] / (b->is_auto ? b->width : 1);
    b->kernel_cycles = kernels * b->cycles;
    b->move_cycles = 0;
    if (b->is_register) {
        double target = count_target(b, 1);
        double moves = target / rates->loads_per_cycle + target / rates->stores_per_cycle;
        b->move_cycles = path->entries[b->register_level] * (moves + 2 * rates->fma_latency);
    }
    b->loop_cycles = loop_cycles(path, b->level) / (b->is_auto ? b->width / 2 : 1);
    if (b->is_sum_pair) {
        b->move_cycles += path->entries[b->level - 1] * join_cycles(b);
    }
    b->tail = tail_factor(b);
    b->total_cycles = (b->kernel_cycles + b->move_cycles + b->loop_cycles) * b->tail *
                      path->imbalance / path->threads;
    return b->total_cycles;
}
