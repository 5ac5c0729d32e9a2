/*
 * Name.
 * In:  hints of variables and buffers, in the order in which the program binds them.
 * Out: names: identifiers that are unique in the program and no word of the languages, of the
 *      region's text, of the literals and calls in the program or of the lists of reserved words.
 * Why: printed code stands inside somebody's function; a name that captures one of theirs is wrong
 *      code without a message.
 *
 * The hint itself when it is free, else hint_2, hint_3, ... Names never start with an underscore or
 * with `ctune_`: those are the compiler's and the prelude's.
 */
#include "search/passes/passes_private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* C to C23, GNU, C++ to C++20, CUDA, and what headers commonly define as macros. One string: it is
 * split at blanks. */
static const char reserved_words[] =
    "auto break case char const continue default do double else enum extern float for goto if "
    "inline int long register restrict return short signed sizeof static struct switch typedef "
    "union unsigned void volatile while alignas alignof bool constexpr false nullptr static_assert "
    "thread_local true typeof typeof_unqual noreturn complex imaginary asm fortran "
    "and and_eq bitand bitor catch char8_t char16_t char32_t class compl concept consteval "
    "constinit const_cast co_await co_return co_yield decltype delete dynamic_cast explicit export "
    "final friend import module mutable namespace new noexcept not not_eq operator or or_eq "
    "override private protected public reinterpret_cast requires static_cast template this throw "
    "try typeid typename using virtual wchar_t xor xor_eq "
    "threadIdx blockIdx blockDim gridDim warpSize dim3 half min max "
    "linux unix i386 I NULL EOF errno assert offsetof main alloca stdin stdout stderr setjmp "
    "va_arg va_copy va_end va_list va_start size_t ptrdiff_t ssize_t intptr_t uintptr_t "
    "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t "
    "isfinite isinf isnan isnormal signbit fpclassify isgreater isless isunordered "
    "INFINITY NAN HUGE_VAL "
    "malloc calloc realloc free aligned_alloc memcpy memset memmove abort exit "
    "omp_get_thread_num omp_get_num_threads omp_get_max_threads";

typedef struct word {
    const char *text; /* NULL = empty */
    size_t len;
    int next; /* number to try first when the word is a hint again */
} word;

typedef struct namer {
    ctune_loops *l;
    int n_words, cap_words; /* open addressing */
    word *words;
} namer;

/* ---- the set of words ------------------------------------------------------------------------ */

static word *find_word(word *words, int cap, const char *text, size_t len) {
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < len; i++) {
        h = (h ^ (unsigned char)text[i]) * 1099511628211u;
    }
    size_t at = (size_t)(h ^ h >> 32) & ((size_t)cap - 1);
    while (words[at].text != NULL &&
           (words[at].len != len || memcmp(words[at].text, text, len) != 0)) {
        at = (at + 1) & ((size_t)cap - 1);
    }
    return &words[at];
}

/* The word, added when it is new (*is_new). text must outlive the pass. NULL: out of memory. */
static word *add_word(namer *n, const char *text, size_t len, bool *is_new) {
    if (n->n_words * 2 >= n->cap_words) {
        int cap = n->cap_words == 0 ? 1024 : n->cap_words * 2;
        word *more = CTUNE_NEW_ARRAY(n->l->arena, word, cap);
        if (more == NULL) {
            return NULL;
        }
        for (int i = 0; i < n->cap_words; i++) {
            if (n->words[i].text != NULL) {
                *find_word(more, cap, n->words[i].text, n->words[i].len) = n->words[i];
            }
        }
        n->words = more;
        n->cap_words = cap;
    }
    word *at = find_word(n->words, n->cap_words, text, len);
    *is_new = at->text == NULL;
    if (*is_new) {
        *at = (word){text, len, 2};
        n->n_words++;
    }
    return at;
}

static bool is_start(char c) {
    return isalpha((unsigned char)c) || c == '_' || (unsigned char)c >= 128;
}

static bool is_part(char c) {
    return is_start(c) || isdigit((unsigned char)c);
}

/* All identifiers in text. */
static void reserve(namer *n, const char *text) {
    bool is_new;
    for (const char *at = text; at != NULL && *at != '\0';) {
        const char *end = at;
        while (is_part(*end)) {
            end++;
        }
        while (at < end && !is_start(*at)) {
            at++; /* a number; its suffix is no name, but harmless */
        }
        if (at < end) {
            add_word(n, at, (size_t)(end - at), &is_new);
        }
        at = *end == '\0' ? end : end + 1;
    }
}

