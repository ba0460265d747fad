"""Loads a user's own skills from a Python file, and reports their errors with file and line.

An error in the user's code is malformed input, like one in a scene file. It raises ``BadInput``,
with the exception as its cause.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import re
import sys
import traceback
from collections.abc import Collection, Iterator, Mapping
from dataclasses import astuple
from pathlib import Path
from types import ModuleType

import numpy as np

from galley.domain.errors import BadInput, InputError, did_you_mean
from galley.domain.failure import Failure, FailureKind
from galley.domain.files import read_text
from galley.domain.log import Log
from galley.domain.scene.model import Binding, Scene
from galley.domain.shipped import shipped_file
from galley.domain.state import State
from galley.motion.motion import Guard, Motion, Record
from galley.motion.sequence import states_along
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.manipulation import Manipulation
from galley.skills.skill import BoundAction, Role, Skill

_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_KINDS = ("item", "furniture", "hand")


def load_skills(path: str | Path, actions: Collection[str] | None = None) -> dict[str, OwnSkill]:
    """The skills in a file's ``SKILLS``, by name of the PDDL action.

    Args:
        path: the file, for ``load_module``; a bare name may be a file that ships with Galley.
        actions: names of the domain's actions; with None any name is accepted.

    Raises:
        BadInput: ``load_module`` raises it, or ``SKILLS`` is missing or wrong.
    """
    path = shipped_file(path)
    table = getattr(load_module(path), "SKILLS", None)
    line = _line_of(path, "SKILLS")
    if not isinstance(table, Mapping) or not table:
        message = "needs SKILLS = {'wipe': Wipe()} for an action 'wipe'; it has "
        message += "none" if table is None else f"{table!r:.40}"
        raise BadInput.one(path, message, line)
    faults = [_fault(name, skill, actions) for name, skill in table.items()]
    errors = [InputError(str(path), line, None, fault) for fault in faults if fault is not None]
    if errors:
        raise BadInput(errors)
    return {name: OwnSkill(skill, name, str(path), line) for name, skill in table.items()}


def _reloaded(file: str, name: str) -> OwnSkill:
    """The skill of an action, loaded again from its file: for unpickling."""
    return load_skills(file)[name]


def load_module(path: str | Path) -> ModuleType:
    """Run a user's file as a module. It can't import the files beside it.

    Raises:
        BadInput: the file is missing, is not valid Python or raises; with the line.
    """
    text, place = read_text(path), Path(path).resolve()
    try:
        code = compile(text, str(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        raise BadInput.one(path, f"is not valid Python: {error.msg}", error.lineno) from None
    except (ValueError, RecursionError, MemoryError) as error:  # a NUL; nested too deeply
        raise BadInput.one(path, f"is not valid Python: {error}") from None
    module = ModuleType("galley_own_" + hashlib.sha256(str(place).encode()).hexdigest()[:16])
    module.__file__ = str(place)
    sys.modules[module.__name__] = module  # dataclasses look their module up
    with user_code(str(path), None, "fails while it is read"):
        exec(code, module.__dict__)
    return module


@contextlib.contextmanager
def user_code(file: str, line: int | None, what: str) -> Iterator[None]:
    """Run a user's code in this context: it turns exceptions and SystemExit into BadInput.

    Args:
        file: the user's file.
        line: the line to report if the traceback has none of that file.
        what: how the message begins.
    """
    try:
        yield
    except BadInput:  # it tells the error and the line already
        raise
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == file]
        said = "".join(traceback.format_exception_only(error)).strip().partition("\n")[0]
        raise BadInput.one(file, f"{what}: {said}", lines[-1] if lines else line) from error


class OwnSkill(Skill):
    """Calls a user's skill and checks the values that it returns.

    Every method raises BadInput if the user's method raises, or returns an invalid value.

    Attributes:
        own: the user's skill.
        name: the name of its action.
        file: the user's file.
        line: the line of ``SKILLS`` in it, or None.
    """

    def __init__(self, own: Skill, name: str, file: str, line: int | None) -> None:
        self.own, self.name, self.file, self.line = own, name, file, line
        vars(self).update(parameters=own.parameters, role=own.role, prepares_next=own.prepares_next)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it by its file and name, for a sweep's workers don't have the module."""
        return _reloaded, (str(Path(self.file).resolve()), self.name)

    def refine(
        self,
        context: PlanningContext,
        action: BoundAction,
        upcoming: tuple[BoundAction, ...],
        state: State,
        rng: np.random.Generator,
    ) -> tuple[Motion, ...] | Failure:
        """The user's Motions, each of which must begin where the one before ends; or a Failure."""
        with self._guarded("refine"):
            motions = self.own.refine(context, action, upcoming, state, rng)
            if isinstance(motions, Failure):
                return _checked(motions)
            if not isinstance(motions, tuple) or not all(isinstance(m, Motion) for m in motions):
                raise TypeError(f"expected a tuple of Motions, or a Failure, got {motions!r:.80}")
            if any(motion.action_index != action.index for motion in motions):
                raise ValueError(f"expected Motions with action_index {action.index}")
            if not all(map(_well_typed, motions)):
                raise TypeError("a Motion's phase, guard, record or pairs have the wrong type")
            states_along(context.scene, context.robot, motions, state)
            return motions

    def first_contacts(
        self, context: PlanningContext, action: BoundAction, state: State, rng: np.random.Generator
    ) -> Iterator[Manipulation]:
        """Yield the user's Manipulations, and check each."""
        with self._guarded("first_contacts"):
            contacts = iter(self.own.first_contacts(context, action, state, rng))
        while True:
            with self._guarded("first_contacts"):
                manipulation = next(contacts, None)
                if manipulation is not None and not isinstance(manipulation, Manipulation):
                    raise TypeError(f"expected Manipulations, got {manipulation!r:.80}")
            if manipulation is None:
                return
            yield manipulation

    def resumes(self, context: PlanningContext, action: BoundAction, state: State) -> bool:
        """Whether the user's skill can complete an interrupted action."""
        with self._guarded("resumes"):
            return bool(self.own.resumes(context, action, state))

    def impossible(
        self, context: PlanningContext, action: BoundAction, state: State
    ) -> Failure | None:
        """The user's Failure, or None if the action may be possible."""
        with self._guarded("impossible"):
            failure = self.own.impossible(context, action, state)
            if failure is not None and not isinstance(failure, Failure):
                raise TypeError(f"expected a Failure or None, got {failure!r:.80}")
            return None if failure is None else _checked(failure)

    def judge(
        self, scene: Scene, log: Log, predicate: str, things: tuple[Binding, ...]
    ) -> tuple[bool, str] | None:
        """The user's verdict on a goal fact, or None if the skill can't tell."""
        with self._guarded("judge"):
            match self.own.judge(scene, log, predicate, things):
                case None:
                    return None
                case (holds, str(why)):
                    return bool(holds), why
                case other:
                    raise TypeError(f"expected (True or False, why), or None, got {other!r:.80}")

    def _guarded(self, method: str) -> contextlib.AbstractContextManager[None]:
        """``user_code`` for one method; by default errors are reported at its first line."""
        code = getattr(inspect.unwrap(getattr(self.own, method)), "__code__", None)
        line = code.co_firstlineno if code and code.co_filename == self.file else self.line
        return user_code(self.file, line, f"{method} of '{self.name}'")


