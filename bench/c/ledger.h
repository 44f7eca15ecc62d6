/* The energy ledger of one part, as an engineer would write it by hand: the same entries that Passivo books per step.
 *
 * Everything is inline and works on a local copy of the struct, so that the compiler may keep it in registers.
 */
#ifndef LEDGER_H
#define LEDGER_H

#include <float.h>
#include <math.h>

typedef struct {
    double value, error; /* a compensated sum */
} Sum;

typedef struct {
    Sum time, work, lost, created, port;
    double rise, fall, roundoff;            /* excess of created up and down beyond rounding, the largest rounding */
    double low, low_time, high, high_time;  /* extremes of created so far */
    double bias, bias_from, bias_to;        /* most energy created in any window */
    double removed, removed_from, removed_to;
    double mark, first, next;               /* the bias remembered at marked steps */
    double count, iterations;
    double mean;                            /* mean output of the last step */
    double rose, fell;                      /* the largest excess beyond the largest rounding of its time */
} Ledger;

static inline void add(Sum *sum, double value) {
    double total = sum->value, next = total + value, part = next - total;
    sum->error += (total - (next - part)) + (value - part);
    sum->value = next;
}

static inline double above_zero(double x) { return x > 0.0 ? x : 0.0; }

/* scale: sum of (|x| + |dx|) |gradient|, the larger of the mean gradient and the one at the end of the step */
static inline void book(Ledger *l, double h, double change, double work, double lost, double scale) {
    add(&l->time, h);
    l->count += 1.0;
    double time = l->time.value + l->time.error;
    double kept = above_zero(lost);
    double created = change - work + kept;
    double roundoff = 16.0 * DBL_EPSILON * (scale + fabs(work) + fabs(lost));
    add(&l->work, work);
    add(&l->lost, kept);
    add(&l->created, created);
    if (roundoff > l->roundoff) l->roundoff = roundoff;
    l->rise = above_zero(l->rise + created - roundoff);
    l->fall = above_zero(l->fall - created - roundoff);
    if (l->rise > l->roundoff && l->rise > l->rose) l->rose = l->rise;
    if (l->fall > l->roundoff && l->fall > l->fell) l->fell = l->fall;

    double total = l->created.value + l->created.error;
    if (total - l->low > l->bias) {
        l->bias = total - l->low;
        l->bias_from = l->low_time;
        l->bias_to = time;
    }
    if (l->high - total > l->removed) {
        l->removed = l->high - total;
        l->removed_from = l->high_time;
        l->removed_to = time;
    }
    if (total < l->low) {
        l->low = total;
        l->low_time = time;
    }
    if (total > l->high) {
        l->high = total;
        l->high_time = time;
    }
    if (l->count >= l->mark) {
        l->first = l->next;
        l->next = l->bias;
        l->mark *= 2.0;
    }
    add(&l->port, work);
}

#endif
