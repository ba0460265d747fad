"""The task as the search over both sees it: the user's domain, and room for what geometry says.

Predicates are added that nobody writes in a problem. Two are kept by the actions:

- ``(as-found THING)``: an item that no action has taken yet; furniture always.
- ``(stands ITEM PLACE)``: an item that stands on or in a place, wherever there.

The others hold nothing at first. Each fact of theirs is a lesson that geometry taught, and makes
actions wait (see ``lessons``):

- ``(blocked-by THING ITEM)``: THING, as found, can't be taken or opened while ITEM stands as found.
- ``(no-room ITEM PLACE OTHER)``: ITEM can't be put there while OTHER stands as found.
- ``(too-small PLACE ITEM OTHER)``: PLACE can't hold both, wherever they stand.
- ``(no-stance ITEM PLACE)``: ITEM, as found, can't be reached from any stance of PLACE.

Preconditions are only added and the user's facts change as before: every plan of the task made
here is one of the user's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from galley.domain.formula import (
    OBJECT,
    Effect,
    Fact,
    Forall,
    ForEach,
    Formula,
    Literal,
    Or,
    Variable,
)
from galley.domain.pddl import ActionSchema, Domain, Predicate, Problem
from galley.skills import Skill

_ARITIES = {
    "as-found": 1,
    "stands": 2,
    "blocked-by": 2,
    "no-room": 3,
    "too-small": 3,
    "no-stance": 2,
}


@dataclass(frozen=True)
class Augmented:
    """A domain and problem with room for lessons.

    Attributes:
        domain: the user's, with the predicates above.
        problem: the user's, with what holds of them at the start.
        names: what each predicate is called; another name than above where the user's domain has
            one of that name.
    """

    domain: Domain
    problem: Problem
    names: Mapping[str, str]

    def fact(self, predicate: str, *args: str) -> Fact:
        """A fact of one of the added predicates, by its name above."""
        return Fact(self.names[predicate], args)


def augmented(
    domain: Domain,
    problem: Problem,
    skills: Mapping[str, Skill],
    standing: Iterable[tuple[str, str]],
) -> Augmented:
    """The task with room for lessons.

    Args:
        domain: the user's.
        problem: the user's.
        skills: by the name of their action; their roles say what actions do to things.
        standing: object and place of each item that stands somewhere at the start.
    """
    taken = domain.predicate_names | {each.name for each in domain.actions}
    names = {name: _unused(name, taken) for name in _ARITIES}
    predicates = tuple(
        Predicate(names[name], tuple(Variable(f"?x{i}") for i in range(arity)))
        for name, arity in _ARITIES.items()
    )
    actions = tuple(
        _with_geometry(each, skills[each.name], names) if each.name in skills else each
        for each in domain.actions
    )
    init = [Fact(names["as-found"], (each.name,)) for each in problem.objects]
    init += [Fact(names["stands"], pair) for pair in standing]
    return Augmented(
        replace(domain, predicates=domain.predicates + predicates, actions=actions),
        replace(
            problem,
            init=problem.init + tuple(init),
            init_places=problem.init_places + ((0, 0),) * len(init),
        ),
        names,
    )


def _unused(name: str, taken: frozenset[str]) -> str:
    while name in taken:
        name += "-in-scene"
    return name


def _with_geometry(schema: ActionSchema, skill: Skill, names: Mapping[str, str]) -> ActionSchema:
    """The action with what it must wait for, and what becomes of as-found and stands."""
    role = skill.role
    of = [variable.name for variable in schema.parameters]
    conditions: list[Formula] = []
    effects: list[Effect] = []

    def atom(predicate: str, *args: str, positive: bool = True) -> Literal:
        return Literal(names[predicate], args, positive)

    def unless(fact: Literal, *others: Literal) -> Formula:
        """Where ``fact`` was learned, one of ``others`` must be gone."""
        gone = tuple(replace(each, positive=False) for each in others)
        return Or((replace(fact, positive=False), *gone))

    blocker = Variable(_fresh("?blocker", of), (OBJECT,))
    b = blocker.name
    subjects = {role.takes, role.opens, role.uses} - {None}
    for subject in sorted(of[i] for i in subjects if i is not None):
        waits = unless(
            atom("blocked-by", subject, b), atom("as-found", b), atom("as-found", subject)
        )
        conditions.append(Forall((blocker,), waits))
    if role.takes is not None:
        item = of[role.takes]
        if role.place is not None:
            place = of[role.place]
            conditions.append(unless(atom("no-stance", item, place), atom("as-found", item)))
        where = Variable(_fresh("?where", of), (OBJECT,))
        effects.append(atom("as-found", item, positive=False))
        effects.append(ForEach((where,), (atom("stands", item, where.name, positive=False),)))
    if role.puts is not None and role.place is not None:
        item, place = of[role.puts], of[role.place]
        conditions += (
            Forall((blocker,), unless(atom("no-room", item, place, b), atom("as-found", b))),
            Forall((blocker,), unless(atom("too-small", place, item, b), atom("stands", b, place))),
        )
        effects.append(atom("stands", item, place))
    return replace(
        schema,
        precondition=schema.precondition + tuple(conditions),
        effect=schema.effect + tuple(effects),
    )


def _fresh(name: str, taken: list[str]) -> str:
    while name in taken:
        name += "x"
    return name
