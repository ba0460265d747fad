"""A motion of any arm as a page: obstacles, start and goal, a slider over time, the clearance."""

from __future__ import annotations

from pathlib import Path as File

import numpy as np
import trimesh

from galley.collision.collision_world import CollisionWorld
from galley.collision.kernel.arrays import BOX, CYLINDER, SPHERE, Solids
from galley.collision.solids import Solid, table
from galley.domain.failure import Failure
from galley.domain.frames import Array
from galley.motion.path import Path
from galley.motion.trajectory.timing import rest_to_rest
from galley.motion.trajectory.trajectory import Trajectory
from galley.robots.urdf_reader import read_tree
from galley.viz.render.meshes import (
    MOST_TRIANGLES,
    VisualMesh,
    box_mesh,
    cylinder_mesh,
    joined,
    shaded,
    sphere_mesh,
)
from galley.viz.render.scene_meshes import for_display, link_meshes
from galley.viz.render.scene_picture import around
from galley.viz.render.view import unit_vector
from galley.viz.replay.bodies import ROOT, draw, look_from, open_meshcat
from galley.viz.replay.recording import Replay, draw_path, page, record

_FPS, _MOST = 30.0, 600  # poses a second, and in all
_TRIANGLES = 25_000  # of all links: about 2 MB
_FAR = 0.3  # m, beyond which clearance is not measured
_COLORS = ((0.55, 0.63, 0.70), (0.72, 0.60, 0.48), (0.60, 0.68, 0.55), (0.66, 0.58, 0.68))
_HELD = (0.95, 0.75, 0.2)
_START, _GOAL = "#1f9d55", "#2f6fde"


def view(
    motion: Path | Trajectory | Failure,
    world: CollisionWorld | None = None,
    *,
    save: str | File | None = None,
) -> None:
    """Show a motion of any arm in the browser, or in the notebook that this is called in.

    The page has the obstacles, the arm, where it starts and ends, the tool's path, a slider over
    time, and how near the arm comes to what. It is served on the loopback address for as long as
    this process lives; where no browser opens, a warning in the log says where the page is.

    Args:
        motion: a path, timed by ``rest_to_rest``; or a trajectory.
        world: what it moves in. A path that ``plan`` found knows its own.
        save: write the page to this file and show nothing. It needs no other file and no network.

    Raises:
        FailureError: ``motion`` is a Failure; it says why there is none.
        ValueError: no world is given or known, or the motion is none of its robot.
        BadInput: ``save`` can't be written.
    """
    if isinstance(motion, Failure):
        motion.raise_()
    made = motion_page(motion, world)
    if save is None:
        made.show()
    else:
        made.save(save)


