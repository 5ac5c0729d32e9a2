/*
 * Property: for a random region and a random legal schedule, the compiled code leaves the same
 * bytes as the interpreter.
 *
 * Regions (random_region.c) and points of their spaces become candidates; a batch of some regions
 * is one translation unit, compiled by one compiler with warnings on (a warning is a failure),
 * loaded in a child process and run between guard pages against ctune_te_eval. Also checked on the
 * way: print -> parse -> print is a fixed point, the schedule of a point gives the point's nest
 * when it is printed, parsed and applied, and a candidate that declines has written nothing.
 *
 *     property_main [--pairs N] [--seed S] [--only REGION] [--per-region N] [--cc COMPILER]...
 * [--keep] [--sanitize]
 *
 * Every region has its own generator, seeded from S and its number, so that `--seed S --only R`
 * repeats one region. A failure prints seed, region, TE text, schedule and the file that holds the
 * C; exit code 1.
 */
#include "tests/property/property.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REGIONS_PER_BATCH = 24, MAX_FAILURES = 6, SAMPLES_PER_CANDIDATE = 6 };

static uint64_t region_seed(uint64_t seed, int region) {
    ctune_rng rng;
    ctune_rng_init(&rng, seed * 0x9e3779b97f4a7c15u + (uint64_t)region);
    return ctune_rng_next(&rng);
}

/* ---- reports --------------------------------------------------------- */

static void print_failure(property *p, const property_region *r, const char *what,
                          const char *detail) {
    ctune_text text;
    ctune_text_init(&text);
    ctune_te_print(r->region, &text);
    p->n_failures++;
    fprintf(stderr, "\nFAIL %s: %s\nrepeat with: --seed %llu --only %d --per-region %d\n%s", what,
            detail, (unsigned long long)p->seed, r->id, p->per_region, ctune_text_get(&text));
    ctune_text_clear(&text);
}

static void print_schedule(property *p, const property_region *r, const ctune_point *point) {
    ctune_schedule schedule;
    ctune_text text;
    ctune_schedule_init(&schedule);
    ctune_text_init(&text);
    if (ctune_space_schedule(&p->ctx, r->space, point, &schedule) == CTUNE_OK) {
        ctune_schedule_print(&schedule, &text);
    }
    fprintf(stderr, "schedule:\n%s\n", ctune_text_get(&text));
    ctune_text_clear(&text);
    ctune_schedule_clear(&schedule);
}

/* ---- checks of text -------------------------------------------------- */

static void check_round_trip(property *p, const property_region *r) {
    ctune_text first, second;
    ctune_region *parsed = NULL;
    ctune_text_init(&first);
    ctune_text_init(&second);
    ctune_te_print(r->region, &first);
    if (ctune_te_parse(&p->ctx, ctune_text_get(&first), &parsed) != CTUNE_OK) {
        print_failure(p, r, "te_parse", p->ctx.error);
    } else {
        ctune_te_print(parsed, &second);
        if (strcmp(ctune_text_get(&first), ctune_text_get(&second)) != 0) {
            print_failure(p, r, "te print -> parse -> print differs", ctune_text_get(&second));
        }
        ctune_region_destroy(parsed);
    }
    ctune_text_clear(&first);
    ctune_text_clear(&second);
}

/* point -> schedule -> text -> schedule -> nest is the nest of the point. */
static void check_schedule(property *p, property_region *r, const ctune_point *point,
                           const ctune_nest *nest) {
    ctune_schedule schedule, parsed;
    ctune_text text, want, got;
    ctune_nest *again = malloc(sizeof *again);
    ctune_schedule_init(&schedule);
    ctune_schedule_init(&parsed);
    ctune_text_init(&text);
    ctune_text_init(&want);
    ctune_text_init(&got);
    const char *what = NULL;
    if (again == NULL || ctune_space_schedule(&p->ctx, r->space, point, &schedule) != CTUNE_OK) {
        what = "space_schedule";
    } else {
        ctune_schedule_print(&schedule, &text);
        if (ctune_schedule_parse(&p->ctx, ctune_text_get(&text), &parsed) != CTUNE_OK) {
            what = "schedule_parse";
        } else if (ctune_schedule_apply(&p->ctx, r->program, &parsed, again) != CTUNE_OK) {
            what = "schedule_apply";
        } else {
            ctune_nest_print(nest, &want);
            ctune_nest_print(again, &got);
            if (strcmp(ctune_text_get(&want), ctune_text_get(&got)) != 0) {
                what = "schedule gives another nest";
                snprintf(p->ctx.error, sizeof p->ctx.error, "want\n%.200s\ngot\n%.200s",
                         ctune_text_get(&want), ctune_text_get(&got));
            }
        }
    }
    if (what != NULL) {
        print_failure(p, r, what, p->ctx.error);
        fprintf(stderr, "schedule:\n%s\n", ctune_text_get(&text));
    }
    free(again);
    ctune_text_clear(&text);
    ctune_text_clear(&want);
    ctune_text_clear(&got);
    ctune_schedule_clear(&schedule);
    ctune_schedule_clear(&parsed);
}

