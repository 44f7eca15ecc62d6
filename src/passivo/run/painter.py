"""Pictures drawn beside the work: a second process loads Matplotlib while this one computes.

Loading Matplotlib and drawing take longer than most runs. Where the process cannot be started, or fails, the picture is
drawn here, as it always could be.
"""

from __future__ import annotations

import contextlib
import io
import pickle
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from passivo.run import beside

LARGEST = 2**26  # bytes; what is larger is not copied to another process


class Painter:
    """A context whose process waits for something with a `plot(path)`: a `Run` or a `Comparison`."""

    def __init__(self, wanted: bool = True):
        self.process = self._started() if wanted else None
        self.thing: Any = None
        self.paths: list[Path] = []
        self.sender: threading.Thread | None = None

    def _started(self) -> subprocess.Popen | None:
        # a session of its own: Ctrl-C is for us, and what was computed until then is still to be drawn
        return beside.start(__name__, stdout=subprocess.DEVNULL, start_new_session=True)

    def begin(self, thing: Any, paths: Sequence[Path]) -> None:
        """Begin to draw `thing` to `paths`; `finish` waits for it."""
        self.thing, self.paths = thing, list(paths)
        if self.process is not None and paths:
            try:
                task = pickle.dumps((thing, self.paths))
            except (pickle.PicklingError, TypeError, AttributeError):  # a model of somebody's own
                task = b""
            # by a thread: the other one may still be loading, and a pipe holds little
            self.sender = threading.Thread(
                target=self._send, args=(task if len(task) <= LARGEST else b"",), daemon=True
            )
            self.sender.start()

    def _send(self, task: bytes) -> None:
        assert self.process is not None and self.process.stdin is not None
        with contextlib.suppress(OSError), self.process.stdin as pipe:  # closed in any case: it ends the waiting there
            pipe.write(task)

    def finish(self) -> None:
        """Until the pictures are there."""
        if self.process is not None and self.sender is not None:
            self.sender.join()
            if self.process.wait() == 0:
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
