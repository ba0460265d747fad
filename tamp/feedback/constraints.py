"""Constraints learned from geometry, as facts for the task planner.

The task is extended by predicates of our own. Actions maintain three of them:

- ``(as-found THING)``: no action has taken or pushed the item yet. It always holds for furniture.
- ``(stands-open DRAWER)``: the drawer or door was opened, and has not been shut since.
- ``(stands ITEM PLACE)``: the item stands somewhere on or in the place.

The others are the learned constraints. A fact of one of these states a failure, and becomes a
precondition that delays actions:

- ``(blocked-by THING ITEM)``: THING, as found, can't be taken, opened, shut or worked on while ITEM
  stands as found. There is one fact for each item in the way.
- ``(no-room ITEM PLACE OTHER)``: ITEM can't be put there while OTHER stands as found.
- ``(too-small PLACE ITEM OTHER ...)``: PLACE can't hold all of them, wherever they stand.
- ``(no-stance ITEM PLACE)``: ITEM, as found, can't be reached from any stance of PLACE.
- ``(no-stance-of ITEM PLACE HAND)``: the same for one hand of a robot with several.
- ``(kept-shut THING OTHER)``: THING can't be opened, shut or worked on while OTHER stands open,
  and while it is as found not taken; nothing can be put there, if it is a place.
- ``(kept-open THING OTHER)``: the same while OTHER is shut.
- ``(way-kept-shut PLACE OTHER)``, ``(way-kept-open PLACE OTHER)``: the base can't drive to PLACE.

A failure that none of these facts states forbids the ground action itself.

The extension only adds preconditions, so every plan of the extended task is a plan of the user's.
Each constraint adds its own precondition to the actions that it concerns, and the task is grounded
again. That is quicker than one quantified precondition for everything that might be learned.

A constraint is ``proven`` if its failure carries a certificate. The others come from a bounded
search: they guide the next plan but can't justify a refusal.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from galley.domain.failure import Failure
from galley.domain.pddl.formula import OBJECT, Effect, Fact, ForEach, Formula, Literal, Or, Variable
from galley.domain.pddl.model import ActionSchema, Predicate
from galley.planning import GroundAction, Task, ground
from galley.robots.model import RobotModel
from galley.skills.skill import BoundAction, Role
from galley.tamp.task import TampTask

_ARITIES = {
    "as-found": 1,
    "stands": 2,
    "blocked-by": 2,
    "no-room": 3,
    "too-small": 3,
    "no-stance": 2,
    "no-stance-of": 3,
    "stands-open": 1,
    "kept-shut": 2,
    "kept-open": 2,
    "way-kept-shut": 2,
    "way-kept-open": 2,
}
Key = Fact | tuple[GroundAction, ...]
"""Identifies a constraint: its fact, or the ground actions that it forbids."""


@dataclass(frozen=True)
class ConstrainedTask(TampTask):
    """The user's task, its domain and problem extended by the predicates above.

    Attributes:
        names: the name of each added predicate in this domain, by its name above. It differs where
            the user's domain has a predicate or action of that name.
    """

    names: Mapping[str, str]
    _tasks: dict[frozenset[Fact], Task] = field(default_factory=dict, repr=False, compare=False)

    def fact(self, predicate: str, *args: str) -> Fact:
        """A fact of one of the added predicates, by its name above."""
        return Fact(self.names[predicate], args)

    def no_stance(self, action: BoundAction, robot: RobotModel) -> Fact:
        """The fact that the item which an action takes can't be reached where it was found.

        For a robot with several hands it is a fact about the hand that acts.
        """
        role = self.skills[action.name].role
        both = (k for k in (role.takes, role.place) if k is not None)
        names = [action.bindings[k].object for k in both]
        hands = [binding.object for binding in action.bindings if binding.kind == "hand"]
        if robot.views and hands:
            return self.fact("no-stance-of", *names, hands[0])
        return self.fact("no-stance", *names)

    def grounded(self, *constraints: Fact) -> Task:
        """The ground task with these constraints; each set of them is grounded only once."""
        key = frozenset(constraints)
        if key not in self._tasks:
            actions = tuple(
                self._constrained(schema, tuple(dict.fromkeys(constraints)))
                for schema in self.domain.actions
            )
            objects = self.problem.object
            # Constraints about items that the problem does not name add no facts.
            facts = (f for f in dict.fromkeys(constraints) if all(map(objects, f.args)))
            domain, problem = replace(self.domain, actions=actions), self.problem.with_facts(facts)
            self._tasks[key] = ground(domain, problem)
        return self._tasks[key]

    def _constrained(self, schema: ActionSchema, constraints: Sequence[Fact]) -> ActionSchema:
        """The action with a precondition for each constraint that concerns it.

        Each precondition reads: a parameter is another object, or the reason is gone.
        """
        skill = self.skills.get(schema.name)
        if skill is None or not constraints:
            return schema
        role, of = skill.role, [variable.name for variable in schema.parameters]
        known = {new: old for old, new in self.names.items()}
        conditions: list[Formula] = []
        hand = skill.parameters.index("hand") if "hand" in skill.parameters else None
        for fact in constraints:
            for things, gone in self._conditions(known[fact.predicate], fact.args, role, of, hand):
                others = (Literal("=", pair, False) for pair in things)
                conditions.append(Or((*others, *gone)))
        return replace(schema, precondition=schema.precondition + tuple(conditions))

    def _conditions(
        self, predicate: str, args: Sequence[str], role: Role, of: Sequence[str], hand: int | None
    ) -> Iterator[tuple[list[tuple[str, str]], list[Literal]]]:
        """When a constraint applies to an action, and what lifts it.

        Args:
            predicate: the constraint's, by its name above.
            args: its arguments.
            role: what the action does to its parameters.
            of: names of the parameters.
            hand: position of the parameter for the hand, or None.

        Yields:
            Pairs of a parameter and the object that it must be for the constraint to apply; and
            literals of which one must hold then.
        """

        def no_longer(*things: str) -> list[Literal]:
            """Some of these is no longer as found; an item that the problem doesn't name stays."""
            named = [each for each in things if self.problem.object(each) is not None]
            return [Literal(self.names["as-found"], (each,), False) for each in named]

        takes, puts, place = role.takes, role.sets, role.place
        works_on = {takes, role.opens, role.closes, role.uses}
        if predicate == "blocked-by":
            subject, blocker = args
            for i in sorted(each for each in works_on if each is not None):
                yield [(of[i], subject)], no_longer(blocker, subject)
        elif predicate in ("kept-shut", "kept-open"):
            subject, other = args
            opened = Literal(self.names["stands-open"], (other,), predicate == "kept-open")
            works_on.add(place if puts is not None else None)
            for i in sorted(each for each in works_on if each is not None):
                elsewhere = no_longer(subject) if i == takes else []
                yield [(of[i], subject)], [opened, *elsewhere]
        elif predicate in ("way-kept-shut", "way-kept-open") and role.goes is not None:
            opened = Literal(self.names["stands-open"], (args[1],), predicate == "way-kept-open")
            yield [(of[role.goes], args[0])], [opened]
        elif predicate == "no-stance" and takes is not None and place is not None:
            item, target = args
            yield [(of[takes], item), (of[place], target)], no_longer(item)
        elif predicate == "no-stance-of" and takes is not None:
            at = zip((takes, place, hand), args, strict=True)
            yield [(of[k], name) for k, name in at if k is not None], no_longer(args[0])
        elif predicate == "no-room" and puts is not None and place is not None:
            item, target, other = args
            yield [(of[puts], item), (of[place], target)], no_longer(other)
        elif predicate == "too-small" and puts is not None and place is not None:
            target, item, *others = args
            gone = [Literal(self.names["stands"], (other, target), False) for other in others]
            yield [(of[puts], item), (of[place], target)], gone


