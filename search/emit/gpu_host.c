/*
 * The host's side of launches, in plain C: what memory they touch, one call for each, and what
 * happens when there is no GPU.
 *
 * In: a program with launches. Out: the region's kernels as strings; a table of arrays, each the
 * range that the region's accesses touch (rows of it, for two indices); begin, launches, end. When
 * end says no, nothing was written, and the frame goes on with the original. The functions are weak
 * (runtime/gpu/ctune_gpu.h): a program without the library is one without a GPU.
 */
#include "search/emit/emit_private.h"
#include "search/lower/touched.h"

#include <string.h>

/* ---- which arrays ---------------------------------------------------------------------------- */

static void note_array(ctune_emitter *e, const ctune_place *place, bool is_write) {
    if (place->is_buffer && e->loops->buffer[place->id].scope != CTUNE_SCOPE_PROGRAM) {
        return;
    }
    int i = 0;
    while (i < e->n_arrays &&
           (e->array[i].is_buffer != place->is_buffer || e->array[i].id != place->id)) {
        i++;
    }
    if (i == e->n_arrays) {
        e->array[e->n_arrays++] = (emit_array){.is_buffer = place->is_buffer, .id = place->id};
    }
    e->array[i].is_written |= is_write;
}

static void note_aff(ctune_emitter *e, const ctune_aff *aff) {
    for (int t = 0; aff != NULL && t < aff->n_terms; t++) {
        if (aff->terms[t].kind != CTUNE_TERM_DIV) {
            continue;
        }
        const ctune_atom *atom = &e->loops->atom[aff->terms[t].id];
        note_aff(e, atom->a);
        note_aff(e, atom->b);
        if (atom->place != NULL) {
            note_array(e, atom->place, false);
            for (int d = 0; d < atom->place->n_idx; d++) {
                note_aff(e, atom->place->idx[d]);
            }
        }
    }
}

static void note_place(ctune_emitter *e, const ctune_place *place, bool is_write) {
    note_array(e, place, is_write);
    for (int d = 0; d < place->n_idx; d++) {
        note_aff(e, place->idx[d]);
    }
}

static void note_value(ctune_emitter *e, const ctune_value *v) {
    if (v == NULL) {
        return;
    }
    note_aff(e, v->index);
    if (v->op == CTUNE_V_LOAD) {
        note_place(e, &v->place, false);
    }
    for (int i = 0; i < v->n_kids; i++) {
        note_value(e, v->kids[i]);
    }
}

static void note_nodes(ctune_emitter *e, const ctune_lnode *node, bool in_launch) {
    for (; node != NULL; node = node->next) {
        if (in_launch) {
            note_aff(e, node->lo);
            note_aff(e, node->hi);
            for (int i = 0; i < node->n_conds; i++) {
                note_aff(e, node->conds[i]);
            }
            note_value(e, node->test);
            note_value(e, node->value);
            if (node->kind == CTUNE_L_STORE) {
                note_place(e, &node->place, true);
            }
        }
        note_nodes(e, node->first, in_launch || node->kind == CTUNE_L_LAUNCH);
        note_nodes(e, node->other, in_launch);
    }
}

/* ---- their ranges ---------------------------------------------------------------------------- */

typedef struct range {
    const ctune_aff *lo[CTUNE_MAX_RANK], *hi[CTUNE_MAX_RANK]; /* inclusive; NULL: nothing yet */
    bool is_known;
} range;

/* Is each index of the stage's accesses free of the others: is a corner of the box one of its
 * elements? */
static bool is_box(const ctune_stage *stage) {
    for (int c = 0; c < stage->n_cons; c++) {
        int n = 0;
        for (int t = 0; t < stage->cons[c]->n_terms; t++) {
            n += stage->cons[c]->terms[t].kind != CTUNE_TERM_PARAM;
        }
        if (n > 1) {
            return false;
        }
    }
    return true;
}

static void add_cond(ctune_emitter *e, const ctune_aff *cond) {
    for (int i = 0; i < e->n_gpu_conds; i++) {
        if (cond == NULL || ctune_aff_is_equal(e->gpu_cond[i], cond)) {
            return;
        }
    }
    if (cond == NULL || (cond->n_terms == 0 && cond->c0 >= 0)) {
        return;
    }
    if (e->n_gpu_conds == e->cap_gpu_conds) {
        int cap = e->cap_gpu_conds * 2 + 16;
        const ctune_aff **more = CTUNE_NEW_ARRAY(e->arena, const ctune_aff *, cap);
        if (more == NULL) {
            return;
        }
        for (int i = 0; i < e->n_gpu_conds; i++) {
            more[i] = e->gpu_cond[i];
        }
        e->gpu_cond = more;
        e->cap_gpu_conds = cap;
    }
    e->gpu_cond[e->n_gpu_conds++] = cond;
}

