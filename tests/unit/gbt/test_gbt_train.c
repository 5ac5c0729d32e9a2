/* Training: our evaluation equals XGBoost's, signs and scale of scores, base margins in row order,
 * selection of tasks, determinism, threads, errors. */
#include "tests/unit/gbt/gbt_fixture.h"

#include <dirent.h>
#include <xgboost/c_api.h>

static void options_small(ctune_gbt_options *options, ctune_gbt_objective objective) {
    ctune_gbt_options_default(options);
    options->objective = objective;
    options->n_trees = 40;
    options->max_depth = 4;
}

static ctune_forest *train(const ctune_dataset *data, const bool *select, const float *margins,
                           const ctune_gbt_options *options) {
    ctune_ctx ctx = {0};
    ctune_forest *forest = NULL;
    OK(ctune_gbt_train(&ctx, data, select, margins, options, &forest));
    OK(ctune_forest_verify(&ctx, forest));
    return forest;
}

/* ---- equal to XGBoost ---------------------------------------------------------------------- */
/* A booster of XGBoost's own making, its predictions of rows it never saw (some on the thresholds,
 * some with missing values), and ours of its converted model. */
static void test_evaluation_equals_xgboost(void **state) {
    (void)state;
    enum { N = 400, M = 7 };
    static float x[2 * N][M], y[N], ours[2 * N];
    ctune_ctx ctx = {0};
    ctune_rng rng;
    ctune_rng_init(&rng, 5);
    for (int i = 0; i < 2 * N; i++) {
        for (int j = 0; j < M; j++) {
            x[i][j] = j < 3 ? (float)ctune_rng_below(&rng, 9) : (float)ctune_rng_unit(&rng) - 0.5f;
            if (ctune_rng_below(&rng, 20) == 0) {
                x[i][j] = NAN;
            }
        }
        if (i < N) {
            y[i] = (isnan(x[i][0]) ? 3 : x[i][0]) * 0.3f + (isnan(x[i][4]) ? 1 : x[i][4] * x[i][4]);
        }
    }
    DMatrixHandle matrix, fresh;
    BoosterHandle handle;
    assert_int_equal(XGDMatrixCreateFromMat_omp(x[0], N, M, NAN, &matrix, 1), 0);
    assert_int_equal(XGDMatrixCreateFromMat_omp(x[0], 2 * N, M, NAN, &fresh, 1), 0);
    assert_int_equal(XGDMatrixSetFloatInfo(matrix, "label", y, N), 0);
    assert_int_equal(XGBoosterCreate(&matrix, 1, &handle), 0);
    static const char *const set[][2] = {{"verbosity", "0"},
                                         {"nthread", "1"},
                                         {"base_score", "0"},
                                         {"tree_method", "hist"},
                                         {"max_depth", "6"}};
    for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
        assert_int_equal(XGBoosterSetParam(handle, set[i][0], set[i][1]), 0);
    }
    for (int i = 0; i < 50; i++) {
        assert_int_equal(XGBoosterUpdateOneIter(handle, i, matrix), 0);
    }
    bst_ulong len, n;
    const char *json;
    const float *theirs;
    assert_int_equal(XGBoosterSaveModelToBuffer(handle, "{\"format\":\"json\"}", &len, &json), 0);
    static const int32_t column[M] = {0, 1, 2, 3, 4, 5, 6};
    ctune_forest *forest = NULL;
    OK(ctune_gbt_convert(&ctx, json, len, column, M, M, &forest));
    assert_int_equal(XGBoosterPredict(handle, fresh, 1, 0, 0, &n, &theirs), 0);
    assert_int_equal(n, 2 * N);
    ctune_forest_predict(forest, x[0], 2 * N, ours);
    assert_memory_equal(ours, theirs, sizeof ours);
    /* and after a trip through a model file */
    memcpy(forest->objective, "regression", sizeof "regression");
    char *text = forest_text(forest);
    ctune_forest_destroy(forest);
    OK(ctune_forest_parse(&ctx, "m", text, &forest));
    memset(ours, 0, sizeof ours);
    ctune_forest_predict(forest, x[0], 2 * N, ours);
    assert_memory_equal(ours, theirs, sizeof ours);
    free(text);
    ctune_forest_destroy(forest);
    XGBoosterFree(handle);
    XGDMatrixFree(matrix);
    XGDMatrixFree(fresh);
}

