"""Convex meshes: their volume and inertia, what is refused, files, and that they fall, rest and slide as solids do."""

from __future__ import annotations

import contextlib
import struct
from itertools import product
from typing import Any

import numpy as np
import pytest

import passivo as pv
from passivo.errors import InputError, ModelError
from passivo.world.hull import mass_of
from passivo.world.rotation import matrix_of
from passivo.world.shapes import inertia_of, shape_from

CUBE = np.array(list(product((-0.1, 0.1), repeat=3)))
CUBE_FACES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
TETRAHEDRON = np.array([(0, 0, 0), (0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)])
TETRAHEDRON_FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
GOLDEN = (1 + 5**0.5) / 2
ICOSAHEDRON = 0.06 * np.array([np.roll((0, a, b * GOLDEN), k) for k in range(3) for a, b in product((-1, 1), repeat=2)])


def round_points(count):
    """Spread evenly over a sphere of radius 1."""
    k = np.arange(count) + 0.5
    z, turn = 1 - 2 * k / count, k * np.pi * (1 + 5**0.5)
    return np.column_stack([np.sqrt(1 - z * z) * np.cos(turn), np.sqrt(1 - z * z) * np.sin(turn), z])


# -- volume, centre, inertia ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_an_affine_image_of_a_simplex_has_the_moments_of_its_corners(seed):
    """∫ x x' over a simplex is V/20 (Σ v v' + s s') about any origin, s the sum of its four corners."""
    rng = np.random.default_rng(seed)
    corners = 10.0 ** rng.uniform(-2, 1) * (rng.standard_normal((3, 3)) @ rng.random((3, 4))).T + rng.standard_normal(3)
    mesh = pv.ConvexMesh(corners)
    volume = abs(np.linalg.det(corners[1:] - corners[0])) / 6
    centre = corners.mean(axis=0)
    own = corners - centre
    second = own.T @ own / 20
    assert mesh.volume == pytest.approx(volume, rel=1e-9)
    assert np.allclose(mesh.centre, centre, rtol=0, atol=1e-12 * np.abs(corners).max())
    inertia = np.trace(second) * np.eye(3) - second
    assert np.allclose(mesh.inertia, inertia, rtol=0, atol=1e-9 * np.abs(inertia).max())


@pytest.mark.parametrize("seed", range(4))
def test_a_hull_is_the_sum_of_the_simplices_it_is_cut_into(seed):
    """Volume, centre and inertia add up over a triangulation of the inside."""
    from scipy.spatial import Delaunay

    points = np.random.default_rng(seed).standard_normal((12, 3))
    mesh, parts = pv.ConvexMesh(points), [pv.ConvexMesh(points[s]) for s in Delaunay(points).simplices]
    assert mesh.volume == pytest.approx(sum(p.volume for p in parts), rel=1e-9)
    assert np.allclose(sum(p.volume * p.centre for p in parts), mesh.volume * mesh.centre, atol=1e-9)
    about = sum(p.volume * (p.inertia + (d := p.centre - mesh.centre) @ d * np.eye(3) - np.outer(d, d)) for p in parts)
    assert np.allclose(about, mesh.volume * mesh.inertia, atol=1e-8)


def test_a_mesh_of_a_box_has_its_inertia_wherever_it_is_placed():
    box, turn = pv.Box(0.2, 0.3, 0.4), (0.8, 0.0, 0.6, 0.0)
    mesh = pv.ConvexMesh(CUBE * [1, 1.5, 2] + [3, -2, 1])
    assert mesh.volume == pytest.approx(box.volume, rel=1e-12)
    assert np.allclose(mesh.centre, [3, -2, 1], atol=1e-12) and np.allclose(
        mesh.moments, sorted(box.moments), rtol=1e-9
    )
    x, y, z = (-(matrix_of(turn) @ mesh.centre)).tolist()
    placed = pv.ConvexMesh(mesh.points, position=(x, y, z), orientation=turn)
    same = pv.Box(0.2, 0.3, 0.4, orientation=turn)
    assert np.allclose(inertia_of((placed,), 2.0), inertia_of((same,), 2.0), rtol=0, atol=1e-12)
    both = inertia_of((pv.Box(0.2, 0.3, 0.2, position=(0, 0, 0.1)), pv.Box(0.2, 0.3, 0.2, position=(0, 0, -0.1))), 2.0)
    halves = tuple(pv.ConvexMesh(CUBE * [1, 1.5, 1] + [0, 0, z]) for z in (-0.1, 0.1))
    assert np.allclose(inertia_of(halves, 2.0), both, rtol=0, atol=1e-12)


