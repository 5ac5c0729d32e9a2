"""Vector arithmetic and vectors on the stack in the innermost loops of x86-64 assembly (AT&T, standard input).

    inner_loops.py LEAST

LEAST: floats in the narrowest vector that counts. A loop is what lies between a label and a later jump back to it; innermost,
when no other lies inside. Prints, for the innermost loop with the most lanes of multiply-adds (or products), these lanes and
the number of instructions in all innermost loops with multiply-adds that move a vector to or from the stack.
"""
import re
import sys

LANES = {"x": 4, "y": 8, "z": 16}


def lanes_of(line):
    widths = [LANES[m] for m in re.findall(r"%([xyz])mm", line)]
    return max(widths) if widths else 0


def loops_of(lines):
    label, found = {}, []
    for at, line in enumerate(lines):
        name = re.match(r"\s*([.\w$]+):", line)
        if name:
            label[name.group(1)] = at
        jump = re.match(r"\s*j\w+\s+([.\w$]+)\s*(#.*)?$", line)
        if jump and jump.group(1) in label:
            found.append((label[jump.group(1)], at))
    return [a for a in found if not any(b != a and a[0] <= b[0] and b[1] <= a[1] for b in found)]


def main():
    least = int(sys.argv[1])
    lines = sys.stdin.read().splitlines()
    # else rbp is a register like any other
    has_frame = any(re.search(r"mov\w*\s+%rsp, *%rbp", line) for line in lines)
    stack = r"\(%rsp[,)]|\(%rbp\)" if has_frame else r"\(%rsp[,)]"
    best = n_stack = 0
    for begin, end in loops_of(lines):
        body = [line for line in lines[begin:end] if lanes_of(line) >= least]
        total = sum(lanes_of(line) for line in body if re.search(r"(fn?madd\w*|mul)ps", line))
        best = max(best, total)
        if total > 0:
            n_stack += sum(1 for line in body if re.search(stack, line))
    print(best, n_stack)


main()
