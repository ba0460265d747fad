"""The delete relaxation of a task, and the FF heuristic.

A proposition is a fact, a negated fact that some condition needs, or a disjunction. A disjunction
is achieved by auxiliary operators of cost 0, one for each part. A conditional effect becomes an
operator that also needs its action's precondition.

The FF heuristic is the length of a relaxed plan. The supporter of each proposition is its cheapest
achiever by h_add, and the plan is extracted backwards from the goal (Hoffmann and Nebel, "The FF
planning system", 2001; Keyder and Geffner, "Heuristics for planning with action costs revisited",
2008). Its actions that are applicable are the preferred operators.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from galley.planning.operators import Condition, bits_of
from galley.planning.successors import StateSpace

ALWAYS = 0  # the proposition that is always true
AUXILIARY = -1  # owner of auxiliary operators

Propositions = tuple[int, ...]
_UNREACHED = 1 << 60


@dataclass(frozen=True, slots=True)
class RelaxedOperator:
    """The unconditional part of an action, a conditional effect, or an auxiliary operator.

    Attributes:
        pre: preconditions; never empty.
        add: add effects.
        owner: index of its action in ``space.operators``, or AUXILIARY.
    """

    pre: Propositions
    add: Propositions
    owner: int


class RelaxedTask:
    """The relaxed task of a state space.

    Attributes:
        count: number of propositions, which are 0 to ``count - 1``.
        operators: the relaxed operators; those of one action are adjacent.
        goal: the propositions of the goal.
    """

    def __init__(self, space: StateSpace) -> None:
        self.count = 1
        self._facts = space.facts
        self.operators: list[RelaxedOperator] = []
        self._positive: dict[int, int] = {}  # proposition of each fact that must hold somewhere
        self._negative: dict[int, int] = {}  # of each fact that must be false somewhere
        self._choices: dict[tuple[Condition, ...], int] = {}
        self.goal = self._needs(space.task.goal)
        drafts = []
        for index, operator in enumerate(space.operators):
            pre = self._needs(operator.condition)
            drafts.append((pre, operator.add, operator.delete, index))
            for effect in operator.conditional:
                if (effect.add | effect.delete) & self._facts:
                    both = tuple(sorted({*pre, *self._needs(effect.condition)}))
                    # Adding wins over deleting.
                    delete = effect.delete & ~operator.add
                    drafts.append((both, effect.add, delete, index))
        self._needed, self._excluded = sum(self._positive), sum(self._negative)
        for pre, add, delete, owner in drafts:
            added = [each for each in self._made_true(add, delete & ~add) if each not in pre]
            if added:
                self.operators.append(RelaxedOperator(pre, tuple(added), owner))

    def propositions(self, state: int) -> list[int]:
        """The propositions true in a state, without disjunctions."""
        return [ALWAYS, *self._made_true(state, ~state)]

    def _made_true(self, true: int, false: int) -> list[int]:
        """The propositions that hold once some facts are true and others false."""
        made = [self._positive[fact] for fact in bits_of(true & self._needed)]
        return made + [self._negative[fact] for fact in bits_of(false & self._excluded)]

    def _needs(self, condition: Condition) -> Propositions:
        needs = [self._literal(self._positive, fact) for fact in bits_of(condition.pre)]
        needs += [self._literal(self._negative, fact) for fact in bits_of(condition.neg)]
        needs += [self._choice(choice) for choice in condition.any_of]
        return tuple(sorted(set(needs))) or (ALWAYS,)

    def _literal(self, propositions: dict[int, int], fact: int) -> int:
        if not fact & self._facts:
            return ALWAYS  # states don't have it; assuming it holds is admissible
        if fact not in propositions:
            propositions[fact] = self._new()
        return propositions[fact]

    def _choice(self, choice: tuple[Condition, ...]) -> int:
        if choice not in self._choices:
            added = self._choices[choice] = self._new()
            for part in choice:
                self.operators.append(RelaxedOperator(self._needs(part), (added,), AUXILIARY))
        return self._choices[choice]

    def _new(self) -> int:
        self.count += 1
        return self.count - 1


class FFHeuristic:
    """The FF heuristic: relaxed plans of states."""

    def __init__(self, relaxed: RelaxedTask) -> None:
        self.relaxed = relaxed
        self._goal = len(relaxed.operators)  # an operator whose precondition is the goal
        self._pre = [*(each.pre for each in relaxed.operators), relaxed.goal]
        self._add = [*(each.add for each in relaxed.operators), ()]
        self._owner = [each.owner for each in relaxed.operators]
        self._readers: list[list[int]] = [[] for _ in range(relaxed.count)]
        for index, pre in enumerate(self._pre):
            for proposition in pre:
                self._readers[proposition].append(index)
        self._cost = [0 if o == AUXILIARY else 1 for o in self._owner]
        self._cost.append(0)
        self._missing = [len(pre) for pre in self._pre]
        self._none_reached = [_UNREACHED] * relaxed.count
        self._no_support = [-1] * relaxed.count

    def plan(self, state: int) -> tuple[set[int], set[int]] | None:
        """The actions of a relaxed plan, and those applicable in ``state``: preferred operators.

        None for a dead end, from which the goal is unreachable even in the relaxation.
        """
        missing, reached_at = self._missing.copy(), self._cost.copy()
        value, support = self._none_reached.copy(), self._no_support.copy()
        adds, readers = self._add, self._readers
        count, goal = self.relaxed.count, self._goal
        true = self.relaxed.propositions(state)
        for proposition in true:
            value[proposition] = 0
        queue: list[int] = []  # cost * count + proposition: integers compare fastest
        for proposition in true:
            for operator in readers[proposition]:
                missing[operator] -= 1
                if not missing[operator]:
                    total = reached_at[operator]
                    for added in adds[operator]:
                        if total < value[added]:
                            value[added] = total
                            support[added] = operator
                            queue.append(total * count + added)
        heapify(queue)
        while missing[goal]:
            if not queue:
                return None
            cost, proposition = divmod(heappop(queue), count)
            if cost > value[proposition]:
                continue
            for operator in readers[proposition]:
                reached_at[operator] += cost
                missing[operator] -= 1
                if not missing[operator]:
                    total = reached_at[operator]
                    for added in adds[operator]:
                        if total < value[added]:
                            value[added] = total
                            support[added] = operator
                            heappush(queue, total * count + added)
        return self._collect(support, reached_at)

    def _collect(self, support: list[int], reached_at: list[int]) -> tuple[set[int], set[int]]:
        """Extracts the plan backwards from the goal; ``support`` is -1 for true propositions."""
        pre, owner, cost = self._pre, self._owner, self._cost
        actions: set[int] = set()
        preferred: set[int] = set()
        waiting = list(pre[self._goal])
        for proposition in waiting:  # grows as it runs
            operator = support[proposition]
            if operator < 0:
                continue
            support[proposition] = -1  # collected
            waiting += pre[operator]
            if owner[operator] != AUXILIARY:
                actions.add(owner[operator])
                if reached_at[operator] == cost[operator]:
                    preferred.add(owner[operator])
        return actions, preferred
