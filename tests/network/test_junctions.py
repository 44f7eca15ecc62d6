"""The identities of spec 1.8 for junctions, over random systems, ratios, methods and operators."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import passivo as pv
from passivo.network.catalogue import junction_from

EXACT = (pv.AVF(), pv.ImplicitMidpoint())
BOOKED = (pv.EnergyConsistent(), pv.EnergyConsistent(projection="euclidean", fault="symmetric"), pv.ExactHold())
ANY = (*EXACT, *BOOKED, pv.ExactHold(port="true"), pv.RK4(), pv.ExplicitEuler())
seeds = st.integers(0, 5)  # few systems: each is derived by SymPy once
RUNS = st.integers(0, 10**6)


@cache
def side(seed: int, kind: str, width: int) -> pv.System:
    """A random linear lossy system with a port "end" of one kind to be joined and an effort port "hand" outside."""
    rng = np.random.default_rng([seed, width, kind == "flow"])
    n = int(rng.integers(width, 4)) if width < 4 else width
    x = [f"x{i}" for i in range(n)]
    root = rng.uniform(-1, 1, (n, n))
    Q = root @ root.T / n + 0.5 * np.eye(n)
    energy = " + ".join(f"({Q[i, j] / 2:.6f})*{x[i]}*{x[j]}" for i in range(n) for j in range(n))
    J = np.triu(np.round(rng.uniform(-1, 1, (n, n)), 3), 1)
    R = np.diag(np.round(rng.uniform(0, 0.2, n), 3))
    make = pv.flow if kind == "flow" else pv.effort
    ports = {
        "end": make(np.round(rng.uniform(-1, 1, (n, width)), 3)),
        "hand": pv.effort(np.round(rng.uniform(-1, 1, n), 3)),
    }
    return pv.System(x, energy, J - J.T, R, ports, minimum=dict.fromkeys(x, 0.0))


def joined(
    seed: int, run: int, through, methods, ratio: int = 1, width: int = 1, fast: str = "flow", step: float = 1e-2
):
    """A random pair of parts, joined and driven, run for 40 slow periods."""
    rng = np.random.default_rng(run)
    net = pv.Network()
    steps = {"flow": step if fast == "flow" else ratio * step, "effort": step if fast == "effort" else ratio * step}
    ends = [
        net.add(kind, side(seed, kind, width), method, step=steps[kind])["end"]
        for kind, method in zip(("flow", "effort"), methods)
    ]
    net.connect(*(ends if rng.random() < 0.5 else ends[::-1]), through, "link")
    start = {name: float(rng.uniform(-1, 1)) for name in net.states}
    inputs = {f"{kind}.hand": float(rng.uniform(-1, 1)) for kind in ("flow", "effort")}
    return pv.simulate(net, until=40 * ratio * step, start=start, inputs=inputs, engine="python")


def balance(run, *stored: np.ndarray) -> float:
    """How far stored − supplied + lost, with the `stored` of the books added, is from constant; relative."""
    total = run.ledger.sel(part="total")
    whole = total.stored.values - total.work.values + total.lost.values + sum(stored)
    size = np.abs(total.stored.values).max() + np.abs(total.work.values).max() + np.abs(total.lost.values).max()
    return float(np.abs(whole - whole[0]).max() / size)


@given(seeds, RUNS, st.sampled_from([1, 2, 3, 7]), st.sampled_from([1, 3]), st.booleans(), st.data())
def test_sample_and_hold_keeps_total_plus_error(seed, run, ratio, width, flow_fast, data):
    """Σ H + HE − HBK = H0, whatever the methods, the ratio, the order, the width (1e-11)."""
    keeping = (*EXACT, *BOOKED, pv.ExactHold(port="true"))
    methods = (data.draw(st.sampled_from(keeping)), data.draw(st.sampled_from(keeping)))
    order = data.draw(st.sampled_from(["published", "staggered"]))
    result = joined(seed, run, pv.PassiveSampleHold(order), methods, ratio, width, "flow" if flow_fast else "effort")
    error = result.part("link")["error"].values
    books = result.ledger.booked.sel(part=["flow", "effort"]).sum("part").values  # HBK of both
    assert balance(result, error, -books) < 1e-11
    link = result.part("link")
    assert np.allclose(link.ledger.booked, link.ledger.created, rtol=1e-12, atol=1e-15)
    assert np.allclose(link.ledger.booked, -error, rtol=1e-11, atol=1e-14)
    # never over-corrects: T |dP| <= |HE|, sign kept
    power, before = link["power"].values[1:], error[:-1]
    period = ratio * 1e-2
    assert (period * np.abs(power) <= np.abs(before) * (1 + 1e-15) + 1e-300).all()
    assert (power * before >= 0).all()
    # what is sent moves by at most three times what is read
    sent, read = link["sent"].values, link["read"].values
    reach = np.abs(read[2:] - sent[1:-1])
    assert (np.abs(sent[2:] - sent[1:-1]) <= 3 * reach * (1 + 1e-12) + 1e-300).all()


@given(seeds, RUNS, st.sampled_from([2, 5]), st.data())
def test_the_books_are_of_the_work_so_any_method_composes(seed, run, ratio, data):
    """A method that is not exact shows in its own row; the junction's row still knows all it created."""
    methods = (data.draw(st.sampled_from(ANY)), data.draw(st.sampled_from(ANY)))
    result = joined(seed, run, pv.PassiveSampleHold(), methods, ratio)
    rows = result.ledger.created.sel(part=["flow", "effort"]).sum("part").values
    assert balance(result, result.part("link")["error"].values, -rows) < 1e-11


