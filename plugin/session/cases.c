/*
 * Cases: see cases.h.
 */
#include "plugin/session/cases.h"

#include "plugin/record/profile.h"
#include "plugin/session/oracle.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CASE_BYTES ((double)(256 << 20))
#define PROCESS_NS 8e6 /* two processes */
#define BYTE_NS 6.0    /* filling, copying, comparing */
#define CHEAP_NS 25e6  /* so little is never saved */
#define CASE_LIMIT_S 2 /* of one run of a candidate; the original gets ten times that */

enum { N_TILES = 2, MAX_OVERLAPS = 3 };

static const int64_t primes[] = {37, 41, 43, 47, 53, 59};

typedef struct maker {
    ctune_ctx *ctx;
    const ctune_bench *bench;
    const ctune_region *region;
    double tuned_ns, tuned_points; /* of the original at the bench's sizes */
    double left_ns;
    ctune_run_data most; /* worst data that the region's results are defined for */
    bool has_extreme_ints;
    ctune_cases *out;
} maker;

/* ---- sizes ----------------------------------------------------------------------------------- */
double ctune_points_count(ctune_ctx *ctx, const ctune_region *region, const int64_t *params) {
    const ctune_region *at = ctune_region_at(region, params);
    ctune_tree *tree;
    if (at == NULL || ctune_tree_from_source(ctx, at, &tree) != CTUNE_OK) {
        return 1;
    }
    double sum = 1;
    for (int i = 0; i < tree->n_stmts; i++) {
        double points = 1;
        for (int d = 0; d < tree->stmts[i].n_dims; d++) {
            points *= tree->dims[tree->stmts[i].dims[d]].extent;
        }
        sum += points;
    }
    ctune_tree_destroy(tree);
    return sum;
}

static double count_points(const maker *m, const int64_t *params) {
    return ctune_points_count(m->ctx, m->region, params);
}

bool ctune_sizes_repair(const ctune_region *region, int64_t *params) {
    for (int round = 0; round < 8; round++) {
        bool is_whole = true;
        for (int i = 0; i < region->n_assumes; i++) {
            const ctune_aff *aff = region->assumes[i].aff;
            int64_t value = ctune_aff_eval(region, aff, NULL, params);
            for (int k = 0; k < aff->n_terms && value < 0; k++) {
                const ctune_term *t = &aff->terms[k];
                if (t->kind == CTUNE_TERM_PARAM && t->coef > 0) {
                    params[t->id] += (-value + t->coef - 1) / t->coef;
                    value = 0;
                    is_whole = false;
                }
            }
            if (value < 0) {
                return false;
            }
        }
        if (is_whole) {
            return true;
        }
    }
    return false;
}

/* Do all subscripts stay in the extents that are known? */
static bool fits(const ctune_region *region, const int64_t *params) {
    int64_t lo[CTUNE_MAX_RANK], hi[CTUNE_MAX_RANK];
    for (int i = 0; i < region->n_tensors; i++) {
        const ctune_tensor *t = &region->tensors[i];
        if (t->is_temp || !ctune_tensor_box(region, i, params, lo, hi)) {
            continue;
        }
        for (int d = 0; d < t->rank; d++) {
            bool is_known = t->extent[d] != NULL;
            if (lo[d] < 0 ||
                (is_known && hi[d] >= ctune_aff_eval(region, t->extent[d], NULL, params))) {
                return false;
            }
        }
    }
    return true;
}

