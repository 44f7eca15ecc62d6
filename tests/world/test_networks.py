"""Worlds as parts of a network: junctions, rates, a simulated device behind the clamp, saving and audits."""

from __future__ import annotations

import numpy as np
import pytest

import passivo as pv


def hung(name="world", place=(0, 0, 0)):
    """A ball on a spring with a port at its middle."""
    world = pv.World(gravity=(0, 0, -9.81), name=name)
    ball = world.add_body("ball", pv.Sphere(0.05), 0.5, position=place)
    world.add_spring("s", ball, world.point(place[0], place[1], place[2] + 0.2), 200.0, 0.5, length=0.15)
    world.add_port("push", ball)
    return world


def bar_on_an_anchor():
    """A bar that hangs on an anchor by a spring: its port takes a velocity."""
    world = pv.World(gravity=(0, 0, 0), name="bar")
    bar = world.add_body("bar", pv.Box(0.3, 0.02, 0.02), 0.4)
    world.add_anchor("hand")
    world.add_spring("grip", bar.point(0.15, 0, 0), world.anchors["hand"].here(0.15, 0, 0), 300.0)
    return world


def two_worlds(through, slow=2e-3):
    net = pv.Network()
    ball = net.add("ball", hung(), pv.PassiveMidpoint(), step=slow)
    bar = net.add("bar", bar_on_an_anchor(), pv.PassiveMidpoint(), step=1e-3)
    net.connect(ball["push"], bar["hand"], through=through, name="link")
    return net


def test_two_worlds_through_plain_samples_create_energy_that_the_ledger_shows():
    run = pv.simulate(two_worlds(pv.Direct()), until=2.0, engine="python")
    assert run.verdict.kind == "active"
    assert run.verdict.parts["ball"].kind == run.verdict.parts["bar"].kind == "exact"
    assert run.verdict.part == "link"


def test_two_worlds_through_passive_sample_and_hold():
    run = pv.simulate(two_worlds(pv.PassiveSampleHold()), until=2.0, engine="python")
    assert run.verdict.kind == "booked"
    assert run.verdict.parts["ball.springs"].kind == "exact"
    assert np.isfinite(run["bar.bar.position"].values).all()
    assert run["ball.ball.position"].dims == ("time", "component")


def test_a_network_with_worlds_is_saved_and_audited(tmp_path):
    run = pv.simulate(
        two_worlds(pv.PassiveSampleHold()), until=0.05, engine="python", start={"ball.ball.velocity.x": 0.3}
    )
    assert run["ball.ball.velocity"].values[0, 0] == 0.3
    run.save(tmp_path / "run.zarr")
    audit = pv.load(tmp_path / "run.zarr").audit()
    assert audit.ok, audit


def test_a_starting_vector_in_a_network():
    run = pv.simulate(
        two_worlds(pv.Direct()), until=0.01, engine="python", start={"ball.ball.velocity": (0.1, 0.2, 0.3)}
    )
    assert run["ball.ball.velocity"].values[0].tolist() == [0.1, 0.2, 0.3]


@pytest.mark.parametrize("slow", [2e-3, 1e-2])
def test_a_fast_local_model_of_formulas_over_a_slow_world(slow):
    """A spring at 1 kHz on a cart of a world that steps 2 and 10 times slower: the period is that of the two."""
    world = pv.World(gravity=(0, 0, 0))
    cart = world.add_body("cart", pv.Box(0.1, 0.1, 0.1), 1.0, velocity=(1, 0, 0))
    world.add_port("push", cart)
    net = pv.Network()
    part = net.add("world", world, pv.PassiveMidpoint(), step=slow)
    spring = net.add(
        "spring",
        pv.System(
            ["x", "y", "z"], "50*(x**2 + y**2 + z**2)", ports={"end": pv.flow([[1, 0, 0], [0, 1, 0], [0, 0, 1]])}
        ),
        pv.AVF(),
        step=1e-3,
    )
    net.connect(spring["end"], part["push"], through=pv.PassiveSampleHold(), name="link")
    run = pv.simulate(net, until=1.0, engine="python")
    assert run.verdict.kind == "booked"
    period = 2 * np.pi / 10
    crossing = run.time[np.nonzero(np.diff(np.sign(run["world.cart.position"].values[1:, 0])))[0][0]]
    assert crossing == pytest.approx(period / 2, abs=2.5 * slow + 0.01)


def test_parameters_of_a_world_in_a_network_are_changed_and_booked():
    from passivo.network.compiled import compile_network

    network = compile_network(two_worlds(pv.Direct()), engine="python")
    network.set({"ball.s.stiffness": 400.0})
    assert network.parts["ball"].params["s.stiffness"] == 400.0
    with pytest.raises(pv.ModelError, match="must be >= 0"):
        network.set({"ball.s.stiffness": -1.0})


def test_a_hand_holds_a_world_through_the_clamp():
    """A device of three axes moves an anchor; behind the clamp the port and the whole are passive."""
    world = pv.World(gravity=(0, 0, 0))
    ball = world.add_body("ball", pv.Sphere(0.05), 0.3)
    world.add_spring("grip", ball, world.add_anchor("hand"), 300.0)
    world.add_spring("home", ball.point(0, 0, 0.05), world.point(0, 0, 0.05), 200.0, 0.5)
    with pv.devices.Sim(degrees_of_freedom=3, operator=pv.operators.push(3.0), seed=1) as device:
        net = pv.Network()
        part = net.add("world", world, pv.PassiveMidpoint(), step=1e-3)
        net.connect(device["handle"], part["hand"], through=pv.LedgerClamp(), name="touch")
        report = pv.Loop(net, clock="simulated").run(seconds=1.0)
    assert report.verdict.passive
    assert report.verdict.parts["world"].kind == "exact"


