"""Where to stand.

- ``stances``: samples base poses for a hand pose, and proves points out of reach
- ``planar/``: a two-link arm on a mobile base, with exact densities
"""
