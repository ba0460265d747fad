"""Convex parts of meshes: they cover the mesh, and leave its notch free."""

import numpy as np
import pytest
import trimesh

from galley.domain.meshes import CollisionMesh, hull, read_mesh
from galley.robots.files import pybullet_data_file
from galley.robots.meshes import convex_parts, parts_as_obj, simplified


def solid(*boxes):
    """The union of boxes (low, high), as a mesh with the walls between them left in."""
    made = trimesh.util.concatenate([trimesh.creation.box(bounds=bounds) for bounds in boxes])
    return CollisionMesh(np.array(made.vertices), np.array(made.faces))


L = solid(([0, 0, 0], [3, 1, 1]), ([0, 0, 0], [1, 1, 3]))
U = solid(([0, 0, 0], [3, 1, 1]), ([0, 0, 0], [1, 1, 3]), ([2, 0, 0], [3, 1, 3]))
BALL = trimesh.creation.icosphere(2)
LINK = trimesh.load(
    pybullet_data_file("xarm/xarm_description/meshes/xarm6/visual/link3.stl"), force="mesh"
)


@pytest.mark.parametrize("name", ["L", "U", "link"])
def test_the_hulls_of_the_parts_cover_the_mesh_and_its_inside(name):
    link = CollisionMesh(np.array(LINK.vertices), np.array(LINK.faces))
    mesh = {"L": L, "U": U, "link": link}[name]
    hulls = [hull(part.points) for part in convex_parts(mesh, 8)]
    assert 1 < len(hulls) <= 8
    points, _ = trimesh.sample.sample_surface(
        trimesh.Trimesh(mesh.points, mesh.triangles), 5000, seed=0
    )
    if name != "link":  # points inside, by the boxes
        rng = np.random.default_rng(0)
        points = np.vstack([points, rng.uniform([0, 0, 0], [3, 1, 1], (1000, 3))])
    depth = np.min([each.distance(points) for each in hulls], axis=0)
    assert depth.max() < 1e-9


def test_what_a_notch_leaves_free_is_free():
    hulls = [hull(part.points) for part in convex_parts(U, 8)]
    gap = np.random.default_rng(0).uniform([1.25, 0, 1.25], [1.75, 1, 3], (500, 3))
    assert min(each.distance(gap).min() for each in hulls) > 0.0
    assert hull(U.points).distance(gap).max() < 0.0


def test_a_convex_mesh_and_points_without_triangles_stay_whole():
    ball = CollisionMesh(np.array(BALL.vertices), np.array(BALL.faces))
    assert convex_parts(ball, 8) == [ball]
    cloud = CollisionMesh(ball.points, np.empty((0, 3), dtype=np.int64))
    assert convex_parts(cloud, 8) == [cloud]
    assert len(convex_parts(U, 2)) == 2


def test_the_files_of_parts_hold_their_hulls_alone():
    path = pybullet_data_file("xarm/xarm_description/meshes/xarm6/visual/link3.stl")
    (whole,) = parts_as_obj(path, 1)
    for file in (whole, *parts_as_obj(path, 8)):
        mesh = read_mesh(file)
        closed = trimesh.Trimesh(mesh.points, mesh.triangles)
        assert closed.is_watertight
        assert closed.is_convex
    points = read_mesh(whole).points
    assert len(points) < len(LINK.vertices) / 2
    assert hull(points).distance(LINK.vertices).max() < 1e-9


@pytest.mark.parametrize("slack", [1e-3, 1e-4])
def test_a_simplified_hull_covers_the_mesh_reaches_no_further_and_has_few_corners(slack):
    """A plate of 60 x 40 x 10 mm with edges rounded by 3 mm, a ball of 30 mm, and a needle."""
    u = np.linspace(0.0, np.pi, 41)
    ball = np.array(
        [[np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)] for a in u for b in 2.0 * u[:-1]]
    )
    needle = np.vstack([ball * [0.002, 0.002, 0.0], [[0.001, 0.0, 0.3]]])
    for points in (np.sign(ball) * [0.027, 0.017, 0.002] + 0.003 * ball, 0.015 * ball, needle):
        found = hull(simplified(points, slack))
        assert found.distance(points).max() < 1e-9
        assert hull(points).distance(found.vertices).max() <= slack + 1e-12
        assert len(found.vertices) < 0.8 * len(hull(points).vertices)
