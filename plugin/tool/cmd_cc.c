/*
 * ctune cc: run a compiler with the plugin.
 *
 * In: a compiler's command line. Out: the same command, with the plugin's flags behind the compiler
 * when it compiles C, executed in place of this process. Preprocessing, linking, questions (-v,
 * --version, -print-...) and other languages are passed on as they are, and so is everything when
 * there is no plugin: a build does not end because ctune is not there. With --mode=record a link
 * gets the library that recorded code calls. The lock's hash is in the command as a word that the
 * plugin ignores: a compiler cache sees another command when the lock has changed.
 */
#include "plugin/tool/plugins.h"
#include "runtime/rng.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* ---- what the command does ------------------------------------------------------------------ */
typedef struct command_facts {
    bool has_source;      /* C is among the inputs */
    bool has_input;       /* anything is */
    bool is_no_compile;   /* -E, -M, ... */
    bool is_no_link;      /* -c, ... */
    const char *language; /* of the inputs that follow; NULL: by the name */
    const char *lock;     /* --lock; NULL: beside each source */
    uint64_t lock_hash;   /* of the locks' bytes, 0: there is none */
} command_facts;

static void hash_lock(command_facts *facts, const char *path) {
    FILE *file = fopen(path, "re");
    char bytes[4096];
    size_t n;
    while (file != NULL && (n = fread(bytes, 1, sizeof bytes, file)) > 0) {
        facts->lock_hash =
            ctune_hash(facts->lock_hash != 0 ? facts->lock_hash : CTUNE_HASH_INIT, bytes, n);
    }
    if (file != NULL) {
        fclose(file);
    }
}

static void take_source(command_facts *facts, const char *source) {
    const char *slash = strrchr(source, '/');
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%.*sctune.lock",
                     slash != NULL ? (int)(slash + 1 - source) : 0, source);
    if (facts->lock == NULL && n > 0 && (size_t)n < sizeof path) {
        hash_lock(facts, path);
    }
    facts->has_source = true;
}

static bool ends_with(const char *text, size_t n, const char *suffix) {
    size_t n_suffix = strlen(suffix);
    return n > n_suffix && memcmp(text + n - n_suffix, suffix, n_suffix) == 0;
}

