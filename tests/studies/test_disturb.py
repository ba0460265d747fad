"""``galley disturb``: every run that was asked for is carried out, counted and kept."""

import itertools
import json

import numpy as np
import pytest
from PIL import Image
from scipy.stats import binomtest

from galley.execution.disturbance.faults import DID_NOT_STRIKE
from galley.execution.disturbance.faults import KINDS as FAULT_KINDS
from galley.execution.disturbance.noise import MODERATE, NONE
from galley.stages import Options
from galley.studies.commands import disturb
from galley.studies.disturbances.trials import (
    FAULTS,
    KINDS,
    SuccessCount,
    TrialResult,
    count_successes,
    make_trials,
    scaled_noise,
)
from galley.sweeps import LostJob

OUTSIDE = ("--domain", "kitchen.pddl", "--jobs", "1")


@pytest.fixture
def near(problem):
    """A task of one drive."""
    return problem("(near burner)")


@pytest.fixture
def pretended(monkeypatch):
    """``pretended(how)``: runs end as ``how(trial)`` says, at once."""

    def set_up(how):
        monkeypatch.setattr(disturb, "run_trial", how)

    return set_up


def result(trial, status="success", **more):
    return TrialResult(trial.series, trial.amount, trial.seed, status, **more)


def lines(folder):
    return [json.loads(line) for line in (folder / "disturb.jsonl").read_text().splitlines()]


# -- what is run ----------------------------------------------------------------------------------


def test_each_kind_is_tried_alone_and_no_noise_once_for_all():
    found = make_trials(Options(), ["friction", "all"], [0.0, 1.0, 0.5], ["topple"], range(3, 5))
    assert [(t.series, t.amount, t.seed) for t in found] == [
        *itertools.product(["none"], [0.0], [3, 4]),
        *itertools.product(["friction"], [0.5], [3, 4]),
        *itertools.product(["all"], [0.5], [3, 4]),
        *itertools.product(["friction"], [1.0], [3, 4]),
        *itertools.product(["all"], [1.0], [3, 4]),
        *itertools.product(["topple"], [0.0], [3, 4]),
    ]
    for trial in found:
        assert trial.options.seed == trial.seed
        assert (trial.options.noise is None) == (trial.series in ("none", "topple"))
        assert trial.options.fault == ("topple" if trial.series == "topple" else None)
    friction = next(t for t in found if (t.series, t.amount) == ("friction", 1.0))
    assert friction.options.noise == NONE.__class__(friction=MODERATE.friction)


def test_all_kinds_together_are_all_of_moderate_and_nothing_is_left_out():
    assert scaled_noise("all", 1.0) == MODERATE
    alone = [name for kind, names in KINDS.items() if kind != "all" for name in names]
    assert sorted(alone) == sorted(KINDS["all"])


def test_the_faults_that_are_run_by_default_are_one_of_each_kind_that_can_be_overcome():
    kinds = {part.partition(":")[0] for text in FAULTS for part in text.split(",")}
    assert kinds == set(FAULT_KINDS) - {"stuck-for-good"}


# -- what is counted ------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "n"), [(0, 5), (3, 7), (10, 10), (90, 100)])
def test_intervals_are_wilsons(k, n):
    expected = binomtest(k, n).proportion_ci(0.95, method="wilson")
    np.testing.assert_allclose(SuccessCount(n, k).interval(), expected, atol=1e-4)


def test_only_what_succeeded_counts_as_recovered():
    runs = [("success", 0), ("success", 2), ("failed", 3)]
    results = [TrialResult("all", 1.0, k, how, again) for k, (how, again) in enumerate(runs)]
    assert count_successes(results) == SuccessCount(3, 2, 1)
    idle = TrialResult("topple", 0.0, 3, "success", faults=(f"topple {DID_NOT_STRIKE}",))
    assert count_successes([*results, LostJob("its worker ended"), idle]) == SuccessCount(
        4, 2, 1, 1
    )


def test_two_of_three_are_told_as_such_in_table_json_and_exit_status(cli, here, pretended):
    def how(trial):
        failed = trial.series == "friction" and trial.seed == 1
        return result(
            trial, "failed" if failed else "success", recoveries=2, why="slipped" if failed else ""
        )

    pretended(how)
    done = cli(
        *("disturb", "--kinds", "friction", "--amounts", 0, 1, "--seeds", 3),
        *("--jobs", 1, "--faults", "topple", "--out", here / "out"),
    )
    assert done.status == 0, "they were all carried out"
    row = next(line for line in done.out.splitlines() if line.startswith("friction"))
    assert row.split() == ["friction", "3/3", "2/3"]
    summary = json.loads((here / "out" / "disturb.json").read_text())
    assert summary["finished"]
    (none, full), (fault,) = summary["noise"], summary["faults"]
    assert (none["amount"], none["success"], none["runs"]) == (0.0, 3, 3)
    assert (full["amount"], full["success"], full["recovered"]) == (1.0, 2, 2)
    assert fault["series"] == "topple"
    assert len(summary["trials"]) == len(lines(here / "out")) == 9
    assert Image.open(here / "out" / "disturb.png").size[0] > 1000


