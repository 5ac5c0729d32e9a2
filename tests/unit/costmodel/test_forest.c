/* Forest: evaluation by hand-made trees, text round trip, every kind of malformed file with its
 * line, version and width, invariants, memory faults. */
#include "costmodel/forest.h"

#include "runtime/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char small[] = "ctune-forest 1\n"
                            "objective rank\n"
                            "features 3 version 1 groups 63\n"
                            "score base 0.5 scale 2 shift -1\n"
                            "summary tasks 2\n"
                            "summary rows 17 of them failed\n"
                            "size trees 2 nodes 6\n"
                            "tree\n"
                            "s 1 0.25 l\n"
                            "v 1\n"
                            "s 0 -1 r\n"
                            "v 2\n"
                            "v 4\n"
                            "tree\n"
                            "v -0.125\n"
                            "end\n";

static ctune_forest *parse(const char *text) {
    ctune_ctx ctx = {0};
    ctune_forest *forest = NULL;
    ctune_status status = ctune_forest_parse(&ctx, "m", text, &forest);
    if (status != CTUNE_OK) {
        fail_msg("%s", ctx.error);
    }
    assert_int_equal(ctune_forest_verify(&ctx, forest), CTUNE_OK);
    return forest;
}

static void prints_as(const ctune_forest *forest, const char *expected) {
    ctune_text text;
    ctune_text_init(&text);
    ctune_forest_print(forest, &text);
    assert_string_equal(ctune_text_get(&text), expected);
    ctune_text_clear(&text);
}

static void test_round_trip(void **state) {
    (void)state;
    ctune_forest *forest = parse(small);
    assert_int_equal(forest->n_features, 3);
    assert_int_equal(forest->feature_version, 1);
    assert_int_equal(forest->feature_groups, 63);
    assert_string_equal(forest->objective, "rank");
    assert_string_equal(forest->summary, "tasks 2\nrows 17 of them failed");
    prints_as(forest, small);
    ctune_forest_destroy(forest);
}

static void test_line_ends_do_not_matter(void **state) {
    (void)state;
    char other[2 * sizeof small];
    size_t n = 0;
    for (const char *c = small; *c != '\0'; c++) {
        if (*c == '\n') {
            n += (size_t)snprintf(other + n, sizeof other - n, " \t\r\n");
        } else {
            other[n++] = *c;
        }
    }
    n += (size_t)snprintf(other + n, sizeof other - n, "\n\n");
    ctune_forest *forest = parse(other);
    prints_as(forest, small);
    ctune_forest_destroy(forest);
}

/* score = 2 * (0.5 + leaves) - 1 = 2 * leaves */
static void test_predict(void **state) {
    (void)state;
    static const float rows[][3] = {
        {0, 0, 0},   {0, 0.25f, 0}, {-2, 1, 0},    {-1, 1, 0}, {-1.001f, 0.25f, NAN},
        {5, NAN, 1}, {NAN, 1, 1},   {NAN, NAN, 0}, {0, -1, 0},
    };
    static const float leaves[] = {1, 4, 2, 4, 2, 1, 4, 1, 1};
    enum { N = sizeof leaves / sizeof *leaves };
    ctune_forest *forest = parse(small);
    float scores[N];
    ctune_forest_predict(forest, rows[0], N, scores);
    for (int i = 0; i < N; i++) {
        assert_true(scores[i] == 2 * (leaves[i] - 0.125f));
    }
    ctune_model model;
    ctune_ctx ctx = {0};
    ctune_forest_model(forest, &model);
    assert_null(model.fit);
    assert_null(model.destroy);
    assert_int_equal(model.n_features, 3);
    float again[N];
    assert_int_equal(model.predict(&ctx, model.self, rows[0], N, again), CTUNE_OK);
    assert_memory_equal(scores, again, sizeof again);
    ctune_forest_predict(forest, NULL, 0, NULL);
    ctune_forest_destroy(forest);
}

