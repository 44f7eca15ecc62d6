"""Composition: the joint structure of spec 2.3, feedthrough between parts, a ledger row for each."""

import numpy as np
import pytest
import sympy as sp

import passivo as pv
from passivo.errors import ModelError
from passivo.method.one_stage import AVF
from passivo.method.part import compile
from passivo.model.describe import model_from
from passivo.model.library import damper, duffing, mass, pendulum, rigid_body, spring
from passivo.model.monolithic import Monolithic
from passivo.model.ports import effort, flow
from passivo.model.system import System


def controller():
    """A flow system with a state-dependent input matrix, two wide."""
    return System(
        states=["a", "c"],
        energy="a**2/2 + c**4/4 + a*c",
        structure=[[0, "1 + a**2"], ["-1 - a**2", 0]],
        loss=[["r", 0], [0, 0]],
        ports={"end": flow([["1", "c"], ["0", "1"]])},
        params={"r": 0.4},
        name="controller",
    )


def plant():
    """An effort system two wide, with an outside port beside."""
    return System(
        states=["x", "y"],
        energy="x**2/2 + cos(y)",
        structure=[[0, "y"], ["-y", 0]],
        loss=[[0, 0], [0, "s"]],
        ports={"force": effort([["x", "0"], ["1", "2"]]), "out": effort([1, 0])},
        params={"s": 0.1},
        name="plant",
    )


def joined():
    return Monolithic({"plant": plant(), "control": controller()}, [("plant.force", "control.end")])


def damped(swapped=False):
    ends = [("spring.end", "mass.first", "link"), ("damper.end", "mass.second", "brake")]
    if swapped:
        ends = [(b, a, name) for a, b, name in ends]
    return Monolithic(
        {
            "spring": spring(k=3.0),
            "mass": mass(m=2.0, ports=("first", "second", "outside")),
            "damper": damper(b=0.7),
        },
        ends,
    )


def renamed(matrix, part):
    """A matrix of a part's own form with its symbols called "part.name"."""
    return matrix.subs({s: sp.Symbol(f"{part}.{s.name}", real=True) for s in matrix.free_symbols})


def test_joint_structure():
    """C = [[B, −G Gc'], [Gc G', Bc]] (spec 2.3), with B = J − R."""
    joint = joined().form
    own, other = plant().form, controller().form
    B, Bc = renamed(own.structure - own.loss, "plant"), renamed(other.structure - other.loss, "control")
    G, Gc = renamed(own.ports[:, :2], "plant"), renamed(other.ports, "control")
    C = sp.Matrix(sp.BlockMatrix([[B, -G * Gc.T], [Gc * G.T, Bc]]))
    assert (joint.structure - joint.loss - C).expand() == sp.zeros(4, 4)
    assert (joint.structure + joint.structure.T).expand() == sp.zeros(4, 4)
    assert (joint.loss - sp.diag(renamed(own.loss, "plant"), renamed(other.loss, "control"))).expand() == sp.zeros(4, 4)
    assert joint.ports == sp.Matrix([1, 0, 0, 0])
    assert joint.readout == joint.ports.T


def test_a_damper_between_is_eliminated():
    """The damper has no state: its feedthrough becomes a loss b on the mass."""
    form = damped().form
    b = sp.Symbol("damper.b", real=True)
    assert form.structure == sp.Matrix([[0, 1], [-1, 0]])
    assert form.loss == sp.diag(0, b)
    assert form.feedthrough == sp.zeros(1, 1)
    lost = {row.name: row.lost for row in form.rows}
    assert lost == {"spring": 0, "mass": 0, "damper": b * form.gradient[1] ** 2, "link": 0, "brake": 0}


def test_a_resistive_source_meets_a_damper():
    """Feedthrough on both sides of a connection: u = −b v, v = r u + w  =>  v = w / (1 + r b)."""
    source = System(["x"], "x**2/2", ports={"a": effort([1])}, feedthrough=[["r"]], params={"r": 2.0}, name="source")
    form = Monolithic({"s": source, "d": damper(b=3.0)}, [("s.a", "d.end")]).form
    r, b = sp.Symbol("s.r", real=True), sp.Symbol("d.b", real=True)
    assert sp.simplify(form.loss[0, 0] - b / (1 + r * b)) == 0
    total = sp.Add(*(row.lost for row in form.rows))
    assert sp.simplify(total - form.loss[0, 0] * form.gradient[0] ** 2) == 0


def test_a_gyrator_between_two_masses_turns_one_into_a_spring():
    gyrator = System(
        [],
        0,
        ports={"a": flow(), "b": flow()},
        feedthrough=[[0, "r"], ["-r", 0]],
        params={"r": 2.0},
        name="gyrator",
    )
    form = Monolithic({"a": mass(), "b": mass(), "g": gyrator}, [("a.force", "g.a"), ("b.force", "g.b")]).form
    r = sp.Symbol("g.r", real=True)
    assert form.structure == sp.Matrix([[0, -r], [r, 0]])
    assert form.loss == sp.zeros(2, 2)


