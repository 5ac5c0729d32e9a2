/*
 * Schedule: a list of primitives, as data. Printed one a line, parsed back, copied by value, stored
 * in records, fed to sequence models as is. A schedule = structural primitives first, then loop and
 * memory primitives.
 *
 * Text, one primitive a line ('#' starts a comment; ';' may stand for a newline); docs/schedule.md
 * says what each does:
 *
 *     distribute
 *     fuse S0 S1 1
 *     polyhedral max
 *     split_domain i at 2*i - n < 4  # loop i twice: where it holds, then where not
 *     block j + j_2 by 16 -> x at i  # x: tile number of a sum of loops, a loop of the structure
 *     sink i                         # i innermost around each of its statements
 *     specialize n=1024              # parameter fixed: the code is guarded by n == 1024
 *     round_products                 # each product is rounded before it is added
 *     split i 64 -> i0 i1            # i0 advances by 64, i1 runs inside
 *     tile 2*t + i by 32 -> x at t   # x: tiles of a sum of loops, outside t
 *     wave t0 + x -> w               # w: sum of the loops' numbers, outside them
 *     reorder j0 k0 i0 k1 i1 j1      # one perfect nest; loops not named keep their places
 *     compute S0 at x                # S0's loops run inside x, for what is read there
 *     fission x1                     # a loop x1 around each part of its body: x1, x1_2, ...
 *     parallel i0
 *     collapse i j                   # run as one parallel loop
 *     unroll i1
 *     vectorize j1                   # all lanes of j1's extent, a constant tile
 *     slide j                        # all of innermost loop j in vectors, neighbours kept
 *     skew A 2                       # A[i][j] lies at [2*i + j][i] of a copy, for the whole region
 *     cache_read S0.0 at k0 pack     # read 0 of S0; "root" names the whole nest
 *     cache_write S0 at k0 register
 *     stream S0                      # its stores go past the caches
 */
#ifndef CTUNE_SEARCH_SCHEDULE_SCHEDULE_H
#define CTUNE_SEARCH_SCHEDULE_SCHEDULE_H

#include "search/schedule/nest.h"

/* id, name, is_structural, syntax, help. One row a primitive; the rest of design §4 joins here. The
 * printer and the parser are driven by the syntax: n name, + one or more names, # integer >= 0, >
 * "->", @ "at", b "by", . and = themselves (no space around), m max|min|smart, p "pack" or
 * "shared", r "register", h block.x|y|z or thread.x|y|z, f a sum of names ("2*t + i - j"), c a
 * condition on such a sum ("i - n < -1", also >=;
 * <= and > are read and printed as these). Names fill prim.name[], the factors of a sum prim.coef[]
 * and the integer or mode prim.number. */
