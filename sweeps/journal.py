"""What a sweep has finished, line by line on disk, so that one that was killed can go on."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import galley
from galley.domain.errors import BadInput
from galley.domain.files import read_bytes, write_fault

_JOB, _SETTINGS = "job", "settings"  # keys of a line, beside those of the result


class Journal:
    """A file to which a line is added for each job that ends: JSON, in the order of ending.

    A line has the job's name, the digest of all settings on which its result depends, and the
    result's own keys. A line that was half written when the process was killed does not count; of
    several for one job and digest the last does.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, jobs: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        """The results, by name, of those jobs that ended under the same settings; lists as tuples.

        Args:
            jobs: name of each job, and the digest of its settings.

        Raises:
            BadInput: the file is there and can't be read.
        """
        found = {}
        for line in self._lines():
            name = line.pop(_JOB, None)
            if name in jobs and line.pop(_SETTINGS, None) == jobs[name]:
                found[name] = {key: _tuples(value) for key, value in line.items()}
        return found

    @property
    def empty(self) -> bool:
        """Whether no job has ended."""
        return not self._lines()

    def add(self, name: str, settings: str, result: Mapping[str, Any]) -> None:
        """Keep the result of a job; after a line that was half written, on a new one.

        Raises:
            BadInput, OSError: it can't be written (``domain.files.write_fault``).
        """
        line = json.dumps({_JOB: name, _SETTINGS: settings, **result}) + "\n"
        try:
            with open(self.path, "a+b") as stream:
                end = stream.seek(0, os.SEEK_END)
                if end and os.pread(stream.fileno(), 1, end - 1) != b"\n":
                    line = "\n" + line
                stream.write(line.encode())
        except OSError as error:
            raise write_fault(self.path, error) from None

    def clear(self) -> None:
        """Begin anew."""
        self.path.unlink(missing_ok=True)

    def _lines(self) -> list[dict[str, Any]]:
        try:
            text = self.path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise BadInput.one(self.path, f"can't be read: {error.strerror}") from None
        found = []
        for line in text.splitlines():
            try:
                value = json.loads(line)
            except ValueError:
                continue  # half written
            if isinstance(value, dict) and isinstance(value.get(_JOB), str):
                found.append(value)
        return found


def _tuples(value: object) -> object:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def digest(files: Iterable[str | Path], *settings: object) -> str:
    """A digest of the contents of files, of settings (by their ``repr``), and of Galley's code.

    Raises:
        BadInput: a file can't be read.
    """
    found = hashlib.sha256(_code())
    for file in sorted(map(str, files)):
        found.update(hashlib.sha256(read_bytes(file)).digest())
    found.update(repr(settings).encode())
    return found.hexdigest()[:16]


@cache
def _code() -> bytes:
    """A digest of every module of the package: results of other code are other results."""
    home, found = Path(galley.__file__).parent, hashlib.sha256()
    inside = (folder for folder in home.iterdir() if (folder / "__init__.py").is_file())
    for file in sorted([*home.glob("*.py"), *(f for top in inside for f in top.rglob("*.py"))]):
        found.update(str(file.relative_to(home)).encode() + b"\0" + file.read_bytes())
    return found.digest()
