/*
 * Nest: building it from a form, looking things up, estimates of trip counts, dump and verify.
 *
 * Everything is array work on node indices; the primitives that change a nest are in ops.c.
 */
#include "search/schedule/nest.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/schedule/nest_ops.h"
#include "search/schedule/program.h"

static int add_node(ctune_nest *nest, ctune_nnode_kind kind, int parent, int *last) {
    if (nest->n_nodes == CTUNE_NEST_NODES) {
        return -1; /* ctune_program_form refuses trees that are so large */
    }
    int index = nest->n_nodes++;
    ctune_nnode *node = &nest->node[index];
    memset(node, 0, sizeof *node);
    node->kind = kind;
    node->parent = (int16_t)parent;
    node->first = node->next = node->dim = node->stmt = node->outer = -1;
    node->sum = node->placed = -1;
    node->step = 1;
    if (parent >= 0 && *last < 0) {
        nest->node[parent].first = (int16_t)index;
    } else if (parent >= 0) {
        nest->node[*last].next = (int16_t)index;
    }
    *last = index;
    return index;
}

/* Children of a tree node under `parent`; sequences inside are flattened. */
static void add_kids(ctune_nest *nest, const ctune_tnode *tnode, int parent, int *last) {
    for (int k = 0; k < tnode->n_kids; k++) {
        const ctune_tnode *kid = tnode->kids[k];
        if (kid->kind == CTUNE_TNODE_SEQ) {
            add_kids(nest, kid, parent, last);
            continue;
        }
        bool is_loop = kid->kind == CTUNE_TNODE_LOOP;
        int index = add_node(nest, is_loop ? CTUNE_NN_LOOP : CTUNE_NN_STMT, parent, last);
        if (index < 0) {
            return;
        }
        ctune_nnode *node = &nest->node[index];
        if (is_loop) {
            int kid_last = -1;
            node->dim = (int16_t)kid->dim;
            memcpy(node->name, nest->form->tree->dims[kid->dim].name, CTUNE_NAME_BYTES);
            add_kids(nest, kid, index, &kid_last);
        } else {
            node->stmt = (int16_t)kid->stmt;
        }
    }
}

void ctune_nest_init(ctune_nest *nest, const ctune_region *region, const ctune_form *form) {
    int last = -1, root_last = -1;
    nest->region = region;
    nest->form = form;
    nest->n_nodes = 0;
    nest->n_caches = 0;
    nest->n_sums = 0;
    nest->n_skews = 0;
    add_node(nest, CTUNE_NN_SEQ, -1, &root_last);
    add_kids(nest, form->tree->root, 0, &last);
}

