"""Why candidates were turned down, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from galley.domain.failure import Failure, FailureKind

_LOOKED_AT = 100  # of the states in collision: enough to see what is in the way most often


@dataclass
class Tally:
    """Why candidates were turned down, to say so if none is left.

    Attributes:
        tried: how many candidates.
        reasons: how often each reason came up.
    """

    tried: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    _hits: list[Callable[[], tuple[str, ...]]] = field(default_factory=list)

    def hit(self, what: Callable[[], tuple[str, ...]]) -> None:
        """One more in collision; ``what`` names what it hits, and is asked only where needed."""
        self.reasons["in collision"] += 1
        self._hits.append(what)

    def bodies(self) -> Counter[str]:
        """How often each body or item was in the way, among 100 of the candidates at most."""
        step = max(1, -(-len(self._hits) // _LOOKED_AT))
        return Counter(name for what in self._hits[::step] for name in what())

    def failure(self, what: str) -> Failure:
        """An honest "tried so often": it proves nothing."""
        parts = [f"{reason} {n}x" for reason, n in self.reasons.most_common()]
        message = f"no way found to {what} in {self.tried} tries"
        if not self.tried:
            message = f"no room found to {what}"
        if parts:
            message += f" ({', '.join(parts)})"
        named = [body for body, _ in self.bodies().most_common(3)]
        if named:
            message += f"; most often in the way: {', '.join(named)}"
        return Failure(
            FailureKind.BUDGET, message, tuple(named), numbers={"tries": float(self.tried)}
        )
