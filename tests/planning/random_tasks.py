"""Seeded random tasks, small enough for the exhaustive reference, rich enough to be interesting.

A task is made as syntax trees and written as PDDL, so tests can take either. Goals are mostly
pieces of a state that is at least two actions away; the rest are pieces of two states, facts that
nothing makes true, static facts, or random formulas, many of which no plan achieves.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, fields, replace
from itertools import count, product
from pathlib import Path
from tempfile import TemporaryDirectory

from galley.domain.pddl.formula import (
    And,
    Exists,
    Fact,
    Forall,
    ForEach,
    FunctionTerm,
    Imply,
    Literal,
    Not,
    Or,
    Variable,
    When,
)
from galley.domain.pddl.model import (
    ActionSchema,
    Domain,
    Function,
    Object,
    Predicate,
    Problem,
    Type,
)
from galley.domain.pddl.reader import read_task
from galley.planning import ground
from galley.tests.planning.reference import Reference, TooMany


@dataclass(frozen=True)
class Features:
    """What may occur in a task; ``replace(ADL, costs=False)`` switches one thing off."""

    typing: bool = True
    hierarchy: bool = True  # small and big things
    either: bool = True
    constants: bool = True
    equality: bool = True
    negative: bool = True
    disjunctive: bool = True  # or, imply, not of a compound
    quantified: bool = True
    conditional: bool = True
    universal: bool = True  # effects for every object
    repeats: bool = True  # (p ?x ?x)
    hiding: bool = True  # a quantifier takes a name that is in use outside of it
    costs: bool = True


ADL = Features()
STRIPS = Features(**{each.name: each.name == "typing" for each in fields(Features)})


@dataclass(frozen=True)
class RandomTask:
    """A task as trees, and how it is written."""

    domain: Domain
    problem: Problem

    @property
    def domain_text(self):
        d = self.domain
        parts = [f"(define (domain {d.name})", f"(:requirements {' '.join(d.requirements)})"]
        if d.types:
            # A line each: on one line, PDDLGym would take the rest of it for a type's name.
            types = "\n  ".join(f"{each.name} - {each.parents[0]}" for each in d.types)
            parts.append(f"(:types {types})")
        if d.constants:
            parts.append(f"(:constants {_objects(d.constants)})")
        parts.append(f"(:predicates {' '.join(map(_signature, d.predicates))})")
        if d.functions:
            signatures = " ".join(f"{_signature(each)} - number" for each in d.functions)
            parts.append(f"(:functions {signatures})")
        for action in d.actions:
            costs = [f"(increase (total-cost) {_term(each)})" for each in action.cost]
            effect = " ".join([*map(str, action.effect), *costs])
            parts.append(
                f"(:action {action.name} :parameters ({_variables(action.parameters)})\n"
                f"  :precondition (and {' '.join(map(str, action.precondition))})\n"
                f"  :effect (and {effect}))"
            )
        return "\n".join(parts) + ")\n"

    @property
    def problem_text(self):
        p = self.problem
        own = [each for each in p.objects if each not in self.domain.constants]
        values = [f"(= {term} {_term(value)})" for term, value in p.values.items()]
        values += ["(= (total-cost) 0)"] * bool(self.domain.functions)
        metric = "\n(:metric minimize (total-cost))" if p.metric else ""
        return (
            f"(define (problem {p.name}) (:domain {p.domain})\n(:objects {_objects(own)})\n"
            f"(:init {' '.join([*map(str, p.init), *values])})\n"
            f"(:goal (and {' '.join(map(str, p.goal))})){metric})\n"
        )

    def write(self, folder):
        """Writes ``d.pddl`` and ``p.pddl`` and returns their paths."""
        paths = folder / "d.pddl", folder / "p.pddl"
        paths[0].write_text(self.domain_text)
        paths[1].write_text(self.problem_text)
        return paths

    def __str__(self):
        return self.domain_text + self.problem_text


def make(seed, features=ADL):
    """The random task of that number; the same for ever, as far as this file doesn't change."""
    for attempt in count():
        rng = random.Random(f"{seed} {attempt}")
        draft = _Draft(rng, features)
        task = draft.task()
        reference = Reference(task.domain, task.problem, state_limit=300)
        try:
            deepest = max(reference.depth.values())
        except TooMany:
            continue
        if deepest < 2 and rng.random() < 0.9:  # some tasks without much to do are kept
            continue
        return replace(task, problem=replace(task.problem, goal=draft.goal(reference)))
    raise AssertionError


