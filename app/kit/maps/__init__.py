"""Maps of cells to holders, for the pages of tiles and layouts: bench, stage, script data, pictures."""
