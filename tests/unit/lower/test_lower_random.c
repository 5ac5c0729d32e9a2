/*
 * Random small regions under random uses of tile, wave, compute and split_domain, at all sizes up
 * to 6: what is accepted runs as the region does, bit for bit; what is refused for its order is
 * lowered all the same, and some size shows a difference (but for a few, whose violation needs more
 * room or values that tell less).
 */
#include "search/schedule/nest_ops.h"
#include "tests/unit/lower/lower_fixture.h"

typedef struct gen {
    ctune_rng rng;
    ctune_text text; /* the region */
    ctune_text schedule;
} gen;

static int below(gen *g, int n) {
    return (int)ctune_rng_below(&g->rng, (uint64_t)n);
}

static int between(gen *g, int lo, int hi) {
    return lo + below(g, hi - lo + 1);
}

/* ---- regions: all indices are shifted by 4 into arrays with a margin of 4 ---- */

static void add_index(gen *g, const char *axis, int shift) {
    ctune_text_printf(&g->text, "[%s + %d]", axis, 4 + shift);
}

/* A read of array `name` around the axes. */
static void add_read(gen *g, const char *name, int rank, const char *const *axes) {
    ctune_text_printf(&g->text, "%s", name);
    for (int d = 0; d < rank; d++) {
        add_index(g, axes[d], between(g, -2, 2));
    }
}

static void add_stage(gen *g, int id, const char *target, int rank, const char *const *axes,
                      const char *const *arrays, int n_arrays) {
    static const char *const factors[] = {"0.3", "0.7", "0.45"};
    ctune_text_printf(&g->text, "stage S%d: %s", id, target);
    for (int d = 0; d < rank; d++) {
        add_index(g, axes[d], 0);
    }
    ctune_text_append(&g->text, below(g, 3) == 0 ? " += " : " = ");
    int n = between(g, 1, 3);
    for (int k = 0; k < n; k++) {
        ctune_text_printf(&g->text, "%s%s * ", k > 0 ? " + " : "", factors[k]);
        add_read(g, arrays[below(g, n_arrays)], rank, axes);
    }
    ctune_text_append(&g->text, "\n");
}

static void add_head(gen *g) {
    ctune_text_append(&g->text, "te 1\nregion r\nparam steps i32 sizes 10\nparam n i32 sizes 20\n");
}

/* In place in a time loop: one or two dims, rectangles and triangles, and one array along two dims,
 * where the distances of each dim alone say little. */
static void stencil(gen *g) {
    static const char *const axes[] = {"i", "j"}, *const arrays[] = {"A"};
    int rank = between(g, 1, 2);
    bool is_triangle = rank == 2 && below(g, 3) == 0, is_sum = rank == 2 && below(g, 2) == 0;
    add_head(g);
    ctune_text_printf(&g->text, "axis t i32\naxis i i32\n%stensor A f64 %s\n",
                      rank == 2 ? "axis j i32\n" : "",
                      is_sum      ? "[2*n + 8]"
                      : rank == 2 ? "[n + 8][n + 8]"
                                  : "[n + 8]");
    if (is_sum) {
        ctune_text_printf(&g->text, "stage S0: A[i + j + 4] = 0.3 * A[i + j + %d] + 0.7\n",
                          below(g, 3) == 0 ? between(g, 3, 5) : 4);
    } else {
        add_stage(g, 0, "A", rank, axes, arrays, 1);
    }
    ctune_text_append(&g->text, "order {\n for t: 0 <= t < steps {\n  for i: 0 <= i < n {\n");
    if (rank == 2) {
        ctune_text_printf(&g->text, "   for j: 0 <= j %s {\n    S0\n   }\n",
                          is_triangle ? "<= i" : "< n");
    } else {
        ctune_text_append(&g->text, "   S0\n");
    }
    ctune_text_append(&g->text, "  }\n }\n}\n");
}

/* Two sweeps in a time loop. */
static void sweeps(gen *g) {
    static const char *const first[] = {"i"}, *const second[] = {"k"}, *const arrays[] = {"A", "B"};
    add_head(g);
    ctune_text_append(&g->text, "axis t i32\naxis i i32\naxis k i32\n"
                                "tensor A f64 [n + 8]\ntensor B f64 [n + 8]\n");
    add_stage(g, 0, "B", 1, first, arrays, 1 + below(g, 2));
    add_stage(g, 1, "A", 1, second, arrays, 2);
    ctune_text_append(&g->text, "order {\n for t: 0 <= t < steps {\n  for i: 0 <= i < n {\n   S0\n"
                                "  }\n  for k: 0 <= k < n {\n   S1\n  }\n }\n}\n");
}