def _checked(failure: Failure) -> Failure:
    """The failure, checked: it must have texts, and a certificate that JSON can express."""
    texts = (failure.message, *failure.objects, *failure.step)
    if not isinstance(failure.kind, FailureKind) or not all(isinstance(t, str) for t in texts):
        raise TypeError(f"expected a Failure of a FailureKind, with texts, got {failure!r:.80}")
    json.dumps(failure.as_json(), default=lambda value: value.tolist())
    return failure


def _well_typed(motion: Motion) -> bool:
    """Whether the parts of a Motion that are used only later have the right types."""
    names = (name for pair in motion.allowed for name in pair)
    guard = motion.guard is None or isinstance(motion.guard, Guard)
    texts = all(isinstance(text, str) for text in (motion.phase, motion.hand, *names))
    return guard and texts and isinstance(motion.record, Record)


def _fault(name: object, skill: object, actions: Collection[str] | None) -> str | None:
    """The error in one entry of ``SKILLS``, or None if it is valid."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        return f"{name!r} is not the name of a PDDL action, in lower case"
    if actions is not None and name not in actions:
        hint = did_you_mean(name, actions) or f"; it has {', '.join(sorted(actions))}"
        return f"the domain has no action '{name}'{hint}"
    if isinstance(skill, type) and issubclass(skill, Skill):
        return f"'{name}' is the class {skill.__name__}, expected an instance: {skill.__name__}()"
    if not isinstance(skill, Skill):
        return f"'{name}' is {skill!r:.40}, expected an instance of galley.skills.Skill"
    kinds = getattr(skill, "parameters", None)
    if not isinstance(kinds, tuple) or any(kind not in _KINDS for kind in kinds):
        return f"'{name}' needs parameters, a tuple of {', '.join(map(repr, _KINDS))}"
    role = astuple(skill.role) if isinstance(skill.role, Role) else (len(kinds),)
    if not all(position is None or position in range(len(kinds)) for position in role):
        return f"'{name}' needs a Role as its role, with positions of parameters below {len(kinds)}"
    return None


def _line_of(path: str | Path, name: str) -> int | None:
    """Number of the first line of a file that begins with a name, from 1; None if none does."""
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if line.startswith(name):
            return number
    return None
