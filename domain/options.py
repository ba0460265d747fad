"""A command's options, declared once: a frozen dataclass, of which ``cli`` makes the parser.

::

    @dataclass(frozen=True, kw_only=True)
    class Draw:
        scene: Path = argument("scene file, YAML")
        grid: Count = option(61, "N x N places")
        colour: Literal["red", "blue"] = option("red", "of the lines")
        legend: bool = more(True, "say what each line is")
        film: FilmSize = group(FilmSize(fps=25), "film")

is ``scene``, ``--grid N``, ``--colour {red,blue}``, ``--legend``, ``--no-legend``, and the options
of ``FilmSize`` with another default; ``--legend`` stands last in the help, under "more".
``command(options: Draw)`` gets an instance. A tuple is an
option with several values, a tuple of tuples one that may be repeated. The help has the defaults. A
field that none of the functions here made is no option.
"""

from __future__ import annotations

from dataclasses import MISSING, field
from typing import Any

REQUIRED: Any = MISSING
"""As a default: the option must be given."""


def option(
    default: Any, about: str, metavar: str | tuple[str, ...] | None = None, **how: Any
) -> Any:
    """A field that is an option.

    Args:
        default: of the field. A ``bool`` has a ``--no-`` option too, unless this is False.
        about: for the help, a whole sentence, to which the default is added.
        metavar: the value's name in the help, in place of the type's.
        how: what ``add_argument`` shall get in place of what the type says; ``flag``, in place of
            the field's name; ``either``, a name shared by options of which only one may be given.
    """
    named = {} if metavar is None else {"metavar": metavar}
    return field(default=default, metadata={"about": about, **named, **how})


def more(default: Any, about: str, metavar: str | tuple[str, ...] | None = None, **how: Any) -> Any:
    """As ``option``, for one that few users need: it stands last in the help."""
    return option(default, about, metavar, more=True, **how)


def argument(about: str, metavar: str | None = None, default: Any = REQUIRED, **how: Any) -> Any:
    """A field that is a positional argument; with a ``default`` it may be left out."""
    if default is not REQUIRED:
        how.setdefault("nargs", "?")
    return option(default, about, metavar, flag="", **how)


def group(defaults: Any, title: str = "") -> Any:
    """A field that has options of its own, as a dataclass.

    Args:
        defaults: an instance of it, with the options' defaults.
        title: they stand apart under it in the help.
    """
    return field(default=defaults, metadata={"title": title})
