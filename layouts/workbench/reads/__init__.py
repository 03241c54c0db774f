"""The tile of each operand as it is stored, and the verdict on each read."""
