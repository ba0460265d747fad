"""Straight pushes planned in the plane, executed in PyBullet, looked at and planned anew.

    python bench/pushing/slides.py [--quick] [--json FILE]

Three items lie on a plane; a cylinder is driven as planned, by no arm. Starts and goals are up to
0.3 m and any turn apart. PyBullet holds a box up at its corners, and pressure moves to those ahead
of a push; where an item is two boxes, corners share the weight anyhow. For the planner a box stands
on its corners evenly, and the T board on all of its area; it doesn't know a run's friction.
"""

from __future__ import annotations

from math import radians
from time import perf_counter

import numpy as np

from galley.bench.report import Section, Target, note, run_sections, table
from galley.collision.backends.bullet import pybullet as pb
from galley.domain.frames import Array, wrap
from galley.planar.pushing.straight import Slider, StraightPush, composed, plan_pushes, union

# name: boxes (x, y of the middle; sizes along x, y), height (m), mass (kg)
ITEMS = {
    "tray": (((0.0, 0.0, 0.30, 0.22),), 0.03, 0.6),
    "T board": (((0.0, 0.09, 0.24, 0.06), (0.0, -0.03, 0.06, 0.18)), 0.02, 0.5),
    "box": (((0.0, 0.0, 0.16, 0.10),), 0.05, 0.4),
}
FRICTION, RADIUS, SPEED, DT = 0.5, 0.012, 0.05, 1.0 / 240.0  # 1, m, m/s, s
NEAR, MOST = (0.01, radians(5.0)), 8  # m and rad of the goal; pushes
SHARES = (0.5, 0.9, 1.0)  # of a table's figures
_PUSHER = 1000.0  # kg: no contact slows it


def corners(boxes) -> list[Array]:
    """Of boxes (x, y, a, b), (4, 2) m each."""
    unit = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
    return [np.array(box[:2]) + unit * box[2:] for box in boxes]


def slider(name: str) -> Slider:
    """Of one of the items."""
    outlines = corners(ITEMS[name][0])
    bearing = outlines[0] if len(outlines) == 1 else None
    return Slider(union(outlines), RADIUS, FRICTION, bearing=bearing)


class Plane:
    """A free item on a plane in PyBullet, and a driven cylinder; to be closed.

    Args:
        friction: of item and plane. contact: of item and cylinder.
    """

    def __init__(self, name: str, friction: float = FRICTION, contact: float = FRICTION) -> None:
        boxes, self._height, mass = ITEMS[name]
        self._middle = slider(name).middle
        self._c = {"physicsClientId": pb.connect(pb.DIRECT)}
        pb.setGravity(0, 0, -9.81, **self._c)
        # Bullet keeps the threshold for all clients of a process, and others change it.
        settings = {"numSolverIterations": 200, "contactBreakingThreshold": 0.02}
        pb.setPhysicsEngineParameter(fixedTimeStep=DT, **settings, **self._c)
        ground = pb.createMultiBody(0, pb.createCollisionShape(pb.GEOM_PLANE, **self._c), **self._c)
        shape = pb.createCollisionShapeArray(
            [pb.GEOM_BOX] * len(boxes),
            halfExtents=[[a / 2, b / 2, self._height / 2] for _, _, a, b in boxes],
            collisionFramePositions=[[*(np.array(box[:2]) - self._middle), 0.0] for box in boxes],
            **self._c,
        )
        self._item = pb.createMultiBody(mass, shape, **self._c)
        round_ = pb.createCollisionShape(pb.GEOM_CYLINDER, radius=RADIUS, height=0.06, **self._c)
        self._pusher = pb.createMultiBody(_PUSHER, round_, **self._c)
        still = {"linearDamping": 0.0, "angularDamping": 0.0, **self._c}
        pb.changeDynamics(ground, -1, lateralFriction=1.0, **self._c)
        pb.changeDynamics(self._item, -1, lateralFriction=friction, frictionAnchor=1, **still)
        pb.changeDynamics(self._pusher, -1, lateralFriction=contact / friction, **still)

    def close(self) -> None:
        pb.disconnect(**self._c)

    def put(self, pose: Array) -> None:
        """The item's frame at a pose (3,) m, rad."""
        x, y, yaw = composed(pose, np.array([*self._middle, 0.0]))
        turned = pb.getQuaternionFromEuler([0.0, 0.0, yaw])
        self._place(self._item, [x, y, 0.5 * self._height], turned)
        self._lift()

    def pose(self) -> Array:
        """(3,) x, y, yaw."""
        at, turned = pb.getBasePositionAndOrientation(self._item, **self._c)
        yaw = pb.getEulerFromQuaternion(turned)[2]
        return composed(np.array([*at[:2], yaw]), np.array([*-self._middle, 0.0]))

    def push(self, push: StraightPush) -> Array:
        """Executed, then lifted off; the pose (3,) of the item then."""
        steps = int(np.ceil(push.length / (SPEED * DT)))
        step = push.direction * push.length / steps
        for k in range(steps):
            velocity = [*(step / DT), 9.81 * DT]  # gravity is all that acts on it besides
            self._place(self._pusher, [*(push.start + k * step), 0.036], velocity=velocity)
            pb.stepSimulation(**self._c)
        self._lift()
        return self.pose()

    def _place(self, body: int, at, turned=(0, 0, 0, 1), velocity=(0, 0, 0)) -> None:
        pb.resetBasePositionAndOrientation(body, at, turned, **self._c)
        pb.resetBaseVelocity(body, velocity, [0, 0, 0], **self._c)

    def _lift(self) -> None:
        for _ in range(20):
            self._place(self._pusher, [9.0, 9.0, 9.0])
            pb.stepSimulation(**self._c)


