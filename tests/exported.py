"""An exported site that every test of a run reads: one worker writes it, the others wait."""

from __future__ import annotations

import fcntl
from functools import cache
from pathlib import Path

from lanescope.app.export import SiteExport
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction

MOVES = ("ldmatrix", "stmatrix", "movmatrix")


@cache
def list_chosen() -> tuple[Instruction, ...]:
    """Every move of a warp, whose pages link to one another, and a few of a family whose names have colons."""
    scaled = [i for i in catalog.instructions() if i.family.name == "mma_scaled"]
    return (*(i for i in catalog.instructions() if i.family.name in MOVES), *scaled[::24])


def export_once(folder: Path) -> Path:
    """Write the site into the folder unless another worker of this run has, and return the folder."""
    done = folder.with_suffix(".done")
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            site = SiteExport(folder, list_chosen())
            assert set(site.write_site()) >= site.names
            assert site.written == len(site.files) > 100
            done.touch()
    return folder
