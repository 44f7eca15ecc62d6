"""The port ledger clamp as kernels (spec 1.7): the last thing before a force is written to a device.

A force F_k is held on [s_k, s_{k+1}) and opposes the motion: M ẍ = −F + f. The port has absorbed exactly
`E(t) = Σ F_j·(x_{j+1} − x_j) + F_k·(x(t) − x_k)`. Whatever the environment wants, the clamp lets through only forces
with `g(F) <= max(L, 0)`, L a lower bound of E0 + E, and then E(t) >= −E0 at every instant, also inside the holds:

    g(F) = (Θ²/2)(‖F‖² + h‖F‖) + (Θτ/2) C(F) − (Θ/τ)(F·d − |F|_r),  C(F) = (F'W F_p + ‖F‖‖F_p‖)/2 + h‖F‖
    one wide, sharper:                                               C(F) = |F| max(σF_p + Fh, 0)/m

with ‖F‖² = F'W F, W the inverse of the least mass, d the last measured increment, τ its time, F_p the last force and
|F|_r = Σ r_i |F_i| the encoder's error. With M_min = R R' (Cholesky), y = R⁻¹F has |y|² = F'W F, and F·d = y·(R'd).

One clamp is a block of the memory `m` that begins at `at`: a head of numbers, then sections of `width` numbers, then
matrices. Plain functions without free names but each other: the same source in plain Python, Numba and CUDA, and line
by line in `include/passivo_clamp.h`, which gives the same forces to the last bit. So: products instead of powers,
comparisons instead of max and min, no sum in another order, and nothing divided by what may be 0.
"""

from __future__ import annotations

from math import sqrt

# options in the head; `setup` fills them
CLAMP_WIDTH = 0
CLAMP_LONGEST = 1  # Θ: no hold lasts longer, or the watchdog cuts it there
CLAMP_WATCHDOG = 2  # 1: there is one
CLAMP_PROJECT = 3  # 1: project in the mass metric, 0: scale the wanted force
CLAMP_CREDIT = 4  # E0
CLAMP_FLOOR = 5  # E_floor
CLAMP_STIFFNESS = 6  # K_fl
CLAMP_DAMPING = 7  # α_max; negative: 0.67 mass/period
CLAMP_RESERVE = 8  # κ
CLAMP_SKEW = 9  # δ
CLAMP_SHARE = 10  # η
CLAMP_HAND_EACH = 11  # 1: one bound per component, 0: the first bounds the Euclidean norm
CLAMP_LIMIT_EACH = 12
CLAMP_PERIOD = 13
# derived by `clamp_begin`
CLAMP_BOUND = 14  # h, the largest ‖f‖
CLAMP_YIELD = 15  # 1/(2 ω_fl²)
CLAMP_RATE = 16  # α_max by mass, 1/s
CLAMP_RHO = 17  # ρ of the encoder
CLAMP_RHO_DRIFT = 18  # ρ of the extrapolation's error
# what changes from tick to tick
CLAMP_STAGE = 19  # samples since the start or the last gap: 0, 1, or 2 for any more
CLAMP_LEDGER = 20  # P
CLAMP_LOWER = 21  # L before it is cut at 0
CLAMP_AVAILABLE = 22  # max(L, 0)
CLAMP_NEED = 23  # g of the force being held
CLAMP_DEBT = 24  # D
CLAMP_PAST_NORM = 25  # ‖F_p‖
CLAMP_RHO_NOW = 26  # ρ at this tick, and the mean of this and the last
CLAMP_RHO_MEAN = 27
CLAMP_PACE = 28  # what the last hold may have changed the mean speed by; negative: there was none
# what is told
CLAMP_TICKS = 29
CLAMP_LIMITED = 30  # the force was not the wanted one
CLAMP_DAMPED = 31  # damping was added to the wanted force
CLAMP_CUT = 32  # the watchdog had cut the force
CLAMP_OVERLONG = 33  # a hold outlasted Θ and there is no watchdog
CLAMP_OVERDRAWN = 34  # more energy went out than the assumptions allow
CLAMP_BEYOND = 35  # the handle accelerated more than the assumptions allow
CLAMP_STRESS = 36  # the largest such acceleration as a multiple of the bound
CLAMP_REFUSED = 37  # positions, forces or times that were no finite numbers
CLAMP_ABSORBED = 38  # energy absorbed so far, as measured
CLAMP_LEAST = 39  # the least of it
CLAMP_HEAD = 40
# sections of `width` numbers after the head
CLAMP_POSITION = 0  # in: as measured
CLAMP_WANTED = 1  # in
CLAMP_FORCE = 2  # out
CLAMP_RES = 3  # option: the encoder's steps
CLAMP_DRAG = 4  # option: damping of the device
CLAMP_HAND = 5  # option
CLAMP_LIMIT = 6  # option
CLAMP_DRIFT = 7  # bound of the accelerations, for the extrapolation
CLAMP_RAW = 8  # last measured position
CLAMP_PLACE = 9  # where the handle was when the force was written
CLAMP_MOVE = 10  # d
CLAMP_SWING = 11  # R'd
CLAMP_GRAIN = 12  # r at this tick
CLAMP_GRAIN_MEAN = 13  # mean of this and the last: bounds the error of d
CLAMP_BASE = 14  # F_ab
CLAMP_PAST = 15  # R⁻¹F_p
CLAMP_SPEED = 16  # R'd/τ of the last hold
CLAMP_AIM = 17  # the wanted force after damping
CLAMP_GOAL = 18  # R⁻¹ of it
CLAMP_TRIAL = 19  # R⁻¹ of the force on trial
CLAMP_SLOPE = 20  # c/2a of the projection
CLAMP_SECTIONS = 21
# matrices after the sections
CLAMP_MASS = 0
CLAMP_ROOT = 1  # R
CLAMP_INVERSE = 2  # R⁻¹
CLAMP_SCRATCH = 3
CLAMP_MATRICES = 4

