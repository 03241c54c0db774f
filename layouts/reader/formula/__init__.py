"""Formulas and loops that compute the place of a fragment's or a tile's elements."""
