/*
 * Are all invariants of a program whole (loops.h)? Run after every pass in debug builds and in all
 * tests.
 *
 * In: any program. Out: CTUNE_OK, or EBUG with the first thing that is wrong. One walk in program
 * order: what is bound opens, what is used must be open, what a block bound closes with it. Values
 * are loops_verify_value.c's.
 */
#include "search/loops/loops_verify.h"

#include <stdlib.h>
#include <string.h>

/* ---- indices --------------------------------------------------------------------------------- */

static const char *var_name(const loops_verifier *v, int id) {
    const ctune_lvar *var = &v->l->var[id];
    return var->name != NULL ? var->name : var->hint != NULL ? var->hint : "?";
}

static const char *buffer_name(const loops_verifier *v, int id) {
    const ctune_lbuffer *b = &v->l->buffer[id];
    return b->name != NULL ? b->name : b->hint != NULL ? b->hint : "?";
}

/* The form itself: n_atoms = how many atoms it may use. Are variables open: see aff_open. */
static ctune_status verify_form(loops_verifier *v, const ctune_aff *aff, int n_atoms,
                                const char *where) {
    const ctune_loops *l = v->l;
    CHECK(aff != NULL, "a missing form in %s", where);
    CHECK(aff->n_terms >= 0 && (aff->n_terms == 0 || aff->terms != NULL), "a broken form in %s",
          where);
    for (int t = 0; t < aff->n_terms; t++) {
        const ctune_term *x = &aff->terms[t];
        int limit = x->kind == CTUNE_TERM_AXIS    ? l->n_vars
                    : x->kind == CTUNE_TERM_PARAM ? l->region->n_params
                    : x->kind == CTUNE_TERM_DIV   ? n_atoms
                                                  : 0;
        CHECK(x->id >= 0 && x->id < limit, "a form in %s names something that does not exist",
              where);
        CHECK(x->coef != 0, "a zero coefficient in %s", where);
        CHECK(x->kind != CTUNE_TERM_AXIS || l->var[x->id].is_index,
              "%s uses the value variable %s as an index", where, var_name(v, x->id));
        const ctune_term *before = t > 0 ? x - 1 : NULL;
        CHECK(before == NULL || before->kind < x->kind ||
                  (before->kind == x->kind && before->id < x->id),
              "terms out of order in %s", where);
    }
    return CTUNE_OK;
}

static bool is_bare(const ctune_aff *aff) {
    return aff->n_terms == 1 && aff->c0 == 0 && aff->terms[0].coef == 1;
}

static ctune_status verify_load(loops_verifier *v, int id) {
    const ctune_region *r = v->l->region;
    const ctune_place *place = v->l->atom[id].place;
    CHECK(!place->is_buffer && place->id >= 0 && place->id < r->n_tensors,
          "atom %d loads what is no tensor", id);
    const ctune_tensor *t = &r->tensors[place->id];
    CHECK(!t->is_temp && !t->is_written && !ctune_type_is_float(t->type),
          "atom %d loads %s, which is no index tensor", id, t->name);
    CHECK(place->n_idx == t->rank, "atom %d indexes %s with %d of %d dimensions", id, t->name,
          place->n_idx, t->rank);
    for (int d = 0; d < place->n_idx; d++) {
        TRY(verify_form(v, place->idx[d], id, "the index of a load"));
    }
    return CTUNE_OK;
}

static ctune_status verify_atoms(loops_verifier *v) {
    for (int i = 0; i < v->l->n_atoms; i++) {
        const ctune_atom *a = &v->l->atom[i];
        CHECK((unsigned)a->kind < CTUNE_N_ATOM_KINDS, "atom %d has no kind", i);
        CHECK((a->kind == CTUNE_ATOM_LOAD) == (a->place != NULL), "atom %d is half a load", i);
        if (a->kind == CTUNE_ATOM_LOAD) {
            TRY(verify_load(v, i));
            continue;
        }
        TRY(verify_form(v, a->a, i, "an atom"));
        if (a->kind == CTUNE_ATOM_FLOOR) {
            CHECK(a->b == NULL, "atom %d: floor of two forms", i);
            CHECK(a->den > 0, "atom %d: a denominator below 1", i);
            continue;
        }
        TRY(verify_form(v, a->b, i, "an atom"));
        CHECK(a->kind != CTUNE_ATOM_PROD || (is_bare(a->a) && is_bare(a->b)),
              "atom %d: a factor that is not bare", i);
    }
    return CTUNE_OK;
}

