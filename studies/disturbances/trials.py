"""Trials: the task under physics with noise or a fault, and how many of them succeed."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from galley.domain.errors import BadInput
from galley.sweeps import LostJob
from galley.sweeps.intervals import wilson

if TYPE_CHECKING:  # the pipeline is imported when a trial runs
    from galley.execution.disturbance.noise import Noise
    from galley.stages import Options

KINDS: dict[str, tuple[str, ...]] = {
    "friction": ("friction",),
    "mass": ("mass",),
    "position": ("position", "turn"),
    "observation": ("observation", "observation_turn"),
    "all": ("friction", "mass", "position", "turn", "observation", "observation_turn"),
}
"""For each kind of noise the fields of ``Noise`` that it sets."""

FAULTS = ("nudge", "topple", "slippery", "stuck", "push-base:drive", "push-base:arm")
"""The faults of ``galley disturb --faults`` without names."""

UNDISTURBED = "none"


@dataclass(frozen=True)
class Trial:
    """One run to carry out.

    Attributes:
        series: the kind of noise, ``none``, or the fault.
        amount: the noise as a multiple of moderate noise.
        seed: of planning, noise and fault.
        options: the engine's options, except for the folder.
    """

    series: str
    amount: float
    seed: int
    options: Options


@dataclass(frozen=True)
class TrialResult:
    """How a trial ended. Plain data: can be pickled and written as JSON.

    Attributes:
        series, amount, seed: those of the trial.
        status: the report's: ``success`` means that the goal holds and validation found nothing.
        recoveries: number of recoveries; corrections are not counted.
        why: the reason of the failure, a sentence; empty on success.
        faults: a sentence on what each requested fault did.
        motion_s: seconds of simulated motion.
        wall_s: wall time of the whole trial, s.
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
        """Whether every requested fault found an occasion to strike."""
        from galley.execution.disturbance.faults import DID_NOT_STRIKE

        return not any(DID_NOT_STRIKE in sentence for sentence in self.faults)

    @property
    def success(self) -> bool:
        """Whether the goal was reached and validation found no violation."""
        return self.status == "success"


def scaled_noise(kind: str, amount: float) -> Noise:
    """Moderate noise of one kind, times ``amount``.

    Raises:
        BadInput: the product exceeds what ``Noise`` allows.
    """
    from galley.execution.disturbance.noise import MODERATE

    try:
        return MODERATE.only(*KINDS[kind]).scaled(amount)
    except BadInput as error:
        reason = f"{amount:g} times moderate noise is too much: {error.errors[0].what}"
        raise BadInput.one("--amounts", reason) from None


def make_trials(
    options: Options,
    kinds: Sequence[str],
    amounts: Sequence[float],
    faults: Sequence[str],
    seeds: Sequence[int],
) -> list[Trial]:
    """The trials of a sweep: without noise once a seed, then kinds by amount, then faults.

    Seeds change fastest, so that an interrupted sweep has complete series.
    """
    trials = []
    if 0.0 in amounts or faults:
        trials += [Trial(UNDISTURBED, 0.0, s, replace(options, seed=s)) for s in seeds]
    for amount in sorted(set(amounts) - {0.0}):
        for kind in kinds:
            noise = scaled_noise(kind, amount)
            trials += [Trial(kind, amount, s, replace(options, seed=s, noise=noise)) for s in seeds]
    for fault in faults:
        trials += [Trial(fault, 0.0, s, replace(options, seed=s, fault=fault)) for s in seeds]
    return trials


def run_trial(trial: Trial) -> TrialResult:
    """Run a trial through the engine, in a temporary folder."""
    from galley.engine import record_run

    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="galley-disturb-") as folder:
        options = replace(trial.options, out=Path(folder) / "run")
        report = record_run(options).report
    return TrialResult(
        trial.series,
        trial.amount,
        trial.seed,
        status=report.status,
        recoveries=sum(not recovery.correction for recovery in report.recoveries),
        why="" if report.failure is None else str(report.failure),
        faults=report.injected,
        motion_s=float(sum(motion.trajectory.duration for motion in report.motions)),
        wall_s=time.perf_counter() - began,
    )


@dataclass(frozen=True)
class SuccessCount:
    """How many of some trials succeeded.

    Attributes:
        runs: number of trials that count.
        success: successes among them.
        recovered: successes with a recovery.
        not_struck: further trials, not counted, in which the fault had no occasion to strike.
    """

    runs: int
    success: int
    recovered: int = 0
    not_struck: int = 0

    @property
    def rate(self) -> float:
        """Success rate in [0, 1]; 0 without runs."""
        return self.success / self.runs if self.runs else 0.0

    def interval(self) -> tuple[float, float]:
        """Wilson's score interval (1927) of the rate, 95 % confidence."""
        return wilson(self.success, self.runs)

    def __str__(self) -> str:
        return f"{self.success}/{self.runs}"


def count_successes(results: Sequence[TrialResult | LostJob]) -> SuccessCount:
    """Successes among trials; lost ones count as runs, those without an occasion do not."""
    struck = [result for result in results if isinstance(result, LostJob) or result.struck]
    good = [result for result in struck if isinstance(result, TrialResult) and result.success]
    recovered = sum(result.recoveries > 0 for result in good)
    return SuccessCount(len(struck), len(good), recovered, len(results) - len(struck))
