/*
 * Compiler words -> what the front end needs and what candidates are compiled with: see flags.h.
 *
 * libclang gets includes, defines, language, machine; all flags when the user's compiler is clang,
 * a list of known ones for gcc, because libclang fails on a flag that it does not know. Candidates
 * are whole files without includes: no inputs, outputs, preprocessor, warning, sanitizer or link
 * flags. The user's own file is compiled again (predict/assembly.c, session/oracle.c) with
 * everything that its code depends on. One table says which flag is what.
 */
#include "plugin/source/flags.h"

#include <string.h>

/* Where a flag goes. EXTRACT: libclang; RUN: candidates; GCC_OK: to libclang although the compiler
 * is gcc; UNIT: compiles of the user's whole file. */
enum {
    EXTRACT = 1,
    RUN = 2,
    GCC_OK = 4,
    VALUE = 8 /* takes the next word when nothing is joined */,
    PATH_VALUE = 16,
    UNIT = 32
};

typedef struct flag_row {
    const char *prefix; /* first match wins; "=" at the end of a row's text: the whole word */
    int flags;
} flag_row;

static const flag_row rows[] = {
    {"-o", VALUE},
    {"-MF", VALUE},
    {"-MT", VALUE},
    {"-MQ", VALUE},
    {"-MJ", VALUE},
    {"-M", 0},
    {"-c=", 0},
    {"-S=", 0},
    {"-E=", 0},
    {"-pipe", 0},
    {"-emit-llvm", 0},
    {"-save-temps", 0},
    {"-fsyntax-only", 0},
    {"-include", EXTRACT | GCC_OK | VALUE | PATH_VALUE | UNIT},
    {"-isystem", EXTRACT | GCC_OK | VALUE | PATH_VALUE | UNIT},
    {"-iquote", EXTRACT | GCC_OK | VALUE | PATH_VALUE | UNIT},
    {"-idirafter", EXTRACT | GCC_OK | VALUE | PATH_VALUE | UNIT},
    {"-imacros", EXTRACT | GCC_OK | VALUE | PATH_VALUE | UNIT},
    {"-I", EXTRACT | GCC_OK | VALUE | PATH_VALUE | UNIT},
    {"-D", EXTRACT | GCC_OK | VALUE | UNIT},
    {"-U", EXTRACT | GCC_OK | VALUE | UNIT},
    {"-x", EXTRACT | GCC_OK | VALUE | UNIT},
    {"-std=", EXTRACT | RUN | GCC_OK | UNIT},
    {"-ansi", EXTRACT | RUN | GCC_OK | UNIT},
    {"-Xclang", EXTRACT | RUN | VALUE | UNIT},
    {"-Xpreprocessor", VALUE | UNIT},
    {"-Xlinker", VALUE},
    {"-Xassembler", VALUE},
    {"-mllvm", RUN | VALUE | UNIT},
    {"--param", RUN | VALUE | UNIT},
    {"-target", EXTRACT | RUN | VALUE | UNIT},
    {"-W", 0},
    {"-w=", 0},
    {"-pedantic", 0},
    {"-l", VALUE},
    {"-L", VALUE},
    {"-T", VALUE},
    {"-g", 0},
    {"-fplugin", 0},
    {"-fpass-plugin", 0},
    {"-fsanitize", 0},
    {"-fprofile", 0},
    {"-fcoverage", 0},
    {"-ftest-coverage", 0},
    {"--coverage", 0},
    {"-flto", 0},
    {"-fno-lto", 0},
    {"-fdiagnostics", 0},
    {"-fcolor", 0},
    {"-fdebug", 0},
    {"-ffile-prefix-map", UNIT},
    {"-fmacro-prefix-map", UNIT},
    {"-fintegrated-cc1", 0},
    {"-fno-integrated-cc1", 0},
    /* sections, symbols, unwinding, hardening: nothing that a loop nest would notice */
    {"-ffunction-sections", UNIT},
    {"-fdata-sections", UNIT},
    {"-fvisibility", UNIT},
    {"-fcommon", UNIT},
    {"-fno-common", UNIT},
    {"-fident", 0},
    {"-fno-ident", 0},
    {"-fplt", UNIT},
    {"-fno-plt", UNIT},
    {"-fstack-protector", UNIT},
    {"-fno-stack-protector", UNIT},
    {"-fstack-clash-protection", UNIT},
    {"-fcf-protection", UNIT},
    {"-fexceptions", UNIT},
    {"-fno-exceptions", UNIT},
    {"-funwind-tables", UNIT},
    {"-fasynchronous-unwind-tables", UNIT},
    {"-fno-asynchronous-unwind-tables", UNIT},
    {"-static", 0},
    {"-shared", 0},
    {"-pthread", RUN | UNIT},
    {"-B", VALUE},
    {"-H=", 0},
    {"-z=", VALUE},
    {"-specs=", 0},
    {"-rdynamic", 0},
    {"-no-pie", 0},
    {"-fuse-ld", 0},
    {"-fverbose-asm", 0},
    {"-fPI", UNIT},
    {"-fpi", UNIT},
    {"-fno-PI", UNIT},
    {"-fno-pi", UNIT},
    {"-pie", 0},
    {"-funsigned-char", EXTRACT | RUN | GCC_OK | UNIT},
    {"-fsigned-char", EXTRACT | RUN | GCC_OK | UNIT},
    {"-ffast-math", EXTRACT | RUN | GCC_OK | UNIT},
    {"-fwrapv", EXTRACT | RUN | GCC_OK | UNIT},
    {"-fopenmp", EXTRACT | RUN | GCC_OK | UNIT},
    {"-march=", EXTRACT | RUN | GCC_OK | UNIT},
    {"-mtune=", RUN | UNIT},
    {"-O", EXTRACT | RUN | GCC_OK | UNIT},
    {"-f", EXTRACT | RUN | UNIT},
    {"-m", EXTRACT | RUN | GCC_OK | UNIT},
    {"-", EXTRACT | RUN | UNIT},
};

