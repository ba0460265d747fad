"""The nodes of a YAML document, with the file and line of each.

By libyaml, five times faster than PyYAML's own scanner, where both read the same: they disagree on
tabs, ``?``, ``!`` and characters beyond ASCII. What libyaml refuses PyYAML reads again, whose error
says more.
"""

from __future__ import annotations

import io
import re
from functools import lru_cache

import yaml

_PLAIN = re.compile(r"[\n -~]*")


@lru_cache(maxsize=8)
def document(text: str, name: str) -> yaml.Node | None:
    """The root of a document, None if it is empty.

    One process reads the same files again and again (trials of a sweep, a scene that others
    extend): the last few trees are kept and shared, so nobody may change a node.

    Args:
        text: of the file. name: the file's, for the marks of all nodes.

    Raises:
        YAMLError: it is not YAML.
        RecursionError: it is nested too deeply.
    """
    if _PLAIN.fullmatch(text) and not any(c in text for c in "?!") and yaml.__with_libyaml__:
        try:
            return _by_libyaml(text, name)
        except yaml.YAMLError:
            pass
    loader = yaml.SafeLoader(text)
    loader.name = name
    return loader.get_single_node()


def _by_libyaml(text: str, name: str) -> yaml.Node | None:
    from yaml.composer import Composer
    from yaml.cyaml import CParser  # type: ignore[attr-defined]
    from yaml.resolver import Resolver

    class Loader(Composer, CParser, Resolver):
        """PyYAML's composer: libyaml's own ends the process where a document is nested deeply."""

        def __init__(self, stream: io.StringIO) -> None:
            CParser.__init__(self, stream)
            Composer.__init__(self)
            Resolver.__init__(self)

    stream = io.StringIO(text)
    stream.name = name
    node: yaml.Node | None = Loader(stream).get_single_node()
    return node
