#!/bin/sh
# A compiler that has an opinion about -march=native, as clang 19 has on CPUs with AVX10 ("invalid feature combination"): it
# warns in every compile, fails with -Werror, is silent with -w; nothing else changes. hostile.sh puts it in front of PATH
# under the compiler's name.
name=${0##*/}
own=${0%/*}
PATH=$(printf '%s' "$PATH" | awk -v RS=: -v ORS= -v own="$own" '$0 != own { print (n++ ? ":" : "") $0 }')
export PATH

is_native='' is_source='' is_error='' is_off='' is_question=''
look() {
    case $1 in
    -march=native) is_native=1 ;;
    -march=*) is_native='' ;;
    -Werror) is_error=1 ;;
    -w | -Wno-invalid-feature-combination) is_off=1 ;;
    -\#\#\# | --version | -dump* | -print-*) is_question=1 ;;
    *.c | *.i | *.cc | *.cpp | *.h | -) is_source=1 ;;
    /dev/null | /dev/stdin) is_source=1 ;;
    @*) # a response file, as far as these tests write them
        for word in $(cat "${1#@}"); do look "$word"; done ;;
    esac
}
for word; do look "$word"; done

if [ "$is_native$is_source" = 11 ] && [ -z "$is_off$is_question" ]; then
    words='invalid feature combination:  +avx10.1-256; will be promoted to avx10.1-512'
    if [ -n "$is_error" ]; then
        echo "error: $words [-Werror,-Winvalid-feature-combination]" >&2
        echo '1 error generated.' >&2
        exit 1
    fi
    echo "warning: $words [-Winvalid-feature-combination]" >&2
    echo '1 warning generated.' >&2
fi
exec "$name" "$@"
