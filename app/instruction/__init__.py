"""One instruction: its operands, their maps, its code, what stands behind it."""
