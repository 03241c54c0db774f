"""What the engine's modules of numbers and texts answer."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from lanescope import find
from lanescope.cute import copy_atom as copyatom
from lanescope.cute import layout as cute
from lanescope.cute import text as cutetext
from lanescope.cxx.expression import DEEPEST, LONGEST, evaluate
from lanescope.ptx import catalog, codec, compressed
from lanescope.ptx.dtypes import DTYPES, REGISTERS, SPELLED, DType, Float, Names, dtype
from lanescope.ptx.instruction import Place
from lanescope.ptx.table.compressed import ORDERS
from tests.asked import F16
from tests.calls import Call, parts
from tests.held import attempt, said, whole
from tests.test_expression import random_expression

# numbers --------------------------------------------------------------------------------------------------------------


def of_codec() -> Iterator[Call]:
    edge = np.array([0.0, -0.0, 1, -1, 0.3, 1e-9, 1e-45, 65504, 65520, 448, 464, 480, 57344, 61440, 6, 7, 28, 30, 7.5,
    8,
                     1e30, -1e30, 3.4e38, 1e39, 1e300, math.inf, -math.inf, math.nan, 2.0**-127, 2.0**-126, 2.0**127,
                     2.0**-149, 5e-324, 0.0625, 0.03, 2.0**-9, 2.0**-10, 1.0625, 1.1875, 17, 19])  # fmt: skip
    for name, row in DTYPES.items():
        whole_codes = np.arange(1 << row.bits, dtype=np.uint64) if row.bits <= 8 else np.arange(
            0, 1 << 64, (1 << 64) // 4099 | 1, dtype=np.uint64) >> np.uint64(64 - row.bits)  # fmt: skip
        tops = [(1 << n) - 1 & (1 << row.bits) - 1 for n in range(row.bits + 1)]
        codes = np.concatenate([whole_codes, np.array(tops, np.uint64), np.array([t << 1 & (1 << row.bits) - 1
                                for t in tops], np.uint64)])  # fmt: skip
        some = edge if row.format else np.arange(-4.0, 5.0)
        yield f"numbers of {name}", lambda name=name, row=row, codes=codes, some=some: [
            codec.legal_values(name), codec.bounds(name), quiet(codec.decode, codes, name), codec.encode(some, name),
            codec.encode(some, name).tolist(), quiet(codec.nearest, some[np.abs(some) < 5], name),
            codec.readable(codes, name), codec.keys(codes, row), quiet(codec.numbers, codes, row),
            codec.readable_memory(np.arange(255, 200, -1, dtype=np.uint8), name),
            attempt(lambda: codec.scale_codes(name)) if row.format else "",
        ]  # fmt: skip
        yield f"row of {name}", lambda row=row: [
            *parts(row), *(parts(row.format) if row.format else []), *parts(row.names),
            [row.padding_below(n) for n in (4, 8, 16)],
        ]  # fmt: skip
    yield "a plain float", lambda: [parts(Float(4, 3)), parts(DType("x", 8, "int")), parts(Names())]
    yield "no type", lambda: dtype("f17")
    yield "what code calls them", lambda: [f"{name} {dtype(known).cpp or known}" for name, known in SPELLED.items()]
    yield "registers", lambda: [f'{name} as {one.cpp} in "{one.letter}"' for name, one in REGISTERS.items()]


def quiet(ask: Callable[..., Any], *given: Any) -> Any:
    with np.errstate(all="ignore"):
        return ask(*given)


def of_compressed() -> Iterator[Call]:
    for order in ORDERS:
        for element in order.types:
            for tile in (0, 1, 32, 64, 128, 1 << 15):
                yield f"{order.opcode} {element} {tile}", lambda o=order.opcode, e=element, t=tile: metadata(o, e, t)
    for given in (("x", "f16", 128, 64), ("mma.sp", "x", 128, 64), ("mma.sp", "f16", 8, 32), ("mma.sp", "f16", 16, 33),
                  ("mma.sp", "f16", 1 << 15, 64), ("mma.sp", "f16", 1 << 14, 32), ("mma.sp", "f16", 0, 0)):  # fmt: skip
        yield f"written {given}", lambda given=given: compressed.written(*given).bytes


def metadata(opcode: str, element: str, tile: int) -> list[Any]:
    down, across = compressed.least(opcode, element, tile)
    one = compressed.written(opcode, element, 2 * down, 3 * across, tile)
    rows, groups = one.coords
    at = [(0, 0), (2 * down - 1, one.groups - 1), (down, 1), (1, one.groups // 2), (2 * down, 0), (0, one.groups),
          (-1, 0)]  # fmt: skip
    indices = (np.arange(one.rows * one.groups) * 7 % 16).reshape(one.rows, one.groups)
    return [down, across, *parts(one), rows, groups, one.words(indices),
            *(attempt(lambda place=place: one.where(*place)) for place in at)]  # fmt: skip


def of_copyatom() -> Iterator[Call]:
    for name, wide, element in product(
        ("universal", "cp.async"), (None, 8, 16, 24, 32, 64, 128, 256), (1, 8, 16, 32, 128)
    ):
        yield f"{name} {wide} of {element}", lambda n=name, w=wide, e=element: [
            (one := copyatom.plain_atom(n, w, e)), one.values(e), str(one.source), str(one.reference)
        ]  # fmt: skip
    for i in (i for i in catalog.instructions() if i.family.memory is Place.ROWS):
        for wide in (None, 64, 128):
            yield f"{i.ptx} {wide}", lambda i=i, wide=wide: [
                (one := copyatom.matrix_atom(i, wide)).name, str(one.source), str(one.destination), one.loads,
                str(one.reference), one.bits, one.values(16),
            ]  # fmt: skip
        if not i.family.unpacks:
            yield f"printed {i.ptx}", lambda i=i: printed(copyatom.matrix_atom(i, None))
    yield "of mma", lambda: copyatom.matrix_atom(find(F16), None)
    for one, other in (("(1,8):(0,1)", "(1,8):(0,1)"), ("8:1", "(1,8):(0,1)"), ("(64,128):(1,64)", "(1,8):(0,1)"),
                       ("(32,4):(4,1)", "(32,4):(4,1)")):  # fmt: skip
        yield (
            f"printed {one} {other}",
            lambda one=one, other=other: copyatom.printed_atoms(cute.parse(one), cute.parse(other), 16),
        )


def printed(made: copyatom.CopyAtom) -> list[Any]:
    from lanescope.cute import algebra

    return [
        copyatom.printed_atoms(algebra.upcast(made.source, n), algebra.upcast(made.destination, n), n)
        for n in (8, 16, 32)
    ]  # fmt: skip


# layouts as text ------------------------------------------------------------------------------------------------------

LONG = (  # layouts that a message cuts
    "smem_ptr[8b] o 3 o ((8,8),(8,8),(8,8),(8,8),(8,8)):((1,8),(64,512),(4096,8),(1,2),(3,4))",
    "3 o smem_ptr[8b] o ((8,8),(8,8),(8,8),(8,8),(8,8)):((1,8),(64,512),(4096,8),(1,2),(3,4))",
    "smem_ptr[9b] o ((8,8),(8,8),(8,8),(8,8),(8,8)):((1,8),(64,512),(4096,8),(1,2),(3,4))",
    "((8,8),(8,8),(8,8),(8,8),(8,8),(8,8),(8,8),(8,8)):((1,8),(64,512),(4096,8),(1,2),(3,4)",
)
PRINTED = (
    "(8,64):(64,1)", "Sw<3,4,3> o smem_ptr[16b](unset) o ((_8,_8),_64):((_64,_512),_1)", "S<3,4,3> o 0 o (8,64):(64,1)",
    "Swizzle < 2 , 3 , -3 > o 5 o 8:2", "smem_ptr[8b](0xff) o 8:1", "smem_ptr 32b o 4:1",
    "Sw<3,4,3>_smem_ptr[16b](unset) o 8:1",
    "_5 o 4:1", "8:0", "_8:_1", "((2,2),(2,2)):((1,4),(2,8))", "smem_ptr[3b] o 8:1", "smem_ptr[128b] o 8:1",
    "3 o smem_ptr[8b] o 8:1",
    "2147483647 o 8:1", "2147483648 o 8:1", "8:2147483647", "8:2147483648", "Sw<4,4,3> o 8:1", "Sw<3,26,3> o 8:1",
    "Sw<3,27,3> o 8:1", "(" * 31 + "8" + ")" * 31 + ":" + "(" * 31 + "1" + ")" * 31, "(" * 32 + "8" + ")" * 32 + ":1",
    "(8,8):1", "0:1", "(8,0):(1,8)", "8 8:1", "8:1 1", "(8,8:(1,1)", "(8,8)):(1,1)", "(8,,8):(1,1)", "8:", ":8",
    "8,8:1,1", "",
    " ", "(8,8):(8,1) x", "Sw<3,4>o 8:1", "Sw<-3,4,3> o 8:1", "smem_ptr[16b](unset) o 0 o 8:1", "8:1:1", "a:1",
    "8:_ 1", "(8)(8):1",
)  # fmt: skip
PASTED = (
    "(4,8)", "(4,8):(8,1)", "Layout<Shape<_4,_8>,Stride<_8,_1>>{}", "Layout<Shape<_4,_8>>",
    "make_layout(make_shape(4, 8), LayoutRight{})",
    "make_layout(make_shape(4, 8), LayoutLeft{})", "make_layout((4,8), GenRowMajor{})",
    "make_layout((4,8), GenColMajor{})",
    "cute.make_layout((4, 8), stride=(8, 1))", "Layout((4, 8), (8, 1))", "make_layout(shape=(4,8), stride=(8,1))",
    "make_layout(8)",
    "Tile<_32,Layout<Shape<_4,_2>,Stride<_1,_32>>,_>", "(32:1,_,(4,2):(1,8))", "[32, None]", "[32, X, Underscore]",
    "Sw<3,4,3> o 0 o (8,64):(64,1)", "Sw<0,4,3> o 8:1", "ComposedLayout<Swizzle<3,4,3>,_0,Layout<Shape<_8,_8>>>",
    "composition(Swizzle<3,4,3>{}, 8:1)",
    "make_composed_layout(inner=make_swizzle(3,4,3), offset=0, outer=make_layout((8,8)))",
    "make_composed_layout(make_swizzle(3,4,3), 4, 8:1)",
    "make_swizzle(3,4,3)", "make_swizzle(3,4)", "Int<8>{}", "Int<8>{}()", "C<2*4>", "constant<int,4>",
    "integral_constant<int, 7>", "Constant(5)",
    "cute::Int<4>{} * cute::Int<2>{}", "_1'024", "1'000'000", "make_ordered_layout((4,8),(1,0))",
    "make_ordered_layout(shape=(4,8),order=(1,0))",
    "make_ordered_layout((4,8),1)", "make_ordered_layout((4,8))", "make_layout(4:1, 8:4)", "make_layout(8:1)",
    "composition((8,8):(8,1), 4:2)",
    "smem_ptr[16b](unset) o 8:1", "Sw<3,4,3> o smem_ptr[16b](0x10) o 8:1", "smem_ptr[16b]", "5 o 8:1",
    "Sw<3,4,3> o Sw<3,4,3> o 8:1", "5 o 5 o 8:1",
    "(1,2) o 8:1", "8:1 ∘ 8:1", "Sw<3,4,3> ∘ 8:1", "8:1;;", "8:1 x", "x", "x<4>", "f(4)", "Int<x>", "Int<4,5>",
    "Int()", "(4,8):(8)", "(4,0):(1,1)", "4:_",
    "(4,(8,2)):(1,(4,32))", "(4,(8,2)):((1,4),32)", "make_stride(8,1)", "make_coord(1,_)", "Step<_1,_2>",
    "make_tile(4,_)", "tuple(4,5)", "Tuple<_4>",
    "Coord<_1,_>", "Shape<>", "()", "(4,)", "(4", "4)", "(4 5)", "<4>", "{4}", "4 * 4", "4 * (4,4)", "(4,4) * 4",
    "8:1 * 2", "4 *", "", "  ", ";", "None",
    "True", "(True,4)", "2147483647", "2147483648", "99999999999", "_99999999999", "(" * 63 + "4" + ")" * 63,
    "(" * 64 + "4" + ")" * 64,
    "4" + ":1" * 3, "a=4", "(a=4)", "make_layout((4,8), order=(1,0))", "Layout<_8,_2>", "Layout<Layout<_8,_2>>",
    "x" * 5000, "@", "_ : 4",
    "smem_ptr[8b] o smem_ptr[8b] o 8:1", "LayoutRight", "Sw<3,4,3>", "Sw<3,x,3>", "Sw<_3,_4,_3> o 8:1",
    "S<1,0,1> o 4:1", "std::tuple<int>",
)  # fmt: skip


def of_cute() -> Iterator[Call]:
    for text in (*PRINTED, *LONG):
        yield f"printed {text[:70]}", lambda text=text: (one := cute.parse(text)) and [
            str(one), one.size, one.rank, one.cosize, [str(m) for m in one.modes], one.indices()[:64].tolist(), one(0),
            one(one.size - 1), whole(cute.parse_cute(f"{cute.spelled(one.shape)}:{cute.spelled(one.stride)}")),
            one.unit_bits,
        ]  # fmt: skip
    for given in (
        "3,4,3",
        "Sw<3,4,3>",
        " Swizzle< 2,3,-3 > ",
        "3,4",
        "none",
        "",
        5,
        None,
        "4,4,3",
        "3,3,3>",
        "1,0,1" + " " * 5000,
    ):
        yield f"swizzle {str(given)[:40]}", partial(cute.read_swizzle, given)
    for text in ("", "8", "8:1" + " " * 5000, "8:1" + " " * 4093, "8:1" + " " * 4094):
        yield f"plain {text[:9]} {len(text)}", lambda text=text: [
            attempt(lambda: cute.parse_cute(text, "f")), attempt(lambda: cute.parse_cute(text, "f", "whole text")),
            attempt(lambda: cute.parse(text, "f")),
        ]  # fmt: skip
    yield "one mode's index", lambda: [cute.index(n, [(2, 5), (3, 7), (2, 100)]) for n in range(30)]
    yield (
        "coordinates",
        lambda: [(one := cute.parse("Sw<2,0,3> o 4 o ((2,4),8):((1,16),2)"))(1, 2), one((1, 3), 7), one(9)],
    )


def of_cutetext() -> Iterator[Call]:
    for text in PASTED:
        yield f"pasted {text[:70]}", lambda text=text: [
            attempt(lambda read=read: shown(read(text, "f"))) for read in (cutetext.read, cutetext.read_layout,
            cutetext.read_tiler, cutetext.read_coordinate)
        ]  # fmt: skip
    for text in PRINTED[:12]:
        one = cute.parse(text) if "3b" not in text else cute.parse("8:1")
        yield f"written {text}", lambda one=one: [cutetext.cxx(one), cutetext.python(one), cutetext.static(one)]
    sizes = [*range(26), 31, 32, 33, 248, 256, 264, 384, 512, 513, 640, 768, 1000, 1024, 2048, 524288, 1 << 20]
    yield "numbers with names", lambda: [cutetext.cxx_tiler(n) for n in sizes]
    yield "tilers", lambda: [
        cutetext.cxx_tiler(cutetext.read_tiler(t)) for t in ("(32,_,(4,2):(1,8))", "_", "(513,(1,2))",
        "Sw<1,0,1> o 4:1")
        if not t.startswith("Sw")
    ]  # fmt: skip
    yield "a mode of one", lambda: cutetext.python(cute.CuteLayout((4,), (1,)))


def shown(value: Any) -> str:
    return str(value) if isinstance(value, cute.CuteLayout) else said(value)


# constant expressions -------------------------------------------------------------------------------------------------

EXPRESSIONS = (
    "(uint64_t)(1 << 40)", "(long)(1 << 40) + 1", "(1 << 40) + -7 / 2", "(1 << 40) + -7 % 4", "(1 << 40) + 7 / 2",
    "(1 << 40) + (-1 >> 1)", "(1 << 40) + (0 >> 1)", "(1 << 40) + (8 >> 1)", "(1 << 40) + (1 << 40) / 2",
    "1 << 31 << 1", "(short)-1", "(unsigned char)300", "-7 / 2", "-7 % 2", "7 / -2", "-1 >> 1", "-1 >> 40", "1 >> 32",
    "-8 >> 31",
    "0xFFFFFFFF >> 31 << 1", "1u << 31", "1 << 30", "1 << 31", "1 << 32", "3 << 31", "0 << 40", "1ull << 63",
    "-1 << 3", "1 << 63", "1 << 64",
    "2147483647 + 1", "2147483648 + 1", "4294967295u + 1", "0u - 1", "65535 * 65537", "-2147483647 - 2",
    "0xFFFFFFFFFFFFFFFF + 1",
    "5 > 3 == 1", "-1 < 0u", "-1 < 0ull", "1 <= 1", "2 >= 3", "1 != 1", "!5", "!0", "~0ull", "+5", "- -5",
    "true + true", "false", "1 && 0", "0 || 2",
    "1 ? 2 : 3ull", "0 ? 1 << 62 : 1", "1 ? 1 << 62 : 1", "1 && (1 << 40)", "0 && (1 << 40)", "1 || (1 << 40)",
    "0 && 1 / 0", "0 ? 1 % 0 : 4",
    "0 ? 1 << 99 : 4", "1 << 99", "5 / 0", "sizeof(int)", "sizeof(bool)", "sizeof(half_t)", "sizeof(cutlass::half_t)",
    "sizeof(float)",
    "sizeof(unsigned long)", "sizeof(x)", "sizeof 4", "sizeof(__nv_bfloat16)", "sizeof(nv_bfloat16)", "sizeof(half",
    "uint32_t(5)", "int{7}",
    "uint8_t(257)", "static_cast<int>(5ull)", "static_cast<const uint16_t>(70000)", "static_cast<>(1)",
    "static_cast 1", "(const int)5",
    "(unsigned long long int)5", "(long long long)5", "(long short)5", "(signed unsigned)5", "(char int)5",
    "(short int)70000", "(unsigned)-1",
    "(signed char)200", "(bool)2", "(bool int)1", "(std::uint64_t)1 << 40", "(::size_t)1 << 40", "(ulong)1 << 40",
    "(uint)1 << 40", "(ushort)70000",
    "(uchar)257", "(uintptr_t)1 << 40", "(intptr_t)-1", "(ptrdiff_t)-1", "(volatile int)1", "(int int)1",
    "(uint64_t)(int)-1", "(int)(5)", "int (5)",
    "1'0", "1_0", "0b1'1", "0x1'f", "017", "08", "0", "00", "1u", "1U", "1l", "1LL", "1ull", "1llu", "1uL", "1z",
    "1zu", "1uu", "1f", "0x", "0b2",
    "4294967295", "4294967296", "0xFFFFFFFF", "0x80000000", "0x7FFFFFFF", "037777777777", "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615", "18446744073709551616", "0" * 69 + "1", "0" * 70 + "1", "0" * 71 + "1", "int x = 5",
    "uint8_t x = 300;", "const auto d = 5u - 6u;",
    "static constexpr __device__ uint32_t d = 1ull << 32;", "x = 5", "5 = x", "= 5", "float x = 5", "int 5 = 5",
    "constexpr x = 1 << 62;", "1;;", "1; 2", "1 2",
    "(", ")", "()", "(1", "1)", "1 +", "+", "* 1", "1 ** 2", "x", "x + 1", "foo::bar", "1.5", "'a'", "\"a\"", "1 @ 2",
    "a[1]", "1, 2", "{1}", "1 /* c */ + 2 // d",
    "1 // x\n+ 1", "++1", "--1", "1 <<= 2", "1 ? 2", "1 ? : 2", "1 ? 2 : 3 ? 4 : 5", "true ? false : true",
    "static_cast<uint64_t>(1) << 62 | 1", "(int", "(int)",
    "8 | 4 ^ 6 & 3", "1 + 2 * 3 - 4 / 2 % 3", "1 << 2 + 1", "1 < 2 == 2 > 1", "7 & 3 == 3", "INT_MAX",
    "sizeof(uint16_t) * 8 << 1", "(1 << 31) + 0u", "1 << 31 | 1ull",
)  # fmt: skip


def of_expression() -> Iterator[Call]:
    dice = random.Random(34)
    texts = [random_expression(dice, dice.randrange(1, 4)) for _ in range(250)]
    for text in (*EXPRESSIONS, *texts, "(" * (DEEPEST + 1) + "1", "1" * (LONGEST + 1), "1 " + " " * (LONGEST - 2)):
        yield f"{text[:60]}", lambda text=text: (one := evaluate(text, "f")) and [
            hex(one.word), one.type, *(f"{n.code} {n.text}" for n in one.warnings)
        ]  # fmt: skip
