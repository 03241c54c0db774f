"""Shared set-up: no deadlines, as the machine may be busy: hypothesis has none, a server's requests have a minute; the
same examples in every run.
"""

import os

from hypothesis import settings

os.environ.setdefault("LANESCOPE_SECONDS", "60")

settings.register_profile("lanescope", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("lanescope")
