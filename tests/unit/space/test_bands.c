/*
 * Time tiles in the space: the sums that are found, that they are the least that is legal, that
 * points with them are what their text says, and nests that have none.
 */
#include "tests/unit/space/space_fixture.h"

static const char *const head =
    "te 1\nregion r\nparam steps i32 sizes 100\nparam n i32 sizes 1300\n";
static const char *const tensors = "tensor A f64 [n][n]\ntensor B f64 [n][n]\n";

#define LOOP_T "order {\n for t: 0 <= t < steps {\n"
#define SWEEP1(stage)                                                                              \
    "  for i: 1 <= i < n - 1 {\n   for j: 1 <= j < n - 1 {\n    " stage "\n   }\n  }\n"
#define SWEEP2(stage)                                                                              \
    "  for i_2: 1 <= i_2 < n - 1 {\n   for j_2: 1 <= j_2 < n - 1 {\n    " stage "\n   }\n  }\n"

/* What follows `word` to the end of its lines, in the source's form. */
static void expect_words(const char *te, const char *word, const char *wanted) {
    fixture f;
    ctune_text text;
    char got[512] = "";
    fixture_init(&f, te, false);
    ctune_text_init(&text);
    ctune_space_print(f.space, &text);
    const char *end = strstr(ctune_text_get(&text), "form 1:");
    for (const char *at = strstr(ctune_text_get(&text), word);
         at != NULL && (end == NULL || at < end); at = strstr(at + 1, word)) {
        const char *line = at + strlen(word);
        strncat(got, line, strcspn(line, "\n") + 1);
    }
    assert_string_equal(got, wanted);
    ctune_text_clear(&text);
    fixture_clear(&f);
}

static void expect_tiles(const char *te, const char *wanted) {
    expect_words(te, "tiles around ", wanted);
}

/* Head, the axes that have a loop, tensors, the rest. */
static char *join(char *out, size_t size, const char *rest) {
    static const char *const axes[] = {"t", "i", "j", "i_2", "j_2", "j_3"};
    snprintf(out, size, "%s", head);
    for (int k = 0; k < 6; k++) {
        char loop[16], axis[32];
        snprintf(loop, sizeof loop, "for %s:", axes[k]);
        snprintf(axis, sizeof axis, "axis %s i32\n", axes[k]);
        strncat(out, strstr(rest, loop) != NULL ? axis : "", size - strlen(out) - 1);
    }
    strncat(out, tensors, size - strlen(out) - 1);
    return strncat(out, rest, size - strlen(out) - 1);
}

static void test_two_sweeps(void **state) {
    char te[4096];
    (void)state;
    expect_tiles(te_sample_jacobi2d(), "t: 2*t + i + i_2 + S1, 2*t + j + j_2 + S1\n");
    /* along j nothing is read from neighbours: no skew */
    expect_tiles(join(te, sizeof te,
                      "stage S0: B[i][j] = A[i][j] + A[i - 1][j]\n"
                      "stage S1: A[i_2][j_2] = B[i_2][j_2] + B[i_2 - 1][j_2]\n" LOOP_T SWEEP1("S0")
                          SWEEP2("S1") " }\n}\n"),
                 "t: 2*t + i + i_2 + S1, j + j_2\n");
    /* a copy back */
    expect_tiles(join(te, sizeof te,
                      "stage S0: B[i][j] = A[i - 1][j] + A[i + 1][j] + A[i][j + 2]\n"
                      "stage S1: A[i_2][j_2] = B[i_2][j_2]\n" LOOP_T SWEEP1("S0")
                          SWEEP2("S1") " }\n}\n"),
                 "t: 2*t + i + i_2 + S1, 2*t + j + j_2\n");
}

/* A border that stands in the time loop alone, and one with a loop of its own. */
static void test_borders(void **state) {
    char te[4096];
    (void)state;
    expect_tiles(join(te, sizeof te,
                      "stage S0: A[0][j_3] = A[0][j_3] + 1.0\n"
                      "stage S1: B[i][j] = A[i][j] + A[i - 1][j]\n"
                      "stage S2: A[i_2][j_2] = A[i_2][j_2] - B[i_2 + 1][j_2]\n" LOOP_T
                      "  for j_3: 0 <= j_3 < n {\n   S0\n  }\n" SWEEP1("S1")
                          SWEEP2("S2") " }\n}\n"),
                 "t: t + i + i_2 + S2, j_3 + j + j_2\n");
    /* the far border moves with n, which no sum of loops follows: that dim has no tiles */
    expect_tiles(join(te, sizeof te,
                      "stage S0: A[n - 1][j_3] = A[n - 1][j_3] + 1.0\n"
                      "stage S1: B[i][j] = A[i][j] + A[i + 1][j]\n"
                      "stage S2: A[i_2][j_2] = A[i_2][j_2] - B[i_2][j_2]\n" LOOP_T
                      "  for j_3: 0 <= j_3 < n {\n   S0\n  }\n" SWEEP1("S1")
                          SWEEP2("S2") " }\n}\n"),
                 "t: j_3 + j + j_2\n");
}

