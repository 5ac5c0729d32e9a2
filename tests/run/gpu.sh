# One kernel with target(opencl) and target(cuda): predicted, applied, compiled without warnings. Its OpenCL kernels run through
# libctune-gpu on what OpenCL device there is (PoCL), with the original's bits; with CTUNE_GPU=off the same program runs the
# original. Its CUDA kernels are compiled by clang for sm_80: nothing is fused, nothing flushed, but what the text says.
#   gpu.sh NAME [SIZES]
. "$(dirname "$0")/lib.sh"
: "${CTUNE_GPU_LIB:?}"
name=$1 sizes=${2-MINI}
[ -f "$CTUNE_GPU_LIB" ] || { echo "skipped: no libctune-gpu.a"; exit 77; }
link="-Wl,-u,ctune_gpu_begin $CTUNE_GPU_LIB -ldl -lpthread -lm"
cat >device.c <<'EOF'
#include "ctune_gpu.h"
#include <stdio.h>
int main(void) {
    char why[300] = "";
    const char *name = ctune_gpu_device_name(why, sizeof why);
    puts(name[0] ? name : why);
    return name[0] == 0;
}
EOF
CTUNE_GPU_API=opencl CTUNE_GPU_CACHE=off
POCL_CACHE_DIR=$work/pocl
mkdir "$POCL_CACHE_DIR"
export CTUNE_GPU_API CTUNE_GPU_CACHE POCL_CACHE_DIR
# shellcheck disable=SC2086
$gcc -I"$CTUNE_ROOT/runtime/gpu" device.c -o device $link || fail "the library does not link"
has_device=yes
timeout 60 ./device >"$work/stdout" || { echo "no OpenCL device (pocl-opencl-icd): $(cat "$work/stdout")"; has_device=no; }

cp "$CTUNE_ROOT/tests/kernels/kernel.h" .
flags="$clang -ffp-contract=off"
warnings="-Wall -Wextra -Werror -Wno-unknown-pragmas -Wno-unused-parameter -Wno-unused-function"

# make API: $API.c and, with what a prediction chose, $API.tuned.c
make() {
    sed "s/#pragma tune/#pragma tune target($1)/" "$CTUNE_ROOT/tests/kernels/$name.c" >"$1.c"
    expect 0 "$CTUNE" tune --predict "$1.c" -- $flags
    expect 0 "$CTUNE" apply "$1.c" -o "$1.tuned.c" -- $flags
    has "$1.tuned.c" ctune_gpu_launch
}

make opencl
$flags opencl.c -w -o original -lm || fail "the original does not compile"
# shellcheck disable=SC2086
$flags opencl.tuned.c $warnings -o tuned $link || fail "the host's code does not compile without warnings"
# shellcheck disable=SC2086
$gcc opencl.tuned.c $warnings -c -o gcc.o || fail "gcc: the host's code does not compile without warnings"
$flags opencl.tuned.c -w -o alone -lm || fail "without the library it does not link"
for size in $sizes; do
    want=$(./original "$size" 1 | sed 's/ min .*//') || fail original
    for run in "env CTUNE_GPU=off ./tuned" ./alone; do
        got=$($run "$size" 1 | sed 's/ min .*//')
        [ "$want" = "$got" ] || fail "$want, but $run: $got"
    done
    if [ $has_device = yes ]; then
        got=$(CTUNE_GPU=require timeout 120 ./tuned "$size" 1 2>"$work/stderr" | sed 's/ min .*//')
        [ "$want" = "$got" ] || fail "$want, but on a device: $got"
    fi
done

make cuda
# the text between the quotes
awk '/static const char ctune_gpu_cuda/ { on = 1; next } on && /^ *;$/ { exit }
    on { sub(/^ *"/, ""); sub(/\\n"$/, ""); gsub(/\\"/, "\""); gsub(/\\\\/, "\\"); print }' cuda.tuned.c >kernels.cu
has kernels.cu __global__
clang-19 -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_80 -Wno-unknown-cuda-version \
    -ffp-contract=off -O3 -Wall -Wextra -Werror -Wno-unused-parameter -Wno-unused-function \
    -include "$CTUNE_ROOT/tests/run/cuda.h" -S kernels.cu -o kernels.ptx 2>"$work/stderr"
code=$?
if [ $code != 0 ] && grep -q 'No available targets\|unable to create target' "$work/stderr"; then
    echo "clang has no NVPTX"
else
    [ $code = 0 ] || fail "CUDA text does not compile"
    has_not kernels.ptx '\.ftz'
    has_not kernels.ptx '\(mul\|add\|sub\|fma\)\.f'
fi
[ $has_device = yes ] || { echo "skipped in part: no OpenCL device"; exit 77; }
