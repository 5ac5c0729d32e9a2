/*
 * A square of values, transposed in registers.
 *
 * In: n variables of n lanes, the rows. Out: n variables, the columns, and the definitions that
 * make them: log2(n) rounds in which pairs of vectors exchange halves. Inside of 16 bytes they are
 * interleaved, then whole pieces of 16 bytes change places: each step is one instruction of
 * AVX and AVX-512 (unpack, shuffle of quarters), which permutations of single elements are not.
 *
 * Which column lands where is found by playing the rounds on the numbers of the elements, which
 * also proves that they are a transposition.
 */
#include "search/passes/matrix.h"

enum { PIECE_BYTES = 16 };

typedef struct square {
    ctune_loops *l;
    ctune_lnode *into;
    int n;
    ctune_type type;
    int var[CTUNE_MATRIX_LANES];
    uint8_t row[CTUNE_MATRIX_LANES][CTUNE_MATRIX_LANES]; /* where the element comes from */
    uint8_t col[CTUNE_MATRIX_LANES][CTUNE_MATRIX_LANES];
} square;

/* Elements `pick` of the two vectors a and b side by side, as a variable. */
static int define(square *s, int a, int b, const int *pick) {
    ctune_loops *l = s->l;
    const ctune_value *kids[CTUNE_MATRIX_LANES];
    for (int k = 0; k < s->n; k++) {
        const ctune_value *from = ctune_value_var(l, s->var[pick[k] < s->n ? a : b]);
        kids[k] = ctune_value_extract(l, from, pick[k] % s->n);
    }
    ctune_value proto = {
        .op = CTUNE_V_GATHER, .type = s->type, .lanes = s->n, .n_kids = s->n, .kids = kids};
    int var = ctune_loops_value_var(l, "t", s->type, s->n, false);
    ctune_lnode_append(s->into, ctune_lnode_def(l, var, ctune_loops_value(l, &proto)));
    return var;
}

static void exchange(square *s, int a, int b, const int *first, const int *second) {
    square old = *s;
    s->var[a] = define(&old, a, b, first);
    s->var[b] = define(&old, a, b, second);
    for (int k = 0; k < s->n; k++) {
        int f = first[k], t = second[k];
        s->row[a][k] = old.row[f < s->n ? a : b][f % s->n];
        s->col[a][k] = old.col[f < s->n ? a : b][f % s->n];
        s->row[b][k] = old.row[t < s->n ? a : b][t % s->n];
        s->col[b][k] = old.col[t < s->n ? a : b][t % s->n];
    }
}

/* In each piece of `piece` elements: the lower (upper) halves of both, runs of `run` in turn. */
static void interleave(int n, int piece, int run, int half, int *pick) {
    for (int k = 0; k < n; k++) {
        int at = k % piece, pair = at / (2 * run), of_b = at / run % 2;
        pick[k] = of_b * n + k / piece * piece + half * piece / 2 + pair * run + at % run;
    }
}

/* The pieces of even (odd) number of both. */
static void gather_pieces(int n, int piece, int odd, int *pick) {
    int n_pieces = n / piece;
    for (int k = 0; k < n; k++) {
        int at = 2 * (k / piece) + odd; /* of the pieces of a, then of b */
        pick[k] = at / n_pieces * n + at % n_pieces * piece + k % piece;
    }
}

static void play(square *s) {
    int bytes = ctune_type_get(s->type)->bytes;
    int piece = PIECE_BYTES / bytes < s->n ? PIECE_BYTES / bytes : s->n;
    for (int bit = 1; bit < s->n; bit *= 2) {
        int first[CTUNE_MATRIX_LANES], second[CTUNE_MATRIX_LANES];
        if (bit < piece) {
            interleave(s->n, piece, bit, 0, first);
            interleave(s->n, piece, bit, 1, second);
        } else {
            gather_pieces(s->n, piece, 0, first);
            gather_pieces(s->n, piece, 1, second);
        }
        for (int i = 0; i < s->n; i++) {
            if ((i & bit) == 0) {
                exchange(s, i, i + bit, first, second);
            }
        }
    }
}

bool ctune_matrix_fits(ctune_type type, int n) {
    int bytes = ctune_type_get(type)->bytes;
    bool is_power = n >= 2 && (n & (n - 1)) == 0;
    return is_power && n <= CTUNE_MATRIX_LANES && (bytes == 4 || bytes == 8);
}

void ctune_matrix_transpose(ctune_loops *l, ctune_type type, int n, int *vars, ctune_lnode *into) {
    square s = {.l = l, .into = into, .n = n, .type = type};
    for (int i = 0; i < n; i++) {
        s.var[i] = vars[i];
        for (int k = 0; k < n; k++) {
            s.row[i][k] = (uint8_t)i;
            s.col[i][k] = (uint8_t)k;
        }
    }
    play(&s);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n; k++) {
            if (s.row[i][k] != k || s.col[i][k] != s.col[i][0]) {
                ctune_loops_fail(l, CTUNE_EBUG, "transpose: not a transposition");
                return;
            }
        }
        vars[s.col[i][0]] = s.var[i];
    }
}
