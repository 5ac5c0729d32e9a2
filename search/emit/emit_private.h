/* State shared by the files of the C emitter. */
#ifndef CTUNE_SEARCH_EMIT_PRIVATE_H
#define CTUNE_SEARCH_EMIT_PRIVATE_H

#include "search/emit/emit.h"

/* How tightly text holds together: an operand below the level that its place needs gets
 * parentheses. Only sums and products go without where C's rules would allow more. */
typedef enum emit_level {
    CTUNE_LEVEL_ANY,   /* a whole expression */
    CTUNE_LEVEL_OTHER, /* ?: & | << ... : never an operand without parentheses */
    CTUNE_LEVEL_TEST,  /* a < b: operand of && and || */
    CTUNE_LEVEL_SUM,   /* a + b */
    CTUNE_LEVEL_PROD,  /* a * b */
    CTUNE_LEVEL_UNARY, /* -a, (int)a, *p */
    CTUNE_LEVEL_PRIMARY
} emit_level;

typedef struct ctune_emit_vector {
    ctune_type type;
    int lanes;
} ctune_emit_vector;

/* A function that the text declares. */
typedef struct ctune_emit_function {
    const char *name, *type; /* type: of the result and of each argument */
    int n_args;
} ctune_emit_function;

typedef struct ctune_emitter {
    ctune_ctx *ctx;
    ctune_arena *arena; /* scratch */
    ctune_loops *loops;
    const ctune_region *region;
    const ctune_emit_options *options;
    bool is_standalone;
    int line;        /* the statement's, of what was printed last (options->lines) */
    int n_streams;   /* stores past the caches that were printed */
    ctune_text *out; /* where text goes now */

    /* ---- names.c: identifiers of the frame, unique against the program's and the region's */
    const char **param;  /* [n_params] */
    const char **tensor; /* [n_tensors] */
    const char **bytes;  /* [n_buffers] size of a heap buffer (of one thread's part) */
    const char **base;   /* [n_buffers] where the threads' parts begin */
    const char *memory, *args;

    /* ---- scan.c */
    bool *is_var_used;           /* [n_vars] */
    bool *is_buffer_used;        /* [n_buffers] declared and accessed */
    int n_rounded, cap_rounded;  /* set of products that must not be fused: open addressing */
    const ctune_value **rounded; /* [cap_rounded] */

    /* ---- marked while text is made, for the declarations at its head */
    bool *is_param_used;  /* [n_params] */
    bool *is_tensor_used; /* [n_tensors] */
    int n_vectors, cap_vectors;
    ctune_emit_vector *vector; /* types without a typedef in the prelude */
    bool is_wide;              /* a 64-byte vector is used */
    int n_functions;
    ctune_emit_function function[32]; /* vectors of math functions */
} ctune_emitter;

/* ---- names.c */
CTUNE_MUST_USE ctune_status emit_names(ctune_emitter *e, const char *original);
/* The identifiers in text (may be NULL). */
const char *const *emit_words(ctune_arena *arena, const char *text, int *n);

/* ---- scan.c */
CTUNE_MUST_USE ctune_status emit_scan(ctune_emitter *e);
bool emit_is_rounded(const ctune_emitter *e, const ctune_value *value);

/* ---- c_index.c */
void emit_index(ctune_emitter *e, const ctune_aff *aff, emit_level level);
void emit_place(ctune_emitter *e, const ctune_place *place);
/* All forms >= 0, joined by `&&`. */
void emit_conditions(ctune_emitter *e, const ctune_aff *const *conds, int n);
/* Of a buffer on the heap: sizeof(float) * ... */
void emit_buffer_bytes(ctune_emitter *e, const ctune_lbuffer *buffer);

/* ---- c_type.c */
/* "float", "ctune_f32x16"; memory: the unaligned one that aliases anything */
const char *emit_type(ctune_emitter *e, ctune_type type, int lanes);
const char *emit_memory_type(ctune_emitter *e, ctune_type type, int lanes);
/* The signed or unsigned integer type as wide as `type`. */
ctune_type emit_signed_of(ctune_type type);
ctune_type emit_unsigned_of(ctune_type type);
void emit_vector_typedef(ctune_text *out, ctune_type type, int lanes);
/* Has the prelude of these options the typedef? */
bool emit_prelude_has(const ctune_emit_options *options, ctune_type type, int lanes);

/* ---- c_value.c */
void emit_value(ctune_emitter *e, const ctune_value *value, emit_level level);
/* As a condition: no arithmetic that a compiler would warn of. */
void emit_test(ctune_emitter *e, const ctune_value *value, emit_level level);

/* ---- c_math.c */
void emit_call(ctune_emitter *e, const ctune_value *value);
/* Declarations of the functions that were printed. */
void emit_function_decls(const ctune_emitter *e, ctune_text *out);
void emit_math_prelude(const ctune_emit_options *options, ctune_text *out);

/* ---- c_node.c */
void emit_kids(ctune_emitter *e, const ctune_lnode *first);
/* A LET of the setup, which stands among the declarations of the frame. */
void emit_setup(ctune_emitter *e, const ctune_lnode *let);

/* ---- c_guard.c */
/* Condition in C under which the tuned code is valid; "" when there is none. */
void emit_guard(ctune_emitter *e, const ctune_form *form);

#endif
