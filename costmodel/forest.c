/*
 * Forest: memory, invariants and evaluation. The text form is in forest_text.c.
 *
 * A walk down a tree is a chain of dependent loads, and which way it goes is as good as random: one
 * row at a time would wait for each load and pay for each wrong guess. So N_LANES rows walk down a
 * tree in step without branches (a lane that has reached its leaf stays there), and the processor
 * overlaps their loads. Rows come in blocks that stay in the first-level cache while all trees
 * pass by.
 */
#include "costmodel/forest.h"

#include "costmodel/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_LANES = 8, BLOCK_ROWS = 32 };

/* ---- memory -------------------------------------------------------------------------------- */
ctune_status ctune_forest_create(ctune_ctx *ctx, int n_trees, int n_nodes, ctune_forest **out) {
    ctune_forest *forest = ctune_memory_grow(ctx, NULL, 1, sizeof *forest);
    if (forest == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for a forest");
    }
    memset(forest, 0, sizeof *forest);
    forest->n_trees = n_trees;
    forest->n_nodes = n_nodes;
    forest->n_members = 1;
    forest->member_end[0] = n_trees;
    forest->root = ctune_memory_grow(ctx, NULL, (size_t)n_trees, sizeof *forest->root);
    forest->node = ctune_memory_grow(ctx, NULL, (size_t)n_nodes, sizeof *forest->node);
    forest->summary = ctune_memory_strdup(ctx, "");
    if (forest->root == NULL || forest->node == NULL || forest->summary == NULL) {
        ctune_forest_destroy(forest);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for a forest of %d nodes", n_nodes);
    }
    memset(forest->root, 0, (size_t)n_trees * sizeof *forest->root);
    memset(forest->node, 0, (size_t)n_nodes * sizeof *forest->node);
    *out = forest;
    return CTUNE_OK;
}

void ctune_forest_destroy(ctune_forest *forest) {
    if (forest != NULL) {
        free(forest->root);
        free(forest->node);
        free(forest->summary);
        free(forest);
    }
}

ctune_status ctune_forest_set_summary(ctune_ctx *ctx, ctune_forest *forest, const char *summary) {
    char *copy = ctune_memory_strdup(ctx, summary);
    if (copy == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for a forest's summary");
    }
    static const char blanks[] = " \t\r\n\v\f";
    char *end = copy;
    for (const char *line = summary + strspn(summary, blanks); *line != '\0';) {
        size_t n = strcspn(line, "\n");
        const char *next = line + n;
        while (n > 0 && strchr(blanks, line[n - 1]) != NULL) {
            n--;
        }
        memcpy(end, line, n);
        end += n;
        next += strspn(next, blanks);
        if (*next != '\0') {
            *end++ = '\n';
        }
        line = next;
    }
    *end = '\0';
    free(forest->summary);
    forest->summary = copy;
    return CTUNE_OK;
}

/* ---- invariants ---------------------------------------------------------------------------- */
static bool is_node_fine(const ctune_forest *forest, const ctune_forest_node *node) {
    if (node->left < 0) {
        return isfinite(node->value) && node->left == -1 && node->right == -1 && node->feature == 0;
    }
    return isfinite(node->value) && node->feature >= 0 && node->feature < forest->n_features;
}

/* Walk a tree that must begin at *next and lie in preorder; *next is then the node behind it.
 * Bounded: no node is seen twice. */
static bool is_tree_fine(const ctune_forest *forest, int32_t root, int32_t *next, int depth) {
    if (root != *next || root >= forest->n_nodes || depth > CTUNE_FOREST_MAX_DEPTH ||
        !is_node_fine(forest, &forest->node[root])) {
        return false;
    }
    ++*next;
    const ctune_forest_node *node = &forest->node[root];
    return node->left < 0 || (is_tree_fine(forest, node->left, next, depth + 1) &&
                              is_tree_fine(forest, node->right, next, depth + 1));
}

static bool are_members_fine(const ctune_forest *forest) {
    bool is_fine = forest->n_members >= 1 && forest->n_members <= CTUNE_FOREST_MAX_MEMBERS;
    for (int k = 0; k < forest->n_members && is_fine; k++) {
        is_fine = forest->member_end[k] >= (k > 0 ? forest->member_end[k - 1] : 0);
    }
    return is_fine && forest->member_end[forest->n_members - 1] == forest->n_trees;
}

ctune_status ctune_forest_verify(ctune_ctx *ctx, const ctune_forest *forest) {
    if (forest->n_features < 0 || forest->n_features > CTUNE_FOREST_MAX_FEATURES ||
        !isfinite(forest->base) || !isfinite(forest->scale) || !isfinite(forest->shift)) {
        return ctune_fail(ctx, CTUNE_EBUG, "forest: a number of its head is out of range");
    }
    if (!are_members_fine(forest)) {
        return ctune_fail(ctx, CTUNE_EBUG, "forest: its members are not all of its trees");
    }
    int32_t next = 0;
    for (int i = 0; i < forest->n_trees; i++) {
        if (!is_tree_fine(forest, forest->root[i], &next, 0)) {
            return ctune_fail(ctx, CTUNE_EBUG, "forest: tree %d is malformed at node %d", i,
                              (int)next);
        }
    }
    if (next != forest->n_nodes) {
        return ctune_fail(ctx, CTUNE_EBUG, "forest: %d nodes belong to no tree",
                          (int)(forest->n_nodes - next));
    }
    return CTUNE_OK;
}

