/* Loops bound to a GPU: what may be bound, where launches are, shared copies and their sizes. */
#include "tests/unit/schedule/nest_fixture.h"

#include "search/schedule/nest_ops.h"
#include "tests/unit/te/te_samples.h"

enum { P = CTUNE_SIGN_POS, Z = CTUNE_SIGN_ZERO, N = CTUNE_SIGN_NEG };

#define TILE                                                                                       \
    "split i 64 -> ib i1; split i1 16 -> ip it; split j 64 -> jb j1; split j1 16 -> jp jt; "       \
    "split k 8 -> ko ki; reorder ib jb ko ki ip jp it jt; "
#define BIND "bind ib block.y; bind jb block.x; bind it thread.y; bind jt thread.x; "

static void test_bind(void **state) {
    static const ctune_depvec vecs[] = {{0, 0, 3, {Z, Z, P}}};
    fixture f;
    (void)state;
    fixture_init(&f, te_sample_gemm(), vecs, 1);
    assert_legal(&f, "bind i block.x");
    assert_legal(&f, "split j 32 -> j0 j1; bind i block.y; bind j0 block.x; bind j1 thread.x");
    assert_legal(&f, TILE BIND); /* threads inside serial loops */
    assert_illegal(&f, "bind k block.x", "carried by the block.x loop k");
    assert_illegal(&f, "split k 8 -> k0 k1; bind k1 thread.x", "thread.x loop k1");
    assert_no(&f, "bind i thread.x", CTUNE_EREFUSED, "split first");
    assert_no(&f, "bind i block.x; bind j block.x", CTUNE_EREFUSED, "same axis");
    assert_no(&f, "split i 8 -> i0 i1; bind i1 thread.x; bind j block.x", CTUNE_EREFUSED,
              "outside threads");
    assert_no(&f, "bind i block.x; bind i block.y", CTUNE_EREFUSED, "annotated already");
    assert_no(&f, "bind q block.x", CTUNE_EUSAGE, "no loop named");
    assert_illegal(&f, "bind i block.x; split j 8 -> j0 j1; vectorize j1", "no vector loop");
    assert_illegal(&f, "bind j block.x; parallel i", "no parallel loop");
    assert_illegal(&f, "bind i block.x; cache_read S0.1 at k pack", "for the CPU");
    assert_illegal(&f,
                   "split i 64 -> i0 i1; split j 64 -> j0 j1; bind i1 thread.y; bind j1 thread.x",
                   "4096 threads");
    fixture_clear(&f);
    fixture_init(&f, te_sample_gemm(), NULL, 0); /* a sum in any order: still one element */
    f.region->reassoc = true;
    assert_illegal(&f, "bind k block.x", "same element");
    fixture_clear(&f);
}

/* A loop of the host may carry what bound loops inside must not. */
static void test_host(void **state) {
    static const ctune_depvec vecs[] = {{0, 0, 3, {P, N, Z}}, {0, 0, 3, {P, P, Z}}};
    fixture f;
    (void)state;
    fixture_init(&f, te_sample_gemm(), vecs, 2);
    assert_legal(&f, "bind j block.x");
    assert_int_equal(ctune_nest_launch(&f.nest, ctune_nest_find(&f.nest, "j")),
                     ctune_nest_find(&f.nest, "j"));
    assert_true(ctune_nest_is_host(&f.nest, ctune_nest_find(&f.nest, "i")));
    assert_illegal(&f, "bind k block.x; bind i block.y", "carried by the block.y loop i");
    /* i inside of the launch carries nothing: nobody waits there */
    assert_illegal(&f, "split i 4 -> i0 i1; reorder i0 j i1; bind j block.x", "j");
    fixture_clear(&f);
}

static void test_shared(void **state) {
    static const ctune_depvec vecs[] = {{0, 0, 3, {Z, Z, P}}};
    fixture f;
    (void)state;
    fixture_init(&f, te_sample_gemm(), vecs, 1);
    assert_legal(&f, TILE BIND "cache_read S0.0 at ko shared; cache_read S0.1 at ko shared");
    assert_int_equal(ctune_nest_shared_extent(&f.nest, 0, 0), 64);
    assert_int_equal(ctune_nest_shared_extent(&f.nest, 0, 1), 8);
    assert_int_equal(ctune_nest_shared_extent(&f.nest, 1, 0), 8);
    assert_legal(&f, TILE BIND "unroll ip; unroll jp; cache_write S0 at jb register");
    assert_illegal(&f, TILE BIND "cache_read S0.0 at it shared", "outside the threads");
    assert_illegal(&f, TILE BIND "cache_read S0.0 at jb shared", "no constant");
    assert_illegal(&f, "cache_read S0.0 at k shared", "without loops over blocks");
    assert_no(&f, "bind i block.x; cache_read S0.9 at j shared", CTUNE_EREFUSED, "no such read");
    fixture_clear(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bind),
        cmocka_unit_test(test_host),
        cmocka_unit_test(test_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
