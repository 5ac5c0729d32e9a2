/* C's names of types: scalars, and vectors of GCC and Clang. See emit_private.h. */
#include "search/emit/emit_private.h"

#include <string.h>

/* `long` has 64 bits on some targets only. */
static const char *scalar_name(ctune_type type) {
    return type == CTUNE_I64   ? "ctune_i64"
           : type == CTUNE_U64 ? "ctune_u64"
                               : ctune_type_get(type)->c_name;
}

bool emit_prelude_has(const ctune_emit_options *options, ctune_type type, int lanes) {
    int bytes = ctune_type_get(type)->bytes * lanes;
    return (type == CTUNE_F32 || type == CTUNE_F64) && bytes <= options->target->vector_bytes;
}

static const char *vector_name(ctune_emitter *e, ctune_type type, int lanes, const char *suffix) {
    e->is_wide |= ctune_type_get(type)->bytes * lanes >= 64;
    int i = emit_prelude_has(e->options, type, lanes) ? -1 : 0;
    while (i >= 0 && i < e->n_vectors &&
           (e->vector[i].type != type || e->vector[i].lanes != lanes)) {
        i++;
    }
    if (i == e->n_vectors && i == e->cap_vectors) {
        int cap = i * 2 + 8;
        ctune_emit_vector *more = CTUNE_NEW_ARRAY(e->arena, ctune_emit_vector, cap);
        if (more == NULL) {
            return "";
        }
        if (i > 0) {
            memcpy(more, e->vector, (size_t)i * sizeof *more);
        }
        e->vector = more;
        e->cap_vectors = cap;
    }
    if (i == e->n_vectors) {
        e->vector[e->n_vectors++] = (ctune_emit_vector){type, lanes};
    }
    return ctune_arena_printf(e->arena, "ctune_%sx%d%s", ctune_type_get(type)->name, lanes, suffix);
}

const char *emit_type(ctune_emitter *e, ctune_type type, int lanes) {
    if (e->api != NULL) {
        return emit_gpu_type(e, type, lanes);
    }
    return lanes == 1 ? scalar_name(type) : vector_name(e, type, lanes, "");
}

const char *emit_memory_type(ctune_emitter *e, ctune_type type, int lanes) {
    return lanes == 1 ? scalar_name(type) : vector_name(e, type, lanes, "u");
}

ctune_type emit_signed_of(ctune_type type) {
    static const ctune_type types[] = {CTUNE_I8, CTUNE_I16, CTUNE_I32, CTUNE_I64};
    int bytes = ctune_type_get(type)->bytes;
    return types[bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3];
}

ctune_type emit_unsigned_of(ctune_type type) {
    static const ctune_type types[] = {CTUNE_U8, CTUNE_U16, CTUNE_U32, CTUNE_U64};
    int bytes = ctune_type_get(type)->bytes;
    return types[bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3];
}

void emit_vector_typedef(ctune_text *out, ctune_type type, int lanes) {
    const ctune_type_info *info = ctune_type_get(type);
    ctune_text_line(out, "typedef %s ctune_%sx%d __attribute__((__vector_size__(%d), __unused__));",
                    scalar_name(type), info->name, lanes, lanes * info->bytes);
    ctune_text_line(out,
                    "typedef %s ctune_%sx%du __attribute__((__vector_size__(%d), "
                    "__aligned__(%d), __may_alias__, __unused__));",
                    scalar_name(type), info->name, lanes, lanes * info->bytes, info->bytes);
}
