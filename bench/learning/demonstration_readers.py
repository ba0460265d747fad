"""Reads exported demonstrations by the code that learners use; imports nothing of Galley.

Runs in an environment that ``accept_demonstrations.py`` makes:
``python demonstration_readers.py {replay-buffer CHECKOUT|lerobot} DATA EXPECTED``.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import json
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np

HORIZON = 16  # steps of a sample, as in upstream's configurations


def read_replay_buffer(checkout: str, data: str, expected: dict[str, Any]) -> None:
    """diffusion_policy's ReplayBuffer and SequenceSampler, from disk and from memory."""
    sys.path.insert(0, checkout)
    from diffusion_policy.common.replay_buffer import ReplayBuffer
    from diffusion_policy.common.sampler import SequenceSampler, get_val_mask

    zarr: Any = importlib.import_module("zarr")  # version 2, other than Galley's
    print(f"zarr {zarr.__version__}")
    ends = expected.pop("ends")
    buffers = {
        "on disk": ReplayBuffer.create_from_path(data, mode="r"),
        "in memory": ReplayBuffer.copy_from_path(data),
        "in memory, compressed": ReplayBuffer.copy_from_path(data, store=zarr.MemoryStore()),
    }
    for where, buffer in buffers.items():
        assert buffer.n_episodes == len(ends)
        assert buffer.n_steps == ends[-1]
        assert set(buffer.keys()) == set(expected)
        for name, values in expected.items():
            np.testing.assert_array_equal(buffer[name][:], values)
        validation = get_val_mask(buffer.n_episodes, 0.2, seed=0)
        sampler = SequenceSampler(buffer, HORIZON, 1, 7, episode_mask=~validation)
        samples = [sampler.sample_sequence(k) for k in range(0, len(sampler), 11)]
        shapes = {name: (each.shape, str(each.dtype)) for name, each in samples[0].items()}
        print(
            f"ReplayBuffer {where}: {buffer.n_episodes} episodes, {buffer.n_steps} steps, all "
            f"values equal; SequenceSampler: {len(sampler)} samples of {HORIZON} steps, {shapes}"
        )
    # A sample against the arrays themselves: the second episode, padded by a step before it.
    sampler = SequenceSampler(
        buffers["in memory"], HORIZON, 1, 7, episode_mask=np.arange(len(ends)) == 1
    )
    first = sampler.sample_sequence(0)
    for name, values in expected.items():
        steps = np.r_[ends[0], np.arange(ends[0], ends[0] + HORIZON - 1)]
        np.testing.assert_array_equal(first[name], values[steps])


def read_lerobot(data: str, expected: dict[str, Any]) -> None:
    """LeRobotDataset, whole and by episodes, with windows of actions, in batches."""
    import torch

    _stub_torchvision(torch)
    import lerobot
    from lerobot.datasets.compute_stats import aggregate_stats
    from lerobot.datasets.lerobot_dataset import LeRobotDataset
    from lerobot.datasets.utils import dataset_to_policy_features, load_nested_dataset

    print(f"lerobot {lerobot.__version__}, torch {torch.__version__}")
    ends = expected.pop("ends")
    dataset = LeRobotDataset("galley/accepted", root=data)
    assert (dataset.num_episodes, dataset.num_frames) == (len(ends), ends[-1])
    starts = np.r_[0, ends[:-1]]
    for k in range(0, len(dataset), 7):
        item = dataset[k]
        episode = int(np.searchsorted(ends, k, side="right"))
        assert int(item["index"]) == k
        assert int(item["episode_index"]) == episode
        assert int(item["frame_index"]) == k - starts[episode]
        for name, values in expected.items():
            wanted = values[k]
            if wanted.dtype == np.uint8 and wanted.ndim == 3:
                found = item[f"observation.images.{name}"].numpy() * 255
                np.testing.assert_allclose(found, wanted.transpose(2, 0, 1), atol=1e-4)
            else:
                found = item["action" if name == "action" else f"observation.{name}"].numpy()
                np.testing.assert_array_equal(found.reshape(wanted.shape), wanted)
    print(dataset)
    print("an item:", {k: (tuple(v.shape), str(v.dtype)) for k, v in item.items() if k != "task"})
    print("its task:", item["task"])
    types_ = {k: f.type.value for k, f in dataset_to_policy_features(dataset.features).items()}
    print("features of a policy:", types_)
    # LeRobot's own sum of our statistics of episodes must be our statistics of all.
    rows = load_nested_dataset(Path(data) / "meta" / "episodes")
    own = json.loads((Path(data) / "meta" / "stats.json").read_text())
    parts = [
        {
            name: {key: np.array(row[f"stats/{name}/{key}"]) for key in stats}
            for name, stats in own.items()
        }
        for row in rows
    ]
    for name, stats in aggregate_stats(parts).items():
        for key, values in stats.items():
            np.testing.assert_allclose(values, own[name][key], rtol=1e-6, atol=1e-9)
    print(f"aggregate_stats of {len(parts)} episodes gives our stats.json")
    window = {"action": [k / dataset.fps for k in range(HORIZON)]}
    few = LeRobotDataset("galley/accepted", root=data, episodes=[1, 3], delta_timestamps=window)
    assert len(few) == (ends[1] - ends[0]) + (ends[3] - ends[2])
    batch = next(iter(torch.utils.data.DataLoader(few, batch_size=8, shuffle=False)))
    actions = expected["action"][ends[0] : ends[0] + HORIZON]
    np.testing.assert_array_equal(batch["action"][0].numpy(), actions)
    print(f"episodes 1 and 3: {len(few)} frames; a batch of actions {tuple(batch['action'].shape)}")


def _stub_torchvision(torch: Any) -> None:
    """LeRobot imports torchvision, and needs only ``ToTensor`` of it to read images."""

    class ToTensor:
        def __call__(self, picture: Any) -> Any:
            return torch.from_numpy(np.array(picture)).permute(2, 0, 1).float() / 255

    def module(name: str, **members: Any) -> types.ModuleType:
        made = types.ModuleType(name)
        made.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        made.__path__ = []
        made.__dict__.update(members)
        sys.modules[name] = made
        return made

    functional = module("torchvision.transforms.v2.functional")
    v2 = module("torchvision.transforms.v2", functional=functional, Transform=object)
    transforms = module("torchvision.transforms", v2=v2, ToTensor=ToTensor)
    module("torchvision", transforms=transforms, __version__="0")


if __name__ == "__main__":
    kind, *where, data, expected = sys.argv[1:]
    with np.load(expected) as arrays:
        values = dict(arrays)
    if kind == "replay-buffer":
        read_replay_buffer(where[0], data, values)
    else:
        read_lerobot(data, values)
