/*
 * The compile: see compile.h.
 *
 * Lock entries and libclang go by the driver's words. The driver calls the compiler proper in its
 * own process, or, when it has several jobs, in a child: then the words are the parent's. Where
 * neither can be read (no /proc), words are made from the invocation: they parse the file alike,
 * but their target may have another name in the lock.
 */
#include "plugin/clang/compile.h"

#include "clang/Frontend/CompilerInvocation.h"
#include "clang/Lex/HeaderSearchOptions.h"
#include "clang/Lex/PreprocessorOptions.h"

#include <climits>
#include <cstdio>
#include <cstring>
#include <unistd.h>

using namespace clang;

namespace ctune {

/* By the program's name: clang, clang-19, clang++; unknown programs count as compilers. */
bool compile_is_real() {
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    const char *slash = std::strrchr(path, '/');
    const char *at = std::strstr(slash != nullptr ? slash : path, "clang");
    if (at == nullptr) {
        return true;
    }
    const char *rest = at + std::strlen("clang");
    rest += std::strspn(rest, "+");
    return rest[0] == '\0' || (rest[0] == '-' && std::strspn(rest + 1, "0123456789.") > 0);
}

const char *compile_refusal(const CompilerInstance &compiler, const char **code) {
    const LangOptions &language = compiler.getLangOpts();
    const FrontendOptions &options = compiler.getFrontendOpts();
    *code = "not-c";
    if (language.CPlusPlus || language.ObjC || language.OpenCL || language.CUDA) {
        return "loop not tuned: only C is supported";
    }
    *code = "no-code";
    switch (options.ProgramAction) {
    case frontend::EmitAssembly:
    case frontend::EmitBC:
    case frontend::EmitLLVM:
    case frontend::EmitLLVMOnly:
    case frontend::EmitCodeGenOnly:
    case frontend::EmitObj:
    case frontend::ParseSyntaxOnly:
        break;
    default:
        return "loop not tuned: this run of clang makes no code";
    }
    *code = "preprocessed-input";
    if (!options.Inputs.empty() && options.Inputs[0].getKind().isPreprocessed()) {
        return "loop not tuned: the input is preprocessed already";
    }
    *code = "coverage-mapping";
    if (compiler.getCodeGenOpts().CoverageMapping) {
        return "loop not tuned: coverage mapping counts the lines of the file as it is";
    }
    return "";
}

/* Do both processes run the same program? */
static bool is_same_program(pid_t pid) {
    char path[64], mine[PATH_MAX], other[PATH_MAX];
    std::snprintf(path, sizeof path, "/proc/%d/exe", static_cast<int>(pid));
    ssize_t n = readlink("/proc/self/exe", mine, sizeof mine);
    return n > 0 && readlink(path, other, sizeof other) == n &&
           std::memcmp(mine, other, static_cast<size_t>(n)) == 0;
}

static bool is_proper(const ctune_shim_words &words) {
    return words.n > 1 && std::strncmp(words.words[1], "-cc1", 4) == 0;
}

static bool driver_words(ctune_shim_words *out) {
    if (!ctune_shim_words_read(0, out)) {
        return false;
    }
    if (!is_proper(*out)) {
        return true;
    }
    ctune_shim_words_clear(out);
    pid_t parent = getppid();
    if (!is_same_program(parent) || !ctune_shim_words_read(parent, out)) {
        return false;
    }
    if (is_proper(*out)) {
        ctune_shim_words_clear(out);
        return false;
    }
    return true;
}

static std::vector<std::string> invocation_words(const CompilerInstance &compiler) {
    std::vector<std::string> out;
    for (const auto &entry : compiler.getHeaderSearchOpts().UserEntries) {
        bool is_user = entry.Group == frontend::Angled || entry.Group == frontend::Quoted;
        out.push_back(entry.Group == frontend::Quoted ? "-iquote" : is_user ? "-I" : "-isystem");
        out.push_back(entry.Path);
    }
    for (const auto &macro : compiler.getPreprocessorOpts().Macros) {
        out.push_back((macro.second ? "-U" : "-D") + macro.first);
    }
    for (const std::string &file : compiler.getPreprocessorOpts().Includes) {
        out.push_back("-include");
        out.push_back(file);
    }
    out.push_back("-O" + std::to_string(compiler.getCodeGenOpts().OptimizationLevel));
    if (!compiler.getTargetOpts().CPU.empty()) {
        out.push_back("-march=" + compiler.getTargetOpts().CPU);
    }
    if (compiler.getLangOpts().OpenMP != 0) {
        out.push_back("-fopenmp");
    }
    if (compiler.getLangOpts().FastMath) {
        out.push_back("-ffast-math");
    }
    switch (compiler.getLangOpts().getDefaultFPContractMode()) {
    case LangOptions::FPM_Off:
        out.push_back("-ffp-contract=off");
        break;
    case LangOptions::FPM_On:
        out.push_back("-ffp-contract=on");
        break;
    default:
        out.push_back("-ffp-contract=fast");
    }
    return out;
}

std::vector<std::string> compile_words(const CompilerInstance &compiler, std::string *command) {
    ctune_shim_words words;
    if (!driver_words(&words)) {
        *command = "/dev/null/clang"; /* never one that PATH finds */
        return invocation_words(compiler);
    }
    char program[PATH_MAX]; /* this one: it is the driver, too */
    *command = ctune_shim_program_find(0, program, sizeof program) ? program : "/dev/null/clang";
    std::vector<std::string> out(words.words + 1, words.words + words.n);
    ctune_shim_words_clear(&words);
    return out;
}

} // namespace ctune
