/*
 * Finding plugins: in CTUNE_PLUGIN_DIR, beside the program (a build tree), or where the
 * installation has them, relative to the program.
 */
#include "plugin/tool/plugins.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef CTUNE_PLUGINS /* from the program's folder to the plugins', as installed */
#define CTUNE_PLUGINS "../lib/ctune"
#endif

static const struct {
    const char *name, *file;
} rows[] = {
#define X(id, name, file) {name, file},
    CTUNE_PLUGIN_TABLE(X)
#undef X
};

/* ---- which ---------------------------------------------------------------------------------- */
/* "gcc" in "gcc", "arm-none-eabi-gcc", "gcc-12"; not in "gccgo". */
static bool has_word(const char *text, const char *word) {
    size_t n = strlen(word);
    for (const char *p = text; (p = strstr(p, word)) != NULL; p++) {
        if ((p == text || p[-1] == '-') && (p[n] == '\0' || p[n] == '-')) {
            return true;
        }
    }
    return false;
}

bool ctune_plugin_find(ctune_ctx *ctx, const char *compiler, ctune_plugin_kind *kind) {
    const char *slash = strrchr(compiler, '/');
    for (int i = 0; i < CTUNE_N_PLUGINS; i++) {
        if (has_word(slash != NULL ? slash + 1 : compiler, rows[i].name)) {
            *kind = (ctune_plugin_kind)i;
            return true;
        }
    }
    ctune_text text;
    ctune_text_init(&text);
    const char *const words[] = {compiler, "--version", NULL};
    bool ok = ctune_program_run(ctx, words, &text) == CTUNE_OK;
    bool is_clang = ok && strstr(ctune_text_get(&text), "clang version") != NULL;
    bool is_gcc = ok && strstr(ctune_text_get(&text), "Free Software Foundation") != NULL;
    ctune_text_clear(&text);
    *kind = is_clang ? CTUNE_PLUGIN_CLANG : CTUNE_PLUGIN_GCC;
    return is_clang || is_gcc;
}

/* ---- where ---------------------------------------------------------------------------------- */
enum { MAX_FOLDERS = 2 };

/* Where plugins may be; returns their number. */
static int list_folders(ctune_arena *arena, const char *folders[MAX_FOLDERS]) {
    const char *given = getenv("CTUNE_PLUGIN_DIR");
    if (given != NULL && given[0] != '\0') {
        folders[0] = given;
        return 1;
    }
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
    folders[0] = ctune_arena_strdup(arena, self);
    folders[1] = ctune_arena_printf(arena, "%s/" CTUNE_PLUGINS, self);
    return 2;
}

/* The first readable folder/file; NULL when there is none, *looked_at is the last folder then. */
static const char *find_file(ctune_arena *arena, const char *file, const char **looked_at) {
    const char *folders[MAX_FOLDERS];
    int n = list_folders(arena, folders);
    *looked_at = folders[n - 1];
    for (int i = 0; i < n; i++) {
        const char *path = ctune_arena_printf(arena, "%s/%s", folders[i], file);
        if (path != NULL && access(path, R_OK) == 0) {
            return path;
        }
    }
    return NULL;
}

/* Without "..": the flags are kept in other people's files. */
static const char *clean_path(ctune_arena *arena, const char *path) {
    char real[PATH_MAX];
    return realpath(path, real) != NULL ? ctune_arena_strdup(arena, real) : path;
}

ctune_status ctune_plugin_flags(ctune_ctx *ctx, ctune_arena *arena, const ctune_options *options,
                                ctune_plugin_kind kind, int *n_words,
                                const char *words[CTUNE_MAX_PLUGIN_FLAGS]) {
    const struct {
        const char *name, *value;
    } args[] = {{"lock", options->lock},
                {"mode", options->mode},
                {"report", options->report},
                {"target", options->nearest ? "nearest" : NULL}};
    ctune_transform_mode mode;
    if (options->mode != NULL && !ctune_transform_mode_find(options->mode, &mode)) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "no mode '%s'; there are lock, predict, off, record",
                          options->mode);
    }
    const char *looked_at;
    const char *path = find_file(arena, rows[kind].file, &looked_at);
    if (path == NULL) {
        return ctune_fail(ctx, CTUNE_EENV,
                          "no plugin for %s (%s) in %s: this ctune was built without it, or set "
                          "CTUNE_PLUGIN_DIR",
                          rows[kind].name, rows[kind].file, looked_at);
    }
    int n = 0;
    words[n++] = ctune_arena_printf(arena, "-fplugin=%s", clean_path(arena, path));
    for (size_t i = 0; i < sizeof args / sizeof *args; i++) {
        if (args[i].value != NULL) {
            words[n++] =
                ctune_arena_printf(arena, "-fplugin-arg-ctune-%s=%s", args[i].name, args[i].value);
        }
    }
    *n_words = n;
    return ctune_arena_has_failed(arena) ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory")
                                         : CTUNE_OK;
}

const char *ctune_record_library_find(ctune_ctx *ctx, ctune_arena *arena) {
    static const char file[] = "libctune-record-runtime.a";
    const char *looked_at, *path = find_file(arena, file, &looked_at);
    if (path == NULL) { /* installed: for linking by name, one folder up */
        path = find_file(arena, "../libctune-record-runtime.a", &looked_at);
    }
    if (path == NULL) {
        ctune_fail(ctx, CTUNE_EENV, "no %s in %s or above: recorded code will not link", file,
                   looked_at);
        return NULL;
    }
    return clean_path(arena, path);
}
