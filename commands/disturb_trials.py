"""The runs of ``galley disturb``: which there are, and how one goes. Plain data, for workers."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from galley.domain.errors import BadInput
from galley.engine import Options, run
from galley.report import Report
from galley.simulation.fault import IN_VAIN
from galley.simulation.noise import MODERATE, Noise

KINDS: dict[str, tuple[str, ...]] = {
    "friction": ("friction",),
    "mass": ("mass",),
    "position": ("position", "turn"),
    "observation": ("observation", "observation_turn"),
    "all": ("friction", "mass", "position", "turn", "observation", "observation_turn"),
}
"""What each kind of noise is made of, in ``Noise``'s words."""

FAULTS = ("nudge", "topple", "slippery", "stuck", "push-base:drive", "push-base:arm")
"""Those of ``--faults`` without names."""

UNDISTURBED = "none"


@dataclass(frozen=True)
class Trial:
    """One run to be carried out.

    Attributes:
        series: the kind of noise, ``none`` or the fault. amount: multiple of moderate noise.
        seed: of planning, noise and fault. options: the engine's, but for the folder.
    """

    series: str
    amount: float
    seed: int
    options: Options


@dataclass(frozen=True)
class Result:
    """How a trial ended. Plain data: it can be pickled and written as JSON.

    Attributes:
        series, amount, seed: the trial's.
        status: the report's: ``success`` means that the goal holds and validation found nothing.
        recoveries: how often it planned anew. why: the failure's sentence, or empty.
        faults: a sentence for each fault that was asked for: what it did.
        motion_s: seconds of simulated motion. wall_s: seconds that it all took.
    """

    series: str
    amount: float
    seed: int
    status: str
    recoveries: int = 0
    why: str = ""
    faults: tuple[str, ...] = ()
    motion_s: float = 0.0
    wall_s: float = 0.0

    @property
    def struck(self) -> bool:
        """Whether every fault that was asked for had its occasion."""
        return not any(IN_VAIN in told for told in self.faults)

    @property
    def success(self) -> bool:
        """Whether the task was done, and validated."""
        return self.status == "success"

    def as_json(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers."""
        return asdict(self)


def noise_of(kind: str, amount: float) -> Noise:
    """``amount`` times as much noise of a kind as is moderate.

    Raises:
        BadInput: that is more than there can be.
    """
    try:
        return MODERATE.only(*KINDS[kind]).scaled(amount)
    except BadInput as error:
        what = f"{amount:g} times the moderate noise is too much: {error.errors[0].what}"
        raise BadInput.one("--amounts", what) from None


def trials(
    options: Options,
    kinds: Sequence[str],
    amounts: Sequence[float],
    faults: Sequence[str],
    seeds: Sequence[int],
) -> list[Trial]:
    """Every trial: without noise once a seed, whatever the kind; then kinds, amounts and faults.

    Seeds change fastest, so that a sweep that is interrupted knows something of what it began with.
    """
    found = []
    if 0.0 in amounts or faults:
        found += [Trial(UNDISTURBED, 0.0, s, replace(options, seed=s)) for s in seeds]
    for amount in sorted(set(amounts) - {0.0}):
        for kind in kinds:
            noise = noise_of(kind, amount)
            found += [Trial(kind, amount, s, replace(options, seed=s, noise=noise)) for s in seeds]
    for fault in faults:
        found += [Trial(fault, 0.0, s, replace(options, seed=s, fault=fault)) for s in seeds]
    return found


class _Silence:
    """Hears a run and says nothing. An ``engine.Listener``."""

    def stage(self, text: str) -> None:
        """Not told."""

    def skeleton(self, actions: tuple[str, ...]) -> None:
        """Not told."""

    def learned(self, text: str) -> None:
        """Not told."""

    def action(self, index: int, total: int, text: str, event: str) -> None:
        """Not told."""

    def motions(self, report: Report) -> None:
        """Not told."""

    def fraction(self, text: str, done: float) -> None:
        """Not told."""


def carry_out(trial: Trial) -> Result:
    """Run a trial in a folder that is thrown away."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="galley-disturb-") as folder:
        options = replace(trial.options, out=Path(folder) / "run")
        report = run(options, _Silence()).report
    told = report.as_json()
    execution, failure = told["execution"], told["failure"] or {}
    return Result(
        trial.series,
        trial.amount,
        trial.seed,
        status=told["status"],
        recoveries=len(execution["recoveries"]),
        why=failure.get("message", ""),
        faults=tuple(execution["faults"]),
        motion_s=float(sum(motion["duration_s"] for motion in told["motions"])),
        wall_s=time.perf_counter() - began,
    )
