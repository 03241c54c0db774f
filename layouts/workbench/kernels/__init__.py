"""The events of a kernel in execution order: fences, groups, waits, products, accumulators."""
