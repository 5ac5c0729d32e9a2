/*
 * The model file of a network: print, parse, read (the form is in net.h).
 *
 * Everything before the first matrix fixes how many numbers must follow; there is no memory for
 * them unless the text is long enough to hold them.
 */
#include "costmodel/memory.h"
#include "costmodel/model_text.h"
#include "costmodel/nn/net_private.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { FORMAT_VERSION = 1, LINE_VALUES = 8, MIN_VALUE_BYTES = 2 };

/* Parts of a parameter. The model file has the first. */
typedef enum part { PART_VALUE, PART_MOMENT1, PART_MOMENT2, PART_BEST, N_PARTS } part;
static const char *const part_names[] = {"value", "moment1", "moment2", "best"};

static float *part_of(const ctune_net *net, int i, part which) {
    ctune_nn_param *p = net->params.param[i];
    float *best = net->state.best_values;
    switch (which) {
    case PART_MOMENT1:
        return p->moment1;
    case PART_MOMENT2:
        return p->moment2;
    case PART_BEST:
        for (int k = 0; k < i; k++) {
            best += net_size(net->params.param[k]);
        }
        return best;
    default:
        return p->value;
    }
}

/* ---- print ----------------------------------------------------------------------------------- */
static void word_print(ctune_text *out, const char *word, double value) {
    ctune_text_printf(out, " %s ", word);
    ctune_decimal_append(out, (float)value);
}

static void head_print(const ctune_net *net, ctune_text *out) {
    static const char *const inputs[] = {
#define X(id, name, help) name,
        CTUNE_INPUT_TABLE(X)
#undef X
    };
    const ctune_net_config *c = &net->config;
    const ctune_model_input *in = &c->input;
    ctune_text_printf(out, CTUNE_NET_MAGIC "%d\nkind %s\n", FORMAT_VERSION,
                      ctune_net_name(c->kind));
    ctune_text_printf(out, "input %s version %d groups %u options %u items %d width %d\n",
                      inputs[in->kind], in->version, in->groups, in->options, in->n_items,
                      in->width);
#define X(field, word, least, most) ctune_text_printf(out, word " %d\n", c->field);
    CTUNE_NET_COUNT_TABLE(X)
#undef X
    ctune_text_append(out, "train");
    word_print(out, "rate", c->adam.rate);
    word_print(out, "decay", c->adam.decay);
    word_print(out, "clip", c->adam.clip);
    word_print(out, "held-out", c->held_out);
    ctune_text_printf(out, " seed %" PRIu64 "\nscore", c->seed);
    word_print(out, "scale", net->score_scale);
    word_print(out, "shift", net->score_shift);
    ctune_text_append(out, "\n");
    for (int i = 0; i < net->n_heads; i++) {
        ctune_text_printf(out, "head %s\n", net->heads[i].target);
    }
}

static void matrix_print(const ctune_net *net, int i, part which, ctune_text *out) {
    const ctune_nn_param *p = net->params.param[i];
    const float *values = part_of(net, i, which);
    ctune_text_printf(out, "matrix %s %s %d %d\n", p->name, part_names[which], p->rows, p->cols);
    for (size_t k = 0; k < net_size(p); k++) {
        bool is_last = k + 1 == net_size(p) || k % LINE_VALUES == LINE_VALUES - 1;
        ctune_decimal_append(out, values[k]);
        ctune_text_append_n(out, is_last ? "\n" : " ", 1);
    }
}

ctune_status net_print(ctune_ctx *ctx, const ctune_net *net, bool has_state, ctune_text *out) {
    if (!net->is_built) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "the network is not trained");
    }
    head_print(net, out);
    ctune_summary_print(net->summary != NULL ? net->summary : "", out);
    if (has_state) {
        const net_state *s = &net->state;
        ctune_text_printf(out, "state epoch %d step %" PRId64 " best-epoch %d best", s->epoch,
                          s->step, s->best_epoch);
        word_print(out, "score", isfinite(s->best) ? s->best : -1);
        ctune_text_append(out, "\n");
    }
    for (int which = 0; which < (has_state ? N_PARTS : 1); which++) {
        for (int i = 0; i < net->params.n; i++) {
            matrix_print(net, i, (part)which, out);
        }
    }
    ctune_text_append(out, "end\n");
    return out->failed ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory") : CTUNE_OK;
}

ctune_status ctune_net_print(ctune_ctx *ctx, const ctune_net *net, ctune_text *out) {
    return net_print(ctx, net, false, out);
}

/* ---- scan ------------------------------------------------------------------------------------ */
/* " word 12" */
static bool take_pair(ctune_scan *s, const char *word, uint64_t max, int *out) {
    uint64_t value;
    if (!ctune_scan_word(s, word) || !ctune_scan_word(s, " ") ||
        !ctune_scan_count(s, word, max, &value)) {
        return false;
    }
    *out = (int)value;
    return true;
}

