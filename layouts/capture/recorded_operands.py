"""Read the operands of recorded instructions: a grid of codes for each, and the element of A or B for each code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from lanescope.capture.file_format import KINDS, MMA, WGMMA, Record
from lanescope.capture.operand_codes import NONE, Bytes, Ints, KnownOperand, RecordedMemory, make_memory
from lanescope.descriptor.matrix import Addresses, Descriptor, View, reads, view
from lanescope.errors import LayoutError
from lanescope.ptx.catalog import find
from lanescope.ptx.codec import Bits, mask_unread_bits
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.ptx.threads import WARPGROUP

LEAST_SAME, LEAST_OTHER = 0.05, 0.5  # shares of a word's elements that belong to its own matrix, and to the other one
MOST_CHANCE = 0.1  # maximum share of register pairs that look adjacent without a fill
MULTIPLY = (KINDS[WGMMA], KINDS[MMA])


@dataclass(frozen=True, slots=True)
class OperandCodes:
    """One operand of one instruction.

    codes: [row][k] per pass, rows are M for A and N for B; inside: whether recorded; mn, k: the element, or NONE or
    SEVERAL. Through a descriptor: address, memory, seen and word. In registers: registers [thread][count] per pass;
    fragment: the register map; near: the memory from which an ldmatrix loaded them.
    """

    operand: str
    known: KnownOperand
    codes: tuple[Bits, ...]
    inside: NDArray[np.bool_]
    mn: Ints
    k: Ints
    address: Addresses | None = None
    memory: RecordedMemory | None = None
    seen: View | None = None
    word: Descriptor | None = None
    registers: tuple[NDArray[np.uint32], ...] = ()
    fragment: Operand | None = None
    near: RecordedMemory | None = None

    @property
    def rows(self) -> int:
        return int(self.mn.shape[0])

    @property
    def depth(self) -> int:
        """The elements along K."""
        return int(self.mn.shape[1])

    def mask_right(self, mn: int, k: int) -> NDArray[np.bool_]:
        """Return which elements belong to the slice at (mn, k): bool [row][k].

        Beyond the end of a matrix, K must be zeros; rows may hold anything, since their results are not stored.
        """
        rows, columns = mn + np.arange(self.rows)[:, None], k + np.arange(self.depth)[None, :]
        same = self.inside.copy()
        for part, codes in enumerate(self.codes):
            same &= codes.astype(np.int64) == np.maximum(self.known.get_codes(rows, columns, part), 0)
        if self.known.real:
            same |= rows >= self.known.extents[0]
        return same


@dataclass(frozen=True, slots=True)
class MultiplyStep:
    """A wgmma or mma issued by one warp or warpgroup.

    number: of its record; group: the warp or warpgroup and its block; fed: operand → the records with its registers.
    """

    number: int
    record: Record
    instruction: Instruction
    group: tuple[int, int, int, int]
    fed: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        """The elements of K per instruction."""
        return self.instruction.sizes["k"]


@dataclass(frozen=True, slots=True)
class UnverifiedRecord:
    """A record that cannot be verified, and the reason."""

    number: int
    record: Record
    reason: str


class MemoryWindows:
    """A cache of recorded memory by operand, because consecutive records often have the same bytes."""

    def __init__(self, known: dict[str, KnownOperand]) -> None:
        self.known = known
        self.memories: dict[tuple[str, int, tuple[bytes, ...]], RecordedMemory] = {}

    def get_memory(self, operand: str, records: Sequence[Record]) -> RecordedMemory:
        windows: list[Bytes] = [record.window for record in records]
        key = (operand, records[0].window_first, tuple(window.tobytes() for window in windows))
        if key not in self.memories:
            if len(self.memories) >= 4:
                self.memories.pop(next(iter(self.memories)))
            self.memories[key] = make_memory(self.known[operand], windows, records[0].window_first)
        return self.memories[key]


def list_steps(records: Sequence[Record]) -> tuple[list[MultiplyStep], list[UnverifiedRecord]]:
    """Return the wgmma and mma steps, in each warp's or warpgroup's order of issue."""
    steps: list[MultiplyStep] = []
    unread: list[UnverifiedRecord] = []
    for number, record in enumerate(records):
        if record.kind not in MULTIPLY:
            continue
        try:
            instruction = find(record.text)
        except LayoutError as error:
            unread.append(UnverifiedRecord(number, record, error.message))
            continue
        group = get_group(record)
        if record.kind == "mma":
            fed = {name: _find_load_records(records, number, name) for name in ("a", "b")}
        else:
            fed = {"a": _find_fragment_records(records, number)} if "a" not in record.label.lower() else {}
        steps.append(MultiplyStep(number, record, instruction, group, {n: f for n, f in fed.items() if f}))
    return steps, unread


def get_group(record: Record) -> tuple[int, int, int, int]:
    """Return the block and the warp (for wgmma, the warpgroup) of a record."""
    return *record.block, record.thread // (WARPGROUP if record.kind == "wgmma" else 32)


def _find_fragment_records(records: Sequence[Record], number: int) -> tuple[int, ...]:
    """Return the records of A's registers, one per warp, at this wgmma's position in each warp."""
    wgmma = records[number]
    first = wgmma.thread // WARPGROUP * 4
    of_warp: dict[int, list[int]] = {first + warp: [] for warp in range(4)}
    for at, record in enumerate(records):
        if (
            record.kind == "fragment"
            and record.label.lower() == "a"
            and record.block == wgmma.block
            and record.warp in of_warp
        ):
            of_warp[record.warp].append(at)
    count = sum(at < number for at in of_warp[first])
    if not count or any(len(numbers) < count for numbers in of_warp.values()):
        return ()
    return tuple(of_warp[first + warp][count - 1] for warp in range(4))


def _find_load_records(records: Sequence[Record], number: int, operand: str) -> tuple[int, ...]:
    """Return the ldmatrix records that loaded an mma's registers, the nearest ones before it in this warp."""
    mma = records[number]
    needed = mma.registers.get(operand)
    if needed is None:
        return ()
    found_at: list[int] = []
    left = set(range(needed.shape[1]))
    for at in range(number - 1, -1, -1):
        record = records[at]
        if (record.block, record.warp) != (mma.block, mma.warp):
            continue
        if record.kind == "mma" and not found_at and number - at > 256:
            break
        registers = record.registers.get("a")
        if record.kind != "ldmatrix" or registers is None or record.label.lower() not in (operand, ""):
            continue
        if matched := {r for r in left if _find_register(registers, needed[:, r]) is not None}:
            found_at.append(at)
            left -= matched
        if not left:
            break
    return tuple(sorted(found_at))


