"""Find the descriptors that read a stored tile, or explain why there are none: the inverse of verify.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lanescope.cute.text import parse_layout
from lanescope.deadline import check_deadline
from lanescope.descriptor.matrix import K_BYTES, Descriptor, View, find_unread_fields
from lanescope.descriptor.repair import compute_expected_reads, find_plainest_descriptor
from lanescope.descriptor.verify import verify
from lanescope.errors import LayoutError
from lanescope.ptx.table.descriptors import WGMMA
from lanescope.shared.storage import Storage, storage

MOST_ROWS = 256  # N of a wgmma
MOST_STEPS = 16  # K steps with words
# element widths that wgmma reads, with an instruction for each (N is inserted)
INSTRUCTIONS = {
    16: "wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16",
    8: "wgmma.mma_async.sync.aligned.m64n{n}k32.f32.e4m3.e4m3",
    32: "wgmma.mma_async.sync.aligned.m64n{n}k8.f32.tf32.tf32",
}


@dataclass(frozen=True, slots=True)
class TileDescriptors:
    """The descriptors of a tile, one per K step, for an instruction with the view `seen`; or the reason why there are
    none.

    spec: the parsed storage; assumed: whether the element width is assumed; on_bytes: whether it is assumed that the
    swizzle applies to byte addresses.
    """

    spec: Mapping[str, Any]
    seen: View
    words: tuple[Descriptor, ...]
    assumed: bool = False
    why: str = ""
    on_bytes: bool = False

    @property
    def starts(self) -> tuple[int, ...]:
        """Byte offsets of the steps' starts in the tile."""
        return tuple(word.start_address - self.words[0].start_address for word in self.words)

    @property
    def unused(self) -> dict[str, str]:
        """Fields that the instruction does not read → reason."""
        return find_unread_fields(self.words[0].mode, self.seen) if self.words else {}

    @property
    def instruction(self) -> str:
        """An instruction that reads the tile as B, with N equal to the number of rows read."""
        return INSTRUCTIONS[self.seen.bits].format(n=self.seen.rows)


def describe_stored_tile(spec: Mapping[str, Any], element_bits: int | None) -> list[TileDescriptors]:
    """Return the descriptors of a stored tile for each possible element width.

    If no descriptor reads it, the last item has the reason. Returns () for a storage that wgmma cannot read: other
    element types, too large, or unbounded. element_bits: None if unknown.
    """
    open_ = element_bits in (None, 128)  # a layout of 16-byte chunks holds elements of any width
    widths = _list_element_widths(spec) if open_ or element_bits is None else [element_bits]
    described = [tile for bits in widths if bits in INSTRUCTIONS and (tile := _describe_width(spec, bits, open_))]
    right = [tile for tile in described if tile.words]
    if element_bits is None and (other := _swizzle_bytes(spec)):
        flagged = _describe_width(other, 16, True)
        right = [*([replace(flagged, on_bytes=True)] if flagged and flagged.words else []), *right]
    return right or described[:1]


def _swizzle_bytes(spec: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a layout of 16-bit elements with Sw<B,4,3> as one whose XOR applies to byte addresses; None for others.

    GMMA's atoms are often printed without the pointer that shows this.
    """
    laid = parse_layout(str(spec["layout"])) if spec.get("kind") == "cute" and "unit" not in spec else None
    if laid is None or laid.unit_bits or laid.offset or laid.swizzle is None or laid.swizzle.base != 4:
        return None
    return {**spec, "layout": str(replace(laid, unit_bits=16))}


def _list_element_widths(spec: Mapping[str, Any]) -> list[int]:
    """Return the possible element widths of a CuTe layout, because a swizzle permutes 16-byte chunks."""
    laid = parse_layout(str(spec["layout"])) if spec.get("kind") == "cute" else None
    swizzle = laid.swizzle if laid is not None and laid.unit_bits is None else None
    if swizzle is not None and spec.get("unit") != "chunks":
        return [bits for bits in INSTRUCTIONS if bits << swizzle.base == 128] or list(INSTRUCTIONS)
    return list(INSTRUCTIONS)


def _describe_width(spec: Mapping[str, Any], bits: int, assumed: bool) -> TileDescriptors | None:
    """Return the descriptors of a tile with this element width, or the reason why there are none; None if it does not
    fit.
    """
    step = K_BYTES * 8 // bits
    reasons: list[TileDescriptors] = []
    for major in ("K", "MN") if WGMMA.allows_elements(bits, "MN") else ("K",):
        try:
            stored = storage(spec, bits, major)
        except LayoutError:
            continue
        if stored.mn is None or stored.k is None:
            continue
        rows = min(stored.mn, MOST_ROWS) // 8 * 8
        if not rows or stored.k < step:
            message = (
                f"The tile has {stored.mn} × {stored.k} elements (M or N × K); one wgmma reads at least 8 × {step} of"
                f" {bits} bits."
            )
            reasons.append(TileDescriptors(spec, View(8, step, bits, major), (), assumed, message))
            continue
        for size in dict.fromkeys((rows, min(rows, 64))):
            seen = View(size, step, bits, major)
            words = _make_step_descriptors(stored, seen)
            if words:
                return TileDescriptors(spec, seen, words, assumed)
        reasons.append(TileDescriptors(spec, seen, (), assumed, _explain_missing_descriptor(stored, seen)))
    contiguous = [case for case in reasons if case.why and not case.why.startswith("The data is ")]
    return next(iter(contiguous or reasons), None)


def _make_step_descriptors(stored: Storage, seen: View) -> tuple[Descriptor, ...]:
    """Return the descriptor of each K step; () if one of the steps has none."""
    assert stored.k is not None
    descriptors: list[Descriptor] = []
    for k in range(0, min(stored.k // seen.k, MOST_STEPS) * seen.k, seen.k):
        check_deadline()
        word = find_plainest_descriptor(stored, seen, k)
        if word is None:
            return ()
        descriptors.append(word)
    return tuple(descriptors)


def _explain_missing_descriptor(stored: Storage, view: View) -> str:
    """Return the reason why no descriptor reads the tile; "" if each step has a descriptor."""
    for k in range(0, (stored.k or 0) - view.k + 1, view.k):
        if find_plainest_descriptor(stored, view, k) is None:
            start = int(compute_expected_reads(stored, view, 0, k)[0, 0])
            probe = Descriptor(0).replace(start_address_encoded=start >> 4 & 0x3FFF)
            causes: Sequence[Any] = verify(probe, view, stored, mn=0, k=k).diagnoses
            message = causes[0].message if causes else "No descriptor reads this layout."
            return message if not k else f"K step {k // view.k}: {message}"
    return ""
