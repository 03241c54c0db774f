"""Generated code and the tables that people read, held word for word: comments, names, messages and order, which running the code does not show."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from layouts import banks, catalog, differences, find, overview, qualifiers, wmma
from layouts.errors import LayoutError
from layouts.instruction import Instruction
from layouts.planning import plan
from layouts.render import cuda, kernel, ptx, python, wmma_cpp
from layouts.table import atoms
from tests.held import elided, held
from tests.test_kernel import CASES


def test_programs() -> None:
    """The whole programs of test_kernel.py, each without the lines of those before it."""
    seen: set[str] = set()
    lines: list[str] = []
    for case in CASES:
        made = plan(find(case[0]), *case[1:])
        lines += [
            " ; ".join(case),
            f"  {kernel.file_stem(made)} | {kernel.build(made)} | {kernel.command(made)}",
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


OPTIONS = "major swizzle order mn k first base kind pitch_bytes swizzle_by width_bytes outer8_stride inner_stride line_stride layout unit from load selector byte_id thread_id ldm scale".split()
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
    lines += [f"  {[getattr(row, part.name) for part in dataclasses.fields(row) if part.name != 'found']}" for row in overview.rows()]
    lines.append("banks")
    lines += [
        f"  {name}: {reach.text} {[part.tolist() for part in reach.place(np.arange(32), 16)]}" for name, reach in banks.REACHES.items()
    ]
    lines += [f"  {access.name}: {access.bytes} {access.phases} {access.stores}" for access in banks.ACCESSES.values()]
    held("code/tables", "\n".join(lines) + "\n")


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
            told += [f"{p} {ldm} {rule}" for p, ldm in ((0, 16), (8, 12), (16, 1)) for rule in wmma.check(op, p, ldm, layout)]
            lines += [i.ptx, *elided("\n".join(told), seen)]
    held("code/wmma", "\n".join(lines) + "\n")


def test_modifiers() -> None:
    """What each part of an instruction's text means."""
    seen: set[str] = set()
    lines: list[str] = []
    for i in some():
        lines += [i.ptx, *elided("\n".join(f"{part}" for part in qualifiers.parts(i)) + f"\n{qualifiers.convergence(i)}", seen)]
    held("code/modifiers", "\n".join(lines) + "\n")
