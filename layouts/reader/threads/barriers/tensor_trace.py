"""The tcgen05 instructions of a kernel whose mbarriers are traced, with the addresses in tensor memory of every thread.

Allocations are taken to begin at column 0 and to follow one another. PTX ISA 9.1, 9.7.16.7 to 9.7.16.12.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lanescope.reader.code.ptx.inline_ptx import PtxInstruction
from lanescope.reader.threads.memory.storage import Ints, Mask, Span

if TYPE_CHECKING:
    from lanescope.reader.threads.instructions.asm_code import AsmCode

MOST_EVENTS = 8000
_OPEN = re.compile(r"tcgen05\.(?:mma\.(?:ws|sp)|shift|cp\..*4x256b|.*\.red\b|mma\..*ashift)")


@dataclass(frozen=True, slots=True, eq=False)
class TensorEvent:
    """A tcgen05 instruction, but for commit.

    at: how many operations of the trace come before it; operands: the value of each in every thread, by its name (d,
    a, idesc, scale_a, scale_b, adds; at: the address of other instructions; columns: of alloc and dealloc; source: the
    descriptor of cp, if it is known); sites:
    where these are given; call: where the kernel's own lines lead to it; loops: (place, turn) of the loops around it.
    """

    at: int
    opcode: str
    mask: Mask
    operands: Mapping[str, Ints]
    sites: Mapping[str, Span]
    call: Span
    loops: tuple[tuple[Span, int], ...]

    @property
    def verb(self) -> str:
        """What comes after tcgen05: mma, ld, wait::ld, …"""
        return self.opcode.split(".")[1]


@dataclass(slots=True)
class TensorTrace:
    """The tcgen05 instructions of a block. words: shared memory that holds addresses of allocations; lost: whether one
    of them, or an operand, is not known.
    """

    events: list[TensorEvent] = field(default_factory=list)
    words: dict[int, int] = field(default_factory=dict)
    next: int = 0
    lost: bool = False

    def add_allocation(self, at: int, columns: int) -> None:
        """Note an allocation. at: where in shared memory its address is put."""
        self.words[at] = self.next
        self.next += columns

    def forget_words(self, places: Ints | None, size: int) -> None:
        """Forget the addresses in bytes of shared memory that are stored over; None: anywhere."""
        for at in list(self.words):
            if places is None or bool(((places < at + 4) & (places + size > at)).any()):
                del self.words[at]

    def find_word(self, places: Ints, mask: Mask) -> int | None:
        """Return the address of tensor memory that all running threads load from shared memory, None if they do not."""
        found = {self.words.get(at) for at in set(places[mask].tolist())} if self.words else set()
        return found.pop() if len(found) == 1 else None


def follow_tensor(code: AsmCode, opcode: str, instruction: PtxInstruction) -> None:
    """Note a tcgen05 instruction, and where it puts the address of an allocation."""
    trace = code.run.barriers
    if trace is None or trace.tensor.lost:
        return
    tensor = trace.tensor
    mask = code.find_mask(instruction)
    if mask is not None and not mask.any():
        return
    event = _make_event(code, opcode, instruction, mask) if mask is not None else None
    if event is None or trace.doubt or code.run.assumed or len(tensor.events) >= MOST_EVENTS:
        tensor.lost = True
        return
    tensor.lost = event.verb == "alloc" and any(one.verb == "dealloc" for one in tensor.events)  # columns come again
    tensor.events.append(event)
    if event.verb == "alloc":
        first = int(event.mask.argmax())
        tensor.add_allocation(*(int(event.operands[name][first]) for name in ("at", "columns")))


def _make_event(code: AsmCode, opcode: str, instruction: PtxInstruction, mask: Mask) -> TensorEvent | None:
    """Return an instruction with its operands; None if one of them is not known, or what it accesses."""
    if _OPEN.match(opcode) or code.run.barriers is None:
        return None
    named = dict(_list_operands(opcode, instruction.operands))
    values = {name: value for name, token in named.items() if (value := code.find_lanes(token)) is not None}
    if len(values) < len(named.keys() - {"source"}):
        return None
    run, text = code.run, code.assembly.code or ""
    call = run.find_own_place(run.get_call(code.assembly.span))
    sites = {name: run.find_own_place(code.get_site(_find_source(text, token))) for name, token in named.items()}
    loops = tuple(zip(run.loops, run.turns, strict=True))
    return TensorEvent(len(code.run.barriers.events), opcode, mask, values, sites, call, loops)


def _list_operands(opcode: str, operands: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (name, token) of the operands that say which columns are accessed."""
    verb = opcode.split(".")[1]
    if verb == "mma":
        if len(operands) < 5:
            return
        yield "d", operands[0]
        if operands[1].strip().startswith("["):
            yield "a", operands[1]
        yield "idesc", operands[3]
        rest = list(operands[4:])
        if "block_scale" in opcode and len(rest) > 2:
            yield "scale_a", rest.pop(0)
            yield "scale_b", rest.pop(0)
        if rest[0].strip().startswith("{"):  # disable-output-lane
            rest.pop(0)
        if rest:
            yield "adds", rest[0]
    elif verb in ("alloc", "dealloc"):
        yield from zip(("at", "columns"), operands, strict=False)
    elif verb in ("ld", "st", "cp"):
        yield "at", operands[1 if verb == "ld" else 0]
        if verb == "cp":
            yield "source", operands[1]


def _find_source(text: str, token: str) -> str:
    """Return the operand that setp compares to set a predicate; another operand is its own source."""
    compared = re.search(rf"\bsetp[.\w]*\s+{re.escape(token.strip())}\s*,\s*([^,;]+)", text)
    return compared[1].strip() if compared is not None else token
