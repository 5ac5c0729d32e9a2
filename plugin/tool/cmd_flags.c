/*
 * ctune flags: the flags that load the plugin into a compiler, for build systems that have a place
 * for flags.
 */
#include "plugin/tool/plugins.h"
#include "runtime/guard.h"
#include "runtime/rng.h"
#include "search/facts/facts.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* Nothing in it means anything to a shell. */
static bool is_plain(const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_=./,+:@%";
    return word[strspn(word, plain)] == '\0';
}

/* As a shell reads it back. */
static void print_word(const char *word) {
    if (is_plain(word)) {
        fputs(word, stdout);
        return;
    }
    putchar('\'');
    for (; *word != '\0'; word++) {
        if (*word == '\'') {
            fputs("'\\''", stdout);
        } else {
            putchar(*word);
        }
    }
    putchar('\'');
}

/* $(ctune flags gcc) is split at blanks, and quotes in it are no quotes: a plugin in a folder with
 * such a name is named through a link in the cache folder. The word itself when there can be none.
 */
static const char *plain_word(ctune_arena *arena, const char *word) {
    static const char option[] = "-fplugin=";
    char cache[PATH_MAX];
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    if (is_plain(word) || strncmp(word, option, sizeof option - 1) != 0 ||
        !ctune_cache_folder(cache, sizeof cache) || !is_plain(cache)) {
        return word;
    }
    const char *path = word + sizeof option - 1, *slash = strrchr(path, '/');
    const char *folder = ctune_arena_strndup(arena, path, (size_t)(slash - path));
    const char *link =
        ctune_arena_printf(arena, "%s/plugins-%016" PRIx64, cache,
                           ctune_hash(CTUNE_HASH_INIT, path, (size_t)(slash - path)));
    const char *fresh = ctune_arena_printf(arena, "%s.%ld", link, (long)getpid());
    if (ctune_arena_has_failed(arena) || ctune_folders_make(&ctx, link) != CTUNE_OK ||
        symlink(folder, fresh) != 0) {
        return word;
    }
    if (rename(fresh, link) != 0) {
        unlink(fresh);
        return word;
    }
    const char *plain = ctune_arena_printf(arena, "%s%s%s", option, link, slash);
    return plain != NULL ? plain : word;
}

static ctune_status print_flags(ctune_ctx *ctx, ctune_arena *arena, const ctune_options *options) {
    ctune_plugin_kind kind;
    if (options->n_words != 1) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "one compiler, please: ctune flags clang|gcc");
    }
    if (!ctune_plugin_find(ctx, options->words[0], &kind)) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "'%s' is neither clang nor gcc", options->words[0]);
    }
    int n;
    const char *words[CTUNE_MAX_PLUGIN_FLAGS];
    ctune_status status = ctune_plugin_flags(ctx, arena, options, kind, &n, words);
    for (int i = 0; i < n && status == CTUNE_OK; i++) {
        print_word(plain_word(arena, words[i]));
        putchar(i + 1 < n ? ' ' : '\n');
    }
    return status;
}

int ctune_cmd_flags(ctune_ctx *ctx, const ctune_options *options) {
    ctune_arena *arena = ctune_arena_create(ctx);
    ctune_status status = arena != NULL ? print_flags(ctx, arena, options)
                                        : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    ctune_arena_destroy(arena);
    return ctune_report(ctx, status);
}
