/*
 * Opening a source file for tuning: everything that plugin/source/source.h can hold.
 */
#include "plugin/tool/tool.h"
#include "search/facts/facts.h"

#include <stdlib.h>
#include <string.h>

ctune_status ctune_source_open(ctune_ctx *ctx, const ctune_options *options, const char *file,
                               ctune_source *out) {
    memset(out, 0, sizeof *out);
    ctune_status status = ctune_source_set_paths(ctx, file, options->lock, options->history, out);
    if (status == CTUNE_OK) {
        status = ctune_flags_get(ctx, options, file, &out->flags);
    }
    if (status != CTUNE_OK) {
        return status;
    }
    if (out->flags.note != NULL && !options->quiet) {
        ctune_diag_send(ctx, &(ctune_diag){.severity = CTUNE_NOTE, .text = out->flags.note});
    }
    if (!ctune_program_exists(out->flags.compiler)) {
        return ctune_fail(ctx, CTUNE_EENV, "no compiler '%s' on PATH", out->flags.compiler);
    }
    status = ctune_source_set_target(ctx, NULL, out);
    if (status == CTUNE_OK) {
        ctune_machine_facts_get(ctx, &out->target, &out->target);
        status = ctune_source_set_unit(ctx, NULL, out);
    }
    if (status == CTUNE_OK && out->unit->has_parse_errors) {
        status = ctune_fail(ctx, CTUNE_EENV, "%s: does not compile: nothing done", file);
    }
    return status;
}

ctune_entry_policy ctune_options_policy(const ctune_options *options) {
    return options->any_target ? CTUNE_ENTRIES_ANY
           : options->nearest  ? CTUNE_ENTRIES_NEAREST
                               : CTUNE_ENTRIES_EXACT;
}

bool ctune_region_is_wanted(const ctune_options *options, const ctune_region *region) {
    return options->region == NULL || strcmp(options->region, region->name) == 0;
}

ctune_status ctune_region_set_sizes(ctune_ctx *ctx, const char *text, ctune_region *region) {
    ctune_param *params = CTUNE_NEW_ARRAY(region->arena, ctune_param, region->n_params + 1);
    if (params == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    for (int i = 0; i < region->n_params; i++) {
        params[i] = region->params[i];
    }
    region->params = params;
    while (text != NULL && *text != '\0') {
        size_t n_name = strcspn(text, "=");
        char *end = NULL;
        long long value = text[n_name] == '=' ? strtoll(text + n_name + 1, &end, 10) : 0;
        if (value <= 0 || end == NULL || (*end != ',' && *end != '\0')) {
            return ctune_fail(ctx, CTUNE_EUSAGE, "--sizes: '%s' is not good; like n=64,m=32", text);
        }
        for (int i = 0; i < region->n_params; i++) {
            const char *name = region->params[i].name;
            if (strlen(name) == n_name && memcmp(name, text, n_name) == 0) {
                params[i].n_sizes = 1;
                params[i].sizes[0] = value;
            }
        }
        text = end + (*end == ',');
    }
    return CTUNE_OK;
}
