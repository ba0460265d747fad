"""The compiled collision kernel. Import it late: it loads Numba.

- ``arrays``: the named tuples of arrays it works on; ``packed``: passes them as one table of
  addresses
- ``kinematics``: frames of 16 configurations at once; ``prepare``: fills a new view's arrays
- ``shapes``: points against solids; ``gjk``: solids against solids
- ``state_check``: are 16 configurations free? ``narrow_phase``: exact distances decide where
  spheres are too near
- ``continuous_collision``: are edges and curves free? Sampled to guide a search, proven for what
  is returned
- ``contacts``: what is near what, how near, and how that changes with the joints
"""
