/* passivo_clamp.h: the port ledger clamp, for loops in C (C99) or C++. One file, no allocation, no library but libm.
 *
 * Put it last before the force is written to the device. Whatever computes the wanted force, at whatever rate, late,
 * delayed or active: the energy the device gets out of the port never exceeds the credit (0.1 mJ), at any instant,
 * as long as mass, hand, encoder and longest are true bounds. Forces oppose the motion: the device feels -force.
 *
 *     #include "passivo_clamp.h"
 *
 *     passivo_clamp guard;
 *     passivo_clamp_options options = passivo_clamp_defaults(1, 1e-3);    width and period
 *     options.mass[0] = 0.1;                                              kg felt at the handle, at least
 *     options.encoder[0] = 1e-6;                                          m
 *     if (passivo_clamp_init(&guard, &options) != 0) stop();
 *     for (;;) {
 *         double x = read_position(), wanted = simulator(x), force;
 *         passivo_clamp_tick(&guard, &x, &wanted, seconds_since_last_tick, &force);
 *         write_force(-force);
 *     }
 *
 * The memory is laid out, and every number computed, as in passivo/network/clamp.py, which has the explanations; the
 * forces are the same to the last bit where the compiler keeps to IEEE arithmetic (gcc and clang: -ffp-contract=off,
 * and never -ffast-math).
 */
#ifndef PASSIVO_CLAMP_H
#define PASSIVO_CLAMP_H

#include <math.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PASSIVO_CLAMP_WIDEST 8

enum {  /* the head of the memory, see clamp.py */
    PASSIVO_CLAMP_WIDTH, PASSIVO_CLAMP_LONGEST, PASSIVO_CLAMP_WATCHDOG, PASSIVO_CLAMP_PROJECT, PASSIVO_CLAMP_CREDIT,
    PASSIVO_CLAMP_FLOOR, PASSIVO_CLAMP_STIFFNESS, PASSIVO_CLAMP_DAMPING, PASSIVO_CLAMP_RESERVE, PASSIVO_CLAMP_SKEW,
    PASSIVO_CLAMP_SHARE, PASSIVO_CLAMP_HAND_EACH, PASSIVO_CLAMP_LIMIT_EACH, PASSIVO_CLAMP_PERIOD,
    PASSIVO_CLAMP_BOUND, PASSIVO_CLAMP_YIELD, PASSIVO_CLAMP_RATE, PASSIVO_CLAMP_RHO,
    PASSIVO_CLAMP_RHO_DRIFT,
    PASSIVO_CLAMP_STAGE, PASSIVO_CLAMP_LEDGER, PASSIVO_CLAMP_LOWER, PASSIVO_CLAMP_AVAILABLE, PASSIVO_CLAMP_NEED,
    PASSIVO_CLAMP_DEBT, PASSIVO_CLAMP_PAST_NORM, PASSIVO_CLAMP_RHO_NOW, PASSIVO_CLAMP_RHO_MEAN, PASSIVO_CLAMP_PACE,
    /* what is told: read them from guard.m[...] at any time */
    PASSIVO_CLAMP_TICKS, PASSIVO_CLAMP_LIMITED, PASSIVO_CLAMP_DAMPED, PASSIVO_CLAMP_CUT, PASSIVO_CLAMP_OVERLONG,
    PASSIVO_CLAMP_OVERDRAWN, PASSIVO_CLAMP_BEYOND, PASSIVO_CLAMP_STRESS, PASSIVO_CLAMP_REFUSED,
    PASSIVO_CLAMP_ABSORBED, PASSIVO_CLAMP_LEAST,
    PASSIVO_CLAMP_HEAD
};

enum {  /* sections of `width` numbers after the head */
    PASSIVO_CLAMP_POSITION, PASSIVO_CLAMP_WANTED, PASSIVO_CLAMP_FORCE, PASSIVO_CLAMP_RES, PASSIVO_CLAMP_DRAG,
    PASSIVO_CLAMP_HAND, PASSIVO_CLAMP_LIMIT, PASSIVO_CLAMP_DRIFT, PASSIVO_CLAMP_RAW, PASSIVO_CLAMP_PLACE,
    PASSIVO_CLAMP_MOVE, PASSIVO_CLAMP_SWING, PASSIVO_CLAMP_GRAIN, PASSIVO_CLAMP_GRAIN_MEAN, PASSIVO_CLAMP_BASE,
    PASSIVO_CLAMP_PAST, PASSIVO_CLAMP_SPEED, PASSIVO_CLAMP_AIM, PASSIVO_CLAMP_GOAL, PASSIVO_CLAMP_TRIAL,
    PASSIVO_CLAMP_SLOPE,
    PASSIVO_CLAMP_SECTIONS
};

enum { PASSIVO_CLAMP_MASS, PASSIVO_CLAMP_ROOT, PASSIVO_CLAMP_INVERSE, PASSIVO_CLAMP_SCRATCH, PASSIVO_CLAMP_MATRICES };

#define PASSIVO_CLAMP_SIZE \
    (PASSIVO_CLAMP_HEAD + PASSIVO_CLAMP_SECTIONS * PASSIVO_CLAMP_WIDEST \
     + PASSIVO_CLAMP_MATRICES * PASSIVO_CLAMP_WIDEST * PASSIVO_CLAMP_WIDEST)
#define PASSIVO_CLAMP_USUAL 0.67
#define PASSIVO_CLAMP_SWEEPS 40
#define PASSIVO_CLAMP_HALVINGS 54
#define PASSIVO_CLAMP_SLACK 1e-9
#define PASSIVO_CLAMP_ROUNDING 1e-15
#define PASSIVO_CLAMP_HUGE 1e60
#define PASSIVO_CLAMP_TINY 1e-60
#define PASSIVO_CLAMP_BRIEF 1e-9

typedef struct passivo_clamp {
    double m[PASSIVO_CLAMP_SIZE];
} passivo_clamp;

