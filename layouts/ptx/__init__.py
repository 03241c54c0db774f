"""PTX's matrix instructions: rows of tables, the patterns of their fragments, and the catalogue of every legal text."""
