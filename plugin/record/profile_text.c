/*
 * The text of a profile: print and parse. docs/record.md has the grammar.
 *
 *     ctune-profile 1
 *     gemm [n=1024 m=512] calls 120 timed 32 ns 34567890 workload 0123456789abcdef at 3 gemm.c
 *
 * The path comes last, so that it may hold blanks; a newline in it is written \n, a backslash \\.
 * runtime/record/record_write.c prints the same lines.
 */
#include "plugin/record/profile.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char header[] = "ctune-profile ";
enum { VERSION = 1 };

static void put_path(const char *path, ctune_text *out) {
    for (; *path != '\0'; path++) {
        if (*path == '\n') {
            ctune_text_append(out, "\\n");
        } else {
            ctune_text_append_n(out, "\\", *path == '\\');
            ctune_text_append_n(out, path, 1);
        }
    }
}

void ctune_profile_print(const ctune_profile *profile, ctune_text *out) {
    ctune_text_printf(out, "%s%d\n", header, VERSION);
    for (int i = 0; i < profile->n; i++) {
        const ctune_shape *s = &profile->shape[i];
        ctune_text_printf(out, "%s [%s] calls %llu timed %llu ns %llu workload %016llx at %d ",
                          s->region, s->sizes, (unsigned long long)s->calls,
                          (unsigned long long)s->timed, (unsigned long long)s->ns,
                          (unsigned long long)s->workload, s->line);
        put_path(s->source, out);
        ctune_text_append(out, "\n");
    }
}

/* ---- parse ---------------------------------------------------------------------------------- */
typedef struct reader {
    const char *begin, *at, *end; /* of the line */
    const char *wanted;           /* NULL: all is well so far */
    ctune_arena *arena;
} reader;

static bool fail(reader *r, const char *wanted) {
    r->wanted = r->wanted != NULL ? r->wanted : wanted;
    return false;
}

static bool accept(reader *r, const char *text, const char *wanted) {
    size_t n = strlen(text);
    if (r->wanted != NULL || (size_t)(r->end - r->at) < n || memcmp(r->at, text, n) != 0) {
        return fail(r, wanted);
    }
    r->at += n;
    return true;
}

/* Bytes up to `stop`, at least `least`. */
static const char *take_until(reader *r, char stop, size_t least, const char *wanted) {
    const char *end = r->wanted == NULL ? memchr(r->at, stop, (size_t)(r->end - r->at)) : NULL;
    if (end == NULL || (size_t)(end - r->at) < least) {
        fail(r, wanted);
        return NULL;
    }
    const char *text = ctune_arena_strndup(r->arena, r->at, (size_t)(end - r->at));
    r->at = end + 1;
    return text;
}

static uint64_t take_number(reader *r, int base, const char *wanted) {
    uint64_t value = 0;
    const char *start = r->at;
    for (; r->wanted == NULL && r->at < r->end && isxdigit((unsigned char)*r->at); r->at++) {
        int c = *r->at;
        unsigned digit = (unsigned)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
        if (digit >= (unsigned)base || __builtin_mul_overflow(value, (unsigned)base, &value) ||
            __builtin_add_overflow(value, digit, &value)) {
            fail(r, wanted);
        }
    }
    if (r->at == start) {
        fail(r, wanted);
    }
    return value;
}

static uint64_t take_count(reader *r, const char *word) {
    return accept(r, word, word) ? take_number(r, 10, "a number") : 0;
}

static const char *take_path(reader *r) {
    char *path = ctune_arena_strndup(r->arena, r->at, (size_t)(r->end - r->at)), *to = path;
    if (r->wanted != NULL || path == NULL || *path == '\0') {
        fail(r, "a file name");
        return NULL;
    }
    for (const char *p = path; *p != '\0'; p++) {
        if (*p == '\\' && p[1] != '\0') {
            p++;
            *to++ = *p == 'n' ? '\n' : *p;
        } else {
            *to++ = *p;
        }
    }
    *to = '\0';
    return path;
}

static bool take_shape(reader *r, ctune_shape *s) {
    s->region = take_until(r, ' ', 1, "the name of a region");
    accept(r, "[", "'['");
    s->sizes = take_until(r, ']', 0, "']'");
    s->calls = take_count(r, " calls ");
    s->timed = take_count(r, " timed ");
    s->ns = take_count(r, " ns ");
    accept(r, " workload ", " workload ");
    s->workload = take_number(r, 16, "16 hexadecimal digits");
    uint64_t line = take_count(r, " at ");
    s->line = line < 1000000000 ? (int)line : 0;
    accept(r, " ", "a file name");
    s->source = take_path(r);
    return r->wanted == NULL;
}

/* "ctune-profile 1": first line of each file, and again where captures were put together. */
static ctune_status take_header(ctune_ctx *ctx, const char *name, int line, reader *r) {
    uint64_t version = take_count(r, header);
    if (r->wanted != NULL || r->at != r->end) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "%s:%d: no profile: no line 'ctune-profile 1'", name,
                          line);
    }
    return version == VERSION ? CTUNE_OK
                              : ctune_fail(ctx, CTUNE_EUSAGE,
                                           "%s:%d: version %llu of the format: this ctune "
                                           "knows %d",
                                           name, line, (unsigned long long)version, VERSION);
}

ctune_status ctune_profile_parse(ctune_ctx *ctx, const char *name, const char *text,
                                 bool is_capture, ctune_profile *profile) {
    ctune_status status = CTUNE_OK;
    bool has_header = false;
    for (int line = 1; *text != '\0' && status == CTUNE_OK; line++) {
        size_t n = strcspn(text, "\n");
        bool is_whole = text[n] == '\n';
        size_t n_text = n - (n > 0 && text[n - 1] == '\r');
        reader r = {text, text, text + n_text, NULL, profile->arena};
        ctune_shape shape = {0};
        if (!has_header || (is_capture && strncmp(text, header, strlen(header)) == 0)) {
            status = take_header(ctx, name, line, &r);
            has_header = true;
        } else if (n_text == 0) {
            /* an empty line */
        } else if ((is_whole || !is_capture) && take_shape(&r, &shape)) {
            status = ctune_profile_add(ctx, profile, &shape);
        } else if (is_capture) {
            profile->n_skipped++;
        } else {
            status = ctune_fail(ctx, CTUNE_EUSAGE, "%s:%d:%d: expected %s", name, line,
                                (int)(r.at - r.begin) + 1, r.wanted);
        }
        text += n + is_whole;
    }
    return ctune_arena_has_failed(profile->arena) ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory")
                                                  : status;
}
