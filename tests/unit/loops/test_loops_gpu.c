/* Launches: blocks and threads in any order, barriers, and each kind of fault that the interpreter
 * and the verifier must find. */
#include "loops_samples.h"

enum { N = 21, M = 13, MAX_TENSORS = 16 };

typedef struct bench {
    ctune_region *region;
    int64_t params[2];
    void *tensors[MAX_TENSORS];
    size_t bytes[MAX_TENSORS];
    double D[N];
    int K[N];
} bench;

static void bench_init(bench *b) {
    memset(b, 0, sizeof *b);
    b->region = loops_region();
    b->params[0] = N;
    b->params[1] = M;
    for (int i = 0; i < N; i++) {
        b->D[i] = i / 3.0;
        b->K[i] = i * 5 - 30;
    }
    for (int t = 0; t < b->region->n_tensors; t++) {
        const char *name = b->region->tensors[t].name;
        bool is_d = strcmp(name, "D") == 0, is_k = strcmp(name, "K") == 0;
        b->tensors[t] = is_d ? (void *)b->D : is_k ? (void *)b->K : NULL;
        b->bytes[t] = is_d ? sizeof b->D : is_k ? sizeof b->K : 0;
    }
}

/* words NULL: all is well; else what verifying or running says, in each order of the threads. */
static void run(bench *b, const char *text, const char *words) {
    for (uint64_t seed = 1; seed < 5; seed++) {
        ctune_ctx ctx;
        ctune_ctx_init(&ctx);
        ctune_region *region = b->region;
        bench_init(b);
        ctune_region_destroy(b->region);
        b->region = region;
        ctune_loops *l = loops_parsed(b->region, text);
        ctune_status status = ctune_loops_verify(&ctx, l);
        if (status == CTUNE_OK) {
            status = ctune_loops_eval_order(&ctx, l, b->params, b->tensors, b->bytes, seed);
        }
        if ((status != CTUNE_OK) != (words != NULL) ||
            (words != NULL && strstr(ctx.error, words) == NULL)) {
            print_error("%s instead of %s\n%s", status != CTUNE_OK ? ctx.error : "success",
                        words != NULL ? words : "success", text);
            fail();
        }
        ctune_loops_destroy(l);
    }
}

#define BLOCKS "launch {\nfor bx.0 from 0 below 2 block.x {\n"
#define SHARED "decl s.b0[16] f64 shared\n"
#define THREADS "for tx.1 from 0 below 16 thread.x {\n"
#define END "}\n}\n}\n"
#define FILL "if n - 16*bx.0 - tx.1 - 1 >= 0 {\n    store s.b0[tx.1] = D[16*bx.0 + tx.1]\n}\n"
#define TURN "if n - 16*bx.0 - 16 >= 0 {\n    store D[16*bx.0 + tx.1] = s.b0[-tx.1 + 15]\n}\n"

/* The first 16 elements turned around, by way of shared memory. */
static void test_turn(void **state) {
    (void)state;
    bench b;
    bench_init(&b);
    run(&b, BLOCKS SHARED THREADS FILL "barrier\n" TURN END, NULL);
    for (int i = 0; i < N; i++) {
        assert_true(b.D[i] == (i < 16 ? 15 - i : i) / 3.0);
    }
    ctune_region_destroy(b.region);
}

/* Variables and arrays of a thread live across barriers; a loop around one, in two dimensions of
 * threads: rotates 16 elements by 3. */
static void test_loop(void **state) {
    (void)state;
    bench b;
    bench_init(&b);
    run(&b,
        "launch {\nfor bx.0 from 0 below 1 block.x {\n" SHARED
        "for ty.9 from 0 below 4 thread.y {\nfor tx.8 from 0 below 4 thread.x {\n"
        "let me.1 = 4*ty.9 + tx.8\n"
        "decl own.b1[2] f64 block\n"
        "store own.b1[0] = D[me.1]\n"
        "def count.2 f64 mutable = 0.0\n"
        "for t.3 from 0 below 3 {\n"
        "    barrier\n"
        "    store s.b0[me.1] = own.b1[0]\n"
        "    barrier\n"
        "    store own.b1[0] = s.b0[me.1 + 1 - 16*floor((me.1 + 1) / 16)]\n"
        "    set count.2 = count.2 + 1.0\n"
        "}\n"
        "store D[me.1] = own.b1[0] + count.2\n"
        "}\n" END,
        NULL);
    for (int i = 0; i < 16; i++) {
        assert_true(b.D[i] == (i + 3) % 16 / 3.0 + 3);
    }
    ctune_region_destroy(b.region);
}

