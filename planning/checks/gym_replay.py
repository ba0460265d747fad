"""Replays a plan in PDDLGym, as an independent check of the plan.

PDDLGym (Silver and Chitnis, 2020) has a parser and an inference engine of its own.

The parser of version 0.0.7 accepts more than its engine can execute. Disjunctions and quantifiers
in conditions go to SWI-Prolog, which is not given objects of subtypes or objects in no fact. Facts
about constants alone are never checked. Other constructs raise obscure exceptions. All of these are
refused here, by their names, before PDDLGym reads a file.

PDDLGym is imported late: that takes a second or two, and prints to stderr.
"""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from galley.domain.files import read_text, write_atomically
from galley.domain.pddl.formula import EQUALITY, OBJECT, Fact, Literal
from galley.domain.pddl.model import ActionSchema, Domain, Problem
from galley.planning.checks.semantics import State
from galley.planning.checks.validation import Validation, validate_actions
from galley.planning.operators import GroundAction

_NEEDS = "not installed: it needs Pillow below 10, which has no wheels for Python 3.12 and later"


class ReplayStatus(StrEnum):
    """The result of a replay."""

    AGREES = "agrees"  # all states equal ours, and the plan is valid, or fails at the same step
    DISAGREES = "disagrees"
    UNREADABLE = "unreadable"  # PDDLGym does not support the files; says nothing about the plan
    MISSING = "missing"  # PDDLGym is not installed


@dataclass(frozen=True)
class GymReplay:
    """The outcome of a replay.

    Attributes:
        status: how the replay ended.
        message: the outcome in one line.
        steps: number of actions executed with the same result on both sides.
    """

    status: ReplayStatus
    message: str
    steps: int


class _Unreadable(Exception):
    """PDDLGym can't read the files, or misreads them."""


def replay(domain: Domain, problem: Problem, actions: Sequence[GroundAction]) -> GymReplay:
    """Executes ``actions`` in PDDLGym and compares its states with ours.

    Args:
        domain: the domain; PDDLGym reads its file.
        problem: the problem; PDDLGym reads its file.
        actions: the plan, valid or not.

    Returns:
        The outcome. What PDDLGym can't handle is a status, not an exception.
    """
    unsupported = next(_unsupported(domain, problem, {action.name for action in actions}), None)
    if unsupported is not None:
        return GymReplay(ReplayStatus.UNREADABLE, f"PDDLGym can't represent {unsupported}", 0)
    ours = validate_actions(domain, problem, actions)
    sink = io.StringIO()
    silent = contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink)
    with silent[0], silent[1], warnings.catch_warnings(action="ignore"):
        try:
            return _compared(domain, problem, actions, ours)
        except ImportError:
            return GymReplay(ReplayStatus.MISSING, _NEEDS, 0)
        except _Unreadable as error:
            return GymReplay(ReplayStatus.UNREADABLE, str(error), 0)


def _compared(
    domain: Domain, problem: Problem, actions: Sequence[GroundAction], ours: Validation
) -> GymReplay:
    """Executes ``actions`` in PDDLGym and compares the states with those of ``ours``."""
    suffix = _suffix(domain)
    environment = _environment(domain, problem, suffix)
    _check_reading(environment, domain, problem, suffix)
    theirs, message, valid = _executed(environment, actions, suffix)
    labels = ["initial state", *(f"step {i}, {action}" for i, action in enumerate(actions, 1))]
    for step, (here, there) in enumerate(zip(ours.states, theirs, strict=False)):
        if here != there:
            extra = " ".join(map(str, sorted(there - here))) or "nothing"
            lacking = " ".join(map(str, sorted(here - there))) or "nothing"
            message = f"PDDLGym's state has additional facts {extra} and lacks {lacking}"
            return GymReplay(ReplayStatus.DISAGREES, f"{labels[step]}: {message}", max(0, step - 1))
    if len(theirs) > len(ours.states):
        message = f"{labels[len(ours.states)]}: PDDLGym executes an inapplicable action"
    agree = len(theirs) == len(ours.states) and valid == ours.valid
    status = ReplayStatus.AGREES if agree else ReplayStatus.DISAGREES
    return GymReplay(status, message, min(len(theirs), len(ours.states)) - 1)


def _executed(
    environment: Any, actions: Sequence[GroundAction], suffix: str
) -> tuple[list[State], str, bool]:
    """PDDLGym's states, its verdict in one line, and whether it finds the plan valid."""
    from pddlgym.core import InvalidAction, check_goal

    objects = {item.name: item for item in environment.get_state().objects}
    predicates = {predicate.name: predicate for predicate in environment.action_predicates}
    states = [_facts(environment)]
    for step, action in enumerate(actions, 1):
        prefix = f"step {step}, {action}: PDDLGym"
        predicate = predicates.get(action.name + suffix)
        arguments = [objects.get(arg) for arg in action.args]
        if predicate is None or None in arguments or len(arguments) != predicate.arity:
            return states, f"{prefix} has no such action", False
        with _translated(f"{prefix} fails"):
            try:
                environment.step(predicate(*arguments))
            except InvalidAction:
                return states, f"{prefix} finds the action not applicable", False
        states.append(_facts(environment))
    with _translated("PDDLGym can't check the goal"):
        state = environment.get_state()
        if not check_goal(state, state.goal):
            return states, "PDDLGym does not find the goal reached at the end", False
    return states, f"PDDLGym executes all {len(actions)} actions and reaches the goal", True


