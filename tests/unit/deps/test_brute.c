/*
 * Legality and structures against enumeration at sizes up to 6.
 *
 * Fixed regions: every structure that distribute and polyhedral make runs each instance once, in a
 * legal order, and its direction vectors are those that occur. Random regions with random orders,
 * shifts and skews: the check agrees with enumeration (an illegal order may need sizes beyond
 * enumeration to show; few may). The seed is printed; CTUNE_TEST_SEED and CTUNE_TEST_ROUNDS change
 * it.
 */
#include "tests/unit/deps/deps_fixture.h"
#include "tests/unit/deps/deps_samples.h"
#include "tests/unit/te/te_samples.h"

#include "runtime/rng.h"
#include "search/deps/tree_build.h"

/* ---- fixed regions
 * ------------------------------------------------------------------------------------------- */

/* Do the distances hold what was seen? */
static bool has_distances(const ctune_depvec *v, const ctune_depvec *seen) {
    for (int d = 0; d < v->n_common; d++) {
        int64_t min, max;
        ctune_depvec_range(v, d, &min, &max);
        if (!v->has_distance || seen->min[d] < min || seen->max[d] > max) {
            return false;
        }
    }
    return true;
}

static bool has_vec(const ctune_depvecs *vecs, const ctune_depvec *vec) {
    for (int i = 0; i < vecs->n; i++) {
        const ctune_depvec *v = &vecs->vec[i];
        if (v->src == vec->src && v->dst == vec->dst && v->n_common == vec->n_common &&
            memcmp(v->sign, vec->sign, (size_t)v->n_common) == 0) {
            return has_distances(v, vec);
        }
    }
    return false;
}

/* All params take the same size, 1 to max_size. */
static void expect_whole(fixture *f, ctune_tree *tree, int max_size, const char *what) {
    bool legal;
    ctune_depvecs vecs;
    verdict *v = calloc(1, sizeof *v);
    assert_non_null(v);
    assert_int_equal(ctune_deps_check(&f->ctx, f->deps, tree, &legal, &vecs), CTUNE_OK);
    assert_true(legal);
    for (int size = 1; size <= max_size; size++) {
        int64_t params[8];
        for (int p = 0; p < 8; p++) {
            params[p] = size;
        }
        brute_judge(f->region, f->tree, tree, params, v);
        if (!v->same_points || !v->legal) {
            fail_msg("%s at size %d: %s", what, size, v->same_points ? "order" : "points");
        }
    }
    for (int i = 0; i < v->n_vecs; i++) {
        assert_true(has_vec(&vecs, &v->vec[i]));
    }
    if (vecs.n != v->n_vecs) {
        fail_msg("%s: %d direction vectors, enumeration finds %d", what, vecs.n, v->n_vecs);
    }
    free(v);
}

static void expect_region_whole(const char *text, int max_size) {
    static const char *const names[] = {"max", "min", "smart"};
    fixture f;
    fixture_init(&f, text);
    expect_whole(&f, f.tree, max_size, "source");
    ctune_tree *tree;
    assert_int_equal(ctune_tree_distribute(&f.ctx, f.deps, f.tree, &tree), CTUNE_OK);
    expect_whole(&f, tree, max_size, "distribute");
    ctune_tree_destroy(tree);
    for (int mode = CTUNE_POLY_MAX; mode <= CTUNE_POLY_SMART; mode++) {
        if (ctune_tree_polyhedral(&f.ctx, f.deps, (ctune_poly_mode)mode, &tree) == CTUNE_OK) {
            expect_whole(&f, tree, max_size, names[mode]);
            ctune_tree_destroy(tree);
        } else {
            fail_msg("%s: %s", names[mode], f.ctx.error);
        }
    }
    fixture_clear(&f);
}

