/*
 * Legality of loop orders: fixed cases, and random orders and tiles against brute force over all
 * iteration pairs of a small box.
 */
#include "tests/unit/schedule/nest_fixture.h"

#include "runtime/rng.h"
#include "tests/unit/te/te_samples.h"

enum { P = CTUNE_SIGN_POS, Z = CTUNE_SIGN_ZERO, N = CTUNE_SIGN_NEG };

static void test_reduction(void **state) {
    static const ctune_depvec vecs[] = {{0, 0, 3, {Z, Z, P}}};
    fixture f;
    (void)state;
    fixture_init(&f, te_sample_gemm(), vecs, 1);
    assert_legal(&f, "reorder k j i");
    assert_legal(&f, "split k 4 -> k0 k1; reorder k0 i k1 j");
    assert_illegal(&f, "parallel k", "carried by the parallel loop k");
    assert_illegal(&f, "split k 4 -> k0 k1; parallel k0", "parallel loop k0");
    assert_illegal(&f, "split k 4 -> k0 k1; vectorize k1", "vector loop k1");
    assert_legal(&f, "split k 4 -> k0 k1; unroll k1; parallel j");
    fixture_clear(&f);
    fixture_init(&f, te_sample_gemm(), NULL, 0); /* as if it could be dropped: still one element */
    f.region->reassoc = true;
    assert_illegal(&f, "parallel k", "same element");
    assert_legal(&f, "parallel j");
    fixture_clear(&f);
}

/* Two statements may update one element in any order, but not at the same time. */
static void test_two_updates(void **state) {
    static const struct {
        const char *second;
        bool is_apart;
    } rows[] = {
        {"C[i] += A[i]", true}, {"C[i + 1] += A[i]", false}, {"C[n - i - 1] += A[i]", false}};
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        char text[500];
        fixture f;
        snprintf(text, sizeof text,
                 "te 1\nregion r\nparam n i32\naxis i i32\ntensor C i32 [n + 1]\n"
                 "tensor A i32 [n]\nstage S0: C[i] += A[i]\nstage S1: %s\n"
                 "order {\n for i: 0 <= i < n {\n  S0\n  S1\n }\n}\n",
                 rows[k].second);
        fixture_init(&f, text, NULL, 0);
        if (rows[k].is_apart) {
            assert_legal(&f, "parallel i");
            assert_legal(&f, "split i 8 -> i0 i1; vectorize i1");
        } else {
            assert_illegal(&f, "parallel i", "statements in the parallel loop i");
            assert_illegal(&f, "split i 8 -> i0 i1; vectorize i1", "update the same element");
        }
        fixture_clear(&f);
    }
}

static void test_seidel(void **state) {
    static const ctune_depvec vecs[] = {{0, 0, 3, {Z, Z, P}}, {0, 0, 3, {Z, P, N}}};
    fixture f;
    (void)state;
    fixture_init(&f, te_sample_gemm(), vecs, 2);
    assert_legal(&f, "");
    assert_legal(&f, "reorder i j k");
    assert_illegal(&f, "reorder k j", "backwards at loop k");
    assert_illegal(&f, "split k 4 -> k0 k1; reorder k0 j k1", "backwards at loop k0");
    assert_illegal(&f, "split j 4 -> j0 j1; split k 4 -> k0 k1; reorder j0 k0 j1 k1", "k0");
    assert_legal(&f, "split j 4 -> j0 j1; split k 4 -> k0 k1");
    assert_legal(&f, "parallel i");
    assert_illegal(&f, "parallel j", "carried");
    fixture_clear(&f);
}

static const char *const three_parts =
    "te 1\nregion r\nparam n i32\naxis i i32\naxis j i32\naxis k i32\ntensor A f32 [n][n]\n"
    "tensor B f32 [n][n]\nstage S0: A[i][j] = 0.0f\nstage S1: A[i][j] += B[i][k]\n"
    "stage S2: B[i][j] = A[i][j]\norder {\n for i: 0 <= i < n {\n  for j: 0 <= j < n {\n   S0\n"
    "   for k: 0 <= k < n {\n    S1\n   }\n   S2\n  }\n }\n}\n";

