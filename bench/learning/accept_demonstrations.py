"""Do learners read our demonstrations? ``python bench/learning/accept_demonstrations.py --help``.

Exports demonstrations and checks keys, types, shapes and chunks by zarr and pyarrow. With
``--diffusion-policy CHECKOUT`` upstream's ReplayBuffer and SequenceSampler read them too, with
``--lerobot`` LeRobotDataset; each in an environment of its own, which is made first. To have
LeRobot's torch without CUDA, set ``PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import venv
from math import ceil, prod
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet
import zarr

from galley.learning.demonstrations import (
    Collection,
    Demonstrations,
    Episode,
    read_collection,
    read_folder,
    write_lerobot,
    write_replay_buffer,
)

READERS = Path(__file__).with_name("demonstration_readers.py")
DIFFUSION_POLICY = ("zarr<3", "numcodecs<0.16", "numba")
# Its requirements are 8 GB. These are what its dataset needs, the last two without theirs.
LEROBOT = (
    ("torch==2.13.0", "datasets<5", "huggingface-hub<0.36", "av<16", "pillow", "safetensors"),
    ("--no-deps", "lerobot==0.4.4", "accelerate", "psutil"),
)
AUTOMATIC = ("timestamp", "frame_index", "episode_index", "index", "task_index")


def made(seed: int) -> Episode:
    """An episode in the layout of Push-T, with random numbers."""
    rng = np.random.default_rng(seed)
    T = int(rng.integers(40, 90))
    path = np.cumsum(rng.normal(size=(T, 5)), axis=0)
    image = np.full((T, 96, 96, 3), 255, dtype=np.uint8)
    for k, (x, y) in enumerate(np.clip(48 + 3 * path[:, :2], 8, 88).astype(int)):
        image[k, y - 8 : y + 8, x - 8 : x + 8] = (119, 136, 153)
    return Episode(
        {
            "img": image,
            "state": path,
            "keypoint": rng.normal(size=(T, 9, 2)),
            "n_contacts": rng.integers(0, 3, (T, 1)).astype(np.float32),
        },
        path[:, :2] + rng.normal(size=(T, 2)),
        np.arange(T) / 10,
        success=bool(seed % 4),
        seed=seed,
        metadata={"task": "Push the T onto its place"},
    )


def expected_of(demonstrations: Demonstrations) -> dict[str, np.ndarray]:
    """All steps of every array, as learners should see them, and the ends of episodes."""
    episodes = list(demonstrations)
    found = {"ends": np.cumsum([len(each) for each in episodes])}
    for name in episodes[0].arrays:
        values = np.concatenate([each.arrays[name] for each in episodes])
        found[name] = values.astype(np.float32) if values.dtype == np.float64 else values
    return found


def check_replay_buffer(folder: Path, expected: dict[str, np.ndarray]) -> None:
    """Keys, types, shapes, chunks and compression, by zarr."""
    root = zarr.open_group(folder, mode="r")
    assert root.metadata.zarr_format == 2
    assert root["meta/episode_ends"].dtype == np.int64
    np.testing.assert_array_equal(root["meta/episode_ends"][:], expected["ends"])
    arrays = dict(root["data"].arrays())
    assert set(arrays) == set(expected) - {"ends"}
    for name, array in arrays.items():
        wanted = expected[name]
        assert (array.dtype, array.shape) == (wanted.dtype, wanted.shape)
        step = wanted.dtype.itemsize * prod(wanted.shape[1:])
        assert array.chunks == (min(len(wanted), ceil(2e6 / step)), *wanted.shape[1:])
        codec = json.loads((folder / "data" / name / ".zarray").read_text())["compressor"]
        assert (codec["cname"], codec["clevel"], codec["shuffle"]) == ("zstd", 5, 2)
        np.testing.assert_array_equal(array[:], wanted)
        print(f"  data/{name} {array.dtype} {array.shape}, chunks {array.chunks}")


def check_lerobot(folder: Path, expected: dict[str, np.ndarray]) -> None:
    """Files, columns and rows, by pyarrow."""
    info = json.loads((folder / "meta" / "info.json").read_text())
    assert info["codebase_version"] == "v3.0"
    assert (info["total_episodes"], info["total_frames"]) == (
        len(expected["ends"]),
        expected["ends"][-1],
    )
    steps = pyarrow.parquet.read_table(folder / "data")
    assert set(steps.column_names) == set(info["features"])
    assert set(AUTOMATIC) <= set(info["features"])
    assert steps["index"].to_pylist() == list(range(info["total_frames"]))
    rows = pyarrow.parquet.read_table(folder / "meta" / "episodes").to_pylist()
    assert [row["dataset_to_index"] for row in rows] == expected["ends"].tolist()
    for name in ("stats.json", "tasks.parquet"):
        assert (folder / "meta" / name).is_file()
    for name, feature in info["features"].items():
        print(f"  {name} {feature['dtype']} {tuple(feature['shape'])}")


def python_of(folder: Path, *installs: tuple[str, ...]) -> str:
    """The Python of the environment in ``folder``, which is made if it is not there."""
    python, ready = folder / "bin" / "python", folder / "ready"
    if not ready.exists():
        print(f"making {folder}", flush=True)
        venv.create(folder, with_pip=True, clear=True)
        for packages in installs:
            subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
        ready.touch()
    return str(python)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of episodes; default: made up")
    parser.add_argument("--diffusion-policy", type=Path, metavar="CHECKOUT")
    parser.add_argument("--lerobot", action="store_true", help="install lerobot from PyPI")
    parser.add_argument(
        "--environments", type=Path, help="folder to keep the environments in; default: none"
    )
    options = parser.parse_args()
    with TemporaryDirectory() as temporary:
        out = Path(temporary)
        environments = options.environments or out
        if options.data:
            demonstrations, collection = read_folder(options.data), read_collection(options.data)
        else:
            demonstrations = Demonstrations.of(made(seed) for seed in range(12))
            collection = Collection("Made up", {"made": True}, licence="CC0-1.0")
        expected = expected_of(demonstrations)
        np.savez(out / "expected.npz", **expected)
        write_replay_buffer(demonstrations, out / "data.zarr", collection)
        write_lerobot(demonstrations, out / "lerobot", collection)
        size = len(demonstrations), int(expected["ends"][-1])
        print("{} episodes, {} steps; replay buffer, by zarr:".format(*size))
        check_replay_buffer(out / "data.zarr", expected)
        print("LeRobot v3.0, by pyarrow:")
        check_lerobot(out / "lerobot", expected)
        common = [str(out / "expected.npz")]
        if options.diffusion_policy:
            python = python_of(environments / "diffusion_policy", DIFFUSION_POLICY)
            checkout = str(options.diffusion_policy.resolve())
            call = [python, READERS, "replay-buffer", checkout, out / "data.zarr", *common]
            subprocess.run(call, check=True)
        else:
            print("no --diffusion-policy CHECKOUT: its own reader was not tried")
        if options.lerobot:
            python = python_of(environments / "lerobot", *LEROBOT)
            offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(out / "hf")}
            call = [python, READERS, "lerobot", out / "lerobot", *common]
            subprocess.run(call, check=True, env={**os.environ, **offline})
        else:
            print("no --lerobot: its own reader was not tried")
    print("accepted")


if __name__ == "__main__":
    sys.exit(main())
