/*
 * ctune report: gathers what is known of each nest (history, lock, source, assembly) and has
 * plugin/page print it.
 */
#include "plugin/page/hot.h"
#include "plugin/page/page.h"
#include "plugin/record/profile.h"
#include "plugin/tool/tool.h"
#include "search/history/history.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_NESTS = 256 };

/* One section of the page; owns what the page borrows. */
typedef struct section {
    ctune_page_nest nest;
    const ctune_region *region;
    const ctune_source *source;
    uint64_t workload;
    char sizes[256], key[256];
    ctune_target target;
    ctune_page_trial *trials;
    int n_trials, size;
    char *verified, *schedule;
    ctune_text before, after, hot_before, hot_after;
} section;

typedef struct report_job {
    const ctune_options *options;
    int n, n_old; /* sections; records about an earlier form of a loop */
    section section[MAX_NESTS];
    int n_sources;
    ctune_source source[CTUNE_MAX_WORDS];
    /* While a history is read. */
    const ctune_source *current;
    bool is_full, is_out_of_memory;
} report_job;

/* ---- sections ------------------------------------------------------------------------------- */
static section *section_of(report_job *j, const ctune_region *region, uint64_t workload,
                           const char *sizes, const char *key) {
    for (int i = 0; i < j->n; i++) {
        section *s = &j->section[i];
        if (s->source == j->current && s->workload == workload && strcmp(s->key, key) == 0) {
            return s;
        }
    }
    if (j->n == MAX_NESTS) {
        j->is_full = true;
        return NULL;
    }
    section *s = &j->section[j->n++];
    memset(s, 0, sizeof *s);
    s->region = region;
    s->source = j->current;
    s->workload = workload;
    snprintf(s->sizes, sizeof s->sizes, "%s", sizes);
    snprintf(s->key, sizeof s->key, "%s", key);
    ctune_text_init(&s->before);
    ctune_text_init(&s->after);
    ctune_text_init(&s->hot_before);
    ctune_text_init(&s->hot_after);
    return s;
}

static void section_clear(section *s) {
    free(s->trials);
    free(s->verified);
    free(s->schedule);
    ctune_text_clear(&s->before);
    ctune_text_clear(&s->after);
    ctune_text_clear(&s->hot_before);
    ctune_text_clear(&s->hot_after);
}

/* The region of that name in the current source as it is at these sizes; NULL: none, or the loop
 * was another one then. */
static const ctune_region *region_of(const report_job *j, const ctune_record *record) {
    const ctune_unit *unit = j->current->unit;
    for (int i = 0; i < unit->n_regions; i++) {
        const ctune_region *region = unit->regions[i].region;
        int64_t params[CTUNE_RUN_MAX_PARAMS];
        if (region != NULL && strcmp(region->name, record->region) == 0 &&
            ctune_region_is_wanted(j->options, region) &&
            region->n_params <= CTUNE_RUN_MAX_PARAMS &&
            ctune_sizes_read(record->sizes, region, params) &&
            ctune_workload_key(region, params) == record->workload) {
            return region;
        }
    }
    return NULL;
}

static bool take_record(void *user, const ctune_record *record) {
    report_job *j = user;
    const ctune_region *region = region_of(j, record);
    if (region == NULL) {
        j->n_old++;
        return true;
    }
    section *s = section_of(j, region, record->workload, record->sizes, record->target);
    if (s == NULL) {
        return true;
    }
    if (s->n_trials == s->size) {
        int size = s->size > 0 ? 2 * s->size : 256;
        ctune_page_trial *larger = realloc(s->trials, (size_t)size * sizeof *larger);
        if (larger == NULL) {
            j->is_out_of_memory = true;
            return false;
        }
        s->trials = larger;
        s->size = size;
    }
    s->trials[s->n_trials++] = (ctune_page_trial){.outcome = record->outcome,
                                                  .median_ns = record->median_ns,
                                                  .original_ns = record->original_ns};
    return true;
}

