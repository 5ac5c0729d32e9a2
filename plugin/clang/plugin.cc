/*
 * The clang plugin: before clang parses the main file, its text is replaced by the transformed one.
 *
 * In: a compile of a C file. Out: the same compile of the file with tuned code in it; nothing at
 * all is done for files without the pragma. Everything that knows C or ctune is behind one C call
 * (plugin/transform), made in a child process, so that a crash in there costs the tuned code and
 * not the build.
 *
 * -E is no action of the plugin's kind: it prints the source as it is.
 */
#include "plugin/clang/check.h"
#include "plugin/clang/compile.h"
#include "plugin/clang/messages.h"
#include "plugin/shim/job.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace clang;

namespace {

/* ---- the pragma, as the parser meets it ---- */
/* Silences the warning about unknown pragmas, and tells of those that the transform does not see:
 * in headers, and from headers' macros. */
class pragma_handler : public PragmaHandler {
  public:
    pragma_handler(ctune::messages &sink, bool is_off)
        : PragmaHandler("tune"), messages(sink), is_quiet(is_off) {}

    void HandlePragma(Preprocessor &pp, PragmaIntroducer introducer, Token &) override {
        const SourceManager &sources = pp.getSourceManager();
        SourceLocation written = sources.getSpellingLoc(introducer.Loc);
        if (is_quiet || sources.isWrittenInMainFile(written) || sources.isInSystemHeader(written) ||
            sources.isWrittenInScratchSpace(introducer.Loc)) {
            return;
        }
        messages.send_once((sources.getFilename(written) + ":" +
                            llvm::Twine(sources.getSpellingLineNumber(written)))
                               .str(),
                           introducer.Loc,
                           {CTUNE_REMARK, 0, 0, "", "pragma-in-header",
                            "loop not tuned: the pragma stands in an included file",
                            "move the loop into a source file"});
    }

  private:
    ctune::messages &messages;
    bool is_quiet;
};

/* ---- the dependency file ---- */
/* A lock that is deleted is no error of make: `ctune.lock:` behind what clang writes, as -MP does
 * for headers. Clang's writer has its options by the time that a plugin is asked, and writes when
 * the file's actions are over; what is left is the end of the process. */
struct phony_rule {
    std::string file, target;
};

static phony_rule &phony() {
    static phony_rule rule;
    return rule;
}

static void write_phony() {
    FILE *file = std::fopen(phony().file.c_str(), "r+e");
    if (file == nullptr) {
        return;
    }
    if (std::fseek(file, 0, SEEK_END) == 0 && std::ftell(file) > 0) {
        std::fputc('\n', file);
        for (char c : phony().target) {
            std::fputs(c == ' ' || c == '#' ? "\\" : c == '$' ? "$" : "", file);
            std::fputc(c, file);
        }
        std::fputs(":\n", file);
    }
    std::fclose(file);
}

static void add_phony(const CompilerInstance &compiler, const std::string &target) {
    const DependencyOutputOptions &options = compiler.getDependencyOutputOpts();
    bool is_wanted = !options.UsePhonyTargets && !options.OutputFile.empty() &&
                     options.OutputFile != "-" && phony().file.empty();
    if (is_wanted && std::atexit(write_phony) == 0) {
        phony() = {options.OutputFile, target};
    }
}

/* ---- the end of the file ---- */
struct state {
    ctune_shim_args args = {};
    std::unique_ptr<ctune::messages> messages;
    std::vector<ctune::message> later; /* said only when clang itself finds no error */
    std::string text;                  /* the user's */
    std::string lock;                  /* a dependency; "" = none */
};

class end_consumer : public ASTConsumer {
  public:
    end_consumer(CompilerInstance &instance, std::shared_ptr<state> common)
        : compiler(instance), own(std::move(common)) {}

    void HandleTranslationUnit(ASTContext &) override {
        if (!compiler.getDiagnostics().hasErrorOccurred()) {
            for (const ctune::message &message : own->later) {
                own->messages->send_at(SourceLocation(), message);
            }
        }
        add_dependency();
    }

  private:
    CompilerInstance &compiler;
    std::shared_ptr<state> own;

    /* The lock among the files that -MD lists: what asks __has_include for a file depends on it. */
    void add_dependency() {
        PPCallbacks *callbacks = compiler.getPreprocessor().getPPCallbacks();
        OptionalFileEntryRef file;
        if (callbacks != nullptr && !own->lock.empty()) {
            file = ctune::find_file(compiler, own->lock.c_str());
        }
        if (file) {
            callbacks->HasInclude(SourceLocation(), own->lock, false, file, SrcMgr::C_User);
            add_phony(compiler, own->lock);
        }
    }
};

/* ---- the plugin ---- */
class action : public PluginASTAction {
  public:
    ActionType getActionType() override { return AddBeforeMainAction; }

