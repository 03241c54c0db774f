"""Pages on other sites: pictures, cards, texts to copy, and frames."""
