/* Floats as decimal text: exact round trips, the printed form, malformed numbers, other locales. */
#include "costmodel/decimal.h"

#include "runtime/rng.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void round_trip(float value) {
    char text[CTUNE_DECIMAL_SIZE];
    size_t n = ctune_decimal_print(value, text);
    assert_int_equal(n, strlen(text));
    float back = 12345;
    const char *end = ctune_decimal_parse(text, &back);
    assert_ptr_equal(end, text + n);
    assert_memory_equal(&back, &value, sizeof value);
    /* the C library reads the same */
    float library = strtof(text, NULL);
    assert_memory_equal(&library, &value, sizeof value);
}

static void test_round_trip(void **state) {
    (void)state;
    const float edge[] = {
        0,        -0.0f,       1,          -1,        0.1f,        1.0f / 3,         FLT_MAX,
        FLT_MIN,  FLT_EPSILON, 0x1p-149f,  0x3p-149f, 0x1p-126f,   0x1.fffffcp-127f, -FLT_MAX,
        16777216, 16777215,    9.99999e8f, 1e9f,      123456.789f, 9.999999e-5f,     1e-5f,
        1e10f};
    for (size_t i = 0; i < sizeof edge / sizeof *edge; i++) {
        round_trip(edge[i]);
    }
    for (int e = -149; e < 128; e++) { /* powers of two and their neighbours */
        float power = ldexpf(1, e);
        round_trip(power);
        round_trip(nextafterf(power, 0));
        round_trip(nextafterf(power, -INFINITY));
        round_trip(nextafterf(power, FLT_MAX));
    }
    ctune_rng rng;
    ctune_rng_init(&rng, 7);
    for (int i = 0; i < 300000; i++) {
        uint32_t bits = (uint32_t)ctune_rng_next(&rng);
        float value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value)) {
            round_trip(value);
        }
    }
}

static void prints(float value, const char *expected) {
    char text[CTUNE_DECIMAL_SIZE];
    ctune_decimal_print(value, text);
    assert_string_equal(text, expected);
}

static void test_form(void **state) {
    (void)state;
    prints(0, "0");
    prints(-0.0f, "-0");
    prints(0.5f, "0.5");
    prints(-2.25f, "-2.25");
    prints(0.1f, "0.1");
    prints(1000, "1000");
    prints(1234567, "1234567");
    prints(0.00001f, "0.00001");
    prints(1.5e-7f, "1.5e-07");
    prints(-3e20f, "-3e+20");
    prints(1.0f / 3, "0.33333334");
}

static void parses(const char *text, float expected, size_t len) {
    float value = 0;
    const char *end = ctune_decimal_parse(text, &value);
    assert_ptr_equal(end, text + len);
    assert_true(value == expected);
}

static void test_parse(void **state) {
    (void)state;
    parses("0.5 l", 0.5f, 3);
    parses("1e3", 1000, 3);
    parses("1.e-3x", 0.001f, 5);
    parses("12,5", 12, 2);
    parses("1.2.3", 1.2f, 3);
    parses("00000000000000000000000000001", 1, 29);
    parses("100000000000000000000000000000000000000", 1e38f, 39);
    parses("0.00000000000000000000000000000000000001", 1e-38f, 40);
    parses("3.14159265358979323846264338327950288", 3.14159265358979f, 37);
    parses("1e-999999999999999", 0, 18);
    const char *const wrong[] = {"",    "-",   ".5", "e5", "1e", "1e+", "1e39", "1e999999999999",
                                 "nan", "inf", "+1", " 1", "-.1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        float value = 0;
        assert_null(ctune_decimal_parse(wrong[i], &value));
        assert_true(value == 0);
    }
}

static void test_locale_does_not_matter(void **state) {
    (void)state;
    const char *const comma[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "ru_RU.UTF-8"};
    for (size_t i = 0; i < sizeof comma / sizeof *comma; i++) {
        if (setlocale(LC_NUMERIC, comma[i]) != NULL) {
            prints(0.5f, "0.5");
            parses("0.5", 0.5f, 3);
            setlocale(LC_NUMERIC, "C");
            return;
        }
    }
    skip(); /* none installed */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_form),
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_locale_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
