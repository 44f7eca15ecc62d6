"""Scalar functions that formulas need and `math` lacks; kernels, pasted into every generated module.

Quotients such as sin(x)/x are exact enough at any x but 0; their derivatives cancel and use a series near 0.
Small steps are the rule, so sinc and sinhc use theirs as well: it costs less than a call and a division, and
its remainder (2e-21) is below extended precision.
"""

from __future__ import annotations

from math import atan2, atanh, cos, cosh, inf, sin, sinh, tanh


def sinc(x):
    if abs(x) < 0.05:
        y = x * x
        return 1.0 + y * (-1.0 / 6.0 + y * (1.0 / 120.0 + y * (-1.0 / 5040.0 + y * (1.0 / 362880.0))))
    return sin(x) / x


def sinc_slope(x):
    if abs(x) < 0.05:
        return x * (-1.0 / 3.0 + x * x * (1.0 / 30.0 - x * x / 840.0))
    return (cos(x) - sin(x) / x) / x


def sinhc(x):
    if abs(x) < 0.05:
        y = x * x
        return 1.0 + y * (1.0 / 6.0 + y * (1.0 / 120.0 + y * (1.0 / 5040.0 + y * (1.0 / 362880.0))))
    return sinh(x) / x


def sinhc_slope(x):
    if abs(x) < 0.05:
        return x * (1.0 / 3.0 + x * x * (1.0 / 30.0 + x * x / 840.0))
    return (cosh(x) - sinh(x) / x) / x


def tanhc(x):
    return tanh(x) / x if x != 0.0 else 1.0


def tanhc_slope(x):
    if abs(x) < 0.05:
        y = x * x
        return x * (-2.0 / 3.0 + y * (8.0 / 15.0 + y * (-34.0 / 105.0 + y * 496.0 / 2835.0)))
    t = tanh(x)
    return (1.0 - t * t - t / x) / x


def atanhc(x):
    return atanh(x) / x if x != 0.0 else 1.0


def atanhc_slope(x):
    if abs(x) < 0.05:
        y = x * x
        return x * (2.0 / 3.0 + y * (4.0 / 5.0 + y * (6.0 / 7.0 + y * 8.0 / 9.0)))
    return (1.0 / (1.0 - x * x) - atanh(x) / x) / x


def atanc(x, b):
    """atan2(x, b)/x."""
    return atan2(x, b) / x if x != 0.0 else 1.0 / b


def atanc_slope(x, b):
    if abs(x) < 0.05 * b:  # b < 0: the angle is near pi, not near 0
        r = x / b
        y = r * r
        return r * (-2.0 / 3.0 + y * (4.0 / 5.0 + y * (-6.0 / 7.0 + y * 8.0 / 9.0))) / (b * b)
    return (b / (b * b + x * x) - atan2(x, b) / x) / x


def power_slope(x, y, a):
    """(y^a − x^a)/(y − x) for x, y >= 0."""
    d = y - x
    s = x + y
    if abs(d) > 0.5 * s:
        return (y**a - x**a) / d
    if s == 0.0:
        return 0.0 if a > 1.0 else inf
    if d == 0.0:
        return a * x ** (a - 1.0)
    return 2.0 * (x * y) ** (0.5 * a) * sinh(a * atanh(d / s)) / d


def power_slope_end(x, y, a):
    """Its derivative by y."""
    d = y - x
    s = x + y
    if abs(d) <= 1e-4 * s:
        return 0.5 * a * (a - 1.0) * (0.5 * s) ** (a - 2.0) if s > 0.0 else 0.0
    end = a * y ** (a - 1.0) if y > 0.0 or a > 1.0 else 0.0
    return (end - power_slope(x, y, a)) / d


def ratio(top, bottom):
    """top/bottom, 0 where the bottom is 0."""
    return top / bottom if bottom != 0.0 else 0.0


def heaviside(x):
    return 1.0 if x > 0.0 else (0.5 if x == 0.0 else 0.0)


def sign(x):
    return 1.0 if x > 0.0 else (-1.0 if x < 0.0 else x)  # x itself: plain Python raises on 1/0.0, NumPy does not


def cbrt(x):
    if x == 0.0:
        return x
    y = sign(x) * abs(x) ** (1.0 / 3.0)
    return y - (y - x / (y * y)) / 3.0  # 1/3 is rounded: one Newton step to full accuracy, in any precision


KERNELS = (
    sinc, sinc_slope, sinhc, sinhc_slope, tanhc, tanhc_slope, atanhc, atanhc_slope, atanc, atanc_slope,
    power_slope, power_slope_end, ratio, heaviside, sign, cbrt,
)  # fmt: skip
