/* The target: macros, flags in canonical form, caches from a made folder, and the real compilers.
 */
#include "search/detect/detect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

static void test_macros(void **state) {
    (void)state;
    ctune_target t = {0};
    ctune_target_read_macros(
        "#define __AVX2__ 1\n#define __AVX__ 1\n#define __SSE2__ 1\n"
        "#define __clang_major__ 19\n#define __GNUC__ 4\n#define __x86_64__ 1\n"
        "#define _OPENMP 201811\n#define __FAST_MATH__ 1",
        &t);
    assert_string_equal(t.isa, "avx2");
    assert_int_equal(t.vector_bytes, 32);
    assert_string_equal(t.compiler, "clang 19");
    assert_string_equal(t.cpu, "x86-64");
    assert_true(t.openmp && t.fast_math);
    memset(&t, 0, sizeof t);
    ctune_target_read_macros(
        "warning: __AVX512F__\n#define __AVX512FP16__ 1\n#define __GNUC__ 12\n", &t);
    assert_string_equal(t.isa, "scalar");
    assert_string_equal(t.compiler, "gcc 12");
    assert_string_equal(t.cpu, "generic");
    assert_true(!t.openmp && !t.fast_math);
    ctune_target_read_macros("", &t);
    assert_string_equal(t.compiler, "cc 0");
}

static void test_flags(void **state) {
    (void)state;
    static const char *const flags[] = {
        "-O2",
        "-march=x86-64",
        "-I",
        "include",
        "-DN=3",
        "-Wall",
        "-g",
        "-O3",
        "-MF",
        "a.d",
        "-march=native",
        "-ffast-math",
        "-fno-fast-math",
        "-fprofile-use=/home/me/p",
        "-mllvm",
        "-polly",
        "-mllvm",
        "-polly-tiling",
        "-c",
        "a.c",
        "-o",
        "a.o",
        "-fopenmp",
        "-std=c11",
    };
    ctune_ctx ctx = {0};
    char out[256];
    assert_int_equal(ctune_target_flags(&ctx, COUNT(flags), flags, out, sizeof out), CTUNE_OK);
    assert_string_equal(out,
                        "-O3 -fno-fast-math -fopenmp -fprofile-use -march=native -mllvm -polly "
                        "-mllvm -polly-tiling");
    static const char *const same[] = {"-fopenmp", "-O3"}, *const sorted[] = {"-O3", "-fopenmp",
                                                                              "-pipe"};
    char other[256];
    assert_int_equal(ctune_target_flags(&ctx, 2, same, out, sizeof out), CTUNE_OK);
    assert_int_equal(ctune_target_flags(&ctx, 3, sorted, other, sizeof other), CTUNE_OK);
    assert_string_equal(out, other);
    assert_int_equal(ctune_target_flags(&ctx, 0, NULL, out, sizeof out), CTUNE_OK);
    assert_string_equal(out, "");
    /* A dangling argument, and a line that is too long. */
    static const char *const dangling[] = {"-O1", "-o"};
    assert_int_equal(ctune_target_flags(&ctx, 2, dangling, out, sizeof out), CTUNE_OK);
    assert_string_equal(out, "-O1");
    char words[40][16];
    const char *many[40];
    for (int i = 0; i < 40; i++) {
        snprintf(words[i], sizeof words[i], "-fvery-long-%d", i);
        many[i] = words[i];
    }
    assert_int_equal(ctune_target_flags(&ctx, 40, many, out, sizeof out), CTUNE_OK);
    assert_true(strlen(out) < 256 && strstr(out, " ~") != NULL);
    snprintf(words[39], sizeof words[39], "-fvery-long-x");
    assert_int_equal(ctune_target_flags(&ctx, 40, many, other, sizeof other), CTUNE_OK);
    assert_string_not_equal(out, other);
}

