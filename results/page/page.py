"""Writes ``report.html`` from the files in a run's folder."""

from __future__ import annotations

import base64
import gzip
import io
import shlex
from collections.abc import Mapping
from importlib.resources import files
from itertools import takewhile
from pathlib import Path
from typing import Any

from galley.domain.action_text import in_words
from galley.domain.errors import BadInput
from galley.domain.files import read_bytes, write_atomically
from galley.results.page.certificate import explain, templates
from galley.results.page.curves import forces, motion_curves, peaks, tracking
from galley.results.page.timeline import Timeline, timeline
from galley.results.run_folder import PAGE, PROBLEM, REPORT, input_copy
from galley.results.stored_run import StoredRun, read_run
from galley.validation.verdict import figures

# The errors of reading a malformed certificate: every kind has a form of its own.
_NO_CERTIFICATE = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError)
_PICTURE = (960, 540)  # pixels of the still pictures
_HEADLINES = {
    "success": ("✓", "Success"),
    "refused": ("⊘", "Refused: the task is impossible"),
    "failed": ("✕", "Failed"),
    "budget": ("?", "Undecided"),
    "unfinished": ("…", "Unfinished"),
}
_UNITS = ("m", "rad", "N", "n", "s", "kg", "ms")
# The options of ``galley run`` that the result depends on, by their keys in the report.
_OPTIONS = (
    *("scene", "domain", "problem", "seed", "skills", "planner", "checker", "optimize", "arrival"),
    *("execute", "fault", "recoveries", "effort"),
)


def write_page(
    folder: Path | str,
    path: Path | str | None = None,
    scene_file: Path | str | None = None,
    *,
    replay: bool = True,
) -> Path:
    """Write the page of a run atomically, and return its path.

    Args:
        folder: of the run.
        path: of the page; None: ``report.html`` in the folder.
        scene_file: used instead of the run's scene.
        replay: whether the page has the run in 3D, which is nearly half of its size.

    Raises:
        BadInput: there is no run, or it can't be read; or ``path`` can't be written.
    """
    source = read_run(folder, scene_file, REPORT)
    path = source.folder / PAGE if path is None else Path(path)
    write_atomically(path, page_html(source, _replay(source) if replay else ""))
    return path


def page_html(source: StoredRun, replay: str = "") -> str:
    """The page of a run as HTML that needs no other file.

    Args:
        source: the run.
        replay: HTML of a page that shows the run in 3D (``viz.replay``); empty for none.

    Raises:
        BadInput: the certificate in the report lacks what its kind needs.
    """
    import plotly
    from jinja2 import TemplateError
    from markupsafe import Markup

    report, line = source.report, timeline(source)
    name = Path(str(report.get("problem", ""))).stem or source.folder.name
    failure = report.get("failure")
    recoveries = report["execution"]["recoveries"]
    try:
        told = explain(failure, source.scene, source.robot, recoveries) if failure else None
    except (*_NO_CERTIFICATE, TemplateError) as error:
        what = f"'failure.certificate' lacks what its kind needs ({type(error).__name__}: {error})"
        raise BadInput.one(source.folder / REPORT, what) from error
    data = _data(source, line)
    script = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    environment = templates(
        autoescape=True, seconds=_seconds, clearance=_clearance, quantity=_quantity, figure=_figure
    )
    own = files("galley.results.page")
    symbol, headline = _headline(report)
    html: str = environment.get_template("page.html.jinja").render(
        report=report,
        name=name,
        title=_sentence(source) or name,
        symbol=symbol,
        headline=headline,
        because=_because(failure, source) if failure else "",
        line=line,
        told=told,
        planning=sum(report["timing_s"].get(k, 0.0) for k in ("task", "motion", "optimization")),
        goals=(report.get("validation") or {}).get("goal_facts", []),
        checks=figures(report["validation"]) if report.get("validation") else [],
        first=_first(line),
        picture=_picture(source, ()),
        blockers=_picture(source, told.blockers) if told and told.blockers else "",
        command=_command(report),
        data=data,
        replay=_packed(replay) if replay else "",
        plotly=_packed(script.read_text(encoding="utf-8")) if data["steps"] else "",
        css=Markup((own / "page.css").read_text(encoding="utf-8")),
        js=Markup((own / "page.js").read_text(encoding="utf-8")),
    )
    return html


def _replay(source: StoredRun) -> str:
    """HTML of the run in 3D; empty if nothing was executed."""
    if source.log is None or len(source.log.time) < 2:
        return ""
    from galley.viz.replay import replay_html

    return replay_html(source.log, source.scene, source.robot)


