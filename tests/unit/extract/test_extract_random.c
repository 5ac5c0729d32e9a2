/*
 * Random nests: does the region, with its epilogue, compute what the C code computes?
 *
 * Programs are made from index scalars, inductions, clamps, borders, continue, counters that are
 * read later; gcc compiles them and the epilogues, te_eval runs the regions; memory and the
 * scalars' last values must agree wherever the facts hold. EXTRACT_SEED and EXTRACT_COUNT choose
 * others; a failure prints the seed.
 */
#include "fixture.h"

#include <dlfcn.h>
#include <unistd.h>

enum { CELLS = 4096, MIDDLE = 1024, KEPT = 900, N_SCALARS = 6 };

/* ---- programs -------------------------------------------------------------------------------- */

typedef struct maker {
    uint64_t state;
    const char *vars[3]; /* counters in scope */
    int n_vars;
} maker;

static int below(maker *m, int n) {
    m->state = m->state * 6364136223846793005u + 1442695040888963407u;
    return (int)((m->state >> 33) % (uint64_t)n);
}

static const char *var(maker *m) {
    return m->vars[below(m, m->n_vars)];
}

static void put_index(maker *m, ctune_text *out) {
    const char *v = var(m);
    switch (below(m, 12)) {
    case 0:
    case 1:
        ctune_text_printf(out, "%s + %d", v, 1 + below(m, 3));
        break;
    case 2:
        ctune_text_printf(out, "(%s > 0 ? %s - 1 : 0)", v, v);
        break;
    case 3:
        ctune_text_printf(out, "%s / 2", v);
        break;
    case 4:
        ctune_text_printf(out, "(%s + 1) %% %s", v, below(m, 2) != 0 ? "n" : "5");
        break;
    case 5:
        ctune_text_printf(out, "%s * m + %s", m->vars[0], m->vars[m->n_vars - 1]);
        break;
    case 6:
        ctune_text_printf(out, "(%s < %d ? %s : %d)", v, 1 + below(m, 4), v, below(m, 5));
        break;
    case 7:
        ctune_text_printf(out, "2 * %s", v);
        break;
    default:
        ctune_text_append(out, v);
    }
}

static void put_cond(maker *m, ctune_text *out, int depth) {
    static const char *const ends[] = {"n - 1", "m", "2", "0"};
    const char *v = var(m);
    int kind = below(m, depth < 1 ? 9 : 7);
    switch (kind) {
    case 0:
        ctune_text_printf(out, "%s != %s", v, ends[below(m, 4)]);
        break;
    case 1:
        ctune_text_printf(out, "%s == %d", v, below(m, 5));
        break;
    case 2:
        ctune_text_printf(out, "b[%s] > 0", v);
        break;
    case 3:
        ctune_text_printf(out, "%s %% 3 == 1", v);
        break;
    case 4:
        ctune_text_printf(out, "m > %d", below(m, 5));
        break;
    case 5:
        ctune_text_printf(out, "%s < %s", v, ends[below(m, 3)]);
        break;
    case 7:
    case 8:
        ctune_text_append(out, "(");
        put_cond(m, out, depth + 1);
        ctune_text_append(out, kind == 7 ? " && " : " || ");
        put_cond(m, out, depth + 1);
        ctune_text_append(out, ")");
        break;
    default:
        ctune_text_printf(out, "%s > %d", v, below(m, 5));
    }
}

static void put_value(maker *m, ctune_text *out, int depth) {
    int kind = below(m, depth < 2 ? 10 : 7);
    switch (kind) {
    case 0:
        ctune_text_printf(out, "%d", below(m, 9) - 3);
        break;
    case 1:
        ctune_text_append(out, var(m));
        break;
    case 2:
        ctune_text_append(out, "k[");
        put_index(m, out);
        ctune_text_append(out, "]");
        break;
    case 7:
        ctune_text_append(out, "(");
        put_cond(m, out, 0);
        ctune_text_append(out, " ? ");
        put_value(m, out, depth + 1);
        ctune_text_append(out, " : ");
        put_value(m, out, depth + 1);
        ctune_text_append(out, ")");
        break;
    case 8:
    case 9:
        put_value(m, out, depth + 1);
        ctune_text_append(out, " + ");
        put_value(m, out, depth + 1);
        break;
    default:
        ctune_text_append(out, "b[");
        put_index(m, out);
        ctune_text_append(out, "]");
    }
}

