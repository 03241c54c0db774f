"""Every variant against two other hands: PTX's own case tables and CUTLASS's CuTe layouts; and the checks must bite."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from layouts import catalog
from layouts.instruction import Instruction, Operand
from layouts.pattern import Pattern
from tests.oracle import cutlass, ptx

INSTRUCTIONS = catalog.instructions()


def one_of_each() -> list[tuple[Instruction, Operand]]:
    """One operand for each distinct (family, shape, letter, pattern, width, layouts): every map, not every spelling."""
    seen: dict[tuple[object, ...], tuple[Instruction, Operand]] = {}
    for i in INSTRUCTIONS:
        for op in i.operands.values():
            key = (
                i.family.name,
                i.shape,
                op.name,
                op.pattern,
                op.container_bits,
                i.syntax.layouts,
                op.element.name if op.name in "cd" else "",
            )
            seen.setdefault(key, (i, op))
    return list(seen.values())


OPERANDS = one_of_each()
IDS = [f"{i.ptx}-{op.name}" for i, op in OPERANDS]


def ptx_map(i: Instruction, op: Operand) -> ptx.Fragment:
    if i.family.name == "wgmma":
        return ptx.wgmma_d if op.name == "d" else ptx.wgmma_a(op.container_bits)
    multiplicand = i.operands["a"].container_bits
    return ptx.mma(i.shape, multiplicand, op.name, i.syntax.layouts, op.element.name)


def disagreements(i: Instruction, op: Operand, pattern: Pattern) -> int:
    """How many (thread, value) the pattern places otherwise than PTX's page."""
    judge, arrays = ptx_map(i, op), pattern.evaluate()
    return sum(
        tuple(int(a[t, v]) for a in arrays) != judge(t, v)
        for t, v in itertools.product(range(pattern.thread_count), range(pattern.value_count))
    )


@pytest.mark.parametrize(("i", "op"), OPERANDS, ids=IDS)
def test_equals_ptx(i: Instruction, op: Operand) -> None:
    assert disagreements(i, op, op.pattern) == 0


# CUTLASS has no b1 wgmma with A in registers.
IN_CUTLASS = [(i, op) for i, op in OPERANDS if not (i.family.name == "wgmma" and op.name == "a" and op.container_bits == 1)]


@pytest.mark.parametrize(("i", "op"), IN_CUTLASS, ids=[f"{i.ptx}-{op.name}" for i, op in IN_CUTLASS])
def test_equals_cutlass(i: Instruction, op: Operand) -> None:
    rows, cols = op.row_count, op.col_count
    for t, v in itertools.product(range(op.threads), range(op.values)):
        row, col = int(op.rows[t, v]), int(op.cols[t, v])
        across, down = (cols, col) if op.name == "b" else (rows, row)  # CuTe writes B as (n, k)
        expected = down + across * (row if op.name == "b" else col)
        assert cutlass_index(i, op, t, v) == expected, (t, v)


