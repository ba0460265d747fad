"""Time to film a stored run, compared with the run's duration.

    python bench/viz/film.py RUN [--height 720] [--fps 20] [--workers 1 2]
    pip install fast-simplification && python bench/viz/film.py RUN --peer

RUN is a run folder with ``states.npz``, of a run in the kitchen unless ``--scene`` names another
scene file. Each film is made once, after an uncounted warm-up film. Besides wall time it prints
processor time, of this process and its children, divided by the number of cores: the time
on an idle machine. ``of run`` is the ratio to the run's duration.

``--peer`` also draws pictures of the run with Drake's VTK engine, the fastest peer tried
(docs/viz.md): the same bodies, meshes simplified to a quarter, only the changed window redrawn;
without captions and encoder, in this process.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from galley.domain.frames import Array
from galley.domain.log import Log
from galley.domain.scene.model import Scene
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import KITCHEN
from galley.robots.model import RobotModel
from galley.robots.panda.models import mobile_panda
from galley.viz.film.camera import film_cameras
from galley.viz.film.frames import frame_times, resample
from galley.viz.film.video import CHUNK, FilmOptions, film
from galley.viz.render.meshes import VisualMesh
from galley.viz.render.renderer import BACKGROUND, changed_window
from galley.viz.render.scene_meshes import SceneMeshes
from galley.viz.render.view import Camera, Image

_LARGE = 2500  # triangles: meshes with more are simplified for the peer


@dataclass(frozen=True)
class Row:
    """One film.

    Attributes:
        film_s, run_s: how long film and run last.
        wall_s, processor_s: what filming took; processor time is the sum over all processes.
        cores: that the processor time is divided by.
        megabytes: of the file.
    """

    workers: int
    film_s: float
    run_s: float
    wall_s: float
    processor_s: float
    cores: int
    megabytes: float

    def line(self) -> str:
        """As a row of the table."""
        free = self.processor_s / self.cores
        return (
            f"{self.workers:7d} {self.wall_s:7.1f} {self.processor_s:7.1f}"
            f" {self.film_s / self.wall_s:12.2f} {self.film_s / self.processor_s:12.2f}"
            f" {self.wall_s / self.run_s:12.2f} {free / self.run_s:12.2f} {self.megabytes:5.1f}"
        )


def processor() -> float:
    """Seconds of processor time of this process and of those that it waited for."""
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        total += used.ru_utime + used.ru_stime
    return total


class DrakePeer:
    """Drake's VTK engine, without shadows, fed with the bodies that our renderer draws."""

    def __init__(
        self, scene: Scene, robot: RobotModel, width: int, height: int, folder: Path
    ) -> None:
        from pydrake import geometry

        self._meshes = SceneMeshes(scene, robot)
        self._size = (width, height)
        self._graph = geometry.SceneGraph()
        lamps = [(("world", (-0.62, -0.34, -0.70)), 0.66), (("camera", (0.12, 0.18, 1.0)), 0.57)]
        look = geometry.RenderEngineVtkParams(
            default_clear_color=np.array(BACKGROUND),
            lights=[
                geometry.LightParameter(
                    type="directional", frame=frame, direction=np.array(way), intensity=strength
                )
                for (frame, way), strength in lamps
            ],
        )
        self._graph.AddRenderer("vtk", geometry.MakeRenderEngineVtk(look))
        self._source = self._graph.RegisterSource("bodies")
        self._frames = []
        for k, mesh in enumerate(self._meshes.meshes):
            frame = self._graph.RegisterFrame(self._source, geometry.GeometryFrame(f"body_{k}"))
            self._frames.append(frame)
            self._add(frame, simplified(mesh), folder / f"body_{k}")
        self._context = self._graph.CreateDefaultContext()
        signs = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
        boxes = [(m.points.min(axis=0), np.ptp(m.points, axis=0)) for m in self._meshes.meshes]
        self._corners = np.array([low + signs * size for low, size in boxes])
        self._camera: Camera | None = None
        self._poses = np.zeros((0, 4, 4))
        self._picture: Image = np.zeros((height, width, 3), dtype=np.uint8)

    def _add(self, frame: object, mesh: VisualMesh, path: Path) -> None:
        """Register a geometry for each colour and texture of a mesh."""
        from PIL import Image as PilImage
        from pydrake import geometry
        from pydrake.math import RigidTransform

        kinds = np.concatenate([mesh.pictures[:, None], np.round(mesh.colors, 2)], axis=1)
        kinds, kind = np.unique(kinds, axis=0, return_inverse=True)
        for n, (picture, *color) in enumerate(kinds):
            corners = mesh.triangles[kind.ravel() == n].ravel()
            lines = [f"v {x} {y} {z}" for x, y, z in mesh.points[corners]]
            lines += [f"vt {u} {v}" for u, v in mesh.uvs[corners]]
            lines += [f"vn {x} {y} {z}" for x, y, z in mesh.normals[corners]]
            for k in range(1, len(corners), 3):
                lines.append("f " + " ".join(f"{i}/{i}/{i}" for i in (k, k + 1, k + 2)))
            file = path.with_name(f"{path.name}_{n}.obj")
            file.write_text("\n".join(lines) + "\n")
            looks = geometry.PerceptionProperties()
            if picture >= 0:
                texture = file.with_suffix(".png")
                PilImage.fromarray(mesh.textures[int(picture)]).save(texture)
                looks.AddProperty("phong", "diffuse_map", str(texture))
            else:
                looks.AddProperty("phong", "diffuse", geometry.Rgba(*color, 1.0))
            shape = geometry.Mesh(str(file), 1.0)
            instance = geometry.GeometryInstance(RigidTransform(), shape, file.stem)
            instance.set_perception_properties(looks)
            self._graph.RegisterGeometry(self._source, frame, instance)

    def render(self, q: Array, scene_q: Array, items: Array, camera: Camera) -> Image:
        """See ``Renderer.render``."""
        from pydrake import geometry
        from pydrake.math import RigidTransform
        from pydrake.systems.sensors import CameraInfo

        poses = self._meshes.poses(q, scene_q, items)
        window = np.array([0, 0, *self._size])
        if self._camera is not None and camera.same(self._camera):
            moved = np.abs(poses - self._poses).max(axis=(1, 2)) > 2e-5
            poses = np.where(moved[:, None, None], poses, self._poses)
            window = changed_window(
                self._corners[moved], self._poses[moved], poses[moved], camera, *self._size
            )
        self._camera, self._poses = camera, poses
        left, top, right, bottom = window.tolist()
        if right > left:
            vector = geometry.FramePoseVector()
            for frame, X in zip(self._frames, poses, strict=True):
                vector.set_value(frame, RigidTransform(X))
            self._graph.get_source_pose_port(self._source).FixValue(self._context, vector)
            width, height = self._size
            focal, middle = camera.focal(height), (0.5 * width - left, 0.5 * height - top)
            lens = CameraInfo(right - left, bottom - top, focal, focal, *middle)
            core = geometry.RenderCameraCore(
                "vtk", lens, geometry.ClippingRange(0.05, 30.0), RigidTransform()
            )
            drawn = (
                self._graph.get_query_output_port()
                .Eval(self._context)
                .RenderColorImage(
                    geometry.ColorRenderCamera(core),
                    self._graph.world_frame_id(),
                    RigidTransform(camera.X_WC),
                )
            )
            self._picture = self._picture.copy()
            self._picture[top:bottom, left:right] = drawn.data[..., :3]
        return self._picture


