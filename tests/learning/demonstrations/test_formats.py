"""The two formats, read by zarr, pyarrow and Pillow, and then by our own readers."""

import io
import json
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
import zarr
from PIL import Image

from galley.domain.errors import BadInput
from galley.learning.demonstrations import (
    Demonstrations,
    Episode,
    read_replay_buffer,
    write_lerobot,
    write_replay_buffer,
)
from galley.tests.digests import digests
from galley.tests.learning.demonstrations.made import COLLECTION, assert_same, episode

SEEDS = range(6)
LENGTHS = [len(episode(seed)) for seed in SEEDS]
WRITERS = {"zarr": write_replay_buffer, "lerobot": write_lerobot}


def episodes():
    return Demonstrations.of(episode(seed) for seed in SEEDS)


def together(name):
    """The array of all episodes."""
    return np.concatenate([each.arrays[name] for each in episodes()])


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("formats")
    for name, write in WRITERS.items():
        write(episodes(), str(folder / name), COLLECTION)  # a path may be text
    return folder


@pytest.mark.parametrize("name", WRITERS)
def test_the_same_episodes_give_the_same_bytes(name, written, tmp_path):
    WRITERS[name](episodes(), tmp_path / "again", COLLECTION)
    assert digests(tmp_path / "again") == digests(written / name)


@pytest.mark.parametrize("name", WRITERS)
def test_episodes_that_can_not_be_written_leave_nothing(name, tmp_path):
    odd = [episode(0), episode(1, image=False)]
    with pytest.raises(ValueError, match=r"'img' is .* missing in episode 1"):
        WRITERS[name](Demonstrations.of(odd), tmp_path / "out", COLLECTION)
    with pytest.raises(ValueError, match="there are no episodes"):
        WRITERS[name](Demonstrations.of([]), tmp_path / "out", COLLECTION)
    assert list(tmp_path.iterdir()) == []


# -- diffusion_policy ------------------------------------------------------------------------------


def test_the_replay_buffer_has_upstreams_keys_types_and_shapes(written):
    root = zarr.open_group(written / "zarr", mode="r")
    assert root.metadata.zarr_format == 2
    ends = root["meta/episode_ends"]
    assert (ends.dtype, ends[:].tolist()) == (np.int64, np.cumsum(LENGTHS).tolist())
    found = {name: (array.dtype.name, array.shape[1:]) for name, array in root["data"].arrays()}
    assert found == {
        "action": ("float32", (2,)),
        "img": ("uint8", (16, 12, 3)),
        "keypoint": ("float32", (9, 2)),
        "n_contacts": ("int64", (1,)),
        "state": ("float32", (5,)),
        "touching": ("bool", (2,)),
    }
    for name, array in root["data"].arrays():
        np.testing.assert_array_equal(array[:], together(name).astype(array.dtype))
        codec = json.loads((written / "zarr" / "data" / name / ".zarray").read_text())["compressor"]
        assert (codec["id"], codec["cname"], codec["clevel"], codec["shuffle"]) == (
            "blosc",
            "zstd",
            5,
            2,  # bits
        )


def test_chunks_are_of_2_megabytes_along_the_steps(tmp_path):
    parts = []
    for seed, length in enumerate((30, 75, 1, 60)):  # episodes end within chunks, and span them
        image = np.random.default_rng(seed).integers(0, 256, (length, 96, 96, 3), dtype=np.uint8)
        parts.append(Episode({"img": image}, np.full((length, 2), seed), np.arange(length)))
    write_replay_buffer(Demonstrations.of(parts), tmp_path / "z", COLLECTION)
    data = zarr.open_group(tmp_path / "z", mode="r")["data"]
    assert data["img"].chunks == (73, 96, 96, 3)  # ceil(2e6 / 27648)
    assert data["action"].chunks == (166, 2)
    wanted = np.concatenate([each.observations["img"] for each in parts])
    np.testing.assert_array_equal(data["img"][:], wanted)
    for a, b in zip(parts, read_replay_buffer(tmp_path / "z"), strict=True):
        assert_same(a, b, exactly=False)


def test_the_replay_buffer_gives_back_all_but_the_width_of_floats(written):
    found = read_replay_buffer(written / "zarr")
    for seed, each in enumerate(found):
        assert_same(episode(seed), each, exactly=False)
        assert each.info == found.infos[seed] == episode(seed).info


def test_what_is_no_image_is_not_read_as_one(tmp_path):
    root = zarr.create_group(tmp_path / "buffer", zarr_format=2)
    data, meta = root.create_group("data"), root.create_group("meta")
    data.create_array("img", data=np.full((4, 8, 8, 3), 0.5, np.float32))
    data.create_array("action", data=np.ones((4, 2), np.float32))
    meta.create_array("episode_ends", data=np.array([4]))
    found = read_replay_buffer(tmp_path / "buffer", images=("img",))
    with pytest.raises(BadInput, match="whole numbers from 0 to 255"):
        found[0]


