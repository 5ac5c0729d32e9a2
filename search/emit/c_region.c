/*
 * Entry points of the C emitter: prelude, rewritten region, candidate. See emit.h.
 *
 * Both bodies have the same shape: parameters as long, sizes and bases of scratch memory, one
 * allocation, the guard, the loops. They differ in how tensors are reached (the source's
 * expressions or pointers from ctune_args) and in what happens when the guard fails (the original
 * statement, or return 1).
 */
#include "search/emit/emit_private.h"

#include <string.h>

void ctune_emit_prelude(const ctune_emit_options *options, ctune_text *out) {
    ctune_text_append(
        out,
        "#ifndef CTUNE_PRELUDE\n"
        "#define CTUNE_PRELUDE\n"
        "#if defined(__clang__)\n"
        "#define CTUNE_PRAGMA(x) _Pragma(#x)\n"
        "#define CTUNE_SIMD CTUNE_PRAGMA(clang loop vectorize(assume_safety))\n"
        "#define CTUNE_UNROLL(n) CTUNE_PRAGMA(clang loop unroll_count(n))\n"
        "#pragma clang diagnostic ignored \"-Wpass-failed\"\n"
        "#define CTUNE_ROUND(x) __extension__({ const __typeof__(x) ctune_r = (x); ctune_r; })\n"
        "#else\n"
        "/* the product is rounded here: the compiler cannot fuse what passes through the "
        "statement */\n"
        "#if defined(__x86_64__)\n"
        "#define CTUNE_ROUND(x) __extension__({ __typeof__((x) + (x)) ctune_r = (x); __asm__(\"\" "
        ": \"+v\"(ctune_r)); ctune_r; })\n"
        "#else\n"
        "#define CTUNE_ROUND(x) __extension__({ __typeof__((x) + (x)) ctune_r = (x); __asm__(\"\" "
        ": \"+w\"(ctune_r)); ctune_r; })\n"
        "#endif\n"
        "#define CTUNE_PRAGMA(x) _Pragma(#x)\n"
        "#define CTUNE_SIMD CTUNE_PRAGMA(GCC ivdep)\n"
        "#define CTUNE_UNROLL(n) CTUNE_PRAGMA(GCC unroll n)\n"
        "#endif\n"
        "__attribute__((unused)) static inline long ctune_min(long a, long b) { return a < b ? a : "
        "b; }\n"
        "__attribute__((unused)) static inline long ctune_max(long a, long b) { return a > b ? a : "
        "b; }\n"
        "/* floor(a / b), b > 0: C's division truncates */\n"
        "__attribute__((unused)) static inline long ctune_floordiv(long a, long b) {\n"
        "    return a >= 0 ? a / b : -((b - 1 - a) / b);\n"
        "}\n"
        "/* do the byte ranges [p + p0, p + p1) and [q + q0, q + q1) not meet? */\n"
        "__attribute__((unused)) static inline int ctune_disjoint(const volatile void *p, long p0, "
        "long p1,\n"
        "                                                         const volatile void *q, long q0, "
        "long q1) {\n"
        "    const unsigned long a = (unsigned long)p, b = (unsigned long)q;\n"
        "    return p1 <= p0 || q1 <= q0 || a + (unsigned long)p1 <= b + (unsigned long)q0 ||\n"
        "           b + (unsigned long)q1 <= a + (unsigned long)p0;\n"
        "}\n"
        "/* 64-byte-aligned scratch memory, NULL when there is none; the pointer to free stands "
        "before it */\n"
        "__attribute__((unused)) static inline void *ctune_alloc(unsigned long bytes) {\n"
        "    char *const raw = (char *)__builtin_malloc(bytes + 128);\n"
        "    if (raw == 0) return 0;\n"
        "    char *const aligned = raw + 128 - ((unsigned long)raw & 63);\n"
        "    ((void **)(void *)aligned)[-1] = raw;\n"
        "    return aligned;\n"
        "}\n"
        "__attribute__((unused)) static inline void ctune_free(void *p) {\n"
        "    __builtin_free(((void **)p)[-1]);\n"
        "}\n");
    if (options->openmp) {
        ctune_text_append(out, "#ifdef _OPENMP\n"
                               "extern int omp_get_thread_num(void);\n"
                               "extern int omp_get_max_threads(void);\n"
                               "#endif\n");
    }
    if (!options->is_source) {
        ctune_text_append(out, "typedef struct ctune_args {\n"
                               "    const long *params;\n"
                               "    void *const *tensors;\n"
                               "} ctune_args;\n");
    }
    ctune_text_append(out, "#endif\n");
}

