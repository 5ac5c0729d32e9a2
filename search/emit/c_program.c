/*
 * The frame around a program: parameters, tensors, sizes of scratch memory, the guard, one
 * allocation, and what happens when either says no.
 *
 * Both forms have the same shape. The guard is asked first, then memory; the tuned code comes in
 * one block, the original (or `return 1`) in the other. What the block uses is known after it was
 * printed: the head declares only that.
 */
#include "search/emit/emit_private.h"

#include <string.h>

static bool is_heap(const ctune_lbuffer *b) {
    return b->scope == CTUNE_SCOPE_PROGRAM || b->scope == CTUNE_SCOPE_THREAD;
}

static bool has_memory(const ctune_emitter *e) {
    bool any = false;
    for (int i = 0; i < e->loops->n_buffers; i++) {
        any |= e->is_buffer_used[i] && is_heap(&e->loops->buffer[i]);
    }
    return any;
}

/* First node that is no setup. */
static const ctune_lnode *skip_setup(const ctune_emitter *e) {
    const ctune_lnode *node = e->loops->root->first;
    while (node != NULL && (node->kind == CTUNE_L_LET ||
                            (node->kind == CTUNE_L_DECL &&
                             e->loops->buffer[node->buffer].scope == CTUNE_SCOPE_PROGRAM))) {
        node = node->next;
    }
    return node;
}

/* ---- the head -------------------------------------------------------------------------------- */

static void print_params(ctune_emitter *e) {
    for (int i = 0; i < e->region->n_params; i++) {
        if (!e->is_param_used[i]) {
            continue;
        }
        if (e->is_standalone) {
            ctune_text_line(e->out, "const long %s = %s->params[%d];", e->param[i], e->args, i);
        } else {
            ctune_text_line(e->out, "const long %s = (long)(%s);", e->param[i],
                            e->region->params[i].c_text);
        }
    }
}

/* A pointer through which A[i][j] works. */
static void print_tensor(ctune_emitter *e, int i) {
    const ctune_tensor *t = &e->region->tensors[i];
    const char *type = emit_type(e, t->type, 1);
    int pad = t->elem_stride_bytes - ctune_type_get(t->type)->bytes;
    if (pad != 0 && t->rank > 0) {
        ctune_text_line(e->out, "typedef struct { %s v; char pad[%d]; } ctune_elem_%d;", type, pad,
                        i);
        type = ctune_arena_printf(e->arena, "ctune_elem_%d", i);
    }
    bool is_linear = t->rank < 2 || strstr(t->pattern, "$L") != NULL;
    ctune_text dims, *out = e->out;
    ctune_text_init(&dims);
    e->out = &dims;
    for (int d = 1; d < t->rank && !is_linear; d++) {
        ctune_text_append(&dims, "[");
        emit_index(e, ctune_loops_import(e->loops, t->extent[d], NULL), CTUNE_LEVEL_ANY);
        ctune_text_append(&dims, "]");
    }
    e->out = out;
    const char *c90 = e->options->target->is_c90 ? "__extension__ " : "";
    if (is_linear) {
        ctune_text_line(out, "%s *const %s = (%s *)%s->tensors[%d];", type, e->tensor[i], type,
                        e->args, i);
    } else {
        ctune_text_line(out, "%s%s (*const %s)%s = (%s (*)%s)%s->tensors[%d];", c90, type,
                        e->tensor[i], ctune_text_get(&dims), type, ctune_text_get(&dims), e->args,
                        i);
    }
    ctune_text_clear(&dims);
}