/* One row a flag that changes no code, with its value where it takes one. */
static void test_codeless(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"-pthread"},
        {"-m64"},
        {"-std=c99"},
        {"-std=gnu17"},
        {"-ansi"},
        {"-fverbose-asm"},
        {"-B", "bin"},
        {"-Bbin"},
        {"-fuse-ld=gold"},
        {"-H"},
        {"-save-temps"},
        {"-save-temps=obj"},
        {"-mcmodel=medium"},
        {"-Wall"},
        {"-Wl,-O1"},
        {"-w"},
        {"-g3"},
        {"-ggdb"},
        {"-gsplit-dwarf"},
        {"-pipe"},
        {"-pedantic-errors"},
        {"-DNDEBUG"},
        {"-D", "N=3"},
        {"-Iinclude"},
        {"-isystem", "include"},
        {"-include", "config.h"},
        {"-MMD"},
        {"-MF", "a.d"},
        {"-o", "a.o"},
        {"-c"},
        {"-fdiagnostics-color=always"},
        {"-fcolor-diagnostics"},
        {"-fmessage-length=0"},
        {"-fmacro-prefix-map=a=b"},
        {"-fdebug-prefix-map=a=b"},
        {"-frandom-seed=1"},
        {"-frecord-gcc-switches"},
        {"-fno-ident"},
        {"-ftrack-macro-expansion=0"},
        {"-fno-show-column"},
        {"-fplugin=./x.so"},
        {"-Qunused-arguments"},
        {"-nostdinc"},
        {"-rdynamic"},
        {"-Lfolder"},
        {"-lm"},
        {"-Xlinker", "--gc-sections"},
        {"-z", "now"},
        {"-T", "link.ld"},
        {"-pie"},
        {"-shared"},
        {"--gcc-toolchain=/usr"},
    };
    static const char *const kept[] = {
        "-O3",         "-march=x86-64-v3",         "-m32",
        "-ffast-math", "-fno-unroll-loops",        "-fno-strict-aliasing",
        "-fopenmp",    "-mprefer-vector-width=512"};
    ctune_ctx ctx = {0};
    char plain[256], out[256];
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *flags[] = {"-O2", rows[i][0], rows[i][1], "-fwrapv"};
        int n = 4;
        if (rows[i][1] == NULL) {
            flags[2] = flags[3];
            n = 3;
        }
        assert_int_equal(ctune_target_flags(&ctx, n, flags, out, sizeof out), CTUNE_OK);
        if (strcmp(out, "-O2 -fwrapv") != 0) {
            fail_msg("%s: %s", rows[i][0], out);
        }
    }
    for (size_t i = 0; i < COUNT(kept); i++) {
        const char *flags[] = {"-fwrapv", kept[i]};
        assert_int_equal(ctune_target_flags(&ctx, 1, flags, plain, sizeof plain), CTUNE_OK);
        assert_int_equal(ctune_target_flags(&ctx, 2, flags, out, sizeof out), CTUNE_OK);
        if (strcmp(out, plain) == 0) {
            fail_msg("%s makes no difference", kept[i]);
        }
    }
}