def test_a_fine_mesh_of_a_ball_comes_near_its_inertia_at_second_order():
    gaps = []
    for count in (500, 2000):
        mesh = pv.ConvexMesh(round_points(count))
        gaps.append((1 - mesh.volume / (4 / 3 * np.pi), 1 - mesh.moments[0] / 0.4))
        assert np.ptp(mesh.moments) < 1e-3
    (a, b), (c, d) = gaps
    assert 0 < c < 3e-3 and 0 < d < 3e-3 and a / c == pytest.approx(4, rel=0.05) and b / d == pytest.approx(4, rel=0.1)


def test_what_lies_inside_is_left_out_and_a_mesh_can_be_centred():
    mesh = pv.ConvexMesh([*CUBE, (0, 0, 0), (0.05, 0.0, 0.0)])
    assert mesh.points == tuple(map(tuple, CUBE.tolist())) and mesh.reach == pytest.approx(0.1 * 3**0.5)
    world = pv.World()
    with pytest.raises(ModelError, match=r"centre of mass of the shapes is at \(0\.025, .*say centred=True"):
        world.add_body("a", pv.ConvexMesh(TETRAHEDRON), 1.0)
    world.add_body("a", pv.ConvexMesh(TETRAHEDRON, centred=True), 1.0)
    assert world.params["a.inertia_xx"] == pytest.approx(0.1**2 * 3 / 40, rel=1e-9)
    assert shape_from(mesh.describe()) == mesh and "8 corners" in repr(mesh) and hash(mesh)


# -- what is refused --------------------------------------------------------------------------------------------------


def test_faces_must_close_turn_one_way_and_be_convex():
    pv.ConvexMesh(CUBE, CUBE_FACES)
    pv.ConvexMesh(TETRAHEDRON, TETRAHEDRON_FACES)
    pv.ConvexMesh(TETRAHEDRON, [face[::-1] for face in TETRAHEDRON_FACES])  # all of them inside out
    with pytest.raises(ModelError, match=r"not closed: 4 of its edges .*hull=True"):
        pv.ConvexMesh(CUBE, CUBE_FACES[:-1])
    with pytest.raises(ModelError, match="not turned the same way"):
        pv.ConvexMesh(CUBE, [*CUBE_FACES[:-1], CUBE_FACES[-1][::-1]])
    with pytest.raises(ModelError, match="not turned the same way, or more than two meet"):
        pv.ConvexMesh(CUBE, [*CUBE_FACES, CUBE_FACES[0]])
    # a cube whose upper face is drawn in to its middle
    bent, pit = [*CUBE, (0, 0, 0)], [(1, 5, 8), (5, 7, 8), (7, 3, 8), (3, 1, 8)]
    with pytest.raises(ModelError, match=r"not convex: its faces enclose 0\.00666667 m³, and its convex hull 0\.008"):
        pv.ConvexMesh(bent, [*CUBE_FACES[:-1], *pit])
    assert pv.ConvexMesh(bent, [*CUBE_FACES[:-1], *pit], hull=True).volume == pytest.approx(0.008)
    assert pv.ConvexMesh(CUBE, CUBE_FACES[:-1], hull=True) == pv.ConvexMesh(CUBE)


