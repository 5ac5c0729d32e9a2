/*
 * `#pragma tune`: tokens in, ctune_pragma out.
 *
 * One row a clause: its name, whether it takes an argument, the function that reads the argument,
 * the function that prints it, and its help. The parser below knows no clause; a new one is a new
 * row. Every clause of the line is read even after an error, so that one compile shows all
 * mistakes; any mistake makes the whole pragma EUSAGE, because tuning with half of what the user
 * asked for would be silent disobedience.
 */
#include "plugin/pragma/pragma.h"

#include "plugin/pragma/token.h"
#include "runtime/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_THREADS = 4096, WEIGHT_UNIT = 1000000000, MAX_WEIGHT = 1000000 };

typedef struct parser {
    ctune_ctx *ctx;
    ctune_arena *arena;
    const char *file;
    const ctune_token *tokens; /* without comments */
    int n_tokens;
    int at;                  /* next token */
    int end;                 /* one past the last token of the argument being read */
    int last_line, last_col; /* where "something is missing" is reported when no token is left */
    bool has_failed;
    ctune_pragma *out;
} parser;

typedef enum argument { ARG_NONE, ARG_OPTIONAL, ARG_REQUIRED } argument;

typedef struct clause {
    const char *name;
    argument argument;
    bool may_repeat;
    bool (*parse)(parser *p, const ctune_token *word); /* false: an error was sent */
    void (*print)(ctune_text *out,
                  const ctune_pragma *pragma); /* prints nothing when at its default */
    const char *form, *help;
} clause;

/* ---- errors and small readers ------------------------------------------------------------ */
static bool fail_at(parser *p, int i_token, const char *code, const char *hint, const char *format,
                    ...) CTUNE_PRINTF(5, 6);

static bool fail_at(parser *p, int i_token, const char *code, const char *hint, const char *format,
                    ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    bool has_token = i_token < p->n_tokens;
    ctune_diag diag = {.severity = CTUNE_ERROR,
                       .file = p->file,
                       .line = has_token ? p->tokens[i_token].line : p->last_line,
                       .col = has_token ? p->tokens[i_token].col : p->last_col,
                       .code = code,
                       .text = text,
                       .hint = hint};
    if (!p->has_failed) {
        (void)ctune_fail(p->ctx, CTUNE_EUSAGE, "%s:%d:%d: %s",
                         p->file != NULL ? p->file : "<pragma>", diag.line, diag.col, text);
    }
    p->has_failed = true;
    ctune_diag_send(p->ctx, &diag);
    return false;
}

/* The next token of the argument, "" at its end. */
static const char *peek(const parser *p) {
    return p->at < p->end ? p->tokens[p->at].text : "";
}
static bool is_next(const parser *p, const char *text) {
    return strcmp(peek(p), text) == 0;
}

static bool skip(parser *p, const char *text) {
    bool is_there = p->at < p->end && is_next(p, text);
    p->at += is_there;
    return is_there;
}

static bool fail_expected(parser *p, const char *what) {
    return p->at < p->end
               ? fail_at(p, p->at, "bad-clause", NULL, "expected %s, not '%.60s'", what, peek(p))
               : fail_at(p, p->at, "bad-clause", NULL, "expected %s", what);
}

/* Decimal or 0x integer without suffix, with an optional '-'. */
static bool read_integer(parser *p, int64_t *out) {
    bool is_negative = skip(p, "-");
    const char *digits = peek(p);
    bool is_hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    int base = is_hex ? 16 : 10;
    if (digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9') {
        return fail_at(p, p->at, "bad-clause", "drop the leading zero; 0x... is hexadecimal",
                       "octal number '%.60s'", digits);
    }
    digits += is_hex ? 2 : 0;
    uint64_t value = 0;
    bool is_valid = *digits != '\0';
    for (; is_valid && *digits != '\0'; digits++) {
        char c = *digits;
        int digit = c >= '0' && c <= '9'                 ? c - '0'
                    : base == 16 && c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : base == 16 && c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                         : -1;
        is_valid = digit >= 0;
        if (value > ((uint64_t)INT64_MAX - (uint64_t)(is_valid ? digit : 0)) / (uint64_t)base) {
            return fail_at(p, p->at, "bad-clause", NULL, "number '%.60s' is too large", peek(p));
        }
        value = value * (uint64_t)base + (uint64_t)(is_valid ? digit : 0);
    }
    if (!is_valid) {
        return fail_expected(p, "an integer without suffix");
    }
    p->at++;
    *out = is_negative ? -(int64_t)value : (int64_t)value;
    return true;
}

