"""Checks of the descriptors, tensor maps and instructions in source files, for people and for CI."""
