"""`Composition`: a method of order 2 taken several times within a step, forwards and backwards, for a higher order.

Symmetric shares γ of the step with Σγ = 1 of a symmetric method of order 2 give order 4 where Σγ³ = 0, and order 6
where also Σγ⁵ = 0 and Σ_k γ_k³ (γ_1 + ... + γ_{k−1} + γ_k/2)² = 0. Beyond order 2 some of them are negative.

Each stroke keeps what the base keeps, so the balance of a step is exact where the base's is: work and loss are sums
over the strokes. In a negative stroke a loss gives back what it took and a damping feedback supplies (spec 2.4). The
loss of the step is still a good quadrature of the true one, but it may come out below 0, and is then booked as created.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from passivo.errors import MethodError, nearest, quoted
from passivo.method.base import Laws, Method
from passivo.method.one_stage import AVF
from passivo.method.strokes import MOST_STROKES, Stroke, tables

if TYPE_CHECKING:
    from passivo.kernel.source import Layout, Source
    from passivo.model.form import Form
    from passivo.model.system import Model

GIVEN_BACK = "negative loss"  # counts strokes
MOST_SHARES = 99
ROUNDING = 1e-13


def _symmetric(*first: float) -> tuple[float, ...]:
    """Shares up to the middle one, which makes them add up to 1, and back again."""
    return (*first, 1.0 - 2.0 * math.fsum(first), *reversed(first))


TRIPLE = 1.0 / (2.0 - 2.0 ** (1.0 / 3.0))
FIVE = 1.0 / (4.0 - 4.0 ** (1.0 / 3.0))
SCHEMES: dict[str, tuple[float, ...]] = {
    "yoshida4": _symmetric(TRIPLE),
    "suzuki4": _symmetric(FIVE, FIVE),
    "yoshida6": _symmetric(0.78451361047755726381949763, 0.23557321335935813368479318, -1.17767998417887100694641568),
}


def order_of(shares: Sequence[float]) -> int:
    """The order, up to 6, that symmetric shares give a symmetric method of order 2."""
    size = math.fsum(abs(c) ** 3 for c in shares)
    middles = [math.fsum(shares[:k]) + c / 2 for k, c in enumerate(shares)]
    vanishes = lambda terms: abs(math.fsum(terms)) <= ROUNDING * size  # noqa: E731
    if not vanishes(c**3 for c in shares):
        return 2
    return 6 if vanishes(c**5 for c in shares) and vanishes(c**3 * x**2 for c, x in zip(shares, middles)) else 4


@dataclass(frozen=True)
class Composition(Method):
    """A symmetric method of order 2, composed to order 4 or 6; each stroke keeps what the base keeps.

    base      a symmetric method of order 2, such as AVF, ImplicitMidpoint or StructureSplitting
    scheme    "yoshida4" (3 strokes), "suzuki4" (5 shorter ones), "yoshida6" (7), or shares of the step that are
              symmetric and add up to 1
    negative  true: also where a stroke backwards meets a loss or a feedback. It gives back what the loss took; the
              ledger shows a loss below 0 as created, and `faults` counts the strokes that gave back
    """

    base: Method = field(default_factory=AVF)
    scheme: str | tuple[float, ...] = "suzuki4"
    negative: bool = False

    applies: ClassVar = "no loss or feedback"

    def __post_init__(self) -> None:
        if not isinstance(self.base, Method):
            hint = f"write {self.base.__name__}() with parentheses" if isinstance(self.base, type) else "give pv.AVF()"
            raise MethodError(f"Composition's base is a method, not {self.base!r}; {hint}")
        if isinstance(self.scheme, list):
            object.__setattr__(self, "scheme", tuple(self.scheme))
        if not isinstance(self.scheme, str):
            check_shares(self.scheme)
        elif self.scheme not in SCHEMES:
            raise MethodError(f"Composition has no scheme {quoted(self.scheme)}; {nearest(self.scheme, SCHEMES)}")

    @property
    def shares(self) -> tuple[float, ...]:
        """The strokes of the base, as shares of the step."""
        return SCHEMES[self.scheme] if isinstance(self.scheme, str) else self.scheme

    @property
    def order(self) -> int:  # type: ignore[override]
        return min(order_of(self.shares), self.composes)

    @property
    def composes(self) -> int:  # type: ignore[override]
        return self.base.composes

    @property
    def preserves(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.base.preserves

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        return self.base.symmetric

    @property
    def needs_energy(self) -> bool:  # type: ignore[override]
        return self.base.needs_energy

    @property
    def certifies(self) -> bool:  # type: ignore[override]
        return self.base.certifies

    @property
    def keeps_constraints(self) -> bool:  # type: ignore[override]
        return self.base.keeps_constraints

    @property
    def strokes(self) -> tuple[Stroke, ...]:  # type: ignore[override]
        return tuple((share * part, kind) for share in self.shares for part, kind in self.base.strokes)

    @property
    def nodes(self) -> tuple[float, ...]:  # type: ignore[override]
        starts = [math.fsum(self.shares[:k]) for k in range(len(self.shares))]
        return tuple(start + share * node for start, share in zip(starts, self.shares) for node in self.base.nodes)

    @property
    def backwards(self) -> bool:
        """Whether some stroke goes back in time."""
        return min(share for share, _ in self.strokes) < 0

    @property
    def counters(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(dict.fromkeys((*self.base.counters, *((GIVEN_BACK,) if self.backwards else ()))))

    def for_model(self, model: Model) -> Method:
        base, name = self.base.for_model(model), type(self.base).__name__
        if not (base.symmetric and base.order == 2 and base.strokes):
            raise MethodError(
                f"Composition takes a symmetric method of order 2 as its base, and {name} is none; "
                "take AVF, ImplicitMidpoint or StructureSplitting"
            )
        method = replace(self, base=base)
        if len(method.strokes) > MOST_STROKES:
            raise MethodError(f"Composition takes at most {MOST_STROKES} strokes, not {len(method.strokes)}")
        if method.backwards and not self.negative and model.lossy:
            raise MethodError(f"{self._backwards()} where {model.name!r} loses power; {REMEDY}")
        return method

    def _backwards(self) -> str:
        given = repr(self.scheme) if isinstance(self.scheme, str) else "of these shares"
        return f"Composition {given} goes back in time within a step, which creates energy"

    def form_of(self, model: Model) -> Form:
        return self.base.form_of(model)

    def recorded(self, model: Model) -> tuple[str, ...]:
        return self.base.recorded(model)

    def kernels_for(self, form: Form) -> tuple[Callable, ...]:
        return self.base.kernels_for(form)

    def write(self, source: Source, layout: Layout, form: Form, laws: Laws) -> dict[str, Any]:
        if self.backwards and not self.negative and (laws.feedback or laws.unknown):
            raise MethodError(f"{self._backwards()} where a feedback acts; {REMEDY}")
        numbers = self.base.write(source, layout, form, laws)
        counter = self.counters.index(GIVEN_BACK) if self.backwards else -1
        return {**numbers, **tables(self.strokes, counter)}


REMEDY = "take Collocation, which has no negative strokes, or say negative=True and see what the ledger tells"


def check_shares(shares: Any) -> None:
    """Finite numbers other than 0, the same forwards and backwards, that add up to 1."""
    what = "Composition's scheme"
    if not isinstance(shares, tuple) or not 0 < len(shares) <= MOST_SHARES:
        raise MethodError(
            f"{what} is a name such as 'suzuki4' or 1 to {MOST_SHARES} shares of the step, not {quoted(shares)}"
        )
    for share in shares:
        if isinstance(share, bool) or not isinstance(share, int | float) or not math.isfinite(share) or share == 0:
            raise MethodError(f"{what} holds numbers other than 0, not {share!r}")
    for k, share in enumerate(shares):
        if abs(share - shares[-1 - k]) > ROUNDING * abs(share):
            raise MethodError(
                f"{what} must be the same forwards and backwards, but share {k + 1} is {share!r} and the "
                f"one that faces it {shares[-1 - k]!r}; otherwise the order is lost"
            )
    if abs(total := math.fsum(shares) - 1.0) > ROUNDING * max(map(abs, shares)):
        raise MethodError(f"{what} must add up to 1, and adds up to {1.0 + total:.15g}; scale the shares")
