/*
 * Property, without a compiler: for a random region and a random legal schedule, the program that
 * lowering makes and every pass leaves computes what the region computes.
 *
 * Regions (random_region.c) × points of their spaces, and every other time with random primitives
 * that no space proposes on top (random_prims.c) or instead, are lowered; after lowering and after
 * each pass the program is verified (ctune_loops_verify), evaluated (ctune_loops_eval, parallel
 * iterations in a shuffled order) and compared with ctune_te_eval, byte for byte, with products
 * fused or rounded, at sizes 0, 1, 2, odd, prime and below a tile. print -> parse -> print of the
 * program is a fixed point.
 *
 *     interpret_main [--pairs N] [--seed S] [--only REGION] [--per-region N] [--factors 1] [--gpu
 * 1]
 *
 * --gpu: ranges of accesses by brute force (touched_check.c); schedules for a GPU (random_gpu.c),
 * blocks and threads forwards and backwards; accesses of threads that meet between barriers are a
 * failure.
 *
 * `--seed S --only R` repeats one region. A failure prints seed, region, schedule, pass and
 * program; exit code 1.
 */
#include "search/lower/lower.h"
#include "search/space/space.h"
#include "tests/property/random_gpu.h"
#include "tests/property/random_prims.h"
#include "tests/property/random_region.h"
#include "tests/property/touched_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FAILURES = 3, N_SETS = 6, MAX_PARAMS = 8, MAX_TENSORS = 64, SAMPLES = 6 };

typedef struct memory {
    void *data[MAX_TENSORS];
    size_t bytes[MAX_TENSORS];
} memory;

/* One set of parameter values: inputs, and what the region leaves with products rounded and fused.
 */
typedef struct value_set {
    int64_t params[MAX_PARAMS];
    memory initial, want[2], got;
} value_set;

typedef struct interpret {
    ctune_ctx ctx;
    uint64_t seed;
    long want_pairs, n_pairs, n_checks, n_refused, n_prims, n_splits, n_tiles, n_ranges;
    int only, per_region, n_failures, id;
    bool wants_factors; /* factorisations and solves alone */
    bool wants_gpu;
    ctune_region *region;
    ctune_program *program;
    ctune_space *space;
    ctune_target target; /* of the space */
    value_set sets[N_SETS];
    ctune_rng rng;
    /* the candidate at hand */
    ctune_products products;
    const ctune_point *point;
    ctune_text more;          /* primitives after the point's */
    const value_set *settled; /* the program is for this set alone; NULL: for all */
    bool has_failed;
} interpret;

/* ---- values ---------------------------------------------------------------------------------- */

enum { MAX_ELEMENTS = 1 << 22 };

static bool memory_create(const ctune_region *region, const int64_t *params, memory *m) {
    memset(m, 0, sizeof *m);
    for (int t = 0; t < region->n_tensors; t++) {
        int64_t extents[CTUNE_MAX_RANK];
        int64_t n = ctune_tensor_shape(region, t, params, extents);
        if (region->tensors[t].is_temp) {
            continue;
        }
        if (n < 0 || n > MAX_ELEMENTS) {
            return false;
        }
        m->bytes[t] = (size_t)n * (size_t)region->tensors[t].elem_stride_bytes;
        m->data[t] = calloc(m->bytes[t] + 1, 1);
        if (m->data[t] == NULL) {
            return false;
        }
    }
    return true;
}

static void memory_destroy(memory *m) {
    for (int t = 0; t < MAX_TENSORS; t++) {
        free(m->data[t]);
    }
    memset(m, 0, sizeof *m);
}

static void memory_copy(memory *to, const memory *from) {
    for (int t = 0; t < MAX_TENSORS; t++) {
        if (from->data[t] != NULL) {
            memcpy(to->data[t], from->data[t], from->bytes[t]);
        }
    }
}

