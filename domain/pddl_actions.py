"""Actions of a PDDL domain."""

from __future__ import annotations

from collections.abc import Sequence

from galley.domain.errors import did_you_mean
from galley.domain.pddl import ActionSchema, Domain, Variable
from galley.domain.pddl_declarations import read_variables
from galley.domain.pddl_formula import Scope, object_types, read_condition, read_effect
from galley.domain.pddl_syntax import Definition, Faults, Section, read_name
from galley.domain.sexpr import Atom, Node, SList

_ACTION_KEYS = (":parameters", ":precondition", ":effect")


def read_actions(parts: Definition, domain: Domain, faults: Faults) -> tuple[ActionSchema, ...]:
    """The actions of a domain whose types, constants and predicates are known."""
    actions: dict[str, ActionSchema] = {}
    for section in parts.sections:
        if section.keyword != ":action":
            continue
        action = _read_action(section, domain, faults)
        if action is None:
            continue
        if action.name in actions:
            first = actions[action.name].line
            what = f"action '{action.name}' is declared twice, first at line {first}"
            faults.add(section.body[0], what)
            continue
        actions[action.name] = action
    return tuple(actions.values())


def _read_action(section: Section, domain: Domain, faults: Faults) -> ActionSchema | None:
    if not section.body:
        faults.add(section.node, "an action needs a name")
        return None
    title = section.body[0]
    name = read_name(title, "an action's name", faults)
    fields = _read_fields(section.body[1:], faults)
    parameters: tuple[Variable, ...] = ()
    if ":parameters" in fields:
        parameters = _read_parameters(fields[":parameters"], domain, faults)
    types = object_types(domain.constants) | {each.name: each.types for each in parameters}
    scope = Scope(domain, types, f"action '{name}'", True, faults)
    pre = read_condition(fields[":precondition"], scope) if ":precondition" in fields else ()
    effect = read_effect(fields[":effect"], scope) if ":effect" in fields else ()
    if name is None:
        return None
    return ActionSchema(
        name, parameters, pre, effect, line=title.line, column=title.column
    )


def _read_parameters(node: Node, domain: Domain, faults: Faults) -> tuple[Variable, ...]:
    if not isinstance(node, SList):
        faults.add(node, f"expected a list of parameters such as (?x - object), got '{node}'")
        return ()
    return read_variables(node.items, domain, faults)


def _read_fields(nodes: Sequence[Node], faults: Faults) -> dict[str, Node]:
    """The ``:key value`` pairs of an action, in any order."""
    fields: dict[str, Node] = {}
    index = 0
    while index < len(nodes):
        key = nodes[index]
        index += 1
        if not isinstance(key, Atom) or not key.text.startswith(":"):
            faults.add(key, f"expected one of {', '.join(_ACTION_KEYS)}, got '{key}'")
            continue
        value = nodes[index] if index < len(nodes) else None
        if value is None or (isinstance(value, Atom) and value.text.startswith(":")):
            faults.add(key, f"{key} has no value; write () for none")
            continue
        index += 1
        if key.text not in _ACTION_KEYS:
            hint = did_you_mean(key.text, _ACTION_KEYS)
            faults.add(key, f"unknown keyword {key} in an action{hint}")
        elif key.text in fields:
            faults.add(key, f"a second {key} in one action")
        else:
            fields[key.text] = value
    return fields
