"""One instruction: its operands, their maps, its code, and the evidence."""
