"""How much a tendon is taken up where its moment arms depend on the joints: a formula of coordinates, node by node.
Kernels; `arms.py` makes the nodes.

Each node carries its value at the start and at the end of a step, their difference, and the slopes s_j of that
difference, d = Σ s_j Δq_j: differences are formed by the rules of sums, products and functions themselves, as
Δ(uv) = ū Δv + v̄ Δu or Δ sin u = cos ū · 2 sin(Δu/2), never by subtracting two values. So the slopes of the last node
are arms that do exactly the work that is stored, however small the step, and are of second order.
"""

from __future__ import annotations

from math import cos, exp, sin, sinh, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.world.poses import bend

# of a node in the table: what it is, of which nodes (a number: its figure; a coordinate: which one)
NUMBER = 0
COORDINATE = 1
PLUS = 2
MINUS = 3
TIMES = 4
OVER = 5
ROOT = 6
SINE = 7
COSINE = 8
POWER_OF_E = 9
NODE = 3

# of a node in the memory; slopes follow
NODE_OLD = 0
NODE_NEW = 1
NODE_WAY = 2
NODE_SLOPES = 3


def trace(m, t, nodes, count, width, at, figures, places, ways):
    """All nodes at `at`, for coordinates that stand at `places` and move by what stands at `ways`."""
    size = NODE_SLOPES + width
    for k in range(count):
        what, first, second = t[nodes + NODE * k], t[nodes + NODE * k + 1], t[nodes + NODE * k + 2]
        n, u, v = at + size * k, at + size * first, at + size * second
        if what == NUMBER:
            set_node(m, n, m[figures + first], 0.0, width)
        elif what == COORDINATE:
            set_node(m, n, m[places + first], m[ways + first], width)
            m[n + NODE_SLOPES + first] = 1.0
        elif what == PLUS:
            mix(m, n, u, v, 1.0, 1.0, m[u] + m[v], width)
        elif what == MINUS:
            mix(m, n, u, v, 1.0, -1.0, m[u] - m[v], width)
        elif what == TIMES:
            mix(m, n, u, v, halfway(m, v), halfway(m, u), m[u] * m[v], width)
        elif what == OVER:
            share = 1.0 / halfway(m, v)
            old, new = m[u] / m[v], m[u + NODE_NEW] / m[v + NODE_NEW]
            mix(m, n, u, v, share, -0.5 * (old + new) * share, old, width)
        elif what == ROOT:
            old, new = sqrt(m[u]), sqrt(m[u + NODE_NEW])
            mix(m, n, u, u, 1.0 / (old + new), 0.0, old, width)
        elif what == SINE:
            mix(m, n, u, u, cos(halfway(m, u)) * bend(0.5 * abs(m[u + NODE_WAY]))[0], 0.0, sin(m[u]), width)
        elif what == COSINE:
            mix(m, n, u, u, -sin(halfway(m, u)) * bend(0.5 * abs(m[u + NODE_WAY]))[0], 0.0, cos(m[u]), width)
        else:
            mix(m, n, u, u, exp(halfway(m, u)) * swell(0.5 * m[u + NODE_WAY]), 0.0, exp(m[u]), width)


def halfway(m, u):
    return 0.5 * (m[u] + m[u + NODE_NEW])


def swell(x):
    """sinh x / x."""
    return sinh(x) / x if x != 0.0 else 1.0


def set_node(m, n, old, way, width):
    m[n + NODE_OLD], m[n + NODE_NEW], m[n + NODE_WAY] = old, old + way, way
    for j in range(width):
        m[n + NODE_SLOPES + j] = 0.0


def mix(m, n, u, v, x, y, old, width):
    """A node whose difference is x Δu + y Δv."""
    way = x * m[u + NODE_WAY] + y * m[v + NODE_WAY]
    m[n + NODE_OLD], m[n + NODE_NEW], m[n + NODE_WAY] = old, old + way, way
    for j in range(width):
        m[n + NODE_SLOPES + j] = x * m[u + NODE_SLOPES + j] + y * m[v + NODE_SLOPES + j]


INLINE = (halfway, swell)
KERNELS = (set_node, mix, trace)
