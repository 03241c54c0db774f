"""Mbarriers, simulated for all threads of a block or a cluster."""
