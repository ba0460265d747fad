"""Compiling: Numba's functions, kept on disk, so that only the first start on a machine compiles.

- ``jit``: the decorator that every compiled function of Galley wears, and where the results lie

Functions to be compiled stand in modules called ``*_kernel.py`` or in folders called ``kernel``;
those modules import Numba, so they are imported late.
"""
