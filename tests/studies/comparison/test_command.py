"""``galley compare`` as a user calls it."""

import json
from functools import partial

import imageio_ffmpeg
import numpy as np
import pytest

from galley.domain.failure import Failure, FailureKind
from galley.studies.comparison import runner
from galley.tests.effort import quick_first

SEED_FILES = [
    "compare.json",
    "compare.png",
    "trajectory_opt.npy",
    "trajectory_qp.npy",
    "trajectory_rrt.npy",
]


@pytest.fixture
def run(cli, tmp_path, monkeypatch):
    """``run("--seed", 1)``: status, stdout, stderr; the results go to ``out``."""
    monkeypatch.chdir(tmp_path)
    return partial(cli, "compare")


def names(folder):
    return sorted(p.name for p in folder.iterdir())


@pytest.mark.slow
def test_the_seeds_query_end_to_end(run, tmp_path):
    status, out, err = run("--no-video", "--out", "out")
    assert (status, err) == (0, "")
    assert names(tmp_path / "out") == SEED_FILES
    told = json.loads((tmp_path / "out" / "compare.json").read_text())
    (query,) = told["queries"]
    rows = {row["method"]: row for row in query["solutions"]}
    assert list(rows) == ["rrt", "rrt-pybullet", "shortcut", "shortest", "smooth", "time-optimal"]
    assert told["not_as_expected"] == []
    for method in ("rrt", "rrt-pybullet", "shortcut", "smooth", "time-optimal"):
        assert rows[method]["good"], method
    for title in ("RRT", "PyBullet", "shortcut", "shortest", "smooth", "time-"):
        assert title in out
    assert rows["smooth"]["duration_s"] < rows["shortcut"]["duration_s"]
    rrt = np.load(tmp_path / "out" / "trajectory_rrt.npy", allow_pickle=False)
    opt = np.load(tmp_path / "out" / "trajectory_opt.npy", allow_pickle=False)
    assert rrt.shape == (rows["rrt"]["waypoints"], 7)
    assert np.allclose(rrt[[0, -1]], opt[[0, -1]], atol=1e-8)
    assert np.allclose(rrt[0], query["start"])
    qp = np.load(tmp_path / "out" / "trajectory_qp.npy", allow_pickle=False)
    straight = rrt[0] + np.linspace(0, 1, len(qp))[:, None] * (rrt[-1] - rrt[0])
    assert len(qp) == rows["shortest"]["waypoints"]
    assert np.allclose(qp, straight, atol=1e-5)  # in equal steps: the optimum of the program
    lengths = np.linalg.norm(np.diff(rrt, axis=0), axis=1).sum()
    assert rows["rrt"]["joint_length_rad"] == pytest.approx(lengths, rel=1e-4)
    assert (tmp_path / "out" / "compare.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_random_queries_are_summed_up(run, tmp_path):
    status, out, _ = run("--query", "random", 3, "--no-video", "--out", "out")
    told = json.loads((tmp_path / "out" / "compare.json").read_text())
    assert status == (1 if told["not_as_expected"] else 0)
    assert told["queries_done"] == 3
    assert names(tmp_path / "out") == SEED_FILES
    for row in told["summary"]:
        solutions = [
            next(s for s in q["solutions"] if s["method"] == row["method"]) for q in told["queries"]
        ]
        assert row["good"] == sum(s.get("good", False) for s in solutions)
        if row["good"]:
            durations = [s["duration_s"] for s in solutions if s.get("good")]
            assert row["duration_s"]["median"] == pytest.approx(np.median(durations), rel=1e-6)
    assert "3 queries" in out


def test_a_file_of_ones_own(run, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("galley_query: 1\ngoal: {arm: [1.0, -0.57, 0.0, -2.5, 0.0, 3.0, 0.7]}\n")
    status, _, err = run("--query", file, "--no-video", "--out", "out")
    assert (status, err) == (0, "")
    told = json.loads((tmp_path / "out" / "compare.json").read_text())
    opt = np.load(tmp_path / "out" / "trajectory_opt.npy")
    assert np.allclose(opt[-1], [1.0, -0.57, 0.0, -2.5, 0.0, 3.0, 0.7], atol=1e-8)
    assert told["queries"][0]["query"] == "mine"


def test_a_goal_out_of_reach_is_refused_in_a_sentence(run, tmp_path):
    file = tmp_path / "far.yaml"
    file.write_text("galley_query: 1\ngoal: {hand: {xyz: [9, 0, 1]}}\n")
    status, _, err = run("--query", file, "--no-video", "--out", "out")
    assert status == 1
    assert err.startswith("unreachable: goal: ")
    assert len(err.splitlines()) == 1
    assert names(tmp_path) == ["far.yaml"]


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["--query", "random"], "random needs a number of queries"),
        (["--query", "random", "0"], "must be 1 or more"),
        (["--query", "seed", "3"], "seed, random N, or one file"),
        (["--query", "nowhere.yaml"], "nowhere.yaml: no such file"),
        (["--query", "random", "2", "--distance", "0.7"], "needs --query seed"),
        (["--scene", "nowhere.yaml"], "nowhere.yaml: no such file"),
    ],
)
def test_usage(run, tmp_path, words, fault):
    status, _, err = run(*words)
    assert status == 2
    assert fault in err.splitlines()[-1]
    assert "Traceback" not in err
    assert names(tmp_path) == []


