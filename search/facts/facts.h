/*
 * Facts of a target, the members that describe it, as text: rows of a table, lines, and the file of
 * this machine's calibration.
 */
#ifndef CTUNE_SEARCH_FACTS_FACTS_H
#define CTUNE_SEARCH_FACTS_FACTS_H

#include "runtime/text.h"
#include "search/target/target.h"

/* What models want to know about where records were measured: the members of a target that
 * describe it. A key names a target, its facts are in the history beside the key, and go with
 * exported records. */

/* Lines "name value", one a fact. */
void ctune_target_facts_print(const ctune_target *facts, ctune_text *out);
/* Such lines; `name` stands in messages. out keeps what no line is about; names that are not known
 * are skipped (a newer ctune's). EUSAGE with line when a value is malformed or out of range. */
CTUNE_MUST_USE ctune_status ctune_target_facts_parse(ctune_ctx *ctx, const char *name,
                                                     const char *text, ctune_target *out);
/* ---- calibration: facts measured once on this machine, in a text file ---------------- */
/* The user's cache folder for ctune, which need not be there; false: there is no place for one. */
bool ctune_cache_folder(char *out, size_t size);
/* $CTUNE_MACHINE, else $XDG_CACHE_HOME/ctune/machine-<host>-<isa>.txt, else the same below
 * ~/.cache; "" when there is none (CTUNE_MACHINE set and empty, no HOME). */
void ctune_machine_path(const ctune_target *target, char *out, size_t size);
/* The target, and over its default rates those of the file; out may be the target. A file that is
 * missing, of another machine, malformed or implausible leaves the defaults: the latter three with
 * a warning. */
void ctune_machine_facts_get(ctune_ctx *ctx, const ctune_target *target, ctune_target *out);
/* Of a key without facts whose records were measured on this machine: what its words say, with this
 * machine's name, cores, caches and calibration. */
void ctune_machine_facts_of_key(ctune_ctx *ctx, const char *key, ctune_target *out);
/* Makes folders. */
CTUNE_MUST_USE ctune_status ctune_machine_facts_write(ctune_ctx *ctx, const char *path,
                                                      const ctune_target *facts);

/* ---- the table: for those that print or read facts in another form ---------------- */
typedef enum ctune_fact_kind {
    CTUNE_FACT_TEXT,
    CTUNE_FACT_BOOL,
    CTUNE_FACT_INT,
    CTUNE_FACT_INT64,
    CTUNE_FACT_REAL
} ctune_fact_kind;

typedef struct ctune_fact_row {
    const char *name;
    ctune_fact_kind kind;
    size_t offset, size; /* of the member of ctune_target */
    double min, max;     /* what is plausible; of numbers */
    bool is_of_machine;  /* in the calibration file, too */
} ctune_fact_row;

/* NULL after the last one. */
const ctune_fact_row *ctune_fact_row_get(int i);
/* name[0..n-1]; NULL when it is not known. */
const ctune_fact_row *ctune_fact_row_find(const char *name, size_t n);

enum { CTUNE_FACT_TEXT_BYTES = 128 }; /* room for any value */

void ctune_fact_print(const ctune_fact_row *row, const ctune_target *facts, char *out, size_t size);
/* false, and nothing is changed, when the text is malformed or the number not plausible. */
bool ctune_fact_parse(const ctune_fact_row *row, const char *text, ctune_target *out);

/* The next of the lines "name value" at *text, which moves on: its row (NULL: the name is not
 * known) and value. false at the end. A line without value has the value "". */
bool ctune_fact_line_next(const char **text, const ctune_fact_row **row, char *name,
                          size_t name_size, char *value, size_t value_size);

#endif
