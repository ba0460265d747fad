"""From a lifted problem to a Task.

| PDDL | Task |
|---|---|
| action schema and objects | one Operator for each relaxed-reachable combination |
| precondition, effect | bit masks |
| fact that changes, or is in the goal | one bit |
| fact that always or never holds | evaluated here, no bit |
"""

from __future__ import annotations

from collections.abc import Iterable

from galley.domain.pddl import EQUALITY, Domain, Fact, Problem
from galley.planning.relaxation import Instance, Reach, relax
from galley.planning.task import Operator, Task


def ground(domain: Domain, problem: Problem) -> Task:
    """The ground task of a problem.

    Args:
        domain: the domain.
        problem: a problem of that domain.

    Returns:
        A task whose operators are the relaxed-reachable actions, in a fixed order. Goal facts
        have a bit even where nothing reaches them: a search must fail there, not succeed.
    """
    reach = relax(domain, problem)
    facts = _facts_with_bits(problem, reach)
    bits = {fact: 1 << position for position, fact in enumerate(facts)}

    def mask(chosen: Iterable[Fact]) -> int:
        found = 0
        for fact in chosen:
            found |= bits.get(fact, 0)
        return found

    def operator(instance: Instance) -> Operator:
        # A fact without a bit never changes, and the relaxation has found the action applicable:
        # a condition on it holds, and an effect on it does nothing.
        return Operator(
            instance.action,
            pre=mask(instance.pre),
            neg=mask(instance.neg),
            add=mask(instance.add),
            delete=mask(instance.delete),
        )

    return Task(
        domain,
        problem,
        facts,
        tuple(operator(instance) for instance in reach.instances),
        init=mask(problem.init) | mask(_identities(problem)),
        goal=mask(each.fact for each in problem.goal if each.positive),
        anti_goal=mask(each.fact for each in problem.goal if not each.positive),
    )


def _facts_with_bits(problem: Problem, reach: Reach) -> tuple[Fact, ...]:
    """Facts that can change, and every goal fact; sorted, so that bits don't depend on hashing."""
    init = frozenset(problem.init)
    changing = (reach.true - init) | reach.falsified
    return tuple(sorted(changing | {each.fact for each in problem.goal}))


def _identities(problem: Problem) -> list[Fact]:
    """Equalities of the goal that hold; as facts they are true from the start and never change."""
    return [
        each.fact
        for each in problem.goal
        if each.predicate == EQUALITY and each.args[0] == each.args[1]
    ]
