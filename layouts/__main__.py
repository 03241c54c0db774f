"""`python -m lanescope`: the command."""

from __future__ import annotations

from lanescope.app.cli import main

if __name__ == "__main__":
    main()
