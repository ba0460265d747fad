"""A folder of episodes: bytes, resumption after a kill, and what is refused."""

import errno
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

from galley.domain.errors import BadInput
from galley.learning.demonstrations import collect, read_collection, read_folder
from galley.learning.demonstrations.card import CARD
from galley.learning.shards import INFO
from galley.tests.digests import digests
from galley.tests.learning.demonstrations.made import (
    COLLECTION,
    assert_same,
    episode,
    full_disk,
    raise_at_three,
    run_seed,
    run_slowly,
)


def test_a_damaged_file_of_another_seed_stops_nothing(tmp_path, caplog):
    collect(run_seed, range(2), COLLECTION, tmp_path, workers=1)
    for seed, keep in ((0, 0.5), (1, 0.9)):
        path = tmp_path / f"episode-{seed:06d}.parquet"
        path.write_bytes(path.read_bytes()[: int(keep * path.stat().st_size)])
    assert collect(run_seed, [5], COLLECTION, tmp_path, workers=1) == {}
    assert "episode-000000.parquet: can't be read" in caplog.text
    assert "episodes: 1," in (tmp_path / CARD).read_text()


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path):
    (tmp_path / "README.md").write_text("mine")
    with pytest.raises(BadInput, match="has other files"):
        collect(run_seed, [0], COLLECTION, tmp_path, workers=1)
    assert digests(tmp_path).keys() == {"README.md"}
    assert (tmp_path / "README.md").read_text() == "mine"


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demonstrations") / "push"
    assert collect(run_seed, range(8), COLLECTION, str(folder), workers=1) == {}
    return folder


def test_bytes_depend_neither_on_workers_nor_on_order(collected, tmp_path):
    assert collect(run_seed, [7, 2, 5, 0, 1, 6, 4, 3], COLLECTION, tmp_path, workers=2) == {}
    assert digests(tmp_path) == digests(collected)
    assert len(digests(tmp_path)) == 8 + 2  # dataset.json and the card


def test_a_folder_gives_back_its_episodes_in_the_order_of_seeds(collected):
    found = read_folder(collected)
    for seed, each in enumerate(found):
        assert_same(episode(seed), each)
        assert found.infos[seed] == each.info
    assert read_collection(collected) == COLLECTION


def test_pyarrow_reads_an_episode_without_us(collected):
    table = pq.read_table(collected / "episode-000005.parquet")
    whole = episode(5)
    assert table["time"].to_pylist() == whole.times.tolist()
    assert table["action"].to_pylist() == whole.actions.tolist()
    assert table["observation.keypoint"].to_pylist() == whole.observations["keypoint"].tolist()
    first = table["observation.img"][0].as_py()
    assert first == whole.observations["img"][0].tobytes()
    assert table.schema.field("observation.img").metadata == {b"shape": b"[16, 12, 3]"}
    about = json.loads(table.schema.metadata[b"galley"])
    assert about["settings"] == COLLECTION.settings
    assert about["episode"]["metadata"] == whole.metadata


def test_more_seeds_append_and_what_is_there_stays(collected, tmp_path):
    counts = []
    collect(run_seed, range(3), COLLECTION, tmp_path, workers=1)
    times = {each.name: each.stat().st_mtime_ns for each in tmp_path.glob("*.parquet")}
    collect(run_seed, range(8), COLLECTION, tmp_path, 1, progress=lambda *each: counts.append(each))
    assert {name: (tmp_path / name).stat().st_mtime_ns for name in times} == times
    assert counts == [(4, 8, 2), (5, 8, 3), (6, 8, 4), (7, 8, 4), (8, 8, 5)]
    assert digests(tmp_path) == digests(collected)


def test_resumes_after_a_kill_without_loss(tmp_path):
    code = (
        "from pathlib import Path\nfrom galley.learning.demonstrations import collect\n"
        "from galley.tests.learning.demonstrations.made import COLLECTION, run_slowly\n"
        "if __name__ == '__main__':\n"
        f"    collect(run_slowly, range(24), COLLECTION, Path({str(tmp_path / 'killed')!r}), 2)\n"
    )
    (tmp_path / "collect.py").write_text(code)
    process = subprocess.Popen([sys.executable, tmp_path / "collect.py"], start_new_session=True)
    try:
        deadline = time.monotonic() + 60
        while len(list(tmp_path.glob("killed/*.parquet"))) < 4:
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.002)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    left = digests(tmp_path / "killed")
    finished = {name: each for name, each in left.items() if name.startswith("episode")}
    assert 4 <= len(finished) < 24
    assert len(read_folder(tmp_path / "killed")) == len(finished)
    for folder in ("killed", "whole"):
        assert collect(run_slowly, range(24), COLLECTION, tmp_path / folder, workers=1) == {}
    assert digests(tmp_path / "killed").items() >= finished.items()
    assert digests(tmp_path / "killed") == digests(tmp_path / "whole")


