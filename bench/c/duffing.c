/* The Duffing oscillator H = p^2/(2m) + alpha q^2/2 + beta q^4/4, damping b, force u, stepped by AVF in closed form.
 *
 * Written by hand: dq = h (p + dp/2)/m is eliminated, dp is found by scalar Newton, every division by a parameter is
 * made once before the loop. With -DWITHOUT_LEDGER nothing is booked.
 */
#include <stdint.h>

#include "ledger.h"
#include "newton.h"

typedef struct {
    double q, p;
    Ledger ledger;
} Part;

typedef struct {
    double m, b, alpha, beta;
} Params;

int64_t run(Part *part, const Params *params, double h, const double *input, int64_t steps) {
    double q = part->q, p = part->p;
    Ledger ledger = part->ledger;
    const double inverse_m = 1.0 / params->m, b = params->b, alpha = params->alpha, quarter = params->beta / 4.0;
    const double half = 0.5 * h * inverse_m; /* d(dq)/d(dp) */
    int64_t k;
    for (k = 0; k < steps; k++) {
        double u = input[k], dp;
        int ok;
        if (!isfinite(u)) break;
#define increment(dp) (h * inverse_m * (p + 0.5 * (dp)))
#define mean_force(x, dq) (alpha * (x) + quarter * (4.0 * (x) * (x) * (x) + (x) * (dq) * (dq)))
#define residual(dp)                                                                              \
    ({                                                                                            \
        double dq_ = increment(dp), x_ = q + 0.5 * dq_;                                           \
        (dp) - h * (u - mean_force(x_, dq_) - b * inverse_m * (p + 0.5 * (dp)));                  \
    })
#define slope(dp)                                                                                 \
    ({                                                                                            \
        double dq_ = increment(dp), x_ = q + 0.5 * dq_;                                           \
        1.0 + h * (half * (0.5 * alpha + quarter * (6.0 * x_ * x_ + 0.5 * dq_ * dq_ + 2.0 * x_ * dq_)) \
                   + 0.5 * b * inverse_m);                                                        \
    })
        SOLVE(dp, p, ledger.iterations, ok);
        if (!ok) break;
        double dq = increment(dp);
        double next_q = q + dq, next_p = p + dp;
        if (!isfinite(next_q) || !isfinite(next_p)) break;
#ifndef WITHOUT_LEDGER
        double middle = q + 0.5 * dq, gradient_q = mean_force(middle, dq), gradient_p = inverse_m * (p + 0.5 * dp);
        double flow = h * gradient_p, work = flow * u, lost = b * h * gradient_p * gradient_p;
        dq = next_q - q; /* what was really added */
        dp = next_p - p;
        middle = q + 0.5 * dq;
        double change = inverse_m * (p + 0.5 * dp) * dp + dq * mean_force(middle, dq);
        double end_q = alpha * next_q + 4.0 * quarter * next_q * next_q * next_q, end_p = inverse_m * next_p;
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
