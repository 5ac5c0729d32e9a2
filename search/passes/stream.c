/*
 * Stream.
 * In:  FOR simd, without a loop inside, with stores past the caches.
 * Out: a loop over chunks with one FOR vector of constant length in each, and a FOR simd of
 * ordinary stores for the rest. Why: such stores are vector instructions that no compiler chooses
 * by itself: the vectors have to be explicit. A chunk is one vector of the narrowest streamed
 * element, so that one store fills a cache line where the target's vectors are that long.
 */
#include "search/passes/passes_private.h"

typedef struct streamer {
    ctune_loops *l;
    int vector_bytes;
    int elem_bytes; /* of the narrowest streamed store in a loop, 0 = there is none */
    bool has_loop;
} streamer;

static void look(ctune_lnode *node, void *data) {
    streamer *s = data;
    s->has_loop |= node->kind == CTUNE_L_FOR;
    if (node->kind == CTUNE_L_STORE && node->is_streamed) {
        ctune_type type = ctune_place_type(s->l, &node->place);
        int bytes = ctune_type_has_vectors(type) ? ctune_type_get(type)->bytes : 0;
        s->elem_bytes =
            bytes > 0 && (s->elem_bytes == 0 || bytes < s->elem_bytes) ? bytes : s->elem_bytes;
    }
}

static void look_inside(streamer *s, const ctune_lnode *loop) {
    s->elem_bytes = 0;
    s->has_loop = false;
    for (ctune_lnode *kid = loop->first; kid != NULL; kid = kid->next) {
        ctune_lnode_walk(kid, look, s);
    }
}

static void settle_stores(ctune_lnode *node, void *data) {
    (void)data;
    node->is_streamed = false;
}

/* node (a loop) becomes a block: chunks of `length` iterations, then the rest. */
static void cut(ctune_loops *l, ctune_lnode *node, int length) {
    const char *hint = l->var[node->var].hint;
    int chunk = ctune_loops_index_var(l, hint), lane = ctune_loops_index_var(l, hint);
    int last = ctune_loops_index_var(l, hint), end_var = ctune_loops_index_var(l, "rest");
    if (end_var < 0) {
        return;
    }
    const ctune_aff *trips = ctune_aff_sub(l->arena, node->hi, node->lo);
    const ctune_aff *n_chunks =
        ctune_loops_max(l, ctune_loops_floor(l, trips, length), ctune_loops_const(l, 0));
    const ctune_aff *end =
        ctune_aff_add(l->arena, node->lo, ctune_aff_scale(l->arena, n_chunks, length));
    const ctune_aff *border = ctune_loops_var_aff(l, end_var, 1, 0);
    const ctune_aff *at = ctune_aff_add(l->arena, ctune_loops_var_aff(l, chunk, 1, 0),
                                        ctune_loops_var_aff(l, lane, 1, 0));
    ctune_lnode *block = ctune_lnode_new(l, CTUNE_L_SEQ);
    ctune_lnode *outer = ctune_lnode_for(l, chunk, node->lo, border, length, CTUNE_LANN_SERIAL);
    ctune_lnode *inner = ctune_lnode_for(l, lane, ctune_loops_const(l, 0),
                                         ctune_loops_const(l, length), 1, CTUNE_LANN_VECTOR);
    ctune_lnode *rest = ctune_lnode_for(l, last, border, node->hi, 1, CTUNE_LANN_SIMD);
    if (block == NULL || outer == NULL || inner == NULL || rest == NULL) {
        return;
    }
    ctune_lnode_copy_body(l, node, at, inner);
    ctune_lnode_copy_body(l, node, ctune_loops_var_aff(l, last, 1, 0), rest);
    ctune_lnode_walk(rest, settle_stores, NULL);
    ctune_lnode_append(outer, inner);
    ctune_lnode_append(block, ctune_lnode_let(l, end_var, end));
    ctune_lnode_append(block, outer);
    ctune_lnode_append(block, rest);
    block->comment = node->comment;
    block->next = node->next;
    *node = *block;
}

static void stream_node(streamer *s, ctune_lnode *node) {
    if (node->kind == CTUNE_L_FOR && node->ann == CTUNE_LANN_SIMD && node->step == 1) {
        look_inside(s, node);
        if (s->elem_bytes > 0 && !s->has_loop) {
            cut(s->l, node, s->vector_bytes / s->elem_bytes);
            return;
        }
    }
    for (ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
        stream_node(s, kid);
    }
    if (node->other != NULL) {
        stream_node(s, node->other);
    }
}

ctune_status ctune_pass_stream(ctune_loops *l, const ctune_pass_options *options) {
    streamer s = {.l = l, .vector_bytes = options->target->vector_bytes};
    if (ctune_loops_status(l) == CTUNE_OK) {
        stream_node(&s, l->root);
    }
    return ctune_loops_status(l);
}
