/*
 * Text of a schedule -> list of primitives, driven by the syntax column of CTUNE_PRIM_TABLE.
 *
 * In: NUL-terminated text from a pragma clause, a lock file or the history, so nothing about it is
 * trusted. Out: primitives appended to a schedule. No loop or stage is looked up here: a schedule
 * is data and is parsed without its region.
 */
#include "search/schedule/schedule.h"

#include <stdio.h>
#include <string.h>

#include "search/schedule/modes.h"

enum { MAX_COEF = 1 << 16, MAX_SIDE = 1 << 30 };

typedef struct scanner {
    ctune_ctx *ctx;
    const char *at; /* next byte */
    const char *line_start;
    int line;
} scanner;

static ctune_status fail_at(scanner *s, const char *at, const char *what) {
    return ctune_fail(s->ctx, CTUNE_EUSAGE, "schedule:%d:%d: %s", s->line,
                      (int)(at - s->line_start) + 1, what);
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static bool is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_name_char(char c) {
    return is_name_start(c) || is_digit(c);
}

static void skip_blanks(scanner *s) {
    while (is_blank(*s->at)) {
        s->at++;
    }
    if (*s->at == '#') {
        s->at += strcspn(s->at, "\n");
    }
}

static bool is_at_end(const scanner *s) {
    return *s->at == '\0' || *s->at == '\n' || *s->at == ';';
}

static ctune_status scan_name(scanner *s, char out[CTUNE_NAME_BYTES], const char *what) {
    skip_blanks(s);
    const char *start = s->at;
    if (!is_name_start(*start)) {
        return fail_at(s, start, what);
    }
    while (is_name_char(*s->at)) {
        s->at++;
    }
    size_t len = (size_t)(s->at - start);
    if (len >= CTUNE_NAME_BYTES) {
        return fail_at(s, start, "name longer than 23 characters");
    }
    memcpy(out, start, len);
    out[len] = '\0';
    return CTUNE_OK;
}

static ctune_status scan_number(scanner *s, int64_t *out) {
    skip_blanks(s);
    const char *start = s->at;
    int64_t value = 0;
    if (!is_digit(*start)) {
        return fail_at(s, start, "a number is expected");
    }
    for (; is_digit(*s->at); s->at++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *s->at - '0', &value)) {
            return fail_at(s, start, "number too large");
        }
    }
    *out = value;
    return CTUNE_OK;
}

static ctune_status scan_word(scanner *s, const char *word, const char *what) {
    skip_blanks(s);
    size_t len = strlen(word);
    if (strncmp(s->at, word, len) != 0 ||
        (is_name_char(word[len - 1]) && is_name_char(s->at[len]))) {
        return fail_at(s, s->at, what);
    }
    s->at += len;
    return CTUNE_OK;
}

static ctune_status scan_names(scanner *s, ctune_prim *prim) {
    do {
        if (prim->n_names == CTUNE_PRIM_NAMES) {
            return fail_at(s, s->at, "too many names");
        }
        ctune_status status = scan_name(s, prim->name[prim->n_names], "a loop name is expected");
        if (status != CTUNE_OK) {
            return status;
        }
        prim->n_names++;
        skip_blanks(s);
    } while (!is_at_end(s));
    return CTUNE_OK;
}

/* One name of a sum and its factor: [INT [*]] NAME; sign is that before it. */
static ctune_status scan_term(scanner *s, int sign, ctune_prim *prim) {
    int64_t coef = 1;
    skip_blanks(s);
    const char *start = s->at;
    if (prim->n_names == CTUNE_PRIM_NAMES) {
        return fail_at(s, start, "too many names");
    }
    if (is_digit(*s->at)) {
        ctune_status status = scan_number(s, &coef);
        if (status != CTUNE_OK) {
            return status;
        }
        skip_blanks(s);
        s->at += *s->at == '*';
    }
    if (coef < 1 || coef > MAX_COEF) {
        return fail_at(s, start, "a factor must lie in 1 .. 65536");
    }
    prim->coef[prim->n_names] = (int32_t)(sign * coef);
    ctune_status status = scan_name(s, prim->name[prim->n_names], "a name is expected");
    prim->n_names += status == CTUNE_OK;
    return status;
}

static ctune_status scan_sum(scanner *s, ctune_prim *prim) {
    skip_blanks(s);
    int sign = *s->at == '-' ? -1 : 1;
    s->at += sign < 0;
    for (;;) {
        ctune_status status = scan_term(s, sign, prim);
        if (status != CTUNE_OK) {
            return status;
        }
        skip_blanks(s);
        if (*s->at != '+' && (*s->at != '-' || s->at[1] == '>')) {
            return CTUNE_OK;
        }
        sign = *s->at++ == '-' ? -1 : 1;
    }
}

/* SUM < INT and the like, as < or >=. */
static ctune_status scan_condition(scanner *s, ctune_prim *prim) {
    int64_t value;
    ctune_status status = scan_sum(s, prim);
    if (status != CTUNE_OK) {
        return status;
    }
    skip_blanks(s);
    if (*s->at != '<' && *s->at != '>') {
        return fail_at(s, s->at, "<, <=, > or >= is expected");
    }
    prim->is_less = *s->at++ == '<';
    bool has_equal = *s->at == '=';
    s->at += has_equal;
    skip_blanks(s);
    const char *start = s->at;
    int sign = *s->at == '-' ? -1 : 1;
    s->at += sign < 0;
    status = scan_number(s, &value);
    if (status == CTUNE_OK && value > MAX_SIDE) {
        status = fail_at(s, start, "number too large");
    }
    if (status == CTUNE_OK) {
        prim->number = sign * value + (prim->is_less == has_equal);
    }
    return status;
}

