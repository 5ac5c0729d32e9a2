/*
 * ctune scan: where would a pragma pay?
 *
 * In: files, maybe a profile. Out: loops, the most expensive first, each with `handled` or the code
 * of its refusal; of a refused nest the loops inside. Nothing is written to the files.
 *
 * A profile is text: lines with `file.c:12` (`perf script -F +srcline`, `gprof -l`), or with names
 * of functions (`perf script`, `gprof`), of which a loop gets its share by its cost. A line counts
 * once, or as the number that it begins with (gprof's percentage).
 */
#include "plugin/extract/scan.h"
#include "plugin/tool/tool.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct ranked {
    const char *file;
    const ctune_scan_loop *loop;
    double weight;
} ranked;

typedef struct scan_job {
    ctune_arena *arena;
    const char *profile; /* text; NULL: none */
    bool has_lines;      /* of any of the files */
    int n, size;
    ranked *at;
} scan_job;

/* ---- the profile ----------------------------------------------------------------------------- */

static double line_weight(const char *line) {
    char *end;
    double value = strtod(line, &end);
    return end != line && *end == ' ' && value > 0 && value <= 100 ? value : 1;
}

/* The number behind `name:`, 0: the line does not have it. */
static int source_line(const char *line, size_t n, const char *name) {
    size_t n_name = strlen(name);
    for (size_t i = 0; i + n_name + 1 < n; i++) {
        bool is_start = i == 0 || strchr(" /\t(", line[i - 1]) != NULL;
        if (is_start && strncmp(line + i, name, n_name) == 0 && line[i + n_name] == ':') {
            return atoi(line + i + n_name + 1);
        }
    }
    return 0;
}

static bool has_word(const char *line, size_t n, const char *word) {
    size_t n_word = strlen(word);
    for (size_t i = 0; i + n_word <= n; i++) {
        bool is_start = i == 0 || !(isalnum((unsigned char)line[i - 1]) || line[i - 1] == '_');
        bool is_end = i + n_word == n ||
                      !(isalnum((unsigned char)line[i + n_word]) || line[i + n_word] == '_');
        if (is_start && is_end && strncmp(line + i, word, n_word) == 0) {
            return true;
        }
    }
    return false;
}

static const char *base_name(const char *file) {
    const char *slash = strrchr(file, '/');
    return slash != NULL ? slash + 1 : file;
}

/* Weight of the profile's lines that lie in the loop, or name its function. */
static double profile_weight(const char *profile, const char *file, const ctune_scan_loop *loop,
                             bool by_line) {
    double sum = 0;
    for (const char *line = profile; *line != '\0';) {
        size_t n = strcspn(line, "\n");
        int at = by_line ? source_line(line, n, base_name(file)) : 0;
        bool hit =
            by_line ? at >= loop->line && at <= loop->end_line : has_word(line, n, loop->function);
        sum += hit ? line_weight(line) : 0;
        line += n + (line[n] == '\n');
    }
    return sum;
}

static double function_cost(int n, const ctune_scan_loop *loops, const char *function) {
    double sum = 0;
    for (int i = 0; i < n; i++) {
        sum += loops[i].parent < 0 && strcmp(loops[i].function, function) == 0 ? loops[i].cost : 0;
    }
    return sum > 0 ? sum : 1;
}

/* ---- ranking --------------------------------------------------------------------------------- */

static bool add(scan_job *j, const char *file, const ctune_scan_loop *loop, double weight) {
    if (j->n == j->size) {
        int size = j->size == 0 ? 64 : 2 * j->size;
        ranked *at = CTUNE_NEW_ARRAY(j->arena, ranked, size);
        if (at == NULL) {
            return false;
        }
        if (j->n > 0) {
            memcpy(at, j->at, (size_t)j->n * sizeof *at);
        }
        j->at = at;
        j->size = size;
    }
    j->at[j->n++] = (ranked){file, loop, weight};
    return true;
}

static int by_weight(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->weight != y->weight) {
        return x->weight > y->weight ? -1 : 1;
    }
    int file = strcmp(x->file, y->file);
    return file != 0 ? file : x->loop->line - y->loop->line;
}

static ctune_status scan_file(ctune_ctx *ctx, const ctune_options *options, const char *file,
                              scan_job *j) {
    ctune_flags flags = {0};
    ctune_scan_loop *loops = NULL;
    int n = 0;
    ctune_status status = ctune_flags_get(ctx, options, file, &flags);
    if (status == CTUNE_OK) {
        status = ctune_scan_file(ctx, j->arena, file, flags.n_extract, flags.extract, &n, &loops);
    }
    bool by_line = false;
    for (int i = 0; i < n && j->profile != NULL; i++) {
        by_line |= loops[i].parent < 0 && profile_weight(j->profile, file, &loops[i], true) > 0;
    }
    for (int i = 0; i < n; i++) {
        if (loops[i].outcome == NULL) {
            continue;
        }
        double weight = j->profile == NULL ? loops[i].cost
                        : by_line          ? profile_weight(j->profile, file, &loops[i], true)
                                           : profile_weight(j->profile, file, &loops[i], false) *
                                        loops[i].cost / function_cost(n, loops, loops[i].function);
        if (!add(j, file, &loops[i], weight)) {
            status = ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
        }
    }
    ctune_flags_clear(&flags);
    return status;
}

/* ---- output ---------------------------------------------------------------------------------- */

static void print_loops(const scan_job *j) {
    double sum = 0;
    int n_outer = 0, n_handled = 0;
    for (int i = 0; i < j->n; i++) {
        if (j->at[i].loop->parent < 0) {
            sum += j->at[i].weight;
            n_outer++;
            n_handled += j->at[i].loop->is_handled;
        }
    }
    for (int i = 0; i < j->n; i++) {
        const ctune_scan_loop *loop = j->at[i].loop;
        printf("%5.1f %%  %s:%d  %s, %d deep%s  %s\n", sum > 0 ? 100 * j->at[i].weight / sum : 0,
               j->at[i].file, loop->line, loop->function, loop->depth,
               loop->parent >= 0 ? ", inside" : "", loop->outcome);
        if (!loop->is_handled && loop->why != NULL) {
            printf("         line %d: %s\n", loop->why_line, loop->why);
        }
    }
    printf("%d of %d outermost loops would be handled\n", n_handled, n_outer);
}

int ctune_cmd_scan(ctune_ctx *ctx, const ctune_options *options) {
    if (options->n_words == 0) {
        ctune_fail(ctx, CTUNE_EUSAGE, "no file given; try `ctune scan --help`");
        return ctune_report(ctx, CTUNE_EUSAGE);
    }
    ctune_text profile;
    ctune_text_init(&profile);
    scan_job job = {.arena = ctune_arena_create(ctx)};
    ctune_status status = job.arena == NULL ? CTUNE_ENOMEM : CTUNE_OK;
    if (status == CTUNE_OK && options->profile != NULL) {
        status = ctune_file_read(ctx, options->profile, &profile);
        job.profile = ctune_text_get(&profile);
    }
    int code = ctune_report(ctx, status);
    for (int i = 0; i < options->n_words && status == CTUNE_OK; i++) {
        code = ctune_exit_worse(
            code, ctune_report(ctx, scan_file(ctx, options, options->words[i], &job)));
    }
    if (job.n > 1) {
        qsort(job.at, (size_t)job.n, sizeof *job.at, by_weight);
    }
    print_loops(&job);
    ctune_text_clear(&profile);
    ctune_arena_destroy(job.arena);
    return code;
}
