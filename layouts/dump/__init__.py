"""Dumps of shared memory: what an instruction reads from one, whether it is the expected tile, and where that is."""

from lanescope.dump.examination import AS, Examined, Explained, examine, gather, summary, written
from lanescope.dump.files import BASE, MOST_DUMP, MOST_FILE, MOST_TILE, Dump, Tile, codes_of, of_file, tile_of

__all__ = [
    "AS",
    "BASE",
    "MOST_DUMP",
    "MOST_FILE",
    "MOST_TILE",
    "Dump",
    "Examined",
    "Explained",
    "Tile",
    "codes_of",
    "examine",
    "gather",
    "of_file",
    "summary",
    "tile_of",
    "written",
]
