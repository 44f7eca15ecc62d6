"""Structure splitting: the balance of every step however J is split, order 2, turns without an equation, refusals."""

import json

import numpy as np
import pytest
from scipy.linalg import expm

import passivo as pv
from passivo.method.catalogue import method_from
from passivo.method.splitting import visits
from strategies import build, skew_parts, stored

BODY = {"w1": 1.0, "w2": 0.1, "w3": 0.5}
INERTIA = np.array([1.0, 2.0, 3.0])
PLANES = [["w1", "w2"], ["w1", "w3"], ["w2", "w3"]]
STAGED = (0.2, 0.5, 0.6, 0.5, 0.2)  # the multi-stage splitting (20) with m = 1
RANDOM = [(0, 2, 2), (1, 3, 2), (2, 3, 3), (3, 4, 2), (4, 4, 3), (5, 2, 3)]


def compiled(model, method, h, start, **options):
    return pv.compile(model, method, h, start=start, engine="python", **options)


def random_part(seed, n, count, method=None, **options):
    """A random system with loss and ports, split at random."""
    case = build(seed, n)
    method = method or pv.StructureSplitting(skew_parts(case.system, count, seed))
    part = compiled(case.system, method, min(case.h, 0.1), dict(zip(case.system.states, case.x)), **options)
    return case, part


@pytest.mark.parametrize(("seed", "n", "count"), RANDOM)
def test_balance_and_symmetry(seed, n, count):
    """Every step keeps the balance with loss and ports; a step back undoes it."""
    case, part = random_part(seed, n, count)
    h, inputs = part.dt, part.inputs.reshape(part.module.STAGES, -1)
    assert len(inputs) == 2 * count - 1
    for k in range(5):
        x, before = part.state.copy(), stored(case.system, part.state)
        u = case.u * np.sin(k + np.arange(len(inputs)))[:, None]
        inputs[:] = u
        assert part.step() == 0
        change = stored(case.system, part.state) - before
        assert abs(change - part.work.sum() + part.lost) <= 1e-13 * (1 + abs(before))
        assert part.lost >= 0 and part.verdict.kind == "exact"
        twin = part.copy()
        twin.inputs.reshape(len(inputs), -1)[:] = u[::-1]
        assert twin.module.step(twin.memory, -h) == 0
        assert np.abs(twin.state - x).max() <= 1e-13 * (1 + np.abs(x).max())


@pytest.mark.parametrize(("seed", "n", "count"), [(1, 3, 2), (2, 3, 3)])
def test_balance_over_a_thousand_steps(seed, n, count):
    case, part = random_part(seed, n, count)
    before, total = stored(case.system, part.state), np.longdouble(0)
    for k in range(1000):
        part.inputs.reshape(part.module.STAGES, -1)[:] = case.u * np.sin(0.1 * k)
        part.step()
        total += part.work.sum() - part.lost
    assert abs(stored(case.system, part.state) - before - total) <= 1e-12 * (1 + abs(before))
    assert part.verdict.kind == "exact"


@pytest.mark.parametrize(("seed", "n", "count"), [(2, 3, 3), (3, 4, 2)])
@pytest.mark.parametrize("kind", ["feedback", "relation"])
def test_damping_feedback_never_adds_energy(seed, n, count, kind):
    case = build(seed, n)
    name, port = next(iter(case.system.ports.items()))
    laws = {
        "feedback": pv.Feedback(lambda y: -pv.atan(3 * y) if port.width == 1 else [-pv.atan(3 * v) for v in y]),
        "relation": pv.Relation(
            lambda y, u: y + u + 8 * u**3 if port.width == 1 else [a + b + 8 * b**3 for a, b in zip(y, u)]
        ),
    }
    _, part = random_part(seed, n, count, laws={name: laws[kind]})
    for _ in range(10):
        before = stored(case.system, part.state)
        part.step(np.zeros(case.system.width))
        change = stored(case.system, part.state) - before
        assert change <= 1e-13 * (1 + abs(before)) and part.work.sum() <= 0
        assert abs(change - part.work.sum() + part.lost) <= 1e-13 * (1 + abs(before))
    assert part.verdict.kind == "exact"


def test_feedback_acts_between_the_means_of_each_stroke():
    """With one visit to the part of the ports, u = −0.3 ȳ holds for the step as a whole."""
    body = pv.library.rigid_body()
    law = pv.Feedback(lambda y: [-0.3 * v for v in y])
    method = pv.StructureSplitting([[], *PLANES], coefficients=(0.5, 0.5, 0.5, 1.0, 0.5, 0.5, 0.5))
    part = compiled(body, pv.StructureSplitting(PLANES[::-1]), 0.1, BODY, laws={"torque": law})
    assert method.nodes == (0.25, 0.25, 0.25, 0.5, 0.75, 0.75, 0.75)
    part.step()
    assert part.work[0] < 0 and part.verdict.kind == "exact"


