"""The guide: pages with live figures and computed values, worked examples, keys and words."""
