/* Neural model file: any text is a whole network, which prints, parses to the same and scores rows,
 * or an error with file and line; and it takes memory by its length, not by what it claims. */
#include "costmodel/nn/net.h"

#include "costmodel/nn/blas.h"
#include "tests/fuzz/fuzz.h"

enum { N_ROWS = 3, MAX_FLOATS = 1 << 16 };

static void net_predict(ctune_net *net) {
    ctune_ctx ctx = {0};
    size_t width = (size_t)ctune_model_input_count(&ctune_net_get_config(net)->input);
    float *rows = width <= MAX_FLOATS ? malloc(N_ROWS * width * sizeof *rows) : NULL;
    float scores[N_ROWS];
    for (size_t i = 0; i < N_ROWS * width && rows != NULL; i++) {
        rows[i] = (float)(i % 7) - 2;
    }
    if (rows != NULL) {
        rows[0] = 2; /* items, where rows are lists */
        ctune_status status = ctune_net_predict(&ctx, net, rows, N_ROWS, scores);
        fuzz_require(status == CTUNE_OK, "a parsed network scores", ctx.error);
    }
    free(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size);
    ctune_ctx ctx = {0};
    const ctune_blas *blas;
    ctune_net *net = NULL, *again = NULL;
    ctune_text once, twice;
    if (ctune_blas_get(&ctx, &blas) != CTUNE_OK) {
        free(text);
        return 0; /* there are no networks here */
    }
    ctune_text_init(&once);
    ctune_text_init(&twice);
    ctune_status status = ctune_net_parse(&ctx, "fuzz", text, &net);
    if (status == CTUNE_OK) {
        net_predict(net);
        fuzz_require(ctune_net_print(&ctx, net, &once) == CTUNE_OK, "prints", ctx.error);
        status = ctune_net_parse(&ctx, "fuzz", ctune_text_get(&once), &again);
        fuzz_require(status == CTUNE_OK, "printed text parses", ctx.error);
        fuzz_require(ctune_net_print(&ctx, again, &twice) == CTUNE_OK, "prints", ctx.error);
        fuzz_require_same(ctune_text_get(&once), ctune_text_get(&twice), "print, parse, print");
    } else {
        fuzz_require(status == CTUNE_EUSAGE && net == NULL && strncmp(ctx.error, "fuzz:", 5) == 0,
                     "an error has its place", ctx.error);
    }
    ctune_net_destroy(net);
    ctune_net_destroy(again);
    ctune_text_clear(&once);
    ctune_text_clear(&twice);
    free(text);
    return 0;
}
