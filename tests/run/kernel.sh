# One kernel, one compiler: tuned a little at small sizes, rewritten, compiled without warnings, checksums compared, also at
# sizes that are odd and below a tile.
#   kernel.sh NAME COMPILER
. "$(dirname "$0")/lib.sh"
name=$1
flags="$2 -O2 $(march "$2")"
# Those that may be refused: their subscripts or their control flow are data.
may_refuse=" histogram spmv mandelbrot nbody bilateral "

cp "$CTUNE_ROOT/tests/kernels/kernel.h" .
# The pragma's sizes are those of LARGE: make them small and odd.
awk '/#pragma tune/ {
        out = ""
        while (match($0, /=[0-9]+/)) {
            value = substr($0, RSTART + 1, RLENGTH - 1) + 0
            if (value > 40)
                value = 19 + value % 13
            out = out substr($0, 1, RSTART) value
            $0 = substr($0, RSTART + RLENGTH)
        }
        $0 = out $0
    } { print }' "$CTUNE_ROOT/tests/kernels/$name.c" >small.c
odd_sizes small.c >"$name.c"

"$CTUNE" tune "$name.c" --trials 8 --batch 8 --rounds 3 -- $flags >"$work/stdout" 2>"$work/stderr"
code=$?
case $code in
    0) ;;
    1)
        err_has 'remark: .*\[.*\]'
        case $may_refuse in *" $name "*) ;; *) fail "$name is refused" ;; esac
        ;;
    *) fail "exit code $code of ctune tune" ;;
esac
"$CTUNE" apply "$name.c" -o tuned.c -- $flags >"$work/stdout" 2>"$work/stderr"
[ $? = $code ] || fail "apply of $name"
$flags "$name.c" -w -o original -lm || fail "the original does not compile"
$flags tuned.c -Wall -Wextra -Werror -Wno-unknown-pragmas -Wno-unused-parameter -Wno-unused-function -o tuned -lm ||
    fail "the tuned C does not compile without warnings"
for size in MINI SMALL MEDIUM; do
    want=$(./original $size 1 | sed 's/ min .*//') || fail "original"
    got=$(./tuned $size 1 | sed 's/ min .*//') || fail "tuned"
    [ "$want" = "$got" ] || fail "$want, but tuned: $got"
done

# through the compiler's plugin: the lock, with the same code as above, and without a lock what the model thinks
if plugin=$("$CTUNE" flags "$2" 2>"$work/stderr"); then
    eval "set -- $plugin"
    $flags "$@" -w -c "$name.c" -o plugged.o && $flags -w -c tuned.c -o tuned.o || fail "no object"
    same_code plugged.o tuned.o "the plugin and apply"
    for mode in lock predict; do
        if [ $mode = predict ]; then
            $flags "$@" -fplugin-arg-ctune-mode=predict -fplugin-arg-ctune-lock=none.lock "$name.c" -w -c -o plugged.o
        fi && $flags plugged.o -o plugged -lm || fail "mode=$mode does not compile"
        for size in MINI SMALL MEDIUM; do
            want=$(./original $size 1 | sed 's/ min .*//') || fail "original"
            got=$(./plugged $size 1 | sed 's/ min .*//') || fail "mode=$mode"
            [ "$want" = "$got" ] || fail "$want, but with mode=$mode: $got"
        done
    done
fi
