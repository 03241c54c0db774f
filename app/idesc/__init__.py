"""The instruction descriptor of tcgen05.mma, and its zero-column mask."""