static void test_conversion_refuses_what_it_does_not_know(void **state) {
    (void)state;
    static const char frame[] = "{\"learner\":{\"gradient_booster\":{\"model\":{\"trees\":[%s]}}}}";
    static const char *const wrong[] = {
        "{}",
        "{\"left_children\":[],\"right_children\":[],\"split_indices\":[],\"default_left\":[],"
        "\"split_conditions\":[]}",
        /* a cycle, a missing child, a wide index, another column, a missing number, a word */
        "{\"left_children\":[0],\"right_children\":[0],\"split_indices\":[0],\"default_left\":[1],"
        "\"split_conditions\":[0]}",
        "{\"left_children\":[1,-1],\"right_children\":[2,-1],\"split_indices\":[0,0],"
        "\"default_left\":[1,1],\"split_conditions\":[0,0]}",
        "{\"left_children\":[1e30,-1],\"right_children\":[1,-1],\"split_indices\":[0,0],"
        "\"default_left\":[1,1],\"split_conditions\":[0,0]}",
        "{\"left_children\":[1,-1,-1],\"right_children\":[2,-1,-1],\"split_indices\":[2,0,0],"
        "\"default_left\":[1,1,1],\"split_conditions\":[0,0,0]}",
        "{\"left_children\":[1,-1,-1],\"right_children\":[2,-1,-1],\"split_indices\":[0,0,0],"
        "\"default_left\":[1,1],\"split_conditions\":[0,0,0]}",
        "{\"left_children\":[1,-1,-1],\"right_children\":[2,-1,-1],\"split_indices\":[0,0,0],"
        "\"default_left\":[1,1,1],\"split_conditions\":[0,0,\"x\"]}",
        "{\"left_children\":[1,-1,-1],\"right_children\":[2,-1,-1],\"split_indices\":[0,0,0],"
        "\"default_left\":[1,1,1],\"split_conditions\":[1e60,0,1]}",
    };
    static const int32_t column[] = {0, 1};
    char text[512];
    for (size_t i = 0; i <= sizeof wrong / sizeof *wrong; i++) {
        ctune_ctx ctx = {0};
        ctune_forest *forest = NULL;
        int n = i < sizeof wrong / sizeof *wrong ? snprintf(text, sizeof text, frame, wrong[i])
                                                 : snprintf(text, sizeof text, "{\"learner\":[");
        assert_int_equal(ctune_gbt_convert(&ctx, text, (size_t)n, column, 2, 2, &forest),
                         CTUNE_EENV);
        assert_null(forest);
        assert_non_null(strstr(ctx.error, "XGBoost"));
    }
}

/* XGBoost's view of the training rows, kept up to date while it trains, is ours of the forest; with
 * constant columns left out and margins. */
