/*
 * Which compiler and flags a command line means: the words after `--`, or a line of
 * compile_commands.json, or the default. plugin/transform/flags.c says what each word is for.
 */
#include "plugin/tool/plugins.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
        int n_launchers = ctune_flags_skip_launchers(n, found);
        words = found + n_launchers;
        n -= n_launchers;
        ctune_plugin_kind kind;
        if (!ctune_flags_is_compiler(words[0]) && !ctune_plugin_find(ctx, words[0], &kind)) {
            return ctune_fail(ctx, CTUNE_EUSAGE,
                              "%s/compile_commands.json: '%s' is no C compiler that ctune knows "
                              "(clang, gcc)",
                              options->build_dir, words[0]);
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
    return ctune_flags_sort(ctx, n, words, directory, ctune_flags_is_clang(out->compiler), out);
}