static void test_faults(void **state) {
    (void)state;
    static const struct {
        const char *text, *words;
    } rows[] = {
        /* no barrier between a write and a read, and between a read and a write */
        {BLOCKS SHARED THREADS FILL TURN END, "s"},
        {BLOCKS SHARED THREADS FILL "barrier\n" TURN "store s.b0[tx.1] = 0.0\n" END, "meet in s"},
        /* all threads write one element; two blocks do */
        {BLOCKS SHARED THREADS "store s.b0[0] = 1.0\n" END, "meet in s"},
        {BLOCKS THREADS "store D[0] = 1.0\n" END, "meet in D"},
        {BLOCKS THREADS "if -tx.1 >= 0 {\nstore D[0] = 1.0\n}\n" END, "meet in D"},
        /* a block reads what the other writes; barriers are of one block */
        {BLOCKS THREADS "if -tx.1 >= 0 {\nstore D[bx.0] = D[-bx.0 + 1]\n}\nbarrier\n" END,
         "meet in D"},
        /* a barrier that some threads do not come by, or not as often */
        {BLOCKS THREADS "if tx.1 - 3 >= 0 {\nbarrier\n}\n" END, "a barrier that not all"},
        {BLOCKS THREADS "for q.2 from 0 below tx.1 {\nbarrier\n}\n" END, "a barrier that not all"},
        {BLOCKS THREADS "let y.2 = tx.1 + 1\nif y.2 - 3 >= 0 {\nbarrier\n}\n" END,
         "a barrier that not all"},
        {BLOCKS THREADS "if ; D[0] > 1.0 {\nbarrier\n}\n" END, "a barrier that not all"},
        /* outside of what is there */
        {BLOCKS SHARED THREADS "store s.b0[tx.1 + 1] = 1.0\n" END, "out of bounds"},
        {BLOCKS THREADS "store D[16*bx.0 + tx.1] = 1.0\n" END, "out of bounds"},
        /* what nobody has written */
        {BLOCKS SHARED THREADS "store D[tx.1] = s.b0[tx.1]\n" END, "read before it is written"},
        /* shared memory is gone when the next block begins */
        {BLOCKS SHARED THREADS "if -bx.0 >= 0 {\nstore s.b0[tx.1] = 1.0\n}\n"
                               "if bx.0 - 1 >= 0, -tx.1 >= 0 {\nstore D[0] = s.b0[0]\n}\n" END,
         "read before it is written"},
        /* structure */
        {BLOCKS "for bz.5 from 0 below 2 block.x {\n" THREADS "barrier\n}\n" END, "bound twice"},
        {"for tx.1 from 0 below 16 thread.x {\n}\n", "bound outside"},
        {"launch {\nfor tx.1 from 0 below 16 thread.x {\n}\n}\n", "no loop over blocks"},
        {"launch {\nfor bx.0 from 0 below 2 block.x {\n}\n}\n", "blocks without threads"},
        {BLOCKS "for tx.1 from 0 below n thread.x {\n" END, "no constant number"},
        {BLOCKS "for tx.1 from 0 below 16 step 2 thread.x {\n" END, "does not count"},
        {BLOCKS THREADS SHARED END, "declared elsewhere"},
        {BLOCKS THREADS "launch {\n}\n" END, "inside another"},
        {"barrier\n", "outside the code"},
        {"def v.5 f64 mutable = 0.0\n" BLOCKS THREADS "set v.5 = 1.0\n" END, "set by a GPU"},
        {"store D[0] = 1.0\n" BLOCKS THREADS END, "of the host beside"},
        {"def v.5 f64 = D[0]\n" BLOCKS THREADS END, "may write"},
    };
    bench b;
    bench_init(&b);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        run(&b, rows[i].text, rows[i].words);
    }
    ctune_region_destroy(b.region);
}

/* print -> parse -> print is a fixed point. */
static void test_text(void **state) {
    (void)state;
    ctune_region *region = loops_region();
    ctune_loops *l = loops_parsed(region, BLOCKS SHARED THREADS FILL "barrier\n" TURN END);
    ctune_text first, second;
    ctune_text_init(&first);
    ctune_text_init(&second);
    ctune_loops_print(l, &first);
    ctune_loops *again = loops_parsed(region, strchr(ctune_text_get(&first), '\n') + 1);
    ctune_loops_print(again, &second);
    assert_string_equal(ctune_text_get(&first), ctune_text_get(&second));
    assert_non_null(strstr(ctune_text_get(&first), "decl s.b0[16] f64 shared"));
    ctune_text_clear(&first);
    ctune_text_clear(&second);
    ctune_loops_destroy(l);
    ctune_loops_destroy(again);
    ctune_region_destroy(region);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turn),
        cmocka_unit_test(test_loop),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
