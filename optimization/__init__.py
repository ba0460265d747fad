"""How to get there well: from a proven path to a trajectory within all limits.

- ``smooth``: the default; short, fast splines that keep their distance at all times
  (``spline``: the curves)
- ``time_optimal``: the path with round corners, as fast as the limits allow
  (``rounding``: the corners; ``path_timing``, ``kernel/``: the time law)
- ``shortest``: the seed's quadratic program, the straight line
- ``verdict``: the check that everything passes
- ``torques``: could the arm's motors do it?
"""
