# What the clang plugin says: remarks on demand, warnings for stale and refused, werror, the report; and that no failure of
# ctune's breaks a build.
. "$(dirname "$0")/lib.sh"
: "${CTUNE_CLANG_PLUGIN:?}"
plugin="-fplugin=$CTUNE_CLANG_PLUGIN"
arg=-fplugin-arg-ctune
clause='schedule("split j 8 -> j0 j1; vectorize j1")'


# ---- remarks ---------------------------------------------------------------------------------------
make_gemm gemm.c "sizes(n=40) $clause"
make_gemm plain.c 'sizes(n=40)'
expect 0 $flags $plugin -c gemm.c
silent
expect 0 $flags $plugin -Rpass=ctune -c gemm.c
err_has '^gemm.c:7:1: remark: gemm: .*ctune:applied'
expect 0 $flags $plugin -Rpass=loop -c plain.c
has_not "$work/stderr" 'ctune'
expect 0 $flags $plugin -c plain.c
silent
expect 0 $flags $plugin -Rpass-missed=ctune -c plain.c
err_has '^plain.c:7:1: remark: .*ctune:lock-no-entry'
err_has 'note: run `ctune tune` first'

# ---- stale, refused, malformed ---------------------------------------------------------------------
expect 0 "$CTUNE" tune plain.c --trials 1 --rounds 3 -q -- $flags
cp ctune.lock keep.lock
expect 0 $flags $plugin $arg-report=remarks -c plain.c
has_not "$work/stderr" 'lock-no-entry'
sed 's/c\[i\]\[j\] += a/c[i][j] -= a/' plain.c >changed && mv changed plain.c
expect 0 $flags $plugin -c plain.c
err_has '^plain.c:7:1: warning: .*ctune:lock-stale'
expect 1 $flags $plugin $arg-werror -c plain.c
err_has '^plain.c:7:1: error: .*ctune:lock-stale'
expect 0 $flags -w $plugin -c plain.c
silent
# another lock by argument; a damaged one is a warning
expect 0 $flags $plugin $arg-lock=none.lock -c plain.c
silent
echo 'not a lock' >bad.lock
expect 0 $flags $plugin $arg-lock=bad.lock -c plain.c
err_has 'warning: .*ctune:no-transform'

cat >refused.c <<'END'
void f(int n, float a[n]) {
#pragma tune
    for (int i = 0; i < n; i++)
        while (a[i] > 1)
            a[i] -= 1;
}
void g(int n, float a[n]) {
#pragma tune nonsense(3)
    for (int i = 0; i < n; i++)
        a[i] -= 1;
}
END
expect 0 $flags $plugin -c refused.c
err_has '^refused.c:4:9: warning: loop not tuned: .*ctune:while-loop'
err_has '^refused.c:4:9: note: '
err_has '^refused.c:8:.*warning: .*ctune:unknown-clause'
expect 1 $flags $plugin $arg-werror -c refused.c

# ---- headers ---------------------------------------------------------------------------------------
cat >scale.h <<'END'
static inline void scale(int n, float *a) {
#pragma tune
    for (int i = 0; i < n; i++)
        a[i] *= 2;
}
#define TUNE _Pragma("tune")
END
printf '#include "scale.h"\nvoid g(int n, float *a) { scale(n, a); }\n' >user.c
expect 0 $flags -Wall -Werror $plugin -c user.c
err_has '^./scale.h:2:1: remark: .*ctune:pragma-in-header'
printf '#include "scale.h"\nvoid g(int n, float *a) {\n    TUNE\n    for (int i = 0; i < n; i++)\n        a[i] = 0;\n}\n' >user.c
expect 0 $flags -Wall -Werror $plugin -c user.c
err_has 'ctune:pragma-in-header'

# ---- report ----------------------------------------------------------------------------------------
expect 0 $flags $plugin $arg-report=report.json -c gemm.c
expect 0 $flags $plugin $arg-report=report.json -c refused.c
[ "$(wc -l <report.json)" = 3 ] || fail "report"
has report.json '"file":"gemm.c","line":7,"region":"gemm","status":"applied".*"code":"applied","text":"'
has report.json '"file":"refused.c","line":2,"region":"[a-z]*","status":"refused".*"code":"while-loop","text":"loop not tuned'

# ---- arguments -------------------------------------------------------------------------------------
expect 1 $flags $plugin $arg-mode=best -c gemm.c
err_has "error: .*ctune-mode.*lock|predict|off|record"
expect 1 $flags $plugin $arg-lok=x -c gemm.c
err_has 'error: .*no such argument'

# ---- not C -----------------------------------------------------------------------------------------
printf 'void g(float *a) {\n#pragma tune\n    for (int i = 0; i < 9; i++) a[i] = 0;\n}\n' >plus.cpp
expect 0 $flags -Wall -Werror $plugin -c plus.cpp
err_has 'warning: .*ctune:not-c'
# no work for files without the pragma: the library need not even be there
mkdir lonely
cp "$CTUNE_CLANG_PLUGIN" "$(dirname "$CTUNE_CLANG_PLUGIN")"/libctune-clang-[0-9]*.so lonely
grep -v '#pragma tune' gemm.c >none.c
expect 0 $flags -fplugin=lonely/libctune-clang.so -c none.c
silent

# ---- failures inside: one warning, the original code -------------------------------------------------
$flags -w -c gemm.c -o want.o
one_warning() {
    [ "$(grep -c 'warning:' "$work/stderr")" = 1 ] || fail "not one warning"
    err_has "$1"
    same_code want.o got.o
}
expect 0 $flags -fplugin=lonely/libctune-clang.so -c gemm.c -o got.o
one_warning 'libctune-transform.so'
fake() {
    printf '#include "plugin/transform/transform.h"\n#include <stdlib.h>\n%s\n' "$1" |
        clang-19 -x c - -I"$CTUNE_ROOT" -shared -fPIC -o lonely/libctune-transform.so || fail "fake"
}
fake 'const ctune_transform_api *ctune_transform_api_get(void) { abort(); }'
expect 0 $flags -fplugin=lonely/libctune-clang.so -c gemm.c -o got.o
one_warning 'internal error'
fake 'const ctune_transform_api *ctune_transform_api_get(void) { *(volatile int *)0 = 1; return 0; }'
expect 0 $flags -fplugin=lonely/libctune-clang.so -c gemm.c -o got.o
one_warning 'internal error'
fake 'static const ctune_transform_api a = {999, "9"};
const ctune_transform_api *ctune_transform_api_get(void) { return &a; }'
expect 0 $flags -fplugin=lonely/libctune-clang.so -c gemm.c -o got.o
one_warning 'another version'
fake 'const ctune_transform_api *ctune_transform_api_get(void) { exit(0); }'
expect 0 $flags -fplugin=lonely/libctune-clang.so -c gemm.c -o got.o
one_warning 'internal error'

# ---- another clang: one line -------------------------------------------------------------------------
for other in clang-14 clang-15 clang-16; do
    if command -v $other >/dev/null; then
        expect 0 $other -O2 -w $plugin $arg-mode=lock -c gemm.c -o got.o
        one_line $other
        err_has "ctune's plugin is for clang"
    fi
done
if command -v gcc >/dev/null; then
    expect 0 gcc -O2 -w $plugin -c gemm.c -o got.o
    one_line gcc
    err_has "ctune's plugin is for clang"
fi
nothing_left
