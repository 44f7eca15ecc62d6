"""Collocation that keeps the balance of energy exactly, of order 2s with s stages (spec 2.4, Hairer's in port form).

    X(τ) = x + h Σ_k K_k ∫₀^τ ℓ_k        ḡ_j = ∫ ℓ_j/b_j ∇H(X(τ)) dτ        x1 = X(1)
    K_j = (J − R)(X(c_j)) ḡ_j + G(X(c_j)) u_j        y_j = G(X(c_j))'ḡ_j

with the Gauss nodes c_j, their weights b_j > 0 and Lagrange polynomials ℓ_j. Since `Σ b_j ḡ_j·h K_j = ∫ ∇H(X)·X' dτ`,

    ΔH = h Σ b_j y_j'u_j − h Σ b_j ḡ_j'R ḡ_j

for every step size: unlike a composition of steps it never steps backwards, so that losses and feedback stay passive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from passivo.errors import MethodError
from passivo.kernel import newton
from passivo.method.base import Laws, Method
from passivo.method.one_stage import write_stages
from passivo.method.strokes import ONE, advance, finish, stroke, tables

if TYPE_CHECKING:
    from passivo.kernel.source import Layout, Source
    from passivo.model.form import Form
    from passivo.model.system import Model


@dataclass(frozen=True)
class Collocation(Method):
    """Energy-preserving collocation at the Gauss nodes (spec 2.4): exact balance for every h, order twice the stages.

    stages   1 (that is AVF), 2 or 3. Inputs are read, and a Feedback or Relation is solved, at every stage

    Where the energy is quadratic it is Gauss collocation.
    """

    stages: int = 2

    preserves: ClassVar = ("energy", "quadratic energy", "convex passivity")
    symmetric: ClassVar = True
    strokes: ClassVar = ONE
    kernels: ClassVar = (*newton.KERNELS, finish, stroke, advance)
    certifies: ClassVar = True

    @property
    def order(self) -> int:  # type: ignore[override]
        return 2 * self.stages

    @property
    def nodes(self) -> tuple[float, ...]:  # type: ignore[override]
        from passivo.kernel.slopes import gauss

        return tuple(gauss(self.stages)[0].tolist())

    def for_model(self, model: Model) -> Method:
        if type(self.stages) is not int or self.stages not in (1, 2, 3):
            raise MethodError(f"Collocation takes 1, 2 or 3 stages, for order 2, 4 or 6, not {self.stages!r}")
        return self

    def write(self, source: Source, layout: Layout, form: Form, laws: Laws) -> dict[str, Any]:
        from passivo.kernel.average import mean_gradients
        from passivo.kernel.path import Path

        path = Path.collocation(form.states, self.stages)
        gradients, averages, nodes = mean_gradients(form.energy, path)
        numbers = write_stages(source, layout, form, laws, form.flow, path, path.nodes, gradients, averages, nodes)
        return {**numbers, **tables(self.strokes)}
