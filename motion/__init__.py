"""How to get there without hitting anything: paths, trajectories, planners. PDDL is not seen here.

- ``path``, ``trajectory``, ``motion``: what is planned; ``effects``: what a motion does to a State
- ``space``, ``edges``: where planners search, and how edges are checked
- ``rrt``: the seed's planner by its parts; ``rrt_connect``: the default; ``shortcut``
- ``certify``: proof that a path is free between its checked states; ``audit``: Drake's opinion
- ``timing``: from a path to a trajectory within limits
- ``store``: trajectories on disk
"""
