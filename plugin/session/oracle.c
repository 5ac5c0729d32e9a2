/*
 * Oracle: see oracle.h.
 *
 * The driver is appended to the user's text, so that it sees statics and types as the loop does.
 * Arguments are matched by name with the region's parameters and tensors; global arrays are filled
 * before the call and read after it. What the function computes by itself (local variables) stays
 * its own business. Where some input cannot be set, or no output can be seen, there is no oracle
 * and a sentence that says why.
 */
#include "plugin/session/oracle.h"

#include "plugin/rewrite/rewrite.h"
#include "plugin/source/unit_text.h"
#include "plugin/transform/variants.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum place { ARGUMENT, LOCAL, GLOBAL } place;

typedef struct driver {
    const ctune_region *region;
    const ctune_unit_function *function;
    const char *name;               /* of the function */
    ctune_text before, call, after; /* statements, arguments, statements */
    bool has_output;
    char *obstacle;
    size_t size;
} driver;

static bool object(driver *d, const char *format, ...) CTUNE_PRINTF(2, 3);

static bool object(driver *d, const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (d->obstacle[0] == '\0') {
        vsnprintf(d->obstacle, d->size, format, args);
    }
    va_end(args);
    return false;
}

/* ---- names ----------------------------------------------------------------------------------- */
/* The expression without what only takes an address of its first element: "&A[0][0]" -> "A". */
static void strip(const char *expr, char *out, size_t size) {
    snprintf(out, size, "%s", expr[0] == '&' ? expr + 1 : expr);
    for (size_t n = strlen(out); n > 3 && strcmp(out + n - 3, "[0]") == 0; n -= 3) {
        out[n - 3] = '\0';
    }
}

static void name_of(const ctune_tensor *t, char *out, size_t size) {
    strip(t->rank == 0 && t->pattern != NULL ? t->pattern
          : t->base != NULL                  ? t->base
                                             : t->name,
          out, size);
}

static size_t root_length(const char *expr) {
    size_t n = 0;
    while (isalnum((unsigned char)expr[n]) || expr[n] == '_') {
        n++;
    }
    return n;
}

static int find_argument(const ctune_unit_function *f, const char *name, size_t n) {
    for (int i = 0; i < f->n_args; i++) {
        if (strlen(f->args[i].name) == n && strncmp(f->args[i].name, name, n) == 0) {
            return i;
        }
    }
    return -1;
}

/* Where the variable lives that the expression begins with. */
static place place_of(const ctune_unit_function *f, const char *expr) {
    size_t n = root_length(expr);
    for (int i = 0; i < f->n_locals; i++) {
        if (strlen(f->locals[i]) == n && strncmp(f->locals[i], expr, n) == 0) {
            return LOCAL;
        }
    }
    return find_argument(f, expr, n) >= 0 ? ARGUMENT : GLOBAL;
}

/* "a[0]": rows that pointers point to. */
static bool is_rows(const ctune_tensor *t) {
    size_t n = t->base == NULL ? 0 : strlen(t->base);
    return t->rank == 2 && n > 1 && t->base[0] != '&' && t->base[n - 1] == ']';
}

int ctune_oracle_argument(const ctune_unit_function *function, const ctune_tensor *tensor) {
    char name[256];
    if (is_rows(tensor)) {
        return -1;
    }
    name_of(tensor, name, sizeof name);
    return place_of(function, name) == ARGUMENT && root_length(name) == strlen(name)
               ? find_argument(function, name, strlen(name))
               : -1;
}

/* ---- arguments ------------------------------------------------------------------------------- */
static const char *c_type(ctune_type type) {
    return ctune_type_get(type)->c_name;
}

static int find_param(const driver *d, const char *name) {
    for (int i = 0; i < d->region->n_params; i++) {
        if (strcmp(d->region->params[i].c_text, name) == 0) {
            return i;
        }
    }
    return -1;
}

static int find_tensor(const driver *d, int i_arg) {
    for (int i = 0; i < d->region->n_tensors; i++) {
        const ctune_tensor *t = &d->region->tensors[i];
        if (!t->is_temp && ctune_oracle_argument(d->function, t) == i_arg) {
            return i;
        }
    }
    return -1;
}

