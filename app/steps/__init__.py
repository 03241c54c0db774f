"""The steps of one product."""
