/*
 * Inside of a space: its forms, the chains of loops in each form, and what may be chosen for each
 * chain. Private to search/space.
 *
 * A chain is a maximal run of single-child loops. Its outer loops stay where they are; the band of
 * inner loops that can be reordered gets one shape, from the outside in: cache loops (tiles of the
 * dims that have one, in torder) mid loops (torder's points: in porder; in the register shape the
 * space dims first, then the reduce dims) steps of the innermost reduction, register loops
 * (unrolled dims, then the vector dim)
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
    MAX_SPACE_FORMS = 12,
    MAX_CHAINS = 24, /* per form */
    MAX_BANDS = 4,   /* per form */
    MAX_BAND_TILES = 4,
    MAX_PART_TILES = 3, /* per form */
    MAX_FISSIONS = 24,
    MAX_PLACED = 16,
    MAX_ACTIVE = CTUNE_SPACE_DECISIONS
};

typedef enum chain_shape { SHAPE_SOURCE, SHAPE_PLAIN, SHAPE_REGISTER, SHAPE_WAVE } chain_shape;
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
    int16_t shape, par, torder, porder, v, lanes, u[2], unroll[2], reduce, cache[MAX_BAND],
        pack[MAX_PACKS], stream, slide, wave, skew, rows;
} chain_slots;

typedef struct pack_read {
    int read;      /* read_id */
    uint32_t dims; /* bit d: depends on band dim d */
    int whole_at;  /* node around the band where it may be packed, -1: none */
} pack_read;

enum { MAX_WAVE_SKEWS = 4 };

/* Wavefronts of the two innermost loops where neither may be parallel: skew * outer + inner. */
typedef struct wave_choice {
    int16_t node[2]; /* outer, inner */
    int skew;        /* 0: none that makes its points independent */
    int n_sizes;
    int size[MAX_CACHE_SIZES];      /* tiles of the outer loop around the wave, [0] = 0 = none */
    char name[3][CTUNE_NAME_BYTES]; /* tile of the outer loop, its points, the wave */
    int n_skewed; /* arrays that may be skewed so that the points of a wave are vectors; 0: none */
    int16_t skewed[MAX_WAVE_SKEWS];
} wave_choice;

/* Tiles of a dim around parts of a body (parts.c). */
typedef struct part_tile {
    int16_t node, inner; /* loop over tiles; in the first part, over their points */
    bool is_lanes;       /* the dim that walks memory most */
    int n_sizes;
    int size[MAX_CACHE_SIZES];
    char name[CTUNE_NAME_BYTES], inner_name[CTUNE_NAME_BYTES];
    int16_t slot;
} part_tile;

typedef struct form_parts {
    int stmt; /* the heaviest, or the one that reads what is placed */
    int n;
    part_tile tile[MAX_PART_TILES];
    int n_loops;            /* 0: the form's nest is that of its tree */
    int16_t loop[MAX_BAND]; /* around the parts, outermost first */
    perm_list perms;        /* of these loops */
    int16_t order_slot;
    int n_fissions;
    char fission[MAX_FISSIONS][CTUNE_NAME_BYTES]; /* loops taken apart, in this order */
    int n_placed;
    int16_t placed[MAX_PLACED]; /* statements computed inside the innermost of the loops */
} form_parts;

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
    const part_tile *limit[MAX_BAND]; /* tile around the band's loop; NULL: none */
    uint32_t reduce; /* bit d: band dim d is absent from the target's index (single statement) */
    uint32_t rigid;  /* bit d: a dependence may run backwards there: not tiled, order restricted */
    uint32_t par;    /* bit d: may be parallel, wherever it stands in the band */
    uint32_t unroll_ok;                       /* bit d: may be part of a register tile */
    char name[MAX_BAND][3][CTUNE_NAME_BYTES]; /* names of up to three levels */
    perm_list perms;
    int n_shapes;
    chain_shape shape[4];
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
    bool may_stream;   /* its stores may go past the caches, and are more than these hold */
    uint32_t slide_ok; /* bit d: its loop, when it is the innermost, may slide */
    wave_choice wave;
    int n_rows;                  /* m == 0: lanes across iterations of the last outer loop */
    int rows[MAX_LANES_CHOICES]; /* [0] = 0 = none */
    char rows_name[2][CTUNE_NAME_BYTES];
    int elem_bytes; /* of the target */
    int vector_bytes;
    int n_tile_regs; /* for accumulators and vector operands of a register tile */
    chain_slots slots;
} chain;

