# Rewritten C for another machine: kernels under several schedules, compiled for AArch64 and run by qemu, give the checksums of
# their originals, which are of all bits of the outputs. By GCC, and by clang where it finds GCC's libraries.
#   aarch64.sh CONTRACT    -ffp-contract=CONTRACT; default: the compiler's own
# Rows marked "ordered" sum products in order, in floating point: GCC may vectorise that and round there what it fuses in another
# copy of the same loop, so that its default says nothing about ctune; these are compared with -ffp-contract=off and by clang.
# All others must hold whatever the compiler contracts.
. "$(dirname "$0")/lib.sh"
contract=$1
command -v qemu-aarch64 >/dev/null || exit 77
command -v aarch64-linux-gnu-gcc >/dev/null || exit 77
arm="qemu-aarch64 -L /usr/aarch64-linux-gnu"

# kernel | any or ordered | schedule
cat >rows <<'END'
gemm|any|split j 8 -> j0 j1; vectorize j1
gemm|any|distribute; split i_2 4 -> i0 i1; split j_2 8 -> j0 j1; split k 64 -> k0 k1; reorder k0 j0 i0 k1 i1 j1; unroll i1; vectorize j1; cache_write S1 at i0 register
gemm|any|distribute; split i_2 4 -> i0 i1; split j_2 6 -> j0 j1; split k 16 -> k0 k1; reorder k0 j0 i0 k1 i1 j1; cache_read S1.2 at j0 pack; cache_write S1 at i0 register; unroll i1; vectorize j1
gemm|any|distribute; parallel i_2
jacobi-2d|any|split j 4 -> j0 j1; vectorize j1; split j_2 16 -> j2 j3; vectorize j3
jacobi-2d|any|split i 8 -> i0 i1; split j 8 -> j0 j1; reorder i0 j0 i1 j1; unroll i1; vectorize j1; parallel i_2
trisolv|ordered|split j 4 -> j0 j1; unroll j1
trisolv|ordered|split i 8 -> i0 i1; split j 8 -> j0 j1
int8-gemm|any|split i 4 -> i0 i1; split j 16 -> j0 j1; reorder i0 j0 p i1 j1; unroll i1; vectorize j1; cache_write S0 at j0 register
int8-gemm|any|split i 3 -> i0 i1; split j 5 -> j0 j1; split p 7 -> p0 p1; reorder p0 i0 j0 p1 i1 j1; cache_read S0.1 at p0 pack; cache_write S0 at j0 register; unroll i1; vectorize j1
END

[ "$contract" = default ] && option= || option=-ffp-contract=$contract
compilers="aarch64-linux-gnu-gcc"
echo 'int main(void) { return 0; }' >nothing.c
clang-19 --target=aarch64-linux-gnu nothing.c -o nothing 2>"$work/stderr" && $arm ./nothing && compilers="$compilers clang-19"

for kernel in gemm jacobi-2d trisolv int8-gemm; do
    odd_sizes "$CTUNE_ROOT/tests/kernels/$kernel.c" >"$kernel.c"
done
cp "$CTUNE_ROOT/tests/kernels/kernel.h" .

checksums() {
    for size in MINI SMALL MEDIUM; do
        $arm "$1" $size 1 | sed 's/ min .*//'
    done
}
n=0
for compiler in $compilers; do
    cc="$compiler -O3 $option -fopenmp"
    [ "$compiler" != clang-19 ] || cc="clang-19 --target=aarch64-linux-gnu -O3 $option"
    while IFS='|' read -r kernel kind schedule; do
        sed "s/\(#pragma tune.*\)/\1 schedule(\"$schedule\")/" "$kernel.c" >scheduled.c
        expect 0 "$CTUNE" apply scheduled.c -o tuned.c -- $cc
        has tuned.c 'ctune:begin'
        case $kind.$contract.$compiler in
        ordered.default.*-gcc) continue ;;
        esac
        expect 0 $cc -w "$kernel.c" -o original -lm
        expect 0 $cc -Wall -Wextra -Werror -Wno-unknown-pragmas -Wno-unused-parameter -Wno-unused-function tuned.c -o tuned -lm
        checksums ./original >want || fail "$kernel does not run"
        [ "$(grep -c checksum want)" = 3 ] || fail "no checksums of $kernel"
        checksums ./tuned >"$work/stdout" || fail "$kernel does not run: $schedule"
        cmp -s want "$work/stdout" || fail "$cc, $kernel: other results: $schedule"
        n=$((n + 1))
    done <rows
done
[ $n -ge 4 ] || fail "only $n programs compared"