@given(seeds, RUNS, st.sampled_from([1, 4]))
def test_the_printed_bound_is_kept_where_asked_for(seed, run, ratio):
    result = joined(seed, run, pv.PassiveSampleHold("published", bound="printed"), EXACT, ratio)
    link = result.part("link")
    sent, read = link["sent"].values, link["read"].values
    assert (np.abs(sent[2:] - sent[1:-1]) <= np.abs(read[2:] - sent[1:-1]) * (1 + 1e-12) + 1e-15).all()
    assert balance(result, link["error"].values) < 1e-11


@given(seeds, RUNS, st.sampled_from([1, 5]), st.sampled_from([1, 3]))
def test_mean_hold_has_no_error(seed, run, ratio, width):
    """Where the slow work is T y(k)'u the junction creates nothing, whatever the fast side is (spec 1.4)."""
    slow = (pv.ExplicitEuler(), *BOOKED)[run % 4]
    result = joined(seed, run, pv.MeanHold(), (ANY[run % len(ANY)], slow), ratio, width)
    assert result.part("link").verdict.kind == "exact"


def test_with_energy_consistent_parts_the_books_are_the_papers():
    """HE = Σ Tf uf yf − Σ Ts us ys, sample by sample, where work is T y(k)'u (spec 1.8)."""
    result = joined(1, 5, pv.PassiveSampleHold(), (pv.EnergyConsistent(), pv.EnergyConsistent()), ratio=3)
    link = result.part("link")
    fast, slow = result.runs["flow"], result.runs["effort"]
    assert fast.step < slow.step
    uf, ys = fast.outputs["end"].values[:-1], slow.outputs["end"].values[:-1]
    us = link["sent"].values[1:]
    held = ys.repeat(3)  # yf: the flow passes; uf comes to the slow side with its sign changed
    error = (fast.step * -uf * held).reshape(-1, 3).sum(axis=1).cumsum() - (slow.step * us * ys).cumsum()
    assert np.allclose(link["error"].values[1:], error, rtol=1e-11, atol=1e-14)


