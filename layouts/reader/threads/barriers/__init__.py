"""Mbarriers, barriers of threads and tensor memory: the trace of a kernel, and its simulation."""
