"""A motion of any arm as a page: obstacles, start and goal, a slider over time, the clearance."""

from __future__ import annotations

from pathlib import Path as File

import numpy as np
from trimesh.convex import convex_hull

from galley.collision.collision_world import CollisionWorld
from galley.collision.kernel.arrays import BOX, CYLINDER, SPHERE, Floats, Solids
from galley.domain.failure import Failure
from galley.domain.frames import Array, transform
from galley.motion.path import Path
from galley.motion.trajectory.timing import rest_to_rest
from galley.motion.trajectory.trajectory import Trajectory
from galley.robots.urdf_reader import read_tree
from galley.viz.film.camera import grasp_centres
from galley.viz.render import meshes
from galley.viz.render.scene_meshes import for_display, link_meshes
from galley.viz.render.scene_picture import robot_camera
from galley.viz.replay.bodies import ROOT, draw, look_from, open_meshcat
from galley.viz.replay.recording import ReplayPage, draw_path, page, record

_FPS, _FEWEST, _MOST = 100.0, 300, 1000  # poses per second; the least and the most in all
_TRIANGLES = 25_000  # of all links: about 2 MB
_FAR = 0.3  # m, beyond which clearance is not measured
_COLORS = ((0.55, 0.63, 0.70), (0.72, 0.60, 0.48), (0.60, 0.68, 0.55), (0.66, 0.58, 0.68))
_HELD = (0.95, 0.75, 0.2)


def view(
    motion: Path | Trajectory | Failure,
    world: CollisionWorld | None = None,
    *,
    save: str | File | None = None,
) -> None:
    """Show a motion of any arm in the browser, or in the notebook that this is called in.

    The page shows the obstacles, the arm, its start and end, the tool's path, a slider over time,
    and the clearance with its pair. It is served on the loopback address for as long as this
    process lives. If no browser opens, a warning in the log gives the address of the page.

    Args:
        motion: a path, timed by ``rest_to_rest``; or a trajectory.
        world: the world in which it moves. A path from ``plan`` knows its own world.
        save: write the page to this file instead. It needs no other file and no network.

    Raises:
        FailureError: ``motion`` is a Failure; it says why there is none.
        KeyError: the world's robot has no such joint group.
        ValueError: no world is given or known, or the group has other joints.
        BadInput: ``save`` can't be written.
    """
    if isinstance(motion, Failure):
        motion.raise_()
    world = world or getattr(motion, "world", None)
    if world is None or not isinstance(motion, Path | Trajectory):
        raise ValueError("give a Path or a Trajectory, and its world: galley.view(motion, world)")
    robot, moving, fixed = world.robot, world.moving_bodies, world.fixed_bodies
    group = robot.group(motion.group)
    if len(motion.start) != group.size:
        raise ValueError(f"'{group.name}' has {group.size} joints, not {len(motion.start)}")

    # When and where the robot is.
    curve = rest_to_rest(motion, group) if isinstance(motion, Path) else motion
    count = int(np.clip(np.ceil(_FPS * curve.duration), _FEWEST, _MOST)) + 1
    positions = curve(np.linspace(0.0, curve.duration, count))
    Q = robot.with_groups(np.asarray(world.q), **{motion.group: positions})

    # What is drawn: the links, by their collision shapes where a URDF has no others; what is held,
    # on the frame that carries it; and what stands still.
    tree, meshcat = read_tree(robot.urdf, robot.joints), open_meshcat()
    links = link_meshes(robot.urdf) or link_meshes(for_display(robot, shapes=True).urdf)
    held = np.flatnonzero(moving.solids.part >= moving.own).tolist()
    on = [*map(tree.link, links), *((int(moving.solids.frame[k]), np.eye(4)) for k in held)]
    own = [*links.values()]
    own += [_mesh(moving.solids.solids, moving.solids.pose, k).painted(_HELD) for k in held]
    X_WB = np.array([[X[frame] @ X_FB for frame, X_FB in on] for X in map(tree.poses, Q)])
    paths = draw(meshcat, own, f"{ROOT}/arm", min(meshes.MOST_TRIANGLES, _TRIANGLES // len(own)))
    record(meshcat, paths, X_WB, (count - 1) / curve.duration)
    around_it = [
        _mesh(fixed.arrays.solids, fixed.arrays.pose, k).painted(_COLORS[body % len(_COLORS)])
        for k, body in enumerate(fixed.arrays.body.tolist())
        if fixed.names[body] not in world.hidden
    ]
    draw(meshcat, around_it, f"{ROOT}/obstacles")

    tool = grasp_centres(robot, Q)
    x, y, _ = tool.mean(axis=0) - X_WB[0, 0, :3, 3]
    look_from(meshcat, robot_camera(robot, Q[::30], np.arctan2(y, x)))
    data = {
        "title": f"{robot.name}, {motion.group}: {curve.duration:.2f} s",
        "duration": curve.duration,
        "legend": draw_path(meshcat, tool, "path of the tool"),
        "clearance": [_nearest(world, q) for q in Q],
        "margin": world.margin,
    }
    made = ReplayPage(page(meshcat.StaticHtml(), data))
    if save is None:
        made.show()
    else:
        made.save(save)


def _nearest(world: CollisionWorld, q: Array) -> tuple[float, str]:
    """The least distance (m, at most ``_FAR``) at q (n,) to a fixed body, and the pair."""
    for near in world.contacts(q, within=_FAR):
        if {near.a, near.b} & world.fixed_bodies.index.keys():
            return near.distance, f"{near.a} to {near.b}"
    return _FAR, ""


def _mesh(solids: Solids, poses: Floats, row: int) -> meshes.VisualMesh:
    """The mesh of a row of the kernel's tables, at its pose (12,)."""
    kind, a, b, c, *_, first, last = solids.shape[row].tolist()
    if kind == BOX:
        mesh = meshes.box_mesh((2.0 * a, 2.0 * b, 2.0 * c))
    elif kind in (CYLINDER, SPHERE):
        mesh = meshes.sphere_mesh(a) if kind == SPHERE else meshes.cylinder_mesh(a, 2.0 * b)
    else:
        hull = convex_hull(solids.vertices[int(first) : int(last)])
        mesh = meshes.shaded(hull.vertices, hull.faces)
    return mesh.placed(transform(poses[row, :9].reshape(3, 3), poses[row, 9:]))
