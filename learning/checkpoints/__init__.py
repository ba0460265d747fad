"""Trained networks: their weights by name, and the file that they are kept in (extra ``planar``).

- ``weights``: the arrays of a tree of JAX by name, and a tree filled with arrays
- ``compilation``: compiled functions that give the same bits whatever else the machine does
- ``checkpoint``: arrays as safetensors, with settings as JSON in the file's header
"""