CLAMP_WIDEST = 8
CLAMP_USUAL = 0.67  # damping by mass and period
CLAMP_SWEEPS = 40
CLAMP_HALVINGS = 54
CLAMP_SLACK = 1e-9  # of a bound, before it is said to be broken
CLAMP_ROUNDING = 1e-15  # of a position, the same
CLAMP_HUGE = 1e60  # from here on a number is none: nothing below overflows
CLAMP_TINY = 1e-60  # up to here energy is none: below, rounding is no longer relative
CLAMP_BRIEF = 1e-9  # of Θ: a shorter time is none


# -- set-up ------------------------------------------------------------------------------------------------------------


def clamp_begin(m, at):
    """Derive everything from the options, then reset. Returns 0, or i where row i of the mass is not positive."""
    w = int(m[at + CLAMP_WIDTH])
    sections = at + CLAMP_HEAD
    matrices = sections + CLAMP_SECTIONS * w
    failed = clamp_factor(m, matrices, w)
    if failed != 0:
        return failed
    inverse = matrices + CLAMP_INVERSE * w * w
    scratch = matrices + CLAMP_SCRATCH * w * w
    for i in range(w):
        for j in range(w):
            total = 0.0
            for k in range(w):
                total += m[inverse + k * w + i] * m[inverse + k * w + j]
            m[scratch + i * w + j] = total  # W
    hand = clamp_corner(m, scratch, sections + CLAMP_HAND * w, w)
    most = clamp_corner(m, scratch, sections + CLAMP_LIMIT * w, w)
    for i in range(w):
        m[sections + CLAMP_DRIFT * w + i] = sqrt(m[scratch + i * w + i])
    softest = sqrt(clamp_largest(m, scratch, w))
    if m[at + CLAMP_HAND_EACH] == 0.0:
        hand = m[sections + CLAMP_HAND * w] * softest
    if m[at + CLAMP_LIMIT_EACH] == 0.0:
        most = m[sections + CLAMP_LIMIT * w] * softest
    m[at + CLAMP_BOUND] = hand
    mean = 0.0
    for i in range(w):
        mean += m[matrices + CLAMP_MASS * w * w + i * w + i]
        if m[at + CLAMP_SKEW] > 0.0:
            m[sections + CLAMP_DRIFT * w + i] *= most + hand
        else:
            m[sections + CLAMP_DRIFT * w + i] = 0.0
    mean /= w
    m[at + CLAMP_YIELD] = mean / (2.0 * m[at + CLAMP_STIFFNESS])
    if m[at + CLAMP_DAMPING] < 0.0:
        m[at + CLAMP_RATE] = CLAMP_USUAL / m[at + CLAMP_PERIOD]
    else:
        m[at + CLAMP_RATE] = m[at + CLAMP_DAMPING] / mean
    m[at + CLAMP_RHO] = clamp_corner(m, matrices, sections + CLAMP_RES * w, w)
    m[at + CLAMP_RHO_DRIFT] = clamp_corner(m, matrices, sections + CLAMP_DRIFT * w, w)
    clamp_reset(m, at)
    return 0


def clamp_reset(m, at):
    """Back to the start: no sample yet, the ledger at E0, no force, nothing counted."""
    w = int(m[at + CLAMP_WIDTH])
    sections = at + CLAMP_HEAD
    for i in range(CLAMP_STAGE, CLAMP_HEAD):
        m[at + i] = 0.0
    for i in range(CLAMP_RAW * w, CLAMP_SECTIONS * w):
        m[sections + i] = 0.0
    for i in range(w):
        m[sections + CLAMP_FORCE * w + i] = 0.0
    m[at + CLAMP_LEDGER] = m[at + CLAMP_CREDIT]
    m[at + CLAMP_LOWER] = m[at + CLAMP_CREDIT]
    m[at + CLAMP_AVAILABLE] = m[at + CLAMP_CREDIT]
    m[at + CLAMP_PACE] = -1.0


