# Subscripts and bounds from memory (gathers, rows of sparse matrices, scattered updates) and rows behind pointers: the
# rewritten text does what the source does, also with empty and reversed rows, negative indices and rows at any distance, and
# says by its branch when it can.
. "$(dirname "$0")/lib.sh"

cp "$tests/sparse/sparse.c" sparse.c
for compiler in "$clang" "$gcc"; do
    compiler="$compiler -ffp-contract=off" # which products GCC fuses is a search's to find out
    expect 0 "$CTUNE" apply sparse.c -o tuned.c -- $compiler
    [ "$(grep -c 'ctune:begin' tuned.c)" = 8 ] || fail "not all nests are rewritten by $compiler"
    same_results sparse.c tuned.c $compiler
    case $compiler in
    gcc*) same_results sparse.c tuned.c $compiler -fsanitize=address,undefined ;;
    esac
    sed 's|/\* ctune:original begin \*/|fell_back++;|' tuned.c >counted.c
    $compiler counted.c -o counted -lm 2>"$work/stderr" || fail "$compiler counted.c"
    ./counted >"$work/stdout" 2>"$work/stderr" || fail "counted"
    # nothing of the first part; of the rows, those that lie anyhow, and sources that are their own targets
    has_not "$work/stderr" '^[0-9]* fell back'
    err_has 'rows fell back 10 6'
done

# the guard cannot see where an index leads: a pointer that may lie there is refused, with the cure
cat >overlap.c <<'C'
void f(int n, const int *ix, const float *b, float *a) {
#pragma tune
    for (int i = 0; i < n; i++)
        a[i] = b[ix[i]];
}
C
expect 1 "$CTUNE" show te overlap.c -- $flags
err_has 'overlap.c:4:16: remark: .*may-overlap'
err_has 'restrict'
sed -i 's/tune/tune noalias/' overlap.c
expect 0 "$CTUNE" show te overlap.c -- $flags
nothing_left
