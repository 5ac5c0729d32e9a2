/*
 * Calls of math functions: scalars as the source calls them, vectors by instruction or by the
 * library for vectors.
 *
 * In: a CALL. Out: its C text; the prelude's macros for square roots; declarations of what the
 * library has. A square root is never a call that may set errno: that would keep compilers from
 * vectorising, and nobody reads it (docs/floating-point.md). Vectors of other functions have the
 * names of the x86-64 vector ABI: glibc's libmvec, which -lm links where it is needed.
 */
#include "search/emit/emit_private.h"

#include <string.h>

/* ---- square roots in the prelude --------------------------------------------------------------
 */

/* Type, lanes, when GCC has an instruction, and the text that gives it. */
static const struct {
    ctune_type type;
    int lanes;
    const char *when, *text;
} sqrt_rows[] = {
    {CTUNE_F32, 16, "defined(__AVX512F__)",
     "((ctune_f32x16)__builtin_ia32_sqrtps512_mask(a, a, -1, 4))"},
    {CTUNE_F64, 8, "defined(__AVX512F__)",
     "((ctune_f64x8)__builtin_ia32_sqrtpd512_mask(a, a, (unsigned char)-1, 4))"},
    {CTUNE_F32, 8, "defined(__AVX__)", "__builtin_ia32_sqrtps256(a)"},
    {CTUNE_F64, 4, "defined(__AVX__)", "__builtin_ia32_sqrtpd256(a)"},
    {CTUNE_F32, 4, "defined(__SSE2__)", "__builtin_ia32_sqrtps(a)"},
    {CTUNE_F64, 2, "defined(__SSE2__)", "__builtin_ia32_sqrtpd(a)"},
};

/* The memory of an array of one vector is that of its lanes. */
static const char sqrt_any[] =
    "CTUNE_FUNCTION const void *ctune_sqrts_f32(float *ctune_a, int ctune_n) {\n"
    "    int ctune_i;\n"
    "    for (ctune_i = 0; ctune_i < ctune_n; ctune_i++) ctune_a[ctune_i] = "
    "__builtin_sqrtf(ctune_a[ctune_i]);\n"
    "    return ctune_a;\n"
    "}\n"
    "CTUNE_FUNCTION const void *ctune_sqrts_f64(double *ctune_a, int ctune_n) {\n"
    "    int ctune_i;\n"
    "    for (ctune_i = 0; ctune_i < ctune_n; ctune_i++) ctune_a[ctune_i] = "
    "__builtin_sqrt(ctune_a[ctune_i]);\n"
    "    return ctune_a;\n"
    "}\n"
    "#define CTUNE_SQRT_ANY(elem, name, n, a) \\\n"
    "    __extension__(*(const ctune_##name##x##n *)ctune_sqrts_##name( \\\n"
    "        (elem *)(ctune_##name##x##n[1]){a}, n))\n";

static const char sqrt_scalar_clang[] = "#define ctune_sqrt_f32(a) __builtin_elementwise_sqrt(a)\n"
                                        "#define ctune_sqrt_f64(a) __builtin_elementwise_sqrt(a)\n";

static const char sqrt_scalar_gcc[] =
    "#if defined(__SSE2__)\n"
    "#define ctune_sqrt_f32(a) __extension__(__builtin_ia32_sqrtss((ctune_f32x4){a})[0])\n"
    "#define ctune_sqrt_f64(a) __extension__(__builtin_ia32_sqrtsd((ctune_f64x2){a})[0])\n"
    "#else\n"
    "#define ctune_sqrt_f32(a) __builtin_sqrtf(a)\n"
    "#define ctune_sqrt_f64(a) __builtin_sqrt(a)\n"
    "#endif\n";

static void print_gcc_sqrt(ctune_type type, int lanes, ctune_text *out) {
    const ctune_type_info *info = ctune_type_get(type);
    size_t i = 0, n = sizeof sqrt_rows / sizeof *sqrt_rows;
    while (i < n && (sqrt_rows[i].type != type || sqrt_rows[i].lanes != lanes)) {
        i++;
    }
    if (i < n) {
        ctune_text_printf(out, "#if %s\n#define ctune_sqrt_%sx%d(a) %s\n#else\n", sqrt_rows[i].when,
                          info->name, lanes, sqrt_rows[i].text);
    }
    ctune_text_printf(out, "#define ctune_sqrt_%sx%d(a) CTUNE_SQRT_ANY(%s, %s, %d, a)\n%s",
                      info->name, lanes, info->c_name, info->name, lanes, i < n ? "#endif\n" : "");
}

