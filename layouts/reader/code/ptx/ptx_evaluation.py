"""Evaluate the integer arithmetic in the PTX of an asm statement: the values of its outputs.

Other instructions (loads, elect, votes, floating point, wide integer types) make what they may write unknown. A branch,
a label or text that is not PTX makes every output unknown.

Source: PTX ISA 9.1, integer arithmetic, logic and shift, data movement and conversion instructions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lanescope.cxx.integers import BOOL
from lanescope.cxx.value_class import value_class
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.naming.header_names import BUILT_IN
from lanescope.reader.code.ptx import inline_ptx as ptx
from lanescope.reader.code.ptx.ptx_opcodes import extend_value, find_reader, get_integer_type, reinterpret_bits
from lanescope.reader.code.symbolic_integers import SymbolicInt, make_free

# constraint letter → bits of an operand; "n" and "C" are immediates, "f" and "d" floating point
WIDTHS = {"h": 16, "r": 32, "l": 64, "q": 128, "f": 32, "d": 64}
_WIDE = 64  # bits of an immediate
# special registers that are constant for a thread → their names in CUDA C++
_SPECIAL = {
    f"%{ptx_name}.{axis}": f"{name}.{axis}"
    for ptx_name, name in (("tid", "threadIdx"), ("ntid", "blockDim"), ("ctaid", "blockIdx"), ("nctaid", "gridDim"))
    for axis in "xyz"
} | {name: name for name in ("%laneid", "%cluster_ctarank", "%cluster_nctarank", "%dynamic_smem_size")}
_LEAVES = re.compile(r"(?:bra|brx|call)\.")  # may not continue with the next instruction; nor may opcodes without a dot
# instructions that write no variable through an address operand
_NO_STORE = re.compile(
    r"wgmma|mma\.|wmma\.(?:load|mma)|tcgen05\.(?:mma|ld|commit|wait|fence|cp|dealloc|relinquish)|ldmatrix|ldu?\."
    r"|fence|membar|bar(?:rier)?\.|cp\.async\.(?:bulk\.)?(?:commit|wait)|mbarrier\.(?:try_wait|test_wait)|prefetch"
    r"|griddepcontrol|setmaxnreg|nanosleep|elect|activemask|vote|shfl|match|redux|mapa|getctarank|isspacep|\.pragma"
)


@value_class(frozen=True, slots=True)
class AsmOperand:
    """An operand of an asm statement. value: its value before the statement, None if unknown."""

    constraint: str
    name: str = ""  # %[name]
    value: Any = None

    @property
    def output(self) -> bool:
        return self.constraint.startswith(("=", "+"))

    @property
    def bits(self) -> int:
        """The width of its register; 64 for an immediate."""
        return next((WIDTHS[letter] for letter in self.constraint if letter in WIDTHS), _WIDE)


def evaluate_outputs(
    code: str, operands: Sequence[AsmOperand], shared: Callable[[Any], Any] = lambda value: value
) -> list[Any]:
    """Return the value of each operand after the statement, None if unknown; inputs keep their values.

    shared: a pointer → its address in the shared window.

    >>> [str(value) for value in evaluate_outputs("shl.b32 %0, %1, 4;", [AsmOperand("=r"), AsmOperand("r", "",
    ... SymbolicInt(3))])]
    ['48', '3']
    """
    parsed = ptx.parse_ptx(code)
    if parsed is None:
        return [None if operand.output else operand.value for operand in operands]
    registers = RegisterFile(operands, shared)
    for statement in parsed:
        if not registers.run_statement(statement):
            return [None if operand.output else operand.value for operand in operands]
    return [registers.contents.get(registers.operand_registers[n]) for n in range(len(operands))]


def may_store(code: str | None) -> bool:
    """Return whether a statement with a "memory" clobber may write a variable through an address operand."""
    parsed = ptx.parse_ptx(code) if code is not None else None
    if parsed is None:
        return True
    instructions = [instruction for instruction in parsed if isinstance(instruction, ptx.PtxInstruction)]
    return any(
        _NO_STORE.match(instruction.opcode) is None and find_reader(instruction.opcode) is None
        for instruction in instructions
    )


@dataclass(slots=True)
class RegisterFile:
    """The registers of a running asm statement or function."""

    operands: Sequence[AsmOperand]
    shared: Callable[[Any], Any]
    contents: dict[str, Any] = field(default_factory=dict)  # register → its value, None where unknown
    bits: dict[str, int] = field(default_factory=dict)
    scopes: list[dict[str, str]] = field(default_factory=lambda: [{}])  # name → register
    operand_registers: list[str] = field(default_factory=list)  # number of an operand → register

    def __post_init__(self) -> None:
        for n, operand in enumerate(self.operands):
            tied = re.fullmatch(r"\d+", operand.constraint)
            if tied and int(tied[0]) < n:  # "0"(x): the register of output 0, which begins with x
                self.operand_registers.append(self.operand_registers[int(tied[0])])
                self.contents[self.operand_registers[n]] = operand.value
                continue
            register = f"%{n}"
            self.operand_registers.append(register)
            self.bits[register] = operand.bits
            self.contents[register] = None if operand.constraint.startswith("=") else operand.value

    def run_statement(self, statement: ptx.Statement) -> bool:
        """Run a statement; return False if nothing is known afterwards."""
        match statement:
            case ptx.ScopeBrace(opens=True):
                self.scopes.append({})
            case ptx.ScopeBrace():
                if len(self.scopes) == 1:
                    return False
                self.scopes.pop()
            case ptx.RegisterDeclaration(types=types):
                for name, kind in types:
                    register = f"{name} {len(self.contents)}"
                    self.scopes[-1][name] = register
                    self.contents[register] = None
                    match = re.search(r"\d+", kind)
                    self.bits[register] = int(match[0]) if match else 1
            case ptx.PtxInstruction():
                return self.run_instruction(statement)
        return True

    def run_instruction(self, instruction: ptx.PtxInstruction) -> bool:
        """Run an instruction; return False if nothing is known afterwards."""
        if _LEAVES.match(instruction.opcode) or "." not in instruction.opcode:
            return False
        runs = self._is_run(instruction)
        if runs is False:
            return True
        reader = find_reader(instruction.opcode)
        targets = ptx.list_targets(instruction) if reader is not None else self.list_written(instruction)
        results = reader(self, instruction) if reader is not None and runs else None
        if results is None or len(results) != len(targets):
            results = [None] * len(targets)
        for name, value in zip(targets, results, strict=True):
            self.write_register(name, value)
        return True

    def list_written(self, instruction: ptx.PtxInstruction) -> list[str]:
        """List the registers that an unevaluated instruction may write."""
        return [name for text in instruction.operands for name in ptx.list_registers(text)]

    def _is_run(self, instruction: ptx.PtxInstruction) -> bool | None:
        """Return whether an instruction's guard predicate is true; None if unknown."""
        if instruction.guard is None:
            return True
        integer = self._make_integer(self.read_operand(instruction.guard[0]))
        return None if integer is None or integer.known is None else bool(integer.known & 1) != instruction.guard[1]

    # registers -------------------------------------------------------------------------------------------------------

    def find_register(self, name: str) -> str | None:
        """Find the register of a name; None for other names, such as special registers."""
        name = ptx.normalize_register(name)
        if re.fullmatch(r"%\d+", name):
            n = int(name[1:])
            return self.operand_registers[n] if n < len(self.operand_registers) else None
        if named := re.fullmatch(r"%\[(\w+)\]", name):
            return next(
                (self.operand_registers[n] for n, operand in enumerate(self.operands) if operand.name == named[1]), None
            )
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def read_operand(self, name: str) -> Any:
        """Read a register, a special register or an immediate; None if unknown."""
        name = ptx.normalize_register(name)
        value = ptx.parse_immediate(name) if name != "WARP_SZ" else 32
        if value is not None:
            return SymbolicInt(value, get_integer_type(_WIDE, True))
        if name in _SPECIAL:
            register_name, _, axis = _SPECIAL[name].partition(".")
            return make_free(_SPECIAL[name], get_integer_type(32), BUILT_IN.get((register_name, axis), 0))
        register = self.find_register(name)
        return self.contents.get(register) if register is not None else None

    def read_integer(self, name: str, bits: int, signed: bool = False) -> SymbolicInt | None:
        """Read a source operand as an integer of an instruction's type."""
        value = self._make_integer(self.read_operand(name))
        return None if value is None else reinterpret_bits(value, bits, signed)

    def _make_integer(self, value: Any) -> SymbolicInt | None:
        return None if value is None else get_integer(value)

    def write_register(self, name: str, value: Any) -> None:
        """Write a register; a signed value is extended to its width."""
        register = self.find_register(name)
        if register is None:
            return
        if isinstance(value, SymbolicInt):
            kind = get_integer_type(self.bits[register]) if self.bits[register] > 1 else BOOL
            value = extend_value(value, kind)
        self.contents[register] = value