class _Draft:
    """The parts of one task; names and their types are in reach of every method."""

    def __init__(self, rng, features):
        self.rng, self.has = rng, features
        nested = features.typing and features.hierarchy and rng.random() < 0.8
        self.types = ["thing", "small", "big"] if nested else ["thing"] if features.typing else []
        self.above = {"thing": {"thing"}, "small": {"small", "thing"}, "big": {"big", "thing"}}
        self.objects = {
            n: rng.choice(self.types or ["object"]) for n in "abcd"[: rng.randint(2, 4)]
        }
        self.constants = [n for n in self.objects if features.constants and rng.random() < 0.15]
        arities = {"p": 0, "q": 1, "r": 1, "s": 2, "fixed": 1, "link": 2}
        kept = [n for n in arities if n in "pqs" or rng.random() < 0.5]
        self.predicates = {n: [self.kind() for _ in range(arities[n])] for n in kept}
        self.static = {"fixed", "link"}

    def kind(self):
        """Types of a variable, as a tuple."""
        if not self.types:
            return ("object",)
        if self.has.either and len(self.types) > 1 and self.rng.random() < 0.15:
            return ("small", "big")
        return (self.rng.choice(["thing", *self.types]),)

    def fits(self, types, allowed):
        known = self.above
        return allowed == ("object",) or all(known[each] & {*allowed} for each in types)

    def literal(self, scope, *, changing=False, sign=None):
        """A literal over the names of ``scope``, which maps them to their types."""
        rng = self.rng
        names = [n for n in self.predicates if not (changing and n in self.static)]
        while True:
            name = rng.choice([n for n in names for _ in range(2 if self.predicates[n] else 1)])
            args = []
            for allowed in self.predicates[name]:
                fitting = [n for n, types in scope.items() if self.fits(types, allowed)]
                if not self.has.repeats:
                    fitting = [n for n in fitting if n not in args]
                args += rng.sample(fitting, min(1, len(fitting)))
            if len(args) == len(self.predicates[name]):
                break
        if sign is None:
            sign = not self.has.negative or rng.random() < 0.7
        return Literal(name, tuple(args), sign)

    def variables(self, scope, most=2):
        """New variables, and the scope with them."""
        found = []
        taken = [each for each in scope if each.startswith("?")]
        for _ in range(self.rng.randint(1, most)):
            name = f"?v{len(scope)}{len(found)}"
            if self.has.hiding and taken and self.rng.random() < 0.1:
                name = taken.pop()
            found.append(Variable(name, self.kind()))
        return tuple(found), scope | {each.name: each.types for each in found}

    def formula(self, scope, depth=2):
        rng, has = self.rng, self.has
        kinds = ["literal"] * 4
        if has.equality and len(scope) > 1:
            kinds.append("equality")
        if depth and has.disjunctive:
            kinds += ["or", "or", "imply", "not"]
        if depth and has.quantified:
            kinds += ["exists", "forall"] * 2
        kind = rng.choice(kinds)
        if kind == "literal":
            return self.literal(scope)
        if kind == "equality":
            sign = not has.negative or rng.random() < 0.4
            return Literal("=", tuple(rng.sample(sorted(scope), 2)), sign)
        if kind in ("exists", "forall"):
            variables, inner = self.variables(scope)
            part = self.formula(inner, depth - 1)
            if has.disjunctive and rng.random() < 0.5:
                other = self.formula(inner, depth - 1)
                part = And((part, other)) if kind == "exists" else Imply(part, other)
            return (Exists if kind == "exists" else Forall)(variables, part)
        parts = tuple(self.formula(scope, depth - 1) for _ in range(2))
        if kind == "not":
            return Not(rng.choice((And, Or))(parts))
        return Imply(*parts) if kind == "imply" else Or(parts)

    def formulas(self, scope, most):
        found = [self.formula(scope) for _ in range(self.rng.randint(0, most))]
        return tuple(dict.fromkeys(found))

    def effects(self, scope, most, depth=2):
        """At least one effect."""
        found = []
        for _ in range(self.rng.randint(1, most)):
            draw = self.rng.random()
            if depth and self.has.conditional and draw < 0.25:
                condition = self.formulas(scope, 2) or (self.literal(scope),)
                found.append(When(condition, self.effects(scope, 2, 0)))
            elif depth and self.has.universal and draw < 0.4:
                variables, inner = self.variables(scope, 1)
                found.append(ForEach(variables, self.effects(inner, 2, depth - 1)))
            else:
                sign = self.rng.random() < 0.65
                found.append(self.literal(scope, changing=True, sign=sign))
        return tuple(dict.fromkeys(found))

    def action(self, index):
        rng = self.rng
        parameters = tuple(Variable(f"?x{i}", self.kind()) for i in range(rng.choice((0, 1, 1, 2))))
        scope = {n: (self.objects[n],) for n in self.constants}
        scope |= {each.name: each.types for each in parameters}
        cost = ()
        if self.has.costs:
            terms = [0, 1, rng.randint(2, 5)]
            terms += [FunctionTerm("weight", (each.name,)) for each in parameters]
            if len(parameters) == 2:
                terms += [FunctionTerm("dist", tuple(e.name for e in parameters))] * 2
            cost = (rng.choice(terms),) if rng.random() < 0.85 else ()
        condition = self.formulas(scope, 2)
        return ActionSchema(f"act{index}", parameters, condition, self.effects(scope, 3), cost)

    def facts(self):
        for name, kinds in self.predicates.items():
            fitting = ([o for o, t in self.objects.items() if self.fits((t,), k)] for k in kinds)
            yield from (Fact(name, args) for args in product(*fitting))

    def task(self):
        """Everything but the goal."""
        rng, anything = self.rng, ("thing",) if self.types else ("object",)
        objects = {n: Object(n, t, "random", 0, 0) for n, t in self.objects.items()}
        constants = tuple(objects.pop(n) for n in self.constants)
        functions, values = (), {}
        if self.has.costs:
            pair = (Variable("?a", anything), Variable("?b", anything))
            functions = (
                Function("total-cost", ()),
                Function("weight", pair[:1]),
                Function("dist", pair),
            )
            for function in functions[1:]:
                for args in product(self.objects, repeat=len(function.parameters)):
                    values[Fact(function.name, args)] = float(rng.randint(0, 4))
        domain = Domain(
            "random",
            "random",
            _requirements(self.has),
            tuple(Type(n, ("object" if n == "thing" else "thing",)) for n in self.types),
            constants,
            tuple(
                Predicate(n, tuple(Variable(f"?a{i}", k) for i, k in enumerate(kinds)))
                for n, kinds in self.predicates.items()
            ),
            tuple(self.action(i) for i in range(rng.randint(2, 5))),
            functions,
        )
        init = tuple(fact for fact in self.facts() if rng.random() < 0.3)
        everything = constants + tuple(objects.values())
        metric = self.has.costs and rng.random() < 0.9
        problem = Problem("p", "random", "random", everything, init, (), (), values, metric)
        return RandomTask(domain, problem)

    def goal(self, reference):
        """Formulas, most often achievable and not at once."""
        rng = self.rng
        depth = reference.depth
        far = [s for s in depth if depth[s] >= 2] or list(depth)
        deepest = [s for s in far if depth[s] == max(depth.values())]
        mode = rng.choice(["one"] * 6 + ["two", "static", "random", "never"])
        chosen = [rng.choice(rng.choice((far, deepest))) for _ in range(2 if mode == "two" else 1)]
        wanted = {}
        for state in chosen:
            changed = sorted(
                state ^ reference.init if self.has.negative else state - reference.init
            )
            for fact in rng.sample(changed, min(len(changed), rng.randint(1, 3))):
                wanted.setdefault(fact, fact in state)
        static = [fact for fact in self.facts() if fact.predicate in self.static]
        if mode == "static" and static:
            wanted[rng.choice(static)] = True
        if mode == "random":
            wanted.setdefault(rng.choice(list(self.facts()) or [Fact("p", ())]), True)
        never = [fact for fact in self.facts() if not any(fact in state for state in depth)]
        if mode == "never" and never:
            wanted[rng.choice(never)] = True
        found = [Literal(*fact, sign) for fact, sign in wanted.items()]
        if self.has.disjunctive or self.has.quantified:
            scope = {name: (kind,) for name, kind in self.objects.items()}
            formulas = [each for each in (self.formula(scope) for _ in range(12))
                        if not isinstance(each, Literal)]  # fmt: skip
            new = [g for g in formulas if reference.satisfies(chosen[0], g)
                   and not reference.satisfies(reference.init, g)]  # fmt: skip
            if mode == "random":
                new = formulas
            if new and rng.random() < 0.6:
                found = [*rng.sample(found, min(len(found), rng.randint(0, 1))), new[0]]
        return tuple(dict.fromkeys(found))


