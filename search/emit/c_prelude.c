/*
 * What emitted text needs once in a translation unit: types, helpers, and the places where
 * compilers and targets differ.
 *
 * It decides at compile time, by the compiler's macros, not by what is known now: rewritten C may
 * be compiled later with other flags. So a product that must be rounded stays so wherever the
 * target can fuse, and a fused one is fused even without hardware for it (slowly).
 *
 * It stands below the user's includes and macros, so it says nothing that one of these may be:
 * attributes have underscores around them, and all names begin with ctune_.
 */
#include "search/emit/emit_private.h"

static const char basics[] =
    "__extension__ typedef __INT64_TYPE__ ctune_i64;\n"
    "__extension__ typedef __UINT64_TYPE__ ctune_u64;\n"
    "__extension__ typedef __SIZE_TYPE__ ctune_size;\n"
    "__extension__ typedef __UINTPTR_TYPE__ ctune_address;\n"
    "#define CTUNE_PRAGMA(x) _Pragma(#x)\n"
    "#define CTUNE_FUNCTION __attribute__((__unused__)) static __inline__\n"
    "#define CTUNE_ALWAYS 1\n"
    "#define CTUNE_TEXT(x) #x\n"
    "#define CTUNE_SAME(x, text) (__builtin_strcmp(CTUNE_TEXT(x), text) == 0)\n"
    "#define CTUNE_IS_REAL(x, bytes) (sizeof(x) == bytes && __builtin_classify_type(x) == 8)\n"
    "#define CTUNE_IS_WHOLE(x, bytes) (sizeof(x) == bytes && __builtin_classify_type(x) == 1)\n"
    "#define CTUNE_IS_INT(x, bytes) (CTUNE_IS_WHOLE(x, bytes) && (__typeof__(x))-1 < 1)\n"
    "#define CTUNE_IS_UINT(x, bytes) (CTUNE_IS_WHOLE(x, bytes) && !((__typeof__(x))-1 < 1))\n"
    "#define CTUNE_X2(x) x, x\n"
    "#define CTUNE_X4(x) CTUNE_X2(x), CTUNE_X2(x)\n"
    "#define CTUNE_X8(x) CTUNE_X4(x), CTUNE_X4(x)\n"
    "#define CTUNE_X16(x) CTUNE_X8(x), CTUNE_X8(x)\n"
    "#define CTUNE_X32(x) CTUNE_X16(x), CTUNE_X16(x)\n"
    "#define CTUNE_X64(x) CTUNE_X32(x), CTUNE_X32(x)\n"
    "#define CTUNE_SPLAT2(type, x) __extension__((type){CTUNE_X2(x)})\n"
    "#define CTUNE_SPLAT4(type, x) __extension__((type){CTUNE_X4(x)})\n"
    "#define CTUNE_SPLAT8(type, x) __extension__((type){CTUNE_X8(x)})\n"
    "#define CTUNE_SPLAT16(type, x) __extension__((type){CTUNE_X16(x)})\n"
    "#define CTUNE_SPLAT32(type, x) __extension__((type){CTUNE_X32(x)})\n"
    "#define CTUNE_SPLAT64(type, x) __extension__((type){CTUNE_X64(x)})\n"
    "#define CTUNE_FROM2(d) (d), (d) + 1\n"
    "#define CTUNE_FROM4(d) CTUNE_FROM2(d), CTUNE_FROM2((d) + 2)\n"
    "#define CTUNE_FROM8(d) CTUNE_FROM4(d), CTUNE_FROM4((d) + 4)\n"
    "#define CTUNE_FROM16(d) CTUNE_FROM8(d), CTUNE_FROM8((d) + 8)\n"
    "#define CTUNE_FROM32(d) CTUNE_FROM16(d), CTUNE_FROM16((d) + 16)\n"
    "#define CTUNE_FROM64(d) CTUNE_FROM32(d), CTUNE_FROM32((d) + 32)\n"
    "/* lanes of a and b side by side, by their numbers */\n"
    "#if defined(__clang__) || __GNUC__ >= 12\n"
    "#define CTUNE_SLIDE(mask, a, b, lanes) __builtin_shufflevector(a, b, lanes)\n"
    "#else\n"
    "#define CTUNE_SLIDE(mask, a, b, lanes) __builtin_shuffle(a, b, __extension__((mask){lanes}))\n"
    "#endif\n"
    "#if defined(__clang__)\n"
    "#define CTUNE_SIMD CTUNE_PRAGMA(clang loop vectorize(assume_safety))\n"
    "#define CTUNE_UNROLL(n) CTUNE_PRAGMA(clang loop unroll_count(n))\n"
    "#pragma clang diagnostic ignored \"-Wpass-failed\"\n"
    "#else\n"
    "#define CTUNE_SIMD CTUNE_PRAGMA(GCC ivdep)\n"
    "#define CTUNE_UNROLL(n) CTUNE_PRAGMA(GCC unroll n)\n"
    "#endif\n"
    "/* ends a step of an unrolled loop: loads of the next ones are not moved before it */\n"
    "#define CTUNE_STEP __asm__ __volatile__(\"\" ::: \"memory\")\n";

