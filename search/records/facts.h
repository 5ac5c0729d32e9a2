/*
 * Private to search/records: the table of a target's facts, for those that print or read them.
 */
#ifndef CTUNE_SEARCH_RECORDS_FACTS_H
#define CTUNE_SEARCH_RECORDS_FACTS_H

#include "search/records/records.h"

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