def cutlass_index(i: Instruction, op: Operand, t: int, v: int) -> int:
    bits = i.operands["a"].container_bits
    if i.family.name == "wgmma":
        return cutlass.index(cutlass.wgmma_d(i.sizes["n"]) if op.name == "d" else cutlass.WGMMA_A[bits], t, v)
    if i.shape == "m8n8k4" and bits == 16:
        inside = t % 4 + 4 * (t // 16)
        la, lb = i.syntax.layouts
        if op.name in "cd":
            return cutlass.index(cutlass.QUAD_C[op.element.name], inside, v)
        along_k = la == "row" if op.name == "a" else lb == "col"
        return cutlass.index(cutlass.QUAD_ROW if along_k else cutlass.QUAD_COL, inside, v)
    return cutlass.index(cutlass.MMA[i.shape, bits]["abcd".index(op.name) if op.name != "d" else 2], t, v)


@pytest.mark.parametrize(("i", "op"), OPERANDS, ids=IDS)
def test_every_element_is_held_as_often_as_declared(i: Instruction, op: Operand) -> None:
    elements = list(zip(*(a.ravel().tolist() for a in op.pattern.evaluate()), strict=True))
    assert len(elements) == op.threads * op.values
    assert len(set(elements)) * op.pattern.copies == len(elements)
    assert tuple(max(axis) + 1 for axis in zip(*elements, strict=True)) == op.pattern.extents


def swaps(pattern: Pattern) -> list[Pattern]:
    """The pattern with two names of equal size changed over on the right."""
    names = [name for group in pattern.coords for name in group]
    size = {d.name: d.size for d in pattern.digits}
    out = []
    for one, other in itertools.combinations(names, 2):
        if size[one] == size[other]:
            change = {one: other, other: one}
            out.append(replace(pattern, coords=tuple(tuple(change.get(n, n) for n in group) for group in pattern.coords)))
    return out


def reorders(pattern: Pattern) -> list[Pattern]:
    """The pattern with two neighbours of one coordinate changed over: same extents, another map."""
    out = []
    for axis, group in enumerate(pattern.coords):
        for at in range(len(group) - 1):
            turned = (*group[:at], group[at + 1], group[at], *group[at + 2 :])
            out.append(replace(pattern, coords=(*pattern.coords[:axis], turned, *pattern.coords[axis + 1 :])))
    return out


@pytest.mark.parametrize("row", catalog.families(), ids=lambda row: row.ptx)
def test_the_checks_bite(row: object) -> None:
    """Any two names of any pattern of the family changed over must be noticed."""
    tried = 0
    seen = set()
    for i, op in OPERANDS:
        if i.family is not row or op.pattern in seen:
            continue
        seen.add(op.pattern)
        for wrong in swaps(op.pattern) + reorders(op.pattern):
            tried += 1
            assert disagreements(i, op, wrong) > 0, (i.ptx, op.name, str(wrong))
    if not tried:  # the row's maps are another row's, judged there
        patterns = {op.pattern for i in row.instructions() for op in i.operands.values()}  # type: ignore[attr-defined]
        assert patterns <= {op.pattern for _, op in OPERANDS}


def test_register_counts() -> None:
    """PTX's register counts: e.g. four .b32 of A, two of B, four .f32 of C for m16n8k16 f16."""
    expected = {
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32": {"a": (4, "b32"), "b": (2, "b32"), "c": (4, "f32"), "d": (4, "f32")},
        "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16": {"a": (2, "b32"), "b": (1, "b32"), "c": (2, "b32"), "d": (2, "b32")},
        "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64": {"a": (8, "f64"), "b": (4, "f64"), "c": (4, "f64"), "d": (4, "f64")},
        "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f16": {"a": (2, "b32"), "b": (2, "b32"), "c": (4, "b32"), "d": (8, "f32")},
        "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc": {"a": (4, "b32"), "b": (2, "b32"), "c": (4, "s32"), "d": (4, "s32")},
        "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e2m1.e3m2.f16": {
            "a": (4, "b32"),
            "b": (2, "b32"),
            "c": (2, "b32"),
            "d": (2, "b32"),
        },
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16": {"a": (4, "b32"), "d": (128, "f32")},
        "wgmma.mma_async.sync.aligned.m64n8k32.f16.e4m3.e5m2": {"a": (4, "b32"), "d": (2, "b32")},
    }
    for text, counts in expected.items():
        found = {name: (op.registers, op.element.register_type) for name, op in catalog.find(text).operands.items()}
        assert found == counts, text


def test_wgmma_registers_follow_n() -> None:
    for i in INSTRUCTIONS:
        if i.family.name == "wgmma":
            per = 4 if i.types["d"] == "f16" else 2
            assert i.operands["d"].registers == i.sizes["n"] // per
            assert i.operands["a"].registers == 4
