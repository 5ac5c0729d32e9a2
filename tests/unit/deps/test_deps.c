/* Dependences: which are found, which may be dropped. */
#include "tests/unit/deps/deps_fixture.h"
#include "tests/unit/deps/deps_samples.h"
#include "tests/unit/te/te_samples.h"

static void expect(const char *text, const char *deps) {
    fixture f;
    fixture_init(&f, text);
    expect_deps(&f, deps);
    fixture_clear(&f);
}

static void test_gemm(void **state) {
    (void)state;
    expect(te_sample_gemm(), "flow,anti,output C S0 -> S0 (0, 0, +)\n");
}

static void test_in_place(void **state) {
    (void)state;
    expect(sample_shift, "anti A S0 -> S0 (0, 1)\n");
}

static void test_triangular(void **state) {
    (void)state;
    expect(sample_trisolv, "flow,output x S0 -> S1 (0)\n"
                           "flow x S0 -> S1 (+)\n"
                           "flow,output x S0 -> S2 (0)\n"
                           "flow,anti,output x S1 -> S1 (0, +)\n"
                           "flow x S1 -> S1 (+, +)\n"
                           "flow,anti,output x S1 -> S2 (0)\n"
                           "flow x S2 -> S1 (+)\n");
}

/* The vectors of a time loop over two sweeps: each kind of pair, no other. */
static void test_jacobi(void **state) {
    (void)state;
    fixture f;
    fixture_init(&f, te_sample_jacobi2d());
    bool legal;
    ctune_depvecs vecs;
    assert_int_equal(ctune_deps_check(&f.ctx, f.deps, f.tree, &legal, &vecs), CTUNE_OK);
    assert_true(legal);
    assert_int_equal(vecs.n, 5);
    for (int i = 0; i < vecs.n; i++) {
        const ctune_depvec *v = &vecs.vec[i];
        assert_int_equal(v->n_common, v->src == v->dst ? 3 : 1);
        assert_true(v->sign[0] == CTUNE_SIGN_POS || (v->src == 0 && v->dst == 1));
    }
    fixture_clear(&f);
}

/* Distances of each vector "sign:min..max", one a line. */
static void expect_distances(const char *text, const char *wanted) {
    fixture f;
    bool legal;
    ctune_depvecs vecs;
    ctune_text out;
    fixture_init(&f, text);
    ctune_text_init(&out);
    assert_int_equal(ctune_deps_check(&f.ctx, f.deps, f.tree, &legal, &vecs), CTUNE_OK);
    for (int i = 0; i < vecs.n; i++) {
        for (int d = 0; d < vecs.vec[i].n_common; d++) {
            int64_t min, max;
            ctune_depvec_range(&vecs.vec[i], d, &min, &max);
            assert_true(vecs.vec[i].has_distance);
            ctune_text_printf(&out, d > 0 ? " " : "");
            if (min == CTUNE_DIST_MIN) {
                ctune_text_append(&out, "..");
            } else {
                ctune_text_printf(&out, "%d..", (int)min);
            }
            if (max != CTUNE_DIST_MAX) {
                ctune_text_printf(&out, "%d", (int)max);
            }
        }
        ctune_text_append(&out, "\n");
    }
    assert_string_equal(ctune_text_get(&out), wanted);
    ctune_text_clear(&out);
    fixture_clear(&f);
}

static void test_distances(void **state) {
    (void)state;
    expect_distances(te_sample_gemm(), "0..0 0..0 1..\n");
    expect_distances(sample_shift, "0..0 1..1\n");
    /* memory-based: every later sweep meets the element and its neighbours */
    expect_distances(sample_seidel, "1.. 0..0 0..0\n1.. 1..1 0..0\n0..0 1..1 0..0\n"
                                    "1.. 0..0 1..1\n0..0 0..0 1..1\n1.. 0..0 -1..-1\n"
                                    "1.. -1..-1 0..0\n");
    expect_distances("te 1\nregion r\nparam n i32\naxis i i32\naxis j i32\ntensor A f32 [3*n + 9]\n"
                     "stage S0: A[i + j] = A[i + j + 3]\norder {\n for i: 0 <= i < n {\n"
                     "  for j: 0 <= j < 4 {\n   S0\n  }\n }\n}\n",
                     "1..6 -3..-1\n1..2 1..2\n3..3 0..0\n0..0 3..3\n");
    /* signs alone, from a vector without distances */
    ctune_depvec vec = {.n_common = 3, .sign = {CTUNE_SIGN_POS, CTUNE_SIGN_ZERO, CTUNE_SIGN_NEG}};
    int64_t min, max;
    ctune_depvec_range(&vec, 0, &min, &max);
    assert_true(min == 1 && max == CTUNE_DIST_MAX);
    ctune_depvec_range(&vec, 1, &min, &max);
    assert_true(min == 0 && max == 0);
    ctune_depvec_range(&vec, 2, &min, &max);
    assert_true(min == CTUNE_DIST_MIN && max == -1);
}

