/* Loops that slide and skewed arrays: what the nest takes and what it refuses. */
#include "tests/unit/schedule/nest_fixture.h"

static const char sweep[] =
    "te 1\n"
    "region r\n"
    "param n i32 sizes 64\n"
    "param m i32 sizes 64\n"
    "axis i i32\n"
    "axis j i32\n"
    "axis k i32\n"
    "tensor A f64 [n][m]\n"
    "tensor T f64 [n][m]\n"
    "tensor B f64 [n][m]\n"
    "tensor C f64 [n][m]\n"
    "tensor D f64 [n][m]\n"
    "tensor d f64 [n]\n"
    "stage S0: A[i][j] = A[i - 1][j] + A[i][j - 1] + d[j]\n"
    "stage S1: T[i][k] = select(D[i][k] > 0.0, B[i][k], C[k][i])\n"
    "stage S2: D[i][k] = D[i][k] + B[i][k]\n"
    "order {\n"
    "    for i: 1 <= i < n {\n"
    "        for j: 1 <= j < m {\n            S0\n        }\n"
    "        for k: 0 <= k < i {\n            S1\n            S2\n        }\n"
    "    }\n"
    "}\n";

static void expect(fixture *f, const char *schedule, const char *rule) {
    ctune_status status = fixture_apply(f, schedule);
    if (rule == NULL ? status != CTUNE_OK
                     : status == CTUNE_OK || strstr(f->ctx.error, rule) == NULL) {
        fail_msg("%s: %s", schedule, status == CTUNE_OK ? "accepted" : f->ctx.error);
    }
}

static void test_slide(void **state) {
    (void)state;
    fixture f;
    fixture_init(&f, sweep, NULL, 0);
    expect(&f, "slide j", NULL);
    assert_int_equal(f.nest.node[ctune_nest_find(&f.nest, "j")].ann, CTUNE_ANN_SLIDE);
    expect(&f, "split j 8 -> j0 j1\nslide j1", NULL);
    expect(&f, "split j 8 -> j0 j1\nslide j0", "only an innermost loop can slide");
    expect(&f, "slide i", "only an innermost loop can slide");
    expect(&f, "slide j\nslide j", "annotated already");
    expect(&f, "slide x", "no loop named 'x'");
    fixture_clear(&f);
}

static void test_slide_carried(void **state) {
    (void)state;
    static const ctune_depvec vec = {
        .src = 0, .dst = 0, .n_common = 2, .sign = {CTUNE_SIGN_ZERO, CTUNE_SIGN_POS}};
    char why[200];
    fixture f;
    fixture_init(&f, sweep, &vec, 1);
    expect(&f, "slide j", NULL);
    assert_false(ctune_nest_check(&f.nest, why, sizeof why));
    assert_string_equal(why, "a dependence is carried by the vector loop j");
    fixture_clear(&f);
}

static void test_skew(void **state) {
    (void)state;
    fixture f;
    fixture_init(&f, sweep, NULL, 0);
    expect(&f, "skew A 1", NULL);
    assert_int_equal(ctune_nest_skew_of(&f.nest, 0), 1);
    assert_int_equal(ctune_nest_skew_of(&f.nest, 1), -1);
    expect(&f, "skew A 17", "0 .. 16");
    expect(&f, "skew A 1\nskew A 1", "skewed already");
    expect(&f, "skew x 1", "no array named 'x'");
    expect(&f, "skew d 1", "two dimensions");
    expect(&f, "skew B 1", "not one statement alone");
    expect(&f, "skew D 1", "not one statement alone");
    expect(&f, "skew T 1", "no box");
    fixture_clear(&f);
}

static const char choice[] = "te 1\n"
                             "region r\n"
                             "param n i32 sizes 64\n"
                             "axis i i32\n"
                             "axis j i32\n"
                             "tensor A f64 [n][n]\n"
                             "tensor B f64 [n][n]\n"
                             "tensor C f64 [n][n]\n"
                             "stage S0: A[i][j] = select(B[i][j] > 0.0, C[i][j], B[j][i])\n"
                             "order {\n"
                             "    for i: 0 <= i < n {\n"
                             "        for j: 0 <= j < n {\n            S0\n        }\n"
                             "    }\n"
                             "}\n";

static void test_skew_choice(void **state) {
    (void)state;
    fixture f;
    fixture_init(&f, choice, NULL, 0);
    expect(&f, "skew A 0", NULL);
    expect(&f, "skew C 0", "not read in all iterations");
    expect(&f, "skew B 0", "not read in all iterations");
    fixture_clear(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slide),
        cmocka_unit_test(test_slide_carried),
        cmocka_unit_test(test_skew),
        cmocka_unit_test(test_skew_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
