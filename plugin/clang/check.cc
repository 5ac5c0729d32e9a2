/*
 * The check of a text: see check.h.
 *
 * A second compiler instance in a child process, made from this compile's own invocation: the same
 * flags, target and diagnostics, the text in place of the main file's, no output. It goes as far as
 * code generation, where functions of another target are found out; no optimisation is run.
 */
#include "plugin/clang/check.h"

#include "clang/CodeGen/CodeGenAction.h"
#include "clang/Frontend/CompilerInvocation.h"
#include "clang/Frontend/FrontendActions.h"
#include "clang/Lex/PreprocessorOptions.h"

#include <cstdio>
#include <unistd.h>

using namespace clang;

namespace ctune {

static bool runs_check = false;

bool is_check() {
    return runs_check;
}

namespace {

/* Writes each error as a compiler would, to the standard error that the parent reads. */
class error_printer : public DiagnosticConsumer {
  public:
    void HandleDiagnostic(DiagnosticsEngine::Level level, const Diagnostic &info) override {
        DiagnosticConsumer::HandleDiagnostic(level, info);
        if (level < DiagnosticsEngine::Error) {
            return;
        }
        llvm::SmallString<256> text;
        info.FormatDiagnostic(text);
        unsigned line = 0, column = 0;
        if (info.hasSourceManager() && info.getLocation().isValid()) {
            PresumedLoc at = info.getSourceManager().getPresumedLoc(info.getLocation());
            line = at.isValid() ? at.getLine() : 0;
            column = at.isValid() ? at.getColumn() : 0;
        }
        std::fprintf(stderr, "text:%u:%u: error: %s\n", line, column, text.c_str());
    }
};

bool makes_code(frontend::ActionKind kind) {
    return kind != frontend::ParseSyntaxOnly;
}

/* Nothing may be written but diagnostics, and those to us. */
void make_silent(CompilerInvocation &invocation) {
    FrontendOptions &options = invocation.getFrontendOpts();
    options.OutputFile = "";
    options.AddPluginActions.clear();
    options.ShowStats = false;
    invocation.getDependencyOutputOpts() = DependencyOutputOptions();
    invocation.getDiagnosticOpts().DiagnosticSerializationFile.clear();
    invocation.getDiagnosticOpts().DiagnosticLogFile.clear();
    invocation.getCodeGenOpts().DisableLLVMPasses = true;
    invocation.getCodeGenOpts().CoverageNotesFile.clear();
    invocation.getCodeGenOpts().StackUsageOutput.clear();
    invocation.getCodeGenOpts().OptRecordFile.clear();
    invocation.getCodeGenOpts().SplitDwarfOutput.clear();
    invocation.getCodeGenOpts().TimePasses = false;
}

bool set_text(CompilerInvocation &invocation, std::unique_ptr<llvm::MemoryBuffer> text) {
    FrontendOptions &options = invocation.getFrontendOpts();
    if (options.Inputs.empty()) {
        return false;
    }
    const FrontendInputFile input = options.Inputs[0];
    if (!input.isFile() || input.getFile() == "-") { /* read already */
        options.Inputs[0] =
            FrontendInputFile(text.release()->getMemBufferRef(), input.getKind(), false);
    } else {
        invocation.getPreprocessorOpts().addRemappedFile(input.getFile(), text.release());
    }
    return true;
}

bool compiles(CompilerInstance &parent, int fd) {
    auto text = llvm::MemoryBuffer::getOpenFile(fd, "<stdin>", -1, true);
    if (!text) {
        return false;
    }
    auto invocation = std::make_shared<CompilerInvocation>(parent.getInvocation());
    make_silent(*invocation);
    bool generates = makes_code(invocation->getFrontendOpts().ProgramAction);
    invocation->getFrontendOpts().ProgramAction =
        generates ? frontend::EmitLLVMOnly : frontend::ParseSyntaxOnly;
    if (!set_text(*invocation, std::move(*text))) {
        return false;
    }
    CompilerInstance instance;
    instance.setInvocation(invocation);
    error_printer printer;
    create_diagnostics(instance, parent, &printer);
    if (generates) {
        EmitLLVMOnlyAction action;
        return instance.ExecuteAction(action);
    }
    SyntaxOnlyAction action;
    return instance.ExecuteAction(action);
}

} // namespace

ctune_job_verdict check_text(void *compiler, int fd, char *said, size_t size) {
    ctune_job_verdict verdict = ctune_job_fork(said, size);
    if (verdict != CTUNE_JOB_IS_CHILD) {
        return verdict;
    }
    runs_check = true;
    bool ok = compiles(*static_cast<CompilerInstance *>(compiler), fd);
    std::fflush(stderr);
    _exit(ok ? 0 : 1);
}

} // namespace ctune
