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

/* A language of kernels: what differs from C. */
typedef struct emit_api {
    const char *name;
    const char *head, *head_f64; /* before all, and where double is used */
    const char *function;        /* what stands before a helper function's type */
    const char *kernel, *bounds; /* before a kernel's name; bounds: %d threads, or "" */
    const char *global, *restricted, *shared;
    const char *barrier;
    const char *index; /* 64 bits */
    const char *block[3], *blocks[3], *thread[3];
    const char *type[CTUNE_N_TYPES];         /* NULL: not there */
    const char *arith[CTUNE_N_VALUE_OPS][2]; /* function of f32, f64; NULL: the operator */
} emit_api;
extern const emit_api emit_api_cuda, emit_api_opencl;

enum { EMIT_N_APIS = 2 }; /* cuda, opencl */

/* Memory that kernels touch: a tensor or a buffer of the program. */
typedef struct emit_array {
    bool is_buffer;
    int id;
    const ctune_aff *first; /* tensors: row-major number of the first element that is touched */
    const ctune_aff *count; /* elements from there to the last one */
    const ctune_aff *rows;  /* rank 2: rows of row_count elements, pitch apart; else NULL */
    const ctune_aff *row_count, *pitch;
    const ctune_aff *span[CTUNE_MAX_RANK]; /* tensors: of each index */
    bool is_read, is_written;
} emit_array;

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

    /* ---- gpu_host.c, gpu_kernel.c */
    const emit_api *api; /* of the kernel that is printed; NULL: the host's C */
    bool has_launch;     /* the program has one */
    const char *done;    /* the frame's variable: did a GPU run it? */
    int n_gpu_conds, cap_gpu_conds;
    const ctune_aff **gpu_cond; /* without which some access touches nothing, each >= 0 */
    int n_arrays;
    emit_array *array; /* [n_arrays] in the order of the kernels' pointers */
    int n_kernels;
    ctune_text *kernels;   /* [EMIT_N_APIS] */
    bool *is_inner;        /* [n_vars] bound inside the launch at hand */
    bool *is_nonneg;       /* [n_vars] index variables that are never below 0 */
    bool *is_kernel_var;   /* [n_vars] used by the kernel at hand */
    bool *is_kernel_param; /* [n_params] */
    bool *is_kernel_first; /* [n_arrays] its first element's number */
    bool has_f64;

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

/* ---- c_dot.c */
void emit_dot(ctune_emitter *e, const ctune_value *value);
void emit_dot_prelude(const ctune_emit_options *options, ctune_text *out);

/* ---- c_node.c */
void emit_block(ctune_emitter *e, const ctune_lnode *first);
void emit_kids(ctune_emitter *e, const ctune_lnode *first);
/* A LET of the setup, which stands among the declarations of the frame. */
void emit_setup(ctune_emitter *e, const ctune_lnode *let);

/* ---- gpu_api.c: what a kernel's text has instead of C's */
const char *emit_gpu_type(ctune_emitter *e, ctune_type type, int lanes);
/* The function that rounds the operation; NULL: C's operator. */
const char *emit_gpu_arith(const ctune_emitter *e, const ctune_value *value);
void emit_gpu_call(ctune_emitter *e, const ctune_value *value);

/* ---- gpu_kernel.c */
/* The identifier of a variable: in a kernel with a prefix, and marked as used. */
const char *emit_var(ctune_emitter *e, int var);
const char *emit_buffer(ctune_emitter *e, int buffer);
const char *emit_param(ctune_emitter *e, int param);
const char *emit_gpu_array(ctune_emitter *e, int i_array);
/* In a kernel: the array of a place; -1: in the kernel's own memory. */
int emit_gpu_find(const ctune_emitter *e, const ctune_place *place);
bool emit_is_nonneg(const ctune_emitter *e, const ctune_aff *aff);
void emit_gpu_barrier(ctune_emitter *e);
/* Prints kernel `name` of the launch into e->kernels of both languages. */
void emit_gpu_kernel(ctune_emitter *e, const ctune_lnode *launch, const char *name);
/* Constant number of threads along an axis of the launch, 1: not bound; blocks: the extent, NULL.
 */
int64_t emit_gpu_threads(const ctune_lnode *launch, int axis);
const ctune_aff *emit_gpu_blocks(const ctune_lnode *launch, int axis);

/* ---- gpu_host.c */
/* Fills e->array. Fails EREFUSED when the range of an access is not known. */
CTUNE_MUST_USE ctune_status emit_gpu_arrays(ctune_emitter *e);
/* The launch at its place in the host's code; its kernel goes to e->kernels. */
void emit_gpu_launch(ctune_emitter *e, const ctune_lnode *launch);
/* The block of the host around `body`, which has the launches. */
void emit_gpu_block(ctune_emitter *e, const char *body);
/* What must hold so that each access touches something, joined to a guard. */
void emit_gpu_guard(ctune_emitter *e);

/* ---- c_guard.c */

/* Condition in C under which the tuned code is valid; "" when there is none. */
void emit_guard(ctune_emitter *e, const ctune_form *form);

#endif
