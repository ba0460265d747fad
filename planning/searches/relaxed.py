"""The delete relaxation of a task, where what is once true stays true; and plans of it.

A proposition is a fact, or "not fact" where some condition wants a fact not to hold, or a
disjunction. A disjunction is made true by free auxiliary operators, one for each of its parts, and
a conditional effect is an operator of its own that also needs what its action needs.

The FF heuristic is the length of a relaxed plan, found without search. Each proposition gets the
cheapest operator that makes it true, as far as the sum of the costs of its preconditions tells
(h_add), and the plan is collected backwards from the goal (Hoffmann and Nebel, "The FF planning
system", 2001; with h_add's choices: Keyder and Geffner, "Heuristics for planning with action costs
revisited", 2008). The actions of the plan that can be done at once are worth trying first.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from galley.planning.operators import Condition, bits_of
from galley.planning.states.space import StateSpace

ALWAYS = 0  # the proposition that holds in every state
AUXILIARY = -1  # the owner of operators that stand for no action

Propositions = tuple[int, ...]
_UNREACHED = 1 << 60


@dataclass(frozen=True, slots=True)
class RelaxedOperator:
    """An action, one conditional effect of an action, or an auxiliary operator.

    Attributes:
        pre: what it needs; never empty.
        add: what it makes true.
        owner: the place in ``space.operators`` of the action that it is a part of, or AUXILIARY.
    """

    pre: Propositions
    add: Propositions
    owner: int


class RelaxedTask:
    """The relaxed task of a state space.

    Attributes:
        count: propositions are 0 to ``count - 1``.
        operators: the relaxed operators. Those of one action stand side by side.
        goal: the propositions of the goal.
    """

    def __init__(self, space: StateSpace) -> None:
        self.count = 1
        self._packed = space.packing.facts
        self.operators: list[RelaxedOperator] = []
        self._positive: dict[int, int] = {}  # proposition of each fact that is read
        self._negative: dict[int, int] = {}  # of each fact that must not hold somewhere
        self._choices: dict[tuple[Condition, ...], int] = {}
        self.goal = self._needs(space.task.goal)
        drafts = []
        for move in space.moves:
            operator = space.operators[move.index]
            pre = self._needs(operator.condition)
            drafts.append((pre, operator.add, operator.delete, move.index))
            for effect in operator.conditional:
                if (effect.add | effect.delete) & self._packed:
                    both = tuple(sorted({*pre, *self._needs(effect.condition)}))
                    # What the action adds anyway, no effect deletes.
                    delete = effect.delete & ~operator.add
                    drafts.append((both, effect.add, delete, move.index))
        wanted, unwanted = sum(self._positive), sum(self._negative)
        for pre, add, delete, owner in drafts:
            made = [self._positive[fact] for fact in bits_of(add & wanted)]
            made += [self._negative[fact] for fact in bits_of(delete & ~add & unwanted)]
            made = [each for each in made if each not in pre]
            if made:
                self.operators.append(RelaxedOperator(pre, tuple(made), owner))
        self._tables = tuple(
            (each.shift, each.mask, self._table(each.facts)) for each in space.packing.variables
        )

    def propositions(self, state: int) -> list[int]:
        """Those true in a packed state, disjunctions excepted."""
        found = [ALWAYS]
        for shift, mask, table in self._tables:
            found += table[state >> shift & mask]
        return found

    def _table(self, facts: tuple[int, ...]) -> tuple[Propositions, ...]:
        """For each value of a variable, the propositions that it makes true."""
        rows = []
        for fact in facts:
            row = [self._positive[fact]] if fact in self._positive else []
            row += [self._negative[f] for f in facts if f != fact and f in self._negative]
            rows.append(tuple(row))
        return tuple(rows)

    def _needs(self, condition: Condition) -> Propositions:
        found = [self._literal(self._positive, fact) for fact in bits_of(condition.pre)]
        found += [self._literal(self._negative, fact) for fact in bits_of(condition.neg)]
        found += [self._choice(choice) for choice in condition.any_of]
        return tuple(sorted(set(found))) or (ALWAYS,)

    def _literal(self, known: dict[int, int], fact: int) -> int:
        if not fact & self._packed:
            return ALWAYS  # the space doesn't follow it; to take it for granted is admissible
        if fact not in known:
            known[fact] = self._new()
        return known[fact]

    def _choice(self, choice: tuple[Condition, ...]) -> int:
        if choice not in self._choices:
            made = self._choices[choice] = self._new()
            for part in choice:
                self.operators.append(RelaxedOperator(self._needs(part), (made,), AUXILIARY))
        return self._choices[choice]

    def _new(self) -> int:
        self.count += 1
        return self.count - 1


class RelaxedPlans:
    """Estimates states by the number of actions of relaxed plans."""

    def __init__(self, relaxed: RelaxedTask) -> None:
        self.relaxed = relaxed
        self._goal = len(relaxed.operators)  # an operator that needs the goal and adds nothing
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
        """The actions of a relaxed plan, and those of them that are applicable in ``state``.

        Each is named once, even where several of its conditional effects are needed in turn.

        Returns:
            None where the goal can't be reached even in the relaxation: a dead end.
        """
        missing, reached_at = self._missing.copy(), self._cost.copy()
        value, support = self._none_reached.copy(), self._no_support.copy()
        adds, readers = self._add, self._readers
        count, goal = self.relaxed.count, self._goal
        true = self.relaxed.propositions(state)
        for proposition in true:
            value[proposition] = 0
        queue: list[int] = []  # cost * count + proposition, which heapq compares fastest
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
        """The plan from the goal backwards; ``support`` is -1 for what holds already."""
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
