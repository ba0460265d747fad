"""Where the mistake is in a PDDL file whose parentheses don't balance.

The count shows only at the end of the file, far from the mistake. What stands in a list tells more:
sections don't contain sections, facts don't contain lists, a conjunction contains nothing else, and
files are indented. The first token out of its place gives the mistake away.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from galley.domain.errors import InputError

# Lists with these heads may contain lists; facts contain none.
_MAY_NEST = frozenset(
    (
        *("define", "domain", "problem", "either"),
        *("and", "or", "not", "imply", "forall", "exists", "when", "preference", "="),
        *("<", ">", "<=", ">=", "+", "-", "*", "/", "increase", "decrease", "assign"),
        *("scale-up", "scale-down", "probabilistic", "oneof", "always", "sometime", "within"),
    )
)
# Keywords of fields within a section.
_FIELDS = frozenset((":parameters", ":precondition", ":effect", ":vars", ":duration", ":condition"))
# Words that only open a list, each with the parts that must follow at least.
_OPENERS = {
    **dict.fromkeys(("and", "or", "either"), 0),
    "not": 1,
    **dict.fromkeys(("imply", "forall", "exists", "when", "increase", "="), 2),
}
# Lists with a fixed number of parts, or fewer.
_MOST_PARTS = {
    **dict.fromkeys(("not", ":goal", ":domain"), 1),
    **dict.fromkeys(("imply", "forall", "exists", "when", "increase", "="), 2),
}
_ONLY_LISTS = ("define", "and", "or", "not", "imply", "when", ":init", ":predicates", ":goal")
_NUMBER = re.compile(r"-?[\d.]+")

_SURPLUS, _SECTION, _FACT, _INDENT = range(4)  # kinds of evidence, most reliable first

Token = tuple[str, int, int]  # in lower case, with 1-based line and column


class _Open:
    """A list that is not closed yet."""

    def __init__(self, line: int, column: int, first_in_line: bool) -> None:
        self.line = line
        self.column = column
        self.first_in_line = first_in_line
        self.head: str | None = None  # its first word; "" if that is a list
        self.parts = 0  # after the head
        self.last = ""  # the last part; "(" if that is a list

    def add(self, part: str) -> None:
        if self.head is None:
            self.head = "" if part == "(" else part
        else:
            self.parts += 1
            self.last = part

    @property
    def is_full(self) -> bool:
        """Whether no further part may follow."""
        return self.parts >= _MOST_PARTS.get(self.head or "", self.parts + 1)

    @property
    def is_action(self) -> bool:
        return self.head in (":action", ":durative-action")

    @property
    def takes_variables(self) -> bool:
        """Whether the next list in it is one of variables."""
        quantifier = self.head in ("forall", "exists") and self.parts == 0
        return quantifier or self.last in (":parameters", ":vars")


class _Suspect(NamedTuple):
    """A list that contains something which belongs after it."""

    open: _Open
    kind: int
    order: int  # index of the token that shows it


def unbalanced(tokens: Sequence[Token], file: str) -> InputError:
    """The likely mistake in a file with words and parentheses ``tokens`` that don't balance."""
    depth = sum({"(": 1, ")": -1}.get(text, 0) for text, _, _ in tokens)
    return _unclosed(tokens, file) if depth > 0 else _closed_too_often(tokens, file)


# -- a ')' too many, or a '(' missing --------------------------------------------------------------


def _closed_too_often(tokens: Sequence[Token], file: str) -> InputError:
    stack: list[_Open] = []
    closed: list[tuple[_Open, Token]] = []  # lists at the start of a line, and what closed them
    last: Token | None = None  # the last ')'
    last_line = 0
    for index, token in enumerate(tokens):
        text, line, column = token
        starts_line, last_line = line != last_line, line
        if starts_line and text != ")":
            closed = [each for each in closed if each[0].column < column or each[1][1] >= line]
            if closed and stack and closed[-1][0].column > stack[-1].column:
                return _early(closed[-1][1], f"line {line} is indented into it", file)
        if text == ")":
            if not stack:
                what = "this ')' closes nothing; remove it, or add the missing '('"
                return InputError(file, line, column, what)
            done = stack.pop()
            if done.parts < _OPENERS.get(done.head or "", 0):
                return _early(token, f"'{done.head}' has too few parts", file)
            # A list on one line says little: the next line may be indented in any way.
            if done.first_in_line and done.line < line:
                closed.append((done, token))
            last = token
            continue
        head = tokens[index + 1][0] if text == "(" and index + 1 < len(tokens) else text
        if not stack and last is not None:
            return _early(last, f"'{head}' follows at line {line}", file, "the whole definition")
        if stack and text != "(" and _lacks_opening(stack[-1], text):
            what = f"a '(' is missing before '{text}'"
            if tokens[index - 1][0] == ")":
                what += ", or the ')' before it is one too many"
            return InputError(file, line, column, what)
        if stack and text == "(" and last is not None and not _may_follow(stack, head):
            return _early(last, f"'{head}' follows at line {line}", file)
        if stack:
            stack[-1].add(text)
        if text == "(":
            stack.append(_Open(line, column, starts_line))
    raise AssertionError("the parentheses balance")


def _early(token: Token, sign: str, file: str, what: str = "a list too early") -> InputError:
    _, line, column = token
    text = f"this ')' closes {what}, but {sign}; remove a ')' here or before, or add a '('"
    return InputError(file, line, column, text)


