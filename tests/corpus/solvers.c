/* Structured-grid solvers: stencil sweeps over 3- and 4-dimensional arrays with bounds in a global
 * array, 5x5 block systems, red-black relaxation, prolongation, transposes. */
#include <math.h>

#define NX 66
static int grid_points[3] = {64, 64, 64};
static double u[NX][NX][NX][5], rhs[NX][NX][NX][5], forcing[NX][NX][NX][5];
static double us[NX][NX][NX], vs[NX][NX][NX], qs[NX][NX][NX], rho_i[NX][NX][NX], speed[NX][NX][NX];
static double lhs[NX][3][5][5], fjac[NX][5][5], njac[NX][5][5];
static double cv[NX], rhon[NX], dx1tx1, tx1, tx2, con43, c1, c2, c3c4, dssp, dt;

void reciprocal(void) {
    int i, j, k;
    double rho_inv, aux;
#pragma tune name(solver_reciprocal)
    for (k = 0; k <= grid_points[2] - 1; k++) {
        for (j = 0; j <= grid_points[1] - 1; j++) {
            for (i = 0; i <= grid_points[0] - 1; i++) {
                rho_inv = 1.0 / u[k][j][i][0];
                rho_i[k][j][i] = rho_inv;
                us[k][j][i] = u[k][j][i][1] * rho_inv;
                vs[k][j][i] = u[k][j][i][2] * rho_inv;
                qs[k][j][i] =
                    0.5 * (u[k][j][i][1] * u[k][j][i][1] + u[k][j][i][2] * u[k][j][i][2]) * rho_inv;
                aux = c1 * c2 * rho_inv * (u[k][j][i][4] - qs[k][j][i]);
                speed[k][j][i] = sqrt(aux);
            }
        }
    }
}

void xi_flux(void) {
    int i, j, k, m;
    double uijk, up1, um1;
#pragma tune name(solver_flux)
    for (k = 1; k <= grid_points[2] - 2; k++) {
        for (j = 1; j <= grid_points[1] - 2; j++) {
            for (i = 1; i <= grid_points[0] - 2; i++) {
                uijk = us[k][j][i];
                up1 = us[k][j][i + 1];
                um1 = us[k][j][i - 1];
                rhs[k][j][i][0] =
                    rhs[k][j][i][0] +
                    dx1tx1 * (u[k][j][i + 1][0] - 2.0 * u[k][j][i][0] + u[k][j][i - 1][0]) -
                    tx2 * (u[k][j][i + 1][1] - u[k][j][i - 1][1]);
                rhs[k][j][i][1] = rhs[k][j][i][1] + con43 * (up1 - 2.0 * uijk + um1);
            }
        }
        for (j = 1; j <= grid_points[1] - 2; j++) {
            i = 1;
            for (m = 0; m < 5; m++) {
                rhs[k][j][i][m] =
                    rhs[k][j][i][m] -
                    dssp * (5.0 * u[k][j][i][m] - 4.0 * u[k][j][i + 1][m] + u[k][j][i + 2][m]);
            }
            i = 2;
            for (m = 0; m < 5; m++) {
                rhs[k][j][i][m] =
                    rhs[k][j][i][m] - dssp * (-4.0 * u[k][j][i - 1][m] + 6.0 * u[k][j][i][m] -
                                              4.0 * u[k][j][i + 1][m] + u[k][j][i + 2][m]);
            }
            for (i = 3; i <= grid_points[0] - 4; i++) {
                for (m = 0; m < 5; m++) {
                    rhs[k][j][i][m] =
                        rhs[k][j][i][m] -
                        dssp * (u[k][j][i - 2][m] - 4.0 * u[k][j][i - 1][m] + 6.0 * u[k][j][i][m] -
                                4.0 * u[k][j][i + 1][m] + u[k][j][i + 2][m]);
                }
            }
        }
    }
}

void scale(void) {
    int i, j, k, m;
#pragma tune name(solver_scale)
    for (k = 1; k <= grid_points[2] - 2; k++)
        for (j = 1; j <= grid_points[1] - 2; j++)
            for (i = 1; i <= grid_points[0] - 2; i++)
                for (m = 0; m < 5; m++)
                    rhs[k][j][i][m] = rhs[k][j][i][m] * dt;
}

void jacobians(int j, int k, int isize) {
    int i;
    double tmp1, tmp2;
#pragma tune name(solver_jacobian)
    for (i = 0; i <= isize; i++) {
        tmp1 = rho_i[k][j][i];
        tmp2 = tmp1 * tmp1;
        fjac[i][0][0] = 0.0;
        fjac[i][1][0] = 1.0;
        fjac[i][0][1] = -(u[k][j][i][1] * tmp2 * u[k][j][i][1]) + c2 * qs[k][j][i];
        fjac[i][1][1] = (2.0 - c2) * (u[k][j][i][1] / u[k][j][i][0]);
        njac[i][0][1] = -con43 * c3c4 * tmp2 * u[k][j][i][1];
        njac[i][1][1] = con43 * c3c4 * tmp1;
    }
}

