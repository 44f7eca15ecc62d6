"""Cords: all that is elastic or damped along one number that joints make: tendons with their drives, stops. Kernels.

The stretch of a cord is e = e0 + Σ a_j q_j + s, with the place s of its drive; or g z in its place, where a commanded
length z pulls at it directly. The drive has a mass and hangs on the command by a spring of its own, of stretch s − g z.
In a step e moves by d = h (Σ a_j û_j + ŝ): where arms depend on the joints, a_j are the slopes of `routes.py`. With
tension T and slope κ = h ∂T/∂e⁺ by the law of `taut.py` at the last pass, ŝ is eliminated from

    (2m/h + h k/2 + c) ŝ + T = 2m s'/h − k (s − g z) + (h k/2) g z',   T = B + κ (Σ a_j û_j + ŝ),

and the joints see one force and one slope. That is Newton's method, in the passes of the step: a cord may slacken or
tighten within it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.world.advance import shares
    from passivo.world.books import deliver
    from passivo.world.cord_table import *
    from passivo.world.routes import NODE_SLOPES, trace
    from passivo.world.table import *
    from passivo.world.taut import draw, taut_stretch, taut_way


def cord_of(m, t, cord, which):
    """A parameter of a cord, 0 for none."""
    return m[t[AT_PARAM] + t[cord + which]] if t[cord + which] >= 0 else 0.0


def drive_of(m, t, cord, which):
    """Mass, stiffness or damping of a drive."""
    return m[t[AT_PARAM] + t[cord + D_DRIVE_PARAM] + which]


def joint_at(t, cord, j):
    """Where the j-th joint of a cord stands in a state."""
    return t[t[cord + D_TERMS] + D_TERM * j]


def present_of(t, cord, j):
    """And where its rate does."""
    return t[t[cord + D_TERMS] + D_TERM * j + 1]


def unknown_of(t, cord, j):
    """Which unknown of its mechanism the j-th joint of a cord is."""
    return t[t[cord + D_TERMS] + D_TERM * j + 2]


def rate_of(m, t, cord, j):
    """The mean rate of the j-th joint in this step."""
    return m[t[t[cord + D_ASSEMBLY] + A_RATE] + unknown_of(t, cord, j)]


# -- arms and stretch -------------------------------------------------------------------------------------------------


def trace_route(m, t, cord, at, state):
    """The nodes of a route from a state, for the ways behind the arms. Returns where the last one is."""
    n, count = t[cord + D_COUNT], t[cord + D_NODE_COUNT]
    ways = at + D_OWN + n
    for j in range(n):
        m[ways + n + j] = m[state + joint_at(t, cord, j)]
    trace(m, t, t[cord + D_NODES], count, n, ways + 2 * n, t[cord + D_FIGURES], ways + n, ways)
    return ways + 2 * n + (NODE_SLOPES + n) * (count - 1)


def lay_arms(m, t, cord, at, state):
    """The mean arms of a step from a state, in which the joints move by the ways that stand behind them."""
    n = t[cord + D_COUNT]
    if t[cord + D_NODES] < 0:
        for j in range(n):
            m[at + D_OWN + j] = m[t[cord + D_FIGURES] + j]
        return
    last = trace_route(m, t, cord, at, state)
    for j in range(n):
        m[at + D_OWN + j] = -m[last + NODE_SLOPES + j]


def taken_up(m, t, cord, at, state):
    """Σ a_j q_j at a state."""
    n, size = t[cord + D_COUNT], 0.0
    if t[cord + D_NODES] >= 0:
        for j in range(n):
            m[at + D_OWN + n + j] = 0.0
        return -m[trace_route(m, t, cord, at, state)]
    for j in range(n):
        size += m[t[cord + D_FIGURES] + j] * m[state + joint_at(t, cord, j)]
    return size


def pulled(m, t, cord, state):
    """What the drive, or the command, adds to the stretch at a state (or, of STEP, to its change)."""
    if t[cord + D_DRIVE] >= 0:
        return m[state + t[cord + D_DRIVE]]
    if t[cord + D_COMMAND] >= 0:
        return cord_of(m, t, cord, D_GAIN) * m[state + t[cord + D_COMMAND]]
    return 0.0


def lag_of(m, t, cord, state):
    """The stretch of the spring of a drive at a state (or, of STEP, its change)."""
    return m[state + t[cord + D_DRIVE]] - cord_of(m, t, cord, D_GAIN) * m[state + t[cord + D_COMMAND]]


def stretch_of(m, t, cord, at, state):
    return t[cord + D_SIGN] * cord_of(m, t, cord, D_REST) + taken_up(m, t, cord, at, state) + pulled(m, t, cord, state)


def led(m, t, cord):
    """g z': how fast the command pulls."""
    if t[cord + D_COMMAND] < 0:
        return 0.0
    return cord_of(m, t, cord, D_GAIN) * m[t[AT_USED] + t[cord + D_COMMAND_INPUT]]