/* ---- making a batch -------------------------------------------------- */

static bool add_candidate(property *p, property_batch *b, int i_region, const ctune_point *point,
                          const ctune_nest *nest) {
    property_region *r = &b->regions[i_region];
    property_candidate *c = &b->candidates[b->n_candidates];
    ctune_text unit;
    char name[48];
    snprintf(name, sizeof name, "r%d_c%d", r->id, b->n_candidates);
    ctune_text_init(&unit);
    ctune_status status = nest != NULL
                              ? ctune_emit_candidate(&p->ctx, nest, &b->emit, name, &unit)
                              : ctune_emit_original(&p->ctx, r->region, &b->emit, name, &unit);
    if (status == CTUNE_OK) {
        *c = (property_candidate){.i_region = i_region, .is_original = nest == NULL};
        if (point != NULL) {
            c->point = *point;
        }
        ctune_text_append(&b->source, ctune_text_get(&unit));
        ctune_text_append(&b->source, "\n");
        ctune_text_printf(&b->table, "    %s,\n", name);
        b->n_candidates++;
    } else if (status == CTUNE_EREFUSED && nest != NULL) {
        p->n_refused++;
        if (p->n_refused <= 3) {
            fprintf(stderr, "note: emission refused (region %d): %s\n", r->id, p->ctx.error);
        }
    } else {
        print_failure(p, r, "emission", p->ctx.error);
        if (point != NULL) {
            print_schedule(p, r, point);
        }
    }
    ctune_text_clear(&unit);
    return status == CTUNE_OK;
}

static void add_candidates(property *p, property_batch *b, int i_region, ctune_rng *rng) {
    property_region *r = &b->regions[i_region];
    ctune_nest *nest = malloc(sizeof *nest);
    if (nest == NULL) {
        return;
    }
    add_candidate(p, b, i_region, NULL, NULL);
    for (int i = 0; i < p->per_region; i++) {
        ctune_point point = {.n = ctune_space_n_decisions(r->space)};
        bool is_legal = i == 0 && ctune_space_nest(r->space, &point, nest);
        if (i == 0 && !is_legal) {
            print_failure(p, r, "the identity is not legal", "");
        }
        for (int s = 0; s < SAMPLES_PER_CANDIDATE && !is_legal; s++) {
            ctune_space_sample(r->space, rng, &point);
            is_legal = ctune_space_nest(r->space, &point, nest);
            p->n_illegal += !is_legal;
        }
        if (!is_legal) {
            continue;
        }
        if (ctune_rng_below(rng, 10) == 0) {
            check_schedule(p, r, &point, nest);
        }
        add_candidate(p, b, i_region, &point, nest);
    }
    free(nest);
}

/* One region with its program and space; false when it was refused. */
static bool region_open(property *p, property_region *r, int id, const property_batch *b) {
    ctune_rng rng;
    ctune_rng_init(&rng, region_seed(p->seed, id));
    *r = (property_region){.id = id};
    if (random_region_make(&p->ctx, &rng, &r->region) != CTUNE_OK) {
        fprintf(stderr, "FAIL random_region_make, --seed %llu --only %d: %s\n",
                (unsigned long long)p->seed, id, p->ctx.error);
        p->n_failures++;
        return false;
    }
    for (int set = 0; set < RANDOM_SETS; set++) {
        random_region_sizes(r->region, &rng, set, r->params[set]);
    }
    r->rng = rng;
    check_round_trip(p, r);
    ctune_status status = ctune_program_create(&p->ctx, r->region, &r->program);
    if (status == CTUNE_OK) {
        status = ctune_space_create(&p->ctx, r->program, &b->target, &r->space);
    }
    if (status != CTUNE_OK) {
        p->n_refused_regions++;
        if (status != CTUNE_EREFUSED || p->n_refused_regions <= 3) {
            print_failure(p, r, "program or space", p->ctx.error);
            p->n_failures -= status == CTUNE_EREFUSED;
        }
        property_region_close(r);
    }
    return status == CTUNE_OK;
}

