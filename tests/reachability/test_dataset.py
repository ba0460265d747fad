"""Parquet shards of p(Q | H): bytes, resumption after a kill, split, refusals."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from galley.cli import main
from galley.domain.errors import BadInput
from galley.reachability.planar import DonutSampler, PlanarArm
from galley.reachability.planar.dataset import (
    INFO,
    DatasetSettings,
    load,
    read_settings,
    write_dataset,
)

LIMITS = ((-1.2, 2.0), (-2.4, 2.4))
SAMPLER = DonutSampler(PlanarArm(1.0, 0.8, LIMITS), 0.05, 0.4)
SETTINGS = DatasetSettings(
    SAMPLER, 2500, bounds=((-2.0, 1.0), (0.0, 3.0)), seed=7, every=4, shard_bases=700
)


def digests(folder):
    return {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in folder.iterdir()}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dataset")
    assert write_dataset(SETTINGS, folder, workers=1) == []
    return folder


def test_bytes_do_not_depend_on_the_workers(written, tmp_path):
    assert write_dataset(SETTINGS, tmp_path, workers=2) == []
    assert digests(tmp_path) == digests(written)
    assert len(digests(written)) == 5  # four shards and dataset.json


def test_rows_reach_their_target_from_the_ring_within_limits(written):
    rows = load(written, "all")
    hand = SAMPLER.arm.fk(rows.q[:, :3], rows.q[:, 3:])
    np.testing.assert_allclose(hand, rows.target, atol=1e-12)
    r = np.linalg.norm(rows.q[:, :2] - rows.target, axis=1)
    assert r.min() >= SAMPLER.r_min - 1e-12
    assert r.max() <= SAMPLER.r_max + 1e-12
    low, high = np.array(LIMITS).T
    assert ((rows.q[:, 3:] >= low) & (rows.q[:, 3:] <= high)).all()
    assert (np.sign(np.sin(rows.q[:, 4])) == rows.elbow).all()
    box = np.array(SETTINGS.bounds)
    assert ((rows.target >= box[:, 0]) & (rows.target <= box[:, 1])).all()


def test_number_of_rows_is_that_of_the_keep_rate(written):
    rows, info = load(written, "all"), json.loads((written / INFO).read_text())
    assert info["rows"] == len(rows) == sum(info["rows_of_shards"])
    # Rows of one base are dependent: the standard error is at most that of n bases of two rows.
    n, rate = SETTINGS.bases, SAMPLER.keep_rate()
    assert abs(len(rows) - 2 * n * rate) < 4 * 2 * np.sqrt(n * rate * (1 - rate))
    assert info["keep_rate"] == rate


def test_shards_are_independent_streams(written):
    rows = load(written, "all")
    first = rows.q[rows.source < 700]
    second = rows.q[(rows.source >= 700) & (rows.source < 1400)]
    assert not np.isin(first[:, 0], second[:, 0]).any()
    # By numpy's own spawning, not by the key that the shard is made with.
    stream = np.random.SeedSequence(7).spawn(3)[2]
    again = np.random.default_rng(stream).uniform([-2, 0], [1, 3], (700, 2))
    third = (rows.source >= 1400) & (rows.source < 2100)
    np.testing.assert_array_equal(rows.target[third], again[rows.source[third] - 1400])


def test_no_base_is_in_both_splits(written):
    train, validation, everything = (load(written, each) for each in ("train", "validation", "all"))
    assert not set(train.source) & set(validation.source)
    assert len(train) + len(validation) == len(everything)
    assert (validation.source % 4 == 3).all()
    assert len(set(validation.source)) / len(set(everything.source)) == pytest.approx(
        0.25, abs=0.04
    )


def test_settings_and_metadata_survive(written):
    assert read_settings(written) == SETTINGS
    for k in range(SETTINGS.shards):
        stored = pq.read_metadata(written / f"shard-{k:05d}.parquet").metadata[b"galley"]
        record = json.loads(stored)
        assert record["shard"] == k
        assert DatasetSettings.of_record(record["settings"]) == SETTINGS
        assert record["rows_are"].startswith("a row for each base and each elbow")


@pytest.mark.parametrize(
    ("sampler", "columns"),
    [(replace(SAMPLER, heading_sigma=0.0), 8), (replace(SAMPLER, branches="one"), 9)],
    ids=["no psi", "one row for each base"],
)
def test_other_charts(sampler, columns, tmp_path):
    settings = replace(SETTINGS, sampler=sampler, bounds=None, target=(1.0, 2.0))
    write_dataset(settings, tmp_path, workers=1)
    assert len(pq.read_schema(tmp_path / "shard-00000.parquet").names) == columns
    rows = load(tmp_path, "all")
    assert np.isfinite(sampler.log_density(rows.q, rows.target)).all()
    assert (rows.target == (1.0, 2.0)).all()
    if sampler.branches == "one":
        assert len(np.unique(rows.source)) == len(rows)


def test_resumes_after_a_kill_without_loss_or_duplicates(tmp_path):
    options = [
        "--bases",
        "300000",
        "--shard",
        "20000",
        "--jobs",
        "1",
        "--limits",
        "-1",
        "1",
        "-2",
        "2",
    ]
    call = [sys.executable, "-m", "galley", "reach", "sample", *options, "--out"]
    killed = subprocess.Popen(
        [*call, str(tmp_path / "killed")], stdout=subprocess.DEVNULL, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while not (tmp_path / "killed" / "shard-00002.parquet").exists():
        assert time.monotonic() < deadline
        assert killed.poll() is None, "ended before it was killed"
        time.sleep(0.005)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    there = len(list((tmp_path / "killed").glob("shard-*.parquet")))
    assert 3 <= there < 15
    with pytest.raises(BadInput, match=f"unfinished, {there} of 15 shards"):
        load(tmp_path / "killed")
    kept = (tmp_path / "killed" / "shard-00000.parquet").stat().st_mtime_ns
    for name in ("killed", "whole"):
        assert main([*call[3:], str(tmp_path / name)]) == 0
    assert (tmp_path / "killed" / "shard-00000.parquet").stat().st_mtime_ns == kept
    assert digests(tmp_path / "killed") == digests(tmp_path / "whole")


def test_a_damaged_shard_is_written_again(written, tmp_path):
    write_dataset(SETTINGS, tmp_path, workers=1)
    path = tmp_path / "shard-00001.parquet"
    path.write_bytes(path.read_bytes()[:1000])
    assert write_dataset(SETTINGS, tmp_path, workers=1) == []
    assert digests(tmp_path) == digests(written)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seed": 8}, "seed 7, not 8"),
        ({"bases": 2600}, "bases 2500, not 2600"),
        ({"sampler": replace(SAMPLER, radial="area")}, "radial linear, not area"),
        ({"sampler": replace(SAMPLER, epsilon=0.06)}, r"epsilon 0\.05, not 0\.06"),
    ],
    ids=["seed", "bases", "radial", "epsilon"],
)
def test_other_settings_are_refused_by_name(change, named, written):
    before = digests(written)
    with pytest.raises(BadInput, match=named):
        write_dataset(replace(SETTINGS, **change), written)
    assert digests(written) == before


def test_another_version_is_refused_by_name(tmp_path):
    write_dataset(SETTINGS, tmp_path, workers=1)
    info = json.loads((tmp_path / INFO).read_text())
    info["versions"]["numpy"] = "1.0"
    (tmp_path / INFO).write_text(json.dumps(info))
    with pytest.raises(BadInput, match=r"made with numpy 1\.0"):
        write_dataset(SETTINGS, tmp_path, workers=1)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{", "is not JSON"),
        ("[]", "is not a dataset"),
        ("{}", "is not a dataset"),
        ('{"format": 99}', "has format 99"),
        ('{"format": 1, "settings": {"l1": 1}}', "is not a dataset"),
        (None, "has no dataset"),
    ],
)
def test_a_folder_that_is_no_dataset(text, named, tmp_path):
    if text is not None:
        (tmp_path / INFO).write_text(text)
    for read in (load, read_settings):
        with pytest.raises(BadInput, match=named):
            read(tmp_path)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"bases": 0}, "bases must be 1 or more, got 0"),
        ({"seed": -1}, "seed must be 0 or more, got -1"),
        ({"every": 1}, "every must be 2 or more, got 1"),
        ({"target": (0.0, 0.0)}, "give one of target and bounds"),
        ({"bounds": ((1.0, -1.0), (0.0, 1.0))}, "bounds must be"),
        ({"bounds": None, "target": (np.nan, 0.0)}, "target must be finite"),
    ],
)
def test_bad_settings(change, named):
    with pytest.raises(ValueError, match=named):
        replace(SETTINGS, **change)
