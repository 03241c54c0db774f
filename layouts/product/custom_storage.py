"""wgmma operands outside canonical tiles: rows, panels or a CuTe layout, with their exact descriptors."""

from __future__ import annotations

import re

import numpy as np

from lanescope.descriptor.matrix import MOST_SHARED, Descriptor
from lanescope.descriptor.repair import find_plainest_descriptor
from lanescope.descriptor.spelling import parse_word
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.product.options import OptionReader
from lanescope.product.plan import PlacedSide
from lanescope.ptx.dtypes import DType
from lanescope.shared.storage import KEYS, UNITS, Storage, storage
from lanescope.shared.swizzle import NAMES, WIDEST_PATTERN
from lanescope.shared.tiling import SWIZZLED_BY

KINDS = tuple(KEYS)  # the first is a canonical tile
WORDS = {
    "inner": ("K", "MN"),
    "swizzle": NAMES,
    "swizzle_by": SWIZZLED_BY,
    "unit": UNITS,
}
_PLAIN = re.compile(r"[\w<>()\[\],:. ]*", re.ASCII)


def list_placement_options(kind: str) -> tuple[str, ...]:
    """Return the options of a side stored as `kind`, except the kind itself."""
    return ("major", *KEYS[kind], "k", "descriptor")


def place_side(
    reads: OptionReader, kind: str, element: DType, *, rows: int, k: int, step: int, major: str, at: int, negated: bool
) -> PlacedSide:
    """Return the side that the options describe.

    LayoutError if it does not hold the whole product, or no descriptor reads it.
    """
    options = {"base": str(at)} | {
        name: " ".join(reads.options[name].split()) for name in KEYS[kind] if name in reads.options
    }
    if not _PLAIN.fullmatch(layout := options.get("layout", "")):  # it appears in the program's comments
        raise reads.make_error(
            "bad_cute",
            "layout",
            f"'{shorten_value(layout)}' is not a CuTe layout.",
            "Digits, names, < > ( ) [ ] , : and blanks.",
        )
    for name in KEYS[kind]:
        reads.words[name] = WORDS.get(name, ())
        reads.full[name] = options.get(name, "") or (major if name == "inner" else WORDS.get(name, ("",))[0])
    reads.full["k"] = str(k)
    try:
        where = storage({"kind": kind, **options}, element.bits, major)
    except LayoutError as error:
        raise error.move_to_field(f"{reads.side}.{error.field.removeprefix('storage.')}") from None
    _check_storage(reads, where, element, rows, k)
    word = None
    if text := reads.options.get("descriptor"):
        word = Descriptor(parse_word(text, f"{reads.side}.descriptor").word)
        reads.full["descriptor"] = str(word)
    side = PlacedSide(
        reads.side, element, element.bits, rows, k, major, negated=negated, step=step, word=word, where=where, words=()
    )
    if word is not None:
        return side
    words = tuple(_find_step_descriptor(reads, side, number) for number in range(k // step))
    return PlacedSide(
        reads.side, element, element.bits, rows, k, major, negated=negated, step=step, where=where, words=words
    )


def _check_storage(reads: OptionReader, where: Storage, element: DType, rows: int, k: int) -> None:
    """Raise LayoutError for a storage that does not hold the product in whole bytes, without overlaps."""
    field = "layout" if "layout" in reads.allowed else "kind"
    for has, needs, name in ((where.mn, rows, "rows"), (where.k, k, "elements of K")):
        if has is not None and has < needs:
            raise reads.make_error(
                "bad_storage", field, f"The storage holds {has} {name}, the product has {needs}.", "Give a larger one."
            )
    placement = where.placed
    assert placement is not None
    per = max(1, 8 // element.bits)
    mn, unit = np.arange(rows)[:, None], np.arange(0, k, per)[None, :]
    bits = np.asarray(placement.before(mn, unit, 0), np.int64)
    together = all(np.array_equal(placement.before(mn, unit + n, 0), bits + n * element.bits) for n in range(1, per))
    if (bits % 8).any() or not together:
        raise reads.make_error(
            "bad_storage",
            field,
            f"Elements of {element.bits} bits that share a byte are not neighbours along K there.",
            "Store them K-major.",
        )
    address = np.asarray(where.address(mn, unit), np.int64)
    if len(np.unique(address)) < address.size or (np.diff(np.sort(address.ravel())) < max(1, element.bits // 8)).any():
        raise reads.make_error(
            "bad_storage", field, "Two elements share a byte.", "Give strides that keep every element apart."
        )
    if int(address.max()) >= MOST_SHARED:
        raise reads.make_error(
            "too_large", "base", f"The operand ends at byte {int(address.max())}.", f"A block has {MOST_SHARED} bytes."
        )
    xor = placement.xor
    if xor.bits and (((1 << xor.bits) - 1) << xor.base << max(xor.shift, 0)) >= 8 * WIDEST_PATTERN:
        raise reads.make_error(
            "bad_storage",
            field,
            f"The XOR reads address bits past {WIDEST_PATTERN} bytes, where a block's shared memory may begin"
            " anywhere.",
            "Swizzle inside 1024 bytes.",
        )


def _find_step_descriptor(reads: OptionReader, side: PlacedSide, number: int) -> Descriptor:
    """Return the plainest descriptor that reads one step exactly."""
    descriptor = find_plainest_descriptor(side.where, side.view, number * side.step)
    if descriptor is None:
        raise reads.make_error(
            "no_descriptor",
            "kind",
            f"No descriptor reads step {number} of {reads.side.upper()} stored so, {side.major}-major.",
            "Set a descriptor to see what it reads, or use a canonical tile.",
        )
    return descriptor