static void join_access(ctune_emitter *e, const ctune_stage *stage, const ctune_access *a,
                        const ctune_expr *read, range *r) {
    const ctune_tensor *t = &e->region->tensors[a->tensor];
    ctune_loops *l = e->loops;
    bool is_linear = a->n_idx > 1 && strstr(t->pattern, "$L") != NULL;
    r->is_known = r->is_known && (!is_linear || is_box(stage));
    for (int d = 0; d < a->n_idx; d++) {
        ctune_touched touched;
        ctune_touched_find(l, stage, a, read, d, &touched);
        for (int i = 0; i < touched.n_rows; i++) {
            add_cond(e, touched.rows[i]);
        }
        r->is_known = r->is_known && touched.lo != NULL && touched.hi != NULL;
        r->lo[d] = r->lo[d] == NULL ? touched.lo : ctune_loops_min(l, r->lo[d], touched.lo);
        r->hi[d] = r->hi[d] == NULL ? touched.hi : ctune_loops_max(l, r->hi[d], touched.hi);
        add_cond(e, ctune_aff_sub(l->arena, touched.hi, touched.lo));
    }
}

/* Over all accesses of the tensor. */
static void find_range(ctune_emitter *e, int tensor, range *r) {
    *r = (range){.is_known = true};
    for (int s = 0; s < e->region->n_stages; s++) {
        const ctune_stage *stage = &e->region->stages[s];
        for (int k = -1; k < stage->n_reads; k++) {
            const ctune_access *a = k < 0 ? &stage->target : &stage->reads[k]->access;
            if (a->tensor == tensor) {
                join_access(e, stage, a, k < 0 ? NULL : stage->reads[k], r);
            }
        }
        for (int i = 0; i < e->region->n_divs; i++) {
            const ctune_access *load = e->region->divs[i].load;
            if (load != NULL && load->tensor == tensor &&
                ctune_stage_is_inside(e->region, stage, i)) {
                join_access(e, stage, load, NULL, r);
            }
        }
    }
}

static ctune_status find_array(ctune_emitter *e, emit_array *a) {
    const ctune_tensor *t = &e->region->tensors[a->id];
    ctune_loops *l = e->loops;
    range r;
    find_range(e, a->id, &r);
    if (!r.is_known || t->elem_stride_bytes != ctune_type_get(t->type)->bytes) {
        return ctune_fail(e->ctx, CTUNE_EREFUSED, "the part of '%s' that a GPU needs is not known",
                          t->name);
    }
    ctune_place first = {.id = a->id, .n_idx = t->rank}, last = first;
    for (int d = 0; d < t->rank; d++) {
        first.idx[d] = r.lo[d];
        last.idx[d] = r.hi[d];
        a->span[d] = ctune_aff_add_const(l->arena, ctune_aff_sub(l->arena, r.hi[d], r.lo[d]), 1);
    }
    a->first = ctune_loops_linear(l, &first);
    a->count = ctune_aff_add_const(
        l->arena, ctune_aff_sub(l->arena, ctune_loops_linear(l, &last), a->first), 1);
    if (t->rank == 2) {
        a->rows = a->span[0];
        a->row_count = a->span[1];
        a->pitch = ctune_loops_import(l, t->extent[1], NULL);
    }
    return a->first == NULL || a->count == NULL
               ? ctune_fail(e->ctx, CTUNE_EREFUSED, "the part of '%s' that a GPU needs has no form",
                            t->name)
               : CTUNE_OK;
}

