/* Fourier-Motzkin bounds: see bounds.h. Rows are dense, since they are few and short. */
#include "search/lower/bounds.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 400 };

/* Columns: [0, n_y) dims of the statement, [n_y, n_y + n_x) open tile variables, then params, divs,
 * constant. */
typedef struct row {
    int64_t *c;
    bool is_domain;
    int i_con;
    int i_open; /* form of this loop; -1 */
} row;

typedef struct fm_system {
    const ctune_region *region;
    const ctune_stmt *stmt;
    const ctune_open *open;
    int n_open;
    int n_y, n_cols;
    int n_vars;                                  /* columns of dims and tile variables */
    int x_col[CTUNE_MAX_OPEN];                   /* column of a tile variable, -1 for point loops */
    bool kept[CTUNE_MAX_DEPTH + CTUNE_MAX_OPEN]; /* column of an open loop, or the one wanted */
    int fixed_var[CTUNE_MAX_DEPTH];
    int n_rows;
    row rows[MAX_ROWS];
    ctune_arena *arena;
    bool is_inexact; /* a dim was eliminated between two coefficients other than 1 */
    bool failed;
} fm_system;

static bool div_has_axis(const ctune_region *region, int i_div) {
    const ctune_aff *const *forms;
    int n = ctune_div_forms(&region->divs[i_div], &forms);
    for (int k = 0; k < n; k++) {
        if (ctune_aff_has_kind(forms[k], CTUNE_TERM_AXIS) ||
            !ctune_bounds_is_plain(region, forms[k])) {
            return true;
        }
    }
    return false;
}

bool ctune_bounds_is_opaque(const ctune_region *region, const ctune_aff *con) {
    bool has_load = false;
    for (int t = 0; t < con->n_terms; t++) {
        const ctune_term *term = &con->terms[t];
        if (term->kind == CTUNE_TERM_DIV && div_has_axis(region, term->id)) {
            if (region->divs[term->id].load == NULL) {
                return false;
            }
            has_load = true;
        }
    }
    return has_load;
}

bool ctune_bounds_is_plain(const ctune_region *region, const ctune_aff *con) {
    for (int t = 0; t < con->n_terms; t++) {
        if (con->terms[t].kind == CTUNE_TERM_DIV && div_has_axis(region, con->terms[t].id)) {
            return false;
        }
    }
    return true;
}

static int pos_of_dim(const ctune_stmt *stmt, int dim) {
    for (int p = 0; p < stmt->n_dims; p++) {
        if (stmt->dims[p] == dim) {
            return p;
        }
    }
    return -1;
}

/* Are all axes in the loads of con values of open point loops? */
static bool is_ruled(const fm_system *s, const ctune_aff *con) {
    const ctune_stage *stage = &s->region->stages[s->stmt->stage];
    for (int d = 0; d < stage->n_axes; d++) {
        if (!ctune_aff_div_uses_axis(s->region, con, stage->axes[d])) {
            continue;
        }
        int dim = ctune_stmt_dim(s->stmt, d);
        bool is_open = false;
        for (int i = 0; dim >= 0 && i < s->n_open; i++) {
            const ctune_open *o = &s->open[i];
            is_open |= o->pos >= 0 && o->step == 1 && o->var >= 0 && s->stmt->dims[o->pos] == dim;
        }
        if (!is_open) {
            return false;
        }
    }
    return true;
}