@pytest.mark.parametrize(
    ("points", "faces", "message"),
    [
        ([], None, "must be rows"),
        ([(0, 0, 0)], None, "enclose no volume"),
        (CUBE[:, :2], None, "must be rows"),
        ("cube", None, "must be rows"),
        ([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, np.nan)], None, "point 3 of a ConvexMesh .*finite"),
        ([(0, 0, 0), (1, 0, 0), (0, np.inf, 0), (0, 0, 1)], None, "point 2"),
        ([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)], None, "enclose no volume"),
        ([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 1e-9)], None, "enclose no volume"),
        ([(1, 2, 3)] * 6, None, "enclose no volume"),
        ([(0, 0, 0), (1, 1, 1), (2, 2, 2), (3, 3, 3)], None, "enclose no volume"),
        (np.zeros((1_000_001, 3)), None, "at most 1000000 points"),
        (round_points(10_500), None, "has 10500 corners"),
        (CUBE, [], "are empty"),
        (CUBE, 7, "rows of numbers"),
        (CUBE, [(0, 1)], "face 0 .*three or more"),
        (CUBE, [(0, 1, 1)], "face 0 .*different"),
        (CUBE, [(0, 1, 2.5)], "face 0"),
        (CUBE, [(0, 1, 8)], "names point 8; they go from 0 to 7"),
        (CUBE, [(0, 1, -1)], "names point -1"),
        (CUBE, [(0, 1, float("nan"))], "rows of numbers"),
    ],
)
def test_what_encloses_nothing_is_refused_by_name(points, faces, message):
    with pytest.raises(ModelError, match=message):
        pv.ConvexMesh(points, faces)


# -- files ------------------------------------------------------------------------------------------------------------


def obj_of(points, faces):
    lines = ["# a mesh", "mtllib none", *(f"v {x!r} {y!r} {z!r}" for x, y, z in np.asarray(points).tolist())]
    return "\n".join([*lines, "vn 0 0 1", *("f " + " ".join(f"{i + 1}//1" for i in face) for face in faces)]) + "\n"


def stl_of(points, triangles):
    rows = b"".join(struct.pack("<12fH", 0, 0, 0, *np.asarray(points)[list(t)].ravel(), 0) for t in triangles)
    return b"made by hand".ljust(80) + struct.pack("<I", len(triangles)) + rows


def stl_text_of(points, triangles):
    corner = "   vertex {:.7e} {:.7e} {:.7e}\n"
    facet = " facet normal 0 0 0\n  outer loop\n{}  endloop\n endfacet\n"
    body = "".join(facet.format("".join(corner.format(*points[i]) for i in t)) for t in triangles)
    return f"solid it\n{body}endsolid it\n"


def triangles_of(faces):
    return [(f[0], f[i], f[i + 1]) for f in faces for i in range(1, len(f) - 1)]


