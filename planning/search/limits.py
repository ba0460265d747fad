from galley.planning.limits import Limits, Meter, available_mib, resident_mib  # noqa

__all__ = ["Limits", "Meter", "available_mib", "resident_mib"]
