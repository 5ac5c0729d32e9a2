/*
 * Transpose.
 * In:  a loop without loops inside, in lanes, whose lanes lie in different rows of a tensor: what
 *      it reads there is gathered, what it writes is scattered, element by element, while it moves
 *      along the rows.
 * Out: the same in chunks of as many iterations as there are lanes. A chunk reads whole vectors
 *      along the rows and transposes them, runs the iterations on the columns, and transposes what
 *      it has for the rows back before it is stored. The rest of the iterations stay as they are.
 * Why: a recurrence along a row runs in lanes over rows; both directions of access are then
 *      contiguous.
 *
 * A chunk reads before it writes. What it reads of a tensor that it also writes must be the same
 * rows: an element that an earlier iteration has written is that iteration's value, which the last
 * iterations of the chunk before hand over in variables; all others are old. The elements that are
 * read and written are those of the original, no more.
 */
#include "search/passes/matrix.h"

enum { MAX_COLUMNS = 32, MAX_CARRY = 4, MAX_BODY = 2048 };

/* The places of the lanes in one iteration. */
typedef struct column {
    ctune_type type;
    int sign; /* of the loop in the last index */
    const ctune_place *row[CTUNE_MATRIX_LANES];
} column;

/* Scattered stores of one variable, one a lane. */
typedef struct target {
    column at;
    int var;                       /* what is stored */
    int i_def;                     /* the statement that defines it */
    int i_first;                   /* the first store */
    int n_carry;                   /* iterations before the chunk whose values are read */
    int carry[MAX_CARRY];          /* variables: [k] is of k + 1 iterations before */
    int value[CTUNE_MATRIX_LANES]; /* [iteration] the variable that holds its value */
} target;

/* A gathered value. */
typedef struct source {
    column at;
    const ctune_value *value;
    int i_target;                    /* of its tensor, -1 = not written */
    int64_t ahead;                   /* iterations until the target writes what is read here */
    bool is_old;                     /* what was there before the chunk */
    int columns[CTUNE_MATRIX_LANES]; /* is_old: [iteration] variable */
} source;

typedef struct transposer {
    ctune_loops *l;
    ctune_lnode *loop;
    int n; /* lanes */
    int n_body;
    ctune_lnode *body[MAX_BODY];
    int n_sources, n_targets;
    source source[MAX_COLUMNS];
    target target[MAX_COLUMNS];
    int time; /* the statement at work */
    bool ok;
} transposer;

/* ---- columns --------------------------------------------------------------------------------- */

/* +1 or -1 when the index moves so with the loop and holds it nowhere else, 0 else. */
static int sign_of(const transposer *t, const ctune_aff *idx) {
    int64_t sign = ctune_aff_coef(idx, CTUNE_TERM_AXIS, t->loop->var);
    const ctune_aff *rest =
        ctune_aff_sub(t->l->arena, idx, ctune_loops_var_aff(t->l, t->loop->var, sign, 0));
    bool is_plain = rest != NULL && !ctune_loops_uses(t->l, rest, t->loop->var);
    return is_plain && (sign == 1 || sign == -1) ? (int)sign : 0;
}

static bool column_find(const transposer *t, column *c) {
    const ctune_place *first = c->row[0];
    const ctune_tensor *tensor = first->is_buffer ? NULL : &t->l->region->tensors[first->id];
    c->type = ctune_place_type(t->l, first);
    if (first->n_idx < 2 || !ctune_type_has_vectors(c->type) || !ctune_matrix_fits(c->type, t->n) ||
        (tensor != NULL &&
         (tensor->is_temp || tensor->elem_stride_bytes != ctune_type_get(c->type)->bytes))) {
        return false;
    }
    int last = first->n_idx - 1;
    c->sign = sign_of(t, first->idx[last]);
    for (int i = 0; i < t->n; i++) {
        const ctune_place *row = c->row[i];
        if (row->is_buffer != first->is_buffer || row->id != first->id || c->sign == 0 ||
            sign_of(t, row->idx[last]) != c->sign) {
            return false;
        }
        for (int d = 0; d < last; d++) {
            if (ctune_loops_uses(t->l, row->idx[d], t->loop->var)) {
                return false;
            }
        }
    }
    return true;
}

static bool is_same_tensor(const ctune_place *a, const ctune_place *b) {
    return a->is_buffer == b->is_buffer && a->id == b->id;
}