/* One more case, unless it is there already, is not possible, or there is no time. */
static ctune_run_workload *add(maker *m, const int64_t *wanted, bool is_tuned) {
    ctune_cases *out = m->out;
    int64_t params[CTUNE_RUN_MAX_PARAMS];
    memcpy(params, wanted, sizeof params);
    if (out->n == CTUNE_MAX_CASES || !ctune_sizes_repair(m->region, params) ||
        (!is_tuned && !fits(m->region, params))) {
        return NULL;
    }
    double cost_ns = 4 * m->tuned_ns * count_points(m, params) / m->tuned_points;
    ctune_run_workload *load = &out->load[out->n];
    if (ctune_workload_make(m->ctx, m->region, params, load) != CTUNE_OK) {
        out->n_skipped++;
        return NULL;
    }
    double bytes = 0;
    for (int i = 0; i < load->n_tensors; i++) {
        bytes += (double)load->tensor[i].n_elems * load->tensor[i].stride_bytes;
    }
    cost_ns += PROCESS_NS + BYTE_NS * bytes;
    bool is_dear = cost_ns > m->left_ns && cost_ns > CHEAP_NS;
    if (is_dear || (bytes > MAX_CASE_BYTES && !is_tuned)) {
        out->n_skipped++;
        return NULL;
    }
    load->is_optional = cost_ns > CHEAP_NS && out->n > 0;
    m->left_ns -= cost_ns;
    load->seed = m->bench->workload.seed + (uint64_t)out->n;
    load->time_limit_s = CASE_LIMIT_S + 3 * m->tuned_ns * 1e-9;
    load->bound_terms = ctune_region_may_reassoc(m->region) ? load->bound_terms : 0;
    out->n++;
    return load;
}

static void set_inputs(const maker *m, ctune_run_workload *load, ctune_run_data data, bool is_odd) {
    if (load != NULL) {
        load->data = data < m->most ? data : m->most;
        load->has_extreme_ints = data != CTUNE_RUN_DATA_NORMAL && m->has_extreme_ints;
        load->is_odd = is_odd;
    }
}

static int compare_down(const void *a, const void *b) {
    const int64_t *x = a, *y = b;
    return (*x < *y) - (*x > *y);
}

/* The schedule's largest numbers that some size can be below. */
static int find_tiles(const char *schedule, int64_t limit, int64_t *tiles) {
    int64_t all[64];
    size_t n_all = 0;
    for (const char *p = schedule; *p != '\0' && n_all < 64;) {
        bool is_inside = p > schedule && (isalnum((unsigned char)p[-1]) || p[-1] == '_');
        if (isdigit((unsigned char)*p) && !is_inside) {
            char *end;
            int64_t value = strtoll(p, &end, 10);
            all[n_all] = value;
            n_all += value > 2 && value <= limit;
            p = end;
        } else {
            p++;
        }
    }
    qsort(all, n_all, sizeof *all, compare_down);
    int n = 0;
    for (size_t i = 0; i < n_all && n < N_TILES; i++) {
        if (n == 0 || all[i] != tiles[n - 1]) {
            tiles[n++] = all[i];
        }
    }
    return n;
}

static void fill(const maker *m, int64_t value, int64_t *params) {
    for (int i = 0; i < m->region->n_params; i++) {
        params[i] = value;
    }
}

static ctune_run_workload *add_all(maker *m, int64_t value, ctune_run_data data, bool is_odd) {
    int64_t params[CTUNE_RUN_MAX_PARAMS] = {0};
    fill(m, value, params);
    ctune_run_workload *load = add(m, params, false);
    set_inputs(m, load, data, is_odd);
    return load;
}

static ctune_run_workload *add_shifted(maker *m, const int64_t *base, int64_t by,
                                       ctune_run_data data) {
    int64_t params[CTUNE_RUN_MAX_PARAMS] = {0};
    for (int i = 0; i < m->region->n_params; i++) {
        params[i] = base[i] + by > 0 ? base[i] + by : 0;
    }
    ctune_run_workload *load = add(m, params, false);
    set_inputs(m, load, data, true);
    return load;
}

/* Sizes so small that their runs leave time for others; multiples of tiles stay multiples. */
static void shrink(maker *m, int64_t *params) {
    for (int k = 0; k < 40; k++) {
        double cost_ns = 4 * m->tuned_ns * count_points(m, params) / m->tuned_points;
        bool is_large = false;
        for (int i = 0; i < m->region->n_params; i++) {
            is_large |= params[i] > 64;
        }
        if (cost_ns < m->left_ns / 16 || !is_large) {
            return;
        }
        for (int i = 0; i < m->region->n_params; i++) {
            params[i] = params[i] > 64 ? params[i] / 2 : params[i];
        }
    }
}