/* An ISO mode of GCC is -ffp-contract=off by another name; clang's changes nothing. */
static void test_iso(void **state) {
    (void)state;
    static const char gcc[] = "#define __GNUC__ 12\n#define __AVX2__ 1\n#define __FMA__ 1\n",
                      clang[] = "#define __clang_major__ 19\n#define __AVX2__ 1\n";
    static const char *const iso[] = {"-O2", "-std=c11"},
                             *const off[] = {"-O2", "-ffp-contract=off"},
                             *const gnu[] = {"-O2", "-std=gnu11"}, *const none[] = {"-O2"};
    static const struct {
        const char *macros;
        const char *const *a, *const *b;
        int n_b;
        bool is_same;
    } rows[] = {
        {gcc, iso, off, 2, true},    {gcc, iso, gnu, 2, false},  {gcc, gnu, none, 1, true},
        {clang, iso, none, 1, true}, {clang, iso, gnu, 2, true}, {clang, iso, off, 2, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        ctune_ctx ctx = {0};
        ctune_target a, b;
        char a_key[256], b_key[256];
        ctune_run_compiler one = {.command = "cc", .n_flags = 2, .flags = rows[i].a},
                           two = {.command = "cc", .n_flags = rows[i].n_b, .flags = rows[i].b};
        assert_int_equal(ctune_target_make(&ctx, &one, rows[i].macros, &a), CTUNE_OK);
        assert_int_equal(ctune_target_make(&ctx, &two, rows[i].macros, &b), CTUNE_OK);
        ctune_target_key(&a, a_key, sizeof a_key);
        ctune_target_key(&b, b_key, sizeof b_key);
        if ((strcmp(a_key, b_key) == 0) != rows[i].is_same) {
            fail_msg("row %zu: %s, %s", i, a_key, b_key);
        }
    }
}

static void test_nearness(void **state) {
    (void)state;
    ctune_target mine;
    ctune_target_from_key("clang 19 znver5 avx512 t1 00000001", &mine);
    mine.has_fma = true;
    snprintf(mine.flags, sizeof mine.flags, "-O3");
    char key[256], own[256];
    ctune_target_key(&mine, own, sizeof own);
    const char *hash = strrchr(own, ' ');
    /* the nearest first; "": not for here */
    static const struct {
        const char *key;
        bool has_hash, is_usable;
    } rows[] = {
        {"clang 19 znver5 avx512 t1", true, true},
        {"clang 19 znver4 avx512 t1", true, true},
        {"clang 19 znver4 avx512 t2", true, true},
        {"clang 18 znver4 avx512 t1", true, true},
        {"clang 19 znver4 avx512 t1", false, true},
        {"clang 19 znver3 avx2 t1", true, true},
        {"clang 19 nehalem sse4.2 t1", true, false},
        {"gcc 12 znver5 avx512 t1", true, false},
        {"clang 19 generic neon t1", true, false},
        {"clang 19 x y t1", true, false},
        {"nonsense", false, false},
    };
    int last = 1 << 30;
    for (size_t i = 0; i < COUNT(rows); i++) {
        snprintf(key, sizeof key, "%s%s", rows[i].key, rows[i].has_hash ? hash : " 12345678");
        int nearness = ctune_target_nearness(&mine, key);
        if ((nearness >= 0) != rows[i].is_usable || (nearness >= 0 && nearness >= last)) {
            fail_msg("%s: %d after %d", key, nearness, last);
        }
        last = nearness >= 0 ? nearness : last;
    }
    /* fewer instructions here than there; without fused products sse4.2 is as good */
    ctune_target_from_key("clang 19 znver3 avx2 t1 00000001", &mine);
    mine.has_fma = true;
    assert_int_equal(ctune_target_nearness(&mine, "clang 19 znver5 avx512 t1 00000001"), -1);
    mine.contract = CTUNE_CONTRACT_OFF;
    assert_true(ctune_target_nearness(&mine, "clang 19 nehalem sse4.2 t1 00000001") >= 0);
}

static void test_contraction(void **state) {
    (void)state;
    static const struct {
        const char *compiler, *flags[4];
        ctune_contract want;
    } rows[] = {
        {"gcc 12", {"-O3"}, CTUNE_CONTRACT_FAST},
        {"gcc 12", {"-O3", "-ffp-contract=off"}, CTUNE_CONTRACT_OFF},
        {"gcc 12", {"-ffp-contract=off", "-ffp-contract=fast"}, CTUNE_CONTRACT_FAST},
        {"gcc 12", {"-ffp-contract=on"}, CTUNE_CONTRACT_OFF},
        {"gcc 14", {"-ffp-contract=on"}, CTUNE_CONTRACT_FAST},
        {"gcc 12", {"-std=gnu11"}, CTUNE_CONTRACT_FAST},
        {"gcc 12", {"-std=c11"}, CTUNE_CONTRACT_OFF},
        {"gcc 12", {"-ansi"}, CTUNE_CONTRACT_OFF},
        {"gcc 12", {"-std=c99", "-std=gnu99"}, CTUNE_CONTRACT_FAST},
        {"gcc 12", {"-std=c11", "-ffp-contract=fast"}, CTUNE_CONTRACT_FAST},
        {"gcc 12", {"-ffast-math", "-ffp-contract=off"}, CTUNE_CONTRACT_OFF},
        {"clang 19", {"-O3"}, CTUNE_CONTRACT_ON},
        {"clang 19", {"-std=c11"}, CTUNE_CONTRACT_ON},
        {"clang 19", {"-ffast-math"}, CTUNE_CONTRACT_FAST},
        {"clang 19", {"-ffast-math", "-ffp-contract=on"}, CTUNE_CONTRACT_ON},
        {"clang 19", {"-ffast-math", "-fno-fast-math"}, CTUNE_CONTRACT_ON},
        {"clang 19", {"-ffp-contract=off"}, CTUNE_CONTRACT_OFF},
        {"clang 19", {"-ffp-model=strict"}, CTUNE_CONTRACT_OFF},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int n = 0;
        while (n < 4 && rows[i].flags[n] != NULL) {
            n++;
        }
        if (ctune_target_contract(rows[i].compiler, n, rows[i].flags) != rows[i].want) {
            fail_msg("row %zu: %s %s", i, rows[i].compiler, rows[i].flags[0]);
        }
    }
    /* without FMA there is nothing to decide */
    static const char *const flags[] = {"-O3"};
    ctune_run_compiler how = {"gcc", 1, flags};
    ctune_target t;
    ctune_ctx ctx = {0};
    const char *plain = "#define __GNUC__ 12\n#define __SSE2__ 1\n";
    const char *fused = "#define __GNUC__ 12\n#define __SSE2__ 1\n#define __FMA__ 1\n";
    assert_int_equal(ctune_target_make(&ctx, &how, plain, &t), CTUNE_OK);
    assert_int_equal(t.contract, CTUNE_CONTRACT_OFF);
    assert_int_equal(ctune_target_make(&ctx, &how, fused, &t), CTUNE_OK);
    assert_int_equal(t.contract, CTUNE_CONTRACT_FAST);
}

static void write_file(const char *folder, int index, const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/index%d", folder, index);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/index%d/%s", folder, index, name);
    ctune_ctx ctx = {0};
    assert_int_equal(ctune_file_write(&ctx, path, text, strlen(text)), CTUNE_OK);
}

