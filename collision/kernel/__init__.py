"""The compiled collision kernel. Import it late: it loads Numba.

- ``arrays``: the named tuples of arrays it works on; ``packed``: passes them as one table of
  addresses
- ``kinematics``: frames of 16 configurations at once; ``prepare``: fills a new view's arrays
- ``shapes``: points against solids; ``separation``: solids against solids (GJK)
- ``examine``: are 16 configurations free? ``confirm``: exact distances decide where spheres are
  too near
- ``edges``: whether straight edges are free: sampled for guidance, proven for what is returned
- ``contacts``: what is near what, how near, and how that changes with the joints
"""