static void test_fission(void **state) {
    static const ctune_depvec vecs[] = {{0, 1, 2, {Z, Z}}, {1, 1, 3, {Z, Z, P}}, {1, 2, 2, {Z, Z}}};
    static const ctune_depvec back[] = {{0, 1, 2, {Z, Z}}, {2, 1, 2, {Z, P}}};
    static const ctune_depvec far[] = {{2, 0, 2, {Z, P}, true, {0, 8}, {0, 8}}};
    fixture f;
    (void)state;
    fixture_init(&f, three_parts, vecs, 3);
    assert_legal(&f, "fission j; fission i");
    assert_legal(&f, "split j 4 -> j0 j1; fission j1; reorder k j1_2; vectorize j1_2; parallel i");
    assert_legal(&f, "fission j; cache_write S1 at j_2 register");
    assert_legal(&f, "split j 4 -> j0 j1; fission j1; reorder k j1_2; unroll j1_2; "
                     "cache_write S1 at j0 register");
    assert_illegal(&f, "split j 4 -> j0 j1; fission j1; parallel k", "parallel loop k");
    assert_no(&f, "fission k", CTUNE_EREFUSED, "one part");
    assert_no(&f, "unroll j; fission j", CTUNE_EREFUSED, "64 iterations");
    assert_no(&f, "parallel j; fission j", CTUNE_EREFUSED, "annotated");
    assert_no(&f, "cache_write S1 at j register; fission j", CTUNE_EREFUSED, "cache");
    assert_no(&f, "tile i + j by 4 -> x at i; fission j", CTUNE_EREFUSED, "part of a sum");
    fixture_clear(&f);
    fixture_init(&f, three_parts, back, 2); /* what S2 writes S1 reads one j later */
    assert_illegal(&f, "fission j", "backwards between parts");
    assert_illegal(&f, "split j 4 -> j0 j1; fission j1", "backwards between parts");
    assert_legal(&f, "split i 4 -> i0 i1");
    fixture_clear(&f);
    fixture_init(&f, three_parts, far, 1);
    assert_legal(&f, "split j 8 -> j0 j1; fission j1");
    assert_illegal(&f, "split j 12 -> j0 j1; fission j1", "backwards between parts");
    fixture_clear(&f);
}

/* Distances (1, -1 .. 1, *): sums and waves by interval arithmetic. */
static void test_sums(void **state) {
    static const ctune_depvec vecs[] = {
        {0, 0, 3, {P, N, Z}, true, {1, -1, 0}, {1, -1, 0}},
        {0, 0, 3, {P, P, N}, true, {1, 1, CTUNE_DIST_MIN}, {1, 2, -1}},
    };
    static const ctune_depvec unknown[] = {{0, 0, 3, {P, N, Z}}};
    fixture f;
    (void)state;
    fixture_init(&f, te_sample_gemm(), vecs, 2);
    assert_legal(&f, "split i 4 -> i0 i1; tile i + j by 8 -> x at i1");
    assert_illegal(&f, "split i 4 -> i0 i1; tile j by 8 -> x at i1", "backwards at loop x");
    assert_illegal(&f, "split i 4 -> i0 i1; tile i + j by 8 -> x at i1; parallel i1", "loop i1");
    assert_legal(&f,
                 "split i 4 -> i0 i1; tile i + j by 8 -> x at i1; wave i0 + x -> w; parallel i0");
    assert_illegal(&f, "split i 4 -> i0 i1; tile i + j by 8 -> x at i1; wave i0 - x -> w",
                   "loop w");
    assert_legal(&f, "wave 2*i + j -> w; parallel i");
    assert_illegal(&f, "wave i + j -> w; parallel i", "loop i");
    assert_illegal(&f, "tile j - i by 4 -> x at i", "loop x");
    assert_legal(&f, "tile 4*i - j by 2 -> x at i; parallel j"); /* two apart: other tiles */
    assert_illegal(&f, "tile 4*i - j by 3 -> x at i; parallel j; reorder x j i", "loop j");
    assert_legal(&f, "tile i - k by 2 -> x at i");
    assert_illegal(&f, "tile i + k by 2 -> x at i", "loop x"); /* k has no bound */
    fixture_clear(&f);
    fixture_init(&f, te_sample_gemm(), unknown, 1); /* the signs alone */
    assert_illegal(&f, "tile i + j by 8 -> x at i", "loop x");
    assert_legal(&f, "tile i - j by 8 -> x at i");
    assert_legal(&f, "tile i + k by 8 -> x at i");
    fixture_clear(&f);
}

