"""Pages elsewhere: their pictures, cards and texts to copy, and the frame that other sites may show."""
