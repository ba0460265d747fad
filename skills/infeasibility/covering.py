"""Proof by branch and bound that no grasp of a continuous family is possible for the hand alone.

A cell is a range of turns, leans and grasp centres of one ``GraspFamily``. Two ways rule it out:

- The wrist is out of reach from all stances, everywhere in the cell.
- A part of the hand overlaps an obstacle in the middle of the cell, and also when it is displaced
  from there to all corners of a box, which is as large as any of its points can move within the
  cell. Then it overlaps at every displacement in the box, for the displacements at which two convex
  sets overlap are a convex set (their Minkowski difference).

Other cells are halved. The proof fails if the middle of a cell is in reach and free, or if there
are too many cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from galley.domain.failure import Failure, FailureKind, metres
from galley.domain.frames import Array, transform
from galley.domain.scene.model import Binding, Stance
from galley.domain.state import State, item_pose
from galley.skills.base_placement.stances import beyond, shoulders
from galley.skills.manipulation.contacts import supports_of
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.grasp_families import TOUCHING, GraspFamily
from galley.skills.manipulation.grasps import grasp_families
from galley.skills.manipulation.hand import ConvexPart, hand_bounds, hand_parts, obstacles, overlaps

CELLS = 8_000  # cells of a family examined before the proof is given up
_BATCH = 256  # cells examined together
_FINEST = 0.0005  # m that the hand moves within the smallest cells
_LEAN = np.pi / 3  # rad, largest lean of a hand that grasps a handle
_CORNERS = np.array(list(product((-1.0, 1.0), repeat=3)))  # of a box
_UPRIGHT = np.diag([-1.0, 1.0, -1.0])  # R_FT of a grasp at lean 0


@dataclass(frozen=True)
class PosedFamily:
    """The grasps of one family, to be ruled out.

    Attributes:
        grasps: the grasps.
        X_WO: pose (4, 4) of the frame O of what they hold.
        moves: displacements (4, 4) in the world that the hand must make while it holds; a grasp
            must be possible after each. The first is the identity.
        carried: names of the bodies that move with the hand, which don't count as obstacles.
    """

    grasps: GraspFamily
    X_WO: Array
    moves: tuple[Array, ...] = (np.eye(4),)
    carried: frozenset[str] = frozenset()

    def as_json(self) -> dict[str, Any]:
        """The ranges of the family, for a certificate."""
        return {
            "closing": (self.X_WO[:3, :3] @ self.grasps.R_IF[:, 1]).tolist(),
            "width_m": self.grasps.width,
            "lean_rad": list(self.grasps.lean),
            "turn_rad": [0.0, self.grasps.turn],
            "centre_m": self.X_WO[:3, 3].tolist(),
            "centre_within_m": list(self.grasps.half),
        }


def item_grasps(context: PlanningContext, state: State, index: int) -> list[PosedFamily]:
    """All grasps of an item as it stands or lies: its families, or its own list."""
    item, X_WI = context.scene.items[index], item_pose(context.scene, state, index, np.eye(4))
    listed = [
        PosedFamily(
            GraspFamily(g.X_IT[:3, :3] @ _UPRIGHT, (0.0, 0.0), (0.0, 0.0), 0.0, g.width),
            X_WI @ transform(None, g.X_IT[:3, 3]),
        )
        for g in item.grasps
    ]
    return listed or [
        PosedFamily(grasps, X_WI @ grasps.X_IO)
        for grasps in grasp_families(item, X_WI, context.robot.gripper)
    ]


def handle_holds(
    context: PlanningContext, state: State, binding: Binding, value: float
) -> list[PosedFamily]:
    """All grasps of a handle that hold while its joint is moved to ``value`` (m or rad)."""
    assert binding.handle is not None
    scene = context.scene
    handle = scene.handle(binding.handle)
    joint = scene.joint(handle.joint)
    start = float(state.scene_q[scene.joint_index[joint.name]])
    X_WO = scene.body_pose(handle.body, state.scene_q) @ transform(None, handle.point)
    moves = tuple(joint.motion(share * (value - start)) for share in (0.0, 0.5, 1.0))
    carried = frozenset(scene.moved_by(joint.name))
    families = []
    for way in (1.0, -1.0):
        y, z = way * handle.closing, -handle.approach
        R = np.stack([np.cross(y, z), y, z], axis=1)
        grasps = GraspFamily(R, (handle.span, 0.0), (-_LEAN, _LEAN), 0.0, handle.thickness)
        families.append(PosedFamily(grasps, X_WO, moves, carried))
    return families


def prove_no_grasp(
    context: PlanningContext,
    state: State,
    families: Sequence[PosedFamily],
    stances: Sequence[Stance],
    what: str,
    item: str | None = None,
) -> Failure | None:
    """A proof that no grasp is possible from anywhere in the stance sets, or None.

    The Failure is ``UNREACHABLE`` if the wrist is always out of reach; else it is ``BLOCKED`` and
    names what the hand overlaps. There are no proofs for arms with fewer than six joints, nor for
    grippers of which only one jaw moves.

    Args:
        context: the scene and the robot.
        state: where everything is.
        families: the grasps.
        stances: where the base may stand.
        what: the task, for the message: ``take the sugar``.
        item: name of the item that is grasped, if it is one. Only the fingers may touch it.
    """
    # A short arm's grasps are tilted out of the families; a single jaw's are beside their middle.
    unlike = context.robot.group("arm").size < 6 or context.robot.gripper.one_jaw
    if not families or not stances or unlike:
        return None
    proof = _Proof(context, state, tuple(stances), item)
    if not all(proof.rules_out(family) for family in families):
        return None
    names = tuple(proof.causes)
    certificate = {
        "kind": "covering",
        "stances": [stance.name for stance in stances],
        "family": [family.as_json() for family in families],
        "cells": proof.cells,
        "ruled_out": {"out of reach": proof.far, **proof.causes},
    }
    cells = f"{proof.cells:,} cells"
    if not names:
        return Failure(
            FailureKind.UNREACHABLE,
            f"the arm is too short to {what}: the wrist of every grasp stays at least "
            f"{metres(proof.shortfall)} out of reach (shown for all in {cells})",
            () if item is None else (item,),
            {"shortfall_m": proof.shortfall, "cells": float(proof.cells)},
            certificate,
        )
    least = (item, *proof.under)
    blockers = tuple(name for name in names if name not in least) or names
    verb = "is" if len(blockers) == 1 else "are"
    return Failure(
        FailureKind.BLOCKED,
        f"{' and '.join(blockers)} {verb} in the way: the hand has no room to {what}, however it "
        f"turns and leans (shown for all grasps in {cells})",
        blockers,
        {"cells": float(proof.cells)},
        certificate,
    )


@dataclass
class _Proof:
    """The state of the branch and bound.

    Attributes:
        context: the scene and the robot.
        state: where everything is.
        stances: where the base may stand.
        item: name of the item that is grasped, or None.
        cells: number of cells examined.
        far: number of cells ruled out since they are out of reach.
        shortfall: least distance (m) by which these are out of reach.
        causes: number of cells that each body or item ruled out.
    """

    context: PlanningContext
    state: State
    stances: tuple[Stance, ...]
    item: str | None
    cells: int = 0
    far: int = 0
    shortfall: float = np.inf
    causes: Counter[str] = field(default_factory=Counter)

    @cached_property
    def composite(self) -> bool:
        """Whether the item is a composite whose parts may be in the way of the fingers.

        False with meshes among its parts: there it isn't known exactly where the fingers close.
        """
        item = None if self.item is None else self.context.scene.item(self.item)
        return item is not None and item.composite and all(s.kind != "mesh" for s in item.solid)

    @cached_property
    def under(self) -> tuple[str, ...]:
        """Names of the furniture that the item stands on."""
        if self.item is None:
            return ()
        index = self.context.scene.item_index[self.item]
        return supports_of(self.context, self.state, index)

    def rules_out(self, family: PosedFamily) -> bool:
        """Whether no grasp of the family is possible."""
        grasps = family.grasps
        parts = hand_parts(self.context.robot, grasps.width / 2.0)
        still = self._about(family)
        low = np.array([0.0, grasps.lean[0], -grasps.half[0], -grasps.half[1]])
        high = np.array([grasps.turn, grasps.lean[1], *grasps.half])
        rows = np.array([[low + high, high - low]]) / 2.0  # middles and half sizes (n, 2, 4)
        before = self.cells
        while len(rows):
            batch, rows = rows[-_BATCH:], rows[:-_BATCH]
            self.cells += len(batch)
            left = self._left(family, parts, still, batch)
            if left is None or self.cells - before > CELLS:
                return False
            rows = np.concatenate([rows, left])
        return True

    def _about(self, family: PosedFamily) -> list[ConvexPart]:
        """The obstacles near the family's grasps, the item and its support first.

        So others are named as causes only for cells that these don't rule out.
        """
        at = np.array([(move @ family.X_WO)[:3, 3] for move in family.moves])
        reach = np.array([[-1.0], [1.0]]) * float(np.hypot(*family.grasps.half))
        about = hand_bounds(self.context.robot, at) + reach
        parts = obstacles(self.context, self.state, family.carried, about)
        return sorted(parts, key=lambda p: (p.name != self.item, p.name not in self.under))

    def _left(
        self,
        family: PosedFamily,
        parts: Sequence[ConvexPart],
        still: Sequence[ConvexPart],
        cells: Array,
    ) -> Array | None:
        """Examine cells, and return the halves of those that aren't ruled out.

        Args:
            parts: the parts of the hand.
            still: the obstacles.
            cells: middles and half sizes in turn, lean, x and z (n, 2, 4).

        Returns:
            The halves (m, 2, 4); or None if a cell can never be ruled out: its middle is in reach
            and free, or it is too small to be halved.
        """
        grasps, middle, half = family.grasps, cells[:, 0], cells[:, 1]
        X_WT = family.X_WO @ grasps.poses(middle)
        # The family's axes, up to signs.
        R_OF = grasps.poses(middle * [1.0, 0.0, 0.0, 0.0])[:, :3, :3]
        # The farthest that a grasp centre of the cell is from the axis about which grasps turn.
        out = np.abs(middle[:, 2]) + half[:, 2]
        slide = np.stack([half[:, 2], half[:, 3]], axis=1)
        open_, beaten = np.ones(len(cells), dtype=bool), np.zeros(len(cells), dtype=bool)

        def travel(far: float, from_axis: float) -> Array:
            """How far (m) a point of the hand travels within each cell, by coordinate (n, 4).

            ``far`` is its distance from the grasp centre, ``from_axis`` from the closing axis.
            """
            return np.column_stack([(out + far) * half[:, 0], from_axis * half[:, 1], slide])

        def total(moved: Array) -> Array:
            """The whole travel (n,) from that by coordinate; x and z are at right angles."""
            return moved[:, 0] + moved[:, 1] + np.hypot(moved[:, 2], moved[:, 3])

        robot, reach = self.context.robot, self.context.robot.kinematics.reach
        bounds, p_TC = [shoulders(s, robot) for s in self.stances], reach.p_HC - robot.p_HT
        length = float(np.linalg.norm(p_TC))
        # First the wrist: it must be out of reach by more than it travels within the cell.
        for move in family.moves:
            X = move @ X_WT
            p_WC = X[:, :3, :3] @ p_TC + X[:, :3, 3]  # C of ``ReachBounds``, ``length`` from T
            short = np.min([beyond(p_WC, *bound, reach.to_C) for bound in bounds], axis=0)
            spare = short - total(travel(length, length))
            gone = open_ & (spare > 0.0)
            if gone.any():
                self.shortfall = min(self.shortfall, float(spare[gone].min()))
                self.far += int(gone.sum())
                open_ &= ~gone
            beaten |= short > 0.0
        # Then the overlaps. ``beaten``: the middle is impossible, so that halving may help.
        displaced = [_displacements(part, middle, half) for part in parts]
        for other in still:
            for part, most in zip(parts, displaced, strict=True):
                own = other.name == self.item and part.name in self.context.robot.fingers
                if own and not self.composite:
                    continue
                least = TOUCHING if own else 0.0
                for move in family.moves:
                    rows = np.flatnonzero(open_)
                    hit = rows[overlaps(part, move @ X_WT[rows], other) > least]
                    beaten[hit] = True
                    for way in _CORNERS:
                        shift = np.einsum("nij,nj->ni", R_OF[hit], way * most[hit])
                        X = move @ X_WT[hit]
                        X[:, :3, 3] += shift @ (move @ family.X_WO)[:3, :3].T
                        hit = hit[overlaps(part, X, other) > least]
                    if len(hit):
                        self.causes[other.name] += len(hit)
                        open_[hit] = False
        if (open_ & ~beaten).any():
            return None
        longest = max(part.far[0] for part in parts), max(part.far[1] for part in parts)
        moved = travel(*longest)[open_]
        if len(moved) and (total(moved) < _FINEST).any():
            return None
        return _halved(cells[open_], moved.argmax(axis=1))


def _displacements(part: ConvexPart, middle: Array, half: Array) -> Array:
    """Bounds (n, 3) on how far (m) points of a part move within cells, along the family's axes.

    Leaning and sliding move them only across the closing direction. So a wall beside the hand is
    overlapped even in large cells.

    Args:
        middle: middles of the cells (n, 4).
        half: their half sizes (n, 4).
    """
    _, lean, x, _ = middle.T
    v = part.solid.vertices
    moved = part.far[1] * half[:, 1, None] + half[:, 2:]  # along x and z, before the turn
    out = np.abs(np.outer(np.sin(lean), v[:, 2]) - np.outer(np.cos(lean), v[:, 0]) + x[:, None])
    out = out.max(axis=1) + moved[:, 0]
    aside, turn = np.abs(v[:, 1]).max(), half[:, 0]
    curved = turn**2 / 2.0  # at least 1 - cos(turn)
    return np.column_stack(
        [moved[:, 0] + turn * aside + curved * out, turn * out + curved * aside, moved[:, 1]]
    )


def _halved(cells: Array, along: NDArray[np.int64]) -> Array:
    """The halves (2 n, 2, 4) of cells (n, 2, 4), each cut along one of its coordinates (n,)."""
    rows = np.arange(len(cells))
    half = cells[:, 1].copy()
    half[rows, along] /= 2.0
    shift = np.zeros_like(half)
    shift[rows, along] = half[rows, along]
    return np.concatenate([np.stack([cells[:, 0] + s * shift, half], axis=1) for s in (-1.0, 1.0)])
