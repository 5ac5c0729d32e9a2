/*
 * Nodes in C: loops, conditions, declarations and assignments.
 *
 * Each node is one or more lines. Before C99 declarations stand at the head of their block, without
 * a value: what defines a variable assigns it.
 */
#include "search/emit/emit_private.h"

static bool is_c90(const ctune_emitter *e) {
    return e->api == NULL && e->options->target->is_c90;
}

static const char *index_type(const ctune_emitter *e) {
    return e->api == NULL ? "long " : ctune_arena_printf(e->arena, "%s ", e->api->index);
}

void emit_block(ctune_emitter *e, const ctune_lnode *first) {
    e->out->indent++;
    emit_kids(e, first);
    e->out->indent--;
}

static void begin_line(ctune_emitter *e) {
    for (int i = 0; i < e->out->indent; i++) {
        ctune_text_append(e->out, "    ");
    }
}

/* ---- loops ----------------------------------------------------------------------------------- */

static void print_pragma(ctune_emitter *e, const ctune_lnode *node) {
    if (node->ann == CTUNE_LANN_PARALLEL && e->options->target->openmp) {
        begin_line(e);
        ctune_text_append(e->out, "_Pragma(\"omp parallel for");
        if (node->collapse > 1) {
            ctune_text_printf(e->out, " collapse(%d)", node->collapse);
        }
        ctune_text_append(e->out, node->is_dynamic ? " schedule(dynamic)" : "");
        if (node->n_conds > 0) {
            ctune_text_append(e->out, " if(");
            emit_conditions(e, node->conds, node->n_conds);
            ctune_text_append(e->out, ")");
        }
        ctune_text_append(e->out, "\")\n");
    } else if (node->ann == CTUNE_LANN_SIMD) {
        ctune_text_line(e->out, "CTUNE_SIMD");
    } else if (node->ann == CTUNE_LANN_UNROLL && e->api != NULL) {
        ctune_text_line(e->out, "#pragma unroll %lld", (long long)node->factor);
    } else if (node->ann == CTUNE_LANN_UNROLL && node->factor >= 1) {
        ctune_text_line(e->out, "CTUNE_UNROLL(%lld)", (long long)node->factor);
    }
}

/* Of a collapse all counters stand before the first loop: nothing may stand between the loops. */
static void print_counters(ctune_emitter *e, const ctune_lnode *node) {
    int n = node->ann == CTUNE_LANN_PARALLEL ? node->collapse : 1;
    for (const ctune_lnode *at = node; n > 0 && at != NULL && at->kind == CTUNE_L_FOR;
         at = at->first) {
        ctune_text_line(e->out, "long %s;", emit_var(e, at->var));
        n--;
    }
}

static void print_loop(ctune_emitter *e, const ctune_lnode *node, int n_collapsed) {
    const char *name = emit_var(e, node->var);
    bool is_old = is_c90(e);
    begin_line(e);
    ctune_text_printf(e->out, "for (%s%s = ", is_old ? "" : index_type(e), name);
    emit_index(e, node->lo, CTUNE_LEVEL_ANY);
    ctune_text_printf(e->out, "; %s < ", name);
    emit_index(e, node->hi, CTUNE_LEVEL_ANY);
    if (node->step == 1) {
        ctune_text_printf(e->out, "; %s++) {\n", name);
    } else {
        ctune_text_printf(e->out, "; %s += %lld) {\n", name, (long long)node->step);
    }
    if (n_collapsed > 1) {
        e->out->indent++;
        print_loop(e, node->first, n_collapsed - 1);
        e->out->indent--;
    } else {
        int n_streams = e->n_streams;
        emit_block(e, node->first);
        if (node->ann == CTUNE_LANN_UNROLL && node->factor > 1 && e->api == NULL) {
            ctune_text_line(e->out, "    CTUNE_STEP;"); /* else they take the tile's registers */
        }
        if (node->ann == CTUNE_LANN_PARALLEL && e->n_streams > n_streams) {
            ctune_text_line(e->out, "    CTUNE_STREAM_END;"); /* of this thread */
        }
    }
    ctune_text_line(e->out, "}");
}