/* C files that a response file names; of its quotes only those around a word. */
static void take_response(command_facts *facts, const char *path) {
    FILE *file = fopen(path, "re");
    char text[4096];
    while (file != NULL && fscanf(file, "%4095s", text) == 1) {
        char *word = text + (text[0] == '"' || text[0] == '\'');
        size_t n = strlen(word);
        n -= n > 0 && (word[n - 1] == '"' || word[n - 1] == '\'');
        word[n] = '\0';
        if (word[0] != '-' && ends_with(word, n, ".c")) {
            take_source(facts, word);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    facts->has_input = true;
}

static void take_input(command_facts *facts, const char *word) {
    bool is_c = facts->language != NULL && strcmp(facts->language, "none") != 0
                    ? strcmp(facts->language, "c") == 0
                    : ends_with(word, strlen(word), ".c");
    if (is_c) {
        take_source(facts, word);
    }
    facts->has_input = true;
}

static bool is_one_of(const char *word, const char *const *words) {
    for (size_t i = 0; words[i] != NULL; i++) {
        if (strcmp(word, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Words that stand for themselves: what the compiler does not do. */
static void take_option(command_facts *facts, const char *word) {
    static const char *const no_compile[] = {"-E",     "-M",        "-MM", "-###",
                                             "--help", "--version", NULL};
    static const char *const no_link[] = {"-c", "-S", "-fsyntax-only", "-r", NULL};
    facts->is_no_compile = facts->is_no_compile || is_one_of(word, no_compile) ||
                           strncmp(word, "-print-", 7) == 0 || strncmp(word, "--print-", 8) == 0 ||
                           strncmp(word, "-dump", 5) == 0;
    facts->is_no_link = facts->is_no_link || is_one_of(word, no_link);
}

/* Options whose value is the next word and may look like an input. */
static bool has_value(const char *word) {
    static const char *const words[] = {
        "-o",         "-MF",      "-MT",      "-MQ",         "-MJ",
        "-I",         "-D",       "-U",       "-L",          "-T",
        "-l",         "-include", "-imacros", "-isystem",    "-iquote",
        "-idirafter", "-Xlinker", "-Xclang",  "-Xassembler", "-Xpreprocessor",
        "-mllvm",     "--param",  "-target",  "-u",          "-z",
        "-aux-info",  NULL,
    };
    return is_one_of(word, words);
}

static void read_command(int n, char *const *words, command_facts *facts) {
    if (facts->lock != NULL) {
        hash_lock(facts, facts->lock);
    }
    for (int i = 0; i < n; i++) {
        const char *word = words[i];
        if (strcmp(word, "-x") == 0 && i + 1 < n) {
            facts->language = words[++i];
        } else if (strncmp(word, "-x", 2) == 0) {
            facts->language = word + 2;
        } else if (has_value(word)) {
            i++;
        } else if (word[0] == '@') {
            take_response(facts, word + 1);
        } else if (word[0] != '-' || word[1] == '\0') {
            take_input(facts, word);
        } else {
            take_option(facts, word);
        }
    }
}

/* ---- the compiler --------------------------------------------------------------------------- */
/* A command being put together, in the arena. */
typedef struct command {
    int n;
    const char **words; /* with room for what is added, NULL at the end */
    int i_compiler;
} command;

/* The plugin's flags behind the compiler. The command is untouched when there is no plugin for it,
 * with a warning. */
static void add_plugin(ctune_ctx *ctx, ctune_arena *arena, const ctune_options *options,
                       uint64_t lock_hash, command *c) {
    int n_flags = 0;
    const char *flags[CTUNE_MAX_PLUGIN_FLAGS + 1], *compiler = c->words[c->i_compiler];
    ctune_plugin_kind kind;
    ctune_status status =
        ctune_plugin_find(ctx, compiler, &kind)
            ? ctune_plugin_flags(ctx, arena, options, kind, &n_flags, flags)
            : ctune_fail(ctx, CTUNE_EENV, "'%s' is neither clang nor gcc", compiler);
    if (status != CTUNE_OK) {
        fprintf(stderr, "ctune: warning: nothing is tuned: %s\n", ctx->error);
        return;
    }
    if (lock_hash != 0) {
        const char *key =
            ctune_arena_printf(arena, "-fplugin-arg-ctune-key=%016" PRIx64, lock_hash);
        flags[n_flags] = key;
        n_flags += key != NULL;
    }
    const char **behind = c->words + c->i_compiler + 1;
    memmove(behind + n_flags, behind, (size_t)(c->n - c->i_compiler) * sizeof *behind);
    memcpy(behind, flags, (size_t)n_flags * sizeof *behind);
    c->n += n_flags;
}

/* The library of recorded code, at the end; by then a -x must be forgotten. */
static void add_runtime(ctune_ctx *ctx, ctune_arena *arena, const command_facts *facts,
                        command *c) {
    const char *library = ctune_record_library_find(ctx, arena);
    if (library == NULL) {
        fprintf(stderr, "ctune: warning: %s\n", ctx->error);
        return;
    }
    if (facts->language != NULL) {
        c->words[c->n++] = "-x";
        c->words[c->n++] = "none";
    }
    c->words[c->n++] = library;
}

static ctune_status make_command(ctune_ctx *ctx, ctune_arena *arena, const ctune_options *options,
                                 command *c) {
    enum { ROOM = CTUNE_MAX_PLUGIN_FLAGS + 5 };
    int n = options->n_compiler;
    c->n = n;
    c->i_compiler = ctune_flags_skip_launchers(n, (const char *const *)options->compiler);
    c->words = CTUNE_NEW_ARRAY(arena, const char *, (size_t)n + ROOM);
    if (c->words == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    memcpy(c->words, options->compiler, (size_t)n * sizeof *c->words);
    command_facts facts = {.lock = options->lock};
    read_command(n - c->i_compiler - 1, options->compiler + c->i_compiler + 1, &facts);
    bool is_record = options->mode != NULL && strcmp(options->mode, "record") == 0;
    if (is_record && facts.has_input && !facts.is_no_compile && !facts.is_no_link) {
        add_runtime(ctx, arena, &facts, c);
    }
    if (facts.has_source && !facts.is_no_compile) {
        add_plugin(ctx, arena, options, facts.lock_hash, c);
    }
    return CTUNE_OK;
}

static ctune_status run(ctune_ctx *ctx, ctune_arena *arena, const ctune_options *options) {
    ctune_transform_mode mode;
    command c;
    if (options->n_compiler == 0) {
        return ctune_fail(ctx, CTUNE_EUSAGE,
                          "a compiler and its words, please; try `ctune cc --help`");
    }
    if (options->mode != NULL && !ctune_transform_mode_find(options->mode, &mode)) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "no mode '%s'; there are lock, predict, off, record",
                          options->mode);
    }
    ctune_status status = make_command(ctx, arena, options, &c);
    if (status != CTUNE_OK) {
        return status;
    }
    execvp(c.words[0], (char *const *)c.words);
    return ctune_fail(ctx, CTUNE_EENV, "cannot run '%s': %s", c.words[0], strerror(errno));
}

int ctune_cmd_cc(ctune_ctx *ctx, const ctune_options *options) {
    ctune_arena *arena = ctune_arena_create(ctx);
    ctune_status status =
        arena != NULL ? run(ctx, arena, options) : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    ctune_arena_destroy(arena);
    return ctune_report(ctx, status);
}
