/* The damped pendulum by an adaptive explicit Runge-Kutta method: the compiled rival at matched accuracy.
 *
 * stages.h is written by bench/accuracy.py from SciPy's coefficients, unrolled and without the zeros. It defines ORDER,
 * STAGES, COMPUTE_STAGES, which takes (q, p), slopes kq0 and kp0 and h to all slopes and to next_q and next_p, and
 * ESTIMATE, the scaled error. Step control as in SciPy: safety 0.9, factors between 0.2 and 10.
 */
#include <math.h>
#include <stdint.h>

#include "stages.h"

#define slope_q(q, p) (p)
#define slope_p(q, p) (-sin(q) - damping * (p))

/* Returns the accepted steps; state and the number of tried steps are written back. */
int64_t integrate(double *state, double damping, double until, double tolerance, double first, int64_t *tried) {
    double q = state[0], p = state[1], t = 0.0, h = first;
    double kq0 = slope_q(q, p), kp0 = slope_p(q, p);
    int64_t accepted = 0, count = 0;
    int rejected = 0;
    while (t < until) {
        if (t + h > until) h = until - t;
        count++;
        COMPUTE_STAGES
        double scale_q = tolerance + tolerance * fmax(fabs(q), fabs(next_q));
        double scale_p = tolerance + tolerance * fmax(fabs(p), fabs(next_p));
        double error;
        ESTIMATE
        if (error < 1.0) {
            double factor = error == 0.0 ? 10.0 : fmin(10.0, 0.9 * pow(error, -1.0 / ORDER));
            if (rejected && factor > 1.0) factor = 1.0;
            t = t + h >= until ? until : t + h;
            q = next_q;
            p = next_p;
            kq0 = LAST_Q;
            kp0 = LAST_P;
            h *= factor;
            accepted++;
            rejected = 0;
        } else {
            h *= fmax(0.2, 0.9 * pow(error, -1.0 / ORDER));
            rejected = 1;
        }
    }
    state[0] = q;
    state[1] = p;
    *tried = count;
    return accepted;
}