def clamp_factor(m, matrices, w):
    """R with mass = R R', and its inverse. Returns 0, or i where the i-th pivot (from 1) is not positive."""
    mass = matrices + CLAMP_MASS * w * w
    root = matrices + CLAMP_ROOT * w * w
    inverse = matrices + CLAMP_INVERSE * w * w
    for i in range(w):
        for j in range(w):
            m[root + i * w + j] = 0.0
            m[inverse + i * w + j] = 0.0
        for j in range(i + 1):
            rest = m[mass + i * w + j]
            for k in range(j):
                rest -= m[root + i * w + k] * m[root + j * w + k]
            if j < i:
                m[root + i * w + j] = rest / m[root + j * w + j]
            elif rest > 0.0:
                m[root + i * w + i] = sqrt(rest)
            else:
                return i + 1
    for j in range(w):
        m[inverse + j * w + j] = 1.0 / m[root + j * w + j]
        for i in range(j + 1, w):
            total = 0.0
            for k in range(j, i):
                total += m[root + i * w + k] * m[inverse + k * w + j]
            m[inverse + i * w + j] = -total / m[root + i * w + i]
    return 0


def clamp_corner(m, square, values, w):
    """The largest √(v'Av) over all signs of the numbers in `values`."""
    largest = 0.0
    for corner in range(1 << (w - 1)):
        total = 0.0
        for i in range(w):
            for j in range(w):
                term = m[values + i] * m[values + j] * m[square + i * w + j]
                if ((corner >> i) & 1) == ((corner >> j) & 1):
                    total += term
                else:
                    total -= term
        if total > largest:
            largest = total
    return sqrt(largest)


def clamp_largest(m, square, w):
    """The largest eigenvalue of a positive matrix by Jacobi's rotations; the matrix is overwritten."""
    for _ in range(CLAMP_SWEEPS):
        turned = 0
        for p in range(w - 1):
            for q in range(p + 1, w):
                off = m[square + p * w + q]
                small = m[square + p * w + p]
                large = m[square + q * w + q]
                if abs(off) <= 1e-17 * sqrt(abs(small * large)):
                    continue
                turned += 1
                ratio = (large - small) / (2.0 * off)
                tangent = 1.0 / (abs(ratio) + sqrt(ratio * ratio + 1.0))
                if ratio < 0.0:
                    tangent = -tangent
                cosine = 1.0 / sqrt(tangent * tangent + 1.0)
                sine = tangent * cosine
                for k in range(w):
                    left = m[square + k * w + p]
                    right = m[square + k * w + q]
                    m[square + k * w + p] = cosine * left - sine * right
                    m[square + k * w + q] = sine * left + cosine * right
                for k in range(w):
                    left = m[square + p * w + k]
                    right = m[square + q * w + k]
                    m[square + p * w + k] = cosine * left - sine * right
                    m[square + q * w + k] = sine * left + cosine * right
        if turned == 0:
            break
    largest = 0.0
    for i in range(w):
        if m[square + i * w + i] > largest:
            largest = m[square + i * w + i]
    return largest


# -- one tick ----------------------------------------------------------------------------------------------------------


def clamp_tick(m, at, elapsed):
    """From POSITION and WANTED to FORCE; `elapsed` is the true time since the last tick.

    What is no number is refused and counted: a bad position or time gives no force, costs what the held force may have
    given out at worst, and opens a gap; a bad wanted force counts as none.
    """
    w = int(m[at + CLAMP_WIDTH])
    sections = at + CLAMP_HEAD
    m[at + CLAMP_TICKS] += 1.0
    timely = elapsed >= CLAMP_BRIEF * m[at + CLAMP_LONGEST] and elapsed < CLAMP_HUGE
    if not (timely and clamp_numbers(m, sections + CLAMP_POSITION * w, w)):
        m[at + CLAMP_REFUSED] += 1.0
        clamp_gap(m, at)
        return
    if not clamp_numbers(m, sections + CLAMP_WANTED * w, w):
        m[at + CLAMP_REFUSED] += 1.0
        for i in range(w):
            m[sections + CLAMP_WANTED * w + i] = 0.0
    if m[at + CLAMP_STAGE] == 0.0:
        for i in range(w):
            m[sections + CLAMP_RAW * w + i] = m[sections + CLAMP_POSITION * w + i]
            m[sections + CLAMP_PLACE * w + i] = m[sections + CLAMP_POSITION * w + i]
            m[sections + CLAMP_GRAIN * w + i] = m[sections + CLAMP_RES * w + i]
        m[at + CLAMP_RHO_NOW] = m[at + CLAMP_RHO]
        m[at + CLAMP_STAGE] = 1.0 if m[at + CLAMP_SKEW] > 0.0 else 2.0
        return
    clamp_measure(m, at, elapsed)
    if m[at + CLAMP_STAGE] == 1.0:  # a place cannot be extrapolated from one sample: there is no increment yet
        m[at + CLAMP_STAGE] = 2.0
        return
    clamp_watch(m, at, elapsed)
    share = clamp_account(m, at, elapsed)
    clamp_damp(m, at, elapsed)
    clamp_choose(m, at, elapsed, share)
    clamp_hold(m, at, elapsed, share)


