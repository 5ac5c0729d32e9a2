/*
 * What the text files of models share: decimals, the summary, and a scanner with one place for
 * errors. Each ctune_scan_* function moves on and returns true, or records file, line and what it
 * expected in ctx->error and returns false.
 */
#ifndef CTUNE_COSTMODEL_MODEL_TEXT_H
#define CTUNE_COSTMODEL_MODEL_TEXT_H

#include "runtime/text.h"

void ctune_decimal_append(ctune_text *out, float value); /* finite; see decimal.h */
/* One line "summary ..." for each of its lines. */
void ctune_summary_print(const char *summary, ctune_text *out);

typedef struct ctune_scan {
    ctune_ctx *ctx;
    const char *name; /* of the file, for messages */
    const char *at, *end;
    int line;
    ctune_status status; /* of a failure; CTUNE_EUSAGE from the start */
} ctune_scan;

/* The text from its first line on. */
ctune_scan ctune_scan_begin(ctune_ctx *ctx, const char *name, const char *text);

bool ctune_scan_fail(const ctune_scan *s, const char *expected); /* returns false */
bool ctune_scan_word(ctune_scan *s, const char *word);
/* Blanks, the line's end (also "\r\n"). */
bool ctune_scan_line_end(ctune_scan *s);
/* Digits in 0..max. */
bool ctune_scan_count(ctune_scan *s, const char *what, uint64_t max, uint64_t *out);
bool ctune_scan_float(ctune_scan *s, float *out);

#endif
