"""The loop with simulated time, as plain Python: ledger, lateness, rates, inputs, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import passivo as pv
from loop.scenes import balance, law, port_energy, spring_and_mass, wall

CREDIT = 1e-4  # J, the clamp's


def sim(**options):
    return pv.devices.Sim(**{"engine": "python", "operator": pv.operators.push(5.0), "start": -5e-3, **options})


def run(net, seconds, **options):
    return pv.Loop(net, clock="simulated", engine="python", **options).run(seconds=seconds)


def test_a_stiff_wall_is_where_it_should_be_and_its_port_is_passive():
    with sim() as device:
        report = run(wall(device), 0.8)
        static = 5.0 / 20e3
        settled = report.rows["device.position"][400:800, 0]
        assert 0.5 * static < settled.mean() < 2.0 * static
        assert report.passive and report.verdict.passive
        assert device.least_energy >= -CREDIT
        assert report.ticks >= 800 and report.missed == 0 and not report.stopped


def test_the_ledger_of_the_handle_is_force_times_motion():
    with sim(seed=4, jitter=0.2, dropped=0.1) as device:
        report = run(wall(device), 0.2)
    energy, booked = port_energy(report), -report.rows["ledger.device.work"][:, 0]
    known = report.rows["device.dropped"][1:, 0] == 0.0  # where a force was dropped without a reading, the worst counts
    assert np.abs(np.diff(energy) - np.diff(booked))[known].max() <= 1e-15
    assert (np.diff(booked)[~known] <= np.diff(energy)[~known]).all()
    assert energy.min() >= -CREDIT


def test_late_ticks_are_stepped_with_their_true_time():
    """A mass on a spring at the handle: its energy balance holds whatever the ticks, and time adds up."""
    lates = [0.0, 3e-4, 0.0, 0.0, 2.7e-3, 0.0, 1e-4]
    with sim() as device:
        report = run(spring_and_mass(device), 0.3, lates=lates)
    elapsed, time = report.rows["elapsed"][:, 0], report.rows["time"][:, 0]
    np.testing.assert_allclose(np.diff(time), elapsed[1:], rtol=0, atol=1e-12)
    assert report.missed > 0
    assert np.abs(balance(report)).max() <= 1e-12
    steps = report.network.parts["spring"].steps
    assert steps > report.ticks  # what lasted longer is stepped in pieces
    assert report.network.parts["spring"].time == pytest.approx(report.seconds, rel=1e-9)


@pytest.mark.parametrize("late", [1e-3, 2e-3, 3e-3, 2e-3 - 1e-12])
def test_ticks_that_are_late_by_whole_periods_take_some_time(late):
    with sim() as device:
        report = run(wall(device), 0.1, lates=[0.0, 3e-4, 0.0, late])
    assert not report.stopped
    assert report.rows["elapsed"][1:].min() > 5e-4
    assert report.interventions["device"]["clock went backwards"] == 0
    whole = report.seconds / 1e-3  # what the last tick missed is not counted any more
    assert report.ticks + report.missed == pytest.approx(whole, abs=late / 1e-3 + 1.0)


def test_a_loop_is_repeated_to_the_last_bit():
    def rows():
        with sim(seed=7, jitter=0.1, dropped=0.05) as device:
            report = run(wall(device), 0.1, lates=[0.0, 1e-4])
            return np.hstack(list(report.rows.values()))

    np.testing.assert_array_equal(rows(), rows())


def test_inputs_follow_the_time_and_not_the_ticks():
    with sim(operator=pv.operators.push(0.0), start=0.0) as device:
        net = pv.Network()
        spring = net.add("spring", pv.library.spring(k=1.0, ports=("near", "far")), pv.AVF(), step=1e-3)
        net.connect(device["handle"], spring["near"], through=pv.LedgerClamp(), name="touch")
        report = run(net, 0.2, inputs={"spring.far": lambda t: 10.0 * t}, lates=[0.0, 0.0, 5e-3, 0.0])
    moved = float(report.network.parts["spring"].state[0]) - float(report.rows["device.position"][-1, 0])
    ran = 0.2  # afterwards the last input stands, while the handle is damped
    covered = -(5.0 * ran**2 + 10.0 * ran * (report.seconds - ran))
    assert moved == pytest.approx(covered, rel=0.05)


def test_forces_that_are_no_numbers_end_in_damping():
    with sim() as device:
        report = run(law(device, "sqrt(-1 - depth**2)"), 0.5)
    assert "no numbers" in report.stopped
    assert np.isfinite(report.rows["device.force"]).all()
    assert report.seconds < 0.4


def test_a_part_that_cannot_step_ends_in_damping_and_gives_no_verdict():
    """A potential that is steep without bound: no step is found once the handle is there."""
    system = pv.System(
        states=["q"], energy="-log(0.01 - q)", structure=[[0]], ports={"end": pv.flow([1])}, domain="0.01 - q > 0"
    )
    with sim(start=0.0, operator=pv.operators.push(20.0)) as device:
        net = pv.Network()
        part = net.add("barrier", system, pv.ExplicitEuler(), step=1e-3)
        net.connect(device["handle"], part["end"], through=pv.LedgerClamp(), name="touch")
        report = run(net, 1.0)
    assert "could not step" in report.stopped and "part barrier" in report.stopped
    assert report.verdict.kind == "none"
    assert report.rows["device.mode"][-1, 0] == 2.0
    assert np.isfinite(report.rows["device.force"]).all() and report.rows["device.force"][-1, 0] == 0.0


def test_without_a_hand_at_the_dead_man_switch_no_force_acts_and_the_loop_still_ends():
    with sim(start=1e-3) as device:
        device._info = pv.DeviceInfo(**{**device.info.describe(), "axes": ("x",), "workspace": (), "buttons": 1})
        report = run(wall(device), 0.3, safety=pv.Safety(dead_man=0))
    assert report.ticks >= 300
    forces = report.rows["device.force"][:, 0]
    assert (forces[120:] == 0.0).all()


def test_the_clamp_is_switched_off_only_by_name_and_the_report_says_so():
    with sim() as device:
        report = run(wall(device), 0.5, safety=pv.Safety(clamp=False))
    assert "switched off" in str(report)
    assert not report.passive


def test_the_last_rows_are_kept_however_long_the_run(monkeypatch):
    from passivo.loop import session

    monkeypatch.setattr(session, "KEPT", 50)
    monkeypatch.setattr(session, "WAITING", 16)  # simulated time waits for whoever takes the rows
    with sim() as device:
        report = run(wall(device), 0.2)
    assert report.rows["tick"].shape == (50, 1)
    assert report.rows["tick"][-1, 0] == report.ticks


def test_an_encoder_that_is_too_coarse_for_the_rate_is_told():
    with sim(rate=10e3, encoder=1e-6) as device:
        report = run(wall(device), 0.01)
    assert any("too coarse for 10000 Hz" in sentence for sentence in report.setup)
    with sim() as device:
        assert not run(wall(device), 0.01).setup


# -- bad input ------------------------------------------------------------------------------------------------------


def test_a_network_without_a_device_is_refused():
    net = pv.Network()
    net.add("mass", pv.library.mass(), pv.AVF(), step=1e-3)
    with pytest.raises(pv.InputError, match=r"has no device.*pv\.simulate"):
        pv.Loop(net)


def test_two_devices_on_one_port_are_refused():
    with sim() as one, sim(name="other") as two:
        net = wall(one)
        with pytest.raises(pv.InputError, match=r"'wall.end' is connected twice"):
            net.connect(two["handle"], net.members["wall"]["end"], through=pv.LedgerClamp(), name="again")


def test_a_device_that_is_connected_to_nothing_is_refused():
    with sim() as device, sim(name="idle") as idle:
        net = wall(device)
        net.observe(idle["position"], net.add("other", pv.library.wall(), step=1e-3)["depth"])
        with pytest.raises(pv.InputError, match=r"'idle' is connected to nothing"):
            pv.Loop(net)


@pytest.mark.parametrize(
    ("safety", "sentence"),
    [
        ({"max_force": 31.0}, r"max_force 31 N is above what .* can hold \(30 N\)"),
        ({"max_speed": 6.0}, r"max_speed 6 m/s is above"),
        ({"dead_man": 0}, r"has 0 buttons"),
        ({"ramp": -1.0}, r"ramp must be a number > 0"),
        ({"clamp": "no"}, r"clamp is True or False"),
    ],
)
def test_limits_beyond_the_device_are_refused(safety, sentence):
    with sim() as device, pytest.raises(pv.InputError, match=sentence):
        pv.Loop(wall(device), safety=pv.Safety(**safety), engine="python")


def test_a_limit_of_the_clamp_above_the_devices_is_refused():
    with sim() as device, pytest.raises(pv.InputError, match=r"limit of 'touch' is above"):
        pv.Loop(wall(device, limit=40.0), engine="python")


@pytest.mark.parametrize(
    ("limit", "max_force", "held"),
    [
        (None, 8.0, 8.0),
        (5.0, 8.0, 5.0),
        (9.0, 8.0, 8.0),
        ((6.0, 8.0), 10.0, (6.0, 8.0)),
        ((9.0, 9.0), 8.0, (32**0.5,) * 2),
    ],
)
def test_the_clamps_limit_keeps_the_norm_within_the_largest_force(limit, max_force, held):
    with sim(degrees_of_freedom=2) as device:
        net = pv.Network()
        part = net.add(
            "wall", pv.Rendering({"end": pv.flow(width=2)}, {"end": ["-x", "-y"]}, signals=["x", "y"]), step=1e-3
        )
        net.connect(device["handle"], part["end"], through=pv.LedgerClamp(limit=limit), name="touch")
        guard = pv.Safety(max_force=max_force).guard(device, net.connections[0])
    assert guard.limit == pytest.approx(held, rel=1e-9)


def test_a_device_is_not_simulated():
    with sim() as device, pytest.raises(pv.InputError, match=r"'device' is a device, which only a loop can move"):
        pv.simulate(wall(device), until=0.1, engine="python")


def test_other_junctions_at_a_device_are_refused():
    with sim() as device:
        net = pv.Network()
        part = net.add("spring", pv.library.spring(k=1.0), pv.AVF(), step=1e-3)
        net.connect(device["handle"], part["end"], through=pv.PassiveSampleHold(), name="touch")
        with pytest.raises(pv.InputError, match=r"touched through pv\.LedgerClamp\(\), not PassiveSampleHold"):
            pv.Loop(net, engine="python")


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf"), "10"])
def test_a_length_that_is_none_is_refused(seconds):
    with sim() as device, pytest.raises(pv.InputError, match="seconds must be a positive number"):
        pv.Loop(wall(device), engine="python").run(seconds=seconds)
