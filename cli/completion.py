"""``galley completion``: a static script for the shell, so that completing starts nothing."""

from __future__ import annotations

import argparse
from pathlib import Path

SHELLS = ("bash", "zsh", "fish")

EPILOG = """The script knows this version's commands and options: write it again after an update.

examples:
  galley completion bash > ~/.local/share/bash-completion/completions/galley
  galley completion zsh > ~/.zsh/_galley            with fpath=(~/.zsh $fpath) before compinit
  galley completion fish > ~/.config/fish/completions/galley.fish
  source <(galley completion bash)                  in this bash only"""


def add_arguments(p: argparse.ArgumentParser) -> None:
    """Add the options of ``galley completion``."""
    p.add_argument("shell", choices=SHELLS, help="the shell that is to complete")


def command(arguments: argparse.Namespace) -> int:
    """Print the script."""
    import shtab

    from galley.cli import parser

    whole = parser(whole=True)
    _complete_files(whole)
    print(shtab.complete(whole, arguments.shell))
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
