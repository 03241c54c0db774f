"""gemm of tcgen05.mma by one CTA, and copies of its D from tensor memory, in a run that follows elements.

An accumulator has an index for each row and column of a tile of 128 rows: row + 128 · column. CUTLASS 4.7,
cute/arch/mma_sm100_umma.hpp, cute/atom/copy_traits_sm100.hpp.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.cute import algebra
from lanescope.cute.layout import CuteLayout
from lanescope.descriptor.matrix import View
from lanescope.ptx.table.descriptors import TCGEN05
from lanescope.reader.code.cute.cute_values import names_cute
from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.cute.tensors import ZERO, CuteTensor, get_element, list_indices
from lanescope.reader.threads.language.numbers import LONG, ThreadNumber, make_number
from lanescope.reader.threads.language.program import Scope
from lanescope.reader.threads.language.types import SizedType
from lanescope.reader.threads.language.values import store_place
from lanescope.reader.threads.memory.matrix_reads import count_sum
from lanescope.reader.threads.memory.records import ProductResult
from lanescope.reader.threads.memory.storage import DataBytes, Pointer, spread_coefficient

if TYPE_CHECKING:
    from lanescope.reader.threads.cute.async_mma import AsyncMma
    from lanescope.reader.threads.runner import KernelRunner

ROWS = 128  # of a tile of D, one for each lane of tensor memory
OPCODE = "tcgen05.mma"
_WORD_BYTES = 4
_RESET = (
    "gemm overwrites its accumulators, since accumulate_ is ScaleOut::Zero here, and nothing has used their sum: set it"
    " to ScaleOut::One after the first gemm of a sum."
)


@dataclass(frozen=True, slots=True, eq=False)
class TensorTiles:
    """The D of a kernel in tensor memory.

    columns: of each tile; results: the number of the result of each tile; loaded: those that threads have loaded.
    """

    columns: int
    results: dict[int, int] = field(default_factory=dict)
    loaded: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True, eq=False)
class TensorLoad:
    """A TiledCopy from tensor memory, or a slice of it: a thread has a row of every tile. thread: of a slice."""

    thread: Any = None


def make_tensor_tiles(mma: AsyncMma, tensor: CuteTensor) -> CuteTensor | None:
    """Return the accumulators in tensor memory for a part of D with the modes ((M, N), MMA_M, MMA_N); None for tiles
    that are not of 128 rows.
    """
    rows, columns, _ = mma.shape
    if rows != ROWS or not mma.bytes or tensor.layout.rank != 3:
        return None
    counts = [mode.size for mode in tensor.layout.modes[1:]]
    layout = CuteLayout(((rows, columns), *counts), ((1, rows), rows * columns, rows * columns * counts[0]))
    return CuteTensor(Pointer("tensor", TensorTiles(columns), ZERO, SizedType("float", _WORD_BYTES)), layout)


def is_open_element(run: KernelRunner, target: tree.Expression, scope: Scope) -> bool:
    """Return whether what is set may be an element of a tensor whose place is not known; not for sums.data() = address
    of accumulators in tensor memory.
    """
    if not isinstance(target, tree.Call) or not names_cute(run.text):
        return False
    function = target.function
    owner = run.evaluate(function.value, scope) if isinstance(function, tree.Member) else None
    return not isinstance(owner, CuteTensor) or owner.space != "tensor"


def make_load(tensor: Any) -> TensorLoad | None:
    """Evaluate make_tmem_copy(operation, accumulators)."""
    return TensorLoad() if isinstance(tensor, CuteTensor) and tensor.space == "tensor" else None


def call_load(run: KernelRunner, load: TensorLoad, name: str, first: Any) -> Any:
    """Return the result of a member function of a copy from tensor memory: the elements of a thread are one mode."""
    if name in ("get_slice", "get_thread_slice"):
        return replace(load, thread=first)
    known = isinstance(first, CuteTensor) and isinstance(load.thread, ThreadNumber) and load.thread.const is not None
    side = "S" if isinstance(first, CuteTensor) and first.space == "tensor" else "D"
    if name != f"partition_{side}" or not known or run.threads != ROWS or first.layout.rank != 3:
        return None
    tile, *rest = first.layout.modes
    if tile.rank != 2 or tile.modes[0].size != ROWS or len(tile.modes[0].digits) != 1:
        return None
    rows, columns = tile.modes
    step = run.strides.decode(rows.digits[0][1])
    by = step.known
    if by is None:
        return None
    whole = algebra.concatenate(algebra.concatenate(columns, *rest))
    return first.move(whole, make_number(spread_coefficient(load.thread.const, run.threads) * by, LONG))


def copy_tiles(run: KernelRunner, source: CuteTensor, target: CuteTensor, site: tuple[int, int]) -> bool:
    """Copy accumulators to registers; return whether this was followed."""
    assert source.base is not None
    indices, others = list_indices(source.layout), list_indices(target.layout)
    offset = source.offset.const if isinstance(source.offset, ThreadNumber) else None
    tiles = source.base.array
    if indices is None or others is None or len(indices) != len(others) or offset is None:
        return False
    first, four = spread_coefficient(offset, run.threads), np.arange(_WORD_BYTES)
    for index, other in zip(indices, others, strict=True):
        column, row = np.divmod(first + index, ROWS)
        number, column = np.divmod(column, tiles.columns)
        result = tiles.results.get(int(number[0]))
        place = get_element(run, target, other)
        if result is None or place is None or (number != number[0]).any():
            return False
        tiles.loaded.add(result)
        shape = run.threads, _WORD_BYTES
        bytes_ = _WORD_BYTES * column[:, None] + four
        data = DataBytes(np.full(shape, -result - 1), np.broadcast_to(row[:, None], shape).copy(), bytes_)
        store_place(run, place, data, site)
    return True


def add_product(
    run: KernelRunner, mma: AsyncMma, sums: tuple[CuteTensor, Sequence[int]], span: tuple[int, int]
) -> tuple[int, str] | None:
    """Begin a product of a tile; return (the number of its sum, why this is open); None if it is not known whether it
    adds to an earlier one.
    """
    tensor, indices = sums
    adds = mma.find_scale(run)
    if adds is None or tensor.base is None or not isinstance(tensor.base.array, TensorTiles):
        return None
    tiles, number = tensor.base.array, indices[0] // (ROWS * tensor.base.array.columns)
    before = tiles.results.get(number)
    if before is not None and not adds and before not in tiles.loaded and run.is_certain:
        run.stop_at_error("accumulator_reset", _RESET, mma.scale[1])
    if before is None or not adds:
        tiles.results[number] = len(run.results)
        run.results.append(ProductResult(OPCODE, span, None, True))
    record = -tiles.results[number] - 1
    why = "this product adds to what tensor memory had before" if adds and before is None else ""
    return count_sum(run, record if adds else None, record), why


def make_views(mma: AsyncMma) -> dict[str, View]:
    """Return how A and B are read."""
    (m, n, k), bits = mma.shape, 8 * mma.bytes
    return {
        name: View(rows, k, bits, major, TCGEN05) for name, rows, major in zip("ab", (m, n), mma.majors, strict=True)
    }
