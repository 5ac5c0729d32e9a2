/*
 * Transform: the text of one C file in, the same file with tuned code in it out.
 *
 * The one implementation behind `ctune apply` and both compiler plugins. It decides per annotated
 * region: a schedule("...") clause, the lock's entries, or (mode=predict) what a model thinks best;
 * emits, splices, and says what it did through ctx->sink. It measures nothing, writes no file but
 * the report, and never fails a build by itself: on any status but OK the caller goes on with the
 * user's text.
 *
 * The compiler plugins do not link this library: they load it (plugin/shim/shim.h) when a file has
 * a pragma, so that other files cost nothing. C++ may include this header.
 */
#ifndef CTUNE_PLUGIN_TRANSFORM_TRANSFORM_H
#define CTUNE_PLUGIN_TRANSFORM_TRANSFORM_H

#include "runtime/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Increased with every change of the structs below: plugin and library must agree. */
#define CTUNE_TRANSFORM_ABI 3

/* id, name, help: `ctune help mode`, the plugins' mode= argument. */
#define CTUNE_TRANSFORM_MODE_TABLE(X)                                                              \
    X(LOCK, "lock", "apply the lock's entries, leave other loops alone (default)")                 \
    X(PREDICT, "predict", "loops without an entry get what the cost model predicts best")          \
    X(OFF, "off", "leave all loops alone")                                                         \
    X(RECORD, "record", "leave all loops alone and record the sizes they run with")

typedef enum ctune_transform_mode {
#define X(id, name, help) CTUNE_TRANSFORM_##id,
    CTUNE_TRANSFORM_MODE_TABLE(X)
#undef X
        CTUNE_N_TRANSFORM_MODES
} ctune_transform_mode;

/* C structs of the layers below; plugins pass NULL where they appear. */
struct ctune_source;
struct ctune_program;
struct ctune_unit;
struct ctune_text;

/*
 * mode=predict: schedule of one region that has no entry.
 *
 * program   of the region at its first sizes (program->region), borrowed
 * source    target, machine, space options (source.h), borrowed
 * schedule  appended to; left empty: the original is predicted best
 * Fails     EREFUSED: a remark, the original stays. Other: a warning, the original stays
 */
typedef ctune_status (*ctune_transform_predict)(ctune_ctx *ctx, void *user,
                                                const struct ctune_source *source,
                                                struct ctune_program *program,
                                                struct ctune_text *schedule);

/*
 * mode=record: the statement that replaces region i_region of the unit, and what the file needs
 * once before its first one (is_prelude: i_region is -1).
 *
 * original  the user's bytes of the statement
 * body      appended to; a whole statement. Left empty: the region stays as it is
 */
typedef ctune_status (*ctune_transform_record)(ctune_ctx *ctx, void *user,
                                               const struct ctune_source *source, int i_region,
                                               const char *original, struct ctune_text *body);

/* Tuned code that the compiler did not take. */
typedef struct ctune_transform_failure {
    int line;       /* of the region's pragma; 0 or another line: of every region */
    char text[256]; /* the compiler's words; "" when it had none */
} ctune_transform_failure;

