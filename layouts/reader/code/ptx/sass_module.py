"""Evaluate a disassembly of cuobjdump -sass or nvdisasm: the descriptors in uniform registers of HGMMA and the like.

gdesc[URn] names four uniform registers: A's descriptor is in the first two, B's in the others, also if A comes from
registers (ptxas 13.5, compared with the assembled PTX). Uniform arithmetic is evaluated as PTX between branch targets;
a register that any other instruction may write becomes unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from lanescope.deadline import check_deadline
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.slots import reads_mn_major
from lanescope.reader.code.findings import MOST_DESCRIPTORS, AsmRun, FoundDescriptor, mark_bits
from lanescope.reader.code.ptx import inline_ptx as ptx
from lanescope.reader.code.ptx.ptx_module import KernelRegisters, ModuleRecords
from lanescope.reader.code.ptx.ptx_opcodes import get_integer_type
from lanescope.reader.code.symbolic_integers import Span, SymbolicInt, convert_int, or_ints, shift_int
from lanescope.reader.instructions import sass

MOST_REGISTERS = 256
_LINE = re.compile(
    r"^[ \t]*/\*(?P<address>[0-9a-f]{4,8})\*/[ \t]+(?P<guard>@!?U?P\w+[ \t]+)?(?P<opcode>[A-Z][\w.]*)(?P<rest>[^;\n]*);"
    r"|^[ \t]*(?P<label>\.L[\w.$]*):|^[ \t]*(?:Function\s*:\s*(?P<name>[\w$]+)|\.text\.(?P<section>[\w$]+):)",
    re.M,
)
_GMMA = re.compile(r"[HIQB]GMMA\.")
_GROUP = re.compile(r"gdesc\[UR(\d+)\]((?:\.tnsp[AB])*)")
_UNIFORM = re.compile(r"(?<![\w.])-?UR(\d+)\b")
_MEMORY = re.compile(r"\w*\[[^\]]*\](?:\[[^\]]*\])?")
_CONSTANT = re.compile(r"c\[0x0\]\[(0x[0-9a-f]+)\]")
_TARGET = re.compile(r"\b0x([0-9a-f]+)\b")
_PLAIN = re.compile(r"UR\d+|URZ|-?0x[0-9a-f]+")
_BRANCHES = ("BRA", "JMP", "BSSY", "CALL", "WARPSYNC", "BRX", "JMX", "BSYNC", "BREAK")
WINDOW = "smem"  # symbol of the CTA's shared memory
_WIDE = 4  # registers that an unevaluated instruction may write, from the named one on


def is_sass_listing(text: str) -> bool:
    """Return whether a text is a disassembly with descriptors, and not code that quotes one."""
    return "gdesc[UR" in text and "{" not in text and _LINE.search(text) is not None


def evaluate_listing(text: str, values: Mapping[str, int]) -> ModuleRecords:
    """Evaluate a disassembly. values: supplied values of constants by name; c_0x210 is c[0x0][0x210]."""
    lines = list(_LINE.finditer(text))
    reached = {target for line in lines for target in _find_targets(line)}
    run = _ListingRun(text, values)
    for count, line in enumerate(lines):
        if not count & 255:
            check_deadline()
        run.run_line(line, line["address"] is not None and int(line["address"], 16) in reached)
    return ModuleRecords(tuple(run.descriptors[:MOST_DESCRIPTORS]), tuple(run.ran[:MOST_DESCRIPTORS]))


def _find_targets(line: re.Match[str]) -> Iterator[int]:
    if line["opcode"] and line["opcode"].partition(".")[0] in _BRANCHES:
        yield from (int(target, 16) for target in _TARGET.findall(line["rest"]))


class _ListingRun:
    """The state of running the functions of a disassembly, one after the other."""

    def __init__(self, text: str, values: Mapping[str, int]) -> None:
        self.text = text
        self.values = values
        self.descriptors: list[FoundDescriptor] = []
        self.ran: list[AsmRun] = []
        self.names = tuple(f"UR{n}" for n in range(MOST_REGISTERS))
        self._begin("", (0, 0))

    def _begin(self, name: str, span: Span) -> None:
        self.function = (name, span)
        self.windows: set[str] = set()  # registers with the CTA's rank
        self.registers = KernelRegisters(self.text, {WINDOW: 1 << 24}, self.values, frozenset(self.names))
        declared = tuple((name, "b32") for name in (*self.names, "URsum"))
        self.registers.run_statement(ptx.RegisterDeclaration(declared))

    def run_line(self, line: re.Match[str], reached: bool) -> None:
        """Run a line. reached: whether a branch names its address."""
        if line["name"] or line["section"]:
            self._begin(line["name"] or line["section"], line.span())
            return
        if line["label"] or reached or (line["opcode"] or "").startswith(("BRX", "JMX", "CALL", "BSYNC", "WARPSYNC")):
            self.registers.run_placed(ptx.PlacedStatement(line.span(), label="L"))
            self.windows = set()
        if line["opcode"]:
            self._run_instruction(line)

    def _run_instruction(self, line: re.Match[str]) -> None:
        """Run the instruction of a line, or make unknown what it may write."""
        operands = [" ".join(part.split()) for part in line["rest"].split(",") if part.strip()]
        first = line.start() + len(line[0]) - len(line[0].lstrip())
        span = (first, line.end())
        if _GMMA.match(line["opcode"]):
            self._note_gmma(line["opcode"] + line["rest"], span)
            return
        guard = ("guard", False) if line["guard"] else None  # is never known
        translated = _translate(line["opcode"], operands, guard)
        for instruction in translated or ():
            self.registers.run_placed(ptx.PlacedStatement(span, instruction))
            self.windows = self.windows - {operands[0]}
        if translated is None:
            self._forget(line["opcode"] if guard is None else "", line["rest"], operands, span)

    def _forget(self, opcode: str, rest: str, operands: list[str], span: Span) -> None:
        """Make unknown the uniform registers that an instruction names outside addresses, and those after its first."""
        self.registers.at = span
        if opcode == "ULDC" and len(operands) == 2 and (constant := _CONSTANT.fullmatch(operands[1])):
            self.registers.write_symbol(operands[0], f"c_{constant[1]}")
            return
        if opcode == "ULEA" and operands[3:] == ["0x18"] and self.windows & {operands[1]}:
            # the CTA's window of shared memory, which begins at a multiple of 2^24, and a place in it
            self.registers.write_symbol(operands[0], WINDOW, operands[2])
            return
        if opcode.startswith("S2UR") and operands[1:] == ["SR_CgaCtaId"]:
            self.windows = {*self.windows, operands[0]}
        numbers = [int(n) for n in _UNIFORM.findall(_MEMORY.sub(" ", rest))]
        beside = range(numbers[0], min(numbers[0] + _WIDE, MOST_REGISTERS)) if numbers else ()
        for n in {*numbers, *beside}:
            self.registers.write_register(f"UR{n}", None)
            if not opcode.startswith("S2UR"):
                self.windows = self.windows - {f"UR{n}"}

    def _note_gmma(self, spelled: str, span: Span) -> None:
        """Record a warpgroup MMA as the PTX instruction that it was compiled from."""
        group = _GROUP.search(spelled)
        try:
            (read,) = sass.recognise_sass(spelled + ";")
        except (LayoutError, ValueError):
            return
        if group is None or len(read.facts["candidates"]) != 1:
            return
        in_registers = re.search(r"\w,\s*R\w+,\s*gdesc", spelled) is not None
        n = int(group[1])
        firsts = {"b": n + 2} if in_registers else {"a": n, "b": n + 2}
        words = {at: self._read_word(at, span) for at in firsts.values()}
        inputs = tuple(("l", value, place) for value, place in words.values())
        operands = ["{d}", *(["{a}"] if in_registers else []), *(f"%{at}" for at in range(len(inputs)))]
        instruction = catalog.find(read.facts["candidates"][0])
        turned = ["01"[f"tnsp{name.upper()}" in group[2]] for name in firsts] if reads_mn_major(instruction) else []
        line = f'"{instruction.ptx} {", ".join([*operands, "1", "1", "1", *turned])};"'
        self.ran.append(AsmRun(line, span, ("",) * len(inputs), inputs, (), (self.function,), len(self.ran)))
        for at, (value, place) in words.items():
            self.descriptors.append(FoundDescriptor(f"UR{at}", place, value, (), (), order=len(self.descriptors)))

    def _read_word(self, at: int, span: Span) -> tuple[SymbolicInt, Span]:
        """Return (descriptor in two registers, span of the instruction that wrote the lower one)."""
        wide = get_integer_type(64)
        self.registers.at = span
        halves = []
        for n in (at, at + 1):
            value = self.registers.get_word(f"UR{n}")
            assert value is not None
            place = self.registers.find_place(f"UR{n}")
            halves.append(shift_int(mark_bits(convert_int(value, wide), place), 32 * (n - at)))
        return or_ints(*halves), self.registers.find_place(f"UR{at}")


def _translate(
    opcode: str, operands: list[str], guard: tuple[str, bool] | None
) -> tuple[ptx.PtxInstruction, ...] | None:
    """Translate an instruction on uniform registers into PTX; None if it is not evaluated."""
    plain = [operand.replace("URZ", "0") for operand in operands if operand != "!UPT"]
    if (
        not plain
        or not all(map(_PLAIN.fullmatch, [operand for operand in operands if operand != "!UPT"]))
        or plain[0] == "0"
    ):
        return None
    steps: list[tuple[str, tuple[str, ...]]] = []
    match (opcode, plain):
        case ("UMOV", [to, a]):
            steps = [("mov.u32", (to, a))]
        case ("ULOP3.LUT", [to, a, b, c, table]):
            steps = [("lop3.b32", (to, a, b, c, table))]
        case ("USHF.R.U32.HI", [to, "0", by, a]):
            steps = [("shr.u32", (to, a, by))]
        case ("USHF.L.U32", [to, a, by, "0"]):
            steps = [("shl.b32", (to, a, by))]
        case ("UIADD3", [to, a, b, c]):
            steps = [("add.s32", ("URsum", a, b)), ("add.s32", (to, "URsum", c))]
        case ("UIMAD", [to, a, b, c]):
            steps = [("mad.lo.s32", (to, a, b, c))]
    return tuple(ptx.PtxInstruction(name, operand_texts, guard) for name, operand_texts in steps) or None
