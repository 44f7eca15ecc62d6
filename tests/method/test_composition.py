"""Compositions of symmetric methods: order, balance, symmetry, what they refuse, and how they are written down."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import passivo as pv
from passivo.method.catalogue import is_known, method_from
from passivo.method.composition import SCHEMES, order_of
from passivo.method.generate import foreign_sources
from passivo.scenario.scenario import Scenario
from strategies import build, stored, without_loss

BASES = [pv.AVF(), pv.ImplicitMidpoint(), pv.Gonzalez(), pv.SymmetrisedItohAbe()]
SPLIT = pv.StructureSplitting(substep="exact")
name_of = lambda method: type(method).__name__  # noqa: E731
BODY = {"w1": 1.0, "w2": 0.1, "w3": 0.5}


def compiled(model, method, h, start, **options):
    return pv.compile(model, method, h, start=start, engine="python", **options)


def slopes(model, method, start, exact, until, counts, **options):
    """Measured orders between neighbouring step sizes."""
    errors = []
    for count in counts:
        run = pv.simulate(model, method, until / count, until, start=start, engine="python", **options)
        errors.append(np.linalg.norm(run.arrays["states"][-1] - exact))
    return np.log2(np.array(errors[:-1]) / errors[1:])


@pytest.mark.parametrize(
    ("scheme", "order"), [("yoshida4", 4), ("suzuki4", 4), ("yoshida6", 6), ((0.25, 0.5, 0.25), 2)]
)
@pytest.mark.parametrize("base", BASES, ids=name_of)
def test_measured_order(base, scheme, order):
    """Against DOP853 on the driven pendulum: the inputs are read at the middle of each stroke."""
    exact = solve_ivp(
        lambda t, x: [x[1], -np.sin(x[0]) + 0.5 * np.sin(3 * t)], (0, 1), [1.0, 0.3], method="DOP853",
        rtol=1e-13, atol=1e-15,
    ).y[:, -1]  # fmt: skip
    method = pv.Composition(base, scheme)
    counts = (8, 16, 32) if order < 6 else (6, 12, 24)
    found = slopes(
        pv.library.pendulum(), method, {"q": 1.0, "p": 0.3}, exact, 1.0, counts,
        inputs={"torque": lambda t: 0.5 * pv.sin(3 * t)},
    )  # fmt: skip
    assert method.order == order == pytest.approx(found[-1], abs=0.1)


def test_measured_order_of_a_composed_splitting():
    """Strokes within strokes, their inputs too; the reference is RK4 in finer steps."""
    body, drive = pv.library.rigid_body(), {"torque": lambda t: [0.3 * pv.sin(t), 0, 0.1 * pv.cos(2 * t)]}
    exact = pv.simulate(body, pv.RK4(), 1 / 1024, 2.0, start=BODY, inputs=drive, engine="python").arrays["states"][-1]
    for scheme, order in (("suzuki4", 4), ("yoshida6", 6)):
        method = pv.Composition(SPLIT, scheme)
        found = slopes(body, method, BODY, exact, 2.0, (8, 16) if order == 4 else (10, 20), inputs=drive)
        assert found[-1] == pytest.approx(order, abs=0.1) == pytest.approx(method.order, abs=0.1)


@pytest.mark.parametrize(("scheme", "order"), [("yoshida4", 4), ("suzuki4", 4), ("yoshida6", 6)])
def test_order_conditions(scheme, order):
    shares = SCHEMES[scheme]
    assert sum(shares) == pytest.approx(1, abs=1e-15) and abs(sum(c**3 for c in shares)) < 1e-14
    assert shares == shares[::-1] and order_of(shares) == order
    assert order_of((0.2,) * 5) == 2 and order_of((1.0,)) == 2
    twisted = list(shares)
    twisted[0] = twisted[-1] = twisted[0] + 1e-6
    assert order_of(twisted) == 2


@pytest.mark.parametrize(("seed", "n"), [(0, 2), (1, 3), (2, 4)])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_balance_and_symmetry(seed, n, scheme):
    """Every step of a random lossless system keeps the balance; a step back undoes it."""
    case = build(seed, n)
    model = without_loss(case.system)
    h = min(case.h, 0.1)
    part = compiled(model, pv.Composition(scheme=scheme), h, dict(zip(model.states, case.x)))
    inputs = part.inputs.reshape(part.module.STAGES, -1)
    for k in range(5):
        x, before = part.state.copy(), stored(model, part.state)
        u = case.u * np.sin(k + np.arange(len(inputs)))[:, None]
        inputs[:] = u
        assert part.module.step(part.memory, h) == 0
        change = stored(model, part.state) - before
        assert abs(change - part.work.sum()) <= 1e-13 * (1 + abs(before))
        assert part.lost == 0 and part.verdict.kind == "exact"
        twin = part.copy()
        twin.inputs.reshape(len(inputs), -1)[:] = u[::-1]
        assert twin.module.step(twin.memory, -h) == 0
        assert np.abs(twin.state - x).max() <= 1e-13 * (1 + np.abs(x).max())


def test_balance_over_a_thousand_steps():
    case = build(3, 3)
    model = without_loss(case.system)
    part = compiled(model, pv.Composition(scheme="suzuki4"), 0.02, dict(zip(model.states, case.x)))
    before, total = stored(model, part.state), np.longdouble(0)
    for k in range(1000):
        part.inputs.reshape(part.module.STAGES, -1)[:] = case.u * np.sin(0.1 * k)
        assert part.step() == 0
        total += part.work.sum()
    assert abs(stored(model, part.state) - before - total) <= 1e-12 * (1 + abs(before))
    assert part.verdict.kind == "exact"


def test_what_the_base_keeps():
    assert pv.Composition().preserves == pv.AVF.preserves
    assert pv.Composition(pv.ImplicitMidpoint(), "yoshida6").preserves == pv.ImplicitMidpoint.preserves
    assert pv.Composition(SPLIT).preserves == pv.StructureSplitting.preserves


def test_a_stroke_that_cannot_be_solved_is_cut():
    """A pendulum in steps of one turn: some strokes are taken in halves, and all of them keep the balance."""
    part = compiled(pv.library.pendulum(), pv.Composition(scheme="suzuki4"), 12.0, {"q": 2.0})
    for k in range(40):
        part.step([float(np.sin(k))])
    assert part.cut_steps > 0 and part.verdict.kind == "exact"


def test_positive_strokes_take_loss_and_feedback():
    part = compiled(
        pv.library.pendulum(b=0.3), pv.Composition(scheme=(0.25, 0.5, 0.25)), 0.2, {"q": 2.0},
        laws={"torque": pv.Feedback(lambda y: -pv.atan(3 * y))},
    )  # fmt: skip
    for _ in range(20):
        part.step()
        assert part.lost >= 0 and part.work[0] <= 0
    assert part.verdict.kind == "exact" and part.faults == {}


# -- negative strokes where something is lost ------------------------------------------------------------------------

DECAY = pv.System(["x"], "x**2/2", loss=[["r"]], params={"r": 1.0}, name="decay")


def test_a_negative_loss_of_a_step_is_created():
    """x' = −r x with r h = 1.17: the stroke backwards gives back more than the others take, and nothing hides it."""
    part = compiled(DECAY, pv.Composition(scheme="yoshida4", negative=True), 1.17, {"x": 1.0})
    part.step()
    x, lost = 1.0, 0.0
    for share in SCHEMES["yoshida4"]:
        z = 1.17 * share / 2
        new = x * (1 - z) / (1 + z)
        lost, x = lost + 1.17 * share * ((x + new) / 2) ** 2, new
    assert part.state[0] == pytest.approx(x, rel=1e-11) and part.lost == pytest.approx(lost, rel=1e-11)
    assert lost < -10 and part.faults == {"negative loss": 1}
    assert part.verdict.kind == "active" and part.verdict.bias == pytest.approx(-lost, rel=1e-11)


