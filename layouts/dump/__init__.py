"""Dumps of shared memory: what an instruction reads from one, whether it is the expected tile, and where that is."""

from lanescope.dump.examination import AS, Examined, Explained, examine, gather, summary, written
from lanescope.dump.files import (
    BASE,
    MOST_DUMP,
    MOST_FILE,
    MOST_TILE,
    Dump,
    ExpectedTile,
    encode_tile,
    of_file,
    parse_expected_tile,
)

__all__ = [
    "AS",
    "BASE",
    "MOST_DUMP",
    "MOST_FILE",
    "MOST_TILE",
    "Dump",
    "Examined",
    "ExpectedTile",
    "Explained",
    "encode_tile",
    "examine",
    "gather",
    "of_file",
    "parse_expected_tile",
    "summary",
    "written",
]
