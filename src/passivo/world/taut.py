"""The law of a scalar spring (spec 4.7): tendons, stops of joints, couplings of drives. Kernels.

Its stretch e moves by d in a step. It stores U = k/2 e², or k/2 max(0, e)² where it can hang slack. Its mean tension is
the discrete gradient F = (U(e + d) − U(e)) / d, whose slope ∂F/∂d lies between 0 and k/2: it is never asked beforehand
whether the spring will be taut. With e⁺ = e + d,

    taut or two-sided   F = k (e + d/2)             slope k/2
    slack               F = 0                       slope 0
    slackens            F = k/2 e r,  r = e/−d      slope k/2 r²
    tightens            F = k/2 e⁺ r, r = e⁺/d      slope k/2 (1 − (e/d)²)

A damper c beside it acts for the share r of the step in which it is taut: c r d/h, that is c/h times the way of
max(0, e).
"""

from __future__ import annotations


def draw(e, d, both):
    """F/k and its slope/k."""
    new = e + d
    if both or (e > 0.0 and new > 0.0):
        return e + 0.5 * d, 0.5
    if e <= 0.0 and new <= 0.0:
        return 0.0, 0.0
    if e > 0.0:
        share = e / -d
        return 0.5 * e * share, 0.5 * share * share
    share = new / d
    return 0.5 * new * share, 0.5 * share * (2.0 - share)


def taut_way(e, d, both):
    """By how much what is taut gets longer: d, or that of max(0, e)."""
    if both:
        return d
    new = e + d
    if e > 0.0:
        return d if new > 0.0 else -e
    return max(new, 0.0)


def taut_stretch(e, both):
    return e if both else max(e, 0.0)


INLINE = (draw, taut_way, taut_stretch)
KERNELS = ()
