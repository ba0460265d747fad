"""The journal of a sweep: results of finished jobs in a file, from which the sweep resumes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import galley
from galley.domain.errors import BadInput
from galley.domain.files import read_bytes, write_fault

_JOB, _SETTINGS = "job", "settings"  # keys of a line besides the result's


class Journal:
    """A file with one line of JSON per finished job, in order of finishing.

    A line has the job's name, a digest of all settings that its result depends on, and the result's
    keys. Lines cut short by a kill are ignored; of several lines for a job and digest the last
    counts.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def read(self, jobs: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        """Results by job name, of jobs that ended under the same settings; lists become tuples.

        Args:
            jobs: digest of the settings by job name.

        Raises:
            BadInput: the file exists and can't be read.
        """
        results = {}
        for line in self._lines():
            name = line.pop(_JOB, None)
            if name in jobs and line.pop(_SETTINGS, None) == jobs[name]:
                results[name] = {key: as_tuples(value) for key, value in line.items()}
        return results

    @property
    def empty(self) -> bool:
        """Whether the journal has no result."""
        return not self._lines()

    def add(self, name: str, settings: str, result: Mapping[str, Any]) -> None:
        """Append the result of a job. Each begins a line, even after one that was cut short.

        Raises:
            BadInput, OSError: it can't be written (``domain.files.write_fault``).
        """
        line = json.dumps({_JOB: name, _SETTINGS: settings, **result})
        try:
            with open(self.path, "a", encoding="utf-8") as stream:
                stream.write("\n" + line if stream.tell() else line)
        except OSError as error:
            raise write_fault(self.path, error) from None

    def clear(self) -> None:
        """Delete the file with all results."""
        self.path.unlink(missing_ok=True)

    def _lines(self) -> list[dict[str, Any]]:
        try:
            text = self.path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise BadInput.one(self.path, f"can't be read: {error.strerror}") from None
        lines = []
        for line in text.splitlines():
            try:
                value = json.loads(line)
            except ValueError:
                continue  # cut short
            if isinstance(value, dict) and isinstance(value.get(_JOB), str):
                lines.append(value)
        return lines


def as_tuples(value: Any) -> Any:
    """Lists, those within lists too, as tuples: JSON knows only lists."""
    return tuple(map(as_tuples, value)) if isinstance(value, list) else value


def digest(files: Iterable[str | Path], *settings: object) -> str:
    """A digest of the contents of files, of settings (by their ``repr``), and of Galley's code.

    Raises:
        BadInput: a file can't be read.
    """
    total = hashlib.sha256(_code())
    for file in sorted(map(str, files)):
        total.update(hashlib.sha256(read_bytes(file)).digest())
    total.update(repr(settings).encode())
    return total.hexdigest()[:16]


@cache
def _code() -> bytes:
    """A digest of all modules of the package: results depend on the code."""
    home, total = Path(galley.__file__).parent, hashlib.sha256()
    inside = (folder for folder in home.iterdir() if (folder / "__init__.py").is_file())
    for file in sorted([*home.glob("*.py"), *(f for top in inside for f in top.rglob("*.py"))]):
        total.update(str(file.relative_to(home)).encode() + b"\0" + file.read_bytes())
    return total.digest()