static void matvec_sub(double ablock[5][5], double avec[5], double bvec[5]) {
    int i;
    for (i = 0; i < 5; i++) {
        bvec[i] = bvec[i] - ablock[0][i] * avec[0] - ablock[1][i] * avec[1] -
                  ablock[2][i] * avec[2] - ablock[3][i] * avec[3] - ablock[4][i] * avec[4];
    }
}

void forward_blocks(int j, int k, int isize) {
#pragma tune name(solver_block_calls)
    for (int i = 1; i <= isize - 1; i++) {
        matvec_sub(lhs[i][0], rhs[k][j][i - 1], rhs[k][j][i]);
    }
}

void back_substitute(int j, int k, int isize) {
    int i, m, n;
#pragma tune name(solver_back_blocks)
    for (i = isize - 1; i >= 0; i--) {
        for (m = 0; m < 5; m++) {
            for (n = 0; n < 5; n++) {
                rhs[k][j][i][m] = rhs[k][j][i][m] - lhs[i][2][n][m] * rhs[k][j][i + 1][n];
            }
        }
    }
}

void penta_forward(int nz) {
    int i, j, k, m, i1, i2;
    double fac1;
#pragma tune name(solver_penta)
    for (k = 1; k <= nz; k++) {
        for (j = 1; j <= grid_points[1] - 2; j++) {
            for (i = 0; i <= grid_points[0] - 3; i++) {
                i1 = i + 1;
                i2 = i + 2;
                fac1 = 1.0 / us[k][j][i];
                vs[k][j][i] = fac1 * vs[k][j][i];
                for (m = 0; m < 3; m++)
                    rhs[k][j][i][m] = fac1 * rhs[k][j][i][m];
                us[k][j][i1] = us[k][j][i1] - qs[k][j][i1] * vs[k][j][i];
                for (m = 0; m < 3; m++)
                    rhs[k][j][i1][m] = rhs[k][j][i1][m] - qs[k][j][i1] * rhs[k][j][i][m];
                for (m = 0; m < 3; m++)
                    rhs[k][j][i2][m] = rhs[k][j][i2][m] - speed[k][j][i2] * rhs[k][j][i][m];
            }
        }
    }
}

void line_coefficients(int j, int k) {
    int i;
    double ru1;
#pragma tune name(solver_line_max)
    for (i = 0; i <= grid_points[0] - 1; i++) {
        ru1 = c3c4 * rho_i[k][j][i];
        cv[i] = us[k][j][i];
        rhon[i] = fmax(fmax(dx1tx1 + con43 * ru1, tx1 + c1 * ru1), fmax(tx2 + ru1, dx1tx1));
    }
}

double residual_norm(void) {
    double rms[5] = {0, 0, 0, 0, 0}, add;
    int i, j, k, m;
#pragma tune name(solver_norm)
    for (k = 1; k <= grid_points[2] - 2; k++)
        for (j = 1; j <= grid_points[1] - 2; j++)
            for (i = 1; i <= grid_points[0] - 2; i++)
                for (m = 0; m < 5; m++) {
                    add = rhs[k][j][i][m];
                    rms[m] = rms[m] + add * add;
                }
    return rms[0] + rms[1] + rms[2] + rms[3] + rms[4];
}

void exact(double xi, double eta, double zeta, double d[5]);
void initialise_cells(void) {
    int i, j, k, m;
    double temp[5];
#pragma tune name(solver_exact_call)
    for (k = 0; k < grid_points[2]; k++)
        for (j = 0; j < grid_points[1]; j++)
            for (i = 0; i < grid_points[0]; i++) {
                exact(i * 0.1, j * 0.1, k * 0.1, temp);
                for (m = 0; m < 5; m++)
                    u[k][j][i][m] = temp[m];
            }
}

/* multigrid: residual with line buffers, restriction by 2, prolongation */
void mg_resid(const double *ou, const double *ov, double * or, int n1, int n2, int n3,
              const double a[4]) {
    double(*uu)[n2][n1] = (double(*)[n2][n1])ou;
    double(*vv)[n2][n1] = (double(*)[n2][n1])ov;
    double(*rr)[n2][n1] = (double(*)[n2][n1]) or ;
    int i3, i2, i1;
    double l1[130], l2[130];
#pragma tune name(mg_resid)
    for (i3 = 1; i3 < n3 - 1; i3++) {
        for (i2 = 1; i2 < n2 - 1; i2++) {
            for (i1 = 0; i1 < n1; i1++) {
                l1[i1] = uu[i3][i2 - 1][i1] + uu[i3][i2 + 1][i1] + uu[i3 - 1][i2][i1] +
                         uu[i3 + 1][i2][i1];
                l2[i1] = uu[i3 - 1][i2 - 1][i1] + uu[i3 - 1][i2 + 1][i1] + uu[i3 + 1][i2 - 1][i1] +
                         uu[i3 + 1][i2 + 1][i1];
            }
            for (i1 = 1; i1 < n1 - 1; i1++) {
                rr[i3][i2][i1] = vv[i3][i2][i1] - a[0] * uu[i3][i2][i1] -
                                 a[2] * (l2[i1] + l1[i1 - 1] + l1[i1 + 1]) -
                                 a[3] * (l2[i1 - 1] + l2[i1 + 1]);
            }
        }
    }
}

