"""Proofs of infeasibility: a minimal unsatisfiable set of constraints, each with a certificate.

``minimal_core`` removes constraints one by one as long as the task stays unsolvable. The refusal
names the most important of those that remain and carries the certificates of all.

A suspected constraint is proven by a covering bound (``skills.infeasibility.covering``): each grasp
of the family is impossible for the hand alone, or beyond the arm's reach. The proof must hold in
every state of the task: after other items have been moved, with drawers and doors in any position.
So it is made in a counterfactual world without the items that a plan could move and the bodies that
a plan could open. An action that is impossible there is impossible in any state of the task.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from galley.domain.failure import Failure, FailureKind
from galley.domain.scene.model import WORLD, Binding
from galley.domain.state import State
from galley.motion.effects import with_acting_hand
from galley.planning import SearchLimits, ground, search
from galley.skills import SKILLS
from galley.skills.drawer import MIN_OPENING, intended_opening
from galley.skills.infeasibility.passage import no_passage
from galley.skills.manipulation.context import PlanningContext, without
from galley.skills.skill import acting_hand
from galley.tamp.binding import bind_plan, item_places, movable_items
from galley.tamp.feedback.constraints import (
    ConstrainedTask,
    Key,
    LearnedConstraint,
    LearnedConstraints,
)
from galley.tamp.task import TampTask

_NODES = 20_000  # states expanded to decide solvability
# Kinds of failures, the one that a refusal names first at the front.
_WEIGHT = (
    FailureKind.BLOCKED,
    FailureKind.UNREACHABLE,
    FailureKind.DOES_NOT_FIT,
    FailureKind.UNSTABLE,
    FailureKind.CONTRADICTION,
    FailureKind.BUDGET,
    FailureKind.BAD_INPUT,
)


def minimal_core(
    task: ConstrainedTask, constraints: LearnedConstraints, but: Collection[Key] = ()
) -> list[LearnedConstraint]:
    """A minimal set of constraints that leaves no plan, as far as bounded searches can tell.

    Each constraint is removed in turn. If there is no plan without it either, it stays removed;
    else it is part of the core.

    Args:
        task: the extended task.
        constraints: constraints that together leave no plan.
        but: keys of constraints to leave out from the start.
    """

    def unsolvable(core: list[LearnedConstraint]) -> bool:
        """Whether search proves that the task has no plan under these constraints alone."""
        keys = {each.key for each in core}
        left_out = [key for key in constraints.all if key not in keys]
        less = constraints.applied_to(task, left_out)
        plan = search(less, "bfs", SearchLimits(nodes=_NODES))
        return isinstance(plan, Failure) and plan.kind is not FailureKind.BUDGET

    # Try to remove the suspected constraints first, so that the core has few of them.
    core = [constraint for key, constraint in constraints.all.items() if key not in but]
    core.sort(key=lambda constraint: constraint.proven)
    # If the proven ones suffice, all suspected ones go at once.
    sure = [constraint for constraint in core if constraint.proven]
    if len(sure) < len(core) and unsolvable(sure):
        core = sure
    for constraint in tuple(core):
        fewer = [each for each in core if each is not constraint]
        if unsolvable(fewer):
            core = fewer
    keys = {each.key for each in core}
    return [constraint for key, constraint in constraints.all.items() if key in keys]


def refusal(
    constraints: list[LearnedConstraint], prove: Callable[[LearnedConstraint], LearnedConstraint]
) -> Failure | None:
    """The refusal with the certificates of all constraints; None if one can't be proven.

    Args:
        constraints: a minimal unsatisfiable set.
        prove: returns a constraint with a certificate if a proof can be found, else unchanged.
    """
    proven: list[LearnedConstraint] = []
    for constraint in constraints:
        sure = constraint if constraint.proven else prove(constraint)
        if not sure.proven:
            return None
        proven.append(sure)
    proven.sort(key=lambda each: _WEIGHT.index(each.failure.kind))
    main = proven[0].failure
    if len(proven) == 1:
        return main
    others = [
        {"fact": str(each.fact), "message": str(each.failure), **(each.failure.certificate or {})}
        for each in proven[1:]
    ]
    reasons = "; ".join(dict.fromkeys(each.failure.message for each in proven))
    return replace(
        main, message=reasons, certificate={**(main.certificate or {}), "because": others}
    )


@dataclass(frozen=True)
class _Question:
    """Can an item be taken, or a drawer opened, from any of some stance sets?

    Attributes:
        subject: PDDL name of the item or drawer.
        stances: names of the stance sets.
        blockers: names of the items that stay; the others that a plan could move are left out.
        hand: name of the hand that takes or opens it; empty for any hand.
    """

    subject: str
    stances: tuple[str, ...]
    blockers: frozenset[str]
    hand: str = ""


@dataclass
class Prover:
    """Proves constraints; answers are cached.

    Attributes:
        context: the scene, robot and settings.
        task: the user's task, which may be refused.
        start: the State at the start of the task.
    """

    context: PlanningContext
    task: TampTask
    start: State
    _known: dict[_Question, Failure | None] = field(default_factory=dict)

    def prove(self, constraint: LearnedConstraint) -> LearnedConstraint:
        """The constraint with a certificate, or unchanged if no proof was found."""
        if "kept-" in constraint.fact.predicate:
            return self._closed_way(constraint)
        question = self._question(constraint)
        if question is None:
            return constraint
        if question not in self._known:
            self._known[question] = self._proof(question)
        proof = self._known[question]
        return constraint if proof is None else replace(constraint, failure=proof)

    def _closed_way(self, constraint: LearnedConstraint) -> LearnedConstraint:
        """The proof of a fact ``kept-open`` or ``kept-shut``, or the constraint unchanged.

        It is proven if a drawer or door that no action can open (or shut) closes the base's way to
        the furniture, even with all else moved away.
        """
        scene, skills = self.context.scene, self.task.skills
        thing, other = (self.task.bindings[name] for name in constraint.fact.args)
        does = "open" if "kept-open" in constraint.fact.predicate else "close"
        why, ours = f"the domain has no action to {does} it", set(map(type, SKILLS.values()))
        if skills[constraint.by].role.uses is not None or {*map(type, skills.values())} - ours:
            return constraint  # such an action may not need the base near
        # Could any action of the task open it, or shut it?
        for operator in ground(self.task.domain, self.task.problem).operators:
            (action,) = bind_plan((operator.action,), self.task.bindings)
            role = skills[action.name].role
            # An action that opens it and shuts it again leaves it shut when the base drives on.
            opens = role.opens if role.opens != role.closes else None
            part = opens if does == "open" else role.closes
            if part is None or action.bindings[part] != other:
                continue
            context = self.context.acting(acting_hand(self.context.robot, (action,)))
            if skills[action.name].impossible(context, action, self.start) is None:
                return constraint
            why = f"no action can {does} it"
        there = [b for a, b in item_places(self.task, self.start) if a == thing.object]
        near = [self.task.bindings[each] for each in there] or [thing]
        stances = [scene.stance(each.target) for each in near if each.kind == "furniture"]
        away = [scene.item_index[name] for name in self._movable(other, frozenset())]
        context = self.context.without(left_out := self._openable(other))
        proof = no_passage(context, without(self.start, away), stances) if stances else None
        if proof is None:
            return constraint
        certificate = {**(proof.certificate or {}), "left_out": sorted(left_out)}
        failure = replace(proof, message=f"{proof.message}, and {why}", certificate=certificate)
        return replace(constraint, failure=failure)

    def _question(self, constraint: LearnedConstraint) -> _Question | None:
        """The question that a proof must answer; None if it is not about taking or opening."""
        fact, bindings = constraint.fact, self.task.bindings
        things = [bindings[name] for name in fact.args if name in bindings]
        if not fact.predicate.startswith(("blocked-by", "no-stance")) or not things:
            return None
        subject, names = things[0], {action.name for action in constraint.actions}
        roles = [self.task.skills[name].role for name in names | {constraint.by} - {""}]
        does = "takes" if subject.kind == "item" else "opens"
        if any(getattr(role, does) is None for role in roles) or not self._only_ours(does):
            return None  # the bound covers neither placing nor the skills of users
        if subject.kind == "item":
            if not self._stands(subject):
                return None
            furniture = [each for each in bindings.values() if each.kind == "furniture"]
            places = [each for each in things[1:] if each.kind == "furniture"] or furniture
        elif subject.handle is not None:
            places = [subject]
        else:
            return None
        stances = tuple(dict.fromkeys(each.target for each in places))
        blockers = frozenset(each.target for each in things[1:] if each.kind == "item")
        hands = [each.target for each in things if each.kind == "hand"]
        return _Question(subject.object, stances, blockers, "".join(hands[:1]))

    def _only_ours(self, does: str) -> bool:
        """Whether all skills that do this (``takes``, ``opens``) use the grasps of the bound."""
        doing = (each for each in self.task.skills.values() if getattr(each.role, does) is not None)
        return all(skill.standard_grasps for skill in doing)

    def _stands(self, thing: Binding) -> bool:
        """Whether the item stands on fixed furniture, so that no drawer can carry it away."""
        return self.start.items[self.context.scene.item_index[thing.target]].parent == WORLD

    def _proof(self, question: _Question) -> Failure | None:
        """The covering bound without the items and bodies that a plan could move, or None.

        It must hold for each hand that might do it.
        """
        from galley.skills.infeasibility.covering import handle_holds, item_grasps, prove_no_grasp

        scene, subject = self.context.scene, self.task.bindings[question.subject]
        stances = [scene.stance(name) for name in question.stances]
        away = self._movable(subject, question.blockers)
        left_out = self._openable(subject)
        context = self.context.without(left_out) if left_out else self.context
        state = without(self.start, [scene.item_index[name] for name in away])
        proof: Failure | None = None
        for hand in (question.hand,) if question.hand else self.context.robot.views or ("",):
            own = context.acting(hand)
            if subject.kind == "item":
                families = item_grasps(own, state, scene.item_index[subject.target])
                what, item = f"take {subject.object}", subject.target
            else:
                least = min(MIN_OPENING, intended_opening(own, subject))
                families = handle_holds(own, state, subject, least)
                what, item = f"open {subject.object}", None
            proof = prove_no_grasp(
                own, with_acting_hand(own.robot, state), families, stances, what, item
            )
            if proof is None:
                break
        if proof is None:
            return None
        removed = {"moved_away": list(away), "left_out": sorted(left_out)}
        return replace(proof, certificate={**(proof.certificate or {}), **removed})

    def _movable(self, subject: Binding, blockers: frozenset[str]) -> tuple[str, ...]:
        """Names of the items to leave out of a proof about ``subject``.

        These are the items that a plan could move, and all that stand in drawers; except the
        ``blockers``, unless a blocker would be moved along with a drawer that could be opened.
        """
        can_go, goes = movable_items(self.task, self.start), self._openable(subject)
        parents = [placement.parent for placement in self.start.items]
        return tuple(
            item.name
            for index, (item, parent) in enumerate(
                zip(self.context.scene.items, parents, strict=True)
            )
            if item.name != subject.target
            and (item.name not in blockers or parent in goes)
            and (index in can_go or parent != WORLD)
        )

    def _openable(self, subject: Binding) -> frozenset[str]:
        """Names of the bodies that move when furniture other than the subject is opened."""
        scene = self.context.scene
        bodies: set[str] = set()
        for binding in self.task.bindings.values():
            if binding.handle is not None and binding.handle != subject.handle:
                bodies |= set(scene.moved_by(scene.handle(binding.handle).joint))
        return frozenset(bodies)
