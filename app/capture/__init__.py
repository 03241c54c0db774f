"""Captures of a running kernel: the header, fills, and the elements that every recorded instruction read."""
