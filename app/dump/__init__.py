"""A dump of shared memory: the values that an instruction reads from it, and where the expected tile is."""