def lay_cords(m, t):
    """What is known of the cords before the first pass."""
    for k in range(t[CORDS]):
        cord = t[CORD_TABLE] + k * D_SIZE
        at = t[cord + D_MEMORY]
        m[at + D_E] = stretch_of(m, t, cord, at, t[AT_STATE])
        if t[cord + D_DRIVE] >= 0:
            m[at + D_LAG] = lag_of(m, t, cord, t[AT_STATE])
            m[at + D_RATE] = m[t[AT_STATE] + t[cord + D_DRIVE] + 1]
        else:
            m[at + D_RATE] = led(m, t, cord)
        if t[cord + D_FORCE] >= 0:  # it never pushes
            u = t[AT_USED] + t[cord + D_FORCE]
            m[u] = max(0.0, m[u])


# -- the passes -------------------------------------------------------------------------------------------------------


def along_joints(m, t, cord, at):
    """Σ a_j û_j."""
    v = 0.0
    for j in range(t[cord + D_COUNT]):
        v += m[at + D_OWN + j] * rate_of(m, t, cord, j)
    return v


def present_speed(m, t, cord, at):
    """How fast the stretch changes at STATE; the command as it moves in this step."""
    v = led(m, t, cord) if t[cord + D_DRIVE] < 0 else m[t[AT_STATE] + t[cord + D_DRIVE] + 1]
    for j in range(t[cord + D_COUNT]):
        v += m[at + D_OWN + j] * m[t[AT_STATE] + present_of(t, cord, j)]
    return v


def pull_cord(m, t, cord, at, h):
    """Mean tension and slope of a cord that moves as the rates of this pass say, its arms made for them."""
    n = t[cord + D_COUNT]
    for j in range(n):
        m[at + D_OWN + n + j] = h * rate_of(m, t, cord, j)
    lay_arms(m, t, cord, at, t[AT_STATE])
    k, c, e = cord_of(m, t, cord, D_STIFFNESS), cord_of(m, t, cord, D_DAMPING), m[at + D_E]
    m[at + D_SPEED] = along_joints(m, t, cord, at) + m[at + D_RATE]
    d = h * m[at + D_SPEED]
    if t[SCHEME] == MIDPOINT:
        tension, slope = draw(e, d, t[cord + D_BOTH])
        m[at + D_ELASTIC], m[at + D_SLOPE] = k * tension, h * k * slope
    elif t[SCHEME] == IMPLICIT:
        m[at + D_ELASTIC] = k * taut_stretch(e + d, t[cord + D_BOTH])
        m[at + D_SLOPE] = h * k if t[cord + D_BOTH] or e + d > 0.0 else 0.0
    else:
        m[at + D_ELASTIC], m[at + D_SLOPE] = k * taut_stretch(e, t[cord + D_BOTH]), 0.0
        m[at + D_BRAKE] = c * present_speed(m, t, cord, at) if t[cord + D_BOTH] or e > 0.0 else 0.0
        return
    m[at + D_BRAKE] = c * taut_way(e, d, t[cord + D_BOTH]) / h
    if t[cord + D_BOTH] or e + d > 0.0:
        m[at + D_SLOPE] += c


def yield_of(m, t, cord, h):
    """What a drive resists its rate with: (2m/h + h k/2 + c)."""
    mass, stiffness, damping = drive_of(m, t, cord, 0), drive_of(m, t, cord, 1), drive_of(m, t, cord, 2)
    momentum, stretch, _ = shares(t, h)
    return momentum * mass + stretch * stiffness + damping


def driven(m, t, cord, at, h):
    """And what moves it besides the cord."""
    mass, stiffness = drive_of(m, t, cord, 0), drive_of(m, t, cord, 1)
    momentum, stretch, _ = shares(t, h)
    speed = m[t[AT_STATE] + t[cord + D_DRIVE] + 1]
    return momentum * mass * speed - stiffness * m[at + D_LAG] + stretch * stiffness * led(m, t, cord)


