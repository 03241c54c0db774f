"""How much a run asks where many cases repeat a fact: a stated sample with its edges, or all of it where
LANESCOPE_WHOLE=1 is set.
"""

from __future__ import annotations

import os

WHOLE = os.environ.get("LANESCOPE_WHOLE") == "1"
