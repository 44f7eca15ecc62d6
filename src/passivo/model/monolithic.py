"""Composition into one system: parts whose ports meet inside the same step (spec 2.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from passivo.errors import ModelError, nearest, quoted
from passivo.model.expression import RESERVED
from passivo.model.form import Form, Row
from passivo.model.ports import Port
from passivo.model.system import Model, checked_name


class Monolithic(Model):
    """Parts joined port to port and stepped as one system; the ledger keeps a row for each part and connection.

    parts        name -> System
    connections  pairs ("spring.end", "mass.force"), or triples with a name for the connection; each joins one
                 effort port and one flow port of equal width: the flow passes, the effort changes sign

    States, parameters, free ports and the units of all these are called "part.name". With `u_flow = y_effort` and
    `u_effort = −y_flow` the joint matrix is `C = [[B, −G Gc'], [Gc G', Bc]]`; feedthrough at connected ports is
    eliminated.
    """

    signals: tuple[str, ...]

    def __init__(
        self,
        parts: Mapping[str, Model],
        connections: Sequence[Sequence[str]] = (),
        *,
        name: str = "monolithic",
    ):
        self.name = checked_name(name, "the name")
        if not isinstance(parts, Mapping):
            raise ModelError(f"parts must map names to systems, as in {{'spring': ...}}, not {quoted(parts)}")
        if not isinstance(connections, list | tuple):
            raise ModelError(f"connections must be a list of pairs of ports, not {quoted(connections)}")
        self.parts = {checked_name(key, "the part's name"): part for key, part in parts.items()}
        if not self.parts:
            raise ModelError("a Monolithic needs at least one part")
        for key, part in self.parts.items():
            if not isinstance(part, Model):
                raise ModelError(f"part {key!r} must be a System, not {quoted(part)}")
            if part.steps_apart:
                raise ModelError(
                    f"part {key!r} is a world, and a world cannot be part of a Monolithic; use a pv.Network"
                )
            if part.constraints:
                raise ModelError(
                    f"part {key!r} has constraints, which a Monolithic does not keep; write it in its own coordinates "
                    "(pv.Embedding), or connect it in a pv.Network"
                )
        ports = {f"{key}.{p}": port for key, part in self.parts.items() for p, port in part.ports.items()}
        self.connections = tuple(_connection(entry, ports) for entry in connections)
        ends = [end for _, *pair in self.connections for end in pair]
        for end in ends:
            if ends.count(end) > 1:
                raise ModelError(
                    f"port {end!r} is connected twice; give the part a second port for the second connection"
                )
        titles = [*self.parts, *(title for title, *_ in self.connections)]
        for title in titles:
            if title in RESERVED:
                raise ModelError(f"the connection's name {quoted(title)} is reserved; choose another")
            if titles.count(title) > 1:
                raise ModelError(f"the name {quoted(title)} stands for two rows of the ledger; rename one")
        join = lambda get: {f"{k}.{n}": v for k, part in self.parts.items() for n, v in get(part).items()}  # noqa: E731
        self.states = tuple(join(lambda part: dict.fromkeys(part.states)))
        self.positions = tuple(join(lambda part: dict.fromkeys(part.positions)))
        self.signals = tuple(join(lambda part: dict.fromkeys(part.signals)))
        self.params = join(lambda part: part.params)
        self.ports = {end: port for end, port in ports.items() if end not in ends}
        self.units = {end: unit for end, unit in join(lambda part: part.units).items() if end not in ends}

    @property
    def minimum(self) -> dict[str, float] | None:
        lowest = {key: {} if not part.states else part.minimum for key, part in self.parts.items()}
        if any(values is None for values in lowest.values()):
            return None
        return {f"{key}.{name}": value for key, values in lowest.items() for name, value in (values or {}).items()}

    def describe(self) -> dict[str, Any]:
        return {
            "kind": "Monolithic",
            "name": self.name,
            "parts": {key: part.describe() for key, part in self.parts.items()},
            "connections": [[a, b, title] for title, a, b in self.connections],
        }

    def check(self, params: Mapping[str, float]) -> None:
        for key, part in self.parts.items():
            part.check({name: params[f"{key}.{name}"] for name in part.params})

    def with_params(self, **params: float) -> Monolithic:
        values = self.changed(params)
        parts = {
            key: part.with_params(**{name: values[f"{key}.{name}"] for name in part.params})
            for key, part in self.parts.items()
        }
        return Monolithic(parts, [[a, b, title] for title, a, b in self.connections], name=self.name)

    def _derive(self) -> Form:
        import sympy as sp

        forms = {key: _prefixed(part.form, key) for key, part in self.parts.items()}
        order = [f"{key}.{p}" for key, part in self.parts.items() for p in part.ports]
        widths = {end: port.width for key, part in self.parts.items() for end, port in _named(key, part)}
        start = {end: sum(widths[e] for e in order[:i]) for i, end in enumerate(order)}
        total = sum(widths.values())
        g = tuple(symbol for form in forms.values() for symbol in form.gradient)
        stack = lambda name: sp.diag(*(getattr(form, name) for form in forms.values()))  # noqa: E731
        J, R, G, Y, D = (stack(name) for name in ("structure", "loss", "ports", "readout", "feedthrough"))

        free = [start[end] + i for end in order if end in self.ports for i in range(widths[end])]
        inner = [i for i in range(total) if i not in free]
        outside = tuple(sp.Symbol(f"{end}[{i}]", real=True) for end in self.ports for i in range(widths[end]))
        # all inputs in terms of the gradient and the free inputs: u = K y + E u_free, y = Y g + D u, K skew
        K, E = self._coupling(start, widths, total), sp.zeros(total, len(free))
        for column, row in enumerate(free):
            E[row, column] = 1
        solve = self._solved(sp.eye(total) - K * D) if D.is_zero_matrix is not True else sp.eye(total)
        by_gradient, by_input = solve * K * Y, solve * E
        gradient = sp.Matrix(len(g), 1, g)  # with its shape: there may be no states
        u = by_gradient * gradient + by_input * sp.Matrix(len(outside), 1, outside)
        y = Y * gradient + D * u

        C = J - R + G * by_gradient
        structure, loss = (C - C.T) / 2, -(C + C.T) / 2
        inputs = G * by_input if free else sp.zeros(len(g), 0)
        own_rows = lambda matrix: matrix.extract(free, list(range(matrix.shape[1])))  # noqa: E731

        rows, row_of = [], {}
        states = offset = 0
        for number, (key, form) in enumerate(forms.items()):
            size = len(form.inputs)
            own = dict(zip(form.inputs, u[offset : offset + size]))
            received = tuple(y[i] * u[i] for i in range(offset, offset + size) if i in inner)
            lost = sp.Add(*(row.lost for row in form.rows)).subs(own, simultaneous=True)
            indices = tuple(range(states, states + len(form.states)))
            rows.append(Row(key, indices, form.energy, lost, received))
            row_of.update(dict.fromkeys(range(offset, offset + size), number))
            states, offset = states + len(form.states), offset + size
        for title, a, b in self.connections:
            both = [start[end] + i for end in (a, b) for i in range(widths[end])]
            rows.append(Row(title, (), sp.Integer(0), sp.Integer(0), tuple(-y[i] * u[i] for i in both)))
        conditions = [form.domain for form in forms.values() if form.domain is not None]
        lowest = [form.minimum for form in forms.values()]
        return Form(
            states=tuple(symbol for form in forms.values() for symbol in form.states),
            gradient=g,
            inputs=outside,
            signals=tuple(symbol for form in forms.values() for symbol in form.signals),
            params=tuple(symbol for form in forms.values() for symbol in form.params),
            structure=structure,
            loss=loss,
            ports=inputs,
            readout=own_rows(Y + D * by_gradient) if free else sp.zeros(0, len(g)),
            feedthrough=own_rows(D * by_input) if free else sp.zeros(0, 0),
            rows=tuple(rows),
            input_rows=tuple(row_of[i] for i in free),
            domain=sp.And(*conditions) if conditions else None,
            minimum=None if None in lowest else tuple(value for part in lowest for value in part or ()),
        )

    def _solved(self, matrix: Any) -> Any:
        """The inverse of I − K D, by which connected feedthroughs are eliminated."""
        from sympy.matrices.exceptions import NonInvertibleMatrixError

        try:
            return matrix.inv()
        except NonInvertibleMatrixError:
            raise ModelError(
                f"the connected feedthroughs of {self.name!r} form a loop whose signals are not determined; "
                "put a part with a state, such as a mass or a spring, into the loop"
            ) from None

    def _coupling(self, start: Mapping[str, int], widths: Mapping[str, int], total: int) -> Any:
        """K of u = K y: the flow passes, the effort changes sign."""
        import sympy as sp

        K = sp.zeros(total, total)
        for _, effort, flow in self.connections:
            for i in range(widths[effort]):
                K[start[flow] + i, start[effort] + i] = 1
                K[start[effort] + i, start[flow] + i] = -1
        return K

    def __repr__(self) -> str:
        joined = [list(ends) for _, *ends in self.connections]
        return f"Monolithic({self.name!r}, parts={list(self.parts)}, connections={joined})"


def _named(key: str, part: Model):
    return ((f"{key}.{p}", port) for p, port in part.ports.items())


def _connection(entry: Sequence[str], ports: Mapping[str, Port]) -> tuple[str, str, str]:
    """(name, effort port, flow port) of a connection, checked; the order of the two ends is irrelevant."""
    listed = isinstance(entry, list | tuple) and all(isinstance(end, str) for end in entry)
    if not listed or len(entry) not in (2, 3):
        raise ModelError(f"a connection is a pair of ports such as ('spring.end', 'mass.force'), not {quoted(entry)}")
    a, b, *rest = entry
    for end in (a, b):
        if end not in ports:
            raise ModelError(f"there is no port {quoted(end)}; {nearest(end, ports)}")
    if ports[a].kind == ports[b].kind:
        raise ModelError(
            f"{a!r} and {b!r} are both {ports[a].kind} ports; a connection joins an effort port and a flow port: "
            f"put a {'spring' if ports[a].kind == 'effort' else 'mass'} between them"
        )
    if ports[a].width != ports[b].width:
        raise ModelError(f"{a!r} is {ports[a].width} wide and {b!r} is {ports[b].width} wide; widths must be equal")
    effort, flow = (a, b) if ports[a].kind == "effort" else (b, a)
    return (str(rest[0]) if rest else f"{flow}-{effort}", effort, flow)


def _prefixed(form: Form, key: str) -> Form:
    """The same form with every symbol called "part.name"."""
    import sympy as sp

    groups = (form.states, form.gradient, form.inputs, form.signals, form.params)
    rename = {s: sp.Symbol(f"{key}.{s.name}", real=True) for group in groups for s in group}
    new = lambda value: value.subs(rename, simultaneous=True) if value is not None else None  # noqa: E731
    states, gradient, inputs, signals, params = (tuple(rename[s] for s in group) for group in groups)
    rows = tuple(Row(r.name, r.states, new(r.energy), new(r.lost), tuple(map(new, r.received))) for r in form.rows)
    return Form(
        states, gradient, inputs, signals, params,
        new(form.structure), new(form.loss), new(form.ports), new(form.readout), new(form.feedthrough),
        rows, form.input_rows, new(form.domain), None if form.minimum is None else tuple(map(new, form.minimum)),
    )  # fmt: skip
