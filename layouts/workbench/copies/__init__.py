"""TMA copies: boxes, coordinates, bytes, and the reads of what they fill."""
