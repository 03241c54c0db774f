"""The workbench: one text with several things in it → whether its descriptors read what is stored.

A text may hold tensor maps, code that builds descriptors (or printed words), instructions and CuTe layouts, in any
order. Every turn of the loops is verified element for element (layouts/descriptor/verify.py); nothing is filled in
silently: what a text leaves open is named among `assumed`, and can be given.
"""

from __future__ import annotations

from lanescope.workbench.found import Assumed, Bench, Operand, Piece, Step
from lanescope.workbench.whole import bench

__all__ = ["Assumed", "Bench", "Operand", "Piece", "Step", "bench"]