/* Tiny ones; a few; and one parameter that full tiles fit into. */
static void choose_sizes(interpret *p, int which, int64_t *out) {
    static const int sizes[3][6] = {
        {0, 1, 2, 3, 4, 5}, {7, 8, 11, 13, 16, 17}, {31, 37, 48, 64, 67, 97}};
    int n = p->region->n_params;
    int large = n == 0 ? 0 : (int)ctune_rng_below(&p->rng, (uint64_t)n);
    for (int i = 0; i < n; i++) {
        int row = which < 2 ? 0 : which >= 4 && i == large ? 2 : 1;
        out[i] = sizes[row][ctune_rng_below(&p->rng, 6)];
    }
}

/* Tensors of at most a million elements, stages of some hundred thousand iterations: the
 * interpreters are plain. */
static bool is_small(const ctune_region *region, const int64_t *params) {
    int64_t extents[CTUNE_MAX_RANK], most = 1;
    for (int i = 0; i < region->n_params; i++) {
        most = params[i] > most ? params[i] : most;
    }
    for (int t = 0; t < region->n_tensors; t++) {
        int64_t n = ctune_tensor_shape(region, t, params, extents);
        if (n < 0 || n > 1 << 20) {
            return false;
        }
    }
    for (int s = 0; s < region->n_stages; s++) {
        double iterations = 1;
        for (int d = 0; d < region->stages[s].n_axes; d++) {
            iterations *= (double)most;
        }
        if (iterations > 3e5) {
            return false;
        }
    }
    return true;
}

/* Does each tensor have so few elements that memory_create takes it? */
static bool is_storable(const ctune_region *region, const int64_t *params) {
    for (int t = 0; t < region->n_tensors; t++) {
        int64_t extents[CTUNE_MAX_RANK], n = ctune_tensor_shape(region, t, params, extents);
        if (!region->tensors[t].is_temp && (n < 0 || n > MAX_ELEMENTS)) {
            return false;
        }
    }
    return true;
}

static bool set_create(interpret *p, int which, value_set *s) {
    const ctune_region *r = p->region;
    choose_sizes(p, which, s->params);
    for (int tries = 0; tries < 8 && !is_storable(r, s->params); tries++) {
        for (int i = 0; i < r->n_params; i++) {
            s->params[i] = s->params[i] > 1 ? s->params[i] / 2 : s->params[i];
        }
    }
    for (; which > 0 && !is_small(r, s->params); which -= 2) {
        choose_sizes(p, which > 2 ? which - 2 : 0, s->params);
    }
    if (!memory_create(r, s->params, &s->initial) || !memory_create(r, s->params, &s->want[0]) ||
        !memory_create(r, s->params, &s->want[1]) || !memory_create(r, s->params, &s->got)) {
        return false;
    }
    for (int t = 0; t < r->n_tensors; t++) {
        if (s->initial.data[t] != NULL && s->initial.bytes[t] > 0) {
            size_t n = s->initial.bytes[t] / (size_t)ctune_type_get(r->tensors[t].type)->bytes;
            random_fill_tensor(&p->rng, r, t, s->params, n, s->initial.data[t]);
        }
    }
    for (int f = 0; f < 2; f++) {
        memory_copy(&s->want[f], &s->initial);
        if (ctune_te_eval(&p->ctx, r, (ctune_products)f, s->params, s->want[f].data,
                          s->want[f].bytes) != CTUNE_OK) {
            return false;
        }
    }
    return true;
}

static void set_destroy(value_set *s) {
    memory_destroy(&s->initial);
    memory_destroy(&s->want[0]);
    memory_destroy(&s->want[1]);
    memory_destroy(&s->got);
}

/* NaNs are all one (their payload depends on the order of operands); under reassoc zeros are, too.
 */
static bool is_same(const ctune_region *region, ctune_type type, const unsigned char *a,
                    const unsigned char *b) {
    float x32, y32;
    double x, y;
    if (type == CTUNE_F32) {
        memcpy(&x32, a, sizeof x32);
        memcpy(&y32, b, sizeof y32);
        x = (double)x32;
        y = (double)y32;
    } else if (type == CTUNE_F64) {
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
    } else {
        return false;
    }
    return (x != x && y != y) || (region->reassoc && x == y);
}

