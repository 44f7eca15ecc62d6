"""What a network is: names, rates, order of steps, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import passivo as pv


def pair(through=None, ratio: int = 1, method=pv.AVF, swap: bool = False, **options) -> pv.Network:
    """A spring at 1 ms and a mass at `ratio` ms."""
    net = pv.Network()
    spring = net.add("spring", pv.library.spring(k=400.0), method(), step=1e-3)
    mass = net.add("mass", pv.library.mass(m=0.2, ports=("force", "hand")), method(), step=ratio * 1e-3)
    ends = (mass["force"], spring["end"]) if swap else (spring["end"], mass["force"])
    net.connect(*ends, through=through, name="link", **options)
    return net


def go(net: pv.Network, until: float = 0.1, **options):
    return pv.simulate(net, until=until, start={"spring.q": 0.2}, engine="python", **options)


def test_direct_is_plain_sample_and_hold():
    """Explicit Euler on either side, one exchange per step: the hand-written loop, and its growth (spec 1.8)."""
    run = go(pair(pv.Direct(), method=pv.ExplicitEuler))
    q, p = 0.2, 0.0
    for _ in range(100):
        q, p = q + 1e-3 * p / 0.2, p - 1e-3 * 400.0 * q
    assert run["spring.q"].values[-1] == pytest.approx(q, rel=1e-13)
    assert run["mass.p"].values[-1] == pytest.approx(p, rel=1e-13)
    stored = run.ledger.stored.sel(part="total").values
    assert stored[-1] / stored[0] == pytest.approx((1 + 400 / 0.2 * 1e-6) ** 100, rel=1e-12)


def test_parts_hold_what_they_got_at_the_last_common_tick():
    """Three rates 1:7:13 in a chain, all joined directly, against a loop written by hand."""
    net = pv.Network()
    a = net.add("a", pv.library.mass(m=0.3), pv.ExplicitEuler(), step=7e-3)
    s = net.add("s", pv.library.spring(k=20.0), pv.ExplicitEuler(), step=1e-3)
    b = net.add("b", pv.library.mass(m=0.5, ports=("left", "right")), pv.ExplicitEuler(), step=1e-3)
    t = net.add("t", pv.library.spring(k=30.0), pv.ExplicitEuler(), step=13e-3)
    net.connect(a["force"], s["end"])
    net.connect(t["end"], b["right"])
    assert set(net.ports) == {"b.left"}
    start = {"s.q": 0.1, "t.q": -0.2, "b.p": 0.05}
    run = pv.simulate(net, until=0.2, start=start, inputs={"b.left": 0.7}, engine="python")
    assert net.common == 91 and run.ticks == 182

    x = {"a": 0.0, "s": 0.1, "b": 0.05, "t": -0.2}
    held = dict.fromkeys(x, 0.0)
    for k in range(182):
        if k % 7 == 0:
            held["a"], held["s"] = -20.0 * x["s"], x["a"] / 0.3
        if k % 13 == 0:
            held["t"], held["b"] = x["b"] / 0.5, -30.0 * x["t"]
        x["s"] += 1e-3 * held["s"]
        x["b"] += 1e-3 * (held["b"] + 0.7)
        if (k + 1) % 7 == 0:
            x["a"] += 7e-3 * held["a"]
        if (k + 1) % 13 == 0:
            x["t"] += 13e-3 * held["t"]
    found = {name: run[f"{name}.{'q' if name in 'st' else 'p'}"].values[-1] for name in x}
    assert found == pytest.approx(x, rel=1e-13)
    assert run["s.q"].size == 183 and run["a.p"].size == 27 and run["t.q"].size == 15
    assert run["a.p"].time.values[-1] == pytest.approx(0.182)


def test_the_total_is_the_sum_of_the_rows():
    run = go(pair(pv.Direct(), ratio=3), inputs={"mass.hand": lambda t: pv.sin(40 * t)})
    rows = run.ledger.sel(part=["spring", "mass", "link"])
    total = run.ledger.sel(part="total")
    for column in ("stored", "lost", "created", "booked"):
        assert np.allclose(rows[column].sum("part"), total[column], atol=1e-13)
    assert np.allclose(total.work, run.work["mass.hand"].values, atol=1e-14)
    balance = total.stored - total.stored[0] - total.work + total.lost - total.created
    assert abs(balance).max() < 1e-13


def test_a_swapped_connect_gives_the_same_run():
    for through in (pv.Direct(), pv.PassiveSampleHold(), pv.DelayLine(delay=2e-3, impedance=3.0)):
        one, other = go(pair(through, ratio=2)), go(pair(through, ratio=2, swap=True))
        assert np.array_equal(one["spring.q"], other["spring.q"]) and np.array_equal(one["mass.p"], other["mass.p"])
        assert np.array_equal(one.arrays["ledger"], other.arrays["ledger"])


def test_machine_code_gives_the_run_of_plain_python():
    net = pair(pv.PassiveSampleHold(), ratio=3)
    runs = [
        pv.simulate(net, until=0.3, start={"spring.q": 0.2}, inputs={"mass.hand": 0.5}, engine=engine)
        for engine in ("numba", "python")
    ]
    assert np.allclose(runs[0]["mass.p"], runs[1]["mass.p"], rtol=1e-12, atol=1e-15)
    assert np.allclose(runs[0].arrays["ledger"], runs[1].arrays["ledger"], rtol=1e-11, atol=1e-13)
    assert runs[0].verdict.kind == runs[1].verdict.kind


def test_networks_that_differ_in_their_steps_share_their_code():
    from passivo.network.compiled import compile_network

    modules = {compile_network(pair(pv.PassiveSampleHold(), ratio=n), engine="python").module for n in (2, 5, 12)}
    assert len(modules) == 1


def test_one_part_alone_is_the_run_of_its_system():
    net = pv.Network()
    net.add("pendulum", pv.library.pendulum(b=0.1), pv.AVF(), step=0.01)
    torque = {"torque": lambda t: pv.cos(3 * t)}
    alone = pv.simulate(
        pv.library.pendulum(b=0.1), pv.AVF(), 0.01, 1.0, start={"q": 1.0}, inputs=torque, engine="python"
    )
    run = pv.simulate(
        net, until=1.0, start={"pendulum.q": 1.0}, inputs={"pendulum.torque": torque["torque"]}, engine="python"
    )
    assert np.array_equal(run["pendulum.p"], alone["p"])
    assert np.array_equal(run.runs["pendulum"].arrays["ledger"], alone.arrays["ledger"])
    assert run.verdict.kind == alone.verdict.kind == "exact"


def test_feedback_on_an_external_port_and_held_functions():
    feedback = go(pair(pv.PassiveSampleHold()), inputs={"mass.hand": pv.Feedback("-2*y")})
    assert feedback.ledger.work.sel(part="total")[-1] < -0.1
    calls = []
    held = go(pair(pv.Direct(), ratio=2), 0.02, inputs={"mass.hand": pv.Held(lambda t, y: calls.append(t) or -2.0 * y)})
    assert calls == pytest.approx(np.arange(10) * 2e-3)
    assert np.array_equal(held.inputs["mass.hand"].values[1:], -2.0 * held.outputs["mass.hand"].values[:-1])


def test_record_every_thins_every_series_and_keeps_the_last():
    net = pair(pv.PassiveSampleHold(), ratio=2)
    whole, thin = go(net), go(net, record_every=7)
    assert np.array_equal(thin["spring.q"], whole["spring.q"][[*range(0, 101, 7), 100]])
    assert np.array_equal(thin["mass.p"], whole["mass.p"][[*range(0, 51, 7), 50]])
    assert np.array_equal(thin.ledger.created[-1], whole.ledger.created[-1])
    assert np.array_equal(thin.part("link")["error"], whole.part("link")["error"][[*range(0, 51, 7), 50]])


def test_signals_show_states_and_outputs():
    net = pv.Network()
    device = net.add("device", pv.library.device(m=0.1, b=0.0), pv.ExplicitEuler(), step=1e-3)
    wall = net.add("wall", pv.library.wall(k=100.0), step=1e-3)
    net.connect(device["handle"], wall["end"], name="touch")
    net.observe(device["q"], wall["depth"])
    assert net.signals == []
    run = pv.simulate(net, until=0.05, start={"device.q": 0.01}, engine="python")
    depth = run.runs["wall"]["depth"].values[1:]
    assert np.array_equal(depth, run["device.q"].values[:-1])
    assert np.allclose(run.inputs["device.handle"].values[1:], -100.0 * np.maximum(depth, 0), rtol=1e-14)


def sensing(through, observed: tuple[str, str] = ("q", "depth")) -> pv.Network:
    """A device at a wall that sees it through the sensor of the junction between them."""
    net = pv.Network()
    device = net.add("device", pv.library.device(m=0.1, b=0.0), pv.ExactHold(port="true"), step=1e-3)
    law = {"end": "k*Max(depth, 0) + b*speed"}
    params, signals = {"k": 100.0, "b": 3.0}, ["depth", "speed"]
    wall = net.add("wall", pv.Rendering({"end": pv.flow()}, law, params, signals=signals), step=2e-3)
    net.connect(device["handle"], wall["end"], through, name="touch")
    net.observe(device[observed[0]], wall[observed[1]], through="touch")
    return net


@pytest.mark.parametrize("delay", [0, 2])
def test_signals_may_be_seen_through_a_sensor(delay):
    """The position in whole encoder steps from where the device began, late; and the velocity between samples."""
    net = sensing(pv.PassivityController(kind="none", encoder=1e-3, delay=delay))
    net.observe(net.members["device"]["handle"], net.members["wall"]["speed"], through="touch")
    net = pv.Network.from_description(net.describe()).with_params(**{"wall.k": 80.0})
    start = {"device.q": 0.01035, "device.p": 0.2}
    run = pv.simulate(net, until=0.05, start=start, engine="python")
    true = run["device.q"].values[::2]
    seen = 0.01035 + 1e-3 * np.round((true - 0.01035) / 1e-3)
    seen = np.concatenate([np.full(delay, 0.01035), seen])[: len(true)]
    depth, speed = (run.runs["wall"][name].values[1:] for name in ("depth", "speed"))
    assert depth == pytest.approx(seen[:-1], abs=1e-15)
    assert speed == pytest.approx(np.diff(seen, prepend=seen[0])[:-1] / 2e-3, abs=1e-12)
    assert run.inputs["device.handle"].values[1::2] == pytest.approx(-(80.0 * depth + 3.0 * speed), abs=1e-12)


@pytest.mark.parametrize(
    ("through", "observed", "sentence"),
    [
        (pv.Direct(), ("q", "depth"), "a Direct, which has no sensor"),
        (pv.PassivityController(), ("p", "depth"), "does not see 'p'; choose from handle, q"),
        (pv.PassivityController(), ("hand", "depth"), "does not see 'hand'; did you mean 'handle'"),
    ],
)
def test_what_a_sensor_cannot_see_is_named(through, observed, sentence):
    with pytest.raises(pv.InputError, match=sentence):
        sensing(through, observed)
    net = sensing(pv.PassivityController())
    device, wall = net.members["device"], net.members["wall"]
    with pytest.raises(pv.InputError, match="no connection 'tuch' to see through; did you mean 'touch'"):
        net.observe(device["handle"], wall["speed"], through="tuch")
    other = net.add("other", pv.library.wall(), step=2e-3)
    with pytest.raises(pv.InputError, match=r"'wall' sees 'device', but 'other\.depth' would show 'device\.q'"):
        net.observe(device["q"], other["depth"], through="touch")


def watched(**how) -> pv.Network:
    net = pv.Network()
    device = net.add("device", pv.library.device(m=0.1, b=0.0), pv.ExplicitEuler(), step=1e-3)
    spring = net.add("spring", pv.library.unilateral_spring(k=100.0), pv.ExplicitEuler(), step=1e-3)
    net.observe(device["q"], spring["depth"], **how)
    return net


def seen(net: pv.Network) -> tuple[np.ndarray, np.ndarray]:
    start = {"device.q": 0.01, "device.p": 0.02}
    run = pv.simulate(net, until=0.02, start=start, inputs={"spring.end": 0.3}, engine="python")
    return run.runs["spring"]["depth"].values[1:], np.stack([run[f"{key}.q"].values[:-1] for key in net.members])


def test_signals_are_scaled_shifted_and_rounded():
    depth, (q, _) = seen(watched(scale=-2.0, offset=0.05))
    assert np.array_equal(depth, -2.0 * q + 0.05)
    depth, (q, _) = seen(watched(scale=3.0, resolution=1e-3))
    assert depth == pytest.approx(3e-3 * np.round(q / 1e-3), rel=1e-14) and not np.allclose(depth, 3 * q, rtol=1e-4)


def test_a_signal_shows_the_distance_of_two_positions():
    net = watched()
    with pytest.raises(pv.InputError, match=r"already shows .*; say add=True"):
        net.observe(net.end("spring.q"), net.end("spring.depth"))
    net.observe(net.end("spring.q"), net.end("spring.depth"), scale=-1.0, resolution=1e-9, add=True)
    depth, (q, other) = seen(net)
    assert depth == pytest.approx(q - other, abs=1e-9) and np.ptp(other) > 0
    for twin in (pv.Network.from_description(net.describe()), net.with_params(**{"device.m": 0.1})):
        assert twin.describe() == net.describe() and np.array_equal(seen(twin)[0], depth)


@pytest.mark.parametrize("how", [{"scale": np.inf}, {"offset": "1"}, {"resolution": -1e-6}])
def test_a_signal_needs_finite_numbers(how):
    with pytest.raises(pv.InputError, match=f"observe's {next(iter(how))} must be a finite number"):
        watched(**how)


def test_a_damper_answers_at_once():
    """Mass and damper, joined directly: the force is that of the present velocity."""
    net = pv.Network()
    mass = net.add("mass", pv.library.mass(m=1.0), pv.ExplicitEuler(), step=0.01)
    damper = net.add("damper", pv.library.damper(b=3.0), step=0.01)
    net.connect(mass["force"], damper["end"])
    run = pv.simulate(net, until=0.1, start={"mass.p": 1.0}, engine="python")
    assert run["mass.p"].values == pytest.approx((1 - 0.03) ** np.arange(11), rel=1e-13)


def test_a_composition_is_a_part_with_rows_of_its_own():
    bench = pv.Monolithic(
        {"mass": pv.library.mass(m=0.2, ports=("force", "tip")), "spring": pv.library.spring(k=400.0)},
        [("spring.end", "mass.force", "bolt")],
    )
    net = pv.Network()
    left = net.add("bench", bench, pv.AVF(), step=2e-3)
    right = net.add("tip", pv.library.spring(k=50.0), pv.AVF(), step=1e-3)
    net.connect(left["mass.tip"], right["end"], pv.PassiveSampleHold(), "link")
    run = pv.simulate(net, until=0.1, start={"bench.spring.q": 0.1}, engine="python")
    assert run.parts == ["bench.mass", "bench.spring", "bench.bolt", "bench", "tip", "link"]
    inner = run.ledger.stored.sel(part=["bench.mass", "bench.spring"]).sum("part")
    assert np.allclose(inner, run.ledger.stored.sel(part="bench"))
    error = run.part("link")["error"].values
    assert np.allclose(run.ledger.stored.sel(part="total") + error, 2.0, rtol=1e-12)
    assert run.part("bench").verdict.kind == "exact"


# -- bad input --------------------------------------------------------------------------------------------------------


def springs() -> tuple[pv.Network, dict]:
    net = pv.Network()
    wide = pv.System(["a", "b"], "a**2/2 + b**2/2", ports={"both": pv.flow([[1, 0], [0, 1]])})
    parts = {
        "spring": net.add("spring", pv.library.spring(), pv.AVF(), step=1e-3),
        "mass": net.add("mass", pv.library.mass(ports=("force", "hand")), pv.AVF(), step=2e-3),
        "odd": net.add("odd", pv.library.mass(), pv.AVF(), step=3e-3),
        "wide": net.add("wide", wide, pv.AVF(), step=1e-3),
    }
    return net, parts


@pytest.mark.parametrize(
    ("mistake", "sentence"),
    [
        (lambda n, p: n.connect(p["mass"]["force"], p["odd"]["force"]), "both effort ports.*put a spring between"),
        (lambda n, p: n.connect(p["mass"]["force"], p["wide"]["both"]), "1 wide and .* is 2 wide"),
        (lambda n, p: [n.connect(p[name]["force"], p["spring"]["end"]) for name in ("mass", "odd")], "connected twice"),
        (lambda n, p: n.connect(p["mass"]["p"], p["spring"]["end"]), "'mass.p' is no port"),
        (lambda n, p: p["mass"]["forse"], "no port, signal or state 'forse'; did you mean 'force'"),
        (lambda n, p: n.connect(p["mass"]["force"], p["spring"]["end"], pv.Direct), r"write Direct\(\)"),
        (lambda n, p: n.connect(p["mass"]["force"], p["spring"]["end"], name="odd"), "taken"),
        (lambda n, p: n.connect("mass.force", p["spring"]["end"]), r"takes ends such as part\['force'\]"),
        (lambda n, p: n.connect(p["mass"]["force"], springs()[1]["spring"]["end"]), "belongs to another network"),
        (lambda n, p: n.add("mass", pv.library.mass(), pv.AVF(), step=1e-3), "already has a part"),
        (lambda n, p: n.add("more", pv.library.mass(), step=1e-3), "expected a method"),
        (lambda n, p: n.add("more", pv.library.mass(), pv.AVF(), step=0), "step of part 'more' must be a positive"),
        (lambda n, p: n.add("more", pv.library.device(m=0.0), pv.AVF(), step=1e-3), "device needs m > 0, but m = 0"),
        (lambda n, p: n.observe(p["mass"]["p"], p["spring"]["end"]), "'spring.end' is no signal"),
        (lambda n, p: pv.PassiveSampleHold(order="publish"), "did you mean 'published'"),
        (lambda n, p: pv.PassiveSampler(encoder=-1.0), "encoder must be a number >= 0"),
        (lambda n, p: pv.PassivityController(kind="capped"), "needs the device's mass > 0"),
        (lambda n, p: pv.DelayLine(impedance=0.0), "impedance must be a number > 0"),
        (lambda n, p: pv.simulate(n, pv.AVF(), until=1.0), "methods and steps of their own"),
        (lambda n, p: pv.simulate(n, until=1.0, start={"mass.q": 1.0}), "no free state 'mass.q'; did you mean"),
        (lambda n, p: pv.simulate(n, until=1.0, inputs={"mass.hnd": 1.0}), "did you mean 'mass.hand'"),
        (lambda n, p: pv.simulate(n, until=1e-3), "shorter than the time after which all parts have met"),
        (lambda n, p: pv.simulate(pv.Network(), until=1.0), "no parts"),
    ],
)  # fmt: skip
def test_mistakes_are_named(mistake, sentence):
    net, parts = springs()
    with pytest.raises(pv.PassivoError, match=sentence):
        mistake(net, parts)


def test_a_sample_and_hold_needs_a_whole_ratio():
    net, parts = springs()
    half = net.add("half", pv.library.spring(), pv.AVF(), step=2e-3)
    for through in (pv.PassiveSampleHold(), pv.MeanHold()):
        with pytest.raises(
            pv.InputError, match=r"needs a whole ratio of steps, but odd\.force and half\.end step as 3:2"
        ):
            net.connect(parts["odd"]["force"], half["end"], through)
    with pytest.raises(pv.InputError, match=r"MeanHold on .* needs a slow part whose work .* AVF"):
        net.connect(parts["mass"]["force"], parts["spring"]["end"], pv.MeanHold())


def test_rates_must_meet():
    net = pv.Network()
    net.add("a", pv.library.mass(), pv.AVF(), step=1.0007e-3)
    net.add("b", pv.library.mass(), pv.AVF(), step=1.0009e-3)
    with pytest.raises(
        pv.InputError, match=r"the parts meet only every .* ticks.*choose steps with small whole ratios"
    ):
        pv.simulate(net, until=1.0)


def test_a_loop_of_direct_connections_is_named():
    net = pv.Network()
    one = net.add("one", pv.library.damper(b=1.0), step=1e-3)
    other = net.add(
        "other", pv.System([], 0, feedthrough=[["r"]], ports={"end": pv.effort()}, params={"r": 2.0}), step=1e-3
    )
    net.connect(one["end"], other["end"], name="rod")
    with pytest.raises(pv.InputError, match=r"one and other|other and one.*rod.*algebraic solve.*pv\.Monolithic"):
        pv.simulate(net, until=0.1, engine="python")


def test_a_failing_part_is_named_and_the_run_is_kept():
    net = pv.Network()
    net.add("calm", pv.library.mass(), pv.AVF(), step=1e-3)
    kepler = net.add("kepler", pv.library.kepler(), pv.ExplicitEuler(), step=1e-3)
    assert kepler.name == "kepler"
    blow = lambda t: 1.0 if t < 0.05 else float("nan")  # noqa: E731
    with pytest.raises(pv.NonFiniteError, match="part calm: the input force is NaN") as caught:
        pv.simulate(net, until=0.1, inputs={"calm.force": blow}, start={"kepler.x": 1.0}, engine="python")
    run = caught.value.run
    assert run.verdict.kind == "none" and run["calm.p"].size == 51


# -- order and names --------------------------------------------------------------------------------------------------


def chain(names: tuple[str, str, str], through) -> pv.Network:
    """Mass, spring with two ends and mass at one rate, under any names, added in the order of the names."""
    net, (one, between, other) = pv.Network(), names
    models = {
        one: pv.library.mass(m=0.2, ports=("force", "hand")),
        between: pv.library.spring(k=400.0, ports=("near", "far")),
        other: pv.library.mass(m=0.3),
    }
    for name in sorted(models):
        net.add(name, models[name], pv.EnergyConsistent(), step=1e-3)
    part = net.members
    net.connect(part[one]["force"], part[between]["near"], through, "left")
    net.connect(part[other]["force"], part[between]["far"], through, "right")
    return net


@pytest.mark.parametrize("through", [pv.MeanHold(), pv.PassiveSampleHold("staggered"), pv.Direct()])
def test_names_and_the_order_of_adding_change_nothing(through):
    runs = []
    for names in (("a", "b", "c"), ("c", "b", "a"), ("b", "a", "c"), ("b", "c", "a")):
        net = chain(names, through)
        run = pv.simulate(net, until=0.05, start={f"{names[0]}.p": 0.3}, engine="python")
        runs.append(np.stack([run[f"{names[0]}.p"].values, run[f"{names[1]}.q"].values, run[f"{names[2]}.p"].values]))
    assert all(np.array_equal(runs[0], run) for run in runs[1:]) and np.abs(runs[0][2]).max() > 0.01


def test_couplings_in_a_chain_do_not_hang_on_names():
    found = []
    for names in (("a", "b", "c"), ("c", "b", "a")):
        net = pv.Network()
        parts = [net.add(n, pv.library.mass(m=0.2, ports=("l", "r")), pv.AVF(), step=1e-3) for n in names]
        net.connect(parts[0]["r"], parts[1]["l"], pv.VirtualCoupling(k=500.0), "one")
        net.connect(parts[1]["r"], parts[2]["l"], pv.VirtualCoupling(k=500.0), "two")
        run = pv.simulate(net, until=0.05, start={f"{names[0]}.p": 0.3}, engine="python")
        found.append([run[f"{n}.p"].values for n in names])
    assert np.array_equal(found[0], found[1])


def test_noise_of_one_seed_differs_between_parts():
    net = pv.Network()
    for name in ("a", "b"):
        net.add(name, pv.library.mass(), pv.AVF(), step=1e-3)
    noise = {"a.force": pv.Noise(1.0, seed=1), "b.force": pv.Noise(1.0, seed=1)}
    run = pv.simulate(net, until=0.02, inputs=noise, engine="python")
    assert not np.allclose(run.inputs["a.force"][1:], run.inputs["b.force"][1:])
    assert run.audit().ok


def test_a_cut_run_is_audited_up_to_the_failure():
    net = pair(pv.PassiveSampleHold("staggered"), ratio=2)
    net.add("other", pv.library.mass(), pv.AVF(), step=1e-3)
    blow = np.where(np.arange(60) < 33, 1.0, np.nan)
    with pytest.raises(pv.NonFiniteError) as caught:
        pv.simulate(net, until=0.06, start={"spring.q": 0.2}, inputs={"other.force": blow}, engine="python")
    assert caught.value.run.ticks == 33 and caught.value.run.audit().ok


def test_a_part_that_steps_first_is_not_seen_before_its_time():
    net = pair(pv.PassiveSampleHold("staggered"), ratio=4)
    wall = net.add("wall", pv.library.wall(), step=1e-3)
    net.observe(net.members["mass"]["p"], wall["depth"])
    with pytest.raises(pv.InputError, match="would show 'mass' before its time"):
        pv.simulate(net, until=0.1, engine="python")


def test_a_parameter_changed_by_hand_is_edited_in_the_total_too():
    from passivo.ledger import accounts as A
    from passivo.network.compiled import compile_network

    network = compile_network(pair(pv.Direct()), {"spring.q": 0.2}, engine="python")
    network.set({"spring.k": 800.0})
    row = network.accounts[-A.ACCOUNT_SIZE :]
    assert row[A.A_EDITED] == pytest.approx(8.0) and network.parts["spring"].stored == pytest.approx(16.0)


def test_the_mass_of_a_clamp_follows_the_device():
    def net(m: float) -> pv.Network:
        net = pv.Network()
        device = net.add("device", pv.library.device(m=m, b=2.0), pv.ExactHold(port="true"), step=1e-3)
        wall = net.add("wall", pv.library.wall(k=5e3, b=3.0), step=1e-3)
        net.connect(device["handle"], wall["end"], pv.LedgerClamp(), "touch")
        net.observe(device["q"], wall["depth"])
        return net

    given = {"until": 0.1, "start": {"device.q": -1e-3}, "inputs": {"device.hand": 5.0}, "engine": "python"}
    swept = pv.sweep(net(0.5), over={"device.m": [0.05, 0.5]}, keep=["device.q"], **given)["device.q"].values
    assert swept.tolist() == [pv.simulate(net(m), **given)["device.q"].values[-1] for m in (0.05, 0.5)]
    odd = pv.System(["q", "p"], "sqrt(1 + p**2)", [[0, 1], [-1, 0]], ports={"handle": pv.effort([0, 1])})
    other = pv.Network()
    device = other.add("device", odd, pv.AVF(), step=1e-3)
    wall = other.add("wall", pv.library.wall(), step=1e-3)
    other.connect(device["handle"], wall["end"], pv.LedgerClamp(), "touch")
    with pytest.raises(pv.InputError, match="depends on the state; say its least value"):
        pv.simulate(other, until=0.1, engine="python")


def test_a_coupling_is_not_named_like_a_port():
    net = pv.Network()
    one = net.add("one", pv.library.mass(ports=("a", "b")), pv.AVF(), step=1e-3)
    other = net.add("other", pv.library.mass(ports=("a", "b")), pv.AVF(), step=1e-3)
    with pytest.raises(pv.InputError, match="part 'other' has a 'b' already"):
        net.connect(one["a"], other["a"], pv.VirtualCoupling(), "b")
    with pytest.raises(pv.PassivoError, match="not a plain name"):
        net.connect(one["a"], other["a"], pv.VirtualCoupling(), "x y")


def test_a_clamp_records_an_operator_beyond_the_bound():
    for force, broken in ((15.0, False), (200.0, True)):
        net = pv.Network()
        device = net.add("device", pv.library.device(), pv.ExactHold(port="true"), step=1e-3)
        wall = net.add("wall", pv.library.wall(k=20e3), step=1e-3)
        net.connect(device["handle"], wall["end"], pv.LedgerClamp(), "touch")
        net.observe(device["q"], wall["depth"])
        hand = {"device.hand": force}
        run = pv.simulate(net, until=0.3, start={"device.q": -5e-3}, inputs=hand, engine="python")
        assert (run.part("touch")["violations"].values[-1] > 0) == broken
        assert run.part("touch")["limited"].values[-1] > 0
