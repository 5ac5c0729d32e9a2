/*
 * Pragmas around what was put in, see quiet.h.
 *
 * The markers of plugin/rewrite say where that is. A pragma goes in front of a #line, so that lines
 * stay the user's. For clang only: it takes such a pragma in the preprocessor, anywhere; GCC may
 * take it for the statement that an `if` controls.
 */
#include "plugin/transform/quiet.h"

#include <string.h>

static const char push[] = "#pragma clang diagnostic push\n"
                           "#pragma clang diagnostic ignored \"-Weverything\"\n";
static const char pop[] = "#pragma clang diagnostic pop\n";
/* Loops that the optimiser does not vectorise are reported where their function begins: outside. */
static const char rest[] = "#pragma clang diagnostic ignored \"-Wpass-failed\"\n";

static bool has(const char *line, size_t n, const char *word) {
    return memmem(line, n, word, strlen(word)) != NULL;
}

static bool opens(const char *line, size_t n) {
    return has(line, n, "/* ctune:prelude begin */") || has(line, n, "/* ctune:begin ") ||
           has(line, n, "/* ctune:original end */");
}

/* A #line whose own end or next line begins what is the user's. */
static bool closes(const char *line, size_t n) {
    if (strncmp(line, "#line", 5) != 0) {
        return false;
    }
    const char *next = line + n;
    size_t n_next = strcspn(next, "\n");
    return has(line, n, "/* ctune:prelude end */") ||
           has(next, n_next, "/* ctune:original begin */") || has(next, n_next, "/* ctune:end ");
}

void ctune_quiet_add(const char *text, ctune_text *out) {
    for (size_t n; *text != '\0'; text += n) {
        n = strcspn(text, "\n");
        n += text[n] == '\n';
        if (closes(text, n)) {
            ctune_text_append(out, pop);
            ctune_text_append(out, has(text, n, "/* ctune:prelude end */") ? rest : "");
        }
        ctune_text_append_n(out, text, n);
        if (opens(text, n)) {
            ctune_text_append(out, push);
        }
    }
}