/* Tiles over one dimension of the statements below a band's loop, leaning so that dependences never
 * run backwards. */
typedef struct band_tile {
    ctune_sum sum;
    int16_t dim; /* one of its dims */
    int skew;    /* of the band's loop */
    double extent;
    int n_sizes;
    int size[MAX_CACHE_SIZES]; /* [0] = 0 = none */
    char name[CTUNE_NAME_BYTES];
    bool is_diagonal; /* along the wavefronts of a chain inside */
    int16_t slot;
} band_tile;

/* A loop that carries dependences, and what can be tiled together with it (band.c). */
typedef struct band {
    int16_t time; /* its node */
    int stmt;     /* the first below it */
    double extent;
    int n_sizes;
    int size[MAX_CACHE_SIZES];
    char name[3][CTUNE_NAME_BYTES]; /* outer and inner level of the loop, waves of tiles */
    bool may_wave;                  /* tiles of one wave may run in threads */
    int n;
    band_tile tile[MAX_BAND_TILES]; /* outermost first */
    int16_t on_slot, slot;
} band;

typedef struct form_space {
    const ctune_form *form;
    ctune_schedule prefix; /* structural primitives */
    ctune_nest base;       /* without loop primitives but those of the parts */
    form_parts parts;
    int n_chains;
    chain *chain[MAX_CHAINS]; /* outer chains before the ones inside them */
    int n_bands;
    band band[MAX_BANDS];
} form_space;

typedef struct decision {
    char name[64];
    int n_choices;   /* most of any chain that has it */
    bool is_ordered; /* neighbours are alike (sizes) */
} decision;

struct ctune_space {
    ctune_program *program;
    const ctune_target *target;
    int vector_bytes;  /* the target's, at least 16 */
    long entries_left; /* of isl's work (search/bound), while it is made */
    int n_forms;
    form_space *form[MAX_SPACE_FORMS];
    int n_decisions;
    decision decision[CTUNE_SPACE_DECISIONS];
};

/* Factors of the first and second unrolled dim, and of the innermost reduction in a register tile.
 */
extern const int unroll_sizes[], unroll2_sizes[], reduce_sizes[];
enum { N_UNROLL = 9, N_UNROLL2 = 3, N_UNROLL_REDUCE = 4 };

/* blocks.c: structural primitives of a form with blocks, @ in place of their size; out, empty
 * before, stays so when there is none worth having. */
CTUNE_MUST_USE ctune_status blocks_propose(ctune_ctx *ctx, const ctune_space *space,
                                           ctune_text *out);
/* Such a text with the size filled in, appended to out. */
void blocks_fill(const char *text, int factor, ctune_text *out);
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
int chain_find_shape(const chain *c, chain_shape shape); /* its choice, -1 = not offered */
/* rows.c: fills n_rows of chains that end in several loops. After all chains are found. */
void rows_find(const ctune_space *space, form_space *fs);
bool rows_build(const chain *c, int lanes, ctune_nest *nest, ctune_schedule *schedule);
/* Does the chain stand in one of the loops in lanes? */
bool rows_hold(const form_space *fs, const chain *c, int n_rows, const int16_t *rows);
/* wave.c: fills c->wave of such a chain; false: it has no wavefronts. */
bool wave_find(const form_space *fs, chain *c);
/* Applies the wave; *top is its outermost loop. */
bool wave_build(const wave_choice *wave, int size, bool is_skewed, ctune_nest *nest,
                ctune_schedule *schedule, int *top);
/* slots.c: numbers and names the decisions of all chains. */
void slots_assign(ctune_space *space);

/* A chain's part of a point, decoded. Fields that do not apply are 0 (dims: -1). */
typedef struct plan {
    chain_shape shape;
    int par;             /* 0 none, k: k-th loop that may be parallel */
    int torder, porder;  /* choices of perms */
    int v, u[2];         /* band dims or -1 */
    int reg[MAX_BAND];   /* register tile, 1 = none; of a reduction: its unrolled steps */
    int cache[MAX_BAND]; /* cache tile, 0 = none */
    pack_choice pack[MAX_PACKS];
    bool is_streamed;
    bool slides; /* the innermost loop, where it may */
    int wave;    /* tile of its outer loop, 0 = none */
    bool skews;  /* its points as vectors, in skewed arrays */
    int rows;    /* lanes of the last outer loop, 0 = none */
} plan;

