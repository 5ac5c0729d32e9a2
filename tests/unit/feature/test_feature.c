/* Rows: names and widths for every mask, finite, the same each time, blind to names, and fast. */
#include "feature_fixture.h"

#include "runtime/base.h"

static const char *(*const samples[])(void) = {te_sample_gemm,     te_sample_syrk, te_sample_2mm,
                                               te_sample_jacobi2d, te_sample_symm, te_sample_odd,
                                               te_sample_gemm_i8};
enum { N_SAMPLES = sizeof samples / sizeof *samples };

static void test_names(void **state) {
    (void)state;
    int n_all = ctune_feature_count(CTUNE_FEATURE_ALL);
    assert_in_range(n_all, 100, MAX_COLUMNS);
    assert_int_equal(ctune_feature_count(0), 0);
    for (int i = 0; i < n_all; i++) {
        const char *name = ctune_feature_name(CTUNE_FEATURE_ALL, i);
        const char *group = ctune_feature_group_name(ctune_feature_group_of(CTUNE_FEATURE_ALL, i));
        size_t n = strlen(group);
        assert_true(strncmp(name, group, n) == 0 && name[n] == '.' && name[n + 1] != '\0');
        assert_true(strpbrk(name, " \t\n\",") == NULL);
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(name, ctune_feature_name(CTUNE_FEATURE_ALL, k));
        }
    }
}

static void test_masks(void **state) {
    (void)state;
    for (unsigned mask = 0; mask <= CTUNE_FEATURE_ALL; mask++) {
        int n = ctune_feature_count(mask), at = 0;
        for (int i = 0; i < ctune_feature_count(CTUNE_FEATURE_ALL); i++) {
            ctune_feature_group group = ctune_feature_group_of(CTUNE_FEATURE_ALL, i);
            if (mask >> group & 1) {
                assert_string_equal(ctune_feature_name(mask, at),
                                    ctune_feature_name(CTUNE_FEATURE_ALL, i));
                assert_int_equal(ctune_feature_group_of(mask, at), group);
                at++;
            }
        }
        assert_int_equal(at, n);
        assert_string_equal(ctune_feature_name(mask, n), "");
        assert_string_equal(ctune_feature_name(mask, -1), "");
        assert_int_equal(ctune_feature_group_of(mask, n), CTUNE_N_FEATURE_GROUPS);
    }
}

/* Models are tied to names and their order: whoever changes them raises the version, and the hash
 * here. */
static void test_version(void **state) {
    (void)state;
    uint64_t hash = CTUNE_HASH_INIT;
    for (int i = 0; i < ctune_feature_count(CTUNE_FEATURE_ALL); i++) {
        const char *name = ctune_feature_name(CTUNE_FEATURE_ALL, i);
        hash = ctune_hash(hash, name, strlen(name) + 1);
    }
    print_message("%d columns, hash 0x%016llx\n", ctune_feature_count(CTUNE_FEATURE_ALL),
                  (unsigned long long)hash);
    assert_int_equal(CTUNE_FEATURE_VERSION, 2);
    assert_true(hash == 0x45181c15402a83c0);
}

static void check_masks(const fixture *f, const ctune_nest *nest, const float *row) {
    for (unsigned mask = 1; mask <= CTUNE_FEATURE_ALL; mask++) {
        float part[MAX_COLUMNS];
        int at = 0;
        ctune_feature_get(nest, &f->target, mask, part);
        for (int i = 0; i < ctune_feature_count(CTUNE_FEATURE_ALL); i++) {
            if (mask >> ctune_feature_group_of(CTUNE_FEATURE_ALL, i) & 1) {
                assert_memory_equal(&part[at], &row[i], sizeof *row);
                at++;
            }
        }
    }
}

/* Leaves other bytes on the stack where the next call puts its arrays. */
static __attribute__((noinline)) int dirty_stack(int value) {
    volatile char bytes[1 << 20];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)value;
    }
    return bytes[value];
}

