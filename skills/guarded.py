"""Wraps a user's skill: reports what it does wrong with its file and line."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from galley.domain.errors import BadInput
from galley.domain.failure import Failure, FailureKind
from galley.domain.state import State
from galley.motion.motion import Motion
from galley.motion.sequence import states_along
from galley.skills.given_types import kind_of, manipulation_fault, motion_fault
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.manipulation import Manipulation
from galley.skills.skill import BoundAction, Skill

_EXPECTED = {
    "refine": "a tuple of Motions, or a Failure",
    "first_contacts": "an iterator of Manipulations",
    "resumes": "True or False",
    "impossible": "None, or a Failure",
}


@contextlib.contextmanager
def user_code(file: str, line: int | None, before: str, after: str = "") -> Iterator[None]:
    """Context for a user's code: turns exceptions, SystemExit too, into BadInput.

    Args:
        file: the user's. line: reported if the traceback has no line of the file.
        before, after: the message around that of the exception.

    Raises:
        BadInput: an exception, or stdout or stderr was closed or replaced (they are restored).
        KeyboardInterrupt: unchanged.
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
            raise  # no line of the user's file is involved: the fault is ours
        at = own[-1] if own else line
        raise BadInput.one(file, f"{before}{_summary(error)}{after}", at) from error
    if terminal.restore():
        raise BadInput.one(file, "closes or replaces stdout or stderr; leave them open", line)


@dataclass
class _Terminal:
    """Remembers stdout and stderr and restores them after a user's code."""

    streams: dict[str, Any] = field(
        default_factory=lambda: {name: getattr(sys, name) for name in ("stdout", "stderr")}
    )
    copies: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for descriptor in (1, 2):
            with contextlib.suppress(OSError):
                self.copies[descriptor] = os.dup(descriptor)

    def restore(self) -> bool:
        """Restore both streams; True if one had changed."""
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


def _summary(error: BaseException) -> str:
    """An exception's name and the first line of its message."""
    try:
        lines = str(error).splitlines()
    except Exception:  # an exception of the user's, whose text is code too
        lines = []
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


class GuardedSkill(Skill):
    """Calls a user's skill and checks what it returns.

    Every method raises BadInput if the user's raises, or returns something invalid.

    Attributes:
        own: the user's skill. name: of its action. file, line: of its entry in ``SKILLS``.
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
        """The user's Motions, checked for types, joints and continuity, or Failure."""
        with self._guarded("refine"):
            found = self.own.refine(context, action, upcoming, state, rng)
        if isinstance(found, Failure):
            self._check_failure("refine", found)
            return found
        if type(found) is not tuple:
            self._refuse("refine", f"returned {kind_of(found)}")
        names = _names(context)
        for k, motion in enumerate(found):
            fault = motion_fault(motion, action, names)
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
        """The user's Manipulations, checked one at a time."""
        names = _names(context)
        with self._guarded("first_contacts"):
            each = iter(self.own.first_contacts(context, action, state, rng))
        while True:
            with self._guarded("first_contacts"):
                found = next(each, None)
            if found is None:
                return
            fault = manipulation_fault(found, names)
            if fault is not None:
                self._refuse("first_contacts", f"yielded {fault}")
            yield found

    def resumes(self, context: PlanningContext, action: BoundAction, state: State) -> bool:
        """The user's answer, checked to be a bool."""
        with self._guarded("resumes"):
            found = self.own.resumes(context, action, state)
        if not isinstance(found, bool | np.bool_):
            self._refuse("resumes", f"returned {kind_of(found)}")
        return bool(found)

    def impossible(
        self, context: PlanningContext, action: BoundAction, state: State
    ) -> Failure | None:
        """The user's Failure or None, checked for what the report needs."""
        with self._guarded("impossible"):
            found = self.own.impossible(context, action, state)
        if isinstance(found, Failure):
            self._check_failure("impossible", found)
        elif found is not None:
            self._refuse("impossible", f"returned {kind_of(found)}")
        return found

    def _guarded(self, method: str) -> contextlib.AbstractContextManager[None]:
        before = f"{method} of '{self.name}' raised "
        return user_code(self.file, self._line(method), before, f"; expected {_EXPECTED[method]}")

    def _refuse(self, method: str, what: str) -> NoReturn:
        what = f"{method} of '{self.name}' {what}; expected {_EXPECTED[method]}"
        raise BadInput.one(self.file, what, self._line(method))

    def _line(self, method: str) -> int | None:
        """The method's first line; that of the entry in ``SKILLS`` if it is in another file."""
        code = getattr(inspect.unwrap(getattr(self.own, method)), "__code__", None)
        return code.co_firstlineno if code and code.co_filename == self.file else self.line

    def _check_failure(self, method: str, failure: Failure) -> None:
        """Refuse a Failure that can't be written to the report."""
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


def _names(context: PlanningContext) -> frozenset[str]:
    """All that can touch: bodies, items and links."""
    scene = context.scene
    bodies, items = (body.name for body in scene.bodies), (item.name for item in scene.items)
    return frozenset((*bodies, *items, *context.robot.links))