#define CTUNE_PRIM_TABLE(X)                                                                        \
    X(DISTRIBUTE, "distribute", 1, "", "split loops over several statements into one nest each")   \
    X(FUSE, "fuse", 1, "nn#", "S0 S1 depth: merge the outer loops of two adjacent nests")          \
    X(POLYHEDRAL, "polyhedral", 1, "m", "max|min|smart: structure proposed by isl's scheduler")    \
    X(SPLIT_DOMAIN, "split_domain", 1, "n@c",                                                      \
      "i at e < c: loop i twice, first where the condition holds, then where not")                 \
    X(BLOCK, "block", 1, "fb#>n@n",                                                                \
      "e by f -> x at i: tiles of a sum of loops as a loop of the structure, outside i")           \
    X(SINK, "sink", 1, "n", "i: innermost around each of its statements")                          \
    X(SPLIT, "split", 0, "n#>nn", "i f -> io ii: tile loop i by f")                                \
    X(REORDER, "reorder", 0, "+", "a b c ...: loops of one nest, outermost first")                 \
    X(TILE, "tile", 0, "fb#>n@n",                                                                  \
      "e by f -> x at i: loop over tiles of a sum of loops, outside i (skewed tiles)")             \
    X(WAVE, "wave", 0, "f>n", "e -> w: loop over a sum of loops, outside them (wavefronts)")       \
    X(COMPUTE, "compute", 0, "n@n", "S at i: run stage S inside loop i, for what is read there")   \
    X(FISSION, "fission", 0, "n", "i: a loop of its own around each part of the loop's body")      \
    X(COLLAPSE, "collapse", 0, "nn", "i j: run two adjacent loops as one parallel loop")           \
    X(UNROLL, "unroll", 0, "n", "i: replicate the body")                                           \
    X(VECTORIZE, "vectorize", 0, "n", "i: run the loop's iterations in vector lanes")              \
    X(PARALLEL, "parallel", 0, "n", "i: OpenMP threads")                                           \
    X(BIND, "bind", 0, "nh", "i block.x|y|z or thread.x|y|z: iterations are the GPU's")            \
    X(CACHE_READ, "cache_read", 0, "n.#@np",                                                       \
      "S.r at loop pack|shared: copy what read r of S touches (shared: by a block's threads)")     \
    X(CACHE_WRITE, "cache_write", 0, "n@nr",                                                       \
      "S at loop register: keep the target tile in registers")                                     \
    X(STREAM, "stream", 0, "n", "S: store past the caches what nobody reads soon")                 \
    X(SPECIALIZE, "specialize", 1, "n=#", "n=v: fix a parameter, guarded at run time")             \
    X(ROUND, "round_products", 1, "", "no fused multiply-add: for originals that do not fuse")     \
    X(SLIDE, "slide", 0, "n", "i: run a whole loop in vectors that keep what the next one needs")  \
    X(SKEW, "skew", 0, "n#", "A k: keep array A in rows along its diagonals k*i + j")

typedef enum ctune_prim_kind {
#define X(id, name, structural, syntax, help) CTUNE_PRIM_##id,
    CTUNE_PRIM_TABLE(X)
#undef X
        CTUNE_N_PRIMS
} ctune_prim_kind;

typedef struct ctune_prim_info {
    const char *name;
    bool is_structural;
    const char *syntax; /* see the table */
    const char *help;
} ctune_prim_info;
const ctune_prim_info *ctune_prim_get(ctune_prim_kind kind);

enum { CTUNE_PRIM_NAMES = 24, CTUNE_SCHEDULE_PRIMS = 256 };

typedef struct ctune_prim {
    ctune_prim_kind kind;
    int n_names; /* loop and stage operands, in order of the text */
    char name[CTUNE_PRIM_NAMES][CTUNE_NAME_BYTES];
    int32_t coef[CTUNE_PRIM_NAMES]; /* of the names in a sum; 0 for others */
    bool is_less;                   /* split_domain: sum < number; else sum >= number */
    bool is_shared;                 /* cache_read: shared; else pack */
    int64_t number; /* split, tile, skew: factor; fuse: depth; cache_read: read_id; specialize:
                       value; polyhedral: ctune_poly_mode; split_domain: the right side; bind:
                       ctune_ann */
} ctune_prim;

/* Growable list; owner: the holder, ctune_schedule_clear. */
typedef struct ctune_schedule {
    int n, size;
    ctune_prim *prim;
    bool failed; /* memory ran out */
} ctune_schedule;

void ctune_schedule_init(ctune_schedule *schedule);
void ctune_schedule_clear(ctune_schedule *schedule);
void ctune_schedule_append(ctune_schedule *schedule, const ctune_prim *prim);
bool ctune_schedule_is_equal(const ctune_schedule *a, const ctune_schedule *b);
/* Parses one line ("split i 64 -> i0 i1"); a malformed one sets failed. */
void ctune_schedule_append_text(ctune_schedule *schedule, const char *line);
void ctune_schedule_print(const ctune_schedule *schedule, ctune_text *out);
/* Fails EUSAGE with line and column. Appends to out. */
CTUNE_MUST_USE ctune_status ctune_schedule_parse(ctune_ctx *ctx, const char *text,
                                                 ctune_schedule *out);

#endif
