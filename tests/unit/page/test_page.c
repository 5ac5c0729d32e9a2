/* The report's page: hot loops of assembly, plots that hold whatever comes, text that stays text.
 */
#include "plugin/page/hot.h"
#include "plugin/page/page.h"
#include "plugin/page/plot.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void expect_hot(const char *assembly, const char *has, const char *has_not) {
    ctune_text function, loop;
    ctune_text_init(&function);
    ctune_text_init(&loop);
    ctune_assembly_function(assembly, "f", &function);
    ctune_assembly_hot_loop(ctune_text_get(&function), &loop);
    if (has == NULL) {
        assert_string_equal(ctune_text_get(&loop), "");
    } else {
        assert_non_null(strstr(ctune_text_get(&loop), has));
        assert_null(strstr(ctune_text_get(&loop), has_not));
    }
    ctune_text_clear(&function);
    ctune_text_clear(&loop);
}

static void test_hot_loops(void **state) {
    (void)state;
    /* the inner of two nested loops; a loop that only moves is not it; another function neither */
    expect_hot(
        "g:\n.L9:\n\tvfmadd231ps\t%zmm1, %zmm2, %zmm3\n\tjne\t.L9\n\t.size\tg, .-g\n"
        "f:\n.L1:\n\taddq $1, %rcx\n.L2:\n\tvmovups\t%zmm0, (%rax)\n\tvmovups\t%zmm0, (%rdx)\n"
        "\tjne\t.L2\n.L3:\n\tvfmadd231ps\t(%rax), %ymm2, %ymm3\n\t.loc 1 2 3\n\tjne\t.L3\n"
        "\tjne\t.L1\n\t.size\tf, .-f\n",
        "%ymm3", ".loc");
    /* AArch64 */
    expect_hot("f:\n.L2:\n\tldr\tq0, [x0]\n\tfmla\tv1.4s, v0.4s, v2.4s\n\tcbnz\tx1, .L2\n"
               "\tb.ne\t.L2\n\t.size\tf, .-f\n",
               "fmla", "size");
    /* no vectors: the longest loop; none at all: nothing */
    expect_hot(
        "f:\n.L1:\n\taddq\t$1, %rax\n\tjne\t.L1\n.L2:\n\timulq\t%rax, %rdx\n\taddq\t$1, %rax\n"
        "\tjne\t.L2\n\t.size\tf, .-f\n",
        "imulq", ".L1");
    expect_hot("f:\n\tjmp\t.L7\n.L7:\n\tret\n\t.size\tf, .-f\n", NULL, NULL);
    expect_hot("", NULL, NULL);
}

/* No coordinate of an SVG is anything but a number. */
static void expect_numbers(const char *svg) {
    assert_null(strstr(svg, "nan"));
    assert_null(strstr(svg, "inf"));
}

static void test_plots(void **state) {
    (void)state;
    ctune_text out;
    ctune_text_init(&out);
    ctune_plot plot = {.title = "<t>",
                       .width = 300,
                       .height = 200,
                       .x = {"x & y", false, 0, 1},
                       .y = {"y", true, 1, 2}};
    const double bad[] = {NAN, INFINITY, -INFINITY, 0, -1};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ctune_axis_include(&plot.y, bad[i]);
    }
    assert_true(plot.y.min == 1 && plot.y.max == 2);
    ctune_axis_include(&plot.y, 1e6);
    ctune_plot_begin(&plot, &out);
    const double x[] = {0, 0.5, NAN, 0.7, 2, 1}, y[] = {1, 10, 10, INFINITY, 10, 1e6};
    ctune_plot_line(&plot, 6, x, y, "#000", &out);
    for (size_t i = 0; i < 6; i++) {
        ctune_plot_point(&plot, x[i], y[i], "#000", false, "<tip>", &out);
    }
    ctune_plot_end(&out);
    expect_numbers(ctune_text_get(&out));
    assert_non_null(strstr(ctune_text_get(&out), "&lt;t&gt;"));
    assert_non_null(strstr(ctune_text_get(&out), "x &amp; y"));
    assert_null(strstr(ctune_text_get(&out), "<tip>"));
    ctune_text_clear(&out);
}

static void test_pages(void **state) {
    (void)state;
    ctune_target target;
    ctune_target_init(&target, 32, NULL, 1);
    const ctune_page_trial trials[] = {{CTUNE_RUN_OK, 5, 10},
                                       {CTUNE_RUN_WRONG, NAN, 10},
                                       {CTUNE_RUN_OK, NAN, 10},
                                       {CTUNE_RUN_OK, 20, 10}};
    ctune_page_nest nest = {.region = "<script>",
                            .file = "a&b.c",
                            .sizes = "n=\"1\"",
                            .key = "key",
                            .target = &target,
                            .flops = 100,
                            .bytes = 8,
                            .n_trials = 4,
                            .trial = trials,
                            .has_entry = true,
                            .tuned_ns = 5,
                            .speedup = 2,
                            .verified = "identical",
                            .schedule = "split i 2 -> a b",
                            .before = "a < b",
                            .after = "",
                            .hot_before = "",
                            .hot_after = ""};
    ctune_text out;
    ctune_text_init(&out);
    ctune_page_print(&nest, 1, &out);
    const char *page = ctune_text_get(&out);
    assert_null(strstr(page, "<script"));
    assert_non_null(strstr(page, "a &lt; b"));
    assert_non_null(strstr(page, "1 wrong result"));
    assert_non_null(strstr(page, "1 faster than the original"));
    assert_non_null(strstr(page, "2.00 x"));
    expect_numbers(page);
    ctune_text_clear(&out);

    /* nothing measured: no plot, a page all the same */
    nest.n_trials = 0;
    nest.has_entry = false;
    nest.schedule = nest.verified = "";
    ctune_text_init(&out);
    assert_false(ctune_page_plot_print(CTUNE_PAGE_CONVERGENCE, &nest, &out));
    assert_false(ctune_page_plot_print(CTUNE_PAGE_ROOFLINE, &nest, &out));
    assert_int_equal(out.len, 0);
    ctune_page_print(&nest, 1, &out);
    assert_non_null(strstr(ctune_text_get(&out), "not in the lock"));
    ctune_text_clear(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hot_loops),
        cmocka_unit_test(test_plots),
        cmocka_unit_test(test_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
