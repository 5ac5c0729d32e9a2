/*
 * Which products of a piece of code are fused with sums, which are rounded first: by its assembly.
 *
 * A fused instruction is evidence by itself. A product is only when its value reaches a sum: the
 * register that it was put into is followed, in the order of the text, through moves, shuffles and
 * sign changes until something else is put there. Blocks do not end the tracking, so that products
 * that were moved out of a loop count too. Only instructions whose .loc names the wanted file are
 * counted; all are followed.
 */
#include "plugin/predict/predict.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { N_REGS = 32, MAX_OPERANDS = 6 };

typedef enum op_class { OTHER, FUSED, PRODUCT, SUM, VALUE /* new value, no product */ } op_class;

typedef struct scan {
    const char *file;
    int file_number; /* of .file; -1: not seen */
    bool is_inside;
    bool is_product[N_REGS]; /* the register holds a rounded product of the wanted lines */
    ctune_fusing_counts counts;
    bool is_there;
} scan;

static bool starts_with(const char *p, const char *word) {
    return strncmp(p, word, strlen(word)) == 0;
}

/* ---- instructions ---------------------------------------------------------------------------- */
/* "ss", "pd", ...: the rest of a mnemonic that works on floating point. */
static bool is_float_suffix(const char *p, size_t n) {
    return n == 2 && (p[0] == 's' || p[0] == 'p') &&
           (p[1] == 's' || p[1] == 'd' || p[1] == 'h'); /* h: _Float16 */
}

static op_class classify_x86(const char *p, size_t n) {
    static const struct {
        const char *stem;
        op_class is;
    } rows[] = {
        {"mul", PRODUCT}, {"add", SUM},   {"sub", SUM},    {"hadd", SUM},  {"hsub", SUM},
        {"addsub", SUM},  {"div", VALUE}, {"sqrt", VALUE}, {"min", VALUE}, {"max", VALUE},
    };
    static const char *const fused[] = {"vfmadd", "vfmsub", "vfnmadd", "vfnmsub"};
    for (size_t i = 0; i < sizeof fused / sizeof *fused; i++) {
        if (starts_with(p, fused[i])) {
            return FUSED;
        }
    }
    if (*p == 'v') {
        p++;
        n--;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t k = strlen(rows[i].stem);
        if (n > k && starts_with(p, rows[i].stem) && is_float_suffix(p + k, n - k)) {
            return rows[i].is;
        }
    }
    return starts_with(p, "cvt") || starts_with(p, "cmp") || starts_with(p, "round") ? VALUE
                                                                                     : OTHER;
}

static op_class classify_arm(const char *p, size_t n) {
    static const struct {
        const char *name;
        op_class is;
    } rows[] = {
        {"fmadd", FUSED},  {"fmsub", FUSED},  {"fnmadd", FUSED}, {"fnmsub", FUSED},
        {"fmla", FUSED},   {"fmls", FUSED},   {"fmul", PRODUCT}, {"fnmul", PRODUCT},
        {"fadd", SUM},     {"fsub", SUM},     {"faddp", SUM},    {"fadda", SUM},
        {"fdiv", VALUE},   {"fsqrt", VALUE},  {"fmin", VALUE},   {"fmax", VALUE},
        {"fminnm", VALUE}, {"fmaxnm", VALUE}, {"fcvt", VALUE},   {"scvtf", VALUE},
        {"ucvtf", VALUE},  {"fcvtl", VALUE},  {"fcvtn", VALUE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strlen(rows[i].name) == n && strncmp(p, rows[i].name, n) == 0) {
            return rows[i].is;
        }
    }
    return OTHER;
}

/* The vector register that an operand is, -1: none. */
static int register_of(const char *p, size_t n, bool is_x86) {
    char *end;
    if (is_x86) {
        if (n < 5 || p[0] != '%' || strchr("xyz", p[1]) == NULL || p[2] != 'm' || p[3] != 'm') {
            return -1;
        }
        long r = strtol(p + 4, &end, 10);
        return end > p + 4 && r >= 0 && r < N_REGS ? (int)r : -1;
    }
    if (n < 2 || strchr("vsdqhz", p[0]) == NULL || !isdigit((unsigned char)p[1])) {
        return -1;
    }
    long r = strtol(p + 1, &end, 10);
    bool is_whole = end >= p + n || *end == '.' || *end == ',' || isspace((unsigned char)*end);
    return is_whole && r < N_REGS ? (int)r : -1;
}