def _requirements(has):
    names = [":strips"]
    names += [":typing"] * has.typing + [":equality"] * has.equality
    names += [":negative-preconditions"] * has.negative
    names += [":disjunctive-preconditions"] * has.disjunctive
    names += [":existential-preconditions", ":universal-preconditions"] * has.quantified
    names += [":conditional-effects"] * (has.conditional or has.universal)
    return (*names, *[":action-costs"] * has.costs)


def _objects(objects):
    return " ".join(
        each.name if each.type == "object" else f"{each.name} - {each.type}" for each in objects
    )


def _variables(variables):
    words = []
    for each in variables:
        words.append(each.name)
        if each.types != ("object",):
            kind = each.types[0] if len(each.types) == 1 else f"(either {' '.join(each.types)})"
            words += ["-", kind]
    return " ".join(words)


def _signature(declared):
    return f"({' '.join(filter(None, (declared.name, _variables(declared.parameters))))})"


def _term(value):
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def task_of(domain_text, problem_text):
    """The ground task of two texts."""
    with TemporaryDirectory() as folder:
        paths = Path(folder, "d.pddl"), Path(folder, "p.pddl")
        for path, text in zip(paths, (domain_text, problem_text), strict=True):
            path.write_text(text)
        return ground(*read_task(*paths))


def ground_case(case):
    """The ground task of a ``bench.planning.tasks.Case``."""
    return task_of(case.domain, case.problem)