static void check_row(const fixture *f, const ctune_nest *nest, int byte, float *row) {
    static float again[MAX_COLUMNS];
    int n = ctune_feature_count(CTUNE_FEATURE_ALL);
    ctune_feature_get(nest, &f->target, CTUNE_FEATURE_ALL, row);
    dirty_stack(byte);
    memset(again, 0xff, sizeof again);
    ctune_feature_get(nest, &f->target, CTUNE_FEATURE_ALL, again);
    for (int i = 0; i < n; i++) {
        if (!isfinite(row[i]) || fabsf(row[i]) > 1e6f) {
            fail_msg("%s is %g", ctune_feature_name(CTUNE_FEATURE_ALL, i), (double)row[i]);
        }
    }
    assert_memory_equal(row, again, (size_t)n * sizeof *row);
}

static void test_random(void **state) {
    (void)state;
    for (int w = 0; w < N_SAMPLES; w++) {
        fixture f;
        ctune_rng rng;
        fixture_init(&f, samples[w]());
        ctune_rng_init(&rng, 11);
        for (int i = 0; i < 300; i++) {
            ctune_nest nest;
            float row[MAX_COLUMNS];
            if (!fixture_sample(&f, &rng, &nest)) {
                break;
            }
            check_row(&f, &nest, i & 0x7f, row);
            if (i < 5) {
                check_masks(&f, &nest, row);
            }
        }
        fixture_clear(&f);
    }
}

/* Columns say something: over all samples few of them are always the same. */
static void test_columns_move(void **state) {
    (void)state;
    static float low[MAX_COLUMNS], high[MAX_COLUMNS];
    int n = ctune_feature_count(CTUNE_FEATURE_ALL), n_still = 0;
    for (int i = 0; i < n; i++) {
        low[i] = INFINITY;
        high[i] = -INFINITY;
    }
    for (int w = 0; w < N_SAMPLES; w++) {
        fixture f;
        ctune_rng rng;
        fixture_init(&f, samples[w]());
        ctune_rng_init(&rng, 12);
        for (int i = 0; i < 400; i++) {
            ctune_nest nest;
            float row[MAX_COLUMNS];
            if (!fixture_sample(&f, &rng, &nest)) {
                break;
            }
            ctune_feature_get(&nest, &f.target, CTUNE_FEATURE_ALL, row);
            for (int k = 0; k < n; k++) {
                low[k] = fminf(low[k], row[k]);
                high[k] = fmaxf(high[k], row[k]);
            }
        }
        fixture_clear(&f);
    }
    for (int i = 0; i < n; i++) {
        if (ctune_feature_group_of(CTUNE_FEATURE_ALL, i) != CTUNE_FEATURE_TARGET &&
            low[i] == high[i]) {
            n_still++;
        }
    }
    assert_in_range(n_still, 0, 36); /* calls, guards, a fifth buffer: not in these samples */
}

static const char gemm_renamed[] = "te 1\n"
                                   "region other at \"x.c\":9\n"
                                   "param size i32 sizes 1024\n"
                                   "axis row i32\n"
                                   "axis column i32\n"
                                   "axis inner i32\n"
                                   "tensor left f32 [size][size]\n"
                                   "tensor right f32 [size][size]\n"
                                   "tensor out f32 [size][size]\n"
                                   "stage S0: out[row][column] += left[row][inner] * "
                                   "right[inner][column] ; at 1:1\n"
                                   "order {\n"
                                   "    for row: 0 <= row < size {\n"
                                   "        for column: 0 <= column < size {\n"
                                   "            for inner: 0 <= inner < size {\n"
                                   "                S0\n"
                                   "            }\n"
                                   "        }\n"
                                   "    }\n"
                                   "}\n";

static void test_names_do_not_matter(void **state) {
    (void)state;
    fixture a, b;
    ctune_rng rng;
    int n_seen = 0;
    fixture_init(&a, te_sample_gemm());
    fixture_init(&b, gemm_renamed);
    ctune_rng_init(&rng, 3);
    for (int i = 0; i < 500; i++) {
        ctune_point point;
        ctune_nest x, y;
        float row_x[MAX_COLUMNS], row_y[MAX_COLUMNS];
        ctune_space_sample(a.space, &rng, &point);
        bool is_legal = ctune_space_nest(a.space, &point, &x);
        assert_int_equal(ctune_space_nest(b.space, &point, &y), is_legal);
        if (is_legal) {
            ctune_feature_get(&x, &a.target, CTUNE_FEATURE_ALL, row_x);
            ctune_feature_get(&y, &b.target, CTUNE_FEATURE_ALL, row_y);
            assert_memory_equal(row_x, row_y,
                                (size_t)ctune_feature_count(CTUNE_FEATURE_ALL) * sizeof *row_x);
            n_seen++;
        }
    }
    assert_true(n_seen > 50);
    fixture_clear(&a);
    fixture_clear(&b);
}

