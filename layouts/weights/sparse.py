"""2:4 sparse weights: the kept elements of W (k, n) along k, and the metadata in the order of the format.

Sparse Marlin orders metadata by its own order of columns, so that ldmatrix.x2 gives each lane the word e of two
instructions: word 32·y + lane of 64 columns and 32 k is that of register y, and instruction 2y + x uses selector x.
IST-DASLab/Sparse-Marlin, marlin/_semi_structured_conversions.py, marlin/common/mem.h and marlin_cuda_kernel_nm.cu.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lanescope.errors import LayoutError
from lanescope.ptx.pattern import Pattern
from lanescope.weights.layout import WeightLayout, Words, join_fields, split_fields

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KEPT, GROUP, INDEX_BITS = 2, 4, 4


def find_metadata_order(layout: WeightLayout) -> Pattern:
    """Return the map (word)(index of 4 bits) → (n)(group of k) of one block of metadata."""
    if not layout.format.metadata:
        raise LayoutError("dense", f"{layout.format.title} stores dense weights.", "Choose sparse-marlin.", "format")
    return Pattern.parse(layout.format.metadata)


def compress_weights(layout: WeightLayout, weights: NDArray[Any], zero: int) -> tuple[NDArray[Any], Words]:
    """Return (kept weights [k][n], metadata words) of dense W [2k][n] whose pruned elements equal `zero`.

    A group with fewer than two other elements keeps the same positions as in Sparse Marlin's code. LayoutError names
    the first group of four along k that has more than two.
    """
    import numpy as np

    dense = np.asarray(weights)
    if dense.shape != (2 * layout.k, layout.n):
        problem = f"weights have the shape {dense.shape}."
        raise LayoutError("bad_shape", problem, f"Give ({2 * layout.k}, {layout.n}): dense K is twice the stored one.")
    find_metadata_order(layout)
    groups = dense.T.astype(np.int64).reshape(layout.n, -1, GROUP)
    used = groups != zero
    if (many := used.sum(axis=2) > KEPT).any():
        column, group = (int(at) for at in np.argwhere(many)[0])
        rows = f"{GROUP * group} to {GROUP * group + GROUP - 1}"
        problem = f"Column {column}, rows {rows} have {int(used[column, group].sum())} elements other than {zero}."
        raise LayoutError("too_dense", problem, f"2:4 weights keep {KEPT} of {GROUP} neighbours along k.", "weights")
    low, high = _choose_positions(used)
    kept = np.take_along_axis(groups, np.stack([low, high], axis=2), axis=2).reshape(layout.n, -1)
    return kept.T, pack_metadata(layout, low | high << 2)


def _choose_positions(used: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the two positions that groups of four keep, ascending: nonzero elements first."""
    import numpy as np

    first, second, _, last = np.moveaxis(used, -1, 0)
    low = np.where(first, 0, np.where(second, 1, 2))
    high = np.where(first & second, 1, np.where(last | ~(first | second), 3, 2))
    return low, high


def expand_weights(layout: WeightLayout, kept: NDArray[Any], words: NDArray[Any], zero: int) -> NDArray[np.int64]:
    """Return dense W [2k][n] from kept weights [k][n] and their metadata; pruned elements are `zero`."""
    import numpy as np

    indices = unpack_metadata(layout, words)
    values = np.asarray(kept).T.reshape(layout.n, -1, KEPT)
    dense = np.full((layout.n, indices.shape[1], GROUP), zero, np.int64)
    for place in range(KEPT):
        at = indices >> 2 * place & 3
        np.put_along_axis(dense, at[..., None], values[..., place, None], axis=2)
    return dense.reshape(layout.n, -1).T


def pack_metadata(layout: WeightLayout, indices: NDArray[Any]) -> Words:
    """Pack indices of 4 bits, [n][groups of k], into metadata words [dense k / 32][n]."""
    import numpy as np

    order, values = find_metadata_order(layout), np.asarray(indices)
    if values.shape != (layout.n, layout.k // KEPT):
        raise LayoutError(
            "bad_shape", f"indices have the shape {values.shape}.", f"Give ({layout.n}, {layout.k // 2})."
        )
    column, group = order.evaluate()
    across, deep = order.extents
    blocks = values.reshape(layout.n // across, across, -1, deep).transpose(2, 0, 1, 3)
    return join_fields(blocks[:, :, column, group], INDEX_BITS).reshape(-1, layout.n)


def unpack_metadata(layout: WeightLayout, words: NDArray[Any]) -> NDArray[np.int64]:
    """Unpack metadata words into indices of 4 bits: int64 [n][groups of k]."""
    import numpy as np

    order, values = find_metadata_order(layout), np.asarray(words)
    across, deep = order.extents
    groups = layout.k // KEPT
    if values.size != layout.n * groups // (32 // INDEX_BITS):
        expected = layout.n * groups // (32 // INDEX_BITS)
        raise LayoutError("bad_words", f"{values.size} words of metadata were given.", f"Give {expected}.")
    column, group = order.evaluate()
    fields = split_fields(values.reshape(groups // deep, layout.n // across, -1), INDEX_BITS)
    blocks = np.empty((*fields.shape[:2], across, deep), np.int64)
    blocks[:, :, column, group] = fields
    return blocks.transpose(1, 2, 0, 3).reshape(layout.n, groups)


def locate_metadata(layout: WeightLayout, k: int, n: int) -> dict[str, int]:
    """Return the place of the index of stored element (k, n): word, bit, register, lane and selector."""
    place = layout.locate(k, n)
    order = find_metadata_order(layout)
    across, deep = order.extents
    group = k // KEPT
    ((word, index),) = order.owners(n % across, group % deep)
    block = group // deep * (layout.n // across) + n // across
    register, lane = divmod(word, 32)
    assert place.fragment
    return {
        "word": block * order.thread_count + word,
        "bit": INDEX_BITS * index + 2 * (k % KEPT),
        "register": register,
        "lane": lane,
        "selector": place.fragment.instruction % 2,
    }
