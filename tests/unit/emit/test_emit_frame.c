/* The frame around a program: memory, threads, guard, original, names; both forms of the text. */
#include "emit_fixture.h"
#include "tests/unit/loops/loops_samples.h"

static const compile compiles[] = {
    {"gcc", "-O2 -march=x86-64-v4 -fopenmp", true, CTUNE_CONTRACT_FAST, true, false, 4},
    {"gcc", "-O3 -march=x86-64-v3", true, CTUNE_CONTRACT_FAST, false, false, 3},
    {"gcc", "-O1 -ansi -pedantic-errors -Wno-long-long", false, CTUNE_CONTRACT_OFF, false, true, 0},
    {"gcc", "-O1 -std=gnu89 -fopenmp", false, CTUNE_CONTRACT_FAST, true, true, 0},
    {"clang-19", "-O2 -march=x86-64-v4", true, CTUNE_CONTRACT_ON, false, false, 4},
    {"clang-19", "-O1 -ansi -pedantic-errors", false, CTUNE_CONTRACT_ON, false, true, 0},
    {"clang-19", "-O2 -march=x86-64-v3 -std=c17", true, CTUNE_CONTRACT_ON, false, false, 3},
};
enum { N_COMPILES = sizeof compiles / sizeof *compiles };

static const int64_t sizes[][2] = {{21, 13}, {16, 9}, {33, 40}};

/* Halves need a language mode that has them. */
static bool is_for(const compile *c, const char *text) {
    return !(c->is_c90 && strstr(text, "store H") != NULL) &&
           /* reads element 8 and more of rows of any length */
           strstr(text, "f32(0x1p+0) {\n    store K[0]") == NULL &&
           /* overflows before our eyes */
           strstr(text, "i32(-2147483648) - ") == NULL;
}

static void fill(unit *u, ctune_ctx *ctx, const compile *c) {
    for (const char *const *text = loops_programs(); *text != NULL; text++) {
        if (is_for(c, *text)) {
            unit_add(u, ctx, *text);
        }
    }
}

/* Line ends become blanks behind the prelude, as when text replaces a statement. */
static void join_lines(char *text) {
    for (char *p = strstr(text, "\n{"); p != NULL && *p != '\0'; p++) {
        *p = *p == '\n' ? ' ' : *p;
    }
}

static void test_candidates(void **state) {
    (void)state;
    ctune_region *region = loops_region();
    for (int i = 0; i < N_COMPILES; i++) {
        const compile *c = &compiles[i];
        if (!has_command(c->compiler)) {
            continue;
        }
        ctune_ctx ctx;
        ctune_ctx_init(&ctx);
        unit u = {.region = region};
        fill(&u, &ctx, c);
        ctune_target target = target_of(c, 64);
        ctune_emit_options options = {.target = &target, .comments = true};
        ctune_text text;
        ctune_text_init(&text);
        unit_print(&u, &ctx, &options, &text);
        char object[128];
        compile_text(c, ctune_text_get(&text), WARNINGS "-shared -fPIC -lm", object, sizeof object);
        for (size_t s = 0; can_run(c) && s < sizeof sizes / sizeof *sizes; s++) {
            unit_run(&u, object, sizes[s]);
        }
        remove_output(object);
        ctune_text_clear(&text);
        unit_clear(&u);
    }
    ctune_region_destroy(region);
}

/* A function as a user's: the region's own names, and locals that a printer might choose. */
static const char user_head[] =
    "typedef struct { double x, y, z; } three;\n"
    "static int %s(const ctune_args *args) {\n"
    "    int n = (int)args->params[0], m = (int)args->params[1];\n"
    "    float alpha = *(float *)args->tensors[0];\n"
    "    float (*A)[m] = (float (*)[m])args->tensors[1], (*B)[n] = (float "
    "(*)[n])args->tensors[2];\n"
    "    float (*C)[n] = (float (*)[n])args->tensors[3];\n"
    "    double *D = (double *)args->tensors[4]; three *E = (three *)args->tensors[5];\n"
    "    int *K = (int *)args->tensors[6]; float *L = (float *)args->tensors[7], u = 0;\n"
    "    _Float16 *H = (_Float16 *)args->tensors[10];\n"
    "    unsigned char *Z = (unsigned char *)args->tensors[11];\n"
    "    int is_original = 0;\n"
    "    (void)n, (void)m, (void)A, (void)B, (void)C, (void)D, (void)E, (void)K, (void)L, "
    "(void)H;\n"
    "    (void)Z, (void)u, (void)alpha;\n";