/* ---- parts of a body
 * ----------------------------------------------------------------------------------------- */

static void print_params(ctune_emitter *e) {
    for (int i = 0; i < e->region->n_params; i++) {
        const ctune_param *p = &e->region->params[i];
        if (e->standalone) {
            ctune_text_line(e->out, "const long %s = ctune_a->params[%d];", p->name, i);
            ctune_text_line(e->out, "(void)%s;", p->name);
        } else {
            ctune_text_line(e->out, "const long %s = (long)(%s);", emit_param(e, i), p->c_text);
            ctune_text_line(e->out, "(void)%s;", emit_param(e, i));
        }
    }
}

/* Pointers to the tensors of a candidate, declared so that A[i][j] works. */
static void print_tensors(ctune_emitter *e) {
    for (int i = 0; i < e->region->n_tensors; i++) {
        const ctune_tensor *t = &e->region->tensors[i];
        const char *c_type = ctune_type_get(t->type)->c_name;
        if (t->is_temp || emit_is_copied_scalar(t)) {
            continue;
        }
        if (t->elem_stride_bytes != ctune_type_get(t->type)->bytes) {
            ctune_text_line(e->out, "typedef struct { %s v; char pad[%d]; } ctune_elem_%d;", c_type,
                            t->elem_stride_bytes - ctune_type_get(t->type)->bytes, i);
            c_type = ctune_arena_printf(e->arena, "ctune_elem_%d", i);
        }
        ctune_text dims;
        ctune_text_init(&dims);
        bool linear = strstr(t->pattern, "$L") != NULL;
        for (int d = 1; d < t->rank && !linear; d++) {
            ctune_text_printf(&dims, "[%s]", emit_aff(e, NULL, t->extent[d]));
        }
        if (dims.len > 0) {
            ctune_text_line(e->out, "%s (*%s)%s = (%s (*)%s)ctune_a->tensors[%d];", c_type, t->name,
                            ctune_text_get(&dims), c_type, ctune_text_get(&dims), i);
        } else {
            ctune_text_line(e->out, "%s *%s = (%s *)ctune_a->tensors[%d];", c_type, t->name, c_type,
                            i);
        }
        ctune_text_line(e->out, "(void)%s;", t->name);
        ctune_text_clear(&dims);
    }
}

static void print_scalars(ctune_emitter *e) {
    for (int i = 0; i < e->region->n_tensors; i++) {
        const ctune_tensor *t = &e->region->tensors[i];
        if (!emit_is_copied_scalar(t)) {
            continue;
        }
        const char *c_type = ctune_type_get(t->type)->c_name;
        if (e->standalone) {
            ctune_text_line(e->out, "const %s %s = *(const %s *)ctune_a->tensors[%d];", c_type,
                            emit_tensor_name(e, i), c_type, i);
        } else {
            ctune_text_line(e->out, "const %s %s = %s;", c_type, emit_tensor_name(e, i),
                            t->pattern);
        }
        ctune_text_line(e->out, "(void)%s;", emit_tensor_name(e, i));
    }
}

static const char *buffer_count(ctune_emitter *e, const ctune_lbuffer *b) {
    const char *text = ctune_arena_printf(e->arena, "sizeof(%s)", ctune_type_get(b->type)->c_name);
    for (int d = 0; d < b->n_dims; d++) {
        const char *n =
            ctune_arena_printf(e->arena, "ctune_max(0, %s - (%s))", emit_limit(e, &b->hi[d], 1),
                               emit_limit(e, &b->lo[d], 0));
        if (b->cap[d] > 0) {
            n = ctune_arena_printf(e->arena, "ctune_min(%lld, %s)", (long long)b->cap[d], n);
        }
        if (b->multiple[d] > 1) { /* one panel more: a coarse tile need not start on the grid */
            n = ctune_arena_printf(e->arena, "((%s + %lld) / %lld + 1) * %lld", n,
                                   (long long)(b->multiple[d] - 1), (long long)b->multiple[d],
                                   (long long)b->multiple[d]);
        }
        text = ctune_arena_printf(e->arena, "%s * (unsigned long)(%s)", text, n);
    }
    return text;
}

static const char *memory_name(ctune_emitter *e, const ctune_lbuffer *b) {
    return ctune_arena_printf(e->arena, "%s_bytes", b->name);
}

