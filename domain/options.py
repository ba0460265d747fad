"""Declares a command's options as fields of a frozen dataclass; ``cli`` makes the parser of it.

::

    @dataclass(frozen=True, kw_only=True)
    class Draw:
        scene: Path = argument("scene file, YAML")
        grid: Count = option(61, "N x N places")
        colour: Literal["red", "blue"] = option("red", "of the lines")
        legend: bool = more(True, "say what each line is")
        film: FilmSize = group(FilmSize(fps=25), "film")

declares ``scene``, ``--grid N``, ``--colour {red,blue}``, ``--legend``, ``--no-legend``, and the
options of ``FilmSize`` with another default; ``--legend`` stands last in the help, under "more".
``command(options: Draw)`` gets an instance. A tuple is an option with several values, a tuple of
tuples one that may be repeated. The help shows the defaults. A field that was not made by one of
these functions is no option.
"""

from __future__ import annotations

from dataclasses import MISSING, field
from typing import Any

REQUIRED: Any = MISSING
"""The default of an option that must be given."""


def option(
    default: Any, about: str, metavar: str | tuple[str, ...] | None = None, **how: Any
) -> Any:
    """A field that is an option.

    Args:
        default: the default value. A ``bool`` has a ``--no-`` option too, unless this is False.
        about: the help text, to which the default is added.
        metavar: the value's name in the help; None derives it from the type.
        how: arguments of ``add_argument`` that override those derived from the type. Two more are
            ``flag``, the option's name instead of the field's, and ``either``, a name shared by
            options of which only one may be given.
    """
    named = {} if metavar is None else {"metavar": metavar}
    return field(default=default, metadata={"about": about, **named, **how})


def more(default: Any, about: str, metavar: str | tuple[str, ...] | None = None, **how: Any) -> Any:
    """An ``option`` that few users need, so it stands last in the help."""
    return option(default, about, metavar, more=True, **how)


def argument(about: str, metavar: str | None = None, default: Any = REQUIRED, **how: Any) -> Any:
    """A field that is a positional argument; with a ``default`` it may be left out."""
    if default is not REQUIRED:
        how.setdefault("nargs", "?")
    return option(default, about, metavar, flag="", **how)


def group(defaults: Any, title: str = "") -> Any:
    """A field that has options of its own, as a dataclass.

    Args:
        defaults: an instance of that dataclass, with the options' defaults.
        title: heading under which the help lists these options; empty for no heading.
    """
    return field(default=defaults, metadata={"title": title})
