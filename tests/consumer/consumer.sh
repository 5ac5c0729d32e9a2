#!/bin/sh
# consumer.sh KIND [COMPILER [GENERATOR]]: one consumer test; what each does is said at its function.
# In: CTUNE_PREFIX (installed), CTUNE (its program), CTUNE_ROOT (sources), CTUNE_BUILD (build folder), CTUNE_CCACHE (a folder
# for a compiler cache of these tests), CMAKE.
. "$(dirname "$0")/../run/lib.sh"
kind=$1
compiler=${2-}
generator=${3-}
mkdir "$work/a project"
cd "$work/a project" || exit 99
cp -r "$CTUNE_ROOT/tests/consumer/project/." .
unset CTUNE_RUNNER CC CFLAGS LDFLAGS DESTDIR CMAKE_PREFIX_PATH CMAKE_GENERATOR CMAKE_BUILD_TYPE CMAKE_C_COMPILER_LAUNCHER

# configure FIND [-D...]
configure() {
    find=$1
    shift
    expect 0 "$CMAKE" -S . -B build -G "$generator" -DCMAKE_C_COMPILER="$compiler" -DFIND="$find" "$@"
}
with_package() {
    configure package -DCMAKE_PREFIX_PATH="$CTUNE_PREFIX" -DCMAKE_C_FLAGS="-O2" "$@"
}
# build [TARGET...]: the compiler commands are in $work/stdout
build() {
    "$CMAKE" --build build --verbose ${1:+--target} "$@" >"$work/stdout" 2>"$work/stderr" || {
        tail -n 15 "$work/stdout" | cut -c 1-1000 >"$work/end" # commands are long, the reason is last
        mv "$work/end" "$work/stdout"
        fail "cannot build $*"
    }
}
# compiled FILE.c: was it compiled in that build, for app?
compiled() {
    grep -q -e "-o CMakeFiles/app.dir/src/$1.o" "$work/stdout"
}
object() {
    printf 'build/CMakeFiles/%s.dir/src/%s.c.o' "$1" "$2"
}
is_plain() {
    same "$(object app mul)" "$(object plain mul)"
}
is_tuned() {
    ! cmp -s "$(object app mul)" "$(object plain mul)" || fail "the lock was not applied"
    [ "$(build/app)" = "$(build/plain)" ] || fail "app and plain print different sums"
}
# write_lock TILE: an entry for mul with a schedule of our own; target and workload are what ctune writes.
write_lock() {
    expect 0 "$ctune" tune src/mul.c -p build --trials 1 --rounds 3
    awk -v tile="$1" '
        /^  schedule/ {
            print "  schedule\n    split i 4 -> i0 i1\n    split j " tile " -> j0 j1\n    reorder i0 j0 k i1 j1"
            print "    cache_write S0 at j0 register\n    unroll i1\n    vectorize j1\nend"
            skip = 1
        }
        !skip { print }
        /^end/ { skip = 0 }' src/ctune.lock >lock.new
    mv lock.new src/ctune.lock
}

# The library of GPU regions is linked although only weak references name it.
gpu_links() {
    build gpu no_gpu
    expect 0 build/gpu
    expect 3 build/no_gpu
    expect 0 test -e "$CTUNE_PREFIX/include/ctune_gpu.h"
}

# From no lock to a lock, another lock, none: what is compiled again and with what result.
lock_comes_and_goes() {
    is_plain
    write_lock 16
    build app plain
    compiled mul.c || fail "a new lock: mul.c was not compiled again"
    is_tuned
    cp "$(object app mul)" "$work/tuned-16.o"
    build app plain
    compiled mul.c && fail "nothing changed: mul.c was compiled again"
    write_lock 8
    build app plain
    compiled mul.c || fail "a changed lock: mul.c was not compiled again"
    is_tuned
    ! cmp -s "$(object app mul)" "$work/tuned-16.o" || fail "the changed lock was not applied"
    rm src/ctune.lock
    build app plain
    is_plain
}

