"""Meshes of shapes and files: their volumes and placement."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image

from galley.collision.backends.drake_world import DrakeWorld
from galley.domain.frames import rotation_rpy, to_pose7, transform
from galley.viz.render import scene_meshes
from galley.viz.render.meshes import (
    MOST_TRIANGLES,
    box_mesh,
    cylinder_mesh,
    joined,
    read_visual,
    simplified,
    sphere_mesh,
)
from galley.viz.render.scene_meshes import SceneMeshes, link_meshes

CUBE = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\n"
SIDES = ("1 4 3 2", "5 6 7 8", "1 2 6 5", "2 3 7 6", "3 4 8 7", "4 1 5 8")


def volume(mesh):
    """By the divergence theorem: positive if the triangles face outwards."""
    a, b, c = (mesh.points[mesh.triangles[:, k]] for k in range(3))
    return float((a * np.cross(b, c)).sum() / 6.0)


def agreement(mesh):
    """How far the triangles' own normals agree with those of their corners: 1 for wholly."""
    a, b, c = (mesh.points[mesh.triangles[:, k]] for k in range(3))
    flat = np.cross(b - a, c - a)
    area = np.linalg.norm(flat, axis=1)
    means = mesh.normals[mesh.triangles].mean(axis=1)
    return np.asarray(((flat / np.maximum(area, 1e-12)[:, None]) * means).sum(axis=1)[area > 1e-12])


@pytest.mark.parametrize(
    ("mesh", "expected", "within"),
    [
        (box_mesh([0.2, 0.3, 0.5]), 0.03, 1e-12),
        (cylinder_mesh(0.2, 0.5), np.pi * 0.04 * 0.5, 0.004),
        (sphere_mesh(0.3), 4 / 3 * np.pi * 0.027, 0.01),
    ],
)
def test_shapes_have_their_volumes_and_face_outwards(mesh, expected, within):
    assert volume(mesh) == pytest.approx(expected, rel=within)
    assert agreement(mesh).min() > 0.9
    X = transform(rotation_rpy(0.3, -0.8, 2.0), [1.0, 2.0, 3.0])
    moved = mesh.placed(X, [1.0, 2.0, 0.5])
    assert volume(moved) == pytest.approx(volume(mesh))
    assert agreement(moved).min() > 0.85
    assert np.allclose(np.linalg.norm(moved.normals, axis=1), 1.0)
    assert volume(joined([mesh, moved])) == pytest.approx(2 * volume(mesh))


@pytest.mark.parametrize("written", ["{}", "{}//", "{}//1", "{}/1"])
def test_cubes_are_read_however_they_are_written(written, tmp_path):
    path = tmp_path / "cube.obj"
    # The one normal that some of them name is meant for the top: elsewhere it turns nothing round.
    sides = [
        " ".join(map(written.format, side.split())) if k == 1 or written != "{}//1" else side
        for k, side in enumerate(SIDES)
    ]
    path.write_text(CUBE + "vn 0 0 1\nvt 0 0\n" + "".join(f"f {side}\n" for side in sides))
    mesh, own = read_visual(path)
    assert not own
    assert len(mesh.triangles) == 12
    assert volume(mesh) == pytest.approx(1.0)
    assert agreement(mesh).min() == pytest.approx(1.0)


def test_colours_and_textures_come_from_the_materials(tmp_path):
    sheet = Image.new("RGB", (64, 64), (255, 0, 0))
    sheet.paste((0, 0, 255), (32, 0, 64, 64))  # right half blue
    sheet.save(tmp_path / "sheet.png")
    (tmp_path / "a.mtl").write_text(
        "newmtl green\nKd 0 1 0\nnewmtl picture\nKd 0.5 0.5 0.5\nmap_Kd sheet.png\n"
    )
    uvs = "vt 0.1 0.1\nvt 0.3 0.1\nvt 0.3 0.9\nvt 0.9 0.1\n"
    (tmp_path / "a.obj").write_text(
        f"mtllib a.mtl\n{CUBE}{uvs}usemtl green\nf 1 2 3\nusemtl picture\n"
        "f 1/1 2/2 3/3\nf 5/1 6/4 7/3\n"
    )
    mesh, own = read_visual(tmp_path / "a.obj")
    assert own
    assert mesh.pictures.tolist() == [-1, -1, 0]  # a texture is kept where it shows more than one
    np.testing.assert_allclose(mesh.colors, [[0, 1, 0], [0.5, 0, 0], [0.5, 0.5, 0.5]], atol=0.01)
    assert len(mesh.textures) == 1


