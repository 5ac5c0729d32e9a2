/* Vector loops around recurrences along rows: lanes, transposed squares, chunks side by side. */
#include "tests/unit/lower/lower_fixture.h"

static const int64_t sizes[][4] = {{0, 0},  {1, 1},  {3, 40},  {4, 4},   {8, 5},
                                   {9, 12}, {17, 9}, {20, 33}, {33, 20}, {34, 19}};

/* A row of the table: what stands in the loop over rows i (n of them) of m elements. */
typedef struct example {
    const char *name;
    const char *axes, *tensors, *stages, *body;
    bool is_transposed; /* rows are read or written as whole vectors */
} example;

#define J "axis j i32\n"
#define K J "axis k i32\n"
#define AB "tensor A TYPE [n][m]\ntensor B TYPE [n][m]\n"
#define ABC AB "tensor C TYPE [n][m]\n"
#define FROM1 "  for j: 1 <= j < m {\n"
#define ALL "  for j: 0 <= j < m {\n"
#define END "  }\n"

static const example examples[] = {
    {"scan", J, AB, "stage S0: B[i][j] = B[i][j - 1] + A[i][j]\n", FROM1 "S0\n" END, true},
    {"in place", J, AB, "stage S0: A[i][j] = A[i][j - 1] - A[i][j]\n", FROM1 "S0\n" END, true},
    {"two back", J, AB, "stage S0: B[i][j] = B[i][j - 2] - B[i][j - 1] + A[i][j - 1]\n",
     "  for j: 2 <= j < m {\nS0\n" END, true},
    {"two back alone", J, AB, "stage S0: B[i][j] = B[i][j - 2] + A[i][j]\n",
     "  for j: 2 <= j < m {\nS0\n" END, true},
    {"six back", J, AB, "stage S0: B[i][j] = B[i][j - 6] + A[i][j]\n",
     "  for j: 6 <= j < m {\nS0\n" END, false},
    {"backwards", J, AB, "stage S0: B[i][-j + m - 1] = B[i][-j + m] + A[i][-j + m - 1]\n",
     FROM1 "S0\n" END, true},
    {"backwards by two", J, AB,
     "stage S0: B[i][-j + m - 1] = B[i][-j + m + 1] - B[i][-j + m - 1] + A[i][-j + m]\n",
     "  for j: 2 <= j < m {\nS0\n" END, true},
    {"reads ahead", J, AB, "stage S0: B[i][j] = B[i][j - 1] - B[i][j + 1] + B[i][j]\n",
     "  for j: 1 <= j < m - 1 {\nS0\n" END, true},
    {"two statements", J, ABC,
     "stage S0: B[i][j] = A[i][j] - B[i][j - 1]\nstage S1: C[i][j] = C[i][j - 1] - B[i][j - 1]\n",
     FROM1 "S0\nS1\n" END, true},
    {"read behind the store", J, ABC,
     "stage S0: B[i][j] = A[i][j] - B[i][j - 1]\nstage S1: C[i][j] = C[i][j - 1] + B[i][j]\n",
     FROM1 "S0\nS1\n" END, true},
    {"read before and behind the store", J, ABC,
     "stage S0: C[i][j] = C[i][j - 1] + B[i][j]\nstage S1: B[i][j] = A[i][j] - B[i][j - 1]\n"
     "stage S2: A[i][j] = B[i][j] - A[i][j]\n",
     FROM1 "S0\nS1\nS2\n" END, false},
    {"state in scalars", J, AB "tensor s TYPE [n] temp\ntensor t TYPE [n] temp\n",
     "stage S0: s[i] = 0\nstage S1: t[i] = 0\nstage S2: B[i][j] = A[i][j] + s[i] - t[i]\n"
     "stage S3: t[i] = s[i]\nstage S4: s[i] = B[i][j]\n",
     "S0\nS1\n" ALL "S2\nS3\nS4\n" END, true},
    {"there and back", K, ABC,
     "stage S0: B[i][j] = B[i][j - 1] + A[i][j]\n"
     "stage S1: C[i][-k + m - 1] = C[i][-k + m] - B[i][-k + m - 1]\n",
     FROM1 "S0\n" END "  for k: 1 <= k < m {\nS1\n" END, true},
    {"ordered sum", J, AB "tensor x TYPE [n]\n", "stage S0: x[i] += A[i][j] * B[i][j]\n",
     ALL "S0\n" END, true},
    {"neighbouring rows", J, AB "tensor C TYPE [n + 2][m]\n",
     "stage S0: B[i][j] = B[i][j - 1] + C[i][j] - C[i + 2][j - 1]\n", FROM1 "S0\n" END, true},
    {"columns", J, "tensor A TYPE [m][n]\ntensor B TYPE [m][n]\n",
     "stage S0: B[j][i] = B[j - 1][i] + A[j][i]\n", FROM1 "S0\n" END, false},
    {"rows and columns", J, AB "tensor C TYPE [m][n + 1]\n",
     "stage S0: B[i][j] = B[i][j - 1] + C[j][i] - C[j - 1][i + 1]\n", FROM1 "S0\n" END, true},
    {"two stores", J, AB,
     "stage S0: B[i][j] = A[i][j]\nstage S1: B[i][j - 1] = B[i][j] - B[i][j - 1]\n",
     FROM1 "S0\nS1\n" END, false},
    {"triangle", J, AB, "stage S0: B[i][j] = B[i][j - 1] + A[i][j]\n",
     "  for j: j - 1 >= 0, -j + m - 1 >= 0, i - j >= 0 {\nS0\n" END, false},
    {"every second", J, "tensor A TYPE [n][2 * m]\ntensor B TYPE [n][m]\n",
     "stage S0: B[i][j] = B[i][j - 1] + A[i][2 * j]\n", FROM1 "S0\n" END, true},
    {"diagonal", J, "tensor A TYPE [n][m]\ntensor B TYPE [n][n + m]\n",
     "stage S0: B[i][i + j] = B[i][i + j - 1] + A[i][j]\n", FROM1 "S0\n" END, true},
    {"three deep", K, "tensor A TYPE [n][m][m]\ntensor B TYPE [n][m][m]\n",
     "stage S0: B[i][j][k] = B[i][j][k - 1] - A[i][j][k]\n",
     ALL "  for k: 1 <= k < m {\nS0\n  }\n" END, true},
};

