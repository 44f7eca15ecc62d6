"""What drives the ports and signals of a run, and how it is read at the stage times of a method.

number, or a list of them for a wide port        held for the whole run
text such as "sin(3*t)", or a list of them       a formula of t
array (steps,) or (steps, width)                 one value per step, held over it
function of t                                    read at the method's own stage times
Noise(size, seed)                                random, one value per step, held over it
Feedback(y -> u), Relation((y, u) -> 0)          solved inside the step
Held(function of (t, y))                         any Python function, sampled at the start of a step and held
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.errors import FileError, InputError, nearest
from passivo.model.expression import evaluate, names, to_text
from passivo.model.feedback import Feedback, Law, Relation
from passivo.model.symbols import symbols
from passivo.model.system import Model
from passivo.network.network import Network

if TYPE_CHECKING:
    from passivo.method.part import CompiledPart

KEPT = 10_000_000  # numbers of a tabulated function that a run keeps, so that it can be repeated
BLOCK = 4096  # steps of noise drawn from one generator; part of what a seed means, never to be changed


class Held:
    """Any Python function of (t, y), called once per step and held over it; offline only.

    `y` is the port's output at the present state: a number, or an array for a wide port.
    """

    def __init__(self, function: Callable[[float, Any], Any]):
        self.function = function


class Noise:
    """Gaussian noise with mean 0, one new value per step, held over it.

    size  standard deviation in the unit of the input: a number, or one per component of the port
    seed  whole number >= 0; the same seed gives the same run, and ports with equal seeds differ from each other
    """

    def __init__(self, size: float | Sequence[float], seed: int = 0):
        try:
            self.size = np.asarray("None" if size is None else size, dtype=float)  # NumPy would take None for NaN
        except (TypeError, ValueError):
            raise InputError(f"the size of Noise is a number, or one per component, not {size!r}") from None
        if self.size.ndim > 1 or not (np.isfinite(self.size) & (self.size >= 0)).all():
            raise InputError(f"the size of Noise must be finite and >= 0, not {size!r}; it is a standard deviation")
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise InputError(f"the seed of Noise must be a whole number >= 0, not {seed!r}")
        self.seed = int(seed)

    def __repr__(self) -> str:
        return f"Noise({self.size.tolist()}, seed={self.seed})"


class Source(ABC):
    """One port or signal: `values(k, count)` gives (count, stages, width), or (1, stages, width) if constant."""

    def __init__(self, name: str, width: int):
        self.name, self.width = name, width

    @abstractmethod
    def values(self, first: int, times: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def describe(self) -> dict[str, Any]: ...

    @property
    def jumps(self) -> bool:
        """Whether the signal may jump inside a step."""
        return False

    def table(self) -> np.ndarray | None:
        """The array that belongs into a saved run beside the description."""
        return None

    def refined(self, parts: int) -> Source:
        """The same signal for steps `parts` times finer."""
        return self

    def fresh(self) -> Source:
        """The same signal for another run."""
        return copy(self)


class Constant(Source):
    def __init__(self, name: str, value: np.ndarray):
        super().__init__(name, value.size)
        self.value = value

    def values(self, first: int, times: np.ndarray) -> np.ndarray:
        return np.broadcast_to(self.value, (1, times.shape[1], self.width))

    def describe(self) -> dict[str, Any]:
        return {"kind": "constant", "value": self.value.tolist()}


class Table(Source):
    """One row per step; (steps, width), or (steps, stages, width) where stages differ."""

    def __init__(self, name: str, array: np.ndarray):
        super().__init__(name, array.shape[-1])
        self.array = array

    def values(self, first: int, times: np.ndarray) -> np.ndarray:
        rows = self.array[first : first + len(times)]
        return rows if rows.ndim == 3 else np.broadcast_to(rows[:, None, :], (*times.shape, self.width))

    def describe(self) -> dict[str, Any]:
        return {"kind": "table"}

    def table(self) -> np.ndarray:
        return self.array

    def refined(self, parts: int) -> Source:
        if self.array.ndim == 3:
            raise InputError(f"the input {self.name!r} is known only at the stages of one method; give the function")
        return Stretched(self, parts)


class Drawn(Source):
    """`Noise` at a port or signal, `place` its number among them.

    Any step can be drawn at any time: a block of steps has a generator of its own, named by seed, place and block.
    """

    def __init__(self, name: str, width: int, noise: Noise, place: int):
        super().__init__(name, width)
        if noise.size.ndim and noise.size.shape != (width,):
            raise InputError(f"the size of the Noise at {name!r} has {noise.size.size} values for a width of {width}")
        self.size, self.seed, self.place = np.broadcast_to(noise.size, (width,)), noise.seed, place
        self.drawn: tuple[int, np.ndarray] = (-1, np.empty(0))

    def _block(self, number: int) -> np.ndarray:
        if self.drawn[0] != number:  # an audit asks for one step at a time
            random = np.random.Generator(
                np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=(self.place, number)))
            )
            self.drawn = (number, self.size * random.standard_normal((BLOCK, self.width)))
        return self.drawn[1]

    def values(self, first: int, times: np.ndarray) -> np.ndarray:
        last = first + len(times)
        blocks = range(first // BLOCK, (last - 1) // BLOCK + 1)
        rows = np.concatenate([self._block(number) for number in blocks])[first - blocks[0] * BLOCK :][: len(times)]
        return np.broadcast_to(rows[:, None, :], (*times.shape, self.width))

    def describe(self) -> dict[str, Any]:
        return {"kind": "noise", "size": self.size.tolist(), "seed": self.seed}

    def refined(self, parts: int) -> Source:
        return Stretched(self, parts)


class Stretched(Source):
    """A source of one value per step, each held over `parts` finer steps."""

    def __init__(self, source: Source, parts: int):
        super().__init__(source.name, source.width)
        self.source, self.parts = source, parts

    def values(self, first: int, times: np.ndarray) -> np.ndarray:
        rows = np.arange(first, first + len(times)) // self.parts
        coarse = np.empty((rows[-1] - rows[0] + 1, times.shape[1]))  # such a source does not look at the time
        return self.source.values(int(rows[0]), coarse)[rows - rows[0]]

    def describe(self) -> dict[str, Any]:
        return {"kind": "stretched", "parts": self.parts, "source": self.source.describe()}


class Traced(Source):
    """A function of t that could be traced: kept as text, so that a saved run can repeat it."""

    def __init__(self, name: str, texts: Sequence[str]):
        super().__init__(name, len(texts))
        self.texts = tuple(texts)

    def values(self, first: int, times: np.ndarray) -> np.ndarray:
        columns = [
            np.broadcast_to(np.asarray(evaluate(text, {"t": times}), dtype=float), times.shape) for text in self.texts
        ]
        return np.stack(columns, axis=-1)

    @property
    def jumps(self) -> bool:
        return any("sign(" in text for text in self.texts)

    def describe(self) -> dict[str, Any]:
        return {"kind": "formula", "texts": list(self.texts)}


class Function(Source):
    """A function of t that could not be traced: called for every stage time; what it gave is kept up to a limit."""

    def __init__(self, name: str, width: int, function: Callable):
        super().__init__(name, width)
        self.function = function
        self.kept: list[np.ndarray] | None = []
        self.count = 0

    def values(self, first: int, times: np.ndarray) -> np.ndarray:
        result = np.empty((*times.shape, self.width))
        for index, t in np.ndenumerate(times):
            result[index] = _row(self.function(float(t)), self.width, self.name, f"the function gives at t = {t:g}")
        self.count += result.size
        if self.count > KEPT:
            self.kept = None
        elif self.kept is not None:
            self.kept.append(result)
        return result

    @property
    def jumps(self) -> bool:
        return True  # nothing is known of it

    def describe(self) -> dict[str, Any]:
        return {"kind": "lost"} if self.kept is None else {"kind": "table"}

    def table(self) -> np.ndarray | None:
        return np.concatenate(self.kept) if self.kept else None

    def fresh(self) -> Source:
        twin = copy(self)
        twin.kept = None
        return twin

    def refined(self, parts: int) -> Source:
        twin = Function(self.name, self.width, self.function)
        twin.kept = None
        return twin


class Sampled(Function):
    """`Held`: the driver asks for one step at a time and tells its start and the output there first."""

    time: float = 0.0
    output: Any = None

    def values(self, first: int, times: np.ndarray) -> np.ndarray:
        y = float(self.output[0]) if self.width == 1 else np.array(self.output)
        value = _row(self.function(self.time, y), self.width, self.name, f"Held gives at t = {self.time:g}")
        result = np.broadcast_to(value, (1, times.shape[1], self.width)).copy()
        self.count += result.size
        if self.kept is not None and self.count <= KEPT:
            self.kept.append(result)
        else:
            self.kept = None
        return result

    def refined(self, parts: int) -> Source:
        raise InputError(
            f"the input {self.name!r} is Held: it samples the output once per step, so another step is another system; "
            "say it as a Feedback, or as a function of t"
        )


class Inputs:
    """All inputs of a run, in the order of the model's ports and signals; `first` counts those of parts before it."""

    def __init__(self, model: Model, given: Mapping[str, Any] | None, steps: int, first: int = 0):
        if given is not None and not isinstance(given, Mapping):
            raise InputError(f"inputs are given by port, as in {{'force': 1.0}}, not {given!r}")
        given = {str(key): value for key, value in (given or {}).items()}
        widths = {name: port.width for name, port in model.ports.items()} | dict.fromkeys(model.signals, 1)
        for name in given:
            if name not in widths:
                raise InputError(f"there is no port or signal {name!r} to drive; {nearest(name, widths)}")
        self.laws: dict[str, Law] = {name: value for name, value in given.items() if isinstance(value, Law)}
        for name in self.laws:
            if name in model.signals:
                raise InputError(f"{name!r} is a signal and carries no power; a Feedback or Relation needs a port")
        self.sources = [
            Constant(name, np.zeros(width))
            if name in self.laws
            else _source(name, given.get(name, 0.0), width, steps, place)
            for place, (name, width) in enumerate(widths.items(), first)
        ]
        self.offsets = dict(zip(widths, np.cumsum([0, *widths.values()])))

    @property
    def sampled(self) -> list[Sampled]:
        return [source for source in self.sources if isinstance(source, Sampled)]

    def rows(self, first: int, times: np.ndarray) -> np.ndarray:
        """Inputs of the steps whose stage times are `times` (count, stages): (count or 1, stages × width)."""
        if not self.sources:
            return np.zeros((1, 0))
        blocks = [source.values(first, times) for source in self.sources]
        count = max(len(block) for block in blocks)
        if any(block.shape[1:] != (times.shape[1], source.width) for block, source in zip(blocks, self.sources)):
            raise FileError("a stored input was made for a method with another number of stages")
        joined = np.concatenate([np.broadcast_to(b, (count, *b.shape[1:])) for b in blocks], axis=2)
        return np.ascontiguousarray(joined.reshape(count, -1), dtype=float)

    def refined(self, parts: int) -> Inputs:
        """The same signals for steps `parts` times finer; what functions give is not kept."""
        twin = copy(self)
        twin.sources = [source.refined(parts) for source in self.sources]
        return twin

    def fresh(self) -> Inputs:
        """The same signals for another run, which may go on at the same time; what functions give is not kept."""
        twin = copy(self)
        twin.sources = [source.fresh() for source in self.sources]
        return twin

    @property
    def constant(self) -> bool:
        """Whether all are held for the whole run."""
        return all(isinstance(source, Constant) for source in self.sources)

    @property
    def called(self) -> list[Function]:
        """The sources that call Python functions as the run goes on."""
        return [source for source in self.sources if isinstance(source, Function)]

    def describe(self) -> dict[str, Any]:
        result = {source.name: source.describe() for source in self.sources}
        for name, law in self.laws.items():
            width = next(source.width for source in self.sources if source.name == name)
            result[name] = {"kind": type(law).__name__, "texts": list(law.formulas(width))}
        return result

    def tables(self) -> dict[str, np.ndarray]:
        return {s.name: table for s in self.sources if (table := s.table()) is not None}