def test_the_public_push_t_buffer_is_read(tmp_path):
    """Its layout: five arrays of float32, images too, and nothing in meta but the ends."""
    rng, ends = np.random.default_rng(0), [16, 28, 42]
    shapes = {"action": 2, "img": (96, 96, 3), "keypoint": (9, 2), "n_contacts": 1, "state": 5}
    root = zarr.create_group(tmp_path / "pusht", zarr_format=2)
    data, meta = root.create_group("data"), root.create_group("meta")
    arrays = {}
    for name, shape in shapes.items():
        values = rng.integers(0, 256, (42, *np.atleast_1d(shape))).astype(np.float32)
        arrays[name] = values * (name != "n_contacts")  # zarr 2 leaves out chunks of zeros
        data.create_array(name, data=arrays[name], chunks=(16, *values.shape[1:]))
    meta.create_array("episode_ends", data=np.array(ends))
    assert not (tmp_path / "pusht" / "data" / "n_contacts" / "0.0").exists()
    found = read_replay_buffer(tmp_path / "pusht", rate=10, images=("img",))
    assert [(e.length, e.success, e.seed) for e in found.infos] == [
        (16, None, None),
        (12, None, None),
        (14, None, None),
    ]
    second = found[1]
    assert set(second.observations) == {"img", "keypoint", "n_contacts", "state"}
    assert second.observations["img"].dtype == np.uint8
    for name, values in second.arrays.items():
        np.testing.assert_array_equal(values, arrays[name][16:28])
    np.testing.assert_allclose(second.times, np.arange(12) / 10)
    assert second.info == found.infos[1]


def _remove(path):
    path.unlink()


def _cut(path):
    path.write_bytes(path.read_bytes()[:-20])


@pytest.mark.parametrize(
    ("file", "damage", "message"),
    [
        ("data/state/0.0", _remove, "data/state has 0 of its 1 chunks; export it again"),
        ("data/state/0.0", _cut, "data/state: can't be read as an array"),
        ("meta/episode_ends/0", _cut, "zarr: can't be read as a replay buffer"),
        ("meta/episode_ends/.zarray", _remove, "zarr: can't be read as a replay buffer"),
        ("data/action/.zarray", _remove, "has no data/action; it has img, "),
        ("meta/success/.zarray", _remove, "zarr: can't be read as a replay buffer"),
    ],
    ids=["chunk gone", "chunk cut", "ends cut", "no ends", "no action", "no success"],
)
@pytest.mark.filterwarnings("ignore:Object at")  # zarr says too that something is missing
def test_a_damaged_replay_buffer_is_named(file, damage, message, tmp_path):
    write_replay_buffer(episodes(), tmp_path / "zarr", COLLECTION)
    damage(tmp_path / "zarr" / file)
    with pytest.raises(BadInput, match=message):
        list(read_replay_buffer(tmp_path / "zarr"))


@pytest.mark.parametrize(
    ("ends", "message"),
    [([3, 3], "must increase"), ([2, 5], "has 4 steps, meta/episode_ends says 5")],
)
def test_ends_that_do_not_fit_are_refused(ends, message, tmp_path):
    root = zarr.create_group(tmp_path / "z", zarr_format=2)
    root.create_array("data/action", data=np.zeros((4, 2)))
    root.create_array("meta/episode_ends", data=np.array(ends))
    with pytest.raises(BadInput, match=message):
        read_replay_buffer(tmp_path / "z")


# -- LeRobot ---------------------------------------------------------------------------------------


def test_lerobots_info_describes_every_column_of_the_steps(written):
    info = json.loads((written / "lerobot" / "meta" / "info.json").read_text())
    assert (info["codebase_version"], info["fps"]) == ("v3.0", 10)
    assert (info["total_episodes"], info["total_frames"], info["total_tasks"]) == (
        len(SEEDS),
        sum(LENGTHS),
        2,
    )
    path = info["data_path"].format(chunk_index=0, file_index=0)
    assert path == "data/chunk-000/file-000.parquet"
    table = pq.read_table(written / "lerobot" / path)
    features = info["features"]
    assert set(table.column_names) == set(features)
    assert features["observation.images.img"] == {
        "dtype": "image",
        "shape": [16, 12, 3],
        "names": ["height", "width", "channels"],
    }
    assert (features["action"]["dtype"], features["action"]["shape"]) == ("float32", [2])
    assert (features["observation.keypoint"]["shape"], features["index"]["shape"]) == ([9, 2], [1])
    np.testing.assert_array_equal(
        np.array(table["observation.state"].to_pylist(), np.float32),
        together("state").astype(np.float32),
    )
    png = table["observation.images.img"][3]["bytes"].as_py()
    np.testing.assert_array_equal(np.array(Image.open(io.BytesIO(png))), together("img")[3])
    frames = [k for n in LENGTHS for k in range(n)]
    assert table["index"].to_pylist() == list(range(sum(LENGTHS)))
    assert table["frame_index"].to_pylist() == frames
    assert table["timestamp"].to_pylist() == [float(np.float32(k / 10)) for k in frames]
    assert table["episode_index"].to_pylist() == np.repeat(SEEDS, LENGTHS).tolist()
    assert table["task_index"].to_pylist() == [
        seed % 2 for seed in table["episode_index"].to_pylist()
    ]


