/*
 * Identifiers of the frame that the emitter puts around a program: locals for parameters, pointers
 * to tensors, the block of memory and the sizes in it.
 *
 * They differ from each other, from the program's own names (the naming pass chose those against
 * the region's), from every word of the region's texts and of the original statement, which
 * stands inside the frame, and from the file's reserved words: a macro expands anywhere.
 */
#include "search/emit/emit_private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct words {
    ctune_arena *arena;
    const ctune_region *region; /* whose list of reserved words counts, too; NULL = none */
    int n, cap;
    const char **word;
} words;

static bool has_word(const words *w, const char *word) {
    for (int i = 0; i < w->n; i++) {
        if (strcmp(w->word[i], word) == 0) {
            return true;
        }
    }
    return false;
}

static void add_word(words *w, const char *word) {
    if (word == NULL || has_word(w, word)) {
        return;
    }
    if (w->n == w->cap) {
        int cap = w->cap * 2 + 64;
        const char **more = CTUNE_NEW_ARRAY(w->arena, const char *, cap);
        if (more == NULL) {
            return;
        }
        if (w->n > 0) {
            memcpy(more, w->word, (size_t)w->n * sizeof *more);
        }
        w->word = more;
        w->cap = cap;
    }
    w->word[w->n++] = word;
}

static bool is_word_char(char c) {
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 128;
}

static void add_text(words *w, const char *text) {
    while (text != NULL && *text != '\0') {
        size_t n = 0;
        while (is_word_char(text[n])) {
            n++;
        }
        if (n > 0 && !isdigit((unsigned char)*text)) {
            add_word(w, ctune_arena_strndup(w->arena, text, n));
        }
        text += n > 0 ? n : 1;
    }
}

static int compare_words(const void *x, const void *y) {
    return strcmp(x, *(const char *const *)y);
}

static bool is_reserved(const ctune_region *region, const char *name) {
    return region != NULL && region->n_reserved > 0 &&
           bsearch(name, region->reserved, (size_t)region->n_reserved, sizeof *region->reserved,
                   compare_words) != NULL;
}

static const char *choose(words *w, const char *wish) {
    const char *name = wish;
    for (int i = 2; name != NULL && (has_word(w, name) || is_reserved(w->region, name)); i++) {
        name = ctune_arena_printf(w->arena, "%s_%d", wish, i);
    }
    add_word(w, name);
    return name;
}

const char *const *emit_words(ctune_arena *arena, const char *text, int *n) {
    words w = {.arena = arena};
    add_text(&w, text);
    *n = w.n;
    return w.word;
}

/* Words that stand inside the text for other reasons than as a parameter's or tensor's name. */
static void add_region(words *w, const ctune_region *region) {
    for (int i = 0; i < region->n_params; i++) {
        add_text(w, region->params[i].c_text);
    }
    for (int i = 0; i < region->n_tensors; i++) {
        add_text(w, region->tensors[i].pattern);
        add_text(w, region->tensors[i].base);
        add_text(w, region->tensors[i].live_out_text);
    }
    for (int i = 0; i < region->n_stages; i++) {
        add_text(w, region->stages[i].text);
    }
    for (int i = 0; i < region->n_assumes; i++) {
        add_text(w, region->assumes[i].c_text);
    }
    add_text(w, region->epilogue);
}

static ctune_status add_program(ctune_emitter *e, words *w) {
    const ctune_loops *l = e->loops;
    for (int i = 0; i < l->n_vars; i++) {
        if (l->var[i].name == NULL && e->is_var_used[i]) {
            return ctune_fail(e->ctx, CTUNE_EBUG, "emit: variable %s.%d has no name",
                              l->var[i].hint, i);
        }
        add_word(w, l->var[i].name);
    }
    for (int i = 0; i < l->n_buffers; i++) {
        if (l->buffer[i].name == NULL && e->is_buffer_used[i]) {
            return ctune_fail(e->ctx, CTUNE_EBUG, "emit: buffer %s.%d has no name",
                              l->buffer[i].hint, i);
        }
        add_word(w, l->buffer[i].name);
    }
    return CTUNE_OK;
}

ctune_status emit_names(ctune_emitter *e, const char *original) {
    const ctune_region *region = e->region;
    words w = {.arena = e->arena, .region = e->is_standalone ? NULL : region};
    ctune_status status = add_program(e, &w);
    if (status != CTUNE_OK) {
        return status;
    }
    if (!e->is_standalone) {
        add_region(&w, region);
        add_text(&w, original);
    }
    e->param = CTUNE_NEW_ARRAY(e->arena, const char *, region->n_params + 1);
    e->tensor = CTUNE_NEW_ARRAY(e->arena, const char *, region->n_tensors + 1);
    e->bytes = CTUNE_NEW_ARRAY(e->arena, const char *, e->loops->n_buffers + 1);
    e->base = CTUNE_NEW_ARRAY(e->arena, const char *, e->loops->n_buffers + 1);
    e->is_param_used = CTUNE_NEW_ARRAY(e->arena, bool, region->n_params + 1);
    e->is_tensor_used = CTUNE_NEW_ARRAY(e->arena, bool, region->n_tensors + 1);
    if (ctune_arena_has_failed(e->arena)) {
        return ctune_fail(e->ctx, CTUNE_ENOMEM, "out of memory");
    }
    e->args = choose(&w, "ctune_a");
    e->memory = choose(&w, "ctune_mem");
    e->done = choose(&w, "ctune_done");
    for (int i = 0; i < region->n_params; i++) {
        const char *name = region->params[i].name;
        e->param[i] =
            choose(&w, e->is_standalone ? name : ctune_arena_printf(e->arena, "ctune_v_%s", name));
    }
    for (int i = 0; i < region->n_tensors; i++) {
        e->tensor[i] = choose(&w, region->tensors[i].name);
    }
    for (int i = 0; i < e->loops->n_buffers; i++) {
        e->bytes[i] = choose(&w, ctune_arena_printf(e->arena, "ctune_bytes_%d", i));
        e->base[i] = choose(&w, ctune_arena_printf(e->arena, "ctune_base_%d", i));
    }
    return ctune_arena_has_failed(e->arena) ? ctune_fail(e->ctx, CTUNE_ENOMEM, "out of memory")
                                            : CTUNE_OK;
}
