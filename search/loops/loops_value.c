/*
 * Values: hash-consed builders and rebuilding. See loops.h.
 *
 * Equal values are one pointer, so that a common subexpression is found by comparing pointers, and
 * a program that repeats a body sixteen times holds each operand once.
 */
#include "search/loops/loops.h"

#include <string.h>

const ctune_value_info *ctune_value_get(ctune_value_op op) {
    static const ctune_value_info infos[CTUNE_N_VALUE_OPS] = {
#define X(id, token, arity) {token, arity},
        CTUNE_VALUE_TABLE(X)
#undef X
    };
    return &infos[op];
}

/* ---- equality and hash ----------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t hash_aff(uint64_t h, const ctune_aff *aff) {
    if (aff == NULL) {
        return mix(h, 1);
    }
    h = mix(h, (uint64_t)aff->c0);
    for (int t = 0; t < aff->n_terms; t++) {
        h = mix(h, (uint64_t)aff->terms[t].coef * 64 + (uint64_t)aff->terms[t].kind);
        h = mix(h, (uint64_t)aff->terms[t].id);
    }
    return h;
}

static uint64_t hash_text(uint64_t h, const char *text) {
    for (; text != NULL && *text != '\0'; text++) {
        h = mix(h, (unsigned char)*text);
    }
    return h;
}

static uint64_t bits_of(double f) {
    uint64_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static uint64_t hash_of(const ctune_value *v) {
    uint64_t h = mix((uint64_t)v->op * 64 + (uint64_t)v->type, (uint64_t)v->lanes * 2 + v->wraps);
    for (int i = 0; i < v->n_kids; i++) {
        h = mix(h, (uint64_t)(uintptr_t)v->kids[i]);
    }
    h = mix(h, (uint64_t)v->i_value);
    h = mix(h, bits_of(v->f_value));
    h = mix(h, (uint64_t)v->var * 1024 + (uint64_t)v->lane);
    h = hash_text(h, v->text);
    h = hash_aff(h, v->index);
    h = mix(h, (uint64_t)v->place.id * 2 + v->place.is_buffer);
    for (int d = 0; d < v->place.n_idx; d++) {
        h = hash_aff(h, v->place.idx[d]);
    }
    return h;
}

bool ctune_place_is_equal(const ctune_place *a, const ctune_place *b) {
    if (a->is_buffer != b->is_buffer || a->id != b->id || a->n_idx != b->n_idx) {
        return false;
    }
    for (int d = 0; d < a->n_idx; d++) {
        if (!ctune_aff_is_equal(a->idx[d], b->idx[d])) {
            return false;
        }
    }
    return true;
}

static bool is_equal(const ctune_value *a, const ctune_value *b) {
    if (a->hash != b->hash || a->op != b->op || a->type != b->type || a->lanes != b->lanes ||
        a->wraps != b->wraps || a->n_kids != b->n_kids || a->i_value != b->i_value ||
        bits_of(a->f_value) != bits_of(b->f_value) || a->var != b->var || a->lane != b->lane ||
        (a->text == NULL) != (b->text == NULL) ||
        (a->text != NULL && strcmp(a->text, b->text) != 0) ||
        !ctune_aff_is_equal(a->index, b->index) || !ctune_place_is_equal(&a->place, &b->place)) {
        return false;
    }
    for (int i = 0; i < a->n_kids; i++) {
        if (a->kids[i] != b->kids[i]) {
            return false;
        }
    }
    return true;
}

/* ---- the table ------------------------------------------------------------------------------- */

static void insert(const ctune_value **slots, int cap, const ctune_value *v) {
    size_t at = (size_t)v->hash & ((size_t)cap - 1);
    while (slots[at] != NULL) {
        at = (at + 1) & ((size_t)cap - 1);
    }
    slots[at] = v;
}

static bool make_room(ctune_loops *l) {
    if (l->n_values * 2 < l->cap_values) {
        return true;
    }
    int cap = l->cap_values == 0 ? 256 : l->cap_values * 2;
    const ctune_value **slots = CTUNE_NEW_ARRAY(l->arena, const ctune_value *, cap);
    if (slots == NULL) {
        ctune_loops_fail(l, CTUNE_ENOMEM, "out of memory");
        return false;
    }
    for (int i = 0; i < l->cap_values; i++) {
        if (l->value[i] != NULL) {
            insert(slots, cap, l->value[i]);
        }
    }
    l->value = slots;
    l->cap_values = cap;
    return true;
}