def _find_register(load_registers: NDArray[np.uint32], column: NDArray[np.uint32]) -> int | None:
    """Return the register of a load with these words; None if there is none."""
    return next((n for n in range(load_registers.shape[1]) if np.array_equal(load_registers[:, n], column)), None)


def find_taken_registers(loads: Sequence[Record], columns: NDArray[np.uint32]) -> list[tuple[int, int]]:
    """Return (load, register of the load) for each register [lane][register]; [] if one was not loaded."""
    taken = []
    for column in columns.T:
        place = (
            (n, register)
            for n, load in enumerate(loads)
            if (register := _find_register(load.registers["a"], column)) is not None
        )
        taken.append(next(place, None))
    return [register_place for register_place in taken if register_place is not None] if None not in taken else []


def list_verified_operands(record: Record) -> str:
    """Return the operands of a wgmma or mma that are compared with A and B.

    For wgmma, these have a descriptor or recorded registers; for mma, all of them or the one that its label names.
    """
    label = record.label.lower()
    return label if record.kind == "mma" and label in ("a", "b") else "ab"


def read_operands(
    step: MultiplyStep, files: Sequence[Sequence[Record]], windows: MemoryWindows
) -> Iterator[OperandCodes]:
    """Yield the recorded operands of a step; files: the records of each pass."""
    for operand in ("a", "b"):
        side = _side(step, operand, files, windows)
        if side is not None:
            yield side


def _side(
    step: MultiplyStep, operand: str, files: Sequence[Sequence[Record]], windows: MemoryWindows
) -> OperandCodes | None:
    """Return an operand of a step; None if it was not recorded."""
    record, known = step.record, windows.known.get(operand)
    if known is None:
        return None
    fed = step.fed.get(operand, ())
    if record.kind == "mma":
        if operand not in record.registers or operand not in list_verified_operands(record):
            return None
        by_pass = tuple(records[step.number].registers[operand] for records in files)
        near = windows.get_memory(operand, [records[fed[0]] for records in files]) if fed else None
        return _read_by_registers(step, operand, known, by_pass, near)
    if operand in record.label.lower():
        major = "MN" if record.immediates.get(f"trans_{operand}") == 1 else "K"
        return _read_by_descriptor(step, operand, major, [records[step.number] for records in files], windows)
    if not fed:
        return None
    parts = [np.concatenate([records[at].registers["a"] for at in fed]) for records in files]
    return _read_by_registers(step, operand, known, tuple(parts))


def _read_by_descriptor(
    step: MultiplyStep, operand: str, major: str, records: Sequence[Record], windows: MemoryWindows
) -> OperandCodes:
    operand_view = view(step.instruction, operand, major)
    word = Descriptor(step.record.words[operand])
    address = reads(word, operand_view)
    memory = windows.get_memory(operand, records)
    codes, inside = memory.gather_codes(address)
    mn, k = memory.find_elements(address)
    return OperandCodes(
        operand,
        memory.known,
        codes,
        inside=inside,
        mn=mn,
        k=k,
        address=address,
        memory=memory,
        seen=operand_view,
        word=word,
    )


