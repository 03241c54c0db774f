"""Tensor maps that code encodes."""
