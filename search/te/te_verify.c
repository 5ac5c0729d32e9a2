/*
 * Are the invariants of te.h whole? Run after each stage that makes or changes a region, and on
 * parsed text.
 *
 * In: a finished region. Out: OK, or EBUG with the first broken invariant in words. Everything that
 * later code indexes by is checked here, so that later code need not.
 */
#include "search/te/te_private.h"

#include <string.h>

typedef struct verifier {
    ctune_ctx *ctx;
    const ctune_region *region;
    bool *axis_open;  /* [n_axes] enclosing loops while walking */
    bool *axis_seen;  /* [n_axes] */
    bool *stage_seen; /* [n_stages] */
    int n_open;
    int open[CTUNE_MAX_DEPTH];
    int n_cons; /* of the open LOOPs and IFs */
    int next_read;
    const ctune_stage *stage; /* while its expressions are checked */
} verifier;

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            return ctune_fail(v->ctx, CTUNE_EBUG, "te: " __VA_ARGS__);                             \
        }                                                                                          \
    } while (0)

#define TRY(call)                                                                                  \
    do {                                                                                           \
        ctune_status try_status = (call);                                                          \
        if (try_status != CTUNE_OK) {                                                              \
            return try_status;                                                                     \
        }                                                                                          \
    } while (0)

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_identifier(const char *name) {
    if (name == NULL || name[0] == '\0' || (name[0] >= '0' && name[0] <= '9')) {
        return false;
    }
    for (const char *p = name; *p != '\0'; p++) {
        bool ok = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                  (*p >= '0' && *p <= '9') || *p == '_' || *p == '$' || (*p == '.' && p != name);
        if (!ok) {
            return false;
        }
    }
    return true;
}

typedef const char *name_at(const ctune_region *region, int i);
static const char *param_at(const ctune_region *r, int i) {
    return r->params[i].name;
}
static const char *axis_at(const ctune_region *r, int i) {
    return r->axes[i].name;
}
static const char *tensor_at(const ctune_region *r, int i) {
    return r->tensors[i].name;
}
static const char *stage_at(const ctune_region *r, int i) {
    return r->stages[i].name;
}

static ctune_status verify_names(verifier *v, const char *what, name_at *at, int n) {
    for (int i = 0; i < n; i++) {
        CHECK(is_identifier(at(v->region, i)), "%s %d has no proper name", what, i);
        for (int j = 0; j < i; j++) {
            CHECK(strcmp(at(v->region, i), at(v->region, j)) != 0, "two %ss are called %s", what,
                  at(v->region, i));
        }
    }
    return CTUNE_OK;
}

static ctune_status verify_all_names(verifier *v) {
    const ctune_region *r = v->region;
    CHECK(is_identifier(r->name), "the region has no proper name");
    TRY(verify_names(v, "parameter", param_at, r->n_params));
    TRY(verify_names(v, "axis", axis_at, r->n_axes));
    TRY(verify_names(v, "tensor", tensor_at, r->n_tensors));
    TRY(verify_names(v, "stage", stage_at, r->n_stages));
    for (int i = 0; i < r->n_axes; i++) {
        for (int j = 0; j < r->n_params; j++) {
            CHECK(strcmp(r->axes[i].name, r->params[j].name) != 0,
                  "an axis and a parameter are called %s", r->axes[i].name);
        }
    }
    return CTUNE_OK;
}

/* ---- affine forms ---------------------------------------------------------------------------- */

