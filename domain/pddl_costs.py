"""Action costs: the numbers of PDDL that are read, and their refusal elsewhere."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from galley.domain.formula import FunctionTerm
from galley.domain.pddl import TOTAL_COST, Domain, Function
from galley.domain.pddl_faults import Faults, short
from galley.domain.pddl_lists import read_variables
from galley.domain.pddl_scope import Scope, check_function
from galley.domain.pddl_syntax import read_name
from galley.domain.sexpr import Atom, Node, SList

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII)
_ARITHMETIC = ("+", "-", "*", "/")


def read_number(node: Node) -> float | None:
    """The number that ``node`` is, if it is one."""
    if isinstance(node, Atom) and len(node.text) < 400 and _NUMBER.fullmatch(node.text):
        return float(node.text)
    return None


def is_total_cost(node: Node) -> bool:
    """Whether ``node`` is ``(total-cost)``, or the word alone, as PDDL 2.1 allows."""
    if isinstance(node, SList):
        return len(node.items) == 1 and node.head == TOTAL_COST
    return node.text == TOTAL_COST


def read_functions(nodes: Sequence[Node], domain: Domain, faults: Faults) -> tuple[Function, ...]:
    """The declared functions, ``(f ?x - t) (g) - number``; a type other than number is refused."""
    found: dict[str, Function] = {}
    index = 0
    while index < len(nodes):
        node = nodes[index]
        index += 1
        if isinstance(node, Atom) and node.text == "-":
            kind = nodes[index] if index < len(nodes) else node
            index += 1
            if kind is node or not found:
                faults.add(node, "'-' must stand between functions and their type")
            elif not isinstance(kind, Atom) or kind.text != "number":
                what = f"functions of type '{short(kind)}' (object fluents) are not supported; "
                faults.add(kind, what + "only '- number' is")
            continue
        function = _read_function(node, domain, faults)
        if function is not None and function.name in found:
            faults.add(node, f"function '{function.name}' is declared twice")
        elif function is not None:
            found[function.name] = function
    return tuple(found.values())


def _read_function(node: Node, domain: Domain, faults: Faults) -> Function | None:
    if not isinstance(node, SList) or not node.items:
        faults.add(node, f"expected a function such as (name ?x - type), got '{short(node)}'")
        return None
    name = read_name(node.items[0], "a function's name", faults)
    if name is None:
        return None
    parameters = read_variables(node.items[1:], domain, faults, named=False)
    if name == TOTAL_COST and parameters:
        faults.add(node, f"function '{TOTAL_COST}' takes no parameters")
        parameters = ()
    return Function(name, parameters)


def read_cost(node: SList, scope: Scope) -> float | FunctionTerm | None:
    """What ``(increase (total-cost) ...)`` adds; None after noting what is wrong with it."""
    if len(node.items) != 3:
        scope.faults.add(node, f"expected (increase ({TOTAL_COST}) amount), got '{short(node)}'")
        return None
    target, amount = node.items[1:]
    if not is_total_cost(target):
        what = f"'increase' of '{short(target)}' (a numeric fluent) is not supported; only "
        scope.faults.add(node, what + f"({TOTAL_COST}) can be increased")
        return None
    if scope.domain.function(TOTAL_COST) is None:
        what = f"function '{TOTAL_COST}' is not declared; add (:functions ({TOTAL_COST}) - number)"
        scope.faults.add_once(target, what)
    number = read_number(amount)
    if number is not None:
        return number if check_amount(number, amount, scope.faults) else None
    return read_term(amount, scope)


def check_amount(number: float, where: Node, faults: Faults) -> bool:
    """Notes a cost that plans can't be measured by."""
    if 0 <= number < math.inf:
        return True
    faults.add(where, f"a cost must be a finite number, 0 or more, got '{short(where)}'")
    return False


def read_term(node: Node, scope: Scope) -> FunctionTerm | None:
    """A function of objects and variables; None after noting what is wrong with it."""
    name = node.items[0] if isinstance(node, SList) and node.items else node
    if not isinstance(name, Atom) or (name is node and scope.domain.function(name.text) is None):
        what = f"expected a number or a function such as (name ?x), got '{short(node)}'"
        scope.faults.add(node, what)
        return None
    if name.text in _ARITHMETIC:
        what = "arithmetic in a cost is not supported; give a number or one function of objects"
        scope.faults.add(node, what)
        return None
    if name.text == TOTAL_COST:
        scope.faults.add(node, f"({TOTAL_COST}) can't be an amount")
        return None
    args = check_function(name, node.items[1:] if isinstance(node, SList) else (), scope)
    return None if args is None else FunctionTerm(name.text, args, name.line, name.column)