typedef struct passivo_clamp_options {
    int width;         /* 1 to PASSIVO_CLAMP_WIDEST */
    double period;     /* s */
    double mass[PASSIVO_CLAMP_WIDEST * PASSIVO_CLAMP_WIDEST];  /* lower bound, symmetric, row by row, width x width */
    int hand_each;     /* 0: hand[0] bounds the Euclidean norm of all other forces on the handle; 1: each component */
    double hand[PASSIVO_CLAMP_WIDEST];
    double encoder[PASSIVO_CLAMP_WIDEST];  /* steps of the position sensors */
    double longest;    /* no force is held longer; 0: the period */
    int watchdog;      /* 1: the hardware drops a force by itself after `longest` */
    double skew;       /* the force is written this long after the position was sampled; needs a limit */
    int limit_each;
    double limit[PASSIVO_CLAMP_WIDEST];    /* largest force, as for hand; 0: none */
    double credit, floor, stiffness;
    double damping;    /* largest damping added; negative: 0.67 mass/period */
    double reserve;
    double device_damping[PASSIVO_CLAMP_WIDEST];  /* `share` of what it burns is credited */
    double share;
    int scale;         /* 0: project onto the nearest allowed force, 1: scale the wanted one */
} passivo_clamp_options;

/* The recommended values; mass, and encoder where it is not exact, remain to be given. */
static inline passivo_clamp_options passivo_clamp_defaults(int width, double period)
{
    passivo_clamp_options o;
    int i;
    o.width = width;
    o.period = period;
    for (i = 0; i < PASSIVO_CLAMP_WIDEST * PASSIVO_CLAMP_WIDEST; i++) o.mass[i] = 0.0;
    for (i = 0; i < PASSIVO_CLAMP_WIDEST; i++) {
        o.hand[i] = 22.0;
        o.encoder[i] = 0.0;
        o.limit[i] = 0.0;
        o.device_damping[i] = 0.0;
    }
    o.hand_each = 0;
    o.limit_each = 0;
    o.longest = 0.0;
    o.watchdog = 0;
    o.skew = 0.0;
    o.credit = 1e-4;
    o.floor = 5e-3;
    o.stiffness = 500.0;
    o.damping = -1.0;
    o.reserve = 2.0;
    o.share = 0.8;
    o.scale = 0;
    return o;
}

/* -- small algebra ----------------------------------------------------------------------------------------------- */

static inline double passivo_clamp_dot(const double *m, int a, int b, int w)
{
    double total = 0.0;
    int i;
    for (i = 0; i < w; i++) total += m[a + i] * m[b + i];
    return total;
}

static inline void passivo_clamp_lower(double *m, int matrix, int vector, int result, int w)
{
    int i, j;
    for (i = 0; i < w; i++) {
        double total = 0.0;
        for (j = 0; j <= i; j++) total += m[matrix + i * w + j] * m[vector + j];
        m[result + i] = total;
    }
}

static inline int passivo_clamp_numbers(const double *m, int values, int w)
{
    int i;
    for (i = 0; i < w; i++)
        if (!(fabs(m[values + i]) < PASSIVO_CLAMP_HUGE)) return 0;
    return 1;
}

static inline int passivo_clamp_factor(double *m, int matrices, int w)
{
    int mass = matrices + PASSIVO_CLAMP_MASS * w * w;
    int root = matrices + PASSIVO_CLAMP_ROOT * w * w;
    int inverse = matrices + PASSIVO_CLAMP_INVERSE * w * w;
    int i, j, k;
    for (i = 0; i < w; i++) {
        for (j = 0; j < w; j++) {
            m[root + i * w + j] = 0.0;
            m[inverse + i * w + j] = 0.0;
        }
        for (j = 0; j <= i; j++) {
            double rest = m[mass + i * w + j];
            for (k = 0; k < j; k++) rest -= m[root + i * w + k] * m[root + j * w + k];
            if (j < i) m[root + i * w + j] = rest / m[root + j * w + j];
            else if (rest > 0.0) m[root + i * w + i] = sqrt(rest);
            else return i + 1;
        }
    }
    for (j = 0; j < w; j++) {
        m[inverse + j * w + j] = 1.0 / m[root + j * w + j];
        for (i = j + 1; i < w; i++) {
            double total = 0.0;
            for (k = j; k < i; k++) total += m[root + i * w + k] * m[inverse + k * w + j];
            m[inverse + i * w + j] = -total / m[root + i * w + i];
        }
    }
    return 0;
}

static inline double passivo_clamp_corner(const double *m, int square, int values, int w)
{
    double largest = 0.0;
    int corner, i, j;
    for (corner = 0; corner < (1 << (w - 1)); corner++) {
        double total = 0.0;
        for (i = 0; i < w; i++) {
            for (j = 0; j < w; j++) {
                double term = m[values + i] * m[values + j] * m[square + i * w + j];
                if (((corner >> i) & 1) == ((corner >> j) & 1)) total += term;
                else total -= term;
            }
        }
        if (total > largest) largest = total;
    }
    return sqrt(largest);
}

static inline double passivo_clamp_largest(double *m, int square, int w)
{
    double top = 0.0;
    int sweep, p, q, k;
    for (sweep = 0; sweep < PASSIVO_CLAMP_SWEEPS; sweep++) {
        int turned = 0;
        for (p = 0; p < w - 1; p++) {
            for (q = p + 1; q < w; q++) {
                double off = m[square + p * w + q];
                double small_ = m[square + p * w + p];
                double large = m[square + q * w + q];
                double ratio, tangent, cosine, sine;
                if (fabs(off) <= 1e-17 * sqrt(fabs(small_ * large))) continue;
                turned += 1;
                ratio = (large - small_) / (2.0 * off);
                tangent = 1.0 / (fabs(ratio) + sqrt(ratio * ratio + 1.0));
                if (ratio < 0.0) tangent = -tangent;
                cosine = 1.0 / sqrt(tangent * tangent + 1.0);
                sine = tangent * cosine;
                for (k = 0; k < w; k++) {
                    double left = m[square + k * w + p];
                    double right = m[square + k * w + q];
                    m[square + k * w + p] = cosine * left - sine * right;
                    m[square + k * w + q] = sine * left + cosine * right;
                }
                for (k = 0; k < w; k++) {
                    double left = m[square + p * w + k];
                    double right = m[square + q * w + k];
                    m[square + p * w + k] = cosine * left - sine * right;
                    m[square + q * w + k] = sine * left + cosine * right;
                }
            }
        }
        if (turned == 0) break;
    }
    for (k = 0; k < w; k++)
        if (m[square + k * w + k] > top) top = m[square + k * w + k];
    return top;
}

