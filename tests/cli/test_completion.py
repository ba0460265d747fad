"""The script of ``galley completion`` in a real bash: commands, options, choices, file names."""

import shutil
import subprocess

import pytest

from galley.tests.command_line import command

_ASK = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9
entry=$(complete -p galley); entry=${entry##*-F }; "${entry%% *}" galley "${COMP_WORDS[-1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    path = tmp_path_factory.mktemp("completion") / "galley.bash"
    path.write_text(command("completion", "bash").out)
    return path


def complete(script, folder, *words):
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    done = subprocess.run(
        [bash, "--norc", "-c", _ASK, "ask", script, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["galley", "sc"], ["scene", "scenarios"]),
        (["galley", "run", "--pro"], ["--problem"]),
        (["galley", "run", "--optimize", "s"], ["smooth", "shortest"]),
        (["galley", "demos", "export", "--fo"], ["--format"]),
        (["galley", "verify", "plan", "my"], ["my_domain.pddl", "my_task.pddl"]),
        (["galley", "run", "--problem", "my_t"], ["my_task.pddl"]),
        (["galley", "completion", ""], ["bash", "zsh", "fish"]),
    ],
    ids=lambda words: " ".join(words),
)
def test_bash_completes(script, tmp_path, words, expected):
    for name in ("my_domain.pddl", "my_task.pddl", "other.txt"):
        (tmp_path / name).touch()
    assert sorted(complete(script, tmp_path, *words)) == sorted(expected)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_scripts_of_other_shells_name_every_command(shell):
    text = command("completion", shell).out
    for word in ("scenarios", "verify", "--problem", "time-optimal", "--top-k"):
        assert word.lstrip("-") in text
    if found := shutil.which(shell):
        subprocess.run([found, "-n"], input=text, text=True, check=True)
