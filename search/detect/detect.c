/*
 * Target: what a tuning is valid for. Asks the compiler once, by a dry preprocessor run that prints
 * its macros under the user's flags, and the machine, by sysfs.
 *
 * The macros decide rather than the flags: -march=native, a compiler's configuration file or its
 * own defaults all end up in them. The CPU's name stands in for what no macro tells; it is the
 * -march= value, with LLVM's name of the host for `native`, so that a build elsewhere with the same
 * flags finds the same lock entry exactly when it makes the same code.
 */
#include "search/detect/detect.h"

#include "runtime/program.h"
#include "runtime/rng.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- macros -------------------------------------------------------------------------------- */
/* Text after "#define NAME ", up to its newline; NULL when it is not defined. */
static const char *macro_find(const char *macros, const char *name) {
    size_t n = strlen(name);
    for (const char *line = macros; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, "#define ", 8) == 0 && strncmp(line + 8, name, n) == 0 &&
            strchr(" \r\n", line[8 + n]) != NULL) {
            return line + 8 + n + strspn(line + 8 + n, " ");
        }
    }
    return NULL;
}

static const struct {
    const char *macro, *name;
} architectures[] = {
    {"__x86_64__", "x86-64"}, {"__aarch64__", "aarch64"}, {"__i386__", "i386"},
    {"__riscv", "riscv"},     {"__powerpc64__", "ppc64"},
};

/* Has a sum of products an instruction of its own? Only x86-64 and 32-bit Arm leave it out. */
static bool has_fma(const char *macros) {
    static const char *const names[] = {"__FMA__",       "__AVX512F__",       "__FMA4__",
                                        "__aarch64__",   "__ARM_FEATURE_FMA", "__riscv_d",
                                        "__powerpc64__", "__s390x__"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (macro_find(macros, names[i]) != NULL) {
            return true;
        }
    }
    return false;
}

void ctune_target_read_macros(const char *macros, ctune_target *out) {
    snprintf(out->isa, sizeof out->isa, "scalar");
    out->vector_bytes = 16;
    for (int i = 0; ctune_isa_get(i) != NULL; i++) {
        const ctune_isa *isa = ctune_isa_get(i);
        if (macro_find(macros, isa->macro) != NULL) {
            snprintf(out->isa, sizeof out->isa, "%s", isa->name);
            out->vector_bytes = isa->vector_bytes;
            break;
        }
    }
    snprintf(out->cpu, sizeof out->cpu, "generic");
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++) {
        if (macro_find(macros, architectures[i].macro) != NULL) {
            snprintf(out->cpu, sizeof out->cpu, "%s", architectures[i].name);
            break;
        }
    }
    const char *clang = macro_find(macros, "__clang_major__");
    const char *gnu = macro_find(macros, "__GNUC__");
    const char *major = clang != NULL ? clang : gnu;
    snprintf(out->compiler, sizeof out->compiler, "%s %.*s",
             clang != NULL ? "clang"
             : gnu != NULL ? "gcc"
                           : "cc",
             major != NULL ? (int)strspn(major, "0123456789") : 1, major != NULL ? major : "0");
    out->openmp = macro_find(macros, "_OPENMP") != NULL;
    const char *standard = macro_find(macros, "__STDC_VERSION__");
    out->is_c90 = standard == NULL || strncmp(standard, "199409", 6) == 0;
    out->has_fma = has_fma(macros);
    out->fast_math = macro_find(macros, "__FAST_MATH__") != NULL ||
                     macro_find(macros, "__ASSOCIATIVE_MATH__") != NULL;
    out->contract = out->has_fma ? CTUNE_CONTRACT_FAST : CTUNE_CONTRACT_OFF;
}

/* Flags that no compiler has a macro for: 1 = permits reassociation, 0 = forbids it, -1 = silent.
 */