void property_region_close(property_region *r) {
    if (r->space != NULL) {
        ctune_space_destroy(r->space);
    }
    if (r->program != NULL) {
        ctune_program_destroy(r->program);
    }
    ctune_region_destroy(r->region);
    *r = (property_region){0};
}

static property_batch *batch_make(property *p, int number) {
    static const int widths[] = {64, 32, 16};
    property_batch *b = calloc(1, sizeof *b);
    if (b == NULL) {
        return NULL;
    }
    b->number = number;
    b->compiler = p->compilers[number % p->n_compilers];
    static const int64_t caches[3] = {2 << 10, 16 << 10, 128 << 10};
    ctune_target_init(&b->target, widths[number % 3], caches, 1);
    b->target.openmp = number % 4 == 3;
    /* products: no fusing at all; fused by the text; rounded by the text although the compiler may
     * fuse */
    int mode = p->has_fma ? number / 2 % 3 : 0;
    b->may_contract = mode > 0;
    b->products = mode == 1 ? CTUNE_PRODUCTS_FUSED : CTUNE_PRODUCTS_ROUNDED;
    b->target.has_fma = mode > 0;
    b->target.contract = mode > 0 ? CTUNE_CONTRACT_FAST : CTUNE_CONTRACT_OFF;
    b->emit = (ctune_emit_options){
        .target = &b->target, .comments = number % 2 == 0, .round_products = mode == 2};
    b->candidates =
        calloc((size_t)REGIONS_PER_BATCH * (size_t)(p->per_region + 1), sizeof *b->candidates);
    b->regions = calloc(REGIONS_PER_BATCH, sizeof *b->regions);
    ctune_text_init(&b->source);
    ctune_text_init(&b->table);
    if (b->candidates == NULL || b->regions == NULL) {
        property_batch_destroy(b);
        return NULL;
    }
    ctune_emit_prelude(&b->emit, &b->source);
    int first = number * REGIONS_PER_BATCH;
    for (int i = 0; i < REGIONS_PER_BATCH; i++) {
        property_region *r = &b->regions[b->n_regions];
        if ((p->only >= 0 && first + i != p->only) || !region_open(p, r, first + i, b)) {
            continue;
        }
        add_candidates(p, b, b->n_regions++, &r->rng);
    }
    ctune_text_printf(&b->source,
                      "extern const int ctune_batch_n;\nconst int ctune_batch_n = %d;\n"
                      "extern int (*const ctune_batch[])(const ctune_args *);\n"
                      "int (*const ctune_batch[])(const ctune_args *) = {\n%s};\n",
                      b->n_candidates, ctune_text_get(&b->table));
    return b;
}

void property_batch_destroy(property_batch *b) {
    for (int i = 0; i < b->n_regions; i++) {
        property_region_close(&b->regions[i]);
    }
    ctune_text_clear(&b->source);
    ctune_text_clear(&b->table);
    free(b->regions);
    free(b->candidates);
    free(b);
}

/* ---- running --------------------------------------------------------- */

static void batch_report(property *p, property_batch *b) {
    for (int i = 0; i < b->n_candidates; i++) {
        const property_candidate *c = &b->candidates[i];
        const property_region *r = &b->regions[c->i_region];
        bool is_good = c->outcome == PROPERTY_OK, has_run = c->n_declined < RANDOM_SETS;
        p->n_originals += is_good && c->is_original;
        p->n_pairs += is_good && !c->is_original && has_run;
        p->n_never_ran += is_good && !c->is_original && !has_run;
        if (c->outcome == PROPERTY_OK || p->n_failures >= MAX_FAILURES) {
            continue;
        }
        print_failure(p, r, c->is_original ? "the original" : "a schedule", c->detail);
        if (!c->is_original) {
            print_schedule(p, r, &c->point);
        }
        fprintf(stderr, "compiler %s, function r%d_c%d in %s\n", b->compiler, r->id, i, b->c_path);
        p->is_kept = true;
    }
}