/* -- set-up ------------------------------------------------------------------------------------------------------ */

/* Back to the start: no sample yet, the ledger at its credit, no force, nothing counted. */
static inline void passivo_clamp_reset(passivo_clamp *clamp)
{
    double *m = clamp->m;
    int w = (int)m[PASSIVO_CLAMP_WIDTH];
    int i;
    for (i = PASSIVO_CLAMP_STAGE; i < PASSIVO_CLAMP_HEAD; i++) m[i] = 0.0;
    for (i = PASSIVO_CLAMP_RAW * w; i < PASSIVO_CLAMP_SECTIONS * w; i++) m[PASSIVO_CLAMP_HEAD + i] = 0.0;
    for (i = 0; i < w; i++) m[PASSIVO_CLAMP_HEAD + PASSIVO_CLAMP_FORCE * w + i] = 0.0;
    m[PASSIVO_CLAMP_LEDGER] = m[PASSIVO_CLAMP_CREDIT];
    m[PASSIVO_CLAMP_LOWER] = m[PASSIVO_CLAMP_CREDIT];
    m[PASSIVO_CLAMP_AVAILABLE] = m[PASSIVO_CLAMP_CREDIT];
    m[PASSIVO_CLAMP_PACE] = -1.0;
}

static inline int passivo_clamp_begin(passivo_clamp *clamp)
{
    double *m = clamp->m;
    int w = (int)m[PASSIVO_CLAMP_WIDTH];
    int sections = PASSIVO_CLAMP_HEAD;
    int matrices = sections + PASSIVO_CLAMP_SECTIONS * w;
    int inverse = matrices + PASSIVO_CLAMP_INVERSE * w * w;
    int scratch = matrices + PASSIVO_CLAMP_SCRATCH * w * w;
    int failed = passivo_clamp_factor(m, matrices, w);
    int i, j, k;
    double hand, most, softest, mean = 0.0;
    if (failed != 0) return failed;
    for (i = 0; i < w; i++) {
        for (j = 0; j < w; j++) {
            double total = 0.0;
            for (k = 0; k < w; k++) total += m[inverse + k * w + i] * m[inverse + k * w + j];
            m[scratch + i * w + j] = total;
        }
    }
    hand = passivo_clamp_corner(m, scratch, sections + PASSIVO_CLAMP_HAND * w, w);
    most = passivo_clamp_corner(m, scratch, sections + PASSIVO_CLAMP_LIMIT * w, w);
    for (i = 0; i < w; i++) m[sections + PASSIVO_CLAMP_DRIFT * w + i] = sqrt(m[scratch + i * w + i]);
    softest = sqrt(passivo_clamp_largest(m, scratch, w));
    if (m[PASSIVO_CLAMP_HAND_EACH] == 0.0) hand = m[sections + PASSIVO_CLAMP_HAND * w] * softest;
    if (m[PASSIVO_CLAMP_LIMIT_EACH] == 0.0) most = m[sections + PASSIVO_CLAMP_LIMIT * w] * softest;
    m[PASSIVO_CLAMP_BOUND] = hand;
    for (i = 0; i < w; i++) {
        mean += m[matrices + PASSIVO_CLAMP_MASS * w * w + i * w + i];
        if (m[PASSIVO_CLAMP_SKEW] > 0.0) m[sections + PASSIVO_CLAMP_DRIFT * w + i] *= most + hand;
        else m[sections + PASSIVO_CLAMP_DRIFT * w + i] = 0.0;
    }
    mean /= w;
    m[PASSIVO_CLAMP_YIELD] = mean / (2.0 * m[PASSIVO_CLAMP_STIFFNESS]);
    if (m[PASSIVO_CLAMP_DAMPING] < 0.0) m[PASSIVO_CLAMP_RATE] = PASSIVO_CLAMP_USUAL / m[PASSIVO_CLAMP_PERIOD];
    else m[PASSIVO_CLAMP_RATE] = m[PASSIVO_CLAMP_DAMPING] / mean;
    m[PASSIVO_CLAMP_RHO] = passivo_clamp_corner(m, matrices, sections + PASSIVO_CLAMP_RES * w, w);
    m[PASSIVO_CLAMP_RHO_DRIFT] = passivo_clamp_corner(m, matrices, sections + PASSIVO_CLAMP_DRIFT * w, w);
    passivo_clamp_reset(clamp);
    return 0;
}

