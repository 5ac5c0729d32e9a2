/*
 * Dot products of narrow integers into 32 bits: the machine's instructions as rows of data.
 *
 * In: a DOT. Out: a macro's call; the prelude has the macros, by instruction set and compiler, and
 * in plain C for compiles without the instructions. Results are exact modulo 2^32 in all of them;
 * those that saturate between (vpmaddubsw) have no row.
 */
#include "search/emit/emit_private.h"

typedef struct dot_row {
    int group, lanes;  /* products for one lane; lanes of the result */
    const char *when;  /* the compiler's macros that tell of the instruction */
    const char *clang; /* c: the sums, a and b: the factors, in the types of vectors of i32 */
    const char *gcc;
} dot_row;

static const dot_row rows[] = {
    {4, 16, "defined(__AVX512VNNI__)",
     "__builtin_ia32_vpdpbusd512(c, (ctune_i32x16)(a), (ctune_i32x16)(b))",
     "((ctune_i32x16)__builtin_ia32_vpdpbusd_v16si(c, (ctune_i32x16)(a), (ctune_i32x16)(b)))"},
    {4, 8, "defined(__AVX512VNNI__) && defined(__AVX512VL__)",
     "__builtin_ia32_vpdpbusd256(c, (ctune_i32x8)(a), (ctune_i32x8)(b))",
     "((ctune_i32x8)__builtin_ia32_vpdpbusd_v8si(c, (ctune_i32x8)(a), (ctune_i32x8)(b)))"},
    {4, 4, "defined(__AVX512VNNI__) && defined(__AVX512VL__)",
     "__builtin_ia32_vpdpbusd128(c, (ctune_i32x4)(a), (ctune_i32x4)(b))",
     "((ctune_i32x4)__builtin_ia32_vpdpbusd_v4si(c, (ctune_i32x4)(a), (ctune_i32x4)(b)))"},
    {2, 16, "defined(__AVX512BW__)", "((c) + (ctune_i32x16)__builtin_ia32_pmaddwd512(a, b))",
     "((c) + (ctune_i32x16)__builtin_ia32_pmaddwd512_mask(a, b, (c), (unsigned short)-1))"},
    {2, 8, "defined(__AVX2__)", "((c) + (ctune_i32x8)__builtin_ia32_pmaddwd256(a, b))",
     "((c) + (ctune_i32x8)__builtin_ia32_pmaddwd256(a, b))"},
    {2, 4, "defined(__SSE2__)", "((c) + (ctune_i32x4)__builtin_ia32_pmaddwd128(a, b))",
     "((c) + (ctune_i32x4)__builtin_ia32_pmaddwd128(a, b))"},
};

static const char any[] =
    "CTUNE_FUNCTION const void *ctune_dots_4(unsigned *ctune_c, const unsigned char *ctune_a, "
    "const "
    "signed char *ctune_b, int ctune_n) {\n"
    "    int ctune_i;\n"
    "    for (ctune_i = 0; ctune_i < 4 * ctune_n; ctune_i++) ctune_c[ctune_i / 4] += "
    "(unsigned)(ctune_a[ctune_i] * ctune_b[ctune_i]);\n"
    "    return ctune_c;\n"
    "}\n"
    "CTUNE_FUNCTION const void *ctune_dots_2(unsigned *ctune_c, const short *ctune_a, const "
    "short *ctune_b, int ctune_n) {\n"
    "    int ctune_i;\n"
    "    for (ctune_i = 0; ctune_i < 2 * ctune_n; ctune_i++) ctune_c[ctune_i / 2] += "
    "(unsigned)(ctune_a[ctune_i] * ctune_b[ctune_i]);\n"
    "    return ctune_c;\n"
    "}\n"
    "#define CTUNE_DOT_ANY_4(n, n4, c, a, b) \\\n"
    "    __extension__(*(const ctune_i32x##n *)ctune_dots_4((unsigned *)(ctune_i32x##n[1]){c}, \\\n"
    "        (const unsigned char *)(ctune_u8x##n4[1]){a}, (const signed char "
    "*)(ctune_i8x##n4[1]){b}, "
    "n))\n"
    "#define CTUNE_DOT_ANY_2(n, n2, c, a, b) \\\n"
    "    __extension__(*(const ctune_i32x##n *)ctune_dots_2((unsigned *)(ctune_i32x##n[1]){c}, \\\n"
    "        (const short *)(ctune_i16x##n2[1]){a}, (const short *)(ctune_i16x##n2[1]){b}, n))\n";

void emit_dot_prelude(const ctune_emit_options *options, ctune_text *out) {
    ctune_text_append(out, "/* sums of products of narrow integers */\n");
    ctune_text_append(out, any);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const dot_row *r = &rows[i];
        if (r->lanes * 4 > options->target->vector_bytes) {
            continue;
        }
        ctune_text_printf(out, "#if %s && defined(__clang__)\n", r->when);
        ctune_text_printf(out, "#define ctune_dot%d_x%d(c, a, b) %s\n", r->group, r->lanes,
                          r->clang);
        ctune_text_printf(out, "#elif %s\n", r->when);
        ctune_text_printf(out, "#define ctune_dot%d_x%d(c, a, b) %s\n", r->group, r->lanes, r->gcc);
        ctune_text_printf(
            out, "#else\n#define ctune_dot%d_x%d(c, a, b) CTUNE_DOT_ANY_%d(%d, %d, c, a, b)\n",
            r->group, r->lanes, r->group, r->lanes, r->group * r->lanes);
        ctune_text_append(out, "#endif\n");
    }
}

/* The names are macros: a comma between braces must not stand in their arguments. */
void emit_dot(ctune_emitter *e, const ctune_value *v) {
    for (int i = 0; i < v->n_kids; i++) {
        emit_type(e, v->kids[i]->type, v->kids[i]->lanes); /* the macro needs them */
    }
    ctune_text_printf(e->out, "ctune_dot%d_x%d(", v->kids[1]->lanes / v->lanes, v->lanes);
    for (int i = 0; i < v->n_kids; i++) {
        ctune_text_append(e->out, i > 0 ? ", " : "");
        emit_value(e, v->kids[i], CTUNE_LEVEL_TEST);
    }
    ctune_text_append(e->out, ")");
}
