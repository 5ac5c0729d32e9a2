/* Profiles: text, merging, files, and which shapes matter. */
#include "plugin/record/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static ctune_ctx ctx;

static const char sample[] =
    "ctune-profile 1\n"
    "gemm [n=1024 m=512] calls 120 timed 32 ns 3200 workload 0123456789abcdef at 3 gemm.c\n"
    "gemm [other] calls 5 timed 5 ns 9 workload 0123456789abcdef at 3 gemm.c\n"
    "init [] calls 1 timed 1 ns 7 workload 00000000000000ff at 12 a b\\\\c\\n.c\n";

static void expect_text(const ctune_profile *p, const char *want) {
    ctune_text text;
    ctune_text_init(&text);
    ctune_profile_print(p, &text);
    assert_string_equal(ctune_text_get(&text), want);
    ctune_text_clear(&text);
}

static void read_text(ctune_profile *p, const char *text) {
    assert_int_equal(ctune_profile_init(&ctx, p), CTUNE_OK);
    ctune_status status = ctune_profile_parse(&ctx, "x", text, false, p);
    if (status != CTUNE_OK) {
        fail_msg("%s", ctx.error);
    }
}

static void test_round_trip(void **state) {
    (void)state;
    ctune_profile p;
    /* order of names: "a b..." before "gemm.c" */
    static const char sorted[] =
        "ctune-profile 1\n"
        "init [] calls 1 timed 1 ns 7 workload 00000000000000ff at 12 a b\\\\c\\n.c\n"
        "gemm [n=1024 m=512] calls 120 timed 32 ns 3200 workload 0123456789abcdef at 3 gemm.c\n"
        "gemm [other] calls 5 timed 5 ns 9 workload 0123456789abcdef at 3 gemm.c\n";
    read_text(&p, sample);
    assert_int_equal(p.n, 3);
    assert_string_equal(p.shape[0].source, "a b\\c\n.c");
    expect_text(&p, sorted);
    /* adding itself doubles the numbers */
    assert_int_equal(ctune_profile_parse(&ctx, "x", sample, false, &p), CTUNE_OK);
    assert_int_equal(p.n, 3);
    assert_int_equal(p.shape[1].calls, 240);
    assert_int_equal(p.shape[1].ns, 6400);
    ctune_profile_clear(&p);
}

static void test_malformed(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "gemm [] calls",
        "gemm [n=1 calls 1 timed 1 ns 1 workload 1 at 1 x.c",
        "gemm [n=1] calls x timed 1 ns 1 workload 1 at 1 x.c",
        "gemm [n=1] calls 1 timed 1 ns 99999999999999999999999 workload 1 at 1 x.c",
        "gemm [n=1] calls 1 timed 1 ns 1 workload g at 1 x.c",
        "gemm [n=1] calls 1 timed 1 ns 1 workload 1 at 1 ",
        "<<<<<<< HEAD",
    };
    for (size_t i = 1; i < sizeof bad / sizeof *bad; i++) {
        ctune_profile p;
        char text[300];
        snprintf(text, sizeof text, "ctune-profile 1\n%s\n", bad[i]);
        assert_int_equal(ctune_profile_init(&ctx, &p), CTUNE_OK);
        assert_int_equal(ctune_profile_parse(&ctx, "f", text, false, &p), CTUNE_EUSAGE);
        assert_non_null(strstr(ctx.error, "f:2:"));
        assert_int_equal(ctune_profile_parse(&ctx, "f", text, true, &p), CTUNE_OK);
        assert_int_equal(p.n_skipped, 1);
        assert_int_equal(p.n, 0);
        ctune_profile_clear(&p);
    }
    ctune_profile p;
    assert_int_equal(ctune_profile_init(&ctx, &p), CTUNE_OK);
    assert_int_equal(ctune_profile_parse(&ctx, "f", "ctune-profile 2\n", true, &p), CTUNE_EUSAGE);
    assert_int_equal(ctune_profile_parse(&ctx, "f", "int main;\n", true, &p), CTUNE_EUSAGE);
    assert_int_equal(ctune_profile_parse(&ctx, "f", "", false, &p), CTUNE_OK);
    /* a line that a killed process left behind; two captures put together */
    assert_int_equal(ctune_profile_parse(&ctx, "f",
                                         "ctune-profile 1\n"
                                         "f [] calls 1 timed 1 ns 1 workload 1 at 1 x.c\n"
                                         "ctune-profile 1\n"
                                         "f [] calls 2 timed 1 ns 1 workload 1 at 1 x.c\n"
                                         "f [] calls 9 timed 1 ns 1 workload 1 at 1 x.",
                                         true, &p),
                     CTUNE_OK);
    assert_int_equal(p.n, 1);
    assert_int_equal(p.shape[0].calls, 3);
    assert_int_equal(p.n_skipped, 1);
    ctune_profile_clear(&p);
}