/* Lanes of two vectors, counted through both. */
static const char shuffles[] =
    "#if defined(__clang__) || __GNUC__ >= 12\n"
    "#define CTUNE_SHUFFLE2(a, b, i0, i1) \\\n"
    "    __builtin_shufflevector(a, b, i0, i1)\n"
    "#define CTUNE_SHUFFLE4(a, b, i0, i1, i2, i3) \\\n"
    "    __builtin_shufflevector(a, b, i0, i1, i2, i3)\n"
    "#define CTUNE_SHUFFLE8(a, b, i0, i1, i2, i3, i4, i5, i6, i7) \\\n"
    "    __builtin_shufflevector(a, b, i0, i1, i2, i3, i4, i5, i6, i7)\n"
    "#define CTUNE_SHUFFLE16(a, b, i0, i1, i2, i3, i4, i5, i6, i7, i8, i9, i10, i11, i12, i13, "
    "i14, i15) \\\n"
    "    __builtin_shufflevector(a, b, i0, i1, i2, i3, i4, i5, i6, i7, i8, i9, i10, i11, i12, i13, "
    "i14, i15)\n"
    "#else\n"
    "#define CTUNE_SHUFFLE2(a, b, i0, i1) \\\n"
    "    __builtin_shuffle(a, b, __extension__(__typeof__((a) < (a))){i0, i1})\n"
    "#define CTUNE_SHUFFLE4(a, b, i0, i1, i2, i3) \\\n"
    "    __builtin_shuffle(a, b, __extension__(__typeof__((a) < (a))){i0, i1, i2, i3})\n"
    "#define CTUNE_SHUFFLE8(a, b, i0, i1, i2, i3, i4, i5, i6, i7) \\\n"
    "    __builtin_shuffle(a, b, __extension__(__typeof__((a) < (a))){i0, i1, i2, i3, i4, i5, i6, "
    "i7})\n"
    "#define CTUNE_SHUFFLE16(a, b, i0, i1, i2, i3, i4, i5, i6, i7, i8, i9, i10, i11, i12, i13, "
    "i14, i15) \\\n"
    "    __builtin_shuffle(a, b, __extension__(__typeof__((a) < (a))){i0, i1, i2, i3, i4, i5, i6, "
    "i7, i8, i9, i10, i11, i12, i13, i14, i15})\n"
    "#endif\n";

/* The always-inlined function hands its attribute to the function that it is inlined into. */
static const char wide[] =
    "/* where CTUNE_WIDE stands, clang keeps 64-byte vectors whole on targets that prefer 32 */\n"
    "#if defined(__clang__) && defined(__AVX512F__)\n"
    "__attribute__((__always_inline__, __unused__, __min_vector_width__(512))) static __inline__ "
    "void\n"
    "ctune_wide(void) {}\n"
    "#define CTUNE_WIDE ctune_wide()\n"
    "#else\n"
    "#define CTUNE_WIDE (void)0\n"
    "#endif\n";