/* Do two places of one tensor lie in different rows, by some index other than the last? */
static bool is_row_apart(const transposer *t, const ctune_place *a, const ctune_place *b) {
    for (int d = 0; d + 1 < a->n_idx; d++) {
        const ctune_aff *diff = ctune_aff_sub(t->l->arena, a->idx[d], b->idx[d]);
        if (diff != NULL && diff->n_terms == 0 && diff->c0 != 0) {
            return true;
        }
    }
    return false;
}

/* Does each lane have a row for itself? */
static bool has_own_rows(const transposer *t, const column *c) {
    for (int i = 0; i < t->n; i++) {
        for (int k = 0; k < i; k++) {
            if (!is_row_apart(t, c->row[i], c->row[k])) {
                return false;
            }
        }
    }
    return true;
}

/* Has no row of one a part in the other? */
static bool is_apart(const transposer *t, const column *a, const column *b) {
    for (int i = 0; i < t->n * t->n; i++) {
        if (!is_row_apart(t, a->row[i / t->n], b->row[i % t->n])) {
            return false;
        }
    }
    return true;
}

/* Iterations from `from`'s access of an element to `to`'s; false: not the same rows. */
static bool find_ahead(const transposer *t, const column *from, const column *to, int64_t *ahead) {
    int last = from->row[0]->n_idx - 1;
    for (int i = 0; i < t->n; i++) {
        const ctune_place *a = from->row[i], *b = to->row[i];
        for (int d = 0; d < last; d++) {
            if (!ctune_aff_is_equal(a->idx[d], b->idx[d])) {
                return false;
            }
        }
        const ctune_aff *diff = ctune_aff_sub(t->l->arena, a->idx[last], b->idx[last]);
        if (diff == NULL || diff->n_terms > 0 || from->sign != to->sign ||
            (i > 0 && diff->c0 * from->sign != *ahead)) {
            return false;
        }
        *ahead = diff->c0 * from->sign;
    }
    return true;
}

/* ---- looking at a loop ----------------------------------------------------------------------- */

/* Stores of all lanes of one variable from statement i on. */
static bool target_find(const transposer *t, int i, target *out) {
    *out = (target){.i_first = i, .i_def = -1};
    if (i + t->n > t->n_body) {
        return false;
    }
    for (int k = 0; k < t->n; k++) {
        const ctune_lnode *store = t->body[i + k];
        const ctune_value *v = store->value;
        if (store->kind != CTUNE_L_STORE || store->is_streamed || v->op != CTUNE_V_EXTRACT ||
            v->lane != k || v->kids[0]->op != CTUNE_V_VAR || v->kids[0]->lanes != t->n ||
            (k > 0 && v->kids[0]->var != out->var)) {
            return false;
        }
        out->var = v->kids[0]->var;
        out->at.row[k] = &store->place;
    }
    for (int k = 0; k < i; k++) {
        out->i_def =
            t->body[k]->kind == CTUNE_L_DEF && t->body[k]->var == out->var ? k : out->i_def;
    }
    return out->i_def >= 0 && column_find(t, &out->at) && has_own_rows(t, &out->at);
}

/* Does nothing else write the rows of a target? */
static bool has_own_stores(const transposer *t) {
    for (int i = 0; i < t->n_targets; i++) {
        const column *at = &t->target[i].at;
        for (int k = 0; k < t->n_body; k++) {
            if (t->body[k]->kind == CTUNE_L_STORE && t->body[k]->value->lanes > 1 &&
                is_same_tensor(&t->body[k]->place, at->row[0])) {
                return false;
            }
        }
        for (int k = 0; k < i; k++) {
            if (is_same_tensor(t->target[k].at.row[0], at->row[0]) &&
                !is_apart(t, &t->target[k].at, at)) {
                return false;
            }
        }
    }
    return true;
}

static bool find_targets(transposer *t) {
    for (int i = 0; i < t->n_body; i++) {
        if (t->body[i]->kind != CTUNE_L_STORE || t->body[i]->value->lanes > 1) {
            continue;
        }
        if (t->n_targets == MAX_COLUMNS || !target_find(t, i, &t->target[t->n_targets])) {
            return false;
        }
        i += t->n - 1;
        t->n_targets++;
    }
    return has_own_stores(t);
}

static bool is_stored(const transposer *t, const ctune_place *place) {
    for (int k = 0; k < t->n_body; k++) {
        if (t->body[k]->kind == CTUNE_L_STORE && is_same_tensor(&t->body[k]->place, place)) {
            return true;
        }
    }
    return false;
}

static int target_of(const transposer *t, const ctune_place *place) {
    for (int i = 0; i < t->n_targets; i++) {
        if (is_same_tensor(t->target[i].at.row[0], place)) {
            return i;
        }
    }
    return -1;
}

