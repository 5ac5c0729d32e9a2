/*
 * XGBoost's JSON -> forest.
 *
 * The JSON is XGBoost's documented model format and prints floats so that they read back exactly;
 * its nodes come in an order of their own and some are unreachable (pruned), so each tree is walked
 * from its root into preorder. It comes from a library, not from a user; it is checked all
 * the same: another version of XGBoost may write something else.
 */
#include "costmodel/gbt/gbt_private.h"

#include "costmodel/memory.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One tree as flat arrays of n nodes, cut from one block. */
typedef struct flat_tree {
    int n;
    int32_t *left, *right, *feature;
    bool *is_missing_left;
    float *value;
} flat_tree;

typedef struct converter {
    ctune_ctx *ctx;
    const int32_t *column;
    int n_columns;
    ctune_forest *forest;
    int32_t n_done; /* nodes written */
} converter;

static ctune_status fail_format(ctune_ctx *ctx, const char *what) {
    return ctune_fail(ctx, CTUNE_EENV, "XGBoost: a model that this ctune cannot read: %s", what);
}

/* ---- one tree -> flat arrays --------------------------------------------------------------- */
/* Numbers of array `key` of tree through put; false: not an array of n numbers. */
static bool array_read(const cJSON *tree, const char *key, int n, void (*put)(void *, int, double),
                       void *out) {
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(tree, key);
    if (!cJSON_IsArray(array)) {
        return false;
    }
    int i = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, array) {
        bool is_number = cJSON_IsNumber(item), is_bool = cJSON_IsBool(item);
        if (i == n || (!is_number && !is_bool)) {
            return false;
        }
        put(out, i++, is_bool ? cJSON_IsTrue(item) : item->valuedouble);
    }
    return i == n;
}

static void put_index(void *out, int i, double value) {
    bool is_index = value >= -1 && value <= INT32_MAX;
    ((int32_t *)out)[i] = is_index ? (int32_t)value : INT32_MAX;
}

static void put_bool(void *out, int i, double value) {
    ((bool *)out)[i] = value != 0;
}

static void put_float(void *out, int i, double value) {
    ((float *)out)[i] = (float)value;
}

static ctune_status flat_tree_init(ctune_ctx *ctx, const cJSON *json, flat_tree *tree) {
    memset(tree, 0, sizeof *tree);
    tree->n = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(json, "left_children"));
    size_t n = (size_t)tree->n;
    tree->left = ctune_memory_grow(ctx, NULL, n, sizeof *tree->left);
    tree->right = ctune_memory_grow(ctx, NULL, n, sizeof *tree->right);
    tree->feature = ctune_memory_grow(ctx, NULL, n, sizeof *tree->feature);
    tree->is_missing_left = ctune_memory_grow(ctx, NULL, n, sizeof *tree->is_missing_left);
    tree->value = ctune_memory_grow(ctx, NULL, n, sizeof *tree->value);
    if (tree->left == NULL || tree->right == NULL || tree->feature == NULL ||
        tree->is_missing_left == NULL || tree->value == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for a tree");
    }
    if (tree->n == 0 || !array_read(json, "left_children", tree->n, put_index, tree->left) ||
        !array_read(json, "right_children", tree->n, put_index, tree->right) ||
        !array_read(json, "split_indices", tree->n, put_index, tree->feature) ||
        !array_read(json, "default_left", tree->n, put_bool, tree->is_missing_left) ||
        !array_read(json, "split_conditions", tree->n, put_float, tree->value)) {
        return fail_format(ctx, "a tree without its arrays");
    }
    return CTUNE_OK;
}

static void flat_tree_clear(flat_tree *tree) {
    free(tree->left);
    free(tree->right);
    free(tree->feature);
    free(tree->is_missing_left);
    free(tree->value);
}

/* ---- flat arrays -> preorder --------------------------------------------------------------- */
/* Copies the tree below `at` behind what is there. The forest has room for each node once: more
 * than that is a cycle. */
