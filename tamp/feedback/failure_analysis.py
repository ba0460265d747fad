"""Failure analysis: why an action can't be refined, and how to react.

The reaction is a constraint for the task planner, or backtracking to an earlier action. The steps,
in order (``FailureAnalyzer.__call__``):

1. If the skill's failure carries a proof, that decides: it names what is in the way, or shows that
   the item is out of reach.
2. Else try to prove that the action is impossible whatever is moved, or that an item as found
   leaves no room for any grasp.
3. Else find the blocking items counterfactually (``find_blockers``): refine the action in a world
   without the items that it does not name, and check its motions against the actual world. The
   items that they hit must go first. Of several tries the one that hits the fewest counts. If the
   action fails in that world, too, try with all other drawers and doors shut, then with all open.
4. Blockers that stand as found become constraints. For a blocker that the plan itself has placed,
   backtrack to that action, so that the item is placed elsewhere.
5. If the action fails in all these worlds, the other items are not the reason: backtrack, and after
   some failures drop the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array
from galley.domain.pddl.formula import Fact
from galley.domain.predicates import CLOSED
from galley.domain.scene.model import WORLD, Binding
from galley.domain.state import State
from galley.motion.effects import effects, state_after, with_acting_hand
from galley.motion.motion import Motion
from galley.planning import GroundAction
from galley.skills.drawer import intended_opening
from galley.skills.manipulation.context import AWAY, PlanningContext, without
from galley.skills.manipulation.motion_builder import at_rest
from galley.skills.skill import BoundAction, Skill, acting_hand
from galley.tamp.feedback.constraints import ConstrainedTask, LearnedConstraint
from galley.tamp.refine import Advice, Refinement

_DIAGNOSES = 6  # diagnoses of one action in one plan; more would give the same result
_MOST_FAILURES = 4  # failures of an action without the other items, until the plan is dropped
_MOST_RETRIES = 1  # retries of a placement that blocks a later action
_DIAGNOSIS = 30_000  # part of the key of a diagnosis's random streams
TRIES = 6  # refinements without the other items
_FAILURES = 2  # of these that fail before any success: then the other items are not the reason
_STEP = 0.03  # rad or m between the states of a motion that are checked


@dataclass
class FailureAnalyzer:
    """Analyzes failed refinements of one search.

    Attributes:
        context: the scene, robot and settings.
        task: the extended task, which names the facts.
        prove: returns a constraint with a certificate if a proof can be found, else unchanged.
        silent: only proven constraints are returned, and nothing is diagnosed.
    """

    context: PlanningContext
    task: ConstrainedTask
    prove: Callable[[LearnedConstraint], LearnedConstraint]
    silent: bool = False
    _in_the_way: dict[tuple[str, str, str], None] = field(default_factory=dict)  # see ``_remember``
    _objects: dict[int, str] = field(default_factory=dict)
    _furniture: dict[int, Binding] = field(default_factory=dict)  # by its joint

    def __post_init__(self) -> None:
        index, scene = self.context.scene.item_index, self.context.scene
        for binding in self.task.bindings.values():
            if binding.kind == "item":
                self._objects[index[binding.target]] = binding.object
            elif binding.handle is not None:
                joint = scene.joint_index[scene.handle(binding.handle).joint]
                self._furniture.setdefault(joint, binding)

    def __call__(self, refinement: Refinement, failure: Failure) -> Advice:
        """Advice for a refinement whose next action has failed."""
        k = refinement.at
        if failure.proven:
            advice = self._from_proof(refinement, failure)
            if advice is not None:
                return advice
        proven = self._provable(refinement, failure)
        if proven:
            return proven
        refinement.notes["asked", k] += 1
        asked = refinement.notes["asked", k]
        if self.silent or asked > _DIAGNOSES:
            # No further diagnosis: place the item again that was found to block this action.
            culprit = refinement.notes["culprit", k]
            return culprit - 1 if culprit else None
        name = refinement.stream_names[k]

        def stream(i: int) -> np.random.Generator:
            """A random stream for try i of this diagnosis."""
            self.context.effort.spend("diagnoses")
            return self.context.rng(name, _DIAGNOSIS, asked, i)

        diagnosis = find_blockers(
            self.context,
            self.task.skills,
            refinement.plan[k:],
            refinement.states[-1],
            stream,
            self._furniture,
            TRIES if asked == 1 else _FAILURES,
        )
        if diagnosis is None:
            return self._unblocked_failure(refinement, failure)
        if diagnosis.joints:
            return self._by_furniture(refinement.states[-1], diagnosis.subject, diagnosis.joints)
        if not diagnosis.items:
            return None  # it works in the actual world, too: a matter of luck, so try again
        return self._blocked(refinement, diagnosis.subject, diagnosis.items)

    def _from_proof(self, refinement: Refinement, failure: Failure) -> Advice:
        """The reaction to a failure with a certificate; None if the proof settles nothing here."""
        subject = self._subject(refinement)
        scene, named = self.context.scene, set(failure.objects)
        hit = [j for j in self._furniture if named & {*scene.moved_by(scene.joints[j].name)}]
        passage = (failure.certificate or {}).get("kind") == "passage"
        if passage and hit:
            subject = subject or refinement.plan[refinement.at]
            return self._by_furniture(refinement.states[-1], subject, hit)
        if subject is None:
            return None
        # The proof names the items in the way.
        if failure.kind is FailureKind.BLOCKED and named & set(scene.item_index):
            blockers = frozenset(scene.item_index[n] for n in named if n in scene.item_index)
            return self._blocked(refinement, subject, blockers, failure)
        if not passage and any(b.name in named for b in scene.bodies if scene.carried(b.name)):
            return None  # a drawer or door is in the way: a diagnosis tells how it should stand
        if not refinement.as_found or failure.kind is FailureKind.CONTRADICTION:
            return None  # the proof holds for this state only, not for all that the plan can reach
        return (self.out_of_reach(subject, failure),)

    def _provable(self, refinement: Refinement, failure: Failure) -> tuple[LearnedConstraint, ...]:
        """Constraints that can be proven at once; empty if none can.

        Either the action is impossible whatever is moved, or it is impossible while certain items
        stand as found. Actions that put something down are not looked at.
        """
        subject = self._subject(refinement)
        if subject is None or self.task.skills[subject.name].role.sets is not None:
            return ()
        # A certificate of the failure may hold for this state only: ask for a new one.
        never = self.prove(self.out_of_reach(subject, replace(failure, certificate=None)))
        if never.proven:
            return (never,)
        named = {binding.target for binding in subject.bindings}
        # Each item that stands as found and that the action doesn't name may be the reason.
        suspects = (
            self._blocked_by(subject, index, None)
            for index in self._objects
            if refinement.states[-1].items[index] is refinement.start.items[index]
            and index not in refinement.start.in_hands
            and self.context.scene.items[index].name not in named
        )
        proven = tuple(constraint for constraint in map(self.prove, suspects) if constraint.proven)
        self._remember(subject, proven)
        return proven

    def _by_furniture(self, at: State, subject: BoundAction, joints: Iterable[int]) -> Advice:
        """Constraints: drawers and doors are in the way while they are open, or while shut.

        Those that are open now must be shut, and the others must be opened.
        """
        role = self.task.skills[subject.name].role
        part = role.place if role.sets is not None else None
        part = next(i for i in (part, *role.works_on, role.goes, 0) if i is not None)
        subject_name, constraints = subject.bindings[part].object, []
        prefix = "kept" if role.works_on else "way-kept"
        for joint in sorted(joints):
            other, moved = self._furniture[joint].object, self.context.scene.joints[joint].name
            how, wanted = ("open", "shut") if abs(at.scene_q[joint]) > CLOSED else ("shut", "open")
            message = f"{other} is in the way of ({subject}) while it is {how}"
            fact = self.task.fact(f"{prefix}-{wanted}", subject_name, other)
            failure = Failure(FailureKind.BLOCKED, message, (moved,))
            constraints.append(LearnedConstraint(fact, failure, by=subject.name))
        return tuple(constraints)

    def _subject(self, refinement: Refinement) -> BoundAction | None:
        """The action that really fails: this one, or the one that it only prepares.

        None if there is none, or if it works on nothing.
        """
        k = refinement.at
        while k < len(refinement.plan) and self.task.skills[refinement.plan[k].name].prepares_next:
            k += 1
        if k == len(refinement.plan):
            return None
        action = refinement.plan[k]
        return action if self.task.skills[action.name].role.works_on else None

    def out_of_reach(self, subject: BoundAction, failure: Failure) -> LearnedConstraint:
        """The constraint that an action has no stance.

        If the action takes an item from a place, a fact states that. Any other is forbidden.
        """
        role = self.task.skills[subject.name].role
        first = role.works_on[0]
        names = [subject.bindings[first].object]
        if role.place is not None and role.place != first:
            names.append(subject.bindings[role.place].object)
        if role.takes is not None and len(names) == 2:
            fact = self.task.no_stance(subject, self.context.robot)
            return LearnedConstraint(fact, failure, by=subject.name)
        action = GroundAction(subject.name, tuple(b.object for b in subject.bindings))
        predicate = "no-stance"
        if failure.kind is FailureKind.BLOCKED:
            predicate, names = "blocked-by", [*names, *failure.objects]
        return LearnedConstraint(Fact(predicate, tuple(names)), failure, (action,), by=subject.name)

    def _unblocked_failure(self, refinement: Refinement, failure: Failure) -> Advice:
        """Advice if the other items are not the reason for a failure.

        With an item in the hand every other time the grasp is to blame: backtrack to the action
        that took it. Else backtrack chronologically, to another stance. After several failures
        blame the action that placed the item, if there is one, or drop the plan.
        """
        k = refinement.at
        refinement.notes["no way", k] += 1
        times = refinement.notes["no way", k]
        if times >= _MOST_FAILURES:
            subject = self._subject(refinement)
            if subject is not None:
                put = self._placing_action(refinement, k, subject)
                if put is not None:
                    return put
                # Its certificate holds for this state only; else it would have been used before.
                return (self.out_of_reach(subject, replace(failure, certificate=None)),)
        hand = acting_hand(self.context.robot, refinement.plan, k)
        held = with_acting_hand(self.context.robot.acting(hand), refinement.states[-1]).held
        if held is not None and times % 2 == 1:
            return self._last_action_on(refinement, k, held, "takes")
        return None

    def _placing_action(self, refinement: Refinement, k: int, subject: BoundAction) -> int | None:
        """Index of the action that placed the item which ``subject`` takes; None if none did."""
        removes = self.task.skills[subject.name].role.removes
        if removes is None:
            return None
        index = self.context.scene.item_index[subject.bindings[removes].target]
        return self._last_action_on(refinement, k, index, "sets")

    def _blocked(
        self,
        refinement: Refinement,
        subject: BoundAction,
        items: frozenset[int],
        failure: Failure | None = None,
    ) -> Advice:
        """Advice if items block an action.

        If the blockers and the item that the action takes all stand as found, each blocker gives a
        constraint. If the plan has placed some of them, backtrack to the last of these placements.
        """
        k, scene = refinement.at, self.context.scene
        role = self.task.skills[subject.name].role
        concerned = set(items)
        if role.removes is not None:
            concerned.add(scene.item_index[subject.bindings[role.removes].target])
        puts = [self._last_action_on(refinement, k, index, "sets") for index in concerned]
        earlier = [put for put in puts if put is not None]
        if earlier:
            return self._retry_placement(refinement, max(earlier), subject)
        start = refinement.start.items
        if failure is not None and (
            not refinement.as_found or any(start[i].parent != WORLD for i in items)
        ):
            # It may depend on what has been moved, or on a drawer that could be moved.
            failure = replace(failure, certificate=None)
        constraints = tuple(self._blocked_by(subject, index, failure) for index in sorted(items))
        self._remember(subject, constraints)
        return constraints

    def _remember(self, subject: BoundAction, constraints: Iterable[LearnedConstraint]) -> None:
        """Remember which items stand in the way of taking something from a place."""
        role = self.task.skills[subject.name].role
        if role.takes is not None and role.place is not None:
            item, place = (subject.bindings[i].object for i in (role.takes, role.place))
            self._in_the_way |= {(c.fact.args[-1], place, item): None for c in constraints}

    def _retry_placement(self, refinement: Refinement, put: int, subject: BoundAction) -> Advice:
        """Advice if the action at index ``put`` placed an item where it blocks ``subject``.

        Backtrack to it, so that the item is placed elsewhere. After some retries learn that the
        item can't be put there before the items have been taken that it would block.
        """
        refinement.notes["again", put] += 1
        refinement.notes["culprit", refinement.at] = put + 1
        if refinement.notes["again", put] <= _MOST_RETRIES:
            return put
        action, takes = refinement.plan[put], self.task.skills[subject.name].role.takes
        role = self.task.skills[action.name].role
        if takes is None or role.sets is None or role.place is None:
            return put  # no fact states this; the attempts of that action will run out
        if self._placing_action(refinement, refinement.at, subject) is not None:
            return put
        thing, place = action.bindings[role.sets].object, action.bindings[role.place].object
        pairs = {(thing, subject.bindings[takes].object): None}
        # An item that stood in the way of another one there would do so again.
        pairs |= {(item, of): None for item, there, of in self._in_the_way if there == place}
        constraints = []
        for item, of in pairs:
            message = f"{item}, put on {place}, leaves no way to take {of}"
            failure = Failure(FailureKind.BLOCKED, message, (of,))
            fact = self.task.fact("no-room", item, place, of)
            constraints.append(LearnedConstraint(fact, failure, by=action.name))
        return tuple(constraints)

    def _blocked_by(
        self, subject: BoundAction, index: int, failure: Failure | None
    ) -> LearnedConstraint:
        """The constraint that the action must wait until an item, as found, has been moved.

        With ``failure`` as its reason, or a new one without a certificate.
        """
        role = self.task.skills[subject.name].role
        item = self.context.scene.items[index].name
        blocker = self._objects.get(index, item)
        message = f"{item} stands in the way of ({subject})"
        by_skill = failure is not None  # the skill named the blocker: a drawer would meet it, say
        failure = failure or Failure(FailureKind.BLOCKED, message, (item,))
        args = tuple(b.object for b in subject.bindings)
        names: tuple[str, ...]
        if by_skill and role.opens is not None:
            names, predicate = (args[role.opens], blocker), "blocked-by"
        elif role.sets is not None and role.place is not None:
            names = (args[role.sets], args[role.place], blocker)
            predicate = "no-room"
        else:
            names, predicate = (args[role.works_on[0]], blocker), "blocked-by"
        return LearnedConstraint(self.task.fact(predicate, *names), failure, by=subject.name)

    def _last_action_on(self, refinement: Refinement, k: int, index: int, part: str) -> int | None:
        """The last action before ``k`` that took or put an item.

        Args:
            index: of the item in the scene.
            part: the attribute of ``Role`` for what was done: ``takes`` or ``sets``.
        """
        name = self.context.scene.items[index].name
        for i in range(k - 1, -1, -1):
            action = refinement.plan[i]
            position = getattr(self.task.skills[action.name].role, part)
            if position is not None and action.bindings[position].target == name:
                return i
        return None


@dataclass(frozen=True)
class Diagnosis:
    """The result of a diagnosis: the items and furniture that block an action.

    Attributes:
        subject: the blocked action: the given one, or the next if that one only prepares it.
        items: indices of the items that its motions hit; empty if some motions hit none.
        joints: indices of the joints of the drawers and doors that they hit.
    """

    subject: BoundAction
    items: frozenset[int]
    joints: frozenset[int] = frozenset()


# Gives the random stream of a try, by its number.
Streams = Callable[[int], np.random.Generator]


def find_blockers(
    context: PlanningContext,
    skills: Mapping[str, Skill],
    actions: Sequence[BoundAction],
    state: State,
    rng: Streams,
    furniture: Mapping[int, Binding] = MappingProxyType({}),
    tries: int = TRIES,
) -> Diagnosis | None:
    """Find the items and furniture that block ``actions[0]`` in ``state``.

    None if the action fails in all counterfactual worlds: then something else is the reason.

    Args:
        context: the scene, robot and settings.
        skills: the skills by the names of the actions.
        actions: the action and those after it.
        state: the State before it.
        rng: gives the random stream for each try.
        furniture: the furniture that can be opened and shut, by the index of its joint.
        tries: number of refinements in one world, at most.
    """
    # Driving only prepares the next action: what blocks that one counts, so refine both.
    length = (
        2 if [skills[action.name].prepares_next for action in actions[:2]] == [True, False] else 1
    )
    trial = _Counterfactual(context, skills, actions, length, state)
    bare = without(state, trial.other_items())
    # First the furniture as it stands, then all shut, then all open.
    for scene_q in (state.scene_q, *trial.other_furniture(furniture)):
        hit = trial.fewest_hits(bare.with_scene(scene_q), rng, tries)
        if hit is not None:
            items = frozenset(index for kind, index in hit if kind == "item")
            joints = frozenset(index for kind, index in hit if kind == "joint")
            return Diagnosis(actions[length - 1], items, joints)
    return None


_Hit = tuple[str, int]
"""``item`` or ``joint``, and its index in the scene."""


@dataclass(frozen=True)
class _Counterfactual:
    """Actions refined in worlds without what may block them.

    Attributes:
        context: the scene, robot and settings.
        skills: the skills by the names of the actions.
        actions: the actions that are refined, and those after them.
        length: how many of them are refined.
        state: the actual State before them.
    """

    context: PlanningContext
    skills: Mapping[str, Skill]
    actions: Sequence[BoundAction]
    length: int
    state: State

    @property
    def _named(self) -> list[Binding]:
        """All arguments of the refined actions."""
        return [b for action in self.actions[: self.length] for b in action.bindings]

    def other_items(self) -> list[int]:
        """The items that none of the actions names and that are in no hand."""
        named = {binding.target for binding in self._named if binding.kind == "item"}
        items = enumerate(self.context.scene.items)
        hands = self.state.in_hands
        return [i for i, item in items if item.name not in named and i not in hands]

    def other_furniture(self, furniture: Mapping[int, Binding]) -> Iterator[Array]:
        """Scene joint values (nj,) with all furniture that the actions don't use shut, then open.

        The actions use what they name, and what carries an item that they name. Values equal to
        the actual ones are left out.
        """
        scene = self.context.scene
        bodies = {scene.region(b.region).body for b in self._named if b.region}
        items = (scene.item_index[b.target] for b in self._named if b.kind == "item")
        bodies |= {self.state.items[index].parent for index in items}
        handles = {binding.handle for binding in self._named}
        others = {
            joint: binding
            for joint, binding in furniture.items()
            if binding.handle not in handles
            and not bodies & set(scene.moved_by(scene.joints[joint].name))
        }
        for is_open in (False, True):
            scene_q = self.state.scene_q.copy()
            for joint, binding in others.items():
                if (abs(scene_q[joint]) > CLOSED) != is_open:
                    scene_q[joint] = intended_opening(self.context, binding) if is_open else 0.0
            if (scene_q != self.state.scene_q).any():
                yield scene_q

    def fewest_hits(self, bare: State, rng: Streams, tries: int) -> frozenset[_Hit] | None:
        """The fewest items and joints that motions found in the world ``bare`` hit.

        None if no motions are found there; empty if some hit nothing.
        """
        best: tuple[tuple[int, int], tuple[_Hit, ...]] | None = None
        for k in range(tries):
            hit = self._one_try(bare, rng(k))
            if hit is None:
                # Nothing found without the items either: they are hardly the reason.
                if best is None and k + 1 >= _FAILURES:
                    break
                continue
            close, any_time = hit
            # Hits close to the contact count, if there are any: free motions to it can be routed
            # differently.
            counted = close or any_time
            rank = ((len(counted), len(any_time)), tuple(sorted(counted)))
            if best is None or rank < best:
                best = rank
            if not counted:
                break
        return None if best is None else frozenset(best[1])

    def _one_try(
        self, at: State, rng: np.random.Generator
    ) -> tuple[frozenset[_Hit], frozenset[_Hit]] | None:
        """Refine the actions once from the State ``at`` of a counterfactual world.

        Returns:
            What the motions hit in the actual world on straight lines in contact, and on all
            motions; or None if the refinement fails.
        """
        close: set[_Hit] = set()
        all_hit: set[_Hit] = set()
        changed = np.flatnonzero(at.scene_q != self.state.scene_q)
        for k, action in enumerate(self.actions[: self.length]):
            upcoming = tuple(self.actions[k + 1 :])
            context = self.context.acting(acting_hand(self.context.robot, self.actions, k))
            _, at = at_rest(context, at, action.index, rng)
            motions = self.skills[action.name].refine(context, action, upcoming, at, rng)
            if isinstance(motions, Failure):
                return None
            for motion in (replace(each, hand=each.hand or context.robot.hand) for each in motions):
                hit = self._hits(motion, at, changed)
                all_hit |= hit
                if motion.group != "base" and motion.record.planner in ("straight", "direct"):
                    close |= hit
                at = state_after(self.context.scene, self.context.robot, motion, at)
        return frozenset(close), frozenset(all_hit)

    def _hits(self, motion: Motion, at: State, changed: NDArray[np.int64]) -> set[_Hit]:
        """The items and joints that a motion would hit in the actual world.

        Args:
            motion: planned in a counterfactual world.
            at: the State of that world when it begins.
            changed: indices of the scene joints that have other values there.
        """
        context, scene = self.context.acting(motion.hand), self.context.scene
        at = with_acting_hand(context.robot, at)
        started = effects(scene, context.robot, motion, at)
        along = [started.at(q) for q in motion.path.resampled(_STEP).waypoints]
        back = started.state
        names: dict[str, _Hit] = {}
        # Bring the removed items back to where they really stand.
        for index, placement in enumerate(at.items):
            if placement.parent == WORLD and placement.X_PI[2, 3] == AWAY:
                back = back.with_item(index, self.state.items[index])
                names[scene.items[index].name] = ("item", index)
        Q, moved = np.array([pose.q for pose in along]), np.array([pose.scene_q for pose in along])
        # Likewise the drawers and doors that were shut or opened.
        moved[:, changed] = self.state.scene_q[changed]
        for joint in changed:
            names |= dict.fromkeys(scene.moved_by(scene.joints[joint].name), ("joint", int(joint)))
        margin = motion.record.margin_m or context.robot.spacing.margin
        checker = context.checker(back.with_scene(moved[0]), motion.allowed, margin)
        hit: set[_Hit] = set()
        if motion.slide is not None:  # the pushed item runs into things, too
            pushed, world = scene.item_index[motion.slide.item], self.context.world
            for pose in along:
                world.set_state(back.with_item(pushed, pose.items[pushed]))
                near = world.near_pairs(margin, (pushed,))
                touched = {n for pair in near if motion.slide.item in pair for n in pair}
                hit |= {names[n] for n in touched & set(names)}
        for i in np.flatnonzero(~checker.free_many(Q, moved)):
            for contact in checker.contacts(Q[i], moved[i], within=margin):
                hit |= {names[n] for n in (contact.a, contact.b) if n in names}
        return hit