static void test_training_predictions(void **state) {
    (void)state;
    for (int objective = 0; objective < CTUNE_N_GBT_OBJECTIVES; objective++) {
        ctune_ctx ctx = {0};
        ctune_rng rng;
        ctune_rng_init(&rng, 3);
        ctune_dataset data;
        ctune_dataset_init(&data, WIDTH);
        task_add(&data, &rng, 90);
        data.features[1] = data.features[8] = NAN;
        float margins[90], raw[90], ours[90];
        for (int i = 0; i < 90; i++) {
            margins[i] = (float)ctune_rng_unit(&rng);
        }
        ctune_gbt_task task = {
            .features = data.features, .margins = margins, .n_rows = 90, .weight = 1};
        ctune_gbt_rows rows;
        OK(ctune_gbt_rows_init(&ctx, &rows, &task, 1, WIDTH));
        assert_int_equal(rows.n_columns, 4); /* 4 and 5 are constant */
        for (int i = 0; i < 90; i++) {
            rows.label[i] = ctune_dataset_label(&data, 0, (size_t)i);
        }
        ctune_gbt_rows_set_targets(&rows);
        ctune_gbt_options options;
        options_small(&options, (ctune_gbt_objective)objective);
        ctune_forest *forest = NULL;
        OK(ctune_gbt_booster_train(&ctx, &rows, WIDTH, &options, raw, &forest));
        assert_true(forest->n_trees > 10);
        ctune_forest_predict(forest, data.features, 90, ours);
        for (int i = 0; i < 90; i++) {
            assert_true(fabsf(margins[i] + ours[i] - raw[i]) < 1e-5f);
        }
        ctune_forest_destroy(forest);
        ctune_gbt_rows_clear(&rows);
        ctune_dataset_clear(&data);
    }
}

/* ---- what is learned ----------------------------------------------------------------------- */
/* Faster is higher, and a difference of 1 is a factor of two; tasks of very different times do not
 * disturb each other, failures are last. */
static void test_sign_and_scale(void **state) {
    (void)state;
    for (int objective = 0; objective < CTUNE_N_GBT_OBJECTIVES; objective++) {
        ctune_ctx ctx = {0};
        ctune_rng rng;
        ctune_rng_init(&rng, 1);
        ctune_dataset data;
        ctune_dataset_init(&data, WIDTH);
        for (int t = 0; t < 3; t++) {
            task_add(&data, &rng, 200);
            for (int i = 0; i < 10; i++) {
                float row[WIDTH];
                row_make(&rng, t, row);
                row[3] = 9;
                OK(ctune_dataset_add_row(&ctx, &data, row, INFINITY));
            }
        }
        ctune_gbt_options options;
        options_small(&options, (ctune_gbt_objective)objective);
        ctune_forest *forest = train(&data, NULL, NULL, &options);
        assert_string_equal(forest->objective, objective == CTUNE_GBT_RANK ? "rank" : "regression");
        ctune_model model;
        ctune_forest_model(forest, &model);
        assert_true(pairs_right(&model) > 0.99);
        float fast[WIDTH] = {0, 1, 0.5f, 1, 7, 1}, slow[WIDTH] = {3, 2, 0.5f, 1, 7, 1};
        float failed[WIDTH] = {0, 1, 0.5f, 9, 7, 1}, score[3];
        ctune_forest_predict(forest, fast, 1, &score[0]);
        ctune_forest_predict(forest, slow, 1, &score[1]);
        ctune_forest_predict(forest, failed, 1, &score[2]);
        double apart = log2(row_time(slow) / row_time(fast));
        assert_true(apart > 1);
        assert_true(fabs(score[0] - score[1] - apart) < 0.35);
        assert_true(score[2] < score[1]);
        ctune_forest_destroy(forest);
        ctune_dataset_clear(&data);
    }
}

/* Splits that look at something else than feature 1 and the task. */
static int other_splits(const ctune_forest *forest) {
    int n = 0;
    for (int i = 0; i < forest->n_nodes; i++) {
        const ctune_forest_node *node = &forest->node[i];
        n += node->left >= 0 && node->feature != 1 && node->feature != 5;
    }
    return n;
}

/* Half of the truth is in the margins: what remains depends on feature 1 alone, so that no tree may
 * look at feature 0. With the margins of the wrong rows it would have to. */
