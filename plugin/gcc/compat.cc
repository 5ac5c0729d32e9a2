/*
 * The compiler that the plugin is for.
 */
#include "plugin/gcc/compat.h"

#include "plugin-version.h"

/* The next word of GCC's configuration, its distributor's own name left out: an update of the
 * package changes nothing else. Returns its start, *end behind it; "" at the end. */
static const char *next_word(const char *p, const char **end) {
    static const char label[] = "--with-pkgversion=";
    for (;;) {
        p += strspn(p, " ");
        bool is_label = strncmp(p, label, sizeof label - 1) == 0;
        bool is_quoted = false;
        const char *q = p;
        for (; *q != '\0' && (is_quoted || *q != ' '); q++) {
            is_quoted ^= *q == '\'';
        }
        *end = q;
        if (!is_label) {
            return p;
        }
        p = q;
    }
}

/* Same target and options? A cross compiler of the same version has other structs. */
static bool is_same_configuration(const char *a, const char *b) {
    const char *a_end, *b_end;
    do {
        a = next_word(a, &a_end);
        b = next_word(b, &b_end);
        if (a_end - a != b_end - b || strncmp(a, b, (size_t)(a_end - a)) != 0) {
            return false;
        }
        a = a_end;
        b = b_end;
    } while (*a != '\0' || *b != '\0');
    return true;
}

bool ctune_gcc_version_matches(const struct plugin_gcc_version *compiler) {
    return strcmp(compiler->basever, gcc_version.basever) == 0 &&
           strcmp(compiler->datestamp, gcc_version.datestamp) == 0 &&
           strcmp(compiler->devphase, gcc_version.devphase) == 0 &&
           strcmp(compiler->revision, gcc_version.revision) == 0 &&
           is_same_configuration(compiler->configuration_arguments,
                                 gcc_version.configuration_arguments);
}

const char *ctune_gcc_version_built(void) {
    return gcc_version.basever;
}
