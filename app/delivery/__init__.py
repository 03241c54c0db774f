"""From storage to operand: the shortest program of loads and register moves, with its certificate."""
