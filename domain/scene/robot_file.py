"""What a robot file says of a robot, beside its URDF, as plain data. See docs/robots.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from galley.domain.scene.base_spec import MobileBaseSpec

Numbers = tuple[float, ...]
HAND_FRAME = "hand_frame"
"""The link that is added in the hand: z points out of it, the fingers close along y."""
STANDING: tuple[Numbers, Numbers] = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))

CONVEX_PARTS = 8
"""Most convex hulls that stand for a mesh of a link."""


@dataclass(frozen=True)
class Spacing:
    """How closely a robot works: lengths in metres that suit its size.

    Attributes:
        margin: clearance that free motions keep.
        retreat: of the straight lines to a contact and back from it.
        lift: straight up from a support.
        step: between the hand poses of a line, at most.
        tilt: rad by which an arm of less than six joints may miss the direction of a grasp.
    """

    margin: float = 0.005
    retreat: float = 0.08
    lift: float = 0.05
    step: float = 0.01
    tilt: float = 0.05

    @property
    def narrow(self) -> float:
        """Clearance (m) that free motions keep where they have no more room."""
        return 0.5 * self.margin


@dataclass(frozen=True)
class GripperSpec:
    """Two fingers, of which one may stand still, as the robot file describes them.

    Attributes:
        joints: name and position, closed and open, of every joint that moves a finger.
        fingers: the two links that touch what is grasped.
        urdf: the gripper's own URDF; empty if the arm's has it. root: its link to be mounted.
        mount: the arm's link that carries it, and where there: xyz (m) and rpy (rad).
        grasp: link, and the grasp frame T in it: xyz (m) and rpy (rad); None: from the meshes.
        measures: those of ``robots.model.Gripper`` that the file gives, m.
        force: N of each finger; None: the scene's.
        opens_fully: whether it comes to an item fully open only.
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
    """A robot file's contents. Hashable: one makes one model.

    Attributes:
        source: the file, for messages.
        urdf: path, or ``package://`` and the path in that package.
        arm: names of the arm's joints, from the foot on. folded: configuration in which it drives.
        drives: whether it has a base that drives; else it stands where the scene starts it.
        chassis: what differs of that base from the kitchen's.
        foot: of a fixed one, the URDF's root in the base's frame: xyz (m) and rpy (rad).
        limits: ``velocity``, ``acceleration`` and ``jerk`` of the arm that the file gives.
        effort: N m or N, of the arm's motors with what springs carry; empty: the URDF's.
        allowed: pairs of links that may touch.
        without: links of the arm's URDF that this robot lacks, with all that they carry.
        held: name and position, rad or m, of joints that are held there; others that are in no arm,
            gripper or base are held nearest to zero.
        convex_parts: most convex hulls that stand for a mesh. convex_slack: m, by which they may be
            larger than the mesh's, for fewer corners.
        spacing: lengths of its motions.
        hand: name of its hand, where there are others.
        others: further arms on the same base, each as the file of a robot that has it alone.
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
        """Each arm, this one first, as the file of a robot that has it alone."""
        return self, *self.others

    @property
    def hand_frame(self) -> str:
        """The link that is added in the hand."""
        return f"{HAND_FRAME}_{self.hand}" if self.hand else HAND_FRAME

    def base(self, scene: MobileBaseSpec, start: Numbers) -> MobileBaseSpec:
        """The base: its room to drive is the scene's; one that is fixed stands at ``start``."""
        room = (scene.lower, scene.upper) if self.drives else (start, start)
        return MobileBaseSpec(**dict(self.chassis) | {"lower": room[0], "upper": room[1]})
