"""`sweep`: one description over a grid of values, on all cores; a labelled array for everything that is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.errors import InputError, MethodError, ModelError, nearest
from passivo.method.base import Method
from passivo.method.generate import Engine
from passivo.method.part import CompiledPart, checked_state
from passivo.model.system import Model
from passivo.network.compiled import split
from passivo.network.network import Network
from passivo.sweep.keep import Judged, Kept, Reduce
from passivo.sweep.over import Axis, read_over
from passivo.sweep.prepared import Point, Prepared, PreparedModel, PreparedNetwork
from passivo.sweep.workers import Workers, cores

if TYPE_CHECKING:
    import xarray as xr

ENGINES = ("numba", "python")
PLACES = ("cpu",)
MOST_RUNS = 10**8  # whose results fit into the memory


def sweep(
    model: Model | Network,
    method: Method | None = None,
    step: float | None = None,
    until: float = 1.0,
    *,
    over: Mapping[Any, Any],
    keep: Sequence[str | Reduce],
    start: Mapping[Any, float] | None = None,
    inputs: Mapping[str, Any] | None = None,
    on: str = "cpu",
    engine: Engine = "numba",
    progress: Callable[[int, int], None] | None = None,
) -> xr.Dataset:
    """Simulate `model` (or a `Network`) for every combination of the values in `over`; gives an `xarray.Dataset`.

    over      name -> values; each name becomes a dimension, in this order:
              "k" or "spring.k" (a parameter), "start.q" or "start.spring.q", "step" or "mass.step",
              "method" or "mass.method" (such as [pv.AVF(), pv.RK4()]), "link.through" (junctions);
              steps are read to twelve digits
    keep      what is kept of each run:
              as it is at the end, a state or an input ("q", "force"; in a network "spring.q"), what a junction shows
              ("link.error"), a ledger column of the whole ("created") or of a part or connection ("mass.stored");
              of the verdict, "verdict" (its kind), "reason", "passive", "bounded", "bias", "removed", "unnoticed" and
              "roundoff", also of a part ("mass.verdict");
              of a series over the whole run, `pv.Reduce("link.error", "mean", since=30.0)`
    start     of all runs; what `over` says goes before it
    inputs    as for `simulate`; where a function has to be called, runs are made one after another
    on        "cpu": all its cores
    engine    "numba" (machine code) or "python" (the same source as plain Python)
    progress  called now and then with (runs done, runs in all)

    Every run is that of `simulate`, bit for bit. Names and values are checked before the first one begins. A run that
    cannot begin (a start outside the domain) or whose step fails gives NaN and the verdict "none"; `keep=["reason"]`
    tells why. An exception such as Ctrl-C leaves what was computed in its `result`.
    """
    if on not in PLACES:
        raise InputError(f"sweep cannot run on {on!r}; {nearest(str(on), PLACES)}")
    if engine not in ENGINES:
        raise InputError(f"there is no engine {engine!r} for a sweep; {nearest(str(engine), ENGINES)}")
    return Sweep.of(model, method, step, until, over, keep, start, inputs, engine).go(cores(), progress)


@dataclass(frozen=True)
class Sweep:
    """All runs of a grid, checked and prepared.

    prepared  a run made ready for each combination of steps, methods and junctions
    points    of these, for each part (a model alone is the part ""), its parameters by the combination of their values
    starts    of each part, before those that are swept
    """

    name: str
    until: float
    axes: list[Axis]
    prepared: Mapping[tuple[int, ...], Prepared]
    points: Mapping[tuple[int, ...], Mapping[str, Mapping[tuple[int, ...], Point]]]
    starts: Mapping[str, Mapping[str, float]]

    @classmethod
    def of(
        cls,
        model: Model | Network,
        method: Method | None,
        step: float | None,
        until: float,
        over: Any,
        keep: Any,
        start: Any,
        inputs: Any,
        engine: Engine,
    ) -> Sweep:
        if not isinstance(model, Model | Network):
            raise ModelError(f"expected a System or a Network, got {model!r}")
        if isinstance(model, Network) and (method is not None or step is not None):
            raise InputError("a network's parts have methods and steps of their own; give them in net.add(...)")
        axes = read_over(over, model)
        if (runs := prod(len(axis.values) for axis in axes)) > MOST_RUNS:
            raise InputError(f"over asks for {runs} runs, more than {MOST_RUNS}; sweep fewer values at once")
        if isinstance(model, Network):
            parts = {key: member.model for key, member in model.members.items()}
            starts = split(model, start or {}, "state", model.states)
            make = lambda chosen: _network(model, chosen, until, inputs, keep, engine)  # noqa: E731
        else:
            model = model.snapshot()
            parts, starts = {"": model}, {"": start or {}}
            size = 1e-3 if step is None else step
            make = lambda chosen: _model(model, method, size, chosen, until, inputs, keep, engine)  # noqa: E731
        starts = {key: checked_state(part, starts[key]) for key, part in parts.items()}
        own = {key: [a for a in axes if a.what == "param" and a.owner == key] for key in parts}
        prepared: dict[tuple[int, ...], Prepared] = {}
        points: dict[tuple[int, ...], dict[str, dict[tuple[int, ...], Point]]] = {}
        shaping = [axis for axis in axes if axis.shapes]
        for at in _grid(shaping):
            with _naming(shaping, at):
                prepared[at] = make([(axis, axis.values[i]) for axis, i in zip(shaping, at)])
            # of the models as they are now: a coupling puts its spring into one of them
            points[at] = {key: _points(part, own[key]) for key, part in prepared[at].parts.items()}
        return cls(model.name, float(until), axes, prepared, points, starts)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis.values) for axis in self.axes)

    @property
    def kept(self) -> list[Kept]:
        return next(iter(self.prepared.values())).kept

    def go(self, threads: int, progress: Callable[[int, int], None] | None) -> xr.Dataset:
        """All runs on so many threads."""
        for one in {id(one.machine.module): one for one in self.prepared.values()}.values():
            one.load()  # compiled here, one after another: the threads find machine code
        total, columns = prod(self.shape), [_column(kept, prod(self.shape)) for kept in self.kept]
        threads = 1 if any(one.alone for one in self.prepared.values()) else min(threads, total)
        need = max(one.scratch for one in self.prepared.values())
        scratch = [np.empty(need) for _ in range(threads)]

        def work(k: int, place: int, stopping: Callable[[], bool]) -> None:
            one, points, starts = self._run(k)
            for column, value in zip(columns, one.run(points, starts, scratch[place], stopping)):
                column[k] = value

        workers = Workers(work, total, threads)
        try:
            workers.go(progress)
        except BaseException as error:
            why = "Ctrl-C" if isinstance(error, KeyboardInterrupt) else type(error).__name__
            stopped = f"stopped by {why} after {workers.done} of {total} runs"
            error.result = self._dataset(columns, stopped)  # type: ignore[attr-defined]
            raise
        return self._dataset(columns)

    def _run(self, k: int) -> tuple[Prepared, dict[str, Point], dict[str, dict[str, float]]]:
        """The k-th run: how it is prepared, parameters and starts."""
        at = [int(i) for i in np.unravel_index(k, self.shape)]
        chosen = list(zip(self.axes, at))
        shape = tuple(i for axis, i in chosen if axis.shapes)
        points = {
            key: own[tuple(i for axis, i in chosen if axis.what == "param" and axis.owner == key)]
            for key, own in self.points[shape].items()
        }
        starts = {key: dict(own) for key, own in self.starts.items()}
        for axis, i in chosen:
            if axis.what == "start":
                starts[axis.owner][axis.key] = axis.values[i]
        return self.prepared[shape], points, starts

    def _dataset(self, columns: Sequence[Any], stopped: str = "") -> xr.Dataset:
        import xarray as xr

        units = lambda unit: {"units": unit} if unit else {}  # noqa: E731
        dims = [axis.name for axis in self.axes]
        data = {
            kept.name: (dims, np.array(column).reshape(self.shape), units(kept.unit))
            for kept, column in zip(self.kept, columns)
        }
        coords = {axis.name: (axis.name, axis.labels, units(axis.unit)) for axis in self.axes}
        attrs = {"model": self.name, "until": self.until} | ({"stopped": stopped} if stopped else {})
        return xr.Dataset(data, coords, attrs)


def _model(
    model: Model,
    method: Method | None,
    step: float,
    chosen: Sequence[tuple[Axis, Any]],
    until: float,
    inputs: Any,
    keep: Any,
    engine: Engine,
) -> Prepared:
    given = {axis.what: value for axis, value in chosen}
    return PreparedModel(model, given.get("method", method), given.get("step", step), until, inputs, keep, engine)


def _network(
    net: Network, chosen: Sequence[tuple[Axis, Any]], until: float, inputs: Any, keep: Any, engine: Engine
) -> Prepared:
    given: dict[str, dict[str, Any]] = {"step": {}, "method": {}, "through": {}}
    for axis, value in chosen:
        given[axis.what][axis.owner] = value
    net = net.rebuilt(steps=given["step"], methods=given["method"], through=given["through"])
    return PreparedNetwork(net, until, inputs, keep, engine)


def _points(part: CompiledPart, axes: Sequence[Axis]) -> dict[tuple[int, ...], Point]:
    """The parameters of a model for every combination of the swept ones, each checked once."""
    result = {}
    for at in _grid(axes):
        with _naming(axes, at):
            result[at] = Point.of(part, {axis.key: axis.values[i] for axis, i in zip(axes, at)})
    return result


def _grid(axes: Sequence[Axis]) -> Iterator[tuple[int, ...]]:
    return product(*(range(len(axis.values)) for axis in axes))


@contextmanager
def _naming(axes: Sequence[Axis], at: Sequence[int]) -> Iterator[None]:
    """Errors that name the swept values they come from."""
    try:
        yield
    except (ModelError, MethodError, InputError) as error:
        if not axes:
            raise
        where = ", ".join(f"{axis.name} = {axis.labels[i]}" for axis, i in zip(axes, at))
        raise type(error)(f"with {where}: {error}") from None


def _column(kept: Kept, count: int) -> Any:
    """Room for one value per run, as if none had come to its end."""
    field = kept.field if isinstance(kept, Judged) else ""
    match field:
        case "verdict":
            return np.full(count, "none", dtype="U7")
        case "reason":
            return [""] * count
        case "passive" | "bounded":
            return np.zeros(count, dtype=bool)
    return np.full(count, np.nan)
