# The GCC plugin: the object is that of `ctune apply` and a plain compile, and everything that names a file names the user's.
. "$(dirname "$0")/lib.sh"

plugin=$("$CTUNE" flags gcc | sed 's/^-fplugin=//') || exit 1
schedule='schedule("split i 4 -> i0 i1; split j 8 -> j0 j1; reorder i0 j0 k i1 j1; unroll i1; vectorize j1; cache_write S0 at j0 register")'

# tuned WORDS...: gcc with the plugin. No warning may come from it unless the test looks for one.
tuned() { gcc "-fplugin=$plugin" -Wall -Wextra "$@"; }
plain() { gcc -w "$@"; }
arch=$(march gcc)

# ---- nothing of GCC's is needed to load it, nothing of C++'s ----
nm -D --undefined-only "$plugin" | grep -v '@GLIBC' | grep -v ' w ' && fail "symbols that another compiler may not have"
readelf -d "$plugin" | grep NEEDED | grep -v -e libc.so -e libdl -e ld-linux && fail "libraries"

# ---- same instructions, and names ----
mkdir -p src/deep
echo 'enum { UNIT = 1 };' >src/unit.h
echo '#error not this one' >unit.h
make_gemm "$work/gemm.c" "sizes(n=40) $schedule"
{ echo '#include "unit.h"'; sed 's/printf("%u\\n", sum)/printf("%u %d %s\\n", sum, UNIT, __FILE__)/' "$work/gemm.c"; } >src/gemm.c
echo 'const char *tuned_base(void) { return __BASE_FILE__ " " __FILE__ " " __TIMESTAMP__; }' >>src/gemm.c

for set in "-O2 $arch" "-O3 -g" "-O2 $arch -fsanitize=address" "-O2 -std=c99 -flto -ffat-lto-objects" \
    "-O3 $arch -fPIC -ffast-math" "-O2 -fopenmp -pipe" "-O0"; do
    expect 0 tuned $set -c src/gemm.c -o tuned.o
    silent "$set"
    "$CTUNE" apply src/gemm.c -o src/applied.c -- gcc $set 2>"$work/stderr" || fail "apply"
    sed 's/__TIMESTAMP__/"x"/; s/__BASE_FILE__/"y"/; s/__FILE__/"z"/g' src/applied.c >src/applied.x.c
    sed 's/__TIMESTAMP__/"x"/; s/__BASE_FILE__/"y"/; s/__FILE__/"z"/g' src/gemm.c >src/gemm.x.c
    expect 0 tuned $set -c src/gemm.x.c -o tuned.x.o
    plain $set -c src/applied.x.c -o applied.o || fail "applied.c does not compile"
    plain $set -c src/gemm.x.c -o original.o
    same_code tuned.x.o applied.o "$set"
    other_code tuned.x.o original.o "$set"
    expect 0 tuned $set src/gemm.c -o tuned.exe
    plain $set src/gemm.c -o original.exe
    [ "$(./tuned.exe)" = "$(./original.exe)" ] || fail "results with $set"
    plain $set -c src/gemm.c -o original.o
    for object in tuned original; do
        strings -a $object.o | grep -e gemm -e UTC -e :..: | grep -v fplugin | grep -v -e '^GNU C' | sort >$object.strings
    done
    case $set in *lto* | *-g*) ;; *) same tuned.strings original.strings ;; esac
    grep -q /proc/self tuned.o && fail "the alias is in the object: $set"
done

# ---- debug information: the user's file, and lines that are in it ----
expect 0 tuned -O2 -g3 -c src/gemm.c -o tuned.o
readelf --debug-dump=info tuned.o | grep -m1 DW_AT_name >"$work/name"
has "$work/name" 'src/gemm.c$'
readelf --debug-dump=line tuned.o | sed -n '/File Name Table/,$p' | grep -v /usr/ >"$work/files"
has "$work/files" 'gemm.c'
has_not "$work/files" proc
n_lines=$(wc -l <src/gemm.c)
readelf --debug-dump=decodedline tuned.o | awk -v n="$n_lines" '$1 == "gemm.c" && $2 > n { bad = 1 } END { exit bad }' ||
    fail "lines that the file does not have"
line=$(grep -n 'printf(' src/gemm.c | cut -d: -f1)
readelf --debug-dump=decodedline tuned.o | grep -q "gemm.c  *$line " || fail "no code of line $line"

