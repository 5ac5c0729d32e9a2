/* Vector loops outside of register tiles: sums along lanes, dot products, calls. */
#include "tests/unit/lower/lower_fixture.h"

/* B[0] op= rhs over i. */
static void make(fixture *f, const char *option, const char *types, const char *update) {
    char text[800];
    snprintf(text, sizeof text,
             "te 1\nregion r\n%sparam n i32 sizes 50\nparam m i32 sizes 20\naxis j i32\n"
             "axis i i32\n%sstage S0: %s\n"
             "order {\n for j: 0 <= j < n {\n  for i: 0 <= i < m {\n   S0\n  }\n }\n}\n",
             option, types, update);
    fixture_init(f, text);
}

static const char ints[] = "tensor A i32 [n][m]\ntensor B i32 [n]\n";
static const char floats[] = "tensor A f32 [n][m]\ntensor B f32 [n]\n";
static const char bytes[] = "tensor A u8 [n][m]\ntensor C i8 [n][m]\ntensor B i32 [n]\n";
static const char words[] = "tensor A i16 [n][m]\ntensor C i8 [n][m]\ntensor B i32 [n]\n";

static const char *const schedules[] = {
    "split i 4 -> i0 i1; vectorize i1",
    "split i 8 -> i0 i1; vectorize i1",
    "split i 16 -> i0 i1; vectorize i1",
    "split i 6 -> i0 i1; vectorize i1",
    "split i 16 -> i0 i1; split i1 8 -> i1 i2; vectorize i2",
    "split i 8 -> i0 i1; reorder i0 j i1; vectorize i1", /* the tiles' loop stands further out */
    "split i 8 -> i0 i1; vectorize i1; parallel j",
};

static void run_all(fixture *f) {
    static const char *const isas[] = {"", "avx2"};
    for (int k = 0; k < 4; k++) {
        f->target.vector_bytes = k < 2 ? 32 : 16;
        f->target.has_vnni = k % 2;
        snprintf(f->target.isa, sizeof f->target.isa, "%s", isas[k % 2]);
        for (size_t s = 0; s < sizeof schedules / sizeof *schedules; s++) {
            assert_runs(f, schedules[s]);
        }
    }
    fixture_clear(f);
}

static void test_updates(void **state) {
    static const char *const updates[] = {
        "B[j] += A[j][i]",     "B[j] -= A[j][i] * A[j][i] ",  "B[j] *= A[j][i]",
        "B[j] &= A[j][i]",     "B[j] |= A[j][i] & 4660",      "B[j] ^= A[j][i]",
        "B[j] min= A[j][i]",   "B[j] max= A[j][i] + A[j][i]", "B[j] below= A[j][i]",
        "B[j] above= A[j][i]",
    };
    (void)state;
    for (size_t u = 0; u < sizeof updates / sizeof *updates; u++) {
        fixture f;
        make(&f, "", ints, updates[u]);
        run_all(&f);
        bool is_int = strpbrk(updates[u], "&|^") != NULL || strchr(updates[u], '*') != NULL;
        if (!is_int) { /* products of 20 numbers are not exact */
            make(&f, "option reassoc\n", floats, updates[u]);
            run_all(&f);
        }
    }
}

static void test_dots(void **state) {
    (void)state;
    fixture f;
    make(&f, "", bytes, "B[j] += (i32) A[j][i] * (i32) C[j][i]");
    run_all(&f);
    make(&f, "", bytes, "B[j] += (i32) C[j][i] * (i32) A[j][i]");
    run_all(&f);
    make(&f, "", bytes, "B[j] += (i32) C[j][i] * (i32) C[j][i]");
    run_all(&f);
    make(&f, "", words, "B[j] += (i32) A[j][i] * (i32) A[j][i]");
    run_all(&f);
    make(&f, "", words, "B[j] += (i32) A[j][i] * (i32) C[j][i]");
    run_all(&f);
    make(&f, "", words, "B[j] -= (i32) A[j][i] * (i32) C[j][i]");
    run_all(&f);
}