def drawn(seed: int) -> tuple[Array, Array]:
    """A start and a goal (3,)."""
    rng = np.random.default_rng(seed)
    way, turn, yaw = rng.uniform((0.0, -np.pi, -np.pi), (0.3, np.pi, np.pi))
    start = np.array([0.0, 0.0, rng.uniform(-np.pi, np.pi)])
    return start, np.array([way * np.cos(turn), way * np.sin(turn), yaw])


def episode(plane: Plane, pushed: Slider, start: Array, goal: Array, seed: int) -> list[list]:
    """Of each push: planning's time (s), what was predicted and what came (3,) each."""
    rng, found = np.random.default_rng(seed), []
    plane.put(start)
    for _ in range(MOST):
        began = perf_counter()
        plan = plan_pushes(pushed, plane.pose(), goal, rng, most=MOST - len(found))
        if not plan:
            break
        found.append([perf_counter() - began, plan[0].poses[-1], plane.push(plan[0])])
    return found


def off(a: Array, b: Array) -> tuple[float, float]:
    """Distance (m) and angle (rad) between two poses."""
    return float(np.hypot(*(a - b)[:2])), float(abs(wrap(a[2] - b[2])))


def there(pose: Array, goal: Array) -> bool:
    """Whether the item is where it should be."""
    return bool(np.less_equal(off(pose, goal), NEAR).all())


def measured(quick: bool) -> Section:
    """Of each item with the friction that the planner supposes, 30 % less, and 30 % more."""
    count, rows, targets, raw = 10 if quick else 100, [], [], {}
    for name in ITEMS:
        pushed = slider(name)
        note(f"{name}: {len(pushed.pushes.starts)} pushes rolled out, before any time is taken")
        for factor in (1.0, 0.7, 1.3):
            note(f"{name}, friction x {factor:g}")
            plane, runs, near = Plane(name, FRICTION * factor, FRICTION * factor), [], []
            for seed in range(count):
                start, goal = drawn(seed)
                runs.append(episode(plane, pushed, start, goal, seed))
                near.append(there(plane.pose(), goal))
            plane.close()
            share, pushes = float(np.mean(near)), [len(run) for run in runs]
            every = [each for run in runs for each in run]
            apart = np.array([off(said, came) for _, said, came in every]) * (1e3, 180.0 / np.pi)
            figures = (pushes, [each[0] for each in every], *apart.T)
            rows.append([f"{name}, friction x {factor:g}", f"{100 * share:.0f} %"])
            rows[-1] += ["; ".join(f"{a:.3g}" for a in np.quantile(f, SHARES)) for f in figures]
            raw[rows[-1][0]] = {"near": near, "pushes": pushes, "apart": apart.tolist()}
            if factor == 1.0:
                what = f"{name}: within 1 cm and 5 degrees"
                targets.append(Target.at_least(what, 0.9, share, ""))
    heads = ["reached", "pushes", "planning, s", "predicted, off by mm", "degrees"]
    table([f"{count} starts each; in half; 9 in 10; all at most", *heads], rows)
    return raw, targets


if __name__ == "__main__":
    raise SystemExit(run_sections(__doc__, {"a": measured}))
