"""An accumulator as the next A operand."""
