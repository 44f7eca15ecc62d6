"""Runs on disk, in Zarr: the arrays, and everything needed to repeat the run."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from passivo.errors import FileError, nearest
from passivo.method.catalogue import method_from
from passivo.network.network import Network
from passivo.run.adaptive import Adaptive
from passivo.run.network_run import LinkRun, NetworkRun
from passivo.run.run import FIELDS, Run
from passivo.world.describe import model_from

FORMAT = 3
NETWORK_FIELDS = ("time", "ledger", "accounts")
LARGEST = 2**35  # bytes of an array; a run records far less
PACKAGES = ("numpy", "numba", "llvmlite", "sympy")


def save(run: Run | NetworkRun, path: str | os.PathLike) -> None:
    """Write `run` to the folder `path`; an older run there is replaced once the new one is complete."""
    import zarr

    target = Path(path)
    if target.exists() and not is_run(target):
        raise FileError(f"{target} exists and is not a saved run; choose another name")
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".saving-", dir=target.parent))
    try:
        arrays = _network_arrays(run) if isinstance(run, NetworkRun) else _arrays(run)
        group = zarr.open_group(scratch / "run", mode="w")
        for name, values in arrays.items():
            stored = group.create_array(name, shape=values.shape, dtype=values.dtype, chunks=_chunks(values))
            stored[...] = values
        facts = _network_facts(run) if isinstance(run, NetworkRun) else _facts(run)
        group.attrs.put({"passivo": facts, "hash": content_hash(facts, arrays)})
        if target.exists():
            shutil.rmtree(target)
        os.replace(scratch / "run", target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def write_columns(path: str | os.PathLike, columns: Mapping[str, np.ndarray]) -> None:
    """A table as comma-separated text, every number to the last digit; shorter columns end in empty cells."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(columns)
        table.writerows(zip_longest(*(values.tolist() for values in columns.values()), fillvalue=""))


def load(path: str | os.PathLike) -> Run | NetworkRun:
    """Read a saved run; nothing is compiled."""
    facts, arrays, _ = read(path)
    return _network(facts, arrays) if "network" in facts else _run(facts, arrays)


def _run(facts: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> Run:
    return Run.restored(
        model=model_from(facts["model"]),
        method=method_from(facts["method"]),
        engine=facts["engine"],
        step=facts["step"],
        pace=None if facts["pace"] is None else Adaptive(**facts["pace"]),
        until=facts["until"],
        steps=facts["steps"],
        planned=facts["planned"],
        record_every=facts["record_every"],
        params=facts["params"],
        start=facts["start"],
        drive=facts["inputs"],
        tables={name.removeprefix("input."): values for name, values in arrays.items() if name.startswith("input.")},
        rows=tuple(facts["rows"]),
        iterations=facts["iterations"],
        cut_steps=facts["cut_steps"],
        faults=facts["faults"],
        allowance=facts["allowance"],
        share=facts["share"],
        stopped=facts["stopped"],
        **{name: arrays[name] for name in FIELDS},
    )


def _network(facts: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> NetworkRun:
    of = lambda prefix: {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}  # noqa: E731
    runs = {key: _run(part, of(f"part.{key}.")) for key, part in facts["parts"].items()}
    links = {name: LinkRun(name, widths, **of(f"link.{i}.")) for i, (name, widths) in enumerate(facts["links"].items())}
    return NetworkRun(
        Network.from_description(facts["network"]),
        runs,
        links,
        rows=tuple(facts["rows"]),
        **{name: arrays[name] for name in NETWORK_FIELDS},
        **{name: facts[name] for name in ("engine", "record_every", "ticks", "planned", "allowance", "stopped")},
    )


def read(path: str | os.PathLike) -> tuple[dict[str, Any], dict[str, np.ndarray], str]:
    """(facts, arrays, recorded hash) of a saved run."""
    import zarr

    place = Path(path)
    if not is_run(place):
        known = [str(run) for run in sorted((place if place.is_dir() else place.parent).glob("*.zarr")) if is_run(run)]
        choice = nearest(str(path), known) if known else "expected a folder written by run.save(...)"
        raise FileError(f"{path} is not a saved run; {choice}")
    try:
        group = zarr.open_group(path, mode="r")
        facts: Any = group.attrs["passivo"]
        if facts["format"] != FORMAT:
            raise FileError(f"{path} has format {facts['format']}, this version of Passivo reads {FORMAT}")
        for name, array in group.arrays():
            if array.nbytes > LARGEST:
                raise FileError(f"{path} is damaged: {name} says it holds {array.nbytes / 2**30:.3g} GiB")
        arrays = {name: np.asarray(array[...]) for name, array in group.arrays()}
        missing = set(NETWORK_FIELDS if "network" in facts else FIELDS) - set(arrays)
        if missing:
            raise FileError(f"{path} is incomplete: {', '.join(sorted(missing))} missing")
        return facts, arrays, str(group.attrs["hash"])
    except FileError:
        raise
    except Exception as error:  # each codec has errors of its own
        raise FileError(f"{path} cannot be read as a saved run, it is damaged: {error}") from error


def _arrays(run: Run) -> dict[str, np.ndarray]:
    return {name: run.arrays[name] for name in FIELDS} | {f"input.{k}": v for k, v in run.tables.items()}


def _network_arrays(run: NetworkRun) -> dict[str, np.ndarray]:
    arrays = {name: run.arrays[name] for name in NETWORK_FIELDS}
    arrays |= {f"part.{key}.{name}": v for key, part in run.runs.items() for name, v in _arrays(part).items()}
    return arrays | {
        f"link.{i}.{name}": v for i, link in enumerate(run.links.values()) for name, v in link.arrays.items()
    }


def _network_facts(run: NetworkRun) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "network": run.net.describe(),
        "parts": {key: _facts(part) for key, part in run.runs.items()},
        "links": {name: link.widths for name, link in run.links.items()},
        "engine": run.engine,
        "record_every": run.record_every,
        "ticks": run.ticks,
        "planned": run.planned,
        "allowance": run.allowance,
        "rows": list(run.rows),
        "stopped": run.stopped,
        "verdict": run.verdict.sentence,
    }


def _facts(run: Run) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "model": run.model.describe(),
        "method": run.method.describe(),
        "engine": run.engine,
        "step": run.step,
        "pace": None if run.pace is None else run.pace.describe(),
        "until": run.until,
        "steps": run.steps,
        "planned": run.planned,
        "record_every": run.record_every,
        "params": run.params,
        "start": run.start,
        "inputs": run.drive,
        "seed": {name: entry["seed"] for name, entry in run.drive.items() if "seed" in entry},
        "rows": list(run.rows),
        "iterations": run.iterations,
        "cut_steps": run.cut_steps,
        "faults": run.faults,
        "allowance": run.allowance,
        "share": run.share,
        "stopped": run.stopped,
        "verdict": run.verdict.sentence,
        "versions": {
            "passivo": version("passivo"),
            "python": sys.version.split()[0],
            **{package: version(package) for package in PACKAGES},
        },
    }


def content_hash(facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> str:
    """SHA-256 over the facts and every array."""
    total = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name in sorted(arrays):
        values = np.ascontiguousarray(arrays[name])
        total.update(f"{name}{values.dtype.str}{values.shape}".encode() + values.tobytes())
    return total.hexdigest()


def _chunks(values: np.ndarray) -> tuple[int, ...]:
    return (max(1, min(len(values), 2**16)), *values.shape[1:]) if values.ndim else (1,)


def is_run(path: Path) -> bool:
    try:
        return "passivo" in json.loads((path / "zarr.json").read_text())["attributes"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