/* n_divs: divs that may be used; has_axes: open axes may be used, else none */
static ctune_status verify_aff(verifier *v, const ctune_aff *aff, int n_divs, bool has_axes,
                               const char *where) {
    const ctune_region *r = v->region;
    CHECK(aff != NULL, "missing affine form in %s", where);
    CHECK(aff->n_terms >= 0 && (aff->n_terms == 0 || aff->terms != NULL), "broken form in %s",
          where);
    for (int i = 0; i < aff->n_terms; i++) {
        const ctune_term *t = &aff->terms[i];
        int limit = t->kind == CTUNE_TERM_AXIS    ? r->n_axes
                    : t->kind == CTUNE_TERM_PARAM ? r->n_params
                    : t->kind == CTUNE_TERM_DIV   ? n_divs
                                                  : 0;
        CHECK(t->id >= 0 && t->id < limit, "form in %s names something that does not exist", where);
        CHECK(t->coef != 0, "zero coefficient in %s", where);
        if (i > 0) {
            const ctune_term *before = &aff->terms[i - 1];
            CHECK(before->kind < t->kind || (before->kind == t->kind && before->id < t->id),
                  "terms out of order in %s", where);
        }
        if (t->kind == CTUNE_TERM_AXIS) {
            CHECK(has_axes && v->axis_open[t->id], "axis %s used outside its loop in %s",
                  r->axes[t->id].name, where);
        } else if (t->kind == CTUNE_TERM_DIV) {
            const ctune_aff *const *forms;
            int n = ctune_div_forms(&r->divs[t->id], &forms);
            CHECK(r->divs[t->id].load == NULL || has_axes, "an element of a tensor in %s", where);
            for (int k = 0; k < n; k++) {
                TRY(verify_aff(v, forms[k], t->id, has_axes, where));
            }
        }
    }
    return CTUNE_OK;
}

static ctune_status verify_load(verifier *v, int id) {
    const ctune_region *r = v->region;
    const ctune_access *load = r->divs[id].load;
    CHECK(r->divs[id].num == NULL && r->divs[id].den == 0, "div %d is a load and a division", id);
    CHECK(load->tensor >= 0 && load->tensor < r->n_tensors, "div %d reads an unknown tensor", id);
    const ctune_tensor *t = &r->tensors[load->tensor];
    CHECK(!t->is_temp && !t->is_written, "div %d reads %s, which the region writes", id, t->name);
    CHECK(!ctune_type_is_float(t->type), "div %d reads %s, which holds no integers", id, t->name);
    CHECK(load->n_idx == t->rank && t->rank > 0, "div %d indexes %s with %d of %d dimensions", id,
          t->name, load->n_idx, t->rank);
    for (int k = 0; k < load->n_idx; k++) {
        TRY(verify_aff(v, load->idx[k], id, true, "the index of a load"));
    }
    return CTUNE_OK;
}

