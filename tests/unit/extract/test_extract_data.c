/* Arrays, pointers, members, subscripts, overlap. */
#include "fixture.h"

#define F(body)                                                                                    \
    "void f(int n, int m, int lda, float *a, float *b, int *k) { TUNE; for (int i = 0; i < n; "    \
    "i++) for (int j = 0; j < n; j++) { " body " } }"
#define R(body)                                                                                    \
    "void f(int n, const int *k, const float *b, float *restrict a) { TUNE; for (int i = 0; i < "  \
    "n; i++) { " body " } }"
#define TYPES                                                                                      \
    "struct v { float x, y; }; typedef struct { int n, w; float *data; float m[4][8]; struct v "   \
    "p[64]; float s; unsigned char *px; } S;\n"
#define G(body)                                                                                    \
    TYPES "void f(int n, S *s, S t, float *a) { TUNE; for (int i = 0; i < n; i++) { " body " } }"

static const extract_case handled[] = {
    {"fixed",
     "float A[64][32]; void f(void) { TUNE; for (int i = 0; i < 64; i++) for (int j = 0; j < 32; "
     "j++) A[i][j] = 1; }",
     {"tensor A f32 [64][32] write", "!pointer"}},
    {"vla parameter",
     "void f(int n, int m, float A[n][m]) { TUNE; for (int i = 0; i < n; i++) for (int j = 0; j < "
     "m; j++) A[i][j] = 1; }",
     {"tensor A f32 [n][m] write pointer"}},
    {"vla local",
     "float f(int n) { float A[n][n + 1]; TUNE; for (int i = 0; i < n; i++) for (int j = 0; j < n; "
     "j++) A[i][j] = 1; return A[0][0]; }",
     {"tensor A f32 [n][n + 1] write", "!pointer"}},
    {"pointer to vla",
     "void f(int n, float (*A)[n]) { TUNE; for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) "
     "A[i][j] = 1; }",
     {"tensor A f32 [?][n] write pointer"}},
    {"three dimensions",
     "void f(int n, int m, float A[n][m][8]) { TUNE; for (int i = 0; i < n; i++) for (int j = 0; j "
     "< m; j++) A[i][j][3] = 1; }",
     {"tensor A f32 [n][m][8]"}},
    {"outermost extent is a promise",
     "void f(int n, int m, float A[n][8]) { TUNE; for (int i = 0; i < m; i++) A[i][0] = 1; }",
     {"tensor A f32 [?][8]"}},
    {"linear int",
     F("a[i * n + j] = 1;"),
     {"tensor a f32 [?][n]", "\"a[$L]\"", "a[i][j] =", "!assume"}},
    {"linear lda",
     F("a[i * lda + j] = b[j * lda + i];"),
     {"[?][lda]", "assume -n + lda >= 0", "b[j][i]"}},
    {"linear size_t",
     "#include <stddef.h>\nvoid f(size_t n, float *a) { TUNE; for (size_t i = 0; i < n; i++) for "
     "(size_t j = 0; j < n; j++) a[i * n + j] = 1; }",
     {"[?][n]", "a[i][j]"}},
    {"linear unsigned",
     "void f(unsigned n, float *a) { TUNE; for (unsigned i = 0; i < n; i++) for (unsigned j = 0; j "
     "< n; j++) a[i * n + j] = 1; }",
     {"[?][n]", "assume -n + 32768 >= 0"}},
    {"linear with offset",
     F("a[(i + 1) * n + j] = a[i * n + n - 1 - j];"),
     {"a[i + 1][j] = a[i][-j + n - 1]"}},
    {"linear three",
     "void f(int n, int m, int q, float *a) { TUNE; for (int i = 0; i < n; i++) for (int j = 0; j "
     "< m; j++) for (int k = 0; k < q; k++) a[(i * m + j) * q + k] = 1; }",
     {"[?][m][q]", "a[i][j][k]"}},
    {"linear constant",
     "void f(float *a) { TUNE; for (int i = 0; i < 50; i++) for (int j = 0; j < 100; j++) a[i * "
     "100 + j] = a[i * 100 + 99 - j]; }",
     {"[?][100]", "a[i][j] = a[i][-j + 99]"}},
    {"linear constant, overlapping rows",
     "void f(float *a) { TUNE; for (int i = 0; i < 50; i++) for (int j = 0; j < 101; j++) a[i * "
     "100 + j] = 1; }",
     {"a[100*i + j]"}},
    {"heads of a row",
     "void f(int T, int C, int NH, int hs, float *a) { TUNE; for (int t = 0; t < T; t++) for (int "
     "h = 0; "
     "h < NH; h++) for (int i = 0; i < hs; i++) a[t * C + h * hs + i] *= 2; }",
     {"param C i32 sizes 1024", "param NH i32 sizes 16", "[?][NH][hs]", "a[t][h][i]"}},
    {"strides of a matrix",
     "void f(int n, int rs, int cs, float *a) { TUNE sizes(cs=1); for (int i = 0; i < n; i++) for "
     "(int j = "
     "0; j < n; j++) a[i * rs + j * cs] *= 2; }",
     {"[?][rs]", "a[i][j]", "assume -cs + 1 >= 0"}},
    {"column",
     "void f(int n, float *a) { TUNE; for (int i = 0; i < n; i++) a[i * n] = 1; }",
     {"a[i][0]"}},
    {"(A + i*n)[j]", F("(a + i * n)[j] = 1;"), {"[?][n]", "a[i][j]"}},
    {"*(p + i)", F("*(a + i * n + j) = *(b + i);"), {"a[i][j]", "b[i]"}},
    {"i[a]", F("(i)[a] = 1;"), {"a[i] ="}},
    {"&a[i]", F("(&a[i])[j] = 1;"), {"a[i + j]"}},
    {"*&x",
     "void f(int n, float x, float *a) { TUNE; for (int i = 0; i < n; i++) a[i] = *&x; }",
     {"a[i] = x"}},
    {"local pointer", F("float *row = a + i * n; row[j] = 1;"), {"[?][n]", "a[i][j]"}},
    {"local const pointer",
     F("const float *row = &b[i * n]; a[i * n + j] = row[j];"),
     {"a[i][j] = b[i][j]"}},
    {"pointer before the region",
     "void f(int n, float *q) { float *p = q + 3; TUNE; for (int i = 0; i < n; i++) p[i] = q[i]; }",
     {"tensor p f32 [?] write pointer", "tensor q f32 [?] read pointer"}},
    {"member pointer", G("s->data[i] = 1;"), {"\"s->data[$0]\"", "base \"s->data\""}},
    {"member array", G("s->m[1][i] = t.m[2][i];"), {"\"s->m[$0][$1]\"", "\"t.m[$0][$1]\""}},
    {"array of structs",
     G("s->p[i].x = s->p[i].y;"),
     {"\"s->p[$0].x\"", "stride 8", "s_p_x[i] = s_p_y[i]"}},
    {"pointer to struct",
     TYPES "void f(int n, struct v *q) { TUNE; for (int i = 0; i < n; i++) q[i].x = q[i].y; }",
     {"\"q[$0].x\"", "stride 8"}},
    {"member scalar", G("s->s += a[i];"), {"s_s += a[i]", "pointer"}},
    {"struct copy",
     "struct v { float x; int y; }; void f(int n, struct v *a, struct v *b) { TUNE; for (int i = "
     "0; i < "
     "n; i++) a[i] = b[i]; }",
     {"a_x[i] = b_x[i]", "a_y[i] = b_y[i]"}},
    {"bound in an array",
     "int gp[3]; double u[64][64]; void f(void) { TUNE; for (int i = 1; i < gp[0]; i++) for (int j "
     "= 0; "
     "j < gp[1]; j++) u[i][j] += 1; }",
     {"param gp_0 i32", "text \"gp[0]\"", "!gp_0_mem"}},
    {"bound in an array, int stores",
     "int gp[3]; void f(int *a) { TUNE; for (int i = 1; i < gp[0]; i++) a[i] = 1; }",
     {"tensor gp_0_mem i32", "base \"&gp[0]\""}},
    {"bound behind a pointer",
     "void f(int *dim, float *a) { TUNE; for (int i = 0; i < *dim; i++) a[i] = 1; }",
     {"text \"dim[0]\""}},
    {"bound at a parameter",
     "struct g { int n; float *x; }; void f(struct g *grid, int lev) { TUNE; for (int i = 0; i < "
     "grid[lev].n; i++) grid[lev].x[i] = grid[lev + 1].x[2 * i]; }",
     {"text \"grid[lev].n\"", "\"grid[lev].x[$0]\"", "grid[(long)lev + 1].x"}},
    {"row that stays",
     "void f(int n, int t, int **wall, int *dst) { TUNE; for (int i = 0; i < n; i++) dst[i] = "
     "wall[t][i]; }",
     {"\"wall[t][$0]\""}},
    {"const global",
     "static const int N = 64; void f(float *a) { TUNE; for (int i = 0; i < N; i++) a[i] = 1; }",
     {"-i + 63", "!param"}},
    {"const step",
     "void f(int n, float *a) { const int u = 8; TUNE; for (int i = 0; i < n; i += u) a[i] = 1; }",
     {"axis i i32 step 8"}},
    {"induction from a constant",
     "void f(int n, int m, float *a) { int p = 0;  TUNE; for (int i = 0; i < n; i++) a[p++] = 1;  "
     "}",
     {"a[i] = ", "!param p"}},
    {"induction from an assignment",
     "void f(int n, int m, float *a) { int p = 0; p = 3; TUNE; for (int i = 0; i < n; i++) a[p++] "
     "= 1;  }",
     {"a[i + 3] = ", "!param p"}},
    {"induction from a value",
     "void f(int n, int m, float *a) { int p = 0; p = m; TUNE; for (int i = 0; i < n; i++) a[p++] "
     "= 1;  }",
     {"param p", "a[i + p] = "}},
    {"induction under an if",
     "void f(int n, int m, float *a) { int p = 0; if (m) p = 3; TUNE; for (int i = 0; i < n; i++) "
     "a[p++] = 1;  }",
     {"param p"}},
    {"induction in a loop",
     "void f(int n, int m, float *a) { int p = 0; while (m--) { TUNE; for (int i = 0; i < n; i++) "
     "a[p++] = 1; } }",
     {"param p"}},
    {"induction set in a loop",
     "void f(int n, int m, float *a) { int p = 0; while (m--) { p = 2; TUNE; for (int i = 0; i < "
     "n; i++) a[p++] = 1; } }",
     {"!param p", "a[i + 2] = "}},
    {"induction and a label",
     "void f(int n, int m, float *a) { int p = 0; again: ; TUNE; for (int i = 0; i < n; i++) "
     "a[p++] = 1; if (n < 3) goto again; }",
     {"param p"}},
    {"counter around the region",
     "void f(int n, float *a) { for (int t = 0; t < n; t++) { TUNE; for (int i = 0; i < n; i++) "
     "a[t * n + "
     "i] = 1; } }",
     {"param t i32 sizes 1\n"}},
    {"counter around the region as an end",
     "void f(int n, float *a) { for (int t = 0; t < n; t++) { TUNE; for (int i = 0; i < t; i++) "
     "a[i] = 1; } "
     "}",
     {"param t i32 sizes 1024"}},
    {"counter around the region, given",
     "void f(int n, float *a) { for (int t = 0; t < n; t++) { TUNE sizes(t=7); for (int i = 0; i < "
     "n; i++) "
     "a[t * n + i] = 1; } }",
     {"param t i32 sizes 7"}},
    {"declared extents",
     "void f(int n, int t, int m, float a[n][m]) { TUNE sizes(n=8); for (int i = 0; i < m; i++) "
     "a[t][i] = "
     "1; }",
     {"param t i32 sizes 7"}},
    {"member bound",
     TYPES "void f(S *s) { TUNE; for (int i = 0; i < s->n; i++) s->data[i] = 1; }",
     {"param s_n i32", "text \"s->n\"", "!s_n_mem"}},
    {"member bound, stores of bytes",
     TYPES "void f(S *s) { TUNE; for (int i = 0; i < s->n; i++) for (int j = 0; j < s->w; j++) "
           "s->px[i * s->w + j] = 1; }",
     {"\"s->px[$L]\"", "tensor s_n_mem", "tensor s_w_mem"}},
    {"global bound, int stores",
     "int n; void f(int *a) { TUNE; for (int i = 0; i < n; i++) a[i] = 1; }",
     {"tensor n_mem i32", "base \"&n\""}},
    {"global bound, restrict",
     "int n; void f(int *restrict a) { TUNE; for (int i = 0; i < n; i++) a[i] = 1; }",
     {"restrict", "!n_mem"}},
    {"global bound, noalias",
     "int n; void f(int *a) { TUNE noalias; for (int i = 0; i < n; i++) a[i] = 1; }",
     {"!n_mem"}},
    {"global scalar",
     "float g; void f(int n, float *a) { TUNE; for (int i = 0; i < n; i++) a[i] = g; }",
     {"tensor g f32 read scalar pointer"}},
    {"global array and pointer",
     "float G[100]; void f(int n, float *a) { TUNE; for (int i = 0; i < n; i++) a[i] = G[i]; }",
     {"tensor G f32 [100] read pointer"}},
    {"static and const table",
     "static const float w[3] = {1, 2, 3}; static float out[100]; void f(void) { TUNE; for (int i "
     "= 0; i < 98; i++) out[i] += w[1] * out[i + 2]; }",
     {"tensor w f32 [3] read const", "!pointer"}},
    {"restrict in brackets",
     "void f(int n, float a[restrict n], float b[n]) { TUNE; for (int i = 0; i < n; i++) a[i] = "
     "b[i]; }",
     {"tensor a f32 [n] write pointer restrict", "tensor b f32 [n] read pointer\n"}},
    {"negative subscript",
     "void f(int n, float *p) { TUNE; for (int i = 0; i < n; i++) p[i] = p[i - 1] + p[i - 2]; }",
     {"p[$0 - 2]", "(p - 2)", "p[i + 2] = p[i + 1] + p[i]"}},
    {"mirrored", F("a[n - 1 - i] = b[i];"), {"a[-i + n - 1]"}},
    {"strided", F("a[2 * i + 1] = b[i];"), {"a[2*i + 1]"}},
    {"halved", F("a[i / 2] += b[i];"), {"div @0 = (i) / 2", "a[@0]"}},
    {"modulo", F("a[i % 4] += b[i];"), {"a[i - 4*@0]"}},
    {"masked", F("a[i & 3] += b[i >> 1];"), {"a[i - 4*@0]", "b[@1]"}},
    {"difference", F("a[i - j + n] = 1;"), {"a[i - j + n]"}},
    {"in place", F("a[i * n + j] = a[i * n + j + 1];"), {"status"}},
    {"double pointer with a constant",
     "void f(int n, float **v) { TUNE; for (int i = 0; i < n; i++) v[0][i] = v[1][i]; }",
     {"\"v[0][$0]\"", "\"v[1][$0]\""}},
    {"array of arrays in a struct pointer",
     TYPES "void f(S *s, int n) { TUNE; for (int q = 0; q < n; q++) for (int i = 0; i < 8; i++) "
           "s[q].m[2][i] = 1; }",
     {"\"s[$0].m[$1][$2]\""}},
    {"constant index into structs",
     TYPES "void f(S *s, int n) { TUNE; for (int i = 0; i < n; i++) s[2].p[i].x = 1; }",
     {"\"s[$0].p[$1].x\""}},
    {"typedef row",
     "typedef float row[8]; void f(int n, row *r) { TUNE; for (int i = 0; i < n; i++) r[i][3] = 1; "
     "}",
     {"tensor r f32 [?][8]"}},
    {"same memory, two names",
     "void f(int n, float *a, float *b) { TUNE; for (int i = 1; i < n; i++) a[i] = b[i - 1]; }",
     {"tensor a f32 [?] write pointer", "tensor b f32 [?] read pointer"}},
    {"vla size in long",
     "void f(long n, double A[n][n]) { TUNE; for (long i = 0; i < n; i++) A[i][i] = 1; }",
     {"tensor A f64 [n][n]"}},
    {"anonymous member",
     "struct q { struct { float x[8]; }; }; void f(struct q *s) { TUNE; for (int i = 0; i < 8; "
     "i++) s->x[i] = 1; }",
     {"\"s->x[$0]\""}},
    {"K&R",
     "void f(n, a) int n; float *a; { TUNE; for (int i = 0; i < n; i++) a[i] = 1; }",
     {"S0: a[i]"},
     {"-std=gnu89"}},
    {"rows behind pointers",
     "void f(int n, int m, double **v) { TUNE; for (int i = 0; i < n; i++) for (int j = 0; j < m; "
     "j++) "
     "v[i][j] = 1; }",
     {"[?][v_step_8]", "\"v[0][$L]\"", "assume v_step_8 - 1 >= 0", "ctune_row_step(v, 0L, "}},
    {"rows behind pointers from the second on",
     "struct g { int n; float **row; }; void f(struct g *s) { TUNE; for (int i = 1; i < s->n; i++) "
     "for "
     "(int j = 0; j < s->n; j++) s->row[i][j] = s->row[i][j] + 1; }",
     {"\"s->row[1][$L]\"", "ctune_row_step(s->row, 1L, "}},
    {"gather", R("a[i] = b[k[i]];"), {"div @0 = k[i]", "S0: a[i] = b[@0]"}},
    {"gather with offset", R("a[i] = b[k[i] - 1];"), {"div @0 = k[i]", "b[@0 - 1]"}},
    {"gather by a local", R("int q = k[i]; a[i] = b[q] + b[q + 1];"), {"b[@0] + b[@0 + 1]"}},
    {"gather twice", R("a[i] = b[k[k[i]]];"), {"div @0 = k[i]", "div @1 = k[@0]", "b[@1]"}},
    {"gather of rows",
     "void f(int n, int m, const int *k, const float *b, float *restrict a) { TUNE; for (int i = "
     "0; "
     "i < n; i++) for (int j = 0; j < m; j++) a[i * m + j] = b[k[i] * m + j]; }",
     {"b[@0][j]", "b f32 [?][m]"}},
    {"scatter", R("a[k[i]] += b[i];"), {"div @0 = k[i]", "a[@0] += b[i]"}},
    {"table of bytes",
     "void f(int n, const unsigned char *p, const float t[256], float *restrict a) { TUNE; for "
     "(int "
     "i = 0; i < n; i++) a[i] = t[p[i]]; }",
     {"div @0 = p[i]", "t f32 [256]"}},
    {"index in a struct",
     "struct m { int n; int *row; }; void f(const struct m *s, const float *b, float *restrict a) "
     "{ "
     "TUNE; for (int i = 0; i < s->n; i++) a[i] = b[s->row[i]]; }",
     {"\"s->row[$0]\""}},
    {"condition on an index", R("int q = k[i]; if (q > 0) a[i] = b[q];"), {"; when k[i] > 0"}},
};

