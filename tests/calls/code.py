"""What the modules that evaluate code answer one by one: words, marks, types, spellings, and the conditions by which a
text is read at all. Every bound at it and beyond it, every alternative of a spelling once.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

from layouts.reader.code import builders, ctype, doubts, evaluate, finding, known, tree, word
from layouts.reader.code.ctype import BOOL, INT, LONG, PYTHON, UINT, ULONG, CType
from layouts.reader.code.finding import Finding
from layouts.reader.code.machine import Machine
from layouts.reader.code.values import Cell, Field, Term, short
from layouts.reader.code.word import Int, Linear, Mark, Piece, free, symbol
from tests.calls import Call

X, Y = symbol("x"), symbol("y")
UCHAR = CType("unsigned char", 8, False)
FIELDS = Int(1 << 62 | 64 << 32, ULONG, (Piece(0, 14, X, 4),), 0, (Mark(62, (1, 2)), Mark(38, (3, 4)), Mark(0, (5, 6))))
VALUES = {
    "0": Int(0), "1": Int(1, origin=((1, 2),)), "-3": Int(-3), "7l": Int(7, LONG), "8ul": Int(8, ULONG, low=3),
    "48l": Int(48, LONG, low=4),
    "i64": Int(9, CType("int64_t", 64, True)), "u64": Int(9, CType("uint64_t", 64, False)), "0ul": Int(0, ULONG),
    "max": Int((1 << 31) - 1), "high": Int(1 << 63, ULONG, low=63, marks=(Mark(63, (7, 9)),)), "-1u": Int(0xFFFFFFFF,
    UINT),
    "200uc": Int(200, UCHAR), "true": Int(1, BOOL), "big": Int(1 << 70, PYTHON), "-5p": Int(-5, PYTHON),
    "x": free("x", INT), "xl": free("x", ULONG), "x18": free("x", ULONG, 18), "yp": free("y", PYTHON),
    "2x+4": word.of_linear(X.scaled(2) + Linear(4), LONG, 33), "16x": word.of_linear(X.scaled(16), ULONG),
    "bits": FIELDS, "x<<16": Int(0, ULONG, (Piece(16, 14, X, 4),), 16), "halves": Int(0, ULONG, (Piece(0, 32, X),
    Piece(32, 32, Y))), "mid": Int(6, UINT, (Piece(8, 8, Y, 2),)), "yc": free("y", UCHAR),
}  # fmt: skip
OPERATIONS = {
    "+": word.add, "-": lambda a, b: word.add(a, b, -1), "|": word.either, "&": word.both, "^": word.exclusive,
    "*": word.times, "/": word.quotient, "%": word.remainder, "?": lambda a, b: word.merged("c", a, b),
    "into": lambda a, b: [word.inserted(a, b, low, width, (8, 9)) for low, width in ((0, 14), (32, 16), (46, 17))],
}  # fmt: skip


def of_code_words() -> Iterator[Call]:
    for (op, does), (one, left) in product(OPERATIONS.items(), VALUES.items()):
        yield f"{one} {op}", lambda does=does, left=left: repr([does(left, right) for right in VALUES.values()])
    machine = Machine("", 1, False)
    for op, (one, left) in product("/ % ** << >> @ < <= ==".split(), VALUES.items()):
        yield f"{one} {op} of C", lambda op=op, left=left: repr([machine.binary(op, left, b) for b in VALUES.values()])
    for one, value in VALUES.items():
        yield f"{one} is", lambda v=value: [str(v), v.known, repr(v.plain), v.width, repr(v.linear()), bool(v.pieces)]
        for by in (0, 1, 4, 13, 14, 31, 32, 62, 63, 64):
            yield f"{one} shifted by {by}", lambda v=value, by=by: repr([word.shifted(v, by), word.shifted(v, -by)])
        for kind in (INT, UINT, LONG, ULONG, BOOL, UCHAR, PYTHON, CType("short", 16, True)):
            yield f"{one} as {kind.name} {kind.bits}", lambda v=value, kind=kind: repr([
                word.convert(v, kind), *(word.extracted(v, low, width, kind)
                for low, width in ((0, 14), (62, 2), (4, 8), (0, 32)))
            ])  # fmt: skip
        yield f"fields of {one}", lambda v=value: repr([
            [finding.field_of(v, low, high), finding.origin_of(v, low, high)]
            for low, high in ((0, 13), (16, 29), (32, 45), (46, 48), (61, 63), (0, 63), (62, 63), (38, 38), (1, 61))
        ])  # fmt: skip
    lines = [Linear(), Linear(5), Linear(-5), X, X.scaled(-1), X.scaled(3), X + Y, X + Y.scaled(-1), X + Linear(-7),
             X.scaled(2) + Y + Linear(9), Y.scaled(-2) + Linear(4), X.scaled(4) + Y.scaled(8) + Linear(16)]  # fmt: skip
    for line in lines:
        yield f"line {line}", lambda line=line: repr([
            *(str(line + other) for other in lines), *(line.scaled(by) for by in (0, 1, -2)),
            *(line.divided(by) for by in (1, 2, 3, 4, -4)),
        ])  # fmt: skip
    for many in (7, 8, 9, 23, 24, 25):
        spans = [Int(1, origin=((n, n + 1),), marks=(Mark(n, (n, n)),)) for n in range(many)]
        yield f"{many} symbols", partial(total, [free(f"s{n:02}", ULONG) for n in range(many)], word.add)
        yield f"{many} pieces", partial(total, [Int(0, ULONG, (Piece(n, 1, X, n),)) for n in range(many)], word.either)
        yield f"{many} origins and marks", partial(total, spans, word.either)
        yield f"{many} of one", lambda s=spans: repr(word.either(total_of(s, word.either), Int(0)))
    for long in (79, 80, 81):
        yield f"a name of {long}", lambda long=long: len(str(symbol("n" * long)))
    for mask in (0, 1, 0b1011, 0xFF00, 1 << 63, (1 << 64) - 1, 1 << 64, 0xFFFF << 48):
        yield f"runs of {mask:#x}", lambda mask=mask: [word.runs(mask), word.runs(mask, 8)]


def total_of(values: list[Int], does: Any) -> Any:
    out = values[0]
    for one in values[1:]:
        out = does(out, one)
    return out


def total(values: list[Int], does: Any) -> str:
    return repr(total_of(values, does))


LITERALS = (
    "0 00 1 017 08 0b11 0B1 0x1f 0X1F 0xg 0x 1'000 0x1'0 5u 5U 5l 5L 5ul 5lu 5ull 5llu 5z 5uz 5zu 0x5u 0x5ull 017u"
    " 017l 1.5 1e5"
    " 1.f 5f 0x1p3 5x 5ulx 0b2 2147483647 2147483648 4294967295 4294967296 0x7fffffff 0x80000000 0xffffffff"
    " 0x100000000 9223372036854775807 9223372036854775808 0x7fffffffffffffff 0x8000000000000000 18446744073709551615"
    " 18446744073709551616 2147483648u 4294967296u 0x80000000l 037777777777 040000000000 0b1111u 0xfull 0xffl"
).split()
SPELLED = (
    "unsigned", "signed", "short", "long", "long long", "unsigned long long", "unsigned char", "signed char", "char",
    "unsigned short int", "long unsigned int", "const int", "volatile long", "static short", "constexpr int",
    "std::uint32_t", "const uint8_t", "a::b::size_t", "const", "int double", "unsigned int const", "const size_t",
)  # fmt: skip


def of_code_types() -> Iterator[Call]:
    for text in LITERALS:
        yield f"literal {text}", lambda text=text: repr(ctype.literal(text))
    for text in (*SPELLED, *ctype.NAMED):
        yield f"type {text}", lambda text=text: repr(ctype.spelled(text))
    names = (
        "half __half bf16 float tf32 double float2 float4 uint128_t e4m3 e5m2 float_e2m1_t int4b_t half2 char".split()
    )
    for kind in (BOOL, UCHAR, CType("short", 16, True), INT, UINT, LONG, ULONG, PYTHON):
        yield f"{kind.name} {kind.bits}", lambda kind=kind: repr([
            ctype.promoted(kind), kind.mask, *(kind.wrap(n) for n in (-1, 0, 127, 128, 1 << 31, (1 << 63) - 1,
            1 << 63)),
            *(ctype.common(kind, other).name for other in (BOOL, INT, UINT, LONG, ULONG, PYTHON)),
        ])  # fmt: skip
    for names in (ctype.ELEMENT_BITS,):
        for name in names:
            yield f"sizeof {name}", lambda name=name: told(f"use(sizeof({name}), 1 << sizeof({name}[2]));")
    for name in (*known.CONSTANTS, *(f"{scope}::{name}" for scope, name in known.MEMBERS)):
        yield name, lambda name=name: told(f"use({name} << 0, x.{name.split('::')[-1]});")
    for long in (39, 40, 41):
        yield f"a value's name of {long}", lambda long=long: [short(Term("n" * long)), short("s" * (long - 2))]


def told(text: str) -> list[str]:
    """The calls that an evaluation keeps, and what it found."""
    made = evaluate.evaluate(text)
    if made is None:
        return ["nothing"]
    return [
        *(f"{one.term.text} {[str(v) for v in one.term.arguments]}" for one in made.made),
        *(f"{one.name} {one.kind} {one.value}" for one in made.found),
        *(one.message for one in made.warnings), *sorted(made.endless), *sorted(made.widened), *made.taken,
        *(name for name, _ in made.unfinished),
    ]  # fmt: skip


# what is a descriptor -------------------------------------------------------------------------------------------------

NAMES = (
    "desc DESC a_descr matrix_d matrixd matrix_dim matrix_di smem_d smemd smem_d1 smem_da smem_dim gmma umma wgmma"
    " word key"
    " idesc i_desc inst_d_desc instd_desc instr_d_desc instruction_d_desc instr_desc tensor_map_desc tensormap_desc"
    " tma_desc"
    " mbar_desc barrier_desc policy_desc hint_desc smem_idesc gmma_idesc umma_tma wgmma_hint mat_idesc desc_tma"
    " insts_desc"
).split()
BITS = (0, 8, 15, 16, 24, 31, 32, 40, 45, 46, 48, 49, 51, 52, 53, 56, 60, 61, 62, 63)


def found_by(bits: tuple[int, ...], kind: CType, name: str, pieces: tuple[Piece, ...] = ()) -> bool:
    value = Int(sum(1 << bit for bit in bits), kind, pieces, marks=tuple(Mark(bit, (0, 1)) for bit in bits))
    return Finding("", 0).is_descriptor(value, name)


def of_code_descriptors() -> Iterator[Call]:
    for name in NAMES:
        yield name, lambda n=name: [found_by((16, 38), ULONG, n), found_by((0, 16), UINT, n), found_by((62,), ULONG, n)]
    for one in BITS:
        for kind, name in ((ULONG, "desc"), (ULONG, "w"), (UINT, "desc"), (PYTHON, "w"), (UCHAR, "desc")):
            yield (
                f"bit {one} of {name} {kind.bits}",
                lambda one=one, kind=kind, name=name: "".join(
                    str(int(found_by((one, two), kind, name))) for two in BITS
                ),
            )
        yield (
            f"bits {one} and two",
            lambda one=one: "".join(str(int(found_by((one, a, b), ULONG, "w"))) for a, b in product(BITS, BITS)),
        )
    for low, shift, one in product((0, 4, 14, 16, 32, 46, 49, 52, 61, 62), (0, 3, 4, 5), (0, 16, 46, 61)):
        yield (
            f"a piece at {low} of {shift} beside {one}",
            lambda low=low, shift=shift, one=one: [
                found_by((one, low, 38), ULONG, "w", (Piece(low, 14, X, shift),)),
                found_by((one, low), ULONG, "w", (Piece(low, 14, X, shift),)),
            ],
        )
    for const in (0, 1, 3 << 16, 1 << 31, 0xFFFF, 0x4000_0040_0001_0001, (1 << 64) - 1, *(1 << n for n in BITS)):
        for low, pieces in ((0, ()), (5, ()), (16, (Piece(16, 4, X),))):
            yield (
                f"marks of {const:#x} from {low} {len(pieces)}",
                lambda c=const, low=low, pieces=pieces: repr(
                    [Finding("", 0).mark(Int(c, ULONG, pieces, low), span).marks for span in ((3, 4), (0, 0))]
                ),
            )
    yield "most that are kept", most_kept
    for many in (39, 40, 41):
        yield f"{many} warnings", partial(warned, many)
    for long in (59, 60, 61, 62):
        yield f"words of {long}", lambda long=long: Finding("w" * long, 0).words(tree.Other("", span=(0, long)))


def warned(many: int) -> int:
    one = Finding("", 0)
    for n in range(many):
        one.warn("code", "message", (n, n))
    return len(one.warned)


def most_kept() -> list[Any]:
    """How many values are kept; how far back the same value, or the same variable, is looked for."""
    out: list[Any] = []
    for between in (62, 63, 64, 94, 95, 96):
        one = Finding("", 0)
        cell = Cell(Int(1, ULONG), name="desc")
        value = Int(1 << 62 | 1 << 32, ULONG, marks=(Mark(62, (0, 1)), Mark(32, (0, 1))))
        one._keep("first", (0, 1), value, cell, "")
        for n in range(between):
            one._keep("w", (0, 1), Int(n, ULONG), None, "")
        cell.value = Int(9, ULONG)
        one.renote(cell)
        renoted = one.found[0].value.const
        one.found[0].value = value
        one.notice(value, "desc", (5, 6))
        noticed = len(one.found)
        one._keep("first", (2, 3), Int(8, ULONG), cell, "")
        out.append([between, renoted, noticed, len(one.found)])
    one = Finding("", 0)
    for n in range(finding.MOST_FOUND + 1):
        one._keep("w", (0, 1), Int(n, ULONG), None, "")
    return [*out, len(one.found)]


def checks(left: Int, op: str, right: Int) -> list[str]:
    one = Finding("left right", 0)
    at = tree.Binary(op, tree.Other("", span=(0, 4)), tree.Other("", span=(5, 10)), span=(0, 10))
    one.check(op, left, right, at)
    return [f"{w.code} {w.message} {w.span}" for w in one.warned.values()]


def of_code_pitfalls() -> Iterator[Call]:
    types = (BOOL, CType("short", 16, True), INT, UINT, LONG, ULONG, PYTHON)
    for op, kind in product(("<<", ">>", "<<=", "|", "|=", "+", "^", "&", "-"), types):
        yield f"{kind.name} {kind.bits} {op}", lambda op=op, kind=kind: [
            checks(Int(value, kind), op, right)
            for value in (1, -1, 0)
            for right in (
                *(Int(n) for n in (0, 31, 32, 33, 63, 64, 65)), Int(-1), Int(-1, LONG), Int(1, ULONG), free("x", ULONG),
            )
        ]  # fmt: skip
    for kind, name in product(types, ("desc", "desc_lo", "w", "desc_high", "hi_desc", "")):
        yield f"{name} into {kind.name} {kind.bits}", lambda kind=kind, name=name: [
            narrowed(value, kind, name)
            for value in (Int(-1), Int(-1, low=3), Int(5), FIELDS, Int(-1, LONG, low=3), free("x", INT),
                          Int(0, ULONG, marks=(Mark(31, (0, 1)),)), Int(0, ULONG, marks=(Mark(32, (0, 1)),)))
        ]  # fmt: skip
    for width, value in product((2, 3, 14, 16, 31, 32), (-1, 0, 3, 4, 7, 8, 0x3FFF, 0x4000, 0xFFFF, 1 << 31, 1 << 40)):
        yield f"{value} into {width} bits", lambda width=width, value=value: overflown(width, value)
    for cell in (Cell(0), Cell(0, name="d"), Cell(0, evaluate_kind("int", INT), "d"), Cell(0, evaluate_kind("T"), "d")):
        yield f"uninitialised {cell.name} {cell.kind}", lambda cell=cell: uninitialised(cell)


def evaluate_kind(name: str, whole: CType | None = None) -> Any:
    from layouts.reader.code.values import Kind

    return Kind(name, whole, whole.bits if whole else None)


def uninitialised(cell: Cell) -> list[str]:
    one = Finding("", 0)
    return [repr(one.uninitialised(cell, (1, 2))), *(w.message for w in one.warned.values())]


def narrowed(value: Int, kind: CType, name: str) -> list[str]:
    one = Finding("", 0)
    return [repr(one.narrowed(value, kind, (1, 2), name)), *(w.message for w in one.warned.values())]


def overflown(width: int, value: int) -> list[str]:
    one = Finding("", 0)
    one.overflow(Field(0, width, UINT), Int(value, PYTHON), (1, 2))
    return [w.message for w in one.warned.values()]


# doubts ---------------------------------------------------------------------------------------------------------------

AMOUNTS = (None, 0, 1, 15, 16, 17, 32, 64, 112, 127, 128, 129, 256, 512, 1024, 1040)
ALL = ("none", "128B", "64B", "32B", "128B_32B", None)
CODES = {"none": 0, "128B": 1, "64B": 2, "32B": 3}
WORD = "uint64_t desc = (uint64_t)((s & 0x3FFFF) >> 4)\n | 1ull << 16{}\n | 64ull << 32{}\n | 1ull << 62{};\n"
SAID = (
    "SW128", "SW64", "SW_64", "SW 64", "swizzle 64", "swizzle_64", "SWIZZLE_32B", "SWIZZLE64", "swizzle64bytes",
    "64 byte",
    "64-byte", "64 bytes", "64B", "64 B", "64-B", "B64", "B128", "xB64", "SW64x", "xSW64", "SW645", "sw32 and sw64",
    "64",
    "swizzle: 64B", "128B atom of 64B", "no swizzle", "non-swizzled", "no-swizzle", "no_swizzle", "noswizzle",
    "SWIZZLE_NONE", "INTERLEAVE", "INTERLEAVED", "interleaving", "none", "64B swizzled", "32 BYTES", "B64x", "SW_32x",
)  # fmt: skip
STRIDES = (
    "LBO", "xLBO", "lbo", "leading", "per_leading", "leading dim", "SBO", "xSBO", "sbo", "stride byte", "stride_off",
    "stride-dim", "stride dim", "stride", "LBO and SBO", "16 B", "16B", "16 bytes", "16 byte", "1024 B", "1024 bytes",
    "1.16 B", "x16 B", "16 Bx", "999999 B", "1000000 B", "16 B and 8", "1024", "1024 B // 16 B", "17 b",
)  # fmt: skip
PLACES = (
    "{} // {}",
    "{} /* {} */",
    "{} # {}",
    "{} //{}",
    "\n// {1}\n{0}",
    "\n/* {1} */\n{0}",
    "\n# {1}\n{0}",
    "\n x; // {1}\n{0}",
)


def of_code_doubts() -> Iterator[Call]:
    for swizzle, lbo in product(ALL, AMOUNTS):
        yield f"{swizzle} LBO {lbo}", lambda swizzle=swizzle, lbo=lbo: [
            [f"{one.code} {one.message} {one.span}" for one in doubts.doubts(
                "", Int(0), {"lbo": lbo, "sbo": sbo}, swizzle, {"lbo": ((1, 2),), "sbo": ((3, 4),)}, (0, 0), CODES)]
            for sbo in AMOUNTS
        ]  # fmt: skip
    for width, shift, low in product((4, 13, 14, 15, 17, 18, 19), (3, 4, 5), (0, 1)):
        yield f"mask {width} {shift} {low}", lambda width=width, shift=shift, low=low: [
            f"{one.code} {one.message} {one.span}" for one in doubts.doubts(
                "", Int(1 << 62, ULONG, (Piece(low, width, X, shift),)), {}, None, {}, (0, 0), CODES)
        ]  # fmt: skip
    for text in SAID:
        yield f"swizzle {text}", lambda text=text: [doubted("", "", f" // {text}"), doubted("", f" // {text}", "")]
    for text in STRIDES:
        yield f"strides {text}", lambda text=text: [doubted(f" // {text}", "", ""), doubted("", f" // {text}", "")]
    for form in PLACES:
        yield f"place {form}", lambda form=form: [
            doubted("", "", form.format("", "SW64")), doubted("", form.format("", "LBO"), ""),
            doubted(form.format("", "17 B"), "", ""),
        ]  # fmt: skip


def doubted(*comments: str) -> list[str]:
    return [f"{one.message} {one.span}" for b in builders.builders(WORD.format(*comments)) for one in b.doubts]
