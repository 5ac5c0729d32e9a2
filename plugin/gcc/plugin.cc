/*
 * The GCC plugin: `#pragma tune` in a C file is acted on before GCC reads it.
 *
 * plugin_init runs when the options are known and no file is open. It looks for the pragma in the
 * main file; a file without it costs nothing more. With it, a child process transforms the text
 * (job.h), GCC is made to read the result (input.h), and what there is to say is said when the line
 * table has the main file (report.h). C only; -E, precompiled headers, assembler and C++ are left
 * alone. Whatever goes wrong in here, GCC reads the user's file.
 *
 * The plugin's name is that of its file, and GCC cuts arguments at the first dash: it is installed
 * as ctune.so, so that -fplugin-arg-ctune-lock=... is spelt as for clang.
 */
#include "plugin/gcc/compat.h"

#include "plugin/gcc/check.h"
#include "plugin/gcc/input.h"
#include "plugin/gcc/report.h"

#include <unistd.h>

__attribute__((visibility("default"))) int plugin_is_GPL_compatible;

/* One compile; there is one in a compiler process, and callbacks of pragmas have no user data. What
 * is in it ends with the process: the line table has pointers to the messages' file names. */
static struct {
    ctune_shim_args args;
    ctune_gcc_input input;
    ctune_job_result result;
    ctune_shim_words words; /* [0] the driver */
    char driver[4096];      /* its path, "" = unknown */
    ctune_gcc_later later;
} self;

/* ---- which compiles ------------------------------------------------------------------------- */
/* false also in compilers of the collection that have no C preprocessor: lto1, f951. */
static bool is_c_compile(void) {
    if (&parse_in == NULL || &in_fnames == NULL || &pch_file == NULL || parse_in == NULL) {
        return false;
    }
    const char *language = lang_hooks.name; /* "GNU C17"; not "GNU C++17", "GNU Objective-C17" */
    return strncmp(language, "GNU C", 5) == 0 && language[5] >= '0' && language[5] <= '9' &&
           cpp_get_options(parse_in)->lang != CLK_ASM && num_in_fnames == 1 && pch_file == NULL;
}

static bool has_word(const char *word) {
    for (int i = 1; i < self.words.n; i++) {
        if (strncmp(self.words.words[i], word, strlen(word)) == 0) {
            return true;
        }
    }
    return false;
}

/* Preprocessing and compiling as two processes: the text is put in by the first one. */
static bool is_in_stages(void) {
    return has_word("-save-temps") || has_word("-no-integrated-cpp");
}

/* The user's words: the driver's command line, because the lock's entries are found by them.
 * COLLECT_GCC_OPTIONS has them as well, but followed by -mtune and -march as GCC was configured. */
static void read_words(void) {
    const char *driver = getenv("COLLECT_GCC"), *words = getenv("COLLECT_GCC_OPTIONS");
    if (driver == NULL || words == NULL) {
        return;
    }
    if (ctune_shim_words_read((int)getppid(), &self.words) &&
        strcmp(self.words.words[0], driver) == 0) {
        (void)ctune_shim_program_find((int)getppid(), self.driver, sizeof self.driver);
        return;
    }
    ctune_shim_words_clear(&self.words);
    (void)ctune_shim_words_parse(driver, words, &self.words);
}

static bool is_wanted(void) {
    const cpp_options *options = cpp_get_options(parse_in);
    if (options->preprocessed) {
        return false;
    }
    return !flag_preprocess_only || is_in_stages();
}

/* ---- arguments ------------------------------------------------------------------------------ */
static void read_args(const struct plugin_name_args *info) {
    for (int i = 0; i < info->argc; i++) {
        char error[512];
        if (!ctune_shim_arg_set(&self.args, info->argv[i].key, info->argv[i].value, error,
                                sizeof error)) {
            error_at(UNKNOWN_LOCATION, "%s", error);
        }
    }
}

