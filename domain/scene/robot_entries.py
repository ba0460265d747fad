"""The robot file, version 1, as pydantic models: data that a URDF lacks. See docs/robots.md.

A scene names a robot file (``robot.file``) or has its entries in place. Files are merged before
they are read, so that each error has its own file and line.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from galley.domain.scene.base_spec import MobileBaseSpec
from galley.domain.scene.entries import Posed, Rates, Rates2, about, needed
from galley.domain.scene.robot_file import STANDING, GripperSpec, Numbers, RobotFile, Spacing
from galley.domain.yaml_models import (
    FileModel,
    Length,
    Number,
    Pair,
    Positive,
    Sizes,
    Triple,
    Word,
    version,
)

ROBOT_VERSION = 1
_Limits = Annotated[tuple[Positive, ...], Field(min_length=1)]
_Links = Annotated[tuple[Word, ...], Length(2)]


class _LinkPose(Posed):
    """A pose in a link's frame."""

    link: Word = needed("the link")

    @property
    def spec(self) -> tuple[str, Numbers, Numbers]:
        """The pose as ``GripperSpec`` has it: link, xyz (m), rpy (rad)."""
        return self.link, self.xyz, self.rpy


class GripperEntry(FileModel):
    """The hand: two fingers that move together."""

    joints: dict[Word, Pair] = needed("joint: [closed, open], m or rad, of every finger joint")
    fingers: _Links = needed("the two links that touch what is grasped")
    urdf: Word | None = about("the gripper's own URDF (default: the arm's has it)")
    root: Word | None = about("its link that is mounted (default: its root)")
    mount: _LinkPose | None = about("the arm's link that carries it, needed with urdf")
    grasp: _LinkPose | None = about("the grasp frame (default: found from the meshes)")
    opening: Positive | None = about("m between the pads, open (default: found)")
    widest: Positive | None = about("m, widest item it can grasp (default: 2 mm less)")
    pad: Positive | None = about("m that the pads reach from the grasp centre (default: found)")
    to_palm: Positive | None = about("m from the grasp centre to the palm (default: found)")
    to_finger: Positive | None = about("m from a pad to the finger's middle (default: found)")
    force: Positive | None = about("N of each finger (default: the scene's finger_force)")
    opens_fully: bool = about("it approaches items fully open only, as pneumatic ones do", False)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if (self.urdf is None) != (self.mount is None):
            raise ValueError("urdf and mount go together: the gripper, and the link it stands on")
        still = [name for name, (closed, wide) in self.joints.items() if closed == wide]
        if still or not self.joints:
            raise ValueError(f"needs joints that move, got {still or 'none'}")
        return self

    @property
    def spec(self) -> GripperSpec:
        """The gripper as plain data."""
        measures = self.given("opening", "widest", "pad", "to_palm", "to_finger")
        return GripperSpec(
            joints=tuple((name, ends[0], ends[1]) for name, ends in self.joints.items()),
            fingers=(self.fingers[0], self.fingers[1]),
            mount=None if self.mount is None else self.mount.spec,
            grasp=None if self.grasp is None else self.grasp.spec,
            measures=tuple(measures.items()),
            **self.given("urdf", "root", "force", "opens_fully"),
        )


class ChassisEntry(FileModel):
    """A base that drives in every direction; by default that of Galley's kitchen."""

    size: Sizes | None = about("[length, width, top], m")
    ground_gap: Positive | None = about("of the chassis, m")
    p_BA: Triple | None = about("the arm's foot in the base's frame, m")
    column: Annotated[tuple[Positive, ...], Length(2)] | None = about("[length, width], m")
    column_offset: Number | None = about("m")
    plate: Sizes | None = about("[length, width, thickness], m")
    velocity: Rates | None = about("[x, y, heading], m/s and rad/s, at least 0.001")
    acceleration: Rates | None = about("[x, y, heading], m/s^2 and rad/s^2, at least 0.001")
    jerk: Rates | None = about("[x, y, heading], m/s^3 and rad/s^3, at least 0.001")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        MobileBaseSpec(**self.given())
        return self


class HolonomicEntry(ChassisEntry):
    """A base that drives in every direction: a chassis under the arm, or part of the URDF."""

    in_urdf: bool = about("the URDF has the base, and its root stands on the floor", False)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        rates = {"in_urdf", "velocity", "acceleration", "jerk"}
        if self.in_urdf and (measures := sorted(self.model_fields_set - rates)):
            raise ValueError(f"the URDF has the base's measures: leave out {', '.join(measures)}")
        MobileBaseSpec(**self.spec)
        return self

    @property
    def spec(self) -> dict[str, Any]:
        """What differs from the kitchen's base."""
        return self.given()


def _no_sideways(rates: Any) -> Any:
    if isinstance(rates, (list, tuple)) and len(rates) == 3:
        raise ValueError("a differential base does not drive sideways: give [ahead, heading]")
    return rates


_Ahead = Annotated[Rates2, BeforeValidator(_no_sideways)]


class DifferentialEntry(HolonomicEntry):
    """A base that rolls along its heading and turns on the spot."""

    velocity: _Ahead | None = about("[ahead, heading], m/s and rad/s, at least 0.001")
    acceleration: _Ahead | None = about("[ahead, heading], m/s^2 and rad/s^2, at least 0.001")
    jerk: _Ahead | None = about("[ahead, heading], m/s^3 and rad/s^3, at least 0.001")

    @property
    def spec(self) -> dict[str, Any]:
        """What differs from the kitchen's base."""
        rates = self.given("velocity", "acceleration", "jerk")
        along = {name: (ahead, ahead, turn) for name, (ahead, turn) in rates.items()}
        return self.given() | along | {"differential": True}


