/*
 * Inside of a space: its forms, the chains of loops in each form, and what may be chosen for each
 * chain. Private to search/space.
 *
 * A chain is a maximal run of single-child loops. Its outer loops stay where they are; the band of
 * inner loops that can be reordered gets one shape, from the outside in: cache loops (tiles of the
 * dims that have one, in torder) mid loops (torder's points: in porder; in the register shape the
 * space dims first, then the reduce dims) register loops (unrolled dims, then the vector dim)
 */
#ifndef CTUNE_SEARCH_SPACE_SPACE_PRIVATE_H
#define CTUNE_SEARCH_SPACE_SPACE_PRIVATE_H

#include "search/schedule/nest_ops.h"
#include "search/space/space.h"

enum {
    MAX_BAND = 8,
    MAX_CACHE_SIZES = 40,
    MAX_LANES_CHOICES = 16,
    MAX_PACKS = 6,
    MAX_PERMS = 72,
    N_PAR_CHOICES = 4, /* none, or the first, second, third loop that may be parallel */
    MAX_SPACE_FORMS = 8,
    MAX_CHAINS = 24, /* per form */
    MAX_ACTIVE = CTUNE_SPACE_DECISIONS
};

typedef enum chain_shape { SHAPE_SOURCE, SHAPE_PLAIN, SHAPE_REGISTER } chain_shape;
typedef enum pack_choice { PACK_NONE, PACK_BLOCK, PACK_PANEL, N_PACK_CHOICES } pack_choice;

/* All orders of n loops when n <= 4, else the ones that move up to two loops to the front or one to
 * the back. */
typedef struct perm_list {
    int n, n_perms;
    uint8_t perm[MAX_PERMS][MAX_BAND];
} perm_list;
void perm_list_init(perm_list *list, int n);
void perm_list_remove(perm_list *list, int i);
/* Smallest choice that orders the loops of each group (bit sets) as choice i does. */
int perm_canonical(const perm_list *list, int i, const uint32_t *groups, int n_groups);
/* Choice that agrees best with `wanted` (loops not in wanted do not count). */
int perm_nearest(const perm_list *list, const uint8_t *wanted, int n_wanted);

/* Decision numbers of a chain; -1 = it has no such decision (then choice 0). */
typedef struct chain_slots {
    int16_t shape, par, torder, porder, v, lanes, u[2], unroll[2], cache[MAX_BAND], pack[MAX_PACKS],
        stream;
} chain_slots;

typedef struct pack_read {
    int read;      /* read_id */
    uint32_t dims; /* bit d: depends on band dim d */
    bool whole_ok; /* may be packed outside the band */
} pack_read;

typedef struct chain {
    int form;    /* in the space */
    double work; /* estimated statement instances */
    int stmt,
        n_stmts; /* first statement inside; statements in the innermost body (0: not a leaf) */
    int n_outer;
    int16_t outer[CTUNE_MAX_DEPTH];  /* loops outside the band, outermost first */
    bool outer_par[CTUNE_MAX_DEPTH]; /* may be parallel */
    int m;                           /* band: loops, outermost first */
    int16_t node[MAX_BAND];
    double extent[MAX_BAND];
    uint32_t reduce; /* bit d: band dim d is absent from the target's index (single statement) */
    uint32_t rigid;  /* bit d: a dependence may run backwards there: not tiled, order restricted */
    uint32_t par;    /* bit d: may be parallel, wherever it stands in the band */
    uint32_t unroll_ok;                       /* bit d: may be part of a register tile */
    char name[MAX_BAND][3][CTUNE_NAME_BYTES]; /* names of up to three levels */
    perm_list perms;
    int n_shapes;
    chain_shape shape[3];
    int n_v;
    int8_t v[MAX_BAND + 1]; /* vector dims, best first; last: -1 = none */
    int n_good_v;           /* leading ones that walk memory more than they jump */
    int n_lanes;
    int lanes[MAX_LANES_CHOICES];
    int n_u;
    int8_t u[MAX_BAND + 1]; /* unrolled dims; first: -1 = none */
    int n_cache[MAX_BAND];
    int cache[MAX_BAND][MAX_CACHE_SIZES]; /* tile sizes, [0] = 0 = none */
    int n_packs;
    pack_read pack[MAX_PACKS];
    bool may_stream; /* its stores may go past the caches, and are more than these hold */
    int elem_bytes;  /* of the target */
    int vector_bytes, n_vector_regs;
    chain_slots slots;
} chain;

typedef struct form_space {
    const ctune_form *form;
    ctune_schedule prefix; /* structural primitives */
    ctune_nest base;       /* without loop primitives */
    int n_chains;
    chain *chain[MAX_CHAINS]; /* outer chains before the ones inside them */
} form_space;

typedef struct decision {
    char name[64];
    int n_choices;   /* most of any chain that has it */
    bool is_ordered; /* neighbours are alike (sizes) */
} decision;

struct ctune_space {
    ctune_program *program;
    const ctune_target *target;
    int vector_bytes; /* the target's, at least 16 */
    int n_forms;
    form_space *form[MAX_SPACE_FORMS];
    int n_decisions;
    decision decision[CTUNE_SPACE_DECISIONS];
};

extern const int unroll_sizes[], unroll2_sizes[]; /* factors of the first and second unrolled dim */
enum { N_UNROLL = 9, N_UNROLL2 = 3 };

/* borders.c: the structural primitives of the form that splits a loop where conditions of a
 * reduction cut iterations off; appends nothing when there is no such loop. */
CTUNE_MUST_USE ctune_status borders_prefix(ctune_ctx *ctx, const ctune_space *space,
                                           ctune_text *out);
/* Band dims (bits) along which the points of a register tile would differ in more than one loop of
 * the reduction: no tile of accumulators fits them but in the interior. */
uint32_t borders_cut_dims(const ctune_nest *nest, const chain *c);
/* chain.c: chains of a form with everything but slots. */
CTUNE_MUST_USE ctune_status chains_find(ctune_ctx *ctx, const ctune_space *space, int form);
/* choices.c: what may be chosen for a leaf chain whose loops and band are known. */
void chain_choices(const ctune_space *space, const form_space *fs, chain *c);
/* slots.c: numbers and names the decisions of all chains. */
void slots_assign(ctune_space *space);

/* A chain's part of a point, decoded. Fields that do not apply are 0 (dims: -1). */
typedef struct plan {
    chain_shape shape;
    int par;             /* 0 none, k: k-th loop that may be parallel */
    int torder, porder;  /* choices of perms */
    int v, u[2];         /* band dims or -1 */
    int reg[MAX_BAND];   /* register tile, 1 = none */
    int cache[MAX_BAND]; /* cache tile, 0 = none */
    pack_choice pack[MAX_PACKS];
    bool is_streamed;
} plan;

typedef struct active {
    int16_t slot, n, value;
} active;

/* Decisions that matter, with their canonical values. */
typedef struct active_list {
    int n;
    active item[MAX_ACTIVE];
} active_list;

/* list may be NULL. */
void plan_decode(const chain *c, const ctune_point *point, plan *out, active_list *list);
/* False: too many accumulators. */
bool plan_is_sane(const chain *c, const plan *p);
/* build.c: applies the plan to the nest; appends the primitives when schedule is not NULL. */
bool plan_build(const chain *c, const plan *p, ctune_nest *nest, ctune_schedule *schedule);
int point_form(const ctune_space *space, const ctune_point *point);

#endif
