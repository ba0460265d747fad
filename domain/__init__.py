"""The world in symbols and in metres: data only, no algorithm, no engine.

- ``pddl/``: what a domain and a problem say, and how they are read
- ``scene/``: the world that doesn't change, from one YAML file
- ``state``: where everything is; ``log``: what was executed
- ``predicates``: what on, in, inside, opened, near and grasp mean in metres
- ``frames``: poses, in monogram notation
- ``failure``: an honest no, as a value; ``errors``: malformed input, with file and line
- ``listener``: hears how work goes on, silent by default
- ``columns``: the arrays of an npz, and what they must hold
- ``files``: written whole or not at all; ``collection``: when the garbage collector may pause
- ``kitchen/``: the kitchen's domain, tasks, scene and label textures; ``scenarios/``: other scenes;
  ``shipped``: where they are
"""
