"""Random small tasks against an exhaustive reference that shares no code with the planner."""

import random
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galley.domain.failure import FailureKind
from galley.domain.pddl_reader import read_domain, read_problem
from galley.planning import GroundAction, Plan, breadth_first, ground, replay, validate
from galley.planning.conflict import smallest_conflict

OBJECTS = ("a", "b", "c")
ARITY = {"p": 0, "q": 1, "r": 1, "s": 2}
VARIABLES = ("?x", "?y")


def facts():
    return [(name, args) for name, n in ARITY.items() for args in product(OBJECTS, repeat=n)]


def make(seed, *, equality=True, repeats=True):
    """A task as plain data: actions as (name, arity, condition, effect), init, goal.

    Conditions and effects are lists of (sign, predicate, terms).
    """
    rng = random.Random(seed)

    def literal(terms, signs):
        name = rng.choice([n for n in ARITY if not ARITY[n] or terms])
        chosen = [rng.choice(terms) for _ in range(ARITY[name])]
        if not repeats and len(set(chosen)) < len(chosen):
            return literal(terms, signs)
        return (rng.choice(signs), name, tuple(chosen))

    actions = []
    for index in range(rng.randint(2, 4)):
        variables = VARIABLES[: rng.randint(0, 2)]
        terms = variables + (("a",) if repeats and rng.random() < 0.2 else ())
        condition = [literal(terms, (True, True, False)) for _ in range(rng.randint(0, 2))]
        if equality and len(variables) == 2 and rng.random() < 0.3:
            condition.append((rng.random() < 0.3, "=", variables))
        effect = [literal(terms, (True, True, False)) for _ in range(rng.randint(1, 3))]
        actions.append((f"act{index}", len(variables), condition, effect))
    init = frozenset(f for f in facts() if rng.random() < 0.3)
    # Goals are pieces of states that random walks lead to: of one state (so there is a plan), of
    # two (so perhaps there is none), or of nothing at all.
    walks = [walk(actions, init, rng) for _ in range(2)]
    wanted = {}
    for state in walks[: rng.choice((1, 2, 2))]:
        changed = sorted(state ^ init) or facts()
        for fact in rng.sample(changed, min(len(changed), rng.randint(1, 3))):
            wanted.setdefault(fact, fact in state)
    if rng.random() < 0.2:
        fact = rng.choice(facts())
        wanted.setdefault(fact, fact not in init)
    return actions, init, [(sign, *fact) for fact, sign in wanted.items()]


def walk(actions, init, rng):
    """The state after up to eight random applicable actions."""
    state = init
    for _ in range(8):
        moves = [m for m in ground_actions(actions) if m[1] <= state and not m[2] & state]
        if moves:
            _, _, _, add, delete = rng.choice(moves)
            state = (state - delete) | add
    return state


def as_pddl(task):
    """The texts of a domain and a problem file, in the dialect that PDDLGym reads too."""
    actions, init, goal = task

    def text(literal):
        sign, name, terms = literal
        plain = f"({' '.join((name, *terms))})"
        return plain if sign else f"(not {plain})"

    def conjunction(literals):
        return f"(and {' '.join(map(text, literals))})"

    lines = ["(define (domain random) (:requirements :typing)", "(:types thing)"]
    if any("a" in terms for _, _, c, e in actions for _, _, terms in c + e):
        lines.append("(:constants a - thing)")
        own = OBJECTS[1:]
    else:
        own = OBJECTS
    declared = (
        f"({name}{''.join(f' ?v{i} - thing' for i in range(n))})" for name, n in ARITY.items()
    )
    lines.append(f"(:predicates {' '.join(declared)})")
    for name, arity, condition, effect in actions:
        parameters = " ".join(f"{v} - thing" for v in VARIABLES[:arity])
        lines.append(
            f"(:action {name} :parameters ({parameters})"
            f" :precondition {conjunction(condition)} :effect {conjunction(effect)})"
        )
    domain = "\n".join(lines) + ")"
    objects = " ".join(f"{name} - thing" for name in own)
    initial = " ".join(text((True, *fact)) for fact in sorted(init))
    problem = (
        f"(define (problem p) (:domain random)\n(:objects {objects})\n"
        f"(:init {initial})\n(:goal {conjunction(goal)}))"
    )
    return domain, problem


def ground_actions(actions):
    """Ground actions as (name, pre, neg, add, delete), where equalities hold."""
    for name, arity, condition, effect in actions:
        for objects in product(OBJECTS, repeat=arity):
            bound = dict(zip(VARIABLES, objects, strict=False))
            lits = [
                [(sign, n, tuple(bound.get(t, t) for t in terms)) for sign, n, terms in part]
                for part in (condition, effect)
            ]
            if any(n == "=" and (t[0] == t[1]) != sign for sign, n, t in lits[0]):
                continue
            pre, neg = (
                {(n, t) for s, n, t in lits[0] if s == sign and n != "="} for sign in (True, False)
            )
            add, delete = ({(n, t) for s, n, t in lits[1] if s == w} for w in (True, False))
            yield (name, *objects), pre, neg, add, delete - add