def clamp_numbers(m, values, w):
    """Whether all of them are: no NaN, no infinity, nothing beyond all sense."""
    for i in range(w):
        if not abs(m[values + i]) < CLAMP_HUGE:
            return False
    return True


def clamp_gap(m, at):
    """No force, and a new start of the samples; the ledger falls by all that the held force may have given out."""
    w = int(m[at + CLAMP_WIDTH])
    sections = at + CLAMP_HEAD
    m[at + CLAMP_LEDGER] = clamp_worst(m, at)
    m[at + CLAMP_LOWER] = m[at + CLAMP_LEDGER]
    for i in range(w):
        m[sections + CLAMP_FORCE * w + i] = 0.0
        m[sections + CLAMP_BASE * w + i] = 0.0
        m[sections + CLAMP_PAST * w + i] = 0.0
    m[at + CLAMP_PAST_NORM] = 0.0
    m[at + CLAMP_NEED] = 0.0
    m[at + CLAMP_PACE] = -1.0
    m[at + CLAMP_STAGE] = 0.0


def clamp_worst(m, at):
    """The ledger where the work of the held force is not known: it gave out at most g. Booked as absorbed, too."""
    need = m[at + CLAMP_NEED]
    low = m[at + CLAMP_LOWER]
    if need > 0.0:
        low -= need
        clamp_absorb(m, at, -need)
    if low < -m[at + CLAMP_DEBT]:
        low = -m[at + CLAMP_DEBT]
    return low


def clamp_absorb(m, at, work):
    """Sum up the absorbed energy, and keep the least of it."""
    m[at + CLAMP_ABSORBED] += work
    if m[at + CLAMP_ABSORBED] < m[at + CLAMP_LEAST]:
        m[at + CLAMP_LEAST] = m[at + CLAMP_ABSORBED]


def clamp_measure(m, at, elapsed):
    """PLACE at the instant of writing, MOVE = d, SWING = R'd, and how far each may be wrong."""
    w = int(m[at + CLAMP_WIDTH])
    sections = at + CLAMP_HEAD
    root = sections + CLAMP_SECTIONS * w + CLAMP_ROOT * w * w
    skew = m[at + CLAMP_SKEW]
    noise = 1.0 + 2.0 * skew / elapsed
    drift = skew * (elapsed + skew)
    for i in range(w):
        raw = m[sections + CLAMP_POSITION * w + i]
        place = raw + skew * ((raw - m[sections + CLAMP_RAW * w + i]) / elapsed)
        grain = m[sections + CLAMP_RES * w + i] * noise + m[sections + CLAMP_DRIFT * w + i] * drift
        m[sections + CLAMP_GRAIN_MEAN * w + i] = 0.5 * (m[sections + CLAMP_GRAIN * w + i] + grain)
        m[sections + CLAMP_GRAIN * w + i] = grain
        m[sections + CLAMP_MOVE * w + i] = place - m[sections + CLAMP_PLACE * w + i]
        m[sections + CLAMP_PLACE * w + i] = place
        m[sections + CLAMP_RAW * w + i] = raw
    rho = m[at + CLAMP_RHO] * noise + m[at + CLAMP_RHO_DRIFT] * drift
    m[at + CLAMP_RHO_MEAN] = 0.5 * (m[at + CLAMP_RHO_NOW] + rho)
    m[at + CLAMP_RHO_NOW] = rho
    for j in range(w):
        total = 0.0
        for i in range(j, w):
            total += m[root + i * w + j] * m[sections + CLAMP_MOVE * w + i]
        m[sections + CLAMP_SWING * w + j] = total


