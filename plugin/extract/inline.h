/* Frames of calls: what inline.c (bodies as values) and callee.c (as statements) share. */
#ifndef CTUNE_PLUGIN_EXTRACT_INLINE_H
#define CTUNE_PLUGIN_EXTRACT_INLINE_H

#include "plugin/extract/build.h"

enum { CTUNE_MAX_ENTRIES = 24, CTUNE_MAX_CALLS = 12 };

typedef enum ctune_entry_kind {
    CTUNE_ENTRY_SET,
    CTUNE_ENTRY_SET_IF,
    CTUNE_ENTRY_ADD,
    CTUNE_ENTRY_SUB,
    CTUNE_ENTRY_MUL
} ctune_entry_kind;

typedef struct ctune_inline_entry {
    CXCursor decl;
    ctune_entry_kind kind;
    bool is_argument; /* value is read in the caller's frame */
    CXCursor cond, value;
} ctune_inline_entry;

struct ctune_frame {
    ctune_frame *parent;
    CXCursor function;
    int n;      /* entries so far */
    int limit;  /* entries that are visible: an assignment reads those before it */
    int n_open; /* a body built as statements: loops around it; -1: a value */
    int result; /* tensor of what it returns; -1: nothing */
    ctune_inline_entry at[CTUNE_MAX_ENTRIES];
};

bool ctune_inline_refuse(ctune_build *b, CXCursor at, const char *name, const char *what);
/* The frame of a call with its arguments by name. */
bool ctune_inline_open(ctune_build *b, CXCursor call, CXCursor definition, ctune_frame **out);
bool ctune_inline_add(ctune_build *b, CXCursor decl, ctune_inline_entry e); /* to b->frame */
ctune_kids ctune_inline_body(ctune_build *b, CXCursor definition);

#endif