def test_a_negative_loss_of_a_stroke_is_counted():
    """In small steps the loss of a step is positive and the balance exact; the strokes that gave back are counted."""
    run = pv.simulate(DECAY, pv.Composition(negative=True), 0.05, 1.0, start={"x": 1.0}, engine="python")
    assert run.verdict.kind == "exact" and run.faults == {"negative loss": 20}
    assert float(run["x"][-1]) == pytest.approx(np.exp(-1), rel=1e-6) and run.audit().ok
    still = pv.simulate(DECAY.with_params(r=0.0), pv.Composition(), 0.05, 1.0, start={"x": 1.0}, engine="python")
    assert still.faults == {"negative loss": 0}


@pytest.mark.parametrize(
    "model",
    [
        pv.library.pendulum(b=0.1),
        pv.library.damper(),
        pv.Monolithic({"spring": pv.library.spring(), "damper": pv.library.mass()}, []),
    ],
    ids=lambda model: model.name,
)
def test_lossy_systems_are_told_from_others(model):
    lossy = model.name != "monolithic"
    assert model.lossy == lossy
    if lossy:
        with pytest.raises(pv.MethodError, match=r"goes back in time .* loses power; take Collocation"):
            compiled(model, pv.Composition(), 0.1, {})


def test_a_skew_feedthrough_loses_nothing():
    gyrator = pv.System([], 0, ports={"a": pv.effort(), "b": pv.flow()}, feedthrough=[[0, 1], [-1, 0]])
    lossy = pv.System([], 0, ports={"a": pv.effort(), "b": pv.flow()}, feedthrough=[[0, 1], [-1, 1]])
    assert not gyrator.lossy and lossy.lossy
    assert pv.library.wall().lossy  # nothing is known of it


