/*
 * bench-rate: how many nests a second one core makes and scores with the analytic estimate.
 *
 * In: a file with TE text (scripts/bench makes that of gemm 512^3 with `ctune show te`).
 * Out: "nests_per_second <rate> estimate_only_per_second <rate> legal <share>".
 * A nest counts when it was sampled, built (ctune_space_nest) and scored (ctune_estimate); points
 * that are not legal cost time and do not count. Linked with the static libraries of the build
 * folder by scripts/bench.
 */
#include "search/estimate/estimate.h"
#include "search/space/space.h"

#include <stdio.h>
#include <stdlib.h>

static const double seconds = 2.0;

static int report(const ctune_ctx *ctx, const char *what) {
    fprintf(stderr, "bench-rate: %s: %s\n", what, ctx->error);
    return 1;
}

static int measure(const ctune_space *space, const ctune_target *target) {
    ctune_rng rng;
    ctune_rng_init(&rng, 1);
    ctune_nest *nest = malloc(sizeof *nest);
    if (nest == NULL) {
        return 1;
    }
    long n_points = 0, n_nests = 0;
    volatile double sink = 0;
    int64_t begin = ctune_now_ns(), end = begin;
    while ((double)(end - begin) < seconds * 1e9) {
        for (int i = 0; i < 256; i++) {
            ctune_point point;
            ctune_space_sample(space, &rng, &point);
            n_points++;
            if (ctune_space_nest(space, &point, nest)) {
                sink = sink + ctune_estimate(nest, target);
                n_nests++;
            }
        }
        end = ctune_now_ns();
    }
    double rate = (double)n_nests * 1e9 / (double)(end - begin);

    /* The estimate alone, on one nest: the identity, which is always legal. */
    ctune_point zero = {.n = ctune_space_n_decisions(space)};
    long n_estimates = 0;
    begin = end = ctune_now_ns();
    while (ctune_space_nest(space, &zero, nest) && (double)(end - begin) < 0.5e9) {
        for (int i = 0; i < 256; i++) {
            sink = sink + ctune_estimate(nest, target);
        }
        n_estimates += 256;
        end = ctune_now_ns();
    }
    free(nest);
    printf("nests_per_second %.0f estimate_only_per_second %.0f legal %.3f\n", rate,
           (double)n_estimates * 1e9 / (double)(end - begin + 1),
           (double)n_nests / (double)n_points);
    return 0;
}

int main(int argc, char **argv) {
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    if (argc != 2) {
        fprintf(stderr, "usage: bench-rate FILE.te\n");
        return 2;
    }
    ctune_text text;
    ctune_text_init(&text);
    ctune_region *region = NULL;
    ctune_program *program = NULL;
    ctune_space *space = NULL;
    const int64_t caches[3] = {48 << 10, 1 << 20, 32 << 20};
    ctune_target target;
    ctune_target_init(&target, 64, caches, 1);

    int rc = 0;
    if (ctune_file_read(&ctx, argv[1], &text) != CTUNE_OK ||
        ctune_te_parse(&ctx, ctune_text_get(&text), &region) != CTUNE_OK) {
        rc = report(&ctx, argv[1]);
    } else if (ctune_program_create(&ctx, region, &program) != CTUNE_OK) {
        rc = report(&ctx, "dependences");
    } else if (ctune_space_create(&ctx, program, &target, &space) != CTUNE_OK) {
        rc = report(&ctx, "space");
    } else {
        rc = measure(space, &target);
    }
    if (space != NULL) {
        ctune_space_destroy(space);
    }
    if (program != NULL) {
        ctune_program_destroy(program);
    }
    if (region != NULL) {
        ctune_region_destroy(region);
    }
    ctune_text_clear(&text);
    return rc;
}
