"""Generated code and the tables that people read, held word for word: comments, names, messages and order, which
running the code does not show.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Iterator
from itertools import groupby, islice
from typing import Any

import numpy as np
import pytest

from lanescope import find
from lanescope.app.hardware import boxes, kernels, tensor, tensor_probes, verify
from lanescope.app.layouts.triton import PRESETS
from lanescope.blackwell import idesc, tmem
from lanescope.blackwell.epilogue import Epilogue
from lanescope.blackwell.tmem import Mma
from lanescope.cute import layout as cute
from lanescope.cute.text import read_layout
from lanescope.cxx import formula
from lanescope.descriptor.matrix import view
from lanescope.errors import LayoutError
from lanescope.product.planning import plan
from lanescope.ptx import catalog, codec, differences, overview, qualifiers, wmma
from lanescope.ptx.dtypes import dtype
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.pattern import Pattern
from lanescope.ptx.table import atoms
from lanescope.reading import number, pair, ranges
from lanescope.render import cuda, epilogue, kernel, ptx, python, wmma_cpp
from lanescope.render import scaling as render_scaling
from lanescope.render import tmem as render_tmem
from lanescope.shared import banks
from lanescope.shared.banks import ACCESSES
from lanescope.tiles import code as tile_code
from lanescope.tiles import umma_code
from lanescope.tiles.mma import tiled_mma
from lanescope.tiles.umma import tiled_umma
from lanescope.triton.gluon import triton_layout
from tests.held import elided, held, held_sum, said
from tests.test_epilogue import CASES as EPILOGUES
from tests.test_kernel import CASES


def test_programs() -> None:
    """The whole programs of test_kernel.py, each without the lines of those before it."""
    seen: set[str] = set()
    lines: list[str] = []
    for case in CASES:
        made = plan(find(case[0]), *case[1:])
        lines += [
            " ; ".join(case),
            f"  {kernel.build(made)} | {kernel.command(made)}",
            *elided(kernel.program(made), seen),
            *elided(kernel.script(made), seen),
        ]
    held("code/programs", "\n".join(lines) + "\n")


def some() -> Iterator[Instruction]:
    """The first and the last instruction of every row."""
    for family in catalog.families():
        every = list(family.instructions())
        yield from {i.ptx: i for i in (every[0], every[-1])}.values()


def attempted(make: object, *given: object) -> str:
    try:
        return str(make(*given))  # type: ignore[operator]
    except LayoutError as error:
        return f"refused {error.code} {error.field}: {error.message} | {error.hint}"


def test_snippets() -> None:
    """Syntax, wrapper, loads, stores, NumPy, atom and wmma's C++ of the first and the last instruction of every row."""
    seen: set[str] = set()
    lines: list[str] = []
    for i in some():
        lines.append(i.ptx)
        for form in ("registers", "shared"):
            lines += elided(attempted(ptx.syntax, i, form) + "\n" + attempted(cuda.wrapper, i, form), seen)
        lines += elided(attempted(cuda.program, i) + "\n" + attempted(atoms.atom, i), seen)
        for op in i.operands.values():
            lines += elided(attempted(python.snippet, op), seen)
        if i.ptx.startswith("wmma.mma") and wmma_cpp.available(i):
            lines += elided(repr(wmma_cpp.kernel(i)).replace("\\n", "\n"), seen)
    held("code/snippets", "\n".join(lines) + "\n")


OPTIONS = (
    "major swizzle order mn k first base kind pitch_bytes swizzle_by width_bytes outer8_stride inner_stride line_stride"
    " layout unit from load selector byte_id thread_id ldm scale".split()
)
VALUES = ("", "zz", "-1", "0", "7", "33", "4096", "99999999999", "1, 2")


def test_refusals_of_a_program() -> None:
    """Every option of either side and of D, with values that are none, for a program of each kind."""
    lines: list[str] = []
    for text in (
        "wgmma.mma_async.m64n32k16.f32.f16.f16",
        "mma.m16n8k16.row.col.f32.f16.f16.f32",
        "wmma.mma.row.col.m16n16k16.f32.f32",
        "mma.sp::ordered_metadata.m16n8k32.row.col.f32.f16.f16.f32",
    ):
        lines.append(text)
        for name in OPTIONS:
            for side in range(3):
                for value in VALUES:
                    given = ["", "", ""]
                    given[side] = f"{name}={value}"
                    try:
                        plan(find(text), *given)
                    except LayoutError as error:
                        told = f"    {error.code} {error.field}: {error.message} | {error.hint}"
                        if told not in lines[-6:]:
                            lines += [f"  {'abd'[side]} {given[side]}", told]
    held("code/refusals", "\n".join(lines) + "\n")


