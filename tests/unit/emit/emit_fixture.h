/*
 * Programs as text, printed as C, compiled by real compilers, loaded and compared with the
 * interpreter, bit for bit. Values are hostile: NaN, infinities, -0, subnormals, least integers.
 */
#ifndef CTUNE_TESTS_UNIT_EMIT_EMIT_FIXTURE_H
#define CTUNE_TESTS_UNIT_EMIT_EMIT_FIXTURE_H

#include "runtime/args.h"
#include "search/emit/emit.h"

#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MAX_TENSORS = 32, MAX_PROGRAMS = 160 };

/* ---- compiles -------------------------------------------------------------------------------- */

/* A row: compiler, flags, what of them the emitter is told, what the machine must have to run it.
 */
typedef struct compile {
    const char *compiler, *flags;
    bool fma;
    ctune_contract contract;
    bool openmp, is_c90;
    int needs; /* 0; 3: AVX2 and FMA; 4: AVX-512 */
} compile;

#define WARNINGS "-Wall -Wextra -Wconversion -Wshadow -Wunreachable-code -Werror "

static inline bool has_command(const char *name) {
    char command[128];
    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", name);
    return system(command) == 0;
}

static inline bool can_run(const compile *c) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    return c->needs == 0 ? true
           : c->needs == 3
               ? __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
               : __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
#else
    return c->needs == 0;
#endif
}

static inline ctune_target target_of(const compile *c, int vector_bytes) {
    return (ctune_target){.vector_bytes = vector_bytes,
                          .openmp = c->openmp,
                          .has_fma = c->fma,
                          .contract = c->contract,
                          .is_c90 = c->is_c90};
}

/* Compiles text; out: what was made, below a new folder. More flags may follow those of the row.
 */
static inline void compile_text(const compile *c, const char *text, const char *more, char *out,
                                size_t size) {
    char folder[] = "/tmp/ctune-emit-XXXXXX", command[1024], path[128];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/unit.c", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    snprintf(out, size, "%s/unit.so", folder);
    snprintf(command, sizeof command, "%s %s %s -o %s %s", c->compiler, c->flags, more, out, path);
    if (system(command) != 0) {
        fail_msg("%s", command); /* the folder stays */
    }
    unlink(path);
}

static inline void remove_output(const char *path) {
    char folder[256];
    snprintf(folder, sizeof folder, "%s", path);
    unlink(path);
    *strrchr(folder, '/') = '\0';
    rmdir(folder);
}

/* ---- data ------------------------------------------------------------------------------------ */

typedef struct data {
    const ctune_region *region;
    int64_t params[8];
    void *tensor[MAX_TENSORS];
    size_t bytes[MAX_TENSORS];
} data;

static inline uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 24;
}

static inline double hostile_float(uint64_t r) {
    static const double values[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-40, -1e-310, 1e38};
    return r % 8 == 0 ? values[r / 8 % 8] : ((double)(r % 200003) - 100001) / 977;
}

static inline int64_t hostile_int(uint64_t r) {
    static const int64_t values[] = {INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, -1, 0, 1, -128};
    return r % 8 == 0 ? values[r / 8 % 8] : (int64_t)(r % 100003) - 50000;
}

static inline void set_element(ctune_type type, void *at, uint64_t r) {
    double f = hostile_float(r);
    int64_t i = hostile_int(r);
    switch (type) {
    case CTUNE_F16:
        *(_Float16 *)at = (_Float16)f;
        return;
    case CTUNE_F32:
        *(float *)at = (float)f;
        return;
    case CTUNE_F64:
        *(double *)at = f;
        return;
    case CTUNE_F80:
        *(long double *)at = (long double)f / 3;
        return;
    case CTUNE_BOOL:
        *(unsigned char *)at = (unsigned char)(i & 1);
        return;
    default:
        memcpy(at, &i, (size_t)ctune_type_get(type)->bytes);
    }
}

static inline bool is_nan_at(ctune_type type, const void *at) {
    return type == CTUNE_F16   ? isnan((float)*(const _Float16 *)at)
           : type == CTUNE_F32 ? isnan(*(const float *)at)
           : type == CTUNE_F64 ? isnan(*(const double *)at)
           : type == CTUNE_F80 ? isnan(*(const long double *)at)
                               : false;
}

static inline void data_init(data *d, const ctune_region *region, const int64_t *params) {
    memset(d, 0, sizeof *d);
    d->region = region;
    memcpy(d->params, params, (size_t)region->n_params * sizeof *params);
    uint64_t state = 12345;
    for (int t = 0; t < region->n_tensors; t++) {
        const ctune_tensor *tensor = &region->tensors[t];
        if (tensor->is_temp) {
            continue;
        }
        int64_t extents[CTUNE_MAX_RANK];
        int64_t n = ctune_tensor_shape(region, t, params, extents);
        assert_true(n >= 0);
        int stride = tensor->elem_stride_bytes;
        d->bytes[t] = (size_t)n * (size_t)stride;
        d->tensor[t] = calloc(d->bytes[t] + 16, 1);
        assert_non_null(d->tensor[t]);
        for (int64_t i = 0; i < n; i++) {
            set_element(tensor->type, (char *)d->tensor[t] + i * stride, next_random(&state));
        }
    }
}

