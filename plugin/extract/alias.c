/*
 * Overlap: which objects may share memory with a pointer, and which parameters could a store
 * change?
 *
 * In: tensors, parameters. Out: is_pointer on named objects whose address a pointer may hold, and
 * tensors without uses that stand for parameters in memory (s->n, a global), so that the one
 * overlap guard covers them, too.
 */
#include "plugin/extract/build.h"

static bool is_written(const ctune_build *b, int tensor) {
    for (int i = 0; i < b->stages.n; i++) {
        if (b->stages.at[i].target->tensor == tensor) {
            return true;
        }
    }
    return false;
}

/* Strict aliasing: a store to `stored` may change an object of type `read`. */
static bool may_alias(ctune_type stored, ctune_type read) {
    bool is_char = stored == CTUNE_I8 || stored == CTUNE_U8;
    return is_char ||
           (!ctune_type_is_float(stored) && stored != CTUNE_BOOL && read != CTUNE_BOOL &&
            ctune_type_get(stored)->bytes == ctune_type_get(read)->bytes) ||
           stored == read;
}

static bool is_changed_by_name(const ctune_build *b, const char *text) {
    for (int t = 0; t < b->tensors.n; t++) {
        const ctune_mtensor *m = &b->tensors.at[t];
        if (m->t.pattern != NULL && !m->is_memory_param && strcmp(m->t.pattern, text) == 0 &&
            is_written(b, t)) {
            return true;
        }
    }
    return false;
}

static bool needs_guard(const ctune_build *b, ctune_type type) {
    for (int t = 0; t < b->tensors.n; t++) {
        const ctune_mtensor *m = &b->tensors.at[t];
        if (m->t.is_pointer && !m->t.is_restrict && !m->is_memory_param && is_written(b, t) &&
            may_alias(m->t.type, type)) {
            return true;
        }
    }
    return false;
}

static bool guard_param(ctune_build *b, const ctune_param *param) {
    const char *name = ctune_arena_printf(b->arena, "%s_mem", param->name);
    int id = name == NULL ? -1 : ctune_tensor_new(b, "", name, param->type);
    if (id < 0) {
        return false;
    }
    ctune_mtensor *m = &b->tensors.at[id];
    m->is_memory_param = true;
    m->t.pattern = param->c_text;
    m->t.base = ctune_arena_printf(b->arena, "&%s", param->c_text);
    m->t.is_pointer = m->t.is_scalar_var = true;
    m->t.is_const = true;
    return m->t.base != NULL;
}

static bool mark_params(ctune_build *b) {
    for (int p = 0; p < b->params.n; p++) {
        const ctune_param *param = &b->params.at[p];
        if (!b->param_infos.at[p].is_memory) {
            continue;
        }
        if (is_changed_by_name(b, param->c_text)) {
            return ctune_build_refuse_at(
                b, CTUNE_REFUSE_BOUND_CHANGES, b->begin,
                "'%s' is a bound or subscript and is assigned in the region", param->c_text);
        }
        bool is_variable = strpbrk(param->c_text, "(? ") == NULL ||
                           ctune_hoist_is_hoisted(b, p); /* else its parts are listed, too */
        if (is_variable && !b->pragma->noalias && needs_guard(b, param->type) &&
            !guard_param(b, param)) {
            return false;
        }
    }
    return true;
}

bool ctune_aliases_mark(ctune_build *b) {
    int n_pointers = 0;
    for (int t = 0; t < b->tensors.n; t++) {
        n_pointers += b->tensors.at[t].t.is_pointer && !b->tensors.at[t].t.is_restrict;
    }
    for (int t = 0; t < b->tensors.n && n_pointers > 0; t++) {
        ctune_mtensor *m = &b->tensors.at[t];
        bool is_exposed =
            m->is_array_object || m->is_global || (m->root != NULL && m->root->is_address_taken);
        if (is_exposed && !m->t.is_temp && !m->is_local_array) {
            m->t.is_pointer = true;
        }
    }
    return ctune_hoist_check(b) && mark_params(b);
}
