"""Compiled with Numba at first use; kept on disk."""
