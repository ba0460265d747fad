"""Scenes: the world that doesn't change, in metres, and the YAML files that it is read from.

- ``model``: a Scene; ``base_spec``: the measures and limits of the mobile base
- ``yaml_reader``: YAML with positions; ``shapes``, ``bodies``: the parts of a scene file
- ``reader``: a whole file
"""
