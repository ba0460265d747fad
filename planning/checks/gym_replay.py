"""Replays a plan in PDDLGym, as an independent check.

PDDLGym (Silver and Chitnis, 2020) has a parser and an inference engine of its own.

The parser of version 0.0.7 accepts more than its engine can execute: disjunctions and quantifiers
in conditions go to SWI-Prolog without objects of subtypes and objects in no fact; facts about
constants alone are never checked. Other constructs raise obscure exceptions. All these are refused
here by name before PDDLGym reads a file.

Only this module imports pddlgym, and only for a replay: the import takes long and prints to stderr.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from galley.domain.errors import BadInput
from galley.domain.files import read_text
from galley.domain.pddl import formula as pddl
from galley.domain.pddl.formula import EQUALITY, OBJECT, Effect, Fact, Formula, Literal
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
class Replay:
    """The outcome of a replay.

    Attributes:
        status: see ReplayStatus.
        message: one line.
        steps: actions executed with the same result on both sides.
    """

    status: ReplayStatus
    message: str
    steps: int


class _Unreadable(Exception):
    """PDDLGym can't read the files, or misreads them."""


def replay(domain: Domain, problem: Problem, actions: Sequence[GroundAction]) -> Replay:
    """Executes ``actions`` in PDDLGym and compares its states with ours.

    Args:
        domain: the domain; PDDLGym reads its file.
        problem: the problem; PDDLGym reads its file.
        actions: the plan, valid or not.

    Returns:
        The outcome. What PDDLGym can't handle is a status, not an exception.
    """
    reason = unsupported_by_pddlgym(domain, problem, actions)
    if reason:
        return Replay(ReplayStatus.UNREADABLE, reason, 0)
    ours = validate_actions(domain, problem, actions)
    with _silence():
        try:
            with _environment(domain, problem) as environment:
                return _run(environment, domain, problem, actions, ours)
        except ImportError:
            return Replay(ReplayStatus.MISSING, _NEEDS, 0)
        except _Unreadable as error:
            return Replay(ReplayStatus.UNREADABLE, str(error), 0)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Silences the warnings of gym and the prints of pddlgym."""
    sink = io.StringIO()
    with (
        contextlib.redirect_stdout(sink),
        contextlib.redirect_stderr(sink),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def _environment(domain: Domain, problem: Problem) -> Iterator[Any]:
    """PDDLGym's environment of one problem.

    Raises:
        ImportError: PDDLGym is not installed.
        _Unreadable: it fails on the files.
    """
    core = _core()
    with TemporaryDirectory(prefix="galley-replay-") as folder:
        # PDDLGym takes every .pddl file of a folder for a problem.
        domain_file = Path(folder, "domain.pddl")
        problem_dir = Path(folder, "problems")
        problem_dir.mkdir()
        try:
            # PDDLGym misses a comment at the end without a final newline.
            text = _renamed(read_text(domain.file), names_in_pddlgym(domain))
            domain_file.write_text(text + "\n", encoding="utf-8")
            problem_file = problem_dir / "problem.pddl"
            problem_file.write_text(read_text(problem.file) + "\n", encoding="utf-8")
        except BadInput as error:
            raise _Unreadable(f"PDDLGym reads files, but {error}") from None
        options = {
            "domain_file": str(domain_file),
            "problem_dir": str(problem_dir),
            "operators_as_actions": True,
            "raise_error_on_invalid_action": True,
        }
        with _translated("PDDLGym can't read the files"):
            environment = core.PDDLEnv(**options)
            # There are no derived predicates, but to find out PDDLGym enumerates all facts at
            # each step, in quadratic time, and fails on equality.
            environment._handle_derived_literals = lambda state: state
            environment.reset()
        yield environment


def _core() -> Any:
    """The module ``pddlgym.core``.

    Raises:
        ImportError: PDDLGym is not installed.
    """
    if "pddlgym" in sys.modules:
        import pddlgym.core

        return pddlgym.core
    return _core_alone()


@cache
def _core_alone() -> Any:
    """``pddlgym.core`` without the package's own imports: matplotlib, networkx and scikit-image,
    to draw environments, which take five times as long.

    The modules are not left where a later ``import pddlgym`` would find the package without them.
    """
    spec = importlib.util.find_spec("pddlgym")
    if spec is None:
        raise ModuleNotFoundError("No module named 'pddlgym'", name="pddlgym")
    sys.modules["pddlgym"] = importlib.util.module_from_spec(spec)  # not executed
    try:
        return importlib.import_module("pddlgym.core")
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "pddlgym"]:
            del sys.modules[name]


def names_in_pddlgym(domain: Domain) -> dict[str, str]:
    """The name of each action in PDDLGym: its own, or a free one where a predicate has it too.

    PDDLGym makes a predicate of each action, which would take the place of the domain's.
    """
    predicates = {each.name for each in domain.predicates}
    taken = predicates | {each.name for each in domain.actions}
    names = {}
    for action in domain.actions:
        name = action.name
        while name in predicates or (name != action.name and name in taken):
            name += "-action"
        names[action.name] = name
        taken.add(name)
    return names


def _renamed(text: str, names: dict[str, str]) -> str:
    """A domain's text with its actions called ``names``."""
    return re.sub(
        r"(\(\s*:action\s+)([^\s();]+)",
        lambda found: found[1] + names.get(found[2].lower(), found[2]),
        text,
        flags=re.IGNORECASE,
    )