static const extract_case refused[] = {
    {"indirect", F("a[k[i]] = 1; k[i] = 2;"), {"[subscript-indirect]", "'k[i]'"}},
    {"indirect through what is written", F("k[k[i]] = 1;"), {"[subscript-indirect]", "'k[i]'"}},
    {"indirect local", F("int q = k[i]; a[q] = 1; k[i] = 2;"), {"[subscript-indirect]", "'q'"}},
    {"bound in an array that is written",
     "void f(int *k) { TUNE; for (int i = 0; i < k[0]; i++) k[i] = 1; }",
     {"[bound-reads-array]"}},
    {"bound in a member that is written",
     "struct g { int n; }; void f(struct g *p) { TUNE; for (int i = 0; i < p[0].n; i++) p[i].n = "
     "1; }",
     {"[bound-changes]"}},
    {"assigned index",
     "void f(int n, int *k, float *a) { int p = 0; TUNE; for (int i = 0; i < n; i++) { a[p] = 1; p "
     "= "
     "k[i]; } }",
     {"[subscript-assigned]"}},
    {"i * j", F("a[i * j] = 1;"), {"[subscript-not-affine]"}},
    {"i % n", F("a[i % m] = 1;"), {"[subscript-not-affine]"}},
    {"two strides", F("a[i * n + j * m] = 1;"), {"[subscript-not-affine]"}},
    {"moving pointer", F("*a++ = 1;"), {"[moving-pointer]"}},
    {"moving pointer 2",
     "void f(int n, float *a) { TUNE; for (int i = 0; i < n; i++) { *a = 1; a += 2; } }",
     {"[moving-pointer]"}},
    {"moving local pointer",
     "void f(int n, float *a) { TUNE; for (int i = 0; i < n; i++) { float *p = a; for (int j = 0; "
     "j < n; j++) *p++ = 1; } }",
     {"[moving-pointer]"}},
    {"pointers in an array",
     "void f(int n, const int *k, float **v) { TUNE; for (int i = 0; i < n; i++) v[k[i]][0] = 1; }",
     {"[pointer-to-pointer]"}},
    {"pointers in an array on a condition",
     "void f(int n, const int *k, float **v) { TUNE; for (int i = 0; i < n; i++) for (int j = 0; j "
     "< "
     "n; j++) if (k[i]) v[i][j] = 1; }",
     {"[pointer-to-pointer]"}},
    {"pointers to bytes",
     "void f(int n, unsigned char **v) { TUNE; for (int i = 0; i < n; i++) for (int j = 0; j < n; "
     "j++) "
     "v[i][j] = 1; }",
     {"[pointer-to-pointer]"}},
    {"cast", F("((int *)a)[i] = 1;"), {"[pointer-cast]"}},
    {"cast from void",
     "void f(int n, void *a) { TUNE; for (int i = 0; i < n; i++) ((float *)a)[i] = 1; }",
     {"[pointer-cast]"}},
    {"union",
     "union u { float f; int i; }; void f(int n, union u *a) { TUNE; for (int i = 0; i < n; i++) "
     "a[i].f = 1; }",
     {"[union]"}},
    {"bit-field",
     "struct b { int x : 3; }; void f(int n, struct b *a) { TUNE; for (int i = 0; i < n; i++) "
     "a[i].x = 1; }",
     {"[bit-field]"}},
    {"struct copy with an array",
     "struct v { float x[3]; }; void f(int n, struct v *a, struct v *b) { TUNE; for (int i = 0; i "
     "< n; "
     "i++) a[i] = b[i]; }",
     {"[aggregate]"}},
    {"volatile member",
     "struct v { volatile float x; }; void f(int n, struct v *a) { TUNE; for (int i = 0; i < n; "
     "i++) a[i].x = 1; }",
     {"[volatile]"}},
    {"vla size changes",
     "void f(int n, float A[n][n]) { n = n / 2; TUNE; for (int i = 0; i < n; i++) A[i][0] = 1; }",
     {"[vla-extent]"}},
    {"const",
     "void f(int n, const float *a) { float *b = 0; TUNE; for (int i = 0; i < n; i++) b[i] = a[i]; "
     "}",
     {"const"}},
    {"bound stored by name",
     "struct q { int n; float *a; }; void f(struct q *s) { TUNE; for (int i = 0; i < s->n; i++) "
     "s->n = 3; }",
     {"[bound-changes]"}},
    {"pointer difference", F("k[i] = a - b;"), {"[pointer-expression]"}},
    {"pointer select", F("(n > 3 ? a : b)[i] = 1;"), {"[pointer-expression]"}},
    {"pointer value",
     "void f(int n, float **v, float *a) { TUNE; for (int i = 0; i < n; i++) v[i] = a; }",
     {"[moving-pointer]"}},
    {"string", F("k[i] = \"abc\"[i];"), {"[pointer-expression]"}},
    {"compound literal", F("a[i] = ((float[]){1, 2})[0];"), {"[pointer-expression]"}},
    {"far before the pointer", F("a[-i] = 1;"), {"[subscript-negative]"}},
    {"reversed rows", F("a[(n - i) * lda - j] = 1;"), {"[subscript-not-affine]"}},
};

static void test_handled(void **state) {
    (void)state;
    RUN_CASES(handled);
}

static void test_refused(void **state) {
    (void)state;
    RUN_CASES(refused);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_handled),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
