"""Ways onto a level set of the energy (spec 1.2): from the predictor to the point with the height asked for. Kernels.

Points are offsets from the minimum, heights are energies above it. A book `b` owns some of the states, or all; a way
moves these and leaves the others. Each way fills LANDED and tells whether it arrived; where it did not, LANDED is
still the predictor.
"""

from __future__ import annotations

from math import exp, inf, log, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.provided import *

GROWTH = 1.25  # of a bracket that does not hold the root yet
FARTHEST = 1e12
ITERATIONS_OF_ROOT = 120
SWEEPS = 60
CLOSE = 1e-4  # of the height: the rest of a field line is taken straight
PIECES = 5000  # of a field line
ACCURACY = 1e-7  # of a piece


def climb(m, b, t):
    """The height of book b at BASE + t DIRECTION."""
    for i in range(STATES):
        m[OFFSET + i] = m[BASE + i] + t * m[DIRECTION + i]
    above(m)
    return m[ABOVE + b]


def steepness(m, b):
    """The slope of the height along DIRECTION, at OFFSET."""
    uphill(m)
    slope = 0.0
    for i in range(STATES):
        if BOOK_OF_STATE[i] == b:
            slope += m[UPHILL + i] * m[DIRECTION + i]
    return slope


def land_there(m, b):
    for i in range(STATES):
        if BOOK_OF_STATE[i] == b:
            m[LANDED + i] = m[OFFSET + i]


def cross(m, b, target, below, beyond, t):
    """The root between `below`, where the height is less than the target, and `beyond`, where it is not: Newton from
    t, halving where Newton leaves the bracket. Always arrives; what rounding leaves is booked."""
    for _ in range(ITERATIONS_OF_ROOT):
        gap = climb(m, b, t) - target
        if abs(gap) <= EPSILON * target:
            break
        if gap < 0.0:
            below = t
        else:
            beyond = t
        new = t - gap / steepness(m, b)
        if not min(below, beyond) < new < max(below, beyond):
            new = 0.5 * (below + beyond)
        if new in (below, beyond):
            break
        t = new
    land_there(m, b)
    return True


def halve(m, b, target, below, beyond):
    """HALVINGS halvings of the bracket, and its middle."""
    for _ in range(HALVINGS):
        t = 0.5 * (below + beyond)
        if climb(m, b, t) < target:
            below = t
        else:
            beyond = t
    climb(m, b, 0.5 * (below + beyond))
    land_there(m, b)
    return True


def outward(m, b, target, last, t):
    """The first t, beyond the one given with height `last`, that is not below the target; inf where the height stops
    growing before."""
    while True:
        t *= GROWTH
        height = climb(m, b, t)
        if height >= target:
            return t
        if not height > last or t > FARTHEST:
            return inf
        last = height


def aim(m, b):
    """DIRECTION from the minimum to the predictor; what the energy does not depend on stays at the predictor."""
    for i in range(STATES):
        moves = BOOK_OF_STATE[i] == b and IN_ENERGY[i] == 1
        m[DIRECTION + i] = m[AHEAD + i] if moves else 0.0
        m[BASE + i] = 0.0 if moves else m[AHEAD + i]


def radial(m, b, target, ahead):
    """Along the ray from the minimum, closed form of a quadratic energy."""
    share = sqrt(target / ahead)
    for i in range(STATES):
        if BOOK_OF_STATE[i] == b and IN_ENERGY[i] == 1:
            m[LANDED + i] = share * m[AHEAD + i]
    return True


def ray(m, b, target, ahead):
    """Along the same ray, for any energy."""
    aim(m, b)
    if ahead > target:
        return cross(m, b, target, 0.0, 1.0, 1.0)
    beyond = outward(m, b, target, ahead, 1.0)
    if beyond == inf:
        return False
    return cross(m, b, target, beyond / GROWTH, beyond, beyond)


def ray_halved(m, b, target, ahead):
    """Along the same ray, by halving alone."""
    aim(m, b)
    if ahead > target:
        return halve(m, b, target, 0.0, 1.0)
    beyond = outward(m, b, target, ahead, 1.0)
    if beyond == inf:
        return False
    return halve(m, b, target, beyond / GROWTH, beyond)


def along_flow(m, b, target, ahead):
    """Along x', the strategy of one state: from the old state through the predictor. Lossless, it stays where it is."""
    for i in range(STATES):
        m[BASE + i] = m[AHEAD + i]
        m[DIRECTION + i] = 0.0
        if BOOK_OF_STATE[i] == b:
            m[BASE + i] = m[STATE + i] - m[ORIGIN + i]
            m[DIRECTION + i] = m[AHEAD + i] - m[BASE + i]
    old = m[OLD + b]
    if old < target:
        beyond = 1.0
        if climb(m, b, 1.0) < target:
            beyond = outward(m, b, target, ahead, 1.0)
        if beyond == inf:
            return False
        return cross(m, b, target, 0.0, beyond, beyond)
    climb(m, b, 0.0)
    if old == target:
        land_there(m, b)
        return True
    if not steepness(m, b) < 0.0:
        return False
    low = 0.0
    high = 1.0
    climb(m, b, high)
    while steepness(m, b) < 0.0 and high < FARTHEST:
        low = high
        high *= 2.0
        climb(m, b, high)
    for _ in range(60):  # the lowest point of the line
        t = 0.5 * (low + high)
        climb(m, b, t)
        if steepness(m, b) < 0.0:
            low = t
        else:
            high = t
    if not climb(m, b, low) < target:
        return False
    return cross(m, b, target, low, 0.0, 0.5 * low)


