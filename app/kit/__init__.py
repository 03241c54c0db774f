"""What all features share: bodies, settings, limits, pictures, links, the one reader of what a request names."""
