"""Parquet shards of p(Q | H): bytes, resumption after a kill, split, refusals."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from galley.domain.errors import BadInput
from galley.learning.shards import INFO
from galley.planar.reach import DonutSampler, PlanarArm
from galley.planar.reach.dataset import DatasetSettings, load, read_settings, write_dataset
from galley.tests.digests import digests

LIMITS = ((-1.2, 2.0), (-2.4, 2.4))
SAMPLER = DonutSampler(PlanarArm(1.0, 0.8, LIMITS), 0.05, 0.4)
SETTINGS = DatasetSettings(
    SAMPLER, 2500, bounds=((-2.0, 1.0), (0.0, 3.0)), seed=7, every=4, shard_bases=700
)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dataset")
    assert write_dataset(SETTINGS, folder, workers=1) == []
    return folder


def test_bytes_do_not_depend_on_the_workers(written, tmp_path):
    assert write_dataset(SETTINGS, str(tmp_path), workers=2) == []
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


def test_goes_on_where_it_was_stopped_and_writes_a_damaged_shard_again(written, tmp_path):
    def stop(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_dataset(SETTINGS, tmp_path, workers=1, progress=stop)
    with pytest.raises(BadInput, match="unfinished, 2 of 4 shards"):
        load(tmp_path)
    kept, damaged = (tmp_path / f"shard-0000{k}.parquet" for k in (0, 1))
    when = kept.stat().st_mtime_ns
    damaged.write_bytes(damaged.read_bytes()[:1000])
    assert write_dataset(SETTINGS, tmp_path, workers=1) == []
    assert kept.stat().st_mtime_ns == when
    assert digests(tmp_path) == digests(written)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seed": 8}, "seed 7, not 8"),
        ({"bases": 2600}, "bases 2500, not 2600"),
        ({"sampler": replace(SAMPLER, epsilon=0.06)}, r"epsilon 0\.05, not 0\.06"),
    ],
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
        ('{"format": 3, "settings": {"l1": 1}}', "doesn't hold rows"),
        (None, "has no rows"),
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
        ({"target": (0.0, 0.0)}, "give one of target and bounds"),
        ({"bounds": ((1.0, -1.0), (0.0, 1.0))}, "bounds must be"),
        ({"bounds": None, "target": (np.nan, 0.0)}, "target must be finite"),
        ({"obstacles": (("star", (0.0, 0.0, 1.0)),)}, "shapes are circle"),
        ({"view": 9.0}, "view must be in"),
        ({"scores": (("speed", 1.0),)}, "got 'speed'"),
        ({"threshold": 0.5}, "threshold 0.5 needs scores"),
    ],
)
def test_bad_settings(change, named):
    with pytest.raises(ValueError, match=named):
        replace(SETTINGS, **change)


def test_filters_leave_the_rows_and_the_density_that_they_say(tmp_path):
    settings = replace(
        SETTINGS,
        bounds=None,
        target=(1.0, 2.0),
        obstacles=(("circle", (1.6, 2.0, 0.2)), ("box", (0.4, 1.0, 0.3, 0.2, 0.5))),
        forbidden=(("polygon", (-1.0, 2.0, 0.0, 2.0, 0.0, 3.0)),),
        margin=0.01,
        scores=(("manipulability", 2.0), ("margin", 1.0)),
        threshold=2.0,
    )
    write_dataset(settings, tmp_path, workers=1)
    assert read_settings(tmp_path) == settings
    rows = load(tmp_path, "all")
    assert 100 < len(rows) < 2500
    points = SAMPLER.arm.chain.points(rows.q[:, :3], rows.q[:, 3:])
    line = np.linspace(0.0, 1.0, 60)[:, None, None]
    links = np.concatenate([(1 - line) * points[:, k] + line * points[:, k + 1] for k in (0, 1)])
    assert np.hypot(*(links - (1.6, 2.0)).T).min() > 0.2 + 0.01 + 0.02  # and half a link's width
    c, s = np.cos(0.5), np.sin(0.5)
    along = (links - (0.4, 1.0)) @ np.array([[c, -s], [s, c]])
    assert (np.abs(along) > (0.15, 0.1)).any(axis=2).all()
    x, y = rows.q[:, :2].T
    assert not ((x > y - 3.0) & (x < 0.0) & (y > 2.0)).any()
    low, high = np.array(LIMITS).T
    theta = rows.q[:, 3:]
    margin = (2 * np.minimum(theta - low, high - theta) / (high - low)).min(axis=1)
    assert (2 * np.abs(np.sin(theta[:, 1])) + margin).min() >= 2.0
    # A hard filter leaves the density as it was, over the share that is kept.
    logs = settings.law().log_density(rows.q, rows.target)
    ratio = logs - SAMPLER.log_density(rows.q, rows.target)
    kept = len(rows) / (2 * SETTINGS.bases * SAMPLER.keep_rate())
    np.testing.assert_allclose(ratio, ratio[0])
    assert np.exp(-ratio[0]) == pytest.approx(kept, abs=0.03)


def test_a_view_leaves_rows_that_face_the_target(tmp_path):
    settings = replace(SETTINGS, view=1.0)
    write_dataset(settings, tmp_path, workers=1)
    rows, everything = load(tmp_path, "all"), replace(settings, view=None).sample(0)
    assert 0 < len(rows) < settings.bases * 2 * SAMPLER.keep_rate()
    ahead = np.column_stack([np.cos(rows.q[:, 2]), np.sin(rows.q[:, 2])])
    camera = rows.q[:, :2] + 0.15 * ahead  # the middle of the front side
    sight = rows.target - camera
    cosine = (sight * ahead).sum(axis=1) / np.linalg.norm(sight, axis=1)
    assert cosine.min() >= np.cos(0.5)
    assert np.isin(rows.q[rows.source < 700, 0], everything.q[:, 0]).all()