/* All variables of a form whose shape is whole are open; setup_only: and bound by the setup. */
static ctune_status aff_open(loops_verifier *v, const ctune_aff *aff, bool setup_only,
                             const char *where) {
    for (int t = 0; t < aff->n_terms; t++) {
        const ctune_term *x = &aff->terms[t];
        if (x->kind == CTUNE_TERM_AXIS) {
            CHECK(v->var[x->id].state == LOOPS_OPEN, "%s is used outside its scope in %s",
                  var_name(v, x->id), where);
            CHECK(!setup_only || v->var[x->id].is_setup, "%s in %s is no variable of the setup",
                  var_name(v, x->id), where);
        } else if (x->kind == CTUNE_TERM_DIV) {
            const ctune_atom *a = &v->l->atom[x->id];
            CHECK(a->place == NULL || !setup_only, "a load in %s", where);
            for (int d = 0; a->place != NULL && d < a->place->n_idx; d++) {
                TRY(aff_open(v, a->place->idx[d], false, where));
            }
            if (a->place != NULL) {
                continue;
            }
            TRY(aff_open(v, a->a, setup_only, where));
            if (a->b != NULL) {
                TRY(aff_open(v, a->b, setup_only, where));
            }
        }
    }
    return CTUNE_OK;
}

ctune_status loops_verify_aff(loops_verifier *v, const ctune_aff *aff, const char *where) {
    TRY(verify_form(v, aff, v->l->n_atoms, where));
    return aff_open(v, aff, false, where);
}

ctune_status loops_verify_place(loops_verifier *v, const ctune_place *place, int lanes,
                                const char *where) {
    const ctune_loops *l = v->l;
    int limit = place->is_buffer ? l->n_buffers : l->region->n_tensors;
    CHECK(place->id >= 0 && place->id < limit, "%s names a tensor or buffer that does not exist",
          where);
    int rank = place->is_buffer ? l->buffer[place->id].rank : l->region->tensors[place->id].rank;
    const char *name =
        place->is_buffer ? buffer_name(v, place->id) : l->region->tensors[place->id].name;
    CHECK(place->n_idx == rank, "%s indexes %s with %d of %d dimensions", where, name, place->n_idx,
          rank);
    CHECK(!place->is_buffer || v->buffer[place->id] == LOOPS_OPEN,
          "buffer %s is used outside its scope in %s", name, where);
    for (int d = 0; d < place->n_idx; d++) {
        TRY(loops_verify_aff(v, place->idx[d], where));
    }
    if (lanes > 1) {
        ctune_type type = ctune_place_type(l, place);
        CHECK(rank > 0, "%s takes %d lanes of the scalar %s", where, lanes, name);
        CHECK(place->is_buffer ||
                  l->region->tensors[place->id].elem_stride_bytes == ctune_type_get(type)->bytes,
              "%s takes %d lanes of %s, whose elements are not neighbours", where, lanes, name);
    }
    return CTUNE_OK;
}

/* ---- bindings -------------------------------------------------------------------------------- */

static ctune_status bind_var(loops_verifier *v, int id, bool is_index, const char *by) {
    CHECK(id >= 0 && id < v->l->n_vars, "%s binds a variable that does not exist", by);
    CHECK(v->l->var[id].is_index == is_index, "%s binds %s, which is %s variable", by,
          var_name(v, id), is_index ? "a value" : "an index");
    CHECK(v->var[id].state == LOOPS_UNBOUND, "%s is bound twice", var_name(v, id));
    v->var[id].state = LOOPS_OPEN;
    v->var[id].is_setup = v->is_setup;
    v->var[id].n_independent = v->n_independent;
    v->open[v->n_open++] = id;
    return CTUNE_OK;
}

static ctune_status bind_buffer(loops_verifier *v, int id) {
    CHECK(v->buffer[id] == LOOPS_UNBOUND, "buffer %s is declared twice", buffer_name(v, id));
    v->buffer[id] = LOOPS_OPEN;
    v->open[v->n_open++] = v->l->n_vars + id;
    return CTUNE_OK;
}