static inline void data_clear(data *d) {
    for (int t = 0; t < MAX_TENSORS; t++) {
        free(d->tensor[t]);
    }
}

/* NaNs are equal: which operand's payload stays is the hardware's choice. */
static inline void assert_same(const data *want, const data *got, const char *what) {
    for (int t = 0; t < want->region->n_tensors; t++) {
        const ctune_tensor *tensor = &want->region->tensors[t];
        size_t stride = (size_t)tensor->elem_stride_bytes;
        size_t n = tensor->type == CTUNE_F80 ? 10 : stride; /* the rest of an f80 is padding */
        for (size_t at = 0; at < want->bytes[t]; at += stride) {
            const char *a = (const char *)want->tensor[t] + at;
            const char *b = (const char *)got->tensor[t] + at;
            if (memcmp(a, b, n) != 0 &&
                !(is_nan_at(tensor->type, a) && is_nan_at(tensor->type, b))) {
                fail_msg("%s[%zu] differs after\n%s", tensor->name, at / stride, what);
            }
        }
    }
}

/* ---- programs -------------------------------------------------------------------------------- */

static inline ctune_region *region_of(const char *te) {
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    ctune_region *region = NULL;
    if (ctune_te_parse(&ctx, te, &region) != CTUNE_OK) {
        fail_msg("%s", ctx.error);
    }
    return region;
}

/* Verified and named. text without its first line. */
static inline ctune_loops *program_of(ctune_ctx *ctx, const ctune_region *region,
                                      const char *text) {
    char *whole = NULL;
    ctune_loops *l = NULL;
    assert_true(asprintf(&whole, "loops 1\n%s", text) > 0);
    ctune_pass_options options = {.target = &(const ctune_target){.vector_bytes = 64}};
    if (ctune_loops_parse(ctx, region, whole, &l) != CTUNE_OK ||
        ctune_loops_verify(ctx, l) != CTUNE_OK || ctune_pass_name(l, &options) != CTUNE_OK) {
        fail_msg("%s\n%s", ctx->error, text);
    }
    free(whole);
    return l;
}

typedef struct unit {
    const ctune_region *region;
    int n;
    ctune_loops *program[MAX_PROGRAMS];
    char *text[MAX_PROGRAMS]; /* of the program */
} unit;

static inline void unit_add(unit *u, ctune_ctx *ctx, const char *text) {
    assert_true(u->n < MAX_PROGRAMS);
    u->program[u->n] = program_of(ctx, u->region, text);
    u->text[u->n++] = strdup(text);
}

static inline void unit_clear(unit *u) {
    for (int i = 0; i < u->n; i++) {
        ctune_loops_destroy(u->program[i]);
        free(u->text[i]);
    }
}

/* All candidates of the unit in one translation unit with a table. */
static inline void unit_print(unit *u, ctune_ctx *ctx, const ctune_emit_options *options,
                              ctune_text *out) {
    char name[32];
    ctune_emit_prelude(options, out);
    for (int i = 0; i < u->n; i++) {
        snprintf(name, sizeof name, "candidate_%d", i);
        if (ctune_emit_program(ctx, u->program[i], NULL, options, name, NULL, out) != CTUNE_OK) {
            fail_msg("%s\n%s", ctx->error, u->text[i]);
        }
    }
    ctune_text_append(out, "extern int (*const table[])(const ctune_args *);\n"
                           "int (*const table[])(const ctune_args *) = {");
    for (int i = 0; i < u->n; i++) {
        ctune_text_printf(out, "%scandidate_%d", i > 0 ? ", " : "", i);
    }
    ctune_text_append(out, "};\n");
}

static inline void unit_run(const unit *u, const char *object, const int64_t *params) {
    /* OpenMP's threads outlive the handle */
    void *handle = dlopen(object, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == NULL) {
        fail_msg("%s", dlerror());
    }
    ctune_candidate_fn *const *table = dlsym(handle, "table");
    assert_non_null(table);
    for (int i = 0; i < u->n; i++) {
        ctune_ctx ctx;
        ctune_ctx_init(&ctx);
        data want, got;
        data_init(&want, u->region, params);
        data_init(&got, u->region, params);
        if (ctune_loops_eval(&ctx, u->program[i], want.params, want.tensor, want.bytes) !=
            CTUNE_OK) {
            fail_msg("%s\n%s", ctx.error, u->text[i]);
        }
        long c_params[8];
        for (int p = 0; p < u->region->n_params; p++) {
            c_params[p] = (long)params[p];
        }
        ctune_args args = {c_params, got.tensor};
        assert_int_equal(table[i](&args), 0);
        assert_same(&want, &got, u->text[i]);
        data_clear(&want);
        data_clear(&got);
    }
    dlclose(handle);
}

#endif
