"""The schema of ``report.json`` (docs/report.md), against which stored reports are checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_type_hints

from galley.domain.errors import BadInput
from galley.domain.files import read_text
from galley.motion.motion import Record
from galley.validation.verdict import GoalFact, Verdict

_LARGEST = 1e12  # magnitude of any float, in any unit
MAYBE = (float, None)
_PLAIN: dict[Any, Any] = {kind: kind for kind in (int, float, bool, str)}
_PLAIN |= {float | None: MAYBE, str | None: (str, None)}


def _form(kind: type, *but: str) -> dict[str, Any]:
    """The schema of a dataclass as plain data: its fields of plain types, except ``but``."""
    types = get_type_hints(kind).items()
    return {name: _PLAIN[t] for name, t in types if t in _PLAIN and name not in but}


_EVENT = {"time_s": float, "kind": str, "what": str}
MOTION = {
    "action_index": int,
    "phase": str,
    "group": str,
    **_form(Record, "length_rrt", "length_shortcut", "length_optimized"),
    "waypoints": int,
    "length": {"rrt": MAYBE, "shortcut": MAYBE, "optimized": MAYBE},
    "start_s": MAYBE,
    "duration_s": float,
    "declared_contacts": [[str]],
}
REPORT: dict[str, Any] = {
    "schema_version": int,
    "status": str,
    "goal_reached": bool,
    "plan": [str],
    "plan_replay": ({"own_validator": str, "pddlgym": str, "message": str, "steps": int}, None),
    "failure": (
        {
            "kind": str,
            "message": str,
            "objects": [str],
            "numbers": {str: float},
            "certificate": ({str: object}, None),
            "step": [str],
        },
        None,
    ),
    "timing_s": dict.fromkeys(
        ("compile", "task", "motion", "optimization", "execution", "video"), float
    ),
    "refinements": int,
    "plans_tried": int,
    "effort": (
        {
            "tries": float,
            "most_tries": float,
            "counts": {str: int},
            "plans": [
                {
                    "actions": [str],
                    "reached": int,
                    "tries": float,
                    "failures": int,
                    "stopped_by": str,
                }
            ],
        },
        None,
    ),
    "lessons": [{"fact": str, "why": str, "proven": bool}],
    "reasons": [{"action_index": int, "why": str}],
    "motions": [MOTION],
    "audit": {"motions": int, "disagreements": int},
    "execution": {
        "motions": int,
        "recoveries": [
            {
                "time_s": float,
                "motion": str,
                "noticed": [{"kind": str, "name": str, "amount": float, "unit": str, "what": str}],
                "ended": str,
                "how": str,
                "plan": [str],
                "planning_s": float,
                "motions": [MOTION],
            }
        ],
        "released": [{"time_s": float, "item": str, "off_m": float, "turned_rad": float}],
        "faults": [str],
        "facts": [str],
    },
    "validation": (
        {
            "passed": bool,
            **_form(Verdict, "goal_given"),
            "deepest_pair": ([str], None),
            "violations": [_EVENT],
            "events": [_EVENT],
            "goal_facts": [_form(GoalFact)],
        },
        None,
    ),
    "video": ({str: object}, None),
    "inputs": {str: str},
    "skills": {str: str},
    "files": {str: str},
    "scene": str,
    "domain": str,
    "problem": str,
    "seed": int,
    "options": {"noise": ({str: float}, None), str: object},
    "versions": {str: str},
}
SCHEMA_VERSION = 2
# Keys that reports of older versions, or of ``engine.report``, lack.
_LATER = ("skills", "noise", "effort", "margin_m")
_WORDS = {str: "text", float: "a number", int: "a whole number", bool: "true or false"}


def read_report(path: Path | str) -> dict[str, Any]:
    """Read the report at ``path`` and check it against ``REPORT``; further keys are allowed.

    Raises:
        BadInput: the file is missing, is not JSON, or does not match; with the first key at fault.
    """
    text = read_text(path)
    try:
        report = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadInput.one(path, f"is not JSON ({error.msg})", error.lineno) from None
    except (RecursionError, ValueError):
        what = "is nested too deeply, or has a number of too many digits, to be a report"
        raise BadInput.one(path, what) from None
    if not isinstance(report, dict):
        raise BadInput.one(path, "is not the report of a run")
    wrong = mismatch(report, REPORT, "")
    if not wrong and report["schema_version"] != SCHEMA_VERSION:
        what = f"is a report of version {report['schema_version']}, expected {SCHEMA_VERSION}"
        raise BadInput.one(path, what)
    if wrong:
        raise BadInput.one(path, f"{wrong}: this is not the report of a run")
    return report


def mismatch(value: Any, form: Any, key: str) -> str:
    """The first mismatch between a value and its schema, as a sentence; empty if it matches.

    Args:
        value: from the JSON file.
        key: dotted key of the value, for the message.
        form: a type; ``[form]`` for a list; ``{key: form}``, with ``str`` for any other key;
            ``(form, None)`` where null may stand; ``object`` for anything.
    """
    if isinstance(form, tuple):
        return "" if value is None else mismatch(value, form[0], key)
    if isinstance(form, list):
        if not isinstance(value, list):
            return f"'{key}' must be a list"
        faults = (mismatch(item, form[0], f"{key}[{k}]") for k, item in enumerate(value))
        return next(filter(None, faults), "")
    if isinstance(form, dict):
        if not isinstance(value, dict):
            return f"'{key}' must be an object"
        dot = f"{key}." if key else ""
        for name in sorted(form.keys() - {str, *_LATER} - value.keys()):
            return f"'{dot}{name}' is missing"
        faults = (
            mismatch(item, form.get(name, form.get(str, object)), dot + name)
            for name, item in value.items()
        )
        return next(filter(None, faults), "")
    if form is float:
        holds = type(value) in (int, float) and abs(value) < _LARGEST  # false for NaN
    else:
        holds = form is object or type(value) is form
    return "" if holds else f"'{key}' must be {_WORDS[form]}"
