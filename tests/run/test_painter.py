"""Pictures drawn by a second process, or here where that cannot be."""

from pathlib import Path

import passivo as pv
from passivo.run.painter import Painter


class Stubborn:
    """Something to draw that cannot be copied to another process."""

    def __init__(self):
        self.drawn = []
        self.lock = lambda: None

    def plot(self, path):
        self.drawn.append(path)


def test_a_run_is_drawn_beside(tmp_path):
    run = pv.simulate(pv.library.pendulum(), pv.AVF(), 0.1, 1.0, start={"q": 1.0}, engine="python")
    with Painter() as painter:
        painter.begin(run, [tmp_path / "a.png", tmp_path / "b.svg"])
        run.verdict  # noqa: B018 - the run is in use here meanwhile
        painter.finish()
    assert (tmp_path / "a.png").stat().st_size > 5000 and (tmp_path / "b.svg").stat().st_size > 5000


def test_what_cannot_be_copied_is_drawn_here():
    thing, path = Stubborn(), Path("somewhere.png")
    with Painter() as painter:
        painter.begin(thing, [path])
        painter.finish()
    assert thing.drawn == [path]


def test_a_dead_process_loses_no_picture():
    thing, path = Stubborn(), Path("somewhere.png")
    with Painter() as painter:
        if painter.process is not None:
            painter.process.kill()
        painter.begin(thing, [path])
        painter.finish()
    assert thing.drawn == [path]


def test_nothing_to_draw_ends_at_once():
    with Painter() as painter:
        process = painter.process
    assert process is None or process.returncode is not None
