/* What the files of the property test share: property_main.c makes and reports, property_run.c
 * compiles and runs. */
#ifndef CTUNE_TESTS_PROPERTY_PROPERTY_H
#define CTUNE_TESTS_PROPERTY_PROPERTY_H

#include "search/emit/emit.h"
#include "search/space/space.h"
#include "tests/property/random_region.h"

#include <sys/types.h>

enum { PROPERTY_COMPILERS = 4, PROPERTY_PARAMS = 8 };

typedef enum property_outcome {
    PROPERTY_NOT_RUN,
    PROPERTY_OK,
    PROPERTY_WRONG, /* other bytes than the interpreter's, or written when it declined */
    PROPERTY_CRASH
} property_outcome;

typedef struct property_region {
    int id; /* number under the seed */
    ctune_region *region;
    ctune_program *program;
    ctune_space *space;
    ctune_rng rng; /* for contents of the tensors */
    int64_t params[RANDOM_SETS][PROPERTY_PARAMS];
} property_region;

typedef struct property_candidate {
    int i_region; /* in the batch */
    bool is_original;
    ctune_point point;
    property_outcome outcome;
    int n_declined;   /* sets in which it returned 1 */
    char detail[200]; /* what is wrong */
} property_candidate;

typedef struct property_batch {
    int number;
    const char *compiler;
    ctune_target target;
    ctune_emit_options emit; /* borrows target */
    ctune_products products; /* of the candidates: what the interpreter goes by */
    bool may_contract;       /* the compiler is allowed to fuse: the text must decide */
    int n_regions, n_candidates;
    property_region *regions;
    property_candidate *candidates;
    ctune_text source, table;
    char c_path[256], so_path[256], log_path[256];
    pid_t compile_pid;
    bool is_compiled;
} property_batch;

typedef struct property {
    ctune_ctx ctx;
    long want_pairs;
    uint64_t seed;
    int only, per_region;
    int n_compilers;
    const char *compilers[PROPERTY_COMPILERS];
    char folder[128];
    bool is_kept;
    bool has_fma;      /* this machine fuses products */
    bool is_sanitized; /* candidates are compiled with UndefinedBehaviorSanitizer */
    long n_pairs, n_originals, n_illegal, n_refused, n_refused_regions, n_never_ran;
    int n_failures;
} property;

void property_region_close(property_region *r);
void property_batch_destroy(property_batch *b);

bool property_has_compiler(const char *name);
bool property_folder_create(property *p);
void property_folder_remove(property *p); /* unless is_kept: then its name is printed */

/* Starts the compiler in the background. false: it cannot be started (words in ctx.error). */
bool property_compile_start(property *p, property_batch *b);
/* false: it failed or had something to say; message receives the beginning of that. Sets
 * is_compiled. */
bool property_compile_wait(property_batch *b, char *message, size_t size);
/* Runs all candidates in child processes and fills in their outcomes. */
void property_run(property *p, property_batch *b);

#endif