def stage_times(part: CompiledPart, first: int, count: int) -> np.ndarray:
    """When the inputs of `count` steps are read, in seconds: (count, stages)."""
    return (np.arange(first, first + count)[:, None] + np.array(part.method.nodes)) * part.dt


def feed(part: CompiledPart, inputs: Inputs, done: int, count: int) -> np.ndarray:
    """The inputs of the next `count` steps, a row for each; one row where they are all the same."""
    for source in inputs.sampled:
        at = inputs.offsets[source.name]
        source.time = done * part.dt
        source.output = part.output[at : at + source.width]
    return inputs.rows(done, stage_times(part, done, count))


def network_inputs(net: Network, given: Mapping[str, Mapping[str, Any]], steps: Mapping[str, int]) -> dict[str, Inputs]:
    """The inputs of every part of a network; equal seeds at different parts give different noise."""
    drives, first = {}, 0
    for key, member in net.members.items():
        drives[key] = Inputs(member.model, given.get(key, {}), steps[key], first)
        first += len(member.base.ports) + len(member.base.signals)
    return drives


def rebuild(description: Mapping[str, Any], tables: Mapping[str, np.ndarray]) -> dict[str, Any] | None:
    """The `inputs=` of a saved run, or None where a function was too long to be kept."""
    result: dict[str, Any] = {}
    for name, entry in description.items():
        match entry["kind"]:
            case "constant":
                result[name] = np.array(entry["value"]) if len(entry["value"]) > 1 else entry["value"][0]
            case "formula":
                result[name] = Traced(name, entry["texts"])
            case "table":
                result[name] = Table(name, np.asarray(tables[name]))
            case "noise":
                result[name] = Noise(entry["size"], entry["seed"])
            case "Feedback":
                result[name] = Feedback(entry["texts"])
            case "Relation":
                result[name] = Relation(entry["texts"])
            case _:
                return None
    return result