# -- the Euclidean line exp(Q s) x̄ of a quadratic energy ---------------------------------------------------------------


def ready(m):
    """Eigenvalues and eigenvectors of the energy's matrix by Jacobi's rotations, whenever parameters were set."""
    curvature(m)
    for i in range(STATES):
        for j in range(STATES):
            m[VECTORS + i * STATES + j] = 1.0 if i == j else 0.0
    for _ in range(SWEEPS):
        off = 0.0
        size = 0.0
        for i in range(STATES):
            size += m[CURVATURE + i * STATES + i] ** 2
            for j in range(i):
                off += m[CURVATURE + i * STATES + j] ** 2
        if off <= 1e-44 * size:
            break
        for p in range(STATES):
            for q in range(p + 1, STATES):
                turn(m, p, q)
    for i in range(STATES):
        m[VALUES + i] = m[CURVATURE + i * STATES + i]


def turn(m, p, q):
    """One rotation that brings entry (p, q) to 0."""
    entry = m[CURVATURE + p * STATES + q]
    if entry == 0.0:
        return
    half = 0.5 * (m[CURVATURE + q * STATES + q] - m[CURVATURE + p * STATES + p]) / entry
    tangent = 1.0 / (abs(half) + sqrt(half * half + 1.0))
    if half < 0.0:
        tangent = -tangent
    cosine = 1.0 / sqrt(tangent * tangent + 1.0)
    sine = tangent * cosine
    for k in range(STATES):
        x = m[CURVATURE + k * STATES + p]
        y = m[CURVATURE + k * STATES + q]
        m[CURVATURE + k * STATES + p] = cosine * x - sine * y
        m[CURVATURE + k * STATES + q] = sine * x + cosine * y
        x = m[VECTORS + k * STATES + p]
        y = m[VECTORS + k * STATES + q]
        m[VECTORS + k * STATES + p] = cosine * x - sine * y
        m[VECTORS + k * STATES + q] = sine * x + cosine * y
    for k in range(STATES):
        x = m[CURVATURE + p * STATES + k]
        y = m[CURVATURE + q * STATES + k]
        m[CURVATURE + p * STATES + k] = cosine * x - sine * y
        m[CURVATURE + q * STATES + k] = sine * x + cosine * y
    m[CURVATURE + p * STATES + q] = 0.0
    m[CURVATURE + q * STATES + p] = 0.0


def resolve(m, wanted):
    """COORDINATES of the predictor along the eigenvectors, and BRACKET of s for ln H to change by `wanted`."""
    least = inf
    most = 0.0
    for j in range(STATES):
        c = 0.0
        for i in range(STATES):
            c += m[VECTORS + i * STATES + j] * m[AHEAD + i]
        value = m[VALUES + j]
        m[COORDINATES + j] = c
        if c != 0.0 and value > 0.0:
            least = min(least, value)
            most = max(most, value)
    m[BRACKET] = min(0.5 * wanted / least, 0.5 * wanted / most)
    m[BRACKET + 1] = max(0.5 * wanted / least, 0.5 * wanted / most)


def rise(m, s):
    """How far ln H has changed at s; its slope by s goes to BRACKET + 2. Convex and increasing."""
    top = -inf
    whole = 0.0
    for j in range(STATES):
        value = m[VALUES + j]
        if m[COORDINATES + j] != 0.0 and value > 0.0:
            top = max(top, 2.0 * value * s)
            whole += value * m[COORDINATES + j] ** 2
    total = 0.0
    slope = 0.0
    for j in range(STATES):
        value = m[VALUES + j]
        if m[COORDINATES + j] != 0.0 and value > 0.0:
            part = value * m[COORDINATES + j] ** 2 * exp(2.0 * value * s - top)
            total += part
            slope += 2.0 * value * part
    m[BRACKET + 2] = slope / total
    return top + log(total / whole)


def move(m, s):
    """LANDED = exp(Q s) x̄, formed as a change of x̄."""
    for i in range(STATES):
        m[LANDED + i] = m[AHEAD + i]
    for j in range(STATES):
        a = m[VALUES + j] * s
        if m[COORDINATES + j] != 0.0 and a != 0.0:
            grown = a * exp(0.5 * a) * sinhc(0.5 * a) if abs(a) < 1.0 else exp(a) - 1.0
            for i in range(STATES):
                m[LANDED + i] += m[VECTORS + i * STATES + j] * m[COORDINATES + j] * grown