def clamp_watch(m, at, elapsed):
    """Count where the mean speed changed by more than the held forces, hand and mass allow: A2 does not hold then."""
    w = int(m[at + CLAMP_WIDTH])
    sections = at + CLAMP_HEAD
    root = sections + CLAMP_SECTIONS * w + CLAMP_ROOT * w * w
    pace = 0.5 * elapsed * (m[at + CLAMP_PAST_NORM] + m[at + CLAMP_BOUND]) + m[at + CLAMP_RHO_MEAN] / elapsed
    total = 0.0
    rounding = 0.0
    for j in range(w):
        speed = m[sections + CLAMP_SWING * w + j] / elapsed
        change = speed - m[sections + CLAMP_SPEED * w + j]
        total += change * change
        m[sections + CLAMP_SPEED * w + j] = speed
        for i in range(j, w):
            rounding += abs(m[root + i * w + j] * m[sections + CLAMP_PLACE * w + i])
    if m[at + CLAMP_PACE] >= 0.0:
        allowed = (m[at + CLAMP_PACE] + pace) * (1.0 + CLAMP_SLACK) + 4.0 * CLAMP_ROUNDING * rounding / elapsed
        change = sqrt(total)
        if change > allowed:
            m[at + CLAMP_BEYOND] += 1.0
            if allowed > 0.0 and change / allowed > m[at + CLAMP_STRESS]:
                m[at + CLAMP_STRESS] = change / allowed
    m[at + CLAMP_PACE] = pace


def clamp_account(m, at, elapsed):
    """Book the work of the hold that ended, find what may be given out now.

    Returns the share of F_p in the velocity: 1, less where the watchdog cut it (its push came early in the hold).
    """
    w = int(m[at + CLAMP_WIDTH])
    sections = at + CLAMP_HEAD
    longest = m[at + CLAMP_LONGEST]
    work = 0.0
    size = 0.0
    rounding = 0.0
    error = 0.0
    half = 0.0
    credit = 0.0
    for i in range(w):
        force = m[sections + CLAMP_FORCE * w + i]
        move = m[sections + CLAMP_MOVE * w + i]
        work += force * move
        size += abs(force * move)
        rounding += abs(force * m[sections + CLAMP_PLACE * w + i])
        error += abs(force) * m[sections + CLAMP_GRAIN_MEAN * w + i]
        half += 0.5 * abs(force) * m[sections + CLAMP_GRAIN * w + i]
        sure = abs(move) - m[sections + CLAMP_GRAIN_MEAN * w + i]
        if sure > 0.0:
            credit += m[sections + CLAMP_DRAG * w + i] * sure * sure
    credit *= m[at + CLAMP_SHARE] / elapsed
    share = 1.0
    if elapsed > longest and m[at + CLAMP_WATCHDOG] == 1.0:
        m[at + CLAMP_CUT] += 1.0
        share = (longest / elapsed) * (longest / elapsed)
        lower = clamp_worst(m, at) + credit
        m[at + CLAMP_LEDGER] = lower
        for i in range(w):
            m[sections + CLAMP_BASE * w + i] = 0.0
    else:
        if elapsed > longest:
            m[at + CLAMP_OVERLONG] += 1.0
        clamp_absorb(m, at, work)
        m[at + CLAMP_LEDGER] += work + credit
        lower = m[at + CLAMP_LEDGER] - half
        for i in range(w):
            m[sections + CLAMP_BASE * w + i] = m[sections + CLAMP_FORCE * w + i]
        lack = -(work + error) - m[at + CLAMP_AVAILABLE]
        if lack > 0.0:  # A1 to A3 did not hold: a real debt
            m[at + CLAMP_DEBT] += lack
            if lack > CLAMP_SLACK * (size + m[at + CLAMP_AVAILABLE]) + 4.0 * CLAMP_ROUNDING * rounding:
                m[at + CLAMP_OVERDRAWN] += 1.0
        if lower >= 0.0:
            m[at + CLAMP_DEBT] = 0.0
        if lower < -m[at + CLAMP_DEBT]:  # pessimism about the encoder alone: forgiven
            lower = -m[at + CLAMP_DEBT]
            m[at + CLAMP_LEDGER] = lower
            for i in range(w):
                m[sections + CLAMP_BASE * w + i] = 0.0
    norm = m[at + CLAMP_PAST_NORM]
    cap = m[at + CLAMP_CREDIT] + m[at + CLAMP_YIELD] * norm * norm
    cap += longest * longest * norm * (norm + m[at + CLAMP_BOUND]) + 2.0 * half
    if cap < m[at + CLAMP_FLOOR]:
        cap = m[at + CLAMP_FLOOR]
    if lower > cap:  # no unlimited banking of credit
        m[at + CLAMP_LEDGER] -= lower - cap
        lower = cap
    m[at + CLAMP_LOWER] = lower
    m[at + CLAMP_AVAILABLE] = lower if lower > CLAMP_TINY else 0.0
    return share