void emit_math_prelude(const ctune_emit_options *options, ctune_text *out) {
    static const ctune_type types[] = {CTUNE_F32, CTUNE_F64};
    ctune_text_append(out, "/* square roots that leave errno alone */\n#if defined(__clang__)\n");
    for (int pass = 0; pass < 2; pass++) { /* clang; GCC */
        ctune_text_append(out, pass == 0 ? sqrt_scalar_clang : "#else\n");
        ctune_text_append(out, pass == 0 ? "" : sqrt_any);
        for (size_t i = 0; i < 2; i++) {
            for (int lanes = 2; emit_prelude_has(options, types[i], lanes); lanes *= 2) {
                if (pass == 0) {
                    ctune_text_printf(out,
                                      "#define ctune_sqrt_%sx%d(a) __builtin_elementwise_sqrt(a)\n",
                                      ctune_type_get(types[i])->name, lanes);
                } else {
                    print_gcc_sqrt(types[i], lanes, out);
                }
            }
        }
    }
    ctune_text_append(out, sqrt_scalar_gcc);
    ctune_text_append(out, "#endif\n");
}

/* ---- calls ----------------------------------------------------------------------------------- */

static bool is_float_or_double(ctune_type type) {
    return type == CTUNE_F32 || type == CTUNE_F64;
}

/* The name that the vector ABI gives: the letter says the registers, v each argument. */
static const char *library_name(ctune_emitter *e, const ctune_value *v) {
    int bytes = v->lanes * ctune_type_get(v->type)->bytes;
    bool is_avx2 = strcmp(e->options->target->isa, "avx") != 0;
    char letter = bytes >= 64 ? 'e' : bytes >= 32 ? (is_avx2 ? 'd' : 'c') : 'b';
    const char *name = ctune_arena_printf(e->arena, "_ZGV%cN%d%s_%s", letter, v->lanes,
                                          v->n_kids == 2 ? "vv" : "v", v->text);
    return name == NULL ? "" : name;
}

/* Remember that the function of this name needs a declaration. */
static void declare(ctune_emitter *e, const char *name, const ctune_value *v) {
    for (int i = 0; i < e->n_functions; i++) {
        if (strcmp(e->function[i].name, name) == 0) {
            return;
        }
    }
    if (e->n_functions == (int)(sizeof e->function / sizeof *e->function)) {
        ctune_loops_fail(e->loops, CTUNE_EREFUSED, "over %d functions in vectors", e->n_functions);
        return;
    }
    e->function[e->n_functions++] =
        (ctune_emit_function){name, emit_type(e, v->type, v->lanes), v->n_kids};
}

void emit_function_decls(const ctune_emitter *e, ctune_text *out) {
    for (int i = 0; i < e->n_functions; i++) {
        const ctune_emit_function *f = &e->function[i];
        ctune_text_line(out, "extern %s %s(%s%s%s);", f->type, f->name, f->type,
                        f->n_args == 2 ? ", " : "", f->n_args == 2 ? f->type : "");
    }
}

/* |x| by its bits; returns true when done. */
static bool print_fabs(ctune_emitter *e, const ctune_value *v) {
    if (v->lanes == 1 || strcmp(ctune_math_root(v->text), "fabs") != 0) {
        return false;
    }
    ctune_text_printf(e->out, "(%s)((%s)", emit_type(e, v->type, v->lanes),
                      emit_type(e, emit_signed_of(v->type), v->lanes));
    emit_value(e, v->kids[0], CTUNE_LEVEL_UNARY);
    ctune_text_append(e->out, v->type == CTUNE_F32 ? " & 0x7fffffff)" : " & 0x7fffffffffffffff)");
    return true;
}

/* A candidate includes no header. */
static const char *function_name(ctune_emitter *e, const ctune_value *v) {
    bool is_sqrt = is_float_or_double(v->type) && strcmp(ctune_math_root(v->text), "sqrt") == 0;
    if (is_sqrt && (v->lanes > 1 || !e->options->is_original)) {
        const char *type = ctune_type_get(v->type)->name;
        return v->lanes > 1 ? ctune_arena_printf(e->arena, "ctune_sqrt_%sx%d", type, v->lanes)
                            : ctune_arena_printf(e->arena, "ctune_sqrt_%s", type);
    }
    if (v->lanes > 1) {
        const char *name = library_name(e, v);
        declare(e, name, v);
        return name;
    }
    return ctune_arena_printf(e->arena, "%s%s", e->is_standalone ? "__builtin_" : "", v->text);
}

void emit_call(ctune_emitter *e, const ctune_value *v) {
    if (print_fabs(e, v)) {
        return;
    }
    if (v->lanes > 1) {
        emit_type(e, v->type, v->lanes); /* the macro needs it */
    }
    const char *name = function_name(e, v);
    /* the names of vectors are macros: a comma between braces must not stand in their arguments */
    emit_level level = v->lanes > 1 ? CTUNE_LEVEL_TEST : CTUNE_LEVEL_ANY;
    ctune_text_printf(e->out, "%s(", name == NULL ? "" : name);
    for (int i = 0; i < v->n_kids; i++) {
        ctune_text_append(e->out, i > 0 ? ", " : "");
        emit_value(e, v->kids[i], level);
    }
    ctune_text_append(e->out, ")");
}
