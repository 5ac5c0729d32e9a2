/*
 * Does the region compute what the C code computes? Each case is compiled by gcc and run; te_eval
 * runs the extracted region on the same data; all memory must agree bit for bit. Counters' final
 * values are checked by compiling the epilogue.
 */
#include "fixture.h"

#include <dlfcn.h>
#include <unistd.h>

enum { CELLS = 4096, MIDDLE = 1024 };

/* void f(int n, int m, double *a, double *b, int *k) { head; #pragma tune; body } */
typedef struct run_case_t {
    const char *head, *body;
} run_case_t;

static const run_case_t cases[] = {
    {"", "for (int i = 0; i < n; i++) a[i] += b[i] * 3;"},
    {"", "for (int i = n; i >= -2; i -= 3) a[i + 4] = i;"},
    {"int i; double t;", "for (i = 1; i <= n; i = 2 + i) { t = a[i]; b[i] = t * t - i; }"},
    {"", "for (int i = 0; i < n; i++) for (int j = i; j < m; j++) a[j] = a[j] * 2 + b[i];"},
    {"", "for (int i = 0; i < (n < m ? n : m); i++) k[i] = i % 3 + k[i] / 2;"},
    {"", "for (int i = (n > m ? n : m); i < 12; i++) k[i] ^= i;"},
    {"", "for (int i = 0; i < (n > m ? n : m); i++) k[i] ^= i;"},
    {"", "for (int i = 0; i < n * m; i++) k[i] -= 3;"},
    {"", "for (int i = 0; i < n / 2; i++) k[i / 2] += i;"},
    {"", "for (unsigned i = 0; i < n - 1u; i++) k[i] += k[i + 1];"},
    {"", "for (short i = 0; i != n; i++) k[i] += i;"},
    {"", "for (unsigned char i = 10; i > 2; i -= 2) k[i] += i;"},
    {"double (*A)[9] = (double (*)[9])a;", "for (int i = 1; i < 8; i++) for (int j = 1; j < 8; "
                                           "j++) A[i][j] = A[i - 1][j] + A[i][j + 1];"},
    {"", "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i * m + j] = b[j * n + i];"},
    {"", "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[(i + 1) * n - 1 - j] += b[i * "
         "n + n - 1 - j];"},
    {"", "for (int i = 0; i < 5; i++) for (int j = 0; j < 7; j++) a[7 * i + j] = a[7 * i + 6 - j] "
         "+ b[i % 3];"},
    {"", "for (int i = 0; i < n; i++) { double t = 0; for (int j = 0; j < m; j++) t += b[i + j]; "
         "a[i] = t; }"},
    {"double t = 5;",
     "for (int i = 0; i < n; i++) { for (int j = 0; j < m; j++) t = b[j]; a[i] = t; }"},
    {"double t = 5;", "for (int i = 0; i < n; i++) { a[i] = t; t = b[i] + 1; }"},
    {"double t;", "for (int i = 0; i < n; i++) { if (b[i] > 0) t = b[i]; else t = -1; a[i] = t; }"},
    {"double t = 2;", "for (int i = 0; i < n; i++) { if (b[i] > 0) t = b[i]; a[i] = t; }"},
    {"", "for (int i = 0; i < n; i++) { if (a[i] > 0) { a[i] = -a[i]; b[i] = 1; } else { b[i] = 2; "
         "a[i] = 7; } }"},
    {"", "for (int i = 0; i < n; i++) if (i > 2 && i < m) a[i] = 1; else if (i == 1) a[i] = 2; "
         "else a[i] = 3;"},
    {"", "for (int i = 0; i < n; i++) if (i > 0 && a[i - 1] > 0) a[i] = 1; else b[i] = i > 3 ? a[i "
         "- 3] : a[0];"},
    {"", "for (int i = 0; i < n; i++) if (i != 3) a[i] = i; else a[i] = -1;"},
    {"", "for (int i = 0; i < n; i++) if (!(i < 3 || i > m)) a[i] = i;"},
    {"", "for (int i = 0; i < n; i++) { if (k[i] > k[40]) k[40] = k[i]; if (k[i] < k[41]) k[41] = "
         "k[i]; }"},
    {"", "for (int i = 0; i < n; i++) { if (a[i] > a[40]) a[40] = a[i]; a[41] = a[41] < a[i] ? "
         "a[41] : a[i]; }"},
    {"", "for (int i = 0; i < n; i++) { k[40] = k[40] >= k[i] ? k[40] : k[i]; k[41] = k[i] > k[41] "
         "? k[41] : k[i]; }"},
    {"", "for (int i = 0; i < n; i++) { k[i] <<= 2; k[i] %= 7; k[i] |= i; k[i]--; ++k[i]; }"},
    {"", "for (int i = 0; i < n; i++) { a[40] = a[40] - b[i]; a[41] = b[i] - a[41]; a[42] = b[i] * "
         "a[42]; a[43] = a[43] / 2; }"},
    {"", "for (int i = 0; i < n; i++) { k[i] = (short)(k[i] * 1000) + (unsigned char)k[i + 1] + "
         "(_Bool)k[i]; }"},
    {"",
     "for (int i = 0; i < n; i++) { k[i] += 1.7; a[i] += (float)1.1; a[i] = (float)a[i] * 0.3f; }"},
    {"", "for (int i = 0; i < n; i++) { unsigned h = k[i]; h = h * 2654435761u; h ^= h >> 13; k[i] "
         "= (int)(h & 1023); }"},
    {"", "for (int i = 0; i < n; i++) { int j = 2 * i + 1; k[j] = j * k[i]; }"},
    {"", "for (int i = 0; i < n; i++) { double t[3]; for (int j = 0; j < 3; j++) t[j] = b[i + j]; "
         "a[i] = t[0] * t[1] - t[2]; }"},
    {"", "for (int i = 0; i < n; i++) { const double *p = b + i * m; double *q = &a[i]; for (int j "
         "= 0; j < m; j++) *q += p[j]; }"},
    {"", "{ for (int i = 0; i < n; i++) a[i] = i; double t = 3; for (int i = 0; i < m; i++) b[i] = "
         "a[i] + t; }"},
    {"", "for (int i = 0; i < n; i++) k[i & 3] += i >> 1;"},
    {"", "for (int i = 0; 3 * i < n && i < m; i++) k[i] = 2 * i;"},
    {"", "for (int i = 0; i < n; i++) a[i] = a[i - 1] + a[i - 2];"},
    {"", "for (int i = 0; i < n; i++) k[i] = k[i] && a[i] || !b[i];"},
    {"", "for (int i = 3; i < 3; i++) a[i] = 1;"},
    {"", "for (int t = 0; t < 3; t++) { for (int i = 1; i < n; i++) b[i] = a[i - 1] + a[i + 1]; "
         "for (int i = 1; i < n; i++) a[i] = b[i]; }"},
    {"int i, j; double s;", "for (i = 0; i < n; i++) { for (j = i - 1; j >= 0; j--) { s = a[j] * "
                            "b[i]; k[j] += (int)s; } s = k[i]; a[i] = s; }"},
    {"",
     "for (int i = 0; i < n; i++) a[i] = sqrt(fabs(b[i])) + fmax(a[i], 0.5) - floor(b[i] / 3);"},
    {"", "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int q = 0; q < n; q++) a[(i "
         "* n + j) * n + q] += b[q * n + i];"},
    /* index scalars */
    {"int p;",
     "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { p = i * m + j; a[p] = b[p] "
     "* 2 + p; }"},
    {"int p, q;",
     "for (int i = 0; i < n; i++) { p = i * 2; for (int j = 0; j < m; j++) { q = p + j; "
     "a[q] += b[p]; } }"},
    {"int p = 0;", "for (int i = 0; i < n; i++) { a[p] += b[i]; p++; }"},
    {"int p = 0;",
     "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { a[p] = b[j] + p; p += "
     "1; }"},
    {"int p;",
     "for (int i = 0; i < n; i++) { p = i * m; for (int j = 0; j < m; j++) { a[p] = b[j]; "
     "p++; } }"},
    {"int p;", "{ p = 3; for (int i = 0; i < n; i++) { a[p] = b[i]; p += 2; } a[p] = 7; }"},
    {"int p;", "{ p = n; for (int i = 0; i < n; i++) a[--p] = b[i]; }"},
    {"int p = 0;", "for (int i = 0; i < n; i++) { a[p++] = b[i]; k[++p] = 5; }"},
    {"int p;", "{ p = n; for (int i = 0; i < n; i++) { p--; a[p] = b[i]; } }"},
    {"int p;", "{ p = 0; for (int i = 1; i < n; i++) { a[i] = b[p]; p = i; } }"},
    {"int p;",
     "for (int i = 0; i < n; i++) { p = 0; for (int j = 1; j < m; j++) { k[j] += k[p]; p = j; "
     "} }"},
    {"int i, j;", "for (i = 0; i < n; i++) { for (j = 0; j < m; j++) a[j] += b[i]; a[j] = 3; }"},
    {"int i, j;",
     "for (i = 0; i < n; i++) { for (j = i; j < i + 3; j++) a[j] += b[i]; b[j] = j; }"},
    {"int p;", "for (int i = 0; i < n; i++) { p = i; if (p > 4) p = 4; a[i] = b[p]; }"},
    {"int p;",
     "for (int i = 0; i < n; i++) { if (i < 3) p = i; else p = 2 * i - 3; a[p] = b[i] + p; }"},
    {"", "for (int i = 0; i < n; i++) { int l = i - 1, r = i + 1; if (l < 0) l = 0; if (r >= n) r "
         "= n - "
         "1; a[i] = b[l] + b[r]; }"},
    {"",
     "for (int i = 0; i < n; i++) { int l = i - 1 < 0 ? 0 : i - 1, r = i + 1 >= n ? n - 1 : i + 1; "
     "a[i] = b[l] - b[r]; }"},
    {"unsigned p = 0;", "for (int i = 0; i < n; i++) { a[p] += b[i]; p += 2; }"},
    {"long p; int q;", "for (int i = 0; i < n; i++) { p = 2L * i; q = p + 1; a[q] = b[p]; }"},
    {"int p;", "{ p = n - 1; for (int i = 0; i < n; i++) { a[i] = b[p]; p = i; } }"},
    {"int p, q;",
     "{ p = n - 1; for (int i = 0; i < n; i++) { q = i + 1; if (q == n) q = 0; a[i] = b[p] + b[q]; "
     "p = i; } }"},
    {"int p;", "for (int j = 0; j < m; j++) { p = 7; for (int i = 1; i < n; i++) { a[i] += b[p + "
               "j]; p = i + j; "
               "} }"},
    /* borders */
    {"", "for (int i = 0; i < n; i++) a[i] = b[i > 0 ? i - 1 : 0] + b[i < n - 1 ? i + 1 : n - 1];"},
    {"", "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i * m + j] = (j > 0 ? b[i * m "
         "+ j - "
         "1] : 0) + (i < n - 1 ? b[(i + 1) * m + j] : 0);"},
    {"",
     "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) if (i > 0 && j > 0) a[i * m + j] = "
     "b[(i - 1) * m + j - 1]; else a[i * m + j] = 0;"},
    {"", "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { double w = b[i * m + j]; if (j "
         "!= 0) "
         "w = b[i * m + j - 1]; a[i * m + j] = w; }"},
    {"", "for (int i = 0; i < n; i++) a[i] = b[(i + 1) % n] + b[(i + n - 1) % n];"},
    {"", "for (int i = 0; i < n; i++) { if (i == 0 || i == n - 1) continue; a[i] = b[i - 1] + b[i "
         "+ 1]; "
         "}"},
    {"", "for (int i = 0; i < n; i++) { if (b[i] > 0) continue; a[i] = 1; k[i] = 2; }"},
    {"", "for (int i = 0; i < n; i++) { if (b[i] > 0) { a[i] = 5; continue; } if (i < 2) continue; "
         "a[i - "
         "2] = 1; }"},
    {"", "for (int i = 0; i < n; i++) { if (b[i] > 0) a[i] = 4; else continue; k[i] = 3; }"},
    {"", "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { if (i < j) continue; a[i] += "
         "b[j]; }"},
    {"", "for (int i = 0; i < n; i++) { int r = i - 2, c = i - 1; if (r < 0 || c < 0 || r >= m || "
         "c >= n) "
         "a[i] = 0; else a[i] = b[r] + b[c]; }"},
    {"",
     "for (int i = 0; i < n; i++) { if (i > 1 & i < m) a[i] = 1; if (i == 3 | i == 5) b[i] = 2; }"},
    {"", "for (int i = 0; i < n; i++) { if (i % 3 != 1) a[i] = 1; else b[i] = 2; }"},
    {"", "for (int i = 0; i < n; i++) { if (m > 3) a[i] = 1; else a[i] = b[i]; }"},
    {"", "for (int i = 0; i < n; i++) { if (i > 2 && b[i] > 0) a[i] = b[i - 3]; else a[i] = 9; }"},
    {"", "for (int i = 0; i < n; i++) a[i] = i > 0 && b[i - 1] > 0 ? b[i - 1] : 1;"},
    /* strides that are sums */
    {"", "for (int i = 1; i <= n; i++) for (int j = 1; j <= m; j++) a[i * (m + 2) + j] = b[i * (m "
         "+ 2) + "
         "j - 1] + b[(i + 1) * (m + 2) + j];"},
    {"", "for (int j = 1; j <= n; j++) for (int i = 1; i <= n; i++) a[i + (n + 2) * j] = a[i - 1 + "
         "(n + 2) "
         "* j] + a[i + (n + 2) * (j - 1)];"},
    {"", "for (int q = 2; q <= m; q++) for (int j = 1; j <= n; j++) a[(n + 4) * (q - (2 - 2)) + j "
         "- (1 - "
         "2)] = 2 * b[(n + 4) * (q - (2 - 2)) + j - (1 - 2)];"},
    {"", "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) for (int q = 0; q < 3; q++) a[(i "
         "* (m + "
         "1) + j) * 3 + q] = b[q * (m + 1) + j];"},
    {"",
     "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i * (2 * m + 3) + 2 * j] = b[j];"},
    {"", "for (int i = 0; i < n; i++) a[i * (n + 1)] = b[i];"},
    {"",
     "for (int i = 2; i <= n; i++) for (int j = 1; j <= 3; j++) a[i * m + j] = b[i * m + j] * 2;"},
    {"", "for (int i = 0; i < 4; i++) for (int h = 0; h < 3; h++) for (int j = 0; j < m; j++) a[i "
         "* n + h * m + j] = b[j];"},
    /* calls */
    {"", "for (int i = 0; i < n; i++) a[i] = sq(b[i]) + clamp(b[i], -2, sq(1.5));"},
    {"", "for (int i = 0; i < n; i++) a[i] = sq(sq(b[i])) - local(b[i]);"},
    {"", "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) put(a, at(i, j, m), get(b, i, j, "
         "m));"},
    {"", "for (int i = 0; i < n; i++) a[i] = b[low(i - 2, 0)];"},
    {"", "for (int i = 0; i < n; i++) bump(&k[i], i > 2);"},
    {"", "for (int i = 0; i < n; i++) *row(a, i, m) = row(b, i, m)[1];"},
    {"", "for (int i = 0; i < n; i++) memcpy(a + i * 10, b + i * 10, 10 * sizeof(double));"},
    {"", "for (int i = 0; i < n; i++) { memset(a + i * 10, 0, sizeof(double) * 10); "
         "memset(&k[20 * i], 0, 20 * sizeof *k); }"},
    /* loads */
    {"", "for (int i = 0; i < k[3]; i++) a[i] = b[i] * 2;"},
    {"", "for (int i = 0; i < n; i++) for (int j = 0; j < *k; j++) a[i * 40 + j] = b[j];"},
    {"const int u = 3;",
     "for (int i = 0; i < n; i += u) for (int j = 0; j < u; j++) a[i + j] = b[i + j];"},
    {"", "for (int i = 0; i < n; i++) a[i] = b != 0 ? b[i] : 0;"},
    /* counting down */
    {"", "for (unsigned i = (unsigned)m; i-- > 0;) a[i] = a[i + 1] + b[i];"},
    {"", "for (int i = n; i-- > 2;) a[i] = a[i + 1] + b[i];"},
    {"", "for (int i = n; i-- >= 1;) a[i] += i;"},
    {"", "for (int i = m; i--;) a[i] += b[i];"},
    {"", "for (long i = m; i-- != 0;) k[i] = i;"},
    {"", "for (int i = 0; i < n; i++) for (int j = 0; j < 5; j++) a[i] += b[38 - i + j];"},
    {"", "for (int i = 4; i >= 1; i -= 2) for (int j = i / 2; j < m; j++) k[j] ^= k[i];"},
    {"", "for (int i = 0; i < n; i++) k[(4 * i + 7) / 2] += (6 * i + 5) / 3 - (2 * i + 9) / 2;"},
    {"", "for (int i = n; i >= 0; i -= 3) k[i / 3 + 1] += i % 3 + (i + 8) % 4;"},
    /* chains */
    {"", "for (int i = 0; i < n; i++) a[i] = k[i] = b[i] / 2;"},
    {"double s, t;", "for (int i = 0; i < n; i++) { s = t = b[i]; a[i] = s + t; }"},
    /* bodies of calls */
    {"",
     "for (int i = 0; i < n; i++) { rotate(&a[i], &b[i], 2, 3); rotate(&b[i], &a[i], 1, a[i]); }"},
    {"",
     "for (int i = 0; i < n; i++) a[i] = 2 * dot(b + i, a + i + 20, m) + dot(b, b + 3, m - 1);"},
    {"", "for (int i = 0; i < n; i++) { int q = step(k + i, i + 1); a[i] = q; k[i + 1] = step(k, "
         "k[i + 1]); }"},
    {"", "for (int i = 0; i < n; i++) { store_all(a + i * 10, m, b[i]); store_all(a + i * 10, m - "
         "1, b[i] + 1); }"},
    {"", "for (int i = 0; i < n; i++) a[i] = largest(k[i], k[i + 1], i);"},
    {"", "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { store_all(a + i * 40, j, j); "
         "a[i] += dot(a, b + j, j); }"},
    {"", "for (int i = 0; i < n; i++) if (dot(b, b + i, 3) > 20) a[i] = dot(a + i, b, 2); else "
         "a[i] = global(b[i]);"},
    {"", "for (int i = 0; i < n; i++) sort2(k + 2 * i, k + 2 * i + 1);"},
    {"", "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { int q = i * m + j; int w = j "
         "== 0 ? q : "
         "q - 1, e = j == m - 1 ? q : q + 1, u = i == 0 ? q : q - m, d = i == n - 1 ? q : q + m; "
         "a[q] = "
         "b[w] + 2 * b[e] + 3 * b[u] + 4 * b[d]; }"},
    /* switch */
    {"", "for (int i = 0; i < n; i++) switch (m) { case 3: a[i] = 1; break; case 6: a[i] = 2; "
         "default: b[i] = 3; }"},
    {"", "for (int i = 0; i < n; i++) { switch (k[i]) { case 1: case 2: a[i] = 1; break; case -3: "
         "a[i] = 2; k[i] = 1; case 4: b[i] = 5; break; } a[i] += 1; }"},
    {"", "for (int i = 0; i < n; i++) { switch (i % 3) { default: a[i] = 4; break; case 0: a[i] = "
         "b[i]; "
         "break; case 2: a[i] = 1; } }"},
    {"",
     "for (int i = 0; i < n; i++) { switch (k[i] & 3) { case 0: continue; case 1: a[i] = 2; break; "
     "case 2: { a[i] = 3; break; } } k[i] = 7; }"},
    {"", "for (int i = 0; i < n; i++) a[i] = choose(b[i], k[i] & 3) + choose(b[i], m);"},
    {"",
     "for (int i = 0; i < n; i++) switch (k[i]) { case 1: if (b[i] > 0) a[i] = 1; else a[i] = 2; "
     "break; default: for (int j = 0; j < m; j++) a[i] += b[j]; }"},
    /* values of earlier iterations */
    {"int p = 7;", "{ int q = 9; for (int i = 0; i < n; i++) { a[i] = b[i] + b[p] + b[q]; q = p; p "
                   "= i; } }"},
    {"",
     "{ int q = 9, p = 5, o = 3; for (int i = 2; i < n; i++) { a[i] = b[o] + b[p] + b[q]; o = q; "
     "q = p; p = i; } }"},
    {"", "{ int j = -1, q; for (int i = 0; i < n; i++) { q = j + 1; a[i] = b[q]; j = q + 1; b[q] = "
         "a[i]; } }"},
    {"", "{ int q = 4, p = 2; for (int i = 0; i < n; i++) { a[q] = b[p]; q = p; p += 2; } }"},
    /* loops in other forms */
    {"", "{ int i = 2; while (i < n) { a[i] = b[i] + 1; i++; } }"},
    {"", "for (int i = 0; i < n; i++) { int j = i; while (j < m) { a[j] += b[i]; j++; } k[m] = "
         "1; }"},
    {"", "{ int i = 0; do { a[i] = b[i] + i; i = i + 1; } while (i < n); }"},
    {"",
     "for (int i = 0; i < n; i++) { int j = 3; do { a[j] += i; --j; } while (j > 0); b[i] = j; }"},
    {"", "{ int i = n; while (i >= 1) { a[i] = i; i -= 1; } k[0] = i; }"},
    {"int j = 1;", "for (; j <= n; j++) a[j] = a[j - 1] + b[j];"},
    {"int j = 1;", "for (; j < n;) { a[j] = 2; j += 3; }"},
    {"", "for (int i = 0; i < n;) { if (b[i] > 0) a[i] = 2; else a[i] = 3; i++; }"},
    {"int t = 0;",
     "do { for (int i = 1; i < n; i++) a[i] = a[i - 1] + b[i]; t++; } while (t < m);"},
    {"int i, j;",
     "for (i = 0; i < n; i++) { j = 0; while (j < i && j < m) { a[i * 30 + j] = j; j++; } }"},
    {"", "{ int i = m; while (i--) a[i] += b[i]; }"},
    {"", "for (int i = 0; i < n; i++) { int j = i; while (j-- > 0) a[j] += b[i - j]; }"},
    /* jumps ahead */
    {"",
     "for (int i = 0; i < n; i++) { if (b[i] > 0) goto pos; a[i] = -1; goto done; pos: a[i] = 7; "
     "done: k[i] += a[i] > 0; }"},
    {"",
     "for (int i = 0; i < n; i++) { if (b[i] > 0) goto out; a[i] = -1; if (i > 3) goto out; b[i] "
     "= 2; out:; }"},
    {"",
     "for (int i = 0; i < n; i++) { if (i > 2) { if (b[i] > 0) continue; a[i] = 1; } b[i + 1] = "
     "2; }"},
    {"",
     "for (int i = 0; i < n; i++) { if (b[i] > 0) { if (i < m) { a[i] = 3; continue; } else a[i] "
     "= 4; } else if (i > m) continue; k[i] = 2; }"},
};
enum { N_CASES = sizeof cases / sizeof *cases };

