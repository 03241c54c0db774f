"""Other hands' statements of the maps. Nothing here imports layouts: an oracle must not use what it judges."""
