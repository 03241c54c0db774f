"""Descriptors as numbers, alone or in printed output."""