static const char user_tail[] = "    *(float *)args->tensors[0] = alpha;\n"
                                "    return is_original;\n}\n";

static void print_source(unit *u, ctune_ctx *ctx, const ctune_emit_options *options,
                         ctune_text *out) {
    char name[32];
    ctune_text_append(out, "#include <math.h>\n");
    ctune_emit_prelude(options, out);
    for (int i = 0; i < u->n; i++) {
        snprintf(name, sizeof name, "user_%d", i);
        ctune_text_printf(out, i == 0 ? user_head : strchr(user_head, '\n') + 1, name);
        ctune_text body;
        ctune_text_init(&body);
        ctune_text_append(&body, "\n");
        if (ctune_emit_program(ctx, u->program[i], NULL, options, NULL, "is_original = 1;",
                               &body) != CTUNE_OK) {
            fail_msg("%s\n%s", ctx->error, u->text[i]);
        }
        join_lines(body.data);
        ctune_text_append(out, ctune_text_get(&body));
        ctune_text_clear(&body);
        ctune_text_append(out, user_tail);
    }
    ctune_text_append(out, "extern int (*const table[])(const ctune_args *);\n"
                           "int (*const table[])(const ctune_args *) = {");
    for (int i = 0; i < u->n; i++) {
        ctune_text_printf(out, "%suser_%d", i > 0 ? ", " : "", i);
    }
    ctune_text_append(out, "};\n");
}

static void test_source(void **state) {
    (void)state;
    ctune_region *region = loops_region();
    for (int i = 0; i < N_COMPILES; i++) {
        const compile *c = &compiles[i];
        if (!has_command(c->compiler) || c->is_c90) {
            continue; /* the user's part above is C99 */
        }
        ctune_ctx ctx;
        ctune_ctx_init(&ctx);
        unit u = {.region = region};
        fill(&u, &ctx, c);
        ctune_target target = target_of(c, 64);
        ctune_emit_options options = {.target = &target, .comments = true};
        ctune_text text;
        ctune_text_init(&text);
        print_source(&u, &ctx, &options, &text);
        char object[128];
        compile_text(c, ctune_text_get(&text), WARNINGS "-shared -fPIC -lm", object, sizeof object);
        for (size_t s = 0; can_run(c) && s < sizeof sizes / sizeof *sizes; s++) {
            unit_run(&u, object, sizes[s]);
        }
        remove_output(object);
        ctune_text_clear(&text);
        unit_clear(&u);
    }
    ctune_region_destroy(region);
}

static const char pointers[] =
    "te 1\nregion guard\nparam n i32 sizes 64\naxis i i32\n"
    "tensor A f32 [n] pointer\ntensor B f32 [n] pointer\n"
    "stage S0: B[i] = A[i]\norder {\n    for i: 0 <= i < n {\n        S0\n    }\n}\n";

static const char *printed(ctune_region *region, const char *program,
                           const ctune_emit_options *options, const char *name, ctune_text *out) {
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    ctune_text_init(out);
    ctune_loops *l = program_of(&ctx, region, program);
    assert_int_equal(ctune_emit_program(&ctx, l, NULL, options, name, "original();", out),
                     CTUNE_OK);
    ctune_loops_destroy(l);
    return ctune_text_get(out);
}

static void test_guard(void **state) {
    (void)state;
    ctune_region *region = region_of(pointers);
    ctune_emit_options options = {.target = &(const ctune_target){.vector_bytes = 64}};
    ctune_text text;
    const char *t = printed(region, "for i.0 from 0 below n {\n    store B[i.0] = A[i.0]\n}\n",
                            &options, NULL, &text);
    assert_non_null(strstr(t, "if (ctune_disjoint(A, 0, ctune_v_n * 4L, B, 0, ctune_v_n * 4L)) {"));
    assert_non_null(strstr(t, "const long ctune_v_n = (long)(n);"));
    assert_non_null(strstr(t, "/* ctune:original begin */\noriginal();\n/* ctune:original end */"));
    ctune_text_clear(&text);
    /* memory is asked for after the guard; a candidate has no overlap guard */
    const char *with_memory = "decl b.b0[n] f32 program\nfor i.0 from 0 below n {\n"
                              "    store b.b0[i.0] = A[i.0]\n    store B[i.0] = b.b0[i.0]\n}\n";
    t = printed(region, with_memory, &options, NULL, &text);
    assert_non_null(strstr(t, "char *const ctune_mem = (ctune_disjoint("));
    assert_non_null(strstr(t, "ctune_free(ctune_mem);"));
    ctune_text_clear(&text);
    t = printed(region, with_memory, &options, "f", &text);
    assert_null(strstr(t, "ctune_disjoint"));
    assert_non_null(strstr(t, "return 1;"));
    ctune_text_clear(&text);
    ctune_region_destroy(region);
}

