# An example of one file: built plainly, tuned a little, rewritten, built again: the same checksum.
# $1: folder and name of the source; $2: sizes to tune for; the rest: small arguments of the program
. "$(dirname "$0")/lib.sh"
source=$CTUNE_ROOT/examples/$1
sizes=$2
shift 2
mkdir src && cp "$CTUNE_ROOT/examples/example.h" . && cp "$source" src/ || exit 99
file=src/$(basename "$source")
main=$(dirname "$source")/main.c # of an example in two files
[ -f "$main" ] || main=
checksum() {
    "$1" $args | sed 's/.*checksum //'
}
args=$*
for compiler in clang-19 gcc; do
    cc="$compiler -O3 $(march $compiler)"
    $cc -w "$file" ${main:+"$main"} -o plain || fail "$cc does not compile $file"
    expect 0 "$CTUNE" tune "$file" --sizes "$sizes" --trials 6 --quiet -- $cc
    out_has "trials"
    expect 0 "$CTUNE" apply "$file" -o src/tuned.c -- $cc
    $cc -w src/tuned.c ${main:+"$main"} -o tuned || fail "$cc does not compile src/tuned.c"
    want=$(checksum ./plain)
    [ -n "$want" ] && [ "$want" = "$(checksum ./tuned)" ] || fail "$cc: tuned $file differs"
done
