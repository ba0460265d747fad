"""Failure as a value: why a well-formed task could not be solved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, NoReturn


class FailureKind(Enum):
    """The kind of failure. All but ``BUDGET`` carry a certificate that can be checked."""

    CONTRADICTION = "contradiction"  # impossible in PDDL alone
    UNREACHABLE = "unreachable"  # no stance or configuration reaches it; numbers: shortfall in m
    BLOCKED = "blocked"  # named bodies are in the way
    DOES_NOT_FIT = "does-not-fit"  # an item is too large
    UNSTABLE = "unstable"  # an item would fall
    BUDGET = "budget"  # a limit was reached; a solution may exist
    BAD_INPUT = "bad-input"


@dataclass(frozen=True)
class Failure:
    """Why a planner, a skill or a run failed.

    Attributes:
        kind: see FailureKind.
        message: one sentence for a person.
        objects: names of the bodies, items, facts or links concerned.
        numbers: named quantities (SI units, unit in the name: ``shortfall_m``).
        certificate: a checkable proof, as JSON-ready data; None for ``BUDGET``.
        step: the step of the plan that failed, outermost first: ``("stow spam", "open", "grasp")``.
    """

    kind: FailureKind
    message: str
    objects: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)
    certificate: Mapping[str, Any] | None = None
    step: tuple[str, ...] = ()

    @property
    def proven(self) -> bool:
        """Whether the failure is proven: it has a certificate, and no limit of effort caused it."""
        return self.certificate is not None and self.kind is not FailureKind.BUDGET

    def raise_(self) -> NoReturn:
        """Raise the failure as an exception, for code that doesn't handle it as a value.

        Raises:
            FailureError: always.
        """
        raise FailureError(self)

    def within(self, *step: str) -> Failure:
        """The same failure with ``step`` put before its own steps."""
        return replace(self, step=(*step, *self.step))

    def as_json(self) -> dict[str, Any]:
        """The failure as plain data, as ``report.json`` has it."""
        return {
            "kind": self.kind.value,
            "message": str(self),
            "objects": list(self.objects),
            "numbers": dict(self.numbers),
            "certificate": dict(self.certificate) if self.certificate is not None else None,
            "step": list(self.step),
        }

    def __repr__(self) -> str:
        kind = self.kind.value if isinstance(self.kind, FailureKind) else self.kind  # of own skills
        return f"Failure({kind}: {self})"

    def __str__(self) -> str:
        prefix = " > ".join(self.step)
        return f"{prefix}: {self.message}" if prefix else self.message


class FailureError(Exception):
    """A Failure raised as an exception.

    Attributes:
        failure: the Failure that was raised.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure)
        self.failure = failure


def metres(shortfall: float) -> str:
    """A distance as text, with four digits if it is short, so that it doesn't read as zero."""
    return f"{shortfall:.{2 if shortfall > 0.01 else 4}f} m"