/* ---- work ----------------------------------------------------------------------------------- */
/* Fills self.result. */
static void transform(void) {
    ctune_transform_options options;
    memset(&options, 0, sizeof options);
    options.file = self.input.text.is_stdin ? "-" : self.input.file;
    options.text = self.input.text.text;
    options.command = self.driver[0] != '\0' ? self.driver : self.words.words[0];
    options.n_words = self.words.n - 1;
    options.words = (const char *const *)self.words.words + 1;
    options.mode = self.args.mode;
    options.lock_path = self.args.lock;
    options.report_path = self.args.report;
    options.nearest_target = self.args.is_nearest;
    options.is_build = true;
    ctune_job_run(&options, (const void *)&plugin_is_GPL_compatible, ctune_gcc_check, &self.words,
                  &self.result);
}

static bool has_work(void) {
    return self.args.mode != CTUNE_TRANSFORM_OFF &&
           strlen(self.input.text.text) == self.input.text.n_text &&
           ctune_shim_has_pragma(self.input.text.text, self.input.text.n_text);
}

static void work(void) {
    char *failure = self.result.failure;
    size_t size = sizeof self.result.failure;
    if (!ctune_gcc_input_read(&self.input)) {
        return;
    }
    if (has_work() && self.words.n == 0) {
        snprintf(failure, size, "the flags are known from GCC's driver only");
    } else if (has_work()) {
        transform();
    }
    if (self.result.is_changed) {
        self.result.is_changed =
            ctune_gcc_input_replace(&self.input, self.result.fd, failure, size);
        self.result.fd = -1; /* taken over */
    }
    if (!self.result.is_changed) {
        ctune_gcc_input_keep(&self.input, failure, size);
    }
    if (!self.result.is_check && (self.input.alias != NULL || self.result.lock_path != NULL)) {
        ctune_gcc_input_add_deps(&self.input, self.result.lock_path);
    }
}

/* ---- callbacks ------------------------------------------------------------------------------ */
/* The pragma itself means nothing to GCC. */
static void handle_pragma(cpp_reader *) {
    const line_map_ordinary *map = LINEMAPS_LAST_ORDINARY_MAP(line_table);
    bool is_preprocessed = cpp_get_options(parse_in)->preprocessed;
    if (self.args.mode == CTUNE_TRANSFORM_OFF) {
        return;
    }
    if (is_preprocessed && self.args.shows_remarks && !is_in_stages()) {
        ctune_gcc_report_preprocessed();
    }
    if (!is_preprocessed && !MAIN_FILE_P(map)) {
        ctune_gcc_report_header();
    }
}

/* The main file is open, its first line not read. */
static void start_file(void *, void *) {
    if (self.input.alias != NULL) {
        ctune_gcc_input_restore_name(&self.input);
    }
    if (self.result.is_check) {
        ctune_gcc_check_start();
    }
    if (self.result.failure[0] != '\0') {
        ctune_gcc_report_failure(self.result.failure);
    }
    if (!self.result.is_check) {
        ctune_gcc_report_messages(&self.result, &self.args, &self.later);
    }
    ctune_gcc_text_clear(&self.input.text);
    if (!flag_preprocess_only) {
        cpp_register_pragma(parse_in, NULL, "tune", handle_pragma, false);
    }
}

static void end_file(void *, void *) {
    ctune_gcc_report_later(&self.later);
}

__attribute__((visibility("default"))) int plugin_init(struct plugin_name_args *info,
                                                       struct plugin_gcc_version *version) {
    if (!ctune_gcc_version_matches(version)) {
        const char *built = ctune_gcc_version_built();
        fprintf(stderr, "ctune: warning: this plugin is for %sGCC %s, not %s: nothing is tuned\n",
                strcmp(built, version->basever) == 0 ? "another build of " : "", built,
                version->basever);
        return 0;
    }
    if (!is_c_compile()) {
        return 0;
    }
    self.result.fd = -1;
    read_args(info);
    read_words();
    if (is_wanted()) {
        work();
    }
    register_callback(info->base_name, PLUGIN_PRAGMAS, start_file, NULL);
    register_callback(info->base_name, PLUGIN_FINISH_UNIT, end_file, NULL);
    register_callback(info->base_name, PLUGIN_INCLUDE_FILE, ctune_gcc_input_define_base,
                      &self.input);
    return 0;
}
