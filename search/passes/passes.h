/*
 * Passes: loops -> loops. Each takes a whole program and leaves a whole program that computes the
 * same (loops_verify and loops_eval hold after every one); the table below is their order. A pass
 * never refuses: what it cannot improve stays as it is. A limit or lack of memory is a failure
 * recorded in the program (ctune_loops_fail).
 *
 *   - sums: FOR sum becomes vectors of partial sums, joined behind the loop.
 *   - stream: FOR simd with streamed stores becomes chunks of one FOR vector each, and the rest.
 *   - slide: FOR slide becomes chunks of one FOR vector each from a multiple of the lanes on, and
 *     shorter vectors in front and behind.
 *   - vectorise: FOR vector becomes FOR full over `lanes`-wide chunks with vector values. What has
 * no vector form is gathered from scalar lanes; a body that cannot run in lanes becomes FOR full.
 *   - unroll: FOR full becomes its body, repeated with constants.
 *   - transpose: a loop in lanes along rows, which it gathers and scatters, reads and writes whole
 *     vectors of them and transposes these.
 *   - scalars: REGISTER buffers whose every index is constant become value variables; else BLOCK.
 *   - carry: what such chunks read beside each other stays in variables from chunk to chunk.
 *   - share: common operands of straight-line code get a DEF, placed right before their first use;
 *     what does not change in an innermost loop moves in front of it.
 *   - name: identifiers for variables and buffers.
 */
#ifndef CTUNE_SEARCH_PASSES_PASSES_H
#define CTUNE_SEARCH_PASSES_PASSES_H

#include "search/loops/loops.h"
#include "search/target/target.h"

typedef struct ctune_pass_options {
    const ctune_target *target;
    /* Identifiers that must not be used besides the region's own list and C's keywords:
     * [n_reserved]. */
    const char *const *reserved;
    int n_reserved;
    /* The program will only run at these values of the parameters [n_params]; NULL: at any. */
    const int64_t *sizes;
} ctune_pass_options;

typedef ctune_status (*ctune_pass_run)(ctune_loops *l, const ctune_pass_options *options);

#define CTUNE_PASS_TABLE(X)                                                                        \
    X(settle)                                                                                      \
    X(sums)                                                                                        \
    X(stream)                                                                                      \
    X(slide)                                                                                       \
    X(vectorise)                                                                                   \
    X(unroll)                                                                                      \
    X(transpose)                                                                                   \
    X(scalars)                                                                                     \
    X(carry)                                                                                       \
    X(share)                                                                                       \
    X(name)

#define X(id)                                                                                      \
    CTUNE_MUST_USE ctune_status ctune_pass_##id(ctune_loops *l, const ctune_pass_options *options);
CTUNE_PASS_TABLE(X)
#undef X

/* In launches, between accesses of one SHARED buffer by different threads: the last step of the
 * lowering, without which the program is none. */
CTUNE_MUST_USE ctune_status ctune_pass_barriers(ctune_loops *l);

/* Called after each pass with its name; tests verify and evaluate there. */
typedef void (*ctune_pass_observer)(void *data, const char *pass, const ctune_loops *loops);

/* All passes in order. observer may be NULL. Debug builds (no NDEBUG) verify after each pass. */
CTUNE_MUST_USE ctune_status ctune_passes_run(ctune_loops *l, const ctune_pass_options *options,
                                             ctune_pass_observer observer, void *data);

/* Lanes of one vector along a dim of this extent: the most that fit into vector_bytes and divide
 * it, at least 1. */
int ctune_tile_lanes(int vector_bytes, ctune_type type, int64_t extent);
/* Do vectors of this type exist (vector_size of GCC and Clang)? Not bool, f16, f80. */
bool ctune_type_has_vectors(ctune_type type);

#endif
