"""Sparsity metadata, and the dense columns it selects."""