def _data(source: StoredRun, line: Timeline) -> dict[str, Any]:
    """The data of the page's script: the curves and peaks of each motion and of the run."""
    steps = []
    for step in line.steps:
        motions = source.motions[step.part] if step.part < len(source.motions) else ()
        planned = motions[step.index] if step.index < len(motions) else None
        entry: dict[str, Any] = {"start": step.start, "end": step.end}
        if step.figures.get("min_clearance_m") is not None:
            entry["clearance"] = _clearance(step.figures["min_clearance_m"])
        if planned is not None:
            entry["curves"] = motion_curves(planned, source.robot)
            entry["peaks"] = peaks(planned, source.robot)
        if source.log is not None and step.start is not None and step.end is not None:
            entry["tracking"] = tracking(source.log, source.robot, step.start, step.end)
            entry["forces"] = forces(source.log, step.start, step.end)
        steps.append(entry)
    run = {}
    if source.log is not None and len(source.log.time):
        force = forces(source.log, 0.0, line.duration)
        off = tracking(source.log, source.robot, 0.0, line.duration)
        run = {"tracking": off, "forces": force} if off or force else {}
    return {"duration": line.duration, "steps": steps, "run": run}


def _sentence(source: StoredRun) -> str:
    """The comment at the beginning of the problem's file; empty if there is none."""
    file = input_copy(source.folder, PROBLEM)
    text = read_bytes(file).decode("utf-8", "replace").lstrip() if file else ""
    lines = takewhile(lambda line: line[:1] == ";" and line.strip("; "), text.splitlines())
    return " ".join(line.strip("; ") for line in lines)


def _headline(report: Mapping[str, Any]) -> tuple[str, str]:
    """A sign and a few words for how the run ended."""
    status = str(report["status"])
    if "interrupted" in str((report.get("failure") or {}).get("message", "")):
        return "◼", "Interrupted"
    return _HEADLINES.get(status, ("?", status))


def _because(failure: Mapping[str, Any], source: StoredRun) -> str:
    """The failure in one sentence."""
    message, step = str(failure.get("message", "")), failure.get("step") or []
    objects = {binding.object for binding in source.scene.bindings}
    # Say an action in words; the template shows it in PDDL, too. A run that gave up has what went
    # wrong before in its place.
    if step and objects.issuperset(step[0].split()[1:]):
        rest = message.removeprefix(" > ".join(step) + ": ")
        message = f"{in_words(step[0], source.scene)}: {rest}"
    named = "_" in message.partition(" ")[0]  # a name keeps its small letter
    return (message if named else message[:1].upper() + message[1:]) + "."


def _picture(source: StoredRun, marked: tuple[str, ...]) -> str:
    """A picture of the last state, or of the start, as a data URL; ``marked`` bodies are orange."""
    from galley.viz.render.scene_picture import draw_state, start_of

    log = source.log
    at = start_of(source.scene)
    if log is not None and len(log.time):
        at = (log.q[-1], log.scene_q[-1], log.items[-1])
    try:
        image = draw_state(source.scene, source.robot, at, *_PICTURE, marked)
    except ValueError:  # a state that can't be drawn: leave the picture out
        return ""
    file = io.BytesIO()
    image.save(file, "JPEG", quality=80)
    return "data:image/jpeg;base64," + base64.b64encode(file.getvalue()).decode()


def _command(report: Mapping[str, Any]) -> str:
    """The command line that repeats the run."""
    options = {key: report[key] for key in _OPTIONS[:4]} | report["options"]
    words = ["galley", "run"]
    for key in _OPTIONS:
        if options.get(key) is not None:
            words += [f"--{key.replace('_', '-')}", str(options[key])]
    if options.get("noise"):
        words += ["--noise", ",".join(f"{k}={v!r}" for k, v in options["noise"].items())]
    return shlex.join(words) + ("" if options.get("video", True) else " --no-video")


def _packed(text: str) -> str:
    """The text compressed, in base64, for the page's script to unpack; deterministic."""
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


def _seconds(value: float | None) -> str:
    """Seconds with two decimals, or one from 10 s on."""
    if value is None:
        return "-"
    return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"


def _clearance(metres: float | None) -> str:
    """A clearance in millimetres; beyond about 6 cm none is measured."""
    if metres is None:
        return "-"
    return "> 50 mm" if metres >= 0.05 else f"{1e3 * metres:.1f} mm"


def _quantity(key: str) -> str:
    """The words of a key without its unit: "height" for ``height_m``."""
    name, _, unit = key.rpartition("_")
    return (name if unit in _UNITS else key).replace("_", " ")


def _figure(value: object, key: str) -> str:
    """A number of the report with the unit in which its key ends; short lengths in millimetres."""
    unit = key.rpartition("_")[2]
    if not isinstance(value, int | float):
        return str(value)
    if unit == "m" and abs(value) < 1.0:
        return f"{1e3 * value:.4g} mm"
    return f"{value:,.{4 if value % 1 else 12}g} {unit if unit in _UNITS else ''}".strip()


def _first(line: Timeline) -> int:
    """The number of the motion that is shown first, the fastest one of the arm; -1 for none."""
    arm = [s for s in line.steps if "arm" in str(s.figures["group"])] or line.steps
    fastest = max(arm, key=lambda s: float(s.figures["velocity_ratio"]), default=None)
    return -1 if fastest is None or fastest.number is None else fastest.number