def constrained_task(
    task: TampTask, item_places: Iterable[tuple[str, str]], open_furniture: Iterable[str] = ()
) -> ConstrainedTask:
    """The task extended by the predicates above, without any constraints yet.

    Args:
        task: the user's task.
        item_places: PDDL names of each item that stands somewhere at the start, and of its place.
        open_furniture: PDDL names of the furniture that stands open at the start.
    """
    domain, problem, skills = task.domain, task.problem, task.skills
    taken = domain.predicate_names | {each.name for each in domain.actions}
    names = {name: _unused(name, taken, "-in-scene") for name in _ARITIES}
    predicates = tuple(
        Predicate(names[name], tuple(Variable(f"?x{i}") for i in range(arity)))
        for name, arity in _ARITIES.items()
    )
    actions = tuple(
        _with_changes(each, skills[each.name].role, names) if each.name in skills else each
        for each in domain.actions
    )
    init = [Fact(names["as-found"], (each.name,)) for each in problem.objects]
    init += [Fact(names["stands"], pair) for pair in item_places]
    init += [Fact(names["stands-open"], (each,)) for each in open_furniture]
    return ConstrainedTask(
        task.scene,
        replace(domain, predicates=domain.predicates + predicates, actions=actions),
        problem.with_facts(init),
        task.bindings,
        skills,
        names,
    )


