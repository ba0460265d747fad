"""MkDocs hook: finds the package's sources, and puts files that pages refer to into the site."""

import posixpath
import re
import shutil
import tempfile
from pathlib import Path

from mkdocs.plugins import event_priority
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"\]\(\.\./([^)#\s]+)(#[^)\s]*)?\)")
_README = {"#how-fast": "figures.md"}


_sources = Path(tempfile.mkdtemp(prefix="galley-site-"))


@event_priority(100)  # before mkdocstrings reads its options
def on_config(config):
    """The repository's root is the package ``galley``: give mkdocstrings a folder of that name."""
    package = _sources / "galley"
    package.mkdir(exist_ok=True)
    for path in [*ROOT.glob("*.py"), *(each.parent for each in ROOT.glob("*/__init__.py"))]:
        link = package / path.name
        if not link.is_symlink():
            link.symlink_to(path)
    config.plugins["mkdocstrings"].config.handlers["python"]["paths"] = [str(_sources)]
    return config


def _outside(match, file):
    """The linked file from the repository's root; empty: it is a page of the site."""
    path = posixpath.normpath(f"docs/{posixpath.dirname(file.src_uri)}/../{match[1]}")
    return "" if path.startswith("docs/") else path


def on_shutdown():
    """Remove that folder of links."""
    shutil.rmtree(_sources, ignore_errors=True)


def on_files(files, config):
    """Add the files that pages link to."""
    wanted = set()
    for page in files.documentation_pages():
        wanted |= {_outside(m, page) for m in _LINK.finditer(page.content_string)}
    for name in sorted(wanted - {"", "README.md"}):
        path = ROOT / name
        if path.is_file():
            files.append(File.generated(config, f"repository/{name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Point such links at the site's copy; the README's contents are the first page."""

    def link(match):
        name, anchor = _outside(match, page.file), match[2] or ""
        if not name:
            return match[0]
        target = _README.get(anchor, "README.md") if name == "README.md" else f"repository/{name}"
        here = posixpath.dirname(page.file.src_uri) or "."
        return f"]({posixpath.relpath(target, here)})"

    return _LINK.sub(link, markdown)
