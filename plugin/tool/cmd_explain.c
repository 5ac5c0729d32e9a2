/*
 * ctune explain: the page of a refusal. Why, what is refused, and the same as it is handled.
 *
 * In: a code; nothing: the list of codes; `all`: docs/refusals.md.
 */
#include "plugin/extract/extract.h"
#include "plugin/tool/tool.h"

#include <string.h>

static void print_indented(const char *text) {
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");
        printf("    %.*s\n", (int)n, text);
        text += n + (text[n] == '\n');
    }
}

static void print_page(const ctune_refusal_page *page) {
    printf("%s\n\n%s\nWhat helps: %s.\n\nNot tuned:\n\n", page->code, page->why, page->hint);
    print_indented(page->before);
    printf("\nTuned:\n\n");
    print_indented(page->after);
}

static void print_document(void) {
    ctune_refusal_page p;
    printf("# Refusals\n\nWhy a loop is left alone, by the code in brackets; `ctune explain CODE` "
           "prints one of these pages. This file is\nmade by `ctune explain all`.\n");
    for (int i = 0; ctune_refusal_page_get(i, &p); i++) {
        printf("\n## %s\n\n%s What helps: %s.\n\n```c\n%s\n```\n\nThe same, tuned:\n\n"
               "```c\n%s\n```\n",
               p.code, p.why, p.hint, p.before, p.after);
    }
}

static void print_list(void) {
    ctune_refusal_page p;
    for (int i = 0; ctune_refusal_page_get(i, &p); i++) {
        printf("%-22s %s\n", p.code, p.hint);
    }
}

/* `break` or `[break]`. */
static bool find_page(const char *word, ctune_refusal_page *out) {
    size_t n = strlen(word);
    bool has_brackets = n > 2 && word[0] == '[' && word[n - 1] == ']';
    word += has_brackets;
    n -= has_brackets ? 2 : 0;
    for (int i = 0; ctune_refusal_page_get(i, out); i++) {
        if (strlen(out->code) == n && strncmp(out->code, word, n) == 0) {
            return true;
        }
    }
    return false;
}

int ctune_cmd_explain(ctune_ctx *ctx, const ctune_options *options) {
    ctune_refusal_page page;
    if (options->n_words > 1) {
        ctune_fail(ctx, CTUNE_EUSAGE, "one code, please; `ctune explain` lists them");
        return ctune_report(ctx, CTUNE_EUSAGE);
    }
    if (options->n_words == 0) {
        print_list();
    } else if (strcmp(options->words[0], "all") == 0) {
        print_document();
    } else if (find_page(options->words[0], &page)) {
        print_page(&page);
    } else {
        ctune_fail(ctx, CTUNE_EUSAGE, "no code '%s'; `ctune explain` lists them",
                   options->words[0]);
        return ctune_report(ctx, CTUNE_EUSAGE);
    }
    return CTUNE_EXIT_OK;
}
