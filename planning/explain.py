"""Why there is no plan, in a sentence and with a certificate that can be checked.

Two kinds of no:

* A goal literal that even the delete relaxation can't make true. Certificate: a set of literals
  that never hold. None of them holds initially, and every action that would make one of them
  true needs another of them first; hence, by induction, none ever comes true.
* Every goal literal is reachable on its own in the relaxation, yet the whole state space holds no
  goal state. Certificate: the number of states, and a smallest set of goal literals that no
  reachable state satisfies together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product

from galley.domain.failure import Failure, FailureKind
from galley.domain.pddl import EQUALITY, ActionSchema, Fact, Literal
from galley.planning.conflict import smallest_conflict
from galley.planning.relaxation import Reach, instantiate, objects_for, relax
from galley.planning.task import GroundAction, Task

_CHAIN_SHOWN = 4  # links of "a needs b, b needs c" in a message
_REMEDIES_TRIED = 8  # each costs a relaxation
_ACHIEVERS_TRIED = 20_000  # ground actions looked at for one fact


def explain_unreachable(task: Task) -> Failure | None:
    """The failure for the first goal literal that nothing can make true; None where all can be."""
    impossible = task.impossible_goals()
    if not impossible:
        return None
    return _Backward(task).explain(impossible[0])


def explain_exhausted(task: Task, states: Iterable[int]) -> Failure:
    """The failure for a fully explored space without a goal state.

    Args:
        task: the task.
        states: every state reachable from the initial one.
    """
    goal = [each for each in task.problem.goal if task.bits.get(each.fact)]
    bits = [(task.bits[each.fact], each.positive) for each in goal]
    read = task.goal | task.anti_goal
    count = 0
    projections: set[int] = set()  # what the states say about goal facts
    for state in states:
        count += 1
        projections.add(state & read)
    violated = {
        frozenset(i for i, (bit, wanted) in enumerate(bits) if bool(seen & bit) != wanted)
        for seen in projections
    }
    chosen, smallest = smallest_conflict(violated)
    conflict = tuple(str(goal[i]) for i in chosen)
    together = " and ".join(conflict)
    states_said = f"all {count} reachable states were searched" if count > 1 else "nothing can move"
    what = f"{together} never holds" if len(conflict) == 1 else f"none has {together} together"
    return Failure(
        FailureKind.CONTRADICTION,
        f"no plan exists: {states_said} and {what}",
        objects=conflict,
        numbers={"states": count},
        certificate={
            "reason": "exhausted",
            "states": count,
            "conflict": list(conflict),
            "smallest": smallest,
        },
    )


@dataclass(frozen=True, slots=True)
class _Need:
    """One way to make a literal true, and a literal that it needs and that never holds."""

    action: GroundAction
    missing: Literal


class _Backward:
    """Collects, from a goal literal backwards, literals that never hold."""

    def __init__(self, task: Task) -> None:
        self.domain = task.domain
        self.problem = task.problem
        self.init = frozenset(task.problem.init)
        self.reach: Reach = relax(task.domain, task.problem)

    def explain(self, goal: Literal) -> Failure:
        never: dict[Literal, _Need | None] = {}
        frontier = [goal]
        complete = True
        while frontier:
            literal = frontier.pop(0)
            if literal in never:
                continue
            never[literal] = None
            for count, action in enumerate(self._achievers(literal)):
                if count == _ACHIEVERS_TRIED:
                    complete = False
                    break
                missing = self._missing(action, never, frontier)
                if missing is None:
                    continue
                if missing not in never:
                    frontier.append(missing)
                never[literal] = never[literal] or _Need(action, missing)
        remedies = self._remedies(goal, list(never)[1:])
        certificate = {
            "reason": "unreachable",
            "goal": str(goal),
            "never": [str(each) for each in never],
            "complete": complete,
            "remedies": [str(each) for each in remedies],
        }
        message = f"goal fact {goal} can never hold: {self._chain(goal, never)}"
        if remedies:
            listed = " or ".join(str(each) for each in remedies)
            message += f"; it might if the start had {listed}"
        objects = (str(goal), *(str(each) for each in remedies))
        return Failure(FailureKind.CONTRADICTION, message, objects, certificate=certificate)

    def _remedies(self, goal: Literal, never: list[Literal]) -> list[Literal]:
        """Those of ``never`` that would make ``goal`` relaxed-reachable if they held at first."""
        found = []
        for literal in never[:_REMEDIES_TRIED]:
            if literal.predicate == EQUALITY:
                continue
            others = tuple(fact for fact in self.problem.init if fact != literal.fact)
            init = (*others, literal.fact) if literal.positive else others
            reach = relax(self.domain, replace(self.problem, init=init))
            if reach.allows(goal, frozenset(init)):
                found.append(literal)
        return found

    def _achievers(self, literal: Literal) -> Iterator[GroundAction]:
        """Ground actions, reachable or not, with ``literal`` among their effects."""
        for schema in self.domain.actions:
            for effect in schema.effect:
                if effect.positive == literal.positive and effect.predicate == literal.predicate:
                    yield from self._bindings(schema, effect, literal.fact)

    def _bindings(
        self, schema: ActionSchema, effect: Literal, fact: Fact
    ) -> Iterator[GroundAction]:
        bound: dict[str, str] = {}
        names = {each.name for each in schema.parameters}
        for term, arg in zip(effect.args, fact.args, strict=True):
            if (bound.setdefault(term, arg) if term in names else term) != arg:
                return
        choices = []
        for parameter in schema.parameters:
            allowed = objects_for(self.domain, self.problem, parameter.types)
            if parameter.name in bound:
                allowed = tuple(each for each in allowed if each == bound[parameter.name])
            choices.append(allowed)
        for args in product(*choices):
            yield GroundAction(schema.name, args)

    def _missing(
        self, action: GroundAction, never: Iterable[Literal], waiting: Iterable[Literal]
    ) -> Literal | None:
        """A condition of ``action`` that can't hold; None where the action contradicts itself.

        Conditions collected already come first, which keeps the certificate short.
        """
        schema = self.domain.action(action.name)
        instance = instantiate(schema, action.args) if schema else None
        if instance is None:
            return None
        conditions = [Literal(*f) for f in instance.pre]
        conditions += [Literal(*f, positive=False) for f in instance.neg]
        missing = [c for c in conditions if not self.reach.allows(c, self.init)]
        known = [c for c in missing if c in never or c in waiting]
        return next(iter(known or missing), None)

    def _chain(self, goal: Literal, never: dict[Literal, _Need | None]) -> str:
        """``(stow spam drawer h1) needs (grasp spam); ...; no action makes (empty h1) true``."""
        links: list[str] = []
        seen: set[Literal] = set()
        literal = goal
        while literal not in seen:
            seen.add(literal)
            need = never[literal]
            if need is None:
                links.append(self._dead_end(literal))
                break
            if len(links) == _CHAIN_SHOWN:
                links.append("and so on")
                break
            links.append(f"{need.action} needs {need.missing}")
            literal = need.missing
        else:
            links.append("and so in a circle")
        return "; ".join(links)

    def _dead_end(self, literal: Literal) -> str:
        if literal.predicate == EQUALITY:
            return "these are two objects" if literal.positive else "an object equals itself"
        change, now = ("adds", "does not hold") if literal.positive else ("deletes", "holds")
        fact = literal.fact
        named = any(
            e.predicate == fact.predicate and e.positive == literal.positive
            for schema in self.domain.actions
            for e in schema.effect
        )
        if named:
            return f"{fact} {now} at the start and no possible action {change} it"
        return f"{fact} {now} at the start and no action {change} '{fact.predicate}' facts"
