"""``report.html``: what it shows is what the run left, and a browser shows it."""

import base64
import gzip
import html
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from galley.cli import main
from galley.domain.failure import Failure, FailureKind
from galley.domain.log import Log
from galley.domain.shipped import KITCHEN
from galley.engine import record_run
from galley.motion.trajectory.store import load_motions
from galley.results.page.certificate import explain
from galley.results.page.page import page_html
from galley.results.page.timeline import timeline
from galley.results.run_folder import REPORT
from galley.results.stored_run import read_run
from galley.stages import Options
from galley.tests.browser import Browser

DRAWERS, SCENARIOS = KITCHEN / "drawers.pddl", KITCHEN.parent / "scenarios"


@pytest.fixture(scope="module")
def run(physics_run):
    """The default run; its page holds the replay."""
    return physics_run.folder


@pytest.fixture(scope="module")
def text(run):
    return (run / "report.html").read_text()


@pytest.fixture(scope="module")
def source(run):
    return read_run(run, part=REPORT)


@pytest.fixture(scope="module")
def plain(source):
    """The page without its replay."""
    return page_html(source)


@pytest.fixture(scope="module")
def data(text):
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL).group(1))


def refused(tmp_path, name, problem=None):
    scene = SCENARIOS / f"{name}_scene.yaml"
    out = tmp_path / name
    options = {"scene": scene} if scene.is_file() else {}
    problem = SCENARIOS / f"{problem or name}.pddl"
    record_run(Options(domain=DRAWERS, problem=problem, out=out, **options))
    return out


def test_the_page_needs_no_other_file_and_is_small(text):
    assert len(text) < 12e6
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", text)
    inner = re.search(r'id="replay">([^<]*)<', text).group(1)
    assert b"galley" in gzip.decompress(base64.b64decode(inner))
    ids = set(re.findall(r'\bid="([^"]+)"', text))
    links = set(re.findall(r'href="#([^"]+)"', text))
    assert {"goal", "plan", "scene", "motion", "validation", "about"} <= links <= ids


def test_goal_facts_and_times_are_those_of_the_report(run, text):
    report = json.loads((run / "report.json").read_text())
    shown = html.unescape(text)
    sentence = Path(report["problem"]).read_text().splitlines()[0].strip("; ")
    assert f"<h1>{sentence}</h1>" in shown
    for fact in report["validation"]["goal_facts"]:
        assert fact["fact"] in shown
        assert fact["why"] in shown
    log = Log.load(run / "states.npz")
    for k, motion in enumerate(report["motions"]):
        first = int(np.flatnonzero(log.motion == k)[0])
        assert motion["start_s"] == log.time[first]
        assert f'data-seek="{motion["start_s"]}"' in text
    assert "report.html" not in report["files"]


def test_curves_keep_their_peaks(run, data):
    motions = load_motions(run / "trajectories.npz")
    assert len(data["steps"]) == len(motions)
    for motion, step in zip(motions, data["steps"], strict=True):
        t = np.linspace(0.0, motion.trajectory.duration, 20001)
        for order, name in ((1, "velocity"), (2, "acceleration")):
            curve = np.abs(np.array(step["curves"][name])).max(axis=1)
            dense = np.abs(motion.trajectory(t, order)).max(axis=0)
            exact = np.array([joint["peaks"][order - 1]["value"] for joint in step["peaks"]])
            assert curve == pytest.approx(exact, rel=2e-3, abs=1e-9)
            assert dense == pytest.approx(exact, rel=2e-3, abs=1e-9)
    assert all(max(curve) > 0.0 for curve in data["run"]["tracking"]["curves"].values())
    log = Log.load(run / "states.npz")
    off = 1e3 * np.abs(log.q - log.command)[:, 3:10].max()
    assert data["run"]["tracking"]["peaks"]["arm (mrad)"] == pytest.approx(off)


