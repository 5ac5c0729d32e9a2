/*
 * switch: its sections as branches of one chain.
 *
 * In: a SwitchStmt. Out: for a scrutinee of counters and parameters the domain is split where it
 * meets a case's value, and each part has its section; any other is read once into a temporary, and
 * guards compare it. A section that falls through has the next one's statements behind its own.
 */
#include "plugin/extract/build.h"

#include "plugin/extract/assign.h"

enum { MAX_SECTIONS = 24, MAX_VALUES = 48, MAX_SPLIT_VALUES = 6 };

typedef struct section {
    int first, n; /* its values */
    bool is_default;
    bool has_ended;  /* while reading: by a break, return or continue */
    ctune_kids body; /* with what it falls through to; without the break */
} section;

typedef struct cases {
    CXCursor at, scrutinee;
    int n, n_values;
    section section[MAX_SECTIONS];
    int64_t value[MAX_VALUES];
    ctune_type type;
    int temporary; /* -1: the scrutinee is affine */
} cases;

static bool refuse(ctune_build *b, CXCursor at, const char *words) {
    return ctune_build_refuse(b, CTUNE_REFUSE_SWITCH, at, "switch in the region%s", words);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* case 1: case 2: statement. The statement, its labels noted in the section. */
static bool read_labels(ctune_build *b, cases *c, section *s, CXCursor at, CXCursor *statement) {
    for (;;) {
        enum CXCursorKind kind = ctune_cx_kind(at);
        ctune_kids kids = ctune_cx_exprs(b->arena, at);
        if (kind == CXCursor_CaseStmt && kids.n == 2) {
            if (c->n_values == MAX_VALUES || !ctune_cx_int(kids.at[0], &c->value[c->n_values])) {
                return refuse(b, at, ": too many cases, or a range");
            }
            c->n_values++;
            s->n++;
            at = kids.at[1];
        } else if (kind == CXCursor_DefaultStmt && kids.n == 1) {
            s->is_default = true;
            at = kids.at[0];
        } else {
            *statement = at;
            return kind != CXCursor_CaseStmt || refuse(b, at, ": a range of cases");
        }
    }
}

static bool breaks(ctune_build *b, CXCursor at) {
    enum CXCursorKind kind = ctune_cx_kind(at);
    bool is_inner = kind == CXCursor_ForStmt || kind == CXCursor_WhileStmt ||
                    kind == CXCursor_DoStmt || kind == CXCursor_SwitchStmt;
    ctune_kids kids = ctune_cx_exprs(b->arena, at);
    bool found = kind == CXCursor_BreakStmt;
    for (int i = 0; i < kids.n && !found && !is_inner; i++) {
        found = breaks(b, kids.at[i]);
    }
    return found;
}

static bool append(ctune_build *b, ctune_kids *list, CXCursor statement) {
    CXCursor *all = CTUNE_NEW_ARRAY(b->arena, CXCursor, list->n + 1);
    if (all == NULL) {
        return false;
    }
    if (list->n > 0) {
        memcpy(all, list->at, (size_t)list->n * sizeof *all);
    }
    all[list->n] = statement;
    *list = (ctune_kids){list->n + 1, all};
    return true;
}

static bool is_end(CXCursor statement) {
    enum CXCursorKind kind = ctune_cx_kind(statement);
    return kind == CXCursor_BreakStmt || kind == CXCursor_ReturnStmt ||
           kind == CXCursor_ContinueStmt;
}

/* A statement goes to each section that is open: those that have not ended yet. */
static bool add_statement(ctune_build *b, cases *c, CXCursor statement) {
    if (ctune_cx_kind(statement) == CXCursor_CompoundStmt) {
        ctune_kids kids = ctune_cx_kids(b->arena, statement);
        for (int i = 0; i < kids.n; i++) {
            if (!add_statement(b, c, kids.at[i])) {
                return false;
            }
        }
        return true;
    }
    bool ends = is_end(statement);
    if (!ends && breaks(b, statement)) {
        return refuse(b, statement, ": a break that is not the end of its case");
    }
    for (int k = 0; k < c->n; k++) {
        section *s = &c->section[k];
        bool is_kept = !s->has_ended && ctune_cx_kind(statement) != CXCursor_BreakStmt;
        if (is_kept && !append(b, &s->body, statement)) {
            return false;
        }
        s->has_ended |= ends;
    }
    return true;
}

static bool read_sections(ctune_build *b, cases *c, ctune_kids list) {
    for (int i = 0; i < list.n; i++) {
        CXCursor statement = list.at[i];
        enum CXCursorKind kind = ctune_cx_kind(statement);
        if (kind == CXCursor_CaseStmt || kind == CXCursor_DefaultStmt) {
            if (c->n == MAX_SECTIONS) {
                return refuse(b, statement, ": too many cases");
            }
            section *s = &c->section[c->n++];
            *s = (section){.first = c->n_values};
            if (!read_labels(b, c, s, list.at[i], &statement)) {
                return false;
            }
        } else if (c->n == 0) {
            return refuse(b, statement, ": a statement before its first case");
        }
        if (!add_statement(b, c, statement)) {
            return false;
        }
    }
    return true;
}

/* ---- building -------------------------------------------------------------------------------- */

static ctune_answer answer_section(ctune_build *b, const cases *c, const section *s,
                                   const ctune_poly *poly) {
    ctune_answer answer = CTUNE_NO;
    for (int i = 0; i < s->n && answer == CTUNE_NO; i++) {
        const ctune_poly *value = ctune_poly_const(b->arena, c->value[s->first + i]);
        answer = ctune_split_equal(b, ctune_poly_sub(b->arena, poly, value), c->at);
    }
    return answer;
}

/* The whole domain is in one section, or b->split says where it is to be cut. */
static bool build_affine(ctune_build *b, const cases *c, const ctune_poly *poly) {
    const section *rest = NULL;
    for (int i = 0; i < c->n; i++) {
        ctune_answer answer = answer_section(b, c, &c->section[i], poly);
        if (answer == CTUNE_YES) {
            return ctune_branch_list(b, c->section[i].body, b->in_tail);
        }
        if (answer != CTUNE_NO) {
            return answer == CTUNE_OPEN ? false : refuse(b, c->at, "");
        }
        rest = c->section[i].is_default ? &c->section[i] : rest;
    }
    return rest == NULL || ctune_branch_list(b, rest->body, b->in_tail);
}

static ctune_expr *read_value(ctune_build *b, const cases *c) {
    ctune_expr *e = ctune_expr_new(b, CTUNE_OP_READ, c->type, 0);
    if (e != NULL) {
        e->read_id = ctune_temporary_use(b, c->temporary, &e->access, c->at);
    }
    return e != NULL && e->read_id >= 0 ? e : NULL;
}

static ctune_expr *is_section(ctune_build *b, const cases *c, const section *s) {
    ctune_expr *any = NULL;
    for (int i = 0; i < s->n; i++) {
        ctune_expr *one = ctune_expr_new(b, CTUNE_OP_EQ, CTUNE_I32, 2, read_value(b, c),
                                         ctune_expr_int(b, c->type, c->value[s->first + i]));
        any = i == 0 ? one : ctune_expr_new(b, CTUNE_OP_LOR, CTUNE_I32, 2, any, one);
    }
    return any;
}

/* Sections from i on; the default comes last. */
static bool build_guards(ctune_build *b, const cases *c, int i) {
    while (i < c->n && c->section[i].is_default) {
        i++;
    }
    if (i == c->n) {
        for (int k = 0; k < c->n; k++) {
            if (c->section[k].is_default) {
                return ctune_branch_list(b, c->section[k].body, b->in_tail);
            }
        }
        return true;
    }
    ctune_mnode *node = ctune_mnode_new(b, CTUNE_M_GUARD), *parent = b->at;
    const ctune_var *before = ctune_index_save(b);
    if (node == NULL || before == NULL) {
        return false;
    }
    node->parent = parent;
    node->guard = is_section(b, c, &c->section[i]);
    b->at = node;
    b->n_maybe++;
    bool ok = node->guard != NULL && ctune_branch_list(b, c->section[i].body, b->in_tail);
    const ctune_var *then = ctune_index_save(b);
    ctune_index_rewind(b, before);
    node->in_otherwise = true;
    ok = ok && then != NULL && build_guards(b, c, i + 1);
    node->in_otherwise = false;
    b->n_maybe--;
    b->at = parent;
    if (ok) {
        ctune_index_merge(b, then, 0, NULL);
    }
    bool is_empty = node->kids.n + node->otherwise.n == 0;
    return ok && (is_empty || ctune_mnode_add(b, parent, node));
}

/* The scrutinee's value, before anything can change it. */
static bool remember(ctune_build *b, cases *c) {
    ctune_expr *value = ctune_expr_get(b, c->scrutinee);
    ctune_access *target = CTUNE_NEW(b->arena, ctune_access);
    if (value == NULL || target == NULL || ctune_type_is_float(value->type)) {
        return false;
    }
    c->type = value->type < CTUNE_I32 ? CTUNE_I32 : value->type;
    c->temporary = ctune_temporary_new(b, "cond", c->type, c->at);
    int acc = c->temporary < 0 ? -1 : ctune_temporary_use(b, c->temporary, target, c->at);
    ctune_mnode *stage = acc < 0 ? NULL
                                 : ctune_stage_new(b, c->at, target, acc, CTUNE_UPDATE_SET, c->type,
                                                   ctune_expr_cast(b, value, c->type));
    return stage != NULL && ctune_mnode_add(b, b->at, stage);
}

/* NULL: the value follows from data. */
static const ctune_poly *affine_value(ctune_build *b, CXCursor scrutinee) {
    ctune_why kept = b->why;
    bool kept_assume = b->no_assume;
    b->no_assume = true;
    ctune_int value = ctune_affine_get(b, scrutinee);
    value = value.poly != NULL ? ctune_affine_settle(b, value, scrutinee) : value;
    b->no_assume = kept_assume;
    b->why = kept;
    return value.poly;
}

bool ctune_switch_build(ctune_build *b, CXCursor cursor) {
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    cases *c = CTUNE_NEW(b->arena, cases);
    if (kids.n != 2 || c == NULL || ctune_cx_kind(kids.at[1]) != CXCursor_CompoundStmt) {
        return refuse(b, cursor, "");
    }
    *c = (cases){.at = cursor, .scrutinee = kids.at[0], .temporary = -1};
    if (!read_sections(b, c, ctune_cx_kids(b->arena, kids.at[1]))) {
        return false;
    }
    bool has_default = false;
    for (int i = 0; i < c->n; i++) {
        has_default |= c->section[i].is_default;
    }
    if (!has_default && c->n < MAX_SECTIONS) {
        c->section[c->n++] = (section){.is_default = true};
    }
    for (int i = 0; i < c->n; i++) {
        if (!ctune_branch_follow(b, cursor, &c->section[i].body)) {
            return false;
        }
    }
    b->split = NULL;
    const ctune_poly *poly = c->n_values <= MAX_SPLIT_VALUES ? affine_value(b, c->scrutinee) : NULL;
    if (poly != NULL || b->split != NULL) {
        return poly != NULL && build_affine(b, c, poly);
    }
    return remember(b, c) && build_guards(b, c, 0);
}