/* Operands of p up to the line's end; those that are vector registers into regs, else -1. */
static int read_operands(const char *p, bool is_x86, int *regs) {
    int n = 0, depth = 0;
    const char *begin = p + strspn(p, " \t");
    for (p = begin; n < MAX_OPERANDS; p++) {
        depth += *p == '(' || *p == '[' || *p == '{';
        depth -= *p == ')' || *p == ']' || *p == '}';
        bool is_end = *p == '\0' || *p == '\n' || (is_x86 && *p == '#') || *p == ';';
        if (is_end || (*p == ',' && depth == 0)) {
            if (p > begin) {
                regs[n++] = register_of(begin, (size_t)(p - begin), is_x86);
            }
            begin = p + 1 + strspn(p + (is_end ? 0 : 1), " \t");
        }
        if (is_end) {
            break;
        }
    }
    return n;
}

static void step(scan *s, const char *p) {
    size_t n = 0;
    while (isalnum((unsigned char)p[n]) || p[n] == '.') {
        n++;
    }
    const char *rest = p + n, *line_end = strchr(rest, '\n');
    size_t n_rest = line_end != NULL ? (size_t)(line_end - rest) : strlen(rest);
    bool is_x86 = memchr(rest, '%', n_rest) != NULL;
    op_class is = is_x86 ? classify_x86(p, n) : classify_arm(p, n);
    int regs[MAX_OPERANDS];
    int n_operands = read_operands(rest, is_x86, regs);
    s->is_there = s->is_there || s->is_inside;
    if (n_operands < 1) {
        return;
    }
    int i_dest = is_x86 ? n_operands - 1 : 0, dest = regs[i_dest];
    /* SSE's two operands: the destination is a source; moves only put something there */
    bool reads_dest = is_x86 && *p != 'v' && !starts_with(p, "mov") && !starts_with(p, "cvt");
    bool has_product = false;
    for (int i = 0; i < n_operands; i++) {
        if (regs[i] >= 0 && (i != i_dest || reads_dest)) {
            has_product |= s->is_product[regs[i]];
        }
    }
    if (n_operands == 3 && regs[0] == regs[1] && strstr(p, "xor") == p + (*p == 'v')) {
        has_product = false; /* zero */
    }
    if (s->is_inside) {
        s->counts.n_fused += is == FUSED;
        s->counts.n_products += is == PRODUCT;
        s->counts.n_sums += is == SUM;
        s->counts.n_rounded += is == SUM && has_product;
    }
    if (dest >= 0) {
        s->is_product[dest] = is == PRODUCT ? s->is_inside : is == OTHER && has_product;
    }
}

/* ---- directives ------------------------------------------------------------------------------ */
/* .file NUMBER ["FOLDER"] "NAME" */
static void read_file(scan *s, const char *p, size_t n) {
    char *end;
    long number = strtol(p, &end, 10);
    char quoted[64];
    size_t k = strlen(s->file);
    if (end == p || k + 3 > sizeof quoted) {
        return;
    }
    quoted[0] = '"';
    memcpy(quoted + 1, s->file, k);
    memcpy(quoted + 1 + k, "\"", 2);
    const char *at = strstr(end, quoted);
    if (at != NULL && at < p + n) {
        s->file_number = (int)number;
    }
}

void ctune_fusing_count(const char *assembly, const char *file, ctune_fusing_counts *out,
                        bool *is_there) {
    scan s = {.file = file, .file_number = -1, .is_inside = file == NULL};
    for (const char *line = assembly; *line != '\0';) {
        const char *end = strchr(line, '\n');
        size_t n = end != NULL ? (size_t)(end - line) : strlen(line);
        const char *p = line + strspn(line, " \t");
        if (file != NULL && starts_with(p, ".file")) {
            read_file(&s, p + 5, n - (size_t)(p + 5 - line));
        } else if (file != NULL && starts_with(p, ".loc") && isspace((unsigned char)p[4])) {
            s.is_inside = s.file_number >= 0 && atoi(p + 5) == s.file_number;
        } else if (p > line && isalpha((unsigned char)*p)) {
            step(&s, p);
        } else if (p == line && isalpha((unsigned char)*p)) { /* a function begins */
            memset(s.is_product, 0, sizeof s.is_product);
            s.is_inside = file == NULL;
        }
        line = end != NULL ? end + 1 : line + n;
    }
    *out = s.counts;
    *is_there = s.is_there;
}

bool ctune_fusing_judge(const ctune_fusing_counts *c, ctune_contraction *out) {
    bool has_rounded = c->n_rounded > 0 || /* products that reach their sums through memory */
                       (c->n_fused == 0 && c->n_products > 0 && c->n_sums > 0);
    *out = c->n_fused == 0 ? CTUNE_CONTRACTS_NEVER
           : has_rounded   ? CTUNE_CONTRACTS_SOME
                           : CTUNE_CONTRACTS_ALWAYS;
    return c->n_fused > 0 || has_rounded;
}