ctune_status emit_gpu_arrays(ctune_emitter *e) {
    const ctune_loops *l = e->loops;
    size_t n_arrays = (size_t)e->region->n_tensors + (size_t)l->n_buffers + 1;
    e->has_launch = ctune_loops_has_launch(l);
    if (!e->has_launch) {
        return CTUNE_OK;
    }
    e->array = CTUNE_NEW_ARRAY(e->arena, emit_array, n_arrays);
    e->is_kernel_first = CTUNE_NEW_ARRAY(e->arena, bool, n_arrays);
    e->is_inner = CTUNE_NEW_ARRAY(e->arena, bool, l->n_vars + 1);
    e->is_nonneg = CTUNE_NEW_ARRAY(e->arena, bool, l->n_vars + 1);
    e->is_kernel_var = CTUNE_NEW_ARRAY(e->arena, bool, l->n_vars + 1);
    e->is_kernel_param = CTUNE_NEW_ARRAY(e->arena, bool, e->region->n_params + 1);
    if (ctune_arena_has_failed(e->arena)) {
        return ctune_fail(e->ctx, CTUNE_ENOMEM, "out of memory");
    }
    note_nodes(e, l->root, false);
    for (int i = 0; i < e->n_arrays; i++) {
        ctune_status status = e->array[i].is_buffer ? CTUNE_OK : find_array(e, &e->array[i]);
        if (status != CTUNE_OK) {
            return status;
        }
    }
    return CTUNE_OK;
}

void emit_gpu_guard(ctune_emitter *e) {
    for (int i = 0; i < e->n_gpu_conds; i++) {
        ctune_text_append(e->out, e->out->len > 0 ? " &&\n        " : "");
        emit_conditions(e, &e->gpu_cond[i], 1);
    }
}

/* ---- a launch -------------------------------------------------------------------------------- */

/* One more value for the kernel: `type name = value;` */
static void print_value(ctune_emitter *e, int *n, const char *type, const char *value) {
    ctune_text_line(e->out, "const %s ctune_gpu_p%d = %s;", type, *n, value);
    (*n)++;
}

static void print_index(ctune_emitter *e, int *n, const ctune_aff *aff) {
    ctune_text line, *out = e->out;
    ctune_text_init(&line);
    e->out = &line;
    emit_index(e, aff, CTUNE_LEVEL_ANY);
    e->out = out;
    print_value(e, n, "ctune_i64", ctune_text_get(&line));
    ctune_text_clear(&line);
}

static int print_values(ctune_emitter *e) {
    int n = 0;
    for (int i = 0; i < e->region->n_params; i++) {
        if (e->is_kernel_param[i]) {
            print_value(e, &n, "ctune_i64", emit_param(e, i));
        }
    }
    for (int i = 0; i < e->loops->n_vars; i++) {
        const ctune_lvar *var = &e->loops->var[i];
        if (e->is_kernel_var[i] && !e->is_inner[i]) {
            print_value(e, &n, var->is_index ? "ctune_i64" : emit_type(e, var->type, 1), var->name);
        }
    }
    for (int i = 0; i < e->n_arrays; i++) {
        if (e->is_kernel_first[i]) {
            print_index(e, &n, e->array[i].first);
        }
    }
    return n;
}

static void print_lists(ctune_emitter *e, int n) {
    ctune_text params, sizes;
    ctune_text_init(&params);
    ctune_text_init(&sizes);
    for (int i = 0; i < n; i++) {
        ctune_text_printf(&params, "%s&ctune_gpu_p%d", i > 0 ? ", " : "", i);
        ctune_text_printf(&sizes, "%ssizeof ctune_gpu_p%d", i > 0 ? ", " : "", i);
    }
    if (n > 0) {
        ctune_text_line(e->out, "const void *const ctune_gpu_ps[%d] = {%s};", n,
                        ctune_text_get(&params));
        ctune_text_line(e->out, "const ctune_size ctune_gpu_ss[%d] = {%s};", n,
                        ctune_text_get(&sizes));
    }
    ctune_text_clear(&params);
    ctune_text_clear(&sizes);
}

