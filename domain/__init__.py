"""The world in symbols and in metres: data only, no algorithm, no engine.

- ``formula``, ``pddl``: what a domain and a problem say
- ``sexpr``, ``pddl_syntax``, ``pddl_declarations``, ``pddl_formula``, ``pddl_actions``,
  ``pddl_reader``: from PDDL text to that data, with positions
- ``scene``: the world that doesn't change; ``base_spec``: the figures of the mobile base
- ``yaml_reader``, ``scene_shapes``, ``scene_bodies``, ``scene_file``: from scene files to a scene
- ``state``: where everything is; ``log``: what was executed
- ``predicates``: what on, in, inside, opened, near and grasp mean in metres
- ``frames``: poses, in monogram notation
- ``failure``: an honest no, as a value; ``errors``: malformed input, with file and line
- ``files``: written whole or not at all; ``collection``: when the garbage collector may pause
- ``kitchen/``: the kitchen's domain, tasks, scene and label textures; ``scenarios/``: other scenes
"""
