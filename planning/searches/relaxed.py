"""The delete relaxation of a task, and the FF heuristic.

A proposition is a fact, a negated fact that some condition needs, or a disjunction. A disjunction
is achieved by auxiliary operators of cost 0, one for each part. A conditional effect becomes an
operator that also needs its action's precondition. Sets of propositions are bit masks.

The FF heuristic is the length of a relaxed plan. The supporter of each proposition is its cheapest
achiever by h_add, and the plan is extracted backwards from the goal (Hoffmann and Nebel, "The FF
planning system", 2001; Keyder and Geffner, "Heuristics for planning with action costs revisited",
2008). Its actions that are applicable are the preferred operators.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import NamedTuple

from galley.planning.operators import Condition, bits_of
from galley.planning.successors import StateSpace

AUXILIARY = -1  # owner of auxiliary operators

_UNREACHED = 1 << 60  # h_add of a proposition that is not reached yet


class RelaxedOperator(NamedTuple):
    """The unconditional part of an action, a conditional effect, or an auxiliary operator.

    Attributes:
        pre: preconditions; never empty.
        add: add effects.
        owner: index of its action in ``space.operators``, or AUXILIARY.
    """

    pre: int
    add: int
    owner: int


class RelaxedTask:
    """The relaxed task of a state space.

    Attributes:
        read: the propositions that some operator or the goal needs; others are left out.
        operators: the relaxed operators; those of one action are adjacent.
        goal: the propositions of the goal.
    """

    def __init__(self, space: StateSpace) -> None:
        self._facts = space.facts
        # The bits of facts, of negated facts, of what is always true, and of disjunctions.
        self._negated = len(space.task.facts)
        self._always = 1 << 2 * self._negated
        self._choices: dict[tuple[Condition, ...], int] = {}
        operators: list[RelaxedOperator] = []
        self.goal = self._needs(space.task.goal, operators)
        for index, operator in enumerate(space.operators):
            pre = self._needs(operator.condition, operators)
            effects = [(pre, operator.add, operator.delete)]
            for effect in operator.conditional:
                # A fact that the action adds stays true, even if this effect deletes it.
                both = pre | self._needs(effect.condition, operators)
                effects.append((both, effect.add, effect.delete & ~operator.add))
            for needed, add, delete in effects:
                added = self.propositions(add, delete & ~add) & ~needed
                operators.append(RelaxedOperator(needed, added, index))
        self.read = self.goal
        for relaxed in operators:
            self.read |= relaxed.pre
        self.operators = [
            RelaxedOperator(pre, add & self.read, owner)
            for pre, add, owner in operators
            if add & self.read
        ]

    def true_in(self, state: int) -> int:
        """The propositions true in a state, without disjunctions."""
        return (self.propositions(state, ~state) | self._always) & self.read

    def propositions(self, true: int, false: int) -> int:
        """The propositions "fact is true" for the facts ``true``, "fact is false" for ``false``."""
        return true & self._facts | (false & self._facts) << self._negated

    def _needs(self, condition: Condition, operators: list[RelaxedOperator]) -> int:
        """The propositions of a condition; appends auxiliary operators for its disjunctions.

        Facts that states don't have are left out: assuming that they hold is admissible.
        """
        needs = self.propositions(condition.pre, condition.neg)
        for choice in condition.any_of:
            # A new disjunction: a proposition of its own, which each of its parts achieves.
            if choice not in self._choices:
                self._choices[choice] = self._always << 1 + len(self._choices)
                for part in choice:
                    pre = self._needs(part, operators)
                    operators.append(RelaxedOperator(pre, self._choices[choice], AUXILIARY))
            needs |= self._choices[choice]
        return needs or self._always


class FFHeuristic:
    """The FF heuristic: computes a relaxed plan from a state, whose length is the h-value.

    Propositions are numbered from 0, and operators as in ``relaxed.operators``. One more operator
    stands for the goal: its precondition is the goal and it adds nothing.
    """

    def __init__(self, relaxed: RelaxedTask) -> None:
        self._relaxed = relaxed
        self._number = {bit: i for i, bit in enumerate(bits_of(relaxed.read))}
        operators = [*relaxed.operators, RelaxedOperator(relaxed.goal, 0, AUXILIARY)]
        self._goal = len(relaxed.operators)
        self._pre = [self._numbers(operator.pre) for operator in operators]
        self._add = [self._numbers(operator.add) for operator in operators]
        self._owner = [operator.owner for operator in operators]
        self._readers: list[list[int]] = [[] for _ in self._number]
        for index, pre in enumerate(self._pre):
            for proposition in pre:
                self._readers[proposition].append(index)
        self._cost = [0 if o == AUXILIARY else 1 for o in self._owner]
        self._missing = [len(pre) for pre in self._pre]

    def _numbers(self, propositions: int) -> list[int]:
        """The numbers of the propositions in a mask."""
        return [self._number[bit] for bit in bits_of(propositions)]

    def plan(self, state: int) -> tuple[set[int], set[int]] | None:
        """The actions of a relaxed plan, and those applicable in ``state``: preferred operators.

        Computes h_add of the propositions by Dijkstra's algorithm until the goal's precondition is
        reached: an operator costs its own cost and the sum over its preconditions.

        Returns:
            Both as indices of ``space.operators``. None for a dead end, from which the goal is
            unreachable even in the relaxation.
        """
        count, goal = len(self._number), self._goal
        missing, reached_at = self._missing.copy(), self._cost.copy()
        value, support = [_UNREACHED] * count, [-1] * count
        # Each entry is cost * count + proposition: one integer compares faster than a pair.
        queue = self._numbers(self._relaxed.true_in(state))
        for proposition in queue:
            value[proposition] = 0
        heapify(queue)
        while missing[goal]:
            if not queue:
                return None
            cost, proposition = divmod(heappop(queue), count)
            # An older entry: the proposition was reached more cheaply since it was pushed.
            if cost > value[proposition]:
                continue
            for operator in self._readers[proposition]:
                reached_at[operator] += cost
                missing[operator] -= 1
                # Its last precondition is reached, so its total cost is known.
                if not missing[operator]:
                    total = reached_at[operator]
                    for added in self._add[operator]:
                        if total < value[added]:
                            value[added] = total
                            support[added] = operator
                            heappush(queue, total * count + added)
        return self._collect(support, reached_at)

    def _collect(self, support: list[int], reached_at: list[int]) -> tuple[set[int], set[int]]:
        """Extracts the plan backwards from the goal; ``support`` is -1 for true propositions."""
        actions: set[int] = set()
        preferred: set[int] = set()
        waiting = list(self._pre[self._goal])
        for proposition in waiting:  # grows as it runs
            operator = support[proposition]
            # True in the state, or collected before.
            if operator < 0:
                continue
            support[proposition] = -1
            waiting += self._pre[operator]
            owner = self._owner[operator]
            if owner != AUXILIARY:
                actions.add(owner)
                # Its preconditions cost nothing, so they hold in the state: it is applicable.
                if reached_at[operator] == self._cost[operator]:
                    preferred.add(owner)
        return actions, preferred
