"""Every public function that takes a path takes text; values that hold a path hold a Path."""

import re
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from inspect import Parameter, isclass, signature
from pathlib import Path

from galley.tests.test_architecture import module_name, sources, top


@cache
def functions():
    """Public functions, methods and constructors of the library, by name; not of the commands."""
    found = {}
    for name in map(module_name, sources()):
        module = vars(import_module(name))
        commands = top(name) == "cli" or ".commands" in name
        if commands or module.get("Path") is not Path:  # of motion, or there is none
            continue
        for key, value in module.items():
            if key[0] == "_" or getattr(value, "__module__", None) != name:
                continue
            inner = {"": value} if not isclass(value) else dict(vars(value))
            for method, each in inner.items():
                known = method[:1] != "_" or (method == "__init__" and not is_dataclass(value))
                if known and callable(each) and not isclass(each):
                    found[f"{name}.{key}.{method}"] = each
    return found


def is_path(parameter):
    return re.search(r"\bPath\b", str(parameter.annotation)) is not None


def test_every_path_may_be_text():
    """Mypy sees that what is annotated so isn't used as a Path."""
    wrong = [
        f"{name}({each})"
        for name, function in functions().items()
        for each in signature(function).parameters.values()
        if is_path(each) and "str" not in str(each.annotation)
    ]
    assert len(functions()) > 60
    assert not wrong, "\n".join(wrong)


def outcome(function, *arguments):
    try:
        return repr(function(*arguments))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def test_what_is_not_there_is_named_alike_by_text_and_by_path(tmp_path):
    tried = 0
    for name, function in functions().items():
        needed = [
            p for p in signature(function).parameters.values() if p.default is Parameter.empty
        ]
        if needed and all(map(is_path, needed)):
            missing = tmp_path / f"{tried}.yaml"
            said = outcome(function, *[missing] * len(needed))
            assert outcome(function, *[str(missing)] * len(needed)) == said, name
            tried += 1
    assert tried > 20
