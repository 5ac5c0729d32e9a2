# Pages of refusals, and loops without a pragma: what is said of each, by cost and by profile.
. "$(dirname "$0")/lib.sh"

expect 0 "$CTUNE" explain all
cmp -s "$work/stdout" "$CTUNE_ROOT/docs/refusals.md" || fail "docs/refusals.md is old: ctune explain all >docs/refusals.md"
expect 0 "$CTUNE" explain
has "$work/stdout" '^moving-pointer '
expect 0 "$CTUNE" explain '[break]'
has "$work/stdout" 'while (end < n'
expect 2 "$CTUNE" explain brake
has "$work/stderr" 'ctune explain'

cat >program.c <<'C'
#include <math.h>
void small(int n, float *a) {
    for (int i = 0; i < n; i++) a[i] = 0;
}
void nest(int n, float a[n][n], float *b) {
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++) a[i][j] += sqrtf(a[i][k]);
        if (b[i] > 3) break;
    }
}
void known(int n, float *a) {
#pragma tune
    for (int i = 0; i < n; i++) a[i] = 1;
}
void choose(int n, float *a, int *k) {
    if (n > 3)
        for (int i = 0; i < n; i++) a[k[i]] = 1;
    else
        for (int i = 0; i < 4; i++) a[i] = 1;
}
C
cp program.c before.c
expect 0 "$CTUNE" scan program.c -- $flags
cmp -s program.c before.c || fail "scan edits"
has "$work/stdout" '^[ 0-9.]* %  program.c:6  nest, 3 deep  break$'
has "$work/stdout" 'line 9: break leaves'
has "$work/stdout" 'program.c:7  nest, 2 deep, inside  handled$'
has "$work/stdout" 'program.c:3  small, 1 deep  handled$'
has "$work/stdout" 'program.c:18  choose, 1 deep  [a-z-]*$'
has "$work/stdout" 'program.c:20  choose, 1 deep  handled$'
has "$work/stdout" '^2 of 4 outermost'
! grep -q 'program.c:13\|program.c:14' "$work/stdout" || fail "an annotated loop is proposed"
[ "$(sed -n 1p "$work/stdout" | grep -c 'program.c:6')" = 1 ] || fail "the deep nest is not first"

# profiles: places, functions, gprof's percentages
printf 'app 1 cycles: 5d small+0x1b (app)\n  program.c:3\napp 1 cycles: 5d x\n  program.c:3\n program.c:9\n' >perf.txt
expect 0 "$CTUNE" scan program.c --profile perf.txt -- $flags
[ "$(sed -n 1p "$work/stdout" | grep -c '66.7 %.*program.c:3 ')" = 1 ] || fail "places of a profile"
printf '  %% cumulative\n 75.00 0.5 0.5 choose\n 25.00 0.1 0.1 nest\n' >gprof.txt
expect 0 "$CTUNE" scan program.c --profile gprof.txt -- $flags
has "$work/stdout" '25.0 %.*program.c:6 '
expect 3 "$CTUNE" scan missing.c -- $flags
expect 2 "$CTUNE" scan
nothing_left
