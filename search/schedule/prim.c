/*
 * The primitive table and the schedule as a growable list, and its text: printing (parse.c reads it
 * back).
 *
 * One row of CTUNE_PRIM_TABLE holds a primitive's syntax, so that a new primitive needs no code
 * here.
 */
#include "search/schedule/schedule.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "search/schedule/modes.h"

static const ctune_prim_info prim_table[] = {
#define X(id, name, structural, syntax, help) {name, structural, syntax, help},
    CTUNE_PRIM_TABLE(X)
#undef X
};

const ctune_prim_info *ctune_prim_get(ctune_prim_kind kind) {
    return &prim_table[kind];
}

void ctune_schedule_init(ctune_schedule *schedule) {
    memset(schedule, 0, sizeof *schedule);
}

void ctune_schedule_clear(ctune_schedule *schedule) {
    free(schedule->prim);
    ctune_schedule_init(schedule);
}

void ctune_schedule_append(ctune_schedule *schedule, const ctune_prim *prim) {
    if (schedule->failed || schedule->n >= CTUNE_SCHEDULE_PRIMS) {
        schedule->failed = true;
        return;
    }
    if (schedule->n == schedule->size) {
        int size = schedule->size == 0 ? 16 : schedule->size * 2;
        ctune_prim *grown = realloc(schedule->prim, (size_t)size * sizeof *grown);
        if (grown == NULL) {
            schedule->failed = true;
            return;
        }
        schedule->prim = grown;
        schedule->size = size;
    }
    schedule->prim[schedule->n++] = *prim;
}

bool ctune_schedule_is_equal(const ctune_schedule *a, const ctune_schedule *b) {
    if (a->n != b->n) {
        return false;
    }
    for (int i = 0; i < a->n; i++) {
        const ctune_prim *x = &a->prim[i], *y = &b->prim[i];
        if (x->kind != y->kind || x->n_names != y->n_names || x->number != y->number ||
            x->is_less != y->is_less || x->is_shared != y->is_shared) {
            return false;
        }
        for (int k = 0; k < x->n_names; k++) {
            if (strcmp(x->name[k], y->name[k]) != 0 || x->coef[k] != y->coef[k]) {
                return false;
            }
        }
    }
    return true;
}

/* Names with a factor, from *i_name on. */
static void print_sum(const ctune_prim *prim, int *i_name, ctune_text *out) {
    int first = *i_name;
    for (; *i_name < prim->n_names && prim->coef[*i_name] != 0; ++*i_name) {
        int32_t coef = prim->coef[*i_name];
        if (*i_name > first) {
            ctune_text_append(out, coef < 0 ? " - " : " + ");
        } else if (coef < 0) {
            ctune_text_append(out, "-");
        }
        if (coef != 1 && coef != -1) {
            ctune_text_printf(out, "%d*", coef < 0 ? -coef : coef);
        }
        ctune_text_append(out, prim->name[*i_name]);
    }
}

static void print_prim(const ctune_prim *prim, ctune_text *out) {
    const ctune_prim_info *info = ctune_prim_get(prim->kind);
    int i_name = 0;
    const char *space = " ";
    ctune_text_append(out, info->name);
    for (const char *s = info->syntax; *s != '\0'; s++) {
        bool is_glue = *s == '.' || *s == '=';
        if (!is_glue) {
            ctune_text_append(out, space);
        }
        space = is_glue ? "" : " ";
        switch (*s) {
        case 'n':
            ctune_text_append(out, prim->name[i_name++]);
            break;
        case '+':
            for (; i_name < prim->n_names; i_name++) {
                ctune_text_printf(out, "%s%s", prim->name[i_name],
                                  i_name + 1 < prim->n_names ? " " : "");
            }
            break;
        case '#':
            ctune_text_printf(out, "%" PRId64, prim->number);
            break;
        case 'm':
            ctune_text_append(out, ctune_poly_mode_name((ctune_poly_mode)prim->number));
            break;
        case '>':
            ctune_text_append(out, "->");
            break;
        case 'b':
            ctune_text_append(out, "by");
            break;
        case 'f':
            print_sum(prim, &i_name, out);
            break;
        case 'c':
            print_sum(prim, &i_name, out);
            ctune_text_printf(out, " %s %" PRId64, prim->is_less ? "<" : ">=", prim->number);
            break;
        case '@':
            ctune_text_append(out, "at");
            break;
        case 'p':
            ctune_text_append(out, prim->is_shared ? "shared" : "pack");
            break;
        case 'r':
            ctune_text_append(out, "register");
            break;
        case 'h':
            ctune_text_append(out, ctune_ann_name((ctune_ann)prim->number));
            break;
        default:
            ctune_text_append_n(out, s, 1);
            break;
        }
    }
    ctune_text_append(out, "\n");
}

void ctune_schedule_print(const ctune_schedule *schedule, ctune_text *out) {
    for (int i = 0; i < schedule->n; i++) {
        print_prim(&schedule->prim[i], out);
    }
}
