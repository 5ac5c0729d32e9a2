/* Schedules as text: every primitive round-trips; malformed text is refused with its place. */
#include "search/schedule/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char all_primitives[] = "distribute\n"
                                     "fuse S0 S1 2\n"
                                     "polyhedral smart\n"
                                     "specialize n=1024\n"
                                     "split_domain i at 2*i - n < -1\n"
                                     "split_domain i at -i >= 3\n"
                                     "split i 64 -> i0 i1\n"
                                     "tile 2*t + i - j + S1 by 32 -> x at t\n"
                                     "wave t0 + 3*x -> w\n"
                                     "compute S0 at i0\n"
                                     "fission j1\n"
                                     "reorder j0 i0 i1 j1\n"
                                     "collapse i0 j0\n"
                                     "unroll i1\n"
                                     "vectorize j1\n"
                                     "parallel i0\n"
                                     "cache_read S0.1 at k0 pack\n"
                                     "cache_read S0.0 at root pack\n"
                                     "cache_read S0.0 at k0 shared\n"
                                     "bind i block.x\n"
                                     "bind j thread.z\n"
                                     "cache_write S0 at k0 register\n";

static void assert_round_trip(const char *text, const char *wanted) {
    ctune_ctx ctx = {0};
    ctune_schedule a, b;
    ctune_text first, second;
    ctune_schedule_init(&a);
    ctune_schedule_init(&b);
    ctune_text_init(&first);
    ctune_text_init(&second);
    if (ctune_schedule_parse(&ctx, text, &a) != CTUNE_OK) {
        fail_msg("%s: %s", text, ctx.error);
    }
    ctune_schedule_print(&a, &first);
    assert_string_equal(ctune_text_get(&first), wanted);
    assert_int_equal(ctune_schedule_parse(&ctx, ctune_text_get(&first), &b), CTUNE_OK);
    ctune_schedule_print(&b, &second);
    assert_string_equal(ctune_text_get(&first), ctune_text_get(&second));
    assert_true(ctune_schedule_is_equal(&a, &b));
    ctune_text_clear(&first);
    ctune_text_clear(&second);
    ctune_schedule_clear(&a);
    ctune_schedule_clear(&b);
}

static void test_round_trip(void **state) {
    (void)state;
    assert_round_trip(all_primitives, all_primitives);
    assert_round_trip("", "");
    assert_round_trip("  \n # only a comment\n;;\n", "");
    assert_round_trip("split i 8->a b;unroll b # tail\r\nspecialize n = 3",
                      "split i 8 -> a b\nunroll b\nspecialize n=3\n");
    assert_round_trip("tile 2 t+1*i by 4->x at t;split_domain i at - i+ n <= -2;"
                      "split_domain i at i > 4",
                      "tile 2*t + i by 4 -> x at t\nsplit_domain i at -i + n < -1\n"
                      "split_domain i at i >= 5\n");
}

static void assert_refused(const char *text, const char *place) {
    ctune_ctx ctx = {0};
    ctune_schedule s;
    ctune_schedule_init(&s);
    assert_int_equal(ctune_schedule_parse(&ctx, text, &s), CTUNE_EUSAGE);
    if (strncmp(ctx.error, place, strlen(place)) != 0) {
        fail_msg("%s: '%s' does not start with '%s'", text, ctx.error, place);
    }
    ctune_schedule_clear(&s);
}

static void test_malformed(void **state) {
    (void)state;
    assert_refused("tiles i 3", "schedule:1:1: unknown primitive");
    assert_refused("tile i 3", "schedule:1:8: 'by' is expected");
    assert_refused("tile 0*i by 3 -> x at i", "schedule:1:6: a factor");
    assert_refused("tile i + by 3 -> x at i", "schedule:1:13: 'by' is expected");
    assert_refused("wave -> w", "schedule:1:7: a name is expected");
    assert_refused("split_domain i at i = 3", "schedule:1:21: <, <=, > or >= is expected");
    assert_refused("split_domain i at i < 99999999999", "schedule:1:23: number too large");
    assert_refused("distribute\n  split i", "schedule:2:10: a number is expected");
    assert_refused("split i 4 i0 i1", "schedule:1:11: '->' is expected");
    assert_refused("split i 99999999999999999999 -> a b", "schedule:1:9: number too large");
    assert_refused("split i -4 -> a b", "schedule:1:9: a number is expected");
    assert_refused("unroll i j", "schedule:1:10: unexpected text");
    assert_refused("unroll abcdefghijklmnopqrstuvwxyz", "schedule:1:8: name longer");
    assert_refused("polyhedral best", "schedule:1:12: max, min or smart");
    assert_refused("cache_read S0.1 atk pack", "schedule:1:17: 'at' is expected");
    assert_refused("cache_read S0 at k pack", "schedule:1:15: '.'");
    assert_refused("cache_write S0 at k", "schedule:1:20: 'register' is expected");
    assert_refused("reorder", "schedule:1:8: a loop name is expected");
    assert_refused("unroll i; 7", "schedule:1:11: a primitive is expected");
}

static void test_limits(void **state) {
    (void)state;
    ctune_ctx ctx = {0};
    ctune_text text;
    ctune_schedule s;
    ctune_text_init(&text);
    ctune_schedule_init(&s);
    for (int k = 0; k <= CTUNE_SCHEDULE_PRIMS; k++) {
        ctune_text_append(&text, "unroll i;");
    }
    assert_int_equal(ctune_schedule_parse(&ctx, ctune_text_get(&text), &s), CTUNE_EUSAGE);
    ctune_text_clear(&text);
    ctune_schedule_clear(&s);
    ctune_text_append(&text, "reorder");
    for (int k = 0; k <= CTUNE_PRIM_NAMES; k++) {
        ctune_text_append(&text, " i");
    }
    assert_int_equal(ctune_schedule_parse(&ctx, ctune_text_get(&text), &s), CTUNE_EUSAGE);
    ctune_text_clear(&text);
    ctune_text_clear(&text);
    ctune_text_append(&text, "tile i");
    for (int k = 1; k < CTUNE_PRIM_NAMES; k++) {
        ctune_text_append(&text, " + i");
    }
    ctune_text_append(&text, " by 4 -> x at i");
    assert_int_equal(ctune_schedule_parse(&ctx, ctune_text_get(&text), &s), CTUNE_EUSAGE);
    ctune_text_clear(&text);
    ctune_schedule_append_text(&s, "nonsense");
    assert_true(s.failed);
    ctune_schedule_clear(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
