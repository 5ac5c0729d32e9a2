/* Random programs: after each pass the program is whole and computes what it computed before. */
#include "tests/unit/passes/passes_random.h"

enum { N_PROGRAMS = 3000 };

/* The tensors of a region behind one another. */
typedef struct memory {
    size_t n_bytes;
    char *all;
    void **data;
    size_t *bytes;
} memory;

static memory memory_create(const ctune_region *r) {
    size_t n = (size_t)r->n_tensors;
    memory m = {0, NULL, calloc(n, sizeof(void *)), calloc(n, sizeof(size_t))};
    for (size_t t = 0; t < n; t++) {
        size_t elems = r->tensors[t].rank == 0 ? 1 : (size_t)EXTENT * EXTENT;
        m.bytes[t] = elems * (size_t)r->tensors[t].elem_stride_bytes;
        m.n_bytes += m.bytes[t] + 64;
    }
    m.all = calloc(1, m.n_bytes);
    size_t at = 0;
    for (size_t t = 0; t < n; t++) {
        m.data[t] = m.all + at;
        at += (m.bytes[t] + 63) / 64 * 64;
    }
    return m;
}

/* Small values, some equal, some negative where there is a sign. */
static void memory_fill(const ctune_region *r, memory *m) {
    for (int t = 0; t < r->n_tensors; t++) {
        ctune_type type = r->tensors[t].type;
        size_t stride = (size_t)r->tensors[t].elem_stride_bytes;
        for (size_t e = 0; e * stride < m->bytes[t]; e++) {
            char *at = (char *)m->data[t] + e * stride;
            int64_t x = (int64_t)((e * 7 + (size_t)t * 3 + e / EXTENT) % 11) -
                        (ctune_type_get(type)->flags & CTUNE_TF_SIGNED ? 5 : 0);
            float f = (float)x * 0.5f;
            double d = (double)x * 0.25;
            if (type == CTUNE_BOOL) {
                *at = x & 1;
            } else if (type == CTUNE_F32) {
                memcpy(at, &f, sizeof f);
            } else if (type == CTUNE_F64) {
                memcpy(at, &d, sizeof d);
            } else {
                memcpy(at, &x, (size_t)ctune_type_get(type)->bytes);
            }
        }
    }
}

static void memory_destroy(memory *m) {
    free(m->all);
    free(m->data);
    free(m->bytes);
}

/* How often each operator came out as a vector: a generator that makes none would test nothing. */
static int n_vectors[CTUNE_N_VALUE_OPS];

static void note_value(val v) {
    if (v != NULL) {
        n_vectors[v->op] += v->lanes > 1 || v->op == CTUNE_V_EXTRACT;
        for (int i = 0; i < v->n_kids; i++) {
            note_value(v->kids[i]);
        }
    }
}

static void note_vectors(const ctune_lnode *node) {
    note_value(node->value);
    for (const ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
        note_vectors(kid);
    }
    if (node->other != NULL) {
        note_vectors(node->other);
    }
}

typedef struct watch {
    fixture *f;
    uint64_t seed;
    const memory *initial;
    memory *want, *got;
    int n_compared;
} watch;

static void check(void *data, const char *pass, const ctune_loops *l) {
    watch *w = data;
    ctune_ctx *ctx = &w->f->ctx;
    if (ctune_loops_verify(ctx, l) != CTUNE_OK) {
        fail_msg("seed %llu after %s: %s", (unsigned long long)w->seed, pass, ctx->error);
    }
    int64_t n = EXTENT;
    memcpy(w->got->all, w->initial->all, w->got->n_bytes);
    if (ctune_loops_eval(ctx, l, &n, w->got->data, w->got->bytes) != CTUNE_OK) {
        fail_msg("seed %llu after %s: %s", (unsigned long long)w->seed, pass, ctx->error);
    }
    for (int t = 0; t < w->f->region->n_tensors; t++) {
        if (memcmp(w->want->data[t], w->got->data[t], w->got->bytes[t]) != 0) {
            fail_msg("seed %llu after %s: other values in %s", (unsigned long long)w->seed, pass,
                     w->f->region->tensors[t].name);
        }
    }
    w->n_compared++;
}

