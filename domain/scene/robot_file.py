"""The contents of a robot file as plain data: what the URDF lacks. See docs/robots.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from galley.domain.scene.base_spec import MobileBaseSpec

Numbers = tuple[float, ...]
HAND_FRAME = "hand_frame"
"""The name of the link that is added to the hand: z points out of it, fingers close along y."""
STANDING: tuple[Numbers, Numbers] = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))

CONVEX_PARTS = 8
"""Largest number of convex hulls that approximate a mesh of a link."""


@dataclass(frozen=True)
class Spacing:
    """Clearances and lengths of a robot's motions, in metres, which depend on its size.

    Attributes:
        margin: clearance that free motions keep.
        retreat: length of the straight lines to a contact and back from it.
        lift: height of the straight lift from a support.
        step: largest distance between the hand poses of a line.
        tilt: angle (rad) by which an arm of fewer than six joints may miss a grasp's direction.
    """

    margin: float = 0.005
    retreat: float = 0.08
    lift: float = 0.05
    step: float = 0.01
    tilt: float = 0.05

    @property
    def narrow(self) -> float:
        """Clearance (m) that free motions keep where there is no room for ``margin``."""
        return 0.5 * self.margin


@dataclass(frozen=True)
class GripperSpec:
    """A gripper of two fingers, of which one may be fixed, as the robot file describes it.

    Attributes:
        joints: every joint that moves a finger: name, closed position, open position, m or rad.
        fingers: the two links that touch what is grasped.
        urdf: the gripper's own URDF; empty if the arm's URDF has the gripper.
        root: the link of that URDF to be mounted; empty for its root.
        mount: the arm's link that carries the gripper, and the pose there: xyz (m), rpy (rad).
        grasp: a link, and the grasp frame T in it: xyz (m), rpy (rad); None finds it from the
            meshes.
        measures: the dimensions (m) of ``robots.model.Gripper`` that the file gives.
        force: largest force (N) of each finger; None for the scene's ``finger_force``.
        opens_fully: whether it can approach an item fully open only.
    """

    joints: tuple[tuple[str, float, float], ...]
    fingers: tuple[str, str]
    urdf: str = ""
    root: str = ""
    mount: tuple[str, Numbers, Numbers] | None = None
    grasp: tuple[str, Numbers, Numbers] | None = None
    measures: tuple[tuple[str, float], ...] = ()
    force: float | None = None
    opens_fully: bool = False


@dataclass(frozen=True)
class RobotFile:
    """The contents of a robot file. It is hashable, so that the model made from it can be cached.

    Attributes:
        source: path of the robot file, for messages.
        name: the robot's name.
        urdf: path of the URDF, or ``package://`` and the path in that package.
        arm: names of the arm's joints, from the foot on.
        folded: configuration of the arm in which the base drives, rad or m.
        gripper: the hand of the arm.
        drives: whether the base drives; otherwise it stands where the scene starts it.
        chassis: the values of a driving base that differ from the kitchen's base.
        foot: for a fixed base, the URDF's root in the base's frame: xyz (m), rpy (rad).
        limits: ``velocity``, ``acceleration`` and ``jerk`` of the arm, if the file gives them.
        effort: limits of the arm's motors and springs together, N m or N; empty for the URDF's.
        allowed: pairs of links that may touch.
        without: links of the URDF to leave out, with everything that they carry.
        held: name and position (rad or m) of joints that are held there. Other joints that belong
            to no arm, gripper or base are held as near to zero as possible.
        convex_parts: largest number of convex hulls that approximate a mesh.
        convex_slack: length (m) by which such a hull may exceed the mesh's, to have fewer corners.
        spacing: clearances and lengths of its motions.
        hand: name of the hand if the robot has several; else empty.
        others: further arms on the same base, each as the robot file of a robot with that arm only.
    """

    source: str
    name: str
    urdf: str
    arm: tuple[str, ...]
    folded: tuple[float, ...]
    gripper: GripperSpec
    drives: bool = False
    chassis: tuple[tuple[str, Any], ...] = ()
    foot: tuple[Numbers, Numbers] = STANDING
    limits: tuple[tuple[str, tuple[float, ...]], ...] = ()
    effort: tuple[float, ...] = ()
    allowed: tuple[tuple[str, str], ...] = ()
    without: tuple[str, ...] = ()
    held: tuple[tuple[str, float], ...] = ()
    convex_parts: int = CONVEX_PARTS
    convex_slack: float = 0.0
    spacing: Spacing = Spacing()
    hand: str = ""
    others: tuple[RobotFile, ...] = ()

    @property
    def arms(self) -> tuple[RobotFile, ...]:
        """All arms, this one first, each as the robot file of a robot with that arm only."""
        return self, *self.others

    @property
    def hand_frame(self) -> str:
        """The name of the link that is added to the hand."""
        return f"{HAND_FRAME}_{self.hand}" if self.hand else HAND_FRAME

    def base(self, scene: MobileBaseSpec, start: Numbers) -> MobileBaseSpec:
        """The base: it drives within the limits of ``scene``; a fixed one stands at ``start``."""
        room = (scene.lower, scene.upper) if self.drives else (start, start)
        return MobileBaseSpec(**dict(self.chassis) | {"lower": room[0], "upper": room[1]})
