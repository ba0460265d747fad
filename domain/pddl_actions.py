"""Actions of a PDDL domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from galley.domain.errors import closest
from galley.domain.pddl import ActionSchema, Domain, Variable
from galley.domain.pddl_effects import read_effect
from galley.domain.pddl_faults import Faults, short
from galley.domain.pddl_formula import read_condition
from galley.domain.pddl_lists import read_variables
from galley.domain.pddl_scope import Scope, object_types
from galley.domain.pddl_syntax import Definition, Section, read_name
from galley.domain.sexpr import Atom, Node, SList

_ACTION_KEYS = (":parameters", ":precondition", ":effect")
_REFUSED_KEYS = {
    ":vars": "use (exists (?x - type) ...) instead",
    ":duration": "actions with a duration are not supported",
    ":condition": "that is a durative action's; write :precondition",
}


def read_actions(parts: Definition, domain: Domain, faults: Faults) -> tuple[ActionSchema, ...]:
    """The actions of a domain whose types, constants, predicates and functions are known."""
    actions: dict[str, ActionSchema] = {}
    constants = object_types(domain.constants)
    for section in parts.sections:
        if section.keyword != ":action":
            continue
        action = _read_action(section, domain, constants, faults)
        if action is None:
            continue
        if action.name in actions:
            first = actions[action.name].line
            what = f"action '{action.name}' is declared twice, first at line {first}"
            faults.add(section.body[0], what)
            continue
        actions[action.name] = action
    return tuple(actions.values())


def _read_action(
    section: Section, domain: Domain, constants: Mapping[str, tuple[str, ...]], faults: Faults
) -> ActionSchema | None:
    if not section.body:
        faults.add(section.node, "an action needs a name")
        return None
    title = section.body[0]
    name = read_name(title, "an action's name", faults)
    # Without its name, what follows would be taken for one.
    unnamed = name is None and isinstance(title, Atom) and title.text.startswith(":")
    fields = _read_fields(section.body[0 if unnamed else 1 :], faults)
    parameters: tuple[Variable, ...] | None = ()
    if ":parameters" in fields:
        parameters = _read_parameters(fields[":parameters"], domain, faults)
    if parameters is None:
        return None
    variables = {each.name: each.types for each in parameters}
    scope = Scope(domain, constants, variables, f"action '{name}'", faults)
    pre = read_condition(fields[":precondition"], scope) if ":precondition" in fields else ()
    effect, cost = read_effect(fields[":effect"], scope) if ":effect" in fields else ((), ())
    if name is None:
        return None
    return ActionSchema(name, parameters, pre, effect, cost, line=title.line, column=title.column)


def _read_parameters(node: Node, domain: Domain, faults: Faults) -> tuple[Variable, ...] | None:
    if not isinstance(node, SList):
        what = f"expected a list of parameters such as (?x - object), got '{short(node)}'"
        faults.add(node, what)
        return None
    return read_variables(node.items, domain, faults)


def _read_fields(nodes: Sequence[Node], faults: Faults) -> dict[str, Node]:
    """The ``:key value`` pairs of an action, in any order."""
    fields: dict[str, Node] = {}
    index = 0
    while index < len(nodes):
        key = nodes[index]
        index += 1
        if not isinstance(key, Atom) or not key.text.startswith(":"):
            faults.add(key, f"expected one of {', '.join(_ACTION_KEYS)}, got '{short(key)}'")
            continue
        value = nodes[index] if index < len(nodes) else None
        if value is None or (isinstance(value, Atom) and value.text.startswith(":")):
            faults.add(key, f"{short(key)} has no value; write () for none")
            continue
        index += 1
        if key.text in _REFUSED_KEYS:
            faults.add(key, f"{key} can't stand in an action; {_REFUSED_KEYS[key.text]}")
        elif key.text not in _ACTION_KEYS:
            what = f"unknown keyword {short(key)} in an action"
            faults.add(key, what, key.text, _ACTION_KEYS)
            meant = closest(key.text, _ACTION_KEYS)
            if meant is not None:
                fields.setdefault(meant, value)
        elif key.text in fields:
            faults.add(key, f"a second {key} in one action")
        else:
            fields[key.text] = value
    return fields
