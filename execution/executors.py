"""Which executor runs a plan, in which world."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from galley.domain.scene import Scene
from galley.domain.state import State, initial_state
from galley.robots.model import RobotModel
from galley.simulation.executor import Executor
from galley.simulation.faults import Faults, parse_fault
from galley.simulation.kinematic import KinematicExecutor
from galley.simulation.noise import Noise, stream
from galley.simulation.physics import PhysicsExecutor
from galley.worlds.pybullet_world import PyBulletWorld

ROBOT_FILES = "robot"  # folder in a run's folder


@dataclass(frozen=True)
class Disturbance:
    """What is to go wrong: how the true world differs, what is seen of it, and what happens.

    Attributes:
        noise: or None. fault: text of ``simulation.faults``, or None.
        seed: of both.
    """

    noise: Noise | None = None
    fault: str | None = None
    seed: int = 0

    def faults(self, scene: Scene) -> Faults | None:
        """The faults; BadInput where the text is none."""
        return None if self.fault is None else parse_fault(self.fault, scene, self.seed)


def executor_for(
    kind: str,
    scene: Scene,
    robot: RobotModel,
    world: PyBulletWorld,
    folder: Path,
    disturbance: Disturbance,
    faults: Faults | None,
) -> Executor:
    """An executor that begins as the scene says, or as noise has it.

    Args:
        kind: ``physics``, ``kinematic`` or ``files``.
        scene: as it is planned with.
        world: in which contacts are looked up where nothing is simulated.
        folder: of the run, for files.
    """
    if kind == "physics":
        noise, seed = disturbance.noise, disturbance.seed
        if noise is None:
            return PhysicsExecutor(scene, robot, initial_state(scene), fault=faults)
        true, looks = noise.world(scene, stream(seed, "world")), stream(seed, "looks")

        def eye(state: State) -> State:
            return noise.seen(true, state, looks)

        return PhysicsExecutor(true, robot, initial_state(true), fault=faults, eye=eye)
    start = initial_state(scene)
    if kind == "files":
        from galley.simulation.files import FileExecutor

        inner = KinematicExecutor(world, start, "files")
        return FileExecutor(inner, scene, robot, folder / ROBOT_FILES)
    return KinematicExecutor(world, start)
