/*
 * Variants of a region as a chain, see variants.h.
 *
 * Several entries of one region (one a combination of sizes) become a chain, each link with the
 * next one in the else branch of its guard: of nests that take little time, variants for exactly
 * the tuned sizes, which are constants in them; then variants for any size, each guarded by the
 * range in which its sizes are the nearest (plugin/record/dispatch.h); the original in the
 * innermost else. Only the innermost original keeps its markers, so that undoing finds the user's
 * bytes.
 */
#include "plugin/transform/variants.h"

#include "plugin/record/dispatch.h"
#include "plugin/record/profile.h"

#include <stdlib.h>
#include <string.h>

/* Constant sizes save what is left of loop control: gemm of 8 x 8 runs 1.5 times as fast, of 32 x
 * 32 (0.3 us) 3 % faster, from 128 x 128 (16 us) on there is nothing to see but more code. */
#define SPECIALISE_NS 10000

/* The outermost markers of `text` name what is no original but another variant. Same length, so
 * that it is done in place. */
static void rename_markers(char *text) {
    static const char begin[] = "/* ctune:original begin */", end[] = "/* ctune:original end */";
    char *first = strstr(text, begin), *last = NULL;
    for (char *p = text; (p = strstr(p, end)) != NULL; p++) {
        last = p;
    }
    if (first != NULL && last != NULL) {
        memcpy(first, "/* ctune:fallback begin */", strlen(begin));
        memcpy(last, "/* ctune:fallback end */", strlen(end));
    }
}

typedef struct chain {
    const ctune_source *source;
    ctune_program *program;
    const char *original;
    const ctune_lock_entry *const *entries;
    int n;
    ctune_arena *arena;
    int64_t *const *values; /* [n] sizes of the entries; NULL: not those of the region */
    int n_cases;
    const ctune_dispatch_case *cases;
    char *body; /* owned; NULL: only the original so far */
} chain;

static ctune_status emit_variant(ctune_ctx *ctx, const chain *c, const ctune_region *region,
                                 const char *schedule, const char *otherwise, ctune_text *out) {
    ctune_nest nest;
    ctune_emit_options options = c->source->emit;
    options.comments = true;
    ctune_status status = ctune_nest_parse(ctx, c->program, schedule, &nest);
    if (status == CTUNE_OK) {
        nest.region = region;
        status = ctune_emit_region(ctx, &nest, &options, otherwise, out);
    }
    return status == CTUNE_OK && out->failed ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory")
                                             : status;
}

/* Wraps the body in one more variant. region: the program's, with the guard that the variant gets.
 */
static ctune_status add_variant(ctune_ctx *ctx, chain *c, const ctune_region *region,
                                const char *schedule) {
    ctune_text text;
    ctune_text_init(&text);
    /* the inner text's names are avoided as the original's are: it stands in the outer's scope */
    ctune_status status =
        emit_variant(ctx, c, region, schedule, c->body != NULL ? c->body : c->original, &text);
    if (status == CTUNE_OK && c->body != NULL) {
        rename_markers(text.data);
    }
    if (status == CTUNE_OK) {
        char *copy = text.failed ? NULL : strdup(ctune_text_get(&text));
        status = copy != NULL ? CTUNE_OK : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
        free(c->body);
        c->body = copy;
    }
    ctune_text_clear(&text);
    return status;
}

/* ---- which variant where -------------------------------------------------------------------- */
/* Same schedule, same code. */
static int choice_of(const chain *c, int i_entry) {
    for (int i = 0; i < i_entry; i++) {
        if (strcmp(c->entries[i]->schedule, c->entries[i_entry]->schedule) == 0) {
            return choice_of(c, i);
        }
    }
    return c->entries[i_entry]->schedule[0] != '\0' ? i_entry : -1;
}

/* An entry whose sizes do not fit counts only when it is the one there is. */
static ctune_status read_values(ctune_ctx *ctx, chain *c) {
    const ctune_region *region = c->program->region;
    int64_t **values = CTUNE_NEW_ARRAY(c->arena, int64_t *, c->n + 1);
    for (int i = 0; values != NULL && i < c->n; i++) {
        values[i] = CTUNE_NEW_ARRAY(c->arena, int64_t, region->n_params + 1);
        if (values[i] != NULL && !ctune_sizes_read(c->entries[i]->sizes, region, values[i]) &&
            c->n > 1) {
            values[i] = NULL;
        }
    }
    c->values = values;
    return ctune_arena_has_failed(c->arena) ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory")
                                            : CTUNE_OK;
}

