"""Pictures of worlds in motion: files are real, what moves is seen to move, and rays meet shapes where they are."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image

import passivo as pv
from passivo.errors import InputError
from passivo.run import render
from passivo.run.film import Strip
from passivo.run.render import Canvas, meet
from passivo.run.scene import Scene
from passivo.world.rotation import matrix_of, quaternion_of
from world.scenes import random_world

CORNERS = 0.44 * np.array([(-1, -1, -0.9), (1, 1, -1), (-0.9, 1, 1), (1, -1, 1)])
MESH = pv.ConvexMesh(CORNERS, centred=True)
SHAPES = (pv.Sphere(0.3), pv.Box(0.2, 0.4, 0.6), pv.Cylinder(0.2, 0.5), pv.Capsule(0.2, 0.5), MESH)
SMALL = {"size": (240, 180), "ledger": False}


def simulated(world, until=0.2, **options):
    return pv.simulate(world, pv.PassiveMidpoint(), step=5e-3, until=until, engine="python", **options)


@pytest.fixture(scope="module")
def run():
    """Two bodies on a hinge and a spring, pushed at a port; one has no shape."""
    world = pv.World()
    arm = world.add_body("arm", pv.Box(0.4, 0.05, 0.05), 1.0, position=(0.2, 0, 0))
    bare = world.add_body("bare", None, 0.5, inertia=(2e-3, 2e-3, 1e-3), position=(0.4, 0, -0.3))
    world.add_hinge("shoulder", arm, world, (0, 1, 0), at=(0, 0, 0))
    world.add_spring("cord", arm.point(0.2, 0, 0), bare, 300.0, 0.1, length=0.25)
    world.add_port("push", arm, at=(0.2, 0, 0))
    return simulated(world, inputs={"push": (0.0, 1.0, 0.0)})


def free_body(shape, **options):
    world = pv.World(gravity=(0, 0, 0))
    world.add_body("body", shape, 1.0, **options)
    return simulated(world)


# -- files ------------------------------------------------------------------------------------------------------------


def test_snapshots_are_a_sheet_with_the_ledger_beside_it(run, tmp_path):
    run.snapshots(tmp_path / "in" / "sheet.png", (0.0, 0.1, 0.2), size=(240, 180))
    sheet = np.array(Image.open(tmp_path / "in" / "sheet.png"))
    assert sheet.shape == (400, 2 * 240 + 380, 3)  # the ledger is no lower
    panels = [sheet[:180, :240], sheet[:180, 240:480], sheet[180:360, :240]]
    assert all(np.unique(panel.reshape(-1, 3), axis=0).shape[0] > 100 for panel in panels)
    assert (panels[0] != panels[1]).any(axis=2).mean() > 0.01
    assert (sheet[180:, 240:480] == 255).all()  # three panels leave one place empty
    run.snapshots(tmp_path / "one.png", 0.05, **SMALL)
    assert Image.open(tmp_path / "one.png").size == (240, 180)


def test_a_gif_has_all_frames_lasts_as_long_as_the_run_and_moves(run, tmp_path):
    seen = []
    run.film(tmp_path / "a.gif", fps=30, progress=lambda done, total: seen.append((done, total)), **SMALL)
    film = Image.open(tmp_path / "a.gif")
    assert film.size == (240, 180) and film.n_frames == 7 and seen[-1] == (7, 7)
    lasts, frames = 0, []
    for k in range(film.n_frames):
        film.seek(k)
        lasts += film.info["duration"]
        frames.append(np.array(film.convert("RGB")).astype(int))
    assert lasts == 230  # 7/30 s in hundredths of a second
    assert all(np.abs(b - a).max() > 50 for a, b in pairwise(frames))


def test_an_mp4_has_all_frames(run, tmp_path):
    import imageio_ffmpeg

    run.film(tmp_path / "a.mp4", speed=0.5, fps=25, size=(640, 400))
    reader = imageio_ffmpeg.read_frames(str(tmp_path / "a.mp4"))
    facts = next(reader)
    frames = [np.frombuffer(frame, np.uint8).reshape(400, 640, 3).astype(int) for frame in reader]
    assert facts["size"] == (640, 400) and facts["fps"] == 25 and len(frames) == 11
    scene, ledger = slice(0, 260), slice(260, None)
    for part in (scene, ledger):  # the arm, and the mark of the time
        assert np.abs(frames[-1][:, part] - frames[0][:, part]).max() > 50


def test_a_film_that_fails_leaves_no_file(run, tmp_path):
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.film(tmp_path / "a.gif", progress=stop, **SMALL)
    assert not (tmp_path / "a.gif").exists()


def test_worlds_of_a_network_are_drawn_together(tmp_path):
    net = pv.Network()
    for name, x in (("left", 0.0), ("right", 1.0)):
        world = pv.World(gravity=(0, 0, 0))
        world.add_body("ball", pv.Sphere(0.1), 1.0, position=(x, 0, 0), velocity=(0, 0, 1))
        net.add(name, world, pv.PassiveMidpoint(), step=1e-2)
    net.add("spring", pv.library.spring(k=1.0), pv.AVF(), step=1e-2)
    run = pv.simulate(net, until=0.1, engine="python")
    run.snapshots(tmp_path / "two.png", 0.1, size=(240, 180))
    scene = Scene(run)
    assert [name for name, _ in scene.legend] == ["ball", "ball"] and len(list(scene.solids(0.1))) == 2


def test_a_world_of_everything_is_drawn(tmp_path):
    run = simulated(random_world(3), until=0.02)
    run.snapshots(tmp_path / "all.png", 0.01, **SMALL)
    assert len(np.unique(np.array(Image.open(tmp_path / "all.png")).reshape(-1, 3), axis=0)) > 100


# -- pixels -----------------------------------------------------------------------------------------------------------


def inside(shape, x, y, z):
    match shape:
        case pv.Sphere():
            return x**2 + y**2 + z**2 <= shape.radius**2
        case pv.Box():
            return (abs(x) <= shape.x / 2) & (abs(y) <= shape.y / 2) & (abs(z) <= shape.z / 2)
        case pv.Cylinder():
            return (x**2 + y**2 <= shape.radius**2) & (abs(z) <= shape.length / 2)
        case pv.ConvexMesh():  # in a tetrahedron all shares of its corners are above 0
            frame = np.vstack([np.transpose(CORNERS - CORNERS.mean(axis=0)), np.ones(4)])
            return (np.tensordot(np.linalg.inv(frame), np.stack([x, y, z, np.ones_like(x)]), 1) >= 0).all(axis=0)
    return x**2 + y**2 + np.maximum(abs(z) - shape.length / 2, 0) ** 2 <= shape.radius**2


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
def test_rays_meet_a_shape_on_its_surface(shape):
    """Beside a march along each ray with tiny steps, by what is inside of a shape."""
    rng = np.random.default_rng(5)
    aim, way = rng.uniform(-0.3, 0.3, (3, 400)), rng.standard_normal((3, 400))
    way /= np.linalg.norm(way, axis=0)
    found = meet(shape, tuple(aim.astype(np.float32)), tuple(way.astype(np.float32)))
    reach = shape.reach + 1.0
    t = np.linspace(-reach, reach, 8001)
    x, y, z = (aim[k][:, None] + way[k][:, None] * t for k in range(3))
    within = inside(shape, x, y, z)
    hits = within.any(axis=1)
    assert 100 < hits.sum() < 400 and np.isfinite(found[hits]).all()
    assert found[hits] == pytest.approx(t[within.argmax(axis=1)][hits], abs=2e-3)
    assert np.mean(np.isfinite(found[~hits])) < 0.02  # but for those that touch it between two of the tiny steps


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
def test_a_body_is_where_the_camera_sees_it(shape):
    """The picture of every inner point is covered, and the pixels reach as far as those of its points do."""
    turn = quaternion_of((1, 1, 0), 0.7)
    run = free_body(shape, position=(1.0, 2.0, 3.0), orientation=turn)
    canvas = Canvas(Scene(run), 240, 180)
    canvas.picture(0.0)
    rng = np.random.default_rng(1)
    q = rng.uniform(-0.45, 0.45, (200_000, 3))
    q = q[inside(shape, *q.T)]
    column, row, _ = canvas.camera.seen(np.array([1.0, 2.0, 3.0]) + q @ matrix_of(turn).T)
    column, row = column - canvas.origin.left, row - canvas.origin.top
    solid = np.isfinite(canvas.depth)
    assert solid[row.astype(int), column.astype(int)].mean() > 0.999
    rows, columns = np.nonzero(solid)
    for pixels, points in ((rows, row), (columns, column)):
        assert pixels.min() == pytest.approx(points.min(), abs=8) and pixels.max() == pytest.approx(points.max(), abs=8)
    edges = np.concatenate([solid[0], solid[-1], solid[:, 0], solid[:, -1]])
    assert not edges.any()


def test_what_is_nearer_hides_what_is_behind():
    world = pv.World(gravity=(0, 0, 0))
    world.add_body("near", pv.Sphere(0.1), 1.0, position=(0, -1, 0))
    world.add_body("far", pv.Sphere(0.1), 1.0, position=(0, 1, 0))
    for names in (("near", "far"), ("far", "near")):
        twin = pv.World(gravity=(0, 0, 0))
        for name in names:
            twin.add_body(name, pv.Sphere(0.1), 1.0, position=world.bodies[name].position)
        scene = Scene(simulated(twin))
        canvas = Canvas(scene, 240, 180, view=(-90.0, 0.0))
        canvas.picture(0.0)
        assert np.nanmin(canvas.depth) == pytest.approx(
            float((np.array([0, -1.1, 0]) - canvas.camera.eye) @ canvas.camera.ahead), abs=1e-3
        )


@pytest.mark.parametrize("far", [(0, 0, 0), (1000.0, 0, 2000.0)])
def test_a_run_stays_in_the_picture(far):
    world = pv.World()
    world.add_body("ball", pv.Sphere(0.1), 1.0, position=far, velocity=(1.0, 2.0, 3.0))
    scene = Scene(simulated(world, until=1.0))
    camera = Canvas(scene, 240, 180).camera
    column, row, _ = camera.seen(scene.centres[: len(scene.centres) // 2])
    assert column.min() > 0 and column.max() < camera.width and row.min() > 0 and row.max() < camera.height
    assert max(np.ptp(column) / camera.width, np.ptp(row) / camera.height) > 0.5


def test_a_body_too_small_to_be_seen_is_marked():
    world = pv.World(gravity=(0, 0, 0))
    for name, place in (("low", (0, 0, 0)), ("high", (0, 0, 1000.0))):
        world.add_body(name, pv.Sphere(0.1), 1.0, position=place)
    scene = Scene(simulated(world))
    canvas = Canvas(scene, 240, 180)
    picture = canvas.picture(0.0).astype(int)
    for moving in scene.moving:
        for colour in moving.colours.values():
            assert (np.abs(picture - colour).max(axis=2) < 40).sum() > 10


def test_a_run_that_left_for_the_stars_is_no_picture(tmp_path):
    run = free_body(pv.Sphere(0.1), velocity=(1e40, 0, 0))
    with pytest.raises(InputError, match=r"spreads over 2e\+39 m"):
        run.snapshots(tmp_path / "a.png")


def test_a_spinning_ball_is_seen_to_spin():
    run = free_body(pv.Sphere(0.2), angular_velocity=(0, 0, 5.0))
    canvas = Canvas(Scene(run), 240, 180)
    assert (canvas.picture(0.0) != canvas.picture(0.15)).any(axis=2).mean() > 0.01


def test_turns_between_rows_take_the_shorter_way():
    run = free_body(pv.Box(0.1, 0.2, 0.3), angular_velocity=(0.0, 0.0, 40.0))
    (moving,) = Scene(run).moving
    moving.turns[1::2] *= -1.0  # the same orientations
    angle = [np.arctan2(turn[1, 0], turn[0, 0]) for turn in (moving.at(t).turns[0] for t in (0.0, 0.0025, 0.005))]
    assert np.diff(np.unwrap(angle)) == pytest.approx(0.1, abs=1e-3)


def test_the_ground_is_below_everything_or_at_0(run):
    assert Scene(run).floor < -0.3
    assert Scene(free_body(pv.Sphere(0.1), position=(0, 0, 1.0))).floor == pytest.approx(0.89, abs=0.01)
    world = pv.World()
    world.add_body("ball", pv.Sphere(0.1), 1.0, position=(0, 0, 0.3), velocity=(0, 0, 0))
    world.add_body("other", pv.Sphere(0.1), 1.0, position=(1, 0, 0.3), velocity=(0, 0, 0))
    assert Scene(simulated(world)).floor == 0.0


def over(*planes, balls=((0.1, 0, 1.0),)):
    """Balls over planes (normal, place)."""
    world = pv.World()
    for k, (normal, at) in enumerate(planes):
        world.add_plane(f"plane{k}", normal=normal, at=at)
    for k, place in enumerate(balls):
        world.add_body(f"ball{k}", pv.Sphere(0.1), 1.0, position=place)
    return simulated(world, until=0.02)


@pytest.mark.parametrize(("normal", "azimuth"), [((0, 0, 1.0), 0.0), ((0.5, 0.2, 1.0), 30.0), ((-1.0, 0, 0), 210.0)])
def test_a_plane_is_where_it_is_and_hides_what_is_behind_it(normal, azimuth):
    at = np.array([0.4, 0.0, 0.3])
    balls = (0.1, 0.6, 1.0), (-0.2, -0.6, 1.2)
    canvas = Canvas(Scene(over((normal, at), balls=balls)), 240, 180, view=(azimuth, 20.0))
    ways = np.cross(normal, np.random.default_rng(0).uniform(-0.3, 0.3, (200, 3)))
    column, row, depth = canvas.camera.seen(at + ways)
    seen = (row > 0) & (row < canvas.camera.height) & (column > 0) & (column < canvas.camera.width)
    assert seen.sum() > 20
    place = row[seen].astype(int), column[seen].astype(int)
    assert canvas.hidden[place] == pytest.approx(depth[seen], rel=0.02)
    canvas.picture(0.0)
    assert (canvas.depth <= canvas.hidden[canvas.origin.slices]).all()


def test_a_shadow_falls_on_the_nearest_plane_below():
    canvas = Canvas(Scene(over(((0, 0, 1.0), (0, 0, 0)), ((0.3, 0, 1.0), (0, 0, 0.5)))), 240, 180, view=(-60.0, 40.0))
    canvas.picture(0.0)
    column, row, _ = canvas.camera.seen(np.array([[0.1, 0, 0.5 - 0.3 * 0.1]]))
    rows, columns = np.nonzero(canvas.dark)
    assert columns.mean() + canvas.origin.left == pytest.approx(column[0], abs=3)
    assert rows.mean() + canvas.origin.top == pytest.approx(row[0], abs=6)


def test_a_wall_that_is_seen_from_behind_hides_nothing():
    wall = ((-1.0, 0, 0), (0.5, 0, 0))
    canvas = Canvas(Scene(over(wall)), 240, 180, view=(0.0, 10.0))
    assert np.isinf(canvas.hidden).all()
    (colour,) = canvas.scene.moving[0].colours.values()
    assert (np.abs(canvas.picture(0.0).astype(int) - colour).max(axis=2) < 60).sum() > 10


def test_spaces_of_the_ground_are_round_numbers():
    assert [render.spacing(size) for size in (0.8, 1.0, 3.0, 1e-3, 5e3)] == pytest.approx([0.1, 0.2, 0.5, 2e-4, 1e3])


def test_the_mark_of_the_time_moves_along_the_axes(run):
    strip = Strip(run, 400)
    marks = [np.nonzero((strip.at([t]) != strip.picture).any(axis=(0, 2)))[0].mean() for t in (0.0, 0.1, 0.2)]
    assert marks[1] - marks[0] == pytest.approx(marks[2] - marks[1], abs=1.5) and marks[1] - marks[0] > 100


# -- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"path": "a.avi"}, "use .mp4 or .gif"),
        ({"fps": 0}, "fps must be a number > 0"),
        ({"fps": True}, "fps must be a number > 0"),
        ({"speed": float("nan")}, "speed must be a number > 0"),
        ({"path": "a.gif", "fps": 60.0}, "at most 50 frames a second"),
        ({"fps": 1e6}, "choose fps and speed"),
        ({"speed": 100.0}, "choose fps and speed"),
        ({"path": "a.gif", "speed": 1e-3}, "too many for a GIF"),
        ({"size": (1281, 720)}, "must be even"),
        ({"size": (400, 300)}, "without the ledger"),
        ({"size": "big"}, r"\(width, height\) in pixels"),
        ({"size": (640.5, 480)}, "whole pixels"),
        ({"view": (10.0,)}, r"\(azimuth, elevation\)"),
        ({"view": (0.0, 90.0)}, "elevation from -89 to 89"),
    ],
)
def test_films_that_cannot_be_made(run, tmp_path, options, told):
    path = tmp_path / options.pop("path", "a.mp4")
    with pytest.raises(InputError, match=told):
        run.film(path, **options)
    assert not path.exists()


@pytest.mark.parametrize(
    ("times", "told"),
    [((0.0, 0.3), "within the run"), ("soon", "times in seconds"), ([], "1 to 64"), (np.zeros((2, 2)), "1 to 64"),
     (float("nan"), "within the run")],
)  # fmt: skip
def test_snapshots_at_no_time_of_the_run(run, tmp_path, times, told):
    with pytest.raises(InputError, match=told):
        run.snapshots(tmp_path / "a.png", times)
    with pytest.raises(InputError, match=r"use \.png"):
        run.snapshots(tmp_path / "a.jpg")


def test_only_worlds_move(tmp_path):
    run = pv.simulate(pv.library.oscillator(), pv.AVF(), step=1e-3, until=0.01, engine="python")
    with pytest.raises(InputError, match="drawn of worlds"):
        run.film(tmp_path / "a.gif")


def test_without_ffmpeg_a_film_says_what_to_do(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(InputError, match=r"pip install 'passivo\[video\]'; or name the file .gif"):
        run.film(tmp_path / "a.mp4")


def test_nothing_is_loaded_before_it_is_used():
    code = "import sys, passivo; assert not {'matplotlib', 'PIL', 'imageio_ffmpeg'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_height_field_is_met_where_it_is():
    from passivo.run import relief

    field = pv.HeightField(0.2 * np.random.default_rng(0).random((6, 9)), x=2, y=1.5, base=0.3)
    rng = np.random.default_rng(1)
    eyes = rng.uniform((-0.6, -0.6, 0.6), (0.6, 0.6, 1.8), (400, 3))
    ways = np.column_stack([rng.uniform(-1, 1, (400, 2)), -np.ones(400)])
    far = relief.meet(field, tuple(eyes.T), tuple(ways.T)).astype(float)
    hit = np.isfinite(far)
    at = eyes[hit] + far[hit, None] * ways[hit]
    x, y = np.clip(at[:, 0], -1, 1), np.clip(at[:, 1], -0.75, 0.75)
    sides = (np.abs(at[:, 0]) > 0.999) | (np.abs(at[:, 1]) > 0.749)
    assert hit.sum() > 200 and np.abs(at[:, 2] - field.height(x, y))[~sides].max() < 2e-4
    fine = np.linspace(0.0, 1.0, 3000)[None, :, None]  # nothing of the way there is inside
    path = eyes[hit][~sides, None] + (fine * (far[hit][~sides] - 2e-2)[:, None, None]) * ways[hit][~sides, None]
    with np.errstate(invalid="ignore"):
        assert not (path[..., 2] < field.height(path[..., 0], path[..., 1]) - 1e-9).any()
    normal, _ = relief.surface(field, list(at[~sides].T), 1e-3)
    assert np.allclose(np.stack(normal, axis=-1), field.normal(x[~sides], y[~sides]), atol=1e-6)


def test_ground_that_stands_is_drawn_and_takes_shadows():
    pytest.importorskip("mujoco", reason="the extra `world` is not installed")
    world = pv.World()
    world.add_fixed("ground", pv.HeightField(np.zeros((3, 3)), x=1, y=1, base=0.1))
    world.add_body("ball", pv.Sphere(0.1), 1.0, position=(0, 0, 0.4))
    run = pv.simulate(world, pv.PassiveMidpoint(), step=1e-2, until=0.02, engine="python")
    scene = Scene(run)
    canvas = Canvas(scene, 160, 120, view=(0.0, 60.0))
    column, row, _ = canvas.camera.seen(np.array([[0.0, 0.0, 0.0], [0.3, 0.3, 0.0]]))
    dark, bright = (canvas.picture(0.0)[int(r) // 2, int(c) // 2].astype(int).sum() for c, r in zip(column, row))
    assert dark < 0.85 * bright  # below the ball is its shadow