static void test_caches(void **state) {
    static const ctune_depvec vecs[] = {{0, 0, 3, {Z, Z, P}}};
    fixture f;
    (void)state;
    fixture_init(&f, te_sample_gemm(), vecs, 1);
    assert_legal(&f, "cache_read S0.0 at root pack; cache_write S0 at j register");
    assert_illegal(&f, "cache_write S0 at i register", "unrolled or vectorized");
    assert_legal(&f, "split i 64 -> i0 i1; split j 1024 -> j0 j1; reorder i0 j0 k i1 j1; "
                     "unroll i1; vectorize j1; cache_write S0 at j0 register");
    assert_illegal(&f,
                   "split i 4096 -> i0 ia; split ia 64 -> i1 i2; split j 32 -> j0 j1; "
                   "reorder i0 j0 k i1 i2 j1; unroll i1; unroll i2; vectorize j1; "
                   "cache_write S0 at j0 register",
                   "more than 256 KiB");
    fixture_clear(&f);
    fixture_init(&f, te_sample_2mm(), NULL, 0);
    assert_legal(&f, "cache_read S3.0 at i_2 pack; cache_read S3.1 at root pack");
    assert_legal(&f, "cache_read S3.0 at root pack"); /* the copy stands between the nests */
    fixture_clear(&f);
}

/* A[i][j] += A[k][i] * B[k][j], k > i: reads rows of its own target further down. */
static void test_own_target(void **state) {
    static const ctune_depvec vecs[] = {{0, 0, 3, {Z, Z, P}}, {0, 0, 3, {P, Z, Z}}};
    static const char te[] =
        "te 1\nregion trmm\nparam n i32 sizes 100\naxis i i32\naxis j i32\naxis k i32\n"
        "tensor A f32 [n][n]\ntensor B f32 [n][n]\n"
        "stage S0: B[i][j] += A[k][i] * B[k][j]\norder {\n    for i: 0 <= i < n {\n"
        "        for j: 0 <= j < n {\n            for k: i + 1 <= k < n {\n"
        "                S0\n            }\n        }\n    }\n}\n";
    fixture f;
    (void)state;
    fixture_init(&f, te, vecs, 2);
    assert_legal(&f, "cache_write S0 at j register");
    assert_legal(
        &f, "split j 8 -> j0 j1; reorder i j0 k j1; vectorize j1; cache_write S0 at j0 register");
    /* rows k > i never lie in the tile's core: k does not move with the tile and differs from i */
    assert_legal(&f,
                 "split i 4 -> i0 i1; reorder i0 j k i1; unroll i1; cache_write S0 at j register");
    assert_illegal(&f, "cache_read S0.1 at i pack", "is written");
    fixture_clear(&f);
    char *same = strdup(te); /* k >= i may read the own element */
    memcpy(strstr(same, "i + 1"), "i + 0", 5);
    fixture_init(&f, same, vecs, 2);
    assert_illegal(&f, "cache_write S0 at j register", "own register tile");
    free(same);
    fixture_clear(&f);
}

/* ---- brute force ---- */

enum { BOX = 6 };

static void loop_path(const ctune_nest *nest, int *path, int *n) {
    int node = nest->node[0].first;
    for (*n = 0; nest->node[node].kind == CTUNE_NN_LOOP; node = nest->node[node].first) {
        path[(*n)++] = node;
    }
}

/* Time stamp of iteration x: one number a loop. */
static int compare(const ctune_nest *nest, const int *path, int n, const int *x, const int *y) {
    for (int k = 0; k < n; k++) {
        const ctune_nnode *loop = &nest->node[path[k]];
        int range = loop->outer >= 0 ? (int)nest->node[loop->outer].step : 1 << 20;
        int a = x[loop->dim] % range / (int)loop->step, b = y[loop->dim] % range / (int)loop->step;
        if (a != b) {
            return a < b ? -1 : 1;
        }
    }
    return 0;
}

