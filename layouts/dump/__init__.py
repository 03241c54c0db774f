"""A dump of shared memory beside a descriptor: what the instruction reads from it, whether that is the expected tile,
and where the tile really lies.
"""

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
