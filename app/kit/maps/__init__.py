"""Maps of cells to holders, as the pages of tiles and of layouts show them: bench, stage, script data, pictures."""