static const char *join(parser *p, int begin, int end) {
    ctune_text text;
    ctune_text_init(&text);
    ctune_token_join(&text, p->tokens + begin, end - begin);
    const char *copy = text.failed ? NULL : ctune_arena_strdup(p->arena, ctune_text_get(&text));
    ctune_text_clear(&text);
    return copy;
}

/* ---- clauses ----------------------------------------------------------------------------- */
static bool parse_name(parser *p, const ctune_token *word) {
    (void)word;
    if (!ctune_token_is_word(peek(p))) {
        return fail_expected(p, "an identifier");
    }
    p->out->name = ctune_arena_strdup(p->arena, peek(p));
    p->at++;
    return true;
}

static void print_name(ctune_text *out, const ctune_pragma *pragma) {
    if (pragma->name != NULL) {
        ctune_text_printf(out, " name(%s)", pragma->name);
    }
}

static const char *const target_names[] = {"cpu", "cuda", "opencl"}; /* by ctune_pragma_target */

static bool parse_target(parser *p, const ctune_token *word) {
    (void)word;
    for (int i = 0; i < 3; i++) {
        if (skip(p, target_names[i])) {
            p->out->target = (ctune_pragma_target)i;
            return true;
        }
    }
    return fail_expected(p, "cpu, cuda or opencl");
}

static void print_target(ctune_text *out, const ctune_pragma *pragma) {
    if (pragma->target != CTUNE_PRAGMA_CPU) {
        ctune_text_printf(out, " target(%s)", target_names[pragma->target]);
    }
}

/* n | s->n | s.n | p[0] | grid[lev].n | *p */
static const char *read_size_name(parser *p) {
    int begin = p->at;
    skip(p, "*");
    do {
        if (!ctune_token_is_word(peek(p))) {
            fail_expected(p, "the name of a parameter");
            return NULL;
        }
        p->at++;
        while (skip(p, "[")) {
            while (p->at < p->end && !skip(p, "]")) {
                p->at++;
            }
        }
    } while (skip(p, "->") || skip(p, "."));
    return join(p, begin, p->at);
}

static bool read_size_values(parser *p, ctune_pragma_size *size) {
    do {
        int first = p->at;
        int64_t value;
        if (!read_integer(p, &value)) {
            return false;
        }
        for (int i = 0; i < size->n_values; i++) {
            if (size->values[i] == value) {
                return fail_at(p, first, "bad-clause", NULL, "value given twice for '%.60s'",
                               size->name);
            }
        }
        if (size->n_values == (int)(sizeof size->values / sizeof *size->values)) {
            return fail_at(p, first, "bad-clause", NULL, "more than %d values for '%.60s'",
                           size->n_values, size->name);
        }
        size->values[size->n_values++] = value;
    } while (skip(p, "|"));
    return true;
}

static bool parse_sizes(parser *p, const ctune_token *word) {
    (void)word;
    ctune_pragma_size *sizes =
        CTUNE_NEW_ARRAY(p->arena, ctune_pragma_size, (p->end - p->at) / 2 + 1);
    int n = 0;
    do {
        int first = p->at;
        const char *name = read_size_name(p);
        if (name == NULL || sizes == NULL) {
            return false;
        }
        for (int i = 0; i < n; i++) {
            if (strcmp(sizes[i].name, name) == 0) {
                return fail_at(p, first, "bad-clause", "write several values as n=512|2048",
                               "size of '%.60s' given twice", name);
            }
        }
        sizes[n].name = name;
        if (!skip(p, "=")) {
            return fail_expected(p, "'='");
        }
        if (!read_size_values(p, &sizes[n++])) {
            return false;
        }
    } while (skip(p, ","));
    p->out->sizes = sizes;
    p->out->n_sizes = n;
    return true;
}

