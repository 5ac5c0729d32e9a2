/*
 * Tape: see tape.h. Values lie in blocks that a reset keeps; the first batch of a training pays for
 * memory, the others do not.
 */
#include "costmodel/nn/tape_private.h"

#include "costmodel/memory.h"

#include <limits.h>

enum { BLOCK_FLOATS = 1 << 22, MAX_BLOCKS = 4096 };

typedef struct block {
    float *data;
    size_t size, used;
} block;

struct ctune_nn_tape {
    ctune_ctx *ctx;
    const ctune_blas *blas;
    ctune_status status;
    int n, size;
    nn_node *node;
    int n_blocks, i_block;
    block blocks[MAX_BLOCKS];
};

ctune_status ctune_nn_tape_create(ctune_ctx *ctx, const ctune_blas *blas, ctune_nn_tape **out) {
    ctune_nn_tape *tape = ctune_memory_grow(ctx, NULL, 1, sizeof *tape);
    if (tape == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    memset(tape, 0, sizeof *tape);
    tape->ctx = ctx;
    tape->blas = blas;
    *out = tape;
    return CTUNE_OK;
}

void ctune_nn_tape_destroy(ctune_nn_tape *tape) {
    if (tape == NULL) {
        return;
    }
    for (int i = 0; i < tape->n_blocks; i++) {
        free(tape->blocks[i].data);
    }
    free(tape->node);
    free(tape);
}

void ctune_nn_tape_reset(ctune_ctx *ctx, ctune_nn_tape *tape) {
    tape->ctx = ctx;
    tape->status = CTUNE_OK;
    tape->n = 0;
    tape->i_block = 0;
    for (int i = 0; i < tape->n_blocks; i++) {
        tape->blocks[i].used = 0;
    }
}

ctune_status ctune_nn_status(const ctune_nn_tape *tape) {
    return tape->status;
}

/* ---- for the operators ----------------------------------------------------------------------- */
void nn_fail(ctune_nn_tape *tape, ctune_status status, const char *what) {
    if (tape->status == CTUNE_OK) {
        tape->status = ctune_fail(tape->ctx, status, "network: %s", what);
    }
}

bool nn_has_failed(const ctune_nn_tape *tape) {
    return tape->status != CTUNE_OK;
}

const ctune_blas *nn_blas(const ctune_nn_tape *tape) {
    return tape->blas;
}

nn_node *nn_get(ctune_nn_tape *tape, ctune_nn_var x) {
    return &tape->node[x];
}

float *nn_floats(ctune_nn_tape *tape, size_t n) {
    n = (n + 15) / 16 * 16;
    while (tape->i_block < tape->n_blocks) {
        block *b = &tape->blocks[tape->i_block];
        if (b->size - b->used >= n) {
            float *at = b->data + b->used;
            b->used += n;
            return at;
        }
        tape->i_block++;
    }
    block b = {.size = n > BLOCK_FLOATS ? n : BLOCK_FLOATS, .used = n};
    if (nn_has_failed(tape) || tape->n_blocks == MAX_BLOCKS) {
        nn_fail(tape, CTUNE_ENOMEM, "out of memory");
        return NULL;
    }
    b.data = ctune_memory_grow(tape->ctx, NULL, b.size, sizeof *b.data);
    if (b.data == NULL) {
        nn_fail(tape, CTUNE_ENOMEM, "out of memory");
        return NULL;
    }
    tape->i_block = tape->n_blocks;
    tape->blocks[tape->n_blocks++] = b;
    return b.data;
}

bool nn_check(ctune_nn_tape *tape, ctune_nn_var a, ctune_nn_var b) {
    if (!nn_has_failed(tape) && (a < 0 || a >= tape->n || b < 0 || b >= tape->n)) {
        nn_fail(tape, CTUNE_EBUG, "an operand that is none");
    }
    return !nn_has_failed(tape);
}

static nn_node *node_append(ctune_nn_tape *tape) {
    if (tape->n == tape->size) {
        int size = tape->size > 0 ? 2 * tape->size : 256;
        nn_node *node = tape->size > INT_MAX / 2
                            ? NULL
                            : ctune_memory_grow(tape->ctx, tape->node, (size_t)size, sizeof *node);
        if (node == NULL) {
            nn_fail(tape, CTUNE_ENOMEM, "out of memory");
            return NULL;
        }
        tape->node = node;
        tape->size = size;
    }
    return &tape->node[tape->n++];
}

ctune_nn_var nn_add(ctune_nn_tape *tape, nn_op op, int rows, int cols, ctune_nn_var a,
                    ctune_nn_var b, float **value) {
    size_t n = 0;
    if (rows < 0 || cols < 0 || !ctune_size_mul((size_t)rows, (size_t)cols, &n)) {
        nn_fail(tape, CTUNE_EBUG, "a shape that is none");
    }
    float *room = nn_has_failed(tape) ? NULL : nn_floats(tape, n);
    nn_node *node = room != NULL ? node_append(tape) : NULL;
    if (node == NULL) {
        return -1;
    }
    bool wants = (a >= 0 && tape->node[a].wants_grad) || (b >= 0 && tape->node[b].wants_grad);
    *node = (nn_node){.op = op,
                      .rows = rows,
                      .cols = cols,
                      .from = {a, b, -1},
                      .wants_grad = wants,
                      .value = room};
    *value = room;
    return tape->n - 1;
}

bool nn_set_ids(ctune_nn_tape *tape, ctune_nn_var x, int n, const int *ids, int least, int most) {
    float *room = n >= 0 ? nn_floats(tape, (size_t)n) : NULL; /* ints are no larger than floats */
    if (room == NULL) {
        return false;
    }
    int *copy = (int *)(void *)room;
    for (int i = 0; i < n; i++) {
        copy[i] = ids[i];
        if (ids[i] < least || ids[i] >= most) {
            nn_fail(tape, CTUNE_EBUG, "a row that is none");
            return false;
        }
    }
    tape->node[x].ids = copy;
    tape->node[x].n_ids = n;
    return true;
}

float *nn_grad(ctune_nn_tape *tape, ctune_nn_var x) {
    nn_node *node = &tape->node[x];
    if (!node->wants_grad) {
        return NULL;
    }
    if (node->use != NULL) {
        return node->use->grad;
    }
    if (node->grad == NULL) {
        float *room = nn_floats(tape, nn_size(node));
        if (room != NULL) {
            memset(room, 0, nn_size(node) * sizeof *room);
        }
        tape->node[x].grad = room;
    }
    return tape->node[x].grad;
}

/* ---- leaves, values -------------------------------------------------------------------------- */
static ctune_nn_var leaf_add(ctune_nn_tape *tape, nn_node leaf) {
    nn_node *node = nn_has_failed(tape) ? NULL : node_append(tape);
    if (node == NULL) {
        return -1;
    }
    leaf.from[0] = leaf.from[1] = leaf.from[2] = -1;
    *node = leaf;
    return tape->n - 1;
}

ctune_nn_var ctune_nn_input(ctune_nn_tape *tape, int rows, int cols, const float *values) {
    return leaf_add(tape,
                    (nn_node){.op = NN_OP_input, .rows = rows, .cols = cols, .value = values});
}

ctune_nn_var ctune_nn_zeros(ctune_nn_tape *tape, int rows, int cols) {
    float *out;
    ctune_nn_var x = nn_add(tape, NN_OP_input, rows, cols, -1, -1, &out);
    if (x >= 0) {
        memset(out, 0, nn_size(&tape->node[x]) * sizeof *out);
    }
    return x;
}

int *ctune_nn_ints(ctune_nn_tape *tape, int n) {
    /* ints are no larger than floats */
    return n >= 0 && !nn_has_failed(tape) ? (int *)(void *)nn_floats(tape, (size_t)n) : NULL;
}

ctune_nn_var ctune_nn_use(ctune_nn_tape *tape, ctune_nn_param *param) {
    return leaf_add(tape, (nn_node){.op = NN_OP_use,
                                    .rows = param->rows,
                                    .cols = param->cols,
                                    .value = param->value,
                                    .wants_grad = !param->is_fixed,
                                    .use = param});
}

int ctune_nn_rows(const ctune_nn_tape *tape, ctune_nn_var x) {
    return tape->node[x].rows;
}

int ctune_nn_cols(const ctune_nn_tape *tape, ctune_nn_var x) {
    return tape->node[x].cols;
}

const float *ctune_nn_value(const ctune_nn_tape *tape, ctune_nn_var x) {
    return tape->node[x].value;
}

/* ---- backward -------------------------------------------------------------------------------- */
static void node_back(ctune_nn_tape *tape, int i) {
    nn_node node = tape->node[i]; /* a copy: what is called may not move it, but reads it often */
    switch (node.op) {
    case NN_OP_input:
    case NN_OP_use:
        break;
#define X(name)                                                                                    \
    case NN_OP_##name:                                                                             \
        nn_back_##name(tape, &node);                                                               \
        break;
        NN_OP_TABLE(X)
#undef X
    }
}

ctune_status ctune_nn_backward(ctune_nn_tape *tape, ctune_nn_var x, const float *seed) {
    float *grad = nn_check(tape, x, x) ? nn_grad(tape, x) : NULL;
    if (grad != NULL) {
        for (size_t i = 0; i < nn_size(&tape->node[x]); i++) {
            grad[i] += seed[i];
        }
        for (int i = x; i >= 0 && !nn_has_failed(tape); i--) {
            if (tape->node[i].wants_grad && tape->node[i].grad != NULL) {
                node_back(tape, i);
            }
        }
    }
    return tape->status;
}
