"""The font of captions and labels: DejaVu Sans Bold, which comes with matplotlib."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from PIL import ImageFont

_FILE = "DejaVuSans-Bold.ttf"


@cache
def font_file() -> str:
    """Where the font lies; matplotlib itself is not imported. Its bare name if it is not there."""
    spec = find_spec("matplotlib")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(place) / "mpl-data" / "fonts" / "ttf" / _FILE
        if path.is_file():
            return str(path)
    return _FILE  # Pillow looks in the system's font folders


@cache
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """The font at a height of ``size`` pixels; Pillow's small one where there is no other."""
    try:
        return ImageFont.truetype(font_file(), size)
    except OSError:
        return ImageFont.load_default()