def gather_cords(m, t, h):
    """Force and slope that each cord shows to its joints in this pass."""
    for k in range(t[CORDS]):
        cord = t[CORD_TABLE] + k * D_SIZE
        at = t[cord + D_MEMORY]
        pull_cord(m, t, cord, at, h)
        slope = m[at + D_SLOPE]
        base = m[at + D_ELASTIC] + m[at + D_BRAKE] - slope * m[at + D_SPEED]
        m[at + D_BASE], m[at + D_FIRM] = base + slope * m[at + D_RATE], slope
        if t[cord + D_DRIVE] >= 0:
            stiff, push = yield_of(m, t, cord, h), driven(m, t, cord, at, h)
            m[at + D_FREE] = (push - base) / (stiff + slope)
            m[at + D_FOLLOWS] = slope / (stiff + slope)
            m[at + D_BASE] = (stiff * base + slope * push) / (stiff + slope)
            m[at + D_FIRM] = slope * stiff / (stiff + slope)
        elif t[cord + D_FORCE] >= 0:
            m[at + D_BASE] += m[t[AT_USED] + t[cord + D_FORCE]]


def add_cords(m, t):
    """What the cords add to the matrices and right hand sides of the mechanisms."""
    for k in range(t[CORDS]):
        cord = t[CORD_TABLE] + k * D_SIZE
        at, n, assembly = t[cord + D_MEMORY], t[cord + D_COUNT], t[cord + D_ASSEMBLY]
        block, right, size = t[AT_BLOCKS] + t[assembly + A_BLOCK], t[assembly + A_ANSWER], t[assembly + A_WIDTH]
        for i in range(n):
            row, arm = unknown_of(t, cord, i), m[at + D_OWN + i]
            m[right + row] -= arm * m[at + D_BASE]
            arm *= m[at + D_FIRM]
            for j in range(n):
                m[block + size * row + unknown_of(t, cord, j)] += arm * m[at + D_OWN + j]


def settle_cords(m, t):
    """Rates of drives, from those of the joints. Returns by how much they moved at most, in m/s, less rounding."""
    moved = 0.0
    for k in range(t[CORDS]):
        cord = t[CORD_TABLE] + k * D_SIZE
        at = t[cord + D_MEMORY]
        if t[cord + D_DRIVE] >= 0:
            rate = m[at + D_FREE] - m[at + D_FOLLOWS] * along_joints(m, t, cord, at)
            moved = max(moved, abs(rate - m[at + D_RATE]) - 4.0 * EPSILON * abs(rate))
            m[at + D_RATE] = rate
    return moved


def move_cords(m, t, h):
    """NEXT of commands and drives."""
    for k in range(t[COMMANDS]):
        z, u = t[t[COMMAND_TABLE] + 2 * k], t[t[COMMAND_TABLE] + 2 * k + 1]
        m[t[AT_NEXT] + z] = m[t[AT_STATE] + z] + h * m[t[AT_USED] + u]
    for k in range(t[CORDS]):
        cord = t[CORD_TABLE] + k * D_SIZE
        s, rate = t[cord + D_DRIVE], m[t[cord + D_MEMORY] + D_RATE]
        if s >= 0:
            old = m[t[AT_STATE] + s + 1]
            m[t[AT_NEXT] + s] = m[t[AT_STATE] + s] + h * rate
            m[t[AT_NEXT] + s + 1] = 2.0 * rate - old if t[SCHEME] == MIDPOINT else rate


# -- books ------------------------------------------------------------------------------------------------------------


def terms_of(m, t, cord, at, state):
    """Sum of the sizes of what the stretch at a state is the sum of."""
    size = abs(cord_of(m, t, cord, D_REST)) + abs(pulled(m, t, cord, state))
    for j in range(t[cord + D_COUNT]):
        size += abs(m[at + D_OWN + j] * m[state + joint_at(t, cord, j)])
    return size


