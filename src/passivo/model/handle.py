"""`Handle`: a real thing as a network sees it: it goes where the sensors say, and stores what energy it receives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from passivo.model.form import Form, Row
from passivo.model.ports import Port
from passivo.model.system import Model, check_names, checked_name, name_list


class Handle(Model):
    """The handle of a device: port "handle" (effort) takes the force that it feels and gives its velocity.

    axes  names of its degrees of freedom. With one axis the states are `position` and `velocity`, with several they
          are called as the axes are, and "v" + axis

    Signals `told_...`: where the handle is at the end of each step; `dropped`: 1 where the device dropped the force
    before that, and `given`: the most that the force then gave to the handle, in joules. The state `received` holds the
    joules that went in: a device stores what it receives, so it creates none by definition. `Told` steps it.
    """

    def __init__(self, axes: Sequence[str] = ("x",), name: str = "device"):
        self.name = checked_name(name, "the handle's name")
        self.axes = name_list(tuple(axes), "axes")
        many = len(self.axes) > 1
        places = self.axes if many else ("position",)
        self.positions = tuple(places)
        self.velocities = tuple(f"v{axis}" for axis in self.axes) if many else ("velocity",)
        self.states = (*self.positions, *self.velocities, "received")
        told = [f"told_{place}" for place in places]
        self.signals = (*told, "dropped", "given")
        self.params = {}
        self.ports = {"handle": Port("effort", len(self.axes), ())}
        self.units = {
            **dict.fromkeys((*self.positions, *told), "m"),
            **dict.fromkeys(self.velocities, "m/s"),
            **dict.fromkeys(("received", "given"), "J"),
            "handle": ("N", "m/s"),
        }
        check_names(states=self.states, parameters=self.params, ports=self.ports, signals=self.signals)

    @property
    def minimum(self) -> dict[str, float]:
        return dict.fromkeys(self.states, 0.0)

    def describe(self) -> dict[str, Any]:
        return {"kind": "Handle", "name": self.name, "axes": list(self.axes)}

    def check(self, params: Mapping[str, float]) -> None:
        """Nothing can be wrong: there are no parameters."""

    def with_params(self, **params: float) -> Handle:
        self.changed(params)
        return self

    def _derive(self) -> Form:
        import sympy as sp

        n, w = len(self.states), len(self.axes)
        symbols = {name: sp.Symbol(name, real=True) for name in (*self.states, *self.signals)}
        received = symbols["received"]
        return Form(
            states=tuple(symbols[name] for name in self.states),
            gradient=tuple(sp.Symbol(f"∇{name}", real=True) for name in self.states),
            inputs=tuple(sp.Symbol(f"handle[{i}]", real=True) for i in range(w)),
            signals=tuple(symbols[name] for name in self.signals),
            params=(),
            structure=sp.zeros(n, n),
            loss=sp.zeros(n, n),
            ports=sp.zeros(n, w),
            readout=sp.zeros(w, n),
            feedthrough=sp.zeros(w, w),
            rows=(Row(self.name, tuple(range(n)), received, sp.Integer(0), ()),),
            input_rows=(0,) * w,
            domain=None,
            minimum=(sp.Integer(0),) * n,
            source=tuple(symbols[name] for name in self.velocities),
            drift=(sp.Integer(0),) * n,
        )

    def __repr__(self) -> str:
        return f"Handle({list(self.axes)}, name={self.name!r})"