static ctune_status read_history(ctune_ctx *ctx, report_job *j) {
    ctune_history *history;
    int first = j->n;
    ctune_status status = ctune_history_open_readonly(ctx, j->current->history_path, &history);
    if (status != CTUNE_OK) {
        return status;
    }
    status = ctune_history_visit(ctx, history, 0, NULL, take_record, j);
    for (int i = first; status == CTUNE_OK && i < j->n; i++) {
        status =
            ctune_history_facts_get(ctx, history, j->section[i].key, &j->section[i].target, NULL);
    }
    ctune_history_close(history);
    return j->is_out_of_memory ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory") : status;
}

/* ---- code before and after ------------------------------------------------------------------ */
static ctune_status put_hot_loop(ctune_ctx *ctx, const section *s, const ctune_text *unit,
                                 const char *name, ctune_text *out) {
    ctune_text code, assembly;
    ctune_text_init(&code);
    ctune_text_init(&assembly);
    ctune_emit_prelude(&s->source->emit, &code);
    ctune_text_append(&code, ctune_text_get(unit));
    ctune_status status =
        ctune_assembly_make(ctx, s->source, ctune_text_get(&code), name, &assembly);
    if (status == CTUNE_OK) {
        ctune_assembly_hot_loop(ctune_text_get(&assembly), out);
    }
    ctune_text_clear(&code);
    ctune_text_clear(&assembly);
    return status;
}

/* The region's block as `ctune apply` writes it, and the loop of the stand-alone form. */
static ctune_status put_after(ctune_ctx *ctx, section *s, ctune_program *program) {
    ctune_nest nest;
    ctune_text unit;
    ctune_text_init(&unit);
    ctune_emit_options options = s->source->emit;
    ctune_status status = ctune_nest_parse(ctx, program, s->schedule, &nest);
    if (status == CTUNE_OK) {
        status = ctune_emit_candidate(ctx, &nest, &options, "ctune_tuned", &unit);
    }
    if (status == CTUNE_OK) {
        status = put_hot_loop(ctx, s, &unit, "ctune_tuned", &s->hot_after);
    }
    options.comments = options.is_source = true;
    if (status == CTUNE_OK) {
        status = ctune_emit_region(ctx, &nest, &options, ctune_text_get(&s->before), &s->after);
    }
    ctune_text_clear(&unit);
    return status;
}

/* The original's loop is the same at all sizes: once for a region. */
static ctune_status put_before(ctune_ctx *ctx, const report_job *j, section *s) {
    int i_region = ctune_source_find(s->source, s->region);
    const char *original = i_region >= 0 ? ctune_source_original(s->source, i_region) : NULL;
    ctune_text_append(&s->before, original != NULL ? original : "");
    for (const section *other = j->section; other < s; other++) {
        if (other->region == s->region && other->hot_before.len > 0) {
            ctune_text_append(&s->hot_before, ctune_text_get(&other->hot_before));
            return CTUNE_OK;
        }
    }
    ctune_text unit;
    ctune_text_init(&unit);
    ctune_status status =
        ctune_emit_original(ctx, s->region, &s->source->emit, "ctune_original", &unit);
    if (status == CTUNE_OK) {
        status = put_hot_loop(ctx, s, &unit, "ctune_original", &s->hot_before);
    }
    ctune_text_clear(&unit);
    return status;
}

static ctune_status put_code(ctune_ctx *ctx, const report_job *j, section *s) {
    ctune_status status = put_before(ctx, j, s);
    if (status != CTUNE_OK || s->schedule == NULL || s->schedule[0] == '\0') {
        return status;
    }
    ctune_program *program;
    status = ctune_program_create(ctx, s->region, &program);
    if (status == CTUNE_OK) {
        status = put_after(ctx, s, program);
        ctune_program_destroy(program);
    }
    return status;
}