/* In place: the inner dim leans against the outer one, too. */
static void test_in_place(void **state) {
    char te[4096];
    (void)state;
    expect_tiles(
        join(te, sizeof te,
             "stage S0: A[i][j] = A[i - 1][j + 1] + A[i + 1][j + 1] + A[i - 1][j - 1]\n" LOOP_T
                 SWEEP1("S0") " }\n}\n"),
        "t: t + i, 2*t + i + j\n");
}

/* Wavefronts: the least skew that makes their points independent; none where a loop is parallel. */
static void test_waves(void **state) {
    static const char *const none[] = {"stage S0: A[i][j] = A[i - 1][j] + A[i + 1][j]\n",
                                       "stage S0: B[i][j] = A[i - 1][j] + A[i + 1][j]\n"};
    static const char *const some[] = {"stage S0: A[i][j] = A[i - 1][j] + A[i][j - 1]\n",
                                       "1*i + j, or in vectors of skewed arrays\n",
                                       "stage S0: A[i][j] = A[i - 1][j + 1] + A[i][j - 1]\n",
                                       "2*i + j, or in vectors of skewed arrays\n",
                                       "stage S0: A[i][j] = A[i][j + 1] + A[i + 1][j - 2]\n",
                                       "3*i + j, or in vectors of skewed arrays\n"};
    char rest[512], te[4096];
    (void)state;
    for (int k = 0; k < 2; k++) {
        snprintf(rest, sizeof rest, "%s%s%s", none[k], LOOP_T SWEEP1("S0"), " }\n}\n");
        expect_words(join(te, sizeof te, rest), "| wave ", "");
    }
    for (int k = 0; k < 3; k++) {
        snprintf(rest, sizeof rest, "%s%s%s", some[2 * k], LOOP_T SWEEP1("S0"), " }\n}\n");
        expect_words(join(te, sizeof te, rest), "| wave ", some[2 * k + 1]);
    }
}

/* An in-place sweep in steps: seeds with and without tiles along the wavefronts, in skewed arrays.
 */
static void test_skew_seeds(void **state) {
    static ctune_point seeds[256];
    char te[4096];
    fixture f;
    int n_skewed = 0, n_tiled = 0;
    (void)state;
    fixture_init(&f,
                 join(te, sizeof te,
                      "stage S0: A[i][j] = A[i - 1][j + 1] + A[i + 1][j + 1] + A[i - 1][j - 1] + "
                      "A[i][j - 1]\n" LOOP_T SWEEP1("S0") " }\n}\n"),
                 false);
    int n = ctune_space_seeds(f.space, seeds, 256);
    for (int k = 0; k < n; k++) {
        ctune_nest nest;
        if (check_point(&f, &seeds[k]) && ctune_space_nest(f.space, &seeds[k], &nest) &&
            nest.n_skews > 0) {
            n_skewed++;
            n_tiled += nest.n_sums > 1;
        }
    }
    assert_true(n_tiled > 0 && n_skewed > n_tiled);
    fixture_clear(&f);
}

/* Points of an in-place nest, many of them waves in time tiles, are what their text says. */
static void test_wave_points(void **state) {
    char te[4096];
    fixture f;
    ctune_rng rng;
    int n_waves = 0;
    (void)state;
    fixture_init(&f,
                 join(te, sizeof te,
                      "stage S0: A[i][j] = A[i - 1][j + 1] + A[i + 1][j + 1] + A[i - 1][j - 1] + "
                      "A[i][j - 1]\n" LOOP_T SWEEP1("S0") " }\n}\n"),
                 false);
    ctune_rng_init(&rng, 5);
    for (int k = 0; k < 200; k++) {
        ctune_point point;
        ctune_nest nest;
        ctune_space_sample(f.space, &rng, &point);
        if (check_point(&f, &point) && ctune_space_nest(f.space, &point, &nest)) {
            n_waves += nest.n_sums > 0 && nest.sum[nest.n_sums - 1].term[0].kind == CTUNE_SUM_LOOP;
        }
    }
    assert_true(n_waves > 10);
    fixture_clear(&f);
}

/* Row and column k of a matrix in step k: the inner loop is cut there, and its pieces are vectors.
 */
