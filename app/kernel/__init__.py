"""A whole program around one instruction."""
