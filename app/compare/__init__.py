"""Two operands side by side: what moved."""
