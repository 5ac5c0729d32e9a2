/*
 * Clang from the plugin's view: the headers, and what differs between versions 17 to 20.
 */
#ifndef CTUNE_PLUGIN_CLANG_COMPAT_H
#define CTUNE_PLUGIN_CLANG_COMPAT_H

#include "clang/AST/ASTConsumer.h"
#include "clang/Basic/CodeGenOptions.h"
#include "clang/Basic/Diagnostic.h"
#include "clang/Basic/FileManager.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Basic/Version.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendAction.h"
#include "clang/Frontend/FrontendOptions.h"
#include "clang/Frontend/FrontendPluginRegistry.h"
#include "clang/Lex/PPCallbacks.h"
#include "clang/Lex/Pragma.h"
#include "clang/Lex/Preprocessor.h"
#include "llvm/Support/MemoryBuffer.h"

/* The calls in this folder are the same in these; in clang 20 -Werror makes errors of our warnings.
 */
#if CLANG_VERSION_MAJOR < 17 || CLANG_VERSION_MAJOR > 20
#error "ctune's clang plugin knows clang 17 to 20"
#endif

namespace ctune {

inline unsigned custom_diag(clang::DiagnosticsEngine &diags,
                            clang::DiagnosticsEngine::Level level) {
    return diags.getDiagnosticIDs()->getCustomDiagID(
        static_cast<clang::DiagnosticIDs::Level>(level), "%0");
}

/* The printer is borrowed. */
inline void create_diagnostics(clang::CompilerInstance &instance, clang::CompilerInstance &parent,
                               clang::DiagnosticConsumer *printer) {
#if CLANG_VERSION_MAJOR >= 20
    instance.createDiagnostics(parent.getVirtualFileSystem(), printer, false);
#else
    (void)parent;
    instance.createDiagnostics(printer, false);
#endif
}

/* Empty when there is no such file. */
inline clang::OptionalFileEntryRef find_file(clang::CompilerInstance &compiler, const char *path) {
    return compiler.getFileManager().getOptionalFileRef(path);
}

} // namespace ctune

#endif
