# The clang plugin in every kind of compile: applied, the same code as `ctune apply`, lines and dependencies are the user's.
. "$(dirname "$0")/lib.sh"
: "${CTUNE_CLANG_PLUGIN:?}"
plugin="-fplugin=$CTUNE_CLANG_PLUGIN"
arg=-fplugin-arg-ctune

applied() { err_has 'remark: gemm: .*\[ctune:applied\]'; }

# ---- from the lock: everything that clang can make of a file --------------------------------------
make_gemm gemm.c 'sizes(n=40)'
expect 0 "$CTUNE" tune gemm.c --trials 16 --rounds 3 -q -- $flags
if grep -q 'original' ctune.lock && ! grep -q 'split' ctune.lock; then
    echo "the original won: nothing to apply" >&2 # on a busy machine; the clause below is applied in any case
    make_gemm gemm.c 'sizes(n=40) schedule("split i 4 -> i0 i1; split j 8 -> j0 j1; reorder i0 j0 k i1 j1; vectorize j1")'
fi
expect 0 "$CTUNE" apply gemm.c -o tuned.c -q -- $flags
has tuned.c 'ctune:begin gemm'
$flags -w -c tuned.c -o want.o || fail "tuned.c"
$flags -w -c gemm.c -o plain.o || fail "gemm.c"
$flags -w gemm.c -o plain || fail "gemm.c"
want=$(./plain)

expect 0 $flags -Wall -Wextra -Werror $plugin $arg-report=remarks -c gemm.c -o got.o
applied
same_code want.o got.o
cmp -s want.o plain.o && fail "nothing was applied"
expect 0 $flags $plugin gemm.c -o exe # compile and link: the compiler proper runs in a process of its own
[ "$(./exe)" = "$want" ] || fail "wrong result"
expect 0 $flags $plugin -save-temps=obj -c gemm.c -o got.o
err_has 'preprocessed-input'
expect 0 $flags $plugin -fno-integrated-cc1 -c gemm.c -o got.o
same_code want.o got.o

expect 0 $flags $plugin -S gemm.c -o got.s
$flags -w -S tuned.c -o want.s
grep -v '\.file\|\.ident' got.s >got.s.1
grep -v '\.file\|\.ident' want.s >want.s.1
same got.s.1 want.s.1
expect 0 $flags $plugin -S -emit-llvm gemm.c -o got.ll
has got.ll 'source_filename = "gemm.c"'
has got.ll '<[0-9]* x float>'
expect 0 $flags $plugin -c -emit-llvm gemm.c -o got.bc
expect 0 $flags got.bc -o exe
[ "$(./exe)" = "$want" ] || fail "wrong result from bitcode"
expect 0 $flags $plugin $arg-report=remarks -fsyntax-only gemm.c
applied
expect 0 $flags $plugin -flto -c gemm.c -o got.o
if command -v ld.lld-19 >/dev/null || [ -e "$(dirname "$(readlink -f "$(command -v clang-19)")")/../lib/LLVMgold.so" ]; then
    expect 0 $flags -flto got.o -o exe
    [ "$(./exe)" = "$want" ] || fail "wrong result with -flto"
fi
if echo 'int main(void) { return 0; }' | $flags -fsanitize=address -x c - -o exe 2>/dev/null; then
    expect 0 $flags $plugin $arg-report=remarks -fsanitize=address,undefined gemm.c -o exe
    applied
    [ "$(./exe)" = "$want" ] || fail "wrong result with -fsanitize=address"
fi

# -E prints the source as it is
$flags -E gemm.c >want.i
expect 0 $flags $plugin -E gemm.c -o got.i
same want.i got.i
# and what is preprocessed already stays as it is, with a word about it
expect 0 $flags $plugin -c got.i -o got.o
err_has 'preprocessed-input'

# several files and a response file; a library; the target's flags count, not the others
cp gemm.c second.c
echo "${flags#clang-19 } $plugin -DUNUSED -I. -fPIC -ffunction-sections" >words
expect 0 clang-19 @words $arg-report=remarks -c gemm.c second.c
applied # gemm.c; the other one has another name in the lock
[ "$(grep -c "remark: gemm:" "$work/stderr")" = 2 ] || fail "two files"

