"""CuTe's algebra as people write it, step by step: `zipped_divide(composition(A, B), (4, _))`."""

from lanescope.cute.calls.fits import FITTED, nearest_fits
from lanescope.cute.calls.operations import OPS, Step, called
from lanescope.cute.calls.sentences import Value, written
from lanescope.cute.calls.statements import steps

__all__ = ["FITTED", "OPS", "Step", "Value", "called", "nearest_fits", "steps", "written"]
