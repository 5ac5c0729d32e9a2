/*
 * The flags part of a target: a list of compiler flags in, one canonical line out.
 *
 * Two command lines that give the same code should give the same line, and two that differ should
 * not; neither can be had exactly without knowing every flag of every compiler. So: a short table
 * of what is dropped, a rule for what overrides what ("-O2 -O3", "-ffoo -fno-foo", "-march=a
 * -march=b"), and everything else is kept.
 */
#include "search/detect/detect.h"

#include "runtime/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* prefix of the flag, does it match the whole word only, words that follow it */
static const struct {
    const char *prefix;
    bool is_whole;
    int n_args;
} dropped[] = {
    {"-D", true, 1},
    {"-U", true, 1},
    {"-I", true, 1},
    {"-o", true, 1},
    {"-x", true, 1},
    {"-L", true, 1},
    {"-l", true, 1},
    {"-include", true, 1},
    {"-imacros", true, 1},
    {"-isystem", true, 1},
    {"-iquote", true, 1},
    {"-idirafter", true, 1},
    {"-iprefix", true, 1},
    {"-isysroot", true, 1},
    {"-MF", true, 1},
    {"-MT", true, 1},
    {"-MQ", true, 1},
    {"-Xlinker", true, 1},
    {"-Xpreprocessor", true, 1},
    {"-D", false, 0},
    {"-U", false, 0},
    {"-I", false, 0},
    {"-L", false, 0},
    {"-l", false, 0},
    {"-i", false, 0},
    {"-M", false, 0},
    {"-W", false, 0},
    {"-w", true, 0},
    {"-g", false, 0},
    {"-c", true, 0},
    {"-S", true, 0},
    {"-E", true, 0},
    {"-v", true, 0},
    {"-pipe", true, 0},
    {"-pedantic", false, 0},
    {"-save-temps", false, 0},
    {"-fdiagnostics", false, 0},
    {"-fcolor", false, 0},
    {"-fno-color", false, 0},
    {"-fno-diagnostics", false, 0},
    {"-fplugin", false, 0},
    {"-fpass-plugin", false, 0},
    {"-fdebug", false, 0},
    {"-ffile-prefix", false, 0},
    {"-fmacro-prefix", false, 0},
    {"-fdump", false, 0},
    {"-ftime-", false, 0},
    {"-fsyntax-only", true, 0},
    {"-fopt-info", false, 0},
    {"-Rpass", false, 0},
    {"-ferror-limit", false, 0},
    {"-fmax-errors", false, 0},
    {"-fmessage-length", false, 0},
    {"-o", false, 0},
    {"-P", true, 0},
    {"-C", true, 0},
    {"-dM", true, 0},
    {"-r", true, 0},
    {"-shared", true, 0},
    {"-s", true, 0},
    {"-B", true, 1},
    {"-B", false, 0},
    {"-H", true, 0},
    {"-z", true, 1},
    {"-T", true, 1},
    {"-T", false, 0},
    {"-u", true, 1},
    {"-Q", false, 0},
    {"-fuse-ld", false, 0},
    {"-fverbose-asm", true, 0},
    {"-fno-verbose-asm", true, 0},
    {"-frecord-gcc-switches", true, 0},
    {"-frecord-command-line", true, 0},
    {"-frandom-seed", false, 0},
    {"-fident", true, 0},
    {"-fno-ident", true, 0},
    {"-fansi-escape-codes", true, 0},
    {"-fcaret-diagnostics", false, 0},
    {"-fno-caret-diagnostics", false, 0},
    {"-fshow-", false, 0},
    {"-fno-show-", false, 0},
    {"-fspell-checking", false, 0},
    {"-fno-spell-checking", false, 0},
    {"-fmacro-backtrace-limit", false, 0},
    {"-ftrack-macro-expansion", false, 0},
    {"-ftabstop", false, 0},
    {"-ftemplate-", false, 0},
    {"-ffile-compilation-dir", false, 0},
    {"-fworking-directory", true, 0},
    {"-fno-working-directory", true, 0},
    {"-finput-charset", false, 0},
    {"-fpch-", false, 0},
    {"-fintegrated-as", true, 0},
    {"-fno-integrated-as", true, 0},
    {"-fstack-usage", true, 0},
    {"-fcallgraph-info", false, 0},
    {"-fsave-optimization-record", false, 0},
    {"-fno-save-optimization-record", false, 0},
    {"-integrated-as", true, 0},
    {"-no-integrated-as", true, 0},
    {"-no-canonical-prefixes", true, 0},
    {"-nostdinc", true, 0},
    {"-nostdlib", true, 0},
    {"-nodefaultlibs", true, 0},
    {"-nostartfiles", true, 0},
    {"-rdynamic", true, 0},
    {"-rtlib", false, 0},
    {"-static-libgcc", true, 0},
    {"-no-pie", true, 0},
    {"-pie", true, 0},
    {"-trigraphs", true, 0},
    {"--gcc-toolchain", false, 0},
    {"--gcc-install-dir", false, 0},
    {"--rtlib", false, 0},
};

/* These say what the compiler reads or where its code ends up, not what a loop becomes; a compiler
 * that is asked for its macros gets them all the same. What an ISO mode means for products is put
 * into the line by detect.c. */
static const struct {
    const char *prefix;
    bool is_whole;
} codeless[] = {
    {"-std=", false}, {"--std=", false},    {"-ansi", true},
    {"-m64", true},   {"-mcmodel=", false}, {"-pthread", true},
};

