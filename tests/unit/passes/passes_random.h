/*
 * Random small programs over one region, for tests that compare a program with what a pass made of
 * it. Iterations of VECTOR loops are independent by construction: each writes elements that only it
 * touches. Built twice from one seed: the programs are equal.
 */
#ifndef CTUNE_TESTS_UNIT_PASSES_PASSES_RANDOM_H
#define CTUNE_TESTS_UNIT_PASSES_PASSES_RANDOM_H

#include "tests/unit/passes/passes_fixture.h"

enum { N_TYPES = 9, EXTENT = 80, N_TEMPS = 4 };
static const ctune_type random_types[N_TYPES] = {CTUNE_F32, CTUNE_F64, CTUNE_I32,
                                                 CTUNE_I64, CTUNE_U8,  CTUNE_I16,
                                                 CTUNE_I8,  CTUNE_U32, CTUNE_BOOL};

/* Of each type: in_<type>, strided in_<type>, scalar, two outputs. */
static inline char *random_region(void) {
    ctune_text t;
    ctune_text_init(&t);
    ctune_text_append(&t, "te 1\nregion r\nparam n i32 sizes 80\naxis i i32\naxis j i32\n");
    for (int k = 0; k < N_TYPES; k++) {
        const char *name = ctune_type_get(random_types[k])->name;
        int bytes = ctune_type_get(random_types[k])->bytes;
        ctune_text_printf(&t, "tensor in_%s %s [n][n]\n", name, name);
        ctune_text_printf(&t, "tensor st_%s %s [n][n] stride %d\n", name, name, 2 * bytes);
        ctune_text_printf(&t, "tensor sc_%s %s scalar\n", name, name);
        ctune_text_printf(&t, "tensor out_%s %s [n][n]\n", name, name);
        ctune_text_printf(&t, "tensor two_%s %s [n][n] stride %d\n", name, name, 2 * bytes);
    }
    for (int k = 0; k < N_TYPES; k++) {
        const char *name = ctune_type_get(random_types[k])->name;
        ctune_text_printf(&t, "stage S%d: out_%s[i][j] = in_%s[i][j]\n", 3 * k, name, name);
        ctune_text_printf(&t, "stage S%d: two_%s[i][j] = st_%s[i][j]\n", 3 * k + 1, name, name);
        ctune_text_printf(&t, "stage S%d: two_%s[i][j] = sc_%s\n", 3 * k + 2, name, name);
    }
    ctune_text_append(&t, "order {\n    for i: 0 <= i < n {\n        for j: 0 <= j < n {\n");
    for (int k = 0; k < 3 * N_TYPES; k++) {
        ctune_text_printf(&t, "            S%d\n", k);
    }
    ctune_text_append(&t, "        }\n    }\n}\n");
    char *out = strdup(ctune_text_get(&t));
    ctune_text_clear(&t);
    return out;
}

typedef struct maker {
    fixture *f;
    uint64_t state;
    int row, col, outer, k; /* index variables; -1 = not in scope */
    int64_t rows, cols, col_lo;
    int acc; /* buffer; -1 = none may be read */
    ctune_type acc_type;
    bool acc_is_written; /* in the loops at work: only the own element may be read */
    int n_temps;
    int temp[N_TEMPS];
    int first_own;     /* temporaries from here on live within one iteration of the vector loop */
    uint32_t used_out; /* outputs already stored to */
} maker;

static inline int pick(maker *m, int n) {
    uint64_t z = m->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (int)((z ^ z >> 31) % (uint64_t)n);
}

static inline ctune_type pick_type(maker *m) {
    return random_types[pick(m, 3) > 0 ? pick(m, 4) : pick(m, N_TYPES)];
}

static inline int named(maker *m, const char *prefix, ctune_type type) {
    char name[32];
    snprintf(name, sizeof name, "%s_%s", prefix, ctune_type_get(type)->name);
    return tensor(m->f, name);
}

