"""Where items can stand.

- ``footprints``: outlines from above, and gaps between them
- ``placements``: poses in a region, clear of others, with room for more
- ``packing``: whether several things can stand together: an arrangement, a proof, or neither
"""