static int associative_flag(int n_flags, const char *const *flags) {
    static const struct {
        const char *flag;
        int value;
    } rows[] = {
        {"-fassociative-math", 1},    {"-funsafe-math-optimizations", 1},
        {"-ffast-math", 1},           {"-ffp-model=fast", 1},
        {"-ffp-model=aggressive", 1}, {"-fno-fast-math", 0},
        {"-fno-associative-math", 0}, {"-fno-unsafe-math-optimizations", 0},
        {"-ffp-model=strict", 0},     {"-ffp-model=precise", 0},
    };
    int value = -1;
    for (int i = 0; i < n_flags; i++) {
        for (size_t j = 0; j < sizeof rows / sizeof *rows; j++) {
            value = strcmp(flags[i], rows[j].flag) == 0 ? rows[j].value : value;
        }
    }
    return value;
}

/* ---- the compiler -------------------------------------------------------------------------- */
/* command + flags that a dry run may have + the dry run's own. NULL when memory is out. */
static char **dry_run_words(const ctune_run_compiler *compiler) {
    static const char *const own[] = {"-w", "-dM", "-E", "-x", "c", "/dev/null"};
    char **words = calloc((size_t)compiler->n_flags + 10, sizeof *words);
    if (words == NULL) {
        return NULL;
    }
    int n = 0;
    words[n++] = (char *)compiler->command; /* argv is not written to */
    for (int i = 0; i < compiler->n_flags; i++) {
        int n_args;
        bool is_dropped = ctune_target_is_dropped(compiler->flags[i], &n_args);
        for (int j = i; !is_dropped && j <= i + n_args && j < compiler->n_flags; j++) {
            words[n++] = (char *)compiler->flags[j];
        }
        i += n_args;
    }
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        words[n++] = (char *)own[i];
    }
    return words;
}

/* What the command prints; EENV when it cannot be run or fails. */
static ctune_status capture(ctune_ctx *ctx, char *const *words, ctune_text *out) {
    int state = 0;
    ctune_status status = ctune_program_capture(ctx, (const char *const *)words, out, &state);
    if (status != CTUNE_OK) {
        return ctune_fail(ctx, status, "cannot run the compiler '%s': %s", words[0],
                          strerror(errno));
    }
    if (out->failed) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory reading the compiler's macros");
    }
    const char *text = ctune_text_get(out);
    if (!WIFEXITED(state) || WEXITSTATUS(state) != 0) {
        return ctune_fail(ctx, CTUNE_EENV, "the compiler '%s' fails with these flags: %.*s",
                          words[0], (int)strcspn(text, "\n"), text);
    }
    return CTUNE_OK;
}

/* ---- the machine --------------------------------------------------------------------------- */
static bool read_line(const char *folder, int index, const char *name, char *out, size_t size) {
    char path[512];
    snprintf(path, sizeof path, "%s/index%d/%s", folder, index, name);
    FILE *file = fopen(path, "re");
    bool ok = file != NULL && fgets(out, (int)size, file) != NULL;
    if (file != NULL) {
        fclose(file);
    }
    return ok;
}

void ctune_target_read_caches(const char *folder, ctune_target *out) {
    char level[16], type[32], size[32];
    for (int i = 0; read_line(folder, i, "level", level, sizeof level); i++) {
        int n_level = atoi(level);
        if (n_level < 1 || n_level > 3 || !read_line(folder, i, "type", type, sizeof type) ||
            strncmp(type, "Instruction", 11) == 0 ||
            !read_line(folder, i, "size", size, sizeof size)) {
            continue;
        }
        char *unit;
        long long n = strtoll(size, &unit, 10);
        int shift = *unit == 'K' ? 10 : *unit == 'M' ? 20 : *unit == 'G' ? 30 : 0;
        if (n > 0 && n < (1LL << 30)) {
            out->cache_bytes[n_level - 1] = n << shift;
        }
    }
}

void ctune_target_read_machine(ctune_target *out) {
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    out->n_cores = n < 1 ? 1 : n > 65536 ? 65536 : (int)n;
    out->cache_bytes[0] = 32 << 10;
    out->cache_bytes[1] = 512 << 10;
    out->cache_bytes[2] = 8 << 20;
    ctune_target_read_caches("/sys/devices/system/cpu/cpu0/cache", out);
    ctune_host_cpu_name(out->host, sizeof out->host);
}

