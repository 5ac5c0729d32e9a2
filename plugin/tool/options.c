/*
 * Options: one table row an option; which commands take it, what kind of value, where it goes, what
 * it says.
 */
#include "plugin/tool/tool.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum value_kind {
    VALUE_FLAG,
    VALUE_TEXT,
    VALUE_COUNT,
    VALUE_SEED,
    VALUE_TIME,
    VALUE_BYTES
} value_kind;

/* Command bits, in the order of main.c's table. */
enum {
    TUNE = 1,
    APPLY = 2,
    SHOW = 4,
    CHECK = 8,
    DOCTOR = 16,
    EXPORT = 32,
    COLLECT = 64,
    MODEL = 128,
    RECORD = 256,
    IMPORT = 512,
    CC = 1024,
    FLAGS = 2048,
    TRY = 4096,
    REPORT = 8192,
    SCAN = 32768,
    SOURCES = TUNE | APPLY | SHOW | CHECK | COLLECT | TRY | REPORT
};

typedef struct option_row {
    const char *name; /* without dashes; one letter = short option */
    unsigned commands;
    value_kind kind;
    const char *operand; /* NULL for flags */
    size_t offset;       /* in ctune_options */
    const char *help;
} option_row;

#define AT(field) offsetof(ctune_options, field)
static const option_row rows[] = {
    {"budget", TUNE | COLLECT, VALUE_TIME, "60s", AT(budget_s),
     "search time for each region: 90s, 2m, 1h (tune: default 60s)"},
    {"trials", TUNE, VALUE_COUNT, "N", AT(trials),
     "stop after N candidates (no time limit unless --budget, too)"},
    {"samples", COLLECT | MODEL, VALUE_COUNT, "N", AT(samples),
     "collect: schedules of each region and size (default 256); replay: tasks (default 32)"},
    {"sizes", TUNE | COLLECT | TRY, VALUE_TEXT, "n=64,m=32", AT(sizes),
     "values of parameters in place of those of the pragma"},
    {"seed", TUNE | CHECK | COLLECT | MODEL | TRY, VALUE_SEED, "N", AT(seed),
     "of the search and of the input data (default 1)"},
    {"strategy", TUNE, VALUE_TEXT, "NAME", AT(strategy),
     "gbt (default: led by the model), anneal, evolutionary, genetic or random"},
    {"batch", TUNE | TRY, VALUE_COUNT, "N", AT(batch),
     "candidates compiled together (default 16; try from a pipe: 1)"},
    {"rounds", TUNE, VALUE_COUNT, "N", AT(rounds),
     "rounds of the final (default: as many as 4 s allow, 3 to 25)"},
    {"time-limit", TUNE | CHECK | COLLECT | TRY, VALUE_TIME, "10s", AT(time_limit_s),
     "one run of one candidate (default 10s)"},
    {"memory", TUNE, VALUE_BYTES, "4G", AT(memory_bytes),
     "most memory for one region's data and its copies: sizes shrink to that (default 16G)"},
    {"json", TUNE | CHECK, VALUE_FLAG, NULL, AT(json),
     "one JSON object a region on standard output"},
    {"predict", TUNE, VALUE_FLAG, NULL, AT(predict),
     "measure nothing: the schedules that the model thinks best"},
    {"model", TUNE | MODEL, VALUE_TEXT, "FILE", AT(model),
     "cost model (tune: default the one installed with ctune)"},
    {"no-transfer", TUNE, VALUE_FLAG, NULL, AT(no_transfer),
     "learn from this search alone, without a trained model"},
    {"ablate", TUNE, VALUE_TEXT, "PART,...", AT(ablate),
     "search without diversity, draft, ensemble, descent (to see what each is worth)"},
    {"folds", MODEL, VALUE_COUNT, "N", AT(folds),
     "eval: like --leave-one-out, kernels in N groups of which one is left out"},
    {"kind", MODEL, VALUE_TEXT, "NAME", AT(kind),
     "of model: gbt (default), linear, mlp, treegru, tlp or mtl-tlp"},
    {"backbone", MODEL, VALUE_TEXT, "attention|lstm", AT(backbone),
     "of tlp and mtl-tlp (default attention)"},
    {"epochs", MODEL, VALUE_COUNT, "N", AT(epochs),
     "most passes over the data of a neural model (default 50)"},
    {"width", MODEL, VALUE_COUNT, "N", AT(width),
     "of a neural model's layers (default 128; tlp, mtl-tlp: 64)"},
    {"items", MODEL, VALUE_COUNT, "N", AT(items),
     "most primitives, loops or statements that a neural model sees"},
    {"no-position", MODEL, VALUE_FLAG, NULL, AT(no_position),
     "tlp: no position code, as published"},
    {"no-region", MODEL, VALUE_FLAG, NULL, AT(no_region),
     "tlp: the schedule alone, without the region's own tokens, as published"},
    {"target", MODEL, VALUE_TEXT, "KEY", AT(for_target),
     "the target that counts (a key, or its beginning): head 0 of mtl-tlp; see --labels"},
    {"labels", MODEL, VALUE_COUNT, "PERCENT", AT(labels),
     "train with this part of the measurements of --target (and all of the others)"},
    {"from", MODEL, VALUE_TEXT, "WORD", AT(from),
     "train on targets with this word in their key (a CPU, a compiler)"},
    {"on", MODEL, VALUE_TEXT, "WORD", AT(on), "eval: on targets with this word in their key"},
    {"objective", MODEL, VALUE_TEXT, "rank|regression", AT(objective),
     "what is trained (default rank)"},
    {"trees", MODEL, VALUE_COUNT, "N", AT(trees), "trees to train, of all members (default 400)"},
    {"members", MODEL, VALUE_COUNT, "N", AT(members),
     "forests of an ensemble, each without a share of the kernels (default 4)"},
    {"depth", MODEL, VALUE_COUNT, "N", AT(depth), "depth of a tree (default 6)"},
    {"features", MODEL, VALUE_TEXT, "[-]GROUP,...", AT(features),
     "train on these groups of features; with - on all but these"},
    {"without", MODEL, VALUE_TEXT, "KERNEL,...", AT(without), "train on all kernels but these"},
    {"leave-one-out", MODEL, VALUE_FLAG, NULL, AT(leave_one_out),
     "eval: train one model per kernel on all others, rank the one left out"},
    {"plots", REPORT, VALUE_TEXT, "FOLDER", AT(plots), "write each plot as an SVG file, too"},
    {"o", APPLY | EXPORT | MODEL | REPORT, VALUE_TEXT, "OUT", AT(output),
     "write here, not to standard output"},
    {"record", APPLY, VALUE_FLAG, NULL, AT(record),
     "put no schedules in: make each nest record its sizes and time"},
    {"profile", TUNE | RECORD | SCAN, VALUE_TEXT, "FILE", AT(profile),
     "recorded sizes (default: .ctune/profile beside the source); scan: where the time goes"},
    {"no-profile", TUNE, VALUE_FLAG, NULL, AT(no_profile),
     "tune the sizes of the pragma, not the recorded ones"},
    {"in-place", APPLY, VALUE_FLAG, NULL, AT(in_place),
     "rewrite FILE itself (without #line directives)"},
    {"undo", APPLY, VALUE_FLAG, NULL, AT(undo), "take an earlier rewriting out"},
    {"no-line", APPLY, VALUE_FLAG, NULL, AT(no_line), "write no #line directives"},
    {"any-target", APPLY | SHOW | CHECK, VALUE_FLAG, NULL, AT(any_target),
     "also use entries tuned for another target"},
    {"nearest", APPLY | SHOW | CHECK | CC | FLAGS, VALUE_FLAG, NULL, AT(nearest),
     "without an entry for this target use that of the nearest one whose code is for here, too"},
    {"schedule", SHOW, VALUE_TEXT, "FILE|-", AT(schedule),
     "schedule to show, one primitive a line"},
    {"schedules", TRY, VALUE_TEXT, "FILE|-", AT(schedules),
     "schedules to try, one a line, primitives separated by ;"},
    {"verify", TRY, VALUE_FLAG, NULL, AT(verify),
     "compare with the original at many sizes, in the user's own file, too"},
    {"no-run", CHECK | TRY, VALUE_FLAG, NULL, AT(no_run),
     "check: look at the entries only; try: legality only"},
    {"region", SOURCES, VALUE_TEXT, "NAME", AT(region), "only this region"},
    {"mode", CC | FLAGS, VALUE_TEXT, "MODE", AT(mode),
     "lock (default), predict, off or record: what the plugin does"},
    {"report", CC | FLAGS, VALUE_TEXT, "remarks|FILE", AT(report),
     "the plugin's remarks in the compiler's output, or JSON lines"},
    {"lock", SOURCES | CC | FLAGS, VALUE_TEXT, "FILE", AT(lock),
     "lock file (default: ctune.lock beside the source)"},
    {"history", TUNE | EXPORT | COLLECT | IMPORT | REPORT, VALUE_TEXT, "FILE", AT(history),
     "history (default: .ctune/history.db beside the source)"},
    {"here", IMPORT, VALUE_FLAG, NULL, AT(here),
     "measured on this machine: targets of the history without facts get those of this machine"},
    {"calibrate", DOCTOR, VALUE_FLAG, NULL, AT(calibrate),
     "measure clock, vector units and memory first (2 s), and keep the figures"},
    {"p", SOURCES | SCAN, VALUE_TEXT, "BUILD_DIR", AT(build_dir),
     "flags from BUILD_DIR/compile_commands.json"},
    {"quiet", SOURCES | RECORD | SCAN, VALUE_FLAG, NULL, AT(quiet),
     "no progress, remarks and notes but why a loop is not tuned"},
    {"help", ~0u, VALUE_FLAG, NULL, AT(help), "this text"},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static const option_row *row_find(const ctune_command *command, const char *name, size_t n) {
    for (int i = 0; i < N_ROWS; i++) {
        if ((rows[i].commands & command->bit) && strlen(rows[i].name) == n &&
            memcmp(rows[i].name, name, n) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

static bool parse_time(const char *text, double *out) {
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"min", 60}, {"h", 3600}};
    char *end;
    double value = strtod(text, &end);
    if (end == text || !isfinite(value) || value <= 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].unit) == 0) {
            *out = value * units[i].seconds;
            return true;
        }
    }
    return false;
}

