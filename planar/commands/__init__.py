"""The commands of the plane: ``galley touch``, ``galley contact`` and ``galley reach``."""
