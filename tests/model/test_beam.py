"""`Beam`: frequencies and deflections of theory, ports and sights by shape functions, energy, and bad input."""

from __future__ import annotations

import numpy as np
import pytest

import passivo as pv
from passivo.errors import ModelError

ALUMINIUM = {"young": 70e9, "density": 2700.0, "section": (0.02, 0.003)}
ROOTS = {  # β L of the first modes that bend
    ("clamped", "free"): (1.8751040687, 4.6940911330, 7.8547574382),
    ("clamped", "clamped"): (4.7300407449, 7.8532046241, 10.9956078380),
    ("free", "free"): (4.7300407449, 7.8532046241, 10.9956078380),
    ("pinned", "pinned"): (np.pi, 2 * np.pi, 3 * np.pi),
    ("clamped", "pinned"): (3.9266023120, 7.0685827456, 10.2101761228),
}


def scale(beam):
    """√(E I / ρ A) / L²."""
    return np.sqrt(beam.young * beam.moment / (beam.density * beam.area)) / beam.length**2


@pytest.mark.parametrize("ends", ROOTS)
@pytest.mark.parametrize("elements", [20, 60])
def test_natural_frequencies_are_those_of_theory(ends, elements):
    beam = pv.Beam(0.5, elements, **ALUMINIUM, ends=ends)
    rigid = 2 if ends == ("free", "free") else 0
    found, shapes = beam.modes(rigid + 3)
    assert np.allclose(found[rigid:], scale(beam) * np.array(ROOTS[ends]) ** 2, rtol=1e-4)
    assert (found[:rigid] < 1e-3 * found[rigid]).all() if rigid else True
    assert np.allclose(shapes @ beam.mass_matrix @ shapes.T, np.eye(rigid + 3), atol=1e-7)


def test_it_bends_as_theory_says():
    beam = pv.Beam(0.5, 8, **ALUMINIUM)
    state, stiff = beam.bent({8: 2.0}), beam.young * beam.moment
    assert state["w8"] == pytest.approx(2.0 * 0.5**3 / (3 * stiff), rel=1e-10)
    assert state["turn8"] == pytest.approx(2.0 * 0.5**2 / (2 * stiff), rel=1e-10)
    x = np.array(list(state.values()))
    place = 0.3  # a cubic is met everywhere
    assert beam.shape(place) @ x == pytest.approx(2.0 * place**2 * (3 * 0.5 - place) / (6 * stiff), rel=1e-10)
    assert beam.slope(place) @ x == pytest.approx(2.0 * place * (2 * 0.5 - place) / (2 * stiff), rel=1e-10)
    held = pv.Beam(0.5, 4, **ALUMINIUM, ends=("pinned", "pinned"))
    assert held.bent({2: 1.0})["w2"] == pytest.approx(0.5**3 / (48 * stiff), rel=1e-10)
    weight = beam.mass_matrix[np.ix_([0, 2, 4, 6, 8, 10, 12, 14], range(16))]
    free = pv.Beam(0.5, 8, **ALUMINIUM, ends=("free", "free"))
    still = np.array([1.0, 0.0] * 9)
    assert still @ free.mass_matrix @ still == pytest.approx(2700 * 0.5 * 6e-5) and weight.shape == (8, 16)


@pytest.mark.parametrize("method", [pv.PassiveMidpoint(), pv.ImplicitEuler()], ids=["midpoint", "implicit"])
def test_the_first_mode_swings_at_its_frequency(method):
    beam = pv.Beam(0.5, 6, **ALUMINIUM, rayleigh=(0.0, 0.0))
    beam.observe("tip", node=6)
    (w,), (shape,) = beam.modes(1)
    step = 2 * np.pi / w / 200
    start = dict(zip(beam.coordinates, 0.01 * shape / shape[-2]))
    run = pv.simulate(beam, method, step, 200.5 * step, start=start, engine="python")
    swing = 0.01 * np.cos(w * run.time[1:])
    error = np.abs(run["tip"].values[1:] - swing).max()
    if isinstance(method, pv.PassiveMidpoint):
        assert error < 1e-3 * 0.01 and run.verdict.kind == "exact"
        stored = run.ledger.stored.sel(part="total").values
        assert np.ptp(stored) < 1e-12 * stored[0]
    else:
        assert error > 1e-2 * 0.01 and run.verdict.kind == "passive"
    assert np.array_equal(run["tip"].values[1:], run["w6"].values[1:]) or error < 0.01
    assert run["deflection"].shape == (201, 6) and run["deflection"].attrs["units"] == "m"
    assert run["turn_rate"].attrs["units"] == "rad/s" and run["tip"].attrs["units"] == "m"