    bool ParseArgs(const CompilerInstance &compiler,
                   const std::vector<std::string> &arguments) override {
        texts = arguments; /* own->args points into them */
        for (std::string &argument : texts) {
            size_t equals = argument.find('=');
            char error[512];
            if (equals != std::string::npos) {
                argument[equals] = '\0';
            }
            if (!ctune_shim_arg_set(&own->args, argument.c_str(),
                                    equals == std::string::npos ? nullptr
                                                                : argument.c_str() + equals + 1,
                                    error, sizeof error)) {
                DiagnosticsEngine &diags = compiler.getDiagnostics();
                diags.Report(ctune::custom_diag(diags, DiagnosticsEngine::Error)) << error;
                return false;
            }
        }
        return true;
    }

    std::unique_ptr<ASTConsumer> CreateASTConsumer(CompilerInstance &compiler,
                                                   llvm::StringRef file) override {
        own->messages = std::make_unique<ctune::messages>(compiler, own->args);
        bool is_off = own->args.mode == CTUNE_TRANSFORM_OFF || ctune::is_check();
        Preprocessor &pp = compiler.getPreprocessor();
        pp.AddPragmaHandler(new pragma_handler(*own->messages, is_off));
        if (!is_off && ctune::compile_is_real()) {
            transform(compiler, file.str());
        }
        return std::make_unique<end_consumer>(compiler, own);
    }

  private:
    std::shared_ptr<state> own = std::make_shared<state>();
    std::vector<std::string> texts;

    void transform(CompilerInstance &compiler, const std::string &file);
    void run(CompilerInstance &compiler, const std::string &file);
    void take(CompilerInstance &compiler, const ctune_job_result &result);
};

void action::transform(CompilerInstance &compiler, const std::string &file) {
    SourceManager &sources = compiler.getSourceManager();
    std::optional<llvm::MemoryBufferRef> buffer = sources.getBufferOrNone(sources.getMainFileID());
    if (!buffer || !ctune_shim_has_pragma(buffer->getBufferStart(), buffer->getBufferSize())) {
        return;
    }
    own->text = buffer->getBuffer().str();
    own->messages->set_text(file == "-" ? "<stdin>" : file, own->text);
    const char *code;
    const char *refusal = ctune::compile_refusal(compiler, &code);
    if (refusal[0] != '\0') {
        bool is_expected = std::strcmp(code, "no-code") == 0;
        own->messages->send(
            {is_expected ? CTUNE_REMARK : CTUNE_WARNING, 0, 0, "", code, refusal, ""});
    } else if (own->text.find('\0') == std::string::npos) {
        run(compiler, file);
    }
}

void action::run(CompilerInstance &compiler, const std::string &file) {
    std::string command;
    std::vector<std::string> words = ctune::compile_words(compiler, &command);
    std::vector<const char *> pointers;
    for (const std::string &word : words) {
        pointers.push_back(word.c_str());
    }
    ctune_transform_options options = {};
    options.file = file.c_str();
    options.text = own->text.c_str();
    options.is_clang = true;
    options.is_build = true;
    options.command = command.c_str();
    options.n_words = static_cast<int>(pointers.size());
    options.words = pointers.data();
    options.macros = compiler.getPreprocessor().getPredefines().c_str();
    options.mode = own->args.mode;
    options.lock_path = own->args.lock;
    options.report_path = own->args.report;
    options.nearest_target = own->args.is_nearest;
    static const char self = 0;
    ctune_job_result result;
    ctune_job_run(&options, &self, ctune::check_text, &compiler, &result);
    take(compiler, result);
    ctune_job_clear(&result);
}

void action::take(CompilerInstance &compiler, const ctune_job_result &result) {
    auto text_of = [](const char *text) { return std::string(text != nullptr ? text : ""); };
    for (int i = 0; i < result.n_messages; i++) {
        const ctune_job_message &m = result.messages[i];
        ctune::message message = {static_cast<ctune_severity>(m.severity),
                                  m.line,
                                  m.col,
                                  text_of(m.file),
                                  text_of(m.code),
                                  text_of(m.text),
                                  text_of(m.hint)};
        if (message.code == "does-not-parse") {
            own->later.push_back(message);
        } else if (message.code != "pragma-in-header") {
            own->messages->send(message);
        }
    }
    if (result.failure[0] != '\0') {
        own->messages->send({CTUNE_WARNING, 0, 0, "", "no-transform",
                             std::string("ctune leaves the file alone: ") + result.failure, ""});
    }
    own->lock = text_of(result.lock_path);
    if (!result.is_changed) {
        return;
    }
    auto buffer = llvm::MemoryBuffer::getOpenFile(result.fd, "ctune", -1, true);
    SourceManager &sources = compiler.getSourceManager();
    OptionalFileEntryRef entry = sources.getFileEntryRefForID(sources.getMainFileID());
    if (!buffer || !entry) {
        own->messages->send({CTUNE_WARNING, 0, 0, "", "no-transform",
                             "ctune leaves the file alone: its text cannot be replaced", ""});
        return;
    }
    sources.overrideFileContents(*entry, std::move(*buffer));
    sources.setMainFileID(sources.createFileID(*entry, SourceLocation(), SrcMgr::C_User));
}

FrontendPluginRegistry::Add<action> registration("ctune", "applies tuned schedules");

} // namespace
