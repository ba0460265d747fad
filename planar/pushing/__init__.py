"""Pushing a body on a table with a round pusher, which an arm of N links may hold.

- ``shapes``: outlines: T, L, rectangle, or a file of vertices
- ``config``: every parameter with its unit; ``config_file``: in YAML
- ``simulation``: ``Simulation`` of one or many tables, in compiled code
- ``arm``: the planar arm that holds the pusher: kinematics, inverse kinematics, self-collision
- ``demonstrators``: they drive the pusher, step by step
- ``straight``: plans of straight pushes that bring a body to a goal; the pusher lifts off between
- ``rollout``: one episode of a demonstrator, with configurations of the arm
- ``picture``: pictures of tables, in compiled code; ``film``: films of episodes; ``play``: a window
  in which the mouse, or a demonstrator, pushes
- ``environment``: ``galley/Push-v0`` for Gymnasium; ``gym_pusht``: for gym-pusht's policies

Importing this package loads nothing.
"""
