/*
 * Which inputs may a region be verified with?
 *
 * Hostile data are only of use where C defines what becomes of them: a signed sum that overflows, a
 * conversion of a NaN to an integer, a shift by 77 may give anything, in the original, too.
 * Floating point is defined unless a flag or reassoc says that NaN, infinities, zeros' signs or the
 * order of sums do not matter. Integers: the bits that a value may need are followed through
 * expressions, so that pixel arithmetic in int, which cannot overflow, gets the extreme values of
 * its elements.
 */
#include "plugin/session/cases.h"

#include <string.h>

enum { UNKNOWN_BITS = 1000 }; /* more than any type has: it may overflow */

static bool flag_is_given(const ctune_source *source, const char *flag) {
    bool found = false;
    for (int i = 0; i < source->flags.n_unit; i++) {
        found |= strcmp(source->flags.unit[i], flag) == 0;
    }
    return found;
}

static bool is_lax(const ctune_source *source, const ctune_region *region) {
    static const char *const flags[] = {"-ffast-math",        "-Ofast",
                                        "-ffinite-math-only", "-fno-signed-zeros",
                                        "-freciprocal-math",  "-funsafe-math-optimizations"};
    bool lax = ctune_region_may_reassoc(region) || source->target.fast_math;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        lax |= flag_is_given(source, flags[i]);
    }
    return lax;
}

static bool is_int(ctune_type type) {
    return !ctune_type_is_float(type);
}

/* Bits of the type without a sign. */
static int type_bits(ctune_type type) {
    const ctune_type_info *info = ctune_type_get(type);
    return type == CTUNE_BOOL ? 1 : 8 * info->bytes - ((info->flags & CTUNE_TF_SIGNED) != 0);
}

static int max_int(int a, int b) {
    return a > b ? a : b;
}

static int const_bits(int64_t value) {
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    int bits = 0;
    for (; magnitude != 0; magnitude >>= 1) {
        bits++;
    }
    return bits;
}

/* An integer expression's value is below 2^result in magnitude, or something in it may be
 * undefined: UNKNOWN_BITS. */
static int bits_of(const ctune_expr *e);

/* What an operation makes of its operands' bits, before the type's limit. */
static int operation_bits(const ctune_expr *e, int a, int b) {
    bool has_const = e->n_kids == 2 && e->kids[1]->op == CTUNE_OP_CONST && is_int(e->kids[1]->type);
    int64_t c = has_const ? e->kids[1]->i_value : 0;
    switch (e->op) {
    case CTUNE_OP_ADD:
    case CTUNE_OP_SUB:
        return max_int(a, b) + 1;
    case CTUNE_OP_MUL:
        return a + b;
    case CTUNE_OP_NEG:
        return a;
    case CTUNE_OP_DIV:
    case CTUNE_OP_MOD:
        return has_const && c != 0 && c != -1 ? a : UNKNOWN_BITS;
    case CTUNE_OP_SHL:
        return has_const && c >= 0 && c < 64 ? a + (int)c : UNKNOWN_BITS;
    case CTUNE_OP_SHR:
        return has_const && c >= 0 && c <= type_bits(e->type) ? a : UNKNOWN_BITS;
    case CTUNE_OP_SELECT:
        return max_int(b, bits_of(e->kids[2]));
    case CTUNE_OP_CALL:
        return UNKNOWN_BITS;
    default:
        return max_int(a, b); /* bitwise, comparisons, min, max */
    }
}

static int bits_of(const ctune_expr *e) {
    if (!is_int(e->type)) {
        return 0;
    }
    bool is_signed = (ctune_type_get(e->type)->flags & CTUNE_TF_SIGNED) != 0;
    int limit = type_bits(e->type);
    if (e->op == CTUNE_OP_CONST) {
        return const_bits(e->i_value);
    }
    if (e->op == CTUNE_OP_READ || e->op == CTUNE_OP_AFF || e->n_kids == 0) {
        return limit;
    }
    int a = bits_of(e->kids[0]), b = e->n_kids > 1 ? bits_of(e->kids[1]) : 0;
    if (a == UNKNOWN_BITS || b == UNKNOWN_BITS) {
        return UNKNOWN_BITS;
    }
    int bits = operation_bits(e, a, b);
    bool is_cast = e->op == CTUNE_OP_CAST;
    return bits <= limit                                    ? bits
           : is_cast || (!is_signed && bits < UNKNOWN_BITS) ? limit
                                                            : UNKNOWN_BITS;
}

/* Everywhere in the expression, below floating-point operators, too. */
static bool may_overflow(const ctune_expr *e) {
    if (e == NULL) {
        return false;
    }
    bool found = bits_of(e) == UNKNOWN_BITS;
    for (int i = 0; i < e->n_kids && !found; i++) {
        found = may_overflow(e->kids[i]);
    }
    return found;
}

static bool update_may_overflow(const ctune_region *region, const ctune_stage *s) {
    const ctune_type_info *calc = ctune_type_get(s->calc);
    if (!is_int(s->calc) || s->update == CTUNE_UPDATE_SET) {
        return false;
    }
    int old = type_bits(region->tensors[s->target.tensor].type), added = bits_of(s->rhs);
    int bits = s->update == CTUNE_UPDATE_MUL ? old + added : max_int(old, added) + 1;
    bool sums = s->update == CTUNE_UPDATE_ADD || s->update == CTUNE_UPDATE_SUB ||
                s->update == CTUNE_UPDATE_MUL;
    return s->update == CTUNE_UPDATE_DIV ||
           (sums && (calc->flags & CTUNE_TF_SIGNED) != 0 && bits > type_bits(s->calc));
}

/* Conversions of any number to an integer are defined for few. */
static bool converts_to_int(const ctune_expr *e) {
    if (e == NULL) {
        return false;
    }
    bool found = e->op == CTUNE_OP_CAST && is_int(e->type) && !is_int(e->kids[0]->type);
    for (int i = 0; i < e->n_kids && !found; i++) {
        found = converts_to_int(e->kids[i]);
    }
    return found;
}

void ctune_inputs_choose(const ctune_source *source, const ctune_region *region,
                         ctune_run_data *worst, bool *has_extreme_ints) {
    bool wraps = flag_is_given(source, "-fwrapv"), converts = false;
    *has_extreme_ints = true;
    for (int i = 0; i < region->n_stages; i++) {
        const ctune_stage *s = &region->stages[i];
        converts |= converts_to_int(s->rhs) || converts_to_int(s->guard) ||
                    (is_int(region->tensors[s->target.tensor].type) && !is_int(s->rhs->type));
        *has_extreme_ints &= wraps || !(may_overflow(s->rhs) || may_overflow(s->guard) ||
                                        update_may_overflow(region, s));
    }
    *worst = is_lax(source, region) || converts ? CTUNE_RUN_DATA_NORMAL : CTUNE_RUN_DATA_HOSTILE;
}