def test_the_order_of_ends_is_irrelevant():
    assert damped().form == damped(swapped=True).form
    assert damped().describe() == damped(swapped=True).describe()


@pytest.mark.parametrize("make", [damped, joined])
def test_what_passes_inside_cancels(make):
    form = make().form
    assert sp.expand(sp.Add(*(power for row in form.rows for power in row.received))) == 0


def test_connections_keep_nothing():
    for row in damped().form.rows[3:]:
        assert (row.energy, row.lost, sp.expand(sp.Add(*row.received))) == (0, 0, 0)


def test_each_row_balances():
    """stored' = received + work of outside ports − lost, row by row, on the exact field."""
    model = joined()
    form = model.form
    gradient = [form.energy.diff(x) for x in form.states]
    values = dict(zip(form.gradient, gradient))
    field = [f.subs(values) for f in form.flow]
    outside = [y.subs(values) * u for y, u in zip(form.output, form.inputs)]
    for number, row in enumerate(form.rows):
        change = sp.Add(*(row.energy.diff(form.states[i]) * field[i] for i in row.states))
        supplied = sp.Add(*(power for power, owner in zip(outside, form.input_rows) if owner == number))
        assert sp.expand(change - sp.Add(*row.received).subs(values) - supplied + row.lost.subs(values)) == 0


def test_names_and_free_ports():
    model = damped()
    assert model.states == ("spring.q", "mass.p")
    assert model.positions == ("spring.q",)
    assert model.params == {"spring.k": 3.0, "mass.m": 2.0, "damper.b": 0.7}
    assert list(model.ports) == ["mass.outside"]
    assert [row.name for row in model.form.rows] == ["spring", "mass", "damper", "link", "brake"]
    assert model.minimum == {"spring.q": 0.0, "mass.p": 0.0}
    unbounded = Monolithic({"duffing": duffing(alpha=-1.0), "damper": damper()}, [("duffing.force", "damper.end")])
    assert unbounded.minimum is None


def test_parameters_change_part_by_part():
    model = damped()
    assert model.with_params(**{"spring.k": 9.0}).parts["spring"].params == {"k": 9.0}
    with pytest.raises(ModelError, match="feedthrough is negative"):
        model.with_params(**{"damper.b": -1.0})
    with pytest.raises(ModelError, match=r"did you mean 'damper\.b'"):
        model.with_params(**{"damper.c": 1.0})


@pytest.mark.parametrize(
    ("connections", "says"),
    [
        ([("mass.first", "other.force")], "both effort ports.*put a spring between"),
        ([("spring.end", "damper.end")], "both flow ports.*put a mass between"),
        ([("spring.en", "mass.first")], "no port 'spring.en'; did you mean 'spring.end'"),
        ([("spring.end", "mass.first"), ("damper.end", "mass.first")], "'mass.first' is connected twice"),
        ([("body.torque", "spring.end")], "3 wide and 'spring.end' is 1 wide"),
        (["spring.end"], "a connection is a pair of ports"),
        ([("spring.end",)], "a connection is a pair of ports"),
        ([(1, 2)], "a connection is a pair of ports"),
        (("spring.end", "mass.first"), "a connection is a pair of ports"),
        ("spring.end", "list of pairs"),
        ([("spring.end", "mass.first", "mass")], "'mass' stands for two rows"),
        ([("spring.end", "mass.first", "total")], "'total' is reserved"),
    ],
)
def test_bad_connections(connections, says):
    parts = {
        "spring": spring(),
        "mass": mass(ports=("first", "second")),
        "other": mass(),
        "damper": damper(),
        "body": rigid_body(),
    }
    with pytest.raises(ModelError, match=says):
        Monolithic(parts, connections)


def test_bad_parts():
    with pytest.raises(ModelError, match="at least one part"):
        Monolithic({})
    with pytest.raises(ModelError, match="part 'a' must be a System"):
        Monolithic({"a": 5})
    with pytest.raises(ModelError, match="map names to systems"):
        Monolithic([spring()])
    with pytest.raises(ModelError, match="not a plain name"):
        Monolithic({"a.b": spring()})


def test_an_undetermined_loop_of_feedthrough():
    wire = System([], 0, ports={"a": flow(), "b": effort()}, feedthrough=[[0, -1], [1, 0]], name="wire")
    with pytest.raises(ModelError, match=r"loop whose signals are not determined.*mass or a spring"):
        _ = Monolithic({"t": wire, "u": wire}, [("t.a", "u.b"), ("t.b", "u.a")]).form


