/*
 * Calibration file: what `ctune doctor --calibrate` measured on this machine, kept as text among
 * the user's caches.
 *
 * In: a target; out: its facts with the measured ones put over the defaults. The file is a
 * convenience, never a condition: whatever is wrong with it costs a warning, and the defaults
 * stand. It is one per CPU and vector instruction set, since both decide what the units do.
 */
#include "runtime/guard.h"
#include "search/detect/detect.h"
#include "search/facts/facts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char header[] = "ctune-machine 1";

/* ---- where ----------------------------------------------------------------------------------- */
/* Letters, digits, '.', '-' and '_' of a name, others as '_'. */
static void put_name(const char *name, char *out, size_t size) {
    snprintf(out, size, "%s", name[0] != '\0' ? name : "unknown");
    for (char *p = out; *p != '\0'; p++) {
        bool is_plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                        (*p >= '0' && *p <= '9') || *p == '.' || *p == '-';
        *p = is_plain ? *p : '_';
    }
}

bool ctune_cache_folder(char *out, size_t size) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = 0;
    if (cache != NULL && cache[0] == '/') {
        n = snprintf(out, size, "%s/ctune", cache);
    } else if (home != NULL && home[0] == '/') {
        n = snprintf(out, size, "%s/.cache/ctune", home);
    }
    return n > 0 && (size_t)n < size;
}

void ctune_machine_path(const ctune_target *target, char *out, size_t size) {
    const char *given = getenv("CTUNE_MACHINE");
    char host[96], isa[32], cache[PATH_MAX];
    int n = 0;
    put_name(target->host, host, sizeof host);
    put_name(target->isa, isa, sizeof isa);
    if (given != NULL) {
        n = snprintf(out, size, "%s", given);
    } else if (ctune_cache_folder(cache, sizeof cache)) {
        n = snprintf(out, size, "%s/machine-%s-%s.txt", cache, host, isa);
    }
    if (n <= 0 || (size_t)n >= size) {
        out[0] = '\0';
    }
}

/* ---- reading --------------------------------------------------------------------------------- */
static void warn(ctune_ctx *ctx, const char *path, int line, const char *text) {
    ctune_diag_send(ctx, &(ctune_diag){.severity = CTUNE_WARNING,
                                       .file = path,
                                       .line = line,
                                       .col = line > 0,
                                       .code = "machine-facts",
                                       .text = text,
                                       .hint = "`ctune doctor --calibrate` measures anew"});
}

/* Each level is at most a little faster than the one before: noise moves neighbours, no more. */
static void check_bandwidths(ctune_ctx *ctx, const char *path, const double defaults[4],
                             double bytes_per_cycle[4]) {
    for (int i = 1; i < 4; i++) {
        if (bytes_per_cycle[i] > 1.5 * bytes_per_cycle[i - 1]) {
            warn(ctx, path, 0,
                 "a lower memory level faster than the one above it: default rates are used");
            memcpy(bytes_per_cycle, defaults, 4 * sizeof *defaults);
            return;
        }
    }
}

/* Facts of the file over those of `out`. */
static void read_lines(ctune_ctx *ctx, const char *path, const char *text, int first_line,
                       ctune_target *out) {
    const ctune_target before = *out;
    char name[64], value[2 * CTUNE_FACT_TEXT_BYTES], words[400];
    const ctune_fact_row *row;
    for (int line = first_line;
         ctune_fact_line_next(&text, &row, name, sizeof name, value, sizeof value); line++) {
        if (row != NULL && row->is_of_machine && !ctune_fact_parse(row, value, out)) {
            snprintf(words, sizeof words, "%s: '%.60s' is not plausible: the default is used", name,
                     value);
            warn(ctx, path, line, words);
        }
    }
    if (strcmp(out->host, before.host) != 0 || strcmp(out->isa, before.isa) != 0 ||
        out->vector_bytes != before.vector_bytes) {
        snprintf(words, sizeof words,
                 "measured on %.60s %.20s with %d-byte vectors, and this is %.60s %.20s with %d: "
                 "defaults are used",
                 out->host, out->isa, out->vector_bytes, before.host, before.isa,
                 before.vector_bytes);
        warn(ctx, path, 0, words);
        *out = before;
        return;
    }
    out->n_cores = before.n_cores; /* as they are now */
    check_bandwidths(ctx, path, before.rates.bytes_per_cycle, out->rates.bytes_per_cycle);
}

void ctune_machine_facts_get(ctune_ctx *ctx, const ctune_target *target, ctune_target *out) {
    char path[4096];
    *out = *target;
    out->is_measured = false;
    ctune_target_complete(out);
    ctune_machine_path(out, path, sizeof path);
    if (path[0] == '\0' || (access(path, F_OK) != 0 && getenv("CTUNE_MACHINE") == NULL)) {
        return;
    }
    ctune_text text;
    ctune_text_init(&text);
    if (ctune_file_read(ctx, path, &text) != CTUNE_OK) {
        warn(ctx, path, 0, "cannot be read: defaults are used");
    } else {
        const char *all = ctune_text_get(&text), *newline = strchr(all, '\n');
        size_t n = strcspn(all, "\r\n");
        if (newline == NULL || n != sizeof header - 1 || memcmp(all, header, n) != 0) {
            warn(ctx, path, 1, "not a calibration of this version of ctune: defaults are used");
        } else {
            read_lines(ctx, path, newline + 1, 2, out);
        }
    }
    ctune_text_clear(&text);
}

void ctune_machine_facts_of_key(ctune_ctx *ctx, const char *key, ctune_target *out) {
    ctune_target target;
    ctune_target_from_key(key, &target);
    ctune_target_read_machine(&target);
    ctune_machine_facts_get(ctx, &target, out);
}

/* ---- writing --------------------------------------------------------------------------------- */
ctune_status ctune_machine_facts_write(ctune_ctx *ctx, const char *path,
                                       const ctune_target *facts) {
    char value[CTUNE_FACT_TEXT_BYTES];
    ctune_text text;
    ctune_text_init(&text);
    ctune_text_printf(&text, "%s\n", header);
    for (int i = 0; ctune_fact_row_get(i) != NULL; i++) {
        const ctune_fact_row *row = ctune_fact_row_get(i);
        ctune_fact_print(row, facts, value, sizeof value);
        if (row->is_of_machine) {
            ctune_text_printf(&text, "%s %s\n", row->name, value);
        }
    }
    ctune_status status = text.failed ? ctune_fail(ctx, CTUNE_ENOMEM, "%s: out of memory", path)
                                      : ctune_folders_make(ctx, path);
    if (status == CTUNE_OK) {
        status = ctune_file_write(ctx, path, ctune_text_get(&text), text.len);
    }
    ctune_text_clear(&text);
    return status;
}
