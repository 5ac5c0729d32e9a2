# Register tiles of many shapes stay in registers, for one compiler and one -march: no vector goes to the stack in an inner loop.
# Objects are only looked at, so that the machine need not have these instructions.
#   tiles.sh COMPILER MARCH LANES SHAPE...
# LANES: floats in a vector. SHAPE: rows x floats of a row, :N = N steps of the reduction in one.
. "$(dirname "$0")/lib.sh"
compiler=$1
arch=$2
lanes=$3
shift 3
[ "$(uname -m)" = x86_64 ] || exit 77
echo | $compiler -march="$arch" -x c -c - -o /dev/null 2>"$work/stderr" || {
    echo "$compiler does not know $arch"
    exit 77
}
for shape; do
    rows=${shape%%x*}
    steps=1
    [ "${shape#*:}" = "$shape" ] || steps=${shape#*:}
    shape=${shape%:*}
    width=${shape#*x}
    reduce="split k 256 -> k0 k1; reorder k0 j0 i0 k1 i1 j1"
    [ "$steps" = 1 ] ||
        reduce="split k 256 -> k0 k1; split k1 $steps -> k1 k2; reorder k0 j0 i0 k1 k2 i1 j1; unroll k2"
    cat >tile.c <<END
void gemm(int n, float A[n][n], float B[n][n], float C[n][n]) {
#pragma tune schedule("split i $rows -> i0 i1; split j $width -> j0 j1; $reduce; cache_read S0.1 at j0 pack; cache_write S0 at i0 register; unroll i1; vectorize j1")
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
    [ "$sum" -ge $((rows * width)) ] ||
        fail "$rows x $width, $steps steps: $sum lanes of multiply-adds in whole vectors"
    [ "$n_stack" = 0 ] || fail "$rows x $width, $steps steps: $n_stack accesses of vectors on the stack in inner loops"
done
