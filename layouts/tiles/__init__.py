"""Whole tiles: TiledMMA, TiledCopy and any thread-value layout, over the table's rows and CuTe's algebra."""
