/*
 * Private to search/records: a history's transaction, for those that write many records at once.
 */
#ifndef CTUNE_SEARCH_RECORDS_HISTORY_H
#define CTUNE_SEARCH_RECORDS_HISTORY_H

#include "search/records/records.h"

/* begin, add..., end(status so far): commits on OK, rolls everything back otherwise. */
CTUNE_MUST_USE ctune_status ctune_history_begin(ctune_ctx *ctx, ctune_history *history);
/* is_new_only: a record that is there already is left out. n_added (may be NULL) counts those that
 * went in. */
CTUNE_MUST_USE ctune_status ctune_history_add(ctune_ctx *ctx, ctune_history *history,
                                              const ctune_record *record, bool is_new_only,
                                              int *n_added);
CTUNE_MUST_USE ctune_status ctune_history_end(ctune_ctx *ctx, ctune_history *history,
                                              ctune_status status);

#endif
