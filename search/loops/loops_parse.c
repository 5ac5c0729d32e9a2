/*
 * Text to a program: the inverse of loops_print, a recursive-descent parser over lines
 * (docs/loops.md has the grammar).
 *
 * In: a region and text over its names. Out: a program in its own arena, or EUSAGE with line and
 * column. A word must be bound before it is used, but may be used outside its block: scopes and
 * types are loops_verify's question, so that a broken program can be written down and read.
 */
#include "search/loops/loops_parse.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ID = 1 << 18 };

void loops_fail_build(loops_parser *p) {
    te_fail(&p->te, "an index or product does not fit", NULL);
}

/* ---- words ----------------------------------------------------------------------------------- */

static size_t hash_word(const char *word) {
    size_t h = 1469598103934665603u;
    for (; *word != '\0'; word++) {
        h = (h ^ (unsigned char)*word) * 1099511628211u;
    }
    return h;
}

static loops_symbol *symbol_slot(const loops_parser *p, const char *word) {
    size_t mask = (size_t)p->cap_symbols - 1, at = hash_word(word) & mask;
    while (p->symbol[at].word != NULL && strcmp(p->symbol[at].word, word) != 0) {
        at = (at + 1) & mask;
    }
    return &p->symbol[at];
}

const loops_symbol *loops_find(const loops_parser *p, const char *word) {
    const loops_symbol *slot = p->cap_symbols == 0 ? NULL : symbol_slot(p, word);
    return slot != NULL && slot->word != NULL ? slot : NULL;
}

static void add_symbol(loops_parser *p, loops_symbol symbol) {
    if (p->n_symbols * 2 >= p->cap_symbols) {
        loops_parser old = *p;
        p->cap_symbols = old.cap_symbols == 0 ? 64 : old.cap_symbols * 2;
        p->symbol = CTUNE_NEW_ARRAY(p->l->arena, loops_symbol, p->cap_symbols);
        if (p->symbol == NULL) {
            p->cap_symbols = 0;
            te_fail(&p->te, "out of memory", NULL);
            return;
        }
        for (int i = 0; i < old.cap_symbols; i++) {
            if (old.symbol[i].word != NULL) {
                *symbol_slot(p, old.symbol[i].word) = old.symbol[i];
            }
        }
    }
    *symbol_slot(p, symbol.word) = symbol;
    p->n_symbols++;
}

/* "i.3": 3 of a variable, "B.b3": 3 of a buffer; -1: a name. Too large ones: MAX_ID. *hint_len: of
 * what stands before the dot. */
static int id_of(const char *word, bool *is_buffer, size_t *hint_len) {
    const char *dot = strrchr(word, '.');
    if (dot == NULL || dot == word) {
        return -1;
    }
    *is_buffer = dot[1] == 'b';
    const char *digits = dot + 1 + *is_buffer;
    size_t n = strspn(digits, "0123456789");
    if (n == 0 || digits[n] != '\0' || (digits[0] == '0' && n > 1)) {
        return -1;
    }
    *hint_len = (size_t)(dot - word);
    return n > 7 || atoi(digits) > MAX_ID ? MAX_ID : atoi(digits);
}

/* Ids that stand in the text are taken before names get theirs. */
static void reserve_ids(loops_parser *p, const char *text) {
    ctune_arena *scratch = ctune_arena_create(p->te.ctx);
    te_lexer lexer;
    int n_vars = 0, n_buffers = 0;
    te_lexer_init(&lexer, scratch, text);
    for (te_token token = te_lexer_next(&lexer); token.kind != TE_END && token.kind != TE_BAD;
         token = te_lexer_next(&lexer)) {
        bool is_buffer = false;
        size_t len;
        int id = token.kind == TE_IDENT ? id_of(token.text, &is_buffer, &len) : -1;
        int *n = is_buffer ? &n_buffers : &n_vars;
        if (id >= MAX_ID) {
            te_fail_at(&p->te, token.line, token.col, "too large an id:", token.text);
            break;
        }
        if (id >= 0 && id + 1 > *n) {
            *n = id + 1;
        }
    }
    if (p->te.status == CTUNE_OK && (scratch == NULL || ctune_arena_has_failed(scratch))) {
        p->te.status = ctune_fail(p->te.ctx, CTUNE_ENOMEM, "out of memory");
        p->te.token.kind = p->te.ahead.kind = TE_END;
    }
    ctune_arena_destroy(scratch);
    while (p->te.status == CTUNE_OK && p->l->n_vars < n_vars) {
        if (ctune_loops_index_var(p->l, "unused") < 0) {
            te_fail(&p->te, "out of memory", NULL);
        }
    }
    while (p->te.status == CTUNE_OK && p->l->n_buffers < n_buffers) {
        if (ctune_loops_buffer(p->l, "unused", CTUNE_I32, CTUNE_SCOPE_REGISTER, 0, NULL) < 0) {
            te_fail(&p->te, "out of memory", NULL);
        }
    }
}