def book_cords(m, t, h):
    """What cords and their drives take in and lose, and what commands do through them."""
    received, scale = t[AT_RECEIVED], t[AT_SCALE]
    _, stretch, _ = shares(t, h)
    for k in range(t[CORDS]):
        cord = t[CORD_TABLE] + k * D_SIZE
        at, row = t[cord + D_MEMORY], t[cord + D_ROW]
        pull_cord(m, t, cord, at, h)
        speed, elastic, brake = m[at + D_SPEED], m[at + D_ELASTIC], m[at + D_BRAKE]
        m[received + KINETIC] -= h * elastic * speed
        m[received + row] += h * elastic * speed
        m[t[AT_LOST]] += h * brake * speed
        effort = abs(m[at + D_RATE])
        for j in range(t[cord + D_COUNT]):
            effort += abs(m[at + D_OWN + j] * rate_of(m, t, cord, j))
        way, stiff = terms_of(m, t, cord, at, t[AT_STATE]) + h * effort, cord_of(m, t, cord, D_STIFFNESS)
        m[scale + KINETIC] += (h * stiff * way + h * abs(brake)) * effort if elastic + brake != 0.0 else 0.0
        known = EPSILON * way
        if t[cord + D_BOTH] or max(m[at + D_E], m[at + D_E] + h * speed) > -known:  # what hangs slack stores nothing
            m[scale + row] += (abs(elastic) + stiff * known) * way
        pull = elastic + brake
        if t[cord + D_FORCE] >= 0:
            deliver(m, t, h, t[cord + D_FORCE], -along_joints(m, t, cord, at))
        elif t[cord + D_DRIVE] >= 0:
            pull = book_drive(m, t, h, cord, at, stretch)
        if t[cord + D_COMMAND] >= 0:
            deliver(m, t, h, t[cord + D_COMMAND_INPUT], cord_of(m, t, cord, D_GAIN) * pull)


def book_drive(m, t, h, cord, at, stretch):
    """The spring of a drive. Returns with what force the command pulls at it."""
    row, rate, lead = t[cord + D_ROW], m[at + D_RATE], led(m, t, cord)
    speed, stiff = rate - lead, drive_of(m, t, cord, 1)
    elastic, brake = stiff * (m[at + D_LAG] + stretch * speed), drive_of(m, t, cord, 2) * rate
    m[t[AT_RECEIVED] + KINETIC] -= h * elastic * speed
    m[t[AT_RECEIVED] + row] += h * elastic * speed
    m[t[AT_LOST]] += h * brake * rate
    effort = abs(rate) + abs(lead)
    way = abs(m[t[AT_STATE] + t[cord + D_DRIVE]]) + abs(m[at + D_LAG]) + h * effort
    old, change = m[t[AT_STATE] + t[cord + D_DRIVE] + 1], m[t[AT_STEP] + t[cord + D_DRIVE] + 1]
    momentum = drive_of(m, t, cord, 0) * (abs(old) + abs(change))
    m[t[AT_SCALE] + KINETIC] += h * (stiff * way + abs(brake)) * effort + momentum * (abs(rate) + abs(change))
    m[t[AT_SCALE] + row] += (abs(elastic) + EPSILON * stiff * way) * way
    return -elastic


def difference_of_cords(m, t):
    """What they store more at NEXT than at STATE, into DIFFERENCE."""
    for k in range(t[CORDS]):
        cord = t[CORD_TABLE] + k * D_SIZE
        at, n = t[cord + D_MEMORY], t[cord + D_COUNT]
        e = stretch_of(m, t, cord, at, t[AT_STATE])
        for j in range(n):
            m[at + D_OWN + n + j] = m[t[AT_STEP] + joint_at(t, cord, j)]
        lay_arms(m, t, cord, at, t[AT_STATE])
        d = pulled(m, t, cord, t[AT_STEP])
        for j in range(n):
            d += m[at + D_OWN + j] * m[at + D_OWN + n + j]
        both, gain = t[cord + D_BOTH], 0.0
        m[at + D_NEW] = e + d
        gain = 0.5 * (taut_stretch(e, both) + taut_stretch(e + d, both)) * taut_way(e, d, both)
        gain *= cord_of(m, t, cord, D_STIFFNESS)
        if t[cord + D_DRIVE] >= 0:
            s = t[cord + D_DRIVE]
            lag, change = lag_of(m, t, cord, t[AT_STATE]), lag_of(m, t, cord, t[AT_STEP])
            gain += drive_of(m, t, cord, 1) * (lag + 0.5 * change) * change
            speed = 0.5 * (m[t[AT_STATE] + s + 1] + m[t[AT_NEXT] + s + 1])
            m[t[AT_DIFFERENCE] + KINETIC] += drive_of(m, t, cord, 0) * speed * m[t[AT_STEP] + s + 1]
        m[t[AT_DIFFERENCE] + t[cord + D_ROW]] += gain