/* What is to be done. All strings borrowed for the call; zero-initialise, then fill. */
typedef struct ctune_transform_options {
    const char *file; /* as the compiler was given it: in diagnostics, #line, and for the lock's
                         names; "-": standard input */
    const char *text; /* contents, NUL-terminated; NULL: read `file` */
    bool is_clang;    /* the compile is clang's: words are passed to libclang as they are */
    const char
        *command; /* the compiler, "gcc-12": run (-dM -E) when macros is NULL, and by hooks */
    int n_words;  /* the words of the compile as the user wrote them for the driver, without
                     the compiler's name. Inputs, outputs, warnings, ... are dropped here */
    const char *const *words;
    const char *directory; /* what relative -I paths are relative to; NULL: the current folder */
    const char *macros; /* `#define NAME VALUE` lines that hold before the file's first line (what
                           -dM -E prints for an empty file). NULL: ask `command`, but only when
                           an entry, a schedule clause or the mode needs it */
    ctune_transform_mode mode;
    const char *lock_path;   /* NULL: ctune.lock beside `file` (standard input: in the folder) */
    const char *report_path; /* JSON lines, one a region, appended; NULL: none */
    bool is_build;       /* called by a compiler: refusals and malformed pragmas are warnings, parse
                            errors one warning (the compiler has its own words for them) */
    bool nearest_target; /* without an entry for this target: that of the nearest one (entries.h) */
    /* What became of this text in earlier calls: these regions stay as they are, each with a
     * warning; several that fail for one reason have one warning. */
    int n_failures;
    const ctune_transform_failure *failures;
    /* The rest is for the tool; zero for plugins. */
    bool any_target;                 /* entries of other targets count, too */
    bool undo;                       /* take an earlier rewriting out, put nothing in */
    bool no_line;                    /* no #line directives */
    const char *region;              /* only this one; NULL: all */
    const char *name;                /* the lock's name of the file; NULL: file without folder */
    ctune_transform_predict predict; /* NULL: mode=predict is lock, with a remark */
    void *predict_user;
    ctune_transform_record record; /* NULL: mode=record leaves everything alone */
    void *record_user;
} ctune_transform_options;

/* Per region, the sum is n_regions. */
typedef struct ctune_transform_counts {
    int n_regions;  /* annotated statements */
    int n_applied;  /* with tuned code in the text (predicted ones included) */
    int n_original; /* the entry says that the original is best */
    int n_untuned;  /* no entry for this target */
    int n_stale;    /* changed since they were tuned */
    int n_refused;  /* cannot be handled, or the entry does not apply any more */
    int n_off;      /* clause off, or not the wanted region */
    int n_recorded;
    int n_predicted; /* of n_applied and n_original: by the model */
} ctune_transform_counts;

typedef struct ctune_transform_result {
    bool is_changed; /* false: text is NULL, the user's text is to be compiled */
    char *text;      /* NUL-terminated, owned: ctune_transform_clear */
    size_t n_text;
    char *lock_path; /* the lock that was looked at, owned; a dependency of the output when
                        has_lock */
    bool has_lock;   /* the file is there */
    ctune_transform_counts counts;
    ctune_status worst; /* of what kept regions from being applied: EREFUSED, EBUG, ... */
} ctune_transform_result;

/*
 * Diagnostics (ctx->sink) have places in the user's text. Codes: those of refusals
 * (extract_refusals.def), "applied", "predicted", "original-best", "recorded" (remarks, in builds),
 * "lock-no-entry", "lock-other-target", "lock-none-applies", "no-predictor", "no-prediction"
 * (remarks), "lock-stale", "not-applied", "does-not-compile", "does-not-parse", obstacles
 * (transform_private.h), "no-transform" (the whole file is left alone), clause errors.
 *
 * Fails   EUSAGE a pragma or the lock is malformed; EENV a file or the compiler does not work, the
 *         source does not parse; ENOMEM; EBUG. *out is valid (and empty) after a failure, too.
 *         Words in ctx->error; in a build a warning has them, and ctx->error is empty
 * Thread  one ctx, one thread; no global state
 */
CTUNE_MUST_USE ctune_status ctune_transform_run(ctune_ctx *ctx,
                                                const ctune_transform_options *options,
                                                ctune_transform_result *out);
void ctune_transform_clear(ctune_transform_result *result);

/* false: no such mode. */
bool ctune_transform_mode_find(const char *name, ctune_transform_mode *out);

/* What libctune-transform.so exports: one function, ctune_transform_api_get. */
typedef struct ctune_transform_api {
    int abi;
    const char *version; /* CTUNE_VERSION */
    ctune_status (*run)(ctune_ctx *ctx, const ctune_transform_options *options,
                        ctune_transform_result *out);
    void (*clear)(ctune_transform_result *result);
} ctune_transform_api;

/* Sets the hooks that options leave NULL (entry_main.c). */
const ctune_transform_api *ctune_transform_api_get(void);

#ifdef __cplusplus
}
#endif

#endif