static const char round_head[] =
    "/* a product that is rounded before it is added: the compiler cannot fuse what passes here "
    "*/\n"
    "#define CTUNE_ROUND(type, x) CTUNE_ROUND_AS(ctune_r0, CTUNE_REG, type, x)\n"
    "#if (defined(__x86_64__) || defined(__i386__)) && !defined(__FMA__) && "
    "!defined(__AVX512F__) && \\\n"
    "    !defined(__FMA4__)\n"
    "#define CTUNE_ROUND_AS(r, reg, type, x) (x)\n";

/* Clang fuses within one expression, unless it was asked for more. */
static const char round_within[] =
    "#elif defined(__clang__) && !defined(__FAST_MATH__)\n"
    "#define CTUNE_ROUND_AS(r, reg, type, x) __extension__({ const type r = (x); r; })\n";

static const char round_tail[] = "#else\n"
                                 "#define CTUNE_ROUND_AS(r, reg, type, x) \\\n"
                                 "    __extension__({ type r = (x); __asm__(\"\" : reg(r)); r; })\n"
                                 "#endif\n"
                                 "#if defined(__AVX512F__)\n"
                                 "#define CTUNE_REG \"+v\"\n"
                                 "#define CTUNE_REG_64 \"+v\"\n"
                                 "#elif defined(__x86_64__) || defined(__i386__)\n"
                                 "#define CTUNE_REG \"+x\"\n"
                                 "#define CTUNE_REG_64 \"+m\"\n"
                                 "#elif defined(__aarch64__)\n"
                                 "#define CTUNE_REG \"+w\"\n"
                                 "#define CTUNE_REG_64 \"+m\"\n"
                                 "#else\n"
                                 "#define CTUNE_REG \"+m\"\n"
                                 "#define CTUNE_REG_64 \"+m\"\n"
                                 "#endif\n"
                                 "#define CTUNE_REG_SMALL \"+m\"\n";

static const char helpers[] =
    "CTUNE_FUNCTION long ctune_min(long ctune_x, long ctune_y) {\n"
    "    return ctune_x < ctune_y ? ctune_x : ctune_y;\n"
    "}\n"
    "CTUNE_FUNCTION long ctune_max(long ctune_x, long ctune_y) {\n"
    "    return ctune_x > ctune_y ? ctune_x : ctune_y;\n"
    "}\n"
    "/* floor(x / y), y > 0: C's division truncates */\n"
    "CTUNE_FUNCTION long ctune_floordiv(long ctune_x, long ctune_y) {\n"
    "    return ctune_x >= 0 ? ctune_x / ctune_y : -((ctune_y - 1 - ctune_x) / ctune_y);\n"
    "}\n"
    "/* do the byte ranges [p + p0, p + p1) and [q + q0, q + q1) not meet? */\n"
    "CTUNE_FUNCTION int ctune_disjoint(const volatile void *ctune_p, long ctune_p0, long "
    "ctune_p1,\n"
    "                                  const volatile void *ctune_q, long ctune_q0, long ctune_q1) "
    "{\n"
    "    const ctune_address ctune_x = (ctune_address)ctune_p, ctune_y = (ctune_address)ctune_q;\n"
    "    return ctune_p1 <= ctune_p0 || ctune_q1 <= ctune_q0 ||\n"
    "           ctune_x + (ctune_address)ctune_p1 <= ctune_y + (ctune_address)ctune_q0 ||\n"
    "           ctune_y + (ctune_address)ctune_q1 <= ctune_x + (ctune_address)ctune_p0;\n"
    "}\n"
    "/* elements from row to row of the pointers p[lo..hi]; 0 when they are not all alike */\n"
    "CTUNE_FUNCTION long ctune_row_step(const void *ctune_p, long ctune_lo, long "
    "ctune_hi,\n"
    "                                   long ctune_bytes) {\n"
    "    const char *const ctune_row = (const char *)ctune_p + ctune_lo * (long)sizeof(void *);\n"
    "    ctune_address ctune_x, ctune_y;\n"
    "    long ctune_i, ctune_step = 0;\n"
    "    for (ctune_i = 0; ctune_i < ctune_hi - ctune_lo; ctune_i++) {\n"
    "        __builtin_memcpy(&ctune_x, ctune_row + ctune_i * (long)sizeof(void *), "
    "sizeof(void *));\n"
    "        __builtin_memcpy(&ctune_y, ctune_row + (ctune_i + 1) * (long)sizeof(void *), "
    "sizeof(void *));\n"
    "        if (ctune_i > 0 && (long)(ctune_y - ctune_x) != ctune_step) return 0;\n"
    "        ctune_step = (long)(ctune_y - ctune_x);\n"
    "    }\n"
    "    return ctune_step > 0 && ctune_step % ctune_bytes == 0 ? ctune_step / ctune_bytes : 0;\n"
    "}\n"
    "/* 64-byte-aligned scratch memory, NULL when there is none; the pointer to free stands before "
    "it */\n"
    "CTUNE_FUNCTION void *ctune_alloc(ctune_size ctune_bytes) {\n"
    "    char *const ctune_raw = (char *)__builtin_malloc(ctune_bytes + 128);\n"
    "    char *ctune_start;\n"
    "    if (ctune_raw == 0) return 0;\n"
    "    ctune_start = ctune_raw + 128 - ((ctune_address)ctune_raw & 63);\n"
    "    ((void **)(void *)ctune_start)[-1] = ctune_raw;\n"
    "    return ctune_start;\n"
    "}\n"
    "CTUNE_FUNCTION void ctune_free(void *ctune_p) { __builtin_free(((void **)ctune_p)[-1]); }\n";

