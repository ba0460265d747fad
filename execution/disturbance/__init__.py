"""What goes wrong on purpose.

- ``noise``: how the true world differs from the scene; ``standing``: whether an item stands there
- ``fault``: what a fault is; ``faults``: what each kind does, and several at once, from text
"""