/* Returns 0; i > 0 where row i of the mass is not positive definite; -1 where another option is out of range. */
static inline int passivo_clamp_init(passivo_clamp *clamp, const passivo_clamp_options *o)
{
    double *m = clamp->m;
    int w = o->width;
    int sections = PASSIVO_CLAMP_HEAD;
    int i, good;
    for (i = 0; i < PASSIVO_CLAMP_SIZE; i++) m[i] = 0.0;
    if (!(w >= 1 && w <= PASSIVO_CLAMP_WIDEST)) return -1;
    good = o->period > 0.0 && o->longest >= 0.0 && o->skew >= 0.0 && o->credit >= 0.0 && o->floor >= 0.0
        && o->stiffness > 0.0 && o->reserve >= 0.0 && o->share >= 0.0 && o->share <= 1.0 && o->damping == o->damping;
    m[PASSIVO_CLAMP_WIDTH] = w;
    m[PASSIVO_CLAMP_LONGEST] = o->longest > 0.0 ? o->longest : o->period;
    m[PASSIVO_CLAMP_WATCHDOG] = o->watchdog ? 1.0 : 0.0;
    m[PASSIVO_CLAMP_PROJECT] = o->scale ? 0.0 : 1.0;
    m[PASSIVO_CLAMP_CREDIT] = o->credit;
    m[PASSIVO_CLAMP_FLOOR] = o->floor;
    m[PASSIVO_CLAMP_STIFFNESS] = o->stiffness;
    m[PASSIVO_CLAMP_DAMPING] = o->damping < 0.0 ? -1.0 : o->damping;
    m[PASSIVO_CLAMP_RESERVE] = o->reserve;
    m[PASSIVO_CLAMP_PERIOD] = o->period;
    m[PASSIVO_CLAMP_SKEW] = o->skew;
    m[PASSIVO_CLAMP_SHARE] = o->share;
    m[PASSIVO_CLAMP_HAND_EACH] = o->hand_each ? 1.0 : 0.0;
    m[PASSIVO_CLAMP_LIMIT_EACH] = o->limit_each ? 1.0 : 0.0;
    for (i = 0; i < w; i++) {
        double hand = o->hand_each ? o->hand[i] : o->hand[0];
        double limit = o->limit_each ? o->limit[i] : o->limit[0];
        good = good && hand >= 0.0 && limit >= 0.0 && o->encoder[i] >= 0.0 && o->device_damping[i] >= 0.0;
        good = good && (o->skew == 0.0 || limit > 0.0);
        m[sections + PASSIVO_CLAMP_HAND * w + i] = hand;
        m[sections + PASSIVO_CLAMP_LIMIT * w + i] = limit;
        m[sections + PASSIVO_CLAMP_RES * w + i] = o->encoder[i];
        m[sections + PASSIVO_CLAMP_DRAG * w + i] = o->device_damping[i];
    }
    for (i = 0; i < w * w; i++) m[sections + PASSIVO_CLAMP_SECTIONS * w + i] = o->mass[i];
    if (!good || !passivo_clamp_numbers(m, 0, PASSIVO_CLAMP_SIZE)) return -1;
    return passivo_clamp_begin(clamp);
}

/* -- what a force needs ------------------------------------------------------------------------------------------ */

static inline double passivo_clamp_linear(double *m, double elapsed, double share, double norm)
{
    int w = (int)m[PASSIVO_CLAMP_WIDTH];
    int sections = PASSIVO_CLAMP_HEAD;
    double longest = m[PASSIVO_CLAMP_LONGEST];
    double bound = m[PASSIVO_CLAMP_BOUND];
    double along = share * passivo_clamp_dot(m, sections + PASSIVO_CLAMP_TRIAL * w, sections + PASSIVO_CLAMP_PAST * w, w);
    double push, sure = 0.0;
    int i;
    if (w == 1) {
        if (share < 1.0 && along < 0.0) along = 0.0;
        push = along + bound * norm;
        if (push < 0.0) push = 0.0;
    } else {
        push = 0.5 * (along + share * norm * m[PASSIVO_CLAMP_PAST_NORM]) + bound * norm;
    }
    for (i = 0; i < w; i++) {
        double force = m[sections + PASSIVO_CLAMP_FORCE * w + i];
        sure += force * m[sections + PASSIVO_CLAMP_MOVE * w + i]
            - fabs(force) * m[sections + PASSIVO_CLAMP_GRAIN_MEAN * w + i];
    }
    return 0.5 * longest * longest * bound * norm + 0.5 * longest * elapsed * push - (longest / elapsed) * sure;
}

static inline double passivo_clamp_root(double a, double b, double level)
{
    double depth = sqrt(b * b + 4.0 * a * level);
    if (b > 0.0) return 2.0 * level / (b + depth);
    return (depth - b) / (2.0 * a);
}

static inline double passivo_clamp_safe(double *m, double elapsed, double share)
{
    int sections = PASSIVO_CLAMP_HEAD;
    double root = m[sections + PASSIVO_CLAMP_SECTIONS + PASSIVO_CLAMP_ROOT];
    double mass = m[sections + PASSIVO_CLAMP_SECTIONS + PASSIVO_CLAMP_MASS];
    double longest = m[PASSIVO_CLAMP_LONGEST];
    double hand = m[PASSIVO_CLAMP_BOUND] * root;
    double sign = m[sections + PASSIVO_CLAMP_AIM] > 0.0 ? 1.0 : -1.0;
    double along = share * sign * m[sections + PASSIVO_CLAMP_PAST] * root;
    double push, sure, square, linear;
    if (share < 1.0 && along < 0.0) along = 0.0;
    push = along + hand;
    if (push < 0.0) push = 0.0;
    sure = sign * m[sections + PASSIVO_CLAMP_MOVE] - m[sections + PASSIVO_CLAMP_GRAIN_MEAN];
    square = 0.5 * longest * longest / mass;
    linear = 0.5 * longest * elapsed * push / mass + square * hand - (longest / elapsed) * sure;
    return passivo_clamp_root(square, linear, m[PASSIVO_CLAMP_AVAILABLE]);
}

static inline double passivo_clamp_scale(double *m, double elapsed, double share)
{
    int w = (int)m[PASSIVO_CLAMP_WIDTH];
    int sections = PASSIVO_CLAMP_HEAD;
    double squared =
        passivo_clamp_dot(m, sections + PASSIVO_CLAMP_TRIAL * w, sections + PASSIVO_CLAMP_TRIAL * w, w);
    double square = 0.5 * m[PASSIVO_CLAMP_LONGEST] * m[PASSIVO_CLAMP_LONGEST] * squared;
    double linear = passivo_clamp_linear(m, elapsed, share, sqrt(squared));
    double factor;
    int i;
    if (square + linear <= m[PASSIVO_CLAMP_AVAILABLE]) return 1.0;
    factor = passivo_clamp_root(square, linear, m[PASSIVO_CLAMP_AVAILABLE]);
    if (factor > 1.0) factor = 1.0;
    for (i = 0; i < w; i++) {
        m[sections + PASSIVO_CLAMP_FORCE * w + i] *= factor;
        m[sections + PASSIVO_CLAMP_TRIAL * w + i] *= factor;
    }
    return factor;
}

static inline double passivo_clamp_distance(const double *m)
{
    int w = (int)m[PASSIVO_CLAMP_WIDTH];
    int sections = PASSIVO_CLAMP_HEAD;
    double total = 0.0;
    int i;
    for (i = 0; i < w; i++) {
        double gap = m[sections + PASSIVO_CLAMP_TRIAL * w + i] - m[sections + PASSIVO_CLAMP_GOAL * w + i];
        total += gap * gap;
    }
    return total;
}