def test_the_network_of_the_readme_is_booked_and_active_at_11_ms():
    """Design section 5, second block; the slower it exchanges, the more it lends."""

    def verdict(slow: float):
        net = pv.Network()
        spring = net.add("spring", pv.library.spring(k=400.0), pv.EnergyConsistent(alpha=0.2), step=1e-3)
        mass = net.add("mass", pv.library.mass(m=0.2), pv.EnergyConsistent(alpha=0.2), step=slow)
        net.connect(spring["end"], mass["force"], through=pv.PassiveSampleHold(), name="link")
        return pv.simulate(net, until=60.0, start={"spring.q": 0.2}).verdict

    near, far = verdict(2e-3), verdict(11e-3)
    assert near.kind == "booked" and near.allowance == pytest.approx(0.8) and abs(near.unnoticed) < 1e-12
    assert far.kind == "active" and far.parts["mass"].kind == "active" and abs(far.unnoticed) < 1e-11


@given(seeds, RUNS, st.sampled_from([1, 3]), st.sampled_from([0.0, 1.0]), st.data())
def test_a_sampler_keeps_total_plus_error(seed, run, width, corner, data):
    """Continuous side exact under a held force, program by any exact method; also through a filter (1e-11)."""
    methods = (data.draw(st.sampled_from(EXACT)), data.draw(st.sampled_from(EXACT)))
    result = joined(seed, run, pv.PassiveSampler(filter=corner), methods, 1, width)
    error = result.part("link")["error"].values.reshape(41, -1).sum(axis=1)
    assert balance(result, error) < 1e-11


@given(seeds, RUNS, st.sampled_from([1e-6, 1e-2]))
def test_an_encoder_breaks_the_ledger_by_no_more_than_its_bound(seed, run, resolution):
    """|Σ e (Δq − Δq seen)| <= res/2 (|e| + total variation of e): a row of its own (spec 1.5)."""
    result = joined(seed, run, pv.PassiveSampler(encoder=resolution), EXACT)
    sensor, link = result.ledger.sel(part="link.sensor"), result.part("link")
    effort, made = link["effort"].values, sensor.created.values
    bound = resolution / 2 * (np.abs(effort) + np.abs(np.diff(effort, prepend=0.0)).cumsum())
    assert (np.abs(made) <= bound * (1 + 1e-9) + 1e-14).all() and np.abs(made).max() > 0
    assert balance(result, link["error"].values, -made) < 1e-11
    assert result.verdict.parts["link.sensor"].kind == "exact"


def test_late_samples_are_seen_late_and_lost_ones_not_at_all():
    run = joined(0, 1, pv.PassiveSampler(delay=3), EXACT)
    true = joined(0, 1, pv.PassiveSampler(), EXACT)
    # until the delay shows in the forces both move alike
    assert np.allclose(run.part("link")["position"][:5].values[1:], [0, 0, 0, true.part("link")["position"].values[1]])
    lossy = joined(0, 1, pv.PassiveSampler(dropped=0.3, seed=4), EXACT)
    still = np.diff(lossy.part("link")["position"].values) == 0
    assert 5 < still.sum() < 20
    again = joined(0, 1, pv.PassiveSampler(dropped=0.3, seed=4), EXACT)
    assert np.array_equal(again["flow.x0"], lossy["flow.x0"])


@given(seeds, RUNS, st.sampled_from([(0.0, 0.0), (0.05, 0.0), (0.03, 0.06)]), st.sampled_from([1, 3]))
def test_a_delay_line_stores_the_waves_on_their_way(seed, run, delays, width):
    """Created is the debt, nothing else; and the debt is booked (1e-11)."""
    through = pv.DelayLine(*delays, impedance=0.7, seed=run % 7)
    result = joined(seed, run, through, EXACT, 1, width)
    link = result.part("link")
    debt = link["debt"].values.sum(axis=1)
    assert balance(result, -debt) < 1e-11
    assert np.allclose(link.ledger.booked, debt, atol=1e-12)
    assert (link.ledger.stored >= -1e-12).all()


