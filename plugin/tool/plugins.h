/*
 * Where the compiler plugins are, and the flags that load them.
 */
#ifndef CTUNE_PLUGIN_TOOL_PLUGINS_H
#define CTUNE_PLUGIN_TOOL_PLUGINS_H

#include "plugin/tool/tool.h"
#include "plugin/transform/transform.h"

/* id, name, file of the plugin. A plugin that meets another version of its compiler says so itself.
 */
#define CTUNE_PLUGIN_TABLE(X)                                                                      \
    X(CLANG, "clang", "libctune-clang.so")                                                         \
    X(GCC, "gcc", "ctune.so")

typedef enum ctune_plugin_kind {
#define X(id, name, file) CTUNE_PLUGIN_##id,
    CTUNE_PLUGIN_TABLE(X)
#undef X
        CTUNE_N_PLUGINS
} ctune_plugin_kind;

/* Which plugin is for a compiler, by its name ("x86_64-linux-gnu-gcc-12"), else by what it says of
 * itself, which costs a run of it. false: neither, or it does not run. */
bool ctune_plugin_find(ctune_ctx *ctx, const char *compiler, ctune_plugin_kind *kind);

enum { CTUNE_MAX_PLUGIN_FLAGS = 5 };

/*
 * The flags that load the plugin, with --lock, --mode and --report of options as its arguments.
 *
 * arena  owner of the words
 * Fails  EUSAGE bad --mode; EENV no plugin of the kind is installed
 */
CTUNE_MUST_USE ctune_status ctune_plugin_flags(ctune_ctx *ctx, ctune_arena *arena,
                                               const ctune_options *options, ctune_plugin_kind kind,
                                               int *n_words,
                                               const char *words[CTUNE_MAX_PLUGIN_FLAGS]);

/* Path of the library that programs built with mode=record link, in the arena. NULL: it is not
 * there, words in ctx->error. */
const char *ctune_record_library_find(ctune_ctx *ctx, ctune_arena *arena);

#endif
