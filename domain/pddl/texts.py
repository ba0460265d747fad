"""Files for problems that are given as text, so that a run can keep its problem file."""

from __future__ import annotations

import atexit
import re
import tempfile
from pathlib import Path

from galley.domain.errors import BadInput
from galley.domain.files import read_bytes
from galley.domain.shipped import shipped_file

_GOAL = re.compile(r"\(\s*:goal\b", re.IGNORECASE)
_TEXT = re.compile(r"(\s|;[^\n]*\n)*\(")  # after comments, a parenthesis: text, not a file's name


def problem_file(problem: str | Path, goal: str = "") -> Path:
    """The file of a problem; for text or another goal a temporary one, deleted when Python exits.

    Args:
        problem: a file, a shipped one by its bare name, or PDDL text: ``(define (problem ...``.
        goal: a formula that replaces the problem's goal; empty to keep it.

    Raises:
        BadInput: there is no such file, or no goal in it to replace.
    """
    posed = isinstance(problem, str) and _TEXT.match(problem) is not None
    path = Path("the problem's text") if posed else shipped_file(problem)
    if not posed and not goal:
        return path
    text = str(problem) if posed else read_bytes(path).decode("utf-8", "replace")
    if goal:
        text = re.sub(";[^\n]*", "", text)  # a comment may have parentheses
        match = _GOAL.search(text)
        if match is None:
            raise BadInput.one(path, "the problem has no :goal to replace")
        text = f"{text[: match.start()]}(:goal {goal}){text[_closed(text, match.start()) :]}"
    folder = tempfile.TemporaryDirectory(prefix="galley-")
    atexit.register(folder.cleanup)
    file = Path(folder.name) / ("problem.pddl" if posed else path.name)
    file.write_text(text, encoding="utf-8")
    return file


def _closed(text: str, start: int) -> int:
    """The index after the parenthesis that closes the one at ``start``."""
    depth = 0
    for k in range(start, len(text)):
        depth += (text[k] == "(") - (text[k] == ")")
        if depth == 0:
            return k + 1
    return len(text)
