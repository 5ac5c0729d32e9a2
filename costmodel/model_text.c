/*
 * What the text files of models share: see model_text.h.
 *
 * Numbers are scanned by hand: a forest of 500 trees is loaded whenever a compiler with the plugin
 * starts.
 */
#include "costmodel/model_text.h"

#include "costmodel/decimal.h"

#include <stdio.h>
#include <string.h>

/* ---- print ----------------------------------------------------------------------------------- */
void ctune_decimal_append(ctune_text *out, float value) {
    char digits[CTUNE_DECIMAL_SIZE];
    size_t n = ctune_decimal_print(value, digits);
    ctune_text_append_n(out, digits, n);
}

void ctune_summary_print(const char *summary, ctune_text *out) {
    while (*summary != '\0') {
        size_t n = strcspn(summary, "\n");
        ctune_text_append(out, "summary ");
        ctune_text_append_n(out, summary, n);
        ctune_text_append(out, "\n");
        summary += summary[n] == '\n' ? n + 1 : n;
    }
}

/* ---- scan ------------------------------------------------------------------------------------ */
ctune_scan ctune_scan_begin(ctune_ctx *ctx, const char *name, const char *text) {
    return (ctune_scan){ctx, name, text, text + strlen(text), 1, CTUNE_EUSAGE};
}

bool ctune_scan_fail(const ctune_scan *s, const char *expected) {
    int n = (int)strcspn(s->at, "\r\n");
    ctune_fail(s->ctx, CTUNE_EUSAGE, "%s:%d: malformed model: expected %s at '%.*s%s'", s->name,
               s->line, expected, n > 40 ? 40 : n, s->at, n > 40 ? "..." : "");
    return false;
}

bool ctune_scan_word(ctune_scan *s, const char *word) {
    size_t n = strlen(word);
    if (strncmp(s->at, word, n) != 0) {
        char expected[64];
        snprintf(expected, sizeof expected, "'%s'", word);
        return ctune_scan_fail(s, expected);
    }
    s->at += n;
    return true;
}

bool ctune_scan_line_end(ctune_scan *s) {
    const char *at = s->at;
    while (*at == ' ' || *at == '\t' || *at == '\r') {
        at++;
    }
    if (*at != '\n') {
        return ctune_scan_fail(s, "the end of the line");
    }
    s->at = at + 1;
    s->line++;
    return true;
}

bool ctune_scan_count(ctune_scan *s, const char *what, uint64_t max, uint64_t *out) {
    uint64_t value = 0;
    const char *at = s->at;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value)) {
            return ctune_scan_fail(s, what);
        }
    }
    if (at == s->at || value > max) {
        return ctune_scan_fail(s, what);
    }
    *out = value;
    s->at = at;
    return true;
}

bool ctune_scan_float(ctune_scan *s, float *out) {
    const char *behind = ctune_decimal_parse(s->at, out);
    if (behind == NULL) {
        return ctune_scan_fail(s, "a number");
    }
    s->at = behind;
    return true;
}
