/*
 * Compiler words -> what the front end needs and what candidates are compiled with.
 *
 * In: the words after `--`, or a line of compile_commands.json, or nothing. Out: the compiler;
 * flags for libclang (includes, defines, language, machine; all of them when the user's compiler is
 * clang, a list of known ones for gcc, because libclang fails on a flag that it does not know);
 * flags for candidates, which are whole files without includes: no inputs, outputs, preprocessor,
 * warning, sanitizer or link flags. One table says which flag is what.
 */
#include "plugin/tool/tool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where a flag goes. EXTRACT: libclang; RUN: candidates; GCC_OK: to libclang although the compiler
 * is gcc. */
enum {
    EXTRACT = 1,
    RUN = 2,
    GCC_OK = 4,
    VALUE = 8 /* takes the next word when nothing is joined */,
    PATH_VALUE = 16
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
    {"-include", EXTRACT | GCC_OK | VALUE | PATH_VALUE},
    {"-isystem", EXTRACT | GCC_OK | VALUE | PATH_VALUE},
    {"-iquote", EXTRACT | GCC_OK | VALUE | PATH_VALUE},
    {"-idirafter", EXTRACT | GCC_OK | VALUE | PATH_VALUE},
    {"-imacros", EXTRACT | GCC_OK | VALUE | PATH_VALUE},
    {"-I", EXTRACT | GCC_OK | VALUE | PATH_VALUE},
    {"-D", EXTRACT | GCC_OK | VALUE},
    {"-U", EXTRACT | GCC_OK | VALUE},
    {"-x", EXTRACT | GCC_OK | VALUE},
    {"-std=", EXTRACT | RUN | GCC_OK},
    {"-ansi", EXTRACT | RUN | GCC_OK},
    {"-Xclang", EXTRACT | RUN | VALUE},
    {"-Xpreprocessor", VALUE},
    {"-Xlinker", VALUE},
    {"-Xassembler", VALUE},
    {"-mllvm", RUN | VALUE},
    {"--param", RUN | VALUE},
    {"-target", EXTRACT | RUN | VALUE},
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
    {"-ffile-prefix-map", 0},
    {"-fmacro-prefix-map", 0},
    {"-static", 0},
    {"-shared", 0},
    {"-pthread", RUN},
    {"-fPI", 0},
    {"-fpi", 0},
    {"-pie", 0},
    {"-funsigned-char", EXTRACT | RUN | GCC_OK},
    {"-fsigned-char", EXTRACT | RUN | GCC_OK},
    {"-ffast-math", EXTRACT | RUN | GCC_OK},
    {"-fwrapv", EXTRACT | RUN | GCC_OK},
    {"-fopenmp", EXTRACT | RUN | GCC_OK},
    {"-march=", EXTRACT | RUN | GCC_OK},
    {"-mtune=", RUN},
    {"-O", EXTRACT | RUN | GCC_OK},
    {"-f", EXTRACT | RUN},
    {"-m", EXTRACT | RUN | GCC_OK},
    {"-", EXTRACT | RUN},
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

bool ctune_program_exists(const char *name) {
    if (strchr(name, '/') != NULL) {
        return access(name, X_OK) == 0;
    }
    const char *path = getenv("PATH");
    while (path != NULL && *path != '\0') {
        size_t n = strcspn(path, ":");
        char full[1024];
        int length = snprintf(full, sizeof full, "%.*s/%s", (int)n, path, name);
        if (length > 0 && (size_t)length < sizeof full && access(full, X_OK) == 0) {
            return true;
        }
        path += n + (path[n] == ':');
    }
    return false;
}

static const char *default_compiler(void) {
    static const char *const names[] = {"clang-19", "clang", "gcc", "cc"};
    const char *given = getenv("CTUNE_CC");
    if (given != NULL && given[0] != '\0') {
        return given;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (ctune_program_exists(names[i])) {
            return names[i];
        }
    }
    return names[0];
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
}

static ctune_status sort_words(ctune_ctx *ctx, ctune_flags *out, int n, const char *const *words,
                               const char *directory, bool is_clang) {
    out->extract = CTUNE_NEW_ARRAY(out->arena, const char *, 2 * n + 4);
    out->run = CTUNE_NEW_ARRAY(out->arena, const char *, 2 * n + 4);
    if (out->extract == NULL || out->run == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    for (int i = 0; i < n; i++) {
        const char *word = words[i];
        const flag_row *row = row_of(word);
        if (row == NULL) {
            continue; /* an input */
        }
        size_t n_prefix = strlen(row->prefix);
        bool is_joined = word[n_prefix] != '\0';
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

ctune_status ctune_flags_get(ctune_ctx *ctx, const ctune_options *options, const char *file,
                             ctune_flags *out) {
    static const char *const defaults[] = {"-O3", "-march=native"};
    memset(out, 0, sizeof *out);
    out->arena = ctune_arena_create(ctx);
    if (out->arena == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    int n = options->n_compiler;
    const char *const *words = (const char *const *)options->compiler;
    const char *directory = NULL;
    if (options->build_dir != NULL) {
        const char **found;
        ctune_status status =
            ctune_database_find(ctx, out->arena, options->build_dir, file, &n, &found, &directory);
        if (status != CTUNE_OK) {
            return status;
        }
        words = found;
        while (n > 0 && !ctune_flags_is_compiler(words[0]) && words[0][0] != '-') {
            words++; /* ccache, distcc */
            n--;
        }
    }
    if (n > 0 && words[0][0] != '-') {
        if (!ctune_flags_is_compiler(words[0]) && !ctune_program_exists(words[0])) {
            return ctune_fail(ctx, CTUNE_EUSAGE, "'%s' after -- is neither a compiler nor a flag",
                              words[0]);
        }
        out->compiler = words[0];
        words++;
        n--;
    } else {
        out->compiler = default_compiler();
    }
    if (n == 0 && options->build_dir == NULL) {
        n = sizeof defaults / sizeof *defaults;
        words = defaults;
        out->note = ctune_arena_printf(
            out->arena, "no compiler flags given: using %s -O3 -march=native", out->compiler);
    }
    return sort_words(ctx, out, n, words, directory,
                      strstr(base_name(out->compiler), "clang") != NULL);
}

void ctune_flags_clear(ctune_flags *flags) {
    ctune_arena_destroy(flags->arena);
    memset(flags, 0, sizeof *flags);
}