# a precompiled header, as CMake has them
printf '#include <stdio.h>\n#define SIZE 1600\n' >all.h
sed 's/#include <stdio.h>//; s/A\[1600\]/A[SIZE]/' gemm.c >with-pch.c
expect 0 $flags -x c-header $plugin all.h -o all.h.pch
expect 0 $flags $plugin $arg-report=remarks -Xclang -include-pch -Xclang all.h.pch -Xclang -include -Xclang all.h with-pch.c -o exe
err_has 'remark: gemm:'
[ "$(./exe)" = "$want" ] || fail "wrong result with a precompiled header"

# ---- debug information and dependencies -----------------------------------------------------------
expect 0 $flags $plugin -g -MD -MF deps -c gemm.c -o got.o
same_code want.o got.o
has deps 'gemm\.c'
grep -q 'schedule' gemm.c || has deps 'ctune\.lock'
has_not deps tuned
llvm-dwarfdump-19 --debug-line got.o >lines 2>&1 || fail "no debug lines"
[ "$(grep -c 'name: "gemm.c"' lines)" = "$(grep 'name: "' lines | grep -vc '\.h"')" ] || fail "other files in the debug lines"
last=$(wc -l <gemm.c)
awk -v last="$last" '/^0x/ && $2 > last { exit 1 }' lines || fail "lines past the end of gemm.c"
llvm-dwarfdump-19 got.o | grep -q 'DW_AT_name.*("gemm.c")' || fail "the unit is not called gemm.c"

# ---- names: standard input, other folders, blanks and quotes --------------------------------------
mkdir -p 'a "b"/c d'
cp gemm.c 'a "b"/c d/it'\''s "gemm".c'
cp ctune.lock 'a "b"/c d/ctune.lock' 2>/dev/null
sed -i 's/source gemm\.c/source it'\''s "gemm".c/' 'a "b"/c d/ctune.lock' 2>/dev/null
make_gemm 'a "b"/c d/it'\''s "gemm".c' 'sizes(n=40) schedule("split j 8 -> j0 j1; vectorize j1")'
expect 0 $flags -Wall -Werror $plugin $arg-report=remarks './a "b"/../a "b"/c d/it'\''s "gemm".c' -o exe
applied
[ "$(./exe)" = "$want" ] || fail "wrong result of an odd name"
expect 0 $flags -Wall -Werror $plugin $arg-report=remarks -x c - -o exe <'a "b"/c d/it'\''s "gemm".c'
applied
[ "$(./exe)" = "$want" ] || fail "wrong result from standard input"
(cd 'a "b"' && mkdir -p build && cd build &&
    expect 0 $flags $plugin $arg-report=remarks -MD -c "$PWD/../c d/it's \"gemm\".c" -o x.o && applied) || exit 1

# lines in messages, __LINE__ and assert are the user's
sed 's/    printf("%u\\n", sum);/    printf("%u\\n", sum) oops;/' gemm.c >wrong.c
line=$(grep -n oops wrong.c | cut -d: -f1)
expect 1 $flags $plugin -c wrong.c -o wrong.o
err_has "^wrong.c:$line:"
err_has oops
has_not "$work/stderr" 'ctune:'
cat >line.c <<'END'
#include <assert.h>
#include <stdio.h>
void add(int n, float a[n], float b[n]) {
#pragma tune sizes(n=64) schedule("split i 8 -> i0 i1; vectorize i1")
    for (int i = 0; i < n; i++)
        a[i] += b[i];
    assert(n > 0 && __LINE__ == 7);
}
int main(void) {
    float a[64] = {1}, b[64] = {2};
    add(64, a, b);
    printf("%d %s %g\n", __LINE__, __FILE__, (double)a[0]);
    return 0;
}
END
expect 0 $flags $plugin line.c -o exe
[ "$(./exe)" = "12 line.c 3" ] || fail "line: $(./exe)"

# warnings about generated code are never the user's business; those about his own code stay
for more in -Weverything '-std=c99 -pedantic-errors' '-std=c11 -pedantic -Wdeclaration-after-statement'; do
    $flags $more -Wno-unknown-pragmas -c gemm.c -o x.o 2>&1 | grep -o '\[-W[^]]*\]' | sort >warn.1
    $flags $more $plugin -c gemm.c -o x.o 2>&1 | grep -o '\[-W[^]]*\]' | sort >warn.2
    same warn.1 warn.2
done
# the pragma is known with the plugin, and no other one
expect 0 $flags -Wall -Werror $plugin -fplugin-arg-ctune-mode=off -c gemm.c -o off.o
same_code plain.o off.o
nothing_left