static bool is_codeless(const char *flag) {
    for (size_t i = 0; i < sizeof codeless / sizeof *codeless; i++) {
        const char *prefix = codeless[i].prefix;
        if (codeless[i].is_whole ? strcmp(flag, prefix) == 0
                                 : strncmp(flag, prefix, strlen(prefix)) == 0) {
            return true;
        }
    }
    return false;
}

/* Kept, but with the next word: -mllvm -polly. */
static const char *const with_word[] = {"-mllvm", "-Xclang", "-target", "-arch", "--param"};

bool ctune_target_is_dropped(const char *flag, int *n_args) {
    *n_args = 0;
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++) {
        size_t n = strlen(dropped[i].prefix);
        if (dropped[i].is_whole ? strcmp(flag, dropped[i].prefix) == 0
                                : strncmp(flag, dropped[i].prefix, n) == 0) {
            *n_args = dropped[i].n_args;
            return true;
        }
    }
    for (size_t i = 0; i < sizeof with_word / sizeof *with_word; i++) {
        *n_args = strcmp(flag, with_word[i]) == 0 ? 1 : *n_args;
    }
    return flag[0] != '-' || strncmp(flag, "--sysroot", 9) == 0;
}

const char *ctune_target_last(int n_flags, const char *const *flags, const char *prefix) {
    const char *value = NULL;
    size_t n = strlen(prefix);
    for (int i = 0; i < n_flags; i++) {
        if (strncmp(flags[i], prefix, n) == 0) {
            value = flags[i] + n;
        }
    }
    return value;
}

/* ---- one word ------------------------------------------------------------------------------ */
/* What a later flag must share to override: "-O", "-ffoo" for -fno-foo, "-march" for -march=x. */
static void override_key(const char *flag, char *out, size_t size) {
    if (strncmp(flag, "-O", 2) == 0) {
        flag = "-O";
    } else if ((flag[1] == 'f' || flag[1] == 'm') && strncmp(flag + 2, "no-", 3) == 0) {
        snprintf(out, size, "-%c%s", flag[1], flag + 5);
        return;
    }
    bool has_word = strchr(flag, ' ') != NULL; /* -mllvm x: each one counts */
    snprintf(out, size, "%.*s", has_word ? (int)strlen(flag) : (int)strcspn(flag, "="), flag);
}

static bool is_overridden(char *const *words, int n, int i) {
    char mine[256], other[256];
    override_key(words[i], mine, sizeof mine);
    for (int j = i + 1; j < n; j++) {
        override_key(words[j], other, sizeof other);
        if (strcmp(mine, other) == 0) {
            return true;
        }
    }
    return false;
}

/* Owner: caller. arg NULL or the word that belongs to the flag. */
static char *word_text(const char *flag, const char *arg) {
    ctune_text text;
    ctune_text_init(&text);
    const char *path = strchr(flag, '=');
    bool has_path = path != NULL && strchr(path, '/') != NULL;
    ctune_text_append_n(&text, flag, has_path ? (size_t)(path - flag) : strlen(flag));
    if (arg != NULL && strchr(arg, '/') == NULL) {
        ctune_text_printf(&text, " %s", arg);
    }
    if (text.failed) {
        ctune_text_clear(&text);
    }
    return text.data;
}

/* ---- all of them --------------------------------------------------------------------------- */
static int compare_words(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Fills words (owned), returns how many, -1 when memory is out. */
static int kept_words(int n_flags, const char *const *flags, char **words) {
    int n = 0;
    for (int i = 0; i < n_flags; i++) {
        int n_args;
        bool is_dropped = ctune_target_is_dropped(flags[i], &n_args);
        const char *arg = n_args > 0 && i + 1 < n_flags ? flags[i + 1] : NULL;
        if (!is_dropped && !is_codeless(flags[i])) {
            words[n] = word_text(flags[i], arg);
            if (words[n++] == NULL) {
                return -1;
            }
        }
        i += n_args;
    }
    return n;
}

static void print_words(char **words, int n, ctune_text *out) {
    int n_left = 0;
    for (int i = 0; i < n; i++) { /* later words are untouched when i is judged */
        if (is_overridden(words, n, i)) {
            free(words[i]);
        } else {
            words[n_left++] = words[i];
        }
        if (n_left <= i) {
            words[i] = NULL;
        }
    }
    qsort(words, (size_t)n_left, sizeof *words, compare_words);
    for (int i = 0; i < n_left; i++) {
        ctune_text_printf(out, "%s%s", i == 0 ? "" : " ", words[i]);
    }
}

ctune_status ctune_target_flags(ctune_ctx *ctx, int n_flags, const char *const *flags, char *out,
                                size_t size) {
    char **words = calloc((size_t)n_flags + 1, sizeof *words);
    int n = words != NULL ? kept_words(n_flags, flags, words) : -1;
    ctune_text text;
    ctune_text_init(&text);
    if (n > 0) {
        print_words(words, n, &text);
    }
    bool ok = n >= 0 && !text.failed;
    if (ok && text.len < size) {
        snprintf(out, size, "%s", ctune_text_get(&text));
    } else if (ok) {
        uint64_t hash = ctune_hash(CTUNE_HASH_INIT, text.data, text.len);
        snprintf(out, size, "%.*s ~%016llx", (int)size - 20, text.data, (unsigned long long)hash);
    }
    for (int i = 0; words != NULL && i < n_flags; i++) {
        free(words[i]);
    }
    free(words);
    ctune_text_clear(&text);
    return ok ? CTUNE_OK : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for compiler flags");
}
