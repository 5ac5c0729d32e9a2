/*
 * Borders: where conditions inside a reduction cut iterations off near the ends of a loop (padding
 * that is written as an `if`), a form whose loop is split into border, interior, border.
 *
 * In: the source's form. Out: the structural primitives of the form, "" when nothing is cut off.
 * Why: in the interior the conditions hold for every iteration of the reduction, so that its tiles
 * are those of a reduction without conditions; the borders are thin. Only the loop along which the
 * target is contiguous is split: it gets the vectors; conditions on loops further out are bounds of
 * the reduction there.
 *
 *     x + dx - 1 >= 0, x + dx - 1 < w, 0 <= dx < 3
 *     -> split_domain x at x < 1; split_domain x_2 at x_2 - w < -1; distribute
 */
#include "search/space/space_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A condition over one axis and parameters: coef * axis + rest >= 0 in the interior. */
typedef struct border {
    int64_t coef;
    const ctune_aff *rest;
} border;

static int axis_pos(const ctune_stage *stage, int axis) {
    for (int d = 0; d < stage->n_axes; d++) {
        if (stage->axes[d] == axis) {
            return d;
        }
    }
    return -1;
}

static bool is_reduced(const ctune_stage *stage, int axis) {
    int d = axis_pos(stage, axis);
    return d >= 0 && (stage->reduce_mask >> d & 1);
}

/* The axis that the last index of the target moves with by 1; -1. */
static int contiguous_axis(const ctune_stage *stage) {
    const ctune_access *target = &stage->target;
    const ctune_aff *last = target->n_idx > 0 ? target->idx[target->n_idx - 1] : NULL;
    int axis = -1;
    for (int t = 0; last != NULL && t < last->n_terms; t++) {
        if (last->terms[t].kind == CTUNE_TERM_DIV || axis >= 0) {
            return -1;
        }
        axis = last->terms[t].kind == CTUNE_TERM_AXIS && last->terms[t].coef == 1
                   ? last->terms[t].id
                   : axis;
    }
    return axis;
}

static int count_axes(const ctune_aff *aff) {
    int n = 0;
    for (int t = 0; t < aff->n_terms; t++) {
        n += aff->terms[t].kind == CTUNE_TERM_AXIS  ? 1
             : aff->terms[t].kind == CTUNE_TERM_DIV ? 9
                                                    : 0;
    }
    return n;
}

/* Least (sign 1) or greatest (-1) value of an axis, over parameters; NULL: none by one constraint.
 */
static const ctune_aff *limit_of(ctune_arena *arena, const ctune_stage *stage, int axis, int sign) {
    for (int c = 0; c < stage->n_cons; c++) {
        const ctune_aff *con = stage->cons[c];
        if (count_axes(con) == 1 && ctune_aff_coef(con, CTUNE_TERM_AXIS, axis) == sign) {
            const ctune_aff *rest =
                ctune_aff_sub(arena, con, ctune_aff_term(arena, CTUNE_TERM_AXIS, axis, sign));
            return ctune_aff_scale(arena, rest, -sign);
        }
    }
    return NULL;
}

/* What the constraint says of `axis` for all values of the reduced axis in it; false: nothing. */
static bool border_of(ctune_arena *arena, const ctune_stage *stage, const ctune_aff *con, int axis,
                      border *out) {
    out->coef = ctune_aff_coef(con, CTUNE_TERM_AXIS, axis);
    if (out->coef == 0 || count_axes(con) != 2) {
        return false;
    }
    for (int t = 0; t < con->n_terms; t++) {
        const ctune_term *term = &con->terms[t];
        if (term->kind != CTUNE_TERM_AXIS || term->id == axis) {
            continue;
        }
        const ctune_aff *worst = is_reduced(stage, term->id)
                                     ? limit_of(arena, stage, term->id, term->coef > 0 ? 1 : -1)
                                     : NULL;
        if (worst == NULL) {
            return false;
        }
        const ctune_aff *rest =
            ctune_aff_sub(arena, con, ctune_aff_term(arena, CTUNE_TERM_AXIS, term->id, term->coef));
        rest = ctune_aff_add(arena, rest, ctune_aff_scale(arena, worst, term->coef));
        out->rest =
            ctune_aff_sub(arena, rest, ctune_aff_term(arena, CTUNE_TERM_AXIS, axis, out->coef));
        return out->rest != NULL;
    }
    return false;
}