static void batch_finish(property *p, property_batch *b) {
    char message[2048] = "";
    if (!property_compile_wait(b, message, sizeof message)) {
        fprintf(stderr, "\nFAIL batch %d, %s: %s\n%s\n", b->number, b->compiler, b->c_path,
                message);
        p->n_failures++;
        p->is_kept = true;
    }
    if (b->is_compiled && b->n_candidates > 0) {
        property_run(p, b);
        batch_report(p, b);
    }
}

static int run_all(property *p) {
    property_batch *waiting = NULL; /* compiled in the background while the next one is made */
    long per_batch = (long)REGIONS_PER_BATCH * p->per_region;
    long max_batches =
        4 + 4 * (p->want_pairs / per_batch + 1); /* most points are expected to run */
    int number = p->only >= 0 ? p->only / REGIONS_PER_BATCH : 0;
    while (p->n_failures < MAX_FAILURES) {
        bool is_last =
            p->only >= 0 ? waiting != NULL : p->n_pairs >= p->want_pairs || number >= max_batches;
        property_batch *next = is_last ? NULL : batch_make(p, number++);
        if (next != NULL && !property_compile_start(p, next)) {
            fprintf(stderr, "property: %s\n", p->ctx.error);
            property_batch_destroy(next);
            return 3;
        }
        if (waiting != NULL) {
            batch_finish(p, waiting);
            property_batch_destroy(waiting);
        }
        waiting = next;
        if (waiting == NULL) {
            break;
        }
    }
    if (waiting != NULL) {
        char message[2048];
        property_compile_wait(waiting, message, sizeof message);
        property_batch_destroy(waiting);
    }
    if (p->n_failures == 0 && p->only < 0 && p->n_pairs < p->want_pairs) {
        fprintf(stderr, "FAIL: too few pairs\n");
        p->n_failures++;
    }
    return p->n_failures > 0;
}

static bool take_arguments(property *p, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--keep") == 0) {
            p->is_kept = true;
            continue;
        }
        if (strcmp(argv[i], "--sanitize") == 0) {
            p->is_sanitized = true;
            continue;
        }
        if (value == NULL) {
            return false;
        }
        i++;
        if (strcmp(argv[i - 1], "--pairs") == 0) {
            p->want_pairs = atol(value);
        } else if (strcmp(argv[i - 1], "--seed") == 0) {
            p->seed = strtoull(value, NULL, 0);
        } else if (strcmp(argv[i - 1], "--only") == 0) {
            p->only = atoi(value);
        } else if (strcmp(argv[i - 1], "--per-region") == 0) {
            p->per_region = atoi(value);
        } else if (strcmp(argv[i - 1], "--cc") == 0 && p->n_compilers < PROPERTY_COMPILERS) {
            p->compilers[p->n_compilers++] = value;
        } else {
            return false;
        }
    }
    return p->want_pairs > 0 && p->per_region > 0 && p->per_region <= 1000;
}

int main(int argc, char **argv) {
    property p = {.want_pairs = 2000, .seed = 1, .only = -1, .per_region = 10};
    ctune_ctx_init(&p.ctx);
#if defined(__x86_64__)
    p.has_fma = __builtin_cpu_supports("fma") != 0;
#elif defined(__aarch64__)
    p.has_fma = true;
#endif
    if (!take_arguments(&p, argc, argv)) {
        fprintf(stderr, "usage: property_main [--pairs N] [--seed S] [--only REGION] "
                        "[--per-region N] [--cc COMPILER]... [--keep] [--sanitize]\n");
        return 2;
    }
    static const char *const known[] = {"gcc", "clang-19", "clang", "cc"};
    for (int i = 0; i < 4 && p.n_compilers < 2; i++) {
        if (property_has_compiler(known[i]) && !(i == 2 && p.n_compilers == 2)) {
            p.compilers[p.n_compilers++] = known[i];
        }
    }
    if (p.n_compilers == 0 || !property_folder_create(&p)) {
        fprintf(stderr, "property: no compiler or no folder for temporary files\n");
        return 3;
    }
    setenv("OMP_NUM_THREADS", "2", 1);
    int rc = run_all(&p);
    printf("property: seed %llu: %ld pairs and %ld originals equal the interpreter; %ld points not "
           "legal, %ld emissions refused, %ld regions refused, %ld always declined; %d failures\n",
           (unsigned long long)p.seed, p.n_pairs, p.n_originals, p.n_illegal, p.n_refused,
           p.n_refused_regions, p.n_never_ran, p.n_failures);
    property_folder_remove(&p);
    return rc;
}