typedef void case_fn(int n, int m, double *a, double *b, int *k);

typedef struct memory {
    double a[CELLS], b[CELLS];
    int k[CELLS];
} memory;

static void fill(memory *mem, unsigned seed) {
    for (int i = 0; i < CELLS; i++) {
        seed = seed * 1103515245u + 12345u;
        mem->a[i] = (int)(seed >> 16) % 17 - 8;
        mem->b[i] = (int)(seed >> 20) % 13 - 6;
        mem->k[i] = (int)(seed >> 18) % 29 - 5;
    }
}

/* Functions that the cases call; once in a file. */
static const char helpers[] =
    "#ifndef HELPERS\n#define HELPERS\n"
    "static inline double sq(double x) { return x * x; }\n"
    "static double clamp(double x, double lo, double hi) { return x < lo ? lo : x > hi ? hi : x; "
    "}\n"
    "static double local(double x) { double t = x + 1; if (t < 0) t = -t; t *= 2; if (t > 9) "
    "return 9; "
    "return t; }\n"
    "static inline int at(int i, int j, int m) { return i * m + j; }\n"
    "static inline double get(const double *p, int i, int j, int m) { return p[at(i, j, m)]; }\n"
    "static inline void put(double *p, int at, double x) { p[at] = x; }\n"
    "static inline int low(int x, int least) { if (x < least) return least; return x; }\n"
    "static inline void bump(int *p, int up) { if (up) (*p)++; else *p -= 2; }\n"
    "static inline double *row(double *p, int i, int m) { return p + i * m; }\n"
    "static void rotate(double *x, double *y, double c, double s) { double t = c * *x - s * *y; "
    "*y = s * *x + c * *y; *x = t; }\n"
    "static double dot(const double *p, const double *q, int n) { double s = 0; for (int i = 0; i "
    "< n; i++) s += p[i] * q[i]; if (s > 50) return 50; return s; }\n"
    "static int step(int *p, int by) { *p += by; if (*p > 5) return 1; by *= 2; return by; }\n"
    "static void store_all(double *p, int n, double v) { if (n < 3) return; for (int i = 0; i < n; "
    "i++) { if (i == 2) continue; p[i] = v; } }\n"
    "static int largest(int a, int b, int c) { int k; if (a <= b) k = b; else k = a; if (k <= c) "
    "return c; return k; }\n"
    "static void sort2(int *x, int *y) { if (*x > *y) { int t = *x; *x = *y; *y = t; } }\n"
    "static double choose(double x, int how) { switch (how) { case 0: return x; case 1: return x > "
    "0 ? x : 0; case 3: { double t = x * x; return t + 1; } } return -1; }\n"
    "static double global(double x) { double t[3]; for (int i = 0; i < 3; i++) t[i] = x + i; "
    "return t[0] * t[1] + t[2]; }\n"
    "#endif\n";

