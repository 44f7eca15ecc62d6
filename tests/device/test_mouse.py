"""A pointer without motors: its place is told from any thread, and a loop runs it like any other device."""

from __future__ import annotations

import threading
from math import nan

import pytest

import passivo as pv
from passivo.device.state import Answer, Life


def test_a_mouse_stays_where_it_was_told():
    with pv.devices.Mouse() as mouse:
        assert mouse.info.axes == ("x", "y")
        assert not mouse.info.gives_force
        first = mouse.read()
        assert first.position == (0.0, 0.0)
        mouse.move(0.01, -0.02, buttons=5)
        states = [mouse.read() for _ in range(3)]
        assert [state.position for state in states] == [(0.01, -0.02)] * 3
        assert [state.sequence - first.sequence for state in states] == [1, 2, 3]
        assert {state.buttons for state in states} == {5}
        mouse.move(0.0, 0.0)
        assert mouse.read().buttons == 0


def test_three_axes():
    with pv.devices.Mouse(degrees_of_freedom=3) as mouse:
        mouse.move(1, 2, 3)
        assert mouse.read().position == (1.0, 2.0, 3.0)
        with pytest.raises(pv.InputError, match="x, y, z; move it by 3 numbers"):
            mouse.move(1.0, 2.0)


def test_a_mouse_cannot_push():
    with pv.devices.Mouse() as mouse:
        with pytest.raises(pv.DeviceError, match="cannot push"):
            mouse.enable_forces()
        mouse.read()
        assert mouse.write([1.0, 0.0]) is Answer.DISABLED
        assert mouse.force == (0.0, 0.0)


@pytest.mark.parametrize(
    ("place", "buttons", "why"),
    [
        ((nan, 0.0), 0, "finite"),
        (("left", 0.0), 0, "finite"),
        ((0.0, 0.0, 0.0), 0, "by 2 numbers"),
        ((0.0, 0.0), -1, "bits"),
        ((0.0, 0.0), 256, "bits"),
        ((0.0, 0.0), 0.5, "bits"),
    ],
)
def test_moves_that_cannot_be(place, buttons, why):
    mouse = pv.devices.Mouse()
    with pytest.raises(pv.InputError, match=why):
        mouse.move(*place, buttons=buttons)


@pytest.mark.parametrize("options", [{"degrees_of_freedom": 1}, {"rate": 0.0}, {"mass": nan}, {"max_force": "much"}])
def test_options_that_cannot_be(options):
    with pytest.raises(pv.InputError, match="Mouse"):
        pv.devices.Mouse(**options)


def test_a_place_is_never_half_of_one_and_half_of_another():
    mouse = pv.devices.Mouse().open()
    over = threading.Event()

    def wander():
        k = 0.0
        while not over.is_set():
            k += 1.0
            mouse.move(k, -k, buttons=int(k) % 256)

    hand = threading.Thread(target=wander)
    hand.start()
    try:
        states = [mouse.read() for _ in range(5000)]
    finally:
        over.set()
        hand.join()
    assert all(state.position[0] == -state.position[1] for state in states)
    assert all(state.buttons == int(state.position[0]) % 256 for state in states)


def test_in_a_loop_the_force_is_shown_and_booked():
    net = pv.Network()
    wall = net.add("wall", pv.library.wall(k=100.0), step=1e-2)
    with pv.devices.Mouse(axes="x", rate=100.0) as mouse:
        net.connect(mouse["handle"], wall["end"], through=pv.LedgerClamp(), name="touch")
        net.observe(mouse["position"], wall["depth"])
        mouse.move(0.02, 0.0)
        seen = []
        write = mouse._write
        mouse._write = lambda force: (seen.append(force), write(force))[0]
        report = pv.Loop(net, safety=pv.Safety(clamp=False, ramp=0.01, patience=1.0), engine="python").run(seconds=0.3)
        assert report.stopped == ""
        assert mouse.status.life is Life.STOPPED
        assert mouse.force == (0.0, 0.0)  # the loop is over
    assert min(force[0] for force in seen) == pytest.approx(-2.0)  # 2 cm into 100 N/m, as far as ramp and slew let
    assert {force[1] for force in seen} == {0.0}
    assert report.rows["device.force"].min() == pytest.approx(-2.0)
    assert "touch" in report.network.verdict.parts
