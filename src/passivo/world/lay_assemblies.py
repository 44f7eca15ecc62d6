"""Where assemblies lie in the table and in the memory, and the blocks of all nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from passivo.world import table as T
from passivo.world.joints import Free, kind_of
from passivo.world.lay_beams import BEAM_FIGURES, PlacesOfBeam
from passivo.world.names import BODY_VECTORS, vectors_of
from passivo.world.order import Elimination

if TYPE_CHECKING:
    from passivo.world.beams import WorldBeam
    from passivo.world.hung import Limb
    from passivo.world.world import World


class Nodes:
    """What is eliminated: free bodies, then assemblies; and the blocks of bodies and of nodes.

    node    of each body
    width   of each node
    twist   two bodies -> number of their 6 × 6 block
    places  two nodes -> where their block stands
    size    numbers in all blocks
    """

    def __init__(self, world: World, carriers: Mapping[str, int], pairs: Iterable[tuple[int, int]]):
        self.mechanisms = world.mechanisms
        links, bodies = world.links, list(world.bodies)
        free = [i for i, name in enumerate(bodies) if name not in links and world.bodies[name].massive]
        self.free = len(free)
        self.node = {body: i for i, body in enumerate(free)}
        self.body = dict(enumerate(free))
        for i, limbs in enumerate(self.mechanisms):
            self.node |= {carriers[limb.body]: self.free + i for limb in limbs if limb.body}
        self.width = [6] * self.free + [sum(limb.joint.width for limb in limbs) for limbs in self.mechanisms]
        self.beams = [beam for beam in world.beams.values() if beam.points(world)]
        for beam in self.beams:
            self.node |= {carriers[point.name]: len(self.width) for point in beam.points(world)}
            self.width.append(len(beam.taps(world)) - 1)
        pairs = list(pairs)
        between = [(self.node[a], self.node[b]) for a, b in pairs if self.node[a] != self.node[b]]
        self.plan = Elimination(len(self.width), between)
        self.twist = {(i, i): i for i in range(len(bodies))}
        for i, j in self.plan.blocks:
            if i < self.free and j < self.free:
                self.twist.setdefault((self.body[i], self.body[j]), len(self.twist))
        for a, b in pairs:
            for pair in ((a, b), (b, a)):
                self.twist.setdefault(pair, len(self.twist))
        self.size = 36 * len(self.twist)
        self.places: dict[tuple[int, int], int] = {}
        for i, j in self.plan.blocks:
            if i < self.free and j < self.free:
                self.places[i, j] = 36 * self.twist[self.body[i], self.body[j]]
            else:
                self.places[i, j] = self.size
                self.size += self.width[i] * self.width[j]
        self.linked = [  # blocks of bodies that go into blocks of assemblies
            (a, b) for a, b in self.twist if self.node[a] >= self.free or self.node[b] >= self.free
        ]

    @cached_property
    def node_groups(self) -> list[list[int]]:
        """For each body the places of the nodes that hang together with it, the same list for all of them."""
        of_nodes = self.plan.components()
        return [of_nodes[self.node[body]] for body in sorted(self.node)]

    @cached_property
    def groups(self) -> list[list[tuple[int, int]]]:
        """For each body all bodies that hang together with it, by the place of their node in the order; one list for
        all of them."""
        place = {node: k for k, (node, _) in enumerate(self.plan.order)}
        made: dict[int, list[tuple[int, int]]] = {id(group): [] for group in self.node_groups}
        for body, group in enumerate(self.node_groups):
            made[id(group)].append((place[self.node[body]], body))
        for bodies in made.values():
            bodies.sort()
        return [made[id(group)] for group in self.node_groups]

    @cached_property
    def assembled(self) -> set[int]:
        """Bodies that hang together with an assembly."""
        held = {place for place, (node, _) in enumerate(self.plan.order) if node >= self.free}
        distinct = {id(group): group for group in self.node_groups}
        inside = {key for key, group in distinct.items() if not held.isdisjoint(group)}
        return {body for body, group in enumerate(self.node_groups) if id(group) in inside}


class Laid:
    """Assemblies in the table: their limbs and members, and room for them in the memory.

    members  body -> its entry
    places   joint of one coordinate -> that, and its rate, within the state; its unknown; the entry of its mechanism
    """

    def __init__(
        self,
        world: World,
        nodes: Nodes,
        carriers: Mapping[str, int],
        table: list[int],
        take: Callable[[int], int],
        figures: Callable[[int], int],
    ):
        """`take` gives room in the memory, `figures` where the next figures stand."""
        self.world, self.carriers, self.table = world, carriers, table
        self.members: dict[int, int] = {}
        self.places: dict[str, tuple[int, int, int, int]] = {}
        self.entries: list[list[int]] = []
        states = {name: i for i, name in enumerate(world.states)}
        params = {name: i for i, name in enumerate(world.params)}
        for i, limbs in enumerate(nodes.mechanisms):
            self._lay(limbs, nodes, nodes.free + i, states, params, take, figures)
        self.beams = []
        places = {id(beam): nodes.free + len(nodes.mechanisms) + i for i, beam in enumerate(nodes.beams)}
        for beam in world.beams.values():
            self._lay_beam(beam, nodes, places.get(id(beam), -1), take, figures)
        self.start = len(table)
        for entry in self.entries:
            table += entry
        for i, limbs in enumerate(nodes.mechanisms):
            for limb in limbs:
                if limb.joint.width == 1:
                    own = [states[f"{limb.joint.name}.{what}"] for what in vectors_of(limb.joint)]
                    self.places[limb.joint.name] = own[0], own[1], limb.first, self.start + T.A_SIZE * i

    def _lay(
        self,
        limbs: Sequence[Limb],
        nodes: Nodes,
        node: int,
        states: Mapping[str, int],
        params: Mapping[str, int],
        take: Callable[[int], int],
        figures: Callable[[int], int],
    ) -> None:
        n, table, vectors = nodes.width[node], self.table, self.world.vectors
        paths = []
        for limb in limbs:
            paths.append(len(table))
            table += limb.unknowns
        columns = [take(6 * len(limb.unknowns)) for limb in limbs]
        members = len(table)
        with_bodies = [(limb, at, path) for limb, at, path in zip(limbs, columns, paths) if limb.body]
        for limb, at, path in with_bodies:
            self.members[self.carriers[limb.body]] = len(table)
            table += [self.carriers[limb.body], at, len(limb.unknowns), path]
        parts = len(table)
        for limb, at, path in zip(limbs, columns, paths):
            joint, name = limb.joint, limb.joint.name
            own = [states[vectors.get(f"{name}.{what}", (f"{name}.{what}",))[0]] for what in vectors_of(joint)]
            if isinstance(joint, Free):
                first = states[vectors[f"{limb.body}.{next(iter(BODY_VECTORS))}"][0]]
                own = [first + T.X, first + T.V, own[0], own[2]]
            table += [
                kind_of(joint),
                parts + T.L_SIZE * limb.parent if limb.parent >= 0 else -1,
                self.carriers[limb.body] if limb.body else -1,
                take(T.P_SIZE),
                figures(T.LIMB_FIGURES),
                *own,
                params.get(f"{name}.damping", -1),
                limb.first,
                joint.width,
                len(limb.unknowns),
                path,
                at,
            ]
        self.entries.append(
            [
                n,
                take(n),
                take(n),
                take(n * n + n),
                nodes.places[node, node],
                members,
                len(with_bodies),
                parts,
                len(limbs),
                take(3 * n * n + T.M_ROOM * n),
                take(n),
            ]
        )

    def _lay_beam(
        self, beam: WorldBeam, nodes: Nodes, node: int, take: Callable[[int], int], figures: Callable[[int], int]
    ) -> None:
        """Points of a beam are members whose columns are figures; `bending.py` makes its own matrix."""
        n, table, first = nodes.width[node] if node >= 0 else 0, self.table, 0
        own = PlacesOfBeam(beam, figures(BEAM_FIGURES), take(n * n + n))
        members, points = [], beam.points(self.world)
        for point in points:
            c, count = self.carriers[point.name], len(beam.rows_of(point))
            rest, ways = figures(3), figures(6 * count)
            own.points += [c, first, count, rest, ways]
            members.append([c, ways, count, len(table)])
            table += range(first, first + count)
            first += count
        own.matrices = figures(beam.size_of_matrices(self.world))
        self.beams.append(own)
        start = len(table)
        for k, member in enumerate(members):
            self.members[member[0]] = start + T.G_SIZE * k
            table += member
        answers = take(n), take(n)
        own.memory = take(own.room(self.world))
        if node >= 0:  # without points nothing else knows of it
            place = nodes.places[node, node]
            self.entries.append([n, *answers, own.own, place, start, len(members), 0, 0, own.memory, take(n)])

    def about(self, nodes: Nodes) -> Callable[[int], list[int]]:
        """What the order of elimination says of a node."""

        def of(node: int) -> list[int]:
            if node < nodes.free:
                return [6, 6 * nodes.body[node], -1]
            k = node - nodes.free
            return [nodes.width[node], -self.entries[k][T.A_ANSWER], self.start + T.A_SIZE * k]

        return of

    def linked(self, nodes: Nodes) -> list[int]:
        """The table of blocks that go into blocks of assemblies."""
        found: list[int] = []
        for a, b in nodes.linked:
            i, j = nodes.node[a], nodes.node[b]
            found += [a, b, 36 * nodes.twist[a, b], nodes.places[i, j], nodes.width[j]]
        return found


def spread(groups: Sequence[Any], start: int) -> list[int]:
    """For each of these lists where it stands, and how long it is; then the distinct ones, one after the other."""
    places: dict[int, int] = {}
    heads: list[int] = []
    entries: list[int] = []
    for group in groups:
        if id(group) not in places:
            places[id(group)] = start + 2 * len(groups) + len(entries)
            entries += [number for one in group for number in (one if isinstance(one, tuple) else (one,))]
        heads += [places[id(group)], len(group)]
    return heads + entries
