"""Evaluate a PTX module: the descriptors of its wgmma and tcgen05.mma instructions.

Each function is run once from its first line to its last. A register written by one instruction has that value; one
written by several becomes a new symbol after a label, where paths meet. Loops run once; values of later iterations
are unknown.

Source: PTX ISA 9.1, syntax, state spaces, data movement and conversion instructions.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from lanescope.reader.code.findings import MOST_DESCRIPTORS, AsmRun, FoundDescriptor, mark_bits
from lanescope.reader.code.ptx import inline_ptx as ptx
from lanescope.reader.code.ptx.ptx_evaluation import RegisterFile
from lanescope.reader.code.ptx.ptx_opcodes import get_integer_type
from lanescope.reader.code.symbolic_integers import (
    FIELD_BITS,
    FIELD_SHIFT,
    SHARED_BITS,
    LinearExpression,
    Span,
    SymbolicInt,
    add_ints,
    make_free,
)

_MODULE = re.compile(r"^[ \t]*(?:\.version[ \t]+\d+\.\d+|(?:\.visible[ \t]+)?\.entry[ \t])", re.M)
_PLACE = re.compile(r"\[\s*([\w$%]+)\s*(?:\+\s*(\d+)\s*)?\]")
_LOC = re.compile(r"^[ \t]*\.loc[ \t]+(\d+)[ \t]+(\d+)", re.M)
_FILE = re.compile(r'^[ \t]*\.file[ \t]+(\d+)[ \t]+"([^"\n]*)"', re.M)
_FROM_PARAMETER = re.compile(r"ld\.param\.")
_TO_GENERIC = re.compile(r"cvta\.shared(?:::cta)?\.u(?:32|64)")  # and back: both are the address in the window
_INSERTING = frozenset(("or", "add", "bfi", "xor", "mov"))  # opcodes that insert fields into a word
_MMA = ("wgmma.mma_async.", "tcgen05.mma.")


@lru_cache(maxsize=8)
def is_ptx_module(text: str) -> bool:
    """Return whether a text is a PTX module: it has a .version or an .entry."""
    return _MODULE.search(text, 0, 1 << 16) is not None


@dataclass(frozen=True, slots=True)
class ModuleRecords:
    """The descriptors and MMA instructions of a PTX module or a SASS listing."""

    descriptors: tuple[FoundDescriptor, ...]
    asm_runs: tuple[AsmRun, ...]


class KernelRegisters(RegisterFile):
    """The registers of a running function.

    shared: shared-memory variable → alignment in bytes. values: supplied values of parameters and symbols. several:
    registers written by several instructions.
    """

    def __init__(
        self, text: str, shared: Mapping[str, int], values: Mapping[str, int], several: frozenset[str]
    ) -> None:
        super().__init__((), lambda value: value)
        self.text = text
        self.variables = shared
        self.values = values
        self.several = several
        self.at: Span = (0, 0)
        self.opcode = ""
        self.places: dict[str, Span] = {}  # register → the instruction that gave it its value
        self.symbols: Counter[str] = Counter()

    def run_placed(self, placed: ptx.PlacedStatement) -> None:
        """Run a statement; at a label, make registers unknown that several instructions write."""
        self.at = placed.span
        if placed.label:
            for register in self.contents:  # of outer scopes, too
                if register.partition(" ")[0] in self.several:
                    self.contents[register] = None
        elif isinstance(placed.statement, ptx.PtxInstruction):
            self.opcode = placed.statement.opcode.partition(".")[0]
            if _FROM_PARAMETER.match(placed.statement.opcode):
                self._load_parameter(placed.statement)
            elif _TO_GENERIC.fullmatch(placed.statement.opcode) and len(placed.statement.operands) == 2:
                self.write_register(placed.statement.operands[0], self.read_operand(placed.statement.operands[1]))
            else:
                self.run_instruction(placed.statement)
        elif placed.statement is not None and not (
            isinstance(placed.statement, ptx.ScopeBrace) and not placed.statement.opens and len(self.scopes) == 1
        ):
            self.run_statement(placed.statement)

    def list_written(self, instruction: ptx.PtxInstruction) -> list[str]:
        """List the registers that an unevaluated instruction writes: PTX lists destinations first."""
        first = instruction.operands[0] if instruction.operands else ""
        return [] if first.startswith("[") else ptx.list_targets(instruction)

    def _load_parameter(self, instruction: ptx.PtxInstruction) -> None:
        place = _PLACE.fullmatch(instruction.operands[1]) if len(instruction.operands) == 2 else None
        for name in ptx.list_targets(instruction):
            known = ".v" not in instruction.opcode and place is not None
            named = f"{place[1]}_{place[2]}" if place and place[2] not in (None, "0") else place[1] if place else ""
            register = self.find_register(name)
            bits = self.bits[register] if register is not None else 64
            self.write_register(name, self._make_symbol(named, bits, True) if known else None)

    def read_operand(self, name: str) -> Any:
        """Read a register, a variable's address, or an immediate with its span in the text."""
        value = super().read_operand(name)
        if value is None and name in self.variables:
            return make_free(name, get_integer_type(64), SHARED_BITS, (self.at,))
        if value is None and (register := self.find_register(name)) is not None:
            value = self.contents[register] = self._make_symbol(
                ptx.normalize_register(name).lstrip("%"), self.bits[register]
            )
        if isinstance(value, SymbolicInt) and ptx.parse_immediate(name) is not None:
            first = self.text.rfind(name, *self.at)
            return replace(value, origin=((first, first + len(name)),)) if first >= 0 else value
        return value

    def read_integer(self, name: str, bits: int, signed: bool = False) -> SymbolicInt | None:
        """Read a source operand, marked with the instruction if it is inserted into a word."""
        value = super().read_integer(name, bits, signed)
        return mark_bits(value, self.at) if value is not None and self.opcode in _INSERTING else value

    def write_register(self, name: str, value: Any) -> None:
        """Write a register; an unknown value becomes a symbol."""
        register = self.find_register(name)
        if register is None:
            return
        super().write_register(name, value)
        if self.contents[register] is None:
            self.contents[register] = self._make_symbol(ptx.normalize_register(name).lstrip("%"), self.bits[register])
        self.places[register] = self.at

    def write_symbol(self, name: str, symbol: str, more: str = "0") -> None:
        """Write the sum of a symbol that is constant in the kernel and another register."""
        added = self.read_integer(more, 32)
        value = self._make_symbol(symbol, 32, True)
        self.write_register(name, None if added is None else add_ints(value, added))

    def _make_symbol(self, name: str, bits: int, constant: bool = False) -> SymbolicInt:
        """Make a new symbol, or its supplied value. constant: it has one value in the function."""
        self.symbols[name] += 1
        named = name if self.symbols[name] == 1 or constant else f"{name}_{self.symbols[name]}"
        kind = get_integer_type(max(bits, 8))
        if named in self.values:
            return SymbolicInt(kind.wrap(self.values[named]), kind)
        return make_free(named, kind)

    def get_word(self, name: str) -> SymbolicInt | None:
        """Return the word in a register, with its start as one piece, the address shifted by 4.

        Compilers drop from a mask the bits that the alignment makes 0.
        """
        value = self.read_operand(name)
        if not isinstance(value, SymbolicInt):
            return None
        start = [p for p in value.pieces if p.low < FIELD_BITS and p.shift == p.low + FIELD_SHIFT]
        if not start or len({p.source for p in start}) > 1:
            return value
        end, covered = max(p.end for p in start), 0
        for piece in start:
            covered |= piece.mask
        missing = (1 << end) - 1 & ~covered
        if missing & (value.const | ~self._find_zeros(start[0].source) >> FIELD_SHIFT):
            return value
        start_piece = replace(
            start[0], low=0, width=end, shift=FIELD_SHIFT, exact=all(p.exact for p in start if p.end == end)
        )
        return replace(value, pieces=(start_piece, *(p for p in value.pieces if p not in start)))

    def _find_zeros(self, line: LinearExpression) -> int:
        """Return the bits of an address that are certainly 0: below all alignments, and 0 in its constant."""
        amounts = [factor * self.variables.get(name, 1) for name, factor in line.terms]
        aligned = min(amount & -amount for amount in amounts) if amounts else 1
        return (aligned - 1) & ~line.const

    def find_place(self, name: str) -> Span:
        """Return the span of the instruction that wrote a register."""
        register = self.find_register(name)
        return self.places.get(register, self.at) if register is not None else self.at