@pytest.mark.parametrize(
    "law", [pv.Feedback(lambda y: -y), pv.Relation(lambda y, u: y + u)], ids=["feedback", "relation"]
)
def test_feedback_is_refused_too(law):
    with pytest.raises(pv.MethodError, match="where a feedback acts; take Collocation"):
        compiled(pv.library.pendulum(), pv.Composition(scheme="yoshida6"), 0.1, {}, laws={"torque": law})
    part = compiled(pv.library.pendulum(), pv.Composition(negative=True), 0.1, {"p": 1.0}, laws={"torque": law})
    part.step()
    assert part.work[0] < 0 and part.verdict.kind == "exact"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"base": "AVF"}, "base is a method, not 'AVF'; give pv.AVF()"),
        ({"base": pv.AVF}, r"write AVF\(\) with parentheses"),
        ({"scheme": "suzuki"}, "has no scheme 'suzuki'; did you mean 'suzuki4'"),
        ({"scheme": ()}, "1 to 99 shares"),
        ({"scheme": 4}, "1 to 99 shares"),
        ({"scheme": (0.5, 0.4)}, "the same forwards and backwards, but share 1 is 0.5"),
        ({"scheme": (0.5, 0.5, 0.5)}, "must add up to 1, and adds up to 1.5"),
        ({"scheme": (0.5, 0.0, 0.5)}, "numbers other than 0, not 0.0"),
        ({"scheme": (True,)}, "numbers other than 0, not True"),
        ({"scheme": (float("nan"),)}, "numbers other than 0, not nan"),
        ({"base": pv.RK4()}, "symmetric method of order 2 as its base, and RK4 is none"),
        ({"base": pv.SymplecticEuler()}, "and SymplecticEuler is none"),
        ({"base": pv.EnergyConsistent()}, "and EnergyConsistent is none"),
        ({"base": pv.Composition()}, "and Composition is none"),
    ],
)
def test_what_is_refused(options, expected):
    with pytest.raises(pv.MethodError, match=expected):
        compiled(pv.library.pendulum(), pv.Composition(**options), 0.1, {})


def test_one_stroke_is_the_base():
    parts = [
        compiled(pv.library.pendulum(b=0.3), m, 0.3, {"q": 2.0}) for m in (pv.AVF(), pv.Composition(scheme=(1.0,)))
    ]
    for k in range(10):
        for part in parts:
            part.step([float(np.cos(k))])
    assert parts[0].memory[parts[0].module.ACCOUNTS :].tolist() == parts[1].memory[parts[1].module.ACCOUNTS :].tolist()


def test_a_composition_of_order_two_can_be_composed():
    halves = pv.Composition(pv.AVF(), (0.5, 0.5))
    outer = pv.Composition(halves, "suzuki4")
    assert outer.order == 4 and len(outer.strokes) == len(outer.nodes) == 10
    whole, fine = (
        compiled(pv.library.pendulum(), m, h, {"q": 1.0}) for m, h in ((outer, 0.2), (pv.Composition(), 0.1))
    )
    whole.step()
    assert whole.verdict.kind == "exact" and fine.step() == 0


# -- written down ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method",
    [pv.Composition(), pv.Composition(SPLIT, (0.5, 0.5), negative=True), pv.Composition(pv.Composition())],
    ids=str,
)
def test_description(method):
    assert method_from(json.loads(json.dumps(method.describe()))) == method
    assert [name_of(each) for each in method.nested()] == ["Composition", *map(name_of, method.base.nested())]


@dataclass(frozen=True)
class Own(pv.ImplicitMidpoint):
    """A base of somebody's own."""