def test_ports_at_nodes_and_between():
    beam = pv.Beam(0.5, 4, **ALUMINIUM, up=(0, 0, 2))
    beam.add_port("tip", node=4, wrench=True)
    beam.add_port("side", at=0.2)
    beam.add_port("grip", node=4, wrench=True, space=True)
    part = pv.compile(beam, pv.PassiveMidpoint(), 1e-3, engine="python")
    for _ in range(3):
        part.step([1.0, 0.02, -0.5, *([0.0] * 6)])
    twin = pv.compile(beam, pv.PassiveMidpoint(), 1e-3, engine="python")
    for _ in range(3):
        twin.step([0.0, 0.0, -0.5, 5.0, 6.0, 1.0, 7.0, -0.02, 8.0])
    assert np.allclose(part.state, twin.state, rtol=1e-12, atol=1e-18)
    out = twin.output
    assert np.allclose(out[3:], [0, 0, out[0], 0, -out[1], 0], atol=1e-15)
    assert out[2] == pytest.approx(beam.shape(0.2) @ twin.state[8:])
    assert twin.work[3] == twin.work[4] == 0.0 != twin.work[5]
    assert beam.shape(0.5)[-2] == 1.0 and beam.slope(0.5)[-1] == 1.0


def test_damping_takes_energy_and_all_of_it_is_booked():
    beam = pv.Beam(0.5, 4, **ALUMINIUM, rayleigh=(2.0, 1e-3))
    run = pv.simulate(beam, pv.PassiveMidpoint(), 1e-3, 0.1, start=beam.bent({4: 1.0}), engine="python")
    total = run.ledger.sel(part="total")
    assert run.verdict.kind == "exact" and float(total.lost[-1]) > 0.3 * float(total.stored[0])
    B = beam.damping_matrix
    assert np.allclose(B, 2.0 * beam.mass_matrix + 1e-3 * beam.stiffness_matrix)


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"length": -1.0}, "the length of a beam must be > 0, not -1"),
        ({"elements": 0}, "elements of a beam are a whole number >= 1, not 0"),
        ({"elements": 2.5}, "whole number"),
        ({"young": -70e9}, "young, the modulus of a beam must be > 0, not -7e"),
        ({"density": 0.0}, "the density of a beam must be > 0, not 0"),
        ({"section": (0.1,)}, "the section of a beam is"),
        ({"section": None}, "needs its section"),
        ({"area": 1.0}, "needs its section"),
        ({"ends": ("clamped", "loose")}, "two of 'clamped', 'pinned', 'free'"),
        ({"ends": ("clamped", "clamped"), "elements": 1}, "cannot move"),
        ({"rayleigh": (0.0, -1.0)}, "'stiffness_damping' of 'beam' must be >= 0"),
        ({"up": (1.0, 0.0, 1.0)}, "at right angles"),
        ({"keep": ("w0",)}, "keep names 'w0'"),
    ],
)
def test_beams_that_cannot_be(change, sentence):
    with pytest.raises(ModelError, match=sentence):
        pv.Beam(**{"length": 0.5, "elements": 4, **ALUMINIUM, **change})


def test_places_that_cannot_be():
    beam = pv.Beam(0.5, 4, **ALUMINIUM)
    beam.add_port("tip", node=4)
    for bad, sentence in (
        ({"node": 5}, "nodes of this beam are 0 to 4"), ({"at": 0.6}, "from 0 to 0.5 m"), ({}, "a node from 0 to 4"),
        ({"node": True}, "nodes"),
    ):  # fmt: skip
        with pytest.raises(ModelError, match=sentence):
            beam.add_port("other", **bad)
    with pytest.raises(ModelError, match="already has a 'tip'"):
        beam.observe("tip", node=2)
    with pytest.raises(ModelError, match="nothing holds it"):
        pv.Beam(0.5, 4, **ALUMINIUM, ends=("free", "pinned")).bent({2: 1.0})
