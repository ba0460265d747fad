"""The compiled collision kernel.

- ``arrays``: what the kernel works on: robot, scene and query as tuples of arrays
- ``edges``: whether straight edges are free: sampled for guidance, proven for what is returned
"""
