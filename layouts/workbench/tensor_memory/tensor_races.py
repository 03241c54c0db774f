"""Find accesses of tensor memory that a traced kernel does not order, of columns that nothing has written or that are
not allocated, and allocations that are not freed.

Rules: PTX ISA 9.1, 9.7.16.6 (order), 9.7.16.7.1 (alloc, dealloc), 9.7.16.10.5 (columns of D and A), 9.7.16.10.7
(columns of scale factors), 9.7.16.10.9 (enable-input-d).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from lanescope.errors import LayoutError
from lanescope.ptx.table.tmem import COLUMNS
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.threads.barriers.barrier_trace import BarrierTrace
from lanescope.reader.threads.barriers.tensor_order import OrderedAccess, list_ordered_accesses
from lanescope.workbench.tensor_memory.tensor_causes import CauseFinder
from lanescope.workbench.tensor_memory.tensor_places import find_start_constant
from lanescope.workbench.tensor_memory.tensor_regions import (
    ROWS,
    SCALES,
    Earlier,
    Mask,
    OpenColumnsError,
    Region,
    TensorMemory,
    count_source_step,
    list_regions,
)

TITLES = {
    "tmem_unwritten": "Columns of tensor memory are read that nothing has written",
    "tmem_unordered": "Nothing orders two accesses of the same columns of tensor memory",
    "tmem_overlap": "Operands of a tcgen05.mma overlap in tensor memory",
    "tmem_unread": "Columns of tensor memory are never read, or read again in place of others",
    "tmem_source_overlap": "A tcgen05.cp copies bytes again that the copy before it has copied",
    "tmem_leaked": "A kernel ends without tcgen05.dealloc",
    "tcgen05_accumulator_kept": "The products of a tile are added to those of the tile before",
}
_ATOMS = re.compile(
    r"\bSM1\d\d_(?:MMA|TMEM|UTCCP)\w*|\bTMEM::|\bAllocator[12]Sm\b"
)  # of CuTe: their code is not followed
_GRID = re.compile(r"\bgridDim\b|%%?nctaid")
_OF_GRID = re.compile(r"([A-Za-z_]\w*)\s*=\s*[^;=]*\bgridDim\b")
_NAMES = {"d": "D", "a": "A", "scale_a": "the scale factors of A", "scale_b": "the scale factors of B"}


def find_tensor_mistake(traces: Sequence[BarrierTrace], threads: int, kernel: str, text: str) -> Pitfall | None:
    """Return the first mistake of a kernel whose tcgen05 instructions are all known."""
    if _ATOMS.search(text) or any(trace.tensor.lost or not trace.tensor.events for trace in traces):
        return None
    accesses = list_ordered_accesses(traces, threads)
    if accesses is None or not any(access.verb == "alloc" for access in accesses):
        return None
    try:
        search = _RaceSearch(kernel, text, accesses, len(traces))
        return next(search.find_mistakes(), None)
    except (OpenColumnsError, LayoutError):
        return None


class _RaceSearch:
    """The accesses of a kernel, in the order of one schedule."""

    def __init__(self, kernel: str, text: str, accesses: Sequence[OrderedAccess], blocks: int) -> None:
        self.kernel, self.text, self.accesses = kernel, text, accesses
        self.memories = [TensorMemory() for _ in range(blocks)]
        self.regions = [list(list_regions(access)) for access in accesses]
        self.causes = CauseFinder(accesses, self.regions)

    def find_mistakes(self) -> Iterator[Pitfall]:
        """Yield mistakes in the order of the schedule."""
        for n, access in enumerate(self.accesses, 1):
            verb = access.verb
            if verb in ("alloc", "dealloc"):
                yield from self._follow_allocation(n, access)
            for memory in self._list_memories(access):
                for region in self.regions[n - 1]:
                    yield from self._check_bounds(memory, access, region)
                if verb == "mma":
                    yield from self._check_product(memory, access, self.regions[n - 1])
                elif verb == "ld":
                    yield from self._check_load(memory, access, self.regions[n - 1][0])
                elif verb in ("st", "cp"):
                    yield from self._check_write(memory, access, self.regions[n - 1][0])
                for region in self.regions[n - 1]:
                    if region.name != "d" and verb not in ("st", "cp"):
                        memory.note_read(access.slot, self._choose_read(memory, access, region), n)
                for region in self.regions[n - 1]:
                    if region.name == "d" or verb in ("st", "cp"):
                        memory.note_write(region.parts, n)
                self._count_reads(memory, n)
        for memory in self.memories:
            yield from self._check_repeated(memory, memory.sums)
        yield from self._check_unread()
        yield from self._check_sources()
        yield from self._check_freed()

    def _count_reads(self, memory: TensorMemory, n: int) -> None:
        """Count what loads and products read of what products and copies have written."""
        for region in self.regions[n - 1]:
            if region.name == "d":
                memory.note_sum(region.parts)
            elif self.accesses[n - 1].verb == "mma":
                memory.used |= region.parts
            elif self.accesses[n - 1].verb == "ld":
                memory.note_load(region.parts, n)

    def _check_repeated(self, memory: TensorMemory, parts: Mask) -> Iterator[Pitfall]:
        """Yield a load of columns of D that another load has read, while nothing loads as many others."""
        found = memory.find_repeated_load(parts)
        if found is not None:
            access = self.accesses[found[0] - 1]
            message = (
                f"{self.kernel} loads {self.regions[found[0] - 1][0].describe()} of tensor memory here again, and never"
                f" column {found[1]}, which a product has written."
            )
            yield Pitfall("tmem_unread", message, _find_site(access, "at"))

    def _check_unread(self) -> Iterator[Pitfall]:
        """Yield a copy to columns that no product reads, in a kernel whose other copies are read."""
        copies = [(one, self.regions[n][0]) for n, one in enumerate(self.accesses) if one.verb == "cp"]
        used = [any((memory.used & to.parts).any() for memory in self._list_memories(one)) for one, to in copies]
        for (access, to), is_used in zip(copies, used, strict=True):
            if any(used) and not is_used:
                message = f"No tcgen05.mma reads {to.describe()} of tensor memory, which this tcgen05.cp fills."
                yield Pitfall("tmem_unread", message, _find_site(access, "at"))

    def _check_sources(self) -> Iterator[Pitfall]:
        """Yield a copy that begins inside the bytes that the turn before of the same loop has copied."""
        before: dict[object, OrderedAccess] = {}
        for access in self.accesses:
            if access.verb != "cp" or not access.event.loops:
                continue
            *outer, (loop, turn) = access.event.loops
            key = access.event.call, access.block, tuple(outer), loop
            earlier = before.get(key)
            before[key] = access
            if earlier is None or turn != earlier.event.loops[-1][1] + 1:
                continue
            step, size = count_source_step(earlier.event, access.event, access.thread)
            if 0 < step < size:
                message = (
                    f"From one turn to the next, this tcgen05.cp begins {step} bytes further in shared memory, and"
                    f" copies {size}: some scale factors are copied twice, to other columns."
                )
                yield Pitfall("tmem_source_overlap", message, _find_site(access, "source"))

    def _choose_read(self, memory: TensorMemory, access: OrderedAccess, region: Region) -> Mask:
        """Return the parts that an access is known to use: of a load of what several instructions have written, the
        registers of some may not be used.
        """
        several = access.verb == "ld" and len(memory.list_writers(region.parts)) > 1
        return np.zeros_like(region.parts) if several else region.parts

    def _list_memories(self, access: OrderedAccess) -> list[TensorMemory]:
        """Return the tensor memory that an access is of: of a pair of CTAs both, but for a warp's."""
        pair = "cta_group::2" in access.event.opcode and access.verb in ("mma", "cp")
        blocks = [access.block & ~1, access.block | 1] if pair else [access.block]
        if blocks[-1] >= len(self.memories):
            raise OpenColumnsError
        return [self.memories[block] for block in blocks]

    # products and copies ----------------------------------------------------------------------------------------------

    def _check_product(
        self, memory: TensorMemory, access: OrderedAccess, regions: Sequence[Region]
    ) -> Iterator[Pitfall]:
        d = next(region for region in regions if region.name == "d")
        for region in regions:
            if region.name == "d":
                continue
            if (region.parts & d.parts).any():
                message = (
                    f"D of this tcgen05.mma takes {d.describe()} of tensor memory, and {_NAMES[region.name]}"
                    f" {region.describe()}: the product overwrites them."
                )
                yield Pitfall("tmem_overlap", message, find_start_constant(self.text, _find_site(access, region.name)))
            yield from self._check_operand(memory, access, region)
        adds = access.event.operands.get("adds")
        if adds is not None and adds[access.thread] and not memory.writers[d.parts].any():
            message = (
                f"enable-input-d is true for the first product in {d.describe()}: D = A·B + D adds to tensor memory"
                " that nothing has written."
            )
            yield Pitfall("tcgen05_accumulator_unset", message, _find_site(access, "adds"))
        yield from self._check_write(memory, access, d)
        yield from self._check_repeated(memory, d.parts)
        if adds is not None and adds[access.thread] and self._begins_tile(memory, access, d):
            message = (
                f"enable-input-d is true for the first product of this tile: it adds to {d.describe()}, which still"
                " hold the tile before, whose sums have been read."
            )
            yield Pitfall("tcgen05_accumulator_kept", message, _find_site(access, "adds"))

    def _begins_tile(self, memory: TensorMemory, access: OrderedAccess, d: Region) -> bool:
        """Return whether a product is the first one in a turn of a loop that takes the tiles of other blocks in turns,
        and its accumulator has been read as a whole since the last product: the step of the loop is the grid's size.
        """
        last = int(memory.writers[d.parts].min())
        if not memory.is_read(d.parts) or not last or self.accesses[last - 1].verb != "mma":
            return False
        earlier = self.accesses[last - 1].event.loops
        for (loop, turn), (other, before) in zip(access.event.loops, earlier, strict=False):
            if loop != other:
                return False
            if turn != before:
                step = self.text[slice(*loop)].partition("{")[0].rpartition(";")[2]
                of_grid = set(_OF_GRID.findall(self.text)) & set(re.findall(r"\w+", step))
                return bool(_GRID.search(step) or of_grid)
        return False

    def _check_operand(self, memory: TensorMemory, access: OrderedAccess, region: Region) -> Iterator[Pitfall]:
        """Check that what a product reads from tensor memory has been written."""
        if not memory.writers[region.parts].all():
            columns = np.flatnonzero((region.parts & (memory.writers == 0)).any(axis=0))
            message = (
                f"{_NAMES[region.name][0].upper()}{_NAMES[region.name][1:]} of this tcgen05.mma take"
                f"{'s' if region.name == 'a' else ''} {region.describe()} of tensor memory, and nothing has written"
                f" {'column' if len(columns) == 1 else 'columns'} {_format_range(columns)}."
            )
            stray = self.causes.find_stray_copy() if region.name in SCALES else None
            site = access.event.call if region.name in SCALES else _find_site(access, region.name)
            yield Pitfall("tmem_unwritten", message, site if stray is None else _find_site(stray, "at"))
        yield from self._check_order(memory, memory.list_writers(region.parts), access, region)

    def _check_copy(self, memory: TensorMemory, access: OrderedAccess, region: Region) -> Iterator[Pitfall]:
        """Yield a copy over what another copy of the same thread has just copied."""
        for number, _ in memory.list_writers(region.parts):
            earlier = self.accesses[number - 1]
            unread = not any((readers[region.parts] > 0).any() for readers in memory.readers.values())
            if earlier.verb == "cp" and earlier.slot == access.slot and unread and self._differ(earlier, access):
                message = (
                    f"tcgen05.cp overwrites {region.describe()} of tensor memory, which the tcgen05.cp before has"
                    " filled and no tcgen05.mma has read."
                )
                site, again = _find_site(access, "at"), earlier.event.call == access.event.call
                yield Pitfall("tmem_overlap", message, site if again else find_start_constant(self.text, site))

    def _differ(self, one: OrderedAccess, other: OrderedAccess) -> bool:
        """Return whether two instructions are at different places, or in different turns of a loop without products: a
        turn with some may leave them out.
        """
        loops, others = one.event.loops, other.event.loops
        loop = next((mine[0] for mine, theirs in zip(loops, others, strict=False) if mine != theirs), None)
        if loop is None:
            return len(loops) == len(others) and one.event.call != other.event.call
        products = (access.event.loops for access in self.accesses if access.verb == "mma")
        return all(loop != around for loops in products for around, _ in loops)

    def _check_write(self, memory: TensorMemory, access: OrderedAccess, region: Region) -> Iterator[Pitfall]:
        if access.verb == "cp":
            yield from self._check_copy(memory, access, region)
        before = [*memory.list_writers(region.parts), *memory.list_readers(region.parts)]
        yield from self._check_order(memory, before, access, region)

    def _check_load(self, memory: TensorMemory, access: OrderedAccess, region: Region) -> Iterator[Pitfall]:
        if not memory.writers[region.parts].any():
            message = (
                f"Warp {access.warp} loads {region.describe()} of tensor memory, and no tcgen05.mma, cp or st has"
                " written any of them before."
            )
            product = self.causes.find_overlapping_product()
            site = _find_site(access, "at") if product is None else _find_site(product, "d")
            yield Pitfall("tmem_unwritten", message, self.causes.find_fixed_columns() or site)
        writers = memory.list_writers(region.parts)
        if len(writers) == 1:  # of several, the registers of some may not be used
            yield from self._check_order(memory, writers, access, region)

    def _check_order(
        self, memory: TensorMemory, before: Sequence[Earlier], access: OrderedAccess, region: Region
    ) -> Iterator[Pitfall]:
        """Yield an access that may begin before an earlier one of the same columns has ended."""
        for number, did in before:
            earlier = self.accesses[number - 1]
            if not earlier.is_complete_before(access) and not _is_left_open(earlier, access):
                yield self._describe_race(memory, (earlier, did), access, region)

    def _describe_race(
        self, memory: TensorMemory, before: tuple[OrderedAccess, str], access: OrderedAccess, region: Region
    ) -> Pitfall:
        earlier, did = before
        does = "reads" if access.verb == "ld" or region.name not in ("d", "at") else "overwrites"
        start = (
            f"tcgen05.{access.verb} {does} {region.describe()} of tensor memory, which the tcgen05.{earlier.verb} of"
            f" warp {earlier.warp} before may still {did}"
        )
        if earlier.verb in ("ld", "st") and earlier.is_issued_before(access):
            message = f"{start}: tcgen05.wait::{earlier.verb} has to come before that warp signals it."
            return Pitfall("tcgen05_wait_missing", message, earlier.event.call)
        product = self.causes.find_overlapping_product()
        if product is not None:
            message = f"{start}: D of this tcgen05.mma begins within the columns of another accumulator."
            return Pitfall("tmem_unordered", message, _find_site(product, "d"))
        fixed = self.causes.find_fixed_columns() if access.verb == "ld" else None
        if fixed is not None:
            message = f"{start}: all products have the same accumulator, and the loads read several."
            return Pitfall("tmem_unordered", message, fixed)
        if earlier.verb == "ld" and (unread := self.causes.find_unread_start(earlier)) is not None:
            message = f"{start}. No load reads the accumulator at column {unread} in these lanes."
            return Pitfall("tmem_unordered", message, _find_site(earlier, "at"))
        if earlier.verb == "ld" and earlier.signalled is not None:
            message = f"{start}: that warp arrives here, before it has loaded them."
            return Pitfall("tmem_unordered", message, earlier.signalled)
        other = self.causes.find_other_start(memory, access, region)
        if other is not None:
            message = f"{start}. The accumulator at column {other} is the one that they have waited for."
            return Pitfall("tmem_unordered", message, _find_site(access, region.name))
        what = "its commit" if earlier.verb in ("mma", "cp") else "an arrival after it"
        message = f"{start}: nothing makes this warp wait for {what}."
        return Pitfall("tmem_unordered", message, access.event.call)

    # allocation -------------------------------------------------------------------------------------------------------

    def _follow_allocation(self, n: int, access: OrderedAccess) -> Iterator[Pitfall]:
        memory = self.memories[access.block]
        at, count = (int(access.event.operands[name][access.thread]) for name in ("at", "columns"))
        if access.verb == "dealloc":
            parts = np.zeros((ROWS, COLUMNS), np.bool_)
            parts[:, at : at + count] = True
            memory.freed[parts] = n
            for number, _ in [*memory.list_readers(parts), *memory.list_writers(parts)]:
                earlier = self.accesses[number - 1]
                if not earlier.is_complete_before(access):
                    yield _make_freed_pitfall(access, earlier)
        else:
            column = int(memory.allocated.any(axis=0).sum())
            memory.allocated[:, column : column + count] = n

    def _check_bounds(self, memory: TensorMemory, access: OrderedAccess, region: Region) -> Iterator[Pitfall]:
        """Yield an operand outside the allocated columns, or one that may be used before they are allocated, or after
        they are freed.
        """
        if (freed := int(memory.freed[region.parts].max(initial=0))) > 0:
            yield _make_freed_pitfall(self.accesses[freed - 1], access)
        own = memory.allocated[region.parts]
        if not memory.allocated.any():
            raise OpenColumnsError  # by code that is not followed, or later in this schedule, as the peer of a pair
        if not own.all() or region.past > COLUMNS:
            count = int(memory.allocated.any(axis=0).sum())
            message = (
                f"{_name_operand(access, region)} takes {region.describe()} of tensor memory; tcgen05.alloc has"
                f" reserved {count}."
            )
            yield Pitfall("tmem_column_range", message, _find_site(access, region.name))
            raise OpenColumnsError
        for number in np.unique(own):
            if "cta_group::2" in self.accesses[int(number) - 1].event.opcode:
                continue  # a pair allocates together
            if not self.accesses[int(number) - 1].is_complete_before(access):
                message = (
                    f"tcgen05.{access.verb} of another warp uses the allocated columns without a barrier after"
                    " tcgen05.alloc: it may read the address before it is written."
                )
                yield Pitfall("tcgen05_barrier_missing", message, access.event.call)

    def _check_freed(self) -> Iterator[Pitfall]:
        allocation = next(access for access in self.accesses if access.verb == "alloc")
        if not any(memory.freed.any() for memory in self.memories):
            message = (
                f"{self.kernel} ends without tcgen05.dealloc: all columns that it allocates have to be freed before."
            )
            yield Pitfall("tmem_leaked", message, allocation.event.call)


