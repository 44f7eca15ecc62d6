"""The order in which the nodes of a world (free bodies and assemblies) are eliminated, and the blocks this needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable


class Elimination:
    """Nodes in an order of least fill-in: next is always one with the fewest neighbours left.

    order   for each node in this order: itself and its neighbours that are still left
    blocks  (row, column) -> number of the block; the diagonal ones come first
    """

    def __init__(self, nodes: int, pairs: Iterable[tuple[int, int]]):
        self.blocks = {(i, i): i for i in range(nodes)}
        self.order: list[tuple[int, list[int]]] = []
        beside: dict[int, set[int]] = {i: set() for i in range(nodes)}
        for a, b in pairs:
            self._join(beside, a, b)
        by_count: dict[int, set[int]] = {}
        for i, others in beside.items():
            by_count.setdefault(len(others), set()).add(i)
        for _ in range(nodes):
            node = min(by_count[min(count for count, members in by_count.items() if members)])
            by_count[len(beside[node])].discard(node)
            near = sorted(beside.pop(node))
            before = {i: len(beside[i]) for i in near}
            for i in near:
                beside[i].discard(node)
            for k, i in enumerate(near):
                for j in near[k + 1 :]:
                    self._join(beside, i, j)
            for i in near:
                by_count[before[i]].discard(i)
                by_count.setdefault(len(beside[i]), set()).add(i)
            self.order.append((node, near))

    def _join(self, beside: dict[int, set[int]], a: int, b: int) -> None:
        beside[a].add(b)
        beside[b].add(a)
        for pair in ((a, b), (b, a)):
            self.blocks.setdefault(pair, len(self.blocks))

    def components(self) -> list[list[int]]:
        """For each node the places in this order of all that hang together with it, the same list for all of them."""
        group = {node: [node] for node, _ in self.order}
        for node, near in self.order:
            for other in near:
                few, many = sorted((group[node], group[other]), key=len)
                if few is not many:
                    many += few
                    for each in few:
                        group[each] = many
        places = {node: place for place, (node, _) in enumerate(self.order)}
        distinct = {id(members): members for members in group.values()}
        made = {key: sorted(places[each] for each in members) for key, members in distinct.items()}
        return [made[id(group[node])] for node in range(len(self.order))]

    def table(self, start: int, about: Callable[[int], list[int]], block: Callable[[int, int], int]) -> list[int]:
        """As `blocks.eliminate` reads it: where each entry stands (the table begins at `start`), then the entries.

        about  of a node its size, where its right hand side stands, and its assembly
        block  where the block of two nodes stands
        """
        places: list[int] = []
        entries: list[int] = []
        for node, near in self.order:
            places.append(start + len(self.order) + len(entries))
            entries += [block(node, node), *about(node), len(near)]
            for i in near:
                entries += [*about(i)[:2], block(i, node), block(node, i)]
            entries += [block(i, j) for i in near for j in near]
        return places + entries