static const flag_row *row_of(const char *word) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t n = strlen(rows[i].prefix);
        bool is_whole = n == 3 && rows[i].prefix[2] == '='; /* "-c=" */
        if (is_whole ? strlen(word) == 2 && memcmp(word, rows[i].prefix, 2) == 0
                     : strncmp(word, rows[i].prefix, n) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

bool ctune_flags_is_compiler(const char *word) {
    static const char *const names[] = {"clang", "gcc", "cc", "icx", "tcc"};
    const char *base = base_name(word);
    if (word[0] == '-') {
        return false;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);
        const char *at = NULL;
        for (const char *p = base; (p = strstr(p, names[i])) != NULL; p++) {
            at = p;
        }
        /* "x86_64-linux-gnu-gcc-12": at a word's start, followed by nothing or a version */
        if (at != NULL && (at == base || at[-1] == '-') &&
            (at[n] == '\0' || (at[n] == '-' && at[n + 1] >= '0' && at[n + 1] <= '9'))) {
            return true;
        }
    }
    return false;
}

bool ctune_flags_is_clang(const char *compiler) {
    return strstr(base_name(compiler), "clang") != NULL;
}

/* Relative to the folder in which the compiler runs. */
static const char *absolute(ctune_arena *arena, const char *directory, const char *path) {
    return directory == NULL || path[0] == '/'
               ? path
               : ctune_arena_printf(arena, "%s/%s", directory, path);
}

static void put(const char ***words, int *n, const char *word) {
    (*words)[(*n)++] = word;
}

static void put_both(ctune_flags *out, int flags, bool is_clang, const char *word) {
    if ((flags & EXTRACT) && (is_clang || (flags & GCC_OK))) {
        put(&out->extract, &out->n_extract, word);
    }
    if (flags & RUN) {
        put(&out->run, &out->n_run, word);
    }
    if (flags & UNIT) {
        put(&out->unit, &out->n_unit, word);
    }
}

/* "-Xclang -include -Xclang FILE", and the same with -include-pch: how build systems use
 * precompiled headers with clang. */
static bool is_pch_include(const char *const *words) {
    return strcmp(words[0], "-Xclang") == 0 && strcmp(words[2], "-Xclang") == 0 &&
           (strcmp(words[1], "-include") == 0 || strcmp(words[1], "-include-pch") == 0);
}