void mg_restrict(int m1k, int m2k, int m3k, const double * or, double *os, int m1j, int m2j,
                 int m3j) {
    double(*r)[m2k][m1k] = (double(*)[m2k][m1k]) or ;
    double(*s)[m2j][m1j] = (double(*)[m2j][m1j])os;
    int j3, j2, j1, i3, i2, i1, d1, d2, d3;
    d1 = m1k == 3 ? 2 : 1;
    d2 = m2k == 3 ? 2 : 1;
    d3 = m3k == 3 ? 2 : 1;
#pragma tune name(mg_restrict) sizes(m1k=66, m2k=66, m1j=34, m2j=34, m3j=34, d1=1, d2=1, d3=1)
    for (j3 = 1; j3 < m3j - 1; j3++) {
        i3 = 2 * j3 - d3;
        for (j2 = 1; j2 < m2j - 1; j2++) {
            i2 = 2 * j2 - d2;
            for (j1 = 1; j1 < m1j - 1; j1++) {
                i1 = 2 * j1 - d1;
                s[j3][j2][j1] = 0.5 * r[i3 + 1][i2 + 1][i1 + 1] +
                                0.25 * (r[i3 + 1][i2 + 1][i1] + r[i3 + 1][i2 + 1][i1 + 2] +
                                        r[i3 + 1][i2][i1 + 1]);
            }
        }
    }
}

void mg_interp(int mm1, int mm2, int mm3, const double *oz, double *ou, int n1, int n2) {
    double(*z)[mm2][mm1] = (double(*)[mm2][mm1])oz;
    double(*w)[n2][n1] = (double(*)[n2][n1])ou;
    int i3, i2, i1;
    double z1[130], z2[130];
#pragma tune name(mg_interp) sizes(mm1 = 34, mm2 = 34, mm3 = 34, n1 = 66, n2 = 66)
    for (i3 = 0; i3 < mm3 - 1; i3++) {
        for (i2 = 0; i2 < mm2 - 1; i2++) {
            for (i1 = 0; i1 < mm1; i1++) {
                z1[i1] = z[i3][i2 + 1][i1] + z[i3][i2][i1];
                z2[i1] = z[i3 + 1][i2][i1] + z[i3][i2][i1];
            }
            for (i1 = 0; i1 < mm1 - 1; i1++) {
                w[2 * i3][2 * i2][2 * i1] = w[2 * i3][2 * i2][2 * i1] + z[i3][i2][i1];
                w[2 * i3][2 * i2][2 * i1 + 1] =
                    w[2 * i3][2 * i2][2 * i1 + 1] + 0.5 * (z[i3][i2][i1 + 1] + z[i3][i2][i1]);
            }
            for (i1 = 0; i1 < mm1 - 1; i1++) {
                w[2 * i3][2 * i2 + 1][2 * i1] = w[2 * i3][2 * i2 + 1][2 * i1] + 0.5 * z1[i1];
                w[2 * i3][2 * i2 + 1][2 * i1 + 1] =
                    w[2 * i3][2 * i2 + 1][2 * i1 + 1] + 0.25 * (z1[i1] + z1[i1 + 1]);
            }
        }
    }
}

void periodic_faces(double *ou, int n1, int n2, int n3) {
    double(*w)[n2][n1] = (double(*)[n2][n1])ou;
#pragma tune name(mg_faces)
    for (int i3 = 1; i3 < n3 - 1; i3++) {
        for (int i2 = 1; i2 < n2 - 1; i2++) {
            w[i3][i2][n1 - 1] = w[i3][i2][1];
            w[i3][i2][0] = w[i3][i2][n1 - 2];
        }
        for (int i1 = 0; i1 < n1; i1++) {
            w[i3][n2 - 1][i1] = w[i3][1][i1];
            w[i3][0][i1] = w[i3][n2 - 2][i1];
        }
    }
}

/* symmetric successive over-relaxation: lower sweep with data-dependent small system */
void ssor_lower(int ldmx, int ldmy, int nx, int ny, int k, double omega,
                double v[][ldmy / 2 * 2 + 1][ldmx / 2 * 2 + 1][5],
                double ldz[ldmy][ldmx / 2 * 2 + 1][5][5]) {
    int i, j, m;
#pragma tune name(ssor_lower) sizes(ldmx = 64, ldmy = 64, nx = 62, ny = 62, k = 3)
    for (j = 1; j < ny; j++) {
        for (i = 1; i < nx; i++) {
            for (m = 0; m < 5; m++) {
                v[k][j][i][m] = v[k][j][i][m] - omega * (ldz[j][i][0][m] * v[k - 1][j][i][0] +
                                                         ldz[j][i][1][m] * v[k - 1][j][i][1] +
                                                         ldz[j][i][2][m] * v[k - 1][j][i][2]);
            }
        }
    }
}
