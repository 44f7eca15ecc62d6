/* Scalar chord Newton with Passivo's stopping rule; `residual(dp)` and `slope(dp)` are macros of the file that includes
 * this one. A macro and not a function pointer: the loop must be inlined into the step to be a fair rival. */
#ifndef NEWTON_H
#define NEWTON_H

#define CONVERGED 1e-13
#define NEGLIGIBLE 1e-17
#define CONTRACTION 0.3
#define ITERATIONS 25

#define SOLVE(dp, old, used, ok)                                              \
    do {                                                                      \
        double last_ = INFINITY, inverse_ = 0.0;                              \
        int fresh_ = 0, polish_ = 0;                                          \
        ok = 0;                                                               \
        dp = 0.0;                                                             \
        dp = -residual(dp);                                                   \
        for (int k_ = 0; k_ < ITERATIONS; k_++) {                             \
            double f_ = residual(dp);                                         \
            used += 1.0;                                                      \
            if (!fresh_) {                                                    \
                double s_ = slope(dp);                                        \
                if (!(fabs(s_) > 0.0)) break;                                 \
                inverse_ = 1.0 / s_;                                          \
                fresh_ = 1;                                                   \
            }                                                                 \
            double delta_ = f_ * inverse_;                                    \
            double scale_ = fabs(dp) + fabs(old);                             \
            double size_ = delta_ == 0.0 ? 0.0 : fabs(delta_) / scale_;       \
            if (!(size_ < 1e300)) break;                                      \
            dp -= delta_;                                                     \
            double contraction_ = k_ > 0 ? size_ / last_ : 1.0;               \
            if (polish_) {                                                    \
                ok = 1;                                                       \
                break;                                                        \
            }                                                                 \
            if (size_ <= CONVERGED) {                                         \
                if (size_ * contraction_ <= NEGLIGIBLE) {                     \
                    ok = 1;                                                   \
                    break;                                                    \
                }                                                             \
                polish_ = 1;                                                  \
            } else if (k_ > 0 && contraction_ > CONTRACTION) {                \
                fresh_ = 0;                                                   \
            }                                                                 \
            last_ = size_;                                                    \
        }                                                                     \
    } while (0)

#endif
