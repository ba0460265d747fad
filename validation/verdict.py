"""The result of validation: violations, figures, and whether each part of the goal holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

Pair = tuple[str, str]
"""The names of two bodies, in alphabetical order."""


@dataclass(frozen=True)
class Violation:
    """One violation.

    Attributes:
        time: of its first occurrence, seconds since the start.
        what: one sentence.
        kind: ``log``, ``penetration``, ``pressed`` (penetration of a pair that may touch),
            ``contact``, ``position``, ``velocity``, ``acceleration``, ``torque``, ``tracking``,
            ``slip``, ``moving`` (at the end) or ``floating``.
    """

    time: float
    what: str
    kind: str


@dataclass(frozen=True)
class GoalFact:
    """A part of the goal, whether it holds at the end, and the figures that decided it."""

    fact: str
    holds: bool
    why: str


@dataclass(frozen=True)
class Verdict:
    """The judgement of a run. Ratios are shares of the robot's limits.

    Attributes:
        states_checked: states set in PyBullet.
        max_penetration_m: of a pair that may not touch; 0 if there was none.
        deepest: that pair, or None.
        max_declared_penetration_m: of a pair that may touch.
        max_undeclared_force_n: largest recorded force between the robot or its held item and
            something that it may not touch; 0 without forces.
        limit_violations: number of joints beyond a limit of position, velocity, acceleration or
            torque, each kind counted.
        max_velocity_ratio, max_acceleration_ratio: of any joint.
        max_torque_ratio: of the arm's joints; None if unknown.
        torques: ``recorded``, ``inverse dynamics``, or empty if unknown.
        tracking_error_rad: largest distance of an arm joint from its command.
        tracking_error_base_m: the same for the base's position.
        max_slip_m: largest motion of a held item in the hand during one motion.
        at_rest: whether robot, drawers and items are at rest at the end.
        violations: by time.
        events: mishaps that led to a recovery, by time: an item that slipped, or that the hand hit.
            They are not violations.
        goal_facts: each part of the goal; empty where no goal was given.
        goal_given: whether a goal was given.
    """

    states_checked: int
    max_penetration_m: float
    deepest: Pair | None
    max_declared_penetration_m: float
    max_undeclared_force_n: float
    limit_violations: int
    max_velocity_ratio: float
    max_acceleration_ratio: float
    max_torque_ratio: float | None
    torques: str
    tracking_error_rad: float
    tracking_error_base_m: float
    max_slip_m: float
    at_rest: bool
    violations: tuple[Violation, ...]
    events: tuple[Violation, ...] = ()
    goal_facts: tuple[GoalFact, ...] = ()
    goal_given: bool = False

    def __repr__(self) -> str:
        said = "; ".join(self.faults) or f"passed, {self.states_checked:,} states checked"
        return f"Verdict({said})"

    @property
    def passed(self) -> bool:
        """Whether there is no violation, whatever became of the goal."""
        return not self.violations

    @property
    def faults(self) -> tuple[str, ...]:
        """A sentence for each violation, and for each part of the goal that does not hold."""
        wrong = [each for each in self.goal_facts if not each.holds]
        return (
            *(f"at {each.time:.2f} s {each.what}" for each in self.violations),
            *(f"{each.fact} does not hold: {each.why}" for each in wrong),
        )

    @property
    def goal_reached(self) -> bool:
        """Whether a goal was given and holds in the final geometry."""
        return self.goal_given and all(fact.holds for fact in self.goal_facts)

    def as_json(self) -> dict[str, Any]:
        """The verdict as plain data, with the keys of ``report.json`` (docs/report.md)."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        deepest = plain.pop("deepest")
        del plain["goal_given"]
        return {
            "passed": self.passed,
            **plain,
            "deepest_pair": list(deepest) if deepest else None,
            "violations": [_as_json(violation) for violation in self.violations],
            "events": [_as_json(event) for event in self.events],
            "goal_facts": [asdict(fact) for fact in self.goal_facts],
        }


def _as_json(violation: Violation) -> dict[str, Any]:
    return {"time_s": violation.time, "kind": violation.kind, "what": violation.what}


def rejected(violations: tuple[Violation, ...]) -> Verdict:
    """The verdict on a log that can't be judged."""
    return Verdict(0, 0.0, None, 0.0, 0.0, 0, 0.0, 0.0, None, "", 0.0, 0.0, 0.0, False, violations)


def figures(verdict: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The figures of a verdict, of the form of ``as_json``, in words."""
    pair = f" ({' and '.join(verdict['deepest_pair'])})" if verdict["deepest_pair"] else ""
    torque = verdict["max_torque_ratio"]
    of_limit = "" if torque is None else f"{100 * torque:.0f} % of the limit"
    strongest = f"{of_limit} ({verdict['torques']})" if of_limit else "unknown"
    return [
        ("deepest undeclared contact", f"{1e3 * verdict['max_penetration_m']:.2f} mm{pair}"),
        ("largest undeclared force", f"{verdict['max_undeclared_force_n']:.1f} N"),
        ("deepest declared contact", f"{1e3 * verdict['max_declared_penetration_m']:.2f} mm"),
        ("joints beyond a limit", f"{verdict['limit_violations']}"),
        ("highest velocity", f"{100 * verdict['max_velocity_ratio']:.0f} % of the limit"),
        ("highest acceleration", f"{100 * verdict['max_acceleration_ratio']:.0f} % of the limit"),
        ("highest torque of the arm", strongest),
        ("arm from its command, at most", f"{1e3 * verdict['tracking_error_rad']:.1f} mrad"),
        ("base from its command, at most", f"{1e3 * verdict['tracking_error_base_m']:.1f} mm"),
        ("largest slip in the hand", f"{1e3 * verdict['max_slip_m']:.2f} mm in one motion"),
        ("at rest at the end", "yes" if verdict["at_rest"] else "no"),
    ]