static void test_lu(void **state) {
    (void)state;
    expect_region_whole(sample_lu, 6);
}
static void test_cholesky(void **state) {
    (void)state;
    expect_region_whole(sample_cholesky, 6);
}
static void test_gemm_beta(void **state) {
    (void)state;
    expect_region_whole(sample_gemm_beta, 3);
}
static void test_seidel(void **state) {
    (void)state;
    expect_region_whole(sample_seidel, 6);
}
static void test_trisolv(void **state) {
    (void)state;
    expect_region_whole(sample_trisolv, 6);
}
static void test_strided(void **state) {
    (void)state;
    expect_region_whole(sample_strided, 6);
}
static void test_2mm(void **state) {
    (void)state;
    expect_region_whole(te_sample_2mm(), 3);
}
static void test_symm(void **state) {
    (void)state;
    expect_region_whole(te_sample_symm(), 4);
}
static void test_syrk(void **state) {
    (void)state;
    expect_region_whole(te_sample_syrk(), 4);
}
static void test_jacobi(void **state) {
    (void)state;
    expect_region_whole(te_sample_jacobi2d(), 6);
}

/* ---- random regions
 * ------------------------------------------------------------------------------------------ */

static void random_index(ctune_rng *rng, ctune_text *out, int n_axes, const char *const *axes) {
    const char *axis = axes[ctune_rng_below(rng, (uint64_t)n_axes)];
    int c = (int)ctune_rng_below(rng, 3) - 1;
    switch (ctune_rng_below(rng, 8)) {
    case 0:
        ctune_text_printf(out, "[2*%s]", axis);
        break;
    case 1:
        ctune_text_printf(out, "[%s - %s]", axis, axes[0]);
        break;
    case 2:
        ctune_text_printf(out, "[1]");
        break;
    case 3:
        ctune_text_printf(out, "[@%d]", n_axes - 1);
        break;
    default:
        ctune_text_printf(out, "[%s + %d]", axis, c);
        break;
    }
}

static void random_access(ctune_rng *rng, ctune_text *out, int n_axes, const char *const *axes) {
    static const char *const tensors[] = {"A", "B"};
    ctune_text_append(out, tensors[ctune_rng_below(rng, 2)]);
    random_index(rng, out, n_axes, axes);
    random_index(rng, out, n_axes, axes);
}

static void random_stage(ctune_rng *rng, ctune_text *out, int s, int n_axes,
                         const char *const *axes) {
    ctune_text_printf(out, "stage S%d: ", s);
    random_access(rng, out, n_axes, axes);
    ctune_text_append(out, ctune_rng_below(rng, 2) ? " += " : " = ");
    random_access(rng, out, n_axes, axes);
    if (ctune_rng_below(rng, 2)) {
        ctune_text_append(out, " - ");
        random_access(rng, out, n_axes, axes);
    }
    ctune_text_append(out, "\n");
}

static void random_loop(ctune_rng *rng, ctune_text *out, const char *axis, const char *outer) {
    uint64_t span = outer == NULL ? 0 : ctune_rng_below(rng, 4);
    ctune_text_printf(out, "for %s: ", axis);
    if (span == 1) {
        ctune_text_printf(out, "%s <= %s < n", outer, axis);
    } else if (span == 2) {
        ctune_text_printf(out, "0 <= %s <= %s", axis, outer);
    } else if (span == 3) {
        ctune_text_printf(out, "1 <= %s < n - 1", axis);
    } else {
        ctune_text_printf(out, "0 <= %s < n", axis);
    }
    ctune_text_append(out, " {\n");
}

