"""Every variant against two other hands: PTX's own case tables and CUTLASS's CuTe layouts; and the checks must bite."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
import pytest

from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.ptx.pattern import Pattern
from tests.cases import for_each
from tests.oracle import cutlass, movement, ptx, sparse
from tests.test_hardware import WMMA

# Tensor memory is judged by tests/test_tcgen05.py, which asks CUTLASS of every row.
INSTRUCTIONS = tuple(i for i in catalog.instructions() if not i.ptx.startswith("tcgen05."))


@cache
def list_distinct_operands() -> list[tuple[Instruction, Operand]]:
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


def find_ptx_map(i: Instruction, op: Operand) -> ptx.Fragment:
    """The page (wmma: the measured fragment) that judges an operand."""
    family, shape = i.family.name, i.shape
    if family == "wmma":
        measured = WMMA[f"{shape}.{op.element.name}.{'c' if op.name == 'd' else op.name}"]
        return lambda thread, value: tuple(measured[thread][value])
    if family in ("ldmatrix", "stmatrix"):
        return movement.data(shape, "trans" in i.modifiers)
    if family == "movmatrix":
        return movement.movmatrix_d if op.name == "d" else movement.movmatrix_a
    bits = i.operands["a"].container_bits
    if op.sparsity:
        return sparse.stored_a(i.sizes["k"], bits)
    if i.threads == 128:
        return ptx.wgmma_d if op.name == "d" else ptx.wgmma_a(op.container_bits)
    if i.operands["a"].sparsity and op.name == "b":
        return sparse.b(op.container_bits)
    return ptx.mma(shape, bits, op.name, i.syntax.layouts, op.element.name)


@lru_cache(maxsize=256)
def evaluate_oracle(judge: ptx.Fragment, threads: int, values: int) -> Any:
    """Where another hand puts every value: [coordinate, thread, value]."""
    return np.moveaxis(np.array([[judge(t, v) for v in range(values)] for t in range(threads)]), -1, 0)


def count_disagreements(judge: ptx.Fragment, pattern: Pattern) -> int:
    """How many (thread, value) the pattern places otherwise than PTX's page."""
    placed, told = np.stack(pattern.evaluate()), evaluate_oracle(judge, pattern.thread_count, pattern.value_count)
    assert placed.shape == told.shape
    return int((placed != told).any(axis=0).sum())


def test_equals_ptx() -> None:
    for i, op in list_distinct_operands():
        assert count_disagreements(find_ptx_map(i, op), op.pattern) == 0, (i.ptx, op.name)


def is_in_cutlass(i: Instruction, op: Operand) -> bool:
    """Whether CUTLASS states this map as a CuTe layout: dense mma, wgmma and block-scaled mma, and every accumulator of
    them.
    """
    if i.family.name in ("mma_sp", "wgmma_sp") or (i.family.name == "mma_scaled" and i.operands["a"].sparsity):
        return op.name in "cd"
    if i.family.name == "wgmma" and op.name == "a" and op.container_bits == 1:
        return False  # no b1 wgmma with A in registers
    return i.family.name in ("mma", "mma_scaled", "wgmma")