def _unused(name: str, taken: Collection[str], suffix: str) -> str:
    """The name, with suffixes until it is not among those ``taken``."""
    while name in taken:
        name += suffix
    return name


def _with_changes(schema: ActionSchema, role: Role, names: Mapping[str, str]) -> ActionSchema:
    """The action with effects that maintain as-found, stands and stands-open."""
    of = [variable.name for variable in schema.parameters]
    effects: list[Effect] = []
    if role.removes is not None:
        item, other = of[role.removes], Variable(_unused("?where", of, "x"), (OBJECT,))
        effects.append(Literal(names["as-found"], (item,), False))
        gone = Literal(names["stands"], (item, other.name), False)
        effects.append(ForEach((other,), (gone,)))
    if role.closes is not None:
        effects.append(Literal(names["stands-open"], (of[role.closes],), False))
    if role.opens is not None and role.opens != role.closes:
        effects.append(Literal(names["stands-open"], (of[role.opens],)))
    if role.sets is not None and role.place is not None:
        effects.append(Literal(names["stands"], (of[role.sets], of[role.place])))
    return replace(schema, effect=schema.effect + tuple(effects))


@dataclass(frozen=True)
class LearnedConstraint:
    """A constraint learned from one failure.

    Attributes:
        fact: the fact for the task planner, with the names of ``ConstrainedTask``.
        failure: the failure that it was learned from; its certificate is the proof, if any.
        actions: the ground actions that it forbids; ``fact`` is then for the report only.
        by: the name of the action that it was learned from, where a proof depends on it.
    """

    fact: Fact
    failure: Failure
    actions: tuple[GroundAction, ...] = ()
    by: str = field(default="", compare=False)

    @property
    def key(self) -> Key:
        """The fact, or the actions that it forbids."""
        return self.actions or self.fact

    @property
    def proven(self) -> bool:
        """Whether its failure carries a certificate."""
        return self.failure.proven

    def __str__(self) -> str:
        return f"{self.fact}: {self.failure.message}"


@dataclass
class LearnedConstraints:
    """All constraints learned in one search, in order, without repetition.

    Attributes:
        all: the constraints by key.
    """

    all: dict[Key, LearnedConstraint] = field(default_factory=dict)

    def add(self, constraints: Iterable[LearnedConstraint]) -> list[LearnedConstraint]:
        """Add constraints, and return those not known yet. A proof replaces a suspicion."""
        new = []
        for constraint in constraints:
            known = self.all.get(constraint.key)
            if known is None:
                new.append(constraint)
            if known is None or (constraint.proven and not known.proven):
                self.all[constraint.key] = constraint
        return new

    def applied_to(self, constrained: ConstrainedTask, without: Iterable[Key] = ()) -> Task:
        """The ground task with all constraints except those with the keys ``without``."""
        left_out = set(without)
        constraints = [c for c in self.all.values() if c.key not in left_out]
        task = constrained.grounded(*(c.fact for c in constraints if not c.actions))
        barred = [action for c in constraints for action in c.actions]
        return task.forbid(*barred) if barred else task
