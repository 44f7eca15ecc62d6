"""Films and snapshots of worlds in motion, beside them the ledger. Needs no screen; MP4 needs imageio-ffmpeg."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, isfinite, sqrt
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.errors import InputError, quoted
from passivo.run.draw import GREY, VERDICTS, draw_ledger, figure, ledger_of, power_of, short, time_label
from passivo.run.render import Canvas
from passivo.run.run import Run
from passivo.run.scene import Scene

if TYPE_CHECKING:
    from passivo.run.network_run import NetworkRun

STRIP, LOW = 380, 400  # pixels of the ledger beside the scene: its width, and its least height
DPI = 100
MOST_FRAMES = 20_000
GIF_RATE = 50.0  # frames a second: viewers slow down what is faster
MOST_GIF = 10**9  # bytes of it in memory until it is written
MOST_CHIPS = 8  # bodies that are named
LEAST, MOST = 160, 7680  # pixels
PANEL = (620, 430)
CURSOR = (40, 40, 40)
NO_FFMPEG = (
    "films in MP4 need the package imageio-ffmpeg: pip install 'passivo[video]'; or name the file .gif, "
    "which needs nothing more"
)
View = tuple[float, float]


def film(
    run: Run | NetworkRun,
    path: str | PathLike,
    fps: float = 30.0,
    speed: float = 1.0,
    size: tuple[int, int] = (1280, 720),
    view: View | None = None,
    ledger: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """A film of the worlds in `run` as .mp4 or .gif; see `Run.film`."""
    scene = Scene(run)
    target = _target(path, (".mp4", ".gif"), "a film")
    gif = target.suffix.lower() == ".gif"
    width, height = _checked_size(size, STRIP if ledger else 0, LOW if ledger else LEAST, even=not gif)
    rate, pace = _positive(fps, "fps"), _positive(speed, "speed")
    if gif and rate > GIF_RATE:
        raise InputError(f"a GIF shows at most {GIF_RATE:g} frames a second, not {rate:g}; say fps=25, or name it .mp4")
    first, last = float(run.time[0]), float(run.time[-1])
    if len(run.time) < 2:
        raise InputError("the run holds a single instant, and a film needs motion; draw it with run.snapshots(...)")
    count = round((last - first) / pace * rate) + 1
    if not 2 <= count <= MOST_FRAMES:
        told = f"{last - first:g} s at {rate:g} frames a second and speed {pace:g} are {count} frames"
        raise InputError(f"{told}; choose fps and speed so that there are 2 to {MOST_FRAMES}")
    times = np.minimum(first + np.arange(count) * pace / rate, last)
    if gif and count * width * height > MOST_GIF:
        raise InputError(
            f"{count} frames of {width} × {height} pixels are too many for a GIF; name it .mp4, or choose a smaller "
            "size or fps"
        )
    strip = Strip(run, height) if ledger else None
    canvas = Canvas(scene, width - (STRIP if ledger else 0), height, _checked_view(view))
    pace_text = "" if pace == 1.0 else f"   {pace:g} × real time"

    def frame(time: float) -> np.ndarray:
        picture = labelled(canvas, scene, time, pace_text)
        return picture if strip is None else np.hstack([picture, strip.at([time])])

    def frames() -> Iterator[np.ndarray]:
        for k, time in enumerate(times):
            yield frame(time)
            if progress is not None:
                progress(k + 1, count)

    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        if gif:
            sample = np.vstack([frame(times[k]) for k in {0, count // 2, count - 1}])
            _write_gif(target, frames(), sample, rate)
        else:
            _write_mp4(target, frames(), (width, height), rate)
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def snapshots(
    run: Run | NetworkRun,
    path: str | PathLike,
    times: Any = None,
    size: tuple[int, int] = PANEL,
    view: View | None = None,
    ledger: bool = True,
) -> None:
    """Pictures of the worlds in `run` at some times, side by side in one .png; see `Run.snapshots`."""
    from PIL import Image

    scene = Scene(run)
    target = _target(path, (".png",), "snapshots")
    moments = _checked_times(run, times)
    width, height = _checked_size(size, even=False)
    canvas = Canvas(scene, width, height, _checked_view(view))
    columns = ceil(sqrt(len(moments)))
    rows = ceil(len(moments) / columns)
    sheet = np.full((rows * height, columns * width, 3), 255, np.uint8)
    for k, time in enumerate(moments):
        i, j = divmod(k, columns)
        panel = labelled(canvas, scene, float(time))
        panel[:, -1] = panel[-1, :] = 255
        sheet[i * height : (i + 1) * height, j * width : (j + 1) * width] = panel
    if ledger:
        strip = Strip(run, max(len(sheet), LOW)).at(moments)
        below = np.full((len(strip) - len(sheet), sheet.shape[1], 3), 255, np.uint8)
        sheet = np.hstack([np.vstack([sheet, below]), strip])
    target.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(sheet).save(target)


# -- words in a picture -----------------------------------------------------------------------------------------------


def labelled(canvas: Canvas, scene: Scene, time: float, more: str = "") -> np.ndarray:
    """The scene with the time above it, and below it the names of bodies and the spacing of the ground."""
    from PIL import Image, ImageDraw

    picture = Image.fromarray(canvas.picture(time))
    pen = ImageDraw.Draw(picture)
    pen.text((14, 10), f"t = {time:.{_digits(scene)}f} s{more}", fill=(34, 34, 34), font=_font(16))
    told = f"grid {canvas.grid:g} m"
    font = _font(12)
    bottom, right = picture.height - 24, picture.width - 14
    place = right - pen.textlength(told, font=font)
    pen.text((place, bottom), told, fill=(110, 110, 110), font=font)
    left = 14.0
    if len(scene.legend) <= MOST_CHIPS:
        for name, colour in scene.legend:
            text = short(name, 16)
            wide = 18 + pen.textlength(text, font=font)
            if left + wide > place - 16:
                break
            pen.ellipse((left, bottom + 2, left + 11, bottom + 13), fill=colour)
            pen.text((left + 16, bottom), text, fill=(60, 60, 60), font=font)
            left += wide + 14
    return np.array(picture)


@lru_cache(maxsize=8)
def _font(size: int) -> Any:
    """The font of all our pictures, which comes with Matplotlib."""
    from matplotlib import get_data_path
    from PIL import ImageFont

    return ImageFont.truetype(str(Path(get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"), size)


def _digits(scene: Scene) -> int:
    """Decimals of a second that tell the moments of a run apart."""
    span = max(float(moving.time[-1] - moving.time[0]) for moving in scene.moving)
    return 2 if span >= 1.0 else min(2 - int(np.floor(np.log10(span))), 9) if span > 0.0 else 1


@dataclass(frozen=True)
class _Axis:
    """Where an axis of the strip is in pixels: its upper and lower end, and the columns of the first and last time."""

    top: int
    bottom: int
    left: float
    right: float


class Strip:
    """The ledger and the verdict beside the scene, drawn once; only the mark of the time moves."""

    def __init__(self, run: Run | NetworkRun, height: int):
        self.first, self.last = float(run.time[0]), float(run.time[-1])
        self.picture, self.axes = self._drawn(run, height)

    def _drawn(self, run: Run | NetworkRun, height: int) -> tuple[np.ndarray, list[_Axis]]:
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        tall = min(height, 5 * STRIP // 2)  # beside a tall sheet it stands at the top
        with figure(STRIP / DPI, tall / DPI, layout="constrained") as drawing:
            drawing.set_dpi(DPI)
            canvas = FigureCanvasAgg(drawing)
            axes = drawing.subplots(2, height_ratios=(3, 2))
            draw_ledger(axes, run.time, ledger_of(run), run.verdict, run.step, room=46)
            clock = 10.0 ** -power_of(self.last)
            for axis in axes:
                if self.last > self.first:
                    axis.set_xlim(self.first * clock, self.last * clock)
            axes[0].tick_params(labelbottom=False)
            axes[1].set_xlabel(time_label(run.time))
            drawing.align_ylabels(axes)
            verdict = textwrap.fill(str(run.verdict), 46)
            drawing.suptitle(
                verdict, x=0.03, ha="left", fontsize=9, color=VERDICTS[run.verdict.kind], fontweight="bold"
            )
            drawing.supxlabel(textwrap.fill(run.headline, 58), x=0.97, ha="right", fontsize=7, color=GREY)
            canvas.draw()
            pixels = np.asarray(canvas.buffer_rgba())[..., :3]
            boxes = [axis.get_window_extent() for axis in axes]
        picture = np.full((height, STRIP, 3), 255, np.uint8)
        picture[: pixels.shape[0], : pixels.shape[1]] = pixels[:height, :STRIP]
        places = [_Axis(round(tall - b.y1), round(tall - b.y0), float(b.x0), float(b.x1)) for b in boxes]
        return picture, places

    def at(self, times: Sequence[float] | np.ndarray) -> np.ndarray:
        """The strip with a mark at each of these times."""
        result = self.picture.copy()
        span = (self.last - self.first) or 1.0
        for time in times:
            for axis in self.axes:
                x = round(axis.left + (float(time) - self.first) / span * (axis.right - axis.left))
                mark = result[axis.top : axis.bottom, max(x - 1, 0) : x + 1]
                mark[:] = (0.45 * mark + 0.55 * np.array(CURSOR)).astype(np.uint8)
        return result


# -- files ------------------------------------------------------------------------------------------------------------


def _write_mp4(path: Path, frames: Iterator[np.ndarray], size: tuple[int, int], fps: float) -> None:
    try:
        import imageio_ffmpeg
    except ImportError as error:
        raise InputError(NO_FFMPEG) from error
    try:
        rate: Any = fps  # any number will do
        writer = imageio_ffmpeg.write_frames(
            str(path), size, fps=rate, codec="libx264", quality=7, macro_block_size=2, ffmpeg_log_level="error"
        )
        writer.send(None)
    except (RuntimeError, OSError) as error:  # the package is there, the program is not
        raise InputError(f"{NO_FFMPEG} ({error})") from error
    try:
        for frame in frames:
            writer.send(np.ascontiguousarray(frame))
    except OSError as error:
        raise InputError(f"the film could not be written to {path}: {str(error).strip()}") from error
    finally:
        writer.close()


def _write_gif(path: Path, frames: Iterator[np.ndarray], sample: np.ndarray, fps: float) -> None:
    """One palette for all frames, that of a `sample`, without dots: files stay small, and nothing flickers.

    Frames last whole hundredths of a second, together as long as the film.
    """
    from PIL import Image

    plain = Image.Dither.NONE
    palette = Image.fromarray(sample).quantize(256, dither=plain)
    images = [Image.fromarray(frame).quantize(palette=palette, dither=plain) for frame in frames]
    ends = np.round(np.arange(1, len(images) + 1) * 100.0 / fps)
    durations = (10 * np.diff(ends, prepend=0.0)).astype(int).tolist()
    images[0].save(path, save_all=True, append_images=images[1:], duration=durations, loop=0, optimize=False)


# -- checks -----------------------------------------------------------------------------------------------------------


def _target(path: str | PathLike, kinds: tuple[str, ...], what: str) -> Path:
    target = Path(path)
    if target.suffix.lower() not in kinds:
        raise InputError(f"{what} cannot be written as {target.name!r}; use {' or '.join(kinds)}")
    return target


def _positive(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not (isfinite(value) and value > 0):
        raise InputError(f"{what} must be a number > 0, not {quoted(value)}")
    return float(value)


def _checked_size(size: Any, beside: int = 0, low: int = LEAST, *, even: bool) -> tuple[int, int]:
    """Width and height in pixels; of the width the ledger takes what is `beside`."""
    try:
        width, height = (int(v) for v in size)
        whole = (width, height) == tuple(size)
    except (TypeError, ValueError):
        raise InputError(f"size must be (width, height) in pixels, such as (1280, 720), not {quoted(size)}") from None
    if not whole or not (LEAST + beside <= width <= MOST and low <= height <= MOST):
        room = "; without the ledger (ledger=False) it may be smaller" if beside else ""
        raise InputError(
            f"size must be whole pixels from ({LEAST + beside}, {low}) to ({MOST}, {MOST}), "
            f"not {quoted(tuple(size))}{room}"
        )
    if even and (width % 2 or height % 2):
        raise InputError(f"the width and height of an MP4 must be even, not {width} × {height}")
    return width, height


def _checked_view(view: Any) -> View | None:
    if view is None:
        return None
    try:
        azimuth, elevation = (float(v) for v in view)
    except (TypeError, ValueError):
        azimuth = elevation = np.nan
    if not (isfinite(azimuth) and -89.0 <= elevation <= 89.0):
        raise InputError(
            "view must be (azimuth, elevation) in degrees, elevation from -89 to 89, such as (-60, 20), "
            f"not {quoted(view)}"
        )
    return azimuth, elevation


def _checked_times(run: Run | NetworkRun, times: Any) -> np.ndarray:
    first, last = float(run.time[0]), float(run.time[-1])
    if times is None:
        return np.linspace(first, last, 6) if last > first else np.array([first])
    try:
        moments = np.atleast_1d(np.asarray(times, dtype=float))
    except (TypeError, ValueError):
        moments = np.empty(0)
    if moments.ndim != 1 or not 1 <= len(moments) <= 64:
        raise InputError(f"times must be 1 to 64 times in seconds, such as (0, 0.5, 1), not {quoted(times)}")
    if not ((moments >= first) & (moments <= last * (1 + 1e-12))).all():
        raise InputError(f"times must lie within the run, from {first:g} to {last:g} s, not {quoted(times)}")
    return moments