# find_package: all of it.
test_package() {
    ctune=$CTUNE
    with_package -DWITH_CXX=ON
    build
    has_not "$work/stdout" 'else.cc.*-fplugin\|-fplugin.*else.cc'
    has_not "$work/stdout" 'some.dir/src/mul.c.*-fplugin\|-fplugin.*some.dir/src/mul.c'
    has "$work/stdout" '-fplugin.*some.dir/src/twice.c'
    lock_comes_and_goes
    if [ "$generator" = Ninja ]; then # Make compiles a target's files again when one's options change
        write_lock 16
        build
        compiled other.c && fail "other.c has no pragma and was compiled again"
    fi
    # ctune_test: right, then stale
    write_lock 16
    (cd build && ctest >"$work/stdout" 2>&1) || fail "ctune_test does not pass"
    out_has 'ctune.app .*Passed'
    sed -i 's/a\[i\]\[k\] \* b/2 * a[i][k] * b/' src/mul.c
    (cd build && ctest -R ctune.app >"$work/stdout" 2>&1) && fail "ctune_test passes with a stale entry"
    # other modes
    for mode in off predict record; do
        with_package -DCONSUMER_MODE=$mode -DWITH_CXX=OFF
        build app plain
        [ "$mode" != off ] || is_plain
        [ "$(build/app)" = "$(build/plain)" ] || fail "mode $mode: other results"
    done
    # a lock that is named
    with_package -DCONSUMER_MODE=lock -DSET_LOCK=named.lock
    build app
    expect 0 "$ctune" tune src/mul.c -p build --trials 1 --rounds 3 --lock named.lock
    build app
    compiled mul.c || fail "a new named lock: mul.c was not compiled again"
    out_has '-fplugin-arg-ctune-lock=.*named.lock'
}

# add_subdirectory and FetchContent: the plugin is built first. -O0 and a compiler cache, because ctune is built for this.
with_sources() {
    if command -v ccache >/dev/null; then
        CCACHE_DIR=$CTUNE_CCACHE
        export CCACHE_DIR
        set -- "$@" -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
    fi
    configure "$@" -DCTUNE_ROOT="$CTUNE_ROOT" -DCTUNE_BUILD_FLAGS=-O0 -DCMAKE_C_FLAGS="-O2 -Werror=shadow"
}
test_subdirectory() {
    with_sources subdirectory
    ctune=$PWD/build/ctune/ctune
    # warnings, tests, install rules and build type are this project's own
    (cd build && ctest -N >"$work/stdout" 2>&1)
    has_not "$work/stdout" 'unit\.\|run\.\|golden'
    has build/CMakeCache.txt 'CMAKE_BUILD_TYPE:STRING=$'
    has_not build/CMakeCache.txt '^BUILD_TESTING'
    build flag # waits for the plugin
    build app plain ctune ctune-runner
    lock_comes_and_goes
    has_not "$work/stdout" '\(_GNU_SOURCE\|-Wstrict-prototypes\).* -o CMakeFiles/'
    build
    expect 0 "$CMAKE" --install build --prefix "$work/installed"
    [ ! -e "$work/installed/bin/ctune" ] || fail "the project's install rule installs ctune"
}
test_fetchcontent() {
    with_sources fetchcontent
    build app plain
    is_plain
}

# Without ctune: the two lines of the documentation.
test_missing() {
    configure optional -DCMAKE_DISABLE_FIND_PACKAGE_ctune=ON
    build
    has_not "$work/stdout" '-fplugin'
    is_plain
}

# The wrong compiler: a warning that names the right ones, and a plain build.
test_handshake() {
    major=$(echo "$compiler" | sed 's/.*-//')
    cat >clang-16 <<END
#!/bin/sh
exec $compiler -U__clang_major__ -D__clang_major__=$((major - 3)) "\$@"
END
    chmod +x clang-16
    compiler=$PWD/clang-16
    with_package
    tr -s ' \n' ' ' <"$work/stderr" >"$work/flat"
    has "$work/flat" "ctune's clang plugin is for clang $major; CMAKE_C_COMPILER is clang $((major - 3)): use CMAKE_C_COMPILER=clang-$major"
    [ "$(grep -c 'CMake Warning' "$work/stderr")" = 1 ] || fail "more than one warning"
    build
    has_not "$work/stdout" '-fplugin'
    is_plain
}

# The tuning target: searches a few candidates, the lock is written, the next build uses it.
test_tuning() {
    with_package
    build
    build tuning
    out_has 'mul.c:4: mul \[n=64\]'
    has src/ctune.lock 'region mul in mul.c'
    has src/ctune.lock 'region twice in twice.c'
    build
    compiled mul.c || fail "mul.c was not compiled again after tuning"
    [ "$(build/app)" = "$(build/plain)" ] || fail "app and plain print different sums"
    (cd build && ctest >"$work/stdout" 2>&1) || fail "ctune_test does not pass"
}