/* ---- random forests ------------------------------------------------------------------------ */
/* One row down one tree, the plain way. */
static float walk(const ctune_forest *forest, int32_t at, const float *row) {
    const ctune_forest_node *node = &forest->node[at];
    if (node->left < 0) {
        return node->value;
    }
    float x = row[node->feature];
    bool is_left = isnan(x) ? node->is_missing_left : x < node->value;
    return walk(forest, is_left ? node->left : node->right, row);
}

static void grow(ctune_rng *rng, ctune_text *text, int depth, int n_features, int *n_nodes) {
    ++*n_nodes;
    if (depth == 0 || ctune_rng_below(rng, 8) == 0) {
        ctune_text_printf(text, "v %.9g\n", (double)(float)(ctune_rng_unit(rng) - 0.5));
        return;
    }
    ctune_text_printf(text, "s %d %.9g %c\n", (int)ctune_rng_below(rng, (uint64_t)n_features),
                      (double)(float)ctune_rng_unit(rng), "lr"[ctune_rng_below(rng, 2)]);
    grow(rng, text, depth - 1, n_features, n_nodes);
    grow(rng, text, depth - 1, n_features, n_nodes);
}

static ctune_forest *random_forest(ctune_rng *rng, int n_trees, int depth, int n_features) {
    ctune_text trees, text;
    ctune_text_init(&trees);
    ctune_text_init(&text);
    int n_nodes = 0;
    for (int i = 0; i < n_trees; i++) {
        ctune_text_append(&trees, "tree\n");
        grow(rng, &trees, depth, n_features, &n_nodes);
    }
    ctune_text_printf(&text,
                      "ctune-forest 1\nobjective regression\nfeatures %d version 1 groups 1\n"
                      "score base 0.25 scale 1 shift 0\nsize trees %d nodes %d\n%send\n",
                      n_features, n_trees, n_nodes, ctune_text_get(&trees));
    ctune_forest *forest = parse(ctune_text_get(&text));
    assert_int_equal(forest->n_nodes, n_nodes);
    ctune_text_clear(&trees);
    ctune_text_clear(&text);
    return forest;
}

static void test_predict_equals_plain_walks(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        ctune_rng rng;
        ctune_rng_init(&rng, seed);
        int n_features = 1 + (int)ctune_rng_below(&rng, 40);
        ctune_forest *forest = random_forest(&rng, 1 + (int)ctune_rng_below(&rng, 20),
                                             (int)ctune_rng_below(&rng, 9), n_features);
        size_t n_rows = ctune_rng_below(&rng, 150), width = (size_t)n_features;
        float *rows = malloc((n_rows * width + 1) * sizeof *rows);
        float *scores = malloc((n_rows + 1) * sizeof *scores);
        assert_true(rows != NULL && scores != NULL);
        bool has_missing = seed % 2 == 0;
        for (size_t i = 0; i < n_rows * width; i++) {
            bool is_missing = has_missing && ctune_rng_below(&rng, 50) == 0;
            rows[i] = is_missing ? NAN : (float)ctune_rng_unit(&rng);
        }
        ctune_forest_predict(forest, rows, n_rows, scores);
        for (size_t i = 0; i < n_rows; i++) {
            float expected = forest->base;
            for (int t = 0; t < forest->n_trees; t++) {
                expected += walk(forest, forest->root[t], rows + i * width);
            }
            if (scores[i] != expected) {
                fail_msg("seed %d row %d", (int)seed, (int)i);
            }
        }
        free(rows);
        free(scores);
        ctune_forest_destroy(forest);
    }
}

/* Members are known to be their own trees' forests, their mean is the score, and the text keeps
 * them. */