/* `split_domain x at ...`: the border first when it is the lower one, else the interior. */
static void print_split(const ctune_region *region, const char *dim, const border *b,
                        ctune_text *out) {
    int64_t sign = b->coef > 0 ? 1 : -1;
    ctune_text_printf(out, "split_domain %s at %" PRId64 "*%s", dim, b->coef * sign, dim);
    for (int t = 0; t < b->rest->n_terms; t++) {
        int64_t coef = b->rest->terms[t].coef * sign;
        ctune_text_printf(out, " %c %" PRId64 "*%s", coef < 0 ? '-' : '+', coef < 0 ? -coef : coef,
                          region->params[b->rest->terms[t].id].name);
    }
    /* lower: coef * x + rest < 0; upper: |coef| * x - rest < 1 */
    ctune_text_printf(out, " < %" PRId64 "\n", sign > 0 ? -b->rest->c0 : b->rest->c0 + 1);
}

/* Name of the loop over `axis` around the last statement of the stage; NULL. */
static const char *loop_name(const ctune_tree *tree, int stage, int pos) {
    const ctune_stmt *last = NULL;
    for (int s = 0; s < tree->n_stmts; s++) {
        last = tree->stmts[s].stage == stage ? &tree->stmts[s] : last;
    }
    if (last == NULL || last->iter[pos]->n_terms != 1 ||
        last->iter[pos]->terms[0].kind != CTUNE_TERM_AXIS) {
        return NULL;
    }
    return tree->dims[last->iter[pos]->terms[0].id].name;
}

/* Appends one split; false when the structure cannot be had. */
static bool add_split(ctune_ctx *ctx, const ctune_space *space, int stage, int axis,
                      const border *b, ctune_text *out) {
    const ctune_region *region = space->program->region;
    ctune_schedule schedule;
    const ctune_form *form = NULL;
    ctune_schedule_init(&schedule);
    ctune_schedule_append_text(&schedule, ctune_text_get(out));
    bool ok =
        !schedule.failed && ctune_program_form(ctx, space->program, &schedule, &form) == CTUNE_OK;
    const char *name =
        ok ? loop_name(form->tree, stage, axis_pos(&region->stages[stage], axis)) : NULL;
    if (name != NULL) {
        print_split(region, name, b, out);
    }
    ctune_schedule_clear(&schedule);
    return name != NULL;
}

static bool split_stage(ctune_ctx *ctx, const ctune_space *space, ctune_arena *arena, int i_stage,
                        ctune_text *out) {
    const ctune_stage *stage = &space->program->region->stages[i_stage];
    int axis = contiguous_axis(stage);
    bool has_side[2] = {false, false};
    if (stage->reduce_mask == 0 || axis < 0 || is_reduced(stage, axis)) {
        return false;
    }
    for (int lower = 1; lower >= 0; lower--) {
        for (int c = 0; c < stage->n_cons && !has_side[lower]; c++) {
            border b;
            if (border_of(arena, stage, stage->cons[c], axis, &b) && (b.coef > 0) == lower) {
                has_side[lower] = add_split(ctx, space, i_stage, axis, &b, out);
            }
        }
    }
    return has_side[0] || has_side[1];
}

ctune_status borders_prefix(ctune_ctx *ctx, const ctune_space *space, ctune_text *out) {
    const ctune_region *region = space->program->region;
    ctune_arena *arena = ctune_arena_create(ctx);
    bool is_split = false;
    if (arena == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    for (int s = 0; s < region->n_stages && !is_split; s++) {
        is_split = split_stage(ctx, space, arena, s, out);
    }
    if (is_split && region->n_stages > 1) {
        ctune_text_append(out, "distribute\n");
    }
    bool has_failed = ctune_arena_has_failed(arena) || out->failed;
    ctune_arena_destroy(arena);
    return has_failed ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory") : CTUNE_OK;
}

uint32_t borders_cut_dims(const ctune_nest *nest, const chain *c) {
    const ctune_stmt *stmt = &nest->form->tree->stmts[c->stmt];
    uint32_t cut = 0;
    int n_reduce = 0;
    for (int d = 0; d < c->m; d++) {
        n_reduce += c->reduce >> d & 1;
    }
    for (int i = 0; i < stmt->n_cons && n_reduce > 1; i++) {
        uint32_t dims = 0;
        for (int d = 0; d < c->m; d++) {
            int dim = nest->node[c->node[d]].dim;
            dims |= ctune_aff_coef(stmt->cons[i], CTUNE_TERM_AXIS, dim) != 0 ? 1u << d : 0;
        }
        cut |= (dims & c->reduce) != 0 ? dims & ~c->reduce : 0;
    }
    return cut;
}
