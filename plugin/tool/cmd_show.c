/*
 * ctune show STAGE FILE: one of the stages between the source and the machine code, as text.
 */
#include "plugin/tool/tool.h"

#include <stdlib.h>
#include <string.h>

/* What a stage may look at. */
typedef struct show_job {
    const ctune_options *options;
    ctune_source source;
    ctune_lock lock;
    ctune_text schedule;        /* --schedule */
    const ctune_region *region; /* the current one */
    ctune_program *program;
} show_job;

static void report_entry(ctune_ctx *ctx, const show_job *j, ctune_entry_state state) {
    if (state == CTUNE_ENTRY_STALE || state == CTUNE_ENTRY_OTHER) {
        ctune_entries_report(ctx, &j->source, j->region, state, true);
    }
}

/* --schedule, the pragma's clause, the lock's entry, or the source order. Borrowed. */
static const char *pick_schedule(ctune_ctx *ctx, const show_job *j) {
    const ctune_lock_entry *entry[1];
    ctune_entry_state state;
    if (j->options->schedule != NULL) {
        return ctune_text_get(&j->schedule);
    }
    if (j->region->schedule != NULL) {
        return j->region->schedule;
    }
    if (ctune_entries_find(&j->lock, &j->source, j->region, ctune_options_policy(j->options), entry,
                           1, &state) > 0) {
        return entry[0]->schedule;
    }
    report_entry(ctx, j, state);
    return "";
}

static ctune_status make_nest(ctune_ctx *ctx, const show_job *j, ctune_nest *out) {
    return ctune_nest_parse(ctx, j->program, pick_schedule(ctx, j), out);
}

/* ---- stages --------------------------------------------------------------------------------- */
static ctune_status show_te(ctune_ctx *ctx, show_job *j, ctune_text *out) {
    (void)ctx;
    ctune_te_print(j->region, out);
    return CTUNE_OK;
}

static ctune_status show_deps(ctune_ctx *ctx, show_job *j, ctune_text *out) {
    (void)ctx;
    ctune_deps_print(j->program->deps, out);
    return CTUNE_OK;
}

static ctune_status show_space(ctune_ctx *ctx, show_job *j, ctune_text *out) {
    ctune_space *space;
    ctune_status status = ctune_space_create(ctx, j->program, &j->source.target, &space);
    if (status == CTUNE_OK) {
        ctune_space_print(space, out);
        ctune_space_destroy(space);
    }
    return status;
}

static ctune_status show_nest(ctune_ctx *ctx, show_job *j, ctune_text *out) {
    ctune_nest nest;
    ctune_status status = make_nest(ctx, j, &nest);
    if (status == CTUNE_OK) {
        ctune_nest_print(&nest, out);
    }
    return status;
}

static ctune_status show_loops(ctune_ctx *ctx, show_job *j, ctune_text *out) {
    ctune_nest nest;
    ctune_loops *loops;
    ctune_status status = make_nest(ctx, j, &nest);
    if (status == CTUNE_OK) {
        status = ctune_emit_lower(ctx, &nest, &j->source.emit, &loops);
    }
    if (status == CTUNE_OK) {
        ctune_loops_print(loops, out);
        ctune_loops_destroy(loops);
    }
    return status;
}

/* A whole translation unit: prelude and one candidate. */
static ctune_status show_code(ctune_ctx *ctx, show_job *j, ctune_text *out) {
    ctune_nest nest;
    ctune_emit_options options = j->source.emit;
    options.comments = true;
    ctune_status status = make_nest(ctx, j, &nest);
    if (status == CTUNE_OK) {
        ctune_emit_prelude(&options, out);
        if (ctune_nest_is_gpu(&nest)) {
            ctune_emit_gpu_prelude(out);
        }
        status = ctune_emit_candidate(ctx, &nest, &options, "ctune_candidate", out);
    }
    return status;
}