static void test_members(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        ctune_rng rng;
        ctune_rng_init(&rng, seed);
        ctune_forest *forest = random_forest(&rng, 12, 5, 7);
        int n = 1 + (int)ctune_rng_below(&rng, 5);
        forest->n_members = n;
        forest->scale = 2;
        forest->shift = -1;
        for (int k = 0; k < n; k++) {
            forest->member_end[k] = k == n - 1 ? 12 : 2 * k;
        }
        ctune_text text;
        ctune_text_init(&text);
        ctune_forest_print(forest, &text);
        ctune_forest *copy = parse(ctune_text_get(&text));
        ctune_text_clear(&text);
        assert_int_equal(copy->n_members, n);
        enum { N_ROWS = 70 };
        float rows[N_ROWS][7], scores[N_ROWS], members[N_ROWS * 5];
        for (int i = 0; i < N_ROWS * 7; i++) {
            rows[i / 7][i % 7] = (float)ctune_rng_unit(&rng);
        }
        ctune_forest_predict(forest, rows[0], N_ROWS, scores);
        ctune_forest_predict_members(copy, rows[0], N_ROWS, members);
        for (int i = 0; i < N_ROWS; i++) {
            float mean = 0;
            for (int k = 0; k < n; k++) {
                float sum = 0;
                for (int t = k > 0 ? forest->member_end[k - 1] : 0; t < forest->member_end[k];
                     t++) {
                    sum += walk(forest, forest->root[t], rows[i]);
                }
                float own = 2 * (forest->base + (float)n * sum) - 1;
                assert_true(fabsf(members[i * n + k] - own) < 1e-4f);
                mean += members[i * n + k] / (float)n;
            }
            assert_true(fabsf(mean - scores[i]) < 1e-4f);
        }
        ctune_forest_destroy(copy);
        ctune_forest_destroy(forest);
    }
}

/* ---- malformed text ------------------------------------------------------------------------ */
static void is_refused(const char *text, const char *words) {
    ctune_ctx ctx = {0};
    ctune_forest *forest = NULL;
    assert_int_equal(ctune_forest_parse(&ctx, "m.txt", text, &forest), CTUNE_EUSAGE);
    assert_null(forest);
    if (strstr(ctx.error, words) == NULL) {
        fail_msg("'%s' lacks '%s'", ctx.error, words);
    }
}

static void replaced_is_refused(const char *from, const char *to, const char *words) {
    char text[2 * sizeof small];
    const char *at = strstr(small, from);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - small), small, to, at + strlen(from));
    is_refused(text, words);
}

static void test_malformed(void **state) {
    (void)state;
    is_refused("", "m.txt:1: malformed model: expected 'ctune-forest '");
    replaced_is_refused("forest 1\n", "forest 2\n", "m.txt:1: model of format 2; this ctune reads");
    replaced_is_refused("forest 1\n", "forest\n", "m.txt:1:");
    replaced_is_refused("rank", "", "m.txt:2: malformed model: expected the objective's name");
    replaced_is_refused("rank", "abcdefghijklmnopqrstuvwxyzabcdefgh", "m.txt:2:");
    replaced_is_refused("features 3", "features 1048577",
                        "m.txt:3: malformed model: expected a nu");
    replaced_is_refused("features 3", "features -1", "m.txt:3:");
    replaced_is_refused("groups 63", "groups 99999999999999999999", "m.txt:3:");
    replaced_is_refused("groups 63", "groups 63 x", "m.txt:3: malformed model: expected the end");
    replaced_is_refused("scale 2", "scale nan", "m.txt:4: malformed model: expected a number");
    replaced_is_refused("scale 2", "scale 1e39", "m.txt:4:");
    replaced_is_refused("trees 2", "trees 4000000000", "m.txt:7: malformed model: expected a num");
    replaced_is_refused("nodes 6", "nodes 2000000000", "m.txt:7: malformed model: expected a num");
    replaced_is_refused("nodes 6", "nodes 5", "m.txt:15: malformed model: expected no more nodes");
    replaced_is_refused("nodes 6", "nodes 7", "m.txt:16: malformed model: expected as many nodes");
    replaced_is_refused("trees 2", "trees 1", "m.txt:14: malformed model: expected as many nodes");
    replaced_is_refused("trees 2", "trees 3", "m.txt:16: malformed model: expected 'tree'");
    replaced_is_refused("nodes 6\n", "nodes 6\nmembers\n",
                        "m.txt:8: malformed model: expected 'tr");
    replaced_is_refused("nodes 6\n", "nodes 6\nmembers 1\n",
                        "m.txt:8: malformed model: expected me");
    replaced_is_refused("nodes 6\n", "nodes 6\nmembers 2 1 2\n",
                        "m.txt:8: malformed model: expected");
    replaced_is_refused("nodes 6\n", "nodes 6\nmembers 3\n",
                        "m.txt:8: malformed model: expected wh");
    replaced_is_refused("nodes 6\n", "nodes 6\nmembers 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 2\n",
                        "m.txt:8: malformed model: expected fewer members");
    replaced_is_refused("s 1 ", "s 3 ", "m.txt:9: malformed model: feature 3 of 3");
    replaced_is_refused("s 1 ", "s -1 ", "m.txt:9: malformed model: expected a feature");
    replaced_is_refused("0.25 l", "0.25 x", "m.txt:9: malformed model: expected 'l' or 'r'");
    replaced_is_refused("0.25 l", "0.25", "m.txt:9:");
    replaced_is_refused("v 2", "v two", "m.txt:12: malformed model: expected a number");
    replaced_is_refused("v 2\n", "", "m.txt:13: malformed model: expected 'v '");
    replaced_is_refused("end\n", "", "m.txt:16: malformed model: expected 'end'");
    replaced_is_refused("end\n", "end\nv 1\n", "m.txt:17: malformed model: expected nothing");
}

