"""CuTe's layouts, tuples and TiledMMAs as values."""