/* ---- files ---------------------------------------------------------------------------------- */
static void test_update(void **state) {
    (void)state;
    char folder[] = "/tmp/ctune-profile-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/.ctune/profile", folder);
    ctune_shape shape = {"x.c", "f", "n=8", 1, 3, 10, 5, 100};
    enum { N_PROCESSES = 8, N_TIMES = 5 };
    for (int i = 0; i < N_PROCESSES; i++) {
        if (fork() == 0) {
            int ok = 1;
            for (int k = 0; k < N_TIMES; k++) {
                ok &= ctune_profile_update(&ctx, path, &shape, 1) == CTUNE_OK;
            }
            _exit(!ok);
        }
    }
    for (int i = 0; i < N_PROCESSES; i++) {
        int status;
        assert_true(wait(&status) > 0 && status == 0);
    }
    ctune_profile p;
    assert_int_equal(ctune_profile_init(&ctx, &p), CTUNE_OK);
    assert_int_equal(ctune_profile_read(&ctx, path, false, &p), CTUNE_OK);
    assert_int_equal(p.n, 1);
    assert_int_equal(p.shape[0].calls, 10 * N_PROCESSES * N_TIMES);
    ctune_profile_clear(&p);

    /* the loop of f changed: its old shapes go, g's stay */
    ctune_shape g = {"x.c", "g", "", 7, 9, 1, 1, 1};
    assert_int_equal(ctune_profile_update(&ctx, path, &g, 1), CTUNE_OK);
    shape.workload = 2;
    assert_int_equal(ctune_profile_update(&ctx, path, &shape, 1), CTUNE_OK);
    assert_int_equal(ctune_profile_init(&ctx, &p), CTUNE_OK);
    assert_int_equal(ctune_profile_read(&ctx, path, false, &p), CTUNE_OK);
    assert_int_equal(p.n, 2);
    assert_int_equal(p.shape[0].calls, 10);
    assert_int_equal(p.shape[1].workload, 7);
    ctune_profile_clear(&p);
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

/* ---- what matters --------------------------------------------------------------------------- */
static const char te[] = "te 1\n"
                         "region f at \"x.c\":3\n"
                         "param n i32 sizes 1024\n"
                         "param m i32 sizes 1024\n"
                         "axis i i32\n"
                         "tensor A f32 [n] write\n"
                         "stage S0: A[i] = f32(0.5 \"0.5f\")\n"
                         "order {\n"
                         "    for i: i >= 0, -i + n - 1 >= 0, -i + m - 1 >= 0 {\n"
                         "        S0\n"
                         "    }\n"
                         "}\n";

static ctune_region *region_new(void) {
    ctune_region *region = NULL;
    if (ctune_te_parse(&ctx, te, &region) != CTUNE_OK) {
        fail_msg("%s", ctx.error);
    }
    return region;
}

static void add(ctune_profile *p, const ctune_region *region, const char *sizes, uint64_t calls,
                uint64_t timed, uint64_t ns) {
    ctune_shape shape = {"x.c", region->name, sizes, ctune_workload_key(region, NULL),
                         3,     calls,        timed, ns};
    assert_int_equal(ctune_profile_add(&ctx, p, &shape), CTUNE_OK);
}

/* What flags change leaves the key as it is; another loop has another one. */
static void test_key(void **state) {
    (void)state;
    static const struct {
        const char *from, *to;
        bool is_same;
    } rows[] = {{"param n", "option reassoc\nparam n", true},
                {"param n", "option serial\nparam n", true},
                {"stage S0", "assume n + 2147483647 >= 0\nstage S0", true},
                {"0.5", "0.25", false},
                {"-i + n - 1", "-i + n - 2", false},
                {"f32 [n]", "f64 [n]", false}};
    ctune_region *region = region_new();
    uint64_t key = ctune_shape_key(region);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1024];
        const char *at = strstr(te, rows[i].from);
        assert_non_null(at);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - te), te, rows[i].to,
                 at + strlen(rows[i].from));
        ctune_region *other = NULL;
        if (ctune_te_parse(&ctx, text, &other) != CTUNE_OK) {
            fail_msg("%s: %s", rows[i].to, ctx.error);
        }
        assert_int_equal(ctune_shape_key(other) == key, rows[i].is_same);
        assert_true(ctune_workload_key(other, NULL) != ctune_workload_key(region, NULL));
        ctune_profile p;
        ctune_profile_sizes sizes;
        ctune_shape shape = {"x.c", region->name, "n=8 m=8", key, 3, 1, 1, 10};
        assert_int_equal(ctune_profile_init(&ctx, &p), CTUNE_OK);
        assert_int_equal(ctune_profile_add(&ctx, &p, &shape), CTUNE_OK);
        ctune_profile_choose(&p, "x.c", other, 0.95, &sizes);
        assert_int_equal(sizes.n, rows[i].is_same);
        assert_int_equal(sizes.is_stale, !rows[i].is_same);
        ctune_profile_clear(&p);
        ctune_region_destroy(other);
    }
    ctune_region_destroy(region);
}