static int count_threads(void) {
    const char *wish = getenv("OMP_NUM_THREADS");
    int n = wish != NULL ? atoi(wish) : 0; /* "4,2": the outermost level counts */
    cpu_set_t set;
    if (n < 1 && sched_getaffinity(0, sizeof set, &set) == 0) {
        n = CPU_COUNT(&set);
    }
    if (n < 1) {
        n = (int)sysconf(_SC_NPROCESSORS_ONLN);
    }
    return n < 1 ? 1 : n > 4096 ? 4096 : n;
}

/* The canonical flags. An ISO mode of GCC, which forbids fused products without a word, is spelt
 * out. */
static ctune_status read_flags(ctune_ctx *ctx, const ctune_run_compiler *compiler,
                               ctune_target *out) {
    static const char off[] = "-ffp-contract=off";
    const int n = compiler->n_flags;
    const char **flags = calloc((size_t)n + 1, sizeof *flags);
    if (flags == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for compiler flags");
    }
    for (int i = 0; i < n; i++) {
        flags[i] = compiler->flags[i];
    }
    flags[n] = off;
    bool is_off = ctune_target_contract(out->compiler, n, flags) == CTUNE_CONTRACT_OFF &&
                  ctune_target_last(n, flags, "-ffp-") == NULL;
    ctune_status status = ctune_target_flags(ctx, n + is_off, flags, out->flags, sizeof out->flags);
    free(flags);
    return status;
}

/* Has this machine's C library vectors of math functions, the younger ones (glibc 2.35) too? */
static bool has_vector_math(const char *macros) {
    if (macro_find(macros, "__x86_64__") == NULL || macro_find(macros, "__gnu_linux__") == NULL) {
        return false;
    }
    void *library = dlopen("libmvec.so.1", RTLD_LAZY | RTLD_LOCAL);
    bool has_it = library != NULL && dlsym(library, "_ZGVbN4v_tanhf") != NULL;
    if (library != NULL) {
        dlclose(library);
    }
    return has_it;
}

ctune_status ctune_target_make(ctune_ctx *ctx, const ctune_run_compiler *compiler,
                               const char *macros, ctune_target *out) {
    const int n_flags = compiler->n_flags;
    memset(out, 0, sizeof *out);
    ctune_target_read_machine(out);
    ctune_target_read_macros(macros, out);
    ctune_status status = read_flags(ctx, compiler, out);
    if (status != CTUNE_OK) {
        return status;
    }
    const char *march = ctune_target_last(n_flags, compiler->flags, "-march=");
    const char *mcpu = ctune_target_last(n_flags, compiler->flags, "-mcpu=");
    const char *cpu = mcpu != NULL ? mcpu : march;
    if (cpu != NULL && strcmp(cpu, "native") == 0) {
        if (out->host[0] != '\0') {
            snprintf(out->cpu, sizeof out->cpu, "%s", out->host);
        }
    } else if (cpu != NULL && cpu[0] != '\0') {
        snprintf(out->cpu, sizeof out->cpu, "%.*s", (int)strcspn(cpu, " \t\r\n"), cpu);
    }
    int flag = associative_flag(n_flags, compiler->flags);
    out->fast_math = flag >= 0 ? flag == 1 : out->fast_math;
    if (out->contract != CTUNE_CONTRACT_OFF) {
        out->contract = ctune_target_contract(out->compiler, n_flags, compiler->flags);
    }
    out->vector_math = has_vector_math(macros);
    out->n_threads = out->openmp ? count_threads() : 1;
    ctune_target_complete(out);
    return CTUNE_OK;
}

ctune_status ctune_target_get(ctune_ctx *ctx, const ctune_run_compiler *compiler,
                              ctune_target *out) {
    char **words = dry_run_words(compiler);
    ctune_text macros;
    ctune_text_init(&macros);
    ctune_status status = words == NULL
                              ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for compiler flags")
                              : capture(ctx, words, &macros);
    if (status == CTUNE_OK) {
        status = ctune_target_make(ctx, compiler, ctune_text_get(&macros), out);
    }
    free(words);
    ctune_text_clear(&macros);
    return status;
}