def clamp_damp(m, at, elapsed):
    """AIM and GOAL: the wanted force, with damping added where energy to hold it lacks, but never reversed."""
    w = int(m[at + CLAMP_WIDTH])
    sections = at + CLAMP_HEAD
    matrices = sections + CLAMP_SECTIONS * w
    longest = m[at + CLAMP_LONGEST]
    error = 0.0
    for i in range(w):
        wanted = m[sections + CLAMP_WANTED * w + i]
        m[sections + CLAMP_AIM * w + i] = wanted
        error += abs(wanted) * m[sections + CLAMP_GRAIN * w + i]
    clamp_lower(m, matrices + CLAMP_INVERSE * w * w, sections + CLAMP_AIM * w, sections + CLAMP_GOAL * w, w)
    squared = clamp_dot(m, sections + CLAMP_GOAL * w, sections + CLAMP_GOAL * w, w)
    norm = sqrt(squared)
    reserve = m[at + CLAMP_RESERVE] * (longest * longest * norm * (norm + m[at + CLAMP_BOUND]) + error)
    missing = reserve - m[at + CLAMP_AVAILABLE]
    swing = clamp_dot(m, sections + CLAMP_SWING * w, sections + CLAMP_SWING * w, w)
    if missing > 0.0 and swing > 0.0:
        rate = m[at + CLAMP_RATE]
        if missing * elapsed < rate * swing:
            rate = missing * elapsed / swing
        factor = rate / elapsed
        back = -clamp_dot(m, sections + CLAMP_GOAL * w, sections + CLAMP_SWING * w, w)
        reverses = factor * back > squared
        if reverses:
            factor = squared / back
        root = matrices + CLAMP_ROOT * w * w
        for i in range(w):
            total = 0.0
            for j in range(i + 1):
                total += m[root + i * w + j] * m[sections + CLAMP_SWING * w + j]
            m[sections + CLAMP_AIM * w + i] += factor * total
            m[sections + CLAMP_GOAL * w + i] += factor * m[sections + CLAMP_SWING * w + i]
        if reverses and w == 1:
            m[sections + CLAMP_AIM * w] = 0.0
            m[sections + CLAMP_GOAL * w] = 0.0
        if factor > 0.0:
            m[at + CLAMP_DAMPED] += 1.0


def clamp_choose(m, at, elapsed, share):
    """FORCE: the aim where the ledger pays for it, else the nearest or the largest one that it pays for."""
    w = int(m[at + CLAMP_WIDTH])
    sections = at + CLAMP_HEAD
    short = 1 if clamp_within(m, at, sections + CLAMP_AIM * w, sections + CLAMP_GOAL * w) < 1.0 else 0
    for i in range(w):
        m[sections + CLAMP_FORCE * w + i] = m[sections + CLAMP_AIM * w + i]
        m[sections + CLAMP_TRIAL * w + i] = m[sections + CLAMP_GOAL * w + i]
    if w == 1:
        safe = clamp_safe(m, at, elapsed, share)
        if abs(m[sections + CLAMP_AIM * w]) > safe:
            short = 1
            m[sections + CLAMP_FORCE * w] = safe if m[sections + CLAMP_AIM * w] > 0.0 else -safe
    elif clamp_scale(m, at, elapsed, share) < 1.0:
        short = 1
        if m[at + CLAMP_PROJECT] == 1.0:
            clamp_nearer(m, at, elapsed, share)
            clamp_within(m, at, sections + CLAMP_FORCE * w, sections + CLAMP_TRIAL * w)  # it may point elsewhere
    if short == 1:
        m[at + CLAMP_LIMITED] += 1.0
    if not clamp_numbers(m, sections + CLAMP_FORCE * w, w):  # never seen
        for i in range(w):
            m[sections + CLAMP_FORCE * w + i] = 0.0


def clamp_within(m, at, force, image):
    """Shrink a force, and R⁻¹ of it, to the limit; returns the factor. The ledger pays for less, too."""
    w = int(m[at + CLAMP_WIDTH])
    limits = at + CLAMP_HEAD + CLAMP_LIMIT * w
    factor = 1.0
    if m[at + CLAMP_LIMIT_EACH] == 1.0:
        for i in range(w):
            if m[limits + i] > 0.0 and factor * abs(m[force + i]) > m[limits + i]:
                factor = m[limits + i] / abs(m[force + i])
    elif m[limits] > 0.0:
        size = sqrt(clamp_dot(m, force, force, w))
        if size > m[limits]:
            factor = m[limits] / size
    if factor < 1.0:
        for i in range(w):
            m[force + i] *= factor
            m[image + i] *= factor
    return factor


