/*
 * What the plugin finds out about the compile that it runs in.
 */
#ifndef CTUNE_PLUGIN_CLANG_COMPILE_H
#define CTUNE_PLUGIN_CLANG_COMPILE_H

#include "plugin/clang/compat.h"
#include "plugin/shim/shim.h"

#include <vector>

namespace ctune {

/* Is this a compile, and not clang-tidy, clangd, ... reading the user's text? They get that text.
 */
bool compile_is_real();

/* Why the main file is left alone whatever is in it; "" = it is not. code is set, too. */
const char *compile_refusal(const clang::CompilerInstance &compiler, const char **code);

/* The words that the user gave to the driver, without the compiler's name; command: that name. */
std::vector<std::string> compile_words(const clang::CompilerInstance &compiler,
                                       std::string *command);

} // namespace ctune

#endif
