# The guide's commands, in order, in one folder, with ctune installed: docs/guide.md is cut into pieces.
#
#   ```c, cmake, make blocks   written to the file that their first line names (a comment)
#   ```sh blocks               run by sh -e; a search is shortened to a few candidates
#   the table of refusals      the loop on the left must be refused in these words, the one on the right accepted
#
# GUIDE_LOG=FILE keeps what the commands print, GUIDE_FULL=1 leaves the searches their time: how the guide's output was made.
. "$(dirname "$0")/lib.sh"
: "${CTUNE_BUILD:?}"
guide=$CTUNE_ROOT/docs/guide.md
log=${GUIDE_LOG:-$work/log}

cmake --install "$CTUNE_BUILD" --prefix "$work/prefix" >"$work/stdout" 2>"$work/stderr" || fail "cmake --install"
PATH=$work/prefix/bin:$PATH
PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig:$(find "$work/prefix/lib" -name pkgconfig | head -1)
CMAKE_PREFIX_PATH=$work/prefix
XDG_CACHE_HOME=$work/cache
export PATH PKG_CONFIG_PATH CMAKE_PREFIX_PATH XDG_CACHE_HOME
unset CTUNE_RUNNER CTUNE_CC CTUNE_MODEL CTUNE_MACHINE CTUNE_PLUGIN_DIR CTUNE_RECORD

# ---- pieces: NNN.sh and NNN.file with NNN.name ----
mkdir "$work/pieces"
awk -v folder="$work/pieces" '
    /^```(sh|c|cmake|make)$/ {
        kind = substr($0, 4)
        n++
        path = sprintf("%s/%03d.%s", folder, n, kind == "sh" ? "sh" : "file")
        printf "" >path
        is_first = kind != "sh"
        next
    }
    /^```/ { if (path != "") close(path); path = ""; next }
    path != "" {
        if (is_first) {
            is_first = 0
            name = $2
            if ($1 != "/*" && $1 != "#" && $1 != "//") name = "" # shown only
            if (name == "") { path = ""; next }
            named = sprintf("%s/%03d.name", folder, n)
            print name >named
            close(named)
        }
        print >path
    }' "$guide"
[ "$(find "$work/pieces" -name '*.sh' | wc -l)" -ge 10 ] || fail "the guide has few commands"

# a search of seconds; the rest is as the reader runs it
shorten() {
    [ -z "${GUIDE_FULL:-}" ] || { cat "$1"; return; }
    sed -e 's/--budget [0-9]*s/--trials 6 --rounds 3/' -e 's/BUDGET [0-9]*s/BUDGET 10m ARGS --trials 6 --rounds 3/' "$1"
}

mkdir "$work/demo" # without a quote in its name: Ninja does not read those in dependency files
cd "$work/demo" || exit 99
for piece in "$work"/pieces/*; do
    case "$piece" in
    *.name)
        name=$(cat "$piece")
        mkdir -p "$(dirname "$name")"
        shorten "${piece%name}file" >"$name"
        ;;
    *.sh)
        shorten "$piece" >"$work/piece.sh"
        { sed 's/^/$ /' "$piece"; echo; } >>"$log"
        sh -e "$work/piece.sh" >"$work/stdout" 2>"$work/stderr" || fail "$(cat "$piece")"
        cat "$work/stdout" "$work/stderr" >>"$log"
        ;;
    esac
done

# ---- refusals: | `loop` | words | `loop` | ----
mkdir "$work/refusals"
cd "$work/refusals" || exit 99
sed -n '/<!-- refusals/,/<!-- end/p' "$guide" | grep '^| `' >rows
[ "$(wc -l <rows)" -ge 20 ] || fail "the table of refusals has few rows"
in_function() {
    printf '#include <math.h>\nfloat g(float);\nvoid f(int n, int m, int s, const int *idx, int *count, float *a,\n'
    printf '       const float *b, float **rows, float (*grid)[n], void *memory, volatile float *port) {\n'
    printf '#pragma tune\n%s\n}\n' "$1"
}
# column ROW N; the text between its backquotes, when it begins with one
column() {
    printf '%s\n' "$1" | cut -d '|' -f "$2" | sed -e 's/^ *//' -e 's/ *$//' -e 's/^`\([^`]*\)`.*$/\1/'
}
code='`*'
while IFS= read -r row; do
    in_function "$(column "$row" 2)" >refused.c
    expect 1 ctune show te refused.c -- $flags
    grep -qF "remark: loop not tuned: $(column "$row" 3)" "$work/stderr" || fail "other words: $(column "$row" 3)"
    instead=$(printf '%s\n' "$row" | cut -d '|' -f 4 | sed 's/^ *//')
    # shellcheck disable=SC2254
    case "$instead" in
    $code)
        in_function "$(column "$row" 4)" >accepted.c
        expect 0 ctune show te accepted.c -- $flags
        ;;
    esac
done <rows