static void test_pieces(void **state) {
    static const char *const stages[] = {
        "stage S0: A[i][j] = A[i][t] + A[t][j]\n", /* cut at t */
        "stage S0: A[i][j] = A[i][j] + A[t][j]\n", /* only the outer of the two can be */
        "stage S0: A[i][j] = A[i][j] + B[i][t]\n", /* another tensor: nothing to cut */
        "stage S0: A[i][j] = A[i][j] + A[i][0]\n"};
    static const char *const cuts[] = {"split_domain j at j - t < 0; split_domain j_2",
                                       "split_domain i at i - t < 0; split_domain i_2", NULL, NULL};
    (void)state;
    for (int k = 0; k < 4; k++) {
        char rest[512], te[4096];
        fixture f;
        ctune_text text;
        snprintf(rest, sizeof rest, "%sorder {\n for t: 0 <= t < n {\n%s }\n}\n", stages[k],
                 SWEEP1("S0"));
        fixture_init(&f, join(te, sizeof te, rest), false);
        ctune_text_init(&text);
        ctune_space_print(f.space, &text);
        const char *cut = cuts[k] == NULL ? NULL : strstr(ctune_text_get(&text), cuts[k]);
        assert_true((cuts[k] != NULL) == (cut != NULL));
        assert_true((cut != NULL) == (strstr(ctune_text_get(&text), " - t < 0") != NULL));
        assert_true(cut == NULL || strstr(cut, "| vector j") != NULL);
        ctune_text_clear(&text);
        fixture_clear(&f);
    }
}

/* Without a dependence around there is nothing to tile in time; transposed reads reach any
 * distance. */
static void test_none(void **state) {
    char te[4096];
    (void)state;
    expect_tiles(te_sample_gemm(), "");
    expect_tiles(join(te, sizeof te,
                      "stage S0: B[i][j] = A[j][i]\n"
                      "stage S1: A[i_2][j_2] = B[i_2][j_2]\n" LOOP_T SWEEP1("S0")
                          SWEEP2("S1") " }\n}\n"),
                 "");
}

/* Less skew or no shift is not legal: the dependences themselves say so. */
static void test_least(void **state) {
    static const char *const sums[] = {"2*t + i + i_2 + S1",   "2*t + i + i_2",
                                       "t + i + i_2 + S1",     "3*t + i + i_2 + S1",
                                       "2*t + i + i_2 + 2*S1", "2*t + i + i_2 - S1"};
    static const bool is_legal[] = {true, false, false, true, false, false};
    fixture f;
    (void)state;
    fixture_init(&f, te_sample_jacobi2d(), false);
    for (int k = 0; k < 6; k++) {
        char text[200];
        ctune_schedule schedule;
        ctune_nest nest;
        ctune_schedule_init(&schedule);
        snprintf(text, sizeof text, "split t 4 -> tt t\ntile %s by 8 -> it at t\n", sums[k]);
        assert_int_equal(ctune_schedule_parse(&f.ctx, text, &schedule), CTUNE_OK);
        ctune_status status = ctune_schedule_apply(&f.ctx, f.program, &schedule, &nest);
        assert_int_equal(status, is_legal[k] ? CTUNE_OK : CTUNE_EREFUSED);
        ctune_schedule_clear(&schedule);
    }
    fixture_clear(&f);
}

/* With threads: wavefronts of tiles, one of whose loops is parallel; points are what they say. */
static void test_thread_waves(void **state) {
    fixture f;
    ctune_rng rng;
    int n_waves = 0;
    (void)state;
    fixture_init(&f, te_sample_jacobi2d(), true);
    ctune_rng_init(&rng, 9);
    for (int k = 0; k < 200; k++) {
        ctune_point point;
        ctune_nest nest;
        ctune_space_sample(f.space, &rng, &point);
        if (check_point(&f, &point) && ctune_space_nest(f.space, &point, &nest) &&
            nest.n_sums > 1 && nest.sum[nest.n_sums - 1].term[0].kind == CTUNE_SUM_LOOP) {
            int outer = nest.sum[nest.n_sums - 1].term[0].of;
            assert_int_equal(nest.node[outer].ann, CTUNE_ANN_PARALLEL);
            n_waves++;
        }
    }
    assert_true(n_waves > 10);
    fixture_clear(&f);
}

/* Some seed has time tiles of each number of dims, and every such seed is legal. */
static void test_band_seeds(void **state) {
    fixture f;
    ctune_point seeds[48];
    int n_with[3] = {0};
    (void)state;
    fixture_init(&f, te_sample_jacobi2d(), false);
    int n = ctune_space_seeds(f.space, seeds, 48);
    for (int k = 0; k < n; k++) {
        ctune_nest nest;
        assert_true(ctune_space_nest(f.space, &seeds[k], &nest));
        assert_in_range(nest.n_sums, 0, 2);
        n_with[nest.n_sums]++;
        assert_true(check_point(&f, &seeds[k]));
    }
    assert_true(n_with[0] > 0 && n_with[1] > 0 && n_with[2] > 0);
    fixture_clear(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_sweeps),   cmocka_unit_test(test_borders),
        cmocka_unit_test(test_in_place),     cmocka_unit_test(test_none),
        cmocka_unit_test(test_waves),        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_wave_points),  cmocka_unit_test(test_least),
        cmocka_unit_test(test_skew_seeds),   cmocka_unit_test(test_band_seeds),
        cmocka_unit_test(test_thread_waves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