static void test_margins_are_in_row_order(void **state) {
    (void)state;
    enum { N = 240 };
    ctune_rng rng;
    ctune_rng_init(&rng, 8);
    ctune_dataset data;
    ctune_dataset_init(&data, WIDTH);
    task_add(&data, &rng, N / 2);
    task_add(&data, &rng, N / 2);
    float margins[N];
    for (int i = 0; i < N; i++) {
        margins[i] = -part_a(data.features[i * WIDTH]) + (i < N / 2 ? 4 : -3);
    }
    ctune_gbt_options options;
    options_small(&options, CTUNE_GBT_REGRESSION);
    options.n_trees = 20; /* later ones fit rounding errors */
    ctune_forest *forest = train(&data, NULL, margins, &options);
    assert_int_equal(other_splits(forest), 0);
    float row[WIDTH] = {0}, score[6];
    for (int i = 0; i < 6; i++) {
        row[1] = (float)i;
        ctune_forest_predict(forest, row, 1, &score[i]);
        assert_true(fabsf((score[i] - score[0]) + (part_b((float)i) - part_b(0))) < 0.01f);
    }
    ctune_forest_destroy(forest);
    margins[0] += 8; /* the test can fail: one wrong margin, and it looks elsewhere */
    forest = train(&data, NULL, margins, &options);
    assert_true(other_splits(forest) > 0);
    ctune_forest_destroy(forest);
    /* rank: the same order, and its scores beside the margins */
    margins[0] -= 8;
    options.objective = CTUNE_GBT_RANK;
    forest = train(&data, NULL, margins, &options);
    for (int i = 0; i < 6; i++) {
        row[1] = (float)i;
        ctune_forest_predict(forest, row, 1, &score[i]);
        assert_true(fabsf((score[i] - score[0]) + (part_b((float)i) - part_b(0))) < 0.25f);
    }
    ctune_forest_destroy(forest);
    ctune_dataset_clear(&data);
}

/* Rows of a task in another order, margins with them: the same predictions. */
static void test_order_of_rows_does_not_matter(void **state) {
    (void)state;
    enum { N = 30 };
    for (int objective = 0; objective < CTUNE_N_GBT_OBJECTIVES; objective++) {
        ctune_ctx ctx = {0};
        ctune_rng rng;
        ctune_rng_init(&rng, 21);
        ctune_dataset data, other;
        ctune_dataset_init(&data, WIDTH);
        ctune_dataset_init(&other, WIDTH);
        task_add(&data, &rng, N);
        OK(ctune_dataset_add_task(&ctx, &other, "t", "k"));
        float margins[N], moved[N], a[N], b[N];
        for (int i = 0; i < N; i++) {
            margins[i] = -part_a(data.features[i * WIDTH]) * 0.5f + (float)(i % 3);
        }
        for (int i = 0; i < N; i++) {
            int from = (i * 7 + 3) % N;
            OK(ctune_dataset_add_row(&ctx, &other, data.features + from * WIDTH,
                                     data.time_ns[from]));
            moved[i] = margins[from];
        }
        ctune_gbt_options options;
        options_small(&options, (ctune_gbt_objective)objective);
        ctune_forest *one = train(&data, NULL, margins, &options);
        ctune_forest *two = train(&other, NULL, moved, &options);
        ctune_forest_predict(one, data.features, N, a);
        ctune_forest_predict(two, data.features, N, b);
        for (int i = 0; i < N; i++) {
            assert_true(fabsf(a[i] - b[i]) < 1e-3f);
        }
        ctune_forest_destroy(one);
        ctune_forest_destroy(two);
        ctune_dataset_clear(&data);
        ctune_dataset_clear(&other);
    }
}

