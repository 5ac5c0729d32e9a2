# ctune cc and ctune flags: the plugin's flags where C is compiled, the plain compiler everywhere else.
. "$(dirname "$0")/lib.sh"

schedule='schedule("split j 8 -> j0 j1; reorder i j0 k j1; vectorize j1")'
make_gemm gemm.c "sizes(n=40) $schedule"

kinds=
for kind in clang-19 gcc; do
    "$CTUNE" flags $kind >/dev/null 2>&1 && kinds="$kinds $kind"
done

# ---- no plugin: the build goes on, in words ----
mkdir empty
expect 0 env CTUNE_PLUGIN_DIR="$PWD/empty" "$CTUNE" cc gcc -O2 -c gemm.c -o plain.o
err_has '^ctune: warning: nothing is tuned: no plugin for gcc'
one_line
expect 3 env CTUNE_PLUGIN_DIR="$PWD/empty" "$CTUNE" flags gcc
err_has 'CTUNE_PLUGIN_DIR'
cat >mycc <<'END2'
#!/bin/sh
echo "mycc: $*"
END2
chmod +x mycc
expect 0 "$CTUNE" cc ./mycc -c gemm.c
out_has '^mycc: -c gemm.c$'
err_has 'neither clang nor gcc'

# ---- usage ----
expect 2 "$CTUNE" cc
expect 2 "$CTUNE" cc --mode=fast gcc -c gemm.c
err_has "no mode 'fast'"
expect 2 "$CTUNE" cc --colour gcc -c gemm.c
expect 3 "$CTUNE" cc no-such-gcc -c gemm.c
err_has "cannot run 'no-such-gcc'"
expect 2 "$CTUNE" flags
expect 2 "$CTUNE" flags ./mycc
expect 2 "$CTUNE" flags --mode fast gcc

