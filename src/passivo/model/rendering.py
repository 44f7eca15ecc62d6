"""`Rendering`: a law that gives forces, as programs for haptic devices do; nothing is known of its energy."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from passivo.errors import ModelError, nearest, quoted
from passivo.model.expression import evaluate, is_condition, names, symbolic, to_text
from passivo.model.form import Form, Row
from passivo.model.ports import Port
from passivo.model.system import Model, check_names, checked_name, name_list, number
from passivo.model.units import checked_units


class Rendering(Model):
    """A part whose ports give what a formula says, whether or not that is passive.

        wall = pv.Rendering({"end": pv.flow()}, {"end": "k*Max(depth, 0)"}, {"k": 1e3}, signals=["depth"])

    ports    name -> `effort(width=...)` or `flow(width=...)`
    law      port -> formula, or one for each component, in parameters, signals and what the ports take: the name of the
             port, or of a wide port name0, name1 ...
    params   name -> value
    signals  names of inputs without power, such as a depth that is observed
    memory   state -> its rate of change, for laws that remember, such as filters and observers; it starts at 0. The
             law may use them; explicit Euler steps them unless the part is given another method
    limits   conditions on parameters such as "k >= 0"

    Nothing is known of its energy: it has none in the ledger, and the junction in front of it is judged by the most
    energy that ever came out beyond all that went in.
    """

    positions = ()
    opaque = True

    def __init__(
        self,
        ports: Mapping[str, Port],
        law: Mapping[str, Any],
        params: Mapping[Any, float] | None = None,
        *,
        signals: Sequence[Any] = (),
        memory: Mapping[Any, Any] | None = None,
        limits: Sequence[Any] = (),
        units: Mapping[Any, Any] | None = None,
        name: str = "rendering",
    ):
        self.name = checked_name(name, "the rendering's name")
        if not isinstance(ports, Mapping) or not ports or not isinstance(law, Mapping):
            raise ModelError("a Rendering needs ports and a law for each, as in {'end': pv.flow()}, {'end': 'k*depth'}")
        self.ports = {str(key): port for key, port in ports.items()}
        for key, port in self.ports.items():
            if not isinstance(port, Port) or port.matrix:
                raise ModelError(f"port {key!r} of a Rendering is made by pv.flow(width=...) or pv.effort(width=...)")
        self.signals = name_list(signals, "signals")
        self.states = name_list(list(memory or {}), "memory")
        self.params = {str(k): number(v, f"parameter {str(k)!r}") for k, v in (params or {}).items()}
        check_names(states=self.states, parameters=self.params, ports=self.ports, signals=self.signals)
        named = {**dict.fromkeys(self.states + self.signals), **self.params}
        self.units = checked_units(units, named, self.ports)
        self.law = {key: self._formulas(key, law) for key in self.ports}
        self.memory = {str(key): self._read(rate, f"the rate of {str(key)!r}") for key, rate in (memory or {}).items()}
        for key in law:
            if str(key) not in self.ports:
                raise ModelError(f"the law names {quoted(key)}, which is no port; {nearest(str(key), self.ports)}")
        self.limits = tuple(to_text(limit) for limit in limits)
        self.check(self.params)

    @property
    def taken(self) -> dict[str, str]:
        """What stands in a law for what a port takes -> its input symbol."""
        return {
            key if port.width == 1 else f"{key}{i}": f"{key}[{i}]"
            for key, port in self.ports.items()
            for i in range(port.width)
        }

    def _formulas(self, key: str, law: Mapping[str, Any]) -> tuple[str, ...]:
        if key not in law:
            raise ModelError(f"port {key!r} has no law; say what it gives")
        given = law[key] if isinstance(law[key], list | tuple) else [law[key]]
        texts = tuple(self._read(entry, f"the law of {key!r}") for entry in given)
        if len(texts) != self.ports[key].width:
            raise ModelError(f"port {key!r} is {self.ports[key].width} wide and has {len(texts)} formulas")
        return texts

    def _read(self, value: Any, what: str) -> str:
        text, scope = to_text(value), {*self.states, *self.params, *self.signals, *self.taken}
        if is_condition(text):
            raise ModelError(f"{what} must be a number, not the condition {quoted(text)}")
        for name in sorted(names(text) - scope):
            raise ModelError(f"{what} uses {quoted(name)}; {nearest(name, sorted(scope))}")
        return text

    @property
    def minimum(self) -> dict[str, float]:
        return dict.fromkeys(self.states, 0.0)

    def describe(self) -> dict[str, Any]:
        return {
            "kind": "Rendering",
            "name": self.name,
            "ports": {key: [port.kind, port.width] for key, port in self.ports.items()},
            "law": {key: list(texts) for key, texts in self.law.items()},
            "params": dict(self.params),
            "signals": list(self.signals),
            "memory": dict(self.memory),
            "limits": list(self.limits),
            "units": {k: unit if isinstance(unit, str) else list(unit) for k, unit in self.units.items()},
        }

    @classmethod
    def from_description(cls, data: Mapping[str, Any]) -> Rendering:
        ports = {key: Port(kind, width, ()) for key, (kind, width) in data["ports"].items()}
        return cls(ports, **{key: value for key, value in data.items() if key not in ("kind", "ports")})

    def check(self, params: Mapping[str, float]) -> None:
        for limit in self.limits:
            if not evaluate(limit, params):
                given = ", ".join(f"{name} = {params[name]:g}" for name in sorted(names(limit)))
                raise ModelError(f"{self.name} needs {limit}, but {given}")

    def with_params(self, **params: float) -> Rendering:
        twin = copy.copy(self)
        twin.params = self.changed(params)
        return twin

    def _derive(self) -> Form:
        import sympy as sp

        known = {name: sp.Symbol(name, real=True) for name in (*self.states, *self.params, *self.signals)}
        inputs = {name: sp.Symbol(symbol, real=True) for name, symbol in self.taken.items()}
        read = lambda text: evaluate(text, {**known, **inputs}, symbolic())  # noqa: E731
        n, w = len(self.states), self.width
        return Form(
            states=tuple(known[name] for name in self.states),
            gradient=tuple(sp.Symbol(f"∇{name}", real=True) for name in self.states),
            inputs=tuple(inputs.values()),
            signals=tuple(known[name] for name in self.signals),
            params=tuple(known[name] for name in self.params),
            structure=sp.zeros(n, n),
            loss=sp.zeros(n, n),
            ports=sp.zeros(n, w),
            readout=sp.zeros(w, n),
            feedthrough=sp.zeros(w, w),
            rows=(Row(self.name, tuple(range(n)), sp.Integer(0), sp.Integer(0), (), opaque=True),),
            input_rows=(0,) * w,
            domain=None,
            minimum=(sp.Integer(0),) * n,
            source=tuple(read(text) for texts in self.law.values() for text in texts),
            drift=tuple(read(text) for text in self.memory.values()),
        )

    def __repr__(self) -> str:
        return f"Rendering({self.name!r}, law={self.law})"