/* A pure stage and one that reads it. */
static void producer(gen *g) {
    int shift = below(g, 3), twice = between(g, 1, 2);
    add_head(g);
    ctune_text_printf(&g->text,
                      "axis t i32\naxis i i32\naxis k i32\naxis j i32\n"
                      "tensor A f64 [n + 8][2*n + 8]\ntensor T f64 [n + 4][2*n + 8] temp\n"
                      "tensor B f64 [n + 8][n + 8]\n"
                      "stage S0: T[t][i] = 0.3 * A[t + %d][i] + 0.7 * A[t][i + %d]\n"
                      "stage S1: B[k][j] %s 0.45 * T[k][%d*j + %d] + T[k + %d][j]\n"
                      "order {\n for t: 0 <= t < n + 2 {\n  for i: 0 <= i < 2*n + 4 {\n   S0\n"
                      "  }\n }\n for k: 0 <= k < n {\n  for j: 0 <= j < %s {\n   S1\n  }\n }\n}\n",
                      below(g, 3), below(g, 3), below(g, 2) ? "=" : "+=", twice, shift, below(g, 3),
                      below(g, 2) ? "n" : "k + 1");
}

/* ---- schedules ---- */

static const char *pick_loop(gen *g, const ctune_nest *nest) {
    int nodes[CTUNE_NEST_NODES], n = 0;
    for (int i = 1; i < nest->n_nodes; i++) {
        if (nest->node[i].kind == CTUNE_NN_LOOP) {
            nodes[n++] = i;
        }
    }
    return nest->node[nodes[below(g, n)]].name;
}

static void add_sum(gen *g, const ctune_nest *nest, bool has_shift, ctune_text *out) {
    int n = between(g, 1, 3);
    for (int k = 0; k < n; k++) {
        int coef = between(g, -1, 2);
        ctune_text_append(out, coef < 0 ? (k > 0 ? " - " : "-") : k > 0 ? " + " : "");
        ctune_text_printf(out, "%d*%s", coef < 0 ? 1 : coef == 0 ? 1 : coef, pick_loop(g, nest));
    }
    if (has_shift && below(g, 2) == 0) {
        ctune_text_printf(out, " + %d*S%d", between(g, 1, 2), below(g, 2));
    }
}

static void random_prim(gen *g, const ctune_nest *nest, int number, ctune_text *out) {
    switch (below(g, 8)) {
    case 0:
    case 1:
        ctune_text_printf(out, "split %s %d -> o%d p%d", pick_loop(g, nest), between(g, 2, 4),
                          number, number);
        break;
    case 2: /* one time coordinate for both sweeps; along an array of one dimension */
        if (ctune_nest_find(nest, "k") < 0) {
            ctune_text_printf(out, "tile %d*i + j by %d -> x%d at t", between(g, 1, 2),
                              between(g, 1, 4), number);
            break;
        }
        ctune_text_printf(out, "tile %d*t + i + %sk + %d*S1 by %d -> x%d at t", between(g, 1, 3),
                          below(g, 8) ? "" : "2*", between(g, 1, 3), between(g, 1, 4), number);
        break;
    case 3:
    case 4:
        ctune_text_append(out, "tile ");
        add_sum(g, nest, true, out);
        ctune_text_printf(out, " by %d -> x%d at %s", between(g, 1, 4), number, pick_loop(g, nest));
        break;
    case 5:
        ctune_text_append(out, "wave ");
        add_sum(g, nest, false, out);
        ctune_text_printf(out, " -> w%d", number);
        break;
    case 6:
        ctune_text_printf(out, "reorder %s", pick_loop(g, nest));
        ctune_text_printf(out, " %s", pick_loop(g, nest));
        break;
    default:
        ctune_text_printf(out, "%s %s", below(g, 2) ? "compute S0 at" : "parallel",
                          pick_loop(g, nest));
        break;
    }
}

/* Applies primitives that fit the nest; their text is kept. */
static void random_schedule(gen *g, fixture *f, ctune_nest *nest) {
    int n = between(g, 1, 5);
    for (int k = 0; k < n; k++) {
        ctune_text line;
        ctune_schedule s;
        ctune_nest work = *nest;
        ctune_text_init(&line);
        ctune_schedule_init(&s);
        random_prim(g, nest, k, &line);
        if (ctune_schedule_parse(&f->ctx, ctune_text_get(&line), &s) != CTUNE_OK) {
            fail_msg("%s: %s", ctune_text_get(&line), f->ctx.error);
        }
        if (ctune_nest_apply(&f->ctx, &work, &s.prim[0]) == CTUNE_OK) { /* else: no such loop */
            if (ctune_nest_verify(&f->ctx, &work) != CTUNE_OK) {
                fail_msg("%s%s: %s", ctune_text_get(&g->schedule), ctune_text_get(&line),
                         f->ctx.error);
            }
            *nest = work;
            ctune_text_printf(&g->schedule, "%s\n", ctune_text_get(&line));
        }
        ctune_schedule_clear(&s);
        ctune_text_clear(&line);
    }
}

