/* Every operation, scalar and vector, as each compiler makes it: bits as the interpreter has them.
 */
#include "emit_fixture.h"

static const char region_text[] =
    "te 1\nregion values\nparam n i32 sizes 64\naxis i i32\n"
    "tensor F f32 [n]\ntensor G f32 [n]\ntensor P f32 [n]\ntensor R f32 [n]\n"
    "tensor D f64 [n]\ntensor E f64 [n]\ntensor Q f64 [n]\ntensor T f64 [n]\n"
    "tensor I i32 [n]\ntensor J i32 [n]\ntensor K i32 [n]\n"
    "tensor U u32 [n]\ntensor V u32 [n]\n"
    "tensor L i64 [n]\ntensor M i64 [n]\ntensor N i64 [n]\ntensor W u64 [n]\n"
    "tensor S i16 [n]\ntensor O i16 [n]\ntensor B i8 [n]\ntensor Z u8 [n]\ntensor X f80 [n]\n"
    "stage S0: F[i] = F[i]\nstage S1: G[i] = G[i]\nstage S2: P[i] = P[i]\n"
    "stage S3: R[i] = R[i]\nstage S4: D[i] = D[i]\nstage S5: E[i] = E[i]\n"
    "stage S6: Q[i] = Q[i]\nstage S7: T[i] = T[i]\nstage S8: I[i] = I[i]\n"
    "stage S9: J[i] = J[i]\nstage S10: K[i] = K[i]\nstage S11: U[i] = U[i]\n"
    "stage S12: V[i] = V[i]\nstage S13: L[i] = L[i]\nstage S14: M[i] = M[i]\n"
    "stage S15: N[i] = N[i]\nstage S16: W[i] = W[i]\nstage S17: S[i] = S[i]\n"
    "stage S18: O[i] = O[i]\nstage S19: B[i] = B[i]\nstage S20: Z[i] = Z[i]\n"
    "stage S21: X[i] = X[i]\n"
    "order {\n for i: 0 <= i < n {\n"
    " S0\n S1\n S2\n S3\n S4\n S5\n S6\n S7\n S8\n S9\n S10\n"
    " S11\n S12\n S13\n S14\n S15\n S16\n S17\n S18\n S19\n S20\n S21\n"
    "}\n}\n";

