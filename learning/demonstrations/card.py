"""What a collection of demonstrations is: title, licence, settings, versions, and its card."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import galley
from galley.domain.errors import BadInput
from galley.domain.files import read_text
from galley.learning.demonstrations.episode import ACTION, Layout, is_image, plain
from galley.learning.demonstrations.selection import Demonstrations

INFO, CARD = "dataset.json", "README.md"
FORMAT = 1


@dataclass(frozen=True)
class Collection:
    """How demonstrations came about.

    Attributes:
        title: one line. description: a paragraph of Markdown, or empty.
        licence: an SPDX identifier.
        settings: plain data of JSON: all that an episode depends on, but for its seed.
        arrays: what an observation, or ``action``, means: frames and units, by name.

    Raises:
        ValueError: settings are not plain data, or a text is malformed.
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
        """As plain data, with the versions that write it now."""
        import pyarrow

        return {
            "format": FORMAT,
            "title": self.title,
            "licence": self.licence,
            "description": self.description,
            "arrays": dict(self.arrays),
            "settings": dict(self.settings),
            "versions": {
                "galley": galley.__version__,
                "numpy": np.__version__,
                "pyarrow": pyarrow.__version__,
            },
        }


def read_record(folder: Path | str) -> dict[str, Any]:
    """The record of a folder's collection.

    Raises:
        BadInput: it has none, or one of another format.
    """
    folder = Path(folder)
    path = folder / INFO
    if not path.is_file():
        raise BadInput.one(folder, f"has no demonstrations (no {INFO})")
    try:
        record = json.loads(read_text(path))
        known = isinstance(record, dict) and record.get("format") == FORMAT
    except ValueError as error:
        raise BadInput.one(path, f"is not JSON: {error}") from None
    if not known:
        what = f"is not of demonstrations in format {FORMAT}, which this version of Galley reads"
        raise BadInput.one(path, what)
    return {**record}


def read_collection(folder: Path | str) -> Collection:
    """The collection of a folder.

    Raises:
        BadInput: as ``read_record``.
    """
    record = read_record(folder)
    try:
        return collection_of(record)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadInput.one(Path(folder, INFO), f"is not of demonstrations: {error}") from None


def collection_of(record: Mapping[str, Any]) -> Collection:
    """The collection of a record of ours.

    Raises:
        AttributeError, KeyError, TypeError, ValueError: it is none.
    """
    names = ("title", "settings", "licence", "description", "arrays")
    return Collection(*(record[name] for name in names))


def text_of(record: Mapping[str, Any]) -> str:
    """A record as the text of its file."""
    return json.dumps(record, indent=1) + "\n"


def card(
    collection: Collection,
    demonstrations: Demonstrations,
    layout: Layout,
    data_files: str | None = None,
) -> str:
    """The dataset card, in Markdown, with the front matter that the Hugging Face Hub reads.

    Args:
        layout: of the episodes' arrays.
        data_files: pattern of the files with the steps, of a LeRobot dataset.
    """
    front = [f"license: {json.dumps(collection.licence.lower())}", "task_categories: [robotics]"]
    if data_files is None:
        front.append("tags: [galley]")
    else:
        files = f"  data_files: {json.dumps(data_files)}"
        front += ["tags: [galley, LeRobot]", "configs:", "- config_name: default", files]
    infos = demonstrations.infos
    lengths = [info.length for info in infos] or [0]
    judged = [info for info in infos if info.success is not None]
    record = collection.record()
    lines = ["---", *front, "---", "", f"# {collection.title}", ""]
    if collection.description:
        lines += [collection.description, ""]
    lines += [
        f"- episodes: {len(infos)}, of which {sum(bool(e.success) for e in judged)} succeeded, "
        f"{sum(not e.success for e in judged)} failed, {len(infos) - len(judged)} not judged",
        f"- steps: {sum(lengths)}, in {min(lengths)} to {max(lengths)} an episode, "
        f"{sum(info.duration for info in infos):.1f} s in all",
        f"- licence: {collection.licence}",
        "- versions: " + ", ".join(f"{k} {v}" for k, v in record["versions"].items()),
        "",
        "| array | dtype | shape of a step | |",
        "|---|---|---|---|",
    ]
    for name, (dtype, shape) in layout.items():
        about = "action" if name == ACTION else "image" if is_image(dtype, shape) else "observation"
        what = collection.arrays.get(name, about)
        lines.append(f"| {name} | {dtype} | {' x '.join(map(str, shape))} | {what} |")
    settings = json.dumps(collection.settings, indent=1)
    lines += ["", "Settings, but for the seed of each episode:", "", "```json", settings, "```", ""]
    return "\n".join(lines)
