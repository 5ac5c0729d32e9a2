/*
 * The text of a lock: print and parse. docs/lock.md has the format.
 *
 * One fact a line, words separated by single spaces, so that a review or a merge shows what
 * changed. The parser takes any indentation and line ends (editors and checkouts change both) and
 * nothing else: a fact that is missing, doubled or misspelt is an error with its place, never a
 * guess. Numbers are written and read as fixed-point integers: the host's locale plays no part.
 */
#include "search/lock/lock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- print --------------------------------------------------------------------------------- */
/* unit, nanoseconds in a thousandth of it */
static const struct {
    const char *name;
    double quantum_ns;
} units[] = {{"ns", 1e-3}, {"us", 1}, {"ms", 1e3}, {"s", 1e6}};
enum { N_UNITS = sizeof units / sizeof *units };

static void print_thousandths(ctune_text *out, long long value) {
    ctune_text_printf(out, "%lld.%03lld", value / 1000, value % 1000);
}

/* Three places in the unit that gives the fewest digits; printing what was parsed gives the same.
 */
static void print_time(ctune_text *out, double ns) {
    int unit = 0;
    while (unit + 1 < N_UNITS && (long long)(ns / units[unit].quantum_ns + 0.5) >= 1000000) {
        unit++;
    }
    print_thousandths(out, (long long)(ns / units[unit].quantum_ns + 0.5));
    ctune_text_printf(out, " %s", units[unit].name);
}

static void print_schedule(ctune_text *out, const char *schedule) {
    if (schedule[0] == '\0') {
        ctune_text_append(out, "  schedule original\n");
        return;
    }
    ctune_text_append(out, "  schedule\n");
    while (*schedule != '\0') {
        size_t n = strcspn(schedule, "\n");
        ctune_text_append(out, "    ");
        ctune_text_append_n(out, schedule, n);
        ctune_text_append(out, "\n");
        schedule += schedule[n] == '\n' ? n + 1 : n;
    }
}

void ctune_lock_print(const ctune_lock *lock, ctune_text *out) {
    ctune_text_append(out, "ctune-lock 1\n");
    for (int i = 0; i < lock->n; i++) {
        const ctune_lock_entry *e = &lock->entry[i];
        ctune_text_printf(out, "region %s in %s\n  target %s\n  workload %016llx", e->region,
                          e->source, e->target, (unsigned long long)e->workload);
        ctune_text_printf(out, "%s%s\n  speedup ", e->sizes[0] != '\0' ? " sizes " : "", e->sizes);
        long long hundredths = (long long)(e->speedup * 100 + 0.5);
        ctune_text_printf(out, "%lld.%02lld time ", hundredths / 100, hundredths % 100);
        print_time(out, e->tuned_ns);
        ctune_text_append(out, "\n");
        if (e->verified != NULL && e->verified[0] != '\0') {
            ctune_text_printf(out, "  verified %s\n", e->verified);
        }
        print_schedule(out, e->schedule);
        ctune_text_append(out, "end\n");
    }
}

/* ---- parse: lines and words ---------------------------------------------------------------- */
typedef struct reader {
    ctune_ctx *ctx;
    const char *name;  /* of the file */
    const char *at;    /* next byte of the current line */
    const char *end;   /* of the current line, outer blanks excluded */
    const char *begin; /* of the current line */
    const char *next;  /* next line, NULL after the last */
    int line;          /* 1-based */
} reader;

static bool is_blank(char c) {
    return c != '\0' && strchr(" \t\r\v\f", c) != NULL;
}

static ctune_status fail_at(reader *r, const char *format, ...) CTUNE_PRINTF(2, 3);

static ctune_status fail_at(reader *r, const char *format, ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return ctune_fail(r->ctx, CTUNE_EUSAGE, "%s:%d:%d: %s", r->name, r->line,
                      (int)(r->at - r->begin) + 1, text);
}

/* Go to the next line that is not empty; false at the end of the text. */
static bool next_line(reader *r) {
    while (r->next != NULL && *r->next != '\0') {
        r->begin = r->at = r->next;
        r->end = r->begin + strcspn(r->begin, "\n");
        r->next = *r->end == '\n' ? r->end + 1 : NULL;
        r->line++;
        while (r->at < r->end && is_blank(*r->at)) {
            r->at++;
        }
        while (r->end > r->at && is_blank(r->end[-1])) {
            r->end--;
        }
        if (r->at < r->end) {
            return true;
        }
    }
    r->begin = r->at = r->end = "";
    r->line++;
    return false;
}

static void skip_blanks(reader *r) {
    while (r->at < r->end && is_blank(*r->at)) {
        r->at++;
    }
}