static inline void passivo_clamp_project(double *m, double elapsed, double share)
{
    int w = (int)m[PASSIVO_CLAMP_WIDTH];
    int sections = PASSIVO_CLAMP_HEAD;
    int root = sections + PASSIVO_CLAMP_SECTIONS * w + PASSIVO_CLAMP_ROOT * w * w;
    double longest = m[PASSIVO_CLAMP_LONGEST];
    double bound = m[PASSIVO_CLAMP_BOUND];
    double twice = longest * longest;
    double beta = 0.5 * longest * elapsed * (0.5 * share * m[PASSIVO_CLAMP_PAST_NORM] + bound) + 0.5 * twice * bound;
    double goal, both, slope, level, norm, size, low = 0.0, high = 1.0;
    int i, round;
    beta = (beta + (longest / elapsed) * m[PASSIVO_CLAMP_RHO_MEAN]) / twice;
    for (i = 0; i < w; i++) {
        double c = 0.25 * longest * elapsed * share * m[sections + PASSIVO_CLAMP_PAST * w + i];
        c -= (longest / elapsed) * m[sections + PASSIVO_CLAMP_SWING * w + i];
        m[sections + PASSIVO_CLAMP_SLOPE * w + i] = c / twice;
    }
    goal = passivo_clamp_dot(m, sections + PASSIVO_CLAMP_GOAL * w, sections + PASSIVO_CLAMP_GOAL * w, w);
    both = passivo_clamp_dot(m, sections + PASSIVO_CLAMP_GOAL * w, sections + PASSIVO_CLAMP_SLOPE * w, w);
    slope = passivo_clamp_dot(m, sections + PASSIVO_CLAMP_SLOPE * w, sections + PASSIVO_CLAMP_SLOPE * w, w);
    level = m[PASSIVO_CLAMP_AVAILABLE] / twice;
    for (round = 0; round < PASSIVO_CLAMP_HALVINGS; round++) {
        double mu = 0.5 * (low + high);
        double rest = 1.0 - mu;
        double squared = rest * rest * goal - 2.0 * rest * mu * both + mu * mu * slope;
        int fits = 1;
        if (squared > 0.0) {
            norm = sqrt(squared);
            size = norm - mu * beta;
            if (size > 0.0) fits = size * (0.5 * size + (rest * both - mu * slope) / norm + beta) <= level;
        }
        if (fits) high = mu;
        else low = mu;
    }
    for (i = 0; i < w; i++) {
        m[sections + PASSIVO_CLAMP_TRIAL * w + i] = (1.0 - high) * m[sections + PASSIVO_CLAMP_GOAL * w + i]
            - high * m[sections + PASSIVO_CLAMP_SLOPE * w + i];
    }
    norm = sqrt(passivo_clamp_dot(m, sections + PASSIVO_CLAMP_TRIAL * w, sections + PASSIVO_CLAMP_TRIAL * w, w));
    size = norm - high * beta;
    for (i = 0; i < w; i++) {
        if (size > 0.0) m[sections + PASSIVO_CLAMP_TRIAL * w + i] *= size / norm;
        else m[sections + PASSIVO_CLAMP_TRIAL * w + i] = 0.0;
    }
    passivo_clamp_lower(m, root, sections + PASSIVO_CLAMP_TRIAL * w, sections + PASSIVO_CLAMP_FORCE * w, w);
}

static inline void passivo_clamp_nearer(double *m, double elapsed, double share)
{
    int w = (int)m[PASSIVO_CLAMP_WIDTH];
    int sections = PASSIVO_CLAMP_HEAD;
    int scratch = sections + PASSIVO_CLAMP_SECTIONS * w + PASSIVO_CLAMP_SCRATCH * w * w;
    double scaled;
    int i;
    for (i = 0; i < w; i++) m[scratch + i] = m[sections + PASSIVO_CLAMP_FORCE * w + i];
    scaled = passivo_clamp_distance(m);
    passivo_clamp_project(m, elapsed, share);
    passivo_clamp_scale(m, elapsed, share);
    if (!(passivo_clamp_distance(m) <= scaled))
        for (i = 0; i < w; i++) m[sections + PASSIVO_CLAMP_FORCE * w + i] = m[scratch + i];
}

/* -- one tick ---------------------------------------------------------------------------------------------------- */

static inline void passivo_clamp_absorb(double *m, double work)
{
    m[PASSIVO_CLAMP_ABSORBED] += work;
    if (m[PASSIVO_CLAMP_ABSORBED] < m[PASSIVO_CLAMP_LEAST]) m[PASSIVO_CLAMP_LEAST] = m[PASSIVO_CLAMP_ABSORBED];
}

static inline double passivo_clamp_worst(double *m)
{
    double need = m[PASSIVO_CLAMP_NEED];
    double low = m[PASSIVO_CLAMP_LOWER];
    if (need > 0.0) {
        low -= need;
        passivo_clamp_absorb(m, -need);
    }
    if (low < -m[PASSIVO_CLAMP_DEBT]) low = -m[PASSIVO_CLAMP_DEBT];
    return low;
}

static inline void passivo_clamp_gap(double *m)
{
    int w = (int)m[PASSIVO_CLAMP_WIDTH];
    int sections = PASSIVO_CLAMP_HEAD;
    int i;
    m[PASSIVO_CLAMP_LEDGER] = passivo_clamp_worst(m);
    m[PASSIVO_CLAMP_LOWER] = m[PASSIVO_CLAMP_LEDGER];
    for (i = 0; i < w; i++) {
        m[sections + PASSIVO_CLAMP_FORCE * w + i] = 0.0;
        m[sections + PASSIVO_CLAMP_BASE * w + i] = 0.0;
        m[sections + PASSIVO_CLAMP_PAST * w + i] = 0.0;
    }
    m[PASSIVO_CLAMP_PAST_NORM] = 0.0;
    m[PASSIVO_CLAMP_NEED] = 0.0;
    m[PASSIVO_CLAMP_PACE] = -1.0;
    m[PASSIVO_CLAMP_STAGE] = 0.0;
}