/* The gather's loads as a column. */
static bool source_find(const transposer *t, const ctune_value *v, source *out) {
    *out = (source){.value = v, .i_target = -1};
    if (v->op != CTUNE_V_GATHER || v->lanes != t->n) {
        return false;
    }
    for (int i = 0; i < t->n; i++) {
        if (v->kids[i]->op != CTUNE_V_LOAD) {
            return false;
        }
        out->at.row[i] = &v->kids[i]->place;
    }
    return column_find(t, &out->at);
}

/* A gather that becomes columns: from before the chunk, or from the iterations that wrote it. */
static void add_source(transposer *t, const source *s) {
    for (int i = 0; i < t->n_sources; i++) {
        if (t->source[i].value == s->value) { /* before and behind the store it has two values */
            t->ok = t->ok && (s->i_target < 0 || s->ahead != 0 || t->source[i].is_old == s->is_old);
            return;
        }
    }
    t->ok = t->ok && t->n_sources < MAX_COLUMNS;
    if (t->ok) {
        t->source[t->n_sources++] = *s;
    }
}

/* The target with the gather's rows; the others of its tensor must lie apart. */
static bool find_target(const transposer *t, source *s) {
    for (int i = 0; i < t->n_targets; i++) {
        const column *at = &t->target[i].at;
        if (!is_same_tensor(at->row[0], s->at.row[0])) {
            continue;
        }
        int64_t ahead = 0;
        if (find_ahead(t, &s->at, at, &ahead)) {
            s->i_target = i;
            s->ahead = ahead;
        } else if (!is_apart(t, &s->at, at)) {
            return false;
        }
    }
    return true;
}

static void look_at_gather(transposer *t, source *s) {
    s->is_old = true;
    if (target_of(t, s->at.row[0]) < 0) {
        t->ok = t->ok && !is_stored(t, s->at.row[0]);
    } else {
        t->ok = t->ok && find_target(t, s);
    }
    if (t->ok && s->i_target >= 0) {
        target *to = &t->target[s->i_target];
        t->ok = s->ahead >= -MAX_CARRY;
        s->is_old = s->ahead > 0 || (s->ahead == 0 && t->time < to->i_first);
        if (t->ok && s->ahead < -to->n_carry) {
            to->n_carry = (int)-s->ahead;
        }
    }
    add_source(t, s);
}

static void look_at_value(transposer *t, const ctune_value *v, bool is_sure) {
    source s;
    if (source_find(t, v, &s)) {
        t->ok = t->ok && is_sure;
        look_at_gather(t, &s);
        return;
    }
    if (v->op == CTUNE_V_LOAD && target_of(t, &v->place) >= 0) {
        t->ok = false; /* in another way than along its rows */
    }
    for (int i = 0; i < v->n_kids; i++) {
        look_at_value(t, v->kids[i], is_sure && ctune_value_is_always(v, i));
    }
}

/* Lanes of the loop's gathers and scattered vectors: of the first one. */
static void find_lanes(transposer *t, const ctune_value *v) {
    if (v->op == CTUNE_V_GATHER && v->kids[0]->op == CTUNE_V_LOAD && t->n == 0) {
        t->n = v->lanes;
    }
    if (v->op == CTUNE_V_EXTRACT && t->n == 0) {
        t->n = v->kids[0]->lanes;
    }
    for (int i = 0; i < v->n_kids; i++) {
        find_lanes(t, v->kids[i]);
    }
}

static bool find_body(transposer *t) {
    for (ctune_lnode *kid = t->loop->first; kid != NULL; kid = kid->next) {
        bool is_plain =
            kid->kind == CTUNE_L_STORE || kid->kind == CTUNE_L_SET || kid->kind == CTUNE_L_DEF;
        if (!is_plain || kid->value == NULL || t->n_body == MAX_BODY) {
            return false;
        }
        t->body[t->n_body++] = kid;
        find_lanes(t, kid->value);
    }
    return t->n >= 2 && t->n <= CTUNE_MATRIX_LANES;
}

static bool look(transposer *t) {
    const ctune_lnode *loop = t->loop;
    if (loop->step != 1 || loop->ann == CTUNE_LANN_PARALLEL || !find_body(t) || !find_targets(t)) {
        return false;
    }
    for (t->time = 0; t->time < t->n_body && t->ok; t->time++) {
        look_at_value(t, t->body[t->time]->value, true);
    }
    return t->ok && t->n_sources + t->n_targets > 0;
}

/* ---- a chunk --------------------------------------------------------------------------------- */