/* target = value over elements i; `@` stands for the element or the lanes */
static const struct {
    const char *target, *value;
    int max_lanes;
} rows[] = {
    /* products that a sum could absorb */
    {"R", "F@ * G@ + P@", 16},
    {"R", "F@ * G@ - P@ * F@", 16},
    {"R", "P@ - -(F@ * G@)", 16},
    {"R", "(F@ * G@ + P@) * G@ + F@", 16},
    {"R", "((F@ * G@ + P@) * G@ + F@) * P@ - G@ * G@", 16},
    {"R", "select(F@ < G@, F@ * G@, P@) + P@", 16},
    {"R", "R@ + F@ * G@", 16},
    {"R", "F@ * G@", 16},
    {"T", "D@ * E@ + Q@", 8},
    {"T", "D@ - E@ * Q@", 8},
    {"T", "T@ - D@ * E@", 8},
    {"X", "X@ * X@ + X@", 1},
    /* fused ones */
    {"R", "fma(F@, G@, P@)", 16},
    {"R", "fma(-F@, G@, fma(G@, P@, -F@))", 16},
    {"R", "fma(F@ + G@, P@ - F@, G@ * P@)", 16},
    {"T", "fma(D@, E@, Q@)", 8},
    {"T", "fma(D@, E@, -Q@) + D@", 8},
    /* order and signs */
    {"R", "F@ - (G@ - P@)", 16},
    {"R", "F@ / (G@ * P@)", 16},
    {"R", "F@ / G@ * P@", 16},
    {"R", "F@ * (G@ / P@)", 16},
    {"R", "-(-F@)", 16},
    {"R", "F@ - -G@", 16},
    {"R", "-(F@ - G@)", 16},
    {"R", "F@ + (G@ + P@)", 16},
    {"T", "-(D@ / -E@)", 8},
    /* choices */
    {"R", "min(F@, G@)", 16},
    {"R", "max(-F@, min(G@, P@))", 16},
    {"T", "max(D@, E@)", 8},
    {"R", "select(F@ <= G@, F@, P@)", 16},
    {"R", "select(F@ != F@, G@, F@)", 16},
    {"T", "select(D@ == E@, -D@, Q@)", 8},
    {"K", "min(I@, max(J@, K@))", 16},
    {"K", "select(I@ > J@, I@, J@)", 16},
    {"U", "select(U@ >= V@, U@, V@)", 16},
    {"N", "select(L@ < M@, L@, M@)", 8},
    /* integers */
    {"K", "I@ +% J@ *% K@", 16},
    {"K", "-%I@ -% J@", 16},
    {"K", "(I@ & J@) | (K@ ^ ~I@)", 16},
    {"K", "I@ >> 3", 1},
    {"U", "(U@ << 3) + V@ * U@ - (V@ >> 7)", 1},
    {"U", "U@ + V@ * U@ - V@", 16},
    {"N", "L@ *% M@ +% N@", 8},
    {"N", "-%L@ -% M@", 8},
    {"W", "W@ * W@ + W@", 8},
    {"K", "i32(-2147483648) -% I@", 1},
    {"K", "(I@ | 1) / 7 + I@ % 13", 1},
    {"N", "i64(-9223372036854775808) +% L@", 1},
    {"N", "L@ +% i64(5000000000)", 1},
    {"U", "U@ / u32(7) % u32(4294967295)", 1},
    /* conversions */
    {"T", "(f64) F@", 8},
    {"R", "(f32) D@", 8},
    {"T", "(f64) I@", 8},
    {"R", "(f32) U@", 16},
    {"N", "(i64) I@", 8},
    {"K", "(i32) L@", 8},
    {"K", "(i32) S@", 16},
    {"S", "(i16) ((i32) S@ +% (i32) O@)", 16},
    {"B", "(i8) ((i32) B@ *% (i32) Z@)", 16},
    {"Z", "(u8) ((i32) Z@ + (i32) B@)", 16},
    {"X", "(f80) D@ + X@", 1},
    {"T", "(f64) (X@ * X@ - X@)", 1},
    {"R", "f32{3*i.0 - n} + F@", 1},
    {"N", "i64{i.0 * n} +% L@", 1},
    {"W", "u64{i.0} - W@", 1},
    /* logic */
    {"K", "I@ < J@ && (K@ > 0 || !(I@ == J@))", 1},
    {"K", "!(I@ & 4) + (F@ < G@)", 1},
    {"K", "(F@ || D@) && !P@", 1},
    {"K", "select(I@ * J@ || K@, 1, -1)", 1},
    /* constants */
    {"R", "F@ * 0.1f + f32(inf)", 1},
    {"R", "F@ - f32(-0x0p+0) * f32(0x1.99999ap-4)", 1},
    {"T", "D@ * f64(0x1.999999999999ap-4) - f64(0x0.0000000000001p-1022)", 1},
    {"X", "X@ * f80(0x1.999999999999ap-4)", 1},
    {"R", "call sqrtf(call fabsf(F@)) + call fmaf(F@, G@, P@)", 1},
    {"R", "call sqrtf(call fabsf(F@)) * G@ + call fabsf(-G@)", 16},
    {"R", "call sqrtf(F@) + P@ / call sqrtf(call sqrtf(G@ * G@))", 16},
    {"T", "call sqrt(call fabs(D@)) - call sqrt(E@)", 8},
    {"T", "call floor(D@) - call copysign(E@, Q@)", 1},
};

/* Several statements: products that reach a sum through names, memory and lanes. */
static const char *const programs[] = {
    "for i.0 from 0 below n {\n"
    "    def x.1 f32 = F[i.0] * G[i.0]\n"
    "    def y.2 f32 = -x.1\n"
    "    store R[i.0] = y.2 + P[i.0]\n"
    "    store P[i.0] = x.1 / G[i.0]\n"
    "}\n",
    "for i.0 from 0 below n - 7 step 8 {\n"
    "    def x.1 f32x8 mutable = F[i.0:8] * G[i.0:8]\n"
    "    for j.2 from 0 below 3 {\n"
    "        set x.1 = x.1 + P[i.0:8]\n"
    "        set x.1 = x.1 * G[i.0:8]\n"
    "    }\n"
    "    store R[i.0:8] = x.1\n"
    "}\n",
    "for i.0 from 0 below n {\n"
    "    decl t.b0[4] f64 block\n"
    "    for j.1 from 0 below 4 {\n"
    "        store t.b0[j.1] = D[i.0] * f64{j.1}\n"
    "    }\n"
    "    for j.2 from 0 below 4 {\n"
    "        store T[i.0] = T[i.0] + t.b0[j.2]\n"
    "    }\n"
    "}\n",
    "for i.0 from 0 below n simd {\n"
    "    store R[i.0] = F[i.0] * G[i.0]\n"
    "    store P[i.0] = R[i.0] + P[i.0]\n"
    "}\n",
    "for i.0 from 1 below n {\n"
    "    store R[i.0] = 0.25f * (F[i.0] + R[i.0 - 1])\n"
    "}\n",
    "for i.0 from 0 below n - 3 step 4 {\n"
    "    def x.1 f32x4 = gather(F[i.0], G[i.0 + 1], 2.0f * F[i.0 + 2], P[i.0] * P[i.0 + 3])\n"
    "    store R[i.0:4] = x.1 + splat(F[i.0] * G[i.0], 4)\n"
    "    store R[i.0 + 1] = extract(x.1, 2) - extract(x.1 * R[i.0:4], 3)\n"
    "    store F[i.0:4] = splat(f32(-0x0p+0), 4) + splat(F[i.0], 4) * splat(f32(0x0p+0), 4)\n"
    "}\n",
    "for i.0 from 0 below n - 15 step 16 {\n"
    "    def m.1 i32x16 = F[i.0:16] < G[i.0:16] & P[i.0:16] == P[i.0:16]\n"
    "    store R[i.0:16] = select(m.1 | ~(F[i.0:16] >= P[i.0:16]), F[i.0:16], G[i.0:16])\n"
    "    store K[i.0:16] = m.1\n"
    "}\n",
    "for i.0 from 0 below n - 7 step 8 {\n"
    "    def a.1 f64x8 = (f64) F[i.0:8]\n"
    "    store T[i.0:8] = a.1 * D[i.0:8] + E[i.0:8]\n"
    "    store R[i.0:8] = (f32) (a.1 * E[i.0:8]) + P[i.0:8]\n"
    "}\n",
};

