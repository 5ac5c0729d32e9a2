/*
 * What a compile's flags say about contraction, the fusing of a product with the sum that it goes
 * into.
 *
 * clang decides by the source's expressions unless it is told otherwise (on); GCC fuses wherever
 * its optimisers see a product and a sum (fast), and not at all in ISO modes. GCC's `on` was `off`
 * before version 14; from there it is taken as fast, which makes callers look at the code. One
 * table, the last flag that says something decides.
 */
#include "search/detect/detect.h"

#include <string.h>

enum { CLANG = 1, GCC = 2 };

static const struct {
    const char *flag; /* whole */
    int compilers;
    ctune_contract contract;
} rows[] = {
    {"-ffp-contract=off", CLANG | GCC, CTUNE_CONTRACT_OFF},
    {"-ffp-contract=on", CLANG, CTUNE_CONTRACT_ON},
    {"-ffp-contract=fast", CLANG | GCC, CTUNE_CONTRACT_FAST},
    {"-ffp-contract=fast-honor-pragmas", CLANG, CTUNE_CONTRACT_FAST},
    {"-ffast-math", CLANG, CTUNE_CONTRACT_FAST},
    {"-funsafe-math-optimizations", CLANG, CTUNE_CONTRACT_FAST},
    {"-Ofast", CLANG, CTUNE_CONTRACT_FAST},
    {"-ffp-model=fast", CLANG, CTUNE_CONTRACT_FAST},
    {"-ffp-model=aggressive", CLANG, CTUNE_CONTRACT_FAST},
    {"-ffp-model=precise", CLANG, CTUNE_CONTRACT_ON},
    {"-ffp-model=strict", CLANG, CTUNE_CONTRACT_OFF},
    {"-fno-fast-math", CLANG, CTUNE_CONTRACT_ON},
    {"-fno-unsafe-math-optimizations", CLANG, CTUNE_CONTRACT_ON},
};

/* ISO C by -std= or -ansi: without GNU's extensions. */
static bool is_iso(int n_flags, const char *const *flags) {
    bool iso = false;
    for (int i = 0; i < n_flags; i++) {
        const char *f = flags[i];
        iso = strcmp(f, "-ansi") == 0 ? true : strncmp(f, "-std=", 5) == 0 ? f[5] != 'g' : iso;
    }
    return iso;
}

ctune_contract ctune_target_contract(const char *compiler, int n_flags, const char *const *flags) {
    const ctune_compiler *row = ctune_compiler_get(compiler);
    bool is_clang = strcmp(row->name, "clang") == 0;
    bool is_old = ctune_compiler_major(compiler) < row->contract_since;
    const char *asked = NULL;
    ctune_contract found = row->contract;
    for (int i = 0; i < n_flags; i++) {
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
            if (strcmp(flags[i], rows[k].flag) == 0 &&
                (rows[k].compilers & (is_clang ? CLANG : GCC))) {
                found = rows[k].contract;
            }
        }
        asked = strncmp(flags[i], "-ffp-contract=", 14) == 0 ? flags[i] + 14 : asked;
    }
    if (is_old && asked != NULL && strcmp(asked, "on") == 0) {
        return CTUNE_CONTRACT_OFF;
    }
    if (is_old && asked == NULL && is_iso(n_flags, flags)) {
        return CTUNE_CONTRACT_OFF;
    }
    return found;
}