/* Only the selected tasks are looked at: the others may hold anything. */
static void test_selection(void **state) {
    (void)state;
    ctune_rng rng;
    ctune_rng_init(&rng, 2);
    ctune_dataset data;
    ctune_dataset_init(&data, WIDTH);
    for (int t = 0; t < 4; t++) {
        task_add(&data, &rng, t == 2 ? 0 : 60);
    }
    ctune_gbt_options options;
    options_small(&options, CTUNE_GBT_RANK);
    const bool select[] = {true, false, true, true};
    ctune_forest *before = train(&data, select, NULL, &options);
    for (size_t i = 60; i < 120; i++) {
        data.time_ns[i] = (double)(i * i);
        data.features[i * WIDTH + 4] = (float)i;
    }
    ctune_forest *after = train(&data, select, NULL, &options);
    char *a = forest_text(before), *b = forest_text(after);
    assert_string_equal(a, b);
    free(a);
    free(b);
    ctune_forest_destroy(before);
    ctune_forest_destroy(after);
    ctune_ctx ctx = {0};
    ctune_forest *forest = NULL;
    const bool none[] = {false, false, true, false};
    assert_int_equal(ctune_gbt_train(&ctx, &data, none, NULL, &options, &forest), CTUNE_EUSAGE);
    assert_non_null(strstr(ctx.error, "no rows"));
    ctune_dataset_clear(&data);
}

/* Member k has not seen the kernels k, k + n, ...: what they hold does not change its trees, and it
 * changes those of the others. */
static void test_members_leave_kernels_out(void **state) {
    (void)state;
    ctune_rng rng;
    ctune_rng_init(&rng, 6);
    ctune_dataset data;
    ctune_dataset_init(&data, WIDTH);
    for (int t = 0; t < 4; t++) {
        task_add(&data, &rng, 60);
        snprintf(data.task[t].kernel, 2, "%c", 'a' + t / 2); /* two tasks each */
    }
    ctune_gbt_options options;
    options_small(&options, CTUNE_GBT_RANK);
    options.n_members = 2;
    ctune_forest *before = train(&data, NULL, NULL, &options);
    assert_int_equal(before->n_members, 2);
    for (size_t i = 0; i < 120; i++) { /* kernel a */
        data.time_ns[i] = (double)(1 + i * i);
    }
    ctune_forest *after = train(&data, NULL, NULL, &options);
    float a[4], b[4];
    int n_changed = 0;
    for (size_t i = 0; i < 240; i++) {
        ctune_forest_predict_members(before, data.features + i * WIDTH, 1, a);
        ctune_forest_predict_members(after, data.features + i * WIDTH, 1, b);
        float step = (b[0] - b[1]) - (a[0] - a[1]);
        n_changed += fabsf(step) > 1e-4f;
    }
    assert_true(n_changed > 100);
    int first = before->root[before->member_end[0]];
    assert_int_equal(before->member_end[0], after->member_end[0]);
    assert_int_equal(first, after->root[after->member_end[0]]);
    assert_memory_equal(before->node, after->node, (size_t)first * sizeof *before->node);
    ctune_forest_destroy(before);
    ctune_forest_destroy(after);
    ctune_dataset_clear(&data);
}

/* A weight of a task counts: the heavy one is fitted where two contradict each other. */
static void test_task_weights(void **state) {
    (void)state;
    for (int objective = 0; objective < CTUNE_N_GBT_OBJECTIVES; objective++) {
        for (int heavy = 0; heavy < 2; heavy++) {
            ctune_ctx ctx = {0};
            ctune_dataset data;
            ctune_dataset_init(&data, 1);
            for (int t = 0; t < 2; t++) {
                OK(ctune_dataset_add_task(&ctx, &data, "t", "k"));
                data.task[t].weight = t == heavy ? 20 : 1;
                for (int i = 0; i < 60; i++) {
                    float x = (float)(i % 2);
                    OK(ctune_dataset_add_row(&ctx, &data, &x, (i % 2 == t) ? 100 : 400));
                }
            }
            ctune_gbt_options options;
            options_small(&options, (ctune_gbt_objective)objective);
            ctune_forest *forest = train(&data, NULL, NULL, &options);
            float scores[2];
            ctune_forest_predict(forest, (float[]){0, 1}, 2, scores);
            assert_true((scores[0] > scores[1]) == (heavy == 0));
            ctune_forest_destroy(forest);
            ctune_dataset_clear(&data);
        }
    }
}

