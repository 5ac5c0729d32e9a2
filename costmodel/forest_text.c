/*
 * Forest: print, parse, read (the form is in forest.h).
 *
 * Each take_* function returns false and has recorded file, line and what it expected
 * (model_text.h).
 */
#include "costmodel/forest.h"

#include "costmodel/model_text.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { FORMAT_VERSION = 1, MIN_NODE_BYTES = 4 /* "v 0\\n" */ };

/* ---- print --------------------------------------------------------------------------------- */
static void node_print(const ctune_forest_node *node, ctune_text *out) {
    if (node->left < 0) {
        ctune_text_append_n(out, "v ", 2);
        ctune_decimal_append(out, node->value);
        ctune_text_append_n(out, "\n", 1);
    } else {
        ctune_text_printf(out, "s %d ", (int)node->feature);
        ctune_decimal_append(out, node->value);
        ctune_text_append_n(out, node->is_missing_left ? " l\n" : " r\n", 3);
    }
}

void ctune_forest_print(const ctune_forest *forest, ctune_text *out) {
    ctune_text_printf(out, "ctune-forest %d\nobjective %s\n", FORMAT_VERSION, forest->objective);
    ctune_text_printf(out, "features %d version %d groups %u\n", forest->n_features,
                      forest->feature_version, forest->feature_groups);
    ctune_text_append(out, "score base ");
    ctune_decimal_append(out, forest->base);
    ctune_text_append(out, " scale ");
    ctune_decimal_append(out, forest->scale);
    ctune_text_append(out, " shift ");
    ctune_decimal_append(out, forest->shift);
    ctune_text_append(out, "\n");
    ctune_summary_print(forest->summary, out);
    ctune_text_printf(out, "size trees %d nodes %d\n", forest->n_trees, forest->n_nodes);
    if (forest->n_members > 1) {
        ctune_text_append(out, "members");
        for (int k = 0; k < forest->n_members; k++) {
            ctune_text_printf(out, " %d", forest->member_end[k]);
        }
        ctune_text_append(out, "\n");
    }
    int i_tree = 0;
    for (int32_t i = 0; i < forest->n_nodes; i++) {
        if (i_tree < forest->n_trees && forest->root[i_tree] == i) {
            ctune_text_append_n(out, "tree\n", 5);
            i_tree++;
        }
        node_print(&forest->node[i], out);
    }
    ctune_text_append(out, "end\n");
}

/* ---- head ---------------------------------------------------------------------------------- */
static bool take_count(ctune_scan *s, const char *what, unsigned max, unsigned *out) {
    uint64_t value;
    if (!ctune_scan_count(s, what, max, &value)) {
        return false;
    }
    *out = (unsigned)value;
    return true;
}

typedef struct forest_head {
    unsigned version, n_features, groups, n_trees, n_nodes;
    char objective[sizeof((ctune_forest *)0)->objective];
    float base, scale, shift;
    ctune_text summary;
} forest_head;

static bool take_version(ctune_scan *s) {
    unsigned version;
    if (strncmp(s->at, "ctune-net ", 10) == 0) {
        ctune_fail(s->ctx, CTUNE_EUSAGE,
                   "%s:1: a neural model: `ctune tune` takes it, a compiler's plugin takes forests "
                   "(ctune model train --kind gbt)",
                   s->name);
        return false;
    }
    if (!ctune_scan_word(s, "ctune-forest ") ||
        !take_count(s, "the version of the format", INT_MAX, &version)) {
        return false;
    }
    if (version != FORMAT_VERSION) {
        ctune_fail(s->ctx, CTUNE_EUSAGE, "%s:%d: model of format %u; this ctune reads format %d",
                   s->name, s->line, version, FORMAT_VERSION);
        return false;
    }
    return ctune_scan_line_end(s);
}

static bool take_objective(ctune_scan *s, forest_head *head) {
    if (!ctune_scan_word(s, "objective ")) {
        return false;
    }
    size_t n = strspn(s->at, "abcdefghijklmnopqrstuvwxyz-");
    if (n == 0 || n >= sizeof head->objective) {
        return ctune_scan_fail(s, "the objective's name");
    }
    memcpy(head->objective, s->at, n);
    head->objective[n] = '\0';
    s->at += n;
    return ctune_scan_line_end(s);
}

