"""The page of a replay: Meshcat's own, with controls, captions and a way in for other pages."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

_CONTROLS = Path(__file__).with_name("controls.html")
_OUTSIDE = ("https://cdn.jsdelivr.net/npm/@webxr-input-profiles/assets@1.0/dist/profiles",)
"""Addresses in Meshcat's program, for headsets: left out, so that nothing is ever asked for."""
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
    """What is said from a time on: seconds, action, phase of the motion, ``recovery 1`` or empty."""

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
    for address in _OUTSIDE:
        meshcat = meshcat.replace(address, "")
    meshcat, commands = _COMMAND.subn(_AT_ONCE, meshcat)
    if not commands:
        raise ValueError("this version of Drake writes its page in another way")
    head, body, foot = meshcat.rpartition("</body>")
    head = head.replace("<title>Drake MeshCat</title>", f"<title>{html.escape(title)}</title>", 1)
    return head + controls + body + foot
