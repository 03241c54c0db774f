"""Runs on this server's device or on the NumPy reference, and the stored evidence."""
