"""Everything one product does, step by step."""