static void print_sizes(ctune_text *out, const ctune_pragma *pragma) {
    for (int i = 0; i < pragma->n_sizes; i++) {
        const ctune_pragma_size *size = &pragma->sizes[i];
        ctune_text_printf(out, "%s%s=", i == 0 ? " sizes(" : ", ", size->name);
        for (int j = 0; j < size->n_values; j++) {
            ctune_text_printf(out, "%s%lld", j == 0 ? "" : "|", (long long)size->values[j]);
        }
    }
    ctune_text_append(out, pragma->n_sizes > 0 ? ")" : "");
}

#define FLAG_CLAUSE(flag, other, other_name)                                                       \
    static bool parse_##flag(parser *p, const ctune_token *word) {                                 \
        p->out->flag = true;                                                                       \
        return !(other) || fail_at(p, (int)(word - p->tokens), "conflicting-clauses", NULL,        \
                                   "'%s' contradicts '%s'", #flag, other_name);                    \
    }                                                                                              \
    static void print_##flag(ctune_text *out, const ctune_pragma *pragma) {                        \
        ctune_text_append(out, pragma->flag ? " " #flag : "");                                     \
    }
FLAG_CLAUSE(reassoc, p->out->strict, "strict")
FLAG_CLAUSE(strict, p->out->reassoc, "reassoc")
FLAG_CLAUSE(serial, p->out->n_threads != 0, "parallel")
FLAG_CLAUSE(noalias, false, "")
FLAG_CLAUSE(off, false, "")

static bool parse_parallel(parser *p, const ctune_token *word) {
    int first = p->at;
    int64_t n = -1;
    if (p->at < p->end && !read_integer(p, &n)) {
        return false;
    }
    if (first < p->end && (n < 1 || n > MAX_THREADS)) {
        return fail_at(p, first, "bad-clause", NULL, "number of threads is not in 1..%d",
                       MAX_THREADS);
    }
    p->out->n_threads = (int)n;
    return !p->out->serial || fail_at(p, (int)(word - p->tokens), "conflicting-clauses", NULL,
                                      "'parallel' contradicts 'serial'");
}

static void print_parallel(ctune_text *out, const ctune_pragma *pragma) {
    if (pragma->n_threads > 0) {
        ctune_text_printf(out, " parallel(%d)", pragma->n_threads);
    } else if (pragma->n_threads < 0) {
        ctune_text_append(out, " parallel");
    }
}

/* End of the condition that starts at p->at: a comma outside brackets, or the end of the argument.
 */
static int condition_end(const parser *p) {
    int depth = 0, i = p->at;
    for (; i < p->end; i++) {
        const char *text = p->tokens[i].text;
        if (text[0] != '\0' && text[1] == '\0') {
            depth += strchr("([{", text[0]) != NULL ? 1 : strchr(")]}", text[0]) != NULL ? -1 : 0;
            if (text[0] == ',' && depth == 0) {
                break;
            }
        }
    }
    return i;
}

/* The token of the condition [begin, end) at which its text cannot be C: an open literal, a bracket
 * without its partner. -1 when it is fine. */
static int find_bad_token(const parser *p, int begin, int end) {
    static const char pairs[] = "()[]{}";
    int n_open[3] = {0}, last_open[3] = {-1, -1, -1};
    for (int i = begin; i < end; i++) {
        const char *text = p->tokens[i].text;
        const char *bracket = text[0] != '\0' && text[1] == '\0' ? strchr(pairs, text[0]) : NULL;
        int kind = bracket != NULL ? (int)(bracket - pairs) / 2 : 0;
        bool is_opening = bracket != NULL && (bracket - pairs) % 2 == 0;
        if (ctune_token_is_open(text) || (bracket != NULL && !is_opening && n_open[kind] == 0)) {
            return i;
        }
        n_open[kind] += bracket == NULL ? 0 : is_opening ? 1 : -1;
        last_open[kind] = is_opening ? i : last_open[kind];
    }
    return n_open[0] > 0   ? last_open[0]
           : n_open[1] > 0 ? last_open[1]
           : n_open[2] > 0 ? last_open[2]
                           : -1;
}

