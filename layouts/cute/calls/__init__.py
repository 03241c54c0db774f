"""Evaluate expressions of CuTe's algebra step by step: `zipped_divide(composition(A, B), (4, _))`."""

from lanescope.cute.calls.fits import FITTED, find_nearest_fits
from lanescope.cute.calls.operations import OPS, AlgebraStep, apply_operation
from lanescope.cute.calls.sentences import Value, format_value
from lanescope.cute.calls.statements import evaluate_statements

__all__ = [
    "FITTED",
    "OPS",
    "AlgebraStep",
    "Value",
    "apply_operation",
    "evaluate_statements",
    "find_nearest_fits",
    "format_value",
]
