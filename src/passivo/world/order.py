"""The order in which the bodies of a world are eliminated, and the blocks that this needs."""

from __future__ import annotations

from collections.abc import Iterable


class Elimination:
    """Bodies in an order of least fill-in: next is always one with the fewest neighbours left.

    order   for each body in this order: itself and its neighbours that are still left
    blocks  (row, column) -> number of the block; the diagonal ones come first
    """

    def __init__(self, bodies: int, pairs: Iterable[tuple[int, int]]):
        self.blocks = {(i, i): i for i in range(bodies)}
        self.order: list[tuple[int, list[int]]] = []
        beside: dict[int, set[int]] = {i: set() for i in range(bodies)}
        for a, b in pairs:
            self._join(beside, a, b)
        by_count: dict[int, set[int]] = {}
        for i, others in beside.items():
            by_count.setdefault(len(others), set()).add(i)
        for _ in range(bodies):
            body = min(by_count[min(count for count, members in by_count.items() if members)])
            by_count[len(beside[body])].discard(body)
            near = sorted(beside.pop(body))
            before = {i: len(beside[i]) for i in near}
            for i in near:
                beside[i].discard(body)
            for k, i in enumerate(near):
                for j in near[k + 1 :]:
                    self._join(beside, i, j)
            for i in near:
                by_count[before[i]].discard(i)
                by_count.setdefault(len(beside[i]), set()).add(i)
            self.order.append((body, near))

    def _join(self, beside: dict[int, set[int]], a: int, b: int) -> None:
        beside[a].add(b)
        beside[b].add(a)
        for pair in ((a, b), (b, a)):
            self.blocks.setdefault(pair, len(self.blocks))

    def components(self) -> list[list[int]]:
        """For each body the places in this order of all that hang together with it, the same list for all of them."""
        group = {body: [body] for body, _ in self.order}
        for body, near in self.order:
            for other in near:
                if group[other] is not group[body]:
                    group[body] += group[other]
                    for each in group[other]:
                        group[each] = group[body]
        places = {body: place for place, (body, _) in enumerate(self.order)}
        sorted_groups = {id(members): sorted(places[each] for each in members) for members in group.values()}
        return [sorted_groups[id(group[body])] for body in range(len(self.order))]

    def table(self, start: int) -> list[int]:
        """As `blocks.eliminate` reads it: where each entry stands (the table begins at `start`), then the entries."""
        places: list[int] = []
        entries: list[int] = []
        for body, near in self.order:
            places.append(start + len(self.order) + len(entries))
            entries += [body, len(near)]
            for i in near:
                entries += [i, self.blocks[i, body], self.blocks[body, i]]
            entries += [self.blocks[i, j] for i in near for j in near]
        return places + entries