static const char *print_sizes(ctune_emitter *e) {
    const char *total = NULL;
    for (int i = 0; i < e->loops->n_buffers; i++) {
        const ctune_lbuffer *b = &e->loops->buffer[i];
        ctune_text_line(e->out, "const unsigned long %s = (%s + 127) & ~63ul;", memory_name(e, b),
                        buffer_count(e, b));
        const char *one =
            b->is_per_thread && e->loops->is_parallel
                ? ctune_arena_printf(e->arena, "%s * (unsigned long)omp_get_max_threads()",
                                     memory_name(e, b))
                : memory_name(e, b);
        total = total == NULL ? one : ctune_arena_printf(e->arena, "%s + %s", total, one);
    }
    return total;
}

static void print_buffers(ctune_emitter *e) {
    const char *offset = "ctune_mem";
    for (int i = 0; i < e->loops->n_buffers; i++) {
        const ctune_lbuffer *b = &e->loops->buffer[i];
        const char *c_type = ctune_type_get(b->type)->c_name;
        bool threads = b->is_per_thread && e->loops->is_parallel;
        ctune_text_line(e->out, "%s *const %s%s = (%s *)(void *)(%s);", c_type, b->name,
                        threads ? "_0" : "", c_type, offset);
        offset = ctune_arena_printf(e->arena, "%s + %s%s", offset, memory_name(e, b),
                                    threads ? " * (unsigned long)omp_get_max_threads()" : "");
    }
}

/* A thread's own part of a buffer: a macro-free way is to name it at the head of the parallel
 * loop's body. */
static void print_thread_buffers(ctune_emitter *e, ctune_text *out) {
    for (int i = 0; i < e->loops->n_buffers; i++) {
        const ctune_lbuffer *b = &e->loops->buffer[i];
        if (b->is_per_thread) {
            const char *c_type = ctune_type_get(b->type)->c_name;
            ctune_text_line(out,
                            "%s *const %s __attribute__((unused)) = (%s *)(void *)((char *)%s_0 + "
                            "(unsigned long)"
                            "omp_get_thread_num() * %s);",
                            c_type, b->name, c_type, b->name, memory_name(e, b));
        }
    }
}

static void print_typedefs(ctune_emitter *e, ctune_text *out) {
    for (int i = 0; i < e->n_vectors; i++) {
        const ctune_type_info *info = ctune_type_get(e->vector[i].type);
        int lanes = e->vector[i].lanes;
        ctune_text_line(out, "typedef %s ctune_%sx%d __attribute__((vector_size(%d), unused));",
                        info->c_name, info->name, lanes, lanes * info->bytes);
        ctune_text_line(out,
                        "typedef %s ctune_%sx%du __attribute__((vector_size(%d), aligned(%d), "
                        "may_alias, unused));",
                        info->c_name, info->name, lanes, lanes * info->bytes, info->bytes);
    }
}

static void print_schedule_comment(ctune_emitter *e) {
    ctune_text nest;
    ctune_text_init(&nest);
    ctune_nest_print(e->nest, &nest);
    const char *p = ctune_text_get(&nest);
    ctune_text_line(e->out, "/* ctune: loops after scheduling");
    while (*p != '\0') {
        size_t n = strcspn(p, "\n");
        ctune_text_line(e->out, " *   %.*s", (int)n, p);
        p += n + (p[n] == '\n');
    }
    ctune_text_line(e->out, " */");
    ctune_text_clear(&nest);
}

/* The parallel loop's body must begin with the thread's own buffers. */
static void insert_thread_buffers(ctune_emitter *e, ctune_text *body) {
    const char *marker = "#pragma omp parallel for";
    bool any = false;
    for (int i = 0; i < e->loops->n_buffers; i++) {
        any |= e->loops->buffer[i].is_per_thread;
    }
    if (!any || !e->loops->is_parallel) {
        return;
    }
    ctune_text with;
    ctune_text_init(&with);
    const char *p = ctune_text_get(body);
    int pending = 0;
    while (*p != '\0') {
        size_t n = strcspn(p, "\n");
        const char *at = strstr(p, marker);
        if (at != NULL && at < p + n) {
            const char *collapse = strstr(at, "collapse(");
            pending = collapse != NULL && collapse < p + n ? collapse[9] - '0' : 1;
        }
        ctune_text_append_n(&with, p, n + (p[n] == '\n'));
        if (pending > 0 && strstr(p, "for (long ") != NULL && strstr(p, "for (long ") < p + n &&
            --pending == 0) {
            size_t indent = strspn(p, " ") / 4 + 1;
            with.indent = (int)indent;
            print_thread_buffers(e, &with);
            with.indent = 0;
        }
        p += n + (p[n] == '\n');
    }
    int indent = body->indent;
    ctune_text_clear(body);
    *body = with;
    body->indent = indent;
}