/* Words of the original and of the region are nobody else's. */
static void test_names(void **state) {
    (void)state;
    ctune_region *region =
        region_of("te 1\nregion names\nparam n i32 sizes 64 text \"ctune_v_n\"\naxis i i32\n"
                  "tensor ctune_mem f32 [n]\nstage S0: ctune_mem[i] = ctune_mem[i]\n"
                  "order {\n    for i: 0 <= i < n {\n        S0\n    }\n}\n");
    ctune_emit_options options = {.target = &(const ctune_target){.vector_bytes = 64}};
    ctune_text text;
    const char *t = printed(region,
                            "decl b.b0[n] f32 program\nfor i.0 from 0 below n {\n"
                            "    store b.b0[i.0] = ctune_mem[i.0]\n"
                            "    store ctune_mem[i.0] = b.b0[i.0]\n}\n",
                            &options, NULL, &text);
    assert_non_null(strstr(t, "const long ctune_v_n_2 = (long)(ctune_v_n);"));
    assert_non_null(strstr(t, "char *const ctune_mem_2 = "));
    ctune_text_clear(&text);
    ctune_region_destroy(region);
}

/* The address sanitizer lets malloc fail. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1";
}

/* No memory: nothing is written. */
static void test_no_memory(void **state) {
    (void)state;
    ctune_region *region = region_of(pointers);
    const compile c = {"gcc", "-O1", false, CTUNE_CONTRACT_FAST, false, false, 0};
    ctune_target target = target_of(&c, 16);
    ctune_emit_options options = {.target = &target, .comments = true};
    ctune_text text, whole;
    ctune_text_init(&whole);
    ctune_emit_prelude(&options, &whole);
    ctune_text_append(&whole, printed(region,
                                      "decl b.b0[1073741824 * 1048576] f32 program\n"
                                      "for i.0 from 0 below n {\n    store b.b0[i.0] = A[i.0]\n"
                                      "    store B[i.0] = b.b0[i.0]\n}\n",
                                      &options, "candidate", &text));
    ctune_text_append(&whole, "int (*const table[])(const ctune_args *) = {candidate};\n");
    char object[128];
    compile_text(&c, ctune_text_get(&whole), "-shared -fPIC", object, sizeof object);
    void *handle = dlopen(object, RTLD_NOW);
    assert_non_null(handle);
    ctune_candidate_fn *const *table = dlsym(handle, "table");
    float a[4] = {1, 2, 3, 4}, b[4] = {0};
    long n = 4;
    assert_int_equal(table[0](&(ctune_args){&n, (void *[]){a, b}}), 1);
    assert_true(b[0] == 0 && b[3] == 0);
    dlclose(handle);
    remove_output(object);
    ctune_text_clear(&text);
    ctune_text_clear(&whole);
    ctune_region_destroy(region);
}

/* The printer runs out of memory at any of its allocations. */
static void test_memory_faults(void **state) {
    (void)state;
    ctune_region *region = loops_region();
    const ctune_target target = {.vector_bytes = 16, .openmp = true, .has_fma = true};
    ctune_emit_options options = {.target = &target};
    int n_ok = 0;
    for (const char *const *text = loops_programs(); *text != NULL; text++) {
        ctune_status status = CTUNE_ENOMEM;
        for (uint64_t at = 1; status != CTUNE_OK; at++) {
            ctune_ctx ctx, faulty;
            ctune_ctx_init(&ctx);
            ctune_ctx_init(&faulty);
            ctune_loops *l = program_of(&ctx, region, *text);
            faulty.alloc_fail_at = at;
            ctune_text out;
            ctune_text_init(&out);
            status = ctune_emit_program(&faulty, l, NULL, &options, NULL, "", &out);
            assert_true(status == CTUNE_OK || status == CTUNE_ENOMEM);
            assert_true(status == CTUNE_OK || out.len == 0);
            n_ok += status == CTUNE_OK;
            ctune_text_clear(&out);
            ctune_loops_destroy(l);
        }
    }
    assert_true(n_ok > 5);
    ctune_region_destroy(region);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_candidates), cmocka_unit_test(test_source),
        cmocka_unit_test(test_guard),      cmocka_unit_test(test_names),
        cmocka_unit_test(test_no_memory),  cmocka_unit_test(test_memory_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
