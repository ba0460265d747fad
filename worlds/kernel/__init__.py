"""The compiled collision kernel. Import it late: that takes Numba.

- ``arrays``: what it works on: robot, obstacles and query as tuples of arrays; ``packed`` hands
  them over as one table of addresses
- ``kinematics``: frames of 16 configurations at once; ``prepare``: fills a query
- ``shapes``: points against solids; ``separation``: solids against solids
- ``examine``: are 16 configurations free? ``solids``: what moves and isn't made of spheres;
  ``confirm``: the hulls have the last word
- ``edges``: whether straight edges are free: sampled for guidance, proven for what is returned
- ``contacts``: what is near what, how near, and how that changes with the joints
"""
