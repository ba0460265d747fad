"""Where the mistake is in a file that is not YAML.

PyYAML names the place at which it gives up. The mistake is often before that: a quote that is never
closed shows at the end of the file, a lost colon or bracket on the next line.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import yaml

from galley.domain.errors import BadInput


def not_yaml(path: Path | str, text: str, error: yaml.YAMLError, quote: bool) -> BadInput:
    """The refusal of a file that PyYAML can't parse.

    Args:
        path: the file. text: its text. error: what PyYAML raised.
        quote: whether the message may say what stands in the file.
    """
    if isinstance(error, yaml.reader.ReaderError):
        before = text[: error.position]
        line, column = before.count("\n") + 1, error.position - before.rfind("\n")
        what = f": the character U+{error.character:04X} is not allowed"
    elif isinstance(error, yaml.MarkedYAMLError):
        line, column, what = _place(text.split("\n"), error)
        what = f": {what}" if quote else ""
    else:
        line, column, what = 1, 1, f": {error}".replace("\n", " ") if quote else ""
    return BadInput.one(path, f"not valid YAML{what}", line, column)


def _place(lines: list[str], error: yaml.MarkedYAMLError) -> tuple[int, int, str]:
    """1-based line and column of the mistake, and what it is."""
    mark, start = error.problem_mark or error.context_mark, error.context_mark
    context, problem = error.context or "", error.problem or ""
    if mark is None:
        return 1, 1, problem
    here, began = mark.line, mark.line if start is None else start.line
    before = _content_before(lines, here)
    quote = _open_quote(lines, error)
    if quote is not None:
        return quote.line + 1, quote.column + 1, "this quote is not closed in its line"
    if problem == "could not find expected ':'" and start is not None:
        what = "a ': ' is missing after the key, or a '-' before it"
        return began + 1, start.column + 1, what
    key_only = here >= len(lines) or ": " not in lines[here][: mark.column]
    if "parsing a flow" in context and before is not None and began < here and key_only:
        closing = "}" if "mapping" in context else "]"
        column = len(lines[before].split(" #")[0].rstrip()) + 1
        return before + 1, column, f"a '{closing}' or ',' is missing here or before"
    goes_on = problem.startswith("mapping values are not allowed") and key_only
    if before is not None and (goes_on or problem.startswith("expected <block end>")):
        column = _indent(lines[before]) + 1
        if goes_on and ": " not in f"{lines[before]} ":
            return before + 1, column, "a ': ' is missing in this line"
        if column == _indent(lines[here]) + 1 and lines[here].lstrip().startswith("- "):
            return before + 1, column, "a '-' is missing before this"
        odd, other = _odd_one(lines, here if goes_on else began, before, here)
        what = f"this line's indentation does not fit line {other + 1}"
        return odd + 1, _indent(lines[odd]) + 1, what
    said = " ".join(part for part in (context, problem) if part)
    if began != here:
        said = f"{context} at line {began + 1} {problem}"
    return here + 1, mark.column + 1, said


def _open_quote(lines: list[str], error: yaml.MarkedYAMLError) -> yaml.Mark | None:
    """Where a quoted text begins that goes on over the end of its line, before the error."""
    if "quoted scalar" in (error.context or ""):
        return error.context_mark
    try:
        for token in yaml.scan("\n".join(lines), yaml.SafeLoader):
            quoted = isinstance(token, yaml.ScalarToken) and token.style in ("'", '"')
            if quoted and token.start_mark.line < token.end_mark.line:
                start: yaml.Mark = token.start_mark
                return start
    except yaml.YAMLError:
        pass
    return None


def _odd_one(lines: list[str], began: int, before: int, here: int) -> tuple[int, int]:
    """The line that is indented wrongly, and one that it does not fit.

    Args:
        lines: of the file.
        began: where the block began that ends at ``here``.
        before, here: two lines in sequence, between which the mistake shows.
    """
    if began != here and not _is_usual(lines, began):
        return began, here
    first, second = _indent(lines[before]), _indent(lines[here])
    above = _content_before(lines, before)
    if above is not None:
        outer, opens = _indent(lines[above]), _opens(lines[above])
        alone = opens and outer == first < second  # nothing is in what the line above opens
        around = not opens and outer == second != first  # a block goes on around the line
        if alone or around:
            return before, here
    if _is_usual(lines, before):
        return here, before
    opener = _opener(lines, before)
    block = [line for line in lines[opener + 1 : here] if _indent(line) == first and line.strip()]
    if len(block) > 1:  # all of it, or the line that opens it, which is not if it stands outermost
        return (opener if _indent(lines[opener]) else lines.index(block[0], opener)), here
    return before, here


def _opener(lines: list[str], at: int) -> int:
    """The line that opens the block of a line; -1 at the top."""
    above = _content_before(lines, at)
    while above is not None and _indent(lines[above]) >= _indent(lines[at]):
        above = _content_before(lines, above)
    return -1 if above is None else above


def _is_usual(lines: list[str], at: int) -> bool:
    """Whether a line is indented by the usual step from the line that opens its block."""
    opener = _opener(lines, at)
    if opener < 0:
        return True
    steps, last = Counter({2: 1}), 0
    for line in lines[:at]:
        if line.split("#")[0].strip():
            steps[_indent(line) - last] += 1
            last = _indent(line)
    step = max((step for step in steps if step > 0), key=lambda step: (steps[step], -step))
    return _indent(lines[at]) == _indent(lines[opener]) + step


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _opens(line: str) -> bool:
    return line.split(" #")[0].rstrip().endswith(":")


def _content_before(lines: list[str], at: int) -> int | None:
    """The index of the last line before ``at`` that is neither blank nor a comment."""
    content = (i for i in range(min(at, len(lines)) - 1, -1, -1) if lines[i].split("#")[0].strip())
    return next(content, None)
