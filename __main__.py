"""``python -m galley``: the same as the console script ``galley``."""

from __future__ import annotations

if __name__ == "__main__":
    try:
        from galley.cli import main
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    raise SystemExit(main())
