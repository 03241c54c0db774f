"""The state of a grid: memory, blocks, mbarriers, clusters, tensor maps."""
