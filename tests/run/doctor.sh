# What the machine can do, measured or by default.
. "$(dirname "$0")/lib.sh"
XDG_CACHE_HOME="$work/cache dir"
export XDG_CACHE_HOME
unset CTUNE_MACHINE

expect 0 "$CTUNE" doctor -- $flags
out_has '^facts .*not measured'
out_has '^target'
out_has '^bandwidth'
[ ! -e "$XDG_CACHE_HOME/ctune" ] || fail "doctor writes without --calibrate"
expect 0 "$CTUNE" doctor --calibrate -- $flags
out_has "^facts .*cache dir/ctune/machine-"
nothing_left
file=$(ls "$XDG_CACHE_HOME"/ctune/machine-*.txt)
has "$file" '^ctune-machine 1$'
python3 - "$file" <<'EOF' || fail "implausible figures"
import sys
facts = dict(line.split(" ", 1) for line in open(sys.argv[1]) if " " in line)
number = lambda name: float(facts[name])
assert int(facts["measured"]) == 1
assert 0.3 < number("ghz") < 8, facts
assert 0.1 < number("fma_per_cycle") <= 6 and 2 <= number("fma_latency") < 40, facts
assert number("memory_bytes_per_cycle") <= 1.5 * number("l3_bytes_per_cycle"), facts
EOF
expect 0 "$CTUNE" doctor -- $flags
out_has "^facts .*cache dir/ctune/machine-"

# each instruction set has a file of its own
expect 0 "$CTUNE" doctor -- clang-19 -O2
out_has '^facts .*not measured'

# a file by hand: what is not plausible is left out, with a warning
sed 's/^ghz .*/ghz 400/' "$file" >"$work/hand.txt"
export CTUNE_MACHINE="$work/hand.txt"
expect 0 "$CTUNE" doctor -- $flags
err_has 'hand.txt:[0-9]*:1: warning: ghz'
out_has '^core *3.00 GHz'
CTUNE_MACHINE="$work/missing.txt"
expect 0 "$CTUNE" doctor -- $flags
err_has 'missing.txt.*warning'
CTUNE_MACHINE=
expect 0 "$CTUNE" doctor -- $flags
[ ! -s "$work/stderr" ] || fail "a warning without a file"
out_has '^facts .*not measured'
expect 3 "$CTUNE" doctor --calibrate -- $flags
err_has 'nowhere to keep'
CTUNE_MACHINE=/proc/no/machine.txt
expect 3 "$CTUNE" doctor --calibrate -- $flags
expect 2 "$CTUNE" doctor file.c
expect 3 "$CTUNE" doctor --calibrate -- clang-99
