"""Plan files: one ``(pick sugar burner h1)`` a line, comments after a semicolon."""

from __future__ import annotations

from pathlib import Path

from galley.domain.errors import read_text
from galley.domain.pddl_syntax import Faults, read_name
from galley.domain.sexpr import SList, parse_sexprs
from galley.planning.operators import GroundAction


def read_plan(path: str | Path) -> tuple[GroundAction, ...]:
    """The actions of a plan file; an empty file is the empty plan.

    Only the form is checked here. Whether actions and objects exist is for ``validate`` to say.

    Raises:
        BadInput: every fault of the file, with line and column.
    """
    faults = Faults(str(path))
    actions: list[GroundAction] = []
    for node in parse_sexprs(read_text(path), faults.file):
        if not isinstance(node, SList):
            faults.add(node, f"expected an action such as (name object ...), got '{node}'")
        elif not node.items:
            faults.add(node, "an action needs a name")
        else:
            name = read_name(node.items[0], "an action's name", faults)
            args = [read_name(each, "an object", faults) for each in node.items[1:]]
            actions.append(GroundAction(name or "", tuple(each or "" for each in args)))
    faults.raise_if_any()
    return tuple(actions)
