# Rewriting: same results, idempotent, undone byte for byte; line endings, byte-order mark, no newline at the end.
. "$(dirname "$0")/lib.sh"

schedule='schedule("split i 4 -> i0 i1; split j 8 -> j0 j1; reorder i0 j0 k i1 j1; unroll i1; vectorize j1; cache_write S0 at j0 register")'
make_gemm gemm.c "sizes(n=40) $schedule"

for compiler in "$clang" "$gcc"; do
    expect 0 "$CTUNE" apply gemm.c -o tuned.c -- $compiler
    has tuned.c 'ctune:begin gemm'
    has tuned.c 'ctune:original begin'
    has tuned.c '#line'
    same_results gemm.c tuned.c $compiler
    expect 0 "$CTUNE" apply tuned.c -o again.c -- $compiler
    same tuned.c again.c
    expect 0 "$CTUNE" apply --undo tuned.c -o back.c -- $compiler
    same gemm.c back.c
done

# to standard output; a schedule and a lock are the same thing
expect 0 "$CTUNE" apply gemm.c -- $flags
out_has 'ctune:begin gemm'

# bytes that must survive
sed 's/$/\r/' gemm.c >crlf.c
{ printf '\357\273\277'; cat gemm.c; } >bom.c
printf '%s' "$(cat gemm.c)" >no-newline.c
for file in crlf bom no-newline; do
    cp $file.c keep.c
    expect 0 "$CTUNE" apply --in-place $file.c -- $flags
    has $file.c 'ctune:begin gemm'
    has_not $file.c '#line'
    cp $file.c once.c
    expect 0 "$CTUNE" apply --in-place $file.c -- $flags
    same $file.c once.c
    same_results gemm.c $file.c $clang
    expect 0 "$CTUNE" apply --in-place --undo $file.c -- $flags
    same $file.c keep.c
done
[ "$(grep -c "$(printf '\r')" crlf.c)" = "$(wc -l <crlf.c)" ] || fail "CRLF"

# compiler messages name the user's lines
sed 's/    printf("%u\\n", sum);/    printf("%u\\n", sum) oops;/' gemm.c >wrong.c
line=$(grep -n oops wrong.c | cut -d: -f1)
expect 0 "$CTUNE" apply gemm.c -o tuned.c -- $flags
sed 's/    printf("%u\\n", sum);/    printf("%u\\n", sum) oops;/' tuned.c >wrong.tuned.c
clang-19 -c wrong.tuned.c -o /dev/null 2>"$work/stderr" && fail "wrong.tuned.c compiles"
err_has "gemm.c:$line:"

# a file without entries is copied; one that is not tuned says so
make_gemm plain.c 'sizes(n=40)'
expect 0 "$CTUNE" apply plain.c -o copy.c -- $flags
same plain.c copy.c
err_has 'lock-no-entry'
grep -v '#pragma tune' plain.c >none.c
expect 0 "$CTUNE" apply none.c -o copy.c -- $flags
same none.c copy.c

# a schedule that does not apply leaves the original and says why
make_gemm bad.c 'sizes(n=40) schedule("split nothing 4 -> a b")'
expect 1 "$CTUNE" apply bad.c -o copy.c -- $flags
err_has 'not-applied'
same bad.c copy.c
nothing_left
