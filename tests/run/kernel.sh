# One kernel, one compiler: tuned a little at small sizes, rewritten, compiled without warnings, checksums compared, also at
# sizes that are odd and below a tile.
#   kernel.sh NAME COMPILER
. "$(dirname "$0")/lib.sh"
name=$1 compiler=$2
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

# compare WANT GOT WHAT: bits are equal, unless the compiler decides about contraction itself and this was said
compare() {
    [ "$1" = "$2" ] || [ $is_contracted = yes ] || fail "$1, but $3: $2"
}

# flags: of all compiles
check_kernel() {
    rm -rf ctune.lock .ctune
    "$CTUNE" tune "$name.c" --trials 5 --batch 5 --rounds 3 -- $flags >"$work/stdout" 2>"$work/stderr"
    code=$?
    grep -q 'but for contraction' "$work/stdout" && is_contracted=yes
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
        compare "$want" "$got" "tuned with $flags"
    done

    # what the compiler decides about contraction is no matter of the plugin's
    case $flags in *-ffp-contract=off) return ;; esac
    # through the compiler's plugin: the lock, with the same code as above, and without a lock what the model thinks
    if plugin=$("$CTUNE" flags "$compiler" 2>"$work/stderr"); then
        eval "set -- $plugin"
        $flags "$@" -w -c "$name.c" -o plugged.o && $flags -w -c tuned.c -o tuned.o || fail "no object"
        same_code plugged.o tuned.o "the plugin and apply"
        for mode in lock "predict -fplugin-arg-ctune-lock=none.lock"; do
            $flags "$@" -fplugin-arg-ctune-mode=$mode -fplugin-arg-ctune-report=remarks "$name.c" -w -o plugged -lm \
                2>"$work/stderr" || fail "mode=$mode does not compile"
            grep -q 'ctune:contraction' "$work/stderr" && is_contracted=yes
            for size in MINI SMALL MEDIUM; do
                want=$(./original $size 1 | sed 's/ min .*//') || fail "original"
                got=$(./plugged $size 1 | sed 's/ min .*//') || fail "mode=$mode"
                compare "$want" "$got" "mode=$mode with $flags"
            done
        done
    fi
}

is_contracted=no
flags="$compiler -O2 $(march "$compiler")"
check_kernel
if [ $is_contracted = yes ]; then
    is_contracted=no
    flags="$flags -ffp-contract=off"
    check_kernel
    [ $is_contracted = no ] || fail "contraction with $flags"
fi
