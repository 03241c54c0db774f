"""The home page: a paste box, the subjects of Lanescope, and the evidence."""
