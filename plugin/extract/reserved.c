/*
 * Identifiers that emitted code must not declare: see ctune_region.reserved.
 *
 * In: the parsed file. Out: one sorted table for all its regions. Words are read from the text of
 * the main file and of the project's headers by a scan that knows comments and strings, in parts
 * that the preprocessor skips as well: a few names too many cost nothing, and it takes a fraction
 * of what the parse has taken. Of system headers the names of macros and types are enough: what
 * their bodies mention begins with an underscore or is a keyword of the standard library, which the
 * user's text mentions itself where it matters.
 */
#include "plugin/extract/unit.h"

#include "runtime/rng.h"

#include <stdlib.h>

/* Of all standards, and GNU's that have no underscore. */
static const char *const keywords[] = {
    "alignas",       "alignof",  "asm",      "auto",
    "bool",          "break",    "case",     "char",
    "complex",       "const",    "continue", "constexpr",
    "default",       "do",       "double",   "else",
    "enum",          "extern",   "false",    "float",
    "for",           "goto",     "if",       "imaginary",
    "inline",        "int",      "long",     "nullptr",
    "register",      "restrict", "return",   "short",
    "signed",        "sizeof",   "static",   "struct",
    "static_assert", "switch",   "true",     "typedef",
    "thread_local",  "typeof",   "union",    "typeof_unqual",
    "unsigned",      "void",     "volatile", "while",
    "wchar_t",       "defined",  "linux",    "unix",
    "i386",          "noreturn", "main",
};

typedef struct names {
    ctune_arena *arena;
    size_t n, size; /* size: a power of 2 */
    const char **slot;
    bool failed;
} names;

/* ---- set ------------------------------------------------------------------------------------- */
static bool is_same(const char *name, const char *word, size_t n) {
    return strncmp(name, word, n) == 0 && name[n] == '\0';
}

static const char **find_slot(const names *set, const char *word, size_t n) {
    size_t i = (size_t)ctune_hash(CTUNE_HASH_INIT, word, n) & (set->size - 1);
    while (set->slot[i] != NULL && !is_same(set->slot[i], word, n)) {
        i = (i + 1) & (set->size - 1);
    }
    return &set->slot[i];
}

static void grow(names *set) {
    names bigger = {.arena = set->arena, .n = set->n, .size = set->size > 0 ? 2 * set->size : 4096};
    bigger.slot = calloc(bigger.size, sizeof *bigger.slot);
    if (bigger.slot == NULL) {
        set->failed = true;
        return;
    }
    for (size_t i = 0; i < set->size; i++) {
        if (set->slot[i] != NULL) {
            *find_slot(&bigger, set->slot[i], strlen(set->slot[i])) = set->slot[i];
        }
    }
    free(set->slot);
    *set = bigger;
}

static void add(names *set, const char *word, size_t n) {
    if (!set->failed && 2 * set->n >= set->size) {
        grow(set);
    }
    if (set->failed || n == 0) {
        return;
    }
    const char **slot = find_slot(set, word, n);
    if (*slot == NULL) {
        *slot = ctune_arena_strndup(set->arena, word, n);
        set->n += *slot != NULL;
        set->failed = *slot == NULL;
    }
}

/* ---- text ------------------------------------------------------------------------------------ */
static bool starts_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || (c & 0x80);
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static size_t skip_comment(const char *text, size_t n, size_t i) {
    if (text[i + 1] == '*') {
        const char *end = i + 2 < n ? memmem(text + i + 2, n - i - 2, "*/", 2) : NULL;
        return end != NULL ? (size_t)(end - text) + 2 : n;
    }
    while (i < n && text[i] != '\n') {
        i += text[i] == '\\' ? 2 : 1;
    }
    return i < n ? i : n;
}

static size_t skip_quoted(const char *text, size_t n, size_t i) {
    char quote = text[i++];
    while (i < n && text[i] != quote && text[i] != '\n') {
        i += text[i] == '\\' ? 2 : 1;
    }
    return i < n && text[i] == quote ? i + 1 : i < n ? i : n;
}

