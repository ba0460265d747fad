"""An exhaustive, simple reference planner for small tasks.

It shares nothing with the planner or the validator. Quantifiers are expanded over the objects once,
and what is left are nested tuples of facts, read off against sets of facts:

    ("fact", f)   ("not", c)   ("all", [c, ...])   ("any", [c, ...])   True   False
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from galley.domain.pddl import formula as f
from galley.planning import GroundAction


class TooMany(Exception):
    """The task has more states or plans than the reference's limit."""


@dataclass(frozen=True)
class Move:
    """A ground action: its condition, its effects as (condition, added, deleted), its cost."""

    name: str
    args: tuple[str, ...]
    needs: object
    effects: tuple[tuple[object, frozenset, frozenset], ...]
    cost: float

    @property
    def label(self):
        return (self.name, *self.args)

    def __str__(self):
        return f"({' '.join(self.label)})"


def true_in(condition, state):
    """Whether an expanded condition holds in a set of facts."""
    if condition is True or condition is False:
        return condition
    kind, body = condition
    if kind == "fact":
        return body in state
    if kind == "not":
        return not true_in(body, state)
    values = (true_in(each, state) for each in body)
    return all(values) if kind == "all" else any(values)


def joined(kind, parts):
    """``("all", parts)`` or ``("any", parts)``, simplified."""
    neutral = kind == "all"
    parts = [each for each in parts if each is not neutral]
    if any(each is not neutral for each in parts if isinstance(each, bool)):
        return not neutral
    return (kind, parts) if parts else neutral


def negated(condition):
    return not condition if isinstance(condition, bool) else ("not", condition)