static bool tree_copy(converter *c, const flat_tree *tree, int32_t at, int depth) {
    if (at < 0 || at >= tree->n || depth > CTUNE_FOREST_MAX_DEPTH ||
        c->n_done >= c->forest->n_nodes || !isfinite(tree->value[at])) {
        return false;
    }
    ctune_forest_node *node = &c->forest->node[c->n_done++];
    node->value = tree->value[at];
    if (tree->left[at] < 0) {
        node->left = node->right = -1;
        return true;
    }
    if (tree->feature[at] < 0 || tree->feature[at] >= c->n_columns) {
        return false;
    }
    node->feature = c->column[tree->feature[at]];
    node->is_missing_left = tree->is_missing_left[at];
    node->left = c->n_done;
    if (!tree_copy(c, tree, tree->left[at], depth + 1)) {
        return false;
    }
    node->right = c->n_done;
    return tree_copy(c, tree, tree->right[at], depth + 1);
}

static ctune_status tree_append(converter *c, const cJSON *json) {
    flat_tree tree;
    ctune_status status = flat_tree_init(c->ctx, json, &tree);
    bool is_nothing = status == CTUNE_OK && tree.left[0] < 0 && tree.value[0] == 0;
    if (status == CTUNE_OK && !is_nothing) {
        c->forest->root[c->forest->n_trees++] = c->n_done;
        if (!tree_copy(c, &tree, 0, 0)) {
            status = fail_format(c->ctx, "a malformed tree");
        }
    }
    flat_tree_clear(&tree);
    return status;
}

/* ---- the whole ----------------------------------------------------------------------------- */
static const cJSON *trees_find(const cJSON *json) {
    static const char *const path[] = {"learner", "gradient_booster", "model", "trees"};
    for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
        json = cJSON_GetObjectItemCaseSensitive(json, path[i]);
    }
    return cJSON_IsArray(json) ? json : NULL;
}

/* Nodes of all trees, reachable or not; -1: too many. */
static int nodes_count(const cJSON *trees) {
    int64_t n = 0;
    const cJSON *tree;
    cJSON_ArrayForEach(tree, trees) {
        n += cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(tree, "left_children"));
    }
    return n <= INT32_MAX ? (int)n : -1;
}

static ctune_status trees_convert(converter *c, const cJSON *trees, int n_features) {
    int n_nodes = nodes_count(trees);
    if (n_nodes < 0) {
        return fail_format(c->ctx, "too many nodes");
    }
    ctune_status status =
        ctune_forest_create(c->ctx, cJSON_GetArraySize(trees), n_nodes, &c->forest);
    if (status != CTUNE_OK) {
        return status;
    }
    c->forest->n_features = n_features;
    c->forest->scale = 1;
    c->forest->n_trees = 0;
    const cJSON *tree;
    cJSON_ArrayForEach(tree, trees) {
        status = tree_append(c, tree);
        if (status != CTUNE_OK) {
            return status;
        }
    }
    c->forest->n_nodes = c->n_done;
    c->forest->member_end[0] = c->forest->n_trees;
    return ctune_forest_verify(c->ctx, c->forest);
}

ctune_status ctune_gbt_convert(ctune_ctx *ctx, const char *json, size_t len, const int32_t *column,
                               int n_columns, int n_features, ctune_forest **out) {
    converter c = {.ctx = ctx, .column = column, .n_columns = n_columns};
    cJSON *root = cJSON_ParseWithLength(json, len);
    const cJSON *trees = trees_find(root);
    ctune_status status = trees == NULL ? fail_format(ctx, "no trees in its JSON")
                                        : trees_convert(&c, trees, n_features);
    cJSON_Delete(root);
    if (status != CTUNE_OK) {
        ctune_forest_destroy(c.forest);
        return status;
    }
    *out = c.forest;
    return CTUNE_OK;
}