@pytest.mark.parametrize(("seed", "n", "count"), [(1, 3, 2), (2, 3, 3)])
def test_measured_order(seed, n, count):
    """2, with loss and varying inputs, against RK4 in finer steps; whatever part comes first, and in more stages."""
    case = build(seed, n)
    start = dict(zip(case.system.states, case.x))
    drive = {
        name: (lambda t: pv.sin(3 * t)) if port.width == 1 else (lambda t: [pv.sin(3 * t), pv.cos(2 * t)])
        for name, port in case.system.ports.items()
    }
    run = lambda method, step: pv.simulate(  # noqa: E731
        case.system, method, step, 1.0, start=start, inputs=drive, engine="python"
    ).arrays["states"][-1]
    exact = run(pv.RK4(), 1 / 512)
    parts = skew_parts(case.system, count, seed)
    methods = [pv.StructureSplitting(parts), pv.StructureSplitting(parts[::-1])]
    for method in [*methods, pv.StructureSplitting(parts, STAGED)] if count == 2 else methods:
        errors = [np.linalg.norm(run(method, 1 / steps) - exact) for steps in (32, 64)]
        assert np.log2(errors[0] / errors[1]) == pytest.approx(method.order, abs=0.1)


def test_the_parts_are_visited_back_and_forth():
    assert [*visits(2, 5)] == [1, 0, 1, 0, 1] and [*visits(3, 9)] == [2, 1, 0, 1, 2, 1, 0, 1, 2]
    assert pv.StructureSplitting(PLANES).strokes == ((0.5, 2), (0.5, 1), (1.0, 0), (0.5, 1), (0.5, 2))
    assert pv.StructureSplitting(PLANES[:2], STAGED).strokes == tuple(zip(STAGED, (1, 0, 1, 0, 1)))
    assert pv.StructureSplitting(PLANES[:2], (0.0, 0.5, 1.0, 0.5, 0.0)).strokes == ((0.5, 0), (1.0, 1), (0.5, 0))


def test_one_part_is_avf():
    parts = [compiled(pv.library.pendulum(b=0.2), m, 0.3, {"q": 2.0}) for m in (pv.AVF(), pv.StructureSplitting())]
    for k in range(5):
        for part in parts:
            part.step([np.sin(k)])
    assert parts[0].state.tolist() == parts[1].state.tolist() and parts[1].module.STROKES == 1


def test_one_state():
    part = compiled(pv.library.mass(), pv.StructureSplitting(), 0.1, {})
    part.step([2.0])
    assert part.state == pytest.approx([0.2]) and part.verdict.kind == "exact"


# -- turns -------------------------------------------------------------------------------------------------------------


def turned(w, h):
    """A step of the free rigid body by matrix exponentials: planes 23, 13, 12, 13, 23."""
    for share, (i, j) in ((0.5, (1, 2)), (0.5, (0, 2)), (1.0, (0, 1)), (0.5, (0, 2)), (0.5, (1, 2))):
        k = 3 - i - j
        a = (-1.0 if (i, j) != (0, 2) else 1.0) * INERTIA[k] * w[k] / (INERTIA[i] * INERTIA[j])
        field = a * np.array([[0, INERTIA[j]], [-INERTIA[i], 0]])
        w = w.copy()
        w[[i, j]] = expm(share * h * field) @ w[[i, j]]
    return w


def test_the_rigid_body_turns():
    """Explicit, the energy kept to rounding, and each stroke an exact rotation."""
    part, w = (
        compiled(pv.library.rigid_body(), pv.StructureSplitting(substep="exact"), 0.3, BODY),
        np.array([1, 0.1, 0.5]),
    )
    before = stored(part.model, w)
    for _ in range(300):
        part.step([0.0, 0.0, 0.0])
        w = turned(w, 0.3)
        assert np.abs(part.state - w).max() < 1e-12
    assert part.iterations == 0 and part.verdict.kind == "exact"
    assert abs(stored(part.model, part.state) - before) <= 1e-13 * (1 + before)


def test_the_rigid_body_with_torques():
    """Torques act in a part of their own, which is explicit too; order 2 against AVF in finer steps."""
    drive = {"torque": lambda t: [0.3 * pv.sin(t), 0.0, 0.1 * pv.cos(2 * t)]}

    def run(method, step):
        return pv.simulate(pv.library.rigid_body(), method, step, 4.0, start=BODY, inputs=drive, engine="python")

    exact, errors = run(pv.RK4(), 1 / 256).arrays["states"][-1], []
    for step in (1 / 16, 1 / 32):
        found = run(pv.StructureSplitting(substep="exact"), step)
        assert found.iterations == 0 and found.verdict.kind == "exact" and found.method.parts[-1] == ()
        errors.append(np.linalg.norm(found.arrays["states"][-1] - exact))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.1)


