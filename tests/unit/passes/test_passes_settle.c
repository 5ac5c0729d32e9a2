/* settle: conditions that the sizes decide go; the rest of the program stays as it is. */
#include "tests/unit/loops/loops_samples.h"

#include "search/passes/passes.h"

/* `text` settled at n, m (NULL: at any sizes) prints as `want`. */
static void check(const int64_t *sizes, const char *text, const char *want) {
    ctune_region *region = loops_region();
    ctune_loops *l = loops_parsed(region, text);
    ctune_target target;
    ctune_target_init(&target, 64, NULL, 1);
    ctune_pass_options options = {.target = &target, .sizes = sizes};
    assert_int_equal(ctune_pass_settle(l, &options), CTUNE_OK);
    assert_int_equal(ctune_loops_verify(l->ctx, l), CTUNE_OK);
    ctune_text got;
    ctune_text_init(&got);
    ctune_loops_print(l, &got);
    char *whole = NULL;
    assert_true(asprintf(&whole, "loops 1\n%s", want) > 0);
    assert_string_equal(ctune_text_get(&got), whole);
    free(whole);
    ctune_text_clear(&got);
    ctune_loops_destroy(l);
    ctune_region_destroy(region);
}

static const char tiles[] = "for i.0 from 0 below n step 8 {\n"
                            "    if n - i.0 - 8 >= 0 {\n"
                            "        store K[i.0] = 1\n"
                            "    } else {\n"
                            "        store K[i.0] = 2\n"
                            "    }\n"
                            "}\n";

static void test_always(void **state) {
    (void)state;
    check((const int64_t[]){64, 48}, tiles,
          "for i.0 from 0 below n step 8 {\n"
          "    seq {\n"
          "        store K[i.0] = 1\n"
          "    }\n"
          "}\n");
}

static void test_never(void **state) {
    (void)state;
    check((const int64_t[]){5, 48}, tiles,
          "for i.0 from 0 below n step 8 {\n"
          "    seq {\n"
          "        store K[i.0] = 2\n"
          "    }\n"
          "}\n");
}

static void test_sometimes(void **state) {
    (void)state;
    check((const int64_t[]){65, 48}, tiles, tiles);
    check(NULL, tiles, tiles);
    check((const int64_t[]){0, 48}, tiles, tiles); /* no iteration says nothing */
}

/* Of several conditions only the open ones stay; bounds and LETs are followed, too many points are
 * left alone. */
static void test_parts(void **state) {
    (void)state;
    check((const int64_t[]){64, 48},
          "for i.0 from 0 below n step 32 {\n"
          "    let e.1 = min(n, i.0 + 32)\n"
          "    for j.2 from i.0 below e.1 step 16 {\n"
          "        if n - j.2 - 16 >= 0, m - j.2 >= 0 {\n"
          "            store K[j.2] = 1\n"
          "        }\n"
          "    }\n"
          "}\n",
          "for i.0 from 0 below n step 32 {\n"
          "    let e.1 = min(n, i.0 + 32)\n"
          "    for j.2 from i.0 below e.1 step 16 {\n"
          "        seq {\n"
          "            store K[j.2] = 1\n"
          "        }\n"
          "    }\n"
          "}\n");
    static const char many[] = "for i.0 from 0 below n {\n"
                               "    for j.1 from 0 below n {\n"
                               "        if n - i.0 - j.1 + 100000 >= 0 {\n"
                               "            store K[i.0] = 1\n"
                               "        }\n"
                               "    }\n"
                               "}\n";
    check((const int64_t[]){1000, 48}, many, many);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_always),
        cmocka_unit_test(test_never),
        cmocka_unit_test(test_sometimes),
        cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
