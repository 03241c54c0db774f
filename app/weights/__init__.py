"""Prepacked weights: which word, lane and register hold an element of a quantized matrix."""
