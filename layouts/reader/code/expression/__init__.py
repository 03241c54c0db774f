"""Expressions: operators, conversions, assignments, places."""
