"""Where items can stand in a region.

- ``footprints``: outlines from above, and gaps between them
- ``placements``: collision-free poses in a region that leave room for later items
- ``packing``: whether several items fit together: an arrangement, a proof that they don't, or
  neither
- ``arrangements``: the search behind the proof, over all poses in a box
"""
