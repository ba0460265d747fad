"""Packs the facts of a task into a few finite-domain variables, side by side in one integer.

Facts of a mutex group share a variable whose value says which of them holds, so a state needs few
bits: an integer of one or two machine digits, quick to hash, compare and store. The idea is that
of finite-domain representations (Helmert, 2009); the masks are those of a bit set.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from galley.planning.mutex import mutex_groups
from galley.planning.operators import Condition, Operator
from galley.planning.task import Task


@dataclass(frozen=True)
class Variable:
    """A variable of a packed state.

    Attributes:
        facts: for each value the fact that then holds, as a mask over ``Task.facts``; 0 for the
            value "none of them", which comes first where it can occur.
        shift: where it stands: its value is ``state >> shift & mask``.
        mask: its width as a mask of ones.
    """

    facts: tuple[int, ...]
    shift: int
    mask: int

    @property
    def field(self) -> int:
        """The bits of a state that it takes."""
        return self.mask << self.shift

    @property
    def all_facts(self) -> int:
        """Every fact of it, as a mask over ``Task.facts``."""
        found = 0
        for fact in self.facts:
            found |= fact
        return found

    @cached_property
    def value_of(self) -> dict[int, int]:
        """The value that stands for each fact, 0 for none included, in its place in a state."""
        return {fact: value << self.shift for value, fact in enumerate(self.facts)}


@dataclass(frozen=True, slots=True)
class Test:
    """A condition on a packed state.

    It holds where ``state & mask == value``, where for no pair of ``unequal`` ``state & m == v``,
    and where of each of ``any_of`` one test holds.
    """

    __test__ = False  # not a test case, whatever its name makes pytest think

    mask: int = 0
    value: int = 0
    unequal: tuple[tuple[int, int], ...] = ()
    any_of: tuple[tuple[Test, ...], ...] = ()

    def holds(self, state: int) -> bool:
        """Whether ``state`` passes."""
        return (
            state & self.mask == self.value
            and all(state & mask != value for mask, value in self.unequal)
            and all(any(part.holds(state) for part in choice) for choice in self.any_of)
        )


@dataclass(frozen=True, slots=True)
class Step:
    """Part of an effect: where ``test`` holds before the action, ``field`` becomes ``value``."""

    test: Test
    field: int
    value: int


@dataclass(frozen=True, slots=True)
class Move:
    """An operator on packed states.

    Attributes:
        index: the operator's place in ``Space.operators``.
        test: its precondition.
        steps: its effect, later steps over earlier ones; tests read the state before the action.
    """

    index: int
    test: Test
    steps: tuple[Step, ...]

    def apply(self, state: int) -> int:
        """The state that follows ``state``."""
        after = state
        for step in self.steps:
            if step.test.holds(state):
                after = after & ~step.field | step.value
        return after


class Packing:
    """The variables of a task and the translation to and from packed states."""

    def __init__(self, task: Task, facts: int) -> None:
        """Packs ``facts``, a mask over ``task.facts``; the others are left out."""
        self.task = task
        self.facts = facts
        self.variables = _variables(task, facts)
        self.width = sum(each.mask.bit_length() for each in self.variables)
        self._home: dict[int, Variable] = {}
        for variable in self.variables:
            for fact in variable.facts:
                if fact:
                    self._home[fact] = variable

    def encode(self, state: int) -> int:
        """The packed form of a state of the task."""
        packed = 0
        for variable in self.variables:
            packed |= variable.value_of[state & variable.all_facts]
        return packed

    def decode(self, packed: int) -> int:
        """The state of the task, as far as its facts are packed."""
        state = 0
        for variable in self.variables:
            state |= variable.facts[packed >> variable.shift & variable.mask]
        return state

    def test(self, condition: Condition) -> Test | None:
        """``condition`` on packed states; None where mutex facts make it impossible."""
        mask = value = 0
        for fact in _split(condition.pre):
            variable = self._home[fact]
            wanted = variable.value_of[fact]
            if mask & variable.field and value & variable.field != wanted:
                return None
            mask |= variable.field
            value |= wanted
        unequal = []
        for fact in _split(condition.neg):
            variable = self._home[fact]
            field, unwanted = variable.field, variable.value_of[fact]
            if mask & field:
                if value & field == unwanted:
                    return None
            elif len(variable.facts) == 2:
                mask |= field
                value |= next(v for v in variable.value_of.values() if v != unwanted)
            else:
                unequal.append((field, unwanted))
        any_of = []
        for choice in condition.any_of:
            parts = [test for test in map(self.test, choice) if test is not None]
            if not parts:
                return None
            any_of.append(tuple(parts))
        return Test(mask, value, tuple(unequal), tuple(any_of))

    def move(self, index: int, operator: Operator) -> Move | None:
        """``operator`` on packed states; None where mutex facts make it impossible."""
        test = self.test(operator.condition)
        if test is None:
            return None
        always = Test()
        effects = [(always, operator.add, operator.delete)]
        for effect in operator.conditional:
            if not (effect.add | effect.delete) & self.facts:
                continue  # what its condition speaks of need not be packed
            condition = self.test(effect.condition)
            if condition is not None:
                effects.append((condition, effect.add, effect.delete))
        steps: list[Step] = []
        # Deleting first: adding wins, also over a deletion by another conditional effect.
        for condition, _, delete in effects:
            steps += self._deletions(condition, delete, test, operator.add)
        for condition, add, _ in effects:
            for fact in _split(add):
                found = self._home.get(fact)
                if found is not None:
                    steps.append(Step(condition, found.field, found.value_of[fact]))
        return Move(index, test, _merged(steps, test))

    def _deletions(self, condition: Test, delete: int, before: Test, added: int) -> list[Step]:
        steps = []
        for fact in _split(delete):
            variable = self._home.get(fact)
            if variable is None or (variable.all_facts & added and condition == Test()):
                continue  # what is added takes the fact's place
            field, value = variable.field, variable.value_of[fact]
            if before.mask & field == field:
                if before.value & field == value:
                    steps.append(Step(condition, field, 0))
            elif condition.mask & field == field:
                if condition.value & field == value:
                    steps.append(Step(condition, field, 0))
            else:
                holds = Test(
                    condition.mask | field,
                    condition.value | value,
                    tuple(pair for pair in condition.unequal if pair[0] != field),
                    condition.any_of,
                )
                if (field, value) not in condition.unequal:
                    steps.append(Step(holds, field, 0))
        return steps


def _merged(steps: list[Step], before: Test) -> tuple[Step, ...]:
    """Consecutive steps of one test as one, without those that change nothing."""
    merged: list[Step] = []
    touched = 0
    for step in steps:
        known = step.field & ~touched & before.mask == step.field
        if known and before.value & step.field == step.value:
            continue  # the precondition says that it is so already
        touched |= step.field
        if merged and merged[-1].test == step.test:
            last = merged.pop()
            value = last.value & ~step.field | step.value
            step = Step(step.test, last.field | step.field, value)
        merged.append(step)
    return tuple(merged)


def _split(mask: int) -> list[int]:
    """The bits of ``mask``, lowest first."""
    bits = []
    while mask:
        lowest = mask & -mask
        bits.append(lowest)
        mask ^= lowest
    return bits


def _variables(task: Task, facts: int) -> tuple[Variable, ...]:
    """Covers ``facts`` by mutex groups, largest first; each left over gets a bit of its own."""
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
    chosen += _split(left)
    changes = _changes(task)
    variables = []
    shift = 0
    for group in chosen:
        values = _split(group)
        if len(values) == 1 or _may_be_empty(task, group, changes):
            values = [0, *values]
        mask = (1 << (len(values) - 1).bit_length()) - 1
        variables.append(Variable(tuple(values), shift, mask))
        shift += mask.bit_length()
    return tuple(variables)


def _changes(task: Task) -> list[tuple[int, int]]:
    """What may be deleted at once, with what is surely added then, each pair once."""
    pairs: dict[tuple[int, int], None] = {}
    for operator in task.operators:
        pairs[operator.delete, operator.add] = None
        for effect in operator.conditional:
            pairs[effect.delete, effect.add | operator.add] = None
    return list(pairs)


def _may_be_empty(task: Task, group: int, changes: list[tuple[int, int]]) -> bool:
    """Whether a state may hold no fact of ``group``."""
    if not task.init & group:
        return True
    return any(delete & group and not add & group for delete, add in changes)
