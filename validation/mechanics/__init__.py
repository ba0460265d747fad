"""Checks of items by mechanics, from positions and masses.

- ``support``: can the contacts of an item support its motion, and is it in the hand?
- ``contacts``: are recorded contacts where bodies touch, and do their forces carry the weights?
- ``items``: slip in the hand, jumps, and drift without a push; ``rest``: is all at rest at the end?
"""
