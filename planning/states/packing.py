"""Packs finite-domain variables into one integer (Helmert, 2009, for the variables).

The facts of a mutex group become the values of a variable, so a state needs few bits and is quick
to hash, compare and store.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from galley.planning.operators import Condition, Operator, bits_of
from galley.planning.states.mutex import mutex_groups
from galley.planning.task import Task


@dataclass(frozen=True)
class PackedVariable:
    """A variable of a packed state.

    Attributes:
        facts: for each value its fact, as a mask over ``Task.facts``; 0 for "none of them", the
            first value if it can occur.
        shift: its position: its value is ``state >> shift & mask``.
        mask: its width as a mask of ones.
    """

    facts: tuple[int, ...]
    shift: int
    mask: int

    @property
    def field(self) -> int:
        """Its bits of a packed state."""
        return self.mask << self.shift

    @property
    def all_facts(self) -> int:
        """Its facts as a mask over ``Task.facts``."""
        return sum(self.facts)

    @cached_property
    def value_of(self) -> dict[int, int]:
        """The shifted value of each fact, and of 0 for "none of them" if it can occur."""
        return {fact: value << self.shift for value, fact in enumerate(self.facts)}


@dataclass(frozen=True, slots=True)
class PackedCondition:
    """A condition on a packed state.

    It holds if ``state & mask == value``, ``state & m != v`` for each pair of ``unequal``, and one
    condition of each of ``any_of`` holds.
    """

    mask: int = 0
    value: int = 0
    unequal: tuple[tuple[int, int], ...] = ()
    any_of: tuple[tuple[PackedCondition, ...], ...] = ()

    def holds(self, state: int) -> bool:
        """Whether ``state`` satisfies it."""
        return (
            state & self.mask == self.value
            and all(state & mask != value for mask, value in self.unequal)
            and all(any(part.holds(state) for part in choice) for choice in self.any_of)
        )


ALWAYS = PackedCondition()


@dataclass(frozen=True, slots=True)
class PackedEffect:
    """Part of an effect: if ``test`` holds before the action, ``field`` becomes ``value``."""

    test: PackedCondition
    field: int
    value: int


@dataclass(frozen=True, slots=True)
class PackedOperator:
    """An operator on packed states.

    Attributes:
        index: of the operator in ``StateSpace.operators``.
        test: its precondition.
        steps: its effects, later over earlier ones; tests are evaluated before the action.
    """

    index: int
    test: PackedCondition
    steps: tuple[PackedEffect, ...]

    def apply(self, state: int) -> int:
        """The successor of ``state``."""
        after = state
        for step in self.steps:
            if step.test.holds(state):
                after = after & ~step.field | step.value
        return after


class Packing:
    """The variables of a task, and the conversion to and from packed states."""

    def __init__(self, task: Task, facts: int) -> None:
        """Packs ``facts``, a mask over ``task.facts``; the others are projected away."""
        self.task = task
        self.facts = facts
        self.variables = _variables(task, facts)
        self.width = sum(each.mask.bit_length() for each in self.variables)
        # For each fact its variable's bits, its value, and the other value of a binary variable.
        self._place: dict[int, tuple[int, int, int | None]] = {}
        for variable in self.variables:
            values = variable.value_of
            for fact, value in values.items():
                if fact:
                    others = [each for each in values.values() if each != value]
                    other = others[0] if len(others) == 1 else None
                    self._place[fact] = variable.field, value, other

    def encode(self, state: int) -> int:
        """The packed form of a state of the task."""
        packed = 0
        for variable in self.variables:
            packed |= variable.value_of[state & variable.all_facts]
        return packed

    def decode(self, packed: int) -> int:
        """The packed facts of a state of the task."""
        state = 0
        for variable in self.variables:
            state |= variable.facts[packed >> variable.shift & variable.mask]
        return state

    def test(self, condition: Condition) -> PackedCondition | None:
        """``condition`` on packed states; None if it needs mutex facts."""
        mask = value = 0
        place = self._place
        for fact in bits_of(condition.pre):
            field, required, _ = place[fact]
            if mask & field and value & field != required:
                return None
            mask |= field
            value |= required
        unequal = []
        for fact in bits_of(condition.neg):
            field, excluded, other = place[fact]
            if mask & field:
                if value & field == excluded:
                    return None
            elif other is not None:
                mask |= field
                value |= other
            else:
                unequal.append((field, excluded))
        any_of = []
        for choice in condition.any_of:
            parts = [test for test in map(self.test, choice) if test is not None]
            if not parts:
                return None
            any_of.append(tuple(parts))
        return PackedCondition(mask, value, tuple(unequal), tuple(any_of))

    def move(self, index: int, operator: Operator) -> PackedOperator | None:
        """``operator`` on packed states; None if its precondition needs mutex facts."""
        test = self.test(operator.condition)
        if test is None:
            return None
        effects = [(ALWAYS, operator.add, operator.delete)]
        for effect in operator.conditional:
            if not (effect.add | effect.delete) & self.facts:
                continue  # the facts of its condition may not be packed
            condition = self.test(effect.condition)
            if condition is not None:
                effects.append((condition, effect.add, effect.delete))
        steps: list[PackedEffect] = []
        # Deletions first: adding wins, also over other conditional effects.
        for condition, add, delete in effects:
            steps += self._deletions(condition, delete & self.facts, test, add)
        for condition, add, _ in effects:
            field = value = 0
            for fact in bits_of(add & self.facts):
                own, added, _ = self._place[fact]
                # Skip what the precondition implies, if no deletion comes before.
                if steps or test.mask & own == 0 or test.value & own != added:
                    field |= own
                    value |= added
            if field:
                steps.append(PackedEffect(condition, field, value))
        return PackedOperator(index, test, _merged(steps))

    def _deletions(
        self, condition: PackedCondition, delete: int, before: PackedCondition, added: int
    ) -> list[PackedEffect]:
        """Steps that delete facts; variables that the same effect sets by ``added`` need none."""
        replaced = 0
        for fact in bits_of(added & self.facts):
            replaced |= self._place[fact][0]
        steps = []
        deleted = 0
        for fact in bits_of(delete):
            field, value, _ = self._place[fact]
            if replaced & field:
                continue  # the added value overwrites it
            for test in (before, condition):
                if test.mask & field:
                    if test.value & field == value:
                        deleted |= field
                    break
            else:
                if (field, value) not in condition.unequal:
                    unequal = tuple(pair for pair in condition.unequal if pair[0] != field)
                    holds = PackedCondition(
                        condition.mask | field, condition.value | value, unequal, condition.any_of
                    )
                    steps.append(PackedEffect(holds, field, 0))
        if deleted:
            steps.insert(0, PackedEffect(condition, deleted, 0))
        return steps


def _merged(steps: list[PackedEffect]) -> tuple[PackedEffect, ...]:
    """Joins consecutive steps with the same test."""
    if len(steps) < 2:
        return tuple(steps)
    merged: list[PackedEffect] = []
    for step in steps:
        if merged and merged[-1].test == step.test:
            last = merged.pop()
            value = last.value & ~step.field | step.value
            step = PackedEffect(step.test, last.field | step.field, value)
        merged.append(step)
    return tuple(merged)


def _variables(task: Task, facts: int) -> tuple[PackedVariable, ...]:
    """Covers ``facts`` greedily by the largest mutex groups; the rest get binary variables."""
    groups = [group & facts for group in mutex_groups(task)]
    chosen: list[int] = []
    left = facts
    while True:
        groups = [group & left for group in groups]
        groups = [group for group in groups if group.bit_count() > 1]
        if not groups:
            break
        best = max(groups, key=lambda group: group.bit_count())
        chosen.append(best)
        left &= ~best
    chosen += bits_of(left)
    changes = _changes(task)
    variables = []
    shift = 0
    for group in chosen:
        values = bits_of(group)
        if len(values) == 1 or _may_be_empty(task, group, changes):
            values = [0, *values]
        mask = (1 << (len(values) - 1).bit_length()) - 1
        variables.append(PackedVariable(tuple(values), shift, mask))
        shift += mask.bit_length()
    return tuple(variables)


def _changes(task: Task) -> list[tuple[int, int]]:
    """Pairs of facts deleted together, and facts surely added with them."""
    pairs: dict[tuple[int, int], None] = {}
    for operator in task.operators:
        pairs[operator.delete, operator.add] = None
        for effect in operator.conditional:
            pairs[effect.delete, effect.add | operator.add] = None
    return list(pairs)


def _may_be_empty(task: Task, group: int, changes: list[tuple[int, int]]) -> bool:
    """Whether no fact of ``group`` may hold in some state."""
    if not task.init & group:
        return True
    return any(delete & group and not add & group for delete, add in changes)
