"""Locates marked text."""


def place_of(text, marked):
    """Line and column of the character after ``@`` in ``marked``, whose text occurs in ``text``."""
    start = text.index(marked.replace("@", "")) + marked.index("@")
    before = text[:start]
    return before.count("\n") + 1, start - (before.rfind("\n") + 1) + 1