static char *source_of(int i) {
    ctune_text t;
    ctune_text_init(&t);
    ctune_text_printf(&t,
                      "#include <math.h>\n#include <string.h>\n%s\nvoid f%d(int n, int m, double "
                      "*a, double *b, int *k) { "
                      "(void)n; (void)m; (void)a; (void)b; (void)k; %s\n#pragma tune\n%s\n}\n",
                      helpers, i, cases[i].head, cases[i].body);
    return t.data;
}

static void *compile(const char *dir, const char *name, const char *text) {
    char path[200], command[600];
    snprintf(path, sizeof path, "%s/%s.c", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    snprintf(command, sizeof command,
             "gcc -O1 -ffp-contract=off -w -fwrapv -shared -fPIC -o %s/%s.so %s -lm", dir, name,
             path);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/%s.so", dir, name);
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(lib);
    return lib;
}

static void *storage_of(memory *mem, const ctune_tensor *t, size_t *bytes) {
    const char *base = t->base;
    long shift = 0;
    const char *minus = strstr(base, " - ");
    if (minus != NULL) {
        shift = -strtol(minus + 3, NULL, 10);
    }
    while (*base == '&' || *base == '(') {
        base++;
    }
    *bytes =
        (size_t)(CELLS - MIDDLE - shift) * (t->type == CTUNE_I32 ? sizeof(int) : sizeof(double));
    switch (*base) {
    case 'a':
    case 'A':
        return mem->a + MIDDLE + shift;
    case 'b':
        return mem->b + MIDDLE + shift;
    case 'k':
        return mem->k + MIDDLE + shift;
    default:
        return NULL;
    }
}

static bool assumes_hold(const ctune_region *r, const int64_t *params) {
    for (int i = 0; i < r->n_assumes; i++) {
        if (ctune_aff_eval(r, r->assumes[i].aff, NULL, params) < 0) {
            return false;
        }
    }
    return true;
}

/* Value of "((long)n * m)" and the like: the parameters that stand for expressions. */
static int64_t param_value(int i_case, const char *text, int n, int m, const memory *mem) {
    if (text[0] == 'k' && text[1] == '[') {
        return mem->k[MIDDLE + strtol(text + 2, NULL, 10)];
    }
    if (strchr(text, '!') != NULL) {
        return 1;
    }
    if (strcmp(text, "p") == 0) { /* a scalar's value before the region */
        const char *value = strchr(cases[i_case].head, '=');
        return value != NULL ? strtol(value + 1, NULL, 0) : 0;
    }
    return strcmp(text, "n") == 0      ? n
           : strcmp(text, "m") == 0    ? m
           : strstr(text, "?") != NULL ? (n > m ? n : m)
           : strstr(text, "*") != NULL ? (int64_t)n * m
                                       : -1;
}

static int compare_case(int i, const ctune_region *r, case_fn *fn, int n, int m) {
    static memory want, got;
    fill(&want, (unsigned)(i * 100 + n * 10 + m));
    got = want;
    int64_t params[16];
    void *tensors[64];
    size_t bytes[64];
    double cell[64];
    for (int p = 0; p < r->n_params; p++) {
        params[p] = param_value(i, r->params[p].c_text, n, m, &got);
    }
    if (!assumes_hold(r, params)) {
        return 0;
    }
    for (int t = 0; t < r->n_tensors; t++) {
        tensors[t] = NULL;
        bytes[t] = 0;
        if (!r->tensors[t].is_temp && !r->tensors[t].is_scalar_var) {
            tensors[t] = storage_of(&got, &r->tensors[t], &bytes[t]);
        } else if (!r->tensors[t].is_temp) { /* a carried scalar: its value before the region */
            const char *value = strchr(cases[i].head, '=');
            cell[t] = value != NULL ? strtod(value + 1, NULL) : 0;
            tensors[t] = &cell[t];
            bytes[t] = sizeof cell[t];
        }
    }
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    fn(n, m, want.a + MIDDLE, want.b + MIDDLE, want.k + MIDDLE);
    ctune_status status = ctune_te_eval(&ctx, r, CTUNE_PRODUCTS_ROUNDED, params, tensors, bytes);
    if (status != CTUNE_OK || memcmp(&want, &got, sizeof want) != 0) {
        print_error("case %d, n=%d m=%d: %s %s\n%s\n", i, n, m, ctune_status_name(status),
                    status != CTUNE_OK ? ctx.error : "results differ", cases[i].body);
        return -1;
    }
    return 1;
}

static void test_run(void **state) {
    (void)state;
    char dir[] = "/tmp/extract-XXXXXX";
    assert_non_null(mkdtemp(dir));
    ctune_text all;
    ctune_text_init(&all);
    for (int i = 0; i < N_CASES; i++) {
        char *source = source_of(i);
        ctune_text_append(&all, source);
        free(source);
    }
    void *lib = compile(dir, "cases", ctune_text_get(&all));
    ctune_text_clear(&all);
    int n_bad = 0;
    for (int i = 0; i < N_CASES; i++) {
        char *source = source_of(i), name[20];
        ctune_ctx ctx;
        ctune_ctx_init(&ctx);
        ctune_text diags;
        ctune_text_init(&diags);
        ctx.sink = answer_diag;
        ctx.sink_user = &diags;
        ctune_unit *unit = NULL;
        snprintf(name, sizeof name, "f%d", i);
        case_fn *fn = NULL;
        *(void **)&fn = dlsym(lib, name);
        ctune_status status = ctune_extract(&ctx, "case.c", source, 0, NULL, &unit);
        if (status != CTUNE_OK || unit->n_regions != 1 || unit->regions[0].region == NULL) {
            print_error("case %d: %s\n%s%s\n", i, ctx.error, ctune_text_get(&diags), cases[i].body);
            n_bad++;
        } else {
            int n_run = 0;
            for (int n = -1; n <= 9; n++) {
                for (int m = 0; m <= 9; m += 3) {
                    int ran = compare_case(i, unit->regions[0].region, fn, n, m);
                    n_bad += ran < 0;
                    n_run += ran > 0;
                }
            }
            if (n_run == 0) {
                print_error("case %d never runs: its facts exclude all sizes\n%s\n", i,
                            cases[i].body);
                n_bad++;
            }
        }
        ctune_unit_destroy(unit);
        ctune_text_clear(&diags);
        free(source);
    }
    dlclose(lib);
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", dir);
    assert_int_equal(system(command), 0);
    assert_int_equal(n_bad, 0);
}

/* ---- final values ---------------------------------------------------------------------------- */

static const char *const counters[] = {
    "for (i = 0; i < n; i++) x[0]++;",
    "for (i = 3; i <= n; i += 2) x[0]++;",
    "for (i = n; i > 0; i--) x[0]++;",
    "for (i = n; i >= -1; i -= 4) x[0]++;",
    "for (i = 0; i < n; i++) for (j = i; j < m; j += 3) x[0]++;",
    "for (i = 0; i < n; i++) { for (j = 0; j < i; j++) x[0]++; for (j = m; j > i; j--) x[0]++; }",
    "{ for (i = 0; i < n; i++) x[0]++; for (i = 5; i < m; i++) x[0]++; }",
    "for (i = n > m ? n : m; i < 8; i++) x[0]++;",
    "for (i = 0; i < (n < m ? n : m); i++) for (j = n; j >= m; j--) x[0]++;",
    "for (i = 0; 3 * i < n && i < m; i++) x[0]++;",
    "for (i = n; i-- > 0;) x[0]++;",
    "for (i = 9; i-- >= n;) x[0]++;",
    /* index scalars */
    "for (int q = 0; q < n; q++) { x[i / 1000] += 1; i++; }",
    "for (int q = 0; q < 3; q++) { i = q * 2; x[i / 8] = 1; }",
    "for (int q = 0; q < n; q++) for (int r = 0; r < m; r++) { i += 2; x[i - i] += 1; }",
    "for (int q = 0; q < n; q++) for (int r = 0; r < m; r++) { j = q * m + r; x[j - j] = 1; }",
    "{ i = j; j = i + 1; for (int q = 0; q < 2; q++) x[j / 1000] = x[i / 1000]; }",
    "{ i = 0; for (int q = 1; q < n; q++) { x[i / 1000]++; i = q; } }",
    /* other loops */
    "{ i = 2; while (i < n) { x[0]++; i += 3; } }",
    "{ i = 2; do { x[0]++; i += 3; } while (i < n); }",
    "{ for (i = 0; i < m; i++) { j = i; while (j < n) { x[0]++; j++; } } }",
    "while (i < n) { x[0]++; i++; }",
    "for (; j > n; j--) x[0]++;",
    "while (i-- > n) x[0]++;",
    "{ j = m; while (j--) x[0]++; }",
};
enum { N_COUNTERS = sizeof counters / sizeof *counters };

/* Do the facts hold, so that the epilogue runs? */
static bool epilogue_counts(const ctune_region *r, int n, int m) {
    int64_t params[16];
    for (int p = 0; p < r->n_params; p++) {
        const char *text = r->params[p].c_text;
        params[p] = strcmp(text, "i") == 0   ? 77
                    : strcmp(text, "j") == 0 ? 55
                                             : param_value(0, text, n, m, NULL);
    }
    return assumes_hold(r, params);
}

static void test_finals(void **state) {
    (void)state;
    char dir[] = "/tmp/extract-XXXXXX";
    assert_non_null(mkdtemp(dir));
    ctune_text all;
    ctune_text_init(&all);
    ctune_unit *units[N_COUNTERS];
    for (int c = 0; c < N_COUNTERS; c++) {
        ctune_text one;
        ctune_text_init(&one);
        ctune_text_printf(&one,
                          "int g%d(int n, int m, int *x) { int i = 77, j = 55;\n#pragma "
                          "tune\n%s\nreturn i * 1000 + j; }\n",
                          c, counters[c]);
        ctune_ctx ctx;
        ctune_ctx_init(&ctx);
        ctune_unit *unit = NULL;
        assert_int_equal(ctune_extract(&ctx, "case.c", ctune_text_get(&one), 0, NULL, &unit),
                         CTUNE_OK);
        assert_int_equal(unit->n_regions, 1);
        assert_non_null(unit->regions[0].region);
        assert_non_null(unit->regions[0].region->epilogue);
        ctune_text_append(&all, ctune_text_get(&one));
        ctune_text_printf(
            &all,
            "int h%d(int n, int m, int *x) { int i = 77, j = 55;\n%s\nreturn i * 1000 + j; }\n", c,
            unit->regions[0].region->epilogue);
        units[c] = unit;
        ctune_text_clear(&one);
    }
    void *lib = compile(dir, "counters", ctune_text_get(&all));
    ctune_text_clear(&all);
    for (int c = 0; c < N_COUNTERS; c++) {
        int (*want)(int, int, int *) = NULL, (*got)(int, int, int *) = NULL;
        char name[20];
        snprintf(name, sizeof name, "g%d", c);
        *(void **)&want = dlsym(lib, name);
        name[0] = 'h';
        *(void **)&got = dlsym(lib, name);
        int n_run = 0;
        for (int n = -4; n <= 9; n++) {
            for (int m = -4; m <= 9; m++) {
                int x[4] = {0};
                if (!epilogue_counts(units[c]->regions[0].region, n, m)) {
                    continue;
                }
                n_run++;
                if (want(n, m, x) != got(n, m, x)) {
                    print_error("n=%d m=%d: %d, not %d: %s\n", n, m, got(n, m, x), want(n, m, x),
                                counters[c]);
                }
                assert_int_equal(want(n, m, x), got(n, m, x));
            }
        }
        assert_true(n_run > 0);
        ctune_unit_destroy(units[c]);
    }
    dlclose(lib);
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", dir);
    assert_int_equal(system(command), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_run), cmocka_unit_test(test_finals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