int ctune_nest_find(const ctune_nest *nest, const char *name) {
    for (int i = 1; i < nest->n_nodes; i++) {
        if (nest->node[i].kind == CTUNE_NN_LOOP && strcmp(nest->node[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

int ctune_nest_find_stmt(const ctune_nest *nest, int stmt) {
    for (int i = 1; i < nest->n_nodes; i++) {
        if (nest->node[i].kind == CTUNE_NN_STMT && nest->node[i].stmt == stmt) {
            return i;
        }
    }
    return -1;
}

bool ctune_nest_is_ancestor(const ctune_nest *nest, int ancestor, int node) {
    while (node >= 0 && node != ancestor) {
        node = nest->node[node].parent;
    }
    return node == ancestor;
}

/* Bounds of a dim in one statement's constraints: those in which it is alone. */
bool ctune_stmt_const_range(const ctune_stmt *stmt, int dim, int64_t *lo, int64_t *hi) {
    bool has_lo = false, has_hi = false;
    for (int c = 0; c < stmt->n_cons; c++) {
        const ctune_aff *aff = stmt->cons[c];
        if (aff->n_terms != 1 || aff->terms[0].kind != CTUNE_TERM_AXIS || aff->terms[0].id != dim) {
            continue;
        }
        if (aff->terms[0].coef == 1 && (!has_lo || -aff->c0 > *lo)) {
            has_lo = true;
            *lo = -aff->c0;
        } else if (aff->terms[0].coef == -1 && (!has_hi || aff->c0 < *hi)) {
            has_hi = true;
            *hi = aff->c0;
        }
    }
    return has_lo && has_hi;
}

int64_t ctune_tree_const_extent(const ctune_tree *tree, int dim) {
    int64_t extent = 0;
    for (int s = 0; s < tree->n_stmts; s++) {
        const ctune_stmt *stmt = &tree->stmts[s];
        bool is_inside = false;
        for (int d = 0; d < stmt->n_dims; d++) {
            is_inside = is_inside || stmt->dims[d] == dim;
        }
        int64_t lo = 0, hi = 0;
        if (!is_inside) {
            continue;
        }
        if (!ctune_stmt_const_range(stmt, dim, &lo, &hi) || hi < lo) {
            return 0;
        }
        extent = hi - lo + 1 > extent ? hi - lo + 1 : extent;
    }
    return extent;
}

int64_t ctune_nest_trip(const ctune_nest *nest, int node) {
    const ctune_nnode *loop = &nest->node[node];
    if (loop->sum >= 0 && loop->outer < 0) {
        return 0;
    }
    int64_t range = loop->outer >= 0 ? nest->node[loop->outer].step
                                     : ctune_tree_const_extent(nest->form->tree, loop->dim);
    return range == 0 ? 0 : (range + loop->step - 1) / loop->step;
}

/* Does a loop over dim stand around or inside the node? */
static bool is_with_dim(const ctune_nest *nest, int node, int dim) {
    for (int i = 1; i < nest->n_nodes; i++) {
        if (nest->node[i].kind == CTUNE_NN_LOOP && nest->node[i].dim == dim &&
            nest->node[i].sum < 0 &&
            (ctune_nest_is_ancestor(nest, i, node) || ctune_nest_is_ancestor(nest, node, i))) {
            return true;
        }
    }
    return false;
}

/* Iterations of the node's dim that one tile of a sum holds: it cuts the longest of its dims. */
static double cut_by_sum(const ctune_nest *nest, int tile, int node) {
    const ctune_sum *sum = ctune_nest_sum(nest, tile);
    const ctune_dim *dims = nest->form->tree->dims;
    int dim = nest->node[node].dim;
    double cut = HUGE_VAL;
    for (int t = 0; sum != NULL && t < sum->n; t++) {
        const ctune_sum_term *term = &sum->term[t];
        if (term->kind != CTUNE_SUM_DIM) {
            continue;
        }
        if (term->of == dim) {
            cut = fmax(1, (double)nest->node[tile].step / abs(term->coef));
        } else if (is_with_dim(nest, node, term->of) &&
                   (dims[term->of].extent > dims[dim].extent ||
                    (cut == HUGE_VAL && dims[term->of].extent >= dims[dim].extent))) {
            return HUGE_VAL;
        }
    }
    return cut;
}

/* Mean number of iterations of its dim that one entry of a loop covers. */
static double mean_range(const ctune_nest *nest, int node) {
    const ctune_nnode *loop = &nest->node[node];
    if (loop->outer < 0) {
        double range = nest->form->tree->dims[loop->dim].extent;
        for (int up = loop->parent; up > 0 && loop->sum < 0; up = nest->node[up].parent) {
            range = fmin(range, cut_by_sum(nest, up, node));
        }
        return range;
    }
    return mean_range(nest, loop->outer) / ctune_nest_extent(nest, loop->outer);
}

double ctune_nest_extent(const ctune_nest *nest, int node) {
    const ctune_nnode *loop = &nest->node[node];
    double trips;
    if (loop->kind != CTUNE_NN_LOOP) {
        return 1;
    }
    bool is_padded = loop->ann == CTUNE_ANN_UNROLL || loop->ann == CTUNE_ANN_VECTOR;
    if (is_padded && loop->outer >= 0) {
        trips = (double)nest->node[loop->outer].step / (double)loop->step;
    } else if (loop->step == 1) {
        trips = mean_range(nest, node);
    } else {
        trips = ceil(mean_range(nest, node) / (double)loop->step);
    }
    return trips < 1 ? 1 : trips;
}

/* ---- dump ---- */

const char *ctune_ann_name(ctune_ann ann) {
    static const char *const names[] = {
#define X(id, name) name,
        CTUNE_ANN_TABLE(X)
#undef X
    };
    return names[ann];
}

static const char *stmt_name(const ctune_nest *nest, int stmt) {
    return ctune_stmt_name(nest->region, nest->form->tree, stmt);
}

static void print_caches(const ctune_nest *nest, int at, ctune_text *out) {
    for (int c = 0; c < nest->n_caches; c++) {
        const ctune_cache *cache = &nest->cache[c];
        if (cache->at != at) {
            continue;
        }
        if (cache->kind == CTUNE_CACHE_REGISTER) {
            ctune_text_line(out, "register %s", stmt_name(nest, cache->stmt));
        } else {
            ctune_text_line(out, "%s %s.%d", cache->kind == CTUNE_CACHE_PACK ? "pack" : "shared",
                            stmt_name(nest, cache->stmt), cache->read);
        }
    }
}

static const char *term_name(const ctune_nest *nest, const ctune_sum_term *term) {
    switch ((ctune_sum_kind)term->kind) {
    case CTUNE_SUM_DIM:
        return nest->form->tree->dims[term->of].name;
    case CTUNE_SUM_STMT:
        return ctune_stmt_name(nest->region, nest->form->tree, term->of);
    default:
        return nest->node[term->of].name;
    }
}

static void print_sum(const ctune_nest *nest, int index, ctune_text *out) {
    const ctune_sum *sum = ctune_nest_sum(nest, index);
    ctune_text_append(out, ctune_sum_is_wave(sum) ? " wave " : " over ");
    for (int t = 0; t < sum->n; t++) {
        const ctune_sum_term *term = &sum->term[t];
        ctune_text_append(out, term->coef < 0 ? "-" : t > 0 ? "+" : "");
        if (abs(term->coef) != 1) {
            ctune_text_printf(out, "%d*", abs(term->coef));
        }
        ctune_text_append(out, term_name(nest, term));
    }
}

static void print_loop(const ctune_nest *nest, int index, ctune_text *out) {
    const ctune_nnode *node = &nest->node[index];
    ctune_text text;
    ctune_text_init(&text);
    if (node->sum >= 0) {
        print_sum(nest, index, &text);
    }
    if (node->step != 1) {
        ctune_text_printf(&text, " step %" PRId64, node->step);
    }
    ctune_text_line(out, "%s%s x%.0f%s%s", node->name, ctune_text_get(&text),
                    ctune_nest_extent(nest, index), node->ann != CTUNE_ANN_SERIAL ? " " : "",
                    ctune_ann_name(node->ann));
    ctune_text_clear(&text);
}

static void print_node(const ctune_nest *nest, int index, ctune_text *out) {
    const ctune_nnode *node = &nest->node[index];
    if (node->kind == CTUNE_NN_STMT) {
        ctune_text_line(out, "%s%s", stmt_name(nest, node->stmt),
                        node->is_streamed ? " stream" : "");
        return;
    }
    if (node->kind == CTUNE_NN_SEQ) {
        ctune_text_line(out, "nest");
    } else {
        print_loop(nest, index, out);
    }
    out->indent++;
    print_caches(nest, index, out);
    for (int kid = node->first; kid >= 0; kid = nest->node[kid].next) {
        print_node(nest, kid, out);
    }
    out->indent--;
}

void ctune_nest_print(const ctune_nest *nest, ctune_text *out) {
    for (int i = 0; i < nest->n_skews; i++) {
        ctune_text_line(out, "skew %s %d", nest->region->tensors[nest->skew[i].tensor].name,
                        nest->skew[i].by);
    }
    print_node(nest, 0, out);
}

/* ---- verify ---- */

/* Next inner levels of a loop stand in parts of its body (fission), not in each other. */
static bool has_levels_inside(const ctune_nest *nest, int index) {
    for (int i = 1; i < nest->n_nodes; i++) {
        for (int k = 1; k < nest->n_nodes && nest->node[i].outer == index; k++) {
            if (k != i && nest->node[k].outer == index && ctune_nest_is_ancestor(nest, i, k)) {
                return true;
            }
        }
    }
    return false;
}

static const char *verify_loop(const ctune_nest *nest, int index) {
    const ctune_nnode *node = &nest->node[index];
    int n_inner = 0;
    if (node->dim < 0 || node->dim >= nest->form->tree->n_dims || node->step < 1) {
        return "bad dim or step";
    }
    if (node->outer >= 0 &&
        (!ctune_nest_is_ancestor(nest, node->outer, node->parent) ||
         nest->node[node->outer].dim != node->dim || nest->node[node->outer].sum != node->sum ||
         nest->node[node->outer].step <= node->step)) {
        return "outer level is not around its inner level";
    }
    for (int i = 1; i < nest->n_nodes; i++) {
        const ctune_nnode *other = &nest->node[i];
        if (other->kind != CTUNE_NN_LOOP || i == index) {
            continue;
        }
        n_inner += other->outer == index;
        if (strcmp(other->name, node->name) == 0) {
            return "two loops of one name";
        }
    }
    if (node->sum >= 0) {
        return ctune_nest_verify_sum(nest, index);
    }
    if ((n_inner == 0) != (node->step == 1)) {
        return "innermost level must have step 1";
    }
    return n_inner > 1 && has_levels_inside(nest, index) ? "two inner levels, one in the other"
                                                         : NULL;
}

static const char *verify_stmt(const ctune_nest *nest, int index, bool *seen) {
    int stmt = nest->node[index].stmt;
    if (stmt < 0 || stmt >= nest->form->tree->n_stmts || seen[stmt]) {
        return "bad statement";
    }
    seen[stmt] = true;
    uint64_t have[2] = {0, 0}, want[2] = {0, 0};
    for (int up = nest->node[index].parent; up > 0 && up != nest->node[index].placed;
         up = nest->node[up].parent) {
        int dim = nest->node[up].dim;
        if (nest->node[up].sum < 0) {
            have[dim / 64] |= (uint64_t)1 << (dim % 64);
        }
    }
    for (int d = 0; d < nest->form->tree->stmts[stmt].n_dims; d++) {
        int dim = nest->form->tree->stmts[stmt].dims[d];
        want[dim / 64] |= (uint64_t)1 << (dim % 64);
    }
    if (have[0] != want[0] || have[1] != want[1]) {
        return "statement outside its loops";
    }
    return nest->node[index].placed >= 0 ? ctune_nest_verify_placed(nest, index) : NULL;
}

static const char *verify_links(const ctune_nest *nest, int index, int *n_seen) {
    const ctune_nnode *node = &nest->node[index];
    if (++*n_seen > nest->n_nodes) {
        return "links form a cycle";
    }
    for (int kid = node->first; kid >= 0; kid = nest->node[kid].next) {
        if (kid >= nest->n_nodes || nest->node[kid].parent != index) {
            return "bad link";
        }
        const char *wrong = verify_links(nest, kid, n_seen);
        if (wrong != NULL) {
            return wrong;
        }
    }
    return NULL;
}

ctune_status ctune_nest_verify(ctune_ctx *ctx, const ctune_nest *nest) {
    bool seen[CTUNE_MAX_STMTS] = {false};
    int n_seen = 0, n_stmts = 0;
    const char *wrong = verify_links(nest, 0, &n_seen);
    if (wrong == NULL && n_seen != nest->n_nodes) {
        wrong = "nodes that are not linked";
    }
    for (int i = 1; i < nest->n_nodes && wrong == NULL; i++) {
        bool is_loop = nest->node[i].kind == CTUNE_NN_LOOP;
        n_stmts += !is_loop;
        wrong = is_loop ? verify_loop(nest, i) : verify_stmt(nest, i, seen);
    }
    if (wrong == NULL && n_stmts != nest->form->tree->n_stmts) {
        wrong = "a statement is missing";
    }
    for (int c = 0; c < nest->n_caches && wrong == NULL; c++) {
        int node = ctune_nest_find_stmt(nest, nest->cache[c].stmt);
        if (node < 0 || !ctune_nest_is_ancestor(nest, nest->cache[c].at, node)) {
            wrong = "cache is not around its statement";
        }
    }
    return wrong == NULL ? CTUNE_OK : ctune_fail(ctx, CTUNE_EBUG, "nest: %s", wrong);
}
