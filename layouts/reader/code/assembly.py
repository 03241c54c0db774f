"""What the PTX of an asm statement leaves in its outputs, where it is integer arithmetic on registers.

Everything else (loads, elect, votes, floating point, wide shapes of integer types) leaves what it may write unknown; a
branch, a label or text that is no PTX leaves every output unknown.

Source: PTX ISA 9.1, integer arithmetic, logic and shift, data movement and conversion instructions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lanescope.cxx.integers import BOOL, IntegerType, type_named
from lanescope.reader.code import inline_ptx as ptx
from lanescope.reader.code import word
from lanescope.reader.code.known import BUILT_IN
from lanescope.reader.code.values import number
from lanescope.reader.code.word import Int, free

# bits of an operand by its constraint's letter; "n" and "C" are immediates, "f" and "d" hold floating point
WIDTHS = {"h": 16, "r": 32, "l": 64, "q": 128, "f": 32, "d": 64}
_INTEGER = re.compile(r"([usb])(8|16|32|64|128)")
_WIDE = 64  # of an immediate
# special registers that have one value as long as a thread runs, and what CUDA C++ calls them
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
_LEAVES = re.compile(r"(?:bra|brx|call)\.")  # what may not go on behind it, as every opcode without a dot
# instructions that write to no variable whose address they are given
_NO_STORE = re.compile(
    r"wgmma|mma\.|wmma\.(?:load|mma)|tcgen05\.(?:mma|ld|commit|wait|fence|cp|dealloc|relinquish)|ldmatrix|ldu?\."
    r"|fence|membar|bar(?:rier)?\.|cp\.async\.(?:bulk\.)?(?:commit|wait)|mbarrier\.(?:try_wait|test_wait)|prefetch"
    r"|griddepcontrol|setmaxnreg|nanosleep|elect|activemask|vote|shfl|match|redux|mapa|getctarank|isspacep|\.pragma"
)


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand of an asm statement. value: what it holds before, a pointer among others, None where unknown."""

    constraint: str
    name: str = ""  # %[name]
    value: Any = None

    @property
    def output(self) -> bool:
        return self.constraint.startswith(("=", "+"))

    @property
    def bits(self) -> int:
        """Its register's width; 64 of an immediate."""
        return next((WIDTHS[letter] for letter in self.constraint if letter in WIDTHS), _WIDE)


def outputs(code: str, operands: Sequence[Operand], shared: Callable[[Any], Any] = lambda value: value) -> list[Any]:
    """Return what each operand holds afterwards, None where that is unknown; inputs keep their values.

    shared: a pointer → its address in the shared window.

    >>> [str(one) for one in outputs("shl.b32 %0, %1, 4;", [Operand("=r"), Operand("r", "", Int(3))])]
    ['48', '3']
    """
    parsed = ptx.statements(code)
    if parsed is None:
        return [None if one.output else one.value for one in operands]
    made = _Registers(operands, shared)
    for one in parsed:
        if not made.step(one):
            return [None if one.output else one.value for one in operands]
    return [made.held.get(made.own[n]) for n in range(len(operands))]


def stores(code: str | None) -> bool:
    """Whether a statement with a "memory" clobber may write to a variable whose address it is given."""
    parsed = ptx.statements(code) if code is not None else None
    if parsed is None:
        return True
    told = [one for one in parsed if isinstance(one, ptx.Instruction)]
    return any(_NO_STORE.match(one.opcode) is None and _reader(one.opcode) is None for one in told)


def integer(bits: int, signed: bool = False) -> IntegerType:
    """The integer type that a register of so many bits is read as."""
    known = type_named(f"{'' if signed else 'u'}int{bits}_t")
    return known or IntegerType(f"{'s' if signed else 'u'}{bits}", bits, signed)


