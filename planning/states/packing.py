"""Packs the facts of a task into a few finite-domain variables, side by side in one integer.

Facts of a mutex group share a variable whose value says which of them holds, so a state needs few
bits: an integer of one or two machine digits, quick to hash, compare and store. The idea is that
of finite-domain representations (Helmert, 2009); the masks are those of a bit set.
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


ALWAYS = Test()


@dataclass(frozen=True, slots=True)
class PackedEffect:
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
    steps: tuple[PackedEffect, ...]

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
        # For each fact its variable's bits, the value that stands for it, and the other value of a
        # variable that has but two.
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
        """The state of the task, as far as its facts are packed."""
        state = 0
        for variable in self.variables:
            state |= variable.facts[packed >> variable.shift & variable.mask]
        return state

    def test(self, condition: Condition) -> Test | None:
        """``condition`` on packed states; None where mutex facts make it impossible."""
        mask = value = 0
        place = self._place
        for fact in bits_of(condition.pre):
            field, wanted, _ = place[fact]
            if mask & field and value & field != wanted:
                return None
            mask |= field
            value |= wanted
        unequal = []
        for fact in bits_of(condition.neg):
            field, unwanted, other = place[fact]
            if mask & field:
                if value & field == unwanted:
                    return None
            elif other is not None:
                mask |= field
                value |= other
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
        effects = [(ALWAYS, operator.add, operator.delete)]
        for effect in operator.conditional:
            if not (effect.add | effect.delete) & self.facts:
                continue  # what its condition speaks of need not be packed
            condition = self.test(effect.condition)
            if condition is not None:
                effects.append((condition, effect.add, effect.delete))
        steps: list[PackedEffect] = []
        # Deleting first: adding wins, also over a deletion by another conditional effect.
        for condition, add, delete in effects:
            steps += self._deletions(condition, delete & self.facts, test, add)
        for condition, add, _ in effects:
            field = value = 0
            for fact in bits_of(add & self.facts):
                own, wanted, _ = self._place[fact]
                # Nothing changes what the precondition has found already, if no step is before.
                if steps or test.mask & own == 0 or test.value & own != wanted:
                    field |= own
                    value |= wanted
            if field:
                steps.append(PackedEffect(condition, field, value))
        return Move(index, test, _merged(steps))

    def _deletions(
        self, condition: Test, delete: int, before: Test, added: int
    ) -> list[PackedEffect]:
        """Steps that take facts away, of which ``added`` by the same effect need none."""
        replaced = 0
        for fact in bits_of(added & self.facts):
            replaced |= self._place[fact][0]
        steps = []
        gone = 0
        for fact in bits_of(delete):
            field, value, _ = self._place[fact]
            if replaced & field:
                continue  # what is added takes the fact's place, where it was
            for known in (before, condition):
                if known.mask & field:
                    if known.value & field == value:
                        gone |= field
                    break
            else:
                if (field, value) not in condition.unequal:
                    unequal = tuple(pair for pair in condition.unequal if pair[0] != field)
                    holds = Test(
                        condition.mask | field, condition.value | value, unequal, condition.any_of
                    )
                    steps.append(PackedEffect(holds, field, 0))
        if gone:
            steps.insert(0, PackedEffect(condition, gone, 0))
        return steps


def _merged(steps: list[PackedEffect]) -> tuple[PackedEffect, ...]:
    """Consecutive steps of one test as one."""
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