def test_the_momentum_is_kept_to_second_order():
    """|Iω| is a Casimir of J, not of its planes: it swings, four times less for half the step."""
    swings = []
    for step in (0.1, 0.05):
        run = pv.simulate(
            pv.library.rigid_body(), pv.StructureSplitting(substep="exact"), step, 20.0, start=BODY, engine="python"
        )
        swings.append(np.ptp((run.arrays["states"] ** 2) @ INERTIA**2))
    assert swings[0] < 0.01 and swings[0] / swings[1] == pytest.approx(4, rel=0.1)


def test_turns_about_a_point_away_from_zero():
    """Linear terms and an energy that is not diagonal in the plane: the exact flow all the same."""
    model = pv.System(["x", "y"], "x**2 + x*y/2 + y**2 - x + 3*y", [[0, 2], [-2, 0]])
    part = compiled(model, pv.StructureSplitting(substep="exact"), 0.4, {"x": 1.0, "y": 0.2})
    curve = np.array([[2.0, 0.5], [0.5, 2.0]])
    field = 2 * np.array([[0, 1], [-1, 0]]) @ curve
    centre = -np.linalg.solve(curve, [-1.0, 3.0])
    part.step()
    assert part.state == pytest.approx(centre + expm(0.4 * field) @ ([1.0, 0.2] - centre), rel=1e-13)
    assert part.verdict.kind == "exact" and part.iterations == 0


@pytest.mark.parametrize(
    ("model", "parts", "expected"),
    [
        (pv.library.duffing(), (["q", "p"], []), "over q and p it is not"),
        (pv.System(["x", "y"], "x**2 - y**2", [[0, 1], [-1, 0]]), (["x", "y"],), "over x and y it is a saddle"),
        (pv.library.rigid_body(), (["w1", "w2", "w3"], []), "part 1 has 3 of them; split it further"),
        (pv.System(["x", "y"], "x**2 + y**2", [[0, "x"], ["-x", 0]]), (["x", "y"],), "in part 1 that depends on it"),
    ],
)
def test_what_does_not_turn(model, parts, expected):
    with pytest.raises(pv.MethodError, match=expected):
        compiled(model, pv.StructureSplitting(parts, substep="exact"), 0.1, {})


# -- rows of the ledger, networks, files -------------------------------------------------------------------------------


def chain():
    """Two masses, two springs and a damper: every coupling of J crosses from part to part."""
    return pv.Monolithic(
        {
            "a": pv.library.spring(k=3.0), "m": pv.library.mass(ports=("left", "right", "brake")),
            "b": pv.library.spring(k=5.0), "n": pv.library.mass(m=2.0, ports=("left", "outside")),
            "d": pv.library.damper(b=0.4),
        },
        [("a.end", "m.left"), ("b.end", "n.left"), ("d.end", "m.brake")],
    )  # fmt: skip


@pytest.mark.parametrize("substep", ["gradient", "exact"])
def test_every_row_of_the_ledger_is_exact(substep):
    part = compiled(chain(), pv.StructureSplitting(substep=substep), 0.1, {"a.q": 0.3, "n.p": 1.0})
    assert len(part.method.parts) >= 2
    for k in range(100):
        part.step(np.full(part.module.WIDTH, np.sin(0.3 * k)))
    verdict = part.verdict
    assert verdict.kind == "exact" and all(row.kind == "exact" for row in verdict.parts.values())
    assert part.lost > 0


def test_in_a_network():
    """Its pieces keep apart from each other under the prefix of the part."""
    net = pv.Network()
    net.add("body", pv.library.rigid_body(), pv.StructureSplitting(), step=0.1)
    net.add("top", pv.library.rigid_body(), pv.Composition(pv.StructureSplitting(substep="exact")), step=0.1)
    start = {f"{key}.{name}": value for key in ("body", "top") for name, value in BODY.items()}
    run = pv.simulate(net, until=2.0, start=start, engine="python")
    for key, method in (
        ("body", pv.StructureSplitting()),
        ("top", pv.Composition(pv.StructureSplitting(substep="exact"))),
    ):
        alone = pv.simulate(pv.library.rigid_body(), method, 0.1, 2.0, start=BODY, engine="python")
        assert (run.runs[key].arrays["states"] == alone.arrays["states"]).all()
    assert run.verdict.kind == "exact" and run.audit().ok


def test_a_saved_run_is_audited(tmp_path):
    case = build(2, 3)
    name, port = next(iter(case.system.ports.items()))
    law = pv.Feedback(lambda y: -y if port.width == 1 else [-v for v in y])
    run = pv.simulate(
        case.system, pv.StructureSplitting(skew_parts(case.system, 3, 2)), 0.1, 2.0, inputs={name: law},
        start=dict(zip(case.system.states, case.x)), engine="python",
    )  # fmt: skip
    run.save(tmp_path / "run.zarr")
    again, report = pv.load(tmp_path / "run.zarr"), pv.audit(tmp_path / "run.zarr")
    assert again.method == run.method and report.ok, str(report)