ctune_status ctune_forest_check(ctune_ctx *ctx, const ctune_forest *forest, const char *name,
                                int feature_version, int n_features) {
    if (forest->feature_version != feature_version) {
        return ctune_fail(ctx, CTUNE_EUSAGE,
                          "%s: was trained on features of version %d; this ctune has version %d "
                          "(train it anew: ctune model train)",
                          name, forest->feature_version, feature_version);
    }
    if (forest->n_features != n_features) {
        return ctune_fail(ctx, CTUNE_EUSAGE,
                          "%s: was trained on rows of %d features; these have %d (other feature "
                          "groups?)",
                          name, forest->n_features, n_features);
    }
    return CTUNE_OK;
}

/* ---- evaluation ---------------------------------------------------------------------------- */
static bool has_missing(const float *rows, size_t n) {
    int n_missing = 0;
    for (size_t i = 0; i < n; i++) {
        n_missing |= rows[i] != rows[i];
    }
    return n_missing != 0;
}

static float tree_eval(const ctune_forest_node *node, int32_t root, const float *row) {
    int32_t at = root;
    while (node[at].left >= 0) {
        float x = row[node[at].feature];
        bool is_left = x != x ? node[at].is_missing_left : x < node[at].value;
        at = is_left ? node[at].left : node[at].right;
    }
    return node[at].value;
}

/* N_LANES rows without missing values. Selection by masks: compilers turn ?: into branches here. */
static void tree_eval_lanes(const ctune_forest_node *node, int32_t root, const float *rows,
                            size_t width, float *sums) {
    int32_t at[N_LANES];
    for (int i = 0; i < N_LANES; i++) {
        at[i] = root;
    }
    for (int32_t inner = node[root].left; inner >= 0;) {
        inner = -1;
        for (int i = 0; i < N_LANES; i++) {
            const ctune_forest_node *here = &node[at[i]];
            float x = rows[(size_t)i * width + (size_t)here->feature];
            int32_t is_right = -(int32_t)!(x < here->value);
            int32_t next = here->left + ((here->right - here->left) & is_right);
            int32_t is_leaf = next >> 31; /* all ones or zeros; of a leaf: left = right = -1 */
            at[i] = (next & ~is_leaf) | (at[i] & is_leaf);
            inner &= next;
        }
    }
    for (int i = 0; i < N_LANES; i++) {
        sums[i] += node[at[i]].value;
    }
}

/* Trees first .. end - 1 of so few rows that they stay in the cache. */
static void block_predict(const ctune_forest *forest, int first, int end, const float *rows,
                          size_t n_rows, float *sums) {
    size_t width = (size_t)forest->n_features;
    bool is_whole = !has_missing(rows, n_rows * width);
    size_t n_lane_rows = is_whole ? n_rows - n_rows % N_LANES : 0;
    for (int i_tree = first; i_tree < end; i_tree++) {
        int32_t root = forest->root[i_tree];
        for (size_t i = 0; i < n_lane_rows; i += N_LANES) {
            tree_eval_lanes(forest->node, root, rows + i * width, width, sums + i);
        }
        for (size_t i = n_lane_rows; i < n_rows; i++) {
            sums[i] += tree_eval(forest->node, root, rows + i * width);
        }
    }
}

void ctune_forest_predict(const ctune_forest *forest, const float *rows, size_t n_rows,
                          float *scores) {
    for (size_t i = 0; i < n_rows; i++) {
        scores[i] = forest->base;
    }
    for (size_t i = 0; i < n_rows; i += BLOCK_ROWS) {
        size_t n = n_rows - i < BLOCK_ROWS ? n_rows - i : BLOCK_ROWS;
        block_predict(forest, 0, forest->n_trees, rows + i * (size_t)forest->n_features, n,
                      scores + i);
    }
    for (size_t i = 0; i < n_rows; i++) {
        scores[i] = forest->scale * scores[i] + forest->shift;
    }
}

void ctune_forest_predict_members(const ctune_forest *forest, const float *rows, size_t n_rows,
                                  float *scores) {
    size_t n_members = (size_t)forest->n_members;
    for (size_t i = 0; i < n_rows; i += BLOCK_ROWS) {
        size_t n = n_rows - i < BLOCK_ROWS ? n_rows - i : BLOCK_ROWS;
        for (size_t k = 0; k < n_members; k++) {
            float sums[BLOCK_ROWS] = {0};
            block_predict(forest, k > 0 ? forest->member_end[k - 1] : 0, forest->member_end[k],
                          rows + i * (size_t)forest->n_features, n, sums);
            for (size_t r = 0; r < n; r++) {
                float sum = forest->base + (float)n_members * sums[r];
                scores[(i + r) * n_members + k] = forest->scale * sum + forest->shift;
            }
        }
    }
}

static ctune_status model_predict(ctune_ctx *ctx, void *self, const float *features, size_t n_rows,
                                  float *scores) {
    (void)ctx;
    ctune_forest_predict((const ctune_forest *)self, features, n_rows, scores);
    return CTUNE_OK;
}

static ctune_status model_predict_members(ctune_ctx *ctx, void *self, const float *features,
                                          size_t n_rows, float *scores) {
    (void)ctx;
    ctune_forest_predict_members((const ctune_forest *)self, features, n_rows, scores);
    return CTUNE_OK;
}

ctune_model_input ctune_forest_input(const ctune_forest *forest) {
    return (ctune_model_input){.kind = CTUNE_INPUT_ROW,
                               .version = forest->feature_version,
                               .groups = forest->feature_groups,
                               .n_items = 1,
                               .width = forest->n_features};
}

void ctune_forest_model(const ctune_forest *forest, ctune_model *out) {
    *out = (ctune_model){.name = "forest",
                         .n_features = forest->n_features,
                         .self = (void *)(uintptr_t)forest,
                         .predict = model_predict,
                         .n_members = forest->n_members,
                         .predict_members = model_predict_members,
                         .input = ctune_forest_input(forest)};
}
