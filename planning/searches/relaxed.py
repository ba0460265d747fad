"""The delete relaxation of a task: propositions that once true stay true.

A proposition is a fact, or "not fact" where some condition wants a fact not to hold, or a
disjunction. A disjunction is made true by free auxiliary operators, one for each of its parts, and
a conditional effect is an operator of its own that also needs what its action needs.
"""

from __future__ import annotations

from dataclasses import dataclass

from galley.planning.operators import Condition, bits_of
from galley.planning.space import StateSpace

ALWAYS = 0  # the proposition that holds in every state
AUXILIARY = -1  # the owner of operators that stand for no action

Propositions = tuple[int, ...]


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
        builder = _Builder(space)
        self.count = builder.count
        self.operators = tuple(builder.operators)
        self.goal = builder.goal
        self._tables = tuple(
            (each.shift, each.mask, builder.table(each.facts)) for each in space.variables
        )

    def propositions(self, state: int) -> list[int]:
        """Those true in a packed state, disjunctions excepted."""
        found = [ALWAYS]
        for shift, mask, table in self._tables:
            found += table[state >> shift & mask]
        return found


class _Builder:
    def __init__(self, space: StateSpace) -> None:
        self.packed = 0
        for variable in space.variables:
            self.packed |= variable.all_facts
        self.count = 1
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
                if (effect.add | effect.delete) & self.packed:
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

    def table(self, facts: tuple[int, ...]) -> tuple[Propositions, ...]:
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
        if not fact & self.packed:
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