/* ---- kinds ----------------------------------------------------------------------------------- */
/* Parameters that only stretch tensors: one that an assumption bounds from below. */
static void add_leading(maker *m, const int64_t *base) {
    int64_t params[CTUNE_RUN_MAX_PARAMS];
    bool has_any = false;
    memcpy(params, base, sizeof params);
    for (int i = 0; i < m->region->n_assumes; i++) {
        const ctune_aff *aff = m->region->assumes[i].aff;
        bool is_compared = false;
        for (int k = 0; k < aff->n_terms; k++) {
            is_compared |= aff->terms[k].kind == CTUNE_TERM_PARAM && aff->terms[k].coef < 0;
        }
        for (int k = 0; is_compared && k < aff->n_terms; k++) {
            if (aff->terms[k].kind == CTUNE_TERM_PARAM && aff->terms[k].coef == 1) {
                params[aff->terms[k].id] += 3;
                has_any = true;
            }
        }
    }
    if (has_any) {
        set_inputs(m, add(m, params, false), CTUNE_RUN_DATA_SIGNED, true);
    }
}

/* A pointer that a caller may choose. */
static bool may_overlap(const maker *m, const ctune_tensor *t) {
    int i_region = ctune_source_find(m->bench->source, m->region);
    return t->is_pointer && !t->is_restrict && !t->is_temp && t->rank > 0 && i_region >= 0 &&
           ctune_oracle_argument(&m->bench->source->unit->regions[i_region].caller, t) >= 0;
}

/* Tensor `guest` lies `at` elements behind the start of `host`, which grows as needed. */
static void overlap(ctune_run_workload *load, int host, int guest, int64_t at) {
    ctune_run_tensor *h = &load->tensor[host], *g = &load->tensor[guest];
    h->n_elems = at + g->n_elems > h->n_elems ? at + g->n_elems : h->n_elems;
    h->is_written |= g->is_written;
    g->is_written = false;
    g->shares = host + 1;
    g->shared_at = at;
}

static void add_overlaps(maker *m) {
    const ctune_region *r = m->region;
    int n = 0;
    for (int i = 0; i < r->n_tensors && !r->noalias; i++) {
        for (int k = 0; k < r->n_tensors && n < MAX_OVERLAPS; k++) {
            const ctune_tensor *host = &r->tensors[i], *guest = &r->tensors[k];
            bool is_index = ctune_tensor_is_index(r, i) || ctune_tensor_is_index(r, k);
            bool is_pair = i != k && !is_index && may_overlap(m, host) && may_overlap(m, guest) &&
                           host->is_written && host->type == guest->type &&
                           host->elem_stride_bytes == guest->elem_stride_bytes;
            ctune_run_workload *load =
                is_pair ? add_all(m, primes[n], CTUNE_RUN_DATA_SIGNED, false) : NULL;
            if (load != NULL && load->tensor[i].n_elems > 0 && load->tensor[k].n_elems > 0) {
                overlap(load, i, k, n + 1);
                m->out->is_overlapping[m->out->n - 1] = true;
                n++;
            } else if (load != NULL) {
                m->out->n--;
            }
        }
    }
}

static void add_sizes(maker *m, const char *schedule) {
    const ctune_region *r = m->region;
    const int64_t *tuned = m->bench->workload.params;
    int64_t base[CTUNE_RUN_MAX_PARAMS], params[CTUNE_RUN_MAX_PARAMS], tiles[N_TILES] = {0};
    int64_t largest = 0;
    memcpy(base, tuned, sizeof base);
    for (int i = 0; i < r->n_params; i++) {
        largest = tuned[i] > largest ? tuned[i] : largest;
    }
    int n_tiles = find_tiles(schedule, largest, tiles);
    shrink(m, base);
    if (m->out->n == 0) { /* the tuned sizes take too long */
        add_shifted(m, base, 0, CTUNE_RUN_DATA_SIGNED);
    }
    add_shifted(m, base, 1, CTUNE_RUN_DATA_SIGNED);
    add_shifted(m, base, -1, CTUNE_RUN_DATA_SIGNED);
    add_all(m, primes[0], CTUNE_RUN_DATA_HOSTILE, true);
    for (int i = 0; i < n_tiles; i++) {
        add_all(m, tiles[i] - 1, CTUNE_RUN_DATA_SIGNED, true);
    }
    fill(m, primes[0], params);
    for (int i = 0; i < r->n_params; i++) {
        params[i] = primes[(size_t)i % (sizeof primes / sizeof *primes)];
    }
    set_inputs(m, add(m, params, false), CTUNE_RUN_DATA_SIGNED, true);
    add_leading(m, params);
    add_all(m, 1, CTUNE_RUN_DATA_SIGNED, true);
    add_all(m, 0, CTUNE_RUN_DATA_NORMAL, false);
    for (int i = 0; i < r->n_params && r->n_params > 1; i++) {
        for (int value = 0; value < 2; value++) {
            fill(m, primes[1], params);
            params[i] = value;
            set_inputs(m, add(m, params, false), CTUNE_RUN_DATA_SIGNED, true);
        }
    }
    add_overlaps(m);
}