def euclidean(m, b, target, ahead):
    """Newton from the right end of the bracket: monotone, because ln H is convex along the line."""
    wanted = log(target / ahead)
    resolve(m, wanted)
    s = m[BRACKET + 1]
    for _ in range(ITERATIONS_OF_ROOT):
        gap = rise(m, s) - wanted
        new = s - gap / m[BRACKET + 2]
        if not new < s:
            break
        s = new
    move(m, s)
    return True


def euclidean_halved(m, b, target, ahead):
    """HALVINGS halvings of the same bracket."""
    wanted = log(target / ahead)
    resolve(m, wanted)
    low = m[BRACKET]
    high = m[BRACKET + 1]
    for _ in range(HALVINGS):
        s = 0.5 * (low + high)
        if rise(m, s) < wanted:
            low = s
        else:
            high = s
    move(m, 0.5 * (low + high))
    return True


# -- the field line of any energy -------------------------------------------------------------------------------------


def normal(m, at):
    """dx/dτ = H g/|g|² at OFFSET, τ = ln H, stored at `at`; True where it is finite."""
    above(m)
    uphill(m)
    size = 0.0
    for i in range(STATES):
        size += m[UPHILL + i] ** 2
    for i in range(STATES):
        m[at + i] = m[ABOVE] * m[UPHILL + i] / size
    return 0.0 < size < inf


def piece(m, d):
    """One step of Bogacki and Shampine over d in τ from TRAIL to OFFSET; the error as a share of |x|, inf if none."""
    for i in range(STATES):
        m[OFFSET + i] = m[TRAIL + i] + 0.5 * d * m[PACE + i]
    fine = normal(m, PACE + STATES)
    for i in range(STATES):
        m[OFFSET + i] = m[TRAIL + i] + 0.75 * d * m[PACE + STATES + i]
    fine = normal(m, PACE + 2 * STATES) and fine
    for i in range(STATES):
        mean = (2.0 * m[PACE + i] + 3.0 * m[PACE + STATES + i] + 4.0 * m[PACE + 2 * STATES + i]) / 9.0
        m[OFFSET + i] = m[TRAIL + i] + d * mean
    fine = normal(m, PACE + 3 * STATES) and fine
    if not fine:
        return inf
    error = 0.0
    size = 0.0
    for i in range(STATES):
        first = -5.0 * m[PACE + i] / 72.0 + m[PACE + STATES + i] / 12.0
        error += (d * (first + m[PACE + 2 * STATES + i] / 9.0 - m[PACE + 3 * STATES + i] / 8.0)) ** 2
        size += m[OFFSET + i] ** 2
    return sqrt(error / size)


def field_line(m, b, target, ahead):
    """Follow the field line until the height is close, then straight along its tangent by a bracketed root. Where the
    line cannot be followed, along the ray."""
    for i in range(STATES):
        m[TRAIL + i] = m[AHEAD + i]
        m[OFFSET + i] = m[AHEAD + i]
    fine = normal(m, PACE)
    height = ahead
    size = 0.125
    for _ in range(PIECES):
        span = log(target / height)
        if abs(span) <= CLOSE or not fine:
            break
        d = min(abs(span), size)
        if span < 0.0:
            d = -d
        error = piece(m, d)
        closer = abs(log(target / m[ABOVE])) < abs(span) if m[ABOVE] > 0.0 else False
        if error <= ACCURACY and closer:
            for i in range(STATES):
                m[TRAIL + i] = m[OFFSET + i]
                m[PACE + i] = m[PACE + 3 * STATES + i]
            height = m[ABOVE]
            size = min(0.5, abs(d) * min(4.0, 0.8 * (ACCURACY / max(error, 1e-30)) ** (1.0 / 3.0)))
        else:
            size = 0.5 * abs(d)
            fine = size > 1e-12
    span = log(target / height)
    if not fine or not abs(span) <= CLOSE:
        return ray(m, b, target, ahead)
    for i in range(STATES):
        m[BASE + i] = m[TRAIL + i]
        m[DIRECTION + i] = m[PACE + i]
    width = 4.0 * abs(span)
    if not climb(m, b, -width) < target <= climb(m, b, width):
        if span == 0.0:
            climb(m, b, 0.0)
            land_there(m, b)
            return True
        return ray(m, b, target, ahead)
    return cross(m, b, target, -width, width, span)


LINES = (climb, steepness, land_there, cross, outward, aim)
WAYS = {
    "radial": (radial,),
    "ray": (*LINES, ray),
    "ray_halved": (climb, land_there, halve, outward, aim, ray_halved),
    "along_flow": (*LINES, along_flow),
    "euclidean": (ready, turn, resolve, rise, move, euclidean),
    "euclidean_halved": (ready, turn, resolve, rise, move, euclidean_halved),
    "field_line": (*LINES, ray, normal, piece, field_line),
}