def test_a_wave_comes_back_after_its_delay():
    """A mass that pushes into a line of 50 ms hears nothing of the spring at its end for 100 ms."""
    net = pv.Network()
    mass = net.add("mass", pv.library.mass(m=1.0), pv.AVF(), step=1e-3)
    spring = net.add("spring", pv.library.spring(k=100.0), pv.AVF(), step=1e-3)
    net.connect(mass["force"], spring["end"], pv.DelayLine(delay=0.05, impedance=2.0), "line")
    run = pv.simulate(net, until=0.3, start={"mass.p": 1.0}, engine="python")
    moved = np.nonzero(run["spring.q"].values)[0][0]
    assert 50 <= moved <= 53
    p = run["mass.p"].values  # till then the line is a damper of its impedance
    assert p[100] == pytest.approx(np.exp(-2.0 * 0.1), rel=1e-3)
    assert abs(p[110] - np.exp(-2.0 * 0.11)) > 1e-3


@given(RUNS, st.sampled_from([1, 4]), st.sampled_from([1, 3]), st.floats(10.0, 1e4))
def test_a_coupling_creates_half_k_dx_squared(run, ratio, width, k):
    """Exactly k Δx²/2 per sample of the device (spec 4.8), all of it known."""
    rng = np.random.default_rng(run)
    net = pv.Network()
    eye = np.eye(width).tolist()
    x = [f"p{i}" for i in range(width)]
    ports = {"tip": pv.effort(eye), "hand": pv.effort(eye)}
    energy, rest = " + ".join(f"{s}**2/(2*m)" for s in x), dict.fromkeys(x, 0.0)

    def body(m: float) -> pv.System:
        return pv.System(x, energy, ports=ports, params={"m": m}, minimum=rest)

    device = net.add("device", body(0.15), pv.AVF(), step=1e-3)
    thing = net.add("thing", body(float(rng.uniform(0.1, 5))), pv.ImplicitMidpoint(), step=ratio * 1e-3)
    ends = [device["tip"], thing["tip"]]
    net.connect(*(ends if rng.random() < 0.5 else ends[::-1]), pv.VirtualCoupling(k=k), "coupling")
    push = rng.uniform(-1, 1, (60, width))
    hand = push if width > 1 else push[:, 0]
    run_ = pv.simulate(net, until=0.06, inputs={"device.hand": hand}, engine="python")
    v = run_.arrays["ledger"]
    assert np.isfinite(v).all()
    p = np.stack([run_[f"device.{s}"].values for s in x], axis=1)
    way = (p[1:] + p[:-1]) / 2 / 0.15 * 1e-3  # of midpoint steps
    created = run_.ledger.created.sel(part="coupling").values[-1]
    assert created == pytest.approx(k * (way**2).sum() / 2, rel=1e-10)
    assert run_.ledger.booked.sel(part="coupling").values[-1] == pytest.approx(created, rel=1e-12)
    assert balance(run_, -run_.ledger.created.sel(part="coupling").values) < 1e-11


def test_a_coupling_pulls_both_ways_as_a_spring_does():
    """Two masses in the limit of small steps: the period of the reduced mass."""
    net = pv.Network()
    one = net.add("one", pv.library.mass(m=0.5), pv.ImplicitMidpoint(), step=1e-4)
    other = net.add("other", pv.library.mass(m=1.0), pv.ImplicitMidpoint(), step=1e-4)
    net.connect(one["force"], other["force"], pv.VirtualCoupling(k=300.0))
    run = pv.simulate(net, until=0.3, start={"one.p": 1.0}, engine="python")
    w, t = np.sqrt(300.0 * (1 / 0.5 + 1 / 1.0)), run["one.p"].time.values
    expected = 0.5 * (1 / 1.5 + (1 / 0.5 - 1 / 1.5) * np.cos(w * t))
    assert np.abs(run["one.p"].values - expected).max() < 0.02
    assert np.abs(run["one.p"].values + run["other.p"].values - 1.0).max() < 0.04


