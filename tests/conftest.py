"""Shared set-up: hypothesis without deadlines (machines here are noisy) and the same examples in every run."""

from hypothesis import settings

settings.register_profile("lanescope", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("lanescope")