static void add_row(unit *u, ctune_ctx *ctx, size_t row, int lanes) {
    char at[32], value[512] = "", text[1024];
    snprintf(at, sizeof at, lanes > 1 ? "[i.0:%d]" : "[i.0]", lanes);
    for (const char *p = rows[row].value; *p != '\0'; p++) {
        size_t n = strlen(value);
        snprintf(value + n, sizeof value - n, "%.*s", *p == '@' ? 32 : 1, *p == '@' ? at : p);
    }
    snprintf(text, sizeof text, "for i.0 from 0 below n - %d step %d%s {\n    store %s%s = %s\n}\n",
             lanes - 1, lanes, lanes == 1 ? " simd" : "", rows[row].target, at, value);
    unit_add(u, ctx, text);
}

static const compile compiles[] = {
    {"gcc", "-O0 -march=x86-64-v3", true, CTUNE_CONTRACT_FAST, false, false, 3},
    {"gcc", "-O3 -march=x86-64-v3", true, CTUNE_CONTRACT_FAST, false, false, 3},
    {"gcc", "-O2 -march=x86-64-v4", true, CTUNE_CONTRACT_FAST, false, false, 4},
    {"gcc", "-O3 -march=x86-64-v4 -ffp-contract=off", true, CTUNE_CONTRACT_OFF, false, false, 4},
    {"gcc", "-O1", false, CTUNE_CONTRACT_FAST, false, false, 0},
    {"gcc", "-O2 -march=x86-64-v3 -std=c89 -pedantic-errors -Wno-long-long", true,
     CTUNE_CONTRACT_OFF, false, true, 3},
    {"clang-19", "-O0 -march=x86-64-v4", true, CTUNE_CONTRACT_ON, false, false, 4},
    {"clang-19", "-O2 -march=x86-64-v3", true, CTUNE_CONTRACT_ON, false, false, 3},
    {"clang-19", "-O3 -march=x86-64-v4 -ffp-contract=fast", true, CTUNE_CONTRACT_FAST, false, false,
     4},
    {"clang-19", "-O2 -march=x86-64-v3 -ffp-contract=fast", true, CTUNE_CONTRACT_FAST, false, false,
     3},
    {"clang-19", "-O2", false, CTUNE_CONTRACT_ON, false, false, 0},
    {"clang-19", "-O1 -march=x86-64-v3 -std=c89 -pedantic-errors", true, CTUNE_CONTRACT_ON, false,
     true, 3},
};

static void test_values(void **state) {
    (void)state;
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    ctune_region *region = region_of(region_text);
    unit u = {.region = region};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        add_row(&u, &ctx, r, 1);
        if (rows[r].max_lanes > 1) {
            add_row(&u, &ctx, r, r % 3 == 0 ? rows[r].max_lanes : r % 3 == 1 ? 4 : 2);
        }
    }
    for (size_t p = 0; p < sizeof programs / sizeof *programs; p++) {
        unit_add(&u, &ctx, programs[p]);
    }
    for (size_t i = 0; i < sizeof compiles / sizeof *compiles; i++) {
        const compile *c = &compiles[i];
        if (!has_command(c->compiler)) {
            continue;
        }
        ctune_target target = target_of(c, 64);
        ctune_emit_options options = {.target = &target, .comments = true};
        ctune_text text;
        ctune_text_init(&text);
        unit_print(&u, &ctx, &options, &text);
        char object[128];
        compile_text(c, ctune_text_get(&text), WARNINGS "-shared -fPIC -lm", object, sizeof object);
        for (int64_t n = 37; can_run(c) && n >= 0; n = n == 37 ? 16 : n == 16 ? 1 : n - 1) {
            unit_run(&u, object, &n);
        }
        remove_output(object);
        ctune_text_clear(&text);
    }
    unit_clear(&u);
    ctune_region_destroy(region);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