def simplified(mesh: VisualMesh) -> VisualMesh:
    """A large mesh with about ``_LARGE`` triangles, each in the colour of the nearest old one."""
    if len(mesh.triangles) <= _LARGE:
        return mesh
    import fast_simplification
    from scipy.spatial import cKDTree

    points, index = np.unique(np.round(mesh.points, 6), axis=0, return_inverse=True)
    points, triangles = fast_simplification.simplify(
        points.astype(np.float32),
        index.ravel()[mesh.triangles].astype(np.int32),
        target_reduction=1.0 - _LARGE / len(mesh.triangles),
    )
    corners = points[triangles]
    flat = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    flat /= np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-12)
    _, old = cKDTree(mesh.points[mesh.triangles].mean(axis=1)).query(corners.mean(axis=1))
    near = cKDTree(np.hstack([mesh.points, 0.01 * mesh.normals]))
    loose = corners.reshape(-1, 3).astype(np.float64)
    _, at = near.query(np.hstack([loose, 0.01 * np.repeat(flat, 3, axis=0)]))
    return VisualMesh(
        loose,
        mesh.normals[at],
        np.zeros((len(loose), 2)),
        np.arange(len(loose), dtype=np.int32).reshape(-1, 3),
        mesh.colors[old],
        np.full(len(triangles), -1, dtype=np.int32),
    )


