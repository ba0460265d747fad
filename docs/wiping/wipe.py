"""wipe(tool, furniture, hand): lead the held tool over all of a surface, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import numpy as np

from galley.collision.checker import pairs
from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array, from_pose7, inverse, rotation_z, transform
from galley.domain.log import Log
from galley.domain.scene.model import Binding, Region, Scene
from galley.domain.state import State
from galley.motion.motion import Attachment, Motion
from galley.skills import BoundAction, PlanningContext, Skill
from galley.skills.infeasibility.refusals import no_such_region
from galley.skills.manipulation.manipulation import (
    CARRY_SPEED,
    Line,
    Manipulation,
    shifted,
    straight,
)
from galley.skills.manipulation.step import SkillStep, carry_out
from galley.skills.placing.footprints import Footprint
from galley.skills.skill import Role, region_of

HEIGHT = 0.001  # m between the tool and the surface
LIFT = 0.05  # m above it, where the free motions end and begin
OVERLAP = 0.005  # m by which each row covers the one before it
PART = 0.40  # m, the longest side of what is wiped from one stance
NEAR = 0.003  # m above the surface, up to which the tool wipes it
CELL = 0.005  # m, of the grid on which it is judged whether all was wiped
ENOUGH = 0.98  # of the surface: the hand does not follow the rows to the millimetre


class Wipe(Skill):
    """Wipes a surface, part by part, each from a stance that suits it."""

    parameters = ("item", "furniture", "hand")
    role = Role(uses=1)

    def refine(
        self,
        context: PlanningContext,
        action: BoundAction,
        upcoming: tuple[BoundAction, ...],
        state: State,
        rng: np.random.Generator,
    ) -> tuple[Motion, ...] | Failure:
        """Sweeps all parts, unless something stands on the surface."""
        region = region_of(context, action.bindings[1])
        assert region is not None, "impossible() has refused this already"
        occupied = standing_on(context, state, region)
        if occupied is not None:
            return occupied
        steps = []
        tiles = parts(region)
        for k, tile in enumerate(tiles):
            name = f"wipe part {k + 1} of {len(tiles)}"
            steps.append(
                SkillStep(partial(sweeps, context, region, tile), action.bindings[1], name)
            )
        return carry_out(context, action, steps, state, rng)

    def first_contacts(
        self, context: PlanningContext, action: BoundAction, state: State, rng: np.random.Generator
    ) -> Iterator[Manipulation]:
        """The sweeps of the first part, so that ``navigate`` knows where to stand."""
        region = region_of(context, action.bindings[1])
        assert region is not None, "impossible() has refused this already"
        return sweeps(context, region, parts(region)[0], state, rng)

    def impossible(
        self, context: PlanningContext, action: BoundAction, state: State
    ) -> Failure | None:
        """There must be a surface."""
        region = region_of(context, action.bindings[1])
        if region is None or region.kind != "surface":
            return no_such_region(action.bindings[1].object, "surface to wipe")
        return None

    def judge(
        self, scene: Scene, log: Log, predicate: str, things: tuple[Binding, ...]
    ) -> tuple[bool, str] | None:
        """A surface is clean if what was in the hand has passed close over all of it."""
        if predicate != "clean" or things[0].region is None:
            return None
        region, held = scene.region(things[0].region), log.held >= 0
        X_BW = inverse(scene.body_pose(region.body, log.scene_q[0]))
        tools = [scene.items[k].size / 2 for k in log.held[held]]
        poses = [X_BW @ from_pose7(X) for X in log.items[held, log.held[held]]]
        share = min(wiped_share(box, tools, poses) for box in region.boxes)
        words = f"{100 * share:.1f} % of {region.name} was under the tool, within {1e3 * NEAR:g} mm"
        return share >= ENOUGH, f"{words}; at least {100 * ENOUGH:g} % are wanted"


def wiped_share(box: Array, tools: list[Array], poses: list[Array]) -> float:
    """The share of a region's box (2, 3) that tools of half sizes (3,) covered in their poses."""
    x, y = (np.arange(box[0, k], box[1, k], CELL) + CELL / 2 for k in (0, 1))
    cells = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    covered = np.zeros(len(cells), dtype=bool)
    for half, X in zip(tools, poses, strict=True):
        if X[2, 3] - half[2] - box[0, 2] < NEAR:
            covered |= (np.abs((cells - X[:2, 3]) @ X[:2, :2]) <= half[:2]).all(axis=1)
    return float(covered.mean())