/* The place that row i has when the loop is at the given value. */
static ctune_place row_at(const transposer *t, const column *c, int i, const ctune_aff *at) {
    return ctune_place_subst(t->l, c->row[i], t->loop->var, at);
}

/* A chunk's elements of row i: those of its first iteration on, or, backwards, its last one. */
static ctune_place row_of_chunk(const transposer *t, const column *c, int i, const ctune_aff *at) {
    return row_at(t, c, i, c->sign > 0 ? at : ctune_aff_add_const(t->l->arena, at, t->n - 1));
}

static void flip(const transposer *t, const column *c, int *vars) {
    for (int i = 0; c->sign < 0 && i < t->n / 2; i++) {
        int swap = vars[i];
        vars[i] = vars[t->n - 1 - i];
        vars[t->n - 1 - i] = swap;
    }
}

static void load_columns(transposer *t, source *s, const ctune_aff *at, ctune_lnode *into) {
    ctune_loops *l = t->l;
    for (int i = 0; i < t->n; i++) {
        ctune_place place = row_of_chunk(t, &s->at, i, at);
        s->columns[i] = ctune_loops_value_var(l, "row", s->at.type, t->n, false);
        ctune_lnode_append(into,
                           ctune_lnode_def(l, s->columns[i], ctune_value_load(l, &place, t->n)));
    }
    ctune_matrix_transpose(l, s->at.type, t->n, s->columns, into);
    flip(t, &s->at, s->columns);
}

static void store_rows(transposer *t, target *to, const ctune_aff *at, ctune_lnode *into) {
    int rows[CTUNE_MATRIX_LANES];
    for (int u = 0; u < t->n; u++) {
        rows[u] = to->value[u];
    }
    flip(t, &to->at, rows);
    ctune_matrix_transpose(t->l, to->at.type, t->n, rows, into);
    for (int i = 0; i < t->n; i++) {
        ctune_place place = row_of_chunk(t, &to->at, i, at);
        ctune_lnode_append(into, ctune_lnode_store(t->l, &place, ctune_value_var(t->l, rows[i])));
    }
}

/* One iteration of a chunk. */
typedef struct turn {
    transposer *t;
    int u;
    const ctune_value *gather[MAX_COLUMNS]; /* of each source, in this iteration */
} turn;

/* The variable that holds what source s reads in iteration u. */
static int column_var(const transposer *t, const source *s, int u) {
    if (s->is_old) {
        return s->columns[u];
    }
    const target *to = &t->target[s->i_target];
    int64_t writer = u + s->ahead;
    return writer >= 0 ? to->value[writer] : to->carry[-writer - 1];
}

static const ctune_value *take_column(ctune_loops *l, const ctune_value *v, void *data) {
    const turn *x = data;
    for (int i = 0; i < x->t->n_sources; i++) {
        if (v == x->gather[i]) {
            return ctune_value_var(l, column_var(x->t, &x->t->source[i], x->u));
        }
    }
    return v;
}

static bool is_scattered(const transposer *t, int i) {
    for (int k = 0; k < t->n_targets; k++) {
        if (i >= t->target[k].i_first && i < t->target[k].i_first + t->n) {
            return true;
        }
    }
    return false;
}

static void add_turn(transposer *t, int u, const ctune_aff *at, ctune_lnode *into) {
    turn x = {.t = t, .u = u};
    const ctune_aff *value = ctune_aff_add_const(t->l->arena, at, u);
    ctune_lnode *copy = ctune_lnode_new(t->l, CTUNE_L_SEQ);
    if (copy == NULL || value == NULL) {
        return;
    }
    for (int i = 0; i < t->n_sources; i++) {
        x.gather[i] = ctune_value_subst(t->l, t->source[i].value, t->loop->var, value);
    }
    ctune_lnode_copy_body(t->l, t->loop, value, copy);
    ctune_lnode *node = ctune_lnode_take_kids(copy);
    for (int i = 0; i < t->n_body && node != NULL; i++) {
        ctune_lnode *next = node->next;
        for (int k = 0; k < t->n_targets; k++) {
            if (t->target[k].i_def == i) {
                t->target[k].value[u] = node->var;
            }
        }
        node->value = ctune_value_rebuild(t->l, node->value, take_column, &x);
        if (!is_scattered(t, i)) {
            ctune_lnode_append(into, node);
        }
        node = next;
    }
}