/* 4G, 512M, 1.5GiB */
static bool parse_bytes(const char *text, double *out) {
    static const char units[] = "KMGT";
    char *end;
    double value = strtod(text, &end);
    if (end == text || !isfinite(value) || value <= 0) {
        return false;
    }
    const char *unit = *end != '\0' ? strchr(units, toupper((unsigned char)*end)) : NULL;
    for (const char *u = units; unit != NULL && u <= unit; u++) {
        value *= 1024;
    }
    end += unit != NULL;
    *out = value;
    return *end == '\0' || strcmp(end, "B") == 0 || strcmp(end, "iB") == 0;
}

static bool parse_count(const char *text, int64_t min, int64_t max, int64_t *out) {
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < min || value > max) {
        return false;
    }
    *out = value;
    return true;
}

static ctune_status set_value(ctune_ctx *ctx, const option_row *row, const char *text,
                              ctune_options *out) {
    char *field = (char *)out + row->offset;
    const char *dashes = row->name[1] == '\0' ? "-" : "--";
    bool ok = true;
    switch (row->kind) {
    case VALUE_FLAG:
        *(bool *)(void *)field = true;
        break;
    case VALUE_TEXT:
        ok = text[0] != '\0';
        *(const char **)(void *)field = text;
        break;
    case VALUE_COUNT:
        ok = parse_count(text, 1, 1000000, (int64_t *)(void *)field);
        break;
    case VALUE_SEED:
        ok = parse_count(text, 0, INT64_MAX, (int64_t *)(void *)field);
        break;
    case VALUE_TIME:
        ok = parse_time(text, (double *)(void *)field);
        break;
    case VALUE_BYTES:
        ok = parse_bytes(text, (double *)(void *)field);
        break;
    }
    return ok ? CTUNE_OK
              : ctune_fail(ctx, CTUNE_EUSAGE, "%s%s: '%s' is not good; like %s", dashes, row->name,
                           text, row->operand);
}