def motion_page(motion: Path | Trajectory, world: CollisionWorld | None = None) -> Replay:
    """The page of ``view``."""
    if not isinstance(motion, Path | Trajectory):
        raise ValueError(f"a Path or a Trajectory can be shown, no {type(motion).__name__}")
    world = world or getattr(motion, "world", None)
    if world is None:
        raise ValueError("what does it move in? Give the world: galley.view(motion, world)")
    robot = world.robot
    try:
        group = robot.group(motion.group)
    except KeyError as error:
        raise ValueError(error.args[0]) from error
    if len(motion.start) != group.size:
        raise ValueError(f"'{group.name}' has {group.size} joints, not {len(motion.start)}")
    curve = rest_to_rest(motion, group) if isinstance(motion, Path) else motion
    count = int(np.clip(np.ceil(_FPS * curve.duration), 1, _MOST - 1)) + 1
    times = np.linspace(0.0, curve.duration, count)
    assert world.q is not None
    Q = robot.with_groups(world.q, **{motion.group: curve(times)})
    tree, meshcat = read_tree(robot.urdf, robot.joints), open_meshcat()
    links = link_meshes(robot.urdf) or link_meshes(for_display(robot, shapes=True).urdf)
    held = world.attached_bodies
    on = [*map(tree.link, links), *((body.frame, np.eye(4)) for body in held)]
    meshes = [*links.values(), *(_held(body.solids) for body in held)]
    X_WF = [tree.poses(q) for q in Q]
    X_WB = np.array([[X[frame] @ X_FB for frame, X_FB in on] for X in X_WF])
    moving = draw(meshcat, meshes, f"{ROOT}/arm", min(MOST_TRIANGLES, _TRIANGLES // len(meshes)))
    draw(meshcat, _obstacles(world), f"{ROOT}/obstacles")
    record(meshcat, moving, X_WB, (count - 1) / curve.duration)
    tool = np.array([(tree.link_pose(robot.tool_link, q) @ robot.X_LT)[:3, 3] for q in Q])
    seen = np.vstack([tool, X_WB[:, :, :3, 3].reshape(-1, 3)])
    side = np.arctan2(*(tool.mean(axis=0) - X_WB[0, 0, :3, 3])[1::-1]) + 0.7
    look_from(meshcat, around(seen.min(axis=0), seen.max(axis=0), unit_vector(side, np.array(0.4))))
    least = [_nearest(world, q) for q in Q]
    distance = np.array([metres for metres, _ in least])
    k = int(distance.argmin())
    turned = np.ptp(X_WB, axis=0).max(axis=(1, 2)) > 1e-6
    data = {
        "title": f"{robot.name}, {motion.group}: {curve.duration:.2f} s",
        "duration": curve.duration,
        "moments": [
            {"time": t, **_caption(*found, world.margin)}
            for t, found in zip(times.tolist(), least, strict=True)
        ],
        "legend": [
            *draw_path(meshcat, tool, "path of the tool"),
            (_START, "start"),
            (_GOAL, "goal"),
            ("#fff", f"clearance: least {1e3 * distance[k]:.0f} mm, at {times[k]:.1f} s"),
            ("#ff6b5e", f"margin, {1e3 * world.margin:.0f} mm"),
        ],
        "ghosts": [(0.0, _START), (curve.duration, _GOAL)],
        "ghostly": [path.split("/") for path, own in zip(moving, turned, strict=True) if own],
        "clearance": {"values": distance.tolist(), "margin": world.margin},
    }
    return Replay(page(meshcat.StaticHtml(), data))


def _nearest(world: CollisionWorld, q: Array) -> tuple[float, str]:
    """Least distance (m, at most ``_FAR``) at q (n,) from what stands still, and of what pair."""
    fixed = world.fixed_bodies.index
    for contact in world.contacts(q, within=_FAR):
        if contact.a in fixed or contact.b in fixed:
            return contact.distance, f"{contact.a} to {contact.b}"
    return _FAR, ""


def _caption(distance: float, pair: str, margin: float) -> dict[str, str]:
    """What to say of a clearance, m."""
    near = f"{1e3 * distance:.0f} mm" if pair else f"more than {1e3 * _FAR:.0f} mm"
    alert = "in collision" if distance < 0.0 else "within the margin" if distance < margin else ""
    return {"action": f"clearance {near}", "phase": pair, "alert": alert}


def _obstacles(world: CollisionWorld) -> list[VisualMesh]:
    """The meshes of what stands still, in the world."""
    fixed = world.fixed_bodies
    poses = np.tile(np.eye(4), (len(fixed.arrays.body), 1, 1))
    poses[:, :3, :3] = fixed.arrays.pose[:, :9].reshape(-1, 3, 3)
    poses[:, :3, 3] = fixed.arrays.pose[:, 9:]
    meshes = zip(_solid_meshes(fixed.arrays.solids), poses, fixed.arrays.body.tolist(), strict=True)
    return [
        mesh.placed(X).painted(_COLORS[body % len(_COLORS)])
        for mesh, X, body in meshes
        if fixed.names[body] not in world.hidden
    ]


def _held(solids: tuple[Solid, ...]) -> VisualMesh:
    """The mesh of a body that moves with the robot, in the frame that carries it."""
    meshes = zip(_solid_meshes(table(solids)), solids, strict=True)
    return joined([mesh.placed(solid.X) for mesh, solid in meshes]).painted(_HELD)


def _solid_meshes(solids: Solids) -> list[VisualMesh]:
    """The mesh of each row, in the solid's own frame."""
    meshes = []
    for kind, a, b, c, *_, first, last in solids.shape.tolist():
        if kind == BOX:
            meshes.append(box_mesh((2.0 * a, 2.0 * b, 2.0 * c)))
        elif kind == CYLINDER:
            meshes.append(cylinder_mesh(a, 2.0 * b))
        elif kind == SPHERE:
            meshes.append(sphere_mesh(a))
        else:
            hull = trimesh.convex.convex_hull(solids.vertices[int(first) : int(last)])
            meshes.append(shaded(hull.vertices, hull.faces))
    return meshes