static bool take_summary(ctune_scan *s, forest_head *head) {
    while (strncmp(s->at, "summary ", 8) == 0) {
        s->at += 8;
        size_t n = strcspn(s->at, "\n");
        ctune_text_append_n(&head->summary, s->at, n);
        ctune_text_append_n(&head->summary, "\n", 1);
        s->at += n;
        if (!ctune_scan_line_end(s)) {
            return false;
        }
    }
    return true;
}

/* Each node takes a line, each tree a node: counts beyond that are refused before memory is
 * asked for. */
static bool take_size(ctune_scan *s, forest_head *head) {
    size_t room = (size_t)(s->end - s->at) / MIN_NODE_BYTES;
    unsigned max = room < INT32_MAX ? (unsigned)room : INT32_MAX;
    return ctune_scan_word(s, "size trees ") &&
           take_count(s, "a number of trees that fits the file", max, &head->n_trees) &&
           ctune_scan_word(s, " nodes ") &&
           take_count(s, "a number of nodes that fits the file", max, &head->n_nodes) &&
           ctune_scan_line_end(s);
}

static bool take_head(ctune_scan *s, forest_head *head) {
    return take_version(s) && take_objective(s, head) && ctune_scan_word(s, "features ") &&
           take_count(s, "a number of features", CTUNE_FOREST_MAX_FEATURES, &head->n_features) &&
           ctune_scan_word(s, " version ") &&
           take_count(s, "the features' version", INT_MAX, &head->version) &&
           ctune_scan_word(s, " groups ") &&
           take_count(s, "the features' groups", UINT_MAX, &head->groups) &&
           ctune_scan_line_end(s) && ctune_scan_word(s, "score base ") &&
           ctune_scan_float(s, &head->base) && ctune_scan_word(s, " scale ") &&
           ctune_scan_float(s, &head->scale) && ctune_scan_word(s, " shift ") &&
           ctune_scan_float(s, &head->shift) && ctune_scan_line_end(s) && take_summary(s, head) &&
           take_size(s, head);
}

/* ---- trees --------------------------------------------------------------------------------- */
static bool take_split(ctune_scan *s, const ctune_forest *forest, ctune_forest_node *node) {
    unsigned feature;
    if (!ctune_scan_word(s, "s ") || !take_count(s, "a feature", INT_MAX, &feature)) {
        return false;
    }
    if ((int)feature >= forest->n_features) {
        ctune_fail(s->ctx, CTUNE_EUSAGE, "%s:%d: malformed model: feature %u of %d", s->name,
                   s->line, feature, forest->n_features);
        return false;
    }
    node->feature = (int32_t)feature;
    if (!ctune_scan_word(s, " ") || !ctune_scan_float(s, &node->value) ||
        !ctune_scan_word(s, " ")) {
        return false;
    }
    node->is_missing_left = *s->at == 'l';
    if (*s->at != 'l' && *s->at != 'r') {
        return ctune_scan_fail(s, "'l' or 'r'");
    }
    s->at++;
    return ctune_scan_line_end(s);
}

static bool take_leaf(ctune_scan *s, ctune_forest_node *node) {
    node->left = node->right = -1;
    return ctune_scan_word(s, "v ") && ctune_scan_float(s, &node->value) && ctune_scan_line_end(s);
}

/* One tree in preorder from node *next on. open[] are the splits whose right tree is still to
 * come. */
static bool take_tree(ctune_scan *s, ctune_forest *forest, int32_t *next) {
    int32_t open[CTUNE_FOREST_MAX_DEPTH];
    int n_open = 0;
    if (!ctune_scan_word(s, "tree") || !ctune_scan_line_end(s)) {
        return false;
    }
    for (;;) {
        if (*next >= forest->n_nodes) {
            return ctune_scan_fail(s, "no more nodes than the size says");
        }
        int32_t i = (*next)++;
        ctune_forest_node *node = &forest->node[i];
        if (*s->at == 's') {
            if (n_open == CTUNE_FOREST_MAX_DEPTH) {
                return ctune_scan_fail(s, "a tree that is less deep");
            }
            if (!take_split(s, forest, node)) {
                return false;
            }
            node->left = i + 1;
            open[n_open++] = i;
        } else if (!take_leaf(s, node)) {
            return false;
        } else if (n_open == 0) {
            return true;
        } else {
            forest->node[open[--n_open]].right = i + 1;
        }
    }
}