@contextlib.contextmanager
def _translated(what: str) -> Iterator[None]:
    """Converts any exception of pddlgym into one line.

    Its parser raises AssertionError, KeyError, AttributeError and plain Exception.
    """
    try:
        yield
    except Exception as error:
        detail = " ".join(str(error).split())[:160]
        kind = type(error).__name__
        raise _Unreadable(f"{what}: {kind}{': ' + detail if detail else ''}") from None


def _run(
    environment: Any,
    domain: Domain,
    problem: Problem,
    actions: Sequence[GroundAction],
    ours: Validation,
) -> Replay:
    core = _core()
    _check_reading(environment, domain, problem)
    objects = {each.name: each for each in environment.get_state().objects}
    named = {each.name: each for each in environment.action_predicates}
    names = names_in_pddlgym(domain)
    predicates = {name: named[theirs] for name, theirs in names.items()}
    states = ours.states
    difference = _difference(environment, states[0])
    if difference:
        return Replay(ReplayStatus.DISAGREES, f"initial state: {difference}", 0)
    for step, action in enumerate(actions):
        where = f"step {step + 1}, {action}"
        known = action.name in predicates and all(arg in objects for arg in action.args)
        if not known or len(action.args) != predicates[action.name].arity:
            return _refused(ours, step, f"{where}: PDDLGym has no such action")
        move = predicates[action.name](*(objects[arg] for arg in action.args))
        with _translated(f"{where}: PDDLGym fails"):
            try:
                environment.step(move)
            except core.InvalidAction:
                return _refused(ours, step, f"{where}: PDDLGym finds the action not applicable")
        if step + 1 >= len(states):
            message = f"{where}: PDDLGym executes an action that is not applicable"
            return Replay(ReplayStatus.DISAGREES, message, step)
        difference = _difference(environment, states[step + 1])
        if difference:
            return Replay(ReplayStatus.DISAGREES, f"{where}: {difference}", step)
    if not _goal_reached(environment):
        message = "PDDLGym does not find the goal reached at the end"
        return _refused(ours, None, message, len(actions))
    if not ours.valid:
        message = "PDDLGym finds the goal reached at the end"
        return Replay(ReplayStatus.DISAGREES, message, len(actions))
    message = f"PDDLGym executes all {len(actions)} actions and reaches the goal"
    return Replay(ReplayStatus.AGREES, message, len(actions))


def _refused(ours: Validation, step: int | None, message: str, steps: int = 0) -> Replay:
    """PDDLGym refuses the plan at ``step``, or at its end; so may we, at the same."""
    agrees = not ours.valid and ours.step == step
    status = ReplayStatus.AGREES if agrees else ReplayStatus.DISAGREES
    return Replay(status, message, steps if step is None else step)


def _check_reading(environment: Any, domain: Domain, problem: Problem) -> None:
    """Checks that PDDLGym read the same names and types as we did.

    Its parser silently skips some constructs.

    Raises:
        _Unreadable: they differ.
    """
    read = environment.domain
    names = names_in_pddlgym(domain)
    arities = {names[a.name]: len(a.parameters) for a in domain.actions}
    if {name: len(op.params) for name, op in read.operators.items()} != arities:
        raise _Unreadable("PDDLGym reads other actions than the file declares")
    objects = {each.name: str.__str__(each.var_type) for each in environment.get_state().objects}
    if set(objects) != {each.name for each in problem.objects}:
        raise _Unreadable("PDDLGym reads other objects than the file declares")
    if any(each.is_negative for each in environment.get_state().literals):
        raise _Unreadable("PDDLGym takes a negated fact of :init for one that holds")
    for name, op in read.operators.items():
        for what, tree in (("condition", op.preconds), ("effect", op.effects)):
            if not _is_flat(tree):
                raise _Unreadable(f"PDDLGym can't execute the nested {what} of action '{name}'")
    for each in problem.objects:
        above = read.type_to_parent_types.get(objects[each.name], set())
        # In a file without types PDDLGym calls the root type "default".
        theirs = {str.__str__(t) for t in above} - {OBJECT, "default"}
        if theirs != domain.supertypes(each.type) - {OBJECT}:
            raise _Unreadable(f"PDDLGym misreads the type of '{each.name}'")


