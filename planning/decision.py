"""How moves are told apart: the variables of a decision tree over what they test."""

from __future__ import annotations

from collections.abc import Sequence

from galley.planning.packing import Move, Variable


class Decisions:
    """Splits moves by a variable that many of them test."""

    def __init__(self, moves: Sequence[Move], variables: Sequence[Variable]) -> None:
        fields = [each.field for each in variables]
        self._tested = {
            move.index: [field for field in fields if move.test.mask & field] for move in moves
        }

    def best_field(self, moves: Sequence[Move], known: int) -> int:
        """The variable that most of ``moves`` test, as its bits of a state.

        It is 0 where testing them one by one is as good; the bits ``known`` are decided already.
        """
        counts: dict[int, int] = {}
        for move in moves:
            for field in self._tested[move.index]:
                counts[field] = counts.get(field, 0) + 1
        best, most = 0, 1
        for field, count in counts.items():
            if count > most and not known & field:
                best, most = field, count
        return best


def split(moves: Sequence[Move], field: int) -> tuple[dict[int, list[Move]], list[Move]]:
    """Those that test ``field`` by the value they want there; and the others."""
    branches: dict[int, list[Move]] = {}
    others = []
    for move in moves:
        if move.test.mask & field:
            branches.setdefault(move.test.value & field, []).append(move)
        else:
            others.append(move)
    return branches, others