static void close_to(loops_verifier *v, int n_open) {
    while (v->n_open > n_open) {
        int id = v->open[--v->n_open];
        if (id < v->l->n_vars) {
            v->var[id].state = LOOPS_CLOSED;
        } else {
            v->buffer[id - v->l->n_vars] = LOOPS_CLOSED;
        }
    }
}

/* ---- what a GPU runs ------------------------------------------------------------------------- */

/* Does the form differ between threads of one block? */
static bool aff_varies(const loops_verifier *v, const ctune_aff *aff) {
    for (int t = 0; aff != NULL && t < aff->n_terms; t++) {
        const ctune_term *x = &aff->terms[t];
        if (x->kind == CTUNE_TERM_AXIS && v->var[x->id].varies) {
            return true;
        }
        const ctune_atom *a = x->kind == CTUNE_TERM_DIV ? &v->l->atom[x->id] : NULL;
        if (a != NULL && (aff_varies(v, a->a) || aff_varies(v, a->b))) {
            return true;
        }
        for (int d = 0; a != NULL && a->place != NULL && d < a->place->n_idx; d++) {
            if (aff_varies(v, a->place->idx[d])) {
                return true;
            }
        }
    }
    return false;
}

/* Where a bound loop may stand, and what it looks like. */
static ctune_status verify_bound(loops_verifier *v, const ctune_lnode *node) {
    const char *name = var_name(v, node->var);
    bool is_block = ctune_lann_is_block(node->ann), is_thread = ctune_lann_is_thread(node->ann);
    if (!is_block && !is_thread) {
        CHECK(v->gpu == LOOPS_GPU_HOST || v->gpu == LOOPS_GPU_CODE,
              "loop %s stands between the loops of a launch", name);
        return CTUNE_OK;
    }
    CHECK(is_block ? v->gpu == LOOPS_GPU_LAUNCH || v->gpu == LOOPS_GPU_BLOCK
                   : v->gpu == LOOPS_GPU_BLOCK || v->gpu == LOOPS_GPU_THREAD,
          "loop %s is bound outside its place in a launch", name);
    CHECK(node->step == 1 && node->lo->n_terms == 0 && node->lo->c0 == 0,
          "bound loop %s does not count from 0", name);
    CHECK(is_block || (node->hi->n_terms == 0 && node->hi->c0 >= 1 && node->hi->c0 <= 1024),
          "loop %s over threads has no constant number of them", name);
    CHECK((v->gpu_axes >> node->ann & 1) == 0, "an axis of the GPU is bound twice at %s", name);
    v->gpu_axes |= 1u << node->ann;
    v->gpu = is_block ? LOOPS_GPU_BLOCK : LOOPS_GPU_THREAD;
    bool is_next = false; /* does another bound loop stand right inside? */
    for (const ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
        is_next |= kid->kind == CTUNE_L_FOR &&
                   (ctune_lann_is_thread(kid->ann) || ctune_lann_is_block(kid->ann));
        CHECK(is_thread || kid->kind == CTUNE_L_FOR || kid->kind == CTUNE_L_DECL,
              "a statement between the loops over blocks and threads");
    }
    CHECK(!is_next || is_thread || node->last->kind == CTUNE_L_FOR, "code behind the threads");
    CHECK(!is_next || !is_thread || node->first->next == NULL, "code beside the threads");
    CHECK(is_next || is_thread, "blocks without threads");
    v->gpu = is_thread && !is_next ? LOOPS_GPU_CODE : v->gpu;
    return CTUNE_OK;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static ctune_status verify_kids(loops_verifier *v, const ctune_lnode *node, bool in_parallel);

static bool has_constant_bounds(const ctune_lnode *node) {
    return node->lo->n_terms == 0 && node->hi->n_terms == 0;
}

static bool is_independent(ctune_lann ann) {
    return ann == CTUNE_LANN_PARALLEL || ann == CTUNE_LANN_SIMD || ann == CTUNE_LANN_SLIDE ||
           ann == CTUNE_LANN_VECTOR;
}

/* The loops that share a parallel loop's iterations: only kids, bounds known before all of them. */
static ctune_status verify_collapse(loops_verifier *v, const ctune_lnode *node) {
    const char *name = var_name(v, node->var);
    CHECK(node->collapse >= 1 && node->collapse <= LOOPS_MAX_COLLAPSE,
          "parallel loop %s collapses %d loops", name, node->collapse);
    const ctune_lnode *inner = node;
    for (int i = 1; i < node->collapse; i++) {
        const ctune_lnode *kid = inner->first;
        CHECK(kid != NULL && kid->next == NULL && kid->kind == CTUNE_L_FOR,
              "parallel loop %s collapses %d loops that are not perfectly nested", name,
              node->collapse);
        CHECK(kid->ann == CTUNE_LANN_SERIAL,
              "a loop collapsed into %s has an annotation of its own", name);
        TRY(verify_form(v, kid->lo, v->l->n_atoms, "a loop's lower bound"));
        TRY(verify_form(v, kid->hi, v->l->n_atoms, "a loop's upper bound"));
        for (const ctune_lnode *outer = node; outer != kid; outer = outer->first) {
            CHECK(!ctune_loops_uses(v->l, kid->lo, outer->var) &&
                      !ctune_loops_uses(v->l, kid->hi, outer->var),
                  "parallel loop %s collapses loops that are not rectangular", name);
        }
        inner = kid;
    }
    return CTUNE_OK;
}

static ctune_status verify_for(loops_verifier *v, const ctune_lnode *node) {
    TRY(loops_verify_aff(v, node->lo, "a loop's lower bound"));
    TRY(loops_verify_aff(v, node->hi, "a loop's upper bound"));
    CHECK(node->n_conds == 0 || (node->ann == CTUNE_LANN_PARALLEL && node->conds != NULL),
          "a loop that is not parallel has a condition");
    for (int i = 0; i < node->n_conds; i++) {
        TRY(loops_verify_aff(v, node->conds[i], "a parallel loop's condition"));
    }
    int n_open = v->n_open;
    TRY(bind_var(v, node->var, true, "a loop"));
    const char *name = var_name(v, node->var);
    CHECK(node->step >= 1, "loop %s has a step below 1", name);
    CHECK((unsigned)node->ann < CTUNE_N_LANNS, "loop %s has a broken annotation", name);
    CHECK((node->ann != CTUNE_LANN_UNROLL && node->ann != CTUNE_LANN_SUM) || node->factor >= 1,
          "loop %s is unrolled %lld times", name, (long long)node->factor);
    CHECK(node->ann != CTUNE_LANN_SLIDE || (node->before >= 0 && node->behind >= 0),
          "loop %s slides over fewer than no iterations", name);
    CHECK((node->ann != CTUNE_LANN_FULL && node->ann != CTUNE_LANN_VECTOR) ||
              has_constant_bounds(node),
          "loop %s is to be repeated or vectorised and its bounds are not constant", name);
    loops_gpu gpu = v->gpu;
    TRY(verify_bound(v, node));
    bool varies = aff_varies(v, node->lo) || aff_varies(v, node->hi);
    v->var[node->var].varies = varies || ctune_lann_is_thread(node->ann);
    v->n_divergent += varies;
    bool in_parallel = v->n_collapsed == 1;
    v->n_collapsed -= v->n_collapsed > 0;
    if (node->ann == CTUNE_LANN_PARALLEL) {
        TRY(verify_collapse(v, node));
        v->n_collapsed = node->collapse - 1;
        in_parallel = v->n_collapsed == 0;
    }
    v->n_independent += is_independent(node->ann);
    TRY(verify_kids(v, node, in_parallel));
    v->n_independent -= is_independent(node->ann);
    v->n_divergent -= varies;
    v->gpu = gpu;
    close_to(v, n_open);
    return CTUNE_OK;
}

static ctune_status verify_if(loops_verifier *v, const ctune_lnode *node) {
    CHECK(node->n_conds >= 0 && (node->n_conds == 0 || node->conds != NULL),
          "a condition has broken parts");
    for (int i = 0; i < node->n_conds; i++) {
        TRY(loops_verify_aff(v, node->conds[i], "a condition"));
    }
    if (node->test != NULL) {
        TRY(loops_verify_value(v, node->test));
        CHECK(node->test->lanes == 1, "the test of a condition is a vector");
    }
    bool varies = node->test != NULL;
    for (int i = 0; i < node->n_conds; i++) {
        varies |= aff_varies(v, node->conds[i]);
    }
    v->n_divergent += varies;
    TRY(verify_kids(v, node, false));
    if (node->other != NULL) {
        CHECK(node->other->kind == CTUNE_L_SEQ && node->other->next == NULL,
              "the other arm of a condition is no single sequence");
        TRY(verify_kids(v, node->other, false));
    }
    v->n_divergent -= varies;
    return CTUNE_OK;
}

static ctune_status verify_launch(loops_verifier *v, const ctune_lnode *node) {
    CHECK(v->gpu == LOOPS_GPU_HOST && v->n_independent == 0, "a launch inside another loop's code");
    CHECK(node->first != NULL && node->first->next == NULL && node->first->kind == CTUNE_L_FOR &&
              ctune_lann_is_block(node->first->ann),
          "a launch is no loop over blocks");
    v->gpu = LOOPS_GPU_LAUNCH;
    v->gpu_axes = 0;
    v->launch_open = v->n_open;
    TRY(verify_kids(v, node, false));
    v->gpu = LOOPS_GPU_HOST;
    return CTUNE_OK;
}

static ctune_status verify_barrier(loops_verifier *v) {
    CHECK(v->gpu == LOOPS_GPU_CODE, "a barrier outside the code of a thread");
    CHECK(v->n_divergent == 0, "a barrier that not all threads of a block need come by");
    return CTUNE_OK;
}

/* Is the open variable older than the launch that is verified? */
static bool is_older(const loops_verifier *v, int id) {
    for (int i = 0; v->gpu != LOOPS_GPU_HOST && i < v->launch_open; i++) {
        if (v->open[i] == id) {
            return true;
        }
    }
    return false;
}

static ctune_status verify_extents(loops_verifier *v, const ctune_lbuffer *b, const char *name) {
    int64_t n = 1;
    for (int d = 0; d < b->rank; d++) {
        TRY(loops_verify_aff(v, b->extent[d], "a buffer's extent"));
        if (b->scope == CTUNE_SCOPE_BLOCK || b->scope == CTUNE_SCOPE_REGISTER ||
            b->scope == CTUNE_SCOPE_SHARED) {
            CHECK(b->extent[d]->n_terms == 0, "%s buffer %s has an extent that is not constant",
                  b->scope == CTUNE_SCOPE_BLOCK      ? "block"
                  : b->scope == CTUNE_SCOPE_REGISTER ? "register"
                                                     : "shared",
                  name);
            CHECK(b->extent[d]->c0 >= 1, "buffer %s has an extent below 1", name);
            CHECK(!__builtin_mul_overflow(n, b->extent[d]->c0, &n) && n <= INT32_MAX,
                  "buffer %s is too large for a block", name);
        } else {
            TRY(aff_open(v, b->extent[d], true, "a buffer's extent"));
        }
    }
    return CTUNE_OK;
}

static ctune_status verify_decl(loops_verifier *v, const ctune_lnode *node, bool in_parallel) {
    CHECK(node->buffer >= 0 && node->buffer < v->l->n_buffers,
          "a declaration of a buffer that does not exist");
    const ctune_lbuffer *b = &v->l->buffer[node->buffer];
    const char *name = buffer_name(v, node->buffer);
    CHECK((unsigned)b->type < CTUNE_N_TYPES && (unsigned)b->scope < CTUNE_N_SCOPES &&
              b->rank >= 0 && b->rank <= CTUNE_MAX_RANK,
          "buffer %s is broken", name);
    CHECK(b->scope != CTUNE_SCOPE_PROGRAM || v->is_setup,
          "buffer %s of the program is declared outside the setup", name);
    CHECK(b->scope != CTUNE_SCOPE_THREAD || in_parallel,
          "buffer %s of a thread is declared outside the body of a parallel loop", name);
    CHECK((b->scope == CTUNE_SCOPE_SHARED) == (v->gpu == LOOPS_GPU_BLOCK),
          "buffer %s of a GPU's block is declared elsewhere, or another one there", name);
    TRY(verify_extents(v, b, name));
    return bind_buffer(v, node->buffer);
}

static ctune_status verify_assign(loops_verifier *v, const ctune_lnode *node) {
    const ctune_value *value = node->value;
    bool is_def = node->kind == CTUNE_L_DEF;
    const char *kind = is_def ? "a def" : "a set";
    CHECK(node->var >= 0 && node->var < v->l->n_vars, "%s of a variable that does not exist", kind);
    const ctune_lvar *var = &v->l->var[node->var];
    const char *name = var_name(v, node->var);
    CHECK(value != NULL || (is_def && var->is_mutable), "%s has no value", name);
    if (value != NULL) {
        TRY(loops_verify_value(v, value));
        CHECK(value->type == var->type && value->lanes == var->lanes,
              "%s, %s of %d lanes, gets %s of %d", name, ctune_type_get(var->type)->name,
              var->lanes, ctune_type_get(value->type)->name, value->lanes);
    }
    if (is_def) {
        CHECK((unsigned)var->type < CTUNE_N_TYPES, "variable %s has no type", name);
        TRY(loops_verify_lanes(v, var->type, var->lanes, "a variable"));
        return bind_var(v, node->var, false, kind);
    }
    CHECK(!var->is_index && var->is_mutable, "%s is set and not mutable", name);
    CHECK(v->var[node->var].state == LOOPS_OPEN, "%s is set outside its scope", name);
    CHECK(!is_older(v, node->var), "%s of the host is set by a GPU", name);
    CHECK(v->var[node->var].n_independent == v->n_independent,
          "%s is set by iterations that are said to be independent of it", name);
    return CTUNE_OK;
}

static ctune_status verify_store(loops_verifier *v, const ctune_lnode *node) {
    CHECK(node->value != NULL, "a store has no value");
    TRY(loops_verify_value(v, node->value));
    TRY(loops_verify_place(v, &node->place, node->value->lanes, "a store"));
    CHECK(v->gpu != LOOPS_GPU_HOST || !v->has_launch, "a store of the host beside launches");
    ctune_type type = ctune_place_type(v->l, &node->place);
    CHECK(type == node->value->type, "a store of %s into %s",
          ctune_type_get(node->value->type)->name, ctune_type_get(type)->name);
    if (!node->place.is_buffer) {
        const ctune_tensor *t = &v->l->region->tensors[node->place.id];
        CHECK(t->is_written, "a store into %s, which the region only reads", t->name);
        CHECK(!t->is_temp || (t->live_out_text != NULL && node->value->lanes == 1),
              "a store into the temporary %s", t->name);
    }
    return CTUNE_OK;
}

static ctune_status verify_node(loops_verifier *v, const ctune_lnode *node, bool in_parallel) {
    CHECK((unsigned)node->kind < CTUNE_N_LNODE_KINDS, "a node has no kind");
    bool has_kids = node->kind == CTUNE_L_SEQ || node->kind == CTUNE_L_FOR ||
                    node->kind == CTUNE_L_IF || node->kind == CTUNE_L_LAUNCH;
    CHECK(has_kids || (node->first == NULL && node->last == NULL), "a statement has kids");
    CHECK(node->kind == CTUNE_L_IF || node->other == NULL,
          "a node that is no condition has two arms");
    switch (node->kind) {
    case CTUNE_L_FOR:
        return verify_for(v, node);
    case CTUNE_L_IF:
        return verify_if(v, node);
    case CTUNE_L_LET:
        TRY(loops_verify_aff(v, node->lo, "a let"));
        TRY(bind_var(v, node->var, true, "a let"));
        v->var[node->var].varies = aff_varies(v, node->lo);
        return CTUNE_OK;
    case CTUNE_L_LAUNCH:
        return verify_launch(v, node);
    case CTUNE_L_BARRIER:
        return verify_barrier(v);
    case CTUNE_L_DECL:
        return verify_decl(v, node, in_parallel);
    case CTUNE_L_DEF:
    case CTUNE_L_SET:
        return verify_assign(v, node);
    case CTUNE_L_STORE:
        return verify_store(v, node);
    default:
        return verify_kids(v, node, false);
    }
}

/* A block. in_parallel: it is the body in which each thread's buffers are declared. */
static ctune_status verify_kids(loops_verifier *v, const ctune_lnode *node, bool in_parallel) {
    CHECK(++v->depth <= LOOPS_MAX_DEPTH, "nodes are nested too deeply");
    int n_open = v->n_open;
    const ctune_lnode *last = NULL;
    for (const ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
        bool is_buffer = kid->kind == CTUNE_L_DECL && kid->buffer >= 0 &&
                         kid->buffer < v->l->n_buffers &&
                         v->l->buffer[kid->buffer].scope == CTUNE_SCOPE_PROGRAM;
        v->is_setup = v->is_setup && (kid->kind == CTUNE_L_LET || is_buffer);
        TRY(verify_node(v, kid, in_parallel));
        last = kid;
    }
    CHECK(node->last == last, "a block does not know its last node");
    close_to(v, n_open);
    v->depth--;
    return CTUNE_OK;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* extra: what it may contain besides letters, digits and _. */
static bool is_identifier(const char *name, const char *extra) {
    if (name == NULL || name[0] == '\0' || name[0] == '.' || (name[0] >= '0' && name[0] <= '9')) {
        return false;
    }
    for (const char *c = name; *c != '\0'; c++) {
        bool is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                        (*c >= '0' && *c <= '9') || *c == '_';
        if (!is_plain && strchr(extra, *c) == NULL) {
            return false;
        }
    }
    return true;
}

static int name_order(const void *x, const void *y) {
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* Names that are set: identifiers, all different, none a word of the region. names: room for all.
 */
static ctune_status verify_names(loops_verifier *v, const char **names) {
    const ctune_loops *l = v->l;
    size_t n = 0, n_own = 0;
    for (int i = 0; i < l->n_vars + l->n_buffers; i++) {
        bool is_var = i < l->n_vars;
        const char *name = is_var ? l->var[i].name : l->buffer[i - l->n_vars].name;
        const char *hint = is_var ? l->var[i].hint : l->buffer[i - l->n_vars].hint;
        CHECK(is_identifier(hint, "$."), "%s %d has no proper hint", is_var ? "variable" : "buffer",
              is_var ? i : i - l->n_vars);
        if (name != NULL) {
            CHECK(is_identifier(name, "$"), "'%s' is no identifier", name);
            names[n++] = name;
        }
    }
    n_own = n;
    for (int i = 0; n_own > 0 && i < l->region->n_params; i++) {
        names[n++] = l->region->params[i].name;
    }
    for (int i = 0; n_own > 0 && i < l->region->n_tensors; i++) {
        names[n++] = l->region->tensors[i].name;
    }
    qsort(names, n, sizeof *names, name_order);
    for (size_t i = 1; i < n; i++) {
        CHECK(strcmp(names[i - 1], names[i]) != 0, "two things are called %s", names[i]);
    }
    return CTUNE_OK;
}

static ctune_status verify_program(loops_verifier *v, const char **names) {
    TRY(verify_atoms(v));
    TRY(verify_names(v, names));
    CHECK(v->l->root != NULL && v->l->root->kind == CTUNE_L_SEQ && v->l->root->next == NULL &&
              v->l->root->other == NULL,
          "the root is no sequence");
    v->is_setup = true;
    v->has_launch = ctune_loops_has_launch(v->l);
    return verify_kids(v, v->l->root, false);
}

ctune_status ctune_loops_verify(ctune_ctx *ctx, const ctune_loops *loops) {
    if (loops->status != CTUNE_OK) {
        return ctune_fail(ctx, CTUNE_EBUG, "loops: a failed program is verified");
    }
    ctune_arena *arena = ctune_arena_create(ctx);
    size_t n_ids = (size_t)loops->n_vars + (size_t)loops->n_buffers;
    size_t n_words = (size_t)loops->region->n_params + (size_t)loops->region->n_tensors;
    loops_verifier v = {.ctx = ctx, .l = loops};
    v.var = CTUNE_NEW_ARRAY(arena, loops_var_state, loops->n_vars);
    v.buffer = CTUNE_NEW_ARRAY(arena, loops_state, loops->n_buffers);
    v.open = CTUNE_NEW_ARRAY(arena, int, n_ids);
    const char **names = CTUNE_NEW_ARRAY(arena, const char *, n_ids + n_words);
    ctune_status status = v.var == NULL || v.buffer == NULL || v.open == NULL || names == NULL
                              ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory")
                              : verify_program(&v, names);
    ctune_arena_destroy(arena);
    return status;
}