/* Some index in [0, EXTENT). */
static inline aff make_index(maker *m, bool is_last) {
    ctune_loops *l = m->f->l;
    int main = is_last ? m->col : m->row, other = is_last ? m->row : m->col;
    switch (pick(m, 9)) {
    case 0:
        return num(m->f, pick(m, EXTENT));
    case 1:
        return m->k >= 0 ? at(m->f, m->k, 0) : num(m->f, 5);
    case 2:
        return m->outer >= 0 ? at(m->f, m->outer, 3) : num(m->f, 6);
    case 3:
        return other >= 0 ? at(m->f, other, 0) : num(m->f, 7);
    case 4: {
        static const int64_t scale[] = {2, -1, 2, -2};
        int64_t by = scale[pick(m, 4)];
        return main >= 0 ? ctune_loops_var_aff(l, main, by, by < 0 ? EXTENT - 1 : 0) : num(m->f, 8);
    }
    case 5:
        return main >= 0 ? ctune_loops_floor(l, at(m->f, main, pick(m, 3)), 2 + pick(m, 3))
                         : num(m->f, 9);
    default:
        return main >= 0 ? at(m->f, main, pick(m, 4)) : num(m->f, pick(m, EXTENT));
    }
}

static inline val make_value(maker *m, ctune_type type, int depth);

static inline ctune_place acc_place(maker *m) {
    return of_buffer(m->acc, 2, at(m->f, m->row, 0), at(m->f, m->col, -m->col_lo));
}

static inline val make_leaf(maker *m, ctune_type type) {
    fixture *f = m->f;
    for (int t = 0; t < m->n_temps; t++) {
        if (f->l->var[m->temp[t]].type == type && pick(m, 2) == 0) {
            return ctune_value_var(f->l, m->temp[t]);
        }
    }
    if (m->acc >= 0 && m->acc_type == type && m->row >= 0 && m->col >= 0 && pick(m, 2) == 0) {
        ctune_place place = acc_place(m);
        if (!m->acc_is_written && pick(m, 3) == 0) {
            place.idx[1] = ctune_loops_var_aff(f->l, m->col, -1, m->col_lo + m->cols - 1);
        } else if (!m->acc_is_written && pick(m, 3) == 0) {
            place.idx[1] = num(f, pick(m, (int)m->cols));
        }
        return load(f, place);
    }
    switch (pick(m, 8)) {
    case 0:
        return ctune_loops_value(
            f->l, &(ctune_value){.op = CTUNE_V_CONST,
                                 .type = type,
                                 .lanes = 1,
                                 .i_value = ctune_type_is_float(type) ? 0 : pick(m, 2),
                                 .f_value = ctune_type_is_float(type) ? 0.5 * pick(m, 9) : 0});
    case 1:
        return type == CTUNE_BOOL
                   ? ctune_value_int(f->l, type, 1)
                   : ctune_loops_value(f->l, &(ctune_value){.op = CTUNE_V_INDEX,
                                                            .type = type,
                                                            .lanes = 1,
                                                            .index = make_index(m, pick(m, 2))});
    case 2:
        return load(f, of_tensor(named(m, "sc", type), 0, NULL, NULL));
    case 3:
        return load(f,
                    of_tensor(named(m, "st", type), 2, make_index(m, false), make_index(m, true)));
    default:
        return load(f,
                    of_tensor(named(m, "in", type), 2, make_index(m, false), make_index(m, true)));
    }
}

static inline val make_test(maker *m, int depth) {
    ctune_loops *l = m->f->l;
    ctune_type type = pick_type(m);
    switch (depth <= 0 ? 0 : pick(m, 6)) {
    case 0:
        return make_value(m, CTUNE_I32, depth - 1);
    case 1:
        return ctune_value_binary(l, pick(m, 2) ? CTUNE_V_LAND : CTUNE_V_LOR,
                                  make_test(m, depth - 1), make_test(m, depth - 1));
    case 2:
        return ctune_value_unary(l, CTUNE_V_LNOT, make_test(m, depth - 1));
    default:
        return ctune_value_binary(l, (ctune_value_op)(CTUNE_V_LT + pick(m, 6)),
                                  make_value(m, type, depth - 1), make_value(m, type, depth - 1));
    }
}

/* A choice whose arm must not be evaluated where the test fails: it would leave the tensor or
 * divide by zero. */