class RobotBaseEntry(FileModel):
    """The base on which the arm stands: fixed, or driving."""

    one_of = ("fixed", "holonomic", "differential")

    fixed: Posed | None = about("pose of the foot where the scene starts the base")
    holonomic: HolonomicEntry | None = about("a base that drives in every direction")
    differential: DifferentialEntry | None = about("one that rolls along its heading, and turns")

    @property
    def driving(self) -> HolonomicEntry | None:
        """The entry of a base that drives, or None."""
        return self.holonomic or self.differential


class SpacingEntry(FileModel):
    """Clearances and lengths of motions; the defaults suit an arm of about a metre."""

    margin: Positive | None = about("clearance of free motions, m (default: 0.005)")
    retreat: Positive | None = about("m of the lines to a contact and back (default: 0.08)")
    lift: Positive | None = about("m straight up from a support (default: 0.05)")
    step: Positive | None = about("m between the hand poses of a line (default: 0.01)")
    tilt: Positive | None = about(
        "rad by which an arm of less than six joints may miss a grasp's direction (default: 0.05)"
    )


class ArmEntry(FileModel):
    """An arm with its hand."""

    arm: Annotated[tuple[Word, ...], Field(min_length=1)] = needed("joints, from the foot on")
    folded: Annotated[tuple[Number, ...], Field(min_length=1)] = needed("angles in which it drives")
    gripper: GripperEntry
    velocity: _Limits | None = about("of the arm, rad/s or m/s (default: the URDF's)")
    acceleration: _Limits | None = about("of the arm, per s^2 (default: full speed in 0.25 s)")
    jerk: _Limits | None = about("of the arm, per s^3 (default: full acceleration in 0.05 s)")
    effort: _Limits | None = about("of its motors and springs, N m or N (default: the URDF's)")

    @model_validator(mode="after")
    def _one_value_a_joint(self) -> Self:
        for key in ("folded", "velocity", "acceleration", "jerk", "effort"):
            values = getattr(self, key)
            if values is not None and len(values) != len(self.arm):
                raise ValueError(f"{key} needs {len(self.arm)} values, one a joint of the arm")
        return self

    @property
    def own(self) -> dict[str, Any]:
        """The values that belong to this arm alone, as fields of ``RobotFile``."""
        limits = tuple(self.given("velocity", "acceleration", "jerk").items())
        own = {"gripper": self.gripper.spec, "limits": limits}
        return self.given("arm", "folded") | own | {"effort": self.effort or ()}


class RobotFileEntry(ArmEntry):
    """A robot file: the robot's URDF, its base, and its first arm with the hand."""

    galley_robot: Annotated[Number, version(ROBOT_VERSION)]
    name: Word = needed("of the robot")
    urdf: Word = needed("its URDF: a path beside this file, or package://NAME/PATH")
    base: RobotBaseEntry
    hand: Word | None = about("name of the hand, where there are others, as a scene's objects say")
    other_arms: dict[Word, ArmEntry] = about("further arms of the URDF, by their hands' names", {})
    convex_parts: Annotated[int, Field(ge=1, le=64)] | None = about(
        "largest number of convex hulls for a mesh (default: 8)"
    )
    convex_slack: Positive | None = about(
        "m by which such a hull may be larger, for fewer corners: faster (default: 0)"
    )
    spacing: SpacingEntry | None = about("clearances and lengths of its motions")
    without: tuple[Word, ...] = about("links to leave out, with all that they carry", ())
    held: dict[Word, Number] = about(
        "joint: rad or m at which it is held (default: nearest to zero), if no arm has it", {}
    )
    may_touch: tuple[_Links, ...] = about("pairs of links that are not checked", ())

    @model_validator(mode="after")
    def _hands(self) -> Self:
        every: tuple[ArmEntry, ...] = (self, *self.other_arms.values())
        joints = [joint for each in every for joint in (*each.arm, *each.gripper.joints)]
        if twice := {name for name in joints if joints.count(name) > 1}:
            raise ValueError(f"joints that are named twice: {', '.join(sorted(twice))}")
        if self.other_arms and self.hand is None:
            raise ValueError("hand is needed beside other_arms: the name of the first arm's hand")
        if self.hand in self.other_arms:
            raise ValueError(f"other_arms: '{self.hand}' is the first arm's hand already")
        if mounted := [name for name, each in self.other_arms.items() if each.gripper.mount]:
            raise ValueError(f"other_arms: '{mounted[0]}': the URDF must have this gripper")
        return self

    def file(self, source: str) -> RobotFile:
        """The robot file as plain data; ``source`` is its path."""
        base = self.base
        chassis = {} if base.driving is None else base.driving.spec
        first = RobotFile(
            source=source,
            **self.given("name", "urdf", "without", "convex_parts", "convex_slack"),
            **self.own,
            held=tuple(self.held.items()),
            hand=self.hand if self.other_arms and self.hand else "",
            drives=base.driving is not None,
            chassis=tuple(chassis.items()),
            foot=STANDING if base.fixed is None else (base.fixed.xyz, base.fixed.rpy),
            allowed=tuple((a, b) for a, b in self.may_touch),
            spacing=Spacing(**({} if self.spacing is None else self.spacing.given())),
        )
        others = self.other_arms.items()
        return replace(
            first, others=tuple(replace(first, hand=name, **each.own) for name, each in others)
        )