static void test_equal_after_each_pass(void **state) {
    (void)state;
    char *te = random_region();
    fixture f;
    fixture_open(&f, te);
    memory initial = memory_create(f.region), want = memory_create(f.region),
           got = memory_create(f.region);
    memory_fill(f.region, &initial);
    fixture_close(&f);
    const char *one = getenv("CTUNE_TEST_SEED");
    uint64_t first = one != NULL ? strtoull(one, NULL, 10) : 1;
    for (uint64_t seed = first; seed < first + (one != NULL ? 1 : N_PROGRAMS); seed++) {
        fixture_open(&f, te);
        make_program(&f, seed);
        watch w = {&f, seed, &initial, &want, &got, 0};
        int64_t n = EXTENT;
        memcpy(want.all, initial.all, want.n_bytes);
        if (ctune_loops_verify(&f.ctx, f.l) != CTUNE_OK ||
            ctune_loops_eval_order(&f.ctx, f.l, &n, want.data, want.bytes, 0) != CTUNE_OK) {
            fail_msg("seed %llu: %s", (unsigned long long)seed, f.ctx.error);
        }
        if (one != NULL) {
            ctune_text text;
            ctune_text_init(&text);
            ctune_loops_print(f.l, &text);
            puts(ctune_text_get(&text));
            ctune_text_clear(&text);
        }
        static const int widths[] = {16, 32, 64};
        ctune_pass_options options = {.target =
                                          &(const ctune_target){.vector_bytes = widths[seed % 3]}};
        if (ctune_passes_run(f.l, &options, check, &w) != CTUNE_OK) {
            fail_msg("seed %llu: %s", (unsigned long long)seed, f.ctx.error);
        }
#define X(id) +1
        assert_int_equal(w.n_compared, 0 CTUNE_PASS_TABLE(X)); /* one a pass */
#undef X
        note_vectors(f.l->root);
        fixture_close(&f);
    }
    memory_destroy(&initial);
    memory_destroy(&want);
    memory_destroy(&got);
    free(te);
    static const ctune_value_op scalar_only[] = {CTUNE_V_CONST, CTUNE_V_INDEX, CTUNE_V_MOD,
                                                 CTUNE_V_SHL,   CTUNE_V_SHR,   CTUNE_V_LAND,
                                                 CTUNE_V_LOR,   CTUNE_V_LNOT,  CTUNE_V_CALL};
    for (size_t i = 0; i < sizeof scalar_only / sizeof scalar_only[0]; i++) {
        assert_int_equal(n_vectors[scalar_only[i]], 0);
        n_vectors[scalar_only[i]] = 100;
    }
    n_vectors[CTUNE_V_SLIDE] = 100; /* of loops that slide: test_passes_slide */
    n_vectors[CTUNE_V_DOT] = 100;   /* lowering makes these of whole sums: test_lower_lanes */
    for (int op = 0; op < CTUNE_N_VALUE_OPS && one == NULL; op++) {
        if (n_vectors[op] < 20) {
            fail_msg("%s was a vector only %d times", ctune_value_get((ctune_value_op)op)->token,
                     n_vectors[op]);
        }
    }
}

/* Each allocation of the passes fails once: a status, no crash. */
static void test_out_of_memory(void **state) {
    (void)state;
    char *te = random_region();
    int n_failed = 0, n_done = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        bool is_done = false;
        for (uint64_t n = 1; !is_done; n++) {
            fixture f;
            fixture_open(&f, te);
            make_program(&f, seed);
            f.ctx.alloc_fail_at = f.ctx.n_allocs + n;
            ctune_pass_options options = {.target = &(const ctune_target){.vector_bytes = 32}};
            ctune_status status = ctune_passes_run(f.l, &options, NULL, NULL);
            assert_true(status == CTUNE_OK || status == CTUNE_ENOMEM);
            is_done = status == CTUNE_OK;
            n_failed += !is_done;
            fixture_close(&f);
        }
        n_done++;
    }
    assert_int_equal(n_done, 40);
    assert_true(n_failed > 40);
    free(te);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_after_each_pass),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