const ctune_value *ctune_loops_value(ctune_loops *l, const ctune_value *proto) {
    for (int i = 0; i < proto->n_kids; i++) {
        if (proto->kids[i] == NULL) {
            return NULL;
        }
    }
    for (int d = 0; d < proto->place.n_idx; d++) {
        if (proto->place.idx[d] == NULL) {
            return NULL;
        }
    }
    if ((proto->op == CTUNE_V_INDEX && proto->index == NULL) || !make_room(l)) {
        return NULL;
    }
    ctune_value key = *proto;
    key.hash = hash_of(proto);
    for (size_t at = (size_t)key.hash & ((size_t)l->cap_values - 1); l->value[at] != NULL;
         at = (at + 1) & ((size_t)l->cap_values - 1)) {
        if (is_equal(l->value[at], &key)) {
            return l->value[at];
        }
    }
    ctune_value *v = CTUNE_NEW(l->arena, ctune_value);
    const ctune_value **kids =
        key.n_kids > 0 ? CTUNE_NEW_ARRAY(l->arena, const ctune_value *, key.n_kids) : NULL;
    if (v == NULL || (key.n_kids > 0 && kids == NULL)) {
        ctune_loops_fail(l, CTUNE_ENOMEM, "out of memory");
        return NULL;
    }
    *v = key;
    if (key.n_kids > 0) {
        memcpy(kids, key.kids, (size_t)key.n_kids * sizeof *kids);
    }
    v->kids = kids;
    insert(l->value, l->cap_values, v);
    l->n_values++;
    return v;
}

/* ---- shorthands ------------------------------------------------------------------------------ */

static bool is_comparison(ctune_value_op op) {
    return op >= CTUNE_V_LT && op <= CTUNE_V_NE;
}

ctune_type ctune_mask_type(ctune_type type) {
    switch (ctune_type_get(type)->bytes) {
    case 1:
        return CTUNE_I8;
    case 2:
        return CTUNE_I16;
    case 4:
        return CTUNE_I32;
    default:
        return CTUNE_I64;
    }
}

const ctune_value *ctune_value_unary(ctune_loops *l, ctune_value_op op, const ctune_value *a) {
    return a == NULL ? NULL
                     : ctune_loops_value(
                           l, &(ctune_value){.op = op,
                                             .type = op == CTUNE_V_LNOT ? CTUNE_I32 : a->type,
                                             .lanes = a->lanes,
                                             .n_kids = 1,
                                             .kids = &a});
}

const ctune_value *ctune_value_binary(ctune_loops *l, ctune_value_op op, const ctune_value *a,
                                      const ctune_value *b) {
    if (a == NULL || b == NULL) {
        return NULL;
    }
    ctune_type type = a->type;
    if (is_comparison(op)) {
        type = a->lanes > 1 ? ctune_mask_type(a->type) : CTUNE_I32;
    } else if (op == CTUNE_V_LAND || op == CTUNE_V_LOR) {
        type = CTUNE_I32;
    }
    const ctune_value *kids[2] = {a, b};
    return ctune_loops_value(
        l, &(ctune_value){.op = op, .type = type, .lanes = a->lanes, .n_kids = 2, .kids = kids});
}

const ctune_value *ctune_value_fma(ctune_loops *l, const ctune_value *a, const ctune_value *b,
                                   const ctune_value *c) {
    const ctune_value *kids[3] = {a, b, c};
    return a == NULL ? NULL
                     : ctune_loops_value(l, &(ctune_value){.op = CTUNE_V_FMA,
                                                           .type = a->type,
                                                           .lanes = a->lanes,
                                                           .n_kids = 3,
                                                           .kids = kids});
}

const ctune_value *ctune_value_convert(ctune_loops *l, ctune_type type, const ctune_value *a) {
    if (a == NULL || a->type == type) {
        return a;
    }
    return ctune_loops_value(
        l, &(ctune_value){
               .op = CTUNE_V_CONVERT, .type = type, .lanes = a->lanes, .n_kids = 1, .kids = &a});
}

const ctune_value *ctune_value_var(ctune_loops *l, int var) {
    return var < 0 ? NULL
                   : ctune_loops_value(l, &(ctune_value){.op = CTUNE_V_VAR,
                                                         .type = l->var[var].type,
                                                         .lanes = l->var[var].lanes,
                                                         .var = var});
}

ctune_type ctune_place_type(const ctune_loops *l, const ctune_place *place) {
    return place->is_buffer ? l->buffer[place->id].type : l->region->tensors[place->id].type;
}

