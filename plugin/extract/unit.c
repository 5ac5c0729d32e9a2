/*
 * Extraction of a file: the pragmas, the statements, one region each.
 *
 * In: a file (or overlay text) and flags. Out: ctune_unit. The order: scan the text, parse its
 * clean form, then per pragma parse clauses, match the statement, build the region. Every pragma
 * ends as a region or as a diagnostic.
 */
#include "plugin/extract/unit.h"

#include "plugin/extract/function.h"

#include "runtime/runner.h"
#include "runtime/text.h"

#include <isl/ctx.h>
#include <isl/options.h>
#include <stdio.h>
#include <stdlib.h>

/* A pragma with its place in the clean text; from a macro, where the macro is used. */
typedef struct occurrence {
    const ctune_site *site;
    size_t begin, end, word;
} occurrence;

typedef struct extraction {
    ctune_ctx *ctx;
    ctune_arena *arena;
    ctune_unit *unit;
    ctune_source source;
    ctune_parsed parsed;
    CTUNE_LIST(occurrence) found;
    bool has_usage_error;
    int n_reserved; /* of ctune_region */
    const char *const *reserved;
} extraction;

static void send(extraction *x, ctune_severity severity, size_t at, const char *code,
                 const char *hint, const char *text) {
    ctune_diag d = {
        .severity = severity, .file = x->unit->file, .code = code, .text = text, .hint = hint};
    ctune_source_place(&x->source, at, &d.line, &d.col);
    ctune_diag_send(x->ctx, &d);
}

/* cure: empty or NULL where the table's hint is good. */
static void send_cured(extraction *x, ctune_refusal refusal, size_t at, const char *words,
                       const char *cure) {
    const char *text = ctune_arena_printf(x->arena, "loop not tuned: %s", words);
    bool has_cure = cure != NULL && cure[0] != '\0';
    send(x, CTUNE_REMARK, at, ctune_refusal_code(refusal),
         has_cure ? cure : ctune_refusal_hint(refusal), text != NULL ? text : words);
}

static void send_refusal(extraction *x, ctune_refusal refusal, size_t at, const char *words) {
    send_cured(x, refusal, at, words, NULL);
}

/* ---- pragmas --------------------------------------------------------------------------------- */

static bool is_inactive(const extraction *x, size_t at) {
    for (int i = 0; i < x->parsed.inactive.n; i++) {
        if (at >= x->parsed.inactive.at[i].begin && at < x->parsed.inactive.at[i].end) {
            return true;
        }
    }
    return false;
}

static bool add_occurrence(extraction *x, const ctune_site *site, size_t begin, size_t end,
                           size_t word) {
    occurrence *o = CTUNE_PUSH(x, x->found);
    if (o == NULL) {
        return false;
    }
    *o = (occurrence){site, begin, end, word};
    return true;
}

static bool mentions_tune(const ctune_source *s, size_t begin, size_t end) {
    return end <= s->n_clean && memmem(s->clean + begin, end - begin, "tune", 4) != NULL;
}

/* _Pragma in a macro: each use of the macro is a pragma. */
static bool add_macro_uses(extraction *x, const ctune_site *site) {
    for (int i = 0; i < x->parsed.expansions.n; i++) {
        const ctune_expansion *e = &x->parsed.expansions.at[i];
        if (strcmp(e->name, site->macro) != 0) {
            continue;
        }
        bool is_word = e->end - e->begin == strlen(e->name);
        if (site->is_unknown || !is_word) {
            if (!site->is_unknown || mentions_tune(&x->source, e->begin, e->end)) {
                send_refusal(x, CTUNE_REFUSE_PRAGMA_IN_MACRO, e->begin,
                             "the pragma is made by a macro with arguments");
            }
        } else if (!add_occurrence(x, site, e->begin, e->end, e->begin)) {
            return false;
        }
    }
    return true;
}