/* ---- rows that teach nothing --------------------------------------------------------------- */
static void test_nothing_to_learn(void **state) {
    (void)state;
    for (int objective = 0; objective < CTUNE_N_GBT_OBJECTIVES; objective++) {
        for (int kind = 0; kind < 3; kind++) { /* the same rows, the same times, only failures */
            ctune_ctx ctx = {0};
            ctune_rng rng;
            ctune_rng_init(&rng, 2);
            ctune_dataset data;
            ctune_dataset_init(&data, WIDTH);
            OK(ctune_dataset_add_task(&ctx, &data, "t", "k"));
            for (int i = 0; i < 40; i++) {
                float row[WIDTH] = {0};
                if (kind != 0) {
                    row_make(&rng, 0, row);
                }
                OK(ctune_dataset_add_row(&ctx, &data, row,
                                         kind == 0   ? 100 + i
                                         : kind == 1 ? 100
                                                     : INFINITY));
            }
            ctune_gbt_options options;
            options_small(&options, (ctune_gbt_objective)objective);
            ctune_forest *forest = train(&data, NULL, NULL, &options);
            float scores[40];
            ctune_forest_predict(forest, data.features, 40, scores);
            for (int i = 0; i < 40; i++) {
                assert_true(isfinite(scores[i]));
                assert_true(fabsf(scores[i] - scores[0]) < 1e-3f);
            }
            ctune_forest_destroy(forest);
            ctune_dataset_clear(&data);
        }
    }
}

/* ---- repeatability and threads ------------------------------------------------------------- */
static int threads_count(void) {
    DIR *folder = opendir("/proc/self/task");
    if (folder == NULL) {
        return 1;
    }
    int n = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        n += entry->d_name[0] != '.';
    }
    closedir(folder);
    return n;
}

static void test_determinism(void **state) {
    (void)state;
    ctune_rng rng;
    ctune_rng_init(&rng, 4);
    ctune_dataset data;
    ctune_dataset_init(&data, WIDTH);
    task_add(&data, &rng, 150);
    task_add(&data, &rng, 20);
    for (int objective = 0; objective < CTUNE_N_GBT_OBJECTIVES; objective++) {
        char *text[4];
        for (int i = 0; i < 4; i++) { /* one seed, one seed, another, both sampling options off */
            ctune_gbt_options options;
            options_small(&options, (ctune_gbt_objective)objective);
            options.subsample = i < 3 ? 0.7 : 1;
            options.colsample = i < 3 ? 0.7 : 1;
            options.seed = i == 2 ? 77 : 5;
            ctune_forest *forest = train(&data, NULL, NULL, &options);
            text[i] = forest_text(forest);
            ctune_forest_destroy(forest);
        }
        assert_string_equal(text[0], text[1]);
        assert_string_not_equal(text[0], text[2]);
        assert_string_not_equal(text[0], text[3]);
        for (int i = 0; i < 4; i++) {
            free(text[i]);
        }
    }
    ctune_dataset_clear(&data);
}

static void test_one_thread_stays_one(void **state) {
    (void)state;
    ctune_rng rng;
    ctune_rng_init(&rng, 4);
    ctune_dataset data;
    ctune_dataset_init(&data, WIDTH);
    task_add(&data, &rng, 3000);
    ctune_gbt_options options;
    options_small(&options, CTUNE_GBT_RANK);
    int before = threads_count();
    ctune_forest *forest = train(&data, NULL, NULL, &options);
    assert_int_equal(threads_count(), before);
    ctune_forest_destroy(forest);
    ctune_dataset_clear(&data);
}