def _make_freed_pitfall(freed: OrderedAccess, access: OrderedAccess) -> Pitfall:
    message = (
        f"tcgen05.dealloc may free the columns while another warp still accesses them by tcgen05.{access.verb}: all"
        " warps need a barrier before it."
    )
    return Pitfall("tmem_freed_early", message, freed.event.call)


def _name_operand(access: OrderedAccess, region: Region) -> str:
    name = _NAMES.get(region.name, f"tcgen05.{access.verb}")
    return f"{name[0].upper()}{name[1:]} of this tcgen05.mma" if region.name in _NAMES else name


def _is_left_open(earlier: OrderedAccess, access: OrderedAccess) -> bool:
    """Return whether the order of two accesses is not judged: of stores and loads of one warp, but for a load of what
    was stored.
    """
    if earlier.verb == "alloc":
        return True
    same = earlier.warp == access.warp and {earlier.verb, access.verb} <= {"ld", "st"}
    return same and not (earlier.verb == "st" and access.verb == "ld")


def _find_site(access: OrderedAccess, name: str) -> tuple[int, int]:
    return access.event.sites.get(name, access.event.call)


def _format_range(columns: NDArray[np.int64]) -> str:
    first, last = int(columns[0]), int(columns[-1])
    return str(first) if first == last else f"{first}–{last}"