static inline void passivo_clamp_measure(double *m, double elapsed)
{
    int w = (int)m[PASSIVO_CLAMP_WIDTH];
    int sections = PASSIVO_CLAMP_HEAD;
    int root = sections + PASSIVO_CLAMP_SECTIONS * w + PASSIVO_CLAMP_ROOT * w * w;
    double skew = m[PASSIVO_CLAMP_SKEW];
    double noise = 1.0 + 2.0 * skew / elapsed;
    double drift = skew * (elapsed + skew);
    double rho;
    int i, j;
    for (i = 0; i < w; i++) {
        double raw = m[sections + PASSIVO_CLAMP_POSITION * w + i];
        double place = raw + skew * ((raw - m[sections + PASSIVO_CLAMP_RAW * w + i]) / elapsed);
        double grain = m[sections + PASSIVO_CLAMP_RES * w + i] * noise
            + m[sections + PASSIVO_CLAMP_DRIFT * w + i] * drift;
        m[sections + PASSIVO_CLAMP_GRAIN_MEAN * w + i] = 0.5 * (m[sections + PASSIVO_CLAMP_GRAIN * w + i] + grain);
        m[sections + PASSIVO_CLAMP_GRAIN * w + i] = grain;
        m[sections + PASSIVO_CLAMP_MOVE * w + i] = place - m[sections + PASSIVO_CLAMP_PLACE * w + i];
        m[sections + PASSIVO_CLAMP_PLACE * w + i] = place;
        m[sections + PASSIVO_CLAMP_RAW * w + i] = raw;
    }
    rho = m[PASSIVO_CLAMP_RHO] * noise + m[PASSIVO_CLAMP_RHO_DRIFT] * drift;
    m[PASSIVO_CLAMP_RHO_MEAN] = 0.5 * (m[PASSIVO_CLAMP_RHO_NOW] + rho);
    m[PASSIVO_CLAMP_RHO_NOW] = rho;
    for (j = 0; j < w; j++) {
        double total = 0.0;
        for (i = j; i < w; i++) total += m[root + i * w + j] * m[sections + PASSIVO_CLAMP_MOVE * w + i];
        m[sections + PASSIVO_CLAMP_SWING * w + j] = total;
    }
}

static inline void passivo_clamp_watch(double *m, double elapsed)
{
    int w = (int)m[PASSIVO_CLAMP_WIDTH];
    int sections = PASSIVO_CLAMP_HEAD;
    int root = sections + PASSIVO_CLAMP_SECTIONS * w + PASSIVO_CLAMP_ROOT * w * w;
    double pace =
        0.5 * elapsed * (m[PASSIVO_CLAMP_PAST_NORM] + m[PASSIVO_CLAMP_BOUND]) + m[PASSIVO_CLAMP_RHO_MEAN] / elapsed;
    double total = 0.0, rounding = 0.0;
    int i, j;
    for (j = 0; j < w; j++) {
        double speed = m[sections + PASSIVO_CLAMP_SWING * w + j] / elapsed;
        double change = speed - m[sections + PASSIVO_CLAMP_SPEED * w + j];
        total += change * change;
        m[sections + PASSIVO_CLAMP_SPEED * w + j] = speed;
        for (i = j; i < w; i++) rounding += fabs(m[root + i * w + j] * m[sections + PASSIVO_CLAMP_PLACE * w + i]);
    }
    if (m[PASSIVO_CLAMP_PACE] >= 0.0) {
        double allowed = (m[PASSIVO_CLAMP_PACE] + pace) * (1.0 + PASSIVO_CLAMP_SLACK)
            + 4.0 * PASSIVO_CLAMP_ROUNDING * rounding / elapsed;
        double change = sqrt(total);
        if (change > allowed) {
            m[PASSIVO_CLAMP_BEYOND] += 1.0;
            if (allowed > 0.0 && change / allowed > m[PASSIVO_CLAMP_STRESS]) m[PASSIVO_CLAMP_STRESS] = change / allowed;
        }
    }
    m[PASSIVO_CLAMP_PACE] = pace;
}

