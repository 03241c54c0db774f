"""Shared memory → ldmatrix → operand, and accumulator → stmatrix → shared memory."""
