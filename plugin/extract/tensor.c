/*
 * Tensors and their uses: one tensor for each way in which the source reaches memory.
 *
 * In: lvalues. Out: rows of b->tensors and b->accs; indices stay polynomials until delinearise.c.
 */
#include "plugin/extract/build.h"

/* Element type without the array dimensions. */
static CXType innermost(CXType type) {
    while (ctune_cx_is_array(type)) {
        type = clang_getArrayElementType(clang_getCanonicalType(type));
    }
    return type;
}

int ctune_tensor_new(ctune_build *b, const char *key, const char *name, ctune_type type) {
    const char *unique = ctune_build_name(b, name);
    ctune_mtensor *m = CTUNE_PUSH(b, b->tensors);
    if (m == NULL || unique == NULL || key == NULL) {
        return -1;
    }
    m->key = key;
    m->t.name = unique;
    m->t.type = type;
    m->access = clang_getNullCursor();
    m->t.elem_stride_bytes = ctune_type_get(type)->bytes;
    return b->tensors.n - 1;
}

/* `float A[restrict n]`: libclang drops the qualifier with the decay, the text keeps it. */
static bool has_restrict_text(ctune_build *b, ctune_var *var) {
    const char *text =
        ctune_source_line(b->source, b->arena, ctune_cx_begin(var->decl), ctune_cx_end(var->decl));
    const char *open = text != NULL ? strchr(text, '[') : NULL;
    return open != NULL && strstr(open, "restrict") != NULL;
}

static const char *name_of(ctune_build *b, const ctune_lval *lval) {
    const char *text = lval->root->name;
    for (int i = 0; i < lval->n_steps && text != NULL; i++) {
        if (lval->steps[i].text != NULL) {
            text = ctune_arena_printf(b->arena, "%s%s", text, lval->steps[i].text);
        }
    }
    return text;
}

static void fill_tensor(ctune_build *b, ctune_mtensor *m, const ctune_lval *lval, CXCursor at) {
    ctune_tensor *t = &m->t;
    t->rank = lval->n_dims;
    t->pattern = ctune_lval_text(b, lval, false);
    const char *zero = ctune_lval_text(b, lval, true);
    bool is_plain = lval->n_dims == 1 && lval->steps[lval->n_steps - 1].text == NULL;
    if (is_plain && zero != NULL) { /* "A[0]" -> "A" */
        t->base = ctune_arena_strndup(b->arena, zero, strlen(zero) - 3);
    } else {
        t->base = ctune_arena_printf(b->arena, "&%s", zero != NULL ? zero : "");
    }
    for (int d = 0; d < lval->n_dims; d++) {
        t->extent[d] = lval->extent[d];
    }
    bool is_scalar = lval->n_steps == 0;
    t->elem_stride_bytes = lval->n_dims > 0 && lval->steps[lval->n_steps - 1].text != NULL &&
                                   lval->elem_stride_bytes > t->elem_stride_bytes
                               ? (int)lval->elem_stride_bytes
                               : t->elem_stride_bytes;
    t->is_pointer = lval->is_indirect;
    t->is_restrict =
        lval->is_restrict || (lval->root->is_parameter && ctune_cx_is_array(lval->root->type) &&
                              has_restrict_text(b, lval->root));
    t->is_const =
        lval->is_const || clang_isConstQualifiedType(clang_getCanonicalType(lval->type)) != 0;
    t->is_scalar_var = lval->n_dims == 0;
    m->scalar = is_scalar ? lval->root : NULL;
    m->root = lval->root;
    m->scope_node = lval->root->scope_node;
    m->is_array_object = !lval->is_indirect && lval->n_dims > 0;
    m->is_global = !lval->root->is_automatic;
    m->is_local_array = lval->root->is_inside && lval->n_dims > 0;
    m->offset = ctune_cx_begin(at);
    m->access = at;
}

const char *ctune_lval_key(ctune_build *b, const ctune_lval *lval) {
    return ctune_arena_printf(b->arena, "%d.%d|%s", (int)(lval->root - b->vars.at),
                              lval->root->generation, ctune_lval_text(b, lval, false));
}

int ctune_tensor_of_lval(ctune_build *b, const ctune_lval *lval, CXCursor at) {
    CXType element = innermost(lval->type);
    if (!ctune_type_check(b, element, at) || !ctune_type_check(b, lval->type, at)) {
        return -1;
    }
    const char *key = ctune_lval_key(b, lval);
    for (int i = 0; i < b->tensors.n && key != NULL; i++) {
        if (strcmp(b->tensors.at[i].key, key) == 0) {
            return i;
        }
    }
    const char *name = name_of(b, lval);
    int id = name == NULL ? -1 : ctune_tensor_new(b, key, name, ctune_cx_type(lval->type));
    if (id >= 0) {
        fill_tensor(b, &b->tensors.at[id], lval, at);
        if (lval->n_steps == 0) {
            lval->root->tensor = id;
        }
    }
    return id;
}

int ctune_access_add(ctune_build *b, const ctune_lval *lval, CXCursor at, ctune_access *slot) {
    int tensor = ctune_tensor_of_lval(b, lval, at);
    if (tensor < 0) {
        return -1;
    }
    ctune_acc *acc = CTUNE_PUSH(b, b->accs);
    const ctune_aff **cons = CTUNE_NEW_ARRAY(b->arena, const ctune_aff *, b->domain.n + 1);
    if (acc == NULL || cons == NULL) {
        return -1;
    }
    acc->tensor = tensor;
    acc->n_idx = lval->n_dims;
    memcpy(acc->idx, lval->idx, sizeof acc->idx);
    if (b->domain.n > 0) {
        memcpy(cons, b->domain.at, (size_t)b->domain.n * sizeof *cons);
    }
    acc->n_cons = b->domain.n;
    acc->cons = cons;
    acc->is_maybe = b->n_maybe > 0;
    acc->slot = slot;
    acc->offset = ctune_cx_begin(at);
    slot->tensor = tensor;
    return b->accs.n - 1;
}

int ctune_temporary_new(ctune_build *b, const char *name, ctune_type type, CXCursor at) {
    const char *key = ctune_arena_printf(b->arena, "temporary %d", b->tensors.n);
    int tensor = key == NULL ? -1 : ctune_tensor_new(b, key, name, type);
    if (tensor >= 0) {
        ctune_mtensor *m = &b->tensors.at[tensor];
        m->t.is_temp = true;
        m->t.rank = 0;
        m->n_scope = b->n_open;
        memcpy(m->scope, b->open, sizeof m->scope);
        m->offset = ctune_cx_begin(at);
    }
    return tensor;
}

int ctune_temporary_use(ctune_build *b, int tensor, ctune_access *slot, CXCursor at) {
    ctune_acc *acc = CTUNE_PUSH(b, b->accs);
    if (acc == NULL) {
        return -1;
    }
    acc->tensor = slot->tensor = tensor;
    acc->slot = slot;
    acc->offset = ctune_cx_begin(at);
    return b->accs.n - 1;
}

bool ctune_access_is_equal(const ctune_build *b, int x, int y) {
    const ctune_acc *u = &b->accs.at[x], *v = &b->accs.at[y];
    bool same = u->tensor == v->tensor && u->n_idx == v->n_idx;
    for (int d = 0; d < u->n_idx && same; d++) {
        same = ctune_poly_is_equal(u->idx[d], v->idx[d]);
    }
    return same;
}