NO_QUERY = Failure(FailureKind.BUDGET, "random query 1: no two free arm configurations")


@pytest.mark.parametrize("order", quick_first(1, [(0, 0, 1), (0, 1, 0), (1, 0, 0)]))
def test_queries_that_can_not_be_made_are_faults_wherever_they_stand(
    order, run, tmp_path, monkeypatch, query
):
    queries = [query if made else NO_QUERY for made in order]
    monkeypatch.setattr(runner, "random_queries", lambda *_: iter(queries))
    status, _, err = run("--query", "random", 3, "--no-video", "--out", "out")
    assert status == 1
    told = json.loads((tmp_path / "out" / "compare.json").read_text())
    assert (told["queries_asked"], told["queries_done"]) == (3, 1)
    assert told["not_as_expected"] == [str(NO_QUERY)] * 2
    assert err.splitlines() == [f"not as expected: {NO_QUERY}"] * 2


@pytest.mark.slow
def test_an_interrupt_keeps_what_is_finished(run, tmp_path, monkeypatch):
    real, calls = runner.run_methods, []

    def solve(*arguments, **options):
        calls.append(arguments)
        if len(calls) == 4:  # one to warm up, two queries
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(runner, "run_methods", solve)
    status, _, err = run("--query", "random", 5, "--no-video", "--out", "out")
    assert status == 130
    assert err == "interrupted; completed results are kept\n"
    told = json.loads((tmp_path / "out" / "compare.json").read_text())
    assert (told["queries_asked"], told["queries_done"]) == (5, 2)
    assert names(tmp_path) == ["out"]


@pytest.mark.slow
def test_four_films_of_which_one_shows_both(run, tmp_path):
    status, _, _ = run("--out", "out", "--height", 120, "--fps", 2, "--speed", 2)
    assert status == 0
    folder = tmp_path / "out"
    films = {n: folder / f"{n}.mp4" for n in ("rrt", "opt", "side_by_side", "qp")}
    told = json.loads((folder / "compare.json").read_text())
    seconds = {r["method"]: r["duration_s"] for r in told["queries"][0]["solutions"]}
    counts = {}
    for name, path in films.items():
        frames = imageio_ffmpeg.read_frames(str(path))
        width, height = next(frames)["size"]
        assert height == 120
        assert width == 212
        counts[name] = sum(1 for _ in frames)
    assert counts["side_by_side"] == counts["rrt"]
    assert counts["rrt"] - counts["opt"] == pytest.approx(
        (seconds["rrt"] - seconds["smooth"]) / 2 * 2, abs=1.01
    )
    assert names(folder) == sorted([*SEED_FILES, *(p.name for p in films.values())])