def nested():
    inner = Monolithic({"s": spring(), "m": mass(ports=("a", "b"))}, [("s.end", "m.a")])
    return Monolithic({"inner": inner, "brake": damper()}, [("inner.m.b", "brake.end")])


def test_a_composition_may_be_a_part():
    flat = Monolithic(
        {"s": spring(), "m": mass(ports=("a", "b")), "brake": damper()},
        [("s.end", "m.a"), ("m.b", "brake.end")],
    )
    assert nested().states == ("inner.s.q", "inner.m.p")
    outer = {s: sp.Symbol(f"inner.{s.name}", real=True) for f in flat.form.flow for s in f.free_symbols}
    outer = {s: new for s, new in outer.items() if not s.name.startswith("brake.")}
    assert nested().form.flow == [f.xreplace(outer) for f in flat.form.flow]


@pytest.mark.parametrize("make", [damped, nested])
def test_described_and_read_back(make):
    model = make()
    again = model_from(model.describe())
    assert again.describe() == model.describe()
    assert again.form == model.form


@pytest.mark.parametrize(
    ("description", "says"),
    [
        ({"kind": "Sytem"}, "did you mean 'System'"),
        ({"kind": "System"}, "lacks 'ports'"),
        ({"kind": "Monolithic", "parts": {}, "name": "a"}, "lacks 'connections'"),
        ({"kind": "System", "states": ["q"], "energy": "q", "ports": {}, "colour": 1}, "cannot be read"),
        (5, "'kind'"),
    ],
)
def test_bad_descriptions(description, says):
    with pytest.raises(ModelError, match=says):
        model_from(description)


@pytest.mark.parametrize(
    ("make", "start"),
    [
        (damped, {"spring.q": 0.3}),
        (nested, {"inner.s.q": 0.3}),
        (lambda: Monolithic({"p": pendulum(), "d": damper()}, [("p.torque", "d.end")]), {"p.q": 2.0}),
    ],
)
def test_every_row_is_exact_by_avf(make, start):
    part = compile(make(), AVF(), 0.05, start=start, engine="python")
    rng = np.random.default_rng(5)
    for _ in range(10):
        part.step(rng.normal(size=part.module.WIDTH))
    assert part.verdict.kind == "exact"
    assert {verdict.kind for verdict in part.verdict.parts.values()} == {"exact"}


def test_a_nested_composition_equals_the_flat_one():
    """Feedthrough across the boundary of the inner composition: its readout is not the transpose of its ports."""
    damper = pv.System([], 0, ports={"a": pv.flow(), "b": pv.flow()}, feedthrough=[[0.3, 0.3], [0.3, 0.3]])
    parts = {"m": pv.library.mass(m=1.0), "d": damper, "M": pv.library.mass(m=2.0)}
    flat = pv.Monolithic(parts, [("m.force", "d.a"), ("M.force", "d.b")])
    inner = pv.Monolithic({"m": parts["m"], "d": damper}, [("m.force", "d.a")], name="inner")
    nested = pv.Monolithic({"i": inner, "M": parts["M"]}, [("M.force", "i.d.b")])
    one = pv.simulate(flat, pv.AVF(), step=0.1, until=3.0, start={"m.p": 1.0}, engine="python")
    two = pv.simulate(nested, pv.AVF(), step=0.1, until=3.0, start={"i.m.p": 1.0}, engine="python")
    assert one["M.p"].values == pytest.approx(two["M.p"].values, rel=1e-12)
    assert one.verdict.kind == two.verdict.kind == "exact"


def test_names_that_look_alike_stay_apart():
    """ "x.y_k" and "x_y.k" are different parameters."""
    part = lambda name, k: pv.System(["q"], f"exp({name})*q**2/2", params={name: k})  # noqa: E731
    model = pv.Monolithic({"x": part("y_k", 0.0), "x_y": part("k", 3.0)})
    compiled = pv.compile(model, pv.AVF(), 0.1, start={"x.q": 1.0, "x_y.q": 1.0}, engine="python")
    assert compiled.stored == pytest.approx((1 + np.exp(3.0)) / 2)


def test_connections_with_feedthrough_round_at_the_size_of_their_ends():
    gyrator = [[0.2, 1.0], [-1.0, 0.2]]
    device = lambda: pv.System([], 0, ports={"a": pv.flow(), "b": pv.flow()}, feedthrough=gyrator)  # noqa: E731
    parts = {"m": pv.library.mass(), "d": device(), "M": pv.library.mass(m=0.3)}
    model = pv.Monolithic(parts, [("m.force", "d.a", "left"), ("M.force", "d.b", "right")])
    run = pv.simulate(model, pv.AVF(), step=0.05, until=20.0, start={"m.p": 1.0, "M.p": -0.3}, engine="python")
    assert {name: run.part(name).verdict.kind for name in run.parts} == dict.fromkeys(run.parts, "exact")
