/*
 * Diagnostics: see messages.h.
 *
 * Remarks about single loops are shown on demand, as clang's own are: by -Rpass=ctune (what was
 * applied), -Rpass-missed=ctune (what was not), or the plugin's report=remarks. Places are given in
 * a copy of the user's text: the main file's own entry is about to get another text, and clang
 * would keep a table of its old lines.
 */
#include "plugin/clang/messages.h"

using namespace clang;

namespace ctune {

void messages::set_text(std::string new_name, llvm::StringRef new_text) {
    name = std::move(new_name);
    text = new_text;
}

/* Remarks that are not asked for, and said once in a build. */
static bool is_once(const message &m) {
    return m.code == "pragma-in-header" || m.code == "lock-none-applies" || m.code == "coverage";
}

bool messages::is_shown(const message &m) const {
    if (m.severity >= CTUNE_WARNING) {
        return args.werror || !compiler.getDiagnostics().getIgnoreAllWarnings();
    }
    bool is_done = m.code == "applied" || m.code == "predicted" || m.code == "original-best" ||
                   m.code == "recorded";
    const CodeGenOptions &options = compiler.getCodeGenOpts();
    return args.shows_remarks || is_once(m) ||
           (is_done ? options.OptimizationRemark : options.OptimizationRemarkMissed)
               .patternMatches("ctune");
}

/* A line without column: at its first character that is no blank. */
SourceLocation messages::place(int line, int col) {
    SourceManager &sources = compiler.getSourceManager();
    if (line <= 0) {
        return SourceLocation();
    }
    if (copy.isInvalid()) {
        copy = sources.createFileID(llvm::MemoryBuffer::getMemBufferCopy(text, name));
    }
    if (col <= 0) {
        llvm::StringRef rest = text;
        for (int i = 1; i < line; i++) {
            rest = rest.substr(rest.find('\n')).drop_front();
        }
        size_t blanks = rest.find_first_not_of(" \t");
        col = blanks == llvm::StringRef::npos ? 1 : static_cast<int>(blanks) + 1;
    }
    return sources.translateLineCol(copy, static_cast<unsigned>(line), static_cast<unsigned>(col));
}

void messages::send_at(SourceLocation where, const message &m) {
    if (!is_shown(m)) {
        return;
    }
    DiagnosticsEngine &diags = compiler.getDiagnostics();
    DiagnosticsEngine::Level level = m.severity >= CTUNE_WARNING && args.werror
                                         ? DiagnosticsEngine::Error
                                     : m.severity >= CTUNE_WARNING ? DiagnosticsEngine::Warning
                                                                   : DiagnosticsEngine::Remark;
    std::string words = m.text + (m.code.empty() ? "" : " [ctune:" + m.code + "]");
    diags.Report(where, custom_diag(diags, level)) << words;
    if (!m.hint.empty()) {
        diags.Report(where, custom_diag(diags, DiagnosticsEngine::Note)) << m.hint;
    }
}

void messages::send_once(const std::string &what, SourceLocation where, const message &m) {
    if (is_shown(m) && ctune_shim_once((m.code + ":" + what).c_str())) {
        send_at(where, m);
    }
}

void messages::send(const message &m) {
    bool is_elsewhere = !m.file.empty() && m.file != name && m.file != "-";
    message out = m;
    if (is_elsewhere) { /* the lock, a header */
        out.text = m.file + (m.line > 0 ? ":" + std::to_string(m.line) : "") + ": " + m.text;
    }
    if (m.code == "lock-none-applies") {
        send_once(m.file, SourceLocation(), out);
        return;
    }
    if (m.code == "coverage" && !args.shows_remarks) {
        send_once("", place(m.line, m.col), out);
        return;
    }
    send_at(is_elsewhere || !is_shown(m) ? SourceLocation() : place(m.line, m.col), out);
}

} // namespace ctune