def energy_of_cords(m, t):
    """What they store at STATE, into ENERGY."""
    for k in range(t[CORDS]):
        cord = t[CORD_TABLE] + k * D_SIZE
        size = taut_stretch(stretch_of(m, t, cord, t[cord + D_MEMORY], t[AT_STATE]), t[cord + D_BOTH])
        twice = cord_of(m, t, cord, D_STIFFNESS) * size * size
        if t[cord + D_DRIVE] >= 0:
            lag, speed = lag_of(m, t, cord, t[AT_STATE]), m[t[AT_STATE] + t[cord + D_DRIVE] + 1]
            twice += drive_of(m, t, cord, 1) * lag * lag
            m[t[AT_ENERGY] + KINETIC] += 0.5 * drive_of(m, t, cord, 0) * speed * speed
        m[t[AT_ENERGY] + t[cord + D_ROW]] += 0.5 * twice


def output_of_cords(m, t):
    """OUTPUT at STATE: with what force commands pull, how fast tendons are taken up."""
    for k in range(t[COMMANDS]):
        m[t[AT_OUTPUT] + t[t[COMMAND_TABLE] + 2 * k + 1]] = 0.0
    for k in range(t[CORDS]):
        cord = t[CORD_TABLE] + k * D_SIZE
        at, n, gain = t[cord + D_MEMORY], t[cord + D_COUNT], cord_of(m, t, cord, D_GAIN)
        if t[cord + D_COMMAND] < 0 and t[cord + D_FORCE] < 0:
            continue
        for j in range(n):
            m[at + D_OWN + n + j] = 0.0
        lay_arms(m, t, cord, at, t[AT_STATE])
        speed = present_speed(m, t, cord, at)
        if t[cord + D_FORCE] >= 0:
            m[t[AT_OUTPUT] + t[cord + D_FORCE]] = -speed
        elif t[cord + D_DRIVE] >= 0:
            force = drive_of(m, t, cord, 1) * lag_of(m, t, cord, t[AT_STATE])
            m[t[AT_OUTPUT] + t[cord + D_COMMAND_INPUT]] -= gain * force
        else:
            both, e = t[cord + D_BOTH], stretch_of(m, t, cord, at, t[AT_STATE])
            force = cord_of(m, t, cord, D_STIFFNESS) * taut_stretch(e, both)
            if both or e > 0.0:
                force += cord_of(m, t, cord, D_DAMPING) * speed
            m[t[AT_OUTPUT] + t[cord + D_COMMAND_INPUT]] += gain * force


def tell_cords(m, t, h):
    """What a run records: of a tendon its mean tension, its stretch at the end, and for what share of the step it hung
    slack; of the two stops of a joint the mean moment. Each times h, for the mean over the step."""
    for k in range(t[CORDS]):
        cord = t[CORD_TABLE] + k * D_SIZE
        at = t[cord + D_MEMORY]
        told, noise = t[AT_RECORDED] + t[cord + D_TOLD], t[AT_NOISE] + t[cord + D_TOLD]
        e, d, both = m[at + D_E], h * m[at + D_SPEED], t[cord + D_BOTH]
        tension = m[at + D_ELASTIC] + m[at + D_BRAKE]
        way = terms_of(m, t, cord, at, t[AT_STATE]) + abs(d)
        # what rounding of e is worth
        known = (cord_of(m, t, cord, D_STIFFNESS) + cord_of(m, t, cord, D_DAMPING) / h) * way
        if t[cord + D_STOP]:
            m[told] -= h * m[at + D_OWN] * tension
            m[noise] += known
            continue
        if t[cord + D_FORCE] >= 0:
            tension += m[t[AT_USED] + t[cord + D_FORCE]]
        m[told] += h * tension
        m[told + 1] += h * m[at + D_NEW]
        m[noise] += known
        m[noise + 1] += way
        if both or (e > 0.0 and e + d > 0.0):
            continue
        if e <= 0.0 and e + d <= 0.0:
            m[told + 2] += h
            continue
        m[told + 2] += h * (1.0 - taut_way(e, d, both) / d)
        m[noise + 2] += way / abs(d)


INLINE = (
    cord_of, drive_of, joint_at, present_of, unknown_of, rate_of, lag_of, led, along_joints, pulled, yield_of, driven,
)  # fmt: skip
KERNELS = (
    trace_route, lay_arms, taken_up, stretch_of, lay_cords, present_speed, pull_cord, gather_cords, add_cords,
    settle_cords, move_cords, terms_of, book_drive, book_cords, difference_of_cords, energy_of_cords, output_of_cords,
    tell_cords,
)  # fmt: skip
