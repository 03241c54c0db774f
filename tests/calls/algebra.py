"""What CuTe's operations answer by name: each with every number and kind of arguments, and statements as people
write them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from lanescope.cute import layout as cute
from lanescope.cute.calls import OPS, called, steps
from tests.calls import Call
from tests.held import whole

LAYOUTS = tuple(
    cute.parse(one)
    for one in ("(6,2):(8,2)", "(4,3):(3,1)", "8:1", "4:2", "1:0", "(4,1,2):(1,0,4)", "(8,8):(8,1)", "(4,2):(0,1)",
                "Sw<1,0,2> o (4,4):(4,1)", "2 o 8:1", "((2,2),4):((1,4),8)", "65536:1", "65537:1", "128:2")
)  # fmt: skip
OTHERS: tuple[Any, ...] = (
    None, 0, 1, 2, 4, -1, 24, (), (2,), (4, 2), (2, None), (LAYOUTS[3], None), (None, None), (4, 0), (8, 8), (1, 0),
    (16, 16), (0, 1), ("x",), "x", ((2, 2), 2), (LAYOUTS[12],),
)  # fmt: skip

STATEMENTS = (
    "A = (6,2):(8,2)\nB = (4,3):(3,1)\ncomposition(A, B)", "(6,2):(8,2) o (4,3):(3,1)", "A=(4,8):(8,1); A(2,_)",
    "A=(4,8):(8,1); A(2,1)", "A=(4,8):(8,1); A(_,_)", "A=(4,8):(8,1); A(9)", "A=(4,8):(8,1); A(4,0)", "(4,8)",
    "A=(4,8):(8,1); A()", "A=(4,8):(8,1); A(2)(1)", "A=(4,8):(8,1); slice((2,_), A)", "slice((2,_))", "slice(2, 3)",
    "A=8:1; slice(3, A)", "A=8:1; slice(_, A)", "A=8:1; slice((3,\"x\"), A)", "A=8:1; A(A)", "A=8:1; A((_,A))",
    "const auto A = 8:1; coalesce(A)", "constexpr auto A = 8:1;", "Layout A = 8:1", "auto A = cute::coalesce(8:1);",
    "A == 8:1", "size = 8:1", "A = 8", "A = 8; A", "8", "x", "", " ;; \n", "// nothing", "8:1 // one",
    "8:1 # one",
    "foo(8:1)", "compositio(8:1, 4:1)", "zzzzzzzzzz(8:1)", "make_layout((4,8))", "make_foo(4)", "inverse(8:1)",
    "compose(8:1, 4:1)", "divide(8:1, 4:1)", "upcast<2>(8:1)", "downcast<2>(8:1)", "cute.upcast<2>(8:1)", "upcast(8:1)",
    "upcast<0>(8:1)", "upcast<2>", "coalesce", "composition(Swizzle<1,0,2>{}, (4,4):(4,1))",
    "composition(cute::Swizzle<1,0,2>{}, _0{}, (4,4):(4,1))", "composition(Sw<1,0,2>, 8:1)",
    "composition(make_swizzle(1,0,2), 0, 8:1)", "cute.composition(cute.make_swizzle(1,0,2), 0, 8:1)",
    "Swizzle<1,0,2>{} o (4,4):(4,1)", "Sw<1,0,2> o 4 o (4,4):(4,1)", "A = Sw<1,0,2> o (4,4):(4,1); A(3,1)",
    "A = Sw<1,0,2> o (4,4):(4,1); A(3,_)", "A = Sw<1,0,2> o (4,4):(4,1); A(5)", "A = 2 o (4,4):(4,1); A(_,1)",
    "A = ((2,2),4):((1,4),8); A((1,_),2)", "A = ((2,2),4):((1,4),8); A((1,1),2)", "A = ((2,2),4):((1,4),8); A(3,2)",
    "A = ((2,2),4):((1,4),8); A((1,1,1),2)", "A = 8:1; B = coalesce(A); B", "A = 8:1\ncoalesce(\nA\n)\n", "8:1)\n4:1",
    "zipped_divide((8,8):(8,1), (4,_))", "zipped_divide((8,8):(8,1), Tile<_4,_4>{})", "logical_divide(8:1, 3:1)",
    "logical_divide(12:1, 5:1); coalesce(8:1)", "A = logical_divide(8:1, 3:1)", "composition((6,2):(8,2), 5:3)",
    "65536:1", "65537:1", "A = 65537:1", "(0,4):(1,1)", "A = (4,8); A", "A = (4,8); coalesce(A)", "A = size(8:1); A",
    "A = 8:1; A<2>", "A = 8:1; A{}", "size(8:1) 4", "Layout<_8,_2>(3)", "Layout<Shape<_4,_8>>{}(3)", "Int<4>(3)",
    "coalesce((4,2):(1,4), (1,_))", "coalesce((4,2):(1,4), 4)", "complement(4:2, 24)", "complement(4:2, (4,6))",
    "complement(4:2)", "tile_to_shape((8,8):(8,1), (16,32), (1,0))", "tile_to_shape((8,8):(8,1), (16,32))",
    "rank(8:1); depth((8,8):(8,1)); cosize(4:2); shape(4:2); stride((4,2):(2,1))", "with_shape(8:1, (2,4))",
    "max_common_vector(8:1, 4:1)", "max_common_layout((4,2):(1,4), 8:1)", "coalesce(coalesce((4,2):(1,4)))", "_",
    "None", "A = [4,8]; coalesce(A)", "coalesce([4,8])", "{4,8}", "ss(8:1)", "size(size(8:1))", "Sw(8:1)",
    "S<1,0,2>(8:1)",
    ";".join(["coalesce(8:1)"] * 63), ";".join(["coalesce(8:1)"] * 64), ";".join(["coalesce(8:1)"] * 65),
    "8:1" + " " * 4093, "8:1" + " " * 4094, "8:1" + " " * 4095,
)  # fmt: skip


def of_called() -> Iterator[Call]:
    first = (*LAYOUTS, None, 0, 8, (4, 2), (), (4, None), (8, 0), "x")
    second = [one for one in LAYOUTS if one.size < 1 << 16]
    for op in OPS:
        yield f"{op} of one and of four", partial(each, op, [one for a in first for one in ((a,), (a, 2, 2, 2))])
        for a in ("(6,2):(8,2)", "8:1", "(4,1,2):(1,0,4)", "(8,8):(8,1)", "Sw<1,0,2> o (4,4):(4,1)"):
            yield f"{op} {a} and others", partial(each, op, [(cute.parse(a), b) for b in (*second, *OTHERS)])
        yield f"{op} of none and of three", partial(each, op, [(), *((LAYOUTS[6], b, (1, 0)) for b in OTHERS)])


def each(op: str, arguments: list[tuple[Any, ...]]) -> str:
    return "\n".join(whole(called(op, given), False) for given in arguments)


def of_algebra() -> Iterator[Call]:
    for text in STATEMENTS:
        yield f"{text[:70]} {len(text)}", partial(steps, text)