static inline double passivo_clamp_account(double *m, double elapsed)
{
    int w = (int)m[PASSIVO_CLAMP_WIDTH];
    int sections = PASSIVO_CLAMP_HEAD;
    double longest = m[PASSIVO_CLAMP_LONGEST];
    double work = 0.0, size = 0.0, rounding = 0.0, error = 0.0, half = 0.0, credit = 0.0, share = 1.0;
    double lower, norm, cap;
    int i;
    for (i = 0; i < w; i++) {
        double force = m[sections + PASSIVO_CLAMP_FORCE * w + i];
        double move = m[sections + PASSIVO_CLAMP_MOVE * w + i];
        double sure;
        work += force * move;
        size += fabs(force * move);
        rounding += fabs(force * m[sections + PASSIVO_CLAMP_PLACE * w + i]);
        error += fabs(force) * m[sections + PASSIVO_CLAMP_GRAIN_MEAN * w + i];
        half += 0.5 * fabs(force) * m[sections + PASSIVO_CLAMP_GRAIN * w + i];
        sure = fabs(move) - m[sections + PASSIVO_CLAMP_GRAIN_MEAN * w + i];
        if (sure > 0.0) credit += m[sections + PASSIVO_CLAMP_DRAG * w + i] * sure * sure;
    }
    credit *= m[PASSIVO_CLAMP_SHARE] / elapsed;
    if (elapsed > longest && m[PASSIVO_CLAMP_WATCHDOG] == 1.0) {
        m[PASSIVO_CLAMP_CUT] += 1.0;
        share = (longest / elapsed) * (longest / elapsed);
        lower = passivo_clamp_worst(m) + credit;
        m[PASSIVO_CLAMP_LEDGER] = lower;
        for (i = 0; i < w; i++) m[sections + PASSIVO_CLAMP_BASE * w + i] = 0.0;
    } else {
        double lack;
        if (elapsed > longest) m[PASSIVO_CLAMP_OVERLONG] += 1.0;
        passivo_clamp_absorb(m, work);
        m[PASSIVO_CLAMP_LEDGER] += work + credit;
        lower = m[PASSIVO_CLAMP_LEDGER] - half;
        for (i = 0; i < w; i++)
            m[sections + PASSIVO_CLAMP_BASE * w + i] = m[sections + PASSIVO_CLAMP_FORCE * w + i];
        lack = -(work + error) - m[PASSIVO_CLAMP_AVAILABLE];
        if (lack > 0.0) {
            m[PASSIVO_CLAMP_DEBT] += lack;
            if (lack > PASSIVO_CLAMP_SLACK * (size + m[PASSIVO_CLAMP_AVAILABLE])
                    + 4.0 * PASSIVO_CLAMP_ROUNDING * rounding)
                m[PASSIVO_CLAMP_OVERDRAWN] += 1.0;
        }
        if (lower >= 0.0) m[PASSIVO_CLAMP_DEBT] = 0.0;
        if (lower < -m[PASSIVO_CLAMP_DEBT]) {
            lower = -m[PASSIVO_CLAMP_DEBT];
            m[PASSIVO_CLAMP_LEDGER] = lower;
            for (i = 0; i < w; i++) m[sections + PASSIVO_CLAMP_BASE * w + i] = 0.0;
        }
    }
    norm = m[PASSIVO_CLAMP_PAST_NORM];
    cap = m[PASSIVO_CLAMP_CREDIT] + m[PASSIVO_CLAMP_YIELD] * norm * norm;
    cap += longest * longest * norm * (norm + m[PASSIVO_CLAMP_BOUND]) + 2.0 * half;
    if (cap < m[PASSIVO_CLAMP_FLOOR]) cap = m[PASSIVO_CLAMP_FLOOR];
    if (lower > cap) {
        m[PASSIVO_CLAMP_LEDGER] -= lower - cap;
        lower = cap;
    }
    m[PASSIVO_CLAMP_LOWER] = lower;
    m[PASSIVO_CLAMP_AVAILABLE] = lower > PASSIVO_CLAMP_TINY ? lower : 0.0;
    return share;
}

static inline void passivo_clamp_damp(double *m, double elapsed)
{
    int w = (int)m[PASSIVO_CLAMP_WIDTH];
    int sections = PASSIVO_CLAMP_HEAD;
    int matrices = sections + PASSIVO_CLAMP_SECTIONS * w;
    int goal = sections + PASSIVO_CLAMP_GOAL * w;
    int swings = sections + PASSIVO_CLAMP_SWING * w;
    double longest = m[PASSIVO_CLAMP_LONGEST];
    double error = 0.0, squared, norm, reserve, missing, swing;
    int i, j;
    for (i = 0; i < w; i++) {
        double wanted = m[sections + PASSIVO_CLAMP_WANTED * w + i];
        m[sections + PASSIVO_CLAMP_AIM * w + i] = wanted;
        error += fabs(wanted) * m[sections + PASSIVO_CLAMP_GRAIN * w + i];
    }
    passivo_clamp_lower(m, matrices + PASSIVO_CLAMP_INVERSE * w * w, sections + PASSIVO_CLAMP_AIM * w, goal, w);
    squared = passivo_clamp_dot(m, goal, goal, w);
    norm = sqrt(squared);
    reserve = m[PASSIVO_CLAMP_RESERVE] * (longest * longest * norm * (norm + m[PASSIVO_CLAMP_BOUND]) + error);
    missing = reserve - m[PASSIVO_CLAMP_AVAILABLE];
    swing = passivo_clamp_dot(m, swings, swings, w);
    if (missing > 0.0 && swing > 0.0) {
        int root = matrices + PASSIVO_CLAMP_ROOT * w * w;
        double rate = m[PASSIVO_CLAMP_RATE];
        double factor, back;
        int reverses;
        if (missing * elapsed < rate * swing) rate = missing * elapsed / swing;
        factor = rate / elapsed;
        back = -passivo_clamp_dot(m, goal, swings, w);
        reverses = factor * back > squared;
        if (reverses) factor = squared / back;
        for (i = 0; i < w; i++) {
            double total = 0.0;
            for (j = 0; j <= i; j++) total += m[root + i * w + j] * m[swings + j];
            m[sections + PASSIVO_CLAMP_AIM * w + i] += factor * total;
            m[goal + i] += factor * m[swings + i];
        }
        if (reverses && w == 1) {
            m[sections + PASSIVO_CLAMP_AIM * w] = 0.0;
            m[goal] = 0.0;
        }
        if (factor > 0.0) m[PASSIVO_CLAMP_DAMPED] += 1.0;
    }
}

static inline double passivo_clamp_within(double *m, int force, int image)
{
    int w = (int)m[PASSIVO_CLAMP_WIDTH];
    int limits = PASSIVO_CLAMP_HEAD + PASSIVO_CLAMP_LIMIT * w;
    double factor = 1.0;
    int i;
    if (m[PASSIVO_CLAMP_LIMIT_EACH] == 1.0) {
        for (i = 0; i < w; i++)
            if (m[limits + i] > 0.0 && factor * fabs(m[force + i]) > m[limits + i])
                factor = m[limits + i] / fabs(m[force + i]);
    } else if (m[limits] > 0.0) {
        double size = sqrt(passivo_clamp_dot(m, force, force, w));
        if (size > m[limits]) factor = m[limits] / size;
    }
    if (factor < 1.0) {
        for (i = 0; i < w; i++) {
            m[force + i] *= factor;
            m[image + i] *= factor;
        }
    }
    return factor;
}

