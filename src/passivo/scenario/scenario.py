"""A scenario: everything one run needs, from a file or by the name of a built-in one."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from passivo.document import reader
from passivo.document.reader import Document
from passivo.errors import MethodError, ModelError, PassivoError, RecordError, ScenarioError, nearest
from passivo.scenario.start import bad_starts

if TYPE_CHECKING:
    from passivo.method.base import Method
    from passivo.method.generate import Engine
    from passivo.model.system import Model
    from passivo.network.network import Network
    from passivo.run.adaptive import Adaptive
    from passivo.run.compare import Comparison
    from passivo.run.network_run import NetworkRun
    from passivo.run.run import Run
    from passivo.world.links import Unsupported

LIBRARY = Path(__file__).parent / "library"
DEFAULT = "mass_on_spring"
SCENES = (".xml", ".mjcf", ".urdf")
SCENE_STEP, SCENE_UNTIL = 1e-3, 2.0  # seconds, of a scene file that is run by itself and says nothing else
MOST_STEPS = 10**11  # two hours of the fastest step


@dataclass(frozen=True)
class Scenario:
    """A system with a method, or a network; a start, inputs and a duration.

    `Scenario.load("oscillator")` is a built-in one, `Scenario.load("mine.yaml")` one from a file. `random` says whether
    the seed changes anything, `place` where the file or an option says how much is to be computed, `methods` where it
    says which method is to be used: of each part, or under "" of the system.
    """

    name: str
    about: str
    model: Model | Network
    method: Method | None
    start: Mapping[str, float]
    inputs: Mapping[str, Any]
    step: float | Adaptive | None
    until: float
    record_every: int
    random: bool
    folder: str
    formats: tuple[str, ...]
    place: str
    methods: Mapping[str, str]

    @property
    def unsupported(self) -> tuple[Unsupported, ...]:
        """What stands in its scene files and is not simulated."""
        from passivo.network.network import Network

        parts = self.model.members.values() if isinstance(self.model, Network) else ()
        models = [part.model for part in parts] or [self.model]
        return tuple(one for model in models for one in getattr(model, "unsupported", ()))

    @classmethod
    def load(cls, source: str, changes: Sequence[tuple[Sequence[str], Any, str]] = ()) -> Scenario:
        """Read, change and check a scenario.

        source   the name of a built-in scenario, a YAML file, or a scene file (.xml, .urdf, .yaml with bodies)
        changes  (path, value, origin): values that replace those of the file; an error at one names its origin
        """
        try:
            return cls._load(find(source), changes)
        except RecursionError:  # a net: limits of depth are meant to be met before
            raise ScenarioError(f"{source}: nested too deeply; write it with fewer levels and brackets") from None

    @classmethod
    def _load(cls, path: Path, changes: Sequence[tuple[Sequence[str], Any, str]]) -> Scenario:
        document = scene_document(path) if path.suffix.lower() in SCENES else reader.read_file(path)
        if isinstance(document.data, dict) and "bodies" in document.data:
            document = scene_document(path)
        if path.parent == LIBRARY:
            document.source = path.name
        if not isinstance(document.data, dict):
            given = "nothing" if document.data is None else reader.shortened(document.data)
            raise ScenarioError(f"{document.source}: must hold keys such as system and run, not {given}")
        for keys, value, origin in changes:
            document.put(keys, value, origin)
        return _Build(document, path.parent).scenario(path.stem)

    def simulate(
        self, progress: Callable[[int, int], None] | None = None, engine: Engine = "numba"
    ) -> Run | NetworkRun:
        from passivo.run.simulate import simulate

        model: Any = self.model
        try:
            return simulate(
                model,
                self.method,
                self.step,
                self.until,
                start=self.start,
                inputs=self.inputs,
                record_every=self.record_every,
                engine=engine,
                progress=progress,
            )
        except RecordError as error:
            thin = f"set run.record_every (--record-every) to {error.every} or more"
            raise ScenarioError(f"{self.place}: {error.what}; {thin}") from None
        except MethodError as error:
            if error.part not in self.methods:
                raise
            raise ScenarioError(f"{self.methods[error.part]}: {error.what}") from None

    def compare(
        self,
        methods: Sequence[Method] | None = None,
        progress: Callable[[str, int, int], None] | None = None,
        engine: Engine = "numba",
    ) -> Comparison:
        from passivo.network.network import Network
        from passivo.run.compare import compare

        if isinstance(self.model, Network) or self.step is None:
            raise ScenarioError(
                f"{self.name} is a network, whose parts have methods of their own; compare takes one system"
            )
        if self.method is not None and self.method.adds:
            raise ScenarioError(
                f"{self.name} has {self.method.adds} that only its method {type(self.method).__name__} knows of; "
                "there is nothing to compare it with"
            )
        if not isinstance(self.step, float | int):
            raise ScenarioError(f"compare takes the same steps by every method: give {self.name} one with --step 1e-3")
        return compare(
            self.model,
            methods,
            self.step,
            self.until,
            start=self.start,
            inputs=self.inputs,
            engine=engine,
            progress=progress,
        )


def scene_document(path: Path) -> Document:
    """The scenario of a scene file that is run by itself."""
    from passivo.world.read import scene_of

    scene = scene_of(path)
    run = {"step": scene.step or SCENE_STEP, "until": SCENE_UNTIL}
    data = {"name": scene.name[:64], "about": scene.about, "system": {"scene": path.name}, "run": run}
    return Document(str(path), data)


@lru_cache(maxsize=1)
def built_in() -> tuple[str, ...]:
    """Names of the scenarios that come with Passivo."""
    return tuple(sorted(path.stem for path in LIBRARY.glob("*.yaml")))


def find(source: str) -> Path:
    """The file of a scenario: a built-in one by its name, else a file."""
    if source in built_in():
        return LIBRARY / f"{source}.yaml"
    path = Path(source)
    if os.path.isfile(source):  # pathlib's own would raise for a name that is too long
        return path
    if os.path.isdir(source):
        raise ScenarioError(f"{source} is a folder; name a scenario file in it")
    if os.path.exists(source):
        raise ScenarioError(f"{source} is not an ordinary file; save the scenario to one, such as mine.yaml")
    what = "file" if path.suffix in (".yaml", ".yml", *SCENES) or len(path.parts) > 1 else "scenario or file"
    raise ScenarioError(f"there is no {what} {reader.shortened(source)}; {nearest(path.stem, built_in())}")


def template(name: str) -> str:
    """The text of a built-in scenario, to be changed at will."""
    if name not in built_in():
        raise ScenarioError(f"there is no scenario {reader.shortened(name)}; {nearest(name, built_in())}")
    return (LIBRARY / f"{name}.yaml").read_text(encoding="utf-8")


def _plain(name: str) -> str:
    """A name a system may have: the scenario's where it is one."""
    from passivo.model.system import checked_name

    try:
        return checked_name(name.replace("-", "_"), "")
    except ModelError:
        return "system"