def test_runs_in_which_a_fault_had_no_occasion_are_told_and_not_counted(cli, here, pretended):
    def how(trial):
        vain = "topple did not strike: no suitable motion"
        told = {"none": (), "topple": (vain if trial.seed else "it was knocked over",)}
        return result(trial, faults=told[trial.series], recoveries=int(trial.series == "topple"))

    pretended(how)
    done = cli(
        *("disturb", "--amounts", 0, "--seeds", 3, "--jobs", 1),
        *("--faults", "topple", "--out", here / "out"),
    )
    row = next(line for line in done.out.splitlines() if line.startswith("fault topple"))
    assert row.split(None, 2)[2] == "1/1   1 by recovering, 2 without an occasion"
    (fault,) = json.loads((here / "out" / "disturb.json").read_text())["faults"]
    assert (fault["runs"], fault["success"], fault["not_struck"]) == (1, 1, 2)


def test_a_run_that_is_lost_does_not_count_as_success_and_shows_in_the_status(cli, here, pretended):
    def how(trial):
        if trial.seed == 1:
            raise RuntimeError("a worker's end")
        return result(trial)

    pretended(how)
    done = cli("disturb", "--amounts", 0, "--seeds", 2, "--jobs", 1, "--out", here / "out")
    assert done.status == 1
    assert "lost: RuntimeError: a worker's end" in done.out
    assert {line["status"] for line in lines(here / "out")} == {"success", "lost"}
    (none, *_) = json.loads((here / "out" / "disturb.json").read_text())["noise"]
    assert (none["success"], none["runs"]) == (1, 2)


def test_an_interrupted_sweep_is_kept_and_goes_on_if_it_is_called_again(cli, here, pretended):
    ran = []

    def how(trial):
        if trial.seed == 2 and len(ran) == 2:
            raise KeyboardInterrupt
        ran.append(trial.seed)
        return result(trial, faults=(f"told {trial.seed}",), motion_s=0.1 + 0.2)

    pretended(how)
    told = []
    for out in ("out", "out", "whole"):
        done = cli("disturb", "--amounts", 0, "--seeds", 5, "--jobs", 1, "--out", here / out)
        ran.append("end")
        told.append((done.status, json.loads((here / out / "disturb.json").read_text())))
        assert (here / out / "disturb.png").is_file()
    assert ran == [0, 1, "end", 2, 3, 4, "end", 0, 1, 2, 3, 4, "end"]
    status, kept = told[0]
    assert (status, kept["finished"], kept["noise"][0]["runs"]) == (130, False, 2)
    assert told[1] == told[2]
    assert [line["seed"] for line in lines(here / "out")] == [0, 1, 2, 3, 4]


def test_it_begins_anew_where_anything_that_counts_has_changed(cli, here, pretended, near):
    def how(trial):
        if trial.seed == 1:
            raise KeyboardInterrupt
        return result(trial)

    pretended(how)
    sweep = ("disturb", "--problem", near, *OUTSIDE, "--amounts", 0, "--out", here / "out")
    assert cli(*sweep).status == 130
    for changed in (("--optimize", "none"), ()):
        near.write_text(near.read_text() + ("" if changed else "; another word\n"))
        done = cli(*sweep, *changed)
        assert "have other settings: starting over" in done.out
        assert len(lines(here / "out")) == 1


# -- real runs ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_real_runs_drive_to_the_burner_under_noise_and_faults(cli, here, near):
    done = cli(
        *("disturb", "--problem", near, *OUTSIDE, "--kinds", "all", "--amounts", 0, 1),
        *("--seeds", 1, "--faults", "push-base:drive", "--out", here / "out"),
    )
    assert done.status == 0, done.err
    found = {line["series"]: line for line in lines(here / "out")}
    assert set(found) == {"none", "all", "push-base:drive"}
    assert found["none"]["status"] == found["all"]["status"] == "success"
    assert "the base was shoved" in found["push-base:drive"]["faults"][0]
    assert all(line["motion_s"] > 1.0 for line in found.values())
    assert [p.name for p in here.iterdir()] == ["out"], "the runs' own folders are thrown away"


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--faults", "explode"), "fault: unknown fault 'explode'"),
        (("--faults", "nudge:piano"), "there is no 'piano'"),
        (("--amounts", 5), "--amounts: 5 times moderate noise is too much"),
        (("--amounts", -1), "an amount must be a number, 0 or more"),
        (("--scene", "nowhere.yaml"), "nowhere.yaml: no such file"),
    ],
)
def test_bad_input_is_told_before_anything_is_run_or_written(cli, here, arguments, says):
    done = cli("disturb", *arguments)
    assert done.status == 2
    assert says in done.err
    assert "Traceback" not in done.err
    assert not list(here.iterdir())
