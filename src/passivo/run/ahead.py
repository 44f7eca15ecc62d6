"""Compile ahead: a second process fills the cache on disk with half of what is missing, while this one does the rest.

The process is `python -m passivo.run.ahead`, told on its input what to compile: nothing of the user's script is run in
it. Where it cannot be started, or dies, its share is compiled here, as everything always could be.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from passivo.errors import MethodError, PassivoError
from passivo.kernel import cache
from passivo.method.base import Method
from passivo.method.catalogue import is_known, method_from
from passivo.method.generate import missing, traced
from passivo.method.part import CompiledPart, compile
from passivo.model import feedback
from passivo.model.describe import model_from
from passivo.model.system import Model
from passivo.run import beside


class Ahead:
    """A context in which the later half of the missing `methods` is being compiled; `wait` for one before its use."""

    def __init__(self, model: Model, methods: Sequence[Method], start: Mapping[str, float], laws: Mapping[str, Any]):
        lacking = [method for method in methods if _lacking(model, method, laws)]
        self.later = lacking[(len(lacking) + 1) // 2 :]
        self.process = self._started(model, start, laws) if self.later else None

    def _started(self, model: Model, start: Mapping[str, float], laws: Mapping[str, Any]) -> subprocess.Popen | None:
        task = {
            "model": model.describe(),
            "methods": [method.describe() for method in self.later],
            "start": dict(start),
            "laws": traced(model, laws),
        }
        place = {"PASSIVO_CACHE": str(cache.folder())}
        process = beside.start(__name__, place, stdout=subprocess.PIPE, text=True)
        if process is None:
            return None
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(task))
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        return process

    def wait(self, method: Method) -> None:
        """Until `method` is compiled, if it is one of those compiled ahead: a line for each of them, in their order."""
        while self.process is not None and method in self.later:
            assert self.process.stdout is not None
            self.process.stdout.readline()  # empty at once if the process died
            self.later.pop(0)

    def __enter__(self) -> Ahead:
        return self

    def __exit__(self, *_: Any) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()


def load(part: CompiledPart) -> None:
    """Compile the loop of a part, or fetch it from the cache: a call without steps."""
    module = part.module
    inputs = np.zeros((1, module.STAGES * (module.WIDTH + module.SIGNALS)))
    module.run(part.memory, part.dt, inputs, np.zeros((1, module.REPORT_SIZE)), 0, 1)


def _lacking(model: Model, method: Method, laws: Mapping[str, Any]) -> bool:
    """Whether a method has to be compiled, and can be told to another process."""
    try:
        return is_known(method) and missing(model, method.for_model(model), laws, "numba")
    except MethodError:
        return False


def main() -> None:
    """Compile what the input says; one line of output when each method is done."""
    task = json.load(sys.stdin)
    model = model_from(task["model"])
    laws = {port: getattr(feedback, kind)(texts) for port, (kind, texts) in task["laws"].items()}
    for description in task["methods"]:
        with contextlib.suppress(PassivoError):  # the one who asked will find out by himself
            load(compile(model, method_from(description), start=task["start"], laws=laws))
        print(flush=True)


if __name__ == "__main__":
    main()
