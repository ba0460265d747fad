"""Why a part of the goal is unreachable.

The certificate is a set of literals that never hold: none holds initially, and every action that
achieves one of them needs another of them or is forbidden. By induction, none ever becomes true.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product

from galley.domain.failure import Failure, FailureKind
from galley.domain.pddl.formula import Exists, Fact, ForEach, Formula, Literal, When
from galley.domain.pddl.model import ActionSchema
from galley.planning.grounding.relaxation import Fixpoint, Reachability, unreachable_parts
from galley.planning.grounding.schemas import FactCondition
from galley.planning.limits import GroundingBudget, LimitReached, SearchLimits
from galley.planning.operators import GroundAction
from galley.planning.task import Task, UnreachableGoal

_CHAIN_SHOWN = 4  # links of "a needs b; b needs c" in a message
_MAX_REMEDIES = 8  # tried, each by grounding the changed problem
_MAX_COMBINATIONS = 200_000  # of objects, in such a grounding
_MAX_ACHIEVERS = 20_000  # ground actions tried, reachable or not


def explain_unreachable(task: Task, goal: UnreachableGoal) -> Failure:
    """The failure for an unreachable part of the goal."""
    if goal.condition is None:
        return _contradicts_itself(goal.formula)
    literals = _UnreachableLiterals(task, task.allowed_reach)
    return literals.explain(goal.formula, goal.condition, _literals(goal.missing))


def _contradicts_itself(formula: Formula) -> Failure:
    what = "contradicts itself"
    if isinstance(formula, Literal):  # an equality
        what = "names two objects" if formula.positive else "names one object twice"
    elif isinstance(formula, Exists):
        what = "needs objects that don't exist, or contradicts itself"
    return Failure(
        FailureKind.CONTRADICTION,
        f"goal {formula} can never hold: it {what}",
        objects=(str(formula),),
        certificate={
            "reason": "unreachable",
            "goal": str(formula),
            "never": [str(formula)],
            "complete": True,
            "remedies": [],
        },
    )


def _literals(missing: Iterable[tuple[Fact, bool]]) -> tuple[Literal, ...]:
    return tuple(Literal(*fact, positive=positive) for fact, positive in missing)


@dataclass(frozen=True, slots=True)
class _Need:
    """An action that achieves a literal, and unreachable literals of which it needs one.

    ``missing`` is empty if the action is forbidden.
    """

    action: GroundAction
    missing: tuple[Literal, ...]


class _UnreachableLiterals:
    """Regresses from a part of the goal to collect literals that never hold."""

    def __init__(self, task: Task, reach: Reachability) -> None:
        self.task = task
        self.reach = reach
        self.schemas = task.fixpoint.schemas
        self.left = _MAX_ACHIEVERS
        # Relaxed-reachable actions, forbidden ones included.
        self.possible = task.fixpoint.instances

    def explain(
        self, goal: Formula, condition: FactCondition, missing: tuple[Literal, ...]
    ) -> Failure:
        never: dict[Literal, list[_Need]] = {}
        frontier = deque(missing)
        while frontier:
            literal = frontier.popleft()
            if literal in never:
                continue
            never[literal] = []
            collected = {*never, *frontier}
            for action, needed in self._achievers(literal):
                lacking = self._missing(action, needed, collected)
                frontier += [each for each in lacking if each not in collected]
                collected.update(lacking)
                never[literal].append(_Need(action, lacking))
        remedies = self._remedies(condition, [each for each in never if each not in missing])
        certificate = {
            "reason": "unreachable",
            "goal": str(goal),
            "never": [str(each) for each in never],
            "complete": self.left > 0,
            "remedies": [str(each) for each in remedies],
        }
        simple = isinstance(goal, Literal)
        message = f"goal{' fact' if simple else ''} {goal} can never hold: "
        if not simple:
            message += f"it needs {_either(missing)}; "
        message += self._chain(missing[0], never, remedies)
        if remedies:
            message += f"; it might if {_either(remedies)} held initially"
        objects = (str(goal), *(str(each) for each in remedies))
        return Failure(FailureKind.CONTRADICTION, message, objects, certificate=certificate)

    def _remedies(self, goal: FactCondition, never: list[Literal]) -> list[Literal]:
        """Those of ``never`` that would make the goal relaxed-reachable if they held initially."""
        remedies = []
        task = self.task
        for literal in never[:_MAX_REMEDIES]:
            init = [fact for fact in task.problem.init if fact != literal.fact]
            if literal.positive:
                init.append(literal.fact)
            changed = replace(task.problem, init=tuple(init))
            try:
                budget = GroundingBudget(SearchLimits(), _MAX_COMBINATIONS)
                reach = Fixpoint(task.domain, changed, budget).without(task.forbidden)
            except LimitReached:  # with this fact, too much is reachable to tell
                break
            if next(unreachable_parts(goal, reach), None) is None:
                remedies.append(literal)
        return remedies

    def _achievers(self, literal: Literal) -> Iterator[tuple[GroundAction, FactCondition]]:
        """Ground actions that may achieve ``literal``, reachable or not, with their conditions."""
        tried: set[GroundAction] = set()
        for schema in self.task.domain.actions:
            for effect, quantified in _atoms(schema.effect):
                if effect.positive == literal.positive and effect.predicate == literal.predicate:
                    for action in self._bindings(schema, effect, quantified, literal.fact):
                        if action not in tried:
                            tried.add(action)
                            yield from self._needs(action, literal)

    def _needs(
        self, action: GroundAction, literal: Literal
    ) -> Iterator[tuple[GroundAction, FactCondition]]:
        instance = self.schemas[action.name].instantiate(action.args)
        if instance is None:  # its precondition contradicts itself
            return
        fact, positive = literal.fact, literal.positive
        if fact in (instance.add if positive else instance.delete):
            yield action, instance.condition
        for effect in instance.conditional:
            if fact in (effect.add if positive else effect.delete):
                # One of the two conditions is unreachable.
                lacking = next(unreachable_parts(instance.condition, self.reach), None)
                yield action, instance.condition if lacking else effect.condition

    def _bindings(
        self, schema: ActionSchema, effect: Literal, quantified: frozenset[str], fact: Fact
    ) -> Iterator[GroundAction]:
        """Ground actions of ``schema`` whose ``effect`` may be on ``fact``.

        ``quantified`` are the variables bound within the effect; they may shadow parameters.
        """
        bound: dict[str, str] = {}
        for term, arg in zip(effect.args, fact.args, strict=True):
            if term in quantified:
                continue
            if (bound.setdefault(term, arg) if term.startswith("?") else term) != arg:
                return
        choices = []
        for parameter, allowed in zip(
            schema.parameters, self.schemas[schema.name].candidates, strict=True
        ):
            if parameter.name in bound:
                allowed = tuple(each for each in allowed if each == bound[parameter.name])
            choices.append(allowed)
        for args in product(*choices):
            self.left -= 1
            if self.left <= 0:
                return
            yield GroundAction(schema.name, args)

    def _missing(
        self, action: GroundAction, needed: FactCondition, collected: Collection[Literal]
    ) -> tuple[Literal, ...]:
        """Unreachable literals of which ``action`` needs one; none if it is forbidden.

        Prefers literals that are collected already, to keep the certificate short.
        """
        if action in self.task.forbidden:
            return ()
        parts = [_literals(part) for part in unreachable_parts(needed, self.reach)]
        return next((p for p in parts if all(each in collected for each in p)), parts[0])

    def _chain(
        self, start: Literal, never: dict[Literal, list[_Need]], remedies: list[Literal]
    ) -> str:
        """``(stow spam drawer h1) needs (grasp spam); ...; no action makes (empty h1) true``."""
        links: list[str] = []
        visited: set[Literal] = set()
        literal = start
        while literal not in visited:
            visited.add(literal)
            if not never[literal]:
                links.append(self._dead_end(literal))
                break
            need = max(never[literal], key=lambda need: self._plausibility(need, remedies))
            if not need.missing:
                links.append(f"{need.action} is forbidden")
                break
            if len(links) == _CHAIN_SHOWN:
                links.append("and so on")
                break
            links.append(f"{need.action} needs {_either(need.missing)}")
            preferred = [each for each in need.missing if each in remedies]
            literal = (preferred or need.missing)[0]
        else:
            links.append("which is a cycle")
        return "; ".join(links)

    def _plausibility(self, need: _Need, remedies: list[Literal]) -> int:
        """How plausible the action is to a user as the way to achieve a literal."""
        if not need.missing:
            return 2 if need.action in self.possible else 0
        return 1 if any(each in remedies for each in need.missing) else 0

    def _dead_end(self, literal: Literal) -> str:
        change, now = ("adds", "does not hold") if literal.positive else ("deletes", "holds")
        fact = literal.fact
        possible = any(
            each.predicate == fact.predicate and each.positive == literal.positive
            for schema in self.task.domain.actions
            for each, _ in _atoms(schema.effect)
        )
        if possible:
            return f"{fact} {now} initially and no possible action {change} it"
        return f"{fact} {now} initially and no action {change} '{fact.predicate}' facts"


def _atoms(
    effects: Iterable[Literal | When | ForEach], quantified: frozenset[str] = frozenset()
) -> Iterator[tuple[Literal, frozenset[str]]]:
    """Every literal in ``effects``, with the variables of its quantifiers."""
    for effect in effects:
        if isinstance(effect, Literal):
            yield effect, quantified
        elif isinstance(effect, ForEach):
            names = frozenset(each.name for each in effect.variables)
            yield from _atoms(effect.effects, quantified | names)
        else:
            yield from _atoms(effect.effects, quantified)


def _either(literals: Iterable[Literal]) -> str:
    return " or ".join(map(str, literals))