def sweeps(
    context: PlanningContext, region: Region, tile: Array, state: State, rng: np.random.Generator
) -> Iterator[Manipulation]:
    """Ways to sweep a part (2, 3) of a region with the held item: lower, rows, lift."""
    scene, index = context.scene, state.held
    assert index is not None, "wiping needs a tool in the hand"
    tool, X_IH = scene.items[index], inverse(state.items[index].X_PI)
    X_WB = scene.body_pose(region.body, state.scene_q)
    allowed = pairs(context.robot.fingers, (tool.name,)) | pairs((tool.name,), (region.body,))
    held = (Attachment("item", tool.name),)
    z = tile[0, 2] + tool.size[2] / 2 + HEIGHT

    def line(phase: str, X_A: Array, X_B: Array) -> Line:
        return Line(phase, straight(X_A, X_B), state, allowed, held, CARRY_SPEED)

    while True:
        turn = int(rng.integers(4))  # the tool lies square to the region
        half = tool.size[:2] / 2 if turn % 2 == 0 else tool.size[1::-1] / 2
        R = rotation_z(turn * np.pi / 2)
        corners = rows(tile, half, int(rng.integers(2)), bool(rng.integers(2)))
        hands = [X_WB @ transform(R, [*xy, z]) @ X_IH for xy in corners]
        up = np.array([0.0, 0.0, LIFT])
        yield Manipulation(
            f"wipe {region.name}",
            (
                line("lower", shifted(hands[0], up), hands[0]),
                *(line("wipe", a, b) for a, b in pairwise(hands)),
                line("lift", hands[-1], shifted(hands[-1], up)),
            ),
            float(state.q[context.robot.slice("fingers")][0]),
        )


def rows(tile: Array, half: Array, along: int, back: bool) -> Array:
    """Where the tool's centre turns (n, 2) on its way over a part (2, 3), to and fro.

    Args:
        half: half of the tool's sides (2,).
        along: the axis of the rows. back: begin at their upper end.
    """
    across = 1 - along
    low, high = tile[0, :2] + half, tile[1, :2] - half
    middle = (low + high) / 2
    low, high = np.minimum(low, middle), np.maximum(high, middle)  # one row where it is narrow
    width = high[across] - low[across]
    count = 1 + int(np.ceil(width / (2 * half[across] - OVERLAP) - 1e-9))
    ends = (high, low) if back else (low, high)
    found = np.empty((2 * count, 2))
    for k, at in enumerate(np.linspace(low[across], high[across], count)):
        for j, end in enumerate(ends if k % 2 == 0 else ends[::-1]):
            found[2 * k + j, along], found[2 * k + j, across] = end[along], at
    return found


def parts(region: Region) -> list[Array]:
    """The region's boxes, cut into parts (2, 3) of at most PART along each side."""
    found = []
    for lower, upper in region.boxes:
        n, m = np.ceil((upper - lower)[:2] / PART - 1e-9).astype(int)
        step = (upper - lower) / [n, m, 1]
        for i in range(n):
            for j in range(m):
                found.append(np.array([lower + step * [i, j, 0], lower + step * [i + 1, j + 1, 1]]))
    return found


def standing_on(context: PlanningContext, state: State, region: Region) -> Failure | None:
    """A Failure that names what stands on the region, and where; None if it is clear."""
    scene = context.scene
    found = [Footprint.from_item(scene, state, k, region) for k in range(len(scene.items))]
    outlines = {f.name: f.outline.tolist() for f in found if f is not None}
    if not outlines:
        return None
    names = tuple(outlines)
    return Failure(
        FailureKind.BLOCKED,
        f"{' and '.join(names)} must be put away first: {region.name} is to be wiped",
        names,
        certificate={"kind": "occupied", "region": region.name, "outlines_m": outlines},
    )


SKILLS = {"wipe": Wipe()}