/* ---- one source ----------------------------------------------------------------------------- */
/* What the arrays hold, operations of a run, whether doubles are among the elements. */
static void measure_region(ctune_ctx *ctx, section *s) {
    int64_t params[CTUNE_RUN_MAX_PARAMS];
    ctune_run_workload load = {0};
    double terms;
    if (!ctune_sizes_read(s->sizes, s->region, params)) {
        return;
    }
    const ctune_region *sized = ctune_region_at(s->region, params);
    if (sized == NULL || ctune_workload_make(ctx, sized, params, &load) != CTUNE_OK) {
        return;
    }
    s->nest.flops = ctune_flops_count(ctx, sized, &terms);
    for (int i = 0; i < load.n_tensors; i++) {
        const ctune_run_tensor *t = &load.tensor[i];
        bool is_own = t->shares == 0;
        s->nest.bytes += is_own ? (double)t->n_elems * t->stride_bytes : 0;
        s->nest.is_f64 = s->nest.is_f64 || strcmp(t->type, "f64") == 0;
    }
}

static ctune_status take_entry(ctune_ctx *ctx, const ctune_lock *lock, section *s) {
    const ctune_lock_entry *e =
        ctune_lock_find(lock, s->source->base, s->region->name, s->key, s->sizes);
    if (e == NULL || e->workload != ctune_workload_key(s->region, NULL)) {
        return CTUNE_OK;
    }
    s->nest.has_entry = true;
    s->nest.tuned_ns = e->tuned_ns;
    s->nest.speedup = e->speedup;
    s->schedule = strdup(e->schedule);
    s->verified = strdup(e->verified != NULL ? e->verified : "");
    return s->schedule != NULL && s->verified != NULL
               ? CTUNE_OK
               : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
}

static ctune_status fill_section(ctune_ctx *ctx, const report_job *j, const ctune_lock *lock,
                                 section *s) {
    ctune_status status = take_entry(ctx, lock, s);
    measure_region(ctx, s);
    s->nest.is_here = strcmp(s->key, s->source->key) == 0;
    if (status == CTUNE_OK && s->nest.is_here) {
        status = put_code(ctx, j, s);
    }
    s->nest.region = s->region->name;
    s->nest.file = s->source->file;
    s->nest.line = s->region->line;
    s->nest.sizes = s->sizes;
    s->nest.key = s->key;
    s->nest.target = &s->target;
    s->nest.trial = s->trials;
    s->nest.n_trials = s->n_trials;
    s->nest.schedule = s->schedule != NULL ? s->schedule : "";
    s->nest.verified = s->verified != NULL ? s->verified : "";
    s->nest.before = ctune_text_get(&s->before);
    s->nest.after = ctune_text_get(&s->after);
    s->nest.hot_before = ctune_text_get(&s->hot_before);
    s->nest.hot_after = ctune_text_get(&s->hot_after);
    return status;
}

static ctune_status add_file(ctune_ctx *ctx, report_job *j, const char *file) {
    ctune_source *source = &j->source[j->n_sources++];
    int first = j->n;
    ctune_lock lock;
    ctune_lock_init(&lock);
    ctune_status status = ctune_source_open(ctx, j->options, file, source);
    j->current = source;
    if (status == CTUNE_OK) {
        status = ctune_lock_read(ctx, source->lock_path, &lock);
    }
    if (status == CTUNE_OK) {
        status = read_history(ctx, j);
    }
    for (int i = first; status == CTUNE_OK && i < j->n; i++) {
        status = fill_section(ctx, j, &lock, &j->section[i]);
    }
    ctune_lock_clear(&lock);
    return status;
}

/* ---- output --------------------------------------------------------------------------------- */
/* FOLDER/region-NUMBER-PLOT.svg; what is neither letter nor digit in the region's name becomes _.
 */
static void plot_path(const char *folder, const char *region, int number, const char *word,
                      char *out, size_t size) {
    char name[64];
    size_t n = 0;
    for (; region[n] != '\0' && n + 1 < sizeof name; n++) {
        name[n] = isalnum((unsigned char)region[n]) ? region[n] : '_';
    }
    name[n] = '\0';
    snprintf(out, size, "%s/%s-%d-%s.svg", folder, name, number, word);
}