static void test_choose(void **state) {
    (void)state;
    ctune_region *region = region_new();
    ctune_profile p;
    ctune_profile_sizes sizes;
    assert_int_equal(ctune_profile_init(&ctx, &p), CTUNE_OK);
    ctune_profile_choose(&p, "x.c", region, 0.95, &sizes);
    assert_int_equal(sizes.n, 0);
    add(&p, region, "n=8 m=8", 1000000, 10, 10);     /* 1e6 ns: many calls, short */
    add(&p, region, "n=512 m=-64", 10, 5, 40000000); /* 8e7 */
    add(&p, region, "n=100 m=100", 1, 1, 15000000);  /* 1.5e7 */
    add(&p, region, "n=1 m=1", 5, 0, 0);             /* never timed */
    add(&p, region, "other", 5, 5, 4000000);         /* 4e6 */
    ctune_profile_choose(&p, "x.c", region, 0.95, &sizes);
    assert_int_equal(sizes.n, 2);
    assert_int_equal(sizes.n_shapes, 4);
    assert_int_equal(sizes.size[0].params[0], 512);
    assert_int_equal(sizes.size[0].params[1], -64);
    assert_int_equal(sizes.size[1].params[0], 100);
    assert_true(sizes.size[0].calls == 10 && sizes.ns == 1e8);
    assert_true(sizes.covered > 0.9499 && sizes.covered < 0.9501);
    ctune_profile_choose(&p, "x.c", region, 0.5, &sizes);
    assert_int_equal(sizes.n, 1);
    ctune_profile_choose(&p, "x.c", region, 1, &sizes);
    assert_int_equal(sizes.n, 3);
    ctune_profile_choose(&p, "y.c", region, 0.95, &sizes);
    assert_int_equal(sizes.n, 0);
    assert_false(sizes.is_stale);
    /* more shapes than are ever tuned: the heaviest of them */
    for (int i = 0; i < 20; i++) {
        char text[32];
        snprintf(text, sizeof text, "n=%d m=1", 2000 + i);
        add(&p, region, text, 1, 1, 100000000u + (unsigned)((i * 7) % 20));
    }
    ctune_profile_choose(&p, "x.c", region, 0.95, &sizes);
    assert_int_equal(sizes.n, CTUNE_PROFILE_MAX_SIZES);
    for (int i = 0; i + 1 < sizes.n; i++) {
        assert_true(sizes.size[i].ns == 100000019.0 - i);
    }
    ctune_profile_clear(&p);

    /* an earlier form of the loop */
    assert_int_equal(ctune_profile_init(&ctx, &p), CTUNE_OK);
    ctune_shape old = {"x.c", "f", "n=1 m=1", 5, 3, 1, 1, 1};
    assert_int_equal(ctune_profile_add(&ctx, &p, &old), CTUNE_OK);
    ctune_profile_choose(&p, "x.c", region, 0.95, &sizes);
    assert_int_equal(sizes.n, 0);
    assert_true(sizes.is_stale);
    static const char *const bad[] = {
        "n=7", "n=7 m=9 k=1", "n=7 m=", "n=7  m=9", "n=x m=1", "", "n=7 m=99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        add(&p, region, bad[i], 1, 1, 5);
        ctune_profile_choose(&p, "x.c", region, 0.95, &sizes);
        assert_int_equal(sizes.n, 0);
    }
    add(&p, region, "len=7 width=9", 1, 1, 500); /* renamed since */
    ctune_profile_choose(&p, "x.c", region, 0.9, &sizes);
    assert_int_equal(sizes.n, 1);
    assert_int_equal(sizes.size[0].params[1], 9);
    const ctune_region *copy = ctune_region_at(region, sizes.size[0].params);
    int64_t values[2];
    ctune_region_sizes(copy, 0, values);
    assert_true(values[0] == 7 && values[1] == 9);
    assert_true(ctune_workload_key(copy, NULL) == ctune_workload_key(region, NULL));
    ctune_profile_clear(&p);
    ctune_region_destroy(region);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_update),     cmocka_unit_test(test_key),
        cmocka_unit_test(test_choose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
