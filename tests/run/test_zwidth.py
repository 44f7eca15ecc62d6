"""The stiffest wall that is rendered: its parts against the whole network, limits of theory, what the clamp keeps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import passivo as pv
from passivo.run.zwidth import SCHEMES, Bench, Reach, Touch, grid, laws, network, pressed, reach, usual_operators

DEVICE = pv.DeviceModel(mass=0.15, damping=2.0)
HAND = pv.operators.hand(damping=30.0, force=5.0)
QUIET = Touch(1e3, 0.0, 1e-3, 0.01, 1.0)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("operator", [pv.operators.push(5.0), HAND], ids=["push", "hand"])
def test_a_touch_is_the_end_of_a_run_of_the_network(scheme, operator):
    """Parameters in the memory give what a network built with them gives; also after another wall and operator."""
    bench = Bench(DEVICE, 1000.0, scheme, seconds=0.4, engine="python")
    b = 0.0 if SCHEMES[scheme].spring else 3.0
    bench.touch(pv.operators.hand(damping=2.0, force=3.0), 700.0)
    found = bench.touch(operator, 2500.0, b)
    given = {f"device.{name}": value for name, value in operator.params.items()}
    net = network(DEVICE, 1000.0, scheme).with_params(**given, **{"wall.k": 2500.0}, **({"wall.b": b} if b else {}))
    start, inputs = {"device.q": -5e-3}, {"device.hand": 5.0}
    run = pv.simulate(net, until=0.4, start=start, inputs=inputs, engine="python")
    last, static = slice(-100, None), 5.0 / (2500.0 + operator.stiffness)
    speed = run.outputs["device.handle"].values[last]
    assert found.speed == pytest.approx(np.sqrt(np.mean(speed**2)), rel=1e-12)
    force = run.inputs["device.handle"].values[last]
    assert found.ripple == pytest.approx(np.std(force) / (2500.0 * static), rel=1e-9)
    assert found.depth == pytest.approx(run["device.q"].values[last].mean() / static, rel=1e-12)


def test_a_wall_is_rendered_where_it_is_quiet_and_in_place():
    assert QUIET.rendered and QUIET.fault == ""
    faults = {
        "vibrates": [replace(QUIET, speed=5.01e-3), replace(QUIET, ripple=0.0501)],
        "sinks": [replace(QUIET, depth=2.01)],
        "repels": [replace(QUIET, depth=0.49)],
        "explodes": [replace(QUIET, speed=np.inf, depth=np.nan), replace(QUIET, speed=np.nan)],
    }
    for fault, touches in faults.items():
        assert all(touch.fault == fault and not touch.rendered for touch in touches)


class Wall:
    """Stands for a bench: rendered up to a stiffness, with a gap."""

    def __init__(self, most: float, gap: tuple[float, float] = (0.0, 0.0)):
        self.most, self.gap = most, gap

    def touch(self, operator, stiffness: float, damping: float = 0.0) -> Touch:
        good = stiffness <= self.most and not self.gap[0] < stiffness < self.gap[1]
        return replace(QUIET, stiffness=stiffness, depth=1.0 if good else 3.0)


def test_what_is_reached_lies_below_the_first_wall_that_is_not_rendered():
    def found(*wall) -> Reach:
        return reach(Wall(*wall), HAND, (100.0, 2e5))  # type: ignore[arg-type]

    for most in (150.0, 4321.0, 1.9e5):
        told = found(most)
        assert told.beyond is not None and told.stiffness <= most < told.beyond.stiffness <= 1.02 * told.stiffness
        assert [touch.stiffness for touch in told.touches] == sorted(touch.stiffness for touch in told.touches)
    assert found(50.0).stiffness == 0.0 and found(1e6).stiffness == pytest.approx(2e5) and found(1e6).beyond is None
    assert found(1e6, (900.0, 1300.0)).stiffness <= 900.0  # a stiffer wall that is rendered does not count


def test_the_grid_is_even_on_a_logarithmic_scale():
    walls = grid(100.0, 2e5, 10)
    assert walls[0] == 100.0 and walls[-1] == pytest.approx(2e5)
    assert np.ptp(np.diff(np.log(walls))) < 1e-12 and 9.9 < 1 / np.diff(np.log10(walls)).max() < 10.5


def test_at_rest_the_wall_carries_what_the_hand_does_not():
    depth = pressed(pv.operators.hand(stiffness=400.0, target=0.01, force=1.0), 1600.0)
    assert 1600.0 * depth == pytest.approx(1.0 + 400.0 * (0.01 - depth))


def test_theory_and_measure_agree_for_a_plain_wall():
    """2b/T without delay, 2b/(3T) one sample late; just below them what is left of the impact decays slowly."""
    for delay in (0, 1):
        device = pv.DeviceModel(mass=0.15, damping=2.0, encoder=0.0, delay=delay)
        bench = Bench(device, 1000.0, "plain", seconds=3.0, engine="python")
        limit = 4000.0 / (1 + 2 * delay)
        assert bench.touch(pv.operators.push(5.0), 0.7 * limit).rendered
        assert bench.touch(pv.operators.push(5.0), 1.05 * limit).fault == "vibrates"


def test_what_the_others_lose_the_clamp_keeps():
    """At 50 kN/m, in the hand that is hardest to render for; and under an adversary never more than the credit."""
    hand2 = usual_operators()["hand 2"]
    faults = {}
    for scheme in ("plain", "pcdc", "popc", "clamp"):
        faults[scheme] = Bench(DEVICE, 1000.0, scheme, engine="python").touch(hand2, 5e4).fault
    assert faults["clamp"] == "" and all(faults[scheme] for scheme in ("plain", "pcdc", "popc"))
    for scheme in ("plain", "clamp"):
        net = network(DEVICE, 1000.0, scheme, stiffness=2e4)
        attack = pv.operators.adversary(net, 20.0, until=0.2, start={"device.q": 0.0}, rounds=5, engine="python")
        assert -1e-4 <= attack.energy <= 0.0 if scheme == "clamp" else attack.energy < -0.5


def test_pressed_from_rest_the_clamp_must_sink_in():
    """Holding F takes F (T² (F + F_h)/m + res) joules, and a spring of 50 kN/m pressed by 5 N brings only 0.25 mJ."""
    bench = Bench(DEVICE, 1000.0, "clamp", approach=0.0, engine="python")
    touch = bench.touch(HAND, 5e4)
    assert touch.fault == "sinks" and touch.quiet
    needed = 5.0 * (1e-6 * (5.0 + 22.0) / 0.15 + 1e-6)
    assert touch.depth * pressed(HAND, 5e4) * 5.0 > needed - 1e-4


def test_lost_samples_cost_stiffness_not_energy():
    device = pv.DeviceModel(mass=0.15, dropped=0.1)
    net = network(device, 1000.0, "clamp", seed=3, stiffness=2e4)
    attack = pv.operators.adversary(net, 20.0, until=0.2, start={"device.q": 0.0}, rounds=5, engine="python")
    assert -1e-4 <= attack.energy <= 0.0


def test_friction_is_a_force_against_the_motion():
    """A device pushed by less than its friction creeps, pushed by more it reaches (F − c)/b."""
    device = pv.DeviceModel(mass=0.05, damping=2.0, friction=1.0)
    net = network(device, 1000.0, "plain")
    ends = {}
    for force in (0.5, 3.0):
        run = pv.simulate(
            net,
            until=0.3,
            start={"device.q": -10.0},
            inputs={"device.hand": force, "device.rub": laws(device)["device.rub"]},
            engine="python",
        )
        ends[force] = run.outputs["device.handle"].values[-1]
    assert ends[3.0] == pytest.approx(1.0, rel=1e-4) and 0.0 < ends[0.5] < 1e-3


def test_the_whole_measure(tmp_path):
    told = []
    found = pv.zwidth(
        DEVICE,
        schemes=["plain", "pcdc"],
        operators={"hand 30": HAND},
        stiffness=(2e3, 2e4),
        seconds=0.4,
        rounds=2,
        map=True,
        engine="python",
        progress=lambda what, done, total: told.append((what, done / total)),
    )
    assert found.stiffness.sel(scheme="pcdc", operator="hand 30") < found.stiffness.sel(scheme="plain").item()
    assert found.limit() == 4000.0 and found.limit("hand 30") == 64000.0
    assert found.limit("hand 30", 1) == pytest.approx(64000.0 / 3)
    shares = [share for _, share in told]
    assert shares == sorted(shares) and shares[-1] == 1.0
    assert {"compiling plain", "pcdc, hand 30", "plain, adversary", "pcdc, map"} <= {what for what, _ in told}
    assert found.map is not None and (found.map.rendered["pcdc"][1:] == -1).all()
    assert found.map.rendered["plain"].max() == 1 and found.map.rendered["plain"].min() >= 0
    touched = found.columns()
    assert len(set(map(len, touched.values()))) == 1 and "sinks" in touched["fault"]
    found.plot(tmp_path / "z.png")
    found.map.plot(tmp_path / "map.svg")
    assert all((tmp_path / name).stat().st_size > 1000 for name in ("z.png", "map.svg"))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"rate": 0.0}, "rate must be > 0"),
        ({"rate": float("nan")}, "rate must be > 0"),
        ({"schemes": ["plan"]}, "no scheme 'plan'; did you mean 'plain'"),
        ({"schemes": []}, "at least one scheme"),
        ({"operators": {"a": pv.operators.push(0.0)}}, "'a' does not press on the wall"),
        ({"operators": {"a": pv.operators.push(lambda t: t)}}, "constant force"),
        ({"stiffness": (1e3, 1e2)}, "0 < softest < stiffest"),
        ({"approach": -1.0}, "approach must be a number >= 0"),
        ({"seconds": 0.01}, "100 samples or more"),
        ({"seconds": 1e6}, "take fewer seconds"),
        ({"device": 0.15}, r"pv\.DeviceModel"),
    ],
)
def test_mistakes_are_named(options, sentence):
    with pytest.raises(pv.InputError, match=sentence):
        pv.zwidth(**{"device": DEVICE, "engine": "python", **options})


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"mass": 0.0}, r"mass > 0 \(kg\), not 0.0"),
        ({"mass": -1.0}, "mass > 0"),
        ({"mass": "1"}, "mass > 0"),
        ({"mass": 1.0, "damping": -1.0}, "damping of a device must be a number >= 0"),
        ({"mass": 1.0, "encoder": -1.0}, "encoder must be a number >= 0"),
        ({"mass": 1.0, "delay": 0.5}, "delay is a whole number"),
        ({"mass": 1.0, "dropped": 1.0}, "dropped must be below 1"),
    ],
)
def test_devices_that_cannot_be(options, sentence):
    with pytest.raises(pv.InputError, match=sentence):
        pv.DeviceModel(**options)