static bool put_argument(driver *d, int i_arg) {
    const ctune_unit_arg *arg = &d->function->args[i_arg];
    int i_param = find_param(d, arg->name), i_tensor = find_tensor(d, i_arg);
    ctune_text_append(&d->call, i_arg > 0 ? ", " : "");
    if (arg->is_pointer && i_tensor >= 0) {
        const ctune_tensor *t = &d->region->tensors[i_tensor];
        if (t->elem_stride_bytes > ctune_type_get(t->type)->bytes) {
            return object(d, "its argument '%s' points to structures", arg->name);
        }
        d->has_output |= t->is_written;
        ctune_text_printf(&d->call, "ctune_a->tensors[%d]", i_tensor);
    } else if (!arg->is_pointer && i_param >= 0) {
        ctune_text_printf(&d->call, "ctune_a->params[%d]", i_param);
    } else if (!arg->is_pointer && i_tensor >= 0) {
        ctune_text_printf(&d->call, "*(%s *)ctune_a->tensors[%d]",
                          c_type(d->region->tensors[i_tensor].type), i_tensor);
    } else {
        return object(d, "what its argument '%s' should be cannot be told from the loop",
                      arg->name);
    }
    return true;
}

/* ---- variables that are no arguments --------------------------------------------------------- */
static bool put_param(driver *d, int i) {
    const char *text = d->region->params[i].c_text;
    size_t n = root_length(text);
    bool is_name = n == strlen(text);
    place where = place_of(d->function, text);
    if (where == ARGUMENT && is_name) {
        return true;
    }
    if (where != GLOBAL || n == 0) {
        return object(d, "'%s' cannot be set from outside", text);
    }
    ctune_text_printf(&d->before, "    %s = ctune_a->params[%d];\n", text, i);
    return true;
}

static bool is_array(const ctune_tensor *t) {
    bool is_const = t->rank > 0;
    for (int d = 0; d < t->rank; d++) {
        is_const &= t->extent[d] != NULL && ctune_aff_is_const(t->extent[d]);
    }
    return is_const;
}

static int64_t array_bytes(const ctune_tensor *t) {
    int64_t bytes = ctune_type_get(t->type)->bytes;
    for (int d = 0; d < t->rank; d++) {
        bytes *= t->extent[d]->c0;
    }
    return bytes;
}

static bool put_tensor(driver *d, int i) {
    const ctune_tensor *t = &d->region->tensors[i];
    char name[256];
    name_of(t, name, sizeof name);
    if (t->is_temp || ctune_oracle_argument(d->function, t) >= 0) {
        return true;
    }
    place where = place_of(d->function, name);
    if (where == LOCAL && (t->rank == 0 || !t->is_written)) {
        return true; /* the function's own business */
    }
    if (where != GLOBAL) {
        return object(d, "'%s' cannot be seen from outside", name);
    }
    if (t->elem_stride_bytes > ctune_type_get(t->type)->bytes) {
        return object(d, "'%s' holds structures", name);
    }
    d->has_output |= t->is_written;
    if (t->rank == 0) {
        const char *type = c_type(t->type);
        if (!t->is_const) {
            ctune_text_printf(&d->before, "    %s = *(%s *)ctune_a->tensors[%d];\n", name, type, i);
        }
        if (t->is_written) {
            ctune_text_printf(&d->after, "    *(%s *)ctune_a->tensors[%d] = %s;\n", type, i, name);
        }
    } else if (is_array(t)) {
        if (!t->is_const) {
            ctune_text_printf(&d->before,
                              "    typedef char ctune_size_%d[sizeof(%s) == %lldu ? 1 : -1];\n"
                              "    __builtin_memcpy(&%s, ctune_a->tensors[%d], sizeof(%s));\n",
                              i, name, (long long)array_bytes(t), name, i, name);
        }
        if (t->is_written) {
            ctune_text_printf(&d->after,
                              "    __builtin_memcpy(ctune_a->tensors[%d], &%s, sizeof(%s));\n", i,
                              name, name);
        }
    } else {
        ctune_text_printf(&d->before, "    %s = ctune_a->tensors[%d];\n", name, i);
    }
    return true;
}

/* What the function returns goes where a scalar result of the loop would be looked for. */
static int find_result(const driver *d) {
    for (int i = 0; i < d->region->n_tensors && d->function->returns != CTUNE_N_TYPES; i++) {
        const ctune_tensor *t = &d->region->tensors[i];
        char name[256];
        name_of(t, name, sizeof name);
        if (!t->is_temp && t->rank == 0 && t->is_written && place_of(d->function, name) != GLOBAL) {
            return i;
        }
    }
    return -1;
}

