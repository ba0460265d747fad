"""Scenes: the static description of the world, read from YAML.

- ``model``: a Scene; ``base_spec``: dimensions and limits of the mobile base
- ``schema``: what a scene file may hold, as pydantic models, and its JSON Schema
- ``extended``: a file merged with those that it extends; ``standalone``: one that needs no other
- ``reader``: makes a Scene of it; ``shapes``, ``bodies``, ``stances``: its parts
"""
