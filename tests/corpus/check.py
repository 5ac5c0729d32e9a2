#!/usr/bin/env python3
"""Which loops of the corpus does ctune handle?

In: the program; *.c beside this file, a named `#pragma tune` above each loop; expected.txt, a line a
loop: its name, and `handled` or the code of the refusal. Out: what differs, and the share handled.
`--update` writes the table.
"""
import pathlib
import re
import subprocess
import sys

here = pathlib.Path(__file__).parent
table = here / "expected.txt"


def outcomes(ctune, file):
    text = file.read_text().splitlines()
    names = {}
    for i, line in enumerate(text, 1):
        found = re.search(r"#pragma tune.*name\((\w+)\)", line)
        if found:
            names[i] = found.group(1)
    run = subprocess.run([ctune, "show", "te", file.name, "--", "clang-19", "-O3"], cwd=here,
                         capture_output=True, text=True)
    got = {}
    for line in (run.stdout + run.stderr).splitlines():
        region = re.match(r"region (\S+) at ", line)
        refusal = re.match(r"[^:]+:(\d+):\d+: (?:remark: loop not tuned|error): .*\[([\w-]+)\]$", line)
        if region:
            got[region.group(1)] = "handled"
        elif refusal:
            above = [n for n in names if n <= int(refusal.group(1))]
            if above:
                got[names[max(above)]] = refusal.group(2)
    return {name: got.get(name, "nothing-said") for name in names.values()}


def main():
    ctune = str(pathlib.Path(sys.argv[1]).resolve())
    got = {}
    for file in sorted(here.glob("*.c")):
        got.update(outcomes(ctune, file))
    if "--update" in sys.argv:
        table.write_text("".join(f"{name} {what}\n" for name, what in got.items()))
    want = dict(line.split() for line in table.read_text().splitlines())
    for name in sorted(got.keys() | want.keys()):
        if got.get(name) != want.get(name):
            print(f"{name}: {got.get(name)}, expected {want.get(name)}")
    n = sum(what == "handled" for what in got.values())
    print(f"{n} of {len(got)} handled")
    return got != want


sys.exit(main())
