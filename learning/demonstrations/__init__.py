"""Demonstrations: episodes of planners or people, as files for learners.

- ``episode``: ``Episode``, observations and actions; ``EpisodeInfo``, an episode without arrays
- ``folder``: ``collect`` seeds into a folder, a file for each episode; ``read_folder``
- ``selection``: ``Demonstrations``, loaded one by one: ``filter``, ``split``
- ``statistics``: ``summarize``: the range, mean and deviation of each array
- ``card``: ``Collection``: title, licence and settings; the dataset card
- ``replay_buffer``, ``lerobot``: formats of learners; ``columns``: arrays as parquet columns
- ``pictures``: film of an episode's pictures, and curves of its arrays

Needs the extra ``learn`` (pyarrow, zarr). docs/demonstrations.md has the formats key by key.
"""

from galley.learning.demonstrations.card import Collection, read_collection
from galley.learning.demonstrations.episode import Episode, NoEpisode
from galley.learning.demonstrations.folder import collect, open_folder, read_folder, write_episode
from galley.learning.demonstrations.lerobot import write_lerobot
from galley.learning.demonstrations.replay_buffer import read_replay_buffer, write_replay_buffer
from galley.learning.demonstrations.selection import Demonstrations
from galley.learning.demonstrations.statistics import Moments, summarize

__all__ = [
    "Collection",
    "Demonstrations",
    "Episode",
    "Moments",
    "NoEpisode",
    "collect",
    "open_folder",
    "read_collection",
    "read_folder",
    "read_replay_buffer",
    "summarize",
    "write_episode",
    "write_lerobot",
    "write_replay_buffer",
]