# ---- flags that a shell reads back ----
mkdir -p "dir's"
for kind in $kinds; do
    cp "$(dirname "$("$CTUNE" flags $kind | sed 's/^-fplugin=//')")"/*ctune*.so "dir's"
    expect 0 env CTUNE_PLUGIN_DIR="$PWD/dir's" "$CTUNE" flags --lock "my lock's" --mode predict --report remarks $kind
    eval "set -- $(cat "$work/stdout")"
    [ $# = 4 ] || fail "$# words"
    [ "$2,$3,$4" = "-fplugin-arg-ctune-lock=my lock's,-fplugin-arg-ctune-mode=predict,-fplugin-arg-ctune-report=remarks" ] ||
        fail "words of $kind: $*"
    eval "set -- $(CTUNE_PLUGIN_DIR="$PWD/dir's" "$CTUNE" flags $kind)"
    $kind -w -O2 "$@" -c gemm.c -o flags.o || fail "flags of $kind"
    mkdir -p "pre fix"
    cp "dir's"/* "pre fix"
    for i in 1 2; do # no quotes: as in CC=gcc $(ctune flags gcc)
        # shellcheck disable=SC2046
        $kind -w -O2 $(CTUNE_PLUGIN_DIR="$PWD/pre fix" "$CTUNE" flags $kind) -c gemm.c -o unquoted.o || fail "unquoted: $kind"
        same_code unquoted.o flags.o "$kind in a folder with a blank"
    done
    "$CTUNE" apply gemm.c -o applied.c -- $kind -O2
    $kind -w -O2 -c applied.c -o applied.o
    same_code flags.o applied.o "$kind with flags"
    expect 0 "$CTUNE" cc $kind -O2 -c gemm.c -o wrapped.o
    same_code wrapped.o applied.o "ctune cc $kind"
done

# ---- what is passed on as it is: the plugin's flags do not appear ----
cat >fake-gcc <<'END2'
#!/bin/sh
case "$*" in *-fplugin*) echo plugin ;; *) echo plain ;; esac
END2
cp fake-gcc gcc
chmod +x gcc
echo 'int main(void) { return 0; }' >"a b.c"
printf '%s\n' -O2 '"a b.c"' -c >compile.rsp
printf '%s\n' a.o -o app >link.rsp
is() {
    want=$1
    shift
    expect 0 "$CTUNE" cc ./gcc "$@"
    [ "$(cat "$work/stdout")" = "$want" ] || fail "$want is not what becomes of: $*"
}
case $kinds in *gcc*)
    is plugin -c gemm.c
    is plugin gemm.c -o app
    is plugin -O2 -S -o x.s -MD -MF x.d "a b.c"
    is plugin -xc -c -
    is plugin -x c /dev/null
    is plugin -fsyntax-only gemm.c
    is plugin x.o gemm.c
    is plugin @compile.rsp
    is plain @link.rsp
    is plain a.o b.o -o app
    is plain -o a.c b.o
    is plain -E gemm.c
    is plain -M gemm.c
    is plain -MM gemm.c
    is plain --version
    is plain -v
    is plain -dumpversion
    is plain -print-file-name=x
    is plain -c a.cc
    is plain -c a.S
    is plain -x c++ gemm.c
    is plain -include a.c -c a.cc
    expect 0 "$CTUNE" cc env ./gcc -c gemm.c
    out_has '^plugin$'
    ;;
esac
rm gcc

# ---- exit codes, output and signals are the compiler's ----
for kind in $kinds; do
    expect 0 "$CTUNE" cc $kind -dumpversion
    [ "$(cat "$work/stdout")" = "$($kind -dumpversion)" ] || fail "-dumpversion"
    echo 'int main(void) { return x; }' >wrong.c
    expect 1 "$CTUNE" cc $kind -c wrong.c
    err_has "wrong.c:1:25: error: "
    echo 'int f(void);' | "$CTUNE" cc $kind -x c -c - -o x.o || fail "standard input"
done

# ---- a compiler cache must see that the lock has changed ----
cat >show-gcc <<'END2'
#!/bin/sh
for word; do case $word in *-key=*) echo "$word" ;; esac; done
END2
cp show-gcc gcc
chmod +x gcc
case $kinds in *gcc*)
    key() { "$CTUNE" cc "$@" || fail "ctune cc $*"; }
    [ -z "$(key ./gcc -c gemm.c)" ] || fail "a key without a lock"
    echo one >ctune.lock
    first=$(key ./gcc -c gemm.c)
    [ -n "$first" ] && [ "$first" = "$(key ./gcc -c @compile.rsp)" ] || fail "no key"
    [ -z "$(key ./gcc -c sub/gemm.c)" ] || fail "the lock of another folder"
    [ "$first" = "$(key --lock ctune.lock ./gcc -c sub/gemm.c)" ] || fail "--lock"
    echo two >ctune.lock
    [ "$first" != "$(key ./gcc -c gemm.c)" ] || fail "another lock, the same key"
    rm ctune.lock
    ;;
esac
rm gcc
if command -v ccache >/dev/null && [ -n "$kinds" ]; then
    export CCACHE_DIR="$work/ccache"
    for kind in $kinds; do
        cp gemm.c cached.c
        printf 'ctune-lock 1\n' >ctune.lock
        ccache -z >/dev/null
        for i in 1 2; do
            "$CTUNE" cc ccache $kind -O2 -c cached.c -o cached.o 2>"$work/stderr" || fail "ccache $kind"
        done
        ccache --print-stats | awk '/^(direct|preprocessed)_cache_hit/ { n += $2 } END { exit n != 1 }' || fail "no hit: $kind"
        printf 'ctune-lock 1\n\n' >ctune.lock
        "$CTUNE" cc ccache $kind -O2 -c cached.c -o cached.o 2>"$work/stderr" || fail "ccache $kind"
        ccache --print-stats | awk '$1 == "cache_miss" { n = $2 } END { exit n != 2 }' || fail "a changed lock hits: $kind"
    done
    rm ctune.lock
    unset CCACHE_DIR
fi

# ---- Make: out of tree, dependencies, lock ----
mkdir -p project/src
make_gemm project/src/gemm.c "sizes(n=40) $schedule"
sed -i 's/^int main(void)/int test(void)/' project/src/gemm.c
cat >project/src/main.c <<'END2'
int test(void);
int main(void) { return test(); }
END2
cat >project/Makefile <<'END2'
CFLAGS = -O2 -Wall -Wno-unknown-pragmas -MMD -MP
VPATH = src
app: gemm.o main.o
	$(CC) $(CFLAGS) -o $@ $^
-include gemm.d main.d
clean:
	rm -f app *.o *.d
END2
for kind in $kinds; do
    make -s -C project clean
    make -s -C project CC=$kind || fail "make CC=$kind"
    want=$(project/app)
    cp project/gemm.o plain.o
    make -s -C project clean
    expect 0 make -s -C project CC="'$CTUNE' cc $kind"
    [ "$(project/app)" = "$want" ] || fail "results of make with $kind"
    other_code project/gemm.o plain.o "make with $kind"
    expect 0 make -s -C project CC="'$CTUNE' cc $kind" -q
done
# ---- recording: links what recorded code calls ----
for kind in $kinds; do
    make -s -C project clean
    expect 0 make -s -C project CC="'$CTUNE' cc --mode record $kind"
    [ "$(CTUNE_RECORD=$PWD/capture project/app)" = "$want" ] || fail "results of a recording by $kind"
    has capture gemm
    rm capture
    expect 0 "$CTUNE" cc --mode=record $kind -O2 -x c project/src/gemm.c project/src/main.c -o app
    expect 0 "$CTUNE" cc --mode=record $kind -r project/gemm.o -o partial.o
    nm partial.o | grep -q 'U ctune_record_begin' || fail "-r links the library"
done
nothing_left
