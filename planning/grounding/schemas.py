"""Instantiates action schemas and formulas over the objects of a problem.

Literals in conditions and effects become patterns of argument positions, which are quick to
instantiate. Other formulas are brought into negation normal form, a conjunction of facts, negated
facts and disjunctions, with quantifiers expanded and equality evaluated. Static facts stay in it:
which facts are static is known only after relaxed reachability.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import fsum, prod

from galley.domain.errors import BadInput
from galley.domain.pddl import formula as pddl
from galley.domain.pddl.formula import EQUALITY, Effect, Fact, Formula, Literal, Variable
from galley.domain.pddl.model import ActionSchema, Domain, Problem
from galley.planning.limits import GroundingBudget
from galley.planning.operators import COST_DECIMALS, GroundAction

Pattern = tuple[int | str, ...]  # for each argument a parameter's position, or an object's name
Assignment = Mapping[str, str]  # of objects to variables
Binding = list[str | None]  # one entry for each parameter of the schema; None if unbound


@dataclass(frozen=True, slots=True)
class FactCondition:
    """A condition on ground facts.

    Attributes:
        pre: facts that must be true.
        neg: facts that must be false.
        any_of: disjunctions, of each of which one part must hold.
    """

    pre: tuple[Fact, ...] = ()
    neg: tuple[Fact, ...] = ()
    any_of: tuple[tuple[FactCondition, ...], ...] = ()


TRUE = FactCondition()


class Objects:
    """The objects of a problem by type.

    Attributes:
        budget: counts the combinations of objects.
        of: names of the objects of one of some types, in order of declaration.
    """

    def __init__(self, domain: Domain, problem: Problem, budget: GroundingBudget) -> None:
        self.budget = budget
        self._domain = domain
        self._objects = problem.objects
        self.of = lru_cache(maxsize=None)(self._of)

    def _of(self, types: tuple[str, ...]) -> tuple[str, ...]:
        """The names without the cache of ``of``."""
        return tuple(o.name for o in self._objects if self._domain.is_a(o.type, types))

    def bindings(self, variables: tuple[Variable, ...], outer: Assignment) -> Iterator[Assignment]:
        """``outer`` extended by every binding of ``variables``."""
        names = [variable.name for variable in variables]
        spend = self.budget.spend
        choices = [self.of(variable.types) for variable in variables]
        self.budget.foresee(prod(map(len, choices)))
        for args in product(*choices):
            spend()
            yield {**outer, **dict(zip(names, args, strict=True))}


@dataclass(frozen=True, slots=True)
class FactEffect:
    """Facts added and deleted if a condition holds; a fact in both is added.

    Attributes:
        condition: the condition on the state before the action.
        add: facts that become true.
        delete: facts that become false.
    """

    condition: FactCondition
    add: tuple[Fact, ...]
    delete: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class ActionInstance:
    """A ground action with its condition and effects.

    Attributes:
        action: the action's name and arguments.
        condition: the precondition.
        add: facts that become true in every state.
        delete: facts that become false in every state.
        conditional: effects that depend on the state.
    """

    action: GroundAction
    condition: FactCondition
    add: tuple[Fact, ...]
    delete: tuple[Fact, ...]
    conditional: tuple[FactEffect, ...]


class CompiledSchema:
    """An action schema with its positive preconditions as patterns, for one problem.

    Attributes:
        name: the action's name.
        schema: the schema as parsed.
        domain: the domain.
        problem: the problem.
        objects: the problem's objects by type.
        candidates: names of the objects that each parameter may take, in order of declaration.
        allowed: the same as sets.
        positive: predicate and pattern of each positive literal in the precondition.
    """

    def __init__(
        self, schema: ActionSchema, domain: Domain, problem: Problem, objects: Objects
    ) -> None:
        self.name = schema.name
        self.schema = schema
        self.domain = domain
        self.problem = problem
        self.objects = objects
        self._position = {p.name: i for i, p in enumerate(schema.parameters)}
        self.candidates = [objects.of(p.types) for p in schema.parameters]
        self.allowed = [frozenset(names) for names in self.candidates]
        self.positive = [
            (literal.predicate, tuple(self._position.get(arg, arg) for arg in literal.args))
            for literal in schema.precondition
            if isinstance(literal, Literal) and literal.positive and literal.predicate != EQUALITY
        ]

    def unify(self, pattern: Pattern, args: tuple[str, ...], binding: Binding) -> Binding | None:
        """``binding`` extended so that ``pattern`` equals ``args``; None if there is none."""
        extended = list(binding)
        for item, arg in zip(pattern, args, strict=True):
            if isinstance(item, str):
                if item != arg:
                    return None
            elif extended[item] is None:
                if arg not in self.allowed[item]:
                    return None
                extended[item] = arg
            elif extended[item] != arg:
                return None
        return extended

    def instantiate(self, args: tuple[str, ...]) -> ActionInstance | None:
        """The action for ``args``; None if its precondition contradicts itself."""
        binding = dict(zip(self._position, args, strict=True))
        condition = conjunction(self.schema.precondition, binding, self.objects)
        if condition is None:
            return None
        effects = ground_effects(self.schema.effect, binding, self.objects)
        return ActionInstance(GroundAction(self.name, args), condition, *effects)

    def cost(self, args: tuple[str, ...]) -> float:
        """The action's cost; 1 if the problem has no metric.

        Raises:
            BadInput: the problem gives no value for a function term of the cost.
        """
        if not self.problem.metric:
            return 1.0
        binding = dict(zip(self._position, args, strict=True))
        terms = []
        for term in self.schema.cost:
            if isinstance(term, int | float):
                terms.append(float(term))
                continue
            key = term.ground(binding)
            value = self.problem.values.get(key)
            if value is None:
                action = GroundAction(self.name, args)
                what = f"the cost of {action} needs {key}, which {self.problem.file} does not give"
                raise BadInput.one(self.domain.file, what, term.line, term.column)
            terms.append(value)
        # Rounded, so that 0.1 + 0.2 is 0.3.
        return round(fsum(terms), COST_DECIMALS) if len(terms) > 1 else sum(terms)


def conjunction(
    formulas: Iterable[Formula], binding: Assignment, objects: Objects
) -> FactCondition | None:
    """The conjunction of ``formulas`` under ``binding``; None if it contradicts itself."""
    parts = _conjoin(_normal_form(formula, binding, objects, True) for formula in formulas)
    if isinstance(parts, bool):
        return TRUE if parts else None
    return parts


def ground_effects(
    effects: Iterable[Effect], binding: Assignment, objects: Objects
) -> tuple[tuple[Fact, ...], tuple[Fact, ...], tuple[FactEffect, ...]]:
    """The facts added and deleted in every state, and the conditional effects."""
    add: dict[Fact, None] = {}
    delete: dict[Fact, None] = {}
    conditional: dict[FactCondition, tuple[list[Fact], list[Fact]]] = {}
    for condition, literal, inner in _simple_effects(effects, TRUE, binding, objects):
        fact = literal.ground(inner)
        if condition == TRUE:
            (add if literal.positive else delete)[fact] = None
        else:
            pair = conditional.setdefault(condition, ([], []))
            pair[not literal.positive].append(fact)
    deleted = tuple(fact for fact in delete if fact not in add)
    rest = []
    for condition, (more, less) in conditional.items():
        # A fact that is added unconditionally can be neither deleted nor added here.
        more = [fact for fact in dict.fromkeys(more) if fact not in add]
        less = [fact for fact in dict.fromkeys(less) if fact not in add and fact not in more]
        if more or less:
            rest.append(FactEffect(condition, tuple(more), tuple(less)))
    return tuple(add), deleted, tuple(rest)


def _simple_effects(
    effects: Iterable[Effect],
    condition: FactCondition,
    binding: Assignment,
    objects: Objects,
) -> Iterator[tuple[FactCondition, Literal, Assignment]]:
    """Each literal among ``effects``, with its condition and the binding of its variables.

    Quantifiers are expanded. Effects whose condition contradicts itself are left out.
    """
    for effect in effects:
        if isinstance(effect, Literal):
            yield condition, effect, binding
        elif isinstance(effect, pddl.ForEach):
            for inner in objects.bindings(effect.variables, binding):
                yield from _simple_effects(effect.effects, condition, inner, objects)
        else:
            premise = conjunction(effect.condition, binding, objects)
            both = _conjoin([condition, premise if premise is not None else False])
            if both is not False:
                inner_condition = TRUE if both is True else both
                yield from _simple_effects(effect.effects, inner_condition, binding, objects)


_Part = FactCondition | bool  # a bool if the formula is true or false whatever the state


def _normal_form(formula: Formula, binding: Assignment, objects: Objects, sign: bool) -> _Part:
    """``formula``, or its negation if ``sign`` is False, in negation normal form."""
    if isinstance(formula, Literal):
        fact = formula.ground(binding)
        positive = formula.positive == sign
        if formula.predicate == EQUALITY:
            return (fact.args[0] == fact.args[1]) == positive
        return FactCondition(pre=(fact,)) if positive else FactCondition(neg=(fact,))
    if isinstance(formula, pddl.Not):
        return _normal_form(formula.part, binding, objects, not sign)
    if isinstance(formula, pddl.Imply):
        either = pddl.Or((pddl.Not(formula.premise), formula.conclusion))
        return _normal_form(either, binding, objects, sign)
    if isinstance(formula, pddl.And | pddl.Or):
        parts = (_normal_form(part, binding, objects, sign) for part in formula.parts)
        return (_conjoin if isinstance(formula, pddl.And) == sign else _disjoin)(parts)
    # What is left is Forall or Exists: a conjunction or disjunction over all bindings.
    choices = objects.bindings(formula.variables, binding)
    parts = (_normal_form(formula.part, inner, objects, sign) for inner in choices)
    return (_conjoin if isinstance(formula, pddl.Forall) == sign else _disjoin)(parts)


def _conjoin(parts: Iterable[_Part]) -> _Part:
    """The conjunction of ``parts``, simplified; False if literals contradict each other."""
    pre: dict[Fact, None] = {}
    neg: dict[Fact, None] = {}
    any_of: dict[tuple[FactCondition, ...], None] = {}
    for part in parts:
        if part is False:
            return False
        if part is not True:
            pre.update(dict.fromkeys(part.pre))
            neg.update(dict.fromkeys(part.neg))
            any_of.update(dict.fromkeys(part.any_of))
    if not pre.keys().isdisjoint(neg):  # (near ?from) (not (near ?to)) with ?from = ?to
        return False
    if not pre and not neg and not any_of:
        return True
    return FactCondition(tuple(pre), tuple(neg), tuple(any_of))


def _disjoin(parts: Iterable[_Part]) -> _Part:
    """The disjunction of ``parts``, simplified."""
    choices: dict[FactCondition, None] = {}
    for part in parts:
        if part is True:
            return True
        if part is not False:
            # Flatten nested disjunctions.
            if not part.pre and not part.neg and len(part.any_of) == 1:
                choices.update(dict.fromkeys(part.any_of[0]))
            else:
                choices[part] = None
    if not choices:
        return False
    if len(choices) == 1:
        return next(iter(choices))
    return FactCondition(any_of=(tuple(choices),))