static int64_t gcd64(int64_t a, int64_t b) {
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    while (b != 0) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static int64_t floor_div(int64_t a, int64_t b) {
    int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

static row *row_new(fm_system *s) {
    if (s->n_rows >= MAX_ROWS) {
        s->failed = true;
        return NULL;
    }
    row *r = &s->rows[s->n_rows];
    r->c = CTUNE_NEW_ARRAY(s->arena, int64_t, s->n_cols);
    r->is_domain = false;
    r->i_con = r->i_open = -1;
    if (r->c == NULL) {
        s->failed = true;
        return NULL;
    }
    s->n_rows++;
    return r;
}

/* Divide by the gcd of the coefficients, tightening the constant; drop when trivially true or
 * implied by a parallel row. */
static void row_settle(fm_system *s) {
    row *r = &s->rows[s->n_rows - 1];
    int last = s->n_cols - 1;
    int64_t g = 0;
    for (int i = 0; i < last; i++) {
        g = gcd64(g, r->c[i]);
    }
    if (g == 0) {
        s->n_rows--; /* constant: true, or the domain is empty and other loops see it */
        return;
    }
    if (g > 1) {
        for (int i = 0; i < last; i++) {
            r->c[i] /= g;
        }
        r->c[last] = floor_div(r->c[last], g);
    }
    for (int k = 0; k < s->n_rows - 1; k++) {
        row *q = &s->rows[k];
        if (memcmp(q->c, r->c, (size_t)last * sizeof *r->c) == 0) {
            if (r->c[last] < q->c[last]) {
                *q = *r;
            } else if (r->c[last] == q->c[last] && r->is_domain) {
                q->is_domain = true;
                q->i_con = r->i_con;
            }
            s->n_rows--;
            return;
        }
    }
}

static bool row_add_terms(fm_system *s, row *r, const ctune_aff *aff) {
    int n_params = s->region->n_params;
    int first_param = s->n_cols - 1 - s->region->n_divs - n_params;
    for (int t = 0; t < aff->n_terms; t++) {
        const ctune_term *term = &aff->terms[t];
        int col;
        if (term->kind == CTUNE_TERM_AXIS) {
            col = pos_of_dim(s->stmt, term->id);
            if (col < 0) {
                return false;
            }
        } else if (term->kind == CTUNE_TERM_PARAM) {
            col = first_param + term->id;
        } else {
            col = first_param + n_params + term->id;
        }
        r->c[col] += term->coef;
    }
    r->c[s->n_cols - 1] += aff->c0;
    return true;
}

/* Rows of an open tile: sign 1: form - x >= 0, -1: x + step - 1 - form >= 0. */
static void add_tile(fm_system *s, int i, int sign) {
    const ctune_open *o = &s->open[i];
    row *r = row_new(s);
    if (r == NULL) {
        return;
    }
    if (o->n_form == 0) {
        r->c[o->pos] = sign;
    }
    for (int t = 0; t < o->n_form; t++) {
        r->c[o->term[t].of] += sign * o->term[t].coef;
    }
    r->i_open = o->n_form > 0 ? i : -1;
    r->c[s->x_col[i]] = -sign;
    r->c[s->n_cols - 1] = sign * o->shift + (sign < 0 ? o->step - 1 : 0);
    row_settle(s);
}

/* w = sum of coef * x / step, over a common denominator, as two rows. */
static void add_wave(fm_system *s, int i) {
    const ctune_open *o = &s->open[i];
    int64_t den = 1;
    for (int t = 0; t < o->n_wave && !s->failed; t++) {
        int64_t step = s->open[o->term[t].of].step;
        s->failed = __builtin_mul_overflow(den / gcd64(den, step), step, &den);
    }
    for (int sign = 1; sign >= -1 && !s->failed; sign -= 2) {
        row *r = row_new(s);
        for (int t = 0; t < o->n_wave && r != NULL; t++) {
            const ctune_open *x = &s->open[o->term[t].of];
            int col = s->x_col[o->term[t].of] >= 0 ? s->x_col[o->term[t].of] : x->pos;
            int64_t coef;
            s->failed |= __builtin_mul_overflow(den / x->step, sign * o->term[t].coef, &coef);
            r->c[col] += coef;
        }
        if (r != NULL) {
            r->c[s->x_col[i]] = -sign * den;
            row_settle(s);
        }
    }
}

static void system_fill(fm_system *s, const ctune_extra *extra, int n_extra) {
    for (int i = 0; i < s->stmt->n_cons && !s->failed; i++) {
        const ctune_aff *con = s->stmt->cons[i];
        if (!ctune_bounds_is_plain(s->region, con) &&
            (!ctune_bounds_is_opaque(s->region, con) || !is_ruled(s, con))) {
            continue;
        }
        row *r = row_new(s);
        if (r == NULL || !row_add_terms(s, r, s->stmt->cons[i])) {
            s->failed = true;
            return;
        }
        r->is_domain = true;
        r->i_con = i;
        row_settle(s);
    }
    for (int i = 0; i < s->n_open && !s->failed; i++) {
        if (s->open[i].n_wave > 0) {
            add_wave(s, i);
        } else if (s->x_col[i] >= 0 && (s->open[i].pos >= 0 || s->open[i].n_form > 0)) {
            add_tile(s, i, 1);
            add_tile(s, i, -1);
        }
    }
    for (int i = 0; i < n_extra && !s->failed; i++) {
        int col = -1;
        for (int o = 0; o < s->n_open; o++) {
            if (s->open[o].var == extra[i].var && s->open[o].pos < 0) {
                col = s->x_col[o];
            }
        }
        row *r = col < 0 ? NULL : row_new(s);
        if (r == NULL) {
            s->failed = true;
            return;
        }
        int64_t sign = extra[i].is_lower ? 1 : -1;
        r->c[extra[i].pos] = sign;
        r->c[col] = -sign;
        r->c[s->n_cols - 1] = -sign * extra[i].c;
        row_settle(s);
    }
}

static void eliminate(fm_system *s, int col) {
    row old[MAX_ROWS];
    int n_old = s->n_rows;
    memcpy(old, s->rows, (size_t)n_old * sizeof *old);
    s->n_rows = 0;
    for (int i = 0; i < n_old; i++) {
        if (old[i].c[col] == 0) {
            s->rows[s->n_rows++] = old[i];
        }
    }
    for (int i = 0; i < n_old; i++) {
        for (int j = 0; j < n_old; j++) {
            int64_t a = old[i].c[col], b = old[j].c[col];
            if (a <= 0 || b >= 0) {
                continue;
            }
            row *r = row_new(s);
            if (r == NULL) {
                return;
            }
            s->is_inexact |= a != 1 && b != -1;
            for (int k = 0; k < s->n_cols; k++) {
                int64_t x, y;
                if (__builtin_mul_overflow(old[i].c[k], -b, &x) ||
                    __builtin_mul_overflow(old[j].c[k], a, &y) ||
                    __builtin_add_overflow(x, y, &r->c[k])) {
                    s->failed = true;
                    return;
                }
            }
            row_settle(s);
        }
    }
}

/* The row without column `skip`, times sign, as an aff over variables. */
static const ctune_aff *row_to_aff(fm_system *s, const row *r, int skip, int64_t sign) {
    const ctune_aff *aff = ctune_aff_const(s->arena, sign * r->c[s->n_cols - 1]);
    int n_params = s->region->n_params;
    int first_param = s->n_cols - 1 - s->region->n_divs - n_params;
    for (int k = 0; k < s->n_cols - 1; k++) {
        if (k == skip || r->c[k] == 0) {
            continue;
        }
        ctune_term_kind kind = CTUNE_TERM_AXIS;
        int id = -1;
        if (k < s->n_y) {
            id = s->fixed_var[k];
        } else if (k < first_param) {
            for (int i = 0; i < s->n_open; i++) {
                if (s->x_col[i] == k) {
                    id = s->open[i].var;
                }
            }
        } else if (k < first_param + n_params) {
            kind = CTUNE_TERM_PARAM;
            id = k - first_param;
        } else {
            kind = CTUNE_TERM_DIV;
            id = k - first_param - n_params;
        }
        aff = ctune_aff_add(s->arena, aff, ctune_aff_term(s->arena, kind, id, sign * r->c[k]));
    }
    return aff;
}

static void collect(fm_system *s, int pos, ctune_bounds *out) {
    out->lower = CTUNE_NEW_ARRAY(s->arena, ctune_bound_row, s->n_rows + 1);
    out->upper = CTUNE_NEW_ARRAY(s->arena, ctune_bound_row, s->n_rows + 1);
    out->n_lower = out->n_upper = out->n_param_rows = out->n_open_rows = 0;
    out->param_rows = CTUNE_NEW_ARRAY(s->arena, const ctune_aff *, s->n_rows + 1);
    out->open_rows = CTUNE_NEW_ARRAY(s->arena, const ctune_aff *, s->n_rows + 1);
    if (out->lower == NULL || out->upper == NULL || out->param_rows == NULL ||
        out->open_rows == NULL) {
        s->failed = true;
        return;
    }
    for (int i = 0; i < s->n_rows; i++) {
        const row *r = &s->rows[i];
        int64_t a = r->c[pos];
        if (a == 0) {
            bool params_only = true;
            for (int k = 0; k < s->n_cols - 1 - s->region->n_divs - s->region->n_params; k++) {
                params_only &= r->c[k] == 0;
            }
            if (params_only) {
                out->param_rows[out->n_param_rows++] = row_to_aff(s, r, -1, 1);
            } else {
                out->open_rows[out->n_open_rows++] = row_to_aff(s, r, -1, 1);
            }
            continue;
        }
        ctune_bound_row b = {.den = a > 0 ? a : -a,
                             .is_domain = r->is_domain,
                             .i_con = r->i_con,
                             .i_open = r->i_open};
        b.aff = row_to_aff(s, r, pos, a > 0 ? -1 : 1);
        if (b.aff == NULL) {
            s->failed = true;
            return;
        }
        if (a > 0) {
            out->lower[out->n_lower++] = b;
        } else {
            out->upper[out->n_upper++] = b;
        }
    }
}

/* Columns of the variables; which of them stay. */
static void place_columns(fm_system *s) {
    int n_x = 0;
    for (int i = 0; i < s->n_open; i++) {
        const ctune_open *o = &s->open[i];
        s->x_col[i] = -1;
        if (o->pos >= 0 && o->step == 1) {
            if (o->var >= 0) {
                s->kept[o->pos] = true;
                s->fixed_var[o->pos] = o->var;
            }
        } else {
            s->x_col[i] = s->n_y + n_x++;
            s->kept[s->x_col[i]] = o->var >= 0;
        }
    }
    s->n_vars = s->n_y + n_x;
    s->n_cols = s->n_vars + s->region->n_params + s->region->n_divs + 1;
}

/* The cheapest column to project out: fewest products of lower and upper rows. -1: none is left. */
static int cheapest(const fm_system *s, const bool *done) {
    int best = -1;
    long best_cost = 0;
    for (int y = 0; y < s->n_vars; y++) {
        long n_lo = 0, n_hi = 0;
        if (s->kept[y] || done[y]) {
            continue;
        }
        for (int i = 0; i < s->n_rows; i++) {
            n_lo += s->rows[i].c[y] > 0;
            n_hi += s->rows[i].c[y] < 0;
        }
        if (best < 0 || n_lo * n_hi < best_cost) {
            best = y;
            best_cost = n_lo * n_hi;
        }
    }
    return best;
}

/* target: position of a dim, or, is_open, an index into open. */
static void solve(fm_system *s, const ctune_extra *extra, int n_extra, bool is_open, int target,
                  ctune_bounds *out) {
    bool done[CTUNE_MAX_DEPTH + CTUNE_MAX_OPEN] = {false};
    place_columns(s);
    int wanted = is_open ? s->x_col[target] : target;
    s->kept[wanted] = true;
    system_fill(s, extra, n_extra);
    for (int y = cheapest(s, done); y >= 0 && !s->failed; y = cheapest(s, done)) {
        done[y] = true;
        eliminate(s, y);
    }
    if (!s->failed) {
        collect(s, wanted, out);
    }
}

static ctune_status find(ctune_ctx *ctx, fm_system *s, int n_open, const ctune_extra *extra,
                         int n_extra, bool is_open, int target, ctune_bounds *out) {
    if (s == NULL || n_open > CTUNE_MAX_OPEN) {
        return ctune_fail(ctx, s == NULL ? CTUNE_ENOMEM : CTUNE_EREFUSED, "too many loops");
    }
    s->n_open = n_open;
    s->n_y = s->stmt->n_dims;
    solve(s, extra, n_extra, is_open, target, out);
    out->is_inexact = s->is_inexact;
    if (s->failed) {
        return ctune_arena_has_failed(s->arena)
                   ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory")
                   : ctune_fail(ctx, CTUNE_EREFUSED, "loop bounds too complex to lower");
    }
    if (out->n_lower == 0 || out->n_upper == 0) {
        return ctune_fail(ctx, CTUNE_EREFUSED, "a loop has no finite bounds");
    }
    return CTUNE_OK;
}

static fm_system *system_new(ctune_arena *arena, const ctune_region *region, const ctune_stmt *stmt,
                             const ctune_open *open) {
    fm_system *s = calloc(1, sizeof *s);
    if (s != NULL) {
        s->arena = arena;
        s->region = region;
        s->stmt = stmt;
        s->open = open;
    }
    return s;
}

ctune_status ctune_bounds_find(ctune_ctx *ctx, ctune_arena *arena, const ctune_region *region,
                               const ctune_stmt *stmt, const ctune_open *open, int n_open,
                               const ctune_extra *extra, int n_extra, int pos, ctune_bounds *out) {
    fm_system *s = system_new(arena, region, stmt, open);
    ctune_status status = find(ctx, s, n_open, extra, n_extra, false, pos, out);
    free(s);
    return status;
}

ctune_status ctune_bounds_find_open(ctune_ctx *ctx, ctune_arena *arena, const ctune_region *region,
                                    const ctune_stmt *stmt, const ctune_open *open, int n_open,
                                    const ctune_extra *extra, int n_extra, int target,
                                    ctune_bounds *out) {
    fm_system *s = system_new(arena, region, stmt, open);
    ctune_status status = find(ctx, s, n_open, extra, n_extra, true, target, out);
    free(s);
    return status;
}
