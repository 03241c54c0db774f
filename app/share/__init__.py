"""Pages on other sites: pictures, cards and texts to copy, and the frame that other sites may show."""