static const char threads[] =
    "#if defined(_OPENMP)\n"
    "extern int omp_get_thread_num(void);\n"
    "extern int omp_get_max_threads(void);\n"
    "CTUNE_FUNCTION ctune_size ctune_thread(void) { return (ctune_size)omp_get_thread_num(); }\n"
    "CTUNE_FUNCTION ctune_size ctune_threads(void) { return (ctune_size)omp_get_max_threads(); }\n"
    "#else\n"
    "CTUNE_FUNCTION ctune_size ctune_thread(void) { return 0; }\n"
    "CTUNE_FUNCTION ctune_size ctune_threads(void) { return 1; }\n"
    "#endif\n";

/* A vector's bytes past the caches: in one piece where the address allows it, else in halves or
 * quarters, which a line's buffer puts together again; ordinary where it is not even 16-aligned. */
static const char stream[] =
    "#if defined(__SSE2__)\n"
    "typedef float ctune_piece16 __attribute__((__vector_size__(16), __may_alias__, "
    "__unused__));\n"
    "#if defined(__AVX__)\n"
    "typedef float ctune_piece32 __attribute__((__vector_size__(32), __may_alias__, "
    "__unused__));\n"
    "#endif\n"
    "#if defined(__AVX512F__)\n"
    "typedef float ctune_piece64 __attribute__((__vector_size__(64), __may_alias__, "
    "__unused__));\n"
    "#endif\n"
    "#if defined(__clang__)\n"
    "#define CTUNE_PIECE(bytes, past, p, v) __builtin_nontemporal_store( \\\n"
    "        *(const ctune_piece##bytes *)(v), (ctune_piece##bytes *)(p))\n"
    "#else\n"
    "#define CTUNE_PIECE(bytes, past, p, v) __builtin_ia32_##past( \\\n"
    "        (float *)(p), *(const ctune_piece##bytes *)(v))\n"
    "#endif\n"
    "CTUNE_FUNCTION void ctune_stream(void *ctune_p, const void *ctune_v, ctune_size ctune_n) {\n"
    "    char *const ctune_to = (char *)ctune_p;\n"
    "    const char *const ctune_from = (const char *)ctune_v;\n"
    "    const ctune_size ctune_odd = (ctune_size)(ctune_address)ctune_p;\n"
    "    ctune_size ctune_i;\n"
    "#if defined(__AVX512F__)\n"
    "    if (ctune_n == 64 && ctune_odd % 64 == 0) {\n"
    "        CTUNE_PIECE(64, movntps512, ctune_to, ctune_from);\n"
    "        return;\n"
    "    }\n"
    "#endif\n"
    "#if defined(__AVX__)\n"
    "    if (ctune_n % 32 == 0 && ctune_odd % 32 == 0) {\n"
    "        for (ctune_i = 0; ctune_i < ctune_n; ctune_i += 32)\n"
    "            CTUNE_PIECE(32, movntps256, ctune_to + ctune_i, ctune_from + ctune_i);\n"
    "        return;\n"
    "    }\n"
    "#endif\n"
    "    if (ctune_n % 16 == 0 && ctune_odd % 16 == 0) {\n"
    "        for (ctune_i = 0; ctune_i < ctune_n; ctune_i += 16)\n"
    "            CTUNE_PIECE(16, movntps, ctune_to + ctune_i, ctune_from + ctune_i);\n"
    "        return;\n"
    "    }\n"
    "    __builtin_memcpy(ctune_p, ctune_v, ctune_n);\n"
    "}\n"
    "#define CTUNE_STREAM_END __builtin_ia32_sfence()\n"
    "#else\n"
    "#define ctune_stream(p, v, n) __builtin_memcpy(p, v, n)\n"
    "#define CTUNE_STREAM_END (void)0\n"
    "#endif\n"
    "#define CTUNE_STREAM(type, p, v) \\\n"
    "    do { const type ctune_x = v; ctune_stream(p, &ctune_x, sizeof ctune_x); } while (0)\n";