static int by_place(const void *a, const void *b) {
    const occurrence *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static bool find_occurrences(extraction *x) {
    for (int i = 0; i < x->source.n_sites; i++) {
        const ctune_site *site = &x->source.sites[i];
        if (site->macro != NULL
                ? !add_macro_uses(x, site)
                : !is_inactive(x, site->begin) &&
                      !add_occurrence(x, site, site->begin, site->end, site->word)) {
            return false;
        }
    }
    if (x->found.n > 1) {
        qsort(x->found.at, (size_t)x->found.n, sizeof *x->found.at, by_place);
    }
    return true;
}

static ctune_status parse_clauses(extraction *x, const occurrence *o, ctune_pragma *out) {
    int line, col;
    const ctune_token *tokens = NULL;
    ctune_source_place(&x->source, o->word, &line, &col);
    int n = ctune_pragma_tokenise(x->arena, o->site->clauses, line, col + 4, &tokens);
    if (n < 0) {
        return ctune_fail(x->ctx, CTUNE_ENOMEM, "out of memory");
    }
    return ctune_pragma_parse(x->ctx, x->arena, x->unit->file, line, col, tokens, n, out);
}

/* ---- one region ------------------------------------------------------------------------------ */

static bool build(ctune_build *b) {
    b->root = ctune_mnode_new(b, CTUNE_M_LOOP);
    b->at = b->root;
    return b->root != NULL && ctune_vars_scan(b) && ctune_openmp_apply(b) &&
           ctune_clauses_apply(b) && ctune_statement_build(b, b->statement) &&
           ctune_index_finish(b) && ctune_limits_note(b) && ctune_delinearise(b) &&
           ctune_rows_finish(b) && ctune_scalars_place(b) && ctune_forward(b) &&
           ctune_aliases_mark(b) && ctune_clauses_check(b) && ctune_facts_check(b);
}

static ctune_status report(extraction *x, ctune_build *b, size_t word) {
    if (b->why.is_error) {
        x->has_usage_error = true;
        send(x, CTUNE_ERROR, word, b->why.code, NULL, b->why.text);
        return CTUNE_OK;
    }
    if (ctune_arena_has_failed(b->arena)) {
        return ctune_fail(x->ctx, CTUNE_ENOMEM, "out of memory");
    }
    if (b->why.refusal == CTUNE_REFUSE_NONE) {
        ctune_build_refuse_at(b, CTUNE_REFUSE_TOO_COMPLEX, b->begin, "the region is too complex");
    }
    send_cured(x, b->why.refusal, b->why.offset, b->why.text, b->why.cure);
    return CTUNE_OK;
}

/* What dependences, and what a search writes down for each of the region's sizes, have limits. */
static bool check_limits(ctune_build *b, const ctune_region *region) {
    enum { MOST_CHARS = 240, MOST_PARAMS = CTUNE_RUN_MAX_PARAMS };
    int n_chars = 0;
    for (int i = 0; i < b->params.n; i++) {
        char size[32];
        n_chars += (int)strlen(b->params.at[i].name) + 2 +
                   snprintf(size, sizeof size, "%lld", (long long)ctune_build_size(b, i));
    }
    if (region->n_stages > CTUNE_UNIT_MAX_STAGES || region->n_axes > CTUNE_UNIT_MAX_AXES) {
        return ctune_build_refuse_at(b, CTUNE_REFUSE_TOO_COMPLEX, b->begin,
                                     "the region has %d statements and %d loops, borders apart",
                                     region->n_stages, region->n_axes);
    }
    return (b->params.n <= MOST_PARAMS && n_chars <= MOST_CHARS) ||
           ctune_build_refuse_at(b, CTUNE_REFUSE_TOO_COMPLEX, b->begin,
                                 "the region depends on %d values", b->params.n);
}

/* One build of the region. is_other: it found other sizes than it went by; *region is set, too. */
static ctune_status build_once(extraction *x, ctune_build *b, const occurrence *o, const char *name,
                               ctune_region **region, bool *is_other) {
    int line, col;
    ctune_source_place(&x->source, o->begin, &line, &col);
    *is_other = false;
    if (!build(b) || !ctune_conditions_guard(&x->parsed, b) || !ctune_macros_guard(&x->parsed, b) ||
        !ctune_types_guard(&x->parsed, b, b->statement)) {
        return CTUNE_EREFUSED;
    }
    ctune_status status = ctune_assemble(b, name, line, region);
    if (status == CTUNE_OK && (!check_limits(b, *region) || !ctune_loads_check(b, *region))) {
        status = CTUNE_EREFUSED;
    }
    if (status == CTUNE_OK && !(b->n_fitted == 0 ? ctune_sizes_fit(b, *region, is_other)
                                                 : ctune_sizes_check(b, *region))) {
        status = CTUNE_EREFUSED;
    }
    if (status != CTUNE_OK) {
        *region = NULL;
    }
    return status;
}

static ctune_status build_region(extraction *x, const ctune_match *m, const occurrence *o,
                                 const char *name, ctune_unit_region *out) {
    const ctune_param *fitted = NULL;
    const ctune_param_info *fitted_infos = NULL;
    ctune_arena *first = NULL; /* owner of fitted */
    int n_fitted = 0;
    ctune_status status = CTUNE_OK;
    for (bool again = true; again;) {
        ctune_build b = {.ctx = x->ctx,
                         .source = &x->source,
                         .pragma = &out->pragma,
                         .omp = &m->omp,
                         .unit = x->parsed.unit,
                         .function = m->function,
                         .statement = m->statement,
                         .begin = ctune_cx_begin(m->statement),
                         .end = m->end,
                         .wrapv = x->parsed.wrapv,
                         .is_replaceable = x->parsed.is_replaceable,
                         .has_fast_math = x->parsed.has_fast_math,
                         .n_fitted = n_fitted,
                         .fitted = fitted,
                         .fitted_infos = fitted_infos};
        b.arena = ctune_arena_create(x->ctx);
        b.isl = isl_ctx_alloc();
        if (b.arena == NULL || b.isl == NULL) {
            ctune_arena_destroy(b.arena);
            isl_ctx_free(b.isl);
            status = ctune_fail(x->ctx, CTUNE_ENOMEM, "out of memory");
            break;
        }
        isl_options_set_on_error(b.isl, ISL_ON_ERROR_CONTINUE);
        ctune_region *region = NULL;
        status = build_once(x, &b, o, name, &region, &again);
        if (status == CTUNE_EREFUSED || status == CTUNE_EUSAGE) {
            status = report(x, &b, o->word);
        }
        again = again && region != NULL;
        if (again) {
            first = b.arena;
            fitted = b.params.at;
            fitted_infos = b.param_infos.at;
            n_fitted = b.params.n;
        } else {
            out->region = region;
            if (region == NULL) {
                ctune_arena_destroy(b.arena);
            } else {
                region->n_reserved = x->n_reserved;
                region->reserved = x->reserved;
            }
        }
        isl_ctx_free(b.isl);
    }
    ctune_arena_destroy(first);
    ctune_function_describe(x->arena, m->function, &out->caller);
    return status;
}

/* Several regions in a function: f, f.2, f.3. */
static const char *region_name(extraction *x, int i) {
    const ctune_unit_region *r = &x->unit->regions[i];
    if (r->pragma.name != NULL) {
        return r->pragma.name;
    }
    int nth = 1;
    for (int j = 0; j < i; j++) {
        nth += strcmp(x->unit->regions[j].function, r->function) == 0 &&
               x->unit->regions[j].pragma.name == NULL;
    }
    return nth == 1 ? r->function : ctune_arena_printf(x->arena, "%s.%d", r->function, nth);
}

static bool check_name(extraction *x, int i, const char *name, size_t word) {
    for (int j = 0; j < i; j++) {
        const char *other = region_name(x, j);
        if (other != NULL && strcmp(other, name) == 0) {
            const char *text = ctune_arena_printf(x->arena, "two regions are called '%s'", name);
            send(x, CTUNE_ERROR, word, "duplicate-name", "give one of them another name(...)",
                 text != NULL ? text : name);
            return false;
        }
    }
    return true;
}

static void fill_offsets(extraction *x, const ctune_match *m, const occurrence *o,
                         ctune_unit_region *out) {
    int col;
    out->function = m->function_name;
    out->pragma_begin = ctune_source_to_text(&x->source, o->begin);
    out->pragma_end = ctune_source_to_text(&x->source, o->end);
    out->statement_begin = ctune_source_to_text(&x->source, m->begin);
    out->statement_end =
        ctune_source_to_text(&x->source, m->end > 0 ? m->end - 1 : 0) + (m->end > m->begin);
    ctune_source_place(&x->source, m->begin, &out->statement_line, &col);
    for (int i = 0; i < x->source.n_blocks; i++) {
        const ctune_block *block = &x->source.blocks[i];
        if (!block->is_damaged && m->begin >= block->clean_begin && m->begin < block->clean_end) {
            out->is_rewritten = true;
            out->original_begin = out->statement_begin;
            out->original_end = out->statement_end;
            out->statement_begin = block->begin;
            out->statement_end = block->end;
        }
    }
}

/* A marker without its partner right below the pragma: leave the code alone. */
static bool check_markers(extraction *x, const occurrence *o) {
    size_t at = ctune_source_to_text(&x->source, o->end);
    for (int i = 0; i < x->source.n_blocks; i++) {
        const ctune_block *block = &x->source.blocks[i];
        bool is_next = block->is_damaged && block->begin >= at;
        for (size_t k = at; k < block->begin && is_next; k++) {
            is_next = x->source.text[k] == ' ' || x->source.text[k] == '\t' ||
                      x->source.text[k] == '\r' || x->source.text[k] == '\n';
        }
        if (is_next) {
            send_refusal(x, CTUNE_REFUSE_DAMAGED_MARKER, o->begin,
                         "the code below was made by ctune and its markers are damaged");
            return false;
        }
    }
    return true;
}

static ctune_status extract_one(extraction *x, int i) {
    const occurrence *o = &x->found.at[i];
    ctune_unit_region *out = &x->unit->regions[i];
    ctune_status status = parse_clauses(x, o, &out->pragma);
    if (status == CTUNE_ENOMEM) {
        return status;
    }
    bool is_bad = status != CTUNE_OK;
    x->has_usage_error |= is_bad;
    ctune_match match;
    bool matched = ctune_match_find(&x->parsed, o->begin, o->end, &match);
    fill_offsets(x, &match, o, out);
    const char *name = region_name(x, i);
    if (name == NULL) {
        return ctune_fail(x->ctx, CTUNE_ENOMEM, "out of memory");
    }
    out->name = name;
    if (is_bad || out->pragma.off) {
        return CTUNE_OK;
    }
    if (!check_markers(x, o)) {
        return CTUNE_OK;
    }
    if (!matched) {
        send_refusal(x, match.refusal, match.refusal_at, match.words);
        return CTUNE_OK;
    }
    if (!check_name(x, i, name, o->word)) {
        return CTUNE_OK;
    }
    status = build_region(x, &match, o, name, out);
    const char *wrong = status == CTUNE_OK && out->region != NULL && out->region->gpu != 0
                            ? ctune_region_check_gpu(out->region)
                            : NULL;
    if (wrong != NULL) {
        send_refusal(x, CTUNE_REFUSE_TARGET, o->word, wrong);
        ctune_region_destroy(out->region);
        out->region = NULL;
    }
    return status;
}

/* ---- the file -------------------------------------------------------------------------------- */

static ctune_status extract_all(extraction *x, int n_flags, const char *const *flags) {
    ctune_status status =
        ctune_parsed_init(x->ctx, x->arena, &x->source, n_flags, flags, &x->parsed);
    if (status != CTUNE_OK) {
        return status;
    }
    if (x->source.n_sites > 0 && ctune_parsed_report(&x->parsed)) {
        x->unit->has_parse_errors = true;
        return CTUNE_OK;
    }
    ctune_parsed_check_headers(&x->parsed);
    x->unit->includes_itself = x->parsed.includes_itself;
    if (!find_occurrences(x)) {
        return ctune_fail(x->ctx, CTUNE_ENOMEM, "out of memory");
    }
    x->unit->regions = CTUNE_NEW_ARRAY(x->arena, ctune_unit_region, x->found.n + 1);
    bool ok = x->unit->regions != NULL &&
              (x->found.n == 0 ||
               ctune_reserved_collect(&x->parsed, n_flags, flags, &x->reserved, &x->n_reserved));
    if (!ok) {
        return ctune_fail(x->ctx, CTUNE_ENOMEM, "out of memory");
    }
    for (int i = 0; i < x->found.n && status == CTUNE_OK; i++) {
        x->unit->regions[i].function = "";
        x->unit->n_regions = i + 1;
        status = extract_one(x, i);
    }
    if (status == CTUNE_OK && x->has_usage_error) {
        status = ctune_fail(x->ctx, CTUNE_EUSAGE, "%s: malformed pragma", x->unit->file);
    }
    return status;
}

static ctune_status read_text(extraction *x, const char *file, const char *overlay) {
    ctune_text text;
    ctune_text_init(&text);
    ctune_status status = CTUNE_OK;
    if (overlay == NULL) {
        status = ctune_file_read(x->ctx, file, &text);
    } else {
        ctune_text_append(&text, overlay);
    }
    x->unit->file = ctune_arena_strdup(x->arena, file);
    x->unit->text = ctune_arena_strndup(x->arena, ctune_text_get(&text), text.len);
    x->unit->n_text = text.len;
    if (status == CTUNE_OK && (text.failed || x->unit->text == NULL || x->unit->file == NULL)) {
        status = ctune_fail(x->ctx, CTUNE_ENOMEM, "out of memory");
    }
    ctune_text_clear(&text);
    return status;
}

ctune_status ctune_extract(ctune_ctx *ctx, const char *file, const char *overlay, int n_flags,
                           const char *const *flags, ctune_unit **out) {
    extraction x = {.ctx = ctx};
    *out = NULL;
    x.arena = ctune_arena_create(ctx);
    x.unit = x.arena != NULL ? CTUNE_NEW(x.arena, ctune_unit) : NULL;
    if (x.unit == NULL) {
        ctune_arena_destroy(x.arena);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    x.unit->arena = x.arena;
    ctune_status status = read_text(&x, file, overlay);
    if (status == CTUNE_OK &&
        !ctune_source_init(x.arena, x.unit->file, x.unit->text, x.unit->n_text, &x.source)) {
        status = ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    if (status == CTUNE_OK) {
        status = extract_all(&x, n_flags, flags);
    }
    ctune_parsed_clear(&x.parsed);
    if (status == CTUNE_OK || x.has_usage_error) {
        *out = x.unit;
    } else {
        ctune_unit_destroy(x.unit);
    }
    return status;
}

void ctune_unit_destroy(ctune_unit *unit) {
    if (unit != NULL) {
        for (int i = 0; i < unit->n_regions; i++) {
            ctune_region_destroy(unit->regions[i].region);
        }
        ctune_arena_destroy(unit->arena);
    }
}