/* The design number is 100,000 nests a second; a slow build or a busy machine still passes at a
 * tenth of it. */
/* Loops over sums, waves, pieces and placed stages count, and break nothing. */
static void test_new_structure(void **state) {
    static const char *const schedules[] = {
        "split t 4 -> tt t; tile 2*t + i + i_2 + S1 by 32 -> it at t",
        "split t 4 -> tt t; tile 2*t + i + i_2 + S1 by 32 -> it at t; wave tt + it -> w;"
        "parallel tt",
        "split_domain i at i < 9; split_domain j at j < 4",
        "tile j + i by 1 -> s at i; tile j_2 by 16 -> x at i_2",
    };
    static const char blur[] =
        "te 1\nregion r\nparam n i32 sizes 1000\naxis y i32\naxis x i32\naxis y_2 i32\n"
        "axis x_2 i32\ntensor A f32 [n][n]\ntensor T f32 [n][n] temp\ntensor O f32 [n][n]\n"
        "stage S0: T[y][x] = A[y][x] + A[y][x + 1]\n"
        "stage S1: O[y_2][x_2] = T[y_2][x_2] + T[y_2 + 1][x_2]\n"
        "order {\n for y: 0 <= y < n {\n  for x: 0 <= x < n - 1 {\n   S0\n  }\n }\n"
        " for y_2: 0 <= y_2 < n - 1 {\n  for x_2: 0 <= x_2 < n - 1 {\n   S1\n  }\n }\n}\n";
    fixture f;
    ctune_nest nest;
    static float plain[MAX_COLUMNS], row[MAX_COLUMNS];
    (void)state;
    fixture_init(&f, te_sample_jacobi2d());
    fixture_nest(&f, "", &nest);
    ctune_feature_get(&nest, &f.target, CTUNE_FEATURE_ALL, plain);
    for (size_t k = 0; k < sizeof schedules / sizeof *schedules; k++) {
        fixture_nest(&f, schedules[k], &nest);
        ctune_feature_get(&nest, &f.target, CTUNE_FEATURE_ALL, row);
        assert_true(memcmp(row, plain, sizeof row) != 0 && isfinite(row[0]));
        assert_true(ctune_estimate(&nest, &f.target) > 0);
    }
    fixture_clear(&f);
    fixture_init(&f, blur);
    fixture_nest(&f, "split y_2 8 -> yt y_2; compute S0 at yt", &nest);
    ctune_feature_get(&nest, &f.target, CTUNE_FEATURE_ALL, row);
    assert_true(column(row, "knob.form.statements") > 1);
    assert_true(ctune_estimate(&nest, &f.target) > 0);
    fixture_clear(&f);
}

static void test_speed(void **state) {
    (void)state;
    fixture f;
    ctune_rng rng;
    static ctune_nest nest[64];
    static float row[MAX_COLUMNS];
    double sum = 0;
    fixture_init(&f, te_sample_gemm());
    ctune_rng_init(&rng, 4);
    for (int i = 0; i < 64; i++) {
        assert_true(fixture_sample(&f, &rng, &nest[i]));
    }
    int64_t start = ctune_now_ns();
    for (int i = 0; i < 6400; i++) {
        ctune_feature_get(&nest[i % 64], &f.target, CTUNE_FEATURE_ALL, row);
        sum += row[0];
    }
    double per_s = 6400 / ((double)(ctune_now_ns() - start) * 1e-9);
    print_message("%.0f rows a second\n", per_s);
    assert_true(sum > 0 && per_s > 10000);
    fixture_clear(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),         cmocka_unit_test(test_masks),
        cmocka_unit_test(test_version),       cmocka_unit_test(test_random),
        cmocka_unit_test(test_columns_move),  cmocka_unit_test(test_names_do_not_matter),
        cmocka_unit_test(test_new_structure), cmocka_unit_test(test_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
