"""Explains why a part of the goal is unreachable in the delete relaxation.

The certificate is a set of literals that never hold: none of them holds initially, and every action
that achieves one of them needs another of them or is forbidden. By induction, none ever becomes
true.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from typing import NamedTuple

from galley.domain.failure import Failure, FailureKind
from galley.domain.pddl.formula import Fact, ForEach, Formula, Literal, When
from galley.domain.pddl.model import ActionSchema
from galley.planning.grounding.relaxation import Fixpoint, unreachable_parts
from galley.planning.grounding.schemas import FactCondition
from galley.planning.limits import GroundingBudget, LimitReached, SearchLimits
from galley.planning.operators import GroundAction
from galley.planning.task import Task

_CHAIN_SHOWN = 4  # links of "a needs b; b needs c" in a message
_MAX_REMEDIES = 8  # literals tried as remedies, each by grounding the changed problem
_MAX_COMBINATIONS = 50_000  # of objects, in such a grounding
_MAX_ACHIEVERS = 20_000  # ground actions tried, reachable or not


def explain_unreachable(task: Task) -> Failure | None:
    """The failure for the first part of the goal that is unreachable in the delete relaxation."""
    for formula, condition in task.fact_goals:
        if condition is None:
            message = f"goal {formula} can never hold: it contradicts itself, or needs objects "
            return _failure(message + "that don't exist", formula, [formula], True, ())
        missing = next(unreachable_parts(condition, task.allowed_reach), None)
        if missing is not None:
            literals = _UnreachableLiterals(task)
            return literals.explain(formula, condition, _literals(missing))
    return None


def _failure(
    message: str, goal: Formula, never: Iterable[Formula], complete: bool, more: Iterable[Literal]
) -> Failure:
    """The failure for the unreachable ``goal``.

    Args:
        message: the explanation in words.
        goal: the part of the goal.
        never: literals that never hold: the certificate.
        complete: whether ``never`` is complete, which it is not if there were too many achievers.
        more: remedies: literals with which the goal might hold if they held initially.
    """
    remedies = [str(literal) for literal in more]
    certificate = {
        "reason": "unreachable",
        "goal": str(goal),
        "never": [str(literal) for literal in never],
        "complete": complete,
        "remedies": remedies,
    }
    objects = (str(goal), *remedies)
    return Failure(FailureKind.CONTRADICTION, message, objects, certificate=certificate)


def _literals(missing: Iterable[tuple[Fact, bool]]) -> tuple[Literal, ...]:
    """The literals for pairs of a fact and a sign."""
    return tuple(Literal(*fact, positive=positive) for fact, positive in missing)


class _Need(NamedTuple):
    """An action that would achieve a literal, and why it can't be used.

    Attributes:
        action: the action.
        missing: unreachable literals of which the action needs one; empty if it is forbidden.
    """

    action: GroundAction
    missing: tuple[Literal, ...]


class _UnreachableLiterals:
    """Regresses from a part of the goal to collect literals that never hold."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.reach = task.allowed_reach
        self.schemas = task.fixpoint.schemas
        self.left = _MAX_ACHIEVERS
        # Relaxed-reachable actions, forbidden ones included.
        self.possible = task.fixpoint.instances

    def explain(
        self, goal: Formula, condition: FactCondition, missing: tuple[Literal, ...]
    ) -> Failure:
        """The failure for ``goal``: collects the literals that never hold, and puts it in words.

        Regression: for each literal, the literals that its achievers lack are collected too, until
        no new ones appear.

        Args:
            goal: the part of the goal.
            condition: the same as a condition on facts.
            missing: unreachable literals of which the goal needs one.
        """
        never: dict[Literal, list[_Need]] = {}
        frontier = deque(missing)
        while frontier:
            literal = frontier.popleft()
            if literal in never:
                continue
            never[literal] = []
            collected = {*never, *frontier}
            for need in self._achievers(literal, collected):
                frontier += [literal for literal in need.missing if literal not in collected]
                collected.update(need.missing)
                never[literal].append(need)
        remedies = self._remedies(condition, [item for item in never if item not in missing])
        simple = isinstance(goal, Literal)
        message = f"goal{' fact' if simple else ''} {goal} can never hold: "
        if not simple:
            message += f"it needs {_either(missing)}; "
        message += self._chain(missing[0], never, remedies)
        if remedies:
            message += f"; it might if {_either(remedies)} held initially"
        return _failure(message, goal, never, self.left > 0, remedies)

    def _remedies(self, goal: FactCondition, never: list[Literal]) -> list[Literal]:
        """Those literals of ``never`` with which, if they held initially, the goal is reachable."""
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

    def _achievers(self, literal: Literal, collected: set[Literal]) -> Iterator[_Need]:
        """Ground actions that may achieve ``literal``, and the literals that they lack."""
        tried: set[GroundAction] = set()
        fact, positive = literal.fact, literal.positive
        for schema in self.task.domain.actions:
            for effect, quantified in _atoms(schema.effect):
                if effect.positive != positive or effect.predicate != literal.predicate:
                    continue
                for action in self._bindings(schema, effect, quantified, fact):
                    instance = self.schemas[action.name].instantiate(action.args)
                    if action in tried or instance is None:  # its precondition contradicts itself
                        continue
                    tried.add(action)
                    if fact in (instance.add if positive else instance.delete):
                        yield self._need(action, instance.condition, collected)
                    for more in instance.conditional:
                        if fact in (more.add if positive else more.delete):
                            # One of the two conditions is unreachable.
                            lacking = next(unreachable_parts(instance.condition, self.reach), None)
                            condition = instance.condition if lacking else more.condition
                            yield self._need(action, condition, collected)

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
                allowed = tuple(name for name in allowed if name == bound[parameter.name])
            choices.append(allowed)
        for args in product(*choices):
            self.left -= 1
            if self.left <= 0:
                return
            yield GroundAction(schema.name, args)

    def _need(self, action: GroundAction, needed: FactCondition, collected: set[Literal]) -> _Need:
        """The need of an action: if possible of collected literals, for a short certificate."""
        if action in self.task.forbidden:
            return _Need(action, ())
        parts = [_literals(part) for part in unreachable_parts(needed, self.reach)]
        return _Need(action, next((p for p in parts if collected.issuperset(p)), parts[0]))

    def _chain(
        self, start: Literal, never: dict[Literal, list[_Need]], remedies: list[Literal]
    ) -> str:
        """The chain of needs from ``start`` to a dead end, in words.

        Such as ``(stow spam drawer h1) needs (grasp spam); ...; no action makes (empty h1) true``.
        """
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
            preferred = [literal for literal in need.missing if literal in remedies]
            literal = (preferred or need.missing)[0]
        else:
            links.append("which is a cycle")
        return "; ".join(links)

    def _plausibility(self, need: _Need, remedies: list[Literal]) -> int:
        """How likely a user is to think of the action as the way to achieve the literal."""
        if not need.missing:
            return 2 if need.action in self.possible else 0
        return 1 if any(literal in remedies for literal in need.missing) else 0

    def _dead_end(self, literal: Literal) -> str:
        """Why no action achieves ``literal``, in words."""
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
            names = frozenset(variable.name for variable in effect.variables)
            yield from _atoms(effect.effects, quantified | names)
        else:
            yield from _atoms(effect.effects, quantified)


def _either(literals: Iterable[Literal]) -> str:
    """The literals in words, with ``or`` between them."""
    return " or ".join(map(str, literals))
