"""What stands in an action's way: found by doing it in a world without the other items.

The action is refined with all items out of the way that it doesn't name, and the motions found are
then held against the world as it is: what they hit must go first. Several tries, and the one that
hits the fewest items counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from galley.domain.failure import Failure
from galley.domain.frames import Array
from galley.domain.scene import WORLD
from galley.domain.state import State
from galley.motion.effects import after, effects
from galley.motion.motion import Motion
from galley.skills import BoundAction, Skill, Workbench
from galley.skills.workbench import AWAY, without
from galley.worlds.checker import MARGIN

TRIES = 6  # refinements without the other items
_FAILURES = 2  # of these, before any success, after which the other items are not what is wrong
_STEP = 0.03  # rad or m between the states of a motion that are held against the world


@dataclass(frozen=True)
class Diagnosis:
    """What is in the way of an action.

    Attributes:
        subject: the action that can't be done: the one asked about, or the next, for which it only
            prepares.
        items: indices of the items that its motions hit; empty where a way without a hit was found.
    """

    subject: BoundAction
    items: frozenset[int]


def in_the_way(
    bench: Workbench,
    skills: Mapping[str, Skill],
    actions: Sequence[BoundAction],
    state: State,
    rng: Callable[[int], np.random.Generator],
) -> Diagnosis | None:
    """Which items block ``actions[0]`` in ``state``; None where it fails without them too.

    Args:
        bench: scene, robot, settings.
        skills: by the names of the actions.
        actions: the action and what follows it.
        state: the State before it.
        rng: gives the stream for each try.
    """
    # Driving somewhere only prepares the next action: what blocks that one is what counts.
    chain = actions[:2] if skills[actions[0].name].prepares else actions[:1]
    bare = without(state, _others(bench, state, chain))
    best: tuple[tuple[int, int], tuple[int, ...]] | None = None
    for k in range(TRIES):
        hit = _one_try(bench, skills, actions, len(chain), bare, state, rng(k))
        if hit is None:
            if best is None and k + 1 >= _FAILURES:
                break
            continue
        close, any_time = hit
        # What is hit where the hand works counts; ways there lead round things.
        found = close or any_time
        rank = ((len(found), len(any_time)), tuple(sorted(found)))
        if best is None or rank < best:
            best = rank
        if not found:
            break
    return None if best is None else Diagnosis(chain[-1], frozenset(best[1]))


def _others(bench: Workbench, state: State, chain: Sequence[BoundAction]) -> list[int]:
    """The items that no action of the chain names and that are not in the hand."""
    named = {b.target for action in chain for b in action.bindings if b.kind == "item"}
    items = enumerate(bench.scene.items)
    return [i for i, item in items if item.name not in named and i != state.held]


def _one_try(
    bench: Workbench,
    skills: Mapping[str, Skill],
    actions: Sequence[BoundAction],
    length: int,
    bare: State,
    state: State,
    rng: np.random.Generator,
) -> tuple[frozenset[int], frozenset[int]] | None:
    """The items hit on straight lines, and on any motion; None where there is no way."""
    close: set[int] = set()
    all_hit: set[int] = set()
    at = bare
    for k in range(length):
        action = actions[k]
        found = skills[action.name].refine(bench, action, tuple(actions[k + 1 :]), at, rng)
        if isinstance(found, Failure):
            return None
        for motion in found:
            hit = _hits(bench, motion, at, state)
            all_hit |= hit
            if motion.group != "base" and motion.record.planner in ("straight", "direct"):
                close |= hit
            at = after(bench.scene, bench.robot, motion, at)
    return frozenset(close), frozenset(all_hit)


def _hits(bench: Workbench, motion: Motion, at: State, state: State) -> set[int]:
    """Items of ``state`` that a motion found in the barer State ``at`` would touch."""
    started = effects(bench.scene, bench.robot, motion, at)
    along = [started.at(q) for q in motion.path.resampled(_STEP).waypoints]
    back = started.state
    names: dict[str, int] = {}
    for index, placement in enumerate(at.items):
        if placement.parent == WORLD and placement.X_PI[2, 3] == AWAY:
            back = back.with_item(index, state.items[index])
            names[bench.scene.items[index].name] = index
    checker = bench.checker(back, motion.allowed, MARGIN)
    Q = np.array([each.q for each in along])
    moved: Array | None = None
    if started.driven is not None:
        moved = np.array([each.scene_q for each in along])
    hit: set[int] = set()
    for i in np.flatnonzero(~checker.free_many(Q, moved)):
        for contact in checker.contacts(Q[i], None if moved is None else moved[i], within=MARGIN):
            hit |= {names[n] for n in (contact.a, contact.b) if n in names}
    return hit