/* The variable or buffer that a binding's word stands for: a new one the first time. -1 after a
 * failure. */
static int bind_word(loops_parser *p, bool is_buffer) {
    te_token token = p->te.token;
    const char *word = te_expect_ident(&p->te);
    const loops_symbol *known = loops_find(p, word);
    if (p->te.status != CTUNE_OK) {
        return -1;
    }
    bool is_buffer_id = is_buffer;
    size_t hint_len = strlen(word);
    int id = id_of(word, &is_buffer_id, &hint_len);
    if ((known != NULL && known->is_buffer != is_buffer) || is_buffer_id != is_buffer) {
        te_fail_at(&p->te, token.line, token.col, "a variable is no buffer:", word);
        return -1;
    }
    if (known != NULL) {
        return known->id;
    }
    const char *hint = ctune_arena_strndup(p->l->arena, word, hint_len), *name = NULL;
    if (id < 0) {
        name = word;
        id = is_buffer ? ctune_loops_buffer(p->l, word, CTUNE_I32, CTUNE_SCOPE_REGISTER, 0, NULL)
                       : ctune_loops_index_var(p->l, word);
    }
    if (id < 0 || hint == NULL) {
        te_fail(&p->te, "out of memory", NULL);
        return -1;
    }
    const char **old = is_buffer ? &p->l->buffer[id].hint : &p->l->var[id].hint;
    if (name == NULL && strcmp(*old, "unused") != 0) {
        te_fail_at(&p->te, token.line, token.col, "the id stands for something else:", word);
        return -1;
    }
    *old = hint;
    *(is_buffer ? &p->l->buffer[id].name : &p->l->var[id].name) = name;
    add_symbol(p, (loops_symbol){word, is_buffer, id});
    return id;
}