def test_description():
    method = pv.StructureSplitting(
        [np.array([[0, 1], [-1, 0]]), [["0", "q"], ["-q", 0]], ["q", "p"], []], (0.5, 1, 0.5)
    )
    assert method_from(json.loads(json.dumps(method.describe()))) == method
    assert method.parts == ((("0", "1"), ("-1", "0")), (("0", "q"), ("-q", "0")), ("q", "p"), ())


def test_matrices_and_lists_of_states_agree():
    J = pv.library.rigid_body().structure
    matrices = [
        [[J[i][j] if {i, j} == set(pair) else 0 for j in range(3)] for i in range(3)]
        for pair in ((0, 1), (0, 2), (1, 2))
    ]
    parts = [compiled(pv.library.rigid_body(), pv.StructureSplitting(p), 0.1, BODY) for p in (matrices, PLANES, ())]
    for part in parts:
        part.step([0.1, 0.2, 0.3])
    assert parts[0].state == pytest.approx(parts[1].state, rel=1e-14)
    assert parts[1].state.tolist() == parts[2].state.tolist()


SKEW = [[0, 1, 0], [-1, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"parts": 3}, "parts are a list, not 3"),
        ({"parts": ["w1"]}, "part 1 of StructureSplitting is a matrix or a list of states, not 'w1'"),
        (
            {"parts": [["w1", "w4"]]},
            "part 1 of StructureSplitting names 'w4', no state of 'rigid_body'; choose from w1",
        ),
        ({"parts": PLANES[:2]}, r"none of them holds its entry \(2, 3\); add a part \['w2', 'w3'\]"),
        ({"parts": [[[0, 1], [-1, 0]]]}, "part 1 of StructureSplitting is 2 × 2, expected 3 × 3"),
        ({"parts": [[[0, "z", 0], ["-z", 0, 0], [0, 0, 0]]]}, "part 1 of StructureSplitting uses 'z', which"),
        ({"parts": [SKEW, [[0, 1, 0], [1, 0, 0], [0, 0, 0]]]}, r"the part 2 is not skew: entry \(1, 2\) is 1"),
        (
            {"parts": [SKEW, SKEW]},
            r"do not add up to the structure of 'rigid_body': their entries \(1, 2\) give '1 \+ 1'",
        ),
        ({"parts": [["w1", "w2", "w3"], SKEW]}, r"do not add up .* their entries \(1, 2\)"),
        ({"parts": PLANES, "coefficients": (0.5, 0.5)}, "3 parts to the first and back: 5 coefficients, or 4 more"),
        ({"parts": PLANES, "coefficients": (1.0,)}, "5 coefficients, or 4 more for each further time, not 1"),
        (
            {"parts": PLANES, "coefficients": (0.5, 0.5, 0.9, 0.5, 0.5)},
            "coefficients of part 1 add up to 0.9, not to 1",
        ),
        ({"parts": PLANES, "coefficients": (0.4, 0.5, 1, 0.5, 0.6)}, "must be the same forwards and backwards"),
        ({"parts": PLANES, "coefficients": (0.5, -0.5, 1, -0.5, 0.5)}, ">= 0, not -0.5; for a higher order compose it"),
        ({"parts": PLANES, "coefficients": ("a",) * 5}, "coefficients are numbers >= 0, not 'a'"),
        ({"coefficients": 1}, "coefficients are a list, not 1"),
        ({"substep": "exakt"}, "substep cannot be 'exakt'; did you mean 'exact'"),
        ({"parts": [["w1", "w2", "w3"]] * 101}, "at most 100 parts"),
    ],
)
def test_what_is_refused(options, expected):
    with pytest.raises(pv.MethodError, match=expected):
        pv.StructureSplitting(**options).for_model(pv.library.rigid_body())


def test_matrices_do_not_fit_a_composition():
    with pytest.raises(pv.MethodError, match="parts of a Monolithic as lists of states"):
        pv.StructureSplitting([[[0]]]).for_model(chain())


def test_machine_code_agrees():
    method = pv.Composition(pv.StructureSplitting(substep="exact"), "yoshida4")
    parts = [
        pv.compile(pv.library.rigid_body(), method, 0.1, start=BODY, engine=engine) for engine in ("python", "numba")
    ]
    for part in parts:
        for _ in range(20):
            part.step([0.1, 0.0, 0.2])
    assert parts[0].state == pytest.approx(parts[1].state, rel=1e-13)
    assert all(part.verdict.kind == "exact" for part in parts)