/* A structure first: pieces, when they are legal. */
static void random_form(gen *g, fixture *f, ctune_nest *nest) {
    const ctune_form *form = f->program->form[0];
    char line[200];
    const ctune_tree *tree = form->tree;
    ctune_nest_init(nest, f->region, form);
    if (below(g, 3) != 0) {
        return;
    }
    const char *a = tree->dims[below(g, tree->n_dims)].name;
    const char *b = tree->dims[below(g, tree->n_dims)].name;
    const char *at = tree->dims[below(g, tree->n_dims)].name;
    snprintf(line, sizeof line, "split_domain %s at %d*%s - %s < %d\n", at, between(g, 2, 3), a,
             below(g, 2) ? "n" : b, between(g, -2, 4));
    ctune_schedule s;
    ctune_schedule_init(&s);
    ctune_schedule_append_text(&s, line);
    assert_false(s.failed);
    ctune_status status = ctune_program_form(&f->ctx, f->program, &s, &form);
    assert_true(status == CTUNE_OK || status == CTUNE_EREFUSED);
    if (status == CTUNE_OK) {
        ctune_text_append(&g->schedule, line);
        ctune_nest_init(nest, f->region, form);
    }
    ctune_schedule_clear(&s);
}

/* ---- agreement ---- */

static const int64_t small_sizes[][4] = {{0, 0}, {1, 1}, {2, 2}, {1, 5}, {2, 3}, {3, 4},
                                         {4, 6}, {6, 5}, {5, 1}, {3, 6}, {6, 6}, {4, 2}};

typedef struct tally {
    int n_legal, n_illegal, n_open, n_sums, n_placed, n_pieces, n_exact;
} tally;

static void compare_random(uint64_t seed, tally *counts) {
    gen g;
    fixture f;
    ctune_nest nest, applied;
    ctune_rng_init(&g.rng, seed);
    ctune_text_init(&g.text);
    ctune_text_init(&g.schedule);
    switch (below(&g, 3)) {
    case 0:
        stencil(&g);
        break;
    case 1:
        sweeps(&g);
        break;
    default:
        producer(&g);
        break;
    }
    fixture_init(&f, ctune_text_get(&g.text));
    for (int round = 0; round < 4; round++) {
        ctune_text_clear(&g.schedule);
        random_form(&g, &f, &nest);
        random_schedule(&g, &f, &nest);
        comparison c = {&f, small_sizes, sizeof small_sizes / sizeof *small_sizes, true, ""};
        ctune_status status = fixture_apply(&f, ctune_text_get(&g.schedule), &applied);
        bool is_legal = status == CTUNE_OK, is_right = lowers_right(&c, &nest);
        if (status != CTUNE_OK && status != CTUNE_EREFUSED) {
            fail_msg("seed %d: %s\n%s", (int)seed, f.ctx.error, ctune_text_get(&g.schedule));
        }
        if (is_legal && !is_right) {
            fail_msg("seed %d: %s\n%s\n%s", (int)seed, c.error, ctune_text_get(&g.text),
                     ctune_text_get(&g.schedule));
        }
        counts->n_legal += is_legal;
        counts->n_illegal += !is_legal;
        counts->n_open += !is_legal && is_right;
        if (!is_legal && is_right && getenv("CTUNE_TEST_SHOW") != NULL) {
            print_message("open, seed %d: %s\n%s%s\n", (int)seed, f.ctx.error,
                          ctune_text_get(&g.text), ctune_text_get(&g.schedule));
        }
        counts->n_sums += is_legal && nest.n_sums > 0;
        counts->n_exact += is_legal && !ctune_nest_check(&nest, NULL, 0);
        counts->n_pieces += is_legal && strstr(ctune_text_get(&g.schedule), "split_domain");
        counts->n_placed += is_legal && strstr(ctune_text_get(&g.schedule), "compute") != NULL;
    }
    fixture_clear(&f);
    ctune_text_clear(&g.text);
    ctune_text_clear(&g.schedule);
}

static uint64_t number_from_env(const char *name, uint64_t assumed) {
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 10) : assumed;
}

static void test_random(void **state) {
    uint64_t seed = number_from_env("CTUNE_TEST_SEED", 1),
             rounds = number_from_env("CTUNE_TEST_ROUNDS", 200);
    tally counts = {0};
    (void)state;
    for (uint64_t i = 0; i < rounds; i++) {
        compare_random(seed + i, &counts);
    }
    print_message("%d legal (%d with sums, %d by isl, %d placed, %d pieces), %d illegal, %d open\n",
                  counts.n_legal, counts.n_sums, counts.n_exact, counts.n_placed, counts.n_pieces,
                  counts.n_illegal, counts.n_open);
    if (rounds >= 100) {
        int few = (int)rounds / 20;
        assert_true(counts.n_sums > few && counts.n_exact > 0 && counts.n_placed > few / 2 &&
                    counts.n_pieces > few && counts.n_illegal > few);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
