/*
 * ctune cc: run a compiler with the plugin.
 *
 * In: a compiler's command line. Out: the same command, with the plugin's flags behind the compiler
 * when it compiles C, executed in place of this process. Preprocessing, linking, questions (-v,
 * --version, -print-...) and other languages are passed on as they are, and so is everything when
 * there is no plugin: a build does not end because ctune is not there.
 */
#include "plugin/tool/plugins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_RESPONSE_BYTES = 16 << 20 };

/* ---- what the command does ------------------------------------------------------------------ */
typedef struct command_facts {
    bool has_source;  /* C is among the inputs */
    bool is_no_compile; /* -E, -M, ... */
    const char *language; /* of the inputs that follow; NULL: by the name */
} command_facts;

static bool ends_with(const char *text, size_t n, const char *suffix) {
    size_t n_suffix = strlen(suffix);
    return n > n_suffix && memcmp(text + n - n_suffix, suffix, n_suffix) == 0;
}

/* Does a response file name a C file? Quotes are of no interest for that. */
static bool response_has_source(const char *path) {
    FILE *file = fopen(path, "re");
    char word[4096];
    bool has_source = false;
    while (file != NULL && !has_source && fscanf(file, "%4095s", word) == 1) {
        size_t n = strlen(word);
        n -= n > 0 && (word[n - 1] == '"' || word[n - 1] == '\'');
        has_source = word[0] != '-' && ends_with(word, n, ".c");
    }
    if (file != NULL) {
        fclose(file);
    }
    return has_source;
}

static void take_input(command_facts *facts, const char *word) {
    bool is_c = facts->language != NULL && strcmp(facts->language, "none") != 0
                    ? strcmp(facts->language, "c") == 0
                    : ends_with(word, strlen(word), ".c");
    facts->has_source = facts->has_source || is_c;
}

/* Words that stand for themselves and keep a compile from being one. */
static bool is_no_compile(const char *word) {
    static const char *const words[] = {"-E", "-M", "-MM", "-###", "--help", "--version"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(word, words[i]) == 0) {
            return true;
        }
    }
    return strncmp(word, "-print-", 7) == 0 || strncmp(word, "--print-", 8) == 0 ||
           strncmp(word, "-dump", 5) == 0;
}

/* Options whose value is the next word and may look like an input. */
static bool has_value(const char *word) {
    static const char *const words[] = {"-o",  "-MF", "-MT",      "-MQ",      "-MJ",  "-I",
                                        "-D",  "-U",  "-include", "-imacros", "-L",   "-T",
                                        "-isystem", "-iquote", "-idirafter", "-Xlinker", "-Xclang",
                                        "-Xassembler", "-Xpreprocessor", "-mllvm", "--param"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(word, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_compile(int n, char *const *words) {
    command_facts facts = {0};
    for (int i = 0; i < n; i++) {
        const char *word = words[i];
        if (strcmp(word, "-x") == 0 && i + 1 < n) {
            facts.language = words[++i];
        } else if (strncmp(word, "-x", 2) == 0) {
            facts.language = word + 2;
        } else if (has_value(word)) {
            i++;
        } else if (word[0] == '@') {
            facts.has_source = facts.has_source || response_has_source(word + 1);
        } else if (word[0] != '-' || word[1] == '\0') {
            take_input(&facts, word);
        } else {
            facts.is_no_compile = facts.is_no_compile || is_no_compile(word);
        }
    }
    return facts.has_source && !facts.is_no_compile;
}

/* ---- the compiler --------------------------------------------------------------------------- */
/* ccache gcc: the compiler is the second word. */
static int skip_launchers(int n, char *const *words) {
    static const char *const launchers[] = {"ccache", "sccache", "distcc", "icecc", "env", "nice"};
    int i = 0;
    for (bool is_launcher = true; is_launcher && i + 1 < n; i += is_launcher) {
        const char *slash = strrchr(words[i], '/');
        is_launcher = false;
        for (size_t j = 0; j < sizeof launchers / sizeof *launchers; j++) {
            is_launcher |= strcmp(slash != NULL ? slash + 1 : words[i], launchers[j]) == 0;
        }
    }
    return i;
}

/* The command with the plugin's flags behind word i_compiler, in the arena; the command itself when
 * there is no plugin for it, with a warning. */
static char *const *add_plugin(ctune_ctx *ctx, ctune_arena *arena, const ctune_options *options,
                               int i_compiler) {
    int n_flags = 0, n = options->n_compiler;
    const char *flags[CTUNE_MAX_PLUGIN_FLAGS];
    ctune_plugin_kind kind;
    ctune_status status =
        ctune_plugin_find(ctx, options->compiler[i_compiler], &kind)
            ? ctune_plugin_flags(ctx, arena, options, kind, &n_flags, flags)
            : ctune_fail(ctx, CTUNE_EENV, "'%s' is neither clang nor gcc",
                         options->compiler[i_compiler]);
    const char **words = CTUNE_NEW_ARRAY(arena, const char *, n + CTUNE_MAX_PLUGIN_FLAGS + 1);
    if (status != CTUNE_OK || words == NULL) {
        fprintf(stderr, "ctune: warning: nothing is tuned: %s\n", ctx->error);
        return options->compiler;
    }
    int used = 0;
    for (int i = 0; i < n; i++) {
        words[used++] = options->compiler[i];
        for (int j = 0; i == i_compiler && j < n_flags; j++) {
            words[used++] = flags[j];
        }
    }
    return (char *const *)words;
}

int ctune_cmd_cc(ctune_ctx *ctx, const ctune_options *options) {
    ctune_transform_mode mode;
    if (options->n_compiler == 0) {
        ctune_fail(ctx, CTUNE_EUSAGE, "a compiler and its words, please; try `ctune cc --help`");
        return ctune_report(ctx, CTUNE_EUSAGE);
    }
    if (options->mode != NULL && !ctune_transform_mode_find(options->mode, &mode)) {
        ctune_fail(ctx, CTUNE_EUSAGE, "no mode '%s'; there are lock, predict, off, record",
                   options->mode);
        return ctune_report(ctx, CTUNE_EUSAGE);
    }
    ctune_arena *arena = ctune_arena_create(ctx);
    if (arena == NULL) {
        ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
        return ctune_report(ctx, CTUNE_ENOMEM);
    }
    char *const *words = options->compiler;
    int i_compiler = skip_launchers(options->n_compiler, words);
    if (is_compile(options->n_compiler - i_compiler - 1, words + i_compiler + 1)) {
        words = add_plugin(ctx, arena, options, i_compiler);
    }
    execvp(words[0], words);
    ctune_fail(ctx, CTUNE_EENV, "cannot run '%s': %s", words[0], strerror(errno));
    ctune_arena_destroy(arena);
    return ctune_report(ctx, CTUNE_EENV);
}