static void test_every_truncation_is_refused(void **state) {
    (void)state;
    char text[sizeof small];
    for (size_t n = 0; n + 2 < sizeof small; n++) { /* "...end" without the newline is whole */
        memcpy(text, small, n);
        text[n] = '\0';
        is_refused(text, "m.txt:");
    }
}

static ctune_status parse_deep(ctune_ctx *ctx, int depth, ctune_forest **out) {
    ctune_text text;
    ctune_text_init(&text);
    ctune_text_printf(&text,
                      "ctune-forest 1\nobjective rank\nfeatures 3 version 1 groups 63\n"
                      "score base 0 scale 1 shift 0\nsize trees 1 nodes %d\ntree\n",
                      2 * depth + 1);
    for (int i = 0; i < depth; i++) {
        ctune_text_append(&text, "s 0 0 l\n");
    }
    for (int i = 0; i <= depth; i++) {
        ctune_text_append(&text, "v 0\n");
    }
    ctune_text_append(&text, "end\n");
    ctune_status status = ctune_forest_parse(ctx, "deep", ctune_text_get(&text), out);
    ctune_text_clear(&text);
    return status;
}

static void test_depth(void **state) {
    (void)state;
    ctune_ctx ctx = {0};
    ctune_forest *forest = NULL;
    assert_int_equal(parse_deep(&ctx, CTUNE_FOREST_MAX_DEPTH, &forest), CTUNE_OK);
    assert_int_equal(ctune_forest_verify(&ctx, forest), CTUNE_OK);
    ctune_forest_destroy(forest);
    assert_int_equal(parse_deep(&ctx, CTUNE_FOREST_MAX_DEPTH + 1, &forest), CTUNE_EUSAGE);
    assert_non_null(strstr(ctx.error, "deep:71: malformed model: expected a tree that is less"));
}

/* ---- files --------------------------------------------------------------------------------- */
static void test_read(void **state) {
    (void)state;
    char path[] = "/tmp/ctune-test-forest-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    ctune_ctx ctx = {0};
    ctune_forest *forest = NULL;
    assert_int_equal(ctune_file_write(&ctx, path, small, strlen(small)), CTUNE_OK);
    assert_int_equal(ctune_forest_read(&ctx, path, &forest), CTUNE_OK);
    prints_as(forest, small);
    ctune_forest_destroy(forest);
    assert_int_equal(ctune_file_write(&ctx, path, small, sizeof small), CTUNE_OK);
    assert_int_equal(ctune_forest_read(&ctx, path, &forest), CTUNE_EUSAGE);
    assert_non_null(strstr(ctx.error, "NUL"));
    close(fd);
    unlink(path);
    assert_int_equal(ctune_forest_read(&ctx, path, &forest), CTUNE_EENV);
    assert_non_null(strstr(ctx.error, path));
}