static const char *find_difference(interpret *p, const value_set *s) {
    static char words[200];
    const memory *want = &s->want[p->products];
    for (int t = 0; t < p->region->n_tensors; t++) {
        const ctune_tensor *tensor = &p->region->tensors[t];
        if (want->data[t] == NULL || memcmp(want->data[t], s->got.data[t], want->bytes[t]) == 0) {
            continue;
        }
        size_t elem = (size_t)ctune_type_get(tensor->type)->bytes;
        for (size_t at = 0; at + elem <= want->bytes[t]; at += elem) {
            const unsigned char *a = (unsigned char *)s->got.data[t] + at;
            const unsigned char *b = (unsigned char *)want->data[t] + at;
            if (memcmp(a, b, elem) != 0 && !is_same(p->region, tensor->type, a, b)) {
                int n = snprintf(words, sizeof words, "%s element %zu differs at", tensor->name,
                                 at / elem);
                for (int i = 0; i < p->region->n_params; i++) {
                    n += snprintf(words + n, sizeof words - (size_t)n, " %s=%lld",
                                  p->region->params[i].name, (long long)s->params[i]);
                }
                return words;
            }
        }
    }
    return NULL;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static void print_failure(interpret *p, const char *pass, const char *what,
                          const ctune_loops *loops) {
    ctune_text text;
    ctune_schedule schedule;
    ctune_text_init(&text);
    ctune_schedule_init(&schedule);
    ctune_te_print(p->region, &text);
    ctune_text_append(&text, "schedule:\n");
    if (p->point != NULL &&
        ctune_space_schedule(&p->ctx, p->space, p->point, &schedule) == CTUNE_OK) {
        ctune_schedule_print(&schedule, &text);
    }
    ctune_text_append(&text, ctune_text_get(&p->more));
    if (loops != NULL) {
        ctune_text_append(&text, "program:\n");
        ctune_loops_print(loops, &text);
    }
    fprintf(stderr,
            "\nFAIL after %s (%s): %s\nrepeat with: --seed %llu --only %d --per-region %d\n%s",
            pass, p->products == CTUNE_PRODUCTS_FUSED ? "fused" : "rounded", what,
            (unsigned long long)p->seed, p->id, p->per_region, ctune_text_get(&text));
    ctune_schedule_clear(&schedule);
    ctune_text_clear(&text);
    p->n_failures++;
    p->has_failed = true;
}

static void check_text(interpret *p, const char *pass, const ctune_loops *loops) {
    ctune_text first, second;
    ctune_loops *parsed = NULL;
    ctune_text_init(&first);
    ctune_text_init(&second);
    ctune_loops_print(loops, &first);
    if (ctune_loops_parse(&p->ctx, p->region, ctune_text_get(&first), &parsed) != CTUNE_OK) {
        print_failure(p, pass, p->ctx.error, loops);
    } else {
        ctune_loops_print(parsed, &second);
        if (strcmp(ctune_text_get(&first), ctune_text_get(&second)) != 0) {
            print_failure(p, pass, "print -> parse -> print differs", loops);
        }
        ctune_loops_destroy(parsed);
    }
    ctune_text_clear(&first);
    ctune_text_clear(&second);
}

static void check_set(interpret *p, value_set *s, const char *pass, const ctune_loops *loops) {
    s = p->settled != NULL ? (value_set *)p->settled : s;
    memory_copy(&s->got, &s->initial);
    p->n_checks++;
    if (ctune_loops_eval_order(&p->ctx, loops, s->params, s->got.data, s->got.bytes,
                               ctune_rng_next(&p->rng)) != CTUNE_OK) {
        print_failure(p, pass, p->ctx.error, loops);
        return;
    }
    const char *words = find_difference(p, s);
    if (words != NULL) {
        print_failure(p, pass, words, loops);
    }
}

static void observe(void *data, const char *pass, const ctune_loops *loops) {
    interpret *p = data;
    if (p->has_failed) {
        return; /* the first pass that breaks it */
    }
    if (ctune_loops_verify(&p->ctx, loops) != CTUNE_OK) {
        print_failure(p, pass, p->ctx.error, loops);
        return;
    }
    /* the large sizes are dear: now and then after each pass, half the time after the last one */
    bool is_last = strcmp(pass, "name") == 0;
    bool is_large = ctune_rng_below(&p->rng, is_last ? 2 : 8) == 0;
    check_set(p, &p->sets[ctune_rng_below(&p->rng, 4)], pass, loops);
    if (is_large && !p->has_failed) {
        check_set(p, &p->sets[4 + ctune_rng_below(&p->rng, N_SETS - 4)], pass, loops);
    }
    if (ctune_rng_below(&p->rng, 50) == 0 && !p->has_failed) {
        check_text(p, pass, loops);
    }
}

static void check_pair(interpret *p, const ctune_nest *nest, const ctune_point *point) {
    static const int widths[] = {16, 32, 64};
    p->products = ctune_rng_below(&p->rng, 2) == 0 ? CTUNE_PRODUCTS_ROUNDED : CTUNE_PRODUCTS_FUSED;
    const ctune_target target = {.vector_bytes = widths[ctune_rng_below(&p->rng, 3)],
                                 .openmp = ctune_rng_below(&p->rng, 2) == 0};
    ctune_lower_options options = {
        .target = &target, .products = p->products, .observer = observe, .observer_data = p};
    ctune_loops *loops = NULL;
    p->settled =
        ctune_rng_below(&p->rng, 4) == 0 ? &p->sets[ctune_rng_below(&p->rng, N_SETS)] : NULL;
    options.sizes = p->settled != NULL ? p->settled->params : NULL;
    p->point = point;
    p->has_failed = false;
    ctune_status status = ctune_lower(&p->ctx, nest, &options, &loops);
    p->n_pairs++;
    if (status == CTUNE_EREFUSED) {
        p->n_refused++;
        if (p->n_refused <= 3) {
            fprintf(stderr, "note: region %d refused: %s\n", p->id, p->ctx.error);
        }
    } else if (status != CTUNE_OK && !p->has_failed) {
        print_failure(p, "lower", p->ctx.error, NULL);
    }
    ctune_loops_destroy(loops);
}

static void check_nest(interpret *p, const ctune_nest *nest) {
    if (ctune_nest_verify(&p->ctx, nest) != CTUNE_OK) {
        print_failure(p, "schedule", p->ctx.error, NULL);
    }
}

/* ---- regions --------------------------------------------------------------------------------- */

static bool region_open(interpret *p, int id) {
    ctune_rng seeder;
    ctune_rng_init(&seeder, p->seed * 0x9e3779b97f4a7c15u + (uint64_t)id);
    ctune_rng_init(&p->rng, ctune_rng_next(&seeder));
    p->id = id;
    if ((p->wants_factors ? random_factor_make : random_region_make)(&p->ctx, &p->rng,
                                                                     &p->region) != CTUNE_OK) {
        fprintf(stderr, "FAIL random_region_make, --seed %llu --only %d: %s\n",
                (unsigned long long)p->seed, id, p->ctx.error);
        p->n_failures++;
        return false;
    }
    static const int64_t caches[3] = {2 << 10, 16 << 10, 128 << 10};
    ctune_target_init(&p->target, 64, caches, 1);
    p->target.openmp = true;
    if (ctune_program_create(&p->ctx, p->region, &p->program) != CTUNE_OK ||
        ctune_space_create(&p->ctx, p->program, &p->target, &p->space) != CTUNE_OK) {
        return false; /* too complex: refused by dependences */
    }
    int64_t least[MAX_PARAMS];
    for (int i = 0; i < MAX_PARAMS; i++) {
        least[i] = 1;
    }
    if (!is_storable(p->region, least)) {
        return false; /* extents without a parameter */
    }
    for (int i = 0; i < N_SETS; i++) {
        if (!set_create(p, i, &p->sets[i])) {
            fprintf(stderr, "FAIL values of region %d: %s\n", id, p->ctx.error);
            p->n_failures++;
            return false;
        }
    }
    return true;
}

static void region_close(interpret *p) {
    for (int i = 0; i < N_SETS; i++) {
        set_destroy(&p->sets[i]);
    }
    if (p->space != NULL) {
        ctune_space_destroy(p->space);
    }
    if (p->program != NULL) {
        ctune_program_destroy(p->program);
    }
    ctune_region_destroy(p->region);
    p->space = NULL;
    p->program = NULL;
    p->region = NULL;
}

static void check_gpu(interpret *p, ctune_nest *nest) {
    for (int i = 0; i < N_SETS; i++) {
        const char *wrong = touched_check(&p->ctx, p->region, p->sets[i].params, &p->n_ranges);
        if (wrong != NULL) {
            p->point = NULL;
            print_failure(p, "ranges", wrong, NULL);
            return;
        }
    }
    for (int i = 0; i < p->per_region; i++) {
        if (random_gpu_make(&p->ctx, &p->rng, p->program, nest, &p->more)) {
            check_nest(p, nest);
            check_pair(p, nest, NULL);
        }
        ctune_text_clear(&p->more);
    }
}

static void check_region(interpret *p, int id) {
    ctune_nest *nest = malloc(sizeof *nest);
    if (nest == NULL || !region_open(p, id)) {
        region_close(p);
        free(nest);
        return;
    }
    if (p->wants_gpu) {
        check_gpu(p, nest);
    }
    for (int i = 0; i < p->per_region && !p->wants_gpu; i++) {
        ctune_point point = {.n = ctune_space_n_decisions(p->space)};
        bool is_legal = i == 0 && ctune_space_nest(p->space, &point, nest);
        for (int s = 0; s < SAMPLES && !is_legal; s++) {
            ctune_space_sample(p->space, &p->rng, &point);
            is_legal = ctune_space_nest(p->space, &point, nest);
        }
        if (is_legal) {
            bool has_more = i % 2 == 1;
            p->n_tiles += nest->n_sums > 0;
            bool is_split = has_more && ctune_rng_below(&p->rng, 2) == 0 &&
                            random_prims_split(&p->ctx, &p->rng, p->program, nest, &p->more);
            if (has_more) {
                p->n_prims += random_prims_apply(&p->ctx, &p->rng, p->program, nest, 3, &p->more);
            }
            p->n_splits += is_split;
            check_nest(p, nest);
            check_pair(p, nest, is_split ? NULL : &point);
            ctune_text_clear(&p->more);
        }
    }
    region_close(p);
    free(nest);
}

int main(int argc, char **argv) {
    static interpret p = {.want_pairs = 2000, .seed = 1, .only = -1, .per_region = 12};
    ctune_ctx_init(&p.ctx);
    ctune_text_init(&p.more);
    for (int i = 1; i + 1 < argc; i += 2) {
        long value = strtol(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--pairs") == 0) {
            p.want_pairs = value;
        } else if (strcmp(argv[i], "--factors") == 0) {
            p.wants_factors = value != 0;
        } else if (strcmp(argv[i], "--gpu") == 0) {
            p.wants_gpu = value != 0;
        } else if (strcmp(argv[i], "--seed") == 0) {
            p.seed = (uint64_t)value;
        } else if (strcmp(argv[i], "--only") == 0) {
            p.only = (int)value;
        } else if (strcmp(argv[i], "--per-region") == 0) {
            p.per_region = (int)value;
        } else {
            fprintf(stderr, "interpret_main: unknown option %s\n", argv[i]);
            return 2;
        }
    }
    for (int id = p.only >= 0 ? p.only : 0;
         p.n_pairs < p.want_pairs && p.n_failures < MAX_FAILURES && (p.only < 0 || id == p.only);
         id++) {
        check_region(&p, id);
    }
    printf(
        "seed %llu: %ld pairs (%ld of time tiles or wavefronts, %ld with a split domain, %ld more "
        "primitives), %ld evaluations, %ld ranges, %ld refused, %d failures\n",
        (unsigned long long)p.seed, p.n_pairs, p.n_tiles, p.n_splits, p.n_prims, p.n_checks,
        p.n_ranges, p.n_refused, p.n_failures);
    return p.n_failures == 0 ? 0 : 1;
}