def clamp_hold(m, at, elapsed, share):
    """The force is going to be held: what it needs, what a change of it costs, and what the next tick must know."""
    w = int(m[at + CLAMP_WIDTH])
    sections = at + CLAMP_HEAD
    inverse = sections + CLAMP_SECTIONS * w + CLAMP_INVERSE * w * w
    clamp_lower(m, inverse, sections + CLAMP_FORCE * w, sections + CLAMP_TRIAL * w, w)
    squared = clamp_dot(m, sections + CLAMP_TRIAL * w, sections + CLAMP_TRIAL * w, w)
    norm = sqrt(squared)
    quadratic = 0.5 * m[at + CLAMP_LONGEST] * m[at + CLAMP_LONGEST] * squared
    m[at + CLAMP_NEED] = quadratic + clamp_linear(m, at, elapsed, share, norm)
    change = 0.0
    for i in range(w):
        step = abs(m[sections + CLAMP_FORCE * w + i] - m[sections + CLAMP_BASE * w + i])
        change += step * m[sections + CLAMP_GRAIN * w + i]
        m[sections + CLAMP_PAST * w + i] = m[sections + CLAMP_TRIAL * w + i]
    m[at + CLAMP_LEDGER] -= 0.5 * change
    m[at + CLAMP_PAST_NORM] = norm


# -- what a force needs ------------------------------------------------------------------------------------------------


def clamp_lower(m, matrix, vector, result, w):
    """result = A v with A lower triangular."""
    for i in range(w):
        total = 0.0
        for j in range(i + 1):
            total += m[matrix + i * w + j] * m[vector + j]
        m[result + i] = total


def clamp_dot(m, a, b, w):
    """a·b."""
    total = 0.0
    for i in range(w):
        total += m[a + i] * m[b + i]
    return total


def clamp_linear(m, at, elapsed, share, norm):
    """The part of g that grows with the size of FORCE; TRIAL is R⁻¹ of it and `norm` its length."""
    w = int(m[at + CLAMP_WIDTH])
    sections = at + CLAMP_HEAD
    longest = m[at + CLAMP_LONGEST]
    bound = m[at + CLAMP_BOUND]
    along = share * clamp_dot(m, sections + CLAMP_TRIAL * w, sections + CLAMP_PAST * w, w)
    if w == 1:
        if share < 1.0 and along < 0.0:  # a cut force that helped may have been cut early
            along = 0.0
        push = along + bound * norm
        if push < 0.0:
            push = 0.0
    else:
        push = 0.5 * (along + share * norm * m[at + CLAMP_PAST_NORM]) + bound * norm
    sure = 0.0
    for i in range(w):
        force = m[sections + CLAMP_FORCE * w + i]
        sure += force * m[sections + CLAMP_MOVE * w + i] - abs(force) * m[sections + CLAMP_GRAIN_MEAN * w + i]
    return 0.5 * longest * longest * bound * norm + 0.5 * longest * elapsed * push - (longest / elapsed) * sure


def clamp_root(a, b, level):
    """The positive root of a s² + b s = level >= 0."""
    depth = sqrt(b * b + 4.0 * a * level)
    if b > 0.0:
        return 2.0 * level / (b + depth)
    return (depth - b) / (2.0 * a)


def clamp_safe(m, at, elapsed, share):
    """One wide: the largest force in the direction of the aim that the ledger pays for."""
    sections = at + CLAMP_HEAD
    root = m[sections + CLAMP_SECTIONS + CLAMP_ROOT]
    mass = m[sections + CLAMP_SECTIONS + CLAMP_MASS]
    longest = m[at + CLAMP_LONGEST]
    hand = m[at + CLAMP_BOUND] * root
    sign = 1.0 if m[sections + CLAMP_AIM] > 0.0 else -1.0
    along = share * sign * m[sections + CLAMP_PAST] * root
    if share < 1.0 and along < 0.0:  # as above
        along = 0.0
    push = along + hand
    if push < 0.0:
        push = 0.0
    sure = sign * m[sections + CLAMP_MOVE] - m[sections + CLAMP_GRAIN_MEAN]
    square = 0.5 * longest * longest / mass
    linear = 0.5 * longest * elapsed * push / mass + square * hand - (longest / elapsed) * sure
    return clamp_root(square, linear, m[at + CLAMP_AVAILABLE])


def clamp_scale(m, at, elapsed, share):
    """Shrink FORCE and TRIAL until the ledger pays for them; returns the factor."""
    w = int(m[at + CLAMP_WIDTH])
    sections = at + CLAMP_HEAD
    squared = clamp_dot(m, sections + CLAMP_TRIAL * w, sections + CLAMP_TRIAL * w, w)
    square = 0.5 * m[at + CLAMP_LONGEST] * m[at + CLAMP_LONGEST] * squared
    linear = clamp_linear(m, at, elapsed, share, sqrt(squared))
    if square + linear <= m[at + CLAMP_AVAILABLE]:
        return 1.0
    factor = clamp_root(square, linear, m[at + CLAMP_AVAILABLE])
    if factor > 1.0:
        factor = 1.0
    for i in range(w):
        m[sections + CLAMP_FORCE * w + i] *= factor
        m[sections + CLAMP_TRIAL * w + i] *= factor
    return factor