def test_behind_an_opaque_wall_the_port_is_judged():
    """The wall's law creates energy when sampled; created is the most that came out of the port beyond what went in."""
    net = pv.Network()
    device = net.add("device", pv.library.device(m=0.15, b=0.0), pv.AVF(), step=1e-3)
    wall = net.add("wall", pv.library.wall(k=5000.0), step=1e-3)
    net.connect(device["handle"], wall["end"], pv.Direct(), "touch")
    net.observe(device["q"], wall["depth"])
    run = pv.simulate(net, until=0.4, start={"device.q": -1e-3}, inputs={"device.hand": 2.0}, engine="python")
    received = -run.work["device.handle"].values
    assert run.ledger.created.sel(part="touch").values[-1] == pytest.approx(-received.min(), rel=1e-12)
    assert run.verdict.kind == "active" and run.verdict.part == "touch"


@pytest.mark.parametrize(
    "through",
    [
        pv.Direct(),
        pv.PassiveSampleHold("published"),
        pv.MeanHold(),
        pv.PassiveSampler(encoder=(1e-3, 2e-3), filter=20.0),
        pv.PassivityController(kind="capped", mass=0.2),
        pv.LedgerClamp(mass=[[1.0, 0.1], [0.1, 2.0]], hand=(20.0, 3.0), delay=1),
        pv.VirtualCoupling(k=10.0),
        pv.DelayLine(0.01, 0.02, impedance=3.0),
    ],
    ids=lambda through: type(through).__name__,
)
def test_a_junction_is_what_its_description_says(through):
    """Also after a saved run has made text of it."""
    assert junction_from(json.loads(json.dumps(through.describe()))) == through


def test_without_control_a_sampled_port_is_plain_sample_and_hold():
    """The same motion as through Direct to the last bit, and the energy of the hold is observed exactly."""
    moved = {}
    for through in (pv.Direct(), pv.PassivityController(kind="none")):
        net = pv.Network()
        device = net.add("device", pv.library.device(m=0.15, b=2.0), pv.ExactHold(port="true"), step=1e-3)
        wall = net.add("wall", pv.library.wall(k=20e3), step=1e-3)
        net.connect(device["handle"], wall["end"], through, "touch")
        net.observe(device["q"], wall["depth"])
        run = pv.simulate(net, until=0.2, start={"device.q": -1e-3}, inputs={"device.hand": 5.0}, engine="python")
        moved[type(through)] = run["device.q"].values
    assert np.array_equal(moved[pv.Direct], moved[pv.PassivityController])
    observed, received = run.part("touch")["observed"].values, -run.work["device.handle"].values
    assert observed[1:] == pytest.approx(received[:-1], abs=1e-12)
    assert received.min() < -1e-3 and run.verdict.kind == "active"


def test_a_passivity_controller_is_blind_or_exact():
    """At a stiff wall the classic observer sees no energy made; the exact one sees it, and needs its cap."""
    made = {}
    for kind in ("classic", "exact", "capped"):
        net = pv.Network()
        device = net.add("device", pv.library.device(m=0.15, b=2.0), pv.AVF(), step=1e-3)
        wall = net.add("wall", pv.library.wall(k=20e3), step=1e-3)
        net.connect(device["handle"], wall["end"], pv.PassivityController(kind=kind, mass=0.15), "touch")
        net.observe(device["q"], wall["depth"])
        run = pv.simulate(net, until=0.5, start={"device.q": -1e-3}, inputs={"device.hand": 5.0}, engine="python")
        made[kind] = run.ledger.created.sel(part="touch").values[-1]
        observed = run.part("touch")["observed"].values
        if kind == "classic":
            assert observed.min() >= -1e-12
        else:
            assert observed.min() < 0
    assert made["classic"] > 3 * made["capped"] > 0
