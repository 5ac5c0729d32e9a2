/* Lagrangian-Eulerian hydrodynamics on flattened fields whose pitch is x_max + 4 or + 5, with
 * macros for the subscripts: ideal gas, time step, face fluxes, advection, halo exchange. */
#include <math.h>

#define F2(x_min, x_max, y_min, a, x, y)                                                           \
    a[((x) - ((x_min) - 2)) + (((x_max) + 4) * ((y) - ((y_min) - 2)))]
#define G2(x_min, x_max, y_min, a, x, y)                                                           \
    a[((x) - ((x_min) - 2)) + (((x_max) + 5) * ((y) - ((y_min) - 2)))]
#define AT(a, x, y) a[((x) - (x_min - 2)) + (x_max + 4) * ((y) - (y_min - 2))]
#define AT5(a, x, y) a[((x) - (x_min - 2)) + (x_max + 5) * ((y) - (y_min - 2))]
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define SIGN(a, b) ((b) < 0 ? -fabs(a) : fabs(a))

void ideal_gas(int *xmin, int *xmax, int *ymin, int *ymax, const double *density,
               const double *energy, double *pressure, double *soundspeed) {
    int x_min = *xmin, x_max = *xmax, y_min = *ymin, y_max = *ymax;
#pragma tune name(hydro_gas)
    for (int k = y_min; k <= y_max; k++) {
        for (int j = x_min; j <= x_max; j++) {
            double v = 1.0 / F2(x_min, x_max, y_min, density, j, k);
            F2(x_min, x_max, y_min, pressure, j, k) = (1.4 - 1.0) *
                                                      F2(x_min, x_max, y_min, density, j, k) *
                                                      F2(x_min, x_max, y_min, energy, j, k);
            double pe = (1.4 - 1.0) * F2(x_min, x_max, y_min, density, j, k);
            double pv =
                -F2(x_min, x_max, y_min, density, j, k) * F2(x_min, x_max, y_min, pressure, j, k);
            double ss = v * v * (F2(x_min, x_max, y_min, pressure, j, k) * pe - pv);
            F2(x_min, x_max, y_min, soundspeed, j, k) = sqrt(ss);
        }
    }
}

void viscosity(int x_min, int x_max, int y_min, int y_max, const double *celldx,
               const double *celldy, const double *density, const double *pressure, double *visc,
               const double *xvel, const double *yvel) {
#pragma tune name(hydro_viscosity)
    for (int k = y_min; k <= y_max; k++) {
        for (int j = x_min; j <= x_max; j++) {
            double ugrad = (AT5(xvel, j + 1, k) + AT5(xvel, j + 1, k + 1)) -
                           (AT5(xvel, j, k) + AT5(xvel, j, k + 1));
            double vgrad = (AT5(yvel, j, k + 1) + AT5(yvel, j + 1, k + 1)) -
                           (AT5(yvel, j, k) + AT5(yvel, j + 1, k));
            double div = celldx[j - (x_min - 2)] * ugrad + celldy[k - (y_min - 2)] * vgrad;
            double pgradx = (AT(pressure, j + 1, k) - AT(pressure, j - 1, k)) /
                            (celldx[j - (x_min - 2)] + celldx[j + 1 - (x_min - 2)]);
            double pgrady = (AT(pressure, j, k + 1) - AT(pressure, j, k - 1)) /
                            (celldy[k - (y_min - 2)] + celldy[k + 1 - (y_min - 2)]);
            double limiter = (0.5 * ugrad * pgradx * pgradx + 0.5 * vgrad * pgrady * pgrady) /
                             MAX(pgradx * pgradx + pgrady * pgrady, 1e-16);
            if (limiter > 0.0 || div >= 0.0) {
                AT(visc, j, k) = 0.0;
            } else {
                pgradx = SIGN(MAX(1e-16, fabs(pgradx)), pgradx);
                pgrady = SIGN(MAX(1e-16, fabs(pgrady)), pgrady);
                double pgrad = sqrt(pgradx * pgradx + pgrady * pgrady);
                double xgrad = fabs(celldx[j - (x_min - 2)] * pgrad / pgradx);
                double ygrad = fabs(celldy[k - (y_min - 2)] * pgrad / pgrady);
                double grad = MIN(xgrad, ygrad);
                AT(visc, j, k) = 2.0 * AT(density, j, k) * grad * grad * limiter * limiter;
            }
        }
    }
}

double calc_dt(int x_min, int x_max, int y_min, int y_max, double dtmin, const double *cellx,
               const double *soundspeed, const double *viscosity, const double *density,
               const double *xvel) {
    double dt_min = 1e21;
#pragma tune name(hydro_dt)
    for (int k = y_min; k <= y_max; k++) {
        for (int j = x_min; j <= x_max; j++) {
            double cc = AT(soundspeed, j, k) * AT(soundspeed, j, k);
            cc = cc + 2.0 * AT(viscosity, j, k) / AT(density, j, k);
            cc = MAX(sqrt(cc), 1e-16);
            double dtct = 0.7 * MIN(cellx[j - (x_min - 2)], 1.0) / cc;
            double dv = AT5(xvel, j, k) + AT5(xvel, j, k + 1);
            double dtut = 0.5 * 2.0 / MAX(fabs(dv), 1e-5);
            dt_min = MIN(dt_min, MIN(dtct, dtut));
        }
    }
    return dt_min < dtmin ? dtmin : dt_min;
}