static void print_setup(ctune_emitter *e) {
    const ctune_lnode *end = skip_setup(e);
    for (const ctune_lnode *node = e->loops->root->first; node != end; node = node->next) {
        if (node->kind == CTUNE_L_LET) {
            emit_setup(e, node);
        }
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Sizes are multiples of 64 with a cache line between neighbours. Returns the sum as text. */
static const char *print_sizes(ctune_emitter *e) {
    const char *total = NULL;
    for (int i = 0; i < e->loops->n_buffers; i++) {
        const ctune_lbuffer *b = &e->loops->buffer[i];
        if (!e->is_buffer_used[i] || !is_heap(b)) {
            continue;
        }
        ctune_text bytes, *out = e->out;
        ctune_text_init(&bytes);
        e->out = &bytes;
        emit_buffer_bytes(e, b);
        e->out = out;
        ctune_text_line(out, "const ctune_size %s = (%s + 127) & ~(ctune_size)63;", e->bytes[i],
                        ctune_text_get(&bytes));
        ctune_text_clear(&bytes);
        const char *one = b->scope == CTUNE_SCOPE_THREAD
                              ? ctune_arena_printf(e->arena, "%s * ctune_threads()", e->bytes[i])
                              : e->bytes[i];
        total = total == NULL ? one : ctune_arena_printf(e->arena, "%s + %s", total, one);
    }
    return total;
}

static void print_pointers(ctune_emitter *e) {
    const char *place = e->memory;
    for (int i = 0; i < e->loops->n_buffers; i++) {
        const ctune_lbuffer *b = &e->loops->buffer[i];
        if (!e->is_buffer_used[i] || !is_heap(b)) {
            continue;
        }
        const char *type = emit_type(e, b->type, 1);
        if (b->scope == CTUNE_SCOPE_THREAD) {
            ctune_text_line(e->out, "char *const %s = %s;", e->base[i], place);
            place = ctune_arena_printf(e->arena, "%s + %s * ctune_threads()", place, e->bytes[i]);
        } else {
            bool is_sum = place != e->memory;
            ctune_text_line(e->out, "%s *const %s = (%s *)(void *)%s%s%s;", type, b->name, type,
                            is_sum ? "(" : "", place, is_sum ? ")" : "");
            place = ctune_arena_printf(e->arena, "%s + %s", place, e->bytes[i]);
        }
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void print_epilogue(ctune_emitter *e, bool is_wanted, ctune_text *out) {
    if (is_wanted && !e->is_standalone && e->region->epilogue != NULL) {
        ctune_text_line(out, "%s", e->region->epilogue);
    }
}

/* What stands in the block of the tuned code. */
static void print_tuned(ctune_emitter *e, ctune_text *block) {
    ctune_text body;
    ctune_text_init(&body);
    body.indent = block->indent;
    e->out = &body;
    body.indent += e->has_launch;
    if (!e->has_launch) {
        print_pointers(e);
    }
    emit_kids(e, skip_setup(e));
    e->out = block;
    if (e->has_launch) {
        print_pointers(e);
        emit_gpu_block(e, ctune_text_get(&body));
        ctune_text_clear(&body);
    }
    for (int i = 0; i < e->n_vectors; i++) {
        emit_vector_typedef(block, e->vector[i].type, e->vector[i].lanes);
    }
    emit_function_decls(e, block);
    ctune_text_append(block, ctune_text_get(&body));
    if (e->n_streams > 0) {
        ctune_text_line(block, "CTUNE_STREAM_END;");
    }
    block->failed |= body.failed;
    ctune_text_clear(&body);
    if (e->is_wide) {
        ctune_text_line(block, "CTUNE_WIDE;");
    }
    print_epilogue(e, !e->has_launch, block);
    if (has_memory(e)) {
        ctune_text_line(block, "ctune_free(%s);", e->memory);
    }
}

static void print_condition(ctune_emitter *e, const char *guard) {
    ctune_text *out = e->out;
    bool is_guarded = guard[0] != '\0';
    if (!has_memory(e)) {
        ctune_text_line(out, "if (%s) {", is_guarded ? guard : "CTUNE_ALWAYS");
        return;
    }
    const char *total = print_sizes(e);
    if (is_guarded) {
        ctune_text_line(out, "char *const %s = (%s) ? (char *)ctune_alloc(%s) : 0;", e->memory,
                        guard, total);
    } else {
        ctune_text_line(out, "char *const %s = (char *)ctune_alloc(%s);", e->memory, total);
    }
    ctune_text_line(out, "if (%s != 0) {", e->memory);
}

static void print_head(ctune_emitter *e) {
    print_params(e);
    for (int i = 0; e->is_standalone && i < e->region->n_tensors; i++) {
        if (e->is_tensor_used[i]) {
            print_tensor(e, i);
        }
    }
}

static void print_function_head(ctune_emitter *e, const char *name) {
    bool is_used = false;
    for (int i = 0; i < e->region->n_params; i++) {
        is_used |= e->is_param_used[i];
    }
    for (int i = 0; i < e->region->n_tensors; i++) {
        is_used |= e->is_tensor_used[i];
    }
    ctune_text_line(e->out, "static int %s(const ctune_args *%s%s) {", name, e->args,
                    is_used ? "" : " __attribute__((__unused__))");
}

static void print_all(ctune_emitter *e, const ctune_form *form, const char *name,
                      const char *original) {
    ctune_text *out = e->out;
    ctune_text part[5]; /* head, setup, condition, block, guard */
    for (int i = 0; i < 5; i++) {
        ctune_text_init(&part[i]);
        part[i].indent = i == 3 ? 2 : 1;
    }
    /* the last first: what comes before declares what comes after */
    print_tuned(e, &part[3]);
    e->out = &part[4];
    emit_guard(e, form);
    if (e->has_launch) {
        emit_gpu_guard(e);
    }
    e->out = &part[2];
    print_condition(e, ctune_text_get(&part[4]));
    e->out = &part[1];
    print_setup(e);
    /* extents of tensors use parameters, too */
    for (int pass = 0; pass < 2; pass++) {
        ctune_text_clear(&part[0]);
        part[0].indent = 1;
        e->out = &part[0];
        print_head(e);
    }
    e->out = out;
    if (name != NULL) {
        print_function_head(e, name);
    } else {
        ctune_text_line(out, "{");
    }
    for (int i = 0; i < 4; i++) {
        if (i == 2 && e->has_launch) {
            ctune_text_printf(out, "    int %s = 0;\n", e->done);
        }
        ctune_text_append(out, ctune_text_get(&part[i]));
    }
    if (e->has_launch) {
        ctune_text_printf(out, "    }\n    if (%s) {\n", e->done);
        out->indent += 2;
        print_epilogue(e, true, out);
        out->indent -= 2;
    }
    for (int i = 0; i < 5; i++) {
        out->failed |= part[i].failed;
        ctune_text_clear(&part[i]);
    }
    ctune_text_append(out, "    } else {\n");
    if (name != NULL) {
        ctune_text_append(out, "        return 1;\n    }\n    return 0;\n}\n");
    } else {
        ctune_text_printf(
            out, "/* ctune:original begin */\n%s\n/* ctune:original end */\n    }\n}\n", original);
    }
}

ctune_status ctune_emit_program(ctune_ctx *ctx, ctune_loops *loops, const ctune_form *form,
                                const ctune_emit_options *options, const char *name,
                                const char *original, ctune_text *out) {
    ctune_text text;
    ctune_text_init(&text);
    ctune_emitter e = {.ctx = ctx,
                       .arena = ctune_arena_create(ctx),
                       .loops = loops,
                       .region = loops->region,
                       .options = options,
                       .is_standalone = name != NULL,
                       .out = &text};
    ctune_status status =
        e.arena == NULL ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory") : emit_scan(&e);
    if (status == CTUNE_OK) {
        status = emit_names(&e, original);
    }
    if (status == CTUNE_OK) {
        status = emit_gpu_arrays(&e);
    }
    ctune_text kernels[EMIT_N_APIS];
    for (int i = 0; i < EMIT_N_APIS; i++) {
        ctune_text_init(&kernels[i]);
    }
    e.kernels = kernels;
    if (status == CTUNE_OK) {
        print_all(&e, form, name, original);
        bool is_full = text.failed || ctune_arena_has_failed(e.arena);
        status =
            is_full ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory") : ctune_loops_status(loops);
    }
    if (status == CTUNE_OK) {
        ctune_text_append(out, ctune_text_get(&text));
    }
    for (int i = 0; i < EMIT_N_APIS; i++) {
        ctune_text_clear(&kernels[i]);
    }
    ctune_text_clear(&text);
    ctune_arena_destroy(e.arena);
    return status;
}
