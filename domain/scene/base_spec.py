"""Dimensions and limits of the mobile base."""

from __future__ import annotations

from dataclasses import dataclass

Triple = tuple[float, float, float]


@dataclass(frozen=True)
class MobileBaseSpec:
    """A mobile base that carries an arm. Lengths in metres, angles in radians.

    Frame B lies on the floor under the middle of the chassis, x forwards; the arm faces forwards.

    Attributes:
        size: length, width and top of the chassis.
        ground_gap: height of the chassis' underside, and of its collision box, above the floor.
        p_BA: where the arm's foot A stands in B.
        column: length and width of the column between chassis and arm.
        plate: length, width and thickness of the plate on the column, under the arm's foot.
        column_offset: x of the column's centre from the axis of the arm's first joint.
        lower, upper: position limits of ``base_x``, ``base_y`` (m, in the world) and
            ``base_heading`` (rad). Both are equal for a joint that may not move.
        velocity, acceleration, jerk: limits of magnitude of the three joints, per s, s^2 and s^3.
        differential: whether it rolls along its heading and turns on the spot; the limits of x are
            then those along the heading. Otherwise it drives in every direction (holonomic).
        in_urdf: whether the base is part of the arm's URDF, whose root stands on the floor;
            otherwise it is a chassis of the dimensions above.
    """

    size: Triple = (0.815, 0.634, 0.40)
    ground_gap: float = 0.03
    p_BA: Triple = (-0.035, 0.0, 0.769)
    column: tuple[float, float] = (0.20, 0.18)
    plate: Triple = (0.24, 0.21, 0.02)
    column_offset: float = -0.04
    lower: Triple = (-0.50, -1.608, -6.283185307179586)
    upper: Triple = (2.40, 1.698, 6.283185307179586)
    velocity: Triple = (0.6, 0.6, 1.2)
    acceleration: Triple = (0.6, 0.6, 1.2)
    jerk: Triple = (3.0, 3.0, 6.0)
    differential: bool = False
    in_urdf: bool = False

    joints = ("base_x", "base_y", "base_heading")

    def __post_init__(self) -> None:
        if not 0.0 < self.ground_gap < self.size[2] < self.p_BA[2] - self.plate[2]:
            raise ValueError(
                "a mobile base needs 0 < ground_gap < size[2] < p_BA[2] - plate[2], got"
                f" {self.ground_gap}, {self.size[2]}, {self.p_BA[2]} - {self.plate[2]}"
            )
        if any(low > high for low, high in zip(self.lower, self.upper, strict=True)):
            raise ValueError(f"lower limits {self.lower} are above the upper {self.upper}")
