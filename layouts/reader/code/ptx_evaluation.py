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

from lanescope.cxx.integers import BOOL, IntegerType
from lanescope.reader.code import inline_ptx as ptx
from lanescope.reader.code import symbolic_integers
from lanescope.reader.code.header_names import BUILT_IN
from lanescope.reader.code.integer_values import get_integer
from lanescope.reader.code.ptx_arithmetic import ARITHMETIC, get_integer_type
from lanescope.reader.code.symbolic_integers import SymbolicInt, make_free

# constraint letter → bits of an operand; "n" and "C" are immediates, "f" and "d" floating point
WIDTHS = {"h": 16, "r": 32, "l": 64, "q": 128, "f": 32, "d": 64}
_INTEGER = re.compile(r"([usb])(8|16|32|64|128)")
_WIDE = 64  # bits of an immediate
# special registers that are constant for a thread → their names in CUDA C++
_SPECIAL = {
    f"%{ptx_name}.{axis}": f"{name}.{axis}"
    for ptx_name, name in (("tid", "threadIdx"), ("ntid", "blockDim"), ("ctaid", "blockIdx"), ("nctaid", "gridDim"))
    for axis in "xyz"
} | {name: name for name in ("%laneid", "%cluster_ctarank", "%cluster_nctarank", "%dynamic_smem_size")}
_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lo": lambda a, b: a < b,
    "ls": lambda a, b: a <= b,
    "hi": lambda a, b: a > b,
    "hs": lambda a, b: a >= b,
}
_WARPS = re.compile(r"threadIdx\.x ?(?:/ ?(?:32|64|128|256|512)|>> ?[5-9])(?!\d)")  # the same for a whole warp
_UNIFORM = re.compile(r"(?:blockIdx|blockDim|gridDim)\.[xyz]|\b0x[\da-fA-F]+\b|\b\d+\b")  # the same for all threads
_NAME = re.compile(r"[A-Za-z_]")
_LEAVES = re.compile(r"(?:bra|brx|call)\.")  # may not continue with the next instruction; nor may opcodes without a dot
# instructions that write no variable through an address operand
_NO_STORE = re.compile(
    r"wgmma|mma\.|wmma\.(?:load|mma)|tcgen05\.(?:mma|ld|commit|wait|fence|cp|dealloc|relinquish)|ldmatrix|ldu?\."
    r"|fence|membar|bar(?:rier)?\.|cp\.async\.(?:bulk\.)?(?:commit|wait)|mbarrier\.(?:try_wait|test_wait)|prefetch"
    r"|griddepcontrol|setmaxnreg|nanosleep|elect|activemask|vote|shfl|match|redux|mapa|getctarank|isspacep|\.pragma"
)


@dataclass(frozen=True, slots=True)
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
    for operand in parsed:
        if not registers.run_statement(operand):
            return [None if operand.output else operand.value for operand in operands]
    return [registers.contents.get(registers.operand_registers[n]) for n in range(len(operands))]


