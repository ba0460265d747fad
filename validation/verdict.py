"""The result of validation: violations, figures, and whether each part of the goal holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

Pair = tuple[str, str]
"""The names of two bodies, in alphabetical order."""


@dataclass(frozen=True)
class Violation:
    """One violation of a physical rule, or an event (see ``Verdict``).

    Attributes:
        time: seconds from the start of the run to its first occurrence.
        what: the violation in one sentence.
        kind: ``log``, ``penetration``, ``pressed`` (penetration of a pair that may touch),
            ``contact``, ``position``, ``velocity``, ``acceleration``, ``torque``, ``tracking``,
            ``slip``, ``moving`` (at the end) or ``floating``.
    """

    time: float
    what: str
    kind: str


@dataclass(frozen=True)
class GoalFact:
    """The evaluation of one part of the goal.

    Attributes:
        fact: the part, as PDDL text.
        holds: whether it holds at the end of the run.
        why: the figures that decided it.
    """

    fact: str
    holds: bool
    why: str


@dataclass(frozen=True)
class Verdict:
    """The validator's verdict on a run. Ratios are shares of the robot's limits.

    "Declared" are the contacts that a motion allows (``Log.declared``); any other is unexpected.

    Attributes:
        states_checked: number of states that were set in PyBullet.
        max_penetration_m: deepest penetration (m) of a pair that may not touch; 0 without one.
        deepest: that pair, or None.
        max_declared_penetration_m: deepest penetration (m) of a pair that may touch.
        max_undeclared_force_n: largest recorded force (N) between the robot or its held item and
            something that it may not touch; 0 without forces.
        limit_violations: number of joints beyond a limit of position, velocity, acceleration or
            torque. A joint counts once for each kind of limit.
        max_velocity_ratio: largest ratio of any joint's velocity to its limit.
        max_acceleration_ratio: largest ratio of any joint's acceleration to its limit.
        max_torque_ratio: largest ratio of an arm joint's torque to its limit; None if unknown.
        torques: source of the torques: ``recorded``, ``inverse dynamics``, or empty if unknown.
        tracking_error_rad: largest distance of an arm joint from its command, rad.
        tracking_error_base_m: largest distance of the base from its commanded position, m.
        max_slip_m: largest displacement (m) of a held item in the hand during one motion.
        at_rest: whether robot, drawers, doors and items are at rest at the end.
        violations: the violations in the order of time.
        events: incidents that led to a recovery, in the order of time: an item that slipped, or
            that the hand hit. They are not violations.
        goal_facts: the evaluation of each part of the goal; empty if no goal was given.
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
        text = "; ".join(self.faults) or f"passed, {self.states_checked:,} states checked"
        return f"Verdict({text})"

    @property
    def passed(self) -> bool:
        """Whether there is no violation; the goal has no influence."""
        return not self.violations

    @property
    def faults(self) -> tuple[str, ...]:
        """A sentence for each violation, and for each part of the goal that does not hold."""
        unmet = [part for part in self.goal_facts if not part.holds]
        return (
            *(f"at {violation.time:.2f} s {violation.what}" for violation in self.violations),
            *(f"{part.fact} does not hold: {part.why}" for part in unmet),
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
    """The verdict on a malformed log, which can't be judged; ``violations`` are the reasons."""
    return Verdict(0, 0.0, None, 0.0, 0.0, 0, 0.0, 0.0, None, "", 0.0, 0.0, 0.0, False, violations)


def figures(verdict: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A label and a text for each figure of a verdict, which has the form of ``as_json``."""
    pair = f" ({' and '.join(verdict['deepest_pair'])})" if verdict["deepest_pair"] else ""
    torque = verdict["max_torque_ratio"]
    of_limit = "" if torque is None else f"{100 * torque:.0f} % of the limit"
    strongest = f"{of_limit} ({verdict['torques']})" if of_limit else "unknown"
    return [
        ("deepest unexpected contact", f"{1e3 * verdict['max_penetration_m']:.2f} mm{pair}"),
        ("largest unexpected force", f"{verdict['max_undeclared_force_n']:.1f} N"),
        ("deepest allowed contact", f"{1e3 * verdict['max_declared_penetration_m']:.2f} mm"),
        ("joints beyond a limit", f"{verdict['limit_violations']}"),
        ("highest velocity", f"{100 * verdict['max_velocity_ratio']:.0f} % of the limit"),
        ("highest acceleration", f"{100 * verdict['max_acceleration_ratio']:.0f} % of the limit"),
        ("highest torque of the arm", strongest),
        ("largest tracking error of the arm", f"{1e3 * verdict['tracking_error_rad']:.1f} mrad"),
        ("largest tracking error of the base", f"{1e3 * verdict['tracking_error_base_m']:.1f} mm"),
        ("largest slip in the hand", f"{1e3 * verdict['max_slip_m']:.2f} mm in one motion"),
        ("at rest at the end", "yes" if verdict["at_rest"] else "no"),
    ]