def test_tables() -> None:
    """What the tables say of themselves: differences of the documents, overview, qualifiers, banks' patterns."""
    lines = ["differences"]
    for row in differences.rows():
        lines += [f"  {name}: {value!r:.400}" for name, value in dataclasses.asdict(row).items() if value]
        lines.append(f"  {row.document}")
    lines.append("overview")
    lines += [
        f"  {[getattr(row, part.name) for part in dataclasses.fields(row) if part.name != 'found']}"
        for row in overview.rows()
    ]
    lines.append("banks")
    lines += [
        f"  {name}: {reach.text} {[part.tolist() for part in reach.place(np.arange(32), 16)]}"
        for name, reach in banks.REACHES.items()
    ]
    lines += [f"  {access.name}: {access.bytes} {access.phases} {access.stores}" for access in banks.ACCESSES.values()]
    held("code/tables", "\n".join(lines) + "\n")


def test_numbers_of_every_type() -> None:
    """Bounds, exact whole numbers, and the nearest value a type holds to a few others."""
    lines: list[str] = []
    for name in codec_types():
        low, high = codec.bounds(name)
        some = np.clip(np.array([0.0, 1.0, -1.0, 0.3, 1 / 3, -2.7, 5.4, 100.1, 1e-3, 0.06]), low, high)
        lines += [f"{name} {low!r} {high!r} {codec.legal_values(name)} {codec.nearest(some, name).tolist()}"]
    held("code/values", "\n".join(lines) + "\n")


def codec_types() -> list[str]:
    return sorted({op.element.name for i in catalog.instructions() for op in i.operands.values()})


def test_wmma_rules() -> None:
    """What is said of pointers and strides, right and wrong."""
    seen: set[str] = set()
    lines: list[str] = []
    for i in catalog.instructions():
        if i.ptx.startswith("wmma.") and len(i.operands) == 1:
            (op,) = i.operands.values()
            layout = i.syntax.layouts[0] if i.syntax.layouts else "row"
            told = [
                f"{wmma.use(op)} {wmma.fragment_bytes(op)} {wmma.default_stride(op, layout)}",
                str(wmma.requirements(op)),
                str(wmma.both(op)),
            ]
            told += [
                f"{p} {ldm} {rule}" for p, ldm in ((0, 16), (8, 12), (16, 1)) for rule in wmma.check(op, p, ldm, layout)
            ]
            lines += [i.ptx, *elided("\n".join(told), seen)]
    held("code/wmma", "\n".join(lines) + "\n")


def test_modifiers() -> None:
    """What each part of an instruction's text means."""
    seen: set[str] = set()
    lines: list[str] = []
    for i in some():
        lines += [
            i.ptx,
            *elided("\n".join(f"{part}" for part in qualifiers.parts(i)) + f"\n{qualifiers.convergence(i)}", seen),
        ]
    held("code/modifiers", "\n".join(lines) + "\n")


