"""A user's skill as the planner calls it: whatever it does wrong is told with its line."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, NoReturn

import numpy as np

from galley.domain.errors import BadInput
from galley.domain.failure import Failure, FailureKind
from galley.domain.state import State
from galley.motion.motion import Attachment, Guard, Motion, Record
from galley.motion.path import Path as JointPath
from galley.motion.sequence import states_along
from galley.motion.trajectory.trajectory import Trajectory
from galley.skills.manipulation.manipulation import Manipulation
from galley.skills.skill import BoundAction, Skill
from galley.skills.solving.context import PlanningContext

_EXPECTED = {
    "refine": "a tuple of Motions, or a Failure",
    "first_contacts": "an iterator of Manipulations",
    "resumes": "True or False",
    "impossible": "None, or a Failure",
}
_FIELDS: dict[str, type | tuple[type, ...]] = {
    "action_index": int,
    "phase": str,
    "group": str,
    "path": JointPath,
    "trajectory": Trajectory,
    "attachments": tuple,
    "allowed": frozenset,
    "guard": (Guard, NoneType),
    "record": Record,
}


@contextlib.contextmanager
def guarded(file: str, line: int | None, before: str, after: str = "") -> Iterator[None]:
    """Run a user's code in the block: whatever it raises is a BadInput, also SystemExit.

    Args:
        file: the user's. line: where its own lines don't tell.
        before, after: the message around what was raised.

    Raises:
        BadInput: it raised something, or closed or replaced stdout or stderr, which are put back.
        KeyboardInterrupt: as it is.
    """
    terminal = _Terminal()
    try:
        yield
    except KeyboardInterrupt:
        terminal.restore()
        raise
    except BaseException as error:
        terminal.restore()
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame.lineno for frame in frames if frame.filename == file]
        if not own and frames[-1].filename != __file__:
            raise  # not a line of the user's took part: it is ours
        at = own[-1] if own else line
        raise BadInput.one(file, f"{before}{_said(error)}{after}", at) from error
    if terminal.restore():
        raise BadInput.one(file, "closes or replaces stdout or stderr; leave them open", line)


@dataclass
class _Terminal:
    """stdout and stderr as they were before a user's code ran."""

    streams: dict[str, Any] = field(
        default_factory=lambda: {name: getattr(sys, name) for name in ("stdout", "stderr")}
    )
    copies: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for descriptor in (1, 2):
            with contextlib.suppress(OSError):
                self.copies[descriptor] = os.dup(descriptor)

    def restore(self) -> bool:
        """Put back what is no longer so; whether there was anything."""
        changed = False
        for descriptor, copy in self.copies.items():
            try:
                same = os.path.sameopenfile(descriptor, copy)
            except OSError:
                same = False
            if not same:
                os.dup2(copy, descriptor)
                changed = True
            os.close(copy)
        for descriptor, (name, stream) in enumerate(self.streams.items(), 1):
            closed = stream is not None and stream.closed
            if closed:
                stream = open(descriptor, "w", closefd=False)  # noqa: SIM115 (it stays open)
            if getattr(sys, name) is not stream:
                setattr(sys, name, stream)
                changed = True
        return changed


def _said(error: BaseException) -> str:
    """An exception's name, and the first line of what it says."""
    try:
        lines = str(error).splitlines()
    except Exception:  # an exception of the user's, whose text is code too
        lines = []
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