static inline void passivo_clamp_choose(double *m, double elapsed, double share)
{
    int w = (int)m[PASSIVO_CLAMP_WIDTH];
    int sections = PASSIVO_CLAMP_HEAD;
    int aim = sections + PASSIVO_CLAMP_AIM * w;
    int goal = sections + PASSIVO_CLAMP_GOAL * w;
    int force = sections + PASSIVO_CLAMP_FORCE * w;
    int trial = sections + PASSIVO_CLAMP_TRIAL * w;
    int is_short = passivo_clamp_within(m, aim, goal) < 1.0;
    int i;
    for (i = 0; i < w; i++) {
        m[force + i] = m[aim + i];
        m[trial + i] = m[goal + i];
    }
    if (w == 1) {
        double safe = passivo_clamp_safe(m, elapsed, share);
        if (fabs(m[aim]) > safe) {
            is_short = 1;
            m[force] = m[aim] > 0.0 ? safe : -safe;
        }
    } else if (passivo_clamp_scale(m, elapsed, share) < 1.0) {
        is_short = 1;
        if (m[PASSIVO_CLAMP_PROJECT] == 1.0) {
            passivo_clamp_nearer(m, elapsed, share);
            passivo_clamp_within(m, force, trial);
        }
    }
    if (is_short) m[PASSIVO_CLAMP_LIMITED] += 1.0;
    if (!passivo_clamp_numbers(m, force, w))
        for (i = 0; i < w; i++) m[force + i] = 0.0;
}

static inline void passivo_clamp_hold(double *m, double elapsed, double share)
{
    int w = (int)m[PASSIVO_CLAMP_WIDTH];
    int sections = PASSIVO_CLAMP_HEAD;
    int inverse = sections + PASSIVO_CLAMP_SECTIONS * w + PASSIVO_CLAMP_INVERSE * w * w;
    int trial = sections + PASSIVO_CLAMP_TRIAL * w;
    double squared, norm, quadratic, change = 0.0;
    int i;
    passivo_clamp_lower(m, inverse, sections + PASSIVO_CLAMP_FORCE * w, trial, w);
    squared = passivo_clamp_dot(m, trial, trial, w);
    norm = sqrt(squared);
    quadratic = 0.5 * m[PASSIVO_CLAMP_LONGEST] * m[PASSIVO_CLAMP_LONGEST] * squared;
    m[PASSIVO_CLAMP_NEED] = quadratic + passivo_clamp_linear(m, elapsed, share, norm);
    for (i = 0; i < w; i++) {
        double step = fabs(m[sections + PASSIVO_CLAMP_FORCE * w + i] - m[sections + PASSIVO_CLAMP_BASE * w + i]);
        change += step * m[sections + PASSIVO_CLAMP_GRAIN * w + i];
        m[sections + PASSIVO_CLAMP_PAST * w + i] = m[trial + i];
    }
    m[PASSIVO_CLAMP_LEDGER] -= 0.5 * change;
    m[PASSIVO_CLAMP_PAST_NORM] = norm;
}

/* One tick: `width` positions and wanted forces in, forces out. What is no number is refused and counted. */
static inline void passivo_clamp_tick(
    passivo_clamp *clamp, const double *position, const double *wanted, double elapsed, double *force)
{
    double *m = clamp->m;
    int w = (int)m[PASSIVO_CLAMP_WIDTH];
    int sections = PASSIVO_CLAMP_HEAD;
    int timely = elapsed >= PASSIVO_CLAMP_BRIEF * m[PASSIVO_CLAMP_LONGEST] && elapsed < PASSIVO_CLAMP_HUGE;
    int i;
    for (i = 0; i < w; i++) {
        m[sections + PASSIVO_CLAMP_POSITION * w + i] = position[i];
        m[sections + PASSIVO_CLAMP_WANTED * w + i] = wanted[i];
    }
    m[PASSIVO_CLAMP_TICKS] += 1.0;
    if (!(timely && passivo_clamp_numbers(m, sections + PASSIVO_CLAMP_POSITION * w, w))) {
        m[PASSIVO_CLAMP_REFUSED] += 1.0;
        passivo_clamp_gap(m);
    } else {
        if (!passivo_clamp_numbers(m, sections + PASSIVO_CLAMP_WANTED * w, w)) {
            m[PASSIVO_CLAMP_REFUSED] += 1.0;
            for (i = 0; i < w; i++) m[sections + PASSIVO_CLAMP_WANTED * w + i] = 0.0;
        }
        if (m[PASSIVO_CLAMP_STAGE] == 0.0) {
            for (i = 0; i < w; i++) {
                m[sections + PASSIVO_CLAMP_RAW * w + i] = m[sections + PASSIVO_CLAMP_POSITION * w + i];
                m[sections + PASSIVO_CLAMP_PLACE * w + i] = m[sections + PASSIVO_CLAMP_POSITION * w + i];
                m[sections + PASSIVO_CLAMP_GRAIN * w + i] = m[sections + PASSIVO_CLAMP_RES * w + i];
            }
            m[PASSIVO_CLAMP_RHO_NOW] = m[PASSIVO_CLAMP_RHO];
            m[PASSIVO_CLAMP_STAGE] = m[PASSIVO_CLAMP_SKEW] > 0.0 ? 1.0 : 2.0;
        } else {
            passivo_clamp_measure(m, elapsed);
            if (m[PASSIVO_CLAMP_STAGE] == 1.0) {
                m[PASSIVO_CLAMP_STAGE] = 2.0;
            } else {
                double share;
                passivo_clamp_watch(m, elapsed);
                share = passivo_clamp_account(m, elapsed);
                passivo_clamp_damp(m, elapsed);
                passivo_clamp_choose(m, elapsed, share);
                passivo_clamp_hold(m, elapsed, share);
            }
        }
    }
    for (i = 0; i < w; i++) force[i] = m[sections + PASSIVO_CLAMP_FORCE * w + i];
}

/* Joules absorbed at the port so far, as measured. */
static inline double passivo_clamp_energy(const passivo_clamp *clamp) { return clamp->m[PASSIVO_CLAMP_ABSORBED]; }

/* Times an assumption was surely broken: overdrawn ledger, handle beyond its bounds, force held too long. */
static inline double passivo_clamp_violations(const passivo_clamp *clamp)
{
    return clamp->m[PASSIVO_CLAMP_OVERDRAWN] + clamp->m[PASSIVO_CLAMP_BEYOND] + clamp->m[PASSIVO_CLAMP_OVERLONG];
}

#ifdef __cplusplus
}
#endif
#endif