def may_store(code: str | None) -> bool:
    """Return whether a statement with a "memory" clobber may write a variable through an address operand."""
    parsed = ptx.parse_ptx(code) if code is not None else None
    if parsed is None:
        return True
    instructions = [instruction for instruction in parsed if isinstance(instruction, ptx.PtxInstruction)]
    return any(
        _NO_STORE.match(instruction.opcode) is None and _find_reader(instruction.opcode) is None
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
        reader = _find_reader(instruction.opcode)
        targets = list_targets(instruction) if reader is not None else self.list_written(instruction)
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
        return None if value is None else _reinterpret_bits(value, bits, signed)

    def _make_integer(self, value: Any) -> SymbolicInt | None:
        return None if value is None else get_integer(value)

    def write_register(self, name: str, value: Any) -> None:
        """Write a register; a signed value is extended to its width."""
        register = self.find_register(name)
        if register is None:
            return
        if isinstance(value, SymbolicInt):
            kind = get_integer_type(self.bits[register]) if self.bits[register] > 1 else BOOL
            value = _extend_value(value, kind)
        self.contents[register] = value


def _reinterpret_bits(value: SymbolicInt, bits: int, signed: bool) -> SymbolicInt | None:
    """Return the lowest bits of a value, read with or without a sign; None for a symbol that may be negative."""
    cut = symbolic_integers.convert_int(value, get_integer_type(bits))
    if not signed:
        return cut
    if cut.known is not None:
        return symbolic_integers.convert_int(cut, get_integer_type(bits, True))
    return symbolic_integers.convert_int(cut, get_integer_type(bits, True)) if cut.width < bits else None


def _extend_value(value: SymbolicInt, kind: IntegerType) -> SymbolicInt | None:
    """Extend a value to a wider register, with its sign if it has one."""
    if value.type.signed and value.known is None and value.width >= value.type.bits < kind.bits:
        return None
    return symbolic_integers.convert_int(value, kind)


def list_targets(instruction: ptx.PtxInstruction) -> list[str]:
    """Return the registers that an instruction of the table below writes: its first operand's."""
    first = instruction.operands[0] if instruction.operands else ""
    return [name.strip() for name in re.split(r"[|,]", first.strip("{} "))]


# instructions ---------------------------------------------------------------------------------------------------------

_Outputs = list[Any] | None
_Reader = Callable[[RegisterFile, ptx.PtxInstruction], _Outputs]


def _find_reader(opcode: str) -> _Reader | None:
    """Find the function that evaluates an opcode; None for an unknown opcode or unknown modifiers."""
    name, *modifiers = opcode.split(".")
    row = _OPCODES.get(name)
    return row.reader if row is not None and row.fits(modifiers) else None


def _is_type(modifier: str, *others: str) -> bool:
    """Return whether a modifier is an integer type, or one of some others."""
    return modifier in others or _INTEGER.fullmatch(modifier) is not None


def _parse_type(opcode: str) -> tuple[int, bool]:
    """Parse (bits, whether signed) of an opcode's last type."""
    match = _INTEGER.fullmatch(opcode.rpartition(".")[2])
    return (int(match[2]), match[1] == "s") if match else (1, False)


def _evaluate_cvta(registers: RegisterFile, instruction: ptx.PtxInstruction) -> _Outputs:
    value = registers.read_operand(instruction.operands[1]) if len(instruction.operands) == 2 else None
    return None if value is None else [registers.shared(value)]


def _evaluate_cvt(registers: RegisterFile, instruction: ptx.PtxInstruction) -> _Outputs:
    """Evaluate cvt.to.from: the source's lowest bits, extended by its own sign, cut to the destination's type."""
    target, source = (_INTEGER.fullmatch(part) for part in instruction.opcode.split(".")[1:])
    if target is None or source is None or len(instruction.operands) != 2:
        return None
    value = registers.read_integer(instruction.operands[1], int(source[2]), source[1] == "s")
    if value is None:
        return None
    cut = _extend_value(value, get_integer_type(int(target[2])))
    return [None if cut is None else _reinterpret_bits(cut, int(target[2]), target[1] == "s")]


def _evaluate_mov(registers: RegisterFile, instruction: ptx.PtxInstruction) -> _Outputs:
    """Evaluate mov of a register, and mov.b that packs `{low, …, high}` into one or takes one apart."""
    if len(instruction.operands) != 2:
        return None
    target, source = instruction.operands
    if not target.startswith("{") and not source.startswith("{"):
        return [registers.read_operand(source)]
    bits, _ = _parse_type(instruction.opcode)
    if source.startswith("{"):
        parts = [part.strip() for part in source.strip("{} ").split(",")]
        part_bits = bits // len(parts)
        integer = SymbolicInt(0, get_integer_type(bits))
        for n, part in enumerate(parts):
            value = registers.read_integer(part, part_bits)
            if value is None:
                return None
            integer = symbolic_integers.or_ints(
                integer,
                symbolic_integers.shift_int(
                    symbolic_integers.convert_int(value, get_integer_type(bits)), n * part_bits
                ),
            )
        return [integer]
    parts = list_targets(instruction)
    part_bits = bits // len(parts)
    value = registers.read_integer(source, bits)
    return (
        None
        if value is None
        else [
            symbolic_integers.extract_bits(value, n * part_bits, part_bits, get_integer_type(part_bits))
            for n in range(len(parts))
        ]
    )


def _evaluate_shuffle(registers: RegisterFile, instruction: ptx.PtxInstruction) -> _Outputs:
    """Evaluate shfl.sync.idx of a value that all threads of a warp have; None where it may differ between them."""
    if len(instruction.operands) != 5 or "|" in instruction.operands[0]:
        return None
    value = registers.read_integer(instruction.operands[1], 32)
    if value is None or _NAME.search(_UNIFORM.sub("", _WARPS.sub("", str(value)))):
        return None
    return [value]


def _evaluate_setp(registers: RegisterFile, instruction: ptx.PtxInstruction) -> _Outputs:
    """Evaluate setp.cmp.type p, a, b and p|q, where q is not p."""
    bits, signed = _parse_type(instruction.opcode)
    test = instruction.opcode.split(".")[1]
    signed = signed and test not in ("lo", "ls", "hi", "hs")
    if len(instruction.operands) != 3:
        return None
    left, right = (registers.read_integer(text, bits, signed) for text in instruction.operands[1:])
    if left is None or right is None or left.known is None or right.known is None:
        return None
    truth = int(_COMPARED[test](left.known, right.known))
    return [SymbolicInt(truth, BOOL), SymbolicInt(1 - truth, BOOL)][: len(list_targets(instruction))]


def _evaluate_selp(registers: RegisterFile, instruction: ptx.PtxInstruction) -> _Outputs:
    """Evaluate selp d, a, b, p: a if p is true, else b."""
    if len(instruction.operands) != 4:
        return None
    choice = registers.read_integer(instruction.operands[3], 1)
    if choice is None or choice.known is None:
        return None
    bits, signed = _parse_type(instruction.opcode)
    chosen = instruction.operands[1 if choice.known else 2]
    return [registers.read_integer(chosen, bits, signed) if bits > 1 else registers.read_operand(chosen)]


def _evaluate_mul(registers: RegisterFile, instruction: ptx.PtxInstruction) -> _Outputs:
    """Evaluate mul and mad: .lo keeps the lower half of the product, .hi the upper, .wide all of it."""
    name, part, _ = instruction.opcode.split(".")
    bits, signed = _parse_type(instruction.opcode)
    if len(instruction.operands) != (3 if name == "mul" else 4) or (part == "wide" and bits > 32):
        return None
    signed = signed and part != "lo"  # the lower half does not depend on the sign
    left, right = (registers.read_integer(text, bits, signed) for text in instruction.operands[1:3])
    if left is None or right is None:
        return None
    wide = 2 * bits if part == "wide" else bits
    product = _multiply_part(left, right, part, bits, get_integer_type(wide, signed))
    if product is not None and name == "mad":
        more = registers.read_integer(instruction.operands[3], wide, signed)
        product = (
            None
            if more is None
            else symbolic_integers.add_ints(
                symbolic_integers.convert_int(product, get_integer_type(wide)),
                symbolic_integers.convert_int(more, get_integer_type(wide)),
            )
        )
    return None if product is None else [symbolic_integers.convert_int(product, get_integer_type(wide))]


def _multiply_part(
    left: SymbolicInt, right: SymbolicInt, part: str, bits: int, kind: IntegerType
) -> SymbolicInt | None:
    """Return the `part` (lo, hi or wide) of the product of two `bits`-bit numbers; None if unknown."""
    if left.known is not None and right.known is not None:
        product = left.known * right.known
        total = SymbolicInt(product >> bits if part == "hi" else product, get_integer_type(2 * bits, kind.signed))
        return symbolic_integers.convert_int(total, kind)
    if part == "hi":
        return None
    return symbolic_integers.multiply_ints(
        *(symbolic_integers.convert_int(factor, get_integer_type(kind.bits)) for factor in (left, right))
    )


def _evaluate_table_opcode(registers: RegisterFile, instruction: ptx.PtxInstruction) -> _Outputs:
    """Evaluate a row of arithmetic: operands of the opcode's type, amounts and selectors of 32 bits."""
    bits, signed = _parse_type(instruction.opcode)
    row = ARITHMETIC[instruction.opcode.partition(".")[0]]
    if not row.fits(len(instruction.operands), bits):
        return None
    signed_type = signed and row.signs
    sources = [
        registers.read_integer(text, bits if read == "t" else 32, read == "t" and signed_type)
        for text, read in zip(instruction.operands[1:], row.reads, strict=True)
    ]
    operands = [value for value in sources if value is not None]
    if len(operands) < len(sources):
        return None
    kind = get_integer_type(bits, signed_type)
    known = [value.known for value in operands]
    if None not in known and row.known is not None:
        result = row.known(bits, signed, *known)
        return None if result is None else [SymbolicInt(kind.wrap(result), kind)]
    symbolic_result = row.symbolic(bits, signed, *operands) if row.symbolic is not None else None
    return None if symbolic_result is None else [symbolic_integers.convert_int(symbolic_result, kind)]


@dataclass(frozen=True, slots=True)
class _Opcode:
    """An evaluated opcode. reader: evaluates it; fits: whether its modifiers are supported, the type last."""

    reader: _Reader
    fits: Callable[[list[str]], bool]


def _fits_product(modifiers: list[str]) -> bool:
    """Return whether modifiers are those of a product: .lo.u32, but no .b type."""
    known = len(modifiers) == 2 and modifiers[0] in ("lo", "wide", "hi")
    return known and _is_type(modifiers[1]) and not modifiers[1].startswith("b")


_OPCODES: dict[str, _Opcode] = {
    **dict.fromkeys(
        ARITHMETIC, _Opcode(_evaluate_table_opcode, lambda modifiers: len(modifiers) == 1 and _is_type(modifiers[0]))
    ),
    **dict.fromkeys(
        ("and", "or", "xor", "not"),
        _Opcode(_evaluate_table_opcode, lambda modifiers: len(modifiers) == 1 and _is_type(modifiers[0], "pred")),
    ),
    **dict.fromkeys(("mul", "mad"), _Opcode(_evaluate_mul, _fits_product)),
    "cvta": _Opcode(
        _evaluate_cvta,
        lambda modifiers: len(modifiers) == 3 and modifiers[0] == "to" and modifiers[1] in ("shared", "shared::cta"),
    ),
    "cvt": _Opcode(_evaluate_cvt, lambda modifiers: len(modifiers) == 2 and all(map(_is_type, modifiers))),
    "mov": _Opcode(
        _evaluate_mov, lambda modifiers: len(modifiers) == 1 and _is_type(modifiers[0], "pred", "f32", "f64")
    ),
    "shfl": _Opcode(_evaluate_shuffle, lambda modifiers: modifiers == ["sync", "idx", "b32"]),
    "setp": _Opcode(
        _evaluate_setp, lambda modifiers: len(modifiers) == 2 and modifiers[0] in _COMPARED and _is_type(modifiers[1])
    ),
    "selp": _Opcode(_evaluate_selp, lambda modifiers: len(modifiers) == 1 and _is_type(modifiers[0], "f32", "f64")),
}