/* A band's part of a point. All 0: the loops stay as they are. */
typedef struct plan_band {
    int time;                 /* steps a tile, 0 = all */
    int tile[MAX_BAND_TILES]; /* 0 = none */
    bool is_wave;             /* wavefronts of the two outermost loops over tiles, in threads */
} plan_band;

typedef struct plan_parts {
    int size[MAX_PART_TILES];
    int order; /* choice of perms */
} plan_parts;

typedef struct active {
    int16_t slot, n, value;
} active;

/* Decisions that matter, with their canonical values. */
typedef struct active_list {
    int n;
    active item[MAX_ACTIVE];
} active_list;

/* pieces.c: the primitives that cut a loop where it carries something; appended to out, nothing
 * when there is no such loop. */
CTUNE_MUST_USE ctune_status pieces_propose(ctune_ctx *ctx, ctune_program *program,
                                           const ctune_form *source, ctune_schedule *out);
/* band.c: the bands of a form whose chains are known. */
void bands_find(form_space *fs, bool has_threads);
/* Applies the plan to the nest; appends the primitives when schedule is not NULL. */
bool band_build(const band *b, const plan_band *p, ctune_nest *nest, ctune_schedule *schedule);

/* parts.c: the which-th way (0, 1, 2) to run the parts of a body of the nest tile by tile, applied
 * to base; 0: there is none. */
int parts_propose(const ctune_nest *nest, int which, ctune_nest *base, form_parts *out);
/* The same with stages placed in a nest that reads them (placed.c). */
int placed_propose(const ctune_nest *nest, int which, ctune_nest *base, form_parts *out);
/* Tiles of a loop of base, their size a decision; false: no room. */
bool part_tile_add(form_parts *p, ctune_nest *base, int node, bool is_lanes);
int part_size(const part_tile *tile, const ctune_point *point);
/* The tile whose points the node's loop runs over; NULL: none. */
const part_tile *parts_limit(const form_parts *p, const ctune_nest *base, int node);
/* Sets sizes and order of a copy of the base nest; appends what makes it when schedule is not NULL.
 */
bool parts_build(const form_parts *p, const plan_parts *plan, ctune_nest *nest,
                 ctune_schedule *schedule);
/* The k-th starting point for register tiles of so many points. */
void parts_seed(const form_parts *p, int k, double lanes, double unroll, ctune_point *point);
void plan_decode_parts(const form_parts *p, const ctune_point *point, plan_parts *out,
                       active_list *list);
/* fused.c: the `fuse` primitives that merge neighbouring nests as deep as that is legal; appended
 * to out, nothing when there are none. */
CTUNE_MUST_USE ctune_status fused_prefix(ctune_ctx *ctx, const ctune_space *space, ctune_text *out);

/* band_seeds.c: sets the band's decisions to those of its k-th starting point. */
int band_n_seeds(const band *b);
/* Are the tiles of the k-th along wavefronts? */
bool band_is_diagonal(const band *b, int k);
void band_seed(const ctune_space *space, int form, const band *b, int k, ctune_point *point);

/* choices.c: of an access along a dim: +1 walks memory one by one, 0 stays, -1 jumps. */
int choice_contiguity(const ctune_nest *nest, int stmt, const ctune_access *access, int dim);
/* choices.c: 0 = none; then from `least` on powers of two, 1.5 times them, and equal parts of the
 * extent, below it. */
void choose_sizes(double extent, int least, int *list, int *n);
/* A name that no loop, tensor or parameter has: base and a letter. */
void space_loop_name(const ctune_nest *nest, const char *base, char letter,
                     char name[CTUNE_NAME_BYTES]);

/* build.c: one primitive for the text of a schedule; nothing when that is NULL (not wanted). coefs
 * [n_names] of names in a sum; NULL: there is none. */
void schedule_record(ctune_schedule *schedule, ctune_prim_kind kind, int64_t number, int n_names,
                     const char *const *names, const int *coefs);
/* list may be NULL. */
void plan_decode_band(const band *b, const ctune_point *point, plan_band *out, active_list *list);
void plan_decode(const chain *c, const ctune_point *point, plan *out, active_list *list);
/* False: more accumulators and operands than registers. */
bool plan_is_sane(const chain *c, const plan *p);
/* build.c: applies the plan to the nest; appends the primitives when schedule is not NULL. */
bool plan_build(const chain *c, const plan *p, ctune_nest *nest, ctune_schedule *schedule);
int point_form(const ctune_space *space, const ctune_point *point);

#endif
