/*
 * The kernel of a launch, in CUDA C and in OpenCL C.
 *
 * In: a LAUNCH. Out: one function in each language: pointers to all arrays of the region, then what
 * the code uses of parameters and of the host's variables. All identifiers begin with t, which no
 * word of either language does with what follows it here. A grid that is smaller than the number of
 * blocks, which devices limit, is walked in strides.
 */
#include "search/emit/emit_private.h"

#include <string.h>

/* ---- identifiers ----------------------------------------------------------------------------- */

const char *emit_var(ctune_emitter *e, int var) {
    const char *name = e->loops->var[var].name;
    if (e->api == NULL) {
        return name;
    }
    e->is_kernel_var[var] = true;
    name = ctune_arena_printf(e->arena, "t_%s", name);
    return name == NULL ? "" : name;
}

const char *emit_buffer(ctune_emitter *e, int buffer) {
    const char *name = e->loops->buffer[buffer].name;
    name = e->api == NULL ? name : ctune_arena_printf(e->arena, "t_%s", name);
    return name == NULL ? "" : name;
}

const char *emit_param(ctune_emitter *e, int param) {
    if (e->api == NULL) {
        e->is_param_used[param] = true;
        return e->param[param];
    }
    e->is_kernel_param[param] = true;
    const char *name = ctune_arena_printf(e->arena, "t_%s", e->param[param]);
    return name == NULL ? "" : name;
}

/* The letters of a name that any language takes. */
static const char *clean(ctune_emitter *e, const char *name) {
    char *out = ctune_arena_strdup(e->arena, name);
    for (char *p = out; p != NULL && *p != '\0'; p++) {
        bool is_plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                        (*p >= '0' && *p <= '9') || *p == '_';
        *p = is_plain ? *p : '_';
    }
    return out == NULL ? "" : out;
}

const char *emit_gpu_array(ctune_emitter *e, int i_array) {
    const emit_array *a = &e->array[i_array];
    const char *name =
        clean(e, a->is_buffer ? e->loops->buffer[a->id].name : e->region->tensors[a->id].name);
    name = ctune_arena_printf(e->arena, "t%d_%s", i_array, name);
    return name == NULL ? "" : name;
}

int emit_gpu_find(const ctune_emitter *e, const ctune_place *place) {
    for (int i = 0; e->api != NULL && i < e->n_arrays; i++) {
        if (e->array[i].is_buffer == place->is_buffer && e->array[i].id == place->id) {
            return i;
        }
    }
    return -1;
}

bool emit_is_nonneg(const ctune_emitter *e, const ctune_aff *aff) {
    bool is_nonneg = aff->c0 >= 0;
    for (int t = 0; t < aff->n_terms && is_nonneg; t++) {
        is_nonneg = aff->terms[t].kind == CTUNE_TERM_AXIS && aff->terms[t].coef > 0 &&
                    e->is_nonneg[aff->terms[t].id];
    }
    return is_nonneg;
}

/* ---- the launch's loops ---------------------------------------------------------------------- */

static const ctune_lnode *loop_of(const ctune_lnode *launch, ctune_lann ann) {
    for (const ctune_lnode *node = launch->first; node != NULL;) {
        if (node->kind == CTUNE_L_FOR && node->ann == ann) {
            return node;
        }
        bool is_bound = node->kind == CTUNE_L_FOR &&
                        (ctune_lann_is_block(node->ann) || ctune_lann_is_thread(node->ann));
        node = is_bound ? node->first : node->next;
    }
    return NULL;
}

int64_t emit_gpu_threads(const ctune_lnode *launch, int axis) {
    const ctune_lnode *loop = loop_of(launch, CTUNE_LANN_THREAD_X + axis);
    return loop == NULL ? 1 : loop->hi->c0;
}

const ctune_aff *emit_gpu_blocks(const ctune_lnode *launch, int axis) {
    const ctune_lnode *loop = loop_of(launch, CTUNE_LANN_BLOCK_X + axis);
    return loop == NULL ? NULL : loop->hi;
}

void emit_gpu_barrier(ctune_emitter *e) {
    if (e->api != NULL) {
        ctune_text_line(e->out, "%s", e->api->barrier);
    } else {
        ctune_loops_fail(e->loops, CTUNE_EBUG, "emit: a barrier of the host");
    }
}