/* Three shapes of two stages over up to three loops each; i32 or f32. */
static void random_region(ctune_rng *rng, ctune_text *out) {
    static const char *const ijk[] = {"i", "j", "k"}, *const ij[] = {"i", "j_2"};
    const char *type = ctune_rng_below(rng, 2) ? "i32" : "f32";
    uint64_t shape = ctune_rng_below(rng, 3);
    ctune_text_append(out,
                      "te 1\nregion r\nparam n i32 sizes 6\naxis i i32\naxis j i32\naxis k i32\n");
    ctune_text_append(out, shape == 2 ? "axis j_2 i32\n" : "");
    ctune_text_append(out, "div @0 = (i + 1) / 2\ndiv @1 = (i) / 2\ndiv @2 = (2*i + n) / 3\n");
    ctune_text_printf(out, "tensor A %s [?][n]\ntensor B %s [?][n]\n", type, type);
    random_stage(rng, out, 0, shape == 0 ? 2 : 3, ijk);
    random_stage(rng, out, 1, shape == 2 ? 2 : 3, shape == 2 ? ij : ijk);
    ctune_text_append(out, "order {\n");
    random_loop(rng, out, "i", NULL);
    random_loop(rng, out, "j", "i");
    if (shape == 0) { /* S0 above the innermost loop of S1 */
        ctune_text_append(out, "S0\n");
        random_loop(rng, out, "k", "j");
        ctune_text_append(out, "S1\n}\n}\n}\n}\n");
    } else if (shape == 1) { /* one perfect nest */
        random_loop(rng, out, "k", "j");
        ctune_text_append(out, "S0\nS1\n}\n}\n}\n}\n");
    } else { /* two inner nests */
        random_loop(rng, out, "k", "j");
        ctune_text_append(out, "S0\n}\n}\n");
        random_loop(rng, out, "j_2", "i");
        ctune_text_append(out, "S1\n}\n}\n}\n");
    }
}

/* ---- random trees
 * -------------------------------------------------------------------------------------------- */

/* Loops of each statement in a random order, skewed by an outer one or shifted; the longest common
 * prefix is shared. */
typedef struct shuffle {
    int n_stmts;
    int order[2][CTUNE_MAX_DEPTH]; /* position in the source at each new position */
    int shift[2][CTUNE_MAX_DEPTH], skew[2][CTUNE_MAX_DEPTH];
    int n_shared;
    bool is_swapped;
} shuffle;

static void random_shuffle(ctune_rng *rng, const ctune_tree *source, shuffle *sh) {
    memset(sh, 0, sizeof *sh);
    for (int s = 0; s < 2; s++) {
        int n = source->stmts[s].n_dims;
        for (int p = 0; p < n; p++) {
            sh->order[s][p] = p;
        }
        bool is_moved = ctune_rng_below(rng, 2);
        for (int p = n - 1; is_moved && p > 0; p--) {
            int q = (int)ctune_rng_below(rng, (uint64_t)p + 1), x = sh->order[s][p];
            sh->order[s][p] = sh->order[s][q];
            sh->order[s][q] = x;
        }
        for (int p = 0; p < n; p++) {
            sh->shift[s][p] = ctune_rng_below(rng, 3) == 0 ? (int)ctune_rng_below(rng, 3) - 1 : 0;
            sh->skew[s][p] =
                p > 0 && ctune_rng_below(rng, 4) == 0 ? (int)ctune_rng_below(rng, 3) - 1 : 0;
        }
    }
    int n0 = source->stmts[0].n_dims, n1 = source->stmts[1].n_dims;
    sh->n_shared = (int)ctune_rng_below(rng, (uint64_t)(n0 < n1 ? n0 : n1) + 1);
    sh->is_swapped = ctune_rng_below(rng, 4) == 0;
}