static bool take_number(ctune_scan *s, const char *word, double *out) {
    float value;
    if (!ctune_scan_word(s, word) || !ctune_scan_word(s, " ") || !ctune_scan_float(s, &value)) {
        return false;
    }
    *out = value;
    return true;
}

/* The rest of a line, at most size - 1 bytes of it; longer: an error. */
static bool take_rest(ctune_scan *s, char *out, size_t size) {
    size_t n = strcspn(s->at, "\r\n");
    if (n >= size) {
        return ctune_scan_fail(s, "a shorter line");
    }
    memcpy(out, s->at, n);
    out[n] = '\0';
    s->at += n;
    return ctune_scan_line_end(s);
}

/* ---- parts of the file ----------------------------------------------------------------------- */
static bool take_kind(ctune_scan *s, ctune_net_config *c) {
    char word[32];
    if (!ctune_scan_word(s, "kind ") || !take_rest(s, word, sizeof word)) {
        return false;
    }
    for (int i = 0; i < CTUNE_N_NETS; i++) {
        if (strcmp(word, ctune_net_name((ctune_net_kind)i)) == 0) {
            c->kind = (ctune_net_kind)i;
            return true;
        }
    }
    ctune_fail(s->ctx, CTUNE_EUSAGE, "%s:%d: malformed model: no kind '%s'", s->name, s->line - 1,
               word);
    return false;
}

static bool take_input(ctune_scan *s, ctune_net_config *c) {
    static const char *const names[] = {
#define X(id, name, help) name,
        CTUNE_INPUT_TABLE(X)
#undef X
    };
    ctune_model_input *in = &c->input;
    int groups, options;
    in->kind = ctune_net_input(c->kind);
    if (!ctune_scan_word(s, "input ") || !ctune_scan_word(s, names[in->kind]) ||
        !take_pair(s, " version", INT32_MAX, &in->version) ||
        !take_pair(s, " groups", INT32_MAX, &groups) ||
        !take_pair(s, " options", INT32_MAX, &options) ||
        !take_pair(s, " items", CTUNE_INPUT_MAX_ITEMS, &in->n_items) ||
        !take_pair(s, " width", CTUNE_INPUT_MAX_WIDTH, &in->width)) {
        return false;
    }
    in->groups = (unsigned)groups;
    in->options = (unsigned)options;
    return ctune_scan_line_end(s);
}

static bool take_config(ctune_scan *s, ctune_net_config *c) {
    uint64_t version;
    if (!ctune_scan_word(s, CTUNE_NET_MAGIC) ||
        !ctune_scan_count(s, "a version", INT32_MAX, &version)) {
        return false;
    }
    if (version != FORMAT_VERSION) {
        ctune_fail(s->ctx, CTUNE_EUSAGE, "%s: model format %d; this ctune reads %d", s->name,
                   (int)version, FORMAT_VERSION);
        return false;
    }
    if (!ctune_scan_line_end(s) || !take_kind(s, c) || !take_input(s, c)) {
        return false;
    }
#define X(field, word, least, most)                                                                \
    if (!take_pair(s, word, most, &c->field) || !ctune_scan_line_end(s)) {                         \
        return false;                                                                              \
    }
    CTUNE_NET_COUNT_TABLE(X)
#undef X
    return ctune_scan_word(s, "train") && take_number(s, " rate", &c->adam.rate) &&
           take_number(s, " decay", &c->adam.decay) && take_number(s, " clip", &c->adam.clip) &&
           take_number(s, " held-out", &c->held_out) && ctune_scan_word(s, " seed ") &&
           ctune_scan_count(s, "a seed", UINT64_MAX, &c->seed) && ctune_scan_line_end(s);
}

static bool take_scores(ctune_scan *s, double *scale, double *shift) {
    return ctune_scan_word(s, "score") && take_number(s, " scale", scale) &&
           take_number(s, " shift", shift) && ctune_scan_line_end(s);
}

static bool take_heads(ctune_scan *s, ctune_net *net) {
    net->n_heads = 0;
    while (strncmp(s->at, "head ", 5) == 0) {
        if (net->n_heads == NET_MAX_HEADS) {
            return ctune_scan_fail(s, "fewer heads");
        }
        s->at += 5;
        if (!take_rest(s, net->heads[net->n_heads].target, sizeof net->heads[0].target)) {
            return false;
        }
        net->n_heads++;
    }
    return net->n_heads > 0 || ctune_scan_fail(s, "'head '");
}

static bool take_summary(ctune_scan *s, ctune_net *net) {
    ctune_text text;
    ctune_text_init(&text);
    bool ok = true;
    while (ok && strncmp(s->at, "summary ", 8) == 0) {
        size_t n = strcspn(s->at + 8, "\r\n");
        ctune_text_append_n(&text, s->at + 8, n);
        ctune_text_append(&text, "\n");
        s->at += 8 + n;
        ok = ctune_scan_line_end(s);
    }
    ctune_status status =
        ok ? ctune_net_set_summary(s->ctx, net, ctune_text_get(&text)) : s->status;
    ctune_text_clear(&text);
    if (status != CTUNE_OK) {
        s->status = status;
    }
    return status == CTUNE_OK;
}