void flux_calc(int x_min, int x_max, int y_min, int y_max, double dt, const double *xarea,
               const double *xvel0, const double *xvel1, double *vol_flux_x) {
#pragma tune name(hydro_flux)
    for (int k = y_min; k <= y_max; k++) {
        for (int j = x_min; j <= x_max + 1; j++) {
            AT5(vol_flux_x, j, k) =
                0.25 * dt * AT5(xarea, j, k) *
                (AT5(xvel0, j, k) + AT5(xvel0, j, k + 1) + AT5(xvel1, j, k) + AT5(xvel1, j, k + 1));
        }
    }
}

/* upwind and donor cells are chosen by the sign of the flux */
void advec_cell(int x_min, int x_max, int y_min, int y_max, const double *vol_flux,
                const double *density, const double *vertexdx, const double *pre_vol,
                double *mass_flux) {
#pragma tune name(hydro_advec)
    for (int k = y_min; k <= y_max; k++) {
        for (int j = x_min; j <= x_max + 2; j++) {
            int upwind, donor, downwind, dif;
            if (AT5(vol_flux, j, k) > 0.0) {
                upwind = j - 2;
                donor = j - 1;
                downwind = j;
                dif = donor;
            } else {
                upwind = MIN(j + 1, x_max + 2);
                donor = j;
                downwind = j - 1;
                dif = upwind;
            }
            double sigmat = fabs(AT5(vol_flux, j, k) / AT5(pre_vol, donor, k));
            double diffuw = AT(density, donor, k) - AT(density, upwind, k);
            double diffdw = AT(density, downwind, k) - AT(density, donor, k);
            double limiter =
                diffuw * diffdw > 0.0
                    ? MIN(fabs(diffuw), fabs(diffdw)) * (2.0 - sigmat) * vertexdx[dif - (x_min - 2)]
                    : 0.0;
            AT5(mass_flux, j, k) = AT5(vol_flux, j, k) * (AT(density, donor, k) + limiter);
        }
    }
}

void accelerate(int x_min, int x_max, int y_min, int y_max, double halfdt, const double *density0,
                const double *volume, const double *pressure, const double *xarea,
                const double *xvel0, double *xvel1) {
#pragma tune name(hydro_accelerate)
    for (int k = y_min; k <= y_max + 1; k++) {
        for (int j = x_min; j <= x_max + 1; j++) {
            double nodal_mass = (AT(density0, j - 1, k - 1) * AT(volume, j - 1, k - 1) +
                                 AT(density0, j, k - 1) * AT(volume, j, k - 1) +
                                 AT(density0, j, k) * AT(volume, j, k)) *
                                0.25;
            double step = halfdt / nodal_mass;
            AT5(xvel1, j, k) =
                AT5(xvel0, j, k) -
                step * (AT5(xarea, j, k) * (AT(pressure, j, k) - AT(pressure, j - 1, k)));
        }
    }
}

void halo_left(int x_min, int x_max, int y_min, int y_max, int depth, double *density) {
#pragma tune name(hydro_halo) sizes(depth = 2)
    for (int k = y_min - depth; k <= y_max + depth; k++) {
        for (int j = 0; j < depth; j++) {
            AT(density, x_min - j - 1, k) = AT(density, x_min + j, k);
        }
    }
}

void pack_left(int x_min, int x_max, int y_min, int y_max, int depth, int offset,
               const double *field, double *buffer) {
#pragma tune name(hydro_pack) sizes(depth = 2, offset = 0)
    for (int k = y_min - depth; k <= y_max + depth; k++) {
        for (int j = 0; j < depth; j++) {
            int index = offset + j + (k + depth - 1) * depth;
            buffer[index] = AT(field, x_min + j, k);
        }
    }
}

void summary(int x_min, int x_max, int y_min, int y_max, const double *volume,
             const double *density, const double *xvel, double *vol_out, double *ke_out) {
    double vol = 0.0, ke = 0.0;
#pragma tune name(hydro_summary)
    for (int k = y_min; k <= y_max; k++) {
        for (int j = x_min; j <= x_max; j++) {
            double vsqrd = 0.0;
            for (int kv = k; kv <= k + 1; kv++) {
                for (int jv = j; jv <= j + 1; jv++)
                    vsqrd += 0.25 * (AT5(xvel, jv, kv) * AT5(xvel, jv, kv));
            }
            vol += AT(volume, j, k);
            ke += AT(volume, j, k) * AT(density, j, k) * 0.5 * vsqrd;
        }
    }
    *vol_out = vol;
    *ke_out = ke;
}