def _source(name: str, value: Any, width: int, steps: int, place: int) -> Source:
    if isinstance(value, Source):
        table = value.table()
        if value.width != width or (table is not None and len(table) < steps):
            raise FileError(f"the stored input {name!r} does not fit: expected {steps} rows of width {width}")
        return value
    if isinstance(value, Held):
        return Sampled(name, width, value.function)
    if isinstance(value, Noise):
        return Drawn(name, width, value, place)
    if callable(value):
        texts = _trace(value, width)
        return Traced(name, texts) if texts is not None else Function(name, width, value)
    if isinstance(value, str) or (isinstance(value, list | tuple) and any(isinstance(part, str) for part in value)):
        return Traced(name, _formulas(name, value, width))
    try:
        array = np.asarray("None" if value is None else value, dtype=float)  # NumPy would take None for NaN
    except (TypeError, ValueError):
        raise InputError(
            f"the input {name!r} is {value!r}; "
            "expected a number, an array, a function of t, Noise, Feedback, Relation or Held"
        ) from None
    if array.ndim == 0 or (width > 1 and array.shape == (width,)):
        return Constant(name, np.broadcast_to(array, (width,)).copy())
    if array.shape == (steps,) and width == 1:
        return Table(name, array[:, None])
    if array.shape == (steps, width):
        return Table(name, array)
    raise InputError(
        f"the input {name!r} has shape {array.shape}; expected a number"
        + (f", ({width},)" if width > 1 else "")
        + f" or one row per step: ({steps},)" * (width == 1)
        + f" or ({steps}, {width})"
    )