const ctune_value *ctune_value_load(ctune_loops *l, const ctune_place *place, int lanes) {
    if (place->id < 0) {
        return NULL;
    }
    return ctune_loops_value(l, &(ctune_value){.op = CTUNE_V_LOAD,
                                               .type = ctune_place_type(l, place),
                                               .lanes = lanes,
                                               .place = *place});
}

const ctune_value *ctune_value_int(ctune_loops *l, ctune_type type, int64_t i) {
    return ctune_loops_value(
        l, &(ctune_value){.op = CTUNE_V_CONST, .type = type, .lanes = 1, .i_value = i});
}

const ctune_value *ctune_value_zero(ctune_loops *l, ctune_type type) {
    return ctune_value_int(l, type, 0); /* f_value is 0, too */
}

const ctune_value *ctune_value_splat(ctune_loops *l, const ctune_value *a, int lanes) {
    if (a == NULL || lanes == 1) {
        return a;
    }
    return ctune_loops_value(
        l, &(ctune_value){
               .op = CTUNE_V_SPLAT, .type = a->type, .lanes = lanes, .n_kids = 1, .kids = &a});
}

const ctune_value *ctune_value_extract(ctune_loops *l, const ctune_value *a, int lane) {
    if (a == NULL || a->lanes == 1) {
        return a;
    }
    if (a->op == CTUNE_V_SPLAT || a->op == CTUNE_V_GATHER) {
        return a->kids[a->op == CTUNE_V_SPLAT ? 0 : lane];
    }
    return ctune_loops_value(l, &(ctune_value){.op = CTUNE_V_EXTRACT,
                                               .type = a->type,
                                               .lanes = 1,
                                               .lane = lane,
                                               .n_kids = 1,
                                               .kids = &a});
}

const ctune_value *ctune_value_slide(ctune_loops *l, const ctune_value *a, const ctune_value *b,
                                     int lane) {
    const ctune_value *kids[] = {a, b};
    if (a == NULL || b == NULL) {
        return NULL;
    }
    return ctune_loops_value(l, &(ctune_value){.op = CTUNE_V_SLIDE,
                                               .type = a->type,
                                               .lanes = a->lanes,
                                               .lane = lane,
                                               .n_kids = 2,
                                               .kids = kids});
}

/* ---- rebuilding ------------------------------------------------------------------------------ */

const ctune_value *ctune_value_rebuild(ctune_loops *l, const ctune_value *value,
                                       ctune_value_map map, void *data) {
    if (value == NULL) {
        return NULL;
    }
    const ctune_value *few[4];
    const ctune_value **kids =
        value->n_kids <= 4 ? few : CTUNE_NEW_ARRAY(l->arena, const ctune_value *, value->n_kids);
    if (kids == NULL) {
        return NULL;
    }
    bool is_same = true;
    for (int i = 0; i < value->n_kids; i++) {
        kids[i] = ctune_value_rebuild(l, value->kids[i], map, data);
        is_same &= kids[i] == value->kids[i];
        if (kids[i] == NULL) {
            return NULL;
        }
    }
    if (!is_same) {
        ctune_value proto = *value;
        proto.kids = kids;
        value = ctune_loops_value(l, &proto);
    }
    return value == NULL ? NULL : map(l, value, data);
}

ctune_place ctune_place_subst(ctune_loops *l, const ctune_place *place, int var,
                              const ctune_aff *by) {
    ctune_place out = *place;
    for (int d = 0; d < out.n_idx; d++) {
        out.idx[d] = ctune_loops_subst(l, place->idx[d], var, by);
    }
    return out;
}

typedef struct substitution {
    int var;
    const ctune_aff *by;
} substitution;

static const ctune_value *subst_one(ctune_loops *l, const ctune_value *value, void *data) {
    const substitution *s = data;
    if (value->op == CTUNE_V_INDEX) {
        ctune_value proto = *value;
        proto.index = ctune_loops_subst(l, value->index, s->var, s->by);
        return proto.index == value->index ? value
               : proto.index == NULL       ? NULL
                                           : ctune_loops_value(l, &proto);
    }
    if (value->op == CTUNE_V_LOAD) {
        ctune_value proto = *value;
        proto.place = ctune_place_subst(l, &value->place, s->var, s->by);
        return ctune_loops_value(l, &proto);
    }
    return value;
}

const ctune_value *ctune_value_subst(ctune_loops *l, const ctune_value *value, int var,
                                     const ctune_aff *by) {
    substitution s = {var, by};
    return ctune_value_rebuild(l, value, subst_one, &s);
}
