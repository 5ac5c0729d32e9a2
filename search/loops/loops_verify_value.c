/*
 * The types and lanes of values: the comments of the value table (loops.h) as checks. See
 * loops_verify.h.
 */
#include "search/loops/loops_verify.h"
#include "search/te/te_value.h"

enum { MAX_VALUE_DEPTH = 2500 };

static const char *type_name(ctune_type type) {
    return ctune_type_get(type)->name;
}

static bool is_int(ctune_type type) {
    return !ctune_type_is_float(type) && type != CTUNE_BOOL;
}

static bool is_signed_int(ctune_type type) {
    return is_int(type) && (ctune_type_get(type)->flags & CTUNE_TF_SIGNED) != 0;
}

ctune_status loops_verify_lanes(loops_verifier *v, ctune_type type, int lanes, const char *where) {
    CHECK(lanes >= 1 && lanes <= CTUNE_MAX_LANES && (lanes & (lanes - 1)) == 0, "%s has %d lanes",
          where, lanes);
    CHECK(lanes == 1 || (type != CTUNE_BOOL && type != CTUNE_F16 && type != CTUNE_F80),
          "%s is a vector of %s", where, type_name(type));
    return CTUNE_OK;
}

/* Kids from `first` on have the value's type and lanes. */
static ctune_status verify_alike(loops_verifier *v, const ctune_value *e, int first) {
    for (int i = first; i < e->n_kids; i++) {
        CHECK(e->kids[i]->type == e->type, "an operand of %s is %s and not %s",
              ctune_value_get(e->op)->token, type_name(e->kids[i]->type), type_name(e->type));
        CHECK(e->kids[i]->lanes == e->lanes, "an operand of %s has %d lanes of %d",
              ctune_value_get(e->op)->token, e->kids[i]->lanes, e->lanes);
    }
    return CTUNE_OK;
}

static ctune_status verify_scalar(loops_verifier *v, const ctune_value *e) {
    CHECK(e->lanes == 1, "%s has %d lanes", ctune_value_get(e->op)->token, e->lanes);
    for (int i = 0; i < e->n_kids; i++) {
        CHECK(e->kids[i]->lanes == 1, "an operand of %s is a vector",
              ctune_value_get(e->op)->token);
    }
    return CTUNE_OK;
}

static ctune_status verify_const(loops_verifier *v, const ctune_value *e) {
    TRY(verify_scalar(v, e));
    CHECK(ctune_type_is_float(e->type) || te_wrap(e->type, e->i_value) == e->i_value,
          "the constant %lld does not fit %s", (long long)e->i_value, type_name(e->type));
    return CTUNE_OK;
}

static ctune_status verify_var(loops_verifier *v, const ctune_value *e) {
    CHECK(e->var >= 0 && e->var < v->l->n_vars, "a value names a variable that does not exist");
    const ctune_lvar *var = &v->l->var[e->var];
    const char *name = var->name != NULL ? var->name : var->hint;
    CHECK(!var->is_index, "the index variable %s is used as a value", name);
    CHECK(e->type == var->type && e->lanes == var->lanes, "%s is used with another type", name);
    CHECK(v->var[e->var].state == LOOPS_OPEN, "%s is used outside its scope", name);
    return CTUNE_OK;
}

static ctune_status verify_load(loops_verifier *v, const ctune_value *e) {
    TRY(loops_verify_place(v, &e->place, e->lanes, "a load"));
    ctune_type type = ctune_place_type(v->l, &e->place);
    CHECK(e->type == type, "a load of %s from %s", type_name(e->type), type_name(type));
    CHECK(e->place.is_buffer || !v->l->region->tensors[e->place.id].is_temp,
          "a load of the temporary %s", v->l->region->tensors[e->place.id].name);
    return CTUNE_OK;
}