static inline val make_guarded(maker *m, ctune_type type, int depth) {
    ctune_loops *l = m->f->l;
    int in = named(m, "in", type);
    val zero = ctune_value_zero(l, type), arm, test;
    if (m->col >= 0 && (ctune_type_is_float(type) || pick(m, 2))) {
        aff col = at(m->f, m->col, EXTENT - 1 - pick(m, 20));
        val index = ctune_loops_value(
            l, &(ctune_value){.op = CTUNE_V_INDEX, .type = CTUNE_I32, .lanes = 1, .index = col});
        test = ctune_value_binary(l, CTUNE_V_LT, index, ctune_value_int(l, CTUNE_I32, EXTENT));
        arm = load(m->f, of_tensor(in, 2, num(m->f, EXTENT - 1), col));
    } else if (ctune_type_is_float(type)) {
        return make_leaf(m, type);
    } else {
        val den = load(m->f, of_tensor(in, 2, make_index(m, false), make_index(m, true)));
        test = ctune_value_binary(l, CTUNE_V_NE, den, zero);
        arm = ctune_value_binary(l, pick(m, 2) ? CTUNE_V_DIV : CTUNE_V_MOD,
                                 make_value(m, type, depth - 1), den);
    }
    val kids[3] = {test, arm, make_leaf(m, type)};
    return ctune_loops_value(
        l,
        &(ctune_value){.op = CTUNE_V_SELECT, .type = type, .lanes = 1, .n_kids = 3, .kids = kids});
}

static inline val make_select(maker *m, ctune_type type, int depth) {
    val kids[3] = {make_test(m, depth - 1), make_value(m, type, depth - 1),
                   make_value(m, type, depth - 1)};
    return ctune_loops_value(
        m->f->l,
        &(ctune_value){.op = CTUNE_V_SELECT, .type = type, .lanes = 1, .n_kids = 3, .kids = kids});
}

static inline val make_convert(maker *m, ctune_type type, int depth) {
    ctune_type from = pick_type(m);
    bool is_narrowing = ctune_type_is_float(from) && !ctune_type_is_float(type);
    return ctune_value_convert(
        m->f->l, type,
        is_narrowing ? load(m->f, of_tensor(named(m, "in", from), 2, make_index(m, false),
                                            make_index(m, true)))
                     : make_value(m, from, depth - 1));
}

static inline val make_arithmetic(maker *m, ctune_type type, int depth) {
    static const ctune_value_op both[] = {CTUNE_V_ADD, CTUNE_V_SUB, CTUNE_V_MUL, CTUNE_V_MIN,
                                          CTUNE_V_MAX};
    static const ctune_value_op bits[] = {CTUNE_V_BAND, CTUNE_V_BOR, CTUNE_V_BXOR};
    ctune_loops *l = m->f->l;
    bool is_float = ctune_type_is_float(type);
    val a = make_value(m, type, depth - 1);
    int what = pick(m, 10);
    if (what == 0) {
        return ctune_value_unary(l, CTUNE_V_NEG, a);
    }
    val b = make_value(m, type, depth - 1);
    if (what == 1) {
        return is_float ? ctune_value_fma(l, a, b, make_value(m, type, depth - 1))
                        : ctune_value_binary(l, bits[pick(m, 3)], a, b);
    }
    if (what == 2) {
        return is_float ? ctune_value_binary(l, CTUNE_V_DIV, a, b)
               : pick(m, 2)
                   ? ctune_value_binary(l, pick(m, 2) ? CTUNE_V_DIV : CTUNE_V_MOD, a,
                                        ctune_value_int(l, type, 3))
                   : ctune_value_binary(l, CTUNE_V_SHL, a, ctune_value_int(l, type, pick(m, 4)));
    }
    return ctune_value_binary(l, both[pick(m, 5)], a, b);
}

static inline val make_value(maker *m, ctune_type type, int depth) {
    if (depth <= 0 || type == CTUNE_BOOL) {
        return depth > 0 && pick(m, 2) ? make_convert(m, type, depth) : make_leaf(m, type);
    }
    int what = pick(m, 11);
    if (type == CTUNE_I32 && what == 0) {
        return make_test(m, depth - 1);
    }
    return what == 10 ? make_guarded(m, type, depth)
           : what < 2 ? make_leaf(m, type)
           : what < 4 ? make_select(m, type, depth)
           : what < 6 ? make_convert(m, type, depth)
                      : make_arithmetic(m, type, depth);
}