def evaluate_module(text: str, values: Mapping[str, int]) -> ModuleRecords:
    """Evaluate the functions of a PTX module. values: supplied values of parameters and registers, by name."""
    statements = list(ptx.list_placed_statements(text))
    shared = {placed.shared: placed.align for placed in statements if placed.shared}
    descriptors: list[FoundDescriptor] = []
    asm_runs: list[AsmRun] = []
    for name, span, body in _list_functions(statements):
        registers = KernelRegisters(text, shared, values, _find_several(body))
        for placed in body:
            if isinstance(placed.statement, ptx.PtxInstruction) and placed.statement.opcode.startswith(_MMA):
                _note_mma(registers, placed, (name, span), descriptors, asm_runs)
            else:
                registers.run_placed(placed)
    return ModuleRecords(tuple(descriptors[:MOST_DESCRIPTORS]), tuple(asm_runs[:MOST_DESCRIPTORS]))


def _list_functions(statements: Sequence[ptx.PlacedStatement]) -> Iterator[tuple[str, Span, list[ptx.PlacedStatement]]]:
    heads = [n for n, placed in enumerate(statements) if placed.head]
    for n, past in zip(heads, [*heads[1:], len(statements)], strict=False):
        yield statements[n].head, statements[n].span, list(statements[n + 1 : past])


