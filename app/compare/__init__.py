"""Two operands side by side, and the elements that moved."""