static ctune_status show_asm(ctune_ctx *ctx, show_job *j, ctune_text *out) {
    ctune_text code;
    ctune_text_init(&code);
    ctune_status status = show_code(ctx, j, &code);
    if (status == CTUNE_OK) {
        status =
            ctune_assembly_make(ctx, &j->source, ctune_text_get(&code), "ctune_candidate", out);
    }
    ctune_text_clear(&code);
    return status;
}

typedef struct stage_row {
    const char *name;
    ctune_status (*show)(ctune_ctx *ctx, show_job *job, ctune_text *out);
    bool needs_program;
    bool has_header; /* the text does not name the region itself */
    bool is_c;       /* the header is a C comment */
} stage_row;

static const stage_row stages[] = {
    {"te", show_te, false, false, false},     {"deps", show_deps, true, true, false},
    {"space", show_space, true, true, false}, {"nest", show_nest, true, true, false},
    {"loops", show_loops, true, true, false}, {"code", show_code, true, true, true},
    {"asm", show_asm, true, true, false},
};

static const stage_row *stage_find(const char *name) {
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        if (strcmp(stages[i].name, name) == 0) {
            return &stages[i];
        }
    }
    return NULL;
}

static ctune_status show_region(ctune_ctx *ctx, show_job *j, const stage_row *stage) {
    ctune_text out;
    ctune_text_init(&out);
    j->program = NULL;
    ctune_status status =
        stage->needs_program ? ctune_program_create(ctx, j->region, &j->program) : CTUNE_OK;
    if (status == CTUNE_OK) {
        status = stage->show(ctx, j, &out);
    }
    if (status == CTUNE_OK && out.failed) {
        status = ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    if (status == CTUNE_OK) {
        if (stage->has_header) {
            printf("%s region %s%s\n", stage->is_c ? "/*" : "#", j->region->name,
                   stage->is_c ? " */" : "");
        }
        fwrite(ctune_text_get(&out), 1, out.len, stdout);
    }
    if (j->program != NULL) {
        ctune_program_destroy(j->program);
    }
    ctune_text_clear(&out);
    return status;
}

static ctune_status open_job(ctune_ctx *ctx, show_job *j, const char *file) {
    ctune_status status = CTUNE_OK;
    if (j->options->schedule != NULL) {
        status = ctune_file_read(ctx, j->options->schedule, &j->schedule);
    }
    if (status == CTUNE_OK) {
        status = ctune_source_open(ctx, j->options, file, &j->source);
    }
    return status == CTUNE_OK ? ctune_lock_read(ctx, j->source.lock_path, &j->lock) : status;
}

int ctune_cmd_show(ctune_ctx *ctx, const ctune_options *options) {
    const stage_row *stage = options->n_words > 0 ? stage_find(options->words[0]) : NULL;
    if (stage == NULL || options->n_words != 2) {
        ctune_fail(ctx, CTUNE_EUSAGE,
                   "a stage (te, deps, space, nest, loops, code, asm) and one file, please");
        return ctune_report(ctx, CTUNE_EUSAGE);
    }
    show_job job = {.options = options};
    ctune_text_init(&job.schedule);
    ctune_lock_init(&job.lock);
    ctune_status status = open_job(ctx, &job, options->words[1]);
    int code = ctune_report(ctx, status);
    for (int i = 0; status == CTUNE_OK && i < job.source.unit->n_regions; i++) {
        const ctune_unit_region *r = &job.source.unit->regions[i];
        job.region = r->region;
        if (r->region == NULL) {
            code = ctune_exit_worse(code, r->pragma.off ? CTUNE_EXIT_OK : CTUNE_EXIT_REFUSED);
        } else if (ctune_region_is_wanted(options, r->region)) {
            code = ctune_exit_worse(code, ctune_report(ctx, show_region(ctx, &job, stage)));
        }
    }
    ctune_lock_clear(&job.lock);
    ctune_text_clear(&job.schedule);
    ctune_source_close(&job.source);
    return code;
}
