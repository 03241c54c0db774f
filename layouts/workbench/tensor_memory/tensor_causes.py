"""Find the instruction that makes the accesses of tensor memory disagree: the columns of another accumulator, a product
that does not change to the next one, a copy that no product reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lanescope.ptx.table.tmem import COLUMNS
from lanescope.reader.threads.barriers.tensor_order import OrderedAccess
from lanescope.workbench.results import Span
from lanescope.workbench.tensor_memory.tensor_regions import ROWS, SCALES, Region, TensorMemory


@dataclass(frozen=True)
class CauseFinder:
    """The accesses of a kernel in the order of a schedule, and the regions of each."""

    accesses: Sequence[OrderedAccess]
    regions: Sequence[Sequence[Region]]

    @cached_property
    def accumulators(self) -> dict[int, int]:
        """The first column of each accumulator, and the one past its end."""
        return {region.column: region.past for own in self.regions for region in own if region.name == "d"}

    def find_stray_copy(self) -> OrderedAccess | None:
        """Return a tcgen05.cp to columns that no product reads."""
        read = np.zeros((ROWS, COLUMNS), np.bool_)
        for own in self.regions:
            for region in own:
                if region.name in ("a", *SCALES):
                    read |= region.parts
        copies = (one for one in zip(self.accesses, self.regions, strict=True) if one[0].verb == "cp")
        return next((access for access, own in copies if not (own[0].parts & read).any()), None)

    def find_overlapping_product(self) -> OrderedAccess | None:
        """Return a product whose D begins inside the columns of another accumulator."""
        inside = [start for start in self.accumulators if any(a < start < b for a, b in self.accumulators.items())]
        products = zip(self.accesses, self.regions, strict=True)
        return next(
            (access for access, own in products if own and own[0].name == "d" and own[0].column in inside), None
        )

    def find_unread_start(self, load: OrderedAccess) -> int | None:
        """Return the only accumulator of which no load reads the lanes of a warp."""
        lanes = self.regions[self.accesses.index(load)][0].parts.any(axis=1)
        read = np.zeros(COLUMNS, np.bool_)
        for access, own in zip(self.accesses, self.regions, strict=True):
            if access.verb == "ld" and access.block == load.block and (own[0].parts[lanes]).any():
                read |= own[0].parts.any(axis=0)
        unread = [start for start, past in self.accumulators.items() if not read[start:past].any()]
        return unread[0] if len(unread) == 1 else None

    def find_fixed_columns(self) -> Span | None:
        """Return where the columns of D are set if all products have one accumulator, and loads read several of its
        size: in a loop around the product, or the product itself.
        """
        if len(self.accumulators) != 1:
            return None
        loads = [own[0] for own, access in zip(self.regions, self.accesses, strict=True) if access.verb == "ld"]
        columns = np.logical_or.reduce([one.parts for one in loads]).any(axis=0)
        product, d = next(
            (access, region)
            for own, access in zip(self.regions, self.accesses, strict=True)
            for region in own
            if region.name == "d"
        )
        read = int(columns.sum())
        if read <= d.past - d.column or read % (d.past - d.column):
            return None
        at, call = product.event.sites.get("d", product.event.call), product.event.call
        return at if any(loop[0] <= at[0] < loop[1] for loop, _ in product.event.loops) else call

    def find_other_start(self, memory: TensorMemory, access: OrderedAccess, region: Region) -> int | None:
        """Return the column of the only other accumulator for which a load or product would be in order."""
        own = max((start for start in self.accumulators if start <= region.column), default=None)
        if own is None or access.verb not in ("ld", "mma") or region.name not in ("d", "at"):
            return None
        found = []
        for start in self.accumulators:
            parts = region.move(region.column + start - own).parts
            before = memory.list_writers(parts) + (memory.list_readers(parts) if access.verb == "mma" else [])
            if access.verb == "mma":  # what is there has been read, or nothing is
                known = not memory.writers[parts].any() or memory.is_read(parts)
            else:
                known = bool(memory.writers[parts].all())
            if known and all(self.accesses[number - 1].is_complete_before(access) for number, _ in before):
                found.append(start)
        return found[0] if len(found) == 1 else None