static bool matches(const ctune_depvec *vec, const int *x, const int *y) {
    for (int d = 0; d < 3; d++) {
        int sign = y[d] > x[d] ? P : y[d] < x[d] ? N : Z;
        if (sign != vec->sign[d]) {
            return false;
        }
    }
    return true;
}

static bool is_kept(const ctune_nest *nest, const ctune_depvec *vec) {
    int path[CTUNE_NEST_NODES], n;
    loop_path(nest, path, &n);
    for (int s = 0; s < BOX * BOX * BOX; s++) {
        for (int t = 0; t < BOX * BOX * BOX; t++) {
            int x[3] = {s / 36, s / 6 % 6, s % 6}, y[3] = {t / 36, t / 6 % 6, t % 6};
            if (matches(vec, x, y) && compare(nest, path, n, x, y) >= 0) {
                return false;
            }
        }
    }
    return true;
}

static void random_vec(ctune_rng *rng, ctune_depvec *vec) {
    static const uint8_t signs[] = {P, Z, N};
    int first;
    memset(vec, 0, sizeof *vec);
    vec->n_common = 3;
    do {
        first = Z;
        for (int d = 0; d < 3; d++) {
            vec->sign[d] = signs[ctune_rng_below(rng, 3)];
            first = first == Z ? vec->sign[d] : first;
        }
    } while (first != P);
}

static void random_schedule(ctune_rng *rng, char *out, size_t size) {
    static const char *const dims[] = {"i", "j", "k"};
    char names[6][8];
    int n = 0;
    size_t len = 0;
    out[0] = '\0';
    for (int d = 0; d < 3; d++) {
        bool is_tiled = ctune_rng_below(rng, 2) != 0;
        if (is_tiled) {
            len += (size_t)snprintf(out + len, size - len, "split %s %d -> %s0 %s1;", dims[d],
                                    2 + (int)ctune_rng_below(rng, 2), dims[d], dims[d]);
        }
        snprintf(names[n++], sizeof names[0], "%s%s", dims[d], is_tiled ? "0" : "");
        if (is_tiled) {
            snprintf(names[n++], sizeof names[0], "%s1", dims[d]);
        }
    }
    for (int k = n - 1; k > 0; k--) {
        int other = (int)ctune_rng_below(rng, (uint64_t)k + 1);
        char swap[8];
        memcpy(swap, names[k], 8);
        memcpy(names[k], names[other], 8);
        memcpy(names[other], swap, 8);
    }
    for (int a = 0; a < n; a++) { /* the tile loop before the point loop */
        for (int b = a + 1; b < n; b++) {
            if (names[a][0] == names[b][0] && names[a][1] == '1') {
                names[a][1] = '0';
                names[b][1] = '1';
            }
        }
    }
    len += (size_t)snprintf(out + len, size - len, "reorder");
    for (int k = 0; k < n; k++) {
        len += (size_t)snprintf(out + len, size - len, " %s", names[k]);
    }
}

static void test_brute_force(void **state) {
    ctune_depvec vec = {0};
    fixture f;
    ctune_rng rng;
    int n_legal = 0;
    (void)state;
    fixture_init(&f, te_sample_gemm(), &vec, 1);
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        char schedule[256];
        ctune_rng_init(&rng, seed);
        random_vec(&rng, &vec);
        random_schedule(&rng, schedule, sizeof schedule);
        if (fixture_apply(&f, schedule) != CTUNE_OK) {
            fail_msg("seed %d: %s: %s", (int)seed, schedule, f.ctx.error);
        }
        bool is_legal = ctune_nest_check(&f.nest, NULL, 0);
        n_legal += is_legal;
        if (is_legal != is_kept(&f.nest, &vec)) {
            fail_msg("seed %d: %s, signs %d %d %d: check says %d", (int)seed, schedule, vec.sign[0],
                     vec.sign[1], vec.sign[2], is_legal);
        }
    }
    assert_in_range(n_legal, 100, 900);
    fixture_clear(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reduction),   cmocka_unit_test(test_fission),
        cmocka_unit_test(test_two_updates), cmocka_unit_test(test_seidel),
        cmocka_unit_test(test_sums),        cmocka_unit_test(test_caches),
        cmocka_unit_test(test_own_target),  cmocka_unit_test(test_brute_force),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