def test_obj_and_stl_files_are_read(tmp_path):
    (tmp_path / "a.obj").write_text(obj_of(CUBE, CUBE_FACES))
    (tmp_path / "a.STL").write_bytes(stl_of(1000 * CUBE, triangles_of(CUBE_FACES)))
    (tmp_path / "text.stl").write_text(stl_text_of(CUBE, triangles_of(CUBE_FACES)))
    exact = pv.ConvexMesh.from_file(tmp_path / "a.obj")
    assert exact == pv.ConvexMesh(CUBE)
    for mesh in (
        pv.ConvexMesh.from_file(tmp_path / "a.STL", scale=1e-3),
        pv.ConvexMesh.from_file(tmp_path / "text.stl"),
    ):
        assert len(mesh.points) == 8 and mesh.volume == pytest.approx(0.008, rel=1e-6)
    backwards = obj_of(TETRAHEDRON, []) + "f -4 -2 -3\nf -4 -3 -1\nf -4 -1 -2\nf -3 -2 -1\n"
    (tmp_path / "b.obj").write_text(backwards)
    placed = pv.ConvexMesh.from_file(tmp_path / "b.obj", centred=True, position=(0, 0, 0.1))
    assert placed.position == (0, 0, 0.1) and np.allclose(placed.centre, 0, atol=1e-15)
    fine = round_points(800)
    from scipy.spatial import ConvexHull

    hull = ConvexHull(fine)
    out = np.einsum("ij,ij->i", np.cross(*(fine[hull.simplices[:, k]] - fine[hull.simplices[:, 0]] for k in (1, 2))),
                    hull.equations[:, :3]) > 0  # fmt: skip
    (tmp_path / "c.stl").write_bytes(stl_of(fine, np.where(out[:, None], hull.simplices, hull.simplices[:, ::-1])))
    assert pv.ConvexMesh.from_file(tmp_path / "c.stl").volume == pytest.approx(hull.volume, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.obj", None, "there is no file"),
        ("a.ply", b"ply", "no .obj or .stl"),
        ("a.obj", b"", "holds no mesh"),
        ("a.obj", b"v 0 0 x\n", "line 1: expected three numbers"),
        ("a.obj", b"v 0 0 0\nf 1 2\n", "line 2"),
        ("a.obj", b"v 0 0 0\nf 0 1 2\n", "line 2"),
        ("a.obj", b"v 0 0 0\nf 1 2 999999999999999999999\n", "names point"),
        ("a.obj", obj_of(TETRAHEDRON, TETRAHEDRON_FACES).replace("0.1", "nan").encode(), "must be finite"),
        ("a.obj", obj_of(CUBE, CUBE_FACES[1:]).encode(), "a.obj: this ConvexMesh is not closed"),
        ("a.obj", bytes(range(256)) * 20, "holds no mesh"),
        ("a.stl", b"", "cut or no STL"),
        ("a.stl", stl_of(CUBE, triangles_of(CUBE_FACES))[:-7], "it is cut"),
        ("a.stl", stl_of(CUBE, triangles_of(CUBE_FACES)[1:]), "not closed"),
        ("a.stl", b"x" * 80 + b"\xff\xff\xff\xff", "4294967295 triangles"),
        ("a.stl", stl_of(np.full((3, 3), np.nan), [(0, 1, 2)]), "NaN or infinite"),
        ("a.stl", b"solid it\nvertex 0 0\n", "line 2: expected three"),
        ("a.stl", b"solid it\nvertex 0 0 0\n", "not three for each"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_mesh_is_refused_with_its_name(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ModelError, match=message) as told:
        pv.ConvexMesh.from_file(tmp_path / name)
    assert name in str(told.value)
    for scale in (0.0, np.nan, True, "mm"):
        with pytest.raises(ModelError, match="scale"):
            pv.ConvexMesh.from_file(tmp_path / name, scale=scale)


def test_a_file_that_cannot_be_read_is_told_as_it_was_given(tmp_path):
    with pytest.raises(ModelError, match=r"^the mesh '[^']*(b.stl'|\.\.\.) cannot be read: "):
        pv.ConvexMesh.from_file(tmp_path / "a\0b.stl")


def test_any_bytes_are_a_mesh_or_an_error_of_ours(tmp_path):
    rng, file = np.random.default_rng(0), tmp_path / "a.stl"
    sound = stl_of(ICOSAHEDRON, pv.ConvexMesh(ICOSAHEDRON).polyhedron.faces)
    for k in range(60):
        data = bytearray(sound if k % 2 else obj_of(CUBE, CUBE_FACES).encode())
        for at in rng.integers(0, len(data), 1 + k // 8):
            data[at] = rng.integers(0, 256)
        file = tmp_path / ("a.stl" if k % 2 else "a.obj")
        file.write_bytes(data)
        with contextlib.suppress(ModelError):
            assert pv.ConvexMesh.from_file(file).volume > 0


# -- contact ----------------------------------------------------------------------------------------------------------


def dropped(shape, until=0.4, step=1e-3, **body):
    pytest.importorskip("mujoco", reason="the extra `world` is not installed")
    world = pv.World()
    world.add_plane(friction=0.5)
    world.add_body("body", shape, 1.0, friction=0.5, **body)
    return pv.simulate(world, pv.PassiveMidpoint(), step=step, until=until, engine="python")


def created(run):
    return float(abs(run.ledger.created).max())


@pytest.mark.parametrize(("speed", "restitution"), [(0.4, 0.0), (0.0, 0.6)])
def test_a_mesh_of_a_cube_falls_bounces_and_slides_as_a_box(speed, restitution):
    """Contacts are found with corners in single precision: 1e-8 of the size apart."""
    body = {"position": (0, 0, 0.11), "velocity": (speed, 0, 0), "restitution": restitution}
    mesh, box = (dropped(shape, **body) for shape in (pv.ConvexMesh(CUBE), pv.Box(0.2, 0.2, 0.2)))
    assert abs(mesh["body.position"].values - box["body.position"].values).max() < 1e-7
    for what in ("velocity", "angular_velocity"):  # but for the step in which it stops, which sweeps may leave unsolved
        apart = abs(mesh[f"body.{what}"].values - box[f"body.{what}"].values).max(axis=1)
        assert np.sort(apart)[-2] < 1e-4
    assert mesh.verdict.kind == "exact" and abs(mesh["body.velocity"].values[-1]).max() < 1e-5


@pytest.mark.parametrize("points", [TETRAHEDRON * 2.5, ICOSAHEDRON], ids=["tetrahedron", "icosahedron"])
def test_a_mesh_that_tumbles_creates_nothing_and_comes_to_rest(points):
    run = dropped(
        pv.ConvexMesh(points, centred=True), position=(0, 0, 0.25), orientation=(0.8, 0.36, 0.48, 0), until=1.2,
        velocity=(0.2, 0.1, 0), angular_velocity=(1, 2, 0), restitution=0.2,
    )  # fmt: skip
    assert run.verdict.kind == "exact" and created(run) < 1e-12
    touching = run["contacts.number"].values > 0
    assert (run["contacts.guard"].values[touching] > 0).mean() < 0.01
    kinetic = run.ledger.stored.sel(part="kinetic").values
    assert kinetic[-1] < 1e-6 * kinetic.max() and run["body.position"].values[:, 2].min() > 0.04
    assert np.median(run["contacts.sweeps"].values[-200:]) <= 2  # known again, the impulses need no search


def test_meshes_stand_on_each_other_and_on_boxes():
    pytest.importorskip("mujoco", reason="the extra `world` is not installed")
    world = pv.World()
    world.add_plane(friction=0.5)
    shapes = [
        pv.ConvexMesh(np.add(CUBE, (0, 0, 0.7)), position=(0, 0, -0.7)),
        pv.Box(0.2, 0.2, 0.2),
        pv.ConvexMesh(CUBE),
    ]
    for i, shape in enumerate(shapes):
        world.add_body(f"b{i}", shape, 1.0, position=(0.01 * i, 0, 0.1 + 0.2 * i), friction=0.5)
    run = pv.simulate(world, pv.PassiveMidpoint(), step=1e-3, until=0.3, engine="python")
    for i in range(3):
        moved = run[f"b{i}.position"].values - run[f"b{i}.position"].values[0]
        assert abs(moved).max() < 1e-4
    assert run.verdict.kind == "exact" and run.audit().ok
    changes = {"depth": 1e-11, "slip": 1e-8, "force": 1e-4, "impact": 1e-10}
    for what, change in changes.items():
        run.arrays["recorded"][100, run.recorded.index(f"contacts.{what}")] += change
    assert [finding.split()[7] for finding in run.audit().findings] == [f"contacts.{what}" for what in changes]


def test_a_mesh_deep_inside_another_body_is_refused_and_a_run_is_saved(tmp_path):
    with pytest.raises(InputError, match=r"'body' overlap by 0\.05"):
        dropped(pv.ConvexMesh(CUBE), position=(0, 0, 0.05))
    world = pv.World(contact=True)
    world.add_body("a", pv.ConvexMesh(CUBE), 1.0)
    world.add_body("b", pv.ConvexMesh(ICOSAHEDRON), 1.0, position=(0.1, 0.02, 0.01))
    with pytest.raises(InputError, match=r"'a' and 'b' overlap"):
        pv.simulate(world, pv.PassiveMidpoint(), step=1e-3, until=0.1, engine="python")
    run = dropped(pv.ConvexMesh(ICOSAHEDRON), position=(0, 0, 0.1), orientation=(0.8, 0.6, 0, 0), until=0.15)
    run.save(tmp_path / "run.zarr")
    again: Any = pv.load(tmp_path / "run.zarr")
    assert again.model.bodies["body"].shapes == run.model.bodies["body"].shapes and again.audit().ok
    again.snapshots(tmp_path / "run.png", times=(0, 0.15))
    assert (tmp_path / "run.png").stat().st_size > 5000


def test_a_surface_and_its_mirror_enclose_opposite_volumes():
    faces = np.array(triangles_of(CUBE_FACES))
    assert mass_of(CUBE, faces)[0] == pytest.approx(0.008) and mass_of(CUBE, faces[:, ::-1])[0] == pytest.approx(-0.008)
