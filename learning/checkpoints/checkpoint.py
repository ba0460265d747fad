"""A checkpoint: arrays as safetensors, and everything else as JSON in the file's header."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from galley import __version__
from galley.domain.errors import BadInput
from galley.domain.files import read_bytes, write_atomically


def write_checkpoint(
    path: Path | str, number: int, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a checkpoint whole or not at all.

    Args:
        number: of the format. settings: plain data of JSON.

    Raises:
        BadInput, OSError: as ``domain.files.atomic_file``.
    """
    text = json.dumps({"format": number, "galley": __version__, **settings})
    write_atomically(path, save(dict(arrays), metadata={"settings": text}))


def read_checkpoint(
    path: Path | str, number: int, command: str
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Settings and arrays of what ``write_checkpoint`` has written.

    Args:
        number: of the format. command: that writes such files, for messages.

    Raises:
        BadInput: the file is missing, damaged, of another kind or format.
    """
    data = read_bytes(path)
    try:
        arrays = load(data)
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        settings = json.loads(header["__metadata__"]["settings"])
        found = settings["format"]
    except (SafetensorError, ValueError, KeyError, TypeError):
        raise BadInput.one(path, f"is not a checkpoint of {command}") from None
    if found != number:
        raise BadInput.one(path, f"is a checkpoint of format {found}, expected {number}")
    return settings, arrays
