"""A dump of shared memory: what an instruction reads from it, and where the expected tile lies."""
