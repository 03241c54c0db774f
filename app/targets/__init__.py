"""Targets: the instructions that each has and lacks."""