/* ---- reductions
 * ---------------------------------------------------------------------------------------------- */

static int count_reductions(const char *head, const char *tensors, const char *stage) {
    char text[1024];
    snprintf(text, sizeof text,
             "te 1\nregion r\n%sparam n i32\naxis i i32\naxis k i32\n%sstage S0: %s\n"
             "order {\n for i: 0 <= i < n {\n  for k: 0 <= k < n {\n   S0\n  }\n }\n}\n",
             head, tensors, stage);
    fixture f;
    fixture_init(&f, text);
    ctune_text out;
    ctune_text_init(&out);
    ctune_deps_print(f.deps, &out);
    int n = 0;
    for (const char *p = ctune_text_get(&out); (p = strstr(p, "reduction")) != NULL; p++) {
        n++;
    }
    ctune_text_clear(&out);
    fixture_clear(&f);
    return n;
}

static void test_reductions(void **state) {
    (void)state;
    const char *f32 = "tensor C f32 [n]\ntensor A f32 [n][n]\n";
    const char *i32 = "tensor C i32 [n]\ntensor A i32 [n][n]\n";
    const char *i8 = "tensor C i8 [n]\ntensor A i32 [n][n]\n";
    const char *bits = "tensor C bool [n]\ntensor A i32 [n][n]\n";
    assert_int_equal(count_reductions("", f32, "C[i] += A[i][k]"), 0);
    assert_int_equal(count_reductions("option reassoc\n", f32, "C[i] += A[i][k]"), 1);
    assert_int_equal(count_reductions("option reassoc\n", f32, "C[i] -= A[i][k]"), 1);
    assert_int_equal(count_reductions("", f32, "C[i] += A[i][k] ; reassoc"), 1);
    assert_int_equal(count_reductions("", f32, "C[i] /= A[i][k] ; reassoc"), 0);
    assert_int_equal(count_reductions("option reassoc\n", f32, "C[i] /= A[i][k]"), 0);
    assert_int_equal(count_reductions("option reassoc\n", f32, "C[i] = A[i][k] - C[i]"), 0);
    assert_int_equal(count_reductions("", i32, "C[i] += A[i][k]"), 1);
    assert_int_equal(count_reductions("", i32, "C[i] max= A[i][k]"), 1);
    assert_int_equal(count_reductions("", i32, "C[i] /= A[i][k]"), 0);
    assert_int_equal(count_reductions("", i32, "C[i] = A[i][k] - C[i]"), 0);
    assert_int_equal(count_reductions("", i8, "C[i] += A[i][k] ; calc i32"), 1);
    assert_int_equal(count_reductions("", i8, "C[i] min= A[i][k] ; calc i32"), 0);
    assert_int_equal(count_reductions("", i8, "C[i] min= (i32) C[k] ; calc i32"), 1);
    assert_int_equal(count_reductions("", bits, "C[i] += A[i][k] ; calc i32"), 0);
    assert_int_equal(count_reductions("", bits, "C[i] |= A[i][k] ; calc i32"), 1);
    assert_int_equal(count_reductions("option reassoc\n", "tensor C i32 [n]\ntensor A f32 [n][n]\n",
                                      "C[i] += A[i][k] ; calc f32"),
                     0);
}

static int count_between(const char *head, const char *type, const char *a, const char *b) {
    char text[1024], tensors[200];
    snprintf(tensors, sizeof tensors, "tensor C %s [n]\ntensor A %s [n][n]\n", type, type);
    snprintf(text, sizeof text,
             "te 1\nregion r\n%sparam n i32\naxis i i32\naxis k i32\n%sstage S0: %s\nstage S1: %s\n"
             "order {\n for i: 0 <= i < n {\n  for k: 0 <= k < n {\n   S0\n   S1\n  }\n }\n}\n",
             head, tensors, a, b);
    fixture f;
    fixture_init(&f, text);
    ctune_text out;
    ctune_text_init(&out);
    ctune_deps_print(f.deps, &out);
    int n = 0;
    for (const char *p = ctune_text_get(&out); *p != '\0'; p = strchr(p, '\n') + 1) {
        char line[200];
        snprintf(line, sizeof line, "%.*s", (int)strcspn(p, "\n"), p);
        n += strstr(line, "reduction") != NULL &&
             (strstr(line, "S0 -> S1") != NULL || strstr(line, "S1 -> S0") != NULL);
    }
    ctune_text_clear(&out);
    fixture_clear(&f);
    return n;
}