/* The memory of an array of one vector is that of its lanes. */
static const char fma_any[] =
    "CTUNE_FUNCTION const void *ctune_fma_f32(float *ctune_c, const float *ctune_a, const float "
    "*ctune_b, int ctune_n) "
    "{\n"
    "    int ctune_i;\n"
    "    for (ctune_i = 0; ctune_i < ctune_n; ctune_i++) ctune_c[ctune_i] = "
    "__builtin_fmaf(ctune_a[ctune_i], ctune_b[ctune_i], ctune_c[ctune_i]);\n"
    "    return ctune_c;\n"
    "}\n"
    "CTUNE_FUNCTION const void *ctune_fma_f64(double *ctune_c, const double *ctune_a, const double "
    "*ctune_b, "
    "int ctune_n) {\n"
    "    int ctune_i;\n"
    "    for (ctune_i = 0; ctune_i < ctune_n; ctune_i++) ctune_c[ctune_i] = "
    "__builtin_fma(ctune_a[ctune_i], ctune_b[ctune_i], ctune_c[ctune_i]);\n"
    "    return ctune_c;\n"
    "}\n"
    "#define CTUNE_FMA_ANY(elem, name, n, a, b, c) \\\n"
    "    __extension__(*(const ctune_##name##x##n *)ctune_fma_##name( \\\n"
    "        (elem *)(ctune_##name##x##n[1]){c}, (const elem *)(ctune_##name##x##n[1]){a}, \\\n"
    "        (const elem *)(ctune_##name##x##n[1]){b}, n))\n";

/* ---- fused products of vectors -----------------------------------------------------------------
 */