/* Bytes of the word at r->at. */
static int word_bytes(const reader *r) {
    int n = 0;
    while (r->at + n < r->end && !is_blank(r->at[n])) {
        n++;
    }
    return n;
}

static bool skip_word(reader *r, const char *word) {
    int n = word_bytes(r);
    if ((size_t)n != strlen(word) || memcmp(r->at, word, (size_t)n) != 0) {
        return false;
    }
    r->at += n;
    skip_blanks(r);
    return true;
}

static ctune_status expect_word(reader *r, const char *word) {
    if (skip_word(r, word)) {
        return CTUNE_OK;
    }
    if (r->end - r->at >= 7 && strspn(r->at, "<=>|") >= 7) {
        return fail_at(r,
                       "conflict marker of a merge: keep the entries of both sides, or tune again");
    }
    int n = word_bytes(r);
    return n > 0 ? fail_at(r, "expected '%s', not '%.*s'", word, n < 60 ? n : 60, r->at)
                 : fail_at(r, "expected '%s' (is the file cut off?)", word);
}

static ctune_status expect_end(reader *r) {
    int n = word_bytes(r);
    return n == 0 ? CTUNE_OK : fail_at(r, "'%.*s' is not expected here", n < 60 ? n : 60, r->at);
}

/* The next word, or all the rest of the line. Owner: caller. */
static ctune_status read_copy(reader *r, const char *what, bool is_rest, char **out) {
    int n = is_rest ? (int)(r->end - r->at) : word_bytes(r);
    if (n == 0) {
        return fail_at(r, "expected %s", what);
    }
    *out = strndup(r->at, (size_t)n);
    if (*out == NULL) {
        return ctune_fail(r->ctx, CTUNE_ENOMEM, "%s: out of memory", r->name);
    }
    r->at += n;
    skip_blanks(r);
    return CTUNE_OK;
}

static ctune_status read_hex(reader *r, uint64_t *out) {
    int n = word_bytes(r);
    uint64_t value = 0;
    bool is_valid = n == 16;
    for (int i = 0; i < n && is_valid; i++) {
        const char *digit = memchr("0123456789abcdef", r->at[i], 16);
        is_valid = digit != NULL;
        value = value << 4 | (is_valid ? (uint64_t)(digit - "0123456789abcdef") : 0);
    }
    if (!is_valid) {
        return fail_at(r, "expected 16 hexadecimal digits");
    }
    r->at += n;
    skip_blanks(r);
    *out = value;
    return CTUNE_OK;
}

/* A decimal with `places` places at most, as an integer of 10^-places, at most 10^18. */
static ctune_status read_decimal(reader *r, int places, double *out) {
    int n = word_bytes(r), left = places;
    bool is_point_seen = false, has_digit = false, is_valid = true;
    int64_t value = 0;
    for (int i = 0; i < n && is_valid; i++) {
        char c = r->at[i];
        if (c == '.' && !is_point_seen && has_digit) {
            is_point_seen = true;
            has_digit = false;
            continue;
        }
        is_valid = c >= '0' && c <= '9' && (!is_point_seen || left-- > 0) &&
                   value < INT64_C(100000000000000000);
        value = is_valid ? value * 10 + (c - '0') : 0;
        has_digit = true;
    }
    if (!is_valid || !has_digit) {
        return fail_at(r, "expected a decimal number with at most %d places", places);
    }
    for (; left > 0; left--) {
        if (value >= INT64_C(100000000000000000)) {
            return fail_at(r, "number is too large");
        }
        value *= 10;
    }
    r->at += n;
    skip_blanks(r);
    *out = (double)value;
    return CTUNE_OK;
}

/* ---- parse: entries ------------------------------------------------------------------------ */
static ctune_status read_time(reader *r, double *out_ns) {
    double thousandths;
    ctune_status status = read_decimal(r, 3, &thousandths);
    if (status != CTUNE_OK) {
        return status;
    }
    for (int i = 0; i < N_UNITS; i++) {
        if (skip_word(r, units[i].name)) {
            *out_ns = thousandths * units[i].quantum_ns;
            return CTUNE_OK;
        }
    }
    return fail_at(r, "expected ns, us, ms or s");
}

#define TRY(call)                                                                                  \
    do {                                                                                           \
        ctune_status status_ = (call);                                                             \
        if (status_ != CTUNE_OK) {                                                                 \
            return status_;                                                                        \
        }                                                                                          \
    } while (0)