static bool parse_assume(parser *p, const ctune_token *word) {
    (void)word;
    size_t n_old = (size_t)p->out->n_assumes, n_new = (size_t)(p->end - p->at);
    const char **all = CTUNE_NEW_ARRAY(p->arena, const char *, n_old + n_new + 1);
    if (all == NULL) {
        return false;
    }
    if (n_old > 0) {
        memcpy(all, p->out->assumes, n_old * sizeof *all);
    }
    int n = p->out->n_assumes;
    do {
        int end = condition_end(p);
        if (end == p->at) {
            return fail_expected(p, "a condition");
        }
        int bad = find_bad_token(p, p->at, end);
        if (bad >= 0) {
            return fail_at(p, bad, "bad-clause", NULL, "'%.60s' is not closed or opened",
                           p->tokens[bad].text);
        }
        all[n] = join(p, p->at, end);
        if (all[n++] == NULL) {
            return false;
        }
        p->at = end;
    } while (skip(p, ","));
    p->out->assumes = all;
    p->out->n_assumes = n;
    return true;
}

static void print_assume(ctune_text *out, const ctune_pragma *pragma) {
    for (int i = 0; i < pragma->n_assumes; i++) {
        ctune_text_printf(out, "%s%s", i == 0 ? " assume(" : ", ", pragma->assumes[i]);
    }
    ctune_text_append(out, pragma->n_assumes > 0 ? ")" : "");
}

static bool parse_schedule(parser *p, const ctune_token *word) {
    (void)word;
    ctune_text value;
    ctune_text_init(&value);
    bool ok = true;
    do {
        const char *wrong = ctune_token_unescape(&value, peek(p));
        if (wrong != NULL) {
            ok = fail_at(p, p->at, "bad-clause", "schedule(\"split i 64 -> i0 i1; vectorize j\")",
                         "%s", wrong);
        }
        p->at++;
    } while (ok && p->at < p->end);
    p->out->schedule =
        ok && !value.failed ? ctune_arena_strdup(p->arena, ctune_text_get(&value)) : NULL;
    ok = ok && p->out->schedule != NULL;
    ctune_text_clear(&value);
    return ok;
}

static void print_schedule(ctune_text *out, const ctune_pragma *pragma) {
    if (pragma->schedule != NULL) {
        ctune_text_append(out, " schedule(");
        ctune_token_escape(out, pragma->schedule);
        ctune_text_append(out, ")");
    }
}

/* A plain decimal with at most nine places, read by hand: strtod would follow the host compiler's
 * locale. */
static bool parse_weight(parser *p, const ctune_token *word) {
    (void)word;
    int64_t value = 0, unit = WEIGHT_UNIT;
    bool is_point_seen = false, is_valid = peek(p)[0] != '\0';
    for (const char *c = peek(p); is_valid && *c != '\0'; c++) {
        if (*c == '.' && !is_point_seen) {
            is_point_seen = true;
            continue;
        }
        is_valid = *c >= '0' && *c <= '9' && unit > (is_point_seen ? 1 : 0) &&
                   value <= (int64_t)MAX_WEIGHT * WEIGHT_UNIT;
        if (is_valid && is_point_seen) {
            unit /= 10;
            value += (*c - '0') * unit;
        } else if (is_valid) {
            value = value * 10 + (*c - '0') * unit;
        }
    }
    if (!is_valid || value <= 0 || value > (int64_t)MAX_WEIGHT * WEIGHT_UNIT) {
        return fail_expected(p,
                             "a decimal number above 0 and up to 1000000, with at most 9 places");
    }
    p->at++;
    p->out->weight = (double)value / WEIGHT_UNIT;
    return true;
}

static void print_weight(ctune_text *out, const ctune_pragma *pragma) {
    long long value = (long long)(pragma->weight * WEIGHT_UNIT + 0.5);
    if (value == WEIGHT_UNIT) {
        return;
    }
    char places[16];
    snprintf(places, sizeof places, "%09lld", value % WEIGHT_UNIT);
    size_t n = strlen(places);
    while (n > 0 && places[n - 1] == '0') {
        n--;
    }
    places[n] = '\0';
    ctune_text_printf(out, " weight(%lld%s%s)", value / WEIGHT_UNIT, n > 0 ? "." : "", places);
}