/* "members 75 150": where the trees of each end. */
static bool take_members(ctune_scan *s, ctune_forest *forest) {
    if (strncmp(s->at, "members ", 8) != 0) {
        return true;
    }
    s->at += 7;
    forest->n_members = 0;
    for (unsigned end, last = 0; *s->at == ' '; last = end) {
        if (forest->n_members == CTUNE_FOREST_MAX_MEMBERS) {
            return ctune_scan_fail(s, "fewer members");
        }
        if (!ctune_scan_word(s, " ") ||
            !take_count(s, "where a member's trees end", (unsigned)forest->n_trees, &end)) {
            return false;
        }
        if (end < last) {
            return ctune_scan_fail(s, "members in order");
        }
        forest->member_end[forest->n_members++] = (int)end;
    }
    if (forest->n_members == 0 || forest->member_end[forest->n_members - 1] != forest->n_trees) {
        return ctune_scan_fail(s, "members that are all of the trees");
    }
    return ctune_scan_line_end(s);
}

static bool take_trees(ctune_scan *s, ctune_forest *forest) {
    int32_t next = 0;
    for (int i = 0; i < forest->n_trees; i++) {
        forest->root[i] = next;
        if (!take_tree(s, forest, &next)) {
            return false;
        }
    }
    if (next != forest->n_nodes) {
        return ctune_scan_fail(s, "as many nodes as the size says");
    }
    if (!ctune_scan_word(s, "end")) {
        return false;
    }
    if (*s->at != '\0' && !ctune_scan_line_end(s)) {
        return false;
    }
    s->at += strspn(s->at, " \t\r\n");
    return *s->at == '\0' ? true : ctune_scan_fail(s, "nothing behind 'end'");
}

/* ---- entry points -------------------------------------------------------------------------- */
static ctune_status forest_from_head(ctune_ctx *ctx, const forest_head *head, ctune_forest **out) {
    ctune_forest *forest = NULL;
    ctune_status status = ctune_forest_create(ctx, (int)head->n_trees, (int)head->n_nodes, &forest);
    if (status != CTUNE_OK) {
        return status;
    }
    forest->feature_version = (int)head->version;
    forest->feature_groups = head->groups;
    forest->n_features = (int)head->n_features;
    memcpy(forest->objective, head->objective, sizeof forest->objective);
    forest->base = head->base;
    forest->scale = head->scale;
    forest->shift = head->shift;
    status = head->summary.failed
                 ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for a forest's summary")
                 : ctune_forest_set_summary(ctx, forest, ctune_text_get(&head->summary));
    if (status != CTUNE_OK) {
        ctune_forest_destroy(forest);
        return status;
    }
    *out = forest;
    return CTUNE_OK;
}

ctune_status ctune_forest_parse(ctune_ctx *ctx, const char *name, const char *text,
                                ctune_forest **out) {
    ctune_scan s = ctune_scan_begin(ctx, name, text);
    forest_head head = {0};
    ctune_text_init(&head.summary);
    ctune_forest *forest = NULL;
    ctune_status status = CTUNE_EUSAGE;
    if (take_head(&s, &head)) {
        status = forest_from_head(ctx, &head, &forest);
    }
    if (status == CTUNE_OK && !(take_members(&s, forest) && take_trees(&s, forest))) {
        status = CTUNE_EUSAGE;
    }
    ctune_text_clear(&head.summary);
    if (status != CTUNE_OK) {
        ctune_forest_destroy(forest);
        return status;
    }
    *out = forest;
    return CTUNE_OK;
}

ctune_status ctune_forest_read(ctune_ctx *ctx, const char *path, ctune_forest **out) {
    ctune_text text;
    ctune_text_init(&text);
    ctune_status status = ctune_file_read(ctx, path, &text);
    if (status == CTUNE_OK && strlen(ctune_text_get(&text)) != text.len) {
        status = ctune_fail(ctx, CTUNE_EUSAGE, "%s: not a model: it holds a NUL byte", path);
    }
    if (status == CTUNE_OK) {
        status = ctune_forest_parse(ctx, path, ctune_text_get(&text), out);
    }
    ctune_text_clear(&text);
    return status;
}