def clamp_nearer(m, at, elapsed, share):
    """Put the projected force in the place of the scaled one where it is nearer to the goal in the mass metric.

    It nearly always is; but the projection counts the encoder's error by ρ‖F‖ >= |F|_r, and the scaled force by |F|_r.
    """
    w = int(m[at + CLAMP_WIDTH])
    sections = at + CLAMP_HEAD
    scratch = sections + CLAMP_SECTIONS * w + CLAMP_SCRATCH * w * w
    for i in range(w):
        m[scratch + i] = m[sections + CLAMP_FORCE * w + i]
    scaled = clamp_distance(m, at)
    clamp_project(m, at, elapsed, share)
    clamp_scale(m, at, elapsed, share)  # rounding may have put it a little outside
    if not clamp_distance(m, at) <= scaled:
        for i in range(w):
            m[sections + CLAMP_FORCE * w + i] = m[scratch + i]


def clamp_distance(m, at):
    """|TRIAL − GOAL|²."""
    w = int(m[at + CLAMP_WIDTH])
    sections = at + CLAMP_HEAD
    total = 0.0
    for i in range(w):
        gap = m[sections + CLAMP_TRIAL * w + i] - m[sections + CLAMP_GOAL * w + i]
        total += gap * gap
    return total


def clamp_project(m, at, elapsed, share):
    """TRIAL and FORCE: the point nearest to GOAL with a|y|² + c·y + β|y| <= L.

    The optimum lies on y(μ) = p/|p| max(0, |p| − μ β/2a), p = (1 − μ) y_w − μ c/2a, 0 <= μ <= 1, along which the
    constraint falls to its least value; μ = 2aλ/(1 + 2aλ) for the multiplier λ. Halving keeps the feasible end.
    """
    w = int(m[at + CLAMP_WIDTH])
    sections = at + CLAMP_HEAD
    longest = m[at + CLAMP_LONGEST]
    bound = m[at + CLAMP_BOUND]
    twice = longest * longest  # 2a
    beta = 0.5 * longest * elapsed * (0.5 * share * m[at + CLAMP_PAST_NORM] + bound) + 0.5 * twice * bound
    beta = (beta + (longest / elapsed) * m[at + CLAMP_RHO_MEAN]) / twice
    for i in range(w):
        slope = 0.25 * longest * elapsed * share * m[sections + CLAMP_PAST * w + i]
        slope -= (longest / elapsed) * m[sections + CLAMP_SWING * w + i]
        m[sections + CLAMP_SLOPE * w + i] = slope / twice
    goal = clamp_dot(m, sections + CLAMP_GOAL * w, sections + CLAMP_GOAL * w, w)
    both = clamp_dot(m, sections + CLAMP_GOAL * w, sections + CLAMP_SLOPE * w, w)
    slope = clamp_dot(m, sections + CLAMP_SLOPE * w, sections + CLAMP_SLOPE * w, w)
    level = m[at + CLAMP_AVAILABLE] / twice
    low = 0.0
    high = 1.0
    for _ in range(CLAMP_HALVINGS):
        mu = 0.5 * (low + high)
        rest = 1.0 - mu
        squared = rest * rest * goal - 2.0 * rest * mu * both + mu * mu * slope
        fits = True
        if squared > 0.0:
            norm = sqrt(squared)
            size = norm - mu * beta
            if size > 0.0:
                fits = size * (0.5 * size + (rest * both - mu * slope) / norm + beta) <= level
        if fits:
            high = mu
        else:
            low = mu
    for i in range(w):
        toward = (1.0 - high) * m[sections + CLAMP_GOAL * w + i] - high * m[sections + CLAMP_SLOPE * w + i]
        m[sections + CLAMP_TRIAL * w + i] = toward
    norm = sqrt(clamp_dot(m, sections + CLAMP_TRIAL * w, sections + CLAMP_TRIAL * w, w))
    size = norm - high * beta
    for i in range(w):
        if size > 0.0:
            m[sections + CLAMP_TRIAL * w + i] *= size / norm
        else:
            m[sections + CLAMP_TRIAL * w + i] = 0.0
    root = sections + CLAMP_SECTIONS * w + CLAMP_ROOT * w * w
    clamp_lower(m, root, sections + CLAMP_TRIAL * w, sections + CLAMP_FORCE * w, w)


KERNELS = (
    clamp_lower,
    clamp_dot,
    clamp_numbers,
    clamp_linear,
    clamp_root,
    clamp_safe,
    clamp_scale,
    clamp_distance,
    clamp_project,
    clamp_nearer,
    clamp_absorb,
    clamp_worst,
    clamp_gap,
    clamp_measure,
    clamp_watch,
    clamp_account,
    clamp_damp,
    clamp_within,
    clamp_choose,
    clamp_hold,
    clamp_tick,
)
SETUP = (clamp_factor, clamp_corner, clamp_largest, clamp_reset, clamp_begin)  # before the first tick, on the host