def _facts(environment: Any) -> State:
    """The facts of PDDLGym's present state."""
    return frozenset(
        Fact(literal.predicate.name, tuple(arg.name for arg in literal.variables))
        for literal in environment.get_state().literals
        if literal.predicate.name != EQUALITY  # PDDLGym keeps (= a a) as facts
    )


def _suffix(domain: Domain) -> str:
    """The suffix that actions' names get in PDDLGym.

    PDDLGym makes a predicate of each action, which would replace a predicate of the same name.
    """
    predicates = {predicate.name for predicate in domain.predicates}
    suffix = "-action"
    while any(action.name + suffix in predicates for action in domain.actions):
        suffix += "-action"
    return suffix


def _environment(domain: Domain, problem: Problem, suffix: str) -> Any:
    """PDDLGym's environment of one problem, in its initial state."""
    from pddlgym.core import PDDLEnv

    with (
        TemporaryDirectory(prefix="galley-replay-") as folder,
        _translated("PDDLGym can't read the files"),
    ):
        text = re.sub(r"(?i)(\(\s*:action\s+[^\s();]+)", rf"\1{suffix}", read_text(domain.file))
        domain_file, problem_dir = Path(folder, "domain.pddl"), Path(folder, "problems")
        problem_dir.mkdir()  # PDDLGym takes every .pddl file of a folder for a problem
        # PDDLGym misses a comment at the end without a final newline.
        write_atomically(domain_file, text + "\n")
        write_atomically(problem_dir / "problem.pddl", read_text(problem.file) + "\n")
        options = {"operators_as_actions": True, "raise_error_on_invalid_action": True}
        environment = PDDLEnv(str(domain_file), str(problem_dir), **options)
        # There are no derived predicates, but to find out PDDLGym enumerates all facts at
        # each step, in quadratic time, and fails on equality.
        environment._handle_derived_literals = lambda state: state
        environment.reset()
    return environment


@contextlib.contextmanager
def _translated(context: str) -> Iterator[None]:
    """Converts any exception of pddlgym into one line.

    Its parser raises AssertionError, KeyError, AttributeError and plain Exception.
    """
    try:
        yield
    except Exception as error:
        detail = " ".join(str(error).split())[:160]
        raise _Unreadable(f"{context}: {type(error).__name__} {detail}".rstrip()) from None


def _check_reading(environment: Any, domain: Domain, problem: Problem, suffix: str) -> None:
    """Checks that PDDLGym read what we did: its parser silently skips some constructs.

    Raises:
        _Unreadable: they differ.
    """
    from pddlgym.structs import Literal as GymLiteral
    from pddlgym.structs import LiteralConjunction

    state, read = environment.get_state(), environment.domain
    ours: object = {action.name + suffix: len(action.parameters) for action in domain.actions}
    if {name: len(op.params) for name, op in read.operators.items()} != ours:
        raise _Unreadable("PDDLGym reads other actions than the file declares")
    types = {item.name: str.__str__(item.var_type) for item in state.objects}
    if set(types) != {item.name for item in problem.objects}:
        raise _Unreadable("PDDLGym reads other objects than the file declares")
    if any(literal.is_negative for literal in state.literals):
        raise _Unreadable("PDDLGym takes a negated fact of :init for one that holds")
    for name, op in read.operators.items():
        parts = op.preconds.literals if isinstance(op.preconds, LiteralConjunction) else ()
        if not all(isinstance(part, GymLiteral) for part in parts):
            action = name.removesuffix(suffix)
            raise _Unreadable(f"PDDLGym can't execute the nested condition of action '{action}'")
    for item in problem.objects:
        above = read.type_to_parent_types.get(types[item.name], set())
        # In a file without types PDDLGym calls the root type "default".
        theirs = {str.__str__(t) for t in above} - {OBJECT, "default"}
        if theirs != domain.supertypes(item.type) - {OBJECT}:
            raise _Unreadable(f"PDDLGym misreads the type of '{item.name}'")


def _unsupported(domain: Domain, problem: Problem, used: set[str]) -> Iterator[str]:
    """The constructs that PDDLGym does not support, in words; ``used`` names the plan's actions."""
    for predicate in domain.predicates:
        if any(len(parameter.types) > 1 for parameter in predicate.parameters):
            yield f"'either' in predicate '{predicate.name}'"
    for schema in domain.actions:
        scope = f"in action '{schema.name}'"
        if any(len(parameter.types) > 1 for parameter in schema.parameters):
            yield f"'either' {scope}"
        if domain.types and any("-" in parameter.name for parameter in schema.parameters):
            yield f"the dash in a variable {scope}"
        if schema.cost:
            yield f"action costs {scope}"
        yield from (f"{name} {scope}" for name in _keywords((*schema.precondition, *schema.effect)))
        if schema.name in used:
            yield from (f"{name} {scope}" for name in _unchecked(schema))
    yield from (f"{name} in the goal" for name in _keywords(problem.goal))
    if problem.metric or problem.values:
        yield "action costs in the problem"


def _keywords(parts: Iterable[object]) -> Iterator[str]:
    """The PDDL keywords, such as ``'or'`` and ``'when'``, of the parts that are not literals."""
    for part in parts:
        if not isinstance(part, Literal):
            yield f"'{type(part).__name__.lower().replace('foreach', 'forall')}'"


def _unchecked(schema: ActionSchema) -> Iterator[str]:
    """Preconditions, in words, on which PDDLGym's inference fails or which it ignores."""
    for literal in schema.precondition:
        if isinstance(literal, Literal) and literal.args:
            if len(set(literal.args)) < len(literal.args):
                yield f"the repeated argument in precondition {literal}"
            elif not any(arg.startswith("?") for arg in literal.args):
                yield f"precondition {literal}, about constants alone,"