static ctune_status take_option(ctune_ctx *ctx, const ctune_command *command, int argc, char **argv,
                                int *i, ctune_options *out) {
    const char *word = argv[*i];
    bool is_long = word[1] == '-';
    const char *name = word + 1 + is_long;
    const char *equals = is_long ? strchr(name, '=') : NULL;
    if (strcmp(word, "-h") == 0 || strcmp(word, "-q") == 0) {
        name = word[1] == 'h' ? "help" : "quiet";
        is_long = true;
    }
    size_t n = equals != NULL ? (size_t)(equals - name) : strlen(name);
    const option_row *row = row_find(command, name, n);
    if (row == NULL || (row->name[1] == '\0') == is_long) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "unknown option '%s' of `ctune %s`", word,
                          command->name);
    }
    if (row->kind == VALUE_FLAG) {
        return equals == NULL
                   ? set_value(ctx, row, "", out)
                   : ctune_fail(ctx, CTUNE_EUSAGE, "option '--%s' takes no value", row->name);
    }
    if (equals != NULL) {
        return set_value(ctx, row, equals + 1, out);
    }
    if (*i + 1 >= argc || strcmp(argv[*i + 1], "--") == 0) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "option '%s' needs a value: %s", word, row->operand);
    }
    return set_value(ctx, row, argv[++*i], out);
}