# ---- other kinds of output ----
expect 0 tuned -O2 -S src/gemm.c -o tuned.s
has tuned.s '\.file.*"gemm.c"'
expect 0 tuned -O2 -fsyntax-only src/gemm.c
silent -fsyntax-only
for word in -E -M -MM; do
    tuned -O2 $word src/gemm.c >tuned.txt || fail "$word"
    plain -O2 $word src/gemm.c >plain.txt
    same tuned.txt plain.txt
done

# ---- dependencies ----
for set in "-MD" "-MMD -MP" "-MMD -MF some.d" "-MD -MT x.o -MQ \$y.o -MF some.d -MP" "-MD -o out.o"; do
    for kind in plain tuned; do
        rm -f ./*.d ./*.o
        $kind -O2 $set -c src/gemm.c || fail "$set"
        cat ./*.d >$kind.deps
    done
    same tuned.deps plain.deps
done

# ---- standard input, and what can be read only once ----
expect 0 tuned -O2 -c src/gemm.x.c -o want.o
cd src || exit 1
expect 0 tuned -O2 -x c -c - -o tuned.o <gemm.x.c
same_code tuned.o ../want.o "standard input"
cat gemm.x.c | tuned -O2 -x c -c - -o tuned.o || fail "pipe"
same_code tuned.o ../want.o "pipe"
cat gemm.x.c | tuned -O2 -I. -x c -c /dev/stdin -o tuned.o || fail "/dev/stdin"
same_code tuned.o ../want.o "/dev/stdin"
plain -O2 -c gemm.x.c -o plain.o
cat gemm.x.c | tuned -O2 -fplugin-arg-ctune-mode=off -x c -c - -o tuned.o || fail "mode=off from a pipe"
same_code tuned.o plain.o "mode=off from a pipe"
sed '/pragma tune/d' gemm.x.c | tuned -O2 -I. -x c -c /dev/stdin -o tuned.o || fail "no pragma in a pipe"
same_code tuned.o plain.o "no pragma in a pipe"
{ read -r first; tuned -O2 -DUNIT=1 -x c -c - -o tuned.o; } <gemm.x.c || fail "the rest of standard input"
cd ..

# ---- odd paths: short and long ones, quotes, links ----
long=src/$(printf '%0200d' 0)/$(printf '%0200d' 1)
mkdir -p "$long" 'src/a "b" \c $d'
for file in s.c "$long/g.c" 'src/a "b" \c $d/e f.c' src/deep/../deep/./x.c "$PWD/src/abs.c"; do
    echo 'enum { UNIT = 3 };' >"$(dirname "$file")/unit.h"
    cp src/gemm.c "$file"
    touch -d 2001-02-03 "$file"
    expect 0 tuned -O2 -MD -MF tuned.d -MT x -c "$file" -o tuned.o
    silent "$file"
    plain -O2 -MD -MF plain.d -MT x -c "$file" -o plain.o || exit 1
    same tuned.d plain.d
    other_code tuned.o plain.o "$file"
    tuned -O2 "$file" -o tuned.exe && plain -O2 "$file" -o plain.exe || exit 1
    [ "$(./tuned.exe)" = "$(./plain.exe)" ] || fail "$file"
    strings tuned.o | grep 2001 >tuned.strings
    strings plain.o | grep 2001 >plain.strings
    same tuned.strings plain.strings
done
ln -s src/gemm.x.c link.c
rm unit.h
echo 'enum { UNIT = 1 };' >src/unit.h
expect 0 tuned -O2 -Isrc -c link.c -o tuned.o
same_code tuned.o want.o "symbolic link"
mkdir build
(cd build && tuned -O2 -c ../src/gemm.x.c -o ../tuned.o) || fail "out of tree"
same_code tuned.o want.o "out of tree"

# ---- stages, several files, link-time optimisation, precompiled headers ----
(mkdir temps && cd temps && tuned -O2 -g -save-temps -MD -c ../src/gemm.x.c -o tuned.o && mv tuned.o ..) || fail "-save-temps"
plain -O2 -g -c src/gemm.x.c -o plain.o
tuned -O2 -g -c src/gemm.x.c -o want.g.o
same_code tuned.o want.g.o "-save-temps"
grep -q proc/self temps/*.i tuned.o && fail "the alias is in -save-temps output"
head -1 temps/*.i | grep -q '"../src/gemm.x.c"' || fail "first line marker"
has temps/*.d '../src/gemm.x.c'
cp temps/tuned.i given.i
expect 0 tuned -O2 -g -c given.i -o tuned.o
same_code tuned.o want.g.o "what is tuned already"
plain -E src/gemm.x.c >given.i
expect 0 tuned -O2 -g -fplugin-arg-ctune-report=remarks -c given.i -o tuned.o
err_has '^src/gemm.x.c:8:.*note: .*\[ctune:preprocessed-input\]'
same_code tuned.o plain.o "preprocessed input"
sed 's/gemm/gemm2/; s/main/main2/' src/gemm.x.c >src/two.c
expect 0 tuned -O2 -c src/gemm.x.c src/two.c
same_code gemm.x.o want.o "two files at once"
expect 0 tuned -O2 -flto -o lto.exe src/gemm.x.c
plain -O2 -o plain.exe src/gemm.x.c
[ "$(./lto.exe)" = "$(./plain.exe)" ] || fail "-flto"
expect 0 tuned -O2 -flto -c src/gemm.x.c -o lto.o
expect 0 tuned -O2 -flto lto.o -o lto.exe
[ "$(./lto.exe)" = "$(./plain.exe)" ] || fail "-flto with the plugin at link time"
mkdir pch
cp src/unit.h pch/unit.h
expect 0 tuned -O2 pch/unit.h -o pch/unit.h.gch
sed 's/unit.h/..\/pch\/unit.h/' src/gemm.x.c >src/pch.c
expect 0 tuned -O2 -Winvalid-pch -c src/pch.c -o tuned.o
same_code tuned.o want.o "precompiled header"

# ---- other languages ----
echo '#pragma tune off' >two.cc
echo 'int two() { return 2; }' >>two.cc
expect 0 g++ "-fplugin=$plugin" -c two.cc -o two.o
printf '#define X nop\n.text\nX\n' >three.S
expect 0 gcc "-fplugin=$plugin" -c three.S -o three.o
silent three.S

# ---- what is said, and where ----
cat >loops.c <<'END2'
int a[100], n;
int next(void);
void refused(void) {
#pragma tune sizes(n=4)
    for (int i = 0; i < n; i++)
        a[next()] = 0;
}
int wrong(void) { return oops; }
END2
expect 1 tuned -O2 -c loops.c -o loops.o
err_has '^loops.c:8:26: error: .*oops'
has_not "$work/stderr" ctune
sed -i 's/oops/0/' loops.c
plain -O2 -c loops.c -o plain.o
expect 0 tuned -O2 -Werror -c loops.c -o loops.o
err_has '^loops.c:6:[0-9]*: warning: .*\[ctune:'
err_has '^ *6 |         a\[next()\] = 0;'
same_code loops.o plain.o "a refused loop"
expect 0 tuned -O2 -w -c loops.c -o loops.o
silent -w
expect 1 tuned -O2 -fplugin-arg-ctune-werror -c loops.c -o loops.o
err_has '^loops.c:6:[0-9]*: error: .*\[ctune:'
expect 0 tuned -O2 -fplugin-arg-ctune-mode=off -c loops.c -o loops.o
silent mode=off
expect 1 tuned -fplugin-arg-ctune-mode=fast -c loops.c -o loops.o
err_has "mode: 'fast' is not good"
expect 1 tuned -fplugin-arg-ctune-colour -c loops.c -o loops.o
err_has 'no such argument'
sed 's/sizes(n=4)/siezs(n=4)/' loops.c >clause.c
expect 0 tuned -O2 -c clause.c -o clause.o
err_has '^clause.c:4:.*warning: .*siezs'
expect 0 tuned -O2 -fplugin-arg-ctune-report=remarks -c src/gemm.c -o tuned.o
err_has '^src/gemm.c:8:.*note: .*\[ctune:applied\]'
expect 0 tuned -O2 -fplugin-arg-ctune-report=report.json -c src/gemm.c -o tuned.o
silent report=FILE
has report.json '"status":"applied"'

# a loop in a header is not tuned, and that is said
sed -n '/^void gemm/,/^}/p' "$work/gemm.c" >kernel.h
{ echo '#include "kernel.h"'; echo 'int three(void) { return 3; }'; } >user.c
expect 0 tuned -O2 -c user.c -o tuned.o
err_has 'kernel.h:2:.*note: loop not tuned: .*included file'
plain -O2 -c user.c -o plain.o
same_code tuned.o plain.o "a loop in a header"

# what only GCC can read is left alone, with a remark; what nobody can read has GCC's words only
{ cat src/gemm.x.c; echo 'int f(int n) { int g(int i) { return n + i; } return g(1); }'; } >src/nested.c
expect 0 tuned -O2 -c src/nested.c -o tuned.o
err_has "src/nested.c:[0-9]*:.*note: .*\[ctune:does-not-parse\]"
plain -O2 -c src/nested.c -o plain.o
same_code tuned.o plain.o "nested function"
{ cat src/gemm.x.c; echo 'int f(int n) { return m; }'; } >src/wrong.c
expect 1 tuned -O2 -c src/wrong.c -o tuned.o
grep -v does-not-parse "$work/stderr" | grep -q "src/wrong.c:.*error: 'm' undeclared\|src/wrong.c:.*error: .m. undeclared" || fail "GCC's words"
has_not "$work/stderr" ctune:

# ---- the lock ----
make_gemm locked.c 'sizes(n=40)'
plain -O2 -c locked.c -o plain.o
expect 0 tuned -O2 -MD -c locked.c -o tuned.o
silent "no lock"
same_code tuned.o plain.o "no lock"
expect 0 "$CTUNE" tune --trials 8 --rounds 3 locked.c -- gcc -O2
has ctune.lock gemm
if ! grep -q original ctune.lock; then
    "$CTUNE" apply locked.c -o applied.c -- gcc -O2 || fail "apply"
    plain -O2 -c applied.c -o applied.o
    expect 0 tuned -O2 -MD -c locked.c -o tuned.o
    silent "lock"
    same_code tuned.o applied.o "the lock's schedule"
fi
expect 0 tuned -O2 -MD -MP -c locked.c -o tuned.o
has tuned.d 'locked.c.* ctune.lock'
has tuned.d '^ctune.lock:'
mkdir other
mv ctune.lock other/my.lock
expect 0 tuned -O2 -MD -fplugin-arg-ctune-lock=other/my.lock -c locked.c -o tuned.o
has tuned.d 'other/my.lock'
sed 's/c\[i\]\[j\] += a/c[i][j] -= a/' locked.c >other/locked.c
plain -O2 -c other/locked.c -o plain.o
expect 0 tuned -O2 -Werror -fplugin-arg-ctune-lock=other/my.lock -c other/locked.c -o tuned.o
err_has 'other/locked.c:7:.*warning: .*\[ctune:lock-stale\]'
same_code tuned.o plain.o "a stale lock"
echo nonsense >other/my.lock
expect 0 tuned -O2 -fplugin-arg-ctune-lock=other/my.lock -c locked.c -o tuned.o
err_has 'warning: .*ctune'

# ---- what goes wrong in the plugin does not go wrong in the build ----
mkdir alone
cp "$plugin" alone/ctune.so
plain -O2 -c src/gemm.x.c -o plain.o
expect 0 gcc -O2 -Wall -Werror -fplugin=./alone/ctune.so -MD -MF tuned.d -c src/gemm.x.c -o tuned.o
err_has 'warning: ctune leaves the file alone'
[ "$(grep -c warning "$work/stderr")" = 1 ] || fail "more than one warning"
same_code tuned.o plain.o "no library"
has tuned.d 'src/gemm.x.c'
for end in 'raise(SIGSEGV)' 'abort()' '_exit(3)'; do
    printf '#include <signal.h>\n#include <stdlib.h>\n#include <unistd.h>\nvoid *ctune_transform_api_get(void) { %s; return 0; }\n' \
        "$end" | gcc -w -shared -fPIC -x c - -o alone/libctune-transform.so
    expect 0 gcc -O2 -Wall -Werror -fplugin=./alone/ctune.so -c src/gemm.x.c -o tuned.o
    err_has 'warning: ctune leaves the file alone: internal error'
    one_line
    same_code tuned.o plain.o "$end"
done
cat src/gemm.x.c | gcc -O2 -Isrc -fplugin=./alone/ctune.so -x c -c - -o tuned.o 2>"$work/stderr" || fail "standard input"
same_code tuned.o plain.o "standard input after a failure"

# another version says so in one line; so would any compiler that has other symbols
cat >loader.c <<'END2'
#include <dlfcn.h>
#include <stdio.h>
struct version { const char *basever, *datestamp, *devphase, *revision, *configuration; };
int main(int argc, char **argv) {
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
    int (*init)(void *, struct version *) = plugin != NULL ? dlsym(plugin, "plugin_init") : NULL;
    struct version version = {argv[argc - 1], "20300101", "", "", ""};
    if (init == NULL) puts(dlerror());
    return init == NULL || dlsym(plugin, "plugin_is_GPL_compatible") == NULL ? 99 : init(NULL, &version);
}
END2
gcc -w -o loader loader.c
expect 0 ./loader "$plugin" 11.3.0
err_has 'this plugin is for GCC [0-9.]*, not 11.3.0'
one_line
nothing_left
