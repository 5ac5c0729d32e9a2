# Several values in sizes(...): one lock entry each, one rewritten region that dispatches.
. "$(dirname "$0")/lib.sh"

make_gemm gemm.c 'sizes(n=14|40)'
expect 0 "$CTUNE" tune gemm.c --trials 8 --batch 8 --rounds 3 --json -- $flags
[ "$(wc -l <"$work/stdout")" = 2 ] || fail "not two results"
has ctune.lock 'n=14'
has ctune.lock 'n=40'

want=$(compile_run gemm.c $flags) || exit 1
expect 0 "$CTUNE" apply gemm.c -o tuned.c -- $flags
got=$(compile_run tuned.c $flags) || exit 1
[ "$want" = "$got" ] || fail "$want before, $got after"
if grep -q 'ctune:begin' tuned.c; then
    [ "$(grep -c 'ctune:original begin' tuned.c)" = 1 ] || fail "the original is there more than once"
fi
expect 0 "$CTUNE" apply --undo tuned.c -o back.c -- $flags
same gemm.c back.c
expect 0 "$CTUNE" check gemm.c -- $flags
[ "$(grep -c fresh "$work/stdout")" = 2 ] || fail "check does not see both"

# two schedules of our own: both variants must be there, guarded, the original once
awk '/^  schedule/ { n++; print "  schedule"; print "    split i " 2 * n " -> i0 i1"; skip = 1; next }
     /^end/ { skip = 0 }
     !skip' ctune.lock >two.lock
[ "$(grep -c 'split i' two.lock)" = 2 ] || fail "two.lock"
expect 0 "$CTUNE" apply gemm.c --lock two.lock -o tuned.c -- $flags
[ "$(grep -c 'ctune:original begin' tuned.c)" = 1 ] || fail "the original is there more than once"
has tuned.c 'ctune:fallback begin'
has tuned.c '== *40\|== *14'
for compiler in "clang-19 -O2 -march=native" "gcc -O2 -march=native"; do
    got=$(compile_run tuned.c $compiler) || exit 1
    [ "$want" = "$got" ] || fail "$want before, $got after"
done
expect 0 "$CTUNE" apply --lock two.lock tuned.c -o again.c -- $flags
same tuned.c again.c
expect 0 "$CTUNE" apply --undo tuned.c -o back.c -- $flags
same gemm.c back.c
