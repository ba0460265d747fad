"""The smallest set of wishes that can't be granted together.

Given, for each thing that can happen, the wishes it violates: a set of wishes is in conflict where
everything that can happen violates at least one of them. That is a hitting set of the violations
(Reiter, "A theory of diagnosis from first principles", 1987).
"""

from __future__ import annotations

from collections.abc import Collection

_COMPARISONS = 3_000_000  # of two sets with each other, before the exact search settles for less


class _GaveUp(Exception):
    """The exact search has used its comparisons."""


def smallest_conflict(violations: Collection[frozenset[int]]) -> tuple[tuple[int, ...], bool]:
    """A smallest set of wishes that meets every one of ``violations``.

    Args:
        violations: for each thing that can happen, the non-empty set of wishes it violates.

    Returns:
        The wishes in ascending order; and True where no smaller set exists. It is False where
        proving that would take too long: then no wish can be left out of the set, though another
        set may be smaller.
    """
    masks = {sum(1 << wish for wish in each) for each in violations}
    search = _Search(_minimal(masks))
    try:
        for size in range(len(masks) + 1):
            found = search.hit(size, 0)
            if found is not None:
                return _members(found), True
    except _GaveUp:
        pass
    return _irreducible(search.sets), False


def _minimal(masks: Collection[int]) -> list[int]:
    """The sets that contain no other, as far as that can be told in time; short ones first."""
    # A superset is hit with its subset. Short sets first: they branch least.
    kept: list[int] = []
    left = _COMPARISONS
    for mask in sorted(masks, key=lambda each: (each.bit_count(), each)):
        left -= len(kept)
        if left < 0 or not any(each & mask == each for each in kept):
            kept.append(mask)
    return kept


class _Search:
    """Depth-first search for a hitting set of bounded size; sizes are tried in ascending order."""

    def __init__(self, sets: list[int]) -> None:
        self.sets = sets
        self.left = _COMPARISONS

    def hit(self, size: int, chosen: int) -> int | None:
        for missed in self.sets:
            self.left -= 1
            if not missed & chosen:
                break
        else:
            return chosen
        if self.left < 0:
            raise _GaveUp
        if size == 0:
            return None
        for wish in _members(missed):
            found = self.hit(size - 1, chosen | 1 << wish)
            if found is not None:
                return found
        return None


def _irreducible(sets: list[int]) -> tuple[int, ...]:
    """A hitting set none of whose members can be left out."""
    kept = 0
    for mask in sets:
        kept |= mask
    for wish in _members(kept):
        without = kept & ~(1 << wish)
        if all(mask & without for mask in sets):
            kept = without
    return _members(kept)


def _members(mask: int) -> tuple[int, ...]:
    return tuple(place for place in range(mask.bit_length()) if mask >> place & 1)