/* The header itself is as good for libclang; candidates need neither. */
static void put_pch_include(ctune_flags *out, const char *directory, const char *const *words) {
    if (strcmp(words[1], "-include") == 0) {
        put_both(out, EXTRACT | GCC_OK | UNIT, true, "-include");
        put_both(out, EXTRACT | GCC_OK | UNIT, true, absolute(out->arena, directory, words[3]));
    }
}

/* Words at `words` that load another plugin into clang: -Xclang -load -Xclang FILE and the like. It
 * has nothing to do with libclang nor with candidates. 0: none. */
static int count_plugin_words(int n, const char *const *words) {
    static const char *const with_value[] = {"-load", "-plugin", "-add-plugin", "-plugin-arg-"};
    if (n < 2 || strcmp(words[0], "-Xclang") != 0) {
        return 0;
    }
    if (strncmp(words[1], "-fpass-plugin", 13) == 0) {
        return 2;
    }
    for (size_t i = 0; i < sizeof with_value / sizeof *with_value; i++) {
        size_t n_name = strlen(with_value[i]);
        bool is_prefix = with_value[i][n_name - 1] == '-';
        if (is_prefix ? strncmp(words[1], with_value[i], n_name) == 0
                      : strcmp(words[1], with_value[i]) == 0) {
            return n >= 4 && strcmp(words[2], "-Xclang") == 0 ? 4 : 2;
        }
    }
    return 0;
}

int ctune_flags_skip_launchers(int n, const char *const *words) {
    static const char *const launchers[] = {"ccache", "sccache", "distcc", "icecc", "env", "nice"};
    int i = 0;
    for (bool is_launcher = true; is_launcher && i + 1 < n; i += is_launcher) {
        const char *base = base_name(words[i]);
        is_launcher = i > 0 && strchr(words[i], '=') != NULL; /* env NAME=VALUE gcc */
        for (size_t k = 0; k < sizeof launchers / sizeof *launchers; k++) {
            is_launcher |= strcmp(base, launchers[k]) == 0;
        }
    }
    return i;
}

ctune_status ctune_flags_sort(ctune_ctx *ctx, int n, const char *const *words,
                              const char *directory, bool is_clang, ctune_flags *out) {
    if (out->arena == NULL) {
        out->arena = ctune_arena_create(ctx);
    }
    if (out->arena == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    out->n_words = n;
    out->words = words;
    out->directory = directory;
    out->extract = CTUNE_NEW_ARRAY(out->arena, const char *, 2 * n + 4);
    out->run = CTUNE_NEW_ARRAY(out->arena, const char *, 2 * n + 4);
    out->unit = CTUNE_NEW_ARRAY(out->arena, const char *, 2 * n + 4);
    if (out->extract == NULL || out->run == NULL || out->unit == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    for (int i = 0; i < n; i++) {
        const char *word = words[i];
        const flag_row *row = row_of(word);
        int n_plugin = count_plugin_words(n - i, words + i);
        if (n_plugin > 0) {
            i += n_plugin - 1;
            continue;
        }
        if (row == NULL) {
            continue; /* an input */
        }
        if (i + 3 < n && is_pch_include(words + i)) {
            put_pch_include(out, directory, words + i);
            i += 3;
            continue;
        }
        size_t n_prefix = strlen(row->prefix);
        bool is_joined = strlen(word) > n_prefix; /* a row of a whole word is longer */
        if ((row->flags & PATH_VALUE) && is_joined) {
            word = ctune_arena_printf(out->arena, "%s%s", row->prefix,
                                      absolute(out->arena, directory, word + n_prefix));
        }
        put_both(out, row->flags, is_clang, word);
        if ((row->flags & VALUE) && !is_joined && i + 1 < n) {
            const char *value = words[++i];
            put_both(out, row->flags, is_clang,
                     row->flags & PATH_VALUE ? absolute(out->arena, directory, value) : value);
        }
    }
    return ctune_arena_has_failed(out->arena) ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory")
                                              : CTUNE_OK;
}

void ctune_flags_clear(ctune_flags *flags) {
    ctune_arena_destroy(flags->arena);
    memset(flags, 0, sizeof *flags);
}