static ctune_status write_plots(ctune_ctx *ctx, const char *folder, const ctune_page_nest *nests,
                                int n) {
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return ctune_fail(ctx, CTUNE_EENV, "cannot make the folder '%s': %s", folder,
                          strerror(errno));
    }
    ctune_status status = CTUNE_OK;
    for (int i = 0; i < n * CTUNE_N_PAGE_PLOTS && status == CTUNE_OK; i++) {
        const ctune_page_nest *nest = &nests[i / CTUNE_N_PAGE_PLOTS];
        ctune_page_plot plot = (ctune_page_plot)(i % CTUNE_N_PAGE_PLOTS);
        ctune_text svg;
        ctune_text_init(&svg);
        if (ctune_page_plot_print(plot, nest, &svg)) {
            char path[PATH_MAX];
            plot_path(folder, nest->region, i / CTUNE_N_PAGE_PLOTS, ctune_page_plot_word(plot),
                      path, sizeof path);
            status = ctune_file_write(ctx, path, ctune_text_get(&svg), svg.len);
        }
        ctune_text_clear(&svg);
    }
    return status;
}

static ctune_status write_page(ctune_ctx *ctx, const report_job *j) {
    ctune_page_nest *nests = calloc((size_t)j->n + 1, sizeof *nests);
    ctune_text page;
    ctune_text_init(&page);
    for (int i = 0; nests != NULL && i < j->n; i++) {
        nests[i] = j->section[i].nest;
    }
    if (nests != NULL) {
        ctune_page_print(nests, j->n, &page);
    }
    ctune_status status =
        nests != NULL && !page.failed ? CTUNE_OK : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    if (status == CTUNE_OK && j->options->plots != NULL) {
        status = write_plots(ctx, j->options->plots, nests, j->n);
    }
    const char *path = j->options->output;
    if (status == CTUNE_OK && path != NULL && strcmp(path, "-") != 0) {
        status = ctune_file_write(ctx, path, ctune_text_get(&page), page.len);
    } else if (status == CTUNE_OK &&
               fwrite(ctune_text_get(&page), 1, page.len, stdout) < page.len) {
        status = ctune_fail(ctx, CTUNE_EENV, "cannot write standard output");
    }
    ctune_text_clear(&page);
    free(nests);
    return status;
}

static void say_left_out(ctune_ctx *ctx, const report_job *j) {
    char text[128] = "";
    if (j->n == 0) {
        snprintf(text, sizeof text, "nothing was measured of these nests: `ctune tune` first");
    } else if (j->is_full) {
        snprintf(text, sizeof text, "more than %d nests, sizes and targets: the rest is left out",
                 MAX_NESTS);
    } else if (j->n_old > 0) {
        snprintf(text, sizeof text, "%d measurements of other or changed loops are left out",
                 j->n_old);
    }
    if (text[0] != '\0') {
        ctune_diag_send(ctx, &(ctune_diag){.severity = CTUNE_NOTE, .text = text});
    }
}

int ctune_cmd_report(ctune_ctx *ctx, const ctune_options *options) {
    if (options->n_words == 0) {
        ctune_fail(ctx, CTUNE_EUSAGE, "no file given; try `ctune report --help`");
        return ctune_report(ctx, CTUNE_EUSAGE);
    }
    report_job *job = calloc(1, sizeof *job);
    ctune_status status = job != NULL ? CTUNE_OK : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    if (status == CTUNE_OK) {
        job->options = options;
    }
    for (int i = 0; status == CTUNE_OK && i < options->n_words && ctune_signal_get() == 0; i++) {
        status = add_file(ctx, job, options->words[i]);
    }
    if (status == CTUNE_OK) {
        say_left_out(ctx, job);
        status = write_page(ctx, job);
    }
    for (int i = 0; job != NULL && i < job->n; i++) {
        section_clear(&job->section[i]);
    }
    for (int i = 0; job != NULL && i < job->n_sources; i++) {
        ctune_source_close(&job->source[i]);
    }
    free(job);
    return ctune_report(ctx, status);
}
