"""``galley run --view`` as a user has it: the address at once, a page that explains itself."""

import signal
import subprocess
import sys

import pytest

from galley.tests.browser import Browser


@pytest.mark.slow
def test_the_address_comes_first_and_the_page_stays_until_interrupted(tmp_path):
    words = ["run", "--view", "--problem", "sugar_only.pddl", "--execute", "none", "--no-html"]
    run = subprocess.Popen(
        [sys.executable, "-m", "galley", *words, "--out", tmp_path / "out"],
        stdout=subprocess.PIPE,
        text=True,
        # Ctrl-C is heard although what runs the tests may ignore it, as a shell's "&" makes it do.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    tab = Browser(tmp_path / "profile")
    try:
        first = run.stdout.readline()
        assert "in the browser: http://127.0.0.1:" in first
        tab.call("Page.navigate", url=first.split()[-1])
        assert any("until Ctrl-C" in line for line in run.stdout)
        tab.wait("document.querySelector('b').textContent.includes('until Ctrl-C')")
        told = tab.run("document.querySelector('#galley').innerText")
        for words in ("that the arm reaches", "planned path", "executed path", " s\n"):
            assert words in told
        assert tab.picture()[:400].std() > 20.0  # the kitchen is drawn
        assert run.poll() is None
        run.send_signal(signal.SIGINT)
        assert run.wait(20) in (0, 1)
        tab.wait("document.querySelector('strong').textContent.includes('has ended')")
    finally:
        run.kill()
        tab.close()