def _lacks_opening(inside: _Open, word: str) -> bool:
    """Whether a word can't stand in a list, except as its head."""
    if inside.head is None:
        return False
    if word in _OPENERS and word != "either" and inside.last != "-":
        return True
    if word in _FIELDS:
        return not inside.is_action
    if inside.is_action:
        return inside.parts > 0 and not word.startswith(":")
    return inside.head in _ONLY_LISTS


def _may_follow(stack: Sequence[_Open], head: str) -> bool:
    """Whether a list with this head may stand in the innermost of ``stack``."""
    inside = stack[-1]
    if inside.head == "define":
        return head.startswith(":") or head in ("domain", "problem")
    if inside.is_action:
        return inside.last.startswith(":")
    return not inside.is_full


# -- a ')' missing, or a '(' too many --------------------------------------------------------------


def _unclosed(tokens: Sequence[Token], file: str) -> InputError:
    stack: list[_Open] = []
    suspects: list[_Suspect] = []
    last_line = 0
    for order, (text, line, column) in enumerate(tokens):
        starts_line, last_line = line != last_line, line
        if text == ")" and not stack:
            return _closed_too_often(tokens, file)
        if text == ")":
            stack.pop()
            continue
        if text == "(":
            if starts_line:
                suspects += _outdented(stack, column, order)
            head = tokens[order + 1][0] if order + 1 < len(tokens) else ""
            opened = _Open(line, column, starts_line)
            if stack and _is_surplus(stack[-1], head):
                suspects.append(_Suspect(opened, _SURPLUS, order))
            elif stack and stack[-1].is_full and not head.startswith(":"):
                suspects.append(_Suspect(stack[-1], _FACT, order))
            if stack:
                stack[-1].add(text)
            stack.append(opened)
        elif stack:
            opens = stack[-1].head is None
            stack[-1].add(text)
            suspects += _out_of_place(stack, text, opens, order)
    return _culprit(stack, suspects, file)


def _is_surplus(inside: _Open, head: str) -> bool:
    """Whether a '(' with this word after it can't open a list there."""
    if head == "(" or _NUMBER.fullmatch(head) or head in _FIELDS:
        return not inside.takes_variables
    if head.startswith("?"):
        return not inside.takes_variables and inside.head in _MAY_NEST
    if inside.head in (":types", ":objects", ":constants"):
        return head != "either" and not head.startswith(":")
    return inside.head == "either" or (inside.is_action and inside.parts == 0)


def _outdented(stack: Sequence[_Open], column: int, order: int) -> list[_Suspect]:
    """The outermost open list whose contents a line starting with ``(`` is not indented into."""
    for each in stack[1:]:
        if each.first_in_line and each.column >= column:
            return [_Suspect(each, _INDENT, order)]
    return []


def _out_of_place(stack: Sequence[_Open], word: str, opens: bool, order: int) -> list[_Suspect]:
    if word in _FIELDS and not opens:
        inner = stack[-1]
        return [] if inner.is_action else [_Suspect(inner, _SECTION, order)]
    if not opens or len(stack) < 2:
        return []
    if word.startswith(":"):
        outer = [each for each in stack[:-1] if (each.head or "").startswith(":")]
        # Only :length contains lists that start with a colon, such as (:serial 9).
        if outer and outer[-1].head != ":length":
            return [_Suspect(outer[-1], _SECTION, order)]
        # Sections belong in the define, not in the `(domain name)` before them.
        astray = not outer and stack[-2].head not in ("define", "")
        return [_Suspect(stack[-2], _SECTION, order)] if astray else []
    parent = stack[-2]
    head = parent.head or ":"
    if word != "either" and head[0] != ":" and head not in _MAY_NEST:
        return [_Suspect(parent, _FACT, order)]
    return []


def _culprit(stack: Sequence[_Open], suspects: Sequence[_Suspect], file: str) -> InputError:
    surplus = next((each for each in suspects if each.kind == _SURPLUS), None)
    sure = next((each for each in suspects if each.kind == _SECTION), None)
    if surplus is not None and (sure is None or surplus.order <= sure.order):
        earlier = [each for each in suspects if each.order < surplus.order and each.kind == _FACT]
        if not earlier:
            what = "this '(' is one too many, or a ')' is missing before it"
            return InputError(file, surplus.open.line, surplus.open.column, what)
    culprit = stack[-1]
    count = f"{len(stack)} ')' are" if len(stack) > 1 else "one ')' is"
    what = f"this '(' is never closed: {count} missing at the end of the file"
    if sure is not None:
        culprit = sure.open
        what = f"this '(' of {culprit.head} is not closed before what follows it; add a ')'"
        if (culprit.head or "").startswith(":"):
            what = f"this '(' of {culprit.head} is not closed before the next section; add a ')'"
        # The mistake is within that section, before the token that shows it.
        start = (culprit.line, culprit.column)
        suspects = [
            each
            for each in suspects
            if (each.open.line, each.open.column) >= start and each.order < sure.order
        ]
    for kind in (_FACT, _INDENT):
        suspect = next((each for each in suspects if each.kind == kind), None)
        if suspect is not None:
            culprit = suspect.open
            what = f"this '(' of {culprit.head or 'a list'} is not closed where it should be"
            what += "; add a ')'"
            break
    return InputError(file, culprit.line, culprit.column, what)