def test_equals_cutlass() -> None:
    for i, op in (pair for pair in list_distinct_operands() if is_in_cutlass(*pair)):
        rows, cols = op.row_count, op.col_count
        across, down = (cols, op.cols) if op.name == "b" else (rows, op.rows)  # CuTe writes B as (n, k)
        placed = down + across * (op.rows if op.name == "b" else op.cols)
        layout, quads = find_cute_layout(i, op)
        told = cutlass.indices(layout, 8 if quads else op.threads, op.values)
        thread = np.arange(op.threads)
        told = told[thread % 4 + 4 * (thread // 16)] if quads else told
        assert np.array_equal(placed, told), (i.ptx, op.name)


def find_cute_layout(i: Instruction, op: Operand) -> tuple[cutlass.Layout, bool]:
    """CUTLASS's layout of an operand, and whether its threads are those of a quad pair."""
    bits = i.operands["a"].container_bits
    if i.threads == 128:
        return (cutlass.wgmma_d(i.sizes["n"]) if op.name == "d" else cutlass.WGMMA_A[bits]), False
    if i.shape == "m8n8k4" and bits == 16:
        la, lb = i.syntax.layouts
        if op.name in "cd":
            return cutlass.QUAD_C[op.element.name], True
        along_k = la == "row" if op.name == "a" else lb == "col"
        return (cutlass.QUAD_ROW if along_k else cutlass.QUAD_COL), True
    if op.name in "cd":
        return cutlass.accumulator(i.sizes["m"]), False
    return cutlass.MMA[i.shape, bits]["ab".index(op.name)], False


def test_every_element_is_held_as_often_as_declared() -> None:
    for i, op in list_distinct_operands():
        held, times, extents = count_elements(op.pattern)
        assert held * op.pattern.copies == op.threads * op.values and times == {op.pattern.copies}, (i.ptx, op.name)
        assert extents == op.pattern.extents, (i.ptx, op.name)


@lru_cache(maxsize=256)
def count_elements(pattern: Pattern) -> tuple[int, set[int], tuple[int, ...]]:
    """How many elements a pattern's threads hold, how often each, and one more than the largest of each coordinate."""
    places, times = np.unique(np.stack([axis.ravel() for axis in pattern.evaluate()]), axis=1, return_counts=True)
    return places.shape[1], set(times.tolist()), tuple(int(axis.max()) + 1 for axis in places)


def test_sparse_groups_are_the_pages_ranges() -> None:
    for i, op in list_distinct_operands():
        if op.sparsity:
            page = sparse.PAGES[i.sizes["k"], op.container_bits]
            start = op.sparsity.list_group_columns(op.coords["col"])
            for t, v in itertools.product(range(op.threads), range(op.values)):
                _, first, last = page(t % 32, v)
                assert first <= start[t, v] and start[t, v] + op.sparsity.group - 1 <= last


def test_addresses() -> None:
    for i in INSTRUCTIONS:
        if i.address:
            matrices = i.counts["x"]
            assert i.address.threads == matrices * (16 if i.shape == "m16n16" else 8)
            for lane in range(i.address.threads):
                at = tuple(int(i.address.coords[axis][lane, 0]) for axis in ("matrix", "row"))
                assert at == movement.address(i.shape, lane)


def test_scales() -> None:
    seen = set()
    for i in INSTRUCTIONS:
        for scale in i.scales.values():
            if (scale.name, scale.blocks) in seen:
                continue
            seen.add((scale.name, scale.blocks))
            supplier = getattr(movement, scale.name)
            for byte_id, thread_id in itertools.product(scale.byte_ids, scale.thread_ids):
                thread, byte = scale.find_owners(byte_id, thread_id)
                assert (
                    scale.pattern.evaluate()[0][:, 0]
                    == cutlass.indices(cutlass.SCALE_LINE[scale.name], 32, 1)[:, 0].tolist()
                ).all()
                for line, block in itertools.product(range(thread.shape[0]), range(scale.blocks)):
                    assert thread[line, block] == supplier(thread_id, line)
                    assert byte[line, block] == byte_id + block
    assert seen == {(name, blocks) for name in ("scale_a", "scale_b") for blocks in (1, 2, 4)}


@for_each(
    ("text", "byte_ids", "thread_ids"),
    [
        ("mxf8f6f4.block_scale.f32.e4m3.e2m1.f32.ue8m0", (0, 1, 2, 3), (0, 1)),
        ("mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0", (0, 2), (0, 1)),
    ],
)
def test_scale_selectors_are_refused_outside_the_documented(
    text: str, byte_ids: tuple[int, ...], thread_ids: tuple[int, ...]
) -> None:
    shape = "m16n8k32" if "mxf8" in text else "m16n8k64"
    scale = catalog.find(f"mma.{shape}.row.col.kind::{text}").scales["scale_a"]
    assert (scale.byte_ids, scale.thread_ids) == (byte_ids, thread_ids)
    with pytest.raises(LayoutError, match="No byte-id 4"):
        scale.find_owners(4, 0)
    with pytest.raises(LayoutError, match="No thread-id 2"):
        scale.find_owners(0, 2)


def test_metadata_that_does_not_ascend_is_refused() -> None:
    op = catalog.find("mma.sp::ordered_metadata.m16n8k32.row.col.f32.f16.f16.f32").operand("a")
    assert op.sparsity
    words = [0x44444444] * 32
    words[5] = 0x44444E14
    with pytest.raises(LayoutError, match="Lane 5's metadata 0x44444E14 has nibble 0x1 in bits 4 to 7"):
        op.sparsity.list_dense_columns(op.coords["col"], words, 0)
    with pytest.raises(LayoutError, match="No sparsity selector 2"):
        op.sparsity.find_suppliers(2)


def test_metadata_picks_the_columns() -> None:
    """One nibble changed moves just its group: lane 0's e, bits 0 to 3, are row 0, columns 0 to 3 of m16n8k16 with
    selector 0.
    """
    op = catalog.find("mma.sp::ordered_metadata.m16n8k16.row.col.f32.f16.f16.f32").operand("a")
    assert op.sparsity
    words = [0x44444444] * 32
    words[0] = 0x4444444D
    dense = op.sparsity.list_dense_columns(op.coords["col"], words, 0)
    changed = {
        (int(op.rows[t, v]), int(op.cols[t, v]), int(dense[t, v]))
        for t, v in zip(*(dense != op.cols).nonzero(), strict=True)
    }
    assert changed == {(0, 0, 1), (0, 1, 3)}


def test_register_counts() -> None:
    """PTX's register counts: e.g. four .b32 of A, two of B, four .f32 of C for m16n8k16 f16."""
    expected = {
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32": {
            "a": (4, "b32"),
            "b": (2, "b32"),
            "c": (4, "f32"),
            "d": (4, "f32"),
        },
        "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16": {
            "a": (2, "b32"),
            "b": (1, "b32"),
            "c": (2, "b32"),
            "d": (2, "b32"),
        },
        "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64": {
            "a": (8, "f64"),
            "b": (4, "f64"),
            "c": (4, "f64"),
            "d": (4, "f64"),
        },
        "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f16": {
            "a": (2, "b32"),
            "b": (2, "b32"),
            "c": (4, "b32"),
            "d": (8, "f32"),
        },
        "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc": {
            "a": (4, "b32"),
            "b": (2, "b32"),
            "c": (4, "s32"),
            "d": (4, "s32"),
        },
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


def generate_swaps(pattern: Pattern) -> list[Pattern]:
    """The pattern with two names of equal size changed over on the right."""
    names = [name for group in pattern.coords for name in group]
    size = {d.name: d.size for d in pattern.digits}
    out = []
    for one, other in itertools.combinations(names, 2):
        if size[one] == size[other]:
            change = {one: other, other: one}
            out.append(
                replace(pattern, coords=tuple(tuple(change.get(n, n) for n in group) for group in pattern.coords))
            )
    return out


def generate_reorders(pattern: Pattern) -> list[Pattern]:
    """The pattern with two neighbours of one coordinate changed over: same extents, another map."""
    out = []
    for axis, group in enumerate(pattern.coords):
        for at in range(len(group) - 1):
            turned = (*group[:at], group[at + 1], group[at], *group[at + 2 :])
            out.append(replace(pattern, coords=(*pattern.coords[:axis], turned, *pattern.coords[axis + 1 :])))
    return out


@for_each("row", list(dict.fromkeys(i.family for i in INSTRUCTIONS)), ids=lambda row: row.ptx)
def test_the_checks_bite(row: object) -> None:
    """Any two names of any pattern of the family changed over must be noticed."""
    tried = 0
    seen = set()
    for i, op in list_distinct_operands():
        if i.family is not row or op.pattern in seen:
            continue
        seen.add(op.pattern)
        judge = find_ptx_map(i, op)
        for wrong in generate_swaps(op.pattern) + generate_reorders(op.pattern):
            tried += 1
            assert count_disagreements(judge, wrong) > 0, (i.ptx, op.name, str(wrong))
    if not tried:  # the row's maps are another row's, judged there
        patterns = {op.pattern for i in row.generate_instructions() for op in i.operands.values()}  # type: ignore[attr-defined]
        assert patterns <= {op.pattern for _, op in list_distinct_operands()}