/* Updates of one element by two statements: of one class they commute. */
static void test_two_reductions(void **state) {
    (void)state;
    const char *reassoc = "option reassoc\n";
    assert_int_equal(count_between("", "i32", "C[i] += A[i][k]", "C[i] += A[k][i]"), 3);
    assert_int_equal(count_between("", "i32", "C[i] += A[i][k]", "C[i] -= A[k][i]"), 3);
    assert_int_equal(count_between("", "i32", "C[i] max= A[i][k]", "C[i] above= A[k][i]"), 3);
    assert_int_equal(count_between("", "i32", "C[i] max= A[i][k]", "C[i] min= A[k][i]"), 0);
    assert_int_equal(count_between("", "i32", "C[i] += A[i][k]", "C[i] *= A[k][i]"), 0);
    assert_int_equal(count_between("", "i32", "C[i] += A[i][k]", "C[i] = A[k][i]"), 0);
    assert_int_equal(count_between("", "f32", "C[i] += A[i][k]", "C[i] += A[k][i]"), 0);
    assert_int_equal(count_between(reassoc, "f32", "C[i] += A[i][k]", "C[i] -= A[k][i]"), 3);
    assert_int_equal(count_between(reassoc, "f32", "C[i] max= A[i][k]", "C[i] above= A[k][i]"), 0);
    assert_int_equal(count_between("", "f32", "C[i] += A[i][k] ; reassoc", "C[i] += A[k][i]"), 0);
}

/* An update whose operand reads its own target keeps the order of that read. */
static void test_update_reads_target(void **state) {
    (void)state;
    expect("te 1\nregion r\nparam n i32\naxis i i32\naxis k i32\ntensor C i32 [n]\n"
           "stage S0: C[i] += C[i]\n"
           "order {\n for i: 0 <= i < n {\n  for k: 0 <= k < n {\n   S0\n  }\n }\n}\n",
           "flow,anti,output C S0 -> S0 (0, +) reduction\n"
           "flow C S0 -> S0 (0, +)\nanti C S0 -> S0 (0, +)\n");
}

static void test_assumptions(void **state) {
    (void)state;
    expect("te 1\nregion r\nparam n i32\nparam m i32\naxis i i32\ntensor A f32 [?]\n"
           "assume m >= n text \"m >= n\"\n"
           "stage S0: A[i] = A[i + m]\n"
           "order {\n for i: 0 <= i < n {\n  S0\n }\n}\n",
           "");
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void test_too_many_stages(void **state) {
    (void)state;
    ctune_text text;
    ctune_text_init(&text);
    ctune_text_append(&text,
                      "te 1\nregion r at \"r.c\":4\nparam n i32\naxis i i32\ntensor A f32 [n]\n");
    for (int s = 0; s < 60; s++) {
        ctune_text_printf(&text, "stage S%d: A[i] = 1.0f\n", s);
    }
    ctune_text_append(&text, "order {\n for i: 0 <= i < n {\n");
    for (int s = 0; s < 60; s++) {
        ctune_text_printf(&text, "  S%d\n", s);
    }
    ctune_text_append(&text, " }\n}\n");
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    ctune_region *region;
    ctune_deps *deps;
    assert_int_equal(ctune_te_parse(&ctx, ctune_text_get(&text), &region), CTUNE_OK);
    assert_int_equal(ctune_deps_create(&ctx, region, &deps), CTUNE_EREFUSED);
    assert_int_equal(ctx.n_refusals, 1);
    ctune_region_destroy(region);
    ctune_text_clear(&text);
}

/* Each allocation of ours fails once: an error, no leak, no crash. */
static void test_memory_faults(void **state) {
    (void)state;
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    ctune_region *region;
    assert_int_equal(ctune_te_parse(&ctx, te_sample_jacobi2d(), &region), CTUNE_OK);
    ctune_status status = CTUNE_ENOMEM;
    for (uint64_t at = 1; status != CTUNE_OK; at++) {
        ctune_deps *deps = NULL;
        ctune_tree *tree = NULL;
        ctx.alloc_fail_at = at;
        ctx.n_allocs = 0;
        status = ctune_deps_create(&ctx, region, &deps);
        if (status == CTUNE_OK) {
            status = ctune_tree_polyhedral(&ctx, deps, CTUNE_POLY_MIN, &tree);
        }
        assert_true(status == CTUNE_OK || status == CTUNE_ENOMEM || status == CTUNE_EREFUSED);
        ctune_tree_destroy(tree);
        ctune_deps_destroy(deps);
        assert_true(at < 500);
    }
    ctune_region_destroy(region);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemm),           cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_triangular),     cmocka_unit_test(test_jacobi),
        cmocka_unit_test(test_distances),      cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_two_reductions), cmocka_unit_test(test_update_reads_target),
        cmocka_unit_test(test_assumptions),    cmocka_unit_test(test_too_many_stages),
        cmocka_unit_test(test_memory_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
