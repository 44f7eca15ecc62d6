"""A finished (or stopped) run: states, inputs, outputs, the ledger and the verdict, as labelled arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.errors import InputError, nearest
from passivo.ledger import accounts as A
from passivo.ledger.verdict import Verdict, judge
from passivo.run.pictured import Pictured

if TYPE_CHECKING:
    import xarray as xr

    from passivo.method.part import CompiledPart
    from passivo.run.adaptive import Adaptive
    from passivo.run.inputs import Inputs

COLUMNS = ("stored", "work", "lost", "edited", "created", "booked", "faults")
UNITS = {name: "1" if name == "faults" else "J" for name in COLUMNS}
FIELDS = ("time", "sizes", "states", "inputs", "outputs", "work", "ledger", "recorded", "accounts")


class Run(Pictured):
    """`run["q"]` is a state, an input or what the method records over time; `run.work["force"]`,
    `run.outputs["force"]`, `ledger`, `verdict`.

    Labelled arrays carry the units of the model, joules and seconds: `run["q"].attrs["units"]`.

    An input stands at the end of the step in which it acted (the first row has none: NaN), and so does what a method
    records, a mean over its step, as the multipliers of constraints. Ledger columns are cumulative, `stored` is not.
    `iterations` are Newton iterations per step, `cut_steps` the steps that had to be taken in halves; `faults` counts
    by name what a method could not step as it should; `stopped` says why a run ended early, else it is empty. `step` is
    the mean step of a run by `Adaptive`, which is its `pace`; `sizes` are all its steps where every row was kept.
    """

    def __init__(
        self,
        part: CompiledPart,
        inputs: Inputs,
        rows: np.ndarray,
        every: int,
        steps: int,
        start: np.ndarray,
        planned: int,
        stopped: str = "",
        pace: Adaptive | None = None,
        sizes: np.ndarray | None = None,
        until: float = 0.0,
    ):
        module = part.module
        n, w, s, count = module.KEPT_COUNT, module.WIDTH, module.SIGNALS, module.ACCOUNTS_COUNT
        edges = np.cumsum([0, 1, n, w + s, w, w, len(COLUMNS) * count, module.RECORDED_COUNT])
        time, states, given, outputs, work, ledger, recorded = (rows[:, a:b] for a, b in pairwise(edges))
        ticks = np.minimum(np.arange(len(rows)) * every, steps)
        self._fill(
            model=part.model,
            method=part.method,
            engine=part.engine,
            step=part.dt if pace is None else float(time[-1, 0]) / max(steps, 1),
            pace=pace,
            until=until,
            steps=steps,
            planned=planned,
            record_every=every,
            params=dict(part.params),
            start=dict(zip(part.model.states, start.tolist())),
            drive=inputs.describe(),
            tables=inputs.tables(),
            rows=tuple(module.ROW_NAMES),
            iterations=part.iterations,
            cut_steps=part.cut_steps,
            faults=part.faults,
            allowance=part.allowance,
            share=part.method.allowance_share,
            stopped=stopped,
            time=ticks * part.dt if pace is None else time[:, 0].copy(),
            sizes=np.empty(0) if sizes is None else sizes,
            states=states,
            inputs=_from_first_step(given),
            outputs=outputs,
            work=work,
            ledger=ledger.reshape(len(rows), count, len(COLUMNS)),
            recorded=_from_first_step(recorded),
            accounts=part.memory[module.ACCOUNTS : module.ACCOUNTS + count * A.ACCOUNT_SIZE].copy(),
        )

    def _fill(self, **fields: Any) -> None:
        self.model = fields["model"]
        self.method = fields["method"]
        self.engine: str = fields["engine"]
        self.step: float = fields["step"]
        self.pace: Adaptive | None = fields["pace"]
        self.until: float = fields["until"]
        self.steps: int = fields["steps"]
        self.planned: int = fields["planned"]
        self.record_every: int = fields["record_every"]
        self.params: dict[str, float] = fields["params"]
        self.start: dict[str, float] = fields["start"]
        self.drive: dict[str, Any] = fields["drive"]
        self.tables: dict[str, np.ndarray] = fields["tables"]
        self.rows: tuple[str, ...] = fields["rows"]
        self.iterations: float = fields["iterations"]
        self.cut_steps: int = fields["cut_steps"]
        self.faults: dict[str, int] = fields["faults"]
        self.allowance: float | None = fields["allowance"]
        self.share: float = fields["share"]
        self.stopped: str = fields["stopped"]
        self.arrays: dict[str, np.ndarray] = {name: fields[name] for name in FIELDS}

    @classmethod
    def restored(cls, **fields: Any) -> Run:
        """A run from saved fields."""
        run = cls.__new__(cls)
        run._fill(**fields)
        return run

    # -- reading ----------------------------------------------------------------------------------------------------

    @property
    def time(self) -> np.ndarray:
        return self.arrays["time"]

    def __getitem__(self, name: str) -> xr.DataArray:
        if name in self.model.kept:
            values = self.arrays["states"][:, self.model.kept.index(name)]
            return self._series(name, values, self.model.unit(name))
        if name in self.model.vectors:
            return self._vector(name)
        if name in self.inputs:
            return self.inputs[name]
        if name in self.recorded:
            values = self.arrays["recorded"][:, self.recorded.index(name)]
            return self._series(name, values, self.model.unit(name))
        raise InputError(f"the run has no {name!r}; {nearest(name, self.keys())}")

    def keys(self) -> tuple[str, ...]:
        """What it gives by name: vectors, states, inputs, records."""
        return tuple(dict.fromkeys([*self.model.vectors, *self.model.kept, *self.inputs, *self.recorded]))

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __contains__(self, name: object) -> bool:
        return name in self.keys()

    def _vector(self, name: str) -> xr.DataArray:
        """Several states, or several records, under one name."""
        parts = self.model.vectors[name]
        states = parts[0] in self.model.kept
        known, values = (self.model.kept, self.arrays["states"]) if states else (self.recorded, self.arrays["recorded"])
        places = [known.index(part) for part in parts]
        found = self._series(name, values[:, places], self.model.unit(parts[0]))
        return found.assign_coords(component=[part.removeprefix(f"{name}.") for part in parts])

    def _series(self, name: str, values: np.ndarray, unit: str) -> xr.DataArray:
        return series(name, values, unit, self.time)

    @property
    def recorded(self) -> tuple[str, ...]:
        """Names of the quantities that the method itself recorded."""
        return self.method.recorded(self.model)

    @property
    def inputs(self) -> _Components:
        """What drove each port and signal, at the end of its step."""
        widths = {name: port.width for name, port in self.model.ports.items()} | dict.fromkeys(self.model.signals, 1)
        return _Components(self, "inputs", widths)

    @property
    def outputs(self) -> _Components:
        """The output of each port at the recorded states."""
        return _Components(self, "outputs", {name: port.width for name, port in self.model.ports.items()})

    @property
    def work(self) -> _Components:
        """Joules received through each port so far."""
        return _Components(self, "work", {name: port.width for name, port in self.model.ports.items()})

    @cached_property
    def ledger(self) -> xr.Dataset:
        """Dimensions (time, part), part "total" included; all columns but `stored` are cumulative, `faults` counts."""
        return ledger_dataset(self.arrays["ledger"], self.parts, self.time)

    @cached_property
    def contacts(self) -> xr.Dataset:
        """Of a world whose bodies touch, for each step: number of contacts that press, depth, slip, sum of the normal
        forces, sweeps, whether the guard acted, and joules of impact, friction and repair. Where not every row is kept,
        means over the steps since the row before."""
        import xarray as xr

        names = [name for name in self.recorded if name.startswith("contacts.")]
        if not names:
            raise InputError("nothing touches in this run: a world has contacts with add_plane(...) or contact=True")
        return xr.Dataset({name.removeprefix("contacts."): self[name] for name in names})

    @property
    def parts(self) -> list[str]:
        """Names of the parts and connections with a row in the ledger."""
        return [name for name in self.rows if name != "total"]

    def part(self, name: str) -> PartView:
        if name not in self.parts:
            raise InputError(f"the run has no part {name!r}; {nearest(name, self.parts)}")
        return PartView(self, name)

    @cached_property
    def verdict(self) -> Verdict:
        return self.judged(self.arrays["accounts"])

    def judged(self, accounts: np.ndarray) -> Verdict:
        """The verdict on accounts of this run, such as those that an audit found."""
        return judge(accounts, 0, self.rows, self.allowance, self.stopped, share=self.share)

    # -- doing ------------------------------------------------------------------------------------------------------

    def save(self, path: str | PathLike) -> None:
        """Write everything needed to look at, audit and repeat the run, in Zarr."""
        from passivo.run.save import save

        save(self, path)

    def write_csv(self, path: str | PathLike) -> None:
        """States, inputs, outputs, work and the total's ledger as a table of text; to be read, not loaded back."""
        from passivo.run.save import write_columns

        write_columns(path, self.columns())

    @cached_property
    def certificate(self) -> xr.Dataset:
        """What the balance of each step rests on: `defect = residual + gap`, in joules; see `run/certificate.py`."""
        from passivo.run.certificate import certificate

        return certificate(self)

    def columns(self) -> dict[str, np.ndarray]:
        """All recorded series by name and unit: time, states, inputs, outputs, work, and the total's ledger."""
        states = [_heading(name, self.model.unit(name)) for name in self.model.kept]
        columns = {"t [s]": self.time} | dict(zip(states, self.arrays["states"].T))
        for group in (self.inputs, self.outputs, self.work):
            columns.update(zip(group.labels(), self.arrays[group.field].T))
        titles = [_heading(name, self.model.unit(name)) for name in self.recorded]
        columns.update(zip(titles, self.arrays["recorded"].T))
        return columns | {f"{name} [{UNITS[name]}]": self.arrays["ledger"][:, -1, i] for i, name in enumerate(COLUMNS)}

    def audit(self) -> Any:
        """Recompute the run without the compiled kernels; see `passivo.audit`."""
        from passivo.run.audit import audit

        return audit(self)

    @property
    def sizes(self) -> np.ndarray:
        return self.arrays["sizes"]

    def size_of(self, k: int) -> float:
        """Seconds of step k, where every step is kept."""
        return self.step if self.pace is None else float(self.sizes[k])

    def began(self, k: int) -> float:
        """When step k began, where every step is kept."""
        return k * self.step if self.pace is None else float(self.time[k])

    @property
    def stride(self) -> str:
        """The size of the steps, in words."""
        if self.pace is None:
            return f"{self.step:g} s"
        if not len(self.sizes):
            return f"{self.step:.3g} s on average"
        return f"{self.sizes.min():.3g} to {self.sizes.max():.3g} s"

    @property
    def headline(self) -> str:
        """What was run, in one line."""
        return f"{self.model.name[:60]} by {type(self.method).__name__}, {self.steps} steps of {self.stride}"

    def __repr__(self) -> str:
        return f"<run of {self.headline}; {self.verdict}>"