# A compiler cache: an unchanged lock hits, a changed lock misses.
misses() {
    ccache --print-stats | awk '$1 == "cache_miss" { print $2 }'
}
test_ccache() {
    command -v ccache >/dev/null || { echo "no ccache: nothing tested"; exit 0; }
    CCACHE_DIR=$work/ccache
    export CCACHE_DIR
    ctune=$CTUNE
    with_package -DCMAKE_C_COMPILER_LAUNCHER=ccache
    build app plain
    write_lock 16
    build app plain
    is_tuned
    cp "$(object app mul)" "$work/tuned-16.o"
    cp src/ctune.lock "$work/lock-16"
    write_lock 8
    before=$(misses)
    build app plain
    [ "$(misses)" -gt "$before" ] || fail "a changed lock was answered from the cache"
    is_tuned
    ! cmp -s "$(object app mul)" "$work/tuned-16.o" || fail "the changed lock gives the old object"
    before=$(misses)
    cp "$work/lock-16" src/ctune.lock
    build app plain
    same "$(object app mul)" "$work/tuned-16.o"
    [ "$(misses)" = "$before" ] || fail "an earlier lock was compiled again"
}

# Without CMake: flags from ctune.pc.
test_pkgconfig() {
    PKG_CONFIG_PATH=$(dirname "$(find "$CTUNE_PREFIX" -name ctune.pc)")
    export PKG_CONFIG_PATH
    family=${compiler%-*}
    sed -i 's/tune sizes(n=64)/& schedule("split i 4 -> i0 i1; unroll i1")/' src/mul.c
    eval "set -- $(pkg-config --variable="${family}_cflags" ctune)" # it quotes for the shell
    expect 0 "$compiler" -O2 "$@" -c src/mul.c -o tuned.o
    expect 0 "$compiler" -O2 -Wno-unknown-pragmas -c src/mul.c -o plain.o
    ! cmp -s tuned.o plain.o || fail "the plugin did nothing"
    eval "set -- $(pkg-config --variable=ctune ctune)"
    expect 0 "$1" --version
    expect 0 pkg-config --libs ctune
    eval "set -- $(pkg-config --variable=gpu_libs ctune)"
    expect 0 "$compiler" src/gpu.c -o gpu "$@"
    expect 0 ./gpu
}

# The Debian package: unpacked into a folder, everything works from there.
test_deb() {
    expect 0 "$(dirname "$CMAKE")/cpack" --config "$CTUNE_BUILD/CPackConfig.cmake" -G DEB -B "$work/packages"
    expect 0 dpkg-deb -I "$work"/packages/ctune_*.deb
    out_has 'Depends:.*libc6'
    out_has 'Depends:.*libsqlite3-0'
    expect 0 dpkg-deb -x "$work"/packages/ctune_*.deb "$work/root"
    CTUNE_PREFIX=$work/root/usr
    ctune=$CTUNE_PREFIX/bin/ctune
    with_package
    build app plain
    lock_comes_and_goes
    gpu_links
}

# examples/cmake-project, as its README says: plain, tuned, without ctune; the checksums stay.
test_example() {
    rm -rf ./*
    cp -r "$CTUNE_ROOT/examples/cmake-project/." .
    rm -rf build ctune.lock
    with_package -DTUNING_BUDGET=10m "-DTUNING_ARGS=--trials;8;--rounds;3" # on any machine, loaded or not
    build
    build/demo | sed 's/.*checksum//' >"$work/plain"
    build tuning
    has ctune.lock 'region matmul in matmul.c'
    has ctune.lock 'region sharpen in sharpen.c'
    build
    has "$work/stdout" '-o CMakeFiles/linalg.dir/linalg/matmul.c.o'
    build/demo | sed 's/.*checksum//' >"$work/tuned"
    same "$work/plain" "$work/tuned"
    (cd build && ctest >"$work/stdout" 2>&1) || fail "its tests do not pass"
    # and without ctune
    configure package -DCMAKE_DISABLE_FIND_PACKAGE_ctune=ON
    build
    build/demo | sed 's/.*checksum//' >"$work/without"
    same "$work/plain" "$work/without"
}

"test_$kind"
