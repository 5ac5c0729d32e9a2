/*
 * ctune flags: the flags that load the plugin into a compiler, for build systems that have a place
 * for flags.
 */
#include "plugin/tool/plugins.h"

#include <string.h>

/* As a shell reads it back. */
static void print_word(const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_=./,+:@%";
    if (word[strspn(word, plain)] == '\0') {
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
        print_word(words[i]);
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
