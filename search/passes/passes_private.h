/*
 * What the passes share: questions about values and loops that loops.h does not answer, and a walk
 * over the values of a tree.
 */
#ifndef CTUNE_SEARCH_PASSES_PASSES_PRIVATE_H
#define CTUNE_SEARCH_PASSES_PASSES_PRIVATE_H

#include "search/passes/passes.h"

/* Does value use the index variable, in an index or a place? */
bool ctune_value_uses(const ctune_loops *l, const ctune_value *value, int var);
/* Does value read the value variable? */
bool ctune_value_reads(const ctune_value *value, int var);
/* Is kid i evaluated whenever value is? (Not the arms of a SELECT, not the right side of && and
 * ||.) */
bool ctune_value_is_always(const ctune_value *value, int i);
/* Number of iterations when it is a constant, else -1. */
int64_t ctune_for_trips(ctune_loops *l, const ctune_lnode *node);

/* Walk node, its kids and its `other`, a node before what is in it. Siblings of node are not
 * walked. */
typedef void (*ctune_lnode_visit)(ctune_lnode *node, void *data);
void ctune_lnode_walk(ctune_lnode *node, ctune_lnode_visit visit, void *data);

/* All kids taken out of parent: first of the list. */
ctune_lnode *ctune_lnode_take_kids(ctune_lnode *parent);

/* Is value worth a variable when it is used twice? Not constants, variables and views of them. */
bool ctune_value_is_worthy(const ctune_value *value);
/* A hint for a variable that holds value: after the tensor or variable it comes from. */
const char *ctune_value_hint(ctune_loops *l, const ctune_value *value);
/* Append to parent definitions of what the loop, which has no loop inside and follows in parent,
 * computes and does not change; the loop then uses them. */
void ctune_lnode_hoist(ctune_loops *l, ctune_lnode *parent, ctune_lnode *loop);

#endif
