/*
 * Text to TE: the inverse of te_print, a recursive-descent parser over lines (docs/te.md has the
 * grammar).
 *
 * In: text. Out: a finished and verified region in its own arena, or EUSAGE with line and column.
 * Names must be defined before they are used, which the order of the printed sections guarantees.
 */
#include "search/te/te_parse.h"

#include <stdlib.h>
#include <string.h>

static void refuse_duplicate(te_parser *p, const te_token *token, int found) {
    if (found >= 0) {
        te_fail_at(p, token->line, token->col, "defined twice:", token->text);
    }
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void parse_region_line(te_parser *p) {
    p->region->name = te_expect_ident(p);
    if (te_accept(p, "at")) {
        p->region->file = te_expect_string(p);
        te_expect(p, ":");
        p->region->line = te_expect_small(p, 0, INT32_MAX);
    }
}

static void parse_option(te_parser *p) {
    ctune_region *r = p->region;
    te_token token = p->token;
    const char *word = te_expect_ident(p);
    if (strcmp(word, "reassoc") == 0) {
        r->reassoc = true;
    } else if (strcmp(word, "serial") == 0) {
        r->serial = true;
    } else if (strcmp(word, "gpu") == 0) {
        r->gpu = (unsigned)te_expect_small(p, 0, CTUNE_GPU_CUDA | CTUNE_GPU_OPENCL);
    } else if (strcmp(word, "noalias") == 0) {
        r->noalias = true;
    } else if (strcmp(word, "threads") == 0) {
        r->n_threads = te_expect_small(p, 0, 4096);
    } else if (strcmp(word, "weight") == 0) {
        r->weight = strtod(te_expect_kind(p, TE_NUMBER, "expected a number, found"), NULL);
    } else if (strcmp(word, "schedule") == 0) {
        r->schedule = te_expect_string(p);
    } else if (strcmp(word, "epilogue") == 0) {
        r->epilogue = te_expect_string(p);
    } else {
        te_fail_at(p, token.line, token.col, "unknown option", word);
    }
}

static void parse_param(te_parser *p) {
    te_token token = p->token;
    const char *name = te_expect_ident(p);
    refuse_duplicate(p, &token, te_find_param(p, name));
    ctune_param *param =
        te_list_append(p, (const void **)&p->region->params, &p->region->n_params, sizeof *param);
    if (param == NULL) {
        return;
    }
    param->name = name;
    param->type = te_expect_type(p);
    if (te_accept(p, "sizes")) {
        while (p->token.kind == TE_NUMBER || te_is_punct(&p->token, "-")) {
            if (param->n_sizes == CTUNE_MAX_SIZES) {
                te_fail(p, "too many sizes", NULL);
                return;
            }
            param->sizes[param->n_sizes++] = te_expect_int(p);
        }
    }
    param->c_text = te_accept(p, "text") ? te_expect_string(p) : name;
}

static void parse_axis(te_parser *p) {
    te_token token = p->token;
    const char *name = te_expect_ident(p);
    refuse_duplicate(p, &token, te_find_axis(p, name));
    ctune_axis *axis =
        te_list_append(p, (const void **)&p->region->axes, &p->region->n_axes, sizeof *axis);
    if (axis == NULL) {
        return;
    }
    axis->name = name;
    axis->type = te_expect_type(p);
    axis->step = te_accept(p, "step") ? te_expect_int(p) : 1;
    axis->c_name = te_accept(p, "counter") ? te_expect_string(p) : name;
}

/* ix[i]: the tensor is defined further below, where its name is found (find_loads). */
static void parse_load(te_parser *p) {
    te_load *named = te_list_append(p, &p->loads, &p->n_loads, sizeof *named);
    ctune_access *load = CTUNE_NEW(p->arena, ctune_access);
    te_token token = p->token;
    const char *name = te_expect_ident(p);
    const void *list = NULL;
    int n = 0;
    while (p->status == CTUNE_OK && te_accept(p, "[")) {
        const ctune_aff **idx = te_list_append(p, &list, &n, sizeof *idx);
        if (idx == NULL) {
            return;
        }
        *idx = te_parse_aff(p);
        te_expect(p, "]");
    }
    ctune_div *div =
        p->status != CTUNE_OK || named == NULL || load == NULL
            ? NULL
            : te_list_append(p, (const void **)&p->region->divs, &p->region->n_divs, sizeof *div);
    if (div != NULL) {
        *load = (ctune_access){.tensor = -1, .n_idx = n, .idx = list};
        *named = (te_load){name, token.line, token.col, load};
        div->load = load;
    }
}

/* All tensors are known: those of the loads. */
static void find_loads(te_parser *p) {
    const te_load *loads = p->loads;
    for (int i = 0; i < p->n_loads && p->status == CTUNE_OK; i++) {
        loads[i].load->tensor = te_find_tensor(p, loads[i].name);
        if (loads[i].load->tensor < 0) {
            te_fail_at(p, loads[i].line, loads[i].col, "no such tensor:", loads[i].name);
        }
    }
}

static void parse_div(te_parser *p) {
    te_expect(p, "@");
    te_token token = p->token;
    if (te_expect_int(p) != p->region->n_divs) {
        te_fail_at(p, token.line, token.col, "divs are numbered in order, found",
                   te_token_words(&token));
    }
    te_expect(p, "=");
    if (p->token.kind == TE_IDENT) {
        parse_load(p);
        return;
    }
    te_expect(p, "(");
    const ctune_aff *num = te_parse_aff(p);
    te_expect(p, ")");
    te_expect(p, "/");
    int64_t den = te_expect_int(p);
    if (p->status != CTUNE_OK) {
        return;
    }
    ctune_div *div =
        te_list_append(p, (const void **)&p->region->divs, &p->region->n_divs, sizeof *div);
    if (div != NULL) {
        *div = (ctune_div){.num = num, .den = den};
    }
}

static void parse_extents(te_parser *p, ctune_tensor *t) {
    while (p->status == CTUNE_OK && te_accept(p, "[")) {
        if (t->rank == CTUNE_MAX_RANK) {
            te_fail(p, "too many dimensions", NULL);
            return;
        }
        t->extent[t->rank++] = te_accept(p, "?") ? NULL : te_parse_aff(p);
        te_expect(p, "]");
    }
}

static void parse_tensor(te_parser *p) {
    te_token token = p->token;
    const char *name = te_expect_ident(p);
    refuse_duplicate(p, &token, te_find_tensor(p, name));
    ctune_tensor *t =
        te_list_append(p, (const void **)&p->region->tensors, &p->region->n_tensors, sizeof *t);
    if (t == NULL) {
        return;
    }
    t->name = name;
    t->type = te_expect_type(p);
    parse_extents(p, t);
    while (p->token.kind == TE_IDENT) {
        if (te_accept(p, "read") || te_accept(p, "write") || te_accept(p, "update") ||
            te_accept(p, "unused")) {
            continue; /* for the reader; finish derives it */
        } else if (te_accept(p, "temp")) {
            t->is_temp = true;
        } else if (te_accept(p, "scalar")) {
            t->is_scalar_var = true;
        } else if (te_accept(p, "pointer")) {
            t->is_pointer = true;
        } else if (te_accept(p, "restrict")) {
            t->is_restrict = true;
        } else if (te_accept(p, "const")) {
            t->is_const = true;
        } else if (te_accept(p, "stride")) {
            t->elem_stride_bytes = te_expect_small(p, 1, INT32_MAX);
        } else if (te_accept(p, "pattern")) {
            t->pattern = te_expect_string(p);
        } else if (te_accept(p, "base")) {
            t->base = te_expect_string(p);
        } else if (te_accept(p, "liveout")) {
            t->live_out_text = te_expect_string(p);
        } else {
            te_fail(p, "unknown tensor attribute", p->token.text);
        }
    }
}

static void parse_assume(te_parser *p) {
    const void *cons = NULL;
    int n = 0;
    te_parse_chain(p, &cons, &n);
    const char *text = te_accept(p, "text") ? te_expect_string(p) : NULL;
    for (int i = 0; i < n && p->status == CTUNE_OK; i++) {
        ctune_assume *assume = te_list_append(p, (const void **)&p->region->assumes,
                                              &p->region->n_assumes, sizeof *assume);
        if (assume != NULL) {
            *assume = (ctune_assume){((const ctune_aff *const *)cons)[i], text};
        }
    }
}

static void parse_update(te_parser *p, ctune_stage *stage) {
    static const struct {
        const char *word;
        ctune_update update;
    } words[] = {{"min", CTUNE_UPDATE_MIN},
                 {"max", CTUNE_UPDATE_MAX},
                 {"below", CTUNE_UPDATE_BELOW},
                 {"above", CTUNE_UPDATE_ABOVE}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (te_is_word(&p->token, words[i].word)) {
            stage->update = words[i].update;
            te_advance(p);
            te_expect(p, "=");
            return;
        }
    }
    for (int u = 0; u < CTUNE_N_UPDATES; u++) {
        if (te_accept(p, ctune_update_get((ctune_update)u)->token)) {
            stage->update = (ctune_update)u;
            return;
        }
    }
    te_fail(p, "expected an update operator, found", te_token_words(&p->token));
}

static void parse_stage(te_parser *p) {
    te_token token = p->token;
    const char *name = te_expect_ident(p);
    refuse_duplicate(p, &token, te_find_stage(p, name));
    te_expect(p, ":");
    ctune_stage stage = {.name = name};
    if (p->status != CTUNE_OK || !te_parse_access(p, &stage.target)) {
        return;
    }
    parse_update(p, &stage);
    stage.calc = p->region->tensors[stage.target.tensor].type;
    stage.rhs = te_parse_expr(p);
    while (p->status == CTUNE_OK && te_accept(p, ";")) {
        if (te_accept(p, "calc")) {
            stage.calc = te_expect_type(p);
        } else if (te_accept(p, "when")) {
            stage.guard = te_parse_expr(p);
        } else if (te_accept(p, "reassoc")) {
            stage.reassoc = true;
        } else if (te_accept(p, "at")) {
            stage.line = te_expect_small(p, 0, INT32_MAX);
            te_expect(p, ":");
            stage.col = te_expect_small(p, 0, INT32_MAX);
        } else if (te_accept(p, "text")) {
            stage.text = te_expect_string(p);
        } else {
            te_fail(p, "unknown stage attribute", te_token_words(&p->token));
        }
    }
    ctune_stage *slot =
        te_list_append(p, (const void **)&p->region->stages, &p->region->n_stages, sizeof *slot);
    if (slot != NULL) {
        *slot = stage;
    }
}

/* ---- order ----------------------------------------------------------------------------------- */

static const ctune_node *parse_node(te_parser *p);

/* { kids }: the brace is the current token */
static void parse_kids(te_parser *p, ctune_node *node) {
    const void *kids = NULL;
    te_expect(p, "{");
    te_expect_line_end(p);
    te_skip_newlines(p);
    while (p->status == CTUNE_OK && !te_is_punct(&p->token, "}")) {
        const ctune_node **slot = te_list_append(p, &kids, &node->n_kids, sizeof *slot);
        const ctune_node *kid = parse_node(p);
        te_expect_line_end(p);
        te_skip_newlines(p);
        if (slot != NULL) {
            *slot = kid;
        }
    }
    node->kids = (const ctune_node *const *)kids;
    te_expect(p, "}");
}

static void parse_node_cons(te_parser *p, ctune_node *node) {
    const void *cons = NULL;
    te_expect(p, ":");
    while (p->status == CTUNE_OK && !te_is_punct(&p->token, "{")) {
        te_parse_chain(p, &cons, &node->n_cons);
        if (!te_accept(p, ",")) {
            break;
        }
    }
    node->cons = (const ctune_aff *const *)cons;
}

static const ctune_node *parse_node(te_parser *p) {
    ctune_node *node = CTUNE_NEW(p->arena, ctune_node);
    if (!te_enter(p) || node == NULL) {
        te_fail(p, "out of memory", NULL);
        return NULL;
    }
    te_token token = p->token;
    if (te_is_word(&token, "for") && p->ahead.kind == TE_IDENT) {
        te_advance(p);
        node->kind = CTUNE_NODE_LOOP;
        node->axis = te_find_axis(p, p->token.text);
        if (node->axis < 0) {
            te_fail(p, "no such axis:", p->token.text);
        }
        te_advance(p);
        parse_node_cons(p, node);
        parse_kids(p, node);
    } else if (te_is_word(&token, "if") && te_is_punct(&p->ahead, ":")) {
        te_advance(p);
        node->kind = CTUNE_NODE_IF;
        parse_node_cons(p, node);
        parse_kids(p, node);
    } else if (te_is_word(&token, "seq") && te_is_punct(&p->ahead, "{")) {
        te_advance(p);
        node->kind = CTUNE_NODE_SEQ;
        parse_kids(p, node);
    } else {
        node->kind = CTUNE_NODE_STAGE;
        node->stage = te_find_stage(p, te_expect_ident(p));
        if (node->stage < 0) {
            te_fail_at(p, token.line, token.col, "no such stage:", te_token_words(&token));
        }
    }
    p->depth--;
    return node;
}

static void parse_order(te_parser *p) {
    ctune_node *root = CTUNE_NEW(p->arena, ctune_node);
    if (root == NULL || p->region->root != NULL) {
        te_fail(p, "order given twice", NULL);
        return;
    }
    root->kind = CTUNE_NODE_SEQ;
    parse_kids(p, root);
    p->region->root = root;
}

static void parse_line(te_parser *p) {
    static const struct {
        const char *word;
        void (*parse)(te_parser *p);
    } rows[] = {{"region", parse_region_line}, {"option", parse_option}, {"param", parse_param},
                {"axis", parse_axis},          {"div", parse_div},       {"tensor", parse_tensor},
                {"assume", parse_assume},      {"stage", parse_stage},   {"order", parse_order}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (te_accept(p, rows[i].word)) {
            rows[i].parse(p);
            te_expect_line_end(p);
            return;
        }
    }
    te_fail(p, "expected region, option, param, axis, div, tensor, assume, stage or order, found",
            te_token_words(&p->token));
}

static void parse_all(te_parser *p) {
    te_skip_newlines(p);
    te_expect(p, "te");
    if (te_expect_int(p) != 1 && p->status == CTUNE_OK) {
        te_fail(p, "only version 1 of the format is known", NULL);
    }
    te_expect_line_end(p);
    te_skip_newlines(p);
    while (p->status == CTUNE_OK && p->token.kind != TE_END) {
        parse_line(p);
        te_skip_newlines(p);
    }
    if (p->status == CTUNE_OK && p->region->root == NULL) {
        te_fail(p, "there is no order", NULL);
    }
    find_loads(p);
}

ctune_status ctune_te_parse(ctune_ctx *ctx, const char *text, ctune_region **out) {
    te_parser p = {.ctx = ctx, .format = "te", .arena = ctune_arena_create(ctx)};
    p.region = CTUNE_NEW(p.arena, ctune_region);
    if (p.region == NULL) {
        ctune_arena_destroy(p.arena);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    p.region->arena = p.arena;
    p.region->name = "region";
    p.region->weight = 1;
    te_lexer_init(&p.lexer, p.arena, text);
    p.ahead = te_lexer_next(&p.lexer);
    te_advance(&p);
    parse_all(&p);
    ctune_status status = p.status;
    if (status == CTUNE_OK) {
        status = ctune_region_finish(ctx, p.region);
    }
    if (status == CTUNE_OK) {
        status = ctune_te_verify(ctx, p.region);
        status = status == CTUNE_EBUG ? CTUNE_EUSAGE : status; /* the text's fault, not ours */
    }
    if (status == CTUNE_OK) {
        *out = p.region;
    } else {
        ctune_arena_destroy(p.arena);
    }
    return status;
}
