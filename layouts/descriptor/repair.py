"""Find all descriptors that read a tile where the program stored it.

For each swizzle mode and base offset, the XOR is removed from the required addresses. If the result is an affine walk
of the address model, it gives start, LBO and SBO; otherwise no descriptor of that mode reads the data.
"""

from __future__ import annotations

import numpy as np

from lanescope.descriptor.matrix import Addresses, Descriptor, View, encode_wgmma, reads
from lanescope.errors import LayoutError
from lanescope.ptx.table.descriptors import LBO, SBO, START
from lanescope.shared.storage import Storage
from lanescope.shared.swizzle import Mode


def compute_expected_reads(stored: Storage, view: View, mn: int, k: int) -> Addresses:
    """Return the byte address of every element of the slice that begins at (mn, k): int64 [rows, k]."""
    return stored.compute_addresses(view.rows, view.k, mn, k)


def find_repairs(expected: Addresses, view: View, descriptor: Descriptor, by_address: bool = False) -> list[Descriptor]:
    """Return all descriptors that read `expected`, up to unread fields, with the smallest change first.

    by_address: the data were swizzled by address bits, which needs no base offset, so only base offset 0 is tried.
    Among changes of the same number of fields, those that keep base offset and swizzle mode come first, then those that
    keep the start.
    """
    repairs = []
    for mode_ in descriptor.format.codes:
        if not descriptor.format.allows_elements(view.bits, view.major, mode_):
            continue
        mask = mode_.chunks - 1
        for base_offset in range(8 if mask else 1):
            if by_address and base_offset & mask:
                continue
            candidate = _fit_strides(expected, view, descriptor, mode_, base_offset)
            if candidate and np.array_equal(reads(candidate, view), expected):
                repairs.append(candidate)
    return sorted(repairs, key=lambda d: _rank_change(list_changes(descriptor, d), d))


def find_plainest_descriptor(stored: Storage, view: View, k: int) -> Descriptor | None:
    """Return the plainest descriptor that reads the slice at (0, k) exactly; None if there is none."""
    expected = compute_expected_reads(stored, view, 0, k)
    near = encode_wgmma(START.truncate(int(expected[0, 0])) * START.unit, 16, 16, 0, stored.mode.name)
    repairs = find_repairs(expected, view, near, stored.swizzle_by == "address")
    return repairs[0] if repairs else None


def _rank_change(changed: dict[str, tuple[int, int]], descriptor: Descriptor) -> tuple[int, bool, bool, bool, int]:
    return (
        len(changed),
        "base_offset" in changed,
        "swizzle" in changed,
        "start_address" in changed,
        descriptor.base_offset,
    )


def _fit_strides(
    expected: Addresses, view: View, descriptor: Descriptor, mode_: Mode, base_offset: int
) -> Descriptor | None:
    """Return the descriptor with the strides of the required addresses before the XOR; None if there is none."""
    w = mode_.chunks

    def plain(row: int, col: int) -> int:
        return int(mode_.unswizzle(int(expected[row, col]), base_offset))

    start = plain(0, 0)
    lbo_bytes, sbo_bytes = descriptor.lbo_bytes, descriptor.sbo_bytes
    if view.major == "K":
        sbo_bytes = plain(8, 0) - start if view.rows > 8 else sbo_bytes
        lbo_bytes = plain(0, w * view.per) - start if view.k > w * view.per else lbo_bytes
    elif w == 1:
        sbo_bytes = plain(view.per, 0) - start if view.rows > view.per else sbo_bytes
        lbo_bytes = plain(0, 8) - start if view.k > 8 else lbo_bytes
    else:
        sbo_bytes = plain(0, mode_.deep) - start if view.k > mode_.deep else sbo_bytes
        lbo_bytes = plain(view.per * w, 0) - start if view.rows > view.per * w else lbo_bytes
    try:
        encoded = {
            field.encoded_name: descriptor.format.get_field(field.name).encode(amount)
            for field, amount in ((START, start), (LBO, lbo_bytes), (SBO, sbo_bytes))
        }
    except LayoutError:
        return None
    encoded["base_offset"] = base_offset if w > 1 else descriptor.base_offset
    constants = {
        descriptor.format.get_field(name).encoded_name: value for name, value in descriptor.format.constants.items()
    }
    return descriptor.replace(**encoded, **constants, swizzle=descriptor.format.codes[mode_])


def list_changes(descriptor: Descriptor, fixed: Descriptor) -> dict[str, tuple[int, int]]:
    """Map each field that differs to (actual, needed), encoded."""
    pairs = {f.name: (f.get(descriptor.word), f.get(fixed.word)) for f in descriptor.format.fields}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
