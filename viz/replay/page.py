"""The page of a replay: Meshcat's own, with controls, captions and a way in for other pages."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from galley.domain.files import write_atomically

_HEIGHT = 480  # px of the frame in a notebook
_CONTROLS = Path(__file__).with_name("controls.html")
_OUTSIDE = re.compile(r"https?://(?!www\.w3\.org)[\w./@#-]+")
"""Addresses in Meshcat's program, in comments and for headsets: left out, so that nothing is ever
asked for. Names of XML's parts are no addresses."""
_COMMAND = re.compile(
    r'fetch\("data:application/octet-binary;base64,([\w+/=]*)"\)\s*'
    r"\.then\(res => res\.arrayBuffer\(\)\)\s*"
    r"\.then\(buffer => viewer\.handle_command_bytearray\(new Uint8Array\(buffer\)\)\);"
)
"""A command in Meshcat's page. As they stand there they arrive at some time, in any order."""
_AT_ONCE = (
    r'viewer.handle_command_bytearray(Uint8Array.from(atob("\1"), each => each.charCodeAt(0)));'
)


@dataclass(frozen=True)
class Moment:
    """What is said from a time on (s): action, phase, and ``recovery 1`` or nothing."""

    time: float
    action: str
    phase: str
    alert: str = ""


def page(
    meshcat: str,
    *,
    title: str,
    duration: float,
    moments: Sequence[Moment] = (),
    legend: Sequence[tuple[str, str]] = (),
) -> str:
    """The whole page.

    Args:
        meshcat: its ``StaticHtml``.
        title: of the page. duration: seconds. moments: in order of time.
        legend: colours, and what they mean.

    Raises:
        ValueError: Drake wrote the page in a way that is not known here.
    """
    data = {
        "title": title,
        "duration": duration,
        "moments": [asdict(moment) for moment in moments],
        "legend": legend,
    }
    # In a script, "<" could end it.
    text = json.dumps(data, ensure_ascii=True).replace("<", "\\u003c")
    controls = _CONTROLS.read_text(encoding="utf-8").replace("GALLEY_DATA", text)
    meshcat, commands = _COMMAND.subn(_AT_ONCE, _OUTSIDE.sub("", meshcat))
    if not commands:
        raise ValueError("this version of Drake writes its page in another way")
    head, body, foot = meshcat.rpartition("</body>")
    head = head.replace("<title>Drake MeshCat</title>", f"<title>{html.escape(title)}</title>", 1)
    return head + controls + body + foot


@dataclass(frozen=True)
class Replay:
    """A page to turn and play.

    Attributes:
        html: the page, which needs nothing else.
    """

    html: str

    def __repr__(self) -> str:
        return f"Replay({len(self.html) / 1e6:.1f} MB; save(path) writes it)"

    def save(self, path: str | Path) -> Path:
        """Write the page; it appears whole or not at all.

        Raises:
            BadInput: ``path`` can't be written.
        """
        write_atomically(Path(path), self.html)
        return Path(path)

    def _repr_html_(self) -> str:
        """The page in a frame of its own, inline."""
        return (
            f'<iframe style="width: 100%; height: {_HEIGHT}px; border: 0" '
            f'title="replay" srcdoc="{html.escape(self.html)}"></iframe>'
        )