class Reference:
    """The whole state space of a lifted task.

    ``depth`` maps each reachable state to its distance in actions, ``distance`` to its least cost.
    Actions are named by tuples: ``("pick", "sugar", "h1")``.
    """

    def __init__(self, domain, problem, *, forbidden=(), state_limit=20_000):
        self.domain, self.problem, self.state_limit = domain, problem, state_limit
        barred = {(each.name, *each.args) for each in forbidden}
        self.parents = {each.name: set(each.parents) for each in domain.types}
        self.init = frozenset(problem.init)
        self.goal = self.expand(f.And(tuple(problem.goal)), {})
        self.moves = [m for a in domain.actions for m in self._moves(a) if m.label not in barred]
        self.by_label = {move.label: move for move in self.moves}

    # --- what formulas mean ----------------------------------------------------------------

    def objects(self, types):
        """Names of the objects of one of ``types``."""
        return [o.name for o in self.problem.objects if self._kinds(o.type) & {*types}]

    def _kinds(self, name):
        above = {name, "object"}
        for parent in self.parents.get(name, ()):
            above |= self._kinds(parent)
        return above

    def choices(self, variables, binding):
        for objects in product(*(self.objects(v.types) for v in variables)):
            yield binding | {v.name: o for v, o in zip(variables, objects, strict=True)}

    def expand(self, part, binding):
        """A formula with objects for its variables, as nested tuples of facts."""
        if isinstance(part, f.Literal):
            args = tuple(binding.get(each, each) for each in part.args)
            if part.predicate == "=":
                return (args[0] == args[1]) == part.positive
            fact = ("fact", f.Fact(part.predicate, args))
            return fact if part.positive else ("not", fact)
        if isinstance(part, f.And):
            return joined("all", [self.expand(each, binding) for each in part.parts])
        if isinstance(part, f.Or):
            return joined("any", [self.expand(each, binding) for each in part.parts])
        if isinstance(part, f.Not):
            return negated(self.expand(part.part, binding))
        if isinstance(part, f.Imply):
            premise, conclusion = (self.expand(p, binding) for p in (part.premise, part.conclusion))
            return joined("any", [negated(premise), conclusion])
        kind = "all" if isinstance(part, f.Forall) else "any"
        inner = self.choices(part.variables, binding)
        return joined(kind, [self.expand(part.part, each) for each in inner])

    def _moves(self, action):
        for binding in self.choices(action.parameters, {}):
            cost = self._cost(action, binding)
            if cost is not None:
                needs = self.expand(f.And(tuple(action.precondition)), binding)
                effects = tuple(self._effects(action.effect, binding, True))
                args = tuple(binding[each.name] for each in action.parameters)
                yield Move(action.name, args, needs, effects, cost)

    def _effects(self, effects, binding, condition):
        for effect in effects:
            if isinstance(effect, f.Literal):
                fact = frozenset([effect.ground(binding)])
                none = frozenset()
                yield (condition, fact, none) if effect.positive else (condition, none, fact)
            elif isinstance(effect, f.When):
                own = self.expand(f.And(tuple(effect.condition)), binding)
                yield from self._effects(effect.effects, binding, joined("all", [condition, own]))
            else:
                for each in self.choices(effect.variables, binding):
                    yield from self._effects(effect.effects, each, condition)

    def _cost(self, action, binding):
        """None where a value is missing: the action has no cost, so it can't be done."""
        if not self.problem.metric:
            return 1
        total = 0
        for term in action.cost:
            if isinstance(term, f.FunctionTerm):
                term = self.problem.values.get(term.ground(binding))
                if term is None:
                    return None
            total += term
        return total

    # --- states ----------------------------------------------------------------------------

    def step(self, state, move):
        """The state after ``move`` (a Move, or its label), or None where it can't be done."""
        if not isinstance(move, Move):
            move = self.by_label.get(tuple(move))
            if move is None:
                return None
        if not true_in(move.needs, state):
            return None
        happening = [effect for effect in move.effects if true_in(effect[0], state)]
        for _, _, deleted in happening:
            state = state - deleted
        for _, added, _ in happening:
            state = state | added
        return state

    def satisfies(self, state, *formulas):
        """Whether closed formulas hold in ``state``."""
        return all(true_in(self.expand(each, {}), state) for each in formulas)

    def is_goal(self, state):
        return true_in(self.goal, state)

    @cached_property
    def edges(self):
        """Of each reachable state, the (move, successor) pairs; states in breadth-first order."""
        found = {self.init: None}
        queue = [self.init]
        for state in queue:
            steps = [(move, self.step(state, move)) for move in self.moves]
            found[state] = [(move, after) for move, after in steps if after is not None]
            for _, after in found[state]:
                if after not in found:
                    found[after] = None
                    queue.append(after)
            if len(found) > self.state_limit:
                raise TooMany(f"more than {self.state_limit} states")
        return found

    @cached_property
    def depth(self):
        found = {self.init: 0}
        for state in self.edges:  # breadth first, so a state comes after the one it hangs on
            for _, after in self.edges[state]:
                found.setdefault(after, found[state] + 1)
        return found

    @cached_property
    def distance(self):
        """Dijkstra's algorithm."""
        graph = {state: [(m.cost, after) for m, after in self.edges[state]] for state in self.edges}
        return self._dijkstra(graph, [self.init])

    @cached_property
    def to_go(self):
        """The least cost from each state to a goal state, if one is reachable."""
        back = {state: [] for state in self.edges}
        for state, steps in self.edges.items():
            for move, after in steps:
                back[after].append((move.cost, state))
        return self._dijkstra(back, [state for state in self.edges if self.is_goal(state)])

    @staticmethod
    def _dijkstra(graph, sources):
        found = {}
        heap = [(0, i, state) for i, state in enumerate(sources)]
        ticket = len(heap)
        while heap:
            cost, _, state = heapq.heappop(heap)
            if state in found:
                continue
            found[state] = cost
            for price, after in graph[state]:
                ticket += 1
                heapq.heappush(heap, (cost + price, ticket, after))
        return found

    # --- answers ---------------------------------------------------------------------------

    @property
    def states(self):
        """The number of reachable states."""
        return len(self.edges)

    def shortest(self):
        """The least number of actions, or None."""
        return min((d for s, d in self.depth.items() if self.is_goal(s)), default=None)

    def cheapest(self):
        """The least cost, or None."""
        return min((d for s, d in self.distance.items() if self.is_goal(s)), default=None)

    def reachable(self, *formulas):
        """Whether some reachable state satisfies all of ``formulas``."""
        wanted = [self.expand(each, {}) for each in formulas]
        return any(all(true_in(each, state) for each in wanted) for state in self.edges)

    def plans(self, max_cost, *, limit=10_000, through_goals=True):
        """All plans of at most ``max_cost`` that visit no state twice, the cheapest first.

        Each is (cost, labels). Plans of one cost are in no particular order. Without
        ``through_goals`` a plan stops at the first goal state it comes to.
        """
        found = []
        slack = 1e-9

        def extend(state, cost, labels, visited):
            if self.is_goal(state):
                found.append((cost, tuple(labels)))
                if len(found) > limit:
                    raise TooMany(f"more than {limit} plans")
                if not through_goals:
                    return
            for move, after in self.edges[state]:
                total = cost + move.cost
                left = self.to_go.get(after)
                if after in visited or left is None or total + left > max_cost + slack:
                    continue
                extend(after, total, [*labels, move.label], visited | {after})

        if self.cheapest() is not None:
            extend(self.init, 0, [], {self.init})
        return sorted(found, key=lambda plan: plan[0])


def mask_of(task, facts):
    """The facts that have a bit in a ground task, as a mask."""
    return sum(1 << place for place, fact in enumerate(task.facts) if fact in facts)


def facts_of(task, mask):
    """The facts of a mask."""
    return frozenset(fact for place, fact in enumerate(task.facts) if mask >> place & 1)


def action(text):
    """``(pick sugar burner h1)`` as a ground action."""
    name, *args = text.strip("()").split()
    return GroundAction(name, tuple(args))