def test_a_run_that_raises_costs_its_own_episode(tmp_path):
    lost = collect(raise_at_three, range(5), COLLECTION, tmp_path, workers=1)
    assert {seed: each.why for seed, each in lost.items()} == {
        3: "RuntimeError: no plan for seed 3"
    }
    assert [info.seed for info in read_folder(tmp_path).infos] == [0, 1, 2, 4]
    lost = collect(lambda seed: episode(seed + 1), [9], COLLECTION, tmp_path, workers=1)
    assert "the episode of seed 9 says seed 10" in lost[9].why


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_a_damaged_episode_is_named_and_collected_anew(damage, tmp_path, caplog):
    collect(run_seed, range(3), COLLECTION, tmp_path, workers=1)
    whole, path = digests(tmp_path), tmp_path / "episode-000001.parquet"
    data = bytearray(path.read_bytes())
    if damage == "flipped":
        data[len(data) // 2] ^= 0xFF
    path.write_bytes({"cut": data[: len(data) // 2], "flipped": data, "empty": b""}[damage])
    with pytest.raises(BadInput, match=r"episode-000001\.parquet: can't be read.*collect again"):
        list(read_folder(tmp_path))
    if damage == "flipped":  # found by its checksum when it is read, not when the folder is
        path.unlink()
    collect(run_seed, range(3), COLLECTION, tmp_path, workers=1)
    assert ("episode-000001.parquet: can't be read" in caplog.text) == (damage != "flipped")
    assert digests(tmp_path) == whole


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"task": "push-t", "speed": 0.6}, "made with speed 0.5, not 0.6; choose another folder"),
        ({"task": "push-t", "speed": 0.5, "arm": 5}, "made with arm None, not 5"),
    ],
)
def test_a_folder_of_other_settings_is_refused_and_unchanged(settings, message, collected):
    before = digests(collected)
    other = replace(COLLECTION, settings=settings)
    with pytest.raises(BadInput, match=message):
        collect(run_seed, range(9), other, collected, workers=1)
    assert digests(collected) == before


def test_a_stray_episode_of_other_settings_is_named_not_overwritten(collected, tmp_path):
    given = replace(COLLECTION, settings={"task": "b"}), tmp_path, 1
    collect(run_seed, range(2), *given)
    stray = tmp_path / "episode-000002.parquet"
    stray.write_bytes((collected / stray.name).read_bytes())
    before = digests(tmp_path)
    for call in (lambda: read_folder(tmp_path), lambda: collect(run_seed, range(3), *given)):
        with pytest.raises(BadInput, match=r"episode-000002\.parquet: was made with other"):
            call()
    assert digests(tmp_path) == before


@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk_stops_and_keeps_what_is_finished(workers, tmp_path):
    collect(run_seed, range(2), COLLECTION, tmp_path, workers=1)
    before = digests(tmp_path)
    with (
        full_disk(50_000),
        pytest.raises(OSError, match=r"can't be written: .*too large") as caught,
    ):
        collect(run_slowly, range(9), COLLECTION, tmp_path, workers)
    assert caught.value.errno == errno.EFBIG
    assert "episode-00000" in str(caught.value.filename)
    assert digests(tmp_path) == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "has no demonstrations"),
        ("{", r"dataset\.json: is not JSON"),
        ('{"format": 99}', "doesn't hold demonstrations in format 1"),
        ('{"format": 1}', "doesn't hold demonstrations: 'title'"),
    ],
)
def test_a_folder_of_something_else_is_refused(text, message, tmp_path):
    if text is not None:
        (tmp_path / INFO).write_text(text)
    with pytest.raises(BadInput, match=message):
        read_collection(tmp_path)


def test_the_card_says_what_the_folder_has(collected):
    text = (collected / CARD).read_text()
    steps = sum(len(episode(seed)) for seed in range(8))
    assert 'license: "cc0-1.0"' in text
    assert "episodes: 8, of which 5 succeeded, 3 failed, 0 not judged" in text
    assert f"- steps: {steps}, in " in text
    assert "| state | pusher x, y; block x, y (m), angle (rad), world frame |" in text
    assert '"speed": 0.5' in text
    assert f"numpy {np.__version__}" in text
