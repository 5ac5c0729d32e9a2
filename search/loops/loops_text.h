/* What the printer and the parser of a program's text share. */
#ifndef CTUNE_SEARCH_LOOPS_LOOPS_TEXT_H
#define CTUNE_SEARCH_LOOPS_LOOPS_TEXT_H

#include "search/loops/loops.h"

/* C's binding strength, 1 = weakest; ATOM for what prints as a call or a name. */
enum { CTUNE_STRENGTH_ATOM = 12 };
int ctune_value_strength(ctune_value_op op);

/* Type and lanes that a value has by its operator and kids; what prints without ":type". Total:
 * broken values have some. */
ctune_type ctune_value_derived_type(const ctune_loops *l, const ctune_value *value);
int ctune_value_derived_lanes(const ctune_loops *l, const ctune_value *value);

#endif
