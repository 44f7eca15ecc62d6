"""A scenario with a device in place of its stand-in, touched in simulated time: the same numbers everywhere."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from math import nan

import numpy as np
import pytest

import passivo as pv
from passivo.device.catalogue import by_name
from passivo.device.device import Device
from passivo.device.state import DeviceInfo, DeviceState
from passivo.loop.kernels import B_TICKS
from passivo.loop.touch import StandIn, Touch
from passivo.network.guard import LATCHED

PART = """
about: ""
network:
  parts:
    device: {{system: {{library: device, m: 0.2, b: 3.0}}, method: {{name: ExactHold, port: "true"}}, step: 2e-3}}
    wall: {{system: {{library: wall, k: 2e3}}, step: 2e-3}}
    {more}
  connections:
    - {{between: [device.handle, wall.end], through: {through}, name: touch}}
    {links}
  observe: {{wall.depth: {{of: device.{seen}{sensor}}}}}
start: {{device.q: -4e-3{start}}}
inputs: {inputs}
run: {{until: 1.0}}
"""


def scenario(tmp_path, **changes):
    usual = {"more": "", "links": "", "through": "{name: LedgerClamp, encoder: 1e-5, delay: 1}", "seen": "q"}
    usual |= {"sensor": ", through: touch", "start": "", "inputs": "{device.hand: 2 + t}"}
    path = tmp_path / "mine.yaml"
    path.write_text(PART.format(**{**usual, **changes}))
    return pv.Scenario.load(str(path))


def touched(chosen, seconds, **options):
    with StandIn.of(chosen).sim(engine="python") as device:
        return Touch(chosen, device, clock="simulated", engine="python", **options).run(seconds)


@pytest.fixture(scope="module")
def wall():
    return touched(pv.Scenario.load("wall"), 2.0)


def test_a_wall_holds_the_hand_where_a_spring_would(wall):
    assert wall.report.passive and wall.report.ports["device"].bias <= 1e-4
    assert 0.5 < wall.penetration / wall.static < 2.0
    assert wall.static == pytest.approx(5.0 / 20e3, rel=0.02)
    assert wall.data()["mean_force"] == pytest.approx(-5.0, rel=0.02)
    assert wall.surface == 0.0 and wall.position[0] == pytest.approx(-5e-3)


def test_the_damping_at_the_end_counts_in_no_mean(wall):
    assert wall.report.ticks > 2000 and wall.ended == 2000 + 1
    assert wall.late_half[-1] == wall.ended - 1 and wall.time[wall.late_half[0]] == pytest.approx(1.0)
    assert np.abs(wall.position[wall.ended :]).max() > 5.0 * wall.penetration


def test_the_energy_at_the_port_is_force_times_way(wall):
    way = np.diff(wall.position)
    assert wall.energy[-1] == pytest.approx(-(wall.force[:-1] * way).sum(), rel=1e-9)


def test_what_is_touched_is_what_is_simulated(wall):
    """Not to the last bit: the way out of a loop has more limits (slew, force)."""
    run = pv.Scenario.load("wall").simulate(engine="python")
    assert run["device.q"].values[-1] == pytest.approx(wall.penetration, rel=0.05)


def test_an_object_behind_a_slower_junction_is_booked():
    felt = touched(pv.Scenario.load("object"), 5.0)
    assert felt.report.passive and felt.report.verdict.kind == "booked"
    assert felt.penetration is None and felt.static is None
    assert felt.position.max() == pytest.approx(0.06, rel=0.2)
    assert pv.Scenario.load("object").simulate(engine="python").verdict.kind == "booked"


def test_the_simulated_device_has_the_numbers_of_the_part(tmp_path):
    device = StandIn.of(scenario(tmp_path)).sim()
    assert (device.mass, device.damping, device.encoder, device.rate) == (0.2, 3.0, 1e-5, 500.0)
    assert device.start == (-4e-3,) and device.delay == 1 and device.operator.force(0.5) == 2.5


def test_a_scenario_without_a_device_is_refused():
    with pytest.raises(pv.InputError, match=r"one system.*library: device.*wall and object"):
        StandIn.of(pv.Scenario.load("oscillator"))
    with pytest.raises(pv.InputError, match=r"no part of multirate stands for the device \(spring, mass\)"):
        StandIn.of(pv.Scenario.load("multirate"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"more": "other: {system: device, method: AVF, step: 2e-3}"}, "device and other of mine all stand for a dev"),
        ({"through": "{name: PassivityController}"}, "through a LedgerClamp, not PassivityController, at 'touch'; put"),
        (
            {
                "more": "arm: {system: {library: spring, k: 10}, method: AVF, step: 2e-3}",
                "links": "- {between: [device.hand, arm.end], name: held}",
                "inputs": "{}",
            },
            "'held' joins device.hand to a part of mine, but a hand is there now",
        ),
    ],
)
def test_what_cannot_be_replaced_is_told(tmp_path, changes, message):
    with pytest.raises(pv.InputError, match=message):
        StandIn.of(scenario(tmp_path, **changes))


def test_a_momentum_cannot_be_observed(tmp_path):
    chosen = scenario(tmp_path, seen="p", sensor="")
    with pytest.raises(pv.InputError, match=r"observe device\.q, not device\.p"):
        touched(chosen, 0.1)


def test_a_law_is_no_hand_and_a_throw_no_start(tmp_path):
    with pytest.raises(pv.InputError, match="a number or a formula of t"):
        StandIn.of(scenario(tmp_path, inputs="{device.hand: {feedback: -y}}")).sim()
    with pytest.raises(pv.InputError, match=r"take device\.p out of the start"):
        StandIn.of(scenario(tmp_path, start=", device.p: 0.1")).sim()


class Arm(Device):
    """A device of three axes that stands still, 12 cm up."""

    driver = "arm"

    def _open(self):
        self.count = itertools.count()
        return DeviceInfo(model="Arm", driver="arm", axes=("x", "y", "z"), max_force=5.0, mass=0.1, rate=500.0)

    def _read(self):
        return DeviceState(nan, 0.0, next(self.count), (0.0, 0.0, 0.12))

    def _write(self, force):
        pass


def test_a_real_device_begins_where_the_scenario_starts(tmp_path):
    with Arm(name="device") as arm:
        touch = Touch(scenario(tmp_path), arm, engine="python")
        assert arm.axes == ("z",) and touch.offset == pytest.approx(-4e-3 - 0.12)
        (sight,) = touch.net.observed["wall.depth"]
        assert sight.source.name == "position" and sight.offset == touch.offset and sight.through == ""
        guard = touch.loop.net.connections[0].through
        assert guard.mass == ((0.1,),) or guard.mass == 0.1


def test_switching_the_clamp_off_is_told():
    felt = touched(pv.Scenario.load("wall"), 0.5, safety=pv.Safety(clamp=False))
    assert not felt.report.passive and "switched off" in str(felt)


def test_ctrl_c_waits_for_the_damping():
    """Python 3.11 takes a thread for ended whose join was interrupted: the report came before the loop had let go."""
    chosen = pv.Scenario.load("wall")
    with StandIn.of(chosen).sim(engine="python") as device:
        touch = Touch(chosen, device, clock="simulated", engine="python")

        def interrupt():
            while touch.loop.book[B_TICKS] < 100:
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt, daemon=True).start()
        felt = touch.run(60.0)
    assert "told to stop" in felt.report.stopped and felt.report.ticks < 60_000
    assert felt.report.rows["device.mode"][-1, 0] == LATCHED
    assert len(felt.time) == felt.report.ticks + 1


def test_a_touch_is_drawn(wall, tmp_path):
    for kind in ("png", "svg"):
        wall.plot(tmp_path / f"touch.{kind}")
        assert (tmp_path / f"touch.{kind}").stat().st_size > 10_000


def test_drivers_by_name():
    assert by_name("sim") is pv.devices.Sim
    with pytest.raises(pv.InputError, match="no device 'simm'; did you mean 'sim'"):
        by_name("simm")
