# Smoke runs of the scripts that are not scripts/bench: script.sh NAME
. "$(dirname "$0")/../run/lib.sh"
scripts=$CTUNE_ROOT/scripts

case $1 in
setup)
    expect 2 "$scripts/setup" --nonsense
    err_has usage
    # with stand-ins for the package manager: everything is there, or nothing is
    mkdir bin
    printf '#!/bin/sh\necho "install ok installed"\n' >bin/dpkg-query
    printf '#!/bin/sh\necho "$@" >>"%s/log"\n' "$PWD" >bin/apt-get
    printf '#!/bin/sh\nexec "$@"\n' >bin/sudo
    chmod +x bin/*
    expect 0 env PATH="$PWD/bin:$PATH" "$scripts/setup" --tests --bench
    [ ! -e log ] || fail "installs what is there"
    printf '#!/bin/sh\nexit 1\n' >bin/dpkg-query
    expect 0 env PATH="$PWD/bin:$PATH" "$scripts/setup" --tests --bench
    has log '^update'
    has log 'install.* clang-19 .*libcmocka-dev.*libopenblas-dev'
    ;;
check)
    expect 2 "$scripts/check" --nonsense
    err_has usage
    expect 2 "$CTUNE_ROOT/.ci/run" --nonsense
    ;;
check-layers)
    expect 0 "$scripts/check-layers" "$CTUNE_ROOT"
    mkdir -p tree/runtime tree/costmodel tree/search/te tree/search/deps tree/plugin tree/tests tree/examples tree/scripts
    echo '#include "search/te/te.h"' >tree/search/deps/good.c
    expect 0 "$scripts/check-layers" tree
    echo '#include "search/te/te.h"' >tree/runtime/bad.c
    expect 1 "$scripts/check-layers" tree
    out_has 'runtime/bad.c:1: .*search/te/te.h'
    rm tree/runtime/bad.c
    # inside of a top folder: the libraries' order
    printf 'ctune_library(ctune_te search/te m)\nctune_library(ctune_deps search/deps ctune_te)\n' >tree/CMakeLists.txt
    expect 0 "$scripts/check-layers" tree
    printf '\n#include "search/deps/deps.h"\n' >tree/search/te/circle.c
    expect 1 "$scripts/check-layers" tree
    out_has 'search/te/circle.c:2: search/te/ may not include "search/deps/deps.h"'
    rm tree/search/te/circle.c
    printf 'ctune_library(ctune_deps search/deps ctune_te)\nctune_library(ctune_te search/te m)\n' >tree/CMakeLists.txt
    expect 1 "$scripts/check-layers" tree
    out_has 'CMakeLists.txt:1: ctune_deps links ctune_te, which comes later'
    rm tree/CMakeLists.txt
    printf '\n#include "../deps/deps.h"\n' >tree/search/te/bad.c
    expect 1 "$scripts/check-layers" tree
    out_has 'search/te/bad.c:2:'
    ;;
quickstart)
    expect 2 "$scripts/quickstart" --nonsense
    expect 2 "$scripts/quickstart" --budget
    expect 0 "$scripts/quickstart" --ctune "$CTUNE" --budget 1s --size 96 --out out
    out_has 'gemm 96 x 96 x 96, float, one thread'
    out_has '^results identical'
    [ -s out/gemm.tuned.c ] || fail "no rewritten C"
    ;;
gpu-check) # on OpenCL's CPU, whatever else is there
    mkdir pocl
    export POCL_CACHE_DIR="$PWD/pocl" CTUNE_GPU_CACHE=off CTUNE_GPU_API=opencl
    "$scripts/gpu-check" --out out /bin/true /bin/false >"$work/stdout" 2>"$work/stderr" && code=0 || code=$?
    [ "$code" != 3 ] || exit 77
    [ "$code" = 1 ] || fail "exit code $code although /bin/false was wrong"
    out_has '^float_bits .*identical'
    python3 -c 'import json; facts = json.load(open("out/gpu-check.json")); assert facts["gemm_bits"] is True and facts["wrong"] == 0'
    has out/gpu-check.txt '^device_copy .*GB/s'
    has out/gpu-check.txt '^true .*right'
    has out/gpu-check.txt '^false .*WRONG'
    ;;
train-global)
    expect 0 "$scripts/train-global" --help
    expect 0 "$scripts/train-global" --plan --ctune "$CTUNE"
    [ "$(grep -c ' collect ' "$work/stdout")" -ge 100 ] || fail "a short plan"
    python3 - "$CTUNE_ROOT/costmodel/data/cpu.jsonl.gz" <<'END' || fail "no data"
import gzip, itertools, sys
with gzip.open(sys.argv[1], "rt") as file, gzip.open("data.jsonl.gz", "wt") as out:
    out.writelines(itertools.islice(file, 400))
END
    expect 0 "$scripts/train-global" --ctune "$CTUNE" --data data.jsonl.gz -o new/cpu.model
    [ -s new/cpu.model ] || fail "no model"
    ;;
generate-kernels)
    expect 2 "$scripts/generate-kernels" --families nonsense
    err_has 'there are: contraction'
    expect 0 "$scripts/generate-kernels" --count 300 --list
    [ "$(wc -l <"$work/stdout")" -ge 290 ] || fail "few kernels"
    expect 0 "$scripts/generate-kernels" --count 20 --seed 3 -o a
    expect 0 "$scripts/generate-kernels" --count 20 --seed 3 -o b
    diff -r a b >/dev/null || fail "not the same again"
    # one of each family: plain C without a warning; extracted, searched a little, the same bits as the original
    for file in $(ls a | awk 'NR % 2'); do
        gcc -std=c11 -Wall -Wextra -Werror -Wno-unknown-pragmas -fsyntax-only "a/$file" || fail "$file warns"
        expect 0 "$CTUNE" show te "a/$file" -- $clang
    done
    for file in $(ls a | awk 'NR % 4 == 1'); do
        expect 0 "$CTUNE" tune "a/$file" --sizes "$(sed -n 's/^#pragma tune sizes(\(.*\))$/\1/p' "a/$file" | sed 's/=[0-9|]*/=13/g; s/ //g')" --trials 3 --rounds 3 --quiet --history h.db --lock l.lock -- $clang
        expect 0 "$CTUNE" check "a/$file" --lock l.lock --quiet -- $clang
    done
    ;;
*) fail "no script $1" ;;
esac
