/*
 * The check of a text: see check.h.
 *
 * A fork of the compiler proper does what it was about to do, with another text and without an
 * output: no compiler is looked for, no option is translated. Its exit code is the answer. Errors
 * of code generation ("impossible constraint", a function of another target) come late, so a text
 * that is new (seen.h) is compiled to its end; others are parsed, because a header may have
 * changed, which costs next to nothing.
 */
#include "plugin/gcc/check.h"

#include "plugin/shim/seen.h"

#include <clocale>
#include <sys/mman.h>
#include <unistd.h>

/* Nothing is written but diagnostics. */
static void make_silent(bool is_parsed_only) {
    if (is_parsed_only) {
        global_options.x_flag_syntax_only = 1;
    }
    asm_file_name = "/dev/null";
    global_options.x_flag_preprocess_only = 0; /* of a compile in stages */
    global_options.x_flag_gen_aux_info = 0;
    global_options.x_flag_stack_usage = 0;
    global_options.x_flag_test_coverage = 0;
    global_options.x_flag_callgraph_info = 0;
    global_options.x_time_report = 0;
    global_options.x_mem_report = 0;
    unsetenv("DEPENDENCIES_OUTPUT");
    unsetenv("SUNPRO_DEPENDENCIES");
    setlocale(LC_MESSAGES, "C"); /* what it says is read for its first error */
}

/* 0: it cannot be read. */
static uint64_t key_of(int fd, const ctune_shim_words *words) {
    off_t n = lseek(fd, 0, SEEK_END);
    void *text = n > 0 ? mmap(NULL, (size_t)n, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    if (text == MAP_FAILED) {
        return 0;
    }
    uint64_t key = ctune_shim_seen_key((const char *)text, (size_t)n, words->n, words->words);
    munmap(text, (size_t)n);
    return key;
}

ctune_job_verdict ctune_gcc_check(void *words, int fd, char *said, size_t size) {
    uint64_t key = key_of(fd, (const ctune_shim_words *)words);
    bool is_seen = key != 0 && ctune_shim_seen_has(key);
    ctune_job_verdict verdict = ctune_job_fork(said, size);
    if (verdict == CTUNE_JOB_IS_CHILD) {
        make_silent(is_seen);
    } else if (verdict == CTUNE_JOB_COMPILES && key != 0 && !is_seen && !flag_syntax_only) {
        ctune_shim_seen_add(key);
    }
    return verdict;
}

void ctune_gcc_check_start(void) {
    cpp_get_options(parse_in)->deps.style = DEPS_NONE;
}
