"""What a device is, from a recorded motion: mass, damping, Coulomb friction and the step of its encoder.

The momentum balance `m x'' + b x' + c sign(x') = F` is multiplied by smooth windows φ that begin and end at 0 and
summed over the samples. By parts, every difference of the positions becomes a difference of φ,

    m Σ x δ²φ/h² − b Σ x δφ/2h + c Σ s φ = Σ φ (F_k + F_k−1)/2,

so positions in whole steps of an encoder are averaged and never differentiated. For forces held over the steps the
balance is exact up to (b h/m)²/12. One row for each window, linear least squares; what the rounding of an encoder adds
to the squares of the rows, σ² = step²/12 for each position, is known and taken off (it would make the mass too small).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.errors import InputError, nearest
from passivo.model.system import Model
from passivo.network.sampling import SampledJunction
from passivo.run.network_run import NetworkRun
from passivo.run.run import Run

if TYPE_CHECKING:
    from passivo.run.zwidth import DeviceModel

WINDOWS = (6, 12, 25, 50, 100, 200)  # half widths in samples that are tried
FEWEST = 20  # windows
SLOW = 0.05  # of the rms speed: below, it is not told which way friction acts
STUCK = 0.1  # share of slow samples from which a window is left out
GRAIN = 0.05  # of the rms speed: what rounding may add to the speed whose sign is taken
ALIKE = 1e-4  # smallest singular value by the largest of columns of length 1, below which they are alike
FALLING = ("Feedback", "Relation")  # what answers the velocity at a port is part of the device


@dataclass(frozen=True)
class Estimate:
    """A value and its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:.4g} ± {self.error:.1g}"


@dataclass(frozen=True)
class Identified:
    """What a recorded motion tells of its device, in SI units.

    encoder    greatest common step of the positions; 0 where there is none
    explained  share of the force's square that the three terms explain; below 0.99 something else acts on the device
    windows    number of windows, each of `length` seconds
    """

    mass: Estimate
    damping: Estimate
    friction: Estimate
    encoder: float
    explained: float
    windows: int
    length: float

    def device(self, **changes: Any) -> DeviceModel:
        """A device with these values; what is negative by less than its uncertainty is 0."""
        from passivo.run.zwidth import DeviceModel

        known = {name: max(getattr(self, name).value, 0.0) for name in ("damping", "friction")}
        return DeviceModel(**{"mass": self.mass.value, "encoder": self.encoder, **known, **changes})


@dataclass(frozen=True)
class Motion:
    """Positions at even times, and the known force over each step between them."""

    step: float
    positions: np.ndarray
    forces: np.ndarray


def identify(run: Run | NetworkRun | str | PathLike, part: str | None = None, ports: Sequence[str] = ()) -> Identified:
    """Estimate what a device is from a recorded run.

    run    a run, or the folder it was saved to
    part   the device in a network; default: the only part with a position
    ports  the ports whose forces are known; default: all that do not answer the velocity (Feedback, Relation)

    In a network the positions are those that a sampled junction measured at the device, where there is one.
    """
    if not isinstance(run, Run | NetworkRun):
        from passivo.run.save import load

        run = load(run)
    return estimate(motion(run, part, ports))


# -- reading a run ----------------------------------------------------------------------------------------------------