static int find_var(loops_parser *p) {
    te_token token = p->te.token;
    const char *word = te_expect_ident(&p->te);
    const loops_symbol *symbol = loops_find(p, word);
    if (p->te.status == CTUNE_OK && (symbol == NULL || symbol->is_buffer)) {
        te_fail_at(&p->te, token.line, token.col, "no such variable:", word);
    }
    return p->te.status == CTUNE_OK ? symbol->id : -1;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void parse_nodes(loops_parser *p, ctune_lnode *parent);

/* { ... } with lines between the braces */
static void parse_block(loops_parser *p, ctune_lnode *parent) {
    if (parent == NULL || !te_enter(&p->te)) {
        return;
    }
    te_expect(&p->te, "{");
    te_expect_line_end(&p->te);
    parse_nodes(p, parent);
    te_expect(&p->te, "}");
    p->te.depth--;
}

static ctune_lnode *node_new(loops_parser *p, ctune_lnode_kind kind) {
    ctune_lnode *n = p->te.status == CTUNE_OK ? ctune_lnode_new(p->l, kind) : NULL;
    if (n == NULL) {
        te_fail(&p->te, "out of memory", NULL);
    }
    return n;
}

/* "e >= 0, ..."; NULL: failed. */
static const ctune_aff *const *parse_conds(loops_parser *p, int *n) {
    te_parser *te = &p->te;
    const void *conds = NULL;
    *n = 0;
    do {
        const ctune_aff **slot = te_list_append(te, &conds, n, sizeof *slot);
        const ctune_aff *aff = loops_parse_aff(p);
        if (slot == NULL || aff == NULL) {
            *n = 0;
            return NULL;
        }
        *slot = aff;
        te_expect(te, ">=");
        te_token token = te->token;
        if (te_expect_int(te) != 0) {
            te_fail_at(te, token.line, token.col, "expected 0, found", token.text);
        }
    } while (te_accept(te, ","));
    return conds;
}

static void parse_annotation(loops_parser *p, ctune_lnode *n) {
    static const char *const names[CTUNE_N_LANNS] = {
#define X(id, name) name,
        CTUNE_LANN_TABLE(X)
#undef X
    };
    for (int a = CTUNE_LANN_SERIAL + 1; a < CTUNE_N_LANNS; a++) {
        if (n->ann == CTUNE_LANN_SERIAL && te_accept(&p->te, names[a])) {
            n->ann = (ctune_lann)a;
        }
    }
    if (n->ann == CTUNE_LANN_UNROLL || n->ann == CTUNE_LANN_SUM) {
        n->factor = te_expect_int(&p->te);
    }
    if (n->ann == CTUNE_LANN_SLIDE && p->te.token.kind == TE_NUMBER) {
        n->before = te_expect_int(&p->te);
        te_expect(&p->te, ",");
        n->behind = te_expect_int(&p->te);
    }
    if (n->ann == CTUNE_LANN_PARALLEL) {
        n->collapse = te_accept(&p->te, "collapse") ? te_expect_small(&p->te, 0, 1 << 16) : 1;
        n->is_dynamic = te_accept(&p->te, "dynamic");
        if (te_accept(&p->te, "when")) {
            n->conds = parse_conds(p, &n->n_conds);
        }
    }
}

static ctune_lnode *parse_for(loops_parser *p) {
    ctune_lnode *n = node_new(p, CTUNE_L_FOR);
    if (n == NULL) {
        return NULL;
    }
    int var = bind_word(p, false);
    te_expect(&p->te, "from");
    n->lo = loops_parse_aff(p);
    te_expect(&p->te, "below");
    n->hi = loops_parse_aff(p);
    n->step = te_accept(&p->te, "step") ? te_expect_int(&p->te) : 1;
    parse_annotation(p, n);
    n->var = var;
    parse_block(p, n);
    return n;
}

static ctune_lnode *parse_if(loops_parser *p) {
    te_parser *te = &p->te;
    const ctune_aff *const *conds = NULL;
    int n_conds = 0;
    if (!te_is_punct(&te->token, ";") && !te_is_punct(&te->token, "{")) {
        conds = parse_conds(p, &n_conds);
        if (conds == NULL) {
            return NULL;
        }
    }
    const ctune_value *test = te_accept(te, ";") ? loops_parse_value(p) : NULL;
    ctune_lnode *n = te->status == CTUNE_OK ? ctune_lnode_if(p->l, conds, n_conds, test) : NULL;
    parse_block(p, n);
    if (n != NULL && te_accept(te, "else")) {
        n->other = node_new(p, CTUNE_L_SEQ);
        parse_block(p, n->other);
    }
    return n;
}

static ctune_lnode *parse_let(loops_parser *p) {
    int var = bind_word(p, false);
    te_expect(&p->te, "=");
    const ctune_aff *value = loops_parse_aff(p);
    return p->te.status != CTUNE_OK ? NULL : ctune_lnode_let(p->l, var, value);
}

static ctune_scope parse_scope(loops_parser *p) {
    static const char *const names[CTUNE_N_SCOPES] = {
#define X(id, name) name,
        CTUNE_SCOPE_TABLE(X)
#undef X
    };
    for (int s = 0; s < CTUNE_N_SCOPES; s++) {
        if (te_accept(&p->te, names[s])) {
            return (ctune_scope)s;
        }
    }
    te_fail(&p->te, "expected a scope, found", te_token_words(&p->te.token));
    return CTUNE_SCOPE_BLOCK;
}

static ctune_lnode *parse_decl(loops_parser *p) {
    int id = bind_word(p, true);
    ctune_lbuffer b = {.rank = 0};
    while (p->te.status == CTUNE_OK && te_accept(&p->te, "[")) {
        if (b.rank == CTUNE_MAX_RANK) {
            te_fail(&p->te, "too many dimensions", NULL);
            break;
        }
        b.extent[b.rank++] = loops_parse_aff(p);
        te_expect(&p->te, "]");
    }
    b.type = te_expect_type(&p->te);
    b.scope = parse_scope(p);
    if (p->te.status != CTUNE_OK) {
        return NULL;
    }
    b.hint = p->l->buffer[id].hint;
    b.name = p->l->buffer[id].name;
    p->l->buffer[id] = b;
    return p->te.status != CTUNE_OK ? NULL : ctune_lnode_decl(p->l, id);
}

static ctune_lnode *parse_def(loops_parser *p) {
    int id = bind_word(p, false), lanes;
    ctune_type type = loops_parse_type(p, &lanes);
    bool is_mutable = te_accept(&p->te, "mutable");
    const ctune_value *value = te_accept(&p->te, "=") ? loops_parse_value(p) : NULL;
    if (p->te.status != CTUNE_OK) {
        return NULL;
    }
    ctune_lvar *var = &p->l->var[id];
    var->is_index = false;
    var->type = type;
    var->lanes = lanes;
    var->is_mutable = is_mutable;
    return ctune_lnode_def(p->l, id, value);
}

static ctune_lnode *parse_set(loops_parser *p) {
    int var = find_var(p);
    te_expect(&p->te, "=");
    const ctune_value *value = loops_parse_value(p);
    return p->te.status != CTUNE_OK ? NULL : ctune_lnode_set(p->l, var, value);
}

static ctune_lnode *parse_store(loops_parser *p) {
    ctune_place place;
    int lanes;
    if (!loops_parse_place(p, &place, &lanes)) {
        return NULL;
    }
    te_expect(&p->te, "=");
    te_token token = p->te.token;
    const ctune_value *value = loops_parse_value(p);
    if (value != NULL && place.n_idx > 0 && lanes != value->lanes) {
        te_fail_at(&p->te, token.line, token.col, "the value has another number of lanes", NULL);
        return NULL;
    }
    return p->te.status != CTUNE_OK || value == NULL ? NULL
                                                     : ctune_lnode_store(p->l, &place, value);
}

static ctune_lnode *parse_stream(loops_parser *p) {
    ctune_lnode *n = parse_store(p);
    if (n != NULL) {
        n->is_streamed = true;
    }
    return n;
}

static ctune_lnode *parse_node(loops_parser *p) {
    static const struct {
        const char *word;
        ctune_lnode *(*parse)(loops_parser *p);
    } rows[] = {{"for", parse_for},     {"if", parse_if},        {"let", parse_let},
                {"decl", parse_decl},   {"def", parse_def},      {"set", parse_set},
                {"store", parse_store}, {"stream", parse_stream}};
    bool is_launch = te_accept(&p->te, "launch");
    if (is_launch || te_accept(&p->te, "seq")) {
        ctune_lnode *n = node_new(p, is_launch ? CTUNE_L_LAUNCH : CTUNE_L_SEQ);
        parse_block(p, n);
        return n;
    }
    if (te_accept(&p->te, "barrier")) {
        return node_new(p, CTUNE_L_BARRIER);
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (te_accept(&p->te, rows[i].word)) {
            return rows[i].parse(p);
        }
    }
    te_fail(&p->te, "expected a statement, found", te_token_words(&p->te.token));
    return NULL;
}

static void parse_nodes(loops_parser *p, ctune_lnode *parent) {
    te_skip_newlines(&p->te);
    while (p->te.status == CTUNE_OK && p->te.token.kind != TE_END &&
           !te_is_punct(&p->te.token, "}")) {
        const char *comment = NULL;
        if (p->te.token.kind == TE_STRING) {
            comment = te_expect_string(&p->te);
            te_expect_line_end(&p->te);
        }
        ctune_lnode *n = parse_node(p);
        if (n == NULL) {
            loops_fail_build(p); /* unless it has failed */
            return;
        }
        n->comment = comment;
        ctune_lnode_append(parent, n);
        if (!te_is_punct(&p->te.token, "}")) {
            te_expect_line_end(&p->te);
        }
        te_skip_newlines(&p->te);
    }
}

static void parse_all(loops_parser *p) {
    te_skip_newlines(&p->te);
    te_expect(&p->te, "loops");
    if (te_expect_int(&p->te) != 1 && p->te.status == CTUNE_OK) {
        te_fail(&p->te, "only version 1 of the format is known", NULL);
    }
    te_expect_line_end(&p->te);
    parse_nodes(p, p->l->root);
    if (p->te.status == CTUNE_OK && p->te.token.kind != TE_END) {
        te_fail(&p->te, "unexpected", te_token_words(&p->te.token));
    }
}

ctune_status ctune_loops_parse(ctune_ctx *ctx, const ctune_region *region, const char *text,
                               ctune_loops **out) {
    ctune_loops *l;
    ctune_status status = ctune_loops_create(ctx, region, &l);
    if (status != CTUNE_OK) {
        return status;
    }
    ctune_region names = *region; /* only looked up */
    loops_parser p = {.te = {.ctx = ctx, .format = "loops", .arena = l->arena, .region = &names},
                      .l = l};
    te_lexer_init(&p.te.lexer, l->arena, text);
    p.te.ahead = te_lexer_next(&p.te.lexer);
    te_advance(&p.te);
    reserve_ids(&p, text);
    parse_all(&p);
    status = p.te.status != CTUNE_OK ? p.te.status : ctune_loops_status(l);
    if (status == CTUNE_OK) {
        *out = l;
    } else {
        ctune_loops_destroy(l);
    }
    return status;
}