static ctune_status verify_arithmetic(loops_verifier *v, const ctune_value *e) {
    const char *token = ctune_value_get(e->op)->token;
    bool is_shift = e->op == CTUNE_V_SHL || e->op == CTUNE_V_SHR;
    bool wants_int = is_shift || e->op == CTUNE_V_MOD || e->op == CTUNE_V_BAND ||
                     e->op == CTUNE_V_BOR || e->op == CTUNE_V_BXOR || e->op == CTUNE_V_BNOT;
    CHECK(e->type != CTUNE_BOOL, "%s of bool", token);
    CHECK(!wants_int || is_int(e->type), "%s of %s", token, type_name(e->type));
    CHECK(e->op != CTUNE_V_FMA || ctune_type_is_float(e->type), "fma of %s", type_name(e->type));
    if (is_shift && e->lanes == 1) {
        CHECK(e->kids[0]->type == e->type && e->kids[0]->lanes == 1 && e->kids[1]->lanes == 1 &&
                  is_int(e->kids[1]->type),
              "operands of %s do not fit", token);
        return CTUNE_OK;
    }
    return verify_alike(v, e, 0);
}

static ctune_status verify_comparison(loops_verifier *v, const ctune_value *e) {
    const char *token = ctune_value_get(e->op)->token;
    const ctune_value *a = e->kids[0], *b = e->kids[1];
    CHECK(a->type == b->type && a->lanes == b->lanes, "%s compares %s of %d lanes with %s of %d",
          token, type_name(a->type), a->lanes, type_name(b->type), b->lanes);
    ctune_type type = a->lanes > 1 ? ctune_mask_type(a->type) : CTUNE_I32;
    CHECK(e->lanes == a->lanes && e->type == type, "%s of %s yields %s of %d lanes", token,
          type_name(a->type), type_name(e->type), e->lanes);
    return CTUNE_OK;
}

static ctune_status verify_select(loops_verifier *v, const ctune_value *e) {
    const ctune_value *test = e->kids[0];
    TRY(verify_alike(v, e, 1));
    CHECK(test->lanes == e->lanes, "the choice of a select has %d lanes of %d", test->lanes,
          e->lanes);
    CHECK(e->lanes == 1 || (is_signed_int(test->type) && test->type == ctune_mask_type(e->type)),
          "the choice of a select of %s is %s and no mask", type_name(e->type),
          type_name(test->type));
    return CTUNE_OK;
}

static ctune_status verify_call(loops_verifier *v, const ctune_value *e) {
    ctune_type type = CTUNE_F64;
    int n = e->text != NULL ? ctune_math_find(e->text, &type) : 0;
    CHECK(n > 0 && n == e->n_kids && type == e->type, "a call of an unknown function %s",
          e->text != NULL ? e->text : "?");
    CHECK(e->lanes == 1 || ctune_math_lanes_of(e->text) != CTUNE_MATH_SCALAR,
          "a call of %s in lanes", e->text);
    return verify_alike(v, e, 0);
}

static ctune_status verify_dot(loops_verifier *v, const ctune_value *e) {
    const ctune_value *c = e->kids[0], *a = e->kids[1], *b = e->kids[2];
    bool is_bytes = a->type == CTUNE_U8 && b->type == CTUNE_I8;
    bool is_words = a->type == CTUNE_I16 && b->type == CTUNE_I16;
    int lanes = e->lanes * (is_bytes ? 4 : 2);
    CHECK(e->type == CTUNE_I32 && c->type == CTUNE_I32 && c->lanes == e->lanes && e->lanes > 1 &&
              (is_bytes || is_words) && a->lanes == lanes && b->lanes == lanes,
          "dot of %s of %d lanes and %s of %d", type_name(a->type), a->lanes, type_name(b->type),
          b->lanes);
    return CTUNE_OK;
}

static ctune_status verify_shape(loops_verifier *v, const ctune_value *e) {
    const char *token = ctune_value_get(e->op)->token;
    const ctune_value *a = e->n_kids > 0 ? e->kids[0] : NULL;
    for (int i = 0; i < e->n_kids; i++) {
        CHECK(e->kids[i]->type == e->type, "%s of %s from %s", token, type_name(e->type),
              type_name(e->kids[i]->type));
    }
    if (e->op == CTUNE_V_EXTRACT) {
        CHECK(e->lanes == 1 && a->lanes > 1 && e->lane >= 0 && e->lane < a->lanes,
              "extract of lane %d of %d", e->lane, a->lanes);
        return CTUNE_OK;
    }
    CHECK(e->lanes > 1, "%s of one lane", token);
    CHECK(e->op != CTUNE_V_GATHER || e->n_kids == e->lanes, "gather of %d values in %d lanes",
          e->n_kids, e->lanes);
    for (int i = 0; i < e->n_kids; i++) {
        CHECK(e->kids[i]->lanes == 1, "%s of a vector", token);
    }
    return CTUNE_OK;
}

