"""Loads a user's Python file, and the skills in it."""

from __future__ import annotations
import __future__

import ast
import hashlib
import importlib.util
import re
import sys
from collections.abc import Collection, Mapping
from dataclasses import astuple
from pathlib import Path
from types import ModuleType

from galley.domain.errors import BadInput, InputError, did_you_mean
from galley.domain.files import read_text
from galley.domain.shipped import shipped_file
from galley.skills.given_types import kind_of
from galley.skills.guarded import GuardedSkill, user_code
from galley.skills.skill import Role, Skill

_TABLE = "SKILLS"
_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_KINDS = ("item", "furniture", "hand")


def load_skills(
    path: str | Path, actions: Collection[str] | None = None
) -> dict[str, GuardedSkill]:
    """The skills in a file's ``SKILLS``, by name of the PDDL action.

    Args:
        path: the file, for ``load_module``; one that ships with Galley if a bare name says so.
        actions: names of the domain's actions; None: any name is accepted.

    Raises:
        BadInput: as ``load_module``, or ``SKILLS`` is missing or wrong; with the line where
            possible.
    """
    path = shipped_file(path)
    file = str(path)
    module, tree = load_module(path)
    lines = _lines(tree)
    if not hasattr(module, _TABLE):
        what = f"defines no {_TABLE}; write {_TABLE} = {{'wipe': Wipe()}} for an action 'wipe'"
        raise BadInput.one(path, what)
    at = lines.get(_TABLE)
    errors: list[InputError] = []
    found: dict[str, GuardedSkill] = {}
    with user_code(file, at, f"{_TABLE} can't be read: "):
        table = getattr(module, _TABLE)
        entries = dict(table) if isinstance(table, Mapping) else {}
        for name, skill in entries.items():
            line = lines.get(f"{_TABLE}.{name}", at)
            fault = _fault(name, skill, actions)
            if fault is None:
                found[name] = GuardedSkill(skill, name, file, line)
            else:
                errors.append(InputError(file, line, None, fault))
    if errors:
        raise BadInput(errors)
    if not found:
        kind = "empty" if isinstance(table, Mapping) else kind_of(table)
        what = f"{_TABLE} is {kind}, expected a dict of action name to skill, not empty"
        raise BadInput.one(path, what, at)
    return found


def load_module(path: str | Path) -> tuple[ModuleType, ast.Module]:
    """Run a user's file, once, as a module of its own; returns the module and its syntax tree.

    It can't import files beside it.

    Raises:
        BadInput: the file is missing or no Python, raises or closes stdout; with the line.
    """
    tree = _parsed(str(path), read_text(path))
    return _run(str(path), tree), tree


def _parsed(file: str, text: str) -> ast.Module:
    try:
        tree = ast.parse(text, file)
        compile(tree, file, "exec", dont_inherit=True)  # finds what only a whole module shows
        return tree
    except SyntaxError as error:
        what = f"is no Python: {error.msg}"
        raise BadInput.one(file, what, error.lineno, error.offset or None) from None
    except (ValueError, RecursionError, MemoryError) as error:  # a NUL; nested too deeply
        raise BadInput.one(file, f"is no Python: {error}") from None


def _run(file: str, tree: ast.Module) -> ModuleType:
    """Run the file as a module whose name is a digest of its path.

    One statement at a time, so that closing stdout is reported with its line.
    """
    place = Path(file).resolve()
    name = "galley_own_" + hashlib.sha256(str(place).encode()).hexdigest()[:16]
    spec = importlib.util.spec_from_file_location(name, place)
    module = ModuleType(name) if spec is None else importlib.util.module_from_spec(spec)
    module.__file__ = str(place)
    module.__doc__ = ast.get_docstring(tree)
    before = sys.modules.get(name)
    sys.modules[name] = module  # dataclasses look their module up
    flags = 0
    try:
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                for each in node.names:
                    flags |= getattr(__future__, each.name).compiler_flag
            code = compile(ast.Module([node], []), file, "exec", flags, dont_inherit=True)
            with user_code(file, node.lineno, "fails while it is read: "):
                exec(code, module.__dict__)
    except BaseException:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before
        raise
    return module


def _fault(name: object, skill: object, actions: Collection[str] | None) -> str | None:
    """What is wrong with one entry of ``SKILLS``, or None."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        return (
            f"{name!r} is not the name of a PDDL action: a lower-case letter, then lower-case "
            f"letters, digits, '-' and '_'"
        )
    if actions is not None and name not in actions:
        hint = did_you_mean(name, actions) or f"; it has {', '.join(sorted(actions))}"
        return f"the domain has no action '{name}'{hint}"
    if isinstance(skill, type) and issubclass(skill, Skill):
        return f"'{name}' is the class {skill.__name__}, expected an instance: {skill.__name__}()"
    if not isinstance(skill, Skill):
        return f"'{name}' is {kind_of(skill)}, expected an instance of galley.skills.Skill"
    kinds = getattr(skill, "parameters", None)
    if not isinstance(kinds, tuple) or any(kind not in _KINDS for kind in kinds):
        return f"'{name}' needs parameters, a tuple of {', '.join(map(repr, _KINDS))}"
    if not isinstance(skill.role, Role) or not all(
        each is None or (isinstance(each, int) and 0 <= each < len(kinds))
        for each in astuple(skill.role)
    ):
        return f"'{name}' needs as role a Role of positions of parameters, below {len(kinds)}"
    return None


def _lines(tree: ast.Module) -> dict[str, int]:
    """The lines of ``SKILLS`` and of its literal keys."""
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
