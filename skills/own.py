"""Loads a user's own skills from a Python file: an action's name, and what carries it out."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import re
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import CodeType, ModuleType

from galley.domain.errors import BadInput, InputError
from galley.domain.failure import Failure, FailureKind
from galley.domain.files import read_text
from galley.skills.skill import Skill

_TABLE = "SKILLS"
_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_KINDS = ("item", "furniture", "hand")


def load_skills(path: str | Path) -> dict[str, Skill]:
    """The skills of a Python file: its top-level ``SKILLS``, PDDL action name to ``Skill``.

    The file is run once, under a module name of its own. Files beside it are not importable.

    Raises:
        BadInput: the file is missing, is no Python, raises while it is run, or its ``SKILLS`` is
            missing or holds anything else; with the line where that can be told.
    """
    text = read_text(path)
    tree, code = _compiled(path, text)
    module = _run(path, code)
    lines = _lines(tree)
    if not hasattr(module, _TABLE):
        what = f"defines no {_TABLE}; write {_TABLE} = {{'wipe': Wipe()}} for an action 'wipe'"
        raise BadInput.one(path, what)
    table = getattr(module, _TABLE)
    at = lines.get(_TABLE)
    if not isinstance(table, Mapping) or not table:
        what = f"{_TABLE} is {_a(table)}, expected a dict of action name to skill, not empty"
        raise BadInput.one(path, what, at)
    errors: list[InputError] = []
    found: dict[str, Skill] = {}
    for name, skill in table.items():
        fault = _fault(name, skill)
        if fault is None:
            found[name] = skill
        else:
            errors.append(InputError(str(path), lines.get(f"{_TABLE}.{name}", at), None, fault))
    if errors:
        raise BadInput(errors)
    return found


def raised_in(path: str | Path, error: BaseException) -> Failure | None:
    """What to say of an exception that a user's skill raised; None if it came from elsewhere."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename) == Path(path)]
    if not own:
        return None
    what = f"{path}:{own[-1].lineno}: the skill raised {type(error).__name__}: {error}"
    return Failure(FailureKind.BAD_INPUT, what, (str(path),))


def _compiled(path: str | Path, text: str) -> tuple[ast.Module, CodeType]:
    try:
        tree = ast.parse(text, str(path))
        return tree, compile(tree, str(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        what = f"is no Python: {error.msg}"
        raise BadInput.one(path, what, error.lineno, error.offset or None) from None
    except (ValueError, RecursionError, MemoryError) as error:  # a NUL; nested too deeply
        raise BadInput.one(path, f"is no Python: {error}") from None


def _run(path: str | Path, code: CodeType) -> ModuleType:
    """The module, run. Its name can't clash with another's: it holds the file's whole path."""
    place = Path(path).resolve()
    name = "galley_own_skills_" + hashlib.sha256(str(place).encode()).hexdigest()[:16]
    spec = importlib.util.spec_from_file_location(name, place)
    module = ModuleType(name) if spec is None else importlib.util.module_from_spec(spec)
    module.__file__ = str(place)
    before = sys.modules.get(name)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        exec(code, module.__dict__)
    except (Exception, SystemExit) as error:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before
        own = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
        line = own[-1].lineno if own else None
        said = str(error).splitlines()
        what = f"fails while it is read: {type(error).__name__}" + (f": {said[0]}" if said else "")
        raise BadInput.one(path, what, line) from None
    return module


def _fault(name: object, skill: object) -> str | None:
    """What is wrong with one entry, or None."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        return (
            f"{name!r} is not the name of a PDDL action: a lower-case letter, then lower-case "
            f"letters, digits, '-' and '_'"
        )
    if isinstance(skill, type) and issubclass(skill, Skill):
        return f"'{name}' is the class {skill.__name__}, expected an instance: {skill.__name__}()"
    if not isinstance(skill, Skill):
        return f"'{name}' is {_a(skill)}, expected an instance of galley.skills.Skill"
    kinds = getattr(skill, "parameters", None)
    if not isinstance(kinds, tuple) or any(kind not in _KINDS for kind in kinds):
        return f"'{name}' needs parameters, a tuple of {', '.join(map(repr, _KINDS))}"
    return None


def _lines(tree: ast.Module) -> dict[str, int]:
    """The line of ``SKILLS``, and of each of its entries that is written out."""
    found: dict[str, int] = {}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        if not any(isinstance(target, ast.Name) and target.id == _TABLE for target in targets):
            continue
        found[_TABLE] = node.lineno
        value = getattr(node, "value", None)
        if isinstance(value, ast.Dict):
            for key in value.keys:
                if isinstance(key, ast.Constant):
                    found[f"{_TABLE}.{key.value!s}"] = key.lineno
    return found


def _a(value: object) -> str:
    kind = type(value).__name__
    if isinstance(value, Mapping) and not value:
        return "empty"
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