static void put_store(maker *m, ctune_text *out, const char *array) {
    ctune_text_printf(out, "%s[", array);
    put_index(m, out);
    ctune_text_append(out, below(m, 2) != 0 ? "] += " : "] = ");
    put_value(m, out, 0);
    ctune_text_append(out, "; ");
}

static void put_scalar(maker *m, ctune_text *out) {
    static const char *const plain[] = {"p++; ",          "p += m; ",        "p += 2; ",
                                        "q = p + 1; ",    "a[q] = b[p]; ",   "a[p] += 3; ",
                                        "a[p++] = 4; ",   "k[p] = q; ",      "a[p & 63] = 2; ",
                                        "t = b[p] / 2; ", "a[q] += t - p; ", "p = q; "};
    switch (below(m, 5)) {
    case 0:
        ctune_text_append(out, "p = ");
        put_index(m, out);
        ctune_text_append(out, "; ");
        break;
    case 1:
        ctune_text_append(out, "if (");
        put_cond(m, out, 0);
        ctune_text_printf(out, ") q = %s; ", var(m));
        break;
    default:
        ctune_text_append(out, plain[below(m, 12)]);
    }
}

static void put_loop(maker *m, ctune_text *out, int level);

static void put_statements(maker *m, ctune_text *out, int level, bool in_loop, int n) {
    for (int s = 0; s < n; s++) {
        int kind = below(m, 12);
        if (kind < 4) {
            put_store(m, out, kind < 3 ? "a" : "k");
        } else if (kind < 7) {
            put_scalar(m, out);
        } else if (kind == 7 && in_loop) {
            ctune_text_append(out, "if (");
            put_cond(m, out, 0);
            ctune_text_append(out, ") continue; ");
        } else if (kind == 8) {
            ctune_text_printf(out, "{ int l = %s - 1; if (l < 0) l = 0; a[l] += 1; } ", var(m));
        } else if (kind == 9 && level < 2) {
            put_loop(m, out, level + 1);
        } else {
            ctune_text_append(out, "if (");
            put_cond(m, out, 0);
            ctune_text_append(out, ") { ");
            put_statements(m, out, 2, false, 1 + below(m, 2));
            ctune_text_append(out, below(m, 2) != 0 ? "} else { a[0] += 1; } " : "} ");
        }
    }
}

static void put_loop(maker *m, ctune_text *out, int level) {
    static const char *const names[] = {"i", "j", "h"}, *const ends[] = {"n", "m", "n - 1", "5"};
    const char *v = names[level], *end = ends[below(m, 4)];
    int first = below(m, 3);
    switch (below(m, 6)) {
    case 0:
        ctune_text_printf(out, "for (%s = %s; %s-- > 0;) { ", v, end, v);
        break;
    case 1:
        ctune_text_printf(out, "for (%s = %s - 1; %s >= %d; %s--) { ", v, end, v, first, v);
        break;
    case 2:
        ctune_text_printf(out, "for (%s = %d; %s < %s; %s += 2) { ", v, first, v, end, v);
        break;
    default:
        ctune_text_printf(out, "for (%s = %d; %s < %s; %s++) { ", v, first, v, end, v);
    }
    m->vars[m->n_vars++] = v;
    if (level == 0 && below(m, 2) != 0) {
        put_loop(m, out, 1);
    }
    put_statements(m, out, level, true, 1 + below(m, 3));
    m->n_vars--;
    ctune_text_append(out, "} ");
    if (level > 0 && below(m, 8) == 0) {
        ctune_text_printf(out, "a[%s] = 1; ", v);
    }
}

