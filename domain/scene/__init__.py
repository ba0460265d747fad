"""Scenes: the static description of the world, read from YAML.

- ``model``: a Scene; ``base_spec``: dimensions and limits of the mobile base
- ``reader``: reads a scene file; ``shapes``, ``bodies``, ``stances``: its parts
- ``format``: the table of keys, kinds and bounds, and its JSON Schema; ``kinds``: what tables hold
- ``yaml_nodes``: a document's nodes, by libyaml where it reads as PyYAML does
- ``yaml_reader``: YAML values with file, line and error messages
"""