def test_threads_that_simplify_at_once_get_what_one_alone_gets():
    many = [
        joined([sphere_mesh(0.1 * (k + 1)).placed(np.eye(4), 1.0 + 0.1 * i) for i in range(6)])
        for k in range(8)
    ]
    alone = [simplified(mesh, 300).points for mesh in many]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(2):
            together = pool.map(lambda mesh: simplified(mesh, 300).points, many)
            assert all(map(np.array_equal, alone, together))


def test_a_simplified_mesh_keeps_its_shape_and_colours():
    fine = sphere_mesh(0.3).painted([1.0, 0.0, 0.0])
    other = fine.placed(transform(None, [2.0, 0.0, 0.0])).painted([1.0, 1.0, 1.0])
    many = joined([fine, other, cylinder_mesh(0.1, 2.0), box_mesh((1.0, 0.2, 0.1))])
    assert len(many.triangles) > MOST_TRIANGLES
    few = simplified(many)
    assert len(few.triangles) <= 1.1 * MOST_TRIANGLES
    for end in (np.min, np.max):
        np.testing.assert_allclose(end(few.points, axis=0), end(many.points, axis=0), atol=0.01)
    assert volume(few) == pytest.approx(volume(many), rel=0.03)
    assert agreement(few).min() > 0.75
    assert {tuple(color) for color in few.colors} == {(1.0, 0.0, 0.0), (1.0, 1.0, 1.0)}


@pytest.mark.parametrize("text", ["v 0 0 x\n", "v 0 0 0\nf 1 2 3\n", "v 0 0 0\nf 1 a 1\n", "v 0\n"])
def test_a_file_that_makes_no_sense_is_refused(text, tmp_path):
    (tmp_path / "bad.obj").write_text(text)
    with pytest.raises(ValueError, match="bad"):
        read_visual(tmp_path / "bad.obj")


def test_bodies_are_where_drake_has_them(scene, robot, items):
    rng = np.random.default_rng(0)
    meshes = SceneMeshes(scene, robot)
    lower, upper = robot.limits
    with DrakeWorld(scene, robot) as world:
        for _ in range(5):
            q = rng.uniform(lower, upper)
            scene_q = rng.uniform(0.0, 0.4, len(scene.joints))
            moved = np.array(
                [
                    to_pose7(transform(rotation_rpy(*rng.uniform(-3, 3, 3)), rng.uniform(-1, 1, 3)))
                    for _ in items
                ]
            )
            world.set_arrays(q, scene_q, moved)
            poses = dict(zip(meshes.names, meshes.poses(q, scene_q, moved), strict=True))
            for name in (*scene.item_index, *(n for n in robot.links if n in poses)):
                np.testing.assert_allclose(poses[name], world.link_pose(name), atol=1e-6)


def test_covers_that_lie_upon_a_link_are_not_poked_through(robot, monkeypatch):
    """A simplified Panda has white specks on its black covers: films draw it as its files do."""
    shown = link_meshes(robot.urdf)
    monkeypatch.setattr(scene_meshes, "_MOST_OF_LINK", 10**9)
    whole = link_meshes.__wrapped__(robot.urdf)
    assert {name: len(mesh.triangles) for name, mesh in shown.items()} == {
        name: len(mesh.triangles) for name, mesh in whole.items()
    }