@dataclass(slots=True)
class _Registers:
    """The registers of one asm statement while it runs."""

    operands: Sequence[Operand]
    shared: Callable[[Any], Any]
    held: dict[str, Any] = field(default_factory=dict)  # register → its value, None where unknown
    bits: dict[str, int] = field(default_factory=dict)
    scopes: list[dict[str, str]] = field(default_factory=lambda: [{}])  # name → register
    own: list[str] = field(default_factory=list)  # operand's number → register

    def __post_init__(self) -> None:
        for n, one in enumerate(self.operands):
            tied = re.fullmatch(r"\d+", one.constraint)
            if tied and int(tied[0]) < n:  # "0"(x): the register of output 0, which begins with x
                self.own.append(self.own[int(tied[0])])
                self.held[self.own[n]] = one.value
                continue
            register = f"%{n}"
            self.own.append(register)
            self.bits[register] = one.bits
            self.held[register] = None if one.constraint.startswith("=") else one.value

    def step(self, one: ptx.Statement) -> bool:
        """Run a statement; False where nothing is known any more."""
        match one:
            case ptx.Brace(opens=True):
                self.scopes.append({})
            case ptx.Brace():
                if len(self.scopes) == 1:
                    return False
                self.scopes.pop()
            case ptx.Registers(types=types):
                for name, kind in types:
                    register = f"{name} {len(self.held)}"
                    self.scopes[-1][name] = register
                    self.held[register] = None
                    found = re.search(r"\d+", kind)
                    self.bits[register] = int(found[0]) if found else 1
            case ptx.Instruction():
                return self._run(one)
        return True

    def _run(self, one: ptx.Instruction) -> bool:
        if _LEAVES.match(one.opcode) or "." not in one.opcode:
            return False
        guard: bool | None = True
        if one.guard is not None:
            held = self._whole(self.read(one.guard[0]))
            guard = None if held is None or held.known is None else bool(held.known & 1) != one.guard[1]
        if guard is False:
            return True
        reader = _reader(one.opcode)
        targets = _targets(one) if reader is not None else [name for text in one.operands for name in ptx.named(text)]
        made = reader(self, one) if reader is not None and guard else None
        if made is not None and len(made) == len(targets):
            for name, value in zip(targets, made, strict=True):
                self.write(name, value)
        else:
            for name in targets:
                self.write(name, None)
        return True

    # registers -------------------------------------------------------------------------------------------------------

    def place(self, name: str) -> str | None:
        """The register of a name; None for what is none, a special register among them."""
        name = ptx.register(name)
        if re.fullmatch(r"%\d+", name):
            n = int(name[1:])
            return self.own[n] if n < len(self.own) else None
        if named := re.fullmatch(r"%\[(\w+)\]", name):
            return next((self.own[n] for n, one in enumerate(self.operands) if one.name == named[1]), None)
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def read(self, name: str) -> Any:
        """What a register, a special register or an immediate holds; None where unknown."""
        name = ptx.register(name)
        value = ptx.immediate(name) if name != "WARP_SZ" else 32
        if value is not None:
            return Int(value, integer(_WIDE, True))
        if name in _SPECIAL:
            own, _, axis = _SPECIAL[name].partition(".")
            return free(_SPECIAL[name], integer(32), BUILT_IN.get((own, axis), 0))
        register = self.place(name)
        return self.held.get(register) if register is not None else None

    def whole(self, name: str, bits: int, signed: bool = False) -> Int | None:
        """A source operand as an integer of an instruction's type."""
        value = self._whole(self.read(name))
        return None if value is None else _typed(value, bits, signed)

    def _whole(self, value: Any) -> Int | None:
        return None if value is None else number(value)

    def write(self, name: str, value: Any) -> None:
        """Put a value into a register: a signed one is extended to its width."""
        register = self.place(name)
        if register is None:
            return
        if isinstance(value, Int):
            kind = integer(self.bits[register]) if self.bits[register] > 1 else BOOL
            value = _extended(value, kind)
        self.held[register] = value


def _typed(value: Int, bits: int, signed: bool) -> Int | None:
    """The lowest bits of a value, read with or without a sign; None for a symbol that may be negative."""
    cut = word.convert(value, integer(bits))
    if not signed:
        return cut
    if cut.known is not None:
        return word.convert(cut, integer(bits, True))
    return word.convert(cut, integer(bits, True)) if cut.width < bits else None


def _extended(value: Int, kind: IntegerType) -> Int | None:
    """A value in a wider register: its sign goes along, where it has one."""
    if value.type.signed and value.known is None and value.width >= value.type.bits < kind.bits:
        return None
    return word.convert(value, kind)


def _targets(one: ptx.Instruction) -> list[str]:
    """The registers that an instruction of the table below writes: its first operand's."""
    first = one.operands[0] if one.operands else ""
    return [name.strip() for name in re.split(r"[|,]", first.strip("{} "))]


# instructions ---------------------------------------------------------------------------------------------------------

_Made = list[Any] | None
_Reader = Callable[[_Registers, ptx.Instruction], _Made]