/* Everything between the outer braces: returns the condition and body, and whether memory is
 * needed. */
static ctune_status print_body(ctune_emitter *e, const char *on_fail) {
    ctune_text *out = e->out;
    if (e->options->comments) {
        print_schedule_comment(e);
    }
    print_params(e);
    if (e->standalone) {
        print_tensors(e);
    }
    const char *guard = emit_guard(e);
    bool has_memory = e->loops->n_buffers > 0;
    ctune_status status = emit_node(e, e->loops->setup);
    const char *total = has_memory ? print_sizes(e) : NULL;
    if (has_memory) {
        ctune_text_line(out, "char *const ctune_mem = %s%s%s(char *)ctune_alloc(%s)%s;",
                        guard[0] != '\0' ? "(" : "", guard, guard[0] != '\0' ? ") ? " : "", total,
                        guard[0] != '\0' ? " : 0" : "");
        ctune_text_line(out, "if (ctune_mem != 0) {");
    } else {
        ctune_text_line(out, "if (%s) {", guard[0] != '\0' ? guard : "1");
    }
    out->indent++;
    ctune_text body;
    ctune_text_init(&body);
    body.indent = out->indent;
    e->out = &body;
    print_scalars(e);
    print_buffers(e);
    if (status == CTUNE_OK) {
        status = emit_node(e, e->loops->root);
    }
    insert_thread_buffers(e, &body);
    e->out = out;
    print_typedefs(e, out);
    ctune_text_append(out, ctune_text_get(&body));
    ctune_text_clear(&body);
    if (!e->standalone && e->region->epilogue != NULL) {
        ctune_text_line(out, "%s", e->region->epilogue);
    }
    if (has_memory) {
        ctune_text_line(out, "ctune_free(ctune_mem);");
    }
    out->indent--;
    ctune_text_line(out, "} else {");
    ctune_text_append(out, on_fail);
    ctune_text_line(out, "}");
    return status;
}

static ctune_status run(ctune_ctx *ctx, const ctune_nest *nest, const ctune_emit_options *options,
                        const char *name, const char *original, ctune_text *out) {
    ctune_lower_options lower = {.vector_bytes = options->vector_bytes,
                                 .openmp = options->openmp && !nest->region->serial};
    ctune_loops *loops;
    ctune_status status = ctune_loops_create(ctx, nest, &lower, &loops);
    if (status != CTUNE_OK) {
        return status;
    }
    ctune_arena *arena = ctune_arena_create(ctx);
    ctune_text text;
    ctune_text_init(&text);
    ctune_emitter e = {.ctx = ctx,
                       .arena = arena,
                       .region = nest->region,
                       .tree = nest->form->tree,
                       .nest = nest,
                       .loops = loops,
                       .options = options,
                       .standalone = name != NULL,
                       .rounds = options->round_products || nest->form->round_products,
                       .out = &text};
    if (name != NULL) {
        ctune_text_line(&text, "static int %s(const ctune_args *ctune_a) {", name);
    } else {
        ctune_text_line(&text, "{");
    }
    text.indent++;
    status = print_body(&e, name != NULL ? "        return 1;\n"
                                         : ctune_arena_printf(arena,
                                                              "/* ctune:original begin */\n%s\n"
                                                              "/* ctune:original end */\n",
                                                              original));
    if (name != NULL) {
        ctune_text_line(&text, "return 0;");
    }
    text.indent--;
    ctune_text_line(&text, "}");
    if (status == CTUNE_OK && (text.failed || ctune_arena_has_failed(arena))) {
        status = ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    if (status == CTUNE_OK) {
        ctune_text_append(out, ctune_text_get(&text));
    }
    ctune_text_clear(&text);
    ctune_arena_destroy(arena);
    ctune_loops_destroy(loops);
    return status;
}

ctune_status ctune_emit_region(ctune_ctx *ctx, const ctune_nest *nest,
                               const ctune_emit_options *options, const char *original,
                               ctune_text *out) {
    return run(ctx, nest, options, NULL, original, out);
}

ctune_status ctune_emit_candidate(ctune_ctx *ctx, const ctune_nest *nest,
                                  const ctune_emit_options *options, const char *name,
                                  ctune_text *out) {
    return run(ctx, nest, options, name, NULL, out);
}