def _is_flat(tree: Any) -> bool:
    """Whether it is a literal or a conjunction of literals, which PDDLGym can execute."""
    core = _core()
    parts = tree.literals if isinstance(tree, core.LiteralConjunction) else [tree]
    return all(isinstance(each, core.Literal) for each in parts)


def _difference(environment: Any, ours: State) -> str:
    """How PDDLGym's state differs from ours; empty if they are equal."""
    theirs = {
        Fact(literal.predicate.name, tuple(arg.name for arg in literal.variables))
        for literal in environment.get_state().literals
        if literal.predicate.name != EQUALITY  # PDDLGym keeps (= a a) as facts
    }
    if theirs == ours:
        return ""
    extra = " ".join(map(str, sorted(theirs - ours))) or "nothing"
    lacking = " ".join(map(str, sorted(ours - theirs))) or "nothing"
    return f"PDDLGym's state has additional facts {extra} and lacks {lacking}"


def _goal_reached(environment: Any) -> bool:
    """Whether PDDLGym finds the goal reached; ``step`` would not tell for an empty plan."""
    state = environment.get_state()
    with _translated("PDDLGym can't check the goal"):
        reached = bool(_core().check_goal(state, state.goal))
    return reached


def unsupported_by_pddlgym(
    domain: Domain, problem: Problem, actions: Iterable[GroundAction]
) -> str:
    """Why PDDLGym does not support a plan, in one line; empty if nothing is known.

    Args:
        domain: the domain.
        problem: the problem.
        actions: the plan; constructs that are only not executed matter just in its actions.
    """
    used = {each.name for each in actions}
    misfits = list(_in_declarations(domain))
    judged: list[str] = []  # by Prolog
    for schema in domain.actions:
        where = f"in action '{schema.name}'"
        misfits += (f"{what} {where}" for what in _in_action(domain, schema))
        judged += (f"{what} {where}" for what in _in_conditions(schema.precondition))
        if schema.name in used:
            misfits += (f"{what} of action '{schema.name}'" for what in _unchecked(schema))
    judged += (f"{what} in the goal" for what in _in_conditions(problem.goal))
    if problem.metric or problem.values:
        misfits.append("action costs in the problem")
    if misfits:
        return f"PDDLGym can't represent {misfits[0]}"
    return f"PDDLGym asks SWI-Prolog, without all objects, about {judged[0]}" if judged else ""


def _in_declarations(domain: Domain) -> Iterator[str]:
    for predicate in domain.predicates:
        if predicate.name == "probabilistic":  # it would read the fact as a probabilistic effect
            yield "a predicate named 'probabilistic'"
        for variable in predicate.parameters:
            if len(variable.types) > 1:
                yield f"'either' in predicate '{predicate.name}'"


def _in_action(domain: Domain, schema: ActionSchema) -> Iterator[str]:
    """Constructs that PDDLGym fails to read in an action, used in the plan or not."""
    for parameter in schema.parameters:
        if len(parameter.types) > 1:
            yield "'either'"
        if domain.types and "-" in parameter.name:
            yield f"the dash in '{parameter.name}'"
    if schema.cost:
        yield "action costs"
    yield from _in_effects(schema.effect)


def _in_conditions(formulas: Iterable[Formula]) -> Iterator[str]:
    names = {
        pddl.Or: "a disjunction",
        pddl.Imply: "an implication",
        pddl.Exists: "'exists'",
        pddl.Forall: "'forall'",
    }
    for formula in formulas:
        if isinstance(formula, pddl.And):
            yield from _in_conditions(formula.parts)
        elif not isinstance(formula, Literal):
            yield names.get(type(formula), "a negated formula")


def _in_effects(effects: Iterable[Effect]) -> Iterator[str]:
    for effect in effects:
        if isinstance(effect, pddl.When):
            yield "a conditional effect"
        elif isinstance(effect, pddl.ForEach):
            yield "a universal effect"


def _unchecked(schema: ActionSchema) -> Iterator[str]:
    """Preconditions on which its inference fails, or which it ignores."""
    for literal in schema.precondition:
        if not isinstance(literal, Literal) or not literal.args:
            continue
        if len(set(literal.args)) < len(literal.args):
            yield f"the repeated argument in precondition {literal}"
        elif not any(arg.startswith("?") for arg in literal.args):
            yield f"precondition {literal}, about constants alone,"