static bool plan(driver *d) {
    if (d->function->obstacle != NULL) {
        return object(d, "%s", d->function->obstacle);
    }
    bool ok = true;
    for (int i = 0; i < d->function->n_args && ok; i++) {
        ok = put_argument(d, i);
    }
    for (int i = 0; i < d->region->n_params && ok; i++) {
        ok = put_param(d, i);
    }
    for (int i = 0; i < d->region->n_tensors && ok; i++) {
        ok = put_tensor(d, i);
    }
    bool has_result = find_result(d) >= 0;
    return ok && (d->has_output || has_result ||
                  object(d, "what its loop computes cannot be seen from outside"));
}

static void print_driver(const driver *d, bool is_tuned, ctune_text *out) {
    ctune_text_append(out,
                      "\n#line 1 \"ctune-driver\"\n"
                      "typedef struct ctune_args { const long *params; void *const *tensors; } "
                      "ctune_args;\n"
                      "static int ctune_driver(const ctune_args *ctune_a) {\n");
    ctune_text_append(out, ctune_text_get(&d->before));
    ctune_text_append(out, is_tuned ? "    ctune_state = 0;\n    " : "    ");
    int i_result = find_result(d);
    if (i_result >= 0) {
        ctune_text_printf(out, "*(%s *)ctune_a->tensors[%d] = ",
                          c_type(d->region->tensors[i_result].type), i_result);
    }
    ctune_text_printf(out, "%s(%s);\n", d->name, ctune_text_get(&d->call));
    ctune_text_append(out, ctune_text_get(&d->after));
    if (is_tuned) {
        ctune_text_printf(out, "    return ctune_state == 1 ? 0 : ctune_state == 0 ? %d : %d;\n}\n",
                          CTUNE_ORACLE_NOT_REACHED, CTUNE_ORACLE_FELL_BACK);
    } else {
        ctune_text_append(out, "    return 0;\n}\n");
    }
}

/* ---- texts ----------------------------------------------------------------------------------- */
static void init_driver(const ctune_oracle *o, char *obstacle, size_t size, driver *d) {
    const ctune_unit_region *r = &o->bench->source->unit->regions[o->i_region];
    *d = (driver){.region = o->bench->region,
                  .function = &r->caller,
                  .name = r->function,
                  .obstacle = obstacle,
                  .size = size};
    ctune_text_init(&d->before);
    ctune_text_init(&d->call);
    ctune_text_init(&d->after);
}

static void clear_driver(driver *d) {
    ctune_text_clear(&d->before);
    ctune_text_clear(&d->call);
    ctune_text_clear(&d->after);
}

/* The region's code, which notes that it runs, and which branch. */
static ctune_status make_body(ctune_ctx *ctx, const ctune_oracle *o, const char *schedule,
                              ctune_text *out) {
    static const char mark[] = "/* ctune:original begin */";
    const ctune_source *source = o->bench->source;
    ctune_program *program = NULL;
    char *body = NULL;
    ctune_lock_entry entry = {.schedule = (char *)(uintptr_t)schedule, .sizes = ""};
    const ctune_lock_entry *entries[] = {&entry};
    ctune_status status =
        ctune_program_create(ctx, source->unit->regions[o->i_region].region, &program);
    if (status == CTUNE_OK) {
        status = ctune_variants_emit(ctx, source, o->i_region, program, entries, 1, &body);
    }
    const char *at = body != NULL ? strstr(body, mark) : NULL;
    if (status == CTUNE_OK && body == NULL) {
        status = ctune_fail(ctx, CTUNE_EBUG, "no code for the schedule");
    }
    if (status == CTUNE_OK) {
        size_t n = at != NULL ? (size_t)(at - body) : strlen(body);
        ctune_text_append(out, "{ ctune_state |= 1; ");
        ctune_text_append_n(out, body, n);
        ctune_text_append(out, at != NULL ? "ctune_state |= 2; " : "");
        ctune_text_append(out, body + n);
        ctune_text_append(out, " }");
    }
    free(body);
    if (program != NULL) {
        ctune_program_destroy(program);
    }
    return status;
}