VIEWED = (
    "wgmma.mma_async.m64n32k16.f32.f16.f16", "wgmma.mma_async.m64n8k32.s32.s8.u8",
    "wgmma.mma_async.sp.m64n8k32.f32.f16.f16", "mma.m16n8k16.row.col.f32.f16.f16.f32",
)  # fmt: skip
TEXTS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "addresses": (banks.parse,
    ("", "0 16,0x20 - null", "1;2", "0, x", "-1", "0b101, 0o7", "1" * 4096, "1" * 4097, " , ,")),
    "cute": (
        cute.parse,
        ("", "8", "8:1", "(8,2):(1,8)", "(8,2):(1)", "(8,(2,4)):(1,(8,16))", "(0,2):(1,2)", "(8,2):(1,x)",
        "Sw<3,4,3> o (8,8):(8,1)", "Sw<3,4> o 8:1", "Sw<3,4,2> o 8:1", "Sw<3,28,3> o 8:1", "Sw<1,0,-1> o (2,2):(1,2)",
         "Sw<3,4,3> (8,8):(8,1)", "smem_ptr[16b](unset) o (8,8):(8,1)",
         "Sw<3,4,3> o smem_ptr[16b](unset) o (8,8):(8,1)", "((8,8:(1,8)", "_8:_1", "(_8,_2):(_1,_8)", "8:-1",
         "2147483648:1", "(1,1):" + "(1," * 40 + "1" + ")" * 40, "1" * 4096, "1" * 4097),
    ),
    "patterns": (
        lambda text: Pattern.parse(text, k=16, v=2),
        ("(t:32) (i:2) -> (t) (i)", "(t:32) (i:k/v) -> (t) (i)", "(t:k*2) (i:2) -> (t) (i)",
        "(t:32 t:2) (i:2) -> (t) (i)", "(t:32) (i:2)", "(t:32) (i:2) -> (x)", "(t:32) (i:0) -> (t)",
        "(t:4194304) (i:2) -> (t) (i)", "(t:32) (i:k/3) -> (i)", "(t:32) (i:2) -> (t i i)", "(T:32) (i:2) -> (T) (i)",
        " " * 4097),
    ),
    "formulas": (
        lambda text: formula.evaluate(text, {"i": np.arange(3), "j": np.arange(3)})[0].tolist(),
        ("", "i +", "(i", "i j", "k", "i ? 1", "abs i", "abs(i, j)", "min(i)", "i $ 2", "~2.5", "2.5 & 1", "1 << 53",
        "1 / i", "9007199254740992", "* 2", "1e400", "-" * 33 + "i", "(" * 33 + "i" + ")" * 33, "i" * 501, "0x", "1..2",
        "i = 2", "max(i, )", "i ? : 1", ") i"),
    ),
    "numbers": (lambda text: number(text, "mn", 1, 512),
    ("", "0", "1", "512", "513", "0x10", "0b11", "1_000", "1'0", "007", "1e2", "1.0", "-0", "+3", " 5 ", "5u", "5ull",
    "5lux", "٣", "1" * 128, "1" * 129)),
    "pairs": (lambda text: pair(text, "at", (15, None)), ("", "1,2", "16,0", "1", "1,2,3", "a,b", "-1,0", "15,99999")),
    "ranges": (lambda text: ranges(text, "lanes", 32),
    ("", "0", "0-7", "0-7,12", "7-0", "31", "32", "0-32", "-", "1-", "0,0-3,2", "a", "0 - 7", "1,,2", "0-31", "," * 400,
    "0," * 200)),
    "views": (
        lambda text: view(find(text.split()[0]), *text.split()[1:]),
        tuple(f"{ptx} {operand} {major}" for ptx in VIEWED for operand in "abd" for major in ("K", "MN", "N")),
    ),
    "layouts": (read_layout, (
        '(4,8):(8',
        '(4,8):(8,1) x',
        '(4,,8):(8,1)',
        'make_layout(make_shape(4,8)',
        'make_layout()',
        'Foo(4)',
        'Int()',
        '(0,8):(8,1)',
        '4:x',
        '((((((((((((((((((((4)))))))))))))))))))):1',
        '4*x:1',
        '99999999999:1',
        'make_layout((4,8),(1,2,3))',
        'make_ordered_layout((4,8),((0,1),(1,2)))',
        'Layout((4,8),(1,2))',
        '(4,8):(8,1) o 3',
        'Sw<3,4,3> o',
        'Sw<9,9,9> o 4:1',
        'make_shape(4,8)',
        'make_swizzle(1,2)',
        'make_composed_layout(4)',
        'Layout<Shape<_4,_8>>',
        'Layout<Shape<_4,_8>,Stride<_1>>',
        '(4,8)',
        '',
        'make_tuple',
        '[4:1',
        '4:1 4:1',
        '-4:1',
        '4:-1',
        'make_layout(4, 8, 9)',
        'composition(4)',
        'make_ordered_layout((4,8))',
        'Int<4>',
        'Shape<_4',
        'x',
    )),
    "types": (dtype, ("f16", "f17", "", "F16", "bf16 ", "e4m3x2", "s8")),
}  # fmt: skip


@pytest.mark.parametrize("kind", TEXTS)
def test_readers(kind: str) -> None:
    """What is made of a text, or said of it."""
    make, texts = TEXTS[kind]
    lines: list[str] = []
    for text in texts:
        told = f"{text[:80]!r}" + (f" of {len(text)}" if len(text) > 80 else "")
        lines += [told, f"  {attempted(make, text)[:500]}"]
    held(f"code/{kind}", "\n".join(lines) + "\n")


def changed_numbers(text: str) -> Iterator[str]:
    """The text with each of its numbers exchanged for others."""
    for match in re.finditer(r"\d+", text):
        for number_ in ("0", "3", "8", "64"):
            if number_ != match[0]:
                yield text[: match.start()] + number_ + text[match.end() :]


