"""The rasteriser's samples, compared with ray casting."""

import numpy as np
import pytest

from galley.domain.frames import inverse, rotation_rpy, transform
from galley.viz.render import raster_kernel
from galley.viz.render.meshes import box_mesh, cylinder_mesh, joined, sphere_mesh
from galley.viz.render.view import Camera

WIDTH, HEIGHT = 64, 48
SAMPLES = (0.375, 0.875, 0.125, 0.625)  # where a rotated grid has them, row by row
WHOLE = (0, 0, WIDTH, HEIGHT)


def drawn(mesh, camera, window=WHOLE):
    """1 / z and colour number of every sample, of a mesh lit evenly from everywhere."""
    near = np.zeros((4 * HEIGHT, WIDTH), dtype=np.float32)
    color = np.zeros((4 * HEIGHT, WIDTH), dtype=np.uint32)
    count = len(mesh.points)
    seen, lit = np.zeros((count, 6), dtype=np.float32), np.zeros((count, 2), dtype=np.float32)
    lens = np.array([camera.focal(HEIGHT), WIDTH / 2, HEIGHT / 2], dtype=np.float32)
    lamps = np.array([[0, 0, 0, 1.0]], dtype=np.float32)
    raster_kernel.place(
        mesh.points.astype(np.float32),
        mesh.normals.astype(np.float32),
        np.array([count]),
        np.ascontiguousarray(inverse(camera.X_WC)[None, :3], dtype=np.float32),
        lamps,
        lens,
        seen,
        lit,
    )
    raster_kernel.draw(
        mesh.triangles,
        (255.0 * mesh.colors).astype(np.float32),
        mesh.pictures,
        mesh.uvs.astype(np.float32),
        seen,
        lit,
        lens,
        np.zeros((1, 3), dtype=np.int64),
        np.zeros((1, 3), dtype=np.float32),
        np.array(window),
        np.zeros((4, 6)),
        near,
        color,
    )
    return near, color


def cast(mesh, camera):
    """As ``drawn``, by a ray through each sample (T. Moeller, B. Trumbore, 1997)."""
    row, column = np.mgrid[0 : 4 * HEIGHT, 0:WIDTH]
    x = column + np.array(SAMPLES)[row % 4]
    y = (row + 0.5) / 4.0
    focal = camera.focal(HEIGHT)
    rays = np.stack([(x - WIDTH / 2) / focal, (y - HEIGHT / 2) / focal, np.ones_like(x)], axis=-1)
    rays = rays.reshape(-1, 3)  # z = 1: what is found along them is depth
    X = inverse(camera.X_WC)
    near = np.zeros(len(rays))
    color = np.zeros((len(rays), 3))
    for triangle, paint in zip(mesh.triangles, mesh.colors, strict=True):
        a, b, c = mesh.points[triangle] @ X[:3, :3].T + X[:3, 3]
        e, f = b - a, c - a
        if np.cross(e, f) @ a >= 0.0:  # its back
            continue
        h = np.cross(rays, f)
        det = h @ e
        with np.errstate(divide="ignore", invalid="ignore"):
            u = (h @ -a) / det
            k = np.cross(-a, e)
            v = (rays @ k) / det
            z = (k @ f) / det
            hit = (u >= 0) & (v >= 0) & (u + v <= 1) & (z > 0.05) & (1 / z > near)
        near[hit], color[hit] = 1 / z[hit], paint
    return near.reshape(row.shape), color.reshape(*row.shape, 3)


def scattered(rng, around):
    """A large floor and bodies of all kinds, each in a colour of its own."""
    floor = box_mesh([20.0, 20.0, 0.1]).placed(transform(None, [0.0, 0.0, -1.0]))
    parts = [floor.painted([0.5, 0.4, 0.3])]
    for make in (
        lambda: box_mesh(rng.uniform(0.1, 0.8, 3)),
        lambda: cylinder_mesh(rng.uniform(0.05, 0.3), rng.uniform(0.1, 0.8)),
        lambda: sphere_mesh(rng.uniform(0.05, 0.4)),
    ):
        for _ in range(4):
            X = transform(rotation_rpy(*rng.uniform(-3, 3, 3)), around + rng.uniform(-0.8, 0.8, 3))
            parts.append(make().placed(X).painted(rng.uniform(0.1, 1.0, 3)))
    return joined(parts)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_samples_show_what_rays_hit(seed):
    rng = np.random.default_rng(seed)
    mesh = scattered(rng, np.zeros(3))
    camera = Camera(np.array([2.0, 0.0, 0.3]) + rng.uniform(-1, 1, 3), rng.uniform(-0.2, 0.2, 3))
    near, color = drawn(mesh, camera)
    expected, paint = cast(mesh, camera)
    parts = np.stack([color >> shift & 255 for shift in (0, 8, 16)], axis=-1) / 255.0
    same = np.abs(near - expected) < 1e-4 * np.maximum(expected, 0.1)
    assert same.mean() > 0.995  # the rest: samples on an edge
    assert (expected > 0).mean() > 0.3
    assert (np.abs(parts - paint).max(axis=-1)[same] < 0.01).mean() > 0.999


def test_what_reaches_behind_the_camera_is_cut_there():
    floor = box_mesh([20.0, 20.0, 0.1]).placed(transform(None, [0.0, 0.0, -0.5]))
    box = box_mesh([6.0, 0.2, 0.2]).placed(transform(None, [0.0, 0.3, -0.2]))
    mesh = joined([floor.painted([1.0, 0.0, 0.0]), box.painted([0.0, 1.0, 0.0])])
    camera = Camera([0.0, 0.0, 0.0], [1.0, 0.1, -0.2])
    near, _ = drawn(mesh, camera)
    expected, _ = cast(mesh, camera)
    assert (np.abs(near - expected) < 1e-3 * np.maximum(expected, 0.1)).mean() > 0.995
    assert near.max() > 1 / 0.5  # close to the camera, too


def test_neighbours_leave_no_gap_and_a_window_is_kept():
    """A finely divided wall fills every sample of its window, and none outside."""
    rng = np.random.default_rng(1)
    wall = sphere_mesh(5.0).placed(transform(rotation_rpy(*rng.uniform(-3, 3, 3)), [-5.5, 0, 0]))
    window = (10, 5, 50, 40)
    near, _ = drawn(wall, Camera([1.0, 0.0, 0.0], [0.0, 0.1, 0.0]), window)
    inside = np.zeros(near.shape, dtype=bool)
    inside[4 * window[1] : 4 * window[3], window[0] : window[2]] = True
    assert (near[inside] > 0).all()
    assert (near[~inside] == 0).all()


def test_a_pixel_is_the_mean_of_its_samples():
    rng = np.random.default_rng(2)
    parts = rng.integers(0, 256, size=(4 * HEIGHT, WIDTH, 3))
    color = (parts @ np.array([1, 256, 65536])).astype(np.uint32)
    picture = np.zeros((HEIGHT, WIDTH, 3), dtype=np.uint8)
    raster_kernel.resolve(np.array(WHOLE), color, picture)
    mean = parts.reshape(HEIGHT, 4, WIDTH, 3).mean(axis=1)
    assert np.abs(picture - mean).max() <= 0.5