void emit_gpu_launch(ctune_emitter *e, const ctune_lnode *launch) {
    const char *name = ctune_arena_printf(e->arena, "ctune_%s_%d", e->region->name, e->n_kernels++);
    if (name == NULL || e->kernels == NULL) {
        return;
    }
    emit_gpu_kernel(e, launch, name);
    ctune_text *out = e->out;
    ctune_text_line(out, "{");
    out->indent++;
    int n = print_values(e);
    print_lists(e, n);
    ctune_text blocks[3];
    for (int a = 0; a < 3; a++) {
        const ctune_aff *count = emit_gpu_blocks(launch, a);
        ctune_text_init(&blocks[a]);
        e->out = &blocks[a];
        if (count == NULL) {
            ctune_text_append(e->out, "1");
        } else {
            emit_index(e, count, CTUNE_LEVEL_ANY);
        }
    }
    e->out = out;
    ctune_text_line(out,
                    "const unsigned ctune_gpu_g[3] = {ctune_gpu_grid(%s, 2147483647L), "
                    "ctune_gpu_grid(%s, 65535L), ctune_gpu_grid(%s, 65535L)};",
                    ctune_text_get(&blocks[0]), ctune_text_get(&blocks[1]),
                    ctune_text_get(&blocks[2]));
    ctune_text_line(out, "const unsigned ctune_gpu_b[3] = {%lld, %lld, %lld};",
                    (long long)emit_gpu_threads(launch, 0), (long long)emit_gpu_threads(launch, 1),
                    (long long)emit_gpu_threads(launch, 2));
    ctune_text_line(out,
                    "if (ctune_gpu_g[0] != 0 && ctune_gpu_g[1] != 0 && ctune_gpu_g[2] != 0) {");
    ctune_text_line(out,
                    "    (void)ctune_gpu_launch(ctune_gpu_run, \"%s\", ctune_gpu_g, "
                    "ctune_gpu_b, 0, %s, %s, %d);",
                    name, n > 0 ? "ctune_gpu_ps" : "0", n > 0 ? "ctune_gpu_ss" : "0", n);
    ctune_text_line(out, "}");
    out->indent--;
    ctune_text_line(out, "}");
    for (int a = 0; a < 3; a++) {
        out->failed |= blocks[a].failed;
        ctune_text_clear(&blocks[a]);
    }
}

/* ---- the block ------------------------------------------------------------------------------- */

/* Lines as strings, one a line. */
static void print_string(ctune_text *out, const char *text) {
    for (const char *p = text; *p != '\0';) {
        size_t n = strcspn(p, "\n");
        ctune_text line;
        ctune_text_init(&line);
        for (size_t i = 0; i < n; i++) {
            bool is_special = p[i] == '"' || p[i] == '\\';
            ctune_text_append(&line, is_special ? "\\" : "");
            ctune_text_append_n(&line, p + i, 1);
        }
        ctune_text_line(out, "    \"%s\\n\"", ctune_text_get(&line));
        out->failed |= line.failed;
        ctune_text_clear(&line);
        p += n + (p[n] == '\n');
    }
}

static void print_kernels(ctune_emitter *e) {
    static const emit_api *const apis[EMIT_N_APIS] = {&emit_api_cuda, &emit_api_opencl};
    unsigned wanted = e->options->gpu != 0  ? e->options->gpu
                      : e->region->gpu != 0 ? e->region->gpu
                                            : CTUNE_GPU_CUDA | CTUNE_GPU_OPENCL;
    for (int i = 0; i < EMIT_N_APIS; i++) {
        if ((wanted >> i & 1) != 0) {
            ctune_text_line(e->out, "static const char ctune_gpu_%s[] =", apis[i]->name);
            print_string(e->out, apis[i]->head);
            print_string(e->out, e->has_f64 ? apis[i]->head_f64 : "");
            print_string(e->out, ctune_text_get(&e->kernels[i]));
            ctune_text_line(e->out, "    ;");
        }
    }
    ctune_text_line(
        e->out, "static const struct ctune_gpu_region ctune_gpu_here = {\"%s\", %s, %s, %du};",
        e->region->name, (wanted & CTUNE_GPU_CUDA) != 0 ? "ctune_gpu_cuda" : "0",
        (wanted & CTUNE_GPU_OPENCL) != 0 ? "ctune_gpu_opencl" : "0", 1 + (e->has_f64 ? 2 : 0));
}

/* "(ctune_size)(index) * sizeof(type)" */
static const char *bytes_of(ctune_emitter *e, const ctune_aff *count, ctune_type type) {
    ctune_text line, *out = e->out;
    ctune_text_init(&line);
    e->out = &line;
    ctune_text_append(&line, "(ctune_size)(");
    emit_index(e, count, CTUNE_LEVEL_ANY);
    ctune_text_printf(&line, ") * %d", ctune_type_get(type)->bytes);
    e->out = out;
    const char *copy = ctune_arena_strdup(e->arena, ctune_text_get(&line));
    ctune_text_clear(&line);
    return copy == NULL ? "" : copy;
}

static const char *index_of(ctune_emitter *e, const ctune_aff *aff) {
    ctune_text line, *out = e->out;
    ctune_text_init(&line);
    e->out = &line;
    emit_index(e, aff, CTUNE_LEVEL_ANY);
    e->out = out;
    const char *copy = ctune_arena_strdup(e->arena, ctune_text_get(&line));
    ctune_text_clear(&line);
    return copy == NULL ? "" : copy;
}