/* The region's text, with the type in it. */
static void print_region(const example *e, const char *type, ctune_text *out) {
    ctune_text_append(out, "te 1\nregion r\nparam n i32 sizes 50\nparam m i32 sizes 20\n"
                           "axis i i32\n");
    ctune_text_append(out, e->axes);
    for (const char *at = e->tensors; *at != '\0'; at++) {
        if (strncmp(at, "TYPE", 4) == 0) {
            ctune_text_append(out, type);
            at += 3;
        } else {
            ctune_text_append_n(out, at, 1);
        }
    }
    ctune_text_printf(out, "%sorder {\n for i: 0 <= i < n {\n%s }\n}\n", e->stages, e->body);
}

static bool has_rows(fixture *f, const ctune_nest *nest) {
    ctune_lower_options options = {.target = &f->target, .products = CTUNE_PRODUCTS_ROUNDED};
    ctune_loops *loops = NULL;
    ctune_text text;
    ctune_text_init(&text);
    assert_int_equal(ctune_lower(&f->ctx, nest, &options, &loops), CTUNE_OK);
    ctune_loops_print(loops, &text);
    bool has = strstr(ctune_text_get(&text), "before") != NULL ||
               strstr(ctune_text_get(&text), " row") != NULL;
    ctune_text_clear(&text);
    ctune_loops_destroy(loops);
    return has;
}