def test_a_run_that_follows_its_commands_exactly_has_no_flat_charts(run, data, tmp_path):
    folder = shutil.copytree(run, tmp_path / "run")
    log = Log.load(run / "states.npz")
    unfelt = np.zeros_like(log.contact_force)
    replace(log, command=log.q, contact_force=unfelt).save(folder / "states.npz")
    made = page_html(read_run(folder, part=REPORT))
    assert 'value="run"' not in made
    (found,) = re.findall(r'id="data">(.*?)</script>', made, re.DOTALL)
    shown = json.loads(found)
    assert shown["run"] == {}
    assert [(step["tracking"], step["forces"]) for step in shown["steps"]] == [
        ({}, {}) for _ in data["steps"]
    ]


def test_names_and_reasons_are_shown_and_cannot_become_markup(source, plain):
    evil = '<script>alert("1")</script>&</script>'
    report = json.loads(json.dumps(source.report))
    report["plan"][0] = f"(navigate {evil} x)"
    report["motions"][0]["phase"] = evil
    report["lessons"] = [{"fact": evil, "why": evil, "proven": True}]
    report["reasons"] = [{"action_index": 2, "why": evil}]
    sizes = {"kind": "sizes", "item_m": [0.1, 0.1, 0.3], "room_height_m": 0.2, "because": []}
    failure = Failure(FailureKind.DOES_NOT_FIT, evil, (evil, evil), {"room_m": 0.2}, sizes)
    report["failure"] = failure.as_json()
    rows = timeline(replace(source, report=report)).parts[0].rows
    assert [k for k, row in enumerate(rows) if row.reasons] == [2]
    made = page_html(replace(source, report=report))
    assert "<script>alert" not in made
    assert made.count("</script>") == plain.count("</script>")
    assert html.escape(evil, quote=False).replace('"', "&#34;") in made


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("too_tall", "66 mm too high"),
        ("out_of_reach", "0.30 m short"),
        ("contradiction", "at most one of"),
        ("too_small", "there is no room for soup and spam together"),
    ],
)
def test_certificates_in_words(name, says, tmp_path):
    source = read_run(refused(tmp_path, name), part=REPORT)
    told = explain(source.report["failure"], source.scene, source.robot)
    assert says in " ".join(told.sentences)
    if name == "too_tall":
        assert source.report["plans_tried"] == 0
        page = page_html(source)
        assert "<p>Stow the sugar box in the drawer: sugar_box is 0.175 m high" in page
        assert "the last plan that was tried" not in page


def test_mishaps_are_told_once_with_how_often_and_fold_together(source):
    def recovery(time, name, ended):
        noticed = [{"kind": "not-held", "name": name, "what": f"{name} is not in the hand"}]
        motion = f"recovery {time}: (pick {name}) | close fingers"
        return {
            "time_s": time, "motion": motion, "noticed": noticed, "ended": ended,
            "how": "resumed", "plan": [], "motions": [], "planning_s": 0.1,
        }  # fmt: skip

    missed = [recovery(k, "mug", f"closed on nothing, {k} mm") for k in range(1, 9)]
    recoveries = [*missed, recovery(9, "jar", "")]
    failure = {
        "kind": "budget",
        "message": "after jar is not in the hand: gave up",
        "numbers": {},
        "step": ["after jar is not in the hand"],
        "certificate": None,
    }
    told = explain(failure, source.scene, source.robot, recoveries)
    assert told.sentences[1:] == [
        "8 times, from 1.0 to 8.0 s: mug is not in the hand, after (pick mug) | close fingers,"
        " which ended with: closed on nothing, 8 mm.",
        "At 9.0 s: jar is not in the hand, after (pick jar) | close fingers.",
    ]
    execution = {**source.report["execution"], "recoveries": recoveries}
    report = {**source.report, "status": "failed", "failure": failure, "execution": execution}
    page = page_html(replace(source, report=report))
    assert "After jar is not in the hand: gave up." in page  # what went wrong is no action
    assert "Nothing is proven" not in page
    assert page.count("<summary>Recoveries 1 to 8. 8 times, from") == 1
    assert page.count("<h3>Recovery ") == 9


