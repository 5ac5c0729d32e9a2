/*
 * Emission of recorded nests: see record.h.
 *
 * A site is a variable of the file, not of the function: an inline function may not define a static
 * one, nor name one of the file that is static. So it has external linkage, is weak, and its name
 * is a hash of what it stands for; equal ones meet, which is right.
 */
#include "plugin/record/record.h"

#include "plugin/record/profile.h"
#include "runtime/rng.h"

#include <string.h>

/* The lines between the marks of runtime/record/record.h without comments; a test compares them. */
static const char declarations[] =
    "#ifndef CTUNE_RECORD_H\n"
    "#define CTUNE_RECORD_H\n"
    "struct ctune_record_site {\n"
    "    void *state;\n"
    "    const char *region, *file, *params;\n"
    "    unsigned long long workload;\n"
    "    int version, line, n_params;\n"
    "};\n"
    "struct ctune_record_call {\n"
    "    void *slot;\n"
    "    long long start_ns;\n"
    "};\n"
    "#define CTUNE_RECORD_VERSION 1\n"
    "extern void ctune_record_begin(struct ctune_record_site *site, const long long *values,\n"
    "                               struct ctune_record_call *call);\n"
    "extern void ctune_record_end(const struct ctune_record_call *call);\n"
    "#endif\n";

static uint64_t site_of(const ctune_region *region, const char *path) {
    uint64_t workload = ctune_shape_key(region);
    uint64_t hash = ctune_hash(CTUNE_HASH_INIT, path, strlen(path) + 1);
    hash = ctune_hash(hash, region->name, strlen(region->name) + 1);
    return ctune_hash(hash, &workload, sizeof workload);
}

static int count_lines(const char *text, size_t n) {
    int lines = 0;
    for (size_t i = 0; i < n; i++) {
        lines += text[i] == '\n';
    }
    return lines;
}

/* Lines above the pragma that an earlier rewriting put in. */
static int added_lines(const ctune_unit *unit, size_t pragma) {
    static const char first[] = "/* ctune:prelude begin */", last[] = "/* ctune:prelude end */";
    const char *begin = memmem(unit->text, pragma, first, sizeof first - 1);
    const char *end =
        begin != NULL ? memmem(begin, pragma - (size_t)(begin - unit->text), last, sizeof last - 1)
                      : NULL;
    int lines = end != NULL ? count_lines(begin, (size_t)(end - begin)) + 1 : 0;
    for (int i = 0; i < unit->n_regions; i++) {
        const ctune_unit_region *r = &unit->regions[i];
        if (r->is_rewritten && r->statement_end <= pragma) {
            lines +=
                count_lines(unit->text + r->statement_begin,
                            r->statement_end - r->statement_begin) -
                count_lines(unit->text + r->original_begin, r->original_end - r->original_begin);
        }
    }
    return lines;
}

/* As the inside of a string literal; '?' too: trigraphs. */
static void put_escaped(const char *text, ctune_text *out) {
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++) {
        if (*p < ' ' || *p == 127) {
            ctune_text_printf(out, "\\%03o", *p);
        } else {
            ctune_text_append_n(out, "\\", *p == '"' || *p == '\\' || *p == '?');
            ctune_text_append_n(out, (const char *)p, 1);
        }
    }
}

static void put_site(const ctune_unit *unit, int i_region, const char *path, ctune_text *out) {
    const ctune_region *region = unit->regions[i_region].region;
    unsigned long long site = site_of(region, path);
    ctune_text_printf(out,
                      "extern struct ctune_record_site ctune_site_%016llx;\n"
                      "__attribute__((weak, visibility(\"hidden\")))\n"
                      "struct ctune_record_site ctune_site_%016llx = {\n"
                      "    0, \"%s\", \"",
                      site, site, region->name);
    put_escaped(path, out);
    ctune_text_append(out, "\", \"");
    for (int i = 0; i < region->n_params; i++) {
        ctune_text_printf(out, "%s%s", i > 0 ? " " : "", region->params[i].name);
    }
    ctune_text_printf(out, "\",\n    0x%016llxULL, CTUNE_RECORD_VERSION, %d, %d};\n",
                      (unsigned long long)ctune_shape_key(region),
                      region->line - added_lines(unit, unit->regions[i_region].pragma_begin),
                      region->n_params);
}

/* A parameter that the prelude of tuned code computes: such a nest is not recorded. */
static bool has_computed(const ctune_region *region) {
    for (int i = 0; i < region->n_params; i++) {
        if (strncmp(region->params[i].c_text, "ctune_", 6) == 0) {
            return true;
        }
    }
    return false;
}

ctune_status ctune_record_emit_prelude(ctune_ctx *ctx, const ctune_unit *unit, const char *path,
                                       ctune_text *out) {
    ctune_text_append(out, declarations);
    for (int i = 0; i < unit->n_regions; i++) {
        if (unit->regions[i].region != NULL && !has_computed(unit->regions[i].region)) {
            put_site(unit, i, path, out);
        }
    }
    return out->failed ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory") : CTUNE_OK;
}

ctune_status ctune_record_emit_body(ctune_ctx *ctx, const ctune_unit *unit, const char *path,
                                    int i_region, const char *original, ctune_text *out) {
    const ctune_region *region = unit->regions[i_region].region;
    if (region == NULL || has_computed(region)) {
        return CTUNE_OK;
    }
    ctune_text_append(out, "{\n    const long long ctune_values[] = {");
    for (int i = 0; i < region->n_params; i++) {
        ctune_text_printf(out, "%s(long long)(%s)", i > 0 ? ", " : "", region->params[i].c_text);
    }
    ctune_text_printf(out,
                      "%s};\n"
                      "    struct ctune_record_call ctune_call;\n"
                      "    ctune_record_begin(&ctune_site_%016llx, ctune_values, &ctune_call);\n"
                      "/* ctune:original begin */\n%s\n/* ctune:original end */\n"
                      "    if (ctune_call.slot) ctune_record_end(&ctune_call);\n}\n",
                      region->n_params == 0 ? "0" : "", (unsigned long long)site_of(region, path),
                      original);
    return out->failed ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory") : CTUNE_OK;
}
