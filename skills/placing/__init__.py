"""Where items can stand.

- ``footprints``: outlines from above, and gaps between them
- ``placements``: collision-free poses in a region that leave room for later items
- ``packing``: whether several items fit together: an arrangement, a proof that not, or neither
- ``arrangements``: the search behind it, over all poses in a box
"""