/* ---- statements ------------------------------------------------------------------------------ */

/* A store to an output that nothing else in the program touches: each lane has its own element. */
static inline void make_output(maker *m, ctune_lnode *parent) {
    int t = pick(m, 2 * N_TYPES);
    if (m->used_out & 1u << t) {
        return;
    }
    m->used_out |= 1u << t;
    ctune_type type = random_types[t / 2];
    aff row = m->row >= 0 ? at(m->f, m->row, 1) : num(m->f, 2);
    aff col = m->col < 0        ? num(m->f, 3)
              : pick(m, 3) == 0 ? ctune_loops_var_aff(m->f->l, m->col, 2, 0)
              : pick(m, 3) == 0 ? ctune_loops_var_aff(m->f->l, m->col, -1, EXTENT - 1)
                                : at(m->f, m->col, 1);
    bool is_turned = pick(m, 5) == 0;
    ctune_place place = of_tensor(named(m, t % 2 ? "two" : "out", type), 2, is_turned ? col : row,
                                  is_turned ? row : col);
    val value = make_value(m, type, 3);
    if (pick(m, 3) == 0 && type != CTUNE_BOOL) {
        value = ctune_value_binary(m->f->l, CTUNE_V_MAX, load(m->f, place), value);
    }
    store(m->f, parent, place, value);
}

static inline void make_statements(maker *m, ctune_lnode *parent, int depth);

static inline void make_if(maker *m, ctune_lnode *parent, int depth) {
    ctune_loops *l = m->f->l;
    const ctune_aff **conds = CTUNE_NEW_ARRAY(l->arena, const ctune_aff *, 1);
    conds[0] = ctune_aff_add_const(l->arena, make_index(m, pick(m, 2)), -pick(m, 6));
    int n_conds = pick(m, 2);
    ctune_lnode *node =
        ctune_lnode_if(l, conds, n_conds, n_conds == 0 || pick(m, 2) ? make_test(m, 1) : NULL);
    int n_temps = m->n_temps;
    make_statements(m, node, depth - 1);
    m->n_temps = n_temps;
    if (pick(m, 2)) {
        node->other = ctune_lnode_new(l, CTUNE_L_SEQ);
        make_statements(m, node->other, depth - 1);
        m->n_temps = n_temps;
    }
    ctune_lnode_append(parent, node);
}

static inline void make_temp(maker *m, ctune_lnode *parent) {
    ctune_loops *l = m->f->l;
    if (m->n_temps == N_TEMPS) {
        return;
    }
    ctune_type type = random_types[pick(m, N_TYPES)];
    int var = ctune_loops_value_var(l, "tmp", type, 1, pick(m, 2));
    ctune_lnode_append(parent, ctune_lnode_def(l, var, make_value(m, type, 2)));
    m->temp[m->n_temps++] = var;
}

static inline void make_statements(maker *m, ctune_lnode *parent, int depth) {
    ctune_loops *l = m->f->l;
    int k = m->k;
    for (int n = 1 + pick(m, 3); n > 0; n--) {
        switch (pick(m, 8)) {
        case 7: /* an index of its own, the same in all lanes or not */
            m->k = ctune_loops_index_var(l, "let");
            ctune_lnode_append(parent,
                               ctune_lnode_let(l, m->k,
                                               m->col >= 0 && pick(m, 2) ? at(m->f, m->col, 2)
                                               : m->row >= 0             ? at(m->f, m->row, 4)
                                                                         : num(m->f, 3)));
            break;
        case 0:
            make_temp(m, parent);
            break;
        case 1:
            if (depth > 0) {
                make_if(m, parent, depth);
            }
            break;
        case 2:
            for (int t = m->first_own; t < m->n_temps; t++) {
                if (l->var[m->temp[t]].is_mutable) {
                    val value = make_value(m, l->var[m->temp[t]].type, 2);
                    ctune_lnode_append(parent, ctune_lnode_set(l, m->temp[t], value));
                }
            }
            break;
        case 3:
        case 4:
            if (m->acc_is_written && m->row >= 0 && m->col >= 0) {
                store(m->f, parent, acc_place(m), make_value(m, m->acc_type, 3));
                break;
            }
            make_output(m, parent);
            break;
        default:
            make_output(m, parent);
        }
    }
    m->k = k;
}