def test_what_is_in_the_way_is_marked(tmp_path):
    source = read_run(refused(tmp_path, "drawer_wholly_blocked", "into_the_drawer"), part=REPORT)
    told = explain(source.report["failure"], source.scene, source.robot)
    assert told.blockers == ("crate",)
    assert "In the way: crate" in page_html(source)


def test_the_page_has_the_command_with_every_option_that_decides_what_comes_out(source, plain):
    shown = html.unescape(plain)
    assert source.report["options"]["effort"] == 1.0
    elsewhere = {"out", "noise", "video", "height", "fps", "speed", "html"}
    for name, value in source.report["options"].items():
        if value is not None and name not in elsewhere:
            assert f"--{name.replace('_', '-')} {value}" in shown, name


def test_the_command_makes_the_same_page_again(run, plain, tmp_path, capsys):
    page = tmp_path / "again.html"
    assert main(["report", str(run), "--no-replay", "--out", str(page)]) == 0
    assert f"open {page}" in capsys.readouterr().out
    assert page.read_text() == plain


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda f: (f / "report.json").write_text("{"), "report.json:1: is not JSON"),
        (lambda f: (f / "report.json").write_text('{"status": 1}'), "' is missing"),
        (lambda f: (f / "report.json").unlink(), ": holds no report.json"),
        (lambda f: (f / "UNFINISHED").write_text(""), "has not ended, or was cut short"),
    ],
)
def test_a_folder_without_a_report_is_refused_in_one_line(run, spoil, says, tmp_path, capsys):
    folder = tmp_path / "run"
    folder.mkdir()
    shutil.copy(run / "report.json", folder)
    spoil(folder)
    assert main(["report", str(folder)]) == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1
    assert not (folder / "report.html").exists()


@pytest.mark.slow
def test_a_browser_shows_it(run, tmp_path):
    browser = Browser(tmp_path / "profile", 800, 1000)
    try:
        browser.open(run / "report.html", "document.querySelectorAll('.plot .main-svg').length")
        for width in (400, 800, 1400):
            browser.call(
                "Emulation.setDeviceMetricsOverride",
                **{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
            )
            assert browser.run("document.documentElement.scrollWidth") <= width
            joints = "document.querySelector('#peaks').parentNode"
            assert browser.run(f"{joints}.textContent.length") > 500
            assert browser.run(f"{joints}.scrollWidth <= {joints}.clientWidth"), width
        # A click on an action moves the replay there; while it plays the cursor moves.
        browser.run("document.querySelectorAll('.words [data-seek]')[1].click()")
        browser.wait("frames.length && frames[0].galley && frames[0].galley.time() > 0")
        begins = browser.run(
            "Number(document.querySelectorAll('.words [data-seek]')[1].dataset.seek)"
        )
        assert browser.run("frames[0].galley.time()") == pytest.approx(begins)
        browser.wait("document.querySelectorAll('.action')[1].classList.contains('current')")
        overlaps = """[...document.querySelectorAll('.plot')].some(plot =>
            plot.querySelector('.main-svg').getBoundingClientRect().width > plot.clientWidth + 1)"""
        browser.run(f"""matchMedia("print").addEventListener("change",
            event => {{ if (event.matches) window.overlaps = {overlaps}; }})""")
        pdf = base64.b64decode(browser.call("Page.printToPDF")["data"])
        assert browser.run("window.overlaps") is False
        assert pdf.startswith(b"%PDF")
        outside = [url for url in browser.asked if not url.startswith(("file:", "data:", "blob:"))]
        assert [url for url in outside if url != "about:srcdoc"] == []
        assert browser.errors == []
    finally:
        browser.close()
