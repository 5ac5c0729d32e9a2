# The man page is what docs/man/generate makes of the program's tables, is clean roff, and has all commands and options; so does
# docs/ctune.md.
. "$(dirname "$0")/lib.sh"
docs=$CTUNE_ROOT/docs

expect 0 sh "$docs/man/generate" "$CTUNE"
cmp -s "$work/stdout" "$docs/man/ctune.1" || fail "docs/man/ctune.1 is old: docs/man/generate $CTUNE >docs/man/ctune.1"

# options of a command as its help lists them; the manual has them in the command's section, the reference page anywhere
sed 's/\\-/-/g' "$docs/man/ctune.1" >man.txt
for command in $("$CTUNE" --help | awk '/^$/ { n++ } n == 1 && NF { print $1 }'); do
    awk -v title=".SS \"ctune $command " 'index($0, ".S") == 1 { on = index($0, title) == 1 } on' man.txt >section.txt
    [ -s section.txt ] || fail "no section of $command in the man page"
    has "$docs/ctune.md" "^## $command\$"
    for option in $("$CTUNE" "$command" --help | sed -n 's/^  \(--*[a-z-]*\).*/\1/p'); do
        [ "$option" = --help ] || has section.txt "^\\\\fB$option\\\\fR"
        grep -q -e "$option\$" -e "${option}[^a-z-]" "$docs/ctune.md" || fail "no $option in docs/ctune.md"
    done
done
for name in $("$CTUNE" help env | sed 's/ .*//'); do
    has man.txt "^.\\\\*fB$name"
    has "$docs/ctune.md" "$name"
done

command -v groff >/dev/null || exit 0
groff -man -Tutf8 -ww "$docs/man/ctune.1" >page.txt 2>"$work/stderr" || fail "groff"
[ ! -s "$work/stderr" ] || fail "groff warns"
