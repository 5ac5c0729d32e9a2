/* Encodings: the table of the four kinds; see encoding.h. */
#include "search/feature/encoding_private.h"
#include "search/feature/feature_private.h"

#include <string.h>

enum { REGION_ITEMS = 31, TREE_ITEMS = 40, STORE_ITEMS = 6 };

static unsigned usual_groups(ctune_input_kind kind) {
    return kind == CTUNE_INPUT_ROW      ? CTUNE_FEATURE_ALL
           : kind == CTUNE_INPUT_STORES ? 1u << CTUNE_FEATURE_STORE | 1u << CTUNE_FEATURE_CONTEXT |
                                              1u << CTUNE_FEATURE_KNOB | 1u << CTUNE_FEATURE_TARGET
                                        : 0;
}

static int usual_items(ctune_input_kind kind, unsigned options) {
    switch (kind) {
    case CTUNE_INPUT_SEQUENCE:
        return CTUNE_SEQUENCE_STEPS + (options & CTUNE_INPUT_REGION ? REGION_ITEMS : 0);
    case CTUNE_INPUT_TREE:
        return TREE_ITEMS;
    case CTUNE_INPUT_STORES:
        return STORE_ITEMS;
    default:
        return 1;
    }
}

static int width_of(ctune_input_kind kind, unsigned groups) {
    switch (kind) {
    case CTUNE_INPUT_SEQUENCE:
        return enc_sequence_width();
    case CTUNE_INPUT_TREE:
        return enc_tree_width();
    default:
        return ctune_feature_count(groups);
    }
}

static int version_of(ctune_input_kind kind) {
    return kind == CTUNE_INPUT_ROW      ? CTUNE_FEATURE_VERSION
           : kind == CTUNE_INPUT_STORES ? 1000 * CTUNE_ENCODING_VERSION + CTUNE_FEATURE_VERSION
                                        : CTUNE_ENCODING_VERSION;
}

void ctune_encoding_init(ctune_model_input *out, ctune_input_kind kind, unsigned groups,
                         unsigned options, int n_items) {
    groups = groups != 0 ? groups & CTUNE_FEATURE_ALL : usual_groups(kind);
    bool has_groups = kind == CTUNE_INPUT_ROW || kind == CTUNE_INPUT_STORES;
    *out = (ctune_model_input){
        .kind = kind,
        .version = version_of(kind),
        .groups = has_groups ? groups : 0,
        .options = kind == CTUNE_INPUT_SEQUENCE ? options : 0,
        .n_items = n_items > 0 && kind != CTUNE_INPUT_ROW ? n_items : usual_items(kind, options),
        .width = width_of(kind, groups)};
}

ctune_status ctune_encoding_check(ctune_ctx *ctx, const ctune_model_input *input,
                                  const char *name) {
    if (input->version != version_of(input->kind)) {
        return ctune_fail(ctx, CTUNE_EUSAGE,
                          "%s: was trained on features of version %d; this ctune has version %d "
                          "(train it anew: ctune model train)",
                          name, input->version, version_of(input->kind));
    }
    if (input->width != width_of(input->kind, input->groups)) {
        return ctune_fail(ctx, CTUNE_EUSAGE,
                          "%s: was trained on items of %d numbers; this ctune makes %d (train it "
                          "anew: ctune model train)",
                          name, input->width, width_of(input->kind, input->groups));
    }
    return CTUNE_OK;
}

void ctune_encoding_get(const ctune_model_input *input, const ctune_schedule *schedule,
                        const ctune_nest *nest, const ctune_target *target, float *row) {
    int n = ctune_model_input_count(input), n_items = 0;
    if (input->kind == CTUNE_INPUT_ROW) {
        ctune_feature_get(nest, target, input->groups, row);
        return;
    }
    memset(row, 0, (size_t)n * sizeof *row);
    switch (input->kind) {
    case CTUNE_INPUT_SEQUENCE:
        n_items =
            enc_sequence_fill(schedule, nest, target, input->options, input->n_items, row + 1);
        break;
    case CTUNE_INPUT_TREE:
        n_items = enc_tree_fill(nest, target, input->n_items, row + 1);
        break;
    default:
        n_items = enc_stores_fill(nest, target, input->groups, input->n_items, row + 1);
        break;
    }
    row[0] = (float)n_items;
    feat_make_finite(row, n);
}