def _reader(opcode: str) -> _Reader | None:
    """What evaluates an opcode, None for one that is not in the table or has modifiers that the table does not know."""
    name, *rest = opcode.split(".")
    kind = rest[-1] if rest else ""
    plain = _INTEGER.fullmatch(kind)
    if name == "cvta":
        return _to_shared if rest[:2] in (["to", "shared"], ["to", "shared::cta"]) and len(rest) == 3 else None
    if name == "cvt":
        return _converted if len(rest) == 2 and all(map(_INTEGER.fullmatch, rest)) else None
    if name == "mov":
        return _moved if len(rest) == 1 and (plain or kind in ("pred", "f32", "f64")) else None
    if name == "setp":
        return _set if len(rest) == 2 and rest[0] in _COMPARED and plain else None
    if name == "selp":
        return _selected if len(rest) == 1 and (plain or kind in ("f32", "f64")) else None
    if name in ("mul", "mad"):
        return _multiplied if len(rest) == 2 and rest[0] in ("lo", "wide", "hi") and plain and plain[1] != "b" else None
    if len(rest) != 1 or name not in _PLAIN or not (plain or kind == "pred"):
        return None
    if kind == "pred" and name not in ("and", "or", "xor", "not"):
        return None
    return _computed


def _kind(opcode: str) -> tuple[int, bool]:
    """(bits, whether signed) of an opcode's last type."""
    found = _INTEGER.fullmatch(opcode.rpartition(".")[2])
    return (int(found[2]), found[1] == "s") if found else (1, False)


def _to_shared(at: _Registers, one: ptx.Instruction) -> _Made:
    value = at.read(one.operands[1]) if len(one.operands) == 2 else None
    return None if value is None else [at.shared(value)]


def _converted(at: _Registers, one: ptx.Instruction) -> _Made:
    """cvt.to.from: the source's lowest bits, extended by its own sign, cut to the destination's type."""
    into, of = (_INTEGER.fullmatch(part) for part in one.opcode.split(".")[1:])
    if into is None or of is None or len(one.operands) != 2:
        return None
    value = at.whole(one.operands[1], int(of[2]), of[1] == "s")
    if value is None:
        return None
    cut = _extended(value, integer(int(into[2])))
    return [None if cut is None else _typed(cut, int(into[2]), into[1] == "s")]


def _moved(at: _Registers, one: ptx.Instruction) -> _Made:
    """mov of a register, and mov.b that packs `{low, …, high}` into one or takes one apart."""
    if len(one.operands) != 2:
        return None
    target, source = one.operands
    if not target.startswith("{") and not source.startswith("{"):
        return [at.read(source)]
    bits, _ = _kind(one.opcode)
    if source.startswith("{"):
        parts = [part.strip() for part in source.strip("{} ").split(",")]
        each = bits // len(parts)
        whole = Int(0, integer(bits))
        for n, part in enumerate(parts):
            value = at.whole(part, each)
            if value is None:
                return None
            whole = word.either(whole, word.shifted(word.convert(value, integer(bits)), n * each))
        return [whole]
    parts = _targets(one)
    each = bits // len(parts)
    value = at.whole(source, bits)
    return None if value is None else [word.extracted(value, n * each, each, integer(each)) for n in range(len(parts))]


def _set(at: _Registers, one: ptx.Instruction) -> _Made:
    """setp.cmp.type p, a, b and p|q, where q is not p."""
    bits, signed = _kind(one.opcode)
    test = one.opcode.split(".")[1]
    signed = signed and test not in ("lo", "ls", "hi", "hs")
    if len(one.operands) != 3:
        return None
    left, right = (at.whole(text, bits, signed) for text in one.operands[1:])
    if left is None or right is None or left.known is None or right.known is None:
        return None
    truth = int(_COMPARED[test](left.known, right.known))
    return [Int(truth, BOOL), Int(1 - truth, BOOL)][: len(_targets(one))]


def _selected(at: _Registers, one: ptx.Instruction) -> _Made:
    """selp d, a, b, p: a where p is true, else b."""
    if len(one.operands) != 4:
        return None
    choice = at.whole(one.operands[3], 1)
    if choice is None or choice.known is None:
        return None
    bits, signed = _kind(one.opcode)
    chosen = one.operands[1 if choice.known else 2]
    return [at.whole(chosen, bits, signed) if bits > 1 else at.read(chosen)]


def _multiplied(at: _Registers, one: ptx.Instruction) -> _Made:
    """mul and mad: .lo keeps the lower half of the product, .hi the upper, .wide all of it."""
    name, part, _ = one.opcode.split(".")
    bits, signed = _kind(one.opcode)
    if len(one.operands) != (3 if name == "mul" else 4) or (part == "wide" and bits > 32):
        return None
    signed = signed and part != "lo"  # which does not depend on it
    left, right = (at.whole(text, bits, signed) for text in one.operands[1:3])
    wide = 2 * bits if part == "wide" else bits
    if left is None or right is None:
        return None
    if left.known is not None and right.known is not None:
        product = left.known * right.known
        total = Int(product >> bits if part == "hi" else product, integer(2 * bits, signed))
        made: Int | None = word.convert(total, integer(wide, signed))
    else:
        made = None if part == "hi" else word.times(*(word.convert(one, integer(wide)) for one in (left, right)))
    if made is not None and name == "mad":
        more = at.whole(one.operands[3], wide, signed)
        made = None if more is None else word.add(word.convert(made, integer(wide)), word.convert(more, integer(wide)))
    return None if made is None else [word.convert(made, integer(wide))]


