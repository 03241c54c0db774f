"""CuTe's algebra as people write it, step by step: `zipped_divide(composition(A, B), (4, _))`."""

from layouts.cutecalls.fits import FITTED, nearest_fits
from layouts.cutecalls.operations import OPS, Step, called
from layouts.cutecalls.sentences import Value, written
from layouts.cutecalls.statements import steps

__all__ = ["FITTED", "OPS", "Step", "Value", "called", "nearest_fits", "steps", "written"]
