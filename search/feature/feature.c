/*
 * Rows of features: the groups one after the other. The analysis of the estimate is made once and
 * looked at by all of them.
 */
#include "search/feature/encoding_private.h"
#include "search/feature/feature_private.h"

static const char *const group_names[] = {
#define X(id, name, help) name,
    CTUNE_FEATURE_GROUP_TABLE(X)
#undef X
};

static const feat_group *group_get(int group) {
    static const feat_group *const groups[CTUNE_N_FEATURE_GROUPS] = {
        [CTUNE_FEATURE_ESTIMATE] = &feat_estimate, [CTUNE_FEATURE_CONTEXT] = &feat_context,
        [CTUNE_FEATURE_RELATION] = &feat_relation, [CTUNE_FEATURE_KNOB] = &feat_knob,
        [CTUNE_FEATURE_STORE] = &feat_store,       [CTUNE_FEATURE_TARGET] = &feat_target,
    };
    return groups[group];
}

const char *ctune_feature_group_name(ctune_feature_group group) {
    return group_names[group];
}

int ctune_feature_count(unsigned groups) {
    int n = 0;
    for (int g = 0; g < CTUNE_N_FEATURE_GROUPS; g++) {
        n += groups >> g & 1 ? group_get(g)->n : 0;
    }
    return n;
}

/* Group of column i, and in *i the column within it; -1 when there is none. */
static int find_column(unsigned groups, int *i) {
    for (int g = 0; g < CTUNE_N_FEATURE_GROUPS; g++) {
        int n = groups >> g & 1 ? group_get(g)->n : 0;
        if (*i >= 0 && *i < n) {
            return g;
        }
        *i -= n;
    }
    return -1;
}

const char *ctune_feature_name(unsigned groups, int i) {
    int g = find_column(groups, &i);
    return g < 0 ? "" : group_get(g)->names[i];
}

ctune_feature_group ctune_feature_group_of(unsigned groups, int i) {
    int g = find_column(groups, &i);
    return g < 0 ? CTUNE_N_FEATURE_GROUPS : (ctune_feature_group)g;
}

void feat_make_finite(float *row, int n) {
    static const float most = 1e9f;
    for (int i = 0; i < n; i++) {
        float x = row[i];
        x = x > most ? most : x;
        row[i] = x >= -most ? x : x < -most ? -most : 0;
    }
}

void ctune_feature_get(const ctune_nest *nest, const ctune_target *target, unsigned groups,
                       float *row) {
    est_analysis analysis; /* large and not cleared */
    feat_state state;
    int n = ctune_feature_count(groups), at = 0;
    for (int i = 0; i < n; i++) {
        row[i] = 0;
    }
    est_analyse(&analysis, nest, target, &target->rates);
    if (!feat_state_init(&state, &analysis, nest, target)) {
        return;
    }
    for (int g = 0; g < CTUNE_N_FEATURE_GROUPS; g++) {
        if (groups >> g & 1) {
            group_get(g)->fill(&state, row + at);
            at += group_get(g)->n;
        }
    }
    feat_make_finite(row, n);
}

/* ---- one row a statement --------------------------------------------------------------------- */
int enc_stores_fill(const ctune_nest *nest, const ctune_target *target, unsigned groups,
                    int n_items, float *items) {
    est_analysis analysis;
    feat_state state;
    bool is_taken[CTUNE_MAX_STMTS] = {false};
    int width = ctune_feature_count(groups), n = 0;
    est_analyse(&analysis, nest, target, &target->rates);
    if (!feat_state_init(&state, &analysis, nest, target)) {
        return 0;
    }
    for (; n < n_items && n < analysis.n_paths; n++) {
        int next = -1, at = 0;
        for (int p = 0; p < analysis.n_paths; p++) {
            if (!is_taken[p] && (next < 0 || state.cost[p] > state.cost[next])) {
                next = p;
            }
        }
        is_taken[next] = true;
        feat_state_focus(&state, next);
        for (int g = 0; g < CTUNE_N_FEATURE_GROUPS; g++) {
            if (groups >> g & 1) {
                group_get(g)->fill(&state, items + (size_t)n * (size_t)width + at);
                at += group_get(g)->n;
            }
        }
    }
    return n;
}
