/*
 * Ctune's diagnostics through clang's own engine, at the user's lines.
 */
#ifndef CTUNE_PLUGIN_CLANG_MESSAGES_H
#define CTUNE_PLUGIN_CLANG_MESSAGES_H

#include "plugin/clang/compat.h"
#include "plugin/shim/shim.h"
#include "plugin/shim/state.h"

#include <string>

namespace ctune {

/* One diagnostic with strings of its own. */
struct message {
    ctune_severity severity;
    int line, col; /* 0 = unknown */
    std::string file, code, text, hint;
};

class messages {
  public:
    messages(clang::CompilerInstance &instance, const ctune_shim_args &arguments)
        : compiler(instance), args(arguments) {}

    /* At line and column of the text that the main file had before any change. */
    void send(const message &message);
    /* At a place that clang knows. */
    void send_at(clang::SourceLocation where, const message &message);
    /* Only the first time in a build that `what` is said. */
    void send_once(const std::string &what, clang::SourceLocation where, const message &message);
    /* The main file's text as the user wrote it, for the places; before the first send. */
    void set_text(std::string name, llvm::StringRef text);

  private:
    clang::CompilerInstance &compiler;
    const ctune_shim_args &args;
    std::string name;
    llvm::StringRef text;
    clang::FileID copy; /* of the text, made for the first message */

    bool is_shown(const message &message) const;
    clang::SourceLocation place(int line, int col);
};

} // namespace ctune

#endif
