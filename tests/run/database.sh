# Flags from compile_commands.json: quoted words, relative includes, a compiler launcher, a file that is not there.
. "$(dirname "$0")/lib.sh"

mkdir -p src build 'src/in c'
echo '#define N 24' >'src/in c/size.h'
cat >src/a.c <<'END'
#include "size.h"
#ifndef SCALE
#error no SCALE
#endif
void f(float y[N][N]) {
#pragma tune
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            y[i][j] *= SCALE;
}
END
cat >build/compile_commands.json <<'END'
[{"directory": "DIR/build", "file": "../src/a.c",
  "command": "ccache clang-19 -DSCALE=\\\"2 -USCALE '-DSCALE=2.0f' -I\"../src/in c\" -O2 -Werror -MD -MF a.d -o a.o -c ../src/a.c"}]
END
sed -i "s|DIR|$(pwd)|" build/compile_commands.json
expect 0 "$CTUNE" show te -p build src/a.c
out_has '24'
expect 0 "$CTUNE" tune -p build src/a.c --trials 4 --batch 4 --rounds 3
[ -s src/ctune.lock ] || fail "no lock beside the source"
cat >build/compile_commands.json <<'END'
[{"directory": "DIR/build", "file": "../src/a.c",
  "arguments": ["gcc", "-DSCALE=2", "-I", "../src/in c", "-fno-tree-pre", "-O2", "-o", "a.o", "-c", "../src/a.c"]}]
END
sed -i "s|DIR|$(pwd)|" build/compile_commands.json
expect 0 "$CTUNE" show te -p build src/a.c
cp src/a.c src/b.c
expect 2 "$CTUNE" show te -p build src/b.c
err_has 'no entry'
echo '{' >build/compile_commands.json
expect 2 "$CTUNE" show te -p build src/a.c
expect 3 "$CTUNE" show te -p nowhere src/a.c
