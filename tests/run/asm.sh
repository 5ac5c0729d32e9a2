# A register tile stays in registers, for one compiler and one -march: enough vector multiply-adds are there, no vector goes to
# the stack in an inner loop. The object is only looked at, so that the machine need not have these instructions.
#   asm.sh COMPILER MARCH LANES
# LANES: floats in the narrowest vector that counts. The tile is 6 rows of 16 floats, or of 8 where a vector has 4 lanes: at
# most 12 accumulators, and all targets have 16 registers.
. "$(dirname "$0")/lib.sh"
compiler=$1
arch=$2
lanes=$3
[ "$(uname -m)" = x86_64 ] || exit 77
echo | $compiler -march="$arch" -x c -c - -o /dev/null 2>"$work/stderr" || {
    echo "$compiler does not know $arch"
    exit 77
}
width=16
[ "$lanes" -ge 8 ] || width=8
cat >tile.c <<END
void gemm(int n, float A[n][n], float B[n][n], float C[n][n]) {
#pragma tune schedule("split i 6 -> i0 i1; split j $width -> j0 j1; split k 256 -> k0 k1; reorder k0 j0 i0 k1 i1 j1; cache_read S0.1 at j0 pack; cache_write S0 at i0 register; unroll i1; vectorize j1")
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                C[i][j] += A[i][k] * B[k][j];
}
END
expect 0 "$CTUNE" show asm tile.c -- $compiler -O3 -march="$arch"
read -r sum n_stack <<END
$(python3 "$tests/inner_loops.py" "$lanes" <"$work/stdout")
END
[ "$sum" -ge $((6 * width)) ] || fail "$sum lanes of multiply-adds in vectors of at least $lanes, not $((6 * width))"
[ "$n_stack" = 0 ] || fail "$n_stack accesses of vectors on the stack in inner loops"