def test_layouts_of_triton_with_another_number() -> None:
    """What is made of each preset with one number exchanged, or why it is refused."""
    lines = []
    for _, text, shape, bits in PRESETS:
        for other in (text, *changed_numbers(text)):
            told = attempted(lambda given: said(triton_layout(*given)), (other, shape.split("x"), int(bits)))
            if not told.startswith("refused"):
                told = f"made {hashlib.sha256(told.encode()).hexdigest()[:12]}"
            lines += [other, f"  {told}"]
    held("code/triton", "\n".join(lines) + "\n")


TILED_MMAS = (
    ("SM80_16x8x16_F32F16F16F32_TN", "(2,2,1)", "(32,32,16)", (64, 64, 32)),
    ("SM80_16x8x16_F32F16F16F32_TN", None, None, None),
    ("SM90_64x32x16_F32F16F16_RS<GMMA::Major::K, GMMA::Major::K>", "(2,1,1)", None, (128, 32, 32)),
    ("mma.m16n8k32.row.col.s32.s8.s8.s32", "(1,4,1)", None, None),
)
UMMA = "SM100_MMA_F16BF16_{}<half_t, half_t, float, {}, {}, UMMA::Major::K, UMMA::Major::MN>"
TILED_UMMAS: tuple[tuple[str, tuple[int, int, int], dict[str, Any]], ...] = (
    (UMMA.format("SS", 128, 256), (128, 256, 64), {}),
    (UMMA.format("SS", 64, 64), (64, 64, 32), {"swizzles": ("64B", "")}),
    (UMMA.format("2x1SM_SS", 256, 256), (256, 256, 64), {"order": "k"}),
    (UMMA.format("TS", 128, 64), (128, 128, 64), {}),
)


def test_tiles_and_tensor_memory() -> None:
    """Code of TiledMMAs, epilogues, scale factors, metadata and instruction descriptors."""
    lines: list[str] = []
    for text, atoms_, permutation, tile in TILED_MMAS:
        made = tiled_mma(text, atoms_, permutation, tile)
        lines += [text, tile_code.cute_cpp(made), tile_code.cute_python(made), tile_code.lanescope_python(made, text)]
    for text, tile, more in TILED_UMMAS:
        issued = tiled_umma(text, tile=tile, **more)
        lines += [text, umma_code.cute_cpp(issued), umma_code.cute_python(issued)]
        lines += [umma_code.lanescope_python(issued, text), umma_code.load(issued), umma_code.operation(issued.umma)]
    for form, m, n, load, halves in EPILOGUES:
        ended = Epilogue(Mma(idesc.kind("f16"), form, False, m, n), tmem.access(load), halves)
        lines.append(f"{form} {m} {n} {load} {halves}")
        if ended.matrices:
            lines += [epilogue.to_shared(ended, ended.stored(mode), "bf16") for mode in ("64B", "128B")[n >= 64 :]]
        lines += [epilogue.to_global(ended, 16, "bf16"), render_tmem.statement(ended.access)]
    lines += [*render_tmem.scale_order().values(), *render_scaling.order().values()]
    held("code/tiles", "\n".join(elided("\n".join(lines), set())) + "\n")


def test_kernels_that_devices_run() -> None:
    """Of every family that runs, its first and last job; timed accesses, boxes of TMA, and a probe of tensor memory:
    what stored runs were made with.
    """
    texts: dict[str, None] = {}
    for target, names in (("sm_90a", {row.name for row in catalog.families()}), ("sm_120a", {"mma_scaled"})):
        for name in sorted(names):
            jobs = list(verify.jobs(target, name))
            texts |= dict.fromkeys(text for job in (*jobs[:1], *jobs[-1:]) for text in job.sources())
    texts |= dict.fromkeys(kernels.access(name, "timed") for name in ACCESSES)
    texts |= dict.fromkeys(boxes.source(rank) for rank in (1, 2, 5))
    for form in ("cta_group::1", "cta_group::2"):
        word = tensor_probes.word_of("f16", 128, 64, form)
        texts[tensor.kernel(tensor.Multiply(word, form, 0, 0, {"d": 0}))] = None
        texts[tensor.kernel(tensor.Multiply(word, form, None, 4096, {"d": 0, "a": 64}))] = None
    held("code/kernels", "\n".join(elided("\n".join(texts), set())) + "\n")


def test_kernels_of_every_family() -> None:
    """A few of the jobs of each, by checksum."""
    every = [*verify.jobs("sm_90a"), *verify.jobs("sm_120a", "mma_scaled")]
    for name, jobs in groupby(every, lambda job: job.instruction.family.name):
        texts = [text for job in islice(jobs, 0, None, 9) for text in job.sources()]
        held_sum("code/jobs", name, "\n".join(texts))
