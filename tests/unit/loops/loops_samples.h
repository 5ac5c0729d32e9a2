/* Programs as text over one region, for the tests of this library and of passes. */
#ifndef CTUNE_TESTS_UNIT_LOOPS_LOOPS_SAMPLES_H
#define CTUNE_TESTS_UNIT_LOOPS_LOOPS_SAMPLES_H

#include "loops_region.h"
#include "search/loops/loops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline ctune_region *loops_region(void) {
    static ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    ctune_region *region = NULL;
    if (ctune_te_parse(&ctx, loops_region_text(), &region) != CTUNE_OK) {
        print_error("%s\n", ctx.error);
    }
    assert_non_null(region);
    return region;
}

static inline ctune_loops *loops_parsed(const ctune_region *region, const char *text) {
    static ctune_ctx ctx; /* the program keeps it */
    ctune_ctx_init(&ctx);
    ctune_loops *l = NULL;
    char *whole = NULL;
    assert_true(asprintf(&whole, "loops 1\n%s", text) > 0);
    if (ctune_loops_parse(&ctx, region, whole, &l) != CTUNE_OK) {
        print_error("%s\n%s\n", ctx.error, whole);
    }
    free(whole);
    assert_non_null(l);
    return l;
}

/* Whole programs, without the first line. NULL-terminated. */
static inline const char *const *loops_programs(void) {
    static const char *const programs[] = {
        "", /* nothing */
        "for i.0 from 0 below n {\n"
        "    for j.1 from 0 below n {\n"
        "        for k.2 from 0 below m {\n"
        "            store C[i.0][j.1] = fma(A[i.0][k.2], B[k.2][j.1], C[i.0][j.1])\n"
        "        }\n"
        "    }\n"
        "}\n",
        /* tiles, parallel, a thread's buffer, vectors, a remainder */
        "let tiles.0 = floor((n + 15) / 16)\n"
        "decl whole.b0[16*tiles.0][m] f32 program\n"
        "for it.1 from 0 below n step 4 parallel collapse 2 dynamic {\n"
        "    for jt.2 from 0 below n step 16 {\n"
        "        let i_end.3 = min(n, it.1 + 4)\n"
        "        decl packed.b1[m][16] f32 thread\n"
        "        if n - jt.2 - 16 >= 0 {\n"
        "            for k.4 from 0 below m {\n"
        "                store packed.b1[k.4][0:16] = B[k.4][jt.2:16]\n"
        "            }\n"
        "            \"full tile\"\n"
        "            for i.5 from it.1 below i_end.3 {\n"
        "                def acc.6 f32x16 mutable = C[i.5][jt.2:16]\n"
        "                for k.7 from 0 below m unroll 4 {\n"
        "                    set acc.6 = fma(splat(A[i.5][k.7], 16), packed.b1[k.7][0:16], "
        "acc.6)\n"
        "                }\n"
        "                store C[i.5][jt.2:16] = acc.6\n"
        "            }\n"
        "        } else {\n"
        "            for i.8 from it.1 below i_end.3 {\n"
        "                for j.9 from jt.2 below n simd {\n"
        "                    def sum.10 f32 mutable = C[i.8][j.9]\n"
        "                    for k.11 from 0 below m {\n"
        "                        set sum.10 = fma(A[i.8][k.11], B[k.11][j.9], sum.10)\n"
        "                    }\n"
        "                    store C[i.8][j.9] = sum.10\n"
        "                }\n"
        "            }\n"
        "        }\n"
        "    }\n"
        "}\n",
        /* masks and conversions */
        "for i.0 from 0 below n - 7 step 8 {\n"
        "    def x.1 f32x8 = C[0][i.0:8]\n"
        "    def less.2 i32x8 = x.1 < splat(alpha, 8)\n"
        "    store C[0][i.0:8] = select(less.2 & ~(x.1 != x.1), x.1, -x.1)\n"
        "    store D[i.0:8] = (f64) max(x.1, splat(f32(0x0p+0), 8))\n"
        "}\n",
        /* integers, wrapping and not, scalar logic */
        "for i.0 from 0 below n {\n"
        "    store K[i.0] = K[i.0] +% i32{2*i.0 - n} *% 3 - (K[i.0] << 2 ^ ~K[i.0] & 7)\n"
        "    if i.0 - 1 >= 0, n - i.0 - 2 >= 0; K[i.0] > 0 && !(K[i.0] % 3 == 1) || K[i.0] < "
        "-%K[0] "
        "{\n"
        "        store K[i.0] = select(K[i.0] >= 10, 10, K[i.0] / 2)\n"
        "    } else {\n"
        "        store Z[i.0] = (u8) K[i.0]\n"
        "    }\n"
        "}\n",
        /* atoms of all kinds, products, a condition without forms */
        "let a.0 = 3*m*n + min(n + 2, 2*m) - floor((n + 3) / 4)*min(n + 2, 2*m) + 7\n"
        "let b.1 = max(a.0, floor(min(a.0, m) / 3))\n"
        "if ; alpha > f32(0x1p+0) {\n"
        "    store K[0] = (i32) i64{a.0*b.1 - m*n*n}\n"
        "}\n",
        /* registers, blocks, shapes of vectors */
        "seq {\n"
        "    decl acc.b0[4][8] f32 register\n"
        "    decl line.b1[32] f32 block\n"
        "    decl one.b2 f64 register\n"
        "    store one.b2 = 0.5\n"
        "    for i.0 from 0 below 4 full {\n"
        "        for j.1 from 0 below 8 vector {\n"
        "            store acc.b0[i.0][j.1] = alpha * 2.0f\n"
        "            store line.b1[8*i.0 + j.1] = acc.b0[i.0][j.1]\n"
        "        }\n"
        "    }\n"
        "    def v.2 f32x4 = gather(alpha, line.b1[0], line.b1[8], 1.5f)\n"
        "    store C[0][0] = extract(slide(v.2, v.2, 1), 2) + call sqrtf(line.b1[1])\n"
        "    store D[0] = one.b2 / (f64) extract(v.2 + line.b1[4:4], 0)\n"
        "}\n",
        /* named */
        "let n_tiles = floor(n / 8)\n"
        "decl pack[n_tiles][8] f32 program\n"
        "for it from 0 below n_tiles {\n"
        "    for ii from 0 below 8 {\n"
        "        store pack[it][ii] = L[ii + 8*it][0]\n"
        "    }\n"
        "    for ii_2 from 0 below 8 {\n"
        "        def s f32 mutable\n"
        "        set s = pack[it][ii_2]\n"
        "        store L[ii_2 + 8*it][m - 1] = s\n"
        "    }\n"
        "}\n",
        /* constants */
        "store D[0] = f64(inf) - f64(-0x0p+0) * f64(0x1.8p+3 \"12\")\n"
        "store K[0] = i32(-2147483648) - i32(7 \"0x7\")\n"
        "store H[0] = (f16) f80(0x1.999999999999ap-4 \"0.1L\")\n"
        "store u[0] = alpha\n",
        /* empty loops and blocks */
        "for i.0 from n below m {\n"
        "}\n"
        "seq {\n"
        "    seq {\n"
        "    }\n"
        "}\n"
        "if n - 4 >= 0 {\n"
        "} else {\n"
        "    store C[0][0] = min(alpha, 1.0f)\n"
        "}\n",
        NULL};
    return programs;
}

#endif
