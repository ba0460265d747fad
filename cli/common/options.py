"""Makes the parser of a command from the dataclass of its options (``domain.options``)."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from galley.cli.common.arguments import number, usage, whole
from galley.domain.options import REQUIRED

_READ = {int: whole, float: number, Path: Path}
_Model = TypeVar("_Model")


def add_options(
    p: argparse._ActionsContainer,
    model: type[Any],
    defaults: Any = None,
    last: list[tuple[str, Any, dict[str, Any]]] | None = None,
) -> None:
    """Add a dataclass's options to a parser.

    Args:
        p: the parser.
        model: the dataclass.
        defaults: an instance whose values replace the dataclass's defaults; None for the latter.
        last: list that collects the options for the heading "more"; None if this call adds them.
    """
    hints = get_type_hints(model, include_extras=True)
    later = [] if last is None else last
    alternatives: dict[str, argparse._ActionsContainer] = {}
    for item in fields(model):
        default = item.default if defaults is None else getattr(defaults, item.name)
        how = dict(item.metadata)
        if "title" in how:
            inner = p.add_argument_group(how["title"]) if how["title"] else p
            add_options(inner, type(default), default, later)
        elif "about" in how:
            how = {**_settings(hints[item.name], default), **how}
            if how.pop("more", False):
                later.append((item.name, default, how))
                continue
            parent = p
            if either := how.pop("either", ""):
                required = how.pop("required", False)
                if either not in alternatives:
                    alternatives[either] = p.add_mutually_exclusive_group(required=required)
                parent = alternatives[either]
            _add(parent, item.name, default, how)
    if last is None and later:
        p = p.add_argument_group("more")
        for name, default, how in later:
            _add(p, name, default, how)


def _add(p: argparse._ActionsContainer, name: str, default: Any, how: dict[str, Any]) -> None:
    how["help"] = _described(how.pop("about"), default)
    flag = how.pop("flag", f"--{name.replace('_', '-')}")
    if default is not REQUIRED:
        how["default"] = list(default) if isinstance(default, tuple) else default
    elif flag:
        how["required"] = True
    if flag:
        how["dest"] = name
    p.add_argument(flag or name, **how)


def _settings(hint: Any, default: Any) -> dict[str, Any]:
    """The keyword arguments of ``add_argument`` for the type of a field."""
    inner = get_args(hint)
    if get_origin(hint) in (Union, UnionType):
        return _settings(next(kind for kind in inner if kind is not NoneType), default)
    if get_origin(hint) is tuple and get_origin(inner[0]) is tuple:
        return {**_settings(inner[0], default), "action": "append"}
    if get_origin(hint) is tuple:
        size = "+" if inner[-1] is Ellipsis else len(inner)
        return {**_settings(inner[0], default), "nargs": size}
    if get_origin(hint) is Literal:
        return {"choices": inner}
    if get_origin(hint) is Annotated:
        return dict(zip(("type", "metavar"), inner[1:], strict=False))
    if hint is bool:
        return {"action": "store_true" if default is False else argparse.BooleanOptionalAction}
    named = {"metavar": "FILE"} if hint is Path else {}
    return {"type": _READ[hint], **named} if hint in _READ else {}


def _described(about: str, default: Any) -> str:
    """The help of an option: its description, followed by the default unless it is stated there."""
    if "Default: " in about or any(default is unset for unset in (REQUIRED, None, False, ())):
        return about
    if default is True:
        return f"{about} Default: yes."
    values = default if isinstance(default, tuple) else (default,)
    shown = " ".join(f"{v:g}" if isinstance(v, float) else str(v) for v in values)
    return f"{about} Default: {shown}."


def options_of(command: Callable[[Any], int]) -> type[Any]:
    """The dataclass of options that a command takes, from its annotation."""
    model: type[Any] = get_type_hints(command)["options"]
    return model


def read_options(model: type[_Model], arguments: argparse.Namespace) -> _Model:
    """An instance of the dataclass from the parsed command line.

    Raises:
        argparse.ArgumentTypeError: the dataclass refuses this combination of options.
    """
    values = {}
    for item in fields(model):  # type: ignore[arg-type]
        if "title" in item.metadata:
            values[item.name] = read_options(type(item.default), arguments)
        elif "about" in item.metadata:
            values[item.name] = _frozen(getattr(arguments, item.name))
    with usage():
        return model(**values)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def given(options: Any, kind: type[Any]) -> dict[str, Any]:
    """The options, also those in groups, that are fields of ``kind`` and not None, by name."""
    known = {item.name for item in fields(kind)}
    values: dict[str, Any] = {}
    for item in fields(options):
        value = getattr(options, item.name)
        if "title" in item.metadata:
            values |= given(value, kind)
        elif item.name in known and value is not None:
            values[item.name] = value
    return values