def series(name: str, values: np.ndarray, unit: str, time: np.ndarray) -> xr.DataArray:
    """A labelled array over time, with units."""
    import xarray as xr

    dims = ("time", "component")[: values.ndim]
    attrs = {"units": unit} if unit else {}
    return xr.DataArray(values, dims=dims, coords={"time": ("time", time, {"units": "s"})}, name=name, attrs=attrs)


def ledger_dataset(values: np.ndarray, parts: list[str], time: np.ndarray) -> xr.Dataset:
    """Ledger columns (time, row, column) as a labelled table; a single row is also the total."""
    import xarray as xr

    if values.shape[1] == 1:
        values = np.repeat(values, 2, axis=1)
    return xr.Dataset(
        {name: (("time", "part"), values[:, :, i], {"units": UNITS[name]}) for i, name in enumerate(COLUMNS)},
        coords={"time": ("time", time, {"units": "s"}), "part": [*parts, "total"]},
    )


def _from_first_step(rows: np.ndarray) -> np.ndarray:
    """Rows of what belongs to a step: the first one has none."""
    return np.vstack([np.full((1, rows.shape[1]), np.nan), rows[1:]])


class _Components(Mapping):
    """Columns of one recorded array by port name."""

    def __init__(self, run: Run, field: str, widths: Mapping[str, int]):
        self._run, self.field, self.widths = run, field, widths

    def __getitem__(self, name: str) -> xr.DataArray:
        if name not in self.widths:
            raise KeyError(f"{name!r}; {nearest(name, self.widths)}")
        names = list(self.widths)
        at = sum(self.widths[other] for other in names[: names.index(name)])
        values = self._run.arrays[self.field][:, at : at + self.widths[name]]
        return self._run._series(name, values[:, 0] if self.widths[name] == 1 else values, self.unit(name))

    def unit(self, name: str) -> str:
        return "J" if self.field == "work" else self._run.model.unit(name, gives=self.field == "outputs")

    def labels(self) -> list[str]:
        """One heading for each component: the port's name, numbered where the port is wide, and the unit."""
        widths = self.widths.items()
        names = [(name, "" if width == 1 else f"[{i}]") for name, width in widths for i in range(width)]
        return [f"{self.field} {_heading(name + number, self.unit(name))}" for name, number in names]

    def __iter__(self) -> Iterator[str]:
        return iter(self.widths)

    def __len__(self) -> int:
        return len(self.widths)


def _heading(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit else name


class PartView:
    """One part of a composed run: `run.part("mass")["p"]`, `.ledger`, `.verdict`."""

    def __init__(self, run: Run, name: str):
        self._run, self.name = run, name

    def __getitem__(self, name: str) -> xr.DataArray:
        prefixed = f"{self.name}.{name}"
        return self._run[prefixed if prefixed in self._run.model.kept or prefixed in self._run.inputs else name]

    @property
    def ledger(self) -> xr.Dataset:
        return self._run.ledger.sel(part=self.name)

    @property
    def verdict(self) -> Verdict:
        return self._run.verdict.parts.get(self.name, self._run.verdict)
