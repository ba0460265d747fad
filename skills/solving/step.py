"""One step with the hand: from where the base stands if that works, else from another stance.

And what the actions that follow mean for it: what needs room, and how an item must be held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from galley.domain.failure import Failure
from galley.domain.scene.model import Binding, Region
from galley.domain.state import State
from galley.motion.motion import Motion
from galley.skills.manipulation.contacts import places
from galley.skills.manipulation.lines import Tally
from galley.skills.manipulation.manipulation import Manipulation
from galley.skills.manipulation.reach import Reached, solve, stances
from galley.skills.placing.placements import Later
from galley.skills.skill import BoundAction, Skill, region_of, stance_of
from galley.skills.solving.build import Builder, folded
from galley.skills.solving.workbench import Workbench

HERE = 16  # candidates from the present stance before another is sought
PATHS = 4  # ways that were reached for which free motions are sought
RETRIES = 3  # how often a step of a compound action is begun anew before all of it fails
_AHEAD = 120  # candidates tried to see that something can follow
_REJECTIONS = 8  # ways after which nothing seems to be able to follow: then any will do, and what
# comes next fails by itself and says why

Contacts = Callable[[State, np.random.Generator], Iterator[Manipulation]]
"""What the hand may do from a State, lazily, in random order."""

Accepts = Callable[[State, np.random.Generator], bool]
"""Whether what has to follow can be done from the State that the hand leaves."""


@dataclass(frozen=True)
class Step:
    """What is done with the hand in one go.

    Attributes:
        contacts: the ways to do it.
        place: the furniture in whose stance set the base stands.
        name: of a step of a compound action; empty where the step is the whole action.
        accepts: None where nothing is asked of a way but that it can be run.
    """

    contacts: Contacts
    place: Binding
    name: str = ""
    accepts: Accepts | None = None


def carry_out(
    bench: Workbench,
    action: BoundAction,
    steps: Iterable[Step],
    state: State,
    rng: np.random.Generator,
) -> tuple[Motion, ...] | Failure:
    """The Motions of an action's steps, one after another.

    The steps of a compound action are named; a Failure names the step in which it came about.
    """
    builder = Builder(bench, state, action.index, rng)
    compound = False
    for step in steps:
        compound = compound or bool(step.name)
        failed: Failure | None = None
        for _ in range(RETRIES if step.name else 1):
            failed = run(builder, step, step.name or str(action))
            if failed is None or "tries" in failed.numbers:
                break  # where nothing was reached in so many tries, more won't help
        if failed is not None:
            return failed.within(step.name) if step.name else failed
    if compound:
        builder.fold("fold the arm")  # where it has room to; else the next drive sees to it
    return tuple(builder.motions)


def run(builder: Builder, step: Step, what: str) -> Failure | None:
    """Add the Motions of one step; the builder is left as it was where none can be found.

    Args:
        what: is done, for messages.
    """
    bench, start, rng = builder.bench, builder.state, builder.rng
    done = len(builder.motions)
    tally = Tally()
    failed: Failure | None = None
    paths = rejected = 0
    for reached in _candidates(bench, step, start, rng, tally):
        if paths >= PATHS:
            break
        if (
            step.accepts is not None
            and rejected < _REJECTIONS
            and not step.accepts(reached.held_after, rng)
        ):
            rejected += 1
            tally.reasons["the next step can't follow"] += 1
            continue
        paths += 1
        failed = builder.run(reached, f"{step.name}: " if step.name else "")
        if failed is None:
            return None
        del builder.motions[done:]
        builder.state = start
    return failed or tally.failure(what)


def _candidates(
    bench: Workbench, step: Step, start: State, rng: np.random.Generator, tally: Tally
) -> Iterator[Reached]:
    yield from here(bench, step.contacts(start, rng), step.place, start, rng, tally)
    stance = stance_of(bench, step.place)
    arms = folded(bench, start)
    # Stretched out over something, the arm may not find room to fold here, but elsewhere.
    arm = arms[0] if len(arms) else bench.tucked
    yield from stances(bench, step.contacts(start, rng), stance, arm, start, rng, tally)


def here(
    bench: Workbench,
    contacts: Iterator[Manipulation],
    place: Binding,
    state: State,
    rng: np.random.Generator,
    tally: Tally,
    limit: int = HERE,
) -> Iterator[Reached]:
    """Of the first ``limit`` contacts those that can be run from where the base stands.

    None if the base is not near the furniture.
    """
    base = state.q[bench.robot.slice("base")]
    if not stance_of(bench, place).contains(base):
        return
    for manipulation in islice(contacts, limit):
        reached = solve(bench, manipulation, base, rng, tally)
        if reached is not None:
            yield reached


def reachable(
    bench: Workbench,
    contacts: Iterator[Manipulation],
    place: Binding,
    state: State,
    rng: np.random.Generator,
) -> bool:
    """Whether any contact can be run from some stance of the furniture, by a short search."""
    stance = stance_of(bench, place)
    found = stances(bench, contacts, stance, bench.tucked, state, rng, Tally(), _AHEAD)
    return next(found, None) is not None


def put_later(
    bench: Workbench,
    upcoming: Sequence[BoundAction],
    skills: Mapping[str, Skill],
    region: str | None,
    but: str,
) -> tuple[Later, ...]:
    """The items, other than the one named ``but``, that later actions put into a region."""
    found: dict[str, Later] = {}
    for action in upcoming:
        thing, place = _put(action, skills)
        if thing is None or place is None or place.region != region or thing.target == but:
            continue
        found.setdefault(thing.target, Later(bench.scene.item(thing.target), place.spot))
    return tuple(found.values())


def serves(
    bench: Workbench,
    upcoming: Sequence[BoundAction],
    skills: Mapping[str, Skill],
    index: int,
) -> Accepts | None:
    """Whether an item, as it is held, can be put where the plan puts it next.

    A grasp may be good for taking a thing out and no good for putting it down elsewhere. None
    where the plan doesn't put it anywhere, or has the hand do more than put it down.
    """
    item = bench.scene.items[index]
    for k, action in enumerate(upcoming):
        thing, place = _put(action, skills)
        if thing is None or place is None or thing.target != item.name:
            continue
        region = region_of(bench, place)
        if region is None or skills[action.name].role.opens is not None:
            return None
        later = put_later(bench, upcoming[k + 1 :], skills, region.name, item.name)
        return _can_be_put(bench, place, region, later)
    return None


def _can_be_put(
    bench: Workbench, place: Binding, region: Region, later: tuple[Later, ...]
) -> Accepts:
    def accepts(state: State, rng: np.random.Generator) -> bool:
        ways = places(bench, state, region, rng, later, place.spot)
        return reachable(bench, ways, place, state, rng)

    return accepts


def _put(action: BoundAction, skills: Mapping[str, Skill]) -> tuple[Binding | None, Binding | None]:
    """The item that an action puts down and the furniture, or None for what it doesn't say."""
    skill = skills.get(action.name)
    if skill is None or skill.role.puts is None:
        return None, None
    place = skill.role.place
    return action.bindings[skill.role.puts], None if place is None else action.bindings[place]
