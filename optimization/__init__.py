"""Trajectory optimization: from a proven path to a trajectory within all limits.

- ``smooth``: the default: short, fast splines, proven free at all times
  (``spline``: the curves; ``program``: each round's quadratic program; ``heading``: the price of
  driving sideways)
- ``time_optimal``: the path with rounded corners, as fast as the limits allow
  (``rounding``: the corners; ``path_timing``, ``kernel/``: the time law)
- ``shortest``: the baseline quadratic program, which ignores obstacles
- ``verdict``: the check that every trajectory must pass
- ``torques``: joint torques against the motors' limits
"""
