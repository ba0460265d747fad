"""The record of a collection of demonstrations, and its dataset card."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from galley.domain.errors import BadInput
from galley.learning import shards
from galley.learning.demonstrations.episode import plain
from galley.learning.demonstrations.selection import Demonstrations

CARD = "README.md"
FORMAT = 1
_WHAT = "demonstrations"


@dataclass(frozen=True)
class Collection:
    """Title, settings, licence and meanings of a collection of demonstrations.

    Attributes:
        title: one line of text.
        settings: plain data of JSON: everything that an episode depends on, except for its seed.
        licence: an SPDX identifier.
        description: a paragraph of Markdown, or empty.
        arrays: meanings of observations and ``action`` by name, with frames and units.

    Raises:
        ValueError: settings aren't plain data, or a text is malformed.
    """

    title: str
    settings: Mapping[str, Any]
    licence: str = "CC-BY-4.0"
    description: str = ""
    arrays: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, text in (("title", self.title), ("licence", self.licence)):
            if not text.strip() or "\n" in text:
                raise ValueError(f"{name} must be one line of text, got {text!r}")
        object.__setattr__(self, "settings", plain(self.settings))
        object.__setattr__(self, "arrays", plain(self.arrays))

    def record(self) -> dict[str, Any]:
        """The record as plain data, with the versions of the packages that write it."""
        return {"format": FORMAT, **vars(self), "versions": shards.versions()}

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Collection:
        """The collection of a record: the inverse of ``record``.

        Raises:
            AttributeError, KeyError, TypeError, ValueError: it isn't such a record.
        """
        return cls(**{name: record[name] for name in cls.__dataclass_fields__})


def read_record(folder: Path | str) -> dict[str, Any]:
    """Read the record of a folder's collection.

    Raises:
        BadInput: the folder has no record, or one of another format.
    """
    return shards.read_record(folder, FORMAT, _WHAT)


def read_collection(folder: Path | str) -> Collection:
    """The collection of a folder.

    Raises:
        BadInput: as ``read_record``.
    """
    record = read_record(folder)
    try:
        return Collection.of_record(record)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        reason = f"doesn't hold {_WHAT}: {error}"
        raise BadInput.one(Path(folder, shards.INFO), reason) from None


def card(
    collection: Collection, demonstrations: Demonstrations, data_files: str | None = None
) -> str:
    """The dataset card in Markdown, with front matter for the Hugging Face Hub.

    Args:
        collection: title, settings, licence and meanings.
        demonstrations: the episodes, for their counts.
        data_files: pattern of the files with the steps, for a LeRobot dataset; None: no such one.
    """
    tags, configs = "galley", ""
    if data_files is not None:
        tags = "galley, LeRobot"
        configs = f"configs:\n- config_name: default\n  data_files: {json.dumps(data_files)}\n"
    infos = demonstrations.infos
    ends = [sum(info.success is end for info in infos) for end in (True, False, None)]
    lengths = [info.length for info in infos] or [0]
    rows = [f"| {name} | {meaning} |\n" for name, meaning in collection.arrays.items()]
    return f"""---
license: {json.dumps(collection.licence.lower())}
task_categories: [robotics]
tags: [{tags}]
{configs}---

# {collection.title}

{collection.description}

- episodes: {len(infos)}, of which {ends[0]} succeeded, {ends[1]} failed, {ends[2]} not judged
- steps: {sum(lengths)}, in {min(lengths)} to {max(lengths)} an episode, \
{sum(info.duration for info in infos):.1f} s in all
- licence: {collection.licence}
- versions: {", ".join(f"{name} {number}" for name, number in shards.versions().items())}

| array | |
|---|---|
{"".join(rows)}
Settings of all episodes, each with its own seed:

```json
{json.dumps(collection.settings, indent=1)}
```
"""