/* ---- errors -------------------------------------------------------------------------------- */
static void test_wrong_options(void **state) {
    (void)state;
    ctune_rng rng;
    ctune_rng_init(&rng, 4);
    ctune_dataset data;
    ctune_dataset_init(&data, WIDTH);
    task_add(&data, &rng, 20);
    for (int i = 0; i < 14; i++) {
        ctune_gbt_options o;
        ctune_gbt_options_default(&o);
        switch (i) {
        case 0:
            o.n_trees = 0;
            break;
        case 1:
            o.max_depth = 0;
            break;
        case 2:
            o.max_depth = 40;
            break;
        case 3:
            o.eta = 0;
            break;
        case 4:
            o.eta = NAN;
            break;
        case 5:
            o.subsample = 0;
            break;
        case 6:
            o.colsample = 1.5;
            break;
        case 7:
            o.n_threads = 0;
            break;
        case 8:
            o.max_bin = 1;
            break;
        case 9:
            o.lambda = -1;
            break;
        case 10:
            o.gamma = NAN;
            break;
        case 11:
            o.n_members = 0;
            break;
        case 12:
            o.n_members = CTUNE_FOREST_MAX_MEMBERS + 1;
            break;
        default:
            o.objective = CTUNE_N_GBT_OBJECTIVES;
            break;
        }
        ctune_ctx ctx = {0};
        ctune_forest *forest = NULL;
        assert_int_equal(ctune_gbt_train(&ctx, &data, NULL, NULL, &o, &forest), CTUNE_EUSAGE);
        assert_null(forest);
    }
    ctune_dataset_clear(&data);
}

/* A data set that did not come through add_row. */
static void test_xgboosts_words(void **state) {
    (void)state;
    ctune_ctx ctx = {0};
    ctune_rng rng;
    ctune_rng_init(&rng, 4);
    ctune_dataset data;
    ctune_dataset_init(&data, WIDTH);
    task_add(&data, &rng, 20);
    data.features[2] = INFINITY;
    ctune_gbt_options options;
    options_small(&options, CTUNE_GBT_RANK);
    ctune_forest *forest = NULL;
    assert_int_equal(ctune_gbt_train(&ctx, &data, NULL, NULL, &options, &forest), CTUNE_EENV);
    assert_null(forest);
    assert_non_null(strstr(ctx.error, "XGBoost cannot take the rows: "));
    assert_non_null(strstr(ctx.error, "inf"));
    assert_null(strstr(ctx.error, "Stack"));
    assert_null(strchr(ctx.error, '['));
    ctune_dataset_clear(&data);
}

static void test_memory_faults(void **state) {
    (void)state;
    ctune_rng rng;
    ctune_rng_init(&rng, 4);
    ctune_dataset data;
    ctune_dataset_init(&data, WIDTH);
    task_add(&data, &rng, 20);
    ctune_gbt_options options;
    options_small(&options, CTUNE_GBT_REGRESSION);
    options.n_trees = 2;
    for (uint64_t n = 1;; n++) {
        ctune_ctx ctx = {.alloc_fail_at = n};
        ctune_forest *forest = NULL;
        ctune_status status = ctune_gbt_train(&ctx, &data, NULL, NULL, &options, &forest);
        if (status == CTUNE_OK) {
            assert_true(n > 20);
            ctune_forest_destroy(forest);
            break;
        }
        assert_int_equal(status, CTUNE_ENOMEM);
        assert_null(forest);
    }
    ctune_dataset_clear(&data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_thread_stays_one), /* first: nothing has used threads yet */
        cmocka_unit_test(test_evaluation_equals_xgboost),
        cmocka_unit_test(test_conversion_refuses_what_it_does_not_know),
        cmocka_unit_test(test_training_predictions),
        cmocka_unit_test(test_sign_and_scale),
        cmocka_unit_test(test_margins_are_in_row_order),
        cmocka_unit_test(test_order_of_rows_does_not_matter),
        cmocka_unit_test(test_selection),
        cmocka_unit_test(test_members_leave_kernels_out),
        cmocka_unit_test(test_task_weights),
        cmocka_unit_test(test_nothing_to_learn),
        cmocka_unit_test(test_determinism),
        cmocka_unit_test(test_wrong_options),
        cmocka_unit_test(test_xgboosts_words),
        cmocka_unit_test(test_memory_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