def test_a_base_from_outside(tmp_path):
    """Its source shapes the code and the key; a saved run can be shown, and says why it cannot be repeated."""
    method = pv.Composition(Own())
    assert foreign_sources(DECAY, method) and not is_known(method) and is_known(pv.Composition())
    run = pv.simulate(pv.library.mass(), method, 0.1, 1.0, start={"p": 1.0}, engine="python")
    assert run.verdict.kind == "exact"
    run.save(tmp_path / "run.zarr")
    with pytest.raises(pv.MethodError, match="Own is not one of Passivo's methods"):
        pv.audit(tmp_path / "run.zarr")


def test_a_saved_run_is_audited(tmp_path):
    for every in (1, 3):
        run = pv.simulate(
            pv.library.rigid_body(), pv.Composition(SPLIT), 0.1, 3.0, start=BODY, record_every=every,
            inputs={"torque": lambda t: [pv.sin(t), 0, 0]}, engine="python",
        )  # fmt: skip
        run.save(tmp_path / "run.zarr")
        again, report = pv.load(tmp_path / "run.zarr"), pv.audit(tmp_path / "run.zarr")
        assert again.method == run.method and again.method.base.parts and report.ok, str(report)


def test_compared_with_others():
    methods = [pv.AVF(), pv.Composition(), pv.Composition(scheme="yoshida6"), pv.Composition(pv.ImplicitMidpoint())]
    found = pv.compare(pv.library.pendulum(), methods, 0.1, 2.0, start={"q": 1.0}, engine="python")
    titles = [entry.title for entry in found.entries]
    assert titles[:2] == ["AVF", "Composition(base=AVF(), scheme='suzuki4')"]
    assert [entry.data()["order"] for entry in found.entries] == [2, 4, 6, 4]
    assert found.entries[2].error < found.entries[1].error < found.entries[0].error / 10


def scenario(tmp_path, method):
    file = tmp_path / "mine.yaml"
    file.write_text(f"system: rigid_body\nmethod: {method}\nstart: {{w1: 1}}\nrun: {{step: 0.1, until: 1}}\n")
    return Scenario.load(str(file))


def test_scenarios(tmp_path):
    plain = scenario(tmp_path, "{name: Composition, base: AVF, scheme: yoshida4}")
    assert plain.method == pv.Composition(pv.AVF(), "yoshida4")
    mapped = scenario(tmp_path, "{name: Composition, base: {name: StructureSplitting, substep: exact}}")
    assert mapped.method.base.substep == "exact" and mapped.simulate(engine="python").verdict.kind == "exact"
    assert scenario(tmp_path, "{name: Composition, scheme: [0.5, 0.5]}").method.shares == (0.5, 0.5)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("{name: Composition, base: AVFF}", "mine.yaml:2: method.base: there is no method 'AVFF'; did you mean 'AVF'?"),
        ("{name: Composition, base: 7}", "mine.yaml:2: method.base: must be a name such as AVF"),
        (
            "{name: Composition, base: {name: Composition, base: No}}",
            "mine.yaml:2: method.base.base: there is no method",
        ),
        ("{name: Composition, base: {name: AVF, h: 1}}", "mine.yaml:2: method.base: AVF has no option 'h'"),
        ("{name: Composition, base: RK4}", "mine.yaml:2: method.base: Composition takes a symmetric method"),
        ("{name: Composition, scheme: suzuki}", "mine.yaml:2: method: Composition has no scheme 'suzuki'"),
        ("{name: Composition, shceme: suzuki4}", "mine.yaml:2: method: Composition has no option 'shceme'"),
        ("{name: StructureSplitting, parts: [[w1, w2]]}", "mine.yaml:2: method.parts: the parts of StructureSplitting"),
        ("{name: StructureSplitting, substep: exakt}", "mine.yaml:2: method: StructureSplitting's substep cannot be"),
    ],
)
def test_mistakes_in_scenarios_have_a_place(tmp_path, method, expected):
    with pytest.raises(pv.ScenarioError) as caught:
        scenario(tmp_path, method)
    assert expected in str(caught.value)


def test_the_schema_takes_a_method_in_a_method():
    from jsonschema import Draft202012Validator

    from passivo.scenario import schema

    check = Draft202012Validator(schema.schema()).is_valid
    given = {"system": "pendulum", "run": {"step": 0.1, "until": 1}}
    for base in ("AVF", {"name": "StructureSplitting", "substep": "exact"}):
        assert check({**given, "method": {"name": "Composition", "base": base, "scheme": "suzuki4"}})
    assert not check({**given, "method": {"name": "Composition", "base": 7}})