static ctune_status scan_mode(scanner *s, int64_t *out) {
    char word[CTUNE_NAME_BYTES];
    ctune_poly_mode mode = CTUNE_POLY_MAX;
    skip_blanks(s);
    const char *start = s->at;
    ctune_status status = scan_name(s, word, "max, min or smart is expected");
    if (status == CTUNE_OK && !ctune_poly_mode_parse(word, &mode)) {
        status = fail_at(s, start, "max, min or smart is expected");
    }
    *out = mode;
    return status;
}

static ctune_status scan_place(scanner *s, ctune_prim *prim) {
    skip_blanks(s);
    prim->is_shared = strncmp(s->at, "shared", 6) == 0;
    return scan_word(s, prim->is_shared ? "shared" : "pack", "'pack' or 'shared' is expected");
}

static ctune_status scan_axis(scanner *s, int64_t *out) {
    skip_blanks(s);
    for (int ann = CTUNE_ANN_BLOCK_X; ann <= CTUNE_ANN_THREAD_Z; ann++) {
        const char *name = ctune_ann_name((ctune_ann)ann);
        if (strncmp(s->at, name, strlen(name)) == 0) {
            *out = ann;
            return scan_word(s, name, "");
        }
    }
    return fail_at(s, s->at, "block.x, .y, .z or thread.x, .y, .z is expected");
}

static ctune_status scan_operand(scanner *s, char syntax, ctune_prim *prim) {
    ctune_status status = CTUNE_OK;
    switch (syntax) {
    case 'n':
        if (prim->n_names == CTUNE_PRIM_NAMES) {
            return fail_at(s, s->at, "too many names");
        }
        status = scan_name(s, prim->name[prim->n_names], "a name is expected");
        prim->n_names++;
        return status;
    case '+':
        return scan_names(s, prim);
    case '#':
        return scan_number(s, &prim->number);
    case 'm':
        return scan_mode(s, &prim->number);
    case 'f':
        return scan_sum(s, prim);
    case 'c':
        return scan_condition(s, prim);
    case 'b':
        return scan_word(s, "by", "'by' is expected");
    case '>':
        return scan_word(s, "->", "'->' is expected");
    case '@':
        return scan_word(s, "at", "'at' is expected");
    case 'p':
        return scan_place(s, prim);
    case 'h':
        return scan_axis(s, &prim->number);
    case 'r':
        return scan_word(s, "register", "'register' is expected");
    case '.':
        return scan_word(s, ".", "'.' and a read's number are expected");
    default:
        return scan_word(s, "=", "'=' and a value are expected");
    }
}

static bool find_prim(const char *word, ctune_prim_kind *out) {
    for (int k = 0; k < CTUNE_N_PRIMS; k++) {
        if (strcmp(word, ctune_prim_get((ctune_prim_kind)k)->name) == 0) {
            *out = (ctune_prim_kind)k;
            return true;
        }
    }
    return false;
}

static ctune_status parse_prim(scanner *s, ctune_prim *prim) {
    char word[CTUNE_NAME_BYTES];
    const char *start = s->at;
    memset(prim, 0, sizeof *prim);
    ctune_status status = scan_name(s, word, "a primitive is expected");
    if (status != CTUNE_OK) {
        return status;
    }
    if (!find_prim(word, &prim->kind)) {
        return fail_at(s, start, "unknown primitive");
    }
    for (const char *x = ctune_prim_get(prim->kind)->syntax; *x != '\0'; x++) {
        status = scan_operand(s, *x, prim);
        if (status != CTUNE_OK) {
            return status;
        }
    }
    skip_blanks(s);
    return is_at_end(s) ? CTUNE_OK : fail_at(s, s->at, "unexpected text after the primitive");
}

ctune_status ctune_schedule_parse(ctune_ctx *ctx, const char *text, ctune_schedule *out) {
    scanner s = {ctx, text, text, 1};
    for (;;) {
        skip_blanks(&s);
        if (*s.at == '\0') {
            break;
        }
        if (is_at_end(&s)) {
            if (*s.at == '\n') {
                s.line++;
                s.line_start = s.at + 1;
            }
            s.at++;
            continue;
        }
        ctune_prim prim;
        const char *start = s.at;
        ctune_status status = parse_prim(&s, &prim);
        if (status != CTUNE_OK) {
            return status;
        }
        if (out->n == CTUNE_SCHEDULE_PRIMS) {
            return fail_at(&s, start, "too many primitives");
        }
        ctune_schedule_append(out, &prim);
        if (out->failed) {
            return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
        }
    }
    return CTUNE_OK;
}

void ctune_schedule_append_text(ctune_schedule *schedule, const char *line) {
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    if (ctune_schedule_parse(&ctx, line, schedule) != CTUNE_OK) {
        schedule->failed = true;
    }
}
