"""Pictures drawn beside the work: a second process loads Matplotlib while this one computes.

Loading Matplotlib and drawing take longer than most runs. Where the process cannot be started, or fails, the picture is
drawn here, as it always could be.
"""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

LARGEST = 2**26  # bytes; what is larger is not copied to another process


class Painter:
    """A context whose process waits for something with a `plot(path)`: a `Run` or a `Comparison`."""

    def __init__(self, wanted: bool = True):
        self.process = self._started() if wanted and (os.cpu_count() or 1) > 1 else None

    def _started(self) -> subprocess.Popen | None:
        if "python" not in Path(sys.executable or "").name.lower():
            return None
        paths = os.pathsep.join(filter(None, (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH"))))
        try:
            return subprocess.Popen(
                [sys.executable, "-P", "-m", __name__],
                env={**os.environ, "PYTHONPATH": paths},
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for us: what was computed until then is still to be drawn
            )
        except OSError:
            return None

    def begin(self, thing: Any, paths: Sequence[Path]) -> None:
        """Begin to draw `thing` to `paths`; `finish` waits for it."""
        self.thing, self.paths = thing, list(paths)
        if self.process is None or not paths:
            return
        assert self.process.stdin is not None
        try:
            task = pickle.dumps((thing, self.paths))
            if len(task) <= LARGEST:
                self.process.stdin.write(task)
        except (OSError, pickle.PicklingError, TypeError, AttributeError):  # a model of somebody's own; a dead process
            pass

    def finish(self) -> None:
        """Until the pictures are there."""
        if self.process is not None:
            self.process.communicate()
            if self.process.returncode == 0:
                return
        for path in self.paths:
            self.thing.plot(path)

    def __enter__(self) -> Painter:
        return self

    def __exit__(self, *_: Any) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()


def main() -> None:
    """Draw what comes in; whatever fails here is done again, and told, by the one who asked."""
    import passivo.run.plot
    import passivo.run.plot_comparison
    import passivo.run.simulate  # noqa: F401 - what a run is made of
    from passivo.run.draw import figure

    with figure(1.0, 1.0) as picture:  # while there is time: fonts, layout and the PNG writer are loaded by a first use
        axis = picture.subfigures(1, 1).subplots()
        axis.plot([0.0, 1.0], label="x")
        axis.legend()
    picture.savefig(io.BytesIO(), format="png")
    thing, paths = pickle.load(sys.stdin.buffer)
    for path in paths:
        thing.plot(path)


if __name__ == "__main__":
    main()