static void print_for(ctune_emitter *e, const ctune_lnode *node) {
    if (e->api != NULL) {
        e->is_nonneg[node->var] = emit_is_nonneg(e, node->lo);
    }
    bool is_parallel = node->ann == CTUNE_LANN_PARALLEL && e->options->target->openmp;
    if (is_c90(e)) {
        ctune_text_line(e->out, "{");
        e->out->indent++;
        print_counters(e, node);
    }
    print_pragma(e, node);
    print_loop(e, node, is_parallel || is_c90(e) ? node->collapse : 1);
    if (is_c90(e)) {
        e->out->indent--;
        ctune_text_line(e->out, "}");
    }
}

static void print_if(ctune_emitter *e, const ctune_lnode *node) {
    bool is_always = node->n_conds == 0 && node->test == NULL;
    begin_line(e);
    if (!is_always) {
        ctune_text_append(e->out, "if (");
        emit_conditions(e, node->conds, node->n_conds);
        if (node->test != NULL) {
            ctune_text_append(e->out, node->n_conds > 0 ? " && " : "");
            emit_test(e, node->test, node->n_conds > 0 ? CTUNE_LEVEL_TEST : CTUNE_LEVEL_ANY);
        }
        ctune_text_append(e->out, ") ");
    }
    ctune_text_append(e->out, "{\n");
    emit_block(e, node->first);
    if (node->other != NULL && !is_always) {
        ctune_text_line(e->out, "} else {");
        emit_block(e, node->other->first);
    }
    ctune_text_line(e->out, "}");
}

/* ---- assignments ----------------------------------------------------------------------------- */

/* x = x + y as x += y: where C computes both in the value's own type. */
static const char *compound_token(const ctune_emitter *e, const ctune_value *v, bool is_target) {
    bool is_plain = v->op == CTUNE_V_ADD || v->op == CTUNE_V_SUB || v->op == CTUNE_V_MUL ||
                    v->op == CTUNE_V_DIV;
    bool is_promoted = ctune_type_get(v->type)->bytes < 4;
    bool is_device = e->api != NULL && ctune_type_is_float(v->type); /* it may be a function */
    return is_target && is_plain && !is_device && !v->wraps && !is_promoted &&
                   !emit_is_rounded(e, v)
               ? ctune_value_get(v->op)->token
               : NULL;
}

static void print_assignment(ctune_emitter *e, const ctune_value *v, const char *token) {
    ctune_text_printf(e->out, " %s= ", token != NULL ? token : "");
    emit_value(e, token != NULL ? v->kids[1] : v, CTUNE_LEVEL_ANY);
    ctune_text_append(e->out, ";\n");
}

/* A vector past the caches: through a variable, since the prelude's function takes its address. */
static bool print_stream(ctune_emitter *e, const ctune_lnode *node) {
    int lanes = node->value->lanes;
    if (!node->is_streamed || lanes < 2) {
        return false;
    }
    e->n_streams++;
    begin_line(e);
    ctune_text_printf(e->out, "CTUNE_STREAM(%s, &", emit_type(e, node->value->type, lanes));
    emit_place(e, &node->place);
    ctune_text_append(e->out, ", (");
    emit_value(e, node->value, CTUNE_LEVEL_ANY); /* commas of its lanes are no arguments' */
    ctune_text_append(e->out, "));\n");
    return true;
}

/* The last value of a temporary that the source reads later. A candidate has no such place. */
static bool print_live_out(ctune_emitter *e, const ctune_lnode *node) {
    const ctune_place *place = &node->place;
    if (place->is_buffer || !e->region->tensors[place->id].is_temp) {
        return false;
    }
    const char *target = e->region->tensors[place->id].live_out_text;
    begin_line(e);
    ctune_text_printf(e->out, e->is_standalone || target == NULL ? "(void)%s" : "%s = ",
                      e->is_standalone || target == NULL ? "" : target);
    emit_value(e, node->value, e->is_standalone ? CTUNE_LEVEL_UNARY : CTUNE_LEVEL_ANY);
    ctune_text_append(e->out, ";\n");
    return true;
}