/* Axis at source position order[p] = dim[p] + skew * dim[p - 1] + shift. */
static void place_stmt(ctune_tree_builder *b, const ctune_tree *source, const shuffle *sh, int s) {
    const ctune_stmt *from = &source->stmts[s];
    ctune_stmt *stmt = &b->stmts[s];
    const ctune_aff *map[CTUNE_MAX_DIMS] = {NULL};
    *stmt = (ctune_stmt){.stage = from->stage, .n_dims = from->n_dims, .n_cons = from->n_cons};
    for (int p = 0; p < from->n_dims; p++) {
        bool is_shared = s == 1 && p < sh->n_shared;
        char name[8];
        snprintf(name, sizeof name, "d%d_", s);
        stmt->dims[p] = is_shared ? b->stmts[0].dims[p] : ctune_tree_builder_dim(b, name);
        const ctune_aff *value = ctune_aff_term(b->arena, CTUNE_TERM_AXIS, stmt->dims[p], 1);
        value = ctune_aff_add_const(b->arena, value, sh->shift[s][p]);
        if (sh->skew[s][p] != 0) {
            value = ctune_aff_add(
                b->arena, value,
                ctune_aff_term(b->arena, CTUNE_TERM_AXIS, stmt->dims[p - 1], sh->skew[s][p]));
        }
        map[from->dims[sh->order[s][p]]] = value;
    }
    for (int a = 0; a < b->region->stages[s].n_axes; a++) {
        stmt->iter[a] = ctune_aff_map(b->arena, from->iter[a], map);
    }
    stmt->cons = ctune_affs_map(b->arena, from->n_cons, from->cons, map);
}

static const ctune_tnode *wrap(ctune_tree_builder *b, const ctune_stmt *stmt, int from, int to,
                               const ctune_tnode *node) {
    for (int p = to - 1; p >= from; p--) {
        ctune_tnodes *one = CTUNE_NEW(b->arena, ctune_tnodes);
        assert_non_null(one);
        ctune_tnodes_append(one, node);
        node = ctune_tree_builder_loop(b, stmt->dims[p], one);
    }
    return node;
}

static ctune_tree *shuffled_tree(fixture *f, const shuffle *sh) {
    ctune_tree_builder b;
    assert_int_equal(ctune_tree_builder_init(&f->ctx, &b, f->region), CTUNE_OK);
    b.n_stmts = 2;
    place_stmt(&b, f->tree, sh, 0);
    place_stmt(&b, f->tree, sh, 1);
    ctune_tnodes *kids = CTUNE_NEW(b.arena, ctune_tnodes), *root = CTUNE_NEW(b.arena, ctune_tnodes);
    assert_true(kids != NULL && root != NULL);
    for (int i = 0; i < 2; i++) {
        int s = sh->is_swapped ? 1 - i : i;
        const ctune_stmt *stmt = &b.stmts[s];
        ctune_tnodes_append(
            kids, wrap(&b, stmt, sh->n_shared, stmt->n_dims, ctune_tree_builder_stmt(&b, s)));
    }
    if (sh->n_shared > 0) {
        const ctune_tnode *inner =
            ctune_tree_builder_loop(&b, b.stmts[0].dims[sh->n_shared - 1], kids);
        ctune_tnodes_append(root, wrap(&b, &b.stmts[0], 0, sh->n_shared - 1, inner));
    }
    ctune_tree *tree;
    assert_int_equal(ctune_tree_builder_finish(&f->ctx, &b, sh->n_shared > 0 ? root : kids, &tree),
                     CTUNE_OK);
    return tree;
}

/* ---- agreement ------------------------------------------------------------------------------- */

typedef struct tally {
    int n_legal, n_illegal;
    int n_open; /* illegal by the check, and no size up to 18 shows why */
} tally;

static void fail_tree(const fixture *f, const ctune_tree *tree, uint64_t seed, const char *text,
                      const char *what) {
    ctune_text dump;
    ctune_text_init(&dump);
    ctune_tree_print(f->region, tree, &dump);
    fail_msg("seed %llu: %s\n%s\n%s%s", (unsigned long long)seed, what, text, ctune_text_get(&dump),
             f->ctx.error);
}

