/*
 * The `ctune` program: what its files share.
 *
 * main.c picks a row of the command table; options.c fills ctune_options from the option table;
 * source.c turns a file name and compiler words into an extracted unit with its target; each
 * cmd_*.c is one command. Only this folder prints and exits.
 */
#ifndef CTUNE_PLUGIN_TOOL_TOOL_H
#define CTUNE_PLUGIN_TOOL_TOOL_H

#include "plugin/session/session.h"
#include "plugin/transform/entries.h"
#include "runtime/program.h"

#include <stdio.h>

/* id, exit code, meaning. One row an exit code: `ctune help exit` prints it. */
#define CTUNE_EXIT_TABLE(X)                                                                        \
    X(OK, 0, "done; every region was handled")                                                     \
    X(REFUSED, 1, "done, but a region was refused, or a lock entry is stale or wrong")             \
    X(USAGE, 2, "bad arguments, a malformed pragma, lock or schedule")                             \
    X(ENV, 3,                                                                                      \
      "environment: a file, the compiler or the runner does not work, or the source does not "     \
      "compile")                                                                                   \
    X(BUG, 4, "internal error of ctune; the source is untouched")                                  \
    X(INT, 130, "stopped by SIGINT; the history keeps what was measured, the next run goes on")    \
    X(TERM, 143, "stopped by SIGTERM; likewise")                                                   \
    X(HUP, 129, "stopped by SIGHUP; likewise")

enum {
#define X(id, code, help) CTUNE_EXIT_##id = code,
    CTUNE_EXIT_TABLE(X)
#undef X
};

/* Environment variables: name, help. `ctune help env` prints it; read through getenv by these names
 * only. */
#define CTUNE_ENV_TABLE(X)                                                                         \
    X("CTUNE_RUNNER", "path of the ctune-runner executable")                                       \
    X("CTUNE_CC", "compiler when none is named; default clang-19, else clang, gcc, cc")            \
    X("CTUNE_RECORD", "file that a program built in mode=record appends its sizes to")             \
    X("CTUNE_MACHINE", "calibration of this machine; default "                                     \
                       "$XDG_CACHE_HOME/ctune/machine-CPU-ISA.txt; empty: none")                   \
    X("CTUNE_KEEP", "1: keep the working folder with the candidates' C and objects, and name it")  \
    X("CTUNE_MODEL", "cost model; default share/ctune/models/cpu.model of the installation")       \
    X("CTUNE_BLAS", "BLAS library for neural models; default the one that is installed")           \
    X("CTUNE_PLUGIN_DIR", "folder of the compiler plugins for `ctune cc` and `ctune flags`")       \
    X("CTUNE_GPU", "programs with GPU regions: off, require, check; docs/gpu-runtime.md has more") \
    X("CTUNE_GPU_API", "their interface: cuda or opencl; default CUDA, else an OpenCL GPU")        \
    X("CTUNE_GPU_LOG", "1, or a file: what they do on the device, and for how long")               \
    X("CTUNE_GPU_CACHE", "folder of their compiled kernels; default $XDG_CACHE_HOME/ctune/gpu")    \
    X("TMPDIR", "where working folders are made; default /tmp")

/* ---- options -------------------------------------------------------------------------------- */
enum { CTUNE_MAX_WORDS = 512 };

/* All options of all commands; unused ones keep their defaults. Strings borrowed from argv. */
typedef struct ctune_options {
    int n_words; /* positional words */
    const char *words[CTUNE_MAX_WORDS];
    int n_compiler; /* words after -- */
    char *const *compiler;
    bool has_dashes; /* -- was given */
    double budget_s; /* 0 = not given */
    int64_t trials;  /* 0 = not given */
    int64_t seed, batch, rounds, samples, trees, members, depth, folds, epochs, width, items,
        labels;
    double time_limit_s, memory_bytes;
    const char *lock, *history, *build_dir, *output, *schedule, *region, *strategy, *sizes;
    const char *schedules, *plots, *model, *objective, *without, *ablate, *features, *profile;
    const char *mode, *report;
    const char *kind, *backbone, *for_target, *from, *on;
    bool no_position, no_region;
    bool quiet, verbose, json, verify, in_place, any_target, nearest, undo, no_line, no_run, help;
    bool calibrate, here, leave_one_out, predict, no_transfer, record, no_profile;
} ctune_options;

/* Commands: function, name, operands, help. main.c. */
typedef struct ctune_command {
    const char *name;
    int (*run)(ctune_ctx *ctx, const ctune_options *options); /* exit code */
    unsigned bit;                                             /* in the option table's masks */
    const char *operands;
    const char *help;    /* one line */
    const char *details; /* a paragraph, may be NULL */
} ctune_command;

