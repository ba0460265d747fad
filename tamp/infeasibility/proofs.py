"""Proofs of infeasibility: a minimal unsatisfiable set of constraints, each with a certificate.

Constraints are removed while the task stays unsolvable. The refusal names the most important of
those that remain and carries the certificates of all.

A suspected constraint is proven by a covering bound: no grasp of the family is possible for the
hand alone, or within the arm's reach. The proof must hold in every state of the task: after other
items have been moved, with drawers and doors in any position. So it is made in a counterfactual
world without the items that a plan could move and the bodies that a plan could open. What is
impossible there is impossible in any state of the task.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from galley.domain.failure import Failure, FailureKind
from galley.domain.scene.model import WORLD, Binding
from galley.domain.state import State
from galley.motion.effects import seen_by
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

    Constraints with the keys ``but`` are left out. Each is removed in turn, for good if there is no
    plan without it either.
    """

    def unsolvable(core: list[LearnedConstraint]) -> bool:
        keys = {each.key for each in core}
        left_out = [key for key in constraints.all if key not in keys]
        less = constraints.applied_to(task, left_out)
        plan = search(less, "bfs", SearchLimits(nodes=_NODES))
        return isinstance(plan, Failure) and plan.kind is not FailureKind.BUDGET

    # Prefer proven constraints: remove the suspected ones first.
    core = [constraint for key, constraint in constraints.all.items() if key not in but]
    core.sort(key=lambda constraint: constraint.proven)
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
        prove: returns a constraint with a certificate, if one can be found.
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
        subject: its PDDL name. stances: names of the sets.
        blockers: names of the items that stay; others that a plan could move are gone.
        hand: by which; empty: by any.
    """

    subject: str
    stances: tuple[str, ...]
    blockers: frozenset[str]
    hand: str = ""


@dataclass
class Prover:
    """Proves constraints; answers are kept.

    Attributes:
        context: robot, settings. task: what is to be refused.
        start: the State at the start.
    """

    context: PlanningContext
    task: TampTask
    start: State
    _known: dict[_Question, Failure | None] = field(default_factory=dict)

    def prove(self, constraint: LearnedConstraint) -> LearnedConstraint:
        """The constraint with a certificate, or unchanged if none was found."""
        if "kept-" in constraint.fact.predicate:
            return self._barred(constraint)
        question = self._question(constraint)
        if question is None:
            return constraint
        if question not in self._known:
            self._known[question] = self._proof(question)
        proof = self._known[question]
        return constraint if proof is None else replace(constraint, failure=proof)

    def _barred(self, constraint: LearnedConstraint) -> LearnedConstraint:
        """Proven if what stays as it is closes the base's way, with all else moved away."""
        scene, skills = self.context.scene, self.task.skills
        thing, other = (self.task.bindings[name] for name in constraint.fact.args)
        does = "open" if "kept-open" in constraint.fact.predicate else "close"
        why, ours = f"the domain has no action to {does} it", set(map(type, SKILLS.values()))
        if skills[constraint.by].role.uses is not None or {*map(type, skills.values())} - ours:
            return constraint  # the base need not be near
        for operator in ground(self.task.domain, self.task.problem).operators:
            (action,) = bind_plan((operator.action,), self.task.bindings)
            role = skills[action.name].role
            # What opens it and shuts it again leaves it shut when the base drives on.
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
        """What is to be proven; None if it is not about taking or opening."""
        fact, bindings = constraint.fact, self.task.bindings
        things = [bindings[name] for name in fact.args if name in bindings]
        if not fact.predicate.startswith(("blocked-by", "no-stance")) or not things:
            return None
        subject, names = things[0], {action.name for action in constraint.actions}
        roles = [self.task.skills[name].role for name in names | {constraint.by} - {""}]
        does = "takes" if subject.kind == "item" else "opens"
        if any(getattr(role, does) is None for role in roles) or not self._only_ours(does):
            return None  # a proof about taking says nothing about placing, nor of own skills
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
        """Whether all skills that take, or open, are among those that the bound covers."""
        doing = (each for each in self.task.skills.values() if getattr(each.role, does) is not None)
        return all(skill.standard_grasps for skill in doing)

    def _stands(self, thing: Binding) -> bool:
        """Whether no drawer can carry the item elsewhere."""
        return self.start.items[self.context.scene.item_index[thing.target]].parent == WORLD

    def _proof(self, question: _Question) -> Failure | None:
        """The covering bound in a world in which all is moved and opened that could be."""
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
            proof = prove_no_grasp(own, seen_by(own.robot, state), families, stances, what, item)
            if proof is None:
                break
        if proof is None:
            return None
        removed = {"moved_away": list(away), "left_out": sorted(left_out)}
        return replace(proof, certificate={**(proof.certificate or {}), **removed})

    def _movable(self, subject: Binding, blockers: frozenset[str]) -> tuple[str, ...]:
        """Items that a plan could move, without ``blockers``; and all that stand in drawers.

        A blocker goes, too, with a drawer that could be opened.
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
        """Bodies that move when something other than the subject is opened."""
        scene = self.context.scene
        bodies: set[str] = set()
        for binding in self.task.bindings.values():
            if binding.handle is not None and binding.handle != subject.handle:
                bodies |= set(scene.moved_by(scene.handle(binding.handle).joint))
        return frozenset(bodies)