ctune_status ctune_cases_make(ctune_ctx *ctx, const ctune_bench *bench, const char *schedule,
                              double budget_s, ctune_cases *out) {
    memset(out, 0, sizeof *out);
    out->load = calloc(CTUNE_MAX_CASES, sizeof *out->load);
    if (out->load == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    maker m = {.ctx = ctx,
               .bench = bench,
               .region = bench->region,
               .tuned_ns = bench->original_ns,
               .left_ns = 1e9 * budget_s,
               .out = out};
    int64_t params[CTUNE_RUN_MAX_PARAMS] = {0};
    memcpy(params, bench->workload.params, sizeof params);
    m.tuned_points = count_points(&m, params);
    ctune_inputs_choose(bench->source, bench->region, &m.most, &m.has_extreme_ints);
    const double budget_ns = m.left_ns;
    m.left_ns = bench->region->n_params > 0 ? budget_ns / 2 : 1e300;
    set_inputs(&m, add(&m, params, true), CTUNE_RUN_DATA_NORMAL, false);
    m.left_ns = budget_ns; /* of the others: a slow original leaves them their time */
    if (bench->region->n_params > 0) {
        add_sizes(&m, schedule);
    } else {
        set_inputs(&m, add(&m, params, true), CTUNE_RUN_DATA_SIGNED, true);
        set_inputs(&m, add(&m, params, true), CTUNE_RUN_DATA_HOSTILE, true);
    }
    ctx->error[0] = '\0'; /* of sizes that were left out */
    return CTUNE_OK;
}

void ctune_cases_clear(ctune_cases *cases) {
    free(cases->load);
    memset(cases, 0, sizeof *cases);
}

static bool is_seen(const ctune_cases *cases, const bool *wanted, int i, int n_params) {
    for (int k = 0; k < i; k++) {
        if ((wanted == NULL || wanted[k]) && memcmp(cases->load[k].params, cases->load[i].params,
                                                    (size_t)n_params * sizeof(int64_t)) == 0) {
            return true;
        }
    }
    return false;
}

void ctune_cases_print(const ctune_cases *cases, const ctune_region *region, const bool *wanted,
                       char *out, size_t size) {
    ctune_text text;
    ctune_text_init(&text);
    for (int i = 0; i < region->n_params; i++) {
        ctune_text_printf(&text, "%s%s", i > 0 ? "," : "", region->params[i].name);
    }
    int n = 0;
    for (int i = 0; i < cases->n && region->n_params > 0; i++) {
        if ((wanted != NULL && !wanted[i]) || is_seen(cases, wanted, i, region->n_params)) {
            continue;
        }
        ctune_text_append(&text, n++ > 0 ? " " : "=");
        for (int k = 0; k < region->n_params; k++) {
            ctune_text_printf(&text, "%s%lld", k > 0 ? "," : "",
                              (long long)cases->load[i].params[k]);
        }
    }
    const char *all = ctune_text_get(&text);
    snprintf(out, size, "%s", all);
    if (strlen(all) >= size && size > 4) {
        char *cut = strrchr(out, ' ');
        cut = cut != NULL && cut + 4 < out + size ? cut : out + size - 5;
        strcpy(cut, " ...");
    }
    ctune_text_clear(&text);
}
