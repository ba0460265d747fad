"""What goes wrong on purpose.

- ``noise``: how the true world differs from the scene; ``standing``: whether an item stands there
- ``faults``: several at once, from text; ``fault``: what one is; ``fault_kinds``: what each does
"""
