/*
 * Cases for extraction: C text in, the TE dump or the refusal's code out.
 *
 * A row gives a snippet and what its answer must contain. "TUNE" in a snippet stands for "#pragma
 * tune" on a line of its own.
 */
#ifndef CTUNE_TESTS_EXTRACT_FIXTURE_H
#define CTUNE_TESTS_EXTRACT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plugin/extract/extract.h"
#include "runtime/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct extract_case {
    const char *name;
    const char *code;
    const char *want[8]; /* each must be in the answer, NULL-terminated; "!x": must not */
    const char *flags[6];
} extract_case;

static void answer_diag(void *user, const ctune_diag *d) {
    ctune_text_printf(user, "%d:%d: %s [%s] %s\n", d->line, d->col,
                      ctune_severity_name(d->severity), d->code != NULL ? d->code : "", d->text);
    if (d->hint != NULL) {
        ctune_text_printf(user, "help: %s\n", d->hint);
    }
    if (d->severity == CTUNE_REMARK && (d->hint == NULL || d->line < 1)) {
        ctune_text_append(user, "MISSING HINT OR PLACE\n");
    }
}

static inline char *expand(const char *code) {
    ctune_text text;
    ctune_text_init(&text);
    for (const char *p = code; *p != '\0';) {
        if (strncmp(p, "TUNE", 4) == 0) {
            ctune_text_append(&text, "\n#pragma tune");
            p += 4;
            while (*p != '\0' && *p != ';') { /* "TUNE sizes(n=4);" */
                ctune_text_append_n(&text, p++, 1);
            }
            ctune_text_append(&text, "\n");
            p += *p == ';';
        } else {
            ctune_text_append_n(&text, p++, 1);
        }
    }
    return text.data != NULL ? text.data : calloc(1, 1);
}

/* Diagnostics and dumps of all regions. The caller clears out. */
static void extract_answer(const char *file, const char *code, int n_flags,
                           const char *const *flags, ctune_text *out) {
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    ctx.sink = answer_diag;
    ctx.sink_user = out;
    ctune_unit *unit = NULL;
    ctune_status status = ctune_extract(&ctx, file, code, n_flags, flags, &unit);
    ctune_text_printf(out, "status %s\n", ctune_status_name(status));
    if (status != CTUNE_OK) {
        ctune_text_printf(out, "error %s\n", ctx.error);
    }
    for (int i = 0; unit != NULL && i < unit->n_regions; i++) {
        const ctune_unit_region *r = &unit->regions[i];
        if (r->region == NULL) {
            ctune_text_printf(out, "region %d refused\n", i);
            continue;
        }
        ctune_text dump;
        ctune_text_init(&dump);
        ctune_te_print(r->region, &dump);
        ctune_text_append(out, ctune_text_get(&dump));
        if (r->region->epilogue != NULL) {
            ctune_text_append(out, r->region->epilogue);
        }
        ctune_region *again = NULL; /* what was built must survive print and parse */
        if (ctune_te_parse(&ctx, ctune_text_get(&dump), &again) != CTUNE_OK) {
            ctune_text_printf(out, "REPARSE FAILS: %s\n", ctx.error);
        }
        ctune_region_destroy(again);
        ctune_text_clear(&dump);
    }
    if (unit != NULL && unit->has_parse_errors) {
        ctune_text_append(out, "parse errors\n");
    }
    ctune_unit_destroy(unit);
}

static inline bool run_case(const extract_case *c) {
    ctune_text out;
    ctune_text_init(&out);
    char *code = expand(c->code);
    int n_flags = 0;
    while (c->flags[n_flags] != NULL) {
        n_flags++;
    }
    extract_answer("case.c", code, n_flags, c->flags, &out);
    const char *text = ctune_text_get(&out);
    bool failed = strstr(text, "MISSING HINT") != NULL || strstr(text, "REPARSE FAILS") != NULL ||
                  strstr(text, "internal error") != NULL;
    for (int i = 0; c->want[i] != NULL; i++) {
        bool must_not = c->want[i][0] == '!';
        if ((strstr(text, c->want[i] + must_not) == NULL) != must_not) {
            print_error("case %s: %s '%s'\n", c->name, must_not ? "unwanted" : "missing",
                        c->want[i] + must_not);
            failed = true;
        }
    }
    if (failed) {
        print_error("%s\n---\n%s\n", code, text);
    }
    free(code);
    ctune_text_clear(&out);
    return !failed;
}

static inline void run_cases(const extract_case *cases, size_t n) {
    int n_failed = 0;
    for (size_t i = 0; i < n; i++) {
        const char *only = getenv("EXTRACT_CASE");
        if (only == NULL || strcmp(only, cases[i].name) == 0) {
            n_failed += !run_case(&cases[i]);
        }
    }
    assert_int_equal(n_failed, 0);
}
#define RUN_CASES(table) run_cases(table, sizeof(table) / sizeof *(table))

#endif
