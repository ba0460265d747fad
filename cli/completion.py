"""``galley completion``: a static script for the shell, so that completing starts nothing."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from galley.domain.options import argument

EPILOG = """The script knows this version's commands and options: write it again after an update.

examples:
  galley completion bash > ~/.local/share/bash-completion/completions/galley
  galley completion zsh > ~/.zsh/_galley            with fpath=(~/.zsh $fpath) before compinit
  galley completion fish > ~/.config/fish/completions/galley.fish
  source <(galley completion bash)                  in this bash only"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Of ``galley completion``."""

    shell: Literal["bash", "zsh", "fish"] = argument("Write for this shell.")


def command(options: Options) -> int:
    """Print the script."""
    import shtab

    from galley.cli import parser

    whole = parser(whole=True)
    _complete_files(whole)
    print(shtab.complete(whole, options.shell))
    return 0


def _complete_files(p: argparse.ArgumentParser) -> None:
    """Arguments that are paths are completed by file names."""
    import shtab

    for action in p._actions:
        if action.type is Path:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                _complete_files(each)