static void run(const example *e, const char *type, int bytes) {
    static const char *const schedules[] = {
        "split i 4 -> i0 i1; vectorize i1",  "split i 8 -> i0 i1; vectorize i1",
        "split i 16 -> i0 i1; vectorize i1", "split i 12 -> i0 i1; vectorize i1",
        "split i 5 -> i0 i1; vectorize i1",
    };
    ctune_text text;
    fixture f;
    bool is_transposed = false;
    ctune_text_init(&text);
    print_region(e, type, &text);
    fixture_init(&f, ctune_text_get(&text));
    f.target.vector_bytes = bytes;
    for (size_t s = 0; s < sizeof schedules / sizeof *schedules; s++) {
        ctune_nest nest;
        comparison c = {&f, sizes, sizeof sizes / sizeof *sizes, true, ""};
        if (fixture_apply(&f, schedules[s], &nest) != CTUNE_OK) {
            fail_msg("%s: %s: %s", e->name, schedules[s], f.ctx.error);
        }
        if (!lowers_right(&c, &nest)) {
            fail_msg("%s, %s, %d bytes: %s: %s", e->name, type, bytes, schedules[s], c.error);
        }
        is_transposed = is_transposed || has_rows(&f, &nest);
    }
    if (is_transposed != e->is_transposed) {
        fail_msg("%s, %s: %s", e->name, type, is_transposed ? "transposed" : "not transposed");
    }
    fixture_clear(&f);
    ctune_text_clear(&text);
}

static void test_examples(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof examples / sizeof *examples; k++) {
        run(&examples[k], "f64", 64);
        run(&examples[k], "f64", 32);
        run(&examples[k], "f32", 64);
        run(&examples[k], "i32", 16);
    }
}

/* What the lanes share between rows stops them. */
static void test_carried(void **state) {
    static const char *const stages[] = {
        "stage S0: B[i][j] = B[i - 1][j] + A[i][j]\n",
        "stage S0: B[i][j] = B[i - 1][j - 1] + B[i][j - 1]\n",
        "stage S0: B[i][j] = B[i][j - 1] + B[i - 1][j + 1]\n",
    };
    (void)state;
    for (size_t k = 0; k < sizeof stages / sizeof *stages; k++) {
        example e = {"carried", J, AB, stages[k], "  for j: 1 <= j < m - 1 {\nS0\n" END, false};
        ctune_text text;
        fixture f;
        ctune_text_init(&text);
        print_region(&e, "f64", &text);
        char *at = strstr(text.data, "0 <= i < n");
        at[0] = '1';
        fixture_init(&f, ctune_text_get(&text));
        assert_refused(&f, "split i 8 -> i0 i1; vectorize i1", "vector loop i1");
        fixture_clear(&f);
        ctune_text_clear(&text);
    }
}

/* A packed copy inside is one place for all lanes: the loop stays as it is. */
static void test_pack(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, "te 1\nregion r\nparam n i32 sizes 50\nparam m i32 sizes 20\naxis i i32\n"
                     "axis j i32\naxis k i32\ntensor A f64 [n][m]\ntensor B f64 [m][m]\n"
                     "tensor C f64 [n][m]\nstage S0: C[i][j] += A[i][k] * B[k][j]\n"
                     "order {\n for i: 0 <= i < n {\n  for j: 0 <= j < m {\n"
                     "   for k: 0 <= k < m {\n    S0\n   }\n  }\n }\n}\n");
    assert_runs(&f, "split i 4 -> i0 i1; cache_read S0.0 at i1 pack; vectorize i1");
    assert_runs(&f, "split i 4 -> i0 i1; cache_read S0.1 at j pack; vectorize i1");
    assert_runs(&f, "split i 4 -> i0 i1; cache_read S0.1 at root pack; vectorize i1");
    assert_runs(&f, "split i 4 -> i0 i1; cache_read S0.0 at i0 pack; vectorize i1");
    fixture_clear(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_carried),
        cmocka_unit_test(test_pack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
