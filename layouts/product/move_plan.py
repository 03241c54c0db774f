"""A program around one ldmatrix or stmatrix: the storage of its rows, and their contents."""

from __future__ import annotations

from dataclasses import dataclass

from lanescope.errors import LayoutError
from lanescope.product.options import OptionReader, collect_options, parse_options
from lanescope.product.plan import Options
from lanescope.ptx.instruction import Instruction, Operand, OperandPlace
from lanescope.ptx.table.movement import PACKED_BITS
from lanescope.shared.pieces import ROW_BYTES
from lanescope.shared.swizzle import NAMES, Mode, get_mode

SIDE = "data"
MOST_PITCH = 1024
# Element i of memory, or value i of the registers, modulo the largest prime that fits, so that matrices differ.
MODULI = {16: 1 << 16, 8: 251, 6: 61, 4: 13}
FILLS = ("b16", "s8")


@dataclass(frozen=True, slots=True)
class MovePlan:
    """A load or store of rows with every option parsed.

    pitch_bytes: from one row to the next; mode: the XOR of offsets; fill: "b16" numbers the elements 0, 1, 2, …; "s8"
    numbers the bytes -1, -2, … so that one register holds four consecutive k of B of mma.m8n8k16.
    """

    instruction: Instruction
    pitch_bytes: int
    mode: Mode
    fill: str
    options: dict[str, Options]
    chosen: dict[str, Options]
    words: dict[str, dict[str, tuple[str, ...]]]

    @property
    def data(self) -> Operand:
        return self.instruction.operands["data"]

    @property
    def lines(self) -> int:
        """The rows in shared memory, one for each lane that supplies an address."""
        assert self.instruction.address is not None
        return self.instruction.address.threads

    @property
    def elements(self) -> int:
        """The elements of all matrices."""
        extents = self.data.extents
        return extents["matrix"] * extents["row"] * extents["col"]

    @property
    def element_bits(self) -> int:
        """The bits of an element in memory; in a register a packed one has 8."""
        return PACKED_BITS.get(self.instruction.family.unpacks, self.data.element.bits)

    @property
    def shared_bytes(self) -> int:
        """The bytes of shared memory, a multiple of the swizzle pattern."""
        size = self.lines * self.pitch_bytes
        return -(-size // self.mode.pattern_bytes) * self.mode.pattern_bytes


def moves_rows(instruction: Instruction) -> bool:
    """Return whether an instruction is an ldmatrix or a stmatrix."""
    return instruction.family.memory is OperandPlace.ROWS


def make_move_plan(instruction: Instruction, data: object = "") -> MovePlan:
    """Return a plan from options, text (`pitch_bytes=80,swizzle=64B`) or a mapping.

    LayoutError names the option, `data.pitch_bytes`.
    """
    if instruction.ptx != instruction.listed_ptx and "shared" not in instruction.ptx:
        raise LayoutError(
            "no_program",
            f"{instruction.ptx} has a generic address; the program uses shared addresses.",
            f"Name the state space: {instruction.listed_ptx}.",
            "ptx",
        )
    # B of mma.m8n8k16: one matrix holds all of it, and its 128 numbers fit s8.
    fills = FILLS if instruction.family.loads and instruction.counts["x"] == 1 and instruction.shape == "m8n8" else ()
    reads = OptionReader(SIDE, parse_options(data, SIDE), ("pitch_bytes", "swizzle", *(("fill",) if fills else ())))
    pitch = reads.read_integer("pitch_bytes", ROW_BYTES, ROW_BYTES, MOST_PITCH)
    if pitch % ROW_BYTES:
        below = pitch // ROW_BYTES * ROW_BYTES
        raise reads.make_error(
            "misaligned",
            "pitch_bytes",
            f"A pitch of {pitch} bytes is not a multiple of {ROW_BYTES}.",
            f"Nearest: {below} or {below + ROW_BYTES}.",
        )
    mode = get_mode(reads.read_choice("swizzle", NAMES))
    fill = reads.read_choice("fill", fills) if fills else FILLS[0]
    return MovePlan(instruction, pitch, mode, fill, *collect_options({SIDE: reads}))