/* Sums beside other statements, and two of them. */
static void test_beside(void **state) {
    (void)state;
    fixture f;
    fixture_init(&f, "te 1\nregion r\noption reassoc\nparam n i32 sizes 50\nparam m i32 sizes 20\n"
                     "axis j i32\naxis i i32\ntensor A f32 [n][m]\ntensor B f32 [n]\n"
                     "tensor D f32 [n]\ntensor C f32 [n][m]\ntensor t f32 [n][m] temp\n"
                     "stage S0: t[j][i] = fabsf(A[j][i]) + 1.0f\n"
                     "stage S1: C[j][i] = t[j][i] - 2.0f\n"
                     "stage S2: B[j] += t[j][i]\n"
                     "stage S3: D[j] above= t[j][i]\n"
                     "order {\n for j: 0 <= j < n {\n  for i: 0 <= i < m {\n   S0\n   S1\n   S2\n"
                     "   S3\n  }\n }\n}\n");
    run_all(&f);
}

/* Others than these stay as they are, or are refused. */
static void test_limits(void **state) {
    (void)state;
    fixture f;
    make(&f, "", floats, "B[j] += A[j][i]");
    assert_refused(&f, "split i 8 -> i0 i1; vectorize i1", "vector");
    fixture_clear(&f);
    make(&f, "", ints, "B[j] += A[j][i]");
    assert_refused(&f, "parallel i", "the same element");
    fixture_clear(&f);
    make(&f, "", "tensor A i32 [n][m]\ntensor B i8 [n]\n", "B[j] += A[j][i] ; calc i32");
    assert_refused(&f, "split i 8 -> i0 i1; vectorize i1", "the same element");
    fixture_clear(&f);
    make(&f, "", "tensor A i32 [n][m]\ntensor B i32 [n + m]\n", "B[i + j] += A[j][i]");
    assert_refused(&f, "reorder i j; split j 8 -> j0 j1; vectorize j1", "the same element");
    fixture_clear(&f);
    make(&f, "", ints, "B[j] += A[j][i] ; when A[j][i] > 3");
    assert_refused(&f, "split i 8 -> i0 i1; vectorize i1", "the same element");
    fixture_clear(&f);
}

/* Whole tiles of a loop around calls are vectors. */
static void test_calls(void **state) {
    static const char *const loops[] = {
        "split i 4 -> i0 i1; vectorize i1",
        "split i 8 -> i0 i1; vectorize i1",
        "split i 6 -> i0 i1; vectorize i1",
        "split j 4 -> j0 j1; reorder j0 i j1; vectorize j1",
        "split i 8 -> i0 i1; vectorize i1; parallel j",
    };
    (void)state;
    fixture f;
    make(&f, "", "tensor A f64 [n][m]\ntensor B f64 [n][m]\n",
         "B[j][i] = sqrt(A[j][i]) / exp(fabs(A[j][i]) / 100.0)");
    for (size_t s = 0; s < sizeof loops / sizeof *loops; s++) {
        assert_runs(&f, loops[s]);
    }
    fixture_clear(&f);

    /* through a variable, which each copy of the loop has for itself */
    fixture_init(&f, "te 1\nregion r\nparam n i32 sizes 50\nparam m i32 sizes 20\naxis j i32\n"
                     "axis i i32\ntensor A f64 [n][m]\ntensor B f64 [n][m]\n"
                     "tensor v f64 [n][m] temp\nstage S0: v[j][i] = A[j][i] / 64.0\n"
                     "stage S1: B[j][i] = v[j][i] * exp(fabs(v[j][i])) + v[j][i]\n"
                     "order {\n for j: 0 <= j < n {\n  for i: 0 <= i < m {\n   S0\n   S1\n  }\n "
                     "}\n}\n");
    for (size_t s = 0; s < sizeof loops / sizeof *loops; s++) {
        assert_runs(&f, loops[s]);
    }
    fixture_clear(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_updates), cmocka_unit_test(test_dots),  cmocka_unit_test(test_beside),
        cmocka_unit_test(test_limits),  cmocka_unit_test(test_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
