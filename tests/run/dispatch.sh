# Several values in sizes(...): one lock entry each, one rewritten region that dispatches.
. "$(dirname "$0")/lib.sh"

make_gemm gemm.c 'sizes(n=14|40)'
expect 0 "$CTUNE" tune gemm.c --trials 8 --batch 8 --rounds 3 --json -- $flags
[ "$(wc -l <"$work/stdout")" = 2 ] || fail "not two results"
has ctune.lock 'n=14'
has ctune.lock 'n=40'

expect 0 "$CTUNE" apply gemm.c -o tuned.c -- $flags
same_results gemm.c tuned.c $flags
if grep -q 'ctune:begin' tuned.c; then
    [ "$(grep -c 'ctune:original begin' tuned.c)" = 1 ] || fail "the original is there more than once"
fi
expect 0 "$CTUNE" apply --undo tuned.c -o back.c -- $flags
same gemm.c back.c
expect 0 "$CTUNE" check gemm.c -- $flags
[ "$(grep -c fresh "$work/stdout")" = 2 ] || fail "check does not see both"

# two schedules of our own: variants for exactly these sizes and for those that are nearer, the original once
awk '/^  schedule/ { n++; print "  schedule"; print "    split i " 2 * n " -> i0 i1"; skip = 1; next }
     /^  speedup/ { print "  speedup 2.00 time 1.000 us"; next }
     /^end/ { skip = 0 }
     !skip' ctune.lock >two.lock
[ "$(grep -c 'split i' two.lock)" = 2 ] || fail "two.lock"
expect 0 "$CTUNE" apply gemm.c --lock two.lock -o tuned.c -- $flags
[ "$(grep -c 'ctune:original begin' tuned.c)" = 1 ] || fail "the original is there more than once"
[ "$(grep -c 'ctune:fallback begin' tuned.c)" = 3 ] || fail "not four variants"
has tuned.c '== *40'
has tuned.c '== *14'
has tuned.c '(long)(n) <= 23L'
has_not tuned.c '(long)(n) >'
# long nests gain nothing from constant sizes
sed 's/time 1.000 us/time 1.000 ms/' two.lock >long.lock
expect 0 "$CTUNE" apply gemm.c --lock long.lock -o long.c -- $flags
[ "$(grep -c 'ctune:fallback begin' long.c)" = 1 ] || fail "not two variants"
has_not long.c '== *40'
# where the original is best it is near the sizes, too; equal schedules are one variant
awk '/sizes n=14/ { is_small = 1 } /sizes n=40/ { is_small = 0 }
     /^  schedule/ && is_small { print "  schedule original"; getline; next } 1' long.lock >half.lock
expect 0 "$CTUNE" apply gemm.c --lock half.lock -o half.c -- $flags
has half.c '(long)(n) > 23L'
has_not half.c 'ctune:fallback'
sed 's/split i 4/split i 2/' long.lock >equal.lock
expect 0 "$CTUNE" apply gemm.c --lock equal.lock -o equal.c -- $flags
has_not equal.c '(long)(n) [<>]'
has_not equal.c 'ctune:fallback'
for file in long half equal; do
    same_results gemm.c $file.c $flags
done
for compiler in "$clang" "$gcc"; do
    same_results gemm.c tuned.c $compiler
done
expect 0 "$CTUNE" apply --lock two.lock tuned.c -o again.c -- $flags
same tuned.c again.c
expect 0 "$CTUNE" apply --undo tuned.c -o back.c -- $flags
same gemm.c back.c