static void print_store(ctune_emitter *e, const ctune_lnode *node) {
    const ctune_value *v = node->value;
    if (print_live_out(e, node) || print_stream(e, node)) {
        return;
    }
    bool is_target = v->n_kids == 2 && v->kids[0]->op == CTUNE_V_LOAD &&
                     ctune_place_is_equal(&v->kids[0]->place, &node->place);
    begin_line(e);
    if (v->lanes > 1) {
        ctune_text_printf(e->out, "*(%s *)&", emit_memory_type(e, v->type, v->lanes));
    }
    emit_place(e, &node->place);
    print_assignment(e, v, compound_token(e, v, is_target));
}

static void print_set(ctune_emitter *e, const ctune_lnode *node) {
    const ctune_value *v = node->value;
    bool is_target =
        v->n_kids == 2 && v->kids[0]->op == CTUNE_V_VAR && v->kids[0]->var == node->var;
    begin_line(e);
    ctune_text_append(e->out, emit_var(e, node->var));
    print_assignment(e, v, compound_token(e, v, is_target));
}

/* ---- declarations ---------------------------------------------------------------------------- */

/* "const float x", or x alone where it was declared at the head. */
static void begin_definition(ctune_emitter *e, const char *type, const char *name, bool is_const) {
    begin_line(e);
    if (is_c90(e)) {
        ctune_text_append(e->out, name);
    } else {
        ctune_text_printf(e->out, "%s%s %s", is_const ? "const " : "", type, name);
    }
}

static void print_def(ctune_emitter *e, const ctune_lnode *node) {
    const ctune_lvar *var = &e->loops->var[node->var];
    if (node->value == NULL && is_c90(e)) {
        return;
    }
    begin_definition(e, emit_type(e, var->type, var->lanes), emit_var(e, node->var),
                     !var->is_mutable && node->value != NULL);
    if (node->value != NULL) {
        ctune_text_append(e->out, " = ");
        emit_value(e, node->value, CTUNE_LEVEL_ANY);
    }
    ctune_text_append(e->out, ";\n");
}

static void print_let(ctune_emitter *e, const ctune_lnode *node) {
    begin_definition(e, e->api == NULL ? "long" : e->api->index, emit_var(e, node->var), true);
    ctune_text_append(e->out, " = ");
    emit_index(e, node->lo, CTUNE_LEVEL_ANY);
    ctune_text_append(e->out, ";\n");
}

void emit_setup(ctune_emitter *e, const ctune_lnode *let) {
    if (e->is_var_used[let->var]) {
        begin_line(e);
        ctune_text_printf(e->out, "const long %s = ", emit_var(e, let->var));
        emit_index(e, let->lo, CTUNE_LEVEL_ANY);
        ctune_text_append(e->out, ";\n");
    }
}

static void print_array(ctune_emitter *e, int id) {
    const ctune_lbuffer *b = &e->loops->buffer[id];
    begin_line(e);
    ctune_text_printf(e->out, "%s %s", emit_type(e, b->type, 1), emit_buffer(e, id));
    for (int d = 0; d < b->rank; d++) {
        ctune_text_append(e->out, "[");
        emit_index(e, b->extent[d], CTUNE_LEVEL_ANY);
        ctune_text_append(e->out, "]");
    }
    bool is_aligned = b->rank > 0 && e->api == NULL;
    ctune_text_append(e->out, is_aligned ? " __attribute__((__aligned__(64)));\n" : ";\n");
}

