"""Proofs of infeasibility: a minimal unsatisfiable set of constraints, each with a certificate.

Constraints are removed while the task stays unsolvable. The refusal names the most important of
those that remain and carries the certificates of all.

A suspected constraint is proven by a covering bound: no grasp of the family is possible for the
hand alone, or within the arm's reach. The proof must hold in every state of the task: after other
items have been moved, with drawers and doors in any position. So it is made in a counterfactual
world without the items that a plan could move and the bodies that a plan could open. What is
impossible there is impossible in any state of the task. Where nothing is proven, an exhaustive grid
of grasps and stances in that world is the evidence of what was tried.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from galley.domain.failure import Failure, FailureKind
from galley.domain.scene.model import WORLD, Binding, Stance
from galley.domain.state import State
from galley.planning import SearchLimits, Task, search
from galley.skills.drawer import MIN_OPENING, intended_opening
from galley.skills.manipulation.context import PlanningContext, without
from galley.tamp.binding import movable_items
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

    Constraints with the keys ``but`` are left out. Halves are removed first, then single ones
    (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002).
    """

    def unsolvable(kept: list[LearnedConstraint]) -> bool:
        keys = {each.key for each in kept}
        left_out = [key for key in constraints.all if key not in keys]
        return _unsolvable(constraints.applied_to(task, left_out))

    # Prefer proven constraints: remove the suspected ones first.
    kept = [constraint for key, constraint in constraints.all.items() if key not in but]
    kept.sort(key=lambda constraint: constraint.proven)
    sure = [constraint for constraint in kept if constraint.proven]
    if len(sure) < len(kept) and unsolvable(sure):
        kept = sure
    size = max(1, len(kept) // 2)
    while True:
        start = 0
        while start < len(kept):
            fewer = kept[:start] + kept[start + size :]
            if unsolvable(fewer):
                kept = fewer
            else:
                start += size
        if size == 1:
            break
        size = max(1, min(size // 2, len(kept) // 2))
    keys = {each.key for each in kept}
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


def _unsolvable(task: Task) -> bool:
    found = search(task, "bfs", SearchLimits(nodes=_NODES))
    return isinstance(found, Failure) and found.kind is not FailureKind.BUDGET


@dataclass(frozen=True)
class _ManipulationQuery:
    """Can an item be taken, or a drawer opened, from any of some places?

    Attributes:
        blockers: names of the items that stay; other movable_items ones are gone.
    """

    subject: Binding
    places: tuple[Binding, ...]
    blockers: frozenset[str]

    @property
    def what(self) -> str:
        """For messages."""
        return f"{'take' if self.subject.kind == 'item' else 'open'} {self.subject.object}"


_Answer = Callable[[_ManipulationQuery], Failure | None]


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
    _known: dict[tuple[str, ...], Failure | None] = field(default_factory=dict)

    def prove(self, constraint: LearnedConstraint) -> LearnedConstraint:
        """The constraint with a certificate, or unchanged if none was found."""
        query = self._query(constraint)
        found = None if query is None else self._once("proof", query, self._proof)
        return constraint if found is None else replace(constraint, failure=found)

    def tried(self, constraint: LearnedConstraint) -> Failure | None:
        """Evidence of an exhaustive grid without solution; None if it has one or does not apply."""
        query = self._query(constraint)
        return None if query is None else self._once("grid", query, self._grid)

    def _once(self, what: str, query: _ManipulationQuery, answer: _Answer) -> Failure | None:
        places = sorted(each.target for each in query.places)
        key = (what, query.subject.object, *places, "but", *sorted(query.blockers))
        if key not in self._known:
            self._known[key] = answer(query)
        return self._known[key]

    def _query(self, constraint: LearnedConstraint) -> _ManipulationQuery | None:
        """What is to be proven; None if it is not about taking or opening."""
        fact = constraint.fact
        things = [self.task.bindings[name] for name in fact.args if name in self.task.bindings]
        if not fact.predicate.startswith(("blocked-by", "no-stance")) or not things:
            return None
        subject = things[0]
        names = {action.name for action in constraint.actions} | (
            {constraint.by} if constraint.by else set()
        )
        roles = [self.task.skills[name].role for name in sorted(names)]
        if not self._only_ours("takes" if subject.kind == "item" else "opens"):
            return None  # the bound covers our skills only
        if subject.kind == "item":
            if any(role.takes is None for role in roles) or not self._stands(subject):
                return None  # a proof about taking says nothing about placing
            places = [b for b in things[1:] if b.kind == "furniture"] or self._places()
        elif subject.handle is not None and all(role.opens is not None for role in roles):
            places = [subject]
        else:
            return None
        blockers = frozenset(b.target for b in things[1:] if b.kind == "item")
        return _ManipulationQuery(subject, tuple(places), blockers)

    def _only_ours(self, what: str) -> bool:
        """Whether all skills that take, or open, are among those that the bound covers."""
        doing = (each for each in self.task.skills.values() if getattr(each.role, what) is not None)
        return all(skill.standard_grasps for skill in doing)

    def _stands(self, thing: Binding) -> bool:
        """Whether no drawer can carry the item elsewhere."""
        return self.start.items[self.context.scene.item_index[thing.target]].parent == WORLD

    def _places(self) -> list[Binding]:
        """One piece of furniture for each set of stances."""
        found = {b.target: b for b in self.task.bindings.values() if b.kind == "furniture"}
        return list(found.values())

    def _proof(self, query: _ManipulationQuery) -> Failure | None:
        from galley.skills.infeasibility.covering import handle_holds, item_grasps, prove_no_grasp

        context, state, said = self._counterfactual(query)
        subject, stances = query.subject, self._stances(query)
        if subject.kind == "item":
            families = item_grasps(context, state, context.scene.item_index[subject.target])
            found = prove_no_grasp(context, state, families, stances, query.what, subject.target)
        else:
            families = handle_holds(context, state, subject, min(self._values(context, subject)))
            found = prove_no_grasp(context, state, families, stances, query.what)
        if found is None:
            return None
        return replace(found, certificate={**(found.certificate or {}), **said})

    def _grid(self, query: _ManipulationQuery) -> Failure | None:
        from galley.tamp.infeasibility.grid import all_operations, all_picks, tried

        context, state, said = self._counterfactual(query)
        subject = query.subject
        if subject.kind == "item":
            ways = all_picks(context, state, context.scene.item_index[subject.target])
        else:
            assert subject.handle is not None
            handle = context.scene.handle(subject.handle)
            values = self._values(context, subject)
            ways = [w for v in values for w in all_operations(context, state, handle, v)]
        found = tried(context, state, ways, self._stances(query), query.what)
        if found is None:
            return None
        return replace(found, evidence=tuple({**each, **said} for each in found.evidence))

    def _stances(self, query: _ManipulationQuery) -> list[Stance]:
        scene = self.context.scene
        return [scene.stance(name) for name in dict.fromkeys(p.target for p in query.places)]

    @staticmethod
    def _values(context: PlanningContext, subject: Binding) -> list[float]:
        """How far a drawer is opened: as far as it goes, or the least that will do."""
        far = intended_opening(context, subject)
        return list(dict.fromkeys((far, min(MIN_OPENING, far))))

    def _counterfactual(
        self, query: _ManipulationQuery
    ) -> tuple[PlanningContext, State, dict[str, list[str]]]:
        """The counterfactual world: context, state, and what was removed."""
        away = self._movable(query.subject, query.blockers)
        left_out = self._openable(query.subject)
        context = self.context.without(left_out) if left_out else self.context
        state = without(self.start, [self.context.scene.item_index[name] for name in away])
        return context, state, {"moved_away": list(away), "left_out": sorted(left_out)}

    def _movable(self, subject: Binding, blockers: frozenset[str]) -> tuple[str, ...]:
        """Items that a plan could move, without ``blockers``; and all that stand in drawers."""
        scene = self.context.scene
        can_go = movable_items(self.task, self.start)
        return tuple(
            item.name
            for index, item in enumerate(scene.items)
            if item.name not in (*blockers, subject.target)
            and (index in can_go or self.start.items[index].parent != WORLD)
        )

    def _openable(self, subject: Binding) -> frozenset[str]:
        """Bodies that move when something other than the subject is opened."""
        scene = self.context.scene
        found: set[str] = set()
        for binding in self.task.bindings.values():
            if binding.handle is not None and binding.handle != subject.handle:
                found |= set(scene.moved_by(scene.handle(binding.handle).joint))
        return frozenset(found)