static ctune_status print_tuned(ctune_ctx *ctx, const ctune_oracle *o, const char *body,
                                ctune_text *out) {
    const ctune_source *source = o->bench->source;
    int n = source->unit->n_regions;
    ctune_splice *splices = calloc((size_t)n + 1, sizeof *splices);
    if (splices == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    for (int i = 0; i < n; i++) {
        splices[i] = (ctune_splice){i, i == o->i_region ? body : NULL};
    }
    ctune_text prelude;
    ctune_text_init(&prelude);
    ctune_emit_options emit = source->emit;
    emit.is_source = true;
    ctune_text_append(&prelude, "static int ctune_state;\n");
    ctune_emit_prelude(&emit, &prelude);
    ctune_status status = ctune_rewrite_lines(ctx, source->unit, ctune_text_get(&prelude), splices,
                                              n, source->file, out);
    ctune_text_clear(&prelude);
    free(splices);
    return status;
}

ctune_status ctune_oracle_print(ctune_ctx *ctx, const ctune_oracle *o, const char *schedule,
                                ctune_text *out) {
    char obstacle[200] = "";
    driver d;
    ctune_text body;
    ctune_text_init(&body);
    init_driver(o, obstacle, sizeof obstacle, &d);
    ctune_status status = make_body(ctx, o, schedule, &body);
    if (status == CTUNE_OK) {
        status = print_tuned(ctx, o, ctune_text_get(&body), out);
    }
    if (status == CTUNE_OK) {
        (void)plan(&d); /* it was possible when the oracle was opened */
        print_driver(&d, true, out);
        status = out->failed ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory") : CTUNE_OK;
    }
    clear_driver(&d);
    ctune_text_clear(&body);
    return status;
}

/* ---- open ------------------------------------------------------------------------------------ */
static ctune_status start(ctune_ctx *ctx, ctune_oracle *o, const char *text) {
    const ctune_bench *bench = o->bench;
    char runner_path[PATH_MAX], folder[PATH_MAX];
    static const char *const more[] = {"-fno-semantic-interposition"};
    const char **argv = ctune_unit_argv(bench->source, o->arena, 1, more);
    int n = snprintf(folder, sizeof folder, "%s/oracle-XXXXXX", bench->session->folder());
    if (argv == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    if (n < 0 || (size_t)n >= sizeof folder || mkdtemp(folder) == NULL) {
        return ctune_fail(ctx, CTUNE_EENV, "cannot make a working folder '%s': %s", folder,
                          strerror(errno));
    }
    int n_flags = 0;
    while (argv[n_flags + 1] != NULL) {
        n_flags++;
    }
    ctune_run_compiler compiler = {argv[0], n_flags, argv + 1};
    ctune_run_result result = {0};
    ctune_status status = bench->session->find_runner(ctx, runner_path, sizeof runner_path);
    if (status == CTUNE_OK) {
        status =
            ctune_runner_create(ctx, runner_path, folder, &compiler, &bench->workload, &o->runner);
    }
    if (status == CTUNE_OK) {
        status = ctune_runner_original(ctx, o->runner, "", text, "ctune_driver", &result);
    }
    if (status == CTUNE_OK && result.outcome != CTUNE_RUN_OK) {
        snprintf(o->obstacle, sizeof o->obstacle, "the call does not compile: %.150s",
                 result.detail);
        ctune_runner_destroy(o->runner);
        o->runner = NULL;
    }
    return status;
}

ctune_status ctune_oracle_open(ctune_ctx *ctx, const ctune_bench *bench, ctune_oracle *out) {
    memset(out, 0, sizeof *out);
    out->bench = bench;
    out->i_region = ctune_source_find(bench->source, bench->region);
    out->arena = ctune_arena_create(ctx);
    if (out->arena == NULL || out->i_region < 0) {
        return ctune_fail(ctx, out->arena == NULL ? CTUNE_ENOMEM : CTUNE_EBUG, "no oracle");
    }
    driver d;
    ctune_text text;
    ctune_text_init(&text);
    init_driver(out, out->obstacle, sizeof out->obstacle, &d);
    ctune_status status = CTUNE_OK;
    if (plan(&d)) {
        ctune_unit_print(bench->source, NULL, false, &text);
        print_driver(&d, false, &text);
        status = text.failed ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory")
                             : start(ctx, out, ctune_text_get(&text));
    }
    clear_driver(&d);
    ctune_text_clear(&text);
    return status;
}

void ctune_oracle_close(ctune_oracle *oracle) {
    ctune_runner_destroy(oracle->runner);
    ctune_arena_destroy(oracle->arena);
    memset(oracle, 0, sizeof *oracle);
}
