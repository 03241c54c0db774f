"""Whole tiles: TiledMMA, TiledCopy and thread-value layouts."""