static ctune_status check(ctune_ctx *ctx, const ctune_options *out) {
    if (out->build_dir != NULL && out->has_dashes) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "-p and compiler flags after -- exclude each other");
    }
    if (out->in_place && out->output != NULL) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "-o and --in-place exclude each other");
    }
    if (out->strategy != NULL
#define X(id, name, text) &&strcmp(out->strategy, name) != 0
                             CTUNE_STRATEGY_TABLE(X)
#undef X
    ) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "no strategy '%s'", out->strategy);
    }
    return CTUNE_OK;
}

ctune_status ctune_options_parse(ctune_ctx *ctx, const ctune_command *command, int argc,
                                 char **argv, ctune_options *out) {
    memset(out, 0, sizeof *out);
    out->seed = 1;
    ctune_status status = CTUNE_OK;
    for (int i = 0; i < argc && status == CTUNE_OK; i++) {
        if (strcmp(argv[i], "--") == 0) {
            out->has_dashes = true;
            out->n_compiler = argc - i - 1;
            out->compiler = argv + i + 1;
            break;
        }
        if (argv[i][0] == '-' && argv[i][1] != '\0') {
            status = take_option(ctx, command, argc, argv, &i, out);
        } else if (command->bit == CC) { /* the rest is the compiler's */
            out->n_compiler = argc - i;
            out->compiler = argv + i;
            break;
        } else if (out->n_words == CTUNE_MAX_WORDS) {
            status = ctune_fail(ctx, CTUNE_EUSAGE, "more than %d files", CTUNE_MAX_WORDS);
        } else {
            out->words[out->n_words++] = argv[i];
        }
    }
    return status == CTUNE_OK ? check(ctx, out) : status;
}

void ctune_options_print(const ctune_command *command, ctune_text *out) {
    for (int i = 0; i < N_ROWS; i++) {
        if (rows[i].commands & command->bit) {
            char left[64];
            snprintf(left, sizeof left, "%s%s%s%s", rows[i].name[1] == '\0' ? "-" : "--",
                     rows[i].name, rows[i].operand != NULL ? " " : "",
                     rows[i].operand != NULL ? rows[i].operand : "");
            ctune_text_printf(out, "  %-20s %s\n", left, rows[i].help);
        }
    }
}
