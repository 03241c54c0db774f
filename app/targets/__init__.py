"""Targets: what the GPUs of each have, and what they lack."""
