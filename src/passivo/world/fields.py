"""Contacts of bodies with height fields, through MuJoCo's collision functions for pairs of shapes. Kernels.

A plane and a thin capsule of MuJoCo's go around the field: the plane lies in the triangles under a body, the capsule on
the edges that stand out. A contact counts where its point lies on that triangle, or its normal between those of the two
faces of that edge. So edges that do not stand out are not felt, and a ball rolls over flat cells as over a plane.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.kernel.foreign_plain import call_pair, doubles_at
    from passivo.world.collide import lay_contact, touch_size
    from passivo.world.table import *

RIM = 1e-9  # of a cell: what counts as inside of a triangle still
STANDS_OUT = 1e-7  # by how far an edge is from being flat
WITHIN = 1e-4  # radians that a normal may lie outside of those of its edge
SAME = 1e-7  # metres between points of a body that are one and the same
SAME_WAY = 1e-12  # less than 1, the cosine between their normals
THIN = 1e-6  # radius of the capsule


def add_fields(m, t, h, count):
    """Contacts with all fields behind those that are there. How many there are then, or −1 where there is no room."""
    for f in range(t[FIELDS]):
        field = t[t[FIELD_TABLE] + f]
        for k in range(t[GEOMS]):
            call = t[AT_CALLS] + C_CALLS * (f * t[GEOMS] + k)
            if m[call + C_FACE] > 0.0:
                count = meet_field(m, t, h, field, k, call, count)
                if count < 0:
                    return count
    return count


def meet_field(m, t, h, field, k, call, count):
    """Contacts of a shape with the triangles and edges below it."""
    bridge, start = t[AT_BRIDGE], count
    places = doubles_at(int(m[bridge + B_GEOM_PLACES]))
    p, q, r = places[3 * k] - m[field], places[3 * k + 1] - m[field + 1], places[3 * k + 2] - m[field + 2]
    turn = field + H_TURN
    x = m[turn] * p + m[turn + 3] * q + m[turn + 6] * r
    y = m[turn + 1] * p + m[turn + 4] * q + m[turn + 7] * r
    z = m[turn + 2] * p + m[turn + 5] * q + m[turn + 8] * r
    margin = doubles_at(int(m[bridge + B_MARGINS]))[k] / m[bridge + B_SHARE]
    reach = doubles_at(int(m[bridge + B_BOUNDS]))[k] + margin
    rows, columns = int(m[field + H_ROWS]), int(m[field + H_COLUMNS])
    if z + reach < m[field + H_FLOOR]:
        return count
    left = max(0, int((x - reach) / m[field + H_DX] + 0.5 * (columns - 1)))
    right = min(columns - 2, int((x + reach) / m[field + H_DX] + 0.5 * (columns - 1)))
    front = max(0, int((y - reach) / m[field + H_DY] + 0.5 * (rows - 1)))
    back = min(rows - 2, int((y + reach) / m[field + H_DY] + 0.5 * (rows - 1)))
    for i in range(front, back + 1):
        for j in range(left, right + 1):
            top = max(max(ground(m, field, i, j), ground(m, field, i, j + 1)),
                      max(ground(m, field, i + 1, j), ground(m, field, i + 1, j + 1)))  # fmt: skip
            if z - reach > top:
                continue
            for upper in range(2):
                if count >= 0:
                    count = meet_face(m, t, h, field, k, call, margin, i, j, upper, start, count)
            for way in range(5):  # along x, along y, the diagonal; the far edges of the last cells
                if count < 0 or (way == 3 and i < rows - 2) or (way == 4 and j < columns - 2):
                    continue
                g, s = (i + 1 if way == 3 else i), (j + 1 if way == 4 else j)
                d, e = (0 if way == 0 or way == 3 else 1), (0 if way == 1 or way == 4 else 1)
                if lay_edge(m, field, g, s, d, e):
                    count = meet_edge(m, t, h, field, k, call, margin, g, s, d, e, start, count)
            if count < 0:
                return count
    return count


def ground(m, field, i, j):
    return m[field + H_HEIGHTS + i * int(m[field + H_COLUMNS]) + j]


def is_inside(u, v, upper):
    """Whether a place lies in one of the triangles of a cell, whose corners are (0, 0), (1, 1) and one between."""
    if upper == 0:
        return v >= -RIM and u >= v - RIM and u <= 1.0 + RIM
    return u >= -RIM and v >= u - RIM and v <= 1.0 + RIM


def is_below(m, field):
    """Whether the point on the body is inside the ground."""
    rows, columns = int(m[field + H_ROWS]), int(m[field + H_COLUMNS])
    u = m[field + H_POINT] / m[field + H_DX] + 0.5 * (columns - 1)
    v = m[field + H_POINT + 1] / m[field + H_DY] + 0.5 * (rows - 1)
    if not (u >= 0.0 and v >= 0.0 and u <= columns - 1 and v <= rows - 1):
        return False
    i, j = min(int(v), rows - 2), min(int(u), columns - 2)
    u, v = u - j, v - i
    a, c = ground(m, field, i, j), ground(m, field, i + 1, j + 1)
    if u >= v:
        b = ground(m, field, i, j + 1)
        height = a + u * (b - a) + v * (c - b)
    else:
        d = ground(m, field, i + 1, j)
        height = a + u * (c - d) + v * (d - a)
    return m[field + H_FLOOR] < m[field + H_POINT + 2] <= height + RIM * m[field + H_DX]


def place_helper(m, t, field, g, x, y, z, u, v, w, p, q, r):
    """A helper geom to (x, y, z), with the unit vectors (u, v, w) as its x and (p, q, r) as its z, in the axes of the
    field."""
    places = doubles_at(int(m[t[AT_BRIDGE] + B_GEOM_PLACES]))
    turns = doubles_at(int(m[t[AT_BRIDGE] + B_GEOM_TURNS]))
    e, f, o = q * w - r * v, r * u - p * w, p * v - q * u
    for i in range(3):
        row = field + H_TURN + 3 * i
        places[3 * g + i] = m[field + i] + m[row] * x + m[row + 1] * y + m[row + 2] * z
        turns[9 * g + 3 * i] = m[row] * u + m[row + 1] * v + m[row + 2] * w
        turns[9 * g + 3 * i + 1] = m[row] * e + m[row + 1] * f + m[row + 2] * o
        turns[9 * g + 3 * i + 2] = m[row] * p + m[row + 1] * q + m[row + 2] * r


def meet_face(m, t, h, field, k, call, margin, i, j, upper, start, count):
    """Contacts with one triangle: those of its plane whose foot lies on it."""
    bridge, g = t[AT_BRIDGE], int(m[field + H_GEOM])
    dx, dy = m[field + H_DX], m[field + H_DY]
    x, y = (j - 0.5 * (int(m[field + H_COLUMNS]) - 1)) * dx, (i - 0.5 * (int(m[field + H_ROWS]) - 1)) * dy
    a, c = ground(m, field, i, j), ground(m, field, i + 1, j + 1)
    if upper == 0:
        b = ground(m, field, i, j + 1)
        p, q = (b - a) / dx, (c - b) / dy
    else:
        d = ground(m, field, i + 1, j)
        p, q = (c - d) / dx, (d - a) / dy
    size, wide = sqrt(1.0 + p * p + q * q), sqrt(1.0 + p * p)
    u, v, w = -p / size, -q / size, 1.0 / size
    place_helper(m, t, field, g, x, y, a, 1.0 / wide, 0.0, p / wide, u, v, w)
    found = call_pair(int(m[call + C_FACE]), int(m[bridge + B_MODEL]), int(m[bridge + B_DATA]),
                      int(m[bridge + B_BUFFER]), g, k, margin)  # fmt: skip
    for n in range(found):
        dist = read_contact(m, t, field, n, 1.0, 0.0)
        if dist > margin:
            continue
        r, s = m[field + H_POINT] - x, m[field + H_POINT + 1] - y
        inside = is_inside((r - dist * u) / dx, (s - dist * v) / dy, upper)
        if dist < 0.0:  # what is inside the ground belongs to the triangle above it too
            inside = inside or is_inside(r / dx, s / dy, upper)
            inside = inside and is_below(m, field)
        if inside:
            count = add_contact(m, t, h, field, k, dist, start, count)
            if count < 0:
                break
    return count


def read_contact(m, t, field, n, sign, radius):
    """A contact out of the buffer: its normal (world axes), and the point on the body in the axes of the field. How far
    it is."""
    found, at = doubles_at(int(m[t[AT_BRIDGE] + B_BUFFER])), n * int(m[t[AT_BRIDGE] + B_PRE_STRIDE])
    dist, pos, normal = found[at], at + int(m[t[AT_BRIDGE] + B_PRE_POS]), at + int(m[t[AT_BRIDGE] + B_PRE_NORMAL])
    for i in range(3):
        m[field + H_NORMAL + i] = sign * found[normal + i]
        m[field + H_PLACE + i] = found[pos + i] + 0.5 * dist * m[field + H_NORMAL + i]
    turn, at = field + H_TURN, field + H_PLACE
    p, q, r = m[at] - m[field], m[at + 1] - m[field + 1], m[at + 2] - m[field + 2]
    for i in range(3):
        m[field + H_POINT + i] = m[turn + i] * p + m[turn + 3 + i] * q + m[turn + 6 + i] * r
    return dist + radius


def add_contact(m, t, h, field, k, gap, start, count):
    """The contact that was read, unless it is there already: a point that is inside the ground has that with the least
    depth alone. How many there are then, or −1."""
    x, y, z = m[field + H_NORMAL], m[field + H_NORMAL + 1], m[field + H_NORMAL + 2]
    p, q, r = m[field + H_PLACE], m[field + H_PLACE + 1], m[field + H_PLACE + 2]
    body = t[t[GEOM_TABLE] + k]
    turn, s = t[AT_FRAMES] + body * F_SIZE + F_TURN, t[AT_STATE] + t[t[CARRIER_TABLE] + body * C_SIZE + C_STATE]
    slot = count
    for n in range(start, count):
        at = t[AT_TOUCHES] + n * touch_size(t)
        u, v, w = m[at + K_LOCAL], m[at + K_LOCAL + 1], m[at + K_LOCAL + 2]
        half, axis = 0.5 * m[at + K_GAP], at + K_FRAME
        a = m[turn] * u + m[turn + 1] * v + m[turn + 2] * w + half * m[axis] + m[s] - p
        b = m[turn + 3] * u + m[turn + 4] * v + m[turn + 5] * w + half * m[axis + 1] + m[s + 1] - q
        c = m[turn + 6] * u + m[turn + 7] * v + m[turn + 8] * w + half * m[axis + 2] + m[s + 2] - r
        if a * a + b * b + c * c < SAME * SAME:
            if x * m[axis] + y * m[axis + 1] + z * m[axis + 2] > 1.0 - SAME_WAY:
                return count
            if gap < 0.0 and m[at + K_GAP] < 0.0:
                if gap <= m[at + K_GAP]:
                    return count
                slot = n
                break
    if slot >= t[CONTACTS]:
        return -1
    at = t[AT_TOUCHES] + slot * touch_size(t)
    m[at + K_FIRST], m[at + K_SECOND], m[at + K_GAP] = m[field + H_GEOM], float(k), gap
    u, v, w = (0.0, z, -y) if abs(x) < 0.7 else (-z, 0.0, x)
    size = sqrt(u * u + v * v + w * w)
    u, v, w = u / size, v / size, w / size
    m[at + K_FRAME], m[at + K_FRAME + 1], m[at + K_FRAME + 2] = x, y, z
    m[at + K_FRAME + 3], m[at + K_FRAME + 4], m[at + K_FRAME + 5] = u, v, w
    m[at + K_FRAME + 6], m[at + K_FRAME + 7], m[at + K_FRAME + 8] = y * w - z * v, z * u - x * w, x * v - y * u
    lay_contact(m, t, h, at, p - 0.5 * gap * x, q - 0.5 * gap * y, r - 0.5 * gap * z)
    return max(count, slot + 1)


def lay_way(m, field, at, i, j, k, n):
    """The way from one corner of the grid to another, in the axes of the field."""
    m[at], m[at + 1] = (n - j) * m[field + H_DX], (k - i) * m[field + H_DY]
    m[at + 2] = ground(m, field, k, n) - ground(m, field, i, j)


def lay_side(m, field, at, i, j, k, n):
    """The direction at right angles to the edge in which the face with this third corner lies. Whether there is one."""
    if k < 0 or n < 0 or k >= int(m[field + H_ROWS]) or n >= int(m[field + H_COLUMNS]):
        m[at], m[at + 1], m[at + 2] = 0.0, 0.0, -1.0  # beyond the border it goes straight down
        return False
    lay_way(m, field, at, i, j, k, n)
    edge = field + H_EDGE
    share = m[at] * m[edge] + m[at + 1] * m[edge + 1] + m[at + 2] * m[edge + 2]
    share /= m[edge] * m[edge] + m[edge + 1] * m[edge + 1] + m[edge + 2] * m[edge + 2]
    for c in range(3):
        m[at + c] -= share * m[edge + c]
    size = sqrt(m[at] * m[at] + m[at + 1] * m[at + 1] + m[at + 2] * m[at + 2])
    for c in range(3):
        m[at + c] /= size
    return True


def lay_edge(m, field, i, j, d, e):
    """The edge from corner (i, j) to (i + d, j + e), and where both faces lie. Whether it stands out."""
    lay_way(m, field, field + H_EDGE, i, j, i + d, j + e)
    one, other = field + H_SIDES, field + H_SIDES + 3
    if d == 0:
        lay_side(m, field, one, i, j, i + 1, j + 1)
        lay_side(m, field, other, i, j, i - 1, j)
    elif e == 0:
        lay_side(m, field, one, i, j, i + 1, j + 1)
        lay_side(m, field, other, i, j, i, j - 1)
    else:
        lay_side(m, field, one, i, j, i, j + 1)
        lay_side(m, field, other, i, j, i + 1, j)
    return m[one + 2] + m[other + 2] < -STANDS_OUT


def meet_edge(m, t, h, field, k, call, margin, i, j, d, e, start, count):
    """Contacts with an edge that stands out, whose normals lie between those of its faces."""
    bridge, g, edge = t[AT_BRIDGE], int(m[field + H_GEOM]) + 1, field + H_EDGE
    x = (j - 0.5 * (int(m[field + H_COLUMNS]) - 1)) * m[field + H_DX]
    y = (i - 0.5 * (int(m[field + H_ROWS]) - 1)) * m[field + H_DY]
    z = ground(m, field, i, j)
    p, q, r = m[edge], m[edge + 1], m[edge + 2]
    size = sqrt(p * p + q * q + r * r)
    side = field + H_SIDES  # at right angles to the edge where there is a face
    if m[side] == 0.0 and m[side + 1] == 0.0:
        side += 3
    place_helper(m, t, field, g, x + 0.5 * p, y + 0.5 * q, z + 0.5 * r, m[side], m[side + 1], m[side + 2],
                 p / size, q / size, r / size)  # fmt: skip
    doubles_at(int(m[bridge + B_SIZES]))[3 * g + 1] = 0.5 * size
    sign, fits = m[call + C_SIGN], True
    one, other = (g, k) if sign > 0.0 else (k, g)
    for function in range(C_EDGE, C_EDGE_TOO + 1):
        if m[call + function] == 0.0:
            break
        found = call_pair(int(m[call + function]), int(m[bridge + B_MODEL]), int(m[bridge + B_DATA]),
                          int(m[bridge + B_BUFFER]), one, other, margin)  # fmt: skip
        for n in range(found):
            gap = read_contact(m, t, field, n, sign, THIN)
            if gap > margin:
                continue
            if not is_between(m, field, gap, i, j, d, e):
                fits = False
                continue
            count = add_contact(m, t, h, field, k, gap, start, count)
            if count < 0:
                return count
        if fits:  # MuJoCo's own function for capsules and boxes is quick, but deep in a box it names the nearest face
            break
    return count


def is_between(m, field, gap, i, j, d, e):
    """Whether the normal of the contact that was read lies between those of the faces at the edge, or its end."""
    turn, normal, edge = field + H_TURN, field + H_NORMAL, field + H_EDGE
    u = m[turn] * m[normal] + m[turn + 3] * m[normal + 1] + m[turn + 6] * m[normal + 2]
    v = m[turn + 1] * m[normal] + m[turn + 4] * m[normal + 1] + m[turn + 7] * m[normal + 2]
    w = m[turn + 2] * m[normal] + m[turn + 5] * m[normal + 1] + m[turn + 8] * m[normal + 2]
    if w <= 0.0:
        return False
    p, q, r = m[edge], m[edge + 1], m[edge + 2]
    a = m[field + H_POINT] - gap * u - (j - 0.5 * (int(m[field + H_COLUMNS]) - 1)) * m[field + H_DX]
    b = m[field + H_POINT + 1] - gap * v - (i - 0.5 * (int(m[field + H_ROWS]) - 1)) * m[field + H_DY]
    c = m[field + H_POINT + 2] - gap * w - ground(m, field, i, j)
    share = (a * p + b * q + c * r) / (p * p + q * q + r * r)
    if share <= WITHIN:
        return is_peak(m, field, i, j, u, v, w)
    if share >= 1.0 - WITHIN:
        return is_peak(m, field, i + d, j + e, u, v, w)
    one, other = field + H_SIDES, field + H_SIDES + 3
    return (
        m[one] * u + m[one + 1] * v + m[one + 2] * w <= WITHIN
        and m[other] * u + m[other + 1] * v + m[other + 2] * w <= WITHIN
    )


def is_peak(m, field, i, j, u, v, w):
    """Whether all edges from a corner fall off in this direction."""
    at = field + H_WAY
    for d in range(-1, 2):
        for e in range(-1, 2):
            k, n = i + d, j + e
            if d * e < 0 or k < 0 or n < 0 or k >= int(m[field + H_ROWS]) or n >= int(m[field + H_COLUMNS]):
                continue
            lay_way(m, field, at, i, j, k, n)
            size = sqrt(m[at] * m[at] + m[at + 1] * m[at + 1] + m[at + 2] * m[at + 2])
            if m[at] * u + m[at + 1] * v + m[at + 2] * w > WITHIN * size:
                return False
    return True


INLINE = (ground,)
KERNELS = (
    is_inside, is_below, place_helper, read_contact, add_contact, lay_way, lay_side, lay_edge, is_peak, is_between,
    meet_face, meet_edge, meet_field, add_fields,
)  # fmt: skip