/* Lines up to "end", which is read too. */
static ctune_status read_schedule(reader *r, char **out) {
    ctune_text text;
    ctune_text_init(&text);
    bool is_closed = false;
    while (next_line(r)) {
        if ((is_closed = skip_word(r, "end") && r->at == r->end)) {
            break;
        }
        const char *first = r->begin + strspn(r->begin, " \t\r\v\f");
        ctune_text_append_n(&text, first, (size_t)(r->end - first));
        ctune_text_append(&text, "\n");
    }
    ctune_status status = CTUNE_OK;
    if (!is_closed) {
        status = fail_at(r, "expected 'end' (is the file cut off?)");
    } else if (text.failed || (*out = strdup(ctune_text_get(&text))) == NULL) {
        status = ctune_fail(r->ctx, CTUNE_ENOMEM, "%s: out of memory", r->name);
    }
    ctune_text_clear(&text);
    return status;
}

/* The line is at "region". */
static ctune_status read_entry(reader *r, ctune_lock_entry *out) {
    TRY(expect_word(r, "region"));
    TRY(read_copy(r, "the name of a region", false, &out->region));
    TRY(expect_word(r, "in"));
    TRY(read_copy(r, "the name of a file", true, &out->source));
    next_line(r);
    TRY(expect_word(r, "target"));
    TRY(read_copy(r, "a target", true, &out->target));
    next_line(r);
    TRY(expect_word(r, "workload"));
    TRY(read_hex(r, &out->workload));
    if (skip_word(r, "sizes")) {
        TRY(read_copy(r, "sizes", true, &out->sizes));
    }
    TRY(expect_end(r));
    next_line(r);
    TRY(expect_word(r, "speedup"));
    TRY(read_decimal(r, 2, &out->speedup));
    out->speedup /= 100;
    TRY(expect_word(r, "time"));
    TRY(read_time(r, &out->tuned_ns));
    TRY(expect_end(r));
    next_line(r);
    if (skip_word(r, "verified")) { /* not in older locks */
        TRY(read_copy(r, "what was verified", true, &out->verified));
        next_line(r);
    }
    TRY(expect_word(r, "schedule"));
    bool is_original = skip_word(r, "original");
    TRY(expect_end(r));
    TRY(read_schedule(r, &out->schedule));
    if (is_original != (out->schedule[0] == '\0')) {
        return fail_at(r, is_original ? "'schedule original' with lines"
                                      : "empty schedule: write 'schedule original'");
    }
    return CTUNE_OK;
}

static ctune_status add_entry(reader *r, const ctune_lock_entry *entry, ctune_lock *lock) {
    ctune_lock_entry full = *entry;
    char empty[1] = "";
    full.sizes = entry->sizes != NULL ? entry->sizes : empty;
    const int n_before = lock->n;
    char words[sizeof r->ctx->error];
    ctune_status status = ctune_lock_set(r->ctx, lock, &full);
    if (status == CTUNE_EUSAGE) {
        snprintf(words, sizeof words, "%s", r->ctx->error);
        return fail_at(r, "%s", words);
    }
    if (status == CTUNE_OK && lock->n == n_before) {
        return fail_at(r, "second entry for region %.60s of %.60s with this target and these sizes",
                       full.region, full.source);
    }
    return status;
}

static void free_entry(ctune_lock_entry *entry) {
    free(entry->region);
    free(entry->source);
    free(entry->target);
    free(entry->sizes);
    free(entry->schedule);
    free(entry->verified);
}

static ctune_status read_all(reader *r, ctune_lock *lock) {
    if (!next_line(r)) {
        return CTUNE_OK; /* an empty file is an empty lock */
    }
    TRY(expect_word(r, "ctune-lock"));
    if (!skip_word(r, "1")) {
        return fail_at(r, "version '%.*s' of the format; this ctune reads version 1", word_bytes(r),
                       r->at);
    }
    TRY(expect_end(r));
    while (next_line(r)) {
        ctune_lock_entry entry = {0};
        ctune_status status = read_entry(r, &entry);
        if (status == CTUNE_OK) {
            status = add_entry(r, &entry, lock);
        }
        free_entry(&entry);
        TRY(status);
    }
    return CTUNE_OK;
}

ctune_status ctune_lock_parse(ctune_ctx *ctx, const char *name, const char *text,
                              ctune_lock *lock) {
    reader r = {.ctx = ctx, .name = name, .at = "", .end = "", .begin = "", .next = text};
    ctune_lock fresh;
    ctune_lock_init(&fresh);
    ctune_status status = read_all(&r, &fresh);
    if (status != CTUNE_OK) {
        ctune_lock_clear(&fresh);
        return status;
    }
    ctune_lock_clear(lock);
    *lock = fresh;
    return CTUNE_OK;
}
