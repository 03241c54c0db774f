"""Kinds of run, the worker process that has CuPy, and the NumPy reference behind the same interface."""
