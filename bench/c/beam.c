// A passive midpoint step of M x'' + K x = f with three diagonals beside the main one, its matrix factorised before.
// No ledger, no second solution: what a program would do that only wants the motion.
#include <stdint.h>

// y += A x of a symmetric band: diagonal k begins at k * n
static void times(int64_t n, const double *restrict a, const double *restrict x, double *restrict y)
{
    for (int64_t i = 0; i < n; i++) y[i] += a[i] * x[i];
    for (int64_t k = 1; k < 4; k++) {
        const double *row = a + k * n;
        for (int64_t i = 0; i < n - k; i++) y[i] += row[i] * x[i + k];
        for (int64_t i = 0; i < n - k; i++) y[i + k] += row[i] * x[i];
    }
}

// factors: 1/D, then three entries of L below it, for each column; b has room for three zeros more
void run(int64_t n, int64_t steps, double h, const double *mass, const double *stiff, const double *factors, double *x,
         double *v, double *b)
{
    for (int64_t step = 0; step < steps; step++) {
        double *restrict y = b;
        for (int64_t i = 0; i < n; i++) y[i] = 0.0;
        times(n, stiff, x, y);
        for (int64_t i = 0; i < n; i++) y[i] = -0.5 * h * y[i];
        times(n, mass, v, y);
        for (int64_t i = 0; i < n; i++) y[i] *= 2.0 / h;
        double p = y[0], q = y[1], r = y[2];
        for (int64_t i = 0; i < n; i++) {
            const double *l = factors + 4 * i, a = p;
            y[i] = a;
            p = q - l[1] * a;
            q = r - l[2] * a;
            r = y[i + 3] - l[3] * a;
        }
        p = q = r = 0.0;
        for (int64_t i = n - 1; i >= 0; i--) {
            const double *l = factors + 4 * i;
            double a = y[i] * l[0] - l[3] * r - l[2] * q - l[1] * p;
            r = q;
            q = p;
            p = a;
            y[i] = a;
        }
        for (int64_t i = 0; i < n; i++) x[i] += h * y[i];
        for (int64_t i = 0; i < n; i++) v[i] = 2.0 * y[i] - v[i];
    }
}
