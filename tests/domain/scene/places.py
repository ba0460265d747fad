"""Where the values of a YAML text are, by PyYAML's own positions."""

import yaml


def values(node, key=""):
    """Dotted key, YAML node of the key (None in a list) and of the value, of each value."""
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            below = f"{key}.{name.value}".lstrip(".")
            yield below, name, value
            yield from values(value, below)
    elif isinstance(node, yaml.SequenceNode):
        for i, value in enumerate(node.value):
            yield f"{key}[{i}]", None, value
            yield from values(value, f"{key}[{i}]")


def place_of(text, key):
    """``line:column`` of a key, or of an element of a list; of the last if there are several."""
    found = "1:1"
    for each, name, value in values(yaml.compose(text, yaml.SafeLoader)):
        if each == key:
            mark = (name or value).start_mark
            found = f"{mark.line + 1}:{mark.column + 1}"
    return found
