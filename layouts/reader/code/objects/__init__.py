"""Objects: construction, members, copies, pointers to them, views of their bytes."""
