"""`Coupled`: a model with a spring at one of its effort ports, whose far end is moved from outside (spec 4.8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from passivo.errors import ModelError
from passivo.model.form import Form, Row
from passivo.model.ports import Port
from passivo.model.system import Model


class Coupled(Model):
    """`model` with a spring of stiffness k at its effort port; the port `name` (flow) is the far end of the spring.

    The elongation is a state, one per component, so that the spring is solved inside the step of the model.
    """

    def __init__(self, model: Model, port: str, k: float, name: str):
        if model.constraints:
            raise ModelError(
                f"{model.name!r} has constraints, which a coupling's spring does not keep; take pv.Direct()"
            )
        self.inner, self.port, self.k, self.link = model, port, k, name
        self.couplings = (*model.couplings, name)
        self.parts = {"inner": model}
        self.name = model.name
        width = model.ports[port].width
        self.elongations = tuple(f"{name}.e" if width == 1 else f"{name}.e{i}" for i in range(width))
        self.states = (*model.states, *self.elongations)
        self.positions = (*model.positions, *self.elongations)
        self.params = {**model.params, f"{name}.k": k}
        self.ports = {key: p for key, p in model.ports.items() if key != port} | {name: Port("flow", width, ())}
        self.signals = model.signals
        taken, given = (model.unit(port), model.unit(port, gives=True))
        self.units = {**model.units, name: (given, taken)}

    def coupling(self, name: str) -> tuple[str, list[str], str]:
        if name != self.link:
            return self.inner.coupling(name)
        return self.elongations[0], [f"{name}.k"] * len(self.elongations), name

    @property
    def minimum(self) -> dict[str, float] | None:
        lowest = self.inner.minimum
        return None if lowest is None else {**lowest, **dict.fromkeys(self.elongations, 0.0)}

    def describe(self) -> dict[str, Any]:
        return {
            "kind": "Coupled",
            "parts": {"inner": self.inner.describe()},
            "port": self.port,
            "name": self.link,
            "params": {f"{self.link}.k": self.k},
        }

    def check(self, params: Mapping[str, float]) -> None:
        self.inner.check({name: params[name] for name in self.inner.params})
        if not params[f"{self.link}.k"] > 0:
            raise ModelError(f"the coupling {self.link!r} needs a stiffness > 0, not {params[f'{self.link}.k']!r}")

    def with_params(self, **params: float) -> Coupled:
        values = self.changed(params)
        inner = self.inner.with_params(**{name: values[name] for name in self.inner.params})
        return Coupled(inner, self.port, values[f"{self.link}.k"], self.link)

    def _derive(self) -> Form:
        import sympy as sp

        form = self.inner.form
        names = list(self.inner.ports)
        at = sum(self.inner.ports[name].width for name in names[: names.index(self.port)])
        width, n = self.inner.ports[self.port].width, len(form.states)
        own, rest = list(range(at, at + width)), [i for i in range(len(form.inputs)) if not at <= i < at + width]
        if any(form.feedthrough[i, j] != 0 for i in own for j in range(len(form.inputs))):
            raise ModelError(
                f"port {self.port!r} answers its input at once (feedthrough); a coupling needs one that does not"
            )
        k = sp.Symbol(f"{self.link}.k", real=True)
        e = tuple(sp.Symbol(name, real=True) for name in self.elongations)
        g = tuple(sp.Symbol(f"∇{name}", real=True) for name in self.elongations)
        u = tuple(sp.Symbol(f"{self.link}[{i}]", real=True) for i in range(width))
        G, Y = form.ports, form.readout
        pull = G.extract(list(range(n)), own)
        zero = sp.zeros(width, width)
        structure = sp.Matrix.vstack(sp.Matrix.hstack(form.structure, pull), sp.Matrix.hstack(-pull.T, zero))
        loss = sp.diag(form.loss, zero)
        ports = sp.diag(G.extract(list(range(n)), rest), sp.eye(width))
        readout = sp.diag(Y.extract(rest, list(range(n))), sp.eye(width))
        feedthrough = sp.diag(form.feedthrough.extract(rest, rest), zero)
        speed = [Y[i, :].dot(form.gradient) for i in own]
        rows = list(form.rows)
        for i, v in zip(own, speed):
            row = form.input_rows[i]
            rows[row] = replace(rows[row], received=(*rows[row].received, v * g[i - at]))
        powers = tuple(-v * force for v, force in zip(speed, g))
        rows.append(
            Row(self.link, tuple(range(n, n + width)), k * sp.Add(*(x**2 for x in e)) / 2, sp.Integer(0), powers)
        )
        return replace(
            form,
            states=form.states + e,
            gradient=form.gradient + g,
            inputs=tuple(form.inputs[i] for i in rest) + u,
            params=(*form.params, k),
            structure=structure,
            loss=loss,
            ports=ports,
            readout=readout,
            feedthrough=feedthrough,
            rows=tuple(rows),
            minimum=None if form.minimum is None else (*form.minimum, *(sp.Integer(0),) * width),
            input_rows=(*(form.input_rows[i] for i in rest), *(len(rows) - 1,) * width),
        )