def in_the_hand(through):
    """A device moves a world, and that one, off its drag, another one."""
    near, far = (pv.World(gravity=(0, 0, 0), name=name) for name in ("near", "far"))
    ball = near.add_body("ball", pv.Sphere(0.05), 0.3, drag=1.0)
    near.add_spring("grip", ball, near.add_anchor("hand"), 300.0)
    near.add_port("push", ball)
    box = far.add_body("box", pv.Box(0.1, 0.1, 0.1), 0.5, drag=2.0)
    if isinstance(through, pv.VirtualCoupling):
        far.add_port("end", box)
    else:
        far.add_spring("line", box, far.add_anchor("end"), 300.0)
    net = pv.Network()
    with pv.devices.Sim(degrees_of_freedom=3, operator=pv.operators.push(2.0), seed=1) as device:
        one = net.add("near", near, pv.PassiveMidpoint(), step=1e-3)
        two = net.add("far", far, pv.PassiveMidpoint(), step=2e-3)
        net.connect(device["handle"], one["hand"], through=pv.LedgerClamp(), name="touch")
        net.connect(one["push"], two["end"], through=through, name="link")
        return pv.Loop(net, clock="simulated", engine="python").run(seconds=0.3)


@pytest.mark.parametrize(
    ("through", "kind"),
    [(pv.VirtualCoupling(k=50.0), "booked"), (pv.PassiveSampleHold(), "booked"), (pv.Direct(), "active")],
    ids=["coupling", "hold", "plain"],
)
def test_a_device_moves_two_worlds(through, kind):
    """What a device pays for reaches the second world; only the junction between the two creates, as it says itself."""
    report = in_the_hand(through)
    verdict = report.verdict
    assert verdict.kind == verdict.parts["link"].kind == kind
    assert report.ports["device"].passive
    assert all(part.kind == "exact" for name, part in verdict.parts.items() if name != "link")
    row = lambda part, column: float(report.ledger.sel(part=part)[column])  # noqa: E731
    assert row("far", "lost") > 1e-3  # it is moved along
    if kind == "booked":
        assert abs(verdict.unnoticed) < 1e-14 and row("link", "created") != 0.0
    if isinstance(through, pv.VirtualCoupling):
        # k Δx²/2 per sample, of which a drag b of the same body takes b Δx²/T: passive from b = k T/2 on (spec 4.8)
        assert row("link", "created") == pytest.approx(50.0 * 1e-3 / 2 / 1.0 * row("near", "lost"), rel=1e-3)


def two_coupled(wrench=False, k=300.0, damping=5.0, period=1e-3, lever=0.02):
    """Two balls in two worlds, pulled together; the first has the shorter step and stands for the device."""
    net = pv.Network()
    for name, step in (("hand", period), ("ball", 2 * period)):
        world = pv.World(gravity=(0, 0, 0), name=name)
        body = world.add_body(
            "body", pv.Box(0.05, 0.08, 0.1), 0.5, velocity=(0.3, 0.1, 0) if name == "hand" else (0, 0, 0),
            angular_velocity=(0, 2, 1) if name == "hand" else (0, 0, 0),
            drag=damping if name == "hand" else 0.0, spin_drag=0.01 if name == "hand" else 0.0,
        )  # fmt: skip
        world.add_port("grip", body, at=(0, 0, lever), wrench=wrench)
        net.add(name, world, pv.PassiveMidpoint(), step=step)
    grips = [net.end(f"{name}.grip") for name in ("hand", "ball")]
    net.connect(*grips, through=pv.VirtualCoupling(k=k, turning=2.0), name="coupling")
    return net


@pytest.mark.parametrize("wrench", [False, True])
def test_two_worlds_through_a_virtual_coupling(wrench):
    """Spec 4.8, three and six wide: what it creates stands in its book, and damping of the hand of more than k T/2
    makes the whole passive: stored energy never exceeds what was there at the start."""
    run = pv.simulate(two_coupled(wrench), until=1.0, engine="python")
    assert run.verdict.kind == "booked"
    assert run.verdict.parts["ball"].kind == run.verdict.parts["hand"].kind == "exact"
    total = run.ledger.stored.sel(part="total")
    assert total.max() < float(total[0]) * (1 + 1e-9)
    assert float(abs(run["ball.body.position"][-1, 0])) > 0.015  # it is pulled along
    if wrench:
        assert float(abs(run["ball.body.angular_velocity"]).max()) > 0.2


def test_a_virtual_coupling_creates_k_dx_squared_over_two_per_sample():
    """At equal steps, three wide, to 1e-14 J; both in the book of the junction and in its row of the ledger."""
    net = two_coupled(k=500.0, lever=0.0).rebuilt(steps={"ball": 1e-3})
    run = pv.simulate(net, until=0.2, engine="python")
    created = np.diff(run.ledger.created.sel(part="coupling").values)
    way = np.diff(run["hand.body.position"].values, axis=0)
    assert np.abs(created - 500 * (way**2).sum(axis=1) / 2).max() < 1e-14
    assert np.abs(np.diff(run.ledger.booked.sel(part="coupling").values) - created).max() < 1e-14


def test_coupled_worlds_are_saved_and_audited(tmp_path):
    run = pv.simulate(two_coupled(wrench=True), until=0.02, engine="python")
    run.save(tmp_path / "run.zarr")
    audit = pv.load(tmp_path / "run.zarr").audit()
    assert audit.ok, audit
