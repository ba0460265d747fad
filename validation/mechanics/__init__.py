"""What mechanics says of positions and masses, whatever the log states of forces and of holding.

- ``support``: does what touches an item carry it the way it moves? is it in the hand?
- ``contacts``: are recorded contacts where bodies touch, and do their forces carry the weights?
"""