static const clause clauses[] = {
    {"name", ARG_REQUIRED, false, parse_name, print_name, "name(id)",
     "the region's name in the lock"},
    {"target", ARG_REQUIRED, false, parse_target, print_target, "target(cpu|cuda|opencl)",
     "where it runs"},
    {"sizes", ARG_REQUIRED, false, parse_sizes, print_sizes, "sizes(n=1024, m=512|2048)",
     "representative values of run-time parameters; several give several tuned variants"},
    {"reassoc", ARG_NONE, false, parse_reassoc, print_reassoc, "reassoc",
     "floating-point reductions may be reordered"},
    {"strict", ARG_NONE, false, parse_strict, print_strict, "strict",
     "results bit-identical to the original (the default)"},
    {"serial", ARG_NONE, false, parse_serial, print_serial, "serial",
     "one thread, even with -fopenmp"},
    {"parallel", ARG_OPTIONAL, false, parse_parallel, print_parallel, "parallel or parallel(n)",
     "OpenMP threads, n of them"},
    {"noalias", ARG_NONE, false, parse_noalias, print_noalias, "noalias",
     "pointers of the nest do not overlap: no run-time check"},
    {"assume", ARG_REQUIRED, true, parse_assume, print_assume, "assume(n % 8 == 0, lda >= n)",
     "facts that hold whenever the nest is reached"},
    {"schedule", ARG_REQUIRED, false, parse_schedule, print_schedule, "schedule(\"...\")",
     "this schedule, no search"},
    {"weight", ARG_REQUIRED, false, parse_weight, print_weight, "weight(2.5)",
     "share of the search budget relative to the other nests"},
    {"off", ARG_NONE, false, parse_off, print_off, "off", "leave the nest alone"},
};
enum { N_CLAUSES = sizeof clauses / sizeof *clauses };

const char *ctune_pragma_clause_help(int clause_id, const char **form) {
    if (clause_id < 0 || clause_id >= N_CLAUSES) {
        return NULL;
    }
    if (form != NULL) {
        *form = clauses[clause_id].form;
    }
    return clauses[clause_id].help;
}

/* ---- suggestion -------------------------------------------------------------------------- */
/* Edit distance with transpositions of neighbours (optimal string alignment), texts cut at 15
 * bytes. */
static int edit_distance(const char *a, const char *b) {
    enum { N = 16 };
    int d[N][N];
    int n_a = (int)strnlen(a, N - 1), n_b = (int)strnlen(b, N - 1);
    for (int i = 0; i <= n_a; i++) {
        for (int j = 0; j <= n_b; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            int best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            best = d[i - 1][j] + 1 < best ? d[i - 1][j] + 1 : best;
            best = d[i][j - 1] + 1 < best ? d[i][j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                best = d[i - 2][j - 2] + 1 < best ? d[i - 2][j - 2] + 1 : best;
            }
            d[i][j] = best;
        }
    }
    return d[n_a][n_b];
}

static bool fail_unknown(parser *p, int i_word) {
    const char *word = p->tokens[i_word].text, *nearest = NULL;
    int best = (int)strnlen(word, 15) / 3 + 2; /* at most a third of the letters, and one more */
    char hint[256] = "known clauses:";
    for (int i = 0; i < N_CLAUSES; i++) {
        int distance = edit_distance(word, clauses[i].name);
        if (distance < best) {
            best = distance;
            nearest = clauses[i].name;
        }
        size_t n = strlen(hint);
        snprintf(hint + n, sizeof hint - n, "%s %s", i == 0 ? "" : ",", clauses[i].name);
    }
    if (nearest != NULL) {
        snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
    }
    return fail_at(p, i_word, "unknown-clause", hint, "unknown clause '%.60s'", word);
}

/* ---- the pragma -------------------------------------------------------------------------- */
/* Index of the ')' that closes the '(' at `open`, or -1. */
static int closing(const parser *p, int open) {
    int depth = 0;
    for (int i = open; i < p->n_tokens; i++) {
        if (strcmp(p->tokens[i].text, "(") == 0) {
            depth++;
        } else if (strcmp(p->tokens[i].text, ")") == 0 && --depth == 0) {
            return i;
        }
    }
    return -1;
}

static void parse_argument(parser *p, const clause *row, const ctune_token *word, bool is_given) {
    if (!is_given && row->argument == ARG_REQUIRED) {
        fail_at(p, (int)(word - p->tokens), "bad-clause", NULL, "'%s' needs an argument: %s",
                row->name, row->form);
    } else if (is_given && row->argument == ARG_NONE) {
        fail_at(p, (int)(word - p->tokens), "bad-clause", NULL, "'%s' takes no argument",
                row->name);
    } else if (is_given && p->at == p->end) {
        fail_at(p, p->at, "bad-clause", NULL, "'%s' has an empty argument: %s", row->name,
                row->form);
    } else if (row->parse(p, word) && p->at < p->end) {
        fail_at(p, p->at, "bad-clause", NULL, "'%.60s' is not expected here in '%s': %s", peek(p),
                row->name, row->form);
    }
}