def _read_by_registers(
    step: MultiplyStep,
    operand: str,
    known: KnownOperand,
    registers: tuple[NDArray[np.uint32], ...],
    near: RecordedMemory | None = None,
) -> OperandCodes:
    fragment = step.instruction.operand(operand)
    if any(words_of_pass.shape != (fragment.threads, fragment.registers) for words_of_pass in registers):
        raise LayoutError(
            "bad_capture",
            f"{step.record.where} recorded {registers[0].shape[1]} registers of {operand.upper()} per lane;"
            f" {step.instruction.ptx} has {fragment.registers}.",
            "Pass the array of the instruction's registers to the macro.",
            "capture",
        )
    codes = tuple(
        mask_unread_bits(registers_to_grid(words_of_pass, fragment, operand), known.element.name)
        for words_of_pass in registers
    )
    mn, k = known.identify_lines(codes)
    inside = np.ones(mn.shape, np.bool_)
    return OperandCodes(operand, known, codes, inside, mn, k, registers=registers, fragment=fragment, near=near)


def registers_to_grid(registers: NDArray[np.uint32], fragment: Operand, operand: str) -> Bits:
    """Return registers [thread][count] as the operand's codes [row][k]; rows are M of A and C, N of B."""
    bits = fragment.container_bits
    per = 32 // bits
    value = np.arange(fragment.values)
    words = registers.astype(np.uint64)[:, value // per] >> (value % per * bits).astype(np.uint64)
    codes = words & np.uint64((1 << bits) - 1)
    shape = (fragment.row_count, fragment.col_count)
    grid = np.zeros(shape, np.uint64)
    grid[fragment.rows, fragment.cols] = codes
    return grid.T if operand == "b" else grid


def find_origin(side: OperandCodes) -> tuple[int, int, float] | None:
    """Return (mn, k, share) of the slice with the most elements; None if no element is known."""
    known = (side.mn >= 0) & (side.k >= 0)
    if not known.any():
        return None
    periods = side.known.code_periods
    mn = side.mn - np.arange(side.rows)[:, None]
    k = side.k - np.arange(side.depth)[None, :]
    if periods != (0, 0):
        mn, k = mn % periods[0], k % periods[1]
    least, wide = int(k.min()), int(np.ptp(k)) + 1  # one number per pair is faster to sort
    pairs, counts = np.unique(mn[known] * wide + (k[known] - least), return_counts=True)
    best = int(pairs[counts.argmax()])
    first = int(mn[0, 0]) * wide + int(k[0, 0]) - least
    if known[0, 0] and counts[pairs == first].max() == counts.max():
        best = first  # of equally good slices, the one of the first element
    return best // wide, side.known.get_first_k(best % wide + least), float(counts.max()) / side.mn.size


def describe_other_matrix(side: OperandCodes, windows: MemoryWindows, records: Sequence[Record]) -> str:
    """Return a sentence if a descriptor reads the other matrix and hardly any of its own elements; else ""."""
    other = "b" if side.operand == "a" else "a"
    known = windows.known.get(other)
    if side.address is None or known is None or known.element != side.known.element:
        return ""
    if float((side.mn >= 0).mean()) > LEAST_SAME:
        return ""
    mn, k = windows.get_memory(other, records).find_elements(side.address)
    if float((mn >= 0).mean()) < LEAST_OTHER:
        return ""
    origin = find_origin(replace(side, operand=other, known=known, mn=mn, k=k))
    if origin is not None and origin[2] == 1.0:
        return f"{other.upper()}: its slice at {'m' if other == 'a' else 'n'} = {origin[0]}, k = {origin[1]}"
    return f"elements of {other.upper()}"


def is_recorded(side: OperandCodes) -> bool:
    """Return whether elements of the matrix were recorded: 16 bytes in memory, or a pair of adjacent registers."""
    memory = side.memory or side.near
    if memory is not None and bool((memory.mn >= 0).any()):
        return True
    if side.memory is not None:
        return False
    present = (side.mn >= 0) & (side.k >= 0)
    mn, k = np.diff(side.mn, axis=1), np.diff(side.k, axis=1)
    pairs = (present[:, 1:] & present[:, :-1]) & (abs(mn) + abs(k) == 1)
    return bool(pairs.mean() >= MOST_CHANCE)


def find_first_element(side: OperandCodes) -> tuple[int, int] | None:
    """Return the element at the first K of the first row; None if unknown."""
    mn, k = int(side.mn[0, 0]), int(side.k[0, 0])
    return None if min(mn, k) <= NONE else (mn, k)
