/*
 * Replacing the main file, see input.h.
 */
#include "plugin/gcc/input.h"

#include <unistd.h>

bool ctune_gcc_input_read(ctune_gcc_input *input) {
    memset(input, 0, sizeof *input);
    input->file = in_fnames[0];
    return ctune_gcc_text_read(input->file, &input->text);
}

bool ctune_gcc_input_replace(ctune_gcc_input *input, int fd, char *error, size_t size) {
    if (input->text.is_stdin) {
        bool ok = ctune_gcc_text_to_stdin(fd);
        if (!ok) {
            snprintf(error, size, "cannot replace standard input: %m");
        }
        return ok;
    }
    input->alias = ctune_gcc_text_alias(fd, input->file, &input->text);
    if (input->alias == NULL) {
        snprintf(error, size, "cannot open a memory file through /proc: %m");
        close(fd);
        return false;
    }
    input->hides_lines = flag_preprocess_only && !flag_no_line_commands;
    if (input->hides_lines) {
        flag_no_line_commands = 1;
    }
    in_fnames[0] = input->alias;
    return true;
}

bool ctune_gcc_input_keep(ctune_gcc_input *input, char *error, size_t size) {
    if (!input->text.is_consumed || ctune_gcc_text_rewind(&input->text)) {
        return true;
    }
    int fd = ctune_gcc_text_copy(&input->text);
    if (fd < 0) {
        snprintf(error, size, "cannot keep the text: %m");
        return false;
    }
    return ctune_gcc_input_replace(input, fd, error, size);
}

/* What libcpp would have printed on opening the file. */
static void print_first_lines(void) {
    flag_no_line_commands = 0;
    cpp_get_callbacks(parse_in)->file_change(parse_in, LINEMAPS_LAST_ORDINARY_MAP(line_table));
    if (flag_working_directory) {
        pp_dir_change(parse_in, get_src_pwd());
    }
}

void ctune_gcc_input_restore_name(ctune_gcc_input *input) {
    cpp_buffer *buffer = cpp_get_buffer(parse_in);
    _cpp_file *file = buffer != NULL ? cpp_get_file(buffer) : NULL;
    const char *path = file != NULL ? cpp_get_path(file) : NULL;
    if (path != NULL && strcmp(path, input->alias) == 0) {
        strcpy(const_cast<char *>(path), input->file); /* libcpp's, on the heap, long enough */
    }
    in_fnames[0] = input->file;
    if (input->hides_lines) {
        print_first_lines();
    }
}

void ctune_gcc_input_define_base(void *, void *user) {
    static const char name[] = "__BASE_FILE__";
    ctune_gcc_input *input = (ctune_gcc_input *)user;
    if (input->alias == NULL ||
        !cpp_defined(parse_in, (const unsigned char *)name, sizeof name - 1)) {
        return; /* done, or the built-in macros are not there yet */
    }
    char *definition = ctune_gcc_text_definition(name, input->file);
    cpp_options *options = cpp_get_options(parse_in);
    unsigned char warns = options->warn_builtin_macro_redefined;
    options->warn_builtin_macro_redefined = 0;
    if (definition != NULL) {
        cpp_define(parse_in, definition);
    }
    options->warn_builtin_macro_redefined = warns;
    free(definition);
    free(input->alias);
    input->alias = NULL;
}

static bool has_target_option(void) {
    for (unsigned i = 0; i < save_decoded_options_count; i++) {
        size_t code = save_decoded_options[i].opt_index;
        if (code == OPT_MT || code == OPT_MQ) {
            return true;
        }
    }
    return false;
}

void ctune_gcc_input_add_deps(const ctune_gcc_input *input, const char *lock) {
    cpp_options *options = cpp_get_options(parse_in);
    if (options->deps.style == DEPS_NONE) {
        return;
    }
    class mkdeps *deps = cpp_get_deps(parse_in);
    if (!input->text.is_stdin) { /* what libcpp does, with the user's name */
        if (!has_target_option()) {
            deps_add_default_target(deps, input->file);
        }
        options->deps.ignore_main_file = true;
        deps_add_dep(deps, input->file);
    }
    if (lock != NULL) {
        deps_add_dep(deps, lock);
        options->deps.phony_targets = true; /* a lock that is deleted is no error of make */
    }
}