int ctune_cmd_tune(ctune_ctx *ctx, const ctune_options *options);
int ctune_cmd_apply(ctune_ctx *ctx, const ctune_options *options);
int ctune_cmd_show(ctune_ctx *ctx, const ctune_options *options);
int ctune_cmd_check(ctune_ctx *ctx, const ctune_options *options);
int ctune_cmd_doctor(ctune_ctx *ctx, const ctune_options *options);
int ctune_cmd_export(ctune_ctx *ctx, const ctune_options *options);
int ctune_cmd_import(ctune_ctx *ctx, const ctune_options *options);
int ctune_cmd_cc(ctune_ctx *ctx, const ctune_options *options);
int ctune_cmd_flags(ctune_ctx *ctx, const ctune_options *options);
int ctune_cmd_collect(ctune_ctx *ctx, const ctune_options *options);
int ctune_cmd_model(ctune_ctx *ctx, const ctune_options *options);
int ctune_cmd_explain(ctune_ctx *ctx, const ctune_options *options);
int ctune_cmd_scan(ctune_ctx *ctx, const ctune_options *options);
int ctune_cmd_record(ctune_ctx *ctx, const ctune_options *options);
int ctune_cmd_report(ctune_ctx *ctx, const ctune_options *options);
int ctune_cmd_try(ctune_ctx *ctx, const ctune_options *options);

/* Words after the command's name. EUSAGE with words in ctx->error. */
CTUNE_MUST_USE ctune_status ctune_options_parse(ctune_ctx *ctx, const ctune_command *command,
                                                int argc, char **argv, ctune_options *out);
void ctune_options_print(const ctune_command *command,
                         ctune_text *out); /* help text of a command's options */

/* Exit code of a status; and of the worse of two. */
int ctune_exit_code(ctune_status status);
int ctune_exit_worse(int a, int b);
/* "ctune: error: ..." with ctx->error to stderr; returns the exit code. */
int ctune_report(const ctune_ctx *ctx, ctune_status status);

/* A model of any kind, checked against this ctune's features: named, or as ctune_cost_model_find
 * does. Owner of *out: caller, out->destroy. model_job.c */
CTUNE_MUST_USE ctune_status ctune_model_open(ctune_ctx *ctx, const char *given, ctune_model *out);

/* ---- compiler words ------------------------------------------------------------------------- */
/* From the words after --, or -p's compile_commands.json, or the default. */
CTUNE_MUST_USE ctune_status ctune_flags_get(ctune_ctx *ctx, const ctune_options *options,
                                            const char *file, ctune_flags *out);
/* Is there a program of this name on PATH (or at this path)? */
bool ctune_program_exists(const char *name);

/* The command of `file` in BUILD_DIR/compile_commands.json as words (arena), and the folder it runs
 * in. database.c. */
CTUNE_MUST_USE ctune_status ctune_database_find(ctune_ctx *ctx, ctune_arena *arena,
                                                const char *build_dir, const char *file,
                                                int *n_words, const char ***words,
                                                const char **directory);

/* ---- source: one file, opened --------------------------------------------------------------- */
/* A source file (plugin/source/source.h) with everything that tuning needs. */
CTUNE_MUST_USE ctune_status ctune_source_open(ctune_ctx *ctx, const ctune_options *options,
                                              const char *file, ctune_source *out);

ctune_entry_policy ctune_options_policy(const ctune_options *options);

/* "n=64,m=32" into the parameters of those names; the others keep theirs. text may be NULL. EUSAGE.
 */
CTUNE_MUST_USE ctune_status ctune_region_set_sizes(ctune_ctx *ctx, const char *text,
                                                   ctune_region *region);
/* Does the user want this region (--region)? */
bool ctune_region_is_wanted(const ctune_options *options, const ctune_region *region);

/* ---- working folder, signals, runner -------------------------------------------------------- */
/* Private folder under TMPDIR, removed by clear, and on SIGINT, SIGTERM and SIGHUP. One per
 * process. */
CTUNE_MUST_USE ctune_status ctune_workdir_create(ctune_ctx *ctx);
const char *ctune_workdir_path(void);
void ctune_workdir_remove(void);
int ctune_signal_get(void); /* the signal that asked to stop, 0 = none */
CTUNE_MUST_USE ctune_status ctune_runner_find(ctune_ctx *ctx, char *out, size_t size);
/* The options as a session knows them, working in the folder above, stopped by those signals, with
 * this program's progress line. session.c */
ctune_session ctune_session_make(const ctune_options *options);

/* The assembly of one static function of a whole translation unit (prelude and candidates) under
 * the user's flags; the compiler's words go to stderr when it fails. assembly.c */
CTUNE_MUST_USE ctune_status ctune_assembly_make(ctune_ctx *ctx, const ctune_source *source,
                                                const char *code, const char *name,
                                                ctune_text *out);

/* ---- progress line -------------------------------------------------------------------------- */

/* ---- results of a search
 * ----------------------------------------------------------------------------- */
struct cJSON;
/* One object a line; it is freed. */
void ctune_json_print(struct cJSON *root, FILE *file);
void ctune_outcome_print(const ctune_outcome *outcome, const char *lock_path, FILE *file);
void ctune_outcome_print_json(const ctune_outcome *outcome, const ctune_source *source, FILE *file);

/* For ctune_engine_options.progress; false when a signal asked to stop. */
bool ctune_progress_update(void *user, int n_trials, double best_ns, double original_ns);
void ctune_progress_clear(ctune_progress *progress);

#endif
