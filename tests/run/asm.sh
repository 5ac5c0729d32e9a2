#!/bin/sh
# A register tile stays in registers: vector FMAs are there, no vector register goes to the stack. 6 x 16 floats are 12
# accumulators of the 16 registers that AVX2 has.
. "$(dirname "$0")/lib.sh"
cat >tile.c <<'END'
void gemm(int n, float A[n][n], float B[n][n], float C[n][n]) {
#pragma tune schedule("split i 6 -> i0 i1; split j 16 -> j0 j1; split k 256 -> k0 k1; reorder k0 j0 i0 k1 i1 j1; cache_read S0.1 at j0 pack; cache_write S0 at i0 register; unroll i1; vectorize j1")
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                C[i][j] += A[i][k] * B[k][j];
}
END
[ "$(uname -m)" = x86_64 ] || exit 0
for compiler in clang-19 gcc; do
    expect 0 "$CTUNE" show asm tile.c -- $compiler -O3 -mavx2 -mfma
    fmas=$(grep -c 'vfmadd.*ymm' "$work/stdout")
    spills=$(grep -c -e 'ymm.*(%rsp)' -e '(%rsp).*ymm' -e 'ymm.*(%rbp)' -e '(%rbp).*ymm' "$work/stdout")
    [ "$fmas" -ge 12 ] || fail "$compiler: $fmas vector FMAs, not 12"
    [ "$spills" -eq 0 ] || fail "$compiler: $spills accesses of vectors on the stack"
done
