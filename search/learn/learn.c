/*
 * Learn: see learn.h.
 *
 * Records are remembered first (strings once each), sorted by task, then turned into rows task by
 * task: one region and one program at a time, whose forms (isl work) all records of the task share.
 */
#include "search/learn/learn.h"

#include "runtime/arena.h"
#include "runtime/rng.h"
#include "runtime/stats.h"
#include "search/schedule/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct row {
    int te, target, region; /* ids of strings */
    int schedule;
    size_t ordinal; /* order of appearance; of the task's first record after sorting keys are set */
    size_t task_ordinal;
    double best_ns, original_ns; /* best_ns INFINITY = failed */
    bool is_wrong;
} row;

/* Strings, each kept once; the id is the index. */
typedef struct strings {
    int n, size;
    const char **text;
    size_t n_slots; /* power of two */
    int32_t *slot;  /* id + 1, 0 = free */
} strings;

struct ctune_learner {
    ctune_arena *arena;
    strings names;
    size_t n, size;
    row *rows;
    ctune_ctx *ctx; /* during a visit */
    ctune_history *history;
    int n_targets, size_targets;
    struct {
        int name;      /* key */
        bool is_known; /* a history had its facts */
        ctune_target facts;
    } *targets;
    ctune_status status;
};

/* ---- strings --------------------------------------------------------------------------------- */
static int32_t *slot_find(const strings *s, const char *text) {
    size_t i = ctune_hash(CTUNE_HASH_INIT, text, strlen(text)) & (s->n_slots - 1);
    while (s->slot[i] != 0 && strcmp(s->text[s->slot[i] - 1], text) != 0) {
        i = (i + 1) & (s->n_slots - 1);
    }
    return &s->slot[i];
}

static bool strings_grow(strings *s) {
    int size = s->size > 0 ? 2 * s->size : 1024;
    size_t n_slots = 2 * (size_t)size;
    const char **text = realloc(s->text, (size_t)size * sizeof *text);
    int32_t *slot = calloc(n_slots, sizeof *slot);
    if (text != NULL) {
        s->text = text;
    }
    if (text == NULL || slot == NULL) {
        free(slot);
        return false;
    }
    free(s->slot);
    s->slot = slot;
    s->n_slots = n_slots;
    s->size = size;
    for (int i = 0; i < s->n; i++) {
        *slot_find(s, s->text[i]) = i + 1;
    }
    return true;
}

/* -1 when memory is out. */
static int strings_add(ctune_arena *arena, strings *s, const char *text) {
    text = text != NULL ? text : "";
    if (s->n == s->size && !strings_grow(s)) {
        return -1;
    }
    int32_t *slot = slot_find(s, text);
    if (*slot == 0) {
        const char *copy = ctune_arena_strdup(arena, text);
        if (copy == NULL) {
            return -1;
        }
        s->text[s->n++] = copy;
        *slot = s->n;
    }
    return *slot - 1;
}

