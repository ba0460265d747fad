"""``galley completion``: a static script for the shell, so that completing starts nothing."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from galley.domain.options import argument

EPILOG = """The script has this version's commands and options; write it again after an update.

examples:
  galley completion bash > ~/.local/share/bash-completion/completions/galley
  galley completion zsh > ~/.zsh/_galley            with fpath=(~/.zsh $fpath) before compinit
  galley completion fish > ~/.config/fish/completions/galley.fish
  source <(galley completion bash)                  in this session only"""


@dataclass(frozen=True, kw_only=True)
class CompletionOptions:
    """Options of ``galley completion``."""

    shell: Literal["bash", "zsh", "fish"] = argument("The shell that reads the script.")


def command(options: CompletionOptions) -> int:
    """Print the script; it covers all commands and completes paths by file names."""
    import shtab

    from galley.cli import parser

    everything = parser(whole=True)
    _complete_files(everything)
    print(shtab.complete(everything, options.shell))
    return 0


def _complete_files(p: argparse.ArgumentParser) -> None:
    """Complete the arguments that are paths by file names, in all subcommands too."""
    import shtab

    for action in p._actions:
        if action.type is Path:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                _complete_files(child)