def _find_several(body: Sequence[ptx.PlacedStatement]) -> frozenset[str]:
    """Find the registers that several instructions of a function may write."""
    counts: Counter[str] = Counter()
    for placed in body:
        instruction = placed.statement
        if isinstance(instruction, ptx.PtxInstruction) and not "".join(instruction.operands[:1]).startswith("["):
            counts.update(map(ptx.normalize_register, ptx.list_targets(instruction)))
    return frozenset(name for name, count in counts.items() if count > 1)


def _note_mma(
    registers: KernelRegisters,
    placed: ptx.PlacedStatement,
    function: tuple[str, Span],
    descriptors: list[FoundDescriptor],
    asm_runs: list[AsmRun],
) -> None:
    """Record the operands of a wgmma or tcgen05.mma as an asm statement with numbered operands."""
    instruction = placed.statement
    assert isinstance(instruction, ptx.PtxInstruction)
    registers.at = placed.span
    inputs: list[tuple[str, SymbolicInt | None, Span]] = []
    operands: list[str] = []
    for text in instruction.operands:
        register = registers.find_register(text)
        bits = registers.bits[register] if register is not None else 0
        if bits not in (32, 64):
            operands.append(text)
            continue
        value = registers.get_word(text)
        span = registers.find_place(text)
        operands.append(f"%{len(inputs)}")
        inputs.append(("l" if bits == 64 else "r", value, span))
        if bits == 64 and value is not None and value.marks:
            descriptors.append(FoundDescriptor(text, span, value, (), (), order=len(descriptors)))
    line = f'"{instruction.opcode} {", ".join(operands)};"'
    asm_runs.append(AsmRun(line, placed.span, ("",) * len(inputs), tuple(inputs), (), (function,), len(asm_runs)))


def find_source_line(text: str, place: int) -> str:
    """Return the source line of the `.loc` before a place, as "gemm.cu:41"; "" if there is none."""
    locs = _list_locs(text)
    n = bisect_right([loc[0] for loc in locs], place) - 1
    return locs[n][1] if n >= 0 else ""


@lru_cache(maxsize=4)
def _list_locs(text: str) -> tuple[tuple[int, str], ...]:
    files = {match[1]: match[2].rpartition("/")[2] for match in _FILE.finditer(text)}
    return tuple((match.start(), f"{files.get(match[1], '?')}:{match[2]}") for match in _LOC.finditer(text))