/* The loops of the tile around what it does: 0 sets the accumulators, 1 works, 2 stores. */
static inline void make_tile(maker *m, ctune_lnode *parent, int part) {
    ctune_loops *l = m->f->l;
    bool is_col_outer = pick(m, 3) == 0;
    ctune_lann col_ann = pick(m, 5) ? CTUNE_LANN_VECTOR : CTUNE_LANN_FULL;
    ctune_lann row_ann = pick(m, 4) ? CTUNE_LANN_FULL : CTUNE_LANN_SERIAL;
    m->acc_is_written = part < 2;
    m->used_out = part == 0 ? ~0u : m->used_out;
    int n_temps = m->n_temps;
    m->first_own = 0;
    for (int depth = 0; depth < 2; depth++) {
        bool is_row = (depth == 0) != is_col_outer;
        if (depth == 1 && part > 0 && pick(m, 4) == 0) {
            make_statements(m, parent, 0); /* between the loops */
        }
        m->first_own = !is_row && col_ann == CTUNE_LANN_VECTOR ? m->n_temps : m->first_own;
        int var = ctune_loops_index_var(l, is_row ? "row" : "col");
        *(is_row ? &m->row : &m->col) = var;
        parent =
            loop(m->f, parent, var, num(m->f, is_row ? 0 : m->col_lo),
                 num(m->f, is_row ? m->rows : m->col_lo + m->cols), is_row ? row_ann : col_ann);
    }
    if (part == 0) {
        int acc = m->acc;
        m->acc = -1;
        val value = make_value(m, m->acc_type, 2);
        m->acc = acc;
        store(m->f, parent, acc_place(m), value);
        m->used_out = 0;
    } else {
        make_statements(m, parent, 2);
    }
    if (part == 2) {
        make_output(m, parent);
    }
    m->n_temps = n_temps;
    m->row = m->col = -1;
}

/* A program in f->l, which is empty. */
static inline void make_program(fixture *f, uint64_t seed) {
    static const int64_t widths[] = {1, 2, 3, 4, 5, 6, 8, 8, 12, 16, 16, 20, 24, 32, 32};
    ctune_loops *l = f->l;
    maker m = {.f = f, .state = seed, .row = -1, .col = -1, .outer = -1, .k = -1, .acc = -1};
    m.rows = 1 + pick(&m, 4);
    m.cols = widths[pick(&m, 15)];
    m.col_lo = pick(&m, 3) == 0 ? 2 : 0;
    m.acc_type = pick_type(&m);
    ctune_lnode *parent = l->root;
    if (pick(&m, 2)) {
        m.outer = ctune_loops_index_var(l, "outer");
        parent = loop(f, parent, m.outer, num(f, 0), num(f, pick(&m, 4)), CTUNE_LANN_SERIAL);
    }
    ctune_lnode *seq = ctune_lnode_new(l, CTUNE_L_SEQ);
    ctune_lnode_append(parent, seq);
    m.acc = ctune_loops_buffer(l, "acc", m.acc_type,
                               pick(&m, 4) ? CTUNE_SCOPE_REGISTER : CTUNE_SCOPE_BLOCK, 2,
                               (aff[]){num(f, m.rows), num(f, m.cols)});
    ctune_lnode_append(seq, ctune_lnode_decl(l, m.acc));
    make_tile(&m, seq, 0);
    if (pick(&m, 3)) {
        m.k = ctune_loops_index_var(l, "k");
        ctune_lnode *k = loop(f, seq, m.k, num(f, 0), num(f, pick(&m, 5)), CTUNE_LANN_SERIAL);
        if (pick(&m, 2)) {
            int let = ctune_loops_index_var(l, "twice");
            ctune_lnode_append(k, ctune_lnode_let(l, let, ctune_loops_var_aff(l, m.k, 2, 1)));
            m.k = let;
        }
        make_tile(&m, k, 1);
        m.k = -1;
    }
    make_tile(&m, seq, 2);
}

#endif
