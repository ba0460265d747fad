"""The world in symbols and in metres: data only, no algorithm, no engine.

- ``sexpr``, ``pddl_syntax``, ``pddl_declarations``, ``pddl_formula``, ``pddl_actions``,
  ``pddl_reader``: from PDDL text to the data of ``pddl``, with positions
- ``yaml_reader``, ``scene_extends``, ``scene_shapes``, ``scene_furniture``, ``scene_items``,
  ``scene_objects``, ``scene_file``: from scene files to the data of ``scene`` and
  ``scene_settings``; ``base_spec``: the figures of the mobile base
- ``state``: where everything is; ``log``: what was executed
- ``predicates``: what on, in, inside, opened, near and grasp mean in metres
- ``frames``: poses, in monogram notation
- ``failure``: an honest no, as a value; ``errors``: malformed input, with file and line
- ``kitchen/``: the kitchen's domain, tasks, scene and label textures
"""