def _mention(key: str, message: str) -> int | None:
    """Where a sentence speaks of a key, in the plural or in the singular."""
    forms = {key, key.removesuffix("s") or key}
    match = re.search(rf"(?<!\w)({'|'.join(map(re.escape, forms))})(?!\w)", message)
    return match.start() if match else None


def _about(name: str, message: str) -> bool:
    """Whether a sentence speaks of a parameter: 'm' in quotes, or m = -1."""
    return repr(name) in message or re.search(rf"(?<![\w.]){re.escape(name)} = ", message) is not None


def _refused(model: Any, name: str, value: float) -> bool:
    try:
        model.with_params(**{name: value})
    except PassivoError:
        return True
    return False


class _Build:
    """From a document to a scenario; whatever is wrong is told with its place."""

    def __init__(self, document: Document, folder: Path):
        self.document, self.folder = document, folder

    def scenario(self, stem: str) -> Scenario:
        from passivo.document.checked import checked
        from passivo.method.one_stage import AVF
        from passivo.method.passive_midpoint import PassiveMidpoint
        from passivo.scenario import schema

        given = checked(self.document, schema.ScenarioFile)
        name = given.name or re.sub(r"[^A-Za-z0-9_-]", "_", stem)[:64]
        model: Any
        if given.network is not None:
            model, method, step = self.changed(self.network(given.network, _plain(name)), given.params), None, None
            self.count_steps(given.run, model.tick * model.common, "the time after which all parts have met")
        else:
            model = self.changed(self.model(given.system, ("system",), _plain(name)), given.params)
            step = self.step(given.run, model)
            with self.at("method"):
                method = given.method or (PassiveMidpoint() if model.steps_apart else AVF())
                method = method.for_model(model) if model.states else method
        self.check_start(model, given.start)
        inputs = {name: self.input(spec, model, name, given.run.seed) for name, spec in given.inputs.items()}
        return Scenario(
            name=name,
            about=given.about,
            model=model,
            method=method,
            start=given.start,
            inputs=inputs,
            step=step,
            until=given.run.until,
            record_every=given.run.record_every,
            random=any(hasattr(spec, "noise") for spec in given.inputs.values()),
            folder=given.outputs.folder,
            formats=tuple(dict.fromkeys(given.outputs.formats)),
            place=self.document.where(("run", self._blamed("until"))),
            methods=self.methods(given),
        )

    def methods(self, given: Any) -> dict[str, str]:
        """Where the methods stand that are refused only when code is made for them."""
        if given.network is None:
            return {"": self.document.named(("method",))}
        paths = {key: ("network", "parts", key, "method") for key in given.network.parts}
        return {key: self.document.named(path) for key, path in paths.items()}

    @contextmanager
    def at(self, *path: Any) -> Iterator[None]:
        """Errors raised inside belong to this place of the document."""
        try:
            yield
        except ScenarioError:
            raise
        except PassivoError as error:
            raise ScenarioError(self.document.place([*path, *self.culprit(path, str(error))], str(error))) from None

    def culprit(self, path: Sequence[Any], message: str) -> list[str]:
        """The key below `path` that a sentence about a model speaks of, for the line number."""
        value = self.document.data
        for key in path:
            value = value[key] if isinstance(value, dict | list) else None
        if not isinstance(value, dict):
            return []
        found = {key: place for key in value if (place := _mention(key, message)) is not None}
        if not found:
            inner = [(key, name) for key in value if isinstance(value[key], dict) for name in value[key]]
            return list(next((pair for pair in inner if _about(pair[1], message)), ()))
        first = min(found, key=lambda key: found[key])
        inner = value[first] if isinstance(value[first], dict) else ()
        return [first, *[name for name in inner if repr(name) in message][:1]]

    def model(self, spec: Any, path: tuple[Any, ...], name: str) -> Model:
        """The model at `path`; one of formulas or parts takes the given name."""
        from passivo.model.constrained import Constrained
        from passivo.model.mechanical import Mechanical
        from passivo.model.monolithic import Monolithic
        from passivo.model.system import System
        from passivo.scenario import systems

        if isinstance(spec, systems.Composition):
            parts = {key: self.model(part, (*path, "parts", key), key) for key, part in spec.parts.items()}
            try:
                return Monolithic(parts, spec.connections, name=name)
            except ModelError as error:
                place = self._bad_connection(parts, spec.connections)
                raise ScenarioError(self.document.place([*path, *place], str(error))) from None
        fields = {key: getattr(spec, key) for key in type(spec).model_fields}
        with self.at(*path):
            match spec:
                case systems.SceneSystem():
                    from passivo.world.read import world_from

                    name = fields.pop("scene")
                    own, ours = self.folder / name, LIBRARY / name
                    file = ours if ours.is_file() and not own.is_file() else own
                    return world_from(file, **{key: value for key, value in fields.items() if value is not None})
                case systems.LibrarySystem():
                    return systems.LIBRARY[fields.pop("library")](**fields)
                case systems.MechanicalSystem():
                    return Mechanical(fields.pop("coordinates"), **fields, name=name)
                case systems.ConstrainedSystem():
                    return Constrained(**fields, name=name)
                case _:
                    return System(**fields, name=name)

    def _bad_connection(self, parts: Mapping[str, Model], connections: Sequence[Sequence[str]]) -> list[Any]:
        """Where the first connection stands with which the parts cannot be joined."""
        from passivo.model.monolithic import Monolithic

        for count in range(len(connections) + 1):
            try:
                Monolithic(parts, connections[:count])
            except ModelError:
                return ["connections", count - 1] if count else ["parts"]
        return []

    def network(self, spec: Any, name: str) -> Network:
        """The network, part by part and connection by connection: each mistake has its place."""
        from passivo.network.network import Network

        net = Network(name)
        for key, part in spec.parts.items():
            path = ("network", "parts", key)
            model = self.model(part.system, (*path, "system"), _plain(key))
            with self.at(*path):
                net.add(key, model, part.method, step=part.step)
        for number, connection in enumerate(spec.connections):
            with self.at("network", "connections", number):
                one, other = (net.end(end) for end in connection.between)
                net.connect(one, other, connection.through, connection.name)
        for signal, sight in spec.observe.items():
            options = {name: getattr(sight, name) for name in ("scale", "offset", "resolution")}
            with self.at("network", "observe", signal):
                net.observe(net.end(sight.of), net.end(signal), **options, through=sight.through or "")
        with self.at("network", "parts"):
            net.check()
        return net

    def changed(self, model: Any, params: Mapping[str, float]) -> Any:
        for name in params:
            if name in model.states:
                option = ("params", name) in self.document.given
                mend = f"write start.{name}={params[name]:g}" if option else "move it from params to start"
                raise ScenarioError(self.document.place(("params", name), f"{name} is a state: {mend}"))
            if name not in model.params:
                what = f"there is no such parameter; {nearest(name, model.params)}"
                raise ScenarioError(self.document.place(("params", name), what))
        try:
            return model.with_params(**params) if params else model
        except PassivoError as error:
            guilty = self._guilty(model, params, str(error))
            where = ", ".join(dict.fromkeys(self.document.where(("params", name)) for name in guilty))
            named = ", ".join(f"params.{reader.word(name)}" for name in guilty)
            raise ScenarioError(f"{where}: {named}: {error}") from None

    def _guilty(self, model: Any, params: Mapping[str, float], message: str) -> list[str]:
        """The parameters that a refusal is about: those it names, else those refused alone, else all of them."""
        if named := [name for name in params if _about(name, message) or _about(name.rpartition(".")[2], message)]:
            return named
        return [name for name in params if _refused(model, name, params[name])] or list(params)

    def step(self, run: Any, model: Model) -> float | Adaptive:
        """Seconds, or a step that follows its error."""
        from passivo.run.adaptive import SMALLEST, Adaptive

        if isinstance(run.step, float | int):
            self.count_steps(run, run.step)
            return run.step
        with self.at("run", "step"):
            step = Adaptive(**dict(run.step))
            step.pace(run.until, 1)
            step.reach(model, [0.0] * len(model.states))
        if step.least is not None and step.least < SMALLEST * run.until:
            what = f"must be at least {SMALLEST:g} of the run, {SMALLEST * run.until:g} s, not {step.least:g}"
            raise ScenarioError(self.document.place(("run", "step", "least"), what))
        return step

    def count_steps(self, run: Any, step: Any, what: str = "one step") -> None:
        from passivo.run.record import whole_steps

        with self.at("run", self._blamed("until")):
            steps = whole_steps(step, run.until, what)
        if steps > MOST_STEPS:
            count = f"{float(min(steps, 10**300)):.3g} steps of {float(step):g} s"
            what = f"{count} are more than {MOST_STEPS:.0e} and would take hours; choose a longer step or a shorter run"
            raise ScenarioError(self.document.place(("run", self._blamed("step")), what))

    def _blamed(self, usual: str) -> str:
        """Of step and until the one that an option gave, where only one is: the file was right before."""
        given = [key for key in ("step", "until") if ("run", key) in self.document.given]
        return given[0] if len(given) == 1 else usual

    def check_start(self, model: Any, start: Mapping[str, float]) -> None:
        for name in start:
            if name not in model.states:
                what = f"there is no such state; {nearest(name, model.states)}"
                raise ScenarioError(self.document.place(("start", name), what))
        state = {**dict.fromkeys(model.states, 0.0), **(model.initial or {}), **start}
        for names, what in bad_starts(model, state):
            given = [name for name in names if name in start]
            raise ScenarioError(self.document.place(("start", *given[:1]), what))

    def input(self, spec: Any, model: Any, name: str, seed: int) -> Any:
        from passivo.model.feedback import Feedback, Relation
        from passivo.network.compiled import split
        from passivo.network.network import Network
        from passivo.run.inputs import Inputs, Noise
        from passivo.scenario import schema

        match spec:
            case schema.FeedbackInput():
                value = Feedback(spec.feedback)
            case schema.RelationInput():
                value = Relation(spec.relation)
            case schema.NoiseInput():
                value = Noise(spec.noise if len(spec.noise) > 1 else spec.noise[0], seed)
            case _:
                value = spec if len(spec) > 1 else spec[0]
        with self.at("inputs", name):
            if isinstance(model, Network):
                for key, inner in split(model, {name: value}, "port or signal", [*model.ports, *model.signals]).items():
                    Inputs(model.members[key].model, inner, 1).describe()
            else:
                Inputs(model, {name: value}, 1).describe()  # reads formulas and laws
        return value