/* Memory on the heap was divided before the guard: a thread takes its part here. */
static void print_decl(ctune_emitter *e, const ctune_lnode *node) {
    const ctune_lbuffer *b = &e->loops->buffer[node->buffer];
    const char *type = emit_type(e, b->type, 1);
    if (b->scope == CTUNE_SCOPE_THREAD) {
        begin_definition(e, ctune_arena_printf(e->arena, "%s *const", type), b->name, false);
        ctune_text_printf(e->out, " = (%s *)(void *)(%s + ctune_thread() * %s);\n", type,
                          e->base[node->buffer], e->bytes[node->buffer]);
    } else if (!is_c90(e)) {
        print_array(e, node->buffer);
    }
}

/* C90: what `node` declares, at the head of the block. */
static void declare(ctune_emitter *e, const ctune_lnode *node) {
    if (node->kind == CTUNE_L_LET) {
        ctune_text_line(e->out, "long %s;", emit_var(e, node->var));
    } else if (node->kind == CTUNE_L_DEF) {
        const ctune_lvar *var = &e->loops->var[node->var];
        ctune_text_line(e->out, "%s %s;", emit_type(e, var->type, var->lanes), var->name);
    } else if (node->kind == CTUNE_L_DECL) {
        const ctune_lbuffer *b = &e->loops->buffer[node->buffer];
        if (b->scope == CTUNE_SCOPE_THREAD) {
            ctune_text_line(e->out, "%s *%s;", emit_type(e, b->type, 1), b->name);
        } else {
            print_array(e, node->buffer);
        }
    }
}

/* ---- lists ----------------------------------------------------------------------------------- */

static bool is_dead(const ctune_emitter *e, const ctune_lnode *node) {
    return node->kind == CTUNE_L_LET || node->kind == CTUNE_L_DEF || node->kind == CTUNE_L_SET
               ? !e->is_var_used[node->var]
           : node->kind == CTUNE_L_DECL ? !e->is_buffer_used[node->buffer]
                                        : false;
}

/* What is for no statement in particular (a bound, a copy) goes with what stands before it; loops
 * and conditions are the nest's. */
static void print_line(ctune_emitter *e, const ctune_lnode *node) {
    bool is_control = node->kind == CTUNE_L_FOR || node->kind == CTUNE_L_IF;
    int line = is_control ? 0 : node->line > 0 ? node->line : e->line;
    if (e->options->lines && e->api == NULL && line != e->line) {
        e->line = line;
        ctune_text_line(e->out, CTUNE_EMIT_LINE, line);
    }
}

static void print_node(ctune_emitter *e, const ctune_lnode *node) {
    print_line(e, node);
    if (node->comment != NULL && e->options->comments) {
        ctune_text_line(e->out, "/* %s */", node->comment);
    }
    switch (node->kind) {
    case CTUNE_L_SEQ:
        ctune_text_line(e->out, "{");
        emit_block(e, node->first);
        ctune_text_line(e->out, "}");
        return;
    case CTUNE_L_FOR:
        print_for(e, node);
        return;
    case CTUNE_L_IF:
        print_if(e, node);
        return;
    case CTUNE_L_LET:
        print_let(e, node);
        return;
    case CTUNE_L_DECL:
        print_decl(e, node);
        return;
    case CTUNE_L_DEF:
        print_def(e, node);
        return;
    case CTUNE_L_SET:
        print_set(e, node);
        return;
    case CTUNE_L_LAUNCH:
        emit_gpu_launch(e, node);
        return;
    case CTUNE_L_BARRIER:
        emit_gpu_barrier(e);
        return;
    case CTUNE_L_STORE:
    default:
        print_store(e, node);
        return;
    }
}

void emit_kids(ctune_emitter *e, const ctune_lnode *first) {
    for (const ctune_lnode *node = first; node != NULL && is_c90(e); node = node->next) {
        if (!is_dead(e, node)) {
            declare(e, node);
        }
    }
    for (const ctune_lnode *node = first; node != NULL; node = node->next) {
        if (!is_dead(e, node)) {
            print_node(e, node);
        }
    }
}