def motion(run: Run | NetworkRun, part: str | None = None, ports: Sequence[str] = ()) -> Motion:
    """The positions and forces of the device of a run."""
    if run.record_every != 1:
        raise InputError(f"the run kept every {run.record_every}th step only; record it with record_every=1")
    if isinstance(run, Run):
        if run.pace is not None:
            raise InputError("the steps of the run follow its error; a device is identified from equal steps")
        if not run.model.positions:
            raise InputError(f"the run of {run.model.name!r} has no positions; a device needs one")
        return Motion(run.step, _position(run), _force(run, _known(run, ports)))
    name = _device(run, part)
    own = run.runs[name]
    force = _force(own, _known(own, ports))
    for connection, link in zip(run.net.connections, run.net.links):
        if connection.effort.member.name == name and isinstance(connection.through, SampledJunction):
            seen = run.links[connection.name]["position"].values
            if seen.ndim > 1:
                raise InputError(f"{connection.name!r} is {link.width} wide; only devices of one degree are identified")
            each, late = link.period // link.effort.period, connection.through.delay
            seen = seen[late:]
            force = force[: len(force) // each * each].reshape(-1, each).mean(axis=1)[: len(seen) - 1]
            return Motion(link.seconds, seen, force)
    return Motion(own.step, _position(own), force)


def _device(run: NetworkRun, part: str | None) -> str:
    found = [name for name, own in run.runs.items() if own.model.positions and _pushed(own.model)]
    if part is not None:
        if part not in found:
            raise InputError(f"the run has no device {part!r} with a position and a force; {nearest(part, found)}")
        return part
    if len(found) != 1:
        parts = ", ".join(found) or "none"
        raise InputError(f"the run has {len(found)} parts with a position and a force ({parts}); name one: part=...")
    return found[0]


def _pushed(model: Model) -> list[str]:
    """Ports one wide that take a force."""
    return [name for name, port in model.ports.items() if port.kind == "effort" and port.width == 1]


def _known(run: Run, ports: Sequence[str]) -> list[str]:
    pushed = _pushed(run.model)
    for name in ports:
        if name not in pushed:
            raise InputError(f"{run.model.name!r} has no port {name!r} that takes a force; {nearest(name, pushed)}")
    known = [name for name in pushed if run.drive.get(name, {}).get("kind") not in FALLING]
    if not (ports or known):
        raise InputError(f"no port of {run.model.name!r} takes a force that was recorded")
    return list(ports) or known


def _position(run: Run) -> np.ndarray:
    if len(run.model.positions) > 1:
        raise InputError(f"{run.model.name!r} has {len(run.model.positions)} positions; only one can be identified")
    return run.arrays["states"][:, run.model.states.index(run.model.positions[0])]


def _force(run: Run, ports: Sequence[str]) -> np.ndarray:
    return np.sum([run.inputs[name].values[1:] for name in ports], axis=0)


# -- estimating -------------------------------------------------------------------------------------------------------


def estimate(seen: Motion) -> Identified:
    """Least squares by windows of several widths; the one that tells the mass best is taken."""
    grain = encoder_step(seen.positions)
    found = [result for width in WINDOWS if (result := _fitted(seen, width, grain)) is not None]
    if not found:
        raise InputError(
            "the motion does not tell mass, damping and friction apart: record a longer one, to and fro, "
            "faster and slower, with a force that changes and nothing else, such as a spring, acting on the device"
        )
    return min(found, key=lambda result: result.mass.error / abs(result.mass.value))


def encoder_step(positions: np.ndarray) -> float:
    """The greatest step of which all positions are whole multiples apart; 0 where there is none."""
    increments = np.unique(np.abs(np.diff(positions)))
    rounding = 64 * np.finfo(float).eps * np.abs(positions).max(initial=0.0)
    increments = increments[increments > rounding]
    if len(increments) == 0 or not np.isfinite(increments).all():
        return 0.0
    step, noise = increments[0], max(1e-6 * increments[0], rounding)
    for increment in increments:
        rest = increment
        while rest > noise:  # Euclid's algorithm, with the remainder that is nearest to 0
            step, rest = rest, abs(step - rest * round(step / rest))
        if step < 100 * noise:
            return 0.0
    counts = np.round(increments / step)
    return float(np.sum(increments * counts) / np.sum(counts * counts))


def _fitted(seen: Motion, width: int, grain: float) -> Identified | None:
    """The estimates by windows of 2 width + 1 samples; None where they are too few or too much alike."""
    rows = list(_rows(seen, width, grain))
    if len(rows) < FEWEST:
        return None
    table = np.array(rows)
    columns, force = table[:, :3], table[:, 3]
    sizes = np.sqrt((columns**2).sum(axis=0))
    rubs = bool(sizes[2] > 0)
    squares = columns.T @ columns - len(rows) * _rounding(width, seen.step, grain)
    kept = [0, 1, 2] if rubs else [0, 1]
    scaled = squares[np.ix_(kept, kept)] / np.outer(sizes[kept], sizes[kept])
    values, vectors = np.linalg.eigh(scaled)
    if not values[0] > ALIKE**2 * values[-1]:
        return None
    inverse = (vectors / values) @ vectors.T / np.outer(sizes[kept], sizes[kept])
    solution = inverse @ (columns[:, kept].T @ force)
    rest = force - columns[:, kept] @ solution
    variance = float(rest @ rest) / max(len(rows) - len(kept), 1)
    share = (solution[1] * seen.step / solution[0]) ** 2 / 12.0  # of the damping's force, by which the balance is off
    typical = sizes[kept] / sqrt(len(rows))
    off = share * abs(solution[1]) * typical[1] / typical
    errors = np.sqrt(variance * np.diag(inverse) + off**2)
    found = [Estimate(float(value), float(error)) for value, error in zip(solution, errors)]
    if not (np.isfinite(solution).all() and solution[0] > 0):
        return None
    friction = found[2] if rubs else Estimate(0.0, 0.0)
    explained = 1.0 - float(rest @ rest) / float(force @ force) if force.any() else 0.0
    return Identified(found[0], found[1], friction, grain, explained, len(rows), (2 * width + 1) * seen.step)


def _window(width: int) -> np.ndarray:
    """φ with φ = φ' = φ'' = 0 at its ends, of sum 1."""
    phi = (1.0 - (np.arange(-width, width + 1) / (width + 1)) ** 2) ** 3
    return phi / phi.sum()


def _differences(width: int, step: float) -> tuple[np.ndarray, np.ndarray]:
    """What the positions are summed with for the mass and for the damping."""
    padded = np.pad(_window(width), 2)
    second = (padded[2:] - 2.0 * padded[1:-1] + padded[:-2]) / step**2
    return second, -(padded[2:] - padded[:-2]) / (2.0 * step)


def _rounding(width: int, step: float, grain: float) -> np.ndarray:
    """What an encoder adds to the squares of a row; φ is even, so nothing between mass and damping."""
    second, first = _differences(width, step)
    return grain**2 / 12.0 * np.diag(np.array([second @ second, first @ first, 0.0]))


def _rows(seen: Motion, width: int, grain: float) -> Iterator[tuple[float, float, float, float]]:
    """Mass, damping and friction columns and the force of every window, half a window apart."""
    x, h, phi = seen.positions, seen.step, _window(width)
    second, first = _differences(width, h)
    signs, slow = _signs(x, h, grain)
    mean = (seen.forces[1:] + seen.forces[:-1]) / 2.0
    last = min(len(x), len(mean) + 2)
    for k in range(width + 1, last - width - 1, width):
        inner = slice(k - width, k + width + 1)
        if np.mean(slow[inner]) > STUCK:
            continue
        outer = x[k - width - 1 : k + width + 2] - x[k]  # from near 0, so that nothing cancels
        force = mean[k - width - 1 : k + width]
        yield float(second @ outer), float(first @ outer), float(phi @ signs[inner]), float(phi @ force)


def _signs(x: np.ndarray, h: float, grain: float) -> tuple[np.ndarray, np.ndarray]:
    """Which way the device moves at each sample, and where it is too slow to tell."""
    quick = sqrt(np.mean(np.square(np.diff(x)))) / h
    reach = max(1, round(grain / (2.0 * h * GRAIN * quick))) if quick > 0 else 1
    ahead = np.minimum(np.arange(len(x)) + reach, len(x) - 1)
    behind = np.maximum(np.arange(len(x)) - reach, 0)
    speed = (x[ahead] - x[behind]) / ((ahead - behind) * h)
    return np.sign(speed), np.abs(speed) <= SLOW * quick