static void test_check(void **state) {
    (void)state;
    ctune_ctx ctx = {0};
    ctune_forest *forest = parse(small);
    assert_int_equal(ctune_forest_check(&ctx, forest, "x.model", 1, 3), CTUNE_OK);
    assert_int_equal(ctune_forest_check(&ctx, forest, "x.model", 2, 3), CTUNE_EUSAGE);
    assert_non_null(strstr(ctx.error, "x.model: was trained on features of version 1; this ctune "
                                      "has version 2"));
    assert_int_equal(ctune_forest_check(&ctx, forest, "x.model", 1, 4), CTUNE_EUSAGE);
    assert_non_null(strstr(ctx.error, "x.model: was trained on rows of 3 features; these have 4"));
    ctune_forest_destroy(forest);
}

static void test_verify(void **state) {
    (void)state;
    ctune_ctx ctx = {0};
    ctune_forest *forest = parse(small);
    ctune_forest_node *node = forest->node;
#define BREAKS(place, value)                                                                       \
    do {                                                                                           \
        __typeof__(place) kept = (place);                                                          \
        (place) = (value);                                                                         \
        assert_int_equal(ctune_forest_verify(&ctx, forest), CTUNE_EBUG);                           \
        (place) = kept;                                                                            \
        assert_int_equal(ctune_forest_verify(&ctx, forest), CTUNE_OK);                             \
    } while (0)
    BREAKS(node[0].feature, 3);
    BREAKS(node[0].feature, -1);
    BREAKS(node[0].value, NAN);
    BREAKS(node[2].right, 0); /* a cycle */
    BREAKS(node[2].right, 1); /* two parents */
    BREAKS(node[2].right, 5); /* another tree's */
    BREAKS(node[2].right, 1 << 30);
    BREAKS(node[1].left, -2);
    BREAKS(node[1].feature, 1);
    BREAKS(forest->root[1], 0);
    BREAKS(forest->root[0], -1);
    BREAKS(forest->n_trees, 1);
    BREAKS(forest->n_nodes, 5);
    BREAKS(forest->scale, INFINITY);
    ctune_forest_destroy(forest);
}

static void test_summary(void **state) {
    (void)state;
    ctune_ctx ctx = {0};
    ctune_forest *forest = parse(small);
    assert_int_equal(ctune_forest_set_summary(&ctx, forest, "\n\n a 1 \r\n\n\tb 2\n\n"), CTUNE_OK);
    assert_string_equal(forest->summary, "a 1\nb 2");
    assert_int_equal(ctune_forest_set_summary(&ctx, forest, " \n"), CTUNE_OK);
    assert_string_equal(forest->summary, "");
    ctune_forest_destroy(forest);
}

static void test_memory_faults(void **state) {
    (void)state;
    for (uint64_t n = 1;; n++) {
        ctune_ctx ctx = {.alloc_fail_at = n};
        ctune_forest *forest = NULL;
        ctune_status status = ctune_forest_parse(&ctx, "m", small, &forest);
        if (status == CTUNE_OK) {
            assert_true(n > 4);
            ctune_forest_destroy(forest);
            return;
        }
        assert_int_equal(status, CTUNE_ENOMEM);
        assert_null(forest);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_line_ends_do_not_matter),
        cmocka_unit_test(test_predict),
        cmocka_unit_test(test_predict_equals_plain_walks),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_every_truncation_is_refused),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_verify),
        cmocka_unit_test(test_summary),
        cmocka_unit_test(test_memory_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