/* Type, lanes, when GCC has an instruction, and the text that gives it. */
static const struct {
    ctune_type type;
    int lanes;
    const char *when, *text;
} fma_rows[] = {
    {CTUNE_F32, 16, "defined(__AVX512F__)", "__builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4)"},
    {CTUNE_F64, 8, "defined(__AVX512F__)",
     "__builtin_ia32_vfmaddpd512_mask(a, b, c, (unsigned char)-1, 4)"},
    {CTUNE_F32, 8, "defined(__FMA__)", "__builtin_ia32_vfmaddps256(a, b, c)"},
    {CTUNE_F64, 4, "defined(__FMA__)", "__builtin_ia32_vfmaddpd256(a, b, c)"},
    {CTUNE_F32, 4, "defined(__FMA__)", "__builtin_ia32_vfmaddps(a, b, c)"},
    {CTUNE_F64, 2, "defined(__FMA__)", "__builtin_ia32_vfmaddpd(a, b, c)"},
    {CTUNE_F32, 4, "defined(__aarch64__)", "__builtin_aarch64_fmav4sf(a, b, c)"},
    {CTUNE_F64, 2, "defined(__aarch64__)", "__builtin_aarch64_fmav2df(a, b, c)"},
    {CTUNE_F32, 2, "defined(__aarch64__)", "__builtin_aarch64_fmav2sf(a, b, c)"},
};

static void print_gcc_fma(ctune_type type, int lanes, ctune_text *out) {
    const ctune_type_info *info = ctune_type_get(type);
    const char *word = "#if";
    for (size_t i = 0; i < sizeof fma_rows / sizeof *fma_rows; i++) {
        if (fma_rows[i].type == type && fma_rows[i].lanes == lanes) {
            ctune_text_printf(out, "%s %s\n#define ctune_fma_%sx%d(a, b, c) %s\n", word,
                              fma_rows[i].when, info->name, lanes, fma_rows[i].text);
            word = "#elif";
        }
    }
    bool is_only = word[1] == 'i';
    ctune_text_printf(out,
                      "%s#define ctune_fma_%sx%d(a, b, c) CTUNE_FMA_ANY(%s, %s, %d, a, b, c)\n%s",
                      is_only ? "" : "#else\n", info->name, lanes, info->c_name, info->name, lanes,
                      is_only ? "" : "#endif\n");
}

static void print_vectors(const ctune_emit_options *options, ctune_text *out) {
    static const ctune_type types[] = {CTUNE_F32, CTUNE_F64};
    for (int pass = 0; pass < 3; pass++) { /* types; clang; GCC */
        ctune_text_append(out, pass == 0 ? "" : pass == 1 ? "#if defined(__clang__)\n" : "#else\n");
        for (size_t i = 0; i < 2; i++) {
            for (int lanes = 2; emit_prelude_has(options, types[i], lanes); lanes *= 2) {
                if (pass == 0) {
                    emit_vector_typedef(out, types[i], lanes);
                } else if (pass == 1) {
                    ctune_text_printf(
                        out,
                        "#define ctune_fma_%sx%d(a, b, c) __builtin_elementwise_fma(a, b, c)\n",
                        ctune_type_get(types[i])->name, lanes);
                } else {
                    print_gcc_fma(types[i], lanes, out);
                }
            }
        }
        if (pass == 0) {
            ctune_text_append(out, fma_any);
        }
    }
    ctune_text_append(out, "#endif\n");
}

void ctune_emit_prelude(const ctune_emit_options *options, ctune_text *out) {
    ctune_text_append(out, "#ifndef CTUNE_PRELUDE\n"
                           "#define CTUNE_PRELUDE\n");
    ctune_text_append(out, basics);
    ctune_text_append(out, wide);
    ctune_text_append(out, shuffles);
    ctune_text_append(out, round_head);
    /* an emission for GCC says nothing about a later compile by clang with its defaults; one for
     * clang with contraction across expressions has no macro to tell it by */
    ctune_text_append(out, options->target->contract == CTUNE_CONTRACT_FAST ? "" : round_within);
    ctune_text_append(out, round_tail);
    ctune_text_append(out, helpers);
    ctune_text_append(out, threads);
    ctune_text_append(out, stream);
    print_vectors(options, out);
    emit_math_prelude(options, out);
    emit_dot_prelude(options, out);
    if (!options->is_source) {
        ctune_text_append(out, "typedef struct ctune_args {\n"
                               "    const long *params;\n"
                               "    void *const *tensors;\n"
                               "} ctune_args;\n");
    }
    ctune_text_append(out, "#endif\n");
}