/* ---- remembering ----------------------------------------------------------------------------- */
ctune_status ctune_learner_create(ctune_ctx *ctx, ctune_learner **out) {
    ctune_learner *l = calloc(1, sizeof *l);
    if (l != NULL) {
        l->arena = ctune_arena_create(ctx);
    }
    if (l == NULL || l->arena == NULL) {
        free(l);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    *out = l;
    return CTUNE_OK;
}

void ctune_learner_destroy(ctune_learner *learner) {
    if (learner == NULL) {
        return;
    }
    ctune_arena_destroy(learner->arena);
    free(learner->names.text);
    free(learner->names.slot);
    free(learner->rows);
    free(learner->targets);
    free(learner);
}

static bool rows_grow(ctune_learner *l) {
    size_t size = l->size > 0 ? 2 * l->size : 4096, bytes;
    row *rows = ctune_size_mul(size, sizeof *rows, &bytes) ? realloc(l->rows, bytes) : NULL;
    if (rows == NULL) {
        return false;
    }
    l->rows = rows;
    l->size = size;
    return true;
}

static int target_find(const ctune_learner *l, int name) {
    int i = 0;
    while (i < l->n_targets && l->targets[i].name != name) {
        i++;
    }
    return i;
}

/* Remembered under its name; facts that are known stay. */
static ctune_status target_add(ctune_learner *l, int name, const ctune_target *facts,
                               bool is_known) {
    int i = target_find(l, name);
    if (i < l->n_targets && l->targets[i].is_known) {
        return CTUNE_OK;
    }
    if (i == l->size_targets) {
        int size = i > 0 ? 2 * i : 8;
        void *grown = realloc(l->targets, (size_t)size * sizeof *l->targets);
        if (grown == NULL) {
            return ctune_fail(l->ctx, CTUNE_ENOMEM, "out of memory");
        }
        l->targets = grown;
        l->size_targets = size;
    }
    l->n_targets += i == l->n_targets;
    l->targets[i].name = name;
    l->targets[i].facts = *facts;
    l->targets[i].is_known = is_known;
    return CTUNE_OK;
}

/*
 * The target of a key in the history being read, by its facts there, or, without any, by the words
 * of the key. Flags for a common CPU (-march=x86-64-v3) give one key on every machine: the machine
 * is part of the name here, or two of them would be one task.
 */
static ctune_status target_of(ctune_learner *l, const char *key, int *name) {
    ctune_target facts;
    bool is_known;
    char full[512];
    ctune_status status = ctune_history_facts_get(l->ctx, l->history, key, &facts, &is_known);
    if (status == CTUNE_OK) {
        ctune_target_machine_key(&facts, key, full, sizeof full);
        *name = strings_add(l->arena, &l->names, is_known ? full : key);
        status = *name >= 0 ? target_add(l, *name, &facts, is_known)
                            : ctune_fail(l->ctx, CTUNE_ENOMEM, "out of memory");
    }
    return status;
}

static bool take_record(void *user, const ctune_record *record) {
    ctune_learner *l = user;
    bool is_ok = record->outcome == CTUNE_RUN_OK && record->best_ns > 0;
    if (l->n == l->size && !rows_grow(l)) {
        l->status = ctune_fail(l->ctx, CTUNE_ENOMEM, "out of memory");
        return false;
    }
    row r = {.te = strings_add(l->arena, &l->names, record->te),
             .target = strings_add(l->arena, &l->names, record->target),
             .region = strings_add(l->arena, &l->names, record->region),
             .schedule = strings_add(l->arena, &l->names, record->schedule),
             .ordinal = l->n,
             .best_ns = is_ok ? record->best_ns : INFINITY,
             .original_ns = record->original_ns,
             .is_wrong = record->outcome == CTUNE_RUN_WRONG};
    if (r.te < 0 || r.target < 0 || r.region < 0 || r.schedule < 0) {
        l->status = ctune_fail(l->ctx, CTUNE_ENOMEM, "out of memory");
        return false;
    }
    l->rows[l->n++] = r;
    return true;
}

ctune_status ctune_learner_add(ctune_ctx *ctx, ctune_learner *learner, ctune_history *history) {
    learner->ctx = ctx;
    learner->status = CTUNE_OK;
    learner->history = history;
    size_t first = learner->n;
    ctune_status status = ctune_history_visit(ctx, history, 0, NULL, take_record, learner);
    status = learner->status != CTUNE_OK ? learner->status : status;
    for (size_t i = first; i < learner->n && status == CTUNE_OK;) {
        int key = learner->rows[i].target, name = -1;
        status = target_of(learner, learner->names.text[key], &name);
        for (; i < learner->n && status == CTUNE_OK && learner->rows[i].target == key; i++) {
            learner->rows[i].target = name;
        }
    }
    return status;
}

/* ---- tasks ----------------------------------------------------------------------------------- */
static int by_task(const void *a, const void *b) {
    const row *x = a, *y = b;
    if (x->te != y->te) {
        return x->te < y->te ? -1 : 1;
    }
    if (x->target != y->target) {
        return x->target < y->target ? -1 : 1;
    }
    return x->ordinal < y->ordinal ? -1 : 1;
}

static int by_appearance(const void *a, const void *b) {
    const row *x = a, *y = b;
    if (x->task_ordinal != y->task_ordinal) {
        return x->task_ordinal < y->task_ordinal ? -1 : 1;
    }
    if (x->schedule != y->schedule) {
        return x->schedule < y->schedule ? -1 : 1;
    }
    return x->ordinal < y->ordinal ? -1 : 1;
}

static bool is_same_task(const row *a, const row *b) {
    return a->te == b->te && a->target == b->target;
}

/* Tasks in order of appearance, equal schedules of a task side by side. */
static void sort_rows(ctune_learner *l) {
    if (l->n == 0) {
        return;
    }
    qsort(l->rows, l->n, sizeof *l->rows, by_task);
    for (size_t i = 0; i < l->n; i++) {
        bool is_first = i == 0 || !is_same_task(&l->rows[i], &l->rows[i - 1]);
        l->rows[i].task_ordinal = is_first ? l->rows[i].ordinal : l->rows[i - 1].task_ordinal;
    }
    qsort(l->rows, l->n, sizeof *l->rows, by_appearance);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median of the original's time over a task's records; 0 when none has one. */
static double median_original(const row *rows, size_t n) {
    double *t = calloc(n + 1, sizeof *t), median = 0;
    size_t k = 0;
    for (size_t i = 0; i < n && t != NULL; i++) {
        if (rows[i].original_ns > 0 && isfinite(rows[i].original_ns)) {
            t[k++] = rows[i].original_ns;
        }
    }
    if (k > 0) {
        qsort(t, k, sizeof *t, by_value);
        median = t[k / 2];
    }
    free(t);
    return median;
}

static void put_sizes(const ctune_region *region, ctune_text *out) {
    for (int i = 0; i < region->n_params; i++) {
        ctune_text_printf(out, " %s=%lld", region->params[i].name,
                          (long long)region->params[i].sizes[0]);
    }
}

typedef struct task {
    const row *rows;
    size_t n;
    ctune_region *region;
    ctune_program *program;
    const ctune_target *target;
    float *features; /* one row */
} task;

/* A schedule that changes nothing: at most how products are rounded. */
static bool is_source(const char *schedule) {
    const char *line = schedule + strspn(schedule, " \n");
    return *line == '\0' || strcmp(line, "round\n") == 0 || strcmp(line, "round") == 0;
}

static ctune_status add_row(ctune_ctx *ctx, const ctune_learner *l, const task *t, const row *r,
                            double time_ns, const ctune_model_input *input, ctune_dataset *out,
                            ctune_learn_counts *counts) {
    ctune_nest nest;
    ctune_schedule schedule;
    ctune_schedule_init(&schedule);
    ctune_status status = ctune_schedule_parse(ctx, l->names.text[r->schedule], &schedule);
    if (status == CTUNE_OK) {
        status = ctune_schedule_apply(ctx, t->program, &schedule, &nest);
    }
    if (status == CTUNE_OK) {
        ctune_encoding_get(input, &schedule, &nest, t->target, t->features);
    }
    ctune_schedule_clear(&schedule);
    if (status == CTUNE_ENOMEM) {
        return status;
    }
    if (status != CTUNE_OK) {
        counts->n_illegal++;
        return CTUNE_OK;
    }
    counts->n_rows++;
    counts->n_failed += !isfinite(time_ns);
    status = ctune_dataset_add_row(ctx, out, t->features, time_ns);
    if (status == CTUNE_OK && is_source(l->names.text[r->schedule]) && isfinite(time_ns)) {
        ctune_dataset_mark_source(out, time_ns);
    }
    return status;
}

/* What the user has counts as measured, also where no search tried it as a candidate. */
static ctune_status add_source(ctune_ctx *ctx, const task *t, double time_ns,
                               const ctune_model_input *input, ctune_dataset *out,
                               ctune_learn_counts *counts) {
    ctune_nest nest;
    ctune_schedule schedule;
    ctune_dataset_task *own = &out->task[out->n_tasks - 1];
    if (time_ns <= 0 || own->source != SIZE_MAX) {
        own->source_ns = time_ns > 0 ? time_ns : own->source_ns;
        return CTUNE_OK;
    }
    ctune_schedule_init(&schedule);
    ctune_status status = ctune_schedule_apply(ctx, t->program, &schedule, &nest);
    if (status == CTUNE_OK) {
        ctune_encoding_get(input, &schedule, &nest, t->target, t->features);
        status = ctune_dataset_add_row(ctx, out, t->features, time_ns);
    } else if (status != CTUNE_ENOMEM) {
        ctune_schedule_clear(&schedule);
        return CTUNE_OK;
    }
    if (status == CTUNE_OK) {
        ctune_dataset_mark_source(out, time_ns);
        counts->n_sources++;
    }
    ctune_schedule_clear(&schedule);
    return status;
}

static ctune_status add_rows(ctune_ctx *ctx, const ctune_learner *l, const task *t,
                             const ctune_model_input *input, ctune_dataset *out,
                             ctune_learn_counts *counts) {
    double original_ns = median_original(t->rows, t->n);
    ctune_status status = CTUNE_OK;
    for (size_t i = 0; i < t->n && status == CTUNE_OK;) {
        double time_ns = ctune_time_steady(t->rows[i].best_ns, t->rows[i].original_ns, original_ns);
        size_t k = i + 1;
        for (; k < t->n && t->rows[k].schedule == t->rows[i].schedule; k++) {
            time_ns = fmin(time_ns, ctune_time_steady(t->rows[k].best_ns, t->rows[k].original_ns,
                                                      original_ns));
            counts->n_replaced++;
        }
        if (t->rows[i].is_wrong && !isfinite(time_ns)) {
            counts->n_wrong++;
            i = k;
            continue;
        }
        status = add_row(ctx, l, t, &t->rows[i], time_ns, input, out, counts);
        i = k;
    }
    if (status == CTUNE_OK) {
        status = add_source(ctx, t, original_ns, input, out, counts);
    }
    return status;
}

static ctune_status add_task(ctune_ctx *ctx, const ctune_learner *l, const row *rows, size_t n,
                             const ctune_model_input *input, float *features, ctune_dataset *out,
                             ctune_learn_counts *counts) {
    task t = {.rows = rows, .n = n, .features = features};
    const char *key = l->names.text[rows->target];
    ctune_status status = ctune_te_parse(ctx, l->names.text[rows->te], &t.region);
    if (status == CTUNE_OK) {
        status = ctune_program_create(ctx, t.region, &t.program);
    }
    if (status == CTUNE_OK) {
        ctune_text name;
        ctune_text_init(&name);
        ctune_text_append(&name, l->names.text[rows->region]);
        put_sizes(t.region, &name);
        ctune_text_printf(&name, " | %s", key);
        t.target = &l->targets[target_find(l, rows->target)].facts;
        status = name.failed ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory")
                             : ctune_dataset_add_task(ctx, out, ctune_text_get(&name),
                                                      l->names.text[rows->region]);
        ctune_text_clear(&name);
        if (status == CTUNE_OK) {
            status = ctune_dataset_set_target(ctx, out, key);
        }
        if (status == CTUNE_OK) {
            status = add_rows(ctx, l, &t, input, out, counts);
        }
    } else if (status != CTUNE_ENOMEM) {
        counts->n_no_te += (int64_t)n;
        status = CTUNE_OK;
    }
    if (t.program != NULL) {
        ctune_program_destroy(t.program);
    }
    if (t.region != NULL) {
        ctune_region_destroy(t.region);
    }
    return status;
}

ctune_status ctune_learner_dataset(ctune_ctx *ctx, ctune_learner *learner, unsigned groups,
                                   ctune_dataset *out, ctune_learn_counts *counts) {
    ctune_model_input input;
    ctune_encoding_init(&input, CTUNE_INPUT_ROW, groups, 0, 0);
    return ctune_learner_rows(ctx, learner, &input, out, counts);
}

ctune_status ctune_learner_rows(ctune_ctx *ctx, ctune_learner *learner,
                                const ctune_model_input *input, ctune_dataset *out,
                                ctune_learn_counts *counts) {
    ctune_learn_counts own;
    counts = counts != NULL ? counts : &own;
    *counts = (ctune_learn_counts){.n_records = (int64_t)learner->n};
    ctune_dataset_init(out, ctune_model_input_count(input));
    float *features = calloc((size_t)out->n_features + 1, sizeof *features);
    if (features == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    sort_rows(learner);
    ctune_status status = CTUNE_OK;
    for (size_t i = 0; i < learner->n && status == CTUNE_OK;) {
        size_t k = i + 1;
        while (k < learner->n && is_same_task(&learner->rows[i], &learner->rows[k])) {
            k++;
        }
        status = add_task(ctx, learner, learner->rows + i, k - i, input, features, out, counts);
        i = k;
    }
    free(features);
    return status;
}
