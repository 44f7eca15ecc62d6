/* The pendulum H = p^2/(2 m l^2) + m g l (1 - cos q), damping b, torque u, stepped by AVF in closed form.
 *
 * The mean gradient of -cos is sin(x) sin(d/2)/(d/2), x the middle. Otherwise as in duffing.c.
 */
#include <stdint.h>

#include "ledger.h"
#include "newton.h"

typedef struct {
    double q, p;
    Ledger ledger;
} Part;

typedef struct {
    double m, b, g, l;
} Params;

static inline double sinc(double x) {
    if (fabs(x) < 0.05) {
        double y = x * x;
        return 1.0 + y * (-1.0 / 6.0 + y * (1.0 / 120.0 + y * (-1.0 / 5040.0 + y * (1.0 / 362880.0))));
    }
    return sin(x) / x;
}

static inline double sinc_slope(double x) {
    if (fabs(x) < 0.05) return x * (-1.0 / 3.0 + x * x * (1.0 / 30.0 - x * x / 840.0));
    return (cos(x) - sin(x) / x) / x;
}

int64_t run(Part *part, const Params *params, double h, const double *input, int64_t steps) {
    double q = part->q, p = part->p;
    Ledger ledger = part->ledger;
    const double inverse = 1.0 / (params->m * params->l * params->l), weight = params->m * params->g * params->l;
    const double b = params->b, half = 0.5 * h * inverse; /* d(dq)/d(dp) */
    int64_t k;
    for (k = 0; k < steps; k++) {
        double u = input[k], dp;
        int ok;
        if (!isfinite(u)) break;
#define increment(dp) (h * inverse * (p + 0.5 * (dp)))
#define mean_force(x, dq) (weight * sin(x) * sinc(0.5 * (dq)))
#define residual(dp)                                                                \
    ({                                                                              \
        double dq_ = increment(dp), x_ = q + 0.5 * dq_;                             \
        (dp) - h * (u - mean_force(x_, dq_) - b * inverse * (p + 0.5 * (dp)));      \
    })
#define slope(dp)                                                                   \
    ({                                                                              \
        double dq_ = increment(dp), x_ = q + 0.5 * dq_;                             \
        double turn_ = cos(x_) * sinc(0.5 * dq_) + sin(x_) * sinc_slope(0.5 * dq_); \
        1.0 + h * (0.5 * weight * half * turn_ + 0.5 * b * inverse);                \
    })
        SOLVE(dp, p, ledger.iterations, ok);
        if (!ok) break;
        double dq = increment(dp);
        double next_q = q + dq, next_p = p + dp;
        if (!isfinite(next_q) || !isfinite(next_p)) break;
#ifndef WITHOUT_LEDGER
        double gradient_q = mean_force(q + 0.5 * dq, dq), gradient_p = inverse * (p + 0.5 * dp);
        double flow = h * gradient_p, work = flow * u, lost = b * h * gradient_p * gradient_p;
        dq = next_q - q; /* what was really added */
        dp = next_p - p;
        double change = inverse * (p + 0.5 * dp) * dp + dq * mean_force(q + 0.5 * dq, dq);
        double end_q = weight * sin(next_q), end_p = inverse * next_p;
        double scale = (fabs(q) + fabs(dq)) * fmax(fabs(gradient_q), fabs(end_q)) +
                       (fabs(p) + fabs(dp)) * fmax(fabs(gradient_p), fabs(end_p));
        ledger.mean = flow / h;
        book(&ledger, h, change, work, lost, scale);
#endif
        q = next_q;
        p = next_p;
    }
    part->q = q;
    part->p = p;
    part->ledger = ledger;
    return k;
}