static ctune_status verify_divs(verifier *v) {
    for (int i = 0; i < v->region->n_axes; i++) {
        v->axis_open[i] = true; /* uses are checked where the div is used */
    }
    for (int i = 0; i < v->region->n_divs; i++) {
        if (v->region->divs[i].load != NULL) {
            TRY(verify_load(v, i));
            continue;
        }
        CHECK(v->region->divs[i].den > 0, "div %d has a denominator below 1", i);
        TRY(verify_aff(v, v->region->divs[i].num, i, true, "a div"));
    }
    memset(v->axis_open, 0, (size_t)v->region->n_axes * sizeof *v->axis_open);
    return CTUNE_OK;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static bool is_type(ctune_type type) {
    return (unsigned)type < CTUNE_N_TYPES;
}
static bool is_int(ctune_type type) {
    return is_type(type) && type < CTUNE_F16;
}

static ctune_status verify_tables(verifier *v) {
    const ctune_region *r = v->region;
    CHECK(r->n_params >= 0 && r->n_tensors >= 0 && r->n_axes >= 0 && r->n_divs >= 0 &&
              r->n_stages >= 0 && r->n_assumes >= 0,
          "negative count");
    for (int i = 0; i < r->n_params; i++) {
        const ctune_param *p = &r->params[i];
        CHECK(is_int(p->type), "parameter %s is no integer", p->name);
        CHECK(p->n_sizes >= 1 && p->n_sizes <= CTUNE_MAX_SIZES, "parameter %s has no sizes",
              p->name);
    }
    for (int i = 0; i < r->n_axes; i++) {
        CHECK(is_int(r->axes[i].type) && r->axes[i].step != 0, "axis %s is broken",
              r->axes[i].name);
    }
    for (int i = 0; i < r->n_tensors; i++) {
        const ctune_tensor *t = &r->tensors[i];
        CHECK(is_type(t->type) && t->rank >= 0 && t->rank <= CTUNE_MAX_RANK,
              "tensor %s has a broken shape", t->name);
        CHECK(t->elem_stride_bytes >= ctune_type_get(t->type)->bytes,
              "elements of tensor %s overlap", t->name);
        for (int d = 0; d < t->rank; d++) {
            if (t->extent[d] != NULL || !(d == 0 || t->is_temp)) {
                TRY(verify_aff(v, t->extent[d], r->n_divs, false, "an extent"));
            }
        }
        CHECK(t->is_temp || (t->pattern != NULL && t->base != NULL),
              "tensor %s has no source pattern or base", t->name);
        CHECK(t->live_out_text == NULL || t->is_temp, "tensor %s is live out and no temporary",
              t->name);
    }
    for (int i = 0; i < r->n_assumes; i++) {
        TRY(verify_aff(v, r->assumes[i].aff, r->n_divs, false, "an assumption"));
    }
    return CTUNE_OK;
}

/* ---- expressions ----------------------------------------------------------------------------- */

static ctune_status verify_access(verifier *v, const ctune_access *access) {
    const ctune_region *r = v->region;
    CHECK(access->tensor >= 0 && access->tensor < r->n_tensors, "%s uses an unknown tensor",
          v->stage->name);
    const ctune_tensor *t = &r->tensors[access->tensor];
    CHECK(access->n_idx == t->rank, "%s indexes %s with %d of %d dimensions", v->stage->name,
          t->name, access->n_idx, t->rank);
    for (int i = 0; i < access->n_idx; i++) {
        TRY(verify_aff(v, access->idx[i], r->n_divs, true, "an index"));
    }
    return CTUNE_OK;
}

/* C computes in int or wider, or in a floating-point type: promotions are CASTs of their own. */
static bool is_computed_type(ctune_type type) {
    return is_type(type) && type >= CTUNE_I32;
}

static ctune_status verify_operator(verifier *v, const ctune_expr *e) {
    const char *token = ctune_op_get(e->op)->token, *name = v->stage->name;
    ctune_type left = e->n_kids > 0 ? e->kids[0]->type : e->type;
    ctune_type right = e->n_kids > 1 ? e->kids[1]->type : left;
    switch (e->op) {
    case CTUNE_OP_ADD:
    case CTUNE_OP_SUB:
    case CTUNE_OP_MUL:
    case CTUNE_OP_DIV:
    case CTUNE_OP_NEG:
        CHECK(is_computed_type(e->type) && left == e->type && right == e->type,
              "%s: operands of %s are not converted", name, token);
        break;
    case CTUNE_OP_MOD:
    case CTUNE_OP_BAND:
    case CTUNE_OP_BOR:
    case CTUNE_OP_BXOR:
    case CTUNE_OP_BNOT:
        CHECK(is_computed_type(e->type) && is_int(e->type) && left == e->type && right == e->type,
              "%s: operands of %s are not converted integers", name, token);
        break;
    case CTUNE_OP_SHL:
    case CTUNE_OP_SHR:
        CHECK(is_computed_type(e->type) && is_int(e->type) && left == e->type && is_int(right),
              "%s: operands of %s are not converted integers", name, token);
        break;
    case CTUNE_OP_LT:
    case CTUNE_OP_LE:
    case CTUNE_OP_GT:
    case CTUNE_OP_GE:
    case CTUNE_OP_EQ:
    case CTUNE_OP_NE:
        CHECK(e->type == CTUNE_I32 && is_computed_type(left) && left == right,
              "%s: operands of %s are not converted", name, token);
        break;
    case CTUNE_OP_LAND:
    case CTUNE_OP_LOR:
    case CTUNE_OP_LNOT:
        CHECK(e->type == CTUNE_I32, "%s: %s does not yield i32", name, token);
        break;
    case CTUNE_OP_SELECT:
        CHECK(right == e->type && e->kids[2]->type == e->type, "%s: arms of select differ in type",
              name);
        break;
    case CTUNE_OP_MIN:
    case CTUNE_OP_MAX:
        CHECK(left == e->type && right == e->type, "%s: operands of %s differ in type", name,
              token);
        break;
    default:
        break;
    }
    return CTUNE_OK;
}

static ctune_status verify_expr(verifier *v, const ctune_expr *e) {
    const char *name = v->stage->name;
    CHECK(e != NULL, "%s has a missing operand", name);
    CHECK((unsigned)e->op < CTUNE_N_OPS && is_type(e->type), "%s has a broken expression", name);
    int arity = ctune_op_get(e->op)->arity;
    CHECK(arity < 0 || e->n_kids == arity, "%s: %s has %d operands", name,
          ctune_op_get(e->op)->token, e->n_kids);
    CHECK(e->n_kids >= 0 && (e->n_kids == 0 || e->kids != NULL), "%s has a broken expression",
          name);
    if (e->op == CTUNE_OP_READ) {
        int id = v->next_read++;
        CHECK(e->read_id == id && id < v->stage->n_reads && v->stage->reads[id] == e,
              "%s: read %d is not where it should be", name, id);
        TRY(verify_access(v, &e->access));
        CHECK(e->type == v->region->tensors[e->access.tensor].type, "%s: read %d has another type",
              name, id);
    } else if (e->op == CTUNE_OP_AFF) {
        CHECK(is_int(e->type), "%s: an iterator's value is no integer", name);
        TRY(verify_aff(v, e->aff, v->region->n_divs, true, "an expression"));
    } else if (e->op == CTUNE_OP_CALL) {
        ctune_type type;
        int n = e->text == NULL ? 0 : ctune_math_find(e->text, &type);
        CHECK(n > 0 && n == e->n_kids && type == e->type, "%s: call of an unknown function %s",
              name, e->text != NULL ? e->text : "?");
    }
    for (int i = 0; i < e->n_kids; i++) {
        TRY(verify_expr(v, e->kids[i]));
        if (e->op == CTUNE_OP_CALL) {
            CHECK(e->kids[i]->type == e->type, "%s: arguments of %s are not converted", name,
                  e->text);
        }
    }
    return verify_operator(v, e);
}

/* ---- stages and order ------------------------------------------------------------------------ */

static bool is_int_update(ctune_update u) {
    return u == CTUNE_UPDATE_BAND || u == CTUNE_UPDATE_BOR || u == CTUNE_UPDATE_BXOR;
}

static ctune_status verify_stage(verifier *v, int id) {
    const ctune_region *r = v->region;
    CHECK(id >= 0 && id < r->n_stages, "the order names an unknown stage");
    const ctune_stage *s = v->stage = &r->stages[id];
    CHECK(!v->stage_seen[id], "stage %s stands twice in the order", s->name);
    v->stage_seen[id] = true;
    CHECK(s->n_axes == v->n_open && s->n_cons == v->n_cons, "%s is not finished", s->name);
    for (int d = 0; d < s->n_axes; d++) {
        CHECK(s->axes[d] == v->open[d], "%s is not finished", s->name);
    }
    CHECK((unsigned)s->update < CTUNE_N_UPDATES && is_type(s->calc), "%s has a broken update",
          s->name);
    TRY(verify_access(v, &s->target));
    const ctune_tensor *t = &r->tensors[s->target.tensor];
    CHECK(s->update != CTUNE_UPDATE_SET || s->calc == t->type, "%s computes a plain store as %s",
          s->name, ctune_type_get(s->calc)->name);
    CHECK(s->update == CTUNE_UPDATE_SET || is_computed_type(s->calc) ||
              s->update >= CTUNE_UPDATE_MIN,
          "%s updates in %s, which C never does", s->name, ctune_type_get(s->calc)->name);
    CHECK(!is_int_update(s->update) || is_int(s->calc), "%s: %s of floating point", s->name,
          ctune_update_get(s->update)->token);
    CHECK(t->is_written && (s->update == CTUNE_UPDATE_SET || t->is_read), "%s is not finished",
          t->name);
    v->next_read = 0;
    TRY(verify_expr(v, s->rhs));
    if (s->guard != NULL) {
        TRY(verify_expr(v, s->guard));
    }
    CHECK(v->next_read == s->n_reads, "%s: %d reads of %d found", s->name, v->next_read,
          s->n_reads);
    return CTUNE_OK;
}

/* Both ends bounded? An axis inside a div counts for both: eval and isl decide. */
static ctune_status verify_bounds(verifier *v, const ctune_node *node) {
    bool has_lower = false, has_upper = false;
    for (int i = 0; i < node->n_cons; i++) {
        int64_t coef = ctune_aff_coef(node->cons[i], CTUNE_TERM_AXIS, node->axis);
        has_lower |= coef > 0;
        has_upper |= coef < 0;
    }
    CHECK(has_lower && has_upper, "loop %s has no bounds", v->region->axes[node->axis].name);
    return CTUNE_OK;
}

static ctune_status verify_node(verifier *v, const ctune_node *node) {
    CHECK(node != NULL, "the order has a missing node");
    CHECK((unsigned)node->kind <= CTUNE_NODE_STAGE, "the order has a broken node");
    if (node->kind == CTUNE_NODE_STAGE) {
        return verify_stage(v, node->stage);
    }
    bool is_loop = node->kind == CTUNE_NODE_LOOP;
    CHECK(node->kind != CTUNE_NODE_SEQ || node->n_cons == 0, "a sequence has conditions");
    if (is_loop) {
        CHECK(node->axis >= 0 && node->axis < v->region->n_axes, "a loop has no axis");
        CHECK(!v->axis_seen[node->axis], "two loops run axis %s", v->region->axes[node->axis].name);
        CHECK(v->n_open < CTUNE_MAX_DEPTH, "loops are too deep");
        v->axis_seen[node->axis] = v->axis_open[node->axis] = true;
        v->open[v->n_open++] = node->axis;
    }
    for (int i = 0; i < node->n_cons; i++) {
        TRY(verify_aff(v, node->cons[i], v->region->n_divs, true, "a bound or condition"));
    }
    if (is_loop) {
        TRY(verify_bounds(v, node));
    }
    v->n_cons += node->n_cons;
    for (int i = 0; i < node->n_kids; i++) {
        TRY(verify_node(v, node->kids[i]));
    }
    v->n_cons -= node->n_cons;
    if (is_loop) {
        v->axis_open[node->axis] = false;
        v->n_open--;
    }
    return CTUNE_OK;
}

static ctune_status verify_region(verifier *v) {
    const ctune_region *r = v->region;
    CHECK(r->root != NULL && r->root->kind == CTUNE_NODE_SEQ, "the order is no sequence");
    TRY(verify_all_names(v));
    TRY(verify_divs(v));
    TRY(verify_tables(v));
    TRY(verify_node(v, r->root));
    for (int i = 0; i < r->n_stages; i++) {
        CHECK(v->stage_seen[i], "stage %s is not in the order", r->stages[i].name);
    }
    for (int i = 0; i < r->n_axes; i++) {
        CHECK(v->axis_seen[i], "axis %s has no loop", r->axes[i].name);
    }
    return CTUNE_OK;
}

ctune_status ctune_te_verify(ctune_ctx *ctx, const ctune_region *region) {
    ctune_arena *arena = ctune_arena_create(ctx);
    verifier v = {.ctx = ctx, .region = region};
    v.axis_open = CTUNE_NEW_ARRAY(arena, bool, region->n_axes);
    v.axis_seen = CTUNE_NEW_ARRAY(arena, bool, region->n_axes);
    v.stage_seen = CTUNE_NEW_ARRAY(arena, bool, region->n_stages);
    ctune_status status;
    if (v.axis_open == NULL || v.axis_seen == NULL || v.stage_seen == NULL) {
        status = ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    } else {
        status = verify_region(&v);
    }
    ctune_arena_destroy(arena);
    return status;
}