static void test_caches(void **state) {
    (void)state;
    char folder[] = "/tmp/ctune-cache-XXXXXX";
    assert_non_null(mkdtemp(folder));
    static const char *const rows[][3] = {{"1", "Instruction", "64K"},
                                          {"1", "Data", "48K"},
                                          {"2", "Unified", "2M"},
                                          {"3", "Unified", "junk"}};
    for (int i = 0; i < 4; i++) {
        write_file(folder, i, "level", rows[i][0]);
        write_file(folder, i, "type", rows[i][1]);
        write_file(folder, i, "size", rows[i][2]);
    }
    ctune_target t = {.cache_bytes = {1, 2, 3}};
    ctune_target_read_caches(folder, &t);
    assert_int_equal(t.cache_bytes[0], 48 << 10);
    assert_int_equal(t.cache_bytes[1], 2 << 20);
    assert_int_equal(t.cache_bytes[2], 3);
    ctune_target_read_caches("/nonexistent", &t);
    assert_int_equal(t.cache_bytes[0], 48 << 10);
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static bool is_installed(const char *command) {
    char line[64];
    snprintf(line, sizeof line, "command -v %s >/dev/null", command);
    return system(line) == 0;
}

static void test_compilers(void **state) {
    (void)state;
    static const char *const commands[] = {"gcc", "clang-19"};
    for (int i = 0; i < 2; i++) {
        if (!is_installed(commands[i])) {
            continue;
        }
        static const char *const flags[] = {"-O3",   "-march=x86-64-v3", "-fopenmp", "-Wall", "-MD",
                                            "-mllvm"};
        ctune_run_compiler compiler = {.command = commands[i], .n_flags = 5, .flags = flags};
        ctune_ctx ctx = {0};
        ctune_target t;
        char key[256];
        setenv("OMP_NUM_THREADS", "3", 1);
        if (ctune_target_get(&ctx, &compiler, &t) != CTUNE_OK) {
            fail_msg("%s", ctx.error);
        }
        assert_string_equal(t.isa, "avx2");
        assert_string_equal(t.cpu, "x86-64-v3");
        assert_int_equal(t.n_threads, 3);
        assert_true(t.cache_bytes[0] > 0 && t.cache_bytes[1] > 0 && t.cache_bytes[2] > 0 &&
                    !t.fast_math);
        ctune_target_key(&t, key, sizeof key);
        assert_int_equal(strncmp(key, i == 0 ? "gcc " : "clang 19 ", i == 0 ? 4 : 9), 0);
        assert_non_null(strstr(key, " x86-64-v3 avx2 t3 "));
        static const char *const native[] = {"-march=native", "-fassociative-math"};
        compiler.flags = native;
        compiler.n_flags = 2;
        assert_int_equal(ctune_target_get(&ctx, &compiler, &t), CTUNE_OK);
        assert_string_not_equal(t.cpu, "native");
        assert_true(t.fast_math && !t.openmp && t.n_threads == 1);
        static const char *const bad[] = {"-march=pentium9000"};
        compiler.flags = bad;
        compiler.n_flags = 1;
        assert_int_equal(ctune_target_get(&ctx, &compiler, &t), CTUNE_EENV);
        assert_non_null(strstr(ctx.error, "pentium9000"));
    }
    ctune_ctx ctx = {0};
    ctune_target t;
    ctune_run_compiler none = {.command = "no-such-compiler-here"};
    assert_int_equal(ctune_target_get(&ctx, &none, &t), CTUNE_EENV);
    assert_non_null(strstr(ctx.error, "no-such-compiler-here"));
}

/* Standards and instruction sets, and where products are fused: nowhere without an instruction. */
static void test_standards(void **state) {
    (void)state;
    static const struct {
        const char *macros, *flags[3];
        ctune_contract contract;
        bool is_c90, has_fma;
    } rows[] = {
#define GCC "#define __GNUC__ 12\n"
#define CLANG "#define __clang_major__ 19\n#define __GNUC__ 4\n"
#define C17 "#define __STDC_VERSION__ 201710L\n"
#define ISO "#define __STRICT_ANSI__ 1\n"
        {GCC C17 "#define __FMA__ 1\n", {NULL}, CTUNE_CONTRACT_FAST, false, true},
        {GCC C17 ISO "#define __AVX512F__ 1\n", {"-std=c17"}, CTUNE_CONTRACT_OFF, false, true},
        {GCC C17 ISO, {"-std=c17", "-ffp-contract=fast"}, CTUNE_CONTRACT_FAST, false, false},
        {GCC C17, {"-ffp-contract=on"}, CTUNE_CONTRACT_OFF, false, false},
        {GCC C17, {"-ffp-contract=off", "-Ofast"}, CTUNE_CONTRACT_OFF, false, false},
        {GCC, {"-std=gnu89"}, CTUNE_CONTRACT_FAST, true, false},
        {GCC ISO "#define __STDC_VERSION__ 199409L\n", {NULL}, CTUNE_CONTRACT_OFF, true, false},
        {CLANG C17 ISO "#define __aarch64__ 1\n", {NULL}, CTUNE_CONTRACT_ON, false, true},
        {CLANG C17, {"-ffp-contract=off", "-ffast-math"}, CTUNE_CONTRACT_FAST, false, false},
        {CLANG C17, {"-ffast-math", "-ffp-contract=on"}, CTUNE_CONTRACT_ON, false, false},
        {CLANG C17, {"-ffp-model=strict"}, CTUNE_CONTRACT_OFF, false, false},
        {CLANG, {"-Ofast", "-fno-fast-math"}, CTUNE_CONTRACT_ON, true, false},
    };
    for (int i = 0; i < COUNT(rows); i++) {
        ctune_ctx ctx = {0};
        ctune_target t;
        int n = 0;
        while (n < 3 && rows[i].flags[n] != NULL) {
            n++;
        }
        const ctune_run_compiler compiler = {.command = "cc", .flags = rows[i].flags, .n_flags = n};
        assert_int_equal(ctune_target_make(&ctx, &compiler, rows[i].macros, &t), CTUNE_OK);
        if (t.contract != (rows[i].has_fma ? rows[i].contract : CTUNE_CONTRACT_OFF) ||
            t.is_c90 != rows[i].is_c90 || t.has_fma != rows[i].has_fma) {
            fail_msg("row %d: contract %d, C90 %d, fma %d", i, (int)t.contract, t.is_c90,
                     t.has_fma);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_macros),    cmocka_unit_test(test_flags),
        cmocka_unit_test(test_codeless),  cmocka_unit_test(test_iso),
        cmocka_unit_test(test_nearness),  cmocka_unit_test(test_contraction),
        cmocka_unit_test(test_standards), cmocka_unit_test(test_caches),
        cmocka_unit_test(test_compilers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