static ctune_status make_plan(ctune_ctx *ctx, chain *c) {
    ctune_dispatch_point *points = CTUNE_NEW_ARRAY(c->arena, ctune_dispatch_point, c->n + 1);
    int n = 0;
    ctune_status status = read_values(ctx, c);
    for (int i = 0; status == CTUNE_OK && points != NULL && i < c->n; i++) {
        if (c->values[i] != NULL) {
            points[n++] = (ctune_dispatch_point){c->values[i], choice_of(c, i)};
        }
    }
    return status == CTUNE_OK ? ctune_dispatch_plan(ctx, c->arena, c->program->region->n_params,
                                                    points, n, &c->cases, &c->n_cases)
                              : status;
}

/* The region with the case's tests among the facts that its guard checks. */
static ctune_region guarded(const chain *c, const ctune_dispatch_case *one) {
    ctune_region region = *c->program->region;
    ctune_assume *assumes =
        CTUNE_NEW_ARRAY(c->arena, ctune_assume, region.n_assumes + one->n_tests + 1);
    for (int i = 0; assumes != NULL && i < region.n_assumes + one->n_tests; i++) {
        if (i < one->n_tests) {
            const ctune_dispatch_test *t = &one->tests[i];
            const ctune_aff *value = ctune_aff_term(c->arena, CTUNE_TERM_PARAM, t->param, 1);
            const ctune_aff *limit = ctune_aff_const(c->arena, t->limit + t->is_above);
            assumes[i].aff = t->is_above ? ctune_aff_sub(c->arena, value, limit)
                                         : ctune_aff_sub(c->arena, limit, value);
            assumes[i].c_text =
                ctune_arena_printf(c->arena, "(long)(%s) %s %lldL", region.params[t->param].c_text,
                                   t->is_above ? ">" : "<=", (long long)t->limit);
        } else {
            assumes[i] = c->program->region->assumes[i - one->n_tests];
        }
    }
    region.assumes = assumes;
    region.n_assumes += one->n_tests;
    return region;
}

/* From the inside out: the last case of the plan first. */
static ctune_status emit_cases(ctune_ctx *ctx, chain *c) {
    ctune_status status = CTUNE_OK;
    for (int i = c->n_cases - 1; i >= 0 && status == CTUNE_OK; i--) {
        ctune_region region = guarded(c, &c->cases[i]);
        status = ctune_arena_has_failed(c->arena)
                     ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory")
                     : add_variant(ctx, c, &region, c->entries[c->cases[i].choice]->schedule);
    }
    return status;
}

/* The sizes of an entry are constants to the compiler. */
static ctune_status add_specialised(ctune_ctx *ctx, chain *c, int i_entry) {
    const ctune_region *region = c->program->region;
    ctune_text schedule;
    ctune_text_init(&schedule);
    for (int p = 0; p < region->n_params; p++) {
        ctune_text_printf(&schedule, "specialize %s=%lld\n", region->params[p].name,
                          (long long)c->values[i_entry][p]);
    }
    ctune_text_append(&schedule, c->entries[i_entry]->schedule);
    ctune_status status = add_variant(ctx, c, region, ctune_text_get(&schedule));
    ctune_text_clear(&schedule);
    return status;
}

static ctune_status emit_specialised(ctune_ctx *ctx, chain *c) {
    ctune_status status = CTUNE_OK;
    for (int i = 0; i < c->n && c->n > 1 && status == CTUNE_OK; i++) {
        const ctune_lock_entry *e = c->entries[i];
        bool is_short = e->tuned_ns > 0 && e->tuned_ns < SPECIALISE_NS;
        if (is_short && e->schedule[0] != '\0' && c->values[i] != NULL) {
            status = add_specialised(ctx, c, i);
        }
    }
    return status;
}

ctune_status ctune_variants_emit(ctune_ctx *ctx, const ctune_source *source, int i_region,
                                 ctune_program *program, const ctune_lock_entry *const *entries,
                                 int n, char **body) {
    chain c = {.source = source,
               .program = program,
               .original = ctune_source_original(source, i_region),
               .entries = entries,
               .n = n,
               .arena = ctune_arena_create(ctx)};
    ctune_status status = c.original != NULL && c.arena != NULL
                              ? make_plan(ctx, &c)
                              : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    if (status == CTUNE_OK) {
        status = emit_cases(ctx, &c);
    }
    if (status == CTUNE_OK) {
        status = emit_specialised(ctx, &c);
    }
    ctune_arena_destroy(c.arena);
    *body = status == CTUNE_OK ? c.body : NULL;
    if (status != CTUNE_OK) {
        free(c.body);
    }
    return status;
}
