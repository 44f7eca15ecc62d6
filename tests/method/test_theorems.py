"""The theorems of spec 2.8 over all methods that keep every energy, and what fails without their assumptions."""

import numpy as np
import pytest

import passivo as pv
from identities import compiled, energy
from strategies import build
from verify.methods import general_methods

# compositions go back in time, and refuse loss and feedback; turns need energies that are bowls; masses are in few here
SPECIAL = ("Composition", "StructureSplitting exact", "PassiveMidpoint")
KEEPERS = {
    title: method
    for title, method in general_methods().items()
    if "energy" in method.preserves and not title.startswith(SPECIAL)
}
RUNGE_KUTTA = [pv.ExplicitEuler(), pv.ImplicitEuler(), pv.ImplicitMidpoint(), pv.Heun(), pv.RK4()]
every_keeper = pytest.mark.parametrize("method", KEEPERS.values(), ids=list(KEEPERS))
CANONICAL = [[0, 1], [-1, 0]]
brake = pv.Feedback(lambda y: -pv.atan(2 * y))


def degenerate(F):
    """H = p − F(q) with a port at every state: q' = 1, p' = F'(q) + ū under u = (0, ū)."""
    return pv.System(["q", "p"], f"p - ({F})", CANONICAL, ports={"all": pv.effort([[1, 0], [0, 1]])})


def driven(model, method, h=0.7, steps=20):
    part = pv.compile(model, method, h, start={"q": 0.3, "p": -0.2}, engine="python")
    for _ in range(steps):
        part.step([0.0, 0.4])
    return part


@pytest.mark.parametrize("method", RUNGE_KUTTA, ids=lambda method: type(method).__name__)
def test_no_runge_kutta_method_keeps_every_energy(method):
    """Prop. III.6: the balance asks for ∫ F'(q) dq to be exact, and a quadrature is exact for polynomials only."""
    part = driven(degenerate("sin(3*q) + exp(q/9)"), method)
    assert max(part.verdict.bias, part.verdict.removed) > 1e6 * part.verdict.roundoff
    assert part.verdict.kind in ("active", "passive")
    easy = driven(degenerate("q"), method)  # every quadrature takes a constant
    assert easy.verdict.kind == "exact"


@every_keeper
def test_discrete_gradients_keep_the_energy_of_that_proof(method):
    part = driven(degenerate("sin(3*q) + exp(q/9)"), method)
    assert part.verdict.kind == "exact" and abs(part.work.sum()) > 0.1


def settle(model, method, start, laws, h, steps):
    """Energies along the way, and the last state."""
    part = pv.compile(model, method, h, start=start, laws=laws, engine="python")
    stored = [part.stored]
    for _ in range(steps):
        part.step()
        stored.append(part.stored)
    return np.array(stored), part


@every_keeper
@pytest.mark.parametrize("h", [0.1, 1.0])
def test_damping_an_observable_output_leads_to_the_origin(method, h):
    """Theorems III.3, III.5 and A.1: H positive definite and unbounded, y = 0 only at the origin, u = −φ(y)."""
    steps = round(60 / h)
    stored, part = settle(pv.library.duffing(), method, {"q": 1.5, "p": -1.0}, {"force": brake}, h, steps)
    assert (np.diff(stored) <= 1e-13).all() and np.abs(part.state).max() < 1e-6
    assert part.verdict.kind == "exact" and abs(part.work[0]) <= 1e-12


PLANES = (("w1", "w2"), ("w1", "w3"), ("w2", "w3"))
SPLITTINGS = {
    "strang": pv.StructureSplitting(PLANES),
    "turns": pv.StructureSplitting((*PLANES, ()), substep="exact"),
    "in stages": pv.StructureSplitting(PLANES, (0.2, 0.25, 0.5, 0.25, 0.6, 0.25, 0.5, 0.25, 0.2)),
}


@pytest.mark.parametrize("method", SPLITTINGS.values(), ids=list(SPLITTINGS))
def test_a_splitting_leads_to_the_origin_too(method):
    """Theorem III.5: shares >= 0 (20), the brake goes with the last part, its output ω is 0 at the origin only."""
    law = {"torque": pv.Feedback(lambda y: [-pv.atan(2 * v) for v in y])}
    start = {"w1": 1.0, "w2": 0.3, "w3": -0.5}
    stored, part = settle(pv.library.rigid_body(), method, start, law, 0.5, 120)
    assert (np.diff(stored) <= 1e-15).all() and np.abs(part.state).max() < 1e-6
    assert part.verdict.kind == "exact"


@pytest.mark.parametrize("h", [0.02, 0.2])
def test_damping_settles_a_linkage(h):
    """Theorem III.3 with constraints: a double pendulum with damped joints comes to hang at rest."""
    law = {"joints": pv.Feedback(lambda y: [-0.5 * y[0], -0.3 * pv.atan(y[1])])}
    start = {"ax": 0.6, "ay": 0.0, "bx": 0.9, "by": 0.0}
    stored, part = settle(pv.library.double_pendulum(), pv.ConstrainedGradient(), start, law, h, round(30 / h))
    assert (np.diff(stored) <= 1e-13).all() and part.verdict.kind == "exact"
    assert part.state[:4] == pytest.approx([0.0, -0.6, 0.0, -0.9], abs=1e-3)


@every_keeper
def test_what_the_output_does_not_see_is_not_damped(method):
    """The same without observability: a second oscillator beside the damped one keeps all its energy."""
    pair = pv.Monolithic({"seen": pv.library.duffing(), "unseen": pv.library.duffing()})
    start = {"seen.q": 1.5, "unseen.q": 1.0}
    stored, part = settle(pair, method, start, {"seen.force": brake}, 1.0, 100)
    assert (np.diff(stored) <= 1e-13).all() and np.abs(part.state[:2]).max() < 1e-6
    assert stored[-1] == pytest.approx(0.75, abs=1e-12)  # ½ + ¼


@every_keeper
def test_a_law_that_is_no_damping_does_not_settle(method):
    """y φ(y) > 0 is needed: u = +atan(2 y) feeds the oscillator, and the balance says so to the last digit."""
    law = {"force": pv.Feedback(lambda y: pv.atan(2 * y))}
    stored, part = settle(pv.library.duffing(), method, {"q": 0.1}, law, 0.1, 100)
    assert stored[-1] > 10 * stored[0] and part.verdict.kind == "exact"


@every_keeper
@pytest.mark.parametrize("n", [2, 3])
def test_damped_energy_falls_at_every_step_that_can_be_solved(method, n):
    """u = −φ(ỹ) and R >= 0: ΔH <= 0, however large h is."""
    seed = next(seed for seed in range(6) if build(seed, n).system.ports)
    solved = 0
    for run, h in enumerate((1e-3, 1e-2, 0.1, 0.3, 1.0, 3.0, 10.0)):
        case = build(seed, n, run=run)
        width = {name: port.width for name, port in case.system.ports.items()}
        laws = {
            name: brake if count == 1 else pv.Feedback(lambda y: [-pv.atan(2 * v) for v in y])
            for name, count in width.items()
        }
        part = compiled(case, method, laws=laws)
        for _ in range(5):
            before = energy(case, part.state)
            try:
                part.step(np.zeros(case.system.width), dt=h)
            except pv.ConvergenceError:
                break
            solved += 1
            assert energy(case, part.state) - before <= 1e-13 * (1 + abs(before))
        assert part.verdict.kind in ("exact", "none")
    assert solved >= 20