def _computed(at: _Registers, one: ptx.Instruction) -> _Made:
    """What the table below has: operands of the opcode's type, amounts and selectors of 32 bits."""
    name = one.opcode.partition(".")[0]
    bits, signed = _kind(one.opcode)
    row = _PLAIN[name]
    if len(one.operands) != 1 + len(row.reads) or (row.only and bits not in row.only):
        return None
    given: list[Int] = []
    for text, read in zip(one.operands[1:], row.reads, strict=True):
        value = at.whole(text, bits if read == "t" else 32, signed and read == "t" and row.signs)
        if value is None:
            return None
        given.append(value)
    kind = integer(bits, signed and row.signs)
    known = [value.known for value in given]
    if all(value is not None for value in known) and row.known is not None:
        result = row.known(bits, signed, *known)
        return None if result is None else [Int(kind.wrap(result), kind)]
    made = row.symbolic(bits, signed, *given) if row.symbolic is not None else None
    return None if made is None else [word.convert(made, kind)]


# of known integers ----------------------------------------------------------------------------------------------------


def shift_left(bits: int, _: bool, value: int, by: int) -> int:
    """shl: an amount beyond the type's width shifts everything out."""
    return value << min(by, bits)


def shift_right(bits: int, _: bool, value: int, by: int) -> int:
    """shr: of a signed type the sign comes in, however far it is shifted."""
    return value >> min(by, bits)


def permute(_: int, __: bool, low: int, high: int, selector: int) -> int:
    """prmt without a mode: each nibble of the selector takes one of eight bytes; its bit 3 asks for the byte's sign."""
    eight = (high << 32 | low).to_bytes(8, "little")
    out = bytearray()
    for n in range(4):
        nibble = selector >> 4 * n & 15
        byte = eight[nibble & 7]
        out.append((255 if byte & 128 else 0) if nibble & 8 else byte)
    return int.from_bytes(out, "little")


def insert(bits: int, _: bool, value: int, into: int, at: int, count: int) -> int:
    """bfi: the value's lowest bits into another from bit `at` on; of position and length the lowest 8 bits count."""
    mask = ((1 << (count & 255)) - 1) << (at & 255)
    return (into & ~mask | value << (at & 255) & mask) & ((1 << bits) - 1)


def extract(bits: int, signed: bool, value: int, at: int, count: int) -> int:
    """bfe: `count` bits from bit `at` on; of a signed type the highest of them, or of the source, is the sign."""
    at, count = at & 255, count & 255
    value &= (1 << bits) - 1
    cut = value >> at & ((1 << count) - 1)
    sign = value >> min(at + count - 1, bits - 1) & 1 if signed and count else 0
    if sign:
        reached = max(min(count, bits - at), 0)
        cut |= -1 << reached
    return cut


def logic(bits: int, _: bool, one: int, two: int, three: int, table: int) -> int:
    """lop3: bit n of the table is the result for the inputs' bits n = one·4 + two·2 + three."""
    full = (1 << bits) - 1
    out = 0
    for n in range(8):
        if table >> n & 1:
            out |= (one if n & 4 else ~one) & (two if n & 2 else ~two) & (three if n & 1 else ~three)
    return out & full


def _quotient(_: int, __: bool, left: int, right: int) -> int | None:
    if not right:
        return None
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def _remainder(bits: int, signed: bool, left: int, right: int) -> int | None:
    whole = _quotient(bits, signed, left, right)
    return None if whole is None else left - whole * right


# of symbols -----------------------------------------------------------------------------------------------------------


def _by(value: Int, by: Int, up: bool, bits: int) -> Int | None:
    if by.known is None:
        return None
    if by.known >= bits:
        return Int(0, value.type)
    return word.shifted(value, by.known if up else -by.known)


def _inserted(bits: int, _: bool, value: Int, into: Int, at: Int, count: Int) -> Int | None:
    if at.known is None or count.known is None:
        return None
    low, width = at.known & 255, min(count.known & 255, bits - (at.known & 255))
    if width <= 0:
        return into
    mask = (1 << width) - 1
    full = (1 << bits) - 1
    rest = word.both(into, Int(full & ~(mask << low), into.type))
    return word.either(rest, word.shifted(word.both(value, Int(mask, value.type)), low))