static void reserve_region(namer *n, const ctune_region *r) {
    reserve(n, r->name);
    reserve(n, r->epilogue);
    for (int i = 0; i < r->n_params; i++) {
        reserve(n, r->params[i].name);
        reserve(n, r->params[i].c_text);
    }
    for (int i = 0; i < r->n_tensors; i++) {
        reserve(n, r->tensors[i].name);
        reserve(n, r->tensors[i].pattern);
        reserve(n, r->tensors[i].base);
        reserve(n, r->tensors[i].live_out_text);
    }
    for (int i = 0; i < r->n_axes; i++) {
        reserve(n, r->axes[i].name);
        reserve(n, r->axes[i].c_name);
    }
    for (int i = 0; i < r->n_stages; i++) {
        reserve(n, r->stages[i].text);
    }
    for (int i = 0; i < r->n_assumes; i++) {
        reserve(n, r->assumes[i].c_text);
    }
}

static void reserve_value(namer *n, const ctune_value *v) {
    if (v == NULL) {
        return;
    }
    reserve(n, v->text); /* CALL: the function; CONST: a literal, maybe a macro */
    for (int i = 0; i < v->n_kids; i++) {
        reserve_value(n, v->kids[i]);
    }
}

static void reserve_node(ctune_lnode *node, void *data) {
    reserve_value(data, node->value);
    reserve_value(data, node->test);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* hint as an identifier that may be ours. */
static const char *clean(namer *n, const char *hint) {
    char *out = ctune_arena_strdup(n->l->arena, hint == NULL ? "" : hint);
    if (out == NULL) {
        return NULL;
    }
    for (char *at = out; *at != '\0'; at++) {
        bool is_ascii = (unsigned char)*at < 128 && is_part(*at);
        *at = is_ascii ? *at : '_';
    }
    while (*out == '_') {
        out++;
    }
    if (*out == '\0') {
        return "v";
    }
    return isdigit((unsigned char)*out) || strncmp(out, "ctune_", 6) == 0
               ? ctune_arena_printf(n->l->arena, "v_%s", out)
               : out;
}

static int compare_words(const void *x, const void *y) {
    return strcmp(x, *(const char *const *)y);
}

/* Is name in the region's own list? It is long and shared by all programs: searched, not copied. */
static bool is_listed(const namer *n, const char *name) {
    const ctune_region *r = n->l->region;
    return r->n_reserved > 0 && bsearch(name, r->reserved, (size_t)r->n_reserved,
                                        sizeof *r->reserved, compare_words) != NULL;
}

static const char *name_for(namer *n, const char *hint) {
    hint = clean(n, hint);
    bool is_new = false;
    word *base = hint == NULL ? NULL : add_word(n, hint, strlen(hint), &is_new);
    if (base == NULL) {
        return NULL;
    }
    const char *name = hint;
    while (!is_new || is_listed(n, name)) {
        int number = base->next++;
        name = ctune_arena_printf(n->l->arena, "%s_%d", hint, number);
        if (name == NULL || add_word(n, name, strlen(name), &is_new) == NULL) {
            return NULL;
        }
        base = find_word(n->words, n->cap_words, hint, strlen(hint)); /* the table may have moved */
    }
    return name;
}

static void name_node(ctune_lnode *node, void *data) {
    namer *n = data;
    const char **name = NULL;
    const char *hint = NULL;
    if (node->kind == CTUNE_L_DECL) {
        name = &n->l->buffer[node->buffer].name;
        hint = n->l->buffer[node->buffer].hint;
    } else if (node->kind == CTUNE_L_FOR || node->kind == CTUNE_L_LET ||
               node->kind == CTUNE_L_DEF) {
        name = &n->l->var[node->var].name;
        hint = n->l->var[node->var].hint;
    }
    if (name != NULL && *name == NULL) {
        *name = name_for(n, hint);
    }
}

ctune_status ctune_pass_name(ctune_loops *l, const ctune_pass_options *options) {
    namer n = {.l = l};
    if (ctune_loops_status(l) != CTUNE_OK) {
        return l->status;
    }
    for (int i = 0; i < l->n_vars; i++) {
        l->var[i].name = NULL;
    }
    for (int i = 0; i < l->n_buffers; i++) {
        l->buffer[i].name = NULL;
    }
    reserve(&n, reserved_words);
    for (int i = 0; i < options->n_reserved; i++) {
        reserve(&n, options->reserved[i]);
    }
    reserve_region(&n, l->region);
    ctune_lnode_walk(l->root, reserve_node, &n);
    ctune_lnode_walk(l->root, name_node, &n);
    return ctune_loops_status(l);
}