static char *make_source(uint64_t seed, int i) {
    static const char *const starts[] = {"", "p = 0; ", "p = 2; q = 1; ", "q = n; "};
    maker m = {.state = seed * 7919 + (uint64_t)i * 104729 + 12345};
    ctune_text t;
    ctune_text_init(&t);
    below(&m, 2);
    ctune_text_printf(&t,
                      "void f%d(int n, int m, double *a, double *b, int *k) { (void)m; (void)b; "
                      "int i = 0, j = 0, h = 0, p = 0, q = 0; double t = 0;\n#pragma tune\n{ %s",
                      i, starts[below(&m, 4)]);
    put_loop(&m, &t, 0);
    ctune_text_printf(&t,
                      "}\nk[%d] = i; k[%d] = j; k[%d] = h; k[%d] = p; k[%d] = q; k[%d] = (int)t; "
                      "}\n",
                      KEPT, KEPT + 1, KEPT + 2, KEPT + 3, KEPT + 4, KEPT + 5);
    return t.data;
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct memory {
    double a[CELLS], b[CELLS];
    int k[CELLS];
} memory;

typedef struct program {
    char *source;
    ctune_unit *unit;
    const ctune_region *region; /* NULL: refused */
    void (*code)(int n, int m, double *a, double *b, int *k);
    void (*epilogue)(int n, int m, int *scalars); /* NULL: none */
} program;

static void fill(memory *mem, unsigned seed) {
    for (int i = 0; i < CELLS; i++) {
        seed = seed * 1103515245u + 12345u;
        mem->a[i] = (int)(seed >> 16) % 17 - 8;
        mem->b[i] = (int)(seed >> 20) % 13 - 6;
        mem->k[i] = (int)(seed >> 18) % 29 - 5;
    }
}

static int scalar_id(const char *name) {
    const char *all = "ijhpqt", *at = strlen(name) == 1 ? strchr(all, *name) : NULL;
    return at != NULL ? (int)(at - all) : -1;
}

static int64_t value_of(const char *text, int n, int m) {
    return strcmp(text, "n") == 0      ? n
           : strcmp(text, "m") == 0    ? m
           : strstr(text, "*") != NULL ? (int64_t)n * m
                                       : 0;
}

typedef union cell {
    int i;
    double d;
} cell;

static void *storage_of(memory *mem, const ctune_tensor *t, size_t *bytes) {
    const char *minus = strstr(t->base, " - "), *base = t->base + strspn(t->base, "&(");
    long shift = minus != NULL ? -strtol(minus + 3, NULL, 10) : 0;
    *bytes = (size_t)(CELLS - MIDDLE - shift) * (size_t)ctune_type_get(t->type)->bytes;
    return *base == 'a'   ? (void *)(mem->a + MIDDLE + shift)
           : *base == 'b' ? (void *)(mem->b + MIDDLE + shift)
                          : (void *)(mem->k + MIDDLE + shift);
}

/* Region and epilogue on mem. 0: the facts do not hold. */
static int run_region(const program *p, int n, int m, memory *mem, ctune_ctx *ctx) {
    const ctune_region *r = p->region;
    int64_t params[32];
    void *tensors[128] = {NULL};
    size_t bytes[128] = {0};
    static cell cells[128];
    assert_true(r->n_params <= 32 && r->n_tensors <= 128);
    for (int i = 0; i < r->n_params; i++) {
        params[i] = value_of(r->params[i].c_text, n, m);
    }
    for (int i = 0; i < r->n_assumes; i++) {
        if (ctune_aff_eval(r, r->assumes[i].aff, NULL, params) < 0) {
            return 0;
        }
    }
    for (int t = 0; t < r->n_tensors; t++) {
        const ctune_tensor *tensor = &r->tensors[t];
        if (tensor->is_temp) {
            continue;
        }
        if (tensor->is_scalar_var) {
            cells[t] = (cell){.d = 0};
            cells[t].i = tensor->type == CTUNE_I32 ? (int)value_of(tensor->pattern, n, m) : 0;
            tensors[t] = &cells[t];
            bytes[t] = sizeof cells[t];
        } else {
            tensors[t] = storage_of(mem, tensor, &bytes[t]);
        }
    }
    if (ctune_te_eval(ctx, r, CTUNE_PRODUCTS_ROUNDED, params, tensors, bytes) != CTUNE_OK) {
        return -1;
    }
    int scalars[N_SCALARS] = {0};
    for (int t = 0; t < r->n_tensors; t++) {
        const ctune_tensor *tensor = &r->tensors[t];
        int id = tensor->is_scalar_var && !tensor->is_temp ? scalar_id(tensor->pattern) : -1;
        if (id >= 0) {
            scalars[id] = tensor->type == CTUNE_I32 ? cells[t].i : (int)cells[t].d;
        }
    }
    if (p->epilogue != NULL) {
        p->epilogue(n, m, scalars);
    }
    memcpy(mem->k + MIDDLE + KEPT, scalars, sizeof scalars);
    return 1;
}

static bool compare(const program *p, uint64_t seed, int *n_run) {
    static memory want, got;
    for (int n = -1; n <= 9; n += 2) {
        for (int m = 0; m <= 9; m += 3) {
            ctune_ctx ctx;
            ctune_ctx_init(&ctx);
            fill(&want, (unsigned)(n * 10 + m));
            got = want;
            int ran = run_region(p, n, m, &got, &ctx);
            *n_run += ran > 0;
            if (ran > 0) {
                p->code(n, m, want.a + MIDDLE, want.b + MIDDLE, want.k + MIDDLE);
            }
            if (ran < 0 || (ran > 0 && memcmp(&want, &got, sizeof want) != 0)) {
                print_error("EXTRACT_SEED=%llu, n=%d m=%d: %s\n%s\n", (unsigned long long)seed, n,
                            m, ran < 0 ? ctx.error : "results differ", p->source);
                return false;
            }
        }
    }
    return true;
}

static void extract_one(program *p, uint64_t seed, int i, ctune_text *all) {
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    p->source = make_source(seed, i);
    ctune_text_append(all, p->source);
    assert_int_equal(ctune_extract(&ctx, "case.c", p->source, 0, NULL, &p->unit), CTUNE_OK);
    p->region = p->unit->regions[0].region;
    if (p->region != NULL && p->region->epilogue != NULL) {
        ctune_text_printf(all,
                          "void e%d(int n, int m, int *v) { (void)n; (void)m; int i = v[0], j = "
                          "v[1], h = v[2], p = v[3], q = v[4];\n%s\nv[0] = i; v[1] = j; v[2] = h; "
                          "v[3] = p; v[4] = q; }\n",
                          i, p->region->epilogue);
    }
}

static void *compile(const char *dir, const char *text) {
    char path[200], command[600];
    snprintf(path, sizeof path, "%s/all.c", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    snprintf(command, sizeof command, "gcc -O1 -ffp-contract=off -w -shared -fPIC -o %s/all.so %s",
             dir, path);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/all.so", dir);
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(lib);
    return lib;
}

static void test_random(void **state) {
    (void)state;
    char dir[] = "/tmp/extract-XXXXXX", name[32];
    const char *given = getenv("EXTRACT_SEED"), *count = getenv("EXTRACT_COUNT");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : 1;
    int n = count != NULL ? atoi(count) : 120, n_bad = 0, n_handled = 0, n_run = 0;
    program *programs = calloc((size_t)n, sizeof *programs);
    ctune_text all;
    ctune_text_init(&all);
    assert_non_null(mkdtemp(dir));
    assert_non_null(programs);
    for (int i = 0; i < n; i++) {
        extract_one(&programs[i], seed, i, &all);
    }
    void *lib = compile(dir, ctune_text_get(&all));
    for (int i = 0; i < n; i++) {
        program *p = &programs[i];
        snprintf(name, sizeof name, "f%d", i);
        *(void **)&p->code = dlsym(lib, name);
        snprintf(name, sizeof name, "e%d", i);
        *(void **)&p->epilogue = dlsym(lib, name);
        n_handled += p->region != NULL;
        n_bad += p->region != NULL && !compare(p, seed, &n_run);
        ctune_unit_destroy(p->unit);
        free(p->source);
    }
    dlclose(lib);
    free(programs);
    ctune_text_clear(&all);
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", dir);
    assert_int_equal(system(command), 0);
    print_message("seed %llu: %d of %d handled, %d runs\n", (unsigned long long)seed, n_handled, n,
                  n_run);
    assert_int_equal(n_bad, 0);
    assert_true(n_handled > n / 3 && n_run > n_handled);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