/* Read the clause at p->at and leave p->at after it, whatever is wrong inside. */
static void parse_clause(parser *p, unsigned *seen) {
    const int i_word = p->at;
    const clause *row = NULL;
    for (int i = 0; i < N_CLAUSES; i++) {
        if (strcmp(p->tokens[i_word].text, clauses[i].name) == 0) {
            row = &clauses[i];
        }
    }
    bool is_given = i_word + 1 < p->n_tokens && strcmp(p->tokens[i_word + 1].text, "(") == 0;
    int close = is_given ? closing(p, i_word + 1) : i_word;
    int next = close < 0 ? p->n_tokens : close + 1;
    p->at = is_given ? i_word + 2 : i_word + 1;
    p->end = is_given && close >= 0 ? close : p->at;
    if (!ctune_token_is_word(p->tokens[i_word].text)) {
        fail_at(p, i_word, "bad-clause", NULL, "expected a clause, not '%.60s'",
                p->tokens[i_word].text);
        next = is_given ? next : i_word + 1;
    } else if (row == NULL) {
        fail_unknown(p, i_word);
    } else if (close < 0) {
        fail_at(p, i_word + 1, "bad-clause", NULL, "'(' of '%s' is not closed", row->name);
    } else if (!row->may_repeat && (*seen & (1u << (row - clauses))) != 0) {
        fail_at(p, i_word, "duplicate-clause", NULL, "clause '%s' given twice", row->name);
    } else {
        *seen |= 1u << (row - clauses);
        parse_argument(p, row, &p->tokens[i_word], is_given);
    }
    p->at = next;
}

static int drop_comments(ctune_token *out, const ctune_token *tokens, int n_tokens) {
    int n = 0;
    for (int i = 0; i < n_tokens; i++) {
        if (!ctune_token_is_comment(tokens[i].text)) {
            out[n++] = tokens[i];
        }
    }
    return n;
}

ctune_status ctune_pragma_parse(ctune_ctx *ctx, ctune_arena *arena, const char *file, int line,
                                int col, const ctune_token *tokens, int n_tokens,
                                ctune_pragma *out) {
    memset(out, 0, sizeof *out);
    out->line = line;
    out->col = col;
    out->weight = 1;
    ctune_token *kept = CTUNE_NEW_ARRAY(arena, ctune_token, n_tokens > 0 ? n_tokens : 1);
    if (kept == NULL || n_tokens < 0) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory reading a pragma");
    }
    parser p = {.ctx = ctx, .arena = arena, .file = file, .tokens = kept, .out = out};
    p.n_tokens = drop_comments(kept, tokens, n_tokens);
    p.last_line = p.n_tokens > 0 ? kept[p.n_tokens - 1].line : line;
    p.last_col = p.n_tokens > 0 ? kept[p.n_tokens - 1].col : col;
    unsigned seen = 0;
    bool may_comma = false;
    while (p.at < p.n_tokens) {
        if (may_comma && strcmp(kept[p.at].text, ",") == 0) {
            p.at++;
            may_comma = false;
            if (p.at == p.n_tokens) {
                fail_at(&p, p.at, "bad-clause", NULL, "expected a clause after ','");
            }
            continue;
        }
        parse_clause(&p, &seen);
        may_comma = true;
    }
    if (ctune_arena_has_failed(arena)) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory reading a pragma");
    }
    return p.has_failed ? CTUNE_EUSAGE : CTUNE_OK;
}

const char *ctune_pragma_print(ctune_arena *arena, const ctune_pragma *pragma) {
    ctune_text text;
    ctune_text_init(&text);
    for (int i = 0; i < N_CLAUSES; i++) {
        clauses[i].print(&text, pragma);
    }
    const char *line = ctune_text_get(&text);
    const char *copy =
        text.failed ? NULL : ctune_arena_strdup(arena, line[0] == ' ' ? line + 1 : line);
    ctune_text_clear(&text);
    return copy;
}