def _formulas(name: str, value: Any, width: int) -> list[str]:
    """Formulas of t, one per component; a single one stands for all of them."""
    texts = [to_text(value)] * width if isinstance(value, str) else [to_text(part) for part in value]
    if len(texts) != width:
        raise InputError(f"the input {name!r} has {len(texts)} formulas for a width of {width}; give one for each")
    for text in texts:
        if unknown := names(text) - {"t"}:
            raise InputError(f"the input {name!r} uses {sorted(unknown)}; a formula of an input knows only t")
    return texts


def _trace(function: Callable, width: int) -> list[str] | None:
    """The function as formulas of t, if calling it with a symbol gives some that agree with the function itself.

    A function that does not mention t may be random or keep a memory; it is called for every stage.
    """
    try:
        value = function(symbols("t"))
        parts = list(value) if isinstance(value, list | tuple) else [value]
        texts = [to_text(part) for part in parts]
        if len(texts) != width or any(names(text) != {"t"} for text in texts):
            return None
        for t in (0.0, 0.1234, 7.5):
            found = np.asarray(function(t), dtype=float).reshape(-1)
            expected = [float(evaluate(text, {"t": np.float64(t)})) for text in texts]
            if not np.allclose(found, expected, rtol=1e-12, atol=1e-300, equal_nan=True):
                return None
    except Exception:  # the user's function may fail in any way on a symbol; it is then called with numbers
        return None
    return texts


def _row(value: Any, width: int, name: str, what: str) -> np.ndarray:
    try:
        row = np.asarray(value, dtype=float).reshape(-1)
    except (TypeError, ValueError):
        raise InputError(f"input {name!r}: {what} {value!r}, not a number") from None
    if row.size != width:
        raise InputError(f"input {name!r}: {what} {row.size} values for a width of {width}")
    return row
