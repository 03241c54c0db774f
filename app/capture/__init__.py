"""Captures of a running kernel: the header, fills, and what every recorded instruction read."""
