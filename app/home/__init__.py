"""The front door: one paste box, what Lanescope shows, and what stands behind it."""