/* All words of C text. An apostrophe inside a number (C23) is no quote. */
static void add_text(names *set, const char *text, size_t n) {
    for (size_t i = 0; i < n && !set->failed;) {
        size_t begin = i;
        bool is_word = starts_word(text[i]), is_number = is_digit(text[i]);
        if (is_word || is_number) {
            while (i < n && (starts_word(text[i]) || is_digit(text[i]) ||
                             (is_number && (text[i] == '\'' || text[i] == '.')))) {
                i++;
            }
            if (is_word) {
                add(set, text + begin, i - begin);
            }
        } else if (text[i] == '/' && i + 1 < n && (text[i + 1] == '*' || text[i + 1] == '/')) {
            i = skip_comment(text, n, i);
        } else if (text[i] == '"' || text[i] == '\'') {
            i = skip_quoted(text, n, i);
        } else {
            i++;
        }
    }
}

/* ---- where names come from ------------------------------------------------------------------- */
typedef struct collector {
    const ctune_parsed *parsed;
    names set;
} collector;

static void add_header(CXFile file, CXSourceLocation *stack, unsigned depth, CXClientData data) {
    collector *c = data;
    (void)stack;
    size_t n = 0;
    const char *text = depth > 0 ? clang_getFileContents(c->parsed->unit, file, &n) : NULL;
    CXSourceLocation start = clang_getLocationForOffset(c->parsed->unit, file, 0);
    if (text != NULL && !clang_Location_isInSystemHeader(start)) {
        add_text(&c->set, text, n);
    }
}

static enum CXChildVisitResult add_type(CXCursor cursor, CXCursor parent, CXClientData data) {
    collector *c = data;
    (void)parent;
    if (clang_getCursorKind(cursor) == CXCursor_TypedefDecl) {
        CXString name = clang_getCursorSpelling(cursor);
        const char *text = clang_getCString(name);
        add(&c->set, text, text != NULL ? strlen(text) : 0);
        clang_disposeString(name);
    }
    return CXChildVisit_Continue;
}

/* Without the prelude of an earlier rewriting: the names are those of the file without it. */
static void add_main(names *set, const char *text, size_t n) {
    static const char begin[] = "/* ctune:prelude begin */", end[] = "/* ctune:prelude end */";
    const char *from = memmem(text, n, begin, sizeof begin - 1);
    const char *to =
        from != NULL ? memmem(from, n - (size_t)(from - text), end, sizeof end - 1) : NULL;
    size_t head = to != NULL ? (size_t)(from - text) : n;
    add_text(set, text, head);
    if (to != NULL) {
        add_text(set, to, n - (size_t)(to - text));
    }
}

/* -DNAME=BODY */
static void add_flags(names *set, int n_flags, const char *const *flags) {
    for (int i = 0; i < n_flags; i++) {
        const char *text = flags[i];
        if (strcmp(text, "-D") == 0 && i + 1 < n_flags) {
            text = flags[++i];
        } else if (strncmp(text, "-D", 2) == 0) {
            text += 2;
        } else {
            continue;
        }
        add_text(set, text, strlen(text));
    }
}

static int by_name(const void *x, const void *y) {
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static const char *const *sorted(const names *set) {
    const char **out = CTUNE_NEW_ARRAY(set->arena, const char *, set->n + 1);
    size_t n = 0;
    for (size_t i = 0; out != NULL && i < set->size; i++) {
        if (set->slot[i] != NULL) {
            out[n++] = set->slot[i];
        }
    }
    if (out != NULL) {
        qsort(out, n, sizeof *out, by_name);
    }
    return out;
}

bool ctune_reserved_collect(const ctune_parsed *parsed, int n_flags, const char *const *flags,
                            const char *const **out, int *n_out) {
    collector c = {.parsed = parsed, .set = {.arena = parsed->arena}};
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
        add(&c.set, keywords[i], strlen(keywords[i]));
    }
    add_main(&c.set, parsed->source->clean, parsed->source->n_clean);
    for (int i = 0; i < parsed->definitions.n; i++) {
        const char *name = parsed->definitions.at[i].name;
        add(&c.set, name, strlen(name));
    }
    add_flags(&c.set, n_flags, flags);
    clang_getInclusions(parsed->unit, add_header, &c);
    clang_visitChildren(clang_getTranslationUnitCursor(parsed->unit), add_type, &c);
    *out = c.set.failed ? NULL : sorted(&c.set);
    *n_out = (int)c.set.n;
    free(c.set.slot);
    return *out != NULL;
}