/* Values of the iterations before the first chunk, from memory. */
static void begin_carry(transposer *t, target *to, ctune_lnode *into) {
    ctune_loops *l = t->l;
    for (int k = 0; k < to->n_carry; k++) {
        const ctune_value *kids[CTUNE_MATRIX_LANES];
        const ctune_aff *at = ctune_aff_add_const(l->arena, t->loop->lo, -k - 1);
        for (int i = 0; i < t->n; i++) {
            ctune_place place = row_at(t, &to->at, i, at);
            kids[i] = ctune_value_load(l, &place, 1);
        }
        ctune_value proto = {
            .op = CTUNE_V_GATHER, .type = to->at.type, .lanes = t->n, .n_kids = t->n, .kids = kids};
        to->carry[k] = ctune_loops_value_var(l, "before", to->at.type, t->n, true);
        ctune_lnode_append(into, ctune_lnode_def(l, to->carry[k], ctune_loops_value(l, &proto)));
    }
}

static void fill_chunk(transposer *t, int var, ctune_lnode *chunk) {
    const ctune_aff *at = ctune_loops_var_aff(t->l, var, 1, 0);
    for (int i = 0; i < t->n_sources; i++) {
        if (t->source[i].is_old) {
            load_columns(t, &t->source[i], at, chunk);
        }
    }
    for (int u = 0; u < t->n; u++) {
        add_turn(t, u, at, chunk);
    }
    for (int i = 0; i < t->n_targets; i++) {
        target *to = &t->target[i];
        for (int k = 0; k < to->n_carry; k++) {
            const ctune_value *value = ctune_value_var(t->l, to->value[t->n - 1 - k]);
            ctune_lnode_append(chunk, ctune_lnode_set(t->l, to->carry[k], value));
        }
        store_rows(t, to, at, chunk);
    }
}

/* The loop becomes a block: chunks, when there is a whole one, then the rest. */
static void cut(transposer *t) {
    ctune_loops *l = t->l;
    ctune_lnode *node = t->loop;
    const char *hint = l->var[node->var].hint;
    int var = ctune_loops_index_var(l, hint), last = ctune_loops_index_var(l, hint);
    int end_var = ctune_loops_index_var(l, "rest");
    if (end_var < 0) {
        return;
    }
    const ctune_aff *trips = ctune_aff_sub(l->arena, node->hi, node->lo);
    const ctune_aff *n_chunks =
        ctune_loops_max(l, ctune_loops_floor(l, trips, t->n), ctune_loops_const(l, 0));
    const ctune_aff *end =
        ctune_aff_add(l->arena, node->lo, ctune_aff_scale(l->arena, n_chunks, t->n));
    const ctune_aff *border = ctune_loops_var_aff(l, end_var, 1, 0);
    const ctune_aff *some[1] = {ctune_aff_add_const(l->arena, trips, -t->n)};
    ctune_lnode *block = ctune_lnode_new(l, CTUNE_L_SEQ);
    ctune_lnode *guard = ctune_lnode_if(l, some, 1, NULL);
    ctune_lnode *chunk = ctune_lnode_for(l, var, node->lo, border, t->n, CTUNE_LANN_SERIAL);
    ctune_lnode *rest = ctune_lnode_for(l, last, border, node->hi, 1, CTUNE_LANN_SERIAL);
    if (block == NULL || guard == NULL || chunk == NULL || rest == NULL || some[0] == NULL) {
        return;
    }
    for (int i = 0; i < t->n_targets; i++) {
        begin_carry(t, &t->target[i], guard);
    }
    ctune_lnode_copy_body(l, node, ctune_loops_var_aff(l, last, 1, 0), rest);
    fill_chunk(t, var, chunk);
    ctune_lnode_append(guard, chunk);
    ctune_lnode_append(block, ctune_lnode_let(l, end_var, end));
    ctune_lnode_append(block, guard);
    ctune_lnode_append(block, rest);
    block->comment = node->comment;
    block->next = node->next;
    *node = *block;
}

/* ---- all loops ------------------------------------------------------------------------------- */

static void transpose_node(ctune_loops *l, ctune_lnode *node) {
    if (node->kind == CTUNE_L_FOR) {
        transposer *t = CTUNE_NEW(l->arena, transposer);
        if (t == NULL) {
            return;
        }
        *t = (transposer){.l = l, .loop = node, .ok = true};
        if (look(t)) {
            cut(t);
            return;
        }
    }
    for (ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
        transpose_node(l, kid);
    }
    if (node->other != NULL) {
        transpose_node(l, node->other);
    }
}

ctune_status ctune_pass_transpose(ctune_loops *l, const ctune_pass_options *options) {
    (void)options;
    if (ctune_loops_status(l) == CTUNE_OK) {
        transpose_node(l, l->root);
    }
    return ctune_loops_status(l);
}