def tell_peer(log: Log, scene: Scene, robot: RobotModel, fps: float, size: dict[str, int]) -> None:
    """Time Drake's engine on ten chunks of pictures from all over the run."""
    frames = resample(log, robot, frame_times(log, fps))
    lines = [str(line) for line in log.motions]
    cameras = film_cameras(frames, lines, scene, robot, fps)
    starts = np.linspace(0, max(len(frames.time) - CHUNK, 0), 10).astype(int)
    chosen = [k for s in starts for k in range(s, min(s + CHUNK, len(frames.time)))]
    with tempfile.TemporaryDirectory() as folder:
        peer = DrakePeer(scene, robot, size["width"], size["height"], Path(folder))
        for k in [chosen[-1], *chosen]:
            if k == chosen[0]:
                used = processor()
            peer.render(frames.q[k], frames.scene_q[k], frames.items[k], cameras[k])
    spent = (processor() - used) / len(chosen)
    share = spent * len(frames.time) / log.duration
    print(
        f"Drake's VTK: {spent:.3f} s of processor time a picture: {0.5 * share:.2f} of the "
        "run's duration on two free cores, before captions and encoder"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--scene", type=Path, default=KITCHEN / "kitchen.yaml")
    parser.add_argument("--height", type=int, default=720)
    parser.add_argument("--fps", type=float, default=20.0)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    log, scene = Log.load(arguments.run / "states.npz"), load_scene(arguments.scene)
    robot = mobile_panda(scene.robot.base)
    size = {"width": arguments.height * 16 // 9 // 2 * 2, "height": arguments.height // 2 * 2}
    cores = len(os.sched_getaffinity(0))
    print(f"a {log.mode} run of {log.duration:.1f} s, {arguments.height}p, {arguments.fps:g} fps")
    print("workers  wall s   cpu s  film s/wall   film s/cpu  wall of run  cpu of run    MB")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        speed = max(log.duration, 1e-3)  # all of the run in a second
        film(log, scene, robot, path, FilmOptions(fps=4, hold=0, speed=speed, **size))
        for workers in arguments.workers:
            used, began = processor(), time.monotonic()
            options = FilmOptions(fps=arguments.fps, workers=workers, **size)
            info = film(log, scene, robot, path, options)
            wall, spent = time.monotonic() - began, processor() - used
            megabytes = path.stat().st_size / 1e6
            row = Row(workers, info.duration_s, log.duration, wall, spent, min(cores, 2), megabytes)
            print(row.line(), flush=True)
            rows.append(asdict(row))
    if arguments.peer:
        tell_peer(log, scene, robot, arguments.fps, size)
    load = np.round(os.getloadavg(), 1).tolist()
    print(f"load of the machine over the last 1, 5 and 15 minutes: {load}; cores {cores}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"rows": rows, "load": load}, indent=1) + "\n")


if __name__ == "__main__":
    main()