static void compare_one(fixture *f, ctune_tree *tree, uint64_t seed, const char *text,
                        tally *counts) {
    bool legal;
    ctune_depvecs vecs;
    verdict *v = calloc(1, sizeof *v);
    assert_non_null(v);
    assert_int_equal(ctune_deps_check(&f->ctx, f->deps, tree, &legal, &vecs), CTUNE_OK);
    bool brute_legal = true;
    int64_t last = legal ? 6 : 18; /* a violation may need a larger size to show */
    for (int64_t n = 1; n <= last && brute_legal; n += n < 6 ? 1 : 4) {
        brute_judge(f->region, f->tree, tree, &n, v);
        if (!v->same_points) {
            fail_tree(f, tree, seed, text, "other points than the source");
        }
        brute_legal = v->legal;
    }
    if (legal && !brute_legal) {
        fail_tree(f, tree, seed, text, "enumeration says illegal");
    }
    counts->n_open += !legal && brute_legal;
    for (int i = 0; legal && i < v->n_vecs; i++) {
        assert_true(has_vec(&vecs, &v->vec[i]));
    }
    counts->n_legal += legal;
    counts->n_illegal += !legal;
    free(v);
}

static void compare_structures(fixture *f, uint64_t seed, const char *text, tally *counts) {
    ctune_tree *tree;
    assert_int_equal(ctune_tree_distribute(&f->ctx, f->deps, f->tree, &tree), CTUNE_OK);
    compare_one(f, tree, seed, text, counts);
    ctune_tree_destroy(tree);
    for (int mode = CTUNE_POLY_MAX; mode <= CTUNE_POLY_SMART; mode++) {
        ctune_status status = ctune_tree_polyhedral(&f->ctx, f->deps, (ctune_poly_mode)mode, &tree);
        if (status != CTUNE_OK && status != CTUNE_EREFUSED) {
            fail_msg("seed %llu, mode %d: %s\n%s", (unsigned long long)seed, mode, f->ctx.error,
                     text);
        }
        if (status == CTUNE_OK) {
            compare_one(f, tree, seed, text, counts);
            ctune_tree_destroy(tree);
        }
    }
}

static void compare_random(uint64_t seed, tally *counts) {
    ctune_rng rng;
    ctune_rng_init(&rng, seed);
    ctune_text text;
    ctune_text_init(&text);
    random_region(&rng, &text);
    fixture f;
    fixture_init(&f, ctune_text_get(&text));
    for (int i = 0; i < 4; i++) {
        shuffle sh;
        random_shuffle(&rng, f.tree, &sh);
        ctune_tree *tree = shuffled_tree(&f, &sh);
        compare_one(&f, tree, seed, ctune_text_get(&text), counts);
        ctune_tree_destroy(tree);
    }
    if (seed % 4 == 0) {
        compare_structures(&f, seed, ctune_text_get(&text), counts);
    }
    fixture_clear(&f);
    ctune_text_clear(&text);
}

static uint64_t number_from_env(const char *name, uint64_t assumed) {
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 10) : assumed;
}

static void test_random(void **state) {
    (void)state;
    uint64_t seed = number_from_env("CTUNE_TEST_SEED", 1),
             rounds = number_from_env("CTUNE_TEST_ROUNDS", 150);
    tally counts = {0};
    for (uint64_t i = 0; i < rounds; i++) {
        compare_random(seed + i, &counts);
    }
    print_message("seeds %llu..%llu: %d legal, %d illegal orders, %d open\n",
                  (unsigned long long)seed, (unsigned long long)(seed + rounds - 1), counts.n_legal,
                  counts.n_illegal, counts.n_open);
    assert_true(counts.n_open <= 1 + (int)rounds / 500);
    assert_true(rounds < 50 ||
                (counts.n_legal > (int)rounds / 10 && counts.n_illegal > (int)rounds / 10));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lu),        cmocka_unit_test(test_cholesky),
        cmocka_unit_test(test_gemm_beta), cmocka_unit_test(test_seidel),
        cmocka_unit_test(test_trisolv),   cmocka_unit_test(test_strided),
        cmocka_unit_test(test_2mm),       cmocka_unit_test(test_symm),
        cmocka_unit_test(test_syrk),      cmocka_unit_test(test_jacobi),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