class GuardedSkill(Skill):
    """A user's skill in the planner's hands.

    Attributes:
        own: the user's object. name: of its action. file, line: where ``SKILLS`` has it.

    Every method raises BadInput where the user's raises, or returns what it must not.
    """

    def __init__(self, own: Skill, name: str, file: str, line: int | None) -> None:
        self.own, self.name, self.file, self.line = own, name, file, line
        vars(self).update(parameters=own.parameters, role=own.role, prepares=own.prepares)

    def refine(
        self,
        context: PlanningContext,
        action: BoundAction,
        upcoming: tuple[BoundAction, ...],
        state: State,
        rng: np.random.Generator,
    ) -> tuple[Motion, ...] | Failure:
        """The user's Motions, which fit one another, robot and scene; or Failure."""
        with self._guarded("refine"):
            found = self.own.refine(context, action, upcoming, state, rng)
        if isinstance(found, Failure):
            self._check_failure("refine", found)
            return found
        if type(found) is not tuple:
            self._refuse("refine", f"returned {described(found)}")
        for k, motion in enumerate(found):
            fault = _fault(motion, action)
            if fault is not None:
                self._refuse("refine", f"returned, at {k} of its tuple, {fault}")
        try:
            states_along(context.scene, context.robot, found, state)
        except ValueError as error:
            self._refuse("refine", f"returned motions that don't fit: {error}")
        return found

    def first_contacts(
        self, context: PlanningContext, action: BoundAction, state: State, rng: np.random.Generator
    ) -> Iterator[Manipulation]:
        """The user's, one at a time."""
        with self._guarded("first_contacts"):
            each = iter(self.own.first_contacts(context, action, state, rng))
        while True:
            with self._guarded("first_contacts"):
                found = next(each, None)
            if found is None:
                return
            if not isinstance(found, Manipulation):
                self._refuse("first_contacts", f"gave {described(found)}")
            yield found

    def resumes(self, context: PlanningContext, action: BoundAction, state: State) -> bool:
        """The user's answer."""
        with self._guarded("resumes"):
            found = self.own.resumes(context, action, state)
        if not isinstance(found, bool | np.bool_):
            self._refuse("resumes", f"returned {described(found)}")
        return bool(found)

    def impossible(
        self, context: PlanningContext, action: BoundAction, state: State
    ) -> Failure | None:
        """The user's answer."""
        with self._guarded("impossible"):
            found = self.own.impossible(context, action, state)
        if isinstance(found, Failure):
            self._check_failure("impossible", found)
        elif found is not None:
            self._refuse("impossible", f"returned {described(found)}")
        return found

    def _guarded(self, method: str) -> contextlib.AbstractContextManager[None]:
        before = f"{method} of '{self.name}' raised "
        return guarded(self.file, self._line(method), before, f"; expected {_EXPECTED[method]}")

    def _refuse(self, method: str, what: str) -> NoReturn:
        what = f"{method} of '{self.name}' {what}; expected {_EXPECTED[method]}"
        raise BadInput.one(self.file, what, self._line(method))

    def _line(self, method: str) -> int | None:
        """Where the method is defined; where ``SKILLS`` has the skill if that is another file."""
        code = getattr(inspect.unwrap(getattr(self.own, method)), "__code__", None)
        return code.co_firstlineno if code and code.co_filename == self.file else self.line

    def _check_failure(self, method: str, failure: Failure) -> None:
        """A Failure must be fit for the report."""
        texts = (failure.message, *failure.objects, *failure.step)
        fits = isinstance(failure.kind, FailureKind) and all(isinstance(t, str) for t in texts)
        try:
            json.dumps(failure.as_json(), default=lambda value: value.tolist())
        except (TypeError, ValueError, AttributeError, RecursionError):
            fits = False
        if not fits:
            what = (
                "returned a Failure whose kind is no FailureKind, or with parts that are no plain"
            )
            self._refuse(method, f"{what} texts and numbers")


def _fault(motion: object, action: BoundAction) -> str | None:
    """What is wrong with the types of a motion's parts, or None."""
    if not isinstance(motion, Motion):
        return described(motion)
    for name, kinds in _FIELDS.items():
        value = getattr(motion, name)
        if not isinstance(value, kinds):
            return f"a Motion whose {name} is {described(value)}"
    if {motion.path.group, motion.trajectory.group} != {motion.group}:
        return f"a Motion of '{motion.group}' whose path or trajectory is of another group"
    if motion.action_index != action.index:
        return f"a Motion whose action_index is {motion.action_index}, not {action.index}"
    if not all(isinstance(each, Attachment) for each in motion.attachments):
        return "a Motion with attachments that are no Attachment"
    if not all(
        isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(n, str) for n in pair)
        for pair in motion.allowed
    ):
        return "a Motion whose allowed is not of pairs of names"
    return None


def described(value: object) -> str:
    """What kind of value it is: ``None``, ``a list``."""
    if value is None:
        return "None"
    kind = type(value).__name__
    return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"
