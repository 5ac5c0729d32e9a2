/*
 * The hot loop of a function's assembly: see hot.h.
 */
#include "plugin/page/hot.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct line {
    const char *text;
    size_t n;
    int back_to; /* of a jump: line of its label above; -1: anything else */
} line;

void ctune_assembly_function(const char *assembly, const char *name, ctune_text *out) {
    char label[80], size[80];
    snprintf(label, sizeof label, "%s:", name);
    snprintf(size, sizeof size, "\t.size\t%s,", name);
    bool is_in = false;
    for (const char *at = assembly; *at != '\0';) {
        size_t n = strcspn(at, "\n");
        is_in = is_in || strncmp(at, label, strlen(label)) == 0;
        if (is_in) {
            ctune_text_append_n(out, at, n);
            ctune_text_append(out, "\n");
        }
        is_in = is_in && strncmp(at, size, strlen(size)) != 0;
        at += n + (at[n] == '\n');
    }
}

static bool is_name_char(char c) {
    return isalnum((unsigned char)c) || c == '.' || c == '_' || c == '$';
}

/* Bytes of the label that the line defines, 0 = none. */
static size_t label_of(const line *l) {
    size_t n = 0;
    while (n < l->n && is_name_char(l->text[n])) {
        n++;
    }
    return n > 0 && n < l->n && l->text[n] == ':' ? n : 0;
}

/* The instruction's name, NULL: a label, directive, comment or nothing. */
static const char *mnemonic_of(const line *l, size_t *n) {
    size_t begin = 0;
    while (begin < l->n && isspace((unsigned char)l->text[begin])) {
        begin++;
    }
    *n = 0;
    while (begin + *n < l->n && is_name_char(l->text[begin + *n])) {
        ++*n;
    }
    bool is_code = begin > 0 && *n > 0 && l->text[begin] != '.';
    return is_code ? l->text + begin : NULL;
}

static bool is_jump(const char *mnemonic, size_t n) {
    static const char *const arm[] = {"b", "cbz", "cbnz", "tbz", "tbnz"};
    if (mnemonic[0] == 'j' || (n > 2 && mnemonic[0] == 'b' && mnemonic[1] == '.')) {
        return true;
    }
    for (size_t i = 0; i < sizeof arm / sizeof *arm; i++) {
        if (strlen(arm[i]) == n && memcmp(arm[i], mnemonic, n) == 0) {
            return true;
        }
    }
    return false;
}

/* The last name on the line: where a jump goes to. */
static const char *last_name(const line *l, size_t *n) {
    const char *found = NULL;
    *n = 0;
    for (size_t i = 0; i < l->n && l->text[i] != '#';) {
        size_t m = 0;
        while (i + m < l->n && is_name_char(l->text[i + m])) {
            m++;
        }
        if (m > 0) {
            found = l->text + i;
            *n = m;
        }
        i += m > 0 ? m : 1;
    }
    return found;
}

static int label_find(const line *lines, int before, const char *name, size_t n) {
    for (int i = before - 1; i >= 0; i--) {
        if (label_of(&lines[i]) == n && memcmp(lines[i].text, name, n) == 0) {
            return i;
        }
    }
    return -1;
}

/* Lines of the text, jumps resolved. Owner: caller. */
static line *split_lines(const char *text, int *n) {
    int n_lines = 0;
    for (const char *c = text; *c != '\0'; c++) {
        n_lines += *c == '\n';
    }
    line *lines = calloc((size_t)n_lines + 1, sizeof *lines);
    *n = 0;
    for (const char *at = text; lines != NULL && *at != '\0';) {
        line *l = &lines[*n];
        *l = (line){.text = at, .n = strcspn(at, "\n"), .back_to = -1};
        size_t n_mnemonic, n_name;
        const char *mnemonic = mnemonic_of(l, &n_mnemonic);
        if (mnemonic != NULL && is_jump(mnemonic, n_mnemonic)) {
            const char *name = last_name(l, &n_name);
            l->back_to = label_find(lines, *n, name, n_name);
        }
        ++*n;
        at += l->n + (at[l->n] == '\n');
    }
    return lines;
}

static bool is_innermost(const line *lines, int begin, int end) {
    for (int i = begin; i < end; i++) {
        if (lines[i].back_to >= begin) {
            return false;
        }
    }
    return true;
}

static bool line_has(const line *l, const char *word) {
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= l->n; i++) {
        if (memcmp(l->text + i, word, n) == 0) {
            return true;
        }
    }
    return false;
}

/* Bytes that the vector arithmetic of a line works on: its widest register; 0: it only moves, or is
 * not about vectors. */
static int work_of(const line *l) {
    size_t n;
    const char *mnemonic = mnemonic_of(l, &n);
    static const char *const moves[] = {"mov", "vmov", "ld", "st"};
    for (size_t i = 0; i < sizeof moves / sizeof *moves && mnemonic != NULL; i++) {
        if (n >= strlen(moves[i]) && memcmp(mnemonic, moves[i], strlen(moves[i])) == 0) {
            return 0;
        }
    }
    if (mnemonic == NULL) {
        return 0;
    }
    static const struct {
        const char *word;
        int bytes;
    } registers[] = {{"%zmm", 64}, {"%ymm", 32}, {"%xmm", 16}, {".4s", 16}, {".2d", 16}};
    for (size_t i = 0; i < sizeof registers / sizeof *registers; i++) {
        if (line_has(l, registers[i].word)) {
            return registers[i].bytes;
        }
    }
    return 0;
}

void ctune_assembly_hot_loop(const char *function, ctune_text *out) {
    int n, best_begin = -1, best_end = -1;
    long best_work = -1;
    line *lines = split_lines(function, &n);
    for (int end = 0; lines != NULL && end < n; end++) {
        int begin = lines[end].back_to;
        if (begin < 0 || !is_innermost(lines, begin, end)) {
            continue;
        }
        long work = 0;
        for (int i = begin; i < end; i++) {
            work += work_of(&lines[i]);
        }
        if (work > best_work ||
            (work == 0 && best_work == 0 && end - begin > best_end - best_begin)) {
            best_work = work;
            best_begin = begin;
            best_end = end;
        }
    }
    for (int i = best_begin; best_begin >= 0 && i <= best_end; i++) {
        size_t n_mnemonic;
        if (mnemonic_of(&lines[i], &n_mnemonic) != NULL || label_of(&lines[i]) > 0) {
            ctune_text_append_n(out, lines[i].text, lines[i].n);
            ctune_text_append(out, "\n");
        }
    }
    free(lines);
}