def test_lerobots_episodes_and_tasks_say_where_and_what(written):
    meta = written / "lerobot" / "meta"
    rows = pq.read_table(meta / "episodes" / "chunk-000" / "file-000.parquet").to_pylist()
    stops = np.cumsum(LENGTHS).tolist()
    for k, row in enumerate(rows):
        assert (row["episode_index"], row["length"]) == (k, LENGTHS[k])
        assert (row["dataset_from_index"], row["dataset_to_index"]) == ([0, *stops][k], stops[k])
        assert (row["data/chunk_index"], row["data/file_index"]) == (0, 0)
        assert row["tasks"] == [f"task {k % 2}"]
        assert (row["success"], row["seed"]) == (k % 3 != 0, k)
        assert row["stats/action/max"] == pytest.approx(
            episode(k).actions.astype(np.float32).max(axis=0).tolist()
        )
        assert row["stats/action/count"] == [LENGTHS[k]]
    tasks = pq.read_table(meta / "tasks.parquet")
    assert tasks.to_pydict() == {"task_index": [0, 1], "task": ["task 0", "task 1"]}
    assert json.loads(tasks.schema.metadata[b"pandas"])["index_columns"] == ["task"]


def test_lerobot_gets_the_names_of_joints_where_the_meaning_has_as_many(tmp_path):
    one = Episode({"state": np.zeros((2, 3))}, np.zeros((2, 3)), [0.0, 0.5])
    arrays = {"state": "pan, lift, gripper (m, rad): measured", "action": "pan, lift (rad)"}
    write_lerobot(Demonstrations.of([one]), tmp_path / "out", replace(COLLECTION, arrays=arrays))
    features = json.loads((tmp_path / "out" / "meta" / "info.json").read_text())["features"]
    assert features["observation.state"]["names"] == ["pan", "lift", "gripper"]
    assert features["action"]["names"] is None


def test_no_policy_of_lerobot_sees_the_index_of_a_text(tmp_path):
    """LeRobot's policies take every column whose name begins with ``observation``."""
    one = episode(0)
    index = np.zeros((len(one), 1), dtype=np.int64)
    texts = {**one.metadata, "phase": ["reach"]}
    told = replace(one, observations={**one.observations, "phase": index}, metadata=texts)
    write_lerobot(Demonstrations.of([told]), tmp_path / "out", COLLECTION)
    features = json.loads((tmp_path / "out/meta/info.json").read_text())["features"]
    assert features["phase"]["dtype"] == "int64"
    assert "observation.phase" not in features


def test_lerobots_statistics_are_those_of_all_steps(written):
    stats = json.loads((written / "lerobot" / "meta" / "stats.json").read_text())
    state = together("state").astype(np.float32).astype(float)
    np.testing.assert_allclose(stats["observation.state"]["mean"], state.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(stats["observation.state"]["std"], state.std(axis=0), rtol=1e-6)
    image = stats["observation.images.img"]
    assert np.shape(image["mean"]) == (3, 1, 1)
    pixels = together("img") / 255
    np.testing.assert_allclose(np.ravel(image["mean"]), pixels.mean(axis=(0, 1, 2)))
    np.testing.assert_allclose(np.ravel(image["std"]), pixels.std(axis=(0, 1, 2)))
    assert stats["index"]["max"] == [sum(LENGTHS) - 1]


def test_grey_images_get_three_channels_and_tasks_default_to_the_title(tmp_path):
    grey = np.arange(24, dtype=np.uint8).reshape(2, 4, 3, 1)
    one = Episode({"eye": grey}, np.zeros((2, 1)), [0.0, 0.5])
    planar = replace(COLLECTION, settings={"robot": "planar"})
    write_lerobot(Demonstrations.of([one]), tmp_path / "out", planar)
    info = json.loads((tmp_path / "out" / "meta" / "info.json").read_text())
    assert (info["fps"], info["robot_type"]) == (2, "planar")
    table = pq.read_table(tmp_path / "out" / "data" / "chunk-000" / "file-000.parquet")
    png = table["observation.images.eye"][1]["bytes"].as_py()
    np.testing.assert_array_equal(np.array(Image.open(io.BytesIO(png))), np.repeat(grey[1], 3, 2))
    tasks = pq.read_table(tmp_path / "out" / "meta" / "tasks.parquet")
    assert tasks["task"].to_pylist() == [COLLECTION.title]
    assert table["action"].to_pylist() == [0.0, 0.0]  # one number a step is no list


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([0, 0.1, 0.25], "episode 0 is not at 8 steps per second: a time is 0.025 s off"),
        ([0, 0.3, 0.6], "episode 0 is not at 3 steps per second"),
        ([0], "the first episode has one step"),
    ],
)
def test_lerobot_needs_a_constant_rate(times, message, tmp_path):
    one = Episode({}, np.zeros((len(times), 1)), times)
    with pytest.raises(ValueError, match=message):
        write_lerobot(Demonstrations.of([one]), tmp_path / "out", COLLECTION)
    assert list(tmp_path.iterdir()) == []