def _extracted(bits: int, signed: bool, value: Int, at: Int, count: Int) -> Int | None:
    if at.known is None or count.known is None or signed:
        return None
    low, width = at.known & 255, min(count.known & 255, bits - (at.known & 255))
    return Int(0, value.type) if width <= 0 else word.extracted(value, low, width, integer(bits))


def _permuted(_: int, __: bool, low: Int, high: Int, selector: Int) -> Int | None:
    if selector.known is None or selector.known & 0x8888:
        return None
    out = Int(0, integer(32))
    for n in range(4):
        nibble = selector.known >> 4 * n & 7
        byte = word.extracted(high if nibble & 4 else low, nibble % 4 * 8, 8, integer(32))
        out = word.either(out, word.shifted(byte, 8 * n))
    return out


_LOGIC: dict[int, Callable[[Int, Int, Int], Int]] = {  # tables of lop3 that are one or two operators
    0xC0: lambda a, b, _: word.both(a, b),
    0xFC: lambda a, b, _: word.either(a, b),
    0x80: lambda a, b, c: word.both(word.both(a, b), c),
    0xFE: lambda a, b, c: word.either(word.either(a, b), c),
    0xEA: lambda a, b, c: word.either(word.both(a, b), c),
    0xF8: lambda a, b, c: word.either(a, word.both(b, c)),
    0xA8: lambda a, b, c: word.both(word.either(a, b), c),
}


def _chosen(_: int, __: bool, one: Int, two: Int, three: Int, table: Int) -> Int | None:
    made = _LOGIC.get(table.known) if table.known is not None else None
    return made(one, two, three) if made is not None else None


@dataclass(frozen=True, slots=True)
class _Row:
    """One opcode. reads: its sources, t of its type, u of 32 bits; known, symbolic: what it gives for (bits, signed,
    sources); signs: whether sources are read with the type's sign; only: the widths that it has, () for all.
    """

    reads: str
    known: Callable[..., int | None] | None
    symbolic: Callable[..., Int | None] | None = None
    signs: bool = False
    only: tuple[int, ...] = ()


_PLAIN: Mapping[str, _Row] = {
    "and": _Row("tt", lambda _, __, a, b: a & b, lambda _, __, a, b: word.both(a, b)),
    "or": _Row("tt", lambda _, __, a, b: a | b, lambda _, __, a, b: word.either(a, b)),
    "xor": _Row("tt", lambda _, __, a, b: a ^ b, lambda _, __, a, b: word.exclusive(a, b)),
    "not": _Row("t", lambda bits, _, a: a ^ ((1 << bits) - 1)),
    "cnot": _Row("t", lambda _, __, a: int(not a)),
    "shl": _Row("tu", shift_left, lambda bits, _, a, by: _by(a, by, True, bits)),
    "shr": _Row("tu", shift_right, lambda bits, _, a, by: _by(a, by, False, bits), signs=True),
    "add": _Row("tt", lambda _, __, a, b: a + b, lambda _, __, a, b: word.add(a, b)),
    "sub": _Row("tt", lambda _, __, a, b: a - b, lambda _, __, a, b: word.add(a, b, -1)),
    "neg": _Row("t", lambda _, __, a: -a),
    "abs": _Row("t", lambda _, __, a: abs(a), signs=True),
    "min": _Row("tt", lambda _, __, a, b: min(a, b), signs=True),
    "max": _Row("tt", lambda _, __, a, b: max(a, b), signs=True),
    "div": _Row("tt", _quotient, lambda _, __, a, b: word.quotient(a, b) if b.known else None, signs=True),
    "rem": _Row("tt", _remainder, lambda _, __, a, b: word.remainder(a, b) if b.known else None, signs=True),
    "popc": _Row("t", lambda _, __, a: a.bit_count(), only=(32, 64)),
    "clz": _Row("t", lambda bits, _, a: bits - a.bit_length(), only=(32, 64)),
    "brev": _Row("t", lambda bits, _, a: int(f"{a:0{bits}b}"[::-1], 2), only=(32, 64)),
    "prmt": _Row("ttu", permute, _permuted, only=(32,)),
    "bfi": _Row("ttuu", insert, _inserted, only=(32, 64)),
    "bfe": _Row("tuu", extract, _extracted, only=(32, 64)),
    "lop3": _Row("tttu", logic, _chosen, only=(32,)),
}
