"""Failure is a value: why something well-formed could not be done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from types import MappingProxyType
from typing import Any, NoReturn


class FailureKind(Enum):
    """What sort of no it is. All but ``BUDGET`` carry a certificate that can be checked."""

    CONTRADICTION = "contradiction"  # the symbols alone forbid it
    UNREACHABLE = "unreachable"  # no stance or configuration reaches; numbers: shortfall in metres
    BLOCKED = "blocked"  # named bodies are in the way
    DOES_NOT_FIT = "does-not-fit"  # sizes
    UNSTABLE = "unstable"  # it would fall
    BUDGET = "budget"  # tried so often, found nothing: an honest "don't know"
    BAD_INPUT = "bad-input"


@dataclass(frozen=True)
class Failure:
    """Why a planner, a skill or a run did not succeed.

    Attributes:
        kind: see FailureKind.
        message: one sentence for a person.
        objects: names of the bodies, items, facts or links concerned.
        numbers: named quantities (SI units, unit in the name: ``shortfall_m``).
        certificate: what can be checked, as JSON-ready data; None for ``BUDGET``.
        step: where in the plan it happened, outermost first (``("stow spam", "open", "grasp")``).
        evidence: what a ``BUDGET`` rests on, as JSON-ready data: what was tried. It proves nothing.
    """

    kind: FailureKind
    message: str
    objects: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)
    certificate: Mapping[str, Any] | None = None
    step: tuple[str, ...] = ()
    evidence: tuple[Mapping[str, Any], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", MappingProxyType(dict(self.numbers)))
        if self.certificate is not None:
            object.__setattr__(self, "certificate", MappingProxyType(dict(self.certificate)))

    def __reduce__(self) -> tuple[type[Failure], tuple[Any, ...]]:
        """For pickle, which can't take the read-only mappings."""
        values = (getattr(self, each.name) for each in fields(self))
        return Failure, tuple(dict(v) if isinstance(v, MappingProxyType) else v for v in values)

    def raise_(self) -> NoReturn:
        """Raise it, for code that has no use for a failure as a value.

        Raises:
            FailureError: always.
        """
        raise FailureError(self)

    def within(self, *step: str) -> Failure:
        """The same failure, seen from the enclosing step ``step``."""
        return replace(self, step=(*step, *self.step))

    def as_json(self) -> dict[str, Any]:
        """The report's form: plain dicts, lists, strings and numbers."""
        return {
            "kind": self.kind.value,
            "message": str(self),
            "objects": list(self.objects),
            "numbers": dict(self.numbers),
            "certificate": dict(self.certificate) if self.certificate is not None else None,
            "step": list(self.step),
            "evidence": [dict(each) for each in self.evidence],
        }

    def __str__(self) -> str:
        prefix = " > ".join(self.step)
        return f"{prefix}: {self.message}" if prefix else self.message


class FailureError(Exception):
    """A Failure raised as an exception.

    Attributes:
        failure: what was raised.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure)
        self.failure = failure
