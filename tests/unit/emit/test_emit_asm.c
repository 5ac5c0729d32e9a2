/*
 * What compilers make of the text: whole vectors and one instruction for each fused product on
 * every target with AVX-512, no accumulator in memory; targets that cannot run here compile.
 */
#include "emit_fixture.h"

static const char gemm[] =
    "te 1\nregion gemm\nparam n i32 sizes 64\naxis i i32\naxis j i32\naxis k i32\n"
    "tensor A f32 [n][n]\ntensor B f32 [n][n]\ntensor C f32 [n][n]\ntensor D i64 [n]\n"
    "stage S0: C[i][j] += A[i][k] * B[k][j]\nstage S1: D[i] = D[i]\n"
    "order {\n    for i: 0 <= i < n {\n        S1\n        for j: 0 <= j < n {\n"
    "            for k: 0 <= k < n {\n                S0\n            }\n        }\n    }\n}\n";

/* 6 rows, 32 columns */
static const char tile[] =
    "for i.0 from 0 below n step 6 {\n"
    "    for j.1 from 0 below n step 32 {\n"
    "        decl acc.b0[6][32] f32 register\n"
    "        for a.2 from 0 below 6 full {\n"
    "            for b.3 from 0 below 32 vector {\n"
    "                store acc.b0[a.2][b.3] = C[i.0 + a.2][j.1 + b.3]\n"
    "            }\n"
    "        }\n"
    "        for k.4 from 0 below n {\n"
    "            for a.5 from 0 below 6 full {\n"
    "                for b.6 from 0 below 32 vector {\n"
    "                    store acc.b0[a.5][b.6] = fma(A[i.0 + a.5][k.4], B[k.4][j.1 + b.6], "
    "acc.b0[a.5][b.6])\n"
    "                }\n"
    "            }\n"
    "        }\n"
    "        for a.7 from 0 below 6 full {\n"
    "            for b.8 from 0 below 32 vector {\n"
    "                store C[i.0 + a.7][j.1 + b.8] = acc.b0[a.7][b.8]\n"
    "            }\n"
    "        }\n"
    "    }\n"
    "}\n"
    "for i.9 from 0 below n {\n"
    "    store D[i.9] = D[i.9] *% i64{i.9} +% i64(5)\n"
    "}\n";

static void print_unit(const ctune_emit_options *options, ctune_text *out) {
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    ctune_region *region = region_of(gemm);
    ctune_loops *l = NULL;
    char *whole = NULL;
    assert_true(asprintf(&whole, "loops 1\n%s", tile) > 0);
    ctune_pass_options passes = {.target = options->target};
    if (ctune_loops_parse(&ctx, region, whole, &l) != CTUNE_OK ||
        ctune_passes_run(l, &passes, NULL, NULL) != CTUNE_OK) {
        fail_msg("%s", ctx.error);
    }
    ctune_emit_prelude(options, out);
    if (ctune_emit_program(&ctx, l, NULL, options, "candidate", NULL, out) != CTUNE_OK) {
        fail_msg("%s", ctx.error);
    }
    ctune_text_append(out, "extern int (*const table[])(const ctune_args *);\n"
                           "int (*const table[])(const ctune_args *) = {candidate};\n");
    free(whole);
    ctune_loops_destroy(l);
    ctune_region_destroy(region);
}

/* Lines that have both words. */
static int count_lines(const char *assembly, const char *a, const char *b) {
    int n = 0;
    for (const char *line = assembly; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        n += memmem(line, len, a, strlen(a)) != NULL && memmem(line, len, b, strlen(b)) != NULL;
        line += len + (line[len] == '\n');
    }
    return n;
}

static bool takes(const char *compiler, const char *flags) {
    char command[256];
    snprintf(command, sizeof command, "%s %s -fsyntax-only -x c /dev/null >/dev/null 2>&1",
             compiler, flags);
    return has_command(compiler) && system(command) == 0;
}

static void assembly_of(const compile *c, int vector_bytes, ctune_text *out) {
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    ctune_target target = target_of(c, vector_bytes);
    ctune_emit_options options = {.target = &target, .comments = true};
    ctune_text text;
    ctune_text_init(&text);
    print_unit(&options, &text);
    char path[128];
    compile_text(c, ctune_text_get(&text), WARNINGS "-S", path, sizeof path);
    assert_int_equal(ctune_file_read(&ctx, path, out), CTUNE_OK);
    remove_output(path);
    ctune_text_clear(&text);
}

static void test_whole_vectors(void **state) {
    (void)state;
    static const char *const compilers[] = {"gcc", "clang-19"};
    static const char *const targets[] = {"skylake-avx512", "icelake-server", "sapphirerapids",
                                          "x86-64-v4", "znver4"};
    for (size_t i = 0; i < 2 * sizeof targets / sizeof *targets; i++) {
        const char *compiler = compilers[i % 2];
        for (int level = 1; level <= 3; level++) {
            char flags[64];
            snprintf(flags, sizeof flags, "-O%d -march=%s", level, targets[i / 2]);
            if (!takes(compiler, flags)) {
                continue;
            }
            compile c = {compiler, flags, true, CTUNE_CONTRACT_FAST, false, false, 0};
            ctune_text text;
            ctune_text_init(&text);
            assembly_of(&c, 64, &text);
            const char *assembly = ctune_text_get(&text);
            int n_whole = count_lines(assembly, "vfmadd", "%zmm");
            if (n_whole < 12 || n_whole % 12 != 0 ||
                count_lines(assembly, "vfmadd", "%ymm") + count_lines(assembly, "mulps", "%") > 0 ||
                count_lines(assembly, "%zmm", "(%rsp") > 0) {
                fail_msg("%s %s: %d whole products", compiler, flags, n_whole);
            }
            ctune_text_clear(&text);
        }
    }
}

/* What the word stands for in each row: an instruction that must be there. */
static void test_other_targets(void **state) {
    (void)state;
    static const struct {
        compile c;
        int vector_bytes;
        const char *word;
    } rows[] = {
        {{"gcc", "-O2 -march=haswell", true, CTUNE_CONTRACT_FAST, false, false, 0}, 32, "vfmadd"},
        {{"clang-19", "-O2 -march=haswell", true, CTUNE_CONTRACT_ON, false, false, 0},
         32,
         "vfmadd"},
        {{"gcc", "-m32 -O1 -std=c89 -march=haswell", true, CTUNE_CONTRACT_OFF, false, true, 0},
         32,
         "vfmadd"},
        {{"clang-19", "-m32 -O1 -std=c89 -march=haswell", true, CTUNE_CONTRACT_ON, false, true, 0},
         32,
         "vfmadd"},
        {{"aarch64-linux-gnu-gcc", "-O2", true, CTUNE_CONTRACT_FAST, false, false, 0}, 16, "fmla"},
        {{"clang-19", "--target=aarch64-linux-gnu -O2", true, CTUNE_CONTRACT_ON, false, false, 0},
         16,
         "fmla"},
        {{"gcc", "-O2 -march=x86-64", false, CTUNE_CONTRACT_FAST, false, false, 0}, 64, "fmaf"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!takes(rows[i].c.compiler, rows[i].c.flags)) {
            continue;
        }
        ctune_text text;
        ctune_text_init(&text);
        assembly_of(&rows[i].c, rows[i].vector_bytes, &text);
        if (count_lines(ctune_text_get(&text), rows[i].word, "") == 0) {
            fail_msg("%s %s: no %s", rows[i].c.compiler, rows[i].c.flags, rows[i].word);
        }
        ctune_text_clear(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_vectors),
        cmocka_unit_test(test_other_targets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