static void print_tensor_row(ctune_emitter *e, const emit_array *a) {
    const ctune_tensor *t = &e->region->tensors[a->id];
    const char *base = e->is_standalone
                           ? ctune_arena_printf(e->arena, "%s->tensors[%d]", e->args, a->id)
                           : t->base;
    const char *rows = a->rows == NULL
                           ? "1"
                           : ctune_arena_printf(e->arena, "(ctune_size)(%s)", index_of(e, a->rows));
    ctune_text_line(
        e->out, "{(char *)(ctune_address)(%s) + (%s) * %dL, %s, %s, %s, %s, %du},", base,
        index_of(e, a->first), ctune_type_get(t->type)->bytes, bytes_of(e, a->count, t->type), rows,
        bytes_of(e, a->rows == NULL ? a->count : a->row_count, t->type),
        bytes_of(e, a->rows == NULL ? a->count : a->pitch, t->type), a->is_written ? 3 : 1);
}

static void print_arrays(ctune_emitter *e) {
    ctune_text_line(e->out, "const struct ctune_gpu_array ctune_gpu_as[%d] = {", e->n_arrays);
    e->out->indent++;
    for (int i = 0; i < e->n_arrays; i++) {
        const emit_array *a = &e->array[i];
        if (!a->is_buffer) {
            print_tensor_row(e, a);
            continue;
        }
        ctune_text line, *out = e->out;
        ctune_text_init(&line);
        e->out = &line;
        emit_buffer_bytes(e, &e->loops->buffer[a->id]);
        e->out = out;
        const char *bytes = ctune_text_get(&line);
        ctune_text_line(out, "{%s, %s, 1, %s, %s, 0u},", e->loops->buffer[a->id].name, bytes, bytes,
                        bytes);
        ctune_text_clear(&line);
    }
    e->out->indent--;
    ctune_text_line(e->out, "};");
}

void emit_gpu_block(ctune_emitter *e, const char *body) {
    print_kernels(e);
    print_arrays(e);
    ctune_text_line(e->out,
                    "struct ctune_gpu *const ctune_gpu_run = ctune_gpu_begin == 0 ? 0 : "
                    "ctune_gpu_begin(&ctune_gpu_here, ctune_gpu_as, %d);",
                    e->n_arrays);
    ctune_text_line(e->out, "if (ctune_gpu_run != 0) {");
    ctune_text_append(e->out, body);
    ctune_text_line(e->out, "    %s = ctune_gpu_end(ctune_gpu_run);", e->done);
    ctune_text_line(e->out, "}");
}

void ctune_emit_gpu_prelude(ctune_text *out) {
    ctune_text_append(
        out,
        "#ifndef CTUNE_GPU_PRELUDE\n"
        "#define CTUNE_GPU_PRELUDE\n"
        "#ifndef CTUNE_GPU_H\n"
        "#define CTUNE_GPU_H\n"
        "struct ctune_gpu_array {\n"
        "    void *base;\n"
        "    ctune_size bytes;\n"
        "    ctune_size rows, row_bytes, pitch;\n"
        "    unsigned flags;\n"
        "};\n"
        "struct ctune_gpu_region {\n"
        "    const char *name;\n"
        "    const char *cuda, *opencl;\n"
        "    unsigned flags;\n"
        "};\n"
        "struct ctune_gpu;\n"
        "extern __attribute__((__weak__)) struct ctune_gpu *ctune_gpu_begin(\n"
        "    const struct ctune_gpu_region *, const struct ctune_gpu_array *, unsigned);\n"
        "extern __attribute__((__weak__)) int ctune_gpu_launch(\n"
        "    struct ctune_gpu *, const char *, const unsigned *, const unsigned *, ctune_size,\n"
        "    const void *const *, const ctune_size *, unsigned);\n"
        "extern __attribute__((__weak__)) int ctune_gpu_end(struct ctune_gpu *);\n"
        "#endif\n"
        "/* blocks of a grid; a kernel walks more than there may be in strides */\n"
        "CTUNE_FUNCTION unsigned ctune_gpu_grid(long ctune_n, long ctune_most) {\n"
        "    return ctune_n <= 0 ? 0 : (unsigned)(ctune_n < ctune_most ? ctune_n : ctune_most);\n"
        "}\n"
        "#endif\n");
}
