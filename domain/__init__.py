"""The data model of a task: PDDL, scenes, states and logs. No planning, no physics engine.

- ``pddl/``: PDDL domains and problems, and their parser
- ``scene/``: the static description of the world, read from a YAML file
- ``state``: robot configuration, joint values, item poses; ``log``: a recorded run
- ``predicates``: geometric meaning of on, in, inside, opened, near and grasp
- ``words``: PDDL actions as English clauses
- ``frames``: rigid transforms in monogram notation
- ``failure``: a Failure as a value; ``errors``: malformed input, with file and line
- ``listener``: progress callbacks, silent by default
- ``parameters``: names, units and bounds of a model's parameters, checked in one place
- ``yaml_models``: YAML files read by pydantic models, every error at its line and column
- ``options``: dataclass fields that become a command's options
- ``columns``: checked arrays of an npz file; ``meshes``: OBJ and STL, and convex hulls
- ``files``: bounded reads, atomic writes
- ``kitchen/``: the kitchen's PDDL, scene and textures; ``scenarios/``: the other scenes;
  ``templates/``: the files that ``galley new`` copies; ``shipped``: finds all these by bare names
"""
