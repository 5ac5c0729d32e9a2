/*
 * The words that the user gave to the compiler's driver.
 *
 * A plugin runs in the compiler proper, which gets other words than the driver: -march=native is
 * spelt out, defaults are added. A lock entry is found by the driver's words, the same that `ctune
 * tune` saw, so they are read from where they are kept: /proc, or GCC's environment.
 */
#include "plugin/shim/shim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_BYTES = 16 << 20, MAX_DEPTH = 8 };

static bool append(ctune_shim_words *words, const char *word, size_t n) {
    char **bigger = realloc(words->words, (size_t)(words->n + 2) * sizeof *bigger);
    if (bigger == NULL) {
        return false;
    }
    words->words = bigger;
    bigger[words->n] = strndup(word, n);
    bigger[words->n + 1] = NULL;
    return bigger[words->n++] != NULL;
}

/* Owner: caller; NUL-terminated. NULL when it cannot be read. */
static char *read_file(const char *path, size_t *n) {
    FILE *file = fopen(path, "re");
    char *data = NULL;
    size_t used = 0, size = 0;
    while (file != NULL && !feof(file) && !ferror(file) && size < MAX_BYTES) {
        size_t want = size + 65536;
        char *bigger = realloc(data, want + 1);
        if (bigger == NULL) {
            break;
        }
        data = bigger;
        used += fread(data + used, 1, want - used, file);
        size = want;
    }
    bool ok = file != NULL && feof(file) && !ferror(file) && data != NULL;
    if (file != NULL) {
        fclose(file);
    }
    if (!ok) {
        free(data);
        return NULL;
    }
    data[used] = '\0';
    *n = used;
    return data;
}

/* One word as a shell or a response file writes it: quotes and backslashes. Returns what follows.
 */
static const char *take_quoted(const char *p, char *out, size_t *n) {
    char quote = 0;
    *n = 0;
    for (; *p != '\0' && (quote != 0 || strchr(" \t\r\n", *p) == NULL); p++) {
        if (quote == 0 && (*p == '"' || *p == '\'')) {
            quote = *p;
        } else if (quote != 0 && *p == quote) {
            quote = 0;
        } else if (*p == '\\' && quote != '\'' && p[1] != '\0') {
            out[(*n)++] = *++p;
        } else {
            out[(*n)++] = *p;
        }
    }
    return p;
}

static bool add_word(ctune_shim_words *out, const char *word, size_t n, int depth);

static bool add_quoted(ctune_shim_words *out, const char *text, int depth) {
    char *word = malloc(strlen(text) + 1);
    bool ok = word != NULL;
    for (const char *p = text + strspn(text, " \t\r\n"); ok && *p != '\0';
         p += strspn(p, " \t\r\n")) {
        size_t n;
        p = take_quoted(p, word, &n);
        ok = add_word(out, word, n, depth);
    }
    free(word);
    return ok;
}

/* "@file" is replaced by the file's words; by itself when there is no such file. */
static bool add_word(ctune_shim_words *out, const char *word, size_t n, int depth) {
    if (n > 1 && word[0] == '@' && depth < MAX_DEPTH) {
        char *path = strndup(word + 1, n - 1);
        size_t n_text;
        char *text = path != NULL ? read_file(path, &n_text) : NULL;
        free(path);
        if (text != NULL) {
            bool ok = add_quoted(out, text, depth + 1);
            free(text);
            return ok;
        }
    }
    return append(out, word, n);
}

bool ctune_shim_words_read(int pid, ctune_shim_words *out) {
    char path[64];
    size_t n = 0;
    memset(out, 0, sizeof *out);
    snprintf(path, sizeof path, pid > 0 ? "/proc/%d/cmdline" : "/proc/self/cmdline", pid);
    char *data = read_file(path, &n);
    bool ok = data != NULL && n > 0;
    for (size_t i = 0; ok && i < n; i += strlen(data + i) + 1) {
        ok = add_word(out, data + i, strlen(data + i), i == 0 ? MAX_DEPTH : 0);
    }
    free(data);
    if (!ok) {
        ctune_shim_words_clear(out);
    }
    return ok;
}

bool ctune_shim_program_find(int pid, char *out, size_t size) {
    char path[64];
    snprintf(path, sizeof path, pid > 0 ? "/proc/%d/exe" : "/proc/self/exe", pid);
    ssize_t n = readlink(path, out, size - 1);
    out[n > 0 ? n : 0] = '\0';
    return n > 0 && (size_t)n < size - 1;
}

bool ctune_shim_words_parse(const char *name, const char *quoted, ctune_shim_words *out) {
    memset(out, 0, sizeof *out);
    bool ok = append(out, name, strlen(name)) && add_quoted(out, quoted, 0);
    if (!ok) {
        ctune_shim_words_clear(out);
    }
    return ok;
}

void ctune_shim_words_clear(ctune_shim_words *words) {
    for (int i = 0; i < words->n; i++) {
        free(words->words[i]);
    }
    free(words->words);
    memset(words, 0, sizeof *words);
}
