# Products and sums: what was said about results is true of the bits of the user's own compile.
#   contract.sh COMPILER
# "results identical": the rewritten program prints what the original prints. Where the compiler decides about contraction
# by itself, this is said and results may differ; with `strict` in the pragma or -ffp-contract=off they may not.
. "$(dirname "$0")/lib.sh"
compiler=$1
cp "$CTUNE_ROOT"/tests/run/contract/*.c .

# build_run SOURCE OUT FLAGS...: prints what the program prints
build_run() {
    source=$1
    out=$2
    shift 2
    main=$(echo "$source" | sed 's/^strict_//; s/^tuned_//; s/^strict_//; s/\.c$/_main.c/')
    [ -f "$main" ] || main=
    "$@" -w -o "$out" "$source" ${main:+"$main"} -lm || fail "$source does not compile with $*"
    "./$out" || fail "$source crashes"
}

# check SOURCE FLAGS...: tuned, applied, compared; said=yes when contraction was named
check() {
    source=$1
    shift
    said=no
    rm -rf ctune.lock .ctune
    "$CTUNE" tune "$source" --trials 3 --batch 3 --rounds 3 --quiet -- "$@" >"$work/stdout" 2>"$work/stderr"
    code=$?
    [ $code -le 1 ] || fail "exit code $code of tune $source with $*"
    grep -q 'but for contraction' "$work/stdout" && said=yes
    want=$(build_run "$source" plain "$@")
    if [ $code = 0 ]; then
        expect 0 "$CTUNE" apply "$source" -o "tuned_$source" -- "$@"
        got=$(build_run "tuned_$source" tuned "$@")
        [ "$want" = "$got" ] || [ $said = yes ] || fail "$source with $*: other results, and nothing was said"
        "$CTUNE" check "$source" -- "$@" >"$work/stdout" 2>"$work/stderr" || fail "check of $source with $*"
        out_has 'fresh'
    fi
}

for name in restrict gemv syrk static_fn temporary two_products uncalled; do
    sed 's/#pragma tune/#pragma tune strict/' $name.c >strict_$name.c
    check $name.c "$compiler" -O3 -march=native
    contracted=$said
    case $compiler in clang*) [ $said = no ] || fail "clang decides by expression" ;; esac
    if [ "$contracted" = yes ]; then
        check strict_$name.c "$compiler" -O3 -march=native
        [ $said = no ] || fail "strict, and other results than the original's"
    fi
    case $name in
    restrict | two_products)
        check $name.c "$compiler" -O3 -march=native -ffp-contract=off
        [ $said = no ] || fail "nothing is contracted with -ffp-contract=off"
        ;;
    static_fn | gemv) [ "$compiler" != gcc ] || check $name.c "$compiler" -O2 -march=native ;;
    esac
done
check restrict.c "$compiler" -O3 -march=native -ffp-contract=fast
check restrict.c "$compiler" -O3
[ $said = no ] || fail "nothing is contracted without FMA"

# what it was compared with
rm -rf ctune.lock .ctune
"$CTUNE" tune gemv.c restrict.c static_fn.c --trials 4 --batch 4 --rounds 3 --quiet -- "$compiler" -O2 -march=native \
    -ffp-contract=off >"$work/stdout" 2>"$work/stderr" || fail "tune"
out_has 'verified  identical to the user.s compile of mul() at n=100 101 99 37'
out_has 'verified  identical to the user.s compile of gemv()'
out_has 'verified  identical to a copy of the loop (main() is not called: it is the whole program)'
has ctune.lock 'verified identical to the user.s compile of mul() at n=100'
has_not "$work/stdout" 'main.*results identical$'

# the plugin's choice without measurements
if plugin=$("$CTUNE" flags "$compiler" 2>"$work/stderr"); then
    rm -rf ctune.lock .ctune
    eval "set -- $plugin -fplugin-arg-ctune-mode=predict -fplugin-arg-ctune-report=remarks"
    # a compile starts no compiler that it finds through PATH
    mkdir -p fake
    printf '#!/bin/sh\necho called >>"%s"\nexit 1\n' "$work/called" >"fake/$compiler" && chmod +x "fake/$compiler"
    real=$(command -v "$compiler")
    PATH=$PWD/fake:$PATH "$real" -O3 -march=native -S "$@" -w -o /dev/null static_fn.c 2>"$work/stderr" ||
        fail "the plugin and another $compiler in PATH"
    [ ! -e "$work/called" ] || fail "a $compiler was started through PATH"
    err_has 'ctune:predicted'
    for name in restrict gemv syrk static_fn temporary two_products; do
        for level in -O2 -O3 "-O3 -ffp-contract=off"; do
            main=${name}_main.c
            [ -f "$main" ] || main=
            want=$(build_run $name.c plain "$compiler" -march=native $level)
            "$compiler" -march=native $level "$@" -w -o plugged $name.c ${main:+$main} -lm 2>"$work/stderr" ||
                fail "$name.c does not compile with the plugin and $level"
            [ "$want" = "$(./plugged)" ] || grep -q 'ctune:contraction' "$work/stderr" ||
                fail "$name.c, predict, $level: other results, and nothing was said"
            case $level in *off) has_not "$work/stderr" 'ctune:contraction' ;; esac
        done
    done
fi