static ctune_status verify_op(loops_verifier *v, const ctune_value *e) {
    switch (e->op) {
    case CTUNE_V_CONST:
        return verify_const(v, e);
    case CTUNE_V_INDEX:
        TRY(verify_scalar(v, e));
        return loops_verify_aff(v, e->index, "a value");
    case CTUNE_V_VAR:
        return verify_var(v, e);
    case CTUNE_V_LOAD:
        CHECK(v->gpu != LOOPS_GPU_HOST || !v->has_launch || e->place.is_buffer || e->place.id < 0 ||
                  e->place.id >= v->l->region->n_tensors ||
                  !v->l->region->tensors[e->place.id].is_written,
              "the host reads beside launches what a GPU may write");
        return verify_load(v, e);
    case CTUNE_V_LT:
    case CTUNE_V_LE:
    case CTUNE_V_GT:
    case CTUNE_V_GE:
    case CTUNE_V_EQ:
    case CTUNE_V_NE:
        return verify_comparison(v, e);
    case CTUNE_V_LAND:
    case CTUNE_V_LOR:
    case CTUNE_V_LNOT:
        CHECK(e->type == CTUNE_I32, "%s does not yield i32", ctune_value_get(e->op)->token);
        return verify_scalar(v, e);
    case CTUNE_V_SELECT:
        return verify_select(v, e);
    case CTUNE_V_CONVERT:
        CHECK(e->kids[0]->lanes == e->lanes, "a conversion of %d lanes to %d", e->kids[0]->lanes,
              e->lanes);
        return CTUNE_OK;
    case CTUNE_V_MIN:
    case CTUNE_V_MAX:
        return verify_alike(v, e, 0);
    case CTUNE_V_CALL:
        return verify_call(v, e);
    case CTUNE_V_SLIDE:
        CHECK(e->lanes > 1 && e->lane > 0 && e->lane < e->lanes, "slide by %d of %d lanes", e->lane,
              e->lanes);
        return verify_alike(v, e, 0);
    case CTUNE_V_DOT:
        return verify_dot(v, e);
    case CTUNE_V_SPLAT:
    case CTUNE_V_GATHER:
    case CTUNE_V_EXTRACT:
        return verify_shape(v, e);
    default:
        return verify_arithmetic(v, e);
    }
}

ctune_status loops_verify_value(loops_verifier *v, const ctune_value *value) {
    const ctune_value *e = value;
    CHECK(e != NULL, "a missing value");
    CHECK((unsigned)e->op < CTUNE_N_VALUE_OPS && (unsigned)e->type < CTUNE_N_TYPES,
          "a broken value");
    const ctune_value_info *info = ctune_value_get(e->op);
    CHECK(e->n_kids >= 0 && (e->n_kids == 0 || e->kids != NULL) &&
              (info->arity < 0 || e->n_kids == info->arity),
          "%s has %d operands", info->token, e->n_kids);
    CHECK(++v->value_depth <= MAX_VALUE_DEPTH, "values are nested too deeply");
    for (int i = 0; i < e->n_kids; i++) {
        TRY(loops_verify_value(v, e->kids[i]));
    }
    v->value_depth--;
    TRY(loops_verify_lanes(v, e->type, e->lanes, info->token));
    bool can_wrap = (e->op == CTUNE_V_ADD || e->op == CTUNE_V_SUB || e->op == CTUNE_V_MUL ||
                     e->op == CTUNE_V_NEG) &&
                    (e->type == CTUNE_I32 || e->type == CTUNE_I64);
    CHECK(!e->wraps || can_wrap, "%s of %s wraps", info->token, type_name(e->type));
    return verify_op(v, e);
}