static void mark_inner(ctune_emitter *e, const ctune_lnode *node) {
    for (; node != NULL; node = node->next) {
        if (node->kind == CTUNE_L_FOR || node->kind == CTUNE_L_LET || node->kind == CTUNE_L_DEF) {
            e->is_inner[node->var] = true;
        }
        mark_inner(e, node->first);
        mark_inner(e, node->other);
    }
}

/* Does a block use shared memory again for the next of its strides? */
static bool has_shared(const ctune_emitter *e, const ctune_lnode *launch) {
    bool found = launch->kind == CTUNE_L_DECL &&
                 e->loops->buffer[launch->buffer].scope == CTUNE_SCOPE_SHARED;
    for (const ctune_lnode *kid = launch->first; kid != NULL && !found; kid = kid->next) {
        found = has_shared(e, kid);
    }
    return found;
}

/* What stands at the head of the function, as OpenCL wants it. */
static void print_shared(ctune_emitter *e, const ctune_lnode *node) {
    for (; node != NULL; node = node->next) {
        if (node->kind == CTUNE_L_DECL &&
            e->loops->buffer[node->buffer].scope == CTUNE_SCOPE_SHARED &&
            e->is_buffer_used[node->buffer]) {
            const ctune_lbuffer *b = &e->loops->buffer[node->buffer];
            ctune_text line;
            ctune_text_init(&line);
            for (int d = 0; d < b->rank; d++) {
                ctune_text_printf(&line, "[%lld]", (long long)b->extent[d]->c0);
            }
            ctune_text_line(e->out, "%s%s %s%s;", e->api->shared, emit_type(e, b->type, 1),
                            emit_buffer(e, node->buffer), ctune_text_get(&line));
            ctune_text_clear(&line);
        }
        print_shared(e, node->first);
    }
}

static void print_threads(ctune_emitter *e, const ctune_lnode *node) {
    while (node->kind == CTUNE_L_FOR && ctune_lann_is_thread(node->ann)) {
        e->is_nonneg[node->var] = true;
        if (e->is_var_used[node->var]) {
            ctune_text_line(e->out, "const %s %s = %s;", e->api->index, emit_var(e, node->var),
                            e->api->thread[node->ann - CTUNE_LANN_THREAD_X]);
        }
        if (node->first == NULL || node->first->kind != CTUNE_L_FOR ||
            !ctune_lann_is_thread(node->first->ann)) {
            emit_kids(e, node->first);
            return;
        }
        node = node->first;
    }
}

static void print_blocks(ctune_emitter *e, const ctune_lnode *node, bool is_shared) {
    for (; node != NULL && (node->kind != CTUNE_L_FOR || !ctune_lann_is_block(node->ann));
         node = node->next) {
        if (node->kind == CTUNE_L_FOR) {
            print_threads(e, node);
            return;
        }
    }
    if (node == NULL) {
        return;
    }
    int axis = (int)node->ann - CTUNE_LANN_BLOCK_X;
    const char *name = emit_var(e, node->var);
    e->is_nonneg[node->var] = true;
    ctune_text line, *out = e->out;
    ctune_text_init(&line);
    e->out = &line;
    emit_index(e, node->hi, CTUNE_LEVEL_ANY);
    e->out = out;
    ctune_text_line(out, "for (%s %s = %s; %s < %s; %s += %s) {", e->api->index, name,
                    e->api->block[axis], name, ctune_text_get(&line), name, e->api->blocks[axis]);
    ctune_text_clear(&line);
    out->indent++;
    print_blocks(e, node->first, is_shared);
    if (is_shared) {
        ctune_text_line(out, "%s", e->api->barrier);
    }
    out->indent--;
    ctune_text_line(out, "}");
}

/* ---- the function ---------------------------------------------------------------------------- */