static bool take_state(ctune_scan *s, ctune_net *net) {
    net_state *state = &net->state;
    uint64_t step;
    if (!ctune_scan_word(s, "state epoch ") || !ctune_scan_count(s, "an epoch", 1000000, &step)) {
        return false;
    }
    state->epoch = (int)step;
    if (!ctune_scan_word(s, " step ") || !ctune_scan_count(s, "a step", INT64_MAX, &step) ||
        !take_pair(s, " best-epoch", 1000000, &state->best_epoch) || !ctune_scan_word(s, " best") ||
        !take_number(s, " score", &state->best) || !ctune_scan_line_end(s)) {
        return false;
    }
    state->step = (int64_t)step;
    state->best_values =
        ctune_memory_grow(s->ctx, NULL, (size_t)net->params.n_values, sizeof *state->best_values);
    if (state->best_values == NULL) {
        s->status = ctune_fail(s->ctx, CTUNE_ENOMEM, "out of memory for %s", s->name);
    }
    return state->best_values != NULL;
}

static bool take_matrix(ctune_scan *s, const ctune_net *net, int i, part which) {
    const ctune_nn_param *p = net->params.param[i];
    float *values = part_of(net, i, which);
    char head[CTUNE_NN_NAME_BYTES + 64];
    snprintf(head, sizeof head, "matrix %s %s %d %d", p->name, part_names[which], p->rows, p->cols);
    if (!ctune_scan_word(s, head) || !ctune_scan_line_end(s)) {
        return false;
    }
    for (size_t k = 0; k < net_size(p); k++) {
        bool is_last = k + 1 == net_size(p) || k % LINE_VALUES == LINE_VALUES - 1;
        if (!ctune_scan_float(s, &values[k]) ||
            !(is_last ? ctune_scan_line_end(s) : ctune_scan_word(s, " "))) {
            return false;
        }
    }
    return true;
}

static bool take_matrices(ctune_scan *s, const ctune_net *net, bool has_state) {
    for (int which = 0; which < (has_state ? N_PARTS : 1); which++) {
        for (int i = 0; i < net->params.n; i++) {
            if (!take_matrix(s, net, i, (part)which)) {
                return false;
            }
        }
    }
    return ctune_scan_word(s, "end") && ctune_scan_line_end(s);
}

/* Heads and all that is behind them; the network's layers come from what was read so far. */
static ctune_status take_body(ctune_scan *s, ctune_net *net, bool has_state) {
    if (!take_heads(s, net) || !take_summary(s, net)) {
        return s->status;
    }
    size_t left = (size_t)(s->end - s->at);
    ctune_status status = net_build(s->ctx, net, (int64_t)(left / MIN_VALUE_BYTES + 1));
    if (status == CTUNE_EUSAGE) {
        ctune_scan_fail(s, "as many numbers as the network has");
    }
    if (status == CTUNE_OK &&
        ((has_state && !take_state(s, net)) || !take_matrices(s, net, has_state))) {
        status = s->status;
    }
    return status;
}

ctune_status net_parse(ctune_ctx *ctx, const char *name, const char *text, bool has_state,
                       ctune_net **out) {
    ctune_scan s = ctune_scan_begin(ctx, name, text);
    ctune_net_config config = {0};
    ctune_net *net = NULL;
    double scale = 1, shift = 0;
    *out = NULL;
    ctune_nn_adam_default(&config.adam);
    if (!take_config(&s, &config) || !take_scores(&s, &scale, &shift)) {
        return CTUNE_EUSAGE;
    }
    ctune_status status = net_config_check(ctx, &config);
    if (status != CTUNE_OK) {
        ctune_scan_fail(&s, "a network that can be");
        return status;
    }
    status = ctune_net_create(ctx, &config, &net);
    if (status == CTUNE_OK) {
        net->score_scale = (float)scale;
        net->score_shift = (float)shift;
        status = take_body(&s, net, has_state);
    }
    if (status != CTUNE_OK) {
        ctune_net_destroy(net);
        return status;
    }
    *out = net;
    return CTUNE_OK;
}

ctune_status ctune_net_parse(ctune_ctx *ctx, const char *name, const char *text, ctune_net **out) {
    return net_parse(ctx, name, text, false, out);
}

ctune_status ctune_net_read(ctune_ctx *ctx, const char *path, ctune_net **out) {
    ctune_text text;
    ctune_text_init(&text);
    *out = NULL;
    ctune_status status = ctune_file_read(ctx, path, &text);
    if (status == CTUNE_OK) {
        status = ctune_net_parse(ctx, path, ctune_text_get(&text), out);
    }
    ctune_text_clear(&text);
    return status;
}
