/*
 * Target: what code is made for, as one plain struct that is filled once and passed everywhere:
 * compiler and flags, instruction set, vectors and registers, caches, rates of a core.
 *
 * Who makes one: search/detect asks compiler and machine, a key or stored facts tell a
 * part of it; ctune_target_complete puts defaults where nothing is known. Whoever lowers, prints,
 * searches or estimates borrows it and changes nothing. Options of a call are not here.
 */
#ifndef CTUNE_SEARCH_TARGET_TARGET_H
#define CTUNE_SEARCH_TARGET_TARGET_H

#include "runtime/base.h"

/* Where the compiler may fuse a product and a sum that stand apart in the text. Zero is what is
 * right for every compile. */
typedef enum ctune_contract {
    CTUNE_CONTRACT_FAST, /* anywhere: GCC outside the ISO modes, -ffp-contract=fast, -ffast-math */
    CTUNE_CONTRACT_ON,   /* within one expression: Clang */
    CTUNE_CONTRACT_OFF   /* nowhere */
} ctune_contract;

enum { CTUNE_LINE_BYTES = 64 }; /* of a cache */

/* What one core does in a cycle. */
typedef struct ctune_rates {
    double fma_per_cycle, fma_f64_per_cycle;  /* vector multiply-adds, f32 and f64 */
    double fma_latency;                       /* cycles */
    double loads_per_cycle, stores_per_cycle; /* whole vectors in L1 */
    double bytes_per_cycle[4];                /* read stream from L1, L2, L3, memory */
} ctune_rates;

typedef struct ctune_target {
    /* The compile. */
    char compiler[64];       /* "clang 19", "gcc 12" */
    bool is_gcc;             /* false: clang or unknown */
    char flags[256];         /* flags that change code, normalised: sorted, no paths, defines and
                                warnings dropped */
    bool openmp;             /* the compile has -fopenmp */
    bool fast_math;          /* -ffast-math or -fassociative-math */
    bool is_c90;             /* the compile is before C99 */
    ctune_contract contract; /* where the compile may fuse a product with a sum */
    /* The instruction set. */
    char cpu[96]; /* "znver5", from LLVM's host CPU name or -march= */
    char isa[32]; /* "avx512", "avx2", "sse2", "neon": from the compiler's macros under the flags */
    int vector_bytes; /* 16, 32, 64: widest vector */
    int n_vector_regs;
    bool has_fma;     /* it has fused products */
    bool vector_math; /* glibc's libmvec is there: exp, log, sin, ... of vectors */
    /* The machine. */
    char host[96]; /* this machine's CPU by LLVM's name, whatever the flags say; "" = unknown */
    int n_threads; /* of the compiled code: 1 unless -fopenmp */
    int n_cores;   /* that the machine offers */
    int64_t cache_bytes[3]; /* L1, L2 of a core, L3 */
    double ghz;             /* cycles per ns while the vector units work */
    ctune_rates rates;
    bool is_measured; /* ghz and rates are, by a calibration */
} ctune_target;

/* What is zero or empty gets its default: what the name of the instruction set says, the caches and
 * rates of a common core, one thread. */
void ctune_target_complete(ctune_target *target);
/* A complete target of which these are known; cache_bytes (L1, L2, L3) may be NULL. */
void ctune_target_init(ctune_target *out, int vector_bytes, const int64_t cache_bytes[3],
                       int n_threads);
/* Rates of a common core with such vectors. */
void ctune_rates_default(ctune_rates *out, int vector_bytes);

/* "clang 19 znver5 avx512 t1 <hash of flags, 8 hex digits>": no newline. out at least 256 bytes. */
void ctune_target_key(const ctune_target *target, char *out, size_t size);
/* The key, and "@host" where flags for another CPU hide which machine it is: "clang 19 x86-64-v3
 * avx2 t1 1a2b3c4d @znver5". What data of several machines calls a target. out at least 384 bytes.
 */
void ctune_target_machine_key(const ctune_target *target, const char *key, char *out, size_t size);
/*
 * How near is an entry made for the target of `key` to `mine`? Larger is nearer; -1: its code is
 * not for here: another compiler, an instruction set that this one does not include, or products
 * that are fused here and were not there.
 */
int ctune_target_nearness(const ctune_target *mine, const char *key);
/* What the words of a key say, the rest by default: for records without facts. */
void ctune_target_from_key(const char *key, ctune_target *out);

/* May a sum of products become one instruction: the target has it, and the compile does not forbid
 * it? */
static inline bool ctune_target_fuses(const ctune_target *target) {
    return target->has_fma && target->contract != CTUNE_CONTRACT_OFF;
}

/* Instruction sets, the best first. */
typedef struct ctune_isa {
    const char *macro, *name; /* the compiler's macro that tells it */
    int vector_bytes, n_vector_regs;
    char family;  /* a machine with one of a family has those behind it, too */
    bool has_fma; /* every machine of the kind in use has fused products */
} ctune_isa;
/* NULL after the last one. */
const ctune_isa *ctune_isa_get(int i);

/* Compilers, by the name that ctune_target.compiler begins with: how they differ where their macros
 * do not tell. */
typedef struct ctune_compiler {
    const char *name;
    ctune_contract contract; /* without flags */
    int contract_since;      /* version before which `on` and the ISO modes mean OFF */
    const char *line_flag;   /* the cheapest flag that gives lines to assembly */
} ctune_compiler;
/* Of an unknown one: GCC's. */
const ctune_compiler *ctune_compiler_get(const char *compiler);
/* Of "gcc 12": 12. */
int ctune_compiler_major(const char *compiler);

#endif