class Reference:
    """Exhaustive search over sets of facts, with every combination of objects."""

    def __init__(self, task):
        self.actions, self.init, self.goal = task
        self.depth = {self.init: 0}
        frontier = [self.init]
        moves = list(ground_actions(self.actions))
        while frontier:
            reached = []
            for state in frontier:
                for _, pre, neg, add, delete in moves:
                    if pre <= state and not neg & state:
                        successor = (state - delete) | add
                        if successor not in self.depth:
                            self.depth[successor] = self.depth[state] + 1
                            reached.append(successor)
            frontier = reached

    def satisfies(self, state, literals):
        return all(((n, t) in state) == sign for sign, n, t in literals)

    def optimum(self):
        """The length of a shortest plan, or None."""
        return min((d for s, d in self.depth.items() if self.satisfies(s, self.goal)), default=None)

    def smallest_conflict(self):
        """The size of a smallest set of goal literals that no reachable state satisfies."""
        for size in range(1, len(self.goal) + 1):
            for subset in combinations(self.goal, size):
                if not any(self.satisfies(s, subset) for s in self.depth):
                    return size
        return None


SEEDS = st.integers(0, 10**6)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("random")


def read(task, folder):
    domain, problem = as_pddl(task)
    (folder / "d.pddl").write_text(domain)
    (folder / "p.pddl").write_text(problem)
    parsed = read_domain(folder / "d.pddl")
    return parsed, read_problem(folder / "p.pddl", parsed)


def as_literal(text):
    """``(not (q a))`` as (False, "q", ("a",))."""
    words = text.replace("(", " ").replace(")", " ").split()
    sign = words[0] != "not"
    words = words if sign else words[1:]
    return sign, words[0], tuple(words[1:])


@given(SEEDS)
@settings(max_examples=300, deadline=None)
def test_breadth_first_finds_a_shortest_plan_or_proves_there_is_none(folder, seed):
    task = make(seed)
    domain, problem = read(task, folder)
    reference = Reference(task)
    found = breadth_first(ground(domain, problem))
    if isinstance(found, Plan):
        assert len(found.actions) == reference.optimum() == found.cost
        assert validate(domain, problem, found.actions).valid
        return
    assert reference.optimum() is None
    assert found.kind is FailureKind.CONTRADICTION
    if found.certificate["reason"] == "exhausted":
        conflict = [as_literal(each) for each in found.certificate["conflict"]]
        assert set(conflict) <= set(task[2])
        assert found.certificate["smallest"]
        assert len(conflict) == reference.smallest_conflict()
        assert not any(reference.satisfies(s, conflict) for s in reference.depth)
    else:
        assert found.certificate["reason"] == "unreachable"
        check_never(reference, found.certificate)


def check_never(reference, certificate):
    """The induction: no literal of the set holds at first, and each needs another one first."""
    assert certificate["complete"]
    never = {as_literal(each) for each in certificate["never"]}
    assert as_literal(certificate["goal"]) in never
    assert as_literal(certificate["goal"]) in reference.goal
    assert not any(reference.satisfies(reference.init, [each]) for each in never)
    for _, pre, neg, add, delete in ground_actions(reference.actions):
        makes = {(True, *f) for f in add} | {(False, *f) for f in delete}
        needs = {(True, *f) for f in pre} | {(False, *f) for f in neg}
        assert not makes & never or needs & never or pre & neg


@given(SEEDS)
@settings(max_examples=100, deadline=None)
def test_pddlgym_agrees_with_every_plan(folder, seed):
    task = make(seed, equality=False, repeats=False)
    domain, problem = read(task, folder)
    found = breadth_first(ground(domain, problem))
    if isinstance(found, Plan):
        outcome = replay(domain, problem, found.actions)
        assert outcome.status == "agrees", outcome.message


@given(SEEDS, st.integers(0, 5))
@settings(max_examples=150, deadline=None)
def test_validation_agrees_with_the_reference_on_random_walks(folder, seed, length):
    task = make(seed)
    domain, problem = read(task, folder)
    rng = random.Random(seed)
    moves = list(ground_actions(task[0]))
    if not moves:
        return
    state, actions, applicable = task[1], [], True
    for _ in range(length):
        (name, *args), pre, neg, add, delete = rng.choice(moves)
        actions.append((name, tuple(args)))
        applicable = pre <= state and not neg & state
        if not applicable:
            break
        state = (state - delete) | add
    verdict = validate(domain, problem, [GroundAction(*each) for each in actions])
    if applicable:
        assert verdict.step is None
        assert {(f.predicate, f.args) for f in verdict.states[-1]} == state
        goal_holds = all(((n, t) in state) == sign for sign, n, t in task[2])
        assert verdict.valid == goal_holds
    else:
        assert verdict.step == len(actions) - 1
        assert verdict.missing


def test_the_random_tasks_are_of_every_kind():
    """Guards the generator: a test over trivial tasks would prove nothing."""
    references = [Reference(make(seed)) for seed in range(150)]
    optima = [each.optimum() for each in references]
    assert sum(each is None for each in optima) > 15
    assert sum(each is not None and each >= 2 for each in optima) > 30
    assert sum(each is not None and each >= 4 for each in optima) > 2


@given(st.lists(st.frozensets(st.integers(0, 6), min_size=1), max_size=8))
def test_smallest_conflict_against_all_subsets(violations):
    found, smallest = smallest_conflict(violations)
    assert smallest
    assert all(not each.isdisjoint(found) for each in violations)
    for size in range(len(found)):
        for other in combinations(range(7), size):
            assert any(each.isdisjoint(other) for each in violations)


def test_conflict_too_large_to_minimise_is_still_irreducible():
    # Twenty of forty items fit: every set of twenty-one is a smallest conflict.
    rng = random.Random(0)
    violations = {frozenset(rng.sample(range(40), 20)) for _ in range(500)}
    found, smallest = smallest_conflict(violations)
    assert not smallest
    assert all(not each.isdisjoint(found) for each in violations)
    for wish in found:
        assert any(each.isdisjoint(set(found) - {wish}) for each in violations)
