"""Maps measured on an H100 against the tables, element by element."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from lanescope import find
from lanescope.ptx import catalog
from tests.cases import for_each

FOLDER = Path(__file__).parent / "golden" / "hardware"


def read_measured(name: str, key: str) -> dict[str, Any]:
    return json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))[key]


WMMA = read_measured("wmma", "fragments")
SPARSE = read_measured("mma_sp", "variants")


@for_each("key", WMMA)
def test_wmma_fragment(key: str) -> None:
    shape, kind, letter = key.split(".")
    layout = "col" if letter == "b" else "row"
    op = find(f"wmma.load.{letter}.{layout}.{shape}.{kind}").operand(letter)
    expected = np.array(WMMA[key])
    assert np.array_equal(op.rows, expected[..., 0]) and np.array_equal(op.cols, expected[..., 1])


def test_every_wmma_fragment_of_the_table_was_measured() -> None:
    """Each (shape, type, letter) of any wmma instruction is a measured map; d is c."""
    for i in catalog.instructions():
        if i.family.name != "wmma":
            continue
        for op in i.operands.values():
            letter = "c" if op.name == "d" else op.name
            expected = np.array(WMMA[f"{i.shape}.{op.element.name}.{letter}"])
            assert np.array_equal(np.stack([op.rows, op.cols], -1), expected), (i.ptx, op.name)


@for_each("key", SPARSE)
@for_each("ordered", ["", "::ordered_metadata"])
def test_sparse(key: str, ordered: str) -> None:
    shape, types, selector = re.fullmatch(r"mma\.sp\.(m\w+)\.(.*)\.sel(\d)", key).groups()  # type: ignore[union-attr]
    op = find(f"mma.sp{ordered}.{shape}.row.col.{types}").operand("a")
    assert op.sparsity is not None
    variant = SPARSE[key]
    at_4, supplier = np.array(variant["a_at_0x4"]), np.array(variant["nibble_lane_index"])
    assert np.array_equal(op.rows, at_4[..., 0]) and np.array_equal(op.cols, at_4[..., 1])
    thread, bit = op.sparsity.find_suppliers(int(selector))
    assert np.array_equal(thread, supplier[..., 0]) and np.array_equal(bit // 4, supplier[..., 1])
    stored = op.coords["col"]
    for word, expected in ((0x44444444, at_4[..., 1]), (0xEEEEEEEE, np.array(variant["k_at_0xE"]))):
        assert np.array_equal(op.sparsity.list_dense_columns(stored, [word] * 32, int(selector)), expected)


def test_every_sparse_map_was_measured_or_is_one_that_was() -> None:
    """Each (shape, stored map, index map) of mma.sp is that of a measured variant."""

    def key(op: object) -> tuple[object, ...]:
        return (op.pattern, op.sparsity)  # type: ignore[attr-defined]

    seen = set()
    for name in SPARSE:
        shape, types = re.fullmatch(r"mma\.sp\.(m\w+)\.(.*)\.sel\d", name).groups()  # type: ignore[union-attr]
        seen.add((shape, *key(find(f"mma.sp.{shape}.row.col.{types}").operand("a"))))
    for i in catalog.instructions():
        if i.family.name == "mma_sp":
            assert (i.shape, *key(i.operand("a"))) in seen, i.ptx