static void print_helpers(ctune_emitter *e, const char *body, ctune_text *out) {
    static const char *const rows[][2] = {
        {"ctune_min", "x < y ? x : y"},
        {"ctune_max", "x > y ? x : y"},
        {"ctune_floordiv", "x >= 0 ? x / y : -((y - 1 - x) / y)"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *call = ctune_arena_printf(e->arena, "%s(", rows[i][0]);
        if (call != NULL && strstr(body, call) != NULL &&
            strstr(ctune_text_get(out), call) == NULL) {
            ctune_text_printf(out, "%s%s %s(%s x, %s y) { return %s; }\n", e->api->function,
                              e->api->index, rows[i][0], e->api->index, e->api->index, rows[i][1]);
        }
    }
}

static void print_bounds(ctune_emitter *e, const ctune_lnode *launch, ctune_text *out) {
    int64_t n[3] = {emit_gpu_threads(launch, 0), emit_gpu_threads(launch, 1),
                    emit_gpu_threads(launch, 2)};
    if (e->api == &emit_api_opencl) {
        ctune_text_printf(out, "__attribute__((reqd_work_group_size(%lld, %lld, %lld)))\n",
                          (long long)n[0], (long long)n[1], (long long)n[2]);
        ctune_text_append(out, e->api->kernel);
    } else {
        ctune_text_printf(out, "%s__launch_bounds__(%lld) ", e->api->kernel,
                          (long long)(n[0] * n[1] * n[2]));
    }
}

static void print_parameters(ctune_emitter *e, ctune_text *out) {
    const char *comma = "";
    for (int i = 0; i < e->n_arrays; i++, comma = ", ") {
        const emit_array *a = &e->array[i];
        ctune_type type =
            a->is_buffer ? e->loops->buffer[a->id].type : e->region->tensors[a->id].type;
        ctune_text_printf(out, "%s%s%s%s%s%s", comma, e->api->global, a->is_written ? "" : "const ",
                          emit_type(e, type, 1), e->api->restricted, emit_gpu_array(e, i));
    }
    for (int i = 0; i < e->region->n_params; i++) {
        if (e->is_kernel_param[i]) {
            ctune_text_printf(out, "%s%s %s", comma, e->api->index, emit_param(e, i));
            comma = ", ";
        }
    }
    for (int i = 0; i < e->loops->n_vars; i++) {
        const ctune_lvar *var = &e->loops->var[i];
        if (e->is_kernel_var[i] && !e->is_inner[i]) {
            ctune_text_printf(out, "%s%s %s", comma,
                              var->is_index ? e->api->index : emit_type(e, var->type, 1),
                              emit_var(e, i));
            comma = ", ";
        }
    }
    for (int i = 0; i < e->n_arrays; i++) {
        if (e->is_kernel_first[i]) {
            ctune_text_printf(out, "%s%s %s_first", comma, e->api->index, emit_gpu_array(e, i));
            comma = ", ";
        }
    }
}

static void print_kernel(ctune_emitter *e, const ctune_lnode *launch, const char *name,
                         ctune_text *out) {
    ctune_text body, *saved = e->out;
    ctune_text_init(&body);
    body.indent = 1;
    e->out = &body;
    print_shared(e, launch->first);
    print_blocks(e, launch->first, has_shared(e, launch));
    e->out = saved;
    print_helpers(e, ctune_text_get(&body), out);
    print_bounds(e, launch, out);
    ctune_text_printf(out, "%s(", name);
    print_parameters(e, out);
    ctune_text_printf(out, ")\n{\n%s}\n", ctune_text_get(&body));
    out->failed |= body.failed;
    ctune_text_clear(&body);
}

void emit_gpu_kernel(ctune_emitter *e, const ctune_lnode *launch, const char *name) {
    static const emit_api *const apis[EMIT_N_APIS] = {&emit_api_cuda, &emit_api_opencl};
    size_t n_vars = (size_t)e->loops->n_vars;
    memset(e->is_inner, 0, n_vars);
    memset(e->is_kernel_var, 0, n_vars);
    memset(e->is_kernel_param, 0, (size_t)e->region->n_params);
    memset(e->is_kernel_first, 0, (size_t)e->n_arrays);
    mark_inner(e, launch->first);
    for (int i = 0; i < EMIT_N_APIS; i++) {
        e->api = apis[i];
        print_kernel(e, launch, name, &e->kernels[i]);
    }
    e->api = NULL;
}
