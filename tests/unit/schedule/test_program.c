/* Programs: structures are made once and found again; whole schedules are applied or refused with
 * words. */
#include "search/schedule/program.h"

#include "tests/unit/te/te_samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct fixture {
    ctune_ctx ctx;
    ctune_region *region;
    ctune_program *program;
    ctune_nest nest;
} fixture;

static void fixture_init(fixture *f, const char *te) {
    memset(f, 0, sizeof *f);
    if (ctune_te_parse(&f->ctx, te, &f->region) != CTUNE_OK ||
        ctune_program_create(&f->ctx, f->region, &f->program) != CTUNE_OK) {
        fail_msg("%s", f->ctx.error);
    }
}

static void fixture_clear(fixture *f) {
    ctune_program_destroy(f->program);
    ctune_region_destroy(f->region);
}

static ctune_status apply(fixture *f, const char *text) {
    ctune_schedule s;
    ctune_schedule_init(&s);
    ctune_status status = ctune_schedule_parse(&f->ctx, text, &s);
    if (status == CTUNE_OK) {
        status = ctune_schedule_apply(&f->ctx, f->program, &s, &f->nest);
    }
    ctune_schedule_clear(&s);
    return status;
}

static void assert_applied(fixture *f, const char *text) {
    if (apply(f, text) != CTUNE_OK) {
        fail_msg("%s: %s", text, f->ctx.error);
    }
    assert_int_equal(ctune_nest_verify(&f->ctx, &f->nest), CTUNE_OK);
}

static void assert_no(fixture *f, const char *text, ctune_status status, const char *words) {
    ctune_status got = apply(f, text);
    if (got != status || strstr(f->ctx.error, words) == NULL) {
        fail_msg("%s: %s, '%s'", text, ctune_status_name(got), f->ctx.error);
    }
}

static void test_forms_are_cached(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, te_sample_2mm());
    assert_int_equal(f.program->n_forms, 1);
    assert_applied(&f, "");
    assert_ptr_equal(f.nest.form, f.program->form[0]);
    assert_applied(&f, "distribute");
    assert_applied(&f, "distribute; split k 8 -> k0 k1");
    assert_int_equal(f.program->n_forms, 2);
    assert_ptr_equal(f.nest.form, f.program->form[1]);
    fixture_clear(&f);
}

static void test_legality_is_asked(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, te_sample_gemm());
    assert_applied(&f, "reorder k j i; parallel j");
    assert_no(&f, "parallel k", CTUNE_EREFUSED, "parallel loop k");
    assert_no(&f, "split i 4 -> a b; distribute", CTUNE_EUSAGE, "structural");
    assert_no(&f, "fuse S0 S7 1", CTUNE_EUSAGE, "no stage named 'S7'");
    fixture_clear(&f);
    fixture_init(&f, te_sample_jacobi2d());
    assert_no(&f, "parallel t", CTUNE_EREFUSED, "parallel loop t");
    assert_applied(&f, "parallel i; parallel i_2");
    fixture_clear(&f);
}

static void test_specialize(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, te_sample_gemm());
    assert_applied(&f, "specialize n=96");
    assert_int_equal(f.nest.form->n_fixed, 1);
    assert_int_equal(f.nest.form->fixed_value[0], 96);
    assert_true(ctune_nest_extent(&f.nest, ctune_nest_find(&f.nest, "k")) == 96);
    assert_no(&f, "specialize m=96", CTUNE_EUSAGE, "no parameter");
    assert_no(&f, "specialize n=96; specialize n=8", CTUNE_EUSAGE, "already");
    fixture_clear(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms_are_cached),
        cmocka_unit_test(test_legality_is_asked),
        cmocka_unit_test(test_specialize),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
