"""The home page: one paste box, the subjects of Lanescope, and the evidence."""
