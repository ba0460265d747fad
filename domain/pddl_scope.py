"""What a formula may speak of, and the check that a term speaks of nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from galley.domain.pddl import EQUALITY, Domain, Function, Object, Predicate, Variable
from galley.domain.pddl_faults import Faults, short
from galley.domain.pddl_lists import read_variables
from galley.domain.sexpr import Atom, Node, SList

_EQUALITY = Predicate(EQUALITY, (Variable("?a"), Variable("?b")))


@dataclass(frozen=True, slots=True)
class Scope:
    """What a formula may speak of.

    Attributes:
        domain: the declared types, predicates and functions.
        objects: the types of each object in sight (none: unknown, already reported).
        variables: likewise of each variable.
        place: where the formula stands, for messages (``:init``).
        faults: where to note what is wrong.
        loose: whether names and types go unchecked, as the domain could not be read.
    """

    domain: Domain
    objects: Mapping[str, tuple[str, ...]]
    variables: Mapping[str, tuple[str, ...]]
    place: str
    faults: Faults
    loose: bool = False
    _fits: dict[tuple[tuple[str, ...], tuple[str, ...]], bool] = field(
        default_factory=dict, compare=False
    )

    def within(self, node: SList) -> tuple[tuple[Variable, ...], Node | None, Scope]:
        """A quantifier taken apart: its variables, what it speaks of, and the scope of that.

        What it speaks of is None after noting that the form is wrong. A variable may shadow one of
        the same name outside.
        """
        if len(node.items) != 3:
            what = f"'{node.head}' takes a list of variables and one formula, "
            self.faults.add(node, what + f"({node.head} (?x - type) (...))")
            return (), None, self
        declared, body = node.items[1:]
        if not isinstance(declared, SList):
            what = f"expected a list of variables such as (?x - type), got '{short(declared)}'"
            self.faults.add(declared, what)
            return (), None, self
        found = self.read_variables(declared.items)
        inner = {**self.variables, **{each.name: each.types for each in found}}
        return found, body, replace(self, variables=inner)

    def read_variables(self, nodes: Sequence[Node]) -> tuple[Variable, ...]:
        """The variables of a parameter list or a quantifier."""
        return read_variables(nodes, self.domain, self.faults, loose=self.loose)

    def fits(self, given: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
        """Whether a thing of one of the types ``given`` surely is of one of ``wanted``."""
        found = self._fits.get((given, wanted))
        if found is None:
            # An empty tuple stands for a type that is not declared: already reported.
            found = not wanted or all(self.domain.is_a(each, wanted) for each in given)
            self._fits[given, wanted] = found
        return found


def object_types(objects: Sequence[Object]) -> dict[str, tuple[str, ...]]:
    """The objects of a scope."""
    return {each.name: (each.type,) if each.type else () for each in objects}


def check_predicate(node: SList, scope: Scope) -> tuple[str, ...] | None:
    """The arguments of a fact or an equality; None after noting what is wrong with it."""
    head = node.head
    declared = _EQUALITY if head == EQUALITY else scope.domain.predicate(head)
    if declared is None and not scope.loose:
        if scope.domain.function(head) is not None:
            what = f"'{head}' is a function; a fact needs a predicate"
            scope.faults.add(node.items[0], what)
        else:
            what = f"predicate '{short(node.items[0])}' is not declared"
            scope.faults.add(node.items[0], what, head, scope.domain.predicate_names)
    return _check(node.items[0], node.items[1:], declared, scope)


def check_function(name: Atom, args: Sequence[Node], scope: Scope) -> tuple[str, ...] | None:
    """The arguments of a function term; None after noting what is wrong with it."""
    declared = scope.domain.function(name.text)
    if declared is None and not scope.loose:
        what = f"function '{short(name)}' is not declared; declare it in :functions"
        scope.faults.add(name, what, name.text, scope.domain.function_names)
    return _check(name, args, declared, scope)


def _check(
    name: Node, args: Sequence[Node], declared: Predicate | Function | None, scope: Scope
) -> tuple[str, ...] | None:
    """Notes every fault of the arguments, also where the predicate itself is unknown."""
    good = declared is not None or scope.loose
    words: list[str] = []
    known: list[tuple[str, ...]] = []
    for arg in args:
        if not isinstance(arg, Atom):
            if good:
                what = f"an argument of '{short(name)}' must be a name, got '{short(arg)}'"
                scope.faults.add(arg, what)
            return None
        word = arg.text
        types = (scope.variables if word[0] == "?" else scope.objects).get(word)
        if types is None and not scope.loose:
            _note_stranger(arg, scope)
            good = False
        words.append(word)
        known.append(types or ())
    if declared is None:
        return tuple(words) if good else None
    parameters = declared.parameters
    if len(words) != len(parameters):
        plural = "argument" if len(parameters) == 1 else "arguments"
        names = " ".join(each.name for each in parameters)
        signature = f" ({names})" if names else ""
        what = f"'{declared.name}' takes {len(parameters)} {plural}{signature}, got {len(words)}"
        scope.faults.add(name, what)
        return None
    for arg, given, parameter in zip(args, known, parameters, strict=True):
        if not scope.fits(given, parameter.types):
            expected, got = " or ".join(parameter.types), " or ".join(given)
            what = f"{parameter.name} of '{declared.name}' must be of type {expected}, "
            scope.faults.add(arg, what + f"'{short(arg)}' is {got}")
            good = False
    return tuple(words) if good else None


def _note_stranger(word: Atom, scope: Scope) -> None:
    name = short(word)
    if not word.text.startswith("?"):
        scope.faults.add(word, f"object '{name}' is not declared", word.text, scope.objects)
    elif scope.place == ":init":
        what = f"variable '{name}' can't stand in :init; name an object"
        scope.faults.add(word, what)
    elif scope.place == "the goal" and not scope.variables:
        what = f"variable '{name}' can't stand in the goal outside a quantifier; name an object"
        scope.faults.add(word, what)
    else:
        owner = "quantified here" if scope.place == "the goal" else "among the parameters"
        scope.faults.add(word, f"variable '{name}' is not {owner}", word.text, scope.variables)
