"""The smallest set of wishes that can't be granted together.

Given, for each thing that can happen, the wishes it violates: a set of wishes is in conflict where
everything that can happen violates at least one of them. That is a hitting set of the violations
(Reiter, "A theory of diagnosis from first principles", 1987).
"""

from __future__ import annotations

from collections.abc import Collection

_NODES = 100_000  # nodes of the exact search before it settles for less


class _GaveUp(Exception):
    """The exact search has used its nodes."""


def smallest_conflict(violations: Collection[frozenset[int]]) -> tuple[tuple[int, ...], bool]:
    """A smallest set of wishes that meets every one of ``violations``.

    Args:
        violations: for each thing that can happen, the non-empty set of wishes it violates.

    Returns:
        The wishes in ascending order; and True where no smaller set exists. It is False where
        proving that would take too long: then no wish can be left out of the set, though another
        set may be smaller.
    """
    # A superset is hit with its subset. Short sets first: they branch least.
    ordered = sorted(violations, key=lambda each: (len(each), sorted(each)))
    minimal: list[frozenset[int]] = []
    for each in ordered:
        if not any(kept <= each for kept in minimal):
            minimal.append(each)
    search = _Search(minimal)
    try:
        for size in range(len(minimal) + 1):
            found = search.hit(size, frozenset())
            if found is not None:
                return tuple(sorted(found)), True
    except _GaveUp:
        pass
    return _irreducible(minimal), False


class _Search:
    """Depth-first search for a hitting set of bounded size; sizes are tried in ascending order."""

    def __init__(self, sets: list[frozenset[int]]) -> None:
        self.sets = sets
        self.nodes = 0

    def hit(self, size: int, chosen: frozenset[int]) -> frozenset[int] | None:
        self.nodes += 1
        if self.nodes > _NODES:
            raise _GaveUp
        missed = next((each for each in self.sets if each.isdisjoint(chosen)), None)
        if missed is None:
            return chosen
        if size == 0:
            return None
        for wish in sorted(missed):
            found = self.hit(size - 1, chosen | {wish})
            if found is not None:
                return found
        return None


def _irreducible(sets: list[frozenset[int]]) -> tuple[int, ...]:
    """A hitting set none of whose members can be left out."""
    kept = set().union(*sets)
    for wish in sorted(kept):
        if all(not each.isdisjoint(kept - {wish}) for each in sets):
            kept.discard(wish)
    return tuple(sorted(kept))
