"""Independent checks of a solution: the plan in PDDLGym, the optimized motions in Drake."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from galley.collision.checker import ContactPair
from galley.domain.failure import Failure, FailureKind
from galley.domain.pddl.formula import Fact
from galley.domain.scene.model import Scene
from galley.domain.state import State
from galley.motion.effects import effects, state_after
from galley.motion.motion import FREE, Motion
from galley.planning import GroundAction, replay, validate_actions
from galley.robots.model import RobotModel
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.optimize import optimize_trajectories
from galley.tamp.task import TampTask

if TYPE_CHECKING:
    from galley.collision.backends.drake_world import DrakeWorld

STEP = {"fingers": 0.005}  # m or rad between two audited states, by group
DEFAULT_STEP = 0.05  # the same for the other groups
DEPTH = 0.002  # m; less penetration counts as touching (engines round meshes differently)


@dataclass(frozen=True)
class PlanCheck:
    """The result of checking a plan against the user's own domain, twice.

    Attributes:
        own_validator: ``valid``, or why the plan is not valid.
        pddlgym: ``agrees``, ``disagrees``, ``missing``, ...
        message: PDDLGym's explanation.
        steps: number of actions that PDDLGym replayed.
    """

    own_validator: str
    pddlgym: str
    message: str
    steps: int

    @property
    def failure(self) -> Failure | None:
        """Why the plan is not valid, or None if it is."""
        valid = self.own_validator == "valid"
        if valid and self.pddlgym != "disagrees":
            return None
        why = self.message if valid else self.own_validator
        return Failure(FailureKind.CONTRADICTION, f"the plan is not valid: {why}")


def check_plan(
    task: TampTask, plan: tuple[GroundAction, ...]
) -> tuple[tuple[frozenset[Fact], ...], PlanCheck]:
    """The facts before each action and at the end, and the results of both checks."""
    verdict = validate_actions(task.domain, task.problem, plan)
    outside = replay(task.domain, task.problem, plan)
    said = "valid" if verdict.valid else verdict.message
    return verdict.states, PlanCheck(said, str(outside.status), outside.message, outside.steps)


@dataclass(frozen=True)
class AuditedMotions:
    """Final trajectories of the plan or of a recovery, checked in Drake.

    Attributes:
        motions: the motions, each with Drake's verdict in ``record.audit``.
        optimization_s: seconds spent on optimization, also during refinement.
        checks_s: seconds spent on Drake's audit; without optimization also those spent on torques
            and clearances.
    """

    motions: tuple[Motion, ...]
    optimization_s: float
    checks_s: float

    @property
    def failure(self) -> Failure | None:
        """The first motion that Drake finds in collision, or None."""
        for motion in self.motions:
            if motion.record.audit != FREE:
                return Failure(
                    FailureKind.BLOCKED,
                    f"Drake disagrees with the plan: {motion.record.audit}",
                    step=(motion.phase,),
                    certificate={"kind": "audit", "verdict": motion.record.audit},
                )
        return None


def optimize_and_audit(
    context: PlanningContext, motions: tuple[Motion, ...], start: State
) -> AuditedMotions:
    """Optimize the trajectories of motions that begin in ``start``, and audit them in Drake."""
    optimization_s = sum(motion.record.optimization_ms for motion in motions) / 1e3
    began = time.perf_counter()
    optimized = optimize_trajectories(context, motions, start)
    if context.settings.optimize != "none":
        now = time.perf_counter()
        optimization_s, began = optimization_s + now - began, now
    audited = audit(context.scene, context.robot, optimized, start)
    return AuditedMotions(audited, optimization_s, time.perf_counter() - began)


def audit(
    scene: Scene, robot: RobotModel, motions: tuple[Motion, ...], state: State
) -> tuple[Motion, ...]:
    """The motions with ``record.audit`` set: ``free``, or the pair that penetrates deepest.

    Pairs that a motion allows to touch don't count.

    Args:
        state: the State in which the first motion begins.
    """
    # Late: a run without a plan needs no Drake.
    from galley.collision.backends.drake_world import DrakeWorld

    audited = []
    with DrakeWorld(scene, robot) as world:
        for motion in motions:
            worst = _worst(world, scene, robot, motion, state)
            verdict = FREE
            if worst is not None:
                verdict = f"{worst.a} and {worst.b} penetrate by {-1e3 * worst.distance:.1f} mm"
            audited.append(replace(motion, record=replace(motion.record, audit=verdict)))
            state = state_after(scene, robot, motion, state)
    return tuple(audited)


def _worst(
    world: DrakeWorld, scene: Scene, robot: RobotModel, motion: Motion, state: State
) -> ContactPair | None:
    """The deepest penetration along a motion, among pairs that it doesn't allow; or None."""
    model = effects(scene, robot, motion, state)
    states = motion.trajectory.resampled(STEP.get(motion.group, DEFAULT_STEP))[1]
    worst: ContactPair | None = None
    for positions in world.positions(*model.along(states)):
        world.set_positions(positions)
        for contact in world.contacts(0.0, motion.allowed):
            if contact.distance < -DEPTH and (worst is None or contact.distance < worst.distance):
                worst = contact
    return worst
