/*
 * Assignments: expression statements -> stages.
 */
#ifndef CTUNE_PLUGIN_EXTRACT_ASSIGN_H
#define CTUNE_PLUGIN_EXTRACT_ASSIGN_H

#include "plugin/extract/build.h"

/* An expression used as a statement. */
bool ctune_assign_build(ctune_build *b, CXCursor cursor);
/* What stepped in the statement since b->steps had `from` entries. */
bool ctune_assign_steps(ctune_build *b, int from);
/* The initialiser of a scalar declared in the region. */
bool ctune_assign_initialiser(ctune_build *b, CXCursor decl, ctune_var *var, CXCursor init);
/* Stage node, not yet in the tree. target_acc: id of the write in b->accs. NULL when memory is out.
 */
ctune_mnode *ctune_stage_new(ctune_build *b, CXCursor at, ctune_access *target, int target_acc,
                             ctune_update update, ctune_type calc, const ctune_expr *rhs);
/* `if (e > x) x = e;` on integers: the guard becomes max=. The node is a GUARD with one stage
 * below. */
void ctune_stage_fold_guard(ctune_build *b, ctune_mnode *guard);

#endif
