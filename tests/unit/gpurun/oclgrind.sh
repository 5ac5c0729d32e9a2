#!/bin/sh
# oclgrind.sh LIBRARY PROGRAM: the OpenCL tests under Oclgrind, which finds races, uninitialised reads and accesses out of
# bounds, of the kernels and of the library's copies. Its exit code says nothing: its log must be empty.
set -eu
log=$(mktemp)
trap 'rm -f "$log"' EXIT
CTUNE_LIBOPENCL=$1 CTUNE_GPU_STRICT=assume oclgrind --data-races --uninitialized --max-errors 5 --log "$log" "$2"
[ ! -s "$log" ] || {
    cat "$log"
    exit 1
}
