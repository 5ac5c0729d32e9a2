# One operator of tests/operators, one compiler: tuned a little at small sizes, rewritten, compiled without warnings. Bits are
# the original's at several sizes; with CLAUSE, which permits other bits, ctune's own verification has the say.
#   operator.sh NAME COMPILER [CLAUSE]
. "$(dirname "$0")/lib.sh"
name=$1 compiler=$2 clause=${3-}
may_refuse=" resize-bilinear " # its subscripts are computed by a cast

cp "$CTUNE_ROOT/tests/kernels/kernel.h" .
# The pragma's sizes are those of LARGE: make them small and odd.
awk -v clause="$clause" '/#pragma tune/ {
        out = ""
        while (match($0, /=[0-9]+/)) {
            value = substr($0, RSTART + 1, RLENGTH - 1) + 0
            if (value > 24)
                value = 19 + value % 13
            out = out substr($0, 1, RSTART) value
            $0 = substr($0, RSTART + RLENGTH)
        }
        $0 = out $0 " " clause
    } { print }' "$CTUNE_ROOT/tests/operators/$name.c" >small.c
odd_sizes small.c >"$name.c"

flags="$compiler -O2 $(march "$compiler") -ffp-contract=off"
# shellcheck disable=SC2086
"$CTUNE" tune "$name.c" --trials 8 --batch 8 --rounds 2 -- $flags >"$work/stdout" 2>"$work/stderr"
code=$?
case $code in
    0) ;;
    1)
        err_has 'remark: .*\[.*\]'
        case $may_refuse in *" $name "*) exit 0 ;; *) fail "$name is refused" ;; esac
        ;;
    *) fail "exit code $code of ctune tune" ;;
esac
# a machine that is busy makes candidates late, nothing else makes them fail
"$CTUNE" export "$name.c" >history.jsonl 2>"$work/stderr" || fail "no export"
has_not history.jsonl 'compile-error\|"crash"\|wrong-result'
expect 0 "$CTUNE" apply "$name.c" -o tuned.c -- $flags
$flags "$name.c" -w -o original -lm || fail "the original does not compile"
$flags tuned.c -Wall -Wextra -Werror -Wno-unknown-pragmas -Wno-unused-parameter -Wno-unused-function -o tuned -lm ||
    fail "the tuned C does not compile without warnings"
for size in MINI SMALL MEDIUM; do
    want=$(./original $size 1 | sed 's/ min .*//') || fail "original"
    got=$(./tuned $size 1 | sed 's/ min .*//') || fail "tuned"
    [ -n "$clause" ] || [ "$want" = "$got" ] || fail "$want, but tuned: $got"
done
